/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of kernels and their file: the newest of each, merged, bounded, never half written.
 */
#include "engine/times.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = {"flops", "bytes", "rows"};

static struct sy_cost_sample sample_of(const char *kernel, uint32_t width, const double *costs,
                                       double time_ns, double watts) {
    return (struct sy_cost_sample){.kernel = kernel,
                                   .class_name = "cpu",
                                   .source = "measured",
                                   .width = width,
                                   .cost_count = 3,
                                   .cost_names = names,
                                   .costs = costs,
                                   .time_ns = time_ns,
                                   .watts = watts};
}

static void add(struct sy_times *times, const char *kernel, double size, double time_ns,
                double watts) {
    const double costs[] = {size, 2 * size, 3};
    const struct sy_cost_sample sample = sample_of(kernel, 2, costs, time_ns, watts);
    assert_int_equal(sy_times_add(times, &sample, "here"), 0);
}

static char *text_of(const struct sy_times *times) {
    struct sy_buffer buffer = {0};
    sy_times_write(times, &buffer);
    assert_false(buffer.failed);
    return buffer.text;
}

static void the_newest_counts(void **state) {
    (void)state;
    struct sy_times *times = sy_times_create();
    add(times, "a", 10, 100, 5);
    add(times, "a", 20, 200, NAN);
    add(times, "a", 10, 150, NAN); /* again, and of its power nothing is known */
    assert_int_equal(sy_times_count(times), 2);
    char *text = text_of(times);
    assert_non_null(strstr(text, "measured,a,cpu,2,150,5,"));
    assert_null(strstr(text, ",100,5,"));
    free(text);
    sy_times_destroy(times);
    sy_times_destroy(NULL);
}

static char folder[] = "/tmp/symph-test-times-XXXXXX";
static char path[256];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/deep/machine.times.csv", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char name[600];
    const char *const ends[] = {"", ".lock", ".bad"};
    for (size_t i = 0; i < SY_COUNT(ends); i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    snprintf(name, sizeof name, "%s/deep", folder);
    rmdir(name);
    return rmdir(folder);
}

static struct sy_times *read_back(void) {
    struct sy_times *times = sy_times_create();
    struct sy_error error = {0};
    assert_int_equal(sy_samples_read_file(path, sy_times_add, times, &error), 0);
    return times;
}

static void merging_loses_nothing(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_times *one = sy_times_create(), *two = sy_times_create();
    assert_int_equal(sy_times_merge(one, path, &error), 0); /* nothing to say: no file */
    assert_int_not_equal(access(path, F_OK), 0);
    add(one, "a", 10, 100, 5);
    add(one, "b", 10, 100, NAN);
    add(two, "a", 10, 90, NAN);
    add(two, "c", 10, 300, NAN);
    assert_int_equal(sy_times_merge(one, path, &error), 0);
    assert_int_equal(sy_times_merge(two, path, &error), 0);
    struct sy_times *all = read_back();
    assert_int_equal(sy_times_count(all), 3);
    char *text = text_of(all);
    assert_non_null(strstr(text, "measured,a,cpu,2,90,5,"));
    free(text);
    sy_times_destroy(one);
    sy_times_destroy(two);
    sy_times_destroy(all);
}

static void add_built(struct sy_times *times, const char *kernel, double size, uint64_t build) {
    const double costs[] = {size, 2 * size, 3};
    struct sy_cost_sample sample = sample_of(kernel, 2, costs, 100, NAN);
    sample.build = build;
    assert_int_equal(sy_times_add(times, &sample, "here"), 0);
}

/* Once a kernel was built anew, what its older builds took goes, in all sizes. */
static void older_builds_go(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_times *one = sy_times_create(), *two = sy_times_create();
    add_built(one, "x", 10, 1);
    add_built(one, "x", 20, 1);
    add_built(one, "y", 10, 1);
    add_built(two, "x", 20, 2);
    unlink(path);
    assert_int_equal(sy_times_merge(one, path, &error), 0);
    assert_int_equal(sy_times_merge(two, path, &error), 0);
    struct sy_times *all = read_back();
    assert_int_equal(sy_times_count(all), 2);
    char *text = text_of(all);
    assert_non_null(strstr(text, "measured,x,cpu,2,100,,here,0000000000000002,20,"));
    assert_non_null(strstr(text, "measured,y,cpu,2,100,,here,0000000000000001,10,"));
    free(text);
    sy_times_destroy(one);
    sy_times_destroy(two);
    sy_times_destroy(all);
    unlink(path);
}

static void a_damaged_file_is_set_aside(void **state) {
    (void)state;
    struct sy_error error = {0};
    assert_int_equal(sy_write_file(path, "no table\n", 9, &error), 0);
    struct sy_times *times = sy_times_create();
    add(times, "a", 10, 100, NAN);
    assert_int_equal(sy_times_merge(times, path, &error), 0);
    struct sy_times *all = read_back();
    assert_int_equal(sy_times_count(all), 1);
    char bad[300];
    snprintf(bad, sizeof bad, "%s.bad", path);
    assert_int_equal(access(bad, F_OK), 0);
    sy_times_destroy(times);
    sy_times_destroy(all);
}

static void the_file_stays_small(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_times *times = sy_times_create();
    for (int i = 0; i < SY_TIMES_MAX + 100; i++) {
        add(times, "many", i + 1, 100 + i, NAN);
    }
    assert_int_equal(sy_times_merge(times, path, &error), 0);
    struct sy_times *all = read_back();
    assert_int_equal(sy_times_count(all), SY_TIMES_MAX);
    char *text = text_of(all);
    assert_null(strstr(text, ",many,cpu,2,100,"));
    assert_non_null(strstr(text, ",many,cpu,2,8291,"));
    free(text);
    sy_times_destroy(times);
    sy_times_destroy(all);
}

static void teaching_an_estimator(void **state) {
    (void)state;
    struct sy_times *times = sy_times_create();
    add(times, "a", 10, 12345, NAN);
    struct sy_estimator *estimator = sy_estimator_create();
    assert_int_equal(sy_times_teach(times, estimator), 0);
    const double costs[] = {10, 20, 3};
    struct sy_guess guess;
    assert_int_equal(sy_estimator_guess(estimator, "a", "cpu", 2, costs, 3, &guess), 0);
    assert_true(fabs(guess.median_ns / 12345 - 1) < 0.05);
    sy_estimator_destroy(estimator);
    sy_times_destroy(times);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_counts),    cmocka_unit_test(merging_loses_nothing),
        cmocka_unit_test(older_builds_go),      cmocka_unit_test(a_damaged_file_is_set_aside),
        cmocka_unit_test(the_file_stays_small), cmocka_unit_test(teaching_an_estimator),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
