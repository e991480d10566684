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

/* Three digits that carry meaning: 1.24, 12.4, 124, 1240. */
static const char *scaled(double value, const struct unit *units, size_t count, char *buffer) {
    if (!isfinite(value)) {
        snprintf(buffer, SY_UNITS_SIZE, "-");
        return buffer;
    }
    size_t i = 0;
    while (i + 1 < count && fabs(value) >= 0.9995 * units[i + 1].scale) {
        i++;
    }
    double shown = value / units[i].scale;
    int decimals = fabs(shown) < 9.995 ? 2 : fabs(shown) < 99.95 ? 1 : 0;
    if (shown == floor(shown) && fabs(shown) < 1000) {
        decimals = 0;
    }
    snprintf(buffer, SY_UNITS_SIZE, "%.*f %s", decimals, shown, units[i].name);
    return buffer;
}

const char *sy_units_time(double ns, char *buffer) {
    static const struct unit units[] = {{"ns", 1},  {"us", 1e3},   {"ms", 1e6},
                                        {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};
    /* 75 s reads better than 1.25 min. */
    size_t count = fabs(ns) < 6e11 ? 4 : fabs(ns) < 3.6e13 ? 5 : 6;
    return scaled(ns, units, count, buffer);
}

const char *sy_units_bytes(double bytes, char *buffer) {
    static const struct unit units[] = {{"B", 1},    {"kB", 1e3},  {"MB", 1e6},
                                        {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}};
    return scaled(bytes, units, SY_COUNT(units), buffer);
}

const char *sy_units_rate(double bytes_per_s, char *buffer) {
    static const struct unit units[] = {
        {"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
    return scaled(bytes_per_s, units, SY_COUNT(units), buffer);
}

const char *sy_units_number(double value, int decimals, char *buffer) {
    if (isfinite(value)) {
        snprintf(buffer, SY_UNITS_SIZE, "%.*f", decimals, value);
    } else {
        snprintf(buffer, SY_UNITS_SIZE, "-");
    }
    return buffer;
}

const char *sy_units_count(uint64_t count, const char *one, const char *many, char *buffer) {
    snprintf(buffer, SY_UNITS_SIZE, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    return buffer;
}
