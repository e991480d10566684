/* SPDX-License-Identifier: Apache-2.0
 *
 * counters: runs every method on every program and prints what it cost in error.
 *
 * In: a folder of traces. Out: tables by split and number of counters, one row per method, with
 * 95 % bootstrap intervals over programs. Invariant: development and held-out programs are never
 * in one mean.
 */
#include "symph-bench/counters.h"
#include "symph-bench/bench.h"

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/threads.h"
#include "cli/units.h"
#include "trace/trace.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS_MAX  8
#define CONFIGS_MAX 48
#define ALL         UINT32_MAX

enum { DEVELOPMENT, HELD_OUT, SPLITS };
static const char *const split_names[SPLITS] = {"development", "held-out"};

struct bench {
    const struct sy_bench_counters_args *args;
    struct sy_traces *traces;
    uint32_t slots[COUNTS_MAX], slots_count;
    struct sy_mux_config configs[CONFIGS_MAX];
    uint32_t config_count;
    bool wanted[SPLITS];
    struct sy_score *scores; /* [config][slots][series][seed] */
};

static struct sy_score *score_at(const struct bench *bench, uint32_t config, uint32_t slots,
                                 uint32_t series) {
    size_t at =
        ((size_t)config * bench->slots_count + slots) * bench->traces->series_count + series;
    return &bench->scores[at * bench->args->seeds];
}

static bool is_ours(enum sy_mux_method method) {
    return method == SY_MUX_UNSEEN || method == SY_MUX_SEEN;
}

static bool scored(const struct bench *bench, uint32_t series) {
    return bench->wanted[bench->traces->series[series].held_out ? HELD_OUT : DEVELOPMENT];
}

/* --- what is run --------------------------------------------------------------------------------
 */
static struct sy_mux_config *add(struct bench *bench, const char *section, const char *name,
                                 enum sy_mux_method method) {
    SY_ASSERT(bench->config_count < CONFIGS_MAX);
    struct sy_mux_config *config = &bench->configs[bench->config_count++];
    *config = (struct sy_mux_config){.section = section,
                                     .name = name,
                                     .method = method,
                                     .noise = bench->args->noise,
                                     .relations = ALL};
    return config;
}

static const struct {
    const char *name;
    enum sy_mux_method method;
} methods[] = {
    {"time-scaling", SY_MUX_TIME_SCALING}, {"interpolation", SY_MUX_INTERPOLATION},
    {"hold-last", SY_MUX_HOLD_LAST},       {"ours, unseen", SY_MUX_UNSEEN},
    {"ours, seen", SY_MUX_SEEN},
};

static const char noise_20[] = "20 % read noise", noise_40[] = "40 % read noise";

static void add_ablations(struct bench *bench) {
    static const char section[] = "without a part of it";
    static const char *const names[2][5] = {
        {"unseen, no relations", "unseen, no learned covariance", "unseen, no active choice",
         "unseen, Gaussian", "unseen, no learning online"},
        {"seen, no relations", "seen, no learned covariance", "seen, no active choice",
         "seen, Gaussian", "seen, no learning online"},
    };
    static const char *const densities[2][4] = {
        {"unseen, 0 relations", "unseen, 2", "unseen, 5", "unseen, 10"},
        {"seen, 0 relations", "seen, 2", "seen, 5", "seen, 10"},
    };
    static const uint32_t known[4] = {0, 2, 5, 10};
    for (int seen = 0; seen < 2; seen++) {
        enum sy_mux_method method = seen ? SY_MUX_SEEN : SY_MUX_UNSEEN;
        add(bench, section, names[seen][0], method)->relations = 0;
        add(bench, section, names[seen][1], method)->no_covariance = true;
        add(bench, section, names[seen][2], method)->no_choice = true;
        add(bench, section, names[seen][3], method)->gaussian = true;
        add(bench, section, names[seen][4], method)->no_learning = true;
    }
    for (int seen = 0; seen < 2; seen++) {
        struct sy_mux_config *gaussian = add(bench, "outliers and a Gaussian", names[seen][3],
                                             seen ? SY_MUX_SEEN : SY_MUX_UNSEEN);
        gaussian->gaussian = true;
        gaussian->outliers = bench->args->outliers;
    }
    for (int seen = 0; seen < 2; seen++) {
        for (int d = 0; d < 4; d++) {
            add(bench, "fewer relations", densities[seen][d], seen ? SY_MUX_SEEN : SY_MUX_UNSEEN)
                ->relations = known[d];
        }
    }
    for (size_t m = 0; m < SY_COUNT(methods); m++) {
        add(bench, noise_20, methods[m].name, methods[m].method)->noise = 0.2;
    }
    for (size_t m = 0; m < SY_COUNT(methods); m++) {
        add(bench, noise_40, methods[m].name, methods[m].method)->noise = 0.4;
    }
}

static void add_configs(struct bench *bench) {
    for (size_t m = 0; m < SY_COUNT(methods); m++) {
        add(bench, "main", methods[m].name, methods[m].method);
    }
    for (size_t m = 0; m < SY_COUNT(methods); m++) {
        add(bench, "gross outliers", methods[m].name, methods[m].method)->outliers =
            bench->args->outliers;
    }
    if (bench->args->ablations) {
        add_ablations(bench);
    }
}

static int guess(const struct sy_mux *mux, const struct sy_mux_config *config,
                 const struct sy_model *model, struct sy_mux_guess *ret_guess) {
    switch (config->method) {
    case SY_MUX_TIME_SCALING:
        sy_guess_time_scaling(mux, ret_guess);
        return 0;
    case SY_MUX_INTERPOLATION:
        sy_guess_interpolation(mux, ret_guess);
        return 0;
    case SY_MUX_HOLD_LAST:
        sy_guess_hold_last(mux, ret_guess);
        return 0;
    default:
        return sy_guess_filter(mux, config, model, ret_guess);
    }
}

static int run_one(const struct bench *bench, uint32_t config_index, uint32_t slots,
                   uint32_t series, uint32_t seed, const struct sy_model *model, double *scratch) {
    const struct sy_mux_config *config = &bench->configs[config_index];
    size_t cells = (size_t)bench->traces->series[series].windows * bench->traces->event_count;
    struct sy_mux_guess said = {.rates = scratch};
    if (is_ours(config->method)) {
        said.low = scratch + cells;
        said.high = scratch + 2 * cells;
    }
    struct sy_mux mux = {.traces = bench->traces,
                         .series = &bench->traces->series[series],
                         .slots = bench->slots[slots],
                         .noise = config->noise,
                         .outliers = config->outliers,
                         .seed = seed + 1};
    sy_mux_init(&mux);
    int code = guess(&mux, config, model, &said);
    if (!code) {
        sy_score_guess(&mux, &said, &score_at(bench, config_index, slots, series)[seed]);
    }
    sy_mux_finish(&mux);
    return code;
}

/* One configuration on one program, all counters and seeds. A model that holds only some relations
 * is made anew for every seed, so that the mean does not hang on which ones. */
static int run_config(const struct bench *bench, uint32_t config_index, uint32_t series,
                      double *scratch, struct sy_error *error) {
    const struct sy_mux_config *config = &bench->configs[config_index];
    bool anew = config->relations && config->relations < bench->traces->relation_count;
    struct sy_model *model = NULL;
    int code = 0;
    for (uint32_t seed = 0; !code && seed < bench->args->seeds; seed++) {
        if (is_ours(config->method) && (anew || !model)) {
            sy_model_destroy(model);
            model = NULL;
            code = sy_mux_model(bench->traces, series, config, seed + 1, &model, error);
        }
        for (uint32_t k = 0; !code && k < bench->slots_count; k++) {
            code = run_one(bench, config_index, k, series, seed, model, scratch);
        }
    }
    sy_model_destroy(model);
    return code;
}

/* Jobs are taken in turn by all threads; each writes its own scores, so that the result does not
 * depend on how many there are. */
struct pool {
    const struct bench *bench;
    struct sy_progress progress;
    size_t longest;
    atomic_uint next;
    pthread_mutex_t lock; /* guards what follows */
    int code;
    struct sy_error error;
};

static void pool_fail(struct pool *pool, int code, const struct sy_error *error) {
    pthread_mutex_lock(&pool->lock);
    if (!pool->code) {
        pool->code = code;
        pool->error = *error;
    }
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *data) {
    struct pool *pool = data;
    const struct bench *bench = pool->bench;
    uint32_t jobs = bench->traces->series_count * bench->config_count, job;
    double *scratch =
        sy_need(calloc(pool->longest * bench->traces->event_count, 3 * sizeof *scratch));
    struct sy_error error = {0};
    int code = 0;
    while (!code && !sy_interrupt_seen() && (job = atomic_fetch_add(&pool->next, 1)) < jobs) {
        uint32_t series = job / bench->config_count;
        if (scored(bench, series)) {
            code = run_config(bench, job % bench->config_count, series, scratch, &error);
        }
        sy_progress_add(&pool->progress, 1);
    }
    if (code) {
        atomic_store(&pool->next, jobs); /* the others stop too */
        pool_fail(pool, code, &error);
    }
    free(scratch);
    return NULL;
}

static int run_all(struct bench *bench, struct sy_error *error) {
    const struct sy_traces *traces = bench->traces;
    struct pool pool = {.bench = bench};
    for (uint32_t s = 0; s < traces->series_count; s++) {
        size_t windows = traces->series[s].windows;
        pool.longest = windows > pool.longest ? windows : pool.longest;
    }
    bench->scores =
        sy_need(calloc((size_t)bench->config_count * bench->slots_count * traces->series_count,
                       bench->args->seeds * sizeof *bench->scores));
    pthread_mutex_init(&pool.lock, NULL);
    sy_progress_init(&pool.progress, "counters",
                     (uint64_t)traces->series_count * bench->config_count, bench->args->quiet);
    sy_threads_run(sy_threads_count(bench->args->threads), work, &pool);
    sy_progress_finish(&pool.progress);
    pthread_mutex_destroy(&pool.lock);
    *error = pool.error;
    return pool.code;
}

/* --- what is printed ----------------------------------------------------------------------------
 */
struct summary {
    struct sy_score mean;
    struct sy_interval interval; /* of wape, over programs */
    uint32_t programs;
};

static struct sy_score over_seeds(const struct bench *bench, uint32_t config, uint32_t slots,
                                  uint32_t series) {
    const struct sy_score *scores = score_at(bench, config, slots, series);
    struct sy_score sum = {0};
    for (uint32_t i = 0; i < bench->args->seeds; i++) {
        sum.wape += scores[i].wape / bench->args->seeds;
        sum.median += scores[i].median / bench->args->seeds;
        sum.rotation_wape += scores[i].rotation_wape / bench->args->seeds;
        sum.coverage += scores[i].coverage / bench->args->seeds;
    }
    return sum;
}

static struct summary summarise(const struct bench *bench, uint32_t config, uint32_t slots,
                                int split) {
    struct summary summary = {0};
    double values[SY_TRACES_SERIES_MAX];
    for (uint32_t s = 0; s < bench->traces->series_count; s++) {
        if (bench->traces->series[s].held_out == (split == HELD_OUT)) {
            struct sy_score score = over_seeds(bench, config, slots, s);
            values[summary.programs++] = score.wape;
            summary.mean.wape += score.wape;
            summary.mean.median += score.median;
            summary.mean.rotation_wape += score.rotation_wape;
            summary.mean.coverage += score.coverage;
        }
    }
    summary.mean.wape /= summary.programs;
    summary.mean.median /= summary.programs;
    summary.mean.rotation_wape /= summary.programs;
    summary.mean.coverage /= summary.programs;
    summary.interval = sy_bootstrap_mean(values, summary.programs, (struct sy_clusters){0}, 1);
    return summary;
}

static struct sy_units percent(double ratio) {
    return sy_units_number(ratio * 100, 1);
}

static void put_row(struct sy_json_writer *out, const struct bench *bench, uint32_t config,
                    uint32_t slots, int split, const char *program) {
    sy_json_print(out, "{section: %s, method: %s, split: %s, counters: %u",
                  bench->configs[config].section, bench->configs[config].name, split_names[split],
                  bench->slots[slots]);
    if (program) {
        sy_json_member_string(out, "program", program);
    }
}

static void put_score(struct sy_json_writer *out, const struct sy_score *score) {
    sy_json_print(out, "wape: %g, median: %g, rotation_wape: %g, coverage: %g", score->wape,
                  score->median, score->rotation_wape, score->coverage);
}

static void main_table(const struct bench *bench, uint32_t slots, int split,
                       struct sy_buffer *text) {
    struct sy_table table;
    sy_table_init(&table,
                  (const char *const[]){"method", "WAPE %", "95 % interval", "median %",
                                        "rotation WAPE %", "coverage %", "times better"},
                  "lrrrrrr");
    double scaling = summarise(bench, 0, slots, split).mean.wape;
    uint32_t programs = 0;
    for (uint32_t c = 0; c < SY_COUNT(methods); c++) {
        struct summary summary = summarise(bench, c, slots, split);
        programs = summary.programs;
        sy_table_cell(&table, "%s", bench->configs[c].name);
        sy_table_cell(&table, "%s|%.1f to %.1f|%s|%s|%s|%.2f", percent(summary.mean.wape).text,
                      summary.interval.low * 100, summary.interval.high * 100,
                      percent(summary.mean.median).text, percent(summary.mean.rotation_wape).text,
                      percent(summary.mean.coverage).text, scaling / summary.mean.wape);
    }
    sy_buffer_printf(text, "%u %s programs, %u counters\n\n", programs, split_names[split],
                     bench->slots[slots]);
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

static void program_table(const struct bench *bench, uint32_t slots, struct sy_buffer *text) {
    struct sy_table table;
    sy_table_init(&table,
                  (const char *const[]){"program", "split", "windows", "time-scaling",
                                        "interpolation", "hold-last", "unseen", "seen",
                                        "unseen covers", "seen covers"},
                  "llrrrrrrrr");
    for (uint32_t s = 0; s < bench->traces->series_count; s++) {
        const struct sy_series *series = &bench->traces->series[s];
        if (!scored(bench, s)) {
            continue;
        }
        sy_table_cell(&table, "%s|%s|%u", series->name, split_names[series->held_out],
                      series->windows);
        for (uint32_t c = 0; c < SY_COUNT(methods); c++) {
            sy_table_cell(&table, "%s", percent(over_seeds(bench, c, slots, s).wape).text);
        }
        sy_table_cell(&table, "%s|%s", percent(over_seeds(bench, 3, slots, s).coverage).text,
                      percent(over_seeds(bench, 4, slots, s).coverage).text);
    }
    sy_buffer_printf(text, "WAPE %% by program, %u counters\n\n", bench->slots[slots]);
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

/* The main run of the same method. */
static uint32_t plain(enum sy_mux_method method) {
    uint32_t m = 0;
    while (methods[m].method != method) {
        m++;
    }
    return m;
}

static void section_table(const struct bench *bench, uint32_t first, struct sy_buffer *text) {
    const char *section = bench->configs[first].section;
    const char *headers[2 * SPLITS * COUNTS_MAX + 2] = {"method"};
    char names[SPLITS * COUNTS_MAX][32], align[2 * SPLITS * COUNTS_MAX + 2] = "l";
    uint32_t columns = 0;
    for (int split = 0; split < SPLITS; split++) {
        for (uint32_t k = 0; bench->wanted[split] && k < bench->slots_count; k++, columns++) {
            snprintf(names[columns], sizeof names[0], "%s, %u", split_names[split],
                     bench->slots[k]);
            headers[2 * columns + 1] = names[columns];
            headers[2 * columns + 2] = "covers";
            memcpy(&align[2 * columns + 1], "rr", 3);
        }
    }
    struct sy_table table;
    sy_table_init(&table, headers, align);
    for (uint32_t c = first; c < bench->config_count && bench->configs[c].section == section; c++) {
        sy_table_cell(&table, "%s", bench->configs[c].name);
        for (int split = 0; split < SPLITS; split++) {
            for (uint32_t k = 0; bench->wanted[split] && k < bench->slots_count; k++) {
                struct summary summary = summarise(bench, c, k, split);
                double before =
                    summarise(bench, plain(bench->configs[c].method), k, split).mean.wape;
                sy_table_cell(&table, summary.mean.wape < 10 ? "%.1f x%.2f" : "%.1e x%.1e",
                              summary.mean.wape * 100, summary.mean.wape / before);
                sy_table_cell(&table, "%s", percent(summary.mean.coverage).text);
            }
        }
    }
    sy_buffer_printf(
        text, "%s: WAPE %% by split and number of counters, and ratio to the first tables\n\n",
        section);
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

static void print_tables(const struct bench *bench, struct sy_buffer *text) {
    const struct sy_bench_counters_args *args = bench->args;
    sy_buffer_printf(text,
                     "Multiplexed counters compared with exact counts\n(%s)\n%u events, %u "
                     "relations; read noise %g %%; seeds 1 to %u; second half of each program; "
                     "events with at least 50 counts a window\nintervals: 95 %% bootstrap over "
                     "programs; gross outliers: %g %% of readings times 10 or 0.1\n\n",
                     bench->traces->source, bench->traces->event_count,
                     bench->traces->relation_count, args->noise * 100, args->seeds,
                     args->outliers * 100);
    for (int split = 0; split < SPLITS; split++) {
        for (uint32_t k = 0; bench->wanted[split] && k < bench->slots_count; k++) {
            main_table(bench, k, split, text);
        }
    }
    for (uint32_t k = 0; k < bench->slots_count; k++) {
        program_table(bench, k, text);
    }
    for (uint32_t c = SY_COUNT(methods); c < bench->config_count; c++) {
        if (bench->configs[c].section != bench->configs[c - 1].section) {
            section_table(bench, c, text);
        }
    }
}

static void print_json(const struct bench *bench, struct sy_json_writer *out) {
    sy_json_print(out,
                  "{bench: %s, title: %s, source: %s, noise_ratio: %g, outliers_ratio: %g, "
                  "seeds: %u, rows: [",
                  "counters", "Multiplexed counters against exact counts", bench->traces->source,
                  bench->args->noise, bench->args->outliers, bench->args->seeds);
    for (uint32_t c = 0; c < bench->config_count; c++) {
        for (uint32_t k = 0; k < bench->slots_count; k++) {
            for (int split = 0; split < SPLITS; split++) {
                if (bench->wanted[split]) {
                    struct summary summary = summarise(bench, c, k, split);
                    put_row(out, bench, c, k, split, NULL);
                    put_score(out, &summary.mean);
                    sy_json_print(out, "wape_low: %g, wape_high: %g, programs: %u}",
                                  summary.interval.low, summary.interval.high, summary.programs);
                }
            }
            for (uint32_t s = 0; c < SY_COUNT(methods) && s < bench->traces->series_count; s++) {
                if (scored(bench, s)) {
                    struct sy_score score = over_seeds(bench, c, k, s);
                    put_row(out, bench, c, k, bench->traces->series[s].held_out,
                            bench->traces->series[s].name);
                    put_score(out, &score);
                    sy_json_close(out, '}');
                }
            }
        }
    }
    sy_json_print(out, "]}");
}

/* Errors over the number of counters, and one program as an example: the first that is held out. */
static int draw(const struct bench *bench) {
    static double x[COUNTS_MAX], y[SPLITS][SY_COUNT(methods)][3][COUNTS_MAX];
    struct sy_plot_line lines[SPLITS][SY_COUNT(methods)];
    struct sy_plot_panel panels[SPLITS];
    struct sy_plot plot = {.title = "Error of multiplexed counters",
                           .subtitle =
                               "WAPE by number of counters; shaded: 95 % interval over programs",
                           .x_label = "counters",
                           .panels = panels};
    for (int split = 0; split < SPLITS; split++) {
        for (uint32_t m = 0; bench->wanted[split] && m < SY_COUNT(methods); m++) {
            for (uint32_t k = 0; k < bench->slots_count; k++) {
                struct summary summary = summarise(bench, m, k, split);
                x[k] = bench->slots[k];
                y[split][m][0][k] = summary.mean.wape;
                y[split][m][1][k] = summary.interval.low;
                y[split][m][2][k] = summary.interval.high;
            }
            bool banded = is_ours(methods[m].method);
            lines[split][m] = (struct sy_plot_line){methods[m].name,
                                                    x,
                                                    y[split][m][0],
                                                    banded ? y[split][m][1] : NULL,
                                                    banded ? y[split][m][2] : NULL,
                                                    bench->slots_count};
        }
        if (bench->wanted[split]) {
            panels[plot.panel_count++] = (struct sy_plot_panel){.label = split_names[split],
                                                                .unit = " %",
                                                                .scale = 100,
                                                                .low = NAN,
                                                                .high = NAN,
                                                                .lines = lines[split],
                                                                .line_count = SY_COUNT(methods)};
        }
    }
    uint32_t example = 0;
    while (!scored(bench, example) ||
           (bench->wanted[HELD_OUT] && !bench->traces->series[example].held_out)) {
        example++;
    }
    int r = sy_bench_plot(bench->args->plot, "errors", &plot);
    return r ? r
             : sy_bench_plot_example(bench->args->plot, bench->traces, example,
                                     bench->slots[bench->slots_count - 1], bench->args->noise);
}

/* --- arguments ----------------------------------------------------------------------------------
 */
static int parse_slots(struct bench *bench) {
    const char *at = bench->args->counters;
    while (*at) {
        size_t length = strcspn(at, ",");
        uint64_t value;
        if (bench->slots_count == COUNTS_MAX || !sy_parse_u64(at, length, &value) || !value ||
            value > 1000) {
            sy_message_fail(
                "--counters takes up to %d numbers separated by commas, such as 4,8, not '%s'",
                COUNTS_MAX, bench->args->counters);
            return SY_EXIT_USAGE;
        }
        bench->slots[bench->slots_count++] = (uint32_t)value;
        at += length + (at[length] == ',');
    }
    return bench->slots_count ? SY_EXIT_OK : SY_EXIT_USAGE;
}

static int parse_split(struct bench *bench) {
    for (int split = 0; split < SPLITS; split++) {
        bench->wanted[split] =
            !bench->args->split || strcmp(bench->args->split, split_names[split]) == 0;
    }
    if (!bench->wanted[DEVELOPMENT] && !bench->wanted[HELD_OUT]) {
        sy_message_fail("--split is development or held-out, not '%s'", bench->args->split);
        return SY_EXIT_USAGE;
    }
    return SY_EXIT_OK;
}

/* A split without programs is not printed. */
static void drop_empty_splits(struct bench *bench) {
    uint32_t counts[SPLITS] = {0};
    for (uint32_t s = 0; s < bench->traces->series_count; s++) {
        counts[bench->traces->series[s].held_out ? HELD_OUT : DEVELOPMENT]++;
    }
    for (int split = 0; split < SPLITS; split++) {
        bench->wanted[split] = bench->wanted[split] && counts[split];
    }
}

static int run_traces(const struct sy_bench_counters_args *args, struct sy_json_writer *writer,
                      struct sy_buffer *buffer) {
    struct bench bench = {.args = args};
    struct sy_error error = {0};
    int r = parse_slots(&bench);
    r = r ? r : parse_split(&bench);
    if (r) {
        return r;
    }
    int code = sy_traces_read(args->traces, &bench.traces, &error);
    if (!code) {
        add_configs(&bench);
        drop_empty_splits(&bench);
        sy_interrupt_watch();
        code = run_all(&bench, &error);
    }
    if (code) {
        sy_message_error(&error);
        r = sy_message_exit(code);
    } else if (sy_interrupt_seen()) {
        r = SY_EXIT_INTERRUPTED;
    } else {
        print_tables(&bench, buffer);
        print_json(&bench, writer);
        r = args->plot ? draw(&bench) : r;
    }
    free(bench.scores);
    sy_traces_destroy(bench.traces);
    return r;
}

int sy_bench_counters(const struct sy_bench_counters_args *args, struct sy_json_writer *writer,
                      struct sy_buffer *buffer) {
    int r = SY_EXIT_OK;
    if (args->traces) {
        r = run_traces(args, writer, buffer);
    } else if (!args->papers) {
        sy_message_note(args->quiet, "left out: counters: needs --traces or --papers");
        sy_buffer_printf(buffer, "Multiplexed counters\n(left out: needs --traces)\n\n");
    }
    return r || !args->papers ? r : sy_bench_counters_papers(args, writer, buffer);
}
