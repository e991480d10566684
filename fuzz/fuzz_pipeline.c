/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of pipelines, and features of items, from hostile text.
 *
 * The first byte picks: P a description, V features of a fixed one. What is accepted keeps its
 * promises: kernels in an order in which they can run, positive costs for every example, a problem
 * that says where each kernel runs.
 */
#include "planner/pipeline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char fixed[] =
    "{\"schema\":\"symph-pipeline-1\",\"name\":\"p\",\"features\":["
    "{\"name\":\"nodes\",\"low\":1,\"high\":1e9},"
    "{\"name\":\"width\",\"low\":1,\"high\":4096,\"usual\":64}],"
    "\"data\":[{\"name\":\"x\",\"role\":\"input\",\"bytes\":\"4*nodes\"},"
    "{\"name\":\"y\",\"role\":\"output\",\"bytes\":\"4*nodes*width\"}],"
    "\"kernels\":[{\"name\":\"k\",\"kernel\":\"f\",\"reads\":[\"x\"],\"writes\":[\"y\"],"
    "\"cost\":{\"flops\":\"nodes\",\"bytes\":\"nodes\"}}],"
    "\"examples\":[{\"name\":\"small\",\"values\":{\"nodes\":9}}]}";

/* Every kernel's arguments are data; what it reads was written before. */
static void check_order(const struct sy_pipeline *pipeline) {
    bool *written = calloc(pipeline->datum_count, sizeof *written);
    SY_ASSERT(written);
    for (uint32_t i = 0; i < pipeline->datum_count; i++) {
        written[i] = pipeline->data[i].role == SY_PIPELINE_INPUT ||
                     pipeline->data[i].role == SY_PIPELINE_CONSTANT;
    }
    SY_ASSERT(pipeline->kernel_count >= 1 && pipeline->kernel_count <= SY_PLAN_KERNEL_MAX);
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        SY_ASSERT(strcmp(kernel->cost_names[0], "flops") == 0);
        SY_ASSERT(strcmp(kernel->cost_names[1], "bytes") == 0);
        for (uint32_t i = 0; i < kernel->argument_count; i++) {
            SY_ASSERT(kernel->arguments[i] < pipeline->datum_count);
            SY_ASSERT(written[kernel->arguments[i]] != kernel->writes[i]);
            written[kernel->arguments[i]] = true;
        }
    }
    free(written);
}

static void check_problem(const struct sy_pipeline *pipeline, const double *values) {
    static const struct sy_system system = {
        .classes = {{.name = "cpu",
                     .device_count = 5,
                     .busy_count = 1,
                     .width_max = 3,
                     .slowdown = 2,
                     .memory_bytes = INFINITY,
                     .roofline = {"cpu", 1e9, 1e9, 1e3, 5}}},
        .class_count = 1,
        .links = {[0 ... 3] = {.bytes_per_s = INFINITY}},
    };
    struct sy_store *store = sy_store_create();
    struct sy_arena *arena = sy_arena_create();
    SY_ASSERT(store && arena);
    SY_ASSERT(sy_store_set_roofline(store, &system.classes[0].roofline) == 0);
    struct sy_plan_problem problem;
    struct sy_error error = {0};
    if (sy_pipeline_problem(pipeline, values, &system, store, 1, arena, &problem, NULL, &error) ==
        0) {
        SY_ASSERT(problem.shape_count == 3); /* 1, 2 and 3 cores */
        for (uint32_t i = 0; i < problem.kernel_count * problem.shape_count; i++) {
            SY_ASSERT(problem.time_ns[i] > 0 && problem.joules[i] >= 0);
        }
    } else {
        SY_ASSERT(error.message[0]);
    }
    sy_arena_destroy(arena);
    sy_store_close(store);
}

static void check_examples(const struct sy_pipeline *pipeline) {
    double *values = calloc(pipeline->feature_count + 1, sizeof *values);
    double *numbers = calloc(pipeline->expression_count + 1, sizeof *numbers);
    SY_ASSERT(values && numbers);
    for (uint32_t i = 0; i < pipeline->example_count && i < 4; i++) {
        const struct sy_pipeline_example *example = &pipeline->examples[i];
        SY_ASSERT(sy_pipeline_values(pipeline, example->name, values, NULL) == 0);
        SY_ASSERT(memcmp(values, example->values, pipeline->feature_count * sizeof *values) == 0);
        SY_ASSERT(sy_pipeline_measure(pipeline, values, numbers, NULL) == 0);
        check_problem(pipeline, values);
    }
    free(values);
    free(numbers);
}

static void read_pipeline(const char *text, size_t length) {
    struct sy_pipeline *pipeline = NULL;
    struct sy_error error = {0};
    if (sy_pipeline_read_text("fuzz", text, length, &pipeline, &error)) {
        SY_ASSERT(!pipeline && error.message[0]);
        return;
    }
    check_order(pipeline);
    check_examples(pipeline);
    sy_pipeline_destroy(pipeline);
}

/* Not what would be the name of a file. */
static void read_values(const char *text, size_t length) {
    char *line = malloc(length + 8);
    SY_ASSERT(line);
    snprintf(line, length + 8, "small,%.*s", (int)length, text);
    if (!strchr(line, '/') && !strstr(line, ".json")) {
        struct sy_pipeline *pipeline = NULL;
        struct sy_error error = {0};
        double values[2] = {NAN, NAN};
        SY_ASSERT(sy_pipeline_read_text("", fixed, strlen(fixed), &pipeline, NULL) == 0);
        if (sy_pipeline_values(pipeline, line, values, &error)) {
            SY_ASSERT(error.message[0] && isnan(values[0]));
        } else {
            SY_ASSERT(values[0] >= 1 && values[0] <= 1e9 && values[1] >= 1 && values[1] <= 4096);
        }
        sy_pipeline_destroy(pipeline);
    }
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    if (data[0] == 'V') {
        read_values(text, size - 1);
    } else {
        read_pipeline(text, size - 1);
    }
    return 0;
}
