/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities as people write them, 80GB/s, 16GiB, 10us. Decimal prefixes are powers of ten, binary
 * ones say so. A number without a unit is none, since nobody can tell which one was meant; only 0
 * is the same in all of them.
 */
#include "base/base.h"
#include <string.h>

bool sy_parse_quantity(const char *text, size_t length, const struct sy_unit_name *units,
                       double *ret_value) {
    double value;
    for (; units->name; units++) {
        size_t unit = strlen(units->name);
        if (length > unit && memcmp(text + length - unit, units->name, unit) == 0 &&
            sy_parse_double(text, length - unit, &value) && value >= 0) {
            *ret_value = value * units->factor;
            return true;
        }
    }
    if (sy_parse_double(text, length, &value) && value == 0) {
        *ret_value = 0;
        return true;
    }
    return false;
}

bool sy_parse_time(const char *text, size_t length, double *ret_ns) {
    static const struct sy_unit_name times[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}, {NULL, 0}};
    return sy_parse_quantity(text, length, times, ret_ns);
}

bool sy_parse_size(const char *text, size_t length, double *ret_bytes) {
    static const struct sy_unit_name sizes[] = {
        {"B", 1},           {"kB", 1e3},           {"MB", 1e6},
        {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
        {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
        {NULL, 0}};
    return sy_parse_quantity(text, length, sizes, ret_bytes);
}

bool sy_parse_bandwidth(const char *text, size_t length, double *ret_bytes_per_s) {
    static const struct sy_unit_name per_s[] = {{"B/s", 1},
                                                {"kB/s", 1e3},
                                                {"MB/s", 1e6},
                                                {"GB/s", 1e9},
                                                {"TB/s", 1e12},
                                                {"KiB/s", 1024.0},
                                                {"MiB/s", 1048576.0},
                                                {"GiB/s", 1073741824.0},
                                                {"TiB/s", 1099511627776.0},
                                                {NULL, 0}};
    return sy_parse_quantity(text, length, per_s, ret_bytes_per_s);
}

bool sy_parse_price(const char *text, size_t length, double *ret_per_hour) {
    static const struct sy_unit_name per[] = {
        {"/h", 1}, {"/s", 3600}, {"/min", 60}, {"/day", 1.0 / 24}, {NULL, 0}};
    return sy_parse_quantity(text, length, per, ret_per_hour);
}
