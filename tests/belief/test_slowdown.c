/* SPDX-License-Identifier: Apache-2.0
 *
 * Who gets what of a resource, and the slowdown to expect: shares are max-min fair, durations teach
 * neighbours and sensitivities.
 */
#include "belief/shares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define GB 1e9

static struct sy_machine *machine_of(const char *text) {
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_machine_parse(text, &machine, &error), 0);
    return machine;
}

/* --- shares --------------------------------------------------------------------------------------
 */
static struct sy_draw on(const uint32_t *resource, const double *bytes_per_s) {
    return (struct sy_draw){1, resource, bytes_per_s};
}

static void shares_are_max_min_fair(void **state) {
    (void)state;
    struct sy_machine *machine = machine_of("2x(cpu:4 dram:40GB/s)");
    struct sy_arena *arena = sy_arena_create();
    struct sy_shares *shares = sy_shares_create(arena, machine, 8);
    static const uint32_t r[] = {0, 2};
    static const double demands[] = {10 * GB, 20 * GB, 30 * GB};
    double none[64] = {0};
    assert_non_null(shares);
    sy_shares_clear(shares);
    for (uint32_t i = 0; i < 3; i++) {
        sy_shares_add(shares, on(&r[0], &demands[i]));
    }
    sy_shares_solve(shares, none);
    assert_true(fabs(sy_shares_taken(shares, 0) - 40 * GB) < 1);
    /* A flow that a second resource holds back leaves room on the first. */
    sy_shares_clear(shares);
    sy_shares_add(shares, (struct sy_draw){2, r, (const double[]){30 * GB, 30 * GB}});
    sy_shares_solve(shares, none);
    assert_true(fabs(sy_shares_taken(shares, 0) - machine->resources[2].bytes_per_s) < 1);
    sy_arena_destroy(arena);
    sy_machine_destroy(machine);
}

static void shares_never_exceed_what_is_there(void **state) {
    (void)state;
    struct sy_machine *machine = machine_of("2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16");
    struct sy_arena *arena = sy_arena_create();
    struct sy_shares *shares = sy_shares_create(arena, machine, 12);
    uint32_t resources = machine->resource_count;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 2, 0);
        double others[64], demand[2];
        sy_shares_clear(shares);
        for (uint32_t i = 0, count = sy_rng_below(&rng, 14); i < count; i++) {
            uint32_t at[2] = {sy_rng_below(&rng, resources), 0};
            at[1] = (at[0] + 1 + sy_rng_below(&rng, resources - 1)) % resources;
            demand[0] = demand[1] = 30 * GB * sy_rng_uniform(&rng) + 1;
            sy_shares_add(shares, (struct sy_draw){1 + sy_rng_below(&rng, 2), at, demand});
        }
        for (uint32_t k = 0; k < resources; k++) {
            others[k] = machine->resources[k].bytes_per_s * sy_rng_uniform(&rng);
        }
        sy_shares_solve(shares, others);
        for (uint32_t k = 0; k < resources; k++) {
            double taken = sy_shares_taken(shares, k);
            if (!(taken >= 0 && taken <= machine->resources[k].bytes_per_s * 1.0001)) {
                fail_msg("seed %lu: %.3g of %.3g", seed, taken, machine->resources[k].bytes_per_s);
            }
        }
    }
    sy_arena_destroy(arena);
    sy_machine_destroy(machine);
}

/* --- slowdown ------------------------------------------------------------------------------------
 */
struct world {
    struct sy_machine *machine;
    struct sy_arena *arena;
    struct sy_slowdown *slowdown;
    double now_ns;
};

static const uint32_t dram0 = 0;
static const double heavy = 10 * GB, light = 0.1 * GB;

static void open_world(struct world *w) {
    *w = (struct world){machine_of("2x(cpu:4@smt=2 dram:40GB/s)"), sy_arena_create(), NULL, 0};
    w->slowdown = sy_slowdown_create(w->arena, w->machine, 4);
    assert_non_null(w->slowdown);
}

static void close_world(struct world *w) {
    sy_arena_destroy(w->arena);
    sy_machine_destroy(w->machine);
}

/* others < 0: nobody tells. */
static void look(struct world *w, double others, double sd) {
    w->now_ns += 1e6;
    sy_slowdown_begin(w->slowdown, w->now_ns);
    if (others >= 0) {
        sy_slowdown_told(w->slowdown, dram0, others, sd);
    }
    sy_slowdown_ready(w->slowdown);
}

static double expected(const struct world *w, double demand, uint32_t kernel, uint32_t beside) {
    struct sy_slowing slowing =
        sy_slowdown_expect(w->slowdown, kernel, 0, on(&dram0, &demand), beside, 1e6);
    assert_true(isfinite(slowing.ratio) && slowing.ratio >= 1 && slowing.sd >= 0);
    assert_true(slowing.median >= 1 && slowing.harm >= 0);
    return slowing.ratio;
}

/* A task runs on device 0 and takes ratio times its time alone. */
static void run(struct world *w, double demand, uint32_t kernel, uint32_t beside, double ratio,
                double others) {
    struct sy_draw draw = on(&dram0, &demand);
    look(w, others, 0);
    sy_slowdown_started(w->slowdown, 0, kernel, draw, beside, 1e6);
    w->now_ns += 1e6 * ratio;
    sy_slowdown_begin(w->slowdown, w->now_ns);
    sy_slowdown_runs(w->slowdown, draw);
    if (others >= 0) {
        sy_slowdown_told(w->slowdown, dram0, others, 0);
    }
    sy_slowdown_ready(w->slowdown);
    sy_slowdown_ended(w->slowdown, 0, ratio);
}

static void nothing_known_nothing_slowed(void **state) {
    (void)state;
    struct world w;
    open_world(&w);
    sy_slowdown_begin(w.slowdown, 0);
    sy_slowdown_ready(w.slowdown);
    assert_true(expected(&w, heavy, 0, SY_NONE) == 1);
    assert_true(expected(&w, light, 0, SY_NONE) == 1);
    close_world(&w);
}

static void a_full_memory_slows(void **state) {
    (void)state;
    struct world w;
    open_world(&w);
    look(&w, 0, 0);
    assert_true(fabs(expected(&w, heavy, 0, SY_NONE) - 1) < 1e-9);
    look(&w, 39 * GB, 0);
    double slowed = expected(&w, heavy, 0, SY_NONE);
    assert_true(slowed > 1.2);
    assert_true(expected(&w, light, 0, SY_NONE) < 1.01);
    /* It is convex: what is not sure costs more on average. */
    look(&w, 28 * GB, 0);
    double sure = expected(&w, heavy, 0, SY_NONE);
    look(&w, 28 * GB, 8 * GB);
    assert_true(expected(&w, heavy, 0, SY_NONE) > sure);
    /* What runs already suffers from a newcomer only where it is full. */
    struct sy_draw draw = on(&dram0, &heavy);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true((sy_slowdown_expect(w.slowdown, 0, 0, draw, SY_NONE, 1e6).harm > 0) == (i > 0));
        sy_slowdown_add(w.slowdown, draw);
    }
    close_world(&w);
}

static void odd_readings_do_no_harm(void **state) {
    (void)state;
    struct world w;
    const double odd[] = {NAN, INFINITY, 1e300};
    open_world(&w);
    for (uint32_t i = 0; i < 9; i++) {
        look(&w, i % 2 ? odd[i % 3] : 1e300, odd[i / 3]);
        (void)expected(&w, heavy, 0, SY_NONE);
        sy_slowdown_started(w.slowdown, 0, 0, on(&dram0, &heavy), SY_NONE, 1e6);
        sy_slowdown_ended(w.slowdown, 0, odd[i % 3]);
        sy_slowdown_ended(w.slowdown, 1, 1); /* nothing began there */
    }
    close_world(&w);
}

static void durations_teach_neighbours(void **state) {
    (void)state;
    struct world w;
    open_world(&w);
    for (uint32_t i = 0; i < 40; i++) {
        run(&w, light, 0, SY_NONE, 1, 0);
        run(&w, light, 0, 1, 1.8, 0);
        run(&w, light, 2, 1, 1, 0);
    }
    look(&w, 0, 0);
    double known = expected(&w, light, 0, 1), unknown = expected(&w, light, 0, 3);
    assert_true(known > 1.6 && known < 1.9);
    assert_true(unknown > 1 && unknown <= known); /* drawn towards what others did to it */
    assert_true(expected(&w, light, 2, 1) < 1.1);
    assert_true(sy_slowdown_disturbs(w.slowdown, 1, 0) > 0.6);
    assert_true(sy_slowdown_disturbs(w.slowdown, 1, SY_NONE) == 0);
    close_world(&w);
}

/* A kernel of which no demand is known, and which suffers all the same. */
static void durations_teach_sensitivity(void **state) {
    (void)state;
    struct world w;
    open_world(&w);
    for (uint32_t i = 0; i < 120; i++) {
        run(&w, light, 3, SY_NONE, i % 2 ? 1.5 : 1, i % 2 ? 36 * GB : 0);
    }
    look(&w, 0, 0);
    assert_true(expected(&w, light, 3, SY_NONE) < 1.1);
    look(&w, 36 * GB, 0);
    assert_true(expected(&w, light, 3, SY_NONE) > 1.2);
    assert_true(expected(&w, light, 2, SY_NONE) < 1.05);
    sy_slowdown_reset(w.slowdown);
    w.now_ns = 0;
    look(&w, 36 * GB, 0);
    assert_true(expected(&w, light, 3, SY_NONE) < 1.05);
    close_world(&w);
}

/* What a draw without limit gets beside others who take that much, after tasks of 10 GB/s took the
 * given ratio: half of the time others are there, as the counters say. */
static double left_after(double ratio, double others) {
    struct world w;
    open_world(&w);
    for (uint32_t i = 0; i < 60; i++) {
        run(&w, heavy, 0, SY_NONE, i % 2 ? ratio : 1, i % 2 ? others : 0);
    }
    look(&w, others, 0);
    double left = sy_slowdown_open(w.slowdown)[dram0], slowed = expected(&w, heavy, 0, SY_NONE);
    print_message("# took %.2f: %.1f GB/s left, %.2f expected\n", ratio, left / GB, slowed);
    assert_true(fabs(slowed / ratio - 1) < 0.2);
    close_world(&w);
    return left;
}

/* Counters say how much others want, and not whether they give way: durations do. */
static void durations_teach_how_strong_others_are(void **state) {
    (void)state;
    struct world w;
    open_world(&w);
    look(&w, 39 * GB, 0);
    double before = sy_slowdown_open(w.slowdown)[dram0];
    close_world(&w);
    double gives_way = left_after(1, 39 * GB), holds_on = left_after(4, 39 * GB);
    assert_true(gives_way > 1.2 * before && gives_way > heavy);
    assert_true(holds_on < 0.5 * before);
}

/* A device that others take a part of: what runs there takes longer, whatever it is. */
static void durations_teach_devices(void **state) {
    (void)state;
    struct world w;
    open_world(&w);
    for (uint32_t i = 0; i < 40; i++) {
        run(&w, light, i % 4, SY_NONE, 1, 0);
    }
    look(&w, 0, 0);
    assert_true(expected(&w, light, 0, SY_NONE) < 1.01);
    for (uint32_t i = 0; i < 8; i++) {
        run(&w, light, i % 4, SY_NONE, 1.9, 0);
    }
    look(&w, 0, 0);
    double there = sy_slowdown_expect(w.slowdown, 0, 1, on(&dram0, &light), SY_NONE, 1e6).ratio;
    assert_true(expected(&w, light, 0, SY_NONE) > 1.3 && there < 1.1);
    for (uint32_t i = 0; i < 30; i++) {
        run(&w, light, i % 4, SY_NONE, 1, 0);
    }
    look(&w, 0, 0);
    assert_true(expected(&w, light, 0, SY_NONE) < 1.1);
    run(&w, light, 0, SY_NONE, 50, 0); /* a lone wild one */
    look(&w, 0, 0);
    assert_true(expected(&w, light, 0, SY_NONE) < 1.1);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_max_min_fair),
        cmocka_unit_test(shares_never_exceed_what_is_there),
        cmocka_unit_test(nothing_known_nothing_slowed),
        cmocka_unit_test(a_full_memory_slows),
        cmocka_unit_test(odd_readings_do_no_harm),
        cmocka_unit_test(durations_teach_neighbours),
        cmocka_unit_test(durations_teach_devices),
        cmocka_unit_test(durations_teach_sensitivity),
        cmocka_unit_test(durations_teach_how_strong_others_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
