/* SPDX-License-Identifier: Apache-2.0
 *
 * Actor-critic for the papers' policies: slopes of recorded episodes against differences, also
 * through the belief; returns by hand; the same seed gives the same bytes; and it learns.
 */
#include "../schedulers/fixture.h"
#include "papers/papers.h"
#include "schedulers/schedulers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MACHINE "2x(cpu:2 dram:10GB/s) gpu:1@pcie3x8"

static void open_world(struct fixture *f, struct sy_actor_world *ret_world) {
    fixture_init(f, MACHINE);
    fixture_add(f, fixture_graph("genomics:3,regions=2"), 0, 0, 1);
    fixture_add(f, fixture_graph("forkjoin:4,phases=2"), 1e6, 1, 1);
    fixture_seal(f);
    *ret_world = (struct sy_actor_world){.workload = f->workload,
                                         .options = {.seed = 3,
                                                     .contention = true,
                                                     .hidden_load = 0.3,
                                                     .counter_noise = 0.2,
                                                     .belief = SY_SIM_FILTERED}};
    struct sy_sim *sim = fixture_sim(f->workload, &ret_world->options);
    ret_world->reference = fixture_run(sim, f->workload, "lb-cont+wspt").slowdown_mean;
    sy_sim_destroy(sim);
}

/* An episode under random weights, by chance. */
static void record(const struct sy_actor_world *world, const char *policy, uint32_t without,
                   float *block, struct sy_policy_tape *tape) {
    struct sy_weights weights = {
        .kind = policy, .shape = SY_PAPER_SHAPE, .block = block, .count = SY_PAPER_COUNT};
    struct sy_policy_setup setup = {.weights = &weights, .without = without, .tape = tape};
    struct sy_sim_options options = world->options;
    options.setup = &setup;
    struct sy_sim *sim = fixture_sim(world->workload, &options);
    tape->sample = true;
    tape->rng = sy_rng_make(2, 1, 0);
    fixture_run(sim, world->workload, policy);
    sy_sim_destroy(sim);
}

/* A random direction that moves only what the variant uses; differences along it. The network is
 * in single precision and has corners: the tolerance is wide, the directions several. */
static void check_slopes(const char *policy, uint32_t without, double ratio_clip) {
    struct fixture f;
    struct sy_actor_world world;
    struct sy_policy_tape tape;
    struct sy_paper_net net;
    struct sy_actor_options options = sy_actor_defaults(policy);
    struct sy_actor_memory memory = {0};
    struct sy_actor_loss loss;
    struct sy_actor_target targets[20];
    float *block = calloc(SY_PAPER_COUNT, sizeof *block), *moved = calloc(SY_PAPER_COUNT, 4);
    float *slopes = calloc(SY_PAPER_COUNT, sizeof *slopes);
    static struct sy_actor_target all[4000];
    assert_true(block && moved && slopes);
    open_world(&f, &world);
    options.ratio_clip = ratio_clip;
    options.entropy = 0.05;
    options.value_weight = ratio_clip > 0 ? 0 : 0.5; /* the actor's slopes are small beside */
    sy_paper_net_make(&net, strcmp(policy, "black-box") == 0, without);
    sy_paper_net_start(&net, 11, block);
    assert_int_equal(sy_tape_init(&tape, 4000, 4000000), 0);
    record(&world, policy, without, block, &tape);
    assert_true(tape.step_count >= 25);
    sy_actor_targets(&options, &tape, 0.3, 1e8, false, all);
    memcpy(targets, all + 5, sizeof targets);
    const struct sy_paper_step *steps = tape.steps + 5;
    assert_int_equal(
        sy_actor_loss(&options, &net, block, steps, targets, 20, 0.05, &memory, slopes, &loss), 0);
    for (uint32_t direction = 0; direction < 4; direction++) {
        struct sy_rng rng = sy_rng_make(direction, 77, 0);
        double along = 0, values[2], step = 2e-4;
        for (uint32_t i = 0; i < SY_PAPER_COUNT; i++) {
            moved[i] = (float)(sy_rng_normal(&rng) + (slopes[i] != 0 ? 30 * slopes[i] : 0));
            along += (double)moved[i] * (double)slopes[i];
        }
        for (int side = 0; side < 2; side++) {
            float *here = calloc(SY_PAPER_COUNT, sizeof *here);
            for (uint32_t i = 0; i < SY_PAPER_COUNT; i++) {
                here[i] = block[i] + (float)(side ? -step : step) * moved[i];
            }
            assert_int_equal(
                sy_actor_loss(&options, &net, here, steps, targets, 20, 0.05, &memory, NULL, &loss),
                0);
            values[side] = loss.loss;
            free(here);
        }
        double difference = (values[0] - values[1]) / (2 * step);
        if (fabs(difference - along) > 0.01 * fabs(along) + 0.002) {
            fail_msg("%s without %x, direction %u: slope %g, difference %g", policy, without,
                     direction, along, difference);
        }
    }
    sy_actor_memory_finish(&memory);
    sy_tape_finish(&tape);
    fixture_finish(&f);
    free(block);
    free(moved);
    free(slopes);
}

static void slopes_are_right(void **state) {
    (void)state;
    check_slopes("symphony-paper", 0, 0);
    check_slopes("symphony-paper", 0, 0.2);
    check_slopes("black-box", 0, 0);
    check_slopes("symphony-paper", SY_PART_TOPOLOGY, 0);
    check_slopes("symphony-paper", SY_PART_LSTM | SY_PART_GRAPH, 0);
}

/* Five decisions, segments of two: bootstrapped behind a segment, nothing behind the end. */
static void returns_by_hand(void **state) {
    (void)state;
    struct sy_policy_tape tape;
    struct sy_actor_target t[5];
    struct sy_actor_options options = {.unroll = 2, .gamma = 0.5};
    assert_int_equal(sy_tape_init(&tape, 5, 64), 0);
    tape.step_count = 5;
    tape.cost = 15;
    for (uint32_t i = 0; i < 5; i++) { /* rewards -1, -2, -3, -4, -5 */
        tape.steps[i].cost = (double[]){0, 1, 3, 6, 10}[i];
        tape.steps[i].value = -(float)i;
    }
    sy_actor_targets(&options, &tape, 1, INFINITY, false, t);
    assert_float_equal(t[4].value, -5, 1e-6);
    assert_float_equal(t[3].value, -4 + 0.5 * -4, 1e-6); /* V of step 4 */
    assert_float_equal(t[2].value, -3 + 0.5 * -6, 1e-6);
    assert_float_equal(t[1].value, -2 + 0.5 * -2, 1e-6); /* V of step 2 */
    assert_float_equal(t[0].value, -1 + 0.5 * -3, 1e-6);
    assert_float_equal(t[3].advantage, -6 + 3, 1e-6);
    sy_actor_targets(&options, &tape, 1, INFINITY, true, t); /* taught: to the end */
    assert_float_equal(t[3].value, -4 + 0.5 * -5, 1e-6);
    assert_float_equal(t[0].value, -1 + 0.5 * (-2 + 0.5 * (-3 + 0.5 * -6.5)), 1e-6);
    assert_float_equal(t[0].advantage, 1, 0);
    for (uint32_t i = 0; i < 5; i++) {
        tape.steps[i].now_ns = 10.0 * i;
    }
    options.gamma = 1;
    sy_actor_targets(&options, &tape, 2, 10, true, t); /* by time, rewards doubled */
    assert_float_equal(t[3].value, (float)(-8 + exp(-1) * -10), 1e-5);
    sy_tape_finish(&tape);
}

static double learn(const struct sy_actor_world *world, uint32_t taught, uint32_t alone,
                    double *ret_first, float *ret_block) {
    struct sy_actor_options options = sy_actor_defaults("black-box");
    struct sy_actor *actor = NULL;
    struct sy_actor_report report;
    struct sy_error error = {0};
    double ratio;
    options.seed = 5;
    options.rate = 0.002;
    assert_int_equal(sy_actor_create(&options, NULL, &actor), 0);
    assert_int_equal(sy_actor_judge(actor, world, 1, ret_first, &error), 0);
    for (uint32_t i = 0; i < taught + alone; i++) {
        const char *teacher = i < taught ? "lb-cont+wspt" : NULL;
        assert_int_equal(sy_actor_step(actor, world, 1, teacher, options.rate, &report, &error), 0);
        assert_true(report.samples > 0 && isfinite(report.value_loss) && isfinite(report.norm));
    }
    assert_int_equal(sy_actor_judge(actor, world, 1, &ratio, &error), 0);
    memcpy(ret_block, sy_actor_block(actor), SY_PAPER_COUNT * sizeof *ret_block);
    sy_actor_destroy(actor);
    return ratio;
}

/* How likely the network finds what its teacher does; mean logarithm. */
static double agreement(const struct sy_actor_world *world, float *block) {
    struct sy_policy_tape tape;
    double sum = 0;
    assert_int_equal(sy_tape_init(&tape, 4000, 4000000), 0);
    tape.teacher = "lb-cont+wspt";
    record(world, "black-box", 0, block, &tape);
    assert_true(tape.step_count > 20);
    for (uint32_t i = 0; i < tape.step_count; i++) {
        sum += (double)tape.steps[i].log_probability / tape.step_count;
    }
    sy_tape_finish(&tape);
    return sum;
}

static void learns_from_a_teacher(void **state) {
    (void)state;
    struct fixture f;
    struct sy_actor_world world;
    struct sy_paper_net net;
    float *block = calloc(SY_PAPER_COUNT, sizeof *block);
    double first;
    open_world(&f, &world);
    sy_paper_net_make(&net, true, 0);
    sy_paper_net_start(&net, 5, block);
    double before = agreement(&world, block);
    learn(&world, 40, 0, &first, block);
    double after = agreement(&world, block);
    if (!(after > 0.7 * before)) {
        fail_msg("ln of the chance of what the teacher does: %.3f at first, %.3f after lessons",
                 before, after);
    }
    fixture_finish(&f);
    free(block);
}

static void same_seed_same_bytes(void **state) {
    (void)state;
    struct fixture f;
    struct sy_actor_world world;
    float *blocks[2];
    double first;
    open_world(&f, &world);
    for (int i = 0; i < 2; i++) {
        blocks[i] = calloc(SY_PAPER_COUNT, sizeof *blocks[i]);
        learn(&world, 1, 2, &first, blocks[i]);
    }
    assert_memory_equal(blocks[0], blocks[1], SY_PAPER_COUNT * sizeof *blocks[0]);
    fixture_finish(&f);
    free(blocks[0]);
    free(blocks[1]);
}

/* --- through the belief --------------------------------------------------------------------------
 */
/* Each resource's traffic, and the two memories' sum as a counter of its own. */
static struct sy_model *make_model(const struct sy_machine *machine, double noise, double width) {
    struct sy_model *model = sy_model_create("bootstrap");
    assert_non_null(model);
    for (uint32_t r = 0; r < machine->resource_count; r++) {
        double capacity = machine->resources[r].bytes_per_s;
        struct sy_variable v = {.name = machine->resources[r].name,
                                .role = "",
                                .counter = r,
                                .pmu = 0,
                                .start_log = log(0.4 * capacity),
                                .start_sd = 0.6,
                                .drift_sd = 0.3,
                                .noise_ratio = noise,
                                .offset = 1e-3 * capacity,
                                .capacity = capacity,
                                .resource = r};
        assert_int_equal(sy_model_add_variable(model, &v), r);
    }
    struct sy_variable both = {.name = "memory",
                               .role = "",
                               .counter = machine->resource_count,
                               .pmu = SY_NONE,
                               .start_log = log(8e9),
                               .start_sd = 0.6,
                               .drift_sd = 0.3,
                               .noise_ratio = 0.05,
                               .offset = 1e6,
                               .capacity = INFINITY,
                               .resource = SY_NONE};
    uint32_t out = sy_model_add_variable(model, &both);
    struct sy_factor sum = {.kind = SY_FACTOR_EQUAL, .why = "sum", .out = out, .width = width};
    struct sy_term terms[] = {{0, 1}, {1, 1}};
    assert_int_equal(sy_model_add_factor(model, &sum, terms, 2), 0);
    return model;
}

struct chain {
    struct fixture f;
    struct sy_actor_world world;
    struct sy_policy_tape tape;
    struct sy_paper_net net;
    float *block;
    struct sy_model *truth;
    struct sy_actor_belief belief;
};

static void open_chain(struct chain *c) {
    open_world(&c->f, &c->world);
    assert_int_equal(sy_tape_init(&c->tape, 4000, 4000000), 0);
    c->block = calloc(SY_PAPER_COUNT, sizeof *c->block);
    sy_paper_net_make(&c->net, false, 0);
    sy_paper_net_start(&c->net, 11, c->block);
    record(&c->world, "symphony-paper", 0, c->block, &c->tape);
    uint32_t best = 0; /* the decision with most to choose from */
    for (uint32_t i = 0; i < c->tape.step_count; i++) {
        best =
            c->tape.steps[i].frame.action_count > c->tape.steps[best].frame.action_count ? i : best;
    }
    for (uint32_t i = 0; i < SY_PAPER_COUNT; i++) {
        c->block[i] *= 2; /* louder, so that what is believed matters */
    }
    c->truth = make_model(c->f.machine, 0.15, 0.03);
    assert_int_equal(sy_actor_belief_init(&c->belief, &c->net, c->block, &c->tape.steps[best],
                                          c->f.machine, c->truth),
                     0);
}

static void close_chain(struct chain *c) {
    sy_actor_belief_finish(&c->belief);
    sy_model_destroy(c->truth);
    sy_tape_finish(&c->tape);
    fixture_finish(&c->f);
    free(c->block);
}

/* The whole chain: belief's parameters -> posterior's draws -> labels -> GN1 -> LSTM -> loss. */
static void slopes_through_the_belief(void **state) {
    (void)state;
    enum { STEPS = 3 };
    struct chain c = {0};
    double rates[STEPS * 32], theta[400], gradient[400] = {0}, moved[400], values[2];
    struct sy_observation readings[STEPS * 32];
    uint32_t counts[STEPS];
    open_chain(&c);
    uint32_t count = sy_parameter_first(c.truth, SY_PARAMETER_KINDS);
    assert_true(count <= SY_COUNT(theta) && c.truth->variable_count <= 32);
    struct sy_generate_options world = {.steps = STEPS};
    struct sy_gradient_options options = {.draw_count = 4, .seed = 9};
    struct sy_loss loss = {sy_actor_belief_loss, &c.belief};
    struct sy_rng rng = sy_rng_make(4, 5, 6);
    assert_int_equal(sy_model_generate(c.truth, &world, &rng, rates, readings, counts), 0);
    c.belief.rates = rates;
    sy_parameters_read(c.truth, theta);
    double value;
    assert_int_equal(
        sy_gradient(c.truth, theta, readings, counts, STEPS, &options, &loss, &value, gradient), 0);
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, fabs(gradient[i]));
    }
    assert_true(most > 1e-4); /* the belief matters to the loss */
    uint32_t checked = 0;
    for (uint32_t i = 0; i < count; i++) {
        double step = 3e-3;
        if (fabs(gradient[i]) < 0.05 * most) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            memcpy(moved, theta, sizeof moved);
            moved[i] += side ? -step : step;
            assert_int_equal(sy_gradient(c.truth, moved, readings, counts, STEPS, &options, &loss,
                                         &values[side], NULL),
                             0);
        }
        double difference = (values[0] - values[1]) / (2 * step);
        if (fabs(difference - gradient[i]) > 0.05 * fabs(gradient[i]) + 0.01 * most) {
            fail_msg("parameter %u: slope %g, difference %g", i, gradient[i], difference);
        }
        checked++;
    }
    assert_true(checked >= 3);
    close_chain(&c);
}

/* The counting estimator with many samples, against exact tables, against differences of them. */
static void counts_as_the_papers_do(void **state) {
    (void)state;
    struct chain c = {0};
    double slope, unused, estimated;
    double rates[32];
    open_chain(&c);
    for (uint32_t i = 0; i < c.truth->variable_count; i++) {
        rates[i] = isfinite(c.truth->variables[i].capacity)
                       ? (i ? 0.2 : 0.8) * c.truth->variables[i].capacity
                       : 1e9;
    }
    c.belief.rates = rates;
    struct sy_actor_counting counting = {
        .prior_mean = 0.4, .prior_sd = 0.25, .reading = 0.75, .noise_sd = 0.1};
    double value = sy_actor_belief_counting(&c.belief, &counting, &slope);
    assert_true(isfinite(value) && fabs(slope) > 1e-6);
    double values[2];
    for (int side = 0; side < 2; side++) {
        struct sy_actor_counting moved = counting;
        moved.noise_sd *= exp(side ? -0.02 : 0.02);
        values[side] = sy_actor_belief_counting(&c.belief, &moved, &unused);
    }
    double difference = (values[0] - values[1]) / 0.04;
    assert_true(fabs(difference - slope) < 0.05 * fabs(slope) + 1e-5);
    counting.sample_count = 400000;
    counting.seed = 8;
    sy_actor_belief_counting(&c.belief, &counting, &estimated);
    assert_true(fabs(estimated - slope) < 0.25 * fabs(slope));
    close_chain(&c);
}

/* The free parameters move, the same way each time, and the network does not. */
static void trust_is_trained(void **state) {
    struct fixture f;
    struct sy_actor_world world;
    (void)state;
    open_world(&f, &world);
    world.options.counter_noise = 0.1;
    for (uint32_t kind = SY_GRADIENT_NONE; kind < SY_GRADIENTS; kind++) {
        struct sy_actor_trust trust[2];
        float *before = calloc(SY_PAPER_COUNT, sizeof *before);
        for (int run = 0; run < 2; run++) {
            struct sy_actor_options options = sy_actor_defaults("symphony-paper");
            struct sy_actor_report report;
            struct sy_actor *actor = NULL;
            struct sy_error error = {0};
            options.seed = 3;
            trust[run] = sy_actor_trust_start();
            assert_int_equal(sy_actor_create(&options, NULL, &actor), 0);
            assert_int_equal(sy_actor_step(actor, &world, 1, NULL, 0.002, &report, &error), 0);
            memcpy(before, sy_actor_block(actor), SY_PAPER_COUNT * sizeof *before);
            for (int i = 0; i < 12; i++) {
                assert_int_equal(sy_actor_trust_step(actor, &world, (enum sy_actor_gradient)kind,
                                                     0.002, &trust[run], &error),
                                 0);
            }
            assert_memory_equal(before, sy_actor_block(actor), SY_PAPER_COUNT * sizeof *before);
            sy_actor_destroy(actor);
        }
        struct sy_actor_trust start = sy_actor_trust_start();
        assert_memory_equal(trust[0].ln, trust[1].ln, sizeof start.ln);
        assert_int_equal(memcmp(trust[0].ln, start.ln, sizeof start.ln) != 0,
                         kind != SY_GRADIENT_NONE);
        for (uint32_t i = 0; i < SY_TRUST_COUNT; i++) {
            assert_true(isfinite(trust[0].ln[i]));
        }
        free(before);
    }
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_right),          cmocka_unit_test(returns_by_hand),
        cmocka_unit_test(learns_from_a_teacher),     cmocka_unit_test(same_seed_same_bytes),
        cmocka_unit_test(slopes_through_the_belief), cmocka_unit_test(counts_as_the_papers_do),
        cmocka_unit_test(trust_is_trained),
    };
    return cmocka_run_group_tests_name("train_actor", tests, NULL, NULL);
}
