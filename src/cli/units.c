/* SPDX-License-Identifier: Apache-2.0
 *
 * units: see units.h.
 */
#include "cli/units.h"

#include "base/base.h"
#include <math.h>
#include <string.h>

struct unit {
    const char *name;
    double scale;
};

struct sy_units sy_units_text(const char *format, ...) {
    struct sy_units result;
    va_list args;
    va_start(args, format);
    vsnprintf(result.text, sizeof result.text, format, args);
    va_end(args);
    return result;
}

/* Three digits that carry meaning: 1.24, 12.4, 124, 1240. */
static struct sy_units scaled(double value, const struct unit *units, size_t count) {
    size_t i = 0;
    if (!isfinite(value)) {
        return sy_units_text("-");
    }
    while (i + 1 < count && fabs(value) >= 0.9995 * units[i + 1].scale) {
        i++;
    }
    double shown = value / units[i].scale;
    int decimals = fabs(shown) < 9.995 ? 2 : fabs(shown) < 99.95 ? 1 : 0;
    if (shown == floor(shown) && fabs(shown) < 1000) {
        decimals = 0;
    }
    return sy_units_text("%.*f %s", decimals, shown, units[i].name);
}

struct sy_units sy_units_time(double ns) {
    static const struct unit units[] = {{"ns", 1},  {"us", 1e3},   {"ms", 1e6},
                                        {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};
    /* 75 s reads better than 1.25 min. */
    size_t count = fabs(ns) < 6e11 ? 4 : fabs(ns) < 3.6e13 ? 5 : 6;
    return scaled(ns, units, count);
}

struct sy_units sy_units_bytes(double bytes) {
    static const struct unit units[] = {{"B", 1},    {"kB", 1e3},  {"MB", 1e6},
                                        {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}};
    return scaled(bytes, units, SY_COUNT(units));
}

struct sy_units sy_units_rate(double bytes_per_s) {
    static const struct unit units[] = {
        {"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
    return scaled(bytes_per_s, units, SY_COUNT(units));
}

struct sy_units sy_units_number(double value, int decimals) {
    return isfinite(value) ? sy_units_text("%.*f", decimals, value) : sy_units_text("-");
}

struct sy_units sy_units_percent(double ratio) {
    return isfinite(ratio) ? sy_units_text("%.1f %%", 100 * ratio) : sy_units_text("-");
}

struct sy_units sy_units_count(uint64_t count, const char *one, const char *many) {
    return sy_units_text("%llu %s", (unsigned long long)count, count == 1 ? one : many);
}
