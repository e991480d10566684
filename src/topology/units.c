/* SPDX-License-Identifier: Apache-2.0
 *
 * units: numbers as people write them, 80GB/s, 16GiB, 10us. Decimal prefixes are powers of ten,
 * binary ones say so.
 */
#include "topology/topology.h"
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit sizes[] = {
    {"B", 1},           {"kB", 1e3},           {"MB", 1e6},
    {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
    {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
static const struct unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

static bool parse_with(const struct unit *units, size_t unit_count, const char *text, size_t length,
                       double low, double high, double *ret_value) {
    size_t digits = 0;
    while (digits < length &&
           ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.')) {
        digits++;
    }
    for (size_t i = 0; i < unit_count; i++) {
        double value;
        if (strlen(units[i].name) == length - digits &&
            memcmp(units[i].name, text + digits, length - digits) == 0 &&
            sy_parse_double(text, digits, &value) && value * units[i].factor >= low &&
            value * units[i].factor <= high) {
            *ret_value = value * units[i].factor;
            return true;
        }
    }
    return false;
}

bool sy_parse_size(const char *text, size_t length, double *ret_bytes) {
    return parse_with(sizes, SY_COUNT(sizes), text, length, SY_BYTES_MIN, SY_BYTES_MAX, ret_bytes);
}

bool sy_parse_bandwidth(const char *text, size_t length, double *ret_bytes_per_s) {
    return length > 2 && memcmp(text + length - 2, "/s", 2) == 0 &&
           parse_with(sizes, SY_COUNT(sizes), text, length - 2, SY_BYTES_PER_S_MIN,
                      SY_BYTES_PER_S_MAX, ret_bytes_per_s);
}

bool sy_parse_time(const char *text, size_t length, double *ret_ns) {
    return parse_with(times, SY_COUNT(times), text, length, 1e-6, SY_NS_MAX, ret_ns);
}
