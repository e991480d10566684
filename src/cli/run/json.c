/* SPDX-License-Identifier: Apache-2.0
 *
 * json: the results as a program reads them, "symph-run-result-1".
 *
 * In: all runs. Out: one object; null where a figure is not known. Invariant: members are only ever
 * added under this schema's number.
 */
#include "base/json.h"
#include "cli/run/run.h"

#include <math.h>

static void put_count(struct sy_json_writer *writer, const char *key, uint32_t count) {
    sy_json_member_number(writer, key, count == SY_NONE ? (double)NAN : count);
}

static void put_machine(const struct sy_machine *machine, struct sy_json_writer *writer) {
    sy_json_open_member(writer, "machine", '{');
    sy_json_member_string(writer, "name", machine->name);
    sy_json_open_member(writer, "devices", '[');
    for (uint32_t d = 0; d < machine->device_count; d++) {
        const struct sy_device *device = &machine->devices[d];
        sy_json_open(writer, '{');
        sy_json_member_string(writer, "name", device->name);
        sy_json_member_string(writer, "kind", sy_device_kind_name(device->kind));
        sy_json_member_string(writer, "class", machine->classes[device->class_index].name);
        sy_json_member_string(writer, "memory", machine->memories[device->memory].name);
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
    sy_json_close(writer, '}');
}

static void put_options(const struct sy_run_args *args, struct sy_json_writer *writer) {
    const struct sy_request *request = &args->request;
    sy_json_open_member(writer, "options", '{');
    sy_json_member_u64(writer, "repeat", args->repeat);
    sy_json_member_u64(writer, "seed", request->seed);
    sy_json_member_bool(writer, "check", !args->no_check);
    sy_json_member_bool(writer, "emulate", request->emulate);
    sy_json_member_number(writer, "limit_s", request->limit_s);
    sy_json_member_string(writer, "kernels", request->kernels);
    sy_json_member_string(writer, "models", request->models);
    put_count(writer, "cpus", request->cpus);
    put_count(writer, "opencl", request->opencl);
    put_count(writer, "cuda", request->cuda);
    sy_json_close(writer, '}');
}

static void put_devices(const struct sy_machine *machine, const struct sy_run_figures *run,
                        struct sy_json_writer *writer) {
    sy_json_open_member(writer, "devices", '[');
    for (uint32_t d = 0; d < machine->device_count; d++) {
        sy_json_open(writer, '{');
        sy_json_member_string(writer, "name", machine->devices[d].name);
        sy_json_member_u64(writer, "tasks", run->device_tasks[d]);
        sy_json_member_number(writer, "busy_ns", run->device_busy_ns[d]);
        sy_json_member_number(writer, "busy_ratio",
                              run->makespan_ns > 0 ? run->device_busy_ns[d] / run->makespan_ns : 0);
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
}

static void put_moved(const struct sy_machine *machine, const struct sy_run_figures *run,
                      struct sy_json_writer *writer) {
    sy_json_member_number(writer, "bytes_moved", run->moved_bytes);
    sy_json_open_member(writer, "moved", '[');
    for (uint32_t from = 0; from < machine->memory_count; from++) {
        for (uint32_t to = 0; to < machine->memory_count; to++) {
            double bytes = run->route_bytes[(size_t)from * machine->memory_count + to];
            if (bytes > 0) {
                sy_json_open(writer, '{');
                sy_json_member_string(writer, "from", machine->memories[from].name);
                sy_json_member_string(writer, "to", machine->memories[to].name);
                sy_json_member_number(writer, "bytes", bytes);
                sy_json_close(writer, '}');
            }
        }
    }
    sy_json_close(writer, ']');
}

/* Of the fastest run. */
static void put_notes(const struct sy_record *record, struct sy_json_writer *writer) {
    sy_json_open_member(writer, "notes", '[');
    for (uint32_t i = 0; i < record->note_count; i++) {
        sy_json_open(writer, '{');
        sy_json_member_string(writer, "key", record->notes[i].key);
        sy_json_member_string(writer, "value", record->notes[i].value);
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
}

static void put_decision(struct sy_json_writer *writer, double p50_ns, double p99_ns) {
    sy_json_open_member(writer, "decision_ns", '{');
    sy_json_member_number(writer, "p50", p50_ns);
    sy_json_member_number(writer, "p99", p99_ns);
    sy_json_close(writer, '}');
}

static void put_run(const struct sy_run_policy *policy, uint32_t index,
                    struct sy_json_writer *writer) {
    const struct sy_run_figures *run = &policy->runs[index];
    const struct sy_machine *machine = policy->record->machine;
    sy_json_open(writer, '{');
    sy_json_member_string(writer, "policy", policy->name);
    sy_json_member_u64(writer, "repeat", index);
    sy_json_member_number(writer, "makespan_ns", run->makespan_ns);
    sy_json_member_number(writer, "lower_bound_ns", run->bound_ns);
    put_moved(machine, run, writer);
    sy_json_member_number(writer, "energy_joules", run->energy_joules);
    sy_json_member_number(writer, "result_error", run->result_error);
    sy_json_member_number(writer, "result_tolerance", run->result_tolerance);
    sy_json_member_u64(writer, "decisions", run->decision_count);
    put_decision(writer, run->decision_p50_ns, run->decision_p99_ns);
    put_devices(machine, run, writer);
    sy_json_close(writer, '}');
}

static void put_runs(const struct sy_runs *runs, struct sy_json_writer *writer) {
    sy_json_open_member(writer, "runs", '[');
    for (uint32_t i = 0; i < runs->args->repeat; i++) {
        for (uint32_t p = 0; p < runs->policy_count; p++) {
            put_run(&runs->policies[p], i, writer);
        }
    }
    sy_json_close(writer, ']');
}

static void put_summary(const struct sy_run_policy *policy, const struct sy_run_summary *summary,
                        struct sy_json_writer *writer) {
    sy_json_open_member(writer, policy->name, '{');
    sy_json_member_u64(writer, "runs", policy->run_count);
    sy_json_open_member(writer, "makespan_ns", '{');
    sy_json_member_number(writer, "median", summary->median_ns);
    sy_json_member_number(writer, "min", summary->min_ns);
    sy_json_member_number(writer, "max", summary->max_ns);
    sy_json_close(writer, '}');
    sy_json_member_number(writer, "over_bound", summary->over_bound);
    sy_json_open_member(writer, "over_baseline", '{');
    sy_json_member_number(writer, "ratio", summary->over_baseline);
    sy_json_member_number(writer, "low", summary->over_low);
    sy_json_member_number(writer, "high", summary->over_high);
    sy_json_close(writer, '}');
    sy_json_member_number(writer, "bytes_moved", summary->moved_bytes);
    sy_json_member_number(writer, "energy_joules", summary->energy_joules);
    sy_json_member_number(writer, "result_error", summary->result_error);
    put_notes(policy->record, writer);
    put_decision(writer, summary->decision_p50_ns, summary->decision_p99_ns);
    sy_json_close(writer, '}');
}

int sy_run_print_json(const struct sy_runs *runs) {
    const struct sy_record *record = runs->policies[0].record;
    struct sy_json_writer writer = {.compact_from = 4};
    sy_json_open(&writer, '{');
    sy_json_member_string(&writer, "schema", "symph-run-result-1");
    sy_json_member_string(&writer, "version", sy_version());
    sy_json_member_string(&writer, "graph", record->spec);
    sy_json_member_u64(&writer, "tasks", record->graph->task_count);
    sy_json_member_string(&writer, "host", record->host);
    sy_json_member_string(&writer, "date", record->date);
    sy_json_member_string(&writer, "runtime", record->runtime);
    sy_json_member_string(&writer, "energy_source", record->energy_source);
    put_machine(record->machine, &writer);
    put_options(runs->args, &writer);
    sy_json_member_number(&writer, "lower_bound_ns", sy_run_bound_ns(runs));
    put_runs(runs, &writer);
    sy_json_member_string(&writer, "baseline", runs->policies[0].name);
    sy_json_open_member(&writer, "summary", '{');
    for (uint32_t p = 0; p < runs->policy_count; p++) {
        struct sy_run_summary summary = {0};
        writer.buffer.failed |= sy_run_summarise(runs, p, &summary) < 0;
        put_summary(&runs->policies[p], &summary, &writer);
    }
    sy_json_close(&writer, '}');
    sy_json_close(&writer, '}');
    return sy_output(&writer.buffer);
}
