/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of graphs and machines that are left out never come; names that are none are refused.
 */
#include "train/train.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct sy_catalogue *catalogue_of(const struct sy_catalogue_options *options) {
    struct sy_catalogue *catalogue = NULL;
    struct sy_error error = {0};
    if (sy_catalogue_open(options, &catalogue, &error)) {
        fail_msg("%s", error.message);
    }
    return catalogue;
}

static struct sy_scenario *world_of(const struct sy_catalogue *catalogue, uint64_t number) {
    struct sy_scenario *world = NULL;
    struct sy_error error = {0};
    if (sy_scenario_create(catalogue, number, &world, &error)) {
        fail_msg("world %llu: %s", (unsigned long long)number, error.message);
    }
    return world;
}

static void left_out(void **state) {
    struct sy_catalogue_options options = {.without_family = "lu,qr",
                                           .without_machine = "smt",
                                           .tasks_low = 20,
                                           .tasks_high = 60,
                                           .single_share = NAN};
    struct sy_catalogue *catalogue = catalogue_of(&options);
    (void)state;
    for (uint32_t i = 0; sy_catalogue_family(catalogue, i); i++) {
        assert_string_not_equal(sy_catalogue_family(catalogue, i), "lu");
        assert_string_not_equal(sy_catalogue_family(catalogue, i), "qr");
    }
    for (uint32_t i = 0; i < 200; i++) {
        struct sy_scenario *world =
            world_of(catalogue, sy_scenario_number(SY_SPLIT_TRAINING, 1, i));
        assert_string_not_equal(world->machine, "smt");
        for (uint32_t j = 0; j < world->workload->job_count; j++) {
            const char *name = sy_graph_name(world->workload->jobs[j].graph);
            assert_true(strncmp(name, "lu:", 3) != 0 && strncmp(name, "qr:", 3) != 0);
        }
        sy_scenario_destroy(world);
    }
    sy_catalogue_close(catalogue);
}

static void wrong_names(void **state) {
    struct sy_catalogue *catalogue;
    struct sy_error error = {0};
    const struct sy_catalogue_options wrong[] = {{.families = "cholesky,luu"},
                                                 {.without_family = "x"},
                                                 {.without_machine = "attila"},
                                                 {.data = "/nowhere"},
                                                 {.without_machine = "cores,gpus,fpga,smt"},
                                                 {.families = "lu", .without_family = "lu"}};
    (void)state;
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        error = (struct sy_error){0};
        assert_true(sy_catalogue_open(&wrong[i], &catalogue, &error) < 0);
        assert_true(error.message[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_out),
        cmocka_unit_test(wrong_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
