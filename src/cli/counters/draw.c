/* SPDX-License-Identifier: Apache-2.0
 *
 * draw: the pieces of the screen: bars with bands, sparklines, rates, ages.
 *
 * In: numbers. Out: text of a known width. Invariant: a piece is exactly as wide as it was asked
 * to be, whatever the numbers are.
 */
#include "cli/counters/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double clamp(double value) {
    return value > 0 ? fmin(value, 1) : 0; /* NAN: 0 */
}

struct sy_draw_style sy_draw_style_here(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < SY_COUNT(names) && !(locale && locale[0]); i++) {
        locale = getenv(names[i]);
    }
    bool unicode = locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
    return (struct sy_draw_style){unicode, sy_message_colour(stdout)};
}

/* Green, yellow, red: a person looks first at what is nearly full. */
static const char *colour_of(double mean) {
    return mean < 0.5 ? "\033[32m" : mean < 0.8 ? "\033[33m" : "\033[31m";
}

static const char *cell(uint32_t at, uint32_t mark, double start, double end, bool unicode) {
    if (at == mark) {
        return unicode ? "\xe2\x94\x83" : "|";
    }
    double middle = at + 0.5;
    if (middle < start) {
        return unicode ? "\xe2\x96\x88" : "#";
    }
    return middle < end ? (unicode ? "\xe2\x96\x92" : "-") : unicode ? "\xc2\xb7" : ".";
}

void sy_draw_bar(struct sy_buffer *buffer, uint32_t width, double mean, double low, double high,
                 struct sy_draw_style style) {
    double start = clamp(fmin(low, mean)) * width, end = clamp(fmax(high, mean)) * width;
    uint32_t mark = (uint32_t)(clamp(mean) * width);
    mark = mark < width ? mark : width - 1;
    sy_buffer_printf(buffer, "%s", style.colour ? colour_of(mean) : "");
    for (uint32_t i = 0; i < width; i++) {
        const char *text = cell(i, mark, start, end, style.unicode);
        sy_buffer_append(buffer, text, strlen(text));
    }
    sy_buffer_printf(buffer, "%s", style.colour ? "\033[0m" : "");
}

void sy_draw_spark(struct sy_buffer *buffer, const float *values, uint32_t count, uint32_t width,
                   struct sy_draw_style style) {
    static const char ascii[] = "_.-=+*%#";
    uint32_t shown = count < width ? count : width;
    sy_buffer_printf(buffer, "%*s", (int)(width - shown), "");
    for (uint32_t i = count - shown; i < count; i++) {
        if (!isfinite(values[i])) {
            sy_buffer_append(buffer, " ", 1);
            continue;
        }
        uint32_t level = (uint32_t)fmin(clamp((double)values[i]) * 8, 7);
        if (style.unicode) { /* the blocks of one to eight eighths are neighbours */
            const char text[] = {'\xe2', '\x96', (char)(0x81 + level)};
            sy_buffer_append(buffer, text, 3);
        } else {
            sy_buffer_append(buffer, &ascii[level], 1);
        }
    }
}

struct sy_units sy_draw_rate(double rate, const char *unit) {
    static const struct {
        const char *name;
        double scale;
    } steps[] = {{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}};
    if (!isfinite(rate) || !unit[0]) { /* a share says it all */
        return sy_units_text("-");
    }
    if (strcmp(unit, "B/s") == 0 || strcmp(unit, "B") == 0) {
        return unit[1] ? sy_units_rate(rate) : sy_units_bytes(rate);
    }
    size_t i = 0;
    while (i + 1 < SY_COUNT(steps) && rate < steps[i].scale) {
        i++;
    }
    double shown = rate / steps[i].scale;
    int decimals = shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
    return sy_units_text("%.*f %s%.12s", decimals, shown, steps[i].name, unit);
}

struct sy_units sy_draw_reading(double value, const struct sy_counter *counter) {
    if (isfinite(value) && counter->kind == SY_COUNTER_SHARE) {
        return sy_units_text("%.1f %%", 100 * value);
    }
    bool bare = isfinite(value) && !counter->unit[0];
    return bare ? sy_units_text("%.6g", value) : sy_draw_rate(value, counter->unit);
}

struct sy_units sy_draw_age(double age_ns) {
    return !isfinite(age_ns) ? sy_units_text("never")
           : age_ns < 1e9    ? sy_units_text("now")
           : age_ns < 60e9   ? sy_units_text("%.0f s", age_ns / 1e9)
           : age_ns < 3600e9 ? sy_units_text("%.0f min", age_ns / 60e9)
                             : sy_units_text("%.0f h", fmin(age_ns / 3600e9, 9999));
}
