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
    sy_json_open_member(writer, "task_slowdown", '{');
    sy_json_member_number(writer, "within_0", w0);
    sy_json_member_number(writer, "within_10", w10);
    sy_json_member_number(writer, "within_20", w20);
    sy_json_close(writer, '}');
}

/* null where not timed: the writer says so for a value that is not finite. */
static void put_decision(struct sy_json_writer *writer, double p50_ns, double p99_ns) {
    sy_json_open_member(writer, "decision_ns", '{');
    sy_json_member_number(writer, "p50", p50_ns);
    sy_json_member_number(writer, "p99", p99_ns);
    sy_json_close(writer, '}');
}

/* Of what policies were told, and of slowdowns foretold from it. */
static void put_accuracy(struct sy_json_writer *writer, const struct sy_sim_accuracy *accuracy) {
    sy_json_open_member(writer, "told", '{');
    for (uint32_t k = 0; k < SY_COUNT(accuracy->error_points); k++) {
        char key[32];
        snprintf(key, sizeof key, "%s_error_points", sy_simulate_resource(k));
        sy_json_member_number(writer, key, accuracy->error_points[k]);
    }
    sy_json_member_number(writer, "covered", accuracy->covered);
    sy_json_member_u64(writer, "tasks", accuracy->task_count);
    sy_json_member_number(writer, "tasks_slowed", accuracy->slowed);
    sy_json_member_number(writer, "slowdown_within_10", accuracy->slowdown_within_10);
    sy_json_member_number(writer, "slowdown_covered", accuracy->slowdown_covered);
    sy_json_member_number(writer, "slowdown_median_error", accuracy->slowdown_error);
    sy_json_close(writer, '}');
}

static void put_machine(const struct sy_simulate *simulate, struct sy_json_writer *writer) {
    const struct sy_machine *machine = simulate->machine;
    sy_json_open_member(writer, "machine", '{');
    sy_json_member_string(writer, "spec", simulate->args->machine);
    sy_json_member_string(writer, "name", machine->name);
    sy_json_member_u64(writer, "devices", machine->device_count);
    sy_json_open_member(writer, "classes", '{');
    for (uint32_t c = 0; c < machine->class_count; c++) {
        sy_json_member_u64(writer, machine->classes[c].name, machine->classes[c].device_count);
    }
    sy_json_close(writer, '}');
    sy_json_close(writer, '}');
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
        sy_json_member_u64(writer, "tenants", args->tenants);
        sy_json_member_number(writer, "load", args->load);
    }
    sy_json_member_u64(writer, "jobs", simulate->cases[0].workload->job_count);
    sy_json_close(writer, '}');
}

/* What one needs to run the same again. */
static void put_options(const struct sy_simulate *simulate, struct sy_json_writer *writer) {
    const struct sy_simulate_args *args = simulate->args;
    sy_json_open_member(writer, "options", '{');
    sy_json_member_u64(writer, "seed", args->seed);
    sy_json_member_u64(writer, "seeds", args->seeds);
    sy_json_member_number(writer, "accelerate",
                          args->accelerate_given ? (double)args->accelerate : NAN);
    sy_json_member_number(writer, "noise", args->noise);
    sy_json_member_number(writer, "spike_probability", simulate->spike_probability);
    sy_json_member_number(writer, "spike_factor", simulate->spike_factor);
    sy_json_member_number(writer, "model_error", args->model_error);
    sy_json_member_bool(writer, "contention", args->contention);
    sy_json_member_number(writer, "hidden_load", args->hidden_load);
    sy_json_member_number(writer, "throttle", args->throttle);
    sy_json_member_number(writer, "counter_noise", args->counter_noise);
    sy_json_member_u64(writer, "counters", args->counters);
    sy_json_member_string(writer, "counter_events",
                          args->counter_events ? args->counter_events : "listing");
    sy_json_member_number(writer, "counter_outliers", args->counter_outliers);
    sy_json_member_string(writer, "belief", args->belief ? args->belief : "filtered");
    if (simulate->charge) {
        sy_json_member_string(writer, "decision_time", "measured");
    } else {
        sy_json_member_number(writer, "decision_time_ns", simulate->decision_ns);
    }
    put_stream(simulate, writer);
    sy_json_member_bool(writer, "checked", args->check);
    sy_json_close(writer, '}');
}

static void put_run(const struct sy_simulate *simulate, const struct sy_case *item, uint32_t policy,
                    struct sy_json_writer *writer) {
    const struct sy_run *run = &item->runs[policy];
    bool timed = simulate->timed;
    sy_json_open(writer, '{');
    sy_json_member_string(writer, "policy", simulate->policies.items[policy]);
    sy_json_member_string(writer, "graph", item->graph);
    sy_json_member_u64(writer, "seed", item->seed);
    sy_json_member_number(writer, "makespan_ns", run->makespan_ns);
    sy_json_member_number(writer, "lower_bound_ns", item->bound_ns);
    sy_json_member_number(writer, "jct_mean_ns", run->jct_mean_ns);
    sy_json_member_number(writer, "jct_p99_ns", run->jct_p99_ns);
    sy_json_member_number(writer, "slowdown_mean", run->slowdown_mean);
    sy_json_member_number(writer, "slowdown_p99", run->slowdown_p99);
    put_within(writer, run->within_0, run->within_10, run->within_20);
    put_decision(writer, timed ? run->decision_p50_ns : NAN, timed ? run->decision_p99_ns : NAN);
    sy_json_member_number(writer, "policy_ns", timed ? run->policy_ns : NAN);
    sy_json_member_number(writer, "energy_joules", run->energy_joules);
    sy_json_member_number(writer, "bytes_moved", run->bytes_moved);
    sy_json_member_u64(writer, "events", run->event_count);
    sy_json_member_number(writer, "fairness", run->fairness);
    if (simulate->args->judge) {
        put_accuracy(writer, &run->accuracy);
    }
    sy_json_close(writer, '}');
}

static void put_spread(struct sy_json_writer *writer, const char *key,
                       const struct sy_spread *spread) {
    sy_json_open_member(writer, key, '{');
    sy_json_member_number(writer, "geomean", spread->value);
    sy_json_member_number(writer, "low", spread->low);
    sy_json_member_number(writer, "high", spread->high);
    sy_json_close(writer, '}');
}

static void put_summary(const struct sy_simulate *simulate, const struct sy_summary *summary,
                        struct sy_json_writer *writer) {
    sy_json_open(writer, '{');
    sy_json_member_u64(writer, "runs", simulate->case_count);
    put_spread(writer, "makespan_over_bound", &summary->over_bound);
    put_spread(writer, "over_best", &summary->over_best);
    put_spread(writer, "job_slowdown", &summary->slowdown);
    sy_json_member_number(writer, "slowdown_mean", summary->slowdown_mean);
    sy_json_member_number(writer, "slowdown_p99", summary->slowdown_p99);
    sy_json_member_number(writer, "jct_mean_ns", summary->jct_mean_ns);
    put_within(writer, summary->within_0, summary->within_10, summary->within_20);
    put_decision(writer, summary->decision_p50_ns, summary->decision_p99_ns);
    sy_json_member_number(writer, "policy_share", summary->policy_share);
    sy_json_member_number(writer, "fairness", summary->fairness);
    sy_json_member_number(writer, "energy_joules", summary->energy_joules);
    sy_json_member_number(writer, "bytes_moved", summary->bytes_moved);
    if (simulate->args->judge) {
        put_accuracy(writer, &summary->accuracy);
    }
    sy_json_close(writer, '}');
}

int sy_simulate_print_json(const struct sy_simulate *simulate, const struct sy_summary *summary,
                           uint32_t best) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_open(&writer, '{');
    sy_json_member_string(&writer, "schema", "symph-simulate-1");
    sy_json_member_string(&writer, "version", sy_version());
    put_machine(simulate, &writer);
    put_options(simulate, &writer);
    sy_json_member_bool(&writer, "interrupted", simulate->asked > 0);
    sy_json_open_member(&writer, "runs", '[');
    for (uint32_t i = 0; i < simulate->case_count; i++) {
        for (uint32_t p = 0; p < simulate->policies.count; p++) {
            put_run(simulate, &simulate->cases[i], p, &writer);
        }
    }
    sy_json_close(&writer, ']');
    sy_json_member_string(&writer, "score",
                          simulate->args->stream ? "slowdown_mean" : "makespan_over_bound");
    sy_json_member_string(&writer, "best", simulate->policies.items[best]);
    sy_json_open_member(&writer, "summary", '{');
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        sy_json_key(&writer, simulate->policies.items[p]);
        put_summary(simulate, &summary[p], &writer);
    }
    sy_json_close(&writer, '}');
    sy_json_close(&writer, '}');
    return sy_output(&writer.buffer);
}
