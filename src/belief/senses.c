/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples, draws and durations become what is believed of the resources; see senses.h.
 */
#include "belief/witness.h"
#include <math.h>
#include <string.h>

#define CHANGED      0.1  /* of the capacity: others have changed */
#define USE_STEPS    1e4  /* our use of a kind of resource is averaged over this many steps */
#define USE_LEAST    0.1  /* a resource that we do not use is of some interest, too */
#define DURATION_SD  0.1  /* of the logarithm of a duration, at least */
#define OFFSET_PRIOR 4.0  /* tasks that a cost model without error weighs */
#define OFFSET_TASKS 50.0 /* its error is averaged over this many tasks */
#define OFFSET_CLIP  0.5  /* of the logarithm: a lone wild duration moves it little */

static void *take(struct sy_arena *arena, size_t count, size_t size) {
    return sy_arena_alloc(arena, count + 1, size);
}

struct sy_senses *sy_senses_create(struct sy_arena *arena,
                                   const struct sy_senses_options *options) {
    struct sy_senses *s = take(arena, 1, sizeof *s);
    size_t resources = options->machine->resource_count;
    if (!s) {
        return NULL;
    }
    s->options = *options;
    s->machine = options->machine;
    s->levels = take(arena, resources, sizeof *s->levels);
    s->sensed = take(arena, resources, sizeof *s->sensed);
    s->others = take(arena, resources, sizeof *s->others);
    s->moved = take(arena, resources, sizeof *s->moved);
    s->mark = take(arena, resources, sizeof *s->mark);
    s->drawn_ns = take(arena, resources, sizeof *s->drawn_ns);
    s->worth = take(arena, resources, sizeof *s->worth);
    s->counting = take(arena, resources, sizeof *s->counting);
    s->spoken = take(arena, resources, sizeof *s->spoken);
    s->pmu_used = take(arena, options->pmu_count, sizeof *s->pmu_used);
    s->offsets =
        take(arena, (size_t)options->kernel_count * s->machine->class_count, sizeof *s->offsets);
    s->shares = sy_shares_create(arena, s->machine, options->draw_capacity);
    if (!s->levels || !s->sensed || !s->others || !s->moved || !s->mark || !s->drawn_ns ||
        !s->worth || !s->counting || !s->spoken || !s->pmu_used || !s->offsets || !s->shares ||
        !sy_witness_list(s, arena)) {
        return NULL;
    }
    sy_senses_reset(s, options->step_ns);
    return s;
}

static double stated_noise(const struct sy_senses *s, const struct sy_witness *w) {
    return s->options.counters[s->members[w->first]].noise_ratio;
}

void sy_senses_reset(struct sy_senses *s, double step_ns) {
    s->now_ns = 0;
    s->turn = 0;
    memset(s->kind_use, 0, sizeof s->kind_use);
    sy_shares_reset(s->shares);
    for (uint32_t w = 0; w < s->witness_count; w++) {
        s->witnesses[w].noise = stated_noise(s, &s->witnesses[w]);
        sy_witness_reset(&s->witnesses[w]);
    }
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        sy_levels_init(&s->levels[r], step_ns);
        s->others[r] = s->moved[r] = s->mark[r] = s->drawn_ns[r] = 0;
        s->sensed[r] = (struct sy_sensed){.seen_ns = -1};
        s->counting[r] = 0;
    }
    memset(s->offsets, 0,
           (size_t)s->options.kernel_count * s->machine->class_count * sizeof *s->offsets);
}

/* --- what we do ourselves -----------------------------------------------------------------------
 */
static void pass(struct sy_senses *s, double now_ns) {
    double elapsed = now_ns - s->now_ns;
    if (!(elapsed > 0)) {
        return;
    }
    s->now_ns = now_ns;
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        sy_levels_pass(&s->levels[r], elapsed);
        s->drawn_ns[r] += elapsed;
    }
}

/* What we take of a resource changes, or its window ends. */
static void count_own(struct sy_senses *s, uint32_t r) {
    double *use = &s->kind_use[s->machine->resources[r].kind];
    double share = s->sensed[r].own / s->machine->resources[r].bytes_per_s;
    *use += sy_least(1, s->drawn_ns[r] / (USE_STEPS * s->levels[r].step_ns)) * (share - *use);
    if (s->counting[r] && s->drawn_ns[r] > 0) {
        sy_levels_own(&s->levels[r], share, s->drawn_ns[r]);
    }
    s->drawn_ns[r] = 0;
}

void sy_senses_begin(struct sy_senses *s, double now_ns) {
    pass(s, now_ns);
    sy_shares_clear(s->shares);
}

void sy_senses_draws(struct sy_senses *s, struct sy_draw draw) {
    sy_shares_add(s->shares, draw);
}

/* What is taken, not what is wanted: under contention others would vanish from the difference. */
void sy_senses_ready(struct sy_senses *s) {
    sy_shares_solve(s->shares, s->others);
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        struct sy_sensed *sensed = &s->sensed[r];
        double own = sy_shares_taken(s->shares, r);
        if (own == sensed->own) {
            continue;
        }
        count_own(s, r);
        sensed->own = own;
        sensed->total =
            sy_least(sensed->own + sensed->median, s->machine->resources[r].bytes_per_s);
    }
}

void sy_senses_moved(struct sy_senses *s, uint32_t resource, double bytes) {
    s->moved[resource] += bytes;
}

/* The draw's heaviest resource, and what it draws there; SY_NONE: it draws nothing. */
static uint32_t heaviest(const struct sy_senses *s, struct sy_draw draw, double *ret_demand) {
    uint32_t main = SY_NONE;
    double most = 0;
    for (uint32_t i = 0; i < draw.count; i++) {
        double part = draw.bytes_per_s[i] / s->machine->resources[draw.resources[i]].bytes_per_s;
        if (part > most) {
            most = part;
            main = draw.resources[i];
            *ret_demand = draw.bytes_per_s[i];
        }
    }
    return main;
}

/* What the cost model misses is learned, so that it is not taken for the load of others. */
static double corrected(struct sy_senses *s, uint32_t kernel, uint32_t class_index,
                        double log_ratio, double expected) {
    struct sy_offset *o = &s->offsets[(size_t)kernel * s->machine->class_count + class_index];
    double mean = o->mean * o->count / (o->count + OFFSET_PRIOR);
    double off = log_ratio - expected - o->mean;
    o->count = sy_least(o->count + 1, OFFSET_TASKS);
    o->mean += sy_least(OFFSET_CLIP, sy_most(-OFFSET_CLIP, off)) / o->count;
    return log_ratio - mean;
}

/* How long a task took says how loaded the resource was that it leans on most, the more surely the
 * longer levels last against it. */
void sy_senses_ended(struct sy_senses *s, uint32_t kernel, uint32_t class_index,
                     struct sy_draw draw, double alone_ns, double duration_ns, double log_sigma) {
    double demand = 0;
    uint32_t main = heaviest(s, draw, &demand);
    if (main == SY_NONE || !(alone_ns > 0) || !(duration_ns > 0) || !isfinite(duration_ns)) {
        return;
    }
    struct sy_levels *levels = &s->levels[main];
    double capacity = s->machine->resources[main].bytes_per_s;
    if (demand <= sy_shares_level(s->shares, main, capacity, false)) {
        return; /* nobody could slow it */
    }
    double expected =
        log(fmax(1, demand / sy_shares_level(s->shares, main, s->sensed[main].others, false)));
    double log_ratio = corrected(s, kernel, class_index, log(duration_ns / alone_ns), expected);
    double scale = fmax(log_sigma, DURATION_SD);
    double power = -2.5 * sy_levels_lasting(levels, duration_ns);
    float likelihood[SY_LEVELS_ROW] = {0};
    for (uint32_t k = 0; k < SY_LEVELS; k++) {
        double level = sy_shares_level(s->shares, main, (double)sy_level(k) * capacity, false);
        double off = (log_ratio - log(fmax(1, demand / level))) / scale;
        likelihood[k] = (float)pow(1 + off * off / 4, power);
    }
    sy_levels_weigh(levels, likelihood);
    s->sensed[main].seen_ns = s->now_ns;
    sy_senses_refresh(s, main);
}

/* --- counters -----------------------------------------------------------------------------------
 */
static void take_sample(struct sy_senses *s, const struct sy_sample *sample) {
    uint32_t at =
        sample->counter < s->options.counter_count ? s->witness_of[sample->counter] : SY_NONE;
    if (at == SY_NONE || !isfinite(sample->value) || sample->value < 0) {
        return;
    }
    struct sy_witness *w = &s->witnesses[at];
    double unseen = sample->running_ratio > 0 ? 0.2 * (1 - sample->running_ratio) : 0;
    w->sum += sample->value;
    w->variance = sy_most(w->variance, unseen * unseen);
    w->seen++;
}

/* Whether one of its witnesses has spoken, with all of its counters. */
static bool heard(const struct sy_senses *s, uint32_t r) {
    uint32_t i = s->spoken[r];
    while (i != SY_NONE && s->witnesses[i].seen != s->witnesses[i].count) {
        i = s->witnesses[i].next;
    }
    return i != SY_NONE;
}

void sy_senses_read(struct sy_senses *s, double now_ns, const struct sy_sample *samples,
                    uint32_t count) {
    uint32_t resources = s->machine->resource_count;
    pass(s, now_ns);
    for (uint32_t i = 0; i < count; i++) {
        take_sample(s, &samples[i]);
    }
    for (uint32_t r = 0; r < resources; r++) {
        if (heard(s, r)) {
            count_own(s, r);
            sy_witness_see(s, r);
            sy_levels_open(&s->levels[r]);
            s->moved[r] = 0;
            s->sensed[r].seen_ns = now_ns;
        }
        sy_senses_refresh(s, r); /* also if it was not read: what is known of it fades */
    }
    for (uint32_t w = 0; w < s->witness_count; w++) {
        s->witnesses[w].sum = s->witnesses[w].variance = 0;
        s->witnesses[w].seen = 0;
    }
}

/* Counters of a PMU that are read at a time, or of those in their turn. */
static uint32_t room(const struct sy_senses *s, uint32_t pmu, bool turn) {
    uint32_t slots = s->options.pmus[pmu].slots;
    return turn ? (slots + 3) / 4 : slots;
}

static bool fits(const struct sy_senses *s, const struct sy_witness *w, bool turn) {
    for (uint32_t i = w->first; i < w->first + w->count; i++) {
        uint32_t pmu = s->options.counters[s->members[i]].pmu;
        if (pmu < s->options.pmu_count && s->pmu_used[pmu] >= room(s, pmu, turn)) {
            return false;
        }
    }
    return true;
}

/* Whether no further counter fits anywhere. */
static bool full(const struct sy_senses *s, bool turn) {
    bool out = s->all_limited;
    for (uint32_t pmu = 0; pmu < s->options.pmu_count && out; pmu++) {
        out = s->pmu_used[pmu] >= room(s, pmu, turn);
    }
    return out;
}

static double told_by(const struct sy_senses *s, const struct sy_witness *w) {
    return s->worth[w->resource] / (1 + 4 * w->ratio_variance);
}

static void count_on(struct sy_senses *s, uint32_t at, uint32_t *ret_counters, uint32_t *count) {
    const struct sy_witness *w = &s->witnesses[at];
    for (uint32_t i = w->first; i < w->first + w->count; i++) {
        uint32_t pmu = s->options.counters[s->members[i]].pmu;
        if (pmu < s->options.pmu_count) {
            s->pmu_used[pmu]++;
        }
        ret_counters[(*count)++] = s->members[i];
    }
    s->tells[at] = -1;
    s->counting[w->resource]++;
    s->worth[w->resource] *= 0.6; /* of a second reading of the same */
    for (uint32_t i = s->spoken[w->resource]; i != SY_NONE; i = s->witnesses[i].next) {
        s->tells[i] = s->tells[i] < 0 ? -1 : told_by(s, &s->witnesses[i]);
    }
}

uint32_t sy_senses_choose(struct sy_senses *s, uint32_t *ret_counters) {
    uint32_t count = 0, first = s->turn;
    memset(s->pmu_used, 0, (s->options.pmu_count + 1u) * sizeof *s->pmu_used);
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        double unknown = s->sensed[r].others_sd / s->machine->resources[r].bytes_per_s + 1e-9;
        s->worth[r] = unknown * sqrt(USE_LEAST + s->kind_use[s->machine->resources[r].kind]);
        s->counting[r] = 0;
    }
    for (uint32_t w = 0; w < s->witness_count; w++) {
        s->tells[w] = told_by(s, &s->witnesses[w]);
    }
    for (uint32_t i = 0; i < s->witness_count && !full(s, true); i++) { /* in turn */
        uint32_t at = (first + i) % s->witness_count;
        if (fits(s, &s->witnesses[at], true)) {
            count_on(s, at, ret_counters, &count);
            s->turn = at + 1;
        }
    }
    while (!full(s, false)) { /* where it tells most */
        uint32_t best = SY_NONE;
        double most = -1;
        for (uint32_t i = 0; i < s->witness_count; i++) {
            if (s->tells[i] > most && fits(s, &s->witnesses[i], false)) {
                best = i;
                most = s->tells[i];
            }
        }
        if (best == SY_NONE) {
            break;
        }
        count_on(s, best, ret_counters, &count);
    }
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        if (!s->counting[r]) {
            sy_levels_open(&s->levels[r]);
            s->moved[r] = s->drawn_ns[r] = 0;
        }
    }
    return count;
}

/* --- what is believed ---------------------------------------------------------------------------
 */
/* The level below which others stay with that probability, within the cell around it. */
static double quantile(const float *share, double probability) {
    double below = 0;
    uint32_t k = 0;
    while (k + 1 < SY_LEVELS && below + (double)share[k] < probability) {
        below += (double)share[k++];
    }
    double inside = share[k] > 0 ? (probability - below) / (double)share[k] - 0.5 : 0;
    return sy_least(1, sy_most(0, (double)sy_level(k) + inside / (SY_LEVELS - 1)));
}

void sy_senses_refresh(struct sy_senses *s, uint32_t r) {
    struct sy_sensed *sensed = &s->sensed[r];
    double capacity = s->machine->resources[r].bytes_per_s;
    float now[SY_LEVELS_ROW];
    double mean, square;
    sy_levels_now(&s->levels[r], now);
    sy_levels_moments(now, &mean, &square);
    sensed->others = s->others[r] = mean * capacity;
    sensed->others_sd = sqrt(sy_most(0, square - mean * mean)) * capacity;
    sensed->median = quantile(now, 0.5) * capacity;
    sensed->total = sy_least(sensed->own + sensed->median, capacity);
    if (fabs(mean - s->mark[r]) > CHANGED) {
        s->mark[r] = mean;
        sensed->changed_ns = s->now_ns;
    }
}

void sy_senses_band(struct sy_senses *s, uint32_t r, double *ret_low, double *ret_high) {
    double capacity = s->machine->resources[r].bytes_per_s;
    float now[SY_LEVELS_ROW];
    sy_levels_now(&s->levels[r], now);
    *ret_low = quantile(now, 0.025) * capacity;
    *ret_high = quantile(now, 0.975) * capacity;
}

const struct sy_sensed *sy_senses_resource(const struct sy_senses *s, uint32_t resource) {
    return &s->sensed[resource];
}

uint32_t sy_senses_scale(const struct sy_senses *s, uint32_t counter, double *ret_bytes_per_s) {
    uint32_t at = counter < s->options.counter_count ? s->witness_of[counter] : SY_NONE;
    if (at == SY_NONE) {
        return SY_NONE;
    }
    const struct sy_witness *w = &s->witnesses[at];
    *ret_bytes_per_s =
        w->scale * s->machine->resources[w->resource].bytes_per_s / exp(w->ratio_log);
    return w->resource;
}
