/* SPDX-License-Identifier: Apache-2.0
 *
 * Items through a session in virtual time: none is lost, all are right, plans follow the data.
 */
#include "fake_session.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* GPUs are fast from 1000 elements on; cores split well. */
static double usual_ns(uint32_t kernel, uint32_t flavour, uint32_t width, double n) {
    (void)kernel;
    return flavour == SY_FLAVOUR_C ? 1000 + 100 * n / width : 90000 + n;
}

struct scene {
    struct fake fake;
    struct fake_stream stream;
    struct sy_pipeline *pipeline;
    struct sy_system system;
    struct sy_session_place cores[FAKE_CORES], gpus[FAKE_GPUS];
    struct sy_arena *arena;
    char arguments[32];
    struct sy_stream_options options;
    struct sy_stream_report report;
    struct sy_error error;
    uint32_t samples, models;
    double sample_ns[4][2][FAKE_CORES + 1]; /* [kernel][class][width] */
};

static bool runs(const void *user, const char *kernel, uint32_t class_index) {
    (void)user;
    return class_index == 0 || strcmp(kernel, "less") != 0;
}

static int note_sample(void *user, const struct sy_cost_sample *sample) {
    struct scene *scene = user;
    static const char *const names[] = {"scale", "shift", "less"};
    assert_non_null(sample->input);
    scene->samples++;
    scene->models += sample->modelled;
    for (uint32_t k = 0; k < 3; k++) {
        if (strcmp(sample->kernel, names[k]) == 0 && !sample->modelled) {
            scene->sample_ns[k][strcmp(sample->class_name, "gpu") == 0][sample->features.width] =
                sample->time_ns;
        }
    }
    return 0;
}

static struct sy_system_class class_of(const char *name, enum sy_device_kind kind, uint32_t count) {
    bool cpu = kind == SY_CPU;
    return (struct sy_system_class){.name = name,
                                    .kind = kind,
                                    .device_count = count,
                                    .width_max = cpu ? count : 1,
                                    .slowdown = 1,
                                    .idle_watts = 1,
                                    .busy_watts = 10,
                                    .price_per_hour = 1,
                                    .memory_bytes = INFINITY,
                                    .roofline = {name, 1e9, 1e9, 1000, 9}};
}

static struct scene *open_scene(void) {
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    fake_init(&scene->fake);
    scene->fake.time_ns = usual_ns;
    scene->stream = (struct fake_stream){.items = 40,
                                         .inputs = 1,
                                         .sizes = {100},
                                         .wrong = UINT64_MAX,
                                         .bad_fill = UINT64_MAX,
                                         .bad_next = UINT64_MAX,
                                         .fake = &scene->fake};
    assert_int_equal(sy_pipeline_read_text("fake", fake_text, strlen(fake_text), &scene->pipeline,
                                           &scene->error),
                     0);
    scene->system.class_count = 2;
    scene->system.classes[0] = class_of("cpu", SY_CPU, FAKE_CORES);
    scene->system.classes[1] = class_of("gpu", SY_GPU, FAKE_GPUS);
    for (uint32_t i = 0; i < 9; i++) {
        bool same = i % 3 != 1 && i / 3 != 1;
        scene->system.links[i] = (struct sy_plan_link){.latency_ns = same ? 0 : 1000,
                                                       .bytes_per_s = same ? INFINITY : 1e10};
    }
    scene->system.overlap = true;
    scene->system.runs = runs;
    for (uint32_t i = 0; i < FAKE_CORES; i++) {
        scene->cores[i] = (struct sy_session_place){SY_FLAVOUR_C, i};
    }
    for (uint32_t i = 0; i < FAKE_GPUS; i++) {
        scene->gpus[i] = (struct sy_session_place){SY_FLAVOUR_CUDA, i};
    }
    scene->arena = sy_arena_create();
    snprintf(scene->arguments, sizeof scene->arguments, "%llx",
             (unsigned long long)(uintptr_t)&scene->stream);
    scene->options = (struct sy_stream_options){
        .source = &fake_pipeline,
        .arguments = scene->arguments,
        .pipeline = scene->pipeline,
        .system = &scene->system,
        .places = {scene->cores, scene->gpus},
        .store = sy_store_create(),
        .replan = sy_replan_usual,
        .host_bytes = INFINITY,
        .check = SY_STREAM_CHECK_ALL,
        .user = scene,
    };
    for (uint32_t c = 0; c < 2; c++) {
        assert_int_equal(
            sy_store_set_roofline(scene->options.store, &scene->system.classes[c].roofline), 0);
    }
    return scene;
}

static void close_scene(struct scene *scene) {
    sy_store_close(scene->options.store);
    sy_pipeline_destroy(scene->pipeline);
    sy_arena_destroy(scene->arena);
    free(scene);
}

static int run(struct scene *scene) {
    return sy_stream_run(&scene->fake.base, &scene->options, scene->arena, &scene->report,
                         &scene->error);
}

/* All items ended, all data and memory were given back, phases add up. */
static void check_whole(struct scene *scene) {
    const struct sy_stream_report *report = &scene->report;
    uint64_t items = 0;
    assert_int_equal(report->item_count, scene->stream.items);
    assert_int_equal(scene->fake.submitted, 3 * scene->stream.items);
    assert_int_equal(scene->fake.alive_count, 0);
    assert_int_equal(scene->fake.allocated, 0);
    assert_int_equal(scene->stream.constants, 1);
    assert_true(report->phase_count >= 1);
    assert_int_equal(report->phases[0].first_item, 0);
    assert_string_equal(report->phases[0].cause, sy_replan_cause_name(SY_REPLAN_FIRST));
    for (uint32_t p = 0; p < report->phase_count; p++) {
        assert_true(p == 0 || report->phases[p].first_item > report->phases[p - 1].first_item);
        uint64_t end =
            p + 1 < report->phase_count ? report->phases[p + 1].first_item : scene->stream.items;
        assert_int_equal(report->phases[p].item_count, end - report->phases[p].first_item);
        items += report->phases[p].item_count;
    }
    assert_int_equal(items, scene->stream.items);
    assert_true(report->rate > 0 && report->latency_p50_ns > 0);
    assert_true(report->latency_p99_ns >= report->latency_p50_ns);
}

static void all_items_end_whatever_the_window(void **state) {
    (void)state;
    for (uint32_t window = 0; window < 9; window++) {
        struct scene *scene = open_scene();
        scene->options.window = window;
        assert_int_equal(run(scene), 0);
        check_whole(scene);
        assert_int_equal(scene->stream.checked, 40);
        assert_int_equal(scene->report.checked_count, 40);
        assert_true(scene->report.result_error == 0 && scene->report.result_tolerance == 1e-9);
        if (window) {
            assert_int_equal(scene->report.window, window);
        }
        close_scene(scene);
    }
}

static void inputs_are_filled_once_and_move_each_time(void **state) {
    (void)state;
    struct scene *scene = open_scene();
    scene->stream.inputs = 4;
    for (int i = 0; i < 4; i++) {
        scene->stream.sizes[i] = 50 * (i + 1);
    }
    assert_int_equal(run(scene), 0);
    check_whole(scene);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(scene->stream.filled[i], 1);
    }
    /* Per item an input, two between and an output; the constant once. */
    assert_int_equal(scene->fake.added_count, 4 * 40 + 1);
    close_scene(scene);
}

/* The same without room: forgotten and filled again, still right. */
static void little_memory_is_enough(void **state) {
    (void)state;
    struct scene *scene = open_scene();
    scene->stream.inputs = 4;
    for (int i = 0; i < 4; i++) {
        scene->stream.sizes[i] = 100;
    }
    scene->options.host_bytes = 1700; /* two inputs at most, and one item */
    assert_int_equal(run(scene), 0);
    check_whole(scene);
    assert_int_equal(scene->report.window, 1);
    close_scene(scene);
}

/* Memory of devices that the plan does not use is no limit, even if there are none of them. */
static void devices_that_are_not_used_do_not_count(void **state) {
    (void)state;
    for (uint32_t count = 0; count < 2; count++) {
        struct scene *scene = open_scene();
        scene->system.classes[1].device_count = count;
        scene->system.classes[1].memory_bytes = 1;
        scene->options.replan.fixed = "scale+shift+less@cpu:1x2";
        assert_int_equal(run(scene), 0);
        check_whole(scene);
        assert_int_equal(scene->report.window, 4);
        close_scene(scene);
    }
}

static void few_items_have_no_steady_rate(void **state) {
    (void)state;
    for (uint32_t items = 3; items < 16; items++) {
        struct scene *scene = open_scene();
        scene->options.window = 4;
        scene->stream.items = items;
        assert_int_equal(run(scene), 0);
        check_whole(scene);
        assert_int_equal(isnan(scene->report.steady_rate), items < 8);
        close_scene(scene);
    }
}

static void a_fixed_plan_is_kept_to(void **state) {
    (void)state;
    struct scene *scene = open_scene();
    scene->options.replan.fixed = "scale@gpu:1x2 | shift@cpu:2 | less@cpu:1x2";
    assert_int_equal(run(scene), 0);
    check_whole(scene);
    assert_int_equal(scene->report.phase_count, 1);
    assert_string_equal(scene->report.phases[0].plan, "scale@gpu:1x2 | shift@cpu:2 | less@cpu:1x2");
    /* Groups take turns; parts are on both cores of their stage, and stages share none. */
    for (uint32_t g = 0; g < 2; g++) {
        assert_int_equal(scene->fake.runs[0][SY_FLAVOUR_CUDA][g], 20);
        assert_int_equal(scene->fake.runs[1][SY_FLAVOUR_C][g], 40);
        assert_int_equal(scene->fake.runs[2][SY_FLAVOUR_C][2 + g], 20);
    }
    assert_int_equal(scene->fake.splits, 40);
    close_scene(scene);
}

static void lanes_get_their_shares(void **state) {
    (void)state;
    struct scene *scene = open_scene();
    /* One lane has a core, the other one three: the second is about three times as fast. */
    scene->options.replan.fixed = "scale+shift+less@cpu || scale+shift+less@cpu:1x3";
    scene->options.replan.request.side_by_side = true;
    assert_int_equal(run(scene), 0);
    check_whole(scene);
    assert_int_equal(scene->fake.runs[0][SY_FLAVOUR_C][0], 10);
    for (uint32_t c = 1; c < 4; c++) {
        assert_int_equal(scene->fake.runs[0][SY_FLAVOUR_C][c], 10);
    }
    close_scene(scene);
}

static bool uses_gpu(const struct sy_stream_report *report, uint32_t phase) {
    return strstr(report->phases[phase].plan, "@gpu") != NULL;
}

/* Small items suit cores, large ones GPUs: the plan follows, and what is learned is told. */
static void plans_follow_the_data(void **state) {
    (void)state;
    struct scene *scene = open_scene();
    scene->stream.items = 120;
    scene->stream.inputs = 2;
    scene->stream.sizes[0] = 100;
    scene->stream.sizes[1] = 100000;
    assert_int_equal(run(scene), 0);
    check_whole(scene);
    const struct sy_stream_report *report = &scene->report;
    for (uint32_t p = 0; p < report->phase_count; p++) {
        print_message("# item %llu, %s: %s\n", (unsigned long long)report->phases[p].first_item,
                      report->phases[p].cause, report->phases[p].plan);
    }
    assert_true(report->phase_count >= 2);
    uint32_t last_small = 0;
    for (uint32_t p = 0; p < report->phase_count; p++) {
        last_small = report->phases[p].first_item < 60 ? p : last_small;
    }
    assert_false(uses_gpu(report, last_small));
    assert_true(uses_gpu(report, report->phase_count - 1));
    /* What was learned is what the world is, and is there to be kept. */
    uint32_t large = 0;
    for (uint32_t i = 0; i < sy_store_count(scene->options.store); i++) {
        const struct sy_cell *cell = sy_store_at(scene->options.store, i);
        assert_true(cell->sample_count > 0 && cell->saved_count == 0);
        large += strcmp(cell->kernel, "scale") == 0 && strcmp(cell->class_name, "gpu") == 0 &&
                 cell->features.width == 1 && cell->median_ns == 90000 + 100000;
    }
    assert_int_equal(large, 1);
    close_scene(scene);
}

static void wrong_results_are_told(void **state) {
    (void)state;
    for (int check = SY_STREAM_CHECK_SOME; check <= SY_STREAM_CHECK_ALL; check++) {
        struct scene *scene = open_scene();
        scene->options.check = (enum sy_stream_check)check;
        scene->stream.wrong = 31;
        assert_int_equal(run(scene), 0);
        check_whole(scene);
        assert_true(scene->report.result_error == 0.5);
        assert_int_equal(scene->report.worst_item, 31);
        close_scene(scene);
    }
    struct scene *scene = open_scene();
    scene->options.check = SY_STREAM_CHECK_NONE;
    assert_int_equal(run(scene), 0);
    assert_true(isnan(scene->report.result_error) && scene->stream.checked == 0);
    close_scene(scene);
}

static void expect(struct scene *scene, int code, const char *words) {
    int got = run(scene);
    if (got != code || !strstr(scene->error.message, words)) {
        fail_msg("%d \"%s\", not %d \"%s\"", got, scene->error.message, code, words);
    }
    assert_int_equal(scene->fake.task_count, 0); /* nothing is under way any more */
    assert_int_equal(scene->fake.alive_count, 0);
    assert_int_equal(scene->fake.allocated, 0);
    close_scene(scene);
}

static void failures_are_named(void **state) {
    (void)state;
    struct scene *scene = open_scene();
    scene->stream.bad_next = 7;
    expect(scene, -EPROTO, "cannot make item 7");
    scene = open_scene();
    scene->stream.inputs = 4;
    for (int i = 0; i < 4; i++) {
        scene->stream.sizes[i] = 100;
    }
    scene->stream.bad_fill = 20;
    expect(scene, -ENODATA, "cannot fill item 20");
    scene = open_scene();
    scene->stream.items = 0;
    expect(scene, -EINVAL, "has no items");
    scene = open_scene();
    scene->options.replan.fixed = "scale+shift+less@fpga";
    expect(scene, -EINVAL, "fpga");
    scene = open_scene();
    scene->options.replan.request.bounds.latency_ns = 1;
    expect(scene, -ERANGE, "latency");
    scene = open_scene();
    scene->fake.fail_at = 50;
    assert_int_equal(run(scene), -EIO); /* the session itself says why */
    assert_int_equal(scene->fake.alive_count, 0);
    assert_int_equal(scene->fake.allocated, 0);
    close_scene(scene);
}

static double model_ns(const struct sy_call *call) {
    assert_true(call->part_count == 1 && call->argument_count == 3);
    assert_non_null(call->arguments[2].pointer);
    return 123 * call->parameters[0];
}

static void calibration_measures_every_shape(void **state) {
    (void)state;
    struct scene *scene = open_scene();
    const struct sy_kernel_entry with = {.fpga_model_ns = model_ns}, without = {.name = "none"};
    const struct sy_kernel_entry *entries[] = {&with, &without, &with};
    const struct sy_stream_calibration calibration = {
        .stream = scene->options, .entries = entries, .learned = note_sample, .input_max = 8};
    assert_int_equal(sy_stream_calibrate(&scene->fake.base, &calibration, &scene->error), 0);
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t w = 1; w <= 4; w *= 2) {
            double want = k == 2 && w > 1 ? 0 : usual_ns(k, SY_FLAVOUR_C, w, 100);
            assert_true(scene->sample_ns[k][0][w] == want);
        }
        assert_true(scene->sample_ns[k][1][1] ==
                    (k == 2 ? 0 : usual_ns(k, SY_FLAVOUR_CUDA, 1, 100)));
    }
    assert_int_equal(scene->models, 2);
    assert_int_equal(scene->samples, 2 + 3 + 3 + 1 + 2); /* models, widths, GPUs */
    assert_int_equal(scene->fake.alive_count, 0);
    assert_int_equal(scene->fake.allocated, 0);
    close_scene(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_items_end_whatever_the_window),
        cmocka_unit_test(inputs_are_filled_once_and_move_each_time),
        cmocka_unit_test(little_memory_is_enough),
        cmocka_unit_test(devices_that_are_not_used_do_not_count),
        cmocka_unit_test(few_items_have_no_steady_rate),
        cmocka_unit_test(a_fixed_plan_is_kept_to),
        cmocka_unit_test(lanes_get_their_shares),
        cmocka_unit_test(plans_follow_the_data),
        cmocka_unit_test(wrong_results_are_told),
        cmocka_unit_test(failures_are_named),
        cmocka_unit_test(calibration_measures_every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
