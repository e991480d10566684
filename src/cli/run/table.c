/* SPDX-License-Identifier: Apache-2.0
 *
 * table: the results as a person reads them.
 *
 * In: all runs. Out: for one policy its figures and what each device did; for several a table of
 * them, in the order in which they were named.
 */
#include "cli/table.h"
#include "cli/run/run.h"
#include "cli/units.h"

#include <math.h>

static void put_title(const struct sy_runs *runs, struct sy_buffer *buffer) {
    const struct sy_record *record = runs->policies[0].record;
    sy_print(buffer, "%s: %s on %s of %s", record->spec,
             sy_units_count(record->graph->task_count, "task", "tasks").text,
             sy_units_count(record->machine->device_count, "device", "devices").text, record->host);
    sy_print(buffer, "%s%s\n\n", record->runtime ? ", " : "",
             record->runtime ? record->runtime : "");
}

static void put_moved(const struct sy_record *record, const struct sy_run_figures *figures,
                      struct sy_buffer *buffer) {
    const struct sy_machine *machine = record->machine;
    const char *separator = "";
    sy_print(buffer, "moved        ");
    for (uint32_t from = 0; from < machine->memory_count; from++) {
        for (uint32_t to = 0; to < machine->memory_count; to++) {
            double bytes = figures->route_bytes[(size_t)from * machine->memory_count + to];
            if (bytes > 0) {
                sy_print(buffer, "%s%s %s to %s", separator, sy_units_bytes(bytes).text,
                         machine->memories[from].name, machine->memories[to].name);
                separator = ", ";
            }
        }
    }
    sy_print(buffer, "%s\n", *separator ? "" : "nothing");
}

static void put_makespan(const struct sy_runs *runs, const struct sy_run_summary *summary,
                         struct sy_buffer *buffer) {
    sy_print(buffer, "makespan     %s", sy_units_time(summary->median_ns).text);
    if (runs->args->repeat > 1) {
        sy_print(buffer, ", median of %u runs (%s .. %s)", runs->args->repeat,
                 sy_units_time(summary->min_ns).text, sy_units_time(summary->max_ns).text);
    }
    double bound_ns = sy_run_bound_ns(runs);
    if (!isnan(bound_ns)) {
        sy_print(buffer, "\nlower bound  %s, from the times of the cost model; makespan/bound %.3f",
                 sy_units_time(bound_ns).text, summary->over_bound);
    }
    sy_print(buffer, "\n");
}

static void put_jobs(const struct sy_run_figures *figures, const struct sy_run_summary *summary,
                     struct sy_buffer *buffer) {
    if (figures->job_count) {
        sy_print(buffer,
                 "jobs         %u; slowdown: mean %s, p99 %s; time in the system: mean %s\n",
                 figures->job_count, sy_units_number(summary->slowdown_mean, 2).text,
                 sy_units_number(summary->slowdown_p99, 2).text,
                 sy_units_time(summary->jct_mean_ns).text);
    }
}

static void put_rest(const struct sy_record *record, const struct sy_run_figures *figures,
                     const struct sy_run_summary *summary, struct sy_buffer *buffer) {
    put_jobs(figures, summary, buffer);
    put_moved(record, figures, buffer);
    if (!isnan(summary->energy_joules)) {
        sy_print(buffer, "energy       %.3g J (%s)\n", summary->energy_joules,
                 record->energy_source ? record->energy_source : "source unknown");
    }
    if (isnan(figures->result_tolerance)) {
        sy_print(buffer, "result       not checked\n");
    } else {
        sy_print(buffer, "result       right: relative error %.2g, at most %.2g allowed\n",
                 summary->result_error, figures->result_tolerance);
    }
    for (uint32_t i = 0; i < record->note_count; i++) {
        sy_print(buffer, "%-12s %s\n", record->notes[i].key, record->notes[i].value);
    }
    if (!isnan(summary->decision_p50_ns)) {
        bool all = summary->decision_mean >= record->graph->task_count;
        sy_print(buffer, "decisions    %.0f%s; time per task: median %s, p99 %s\n",
                 summary->decision_mean, all ? "" : " recorded",
                 sy_units_time(summary->decision_p50_ns).text,
                 sy_units_time(summary->decision_p99_ns).text);
    }
}

/* Shares and tasks are means over the runs. */
void sy_run_put_devices(const struct sy_run_policy *policy, struct sy_buffer *buffer) {
    const struct sy_machine *machine = policy->record->machine;
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"device", "kind", "tasks", "busy"}, "llrr");
    for (uint32_t d = 0; d < machine->device_count; d++) {
        double busy = 0, tasks = 0;
        for (uint32_t i = 0; i < policy->run_count; i++) {
            const struct sy_run_figures *run = &policy->runs[i];
            busy += run->makespan_ns > 0 ? run->device_busy_ns[d] / run->makespan_ns : 0;
            tasks += run->device_tasks[d];
        }
        sy_table_cell(&table, "%s|%s|%.*f|%.1f %%", machine->devices[d].name,
                      sy_device_kind_name(machine->devices[d].kind), policy->run_count > 1,
                      tasks / policy->run_count, 100 * busy / policy->run_count);
    }
    sy_print(buffer, "\n");
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("busy: share of the makespan in which the device worked.", 0, buffer);
}

static void put_one(const struct sy_runs *runs, struct sy_buffer *buffer) {
    const struct sy_run_policy *policy = &runs->policies[0];
    struct sy_run_summary summary = sy_run_summarise(runs, 0);
    sy_print(buffer, "policy       %s\n", policy->name);
    put_makespan(runs, &summary, buffer);
    put_rest(policy->record, &policy->runs[policy->fastest], &summary, buffer);
    sy_run_put_devices(policy, buffer);
}

static void put_row(const struct sy_run_policy *policy, const struct sy_run_summary *summary,
                    struct sy_table *table) {
    sy_table_cell(table, "%s|%s|%s .. %s|%.3f|%.3f .. %.3f|%s|%s|%s", policy->name,
                  sy_units_time(summary->median_ns).text, sy_units_time(summary->min_ns).text,
                  sy_units_time(summary->max_ns).text, summary->over_baseline, summary->over_low,
                  summary->over_high, sy_units_number(summary->over_bound, 3).text,
                  sy_units_bytes(summary->moved_bytes).text,
                  sy_units_number(summary->energy_joules, 1).text);
    sy_table_cell(table, "%s", sy_units_time(summary->decision_p50_ns).text);
    sy_table_cell(table, "%s", sy_units_time(summary->decision_p99_ns).text);
}

static void put_job_table(const struct sy_runs *runs, struct sy_buffer *buffer) {
    char versus[80];
    snprintf(versus, sizeof(versus), "vs %s", runs->policies[0].name);
    const char *const headers[] = {"policy", "slowdown",      "p99",
                                   versus,   "in the system", "makespan"};
    struct sy_table table;
    sy_table_init(&table, headers, "lrrrrr");
    double first = NAN;
    for (uint32_t p = 0; p < runs->policy_count; p++) {
        struct sy_run_summary summary = sy_run_summarise(runs, p);
        first = p ? first : summary.slowdown_mean;
        sy_table_cell(&table, "%s|%s|%s|%s|%s|%s", runs->policies[p].name,
                      sy_units_number(summary.slowdown_mean, 3).text,
                      sy_units_number(summary.slowdown_p99, 3).text,
                      sy_units_number(summary.slowdown_mean / first, 3).text,
                      sy_units_time(summary.jct_mean_ns).text,
                      sy_units_time(summary.median_ns).text);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("slowdown: time that a job spends in the system over what it takes alone, mean "
                    "and 99th percentile over the jobs of all runs; in the system: mean of that "
                    "time; makespan: median.",
                    0, buffer);
    sy_print(buffer, "\n%s of each policy, in turn, of %s\n",
             sy_units_count(runs->args->repeat, "run", "runs").text,
             sy_units_count(runs->policies[0].runs[0].job_count, "job", "jobs").text);
}

static void put_several(const struct sy_runs *runs, struct sy_buffer *buffer) {
    char versus[80];
    snprintf(versus, sizeof(versus), "vs %s", runs->policies[0].name);
    const char *const headers[] = {
        "policy",         "makespan", "min .. max", versus,         "95 % interval",
        "makespan/bound", "moved",    "joules",     "decision p50", "p99"};
    struct sy_table table;
    sy_table_init(&table, headers, "lrrrrrrrrr");
    for (uint32_t p = 0; p < runs->policy_count; p++) {
        struct sy_run_summary summary = sy_run_summarise(runs, p);
        put_row(&runs->policies[p], &summary, &table);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("makespan: median; vs: ratio of the medians; makespan/bound: makespan divided "
                    "by a lower bound that no schedule can beat; moved: bytes copied between "
                    "memories; decision p50, p99: time to place a task.",
                    0, buffer);
    sy_print(buffer, "\n%s of each policy, in turn; medians and their ratios; lower bound %s\n",
             sy_units_count(runs->args->repeat, "run", "runs").text,
             sy_units_time(sy_run_bound_ns(runs)).text);
}

int sy_run_print_table(const struct sy_runs *runs) {
    struct sy_buffer buffer = {0};
    put_title(runs, &buffer);
    (runs->policy_count == 1 ? put_one
     : runs->args->stream    ? put_job_table
                             : put_several)(runs, &buffer);
    return sy_output(&buffer);
}
