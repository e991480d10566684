/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline of the test plug-in faulty: x -> plus -> rows -> plus, where plus also has an
 * OpenCL variant. Each kernel adds 1 or 2; inputs differ in size. wrong: this item's result is said
 * to be so.
 *
 * "items=20,inputs=3,elements=1000,wrong=7"
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "faulty.h"
#include <CL/cl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICE_MAX 64

struct line {
    unsigned items, inputs, elements, wrong;
};

static const char text[] =
    "{\"schema\":\"symph-pipeline-1\",\"name\":\"line\",\"about\":\"three steps\","
    "\"features\":[{\"name\":\"n\",\"about\":\"elements\",\"low\":1,\"high\":1e9}],"
    "\"data\":[{\"name\":\"x\",\"role\":\"input\",\"bytes\":\"4*n\"},"
    "{\"name\":\"a\",\"role\":\"between\",\"bytes\":\"4*n\"},"
    "{\"name\":\"b\",\"role\":\"between\",\"bytes\":\"4*n\"},"
    "{\"name\":\"z\",\"role\":\"output\",\"bytes\":\"4*n\"}],"
    "\"kernels\":["
    "{\"name\":\"first\",\"kernel\":\"plus\",\"reads\":[\"x\"],\"writes\":[\"a\"],"
    "\"parameters\":[\"n\"],\"cost\":{\"flops\":\"n\",\"bytes\":\"8*n\"},\"split\":true},"
    "{\"name\":\"second\",\"kernel\":\"rows\",\"reads\":[\"a\"],\"writes\":[\"b\"],"
    "\"parameters\":[\"2\",\"n\"],\"cost\":{\"flops\":\"n\",\"bytes\":\"8*n\"},\"split\":true},"
    "{\"name\":\"third\",\"kernel\":\"plus\",\"reads\":[\"b\"],\"writes\":[\"z\"],"
    "\"parameters\":[\"n\"],\"cost\":{\"flops\":\"n\",\"bytes\":\"8*n\"},\"split\":true}]}";

/* --- plus ---------------------------------------------------------------------------------------
 */
static cl_kernel plus_kernels[DEVICE_MAX];

int plus_c(const struct sy_call *call) {
    const uint32_t *from = call->arguments[0].pointer;
    uint32_t *to = call->arguments[1].pointer;
    uint64_t rows = (uint64_t)call->parameters[0];
    for (uint64_t i = rows * call->part / call->part_count;
         i < rows * (call->part + 1) / call->part_count; i++) {
        to[i] = from[i] + 1;
    }
    return 0;
}

int plus_opencl(const struct sy_call *call) {
    cl_kernel kernel = plus_kernels[call->device];
    cl_mem from = call->arguments[0].pointer, to = call->arguments[1].pointer;
    size_t elements = (size_t)call->parameters[0];
    cl_int code = clSetKernelArg(kernel, 0, sizeof from, &from);
    code = code ? code : clSetKernelArg(kernel, 1, sizeof to, &to);
    if (!code) {
        code = clEnqueueNDRangeKernel(call->queue, kernel, 1, NULL, &elements, NULL, 0, NULL, NULL);
    }
    return code ? -EIO : 0;
}

int plus_prepare(const struct sy_call *call) {
    static const char *const source = "__kernel void plus(__global const uint *a, __global uint *b)"
                                      "{ b[get_global_id(0)] = a[get_global_id(0)] + 1; }";
    cl_int code = 0;
    cl_device_id device = call->opencl_device;
    if (call->flavour != SY_FLAVOUR_OPENCL || call->device >= DEVICE_MAX) {
        return call->flavour == SY_FLAVOUR_OPENCL ? -ENODEV : 0;
    }
    cl_program program =
        clCreateProgramWithSource(call->context, 1, (const char **)&source, NULL, &code);
    code = code ? code : clBuildProgram(program, 1, &device, "", NULL, NULL);
    if (!code) {
        plus_kernels[call->device] = clCreateKernel(program, "plus", &code);
    }
    return code ? -EIO : 0;
}

/* --- the stream ---------------------------------------------------------------------------------
 */
static int line_open(const char *arguments, void **ret_state, struct sy_error *error) {
    struct line line = {.items = 20, .inputs = 3, .elements = 1000, .wrong = UINT32_MAX};
    while (*arguments) {
        int used = 0;
        if (sscanf(arguments, "items=%u%n", &line.items, &used) != 1 &&
            sscanf(arguments, "inputs=%u%n", &line.inputs, &used) != 1 &&
            sscanf(arguments, "elements=%u%n", &line.elements, &used) != 1 &&
            sscanf(arguments, "wrong=%u%n", &line.wrong, &used) != 1) {
            snprintf(error->message, sizeof error->message, "line: '%s' is not known", arguments);
            return -EINVAL;
        }
        arguments += used + (arguments[used] == ',');
    }
    struct line *state = malloc(sizeof *state);
    if (!state) {
        return -ENOMEM;
    }
    *state = line;
    *ret_state = state;
    return 0;
}

static uint64_t size_of(const struct line *line, uint64_t item) {
    return line->elements * (1 + item % line->inputs);
}

static int line_next(void *state, uint64_t item, double *ret_values, uint64_t *ret_input) {
    const struct line *line = state;
    ret_values[0] = (double)size_of(line, item);
    *ret_input = item % line->inputs;
    return item < line->items;
}

static int line_fill(void *state, uint64_t item, uint32_t datum, void *pointer, uint64_t bytes) {
    const struct line *line = state;
    uint32_t *values = pointer;
    if (datum != 0 || bytes != 4 * size_of(line, item)) {
        return -EINVAL;
    }
    for (uint64_t i = 0; i < bytes / 4; i++) {
        values[i] = (uint32_t)(i * 7 + item % line->inputs);
    }
    return 0;
}

static int line_check(void *state, uint64_t item, void *const *data, double *ret_error,
                      double *ret_tolerance, struct sy_error *error) {
    (void)error;
    const struct line *line = state;
    const uint32_t *x = data[0], *z = data[3];
    *ret_tolerance = 0;
    *ret_error = item == line->wrong ? 1 : 0;
    for (uint64_t i = 0; i < size_of(line, item); i++) {
        *ret_error = z[i] == x[i] + 4 ? *ret_error : 2;
    }
    return 0;
}

const struct sy_kernel_pipeline line_pipeline = {.name = "line",
                                                 .summary = "three steps",
                                                 .usage = "[items=N][,inputs=N][,elements=N]",
                                                 .text = text,
                                                 .open = line_open,
                                                 .next = line_next,
                                                 .fill = line_fill,
                                                 .check = line_check,
                                                 .close = free};
