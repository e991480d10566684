/* SPDX-License-Identifier: Apache-2.0
 *
 * Eight threads, each with a simulator of its own on one shared workload: every result is what one
 * thread alone gets.
 */
#include "../schedulers/fixture.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 8, RUNS = 10 };

static const char *const policies[RUNS] = {"heft",        "dmdas+srpt", "lb",      "lb-hist+fair",
                                           "random",      "tetris",     "paragon", "ws",
                                           "greedy-true", "peft+wspt"};

struct worker {
    const struct sy_workload *workload;
    uint32_t number;
    int code;
    double makespan_ns[RUNS];
    uint64_t events[RUNS];
};

/* No assertions here: cmocka's are for one thread. */
static int work(struct worker *worker) {
    struct sy_sim_options options = {.seed = worker->number % 4,
                                     .noise_sigma = 0.3,
                                     .contention = true,
                                     .hidden_load = 0.3,
                                     .counter_noise = 0.1,
                                     .record = true};
    struct sy_sim *sim = NULL;
    int code = sy_sim_create(worker->workload, &options, &sim, NULL);
    for (uint32_t i = 0; !code && i < RUNS; i++) {
        uint32_t which = (i + worker->number) % RUNS; /* each in another order */
        struct sy_sim_result result;
        code = sy_sim_run(sim, policies[which], &result, NULL);
        code = code ? code : sy_sim_check(worker->workload, sy_sim_trace(sim), NULL);
        if (!code) {
            worker->makespan_ns[which] = result.makespan_ns;
            worker->events[which] = result.event_count;
        }
    }
    sy_sim_destroy(sim);
    return code;
}

static void *start(void *argument) {
    struct worker *worker = argument;
    worker->code = work(worker);
    return NULL;
}

static void threads_do_not_meet(void **state) {
    (void)state;
    struct fixture f;
    fixture_init(&f, "2x(cpu:2@smt=2 gpu:1) fpga:1@regions=2");
    fixture_add(&f, fixture_graph("cholesky:5"), 0, 0, 1);
    fixture_add(&f, fixture_graph("genomics:4,regions=3"), 2e7, 1, 1);
    fixture_seal(&f);
    struct worker alone[THREADS] = {0}, together[THREADS] = {0};
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        alone[i] = together[i] = (struct worker){.workload = f.workload, .number = i};
        alone[i].code = work(&alone[i]);
        assert_int_equal(alone[i].code, 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, start, &together[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(together[i].code, 0);
        for (uint32_t p = 0; p < RUNS; p++) {
            if (together[i].makespan_ns[p] != alone[i].makespan_ns[p] ||
                together[i].events[p] != alone[i].events[p]) {
                fail_msg("thread %u, %s: another result than alone", i, policies[p]);
            }
        }
    }
    assert_true(alone[0].makespan_ns[0] != alone[1].makespan_ns[0]); /* seeds differ */
    assert_true(alone[0].makespan_ns[0] == alone[4].makespan_ns[0]);
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
