/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "kernel,arch,bytes,flops,mean_us,stddev_us,samples\n"

static const char good[] =
    "# a made-up machine\r\n" HEADER "chol_model_gemm,cpu,1200,8e6,40,2,100\r\n"
    "chol_model_gemm,cuda,1200,8e6,4,0.1,300\n"
    "chol_model_gemm,cuda,1200,8e6,5,0.1,300\n"
    "\n"
    "chol_model_gemm,cuda,1200,8e6,5,0.1,300\n"
    "chol_model_11,cpu,400,1e6,9,0,10\n"
    "starpu_dlu_lu_model_getrf,cpu,800,0,70,1,10\n"
    "starpu_slu_lu_model_getrf,cpu,400,0,50,1,10\n"
    "starpu_slu_lu_model_trsm_ll_atlas,cpu,800,0,30,1,10\n";

static int read_text(struct sy_cost_model *model, const char *text, struct sy_error *error) {
    return sy_cost_read_csv_text("m.csv", text, strlen(text), model, error);
}

static void reads_kernels_by_name_and_routine(void **state) {
    (void)state;
    struct sy_cost_model *model = sy_cost_model_create();
    struct sy_error error = {0};
    assert_int_equal(read_text(model, good, &error), 0);
    struct sy_estimate cpu = sy_cost_estimate(model, "chol_model_gemm", "cpu", 1200, 8e6);
    assert_int_equal(cpu.source, SY_COST_MEASURED);
    assert_int_equal(cpu.sample_count, 100);
    assert_true(fabs(cpu.median_ns / 40000 - 1) < 0.01);
    assert_true(fabs(cpu.log_sigma - 0.05) < 0.005);
    struct sy_estimate gpu = sy_cost_estimate(model, "gemm", "gpu", 0, 8e6);
    assert_int_equal(gpu.source, SY_COST_MEASURED);
    assert_true(gpu.median_ns > 4300 && gpu.median_ns < 5100);
    assert_true(gpu.log_sigma > 0.02);
    assert_float_equal(sy_cost_estimate(model, "potrf", "cpu", 0, 1e6).median_ns, 9000, 1e-6);
    sy_cost_model_destroy(model);
}

static void operations_are_filled_in_and_single_precision_is_preferred(void **state) {
    (void)state;
    struct sy_cost_model *model = sy_cost_model_create();
    struct sy_error error = {0};
    assert_int_equal(read_text(model, good, &error), 0);
    /* 400 bytes: a 10 x 10 tile of 4-byte numbers. */
    struct sy_estimate getrf = sy_cost_estimate(model, "getrf", "cpu", 0, 1000 * 2.0 / 3);
    assert_int_equal(getrf.source, SY_COST_MEASURED);
    assert_true(fabs(getrf.median_ns / 50000 - 1) < 0.01);
    assert_int_equal(sy_cost_estimate(model, "trsm", "cpu", 0, 1000).source, SY_COST_MEASURED);
    sy_cost_model_destroy(model);
}

static void errors_point_at_the_field(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
    } cases[] = {
        {"", 1, 1},
        {"kernel,arch,size\n", 1, 13},
        {HEADER "a,cpu,1,1,1,1,1,9\n", 2, 17},
        {HEADER "a,cpu,1,1\n", 2, 10},
        {HEADER ",cpu,1,1,1,1,1\n", 2, 1},
        {HEADER "a,cpu,1,1,1,1,1\na,cpu,nan,1,1,1,1\n", 3, 7},
        {HEADER "a,cpu,-1,1,1,1,1\n", 2, 7},
        {HEADER "a,cpu,1,1,0,1,1\n", 2, 11},
        {HEADER "a,cpu,1,1,1e99,1,1\n", 2, 11},
        {HEADER "a,cpu,1,1, 1,1,1.5\n", 2, 16},
        {HEADER "\"a,cpu,1,1,1,1,1\n", 2, 1},
        {HEADER "a\x01z,cpu,1,1,1,1,1\n", 2, 2},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_cost_model *model = sy_cost_model_create();
        struct sy_error error = {0};
        assert_int_equal(read_text(model, cases[i].text, &error), -EINVAL);
        assert_string_equal(error.file, "m.csv");
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
        assert_true(strlen(error.message) > 0);
        sy_cost_model_destroy(model);
    }
}

static void reads_a_file(void **state) {
    (void)state;
    char path[] = "/tmp/symph-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, good, strlen(good)), (ssize_t)strlen(good));
    close(fd);
    struct sy_cost_model *model = sy_cost_model_create();
    struct sy_error error = {0};
    assert_int_equal(sy_cost_read_csv(path, model, &error), 0);
    unlink(path);
    assert_int_equal(sy_cost_read_csv(path, model, &error), -ENOENT);
    assert_string_equal(error.file, path);
    sy_cost_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_kernels_by_name_and_routine),
        cmocka_unit_test(operations_are_filled_in_and_single_precision_is_preferred),
        cmocka_unit_test(errors_point_at_the_field),
        cmocka_unit_test(reads_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
