/* SPDX-License-Identifier: Apache-2.0
 *
 * Small workloads made by hand: any matrix of times, any machine, no graph behind them.
 */
#ifndef SY_TESTS_COST_INSTANCE_H
#define SY_TESTS_COST_INSTANCE_H

#include "cost/cost.h"

struct instance {
    struct sy_arena *arena;
    struct sy_machine *machine;
    struct sy_workload *workload;
    uint32_t edge_capacity, edge_count;
    struct instance_edge {
        uint32_t from, to; /* from SY_NONE: initial data at home */
        double bytes;      /* 0: precedence alone */
        uint32_t home;
    } * edges;
};

struct instance_device {
    uint32_t class_index, memory;
};

/* Memories are joined by one bandwidth (bytes per ns) and latency. */
void instance_init(struct instance *instance, const struct instance_device *devices,
                   uint32_t device_count, double bytes_per_ns, double latency_ns,
                   uint32_t task_count);
void instance_finish(struct instance *instance);
void instance_time(struct instance *instance, uint32_t task, uint32_t class_index, double time_ns);
/* from < to. One datum per edge of bytes > 0. */
void instance_edge(struct instance *instance, uint32_t from, uint32_t to, double bytes);
void instance_input(struct instance *instance, uint32_t task, double bytes, uint32_t home);
/* Fills in adjacency, accesses and fastest times; call once, last. */
void instance_seal(struct instance *instance);

struct random_shape {
    uint32_t task_min, task_max, device_min, device_max, class_max, memory_max;
    double edge_probability, transfer_ratio; /* typical transfer over typical time */
    double impossible_probability;           /* that a class cannot run a task */
};
/* The same seed gives the same instance. */
void instance_random(struct instance *instance, const struct random_shape *shape, uint64_t seed);

/* Layers of width tasks with edges from a few of the layer before; cpu:8 and gpu:2. */
void instance_layered(struct instance *instance, uint32_t task_count, uint32_t width,
                      uint64_t seed);

/* Ten tasks, three processors: Topcuoglu, Hariri, Wu (2002), figure 2 and table 2. */
void instance_heft_paper(struct instance *instance);

/* In double precision; cmocka compares as float. */
void assert_near(double value, double expected, double tolerance);

#endif
