/* SPDX-License-Identifier: Apache-2.0
 *
 * figures: what a record says in numbers, and what the records of many runs say together.
 *
 * In: records. Out: figures per run, medians and ratios per policy. The lower bound takes the cost
 * model's times where the run itself was not faster: with its own times alone a slow run would
 * excuse itself. Invariant: no run is shorter than the bound; ratios between policies are those of
 * the medians that are shown.
 */
#include "cli/run/run.h"

#include <math.h>
#include <stdlib.h>

#define BOOTSTRAP_SEED 1

/* The model's time, but no more than the task has just taken there: a bound that the run itself
 * undercuts would be none. */
static double time_on(const struct sy_record *record, uint32_t task, uint32_t class_index) {
    size_t at = (size_t)task * record->machine->class_count + class_index;
    double time_ns = record->model_ns ? record->model_ns[at] : NAN;
    const struct sy_record_task *ran = &record->tasks[task];
    if (ran->device != SY_NONE &&
        record->machine->devices[ran->device].class_index == class_index &&
        ran->end_ns >= ran->start_ns) {
        time_ns = fmin(time_ns, sy_record_took_ns(ran));
    }
    return isnan(time_ns) ? INFINITY : time_ns;
}

static double bound_ns(const struct sy_record *record) {
    struct sy_job job = {.graph = record->graph, .weight = 1};
    struct sy_workload *workload = NULL;
    if (sy_workload_create(record->machine, &job, 1, NULL, &workload, NULL) < 0) {
        return NAN;
    }
    bool known = true;
    for (uint32_t t = 0; t < workload->task_count; t++) {
        workload->best_ns[t] = INFINITY;
        for (uint32_t c = 0; c < workload->class_count; c++) {
            double time_ns = time_on(record, t, c);
            workload->time_ns[(size_t)t * workload->class_count + c] = time_ns;
            workload->best_ns[t] = fmin(workload->best_ns[t], time_ns);
        }
        known = known && isfinite(workload->best_ns[t]);
    }
    double bound = known ? sy_cost_isolated_ns(workload, 0) : NAN;
    sy_workload_destroy(workload);
    return bound > 0 ? bound : NAN;
}

void sy_run_figures(const struct sy_record *record, struct sy_arena *arena,
                    struct sy_run_figures *ret_figures) {
    const struct sy_machine *machine = record->machine;
    size_t routes = (size_t)machine->memory_count * machine->memory_count;
    struct sy_run_figures figures = {
        .makespan_ns = record->makespan_ns,
        .bound_ns = bound_ns(record),
        .energy_joules = record->energy_joules,
        .result_error = record->result_error,
        .result_tolerance = record->result_tolerance,
        .decision_p50_ns = record->decision_p50_ns,
        .decision_p99_ns = record->decision_p99_ns,
        .decision_count = record->decision_count,
        .route_bytes = sy_need(sy_arena_alloc(arena, routes, sizeof(double))),
        .device_busy_ns = sy_need(sy_arena_alloc(arena, machine->device_count, sizeof(double))),
        .device_tasks = sy_need(sy_arena_alloc(arena, machine->device_count, sizeof(uint32_t)))};
    for (size_t i = 0; record->moved_bytes && i < routes; i++) {
        figures.route_bytes[i] = record->moved_bytes[i];
        figures.moved_bytes += record->moved_bytes[i];
    }
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        const struct sy_record_task *task = &record->tasks[t];
        if (task->device != SY_NONE) {
            figures.device_tasks[task->device]++;
            figures.device_busy_ns[task->device] += sy_record_took_ns(task);
        }
    }
    sy_run_job_figures(record, arena, &figures);
    *ret_figures = figures;
}

/* An error that is no number is the worst of all, and reads as NAN beside a tolerance. */
bool sy_run_is_wrong(const struct sy_run_figures *figures) {
    return !isnan(figures->result_tolerance) &&
           !(figures->result_error <= figures->result_tolerance);
}

/* Of those that are numbers. */
static double median(double *values, size_t count) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            values[known++] = values[i];
        }
    }
    return sy_quantile(values, known, 0.5);
}

double sy_run_bound_ns(const struct sy_runs *runs) {
    double bound_ns = NAN;
    for (uint32_t p = 0; p < runs->policy_count; p++) {
        for (uint32_t i = 0; i < runs->policies[p].run_count; i++) {
            bound_ns = fmin(bound_ns, runs->policies[p].runs[i].bound_ns);
        }
    }
    return bound_ns;
}

/* One figure of all runs of a policy. */
static double median_of(const struct sy_run_policy *policy, size_t offset, double *values) {
    for (uint32_t i = 0; i < policy->run_count; i++) {
        values[i] = *(const double *)((const char *)&policy->runs[i] + offset);
    }
    return median(values, policy->run_count);
}

struct versus {
    const struct sy_run_policy *policy, *baseline;
    double *values; /* room for one per run */
};

static double median_makespan(const struct sy_run_policy *policy, const uint32_t *picks,
                              size_t count, double *values) {
    for (size_t i = 0; i < count; i++) {
        values[i] = policy->runs[picks[i]].makespan_ns;
    }
    return sy_quantile(values, count, 0.5);
}

/* Runs are drawn in pairs: those of one turn met the same neighbours. */
static void ratio_of_medians(const void *context, const uint32_t *picks, size_t count,
                             double *ret_ratio) {
    const struct versus *versus = context;
    *ret_ratio = median_makespan(versus->policy, picks, count, versus->values) /
                 median_makespan(versus->baseline, picks, count, versus->values);
}

/* The ratio of the medians that are shown, not the mean of ratios, which may be another. */
static void compare(const struct sy_run_policy *policy, const struct sy_run_policy *baseline,
                    double *values, struct sy_run_summary *summary) {
    struct versus versus = {policy, baseline, values};
    struct sy_interval interval;
    sy_bootstrap(policy->run_count, (struct sy_clusters){0}, BOOTSTRAP_SEED, ratio_of_medians,
                 &versus, 1, &interval);
    summary->over_baseline =
        summary->median_ns /
        median_of(baseline, offsetof(struct sy_run_figures, makespan_ns), values);
    summary->over_low = interval.low;
    summary->over_high = interval.high;
}

#define MEDIAN(field) median_of(policy, offsetof(struct sy_run_figures, field), values)

struct sy_run_summary sy_run_summarise(const struct sy_runs *runs, uint32_t index) {
    const struct sy_run_policy *policy = &runs->policies[index];
    double *values = sy_need(calloc(policy->run_count + 1u, sizeof(*values)));
    struct sy_run_summary summary = {.median_ns = MEDIAN(makespan_ns), /* sorts the values */
                                     .min_ns = INFINITY,
                                     .max_ns = 0,
                                     .moved_bytes = MEDIAN(moved_bytes),
                                     .energy_joules = MEDIAN(energy_joules),
                                     .result_error = NAN,
                                     .decision_p50_ns = MEDIAN(decision_p50_ns),
                                     .decision_p99_ns = MEDIAN(decision_p99_ns)};
    for (uint32_t i = 0; i < policy->run_count; i++) {
        const struct sy_run_figures *run = &policy->runs[i];
        summary.min_ns = fmin(summary.min_ns, run->makespan_ns);
        summary.max_ns = fmax(summary.max_ns, run->makespan_ns);
        summary.result_error = fmax(summary.result_error, run->result_error);
        summary.decision_mean += (double)run->decision_count / policy->run_count;
    }
    summary.over_bound = summary.median_ns / sy_run_bound_ns(runs);
    compare(policy, &runs->policies[0], values, &summary);
    sy_run_summarise_jobs(policy, &summary);
    free(values);
    return summary;
}
