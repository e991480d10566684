/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a simulation: everything is taken once, here; reset puts a new run at time zero without
 * allocating. The periods of hidden load and of counters are chosen here, too.
 */
#include "sim/state.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define COUNTER_PERIOD_NS 2e6 /* a machine can read its counters so often and work besides */
#define PERIOD_LEAST_NS   1e3 /* of hidden load that comes and goes, and between two readings */

/* Joined by & rather than &&: nothing depends on the order, and all failures are alike. */
#define TAKE(field, count)                                                                         \
    ((int)((sim->field = sy_arena_alloc(sim->arena, (size_t)(count), sizeof *sim->field)) != NULL))

static bool take_hidden(struct sy_sim *sim) {
    const struct sy_machine *m = sim->machine;
    size_t tasks = sim->w->task_count + 1u, kernels = sim->w->kernel_count + 1u;
    size_t resources = m->resource_count + 1u;
    return TAKE(task_factor, tasks) & TAKE(task_scratch, tasks) &
           TAKE(job_results, sim->w->job_count + 1u) & TAKE(accounts, m->device_count) &
           TAKE(device_busy_ns, m->device_count) &
           TAKE(kernel_factor, kernels * sim->w->class_count) & TAKE(kernel_smt, kernels) &
           TAKE(kernel_gpu, kernels) & TAKE(group_start, m->group_count + 1u) &
           TAKE(group_devices, m->device_count) & TAKE(hidden_rng, resources) &
           TAKE(speed_rng, m->device_count) & TAKE(speed_share, m->device_count) &
           TAKE(straggler_rng, m->device_count) & TAKE(straggling, m->device_count) &
           TAKE(hidden_on, resources) & TAKE(resource_use, resources) &
           TAKE(resource_others, resources) & TAKE(resource_sum, resources);
}

static void record(void *world, const struct sy_span *span) {
    struct sy_sim *sim = world;
    sy_trace_add(&sim->trace, span);
}

static void look(void *world) {
    struct sy_sim *sim = world;
    if (sim->world.view.readings) {
        sy_sim_sense(sim);
    }
}

/* Each access waits for one copy at a time; a lost device may leave them behind in flight. */
static int create_world(struct sy_sim *sim) {
    const struct sy_workload *w = sim->w;
    uint32_t hidden = sim->machine->resource_count;
    uint64_t losses = sim->options.device_event_count;
    uint64_t copies = w->access_count * (losses + 2) + 64;
    sim->slot_speed = hidden;
    sim->slot_straggler = sim->slot_speed + sim->machine->device_count;
    sim->slot_job = sim->slot_straggler + sim->machine->device_count;
    sim->slot_device = sim->slot_job + 1;
    struct sy_world_options options = {.shared = sim->options.contention,
                                       .preempts = sim->options.preempt,
                                       .task_capacity = w->task_count,
                                       .data_capacity = w->data_count,
                                       .access_capacity = w->access_count,
                                       .job_capacity = w->job_count,
                                       .copy_capacity = (uint32_t)copies,
                                       .fetched_limit = w->access_count,
                                       .slot_count = sim->slot_device + 1,
                                       .flow_count = hidden,
                                       .accounts = true};
    if (copies > UINT32_MAX / 2 ||
        sy_world_init(&sim->world, sim->arena, sim->machine, &options) < 0) {
        return -ENOMEM;
    }
    sim->world.driver = sim;
    sim->world.task_factor = sim->task_factor;
    sim->world.kernel_factor = sim->kernel_factor;
    sim->world.decision_ns = sim->options.decision_ns;
    sim->world.hooks = (struct sy_world_hooks){.event = sy_sim_event,
                                               .span = sim->options.record ? record : NULL,
                                               .task_ended = sy_sim_task_ended,
                                               .job_ended = sy_sim_job_ended,
                                               .beside = sy_sim_beside,
                                               .occupied = sy_sim_occupied,
                                               .flows_change = sy_sim_flows_change,
                                               .flows_solved = sy_sim_flows_solved,
                                               .look = sim->options.contention ? look : NULL};
    return 0;
}

static void list_groups(struct sy_sim *sim) {
    const struct sy_machine *m = sim->machine;
    uint32_t at = 0;
    for (uint32_t g = 0; g < m->group_count; g++) {
        sim->group_start[g] = at;
        for (uint32_t d = 0; d < m->device_count; d++) {
            if (m->devices[d].group == g) {
                sim->group_devices[at++] = d;
            }
        }
    }
    sim->group_start[m->group_count] = at;
}

static uint32_t find_row(const struct sy_interference *table, const char *name) {
    return table ? sy_index_of(name, table->names, table->count, sizeof *table->names) : SY_NONE;
}

static void find_rows(struct sy_sim *sim) {
    for (uint32_t k = 0; k < sim->w->kernel_count; k++) {
        sim->kernel_smt[k] = find_row(sim->options.smt, sim->w->kernel_interference[k]);
        sim->kernel_gpu[k] = find_row(sim->options.gpu, sim->w->kernel_interference[k]);
    }
}

/* Of all inputs of a job, one after the other over the slowest route. */
static double longest_travel_ns(const struct sy_sim *sim, uint32_t job) {
    const struct sy_workload *w = sim->w;
    const struct sy_machine *m = sim->machine;
    double ns_per_byte = 0, latency_ns = 0, bytes = 0;
    for (uint32_t i = 0; i < m->memory_count * m->memory_count; i++) {
        double rate = m->routes[i].bytes_per_s;
        ns_per_byte = rate > 0 ? fmax(ns_per_byte, 1e9 / rate) : ns_per_byte;
        latency_ns = fmax(latency_ns, m->routes[i].latency_ns);
    }
    uint32_t first = w->access_start[w->job_first_task[job]];
    uint32_t end = w->access_start[w->job_first_task[job + 1]];
    for (uint32_t a = first; a < end; a++) {
        bytes += w->access[a].mode & SY_READ ? w->data_bytes[w->access[a].datum] : 0;
    }
    return bytes * ns_per_byte + (end - first) * latency_ns;
}

/* Periods that fit the workload where none are given; in no case so short that hidden load would
 * come and go millions of times while the jobs do little. */
static void choose_periods(struct sy_sim *sim) {
    const struct sy_workload *w = sim->w;
    double longest = 1, horizon = 1;
    for (uint32_t j = 0; j < w->job_count; j++) {
        longest = fmax(longest, w->job_isolated_ns[j]);
        double alone_ns = fmax(w->job_isolated_ns[j], longest_travel_ns(sim, j));
        horizon = fmax(horizon, w->jobs[j].arrive_ns + alone_ns);
    }
    for (uint32_t t = 0; t < w->task_count; t++) {
        horizon = fmax(horizon, w->best_ns[t] * sim->task_factor[t]);
    }
    double hidden = sim->options.hidden_period_ns, counter = sim->options.counter_period_ns;
    hidden = hidden > 0 ? hidden : longest / 20;
    sim->hidden_period_ns = fmax(hidden, fmax(PERIOD_LEAST_NS, horizon / 100000));
    double spell_ns = sim->options.straggler_ns > 0 ? sim->options.straggler_ns : longest;
    sim->straggler_ns = fmax(spell_ns, fmax(PERIOD_LEAST_NS, horizon / 100000));
    counter = counter > 0 ? counter : COUNTER_PERIOD_NS;
    sim->counter_period_ns = fmax(counter, fmax(PERIOD_LEAST_NS, horizon / 300000));
}

int sy_sim_layout(struct sy_sim *sim) {
    if (!take_hidden(sim) || create_world(sim) < 0) {
        return -ENOMEM;
    }
    uint64_t spans = (uint64_t)sim->w->task_count * 3 + 2ull * sim->w->access_count + 64;
    if (sim->options.record &&
        (spans > UINT32_MAX || sy_trace_reserve(&sim->trace, (uint32_t)spans) < 0)) {
        return -ENOMEM;
    }
    list_groups(sim);
    find_rows(sim);
    sy_sim_hidden_draw(sim);
    choose_periods(sim);
    return sy_sim_sense_layout(sim);
}

static void reset_data(struct sy_sim *sim) {
    const struct sy_workload *w = sim->w;
    struct sy_world *world = &sim->world;
    memset(world->data_inflight, 0, w->data_count * sizeof *world->data_inflight);
    memset(world->data_uses, 0, w->data_count * sizeof *world->data_uses);
    memset(world->data_copies, 0xff, w->data_count * sizeof *world->data_copies);
    memset(world->accesses, 0xff, w->access_count * sizeof *world->accesses);
    memcpy(world->data_valid, w->data_home, w->data_count * sizeof *world->data_valid);
    for (uint32_t a = 0; a < w->access_count; a++) {
        world->data_uses[w->access[a].datum]++;
    }
    size_t bytes = sim->machine->memory_count * sizeof *world->memory_bytes;
    memset(world->memory_bytes, 0, bytes);
    for (uint32_t d = 0; d < w->data_count; d++) {
        if (w->data_home[d]) {
            world->memory_bytes[__builtin_ctzll(w->data_home[d])] += w->data_bytes[d];
        }
    }
    memcpy(world->memory_peak_bytes, world->memory_bytes, bytes);
}

static void reset_tasks(struct sy_sim *sim) {
    const struct sy_workload *w = sim->w;
    struct sy_world *world = &sim->world;
    for (uint32_t t = 0; t < w->task_count; t++) {
        world->task_state[t] = SY_TASK_WAITING;
        world->task_device[t] = SY_NONE;
        world->task_pending[t] = w->pred_start[t + 1] - w->pred_start[t];
        world->task_missing[t] = 0;
        world->task_delayed[t] = false;
    }
    for (uint32_t j = 0; j < w->job_count; j++) {
        uint32_t first = w->job_first_task[j], end = w->job_first_task[j + 1];
        double work = 0;
        for (uint32_t t = first; t < end; t++) {
            work += w->best_ns[t];
        }
        world->jobs[j] = (struct sy_view_job){.first_task = first,
                                              .task_count = end - first,
                                              .tenant = w->jobs[j].tenant,
                                              .weight = w->jobs[j].weight,
                                              .arrive_ns = w->jobs[j].arrive_ns,
                                              .isolated_ns = w->job_isolated_ns[j],
                                              .tasks_left = end - first,
                                              .work_left_ns = work};
    }
}

static void reset_events(struct sy_sim *sim) {
    if (sim->w->job_count) {
        sy_world_set_event(&sim->world, sim->slot_job, sim->w->jobs[0].arrive_ns);
        sim->world.live_events++;
    }
    if (sim->options.device_event_count) {
        sy_world_set_event(&sim->world, sim->slot_device, sim->options.device_events[0].at_ns);
        sim->world.live_events++;
    }
    sy_sim_hidden_reset(sim);
}

void sy_sim_reset(struct sy_sim *sim) {
    sim->world.view.now_ns = 0;
    sim->world.view.job_count = 0;
    sy_world_clear(&sim->world);
    sim->world.jobs_left = sim->w->job_count;
    sim->failure = 0;
    sim->next_device_event = 0;
    sim->policy_ns = 0;
    sim->use_since_ns = 0;
    sim->trace.count = 0;
    sim->decided_count = sim->tasks_done = 0;
    sim->makespan_ns = 0;
    memset(sim->within, 0, sizeof sim->within);
    memset(sim->histogram, 0, sizeof sim->histogram);
    memset(sim->accounts, 0, sim->machine->device_count * sizeof *sim->accounts);
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        sim->resource_use[r] = sim->resource_others[r] = 0;
        sim->resource_sum[r] = 0;
    }
    reset_tasks(sim);
    reset_data(sim);
    sy_sim_sense_reset(sim);
    reset_events(sim);
}
