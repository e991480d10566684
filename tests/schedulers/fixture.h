/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads for the tests of policies and simulator: from a line of machine and lines of
 * generators, or a hand-made instance completed so that it can be simulated. Failures end the test.
 */
#ifndef SY_TESTS_SCHEDULERS_FIXTURE_H
#define SY_TESTS_SCHEDULERS_FIXTURE_H

#include "../bounds/instance.h"
#include "sim/sim.h"

#define FIXTURE_JOBS 8

struct fixture {
    struct sy_machine *machine;
    uint32_t job_count;
    struct sy_job jobs[FIXTURE_JOBS]; /* the graphs are owned */
    struct sy_workload *workload;
};

struct sy_machine *fixture_machine(const char *text);
struct sy_graph *fixture_graph(const char *spec);

/* Zeroed first: machine, jobs, then the workload; CPU-only tasks get accelerator times. */
void fixture_init(struct fixture *fixture, const char *machine);
void fixture_add(struct fixture *fixture, struct sy_graph *adopted, double arrive_ns,
                 uint32_t tenant, double weight);
void fixture_seal(struct fixture *fixture);
/* All three for one graph. */
void fixture_one(struct fixture *fixture, const char *machine, const char *spec);
void fixture_finish(struct fixture *fixture);

struct sy_sim *fixture_sim(const struct sy_workload *workload,
                           const struct sy_sim_options *options);
/* Runs a policy, fails with its error; judges the trace if one was recorded. */
struct sy_sim_result fixture_run(struct sy_sim *sim, const struct sy_workload *workload,
                                 const char *policy);
/* One run in a simulator of its own, recorded and judged. */
struct sy_sim_result fixture_simulate(const struct sy_workload *workload, const char *policy,
                                      struct sy_trace *ret_trace);
/* The span of that kind and subject; NULL if there is none. */
const struct sy_span *fixture_span(const struct sy_trace *trace, enum sy_span_kind kind,
                                   uint32_t subject);
/* What the simulator wants of a workload beyond what the bounds want: one kernel, one graph. */
struct sy_graph *fixture_complete(struct instance *instance);

#endif
