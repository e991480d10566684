/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipelines of gnn.so as their texts describe them, kernel by kernel: right results, wrong ones
 * noticed, the same result in parts, bad arguments refused. Argument "cuda": kernels on such a
 * device.
 */
#include "../harness.h"
#include "gnn/pipelines.h"
#include "planner/pipeline.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sy_kernel_table *table;
static struct device device;
static bool elsewhere;

struct item {
    const struct sy_kernel_pipeline *entry;
    struct sy_pipeline *pipeline;
    void *state;
    double values[GNN_FEATURE_COUNT];
    double *numbers;
    void *data[GNN_DATUM_MAX];
};

static struct sy_pipeline *read_text(const struct sy_kernel_pipeline *entry) {
    struct sy_pipeline *pipeline = NULL;
    struct sy_error error = {0};
    if (sy_pipeline_read_text(entry->name, entry->text, strlen(entry->text), &pipeline, &error)) {
        fail_msg("%s: %s", entry->name, error.message);
    }
    return pipeline;
}

static uint64_t bytes_of(const struct item *item, uint32_t datum) {
    return (uint64_t)item->numbers[item->pipeline->data[datum].bytes];
}

static void open_item(const struct sy_kernel_pipeline *entry, const char *arguments,
                      struct item *ret_item) {
    struct item item = {.entry = entry, .pipeline = read_text(entry)};
    struct sy_error error = {0};
    uint64_t input = 0;
    if (entry->open(arguments, &item.state, &error)) {
        fail_msg("%s:%s: %s", entry->name, arguments, error.message);
    }
    assert_int_equal(item.pipeline->feature_count, GNN_FEATURE_COUNT);
    assert_int_equal(entry->next(item.state, 0, item.values, &input), 1);
    item.numbers = calloc(item.pipeline->expression_count, sizeof(double));
    if (sy_pipeline_measure(item.pipeline, item.values, item.numbers, &error)) {
        fail_msg("%s: %s", entry->name, error.message);
    }
    for (uint32_t datum = 0; datum < item.pipeline->datum_count; datum++) {
        enum sy_pipeline_role role = item.pipeline->data[datum].role;
        item.data[datum] = calloc(1, bytes_of(&item, datum));
        assert_non_null(item.data[datum]);
        if (role == SY_PIPELINE_INPUT || role == SY_PIPELINE_CONSTANT) {
            assert_int_equal(entry->fill(item.state, role == SY_PIPELINE_INPUT ? 0 : UINT64_MAX,
                                         datum, item.data[datum], bytes_of(&item, datum)),
                             0);
        }
    }
    *ret_item = item;
}

static void close_item(struct item *item) {
    for (uint32_t datum = 0; datum < item->pipeline->datum_count; datum++) {
        free(item->data[datum]);
    }
    free(item->numbers);
    item->entry->close(item->state);
    sy_pipeline_destroy(item->pipeline);
}

/* All kernels in order, each in so many parts. */
static void run_item(struct item *item, uint32_t parts, bool there) {
    for (uint32_t at = 0; at < item->pipeline->kernel_count; at++) {
        const struct sy_pipeline_kernel *kernel = &item->pipeline->kernels[at];
        const struct sy_kernel_entry *entry = find_kernel(table, kernel->kernel);
        struct sy_argument arguments[SY_ARGUMENT_MAX];
        double parameters[SY_CALL_PARAMETER_MAX];
        char message[SY_CALL_MESSAGE_MAX] = "";
        for (uint32_t i = 0; i < kernel->argument_count; i++) {
            uint32_t datum = kernel->arguments[i];
            arguments[i] = (struct sy_argument){item->data[datum], bytes_of(item, datum),
                                                kernel->writes[i] ? SY_WRITE : SY_READ};
            assert_int_equal(arguments[i].mode & entry->modes[i], entry->modes[i]);
        }
        for (uint32_t i = 0; i < kernel->parameter_count; i++) {
            parameters[i] = item->numbers[kernel->parameters[i]];
        }
        for (uint32_t part = 0; part < (there ? 1 : parts); part++) {
            struct sy_call call = {.arguments = arguments,
                                   .argument_count = kernel->argument_count,
                                   .parameters = parameters,
                                   .parameter_count = kernel->parameter_count,
                                   .part = part,
                                   .part_count = there ? 1 : parts,
                                   .message = message};
            if (run_call(entry, &call, there ? &device : NULL)) {
                fail_msg("%s: %s: %s", item->entry->name, kernel->name, message);
            }
        }
    }
}

static double judge_item(struct item *item) {
    double error = NAN, tolerance = NAN;
    struct sy_error problem = {0};
    if (item->entry->check(item->state, 0, item->data, &error, &tolerance, &problem)) {
        fail_msg("the check itself failed: %s", problem.message);
    }
    assert_true(tolerance > 0 && tolerance <= 1e-3);
    return error / tolerance;
}

static void every_pipeline_is_right(void **state) {
    (void)state;
    static const char *const streams[] = {"example=tiny", "example=tiny,width=33,hidden=17",
                                          "example=arxiv-tenth,seed=3", "drift=1,nodes=500",
                                          "calibrate=1,points=1"};
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        for (uint32_t s = 0; s < sizeof(streams) / sizeof(streams[0]); s++) {
            struct item item;
            open_item(&table->pipelines[p], streams[s], &item);
            run_item(&item, 1, elsewhere);
            double found = judge_item(&item);
            if (!(found <= 1)) {
                fail_msg("%s:%s is wrong: %g tolerances", item.entry->name, streams[s], found);
            }
            close_item(&item);
        }
    }
}

static void parts_make_the_whole(void **state) {
    (void)state;
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        struct item whole, parts;
        open_item(&table->pipelines[p], "example=tiny", &whole);
        open_item(&table->pipelines[p], "example=tiny", &parts);
        run_item(&whole, 1, false);
        run_item(&parts, 7, false);
        uint32_t out = whole.pipeline->datum_count - 1;
        const float *a = whole.data[out], *b = parts.data[out];
        for (uint64_t i = 0; i < bytes_of(&whole, out) / sizeof(float); i++) {
            assert_true(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(a[i])));
        }
        close_item(&whole);
        close_item(&parts);
    }
}

/* Any element, changed a little; whole and sampled checks. */
static void corruption_is_noticed(void **state) {
    (void)state;
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        struct item item;
        open_item(&table->pipelines[p], "example=tiny", &item);
        run_item(&item, 1, elsewhere);
        assert_true(judge_item(&item) <= 1);
        float *out = item.data[item.pipeline->datum_count - 1];
        float kept = out[40], most = 0;
        for (uint32_t i = 0; i < 7; i++) {
            most = fmaxf(most, fabsf(out[35 + i]));
        }
        out[40] += 0.01f * most;
        assert_true(judge_item(&item) > 1);
        out[40] = NAN;
        assert_true(judge_item(&item) > 1);
        out[40] = kept;
        assert_true(judge_item(&item) <= 1);
        close_item(&item);
    }
}

/* The tables that fill and check speak of the same data and kernels as the texts. */
static void tables_and_texts_agree(void **state) {
    (void)state;
    static const struct gnn_pipeline *const tables[] = {&gnn_gcn, &gnn_gin, &gnn_sage, &gnn_gat};
    assert_int_equal(table->pipeline_count, sizeof(tables) / sizeof(tables[0]));
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        struct sy_pipeline *text = read_text(&table->pipelines[p]);
        const struct gnn_pipeline *mine = tables[p];
        assert_string_equal(text->name, mine->name);
        assert_string_equal(text->name, table->pipelines[p].name);
        assert_int_equal(text->datum_count, mine->datum_count);
        assert_int_equal(text->kernel_count, mine->step_count);
        for (uint32_t i = 0; i < mine->datum_count; i++) {
            assert_string_equal(text->data[i].name, mine->data[i].name);
            assert_int_equal(text->data[i].role == SY_PIPELINE_CONSTANT,
                             mine->data[i].kind == GNN_IS_WEIGHT);
        }
        for (uint32_t i = 0; i < mine->step_count; i++) {
            const struct sy_pipeline_kernel *kernel = &text->kernels[i];
            const struct gnn_step *step = &mine->steps[i];
            uint32_t sparse = !gnn_is_dense(step->kernel);
            assert_string_equal(kernel->kernel, gnn_names[step->kernel]);
            assert_int_equal(kernel->arguments[kernel->argument_count - 1], step->write);
            for (uint32_t r = sparse; r + 1 < kernel->argument_count; r++) {
                assert_int_equal(kernel->arguments[r], step->reads[r - sparse]);
            }
        }
        sy_pipeline_destroy(text);
    }
}

/* Examples in the texts have the features of the graphs that are made for them. */
static void examples_are_measured(void **state) {
    (void)state;
    for (uint32_t p = 0; p < table->pipeline_count; p++) {
        struct sy_pipeline *text = read_text(&table->pipelines[p]);
        double *numbers = calloc(text->expression_count, sizeof(double));
        struct sy_error error = {0};
        assert_int_equal(text->example_count, gnn_shape_count);
        for (uint32_t e = 0; e < text->example_count; e++) {
            const struct sy_pipeline_example *example = &text->examples[e];
            struct gnn_recipe recipe;
            double values[GNN_FEATURE_COUNT];
            assert_string_equal(example->name, gnn_shapes[e].name);
            if (sy_pipeline_measure(text, example->values, numbers, &error)) {
                fail_msg("%s: %s: %s", text->name, example->name, error.message);
            }
            if (p > 0) {
                continue; /* all pipelines share them */
            }
            assert_int_equal(gnn_recipe_init(&gnn_shapes[e], &recipe), 0);
            assert_int_equal(gnn_recipe_features(&recipe, values), 0);
            for (uint32_t f = 0; f < GNN_FEATURE_COUNT; f++) {
                if (fabs(values[f] - example->values[f]) > 2e-3) {
                    fail_msg("%s: %s is %g, the text says %g", example->name,
                             text->features[f].name, values[f], example->values[f]);
                }
            }
            gnn_recipe_finish(&recipe);
        }
        free(numbers);
        sy_pipeline_destroy(text);
    }
}

static void streams_follow_their_arguments(void **state) {
    (void)state;
    const struct sy_kernel_pipeline *entry = &table->pipelines[0];
    double values[GNN_FEATURE_COUNT], before = 0, most = 0, last = 0;
    uint64_t input = 0, first = 0;
    struct sy_error error = {0};
    void *stream = NULL;
    assert_int_equal(entry->open("example=tiny+wide,items=5,scale=0.5,width=9,hidden=8,classes=7",
                                 &stream, &error),
                     0);
    assert_int_equal(entry->next(stream, 0, values, &first), 1);
    assert_true(values[GNN_NODES] == 300);
    assert_int_equal(entry->next(stream, 3, values, &input), 1);
    assert_true(values[GNN_NODES] == 10000 && input != first);
    assert_int_equal(entry->next(stream, 4, values, &input), 1);
    assert_int_equal(input, first);
    assert_int_equal(entry->next(stream, 5, values, &input), 0);
    entry->close(stream);
    assert_int_equal(entry->open("drift=1,nodes=1000,items=21", &stream, &error), 0);
    for (uint64_t item = 0; item < 21; item++) {
        assert_int_equal(entry->next(stream, item, values, &input), 1);
        assert_true(item <= 10 ? values[GNN_EDGES] >= before : values[GNN_EDGES] <= before);
        before = values[GNN_EDGES];
        most = fmax(most, before);
        last = before;
    }
    assert_true(most == 400e3 && last == 4e3);
    entry->close(stream);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "example=cora",  "items=0",           "drift=1,calibrate=1",
        "scale=-1",      "nonsense=1",        "drift=1,degree_low=9,degree_high=3",
        "example=tiny+", "example=tiny+wide", "width=0.5"};
    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sy_error error = {0};
        void *stream = NULL;
        assert_int_equal(table->pipelines[0].open(bad[i], &stream, &error), -EINVAL);
        assert_null(stream);
        assert_true(error.message[0] && error.hint[0]);
    }
}

static void bad_calls_are_refused(void **state) {
    (void)state;
    float memory[64] = {0};
    struct sy_argument arguments[3] = {
        {memory, 64, SY_READ}, {memory, 64, SY_READ}, {memory, 64, SY_WRITE}};
    static const double wrong[][4] = {
        {4, 4, 5, 0}, {0, 4, 4, 0}, {4, 4, 4, 3}, {4.5, 4, 4, 0}, {-1, 4, 4, 0}};
    const struct sy_kernel_entry *gemm = find_kernel(table, "sgemm");
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char message[SY_CALL_MESSAGE_MAX] = "";
        struct sy_call call = {.entry = gemm,
                               .arguments = arguments,
                               .argument_count = 3,
                               .parameters = wrong[i],
                               .parameter_count = 4,
                               .part_count = 1,
                               .message = message};
        assert_int_equal(gemm->functions[SY_FLAVOUR_C](&call), -EINVAL);
        assert_true(message[0]);
        call.parameter_count = 3;
        assert_int_equal(gemm->functions[SY_FLAVOUR_C](&call), -EINVAL);
        assert_true(isnan(gemm->fpga_model_ns(&call)));
    }
    static const double sizes[] = {2, 4, 1, 0, 0, 0};
    static uint32_t graph[] = {0, 1, 2, 0, 1, 0, 0, 0, 0, 0, 0};
    char message[SY_CALL_MESSAGE_MAX] = "";
    const struct sy_kernel_entry *spmm = find_kernel(table, "spmm");
    struct sy_call call = {.entry = spmm,
                           .arguments = arguments,
                           .argument_count = 3,
                           .parameters = sizes,
                           .parameter_count = 6,
                           .part_count = 1,
                           .message = message};
    arguments[0] = (struct sy_argument){graph, sizeof(graph), SY_READ};
    assert_int_equal(spmm->functions[SY_FLAVOUR_C](&call), -EINVAL);
    assert_true(message[0]);
}

int main(int argc, char **argv) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pipeline_is_right),
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(corruption_is_noticed),
        cmocka_unit_test(tables_and_texts_agree),
        cmocka_unit_test(examples_are_measured),
        cmocka_unit_test(streams_follow_their_arguments),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(bad_calls_are_refused),
    };
    static const struct CMUnitTest there[] = {cmocka_unit_test(every_pipeline_is_right),
                                              cmocka_unit_test(corruption_is_noticed)};
    table = open_plugin("gnn");
    elsewhere = argc > 1 && strcmp(argv[1], "c") != 0;
    if (!table || (elsewhere && !open_device(argv[1], &device))) {
        return 77;
    }
    int failed = elsewhere ? cmocka_run_group_tests(there, NULL, NULL)
                           : cmocka_run_group_tests(tests, NULL, NULL);
    if (elsewhere) {
        close_device(&device);
    }
    return failed;
}
