/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the simulator, shared by its files and by nobody else.
 *
 * Events live in one indexed heap of slots: one slot per device (its reconfiguration or execution),
 * one per resource (hidden load that comes and goes), one each for the next job, the next delayed
 * decision and the next device event, then one per copy in flight.
 */
#ifndef SY_SIM_STATE_H
#define SY_SIM_STATE_H

#include "belief/belief.h"
#include "sim/sim.h"
#include "world/flow.h"

enum purpose { NOISE = 1, SPIKE, MODEL_ERROR, HIDDEN, COUNTER, POLICY };

enum phase {
    IDLE,
    STALLED,   /* holds a task whose inputs are on their way */
    PORT_WAIT, /* wants the board's configuration port */
    CONFIGURING,
    EXECUTING,
};

/* Indexed binary min-heap on (key, slot). */
struct heap {
    double *key;        /* per slot; INFINITY: not in the heap */
    uint32_t *position; /* per slot */
    uint32_t *slots;
    uint32_t count;
};
void sy_heap_set(struct heap *heap, uint32_t slot, double key); /* inserts or moves */
void sy_heap_remove(struct heap *heap, uint32_t slot);          /* if it is there */

struct device {
    enum phase phase;
    uint32_t queue;          /* root of its pairing heap of tasks, or SY_NONE */
    uint32_t port_next;      /* next device waiting for the same port */
    uint32_t pending_kernel; /* a reconfiguration without a task; SY_NONE otherwise */
    uint32_t losses;         /* reasons why it is lost now */
    double phase_start_ns, stall_ns, busy_ns, lost_at_ns;
    double joules;
};

struct board {
    bool busy;
    uint32_t first_waiting, last_waiting; /* devices */
};

struct copy {
    uint32_t datum, from, to;
    uint32_t flow; /* SY_NONE: not flowing (no contention, or waiting for a channel) */
    uint32_t next_of_datum;
    uint32_t next_queued; /* waiting for a channel of the same memory; also the free list */
    uint32_t waiters;     /* first access that waits for it */
    bool stale;           /* overwritten meanwhile: of no use when it arrives */
    bool fetched;         /* ahead of any commitment */
    double start_ns;
};

struct held {
    double at_ns;
    enum sy_decision_kind kind;
    uint32_t task, device;
};

struct channel {
    uint32_t active, first_queued, last_queued; /* copies into one memory */
};

#define HISTOGRAM_BUCKETS 512
#define SY_SIM_BATCH      64 /* decisions taken at once */

struct sy_sim {
    struct sy_arena *arena;
    const struct sy_workload *w;
    const struct sy_machine *machine;
    struct sy_sim_options options;
    struct sy_view view;
    struct sy_truth truth;
    struct sy_scheduler scheduler;
    const char *policy;
    struct sy_error *error;
    int failure; /* negative errno once something went wrong inside a callback */

    /* events */
    struct heap heap;
    uint32_t slot_hidden, slot_job, slot_decision, slot_device, slot_copy;
    uint32_t live_events; /* events other than hidden load: none left and work left = deadlock */
    uint32_t next_job, jobs_left, next_device_event;
    bool news; /* something happened that a scheduler may want to answer */

    /* state by index */
    struct sy_view_device *view_devices;
    struct device *devices;
    struct board *boards;
    struct sy_view_job *jobs;
    struct sy_sim_job_result *job_results;
    uint8_t *task_state;
    bool *task_delayed; /* decided, but the scheduler's own time is not over */
    uint32_t *task_device, *task_pending, *task_missing;
    double *task_priority, *task_expected_ns, *task_factor, *task_scratch;
    uint64_t *task_sequence;
    uint32_t *queue_child, *queue_sibling; /* pairing heaps of committed tasks */
    struct held held[SY_SIM_BATCH];        /* decisions that wait for the scheduler's own time */
    uint32_t held_next, held_count;
    double scheduler_free_ns;  /* when it is done with what it was called for */
    struct sy_scheduler timed; /* the policy, where the scheduler is the shell of timed.c */
    double look_ns;            /* what a look at the clock costs */
    bool charging;
    double uncharged_ns, policy_ns; /* real time of its calls: since the last decision, in all */
    uint64_t sequence;
    double *kernel_factor;
    uint32_t *kernel_smt, *kernel_gpu; /* row in the table of interference, or SY_NONE */
    uint64_t *data_valid, *data_inflight;
    uint32_t *data_copies; /* first copy in flight */
    uint32_t *data_uses;   /* accesses still to come; 0: its memory is free again */
    uint32_t *access_copy; /* copy this access waits for, or SY_NONE */
    uint32_t *access_next; /* next waiter of the same copy */
    uint32_t *access_task; /* whose it is */
    struct copy *copies;
    uint32_t copy_capacity, copy_unused, copy_free;
    uint32_t fetched_count, fetched_limit; /* copies that were fetched ahead */
    struct channel *channels;
    double *memory_bytes, *memory_peak_bytes;
    uint32_t *group_start, *group_devices;

    /* flows: devices, then hidden load per resource, then active copies */
    struct sy_flow_net *net;
    uint32_t flow_hidden, flow_copy, flow_count;
    double *flow_rest, *flow_rate, *flow_since_ns;
    uint32_t *flow_slot;
    uint32_t *flow_free;
    uint32_t flow_free_count;
    bool flows_dirty, watched; /* watched: the policy reads counters or the truth */
    struct sy_rng *hidden_rng;
    bool *hidden_on;
    double hidden_period_ns;

    /* counters */
    struct sy_reading *readings;
    double *resource_use, *resource_others, *resource_sum, *resource_seen;
    double use_since_ns, counter_period_ns, counter_at_ns;
    uint32_t counter_turn;
    struct sy_rng counter_rng;
    uint32_t *counting; /* counters that count until the next reading */
    uint32_t counting_count, ticks;

    /* belief: what others take, from the counters and what is known of our own flows */
    struct sy_load *loads; /* per resource */
    struct sy_shares *shares;
    double *own, *others; /* per resource: what our flows would take, the belief's mean */
    double *others_sd;
    const struct sy_route **flow_route; /* per flow of a copy; NULL: none flows */
    struct judge *judge;                /* options.judge */

    /* accounts */
    struct sy_trace trace;
    double *device_busy_ns;
    uint64_t event_count, decision_count, decided_count, transfer_count, reconfigure_count;
    uint64_t tasks_done, within[3];
    double bytes_moved, makespan_ns;
    uint64_t histogram[HISTOGRAM_BUCKETS];
    struct sy_sim *inner; /* for rollouts; made on first use */
    int rollout_depth;
};

static inline double sim_now(const struct sy_sim *sim) {
    return sim->view.now_ns;
}

/* exec.c */
void sy_sim_commit(struct sy_sim *sim, uint32_t task, uint32_t device, double priority,
                   double expected_ns);
void sy_sim_try_start(struct sy_sim *sim, uint32_t device);
void sy_sim_inputs_ready(struct sy_sim *sim, uint32_t task);
void sy_sim_device_event(struct sy_sim *sim, uint32_t device); /* its slot came up */
void sy_sim_configure(struct sy_sim *sim, uint32_t device, uint32_t kernel);
void sy_sim_lose(struct sy_sim *sim, uint32_t device);
void sy_sim_return(struct sy_sim *sim, uint32_t device);
void sy_sim_end_loss(struct sy_sim *sim, uint32_t device); /* records it, if it is lost */
/* copies.c */
void sy_sim_request_inputs(struct sy_sim *sim, uint32_t task, uint32_t memory);
void sy_sim_request_access(struct sy_sim *sim, uint32_t task, uint32_t access, uint32_t memory);
void sy_sim_fetch(struct sy_sim *sim, uint32_t task, uint32_t memory);
void sy_sim_detach_inputs(struct sy_sim *sim, uint32_t task);
void sy_sim_copy_done(struct sy_sim *sim, uint32_t slot);
void sy_sim_write_outputs(struct sy_sim *sim, uint32_t task, uint32_t memory);
/* contention.c */
void sy_sim_flow_start_task(struct sy_sim *sim, uint32_t device, uint32_t task, double work_ns);
void sy_sim_flow_end_task(struct sy_sim *sim, uint32_t device);
void sy_sim_flow_start_copy(struct sy_sim *sim, uint32_t copy);
void sy_sim_flow_end_copy(struct sy_sim *sim, uint32_t copy);
void sy_sim_flow_update(struct sy_sim *sim);
double sy_sim_true_speed(void *world, uint32_t device, uint32_t task);
double sy_sim_true_disturbance(void *world, uint32_t device, uint32_t task);
void sy_sim_hidden_reset(struct sy_sim *sim);
void sy_sim_hidden_event(struct sy_sim *sim, uint32_t resource);
void sy_sim_sum_use(struct sy_sim *sim); /* up to now, for the counters */
/* sense.c */
SY_MUST_CHECK int sy_sim_sense_layout(struct sy_sim *sim);
void sy_sim_sense_reset(struct sy_sim *sim);
void sy_sim_sense(struct sy_sim *sim); /* somebody is about to look at the readings */
void sy_sim_sense_change(struct sy_sim *sim);
void sy_sim_sense_end(struct sy_sim *sim, uint32_t device, uint32_t task, double duration_ns);
/* What would be told of a resource if somebody looked now. */
double sy_sim_sense_now(const struct sy_sim *sim, uint32_t resource);
void sy_sim_demand(const struct sy_sim *sim, uint32_t device, struct sy_demand *ret_demand);
/* judge.c: how good what is told was; options.judge */
SY_MUST_CHECK int sy_sim_judge_layout(struct sy_sim *sim);
void sy_sim_judge_reset(struct sy_sim *sim);
void sy_sim_judge_pass(struct sy_sim *sim, double until_ns); /* nothing has changed until then */
void sy_sim_judge_starts(struct sy_sim *sim); /* flows are solved: foretell for what began */
void sy_sim_judge_end(struct sy_sim *sim, uint32_t device, uint32_t task, double duration_ns,
                      double alone_ns);
void sy_sim_judge_collect(const struct sy_sim *sim, struct sy_sim_accuracy *ret_accuracy);
/* queue.c: per-device priority queues of committed tasks */
void sy_sim_queue_push(struct sy_sim *sim, uint32_t device, uint32_t task);
uint32_t sy_sim_queue_pop(struct sy_sim *sim, uint32_t device);
/* decide.c */
void sy_sim_ask(struct sy_sim *sim);
void sy_sim_decisions_due(struct sy_sim *sim); /* the first that waits */
/* timed.c: what a look at the clock costs, once */
void sy_sim_time_clock(struct sy_sim *sim);
/* Puts the shell in front of a policy, where there is a clock; who is to be its scheduler
 */
struct sy_scheduler *sy_sim_time_calls(struct sy_sim *sim, const struct sy_scheduler_ops *ops);
/* layout.c */
SY_MUST_CHECK int sy_sim_layout(struct sy_sim *sim);
void sy_sim_reset(struct sy_sim *sim);
/* result.c */
void sy_sim_collect(struct sy_sim *sim, struct sy_sim_result *result);
void sy_sim_time_decision(struct sy_sim *sim, double elapsed_ns, uint32_t count);

#endif
