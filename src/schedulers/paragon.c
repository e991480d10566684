/* SPDX-License-Identifier: Apache-2.0
 *
 * Paragon-like placement (Delimitrou and Kozyrakis, ASPLOS'13): collaborative filtering of
 * interference. Observed slowdowns fill a sparse matrix of kernels by contexts (device class and
 * how busy its memory is); a low-rank factorisation, refined by gradient steps as tasks end, fills
 * the rest. A task goes where heterogeneity times predicted interference finishes first; as in the
 * original, neither the graph nor its data are looked at.
 */
#include "schedulers/policy.h"
#include <errno.h>

#define FACTORS 4
#define LEVELS  4 /* of pressure on a device's memory */
#define RATE    0.08
#define SHRINK  0.02

struct paragon {
    struct policy base;
    struct pool ready;
    double arrivals;
    double mean; /* of log slowdowns */
    double *kernel_bias, *context_bias;
    double *kernel_factor, *context_factor; /* [* FACTORS] */
    uint32_t *context_at_start;             /* per device */
};

static double *take(struct paragon *p, size_t count) {
    return sy_arena_alloc(p->base.arena, count + 1, sizeof(double));
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_policy_init(s, view, args, sizeof(struct paragon));
    if (code) {
        return code;
    }
    struct paragon *p = s->state;
    size_t kernels = view->kernel_count, contexts = (size_t)view->machine->class_count * LEVELS;
    p->kernel_bias = take(p, kernels);
    p->context_bias = take(p, contexts);
    p->kernel_factor = take(p, kernels * FACTORS);
    p->context_factor = take(p, contexts * FACTORS);
    p->context_at_start =
        sy_arena_alloc(p->base.arena, view->machine->device_count, sizeof *p->context_at_start);
    if (!p->kernel_bias || !p->context_bias || !p->kernel_factor || !p->context_factor ||
        !p->context_at_start) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < kernels * FACTORS; i++) {
        p->kernel_factor[i] = 0.1 * sy_rng_normal(&p->base.rng);
    }
    for (size_t i = 0; i < contexts * FACTORS; i++) {
        p->context_factor[i] = 0.1 * sy_rng_normal(&p->base.rng);
    }
    return sy_pool_init(&p->ready, &p->base, view);
}

/* Pressure on the device's memory: its counter if there is one, else how many compute from it. */
static uint32_t context_of(const struct sy_view *view, uint32_t device) {
    const struct sy_machine *m = view->machine;
    uint32_t memory = m->devices[device].memory, resource = m->memories[memory].resource;
    double pressure = 0;
    if (view->readings && resource != SY_NONE) {
        pressure = view->readings[resource].bytes_per_s / m->resources[resource].bytes_per_s;
    } else {
        uint32_t all = 0, busy = 0;
        for (uint32_t d = 0; d < m->device_count; d++) {
            all += m->devices[d].memory == memory;
            busy += m->devices[d].memory == memory && view->devices[d].running != SY_NONE;
        }
        pressure = (double)busy / all;
    }
    uint32_t level = pressure < 0.25 ? 0 : pressure < 0.5 ? 1 : pressure < 0.8 ? 2 : 3;
    return m->devices[device].class_index * LEVELS + level;
}

static double predict(const struct paragon *p, uint32_t kernel, uint32_t context) {
    double sum = p->mean + p->kernel_bias[kernel] + p->context_bias[context];
    for (uint32_t f = 0; f < FACTORS; f++) {
        sum += p->kernel_factor[kernel * FACTORS + f] * p->context_factor[context * FACTORS + f];
    }
    return sum;
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    sy_order_arrived(s->state, view, job);
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct paragon *p = s->state;
    sy_pool_push(&p->ready, view, task, -p->arrivals++);
}

/* One step of stochastic gradient descent on the squared error of the log slowdown (PQ). */
static void task_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                      uint32_t device, double duration_ns) {
    struct paragon *p = s->state;
    double expected = sy_estimate_time_ns(view, task, device);
    sy_policy_task_done(s, view, task, device, duration_ns);
    if (!(expected > 0) || !(duration_ns > 0)) {
        return;
    }
    uint32_t kernel = view->task_kernel[task], context = p->context_at_start[device];
    double seen = fmax(-1, fmin(2, log(duration_ns / expected)));
    double error = seen - predict(p, kernel, context);
    p->mean += 0.01 * error;
    p->kernel_bias[kernel] += RATE * (error - SHRINK * p->kernel_bias[kernel]);
    p->context_bias[context] += RATE * (error - SHRINK * p->context_bias[context]);
    for (uint32_t f = 0; f < FACTORS; f++) {
        double *a = &p->kernel_factor[kernel * FACTORS + f];
        double *b = &p->context_factor[context * FACTORS + f];
        double old = *a;
        *a += RATE * (error * *b - SHRINK * *a);
        *b += RATE * (error * old - SHRINK * *b);
    }
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct paragon *p = s->state;
    (void)capacity;
    uint32_t task = sy_pool_peek(&p->ready, &p->base, view), best = SY_NONE;
    double best_finish = INFINITY, best_ns = 0;
    for (uint32_t d = 0; task != SY_NONE && d < view->machine->device_count; d++) {
        double ns = sy_estimate_exec_ns(&p->base, view, task, d);
        if (!isfinite(ns) || view->devices[d].lost) {
            continue;
        }
        ns *= exp(predict(p, view->task_kernel[task], context_of(view, d)));
        double finish = sy_estimate_free_ns(view, d) + ns;
        if (finish < best_finish) {
            best_finish = finish;
            best = d;
            best_ns = ns;
        }
    }
    if (best == SY_NONE) {
        return 0;
    }
    sy_pool_pop(&p->ready, &p->base, view);
    p->context_at_start[best] = context_of(view, best);
    *ret = (struct sy_decision){.kind = SY_RUN,
                                .task = task,
                                .device = best,
                                .priority = sy_order_priority(&p->base, view, task, 0),
                                .expected_ns = best_ns};
    sy_order_charge(&p->base, view, task, best_ns);
    return 1;
}

const struct sy_scheduler_ops sy_policy_paragon = {
    .name = "paragon",
    .summary = "collaborative filtering of interference (Paragon-like)",
    .needs_readings = true,
    .init = init,
    .finish = sy_policy_finish,
    .job_arrived = job_arrived,
    .task_ready = task_ready,
    .task_done = task_done,
    .decide = decide,
};
