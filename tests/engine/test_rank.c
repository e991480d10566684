/* SPDX-License-Identifier: Apache-2.0
 *
 * Which process of an MPI program this is, by the variables of the usual launchers.
 */
#include "engine/rank.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const variables[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",    "PMI_SIZE", "PMIX_RANK",
    "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};

/* Names and values, up to a NULL. Returns the rank; -1: none. */
static int rank_under(const char *const *settings) {
    uint32_t rank = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        unsetenv(variables[i]);
    }
    for (; *settings; settings += 2) {
        setenv(settings[0], settings[1], 1);
    }
    return sy_mpi_rank(&rank) ? (int)rank : -1;
}
#define RANK(...) rank_under((const char *const[]){__VA_ARGS__, NULL})

static void launchers_are_known(void **state) {
    (void)state;
    assert_int_equal(RANK("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4"), 3);
    assert_int_equal(RANK("PMI_RANK", "0", "PMI_SIZE", "2"), 0);
    assert_int_equal(RANK("PMIX_RANK", "17"), 17);
    assert_int_equal(RANK("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2"), 1);
}

static void one_process_has_no_rank(void **state) {
    (void)state;
    assert_int_equal(RANK("HOME", "/"), -1);
    /* Open MPI sets both; the one that knows the number of processes counts. */
    assert_int_equal(
        RANK("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1", "PMIX_RANK", "0"), -1);
    /* A batch script, in which nothing was launched. */
    assert_int_equal(RANK("SLURM_PROCID", "0", "SLURM_NTASKS", "8"), -1);
}

static void nonsense_is_not_a_rank(void **state) {
    (void)state;
    assert_int_equal(RANK("PMIX_RANK", "-1"), -1);
    assert_int_equal(RANK("PMIX_RANK", "1x"), -1);
    assert_int_equal(RANK("PMIX_RANK", ""), -1);
    assert_int_equal(RANK("PMIX_RANK", "99999999999"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_are_known),
        cmocka_unit_test(one_process_has_no_rank),
        cmocka_unit_test(nonsense_is_not_a_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
