/* SPDX-License-Identifier: Apache-2.0
 *
 * Goals of symph-bench dype, what DyPe published beside them, and a picture.
 *
 * In: cases that are done. Out: value, what was asked for, hit or MISS. Invariant: what was not
 * measured is neither.
 */
#include "cli/table.h"
#include "symph-bench/dype.h"
#include "symph-bench/policy.h"
#include "trace/trace.h"
#include <math.h>
#include <stdlib.h>

struct goal {
    const char *text;
    struct sy_spread value;
    double asked_for;
    bool at_least;
    const char *published; /* by DyPe, on its own system */
};

static struct sy_spread plain(double value) {
    return (struct sy_spread){value, NAN, NAN};
}

static double most_probes(const struct sy_dype *bench) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < bench->case_count; i++) {
        most = bench->cases[i].probes > most ? bench->cases[i].probes : most;
    }
    return most;
}

static double mean_probes(const struct sy_dype *bench) {
    double sum = 0;
    for (uint32_t i = 0; i < bench->case_count; i++) {
        sum += bench->cases[i].probes;
    }
    return sum / bench->case_count;
}

static double exact_share(const struct sy_dype *bench) {
    uint32_t exact = 0;
    for (uint32_t i = 0; i < bench->case_count; i++) {
        exact += bench->cases[i].exact;
    }
    return (double)exact / bench->case_count;
}

static double latest(const struct sy_dype *bench) {
    uint32_t most = 0;
    for (uint32_t u = 0; u < bench->unit_count; u++) {
        uint32_t late = bench->units[u].stream.late_most;
        most = late > most ? late : most;
    }
    return most;
}

static const char *verdict(const struct goal *goal) {
    double value = goal->value.value;
    return !isfinite(value)                                                         ? "not measured"
           : (goal->at_least ? value >= goal->asked_for : value <= goal->asked_for) ? "hit"
                                                                                    : "MISS";
}

static void put_goal(const struct goal *goal, struct sy_table *table, struct sy_json_writer *out) {
    sy_table_cell(table, "%s|%s %.4g", goal->text, goal->at_least ? ">=" : "<=", goal->asked_for);
    sy_report_spread(table, goal->value);
    sy_table_cell(table, "%s|%s", verdict(goal), goal->published);
    sy_json_print(out, "{goal: %s, sense: %s, asked_for: %g", goal->text,
                  goal->at_least ? "at least" : "at most", goal->asked_for);
    sy_report_member(out, "measured", goal->value);
    sy_json_print(out, "verdict: %s, published: %s}", verdict(goal), goal->published);
}

static struct sy_spread gain(const struct sy_dype *bench, enum sy_dype_policy other,
                             enum sy_dype_objective objective) {
    return sy_dype_gain(bench, other, objective, SY_NONE);
}

void sy_dype_goals(const struct sy_dype *bench, struct sy_json_writer *out,
                   struct sy_buffer *text) {
    static const char *const headers[] = {"goal", "asked for", "measured", "", "DyPe published"};
    const struct goal goals[] = {
        {"cases", plain(bench->case_count), 86, true, "86"},
        {"exact search = exhaustive search, share of cases", plain(exact_share(bench)), 1, true,
         ""},
        {"ours after probes: within 1 % of the optimum",
         plain(sy_dype_share(bench, SY_DYPE_OURS, 1.01, SY_NONE)), 0.99, true, ""},
        {"ours after probes: at the optimum",
         plain(sy_dype_share(bench, SY_DYPE_OURS, 1 + 1e-9, SY_NONE)), 77.0 / 86, true,
         "77/86 = 0.895"},
        {"probes, at most", plain(most_probes(bench)), 4, false, ""},
        {"first plan: within 5 % of the optimum",
         plain(sy_dype_share(bench, SY_DYPE_FIRST, 1.05, SY_NONE)), 0.95, true, ""},
        {"throughput over static, hindsight", gain(bench, SY_DYPE_STATIC, SY_DYPE_THROUGHPUT), 1.53,
         true, "1.53 (its static)"},
        {"energy efficiency over static, hindsight", gain(bench, SY_DYPE_STATIC, SY_DYPE_ENERGY),
         1.09, true, "1.09 (its static)"},
        {"throughput over static, first example",
         gain(bench, SY_DYPE_STATIC_FIRST, SY_DYPE_THROUGHPUT), 1.53, true, "1.53 (its static)"},
        {"energy efficiency over static, first example",
         gain(bench, SY_DYPE_STATIC_FIRST, SY_DYPE_ENERGY), 1.09, true, "1.09 (its static)"},
        {"throughput over FleetRec-like", gain(bench, SY_DYPE_FLEET, SY_DYPE_THROUGHPUT), 1.53,
         true, "1.53 (its static)"},
        {"energy efficiency over FleetRec-like", gain(bench, SY_DYPE_FLEET, SY_DYPE_ENERGY), 1.09,
         true, "1.09 (its static)"},
        {"throughput over GPU-only", gain(bench, SY_DYPE_GPU_ONLY, SY_DYPE_THROUGHPUT), 1.44, true,
         "1.44"},
        {"energy efficiency over GPU-only", gain(bench, SY_DYPE_GPU_ONLY, SY_DYPE_ENERGY), 1.66,
         true, "1.66"},
        {"items of a new input before a new plan", plain(latest(bench)), 2, false, ""},
    };
    struct sy_table table;
    sy_table_init(&table, headers, "lrrll");
    sy_json_print(out, "{bench: %s, title: %s, rows: [", "dype", "goals");
    for (size_t i = 0; i < SY_COUNT(goals); i++) {
        put_goal(&goals[i], &table, out);
    }
    sy_json_print(out, "]}");
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(
        text,
        "\nProbes on average: %.2f. Static plans were optimal in %.1f %% (hindsight) "
        "and %.1f %% (first example) of cases here, in 13 of 86 (15.1 %%) there; DyPe "
        "lost 3.95 %% on average where it was\nnot optimal. Its numbers come from "
        "another system (other GPUs, real FPGA cards), other cases and perhaps another "
        "static plan:\nthey are what was claimed, not what would be measured here.\n\n",
        mean_probes(bench), 100 * sy_dype_share(bench, SY_DYPE_STATIC, 1 + 1e-9, SY_NONE),
        100 * sy_dype_share(bench, SY_DYPE_STATIC_FIRST, 1 + 1e-9, SY_NONE));
}

/* --- a picture ----------------------------------------------------------------------------------
 */
int sy_dype_plot(const struct sy_dype *bench, const char *path) {
    static const enum sy_dype_policy shown[] = {SY_DYPE_OURS,  SY_DYPE_FIRST,    SY_DYPE_STATIC,
                                                SY_DYPE_FLEET, SY_DYPE_GPU_ONLY, SY_DYPE_FPGA_ONLY,
                                                SY_DYPE_GREEDY};
    struct sy_plot_line lines[SY_COUNT(shown)];
    double *memory =
        sy_need(calloc((2 * SY_COUNT(shown)) * (bench->case_count + 1u), sizeof *memory));
    for (size_t p = 0; p < SY_COUNT(shown); p++) {
        double *x = &memory[2 * p * bench->case_count], *y = x + bench->case_count;
        uint32_t count = 0;
        for (uint32_t i = 0; i < bench->case_count; i++) {
            double ratio = sy_dype_ratio(&bench->cases[i], shown[p]);
            if (isfinite(ratio)) {
                y[count++] = 1 / ratio;
            }
        }
        sy_sort(y, count);
        for (uint32_t i = 0; i < count; i++) {
            x[i] = 100.0 * (i + 1) / count;
        }
        lines[p] = (struct sy_plot_line){sy_dype_policy_name(shown[p]), x, y, NULL, NULL, count};
    }
    struct sy_plot_panel panel = {.label = "of the optimum",
                                  .unit = " %",
                                  .scale = 100,
                                  .low = 0,
                                  .high = 1,
                                  .lines = lines,
                                  .line_count = SY_COUNT(shown)};
    struct sy_plot plot = {
        .title = "Plans for pipelines, by objective's value",
        .subtitle = "optimum / plan, cases of each policy sorted; measured CPU and GPU times, "
                    "modelled FPGAs and links",
        .x_label = "% of cases",
        .panels = &panel,
        .panel_count = 1};
    int r = sy_bench_plot(path, NULL, &plot);
    free(memory);
    return r;
}
