/* SPDX-License-Identifier: Apache-2.0
 *
 * Generators: applications. Variant calling (map, shuffle, map), graph neural networks and
 * transformers as chains.
 */
#include "graph/internal.h"
#include <errno.h>
#include <stdlib.h>

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
static int add_chunk(struct sy_graph *graph, uint32_t i, uint32_t regions, struct sy_rng *rng) {
    double scale = 0.6 + 0.8 * sy_rng_uniform(rng);
    uint32_t at = 4 * i;
    int code = sy_generator_data(graph, 8e6 * scale, "raw%u", i);
    code = code ? code : sy_generator_data(graph, 20e6 * scale, "plain%u", i);
    code = code ? code : sy_generator_data(graph, 25e6 * scale, "aligned%u", i);
    code = code ? code : sy_generator_data(graph, 50e6 * scale / regions, "sorted%u", i);
    for (uint32_t step = 0; !code && step < 3; step++) {
        code = sy_generator_task(
            graph, DECOMP + step, scale,
            (struct sy_access[]){{at + step, SY_READ}, {at + step + 1, SY_WRITE}, {0, 0}}, "%s(%u)",
            genomics_kernels[DECOMP + step].name, i);
    }
    return code;
}

/* Data of region j: pile, likelihoods, calls at first + 3j .. first + 3j + 2. accesses begins with
 * the sorted chunks. */
static int add_region(struct sy_graph *graph, uint32_t j, uint32_t chunks,
                      struct sy_access *accesses, struct sy_rng *rng) {
    double scale = 0.5 + 1.2 * sy_rng_uniform(rng);
    uint32_t at = 4 * chunks + 3 * j;
    int code = sy_generator_data(graph, 15e6 * scale, "pile%u", j);
    code = code ? code : sy_generator_data(graph, 4e6 * scale, "likelihood%u", j);
    code = code ? code : sy_generator_data(graph, 3e6, "calls%u", j);
    accesses[chunks] = (struct sy_access){at, SY_WRITE};
    accesses[chunks + 1] = (struct sy_access){0, 0};
    code = code ? code : sy_generator_task(graph, DEDUP, scale, accesses, "dedup(%u)", j);
    code = code ? code
                : sy_generator_task(graph, PAIRHMM, scale,
                                    (struct sy_access[]){{at, SY_READ}, {at + 1, SY_WRITE}, {0, 0}},
                                    "pairhmm(%u)", j);
    return code ? code
                : sy_generator_task(
                      graph, CALL, scale,
                      (struct sy_access[]){
                          {at, SY_READ}, {at + 1, SY_READ}, {at + 2, SY_WRITE}, {0, 0}},
                      "call(%u)", j);
}

static int add_merge(struct sy_graph *graph, uint32_t chunks, uint32_t regions,
                     struct sy_access *accesses) {
    uint32_t first = 4 * chunks, result = first + 3 * regions;
    for (uint32_t j = 0; j < regions; j++) {
        accesses[j] = (struct sy_access){first + 3 * j + 2, SY_READ};
    }
    accesses[regions] = (struct sy_access){result, SY_WRITE};
    accesses[regions + 1] = (struct sy_access){0, 0};
    int code = sy_generator_data(graph, 5e6, "variants");
    return code ? code : sy_generator_task(graph, MERGE, 1, accesses, "merge");
}

static int genomics(struct sy_graph *graph, const double *values) {
    uint32_t chunks = (uint32_t)values[0], regions = (uint32_t)values[1];
    struct sy_rng rng = sy_rng_make((uint64_t)values[2], PURPOSE_GENOMICS, 0);
    uint32_t most = chunks > regions ? chunks : regions;
    struct sy_access *accesses = malloc(((size_t)most + 2) * sizeof *accesses);
    int code = accesses ? sy_generator_kernels(graph, genomics_kernels, SY_COUNT(genomics_kernels))
                        : -ENOMEM;
    for (uint32_t i = 0; !code && i < chunks; i++) {
        code = add_chunk(graph, i, regions, &rng);
    }
    for (uint32_t i = 0; !code && i < chunks; i++) {
        accesses[i] = (struct sy_access){4 * i + 3, SY_READ};
    }
    for (uint32_t j = 0; !code && j < regions; j++) {
        code = add_region(graph, j, chunks, accesses, &rng);
    }
    code = code ? code : add_merge(graph, chunks, regions, accesses);
    free(accesses);
    return code;
}

static double genomics_size(const double *values) {
    return 9 * values[0] + (10 + values[0]) * values[1];
}

/* --- graph neural network ------------------------------------------------------------------------
 */

/* Batch b: adjacency, then features and aggregate of each layer, then the result. */
static int gnn_batch(struct sy_graph *graph, uint32_t b, const double *values) {
    uint32_t layers = (uint32_t)values[1], at = graph->data_count;
    double vertices = values[2], edges = vertices * values[3], features = values[4];
    double bytes = 4 * vertices * features;
    int code = sy_generator_data(graph, 8 * edges, "adjacency%u", b);
    code = code ? code : sy_generator_data(graph, bytes, "features(%u,0)", b);
    for (uint32_t l = 0; !code && l < layers; l++) {
        uint32_t input = at + 1 + 2 * l;
        code = sy_generator_data(graph, bytes, "aggregate(%u,%u)", b, l);
        code = code ? code : sy_generator_data(graph, bytes, "features(%u,%u)", b, l + 1);
        code = code ? code
                    : sy_generator_task(
                          graph, 0, 2 * edges * features,
                          (struct sy_access[]){
                              {at, SY_READ}, {input, SY_READ}, {input + 1, SY_WRITE}, {0, 0}},
                          "spmm(%u,%u)", b, l);
        code = code ? code
                    : sy_generator_task(
                          graph, 1, 2 * vertices * features * features,
                          (struct sy_access[]){
                              {input + 1, SY_READ}, {l, SY_READ}, {input + 2, SY_WRITE}, {0, 0}},
                          "gemm(%u,%u)", b, l);
    }
    return code;
}

static int gnn(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"spmm", NULL, 0.25, 0.012, 0.009, 0.1, 14e9, 1e9, 4e9},
        {"gemm", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9}};
    int code = sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    for (uint32_t l = 0; !code && l < (uint32_t)values[1]; l++) {
        code = sy_generator_data(graph, 4 * values[4] * values[4], "weights%u", l);
    }
    for (uint32_t b = 0; !code && b < (uint32_t)values[0]; b++) {
        code = gnn_batch(graph, b, values);
    }
    return code;
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
static int transformer_window(struct sy_graph *graph, const struct transformer *shape, uint32_t l,
                              uint32_t w, uint32_t weights, uint32_t qkv, uint32_t context) {
    double t = shape->tokens, d = shape->width;
    struct sy_access attends[4] = {{qkv + w, SY_READ}, {context + w, SY_WRITE}};
    if (w) {
        attends[2] = (struct sy_access){qkv + w - 1, SY_READ};
    }
    int code =
        sy_generator_task(graph, ATTENTION, 8 * t * t * d, attends, "attention(%u,%u)", l, w);
    code = code ? code
                : sy_generator_task(
                      graph, PROJECTION, 2 * t * d * d,
                      (struct sy_access[]){
                          {context + w, SY_READ}, {weights, SY_READ}, {w, SY_READ_WRITE}, {0, 0}},
                      "projection(%u,%u)", l, w);
    return code ? code
                : sy_generator_task(
                      graph, FFN, 16 * t * d * d,
                      (struct sy_access[]){{weights, SY_READ}, {w, SY_READ_WRITE}, {0, 0}},
                      "ffn(%u,%u)", l, w);
}

/* Data: the tokens of each window come first, and each layer brings weights, qkv and contexts. */
static int transformer_layer(struct sy_graph *graph, const struct transformer *shape, uint32_t l) {
    double t = shape->tokens, d = shape->width;
    uint32_t weights = graph->data_count, qkv = weights + 1, context = qkv + shape->windows;
    int code = sy_generator_data(graph, 2 * 12 * d * d, "weights%u", l);
    for (uint32_t w = 0; !code && w < shape->windows; w++) {
        code = sy_generator_data(graph, 2 * 3 * t * d, "qkv(%u,%u)", l, w);
    }
    for (uint32_t w = 0; !code && w < shape->windows; w++) {
        code = sy_generator_data(graph, 2 * t * d, "context(%u,%u)", l, w);
    }
    for (uint32_t w = 0; !code && w < shape->windows; w++) {
        code = sy_generator_task(
            graph, QKV, 6 * t * d * d,
            (struct sy_access[]){{w, SY_READ}, {weights, SY_READ}, {qkv + w, SY_WRITE}, {0, 0}},
            "qkv(%u,%u)", l, w);
    }
    for (uint32_t w = 0; !code && w < shape->windows; w++) {
        code = transformer_window(graph, shape, l, w, weights, qkv, context);
    }
    return code;
}

static int transformer(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"qkv", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9},
        {"attention", NULL, 0.12, 0.004, 0.003, 0.05, 8e9, 1e9, 3e9},
        {"projection", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9},
        {"ffn", NULL, 0.05, 0.0016, 0.004, 0.03, 2e9, 0, 1e9}};
    struct transformer shape = {(uint32_t)values[1], values[2], values[3]};
    int code = sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    for (uint32_t w = 0; !code && w < shape.windows; w++) {
        code = sy_generator_data(graph, 2 * shape.tokens * shape.width, "tokens%u", w);
    }
    for (uint32_t l = 0; !code && l < (uint32_t)values[0]; l++) {
        code = transformer_layer(graph, &shape, l);
    }
    return code;
}

static double transformer_size(const double *values) {
    return 16 * values[0] * values[1];
}

const struct sy_generator sy_generators_pipelines[] = {
    {"genomics",
     "genomics:CHUNKS[,regions=12,seed=1]  variant calling: map, shuffle, map",
     {{"chunks", 8, 1, 1e5, SY_WHOLE},
      {"regions", 12, 1, 1e5, SY_WHOLE},
      {"seed", 1, 0, 9007199254740992.0, SY_WHOLE}},
     genomics_size,
     genomics},
    {"gnn",
     "gnn:BATCHES[,layers=2,vertices=20000,degree=16,features=256]  graph convolutions, a chain "
     "of spmm and gemm per batch",
     {{"batches", 8, 1, 1e6, SY_WHOLE},
      {"layers", 2, 1, 1000, SY_WHOLE},
      {"vertices", 20000, 1, 1e9, SY_WHOLE},
      {"degree", 16, 0, 1e6, SY_REAL},
      {"features", 256, 1, 1e5, SY_WHOLE}},
     gnn_size,
     gnn},
    {"transformer",
     "transformer:LAYERS[,windows=8,tokens=512,width=1024]  layers of window attention",
     {{"layers", 4, 1, 1e5, SY_WHOLE},
      {"windows", 8, 1, 1e5, SY_WHOLE},
      {"tokens", 512, 1, 1e6, SY_WHOLE},
      {"width", 1024, 1, 1e6, SY_WHOLE}},
     transformer_size,
     transformer},
    {.name = NULL},
};
