/* SPDX-License-Identifier: Apache-2.0
 *
 * papers: the papers' setting, on a synthetic trace.
 *
 * In: nothing but seeds. Out: error against the number of events that share four counters, beside
 * what BayesPerf printed (ASPLOS'21, figure 8, KMeans). The machine is Symphony's (ICML'20, figure
 * 5): two sockets with eight cores, 68 nodes, 32 of them measured. The trace is made here: groups
 * of cores, memory and I/O wander and jump, the rest are sums. Invariant: the published curve and
 * ours stand in one table, never in one mean; their metrics differ.
 */
#include "symph-bench/bench.h"
#include "symph-bench/counters.h"

#include "cli/cli.h"
#include "cli/table.h"
#include "trace/trace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOCKETS       2
#define CORES         8 /* per socket */
#define SLOTS         4
#define WINDOWS       1200
#define PERSISTENCE   0.9 /* of an activity from one window to the next */
#define JUMP_SHARE    (1.0 / 80)
#define GROUP_SD      0.5
#define OWN_SD        0.3
#define TRACE_PURPOSE 0x78656f6eu /* "xeon" */

/* Nodes of one socket; a machine has two such blocks, then the two nodes that join them. */
enum {
    UOPS,
    CORE = UOPS + CORES,
    FP_SCALAR = CORE + CORES,
    FP_VECTOR,
    FP_ARITH,
    PORT_0,
    PORT_1,
    PORTS,
    DIVIDER,
    BACKEND,
    REQUESTS,
    DRAM_BANDWIDTH,
    DRAM_LATENCY,
    CACHE,
    MEMORY_BANDWIDTH,
    DMA_DIRECT,
    DMA_SWITCHED,
    PCIE_SWITCH,
    PCIE_ROOT,
    PER_SOCKET,
    INTERCONNECT = SOCKETS * PER_SOCKET,
    CPU,
    NODES,
};
_Static_assert(NODES == 68, "the paper's number");

static const char *const node_names[PER_SOCKET] = {
    [FP_SCALAR] = "fp_scalar",
    [FP_VECTOR] = "fp_vector",
    [FP_ARITH] = "fp_arith",
    [PORT_0] = "port0",
    [PORT_1] = "port1",
    [PORTS] = "ports",
    [DIVIDER] = "divider",
    [BACKEND] = "backend",
    [REQUESTS] = "outstanding_requests",
    [DRAM_BANDWIDTH] = "dram_bandwidth",
    [DRAM_LATENCY] = "dram_latency",
    [CACHE] = "cache",
    [MEMORY_BANDWIDTH] = "memory_bandwidth",
    [DMA_DIRECT] = "dma_direct",
    [DMA_SWITCHED] = "dma_switched",
    [PCIE_SWITCH] = "pcie_switch",
    [PCIE_ROOT] = "pcie_root",
};

/* Measured besides the cores' issued operations: eight per socket, hence 32. */
static const uint32_t measured[] = {FP_SCALAR,      FP_VECTOR,  DIVIDER,      REQUESTS,
                                    DRAM_BANDWIDTH, DMA_DIRECT, DMA_SWITCHED, PCIE_ROOT};

/* The published curve. */
static const struct {
    uint32_t events;
    double linux_percent, counterminer_percent, bayesperf_percent;
} published[] = {
    {10, 35, 24, 3},  {15, 30, 29, 6},  {20, 52, 36, 10},
    {25, 41, 37, 20}, {30, 46, 41, 15}, {35, 58, 50, 20},
};

/* --- the model ----------------------------------------------------------------------------------
 */
#define RELATIONS (SOCKETS * (7 + CORES) + 2)
#define TERMS     (SOCKETS * (2 + 2 + 4 + 1 + 3 + 1 + 2 + 2 * CORES) + 2 + SOCKETS * CORES)

static void relate(struct sy_traces *traces, uint32_t out, const struct sy_term *terms,
                   uint32_t count) {
    SY_ASSERT(traces->relation_count < RELATIONS && traces->term_count + count <= TERMS);
    traces->relations[traces->relation_count++] =
        (struct sy_relation){out, traces->term_count, count};
    memcpy(&traces->terms[traces->term_count], terms, count * sizeof *terms);
    traces->term_count += count;
}

#define RELATE(out, ...)                                                                           \
    relate(traces, out, (const struct sy_term[]){__VA_ARGS__},                                     \
           SY_COUNT(((const struct sy_term[]){__VA_ARGS__})))

/* In the order in which they can be computed. Bytes and slots per window. */
static void relate_socket(struct sy_traces *traces, uint32_t base) {
    RELATE(base + FP_ARITH, {base + FP_SCALAR, 1}, {base + FP_VECTOR, 1});
    RELATE(base + PORTS, {base + PORT_0, 1}, {base + PORT_1, 1});
    RELATE(base + DRAM_BANDWIDTH, {base + REQUESTS, 64});
    RELATE(base + PCIE_SWITCH, {base + DMA_SWITCHED, 1});
    RELATE(base + PCIE_ROOT, {base + DMA_DIRECT, 1}, {base + PCIE_SWITCH, 1});
    RELATE(base + MEMORY_BANDWIDTH, {base + DRAM_BANDWIDTH, 1}, {base + PCIE_ROOT, 1},
           {base + CACHE, 1});
    RELATE(base + BACKEND, {base + FP_ARITH, 0.25}, {base + PORTS, 0.5}, {base + DIVIDER, 4},
           {base + MEMORY_BANDWIDTH, 0.02});
    for (uint32_t c = 0; c < CORES; c++) {
        RELATE(base + CORE + c, {base + UOPS + c, 1}, {base + BACKEND, 1.0 / CORES});
    }
}

static void relate_all(struct sy_traces *traces) {
    struct sy_term cores[SOCKETS * CORES];
    for (uint32_t s = 0; s < SOCKETS; s++) {
        relate_socket(traces, s * PER_SOCKET);
        for (uint32_t c = 0; c < CORES; c++) {
            cores[s * CORES + c] = (struct sy_term){s * PER_SOCKET + CORE + c, 1};
        }
    }
    RELATE(INTERCONNECT, {PCIE_ROOT, 1}, {PER_SOCKET + PCIE_ROOT, 1});
    relate(traces, CPU, cores, SY_COUNT(cores));
}

static char *node_name(struct sy_arena *arena, uint32_t node) {
    char text[48];
    uint32_t in_socket = node % PER_SOCKET;
    if (node >= INTERCONNECT) {
        return node == CPU ? "cpu" : "interconnect";
    }
    if (in_socket < FP_SCALAR) {
        snprintf(text, sizeof text, "%s.%u.%u", in_socket < CORE ? "uops_issued" : "core",
                 node / PER_SOCKET, in_socket % CORES);
    } else {
        snprintf(text, sizeof text, "%s.%u", node_names[in_socket], node / PER_SOCKET);
    }
    return sy_arena_strdup(arena, text);
}

/* Which events are multiplexed: the first of the measured ones in a seeded order; beyond the 32,
 * three that the paper infers. */
static void choose_events(struct sy_traces *traces, uint32_t events, uint64_t seed) {
    uint32_t order[NODES], count = 0;
    for (uint32_t s = 0; s < SOCKETS; s++) {
        for (uint32_t c = 0; c < CORES; c++) {
            order[count++] = s * PER_SOCKET + UOPS + c;
        }
        for (uint32_t m = 0; m < SY_COUNT(measured); m++) {
            order[count++] = s * PER_SOCKET + measured[m];
        }
    }
    struct sy_rng rng = sy_rng_make(seed, TRACE_PURPOSE, 1);
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = sy_rng_below(&rng, i), held = order[i - 1];
        order[i - 1] = order[other];
        order[other] = held;
    }
    order[count++] = INTERCONNECT;
    order[count++] = MEMORY_BANDWIDTH;
    order[count++] = PER_SOCKET + MEMORY_BANDWIDTH;
    memset(traces->hidden, true, NODES * sizeof *traces->hidden);
    for (uint32_t i = 0; i < events && i < count; i++) {
        traces->hidden[order[i]] = false;
    }
}

/* --- the trace ----------------------------------------------------------------------------------
 */
struct activity {
    double compute[SOCKETS], memory[SOCKETS], io[SOCKETS], own[NODES];
};

static void wander(double *value, double sd, bool jump, struct sy_rng *rng) {
    double keep = jump ? 0 : PERSISTENCE;
    *value = keep * *value + sqrt(1 - keep * keep) * sd * sy_rng_normal(rng);
}

static void advance(struct activity *activity, bool jump, struct sy_rng *rng) {
    for (uint32_t s = 0; s < SOCKETS; s++) {
        wander(&activity->compute[s], GROUP_SD, jump, rng);
        wander(&activity->memory[s], GROUP_SD, jump, rng);
        wander(&activity->io[s], GROUP_SD, jump, rng);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        wander(&activity->own[i], OWN_SD, jump, rng);
    }
}

/* Those that are not sums of others: a typical count, and how it moves with the groups. */
static double leaf(const struct activity *activity, uint32_t node) {
    static const double typical[PER_SOCKET] = {
        [FP_SCALAR] = 2e5,  [FP_VECTOR] = 1e5,    [PORT_0] = 6e5,      [PORT_1] = 5e5,
        [DIVIDER] = 1e4,    [REQUESTS] = 3e4,     [DRAM_LATENCY] = 90, [CACHE] = 8e5,
        [DMA_DIRECT] = 4e5, [DMA_SWITCHED] = 7e5,
    };
    uint32_t socket = node / PER_SOCKET, in_socket = node % PER_SOCKET;
    double compute = activity->compute[socket], memory = activity->memory[socket];
    double log_rate = activity->own[node];
    if (in_socket < CORE) {
        return 1e6 * exp(log_rate + compute - 0.4 * memory);
    }
    if (in_socket >= DMA_DIRECT) {
        return typical[in_socket] * exp(log_rate + activity->io[socket]);
    }
    log_rate += in_socket >= REQUESTS ? memory : compute;
    return typical[in_socket] * exp(log_rate);
}

static void fill(const struct sy_traces *traces, struct sy_series *series, uint64_t seed,
                 uint32_t index) {
    struct sy_rng rng = sy_rng_make(seed, TRACE_PURPOSE, 2 + index);
    struct activity activity = {0};
    advance(&activity, true, &rng);
    for (uint32_t t = 0; t < series->windows; t++) {
        double *row = &series->rates[(size_t)t * NODES];
        advance(&activity, sy_rng_uniform(&rng) < JUMP_SHARE, &rng);
        for (uint32_t i = 0; i < INTERCONNECT; i++) {
            row[i] = leaf(&activity, i); /* sums are written over below */
        }
        for (uint32_t r = 0; r < traces->relation_count; r++) {
            const struct sy_relation *relation = &traces->relations[r];
            double sum = 0;
            for (uint32_t k = 0; k < relation->term_count; k++) {
                const struct sy_term *term = &traces->terms[relation->first_term + k];
                sum += term->coefficient * row[term->variable];
            }
            row[relation->out] = sum;
        }
    }
}

static struct sy_traces *empty_traces(void) {
    struct sy_arena *arena = sy_need(sy_arena_create());
    struct sy_traces *traces = sy_need(sy_arena_alloc(arena, 1, sizeof *traces));
    *traces =
        (struct sy_traces){.arena = arena,
                           .events = sy_need(calloc(NODES, sizeof *traces->events)),
                           .fixed = sy_need(sy_arena_alloc(arena, NODES, sizeof *traces->fixed)),
                           .hidden = sy_need(sy_arena_alloc(arena, NODES, sizeof *traces->hidden)),
                           .event_count = NODES,
                           .relations = sy_need(calloc(RELATIONS, sizeof *traces->relations)),
                           .terms = sy_need(calloc(TERMS, sizeof *traces->terms)),
                           .series = sy_need(calloc(2, sizeof *traces->series))};
    return traces;
}

/* Two runs of the same machine: one is learned from, the other is scored. */
static struct sy_traces *make_traces(uint64_t seed) {
    struct sy_traces *traces = empty_traces();
    for (uint32_t i = 0; i < NODES; i++) {
        traces->events[i] = sy_need(node_name(traces->arena, i));
    }
    relate_all(traces);
    for (uint32_t i = 0; i < 2; i++) {
        traces->series[traces->series_count++] =
            (struct sy_series){.name = i ? "scored" : "learned from",
                               .windows = WINDOWS,
                               .rates = sy_need(malloc(sizeof(double) * WINDOWS * NODES))};
        fill(traces, &traces->series[i], seed, i);
    }
    return traces;
}

/* --- the bench ----------------------------------------------------------------------------------
 */
static const struct sy_mux_config columns[] = {
    {.name = "time-scaling", .method = SY_MUX_TIME_SCALING},
    {.name = "interpolation", .method = SY_MUX_INTERPOLATION},
    {.name = "ours, no covariance",
     .method = SY_MUX_UNSEEN,
     .no_covariance = true,
     .relations = UINT32_MAX},
    {.name = "ours", .method = SY_MUX_UNSEEN, .relations = UINT32_MAX},
};
#define COLUMNS SY_COUNT(columns)

static int run_column(const struct sy_traces *traces, const struct sy_mux_config *column,
                      double noise, uint64_t seed, double *scratch, struct sy_score *ret_score,
                      struct sy_error *error) {
    struct sy_mux_config config = *column;
    config.noise = noise;
    struct sy_mux mux = {.traces = traces,
                         .series = &traces->series[1],
                         .slots = SLOTS,
                         .noise = noise,
                         .seed = seed};
    struct sy_mux_guess guess = {.rates = scratch};
    struct sy_model *model = NULL;
    int code = 0;
    sy_mux_init(&mux);
    if (config.method == SY_MUX_UNSEEN) {
        guess.low = scratch + (size_t)WINDOWS * NODES;
        guess.high = scratch + (size_t)2 * WINDOWS * NODES;
        code = sy_mux_model(traces, 1, &config, seed, &model, error);
        code = code ? code : sy_guess_filter(&mux, &config, model, &guess);
    } else if (config.method == SY_MUX_INTERPOLATION) {
        sy_guess_interpolation(&mux, &guess);
    } else {
        sy_guess_time_scaling(&mux, &guess);
    }
    if (!code) {
        sy_score_guess(&mux, &guess, ret_score);
    }
    sy_model_destroy(model);
    sy_mux_finish(&mux);
    return code;
}

struct point {
    double wape[COLUMNS], rotation_wape[COLUMNS], coverage;
    struct sy_interval interval; /* of the last column, over seeds */
};

static int run_point(uint32_t events, double noise, uint32_t seeds, double *scratch,
                     struct point *ret_point, struct sy_error *error) {
    struct point point = {0};
    double *ours = sy_need(calloc(seeds, sizeof *ours));
    int code = 0;
    for (uint32_t seed = 1; !code && seed <= seeds; seed++) {
        struct sy_traces *traces = make_traces(seed);
        choose_events(traces, events, seed);
        for (uint32_t c = 0; !code && c < COLUMNS; c++) {
            struct sy_score score = {0};
            code = run_column(traces, &columns[c], noise, seed, scratch, &score, error);
            point.wape[c] += score.wape / seeds;
            point.rotation_wape[c] += score.rotation_wape / seeds;
            point.coverage += c == COLUMNS - 1 ? score.coverage / seeds : 0;
            ours[seed - 1] = score.wape;
        }
        sy_traces_destroy(traces);
    }
    point.interval =
        code ? point.interval : sy_bootstrap_mean(ours, seeds, (struct sy_clusters){0}, 1);
    free(ours);
    *ret_point = point;
    return code;
}

static void put_json(struct sy_json_writer *out, const struct point *points, double noise,
                     uint32_t seeds) {
    sy_json_print(out, "{bench: %s, title: %s, noise_ratio: %g, seeds: %u, rows: [", "counters",
                  "The papers' setting, synthetic trace", noise, seeds);
    for (size_t i = 0; i < SY_COUNT(published); i++) {
        sy_json_print(
            out,
            "{events: %u, published_linux: %g, published_counterminer: %g, published_bayesperf: %g",
            published[i].events, published[i].linux_percent / 100,
            published[i].counterminer_percent / 100, published[i].bayesperf_percent / 100);
        for (uint32_t c = 0; c < COLUMNS; c++) {
            sy_json_member_number(out, columns[c].name, points[i].wape[c]);
        }
        sy_json_print(out, "%s: %g, %s: %g, low: %g, high: %g, coverage: %g}",
                      "rotation, time-scaling", points[i].rotation_wape[0], "rotation, ours",
                      points[i].rotation_wape[COLUMNS - 1], points[i].interval.low,
                      points[i].interval.high, points[i].coverage);
    }
    sy_json_print(out, "]}");
}

static void put_text(struct sy_buffer *text, const struct point *points, double noise,
                     uint32_t seeds) {
    struct sy_table table;
    sy_table_init(&table,
                  (const char *const[]){"events", "time-scaling", "interpolation",
                                        "ours, no covariance", "ours", "95 % interval",
                                        "coverage %", "rotations: time-scaling", "ours",
                                        "published: Linux", "CounterMiner", "BayesPerf"},
                  "rrrrrrrrrrrr");
    for (size_t i = 0; i < SY_COUNT(published); i++) {
        sy_table_cell(&table, "%u", published[i].events);
        for (uint32_t c = 0; c < COLUMNS; c++) {
            sy_table_cell(&table, "%.1f", points[i].wape[c] * 100);
        }
        sy_table_cell(&table, "%.1f to %.1f|%.1f|%.1f|%.1f|%.0f|%.0f|%.0f",
                      points[i].interval.low * 100, points[i].interval.high * 100,
                      points[i].coverage * 100, points[i].rotation_wape[0] * 100,
                      points[i].rotation_wape[COLUMNS - 1] * 100, published[i].linux_percent,
                      published[i].counterminer_percent, published[i].bayesperf_percent);
    }
    sy_buffer_printf(
        text,
        "The papers' setting: SYNTHETIC trace, model of a 16-core Xeon, %d nodes, 32 "
        "measured, %d counters, %g %% noise of each reading\n(WAPE %% of single "
        "windows of the multiplexed events, then of means over a rotation; seeds 1 to "
        "%u; the published figures are errors of derived metrics on hardware after "
        "aligning two runs: the metrics differ: compare the shapes, not the values)\n\n",
        NODES, SLOTS, noise * 100, seeds);
    sy_table_write(&table, 0, false, text);
    sy_buffer_printf(text, "\n");
}

enum { X, BAYESPERF, LINUX, SCALING, OURS, LOW, HIGH, SERIES };

/* One panel for each noise. */
static int draw(const char *path, struct point (*points)[SY_COUNT(published)],
                const double *noises) {
    static double c[2][SERIES][SY_COUNT(published)];
    struct sy_plot_line lines[2][4];
    struct sy_plot_panel panels[2];
    char labels[2][32];
    uint32_t count = SY_COUNT(published);
    for (uint32_t n = 0; n < 2; n++) {
        for (uint32_t i = 0; i < count; i++) {
            c[n][X][i] = published[i].events;
            c[n][BAYESPERF][i] = published[i].bayesperf_percent / 100;
            c[n][LINUX][i] = published[i].linux_percent / 100;
            c[n][SCALING][i] = points[n][i].wape[0];
            c[n][OURS][i] = points[n][i].wape[COLUMNS - 1];
            c[n][LOW][i] = points[n][i].interval.low;
            c[n][HIGH][i] = points[n][i].interval.high;
        }
        const struct sy_plot_line all[4] = {
            {"time-scaling", c[n][X], c[n][SCALING], NULL, NULL, count},
            {"ours", c[n][X], c[n][OURS], c[n][LOW], c[n][HIGH], count},
            {"published: Linux", c[n][X], c[n][LINUX], NULL, NULL, count},
            {"published: BayesPerf", c[n][X], c[n][BAYESPERF], NULL, NULL, count},
        };
        memcpy(lines[n], all, sizeof all);
        snprintf(labels[n], sizeof labels[n], "reads wrong by %g %%", noises[n] * 100);
        panels[n] = (struct sy_plot_panel){.label = labels[n],
                                           .unit = " %",
                                           .scale = 100,
                                           .low = NAN,
                                           .high = NAN,
                                           .lines = lines[n],
                                           .line_count = 4};
    }
    struct sy_plot plot = {
        .title = "The papers' setting, synthetic trace",
        .subtitle = "4 counters; published figures were measured on hardware with another metric",
        .x_label = "events that share the counters",
        .panels = panels,
        .panel_count = 2};
    return sy_bench_plot(path, "papers", &plot);
}

int sy_bench_counters_papers(const struct sy_bench_counters_args *args,
                             struct sy_json_writer *writer, struct sy_buffer *buffer) {
    static const double noises[2] = {0.4, 0.02};
    struct point points[2][SY_COUNT(published)];
    double *scratch = sy_need(malloc(sizeof *scratch * 3 * WINDOWS * NODES));
    struct sy_error error = {0};
    int code = 0;
    for (size_t n = 0; !code && n < SY_COUNT(noises); n++) {
        for (size_t i = 0; !code && i < SY_COUNT(published); i++) {
            code = run_point(published[i].events, noises[n], args->seeds, scratch, &points[n][i],
                             &error);
        }
        if (!code) {
            put_json(writer, points[n], noises[n], args->seeds);
            put_text(buffer, points[n], noises[n], args->seeds);
        }
    }
    free(scratch);
    if (code) {
        return sy_message_code(code, &error);
    }
    return args->plot ? draw(args->plot, points, noises) : SY_EXIT_OK;
}
