/* SPDX-License-Identifier: Apache-2.0
 *
 * units: times and sizes as people write them.
 *
 * In: numbers in base units. Out: short text; base.h reads it. Invariant: the text is in the
 * caller's buffer of SY_UNITS_SIZE bytes; a value that is not finite reads "-".
 */
#ifndef SY_CLI_UNITS_H
#define SY_CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SY_UNITS_SIZE 32

/* "1.24 ms", three or four digits. */
const char *sy_units_time(double ns, char *buffer);
/* "1.5 GB", powers of ten. */
const char *sy_units_bytes(double bytes, char *buffer);
/* "12.5 GB/s". */
const char *sy_units_rate(double bytes_per_s, char *buffer);
/* A number with the given decimals, or "-". */
const char *sy_units_number(double value, int decimals, char *buffer);
/* "1 memory", "2 memories". */
const char *sy_units_count(uint64_t count, const char *one, const char *many, char *buffer);

#endif
