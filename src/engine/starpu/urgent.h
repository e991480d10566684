/* SPDX-License-Identifier: Apache-2.0
 *
 * Urgent workers (urgent.c): which of StarPU's workers they are, and what their cores gave them.
 * Without preemption there is none. A worker's number is StarPU's; that of a device is the
 * policy's, and the same for all workers that are not urgent.
 */
#ifndef SY_ENGINE_STARPU_URGENT_H
#define SY_ENGINE_STARPU_URGENT_H

#include "engine/starpu/shared.h"

static inline bool is_urgent(uint32_t worker) {
    return worker >= sy_shared.machine->device_count;
}
/* The core that an urgent worker shares with a normal one. */
static inline uint32_t device_of(uint32_t worker) {
    return is_urgent(worker) ? worker - sy_shared.options.urgent_count : worker;
}
static inline uint32_t urgent_worker(uint32_t device) {
    return device + sy_shared.options.urgent_count;
}

int urgent_open(void); /* once there is a machine; -1: no memory */
void urgent_close(void);
/* Without the lock, by the worker: its next task; it sleeps until there is one. NULL: it shall not
 * sleep now. */
struct node *urgent_take(struct context *context, uint32_t worker);
/* Without the lock: something was put into its box. */
void urgent_call(uint32_t worker);
/* Whether a normal worker has its core only by the other one's grace. */
bool urgent_has_core(uint32_t worker);
/* How long the other one of its core had it up to now, ever; 0 of all but normal workers of cores.
 */
double urgent_had_ns(uint32_t worker, double now_ns);

#endif
