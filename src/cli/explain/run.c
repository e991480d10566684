/* SPDX-License-Identifier: Apache-2.0
 *
 * run: what a run as a whole tells: where predictions failed, which chain of tasks made it
 * as long as it was, and why devices were idle.
 */
#include "cli/explain/explain.h"
#include "cli/table.h"
#include "cli/units.h"

#define SHOWN 10 /* links at either end of a long chain */

static const char *name_of(const struct sy_explain *explain, uint32_t task, char *buffer) {
    return sy_graph_task_name(explain->record->graph, (sy_task_id){task}, buffer);
}

static void put_head(const struct sy_explain *explain, struct sy_buffer *out) {
    const struct sy_record *record = explain->record;
    uint32_t missing = record->graph->task_count - explain->ran_count;
    sy_print(
        out, "%s under %s%s%s: %u tasks in %s.\n", record->spec[0] ? record->spec : explain->path,
        record->policy[0] ? record->policy : "an unknown policy", record->host[0] ? " on " : "",
        record->host, record->graph->task_count, sy_units_time(record->makespan_ns).text);
    if (missing) {
        sy_print(out, "%u of them never ran.\n", missing);
    }
    if (record->decision_count == 0) {
        sy_print(out, "This policy does not record its decisions: there are times, but no "
                      "alternatives.\n");
    }
}

static void put_errors(const struct sy_explain *explain, const struct sy_explain_errors *errors,
                       struct sy_buffer *out) {
    static const char *const headers[] = {"task", "device", "predicted", "actual", "ratio"};
    if (errors->count == 0) {
        sy_print(out, "\nNo execution times were predicted.\n");
        return;
    }
    sy_print(out,
             "\nPredicted execution times of %u tasks were off by %.1f %% (median), %.1f %% "
             "(90th percentile).\nThe worst ones:\n",
             errors->count, 100 * errors->median_ratio, 100 * errors->p90_ratio);
    struct sy_table table;
    sy_table_init(&table, headers, "llrrr");
    for (uint32_t i = 0; i < errors->worst_count; i++) {
        uint32_t task = errors->worst[i];
        const struct sy_record_task *ran = &explain->record->tasks[task];
        char name[32];
        double actual = sy_explain_duration_ns(explain, task);
        sy_table_cell(&table, "%s|%s|%s|%s|%sx", name_of(explain, task, name),
                      sy_explain_device(explain, ran->device),
                      sy_units_time(ran->predicted_ns).text, sy_units_time(actual).text,
                      sy_units_number(actual / ran->predicted_ns, 2).text);
    }
    sy_table_write(&table, 2, sy_message_colour(stdout), out);
    sy_table_legend("predicted, actual: execution time; ratio: actual / predicted.", 2, out);
}

static void put_link(const struct sy_explain *explain, const struct sy_explain_link *link,
                     struct sy_table *table) {
    static const char *const causes[] = {"nobody", "its device", "an input"};
    const struct sy_record_task *ran = &explain->record->tasks[link->task];
    char name[32];
    sy_table_cell(table, "%s|%s|%s|%s|%s|%s", name_of(explain, link->task, name),
                  sy_explain_device(explain, ran->device), sy_units_time(ran->start_ns).text,
                  sy_units_time(sy_explain_duration_ns(explain, link->task)).text,
                  causes[link->cause], sy_units_time(link->gap_ns).text);
}

static void put_path(const struct sy_explain *explain, const struct sy_explain_link *links,
                     uint32_t count, struct sy_buffer *out) {
    static const char *const headers[] = {"task", "device", "start", "took", "waited for", "gap"};
    double executing = 0, gaps = 0;
    if (count == 0) {
        return;
    }
    struct sy_table table;
    sy_table_init(&table, headers, "llrrlr");
    for (uint32_t i = 0; i < count; i++) {
        executing += sy_explain_duration_ns(explain, links[i].task);
        gaps += links[i].gap_ns;
        if (i < SHOWN || i >= count - SHOWN || count <= 2 * SHOWN + 1) {
            put_link(explain, &links[i], &table);
        } else if (i == SHOWN) {
            sy_table_cell(&table, "... %u more", count - 2 * SHOWN);
            for (uint32_t c = 1; c < SY_COUNT(headers); c++) {
                sy_table_cell(&table, "%s", "");
            }
        }
    }
    sy_print(out,
             "\nThe chain of tasks that determined the makespan: %u tasks, %s executing, %s "
             "between them (transfers, wake-ups).\n",
             count, sy_units_time(executing).text, sy_units_time(gaps).text);
    sy_table_write(&table, 2, sy_message_colour(stdout), out);
    sy_table_legend("took: execution time; waited for: what ended last before the task could "
                    "start; gap: time from that end to the start of the task.",
                    2, out);
}

static void put_idle(const struct sy_explain *explain, const struct sy_explain_idle *idle,
                     struct sy_buffer *out) {
    static const char *const headers[] = {"device",        "tasks",  "busy",
                                          "nothing ready", "inputs", "held back"};
    double whole = explain->end_ns - explain->first_ns;
    struct sy_table table;
    sy_table_init(&table, headers, "lrrrrr");
    for (uint32_t d = 0; d < explain->record->machine->device_count; d++) {
        const double parts[] = {idle[d].busy_ns, idle[d].nothing_ns, idle[d].inputs_ns,
                                idle[d].held_ns};
        sy_table_cell(&table, "%s|%u", sy_explain_device(explain, d), idle[d].task_count);
        for (size_t i = 0; i < SY_COUNT(parts); i++) {
            if (whole > 0) {
                sy_table_cell(&table, "%.1f %%", 100 * parts[i] / whole);
            } else {
                sy_table_cell(&table, "-");
            }
        }
    }
    sy_print(out, "\nHow each device spent its time:\n");
    sy_table_write(&table, 2, sy_message_colour(stdout), out);
    sy_table_legend("nothing ready: no task that the device could run was waiting; inputs: its "
                    "next task was ready and placed, but the data or the runtime were not ready; "
                    "held back: tasks were waiting, but not for this device.",
                    2, out);
}

int sy_explain_run_text(struct sy_explain *explain, const struct sy_explain_overview *overview) {
    struct sy_buffer out = {0};
    put_head(explain, &out);
    sy_explain_guards_text(explain->record, &out);
    put_errors(explain, &overview->errors, &out);
    put_path(explain, overview->links, overview->link_count, &out);
    put_idle(explain, overview->idle, &out);
    return sy_output(&out);
}

struct sy_explain_overview sy_explain_overview(struct sy_explain *explain) {
    struct sy_explain_overview overview = {.errors = sy_explain_errors(explain),
                                           .idle = sy_explain_idle(explain)};
    overview.links = sy_explain_path(explain, &overview.link_count);
    return overview;
}
