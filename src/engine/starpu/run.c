/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits the graph's tasks to StarPU and waits for them.
 *
 * In: graph, codelets, data. Out: ended tasks with StarPU's own times. Dependencies come from data
 * accesses in program order, as StarPU infers them; those given by hand are declared on top, and an
 * explicit graph has no others. A calibration repeats the graph and pins tasks, until each kernel
 * and size was seen often enough on each class of device.
 */
#include "counters/counters.h"
#include "engine/starpu/process.h"
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND_MAX 200

/* --- priorities ---------------------------------------------------------------------------------
 */
/* StarPU's own policies that know priorities get what a careful programmer would state: the work
 * on the longest path to the end. */
static int *make_priorities(const struct sy_engine *engine, double low, double high) {
    const struct sy_graph *graph = engine->graph;
    double *below = sy_arena_alloc(engine->arena, graph->task_count, sizeof *below), most = 0;
    int *priorities = sy_arena_alloc(engine->arena, graph->task_count, sizeof *priorities);
    if (!below || !priorities) {
        return NULL;
    }
    for (uint32_t i = graph->task_count; i-- > 0;) {
        uint32_t t = graph->order[i];
        double longest = 0;
        for (uint32_t s = graph->succ_start[t]; s < graph->succ_start[t + 1]; s++) {
            longest = fmax(longest, below[graph->succ[s]]);
        }
        below[t] = longest + engine->slots[t].features.flops + 1;
        most = fmax(most, below[t]);
    }
    low = fmax(low, 0);
    high = fmin(high, 1e6);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        priorities[t] = high > low ? (int)(low + (high - low) * below[t] / most) : (int)low;
    }
    return priorities;
}

/* --- calibration --------------------------------------------------------------------------------
 */
struct calibration {
    uint32_t *seen;     /* [like * class_count + class] samples */
    uint32_t *promised; /* the same, with those of this round */
};

static int start_calibration(struct sy_engine *engine, struct calibration *calibration) {
    size_t cells = (size_t)engine->like_count * engine->machine->class_count;
    calibration->seen = sy_arena_alloc(engine->arena, cells, sizeof *calibration->seen);
    calibration->promised = sy_arena_alloc(engine->arena, cells, sizeof *calibration->promised);
    return calibration->seen && calibration->promised ? 0 : -ENOMEM;
}

static bool class_runs(const struct sy_engine *engine, uint32_t class_index, uint32_t task) {
    uint32_t device = engine->machine->classes[class_index].first_device;
    const struct sy_kernel_entry *entry = engine->entries[engine->graph->tasks[task].kernel];
    return device < engine->worker_count && entry->functions[engine->workers[device].flavour];
}

/* Worker of the class that has the fewest samples of such tasks; -1: all have enough. */
static int pin(const struct sy_engine *engine, struct calibration *calibration, uint32_t task) {
    const struct sy_machine *machine = engine->machine;
    uint32_t *promised = &calibration->promised[engine->slots[task].like * machine->class_count];
    uint32_t best = SY_NONE;
    for (uint32_t c = 0; c < machine->class_count; c++) {
        if (class_runs(engine, c, task) && promised[c] < engine->request.samples &&
            (best == SY_NONE || promised[c] < promised[best])) {
            best = c;
        }
    }
    if (best == SY_NONE) {
        return -1;
    }
    uint32_t turn = promised[best]++ % machine->classes[best].device_count;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        if (machine->devices[d].class_index == best && turn-- == 0) {
            return (int)d;
        }
    }
    return -1;
}

/* Counts what this round has measured. True: another one is needed. */
static bool needs_more(const struct sy_engine *engine, struct calibration *calibration) {
    const struct sy_machine *machine = engine->machine;
    bool more = false;
    for (uint32_t t = 0; t < engine->graph->task_count; t++) {
        const struct starpu_profiling_task_info *info = engine->slots[t].starpu->profiling_info;
        uint32_t *seen = &calibration->seen[engine->slots[t].like * machine->class_count];
        if (info && info->workerid >= 0 && (uint32_t)info->workerid < machine->device_count) {
            seen[machine->devices[info->workerid].class_index]++;
        }
    }
    for (uint32_t t = 0; t < engine->graph->task_count; t++) {
        for (uint32_t c = 0; c < machine->class_count; c++) {
            more |= class_runs(engine, c, t) &&
                    calibration->seen[engine->slots[t].like * machine->class_count + c] <
                        engine->request.samples;
        }
    }
    memcpy(calibration->promised, calibration->seen,
           (size_t)engine->like_count * machine->class_count * sizeof *calibration->seen);
    return more;
}

/* --- submission ---------------------------------------------------------------------------------
 */
static void ended(void *argument) {
    struct sy_engine_slot *slot = argument;
    struct sy_engine *engine = slot->engine;
    sy_flight_end(engine, &engine->workers[starpu_worker_get_id()]);
    atomic_fetch_add_explicit(&engine->page->done_count, 1, memory_order_relaxed);
}

static int set_buffers(const struct sy_engine *engine, uint32_t number, struct starpu_task *task) {
    static const enum starpu_data_access_mode modes[] = {STARPU_R, STARPU_R, STARPU_W, STARPU_RW};
    const struct sy_graph *graph = engine->graph;
    const struct sy_access *access = &graph->accesses[graph->tasks[number].access_start];
    uint32_t count = graph->tasks[number + 1].access_start - graph->tasks[number].access_start;
    starpu_data_handle_t *handles = task->handles;
    enum starpu_data_access_mode *task_modes = task->modes;
    task->nbuffers = (int)count;
    if (count > STARPU_NMAXBUFS) {
        /* StarPU frees them with the task. */
        handles = task->dyn_handles = malloc(count * sizeof *handles);
        task_modes = task->dyn_modes = malloc(count * sizeof *task_modes);
        if (!handles || !task_modes) {
            return -ENOMEM;
        }
    }
    for (uint32_t a = 0; a < count; a++) {
        handles[a] = engine->handles[access[a].datum];
        task_modes[a] = modes[access[a].mode & 3];
    }
    return 0;
}

static void declare_edges(const struct sy_engine *engine, uint32_t number, struct starpu_task *task,
                          struct starpu_task **scratch) {
    const struct sy_graph *graph = engine->graph;
    uint32_t count = 0;
    for (uint32_t p = graph->pred_start[number]; p < graph->pred_start[number + 1]; p++) {
        if (graph->is_explicit || graph->pred_given[p]) {
            scratch[count++] = engine->slots[graph->pred[p]].starpu;
        }
    }
    if (count) {
        starpu_task_declare_deps_array(task, count, scratch);
    }
}

static int submit(struct sy_engine *engine, uint32_t number, int worker,
                  struct starpu_task **scratch) {
    struct sy_engine_slot *slot = &engine->slots[number];
    struct starpu_task *task = starpu_task_create();
    if (!task) {
        return -ENOMEM;
    }
    uint32_t kernel = engine->graph->tasks[number].kernel;
    slot->starpu = task;
    task->cl = &engine->codelets[kernel];
    task->cl_arg = slot;
    task->cl_arg_size = 0;
    task->name = task->cl->name;
    task->destroy = 0; /* its times are read after the run */
    task->detach = 1;
    task->callback_func = ended;
    task->callback_arg = slot;
    task->flops = slot->features.flops;
    task->priority = engine->priorities[number];
    task->sequential_consistency = !engine->graph->is_explicit;
    if (worker >= 0) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)worker;
    }
    int code = set_buffers(engine, number, task);
    if (code) {
        return code;
    }
    declare_edges(engine, number, task, scratch);
    return starpu_task_submit(task);
}

static int submit_all(struct sy_engine *engine, struct calibration *calibration,
                      struct sy_error *error) {
    const struct sy_graph *graph = engine->graph;
    uint32_t most = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t count = graph->pred_start[t + 1] - graph->pred_start[t];
        most = count > most ? count : most;
    }
    struct starpu_task **scratch = malloc((most + 1) * sizeof *scratch);
    if (!scratch) {
        return sy_fail(error, -ENOMEM, "no memory for the submission");
    }
    engine->start_us = starpu_timing_now();
    int code = 0;
    for (uint32_t i = 0; i < graph->task_count && !code; i++) {
        uint32_t t = graph->order[i];
        code = submit(engine, t, calibration ? pin(engine, calibration, t) : -1, scratch);
        if (code) {
            char name[32];
            sy_fail(error, code, "StarPU refuses task %s of kernel %s: %s",
                    sy_graph_task_name(graph, (sy_task_id){t}, name),
                    graph->kernels[graph->tasks[t].kernel].name, strerror(-code));
        }
    }
    free(scratch);
    return code;
}

/* --- the run ------------------------------------------------------------------------------------
 */
static uint32_t node_memory(const struct sy_engine *engine, int node) {
    const struct sy_machine *machine = engine->machine;
    for (uint32_t w = 0; w < engine->worker_count && w < machine->device_count; w++) {
        if ((int)starpu_worker_get_memory_node(w) == node) {
            return machine->devices[w].memory;
        }
    }
    /* No CPU worker, but data at home all the same. */
    return node == STARPU_MAIN_RAM ? machine->devices[0].host_memory : SY_NONE;
}

/* Reading sets StarPU's counters back to 0. */
static void read_buses(struct sy_engine *engine) {
    uint32_t count = engine->machine->memory_count;
    memset(engine->moved_bytes, 0, (size_t)count * count * sizeof(double));
    for (int bus = 0; bus < starpu_bus_get_count(); bus++) {
        struct starpu_profiling_bus_info info;
        uint32_t from = node_memory(engine, starpu_bus_get_src(bus));
        uint32_t to = node_memory(engine, starpu_bus_get_dst(bus));
        if (starpu_bus_get_profiling_info(bus, &info) == 0 && from < count && to < count) {
            engine->moved_bytes[from * count + to] += (double)info.transferred_bytes;
        }
    }
}

/* --- energy -------------------------------------------------------------------------------------
 */
#define GPU_MAX 16

/* The GPUs that CUDA shows to StarPU, by their address on the bus: NVML counts others too. */
static void open_energy(struct sy_engine *engine) {
    char buses[GPU_MAX][32];
    const char *gpus[GPU_MAX];
    uint32_t count = 0;
    int (*bus_of)(char *, int, int) = NULL;
    /* The way POSIX asks for: an object pointer becomes a function pointer. */
    *(void **)&bus_of = dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId");
    for (int gpu = 0; bus_of && gpu < (int)starpu_cuda_worker_get_count() && count < GPU_MAX;
         gpu++) {
        if (bus_of(buses[count], sizeof buses[count], gpu) == 0) {
            gpus[count] = buses[count];
            count++;
        }
    }
    (void)!sy_energy_open(gpus, count, &engine->energy); /* without: nothing readable */
}

static void start_energy(struct sy_engine *engine) {
    if (engine->energy) {
        sy_energy_restart(engine->energy);
    } else {
        open_energy(engine);
    }
}

static void stop_energy(struct sy_engine *engine) {
    engine->energy_joules = engine->energy ? sy_energy_joules(engine->energy) : NAN;
    engine->energy_source =
        isfinite(engine->energy_joules) ? sy_energy_source(engine->energy) : NULL;
}

double sy_engine_joules(const struct sy_engine *engine) {
    return engine->energy ? sy_energy_joules(engine->energy) : NAN;
}

const char *sy_engine_energy_source(const struct sy_engine *engine) {
    return engine->energy ? sy_energy_source(engine->energy) : NULL;
}

static int run_round(struct sy_engine *engine, struct calibration *calibration,
                     struct sy_error *error) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&engine->progress_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    atomic_store(&engine->page->done_count, 0);
    read_buses(engine);
    start_energy(engine);
    atomic_store(&engine->running, true);
    int code =
        engine->session ? sy_session_drive(engine, error) : submit_all(engine, calibration, error);
    if (code) {
        return code;
    }
    starpu_task_wait_for_all();
    atomic_store(&engine->running, false);
    stop_energy(engine);
    read_buses(engine);
    const char *failure = engine->ours ? sy_starpu_failure() : NULL;
    return failure ? sy_fail(error, -EPROTO, "policy %s: %s", engine->request.policy, failure) : 0;
}

static void forget_round(struct sy_engine *engine) {
    for (uint32_t t = 0; t < engine->graph->task_count; t++) {
        starpu_task_destroy(engine->slots[t].starpu);
        engine->slots[t].starpu = NULL;
    }
    struct sy_decided *decisions = NULL;
    uint32_t count = 0;
    if (engine->ours && sy_starpu_take_decisions(&decisions, &count) == 0) {
        free(decisions);
    }
}

int sy_engine_run(struct sy_engine *engine, struct sy_error *error) {
    uint32_t memories = engine->machine->memory_count;
    engine->moved_bytes =
        sy_arena_alloc(engine->arena, (size_t)memories * memories + 1, sizeof(double));
    struct calibration calibration = {0};
    bool calibrate = engine->request.samples > 0 && !engine->session;
    if (!engine->session) {
        engine->priorities = make_priorities(engine, starpu_sched_get_min_priority(),
                                             starpu_sched_get_max_priority());
    }
    if (!engine->moved_bytes || (!engine->priorities && !engine->session) ||
        (calibrate && start_calibration(engine, &calibration) < 0)) {
        return sy_fail(error, -ENOMEM, "no memory to run %s", engine->request.spec);
    }
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    if (engine->ours) {
        sy_starpu_prepare(); /* StarPU's own have read their models when they were started */
    }
    int code = run_round(engine, calibrate ? &calibration : NULL, error);
    for (uint32_t round = 1; !code && calibrate && needs_more(engine, &calibration); round++) {
        if (round == ROUND_MAX) {
            break;
        }
        forget_round(engine);
        code = sy_engine_fill_data(engine, error);
        if (!code) {
            code = run_round(engine, &calibration, error);
        }
    }
    return code;
}
