/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one item of a plug-in's pipeline, kernel by kernel as its text says, without an engine.
 */
#ifndef TESTS_WORKLOADS_ITEMS_H
#define TESTS_WORKLOADS_ITEMS_H

#include "harness.h"
#include "planner/pipeline.h"

struct item {
    const struct sy_kernel_table *table;
    const struct sy_kernel_pipeline *entry;
    struct sy_pipeline *pipeline;
    void *state; /* of the stream */
    uint64_t number;
    double *values, *numbers; /* of features, of expressions */
    void **data;
};

/* The text as the planner reads it; fails the test if it cannot. */
struct sy_pipeline *read_pipeline(const struct sy_kernel_pipeline *entry);
/* Item `number` of a stream, with its data filled in; what kernels write is full of NANs. */
void open_item(const struct sy_kernel_table *table, const struct sy_kernel_pipeline *entry,
               const char *arguments, uint64_t number, struct item *ret_item);
void close_item(struct item *item);
uint64_t item_bytes(const struct item *item, uint32_t datum);
/* All kernels in order: those that have such a variant on device, if it is given, the others in C
 * and in so many parts. Kernels of other plug-ins are found by open_plugin. Returns how many ran on
 * the device. */
uint32_t run_item(struct item *item, uint32_t parts, const struct device *device);
/* Error over tolerance: up to 1 is right. */
double judge_item(struct item *item);

#endif
