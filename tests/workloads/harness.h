/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a workload of a built plug-in, task by task in topological order, without an engine.
 */
#ifndef TESTS_WORKLOADS_HARNESS_H
#define TESTS_WORKLOADS_HARNESS_H

#include "graph/graph.h"
#include <symph/kernel.h>

struct job {
    const struct sy_kernel_table *table;
    const struct sy_kernel_workload *workload;
    struct sy_graph *graph;
    void *state;
    void **data;    /* host memory of each datum */
    uint32_t parts; /* tasks of kernels that can be split run in so many; 0: whole */
};

/* An accelerator with its queue; the handles are those of struct sy_call. */
struct device {
    enum sy_flavour flavour;
    void *opencl_device, *context, *queue;
};

/* The table of SYMPH_TEST_PLUGINS/name.so, which stays loaded. NULL and a printed reason if it was
 * not built. */
const struct sy_kernel_table *open_plugin(const char *name);
const struct sy_kernel_entry *find_kernel(const struct sy_kernel_table *table, const char *name);

/* "opencl", "cuda": the first such device, for OpenCL with double precision. False and a printed
 * reason if there is none. */
bool open_device(const char *flavour, struct device *ret_device);
void close_device(struct device *device);

/* Builds and fills; fails the test if it cannot. */
void open_job(const struct sy_kernel_table *table, const char *workload, const char *arguments,
              struct job *ret_job);
/* As open_job for a graph without a workload: data are zero. Takes over graph. */
void open_graph(const struct sy_kernel_table *table, struct sy_graph *graph, struct job *ret_job);
void close_job(struct job *job);

/* Runs every task; where device is given and every is not 0, each every-th of those that have such
 * a variant runs there. Returns how many did. */
uint32_t run_job(struct job *job, const struct device *device, uint32_t every);
/* Runs one call of a kernel on host memory, by the C variant or on the device. */
int run_call(const struct sy_kernel_entry *entry, struct sy_call *call,
             const struct device *device);
/* Error of the result over its tolerance: up to 1 is right. */
double judge(struct job *job);

#endif
