/* SPDX-License-Identifier: Apache-2.0
 *
 * A small world inside a policy: one job from where it stands now to its end under another policy,
 * with given task times. What would happen, asked before it does.
 *
 * In: the real view, a job that has the machine for itself, a policy, a factor per task. Out: when
 * the job ends, and where and when each task ran. Model: a copy takes its isolated time, or waits
 * for its links where copies share them; there tasks also share the bandwidth they are known to
 * want. Never knows: the truth. Invariant: nothing is allocated after init.
 */
#ifndef SY_SCHEDULERS_REHEARSAL_H
#define SY_SCHEDULERS_REHEARSAL_H

#include "schedulers/heap.h"

struct stage_device {
    enum stage_phase { STAGE_IDLE, STAGE_STALLED, STAGE_EXECUTING } phase;
    uint32_t queue; /* root of its heap of committed tasks */
    double at_ns;   /* end of the phase */
    double left_ns; /* of the execution, at since_ns, at speed 1 */
    double since_ns, speed, began_ns;
};

struct stage_copy {
    double at_ns;
    uint32_t datum, memory;
    bool stale, waited; /* waited for by a committed task */
};

struct rehearsal {
    struct sy_view view; /* what the rehearsed policy sees */
    struct sy_view_device *view_devices;
    struct sy_view_job *jobs;
    uint8_t *state;
    uint32_t *device, *pending;
    struct heap queues;                         /* committed tasks of each device */
    double *priority, *expected_ns, *inputs_ns; /* per task */
    double *begin_ns, *end_ns;                  /* per task: its execution */
    uint64_t *valid, *inflight;                 /* per datum */
    uint32_t data_capacity;
    struct stage_device *devices;
    struct stage_copy *copies; /* a heap */
    uint32_t copy_count, copy_capacity;
    double *link_ns;         /* per resource: free again, where links are shared */
    double *use_bytes_per_s; /* per resource */
    uint32_t tasks_left, job;
    const double *factor;                  /* per task: true over estimated time; NULL: 1 */
    const double *committed, *promised_ns; /* per task: of decisions already made; NULL: none */
    bool speeds_stale, failed;
    bool news; /* something happened that a policy may want to answer */
};

/* Allocates for view's capacities. */
SY_MUST_CHECK int sy_rehearsal_init(struct rehearsal *rehearsal, struct sy_arena *arena,
                                    const struct sy_view *view);
/* Whether this job can be rehearsed from here: it is alone on the machine, and not too large. */
bool sy_rehearsal_fits(const struct rehearsal *rehearsal, const struct sy_view *view, uint32_t job);
/* When the job would end. INFINITY: the policy stopped short, and nothing is rehearsed again. */
double sy_rehearsal_run(struct rehearsal *rehearsal, const struct sy_view *view, uint32_t job,
                        struct sy_scheduler *policy);

#endif
