/* SPDX-License-Identifier: Apache-2.0
 *
 * summary: what all runs of a policy say together.
 *
 * In: cases with results. Out: geometric means with 95 % bootstrap intervals. Invariant: ratios
 * between policies are taken run by run, in the same world, before they are averaged; runs of one
 * graph count as one group, since another graph would differ more than another seed.
 */
#include "cli/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>

#define BOOTSTRAP_SEED 1

static double over_bound(const struct sy_case *item, uint32_t policy) {
    return sy_cost_slowdown(item->runs[policy].makespan_ns, item->bound_ns);
}

static double score(const struct sy_simulate *simulate, uint32_t index, uint32_t policy) {
    const struct sy_case *item = &simulate->cases[index];
    return simulate->args->stream ? item->runs[policy].slowdown_mean : over_bound(item, policy);
}

/* Cases of one workload: a graph under several seeds, or recorded arrivals. A drawn stream is a
 * workload of its own. */
static void number_groups(const struct sy_simulate *simulate, uint32_t *ret_groups) {
    const struct sy_case *cases = simulate->cases;
    for (uint32_t i = 0; i < simulate->case_count; i++) {
        bool same = i > 0 && cases[i].workload == cases[i - 1].workload;
        ret_groups[i] = i == 0 ? 0 : ret_groups[i - 1] + !same;
    }
}

static uint32_t find_best(const struct sy_simulate *simulate, double *values) {
    uint32_t best = 0;
    double best_score = INFINITY;
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        for (uint32_t i = 0; i < simulate->case_count; i++) {
            values[i] = score(simulate, i, p);
        }
        double mean = sy_geomean(values, simulate->case_count);
        if (mean < best_score) {
            best_score = mean;
            best = p;
        }
    }
    return best;
}

/* Logarithms of what has an interval: [statistic * case_count + case]. */
enum { OVER_BOUND, OVER_BEST, SLOWDOWN, SPREADS };

struct table {
    const double *logs;
    uint32_t case_count, statistic_count;
};

static void mean_logs(const void *context, const uint32_t *picks, size_t count, double *ret_means) {
    const struct table *table = context;
    for (uint32_t k = 0; k < table->statistic_count; k++) {
        const double *logs = table->logs + (size_t)k * table->case_count;
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += logs[picks[i]];
        }
        ret_means[k] = sum / (double)count;
    }
}

static void fill_logs(const struct sy_simulate *simulate, uint32_t best, double *logs) {
    uint32_t n = simulate->case_count;
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        double *here = logs + (size_t)p * SPREADS * n;
        for (uint32_t i = 0; i < n; i++) {
            const struct sy_case *item = &simulate->cases[i];
            here[OVER_BOUND * n + i] = log(over_bound(item, p));
            here[OVER_BEST * n + i] = log(score(simulate, i, p) / score(simulate, i, best));
            here[SLOWDOWN * n + i] = log(item->runs[p].slowdown_mean);
        }
    }
}

/* All from the same draws. */
static void add_spreads(const struct sy_simulate *simulate, uint32_t best,
                        struct sy_clusters clusters, struct sy_summary *summary) {
    uint32_t n = simulate->case_count, count = SPREADS * simulate->policies.count;
    double *logs = sy_need(calloc((size_t)n * count + 1, sizeof *logs));
    struct sy_interval *intervals = sy_need(calloc(count + 1u, sizeof *intervals));
    struct table table = {logs, n, count};
    fill_logs(simulate, best, logs);
    sy_bootstrap(n, clusters, BOOTSTRAP_SEED, mean_logs, &table, count, intervals);
    for (uint32_t k = 0; k < count; k++) {
        struct sy_summary *of = &summary[k / SPREADS];
        struct sy_spread *spread = k % SPREADS == OVER_BOUND  ? &of->over_bound
                                   : k % SPREADS == OVER_BEST ? &of->over_best
                                                              : &of->slowdown;
        *spread = (struct sy_spread){exp(sy_mean(logs + (size_t)k * n, n)), exp(intervals[k].low),
                                     exp(intervals[k].high)};
    }
    free(logs);
    free(intervals);
}

static void add_decisions(const struct sy_simulate *simulate, uint32_t policy, double *values,
                          struct sy_summary *summary) {
    uint32_t n = simulate->case_count;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = simulate->cases[i].runs[policy].decision_p50_ns;
    }
    summary->decision_p50_ns = simulate->timed ? sy_quantile(values, n, 0.5) : NAN;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = simulate->cases[i].runs[policy].decision_p99_ns;
    }
    summary->decision_p99_ns = simulate->timed ? sy_quantile(values, n, 0.5) : NAN;
    for (uint32_t i = 0; i < n; i++) {
        const struct sy_run *run = &simulate->cases[i].runs[policy];
        values[i] = run->policy_ns / run->makespan_ns;
    }
    summary->policy_share = simulate->timed ? sy_mean(values, n) : NAN;
}

static void add_accuracy(const struct sy_sim_accuracy *run, double share,
                         struct sy_sim_accuracy *sum) {
    for (uint32_t k = 0; k < SY_COUNT(run->error_points); k++) {
        sum->error_points[k] += run->error_points[k] * share;
    }
    sum->covered += run->covered * share;
    sum->slowdown_within_10 += run->slowdown_within_10 * share;
    sum->slowdown_covered += run->slowdown_covered * share;
    sum->slowdown_error += run->slowdown_error * share;
    sum->slowed += run->slowed * share;
    sum->task_count += run->task_count;
}

static void add_means(const struct sy_simulate *simulate, uint32_t policy,
                      struct sy_summary *summary) {
    for (uint32_t i = 0; i < simulate->case_count; i++) {
        const struct sy_run *run = &simulate->cases[i].runs[policy];
        double share = 1.0 / simulate->case_count;
        summary->within_0 += run->within_0 * share;
        summary->within_10 += run->within_10 * share;
        summary->within_20 += run->within_20 * share;
        summary->fairness += run->fairness * share;
        summary->energy_joules += run->energy_joules * share;
        summary->bytes_moved += run->bytes_moved * share;
        summary->jct_mean_ns += run->jct_mean_ns * share;
        summary->slowdown_long += run->slowdown_long * share;
        add_accuracy(&run->accuracy, share, &summary->accuracy);
    }
}

/* Over the jobs of all runs together. */
static void add_jobs(const struct sy_simulate *simulate, uint32_t policy, double *values,
                     struct sy_summary *summary) {
    size_t count = 0;
    for (uint32_t i = 0; i < simulate->case_count; i++) {
        const struct sy_case *item = &simulate->cases[i];
        uint32_t jobs = item->workload->job_count;
        for (uint32_t j = 0; j < jobs; j++) {
            values[count++] = item->slowdowns[(size_t)policy * jobs + j];
        }
    }
    summary->slowdown_mean = sy_mean(values, count);
    summary->slowdown_p99 = sy_quantile(values, count, 0.99);
}

struct sy_summary *sy_simulate_summary(const struct sy_simulate *simulate, uint32_t *ret_best) {
    size_t job_count = 0;
    for (uint32_t i = 0; i < simulate->case_count; i++) {
        job_count += simulate->cases[i].workload->job_count;
    }
    struct sy_summary *summary = sy_need(calloc(simulate->policies.count, sizeof(*summary)));
    double *values = sy_need(calloc(job_count + simulate->case_count, sizeof(*values)));
    uint32_t *groups = sy_need(calloc(simulate->case_count + 1u, sizeof(*groups)));
    number_groups(simulate, groups);
    *ret_best = find_best(simulate, values);
    add_spreads(simulate, *ret_best, (struct sy_clusters){.inner = groups}, summary);
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        add_decisions(simulate, p, values, &summary[p]);
        add_means(simulate, p, &summary[p]);
        add_jobs(simulate, p, values, &summary[p]);
    }
    free(values);
    free(groups);
    return summary;
}
