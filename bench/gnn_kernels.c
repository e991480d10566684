/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of gnn on graphs like those of public data sets: every variant in C on one core, and on a
 * CUDA device ours beside cuSPARSE's, whose results are compared with C's. JSON.
 *
 *   gnn_kernels [--check | --features] [EXAMPLE[+EXAMPLE...] [SCALE [SECONDS]]]
 *
 * arxiv+products-tenth+reddit-tenth unless told; SECONDS for each variant in C, 0.3. Where a kernel
 * is large C does some of its rows only, and these are compared. --check: small graphs of all
 * kinds, on the device, no times; exit 77 where there is none. --features: the examples as the
 * texts of the pipelines have them. Exit 1: results differ. gbytes_per_s counts what is gathered,
 * whether from a cache or not.
 */
#include "clock.h"
#include "gnn/graph.h"
#ifdef GUEST_CUDA
#include "gnn/cuda_part.h"
#endif
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUDA_RUNS = 10 };
#define PART_FLOPS 4e8 /* of what C does in one go, about */
#define CLOSE      1e-4

struct bench {
    struct gnn_recipe recipe;
    uint32_t *blob;
    float *x, *k, *weights, *result, *found; /* x: nodes x the largest width */
    uint64_t x_count, result_count;
    double seconds;
    bool check, differ;
#ifdef GUEST_CUDA
    struct sy_call call;
    char message[SY_CALL_MESSAGE_MAX];
    void *there[5]; /* blob, x, k, weights, result */
    bool device;
#endif
};

static float *noise(uint64_t stream, uint64_t count) {
    float *values = malloc(sizeof(float) * (count ? count : 1));
    for (uint64_t i = 0; values && i < count; i++) {
        values[i] = (float)(2 * guest_noise(stream, i) - 1);
    }
    return values;
}

/* --- one kernel ------------------------------------------------------------------------------- */

static double flops_of(const struct gnn_task *task) {
    if (gnn_is_dense(task->kernel)) {
        return (task->kernel == GNN_GEMM2 ? 4.0 : 2.0) * task->rows * task->inner * task->columns;
    }
    return task->kernel == GNN_EDGE_SOFTMAX ? 10.0 * task->edges
                                            : 2.0 * task->edges * task->columns;
}

static double bytes_of(const struct gnn_task *task) {
    if (gnn_is_dense(task->kernel)) {
        return 4.0 * ((double)task->rows * (task->inner + task->columns) +
                      (double)task->inner * task->columns);
    }
    return task->kernel == GNN_EDGE_SOFTMAX
               ? 8.0 * task->edges
               : 8.0 * task->edges + 4.0 * task->edges * task->columns +
                     4.0 * task->rows * task->columns;
}

static void say(const char *what, const struct gnn_task *task, double share, double ns) {
    printf(", \"%s_gflops\": %.3f, \"%s_gbytes_per_s\": %.3f", what, share * flops_of(task) / ns,
           what, share * bytes_of(task) / ns);
}

/* The share of the task that rows [0, end) are. */
static double share_of(const struct gnn_task *task) {
    return gnn_is_dense(task->kernel)
               ? (double)task->end / task->rows
               : (double)task->graph.offsets[task->end] / task->graph.offsets[task->rows];
}

static void time_c(struct bench *bench, struct gnn_task *task) {
    double asking = clock_ns();
    double part = fmin(1, PART_FLOPS / flops_of(task));
    task->end = bench->check ? task->rows : (uint32_t)fmax(1, ceil(task->rows * part));
    for (int level = 0; level <= (int)guest_simd_of_processor(); level++) {
        double best = 1e300, spent = 0;
        for (int turn = 0; turn < (bench->check ? 1 : 2) || spent < 1e9 * bench->seconds; turn++) {
            double from = now_ns();
            bench->differ |= gnn_run_c(task, (enum guest_simd)level) != 0;
            double took = now_ns() - from - asking;
            best = fmin(best, took);
            spent += took;
        }
        if (!bench->check) {
            say(guest_simd_name((enum guest_simd)level), task, share_of(task), best);
            fflush(stdout);
        }
    }
}

#ifdef GUEST_CUDA
static int failed(struct bench *bench, const char *what, cudaError_t status) {
    if (status != cudaSuccess) {
        fprintf(stderr, "gnn_kernels: %s: %s\n", what, cudaGetErrorString(status));
        bench->differ = true;
    }
    return status != cudaSuccess;
}

/* Largest error over the largest value of what C has done. */
static double compare(struct bench *bench, const struct gnn_task *task) {
    bool edges = task->kernel == GNN_SDDMM || task->kernel == GNN_EDGE_SOFTMAX;
    uint64_t count = edges ? task->graph.offsets[task->end] : (uint64_t)task->end * task->columns;
    double most = 0, worst = 0;
    if (failed(bench, "cudaMemcpy",
               cudaMemcpy(bench->found, bench->there[4], sizeof(float) * count,
                          cudaMemcpyDeviceToHost))) {
        return (double)INFINITY;
    }
    for (uint64_t i = 0; i < count; i++) {
        double difference = fabs((double)bench->found[i] - (double)bench->result[i]);
        most = fmax(most, fabs((double)bench->result[i]));
        worst = isnan(difference) ? (double)INFINITY : fmax(worst, difference);
    }
    return most > 0 ? worst / most : worst;
}

/* Pointers of host memory become those of the device. */
static struct gnn_task task_there(const struct bench *bench, const struct gnn_task *task) {
    struct gnn_task there = *task;
    const float *const here[] = {bench->x, bench->k, bench->weights};
    there.end = task->rows;
    there.graph = gnn_graph_of(bench->there[0], task->rows, task->edges);
    there.result = bench->there[4];
    for (uint32_t i = 0; i < GNN_READ_MAX; i++) {
        for (uint32_t j = 0; j < 3; j++) {
            there.reads[i] = task->reads[i] == here[j] ? bench->there[1 + j] : there.reads[i];
        }
    }
    return there;
}

static void time_cuda(struct bench *bench, const struct gnn_task *task, const char *what,
                      int (*run)(const struct sy_call *, const struct gnn_task *)) {
    struct gnn_task there = task_there(bench, task);
    cudaEvent_t begin = NULL, end = NULL;
    float ms = 0;
    int code = 0;
    cudaMemset(bench->there[4], 0xff, sizeof(float) * bench->result_count);
    code = run(&bench->call, &there);
    if (code || failed(bench, what, cudaDeviceSynchronize())) {
        if (code != -ENOTSUP) {
            fprintf(stderr, "gnn_kernels: %s: %s\n", what, bench->message);
            bench->differ = true;
        }
        return;
    }
    double error = compare(bench, task);
    bench->differ |= !(error <= CLOSE);
    printf(", \"%s_error\": %.2e", what, error);
    if (bench->check) {
        return;
    }
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin, bench->call.queue);
    for (int i = 0; i < CUDA_RUNS && !code; i++) {
        code = run(&bench->call, &there);
    }
    cudaEventRecord(end, bench->call.queue);
    failed(bench, what, cudaDeviceSynchronize());
    cudaEventElapsedTime(&ms, begin, end);
    say(what, task, 1, (double)ms * 1e6 / CUDA_RUNS);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
}
#endif

static void run_kernel(struct bench *bench, struct gnn_task *task) {
    printf("  {\"example\": \"%s\", \"kernel\": \"%s\", \"rows\": %u, \"edges\": %u, "
           "\"inner\": %u, \"columns\": %u",
           bench->recipe.shape.name, gnn_names[task->kernel], task->rows, task->edges, task->inner,
           task->columns);
    time_c(bench, task);
#ifdef GUEST_CUDA
    if (bench->device && (task->kernel == GNN_SPMM || task->kernel == GNN_SPMM_WEIGHTED)) {
        time_cuda(bench, task, "cuda_own", gnn_cuda.run_own);
        time_cuda(bench, task, "cusparse", gnn_cuda.run_library);
    } else if (bench->device) {
        time_cuda(bench, task, "cuda", gnn_cuda.run);
    }
#endif
    printf("},\n");
    fflush(stdout);
}

/* --- one graph -------------------------------------------------------------------------------- */

static void run_widths(struct bench *bench) {
    const struct gnn_shape *shape = &bench->recipe.shape;
    const uint32_t widths[] = {shape->width, shape->hidden, shape->classes};
    static const enum gnn_kernel sparse[] = {GNN_SPMM, GNN_SPMM_WEIGHTED, GNN_SDDMM};
    for (uint32_t w = 0; w < GUEST_COUNT(widths); w++) {
        for (uint32_t i = 0; i < GUEST_COUNT(sparse); i++) {
            if (w > 0 && widths[w] == widths[w - 1]) {
                continue;
            }
            struct gnn_task task = {.kernel = sparse[i],
                                    .rows = shape->nodes,
                                    .edges = shape->edges,
                                    .columns = widths[w],
                                    .scale = 0.5f,
                                    .graph = gnn_graph_of(bench->blob, shape->nodes, shape->edges),
                                    .reads = {bench->x, bench->k},
                                    .result = bench->result};
            task.reads[1] = sparse[i] == GNN_SPMM_WEIGHTED ? bench->weights : bench->k;
            task.activation = bench->check ? (enum gnn_activation)(w % 3) : GNN_RELU;
            task.self = i == 1 ? 1.5f : 0;
            task.mean = w == 1;
            run_kernel(bench, &task);
        }
    }
    struct gnn_task softmax = {.kernel = GNN_EDGE_SOFTMAX,
                               .rows = shape->nodes,
                               .edges = shape->edges,
                               .columns = 1,
                               .graph = gnn_graph_of(bench->blob, shape->nodes, shape->edges),
                               .reads = {bench->weights},
                               .result = bench->result};
    run_kernel(bench, &softmax);
    for (uint32_t i = 0; i < 3; i++) {
        struct gnn_task dense = {.kernel = (enum gnn_kernel)i,
                                 .rows = shape->nodes,
                                 .inner = i == 0 ? shape->width : shape->hidden,
                                 .columns = i == 1 ? shape->hidden : shape->classes,
                                 .activation = bench->check ? (enum gnn_activation)i : GNN_RELU,
                                 .reads = {bench->x, bench->k, bench->x, bench->k},
                                 .result = bench->result};
        run_kernel(bench, &dense);
    }
}

/* All but the result goes to the device, where there is one. */
static int upload(struct bench *bench, const struct gnn_shape *shape) {
#ifdef GUEST_CUDA
    const void *const from[] = {bench->blob, bench->x, bench->k, bench->weights, NULL};
    const uint64_t bytes[] = {gnn_graph_bytes(shape->nodes, shape->edges), 4 * bench->x_count,
                              4 * bench->x_count, 4 * (uint64_t)shape->edges,
                              4 * bench->result_count};
    for (int i = 0; bench->device && i < 5; i++) {
        if (failed(bench, "cudaMalloc", cudaMalloc(&bench->there[i], bytes[i])) ||
            (from[i] &&
             failed(bench, "cudaMemcpy",
                    cudaMemcpy(bench->there[i], from[i], bytes[i], cudaMemcpyHostToDevice)))) {
            return -1;
        }
    }
#else
    (void)bench;
    (void)shape;
#endif
    return 0;
}

static int open_graph(struct bench *bench, const struct gnn_shape *shape) {
    uint64_t widest = shape->width > shape->hidden ? shape->width : shape->hidden;
    widest = shape->classes > widest ? shape->classes : widest;
    if (gnn_recipe_init(shape, &bench->recipe)) {
        return -1;
    }
    bench->x_count = shape->nodes * widest + widest * widest;
    bench->result_count = bench->x_count > shape->edges ? bench->x_count : (uint64_t)shape->edges;
    bench->blob = malloc(gnn_graph_bytes(shape->nodes, shape->edges));
    bench->x = noise(1, bench->x_count);
    bench->k = noise(2, bench->x_count);
    bench->weights = noise(3, shape->edges);
    bench->result = calloc(bench->result_count, sizeof(float));
    bench->found = calloc(bench->result_count, sizeof(float));
    if (!bench->blob || !bench->x || !bench->k || !bench->weights || !bench->result ||
        !bench->found) {
        return -1;
    }
    gnn_recipe_write(&bench->recipe, true, bench->blob);
    return upload(bench, shape);
}

static void close_graph(struct bench *bench) {
    gnn_recipe_finish(&bench->recipe);
    free(bench->blob);
    free(bench->x);
    free(bench->k);
    free(bench->weights);
    free(bench->result);
    free(bench->found);
#ifdef GUEST_CUDA
    for (int i = 0; i < 5; i++) {
        cudaFree(bench->there[i]);
        bench->there[i] = NULL;
    }
#endif
}

static int run_graph(struct bench *bench, const struct gnn_shape *shape) {
    int code = open_graph(bench, shape);
    if (code == 0) {
        run_widths(bench);
    } else {
        fprintf(stderr, "gnn_kernels: %s: no memory\n", shape->name);
    }
    close_graph(bench);
    return code;
}

/* --- which graphs ----------------------------------------------------------------------------- */

static int run_examples(struct bench *bench, const char *names, double scale) {
    int code = 0;
    for (const char *at = names; *at && code == 0; at += *at == '+') {
        size_t length = strcspn(at, "+");
        bool known = false;
        for (uint32_t i = 0; i < gnn_shape_count; i++) {
            const char *name = gnn_shapes[i].name;
            if (strlen(name) == length && strncmp(name, at, length) == 0) {
                struct gnn_shape shape = gnn_shape_scale(&gnn_shapes[i], scale);
                known = true;
                code = run_graph(bench, &shape);
            }
        }
        if (!known) {
            fprintf(stderr, "gnn_kernels: no example %.*s\n", (int)length, at);
            return -1;
        }
        at += length;
    }
    return code;
}

/* Rows that are cut, widths that are odd or short, sizes around those of blocks. */
static int run_checks(struct bench *bench) {
    static const struct gnn_shape shapes[] = {
        {"check-even", "", 1000, 16000, 128, 64, 40, 0, 16, 0.5, 1},
        {"check-hubs", "", 20000, 200000, 100, 32, 7, 8, 20000, 0, 2},
        {"check-odd", "", 777, 7001, 301, 33, 1, 2, 700, 0.2, 3},
        {"check-dense", "", 1500, 600000, 18, 6, 2, 0.5, 1400, 0, 4},
        {"check-one", "", 1, 1, 5, 4, 3, 0, 1, 0, 5},
        {"check-star", "", 9000, 18000, 64, 16, 8, 60, 9000, 0, 6},
    };
    int code = 0;
    for (uint32_t i = 0; i < GUEST_COUNT(shapes) && code == 0; i++) {
        code = run_graph(bench, &shapes[i]);
    }
    return code;
}

static int print_features(void) {
    printf(" \"examples\": [\n");
    for (uint32_t i = 0; i < gnn_shape_count; i++) {
        struct gnn_recipe recipe;
        double f[GNN_FEATURE_COUNT];
        if (gnn_recipe_init(&gnn_shapes[i], &recipe) || gnn_recipe_features(&recipe, f)) {
            return 1;
        }
        printf("  {\"name\": \"%s\", \"about\": \"%s\",\n"
               "   \"values\": {\"nodes\": %.0f, \"edges\": %.0f, \"width\": %.0f, \"hidden\": "
               "%.0f, \"classes\": %.0f,\n"
               "              \"degree_cv\": %.4f, \"degree_max\": %.0f, \"reuse\": %.4f}}%s\n",
               recipe.shape.name, recipe.shape.about, f[GNN_NODES], f[GNN_EDGES], f[GNN_WIDTH],
               f[GNN_HIDDEN], f[GNN_CLASSES], f[GNN_DEGREE_CV], f[GNN_DEGREE_MAX], f[GNN_REUSE],
               i + 1 < gnn_shape_count ? "," : "");
        gnn_recipe_finish(&recipe);
    }
    printf(" ]\n");
    return 0;
}

/* "": no device. */
static const char *open_device(struct bench *bench, char *name, size_t bytes) {
#ifdef GUEST_CUDA
    struct cudaDeviceProp properties;
    cudaStream_t stream = NULL;
    if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess &&
        cudaStreamCreate(&stream) == cudaSuccess) {
        bench->call = (struct sy_call){.queue = stream, .message = bench->message};
        bench->device = gnn_cuda.prepare(&bench->call) == 0;
        snprintf(name, bytes, "%s", bench->device ? properties.name : "");
    }
    if (bench->message[0]) {
        fprintf(stderr, "gnn_kernels: %s\n", bench->message);
    }
#else
    (void)bench;
    (void)bytes;
#endif
    return name;
}

int main(int argc, char **argv) {
    struct bench bench = {.seconds = 0.3};
    char name[300] = "";
    if (argc > 1 && strcmp(argv[1], "--features") == 0) {
        return print_features();
    }
    bench.check = argc > 1 && strcmp(argv[1], "--check") == 0;
    argc -= bench.check;
    argv += bench.check;
    double scale = argc > 2 ? strtod(argv[2], NULL) : 1;
    bench.seconds = bench.check ? 0 : argc > 3 ? strtod(argv[3], NULL) : bench.seconds;
    const char *device = open_device(&bench, name, sizeof(name));
    if (bench.check && !*device) {
        printf("no CUDA device: nothing to compare\n");
        return 77;
    }
    printf("{\"schema\": \"symph-bench-gnn-kernels/1\", \"level\": \"%s\", \"device\": \"%s\", "
           "\"rows\": [\n",
           guest_simd_name(guest_simd_of_processor()), device);
    int code =
        bench.check && argc < 2
            ? run_checks(&bench)
            : run_examples(&bench, argc > 1 ? argv[1] : "arxiv+products-tenth+reddit-tenth", scale);
    printf("  {}], \"same\": %s}\n", bench.differ ? "false" : "true");
    return code || bench.differ;
}
