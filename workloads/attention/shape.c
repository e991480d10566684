/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call asks for: its parameters, checked against each other and its arguments' sizes.
 */
#include "attention/attention.h"
#include <errno.h>
#include <math.h>

const char *const attn_names[ATTN_KERNEL_COUNT] = {"window_scores", "window_softmax", "window_mix",
                                                   "window_attention"};

enum { LENGTH, WINDOW, BATCH, MODEL, HEADS, PARAMETER_COUNT };

static int check_sizes(const struct sy_call *call, enum attn_kernel kernel,
                       const struct attn_shape *shape) {
    double rows = 4 * (double)shape->rows, slots = rows * shape->heads * shape->slots;
    double qkv = 3 * rows * shape->model, mixed = rows * shape->model;
    const double needs[ATTN_KERNEL_COUNT][3] = {
        {qkv, slots, 0}, {slots, slots, 0}, {slots, qkv, mixed}, {qkv, mixed, 0}};
    uint32_t count = kernel == ATTN_MIX ? 3 : 2;
    if (call->argument_count != count) {
        return guest_call_fail(call, -EINVAL, "%s: %u arguments instead of %u", attn_names[kernel],
                               call->argument_count, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if ((double)call->arguments[i].bytes < needs[kernel][i]) {
            return guest_call_fail(call, -EINVAL, "%s: argument %u has %llu bytes, not %.0f",
                                   attn_names[kernel], i,
                                   (unsigned long long)call->arguments[i].bytes, needs[kernel][i]);
        }
    }
    return 0;
}

int attn_shape_of(const struct sy_call *call, enum attn_kernel kernel,
                  struct attn_shape *ret_shape) {
    static const char *const words[PARAMETER_COUNT] = {"length", "window", "batch", "model",
                                                       "heads"};
    const double *given = call->parameters;
    if (call->parameter_count != PARAMETER_COUNT) {
        return guest_call_fail(call, -EINVAL,
                               "%s: its parameters are length, window, batch, model, heads",
                               attn_names[kernel]);
    }
    for (uint32_t i = 0; i < PARAMETER_COUNT; i++) {
        if (!(given[i] >= 1 && given[i] <= 1 << 24) || given[i] != floor(given[i])) {
            return guest_call_fail(call, -EINVAL, "%s: %s=%g: a whole number from 1 to 2^24",
                                   attn_names[kernel], words[i], given[i]);
        }
    }
    struct attn_shape shape = {.length = (uint32_t)given[LENGTH],
                               .window = (uint32_t)given[WINDOW],
                               .batch = (uint32_t)given[BATCH],
                               .model = (uint32_t)given[MODEL],
                               .heads = (uint32_t)given[HEADS]};
    shape.width = shape.model / shape.heads;
    shape.half = shape.window / 2;
    shape.slots = shape.window + 1;
    shape.rows = (uint64_t)shape.batch * shape.length;
    if (shape.window % 2 || shape.model % shape.heads || shape.width > ATTN_WIDTH_MAX) {
        return guest_call_fail(call, -EINVAL,
                               "%s: window=%u must be even, model=%u a multiple of heads=%u and at "
                               "most %u times it",
                               attn_names[kernel], shape.window, shape.model, shape.heads,
                               ATTN_WIDTH_MAX);
    }
    int code = check_sizes(call, kernel, &shape);
    if (code == 0) {
        *ret_shape = shape;
    }
    return code;
}
