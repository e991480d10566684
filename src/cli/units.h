/* SPDX-License-Identifier: Apache-2.0
 *
 * units: times and sizes as people write them.
 *
 * In: numbers in base units. Out: short text; base.h reads it. Invariant: a value that is not
 * finite reads "-". The text lasts as long as the expression it stands in: sy_units_time(ns).text.
 */
#ifndef SY_CLI_UNITS_H
#define SY_CLI_UNITS_H

#include <stdint.h>

struct sy_units {
    char text[32];
};

/* Whatever printf makes of it. */
__attribute__((format(printf, 1, 2))) struct sy_units sy_units_text(const char *format, ...);
/* "1.24 ms", three or four digits. */
struct sy_units sy_units_time(double ns);
/* "1.5 GB", powers of ten. */
struct sy_units sy_units_bytes(double bytes);
/* "12.5 GB/s". */
struct sy_units sy_units_rate(double bytes_per_s);
/* A number with the given decimals, or "-". */
struct sy_units sy_units_number(double value, int decimals);
/* A ratio as "12.3 %", or "-". */
struct sy_units sy_units_percent(double ratio);
/* "1 memory", "2 memories". */
struct sy_units sy_units_count(uint64_t count, const char *one, const char *many);

#endif
