/* SPDX-License-Identifier: Apache-2.0
 *
 * Expert iteration: the slopes of recorded margins against differences, forced runs, and a
 * cost that can be learned.
 */
#include "parallel.h"
#include "schedulers/learned.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROADS = 400, OTHERS = 4, WORLDS = 3, GENERATIONS = 8 };

struct bench {
    struct sy_catalogue *catalogue;
    struct sy_scenario *scenario;
    struct sy_runner runner;
    float block[LEARNED_COUNT];
};
struct log {
    struct sy_crossroads roads[ROADS + 1];
    float slopes[ROADS + 1][OTHERS][LEARNED_COUNT];
    struct sy_probe probe;
    double cost[SY_MEASURE_COUNT];
};

static void open_bench(struct bench *b, uint32_t world) {
    struct sy_catalogue_options options = {
        .belief = SY_SIM_FILTERED, .tasks_low = 30, .tasks_high = 60, .single_share = NAN};
    struct sy_error error = {0};
    struct sy_rng rng = sy_rng_make(3, 4, world);
    *b = (struct bench){0};
    assert_int_equal(sy_catalogue_open(&options, &b->catalogue, &error), 0);
    assert_int_equal(sy_scenario_create(b->catalogue, sy_scenario_number(SY_SPLIT_TEST, 1, world),
                                        &b->scenario, &error),
                     0);
    for (uint32_t i = 0; i < LEARNED_COUNT; i++) {
        b->block[i] = (float)(0.1 * sy_rng_normal(&rng));
    }
}

static void close_bench(struct bench *b) {
    sy_runner_finish(&b->runner);
    sy_scenario_destroy(b->scenario);
    sy_catalogue_close(b->catalogue);
}

static void run(struct bench *b, struct sy_probe *probe, double *ret_cost) {
    struct sy_error error = {0};
    struct sy_rollout rollout = {.policy = "learned",
                                 .kind = LEARNED_KIND,
                                 .shape = LEARNED_SHAPE,
                                 .count = LEARNED_COUNT,
                                 .block = b->block};
    if (sy_runner_probe(&b->runner, b->scenario, &rollout, probe, ret_cost, &error)) {
        fail_msg("%s", error.message);
    }
}

static struct log *record(struct bench *b) {
    struct log *log = calloc(1, sizeof *log);
    assert_non_null(log);
    for (uint32_t r = 0; r <= ROADS; r++) {
        for (uint32_t k = 0; k < OTHERS; k++) {
            log->roads[r].others[k].slopes = log->slopes[r][k];
        }
    }
    log->probe = (struct sy_probe){.capacity = ROADS,
                                   .other_capacity = OTHERS,
                                   .roads = log->roads,
                                   .rng = sy_rng_make(1, 2, 3),
                                   .forced_at = UINT64_MAX};
    run(b, &log->probe, log->cost);
    return log;
}

static bool is_same(const struct sy_crossroads *a, const struct sy_crossroads *b) {
    bool same = a->asked == b->asked && a->other_count == b->other_count;
    for (uint32_t k = 0; same && k < a->other_count; k++) {
        same = a->others[k].task == b->others[k].task && a->others[k].device == b->others[k].device;
    }
    return same;
}

static void slopes_are_right(void **state) {
    uint32_t known = 0, off = 0;
    const double step = 1e-3;
    (void)state;
    for (uint32_t world = 0; world < WORLDS; world++) {
        struct bench b;
        open_bench(&b, world);
        struct log *before = record(&b);
        for (uint32_t i = 0; i < LEARNED_COUNT; i += 2) {
            b.block[i] += (float)step;
            struct log *after = record(&b);
            b.block[i] -= (float)step;
            uint32_t count =
                before->probe.count < after->probe.count ? before->probe.count : after->probe.count;
            for (uint32_t r = 0; r < count && is_same(&before->roads[r], &after->roads[r]); r++) {
                for (uint32_t k = 0; k < before->roads[r].other_count; k++) {
                    const struct sy_other *x = &before->roads[r].others[k];
                    double slope = (after->roads[r].others[k].margin - x->margin) / step;
                    double said = (double)x->slopes[i];
                    known += said != 0;
                    off += fabs(slope - said) > 0.1 * fabs(said) + 0.1;
                }
            }
            free(after);
        }
        free(before);
        close_bench(&b);
    }
    print_message("# slopes %u, off %u\n", known, off);
    assert_true(known > 200);
    assert_true(off * 50 < known);
}

static void forced_runs(void **state) {
    uint32_t changed = 0, tried = 0;
    (void)state;
    for (uint32_t world = 0; world < WORLDS; world++) {
        struct bench b;
        open_bench(&b, world);
        struct log *log = record(&b);
        struct sy_probe none = {.forced_at = UINT64_MAX};
        double cost[SY_MEASURE_COUNT], again[SY_MEASURE_COUNT];
        run(&b, &none, cost);
        assert_memory_equal(cost, log->cost, sizeof cost); /* to look changes nothing */
        for (uint32_t r = 0; r < log->probe.count; r += 9) {
            for (uint32_t k = 0; k < log->roads[r].other_count; k++) {
                struct sy_probe forced = {.forced_at = log->roads[r].asked,
                                          .forced = log->roads[r].others[k]};
                run(&b, &forced, cost);
                run(&b, &forced, again);
                assert_memory_equal(cost, again, sizeof cost);
                changed += memcmp(cost, log->cost, sizeof cost) != 0;
                tried++;
            }
        }
        free(log);
        close_bench(&b);
    }
    print_message("# %u of %u forced runs ended otherwise\n", changed, tried);
    assert_true(tried > 12 && changed * 2 > tried);
}

/* Where nothing costs but GPUs, rollouts show that cores are better. */
static void learns_what_costs(void **state) {
    struct sy_prices prices = {.per_hour = {[SY_GPU] = 1}};
    struct sy_parallel none = parallel_none();
    struct sy_training *t = NULL;
    struct sy_error error = {0};
    (void)state;
    struct sy_training_options options = {
        .policy = "learned",
        .kind = LEARNED_KIND,
        .shape = LEARNED_SHAPE,
        .count = LEARNED_COUNT,
        .references = "lb-cont+wspt",
        .utility = {.weight = {[SY_MEASURE_MONEY] = 1}},
        .seed = 5,
        .scenarios = 12,
        .validation = 12,
        .every = 100,
        .es = {.pairs = 1, .rate = 1, .keep = 0.9},
        .decisions = 12,
        .alternatives = 2,
        .worlds = {.belief = SY_SIM_NONE,
                   .without_machine = "cores,smt,fpga",
                   .tasks_low = 40,
                   .tasks_high = 50,
                   .single_share = 0,
                   .prices = &prices},
    };
    if (sy_training_open(&options, &none, &t, &error)) {
        fail_msg("%s", error.message);
    }
    for (uint32_t i = 0; i < GENERATIONS; i++) {
        if (sy_training_step(t, 0, &error)) {
            fail_msg("%s", error.message);
        }
    }
    assert_int_equal(sy_training_validate(t, &error), 0);
    double first = t->history[0].validation, last = t->history[1].validation;
    print_message("# ln of the ratio %.3f, then %.3f; weight %.3f\n", first, last,
                  (double)t->es.block[LEARNED_GPU]);
    assert_true(last < first - 0.05 && t->es.block[LEARNED_GPU] > 0.1F);
    sy_training_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_right),
        cmocka_unit_test(forced_runs),
        cmocka_unit_test(learns_what_costs),
    };
    return cmocka_run_group_tests_name("train_expert", tests, NULL, NULL);
}
