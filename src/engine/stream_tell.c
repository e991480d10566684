/* SPDX-License-Identifier: Apache-2.0
 *
 * What came of a stream: when items ended, under which plan, and whether their results are right.
 *
 * In: ends of items. Out: struct sy_stream_report. An item belongs to the plan it began with.
 */
#include "engine/stream.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX   24u  /* items whose results wait for the check */
#define KEPT_SHARE 0.25 /* of the memory for items */

static double joules_now(const struct stream *stream) {
    return stream->options->joules ? stream->options->joules(stream->options->user) : NAN;
}

/* --- plans --------------------------------------------------------------------------------------
 */
int stream_begin_phase(struct stream *stream, uint64_t item, const char *plan,
                       enum sy_replan_cause cause) {
    double joules = joules_now(stream);
    const char *copy = sy_arena_strdup(stream->arena, plan);
    if (!copy || sy_grow(&stream->phases, &stream->phases_capacity, stream->phase_count + 1,
                         sizeof *stream->phases)) {
        return sy_fail(stream->error, -ENOMEM, "no memory for the plans of a stream");
    }
    if (stream->phase_count) { /* what it began with, until it is told */
        struct sy_stream_phase *last = &stream->phases[stream->phase_count - 1];
        last->joules = joules - last->joules;
    }
    stream->phases[stream->phase_count++] =
        (struct sy_stream_phase){.first_item = item,
                                 .plan = copy,
                                 .cause = sy_replan_cause_name(cause),
                                 .period_ns = stream->layout.plan.outcome.period_ns,
                                 .rate = NAN,
                                 .latency_p50_ns = NAN,
                                 .latency_p99_ns = NAN,
                                 .joules = joules};
    return 0;
}

int stream_note_end(struct stream *stream, const struct stream_item *item, double now_ns) {
    uint32_t index = (uint32_t)stream->done_count;
    if (stream->done_count >= UINT32_MAX - 1 ||
        sy_grow(&stream->latency_ns, &stream->latency_capacity, index + 1, sizeof(double)) ||
        sy_grow(&stream->end_ns, &stream->end_capacity, index + 1, sizeof(double)) ||
        sy_grow(&stream->end_phase, &stream->phase_capacity, index + 1, sizeof(uint32_t))) {
        return sy_fail(stream->error, -ENOMEM, "no memory for %u items", index);
    }
    stream->latency_ns[index] = now_ns - item->start_ns;
    stream->end_ns[index] = now_ns;
    stream->end_phase[index] = item->phase;
    stream->phases[item->phase].item_count++;
    stream->done_count++;
    return 0;
}

/* --- results ------------------------------------------------------------------------------------
 */
bool stream_wants_check(const struct stream *stream, const struct stream_item *item,
                        bool first_of_phase) {
    const struct sy_stream_options *options = stream->options;
    bool some = options->check == SY_STREAM_CHECK_SOME && stream->kept_count < KEPT_MAX &&
                stream->kept_bytes + item->total_bytes <= KEPT_SHARE * options->host_bytes &&
                (first_of_phase || (item->number & (item->number + 1)) == 0);
    return options->source->check && (some || options->check == SY_STREAM_CHECK_ALL);
}

int stream_check_item(struct stream *stream, const struct stream_item *item) {
    double deviation = NAN, tolerance = NAN;
    for (uint32_t d = 0; d < stream->pipeline->datum_count; d++) {
        bool home = stream->pipeline->data[d].role != SY_PIPELINE_BETWEEN;
        stream->view[d] = home ? item->pointers[d] : NULL;
    }
    int code = stream->options->source->check(stream->state, item->number, stream->view, &deviation,
                                              &tolerance, stream->error);
    if (code < 0) {
        return stream->error->message[0]
                   ? code
                   : sy_fail(stream->error, code, "item %llu of pipeline %s cannot be checked: %s",
                             (unsigned long long)item->number, stream->pipeline->name,
                             strerror(-code));
    }
    /* An error that is no number is the worst of all. */
    double ratio = deviation <= tolerance ? (tolerance > 0 ? deviation / tolerance : 0)
                   : isnan(deviation)     ? INFINITY
                                          : deviation / tolerance;
    stream->checked_count++;
    if (!(ratio <= stream->worst_ratio)) {
        stream->worst_ratio = ratio;
        stream->worst_error = deviation;
        stream->worst_tolerance = tolerance;
        stream->worst_item = item->number;
    }
    return 0;
}

/* --- the whole ----------------------------------------------------------------------------------
 */
/* Items per s between the first end that counts and the last; NAN where less than half are left. */
static double rate_of(const double *ends, uint32_t count, uint32_t skip) {
    if (count < 2 || skip > count / 2 || skip + 1 >= count) {
        return NAN;
    }
    double span_ns = ends[count - 1] - ends[skip];
    return span_ns > 0 ? (count - 1 - skip) / span_ns * 1e9 : NAN;
}

/* values is sorted by this. */
static void set_latency(double *values, uint32_t count, double *ret_p50, double *ret_p99) {
    *ret_p50 = count ? sy_quantile(values, count, 0.5) : NAN;
    *ret_p99 = count ? sy_quantile(values, count, 0.99) : NAN;
}

static void tell_phase(const struct stream *stream, uint32_t p, double *ends, double *latencies) {
    struct sy_stream_phase *phase = &stream->phases[p];
    uint32_t count = 0;
    for (uint32_t i = 0; i < stream->done_count; i++) {
        if (stream->end_phase[i] == p) {
            ends[count] = stream->end_ns[i];
            latencies[count++] = stream->latency_ns[i];
        }
    }
    phase->rate = rate_of(ends, count, 0);
    set_latency(latencies, count, &phase->latency_p50_ns, &phase->latency_p99_ns);
    phase->joules = count ? phase->joules / count : NAN;
}

int stream_tell(struct stream *stream, struct sy_stream_report *ret_report) {
    uint32_t count = (uint32_t)stream->done_count;
    struct sy_stream_report report = {
        .pipeline = stream->pipeline->name,
        .objective = sy_plan_objective_name(stream->options->replan.request.objective),
        .item_count = count,
        .checked_count = stream->checked_count,
        .window = stream->window_most,
        .rate = count ? count / (stream->end_ns[count - 1] - stream->begin_ns) * 1e9 : NAN,
        .steady_rate = rate_of(stream->end_ns, count, stream->window_most),
        .joules = NAN,
        .result_error = NAN,
        .result_tolerance = NAN,
        .phase_count = stream->phase_count,
    };
    double *scratch = calloc(2 * (size_t)count + 1, sizeof *scratch), total = 0;
    struct sy_stream_phase *phases =
        sy_arena_alloc(stream->arena, stream->phase_count + 1, sizeof *phases);
    if (!scratch || !phases) {
        free(scratch);
        return sy_fail(stream->error, -ENOMEM, "no memory to sum up %u items", count);
    }
    if (stream->phase_count) {
        struct sy_stream_phase *last = &stream->phases[stream->phase_count - 1];
        last->joules = joules_now(stream) - last->joules;
    }
    for (uint32_t p = 0; p < stream->phase_count; p++) {
        total += stream->phases[p].joules;
        tell_phase(stream, p, scratch, scratch + count);
        phases[p] = stream->phases[p];
    }
    report.joules = count ? total / count : NAN;
    report.phases = phases;
    for (uint32_t i = 0; i < count; i++) {
        scratch[i] = stream->latency_ns[i];
    }
    set_latency(scratch, count, &report.latency_p50_ns, &report.latency_p99_ns);
    free(scratch);
    *ret_report = report;
    return 0;
}
