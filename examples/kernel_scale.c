/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel plug-in of your own, complete: y += a * x on vectors, and a workload of many such tasks
 * that fills its data and checks the result. Build and try:
 *
 *   cc -shared -fPIC $(pkg-config --cflags symph) -o scale.so kernel_scale.c -lm
 *   symph kernels --kernels ./scale.so
 *   symph run scale:chain:tasks=100 --kernels ./scale.so
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symph/kernel.h>

#define FACTOR 0.5

/* Arguments come in the order of the task's accesses, already where this device computes. */
static int axpy_c(const struct sy_call *call) {
    const double *x = call->arguments[0].pointer;
    double *y = call->arguments[1].pointer;
    if (call->arguments[0].bytes != call->arguments[1].bytes) {
        snprintf(call->message, SY_CALL_MESSAGE_MAX, "x and y differ in length");
        return -EINVAL;
    }
    for (uint64_t i = 0; i < call->arguments[0].bytes / sizeof *x; i++) {
        y[i] += FACTOR * x[i];
    }
    return 0;
}

/* What the time depends on; without this function it is the task's work and all its bytes. */
static void axpy_features(const struct sy_call *call, struct sy_cost_features *ret_features) {
    double count = (double)call->arguments[0].bytes / sizeof(double);
    ret_features->flops = 2 * count;
    ret_features->bytes = 3 * count * sizeof(double);
}

static const struct sy_kernel_entry kernels[] = {
    {.name = "scale_axpy",
     .summary = "y += a x",
     .argument_count = 2,
     .modes = {SY_READ, SY_READ_WRITE},
     .functions = {[SY_FLAVOUR_C] = axpy_c},
     .features = axpy_features},
};

/* --- a graph of such tasks: x is added to y, again and again -----------------------------------
 */
struct chain {
    uint32_t tasks, length;
};

static int read_chain(const char *arguments, struct chain *chain, struct sy_error *error) {
    int end = 0, got = sscanf(arguments, "tasks=%u%n,length=%u%n", &chain->tasks, &end,
                              &chain->length, &end);
    if (arguments[0] && (got < 1 || arguments[end] || chain->tasks < 1 || chain->tasks > 1000000 ||
                         chain->length < 1 || chain->length > 100000000)) {
        snprintf(error->message, sizeof error->message, "cannot read '%s'", arguments);
        snprintf(error->hint, sizeof error->hint, "tasks=COUNT[,length=COUNT]");
        return -EINVAL;
    }
    return 0;
}

static int add_tasks(struct sy_graph *graph, const struct chain *chain, struct sy_error *error) {
    const struct sy_kernel_desc kernel = {.name = "scale_axpy"};
    const double bytes = (double)chain->length * sizeof(double);
    struct sy_task_desc task = {.work = 2.0 * chain->length};
    sy_data_id x, y;
    sy_task_id id;
    int code = sy_graph_add_kernel(graph, &kernel, &task.kernel);
    code = code ? code : sy_graph_add_data(graph, "x", bytes, &x);
    code = code ? code : sy_graph_add_data(graph, "y", bytes, &y);
    if (code) {
        return code;
    }
    const struct sy_access accesses[] = {{x.index, SY_READ}, {y.index, SY_READ_WRITE}};
    task.accesses = accesses;
    task.access_count = 2;
    for (uint32_t i = 0; i < chain->tasks && !code; i++) {
        code = sy_graph_add_task(graph, &task, &id);
    }
    return code ? code : sy_graph_seal(graph, error);
}

static int build(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                 struct sy_error *error) {
    struct chain *chain = malloc(sizeof *chain);
    struct sy_graph *graph = sy_graph_create("chain", false);
    int code = chain && graph ? 0 : -ENOMEM;
    if (!code) {
        *chain = (struct chain){.tasks = 10, .length = 1000};
        code = read_chain(arguments, chain, error);
    }
    code = code ? code : add_tasks(graph, chain, error);
    if (code) {
        sy_graph_destroy(graph);
        free(chain);
        return code;
    }
    *ret_graph = graph;
    *ret_state = chain;
    return 0;
}

/* x[i] = i and y[i] = 0: the result is known without computing it again. */
static int fill(void *state, uint32_t datum, void *pointer, uint64_t bytes) {
    (void)state;
    double *values = pointer;
    for (uint64_t i = 0; i < bytes / sizeof *values; i++) {
        values[i] = datum == 0 ? (double)i : 0;
    }
    return 0;
}

static int check(void *state, void *const *data, double *ret_error, double *ret_tolerance,
                 struct sy_error *error) {
    const struct chain *chain = state;
    const double *y = data[1];
    double worst = 0;
    (void)error;
    for (uint32_t i = 1; i < chain->length; i++) {
        double off = fabs(y[i] / (FACTOR * i * chain->tasks) - 1);
        worst = off > worst || isnan(off) ? off : worst;
    }
    *ret_error = worst;
    *ret_tolerance = 1e-9;
    return 0;
}

static const struct sy_kernel_workload workloads[] = {
    {.name = "chain",
     .summary = "one vector added to another, again and again",
     .usage = "tasks=10[,length=1000]",
     .calibration = "tasks=40,length=1000 tasks=40,length=100000",
     .build = build,
     .fill = fill,
     .check = check,
     .destroy = free},
};

static const struct sy_kernel_table scale = {.name = "scale",
                                             .version = "1",
                                             .summary = "an example of a kernel plug-in",
                                             .kernels = kernels,
                                             .kernel_count = 1,
                                             .workloads = workloads,
                                             .workload_count = 1};

SY_KERNEL_PLUGIN(scale);
