/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipelines of attention.so as their texts describe them, with gnn's dense products: right
 * results, wrong ones noticed, the same bits in parts, streams as asked for. Argument "cuda":
 * kernels on such a device.
 */
#include "attention/attention.h"
#include "items.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* after what it needs */
#include <cmocka.h>

static const struct sy_kernel_table *table;
static struct device device;
static const struct device *there; /* NULL: in C */

static const char *const streams[] = {
    "example=tiny",  "example=tiny-odd,seed=7",       "example=tiny-wide",
    "example=small", "drift=1,example=tiny,items=16", "calibrate=1,model=32,points=12",
};

static void results_are_right(void **state) {
    (void)state;
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        for (uint32_t s = 0; s < GUEST_COUNT(streams); s++) {
            struct item item;
            uint64_t number = s < 4 ? 0 : 11;
            open_item(table, &table->pipelines[p], streams[s], number, &item);
            uint32_t elsewhere = run_item(&item, 1, there);
            assert_true(!there || elsewhere > 0);
            double found = judge_item(&item);
            if (!(found <= 1)) {
                fail_msg("%s:%s is wrong: %g tolerances", item.entry->name, streams[s], found);
            }
            close_item(&item);
        }
    }
}

/* Dense products may add in another order where rows are divided; what is here does not. */
static void parts_are_the_whole(void **state) {
    (void)state;
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        struct item whole, parts;
        open_item(table, &table->pipelines[p], "example=tiny-odd", 0, &whole);
        open_item(table, &table->pipelines[p], "example=tiny-odd", 0, &parts);
        run_item(&whole, 1, NULL);
        run_item(&parts, 7, NULL);
        const float *a = whole.data[ATTN_Y], *b = parts.data[ATTN_Y];
        for (uint64_t i = 0; i < item_bytes(&whole, ATTN_Y) / sizeof(float); i++) {
            assert_true(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(a[i])));
        }
        close_item(&whole);
        close_item(&parts);
    }
}

static void both_pipelines_agree(void **state) {
    (void)state;
    struct item block, fused;
    open_item(table, &table->pipelines[0], "example=tiny", 0, &block);
    open_item(table, &table->pipelines[1], "example=tiny", 0, &fused);
    run_item(&block, 1, NULL);
    run_item(&fused, 1, NULL);
    const float *a = block.data[ATTN_Y], *b = fused.data[ATTN_Y];
    for (uint64_t i = 0; i < item_bytes(&block, ATTN_Y) / sizeof(float); i++) {
        assert_true(fabsf(a[i] - b[i]) <= 1e-4f);
    }
    close_item(&block);
    close_item(&fused);
}

/* The last row is among those that are looked at. */
static void corruption_is_noticed(void **state) {
    (void)state;
    struct item item;
    open_item(table, &table->pipelines[0], "example=tiny", 0, &item);
    run_item(&item, 1, NULL);
    float *last = (float *)item.data[ATTN_Y] + item_bytes(&item, ATTN_Y) / sizeof(float) - 1;
    float right = *last;
    assert_true(judge_item(&item) <= 1);
    *last = right + 0.02f;
    assert_true(judge_item(&item) > 1);
    *last = NAN;
    assert_false(judge_item(&item) <= 1);
    *last = right;
    assert_true(judge_item(&item) <= 1);
    close_item(&item);
}

/* What fill and check number is where the texts have it; examples are the table's. */
static void texts_agree(void **state) {
    (void)state;
    static const char *const features[ATTN_FEATURE_COUNT] = {"length", "window", "batch",
                                                             "model",  "heads",  "ffn"};
    static const char *const data[ATTN_DATUM_COUNT] = {"x",    "w_qkv",  "w_out",
                                                       "w_up", "w_down", "y"};
    assert_int_equal(table->pipeline_count, 2);
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        struct sy_pipeline *text = read_pipeline(&table->pipelines[p]);
        double numbers[256];
        struct sy_error error = {0};
        assert_string_equal(text->name, table->pipelines[p].name);
        assert_int_equal(text->kernel_count, p == 0 ? 7 : 5);
        assert_int_equal(text->feature_count, ATTN_FEATURE_COUNT);
        for (uint32_t f = 0; f < ATTN_FEATURE_COUNT; f++) {
            assert_string_equal(text->features[f].name, features[f]);
        }
        for (uint32_t d = 0; d < ATTN_DATUM_COUNT; d++) {
            assert_string_equal(text->data[d].name, data[d]);
        }
        assert_int_equal(text->example_count, attn_example_count);
        assert_true(text->expression_count <= GUEST_COUNT(numbers));
        for (uint32_t e = 0; e < attn_example_count; e++) {
            assert_string_equal(text->examples[e].name, attn_examples[e].name);
            assert_memory_equal(text->examples[e].values, attn_examples[e].values,
                                sizeof(attn_examples[e].values));
            if (sy_pipeline_measure(text, text->examples[e].values, numbers, &error)) {
                fail_msg("%s: %s", text->examples[e].name, error.message);
            }
        }
        sy_pipeline_destroy(text);
    }
}

static void streams_are_as_asked(void **state) {
    (void)state;
    const struct sy_kernel_pipeline *block = &table->pipelines[0];
    struct sy_error error = {0};
    double values[ATTN_FEATURE_COUNT], before[ATTN_FEATURE_COUNT];
    uint64_t input = 0, other = 0;
    void *stream = NULL;
    assert_int_equal(block->open("example=short-64+book-1024,items=3", &stream, &error), 0);
    assert_int_equal(block->next(stream, 0, values, &input), 1);
    assert_true(values[ATTN_LENGTH] == 1024 && values[ATTN_WINDOW] == 64);
    assert_int_equal(block->next(stream, 1, before, &other), 1);
    assert_true(before[ATTN_WINDOW] == 1024 && other != input);
    assert_int_equal(block->next(stream, 2, values, &other), 1);
    assert_int_equal(other, input);
    assert_int_equal(block->next(stream, 3, values, &other), 0);
    block->close(stream);

    assert_int_equal(block->open("drift=1,example=short-64+book-1024,items=64", &stream, &error),
                     0);
    for (uint64_t item = 0; item < 64; item++) {
        assert_int_equal(block->next(stream, item, values, &other), 1);
        assert_true(fmod(values[ATTN_WINDOW], 2) == 0);
        if (item > 0) {
            assert_true(values[ATTN_LENGTH] >= before[ATTN_LENGTH]);
            assert_true(values[ATTN_WINDOW] >= before[ATTN_WINDOW]);
        }
        memcpy(before, values, sizeof(before));
    }
    assert_true(values[ATTN_LENGTH] == 16384 && values[ATTN_WINDOW] == 1024);
    block->close(stream);

    assert_int_equal(block->open("calibrate=1,points=40,model=1024", &stream, &error), 0);
    for (uint64_t item = 0; item < 40; item++) {
        assert_int_equal(block->next(stream, item, values, &other), 1);
        assert_int_equal(other, item);
        assert_true(values[ATTN_LENGTH] * values[ATTN_BATCH] <= 16400);
        assert_true(values[ATTN_WINDOW] <= values[ATTN_LENGTH] + 1 && values[ATTN_HEADS] == 16);
    }
    assert_int_equal(block->next(stream, 40, values, &other), 0);
    block->close(stream);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *arguments, *says;
    } bad[] = {{"example=nothing", "unknown"},     {"example=tiny+small", "different sizes"},
               {"items=0", "out of range"},        {"drift=1,calibrate=1", "exclude"},
               {"calibrate=1,model=100", "heads"}, {"speed=1", "no argument"}};
    for (uint32_t i = 0; i < GUEST_COUNT(bad); i++) {
        struct sy_error error = {0};
        void *stream = NULL;
        assert_int_equal(table->pipelines[0].open(bad[i].arguments, &stream, &error), -EINVAL);
        assert_non_null(strstr(error.message, bad[i].says));
        assert_true(error.hint[0]);
    }
}

int main(int count, char **arguments) {
    table = open_plugin("attention");
    bool elsewhere = count > 1 && strcmp(arguments[1], "c") != 0;
    if (!table || !open_plugin("gnn") || (elsewhere && !open_device(arguments[1], &device))) {
        return 77;
    }
    there = elsewhere ? &device : NULL;
    const struct CMUnitTest on_device[] = {cmocka_unit_test(results_are_right)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right),
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(both_pipelines_agree),
        cmocka_unit_test(corruption_is_noticed),
        cmocka_unit_test(texts_agree),
        cmocka_unit_test(streams_are_as_asked),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    int code = elsewhere ? cmocka_run_group_tests_name("attention", on_device, NULL, NULL)
                         : cmocka_run_group_tests_name("attention", tests, NULL, NULL);
    if (elsewhere) {
        close_device(&device);
    }
    return code;
}
