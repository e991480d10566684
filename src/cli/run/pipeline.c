/* SPDX-License-Identifier: Apache-2.0
 *
 * pipeline: symph run --pipeline, items of a stream through the plan that suits them.
 *
 * In: a pipeline of a plug-in, an objective, constraints. Out: what each plan did, or one JSON
 * object "symph-run-pipeline-1"; with --calibrate a file of times. The engine plans, since it knows
 * which devices it has; here is only asked and shown.
 */
#include "base/json.h"
#include "cli/plan/constraints.h"
#include "cli/run/run.h"
#include "cli/table.h"
#include "cli/units.h"

#include <math.h>
#include <string.h>

#define PIPELINE_POLICY "starpu:eager" /* no task is ever left to it */

/* --- asking -------------------------------------------------------------------------------------
 */
static int check_objective(const struct sy_command *command, const char *name) {
    const char *names[SY_PLAN_OBJECTIVE_COUNT];
    for (int i = 0; i < SY_PLAN_OBJECTIVE_COUNT; i++) {
        names[i] = sy_plan_objective_name((enum sy_plan_objective)i);
        if (!name || strcmp(name, names[i]) == 0) {
            return SY_EXIT_OK;
        }
    }
    const char *near = sy_nearest(name, names, SY_PLAN_OBJECTIVE_COUNT);
    return sy_options_usage(
        command, "--objective is throughput, latency, energy, money or balanced, not '%s'%s%s%s",
        name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* The first option that is only for pipelines; NULL: none was given. */
static const char *first_option(const struct sy_run_args *args) {
    const struct {
        bool given;
        const char *name;
    } options[] = {
        {args->request.objective != NULL, "--objective"},
        {args->constraints.count > 0, "--constraint"},
        {args->request.plan != NULL, "--plan"},
        {args->request.side_by_side, "--side-by-side"},
        {args->request.times != NULL, "--times"},
        {args->calibrate, "--calibrate"},
        {args->request.calibrate != NULL, "--out"},
        {args->request.watts, "--watts"},
        {args->request.window > 0, "--window"},
    };
    for (size_t i = 0; i < SY_COUNT(options); i++) {
        if (options[i].given) {
            return options[i].name;
        }
    }
    return NULL;
}

static int check_calibration(const struct sy_command *command, const struct sy_run_args *args) {
    if ((args->request.watts || args->request.calibrate) && !args->calibrate) {
        return sy_options_usage(command, "--%s is for --calibrate",
                                args->request.watts ? "watts" : "out");
    }
    if (args->calibrate && !args->request.calibrate) {
        return sy_options_usage(command, "--calibrate needs a file for the times: -o FILE.csv");
    }
    if (args->calibrate &&
        (args->request.plan || args->request.objective || args->constraints.count)) {
        return sy_options_usage(command, "--calibrate measures kernels alone: without --plan, "
                                         "--objective and --constraint");
    }
    return SY_EXIT_OK;
}

int sy_run_check_pipeline(const struct sy_command *command, const struct sy_run_args *args) {
    const char *option = first_option(args);
    if (!args->pipeline) {
        return option ? sy_options_usage(command, "%s is for --pipeline", option) : SY_EXIT_OK;
    }
    if (args->graphs.count) {
        return sy_options_usage(command, "name a graph or --pipeline, not both: '%s'",
                                args->graphs.items[0]);
    }
    if (args->request.policy || args->compare || args->repeat > 1 || args->request.emulate) {
        return sy_options_usage(
            command, "--policy, --compare, --repeat and --emulate are for graphs: the plan of a "
                     "pipeline decides where tasks run");
    }
    int r = check_calibration(command, args);
    return r ? r : check_objective(command, args->request.objective);
}

/* Limits of classes, which only the engine can match with what it finds: "gpu=1;memory.h200=4e10".
 */
static void put_limits(const struct sy_constraint_list *list, struct sy_buffer *buffer) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct sy_constraint *c = &list->items[i];
        bool memory = c->kind == SY_CONSTRAINT_MEMORY;
        if (memory || c->kind == SY_CONSTRAINT_DEVICES) {
            sy_buffer_printf(buffer, "%s%s%s=%.17g", buffer->length ? ";" : "",
                             memory ? "memory." : "", c->class_name, c->value);
        }
    }
}

static int ask(const struct sy_run_args *args, struct sy_run_policy *policy,
               struct sy_child **ret_engine) {
    struct sy_constraint_list list = {.count = 0};
    struct sy_error error = {0};
    struct sy_buffer limits = {0};
    int code = sy_constraints_parse(&args->constraints, &list, &error);
    if (code) {
        sy_message_error(&error);
        return SY_EXIT_USAGE;
    }
    put_limits(&list, &limits);
    struct sy_request request = args->request;
    request.spec = args->pipeline;
    request.pipeline = true;
    request.policy = PIPELINE_POLICY;
    request.check = !args->no_check;
    request.check_all = args->check;
    request.limits = limits.text;
    request.bounds = sy_constraints_bounds(&list, SY_NONE);
    int r = limits.failed ? SY_EXIT_FAILED
                          : sy_run_engine(&request, args->pipeline, args->common.quiet,
                                          &policy->text, &policy->record, ret_engine);
    sy_buffer_finish(&limits);
    return r;
}

/* --- tables -------------------------------------------------------------------------------------
 */
/* "1,234 /s" would be longer than it is worth. */
static struct sy_units rate_text(double rate) {
    return isfinite(rate) ? sy_units_text("%.4g", rate) : sy_units_text("-");
}

static void put_result(const struct sy_record *record, struct sy_buffer *buffer) {
    const struct sy_stream_report *stream = record->stream;
    if (stream->checked_count == 0) {
        sy_print(buffer, "result       not checked\n");
        return;
    }
    sy_print(buffer,
             "result       %s: relative error %.2g at worst (item %llu, of %llu checked), "
             "at most %.2g allowed\n",
             stream->result_error <= stream->result_tolerance ? "right" : "WRONG",
             stream->result_error, (unsigned long long)stream->worst_item,
             (unsigned long long)stream->checked_count, stream->result_tolerance);
}

static void put_head(const struct sy_record *record, struct sy_buffer *buffer) {
    const struct sy_stream_report *stream = record->stream;
    sy_print(buffer, "%s: %s on %s of %s%s%s\n\n", record->spec,
             sy_units_count(stream->item_count, "item", "items").text,
             sy_units_count(record->machine->device_count, "device", "devices").text, record->host,
             record->runtime ? ", " : "", record->runtime ? record->runtime : "");
    sy_print(buffer, "objective    %s\n", stream->objective);
    sy_print(buffer, "throughput   %s items/s", rate_text(stream->rate).text);
    if (isfinite(stream->steady_rate)) {
        sy_print(buffer, ", %s without the first %u", rate_text(stream->steady_rate).text,
                 stream->window);
    }
    sy_print(buffer, "\nlatency      median %s, p99 %s, with at most %s in progress\n",
             sy_units_time(stream->latency_p50_ns).text, sy_units_time(stream->latency_p99_ns).text,
             sy_units_count(stream->window, "item", "items").text);
    if (isfinite(stream->joules)) {
        sy_print(buffer, "energy       %.3g J per item (%s)\n", stream->joules,
                 record->energy_source ? record->energy_source : "source unknown");
    }
    put_result(record, buffer);
    for (uint32_t i = 0; i < record->note_count; i++) {
        sy_print(buffer, "%-12s %s\n", record->notes[i].key, record->notes[i].value);
    }
}

static void put_phases(const struct sy_stream_report *stream, struct sy_buffer *buffer) {
    static const char *const headers[] = {"from item",   "items",     "why",
                                          "items/s",     "predicted", "p50",
                                          "p99 latency", "J/item",    "plan"};
    struct sy_table table;
    sy_table_init(&table, headers, "rrlrrrrrl");
    for (uint32_t p = 0; p < stream->phase_count; p++) {
        const struct sy_stream_phase *phase = &stream->phases[p];
        sy_table_cell(
            &table, "%llu|%llu|%s|%s|%s|%s|%s|%s|%s", (unsigned long long)phase->first_item,
            (unsigned long long)phase->item_count, phase->cause, rate_text(phase->rate).text,
            rate_text(1e9 / phase->period_ns).text, sy_units_time(phase->latency_p50_ns).text,
            sy_units_time(phase->latency_p99_ns).text, rate_text(phase->joules).text, phase->plan);
    }
    sy_print(buffer, "\n");
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("why: reason for the change of plan; predicted: items/s that were predicted; "
                    "p50, p99 latency: time from the start of an item to its end.",
                    0, buffer);
}

static int print_table(const struct sy_run_policy *policy) {
    struct sy_buffer buffer = {0};
    put_head(policy->record, &buffer);
    put_phases(policy->record->stream, &buffer);
    sy_run_put_devices(policy, &buffer);
    return sy_output(&buffer);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */
static void put_latency(struct sy_json_writer *writer, double p50_ns, double p99_ns) {
    sy_json_print(writer, "latency_ns: {p50: %g, p99: %g}", p50_ns, p99_ns);
}

static void put_plans(const struct sy_stream_report *stream, struct sy_json_writer *writer) {
    sy_json_open_member(writer, "plans", '[');
    for (uint32_t p = 0; p < stream->phase_count; p++) {
        const struct sy_stream_phase *phase = &stream->phases[p];
        sy_json_print(writer,
                      "{first_item: %llu, items: %llu, cause: %s, plan: %s, predicted_per_s: %g, "
                      "items_per_s: %g",
                      (unsigned long long)phase->first_item, (unsigned long long)phase->item_count,
                      phase->cause, phase->plan, 1e9 / phase->period_ns, phase->rate);
        put_latency(writer, phase->latency_p50_ns, phase->latency_p99_ns);
        sy_json_print(writer, "joules_per_item: %g}", phase->joules);
    }
    sy_json_close(writer, ']');
}

static void put_devices(const struct sy_run_policy *policy, struct sy_json_writer *writer) {
    const struct sy_machine *machine = policy->record->machine;
    const struct sy_run_figures *run = &policy->runs[0];
    sy_json_open_member(writer, "devices", '[');
    for (uint32_t d = 0; d < machine->device_count; d++) {
        sy_json_print(writer, "{name: %s, kind: %s, tasks: %u, busy_ns: %g}",
                      machine->devices[d].name, sy_device_kind_name(machine->devices[d].kind),
                      run->device_tasks[d], run->device_busy_ns[d]);
    }
    sy_json_close(writer, ']');
}

static int print_json(const struct sy_run_policy *policy) {
    const struct sy_record *record = policy->record;
    const struct sy_stream_report *stream = record->stream;
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer,
                  "{schema: %s, version: %s, pipeline: %s, objective: %s, host: %s, date: %s, "
                  "runtime: %s, items: %llu, window: %u, items_per_s: %g, steady_items_per_s: %g",
                  "symph-run-pipeline-1", sy_version(), record->spec, stream->objective,
                  record->host, record->date, record->runtime,
                  (unsigned long long)stream->item_count, stream->window, stream->rate,
                  stream->steady_rate);
    put_latency(&writer, stream->latency_p50_ns, stream->latency_p99_ns);
    sy_json_print(&writer,
                  "joules_per_item: %g, energy_source: %s, checked: %llu, result_error: %g, "
                  "result_tolerance: %g, worst_item: %llu, bytes_moved: %g",
                  stream->joules, record->energy_source, (unsigned long long)stream->checked_count,
                  stream->result_error, stream->result_tolerance,
                  (unsigned long long)stream->worst_item, policy->runs[0].moved_bytes);
    put_plans(stream, &writer);
    put_devices(policy, &writer);
    sy_json_close(&writer, '}');
    return sy_output(&writer.buffer);
}

/* --- the command --------------------------------------------------------------------------------
 */
static uint64_t noted_count(const struct sy_record *record, const char *key) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < record->note_count; i++) {
        const char *value = record->notes[i].value;
        if (strcmp(record->notes[i].key, key) == 0) {
            (void)!sy_parse_u64(value, strlen(value), &count);
        }
    }
    return count;
}

static int tell_calibration(const struct sy_run_args *args, const struct sy_record *record) {
    uint64_t count = noted_count(record, "samples"), modelled = noted_count(record, "modelled");
    struct sy_buffer buffer = {0};
    if (args->common.json) {
        struct sy_json_writer writer = {.compact_from = 3};
        sy_json_print(&writer,
                      "{schema: %s, version: %s, pipeline: %s, host: %s, date: %s, file: %s, "
                      "samples: %llu, modelled: %llu}",
                      "symph-run-calibration-1", sy_version(), record->spec, record->host,
                      record->date, args->request.calibrate, (unsigned long long)count,
                      (unsigned long long)modelled);
        return sy_output(&writer.buffer);
    }
    sy_print(&buffer, "%s: %llu samples", record->spec, (unsigned long long)count);
    if (modelled) {
        sy_print(&buffer, ", %llu of them from the model of an FPGA card,",
                 (unsigned long long)modelled);
    }
    sy_print(&buffer, " in %s (symph plan --times %s uses them)\n", args->request.calibrate,
             args->request.calibrate);
    return sy_output(&buffer);
}

static int show(struct sy_runs *runs) {
    struct sy_run_policy *policy = &runs->policies[0];
    const struct sy_run_args *args = runs->args;
    sy_run_figures(policy->record, runs->arena, &policy->runs[0]);
    policy->run_count = 1;
    int r = sy_run_write(runs);
    int told = args->calibrate           ? tell_calibration(args, policy->record)
               : !policy->record->stream ? SY_EXIT_FAILED
               : args->common.json       ? print_json(policy)
                                         : print_table(policy);
    return r ? r : told;
}

int sy_run_pipeline(const struct sy_run_args *args) {
    struct sy_run_figures figures = {0};
    struct sy_run_policy policy = {.name = args->request.plan ? args->request.plan : "planned",
                                   .runs = &figures};
    struct sy_runs runs = {
        .args = args, .arena = sy_need(sy_arena_create()), .policies = &policy, .policy_count = 1};
    sy_interrupt_watch();
    int r = ask(args, &policy, &runs.engine);
    if (policy.record) { /* of a wrong result there is a record, too */
        int shown = show(&runs);
        r = r ? r : shown;
    }
    if (r == SY_EXIT_OK && args->check && !args->calibrate &&
        policy.record->stream->checked_count == 0) {
        sy_message_fail("the results of %s cannot be checked (leave out --check)", args->pipeline);
        r = SY_EXIT_FAILED;
    }
    int finished = sy_run_finish(runs.engine, args->common.quiet, NULL);
    r = r ? r : finished;
    sy_record_destroy(policy.record);
    sy_buffer_finish(&policy.text);
    sy_arena_destroy(runs.arena);
    return r;
}
