/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples, draws and durations become what is believed of the resources; see senses.h.
 */
#include "belief/witness.h"
#include <math.h>
#include <string.h>

#define CHANGED      0.1f /* of the capacity: others have changed */
#define USE_STEPS    1e4  /* our use of a kind of resource is averaged over this many steps */
#define USE_LEAST    0.1  /* a resource that we do not use is of some interest, too */
#define DURATION_SD  0.1  /* of the logarithm of a duration, at least */
#define OFFSET_PRIOR 4.0  /* tasks that a cost model without error weighs */
#define OFFSET_TASKS 50.0 /* its error is averaged over this many tasks */
#define SURE         0.1f /* spread of what others want, over the capacity */
#define OFFSET_CLIP  0.5  /* of the logarithm: a lone wild duration moves it little */

static void *take(struct sy_arena *arena, size_t count, size_t size) {
    return sy_arena_alloc(arena, count + 1, size);
}

/* What is kept per resource. False: out of memory. */
static bool take_resources(struct sy_senses *s, struct sy_arena *arena) {
    size_t resources = s->machine->resource_count, eights = (resources + 7) / 8;
    s->levels = take(arena, resources, sizeof *s->levels);
    s->outlooks = take(arena, eights, sizeof *s->outlooks);
    s->mean = take(arena, 8 * eights, sizeof *s->mean);
    s->sd = take(arena, 8 * eights, sizeof *s->sd);
    s->mark = take(arena, resources, sizeof *s->mark);
    s->worth = take(arena, resources, sizeof *s->worth);
    s->counts = take(arena, resources, sizeof *s->counts);
    s->spoken = take(arena, resources, sizeof *s->spoken);
    double **of_doubles[] = {&s->others, &s->capacity, &s->own,       &s->own_from_ns,
                             &s->moved,  &s->seen_ns,  &s->changed_ns};
    bool taken = s->levels && s->outlooks && s->mean && s->sd && s->mark && s->worth && s->counts &&
                 s->spoken;
    for (uint32_t i = 0; i < SY_COUNT(of_doubles); i++) {
        *of_doubles[i] = take(arena, resources, sizeof **of_doubles[i]);
        taken = taken && *of_doubles[i];
    }
    for (uint32_t r = 0; r < resources && taken; r++) {
        s->capacity[r] = s->machine->resources[r].bytes_per_s;
    }
    return taken;
}

struct sy_senses *sy_senses_create(struct sy_arena *arena,
                                   const struct sy_senses_options *options) {
    struct sy_senses *s = take(arena, 1, sizeof *s);
    if (!s) {
        return NULL;
    }
    s->options = *options;
    s->machine = options->machine;
    s->pmu_used = take(arena, options->pmu_count, sizeof *s->pmu_used);
    s->offsets =
        take(arena, (size_t)options->kernel_count * s->machine->class_count, sizeof *s->offsets);
    s->shares = sy_shares_create(arena, s->machine, options->draw_capacity);
    if (!s->pmu_used || !s->offsets || !s->shares || !take_resources(s, arena) ||
        !sy_witness_list(s, arena)) {
        return NULL;
    }
    sy_senses_reset(s, options->step_ns);
    return s;
}

void sy_senses_reset(struct sy_senses *s, double step_ns) {
    s->now_ns = s->read_ns = s->window_ns = 0;
    s->turn = 0;
    s->choice = 1;
    memset(s->kind_use, 0, sizeof s->kind_use);
    sy_shares_reset(s->shares);
    for (uint32_t w = 0; w < s->witness_count; w++) {
        sy_witness_reset(s, w);
    }
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        sy_levels_init(&s->levels[r], step_ns, &s->outlooks[r / 8], r % 8);
        s->mean[r] = s->sd[r] = s->mark[r] = 0;
        s->others[r] = s->own[r] = s->own_from_ns[r] = s->moved[r] = s->changed_ns[r] = 0;
        s->seen_ns[r] = -1;
        s->counts[r] = 0;
    }
    memset(s->offsets, 0,
           (size_t)s->options.kernel_count * s->machine->class_count * sizeof *s->offsets);
}

/* --- what we do ourselves -----------------------------------------------------------------------
 */
/* What we take of a resource changes, or its window ends. */
static void count_own(struct sy_senses *s, uint32_t r) {
    double elapsed = s->now_ns - sy_most(s->own_from_ns[r], s->window_ns);
    s->own_from_ns[r] = s->now_ns;
    if (!(elapsed > 0)) {
        return;
    }
    double *use = &s->kind_use[s->machine->resources[r].kind];
    double share = s->own[r] / s->machine->resources[r].bytes_per_s;
    *use += sy_least(1, elapsed / (USE_STEPS * s->levels[r].step_ns)) * (share - *use);
    if (s->counts[r] == s->choice) {
        sy_levels_own(&s->levels[r], share, elapsed);
    }
}

void sy_senses_begin(struct sy_senses *s, double now_ns) {
    s->now_ns = sy_most(s->now_ns, now_ns);
    sy_shares_clear(s->shares);
}

void sy_senses_draws(struct sy_senses *s, struct sy_draw draw) {
    sy_shares_add(s->shares, draw);
}

/* What is taken, not what is wanted: under contention others would vanish from the difference. */
void sy_senses_ready(struct sy_senses *s) {
    sy_shares_solve(s->shares, s->others);
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        double own = sy_shares_taken(s->shares, r);
        if (own != s->own[r]) {
            count_own(s, r);
            s->own[r] = own;
        }
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

/* Others have changed since the mark. */
static void note_change(struct sy_senses *s, uint32_t r) {
    if (fabsf(s->mean[r] - s->mark[r]) > CHANGED) {
        s->mark[r] = s->mean[r];
        s->changed_ns[r] = s->now_ns;
    }
}

/* Student's t at a distance in standard deviations, to a power. */
SY_INLINE void weigh_duration_body(const float *slowdown, float log_ratio, float scale, float power,
                                   float *ret) {
    for (uint32_t k = 0; k < SY_LEVELS_ROW; k += 8) {
        sy_eight off = *(const sy_eight *)(slowdown + k);
        sy_eight_log(&off);
        off = (log_ratio - off) / scale;
        off = 1 + off * off / 4;
        sy_eight_log(&off);
        off *= power;
        sy_eight_exp(&off);
        *(sy_eight *)(ret + k) = off;
    }
}
SY_DISPATCH_LOCAL(void, weigh_duration,
                  (const float *slowdown, float log_ratio, float scale, float power, float *ret),
                  (slowdown, log_ratio, scale, power, ret))

/* And how strongly those who load it hold on to it, where counters say how much they want. */
static void learn_strength(struct sy_senses *s, uint32_t main, double demand, double log_ratio) {
    double level[SY_STRENGTHS];
    if (s->sd[main] > SURE) {
        return;
    }
    sy_shares_levels(s->shares, main, s->others[main], false, level);
    for (uint32_t i = 0; i < SY_STRENGTHS; i++) {
        level[i] = log(fmax(1, demand / level[i]));
    }
    sy_shares_learn(s->shares, main, log_ratio, level);
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
        log(fmax(1, demand / sy_shares_level(s->shares, main, s->others[main], false)));
    double log_ratio = corrected(s, kernel, class_index, log(duration_ns / alone_ns), expected);
    learn_strength(s, main, demand, log_ratio);
    double power = -2.5 * sy_levels_lasting(levels, duration_ns);
    float slowdown[SY_LEVELS_ROW], likelihood[SY_LEVELS_ROW];
    for (uint32_t k = 0; k < SY_LEVELS; k++) {
        double level = sy_shares_level(s->shares, main, (double)sy_level(k) * capacity, false);
        slowdown[k] = (float)sy_most(1, demand / level);
    }
    for (uint32_t k = SY_LEVELS; k < SY_LEVELS_ROW; k++) {
        slowdown[k] = 1; /* no level, but a number */
    }
    weigh_duration(slowdown, (float)log_ratio, (float)fmax(log_sigma, DURATION_SD), (float)power,
                   likelihood);
    sy_levels_weigh(levels, s->now_ns, likelihood);
    double mean = (double)s->outlooks[main / 8].mixed_mean[main % 8];
    double square = (double)s->outlooks[main / 8].mixed_square[main % 8];
    s->mean[main] = (float)mean;
    s->others[main] = mean * capacity;
    s->sd[main] = (float)sqrt(sy_most(0, square - mean * mean));
    s->seen_ns[main] = s->now_ns;
    note_change(s, main);
}

/* --- counters -----------------------------------------------------------------------------------
 */
/* NULL: it speaks of no resource. */
static struct sy_witness *witness_of(const struct sy_senses *s, const struct sy_sample *sample) {
    uint32_t at =
        sample->counter < s->options.counter_count ? s->witness_of[sample->counter] : SY_NONE;
    return at == SY_NONE ? NULL : &s->witnesses[at];
}

static void take_sample(struct sy_witness *w, const struct sy_sample *sample) {
    double unseen = sample->running_ratio > 0 ? 0.2 * (1 - sample->running_ratio) : 0;
    if (isfinite(sample->value) && sample->value >= 0) {
        w->sum += sample->value;
        w->variance = sy_most(w->variance, unseen * unseen);
        w->seen++;
    }
}

static void forget_samples(struct sy_witness *w) {
    w->sum = w->variance = 0;
    w->seen = 0;
}

/* One of its witnesses has spoken, with all of its counters. */
static void hear(struct sy_senses *s, uint32_t r) {
    count_own(s, r);
    sy_witness_see(s, r);
    sy_levels_open(&s->levels[r]);
    s->moved[r] = 0;
    s->seen_ns[r] = s->now_ns;
    for (uint32_t i = s->spoken[r]; i != SY_NONE; i = s->witnesses[i].next) {
        forget_samples(&s->witnesses[i]);
    }
}

/* What is known of those that were not read fades. */
static void fade(struct sy_senses *s) {
    uint32_t resources = s->machine->resource_count;
    const float *mean = s->mean, *mark = s->mark;
    const double *capacity = s->capacity;
    double *restrict others = s->others;
    bool changed = false;
    sy_levels_predict(s->outlooks, (resources + 7) / 8, s->now_ns, s->mean, s->sd);
    for (uint32_t r = 0; r < resources; r++) {
        others[r] = (double)mean[r] * capacity[r];
    }
    for (uint32_t r = 0; r < resources; r++) {
        changed |= fabsf(mean[r] - mark[r]) > CHANGED;
    }
    for (uint32_t r = 0; r < resources && changed; r++) {
        note_change(s, r);
    }
}

void sy_senses_read(struct sy_senses *s, double now_ns, const struct sy_sample *samples,
                    uint32_t count) {
    s->now_ns = s->read_ns = sy_most(s->now_ns, now_ns);
    for (uint32_t i = 0; i < count; i++) {
        struct sy_witness *w = witness_of(s, &samples[i]);
        if (w) {
            take_sample(w, &samples[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_witness *w = witness_of(s, &samples[i]);
        if (w && w->seen == w->count) {
            hear(s, w->resource);
        }
    }
    for (uint32_t i = 0; i < count; i++) { /* half a reading is none */
        struct sy_witness *w = witness_of(s, &samples[i]);
        if (w) {
            forget_samples(w);
        }
    }
    fade(s);
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

static void count_on(struct sy_senses *s, uint32_t at, uint32_t *ret_counters, uint32_t *count) {
    const struct sy_witness *w = &s->witnesses[at];
    uint32_t r = w->resource;
    for (uint32_t i = w->first; i < w->first + w->count; i++) {
        uint32_t pmu = s->options.counters[s->members[i]].pmu;
        if (pmu < s->options.pmu_count) {
            s->pmu_used[pmu]++;
        }
        ret_counters[(*count)++] = s->members[i];
    }
    if (s->counts[r] + 1 < s->choice) { /* it did not count until now */
        sy_levels_open(&s->levels[r]);
        s->moved[r] = 0;
    }
    s->counts[r] = s->choice;
    for (uint32_t i = s->spoken[r]; i != SY_NONE; i = s->witnesses[i].next) {
        s->tells[i] *= 0.6f; /* a second reading of the same */
    }
    s->tells[at] = -1;
}

/* The witness that tells most, the first of several; SY_NONE: none tells anything. */
SY_INLINE uint32_t most_telling_body(const float *tells, uint32_t count) {
    sy_eight most = (sy_eight){0} - 1, at = {0}, here = {0, -1, -2, -3, -4, -5, -6, -7}, top;
    for (uint32_t i = 0; i < count; i += 8) { /* at is negative: the first is the largest */
        sy_eight_int more = *(const sy_eight *)(tells + i) > most;
        at = (sy_eight)(((sy_eight_int)here & more) | ((sy_eight_int)at & ~more));
        sy_eight_most(&most, (const sy_eight *)(tells + i));
        here -= 8;
    }
    top = most;
    sy_eight_top(&top);
    if (top[0] < 0) {
        return SY_NONE;
    }
    at -= (sy_eight)((most < top) & (sy_eight_int)((sy_eight){0} + 0x1p24f));
    sy_eight_top(&at);
    return (uint32_t)-at[0];
}
SY_DISPATCH_LOCAL(uint32_t, most_telling, (const float *tells, uint32_t count), (tells, count))

/* The more, the less is known of a resource and the more we use of its kind. */
static void weigh_readings(struct sy_senses *s) {
    float interest[SY_COUNT(s->kind_use)];
    for (uint32_t kind = 0; kind < SY_COUNT(interest); kind++) {
        interest[kind] = (float)sqrt(USE_LEAST + s->kind_use[kind]);
    }
    float *restrict worth = s->worth, *restrict tells = s->tells;
    const uint32_t *about = s->about;
    uint32_t count = s->witness_count;
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        worth[r] = (s->sd[r] + 1e-9f) * interest[s->machine->resources[r].kind];
    }
    for (uint32_t w = 0; w < count; w++) {
        tells[w] = worth[about[w]] * s->sure[w];
    }
    for (uint32_t w = count; w % 8; w++) {
        tells[w] = -1;
    }
}

uint32_t sy_senses_choose(struct sy_senses *s, uint32_t *ret_counters) {
    uint32_t count = 0, first = s->turn;
    memset(s->pmu_used, 0, (s->options.pmu_count + 1u) * sizeof *s->pmu_used);
    s->choice++;
    s->window_ns = s->now_ns;
    weigh_readings(s);
    for (uint32_t i = 0; i < s->witness_count && !full(s, true); i++) { /* in turn */
        uint32_t at = (first + i) % s->witness_count;
        if (fits(s, &s->witnesses[at], true)) {
            count_on(s, at, ret_counters, &count);
            s->turn = at + 1;
        }
    }
    while (!full(s, false)) { /* where it tells most */
        uint32_t best = most_telling(s->tells, s->witness_count);
        if (best == SY_NONE) {
            break;
        }
        if (fits(s, &s->witnesses[best], false)) {
            count_on(s, best, ret_counters, &count);
        } else {
            s->tells[best] = -1; /* nor will it later */
        }
    }
    return count;
}

/* --- what is believed ---------------------------------------------------------------------------
 */
/* The level below which others stay with that probability, within the cell around it. */
static double quantile(const float *share, float probability) {
    float below = 0, left;
    uint32_t k = 0;
    while ((left = probability - below) > share[k] && k + 1 < SY_LEVELS) {
        below += share[k++];
    }
    float inside = share[k] > 0 ? left / share[k] - 0.5f : 0;
    return sy_least(1, sy_most(0, (double)(sy_level(k) + inside / (SY_LEVELS - 1))));
}

struct sy_sensed sy_senses_resource(const struct sy_senses *s, uint32_t r) {
    double capacity = s->machine->resources[r].bytes_per_s;
    float share[SY_LEVELS_ROW];
    sy_levels_at(&s->levels[r], s->read_ns, share);
    struct sy_sensed sensed = {.others = s->others[r],
                               .others_sd = (double)s->sd[r] * capacity,
                               .median = quantile(share, 0.5f) * capacity,
                               .own = s->own[r],
                               .seen_ns = s->seen_ns[r],
                               .changed_ns = s->changed_ns[r]};
    sensed.total = sy_least(sensed.own + sensed.median, capacity);
    return sensed;
}

void sy_senses_band(const struct sy_senses *s, uint32_t r, double *ret_low, double *ret_high) {
    double capacity = s->machine->resources[r].bytes_per_s;
    float share[SY_LEVELS_ROW];
    sy_levels_at(&s->levels[r], s->now_ns, share);
    *ret_low = quantile(share, 0.025f) * capacity;
    *ret_high = quantile(share, 0.975f) * capacity;
}

uint32_t sy_senses_scale(const struct sy_senses *s, uint32_t counter, double *ret_bytes_per_s) {
    uint32_t at = counter < s->options.counter_count ? s->witness_of[counter] : SY_NONE;
    if (at == SY_NONE) {
        return SY_NONE;
    }
    const struct sy_witness *w = &s->witnesses[at];
    *ret_bytes_per_s = w->scale * s->machine->resources[w->resource].bytes_per_s / w->ratio;
    return w->resource;
}
