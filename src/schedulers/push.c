/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies that place a task the moment it is ready: random, round robin, Sparrow-like (the better
 * of two random probes), and StarPU's dmda and dmdas (earliest finish with transfers; dmdas orders
 * each queue by upward rank), the latter two also with times corrected by history.
 */
#include "schedulers/policy.h"
#include <errno.h>

struct push {
    struct policy base;
    bool ranked, history;
    struct pool ready; /* came since the last decision */
    uint32_t turn;
    double arrivals;
    struct sy_choice (*choose)(struct push *push, const struct sy_view *view, uint32_t task);
};

static struct sy_choice choice_on(struct push *push, const struct sy_view *view, uint32_t task,
                                  uint32_t device) {
    double exec_ns = sy_estimate_exec_ns(&push->base, view, task, device);
    return (struct sy_choice){device, 0, exec_ns};
}

static bool can(const struct sy_view *view, uint32_t task, uint32_t device) {
    return isfinite(sy_estimate_time_ns(view, task, device)) && !view->devices[device].lost;
}

static uint32_t random_device(struct push *push, const struct sy_view *view, uint32_t task) {
    uint32_t count = view->machine->device_count;
    uint32_t first = sy_rng_below(&push->base.rng, count);
    for (uint32_t i = 0; i < 64; i++) { /* uniform over those that can; rejection first */
        if (can(view, task, first)) {
            return first;
        }
        first = sy_rng_below(&push->base.rng, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (can(view, task, (first + i) % count)) {
            return (first + i) % count;
        }
    }
    return SY_NONE;
}

static struct sy_choice at_random(struct push *push, const struct sy_view *view, uint32_t task) {
    uint32_t device = random_device(push, view, task);
    return device == SY_NONE ? (struct sy_choice){SY_NONE, 0, 0}
                             : choice_on(push, view, task, device);
}

static struct sy_choice in_turn(struct push *push, const struct sy_view *view, uint32_t task) {
    uint32_t count = view->machine->device_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t device = push->turn++ % count;
        if (can(view, task, device)) {
            return choice_on(push, view, task, device);
        }
    }
    return (struct sy_choice){SY_NONE, 0, 0};
}

static struct sy_choice two_probes(struct push *push, const struct sy_view *view, uint32_t task) {
    struct sy_choice a = at_random(push, view, task), b = at_random(push, view, task);
    if (a.device == SY_NONE) {
        return a;
    }
    return sy_estimate_free_ns(view, b.device) < sy_estimate_free_ns(view, a.device) ? b : a;
}

static struct sy_choice earliest(struct push *push, const struct sy_view *view, uint32_t task) {
    return sy_estimate_earliest(&push->base, view, task);
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                struct sy_choice (*choose)(struct push *, const struct sy_view *, uint32_t),
                bool ranked, bool history) {
    int code = sy_policy_init(s, view, args, sizeof(struct push));
    if (code) {
        return code;
    }
    struct push *push = s->state;
    push->choose = choose;
    push->ranked = ranked;
    code = sy_pool_init(&push->ready, &push->base, view);
    return !code && history ? sy_policy_use_drift(&push->base, view) : code;
}

static int init_random(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, at_random, false, false);
}

static int init_turn(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, in_turn, false, false);
}

static int init_sparrow(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, two_probes, false, false);
}

static int init_dmda(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, earliest, false, false);
}

static int init_dmdas(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, earliest, true, false);
}

static int init_dmda_hist(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, earliest, false, true);
}

static int init_dmdas_hist(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, earliest, true, true);
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct push *push = s->state;
    sy_order_arrived(&push->base, view, job);
    if (push->ranked) {
        sy_rank_upward(&push->base, view, job, push->base.rank);
    }
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct push *push = s->state;
    sy_pool_push(&push->ready, view, task,
                 push->ranked ? push->base.rank[task] : -push->arrivals++);
}

/* One decision a call: the next choice must see the queue that this one makes longer. */
static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct push *push = s->state;
    (void)capacity;
    uint32_t task = sy_pool_peek(&push->ready, &push->base, view);
    if (task == SY_NONE) {
        return 0;
    }
    struct sy_choice choice = push->choose(push, view, task);
    if (choice.device == SY_NONE) {
        return 0; /* every device that could is lost: wait for one */
    }
    sy_pool_pop(&push->ready, &push->base, view);
    double key = push->ranked ? push->base.rank[task] : 0;
    *ret = (struct sy_decision){.kind = SY_RUN,
                                .task = task,
                                .device = choice.device,
                                .priority = sy_order_priority(&push->base, view, task, key),
                                .expected_ns = choice.exec_ns};
    sy_order_charge(&push->base, view, task, choice.exec_ns);
    return 1;
}

SY_POLICY(sy_policy_random, "random", "any device that can, at random", init_random, false);
SY_POLICY(sy_policy_round_robin, "rr", "devices in turn", init_turn, false);
SY_POLICY(sy_policy_sparrow, "sparrow", "the less loaded of two random devices (Sparrow-like)",
          init_sparrow, false);
SY_POLICY(sy_policy_dmda, "dmda", "earliest finish with transfers when ready (MCT; StarPU dmda)",
          init_dmda, false);
SY_POLICY(sy_policy_dmdas, "dmdas", "dmda with queues ordered by upward rank (StarPU dmdas)",
          init_dmdas, false);
SY_POLICY(sy_policy_dmda_hist, "dmda-hist", "dmda with times corrected by history", init_dmda_hist,
          false);
SY_POLICY(sy_policy_dmdas_hist, "dmdas-hist", "dmdas with times corrected by history",
          init_dmdas_hist, false);
