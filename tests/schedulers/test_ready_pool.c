/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of ready tasks against a plain list, under every job order, with keys of jobs that
 * change while tasks wait.
 */
#include "fixture.h"
#include "view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TASKS_MAX 80

struct plain {
    bool inside[TASKS_MAX];
    double key[TASKS_MAX];
};

/* The best job first, lowest index among equals; then the largest key, lowest index. */
static uint32_t best(const struct plain *plain, const struct policy *policy,
                     const struct view *view) {
    uint32_t found = SY_NONE;
    for (uint32_t t = 0; t < view->view.task_capacity; t++) {
        if (!plain->inside[t]) {
            continue;
        }
        if (found == SY_NONE) {
            found = t;
            continue;
        }
        uint32_t a = view->view.task_job[t], b = view->view.task_job[found];
        bool by_job = policy->order != ORDER_NONE && a != b;
        double x = by_job ? sy_order_job_key(policy, &view->view, a) : plain->key[t];
        double y = by_job ? sy_order_job_key(policy, &view->view, b) : plain->key[found];
        found = x > y ? t : found; /* indices grow within and between jobs */
    }
    return found;
}

static void open_jobs(struct fixture *f) {
    static const char *const specs[] = {"independent:25", "independent:1", "independent:14",
                                        "independent:20"};
    fixture_init(f, "cpu:1");
    for (uint32_t j = 0; j < SY_COUNT(specs); j++) {
        fixture_add(f, fixture_graph(specs[j]), j, j % 2, 1 + j);
    }
    fixture_seal(f);
    assert_true(f->workload->task_count <= TASKS_MAX);
}

static void shuffle_jobs(struct view *view, struct policy *policy, struct sy_rng *rng) {
    for (uint32_t j = 0; j < view->view.job_count; j++) {
        view->jobs[j].work_left_ns = sy_rng_below(rng, 4) * 1e6; /* ties among jobs */
        policy->service_ns[j] = sy_rng_below(rng, 4);
    }
}

static void play(struct fixture *f, enum order order, uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, order, 0);
    struct view view;
    struct policy policy;
    struct pool pool = {0};
    struct plain plain = {0};
    uint32_t present = 0;
    view_open(&view, f->workload);
    view_policy(&view, &policy);
    policy.order = order;
    assert_int_equal(sy_pool_init(&pool, &policy, &view.view), 0);
    for (uint32_t step = 0; step < 1500; step++) {
        uint32_t task = sy_rng_below(&rng, f->workload->task_count);
        if (step % 40 == 0) {
            shuffle_jobs(&view, &policy, &rng);
        }
        if (!plain.inside[task] && sy_rng_below(&rng, 5) < 3) {
            plain.inside[task] = true;
            plain.key[task] = sy_rng_below(&rng, 12);
            sy_pool_push(&pool, &view.view, task, plain.key[task]);
            present++;
        } else {
            uint32_t expected = best(&plain, &policy, &view);
            uint32_t seen = sy_pool_peek(&pool, &policy, &view.view);
            uint32_t found = sy_pool_pop(&pool, &policy, &view.view);
            if (found != expected || seen != expected) {
                fail_msg("order %d, seed %lu, step %u: peek %u, pop %u, expected %u", (int)order,
                         seed, step, seen, found, expected);
            }
            present -= found != SY_NONE;
            plain.inside[found == SY_NONE ? 0 : found] &= found == SY_NONE;
        }
        assert_int_equal(pool.count, present);
    }
    view_close(&view);
}

static void pool_as_list(void **state) {
    (void)state;
    struct fixture f;
    open_jobs(&f);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        for (enum order order = ORDER_NONE; order <= ORDER_FAIR; order++) {
            play(&f, order, seed);
        }
    }
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pool_as_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
