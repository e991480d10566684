/* SPDX-License-Identifier: Apache-2.0
 *
 * json: what task.c and run.c say, as one object "symph-explain-1".
 */
#include "base/json.h"
#include "cli/explain/explain.h"

#include <math.h>

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
    sy_json_open(writer, '{');
    sy_json_member_string(writer, "schema", "symph-explain-1");
    sy_json_open_member(writer, "run", '{');
    sy_json_member_string(writer, "file", explain->path);
    sy_json_member_string(writer, "spec", explain->record->spec);
    sy_json_member_string(writer, "policy", explain->record->policy);
    sy_json_member_u64(writer, "tasks", explain->record->graph->task_count);
    sy_json_member_u64(writer, "decisions", explain->record->decision_count);
    sy_json_member_number(writer, "makespan_ns", explain->record->makespan_ns);
    sy_json_close(writer, '}');
}

static int close(struct sy_json_writer *writer, int code) {
    sy_json_close(writer, '}');
    writer->buffer.failed = writer->buffer.failed || code < 0;
    return sy_output(&writer->buffer);
}

/* --- a task ------------------------------------------------------------------------------------
 */

static int put_alternative(struct sy_json_writer *writer, const struct sy_explain *explain,
                           const struct sy_decided *decided, uint32_t index) {
    const struct sy_alternative *item = &decided->alternatives[index];
    struct sy_explain_hindsight hindsight;
    int r = sy_explain_hindsight(explain, decided, item, &hindsight);
    if (r < 0) {
        return r;
    }
    sy_json_open(writer, '{');
    put_device(writer, "device", explain, item->device);
    sy_json_member_number(writer, "queue_ns", item->queue_ns);
    sy_json_member_number(writer, "inputs_ns", item->inputs_ns);
    sy_json_member_number(writer, "exec_ns", item->exec_ns);
    sy_json_member_number(writer, "finish_ns", item->finish_ns);
    sy_json_member_number(writer, "log_sigma", item->log_sigma);
    sy_json_open_member(writer, "hindsight", '{');
    sy_json_member_number(writer, "free_ns", hindsight.free_ns);
    sy_json_member_number(writer, "end_ns", hindsight.end_ns);
    sy_json_member_u64(writer, "like_it", hindsight.seen.count);
    sy_json_member_number(writer, "median_ns", hindsight.seen.median_ns);
    sy_json_close(writer, '}');
    sy_json_close(writer, '}');
    return 0;
}

static int put_decision(struct sy_json_writer *writer, const struct sy_explain *explain,
                        const struct sy_decided *decided) {
    int r = 0;
    sy_json_key(writer, "decision");
    if (!decided) {
        sy_json_put_null(writer);
        return 0;
    }
    sy_json_open(writer, '{');
    sy_json_member_number(writer, "at_ns", decided->at_ns);
    put_device(writer, "device", explain, decided->device);
    sy_json_member_number(writer, "priority", decided->priority);
    sy_json_member_u64(writer, "waiting", decided->ready_count);
    sy_explain_reason_json(&decided->reason, writer);
    sy_json_open_member(writer, "alternatives", '[');
    for (uint32_t i = 0; r == 0 && i < decided->alternative_count; i++) {
        r = put_alternative(writer, explain, decided, i);
    }
    sy_json_close(writer, ']');
    sy_json_close(writer, '}');
    return r;
}

int sy_explain_task_json(struct sy_explain *explain, uint32_t task) {
    struct sy_json_writer writer = {.compact_from = 5};
    const struct sy_record_task *ran = &explain->record->tasks[task];
    open(&writer, explain);
    sy_json_open_member(&writer, "task", '{');
    sy_json_member_u64(&writer, "number", task);
    put_name(&writer, "name", explain, task);
    sy_json_member_string(&writer, "kernel", sy_explain_kernel(explain, task));
    put_device(&writer, "device", explain, ran->device);
    sy_json_member_number(&writer, "submitted_ns", ran->submitted_ns);
    sy_json_member_number(&writer, "ready_ns", ran->ready_ns);
    sy_json_member_number(&writer, "start_ns", ran->start_ns);
    sy_json_member_number(&writer, "end_ns", ran->end_ns);
    sy_json_member_number(&writer, "predicted_ns", ran->predicted_ns);
    sy_json_member_number(&writer, "actual_ns", sy_explain_duration_ns(explain, task));
    sy_json_member_number(&writer, "stall_ns", explain->stall_ns[task]);
    put_name(&writer, "last_input", explain, sy_explain_last_input(explain, task));
    int r = put_decision(&writer, explain, sy_explain_decided(explain, task));
    sy_json_close(&writer, '}');
    return close(&writer, r);
}

/* --- the run -----------------------------------------------------------------------------------
 */

static void put_predictions(struct sy_json_writer *writer, const struct sy_explain *explain,
                            const struct sy_explain_errors *errors) {
    sy_json_open_member(writer, "predictions", '{');
    sy_json_member_u64(writer, "count", errors->count);
    sy_json_member_number(writer, "median_abs_error_ratio", errors->median_ratio);
    sy_json_member_number(writer, "p90_abs_error_ratio", errors->p90_ratio);
    sy_json_open_member(writer, "worst", '[');
    for (uint32_t i = 0; i < errors->worst_count; i++) {
        const struct sy_record_task *ran = &explain->record->tasks[errors->worst[i]];
        sy_json_open(writer, '{');
        put_name(writer, "name", explain, errors->worst[i]);
        put_device(writer, "device", explain, ran->device);
        sy_json_member_number(writer, "predicted_ns", ran->predicted_ns);
        sy_json_member_number(writer, "actual_ns",
                              sy_explain_duration_ns(explain, errors->worst[i]));
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
    sy_json_close(writer, '}');
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
        sy_json_member_number(writer, "start_ns", ran->start_ns);
        sy_json_member_number(writer, "end_ns", ran->end_ns);
        sy_json_member_string(writer, "waited_for", causes[links[i].cause]);
        sy_json_member_number(writer, "gap_ns", links[i].gap_ns);
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
}

static void put_devices(struct sy_json_writer *writer, const struct sy_explain *explain,
                        const struct sy_explain_idle *idle) {
    sy_json_open_member(writer, "devices", '[');
    for (uint32_t d = 0; d < explain->record->machine->device_count; d++) {
        sy_json_open(writer, '{');
        put_device(writer, "device", explain, d);
        sy_json_member_u64(writer, "tasks", idle[d].task_count);
        sy_json_member_number(writer, "busy_ns", idle[d].busy_ns);
        sy_json_member_number(writer, "inputs_ns", idle[d].inputs_ns);
        sy_json_member_number(writer, "nothing_ready_ns", idle[d].nothing_ns);
        sy_json_member_number(writer, "held_back_ns", idle[d].held_ns);
        sy_json_close(writer, '}');
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
    sy_json_close(&writer, '}');
    return close(&writer, 0);
}
