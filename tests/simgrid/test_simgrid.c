/* SPDX-License-Identifier: Apache-2.0
 *
 * flow against SimGrid: 200 random scenarios, every transfer ends at the same time within 1 %.
 * SimGrid's engine is a singleton, so each of its runs lives in a process of its own.
 */
#include "scenario.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SCENARIOS = 200, MAX_TRANSFERS = 80 };

/* The end times come back through shared memory. */
static void play_in_child(const struct scenario *scenario, double *shared_s) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        double cpu_ns;
        _exit(scenario_play_simgrid(scenario, shared_s, &cpu_ns) ? 1 : 0);
    }
    int status;
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_random(void **state) {
    (void)state;
    const uint64_t seed = 1;
    double ours_s[MAX_TRANSFERS], cpu_ns, worst = 0;
    uint32_t transfers = 0;
    double *simgrid_s =
        mmap(NULL, sizeof ours_s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(simgrid_s != MAP_FAILED);
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct scenario *scenario = scenario_random(seed, i);
        assert_non_null(scenario);
        assert_true(scenario->transfer_count <= MAX_TRANSFERS);
        for (uint32_t t = 0; t < scenario->transfer_count; t++) {
            simgrid_s[t] = ours_s[t] = (double)NAN;
        }
        assert_int_equal(scenario_play_flow(scenario, ours_s, &cpu_ns), 0);
        play_in_child(scenario, simgrid_s);
        double difference = scenario_difference(scenario, ours_s, simgrid_s);
        if (!(difference <= 0.01)) {
            fail_msg("scenario %u differs by %g", (unsigned)i, difference);
        }
        worst = difference > worst ? difference : worst;
        transfers += scenario->transfer_count;
        scenario_destroy(scenario);
    }
    print_message("# seed %u: %d scenarios, %u transfers, worst relative difference %.3g\n",
                  (unsigned)seed, SCENARIOS, transfers, worst);
    munmap(simgrid_s, sizeof ours_s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests_name("simgrid", tests, NULL, NULL);
}
