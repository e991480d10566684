/* SPDX-License-Identifier: Apache-2.0
 *
 * The suites of symph-bench policy, as data.
 *
 * Settings are meant to be honest: what policies are told comes from the belief, fed with four
 * counters at a time that are 40 % wrong; hidden load is never announced, nor are slow devices.
 * Recorded jobs have no memory traffic: of contention they only meet that of links.
 */
#include "symph-bench/policy.h"

#define HALVED  "2x(cpu:4 dram:20GB/s) gpu:2@pcie3x8 fpga:1@regions=1 upi:10GB/s"
#define SMT     "2x(cpu:4@smt=2 dram:40GB/s) gpu:2@pcie3x16"
#define SOCKETS "4x(cpu:4 dram:40GB/s)"
#define BUS     "2x(cpu:4 dram:40GB/s gpu:2@pcie3x16,bus=switch)"
#define MIRAGE  "data:machines/mirage.bus.csv"
#define ATTILA  "data:machines/attila.bus.csv"

#define GENOMICS                                                                                   \
    { "gen:genomics:12" }
#define DENSE                                                                                      \
    { "gen:cholesky:8", "gen:lu:6", "gen:qr:6" }
#define NARROW                                                                                     \
    {                                                                                              \
        "gen:layered:width=3,depth=20,seed=1", "gen:layered:width=4,depth=20,seed=5",              \
            "gen:stencil:6"                                                                        \
    }
#define FACTORS                                                                                    \
    {                                                                                              \
        "gen:cholesky:5", "gen:cholesky:10", "gen:cholesky:20", "gen:lu:5", "gen:lu:10",           \
            "gen:lu:20", "gen:qr:5", "gen:qr:10", "gen:qr:20"                                      \
    }
/* Designated initialisers that a stream under hidden load shares. */
#define HIDDEN(machine_, graphs_, hidden_, load_)                                                  \
    .machine = machine_, .graphs = graphs_, .hidden_load = hidden_, .load = load_, .noise = 0.15,  \
    .counter_noise = 0.4, .counters = 4, .belief = "filtered", .contention = true, .tenants = 4,   \
    .jobs = 40

/* The same streams as in symph-bench recorded. */
#define RECORDED(name_, load_)                                                                     \
    .machine = "2x(cpu:8 dram:60GB/s) gpu:2@pcie3x16", .graphs = {"data:graphs/" name_ ".dag"},    \
    .accelerate = true, .accelerate_seed = 7, .max_instances = 8, .within = 40, .noise = 0.2,      \
    .load = load_, .tenants = 4, .jobs = 60

/* In suite C somebody else loads links and memories, too. */
#define RECORDED_SUITE(name_, load_)                                                               \
    {                                                                                              \
        SY_TRACK_CONTENTION, "recorded " name_ ", load " #load_, {                                 \
            RECORDED(name_, load_), .hidden_load = 0.3, .counter_noise = 0.4, .counters = 4,       \
                                    .belief = "filtered", .contention = true                       \
        }                                                                                          \
    }
#define RECORDED_SUITES(name_)                                                                     \
    RECORDED_SUITE(name_, 0.4), RECORDED_SUITE(name_, 0.7), RECORDED_SUITE(name_, 0.95)

/* Two jobs at a time share a GPU. The load counts both streams of a GPU as a whole one. */
#define PAIRS_SUITE(name_, table_, load_)                                                          \
    {                                                                                              \
        SY_TRACK_CONTENTION, "GPUs shared in pairs, " name_ ", load " #load_, {                    \
            .machine = "cpu:4 gpu:4@pcie3x16,streams=2", .graphs = {"pairs:interference/" table_}, \
            .gpu_table = "interference/" table_, .load = load_, .noise = 0.15,                     \
            .counter_noise = 0.4, .counters = 4, .belief = "filtered", .contention = true,         \
            .tenants = 4, .jobs = 60                                                               \
        }                                                                                          \
    }
#define PAIRS_SUITES(name_, table_)                                                                \
    PAIRS_SUITE(name_, table_, 0.4), PAIRS_SUITE(name_, table_, 0.6),                              \
        PAIRS_SUITE(name_, table_, 0.8)

/* The single graphs of the S and D tracks. */
#define SINGLE(track_, noise_, seeds_)                                                             \
    {track_,                                                                                       \
     "workflows made heterogeneous",                                                               \
     {.machine = SY_BENCH_NODE,                                                                    \
      .graphs = {"data:graphs/workflows.dag"},                                                     \
      .accelerate = true,                                                                          \
      .noise = noise_,                                                                             \
      .seeds = seeds_}},                                                                           \
        {track_,                                                                                   \
         "generated graphs",                                                                       \
         {.machine = SY_BENCH_NODE,                                                                \
          .graphs = SY_BENCH_GENERATED,                                                            \
          .accelerate = true,                                                                      \
          .noise = noise_,                                                                         \
          .seeds = seeds_}},                                                                       \
        {track_,                                                                                   \
         "factorisations, mirage",                                                                 \
         {.machine = MIRAGE,                                                                       \
          .costs = "machines/mirage.kernels.csv",                                                  \
          .graphs = FACTORS,                                                                       \
          .noise = noise_,                                                                         \
          .seeds = seeds_}},                                                                       \
    {                                                                                              \
        track_, "factorisations, attila", {                                                        \
            .machine = ATTILA, .costs = "machines/attila.kernels.csv", .graphs = FACTORS,          \
            .noise = noise_, .seeds = seeds_                                                       \
        }                                                                                          \
    }

static const struct sy_suite suites[] = {
    SINGLE(SY_TRACK_STATIC, 0, 1),
    SINGLE(SY_TRACK_DYNAMIC, 0.3, 0),
    {SY_TRACK_CONTENTION, "mixed, load 0.5", {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.3, 0.5)}},
    {SY_TRACK_CONTENTION, "mixed, load 0.7", {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.3, 0.7)}},
    {SY_TRACK_CONTENTION, "mixed, load 0.9", {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.3, 0.9)}},
    {SY_TRACK_CONTENTION,
     "mixed, contention x2, load 0.5",
     {HIDDEN(HALVED, SY_BENCH_SIX, 0.6, 0.5)}},
    {SY_TRACK_CONTENTION,
     "mixed, slow changes, load 0.7",
     {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.3, 0.7), .hidden_period = "300ms"}},
    {SY_TRACK_CONTENTION, "genomics alone, load 0.7", {HIDDEN(SY_BENCH_MIXED, GENOMICS, 0.3, 0.7)}},
    {SY_TRACK_CONTENTION,
     "genomics alone, contention x2, load 0.3",
     {HIDDEN(HALVED, GENOMICS, 0.6, 0.3)}},
    {SY_TRACK_CONTENTION, "sockets, narrow graphs, load 0.5", {HIDDEN(SOCKETS, NARROW, 0.5, 0.5)}},
    {SY_TRACK_CONTENTION,
     "sockets, narrow graphs, slow changes, load 0.7",
     {HIDDEN(SOCKETS, NARROW, 0.5, 0.7), .hidden_period = "300ms"}},
    {SY_TRACK_CONTENTION, "GPUs behind switches, load 0.5", {HIDDEN(BUS, SY_BENCH_SIX, 0.5, 0.5)}},
    {SY_TRACK_CONTENTION, "GPUs behind switches, load 0.7", {HIDDEN(BUS, SY_BENCH_SIX, 0.5, 0.7)}},
    {SY_TRACK_CONTENTION,
     "hyper-threads, six graphs, load 0.7",
     {HIDDEN(SMT, SY_BENCH_SIX, 0.3, 0.7), .smt_table = "interference/smt-pairs-genomics.csv"}},
    {SY_TRACK_CONTENTION,
     "hyper-threads, genomics, load 0.5",
     {HIDDEN(SMT, GENOMICS, 0.3, 0.5), .smt_table = "interference/smt-pairs-genomics.csv"}},
    {SY_TRACK_CONTENTION,
     "single graphs",
     {.machine = SY_BENCH_MIXED,
      .graphs = SY_BENCH_SIX,
      .hidden_load = 0.3,
      .noise = 0.15,
      .counter_noise = 0.4,
      .counters = 4,
      .belief = "filtered",
      .contention = true}},
    {SY_TRACK_CONTENTION,
     "single graphs, contention x2",
     {.machine = HALVED,
      .graphs = SY_BENCH_SIX,
      .hidden_load = 0.6,
      .noise = 0.15,
      .counter_noise = 0.4,
      .counters = 4,
      .belief = "filtered",
      .contention = true}},
    {SY_TRACK_CONTENTION,
     "mixed, stragglers, load 0.5",
     {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.3, 0.5), .stragglers = "0.1:4"}},
    {SY_TRACK_CONTENTION,
     "mixed, others on devices, load 0.5",
     {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.3, 0.5), .throttle = 0.2}},
    {SY_TRACK_CONTENTION,
     "recorded alibaba, stragglers, load 0.7",
     {RECORDED("alibaba", 0.7), .stragglers = "0.1:4", .contention = true}},
    PAIRS_SUITES("K80", "gpu-pairs-k80.csv"),
    PAIRS_SUITES("P100", "gpu-pairs-p100.csv"),
    RECORDED_SUITES("alibaba"),
    RECORDED_SUITES("tpch"),
    RECORDED_SUITES("workflows"),
    {SY_TRACK_TENANTS, "recorded alibaba, load 0.7", {RECORDED("alibaba", 0.7)}},
    {SY_TRACK_TENANTS, "recorded workflows, load 0.7", {RECORDED("workflows", 0.7)}},
    {SY_TRACK_TENANTS,
     "mixed, hidden load, load 0.8",
     {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.2, 0.8)}},
    {SY_TRACK_TENANTS, "sockets, load 0.8", {HIDDEN(SOCKETS, SY_BENCH_SIX, 0.2, 0.8)}},
    {SY_TRACK_TENANTS,
     "TPC-H made heterogeneous, load 0.8",
     {.machine = SY_BENCH_NODE,
      .graphs = {"data:graphs/tpch.dag"},
      .accelerate = true,
      .noise = 0.3,
      .load = 0.8,
      .tenants = 4,
      .jobs = 60}},
    {SY_TRACK_ABLATION, "mixed, load 0.7", {HIDDEN(SY_BENCH_MIXED, SY_BENCH_SIX, 0.3, 0.7)}},
    {SY_TRACK_ABLATION, "mixed, contention x2, load 0.5", {HIDDEN(HALVED, SY_BENCH_SIX, 0.6, 0.5)}},
    {SY_TRACK_ABLATION,
     "sockets, narrow graphs, slow changes, load 0.7",
     {HIDDEN(SOCKETS, NARROW, 0.5, 0.7), .hidden_period = "300ms"}},
    {SY_TRACK_ABLATION,
     "single generated graphs, noise 0.3",
     {.machine = SY_BENCH_NODE, .graphs = SY_BENCH_GENERATED, .accelerate = true, .noise = 0.3}},
};

static const struct sy_left_out left_out[] = {
    {"machine",
     "attila, factorisations, load 0.7",
     1.02,
     {HIDDEN(ATTILA, FACTORS, 0.3, 0.7), .costs = "machines/attila.kernels.csv"}},
    {"size",
     "graphs ten times larger, mixed, load 0.7",
     1.02,
     {.machine = SY_BENCH_MIXED,
      .graphs = {"gen:cholesky:18", "gen:lu:14", "gen:qr:14",
                 "gen:layered:width=24,depth=40,seed=3", "gen:genomics:120", "gen:forkjoin:200"},
      .hidden_load = 0.3,
      .load = 0.7,
      .noise = 0.15,
      .counter_noise = 0.4,
      .counters = 4,
      .belief = "filtered",
      .contention = true,
      .tenants = 4,
      .jobs = 12}},
    {"family", "genomics, mixed, load 0.7", 1.03, {HIDDEN(SY_BENCH_MIXED, GENOMICS, 0.3, 0.7)}},
    {"factorisations",
     "Cholesky, LU, QR, mixed, load 0.7",
     1.03,
     {HIDDEN(SY_BENCH_MIXED, DENSE, 0.3, 0.7)}},
};

const struct sy_suite *sy_suite_at(uint32_t index) {
    return index < SY_COUNT(suites) ? &suites[index] : NULL;
}

const struct sy_left_out *sy_left_out_at(uint32_t index) {
    return index < SY_COUNT(left_out) ? &left_out[index] : NULL;
}
