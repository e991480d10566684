/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator's clock: takes the next event, lets it happen, then asks the policy for decisions.
 */
#include "sim/sim.h"
#include "sim/state.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define BATCH      64  /* decisions taken at once */
#define LOOK_EVERY 256 /* events between two looks at options.stop */

static void fill_view(struct sy_sim *sim) {
    const struct sy_workload *w = sim->w;
    sim->view = (struct sy_view){
        .machine = sim->machine,
        .devices = sim->view_devices,
        .task_capacity = w->task_count,
        .job_capacity = w->job_count,
        .kernel_count = w->kernel_count,
        .jobs = sim->jobs,
        .task_job = w->task_job,
        .task_kernel = w->task_kernel,
        .task_state = sim->task_state,
        .task_device = sim->task_device,
        .succ_start = w->succ_start,
        .succ = w->succ,
        .pred_start = w->pred_start,
        .pred = w->pred,
        .access_start = w->access_start,
        .access = w->access,
        .access_producer = w->access_producer,
        .order = w->order,
        .time_ns = w->time_ns,
        .best_ns = w->best_ns,
        .log_sigma = w->log_sigma,
        .demand_bytes_per_s = w->demand_bytes_per_s,
        .link_demand_bytes_per_s = w->link_demand_bytes_per_s,
        .image_ns = w->image_ns,
        .data_bytes = w->data_bytes,
        .data_valid = sim->data_valid,
        .data_inflight = sim->data_inflight,
        .shared_links = sim->net != NULL,
    };
}

static double rollout(void *world, const char *policy, const double *scale) {
    struct sy_sim *sim = world;
    struct sy_sim_result result;
    if (sim->rollout_depth) {
        return NAN;
    }
    if (!sim->inner) {
        struct sy_sim_options options = sim->options;
        options.record = options.judge = options.charge = false;
        options.clock_ns = NULL;
        if (sy_sim_create(sim->w, &options, &sim->inner, NULL) < 0) {
            return NAN;
        }
        sim->inner->rollout_depth = 1;
    }
    sim->inner->scheduler.priority_scale = scale;
    if (sy_sim_run(sim->inner, policy, &result, NULL) < 0) {
        return NAN;
    }
    return sim->w->job_count > 1 ? result.slowdown_mean : result.makespan_ns;
}

int sy_sim_create(const struct sy_workload *workload, const struct sy_sim_options *options,
                  struct sy_sim **ret_sim, struct sy_error *error) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_sim *sim = arena ? sy_arena_alloc(arena, 1, sizeof *sim) : NULL;
    if (!sim) {
        sy_arena_destroy(arena);
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    sim->arena = arena;
    sim->w = workload;
    sim->machine = workload->machine;
    sim->options = *options;
    if (sy_sim_layout(sim) < 0) {
        sy_sim_destroy(sim);
        return sy_fail(error, -ENOMEM, "out of memory for %u tasks", workload->task_count);
    }
    fill_view(sim);
    sy_sim_time_clock(sim);
    sim->truth = (struct sy_truth){.resource_bytes_per_s = sim->resource_use,
                                   .others_bytes_per_s = sim->resource_others,
                                   .task_factor = sim->task_factor,
                                   .kernel_factor = sim->kernel_factor,
                                   .speed = sy_sim_true_speed,
                                   .disturbance = sy_sim_true_disturbance,
                                   .device_free_ns = sim->heap.key,
                                   .rollout = rollout,
                                   .world = sim};
    *ret_sim = sim;
    return 0;
}

void sy_sim_destroy(struct sy_sim *sim) {
    if (sim) {
        sy_sim_destroy(sim->inner);
        sy_flow_destroy(sim->net);
        sy_trace_finish(&sim->trace);
        sy_arena_destroy(sim->arena);
    }
}

static void arrive(struct sy_sim *sim) {
    uint32_t job = sim->next_job++;
    sim->view.job_count = sim->next_job;
    sim->news = true;
    if (sim->next_job < sim->w->job_count) {
        sy_heap_set(&sim->heap, sim->slot_job, sim->w->jobs[sim->next_job].arrive_ns);
    } else {
        sy_heap_remove(&sim->heap, sim->slot_job);
        sim->live_events--;
    }
    const struct sy_view_job *j = &sim->jobs[job];
    if (!j->task_count) {
        sim->job_results[job].done_ns = 0;
        sim->jobs_left--;
        return;
    }
    if (sim->scheduler.ops->job_arrived) {
        sim->scheduler.ops->job_arrived(&sim->scheduler, &sim->view, job);
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (sim->task_pending[t] == 0) {
            sim->task_state[t] = SY_TASK_READY;
            if (sim->scheduler.ops->task_ready) {
                sim->scheduler.ops->task_ready(&sim->scheduler, &sim->view, t);
            }
        }
    }
}

static void device_event(struct sy_sim *sim) {
    const struct sy_device_event *event = &sim->options.device_events[sim->next_device_event++];
    if (sim->next_device_event < sim->options.device_event_count) {
        sy_heap_set(&sim->heap, sim->slot_device,
                    sim->options.device_events[sim->next_device_event].at_ns);
    } else {
        sy_heap_remove(&sim->heap, sim->slot_device);
        sim->live_events--;
    }
    if (event->lost) {
        sy_sim_lose(sim, event->device);
    } else {
        sy_sim_return(sim, event->device);
    }
}

static void happen(struct sy_sim *sim, uint32_t slot) {
    sim->event_count++;
    if (slot < sim->slot_hidden) {
        sy_sim_device_event(sim, slot);
    } else if (slot >= sim->slot_copy) {
        sy_sim_copy_done(sim, slot - sim->slot_copy);
    } else if (slot < sim->slot_job) {
        sy_sim_hidden_event(sim, slot - sim->slot_hidden);
    } else if (slot == sim->slot_job) {
        arrive(sim);
    } else if (slot == sim->slot_decision) {
        sy_sim_decisions_due(sim);
    } else {
        device_event(sim);
    }
}

static void blocked(struct sy_sim *sim) {
    uint32_t ready = 0, committed = 0, lost = 0;
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        lost += sim->view_devices[d].lost;
    }
    for (uint32_t t = 0; t < sim->w->task_count; t++) {
        ready += sim->task_state[t] == SY_TASK_READY;
        committed += sim->task_state[t] < SY_TASK_RUNNING && sim->task_device[t] != SY_NONE;
    }
    sim->failure = sy_fail(sim->error, -EDEADLK,
                           "policy %s stopped with work left at %.0f ns: %u jobs, %u tasks ready, "
                           "%u committed but blocked",
                           sim->policy, sim_now(sim), sim->jobs_left, ready, committed);
    if (lost) {
        sy_hint(sim->error, "%u of %u devices have failed and do not return", lost,
                sim->machine->device_count);
    }
}

static void loop(struct sy_sim *sim) {
    uint64_t next_look = LOOK_EVERY;
    while (sim->jobs_left && !sim->failure) {
        if (sim->net) {
            sy_sim_flow_update(sim);
        }
        if (!sim->live_events) {
            blocked(sim);
            return;
        }
        if (sim->options.stop && sim->event_count >= next_look && sim->options.stop()) {
            sim->failure = sy_fail(sim->error, -ECANCELED, "stopped");
            return;
        }
        next_look = sim->event_count >= next_look ? sim->event_count + LOOK_EVERY : next_look;
        double now = sim->heap.key[sim->heap.slots[0]];
        sim->view.now_ns = now;
        do {
            happen(sim, sim->heap.slots[0]);
        } while (sim->heap.count && sim->heap.key[sim->heap.slots[0]] <= now && !sim->failure);
        if (sim->news && sim->jobs_left) {
            sy_sim_ask(sim);
        }
    }
    sim->makespan_ns = sim_now(sim);
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        sy_sim_end_loss(sim, d); /* what is lost at the end stays so in the record */
    }
}

static int run(struct sy_sim *sim, const struct sy_scheduler_ops *ops, const char *policy,
               const char *args, void *state, struct sy_sim_result *ret_result,
               struct sy_error *error) {
    sy_sim_reset(sim);
    sim->policy = policy;
    sim->error = error;
    sim->view.truth = ops->needs_truth ? &sim->truth : NULL;
    sim->view.readings = sim->net && ops->needs_readings && sim->options.belief != SY_SIM_NONE
                             ? sim->readings
                             : NULL;
    sim->view.posterior = sim->view.readings && sim->options.belief != SY_SIM_RAW;
    sim->watched = sim->net && (ops->needs_readings || ops->needs_truth || sim->options.judge);
    struct sy_scheduler *policy_state = sy_sim_time_calls(sim, ops);
    policy_state->ops = ops;
    policy_state->state = state;
    policy_state->seed = sim->options.seed;
    policy_state->setup = sim->options.setup;
    int code = ops->init(policy_state, &sim->view, args);
    if (code) {
        if (ops->finish) {
            ops->finish(policy_state);
        }
        return sy_fail(error, code, "policy %s cannot start here%s", policy,
                       code == -EINVAL ? ": its arguments are invalid" : "");
    }
    loop(sim);
    if (ops->finish) {
        ops->finish(policy_state);
    }
    if (!sim->failure) {
        sy_sim_collect(sim, ret_result);
    }
    return sim->failure;
}

int sy_sim_run(struct sy_sim *sim, const char *policy, struct sy_sim_result *ret_result,
               struct sy_error *error) {
    const char *args;
    const struct sy_scheduler_ops *ops = sy_scheduler_find(policy, &args, error);
    return ops ? run(sim, ops, policy, args, NULL, ret_result, error) : -EINVAL;
}

int sy_sim_run_ops(struct sy_sim *sim, const struct sy_scheduler_ops *ops, void *state,
                   struct sy_sim_result *ret_result, struct sy_error *error) {
    return run(sim, ops, ops->name, "", state, ret_result, error);
}

const struct sy_trace *sy_sim_trace(const struct sy_sim *sim) {
    return &sim->trace;
}
