/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of a stream of jobs: graphs that are known in advance, each handed over when its job
 * arrives.
 *
 * In: graphs, and who sends which of them when (cost/jobs.c). Out: one graph of all their tasks, in
 * parts if that is asked for, of which each job has a run of consecutive ones; it is submitted job
 * by job. To the policy each job is one, with its arrival, its weight and the time that it takes
 * alone; under StarPU's own policies, which know no jobs, the first to come has the highest
 * priority.
 */
#include "engine/starpu/session.h"
#include "graph/graph.h"
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GEN         "gen:"
#define SLICE_NS    100e6 /* of waiting: the watchdog sees that somebody is there */
#define NAME_BYTES  512
#define IN_CPU_TIME 1 /* what is emulated takes CPU time, not that of a clock */

struct session_stream {
    struct sy_graph_list graphs;
    struct sy_job *jobs; /* sorted by arrival */
    uint32_t *first;     /* job_count + 1: tasks of the union */
    double *alone_ns;    /* per job; NAN: its times are not stated */
    uint32_t count;
    double in_cpu_time; /* a parameter of emulated calls */
};

/* --- which jobs ---------------------------------------------------------------------------------
 */
static int read_graphs(const char *spec, struct sy_graph_list *ret_list, struct sy_error *error) {
    if (strncmp(spec, GEN, strlen(GEN)) != 0) {
        return sy_graph_read_file(spec, NULL, ret_list, error);
    }
    struct sy_graph *graph = NULL;
    int code = sy_graph_generate(spec + strlen(GEN), &graph, error);
    code = code ? code : sy_graph_list_adopt(ret_list, graph);
    return code;
}

static int adopt_wanted(struct session_stream *stream, struct sy_graph_list *list,
                        const char *only) {
    int code = 0;
    for (uint32_t i = 0; i < list->count && !code; i++) {
        struct sy_graph *graph = list->graphs[i];
        if (graph->task_count && (!only || fnmatch(only, graph->name, 0) == 0)) {
            code = sy_graph_list_adopt(&stream->graphs, graph);
            list->graphs[i] = code ? graph : NULL;
        }
    }
    sy_graph_list_finish(list);
    return code;
}

/* One specification a line. */
static int load_graphs(struct sy_engine *engine, struct session_stream *stream,
                       struct sy_error *error) {
    const struct sy_request *request = &engine->request;
    int code = 0;
    for (const char *at = request->graphs; *at && !code;) {
        size_t length = strcspn(at, "\n");
        struct sy_graph_list list = {0};
        const char *spec = sy_arena_strndup(engine->arena, at, length);
        code = spec ? read_graphs(spec, &list, error) : -ENOMEM;
        code = code ? code : adopt_wanted(stream, &list, request->only);
        at += length + (at[length] == '\n');
    }
    if (!code && stream->graphs.count == 0) {
        code = request->only
                   ? sy_fail(error, -EINVAL, "no graph has a name that matches '%s'", request->only)
                   : sy_fail(error, -EINVAL, "there is no task in these graphs");
    }
    return code;
}

static int compare_arrivals(const void *left, const void *right) {
    const struct sy_job *a = left, *b = right;
    return (a->arrive_ns > b->arrive_ns) - (a->arrive_ns < b->arrive_ns);
}

/* Those that are drawn arrive with a mean gap of 1 until there is a machine. */
static int load_jobs(struct sy_engine *engine, struct session_stream *stream,
                     struct sy_error *error) {
    const struct sy_request *request = &engine->request;
    if (!request->arrivals) {
        stream->count = request->jobs;
        stream->jobs = calloc(request->jobs, sizeof *stream->jobs);
        if (!stream->jobs) {
            return sy_fail(error, -ENOMEM, "no memory for %u jobs", request->jobs);
        }
        sy_jobs_draw(request->seed, &stream->graphs, request->tenants, 1, stream->jobs,
                     stream->count);
        return 0;
    }
    int code =
        sy_jobs_read(request->arrivals, &stream->graphs, &stream->jobs, &stream->count, error);
    for (uint32_t j = 0; j < stream->count; j++) {
        stream->jobs[j].arrive_ns *= request->time_scale;
    }
    return code;
}

/* --- one graph of all ---------------------------------------------------------------------------
 */
struct merge {
    struct sy_graph *graph;
    struct sy_map kernels; /* by name */
    uint32_t data_start, task_start;
    double scale;
    struct sy_access *accesses;
    uint32_t access_capacity;
    uint32_t *place, place_capacity; /* per task of the graph that is merged: in its order */
};

static int merge_kernel(struct merge *merge, const struct sy_kernel *kernel, sy_kernel_id *ret) {
    uint32_t number = 0;
    if (sy_map_get(&merge->kernels, kernel->name, strlen(kernel->name), &number)) {
        ret->index = number;
        return 0;
    }
    const struct sy_kernel_desc desc = {.name = kernel->name};
    int code = sy_graph_add_kernel(merge->graph, &desc, ret);
    return code ? code
                : sy_map_put(&merge->kernels, kernel->name, strlen(kernel->name), ret->index);
}

static int merge_task(struct merge *merge, const struct sy_graph *from, uint32_t number,
                      uint32_t job) {
    const struct sy_task *task = &from->tasks[number];
    uint32_t count = from->tasks[number + 1].access_start - task->access_start;
    double time_ns[SY_KIND_COUNT];
    char name[NAME_BYTES], room[32];
    struct sy_task_desc desc = {
        .name = name, .work = task->work, .time_ns = time_ns, .access_count = count};
    sy_task_id id;
    if (merge_kernel(merge, &from->kernels[task->kernel], &desc.kernel) ||
        sy_grow(&merge->accesses, &merge->access_capacity, count + 1, sizeof *merge->accesses)) {
        return -ENOMEM;
    }
    for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
        time_ns[kind] = merge->scale * sy_graph_time_ns(from, number, (enum sy_device_kind)kind);
    }
    for (uint32_t a = 0; a < count; a++) {
        merge->accesses[a] = from->accesses[task->access_start + a];
        merge->accesses[a].datum += merge->data_start;
    }
    desc.accesses = merge->accesses;
    snprintf(name, sizeof name, "%s#%u/%s", from->name, job,
             sy_graph_task_name(from, (sy_task_id){number}, room));
    return sy_graph_add_task(merge->graph, &desc, &id);
}

/* Edges that accesses do not say; where the union is explicit, all. */
static int merge_edges(struct merge *merge, const struct sy_graph *from) {
    int code = 0;
    for (uint32_t t = 0; t < from->task_count; t++) {
        for (uint32_t p = from->pred_start[t]; p < from->pred_start[t + 1] && !code; p++) {
            if (merge->graph->is_explicit || from->pred_given[p]) {
                sy_task_id before = {merge->task_start + merge->place[from->pred[p]]};
                sy_task_id after = {merge->task_start + merge->place[t]};
                code = sy_graph_add_edge(merge->graph, before, after);
            }
        }
    }
    return code;
}

/* In topological order: what conflicts keeps its order, and jobs do not mix in the union's. */
static int merge_job(struct merge *merge, const struct sy_graph *from, uint32_t job) {
    sy_data_id datum;
    int code = 0;
    merge->data_start = merge->graph->data_count;
    merge->task_start = merge->graph->task_count;
    for (uint32_t d = 0; d < from->data_count && !code; d++) {
        code = sy_graph_add_data(merge->graph, from->data_names[d], from->data_bytes[d], &datum);
    }
    code = code ? code
                : sy_grow(&merge->place, &merge->place_capacity, from->task_count,
                          sizeof *merge->place);
    for (uint32_t i = 0; i < from->task_count && !code; i++) {
        merge->place[from->order[i]] = i;
        code = merge_task(merge, from, from->order[i], job);
    }
    return code ? code : merge_edges(merge, from);
}

static int merge_jobs(struct sy_engine *engine, struct session_stream *stream,
                      struct sy_error *error) {
    bool is_explicit = false;
    for (uint32_t g = 0; g < stream->graphs.count; g++) {
        is_explicit |= stream->graphs.graphs[g]->is_explicit;
    }
    struct merge merge = {.graph = sy_graph_create("stream", is_explicit),
                          .scale = engine->request.time_scale};
    int code = merge.graph && stream->first && stream->alone_ns ? 0 : -ENOMEM;
    for (uint32_t j = 0; j < stream->count && !code; j++) {
        stream->first[j] = merge.graph->task_count;
        code = merge_job(&merge, stream->jobs[j].graph, j);
    }
    free(merge.accesses);
    free(merge.place);
    sy_map_finish(&merge.kernels);
    if (code) {
        sy_graph_destroy(merge.graph);
        return sy_fail(error, code, "no memory for %u jobs", stream->count);
    }
    stream->first[stream->count] = merge.graph->task_count;
    engine->graph = merge.graph;
    return sy_graph_seal(merge.graph, error);
}

/* --- in parts -----------------------------------------------------------------------------------
 */
/* What the code says of its kernels counts, not the file. */
static int tell_parts(struct sy_engine *engine, struct sy_error *error) {
    struct sy_graph *graph = engine->graph;
    const struct sy_kernel_entry **entries =
        sy_arena_alloc(engine->arena, graph->kernel_count + 1u, sizeof *entries);
    int code = entries ? session_bind(engine, entries, error) : sy_out_of_memory(error);
    for (uint32_t k = 0; k < graph->kernel_count && !code; k++) {
        const struct sy_kernel_entry *entry =
            entries[k] ? entries[k] : session_emulator(engine, error);
        code = entry ? 0 : -ENOENT;
        graph->kernels[k].part_max = entry ? entry->part_max : 0;
        graph->kernels[k].part_ns = entry ? entry->part_ns : 0;
    }
    return code;
}

/* Jobs begin where their first task's first part is. */
static void move_jobs(struct session_stream *stream, const struct sy_graph *graph) {
    uint32_t job = 0, whole = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (; graph->tasks[t].part == 0 && job < stream->count && stream->first[job] == whole;
             job++) {
            stream->first[job] = t;
        }
        whole += graph->tasks[t].part == 0;
    }
    stream->first[stream->count] = graph->task_count;
}

static int split_tasks(struct sy_engine *engine, struct session_stream *stream,
                       struct sy_error *error) {
    struct sy_graph *cut = NULL;
    int code = tell_parts(engine, error);
    if (code) {
        return code;
    }
    code = sy_graph_cut(engine->graph, &(struct sy_graph_cut){0}, &cut);
    if (code) {
        return sy_fail(error, code, "the parts of %u tasks are too many",
                       engine->graph->task_count);
    }
    sy_graph_destroy(engine->graph);
    engine->graph = cut;
    move_jobs(stream, cut);
    return 0;
}

/* --- when they arrive, and what they take alone -------------------------------------------------
 */
static bool is_stated(const struct sy_engine *engine) {
    return engine->emulated_count == engine->graph->kernel_count;
}

/* What is emulated takes its CPU time wherever it runs. */
static void state_emulated(struct sy_workload *workload, const struct sy_graph *graph) {
    for (uint32_t t = 0; t < workload->task_count; t++) {
        double ns = session_emulated_ns(graph, t);
        for (uint32_t c = 0; c < workload->class_count; c++) {
            workload->time_ns[(size_t)t * workload->class_count + c] = ns;
        }
        workload->best_ns[t] = ns;
    }
}

/* From what the graphs state. -EINVAL: they do not. */
static int measure_stated(const struct sy_engine *engine, struct session_stream *stream,
                          double *ret_area_ns, struct sy_error *error) {
    const struct sy_graph_list *graphs = &stream->graphs;
    double scale = engine->request.time_scale;
    *ret_area_ns = 0;
    for (uint32_t g = 0; g < graphs->count; g++) {
        struct sy_job job = {.graph = graphs->graphs[g], .weight = 1};
        struct sy_workload *workload = NULL;
        int code = sy_workload_create(engine->machine, &job, 1, NULL, &workload, error);
        if (code) {
            return code;
        }
        if (is_stated(engine)) {
            state_emulated(workload, job.graph);
        }
        *ret_area_ns += scale * sy_cost_area_ns(workload, 0, workload->task_count) / graphs->count;
        for (uint32_t j = 0; j < stream->count; j++) {
            if (stream->jobs[j].graph == job.graph) {
                stream->alone_ns[j] = scale * sy_cost_isolated_ns(workload, 0);
            }
        }
        sy_workload_destroy(workload);
    }
    return 0;
}

static int set_arrivals(struct session *session, struct sy_error *error) {
    const struct sy_engine *engine = session->engine;
    struct session_stream *stream = session->stream;
    const struct sy_request *request = &engine->request;
    double area_ns = NAN;
    if (is_stated(engine) || !request->arrivals) {
        int code = measure_stated(engine, stream, &area_ns, error);
        if (code) {
            sy_hint(error, "where the graphs do not state what tasks take, --arrivals says when "
                           "jobs arrive");
            return code;
        }
    }
    for (uint32_t j = 0; j < stream->count; j++) {
        stream->jobs[j].arrive_ns *= request->arrivals ? 1 : area_ns / request->load;
        stream->alone_ns[j] = is_stated(engine) ? stream->alone_ns[j] : (double)NAN;
    }
    return 0;
}

void session_stream_claim(struct session *session, struct sy_engine_slot *slots) {
    struct session_stream *stream = session->stream;
    double low = fmax(session->priority_min, 0), high = fmin(session->priority_max, 1e9);
    double band = (high - low) / stream->count;
    for (uint32_t j = 0; j < stream->count; j++) {
        const struct sy_job *job = &stream->jobs[j];
        for (uint32_t t = stream->first[j]; t < stream->first[j + 1]; t++) {
            struct sy_engine_slot *slot = &slots[t];
            double within = (slot->priority - low) / fmax(1, SESSION_RANK_MAX);
            slot->job = (struct sy_starpu_job){.job = j,
                                               .tenant = job->tenant,
                                               .weight = job->weight,
                                               .isolated_ns = stream->alone_ns[j]};
            slot->priority = (int)(low + band * (stream->count - 1 - j + within));
            if (slot->row->kernel->emulated) {
                slot->parameters = &stream->in_cpu_time;
                slot->parameter_count = 1;
            }
        }
    }
}

/* --- the driver ---------------------------------------------------------------------------------
 */
static int prepare(struct session *session, struct sy_error *error) {
    int code = set_arrivals(session, error);
    return code ? code : session_prepare_graph(session, error);
}

static double since_ns(const struct session *session) {
    return (starpu_timing_now() - session->engine->start_us) * 1e3;
}

static void wait_for_arrival(struct session *session, double arrive_ns) {
    for (double left = arrive_ns - since_ns(session); left > 0;
         left = arrive_ns - since_ns(session)) {
        struct timespec slice = {0, (long)fmin(left, SLICE_NS)};
        nanosleep(&slice, NULL);
        atomic_fetch_add_explicit(&session->calls, 1, memory_order_relaxed);
    }
}

static int drive(struct session *session, struct sy_error *error) {
    const struct session_stream *stream = session->stream;
    const struct sy_graph *graph = session->engine->graph;
    int code = 0;
    (void)error; /* the session has it */
    atomic_store(&session->unfinished, 0);
    bool raised = sy_starpu_raise_self(true); /* jobs arrive also while urgent tasks run */
    for (uint32_t j = 0; j < stream->count && !code; j++) {
        wait_for_arrival(session, stream->jobs[j].arrive_ns);
        double start_ns = session->engine->start_us * 1e3;
        atomic_fetch_add(&session->unfinished, stream->first[j + 1] - stream->first[j]);
        for (uint32_t i = stream->first[j]; i < stream->first[j + 1] && !code; i++) {
            struct sy_engine_slot *slot = session_graph_slot(session, graph->order[i]);
            slot->job.arrive_ns = start_ns + stream->jobs[j].arrive_ns;
            code = session_hand_over(session, slot);
        }
        starpu_do_schedule(); /* all of the job is here */
    }
    if (raised) {
        (void)!sy_starpu_raise_self(false);
    }
    return code;
}

static const struct session_driver driver = {.known = true, .prepare = prepare, .drive = drive};

int session_open_stream(struct sy_engine *engine, struct sy_error *error) {
    struct session_stream *stream = sy_arena_alloc(engine->arena, 1, sizeof *stream);
    if (!stream) {
        return sy_fail(error, -ENOMEM, "no memory for a stream of jobs");
    }
    stream->in_cpu_time = IN_CPU_TIME;
    int code = load_graphs(engine, stream, error);
    code = code ? code : load_jobs(engine, stream, error);
    if (code) {
        return code;
    }
    qsort(stream->jobs, stream->count, sizeof *stream->jobs, compare_arrivals);
    stream->first = sy_arena_alloc(engine->arena, stream->count + 1u, sizeof *stream->first);
    stream->alone_ns = sy_arena_alloc(engine->arena, stream->count + 1u, sizeof(double));
    code = merge_jobs(engine, stream, error);
    code = code || !engine->request.split ? code : split_tasks(engine, stream, error);
    code = code ? code : session_open_driven(engine, &driver, error);
    if (!code) {
        engine->session->stream = stream;
    }
    return code;
}

/* --- the record ---------------------------------------------------------------------------------
 */
/* By what the model says of its tasks after the run: longest path, or work over devices. */
static double modelled_alone_ns(const struct sy_record *record, uint32_t first, uint32_t end,
                                double *path_ns) {
    const struct sy_graph *graph = record->graph;
    const struct sy_machine *machine = record->machine;
    double longest = 0, sum = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t t = graph->order[i];
        double best = INFINITY, before = 0;
        for (uint32_t c = 0; c < machine->class_count; c++) {
            best = fmin(best, record->model_ns[(size_t)t * machine->class_count + c]);
        }
        for (uint32_t p = graph->pred_start[t]; p < graph->pred_start[t + 1]; p++) {
            before = fmax(before, path_ns[graph->pred[p]]);
        }
        path_ns[t] = before + best;
        sum += best;
        longest = fmax(longest, path_ns[t]);
    }
    double alone = fmax(longest, sum / machine->device_count);
    return isfinite(alone) ? alone : (double)NAN;
}

int session_report_stream(const struct session *session, struct sy_record *record) {
    const struct session_stream *stream = session->stream;
    if (!stream) {
        return 0;
    }
    struct sy_record_job *jobs = sy_arena_alloc(record->arena, stream->count + 1u, sizeof *jobs);
    double *path_ns =
        sy_arena_alloc(record->arena, record->graph->task_count + 1u, sizeof *path_ns);
    if (!jobs || !path_ns) {
        return -ENOMEM;
    }
    for (uint32_t j = 0; j < stream->count; j++) {
        uint32_t first = stream->first[j], end = stream->first[j + 1];
        jobs[j] = (struct sy_record_job){
            .graph = stream->jobs[j].graph->name,
            .tenant = stream->jobs[j].tenant,
            .weight = stream->jobs[j].weight,
            .arrive_ns = stream->jobs[j].arrive_ns,
            .alone_ns = isnan(stream->alone_ns[j]) ? modelled_alone_ns(record, first, end, path_ns)
                                                   : stream->alone_ns[j],
            .first_task = first,
            .task_count = end - first,
        };
        for (uint32_t t = first; t < end; t++) {
            jobs[j].end_ns = fmax(jobs[j].end_ns, record->tasks[t].end_ns);
        }
    }
    record->jobs = jobs;
    record->job_count = stream->count;
    return 0;
}
