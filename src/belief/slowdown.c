/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected slowdown of a task on shared resources.
 *
 * In: demands of what we run, what is believed of the others, durations (slowdown_learn.c). Out:
 * duration over duration alone, with its spread, and the harm to what we run. Capacities are known
 * and shared max-min fairly: a newcomer gets what is left, or the level at which nobody who gets
 * more is left. Others are expected to yield as so many flows like ours. The expectation is over
 * what is not known of the others now, and for the later part of a long task over their usual
 * levels. What shares do not explain, a kernel's sensitivity and its neighbour's do.
 */
#include "belief/slowdown.h"
#include <math.h>
#include <string.h>

#define RATIO_MAX   64.0
#define USUAL_LOOKS 16
#define USUAL_TASKS 300 /* usual is what was while so many tasks ran one after the other */

static const double probabilities[POINTS] = {0.1, 0.3, 0.5, 0.7, 0.9};
static const double normals[POINTS] = {-1.2816, -0.5244, 0, 0.5244, 1.2816};

static void *take(struct sy_slowdown *s, size_t count, size_t size) {
    return sy_arena_alloc(s->arena, count + 1, size);
}

static bool take_pairs(struct sy_slowdown *s) {
    size_t kernels = s->kernel_count;
    if (kernels > PAIR_MAX) {
        return true;
    }
    s->pairs = take(s, kernels * kernels, sizeof *s->pairs);
    s->kernels = take(s, kernels, sizeof *s->kernels);
    return s->pairs && s->kernels;
}

static bool take_all(struct sy_slowdown *s) {
    const struct sy_machine *m = s->machine;
    size_t resources = m->resource_count, kernels = s->kernel_count;
    s->shares = sy_shares_create(s->arena, m, 2 * m->device_count);
    s->others = take(s, resources, sizeof *s->others);
    s->others_sd = take(s, resources, sizeof *s->others_sd);
    s->present = take(s, resources * POINTS, sizeof *s->present);
    s->level = take(s, resources, sizeof *s->level);
    s->extra = take(s, resources, sizeof *s->extra);
    s->usual = take(s, resources * POINTS, sizeof *s->usual);
    s->lasting = take(s, resources, sizeof *s->lasting);
    s->open = take(s, resources, sizeof *s->open);
    s->sensitivities = take(s, kernels * m->class_count, sizeof *s->sensitivities);
    s->devices = take(s, m->device_count, sizeof *s->devices);
    s->begun = take(s, m->device_count, sizeof *s->begun);
    return take_pairs(s) && s->shares && s->others && s->others_sd && s->present && s->level &&
           s->extra && s->usual && s->lasting && s->open && s->sensitivities && s->devices &&
           s->begun;
}

struct sy_slowdown *sy_slowdown_create(struct sy_arena *arena, const struct sy_machine *machine,
                                       uint32_t kernel_count) {
    struct sy_slowdown *s = sy_arena_alloc(arena, 1, sizeof *s);
    if (!s) {
        return NULL;
    }
    s->arena = arena;
    s->machine = machine;
    s->kernel_count = kernel_count;
    return take_all(s) ? s : NULL;
}

void sy_slowdown_reset(struct sy_slowdown *s) {
    const struct sy_machine *m = s->machine;
    size_t kernels = s->kernel_count;
    sy_shares_reset(s->shares);
    s->now_ns = s->time_ns = 0;
    s->looks = 0;
    memset(s->usual, 0, m->resource_count * POINTS * sizeof *s->usual);
    memset(s->lasting, 0, m->resource_count * sizeof *s->lasting);
    memset(s->sensitivities, 0, kernels * m->class_count * sizeof *s->sensitivities);
    memset(s->devices, 0, m->device_count * sizeof *s->devices);
    memset(s->begun, 0, m->device_count * sizeof *s->begun);
    if (s->pairs) {
        memset(s->pairs, 0, kernels * kernels * sizeof *s->pairs);
        memset(s->kernels, 0, kernels * sizeof *s->kernels);
    }
}

/* --- a look --------------------------------------------------------------------------------------
 */
/* What a newcomer would have got since the last look is what is usual, while we use a resource. */
static void remember(struct sy_slowdown *s) {
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        struct lasting *l = &s->lasting[r];
        if (!s->shares->user_count[r] || !(s->open[r] > 0)) {
            continue;
        }
        double taken = 1 - sy_least(1, s->open[r] / s->machine->resources[r].bytes_per_s);
        double gain = s->elapsed_ns / (l->watched_ns + s->elapsed_ns);
        uint32_t level = (uint32_t)(taken * (SY_LEVELS - 1) + 0.5);
        for (uint32_t k = 0; k < SY_LEVELS; k++) {
            l->share[k] += gain * ((k == level) - l->share[k]);
        }
        l->watched_ns += s->elapsed_ns;
        if (s->time_ns > 0) {
            l->watched_ns = sy_least(l->watched_ns, USUAL_TASKS * s->time_ns);
        }
    }
}

void sy_slowdown_begin(struct sy_slowdown *s, double now_ns) {
    s->elapsed_ns = now_ns - s->now_ns;
    if (s->elapsed_ns > 0) {
        remember(s);
        s->looks++;
        s->now_ns = now_ns;
    }
    sy_shares_clear(s->shares);
    memset(s->others, 0, s->machine->resource_count * sizeof *s->others);
    memset(s->others_sd, 0, s->machine->resource_count * sizeof *s->others_sd);
}

void sy_slowdown_runs(struct sy_slowdown *s, struct sy_draw draw) {
    sy_shares_add(s->shares, draw);
}

void sy_slowdown_told(struct sy_slowdown *s, uint32_t r, double others, double sd) {
    double capacity = s->machine->resources[r].bytes_per_s;
    s->others[r] = fmin(fmax(others, 0), capacity);
    s->others_sd[r] = sd >= 0 ? fmin(sd, capacity) : 0;
}

/* Levels below which others stay with the probabilities of the points. */
static void quantiles(const double *share, double capacity, double *ret_level) {
    double below = 0, all = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < SY_LEVELS; i++) {
        all += share[i];
    }
    for (uint32_t q = 0; q < POINTS; q++) {
        while (k + 1 < SY_LEVELS && below + share[k] < probabilities[q] * all) {
            below += share[k++];
        }
        ret_level[q] = k * capacity / (SY_LEVELS - 1);
    }
}

static double extra(const double *flows, uint32_t count, double level) {
    double sum = 0;
    for (uint32_t i = count; i-- > 0 && flows[i] > level;) {
        sum += flows[i] / level - 1;
    }
    return sum;
}

static void open_up(struct sy_slowdown *s, uint32_t r) {
    double capacity = s->machine->resources[r].bytes_per_s, level[POINTS], inverse = 0;
    for (uint32_t q = 0; q < POINTS; q++) {
        level[q] = fmin(fmax(s->others[r] + normals[q] * s->others_sd[r], 0), capacity);
    }
    for (uint32_t q = 0; q < POINTS; q++) {
        double open = sy_shares_level(s->shares, r, level[q], true);
        s->present[r * POINTS + q] = open;
        inverse += 1 / open / POINTS;
    }
    s->open[r] = 1 / inverse;
    s->level[r] = sy_shares_level(s->shares, r, s->others[r], false);
    s->extra[r] = extra(&s->shares->wants[(size_t)r * s->shares->draw_capacity],
                        s->shares->user_count[r], s->level[r]);
    if (s->lasting[r].watched_ns > 0 && s->looks % USUAL_LOOKS && s->usual[r * POINTS] > 0) {
        return; /* it moves slowly */
    }
    if (s->lasting[r].watched_ns > 0) {
        quantiles(s->lasting[r].share, capacity, level);
        for (uint32_t q = 0; q < POINTS; q++) { /* the fullest level is not quite full */
            s->usual[r * POINTS + q] = fmax(capacity - level[q], capacity / SY_LEVELS / 2);
        }
    } else {
        memcpy(&s->usual[r * POINTS], &s->present[r * POINTS], sizeof level);
    }
}

void sy_slowdown_ready(struct sy_slowdown *s) {
    sy_shares_solve(s->shares, s->others);
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        open_up(s, r);
    }
}

void sy_slowdown_add(struct sy_slowdown *s, struct sy_draw draw) {
    sy_shares_add(s->shares, draw);
    sy_shares_solve(s->shares, s->others);
    for (uint32_t i = 0; i < draw.count; i++) {
        open_up(s, draw.resources[i]);
    }
}

const double *sy_slowdown_open(const struct sy_slowdown *s) {
    return s->open;
}

/* --- what to expect ------------------------------------------------------------------------------
 */
void sy_slowdown_features(const struct sy_slowdown *s, uint32_t device, double *ret_feature) {
    const struct sy_machine *m = s->machine;
    const struct sy_device *d = &m->devices[device];
    const struct sy_route *route = &m->routes[(size_t)d->host_memory * m->memory_count + d->memory];
    uint32_t own = m->memories[d->memory].resource;
    ret_feature[0] = 1;
    ret_feature[1] = own == SY_NONE ? 0 : 1 - s->open[own] / m->resources[own].bytes_per_s;
    ret_feature[2] = 0;
    for (uint32_t k = 0; k < route->resource_count; k++) {
        uint32_t r = route->resources[k];
        ret_feature[2] = sy_most(ret_feature[2], 1 - s->open[r] / m->resources[r].bytes_per_s);
    }
}

/* Extra time of what runs on a resource if a task of that demand joined. */
static double harm_on(const struct sy_slowdown *s, uint32_t r, double demand) {
    uint32_t count = s->shares->user_count[r];
    const double *flows = &s->shares->wants[(size_t)r * s->shares->draw_capacity];
    double without = s->level[r], with = s->present[r * POINTS + POINTS / 2];
    if (!count || demand <= 0) {
        return 0;
    }
    if (demand < with) { /* it takes less than an unlimited one: the others keep the rest */
        with = sy_least(without, with + (with - demand) / count);
    }
    return sy_most(0, extra(flows, count, with) - s->extra[r]);
}

struct shares {
    double ratio, median, sd, now, later;
    uint32_t main;
};

/* Median of two lists that rise, the first of which counts as much. */
static double middle(double values[2][POINTS], double first) {
    double below = 0, value = 1;
    for (uint32_t i = 0, j = 0; below < 0.5 && (i < POINTS || j < POINTS);) {
        bool now = j == POINTS || (i < POINTS && values[0][i] <= values[1][j]);
        value = now ? values[0][i++] : values[1][j++];
        below += (now ? first : 1 - first) / POINTS;
    }
    return value;
}

static struct shares by_shares(const struct sy_slowdown *s, struct sy_draw draw, double alone_ns) {
    double now = 0, now_square = 0, speed = 0, slow_square = 0, heaviest = 0, values[2][POINTS];
    uint32_t main = SY_NONE;
    for (uint32_t i = 0; i < draw.count; i++) {
        double part = draw.bytes_per_s[i] / s->machine->resources[draw.resources[i]].bytes_per_s;
        main = part > heaviest ? draw.resources[i] : main;
        heaviest = sy_most(part, heaviest);
    }
    if (main == SY_NONE) {
        return (struct shares){1, 1, 0, 1, 1, SY_NONE};
    }
    for (uint32_t q = 0; q < POINTS; q++) {
        double a = 1, b = 1;
        for (uint32_t i = 0; i < draw.count; i++) {
            uint32_t at = draw.resources[i] * POINTS + q;
            a = sy_most(a, draw.bytes_per_s[i] / s->present[at]);
            b = sy_most(b, draw.bytes_per_s[i] / s->usual[at]);
        }
        a = values[0][q] = sy_least(a, RATIO_MAX);
        b = values[1][q] = sy_least(b, RATIO_MAX);
        now += a / POINTS;
        now_square += a * a / POINTS;
        speed += 1 / b / POINTS;
        slow_square += b * b / POINTS;
    }
    double lasts = sy_slowdown_lasting(s, main, alone_ns);
    double later = 1 / speed, ratio = lasts * now + (1 - lasts) * later;
    double spread = lasts * sy_most(0, now_square - 2 * ratio * now + ratio * ratio) +
                    (1 - lasts) * sy_most(0, slow_square - later * later);
    return (struct shares){ratio, middle(values, lasts), sqrt(spread), now, later, main};
}

static struct sy_slowing expect(const struct sy_slowdown *s, uint32_t kernel, uint32_t device,
                                struct sy_draw draw, uint32_t beside, double alone_ns,
                                struct shares *ret_shares) {
    const struct sy_machine *m = s->machine;
    const struct sensitivity *own =
        &s->sensitivities[(size_t)kernel * m->class_count + m->devices[device].class_index];
    struct shares shares = by_shares(s, draw, alone_ns);
    struct sy_slowing slowing = {.ratio = shares.ratio, .median = shares.median};
    double feature[FEATURES], more = 0;
    if (own->scale > 0) {
        sy_slowdown_features(s, device, feature);
        for (uint32_t f = 1; f < FEATURES; f++) {
            more += fmax(0, own->effect[f]) * feature[f];
        }
    }
    more += beside == SY_NONE ? 0 : sy_slowdown_pair(s, kernel, beside);
    more += sy_slowdown_device(s, device);
    double factor = more == 0 ? 1 : exp(more);
    slowing.ratio *= factor;
    slowing.sd = shares.sd * factor;
    slowing.median *= factor;
    for (uint32_t i = 0; i < draw.count; i++) {
        slowing.harm += harm_on(s, draw.resources[i], draw.bytes_per_s[i]);
    }
    *ret_shares = shares;
    return slowing;
}

struct sy_slowing sy_slowdown_expect(const struct sy_slowdown *s, uint32_t kernel, uint32_t device,
                                     struct sy_draw draw, uint32_t beside, double alone_ns) {
    struct shares shares;
    return expect(s, kernel, device, draw, beside, alone_ns, &shares);
}

/* What the task would take if others held on to the resource it leans on most as strongly as each
 * candidate says. */
static void compare_strengths(const struct sy_slowdown *s, struct sy_draw draw,
                              struct begun *task) {
    double level[SY_STRENGTHS], demand = 0, rest = 1;
    for (uint32_t i = 0; i < draw.count; i++) {
        uint32_t r = draw.resources[i];
        if (r == task->main) {
            demand = draw.bytes_per_s[i];
        } else {
            rest = sy_most(rest, draw.bytes_per_s[i] / s->open[r]);
        }
    }
    if (task->main == SY_NONE) {
        return;
    }
    sy_shares_levels(s->shares, task->main, s->others[task->main], true, level);
    for (uint32_t i = 0; i < SY_STRENGTHS; i++) {
        task->by_strength[i] = sy_least(sy_most(rest, demand / level[i]), RATIO_MAX);
    }
}

void sy_slowdown_started(struct sy_slowdown *s, uint32_t device, uint32_t kernel,
                         struct sy_draw draw, uint32_t beside, double alone_ns) {
    struct begun *task = &s->begun[device];
    struct shares shares;
    struct sy_slowing slowing = expect(s, kernel, device, draw, SY_NONE, alone_ns, &shares);
    *task = (struct begun){.is = true,
                           .kernel = kernel,
                           .beside = beside,
                           .alone_ns = alone_ns,
                           .log_more = log(slowing.ratio / shares.ratio),
                           .now = shares.now,
                           .later = shares.later,
                           .main = shares.main};
    task->count = draw.count < SY_DRAW_MAX ? draw.count : SY_DRAW_MAX;
    memcpy(task->resources, draw.resources, task->count * sizeof *task->resources);
    memcpy(task->bytes_per_s, draw.bytes_per_s, task->count * sizeof *task->bytes_per_s);
    compare_strengths(s, draw, task);
    sy_slowdown_features(s, device, task->feature);
}

double sy_slowdown_disturbs(const struct sy_slowdown *s, uint32_t kernel, uint32_t beside) {
    return beside == SY_NONE ? 0 : expm1(sy_slowdown_pair(s, beside, kernel));
}
