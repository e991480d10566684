/* SPDX-License-Identifier: Apache-2.0
 *
 * What durations teach of slowdowns: how a kernel on a class of devices answers to the use of its
 * memory and of the way to it, and what kernels do to each other on one core.
 *
 * In: duration over duration alone of each task. Out: the state that slowdown.c expects from.
 * Invariants: everything is drawn towards "no effect" and a lone wild duration moves it little.
 */
#include "belief/slowdown.h"
#include <math.h>
#include <string.h>

#define SCALE_START    0.2 /* of the logarithm of a duration over what was expected */
#define SCALE_FLOOR    0.02
#define SCALE_GAIN     0.1
#define CLIP           2.0  /* deviations count up to so many scales */
#define FORGET         0.98 /* per task, of older ones */
#define PRIOR_ERROR    4.0  /* precision of no effect: of the time alone, in tasks ... */
#define PRIOR_SENSE    10.0 /* ... and of the sensitivities */
#define PAIR_PRIOR     2.0  /* tasks that a kernel's mean over all neighbours weighs */
#define ALL_PRIOR      3.0  /* tasks that no effect weighs */
#define PAIR_MEMORY    24.0
#define DEVICE_MEMORY  6.0 /* tasks: it changes while jobs run */
#define DEVICE_PRIOR   1.0
#define DEVICE_CLIP    0.7  /* a lone wild duration stays below what counts */
#define DEVICE_SD      0.15 /* of the logarithm of a duration, by chance */
#define LASTING_MEMORY 100.0
#define ERROR_FLOOR    1e-3 /* of squared logarithms */

static double location_of(const struct location *l, double prior, double weight) {
    return (l->sum + prior * weight) / (l->weight + weight);
}

double sy_slowdown_pair(const struct sy_slowdown *s, uint32_t kernel, uint32_t beside) {
    if (!s->pairs) {
        return 0;
    }
    double all = location_of(&s->kernels[kernel], 0, ALL_PRIOR);
    const struct location *pair = &s->pairs[(size_t)kernel * s->kernel_count + beside];
    return fmax(0, location_of(pair, all, PAIR_PRIOR));
}

/* Less than twice its own uncertainty is chance. */
double sy_slowdown_device(const struct sy_slowdown *s, uint32_t device) {
    const struct location *l = &s->devices[device];
    double mean = l->sum / (l->weight + DEVICE_PRIOR), unsure = 2 * DEVICE_SD / sqrt(l->weight + 1);
    return mean > unsure ? mean : 0;
}

static void learn_location(struct location *l, double value, double memory) {
    double keep = 1 - 1 / memory;
    l->sum = keep * l->sum + value;
    l->weight = keep * l->weight + 1;
}

/* Solves gram * effect = moment; both are small and the prior makes it regular. */
static void solve(struct sensitivity *own) {
    double a[FEATURES][FEATURES + 1];
    for (uint32_t i = 0; i < FEATURES; i++) {
        memcpy(a[i], own->gram[i], sizeof own->gram[i]);
        a[i][i] += i ? PRIOR_SENSE : PRIOR_ERROR;
        a[i][FEATURES] = own->moment[i];
    }
    for (uint32_t i = 0; i < FEATURES; i++) {
        for (uint32_t j = i + 1; j < FEATURES; j++) {
            double factor = a[j][i] / a[i][i];
            for (uint32_t k = i; k <= FEATURES; k++) {
                a[j][k] -= factor * a[i][k];
            }
        }
    }
    for (uint32_t i = FEATURES; i-- > 0;) {
        double value = a[i][FEATURES];
        for (uint32_t k = i + 1; k < FEATURES; k++) {
            value -= a[i][k] * own->effect[k];
        }
        own->effect[i] = value / a[i][i];
    }
}

/* Residual of a task's logarithm against what is known of its kernel, clipped; learns the scale. */
static double clipped(struct sensitivity *own, const double *feature, double residual) {
    double expected = 0;
    if (!(own->scale > 0)) {
        own->scale = SCALE_START;
    }
    for (uint32_t f = 0; f < FEATURES; f++) {
        expected += own->effect[f] * feature[f];
    }
    double off = residual - expected, size = fmin(fabs(off), 3 * own->scale);
    double step = fmin(fabs(off), CLIP * own->scale);
    own->scale = fmax(own->scale + SCALE_GAIN * (size - own->scale), SCALE_FLOOR);
    return expected + copysign(step, off);
}

/* What is left of the residual beyond what was known of the kernel. */
static double learn_sensitivity(struct sensitivity *own, const double *feature, double residual) {
    double expected = 0, value = clipped(own, feature, residual);
    for (uint32_t f = 0; f < FEATURES; f++) {
        expected += own->effect[f] * feature[f];
    }
    for (uint32_t i = 0; i < FEATURES; i++) {
        for (uint32_t j = 0; j < FEATURES; j++) {
            own->gram[i][j] = FORGET * own->gram[i][j] + feature[i] * feature[j];
        }
        own->moment[i] = FORGET * own->moment[i] + feature[i] * value;
    }
    solve(own);
    return sy_least(DEVICE_CLIP, sy_most(-DEVICE_CLIP, residual - expected));
}

static double part_of(uint32_t candidate, double lengths) {
    static const double times[TIMES] = {0, 0.25, 1, 4, 16, 64, INFINITY}; /* in tasks */
    double x = lengths / times[candidate];
    return candidate == 0 ? 0 : x > 1e-6 ? -expm1(-x) / x : 1;
}

double sy_slowdown_lasting(const struct sy_slowdown *s, uint32_t resource, double alone_ns) {
    const struct lasting *l = &s->lasting[resource];
    double sum = 0, lengths = s->time_ns > 0 ? alone_ns / s->time_ns : 0;
    for (uint32_t i = 0; i < TIMES; i++) {
        sum += l->weight[i] > 1e-3 ? l->weight[i] * part_of(i, lengths) : 0;
    }
    return l->count > 0 ? fmin(sum, 1) : 0.5;
}

static void weigh_candidates(struct lasting *l) {
    double least = INFINITY, all = 0;
    for (uint32_t i = 0; i < TIMES; i++) {
        least = fmin(least, l->error[i]);
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        l->weight[i] = exp(-l->count * (l->error[i] - least) / (2 * (least + ERROR_FLOOR)));
        all += l->weight[i];
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        l->weight[i] /= all;
    }
}

/* Which candidate for how long the present lasts would have predicted this task best? */
static void learn_lasting(struct sy_slowdown *s, const struct begun *task, double log_ratio) {
    s->time_ns += (task->alone_ns - s->time_ns) * (s->time_ns > 0 ? 0.02 : 1);
    if (task->main == SY_NONE || fabs(log(task->now / task->later)) < 0.02) {
        return;
    }
    struct lasting *l = &s->lasting[task->main];
    double gain = 1 / fmin(l->count + 1, LASTING_MEMORY);
    for (uint32_t i = 0; i < TIMES; i++) {
        double part = part_of(i, task->alone_ns / s->time_ns);
        double off = log_ratio - log(part * task->now + (1 - part) * task->later);
        l->error[i] += gain * (fmin(off * off, 1) - l->error[i]);
    }
    l->count = fmin(l->count + 1, LASTING_MEMORY);
    weigh_candidates(l);
}

/* The sooner the present passes, the less a candidate for how strong others are can be told by. */
static void learn_strength(struct sy_slowdown *s, const struct begun *task, double log_ratio,
                           double part) {
    double expected[SY_STRENGTHS];
    for (uint32_t i = 0; i < SY_STRENGTHS; i++) {
        expected[i] = log(part * task->by_strength[i] + (1 - part) * task->later);
    }
    sy_shares_learn(s->shares, task->main, log_ratio, expected);
}

void sy_slowdown_ended(struct sy_slowdown *s, uint32_t device, double ratio) {
    struct begun *task = &s->begun[device];
    if (!task->is || !(ratio > 0) || !isfinite(ratio)) {
        task->is = false;
        return;
    }
    const struct sy_machine *m = s->machine;
    struct sensitivity *own =
        &s->sensitivities[(size_t)task->kernel * m->class_count + m->devices[device].class_index];
    double log_ratio = log(ratio), shares = 1;
    if (task->main != SY_NONE) {
        double part = sy_slowdown_lasting(s, task->main, task->alone_ns);
        shares = part * task->now + (1 - part) * task->later;
        learn_lasting(s, task, log_ratio - own->effect[0] - task->log_more);
        learn_strength(s, task, log_ratio - own->effect[0] - task->log_more, part);
    }
    double residual = log_ratio - log(shares);
    task->is = false;
    if (task->beside == SY_NONE || !s->pairs) {
        double left = learn_sensitivity(own, task->feature, residual);
        learn_location(&s->devices[device], left, DEVICE_MEMORY);
        return;
    }
    double value = clipped(own, task->feature, residual) - own->effect[0];
    learn_location(&s->kernels[task->kernel], value, PAIR_MEMORY);
    learn_location(&s->pairs[(size_t)task->kernel * s->kernel_count + task->beside], value,
                   PAIR_MEMORY);
}
