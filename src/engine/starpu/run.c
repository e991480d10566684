/* SPDX-License-Identifier: Apache-2.0
 *
 * The run: the session's driver, once or in rounds, and what is measured around it.
 *
 * In: a session that is prepared. Out: bytes moved and energy of the last round.
 */
#include "counters/counters.h"
#include "engine/starpu/session.h"
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

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

/* What the buses have carried so far, counted with that sign. */
static void count_moved(struct sy_engine *engine, double sign) {
    uint32_t count = engine->machine->memory_count;
    for (int bus = 0; bus < starpu_bus_get_count(); bus++) {
        uint32_t from = node_memory(engine, starpu_bus_get_src(bus));
        uint32_t to = node_memory(engine, starpu_bus_get_dst(bus));
        if (from < count && to < count) {
            engine->moved_bytes[from * count + to] += sign * sy_bus_bytes(bus);
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

static int run_round(struct sy_engine *engine, struct sy_error *error) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&engine->progress_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    atomic_store(&engine->page->done_count, 0);
    size_t memories = engine->machine->memory_count;
    memset(engine->moved_bytes, 0, memories * memories * sizeof(double));
    count_moved(engine, -1);
    start_energy(engine);
    int code = session_drive(engine->session, error);
    if (code) {
        return code;
    }
    stop_energy(engine);
    count_moved(engine, 1);
    const char *failure = engine->ours ? sy_starpu_failure() : NULL;
    return failure ? sy_fail(error, -EPROTO, "policy %s: %s", engine->request.policy, failure) : 0;
}

int sy_engine_run(struct sy_engine *engine, struct sy_error *error) {
    const struct session_driver *driver = engine->session->driver;
    uint32_t memories = engine->machine->memory_count;
    engine->moved_bytes =
        sy_arena_alloc(engine->arena, (size_t)memories * memories + 1, sizeof(double));
    if (!engine->moved_bytes) {
        return sy_fail(error, -ENOMEM, "no memory to run %s", engine->request.spec);
    }
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    if (engine->ours) {
        sy_starpu_prepare(); /* StarPU's own have read their models when they were started */
    }
    int more = 1;
    while (more > 0) {
        int code = run_round(engine, error);
        if (code) {
            return code;
        }
        more = driver->again ? driver->again(engine->session, error) : 0;
    }
    return more;
}
