/* SPDX-License-Identifier: Apache-2.0
 *
 * One pressure file, of the machine or of a control group. Private to counters/.
 */
#ifndef SY_COUNTERS_PSI_H
#define SY_COUNTERS_PSI_H

#include "counters/provider.h"

#define SY_PRESSURE_COUNT 3 /* cpu, memory, io */

struct sy_pressure {
    struct sy_file file;
    uint32_t some, full; /* counters; SY_NONE */
};
const char *sy_pressure_name(uint32_t index);
/* 0 or -errno: there is no such file, or it is not one. */
int sy_pressure_open(struct sy_sources *sources, const char *source, const char *prefix,
                     enum sy_scope scope, const char *what, const char *path,
                     struct sy_pressure *ret_pressure);
void sy_pressure_read(struct sy_sources *sources, struct sy_pressure *pressure);

#endif
