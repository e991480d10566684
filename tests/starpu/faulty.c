/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel plug-in for the engine's tests: kernels that work and kernels that do not.
 *
 * chain: one datum, each task adds 1 to its elements (C and OpenCL); one of them may be another
 * kernel: fail, crash, abort, hang, overflow. order: an explicit graph without useful data, whose
 * tasks note when they ran; the check compares that with the edges. wide: a task of many data.
 * session: chains that are submitted as one goes (faulty_session.c).
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "faulty.h"
#include <CL/cl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICE_MAX 64
#define WIDE_DATA  16 /* more than fit into a StarPU task of Debian's build */

/* --- kernels ------------------------------------------------------------------------------------
 */
static int ok_c(const struct sy_call *call) {
    uint32_t *values = call->arguments[0].pointer;
    if (call->entry->functions[SY_FLAVOUR_C] != ok_c) {
        return -EFAULT;
    }
    if (call->user) { /* of a session: it counts */
        atomic_fetch_add((_Atomic uint32_t *)call->user, 1);
    }
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        values[i] += 1;
    }
    return 0;
}

/* Any thread may prepare; each device has its own. */
static cl_kernel ok_kernels[DEVICE_MAX], crash_kernels[DEVICE_MAX];

static int prepare(const struct sy_call *call) {
    static const char *const source =
        "__kernel void ok(__global uint *v) { v[get_global_id(0)] += 1; }"
        "__kernel void crash(__global uint *v) { v[((ulong)1 << 44) + get_global_id(0)] += 1; }";
    cl_int code = 0;
    if (call->flavour != SY_FLAVOUR_OPENCL ||
        (call->device < DEVICE_MAX && ok_kernels[call->device])) {
        return 0;
    }
    if (call->device >= DEVICE_MAX) {
        return -ENODEV;
    }
    cl_device_id device = call->opencl_device;
    cl_program program =
        clCreateProgramWithSource(call->context, 1, (const char **)&source, NULL, &code);
    if (!code) {
        code = clBuildProgram(program, 1, &device, "", NULL, NULL);
    }
    if (!code) {
        ok_kernels[call->device] = clCreateKernel(program, "ok", &code);
    }
    if (!code) {
        crash_kernels[call->device] = clCreateKernel(program, "crash", &code);
    }
    if (code) {
        snprintf(call->message, SY_CALL_MESSAGE_MAX, "OpenCL answers %d", code);
    }
    return code ? -EIO : 0;
}

static int enqueue(const struct sy_call *call, cl_kernel kernel) {
    size_t elements = ELEMENTS;
    cl_mem memory = call->arguments[0].pointer;
    cl_int code = clSetKernelArg(kernel, 0, sizeof memory, &memory);
    if (!code) {
        code = clEnqueueNDRangeKernel(call->queue, kernel, 1, NULL, &elements, NULL, 0, NULL, NULL);
    }
    return code ? -EIO : 0;
}

static int ok_opencl(const struct sy_call *call) {
    return enqueue(call, ok_kernels[call->device]);
}

static int crash_opencl(const struct sy_call *call) {
    return enqueue(call, crash_kernels[call->device]);
}

static int fail_c(const struct sy_call *call) {
    snprintf(call->message, SY_CALL_MESSAGE_MAX, "element 7 is not to my liking");
    return -EDOM;
}

static int crash_c(const struct sy_call *call) {
    volatile uintptr_t low = 16; /* unmapped, and the compiler does not know it */
    *(volatile int *)low = (int)call->work;
    return 0;
}

static int abort_c(const struct sy_call *call) {
    (void)call;
    abort();
}

static int hang_c(const struct sy_call *call) {
    volatile double patience = call->work;
    while (patience > 0) {
        sleep(1);
    }
    return 0;
}

/* Deeper than any stack. volatile: no tail call, and the compiler cannot see that it never ends. */
static int dig(volatile const char *above) {
    volatile char here[4096];
    here[0] = above[0];
    return here[0] ? dig(here) + here[0] : 0;
}

static int overflow_c(const struct sy_call *call) {
    volatile char start[1] = {(char)call->work};
    return dig(start);
}

static _Atomic uint32_t clock_ticks;

/* Its first datum gets the time of its start; a little work makes overlaps likely. */
static int stamp_c(const struct sy_call *call) {
    uint32_t *values = call->arguments[0].pointer;
    values[0] = atomic_fetch_add(&clock_ticks, 1);
    struct timespec moment = {0, 200000};
    nanosleep(&moment, NULL);
    values[1] = atomic_fetch_add(&clock_ticks, 1);
    return 0;
}

/* The first datum becomes the sum of the others. */
static int sum_c(const struct sy_call *call) {
    uint32_t sum = 0;
    for (uint32_t a = 1; a < call->argument_count; a++) {
        sum += ((const uint32_t *)call->arguments[a].pointer)[0];
    }
    *(uint32_t *)call->arguments[0].pointer = sum;
    return 0;
}

/* Adds its first parameter to the rows of its part. */
static int rows_c(const struct sy_call *call) {
    uint64_t rows = (uint64_t)call->parameters[1];
    const uint32_t *from = call->arguments[0].pointer;
    uint32_t *to = call->arguments[1].pointer;
    if (call->parameter_count != 2 || call->part >= call->part_count) {
        snprintf(call->message, SY_CALL_MESSAGE_MAX, "part %u of %u", call->part, call->part_count);
        return -EINVAL;
    }
    for (uint64_t i = rows * call->part / call->part_count;
         i < rows * (call->part + 1) / call->part_count; i++) {
        to[i] = from[i] + (uint32_t)call->parameters[0];
    }
    return 0;
}

/* Waits until as many parts as there are have met here: only parts that run at once ever leave. */
static int meet_c(const struct sy_call *call) {
    static _Atomic uint32_t arrived;
    uint32_t mine = atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < (mine / call->part_count + 1) * call->part_count) {
        struct timespec moment = {0, 20000};
        nanosleep(&moment, NULL);
    }
    ((uint32_t *)call->arguments[0].pointer)[call->part] = mine / call->part_count + 1;
    return 0;
}

/* --- in parts -----------------------------------------------------------------------------------
 */
static int zero_c(const struct sy_call *call) {
    memset(call->arguments[0].pointer, 0, call->arguments[0].bytes);
    return 0;
}

/* So many parts have run before, wherever each did. */
static int turns_c(const struct sy_call *call) {
    uint32_t *values = call->arguments[0].pointer;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        if (values[i]++ != call->part || call->arguments[0].mode != SY_READ_WRITE) {
            snprintf(call->message, SY_CALL_MESSAGE_MAX, "part %u finds others", call->part);
            return -EILSEQ;
        }
    }
    return 0;
}

static int turned_c(const struct sy_call *call) {
    struct sy_call last = *call;
    last.part = (uint32_t)call->work;
    return turns_c(&last);
}

static const struct sy_kernel_entry kernels[] = {
    {.name = "ok",
     .summary = "adds 1",
     .argument_count = 1,
     .modes = {SY_READ_WRITE},
     .functions = {ok_c, NULL, ok_opencl},
     .prepare = prepare},
    {.name = "fail", .summary = "returns an error", .functions = {fail_c}},
    {.name = "crash", .summary = "writes to nowhere", .functions = {crash_c}},
    {.name = "crash_opencl",
     .summary = "writes to nowhere on a device",
     .functions = {NULL, NULL, crash_opencl},
     .prepare = prepare},
    {.name = "abort", .summary = "aborts", .functions = {abort_c}},
    {.name = "hang", .summary = "never returns", .functions = {hang_c}},
    {.name = "overflow", .summary = "exhausts its stack", .functions = {overflow_c}},
    {.name = "stamp", .summary = "notes the time", .functions = {stamp_c}},
    {.name = "overrun", .summary = "writes behind its datum", .functions = {overrun_c}},
    {.name = "underrun", .summary = "writes before its datum", .functions = {underrun_c}},
    {.name = "flood", .summary = "writes to the engine's record", .functions = {flood_c}},
    {.name = "litter", .summary = "leaves processes behind", .functions = {litter_c}},
    {.name = "litter_hang", .summary = "the same, and stays", .functions = {litter_hang_c}},
    {.name = "sum", .summary = "adds its inputs", .functions = {sum_c}},
    {.name = "rows",
     .summary = "adds a number to its rows",
     .argument_count = 2,
     .modes = {SY_READ, SY_WRITE},
     .functions = {rows_c}},
    {.name = "plus",
     .summary = "adds 1 to a copy",
     .argument_count = 2,
     .modes = {SY_READ, SY_WRITE},
     .functions = {plus_c, NULL, plus_opencl},
     .prepare = plus_prepare},
    {.name = "meet",
     .summary = "waits for its other parts",
     .argument_count = 1,
     .modes = {SY_WRITE},
     .functions = {meet_c}},
    {.name = "zero", .summary = "sets to 0", .modes = {SY_WRITE}, .functions = {zero_c}},
    {.name = "turns",
     .summary = "adds 1 in each part",
     .argument_count = 1,
     .modes = {SY_READ_WRITE},
     .functions = {turns_c, NULL, ok_opencl},
     .prepare = prepare,
     .part_max = 6,
     .part_ns = 1e5},
    {.name = "turned", .summary = "work: parts that ran", .functions = {turned_c}},
    {.name = "gpu_only", .summary = "has no C variant", .functions = {NULL, ok_c, NULL}},
};

/* --- workloads ----------------------------------------------------------------------------------
 */
static int add_kernel(struct sy_graph *graph, const char *name, sy_kernel_id *ret_kernel) {
    struct sy_kernel_desc desc = {.name = name};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .fixed_ns = 1000};
    return sy_graph_add_kernel(graph, &desc, ret_kernel);
}

static int add_datum(struct sy_graph *graph, unsigned number, double bytes, sy_data_id *ret_data) {
    char name[NAME_MAX_LEN];
    snprintf(name, sizeof name, "v%u", number);
    return sy_graph_add_data(graph, name, bytes, ret_data);
}

static int add_task(struct sy_graph *graph, sy_kernel_id kernel, const char *letter,
                    unsigned number, const struct sy_access *accesses, uint32_t count,
                    sy_task_id *ret_task) {
    char name[NAME_MAX_LEN];
    snprintf(name, sizeof name, "%s%u", letter, number);
    struct sy_task_desc desc = {
        .name = name, .kernel = kernel, .work = 1, .accesses = accesses, .access_count = count};
    return sy_graph_add_task(graph, &desc, ret_task);
}

int read_arguments(const char *text, struct state *state) {
    while (*text) {
        size_t length = strcspn(text, ",");
        int used = 0;
        int known = sscanf(text, "chains=%u%n", &state->chains, &used) == 1 ||
                    sscanf(text, "tasks=%u%n", &state->tasks, &used) == 1 ||
                    sscanf(text, "at=%u%n", &state->at, &used) == 1 ||
                    sscanf(text, "wrong=%u%n", &state->wrong, &used) == 1 ||
                    sscanf(text, "kernel=%31[a-z_]%n", state->kernel, &used) == 1 ||
                    sscanf(text, "hang=%31[a-z]%n", state->hang, &used) == 1;
        if (!known || (size_t)used != length) {
            return -EINVAL;
        }
        text += length + (text[length] == ',');
    }
    return 0;
}

static int fill_chain(struct sy_graph *graph, const struct state *state) {
    sy_kernel_id ok, other;
    int code = add_kernel(graph, "ok", &ok);
    if (!code && strcmp(state->kernel, "ok") != 0) {
        code = add_kernel(graph, state->kernel, &other);
    } else {
        other = ok;
    }
    for (unsigned c = 0; c < state->chains && !code; c++) {
        sy_data_id datum;
        code = add_datum(graph, c, ELEMENTS * sizeof(uint32_t), &datum);
        struct sy_access access = {datum.index, SY_READ_WRITE};
        for (unsigned t = 0; t < state->tasks && !code; t++) {
            sy_task_id task;
            code = add_task(graph, c == 0 && t == state->at ? other : ok, "step", t, &access, 1,
                            &task);
        }
    }
    return code;
}

/* A ladder: task t waits for t - 1 and t - 3 where t is even, for t - 5 where it is odd. */
static int before(unsigned task, unsigned which) {
    static const int even[] = {1, 3}, odd[] = {5, 0};
    int back = task % 2 ? odd[which] : even[which];
    return back && (int)task >= back ? (int)task - back : -1;
}

static int fill_order(struct sy_graph *graph, const struct state *state) {
    sy_kernel_id stamp;
    int code = add_kernel(graph, "stamp", &stamp);
    for (unsigned t = 0; t < state->tasks && !code; t++) {
        sy_data_id datum;
        sy_task_id task;
        code = add_datum(graph, t, 64, &datum);
        struct sy_access access = {datum.index, SY_WRITE};
        code = code ? code : add_task(graph, stamp, "stamp", t, &access, 1, &task);
        for (unsigned which = 0; which < 2 && !code; which++) {
            if (before(t, which) >= 0) {
                code = sy_graph_add_edge(graph, (sy_task_id){(uint32_t)before(t, which)}, task);
            }
        }
    }
    return code;
}

static int fill_wide(struct sy_graph *graph, const struct state *state) {
    sy_kernel_id ok, sum;
    struct sy_access accesses[WIDE_DATA];
    sy_task_id task;
    int code = add_kernel(graph, "ok", &ok);
    code = code ? code : add_kernel(graph, "sum", &sum);
    for (unsigned d = 0; d < WIDE_DATA && !code; d++) {
        sy_data_id datum;
        code = add_datum(graph, d, ELEMENTS * sizeof(uint32_t), &datum);
        accesses[d] = (struct sy_access){datum.index, SY_READ_WRITE};
        code = code || d == 0 ? code : add_task(graph, ok, "ok", d, &accesses[d], 1, &task);
        accesses[d].mode = d ? SY_READ : SY_WRITE;
    }
    (void)state;
    return code ? code : add_task(graph, sum, "sum", 0, accesses, WIDE_DATA, &task);
}

static int build(const char *arguments, bool is_explicit,
                 int (*fill)(struct sy_graph *, const struct state *), struct sy_graph **ret_graph,
                 void **ret_state, struct sy_error *error) {
    struct state *state = calloc(1, sizeof *state);
    struct sy_graph *graph = sy_graph_create("faulty", is_explicit);
    if (!state || !graph) {
        free(state);
        sy_graph_destroy(graph);
        return -ENOMEM;
    }
    *state = (struct state){.kernel = "ok", .chains = 1, .tasks = 8, .graph = graph};
    int code = read_arguments(arguments, state);
    if (code) {
        snprintf(error->message, sizeof error->message, "faulty: cannot read '%s'", arguments);
    }
    hang_at(state, "build");
    code = code ? code : fill(graph, state);
    code = code ? code : sy_graph_seal(graph, error);
    if (code) {
        sy_graph_destroy(graph);
        free(state);
        return code;
    }
    *ret_graph = graph;
    *ret_state = state;
    return 0;
}

static int build_chain(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                       struct sy_error *error) {
    return build(arguments, false, fill_chain, ret_graph, ret_state, error);
}

static int build_order(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                       struct sy_error *error) {
    return build(arguments, true, fill_order, ret_graph, ret_state, error);
}

static int build_wide(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                      struct sy_error *error) {
    return build(arguments, false, fill_wide, ret_graph, ret_state, error);
}

static int fill(void *argument, uint32_t datum, void *pointer, uint64_t bytes) {
    hang_at(argument, "fill");
    uint32_t *values = pointer;
    for (uint64_t i = 0; i < bytes / sizeof *values; i++) {
        values[i] = datum + (uint32_t)i;
    }
    return 0;
}

/* The error is the number of wrong elements. */
static int check_chain(void *argument, void *const *data, double *ret_error, double *ret_tolerance,
                       struct sy_error *error) {
    const struct state *state = argument;
    unsigned wrong = state->wrong;
    (void)error;
    hang_at(state, "check");
    for (unsigned c = 0; c < state->chains; c++) {
        for (uint32_t i = 0; i < ELEMENTS; i++) {
            wrong += ((const uint32_t *)data[c])[i] != c + i + state->tasks;
        }
    }
    *ret_error = wrong;
    *ret_tolerance = 0;
    return 0;
}

static int check_order(void *argument, void *const *data, double *ret_error, double *ret_tolerance,
                       struct sy_error *error) {
    const struct state *state = argument;
    unsigned wrong = 0;
    (void)error;
    for (unsigned t = 0; t < state->tasks; t++) {
        for (unsigned which = 0; which < 2; which++) {
            int first = before(t, which);
            wrong +=
                first >= 0 && ((const uint32_t *)data[first])[1] > ((const uint32_t *)data[t])[0];
        }
    }
    *ret_error = wrong;
    *ret_tolerance = 0;
    return 0;
}

static int check_wide(void *argument, void *const *data, double *ret_error, double *ret_tolerance,
                      struct sy_error *error) {
    (void)argument;
    (void)error;
    /* Datum d began as d and got 1. */
    *ret_error = *(const uint32_t *)data[0] != WIDE_DATA * (WIDE_DATA - 1) / 2 + WIDE_DATA - 1;
    *ret_tolerance = 0;
    return 0;
}

static void destroy_chain(void *argument) {
    hang_at(argument, "destroy");
    free(argument);
}

static const struct sy_kernel_workload workloads[] = {
    {.name = "chain",
     .summary = "adds 1, again and again",
     .usage = "[chains=N][,tasks=N][,kernel=NAME,at=N][,wrong=N][,hang=STEP]",
     .calibration = "chains=4,tasks=8",
     .build = build_chain,
     .fill = fill,
     .check = check_chain,
     .destroy = destroy_chain},
    {.name = "order",
     .summary = "an explicit graph",
     .usage = "[tasks=N]",
     .build = build_order,
     .fill = fill,
     .check = check_order,
     .destroy = free},
    {.name = "wide",
     .summary = "a task of many data",
     .build = build_wide,
     .fill = fill,
     .check = check_wide,
     .destroy = free},
    {.name = "parts", .summary = "calls split between cores", .drive = drive_parts},
    {.name = "session",
     .summary = "chains, submitted one by one",
     .usage = "[chains=N][,tasks=N][,kernel=NAME,at=N][,wrong=N]",
     .drive = drive_session},
};

static const struct sy_kernel_table table = {
    .name = "faulty",
    .version = "1",
    .summary = "kernels that fail in every way",
    .kernels = kernels,
    .kernel_count = sizeof kernels / sizeof kernels[0],
    .workloads = workloads,
    .workload_count = sizeof workloads / sizeof workloads[0],
    .pipelines = &line_pipeline,
    .pipeline_count = 1,
};
SY_KERNEL_PLUGIN(table);
