/* SPDX-License-Identifier: Apache-2.0
 *
 * Two halves of somebody's graphs: the same graph is in one only, whatever the order and however
 * often it was run; worlds of training and validation have graphs of one half, those of test of the
 * other, with the times, the noise and the arrivals that were recorded.
 */
#include "train/train.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KINDS = 9, MOST = 40 };

/* Graphs of KINDS shapes, the first of them three times. */
struct fixture {
    struct sy_traced traces;
    struct sy_machine *machine;
    struct sy_traced_graph graphs[MOST];
    struct sy_graph *own[MOST];
    struct sy_traced_stream stream;
    struct sy_job jobs[MOST];
};

static void add(struct fixture *f, const char *spec) {
    uint32_t i = f->traces.graph_count++;
    assert_int_equal(sy_graph_generate(spec, &f->own[i], NULL), 0);
    f->graphs[i] =
        (struct sy_traced_graph){.graph = f->own[i], .name = f->own[i]->name, .file = "here"};
}

static struct fixture *open_fixture(uint32_t kinds, uint32_t repeats) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(sy_machine_parse("cpu:4 dram:40GB/s", &f->machine, NULL), 0);
    f->traces.machine = f->machine;
    f->traces.graphs = f->graphs;
    for (uint32_t i = 0; i < kinds + repeats; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "layered:4,depth=5,seed=%u", i < kinds ? i : 0);
        add(f, spec);
    }
    return f;
}

static void close_fixture(struct fixture *f) {
    for (uint32_t i = 0; i < f->traces.graph_count; i++) {
        sy_graph_destroy(f->own[i]);
    }
    sy_machine_destroy(f->machine);
    free(f);
}

/* A job of each graph, one a second. */
static void add_stream(struct fixture *f) {
    for (uint32_t i = 0; i < f->traces.graph_count; i++) {
        f->jobs[i] = (struct sy_job){.graph = f->own[i],
                                     .arrive_ns = 1e9 * i,
                                     .tenant = i,
                                     .weight = i + 1.0,
                                     .time_ns = f->graphs[i].time_ns};
    }
    f->stream = (struct sy_traced_stream){f->jobs, f->traces.graph_count};
    f->traces.streams = &f->stream;
    f->traces.stream_count = 1;
}

static void split(struct fixture *f, uint64_t seed) {
    struct sy_error error = {0};
    if (sy_traced_split(&f->traces, seed, &error)) {
        fail_msg("%s", error.message);
    }
}

static struct sy_catalogue *catalogue_of(const struct fixture *f, double singles) {
    struct sy_catalogue_options options = {.traces = &f->traces, .single_share = singles};
    struct sy_catalogue *catalogue = NULL;
    assert_int_equal(sy_catalogue_open(&options, &catalogue, NULL), 0);
    return catalogue;
}

static struct sy_scenario *world_of(const struct sy_catalogue *catalogue, enum sy_split part,
                                    uint32_t index) {
    struct sy_scenario *world = NULL;
    struct sy_error error = {0};
    if (sy_scenario_create(catalogue, sy_scenario_number(part, 1, index), &world, &error)) {
        fail_msg("%s", error.message);
    }
    return world;
}

/* --- the split ----------------------------------------------------------------------------------
 */
static void the_same_graph_is_in_one_half(void **state) {
    struct fixture *f = open_fixture(KINDS, 2);
    uint32_t counts[SY_HALF_COUNT] = {0};
    (void)state;
    split(f, 1);
    assert_int_equal(f->traces.shape_count, KINDS);
    for (uint32_t i = 0; i < f->traces.graph_count; i++) {
        counts[f->graphs[i].half]++;
        assert_int_equal(f->graphs[i].shape, i < KINDS ? i : 0);
        assert_int_equal(f->graphs[i].half, f->graphs[f->graphs[i].shape].half);
        assert_true(f->graphs[i].area_ns > 0);
    }
    assert_in_range(counts[SY_HALF_HELD_OUT], 5, 6); /* of 11 */
    close_fixture(f);
}

static void neither_order_nor_times_matter(void **state) {
    struct fixture *f = open_fixture(KINDS, 0), *back = open_fixture(0, 0);
    double times[64];
    (void)state;
    for (uint32_t i = KINDS; i-- > 0;) {
        add(back, f->own[i]->name);
    }
    for (uint32_t i = 0; i < SY_COUNT(times); i++) {
        times[i] = 1e6;
    }
    assert_true(f->own[0]->task_count <= SY_COUNT(times));
    back->graphs[KINDS - 1].time_ns = times;
    split(f, 7);
    split(back, 7);
    assert_true(f->traces.fingerprint == back->traces.fingerprint);
    for (uint32_t i = 0; i < KINDS; i++) {
        assert_int_equal(f->graphs[i].half, back->graphs[KINDS - 1 - i].half);
    }
    close_fixture(f);
    close_fixture(back);
}

static void the_seed_matters(void **state) {
    struct fixture *f = open_fixture(KINDS, 0);
    uint32_t different = 0;
    (void)state;
    split(f, 1);
    uint64_t first = f->traces.fingerprint;
    for (uint64_t seed = 2; seed < 6; seed++) {
        split(f, seed);
        different += f->traces.fingerprint != first;
        split(f, 1);
        assert_true(f->traces.fingerprint == first);
    }
    assert_true(different > 0);
    close_fixture(f);
}

static void what_cannot_be_used(void **state) {
    struct fixture *f = open_fixture(0, 0);
    struct sy_error error = {0};
    (void)state;
    assert_int_equal(sy_traced_split(&f->traces, 1, &error), -EINVAL);
    add(f, "independent:1");
    assert_int_equal(sy_traced_split(&f->traces, 1, &error), -EINVAL);
    assert_string_equal(error.file, "here");
    assert_non_null(strstr(error.message, "one task"));
    add(f, "independent:2"); /* a small one among others is fine */
    split(f, 1);
    double never[] = {INFINITY, INFINITY};
    f->graphs[1].time_ns = never;
    assert_int_equal(sy_traced_split(&f->traces, 1, &error), -EINVAL);
    assert_string_equal(error.file, "here");
    assert_non_null(strstr(error.message, "no device"));
    close_fixture(f);
}

/* --- worlds -------------------------------------------------------------------------------------
 */
static enum sy_half half_of(const struct fixture *f, const struct sy_graph *graph) {
    uint32_t i = 0;
    while (f->own[i] != graph) {
        i++;
        assert_true(i < f->traces.graph_count);
    }
    return f->graphs[i].half;
}

static void worlds_keep_to_their_half(void **state) {
    struct fixture *f = open_fixture(KINDS, 2);
    (void)state;
    add_stream(f);
    split(f, 3);
    struct sy_catalogue *catalogue = catalogue_of(f, 0.3);
    for (uint32_t i = 0; i < 300; i++) {
        enum sy_split part = (enum sy_split)(i % 3);
        struct sy_scenario *world = world_of(catalogue, part, i);
        const struct sy_workload *w = world->workload;
        assert_ptr_equal(w->machine, f->machine);
        assert_int_equal(world->stream, w->job_count > 1);
        for (uint32_t j = 0; j < w->job_count; j++) {
            assert_int_equal(half_of(f, w->jobs[j].graph),
                             part == SY_SPLIT_TEST ? SY_HALF_HELD_OUT : SY_HALF_TRAINING);
        }
        sy_scenario_destroy(world);
    }
    sy_catalogue_close(catalogue);
    close_fixture(f);
}

/* Weights tell which job of the record it is. */
static bool is_recorded(const struct sy_workload *w) {
    for (uint32_t j = 1; j < w->job_count; j++) {
        if (w->jobs[j].weight <= w->jobs[j - 1].weight) {
            return false;
        }
    }
    return w->job_count > 1 && w->jobs[0].arrive_ns == 0;
}

static void jobs_come_as_recorded(void **state) {
    struct fixture *f = open_fixture(KINDS, 2);
    uint32_t recorded = 0;
    double all_ns = 0, kept_ns = 0;
    (void)state;
    add_stream(f);
    split(f, 3);
    for (uint32_t i = 0; i < f->traces.graph_count; i++) {
        all_ns += f->graphs[i].area_ns;
        kept_ns += f->graphs[i].half == SY_HALF_HELD_OUT ? f->graphs[i].area_ns : 0;
    }
    struct sy_catalogue *catalogue = catalogue_of(f, 0);
    for (uint32_t i = 0; i < 100; i++) {
        struct sy_scenario *world = world_of(catalogue, SY_SPLIT_TEST, i);
        const struct sy_workload *w = world->workload;
        if (is_recorded(w)) {
            double seconds = w->jobs[w->job_count - 1].weight - w->jobs[0].weight;
            double arrive_ns = w->jobs[w->job_count - 1].arrive_ns;
            assert_true(fabs(arrive_ns / (1e9 * seconds * kept_ns / all_ns) - 1) < 1e-9);
            recorded++;
        }
        sy_scenario_destroy(world);
    }
    assert_in_range(recorded, 25, 75);
    sy_catalogue_close(catalogue);
    close_fixture(f);
}

/* Training has the beginning of the stream, the test its end. */
static void one_graph_alone(void **state) {
    struct fixture *f = open_fixture(1, 9);
    (void)state;
    add_stream(f);
    split(f, 1);
    assert_int_equal(f->traces.shape_count, 1);
    struct sy_catalogue *catalogue = catalogue_of(f, 0);
    for (uint32_t i = 0; i < 60; i++) {
        enum sy_split part = i % 2 ? SY_SPLIT_TEST : SY_SPLIT_VALIDATION;
        struct sy_scenario *world = world_of(catalogue, part, i);
        const struct sy_workload *w = world->workload;
        if (is_recorded(w)) {
            assert_in_range((uint32_t)w->jobs[0].weight, i % 2 ? 6 : 1, i % 2 ? 10 : 5);
            assert_in_range((uint32_t)w->jobs[w->job_count - 1].weight, 1, i % 2 ? 10 : 5);
        }
        sy_scenario_destroy(world);
    }
    sy_catalogue_close(catalogue);
    close_fixture(f);
}

static void times_and_noise_as_measured(void **state) {
    struct fixture *f = open_fixture(2, 0);
    double times[64], ratio[] = {0.5, 1, 3};
    (void)state;
    for (uint32_t i = 0; i < SY_COUNT(times); i++) {
        times[i] = 1e6 + i;
    }
    f->graphs[0].time_ns = f->graphs[1].time_ns = times;
    f->traces.noise = (struct sy_noise_table){ratio, 3};
    split(f, 1);
    struct sy_catalogue *catalogue = catalogue_of(f, 0.5);
    for (uint32_t i = 0; i < 40; i++) {
        struct sy_scenario *world = world_of(catalogue, SY_SPLIT_TRAINING, i);
        const struct sy_workload *w = world->workload;
        assert_ptr_equal(world->options.noise_table, &f->traces.noise);
        assert_true(world->options.spike_probability == 0);
        for (uint32_t t = 0; t < w->task_count; t++) {
            uint32_t first = w->job_first_task[w->task_job[t]];
            assert_true(w->time_ns[t] == times[t - first]);
        }
        sy_scenario_destroy(world);
    }
    sy_catalogue_close(catalogue);
    close_fixture(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_graph_is_in_one_half),
        cmocka_unit_test(neither_order_nor_times_matter),
        cmocka_unit_test(the_seed_matters),
        cmocka_unit_test(what_cannot_be_used),
        cmocka_unit_test(worlds_keep_to_their_half),
        cmocka_unit_test(jobs_come_as_recorded),
        cmocka_unit_test(one_graph_alone),
        cmocka_unit_test(times_and_noise_as_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
