/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy meters of the processor, for the provider and for sy_energy. Private to counters/.
 */
#ifndef SY_COUNTERS_RAPL_H
#define SY_COUNTERS_RAPL_H

#include "counters/provider.h"

#define SY_RAPL_MAX 64

struct sy_rapl_meter {
    const char *event; /* as the kernel's power PMU names it: "energy-pkg", "energy-ram" ... */
    uint32_t package;
    double scale;        /* joules per count */
    double range;        /* counts; 0: never wraps */
    struct sy_file file; /* of powercap */
    int fd;              /* of perf, where there is no file; -1 */
};

struct sy_rapl {
    struct sy_rapl_meter meters[SY_RAPL_MAX];
    uint32_t count;
    bool by_perf;
};
/* Finds the meters: powercap first, then perf's power PMU. Adds a gap where there are none. */
void sy_rapl_open(struct sy_sources *sources, struct sy_rapl *rapl);
void sy_rapl_close(struct sy_sources *sources, struct sy_rapl *rapl);
/* False: it cannot be read now. */
bool sy_rapl_read(struct sy_sources *sources, struct sy_rapl_meter *meter, uint64_t *ret_total);

#endif
