/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of a graph that is known in advance.
 *
 * In: the engine's graph, its plug-ins. Out: the same data and tasks of a session that a plug-in
 * could submit, made before the clock starts: a row and a slot per task, host memory that is filled
 * where a task reads before any writes. Dependencies come from data accesses in program order, as
 * StarPU infers them; those given by hand are declared on top, and an explicit graph has no others.
 * Kernels that no plug-in has may be emulated: a core is kept busy for the CPU time that the graph
 * states. A calibration repeats the graph and pins tasks, until each kernel and size was seen often
 * enough on each class of device.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMULATOR     "synthetic:emulate" /* its work is the time to spend, ns */
#define ROUND_MAX    200
#define MARGIN_BYTES 768 /* of each datum: guards, rounding */

struct known {
    struct sy_engine_slot *slots; /* per task */
    struct starpu_task *tasks;    /* per task */
    struct starpu_task **preds;   /* room for those of one task */
    uint32_t *samples;            /* [like * class_count + class] of a calibration; else NULL */
    uint32_t round;
};

/* --- tasks --------------------------------------------------------------------------------------
 */
double session_emulated_ns(const struct sy_graph *graph, uint32_t task) {
    double time_ns = sy_graph_time_ns(graph, task, SY_CPU);
    for (int kind = 0; !isfinite(time_ns) && kind < SY_KIND_COUNT; kind++) {
        time_ns = sy_graph_time_ns(graph, task, (enum sy_device_kind)kind);
    }
    return isfinite(time_ns) ? time_ns : 0;
}

static uint32_t width_of(const struct sy_graph *graph, uint32_t task) {
    return graph->tasks[task + 1].access_start - graph->tasks[task].access_start;
}

static int add_task(struct session *session, uint32_t number, struct sy_argument *room) {
    struct sy_engine *engine = session->engine;
    const struct sy_task *task = &engine->graph->tasks[number];
    struct sy_engine_kernel *kernel = &engine->kernels[task->kernel];
    struct sy_engine_row *row = blocks_add(&session->rows);
    struct known *known = session->state;
    struct sy_engine_slot *slot = &known->slots[number];
    if (!row) {
        return -ENOMEM;
    }
    row->starpu = &known->tasks[number];
    row->name = task->name;
    row->kernel = kernel;
    uint32_t parts = task->part_count > 1 ? task->part_count : 1;
    row->work = kernel->emulated ? session_emulated_ns(engine->graph, number) * parts : task->work;
    row->ran = SESSION_NEVER_RAN;
    *slot = (struct sy_engine_slot){
        .engine = engine,
        .row = row,
        .task = number,
        .access_count = width_of(engine->graph, number),
        .accesses = &engine->graph->accesses[task->access_start],
        .part = task->part,
        .part_count = parts,
        .job.weight = 1,
    };
    row->features = session_features(session, slot, room);
    if (parts > 1) {
        session_share_costs(slot);
    }
    return 0;
}

/* StarPU's own policies that know priorities get what a careful programmer would state: the work
 * on the longest path to the end. */
static int set_priorities(const struct session *session, struct known *known) {
    const struct sy_graph *graph = session->engine->graph;
    double *below = sy_arena_alloc(session->engine->arena, graph->task_count, sizeof *below);
    double low = fmax(session->priority_min, 0);
    double high = fmin(session->priority_max, SESSION_RANK_MAX), most = 0;
    if (!below) {
        return -ENOMEM;
    }
    for (uint32_t i = graph->task_count; i-- > 0;) {
        uint32_t t = graph->order[i];
        double longest = 0;
        for (uint32_t s = graph->succ_start[t]; s < graph->succ_start[t + 1]; s++) {
            longest = fmax(longest, below[graph->succ[s]]);
        }
        below[t] = longest + known->slots[t].row->features.flops + 1;
        most = fmax(most, below[t]);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        known->slots[t].priority =
            high > low ? (int)(low + (high - low) * below[t] / most) : (int)low;
    }
    return 0;
}

static int add_tasks(struct session *session, struct known *known) {
    const struct sy_engine *engine = session->engine;
    const struct sy_graph *graph = engine->graph;
    uint32_t count = graph->task_count, most = 0;
    struct sy_argument *room = sy_arena_alloc(engine->arena, engine->widest + 1, sizeof *room);
    known->slots = sy_arena_alloc(engine->arena, count, sizeof *known->slots);
    known->tasks = sy_arena_alloc(engine->arena, count, sizeof *known->tasks);
    int code = known->slots && known->tasks && room ? 0 : -ENOMEM;
    for (uint32_t t = 0; t < count && !code; t++) {
        uint32_t preds = graph->pred_start[t + 1] - graph->pred_start[t];
        most = preds > most ? preds : most;
        code = add_task(session, t, room);
    }
    known->preds = sy_arena_alloc(engine->arena, most + 1, sizeof(struct starpu_task *));
    code = code || !known->preds ? -ENOMEM : set_priorities(session, known);
    if (!code && session->stream) {
        session_stream_claim(session, known->slots);
    }
    return code;
}

/* --- data ---------------------------------------------------------------------------------------
 */
static int check_memory(const struct sy_engine *engine, struct sy_error *error) {
    const struct sy_graph *graph = engine->graph;
    double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double need = (double)graph->data_count * MARGIN_BYTES;
    for (uint32_t d = 0; d < graph->data_count; d++) {
        need += graph->data_bytes[d];
    }
    if (need < have * 0.9) {
        return 0;
    }
    sy_fail(error, -ENOMEM, "the data of %s need %.1f GB, this machine has %.1f GB",
            engine->request.spec, need / 1e9, have / 1e9);
    sy_hint(error, "make the problem smaller");
    return -ENOMEM;
}

static int add_data(struct session *session, struct sy_error *error) {
    struct sy_engine *engine = session->engine;
    const struct sy_graph *graph = engine->graph;
    uint64_t *bytes = sy_arena_alloc(engine->arena, graph->data_count + 1, sizeof *bytes);
    int code = check_memory(engine, error);
    if (code) {
        return code;
    }
    engine->pointers = sy_arena_alloc(engine->arena, graph->data_count + 1, sizeof(void *));
    for (uint32_t d = 0; bytes && d < graph->data_count; d++) {
        bytes[d] = (uint64_t)fmax(1, ceil(graph->data_bytes[d]));
    }
    if (!bytes || !engine->pointers ||
        session_allocate_all(session, bytes, graph->data_count, engine->pointers) < 0) {
        return sy_fail(error, -ENOMEM, "no memory for the data of %s", engine->request.spec);
    }
    for (uint32_t d = 0; d < graph->data_count && !code; d++) {
        uint32_t number;
        code = session_add_data(&session->base, graph->data_names[d], engine->pointers[d], bytes[d],
                                &number);
        if (!code && graph->is_explicit) {
            starpu_data_set_sequential_consistency_flag(session_find_datum(session, d)->handle, 0);
        }
    }
    return code ? sy_fail(error, code, "no memory for %u data", graph->data_count) : 0;
}

/* Small whole numbers, the same for the same datum everywhere: harmless as integers and as floats.
 */
static void fill_pattern(uint32_t datum, char *pointer, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) {
        pointer[i] = (char)(((i / 8) * 7 + datum) % 31 * (i % 8 == 0));
    }
}

static int fill_datum(struct session *session, uint32_t number) {
    struct sy_engine *engine = session->engine;
    const struct session_datum *datum = session_find_datum(session, number);
    int code = starpu_data_acquire(datum->handle, STARPU_W);
    if (!code && !engine->workload) {
        fill_pattern(number, engine->pointers[number], datum->bytes);
    } else if (!code && engine->workload->fill) {
        sy_engine_doing(" while it filled the data of ", engine->request.spec);
        code =
            engine->workload->fill(engine->state, number, engine->pointers[number], datum->bytes);
        sy_engine_leave();
    }
    if (!code) {
        starpu_data_release(datum->handle);
    }
    return code;
}

/* Before each round: what tasks read before any writes it. */
static int fill_data(struct session *session, struct sy_error *error) {
    const struct sy_graph *graph = session->engine->graph;
    bool *read_first = calloc(graph->data_count + 1u, sizeof *read_first);
    int code = read_first ? 0 : sy_fail(error, -ENOMEM, "no memory for %u data", graph->data_count);
    for (uint32_t a = 0; read_first && a < graph->access_count; a++) {
        if ((graph->accesses[a].mode & SY_READ) && graph->access_producer[a] == SY_NONE) {
            read_first[graph->accesses[a].datum] = true;
        }
    }
    for (uint32_t d = 0; d < graph->data_count && !code; d++) {
        code = read_first[d] ? fill_datum(session, d) : 0;
        if (code) {
            const char *name = graph->data_names[d];
            sy_fail(error, code, "%s: datum %s cannot be filled: %s", session->engine->request.spec,
                    name ? name : "", strerror(code < 0 ? -code : code));
        }
    }
    free(read_first);
    return code;
}

int session_fetch_graph(struct session *session, struct sy_error *error) {
    for (uint32_t d = 0; d < session->data.count; d++) {
        starpu_data_handle_t handle = session_find_datum(session, d)->handle;
        if (starpu_data_acquire(handle, STARPU_R) != 0) {
            return sy_fail(error, -EIO, "datum %u cannot be brought back to host memory", d);
        }
        starpu_data_release(handle);
    }
    return 0;
}

/* --- calibration --------------------------------------------------------------------------------
 */
static bool class_runs(const struct sy_engine *engine, uint32_t class_index,
                       const struct sy_engine_row *row) {
    uint32_t device = engine->machine->classes[class_index].first_device;
    return device < engine->worker_count &&
           row->kernel->entry->functions[engine->workers[device].flavour];
}

/* Worker of the class that has the fewest samples of such tasks; SY_NONE: all have enough. */
static uint32_t pin(const struct sy_engine *engine, struct known *known,
                    const struct sy_engine_row *row) {
    const struct sy_machine *machine = engine->machine;
    uint32_t *samples = &known->samples[row->like * machine->class_count];
    uint32_t best = SY_NONE;
    for (uint32_t c = 0; c < machine->class_count; c++) {
        if (class_runs(engine, c, row) && samples[c] < engine->request.samples &&
            (best == SY_NONE || samples[c] < samples[best])) {
            best = c;
        }
    }
    if (best == SY_NONE) {
        return SY_NONE;
    }
    uint32_t turn = samples[best]++ % machine->classes[best].device_count;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        if (machine->devices[d].class_index == best && turn-- == 0) {
            return d;
        }
    }
    return SY_NONE;
}

static bool needs_more(const struct session *session, const struct known *known) {
    const struct sy_engine *engine = session->engine;
    uint32_t classes = engine->machine->class_count;
    for (uint32_t t = 0; t < session->rows.count; t++) {
        const struct sy_engine_row *row = session_row(session, t);
        for (uint32_t c = 0; c < classes; c++) {
            if (class_runs(engine, c, row) &&
                known->samples[row->like * classes + c] < engine->request.samples) {
                return true;
            }
        }
    }
    return false;
}

static int start_calibration(struct session *session, struct known *known) {
    const struct sy_engine *engine = session->engine;
    uint32_t likes = 0;
    int code = session_number_likes(session, &likes);
    known->samples = sy_arena_alloc(engine->arena, (size_t)likes * engine->machine->class_count,
                                    sizeof *known->samples);
    return known->samples ? code : -ENOMEM;
}

/* --- the driver ---------------------------------------------------------------------------------
 */
static void declare_edges(const struct sy_graph *graph, struct known *known, uint32_t number) {
    uint32_t count = 0;
    for (uint32_t p = graph->pred_start[number]; p < graph->pred_start[number + 1]; p++) {
        if (graph->is_explicit || graph->pred_given[p]) {
            known->preds[count++] = &known->tasks[graph->pred[p]];
        }
    }
    if (count) {
        starpu_task_declare_deps_array(&known->tasks[number], count, known->preds);
    }
}

/* Whatever can be done before the clock starts. */
static int set_up(struct session *session, struct sy_error *error) {
    const struct sy_graph *graph = session->engine->graph;
    struct known *known = session->state;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        struct sy_engine_slot *slot = &known->slots[graph->order[i]];
        uint32_t worker = known->samples ? pin(session->engine, known, slot->row) : SY_NONE;
        if (session_make_task(session, slot, worker) < 0) {
            return sy_fail(error, -ENOMEM, "no memory for %u tasks", graph->task_count);
        }
        slot->row->starpu->sequential_consistency = !graph->is_explicit;
        declare_edges(graph, known, slot->task);
    }
    return fill_data(session, error);
}

int session_prepare_graph(struct session *session, struct sy_error *error) {
    const struct sy_engine *engine = session->engine;
    struct known *known = sy_arena_alloc(engine->arena, 1, sizeof *known);
    session->state = known;
    int code = add_data(session, error);
    if (code) {
        return code;
    }
    if (!known || add_tasks(session, known) < 0 ||
        (engine->request.samples && start_calibration(session, known) < 0)) {
        return sy_fail(error, -ENOMEM, "no memory for %u tasks", engine->graph->task_count);
    }
    return set_up(session, error);
}

static int drive(struct session *session, struct sy_error *error) {
    const struct sy_graph *graph = session->engine->graph;
    struct known *known = session->state;
    int code = 0;
    (void)error; /* the session has it */
    atomic_store(&session->unfinished, graph->task_count);
    for (uint32_t i = 0; i < graph->task_count && !code; i++) {
        code = session_hand_over(session, &known->slots[graph->order[i]]);
    }
    return code;
}

struct sy_engine_slot *session_graph_slot(const struct session *session, uint32_t task) {
    const struct known *known = session->state;
    return &known->slots[task];
}

void session_forget_graph(struct session *session) {
    struct known *known = session->state;
    for (uint32_t t = 0; known && t < session->rows.count; t++) {
        starpu_task_clean(&known->tasks[t]);
    }
}

static int again(struct session *session, struct sy_error *error) {
    struct known *known = session->state;
    struct sy_decided *decisions = NULL;
    uint32_t count = 0;
    if (!known->samples || !needs_more(session, known) || ++known->round == ROUND_MAX) {
        return 0;
    }
    session_forget_graph(session);
    if (session->engine->ours && sy_starpu_take_decisions(&decisions, &count) == 0) {
        free(decisions);
    }
    int code = set_up(session, error);
    return code ? code : 1;
}

static const struct session_driver driver = {
    .known = true, .prepare = session_prepare_graph, .drive = drive, .again = again};

int session_bind(const struct sy_engine *engine, const struct sy_kernel_entry **ret_entries,
                 struct sy_error *error) {
    bool all = !engine->request.emulate;
    int code = sy_kernel_set_bind(engine->plugins, engine->graph, all, ret_entries, error);
    if (code < 0 && !error->hint[0] && !engine->workload) {
        sy_hint(error, "--emulate waits for the CPU time stated in the graph instead of computing");
    }
    return code;
}

const struct sy_kernel_entry *session_emulator(const struct sy_engine *engine,
                                               struct sy_error *error) {
    return sy_kernel_set_find(engine->plugins, EMULATOR, error);
}

/* In the order of the graph; those that no plug-in has are emulated. */
static int add_kernels(struct sy_engine *engine, const struct sy_kernel_entry **entries,
                       struct sy_error *error) {
    const struct sy_graph *graph = engine->graph;
    for (uint32_t k = 0; k < graph->kernel_count; k++) {
        const struct sy_kernel_entry *entry =
            entries[k] ? entries[k] : session_emulator(engine, error);
        if (!entry) {
            return -ENOENT;
        }
        if (session_add_kernel(engine->session, entry, graph->kernels[k].name) < 0) {
            return sy_fail(error, -ENOMEM, "no memory for %u kernels", graph->kernel_count);
        }
        engine->kernels[k].emulated = !entries[k];
        engine->emulated_count += !entries[k];
    }
    return 0;
}

int session_open_graph(struct sy_engine *engine, struct sy_error *error) {
    return session_open_driven(engine, &driver, error);
}

int session_open_driven(struct sy_engine *engine, const struct session_driver *by,
                        struct sy_error *error) {
    const struct sy_graph *graph = engine->graph;
    if (graph->task_count == 0) {
        return sy_fail(error, -EINVAL, "%s has no task", engine->request.spec);
    }
    const struct sy_kernel_entry **entries =
        sy_arena_alloc(engine->arena, graph->kernel_count + 1, sizeof *entries);
    if (!entries) {
        return sy_fail(error, -ENOMEM, "no memory for %u kernels", graph->kernel_count);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t width = width_of(graph, t);
        engine->widest = width > engine->widest ? width : engine->widest;
    }
    int code = session_bind(engine, entries, error);
    code = code ? code : session_create(engine, by, graph->kernel_count, error);
    return code ? code : add_kernels(engine, entries, error);
}
