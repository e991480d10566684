/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/store.h"
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

static int read_text(struct sy_store *store, const char *text, struct sy_error *error) {
    return sy_store_read_text(store, "m.csv", text, strlen(text), true, error);
}

static struct sy_estimate ask(const struct sy_store *store, const char *kernel,
                              const char *class_name, double bytes, double flops) {
    const struct sy_features features = {.values = (double[]){flops, bytes}};
    return sy_estimate(store, kernel, class_name, &features);
}

static void reads_kernels_by_name_and_routine(void **state) {
    (void)state;
    struct sy_store *store = sy_store_create();
    struct sy_error error = {0};
    assert_int_equal(read_text(store, good, &error), 0);
    struct sy_estimate cpu = ask(store, "chol_model_gemm", "cpu", 1200, 8e6);
    assert_int_equal(cpu.source, SY_COST_MEASURED);
    assert_int_equal(cpu.sample_count, 100);
    assert_true(fabs(cpu.median_ns / 40000 - 1) < 0.01);
    assert_true(fabs(cpu.log_sigma - 0.05) < 0.005);
    struct sy_estimate gpu = ask(store, "gemm", "gpu", 0, 8e6);
    assert_int_equal(gpu.source, SY_COST_MEASURED);
    assert_true(gpu.median_ns > 4300 && gpu.median_ns < 5100);
    assert_true(gpu.log_sigma > 0.02);
    assert_float_equal(ask(store, "potrf", "cpu", 0, 1e6).median_ns, 9000, 1e-6);
    sy_store_close(store);
}

static void operations_are_filled_in_and_single_precision_is_preferred(void **state) {
    (void)state;
    struct sy_store *store = sy_store_create();
    struct sy_error error = {0};
    assert_int_equal(read_text(store, good, &error), 0);
    /* 400 bytes: a 10 x 10 tile of 4-byte numbers. */
    struct sy_estimate getrf = ask(store, "getrf", "cpu", 0, 1000 * 2.0 / 3);
    assert_int_equal(getrf.source, SY_COST_MEASURED);
    assert_true(fabs(getrf.median_ns / 50000 - 1) < 0.01);
    assert_int_equal(ask(store, "trsm", "cpu", 0, 1000).source, SY_COST_MEASURED);
    sy_store_close(store);
}

static void errors_point_at_the_field(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
    } cases[] = {
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
        struct sy_store *store = sy_store_create();
        struct sy_error error = {0};
        assert_int_equal(read_text(store, cases[i].text, &error), -EINVAL);
        assert_string_equal(error.file, "m.csv");
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
        assert_true(strlen(error.message) > 0);
        sy_store_close(store);
    }
}

static void reads_a_file(void **state) {
    (void)state;
    char path[] = "/tmp/symph-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, good, strlen(good)), (ssize_t)strlen(good));
    close(fd);
    struct sy_store *store = sy_store_create();
    struct sy_error error = {0};
    assert_int_equal(sy_store_read(store, path, &error), 0);
    unlink(path);
    assert_int_equal(sy_store_read(store, path, &error), -ENOENT);
    assert_string_equal(error.file, path);
    sy_store_close(store);
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
