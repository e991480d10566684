/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and JSON of symph-bench dype.
 *
 * In: cases that are done. Out: how near to the optimum, how far ahead of others, how wrong the
 * estimates, how a stream went; every single case as JSON.
 */
#include "cli/table.h"
#include "cli/units.h"
#include "symph-bench/dype.h"
#include "symph-bench/policy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_OPTIMUM (1 + 1e-9)

static bool counts(const struct sy_dype *bench, uint32_t index, uint32_t pipeline,
                   enum sy_dype_policy policy) {
    const struct sy_dype_case *item = &bench->cases[index];
    return (pipeline == SY_NONE || item->pipeline == pipeline) &&
           isfinite(sy_dype_ratio(item, policy));
}

/* --- how near to the optimum --------------------------------------------------------------------
 */
struct nearness {
    uint32_t cases, optimal, within_1, within_5;
    double rest, worst; /* mean loss where it is not optimal; worst loss */
};

static struct nearness near_optimum(const struct sy_dype *bench, enum sy_dype_policy policy,
                                    uint32_t pipeline) {
    struct nearness near = {0};
    for (uint32_t i = 0; i < bench->case_count; i++) {
        if (!counts(bench, i, pipeline, policy)) {
            continue;
        }
        double ratio = sy_dype_ratio(&bench->cases[i], policy);
        near.cases++;
        near.optimal += ratio <= AT_OPTIMUM;
        near.within_1 += ratio <= 1.01;
        near.within_5 += ratio <= 1.05;
        near.rest += ratio <= AT_OPTIMUM ? 0 : ratio - 1;
        near.worst = fmax(near.worst, ratio - 1);
    }
    near.rest /= near.cases > near.optimal ? near.cases - near.optimal : 1;
    return near;
}

double sy_dype_share(const struct sy_dype *bench, enum sy_dype_policy policy, double limit,
                     uint32_t pipeline) {
    uint32_t cases = 0, within = 0;
    for (uint32_t i = 0; i < bench->case_count; i++) {
        if (counts(bench, i, pipeline, policy)) {
            cases++;
            within += sy_dype_ratio(&bench->cases[i], policy) <= limit;
        }
    }
    return cases ? (double)within / cases : NAN;
}

static void open_table(struct sy_json_writer *out, const char *title) {
    sy_json_print(out, "{bench: %s, title: %s, rows: [", "dype", title);
}

static void close_table(struct sy_json_writer *out) {
    sy_json_print(out, "]}");
}

static void put_nearness(const struct sy_dype *bench, uint32_t pipeline, enum sy_dype_policy policy,
                         struct sy_table *table, struct sy_json_writer *out) {
    struct nearness near = near_optimum(bench, policy, pipeline);
    const char *of = pipeline == SY_NONE ? "all" : bench->pipelines[pipeline].name;
    sy_json_print(out,
                  "{pipeline: %s, policy: %s, cases: %u, optimal: %u, within_1_percent: %u, "
                  "within_5_percent: %u, mean_loss_of_rest: %g, worst_loss: %g}",
                  of, sy_dype_policy_name(policy), near.cases, near.optimal, near.within_1,
                  near.within_5, near.rest, near.worst);
    if (!near.cases) {
        return;
    }
    double all = near.cases;
    sy_table_cell(table, "%s|%s|%u|%u (%.1f %%)|%.1f %%|%.1f %%|%.2f %%|%.1f %%", of,
                  sy_dype_policy_name(policy), near.cases, near.optimal, 100 * near.optimal / all,
                  100 * near.within_1 / all, 100 * near.within_5 / all, 100 * near.rest,
                  100 * near.worst);
}

static void nearness_table(const struct sy_dype *bench, struct sy_json_writer *out,
                           struct sy_buffer *text) {
    static const char *const headers[] = {"pipeline",   "policy",     "cases",        "optimal",
                                          "within 1 %", "within 5 %", "loss of rest", "worst loss"};
    static const enum sy_dype_policy of_pipeline[] = {SY_DYPE_OURS, SY_DYPE_FIRST, SY_DYPE_STATIC,
                                                      SY_DYPE_STATIC_FIRST};
    struct sy_table table;
    sy_table_init(&table, headers, "llrrrrrr");
    open_table(out, "optimum");
    for (int p = 0; p < SY_DYPE_ADDITIVE; p++) {
        put_nearness(bench, SY_NONE, (enum sy_dype_policy)p, &table, out);
    }
    for (uint32_t i = 0; i < bench->pipeline_count; i++) {
        for (size_t p = 0; p < SY_COUNT(of_pipeline); p++) {
            put_nearness(bench, i, of_pipeline[p], &table, out);
        }
    }
    close_table(out);
    sy_buffer_printf(
        text, "Distance from the optimum of the true costs (exhaustive search); a plan below "
              "the required throughput is penalised by the shortfall\n\n");
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

/* --- how far ahead of others --------------------------------------------------------------------
 */
static double counted(const struct sy_dype_case *item, const struct sy_plan_outcome *got) {
    return item->objective == SY_DYPE_FLOOR
               ? got->energy_joules * fmax(1, got->period_ns / item->floor_ns)
               : sy_dype_key(item, got);
}

struct sy_spread sy_dype_gain(const struct sy_dype *bench, enum sy_dype_policy other,
                              enum sy_dype_objective objective, uint32_t pipeline) {
    struct sy_spread gain = {NAN, NAN, NAN};
    double *values = calloc(bench->case_count + 1u, sizeof *values);
    uint32_t *pipelines = calloc(bench->case_count + 1u, sizeof *pipelines);
    uint32_t *examples = calloc(bench->case_count + 1u, sizeof *examples);
    uint32_t count = 0;
    for (uint32_t i = 0; values && pipelines && examples && i < bench->case_count; i++) {
        const struct sy_dype_case *item = &bench->cases[i];
        if (item->objective == objective && (pipeline == SY_NONE || item->pipeline == pipeline) &&
            isfinite(item->got[other].period_ns)) {
            pipelines[count] = item->pipeline;
            examples[count] = item->example;
            values[count++] =
                counted(item, &item->got[other]) / counted(item, &item->got[SY_DYPE_OURS]);
        }
    }
    if (count) {
        gain = sy_bench_geomean(values, count, (struct sy_clusters){pipelines, examples});
    }
    free(values);
    free(pipelines);
    free(examples);
    return gain;
}

static void put_gains(const struct sy_dype *bench, uint32_t pipeline, enum sy_dype_policy other,
                      struct sy_table *table, struct sy_json_writer *out) {
    const char *of = pipeline == SY_NONE ? "all" : bench->pipelines[pipeline].name;
    sy_table_cell(table, "%s|%s", of, sy_dype_policy_name(other));
    sy_json_print(out, "{pipeline: %s, over: %s", of, sy_dype_policy_name(other));
    for (int o = 0; o < SY_DYPE_OBJECTIVES; o++) {
        enum sy_dype_objective objective = (enum sy_dype_objective)o;
        struct sy_spread gain = sy_dype_gain(bench, other, objective, pipeline);
        sy_report_spread(table, gain);
        sy_report_member(out, sy_dype_objective_name(objective), gain);
    }
    sy_json_close(out, '}');
}

static void gains_table(const struct sy_dype *bench, struct sy_json_writer *out,
                        struct sy_buffer *text) {
    static const char *const headers[] = {"pipeline", "ours over", "throughput",   "energy",
                                          "balanced", "latency",   "energy, floor"};
    static const enum sy_dype_policy of_pipeline[] = {
        SY_DYPE_STATIC, SY_DYPE_STATIC_FIRST, SY_DYPE_FLEET, SY_DYPE_GPU_ONLY, SY_DYPE_FPGA_ONLY};
    struct sy_table table;
    sy_table_init(&table, headers, "llrrrrr");
    open_table(out, "gains");
    for (int p = SY_DYPE_FIRST; p < SY_DYPE_POLICIES; p++) {
        put_gains(bench, SY_NONE, (enum sy_dype_policy)p, &table, out);
    }
    for (uint32_t i = 0; i < bench->pipeline_count; i++) {
        for (size_t p = 0; p < SY_COUNT(of_pipeline); p++) {
            put_gains(bench, i, of_pipeline[p], &table, out);
        }
    }
    close_table(out);
    sy_buffer_printf(
        text, "Advantage: geometric mean over cases of the objective, other / ours (1.5: "
              "ours has 1.5 times the throughput, or needs 1/1.5 of the\nenergy), each "
              "column over the cases of its objective, [95 %% bootstrap intervals over "
              "pipelines, then examples].\nstatic, hindsight: for each objective the one "
              "plan of a pipeline that is best over all its examples and links; first "
              "example: the optimum of the\nfirst example kept for all; FleetRec-like: the "
              "same with dense kernels on GPUs and sparse ones on FPGAs; -only: best plan on "
              "that class by true costs; additive: no plan, the rates\nof GPU-only and "
              "FPGA-only together; side by side: several pipelines next to each other, exact "
              "by true costs, a larger space than that of all others\n\n");
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

/* --- how wrong the estimates are ----------------------------------------------------------------
 */
struct wrongness {
    double median, p90, covered;
    uint32_t count;
};

static struct wrongness wrong_by(const struct sy_dype *bench, const char *kernel,
                                 enum sy_dype_class which, double *memory) {
    struct wrongness wrong = {0};
    uint32_t covered = 0;
    for (uint32_t u = 0; u < bench->unit_count; u++) {
        const struct sy_dype_unit *unit = &bench->units[u];
        for (uint32_t i = 0; i < unit->guess_count; i++) {
            const struct sy_dype_guess *guess = &unit->guesses[i];
            if (guess->which == which && strcmp(guess->kernel, kernel) == 0) {
                memory[wrong.count++] = fabs(guess->log_error);
                covered += fabs(guess->log_error) <= 2 * guess->log_sigma;
            }
        }
    }
    wrong.median = sy_quantile(memory, wrong.count, 0.5);
    wrong.p90 = sy_quantile(memory, wrong.count, 0.9);
    wrong.covered = wrong.count ? (double)covered / wrong.count : NAN;
    return wrong;
}

static bool is_first(const struct sy_dype *bench, uint32_t unit, uint32_t guess) {
    const char *kernel = bench->units[unit].guesses[guess].kernel;
    for (uint32_t u = 0; u <= unit; u++) {
        const struct sy_dype_unit *at = &bench->units[u];
        for (uint32_t i = 0; i < (u < unit ? at->guess_count : guess); i++) {
            if (strcmp(at->guesses[i].kernel, kernel) == 0) {
                return false;
            }
        }
    }
    return true;
}

static void put_errors(const struct sy_dype *bench, const char *kernel, double *memory,
                       struct sy_table *table, struct sy_json_writer *out) {
    for (int c = 0; c < SY_DYPE_CLASSES; c++) {
        struct wrongness wrong = wrong_by(bench, kernel, (enum sy_dype_class)c, memory);
        if (!wrong.count) {
            continue;
        }
        sy_table_cell(table, "%s|%s|%u|%.1f %%|%.1f %%|%.0f %%", kernel, bench->times.classes[c],
                      wrong.count, 100 * wrong.median, 100 * wrong.p90, 100 * wrong.covered);
        sy_json_print(out,
                      "{kernel: %s, class: %s, guesses: %u, median_log_error: %g, "
                      "p90_log_error: %g, within_2_sigma: %g}",
                      kernel, bench->times.classes[c], wrong.count, wrong.median, wrong.p90,
                      wrong.covered);
    }
}

static void errors_table(const struct sy_dype *bench, struct sy_json_writer *out,
                         struct sy_buffer *text) {
    static const char *const headers[] = {"kernel", "class", "guesses",
                                          "median", "p90",   "within 2 sigma"};
    struct sy_table table;
    uint32_t all = 1;
    sy_table_init(&table, headers, "llrrrr");
    open_table(out, "estimator");
    for (uint32_t u = 0; u < bench->unit_count; u++) {
        all += bench->units[u].guess_count;
    }
    double *memory = calloc(all, sizeof *memory);
    for (uint32_t u = 0; memory && u < bench->unit_count; u++) {
        for (uint32_t i = 0; i < bench->units[u].guess_count; i++) {
            if (is_first(bench, u, i)) {
                put_errors(bench, bench->units[u].guesses[i].kernel, memory, &table, out);
            }
        }
    }
    free(memory);
    close_table(out);
    sy_buffer_printf(text,
                     "Error of the first estimates: |log(estimate / true)| on one device, from "
                     "calibration inputs alone\n\n");
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

/* --- streams ------------------------------------------------------------------------------------
 */
static void put_stream(const struct sy_dype *bench, const struct sy_dype_unit *unit,
                       struct sy_table *table, struct sy_json_writer *out) {
    static const char *const names[SY_DYPE_STREAMERS] = {"ours", "static", "gpu_only", "optimum"};
    const struct sy_dype_stream *stream = &unit->stream;
    double ours_ns = stream->time_ns[SY_DYPE_STREAM_OURS];
    double our_joules = stream->joules[SY_DYPE_STREAM_OURS];
    sy_table_cell(table, "%s|%s|%u|%.4g", bench->pipelines[unit->pipeline].name,
                  sy_dype_link_name(unit->link), stream->items, 1e9 * stream->items / ours_ns);
    sy_json_print(out, "{pipeline: %s, link: %s, items: %u", bench->pipelines[unit->pipeline].name,
                  sy_dype_link_name(unit->link), stream->items);
    for (int s = 0; s < SY_DYPE_STREAMERS; s++) {
        sy_json_print(out, "%s: {items_per_s: %g, joules_per_item: %g}", names[s],
                      1e9 * stream->items / stream->time_ns[s], stream->joules[s] / stream->items);
        if (s != SY_DYPE_STREAM_OURS) {
            sy_table_cell(table, "%s", sy_units_number(stream->time_ns[s] / ours_ns, 3).text);
        }
    }
    sy_table_cell(table, "%s|%s|%u|%u|%u",
                  sy_units_number(stream->joules[SY_DYPE_STREAM_STATIC] / our_joules, 3).text,
                  sy_units_number(stream->joules[SY_DYPE_STREAM_GPU] / our_joules, 3).text,
                  stream->changes, stream->probes, stream->late_most);
    sy_json_print(out, "changes: %u, probes: %u, items_late_most: %u}", stream->changes,
                  stream->probes, stream->late_most);
}

static void streams_table(const struct sy_dype *bench, struct sy_json_writer *out,
                          struct sy_buffer *text) {
    static const char *const headers[] = {"pipeline",  "link",      "items",    "ours/s",
                                          "/static",   "/GPU-only", "/optimum", "J: /static",
                                          "/GPU-only", "changes",   "probes",   "late"};
    struct sy_table table;
    sy_table_init(&table, headers, "llrrrrrrrrrr");
    open_table(out, "streams");
    for (uint32_t u = 0; u < bench->unit_count; u++) {
        put_stream(bench, &bench->units[u], &table, out);
    }
    close_table(out);
    sy_buffer_printf(
        text, "A stream that drifts through the examples and back (a model: periods and "
              "latencies by the true times, the first item of a new plan takes its latency), "
              "objective\nthroughput. Our rate divided by that of the single plan that is "
              "best for the whole stream in hindsight, of the best GPU-only plan for each "
              "input, and of the\noptimum for each input with free changes of plan; then the "
              "energy of the others divided by ours; late: most items of a new input before "
              "the plan changed\n\n");
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

/* --- every case ---------------------------------------------------------------------------------
 */
static void put_case(const struct sy_dype *bench, const struct sy_dype_case *item,
                     struct sy_json_writer *out) {
    const struct sy_dype_pipeline *of = &bench->pipelines[item->pipeline];
    sy_json_print(out,
                  "{pipeline: %s, example: %s, link: %s, objective: %s, optimum: %s, period_ns: %g",
                  of->name, of->description->examples[of->examples[item->example]].name,
                  sy_dype_link_name(item->link), sy_dype_objective_name(item->objective),
                  item->best_plan ? item->best_plan : "", item->best.period_ns);
    sy_json_print(
        out,
        "latency_ns: %g, energy_joules: %g, plans: %llu, first_plan: %s, our_plan: %s, probes: %u",
        item->best.latency_ns, item->best.energy_joules, (unsigned long long)item->space,
        item->first_plan ? item->first_plan : "", item->our_plan ? item->our_plan : "",
        item->probes);
    sy_json_print(out, "over_optimum: {");
    for (int p = 0; p < SY_DYPE_POLICIES; p++) {
        enum sy_dype_policy policy = (enum sy_dype_policy)p;
        sy_json_member_number(out, sy_dype_policy_name(policy), sy_dype_ratio(item, policy));
    }
    sy_json_print(out, "}}");
}

static void cases_json(const struct sy_dype *bench, struct sy_json_writer *out) {
    open_table(out, "cases");
    for (uint32_t i = 0; i < bench->case_count; i++) {
        put_case(bench, &bench->cases[i], out);
    }
    close_table(out);
}

static void left_out_table(const struct sy_dype *bench, struct sy_json_writer *out,
                           struct sy_buffer *text) {
    open_table(out, "left out");
    for (uint32_t i = 0; i < bench->left_out.count; i++) {
        sy_buffer_printf(text, "Left out: %s\n", bench->left_out.items[i]);
        sy_json_put_string(out, bench->left_out.items[i]);
    }
    close_table(out);
}

void sy_dype_tables(const struct sy_dype *bench, struct sy_json_writer *out,
                    struct sy_buffer *text) {
    uint32_t examples = 0;
    for (uint32_t p = 0; p < bench->pipeline_count; p++) {
        examples += bench->pipelines[p].example_count;
    }
    sy_buffer_printf(text,
                     "Plans for pipelines: %u cases (%u examples of %u pipelines x %d "
                     "interconnects x %d objectives); %u rows of times, %u to learn from.\n",
                     bench->case_count, examples, bench->pipeline_count, SY_DYPE_LINKS,
                     SY_DYPE_OBJECTIVES, bench->times.count, bench->times.calibrations);
    sy_dype_describe(&bench->times, text);
    sy_buffer_printf(text,
                     "Estimators know measured rows at other features than those of the examples, "
                     "and for an example the kernels that its plans ran, timed with noise %g.\n",
                     bench->noise);
    left_out_table(bench, out, text);
    sy_buffer_printf(text, "\n");
    nearness_table(bench, out, text);
    gains_table(bench, out, text);
    errors_table(bench, out, text);
    streams_table(bench, out, text);
    cases_json(bench, out);
}
