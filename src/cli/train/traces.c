/* SPDX-License-Identifier: Apache-2.0
 *
 * What somebody ran, to train on: see traces.h.
 */
#include "cli/train/traces.h"
#include "cli/explain/explain.h"
#include "engine/engine.h"
#include "topology/topology.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 256
#define PATH_BYTES 4096

struct recorded {
    struct sy_record *record;
    const char *file;
};

struct sy_train_traces {
    const struct sy_train_args *args;
    struct sy_arena *arena;
    struct sy_traced traces;
    struct sy_machine *machine; /* of --machine */
    struct recorded *records;
    struct sy_graph_list graphs; /* of files of graphs */
    const char **files;          /* per such graph */
    struct sy_graph_list parts;  /* jobs of recorded streams */
    uint32_t record_count, record_capacity, file_capacity, graph_capacity, stream_capacity;
    uint32_t ratio_capacity;
};

/* What can only fail for want of memory. */
static void need(int code) {
    sy_need(code ? NULL : &code);
}

/* --- reading ------------------------------------------------------------------------------------
 */
/* A record says so at its beginning. What cannot be read is left to the reader of graphs. */
static bool is_record(const char *spec) {
    char head[HEAD_BYTES + 1] = "";
    FILE *file = strcmp(spec, "last") == 0 ? NULL : fopen(spec, "rb");
    if (!file) {
        return strcmp(spec, "last") == 0;
    }
    head[fread(head, 1, HEAD_BYTES, file)] = '\0';
    fclose(file);
    return strstr(head, "\"symph-run-") != NULL;
}

static int wrong(const char *file, const char *message, const char *hint) {
    struct sy_error error = {0};
    sy_fail_at(&error, -EINVAL, file, 0, 0, "%s", message);
    sy_hint(&error, "%s", hint);
    return sy_message_code(-EINVAL, &error);
}

static int check_record(const struct sy_record *record, const char *file) {
    uint32_t missing = 0;
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        missing += record->tasks[t].device == SY_NONE;
    }
    bool empty = record->graph->task_count == 0;
    for (uint32_t j = 0; j < record->job_count; j++) {
        empty = empty || record->jobs[j].task_count == 0;
    }
    if (empty) {
        return wrong(file, record->job_count ? "one of its jobs has no task" : "it has no task",
                     "record a run of graphs that have tasks");
    }
    return missing ? wrong(file, "some of its tasks never ran", "record a run that ends")
                   : SY_EXIT_OK;
}

static int read_record(struct sy_train_traces *t, const char *spec) {
    char path[PATH_BYTES];
    struct sy_record *record = NULL;
    int r = sy_input_record(spec, path, sizeof path, &record);
    if (r) {
        return r;
    }
    if (sy_grow(&t->records, &t->record_capacity, t->record_count + 1, sizeof *t->records) < 0) {
        sy_record_destroy(record);
        return sy_no_memory();
    }
    const char *file = sy_need(sy_arena_strdup(t->arena, path));
    t->records[t->record_count++] = (struct recorded){record, file};
    return check_record(record, file);
}

static int read_graphs(struct sy_train_traces *t, const char *spec) {
    static const struct sy_graph_args all = {0};
    uint32_t before = t->graphs.count;
    int r = sy_input_graph(spec, &all, &t->graphs);
    if (!r && t->graphs.count == before) {
        return wrong(spec, "there is no graph in this file",
                     "name records of runs (symph run --record) or files of graphs");
    }
    if (!r && sy_grow(&t->files, &t->file_capacity, t->graphs.count, sizeof *t->files) < 0) {
        return sy_no_memory();
    }
    for (uint32_t g = before; g < t->graphs.count && !r; g++) {
        t->files[g] = spec;
    }
    return r;
}

/* --- the machine --------------------------------------------------------------------------------
 */
static bool same_machine(const struct sy_machine *a, const struct sy_machine *b) {
    bool same = a->device_count == b->device_count && a->class_count == b->class_count &&
                a->memory_count == b->memory_count;
    for (uint32_t c = 0; same && c < a->class_count; c++) {
        same = strcmp(a->classes[c].name, b->classes[c].name) == 0 &&
               a->classes[c].device_count == b->classes[c].device_count;
    }
    return same;
}

/* The class of a recorded machine whose times another one's class has: of its name, else of its
 * kind. SY_NONE: there is none. */
static uint32_t like_class(const struct sy_machine *recorded, const struct sy_device_class *class) {
    uint32_t found =
        sy_index_of(class->name, recorded->classes, recorded->class_count, sizeof *class);
    for (uint32_t c = recorded->class_count; found == SY_NONE && c-- > 0;) {
        found = recorded->classes[c].kind == class->kind ? c : SY_NONE;
    }
    return found;
}

static int check_machine(const struct sy_train_traces *t, const struct recorded *recorded) {
    const struct sy_machine *machine = t->traces.machine;
    struct sy_buffer text = {0};
    int r = SY_EXIT_OK;
    if (!t->machine && !same_machine(machine, recorded->record->machine)) {
        sy_buffer_printf(&text, "this run was on another machine than that of %s",
                         t->records[0].file);
        r = wrong(recorded->file, text.failed ? "another machine" : text.text,
                  "train for each machine alone, or name one with --machine");
    }
    for (uint32_t c = 0; c < machine->class_count && !r; c++) {
        if (like_class(recorded->record->machine, &machine->classes[c]) == SY_NONE) {
            sy_buffer_printf(&text, "this run was without %s, which --machine has",
                             machine->classes[c].name);
            r = wrong(recorded->file, text.failed ? "another machine" : text.text,
                      "record runs on such a machine, or leave out --machine");
        }
    }
    sy_buffer_finish(&text);
    return r;
}

static int choose_machine(struct sy_train_traces *t) {
    int r = t->args->machine ? sy_input_machine(t->args->machine, &t->machine) : SY_EXIT_OK;
    t->traces.machine = t->machine        ? t->machine
                        : t->record_count ? t->records[0].record->machine
                                          : NULL;
    if (!r && !t->traces.machine) {
        return sy_options_usage(sy_train_command(),
                                "files of graphs do not say on which machine they run: add "
                                "--machine here, or a record of a run");
    }
    for (uint32_t i = 0; i < t->record_count && !r; i++) {
        r = check_machine(t, &t->records[i]);
    }
    return r;
}

/* --- graphs and streams -------------------------------------------------------------------------
 */
static int add_graph(struct sy_train_traces *t, const struct sy_traced_graph *traced) {
    struct sy_traced *traces = &t->traces;
    if (sy_grow(&traces->graphs, &t->graph_capacity, traces->graph_count + 1,
                sizeof *traces->graphs) < 0) {
        return sy_no_memory();
    }
    traces->graphs[traces->graph_count++] = *traced;
    return SY_EXIT_OK;
}

static int add_stream(struct sy_train_traces *t, struct sy_job *jobs, uint32_t count) {
    struct sy_traced *traces = &t->traces;
    if (sy_grow(&traces->streams, &t->stream_capacity, traces->stream_count + 1,
                sizeof *traces->streams) < 0) {
        return sy_no_memory();
    }
    traces->streams[traces->stream_count++] = (struct sy_traced_stream){jobs, count};
    return SY_EXIT_OK;
}

/* Times of a record on the machine that worlds have. */
static const double *times_of(const struct sy_train_traces *t, const struct sy_record *record) {
    const struct sy_machine *from = record->machine, *to = t->traces.machine;
    size_t count = record->graph->task_count;
    double *known = sy_need(calloc(count * from->class_count + 1, sizeof *known));
    double *times = sy_need(sy_arena_alloc(t->arena, count * to->class_count + 1, sizeof *times));
    uint32_t unknown;
    need(sy_record_times(record, known, &unknown));
    for (uint32_t c = 0; c < to->class_count; c++) {
        uint32_t like = like_class(from, &to->classes[c]);
        double slower = from->classes[like].speed_ratio / to->classes[c].speed_ratio;
        for (size_t i = 0; i < count; i++) {
            times[i * to->class_count + c] = known[i * from->class_count + like] * slower;
        }
    }
    free(known);
    return times;
}

/* Each graph of a stream once, whatever number of jobs was of it. */
static int add_jobs(struct sy_train_traces *t, const struct recorded *recorded,
                    const double *times) {
    const struct sy_record *record = recorded->record;
    struct sy_map seen = {0};
    struct sy_job *jobs = sy_need(sy_arena_alloc(t->arena, record->job_count + 1u, sizeof *jobs));
    struct sy_error error = {0};
    int r = SY_EXIT_OK;
    for (uint32_t j = 0; j < record->job_count && !r; j++) {
        const struct sy_record_job *job = &record->jobs[j];
        uint32_t at = t->traces.graph_count;
        struct sy_graph *part = NULL;
        int code = sy_map_put(&seen, job->graph, strlen(job->graph), at);
        if (code == -EEXIST) {
            sy_map_get(&seen, job->graph, strlen(job->graph), &at);
        } else {
            need(code);
            code = sy_graph_part(record->graph, job->graph, job->first_task, job->task_count, &part,
                                 &error);
            if (code) {
                r = sy_message_about("record", recorded->file, code, &error);
                break;
            }
            need(sy_graph_list_adopt(&t->parts, part));
            need(sy_record_set_spreads(record, part));
            r = add_graph(
                t, &(struct sy_traced_graph){.graph = part,
                                             .time_ns = times + (size_t)job->first_task *
                                                                    t->traces.machine->class_count,
                                             .name = job->graph,
                                             .file = recorded->file});
        }
        jobs[j] = (struct sy_job){.graph = t->traces.graphs[at].graph,
                                  .arrive_ns = job->arrive_ns,
                                  .tenant = job->tenant,
                                  .weight = job->weight,
                                  .time_ns = t->traces.graphs[at].time_ns};
    }
    sy_map_finish(&seen);
    return r ? r : add_stream(t, jobs, record->job_count);
}

static int add_noise(struct sy_train_traces *t, const struct sy_record *record) {
    struct sy_noise_table *noise = &t->traces.noise;
    uint32_t count = 0;
    if (sy_grow(&noise->ratio, &t->ratio_capacity, noise->count + record->graph->task_count,
                sizeof *noise->ratio) < 0 ||
        sy_record_noise(record, noise->ratio + noise->count, &count) < 0) {
        return sy_no_memory();
    }
    noise->count += count;
    return SY_EXIT_OK;
}

static int add_record(struct sy_train_traces *t, const struct recorded *recorded) {
    const struct sy_record *record = recorded->record;
    const double *times = times_of(t, record);
    int r = add_noise(t, record);
    if (r || record->job_count) {
        return r ? r : add_jobs(t, recorded, times);
    }
    need(sy_record_set_spreads(record, record->graph));
    return add_graph(
        t, &(struct sy_traced_graph){.graph = record->graph,
                                     .time_ns = times,
                                     .name = record->spec[0] ? record->spec : recorded->file,
                                     .file = recorded->file});
}

static int by_arrival(const void *left, const void *right) {
    const struct sy_job *a = left, *b = right;
    return SY_ORDER(a->arrive_ns, b->arrive_ns);
}

/* Of graph files, which have no times of their own. */
static int add_arrivals(struct sy_train_traces *t) {
    struct sy_error error = {0};
    struct sy_job *jobs = NULL;
    uint32_t count = 0;
    if (!t->args->arrivals) {
        return SY_EXIT_OK;
    }
    if (t->graphs.count == 0) {
        return sy_options_usage(sy_train_command(),
                                "--arrivals says when graphs of files arrive, and --traces has "
                                "records alone, which say it themselves");
    }
    int code = sy_jobs_read(t->args->arrivals, &t->graphs, &jobs, &count, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    struct sy_job *kept = sy_need(sy_arena_alloc(t->arena, count + 1u, sizeof *kept));
    memcpy(kept, jobs, count * sizeof *jobs);
    free(jobs);
    qsort(kept, count, sizeof *kept, by_arrival);
    return add_stream(t, kept, count);
}

static int add_all(struct sy_train_traces *t) {
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < t->record_count && !r; i++) {
        r = add_record(t, &t->records[i]);
    }
    for (uint32_t g = 0; g < t->graphs.count && !r; g++) {
        const struct sy_graph *graph = t->graphs.graphs[g];
        if (graph->task_count) {
            r = add_graph(t, &(struct sy_traced_graph){.graph = graph,
                                                       .name = sy_graph_name(graph),
                                                       .file = t->files[g]});
        }
    }
    sy_sort(t->traces.noise.ratio, t->traces.noise.count);
    return r ? r : add_arrivals(t);
}

/* --- life ---------------------------------------------------------------------------------------
 */
static int open_all(struct sy_train_traces *t) {
    const struct sy_train_args *args = t->args;
    struct sy_error error = {0};
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < args->traces.count && !r; i++) {
        const char *spec = args->traces.items[i];
        r = is_record(spec) ? read_record(t, spec) : read_graphs(t, spec);
    }
    r = r ? r : choose_machine(t);
    r = r ? r : add_all(t);
    t->traces.accelerate = args->accelerate_given;
    t->traces.accelerate_seed = args->accelerate;
    return r ? r : sy_message_code(sy_traced_split(&t->traces, args->seed, &error), &error);
}

int sy_train_traces_open(const struct sy_train_args *args, struct sy_train_traces **ret_traces) {
    *ret_traces = NULL;
    if (args->traces.count == 0) {
        return SY_EXIT_OK;
    }
    struct sy_train_traces *t = sy_need(calloc(1, sizeof *t));
    *t = (struct sy_train_traces){.args = args, .arena = sy_need(sy_arena_create())};
    int r = open_all(t);
    if (r) {
        sy_train_traces_close(t);
        return r;
    }
    *ret_traces = t;
    return SY_EXIT_OK;
}

void sy_train_traces_close(struct sy_train_traces *t) {
    if (!t) {
        return;
    }
    for (uint32_t i = 0; i < t->record_count; i++) {
        sy_record_destroy(t->records[i].record);
    }
    free(t->records);
    sy_graph_list_finish(&t->graphs);
    sy_graph_list_finish(&t->parts);
    free(t->files);
    free(t->traces.graphs);
    free(t->traces.streams);
    free(t->traces.noise.ratio);
    sy_machine_destroy(t->machine);
    sy_arena_destroy(t->arena);
    free(t);
}

void sy_train_traces_tell(const struct sy_train_traces *t, struct sy_buffer *buffer) {
    const struct sy_traced *traces = &t->traces;
    uint32_t graphs[SY_HALF_COUNT] = {0}, jobs = 0;
    for (uint32_t g = 0; g < traces->graph_count; g++) {
        graphs[traces->graphs[g].half]++;
    }
    for (uint32_t s = 0; s < traces->stream_count; s++) {
        jobs += traces->streams[s].job_count;
    }
    sy_buffer_printf(buffer, "graphs %u, recorded streams %u of %u jobs, measured durations %u; ",
                     traces->graph_count, traces->stream_count, jobs, traces->noise.count);
    if (traces->shape_count > 1) {
        sy_buffer_printf(buffer, "training has %u of the graphs, %u are held out (by --seed %llu)",
                         graphs[SY_HALF_TRAINING], graphs[SY_HALF_HELD_OUT],
                         (unsigned long long)t->args->seed);
    } else {
        sy_buffer_printf(buffer,
                         "there is one graph only: held out are other worlds of it, and the "
                         "second half of each stream, but no other graph");
    }
}

const struct sy_traced *sy_train_traces(const struct sy_train_traces *t) {
    return t ? &t->traces : NULL;
}
