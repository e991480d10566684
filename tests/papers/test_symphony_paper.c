/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' policies: what they look at is finite and bounded on every generator, they decide
 * only what is legal on machines of every kind, and the same weights decide the same.
 */
#include "../schedulers/fixture.h"
#include "papers/net.h"
#include "schedulers/schedulers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const graphs[] = {
    "cholesky:4", "lu:3",     "qr:3",           "fft:3",
    "gauss:4",    "chain:6",  "independent:20", "stencil:4,steps=4",
    "outtree:3",  "intree:3", "forkjoin:5",     "layered:width=5,depth=6,seed=3,ccr=1",
    "genomics:4", "gnn:2",    "transformer:1",
};
static const char *const machines[] = {"cpu:1", "2x(cpu:2@smt=2 dram:40GB/s gpu:1@streams=2)",
                                       "cpu:2 fpga:1@regions=3", "cpu:20 gpu:4"};
static const char *const policies[] = {"symphony-paper", "black-box"};

static void assert_bounded(const float *numbers, size_t count, const char *what,
                           const char *where) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(numbers[i]) || fabsf(numbers[i]) > 1) {
            fail_msg("%s: number %zu of %s is %g", where, i, what, (double)numbers[i]);
        }
    }
}

static void assert_frame(const struct sy_paper_frame *f, const char *where) {
    assert_bounded(f->vertices, (size_t)sy_paper_vertices(f) * SY_PAPER_VERTEX, "labels", where);
    assert_bounded(f->edges, (size_t)f->edge_count * SY_PAPER_EDGE, "edges", where);
    assert_bounded(f->global, SY_PAPER_GLOBAL, "the whole", where);
    assert_bounded(f->tasks, (size_t)f->task_count * SY_PAPER_TASK, "tasks", where);
    assert_bounded(f->links, (size_t)f->link_count * SY_PAPER_LINK, "links", where);
    assert_bounded(f->candidates, (size_t)f->action_count * SY_PAPER_CANDIDATE, "actions", where);
    assert_true(f->link_count > 0 && f->action_count > 0);
    for (uint32_t e = 0; e < f->edge_count; e++) {
        assert_true(f->edge_from[e] < sy_paper_vertices(f));
        assert_true(f->edge_to[e] < sy_paper_vertices(f));
    }
    for (uint32_t e = 0; e < f->link_count; e++) {
        assert_true(f->link_from[e] < f->task_count && f->link_to[e] < f->task_count);
    }
}

static struct sy_sim_options world(struct sy_policy_setup *setup, enum sy_sim_belief belief) {
    return (struct sy_sim_options){.seed = 5,
                                   .noise_sigma = 0.2,
                                   .contention = true,
                                   .hidden_load = 0.3,
                                   .counter_noise = 0.3,
                                   .counter_live = 2,
                                   .belief = belief,
                                   .record = true,
                                   .setup = setup};
}

/* The tape's costs are the slowdowns that the world counts. */
static void assert_tape(const struct sy_policy_tape *tape, const struct sy_sim_result *result,
                        const struct sy_workload *w, const char *where) {
    assert_false(tape->full);
    assert_true(tape->step_count >= w->task_count);
    assert_true(fabs(tape->cost - result->slowdown_mean * w->job_count) <= 1e-6 * tape->cost);
    for (uint32_t i = 0; i < tape->step_count; i++) {
        const struct sy_paper_step *step = &tape->steps[i];
        assert_frame(&step->frame, where);
        assert_true(step->chosen < step->frame.action_count && step->log_probability <= 0);
        assert_true(i == 0 || step->cost >= tape->steps[i - 1].cost);
    }
}

static void looks_at_bounded_numbers(void **state) {
    (void)state;
    struct sy_policy_tape tape;
    struct sy_policy_setup setup = {.tape = &tape};
    assert_int_equal(sy_tape_init(&tape, 4000, 4000000), 0);
    for (uint32_t g = 0; g < SY_COUNT(graphs); g++) {
        struct fixture f;
        char where[200];
        const char *machine = machines[g % SY_COUNT(machines)];
        fixture_init(&f, machine);
        for (uint32_t j = 0; j < 2; j++) {
            fixture_add(&f, fixture_graph(graphs[g]), 1e6 * j, j, 1);
        }
        fixture_seal(&f);
        for (uint32_t k = 0; k < 4; k++) {
            struct sy_sim_options options = world(&setup, k / 2 ? SY_SIM_FILTERED : SY_SIM_RAW);
            struct sy_sim *sim = fixture_sim(f.workload, &options);
            snprintf(where, sizeof where, "%s on \"%s\"", graphs[g], machine);
            sy_tape_clear(&tape);
            tape.sample = true;
            tape.rng = sy_rng_make(3, 1, g);
            struct sy_sim_result result = fixture_run(sim, f.workload, policies[k % 2]);
            assert_tape(&tape, &result, f.workload, where);
            sy_sim_destroy(sim);
        }
        fixture_finish(&f);
    }
    sy_tape_finish(&tape);
}

/* Chance draws from all that is offered, so that everything offered must be legal: with regions,
 * with devices that go, and without parts. fixture_run judges the trace. */
static void decides_only_what_is_legal(void **state) {
    (void)state;
    static const uint32_t without[] = {0, SY_PART_TOPOLOGY, SY_PART_LSTM | SY_PART_GRAPH,
                                       SY_PART_BELIEF};
    struct sy_policy_tape tape;
    assert_int_equal(sy_tape_init(&tape, 4000, 4000000), 0);
    for (uint32_t i = 0; i < 24; i++) {
        struct fixture f;
        struct sy_policy_setup setup = {.tape = &tape, .without = without[i / 2 % 4]};
        struct sy_device_event events[] = {
            {2e6, 0, true}, {4e6, 0, false}, {5e6, 1, true}, {5e6, 1, false}};
        fixture_one(&f, machines[i % SY_COUNT(machines)], graphs[i % SY_COUNT(graphs)]);
        struct sy_sim_options options = world(&setup, SY_SIM_FILTERED);
        options.seed = i;
        options.decision_ns = i % 3 ? 0 : 1e5;
        options.device_events = events;
        options.device_event_count = f.machine->device_count > 1 ? 4 : 2;
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        setup.without &= i % 2 ? SY_PART_LSTM | SY_PART_GRAPH : UINT32_MAX;
        sy_tape_clear(&tape);
        tape.sample = true;
        tape.rng = sy_rng_make(i, 1, 0);
        fixture_run(sim, f.workload, policies[i % 2]);
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
    sy_tape_finish(&tape);
}

static void regions_are_reconfigured(void **state) {
    (void)state;
    struct fixture f;
    struct sy_policy_tape tape;
    struct sy_policy_setup setup = {.tape = &tape};
    uint32_t offered = 0;
    assert_int_equal(sy_tape_init(&tape, 4000, 4000000), 0);
    fixture_one(&f, "cpu:2 fpga:1@regions=3", "genomics:6,regions=3");
    struct sy_sim_options options = world(&setup, SY_SIM_RAW);
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    tape.sample = true;
    tape.rng = sy_rng_make(3, 1, 0);
    struct sy_sim_result result = fixture_run(sim, f.workload, "symphony-paper");
    for (uint32_t i = 0; i < tape.step_count; i++) {
        const struct sy_paper_frame *frame = &tape.steps[i].frame;
        for (uint32_t a = 0; a < frame->action_count; a++) {
            offered += frame->actions[a].kind == SY_RECONFIGURE;
        }
    }
    assert_true(offered > 0 && result.reconfigure_count > 0);
    sy_sim_destroy(sim);
    fixture_finish(&f);
    sy_tape_finish(&tape);
}

/* Weights that like nothing better than to configure regions: work is done all the same. */
static void configuring_comes_to_an_end(void **state) {
    (void)state;
    struct fixture f;
    struct sy_paper_net net;
    struct sy_weights weights = {
        .kind = "symphony-paper", .shape = SY_PAPER_SHAPE, .count = SY_PAPER_COUNT};
    struct sy_policy_setup setup = {.weights = &weights};
    float *block = calloc(SY_PAPER_COUNT, sizeof *block);
    assert_non_null(block);
    sy_paper_net_make(&net, false, 0);
    const struct sy_linear *first = &net.actor.layers[0];
    uint32_t column = SY_PAPER_HIDDEN + SY_PAPER_EMBEDDING + 1; /* it is a reconfiguration */
    block[first->weight + column * first->out] = 1;
    block[net.actor.layers[1].weight] = 5;
    weights.block = block;
    fixture_one(&f, "cpu:2 fpga:1@regions=3", "genomics:6,regions=3");
    struct sy_sim_options options = world(&setup, SY_SIM_RAW);
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "symphony-paper");
    assert_true(result.reconfigure_count > 2);
    assert_true(result.reconfigure_count <= 2 * f.workload->task_count + 3);
    sy_sim_destroy(sim);
    fixture_finish(&f);
    free(block);
}

/* A teacher decides, and what it does is on the tape. */
static void teachers_are_recorded(void **state) {
    (void)state;
    struct fixture f;
    struct sy_policy_tape tape;
    struct sy_policy_setup setup = {.tape = &tape};
    fixture_one(&f, "2x(cpu:3 dram:20GB/s gpu:1)", "cholesky:6");
    struct sy_sim_options options = world(NULL, SY_SIM_FILTERED);
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    double alone = fixture_run(sim, f.workload, "lb-cont+wspt").makespan_ns;
    sy_sim_destroy(sim);
    assert_int_equal(sy_tape_init(&tape, 4000, 4000000), 0);
    options.setup = &setup;
    sim = fixture_sim(f.workload, &options);
    tape.teacher = "lb-cont+wspt";
    double taught = fixture_run(sim, f.workload, "symphony-paper").makespan_ns;
    assert_true(fabs(taught / alone - 1) < 0.05); /* asked for one decision at a time */
    assert_true(tape.step_count > f.workload->task_count / 2);
    assert_true(tape.unrecorded_count < tape.step_count / 4);
    struct sy_error error = {0};
    struct sy_sim_result result;
    tape.teacher = "greedy-true";
    assert_true(sy_sim_run(sim, "symphony-paper", &result, &error) < 0);
    sy_sim_destroy(sim);
    fixture_finish(&f);
    sy_tape_finish(&tape);
}

/* The same weights, the same decisions; other weights, others. A batch shares passes. */
static void decides_the_same_again(void **state) {
    (void)state;
    struct fixture f;
    struct sy_paper_net net;
    struct sy_weights weights = {
        .kind = "symphony-paper", .shape = SY_PAPER_SHAPE, .count = SY_PAPER_COUNT};
    float *block = calloc(SY_PAPER_COUNT, sizeof *block);
    double makespan[3];
    assert_non_null(block);
    sy_paper_net_make(&net, false, 0);
    fixture_one(&f, "2x(cpu:3 dram:20GB/s gpu:1)", "layered:width=8,depth=8,seed=3,ccr=1");
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = world(&setup, SY_SIM_FILTERED);
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    weights.block = block;
    for (uint32_t i = 0; i < 3; i++) {
        sy_paper_net_start(&net, i == 2 ? 9 : 4, block);
        makespan[i] = fixture_run(sim, f.workload, "symphony-paper").makespan_ns;
    }
    assert_true(makespan[0] == makespan[1] && makespan[0] != makespan[2]);
    fixture_run(sim, f.workload, "symphony-paper:32");
    struct sy_error error = {0};
    struct sy_sim_result result;
    assert_true(sy_sim_run(sim, "black-box", &result, &error) < 0); /* not its weights */
    sy_sim_destroy(sim);
    fixture_finish(&f);
    free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_at_bounded_numbers), cmocka_unit_test(decides_only_what_is_legal),
        cmocka_unit_test(regions_are_reconfigured), cmocka_unit_test(configuring_comes_to_an_end),
        cmocka_unit_test(teachers_are_recorded),    cmocka_unit_test(decides_the_same_again),
    };
    return cmocka_run_group_tests_name("schedulers_paper", tests, NULL, NULL);
}
