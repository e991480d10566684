/* SPDX-License-Identifier: Apache-2.0
 *
 * json: the results as a program reads them, "symph-simulate-1".
 *
 * In: cases and their summary. Out: one object. Invariant: same results, same bytes; members are
 * only ever added under this schema's number.
 */
#include "base/json.h"
#include "cli/simulate/simulate.h"

#include <math.h>

static void put_within(struct sy_json_writer *writer, double w0, double w10, double w20) {
    sy_json_print(writer, "task_slowdown: {within_0: %g, within_10: %g, within_20: %g}", w0, w10,
                  w20);
}

/* null where not timed: the writer says so for a value that is not finite. */
static void put_decision(struct sy_json_writer *writer, double p50_ns, double p99_ns) {
    sy_json_print(writer, "decision_ns: {p50: %g, p99: %g}", p50_ns, p99_ns);
}

/* Of what policies were told, and of slowdowns predicted from it. */
static void put_accuracy(struct sy_json_writer *writer, const struct sy_sim_accuracy *accuracy) {
    sy_json_open_member(writer, "told", '{');
    for (uint32_t k = 0; k < SY_COUNT(accuracy->error_points); k++) {
        char key[32];
        snprintf(key, sizeof key, "%s_error_points", sy_simulate_resource(k));
        sy_json_member_number(writer, key, accuracy->error_points[k]);
    }
    sy_json_print(writer,
                  "covered: %g, tasks: %llu, tasks_slowed: %g, slowdown_within_10: %g, "
                  "slowdown_covered: %g, slowdown_median_error: %g}",
                  accuracy->covered, (unsigned long long)accuracy->task_count, accuracy->slowed,
                  accuracy->slowdown_within_10, accuracy->slowdown_covered,
                  accuracy->slowdown_error);
}

static void put_machine(const struct sy_simulate *simulate, struct sy_json_writer *writer) {
    const struct sy_machine *machine = simulate->machine;
    sy_json_print(writer, "machine: {spec: %s, name: %s, devices: %u, classes: {",
                  simulate->args->machine, machine->name, machine->device_count);
    for (uint32_t c = 0; c < machine->class_count; c++) {
        sy_json_member_u64(writer, machine->classes[c].name, machine->classes[c].device_count);
    }
    sy_json_print(writer, "}}");
}

static void put_stream(const struct sy_simulate *simulate, struct sy_json_writer *writer) {
    const struct sy_simulate_args *args = simulate->args;
    sy_json_key(writer, "stream");
    if (!args->stream) {
        sy_json_put_null(writer);
        return;
    }
    sy_json_open(writer, '{');
    if (args->arrivals) {
        sy_json_member_string(writer, "arrivals", args->arrivals);
    } else {
        sy_json_print(writer, "tenants: %u, load: %g", args->tenants, args->load);
    }
    sy_json_print(writer, "jobs: %u}", simulate->cases[0].workload->job_count);
}

/* What one needs to run the same again. */
static void put_options(const struct sy_simulate *simulate, struct sy_json_writer *writer) {
    const struct sy_simulate_args *args = simulate->args;
    sy_json_print(writer,
                  "options: {seed: %llu, seeds: %u, accelerate: %g, noise: %g, "
                  "spike_probability: %g, spike_factor: %g, model_error: %g, contention: %d, "
                  "preempt: %d, split: %d, part_max: %u, part_cost: %g",
                  (unsigned long long)args->seed, args->seeds,
                  args->accelerate_given ? (double)args->accelerate : NAN, args->noise,
                  simulate->spike_probability, simulate->spike_factor, args->model_error,
                  args->contention, args->preempt, args->split, simulate->cut.part_max,
                  simulate->cut.more_ratio);
    sy_json_print(writer,
                  "hidden_load: %g, hidden_weight: %g, throttle: %g, straggler_share: %g, "
                  "straggler_factor: %g, "
                  "straggler_ns: %g, counter_noise: %g, counters: %u, "
                  "counter_events: %s, counter_outliers: %g, belief: %s",
                  args->hidden_load, args->hidden_weight, args->throttle, simulate->straggler_share,
                  simulate->straggler_factor, simulate->straggler_ns, args->counter_noise,
                  args->counters, args->counter_events ? args->counter_events : "listing",
                  args->counter_outliers, args->belief ? args->belief : "filtered");
    if (simulate->charge) {
        sy_json_member_string(writer, "decision_time", "measured");
    } else {
        sy_json_member_number(writer, "decision_time_ns", simulate->decision_ns);
    }
    put_stream(simulate, writer);
    sy_json_print(writer, "checked: %d}", args->check);
}

static void put_run(const struct sy_simulate *simulate, const struct sy_case *item, uint32_t policy,
                    struct sy_json_writer *writer) {
    const struct sy_run *run = &item->runs[policy];
    bool timed = simulate->timed;
    sy_json_print(writer,
                  "{policy: %s, graph: %s, seed: %llu, makespan_ns: %g, lower_bound_ns: %g, "
                  "jct_mean_ns: %g, jct_p99_ns: %g, slowdown_mean: %g, slowdown_p99: %g, "
                  "slowdown_long: %g",
                  simulate->policies.items[policy], item->graph, (unsigned long long)item->seed,
                  run->makespan_ns, item->bound_ns, run->jct_mean_ns, run->jct_p99_ns,
                  run->slowdown_mean, run->slowdown_p99, run->slowdown_long);
    put_within(writer, run->within_0, run->within_10, run->within_20);
    put_decision(writer, timed ? run->decision_p50_ns : NAN, timed ? run->decision_p99_ns : NAN);
    sy_json_print(writer,
                  "policy_ns: %g, energy_joules: %g, bytes_moved: %g, events: %llu, fairness: %g",
                  timed ? run->policy_ns : NAN, run->energy_joules, run->bytes_moved,
                  (unsigned long long)run->event_count, run->fairness);
    if (simulate->args->judge) {
        put_accuracy(writer, &run->accuracy);
    }
    sy_json_close(writer, '}');
}

static void put_spread(struct sy_json_writer *writer, const char *key,
                       const struct sy_spread *spread) {
    sy_json_print(writer, "%s: {geomean: %g, low: %g, high: %g}", key, spread->value, spread->low,
                  spread->high);
}

static void put_summary(const struct sy_simulate *simulate, const struct sy_summary *summary,
                        struct sy_json_writer *writer) {
    sy_json_print(writer, "{runs: %u", simulate->case_count);
    put_spread(writer, "makespan_over_bound", &summary->over_bound);
    put_spread(writer, "over_best", &summary->over_best);
    put_spread(writer, "job_slowdown", &summary->slowdown);
    sy_json_print(writer, "slowdown_mean: %g, slowdown_p99: %g, slowdown_long: %g, jct_mean_ns: %g",
                  summary->slowdown_mean, summary->slowdown_p99, summary->slowdown_long,
                  summary->jct_mean_ns);
    put_within(writer, summary->within_0, summary->within_10, summary->within_20);
    put_decision(writer, summary->decision_p50_ns, summary->decision_p99_ns);
    sy_json_print(writer, "policy_share: %g, fairness: %g, energy_joules: %g, bytes_moved: %g",
                  summary->policy_share, summary->fairness, summary->energy_joules,
                  summary->bytes_moved);
    if (simulate->args->judge) {
        put_accuracy(writer, &summary->accuracy);
    }
    sy_json_close(writer, '}');
}

int sy_simulate_print_json(const struct sy_simulate *simulate, const struct sy_summary *summary,
                           uint32_t best) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, version: %s", "symph-simulate-1", sy_version());
    put_machine(simulate, &writer);
    put_options(simulate, &writer);
    sy_json_print(&writer, "interrupted: %d, runs: [", simulate->asked > 0);
    for (uint32_t i = 0; i < simulate->case_count; i++) {
        for (uint32_t p = 0; p < simulate->policies.count; p++) {
            put_run(simulate, &simulate->cases[i], p, &writer);
        }
    }
    sy_json_print(&writer, "], score: %s, best: %s, summary: {",
                  simulate->args->stream ? "slowdown_mean" : "makespan_over_bound",
                  simulate->policies.items[best]);
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        sy_json_key(&writer, simulate->policies.items[p]);
        put_summary(simulate, &summary[p], &writer);
    }
    sy_json_print(&writer, "}}");
    return sy_output(&writer.buffer);
}
