/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-bench: regenerates the tables of docs/ from one command.
 *
 * In: names of benches, perhaps a folder of recorded data. Out: tables, "symph-bench-1" as JSON, or
 * files for docs/bench/. Invariant: every figure printed was computed in this run; what cannot run
 * is named, with the reason.
 */
#include "symph-bench/bench.h"

#include "base/json.h"
#include "cli/table.h"
#include "cli/units.h"
#include "commit.h"
#include "symph-bench/counters.h"
#include "symph-bench/policy.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(field) offsetof(struct bench_args, field)
#define NAME_SIZE 64

struct bench_args {
    struct sy_common_args common;
    struct sy_text_list names;
    const char *data, *out;
    uint32_t seeds, threads;
    const char *decision_time;
    struct sy_bench_counters_args counters;
    const char *suite, *policy, *only;
    struct sy_text_list zero_shot;
    uint32_t rollouts, mutations;
    const char *worst;
    struct sy_text_list times, pipelines;
    const char *kernels;
};

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "data", "FOLDER", AT(data),
     "recorded graphs, machines and timings (default: the environment variable SYMPH_DATA)"},
    {SY_OPTION_U32, "seeds", "N", AT(seeds), "worlds for each noisy scenario (default 20)", 1, 1e5},
    {SY_OPTION_U32, "threads", "N", AT(threads),
     "number of simulations at the same time (default: the available cores)", 1, 4096},
    {SY_OPTION_TEXT, "decision-time", "T", AT(decision_time),
     "simulated time that policies take to plan and decide, as in symph simulate (default "
     "measured; with 0 the same seeds give the same bytes)"},
    {SY_OPTION_HEADING, .help = "For counters"},
    {SY_OPTION_TEXT, "traces", "FOLDER", AT(counters.traces),
     "exact time series of programs, made by tools/callgrind_traces.py"},
    {SY_OPTION_TEXT, "counters", "LIST", AT(counters.counters),
     "numbers of hardware counters that the events share (default 4,8)"},
    {SY_OPTION_TEXT, "split", "SPLIT", AT(counters.split),
     "only the programs of the development set, or only the held-out ones"},
    {SY_OPTION_NUMBER, "noise", "RATIO", AT(counters.noise),
     "relative standard deviation of one reading (default 0.02)", 1e-6, 1},
    {SY_OPTION_NUMBER, "outliers", "RATIO", AT(counters.outliers),
     "share of readings that are 10 times too large or too small (default 0.03)", 0, 1},
    {SY_OPTION_FLAG, "ablations", NULL, AT(counters.ablations),
     "also with parts left out, and with more noise"},
    {SY_OPTION_FLAG, "papers", NULL, AT(counters.papers),
     "the setting of the papers, on a synthetic trace"},
    {SY_OPTION_FILE, "plot", "FILE", AT(counters.plot), "draw the errors and an example (SVG)"},
    {SY_OPTION_HEADING, .help = "For policy"},
    {SY_OPTION_TEXT, "suite", "LIST", AT(suite),
     "tracks to run: S, D, C, M, ablation, zero-shot, speed or all (default all)"},
    {SY_OPTION_TEXT, "only", "GLOB", AT(only),
     "only the suites of a track, or the kinds of graphs, whose name matches GLOB"},
    {SY_OPTION_TEXT, "policy", "A,B,...", AT(policy),
     "policies to evaluate, such as learned@my.weights (default: the shipped ones)"},
    {SY_OPTION_U32, "rollouts", "N", AT(rollouts),
     "number of worlds that the clairvoyant policy replays for one plan (default 200; 0: leave it "
     "out)",
     0, 1e6},
    {SY_OPTION_REPEAT, "zero-shot", "KIND=WITH,WITHOUT", AT(zero_shot),
     "two policies, trained with and without something: machine, size, family or factorisations; "
     "may be repeated"},
    {SY_OPTION_HEADING, .help = "For adversarial"},
    {SY_OPTION_U32, "mutations", "N", AT(mutations),
     "number of graphs to try for each class of machines and kind (default 2000)", 1, 1e9},
    {SY_OPTION_TEXT, "worst", "FOLDER", AT(worst),
     "write the worst graph found for each class and kind to this folder"},
    {SY_OPTION_HEADING, .help = "For dype (also: --noise, of measured times; --plot)"},
    {SY_OPTION_REPEAT, "times", "FILE", AT(times),
     "measured times of kernels, as symph run --calibrate writes them (default: those installed); "
     "may be repeated"},
    {SY_OPTION_REPEAT, "pipeline", "NAME|FILE", AT(pipelines),
     "only this pipeline: a name such as gnn:gcn, or a file; may be repeated"},
    {SY_OPTION_ANY, "kernels", "PATH", AT(kernels),
     "kernel plug-ins: files or folders, separated by colons (default: those installed)"},
    {SY_OPTION_HEADING, .help = "Output"},
    {SY_OPTION_TEXT, "out", "FOLDER", AT(out),
     "write FOLDER/NAME.md and FOLDER/NAME.json instead of printing the tables"},
    SY_OPTION_COMMON(struct bench_args),
};

static const struct sy_command command = {
    .name = "bench",
    .program = "symph-bench",
    .usage = "NAME... [OPTION]...",
    .examples = "  symph-bench classic --data recorded\n"
                "  symph-bench streams --seeds 5\n"
                "  symph-bench recorded --data recorded --seeds 8\n"
                "  symph-bench counters --traces traces --seeds 5\n"
                "  symph-bench counters --papers\n"
                "  symph-bench policy --suite C --policy learned@my.weights\n"
                "  symph-bench dype --times times.csv --plot plans.svg\n"
                "  symph-bench all --data recorded --out docs/bench",
    .about = "Benches: classic (policies compared with lower bounds), ablation (the value of "
             "knowing about contention), streams (job orders and tenants), decisions and "
             "speed (the time to decide and to simulate on this machine), counters (the error "
             "of multiplexed counters, and how much of it inference removes), belief (what "
             "policies gain from it), policy (learned policies compared with heuristics and "
             "with greedy-true), recorded (streams of recorded jobs), adversarial (a search for "
             "the graphs on which the "
             "default policy is worst), applications (graphs shaped like the workloads of the "
             "papers), dype (plans for pipelines on a calibrated system compared with static "
             "ones), all.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(names),
    .operand_max = 16,
};

static const char *const bench_names[] = {"classic",  "ablation",    "streams",      "decisions",
                                          "speed",    "counters",    "belief",       "policy",
                                          "recorded", "adversarial", "applications", "dype"};

/* --- one sheet -----------------------------------------------------------------------------------
 */
static bool wants_lp(const struct sy_sheet *sheet, uint32_t scenario) {
    for (uint32_t c = 0; c < SY_BENCH_COLUMNS && sheet->columns[c].title; c++) {
        if (sheet->columns[c].scenario == scenario &&
            sheet->columns[c].figure == SY_FIGURE_OVER_LP) {
            return true;
        }
    }
    return false;
}

static int scene_run(struct sy_scene *scene, const struct bench_args *bench,
                     const struct sy_sheet *sheet, uint32_t index) {
    const struct sy_bench_scenario *from = &sheet->scenarios[index];
    struct sy_bench_worlds worlds = {
        bench->data, 1, bench->seeds, bench->threads, bench->common.quiet, bench->decision_time};
    int r = sy_scene_run(scene, &worlds, from, from->policies ? from->policies : sheet->policies);
    if (!r && wants_lp(sheet, index)) {
        sy_scene_measure_lp(scene);
    }
    return r;
}

/* --- figures ------------------------------------------------------------------------------------
 */
static struct sy_spread figure(const struct sy_scene *scene, const char *policy,
                               enum sy_figure which) {
    const struct sy_text_list *ran = &scene->simulate.policies;
    uint32_t p = 0;
    while (p < ran->count && strcmp(ran->items[p], policy) != 0) {
        p++;
    }
    if (p == ran->count) {
        return (struct sy_spread){NAN, NAN, NAN};
    }
    const struct sy_summary *s = &scene->summary[p];
    switch (which) {
    case SY_FIGURE_OVER_BOUND:
        return s->over_bound;
    case SY_FIGURE_OVER_LP:
        return scene->against_lp ? scene->against_lp[p].over_bound
                                 : (struct sy_spread){NAN, NAN, NAN};
    case SY_FIGURE_SLOWDOWN:
        return s->slowdown;
    case SY_FIGURE_SLOWDOWN_P99:
        return (struct sy_spread){s->slowdown_p99, NAN, NAN};
    case SY_FIGURE_WITHIN_0:
        return (struct sy_spread){s->within_0, NAN, NAN};
    case SY_FIGURE_WITHIN_10:
        return (struct sy_spread){s->within_10, NAN, NAN};
    case SY_FIGURE_WITHIN_20:
        return (struct sy_spread){s->within_20, NAN, NAN};
    case SY_FIGURE_FAIRNESS:
        return (struct sy_spread){s->fairness, NAN, NAN};
    case SY_FIGURE_DECISION_P50:
        return (struct sy_spread){s->decision_p50_ns, NAN, NAN};
    default:
        return (struct sy_spread){s->decision_p99_ns, NAN, NAN};
    }
}

static void put_cell(struct sy_table *table, struct sy_spread value, enum sy_figure which) {
    if (!isfinite(value.value)) {
        sy_table_cell(table, "-");
    } else if (which >= SY_FIGURE_DECISION_P50) {
        sy_table_cell(table, "%s", sy_units_time(value.value).text);
    } else if (isfinite(value.low) && value.high > value.low) {
        sy_table_cell(table, "%.3f [%.3f, %.3f]", value.value, value.low, value.high);
    } else {
        sy_table_cell(table, "%.3f", value.value);
    }
}

/* The next name of a list with commas; false at its end. */
static bool next_policy(const char **at, char *ret_name) {
    size_t length = strcspn(*at, ",");
    snprintf(ret_name, NAME_SIZE, "%.*s", (int)length, *at);
    *at += length + ((*at)[length] == ',');
    return length > 0;
}

static uint32_t column_count(const struct sy_sheet *sheet) {
    uint32_t count = 0;
    while (count < SY_BENCH_COLUMNS && sheet->columns[count].title) {
        count++;
    }
    return count;
}

static void sheet_text(const struct sy_sheet *sheet, const struct sy_scene *scenes,
                       struct sy_buffer *buffer) {
    const char *headers[SY_BENCH_COLUMNS + 2] = {"policy"};
    char align[SY_BENCH_COLUMNS + 2] = "l";
    uint32_t columns = column_count(sheet);
    for (uint32_t c = 0; c < columns; c++) {
        headers[c + 1] = sheet->columns[c].title;
        align[c + 1] = 'r';
    }
    struct sy_table table;
    sy_table_init(&table, headers, align);
    char policy[NAME_SIZE];
    for (const char *at = sheet->policies; next_policy(&at, policy);) {
        sy_table_cell(&table, "%s", policy);
        for (uint32_t c = 0; c < columns; c++) {
            const struct sy_column *column = &sheet->columns[c];
            put_cell(&table, figure(&scenes[column->scenario], policy, column->figure),
                     column->figure);
        }
    }
    sy_buffer_printf(buffer, "%s\n", sheet->title);
    for (uint32_t i = 0; i < SY_BENCH_COLUMNS && sheet->scenarios[i].machine; i++) {
        sy_buffer_printf(buffer, "%s%u %s x %u seed%s", i ? "; " : "(",
                         scenes[i].simulate.graphs.count,
                         scenes[i].simulate.graphs.count == 1 ? "graph" : "graphs",
                         scenes[i].args.seeds, scenes[i].args.seeds == 1 ? "" : "s from 1");
    }
    sy_buffer_printf(buffer, "; [95 %% bootstrap intervals over graphs, then seeds]%s)\n\n",
                     scenes[0].simulate.charge
                         ? ";\nthe time that policies take here to plan and decide is charged"
                         : "");
    sy_table_write(&table, 0, false, buffer);
    sy_buffer_printf(buffer, "\n");
}

static void sheet_json(const struct sy_sheet *sheet, const struct sy_scene *scenes,
                       struct sy_json_writer *out) {
    sy_json_print(out, "{bench: %s, title: %s, rows: [", sheet->bench, sheet->title);
    char policy[NAME_SIZE];
    for (const char *at = sheet->policies; next_policy(&at, policy);) {
        sy_json_print(out, "{policy: %s", policy);
        for (uint32_t c = 0; c < column_count(sheet); c++) {
            const struct sy_column *column = &sheet->columns[c];
            struct sy_spread value = figure(&scenes[column->scenario], policy, column->figure);
            sy_json_print(out, "%s: {value: %g, low: %g, high: %g, seeds: %u}", column->title,
                          value.value, value.low, value.high, scenes[column->scenario].args.seeds);
        }
        sy_json_close(out, '}');
    }
    sy_json_print(out, "]}");
}

static int run_sheet(const struct bench_args *args, const struct sy_sheet *sheet,
                     struct sy_json_writer *out, struct sy_buffer *text) {
    struct sy_scene scenes[SY_BENCH_COLUMNS] = {0};
    int r = SY_EXIT_OK;
    uint32_t count = 0;
    sy_message_note(args->common.quiet, "%s", sheet->title);
    while (!r && count < SY_BENCH_COLUMNS && sheet->scenarios[count].machine) {
        r = scene_run(&scenes[count], args, sheet, count);
        count++;
    }
    if (!r) {
        sheet_text(sheet, scenes, text);
        sheet_json(sheet, scenes, out);
    }
    while (count-- > 0) {
        sy_scene_finish(&scenes[count]);
    }
    return r;
}

/* --- one bench: all its sheets -------------------------------------------------------------------
 */
static int run_sheets(const struct bench_args *args, const char *name, struct sy_json_writer *out,
                      struct sy_buffer *text) {
    const struct sy_sheet *sheet;
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; !r && (sheet = sy_bench_sheet_at(i)); i++) {
        if (strcmp(sheet->bench, name) != 0 && (!sheet->also || strcmp(sheet->also, name) != 0)) {
            continue;
        }
        const char *lacks = sy_scenario_lacks(&sheet->scenarios[0], args->data);
        if (lacks) {
            sy_message_note(args->common.quiet, "left out: %s: needs %s", sheet->title, lacks);
            sy_buffer_printf(text, "%s\n(left out: needs %s)\n\n", sheet->title, lacks);
            continue;
        }
        r = run_sheet(args, sheet, out, text);
    }
    return r;
}

/* What a bench was asked for, in the line that says how its page was made. */
static const char *options_given(const struct bench_args *args, const char *name) {
    static const char *const of_counters[2][2][2] = {
        {{"", " --papers"}, {" --ablations", " --ablations --papers"}},
        {{" --traces FOLDER", " --traces FOLDER --papers"},
         {" --traces FOLDER --ablations", " --traces FOLDER --ablations --papers"}},
    };
    if (strcmp(name, "counters") == 0) {
        return of_counters[args->counters.traces != NULL][args->counters.ablations]
                          [args->counters.papers];
    }
    if (strcmp(name, "dype") == 0) {
        return args->times.count ? " --times FILE" : "";
    }
    return args->data && strcmp(name, "belief") != 0 ? " --data FOLDER" : "";
}

/* A page that exists is not replaced by one that says that nothing was run. */
static bool nothing_ran(const struct bench_args *args, const char *name) {
    char path[PATH_MAX];
    return strcmp(name, "counters") == 0 ? !args->counters.traces && !args->counters.papers
                                         : strcmp(name, "dype") == 0 && !args->times.count &&
                                               !sy_dype_recorded(path, sizeof path);
}

/* A bench of policies in virtual time, whose own time is charged. */
static bool is_simulated(const char *name) {
    const struct sy_sheet *sheet;
    bool found = strcmp(name, "policy") == 0 || strcmp(name, "recorded") == 0;
    for (uint32_t i = 0; !found && (sheet = sy_bench_sheet_at(i)); i++) {
        found = strcmp(sheet->bench, name) == 0;
    }
    return found;
}

/* name: of the bench; page: of the file, one of several of a bench. */
static int write_bench(const struct bench_args *args, const char *name, const char *page_name,
                       const struct sy_buffer *text, const struct sy_buffer *json) {
    struct sy_buffer page = {0};
    char *path = NULL;
    sy_buffer_printf(&page, "# symph-bench %s\n\nMade by `symph-bench %s%s --seeds %u", page_name,
                     name, options_given(args, name), args->seeds);
    if (strcmp(name, "policy") == 0) {
        sy_buffer_printf(&page, " --suite %s --rollouts %u%s%s", args->suite, args->rollouts,
                         args->policy ? " --policy " : "", args->policy ? args->policy : "");
    }
    if (strcmp(name, "adversarial") == 0) {
        sy_buffer_printf(&page, " --mutations %u", args->mutations);
    }
    if (is_simulated(name)) {
        sy_buffer_printf(&page, " --decision-time %s", args->decision_time);
    }
    sy_buffer_printf(&page, "`, symph %s, commit %s.\n\n```\n%s```\n", sy_version(), SYMPH_COMMIT,
                     text->text ? text->text : "");
    int r = SY_EXIT_FAILED;
    if (asprintf(&path, "%s/%s.md", args->out, page_name) >= 0) {
        r = sy_output_file(path, &page);
        free(path);
    }
    if (!r && asprintf(&path, "%s/%s.json", args->out, page_name) >= 0) {
        r = sy_output_file(path, json);
        free(path);
    }
    sy_buffer_finish(&page);
    return r;
}

/* Where and with which code a measurement was made. */
static void put_host(struct sy_json_writer *out) {
    char line[256], model[128] = "unknown";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "model name : %127[^\n]", model) == 1) {
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    sy_json_print(out, "commit: %s, processor: %s, cores: %zu", SYMPH_COMMIT, model,
                  (size_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static int run_counters(const struct bench_args *args, struct sy_json_writer *out,
                        struct sy_buffer *text) {
    struct sy_bench_counters_args counters = args->counters;
    counters.seeds = args->seeds;
    counters.threads = args->threads;
    counters.quiet = args->common.quiet;
    return sy_bench_counters(&counters, out, text);
}

static int run_belief(const struct bench_args *args, struct sy_json_writer *out,
                      struct sy_buffer *text) {
    struct sy_bench_belief belief = {args->seeds, args->threads, args->common.quiet};
    return sy_bench_belief(&belief, out, text);
}

static struct sy_json_writer open_document(const struct bench_args *args, const char *name) {
    struct sy_json_writer out = {.compact_from = 4};
    sy_json_print(&out, "{schema: %s, bench: %s, version: %s", "symph-bench-1", name, sy_version());
    put_host(&out);
    sy_json_print(&out, "decision_time: %s, tables: [", args->decision_time);
    return out;
}

/* Prints the bench, or writes its page; frees both. After Ctrl-C only what is done is printed, and
 * no page is replaced. */
static int close_document(const struct bench_args *args, const char *name, const char *page,
                          struct sy_json_writer *out, struct sy_buffer *text, int r) {
    sy_json_print(out, "]}");
    if (!r && args->out && !nothing_ran(args, name)) {
        r = write_bench(args, name, page, text, &out->buffer);
    } else if (!r && !args->out) {
        r = sy_output(args->common.json ? &out->buffer : text);
    } else if (r == SY_EXIT_INTERRUPTED && !args->out && !args->common.json && text->length) {
        sy_buffer_printf(text, "(interrupted: what follows is missing)\n");
        (void)sy_output(text);
    }
    sy_buffer_finish(text);
    sy_buffer_finish(&out->buffer);
    return r;
}

/* All goals so far on one page, beside the pages of the tracks. */
static int write_goals(const struct bench_args *args, const struct sy_bench_policy *bench,
                       const struct sy_goals *goals, enum sy_policy_track last) {
    struct sy_json_writer out = open_document(args, "policy");
    struct sy_buffer text = {0};
    for (enum sy_policy_track t = 0; t <= last; t++) {
        if (sy_track_wanted(bench, t)) {
            sy_buffer_printf(&text, "%s (%s.md)\n\n", sy_track_name(t), sy_track_page(t));
            sy_goals_write(goals, t, &out, &text);
        }
    }
    return close_document(args, "policy", "policy", &out, &text, SY_EXIT_OK);
}

static int write_track(const struct bench_args *args, const struct sy_bench_policy *bench,
                       struct sy_goals *goals, enum sy_policy_track track) {
    struct sy_json_writer page = open_document(args, "policy");
    struct sy_buffer words = {0};
    struct sy_report report = {bench, goals->arena, &page, &words, goals};
    int r = sy_bench_policy_track(&report, track);
    r = close_document(args, "policy", sy_track_page(track), &page, &words, r);
    return r ? r : write_goals(args, bench, goals, track);
}

static int run_tracks(const struct bench_args *args, const struct sy_bench_policy *bench,
                      struct sy_goals *goals) {
    struct sy_json_writer out = open_document(args, "policy");
    struct sy_buffer text = {0};
    struct sy_report report = {bench, goals->arena, &out, &text, goals};
    int r = SY_EXIT_OK;
    for (enum sy_policy_track t = 0; !r && t < SY_TRACK_COUNT; t++) {
        if (sy_track_wanted(bench, t)) {
            r = args->out ? write_track(args, bench, goals, t) : sy_bench_policy_track(&report, t);
        }
    }
    if (args->out) {
        sy_buffer_finish(&text);
        sy_buffer_finish(&out.buffer);
        return r;
    }
    return close_document(args, "policy", "policy", &out, &text, r);
}

static int run_policy(const struct bench_args *args) {
    struct sy_bench_policy bench = {.worlds = {args->data, 1, args->seeds, args->threads,
                                               args->common.quiet, args->decision_time},
                                    .suite = args->suite,
                                    .policies = args->policy,
                                    .only = args->only,
                                    .rollouts = args->rollouts,
                                    .zero_shot = &args->zero_shot};
    struct sy_goals *goals = calloc(1, sizeof *goals);
    const char *word = "";
    if (!sy_tracks_known(bench.suite, &word)) {
        free(goals);
        return sy_options_usage(&command,
                                "--suite is S, D, C, M, ablation, zero-shot, speed or all, not "
                                "'%s'",
                                word);
    }
    int r = SY_EXIT_FAILED;
    if (goals && (goals->arena = sy_arena_create())) {
        r = run_tracks(args, &bench, goals);
    } else {
        sy_message_fail("out of memory");
    }
    sy_arena_destroy(goals ? goals->arena : NULL);
    free(goals);
    return r;
}

static int run_recorded(const struct bench_args *args, struct sy_json_writer *out,
                        struct sy_buffer *text) {
    struct sy_bench_worlds worlds = {
        args->data, 1, args->seeds, args->threads, args->common.quiet, args->decision_time};
    return sy_bench_recorded(&worlds, args->policy, out, text);
}

static int run_adversarial(const struct bench_args *args, struct sy_json_writer *out,
                           struct sy_buffer *text) {
    struct sy_bench_adversarial bench = {args->policy,    args->worst,       args->only, 1,
                                         args->mutations, args->common.quiet};
    return sy_bench_adversarial(&bench, out, text);
}

static int run_dype(const struct bench_args *args, struct sy_json_writer *out,
                    struct sy_buffer *text) {
    struct sy_bench_dype bench = {&args->times,        &args->pipelines,     args->kernels,
                                  args->counters.plot, args->counters.noise, args->threads,
                                  args->common.quiet};
    return sy_bench_dype(&bench, out, text);
}

static int run_bench(const struct bench_args *args, const char *name) {
    if (strcmp(name, "policy") == 0) {
        return run_policy(args);
    }
    struct sy_json_writer out = open_document(args, name);
    struct sy_buffer text = {0};
    int r = strcmp(name, "speed") == 0         ? sy_bench_speed(&out, &text)
            : strcmp(name, "counters") == 0    ? run_counters(args, &out, &text)
            : strcmp(name, "belief") == 0      ? run_belief(args, &out, &text)
            : strcmp(name, "recorded") == 0    ? run_recorded(args, &out, &text)
            : strcmp(name, "adversarial") == 0 ? run_adversarial(args, &out, &text)
            : strcmp(name, "dype") == 0        ? run_dype(args, &out, &text)
                                               : run_sheets(args, name, &out, &text);
    return close_document(args, name, name, &out, &text, r);
}

static bool is_bench(const char *name) {
    return sy_index_of(name, bench_names, SY_COUNT(bench_names), sizeof *bench_names) != SY_NONE;
}

/* Now, not after an hour of work. */
static int make_folder(const char *path) {
    if (path && mkdir(path, 0777) < 0 && errno != EEXIST) {
        sy_message_fail("%s: cannot make the folder: %s", path, strerror(errno));
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
}

static int run_named(const struct bench_args *args) {
    if (!args->names.count) {
        return sy_options_usage(
            &command,
            "name a bench: classic, ablation, streams, decisions, speed, counters, belief, "
            "policy, recorded, adversarial, applications, dype or all");
    }
    for (uint32_t i = 0; i < args->names.count; i++) {
        const char *name = args->names.items[i];
        if (strcmp(name, "all") != 0 && !is_bench(name)) {
            const char *near = sy_nearest(name, bench_names, SY_COUNT(bench_names));
            return near ? sy_options_usage(&command, "there is no bench '%s' (did you mean '%s'?)",
                                           name, near)
                        : sy_options_usage(&command, "there is no bench '%s'", name);
        }
    }
    double unused_ns;
    bool unused;
    int r = sy_simulate_decision_time(&command, args->decision_time, &unused_ns, &unused);
    if (r) {
        return r;
    }
    struct stat status;
    if (args->data && (stat(args->data, &status) < 0 || !S_ISDIR(status.st_mode))) {
        sy_message_fail("--data %s: no such folder", args->data);
        return SY_EXIT_INPUT;
    }
    for (uint32_t i = 0; !r && i < args->names.count; i++) {
        if (strcmp(args->names.items[i], "all") != 0) {
            r = run_bench(args, args->names.items[i]);
            continue;
        }
        for (size_t b = 0; !r && b < SY_COUNT(bench_names); b++) {
            r = run_bench(args, bench_names[b]);
        }
    }
    return r;
}

static int run(void *args) {
    int r = make_folder(((const struct bench_args *)args)->out);
    return r ? r : run_named(args);
}

int sy_bench_command(int argc, char **argv) {
    struct bench_args args = {.data = getenv("SYMPH_DATA"),
                              .seeds = 20,
                              .decision_time = SY_MEASURED,
                              .mutations = 2000,
                              .suite = "all",
                              .rollouts = 200,
                              .counters = {.counters = "4,8", .noise = 0.02, .outliers = 0.03}};
    args.data = args.data && *args.data ? args.data : NULL;
    return sy_options_run(&command, argc, argv, &args, run);
}
