/* SPDX-License-Identifier: Apache-2.0
 *
 * mux_filter: the belief on multiplexed readings.
 *
 * In: traces to learn from, a configuration. Out: what the filter says of each window, at the end
 * of that window. Invariant: the filter is causal; it sees a reading only where it has chosen the
 * event, or where the event needs no slot.
 */
#include "cli/cli.h"
#include "symph-bench/counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NS 1e6 /* a window; its length in time means nothing here */
/* Chosen on the development programs. */
#define SHARE_UNSEEN   0.8
#define SHARE_SEEN     0.9
#define RELATION_WIDTH 0.02
#define NO_CHOICE      1e-9 /* 0 would be the default */
#define OFFSET_SHARE   0.01
#define OFFSET_MIN     3.0
#define SUBSET_PURPOSE 0x73756273u /* "subs" */

/* What a configuration may learn from: windows of several programs, one after another. */
struct lesson {
    double *rates;
    uint32_t *lengths, count;
};

static bool teaches(const struct sy_traces *traces, uint32_t series, uint32_t other, bool seen) {
    return seen ? other == series : other != series && !traces->series[other].held_out;
}

static struct lesson gather(const struct sy_traces *traces, uint32_t series, bool seen) {
    size_t n = traces->event_count, windows = 0;
    struct lesson lesson = {.lengths =
                                sy_need(calloc(traces->series_count, sizeof *lesson.lengths))};
    for (uint32_t s = 0; s < traces->series_count; s++) {
        windows += traces->series[s].windows;
    }
    lesson.rates = sy_need(malloc(windows * n * sizeof *lesson.rates));
    size_t at = 0;
    for (uint32_t s = 0; s < traces->series_count; s++) {
        const struct sy_series *other = &traces->series[s];
        if (teaches(traces, series, s, seen)) {
            uint32_t length = seen ? other->windows / 2 : other->windows;
            memcpy(lesson.rates + at, other->rates, length * n * sizeof *lesson.rates);
            at += length * n;
            lesson.lengths[lesson.count++] = length;
        }
    }
    return lesson;
}

static double mean_rate(const struct lesson *lesson, uint32_t n, uint32_t event) {
    double sum = 0;
    size_t windows = 0;
    for (uint32_t s = 0; s < lesson->count; s++) {
        windows += lesson->lengths[s];
    }
    for (size_t t = 0; t < windows; t++) {
        sum += lesson->rates[t * n + event];
    }
    return windows ? sum / (double)windows : 1;
}

static int add_variables(struct sy_model *model, const struct sy_traces *traces,
                         const struct lesson *lesson, double noise) {
    for (uint32_t i = 0; i < traces->event_count; i++) {
        double mean = mean_rate(lesson, traces->event_count, i);
        struct sy_variable variable = {
            .name = traces->events[i],
            .role = "",
            .counter = traces->hidden[i] ? SY_NONE : i,
            .pmu = traces->fixed[i] || traces->hidden[i] ? SY_PMU_NONE : 0,
            .start_log = log(mean + OFFSET_MIN),
            .start_sd = 2,
            .drift_sd = 0.2,
            .noise_ratio = noise,
            .offset = fmax(OFFSET_SHARE * mean, OFFSET_MIN),
            .capacity = INFINITY,
            .resource = SY_NONE,
        };
        if (sy_model_add_variable(model, &variable) == SY_NONE) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* Of all relations the first keep ones in an order that the seed gives, so that sets are nested. */
static int add_relations(struct sy_model *model, const struct sy_traces *traces, uint32_t keep,
                         uint64_t seed) {
    uint32_t count = traces->relation_count;
    uint32_t *order = sy_need(malloc((count + 1) * sizeof *order));
    struct sy_rng rng = sy_rng_make(seed, SUBSET_PURPOSE, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = keep < count ? sy_rng_below(&rng, i + 1) : i;
        order[i] = order[at];
        order[at] = i;
    }
    int code = 0;
    for (uint32_t i = 0; !code && i < count && i < keep; i++) {
        const struct sy_relation *relation = &traces->relations[order[i]];
        struct sy_factor factor = {
            .kind = SY_FACTOR_EQUAL,
            .origin = SY_FROM_ROLE,
            .why = "exact relation of the trace",
            .out = relation->out,
            .width = RELATION_WIDTH,
        };
        uint32_t added = sy_model_add_factor(model, &factor, &traces->terms[relation->first_term],
                                             relation->term_count);
        code = added == SY_NONE ? -ENOMEM : 0;
    }
    free(order);
    return code;
}

int sy_mux_model(const struct sy_traces *traces, uint32_t series,
                 const struct sy_mux_config *config, uint64_t seed, struct sy_model **ret_model,
                 struct sy_error *error) {
    bool seen = config->method == SY_MUX_SEEN;
    struct lesson lesson = gather(traces, series, seen);
    struct sy_model *model = sy_need(sy_model_create(traces->series[series].name));
    int code = add_variables(model, traces, &lesson, config->noise);
    code = code ? code : add_relations(model, traces, config->relations, seed);
    if (!code) {
        model->step_ns = STEP_NS;
        double share = config->no_covariance ? 0 : seen ? SHARE_SEEN : SHARE_UNSEEN;
        code = lesson.count
                   ? sy_model_learn(model, lesson.rates, lesson.lengths, lesson.count, share)
                   : 0;
    }
    free(lesson.rates);
    free(lesson.lengths);
    code = code ? code : sy_model_check(model, error);
    if (code) {
        sy_model_destroy(model);
        return code == -ENOMEM ? sy_fail(error, code, "out of memory") : code;
    }
    *ret_model = model;
    return 0;
}

/* No reading is had without a slot, and none twice. */
static bool all_take_slots(const struct sy_mux *mux, const uint32_t *chosen, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        if (mux->traces->fixed[chosen[k]] || mux->traces->hidden[chosen[k]]) {
            return false;
        }
        for (uint32_t l = 0; l < k; l++) {
            if (chosen[l] == chosen[k]) {
                return false;
            }
        }
    }
    return true;
}

static uint32_t observe(const struct sy_mux *mux, uint32_t window, const uint32_t *chosen,
                        uint32_t chosen_count, struct sy_observation *ret_observations) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < mux->traces->event_count; i++) {
        if (mux->traces->fixed[i]) {
            ret_observations[count++] =
                (struct sy_observation){.variable = i, .rate = sy_mux_read(mux, window, i)};
        }
    }
    for (uint32_t k = 0; k < chosen_count; k++) {
        ret_observations[count++] = (struct sy_observation){
            .variable = chosen[k], .rate = sy_mux_read(mux, window, chosen[k])};
    }
    return count;
}

static void put_readings(uint32_t n, size_t at, const struct sy_observation *observations,
                         uint32_t count, struct sy_mux_guess *guess) {
    for (uint32_t i = 0; guess->readings && i < n; i++) {
        guess->readings[at + i] = NAN;
    }
    for (uint32_t k = 0; guess->readings && k < count; k++) {
        guess->readings[at + observations[k].variable] = observations[k].rate;
    }
}

static void put_posterior(const struct sy_filter *filter, uint32_t n, size_t at,
                          struct sy_mux_guess *guess) {
    for (uint32_t i = 0; i < n; i++) {
        struct sy_posterior posterior = sy_filter_estimate(filter, i);
        guess->rates[at + i] = posterior.median; /* errors are absolute: the median is best */
        guess->low[at + i] = posterior.low;
        guess->high[at + i] = posterior.high;
    }
}

int sy_guess_filter(const struct sy_mux *mux, const struct sy_mux_config *config,
                    const struct sy_model *model, struct sy_mux_guess *guess) {
    uint32_t n = mux->traces->event_count;
    struct sy_filter_options options = {
        .student_degrees = config->gaussian ? INFINITY : 0,
        .active_share = config->no_choice ? NO_CHOICE : 0,
        .no_learning = config->no_learning,
        .seed = mux->seed,
        .no_relations = config->relations == 0,
    };
    struct sy_observation *observations = sy_need(malloc((n + mux->slots) * sizeof *observations));
    uint32_t *chosen = sy_need(malloc(mux->slots * sizeof *chosen));
    struct sy_filter *filter = NULL;
    int code = sy_filter_create(model, &options, &filter);
    for (uint32_t t = 0; !code && t < mux->series->windows; t++) {
        uint32_t count = sy_filter_choose(filter, &mux->slots, 1, chosen);
        SY_ASSERT(count <= mux->slots && all_take_slots(mux, chosen, count));
        count = observe(mux, t, chosen, count, observations);
        sy_filter_step(filter, STEP_NS, observations, count);
        put_readings(n, (size_t)t * n, observations, count, guess);
        put_posterior(filter, n, (size_t)t * n, guess);
    }
    sy_filter_destroy(filter);
    free(chosen);
    free(observations);
    return code;
}
