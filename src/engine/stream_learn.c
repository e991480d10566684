/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels took while items streamed through: the median of the last times per kernel, shape
 * and input, for the file of times.
 */
#include "engine/stream.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX  2048u
#define CELL_LAST 15u /* times that are remembered */

struct cell_key {
    uint64_t input;
    uint32_t kernel, shape;
};

struct cell {
    struct cell_key key;
    uint64_t item; /* one that has this input */
    uint32_t count;
    double time_ns[CELL_LAST];
    double *values; /* features */
};

struct stream_cells {
    struct cell *items;
    uint32_t count, capacity;
};

static struct cell *find(struct stream *stream, const struct stream_task *task) {
    const struct cell_key key = {task->item->input->number, task->kernel, task->shape};
    struct stream_cells *cells = stream->cells;
    for (uint32_t i = cells->count; i-- > 0;) { /* the newest are the likeliest */
        if (memcmp(&cells->items[i].key, &key, sizeof key) == 0) {
            return &cells->items[i];
        }
    }
    if (cells->count >= CELL_MAX ||
        sy_grow(&cells->items, &cells->capacity, cells->count + 1, sizeof *cells->items)) {
        return NULL;
    }
    uint32_t features = stream->pipeline->feature_count;
    struct cell *cell = &cells->items[cells->count];
    *cell = (struct cell){.key = key,
                          .item = task->item->number,
                          .values = sy_arena_alloc(stream->arena, features + 1, sizeof(double))};
    if (!cell->values) {
        return NULL;
    }
    memcpy(cell->values, task->item->values, features * sizeof(double));
    cells->count++;
    return cell;
}

int stream_learn(struct stream *stream, const struct stream_task *task, double time_ns) {
    if (!stream->cells) {
        stream->cells = calloc(1, sizeof *stream->cells);
    }
    struct cell *cell = stream->cells ? find(stream, task) : NULL;
    if (cell) {
        cell->time_ns[cell->count++ % CELL_LAST] = time_ns;
    }
    return sy_replanner_learn(stream->replanner, task->item->values, task->kernel, task->shape,
                              time_ns, NAN);
}

/* The example with these features, else the pipeline's name and the input's number. */
static void name_input(const struct stream *stream, const double *values, uint64_t input,
                       char *ret_name, size_t size) {
    const struct sy_pipeline *pipeline = stream->pipeline;
    size_t bytes = pipeline->feature_count * sizeof(double);
    for (uint32_t e = 0; e < pipeline->example_count; e++) {
        if (bytes && memcmp(pipeline->examples[e].values, values, bytes) == 0) {
            snprintf(ret_name, size, "%s", pipeline->examples[e].name);
            return;
        }
    }
    snprintf(ret_name, size, "%.40s %llu", pipeline->name, (unsigned long long)input);
}

static int hand_over(const struct stream *stream, uint32_t k, const char *class_name,
                     const char *source, uint32_t width, double time_ns, double watts,
                     const double *numbers, const double *values, uint64_t input) {
    const struct sy_pipeline_kernel *kernel = &stream->pipeline->kernels[k];
    double costs[SY_PIPELINE_COST_MAX];
    char name[64];
    for (uint32_t i = 0; i < kernel->cost_count; i++) {
        costs[i] = numbers[kernel->costs[i]];
    }
    name_input(stream, values, input, name, sizeof name);
    const struct sy_cost_sample sample = {.kernel = kernel->kernel,
                                          .class_name = class_name,
                                          .source = source,
                                          .width = width,
                                          .cost_count = kernel->cost_count,
                                          .cost_names = kernel->cost_names,
                                          .costs = costs,
                                          .time_ns = time_ns,
                                          .watts = watts};
    return stream->options->learned(stream->options->user, &sample, name);
}

int stream_sample(const struct stream *stream, const struct stream_item *item, uint32_t kernel,
                  const char *class_name, const char *source, uint32_t width, double time_ns,
                  double watts) {
    return hand_over(stream, kernel, class_name, source, width, time_ns, watts, item->numbers,
                     item->values, item->input->number);
}

int stream_hand_over(struct stream *stream) {
    const struct sy_plan_problem *problem = sy_replanner_problem(stream->replanner);
    double *numbers = calloc(stream->pipeline->expression_count + 1u, sizeof *numbers);
    int code = numbers ? 0 : -ENOMEM;
    for (uint32_t i = 0; stream->cells && i < stream->cells->count && !code; i++) {
        struct cell *cell = &stream->cells->items[i];
        const struct sy_plan_shape *shape = &problem->shapes[cell->key.shape];
        uint32_t known = cell->count < CELL_LAST ? cell->count : CELL_LAST;
        code = sy_pipeline_measure(stream->pipeline, cell->values, numbers, stream->error);
        code = code ? code
                    : hand_over(stream, cell->key.kernel,
                                stream->options->system->classes[shape->class_index].name,
                                "measured", shape->width, sy_quantile(cell->time_ns, known, 0.5),
                                NAN, numbers, cell->values, cell->key.input);
    }
    free(numbers);
    return code;
}

void stream_forget(struct stream *stream) {
    if (stream->cells) {
        free(stream->cells->items);
        free(stream->cells);
    }
}
