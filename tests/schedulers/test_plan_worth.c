/* SPDX-License-Identifier: Apache-2.0
 *
 * What a plan could gain beside a device that could do all: known cases, and never less than what
 * the best of many placements gains.
 */
#include "fixture.h"
#include "schedulers/plan_portfolio.h"
#include "view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 256 };

#define NEAR "cpu:4 gpu:1@link=1000GB/s,latency=1ns" /* copies take no time */

struct shape {
    uint32_t tasks, width; /* as many chains */
    double cpu_ns, gpu_ns;
    double bytes; /* of what each chain changes */
    bool uneven;  /* these are the longest of several lengths */
};

static struct sy_graph *draw(const struct shape *shape) {
    struct sy_graph *graph = sy_graph_create("chains", false);
    struct sy_kernel_desc kernel = {.name = "k"};
    struct sy_error error = {0};
    sy_kernel_id made;
    sy_data_id datum;
    sy_task_id task;
    kernel.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = shape->cpu_ns};
    kernel.variants[SY_GPU] = (struct sy_variant){.present = true, .ns_per_work = shape->gpu_ns};
    assert_int_equal(sy_graph_add_kernel(graph, &kernel, &made), 0);
    for (uint32_t i = 0; i < shape->width; i++) {
        assert_int_equal(sy_graph_add_data(graph, NULL, shape->bytes, &datum), 0);
    }
    for (uint32_t i = 0; i < shape->tasks; i++) {
        struct sy_access access = {i % shape->width, SY_READ_WRITE};
        struct sy_task_desc desc = {.kernel = made,
                                    .work = shape->uneven ? 3.0 / (3 + i % 17) : 1,
                                    .accesses = &access,
                                    .access_count = 1};
        assert_int_equal(sy_graph_add_task(graph, &desc, &task), 0);
    }
    assert_int_equal(sy_graph_seal(graph, &error), 0);
    return graph;
}

static double gain_ns(const char *machine, struct shape shape) {
    struct fixture f;
    struct view v;
    double head_ns[MOST], tail_ns[MOST];
    uint32_t first_reader[MOST];
    struct plan_room room = {head_ns, tail_ns, first_reader, MOST};
    fixture_init(&f, machine);
    fixture_add(&f, draw(&shape), 0, 0, 1);
    fixture_seal(&f);
    view_open(&v, f.workload);
    assert_true(shape.tasks <= MOST);
    double alone_ns, gain = sy_plan_gain_ns(&v.view, 0, room, &alone_ns);
    view_close(&v);
    fixture_finish(&f);
    return gain;
}

static void known_cases(void **state) {
    (void)state;
    /* 200 ms on the GPU, and in that time the four cores do 8 of the tasks; and one is a path. */
    assert_true(fabs(gain_ns(NEAR, (struct shape){200, 200, 100e6, 1e6}) - 9e6) < 1e3);
    /* All that there is could be moved. */
    assert_true(fabs(gain_ns(NEAR, (struct shape){4, 4, 2e6, 1e6}) - 4e6) < 1e3);
    /* One task takes a core longer than all take the GPU. */
    assert_true(gain_ns(NEAR, (struct shape){50, 50, 100e6, 1e6}) == 0);
    /* They wait for each other: each that is moved makes the whole later. */
    assert_true(gain_ns(NEAR, (struct shape){200, 1, 100e6, 1e6}) == 0);
    /* Two chains, 100 ms each, leave one of them 100 ms to spare; nothing fits that takes 101. */
    assert_true(gain_ns(NEAR, (struct shape){200, 2, 102e6, 1e6}) == 0);
    assert_true(gain_ns(NEAR, (struct shape){200, 2, 51e6, 1e6}) > 1.9e6);
    /* What a core computes need not travel: of 50 tasks with 10 ms of copies each, the four cores
     * take over 4 * 5.5 in the 550 ms that the GPU would need. */
    assert_true(gain_ns("cpu:4 gpu:1@link=1GB/s,latency=1ns",
                        (struct shape){50, 50, 100e6, 1e6, 1e7}) > 200e6);
    /* No device is alone in its class, or could do all. */
    assert_true(isinf(gain_ns("cpu:4 gpu:2", (struct shape){50, 50, 100e6, 1e6})));
    assert_true(isinf(gain_ns("cpu:4", (struct shape){50, 50, 100e6, 1e6})));
}

/* A chain is its longest path, though its length depends on the order of additions: nothing of it
 * gains where it is no slower. */
static void a_chain_is_its_longest_path(void **state) {
    (void)state;
    for (uint32_t i = 1; i < 50; i++) {
        double length_ns = 1e7 / 3 / i;
        double gain = gain_ns(NEAR, (struct shape){200, 1, length_ns, length_ns, 8, true});
        assert_true(gain >= 0 && gain < 10 * length_ns);
    }
}

/* List schedules of independent tasks, each number of them on the cores. */
static void nothing_gains_more(void **state) {
    (void)state;
    for (uint32_t ratio = 1; ratio <= 64; ratio *= 2) {
        struct shape shape = {60, 60, ratio * 1e6, 1e6};
        double bound = gain_ns(NEAR, shape), best = 0;
        for (uint32_t moved = 0; moved <= shape.tasks; moved++) {
            double cores_ns = ceil(moved / 4.0) * shape.cpu_ns;
            best = fmax(best, moved * 1e6 - fmax(0, cores_ns - (60 - moved) * 1e6));
        }
        if (best > bound + 1) {
            fail_msg("cores %u times as slow: %.9g ns gained, bound %.9g", ratio, best, bound);
        }
    }
}

/* How long the default thinks about a job of tasks that take cpu_ns on a core, 0.1 ms on the GPU.
 */
static double thinks_ns(double cpu_ns) {
    struct fixture f;
    struct shape shape = {200, 20, cpu_ns, 1e5};
    fixture_init(&f, "cpu:4 gpu:1@pcie4x16");
    fixture_add(&f, draw(&shape), 0, 0, 1);
    fixture_seal(&f);
    struct view v;
    struct sy_scheduler scheduler = {.ops = &sy_policy_symphony, .seed = 1};
    view_open(&v, f.workload);
    v.jobs[0].work_left_ns = shape.tasks * shape.gpu_ns;
    assert_int_equal(scheduler.ops->init(&scheduler, &v.view, ""), 0);
    scheduler.ops->job_arrived(&scheduler, &v.view, 0);
    double spent_ns = sy_scheduler_planning_ns(&scheduler);
    scheduler.ops->finish(&scheduler);
    view_close(&v);
    fixture_finish(&f);
    return spent_ns;
}

/* It plans what is worth it, and nothing else: of a GPU a thousand times as fast as a core it only
 * rehearses late binding, beside one ten times as fast it draws up plans. */
static void the_default_asks(void **state) {
    (void)state;
    double draft_ns = 1200.0 * 200;
    assert_true(thinks_ns(1e8) > 0 && thinks_ns(1e8) < 4 * draft_ns);
    assert_true(thinks_ns(1e6) > 8 * draft_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_cases), cmocka_unit_test(a_chain_is_its_longest_path),
        cmocka_unit_test(nothing_gains_more), cmocka_unit_test(the_default_asks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
