/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the simulator, shared by its files and by nobody else: a world (world/world.h) in
 * virtual time, and what only the simulator adds to it.
 *
 * Its own events: one slot per resource (hidden load that comes and goes), two per device (its
 * speed that others take a part of; long spells in which it is a straggler), one each for the next
 * job and the next device event. Its own flows: the hidden load per resource.
 */
#ifndef SY_SIM_STATE_H
#define SY_SIM_STATE_H

#include "belief/senses.h"
#include "schedulers/schedulers.h"
#include "sim/sim.h"
#include "world/world.h"

enum purpose { NOISE = 1, SPIKE, MODEL_ERROR, HIDDEN, COUNTER, POLICY, THROTTLE, STRAGGLER };

/* What a device has done. */
struct account {
    double busy_ns, joules;
};

/* What a counter counts: a part of the traffic of a resource, in units of so many bytes. */
struct event {
    uint32_t resource;
    uint8_t part;
    double bytes;
};

#define HISTOGRAM_BUCKETS 512

struct sy_sim {
    struct sy_world world;
    struct sy_arena *arena;
    const struct sy_workload *w;
    const struct sy_machine *machine;
    struct sy_sim_options options;
    struct sy_truth truth;
    struct sy_scheduler scheduler;
    struct sy_policy_setup
        setup; /* options.setup, and rollouts; the scale is set by the outer one */
    const char *policy;
    struct sy_error *error;
    int failure; /* negative errno once something went wrong */

    /* events */
    uint32_t slot_speed, slot_straggler, slot_job, slot_device; /* hidden load comes before */
    uint32_t next_device_event;

    /* the policy's time */
    struct sy_scheduler timed; /* the policy, where the scheduler is the shell of timed.c */
    double look_ns;            /* what a look at the clock costs */
    double policy_ns;          /* real time of its calls */

    /* hidden */
    double *task_factor, *kernel_factor;
    uint32_t *kernel_smt, *kernel_gpu; /* row in the table of interference, or SY_NONE */
    uint32_t *group_start, *group_devices;
    bool watched;                          /* the policy reads counters or the truth */
    struct sy_rng *hidden_rng, *speed_rng; /* per resource; per device */
    bool *hidden_on;
    struct sy_rng *straggler_rng;
    bool *straggling;    /* per device: in such a spell */
    double *speed_share; /* per device: of its speed, what is not throttled */
    double hidden_period_ns, straggler_ns;

    /* counters, and what they count of */
    struct sy_reading *readings;
    double *resource_use, *resource_others;
    double *resource_sum;            /* since the last reading */
    double *copy_rate;               /* per resource: what our copies move */
    uint32_t *copied, copied_count;  /* resources that any copy crosses */
    double *read_share, *miss_share; /* per resource: of its traffic; of its reads */
    double use_since_ns, counter_period_ns, counter_at_ns;
    uint32_t counter_turn;
    struct sy_rng counter_rng;
    float counter_errors[8]; /* drawn ahead, and how many of them are used */
    uint32_t counter_errors_used;
    struct event *events;
    struct sy_counter *counters;
    struct sy_pmu pmu;
    struct sy_sample *samples;
    uint32_t *counting; /* counters that count until the next reading */
    uint32_t counter_count, counting_count;
    uint32_t *drawing;        /* per device: the task that the senses know of */
    struct sy_demand *draws;  /* and what it draws */
    struct sy_senses *senses; /* NULL: nothing is shared */
    struct judge *judge;      /* options.judge */

    /* accounts */
    struct sy_trace trace;
    struct sy_sim_job_result *job_results;
    struct account *accounts; /* per device */
    double *device_busy_ns, *task_scratch;
    uint64_t decided_count, tasks_done, within[3];
    double makespan_ns;
    uint64_t histogram[HISTOGRAM_BUCKETS];
    struct sy_sim *inner; /* for rollouts; made on first use */
    int rollout_depth;
};

static inline double sim_now(const struct sy_sim *sim) {
    return sim->world.view.now_ns;
}

/* contention.c */
double sy_sim_beside(void *sim, uint32_t device); /* hooks of the world */
void sy_sim_occupied(void *sim, uint32_t device);
void sy_sim_flows_change(void *sim);
void sy_sim_flows_solved(void *sim);
double sy_sim_true_speed(void *sim, uint32_t device, uint32_t task);
double sy_sim_true_disturbance(void *sim, uint32_t device, uint32_t task);
/* hidden.c */
void sy_sim_hidden_draw(struct sy_sim *sim);
void sy_sim_hidden_reset(struct sy_sim *sim);
void sy_sim_hidden_event(struct sy_sim *sim, uint32_t resource);
void sy_sim_speed_event(struct sy_sim *sim, uint32_t device);
void sy_sim_straggler_event(struct sy_sim *sim, uint32_t device);
/* sense.c */
SY_MUST_CHECK int sy_sim_sense_layout(struct sy_sim *sim);
void sy_sim_sense_reset(struct sy_sim *sim);
void sy_sim_sense(struct sy_sim *sim); /* somebody is about to look at the readings */
void sy_sim_sense_change(struct sy_sim *sim);
void sy_sim_sense_flows(struct sy_sim *sim);
void sy_sim_sense_others(struct sy_sim *sim, uint32_t resource);
void sy_sim_sense_end(struct sy_sim *sim, uint32_t device, uint32_t task, double duration_ns);
/* What would be told of a resource if somebody looked now. */
struct sy_sensed sy_sim_sense_now(const struct sy_sim *sim, uint32_t resource);
void sy_sim_demand(const struct sy_sim *sim, uint32_t device, struct sy_demand *ret_demand);
/* belief_error.c: how wrong what is told was; options.judge */
SY_MUST_CHECK int sy_sim_judge_layout(struct sy_sim *sim);
void sy_sim_judge_reset(struct sy_sim *sim);
void sy_sim_judge_pass(struct sy_sim *sim, double until_ns); /* nothing has changed until then */
void sy_sim_judge_starts(struct sy_sim *sim); /* flows are solved: predict for what began */
void sy_sim_judge_end(struct sy_sim *sim, uint32_t device, uint32_t task, double duration_ns,
                      double alone_ns);
void sy_sim_judge_collect(const struct sy_sim *sim, struct sy_sim_accuracy *ret_accuracy);
/* timed.c: what a look at the clock costs, once */
void sy_sim_time_clock(struct sy_sim *sim);
/* Puts the shell in front of a policy, where there is a clock; who is to be its scheduler
 */
struct sy_scheduler *sy_sim_time_calls(struct sy_sim *sim, const struct sy_scheduler_ops *ops);
/* sim.c */
void sy_sim_event(void *sim, uint32_t slot); /* a hook */
/* layout.c */
SY_MUST_CHECK int sy_sim_layout(struct sy_sim *sim);
void sy_sim_reset(struct sy_sim *sim);
/* result.c */
void sy_sim_collect(struct sy_sim *sim, struct sy_sim_result *result);
void sy_sim_time_decision(struct sy_sim *sim, double elapsed_ns, uint32_t count);
void sy_sim_task_ended(void *sim, uint32_t task, uint32_t device, double duration_ns); /* hooks */
void sy_sim_job_ended(void *sim, uint32_t job);

#endif
