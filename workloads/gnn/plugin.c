/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of gnn.so: kernels by flavour, and the pipelines made of them.
 *
 * In: calls. Out: calls of the flavour's part, with sizes checked. CUDA lives in a part that is
 * loaded when such a device is prepared.
 */
#include "gat_json.h"
#include "gcn_json.h"
#include "gin_json.h"
#include "gnn/pipelines.h"
#include "sage_json.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* --- calls ------------------------------------------------------------------------------------ */

static const struct sy_kernel_entry kernels[GNN_KERNEL_COUNT];

static enum gnn_kernel kernel_of(const struct sy_call *call) {
    return (enum gnn_kernel)(call->entry - kernels);
}

static int run_c(const struct sy_call *call, const struct gnn_task *task) {
    int code = gnn_run_c(task, guest_simd());
    return code == -EINVAL && call->message && !*call->message
               ? guest_call_fail(call, code, "%s: the graph has not as many edges as it should",
                                 gnn_names[kernel_of(call)])
               : code;
}

static const struct gnn_part cores = {.run = run_c};

/* Loaded at most once; each holds nothing but an atomic pointer. */
static struct guest_part parts[SY_FLAVOUR_COUNT] = {
    [SY_FLAVOUR_C] = {NULL, NULL, &cores},
    [SY_FLAVOUR_CUDA] = {GNN_CUDA_FILE, GNN_CUDA_SYMBOL, NULL},
};

static int run(const struct sy_call *call) {
    const void *part = NULL;
    struct gnn_task task;
    int code = gnn_task_read(kernel_of(call), call, &task);
    code = code ? code : guest_part_load(parts, call, &part);
    return code ? code : ((const struct gnn_part *)part)->run(call, &task);
}

static int prepare(const struct sy_call *call) {
    return guest_part_prepare(parts, call);
}

/* Without parameters a call says nothing of its sizes: bytes and work remain. */
static void features(const struct sy_call *call, struct sy_cost_features *ret_features) {
    enum gnn_kernel kernel = kernel_of(call);
    struct gnn_task task;
    struct sy_call quiet = *call;
    double bytes = 0;
    quiet.message = NULL;
    for (uint32_t at = 0; at < call->argument_count; at++) {
        bytes += (double)call->arguments[at].bytes;
    }
    *ret_features = (struct sy_cost_features){call->work, bytes};
    if (gnn_task_read(kernel, &quiet, &task) == 0) {
        double pairs = gnn_is_dense(kernel) ? (double)task.rows * task.inner : task.edges;
        double factor = kernel == GNN_GEMM2 ? 4 : kernel == GNN_EDGE_SOFTMAX ? 10 : 2;
        ret_features->flops = factor * pairs * (kernel == GNN_EDGE_SOFTMAX ? 1 : task.columns);
    }
}

static double model_ns(const struct sy_call *call) {
    struct gnn_task task;
    struct sy_call quiet = *call;
    quiet.message = NULL;
    return gnn_task_read(kernel_of(call), &quiet, &task) ? (double)NAN : gnn_fpga_ns(&task);
}

#define R SY_READ
#define W SY_WRITE
#define ENTRY(word, what, count, ...)                                                              \
    {                                                                                              \
        .name = #word, .summary = what, .argument_count = count, .modes = {__VA_ARGS__},           \
        .functions = {run, GUEST_IF_CUDA(run), NULL}, .features = features,                        \
        .fpga_model_ns = model_ns, .prepare = prepare                                              \
    }

static const struct sy_kernel_entry kernels[GNN_KERNEL_COUNT] = {
    ENTRY(sgemm, "C = act(A B)", 3, R, R, W),
    ENTRY(sgemm_add, "C = act(A B) + R", 4, R, R, R, W),
    ENTRY(sgemm2, "C = act(A B + A2 B2)", 5, R, R, R, R, W),
    ENTRY(spmm, "sum over neighbours, with the graph's values", 3, R, R, W),
    ENTRY(spmm_weighted, "sum over neighbours, with other values", 4, R, R, R, W),
    ENTRY(sddmm, "products of the ends of each edge", 4, R, R, R, W),
    ENTRY(edge_softmax, "softmax over the edges of each node", 3, R, R, W),
};

/* --- pipelines -------------------------------------------------------------------------------- */

#define OPEN(word)                                                                                 \
    static int word##_open(const char *arguments, void **ret_state, struct sy_error *error) {      \
        return gnn_open(&gnn_##word, arguments, ret_state, error);                                 \
    }
#define PIPELINE(word, summary)                                                                    \
    {                                                                                              \
#word, summary, gnn_usage, word##_json, word##_open, gnn_next, gnn_fill, gnn_check,        \
            gnn_close                                                                              \
    }

OPEN(gcn)
OPEN(gin)
OPEN(sage)
OPEN(gat)

static const struct sy_kernel_pipeline pipelines[] = {
    PIPELINE(gcn, "graph convolution network, two layers"),
    PIPELINE(gin, "graph isomorphism network, two layers"),
    PIPELINE(sage, "GraphSAGE with means, two layers"),
    PIPELINE(gat, "dot-product attention over neighbours, two layers"),
};

static const struct sy_kernel_table table = {
    "gnn",   SYMPH_VERSION,    "graph neural networks: dense and sparse products in float32",
    kernels, GNN_KERNEL_COUNT, NULL,
    0,       pipelines,        GUEST_COUNT(pipelines)};
SY_KERNEL_PLUGIN(table);
