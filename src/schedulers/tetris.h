/* SPDX-License-Identifier: Apache-2.0
 *
 * Tetris' state, shared with Graphene, which packs in the same way but in an order of its own.
 */
#ifndef SY_SCHEDULERS_TETRIS_H
#define SY_SCHEDULERS_TETRIS_H

#include "schedulers/policy.h"
#include "schedulers/sharing.h"

#define TETRIS_WINDOW 64

struct tetris {
    struct policy base;
    struct pool ready;
    struct sharing sharing;
    double *order; /* per task: which come into the window first */
    bool ordered;  /* it counts in the score, too */
    uint32_t window[TETRIS_WINDOW];
};

/* Allocates state of size bytes that begins with struct tetris. */
SY_MUST_CHECK int sy_tetris_init(struct sy_scheduler *scheduler, const struct sy_view *view,
                                 const char *args, size_t size);
/* The order is that of upward ranks. */
void sy_tetris_job_arrived(struct sy_scheduler *scheduler, const struct sy_view *view,
                           uint32_t job);
void sy_tetris_task_ready(struct sy_scheduler *scheduler, const struct sy_view *view,
                          uint32_t task);
uint32_t sy_tetris_decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                          struct sy_decision *ret_decisions, uint32_t capacity);

#endif
