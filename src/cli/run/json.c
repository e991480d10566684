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
    sy_json_print(writer, "machine: {name: %s, devices: [", machine->name);
    for (uint32_t d = 0; d < machine->device_count; d++) {
        const struct sy_device *device = &machine->devices[d];
        sy_json_print(writer, "{name: %s, kind: %s, class: %s, memory: %s}", device->name,
                      sy_device_kind_name(device->kind), machine->classes[device->class_index].name,
                      machine->memories[device->memory].name);
    }
    sy_json_print(writer, "]}");
}

static void put_options(const struct sy_run_args *args, struct sy_json_writer *writer) {
    const struct sy_request *request = &args->request;
    sy_json_print(writer,
                  "options: {repeat: %u, seed: %llu, check: %d, emulate: %d, limit_s: %g, "
                  "kernels: %s, models: %s",
                  args->repeat, (unsigned long long)request->seed, !args->no_check,
                  request->emulate, request->limit_s, request->kernels, request->models);
    put_count(writer, "cpus", request->cpus);
    put_count(writer, "opencl", request->opencl);
    put_count(writer, "cuda", request->cuda);
    if (args->stream) {
        sy_json_print(writer,
                      "tenants: %u, load: %g, jobs: %u, arrivals: %s, only: %s, time_scale: %g, "
                      "preempt: %d, split: %d",
                      request->tenants, request->load, request->jobs, request->arrivals,
                      request->only, request->time_scale, request->preempt, request->split);
    }
    sy_json_close(writer, '}');
}

static void put_devices(const struct sy_machine *machine, const struct sy_run_figures *run,
                        struct sy_json_writer *writer) {
    sy_json_open_member(writer, "devices", '[');
    for (uint32_t d = 0; d < machine->device_count; d++) {
        sy_json_print(writer, "{name: %s, tasks: %u, busy_ns: %g, busy_ratio: %g}",
                      machine->devices[d].name, run->device_tasks[d], run->device_busy_ns[d],
                      run->makespan_ns > 0 ? run->device_busy_ns[d] / run->makespan_ns : 0);
    }
    sy_json_close(writer, ']');
}

static void put_moved(const struct sy_machine *machine, const struct sy_run_figures *run,
                      struct sy_json_writer *writer) {
    sy_json_print(writer, "bytes_moved: %g, moved: [", run->moved_bytes);
    for (uint32_t from = 0; from < machine->memory_count; from++) {
        for (uint32_t to = 0; to < machine->memory_count; to++) {
            double bytes = run->route_bytes[(size_t)from * machine->memory_count + to];
            if (bytes > 0) {
                sy_json_print(writer, "{from: %s, to: %s, bytes: %g}", machine->memories[from].name,
                              machine->memories[to].name, bytes);
            }
        }
    }
    sy_json_close(writer, ']');
}

/* Of the fastest run. */
static void put_notes(const struct sy_record *record, struct sy_json_writer *writer) {
    sy_json_open_member(writer, "notes", '[');
    for (uint32_t i = 0; i < record->note_count; i++) {
        sy_json_print(writer, "{key: %s, value: %s}", record->notes[i].key, record->notes[i].value);
    }
    sy_json_close(writer, ']');
}

static void put_decision(struct sy_json_writer *writer, double p50_ns, double p99_ns) {
    sy_json_print(writer, "decision_ns: {p50: %g, p99: %g}", p50_ns, p99_ns);
}

static void put_run(const struct sy_run_policy *policy, uint32_t index,
                    struct sy_json_writer *writer) {
    const struct sy_run_figures *run = &policy->runs[index];
    const struct sy_machine *machine = policy->record->machine;
    sy_json_print(writer, "{policy: %s, repeat: %u, makespan_ns: %g, lower_bound_ns: %g",
                  policy->name, index, run->makespan_ns, run->bound_ns);
    put_moved(machine, run, writer);
    sy_json_print(
        writer, "energy_joules: %g, result_error: %g, result_tolerance: %g, decisions: %u",
        run->energy_joules, run->result_error, run->result_tolerance, run->decision_count);
    put_decision(writer, run->decision_p50_ns, run->decision_p99_ns);
    if (run->job_count) {
        sy_json_print(writer, "jobs: %u, jct_mean_ns: %g, slowdown_mean: %g, slowdown_p99: %g",
                      run->job_count, run->jct_mean_ns, run->slowdown_mean, run->slowdown_p99);
    }
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
    sy_json_print(writer,
                  "%s: {runs: %u, makespan_ns: {median: %g, min: %g, max: %g}, over_bound: %g, "
                  "over_baseline: {ratio: %g, low: %g, high: %g}, bytes_moved: %g, "
                  "energy_joules: %g, result_error: %g",
                  policy->name, policy->run_count, summary->median_ns, summary->min_ns,
                  summary->max_ns, summary->over_bound, summary->over_baseline, summary->over_low,
                  summary->over_high, summary->moved_bytes, summary->energy_joules,
                  summary->result_error);
    put_notes(policy->record, writer);
    put_decision(writer, summary->decision_p50_ns, summary->decision_p99_ns);
    if (policy->runs[0].job_count) {
        sy_json_print(writer, "slowdown_mean: %g, slowdown_p99: %g, jct_mean_ns: %g",
                      summary->slowdown_mean, summary->slowdown_p99, summary->jct_mean_ns);
    }
    sy_json_close(writer, '}');
}

int sy_run_print_json(const struct sy_runs *runs) {
    const struct sy_record *record = runs->policies[0].record;
    struct sy_json_writer writer = {.compact_from = 4};
    sy_json_print(&writer,
                  "{schema: %s, version: %s, graph: %s, tasks: %u, host: %s, date: %s, "
                  "runtime: %s, energy_source: %s",
                  "symph-run-result-1", sy_version(), record->spec, record->graph->task_count,
                  record->host, record->date, record->runtime, record->energy_source);
    put_machine(record->machine, &writer);
    put_options(runs->args, &writer);
    sy_json_member_number(&writer, "lower_bound_ns", sy_run_bound_ns(runs));
    put_runs(runs, &writer);
    sy_json_print(&writer, "baseline: %s, summary: {", runs->policies[0].name);
    for (uint32_t p = 0; p < runs->policy_count; p++) {
        struct sy_run_summary summary = sy_run_summarise(runs, p);
        put_summary(&runs->policies[p], &summary, &writer);
    }
    sy_json_print(&writer, "}}");
    return sy_output(&writer.buffer);
}
