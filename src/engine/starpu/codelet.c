/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as StarPU codelets.
 *
 * In: plug-in functions, StarPU's buffers. Out: one codelet per kernel, whose
 * functions build struct sy_call and call the plug-in. Invariant: an error of a kernel ends the run
 * there and then, with its name and input; nothing it wrote is used.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* StarPU hands the policy's callbacks a task and nothing else: this tells our tasks from others. */
static const struct sy_engine *owner;

/* --- calling a kernel ---------------------------------------------------------------------------
 */
static void *device_pointer(void *buffer, enum sy_flavour flavour) {
    struct starpu_variable_interface *variable = buffer;
    /* OpenCL: the cl_mem. The interface's own allocations start at offset 0. */
    return (void *)(flavour == SY_FLAVOUR_OPENCL ? STARPU_VARIABLE_GET_DEV_HANDLE(variable)
                                                 : STARPU_VARIABLE_GET_PTR(variable));
}

/* Queue and context of the calling worker's device. */
static void set_device(struct sy_call *call, enum sy_flavour flavour, uint32_t worker) {
    (void)worker;
#ifdef STARPU_USE_OPENCL
    if (flavour == SY_FLAVOUR_OPENCL) {
        int device = starpu_worker_get_devid((int)worker);
        cl_command_queue queue;
        cl_context context;
        cl_device_id id;
        starpu_opencl_get_queue(device, &queue);
        starpu_opencl_get_context(device, &context);
        starpu_opencl_get_device(device, &id);
        call->queue = queue;
        call->context = context;
        call->opencl_device = id;
    }
#endif
#ifdef STARPU_USE_CUDA
    if (flavour == SY_FLAVOUR_CUDA) {
        call->queue = starpu_cuda_get_local_stream();
    }
#endif
    (void)call;
    (void)flavour;
}

static void call_kernel(void **buffers, void *argument) {
    const struct sy_engine_slot *slot = argument;
    struct sy_engine *engine = slot->engine;
    uint32_t number = (uint32_t)starpu_worker_get_id();
    struct sy_engine_worker *worker = &engine->workers[number];
    enum sy_flavour flavour = worker->flavour;
    const struct sy_kernel_entry *entry = slot->row->kernel->entry;
    struct sy_call call = {
        .entry = entry,
        .flavour = flavour,
        .user = slot->user,
        .arguments = worker->arguments,
        .argument_count = slot->access_count,
        .work = slot->row->work,
        .parameters = slot->parameters,
        .parameter_count = slot->parameter_count,
        .part = slot->part,
        .part_count = slot->part_count,
        .device = worker->number,
        .message = worker->message,
    };
    for (uint32_t a = 0; a < call.argument_count; a++) {
        worker->arguments[a] = (struct sy_argument){
            .pointer = device_pointer(buffers[a], flavour),
            .bytes = STARPU_VARIABLE_GET_ELEMSIZE(buffers[a]),
            .mode = slot->accesses[a].mode & SY_READ_WRITE,
        };
    }
    set_device(&call, flavour, number);
    worker->message[0] = '\0';
    sy_flight_begin(engine, worker, slot);
    sy_engine_enter(worker, slot);
    int code = entry->functions[flavour](&call);
    sy_engine_leave();
    if (code != 0) {
        sy_engine_fail_kernel(engine, worker, slot, code);
    }
    if (flavour == SY_FLAVOUR_C) {
        session_check_call(engine, worker, slot);
    }
}

/* --- codelets -----------------------------------------------------------------------------------
 */
void sy_engine_describe(const struct starpu_task *task, struct sy_starpu_told *told) {
    uintptr_t at = (uintptr_t)task->cl;
    if (!owner || at < (uintptr_t)owner->kernels ||
        at >= (uintptr_t)(owner->kernels + owner->kernel_capacity)) {
        told->number = SY_NONE;
        return;
    }
    const struct sy_engine_slot *slot = task->cl_arg;
    const struct sy_engine_row *row = slot->row;
    *told = (struct sy_starpu_told){slot->task,     row->features.bytes, row->features.flops,
                                    row->footprint, slot->job,           row->kernel->build};
}

/* StarPU tells tasks apart by the sizes of their data; ours differ in their work as well. */
static uint32_t footprint(struct starpu_task *task) {
    const struct sy_engine_row *row = ((const struct sy_engine_slot *)task->cl_arg)->row;
    if (row->footprint) {
        return row->footprint;
    }
    return starpu_hash_crc32c_be_n(&row->work, sizeof row->work, starpu_task_data_footprint(task));
}

/* "gemm"; an emulation must not be taken for it by the cost models. NULL when out of memory. */
static const char *model_name(const struct sy_engine *engine,
                              const struct sy_engine_kernel *kernel) {
    size_t length = strlen(kernel->name) + sizeof "emulated ";
    char *copy = kernel->emulated ? sy_arena_alloc(engine->arena, length, 1) : NULL;
    if (copy) {
        snprintf(copy, length, "emulated %s", kernel->name);
    }
    return kernel->emulated ? copy : kernel->name;
}

/* StarPU's history of this build of the kernel; one symbol is one file in its folder. */
static int set_model(struct sy_engine *engine, struct sy_engine_kernel *kernel) {
    size_t length = strlen(kernel->codelet.name) + sizeof "symph__0123456789abcdef";
    char *symbol = sy_arena_alloc(engine->arena, length, 1);
    if (!symbol) {
        return -ENOMEM;
    }
    snprintf(symbol, length, "symph_%s_%016llx", kernel->codelet.name,
             (unsigned long long)kernel->build);
    for (char *at = symbol; *at; at++) {
        *at = *at == '/' || *at <= ' ' ? '_' : *at;
    }
    kernel->model.type = STARPU_HISTORY_BASED;
    kernel->model.symbol = symbol;
    kernel->model.footprint = footprint;
    kernel->codelet.model = &kernel->model;
    return 0;
}

/* Of what is emulated in a stream of jobs the time is stated, and so known to every policy. */
static double stated_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned implementation) {
    (void)arch;
    (void)implementation;
    const struct sy_engine_slot *slot = task->cl_arg;
    return slot->row->work * 1e-3 / slot->part_count;
}

static void state_times(struct sy_engine_kernel *kernel) {
    kernel->model.type = STARPU_PER_ARCH;
    kernel->model.arch_cost_function = stated_us;
    kernel->model.footprint = footprint;
    kernel->codelet.model = &kernel->model;
}

static void set_functions(struct starpu_codelet *codelet, starpu_cpu_func_t function) {
    codelet->cpu_funcs[0] = codelet->cuda_funcs[0] = codelet->opencl_funcs[0] = function;
}

static int make_codelet(struct sy_engine *engine, struct sy_engine_kernel *kernel) {
    static const uint32_t places[SY_FLAVOUR_COUNT] = {STARPU_CPU, STARPU_CUDA, STARPU_OPENCL};
    struct starpu_codelet *codelet = &kernel->codelet;
    starpu_codelet_init(codelet);
    codelet->name = model_name(engine, kernel);
    if (!codelet->name) {
        return -ENOMEM;
    }
    codelet->nbuffers = STARPU_VARIABLE_NBUFFERS;
    for (uint32_t f = 0; f < SY_FLAVOUR_COUNT; f++) {
        codelet->where |= kernel->entry->functions[f] ? places[f] : 0;
    }
    set_functions(codelet, call_kernel);
    codelet->cuda_flags[0] = STARPU_CUDA_ASYNC;
    codelet->opencl_flags[0] = STARPU_OPENCL_ASYNC;
    if (engine->session->stream && kernel->emulated) {
        state_times(kernel);
        return 0;
    }
    /* Nobody asks for a model where plans put tasks on workers. */
    return engine->ours || engine->pipeline ? 0 : set_model(engine, kernel);
}

int sy_engine_check_devices(const struct sy_engine *engine, const struct sy_engine_kernel *kernel,
                            struct sy_error *error) {
    const struct sy_kernel_entry *entry = kernel->entry;
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        if (entry->functions[engine->workers[w].flavour]) {
            return 0;
        }
    }
    struct sy_buffer has = {0};
    for (int f = 0; f < SY_FLAVOUR_COUNT; f++) {
        if (entry->functions[f]) {
            sy_buffer_printf(&has, "%s%s", has.length ? ", " : "",
                             sy_flavour_name((enum sy_flavour)f));
        }
    }
    sy_fail(error, -ENODEV, "no device of this run can execute kernel %s, which has %s",
            kernel->name, has.text ? has.text : "no variant");
    sy_hint(error, "see symph machine and symph kernels; allow more devices");
    sy_buffer_finish(&has);
    return -ENODEV;
}

/* --- preparing ----------------------------------------------------------------------------------
 */
struct preparation {
    struct sy_engine *engine;
    uint32_t first; /* kernels from here on */
};

static void prepare_here(void **buffers, void *argument) {
    (void)buffers;
    const struct preparation *preparation = argument;
    struct sy_engine *engine = preparation->engine;
    uint32_t number = (uint32_t)starpu_worker_get_id();
    struct sy_engine_worker *worker = &engine->workers[number];
    sy_engine_guard_thread();
    if (engine->urgent_count) {
        sy_starpu_bind_self();
    }
    struct sy_call call = {.flavour = worker->flavour,
                           .part_count = 1,
                           .device = worker->number,
                           .message = worker->message};
    set_device(&call, worker->flavour, number);
    for (uint32_t k = preparation->first; k < engine->kernel_count; k++) {
        const struct sy_kernel_entry *entry = engine->kernels[k].entry;
        bool again = false; /* emulated kernels share one entry */
        for (uint32_t i = 0; i < k; i++) {
            again |= engine->kernels[i].entry == entry;
        }
        if (again || !entry->prepare || !entry->functions[worker->flavour]) {
            continue;
        }
        worker->message[0] = '\0';
        call.entry = entry;
        sy_engine_doing(" while it prepared kernel ", entry->name);
        int code = entry->prepare(&call);
        sy_engine_leave();
        if (code != 0) {
            struct sy_error error = {0};
            sy_fail(&error, code, "kernel %s cannot be prepared on %s: %s", entry->name,
                    worker->name,
                    worker->message[0] ? worker->message : strerror(code < 0 ? -code : code));
            sy_engine_fail(engine, SY_BLAME_RUN, &error);
        }
    }
}

/* One task per worker. Not by starpu_execute_on_each_worker: StarPU does not tell a policy when
 * such tasks end. */
static int prepare_all(struct sy_engine *engine, uint32_t first, struct sy_error *error) {
    struct preparation preparation = {engine, first};
    struct starpu_codelet codelet;
    starpu_codelet_init(&codelet);
    codelet.name = "symph_prepare";
    codelet.where = STARPU_CPU | STARPU_CUDA | STARPU_OPENCL;
    set_functions(&codelet, prepare_here);
    if (first == 0) { /* else a driver asks for more kernels, and goes on with what it does */
        sy_engine_doing(" while it prepared the kernels of ", engine->request.spec);
    }
    for (uint32_t w = 0; w < engine->worker_count + engine->urgent_count; w++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &codelet;
        task->cl_arg = &preparation;
        task->name = codelet.name;
        task->execute_on_a_specific_worker = 1;
        task->workerid = w;
        task->synchronous = 1;
        int code = starpu_task_submit(task);
        if (code) {
            return sy_fail(error, code, "%s cannot take tasks: %s", engine->workers[w].name,
                           strerror(-code));
        }
    }
    return 0;
}

int sy_engine_add_codelets(struct sy_engine *engine, uint32_t first, struct sy_error *error) {
    owner = engine;
    for (uint32_t k = first; k < engine->kernel_count; k++) {
        /* A driver of a plug-in need not use all that it has. */
        int code = engine->session->driver->known
                       ? sy_engine_check_devices(engine, &engine->kernels[k], error)
                       : 0;
        if (code < 0) {
            return code;
        }
        if (make_codelet(engine, &engine->kernels[k]) < 0) {
            return sy_fail(error, -ENOMEM, "no memory for %u kernels", engine->kernel_count);
        }
    }
    return prepare_all(engine, first, error);
}
