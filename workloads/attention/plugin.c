/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of attention.so: kernels by flavour, and the pipelines made of them.
 *
 * In: calls. Out: calls of the flavour's part with sizes checked. CUDA lives in a part that is
 * loaded when such a device is prepared. Dense products are gnn's.
 */
#include "attention/attention.h"
#include <errno.h>
#include <math.h>

static const struct sy_kernel_entry kernels[ATTN_KERNEL_COUNT];

static enum attn_kernel kernel_of(const struct sy_call *call) {
    return (enum attn_kernel)(call->entry - kernels);
}

static int run_c(enum attn_kernel kernel, const struct attn_shape *shape,
                 const struct sy_call *call) {
    const struct sy_argument *arguments = call->arguments;
    uint64_t part = call->part, parts = call->part_count > 1 ? call->part_count : 1;
    attn_run(kernel, shape, arguments[0].pointer, arguments[1].pointer,
             arguments[call->argument_count - 1].pointer, shape->rows * part / parts,
             shape->rows * (part + 1) / parts, guest_simd());
    return 0;
}

static const struct attn_device_part cores = {NULL, run_c};

/* Loaded at most once; each holds nothing but an atomic pointer. */
static struct guest_part flavours[SY_FLAVOUR_COUNT] = {
    [SY_FLAVOUR_C] = {NULL, NULL, &cores},
    [SY_FLAVOUR_CUDA] = {ATTN_CUDA_FILE, ATTN_CUDA_SYMBOL, NULL},
};

static int run(const struct sy_call *call) {
    const void *part = NULL;
    struct attn_shape shape;
    int code = attn_shape_of(call, kernel_of(call), &shape);
    code = code ? code : guest_part_load(flavours, call, &part);
    return code ? code
                : ((const struct attn_device_part *)part)->run(kernel_of(call), &shape, call);
}

static int prepare(const struct sy_call *call) {
    return guest_part_prepare(flavours, call);
}

static double model_ns(const struct sy_call *call) {
    enum attn_kernel kernel = kernel_of(call);
    struct attn_shape shape;
    return attn_shape_of(call, kernel, &shape) ? NAN : attn_fpga_model_ns(kernel, &shape);
}

/* Without parameters there is nothing but sizes. */
static void features(const struct sy_call *call, struct sy_cost_features *ret_features) {
    enum attn_kernel kernel = kernel_of(call);
    struct attn_shape shape;
    double bytes = 0, flops = call->work;
    for (uint32_t i = 0; i < call->argument_count; i++) {
        bytes += (double)call->arguments[i].bytes;
    }
    if (attn_shape_of(call, kernel, &shape) == 0) {
        double pairs = (double)shape.rows * fmin(shape.slots, shape.length);
        flops = kernel == ATTN_SOFTMAX     ? 16 * pairs * shape.heads
                : kernel == ATTN_ATTENTION ? 4 * pairs * (shape.model + 4.0 * shape.heads)
                                           : 2 * pairs * shape.model;
    }
    *ret_features = (struct sy_cost_features){flops, bytes};
}

#define R SY_READ
#define W SY_WRITE
#define ENTRY(title, about, count, ...)                                                            \
    {                                                                                              \
        .name = title, .summary = about, .argument_count = count, .modes = {__VA_ARGS__},          \
        .functions = {run, GUEST_IF_CUDA(run)}, .features = features, .fpga_model_ns = model_ns,   \
        .prepare = prepare                                                                         \
    }

static const struct sy_kernel_entry kernels[ATTN_KERNEL_COUNT] = {
    ENTRY("window_scores", "queries times keys in a window", 2, R, W),
    ENTRY("window_softmax", "softmax of a window's scores", 2, R, W),
    ENTRY("window_mix", "values in a window, by probability", 3, R, R, W),
    ENTRY("window_attention", "attention in a window; no scores are stored", 2, R, W),
};

#define PIPELINE(title, about, words)                                                              \
    {                                                                                              \
        .name = title, .summary = about, .usage = ATTN_STREAM_USAGE, .open = attn_stream_open,     \
        .next = attn_stream_next, .fill = attn_stream_fill, .check = attn_stream_check,            \
        .close = attn_stream_close, .text = words                                                  \
    }

static const struct sy_kernel_pipeline pipelines[] = {
    PIPELINE("block", "a transformer block with attention in a window", attn_block_text),
    PIPELINE("fused", "the same block; scores are never stored", attn_fused_text),
};

static const struct sy_kernel_table table = {
    .name = "attention",
    .version = SYMPH_VERSION,
    .summary = "transformers with attention in a window",
    .kernels = kernels,
    .kernel_count = ATTN_KERNEL_COUNT,
    .pipelines = pipelines,
    .pipeline_count = GUEST_COUNT(pipelines),
};

SY_KERNEL_PLUGIN(table);
