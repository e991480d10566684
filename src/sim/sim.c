/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator's clock: takes the next event, lets it happen, then asks the policy for decisions.
 */
#include "sim/sim.h"
#include "sim/state.h"
#include <errno.h>
#include <math.h>

#define LOOK_EVERY 256 /* events between two looks at options.stop */

static void fill_view(struct sy_sim *sim) {
    const struct sy_workload *w = sim->w;
    struct sy_view view = {
        .machine = sim->machine,
        .task_capacity = w->task_count,
        .job_capacity = w->job_count,
        .kernel_count = w->kernel_count,
        .task_job = w->task_job,
        .task_kernel = w->task_kernel,
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
        .shared_links = sim->options.contention,
    };
    sy_world_see(&sim->world, &view);
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
    sim->inner->setup.scale = scale;
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
        return sy_out_of_memory(error);
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
    sim->truth = (struct sy_truth){.others_bytes_per_s = sim->resource_others,
                                   .task_factor = sim->task_factor,
                                   .kernel_factor = sim->kernel_factor,
                                   .speed = sy_sim_true_speed,
                                   .disturbance = sy_sim_true_disturbance,
                                   .device_free_ns = sim->world.events.key,
                                   .world = sim};
    *ret_sim = sim;
    return 0;
}

void sy_sim_destroy(struct sy_sim *sim) {
    if (sim) {
        sy_sim_destroy(sim->inner);
        sy_world_finish(&sim->world);
        sy_trace_finish(&sim->trace);
        sy_arena_destroy(sim->arena);
    }
}

static void arrive(struct sy_sim *sim) {
    struct sy_world *world = &sim->world;
    uint32_t job = world->view.job_count++;
    if (world->view.job_count < sim->w->job_count) {
        sy_world_set_event(world, sim->slot_job, sim->w->jobs[world->view.job_count].arrive_ns);
    } else {
        sy_world_remove_event(world, sim->slot_job);
        world->live_events--;
    }
    if (world->jobs[job].task_count) {
        sy_world_arrive(world, job);
    } else {
        sim->job_results[job].done_ns = 0;
        world->jobs_left--;
        world->news = true;
    }
}

static void device_event(struct sy_sim *sim) {
    const struct sy_device_event *event = &sim->options.device_events[sim->next_device_event++];
    if (sim->next_device_event < sim->options.device_event_count) {
        sy_world_set_event(&sim->world, sim->slot_device,
                           sim->options.device_events[sim->next_device_event].at_ns);
    } else {
        sy_world_remove_event(&sim->world, sim->slot_device);
        sim->world.live_events--;
    }
    if (event->lost) {
        sy_world_lose(&sim->world, event->device);
    } else {
        sy_world_return(&sim->world, event->device);
    }
}

void sy_sim_event(void *world, uint32_t slot) {
    struct sy_sim *sim = world;
    if (slot < sim->slot_speed) {
        sy_sim_hidden_event(sim, slot);
    } else if (slot < sim->slot_straggler) {
        sy_sim_speed_event(sim, slot - sim->slot_speed);
    } else if (slot < sim->slot_job) {
        sy_sim_straggler_event(sim, slot - sim->slot_straggler);
    } else if (slot == sim->slot_job) {
        arrive(sim);
    } else {
        device_event(sim);
    }
}

static void refused(struct sy_sim *sim) {
    char name[96];
    uint32_t task = sim->world.refused_task;
    sim->failure = sy_fail(
        sim->error, sim->world.failure, "policy %s decided the impossible for %s: %s", sim->policy,
        task < sim->w->task_count ? sy_workload_task_name(sim->w, task, name, sizeof name)
                                  : "no task",
        sim->world.refused_why);
}

static void blocked(struct sy_sim *sim) {
    const struct sy_world *world = &sim->world;
    uint32_t ready = 0, committed = 0, lost = 0;
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        lost += world->view_devices[d].lost;
    }
    for (uint32_t t = 0; t < sim->w->task_count; t++) {
        ready += world->task_state[t] == SY_TASK_READY;
        committed += world->task_state[t] < SY_TASK_RUNNING && world->task_device[t] != SY_NONE;
    }
    sim->failure = sy_fail(sim->error, -EDEADLK,
                           "policy %s stopped with work left at %.0f ns: %u jobs, %u tasks ready, "
                           "%u committed but blocked",
                           sim->policy, sim_now(sim), world->jobs_left, ready, committed);
    if (lost) {
        sy_hint(sim->error, "%u of %u devices have failed and do not return", lost,
                sim->machine->device_count);
    }
}

static void loop(struct sy_sim *sim) {
    struct sy_world *world = &sim->world;
    uint64_t next_look = LOOK_EVERY;
    while (world->jobs_left && !sim->failure) {
        if (sim->options.stop && world->event_count >= next_look && sim->options.stop()) {
            sim->failure = sy_fail(sim->error, -ECANCELED, "stopped");
            return;
        }
        next_look = world->event_count >= next_look ? world->event_count + LOOK_EVERY : next_look;
        if (!sy_world_step(world)) {
            blocked(sim);
            return;
        }
        if (world->failure) {
            refused(sim);
        }
    }
    sim->makespan_ns = sim_now(sim);
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        sy_world_end_loss(world, d); /* what is lost at the end stays so in the record */
    }
}

/* What the caller gives, and what only this world can. */
static const struct sy_policy_setup *set_up(struct sy_sim *sim) {
    const double *scale = sim->setup.scale;
    sim->setup = sim->options.setup ? *sim->options.setup : (struct sy_policy_setup){0};
    sim->setup.scale = scale;
    sim->setup.rollout = rollout;
    sim->setup.world = sim;
    return &sim->setup;
}

static int run(struct sy_sim *sim, const struct sy_scheduler_ops *ops, const char *policy,
               const char *args, void *state, struct sy_sim_result *ret_result,
               struct sy_error *error) {
    sy_sim_reset(sim);
    sim->policy = policy;
    sim->error = error;
    sim->world.view.truth = ops->needs_truth ? &sim->truth : NULL;
    sim->world.view.readings =
        sim->options.contention && ops->needs_readings ? sim->readings : NULL;
    sim->world.view.posterior = sim->world.view.readings && sim->options.belief != SY_SIM_RAW;
    sim->watched =
        sim->options.contention && (ops->needs_readings || ops->needs_truth || sim->options.judge);
    struct sy_scheduler *policy_state = sy_sim_time_calls(sim, ops);
    sim->world.policy = &sim->scheduler;
    policy_state->ops = ops;
    policy_state->state = state;
    policy_state->seed = sim->options.seed;
    policy_state->setup = set_up(sim);
    int code = ops->init(policy_state, &sim->world.view, args);
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
