/* SPDX-License-Identifier: Apache-2.0
 *
 * belief: the filters of a whole machine, joined.
 *
 * In: samples of counters. Out: utilisations, and which counters to read next. Each sample goes to
 * the variable it measures; cores and accelerators step first, then sockets, which are told the
 * sums of what their cores believe. Invariants: no allocation after create; a sample that makes no
 * sense is dropped; counters that fell silent for good are no longer waited for.
 */
#include "belief/parts.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GONE_UPDATES   64   /* silent for so long while its siblings speak: it is gone */
#define MULTIPLEX_ERR  0.2  /* relative error of a value that was scaled up from nearly nothing */
#define JOIN_NOISE     0.03 /* of a sum over cores, at least */
#define JOIN_NOISE_MAX 2.0
#define JOIN_FRESH     0.25 /* of a sum must have been measured in this step */

int sy_belief_create(const struct sy_machine *machine, const struct sy_listing *listing,
                     const struct sy_counter *counters, uint32_t counter_count,
                     const struct sy_pmu *pmus, uint32_t pmu_count, struct sy_belief **ret_belief,
                     struct sy_error *error) {
    struct sy_belief *belief = calloc(1, sizeof *belief);
    if (!belief || !(belief->arena = sy_arena_create())) {
        free(belief);
        return sy_out_of_memory(error);
    }
    belief->machine = machine;
    belief->listing = listing;
    belief->counters = counters;
    belief->counter_count = counter_count;
    belief->pmus = pmus;
    belief->pmu_count = pmu_count;
    belief->layout = (struct sy_layout){
        .machine = machine, .counters = counters, .counter_count = counter_count};
    int code = sy_layout_make(&belief->layout, belief->arena);
    code = code ? code : sy_parts_make(belief, error);
    code = code ? code : sy_parts_show(belief);
    sy_found_finish(&belief->core_found);
    sy_found_finish(&belief->package_found);
    if (code) {
        sy_belief_destroy(belief);
        return code == -ENOMEM ? sy_fail(error, code, "out of memory") : code;
    }
    sy_parts_refresh(belief);
    *ret_belief = belief;
    return 0;
}

void sy_belief_destroy(struct sy_belief *belief) {
    if (!belief) {
        return;
    }
    for (uint32_t i = 0; i < belief->part_count; i++) {
        sy_filter_destroy(belief->parts[i].filter);
        sy_model_destroy(belief->parts[i].model);
    }
    sy_arena_destroy(belief->arena);
    free(belief);
}

/* --- samples ------------------------------------------------------------------------------------
 */
static void take(struct sy_belief *belief, const struct sy_sample *sample) {
    if (sample->counter >= belief->counter_count || !isfinite(sample->value) || sample->value < 0) {
        return;
    }
    struct sy_channel *channel = &belief->channels[sample->counter];
    if (channel->part == SY_NONE || channel->variable == SY_NONE) {
        return;
    }
    struct sy_part *part = &belief->parts[channel->part];
    uint32_t v = channel->variable;
    double noise = sample->noise_ratio > 0 ? sample->noise_ratio
                                           : belief->counters[sample->counter].noise_ratio;
    noise = noise > 0 && isfinite(noise) ? noise : part->model->variables[v].noise_ratio;
    double unseen = sample->running_ratio > 0 && sample->running_ratio < 1
                        ? MULTIPLEX_ERR * (1 - sample->running_ratio)
                        : 0;
    double value = sample->value * channel->scale;
    part->sum[v] += value;
    part->variance[v] += value * value * (noise * noise + unseen * unseen);
    part->seen[v]++;
    channel->silent_count = 0;
}

static bool is_complete(const struct sy_belief *belief, const struct sy_part *part, uint32_t v) {
    uint32_t waited = 0;
    for (uint32_t i = 0; i < part->member_count[v] && part->member_count[v] > 1; i++) {
        const struct sy_channel *channel =
            &belief->channels[belief->members[part->member_first[v] + i]];
        waited += channel->silent_count > 0 && channel->silent_count <= GONE_UPDATES;
    }
    return part->seen[v] > 0 && waited == 0;
}

static void step(struct sy_belief *belief, struct sy_part *part, double elapsed_ns) {
    uint32_t count = part->observation_count; /* joins came first */
    for (uint32_t v = 0; v < part->model->variable_count; v++) {
        if (is_complete(belief, part, v)) {
            double noise = part->sum[v] > 0 ? sqrt(part->variance[v]) / part->sum[v] : 0;
            part->observations[count++] = (struct sy_observation){v, part->sum[v], noise};
        }
        part->sum[v] = part->variance[v] = 0;
        part->seen[v] = 0;
    }
    sy_filter_step(part->filter, elapsed_ns, part->observations, count);
    part->observation_count = 0;
}

/* Told only while a good part of it is news: the same belief said twice is no second reading. */
static void join(struct sy_belief *belief, const struct sy_join *join, double elapsed_ns) {
    double total = 0, variance = 0, fresh = 0;
    for (uint32_t i = join->first; i < join->first + join->count; i++) {
        const struct sy_source *source = &belief->sources[i];
        struct sy_posterior posterior =
            sy_filter_estimate(belief->parts[source->part].filter, source->variable);
        double spread = fmin(posterior.log_sd, 1);
        double rate = source->factor * (posterior.log_sd < 1 ? posterior.mean : posterior.median);
        total += rate;
        variance += rate * rate * expm1(spread * spread);
        fresh += posterior.age_ns <= 1.5 * elapsed_ns ? rate : 0;
    }
    if (!(total >= 0) || !isfinite(total) || fresh < JOIN_FRESH * total) {
        return;
    }
    struct sy_part *part = &belief->parts[join->part];
    double noise = total > 0 ? sqrt(variance) / total : JOIN_NOISE;
    part->observations[part->observation_count++] = (struct sy_observation){
        join->variable, total / join->factor, fmin(fmax(noise, JOIN_NOISE), JOIN_NOISE_MAX)};
}

void sy_belief_update(struct sy_belief *belief, double now_ns, const struct sy_sample *samples,
                      uint32_t count) {
    double elapsed_ns = belief->started && now_ns > belief->now_ns ? now_ns - belief->now_ns : 0;
    belief->now_ns = belief->started ? fmax(now_ns, belief->now_ns) : now_ns;
    belief->started = true;
    for (uint32_t i = 0; i < belief->counter_count; i++) {
        belief->channels[i].silent_count += belief->channels[i].silent_count < UINT32_MAX;
    }
    for (uint32_t i = 0; i < count; i++) {
        take(belief, &samples[i]);
    }
    for (uint32_t i = 0; i < belief->first_package; i++) {
        step(belief, &belief->parts[i], elapsed_ns);
    }
    for (uint32_t i = 0; i < belief->join_count; i++) {
        join(belief, &belief->joins[i], elapsed_ns);
    }
    for (uint32_t i = belief->first_package; i < belief->part_count; i++) {
        step(belief, &belief->parts[i], elapsed_ns);
    }
    sy_parts_refresh(belief);
}

/* --- what to read next --------------------------------------------------------------------------
 */
/* All members of a variable or none: half of a sum is no reading. */
static uint32_t choose_members(struct sy_belief *belief, const struct sy_part *part, uint32_t v,
                               uint32_t *ret_counters, uint32_t room) {
    const uint32_t *members = &belief->members[part->member_first[v]];
    uint32_t count = part->member_count[v];
    if (count > room) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pmu = belief->counters[members[i]].pmu;
        if (pmu < belief->pmu_count && belief->pmu_used[pmu] >= belief->pmus[pmu].slots) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pmu = belief->counters[members[i]].pmu;
        if (pmu < belief->pmu_count) {
            belief->pmu_used[pmu]++;
        }
        ret_counters[i] = members[i];
    }
    return count;
}

uint32_t sy_belief_choose(struct sy_belief *belief, uint32_t *ret_counters, uint32_t capacity) {
    uint32_t count = 0;
    memset(belief->pmu_used, 0, (belief->pmu_count + 1u) * sizeof *belief->pmu_used);
    for (uint32_t p = 0; p < belief->part_count; p++) {
        struct sy_part *part = &belief->parts[p];
        uint32_t chosen = part->pmu_count ? sy_filter_choose(part->filter, part->slots,
                                                             part->pmu_count, part->chosen)
                                          : 0;
        for (uint32_t i = 0; i < chosen; i++) {
            count += choose_members(belief, part, part->chosen[i], &ret_counters[count],
                                    capacity - count);
        }
    }
    return count;
}

/* --- what is known ------------------------------------------------------------------------------
 */
const struct sy_utilisation *sy_belief_utilisations(const struct sy_belief *belief,
                                                    uint32_t *ret_count) {
    *ret_count = belief->utilisation_count;
    return belief->utilisations;
}

uint32_t sy_belief_filter_count(const struct sy_belief *belief) {
    return belief->part_count;
}

const struct sy_filter *sy_belief_filter(const struct sy_belief *belief, uint32_t index) {
    return belief->parts[index].filter;
}

const struct sy_model *sy_belief_model(const struct sy_belief *belief, uint32_t index) {
    return belief->parts[index].model;
}
