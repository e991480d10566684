/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies in which an idle device takes a task: eager (oldest first), prio (upward rank first) and
 * HeteroPrio (each class takes what it speeds up most; Agullo et al. 2016, without restarting tasks
 * that already run). One pool per class, so that a device only ever sees what it can run.
 */
#include "schedulers/policy.h"
#include <errno.h>

enum mode { EAGER, PRIORITY, AFFINITY };

struct pull {
    struct policy base;
    enum mode mode;
    struct pool *pools; /* per class; a task taken from one is stale in the others */
    double arrivals;
    uint32_t waiting;
};

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                enum mode mode) {
    int code = sy_policy_init(s, view, args, sizeof(struct pull));
    if (code) {
        return code;
    }
    struct pull *pull = s->state;
    pull->mode = mode;
    uint32_t classes = view->machine->class_count;
    pull->pools = sy_arena_alloc(pull->base.arena, classes, sizeof *pull->pools);
    for (uint32_t c = 0; pull->pools && !code && c < classes; c++) {
        code = sy_pool_init(&pull->pools[c], &pull->base, view);
    }
    return pull->pools ? code : -ENOMEM;
}

static int init_eager(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, EAGER);
}

static int init_priority(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, PRIORITY);
}

static int init_affinity(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, AFFINITY);
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct pull *pull = s->state;
    sy_order_arrived(&pull->base, view, job);
    sy_rank_upward(&pull->base, view, job, pull->base.rank);
}

/* How much better this class is than the best other one; ties by rank. */
static double affinity(const struct pull *pull, const struct sy_view *view, uint32_t task,
                       uint32_t class_index) {
    uint32_t classes = view->machine->class_count;
    const double *time = view->time_ns + (size_t)task * classes;
    double other = INFINITY;
    for (uint32_t c = 0; c < classes; c++) {
        if (c != class_index && time[c] < other) {
            other = time[c];
        }
    }
    double gain = isfinite(other) ? log((other + 1) / (time[class_index] + 1)) : 50;
    return gain + 1e-9 * pull->base.rank[task] / (pull->base.rank[task] + 1e9);
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct pull *pull = s->state;
    uint32_t classes = view->machine->class_count;
    double key = pull->mode == EAGER ? -pull->arrivals++ : pull->base.rank[task];
    pull->waiting++;
    for (uint32_t c = 0; c < classes; c++) {
        if (isfinite(view->time_ns[(size_t)task * classes + c])) {
            sy_pool_push(&pull->pools[c], view, task,
                         pull->mode == AFFINITY ? affinity(pull, view, task, c) : key);
        }
    }
}

static uint32_t take(struct pull *pull, const struct sy_view *view, uint32_t class_index) {
    struct pool *pool = &pull->pools[class_index];
    uint32_t task;
    do {
        task = sy_pool_pop(pool, &pull->base, view);
    } while (task != SY_NONE &&
             (view->task_device[task] != SY_NONE || view->task_state[task] != SY_TASK_READY));
    return task;
}

static bool is_idle(const struct sy_view *view, uint32_t device) {
    const struct sy_view_device *d = &view->devices[device];
    return d->running == SY_NONE && d->queue_length == 0 && !d->lost;
}

/* Accelerators choose before CPU cores, as StarPU's drivers tend to. */
static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct pull *pull = s->state;
    const struct sy_machine *m = view->machine;
    (void)capacity;
    for (uint32_t d = m->device_count; pull->waiting && d-- > 0;) {
        uint32_t class_index = m->devices[d].class_index;
        if (!is_idle(view, d) || !pull->pools[class_index].count) {
            continue;
        }
        uint32_t task = take(pull, view, class_index);
        if (task == SY_NONE) {
            continue;
        }
        pull->waiting--;
        double exec_ns = sy_estimate_exec_ns(&pull->base, view, task, d);
        sy_order_charge(&pull->base, view, task, exec_ns);
        *ret =
            (struct sy_decision){.kind = SY_RUN, .task = task, .device = d, .expected_ns = exec_ns};
        return 1;
    }
    return 0;
}

SY_POLICY(sy_policy_eager, "eager", "an idle device takes the oldest ready task", init_eager,
          false);
SY_POLICY(sy_policy_priority, "prio", "an idle device takes the ready task of highest upward rank",
          init_priority, false);
SY_POLICY(sy_policy_heteroprio, "heteroprio",
          "an idle device takes the task its class speeds up most (HeteroPrio, no spoliation)",
          init_affinity, false);
