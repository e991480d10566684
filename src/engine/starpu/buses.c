/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that StarPU's buses have carried, summed up. Reading StarPU's own account sets it back to
 * 0: the watcher, the recorder and a run all want to know, so nobody but this file reads it.
 */
#include "engine/starpu/hooks.h"
#include <stdatomic.h>

#define BUSES 4096 /* of 64 memory nodes; what further ones carry is not known */

static _Atomic uint64_t carried[BUSES];

double sy_bus_bytes(int bus) {
    struct starpu_profiling_bus_info info;
    if (bus < 0 || bus >= BUSES) {
        return 0;
    }
    uint64_t more =
        starpu_bus_get_profiling_info(bus, &info) ? 0 : (uint64_t)info.transferred_bytes;
    return (double)(atomic_fetch_add(&carried[bus], more) + more);
}

void sy_bus_restart(void) {
    for (int bus = 0; bus < BUSES; bus++) {
        atomic_store(&carried[bus], 0);
    }
}
