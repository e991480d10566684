/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel plug-in whose times are known and, on request, sometimes wild: for bench/outliers.py.
 *
 * Tasks sleep, so that what they take does not depend on who else runs. hare takes work ns on an
 * accelerator and eight times that on a core, tortoise the other way round; mix is a number of
 * each, of several sizes. SYMPH_JUMPY=P:SEED makes a call 400 times longer with probability P.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symph/kernel.h>
#include <time.h>

#define RATIO 8.0
#define WILD  400.0

/* A uniform number in [0, 1) per call, the same sequence for a seed (splitmix64). */
static double draw(uint64_t seed) {
    static atomic_ullong calls;
    uint64_t x = (seed << 32) + atomic_fetch_add(&calls, 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static int rest(double ns) {
    const char *wild = getenv("SYMPH_JUMPY");
    double probability = 0;
    unsigned long seed = 0;
    if (wild && sscanf(wild, "%lf:%lu", &probability, &seed) == 2 && draw(seed) < probability) {
        ns *= WILD;
    }
    struct timespec time = {(time_t)(ns / 1e9), (long)ns % 1000000000L};
    nanosleep(&time, NULL);
    return 0;
}

static int fast(const struct sy_call *call) {
    return rest(call->work);
}

static int slow(const struct sy_call *call) {
    return rest(call->work * RATIO);
}

static int build(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                 struct sy_error *error) {
    uint32_t tasks = 0, sizes = 0;
    (void)error;
    if (sscanf(arguments, "tasks=%u,sizes=%u", &tasks, &sizes) != 2 || !tasks || !sizes) {
        return -EINVAL;
    }
    struct sy_graph *graph = sy_graph_create("mix", false);
    struct sy_kernel_desc kernels[2] = {{.name = "hare"}, {.name = "tortoise"}};
    sy_kernel_id ids[2];
    int code = graph ? 0 : -ENOMEM;
    for (int k = 0; !code && k < 2; k++) {
        kernels[k].variants[SY_CPU] = kernels[k].variants[SY_GPU] =
            (struct sy_variant){.present = true, .ns_per_work = 1};
        code = sy_graph_add_kernel(graph, &kernels[k], &ids[k]);
    }
    for (uint32_t t = 0; !code && t < tasks; t++) {
        sy_data_id datum;
        char name[24];
        code = sy_graph_add_data(graph, NULL, 64, &datum);
        struct sy_access access = {datum.index, SY_READ_WRITE};
        snprintf(name, sizeof name, "t%u", t);
        struct sy_task_desc task = {.name = name,
                                    .kernel = ids[t % 2],
                                    .work = 2e5 * (1 + (t / 2) % sizes),
                                    .accesses = &access,
                                    .access_count = 1};
        sy_task_id id;
        code = code ? code : sy_graph_add_task(graph, &task, &id);
    }
    code = code ? code : sy_graph_seal(graph, error);
    if (code) {
        sy_graph_destroy(graph);
        return code;
    }
    *ret_graph = graph;
    *ret_state = NULL;
    return 0;
}

static int fill(void *state, uint32_t datum, void *pointer, uint64_t bytes) {
    (void)state, (void)datum;
    memset(pointer, 0, bytes);
    return 0;
}

static const struct sy_kernel_entry kernels[] = {
    {.name = "hare",
     .summary = "sleeps; eight times longer on a core",
     .argument_count = 1,
     .functions = {slow, NULL, fast}},
    {.name = "tortoise",
     .summary = "sleeps; eight times longer on an accelerator",
     .argument_count = 1,
     .functions = {fast, NULL, slow}},
};

static const struct sy_kernel_workload workloads[] = {{.name = "mix",
                                                       .summary = "as many hares as tortoises",
                                                       .usage = "tasks=N,sizes=N",
                                                       .calibration = "",
                                                       .build = build,
                                                       .fill = fill}};

static const struct sy_kernel_table table = {.name = "jumpy",
                                             .version = "1",
                                             .summary = "known times, sometimes wild",
                                             .kernels = kernels,
                                             .kernel_count = 2,
                                             .workloads = workloads,
                                             .workload_count = 1};

SY_KERNEL_PLUGIN(table);
