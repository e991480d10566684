/* SPDX-License-Identifier: Apache-2.0
 *
 * What runs now, for symph top: the hooks' side of struct sy_status (engine.h).
 *
 * No thread and no lock: a worker stores a few numbers in a cache line of its own when a task
 * begins and when it ends, which takes a nanosecond or two.
 */
#ifndef SY_ENGINE_STARPU_STATUS_H
#define SY_ENGINE_STARPU_STATUS_H

#include "engine/starpu/shared.h"

/* Once there is a machine. Where no page can be made nothing is shown, and nothing else changes. */
void status_open(void);
void status_close(void);
/* A kernel's number and name; before the first of its tasks begins. */
void status_name_kernel(uint32_t kernel, const char *name);

#define STATUS_STORE(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)
#define STATUS_LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)

static inline void status_submitted(void) {
    if (sy_shared.status) {
        STATUS_STORE(sy_shared.status->submitted, sy_shared.submitted);
    }
}

/* A task became ready, on any thread. */
static inline void status_pushed(void) {
    struct sy_status *s = sy_shared.status;
    if (s) {
        uint32_t self = (uint32_t)starpu_worker_get_id(); /* -1: none */
        if (self < s->worker_count) {
            STATUS_STORE(s->workers[self].pushed, STATUS_LOAD(s->workers[self].pushed) + 1);
        } else {
            atomic_fetch_add_explicit(&s->workers[SY_STATUS_WORKERS].pushed, 1,
                                      memory_order_relaxed);
        }
    }
}

static inline void status_begin(const struct node *node, uint32_t worker) {
    struct sy_status *s = sy_shared.status;
    if (s && worker < s->worker_count) {
        struct sy_status_worker *w = &s->workers[worker];
        STATUS_STORE(w->kernel, node->row ? node->row->kernel : SY_NONE);
        STATUS_STORE(w->since_ns, node->start_ns);
        STATUS_STORE(w->begun, STATUS_LOAD(w->begun) + 1);
    } else if (s) { /* an urgent one, which is no device: its tasks count, and that is all */
        atomic_fetch_add_explicit(&s->workers[SY_STATUS_WORKERS].begun, 1, memory_order_relaxed);
    }
}

static inline void status_end(uint32_t worker, double now_ns, double duration_ns) {
    struct sy_status *s = sy_shared.status;
    if (s && worker < s->worker_count) {
        struct sy_status_worker *w = &s->workers[worker];
        STATUS_STORE(w->busy_ns, STATUS_LOAD(w->busy_ns) + duration_ns);
        STATUS_STORE(w->since_ns, now_ns); /* what else an accelerator has begins now */
        STATUS_STORE(w->ended, STATUS_LOAD(w->ended) + 1);
    } else if (s) {
        atomic_fetch_add_explicit(&s->workers[SY_STATUS_WORKERS].ended, 1, memory_order_relaxed);
    }
}

#endif
