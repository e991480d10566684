/* SPDX-License-Identifier: Apache-2.0
 *
 * table: the results as a person reads them, best policy first.
 *
 * In: cases and their summary. Out: one table of policies, and one of graphs on request.
 */
#include "cli/table.h"
#include "cli/simulate/simulate.h"
#include "cli/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const headers[] = {
    "policy",        "makespan/bound", "95 % interval", "vs best",
    "95 % interval", "job slowdown",   "p99 slowdown",  "within 10 %",
    "fairness",      "decision p50",   "p99",           "deciding/makespan"};

/* Policies in the order of their score: an insertion sort keeps equal ones as they were named. */
static uint32_t *rank_policies(const struct sy_summary *summary, uint32_t count) {
    uint32_t *order = sy_need(calloc(count, sizeof(*order)));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        while (at > 0 && summary[order[at - 1]].over_best.value > summary[i].over_best.value) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    return order;
}

static void put_spread(const struct sy_spread *spread, struct sy_table *table) {
    sy_table_cell(table, "%.3f|%.3f .. %.3f", spread->value, spread->low, spread->high);
}

static void put_policy(const struct sy_simulate *simulate, uint32_t policy,
                       const struct sy_summary *summary, struct sy_table *table) {
    sy_table_cell(table, "%s", simulate->policies.items[policy]);
    put_spread(&summary->over_bound, table);
    put_spread(&summary->over_best, table);
    sy_table_cell(table, "%.2f|%.2f|%.1f %%|%.3f", summary->slowdown_mean, summary->slowdown_p99,
                  100 * summary->within_10, summary->fairness);
    if (simulate->timed) {
        sy_table_cell(table, "%s|%s|%.2f %%", sy_units_time(summary->decision_p50_ns).text,
                      sy_units_time(summary->decision_p99_ns).text, 100 * summary->policy_share);
    }
}

static void put_title(const struct sy_simulate *simulate, struct sy_buffer *buffer) {
    const struct sy_simulate_args *args = simulate->args;
    sy_print(buffer, "%s: %s", simulate->machine->name,
             sy_units_count(simulate->machine->device_count, "device", "devices").text);
    if (args->stream) {
        sy_print(buffer, ", %s",
                 sy_units_count(simulate->cases[0].workload->job_count, "job", "jobs").text);
        if (args->arrivals) {
            sy_print(buffer, " as recorded");
        } else {
            sy_print(buffer, " of %s at load %g",
                     sy_units_count(args->tenants, "tenant", "tenants").text, args->load);
        }
    }
    sy_print(buffer, "; %s, seeds %llu to %llu",
             sy_units_count(simulate->graphs.count, "graph", "graphs").text,
             (unsigned long long)args->seed, (unsigned long long)(args->seed + args->seeds - 1));
    if (args->noise > 0) {
        sy_print(buffer, ", noise %g", args->noise);
    }
    sy_print(buffer, "%s%s%s\n", args->contention ? ", contention" : "",
             args->preempt ? ", preemption" : "", args->split ? ", tasks in parts" : "");
    if (simulate->charge) {
        sy_print(buffer, "What policies took to plan and to decide on this machine is "
                         "charged to the clock: not reproducible.\n");
    }
    if (simulate->asked) {
        sy_print(buffer, "Interrupted: of %llu runs these %llu are compared.\n",
                 (unsigned long long)simulate->asked,
                 (unsigned long long)simulate->case_count * simulate->policies.count);
    }
    sy_print(buffer, "\n");
}

/* The cases of a graph are neighbours. */
static uint32_t count_seeds(const struct sy_simulate *simulate, uint32_t first) {
    uint32_t at = first;
    while (at < simulate->case_count && simulate->cases[at].graph == simulate->cases[first].graph) {
        at++;
    }
    return at - first;
}

/* Geometric mean over the seeds of one graph. */
static void put_graph(const struct sy_simulate *simulate, uint32_t first, uint32_t seeds,
                      const uint32_t *order, struct sy_table *table) {
    double *values = sy_need(calloc(seeds, sizeof(*values)));
    sy_table_cell(table, "%s", simulate->cases[first].graph);
    sy_table_cell(table, "%s", sy_units_time(simulate->cases[first].bound_ns).text);
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        for (uint32_t s = 0; s < seeds; s++) {
            const struct sy_case *item = &simulate->cases[first + s];
            values[s] = sy_cost_slowdown(item->runs[order[p]].makespan_ns, item->bound_ns);
        }
        sy_table_cell(table, "%.3f", sy_geomean(values, seeds));
    }
    free(values);
}

static void put_graphs(const struct sy_simulate *simulate, const uint32_t *order,
                       struct sy_buffer *buffer) {
    uint32_t columns = simulate->policies.count + 2;
    const char **names = sy_need(calloc(columns, sizeof(*names)));
    char *align = sy_need(calloc(columns + 1, 1));
    names[0] = "graph";
    names[1] = "lower bound";
    memset(align, 'r', columns);
    align[0] = 'l';
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        names[p + 2] = simulate->policies.items[order[p]];
    }
    struct sy_table table;
    sy_table_init(&table, names, align);
    for (uint32_t i = 0, seeds; i < simulate->case_count; i += seeds) {
        seeds = count_seeds(simulate, i);
        put_graph(simulate, i, seeds, order, &table);
    }
    sy_print(buffer, "\nMakespan / lower bound:\n");
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("lower bound: the larger of critical path and area; below each policy: "
                    "makespan / lower bound, geometric mean over the seeds.",
                    0, buffer);
    free(names);
    free(align);
}

const char *sy_simulate_resource(enum sy_resource_kind kind) {
    static const char *const names[] = {"dram", "link", "switch", "interconnect"};
    return names[kind];
}

static void put_judgement(const struct sy_simulate *simulate, const struct sy_summary *summary,
                          const uint32_t *order, struct sy_buffer *buffer) {
    static const char *const titles[] = {"policy",       "dram error",           "link error",
                                         "switch",       "interconnect",         "in band",
                                         "tasks slowed", "slowdown within 10 %", "in band"};
    struct sy_table table;
    sy_table_init(&table, titles, "lrrrrrrrr");
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        const struct sy_sim_accuracy *a = &summary[order[p]].accuracy;
        sy_table_cell(&table, "%s", simulate->policies.items[order[p]]);
        for (uint32_t k = 0; k < SY_COUNT(a->error_points); k++) {
            sy_table_cell(&table, "%s", sy_units_number(a->error_points[k], 1).text);
        }
        sy_table_cell(&table, "%s|%s|%s|%s", sy_units_percent(a->covered).text,
                      sy_units_percent(a->slowed).text,
                      sy_units_percent(a->slowdown_within_10).text,
                      sy_units_percent(a->slowdown_covered).text);
    }
    sy_print(buffer,
             "\nAccuracy of what policies knew about shared resources, and of the slowdowns "
             "predicted from it:\n");
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend(
        "error: mean difference between the estimated and the true use of a resource, in "
        "percentage points; in band: share of the time, or of tasks, in which the truth was within "
        "the 95 % interval; tasks slowed: tasks that took over 10 % longer than alone; slowdown "
        "within 10 %: tasks whose slowdown was predicted within 10 %.",
        0, buffer);
}

int sy_simulate_print_table(const struct sy_simulate *simulate, const struct sy_summary *summary) {
    struct sy_buffer buffer = {0};
    uint32_t *order = rank_policies(summary, simulate->policies.count);
    struct sy_table table;
    sy_table_init(&table, headers, simulate->timed ? "lrrrrrrrrrrr" : "lrrrrrrrr");
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        put_policy(simulate, order[p], &summary[order[p]], &table);
    }
    put_title(simulate, &buffer);
    sy_table_write(&table, 0, sy_message_colour(stdout), &buffer);
    sy_table_legend("makespan/bound: makespan divided by a lower bound that no schedule can beat "
                    "(geometric mean over graphs and seeds); vs best: ratio to the best policy; 95 "
                    "% interval: bootstrap over graphs, then seeds; job slowdown: time from "
                    "arrival to end of a job / lower bound of the job alone; within 10 %: tasks "
                    "that took at most 10 % longer than alone; fairness: Jain's index of the "
                    "tenants' slowdowns, 1 is even; decision p50, p99: time to place a task; "
                    "deciding/makespan: processor time of the policy / makespan.",
                    0, &buffer);
    if (simulate->args->judge) {
        put_judgement(simulate, summary, order, &buffer);
    }
    if (simulate->args->per_graph) {
        put_graphs(simulate, order, &buffer);
    }
    free(order);
    return sy_output(&buffer);
}
