/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of times: what is written reads back the same, and what is wrong is said where it stands.
 */
#include "planner/pipeline.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct seen {
    uint32_t count;
    int stop_code;
    struct sy_buffer text; /* each as it would be written */
};

static const char *const names[] = {"flops", "bytes", "rows", "spread"};

static int see(void *user, const struct sy_cost_sample *sample, const char *input) {
    struct seen *seen = user;
    seen->count++;
    sy_samples_write(&seen->text, names, SY_COUNT(names), sample, input);
    return seen->stop_code;
}

static const char table[] =
    "# symph-times-1\n"
    "source,kernel,class,width,time_ns,watts,case,build,flops,bytes,rows,spread\n"
    "measured,spmm,cpu,4,1500.5,12.25,arxiv,,1e+09,2000000,,3.5\n"
    "model,gnn:gemm,u280,1,20000,,\"arxiv,width=256\",,1,2,3,\n"
    "measured,gemm,h200,1,0.1,0,,00c0ffee00c0ffee,0.5,2,,\n";

static void test_round_trip(void **state) {
    (void)state;
    struct seen seen = {0};
    struct sy_error error = {0};
    sy_samples_write(&seen.text, names, SY_COUNT(names), NULL, NULL);
    if (sy_samples_read_text("t", table, strlen(table), see, &seen, &error)) {
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    }
    assert_int_equal(seen.count, 3);
    struct seen again = {0};
    sy_samples_write(&again.text, names, SY_COUNT(names), NULL, NULL);
    assert_int_equal(sy_samples_read_text("t", seen.text.text, seen.text.length, see, &again, NULL),
                     0);
    assert_string_equal(again.text.text, seen.text.text);
    /* but for how numbers are spelled, what was read */
    assert_non_null(
        strstr(seen.text.text, "\nmodel,gnn:gemm,u280,1,20000,,\"arxiv,width=256\",,1"));
    assert_non_null(
        strstr(seen.text.text, "\nmeasured,gemm,h200,1,0.1,0,,00c0ffee00c0ffee,0.5,2,,\n"));
    sy_buffer_finish(&seen.text);
    sy_buffer_finish(&again.text);
}

static int check_order(void *user, const struct sy_cost_sample *sample, const char *input) {
    uint32_t *count = user;
    ++*count;
    assert_string_equal(input, "c");
    assert_string_equal(sample->source, "model");
    assert_string_equal(sample->kernel, "k");
    assert_string_equal(sample->class_name, "cpu");
    assert_int_equal(sample->width, 2);
    assert_true(sample->time_ns == 7 && isnan(sample->watts));
    assert_int_equal(sample->cost_count, 4);
    assert_string_equal(sample->cost_names[0], "flops");
    assert_string_equal(sample->cost_names[1], "bytes");
    assert_string_equal(sample->cost_names[2], "alpha");
    assert_string_equal(sample->cost_names[3], "zeta");
    assert_true(sample->costs[0] == 1 && sample->costs[1] == 2 && sample->costs[2] == 3 &&
                sample->costs[3] == 4);
    return 0;
}

/* Columns in any order; costs come in theirs, without the empty ones. */
static void test_columns(void **state) {
    (void)state;
    static const char text[] = "zeta,bytes,case,width,middle,kernel,source,watts,class,alpha,"
                               "time_ns,flops\n4,2,c,2,,k,model,,cpu,3,7,1\n";
    uint32_t count = 0;
    assert_int_equal(sy_samples_read_text("t", text, strlen(text), check_order, &count, NULL), 0);
    assert_int_equal(count, 1);
}

/* What a field cannot hold does not break the table. */
static void test_odd_names(void **state) {
    (void)state;
    double costs[] = {1, 2};
    struct sy_cost_sample sample = {.kernel = "a\"b\nc,d",
                                    .class_name = " cpu",
                                    .source = "model",
                                    .width = 1,
                                    .cost_count = 2,
                                    .cost_names = names,
                                    .costs = costs,
                                    .time_ns = 1,
                                    .watts = NAN};
    struct seen seen = {0}, again = {0};
    sy_samples_write(&seen.text, names, 2, NULL, NULL);
    sy_samples_write(&seen.text, names, 2, &sample, NULL);
    assert_int_equal(sy_samples_read_text("t", seen.text.text, seen.text.length, see, &again, NULL),
                     0);
    assert_int_equal(again.count, 1);
    assert_non_null(strstr(again.text.text, "model,\"a'b c,d\",\" cpu\",1,1,,,,1,2"));
    sy_buffer_finish(&seen.text);
    sy_buffer_finish(&again.text);
}

#define HEADER "source,kernel,class,width,time_ns,watts,case,flops,bytes\n"
static const struct mistake {
    const char *text;
    uint32_t line, column;
    const char *message, *hint;
} mistakes[] = {
    {"", 0, 0, "no column \"source\"", "time_ns"},
    {"source,kernel,class,width,time_ns,watts,case,flops\n", 1, 46, "no column \"bytes\"", "flops"},
    {"source,kernel,class,width,watts,case,flops,bytes\n", 1, 44, "no column \"time_ns\"", "width"},
    {"source,source\n", 1, 8, "column \"source\" appears twice", ""},
    {"source,kernel,class,width,time_ns,watts,case,flops,flops\n", 1, 52, "appears twice", ""},
    {HEADER "guess,k,cpu,1,1,,,1,1\n", 2, 1, "\"guess\" is not a source", "measured or model"},
    {HEADER "model,,cpu,1,1,,,1,1\n", 2, 7, "kernel is empty", ""},
    {HEADER "model,k,cpu,0,1,,,1,1\n", 2, 13, "width must be 1", ""},
    {HEADER "model,k,cpu,1.5,1,,,1,1\n", 2, 13, "width", ""},
    {HEADER "model,k,cpu,1,0,,,1,1\n", 2, 15, "time_ns", ""},
    {HEADER "model,k,cpu,1,,,,1,1\n", 2, 15, "time_ns", ""},
    {HEADER "model,k,cpu,1,1,-1,,1,1\n", 2, 17, "watts", ""},
    {HEADER "model,k,cpu,1,1,,,0,1\n", 2, 19, "flops", ""},
    {HEADER "model,k,cpu,1,1,,,1,\n", 2, 1, "bytes is empty", ""},
    {HEADER "\nmodel,k,cpu,1,1,,,1,1\nmodel,k,cpu,1,1,,,1\n", 4, 20, "ends where bytes", ""},
    {HEADER "model,k,cpu,1,1,,,1,1,9\n", 2, 23, "", ""},
    {"build," HEADER "c0ffee,model,k,cpu,1,1,,,1,1\n", 2, 1, "16 hexadecimal digits", ""},
    {"build," HEADER "00c0ffee00C0ffee,model,k,cpu,1,1,,,1,1\n", 2, 1, "16 hexadecimal", ""},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        const struct mistake *m = &mistakes[i];
        struct seen seen = {0};
        struct sy_error error = {0};
        int code = sy_samples_read_text("t.csv", m->text, strlen(m->text), see, &seen, &error);
        sy_buffer_finish(&seen.text);
        if (code != -EINVAL || error.line != m->line || error.column != m->column ||
            !strstr(error.message, m->message) || !strstr(error.hint, m->hint)) {
            fail_msg("mistake %zu, wanted %u:%u %s: %d %u:%u: %s (%s)", i, m->line, m->column,
                     m->message, code, error.line, error.column, error.message, error.hint);
        }
    }
}

static void test_too_many_costs(void **state) {
    (void)state;
    static const char text[] = "source,kernel,class,width,time_ns,watts,case,flops,bytes,a,b,c,d,"
                               "e,f,g\nmodel,k,cpu,1,1,,,1,1,1,1,1,1,1,,1\n"
                               "model,k,cpu,1,1,,,1,1,1,1,1,1,1,1,1\n";
    struct seen seen = {0};
    struct sy_error error = {0};
    assert_int_equal(sy_samples_read_text("t", text, strlen(text), see, &seen, &error), -EINVAL);
    assert_int_equal(error.line, 3); /* the one before has 8 of 9 */
    assert_non_null(strstr(error.message, "at most 8"));
    assert_int_equal(seen.count, 1);
    sy_buffer_finish(&seen.text);
}

static void test_stop(void **state) {
    (void)state;
    struct seen seen = {.stop_code = -ENOMEM};
    struct sy_error error = {0};
    assert_int_equal(sy_samples_read_text("t", table, strlen(table), see, &seen, &error), -ENOMEM);
    assert_int_equal(seen.count, 1);
    assert_int_equal(error.line, 3);
    sy_buffer_finish(&seen.text);
}

static void test_file(void **state) {
    (void)state;
    struct seen seen = {0};
    struct sy_error error = {0};
    char path[] = "/tmp/symph-times-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(sy_write_file(path, table, strlen(table), NULL), 0);
    assert_int_equal(sy_samples_read_file(path, see, &seen, NULL), 0);
    assert_int_equal(seen.count, 3);
    unlink(path);
    assert_int_equal(sy_samples_read_file(path, see, &seen, &error), -ENOENT);
    sy_buffer_finish(&seen.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_odd_names),  cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_stop),       cmocka_unit_test(test_too_many_costs),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests_name("planner samples", tests, NULL, NULL);
}
