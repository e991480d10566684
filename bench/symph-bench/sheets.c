/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables that symph-bench makes, as data.
 */
#include "symph-bench/bench.h"

#define MIRAGE  "cpu:9 gpu:3@link=6GB/s,latency=10us"
#define TWO_SMT "2x(cpu:8@smt=2 dram:80GB/s) gpu:4@pcie3x16"
#define WORKFLOWS                                                                                  \
    { "data:graphs/workflows.dag" }
#define CHOLESKY                                                                                   \
    { "gen:cholesky:10", "gen:cholesky:20", "gen:cholesky:40" }
/* The two that plan longest do so for known times alone; greedy-true sees what noise hides. */
#define POLICIES                                                                                   \
    "random,rr,sparrow,ws,eager,prio,heteroprio,tetris,graphene,paragon,dmda,dmdas,cpop,peft,"     \
    "heft,affinity,lb,lb-hist,symphony"
#define STATIC POLICIES ",lookahead,anneal:2000"
#define NOISY  POLICIES ",greedy-true,greedy-true-rollout:16"
#define EITHER POLICIES ",greedy-true,greedy-true-rollout:16,lookahead,anneal:2000"
#define STREAM                                                                                     \
    "random,rr,sparrow,eager,heft,dmda,dmda-hist,paragon,dmdas,dmdas-hist,tetris,graphene,"        \
    "heft+srpt,dmdas+srpt,lb,lb+fifo,lb+fair,lb+srpt,lb+wspt,lb-hist+wspt,lb-cont+srpt,"           \
    "lb-cont+wspt,symphony,symphony+wspt,greedy-true+wspt"

#define KNOWN_AND_NOISY(which)                                                                     \
    {                                                                                              \
        {.machine = SY_BENCH_NODE,                                                                 \
         .graphs = which,                                                                          \
         .accelerate = true,                                                                       \
         .seeds = 1,                                                                               \
         .policies = STATIC},                                                                      \
        {                                                                                          \
            .machine = SY_BENCH_NODE, .graphs = which, .accelerate = true, .noise = 0.3,           \
            .policies = NOISY                                                                      \
        }                                                                                          \
    }
#define COLUMNS_KNOWN_AND_NOISY                                                                    \
    {                                                                                              \
        {"known times", 0, SY_FIGURE_OVER_BOUND}, {"vs LP", 0, SY_FIGURE_OVER_LP}, {               \
            "noise 0.3", 1, SY_FIGURE_OVER_BOUND                                                   \
        }                                                                                          \
    }
#define KNOWN_TILES(graph)                                                                         \
    {                                                                                              \
        .machine = MIRAGE, .graphs = {graph}, .costs = "machines/mirage.kernels.csv",              \
        .policies = STATIC, .seeds = 1                                                             \
    }
#define JOBS_BESIDE(load_of_others)                                                                \
    {                                                                                              \
        .machine = SY_BENCH_MIXED, .graphs = SY_BENCH_SIX, .noise = 0.15,                          \
        .hidden_load = load_of_others, .counter_noise = 0.3, .load = 0.5, .tenants = 4,            \
        .jobs = 40, .contention = true                                                             \
    }

static const struct sy_sheet sheets[] = {
    {.bench = "classic",
     .title = "Generated graphs, " SY_BENCH_NODE ": makespan / max(critical path, area)",
     .policies = EITHER,
     .scenarios = KNOWN_AND_NOISY(SY_BENCH_GENERATED),
     .columns = COLUMNS_KNOWN_AND_NOISY},
    {.bench = "classic",
     .title = "97 recorded workflows made heterogeneous, " SY_BENCH_NODE
              ": makespan / max(critical path, area)",
     .policies = EITHER,
     .scenarios = KNOWN_AND_NOISY(WORKFLOWS),
     .columns = COLUMNS_KNOWN_AND_NOISY},
    {.bench = "classic",
     .title = "Cholesky, kernel times of a recorded machine, " MIRAGE
              ": makespan / max(critical path, area)",
     .policies = EITHER,
     .scenarios = {KNOWN_TILES("gen:cholesky:10"),
                   KNOWN_TILES("gen:cholesky:20"),
                   KNOWN_TILES("gen:cholesky:40"),
                   {.machine = MIRAGE,
                    .graphs = CHOLESKY,
                    .costs = "machines/mirage.kernels.csv",
                    .policies = NOISY,
                    .noise = 0.3}},
     .columns = {{"10 tiles", 0, SY_FIGURE_OVER_BOUND},
                 {"20 tiles", 1, SY_FIGURE_OVER_BOUND},
                 {"40 tiles", 2, SY_FIGURE_OVER_BOUND},
                 {"noise 0.3, all", 3, SY_FIGURE_OVER_BOUND}}},
    {.bench = "ablation",
     .also = "classic",
     .title = "Ablation of the 2017 poster on generated variant calling, " TWO_SMT
              ", hyper-thread slowdowns as measured: share of tasks within 0/10/20 % of "
              "their time alone; affinity only, + locality (lb), + contention from counters "
              "(lb-cont), + true contention (greedy-true, and with a gate)",
     .policies = "affinity,lb,lb-cont,greedy-true,greedy-true-gate",
     .scenarios = {{.machine = TWO_SMT,
                    .graphs = {"gen:genomics:16"},
                    .smt_table = "interference/smt-pairs-genomics.csv",
                    .noise = 0.15,
                    .counter_noise = 0.3,
                    .load = 0.2,
                    .tenants = 4,
                    .jobs = 20,
                    .contention = true}},
     .columns = {{"within 0 %", 0, SY_FIGURE_WITHIN_0},
                 {"within 10 %", 0, SY_FIGURE_WITHIN_10},
                 {"within 20 %", 0, SY_FIGURE_WITHIN_20},
                 {"job slowdown", 0, SY_FIGURE_SLOWDOWN},
                 {"p99", 0, SY_FIGURE_SLOWDOWN_P99}}},
    {.bench = "streams",
     .title = "Streams of 40 jobs of 4 tenants under contention and hidden load, " SY_BENCH_MIXED
              ": job completion / time alone",
     .policies = STREAM,
     .scenarios = {JOBS_BESIDE(0.2), JOBS_BESIDE(0.4)},
     .columns = {{"mean", 0, SY_FIGURE_SLOWDOWN},
                 {"p99", 0, SY_FIGURE_SLOWDOWN_P99},
                 {"Jain", 0, SY_FIGURE_FAIRNESS},
                 {"mean, load x2", 1, SY_FIGURE_SLOWDOWN},
                 {"p99, load x2", 1, SY_FIGURE_SLOWDOWN_P99}}},
    {.bench = "applications",
     .title = "Graphs shaped like the applications of the papers (variant calling, "
              "EEG-Graph, AttackTagger; most costs are made up), " SY_BENCH_MIXED
              ", noise 0.3: makespan / max(critical path, "
              "area); then a stream of all three: job completion / time alone",
     .policies = "eager,dmda,dmdas,heft,lb,lb-cont,lb-cont+wspt,symphony,greedy-true",
     .scenarios = {{.machine = SY_BENCH_MIXED, .graphs = {"gen:genomics:24"}, .noise = 0.3},
                   {.machine = SY_BENCH_MIXED, .graphs = {"gen:eeg:12"}, .noise = 0.3},
                   {.machine = SY_BENCH_MIXED, .graphs = {"gen:attack:12"}, .noise = 0.3},
                   {.machine = SY_BENCH_MIXED,
                    .graphs = {"gen:genomics:12", "gen:eeg:4", "gen:attack:6"},
                    .noise = 0.15,
                    .hidden_load = 0.3,
                    .counter_noise = 0.3,
                    .load = 0.5,
                    .tenants = 4,
                    .jobs = 40,
                    .contention = true}},
     .columns = {{"variant calling", 0, SY_FIGURE_OVER_BOUND},
                 {"EEG-Graph", 1, SY_FIGURE_OVER_BOUND},
                 {"AttackTagger", 2, SY_FIGURE_OVER_BOUND},
                 {"stream, mean", 3, SY_FIGURE_SLOWDOWN},
                 {"p99", 3, SY_FIGURE_SLOWDOWN_P99}}},
    {.bench = "decisions",
     .title = "Time of one decision on this machine, " SY_BENCH_MIXED ", contention",
     .policies = "eager,dmda,dmdas,paragon,tetris,lb,lb-hist,lb-cont,lb-cont+wspt,symphony",
     .scenarios = {{.machine = SY_BENCH_MIXED,
                    .graphs = SY_BENCH_SIX,
                    .noise = 0.15,
                    .counter_noise = 0.3,
                    .contention = true,
                    .timing = true,
                    .seeds = 3}},
     .columns = {{"p50", 0, SY_FIGURE_DECISION_P50}, {"p99", 0, SY_FIGURE_DECISION_P99}}},
};

const struct sy_sheet *sy_bench_sheet_at(uint32_t index) {
    return index < SY_COUNT(sheets) ? &sheets[index] : NULL;
}
