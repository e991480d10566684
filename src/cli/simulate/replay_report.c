/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_report: symph simulate --replay. Has recorded runs played again (replay_run.h), and tells
 * how wrong the simulator is.
 *
 * In: records of runs. Out: simulated against real makespan per run, predicted against actual
 * execution time per kernel and class of device; text, or one JSON object "symph-replay-1".
 * Invariant: an error is simulated / real - 1; of several runs the median counts.
 */
#include "base/json.h"
#include "cli/explain/explain.h"
#include "cli/simulate/replay_run.h"
#include "cli/simulate/simulate.h"
#include "cli/table.h"
#include "cli/units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct replay_run {
    const char *path, *policy;
    uint32_t task_count;
    struct sy_replayed times;
};

/* One task that ran. */
struct sample {
    uint32_t row;                                 /* kernel and class */
    double actual_ns, model_error, decided_error; /* NAN: nothing was predicted */
};

struct row {
    const char *kernel, *class_name;
    uint32_t count, decided_count;
    double total_ns, median_ns;
    double model_abs, model_bias, decided_abs, decided_bias;
};

struct replays {
    const struct sy_simulate_args *args;
    double decision_ns;
    struct sy_arena *arena; /* names */
    struct replay_run *runs;
    uint32_t run_count;
    struct sample *samples;
    uint32_t sample_count, sample_capacity;
    struct row *rows;
    uint32_t row_count, row_capacity;
    struct sy_map row_of; /* "kernel\nclass" */
};

static double error_of(double predicted_ns, double actual_ns) {
    return actual_ns > 0 && isfinite(predicted_ns) ? predicted_ns / actual_ns - 1 : NAN;
}

static int find_row(struct replays *replays, const char *kernel, const char *class_name,
                    uint32_t *ret_row) {
    struct sy_buffer key = {0};
    sy_buffer_printf(&key, "%s\n%s", kernel, class_name);
    size_t length = key.length;
    bool found = !key.failed && sy_map_get(&replays->row_of, key.text, length, ret_row);
    char *kept = found || key.failed ? NULL : sy_arena_strndup(replays->arena, key.text, length);
    sy_buffer_finish(&key);
    if (found || !kept) {
        return found ? 0 : -ENOMEM;
    }
    struct row row = {.kernel = sy_need(sy_arena_strdup(replays->arena, kernel)),
                      .class_name = sy_need(sy_arena_strdup(replays->arena, class_name))};
    *ret_row = replays->row_count;
    int code = sy_grow(&replays->rows, &replays->row_capacity, *ret_row + 1, sizeof row);
    code = code ? code : sy_map_put(&replays->row_of, kept, length, *ret_row);
    if (!code) {
        replays->rows[replays->row_count++] = row;
    }
    return code;
}

static int add_samples(struct replays *replays, const struct sy_record *record) {
    const struct sy_graph *graph = record->graph;
    const struct sy_machine *machine = record->machine;
    if (replays->sample_count > UINT32_MAX - graph->task_count ||
        sy_grow(&replays->samples, &replays->sample_capacity,
                replays->sample_count + graph->task_count, sizeof *replays->samples) < 0) {
        return -ENOMEM;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        const struct sy_record_task *task = &record->tasks[t];
        uint32_t class_index = machine->devices[task->device].class_index;
        struct sample sample = {.actual_ns = sy_record_took_ns(task)};
        int r = find_row(replays, graph->kernels[graph->tasks[t].kernel].name,
                         machine->classes[class_index].name, &sample.row);
        if (r < 0) {
            return r;
        }
        double model_ns = record->model_ns[(size_t)t * machine->class_count + class_index];
        sample.model_error = error_of(model_ns, sample.actual_ns);
        sample.decided_error = error_of(task->predicted_ns, sample.actual_ns);
        replays->samples[replays->sample_count++] = sample;
    }
    return 0;
}

static int replay_one(struct replays *replays, const char *spec) {
    struct replay_run *run = &replays->runs[replays->run_count];
    const struct sy_sim_options options = {.seed = replays->args->seed,
                                           .contention = replays->args->contention,
                                           .decision_ns = replays->decision_ns,
                                           .stop = sy_interrupt_seen};
    char path[4096];
    struct sy_record *record = NULL;
    struct sy_error error = {0};
    int r = sy_input_record(spec, path, sizeof path, &record);
    if (r != SY_EXIT_OK) {
        return r;
    }
    r = sy_replay(record, &options, &run->times, &error);
    if (r < 0) {
        sy_message_about("run", path, r, &error);
        sy_record_destroy(record);
        return r == -ECANCELED ? SY_EXIT_INTERRUPTED : sy_message_exit(r);
    }
    run->path = sy_need(sy_arena_strdup(replays->arena, path));
    run->policy = sy_need(sy_arena_strdup(replays->arena, record->policy));
    run->task_count = record->graph->task_count;
    replays->run_count++;
    r = add_samples(replays, record);
    sy_record_destroy(record);
    return r < 0 ? sy_no_memory() : SY_EXIT_OK;
}

/* --- statistics --------------------------------------------------------------------------------
 */

static int by_row(const void *a, const void *b) {
    const struct sample *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_total(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    return x->total_ns > y->total_ns ? -1 : x->total_ns < y->total_ns;
}

/* Medians of the values that are numbers, and of their sizes; returns how many. */
static uint32_t medians(double *values, uint32_t count, double *ret_bias, double *ret_abs) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            values[kept++] = values[i];
        }
    }
    *ret_bias = sy_quantile(values, kept, 0.5);
    for (uint32_t i = 0; i < kept; i++) {
        values[i] = fabs(values[i]);
    }
    *ret_abs = sy_quantile(values, kept, 0.5);
    return kept;
}

static void fill_row(struct row *row, const struct sample *samples, uint32_t count,
                     double *values) {
    row->count = count;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = samples[i].actual_ns;
        row->total_ns += samples[i].actual_ns;
    }
    row->median_ns = sy_quantile(values, count, 0.5);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = samples[i].model_error;
    }
    medians(values, count, &row->model_bias, &row->model_abs);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = samples[i].decided_error;
    }
    row->decided_count = medians(values, count, &row->decided_bias, &row->decided_abs);
}

static void fill_rows(struct replays *replays) {
    double *values = sy_need(calloc(replays->sample_count + (size_t)1, sizeof *values));
    if (replays->sample_count) {
        qsort(replays->samples, replays->sample_count, sizeof *replays->samples, by_row);
    }
    for (uint32_t first = 0, end; first < replays->sample_count; first = end) {
        uint32_t row = replays->samples[first].row;
        for (end = first; end < replays->sample_count && replays->samples[end].row == row; end++) {
        }
        fill_row(&replays->rows[row], &replays->samples[first], end - first, values);
    }
    if (replays->row_count) {
        qsort(replays->rows, replays->row_count, sizeof *replays->rows, by_total);
    }
    free(values);
}

struct total {
    double bias, abs; /* medians over runs */
};

/* Of the makespans: with the model's times, or with the measured ones. */
static struct total total_of(const struct replays *replays, bool measured) {
    struct total total;
    double *values = sy_need(calloc(replays->run_count + 1u, sizeof *values));
    for (uint32_t i = 0; i < replays->run_count; i++) {
        const struct sy_replayed *times = &replays->runs[i].times;
        values[i] = error_of(measured ? times->measured_ns : times->simulated_ns, times->real_ns);
    }
    medians(values, replays->run_count, &total.bias, &total.abs);
    free(values);
    return total;
}

/* --- output ------------------------------------------------------------------------------------
 */

static struct sy_units with_sign(double ratio) {
    return isfinite(ratio) ? sy_units_text("%+.1f %%", 100 * ratio) : sy_units_text("-");
}

static void put_runs(const struct replays *replays, const struct total *model,
                     const struct total *measured, struct sy_buffer *out) {
    static const char *const headers[] = {"run",           "policy", "tasks",          "real",
                                          "model's times", "error",  "measured times", "error"};
    struct sy_table table;
    sy_table_init(&table, headers, "llrrrrrr");
    for (uint32_t i = 0; i < replays->run_count; i++) {
        const struct replay_run *run = &replays->runs[i];
        const struct sy_replayed *times = &run->times;
        sy_table_cell(&table, "%s|%s|%u|%s|%s|%s|%s|%s", run->path, run->policy, run->task_count,
                      sy_units_time(times->real_ns).text, sy_units_time(times->simulated_ns).text,
                      with_sign(error_of(times->simulated_ns, times->real_ns)).text,
                      sy_units_time(times->measured_ns).text,
                      with_sign(error_of(times->measured_ns, times->real_ns)).text);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), out);
    sy_table_legend("real: measured makespan; model's times, measured times: makespan simulated "
                    "with predicted and with measured task times; error: simulated / real - 1.",
                    0, out);
    sy_print(out,
             "\nMedian error of the simulated makespan: %s %% (absolute %s %%) with the "
             "model's times,\n%s %% (absolute %s %%) with the measured ones.\n",
             sy_units_number(100 * model->bias, 1).text, sy_units_number(100 * model->abs, 1).text,
             sy_units_number(100 * measured->bias, 1).text,
             sy_units_number(100 * measured->abs, 1).text);
}

static void put_kernels(const struct replays *replays, struct sy_buffer *out) {
    static const char *const headers[] = {"kernel", "on",      "tasks",   "actual", "|error|",
                                          "bias",   "decided", "|error|", "bias"};
    struct sy_table table;
    sy_table_init(&table, headers, "llrrrrrrr");
    for (uint32_t i = 0; i < replays->row_count; i++) {
        const struct row *row = &replays->rows[i];
        sy_table_cell(&table, "%s|%s|%u|%s|%s|%s|%u|%s|%s", row->kernel, row->class_name,
                      row->count, sy_units_time(row->median_ns).text,
                      sy_units_percent(row->model_abs).text, with_sign(row->model_bias).text,
                      row->decided_count, sy_units_percent(row->decided_abs).text,
                      with_sign(row->decided_bias).text);
    }
    sy_print(out, "\nPredicted and actual execution times (medians): predicted by the model at "
                  "the end of the run, and at each decision.\n");
    sy_table_write(&table, 0, sy_message_colour(stdout), out);
    sy_table_legend("actual: median execution time; |error|, bias: median absolute error and "
                    "median error of the prediction, by the model at the end of the run; decided, "
                    "|error|, bias: the same for the predictions that decisions were based on.",
                    0, out);
}

static int print_text(const struct replays *replays, const struct total *model,
                      const struct total *measured) {
    struct sy_buffer out = {0};
    put_runs(replays, model, measured, &out);
    put_kernels(replays, &out);
    for (uint32_t i = 0; i < replays->run_count; i++) {
        const struct replay_run *run = &replays->runs[i];
        if (run->times.unknown_count) {
            sy_message_note(
                replays->args->common.quiet,
                "%s: the model has no time for %u of %u tasks on their device; the median of "
                "similar tasks of the run is used",
                run->path, run->times.unknown_count, run->task_count);
        }
    }
    return sy_output(&out);
}

static void put_run_json(struct sy_json_writer *writer, const struct replay_run *run) {
    sy_json_print(
        writer,
        "{file: %s, policy: %s, tasks: %u, tasks_unknown_to_model: %u, real_ns: %g, "
        "simulated_ns: %g, error_ratio: %g, simulated_measured_ns: %g, error_measured_ratio: %g}",
        run->path, run->policy, run->task_count, run->times.unknown_count, run->times.real_ns,
        run->times.simulated_ns, error_of(run->times.simulated_ns, run->times.real_ns),
        run->times.measured_ns, error_of(run->times.measured_ns, run->times.real_ns));
}

static void put_kernel_json(struct sy_json_writer *writer, const struct row *row) {
    sy_json_print(
        writer,
        "{kernel: %s, class: %s, tasks: %u, total_ns: %g, median_ns: %g, abs_error_ratio: %g, "
        "bias_ratio: %g, decided_tasks: %u, decided_abs_error_ratio: %g, decided_bias_ratio: %g}",
        row->kernel, row->class_name, row->count, row->total_ns, row->median_ns, row->model_abs,
        row->model_bias, row->decided_count, row->decided_abs, row->decided_bias);
}

static int print_json(const struct replays *replays, const struct total *model,
                      const struct total *measured) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, runs: [", "symph-replay-1");
    for (uint32_t i = 0; i < replays->run_count; i++) {
        put_run_json(&writer, &replays->runs[i]);
    }
    sy_json_print(&writer,
                  "], median: {error_ratio: %g, abs_error_ratio: %g, error_measured_ratio: %g, "
                  "abs_error_measured_ratio: %g}, kernels: [",
                  model->bias, model->abs, measured->bias, measured->abs);
    for (uint32_t i = 0; i < replays->row_count; i++) {
        put_kernel_json(&writer, &replays->rows[i]);
    }
    sy_json_print(&writer, "]}");
    return sy_output(&writer.buffer);
}

static int report(struct replays *replays) {
    fill_rows(replays);
    struct total model = total_of(replays, false), measured = total_of(replays, true);
    return replays->args->common.json ? print_json(replays, &model, &measured)
                                      : print_text(replays, &model, &measured);
}

int sy_simulate_replay(const struct sy_simulate_args *args) {
    struct replays replays = {.args = args, .arena = sy_need(sy_arena_create())};
    replays.runs = sy_need(calloc(args->replays.count, sizeof *replays.runs));
    bool charge = false;
    int r = sy_simulate_decision_time(sy_simulate_command(), args->decision_time,
                                      &replays.decision_ns, &charge);
    if (!r && charge) {
        r = sy_options_usage(sy_simulate_command(),
                             "--replay asks no policy, whose time could be measured");
    }
    sy_interrupt_watch();
    for (uint32_t i = 0; r == SY_EXIT_OK && i < args->replays.count; i++) {
        r = sy_interrupt_seen() ? SY_EXIT_INTERRUPTED
                                : replay_one(&replays, args->replays.items[i]);
    }
    r = r ? r : report(&replays);
    sy_map_finish(&replays.row_of);
    free(replays.rows);
    free(replays.samples);
    free(replays.runs);
    sy_arena_destroy(replays.arena);
    return r;
}
