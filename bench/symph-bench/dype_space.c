/* SPDX-License-Identifier: Apache-2.0
 *
 * Exhaustive search of symph-bench dype: every plan, by true costs, for all objectives at once.
 *
 * In: the true costs of one example. Out: the optimum and the baselines that are an optimum of a
 * part of the space (one class of devices; dense kernels on GPUs and sparse ones on FPGAs); sums
 * over examples, for the plan that never changes. Invariant: a plan is known again in another
 * example; one that does not fit there is none.
 */
#include "symph-bench/dype.h"
#include "symph-bench/plan_judges.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPACE_MAX (1u << 23) /* places for plans */
#define MISSED    1e30       /* plans that miss the floor stand behind all others */

const char *sy_dype_objective_name(enum sy_dype_objective objective) {
    static const char *const names[SY_DYPE_OBJECTIVES] = {"throughput", "energy", "balanced",
                                                          "latency", "energy, floor"};
    return names[objective];
}

double sy_dype_key(const struct sy_dype_case *item, const struct sy_plan_outcome *outcome) {
    static const enum sy_plan_objective plain[SY_DYPE_OBJECTIVES] = {
        SY_PLAN_THROUGHPUT, SY_PLAN_ENERGY, SY_PLAN_BALANCED, SY_PLAN_LATENCY, SY_PLAN_ENERGY};
    return outcome->period_ns <= item->floor_ns ? sy_plan_value(plain[item->objective], outcome)
                                                : MISSED * outcome->period_ns;
}

double sy_dype_ratio(const struct sy_dype_case *item, enum sy_dype_policy policy) {
    const struct sy_plan_outcome *got = &item->got[policy];
    if (!isfinite(got->period_ns)) {
        return NAN;
    }
    if (item->objective != SY_DYPE_FLOOR) {
        return sy_dype_key(item, got) / sy_dype_key(item, &item->best);
    }
    return fmax(1, got->energy_joules / item->best.energy_joules) *
           fmax(1, got->period_ns / item->floor_ns);
}

struct best {
    double key;
    struct sy_plan_outcome outcome;
};

struct search {
    struct sy_dype_unit *unit;
    uint32_t example; /* among the usable ones */
    struct sy_dype_case *cases[SY_DYPE_OBJECTIVES];
    uint64_t at, sparse;
    struct sy_plan plans[SY_DYPE_OBJECTIVES];
    struct best all[SY_DYPE_OBJECTIVES], only[SY_DYPE_CLASSES][SY_DYPE_OBJECTIVES];
    struct best tuned[SY_DYPE_OBJECTIVES], fleet[SY_DYPE_OBJECTIVES];
    int code;
};

static uint64_t hash_plan(const struct sy_plan *plan) {
    uint64_t hash = plan->stage_count;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct sy_plan_stage *stage = &plan->stages[s];
        hash = (hash ^ stage->kernels) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ (hash >> 29) ^ ((uint64_t)stage->shape << 32 | stage->replicas)) *
               0xbf58476d1ce4e5b9u;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

static bool keep(struct best *best, double key, const struct sy_plan_outcome *outcome) {
    bool better = key < best->key;
    if (better) {
        *best = (struct best){key, *outcome};
    }
    return better;
}

/* --- plans in all examples ----------------------------------------------------------------------
 */
/* Its place, or the free one where it belongs. */
static struct sy_dype_score *place(struct sy_dype_score *scores, uint32_t capacity, uint64_t hash) {
    uint32_t at = (uint32_t)hash & (capacity - 1);
    while (scores[at].hash && scores[at].hash != hash) {
        at = (at + 1) & (capacity - 1);
    }
    return &scores[at];
}

static int make_room(struct sy_dype_unit *unit) {
    uint32_t capacity = unit->score_capacity ? 2 * unit->score_capacity : 4096;
    if (capacity > SPACE_MAX) {
        return -E2BIG;
    }
    struct sy_dype_score *scores = sy_need(calloc(capacity, sizeof *scores));
    for (uint32_t i = 0; i < unit->score_capacity; i++) {
        if (unit->scores[i].hash) {
            *place(scores, capacity, unit->scores[i].hash) = unit->scores[i];
        }
    }
    free(unit->scores);
    unit->scores = scores;
    unit->score_capacity = capacity;
    return 0;
}

static int find_score(struct sy_dype_unit *unit, uint64_t hash, struct sy_dype_score **ret_score) {
    int code = 2 * unit->score_count < unit->score_capacity ? 0 : make_room(unit);
    if (!code) {
        *ret_score = place(unit->scores, unit->score_capacity, hash);
        unit->score_count += (*ret_score)->hash == 0;
        (*ret_score)->hash = hash;
    }
    return code;
}

/* --- one plan of one example --------------------------------------------------------------------
 */
struct use {
    uint32_t classes; /* bit set */
    bool fleet;       /* dense on GPUs, sparse on FPGAs */
};

static struct use use_of(const struct search *search, const struct sy_plan *plan) {
    const struct sy_plan_problem *problem = &search->unit->truth[search->example];
    struct use use = {0, true};
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        uint32_t which = problem->shapes[plan->stages[s].shape].class_index;
        uint64_t kernels = plan->stages[s].kernels;
        use.classes |= 1u << which;
        use.fleet = use.fleet && ((which == SY_DYPE_GPU && !(kernels & search->sparse)) ||
                                  (which == SY_DYPE_FPGA && !(kernels & ~search->sparse)));
    }
    return use;
}

/* Chosen on the first example, and met again on the others. */
static void tune(const struct search *search, bool fits, double key, uint64_t hash,
                 const struct sy_plan_outcome *outcome, struct best *best, uint64_t *chosen) {
    if (search->example == 0 && fits && keep(best, key, outcome)) {
        *chosen = hash;
    } else if (search->example > 0 && *chosen == hash) {
        *best = (struct best){key, *outcome};
    }
}

static bool visit(void *user, const struct sy_plan *plan) {
    struct search *search = user;
    struct sy_dype_unit *unit = search->unit;
    struct sy_dype_score *score;
    uint64_t hash = hash_plan(plan);
    search->code = find_score(unit, hash, &score);
    if (search->code) {
        return false;
    }
    struct use use = use_of(search, plan);
    const struct sy_plan_outcome *outcome = &plan->outcome;
    for (int o = 0; o < SY_DYPE_OBJECTIVES; o++) {
        double key = sy_dype_key(search->cases[o], outcome);
        score->sums[o] += log(key);
        if (keep(&search->all[o], key, outcome)) {
            search->plans[o] = *plan;
        }
        for (int c = 0; c < SY_DYPE_CLASSES; c++) {
            if (use.classes == 1u << c) {
                keep(&search->only[c][o], key, outcome);
            }
        }
        tune(search, true, key, hash, outcome, &search->tuned[o], &unit->tuned[o]);
        tune(search, use.fleet, key, hash, outcome, &search->fleet[o], &unit->fleet[o]);
    }
    score->period_ns += outcome->period_ns;
    score->met++;
    search->at++;
    return true;
}

/* --- one example --------------------------------------------------------------------------------
 */
/* Which kernels work on sparse data, by what they are called: there is no other word for it. */
static uint64_t sparse_kernels(const struct sy_pipeline *pipeline) {
    static const char *const words[] = {"spmm", "sddmm", "sparse",  "window", "band",
                                        "edge", "aggr",  "segment", "gather", "scatter"};
    uint64_t sparse = 0;
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        for (size_t w = 0; w < SY_COUNT(words); w++) {
            if (strstr(pipeline->kernels[k].kernel, words[w])) {
                sparse |= UINT64_C(1) << k;
            }
        }
    }
    return sparse;
}

/* Rates added, as if both had all items of a stream to share. */
static struct sy_plan_outcome add(const struct sy_plan_outcome *a,
                                  const struct sy_plan_outcome *b) {
    double rate_a = 1 / a->period_ns, rate_b = 1 / b->period_ns;
    double share = rate_a / (rate_a + rate_b);
    return (struct sy_plan_outcome){.period_ns = 1 / (rate_a + rate_b),
                                    .latency_ns = fmax(a->latency_ns, b->latency_ns),
                                    .energy_joules =
                                        share * a->energy_joules + (1 - share) * b->energy_joules,
                                    .money = share * a->money + (1 - share) * b->money,
                                    .power_watts = a->power_watts + b->power_watts};
}

static void give(const struct search *search) {
    static const struct sy_plan_outcome none = {NAN, NAN, NAN, NAN, NAN};
    for (int o = 0; o < SY_DYPE_OBJECTIVES; o++) {
        struct sy_dype_case *item = search->cases[o];
        item->best = search->all[o].outcome;
        item->space = search->at;
        for (int c = 0; c < SY_DYPE_CLASSES; c++) {
            static const enum sy_dype_policy policies[SY_DYPE_CLASSES] = {
                SY_DYPE_CPU_ONLY, SY_DYPE_GPU_ONLY, SY_DYPE_FPGA_ONLY};
            const struct best *best = &search->only[c][o];
            item->got[policies[c]] = isfinite(best->key) ? best->outcome : none;
        }
        item->got[SY_DYPE_STATIC_FIRST] =
            isfinite(search->tuned[o].key) ? search->tuned[o].outcome : none;
        item->got[SY_DYPE_FLEET] = isfinite(search->fleet[o].key) ? search->fleet[o].outcome : none;
        item->got[SY_DYPE_ADDITIVE] =
            add(&item->got[SY_DYPE_GPU_ONLY], &item->got[SY_DYPE_FPGA_ONLY]);
    }
}

static void begin(struct search *search) {
    const struct best nothing = {INFINITY, {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}};
    for (int o = 0; o < SY_DYPE_OBJECTIVES; o++) {
        search->all[o] = search->tuned[o] = search->fleet[o] = nothing;
        for (int c = 0; c < SY_DYPE_CLASSES; c++) {
            search->only[c][o] = nothing;
        }
    }
}

static int judge(const struct search *search, struct sy_error *error) {
    const struct sy_dype_pipeline *of = &search->unit->bench->pipelines[search->unit->pipeline];
    return search->code == -E2BIG
               ? sy_fail(error, -E2BIG, "%s: more than %u plans, too many to try them all",
                         of->name, SPACE_MAX / 2)
           : search->code ? sy_fail(error, search->code, "out of memory")
           : !isfinite(search->all[0].key)
               ? sy_fail(error, -ENODEV, "%s: no plan runs all kernels", of->name)
               : 0;
}

int sy_dype_space_search(struct sy_dype_unit *unit, uint32_t example, struct sy_error *error) {
    const struct sy_dype_pipeline *of = &unit->bench->pipelines[unit->pipeline];
    struct search *search = sy_need(calloc(1, sizeof *search));
    search->unit = unit;
    search->example = example;
    search->sparse = sparse_kernels(of->description);
    for (int o = 0; o < SY_DYPE_OBJECTIVES; o++) {
        search->cases[o] = sy_dype_case_at(unit->bench, unit->pipeline, example, unit->link,
                                           (enum sy_dype_objective)o);
    }
    begin(search);
    sy_plan_enumerate(&unit->truth[example], &sy_plan_unbounded, visit, search);
    int code = judge(search, error);
    if (!code) {
        give(search);
        for (int o = 0; o < SY_DYPE_OBJECTIVES; o++) {
            search->cases[o]->best_plan = sy_dype_plan_text(unit, example, &search->plans[o]);
        }
    }
    free(search);
    return code;
}

/* --- the plan that is best for all --------------------------------------------------------------
 */
static double sum_of(const struct sy_dype_unit *first, const struct sy_dype_unit *last,
                     uint64_t hash, uint32_t objective) {
    double sum = 0;
    for (const struct sy_dype_unit *unit = first; unit <= last; unit++) {
        const struct sy_dype_score *score = place(unit->scores, unit->score_capacity, hash);
        if (score->met < unit->bench->pipelines[unit->pipeline].example_count) {
            return INFINITY;
        }
        sum += objective < SY_DYPE_OBJECTIVES ? score->sums[objective] : score->period_ns;
    }
    return sum;
}

struct finding {
    uint64_t hash;
    struct sy_plan *plan;
    bool found;
};

static bool is_it(void *user, const struct sy_plan *plan) {
    struct finding *finding = user;
    if (hash_plan(plan) == finding->hash) {
        *finding->plan = *plan;
        finding->found = true;
    }
    return !finding->found;
}

int sy_dype_space_least(const struct sy_dype_unit *first, const struct sy_dype_unit *last,
                        uint32_t objective, struct sy_plan *ret_plan, struct sy_error *error) {
    struct finding finding = {0, ret_plan, false};
    double least = INFINITY;
    for (uint32_t i = 0; i < first->score_capacity; i++) {
        uint64_t hash = first->scores[i].hash;
        double sum = hash ? sum_of(first, last, hash, objective) : INFINITY;
        if (sum < least) {
            least = sum;
            finding.hash = hash;
        }
    }
    if (finding.hash) {
        sy_plan_enumerate(&first->truth[0], &sy_plan_unbounded, is_it, &finding);
    }
    return finding.found ? 0
                         : sy_fail(error, -ENOENT, "%s: no plan fits all examples",
                                   first->bench->pipelines[first->pipeline].name);
}
