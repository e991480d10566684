/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/tables.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_pairs(const char *text, struct sy_interference **ret_table,
                      struct sy_error *error) {
    return sy_interference_read_text("t.csv", text, strlen(text), ret_table, error);
}

static double ratio(const struct sy_interference *table, const char *a, const char *b) {
    uint32_t row = SY_NONE, column = SY_NONE;
    for (uint32_t i = 0; i < table->count; i++) {
        row = strcmp(table->names[i], a) == 0 ? i : row;
        column = strcmp(table->names[i], b) == 0 ? i : column;
    }
    assert_true(row != SY_NONE && column != SY_NONE);
    return table->ratio[row * table->count + column];
}

static void square_rows_may_stand_in_any_order(void **state) {
    (void)state;
    struct sy_interference *table;
    struct sy_error error;
    assert_int_equal(read_pairs("row,x,y\ny,0.5,0.6\nx,0.8,\n", &table, &error), 0);
    assert_int_equal(table->count, 2);
    assert_float_equal(ratio(table, "y", "x"), 0.5, 1e-12);
    assert_float_equal(ratio(table, "y", "y"), 0.6, 1e-12);
    assert_float_equal(ratio(table, "x", "x"), 0.8, 1e-12);
    double middle = cbrt(0.5 * 0.6 * 0.8);
    assert_float_equal(ratio(table, "x", "y"), middle, 1e-12);
    assert_float_equal(table->fallback, middle, 1e-12);
    sy_interference_destroy(table);
}

static void missing_rows_get_the_fallback(void **state) {
    (void)state;
    struct sy_interference *table;
    struct sy_error error;
    assert_int_equal(read_pairs("row,x,y\nx,0.4,0.9\n", &table, &error), 0);
    assert_float_equal(ratio(table, "y", "x"), 0.6, 1e-12);
    sy_interference_destroy(table);
}

static void pair_lines_give_both_directions(void **state) {
    (void)state;
    struct sy_interference *table;
    struct sy_error error;
    const char *text = "job_a,job_b,a_isolated_per_s,a_colocated_ratio,b_colocated_ratio\n"
                       "p,q,3.5,0.9,0.4\n"
                       "q,q,1,0.5,0.5\n"
                       "p,r,1,0,0\n";
    assert_int_equal(read_pairs(text, &table, &error), 0);
    assert_int_equal(table->count, 3);
    assert_float_equal(ratio(table, "p", "q"), 0.9, 1e-12);
    assert_float_equal(ratio(table, "q", "p"), 0.4, 1e-12);
    assert_float_equal(ratio(table, "q", "q"), 0.5, 1e-12);
    assert_float_equal(ratio(table, "p", "r"), table->fallback, 0);
    assert_float_equal(table->fallback, cbrt(0.9 * 0.4 * 0.5), 1e-12);
    sy_interference_destroy(table);
}

static void both_orders_of_a_pair_are_averaged(void **state) {
    (void)state;
    struct sy_interference *table;
    struct sy_error error;
    const char *text =
        "job_a,job_b,a_colocated_ratio,b_colocated_ratio\np,q,0.9,0.4\nq,p,0.1,0.4\n";
    assert_int_equal(read_pairs(text, &table, &error), 0);
    assert_float_equal(ratio(table, "p", "q"), 0.6, 1e-12);
    assert_float_equal(ratio(table, "q", "p"), 0.2, 1e-12);
    sy_interference_destroy(table);
}

static void pair_errors_point_at_the_field(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
    } cases[] = {
        {"", 1, 1},
        {"x,y\n1,2\n", 1, 1},
        {"row,a,a\n", 1, 7},
        {"row,a,\n", 1, 7},
        {"row,a\nb,1\n", 2, 1},
        {"row,a\na,1\n\na,1\n", 4, 1},
        {"row,a\na,1.6\n", 2, 3},
        {"row,a\na,0\n", 2, 3},
        {"row,a\na,-1\n", 2, 3},
        {"row,a\na,1,1\n", 2, 5},
        {"row,a,b\na,1\n", 2, 4},
        {"row,a\n", 1, 5},
        {"job_a,job_b\n", 1, 7},
        {"job_a,job_b,job_b\n", 1, 13},
        {"job_a,job_b,a_colocated_ratio,b_colocated_ratio\np,q,1,nan\n", 2, 7},
        {"job_a,job_b,a_colocated_ratio,b_colocated_ratio\np,,1,1\n", 2, 3},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_interference *table = NULL;
        struct sy_error error = {0};
        assert_int_equal(read_pairs(cases[i].text, &table, &error), -EINVAL);
        assert_null(table);
        assert_string_equal(error.file, "t.csv");
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
    }
}

static void noise_is_pooled_without_the_first_runs(void **state) {
    (void)state;
    struct sy_noise_table table;
    struct sy_error error;
    const char *text = "Size,runIndex,GPU time(us),CPU time(us)\n"
                       "32,0,900,1\n32,1,10,1\n64,0,777,1\n32,2,20,1\n32,3,5,1\n"
                       "64,1,100,1\n64,2,300,1\n99,0,4,1\n";
    assert_int_equal(sy_noise_read_text("n.csv", text, strlen(text), &table, &error), 0);
    const double expected[] = {0.5, 0.5, 1, 1.5, 2};
    assert_int_equal(table.count, SY_COUNT(expected));
    for (uint32_t i = 0; i < table.count; i++) {
        assert_float_equal(table.ratio[i], expected[i], 1e-12);
    }
    sy_noise_finish(&table);
    assert_null(table.ratio);
}

static void noise_errors_point_at_the_field(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
    } cases[] = {
        {"", 1, 1},
        {"Size,run,time\n", 1, 6},
        {"Size,runIndex\n", 1, 14},
        {"Size,runIndex,time(us)\n1,0,5\n1,1,0\n", 3, 5},
        {"Size,runIndex,time(us)\n1,0,5\n1,x,1\n", 3, 3},
        {"Size,runIndex,time(us)\n1,0,5\n1,1\n", 3, 4},
        {"Size,runIndex,time(us)\n1,0,5\n", 2, 5},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_noise_table table = {0};
        struct sy_error error = {0};
        assert_int_equal(
            sy_noise_read_text("n.csv", cases[i].text, strlen(cases[i].text), &table, &error),
            -EINVAL);
        assert_null(table.ratio);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
    }
}

static void files_are_read(void **state) {
    (void)state;
    char path[] = "/tmp/symph-test-XXXXXX";
    const char *text = "row,x\nx,0.5\n";
    struct sy_interference *table;
    struct sy_noise_table noise;
    struct sy_error error;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    assert_int_equal(sy_interference_read(path, &table, &error), 0);
    sy_interference_destroy(table);
    assert_int_equal(sy_noise_read(path, &noise, &error), -EINVAL);
    assert_string_equal(error.file, path);
    unlink(path);
    assert_int_equal(sy_noise_read(path, &noise, &error), -ENOENT);
    assert_int_equal(sy_interference_read(path, &table, &error), -ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(square_rows_may_stand_in_any_order),
        cmocka_unit_test(missing_rows_get_the_fallback),
        cmocka_unit_test(pair_lines_give_both_directions),
        cmocka_unit_test(both_orders_of_a_pair_are_averaged),
        cmocka_unit_test(pair_errors_point_at_the_field),
        cmocka_unit_test(noise_is_pooled_without_the_first_runs),
        cmocka_unit_test(noise_errors_point_at_the_field),
        cmocka_unit_test(files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
