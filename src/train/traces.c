/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody's own graphs, in two halves: worlds of training are made of one, and what was learned is
 * judged on the other.
 *
 * In: graphs, the streams in which they came, a seed. Out: for each graph its half; the streams of
 * each half. Invariant: graphs with the same tasks, data and dependences are in the same half, so
 * that none is met again; the order in which they were given changes nothing. One graph alone is in
 * both halves, and of a stream one has the beginning and the other the end.
 */
#include "train/worlds.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- which graphs are the same ------------------------------------------------------------------
 */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size) {
    uint64_t both[2] = {hash, sy_hash(bytes, size)};
    return sy_hash((const char *)both, sizeof both);
}

static uint64_t add_row(uint64_t hash, const uint32_t *start, const uint32_t *values, uint32_t at) {
    return add_bytes(hash, values + start[at], (start[at + 1] - start[at]) * sizeof *values);
}

/* Not its times: two runs of a graph differ in them. */
static uint64_t hash_shape(const struct sy_graph *graph) {
    uint64_t hash = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        const struct sy_task *task = &graph->tasks[t];
        const char *kernel = graph->kernels[task->kernel].name;
        hash = add_bytes(hash, kernel, strlen(kernel));
        hash = add_bytes(hash, &task->work, sizeof task->work);
        hash = add_row(hash, graph->pred_start, graph->pred, t);
        for (uint32_t a = task->access_start; a < graph->tasks[t + 1].access_start; a++) {
            const struct sy_access *access = &graph->accesses[a];
            double bytes = graph->data_bytes[access->datum];
            hash = add_bytes(hash, access, sizeof *access);
            hash = add_bytes(hash, &bytes, sizeof bytes);
        }
    }
    return hash;
}

struct shaped {
    uint64_t hash, turn; /* turn: at random by the seed */
    uint32_t graph, count;
};

static int by_hash(const void *a, const void *b) {
    const struct shaped *x = a, *y = b;
    int order = SY_ORDER(x->hash, y->hash);
    return order ? order : SY_ORDER(x->graph, y->graph);
}

/* Shapes of many graphs first, which would not fit at the end. */
static int by_turn(const void *a, const void *b) {
    const struct shaped *x = a, *y = b;
    int order = SY_ORDER(y->count, x->count);
    order = order ? order : SY_ORDER(x->turn, y->turn);
    return order ? order : SY_ORDER(x->hash, y->hash);
}

/* One entry per shape stays, that of its first graph. */
static uint32_t find_shapes(struct sy_traced *traces, uint64_t seed, struct shaped *shaped) {
    uint32_t shapes = 0;
    for (uint32_t g = 0; g < traces->graph_count; g++) {
        shaped[g] = (struct shaped){.hash = hash_shape(traces->graphs[g].graph), .graph = g};
    }
    qsort(shaped, traces->graph_count, sizeof *shaped, by_hash);
    for (uint32_t i = 0; i < traces->graph_count; i++) {
        struct shaped one = shaped[i];
        if (shapes == 0 || shaped[shapes - 1].hash != one.hash) {
            one.turn = add_bytes(seed, &one.hash, sizeof one.hash);
            shaped[shapes++] = one;
        }
        shaped[shapes - 1].count++;
        traces->graphs[one.graph].shape = shaped[shapes - 1].graph;
    }
    return shapes;
}

/* --- what is wrong with them --------------------------------------------------------------------
 */
static bool file_decides(const struct sy_traced *traces, const char *file) {
    for (uint32_t g = 0; g < traces->graph_count; g++) {
        if (traces->graphs[g].file == file && traces->graphs[g].graph->task_count > 1) {
            return true;
        }
    }
    return false;
}

static int check_tasks(const struct sy_traced *traces, struct sy_error *error) {
    const char *file = NULL;
    for (uint32_t g = 0; g < traces->graph_count; g++) {
        if (traces->graphs[g].file != file &&
            !file_decides(traces, file = traces->graphs[g].file)) {
            sy_fail_at(error, -EINVAL, file, 0, 0,
                       "a graph of one task leaves nothing to be decided");
            return sy_hint(error, "name a file with a graph of several tasks");
        }
    }
    return traces->graph_count ? 0 : sy_fail(error, -EINVAL, "there is no graph in the traces");
}

static int measure(const struct sy_traced *traces, struct sy_traced_graph *traced,
                   struct sy_error *error) {
    struct sy_job job = {.graph = traced->graph, .weight = 1, .time_ns = traced->time_ns};
    struct sy_workload_options options = {.accelerate = traces->accelerate,
                                          .accelerate_seed = traces->accelerate_seed};
    struct sy_workload *workload = NULL;
    struct sy_error why = {0};
    int code = sy_workload_create(traces->machine, &job, 1, &options, &workload, &why);
    if (code) {
        sy_fail_at(error, code, traced->file, 0, 0, "%s", why.message);
        return why.hint[0] ? sy_hint(error, "%s", why.hint) : code;
    }
    traced->area_ns = sy_cost_area_ns(workload, 0, workload->task_count);
    sy_workload_destroy(workload);
    return 0;
}

/* --- halves -------------------------------------------------------------------------------------
 */
int sy_traced_split(struct sy_traced *traces, uint64_t seed, struct sy_error *error) {
    int code = check_tasks(traces, error);
    for (uint32_t g = 0; g < traces->graph_count && !code; g++) {
        code = measure(traces, &traces->graphs[g], error);
    }
    if (code) {
        return code;
    }
    struct shaped *shaped = calloc(traces->graph_count, sizeof *shaped);
    uint32_t counts[SY_HALF_COUNT] = {0};
    if (!shaped) {
        return sy_out_of_memory(error);
    }
    traces->shape_count = find_shapes(traces, seed, shaped);
    qsort(shaped, traces->shape_count, sizeof *shaped, by_turn);
    traces->fingerprint = 0;
    for (uint32_t i = 0; i < traces->shape_count; i++) {
        enum sy_half half = counts[SY_HALF_HELD_OUT] < counts[SY_HALF_TRAINING] ? SY_HALF_HELD_OUT
                                                                                : SY_HALF_TRAINING;
        counts[half] += shaped[i].count;
        traces->graphs[shaped[i].graph].half = half;
        traces->fingerprint = add_bytes(traces->fingerprint, &shaped[i].hash, sizeof(uint64_t));
    }
    for (uint32_t g = 0; g < traces->graph_count; g++) {
        traces->graphs[g].half = traces->graphs[traces->graphs[g].shape].half;
    }
    free(shaped);
    return 0;
}

const struct sy_traced_graph *sy_traced_of(const struct sy_traced *traces,
                                           const struct sy_job *job) {
    uint32_t g = 0;
    while (traces->graphs[g].graph != job->graph) {
        g++;
        SY_ASSERT(g < traces->graph_count);
    }
    return &traces->graphs[g];
}

/* The jobs of a stream that the half has, as close together as keeps the load what it was. */
static void halve_stream(const struct sy_traced *traces, const struct sy_traced_stream *stream,
                         enum sy_half half, struct sy_traced_stream *out) {
    double all_ns = 0, kept_ns = 0;
    out->job_count = 0;
    for (uint32_t j = 0; j < stream->job_count; j++) {
        const struct sy_traced_graph *traced = sy_traced_of(traces, &stream->jobs[j]);
        bool late = j >= (stream->job_count + 1) / 2;
        bool has = traces->shape_count > 1 ? traced->half == half : late == (half != 0);
        all_ns += traced->area_ns;
        kept_ns += has ? traced->area_ns : 0;
        if (has) {
            out->jobs[out->job_count++] = stream->jobs[j];
        }
    }
    double closer = traces->shape_count > 1 && all_ns > 0 ? kept_ns / all_ns : 1;
    for (uint32_t j = 0; j < out->job_count; j++) {
        out->jobs[j].arrive_ns *= closer;
    }
}

static int halve(struct sy_catalogue *c, enum sy_half which) {
    const struct sy_traced *traces = c->options.traces;
    struct half *half = &c->halves[which];
    half->graphs = sy_arena_alloc(c->arena, traces->graph_count, sizeof(*half->graphs));
    half->streams = sy_arena_alloc(c->arena, traces->stream_count + 1u, sizeof(*half->streams));
    if (!half->graphs || !half->streams) {
        return -ENOMEM;
    }
    for (uint32_t g = 0; g < traces->graph_count; g++) {
        if (traces->shape_count == 1 || traces->graphs[g].half == which) {
            half->graphs[half->graph_count++] = &traces->graphs[g];
        }
    }
    for (uint32_t s = 0; s < traces->stream_count; s++) {
        struct sy_traced_stream *out = &half->streams[half->stream_count];
        out->jobs = sy_arena_alloc(c->arena, traces->streams[s].job_count + 1u, sizeof *out->jobs);
        if (!out->jobs) {
            return -ENOMEM;
        }
        halve_stream(traces, &traces->streams[s], which, out);
        half->stream_count += out->job_count > 1;
    }
    return 0;
}

int sy_halve_traces(struct sy_catalogue *c, struct sy_error *error) {
    int code = halve(c, SY_HALF_TRAINING);
    code = code ? code : halve(c, SY_HALF_HELD_OUT);
    return code ? sy_out_of_memory(error) : 0;
}
