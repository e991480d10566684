/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the adversarial search share: graphs of a kind on a machine, and what they are
 * judged by.
 */
#ifndef SY_SYMPH_BENCH_ADVERSARIAL_H
#define SY_SYMPH_BENCH_ADVERSARIAL_H

#include "symph-bench/bench.h"

#define ADVERSARIAL_TASKS    24
#define ADVERSARIAL_KERNELS  4
#define ADVERSARIAL_MACHINES 3
#define ADVERSARIAL_USUAL    6 /* heuristics; the best of them is what the policy is held against */

/* Machines that ask the same of a policy. */
struct adversarial_class {
    const char *name;
    const char *machines[ADVERSARIAL_MACHINES]; /* NULL past the end */
};

/* What is odd about a graph or its world. Times are of any one device that can run the task. */
struct adversarial_kind {
    const char *name;
    double time_least_ns, time_most_ns;
    double nothing, extreme; /* shares of tasks of no time, and of 1 ns to 3 h */
    double bytes_least, bytes_most;
    double slack_ns;    /* added to both ends: what is shorter counts for little */
    double goal;        /* the worst ratio asked for; 0: none */
    uint32_t seeds;     /* of the world; the geometric mean of all counts. 0: 1 */
    bool contention;    /* copies and tasks share links and memory */
    double hidden_load; /* share of each resource that others take */
    bool loses;         /* a device is lost for good */
    bool then;          /* heuristics go on from where the policy stood when it was lost */
    bool charged;       /* the virtual clock runs while policies plan and decide */
    bool two_jobs;      /* the second comes while the first runs; mean completion counts */
};

struct adversarial_instance {
    uint32_t machine; /* of its class */
    uint32_t task_count;
    uint32_t second;   /* tasks from here on are a second job; task_count: there is none */
    double arrive_ns;  /* of the second job */
    double lost;       /* 0..1: which device is lost, the first one, a core, apart, */
    double lost_share; /* and after which share of the first job's bound */
    double time_ns[ADVERSARIAL_TASKS][SY_KIND_COUNT]; /* INFINITY: cannot run there */
    double bytes[ADVERSARIAL_TASKS];                  /* of what a task makes, */
    double input_bytes[ADVERSARIAL_TASKS]; /* and of what it finds in the host's memory */
    uint32_t kernel[ADVERSARIAL_TASKS];
    uint32_t before[ADVERSARIAL_TASKS]; /* bit set of tasks it reads from, all earlier */
    double image_bytes[ADVERSARIAL_KERNELS];
};

/* adversarial_graph.c */
void sy_adversarial_draw(struct sy_rng *rng, const struct adversarial_kind *kind,
                         const struct adversarial_class *class,
                         struct adversarial_instance *ret_instance);
void sy_adversarial_mutate(struct sy_rng *rng, const struct adversarial_kind *kind,
                           const struct adversarial_class *class,
                           struct adversarial_instance *instance);
/* Tasks first .. end - 1. */
SY_MUST_CHECK int sy_adversarial_build(const struct adversarial_instance *instance,
                                       const char *name, uint32_t first, uint32_t end,
                                       struct sy_graph **ret_graph);

/* adversarial_judge.c */
struct adversarial_verdict {
    double ratio, policy_ns, best_ns; /* of makespans or mean completion times */
    const char *best;                 /* of the heuristics */
};
/* Jobs on a machine. A heuristic that ends badly does not count; if the policy does, the ratio is
 * infinite. */
SY_MUST_CHECK int sy_adversarial_judge_jobs(const struct adversarial_kind *kind, const char *policy,
                                            const struct sy_workload *workload,
                                            const struct sy_device_event *lost,
                                            struct adversarial_verdict *ret_verdict,
                                            struct sy_error *error);
SY_MUST_CHECK int sy_adversarial_judge(const struct adversarial_kind *kind, const char *policy,
                                       const struct sy_machine *machine,
                                       const struct adversarial_instance *instance,
                                       struct adversarial_verdict *ret_verdict,
                                       struct sy_error *error);
/* The device that an instance loses, and when. */
struct sy_device_event sy_adversarial_loss(const struct adversarial_instance *instance,
                                           const struct sy_workload *workload);

#endif
