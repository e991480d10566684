/* SPDX-License-Identifier: Apache-2.0
 *
 * json: what task.c and run.c say, as one object "symph-explain-1".
 */
#include "base/json.h"
#include "cli/explain/explain.h"

static void put_name(struct sy_json_writer *writer, const char *key,
                     const struct sy_explain *explain, uint32_t task) {
    char name[32];
    const struct sy_graph *graph = explain->record->graph;
    sy_json_member_string(
        writer, key, task == SY_NONE ? NULL : sy_graph_task_name(graph, (sy_task_id){task}, name));
}

static void put_device(struct sy_json_writer *writer, const char *key,
                       const struct sy_explain *explain, uint32_t device) {
    sy_json_member_string(writer, key,
                          device == SY_NONE ? NULL : sy_explain_device(explain, device));
}

static void open(struct sy_json_writer *writer, const struct sy_explain *explain) {
    sy_json_print(writer,
                  "{schema: %s, run: {file: %s, spec: %s, policy: %s, tasks: %u, decisions: %u, "
                  "makespan_ns: %g}",
                  "symph-explain-1", explain->path, explain->record->spec, explain->record->policy,
                  explain->record->graph->task_count, explain->record->decision_count,
                  explain->record->makespan_ns);
}

/* --- a task ------------------------------------------------------------------------------------
 */

static void put_alternative(struct sy_json_writer *writer, const struct sy_explain *explain,
                            const struct sy_decided *decided, uint32_t index) {
    const struct sy_alternative *item = &decided->alternatives[index];
    struct sy_explain_hindsight hindsight = sy_explain_hindsight(explain, decided, item);
    sy_json_open(writer, '{');
    put_device(writer, "device", explain, item->device);
    sy_json_print(writer,
                  "queue_ns: %g, inputs_ns: %g, exec_ns: %g, finish_ns: %g, log_sigma: %g, "
                  "hindsight: {free_ns: %g, end_ns: %g, like_it: %u, median_ns: %g}}",
                  item->queue_ns, item->inputs_ns, item->exec_ns, item->finish_ns, item->log_sigma,
                  hindsight.free_ns, hindsight.end_ns, hindsight.seen.count,
                  hindsight.seen.median_ns);
}

static void put_decision(struct sy_json_writer *writer, const struct sy_explain *explain,
                         const struct sy_decided *decided) {
    sy_json_key(writer, "decision");
    if (!decided) {
        sy_json_put_null(writer);
        return;
    }
    sy_json_print(writer, "{at_ns: %g", decided->at_ns);
    put_device(writer, "device", explain, decided->device);
    sy_json_print(writer, "priority: %g, waiting: %u", decided->priority, decided->ready_count);
    sy_explain_reason_json(&decided->reason, writer);
    sy_json_open_member(writer, "alternatives", '[');
    for (uint32_t i = 0; i < decided->alternative_count; i++) {
        put_alternative(writer, explain, decided, i);
    }
    sy_json_print(writer, "]}");
}

int sy_explain_task_json(struct sy_explain *explain, uint32_t task) {
    struct sy_json_writer writer = {.compact_from = 5};
    const struct sy_record_task *ran = &explain->record->tasks[task];
    open(&writer, explain);
    sy_json_print(&writer, "task: {number: %u", task);
    put_name(&writer, "name", explain, task);
    sy_json_member_string(&writer, "kernel", sy_explain_kernel(explain, task));
    put_device(&writer, "device", explain, ran->device);
    sy_json_print(&writer,
                  "submitted_ns: %g, ready_ns: %g, start_ns: %g, end_ns: %g, predicted_ns: %g, "
                  "actual_ns: %g, stall_ns: %g, aside_ns: %g",
                  ran->submitted_ns, ran->ready_ns, ran->start_ns, ran->end_ns, ran->predicted_ns,
                  sy_explain_duration_ns(explain, task), explain->stall_ns[task], ran->aside_ns);
    put_name(&writer, "last_input", explain, sy_explain_last_input(explain, task));
    put_decision(&writer, explain, sy_explain_decided(explain, task));
    sy_json_print(&writer, "}}");
    return sy_output(&writer.buffer);
}

/* --- the run -----------------------------------------------------------------------------------
 */

static void put_predictions(struct sy_json_writer *writer, const struct sy_explain *explain,
                            const struct sy_explain_errors *errors) {
    sy_json_print(
        writer,
        "predictions: {count: %u, median_abs_error_ratio: %g, p90_abs_error_ratio: %g, worst: [",
        errors->count, errors->median_ratio, errors->p90_ratio);
    for (uint32_t i = 0; i < errors->worst_count; i++) {
        const struct sy_record_task *ran = &explain->record->tasks[errors->worst[i]];
        sy_json_open(writer, '{');
        put_name(writer, "name", explain, errors->worst[i]);
        put_device(writer, "device", explain, ran->device);
        sy_json_print(writer, "predicted_ns: %g, actual_ns: %g}", ran->predicted_ns,
                      sy_explain_duration_ns(explain, errors->worst[i]));
    }
    sy_json_print(writer, "]}");
}

static void put_path(struct sy_json_writer *writer, const struct sy_explain *explain,
                     const struct sy_explain_link *links, uint32_t count) {
    static const char *const causes[] = {"nothing", "device", "input"};
    sy_json_open_member(writer, "critical_path", '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_record_task *ran = &explain->record->tasks[links[i].task];
        sy_json_open(writer, '{');
        put_name(writer, "name", explain, links[i].task);
        put_device(writer, "device", explain, ran->device);
        sy_json_print(writer, "start_ns: %g, end_ns: %g, waited_for: %s, gap_ns: %g}",
                      ran->start_ns, ran->end_ns, causes[links[i].cause], links[i].gap_ns);
    }
    sy_json_close(writer, ']');
}

static void put_devices(struct sy_json_writer *writer, const struct sy_explain *explain,
                        const struct sy_explain_idle *idle) {
    sy_json_open_member(writer, "devices", '[');
    for (uint32_t d = 0; d < explain->record->machine->device_count; d++) {
        sy_json_open(writer, '{');
        put_device(writer, "device", explain, d);
        sy_json_print(
            writer,
            "tasks: %u, busy_ns: %g, inputs_ns: %g, nothing_ready_ns: %g, held_back_ns: %g}",
            idle[d].task_count, idle[d].busy_ns, idle[d].inputs_ns, idle[d].nothing_ns,
            idle[d].held_ns);
    }
    sy_json_close(writer, ']');
}

int sy_explain_run_json(struct sy_explain *explain, const struct sy_explain_overview *overview) {
    struct sy_json_writer writer = {.compact_from = 4};
    open(&writer, explain);
    sy_json_open_member(&writer, "overview", '{');
    sy_explain_guards_json(explain->record, &writer);
    put_predictions(&writer, explain, &overview->errors);
    put_path(&writer, explain, overview->links, overview->link_count);
    put_devices(&writer, explain, overview->idle);
    sy_json_print(&writer, "}}");
    return sy_output(&writer.buffer);
}
