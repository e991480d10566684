/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run amounts to: completion times, slowdowns, energy, fairness, the cost of deciding; and
 * names for its trace.
 */
#include "sim/state.h"
#include <math.h>

/* Logarithmic buckets, 16 to the octave from 1 ns: quantiles within 5 % and no allocation. */
void sy_sim_time_decision(struct sy_sim *sim, double elapsed_ns, uint32_t count) {
    if (!count) {
        return;
    }
    double each = fmax(elapsed_ns / count, 1);
    uint32_t bucket = (uint32_t)(16 * log2(each));
    sim->histogram[bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1] += count;
    sim->decided_count += count;
}

void sy_sim_task_ended(void *world, uint32_t task, uint32_t device, double duration_ns) {
    static const double limits[3] = {1.001, 1.1, 1.2};
    struct sy_sim *sim = world;
    const struct sy_device *self = &sim->machine->devices[device];
    struct account *account = &sim->accounts[device];
    double alone_ns = sy_world_work_ns(&sim->world, task, device);
    if (sim->watched) {
        sy_sim_sense_end(sim, device, task, duration_ns);
    }
    if (sim->judge) {
        sy_sim_judge_end(sim, device, task, duration_ns, alone_ns);
    }
    for (int i = 0; i < 3; i++) {
        sim->within[i] += sim->world.devices[device].stall_ns + duration_ns <= alone_ns * limits[i];
    }
    size_t at = (size_t)sim->w->task_kernel[task] * sim->w->class_count + self->class_index;
    double watts = sim->w->watts[at] > 0 ? sim->w->watts[at] : self->busy_watts;
    account->joules += watts * duration_ns * 1e-9;
    account->busy_ns += duration_ns;
    sim->tasks_done++;
}

void sy_sim_job_ended(void *world, uint32_t job) {
    struct sy_sim *sim = world;
    sim->job_results[job].done_ns = sim_now(sim) - sim->world.jobs[job].arrive_ns;
}

static double histogram_quantile(const struct sy_sim *sim, double probability) {
    if (!sim->decided_count) {
        return NAN;
    }
    uint64_t want = (uint64_t)(probability * (double)(sim->decided_count - 1)), seen = 0;
    uint32_t bucket = 0;
    while (bucket + 1 < HISTOGRAM_BUCKETS && (seen += sim->histogram[bucket]) <= want) {
        bucket++;
    }
    return exp2((bucket + 0.5) / 16);
}

static void summarise(double *scratch, uint32_t count, double *ret_mean, double *ret_p99) {
    *ret_mean = sy_mean(scratch, count);
    *ret_p99 = sy_quantile(scratch, count, 0.99);
}

/* Jain's index of the tenants' mean slowdowns: 1 when all are slowed alike. */
static double fairness(const struct sy_sim *sim) {
    double sum = 0, squares = 0;
    uint32_t tenants = 0, highest = 0;
    for (uint32_t j = 0; j < sim->w->job_count; j++) {
        highest = sim->world.jobs[j].tenant > highest ? sim->world.jobs[j].tenant : highest;
    }
    for (uint32_t tenant = 0; tenant <= highest; tenant++) {
        double mean = 0;
        uint32_t count = 0;
        for (uint32_t j = 0; j < sim->w->job_count; j++) {
            if (sim->world.jobs[j].tenant == tenant) {
                mean += sim->job_results[j].slowdown;
                count++;
            }
        }
        if (count) {
            sum += mean / count;
            squares += mean / count * mean / count;
            tenants++;
        }
    }
    return squares > 0 ? sum * sum / (tenants * squares) : 1;
}

/* Jobs take turns at what they delay: short ones may win at the cost of long ones. A job as long as
 * the shortest of the longest fifth counts, so that equal jobs are in or out together. */
static double slowdown_long(const struct sy_sim *sim, double *scratch) {
    const double *alone_ns = sim->w->job_isolated_ns;
    uint32_t count = 0, longest = 0;
    double sum = 0;
    for (uint32_t j = 0; j < sim->w->job_count; j++) {
        if (sim->world.jobs[j].task_count) {
            scratch[count++] = alone_ns[j];
        }
    }
    sy_sort(scratch, count);
    double least_ns = count ? scratch[(size_t)count * 4 / 5] : 0;
    for (uint32_t j = 0; j < sim->w->job_count; j++) {
        if (sim->world.jobs[j].task_count && alone_ns[j] >= least_ns) {
            sum += sim->job_results[j].slowdown;
            longest++;
        }
    }
    return longest ? sum / longest : NAN;
}

void sy_sim_collect(struct sy_sim *sim, struct sy_sim_result *r) {
    const struct sy_machine *m = sim->machine;
    uint32_t jobs = sim->w->job_count;
    double tasks = sim->tasks_done ? (double)sim->tasks_done : 1;
    *r = (struct sy_sim_result){.makespan_ns = sim->makespan_ns,
                                .within_0 = (double)sim->within[0] / tasks,
                                .within_10 = (double)sim->within[1] / tasks,
                                .within_20 = (double)sim->within[2] / tasks,
                                .bytes_moved = sim->world.bytes_moved,
                                .task_count = sim->tasks_done,
                                .event_count = sim->world.event_count,
                                .decision_count = sim->world.decision_count,
                                .transfer_count = sim->world.transfer_count,
                                .reconfigure_count = sim->world.reconfigure_count,
                                .policy_ns = sim->options.clock_ns ? sim->policy_ns : NAN,
                                .decision_p50_ns = histogram_quantile(sim, 0.5),
                                .decision_p99_ns = histogram_quantile(sim, 0.99),
                                .device_busy_ns = sim->device_busy_ns,
                                .memory_peak_bytes = sim->world.memory_peak_bytes,
                                .jobs = sim->job_results};
    if (sim->judge) {
        sy_sim_judge_collect(sim, &r->accuracy);
    }
    for (uint32_t d = 0; d < m->device_count; d++) {
        const struct account *account = &sim->accounts[d];
        sim->device_busy_ns[d] = account->busy_ns;
        double idle_ns = fmax(0, sim->makespan_ns - account->busy_ns);
        r->energy_joules += account->joules + m->devices[d].idle_watts * idle_ns * 1e-9;
    }
    double *scratch = sim->task_scratch; /* at least as many tasks as jobs */
    uint32_t counted = 0;
    for (uint32_t j = 0; j < jobs; j++) {
        sim->job_results[j].slowdown =
            sy_cost_slowdown(sim->job_results[j].done_ns, sim->w->job_isolated_ns[j]);
        if (sim->world.jobs[j].task_count) {
            scratch[counted++] = sim->job_results[j].done_ns;
        }
    }
    summarise(scratch, counted, &r->jct_mean_ns, &r->jct_p99_ns);
    counted = 0;
    for (uint32_t j = 0; j < jobs; j++) {
        if (sim->world.jobs[j].task_count) {
            scratch[counted++] = sim->job_results[j].slowdown;
        }
    }
    summarise(scratch, counted, &r->slowdown_mean, &r->slowdown_p99);
    r->slowdown_long = slowdown_long(sim, scratch);
    r->fairness = fairness(sim);
}

static const char *device_name(const void *context, uint32_t device) {
    return ((const struct sy_sim *)context)->machine->devices[device].name;
}

static const char *memory_name(const void *context, uint32_t memory) {
    return ((const struct sy_sim *)context)->machine->memories[memory].name;
}

static const char *task_name(const void *context, uint32_t task, char *buffer, size_t size) {
    return sy_workload_task_name(((const struct sy_sim *)context)->w, task, buffer, size);
}

static const char *task_group(const void *context, uint32_t task) {
    const struct sy_workload *w = ((const struct sy_sim *)context)->w;
    return w->kernel_names[w->task_kernel[task]];
}

static const char *datum_name(const void *context, uint32_t datum, char *buffer, size_t size) {
    const struct sy_workload *w = ((const struct sy_sim *)context)->w;
    uint32_t job = 0;
    while (datum >= w->jobs[job].graph->data_count) {
        datum -= w->jobs[job++].graph->data_count;
    }
    const struct sy_graph *graph = w->jobs[job].graph;
    if (graph->data_names && graph->data_names[datum]) {
        snprintf(buffer, size, "%s", graph->data_names[datum]);
    } else {
        snprintf(buffer, size, "datum %u", datum);
    }
    return buffer;
}

static const char *kernel_name(const void *context, uint32_t kernel) {
    return ((const struct sy_sim *)context)->w->kernel_names[kernel];
}

struct sy_trace_names sy_sim_names(const struct sy_sim *sim, const char *title, double bound_ns) {
    return (struct sy_trace_names){.context = sim,
                                   .title = title,
                                   .subtitle = "",
                                   .place_count = sim->machine->device_count,
                                   .memory_count = sim->machine->memory_count,
                                   .place = device_name,
                                   .memory = memory_name,
                                   .task = task_name,
                                   .group = task_group,
                                   .datum = datum_name,
                                   .kernel = kernel_name,
                                   .bound_ns = bound_ns};
}
