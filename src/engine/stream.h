/* SPDX-License-Identifier: Apache-2.0
 *
 * stream: runs the items of a pipeline through a session, each by the plan that is current when it
 * is let in; and measures the kernels of a pipeline one by one.
 *
 *   stream.c            items in, ends out: the loop
 *   stream_item.c       the data of an item, and its tasks
 *   stream_place.c      which devices a plan's stages are
 *   stream_window.c     how many items are under way at a time
 *   stream_tell.c       what came of it: throughput, latency, what each plan did; the check
 *   stream_calibrate.c  kernels alone
 *
 * In: a plug-in's stream, a description, a system whose classes are places of the session, a
 * replanner. Out: struct sy_stream_report. Never knows: StarPU, or how plans are made. Invariants:
 * every item is finished by the plan it began with; none is lost when the plan changes; data that
 * items share are read only.
 */
#ifndef SY_ENGINE_STREAM_H
#define SY_ENGINE_STREAM_H

#include "engine/engine.h"
#include "planner/pipeline.h"
#include <symph/kernel.h>
#include <symph/session.h>

enum sy_stream_check {
    SY_STREAM_CHECK_NONE,
    SY_STREAM_CHECK_SOME, /* the first item of each plan, items 0, 1, 3, 7 ...; after the run */
    SY_STREAM_CHECK_ALL,  /* as they come: what it costs shows in the throughput */
};

struct sy_stream_options {
    const struct sy_kernel_pipeline *source;
    const char *arguments;
    const struct sy_pipeline *pipeline; /* its text, read */
    const struct sy_system *system;
    /* [class of the system][device]: where tasks are put */
    const struct sy_session_place *places[SY_PLAN_CLASS_MAX];
    struct sy_store *store; /* learns */
    struct sy_replan_options replan;
    uint32_t window;   /* items under way; 0: from the plan and the memory */
    double host_bytes; /* for the data of items; INFINITY: not limited */
    enum sy_stream_check check;
    /* Energy so far, NAN: cannot be read; may be NULL. */
    double (*joules)(void *user);
    void *user;
};

/* What it says of itself lives in arena. A wrong result is no error here: the report has it. */
SY_MUST_CHECK int sy_stream_run(struct sy_session *session, const struct sy_stream_options *options,
                                struct sy_arena *arena, struct sy_stream_report *ret_report,
                                struct sy_error *error);

/* Each kernel of each different input, alone, in every shape of the system: a sample each, and a
 * modelled one of class "u280" where the kernel has a model of its cycles. watts: also measure
 * power, for which kernels are repeated longer. */
struct sy_stream_calibration {
    struct sy_stream_options stream; /* without store, replan, window, check */
    int (*learned)(void *user, const struct sy_cost_sample *sample); /* user: of the stream */
    const struct sy_kernel_entry *const *entries; /* per kernel of the pipeline */
    bool watts;
    bool cpu_metered; /* joules counts cores; accelerators it always does */
    uint32_t input_max;
};
SY_MUST_CHECK int sy_stream_calibrate(struct sy_session *session,
                                      const struct sy_stream_calibration *options,
                                      struct sy_error *error);

/* --- inside -------------------------------------------------------------------------------------
 */
struct stream_input {
    uint64_t number;
    uint32_t users;
    uint64_t last_use;
    double total_bytes;
    void **pointers; /* per datum; NULL where it is no input */
    uint64_t *bytes;
};

struct stream_task {
    struct stream_item *item;
    uint32_t kernel, shape;
};

struct stream_item {
    uint64_t number;
    struct stream_input *input;
    struct stream_item *next;  /* free, or kept for the check */
    struct stream_item *older; /* made before */
    uint32_t left;             /* tasks */
    uint32_t phase;
    uint64_t layout;    /* the serial of the layout it went by */
    double promised_ns; /* the plan's period */
    double start_ns, total_bytes;
    bool keep;
    /* behind it, in the same block */
    double *values, *numbers;
    uint32_t *data;  /* of the session, per datum; SY_NONE: none */
    void **pointers; /* per datum */
    uint64_t *bytes;
    struct stream_task *tasks; /* per kernel */
};

/* Where a plan's stages are: device first + replica * width of the class, and so on. */
struct stream_layout {
    struct sy_plan plan;
    uint64_t serial; /* counts plans that were laid */
    uint32_t first[SY_PLAN_STAGE_MAX];
    uint64_t lane_items[SY_PLAN_LANE_MAX];
};

/* How fast items come out of the plan in place, beside what it promises. */
struct stream_pace {
    uint64_t layout, ended;      /* so many items of that layout */
    double from_ns, promised_ns; /* since then, so much was promised */
    uint32_t count;              /* for so many items */
};

struct stream {
    struct sy_session *session;
    struct stream_pace pace;
    const struct sy_stream_options *options;
    const struct sy_pipeline *pipeline;
    struct sy_arena *arena;
    struct sy_error *error;
    void *state; /* the plug-in's */
    struct sy_replanner *replanner;
    uint32_t job;
    /* data */
    uint32_t *constants; /* of the session, per datum; SY_NONE: none, or not yet */
    void **constant_pointers;
    uint64_t *constant_bytes;
    void **view; /* per datum: what the check is shown */
    struct stream_input **inputs;
    uint32_t input_count, input_capacity;
    double input_bytes;
    uint64_t uses;
    /* Items that the plug-in has told of and that were not let in yet. */
    double *ahead_values;
    uint64_t *ahead_inputs;
    uint32_t ahead_at, ahead_count;
    bool ahead_end; /* behind them there are no more */
    struct stream_item *newest, *free_items, *kept;
    uint32_t kept_count;
    double kept_bytes;
    /* the plan */
    struct stream_layout layout;
    uint32_t window, window_most; /* under the current plan; under any so far */
    double begin_ns, admitted_ns; /* the stream; the last item */
    /* what came of it */
    uint64_t item_count, done_count;
    double *latency_ns, *end_ns; /* per item done */
    uint32_t *end_phase;
    uint32_t latency_capacity, end_capacity, phase_capacity;
    struct sy_stream_phase *phases;
    uint32_t phase_count, phases_capacity;
    double worst_error, worst_tolerance, worst_ratio;
    uint64_t worst_item;
    uint64_t checked_count;
};

struct stream_turn {
    const struct sy_plan_problem *problem;
    uint32_t lane;
    uint64_t turn; /* of the lane's items */
};

/* stream_item.c */
SY_MUST_CHECK int stream_open(struct stream *stream);
/* Fills in what the first items read, as far as there is room: before the clock starts. */
SY_MUST_CHECK int stream_look_ahead(struct stream *stream);
void stream_close(struct stream *stream);
/* Memory, data and features of the next item: 1, or 0 if there is none. */
int stream_next_item(struct stream *stream, struct stream_item **ret_item);
/* All its tasks, where its turn puts them. */
/* What lies between kernels: in host memory where one of these kernels (a bit set) touches it, else
 * wherever it is computed. */
SY_MUST_CHECK int stream_add_between(struct stream *stream, struct stream_item *item,
                                     uint64_t on_host);
SY_MUST_CHECK int stream_submit_item(struct stream *stream, struct stream_item *item,
                                     const struct stream_turn *turn);
/* back: SY_FETCH_BACK, or 0, beside the access to what it writes. */
SY_MUST_CHECK int stream_submit_kernel(struct stream *stream, struct stream_item *item,
                                       uint32_t kernel, const struct sy_session_place *places,
                                       uint32_t place_count, uint32_t back);
/* Its data are forgotten; memory that the check may need stays with an item that is kept. */
void stream_drop_item(struct stream *stream, struct stream_item *item);
void stream_release_item(struct stream *stream, struct stream_item *item);

/* stream_place.c */
SY_MUST_CHECK int stream_lay(struct stream *stream, const struct sy_plan_problem *problem,
                             const struct sy_plan *plan, struct stream_layout *ret_layout);
/* The lane whose turn it is. */
struct stream_turn stream_take_turn(struct stream *stream, const struct sy_plan_problem *problem);
/* How many devices share the kernel, and which. */
uint32_t stream_places(const struct stream *stream, const struct stream_turn *turn, uint32_t kernel,
                       const struct sy_session_place **ret_places, uint32_t *ret_shape);

/* stream_window.c: how many items may be under way, unless the options say. */
uint32_t stream_window(const struct stream *stream, const struct sy_plan_problem *problem,
                       const struct stream_item *item);

/* stream_tell.c */
SY_MUST_CHECK int stream_begin_phase(struct stream *stream, uint64_t item, const char *plan,
                                     enum sy_replan_cause cause);
SY_MUST_CHECK int stream_note_end(struct stream *stream, const struct stream_item *item,
                                  double now_ns);
bool stream_wants_check(const struct stream *stream, const struct stream_item *item,
                        bool first_of_phase);
SY_MUST_CHECK int stream_check_item(struct stream *stream, const struct stream_item *item);
SY_MUST_CHECK int stream_tell(struct stream *stream, struct sy_stream_report *ret_report);

#endif
