/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a simulation: everything is taken once, here; reset puts a new run at time zero without
 * allocating. Hidden durations are drawn here too, from the seed alone, before any policy acts.
 */
#include "sim/state.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define PERIOD_LEAST_NS 1e3 /* of hidden load that comes and goes, and between two readings */

/* Joined by & rather than &&: nothing depends on the order, and all failures are alike. */
#define TAKE(field, count)                                                                         \
    ((int)((sim->field = sy_arena_alloc(sim->arena, (size_t)(count), sizeof *sim->field)) != NULL))

static bool take_tasks(struct sy_sim *sim) {
    size_t tasks = sim->w->task_count + 1u, data = sim->w->data_count + 1u;
    size_t accesses = sim->w->access_count + 1u, jobs = sim->w->job_count + 1u;
    return TAKE(task_state, tasks) & TAKE(task_delayed, tasks) & TAKE(task_device, tasks) &
           TAKE(task_pending, tasks) & TAKE(task_missing, tasks) & TAKE(task_priority, tasks) &
           TAKE(task_expected_ns, tasks) & TAKE(task_factor, tasks) & TAKE(task_sequence, tasks) &
           TAKE(queue_child, tasks) & TAKE(queue_sibling, tasks) & TAKE(task_scratch, tasks) &
           TAKE(data_valid, data) & TAKE(data_inflight, data) & TAKE(data_copies, data) &
           TAKE(data_uses, data) & TAKE(access_copy, accesses) & TAKE(access_next, accesses) &
           TAKE(access_task, accesses) & TAKE(copies, sim->copy_capacity) & TAKE(jobs, jobs) &
           TAKE(job_results, jobs);
}

static bool take_machine(struct sy_sim *sim) {
    const struct sy_machine *m = sim->machine;
    size_t resources = m->resource_count + 1u, memories = m->memory_count;
    size_t kernels = sim->w->kernel_count + 1u;
    return TAKE(view_devices, m->device_count) & TAKE(devices, m->device_count) &
           TAKE(device_busy_ns, m->device_count) & TAKE(boards, m->board_count + 1u) &
           TAKE(kernel_factor, kernels * sim->w->class_count) & TAKE(kernel_smt, kernels) &
           TAKE(kernel_gpu, kernels) & TAKE(channels, memories) & TAKE(memory_bytes, memories) &
           TAKE(memory_peak_bytes, memories) & TAKE(group_start, m->group_count + 1u) &
           TAKE(group_devices, m->device_count) & TAKE(hidden_rng, resources) &
           TAKE(hidden_on, resources) & TAKE(resource_use, resources) &
           TAKE(resource_others, resources) & TAKE(resource_sum, resources) &
           TAKE(resource_seen, resources);
}

static bool take_events(struct sy_sim *sim) {
    const struct sy_machine *m = sim->machine;
    sim->slot_hidden = m->device_count;
    sim->slot_job = sim->slot_hidden + m->resource_count;
    sim->slot_decision = sim->slot_job + 1;
    sim->slot_device = sim->slot_decision + 1;
    sim->slot_copy = sim->slot_device + 1;
    size_t slots = (size_t)sim->slot_copy + sim->copy_capacity;
    return TAKE(heap.key, slots) && TAKE(heap.position, slots) && TAKE(heap.slots, slots);
}

static bool take_flows(struct sy_sim *sim) {
    const struct sy_machine *m = sim->machine;
    sim->flow_hidden = m->device_count;
    sim->flow_copy = sim->flow_hidden + m->resource_count;
    sim->flow_count = sim->flow_copy;
    for (uint32_t i = 0; i < m->memory_count; i++) {
        sim->flow_count += m->memories[i].dma_count;
    }
    if (!sim->options.contention) {
        return true;
    }
    double *capacities = sy_arena_alloc(sim->arena, m->resource_count + 1u, sizeof *capacities);
    for (uint32_t r = 0; capacities && r < m->resource_count; r++) {
        capacities[r] = m->resources[r].bytes_per_s;
    }
    size_t flows = sim->flow_count + 1u;
    sim->net = capacities ? sy_flow_create(m->resource_count, capacities, sim->flow_count) : NULL;
    return sim->net && TAKE(flow_rest, flows) && TAKE(flow_rate, flows) &&
           TAKE(flow_since_ns, flows) && TAKE(flow_slot, flows) && TAKE(flow_free, flows) &&
           TAKE(flow_route, flows);
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
    for (uint32_t i = 0; table && i < table->count; i++) {
        if (strcmp(table->names[i], name) == 0) {
            return i;
        }
    }
    return SY_NONE;
}

static double draw_factor(const struct sy_sim *sim, uint32_t task) {
    const struct sy_sim_options *o = &sim->options;
    struct sy_rng rng = sy_rng_make(o->seed, NOISE, task);
    double factor = 1;
    if (o->noise_table && o->noise_table->count) {
        double at = sy_rng_uniform(&rng) * (o->noise_table->count - 1);
        uint32_t low = (uint32_t)at;
        double above = o->noise_table->ratio[low + 1 < o->noise_table->count ? low + 1 : low];
        factor = o->noise_table->ratio[low];
        factor += (at - low) * (above - factor);
    } else if (o->noise_sigma > 0) {
        factor = exp(o->noise_sigma * sy_rng_normal(&rng));
    }
    if (o->spike_probability > 0) {
        struct sy_rng spike = sy_rng_make(o->seed, SPIKE, task);
        factor *= sy_rng_uniform(&spike) < o->spike_probability ? o->spike_factor : 1;
    }
    return factor;
}

static void draw_hidden(struct sy_sim *sim) {
    for (uint32_t t = 0; t < sim->w->task_count; t++) {
        sim->task_factor[t] = draw_factor(sim, t);
    }
    for (uint32_t k = 0; k < sim->w->kernel_count; k++) {
        sim->kernel_smt[k] = find_row(sim->options.smt, sim->w->kernel_interference[k]);
        sim->kernel_gpu[k] = find_row(sim->options.gpu, sim->w->kernel_interference[k]);
        for (uint32_t c = 0; c < sim->w->class_count; c++) {
            uint64_t key = sy_hash(sim->w->kernel_names[k], strlen(sim->w->kernel_names[k])) + c;
            struct sy_rng rng = sy_rng_make(sim->options.seed, MODEL_ERROR, key);
            double sigma = sim->options.model_error_sigma;
            sim->kernel_factor[(size_t)k * sim->w->class_count + c] =
                sigma > 0 ? exp(sigma * sy_rng_normal(&rng)) : 1;
        }
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
    sim->counter_period_ns = counter > 0 ? counter : fmax(longest / 1000, PERIOD_LEAST_NS);
    if (sim->options.belief == SY_SIM_FILTERED) { /* it reads all the time, not when asked */
        sim->counter_period_ns = fmax(sim->counter_period_ns, horizon / 300000);
    }
}

int sy_sim_layout(struct sy_sim *sim) {
    /* Each access waits for one copy at a time; a lost device may leave them behind in flight. */
    uint64_t losses = sim->options.device_event_count;
    uint64_t copies = sim->w->access_count * (losses + 2) + 64;
    if (copies > UINT32_MAX / 2) {
        return -ENOMEM;
    }
    sim->copy_capacity = (uint32_t)copies;
    sim->fetched_limit = sim->w->access_count;
    if (!take_tasks(sim) || !take_machine(sim) || !take_events(sim) || !take_flows(sim)) {
        return -ENOMEM;
    }
    uint64_t spans = (uint64_t)sim->w->task_count * 3 + 2ull * sim->w->access_count + 64;
    if (sim->options.record &&
        (spans > UINT32_MAX || sy_trace_reserve(&sim->trace, (uint32_t)spans) < 0)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < sim->slot_copy + sim->copy_capacity; i++) {
        sim->heap.key[i] = INFINITY;
    }
    for (uint32_t t = 0; t < sim->w->task_count; t++) {
        for (uint32_t a = sim->w->access_start[t]; a < sim->w->access_start[t + 1]; a++) {
            sim->access_task[a] = t;
        }
    }
    list_groups(sim);
    draw_hidden(sim);
    choose_periods(sim);
    return sy_sim_sense_layout(sim);
}

static void reset_tasks(struct sy_sim *sim) {
    const struct sy_workload *w = sim->w;
    for (uint32_t t = 0; t < w->task_count; t++) {
        sim->task_state[t] = SY_TASK_WAITING;
        sim->task_device[t] = SY_NONE;
        sim->task_pending[t] = w->pred_start[t + 1] - w->pred_start[t];
        sim->task_missing[t] = 0;
        sim->task_delayed[t] = false;
    }
    memset(sim->data_inflight, 0, w->data_count * sizeof *sim->data_inflight);
    memset(sim->data_uses, 0, w->data_count * sizeof *sim->data_uses);
    memset(sim->data_copies, 0xff, w->data_count * sizeof *sim->data_copies);
    memset(sim->access_copy, 0xff, w->access_count * sizeof *sim->access_copy);
    memcpy(sim->data_valid, w->data_home, w->data_count * sizeof *sim->data_valid);
    for (uint32_t a = 0; a < w->access_count; a++) {
        sim->data_uses[w->access[a].datum]++;
    }
    memset(sim->memory_bytes, 0, sim->machine->memory_count * sizeof *sim->memory_bytes);
    for (uint32_t d = 0; d < w->data_count; d++) {
        if (w->data_home[d]) {
            sim->memory_bytes[__builtin_ctzll(w->data_home[d])] += w->data_bytes[d];
        }
    }
    memcpy(sim->memory_peak_bytes, sim->memory_bytes,
           sim->machine->memory_count * sizeof *sim->memory_bytes);
    for (uint32_t j = 0; j < w->job_count; j++) {
        uint32_t first = w->job_first_task[j], end = w->job_first_task[j + 1];
        double work = 0;
        for (uint32_t t = first; t < end; t++) {
            work += w->best_ns[t];
        }
        sim->jobs[j] = (struct sy_view_job){.first_task = first,
                                            .task_count = end - first,
                                            .tenant = w->jobs[j].tenant,
                                            .weight = w->jobs[j].weight,
                                            .arrive_ns = w->jobs[j].arrive_ns,
                                            .isolated_ns = w->job_isolated_ns[j],
                                            .tasks_left = end - first,
                                            .work_left_ns = work};
    }
}

static void reset_machine(struct sy_sim *sim) {
    const struct sy_machine *m = sim->machine;
    for (uint32_t d = 0; d < m->device_count; d++) {
        sim->view_devices[d] =
            (struct sy_view_device){.running = SY_NONE, .image = SY_NONE, .last_image = SY_NONE};
        sim->devices[d] =
            (struct device){.queue = SY_NONE, .port_next = SY_NONE, .pending_kernel = SY_NONE};
    }
    for (uint32_t b = 0; b < m->board_count; b++) {
        sim->boards[b] = (struct board){.first_waiting = SY_NONE, .last_waiting = SY_NONE};
    }
    for (uint32_t i = 0; i < m->memory_count; i++) {
        sim->channels[i] = (struct channel){.first_queued = SY_NONE, .last_queued = SY_NONE};
    }
    for (uint32_t r = 0; r < m->resource_count; r++) {
        sim->resource_use[r] = sim->resource_others[r] = 0;
        sim->resource_sum[r] = sim->resource_seen[r] = 0;
    }
}

static void reset_events(struct sy_sim *sim) {
    while (sim->heap.count) {
        sy_heap_remove(&sim->heap, sim->heap.slots[sim->heap.count - 1]);
    }
    sim->live_events = 0;
    if (sim->w->job_count) {
        sy_heap_set(&sim->heap, sim->slot_job, sim->w->jobs[0].arrive_ns);
        sim->live_events++;
    }
    if (sim->options.device_event_count) {
        sy_heap_set(&sim->heap, sim->slot_device, sim->options.device_events[0].at_ns);
        sim->live_events++;
    }
    if (sim->net) {
        sy_flow_reset(sim->net);
        sim->flow_free_count = 0;
        for (uint32_t f = sim->flow_count; f-- > sim->flow_copy;) {
            sim->flow_free[sim->flow_free_count++] = f;
            sim->flow_route[f] = NULL;
        }
        sy_sim_hidden_reset(sim);
    }
}

void sy_sim_reset(struct sy_sim *sim) {
    sim->view.now_ns = 0;
    sim->view.job_count = 0;
    sim->failure = 0;
    sim->news = false;
    sim->next_job = sim->next_device_event = 0;
    sim->jobs_left = sim->w->job_count;
    sim->held_next = sim->held_count = 0;
    sim->scheduler_free_ns = 0;
    sim->uncharged_ns = sim->policy_ns = 0;
    sim->sequence = 0;
    sim->copy_unused = 0;
    sim->copy_free = SY_NONE;
    sim->fetched_count = 0;
    sim->flows_dirty = false;
    sim->use_since_ns = 0;
    sim->trace.count = 0;
    sim->event_count = sim->decision_count = sim->decided_count = 0;
    sim->transfer_count = sim->reconfigure_count = sim->tasks_done = 0;
    sim->bytes_moved = sim->makespan_ns = 0;
    memset(sim->within, 0, sizeof sim->within);
    memset(sim->histogram, 0, sizeof sim->histogram);
    reset_tasks(sim);
    reset_machine(sim);
    sy_sim_sense_reset(sim);
    reset_events(sim);
}
