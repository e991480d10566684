/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of graphs: named examples in turn, a density that drifts, or a grid for calibration.
 *
 * In: arguments. Out: items with their features; data filled in on demand, from the seed alone.
 * All items of a stream have the same model: width, hidden, classes.
 */
#include "gnn/pipelines.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 1024, CHOICES_MAX = 512, DRIFT_ITEMS = 64, CYCLE_ITEMS = 10 };
#define POINT_EDGES_MAX 4e6 /* of a point of calibration, which shall not take long */
#define POINT_FLOPS_MAX 2e9
#define WEIGHT_MAX      0.1

const char gnn_usage[] =
    "[example=NAME[+NAME...]][,scale=RATIO] | drift=1[,nodes=N][,degree_low=D][,degree_high=D]"
    "[,steps=N] | calibrate=1[,points=N][,scale=RATIO]; "
    "[,width=N][,hidden=N][,classes=N][,items=N][,seed=N][,check=ROWS]";

struct input {
    struct gnn_recipe recipe;
    double values[GNN_FEATURE_COUNT];
};

struct stream {
    const struct gnn_pipeline *pipeline;
    struct input *inputs;
    uint32_t input_count;
    uint64_t items, seed;
    bool drift;
    uint32_t check_rows;
};

enum {
    OPTION_EXAMPLE,
    OPTION_SCALE,
    OPTION_DRIFT,
    OPTION_NODES,
    OPTION_LOW,
    OPTION_HIGH,
    OPTION_STEPS,
    OPTION_CALIBRATE,
    OPTION_POINTS,
    OPTION_WIDTH,
    OPTION_HIDDEN,
    OPTION_CLASSES,
    OPTION_ITEMS,
    OPTION_SEED,
    OPTION_CHECK
};

/* --- which graphs ----------------------------------------------------------------------------- */

static void override(const struct guest_option *options, struct gnn_shape *shape) {
    uint32_t *const sizes[3] = {&shape->width, &shape->hidden, &shape->classes};
    for (int i = 0; i < 3; i++) {
        double value = options[OPTION_WIDTH + i].value;
        *sizes[i] = value > 0 ? (uint32_t)value : *sizes[i];
    }
}

/* The names in turn; returns how many. */
static uint32_t example_shapes(const struct guest_option *options, struct gnn_shape *ret_shapes) {
    uint32_t count = 0;
    for (const char *at = options[OPTION_EXAMPLE].word; *at && count < INPUT_MAX;) {
        size_t length = strcspn(at, "+");
        for (uint32_t i = 0; i < gnn_shape_count; i++) {
            const char *name = gnn_shapes[i].name;
            if (strlen(name) == length && strncmp(name, at, length) == 0) {
                ret_shapes[count++] = gnn_shape_scale(&gnn_shapes[i], options[OPTION_SCALE].value);
            }
        }
        at += length + (at[length] == '+');
    }
    return count;
}

static uint32_t drift_shapes(const struct guest_option *options, struct gnn_shape *ret_shapes) {
    uint32_t count = (uint32_t)options[OPTION_STEPS].value;
    double low = options[OPTION_LOW].value, high = options[OPTION_HIGH].value;
    double nodes = options[OPTION_NODES].value;
    for (uint32_t i = 0; i < count; i++) {
        double degree = low * pow(high / low, count > 1 ? (double)i / (count - 1) : 0);
        degree = fmin(degree, nodes);
        struct gnn_shape shape = {"drift", "", (uint32_t)nodes, 0, 128, 128, 40, 1, 0, 0.2, 1};
        shape.edges = (uint32_t)fmin(degree * nodes, UINT32_MAX / 2);
        shape.degree_max = (uint32_t)fmin(nodes, ceil(degree * 8));
        ret_shapes[i] = gnn_shape_scale(&shape, 1);
    }
    return count;
}

static uint32_t between(double low, double high, double at) {
    return (uint32_t)round(low * pow(high / low, at));
}

/* Another seed, other points; a larger scale, larger ones. */
static uint32_t point_shapes(const struct guest_option *options, struct gnn_shape *ret_shapes) {
    uint32_t count = (uint32_t)options[OPTION_POINTS].value;
    uint32_t first = 1 + ((uint32_t)options[OPTION_SEED].value & 0xffff) * count;
    double scale = options[OPTION_SCALE].value;
    for (uint32_t i = 0; i < count; i++) {
        struct gnn_shape shape = {"point", "", 0, 0, 128, 128, 40, 0, 0, 0, 1};
        override(options, &shape);
        uint32_t at = first + i;
        double nodes = between(1000, 200000 * scale, guest_halton(at, 2));
        double degree = between(2, 500, guest_halton(at, 3));
        shape.degree_cv = 12 * pow(guest_halton(at, 5), 3);
        shape.locality = 0.9 * guest_halton(at, 7);
        double most = fmax(shape.width, shape.hidden), flops = 2 * most * fmax(degree, most);
        nodes = fmin(nodes, scale * fmin(POINT_EDGES_MAX / degree, POINT_FLOPS_MAX / flops));
        nodes = floor(fmax(nodes, 64));
        degree = fmin(degree, nodes);
        shape.nodes = (uint32_t)nodes;
        shape.edges = (uint32_t)(degree * nodes);
        double tail = between(4, 400, guest_halton(at, 11));
        shape.degree_max = (uint32_t)fmin(nodes, ceil(degree * (1 + tail * shape.degree_cv)));
        ret_shapes[i] = gnn_shape_scale(&shape, 1);
    }
    return count;
}

/* --- open and close --------------------------------------------------------------------------- */

static int make_inputs(struct stream *stream, const struct gnn_shape *shapes, uint32_t count,
                       struct sy_error *error) {
    stream->inputs = calloc(count, sizeof(*stream->inputs));
    int code = stream->inputs ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        struct gnn_shape shape = shapes[i];
        shape.seed = stream->seed + (stream->drift ? i : 0);
        struct input *input = &stream->inputs[i];
        code = gnn_recipe_init(&shape, &input->recipe);
        stream->input_count += code == 0;
        code = code ? code : gnn_recipe_features(&input->recipe, input->values);
    }
    return code ? guest_fail(error, code, NULL, "%s: cannot make a graph of a stream",
                             stream->pipeline->name)
                : 0;
}

/* Weights are constant: all graphs of a stream have the same widths. */
static int one_model(const struct gnn_pipeline *pipeline, const struct guest_option *options,
                     struct gnn_shape *shapes, uint32_t count, struct sy_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        override(options, &shapes[i]);
        if (shapes[i].width != shapes[0].width || shapes[i].hidden != shapes[0].hidden ||
            shapes[i].classes != shapes[0].classes) {
            return guest_fail(error, -EINVAL, "set what differs by width=, hidden=, classes=",
                              "%s: %s and %s have weights of different sizes, and a stream has one "
                              "model",
                              pipeline->name, shapes[0].name, shapes[i].name);
        }
    }
    return 0;
}

/* Drift and calibration exclude examples. */
static int choose(const struct gnn_pipeline *pipeline, const struct guest_option *options,
                  struct gnn_shape *shapes, uint32_t *ret_count, struct sy_error *error) {
    bool drift = options[OPTION_DRIFT].value > 0, points = options[OPTION_CALIBRATE].value > 0;
    if (drift && points) {
        return guest_fail(error, -EINVAL, "give one of them",
                          "%s: drift=1 and calibrate=1 are two different streams", pipeline->name);
    }
    if (drift && options[OPTION_LOW].value > options[OPTION_HIGH].value) {
        return guest_fail(error, -EINVAL, "the degree goes from low to high and back",
                          "%s: degree_low is above degree_high", pipeline->name);
    }
    *ret_count = (drift ? drift_shapes : points ? point_shapes : example_shapes)(options, shapes);
    return one_model(pipeline, options, shapes, *ret_count, error);
}

int gnn_open(const struct gnn_pipeline *pipeline, const char *arguments, void **ret_state,
             struct sy_error *error) {
    char choices[CHOICES_MAX] = "";
    for (uint32_t i = 0; i < gnn_shape_count; i++) {
        size_t used = strlen(choices);
        snprintf(choices + used, sizeof(choices) - used, "%s%s", i ? " " : "", gnn_shapes[i].name);
    }
    struct guest_option options[] = {{"example", 0, 0, 0, false, choices, true, "arxiv-tenth"},
                                     {"scale", 1, 1e-6, 1000, false, NULL, false, ""},
                                     {"drift", 0, 0, 1, true, NULL, false, ""},
                                     {"nodes", 20000, 64, 1e8, true, NULL, false, ""},
                                     {"degree_low", 4, 1, 1e6, false, NULL, false, ""},
                                     {"degree_high", 400, 1, 1e6, false, NULL, false, ""},
                                     {"steps", 9, 1, INPUT_MAX, true, NULL, false, ""},
                                     {"calibrate", 0, 0, 1, true, NULL, false, ""},
                                     {"points", 24, 1, INPUT_MAX, true, NULL, false, ""},
                                     {"width", 0, 1, 65536, true, NULL, false, ""},
                                     {"hidden", 0, 1, 65536, true, NULL, false, ""},
                                     {"classes", 0, 1, 65536, true, NULL, false, ""},
                                     {"items", 0, 1, 1e12, true, NULL, false, ""},
                                     {"seed", 1, 0, 0x1p53, true, NULL, false, ""},
                                     {"check", 4, 1, 1e9, true, NULL, false, ""}};
    uint32_t count = 0;
    int code = guest_parse(pipeline->name, arguments, options, GUEST_COUNT(options), error);
    struct gnn_shape *shapes = code ? NULL : malloc(sizeof(*shapes) * INPUT_MAX);
    struct stream *stream = code ? NULL : calloc(1, sizeof(*stream));
    if (!code && (!shapes || !stream)) {
        code = guest_fail(error, -ENOMEM, NULL, "%s: out of memory", pipeline->name);
    }
    code = code ? code : choose(pipeline, options, shapes, &count, error);
    if (!code) {
        stream->pipeline = pipeline;
        stream->seed = (uint64_t)options[OPTION_SEED].value;
        stream->drift = options[OPTION_DRIFT].value > 0;
        stream->check_rows = (uint32_t)options[OPTION_CHECK].value;
        stream->items = (uint64_t)options[OPTION_ITEMS].value;
        if (stream->items == 0) {
            stream->items = stream->drift                         ? DRIFT_ITEMS
                            : options[OPTION_CALIBRATE].value > 0 ? count
                                                                  : CYCLE_ITEMS;
        }
        code = make_inputs(stream, shapes, count, error);
    }
    free(shapes);
    if (code) {
        gnn_close(stream);
        return code;
    }
    *ret_state = stream;
    return 0;
}

void gnn_close(void *state) {
    struct stream *stream = state;
    for (uint32_t i = 0; stream && i < stream->input_count; i++) {
        gnn_recipe_finish(&stream->inputs[i].recipe);
    }
    free(stream ? stream->inputs : NULL);
    free(stream);
}

/* --- items ------------------------------------------------------------------------------------ */

/* In turn; while drifting from the first to the last and back. */
static uint32_t input_of(const struct stream *stream, uint64_t item) {
    if (!stream->drift) {
        return (uint32_t)(item % stream->input_count);
    }
    double at = stream->items > 1 ? (double)item / (double)(stream->items - 1) : 0;
    return (uint32_t)round((1 - fabs(2 * at - 1)) * (stream->input_count - 1));
}

int gnn_next(void *state, uint64_t item, double *ret_values, uint64_t *ret_input) {
    const struct stream *stream = state;
    if (item >= stream->items) {
        return 0;
    }
    uint32_t number = input_of(stream, item);
    memcpy(ret_values, stream->inputs[number].values, sizeof(stream->inputs[number].values));
    *ret_input = number;
    return 1;
}

/* Uniform in [-most, most), two floats from each random word. */
static void fill_noise(uint64_t seed, float most, float *values, uint64_t count) {
    float unit = most * 0x1p-31f;
    for (uint64_t i = 0; i < count; i += 2) {
        uint64_t word = gnn_word(seed, i);
        values[i] = (float)(int32_t)(word >> 32) * unit;
        if (i + 1 < count) {
            values[i + 1] = (float)(int32_t)word * unit;
        }
    }
}

int gnn_fill(void *state, uint64_t item, uint32_t datum, void *pointer, uint64_t bytes) {
    const struct stream *stream = state;
    const struct gnn_pipeline *pipeline = stream->pipeline;
    if (datum >= pipeline->datum_count) {
        return -EINVAL;
    }
    if (pipeline->data[datum].kind == GNN_IS_WEIGHT) {
        fill_noise(stream->seed * 64 + datum, (float)WEIGHT_MAX, pointer, bytes / sizeof(float));
        return 0;
    }
    if (item >= stream->items || datum > 1) {
        return -EINVAL;
    }
    uint32_t number = input_of(stream, item);
    const struct gnn_recipe *recipe = &stream->inputs[number].recipe;
    const struct gnn_shape *shape = &recipe->shape;
    uint64_t count = (uint64_t)shape->nodes * shape->width;
    uint64_t needed =
        datum == 0 ? gnn_graph_bytes(shape->nodes, shape->edges) : count * sizeof(float);
    if (bytes < needed) {
        return -EINVAL;
    }
    if (datum == 0) {
        gnn_recipe_write(recipe, pipeline->normal, pointer);
    } else {
        fill_noise((shape->seed << 20) + number, 1, pointer, count);
    }
    return 0;
}

int gnn_check(void *state, uint64_t item, void *const *data, double *ret_error,
              double *ret_tolerance, struct sy_error *error) {
    const struct stream *stream = state;
    if (item >= stream->items) {
        return guest_fail(error, -EINVAL, NULL, "%s: there is no item %llu", stream->pipeline->name,
                          (unsigned long long)item);
    }
    const struct input *input = &stream->inputs[input_of(stream, item)];
    int code = gnn_compare(stream->pipeline, input->values, data, stream->check_rows,
                           stream->seed + item, ret_error);
    if (code) {
        return guest_fail(error, code, NULL, "%s: the result cannot be checked: %s",
                          stream->pipeline->name, strerror(-code));
    }
    *ret_tolerance = GNN_TOLERANCE;
    return 0;
}
