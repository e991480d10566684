/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of items for both pipelines: examples in turn, sizes that drift, or sizes spread for
 * calibration. What an item is depends on its number and the arguments alone.
 */
#include "attention/attention.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLE_MAX = 16, DRIFT_STEPS = 16 };

#define TOLERANCE 1e-4 /* of a row's error over its largest value */

struct stream {
    uint32_t chosen[EXAMPLE_MAX], chosen_count; /* examples */
    uint64_t item_count, seed;
    uint32_t check_rows;
    bool drift, calibrate;
    double model; /* of calibration */
};

/* --- which items there are ---------------------------------------------------------------------
 */
static double even(double x) {
    return fmax(2, 2 * floor(x / 2 + 0.5));
}

/* Sizes all over the range, but none that takes minutes. The model stays, since its weights do. */
static void spread(const struct stream *stream, uint64_t item, double *ret_values) {
    uint32_t at = (uint32_t)(item + 1 + stream->seed % 1000);
    double length = 256 * pow(64, guest_halton(at, 2));
    double batch = floor(pow(8, guest_halton(at, 5)));
    double window = 32 * pow(32, guest_halton(at, 3));
    length = 8 * floor(fmin(length, 16384 / batch) / 8 + 0.5);
    ret_values[ATTN_LENGTH] = length;
    ret_values[ATTN_WINDOW] = even(fmin(window, length));
    ret_values[ATTN_BATCH] = batch;
    ret_values[ATTN_MODEL] = stream->model;
    ret_values[ATTN_HEADS] = fmax(1, stream->model / 64);
    ret_values[ATTN_FFN] = 4 * stream->model;
}

/* From the first example to the last; from the only one to shorter texts and wider windows. */
static void drifted(const struct stream *stream, uint64_t step, double *ret_values) {
    const double *from = attn_examples[stream->chosen[0]].values;
    const double *to = attn_examples[stream->chosen[stream->chosen_count - 1]].values;
    bool one = from == to;
    double share = (double)step / (DRIFT_STEPS - 1);
    double shorter = one ? fmin(from[ATTN_LENGTH], fmax(from[ATTN_LENGTH] / 4, 16)) : 0;
    double length = one ? shorter : to[ATTN_LENGTH];
    double window = one ? fmin(4 * from[ATTN_WINDOW], shorter) : to[ATTN_WINDOW];
    memcpy(ret_values, from, ATTN_FEATURE_COUNT * sizeof(double));
    ret_values[ATTN_LENGTH] =
        floor(from[ATTN_LENGTH] * pow(length / from[ATTN_LENGTH], share) + 0.5);
    ret_values[ATTN_WINDOW] = even(from[ATTN_WINDOW] * pow(window / from[ATTN_WINDOW], share));
    ret_values[ATTN_BATCH] =
        floor(from[ATTN_BATCH] * pow(to[ATTN_BATCH] / from[ATTN_BATCH], share) + 0.5);
    if (share > 0.5) {
        ret_values[ATTN_HEADS] = to[ATTN_HEADS];
    }
}

/* The values of an item, and what tells its input from others'. */
static uint64_t item_values(const struct stream *stream, uint64_t item, double *ret_values) {
    if (stream->calibrate) {
        spread(stream, item, ret_values);
        return item;
    }
    if (stream->drift) {
        uint64_t step = item * DRIFT_STEPS / stream->item_count;
        drifted(stream, step, ret_values);
        return step;
    }
    uint32_t example = stream->chosen[item % stream->chosen_count];
    memcpy(ret_values, attn_examples[example].values, ATTN_FEATURE_COUNT * sizeof(double));
    return example;
}

/* --- open, next, close -------------------------------------------------------------------------
 */
static int choose(struct stream *stream, const char *word, struct sy_error *error) {
    for (const char *at = word; *at; at += *at == '+') {
        size_t length = strcspn(at, "+");
        for (uint32_t i = 0; i < attn_example_count; i++) {
            const char *name = attn_examples[i].name;
            if (strlen(name) == length && strncmp(name, at, length) == 0 &&
                stream->chosen_count < EXAMPLE_MAX) {
                stream->chosen[stream->chosen_count++] = i;
            }
        }
        at += length;
    }
    const double *first = attn_examples[stream->chosen[0]].values;
    for (uint32_t i = 1; i < stream->chosen_count; i++) {
        const double *other = attn_examples[stream->chosen[i]].values;
        if (other[ATTN_MODEL] != first[ATTN_MODEL] || other[ATTN_FFN] != first[ATTN_FFN]) {
            return guest_fail(error, -EINVAL, "choose examples with the same model and ffn",
                              "attention: %s and %s have weights of different sizes, and a stream "
                              "has one model",
                              attn_examples[stream->chosen[0]].name,
                              attn_examples[stream->chosen[i]].name);
        }
    }
    return 0;
}

int attn_stream_open(const char *arguments, void **ret_state, struct sy_error *error) {
    enum { EXAMPLE, ITEMS, SEED, CHECK, DRIFT, CALIBRATE, POINTS, MODEL };
    struct guest_option options[] = {
        {.name = "example", .choices = attn_example_names, .many = true, .word = "small"},
        {.name = "items", .value = 32, .low = 1, .high = 1e9, .whole = true},
        {.name = "seed", .low = 0, .high = 0x1p53, .whole = true},
        {.name = "check", .value = 6, .low = 1, .high = 1e6, .whole = true},
        {.name = "drift", .low = 0, .high = 1, .whole = true},
        {.name = "calibrate", .low = 0, .high = 1, .whole = true},
        {.name = "points", .value = 16, .low = 1, .high = 10000, .whole = true},
        {.name = "model", .value = 512, .low = 16, .high = 8192, .whole = true},
    };
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    int code = guest_parse("attention", arguments, options, GUEST_COUNT(options), error);
    code = code ? code : choose(stream, options[EXAMPLE].word, error);
    stream->seed = (uint64_t)options[SEED].value;
    stream->check_rows = (uint32_t)options[CHECK].value;
    stream->model = options[MODEL].value;
    stream->drift = options[DRIFT].value != 0;
    stream->calibrate = options[CALIBRATE].value != 0;
    stream->item_count = (uint64_t)options[stream->calibrate ? POINTS : ITEMS].value;
    if (code == 0 && stream->model > 64 && fmod(stream->model, 64) != 0) {
        code = guest_fail(error, -EINVAL, "up to 64, or a multiple of it: heads have 64 columns",
                          "attention: model=%.0f has no whole number of heads", stream->model);
    }
    if (code == 0 && stream->drift && stream->calibrate) {
        code = guest_fail(error, -EINVAL, "leave one of them out",
                          "attention: drift=1 and calibrate=1 exclude each other");
    }
    if (code) {
        free(stream);
        return code;
    }
    *ret_state = stream;
    return 0;
}

int attn_stream_next(void *state, uint64_t item, double *ret_values, uint64_t *ret_input) {
    const struct stream *stream = state;
    if (item >= stream->item_count) {
        return 0;
    }
    *ret_input = item_values(stream, item, ret_values);
    return 1;
}

void attn_stream_close(void *state) {
    free(state);
}

/* --- data --------------------------------------------------------------------------------------
 */
/* Values of about unit size; weights so small that sizes stay so from layer to layer. They depend
 * on nothing but the seed, the input and the size. */
int attn_stream_fill(void *state, uint64_t item, uint32_t datum, void *pointer, uint64_t bytes) {
    const struct stream *stream = state;
    double values[ATTN_FEATURE_COUNT], root3 = sqrt(3);
    uint64_t count = bytes / sizeof(float), input = UINT64_MAX;
    float *out = pointer;
    if (datum != ATTN_X && (datum < ATTN_W_QKV || datum > ATTN_W_DOWN)) {
        return -EINVAL;
    }
    if (datum == ATTN_X) {
        input = item_values(stream, item, values);
    }
    /* A matrix of c columns and about as many rows: 1 / sqrt(c). */
    double scale = datum == ATTN_X ? root3 : root3 / sqrt(sqrt((double)count));
    uint64_t seed = (stream->seed * 64 + datum) * 0x9E3779B97F4A7C15u ^ (input + 1);
    for (uint64_t i = 0; i < count; i++) {
        out[i] = (float)(scale * (2 * guest_noise(seed, i) - 1));
    }
    return 0;
}

/* First and last rows of the whole and of sequences, and some between. */
static uint64_t sample_row(const struct stream *stream, uint64_t item, uint32_t sample,
                           uint64_t rows, uint64_t length) {
    const uint64_t borders[] = {0, rows - 1, length - 1, length % rows};
    return sample < GUEST_COUNT(borders)
               ? borders[sample]
               : (uint64_t)(guest_noise(stream->seed + item, sample) * (double)rows);
}

int attn_stream_check(void *state, uint64_t item, void *const *data, double *ret_error,
                      double *ret_tolerance, struct sy_error *error) {
    const struct stream *stream = state;
    double values[ATTN_FEATURE_COUNT], worst = 0;
    item_values(stream, item, values);
    uint64_t length = (uint64_t)values[ATTN_LENGTH], rows = length * (uint64_t)values[ATTN_BATCH];
    uint32_t model = (uint32_t)values[ATTN_MODEL];
    double *scratch = calloc(attn_reference_scratch(values) + model, sizeof(double));
    if (!scratch) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    double *y = scratch + attn_reference_scratch(values);
    for (uint32_t sample = 0; sample < stream->check_rows; sample++) {
        uint64_t row = sample_row(stream, item, sample, rows, length);
        const float *got = (const float *)data[ATTN_Y] + row * model;
        double largest = 0, off = 0;
        attn_reference_row(values, data, row, scratch, y);
        for (uint32_t c = 0; c < model; c++) {
            double here = fabs(got[c] - y[c]);
            largest = fmax(largest, fabs(y[c]));
            off = fmax(off, isnan(here) ? INFINITY : here);
        }
        worst = fmax(worst, off / largest);
    }
    free(scratch);
    *ret_error = worst;
    *ret_tolerance = TOLERANCE;
    return 0;
}
