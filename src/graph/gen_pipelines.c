/* SPDX-License-Identifier: Apache-2.0
 *
 * Generators: applications. Variant calling (map, shuffle, map), graph neural networks and
 * transformers as chains.
 */
#include "graph/internal.h"

enum { PURPOSE_GENOMICS = 11 }; /* of random streams */

/* --- genomics -----------------------------------------------------------------------------------
 */

enum { DECOMP, ALIGN, SORT, DEDUP, PAIRHMM, CALL, MERGE };

/* Work is one chunk or region of average size; interference names rows of the table of
 * hyper-thread siblings measured for genomics kernels. */
static const struct sy_generator_kernel genomics_kernels[] = {
    {"decomp", "Entropy", 8e6, 0, 0, 0.1, 6e9, 0, 0},
    {"align", "SmithWaterman", 80e6, 10e6, 6e6, 0.2, 5e9, 2e9, 3e9},
    {"sort", "KMerSearch", 25e6, 6e6, 0, 0.1, 12e9, 8e9, 0},
    {"dedup", "FilterPairs", 12e6, 0, 0, 0.1, 10e9, 0, 0},
    {"pairhmm", "PairHMM", 150e6, 12e6, 7e6, 0.3, 3e9, 3e9, 4e9},
    {"call", "Genotype", 15e6, 0, 0, 0.2, 6e9, 0, 0},
    {"merge", "GenomeDiff", 10e6, 0, 0, 0.1, 10e9, 0, 0},
};

/* Data of chunk i: raw, plain, aligned, sorted at 4i .. 4i + 3. */
static void add_chunk(struct sy_graph *graph, uint32_t i, uint32_t regions, struct sy_rng *rng) {
    double scale = 0.6 + 0.8 * sy_rng_uniform(rng);
    uint32_t at = 4 * i;
    sy_generator_data(graph, 8e6 * scale, "raw%u", i);
    sy_generator_data(graph, 20e6 * scale, "plain%u", i);
    sy_generator_data(graph, 25e6 * scale, "aligned%u", i);
    sy_generator_data(graph, 50e6 * scale / regions, "sorted%u", i);
    for (uint32_t step = 0; step < 3; step++) {
        sy_generator_task(graph, DECOMP + step, scale,
                          ACCESSES(READ(at + step), WRITE(at + step + 1)), "%s(%u)",
                          genomics_kernels[DECOMP + step].name, i);
    }
}

/* Data of region j: pile, likelihoods, calls at first + 3j .. first + 3j + 2. accesses begins with
 * the sorted chunks. */
static void add_region(struct sy_graph *graph, uint32_t j, uint32_t chunks,
                       struct sy_access *accesses, struct sy_rng *rng) {
    double scale = 0.5 + 1.2 * sy_rng_uniform(rng);
    uint32_t at = 4 * chunks + 3 * j;
    sy_generator_data(graph, 15e6 * scale, "pile%u", j);
    sy_generator_data(graph, 4e6 * scale, "likelihood%u", j);
    sy_generator_data(graph, 3e6, "calls%u", j);
    accesses[chunks] = (struct sy_access)WRITE(at);
    accesses[chunks + 1] = (struct sy_access){0, 0};
    sy_generator_task(graph, DEDUP, scale, accesses, "dedup(%u)", j);
    sy_generator_task(graph, PAIRHMM, scale, ACCESSES(READ(at), WRITE(at + 1)), "pairhmm(%u)", j);
    sy_generator_task(graph, CALL, scale, ACCESSES(READ(at), READ(at + 1), WRITE(at + 2)),
                      "call(%u)", j);
}

static void add_merge(struct sy_graph *graph, uint32_t chunks, uint32_t regions,
                      struct sy_access *accesses) {
    uint32_t first = 4 * chunks, result = first + 3 * regions;
    for (uint32_t j = 0; j < regions; j++) {
        accesses[j] = (struct sy_access)READ(first + 3 * j + 2);
    }
    accesses[regions] = (struct sy_access)WRITE(result);
    accesses[regions + 1] = (struct sy_access){0, 0};
    sy_generator_data(graph, 5e6, "variants");
    sy_generator_task(graph, MERGE, 1, accesses, "merge");
}

static void genomics(struct sy_graph *graph, const double *values) {
    uint32_t chunks = (uint32_t)values[0], regions = (uint32_t)values[1];
    struct sy_rng rng = sy_rng_make((uint64_t)values[2], PURPOSE_GENOMICS, 0);
    uint32_t most = chunks > regions ? chunks : regions;
    struct sy_access *accesses = sy_generator_accesses(graph, (size_t)most + 2);
    if (!accesses) {
        return;
    }
    sy_generator_kernels(graph, genomics_kernels, SY_COUNT(genomics_kernels));
    for (uint32_t i = 0; i < chunks; i++) {
        add_chunk(graph, i, regions, &rng);
    }
    for (uint32_t i = 0; i < chunks; i++) {
        accesses[i] = (struct sy_access)READ(4 * i + 3);
    }
    for (uint32_t j = 0; j < regions; j++) {
        add_region(graph, j, chunks, accesses, &rng);
    }
    add_merge(graph, chunks, regions, accesses);
}

static double genomics_size(const double *values) {
    return 9 * values[0] + (10 + values[0]) * values[1];
}

/* --- graph neural network ------------------------------------------------------------------------
 */

/* Batch b: adjacency, then features and aggregate of each layer, then the result. */
static void gnn_batch(struct sy_graph *graph, uint32_t b, const double *values) {
    uint32_t layers = (uint32_t)values[1], at = graph->data_count;
    double vertices = values[2], edges = vertices * values[3], features = values[4];
    double bytes = 4 * vertices * features;
    sy_generator_data(graph, 8 * edges, "adjacency%u", b);
    sy_generator_data(graph, bytes, "features(%u,0)", b);
    for (uint32_t l = 0; l < layers; l++) {
        uint32_t input = at + 1 + 2 * l;
        sy_generator_data(graph, bytes, "aggregate(%u,%u)", b, l);
        sy_generator_data(graph, bytes, "features(%u,%u)", b, l + 1);
        sy_generator_task(graph, 0, 2 * edges * features,
                          ACCESSES(READ(at), READ(input), WRITE(input + 1)), "spmm(%u,%u)", b, l);
        sy_generator_task(graph, 1, 2 * vertices * features * features,
                          ACCESSES(READ(input + 1), READ(l), WRITE(input + 2)), "gemm(%u,%u)", b,
                          l);
    }
}

static void gnn(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"spmm", NULL, 0.25, 0.012, 0.009, 0.1, 14e9, 1e9, 4e9},
        {"gemm", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9}};
    sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    for (uint32_t l = 0; l < (uint32_t)values[1]; l++) {
        sy_generator_data(graph, 4 * values[4] * values[4], "weights%u", l);
    }
    for (uint32_t b = 0; b < (uint32_t)values[0]; b++) {
        gnn_batch(graph, b, values);
    }
}

static double gnn_size(const double *values) {
    return values[0] * (10 * values[1] + 2);
}

/* --- transformer with window attention
 * ------------------------------------------------------------ */

enum { QKV, ATTENTION, PROJECTION, FFN };

struct transformer {
    uint32_t windows;
    double tokens, width;
};

/* A window attends to itself and to the one before it. */
static void transformer_window(struct sy_graph *graph, const struct transformer *shape, uint32_t l,
                               uint32_t w, uint32_t weights, uint32_t qkv, uint32_t context) {
    double t = shape->tokens, d = shape->width;
    struct sy_access attends[4] = {{qkv + w, SY_READ}, {context + w, SY_WRITE}};
    if (w) {
        attends[2] = (struct sy_access)READ(qkv + w - 1);
    }
    sy_generator_task(graph, ATTENTION, 8 * t * t * d, attends, "attention(%u,%u)", l, w);
    sy_generator_task(graph, PROJECTION, 2 * t * d * d,
                      ACCESSES(READ(context + w), READ(weights), UPDATE(w)), "projection(%u,%u)", l,
                      w);
    sy_generator_task(graph, FFN, 16 * t * d * d, ACCESSES(READ(weights), UPDATE(w)), "ffn(%u,%u)",
                      l, w);
}

/* Data: the tokens of each window come first, and each layer brings weights, qkv and contexts. */
static void transformer_layer(struct sy_graph *graph, const struct transformer *shape, uint32_t l) {
    double t = shape->tokens, d = shape->width;
    uint32_t weights = graph->data_count, qkv = weights + 1, context = qkv + shape->windows;
    sy_generator_data(graph, 2 * 12 * d * d, "weights%u", l);
    for (uint32_t w = 0; w < shape->windows; w++) {
        sy_generator_data(graph, 2 * 3 * t * d, "qkv(%u,%u)", l, w);
    }
    for (uint32_t w = 0; w < shape->windows; w++) {
        sy_generator_data(graph, 2 * t * d, "context(%u,%u)", l, w);
    }
    for (uint32_t w = 0; w < shape->windows; w++) {
        sy_generator_task(graph, QKV, 6 * t * d * d,
                          ACCESSES(READ(w), READ(weights), WRITE(qkv + w)), "qkv(%u,%u)", l, w);
    }
    for (uint32_t w = 0; w < shape->windows; w++) {
        transformer_window(graph, shape, l, w, weights, qkv, context);
    }
}

static void transformer(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"qkv", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9},
        {"attention", NULL, 0.12, 0.004, 0.003, 0.05, 8e9, 1e9, 3e9},
        {"projection", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9},
        {"ffn", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9}};
    struct transformer shape = {(uint32_t)values[1], values[2], values[3]};
    sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    for (uint32_t w = 0; w < shape.windows; w++) {
        sy_generator_data(graph, 2 * shape.tokens * shape.width, "tokens%u", w);
    }
    for (uint32_t l = 0; l < (uint32_t)values[0]; l++) {
        transformer_layer(graph, &shape, l);
    }
}

static double transformer_size(const double *values) {
    return 16 * values[0] * values[1];
}

const struct sy_generator sy_generators_pipelines[] = {
    GENERATOR(genomics, genomics_size,
              "genomics:CHUNKS[,regions=12,seed=1]  variant calling: map, shuffle, map",
              WHOLE("chunks", 8, 1, 1e5), WHOLE("regions", 12, 1, 1e5),
              WHOLE("seed", 1, 0, 9007199254740992.0)),
    GENERATOR(gnn, gnn_size,
              "gnn:BATCHES[,layers=2,vertices=20000,degree=16,features=256]  graph convolutions, a "
              "chain of spmm and gemm per batch",
              WHOLE("batches", 8, 1, 1e6), WHOLE("layers", 2, 1, 1000),
              WHOLE("vertices", 20000, 1, 1e9), REAL("degree", 16, 0, 1e6),
              WHOLE("features", 256, 1, 1e5)),
    GENERATOR(transformer, transformer_size,
              "transformer:LAYERS[,windows=8,tokens=512,width=1024]  layers of window attention",
              WHOLE("layers", 4, 1, 1e5), WHOLE("windows", 8, 1, 1e5), WHOLE("tokens", 512, 1, 1e6),
              WHOLE("width", 1024, 1, 1e6)),
    {0},
};
