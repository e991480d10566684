/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy named "script" that does what a test says, so that timelines can be worked out by hand;
 * and graphs of a few kernels whose times are plain numbers. Linked with --wrap=sy_scheduler_find.
 */
#ifndef SY_TESTS_SIM_SCRIPTED_H
#define SY_TESTS_SIM_SCRIPTED_H

#include "../schedulers/fixture.h"

struct script {
    const uint32_t *device;          /* per task */
    const uint32_t *fallback;        /* where it goes if that is lost; NULL: it waits */
    const double *priority;          /* NULL: all 0 */
    bool ahead;                      /* commits tasks before they are ready */
    bool preempt;                    /* pushes aside what can be */
    bool idle;                       /* decides nothing but the first decisions */
    const struct sy_decision *first; /* at its first call, as they stand */
    uint32_t first_count;
    void (*look)(const struct sy_view *view); /* before each decision */
    /* More to decide, before all else; returns how many. */
    uint32_t (*more)(const struct sy_view *view, struct sy_decision *ret);
    void (*plan)(void); /* when a job arrives */
};
extern struct script script;

/* Times in ns; 0: no variant. */
uint32_t script_kernel(struct sy_graph *graph, const char *name, double cpu_ns, double gpu_ns,
                       double fpga_ns, double cpu_demand_bytes_per_s);
uint32_t script_data(struct sy_graph *graph, double bytes);
/* Accesses end with mode 0; NULL: none. */
uint32_t script_task(struct sy_graph *graph, uint32_t kernel, const struct sy_access *accesses);
/* Seals the graph and makes it the only job. */
void script_open(struct fixture *fixture, const char *machine, struct sy_graph *adopted);
/* The run of a task lasted exactly from start to end, on that device. */
void assert_ran(const struct sy_sim *sim, uint32_t task, uint32_t device, double start_ns,
                double end_ns);
void assert_copied(const struct sy_sim *sim, uint32_t datum, uint32_t to, double start_ns,
                   double end_ns);
uint32_t count_spans(const struct sy_sim *sim, enum sy_span_kind kind);

#endif
