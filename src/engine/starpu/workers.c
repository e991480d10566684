/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts StarPU with the devices that this process may use.
 *
 * In: limits from the arguments, the affinity mask, control groups. Out: running workers under one
 * of our policies or one of StarPU's.
 */
#include "engine/starpu/session.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- environment --------------------------------------------------------------------------------
 */
/* GPUs that CUDA shows; each takes a core to drive it. Asked of the library that StarPU is linked
 * to, if it is: we are not. */
static int gpu_count(void) {
    int (*ask)(int *) = NULL;
    int count = 0;
    *(void **)&ask = dlsym(RTLD_DEFAULT, "cudaGetDeviceCount");
    return ask && ask(&count) == 0 ? count : 0;
}

/* OpenCL devices that were asked for by number. */
static uint32_t asked_opencl(const struct sy_request *request) {
    return request->opencl == SY_NONE ? 0 : request->opencl;
}

/* As StarPU counts: -1 is as many as there are. */
static int at_most(uint32_t count) {
    return count == SY_NONE ? -1 : (int)count;
}

static void set_opencl(uint32_t count, int cuda) {
    if (count == 0) {
        return;
    }
    setenv("STARPU_OPENCL_ON_CPUS", "1", 1);
    if (cuda != 0) {
        setenv("STARPU_OPENCL_ONLY_ON_CPUS", "1", 1); /* a GPU is driven once, by CUDA */
    }
    struct sy_buffer devices = {0};
    for (uint32_t i = 0; i < count && count > 1; i++) {
        sy_buffer_printf(&devices, "%spthread", i ? " " : "");
    }
    if (devices.text) {
        setenv("POCL_DEVICES", devices.text, 0);
    }
    sy_buffer_finish(&devices);
}

static void set_environment(uint32_t opencl, int cuda) {
    if (sy_engine_cores().restricted) {
        setenv("STARPU_WORKERS_NOBIND", "1", 1); /* else it binds outside of the mask */
    }
    setenv("STARPU_SILENT", "1", 1);
    unsetenv("STARPU_SCHED");
    unsetenv("STARPU_SCHED_LIB");
    set_opencl(opencl, cuda);
}

/* A session may have hundreds of thousands of tasks, and a decision takes half a kilobyte. */
#define SESSION_DECISIONS 20000

/* --- policy -------------------------------------------------------------------------------------
 */
static int set_starpu_policy(const char *name, struct starpu_conf *conf, struct sy_error *error) {
    struct sy_buffer list = {0};
    uint32_t modular_count = 0;
    for (struct starpu_sched_policy **at = starpu_sched_get_predefined_policies(); *at; at++) {
        const char *known = (*at)->policy_name;
        if (strcmp(known, name) == 0) {
            conf->sched_policy_name = known;
            sy_buffer_finish(&list);
            return 0;
        }
        if (strncmp(known, "modular-", 8) == 0) {
            modular_count++;
        } else {
            sy_buffer_printf(&list, "%s ", known);
        }
    }
    sy_fail(error, -ENOENT, "this StarPU has no scheduler called %s", name);
    sy_hint(error, "it has %sand %u called modular-...", list.text ? list.text : "", modular_count);
    sy_buffer_finish(&list);
    return -ENOENT;
}

static int set_policy(struct sy_engine *engine, struct starpu_conf *conf, struct sy_error *error) {
    const struct sy_request *request = &engine->request;
    engine->ours = !request->policy || strncmp(request->policy, "starpu:", 7) != 0;
    if (!engine->ours && engine->urgent_count) {
        sy_fail(error, -EINVAL, "policy %s cannot preempt", request->policy);
        sy_hint(error, "the schedulers of StarPU never put a task aside");
        return -EINVAL;
    }
    if (!engine->ours) {
        return set_starpu_policy(request->policy + 7, conf, error);
    }
    struct sy_starpu_options settings = {
        .request = request,
        .record = true,
        .describe = sy_engine_describe,
        .decision_max = engine->session->driver->known ? 0 : SESSION_DECISIONS,
        .ordered = engine->session->stream != NULL,
        .urgent_count = engine->urgent_count,
    };
    conf->sched_policy = &sy_starpu_policy;
    return sy_starpu_configure(&settings, error);
}

/* --- workers ------------------------------------------------------------------------------------
 */
static int add_worker(struct sy_engine *engine, uint32_t w, uint32_t *numbers) {
    struct sy_engine_worker *worker = &engine->workers[w];
    enum starpu_worker_archtype type = starpu_worker_get_type((int)w);
    worker->flavour = type == STARPU_CUDA_WORKER     ? SY_FLAVOUR_CUDA
                      : type == STARPU_OPENCL_WORKER ? SY_FLAVOUR_OPENCL
                                                     : SY_FLAVOUR_C;
    worker->number = numbers[worker->flavour]++;
    starpu_worker_get_name((int)w, worker->name, sizeof worker->name);
    worker->name[strcspn(worker->name, "(")] = '\0'; /* "OpenCL 0 (its model ..." */
    while (worker->name[0] && worker->name[strlen(worker->name) - 1] == ' ') {
        worker->name[strlen(worker->name) - 1] = '\0';
    }
    worker->arguments =
        sy_arena_alloc(engine->arena, engine->widest + 1, sizeof *worker->arguments);
    return worker->arguments ? 0 : -ENOMEM;
}

static int add_workers(struct sy_engine *engine, struct sy_error *error) {
    uint32_t count = starpu_worker_get_count(), numbers[SY_FLAVOUR_COUNT] = {0};
    engine->workers = sy_arena_alloc(engine->arena, count + 1, sizeof *engine->workers);
    if (!engine->workers) {
        return sy_fail(error, -ENOMEM, "no memory for %u workers", count);
    }
    for (uint32_t w = 0; w < count; w++) {
        if (add_worker(engine, w, numbers) < 0) {
            return sy_fail(error, -ENOMEM, "no memory for %u workers", count);
        }
    }
    if (count < 2 * engine->urgent_count || numbers[SY_FLAVOUR_C] < 2 * engine->urgent_count) {
        return sy_fail(error, -ENODEV, "StarPU does not start two workers on each of %u cores",
                       engine->urgent_count);
    }
    engine->worker_count = count - engine->urgent_count;
    const struct sy_request *request = &engine->request;
    uint32_t opencl = numbers[SY_FLAVOUR_OPENCL], cuda = numbers[SY_FLAVOUR_CUDA];
    if (asked_opencl(request) > opencl) {
        sy_fail(error, -ENODEV, "%u OpenCL devices were requested, but StarPU uses %u",
                request->opencl, opencl);
        sy_hint(error, "clinfo -l lists them; PoCL offers as many as POCL_DEVICES names");
        return -ENODEV;
    }
    if (request->cuda != SY_NONE && request->cuda > cuda) {
        sy_fail(error, -ENODEV, "%u CUDA devices were requested, but StarPU uses %u", request->cuda,
                cuda);
        sy_hint(error, "is StarPU built with CUDA, and does nvidia-smi show the device?");
        return -ENODEV;
    }
    return 0;
}

static void describe_runtime(struct sy_engine *engine, int cpus_wanted) {
    int major, minor, release;
    starpu_get_version(&major, &minor, &release);
    int length =
        snprintf(engine->runtime, sizeof engine->runtime, "StarPU %d.%d.%d", major, minor, release);
    if (cpus_wanted > STARPU_MAXCPUS) {
        snprintf(engine->runtime + length, sizeof engine->runtime - (size_t)length,
                 " (built for at most %d CPU workers; %d could be used)", STARPU_MAXCPUS,
                 cpus_wanted);
    }
}

/* Workers poll. With so many cores and a GPU one core is worth more to the thread that submits and
 * to the planner, which otherwise take their turns from the GPU's worker. The same for every
 * policy, so that they can be compared. */
#define PLANNER_CORES 8

/* How many of each; what the request leaves open is what this process may use. Returns CPU workers
 * before StarPU's own maximum. */
static int set_counts(const struct sy_request *request, int gpus, struct starpu_conf *conf) {
    int cores = (int)sy_engine_cores().count;
    int cpus = at_most(request->cpus), opencl = at_most(request->opencl);
    if (cpus < 0) {
        cpus = cores - gpus - (int)asked_opencl(request);
        cpus -= gpus > 0 && cores >= PLANNER_CORES;
        cpus = cpus < 1 ? 1 : cpus;
    }
    cpus = cpus > cores ? cores : cpus;
    int each = request->preempt ? 2 : 1, most = STARPU_MAXCPUS / each;
    conf->ncpus = each * (cpus > most ? most : cpus);
    conf->ncuda = at_most(request->cuda);
    conf->nopencl = opencl < 0 && gpus > 0 ? 0 : opencl;
    return cpus;
}

int sy_engine_start_workers(struct sy_engine *engine, struct sy_error *error) {
    const struct sy_request *request = &engine->request;
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    int gpus = request->cuda == SY_NONE ? gpu_count() : (int)request->cuda;
    int cpus = set_counts(request, gpus, &conf);
    engine->urgent_count = request->preempt ? (uint32_t)conf.ncpus / 2 : 0;
    int code = set_policy(engine, &conf, error);
    if (code < 0) {
        return code;
    }
    set_environment(asked_opencl(request), gpus);
    conf.precedence_over_environment_variables = 1;
    conf.catch_signals = 0; /* ours tell more */
    code = starpu_init(&conf);
    if (code != 0) {
        sy_fail(error, -ENODEV, "StarPU cannot start: %s", strerror(code < 0 ? -code : code));
        sy_hint(error, "%s",
                code == -ENODEV ? "--cpus, --opencl and --cuda leave no device"
                                : "starpu_machine_display shows the devices that it finds");
        return -ENODEV;
    }
    describe_runtime(engine, cpus);
    code = add_workers(engine, error);
    if (!code) {
        code = sy_starpu_machine(engine->urgent_count, &engine->machine, error);
    }
    if (!code && sy_engine_catch_faults(engine) < 0) { /* PoCL has put its own */
        code = sy_fail(error, -EIO, "signal handlers cannot be set");
    }
    return code;
}
