/* SPDX-License-Identifier: Apache-2.0
 *
 * Generators: shapes of the two other applications of the papers, which infer in factor graphs.
 *
 * Shapes: the stages and what depends on what are those of the applications; data and most costs
 * are made up. Of inference only ratios are known (AcMC2, ASPLOS 2019): an FPGA took 41.8 ms for 3
 * s of EEG, 102.1 times less than a core, and 48.4 times less for AttackTagger; hand-tuned OpenCL
 * on a K80 took 8.6 to 18.2 times as long as the FPGA, of which 12.5 is the middle.
 */
#include "graph/internal.h"
#include <math.h>

enum { PURPOSE_EEG = 12, PURPOSE_ATTACK = 13 }; /* of random streams */

#define EEG_FPGA_NS    41.8e6
#define ATTACK_FPGA_NS 2e6 /* made up; the ratios are not */
#define GPU_PER_FPGA   12.5

/* --- EEG ----------------------------------------------------------------------------------------
 */
enum { EEG_FILTER, EEG_FEATURES, EEG_INFER, EEG_LOCATE };

/* Work is one group of channels, or one chunk, of 3 s. */
static const struct sy_generator_kernel eeg_kernels[] = {
    {"eeg_filter", "Gaussian", 40e6, 5e6, 4e6, 0.1, 8e9, 4e9, 4e9},
    {"eeg_features", "Entropy", 120e6, 12e6, 9e6, 0.15, 4e9, 2e9, 2e9},
    {"eeg_infer", NULL, EEG_FPGA_NS * 102.1, EEG_FPGA_NS *GPU_PER_FPGA, EEG_FPGA_NS, 0.2, 2e9,
     0.5e9, 0.5e9},
    {"eeg_locate", "Thresholding", 30e6, 0, 0, 0.1, 6e9, 0, 0},
};

/* Data: the state first, then signal, filtered and features of each group. accesses has room for
 * one each. A chunk needs the state that the one before it left. */
static void eeg_chunk(struct sy_graph *graph, uint32_t c, uint32_t groups,
                      struct sy_access *accesses, struct sy_rng *rng) {
    double scale = 0.8 + 0.4 * sy_rng_uniform(rng);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t at = graph->data_count;
        sy_generator_data(graph, 1e6, "signal(%u,%u)", c, g);
        sy_generator_data(graph, 1e6, "filtered(%u,%u)", c, g);
        sy_generator_data(graph, 60e3, "features(%u,%u)", c, g);
        sy_generator_task(graph, EEG_FILTER, 1, ACCESSES(READ(at), WRITE(at + 1)), "filter(%u,%u)",
                          c, g);
        sy_generator_task(graph, EEG_FEATURES, scale, ACCESSES(READ(at + 1), WRITE(at + 2)),
                          "features(%u,%u)", c, g);
        accesses[g] = (struct sy_access)READ(at + 2);
    }
    accesses[groups] = (struct sy_access)UPDATE(0);
    accesses[groups + 1] = (struct sy_access){0, 0};
    sy_generator_task(graph, EEG_INFER, scale, accesses, "infer(%u)", c);
}

static void eeg(struct sy_graph *graph, const double *values) {
    uint32_t chunks = (uint32_t)values[0], groups = (uint32_t)values[1];
    struct sy_rng rng = sy_rng_make((uint64_t)values[2], PURPOSE_EEG, 0);
    struct sy_access *accesses = sy_generator_accesses(graph, (size_t)groups + 2);
    if (!accesses) {
        return;
    }
    sy_generator_kernels(graph, eeg_kernels, SY_COUNT(eeg_kernels));
    sy_generator_data(graph, 200e3, "state");
    for (uint32_t c = 0; c < chunks; c++) {
        eeg_chunk(graph, c, groups, accesses, &rng);
    }
    uint32_t result = graph->data_count;
    sy_generator_data(graph, 10e3, "places");
    sy_generator_task(graph, EEG_LOCATE, 1, ACCESSES(READ(0), WRITE(result)), "locate");
}

static double eeg_size(const double *values) {
    return values[0] * (7 * values[1] + 2) + 3;
}

/* --- AttackTagger
 * ---------------------------------------------------------------------------------
 */
enum { ATTACK_PARSE, ATTACK_BUILD, ATTACK_INFER, ATTACK_REPORT };

/* Work is one batch of log lines, or one user's events in it. */
static const struct sy_generator_kernel attack_kernels[] = {
    {"attack_parse", "Entropy", 60e6, 0, 0, 0.1, 8e9, 0, 0},
    {"attack_build", "FilterPairs", 6e6, 2e6, 0, 0.15, 6e9, 2e9, 0},
    {"attack_infer", NULL, ATTACK_FPGA_NS * 48.4, ATTACK_FPGA_NS *GPU_PER_FPGA, ATTACK_FPGA_NS, 0.3,
     2e9, 0.5e9, 0.5e9},
    {"attack_report", "Thresholding", 4e6, 0, 0, 0.1, 4e9, 0, 0},
};

/* Data: each user's state first. A user's graph goes on from batch to batch. Few users have most of
 * the events. */
static void attack_batch(struct sy_graph *graph, uint32_t b, uint32_t users,
                         struct sy_access *accesses, struct sy_rng *rng) {
    uint32_t logs = graph->data_count, events = logs + 1;
    sy_generator_data(graph, 30e6, "logs%u", b);
    sy_generator_data(graph, 6e6, "events%u", b);
    sy_generator_task(graph, ATTACK_PARSE, 1, ACCESSES(READ(logs), WRITE(events)), "parse(%u)", b);
    for (uint32_t u = 0; u < users; u++) {
        double scale = 0.2 / sqrt(0.02 + sy_rng_uniform(rng));
        uint32_t model = graph->data_count;
        sy_generator_data(graph, 400e3 * scale, "model(%u,%u)", b, u);
        sy_generator_data(graph, 1e3, "verdict(%u,%u)", b, u);
        sy_generator_task(graph, ATTACK_BUILD, scale, ACCESSES(READ(events), WRITE(model)),
                          "build(%u,%u)", b, u);
        sy_generator_task(graph, ATTACK_INFER, scale,
                          ACCESSES(READ(model), UPDATE(u), WRITE(model + 1)), "infer(%u,%u)", b, u);
        accesses[u] = (struct sy_access)READ(model + 1);
    }
    accesses[users] = (struct sy_access)WRITE(graph->data_count);
    accesses[users + 1] = (struct sy_access){0, 0};
    sy_generator_data(graph, 10e3, "alarms%u", b);
    sy_generator_task(graph, ATTACK_REPORT, 1, accesses, "report(%u)", b);
}

static void attack(struct sy_graph *graph, const double *values) {
    uint32_t batches = (uint32_t)values[0], users = (uint32_t)values[1];
    struct sy_rng rng = sy_rng_make((uint64_t)values[2], PURPOSE_ATTACK, 0);
    struct sy_access *accesses = sy_generator_accesses(graph, (size_t)users + 2);
    if (!accesses) {
        return;
    }
    sy_generator_kernels(graph, attack_kernels, SY_COUNT(attack_kernels));
    for (uint32_t u = 0; u < users; u++) {
        sy_generator_data(graph, 20e3, "state%u", u);
    }
    for (uint32_t b = 0; b < batches; b++) {
        attack_batch(graph, b, users, accesses, &rng);
    }
}

static double attack_size(const double *values) {
    return values[0] * (8 * values[1] + 5);
}

const struct sy_generator sy_generators_inference[] = {
    GENERATOR(eeg, eeg_size,
              "eeg:CHUNKS[,groups=8,seed=1]  shaped like EEG-Graph: filters and features per group "
              "of channels, inference from chunk to chunk",
              WHOLE("chunks", 8, 1, 1e5), WHOLE("groups", 8, 1, 1e5),
              WHOLE("seed", 1, 0, 9007199254740992.0)),
    GENERATOR(attack, attack_size,
              "attack:BATCHES[,users=16,seed=1]  shaped like AttackTagger: logs in batches, "
              "inference per user from batch to batch",
              WHOLE("batches", 8, 1, 1e5), WHOLE("users", 16, 1, 1e5),
              WHOLE("seed", 1, 0, 9007199254740992.0)),
    {0},
};
