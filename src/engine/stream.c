/* SPDX-License-Identifier: Apache-2.0
 *
 * Items of a pipeline through a session: as many under way as the window allows, each by the plan
 * that is current when it is let in.
 */
#include "engine/stream.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOLD_MAX   256u /* phases of which some only tell that a plan was right again */
#define PACE_ITEMS 12u  /* at least, for one look at the pace */

/* A cap on power is kept by letting items in no faster than the plan says. */
static void keep_pace(struct stream *stream) {
    if (!isfinite(stream->options->replan.request.bounds.power_watts) || stream->item_count <= 1) {
        return;
    }
    double due_ns = stream->admitted_ns + stream->layout.plan.outcome.period_ns;
    double wait_ns = due_ns - stream->session->ops->now_ns(stream->session);
    if (wait_ns > 0 && wait_ns < 1e11) {
        struct timespec pause = {(time_t)(wait_ns / 1e9), (long)fmod(wait_ns, 1e9)};
        nanosleep(&pause, NULL);
    }
}

/* The plan for this item; *ret_new: another one than before. */
static int choose_plan(struct stream *stream, const struct stream_item *item, bool *ret_new) {
    const struct sy_plan *plan = NULL;
    enum sy_replan_cause cause = SY_REPLAN_KEPT;
    int code = sy_replanner_next(stream->replanner, item->values, &plan, &cause, stream->error);
    *ret_new = false;
    if (code || (cause == SY_REPLAN_KEPT && stream->phase_count)) {
        return code;
    }
    const struct sy_plan_problem *problem = sy_replanner_problem(stream->replanner);
    struct sy_buffer text = {0};
    sy_plan_write(problem, plan, &text);
    if (text.failed || !text.text) {
        sy_buffer_finish(&text);
        return sy_fail(stream->error, -ENOMEM, "no memory for a plan");
    }
    bool same =
        stream->phase_count && strcmp(stream->phases[stream->phase_count - 1].plan, text.text) == 0;
    /* Other inputs for which the same plan is right are told, too, but not without end. */
    *ret_new = !same || (cause == SY_REPLAN_DRIFT && stream->phase_count < TOLD_MAX);
    if (same) {
        stream->layout.plan = *plan; /* what it gives, and lanes' rates, may have changed */
    } else {
        code = stream_lay(stream, problem, plan, &stream->layout);
    }
    if (*ret_new && !code) {
        code = stream_begin_phase(stream, item->number, text.text, cause);
    }
    stream->window = stream_window(stream, problem, item);
    stream->window_most =
        stream->window > stream->window_most ? stream->window : stream->window_most;
    sy_buffer_finish(&text);
    return code;
}

/* 1: one more is under way; 0: there are no more. */
static int admit(struct stream *stream) {
    struct stream_item *item = NULL;
    bool fresh = false;
    int more = stream_next_item(stream, &item);
    if (more <= 0) {
        return more;
    }
    int code = choose_plan(stream, item, &fresh);
    if (code) {
        return code;
    }
    item->phase = stream->phase_count - 1;
    item->layout = stream->layout.serial;
    item->promised_ns = stream->layout.plan.outcome.period_ns;
    item->keep = stream_wants_check(stream, item, fresh);
    if (item->keep && stream->options->check == SY_STREAM_CHECK_SOME) {
        stream->kept_count++;
        stream->kept_bytes += item->total_bytes;
    }
    keep_pace(stream);
    struct stream_turn turn = stream_take_turn(stream, sy_replanner_problem(stream->replanner));
    item->start_ns = stream->admitted_ns = stream->session->ops->now_ns(stream->session);
    code = stream_submit_item(stream, item, &turn);
    return code ? code : 1;
}

/* Items under way when the plan came in are not counted: the next one waits for their devices. */
static void watch_pace(struct stream *stream, const struct stream_item *item) {
    struct stream_pace *pace = &stream->pace;
    double now_ns = stream->session->ops->now_ns(stream->session);
    if (item->layout != stream->layout.serial ||
        isfinite(stream->options->replan.request.bounds.power_watts)) {
        return;
    }
    if (pace->layout != item->layout) {
        *pace = (struct stream_pace){.layout = item->layout};
    }
    if (++pace->ended <= stream->window) {
        pace->from_ns = now_ns;
        return;
    }
    pace->promised_ns += item->promised_ns;
    if (++pace->count >= PACE_ITEMS && pace->count >= stream->window) {
        sy_replanner_paced(stream->replanner, &stream->layout.plan,
                           (now_ns - pace->from_ns) / pace->promised_ns);
        pace->from_ns = now_ns;
        pace->promised_ns = 0;
        pace->count = 0;
    }
}

static int end_task(struct stream *stream, const struct stream_task *task) {
    struct sy_session *session = stream->session;
    struct sy_session_ended ended;
    struct stream_item *item = task->item;
    session->ops->ended(session, &ended);
    int code = sy_replanner_learn(stream->replanner, item->values, task->kernel, task->shape,
                                  ended.duration_ns, NAN);
    if (code) {
        return sy_fail(stream->error, code, "what kernel %s took cannot be learned: %s",
                       stream->pipeline->kernels[task->kernel].name, strerror(-code));
    }
    if (--item->left > 0) {
        return 0;
    }
    watch_pace(stream, item);
    code = stream_note_end(stream, item, session->ops->now_ns(session));
    if (!code && item->keep && stream->options->check == SY_STREAM_CHECK_ALL) {
        code = stream_check_item(stream, item);
        item->keep = false;
    }
    stream_drop_item(stream, item);
    /* Of a stream that was not seen to its end nobody knows the length. */
    double total = fmax((double)stream->ahead_count, (double)stream->item_count);
    session->ops->progress(session, (double)stream->done_count, stream->ahead_end ? total : 0,
                           "items");
    return code;
}

static int run_items(struct stream *stream) {
    bool more = true;
    int code = 0;
    while (code >= 0) {
        while (more && (stream->item_count == 0 ||
                        stream->item_count - stream->done_count < stream->window)) {
            code = admit(stream);
            more = code > 0;
            if (code < 0) {
                return code;
            }
        }
        void *tag = NULL;
        code = stream->session->ops->wait(stream->session, &tag);
        if (code < 0 || !tag) {
            break;
        }
        code = end_task(stream, tag);
    }
    return code < 0 ? code : 0;
}

static int check_kept(struct stream *stream) {
    int code = 0;
    for (const struct stream_item *item = stream->kept; item && !code; item = item->next) {
        code = stream_check_item(stream, item);
    }
    return code;
}

static int run(struct stream *stream, struct sy_stream_report *ret_report) {
    const struct sy_stream_options *options = stream->options;
    int code = sy_replanner_create(stream->pipeline, options->system, options->store,
                                   &options->replan, &stream->replanner, stream->error);
    code = code ? code : stream_open(stream);
    code = code ? code : stream_look_ahead(stream);
    stream->begin_ns = stream->session->ops->now_ns(stream->session);
    code = code ? code : run_items(stream);
    if (!code && stream->done_count == 0) {
        code = sy_fail(stream->error, -EINVAL, "pipeline %s has no items with '%s'",
                       stream->pipeline->name, options->arguments);
    }
    code = code ? code : stream_tell(stream, ret_report);
    return code ? code : check_kept(stream);
}

/* Whatever went wrong, nothing that is under way may write to memory that is gone. */
static void drain(struct stream *stream) {
    void *tag = stream;
    while (tag && stream->session->ops->wait(stream->session, &tag) == 0) {
    }
}

int sy_stream_run(struct sy_session *session, const struct sy_stream_options *options,
                  struct sy_arena *arena, struct sy_stream_report *ret_report,
                  struct sy_error *error) {
    struct sy_error scratch = {0};
    struct stream stream = {.session = session,
                            .options = options,
                            .pipeline = options->pipeline,
                            .arena = arena,
                            .error = error ? error : &scratch,
                            .window = 1,
                            .worst_error = NAN,
                            .worst_tolerance = NAN,
                            .worst_ratio = NAN};
    struct sy_stream_report report = {0};
    int code = run(&stream, &report);
    if (code) {
        drain(&stream);
    } else {
        report.checked_count = stream.checked_count;
        report.result_error = stream.worst_error;
        report.result_tolerance = stream.worst_tolerance;
        report.worst_item = stream.worst_item;
        *ret_report = report;
    }
    stream_close(&stream);
    sy_replanner_destroy(stream.replanner);
    free(stream.latency_ns);
    free(stream.end_ns);
    free(stream.end_phase);
    free(stream.phases);
    return code;
}
