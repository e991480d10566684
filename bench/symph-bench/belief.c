/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-bench belief: what the belief about shared resources is worth in the simulator.
 *
 * In: settings of machines, graphs, loads and hidden tenants. Out: how good what policies are told
 * is, and what the contention-corrected late binding makes of nothing, raw counters, the belief and
 * the true state, in the same worlds. Invariant: intervals are over worlds, compared pair by pair.
 */
#include "base/json.h"
#include "cli/table.h"
#include "symph-bench/bench.h"
#include <math.h>
#include <stdlib.h>

#define SOCKETS        "4x(cpu:4 dram:40GB/s)"
#define GPUS           "2x(cpu:4 dram:40GB/s) gpu:4@pcie3x16"
#define POLICY         "lb-cont+srpt"
#define PLAIN          "lb+srpt"
#define DEFAULT_POLICY "symphony"
#define SEEDS_MOST     1024
#define LONG           "300ms"
#define OFTEN          "0.3ms" /* so that the short loads can be followed at all */
#define NOISE          0.4
#define SEED           1 /* of the bootstrap */

static const char *const narrow[] = {"gen:layered:width=3,depth=20,seed=1",
                                     "gen:layered:width=4,depth=20,seed=5", "gen:stencil:6", NULL};
static const char *const six[] = {
    "gen:cholesky:8",  "gen:lu:6",        "gen:qr:6", "gen:layered:width=8,depth=12,seed=3",
    "gen:genomics:12", "gen:forkjoin:20", NULL};

struct setting {
    const char *machine;
    const char *const *graphs;
    double load, hidden_load;
    const char *period; /* of hidden load; NULL: 1/20 of the longest job */
    uint32_t counters;
    double noise;
    const char *belief, *policy;
    bool judge;
    const char *events, *often; /* what counters count, and how often they are read; NULL: usual */
    double outliers;
};

struct outcome {
    double *values; /* mean job slowdown per seed; freed by the caller */
    uint32_t count;
    double mean, p99, makespan; /* over seeds; p99 of all jobs; makespan / bound */
    struct sy_sim_accuracy accuracy;
};

static int run_setting(const struct setting *setting, const struct sy_bench_belief *bench,
                       struct outcome *ret) {
    struct sy_simulate_args args = {.common = {.quiet = bench->quiet},
                                    .machine = setting->machine,
                                    .policy = setting->policy,
                                    .seeds = bench->seeds,
                                    .seed = 1,
                                    .hidden_load = setting->hidden_load,
                                    .hidden_period = setting->period,
                                    .counter_noise = setting->noise,
                                    .counters = setting->counters,
                                    .counter_events = setting->events,
                                    .counter_period = setting->often,
                                    .counter_outliers = setting->outliers,
                                    .belief = setting->belief,
                                    .judge = setting->judge,
                                    .contention = true,
                                    .stream = true,
                                    .tenants = 4,
                                    .jobs = 40,
                                    .load = setting->load,
                                    .threads = bench->threads};
    struct sy_simulate simulate = {0};
    struct sy_summary *summary = NULL;
    uint32_t best;
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; !r && setting->graphs[i]; i++) {
        r = sy_text_list_add(&args.graph_specs, setting->graphs[i]) < 0 ? SY_EXIT_FAILED : r;
    }
    r = r ? r : sy_simulate_setup(&simulate, &args);
    r = r ? r : sy_simulate_cases(&simulate);
    r = r ? r : sy_simulate_run(&simulate);
    summary = r ? NULL : sy_simulate_summary(&simulate, &best);
    ret->values = summary ? calloc(simulate.case_count, sizeof *ret->values) : NULL;
    if (ret->values) {
        ret->count = simulate.case_count;
        for (uint32_t i = 0; i < ret->count; i++) {
            ret->values[i] = simulate.cases[i].runs[0].slowdown_mean;
        }
        ret->mean = sy_mean(ret->values, ret->count);
        ret->p99 = summary->slowdown_p99;
        ret->makespan = summary->over_bound.value;
        ret->accuracy = summary->accuracy;
    }
    free(summary);
    sy_simulate_finish(&simulate);
    sy_text_list_finish(&args.graph_specs);
    return r ? r : ret->values ? SY_EXIT_OK : SY_EXIT_FAILED;
}

/* --- how good is what is told? -------------------------------------------------------------------
 */
static void put_points(struct sy_table *table, double points) {
    if (isfinite(points)) {
        sy_table_cell(table, "%.1f", points);
    } else {
        sy_table_cell(table, "-");
    }
}

static void put_accuracy(const struct setting *s, const struct sy_sim_accuracy *a,
                         struct sy_table *table, struct sy_json_writer *out) {
    sy_table_cell(table, "%s", s->graphs == six ? "mixed" : "sockets");
    sy_table_cell(table, "%s", s->period ? s->period : "short");
    sy_table_cell(table, "%u", s->counters);
    sy_table_cell(table, "%g", s->noise);
    sy_table_cell(table, "%s", s->belief);
    sy_table_cell(table, "%s%s", s->events, s->outliers > 0 ? ", 3 % wild" : "");
    put_points(table, a->error_points[SY_RES_DRAM]);
    put_points(table, a->error_points[SY_RES_LINK]);
    put_points(table, a->error_points[SY_RES_INTERCONNECT]);
    sy_table_cell(table, "%.1f %%", 100 * a->covered);
    sy_table_cell(table, "%.1f %%", 100 * a->slowed);
    sy_table_cell(table, "%.1f %%", 100 * a->slowdown_within_10);
    sy_table_cell(table, "%.1f %%", 100 * a->slowdown_covered);
    sy_json_open(out, '{');
    sy_json_member_string(out, "machine", s->machine);
    sy_json_member_string(out, "hidden_period", s->period ? s->period : "short");
    sy_json_member_u64(out, "counters", s->counters);
    sy_json_member_number(out, "counter_noise", s->noise);
    sy_json_member_string(out, "belief", s->belief);
    sy_json_member_string(out, "counter_events", s->events);
    sy_json_member_number(out, "counter_outliers", s->outliers);
    sy_json_member_number(out, "dram_error_points", a->error_points[SY_RES_DRAM]);
    sy_json_member_number(out, "link_error_points", a->error_points[SY_RES_LINK]);
    sy_json_member_number(out, "interconnect_error_points", a->error_points[SY_RES_INTERCONNECT]);
    sy_json_member_number(out, "covered", a->covered);
    sy_json_member_number(out, "tasks_slowed", a->slowed);
    sy_json_member_number(out, "slowdown_within_10", a->slowdown_within_10);
    sy_json_member_number(out, "slowdown_covered", a->slowdown_covered);
    sy_json_close(out, '}');
}

/* What is true depends on no counter. */
#define COUNTED(period, counters, noise)                                                           \
    {false, period, counters, noise, "raw", "traffic", 0}, {                                       \
        false, period, counters, noise, "filtered", "traffic", 0                                   \
    }
#define ON_SOCKETS(period)                                                                         \
    {true, period, 4, NOISE, "raw", "traffic", 0},                                                 \
        {true, period, 4, NOISE, "filtered", "traffic", 0}, {                                      \
        true, period, 4, NOISE, "true", "traffic", 0                                               \
    }

static const struct row {
    bool sockets; /* where more tasks are slowed; else mixed */
    const char *period;
    uint32_t counters;
    double noise;
    const char *belief, *events;
    double outliers;
} rows[] = {
    COUNTED(NULL, 4, 0.1),
    {false, NULL, 4, 0.1, "true", "traffic", 0},
    COUNTED(NULL, 4, NOISE),
    COUNTED(NULL, 10, 0.1),
    COUNTED(NULL, 10, NOISE),
    {false, NULL, 4, NOISE, "filtered", "traffic", 0.03},
    {false, NULL, 4, NOISE, "filtered", "listing", 0},
    COUNTED(LONG, 4, 0.1),
    {false, LONG, 4, 0.1, "true", "traffic", 0},
    COUNTED(LONG, 4, NOISE),
    COUNTED(LONG, 10, 0.1),
    COUNTED(LONG, 10, NOISE),
    {false, LONG, 4, NOISE, "filtered", "traffic", 0.03},
    {false, LONG, 4, NOISE, "filtered", "listing", 0},
    ON_SOCKETS(NULL),
    ON_SOCKETS(LONG),
};

static int accuracy(const struct sy_bench_belief *bench, struct sy_json_writer *out,
                    struct sy_buffer *text) {
    static const char *const headers[] = {
        "machine", "period",       "counters", "noise",  "told",        "counters of", "DRAM",
        "PCIe",    "interconnect", "in band",  "slowed", "within 10 %", "in band"};
    struct sy_table table;
    sy_table_init(&table, headers, "llrrllrrrrrrr");
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; !r && i < SY_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct setting s = {.machine = row->sockets ? SOCKETS : SY_BENCH_MIXED,
                            .graphs = row->sockets ? narrow : six,
                            .load = row->sockets ? 0.3 : 0.5,
                            .hidden_load = 0.4,
                            .period = row->period,
                            .counters = row->counters,
                            .noise = row->noise,
                            .belief = row->belief,
                            .policy = POLICY,
                            .judge = true,
                            .events = row->events,
                            .often = OFTEN,
                            .outliers = row->outliers};
        struct outcome o = {0};
        r = run_setting(&s, bench, &o);
        if (!r) {
            put_accuracy(&s, &o.accuracy, &table, out);
        }
        free(o.values);
    }
    sy_buffer_printf(
        text,
        "How accurate is the information given to policies? " POLICY
        ", hidden load 0.4, %u seeds from 1.\n"
        "mixed: " SY_BENCH_MIXED ", six graphs, load 0.5, 10 resources;\nsockets: " SOCKETS
        ", narrow graphs that need much memory bandwidth, load 0.3, 16 "
        "resources.\nperiod: mean time between changes of the hidden load; short: 1/20 "
        "of the longest job. A reading every " OFTEN ".\nColumns: mean error of the use of "
        "resources, in percentage points; tasks slowed by over 10 %%;\ntasks whose "
        "slowdown was predicted within 10 %% at their start, and inside the 95 %% "
        "interval\n\n",
        bench->seeds);
    sy_table_write(&table, 0, false, text);
    return r;
}

/* --- what is it worth? ---------------------------------------------------------------------------
 */
/* What a policy is told; the last two are of the default policy. */
enum { PLAIN_LB, NOTHING, RAW, FILTERED, TRUE_STATE, TOLD, DEFAULT_NOTHING = TOLD, DEFAULT, KINDS };

static const char *const told[KINDS] = {"none", "none", "raw",     "filtered",
                                        "true", "none", "filtered"};

/* Of the logarithm of one mean slowdown over another, world by world. */
struct gain {
    double value, low, high;
};

static struct gain gain_of(const struct outcome *from, const struct outcome *to) {
    double logs[SEEDS_MOST];
    uint32_t count = to->count < SEEDS_MOST ? to->count : SEEDS_MOST;
    for (uint32_t i = 0; i < count; i++) {
        logs[i] = log(from->values[i] / to->values[i]);
    }
    struct sy_interval interval = sy_bootstrap_mean(logs, count, (struct sy_clusters){0}, SEED);
    return (struct gain){sy_mean(logs, count), interval.low, interval.high};
}

/* Of (raw - filtered) / (raw - true), and of raw - true, in the same worlds. */
struct recovered {
    double share, low, high, gain, gain_low, gain_high;
};

enum { SHARE, GAIN, STATISTICS };

static void recovered_of(const void *context, const uint32_t *picks, size_t count,
                         double *ret_statistics) {
    const struct outcome *o = context;
    double part = 0, whole = 0;
    for (size_t i = 0; i < count; i++) {
        part += o[RAW].values[picks[i]] - o[FILTERED].values[picks[i]];
        whole += o[RAW].values[picks[i]] - o[TRUE_STATE].values[picks[i]];
    }
    ret_statistics[SHARE] = part / whole;
    ret_statistics[GAIN] = whole / (double)count;
}

static struct recovered recover(const struct outcome *o) {
    struct sy_interval found[STATISTICS];
    double gain = o[RAW].mean - o[TRUE_STATE].mean;
    sy_bootstrap(o[RAW].count, (struct sy_clusters){0}, SEED, recovered_of, o, STATISTICS, found);
    return (struct recovered){(o[RAW].mean - o[FILTERED].mean) / gain,
                              found[SHARE].low,
                              found[SHARE].high,
                              gain,
                              found[GAIN].low,
                              found[GAIN].high};
}

static void put_worth(const struct setting *s, const struct outcome *o, const struct recovered *r,
                      struct sy_table *table, struct sy_json_writer *out) {
    static const char *const names[KINDS] = {
        "plain", "none", "raw", "filtered", "true", "default_none", "default_filtered"};
    sy_table_cell(table, "%s", s->graphs == narrow ? "sockets" : "GPUs");
    sy_table_cell(table, "%g", s->load);
    sy_table_cell(table, "%g", s->hidden_load);
    sy_table_cell(table, "%s", s->period ? s->period : "short");
    sy_json_open(out, '{');
    sy_json_member_string(out, "machine", s->machine);
    sy_json_member_number(out, "load", s->load);
    sy_json_member_number(out, "hidden_load", s->hidden_load);
    sy_json_member_string(out, "hidden_period", s->period ? s->period : "short");
    for (uint32_t k = 0; k < KINDS; k++) {
        struct sy_interval interval =
            sy_bootstrap_mean(o[k].values, o[k].count, (struct sy_clusters){0}, SEED);
        if (k < TOLD) {
            sy_table_cell(table, "%.3f (%.1f)", o[k].mean, o[k].p99);
        }
        sy_json_open_member(out, names[k], '{');
        sy_json_member_number(out, "slowdown_mean", o[k].mean);
        sy_json_member_number(out, "low", interval.low);
        sy_json_member_number(out, "high", interval.high);
        sy_json_member_number(out, "slowdown_p99", o[k].p99);
        sy_json_member_number(out, "makespan_over_bound", o[k].makespan);
        sy_json_close(out, '}');
    }
    sy_table_cell(table, "%.3f [%.3f, %.3f]", r->gain, r->gain_low, r->gain_high);
    if (r->gain_low > 0) {
        sy_table_cell(table, "%.2f [%.2f, %.2f]", r->share, r->low, r->high);
    } else {
        sy_table_cell(table, "-");
    }
    sy_table_cell(table, "%.3f", exp(-gain_of(&o[DEFAULT_NOTHING], &o[DEFAULT]).value));
    sy_json_member_number(out, "raw_minus_true", r->gain);
    sy_json_member_number(out, "raw_minus_true_low", r->gain_low);
    sy_json_member_number(out, "recovered", r->gain_low > 0 ? r->share : NAN);
    sy_json_member_number(out, "recovered_low", r->gain_low > 0 ? r->low : NAN);
    sy_json_member_number(out, "recovered_high", r->gain_low > 0 ? r->high : NAN);
    sy_json_close(out, '}');
}

static int compare(struct setting s, const struct sy_bench_belief *bench,
                   struct outcome *outcomes) {
    int r = SY_EXIT_OK;
    for (uint32_t k = 0; !r && k < KINDS; k++) {
        s.belief = told[k];
        s.policy = k == PLAIN_LB ? PLAIN : k < TOLD ? POLICY : DEFAULT_POLICY;
        r = run_setting(&s, bench, &outcomes[k]);
    }
    return r;
}

/* The sum over all settings: what the belief recovers of what there is. */
struct total {
    double part, whole;
    uint32_t settings, gaining, half;
    double worst; /* the default with counters over without */
};

static void add_total(struct total *total, const struct outcome *o, const struct recovered *r) {
    total->settings++;
    total->part += (o[RAW].mean - o[FILTERED].mean) / o[TRUE_STATE].mean;
    total->whole += (o[RAW].mean - o[TRUE_STATE].mean) / o[TRUE_STATE].mean;
    total->gaining += r->gain_low > 0;
    total->half += r->gain_low > 0 && r->share >= 0.5;
    total->worst = fmax(total->worst, exp(-gain_of(&o[DEFAULT_NOTHING], &o[DEFAULT]).value));
}

static void put_total(const struct total *total, uint32_t seeds, struct sy_buffer *text) {
    sy_buffer_printf(text,
                     "\nWhat do policies gain? Mean job slowdown (p99 of all jobs) of " PLAIN
                     " and of " POLICY
                     " with no counters, raw counters,\nthe estimate and the true load; 4 counters "
                     "at a time, noise %g, read every 2 ms, %u seeds from 1, [95 %% bootstrap "
                     "intervals].\nsockets: " SOCKETS
                     ", narrow graphs that need much memory bandwidth; GPUs: " GPUS
                     ", six graphs.\nRecovered: (raw - filtered) / (raw - true), where knowing the "
                     "true load helps.\n",
                     NOISE, seeds);
    sy_buffer_printf(text,
                     "Knowing the true load helps compared with raw counters in %u of %u settings; "
                     "in %u of these the estimate recovers at least half.\nOver all settings: true "
                     "%.1f %% better than raw, filtered %.1f %%: %.2f recovered.\nDefault: its "
                     "slowdown with the estimate over that without counters; %.3f at worst.\n\n",
                     total->gaining, total->settings, total->half,
                     100 * total->whole / total->settings, 100 * total->part / total->settings,
                     total->part / total->whole, total->worst);
}

static int worth(const struct sy_bench_belief *bench, struct sy_json_writer *out,
                 struct sy_buffer *text) {
    static const char *const headers[] = {"machine",  "load",       "hidden",    "period",
                                          "no model", "none",       "raw",       "filtered",
                                          "true",     "raw - true", "recovered", "default"};
    static const double loads[] = {0.15, 0.3, 0.5}, hidden[] = {0.25, 0.5};
    static const char *const periods[] = {NULL, LONG};
    struct sy_table table;
    struct total total = {0};
    sy_table_init(&table, headers, "lrrlrrrrrrrr");
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; !r && i < 24; i++) {
        struct setting s = {i < 12 ? SOCKETS : GPUS,
                            i < 12 ? narrow : six,
                            loads[i / 4 % 3],
                            hidden[i / 2 % 2],
                            periods[i % 2],
                            4,
                            NOISE,
                            NULL,
                            NULL,
                            false,
                            NULL,
                            NULL,
                            0};
        struct outcome outcomes[KINDS] = {0};
        r = compare(s, bench, outcomes);
        if (!r) {
            struct recovered recovered = recover(outcomes);
            put_worth(&s, outcomes, &recovered, &table, out);
            add_total(&total, outcomes, &recovered);
        }
        for (uint32_t k = 0; k < KINDS; k++) {
            free(outcomes[k].values);
        }
    }
    put_total(&total, bench->seeds, text);
    sy_table_write(&table, 0, false, text);
    return r;
}

/* --- the loop, under the default policy ----------------------------------------------------------
 */
static const char *const wide[] = {"gen:cholesky:8", "gen:layered:width=8,depth=12,seed=3,ccr=0.5",
                                   "gen:fft:5", NULL};

/* The last one was found by a search for where the load of GPUs' memory matters; the one before it
 * was tried first. */
static const struct {
    const char *name, *machine;
    const char *const *graphs;
    double load, hidden_load;
    const char *period;
} loops[] = {
    {"neighbours on NUMA nodes", "8x(cpu:2 dram:8GB/s)", narrow, 0.2, 0.5, "3s"},
    {"PCIe switches", "2x(cpu:2 dram:80GB/s gpu:4@pcie3x16,bus=s)", wide, 0.2, 0.6, "1s"},
    {"memory of 4 GPUs", "cpu:4 gpu:4@pcie3x16,dram=100GB/s", wide, 0.2, 0.5, "3s"},
    {"memory of 8 GPUs", "cpu:2 gpu:8@pcie4x16,dram=150GB/s", narrow, 0.2, 0.5, "3s"},
};

static int loop(const struct sy_bench_belief *bench, struct sy_json_writer *out,
                struct sy_buffer *text) {
    static const char *const headers[] = {"others load", "lb+srpt", "none",           "raw",
                                          "filtered",    "true",    "none / filtered"};
    struct sy_table table;
    sy_table_init(&table, headers, "lrrrrrr");
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; !r && i < SY_COUNT(loops); i++) {
        struct outcome o[TOLD] = {0};
        sy_table_cell(&table, "%s", loops[i].name);
        sy_json_open(out, '{');
        sy_json_member_string(out, "loop", loops[i].name);
        sy_json_member_string(out, "machine", loops[i].machine);
        for (uint32_t k = 0; !r && k < TOLD; k++) {
            struct setting s = {.machine = loops[i].machine,
                                .graphs = loops[i].graphs,
                                .load = loops[i].load,
                                .hidden_load = loops[i].hidden_load,
                                .period = loops[i].period,
                                .counters = 4,
                                .noise = NOISE,
                                .belief = told[k],
                                .policy = k == PLAIN_LB ? PLAIN : DEFAULT_POLICY};
            r = run_setting(&s, bench, &o[k]);
            sy_table_cell(&table, "%.3f", o[k].mean);
            sy_json_member_number(out, k == PLAIN_LB ? "plain" : told[k], o[k].mean);
        }
        if (!r) {
            struct gain gain = gain_of(&o[NOTHING], &o[FILTERED]);
            sy_table_cell(&table, "%.3f [%.3f, %.3f]", exp(gain.value), exp(gain.low),
                          exp(gain.high));
            sy_json_member_number(out, "gain", exp(gain.value));
        }
        sy_json_close(out, '}');
        for (uint32_t k = 0; k < TOLD; k++) {
            free(o[k].values);
        }
    }
    sy_buffer_printf(
        text,
        "\nThe default policy where others load what it uses: mean job slowdown; 4 "
        "counters at a time, noise %g, read every 2 ms.\nMemory of GPUs: two settings; "
        "the second one was searched for, the first one was tried before it.\n\n",
        NOISE);
    sy_table_write(&table, 0, false, text);
    return r;
}

int sy_bench_belief(const struct sy_bench_belief *bench, struct sy_json_writer *out,
                    struct sy_buffer *text) {
    int r = accuracy(bench, out, text);
    r = r ? r : worth(bench, out, text);
    return r ? r : loop(bench, out, text);
}
