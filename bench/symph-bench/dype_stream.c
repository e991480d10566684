/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream that drifts, for symph-bench dype: a model, as no item is computed.
 *
 * Through the examples of a pipeline and back again, so that each but the last is met twice. An
 * item takes a period of its plan; a change of plan waits until the old one is empty, so that the
 * first item of the new one takes its latency. In: a unit whose cases are done. Out: time and
 * energy of the whole stream, ours and others'.
 */
#include "symph-bench/dype.h"

#define STREAM_REPEAT 40 /* items of an input, one after the other */
#define PURPOSE       0x64797066u

static uint32_t input_at(uint32_t inputs, uint32_t leg) {
    return leg < inputs ? leg : 2 * (inputs - 1) - leg;
}

static void add_item(struct sy_dype_stream *stream, enum sy_dype_streamer who,
                     const struct sy_plan_outcome *outcome) {
    stream->time_ns[who] += outcome->period_ns;
    stream->joules[who] += outcome->energy_joules;
}

static bool same_plan(const struct sy_plan *a, const struct sy_plan *b) {
    bool same = a->stage_count == b->stage_count;
    for (uint32_t s = 0; same && s < a->stage_count; s++) {
        same = a->stages[s].kernels == b->stages[s].kernels &&
               a->stages[s].shape == b->stages[s].shape &&
               a->stages[s].replicas == b->stages[s].replicas;
    }
    return same;
}

struct streaming {
    struct sy_dype_unit *unit;
    struct sy_replanner *replanner;
    const struct sy_plan *fixed;
    struct sy_rng rng;
    struct sy_plan plan;
};

static int stream_item(struct streaming *streaming, uint32_t example, uint32_t since,
                       struct sy_error *error) {
    struct sy_dype_unit *unit = streaming->unit;
    struct sy_dype_stream *stream = &unit->stream;
    const struct sy_plan *plan;
    enum sy_replan_cause cause;
    struct sy_plan_outcome outcome, fixed;
    int code = sy_replanner_next(streaming->replanner, sy_dype_values(unit, example), &plan, &cause,
                                 error);
    code = code
               ? code
               : sy_plan_evaluate(&unit->truth[example], &sy_plan_unbounded, plan, &outcome, error);
    code = code ? code
                : sy_plan_evaluate(&unit->truth[example], &sy_plan_unbounded, streaming->fixed,
                                   &fixed, error);
    if (code) {
        return code;
    }
    bool changed = stream->items > 0 && !same_plan(plan, &streaming->plan);
    streaming->plan = *plan;
    stream->items++;
    stream->changes += changed;
    stream->probes += cause == SY_REPLAN_PROBE;
    if (cause == SY_REPLAN_DRIFT && since > stream->late_most) {
        stream->late_most = since;
    }
    add_item(stream, SY_DYPE_STREAM_OURS, &outcome);
    if (changed) {
        stream->time_ns[SY_DYPE_STREAM_OURS] += outcome.latency_ns - outcome.period_ns;
    }
    const struct sy_dype_case *item =
        sy_dype_case_at(unit->bench, unit->pipeline, example, unit->link, SY_DYPE_THROUGHPUT);
    add_item(stream, SY_DYPE_STREAM_STATIC, &fixed);
    add_item(stream, SY_DYPE_STREAM_GPU, &item->got[SY_DYPE_GPU_ONLY]);
    add_item(stream, SY_DYPE_STREAM_BEST, &item->best);
    if (sy_dype_run_item(unit, example, &streaming->plan, &streaming->rng, streaming->replanner) <
        0) {
        return sy_out_of_memory(error);
    }
    return 0;
}

static int stream_all(struct streaming *streaming, struct sy_error *error) {
    struct sy_dype_unit *unit = streaming->unit;
    uint32_t inputs = unit->bench->pipelines[unit->pipeline].example_count;
    int code = 0;
    for (uint32_t leg = 0; !code && leg < 2 * inputs - 1; leg++) {
        for (uint32_t i = 0; !code && i < STREAM_REPEAT; i++) {
            code = stream_item(streaming, input_at(inputs, leg), i, error);
        }
    }
    unit->stream.inputs = inputs;
    return code;
}

int sy_dype_stream_run(struct sy_dype_unit *unit, const struct sy_plan *fixed,
                       struct sy_error *error) {
    const struct sy_pipeline *pipeline = unit->bench->pipelines[unit->pipeline].description;
    struct sy_plan_request request = {SY_PLAN_THROUGHPUT, sy_plan_unbounded, false};
    struct sy_replan_options options = sy_dype_replan_options(&request);
    struct sy_store *store = sy_need(sy_store_copy(unit->taught));
    struct streaming streaming = {.unit = unit,
                                  .fixed = fixed,
                                  .rng =
                                      sy_rng_make(1, PURPOSE, unit->pipeline * 64u + unit->link)};
    int code =
        sy_replanner_create(pipeline, &unit->system, store, &options, &streaming.replanner, error);
    code = code ? code : stream_all(&streaming, error);
    sy_replanner_destroy(streaming.replanner);
    sy_store_close(store);
    return code;
}
