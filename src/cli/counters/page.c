/* SPDX-License-Identifier: Apache-2.0
 *
 * page: the screen of symph counters watch.
 *
 * In: a view, the window's size. Out: lines. Invariants: no line is wider and there are no more
 * lines than asked for; what does not fit is folded or counted, never silently missing; what is not
 * measured has no bar.
 */
#include "cli/counters/show.h"

#include "cli/table.h"
#include <math.h>
#include <string.h>

#define NAME_MAX   18u
#define RATE_WIDTH 11u
#define BAND_WIDTH 9u
#define AGE_WIDTH  6u
#define BAR_MIN    8u
#define BAR_MAX    60u
#define GAPS_MAX   4u
#define NARROW     20u /* columns; below: no bars */
#define ROWS_SMALL 10u /* below: only what matters most */

struct page {
    const struct sy_counters_view *view;
    struct sy_buffer *buffer;
    struct sy_draw_style style;
    uint32_t columns, rows, used;
    uint32_t name, bar, spark; /* widths */
    bool has_band, has_rate, has_age;
    bool fold;            /* processors share a line */
    bool list_unmeasured; /* each on a line of its own */
    uint32_t gaps;        /* how many are shown */
};

static const char *paint(const struct page *page, const char *sequence) {
    return page->style.colour ? sequence : "";
}

/* Bytes of the first width characters. */
static size_t cut(const char *text, uint32_t width) {
    const char *at = text;
    size_t left = strlen(text);
    for (uint32_t i = 0; i < width && left; i++) {
        size_t length = sy_utf8_length(at, left);
        at += length ? length : 1;
        left -= length ? length : 1;
    }
    return (size_t)(at - text);
}

static void end_line(struct page *page) {
    sy_buffer_append(page->buffer, "\n", 1);
    page->used++;
}

/* A line of plain text, cut where it is too long. */
__attribute__((format(printf, 3, 4))) static void put_text(struct page *page, const char *colour,
                                                           const char *format, ...) {
    if (page->used >= page->rows) {
        return;
    }
    char plain[1024], text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(plain, sizeof plain, format, list);
    va_end(list);
    sy_show(plain, text, sizeof text);
    bool whole = page->columns < 4 || sy_table_width(text) <= page->columns;
    sy_buffer_printf(page->buffer, "%s", paint(page, colour));
    sy_buffer_append(page->buffer, text, cut(text, whole ? page->columns : page->columns - 3));
    sy_buffer_printf(page->buffer, "%s%s", whole ? "" : "...",
                     colour[0] ? paint(page, "\033[0m") : "");
    end_line(page);
}

static void put_padded(struct page *page, const char *name, uint32_t width) {
    char text[512];
    size_t length = sy_table_width(sy_show(name, text, sizeof text));
    sy_buffer_append(page->buffer, text, cut(text, width));
    sy_buffer_printf(page->buffer, "%*s", length < width ? (int)(width - length) : 0, "");
}

static bool is_cpu(const struct page *page, const struct sy_utilisation *item) {
    const struct sy_machine *machine = page->view->machine;
    return machine && item->device < machine->device_count &&
           machine->devices[item->device].kind == SY_CPU;
}

/* --- layout ------------------------------------------------------------------------------------
 */
static void lay_out_columns(struct page *page) {
    size_t longest = 8;
    for (uint32_t i = 0; i < page->view->item_count; i++) {
        size_t length = sy_table_width(page->view->items[i].name);
        longest = length > longest ? length : longest;
    }
    uint32_t limit = page->columns / 4 < NAME_MAX ? page->columns / 4 : NAME_MAX;
    page->name = longest < limit ? (uint32_t)longest : limit;
    uint32_t left = page->columns > page->name + 8 ? page->columns - page->name - 8 : 1;
    page->has_band = left > BAND_WIDTH + 2 + BAR_MIN + 4;
    left -= page->has_band ? BAND_WIDTH + 2 : 0;
    page->has_rate = left > RATE_WIDTH + 2 + BAR_MIN + 8;
    left -= page->has_rate ? RATE_WIDTH + 2 : 0;
    page->has_age = left > AGE_WIDTH + 2 + BAR_MIN + 8;
    left -= page->has_age ? AGE_WIDTH + 2 : 0;
    if (page->view->history && left > 2 * BAR_MIN + 10) {
        page->spark = left / 3 < SY_SPARK_COUNT ? left / 3 : SY_SPARK_COUNT;
        left -= page->spark + 2;
    }
    page->bar = left < BAR_MAX ? left : BAR_MAX;
}

struct tally {
    uint32_t shared, cpus, unmeasured;
};

static struct tally count_items(const struct page *page) {
    struct tally tally = {0};
    for (uint32_t i = 0; i < page->view->item_count; i++) {
        const struct sy_utilisation *item = &page->view->items[i];
        if (!item->measured) {
            tally.unmeasured++;
        } else if (is_cpu(page, item)) {
            tally.cpus++;
        } else {
            tally.shared++;
        }
    }
    return tally;
}

static uint32_t gap_lines(const struct page *page) {
    return page->gaps ? 1 + page->gaps + (page->view->gap_count > page->gaps) : 0;
}

static uint32_t strip_width(const struct page *page) {
    uint32_t room = page->columns > page->name + 2 ? page->columns - page->name - 2 : 1;
    return room >= 16 ? room / 16 * 16 : room;
}

/* As many hints as there is room for beside so many other lines; none in a small window. */
static void fit_gaps(struct page *page, uint32_t lines, uint32_t room) {
    uint32_t most = page->view->gap_count < GAPS_MAX ? page->view->gap_count : GAPS_MAX;
    for (page->gaps = room < ROWS_SMALL ? 0 : most; page->gaps > 1; page->gaps--) {
        if (lines + gap_lines(page) <= room) {
            break;
        }
    }
}

/* Names, a blank, values, as often as they fit beside each other. */
static uint32_t counters_name_width(const struct page *page) {
    size_t longest = 1;
    for (uint32_t kind = 0; kind < page->view->kind_count; kind++) {
        size_t length = sy_table_width(page->view->kinds[kind].name);
        longest = length > longest ? length : longest;
    }
    uint32_t most = page->columns > RATE_WIDTH + 2 ? page->columns - RATE_WIDTH - 1 : 1;
    return longest < most ? (uint32_t)longest : most;
}

static uint32_t counters_per_line(const struct page *page) {
    uint32_t cell = counters_name_width(page) + 1 + RATE_WIDTH;
    uint32_t count = (page->columns + 3) / (cell + 3);
    return count ? count : 1;
}

/* What was asked for keeps its lines; the others get what is left. */
static uint32_t counters_least(const struct page *page) {
    uint32_t each = counters_per_line(page);
    return page->view->watched_count ? 2 + (page->view->watched_count + each - 1) / each : 0;
}

/* What gives way where there is little room: hints, lines of single processors, then those of what
 * is not measured. Returns the lines below those of single resources. */
static uint32_t lay_out_rows(struct page *page, const struct tally *tally) {
    uint32_t group = counters_least(page), whole = page->rows - page->used;
    group = group < whole / 2 ? group : whole / 2;
    uint32_t room = whole - group;
    uint32_t strips = (tally->cpus + strip_width(page) - 1) / strip_width(page);
    uint32_t lines = tally->shared + tally->cpus;
    fit_gaps(page, UINT32_MAX / 2, room);
    uint32_t least = (tally->unmeasured > 0) + gap_lines(page);
    page->fold =
        !page->view->all && tally->cpus > 4 && page->columns >= NARROW && lines + least > room;
    uint32_t folded = page->fold ? 1 + strips : 0;
    lines = page->fold ? tally->shared + folded : lines;
    page->list_unmeasured = page->view->all || lines + tally->unmeasured + gap_lines(page) <= room;
    uint32_t unmeasured = page->list_unmeasured ? tally->unmeasured : tally->unmeasured > 0;
    fit_gaps(page, lines + unmeasured, room);
    return folded + unmeasured + gap_lines(page) + group;
}

/* --- lines -------------------------------------------------------------------------------------
 */
static void put_column_heads(struct page *page) {
    struct sy_buffer line = {0};
    sy_buffer_printf(&line, "%-*.*s  %-*s%s", (int)page->name, (int)page->name, "resource",
                     (int)(page->bar > 6 ? page->bar - 5 : 1), "0", "100 %");
    sy_buffer_printf(&line, "  used");
    if (page->has_band) {
        sy_buffer_printf(&line, "  %*s", (int)BAND_WIDTH, "95 % band");
    }
    if (page->has_rate) {
        sy_buffer_printf(&line, "  %*s", (int)RATE_WIDTH, "rate");
    }
    if (page->has_age) {
        sy_buffer_printf(&line, "  %*s", (int)AGE_WIDTH, "seen");
    }
    if (page->spark) {
        sy_buffer_printf(&line, "  %*s", (int)page->spark,
                         page->spark >= 11 ? "last minute" : "past");
    }
    sy_buffer_append(&line, "", 1);
    put_text(page, "\033[2m", "%s", line.failed ? "" : line.text);
    sy_buffer_finish(&line);
}

static void put_head(struct page *page) {
    const struct sy_counters_view *view = page->view;
    put_text(page, "\033[1m", "%s  %s  %s", view->machine ? view->machine->name : "machine",
             view->title, sy_units_time(view->elapsed_ns).text);
    if (page->rows < ROWS_SMALL) {
        return;
    }
    put_text(page, "", "%u counters (%s), %s%u filters, %s", view->counter_count, view->sources,
             view->slot_count ? sy_units_count(view->slot_count, "slot, ", "slots, ").text : "",
             view->filter_count, view->arch);
    put_text(page, "", "%s", "");
    put_column_heads(page);
}

static void put_item(struct page *page, const struct sy_utilisation *item, const float *history) {
    if (page->used >= page->rows) {
        return;
    }
    if (page->columns < NARROW) {
        put_text(page, "", "%s %.0f %%", item->name, 100 * fmin(fmax(item->mean, 0), 1));
        return;
    }
    put_padded(page, item->name, page->name);
    sy_buffer_printf(page->buffer, "  ");
    sy_draw_bar(page->buffer, page->bar, item->mean, item->low, item->high, page->style);
    sy_buffer_printf(page->buffer, " %3.0f %%", 100 * fmin(fmax(item->mean, 0), 1));
    if (page->has_band) {
        sy_buffer_printf(page->buffer, "  %*.*s", (int)BAND_WIDTH, (int)BAND_WIDTH,
                         sy_units_text("%.0f-%.0f %%", 100 * item->low, 100 * item->high).text);
    }
    if (page->has_rate) {
        sy_buffer_printf(page->buffer, "  %*.*s", (int)RATE_WIDTH, (int)RATE_WIDTH,
                         sy_draw_rate(item->rate, item->unit ? item->unit : "").text);
    }
    if (page->has_age) {
        sy_buffer_printf(page->buffer, "  %*.*s", (int)AGE_WIDTH, (int)AGE_WIDTH,
                         sy_draw_age(item->age_ns).text);
    }
    if (page->spark && history) {
        sy_buffer_printf(page->buffer, "  ");
        sy_draw_spark(page->buffer, history, page->view->history_count, page->spark, page->style);
    }
    end_line(page);
}

/* Processors that share a line: their mean. The band is that of errors that go together. */
static void put_folded(struct page *page) {
    const struct sy_counters_view *view = page->view;
    struct sy_utilisation sum = {.rate = NAN, .unit = ""};
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->item_count; i++) {
        const struct sy_utilisation *item = &view->items[i];
        if (item->measured && is_cpu(page, item)) {
            sum.mean += item->mean;
            sum.low += item->low;
            sum.high += item->high;
            sum.age_ns = fmax(sum.age_ns, item->age_ns);
            count++;
        }
    }
    sum.mean /= fmax(count, 1);
    sum.low /= fmax(count, 1);
    sum.high /= fmax(count, 1);
    struct sy_units name = sy_units_text("%u cpus", count);
    sum.name = name.text;
    put_item(page, &sum, NULL);
}

/* A little column for each processor. */
static void put_strips(struct page *page) {
    const struct sy_counters_view *view = page->view;
    uint32_t width = strip_width(page), filled = 0;
    for (uint32_t i = 0; i < view->item_count && page->used < page->rows; i++) {
        const struct sy_utilisation *item = &view->items[i];
        if (!item->measured || !is_cpu(page, item)) {
            continue;
        }
        if (filled == 0) {
            put_padded(page, item->name, page->name);
            sy_buffer_printf(page->buffer, "  ");
        }
        const float mean = (float)item->mean;
        sy_draw_spark(page->buffer, &mean, 1, 1, page->style);
        if (++filled == width) {
            end_line(page);
            filled = 0;
        }
    }
    if (filled) {
        end_line(page);
    }
}

static bool is_shown(const struct page *page, const struct sy_utilisation *item, bool cpus) {
    return item->measured && is_cpu(page, item) == cpus && !(cpus && page->fold);
}

/* Shared resources and accelerators first; rows: where to stop. */
static void put_measured(struct page *page, uint32_t rows, uint32_t count) {
    const struct sy_counters_view *view = page->view;
    uint32_t room = rows > page->used ? rows - page->used : 0, shown = 0;
    uint32_t lines = count <= room ? count : room > 0 ? room - 1 : 0;
    for (int cpus = 0; cpus < 2; cpus++) {
        for (uint32_t i = 0; i < view->item_count && shown < lines; i++) {
            if (is_shown(page, &view->items[i], cpus == 1)) {
                put_item(page, &view->items[i],
                         view->history ? view->history + (size_t)i * SY_SPARK_COUNT : NULL);
                shown++;
            }
        }
    }
    if (shown < count) {
        put_text(page, "\033[2m", "... and %u more: enlarge the window or use --json",
                 count - shown);
    }
}

static void put_unmeasured(struct page *page, uint32_t count) {
    const struct sy_counters_view *view = page->view;
    struct sy_buffer names = {0};
    for (uint32_t i = 0; i < view->item_count && count; i++) {
        if (view->items[i].measured) {
            continue;
        }
        if (page->list_unmeasured) {
            put_text(page, "\033[2m", "%-*.*s  not measured", (int)page->name, (int)page->name,
                     view->items[i].name);
        } else if (names.length < 400) {
            sy_buffer_printf(&names, "%s%s", names.length ? ", " : "", view->items[i].name);
        }
    }
    sy_buffer_append(&names, "", 1);
    if (!page->list_unmeasured && count && !names.failed) {
        put_text(page, "\033[2m", "%u not measured: %s", count, names.text);
    }
    sy_buffer_finish(&names);
}

/* --- single counters ----------------------------------------------------------------------------
 */
static void put_counters(struct page *page) {
    const struct sy_counters_view *view = page->view;
    uint32_t below = gap_lines(page), room = page->rows - page->used;
    uint32_t each = counters_per_line(page), width = counters_name_width(page);
    uint32_t lines = (view->kind_count + each - 1) / each, count = view->kind_count;
    room = room > below ? room - below : 0;
    if (room < 2 || count == 0 || page->columns < RATE_WIDTH + 2) {
        return;
    }
    if (lines + 1 > room) {
        uint32_t fit = (room > 2 ? room - 2 : 1) * each;
        count = fit < count ? fit : count;
    }
    put_text(page, "\033[2m", "counters; * stands for all of them: their sum, of shares the mean");
    for (uint32_t kind = 0; kind < count; kind++) {
        put_padded(page, view->kinds[kind].name, width);
        sy_buffer_printf(page->buffer, " %*.*s", (int)RATE_WIDTH, (int)RATE_WIDTH,
                         sy_counters_kind_text(view, kind).text);
        if ((kind + 1) % each == 0 || kind + 1 == count) {
            end_line(page);
        } else {
            sy_buffer_printf(page->buffer, "   ");
        }
    }
    if (count < view->kind_count && room > 2) {
        put_text(page, "\033[2m", "... and %u more: a taller window or --json has them",
                 view->kind_count - count);
    }
}

/* What can be mended comes first. */
static void put_gaps(struct page *page) {
    const struct sy_counters_view *view = page->view;
    uint32_t shown = 0;
    put_text(page, "", "%s", "");
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < view->gap_count && shown < page->gaps; i++) {
            const struct sy_gap *gap = &view->gaps[i];
            bool mends = gap->remedy && gap->remedy[0];
            if (mends == (pass == 0)) {
                put_text(page, "\033[2m", "%s: %s%s: %s", gap->source, gap->what,
                         mends ? " would need" : "", mends ? gap->remedy : gap->reason);
                shown++;
            }
        }
    }
    if (shown < view->gap_count) {
        put_text(page, "\033[2m", "%u more; symph counters sources lists the reasons",
                 view->gap_count - shown);
    }
}

void sy_counters_draw(const struct sy_counters_view *view, uint32_t columns, uint32_t rows,
                      struct sy_draw_style style, struct sy_buffer *buffer) {
    struct page page = {.view = view,
                        .buffer = buffer,
                        .style = style,
                        .columns = columns > 1 ? columns : 1,
                        .rows = rows};
    lay_out_columns(&page);
    put_head(&page);
    struct tally tally = count_items(&page);
    uint32_t below = lay_out_rows(&page, &tally);
    put_measured(&page, rows > below ? rows - below : 0,
                 tally.shared + (page.fold ? 0 : tally.cpus));
    if (page.fold) {
        put_folded(&page);
        put_strips(&page);
    }
    if (tally.shared + tally.cpus == 0) {
        put_text(&page, "", "%s", "nothing is measured yet");
    }
    put_unmeasured(&page, tally.unmeasured);
    put_counters(&page);
    if (page.gaps) {
        put_gaps(&page);
    }
}
