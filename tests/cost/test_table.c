/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what kernels took: what is written reads back the same, older formats are read, and
 * what is wrong is said where it stands.
 */
#include "cost/cost.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct seen {
    uint32_t count;
    int stop_code;
    struct sy_buffer text; /* each as it would be written */
};

static const char *const names[] = {"flops", "bytes", "rows", "spread"};

static int see(void *user, const struct sy_cost_sample *sample) {
    struct seen *seen = user;
    seen->count++;
    sy_costs_write(&seen->text, names, SY_COUNT(names), sample);
    return seen->stop_code;
}

static char *rewritten(const char *text, uint32_t count) {
    struct seen seen = {0};
    struct sy_error error = {0};
    sy_costs_write(&seen.text, names, SY_COUNT(names), NULL);
    if (sy_costs_read_text("t", text, strlen(text), see, &seen, &error)) {
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    }
    assert_int_equal(seen.count, count);
    return seen.text.text;
}

static const char table[] =
    "# symph-costs-1\n"
    "kernel,class,source,width,build,footprint,count,samples_ns,watts,case,flops,bytes,rows,"
    "spread\n"
    "spmm,cpu,measured,4,,,3,1500.5 1600 1400,12.25,arxiv,1e+09,2e+06,,3.5\n"
    "gnn:gemm,u280,model,1,,,1,20000,,arxiv%2cwidth=256,1,2,3,\n"
    "gemm,h200,measured,1,00c0ffee00c0ffee,7,40,1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
    "21 22 23 24 25 26 27 28 29 30 31,,,0,0.5,,\n";

static void test_round_trip(void **state) {
    (void)state;
    char *once = rewritten(table, 3);
    assert_string_equal(once, table);
    free(once);
}

/* One time per line, names as they are, no footprint. */
static void test_single_times(void **state) {
    (void)state;
    static const char old[] =
        "# symph-times-1\n"
        "source,kernel,class,width,time_ns,watts,case,build,flops,bytes,rows,spread\n"
        "measured,spmm,cpu,4,1500.5,12.25,arxiv,,1e+09,2000000,,3.5\n"
        "model,gnn:gemm,u280,1,20000,,\"arxiv,width=256\",,1,2,3,\n"
        "measured,50%25,h200,1,0.1,0,,00c0ffee00c0ffee,0.5,2,,"; /* no line's end */
    char *text = rewritten(old, 3);
    assert_non_null(strstr(text, "\nspmm,cpu,measured,4,,,1,1500.5,12.25,arxiv,"));
    assert_non_null(strstr(text, "\ngnn:gemm,u280,model,1,,,1,20000,,arxiv%2cwidth=256,1,2,3,\n"));
    assert_non_null(
        strstr(text, "\n50%2525,h200,measured,1,00c0ffee00c0ffee,,1,0.100000001,0,,0.5,2,,\n"));
    free(text);
}

/* Sizes of tasks, with and without builds. */
static void test_models(void **state) {
    (void)state;
    static const char older[] = "kernel,class,bytes,flops,footprint,count,samples_ns\n"
                                "k,cpu,1,8,1,3,1000 1000 1000\n";
    static const char old[] = "kernel,class,bytes,flops,footprint,build,count,samples_ns\n"
                              "a%2cb,cpu,0,8,0,00c0ffee00c0ffee,1,1000\n";
    char *text = rewritten(older, 1);
    assert_non_null(strstr(text, "\nk,cpu,measured,1,,1,3,1000 1000 1000,,,8,1,,\n"));
    free(text);
    text = rewritten(old, 1);
    assert_non_null(strstr(text, "\na%2cb,cpu,measured,1,00c0ffee00c0ffee,0,1,1000,,,8,0,,\n"));
    free(text);
}

static int check_order(void *user, const struct sy_cost_sample *sample) {
    uint32_t *count = user;
    ++*count;
    const struct sy_features *features = &sample->features;
    assert_string_equal(sample->input, "c");
    assert_true(sample->modelled);
    assert_string_equal(sample->kernel, "k");
    assert_string_equal(sample->class_name, "cpu");
    assert_int_equal(features->width, 2);
    assert_true(sample->time_ns == 7 && isnan(sample->watts));
    assert_int_equal(features->count, 4);
    assert_string_equal(features->names[0], "flops");
    assert_string_equal(features->names[1], "bytes");
    assert_string_equal(features->names[2], "alpha");
    assert_string_equal(features->names[3], "zeta");
    assert_true(features->values[0] == 1 && features->values[1] == 2 && features->values[2] == 3 &&
                features->values[3] == 4);
    return 0;
}

/* Columns in any order; costs come in theirs, without the empty ones. */
static void test_columns(void **state) {
    (void)state;
    static const char text[] = "zeta,bytes,case,width,middle,kernel,source,watts,class,alpha,"
                               "time_ns,flops\n4,2,c,2,,k,model,,cpu,3,7,1\n";
    uint32_t count = 0;
    assert_int_equal(sy_costs_read_text("t", text, strlen(text), check_order, &count, NULL), 0);
    assert_int_equal(count, 1);
}

#define HEADER "kernel,class,source,width,build,footprint,count,samples_ns,watts,flops,bytes,rows\n"
static const struct mistake {
    const char *text;
    uint32_t line, column;
    const char *message, *hint;
} mistakes[] = {
    {"", 0, 0, "no column \"kernel\"", "samples_ns"},
    {"# symph-costs-2\n" HEADER, 1, 1, "version", "symph-costs-1"},
    {"# symph-costs-12\n" HEADER, 1, 1, "version", "symph-costs-1"},
    {"kernel,class,count,samples_ns,flops\n", 1, 31, "no column \"bytes\"", "flops"},
    {"kernel,class,flops,bytes\n", 1, 20, "no column \"count\"", "width"},
    {"kernel,class,count,flops,bytes\n", 1, 26, "no column \"samples_ns\"", "width"},
    {"kernel,kernel\n", 1, 8, "column \"kernel\" appears twice", ""},
    {"kernel,class,time_ns,flops,bytes,flops\n", 1, 34, "appears twice", ""},
    {"kernel,class,time_ns,flops,bytes,9th\n", 1, 34, "cannot name a cost", "flops"},
    {HEADER "k,cpu,guess,1,,,1,1,,1,1,\n", 2, 7, "\"guess\" is not a source", "measured or model"},
    {HEADER ",cpu,model,1,,,1,1,,1,1,\n", 2, 1, "kernel is empty", ""},
    {HEADER "%4,cpu,model,1,,,1,1,,1,1,\n", 2, 1, "two hexadecimal digits", ""},
    {HEADER "k,cpu,model,0,,,1,1,,1,1,\n", 2, 13, "width must be 1", ""},
    {HEADER "k,cpu,model,1.5,,,1,1,,1,1,\n", 2, 13, "width", ""},
    {HEADER "k,cpu,model,1,c0ffee,,1,1,,1,1,\n", 2, 15, "16 hexadecimal digits", ""},
    {HEADER "k,cpu,model,1,00c0ffee00C0ffee,,1,1,,1,1,\n", 2, 15, "16 hexadecimal", ""},
    {HEADER "k,cpu,model,1,,x,1,1,,1,1,\n", 2, 16, "footprint", ""},
    {HEADER "k,cpu,model,1,,,0,,,1,1,\n", 2, 17, "count must be 1 to", ""},
    {HEADER "k,cpu,model,1,,,1,0,,1,1,\n", 2, 19, "sample 1 is not a time", ""},
    {HEADER "k,cpu,model,1,,,2,1,,1,1,\n", 2, 1, "1 samples where 2 are expected", ""},
    {HEADER "k,cpu,model,1,,,1,1 2,,1,1,\n", 2, 1, "2 samples where 1 are expected", ""},
    {HEADER "k,cpu,model,1,,,1,1,-1,1,1,\n", 2, 21, "watts", ""},
    {HEADER "k,cpu,model,1,,,1,1,,0,1,\n", 2, 1, "must be positive", ""},
    {HEADER "k,cpu,model,1,,,1,1,,1,,\n", 2, 1, "flops, bytes and other costs must be positive",
     ""},
    {HEADER "k,cpu,measured,1,,5,1,1,,1,1,3\n", 2, 1, "rows is too much", ""},
    {HEADER "k,cpu,measured,2,,5,1,1,,1,1,\n", 2, 1, "has width 1", ""},
    {HEADER "\nk,cpu,model,1,,,1,1,,1,1,\nk,cpu,model,1,,,1,1,,1,1\n", 4, 25, "ends where rows",
     ""},
    {HEADER "k,cpu,model,1,,,1,1,,1,1,,9\n", 2, 27, "", ""},
    {HEADER "k,cpu,model,1,,,1,1,,1,1,", 2, 26, "ends inside a line", ""},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        const struct mistake *m = &mistakes[i];
        struct seen seen = {0};
        struct sy_error error = {0};
        int code = sy_costs_read_text("t.csv", m->text, strlen(m->text), see, &seen, &error);
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
    static const char text[] = "kernel,class,time_ns,flops,bytes,a,b,c,d,e,f,g\n"
                               "k,cpu,1,1,1,1,1,1,1,1,,1\n"
                               "k,cpu,1,1,1,1,1,1,1,1,1,1\n";
    struct seen seen = {0};
    struct sy_error error = {0};
    assert_int_equal(sy_costs_read_text("t", text, strlen(text), see, &seen, &error), -EINVAL);
    assert_int_equal(error.line, 3); /* the one before has 8 of 9 */
    assert_non_null(strstr(error.message, "is too much"));
    assert_int_equal(seen.count, 1);
    sy_buffer_finish(&seen.text);
}

static void test_stop(void **state) {
    (void)state;
    struct seen seen = {.stop_code = -ENOMEM};
    struct sy_error error = {0};
    assert_int_equal(sy_costs_read_text("t", table, strlen(table), see, &seen, &error), -ENOMEM);
    assert_int_equal(seen.count, 1);
    assert_int_equal(error.line, 3);
    sy_buffer_finish(&seen.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_single_times),
        cmocka_unit_test(test_models),         cmocka_unit_test(test_columns),
        cmocka_unit_test(test_mistakes),       cmocka_unit_test(test_stop),
        cmocka_unit_test(test_too_many_costs),
    };
    return cmocka_run_group_tests_name("cost table", tests, NULL, NULL);
}
