/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a codelet's implementations a task runs with, chosen when its worker takes it: only
 * then it is known which ones the program allows there (can_execute may tell tasks of one codelet
 * apart). Each that is allowed is tried a few times; after that the fastest runs, by what the
 * program's own model says or by what it took.
 */
#include "engine/starpu/shared.h"
#include <math.h>

#define TRIES 3u
#define STEP  .1 /* of the way to a new time; wild ones count as one that is off by CLIP */
#define CLIP  .5

static struct implementation *at(const struct row *row, uint32_t class_index, uint32_t number) {
    return &row->implementations[(size_t)class_index * STARPU_MAXIMPLEMENTATIONS + number];
}

void implementation_told(struct implementation *implementation, double time_ns) {
    *implementation = (struct implementation){.count = TRIES, .middle_ns = time_ns};
}

/* Tried less often than needed comes first, then faster. */
static bool is_better(const struct implementation *a, const struct implementation *b) {
    uint32_t tried_a = a->count + a->under_way, tried_b = b->count + b->under_way;
    if (tried_a < TRIES || tried_b < TRIES) {
        return tried_a < tried_b;
    }
    /* One that is under way for the first time says nothing yet. */
    return a->count && (!b->count || a->middle_ns < b->middle_ns);
}

void implementation_choose(struct node *node, uint32_t worker, uint32_t class_index) {
    const struct row *row = node->row;
    uint8_t only = row->only[class_index];
    unsigned mask = only == NO_IMPLEMENTATION ? 0 : 1u << only;
    if (!mask && (!starpu_worker_can_execute_task_impl(worker, node->task, &mask) || !mask)) {
        return; /* StarPU says what is wrong with it */
    }
    uint32_t best = (uint32_t)__builtin_ctz(mask);
    for (uint32_t i = best + 1; i < STARPU_MAXIMPLEMENTATIONS; i++) {
        if (mask >> i & 1 && is_better(at(row, class_index, i), at(row, class_index, best))) {
            best = i;
        }
    }
    node->implementation = (uint8_t)best;
    at(row, class_index, best)->under_way++;
    starpu_task_set_implementation(node->task, best);
}

void implementation_ended(struct node *node, uint32_t class_index, double duration_ns) {
    if (node->implementation == NO_IMPLEMENTATION) {
        return;
    }
    struct implementation *it = at(node->row, class_index, node->implementation);
    it->under_way -= it->under_way > 0;
    if (!(duration_ns > 0)) {
        return;
    }
    double off = it->count ? duration_ns / it->middle_ns - 1 : 0;
    if (it->count == 0) {
        it->middle_ns = duration_ns;
    } else if (it->count < TRIES) {
        it->middle_ns = fmin(it->middle_ns, duration_ns); /* the first may have warmed up */
    } else {
        it->middle_ns *= 1 + STEP * fmax(-CLIP, fmin(CLIP, off));
    }
    it->count++;
}
