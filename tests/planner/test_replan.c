/* SPDX-License-Identifier: Apache-2.0
 *
 * The replanner on made-up machines whose true times are known. Does it find the best plan with few
 * probes although estimates are off, does it follow what changes, and does it leave alone what does
 * not?
 */
#include "planner/pipeline.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KERNELS    6
#define CLASSES    3
#define FEATURES   2
#define SHAPE_MOST 16
#define ITEMS_MOST 48
#define LATE_MOST  8
#define INSTANCES  600

/* --- worlds -------------------------------------------------------------------------------------
 * A chain of kernels, each of its own type, on cores, cards and boards. */
struct world {
    struct sy_pipeline *pipeline;
    struct sy_system system;
    struct sy_store *store;
    double factor[KERNELS][CLASSES];    /* truth / what the store believed at first, width 1 */
    double wobble[KERNELS][SHAPE_MOST]; /* the same for one shape alone */
    double noise;
    struct sy_rng rng;
};

static const char *const class_names[CLASSES] = {"core", "card", "board"};

static struct sy_pipeline *make_pipeline(struct sy_rng *rng) {
    struct sy_buffer text = {0};
    struct sy_pipeline *pipeline = NULL;
    struct sy_error error = {0};
    sy_buffer_printf(&text, "{\"schema\": \"symph-pipeline-1\", \"name\": \"chain\", \"about\": "
                            "\"of a test\", \"features\": [{\"name\": \"size\", \"low\": 1, "
                            "\"high\": 1e12}, {\"name\": \"skew\", \"low\": 0, \"high\": 100}], "
                            "\"data\": [{\"name\": \"d0\", \"role\": \"input\", \"bytes\": "
                            "\"size\"}");
    for (uint32_t i = 1; i <= KERNELS; i++) {
        sy_buffer_printf(&text, ", {\"name\": \"d%u\", \"role\": \"%s\", \"bytes\": \"%.3f*size\"}",
                         i, i < KERNELS ? "between" : "output", 0.2 + sy_rng_uniform(rng));
    }
    sy_buffer_printf(&text, "], \"kernels\": [");
    for (uint32_t i = 0; i < KERNELS; i++) {
        sy_buffer_printf(&text,
                         "%s{\"name\": \"k%u\", \"kernel\": \"t%u\", \"reads\": [\"d%u\"], "
                         "\"writes\": [\"d%u\"], \"split\": true, \"cost\": {\"flops\": "
                         "\"%.3f*size\", \"bytes\": \"%.3f*size*(1+skew)\"}}",
                         i ? ", " : "", i, i, i, i + 1, exp(2 + 4 * sy_rng_uniform(rng)),
                         exp(2 * sy_rng_uniform(rng)));
    }
    sy_buffer_printf(&text, "]}");
    int rc = sy_pipeline_read_text("chain", text.text, text.length, &pipeline, &error);
    if (rc) {
        fail_msg("%s", error.message);
    }
    sy_buffer_finish(&text);
    return pipeline;
}

static struct sy_system make_system(struct sy_rng *rng) {
    static const double flops_per_s[CLASSES] = {2e11, 5e12, 1e12};
    static const double bytes_per_s[CLASSES] = {2e10, 5e11, 3e11};
    static const uint32_t counts[CLASSES] = {1, 2, 3};
    struct sy_system system = {.class_count = CLASSES};
    for (uint32_t i = 0; i < CLASSES; i++) {
        system.classes[i] = (struct sy_system_class){
            .name = class_names[i],
            .kind = i == 0   ? SY_CPU
                    : i == 1 ? SY_GPU
                             : SY_FPGA,
            .device_count = counts[i],
            .width_max = counts[i],
            .slowdown = 1,
            .idle_watts = 10 + 20 * sy_rng_uniform(rng),
            .busy_watts = 50 + 200 * sy_rng_uniform(rng),
            .price_per_hour = 1,
            .memory_bytes = INFINITY,
            .roofline = {.class_name = class_names[i],
                         .flops_per_s = flops_per_s[i] * exp(0.5 * sy_rng_normal(rng)),
                         .bytes_per_s = bytes_per_s[i] * exp(0.5 * sy_rng_normal(rng)),
                         .launch_ns = 5000,
                         .busy_watts = 40 + 100 * sy_rng_uniform(rng)}};
    }
    double bytes_per_s_of_links = sy_rng_uniform(rng) < 0.5 ? 25e9 : 50e9;
    for (uint32_t i = 0; i < (CLASSES + 1) * (CLASSES + 1); i++) {
        system.links[i] = (struct sy_plan_link){10e3, bytes_per_s_of_links, 1e-11};
    }
    for (uint32_t i = 0; i <= CLASSES; i += CLASSES) { /* cores work in host memory */
        for (uint32_t k = 0; k <= CLASSES; k += CLASSES) {
            system.links[i * (CLASSES + 1) + k] = (struct sy_plan_link){0, INFINITY, 0};
        }
    }
    return system;
}

/* The first belief: a sample per kernel, class and width, at some other size. */
static void teach(struct world *world, double far) {
    for (uint32_t k = 0; k < KERNELS; k++) {
        const struct sy_pipeline_kernel *kernel = &world->pipeline->kernels[k];
        for (uint32_t c = 0; c < CLASSES; c++) {
            const struct sy_roofline *roofline = &world->system.classes[c].roofline;
            double ratio = exp(far * (sy_rng_uniform(&world->rng) < 0.5 ? 1 : -1));
            double values[FEATURES] = {1e8 * ratio, 0.5}, numbers[64], costs[2];
            double efficiency = 0.15 + 0.85 * sy_rng_uniform(&world->rng);
            assert_int_equal(sy_pipeline_measure(world->pipeline, values, numbers, NULL), 0);
            costs[0] = numbers[kernel->costs[0]];
            costs[1] = numbers[kernel->costs[1]];
            for (uint32_t w = 1; w <= world->system.classes[c].device_count; w++) {
                double busy_s =
                    sy_most(costs[0] / roofline->flops_per_s, costs[1] / roofline->bytes_per_s) /
                    efficiency;
                struct sy_cost_sample sample = {.kernel = kernel->kernel,
                                                .class_name = class_names[c],
                                                .features =
                                                    sy_pipeline_features(kernel, numbers, w, costs),
                                                .time_ns = 1e9 * busy_s / pow(w, 0.85) + 5000,
                                                .watts = NAN};
                assert_int_equal(sy_store_observe(world->store, &sample), 0);
            }
        }
    }
}

/* far: how far away the first samples are, in logs of the size: what makes estimates unsure. */
static struct world start(uint64_t seed, double far) {
    struct world world = {.rng = sy_rng_make(seed, 1, 0)};
    world.pipeline = make_pipeline(&world.rng);
    world.system = make_system(&world.rng);
    world.store = sy_store_create();
    assert_non_null(world.store);
    for (uint32_t c = 0; c < CLASSES; c++) {
        assert_int_equal(sy_store_set_roofline(world.store, &world.system.classes[c].roofline), 0);
    }
    teach(&world, far);
    for (uint32_t k = 0; k < KERNELS; k++) {
        for (uint32_t c = 0; c < CLASSES; c++) {
            world.factor[k][c] = 1;
        }
        for (uint32_t s = 0; s < SHAPE_MOST; s++) {
            world.wobble[k][s] = 1;
        }
    }
    return world;
}

static void finish(struct world *world) {
    sy_store_close(world->store);
    sy_pipeline_destroy(world->pipeline);
}

/* What is believed of an item at first, which with factor and wobble is the truth. */
struct belief {
    struct sy_arena *arena;
    struct sy_plan_problem problem;
    const struct sy_estimate *guesses;
    double time_ns[KERNELS * SHAPE_MOST], joules[KERNELS * SHAPE_MOST];
};

static void believe(const struct world *world, const double *values, struct belief *belief) {
    struct sy_error error = {0};
    belief->arena = sy_arena_create();
    assert_non_null(belief->arena);
    assert_int_equal(sy_pipeline_problem(world->pipeline, values, &world->system, world->store, 0,
                                         belief->arena, &belief->problem, &belief->guesses, &error),
                     0);
    assert_true(belief->problem.shape_count <= SHAPE_MOST);
}

static void make_true(const struct world *world, struct belief *belief) {
    struct sy_plan_problem *problem = &belief->problem;
    for (uint32_t k = 0; k < KERNELS; k++) {
        for (uint32_t s = 0; s < problem->shape_count; s++) {
            uint32_t at = k * problem->shape_count + s;
            double factor = world->factor[k][problem->shapes[s].class_index] * world->wobble[k][s];
            belief->time_ns[at] = problem->time_ns[at] * factor;
            belief->joules[at] = problem->joules[at] * factor;
        }
    }
    problem->time_ns = belief->time_ns;
    problem->joules = belief->joules;
}

static double best_of(const struct belief *truth, const struct sy_plan_request *request) {
    struct sy_planner *planner = sy_planner_create();
    struct sy_plan plan;
    struct sy_error error = {0};
    assert_non_null(planner);
    assert_int_equal(sy_plan_solve(planner, &truth->problem, request, &plan, &error), 0);
    sy_planner_destroy(planner);
    return sy_plan_value(request->objective, &plan.outcome);
}

static double value_of(const struct belief *truth, const struct sy_plan_request *request,
                       const struct sy_plan *plan) {
    struct sy_plan_outcome outcome;
    assert_int_equal(sy_plan_evaluate(&truth->problem, &request->bounds, plan, &outcome, NULL), 0);
    return sy_plan_value(request->objective, &outcome);
}

/* All that a plan ran tells what it took. */
static void run(struct world *world, struct sy_replanner *replanner, const struct belief *truth,
                const double *values, const struct sy_plan *plan) {
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct sy_plan_stage *stage = &plan->stages[s];
        for (uint32_t k = 0; k < KERNELS; k++) {
            if (stage->kernels >> k & 1) {
                double time_ns =
                    truth->problem.time_ns[k * truth->problem.shape_count + stage->shape];
                time_ns *= exp(world->noise * sy_rng_normal(&world->rng));
                assert_int_equal(
                    sy_replanner_learn(replanner, values, k, stage->shape, time_ns, NAN), 0);
            }
        }
    }
}

static struct sy_replanner *follow(struct world *world, const struct sy_replan_options *options) {
    struct sy_replanner *replanner = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_replanner_create(world->pipeline, &world->system, world->store, options,
                                         &replanner, &error),
                     0);
    return replanner;
}

static struct sy_plan next(struct sy_replanner *replanner, const double *values,
                           enum sy_replan_cause *ret_cause) {
    const struct sy_plan *plan = NULL;
    struct sy_error error = {0};
    int rc = sy_replanner_next(replanner, values, &plan, ret_cause, &error);
    if (rc) {
        fail_msg("%d: %s", rc, error.message);
    }
    return *plan;
}

/* --- probing ------------------------------------------------------------------------------------
 */
static const double usual_item[FEATURES] = {1e8, 0.5};

struct found {
    double first_ratio, last_ratio; /* to the true optimum */
    double sigma, error;            /* of the estimates at first: said, and true */
    uint32_t plans;                 /* tried, the last included */
    uint32_t late;                  /* changes after the probes */
};

/* Estimates are off by what they themselves say, or by a given sigma. */
static void draw_truth(struct world *world, const struct belief *belief, double sigma,
                       struct found *found) {
    uint32_t n = belief->problem.shape_count;
    for (uint32_t k = 0; k < KERNELS; k++) {
        for (uint32_t c = 0; c < CLASSES; c++) {
            uint32_t s = 0;
            while (belief->problem.shapes[s].class_index != c) {
                s++;
            }
            double said = belief->guesses[k * n + s].log_sigma;
            double off = (sigma > 0 ? sigma : said) * sy_rng_normal(&world->rng);
            world->factor[k][c] = exp(off);
            found->sigma += said / (KERNELS * CLASSES);
            found->error += off * off / (KERNELS * CLASSES);
        }
        for (uint32_t s = 0; s < n; s++) {
            world->wobble[k][s] = exp(0.03 * sy_rng_normal(&world->rng));
        }
    }
}

/* Times come back late items after the item they are of. */
static struct found probe(uint64_t seed, double far, double sigma, double noise, uint32_t late,
                          const struct sy_replan_options *options) {
    struct sy_plan given[LATE_MOST + 1];
    struct world world = start(seed, far);
    struct found found = {0};
    struct belief truth;
    world.noise = noise;
    believe(&world, usual_item, &truth);
    draw_truth(&world, &truth, sigma, &found);
    make_true(&world, &truth);
    double best = best_of(&truth, &options->request);
    struct sy_replanner *replanner = follow(&world, options);
    struct sy_plan plan = {0};
    bool settled = false;
    for (uint32_t item = 0; item < ITEMS_MOST; item++) {
        enum sy_replan_cause cause;
        plan = next(replanner, usual_item, &cause);
        double ratio = value_of(&truth, &options->request, &plan) / best;
        assert_true(ratio > 1 - 1e-9);
        found.first_ratio = item ? found.first_ratio : ratio;
        found.plans += cause == SY_REPLAN_FIRST || cause == SY_REPLAN_PROBE;
        found.late += settled && cause != SY_REPLAN_KEPT;
        settled |= cause == SY_REPLAN_LEARNED;
        found.last_ratio = ratio;
        given[item % (LATE_MOST + 1)] = plan;
        if (item >= late) {
            run(&world, replanner, &truth, usual_item, &given[(item - late) % (LATE_MOST + 1)]);
        }
    }
    sy_arena_destroy(truth.arena);
    sy_replanner_destroy(replanner);
    finish(&world);
    return found;
}

struct tally {
    double error, sigma, first, near, worst, plans;
    uint32_t plans_most, late;
};

static struct tally tally_of(uint32_t instances, double far, double sigma, double noise,
                             uint32_t late, const struct sy_replan_options *options) {
    struct tally tally = {.worst = 1};
    for (uint32_t seed = 1; seed <= instances; seed++) {
        struct found found = probe(seed, far, sigma, noise, late, options);
        tally.first += (found.first_ratio < 1.01) / (double)instances;
        tally.near += (found.last_ratio < 1.01) / (double)instances;
        tally.worst = sy_most(tally.worst, found.last_ratio);
        tally.plans += (double)found.plans / instances;
        tally.plans_most = found.plans > tally.plans_most ? found.plans : tally.plans_most;
        tally.late += found.late;
        tally.sigma += found.sigma / instances;
        tally.error += found.error / instances;
    }
    print_message("# %-10s error %2.0f %% (said %2.0f %%), noise %1.0f %%, %u late: within 1 %%: "
                  "first plan %5.1f %%, in the end %5.1f %%, worst %.3f; plans tried %.1f, at most "
                  "%u; %u later changes\n",
                  sy_plan_objective_name(options->request.objective), 100 * sqrt(tally.error),
                  100 * tally.sigma, 100 * noise, late, 100 * tally.first, 100 * tally.near,
                  tally.worst, tally.plans, tally.plans_most, tally.late);
    return tally;
}

/* SYMPH_REPLAN_INSTANCES: per line, for numbers with less noise than a test needs. */
static void finds_the_best_plan(void **state) {
    (void)state;
    static const struct {
        double far, sigma, noise;
        uint32_t late;
        bool counts;
    } cases[] = {{0.15, 0, 0, 0, true},    {0.4, 0, 0, 0, true},   {0.8, 0, 0, 0, true},
                 {1.3, 0, 0, 0, true},     {0.8, 0, 0, 8, false},  {0.8, 0, 0.02, 0, false},
                 {0.8, 0, 0.05, 0, false}, {0.4, 0.3, 0, 0, false}};
    const char *asked = getenv("SYMPH_REPLAN_INSTANCES");
    uint32_t instances = asked ? (uint32_t)atoi(asked) : INSTANCES / 8;
    double near = 0;
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        for (uint32_t o = 0; o < 2; o++) {
            struct sy_replan_options options = sy_replan_usual;
            options.request.objective = o ? SY_PLAN_ENERGY : SY_PLAN_THROUGHPUT;
            struct tally tally = tally_of(cases[i].counts ? instances : instances / 4, cases[i].far,
                                          cases[i].sigma, cases[i].noise, cases[i].late, &options);
            assert_true(tally.plans_most <= options.probe_max || !cases[i].counts);
            assert_true(tally.near >= 0.9);
            near += cases[i].counts ? tally.near / 8 : 0;
        }
    }
    print_message("# without noise, errors of 5 to 30 %%: %.2f %% of %u within 1 %%\n", 100 * near,
                  8 * instances);
    assert_true(near >= 0.99);
}

/* --- a stream that changes ----------------------------------------------------------------------
 * The truth is what another store believes, which learns nothing. */
struct stream {
    struct world world, oracle;
    struct sy_replanner *replanner;
    struct sy_replan_options options;
    struct sy_plan plan; /* the last */
    double ratio;        /* of its value to the best there is */
    enum sy_replan_cause cause;
    uint32_t changes;
};

static struct stream start_stream(uint64_t seed, const struct sy_replan_options *options) {
    struct stream stream = {.world = start(seed, 0.3), .oracle = start(seed, 0.3)};
    stream.options = *options;
    stream.replanner = follow(&stream.world, options);
    return stream;
}

static void finish_stream(struct stream *stream) {
    sy_replanner_destroy(stream->replanner);
    finish(&stream->world);
    finish(&stream->oracle);
}

static void step(struct stream *stream, double size, double skew) {
    double values[FEATURES] = {size, skew};
    struct belief truth;
    struct sy_plan plan = next(stream->replanner, values, &stream->cause);
    stream->changes += stream->cause != SY_REPLAN_KEPT;
    /* Who is told that a plan was kept need not look at it. */
    if (stream->cause == SY_REPLAN_KEPT) {
        assert_memory_equal(plan.stages, stream->plan.stages,
                            plan.stage_count * sizeof(*plan.stages));
    }
    believe(&stream->oracle, values, &truth);
    make_true(&stream->oracle, &truth);
    stream->ratio = value_of(&truth, &stream->options.request, &plan) /
                    best_of(&truth, &stream->options.request);
    run(&stream->world, stream->replanner, &truth, values, &plan);
    sy_arena_destroy(truth.arena);
    stream->plan = plan;
}

/* From one item to the next the data become a hundred times smaller, and skewed. */
static void follows_a_jump_at_once(void **state) {
    (void)state;
    uint32_t changed = 0;
    double worst = 1, stale = 1;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct stream stream = start_stream(seed, &sy_replan_usual);
        for (uint32_t i = 0; i < 30; i++) {
            step(&stream, 1e8, 0.5);
        }
        struct sy_plan before = stream.plan;
        assert_true(stream.ratio < 1.03);
        step(&stream, 1e6, 30);
        changed += stream.cause == SY_REPLAN_DRIFT;
        assert_true(stream.cause == SY_REPLAN_DRIFT || stream.cause == SY_REPLAN_KEPT);
        worst = sy_most(worst, stream.ratio);
        struct belief truth;
        believe(&stream.oracle, (double[]){1e6, 30}, &truth);
        stale = sy_most(stale, value_of(&truth, &sy_replan_usual.request, &before) /
                                   best_of(&truth, &sy_replan_usual.request));
        sy_arena_destroy(truth.arena);
        finish_stream(&stream);
    }
    print_message("# a jump: %u of 40 plans change, at the first item; at worst %.3f of the best, "
                  "the old plans up to %.2f\n",
                  changed, worst, stale);
    assert_true(changed >= 10 && worst < 1.1 && stale > 1.2);
}

static uint32_t classes_in(const struct stream *stream) {
    const struct sy_plan_problem *problem = sy_replanner_problem(stream->replanner);
    uint32_t set = 0;
    for (uint32_t i = 0; i < stream->plan.stage_count; i++) {
        set |= 1u << problem->shapes[stream->plan.stages[i].shape].class_index;
    }
    return set;
}

/* Plans that use several classes give a fifth of what they promise, and no kernel's time tells. */
static void believes_the_pace(void **state) {
    (void)state;
    uint32_t mixed_before = 0, mixed_after = 0, moved = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct stream stream = start_stream(seed, &sy_replan_usual);
        for (uint32_t i = 0; i < 120; i++) {
            step(&stream, 1e8, 0.5);
            uint32_t set = classes_in(&stream);
            bool mixed = (set & (set - 1)) != 0;
            mixed_before += i == 30 && mixed;
            mixed_after += i == 119 && mixed;
            stream.changes = i == 110 ? 0 : stream.changes;
            if (i > 30 && i % 10 == 0) {
                sy_replanner_paced(stream.replanner, &stream.plan, mixed ? 5 : 1);
            }
        }
        moved += stream.changes;
        sy_replanner_paced(stream.replanner, &stream.plan, NAN); /* is no pace */
        sy_replanner_paced(stream.replanner, &stream.plan, 0);
        finish_stream(&stream);
    }
    print_message("# plans of several classes: %u of 20, then %u\n", mixed_before, mixed_after);
    assert_true(mixed_before >= 5 && mixed_after == 0 && moved == 0);
}

/* Features that go up and down by 5 % leave plans alone; so do those that move by 20 %, nearly. */
static void leaves_jitter_alone(void **state) {
    (void)state;
    uint32_t changes = 0, wide_changes = 0;
    double worst = 1;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        for (uint32_t wide = 0; wide < 2; wide++) {
            struct stream stream = start_stream(seed, &sy_replan_usual);
            struct sy_rng rng = sy_rng_make(seed, 9, wide);
            double most = wide ? 0.2 : 0.047;
            for (uint32_t i = 0; i < 200; i++) {
                stream.changes = i == 50 ? 0 : stream.changes;
                double size = 1e8 * exp(most * (2 * sy_rng_uniform(&rng) - 1));
                step(&stream, size, 0.5 + 0.06 * (sy_rng_uniform(&rng) - 0.5));
                worst = i > 50 ? sy_most(worst, stream.ratio) : worst;
            }
            *(wide ? &wide_changes : &changes) += stream.changes;
            finish_stream(&stream);
        }
    }
    print_message("# jitter, 10 streams of 150 items: %u changes at 5 %%, %u at 20 %%; at worst "
                  "%.3f of the best\n",
                  changes, wide_changes, worst);
    assert_true(changes == 0 && wide_changes <= 45); /* 3 % of the items */
}

static void remembers_kinds_that_take_turns(void **state) {
    (void)state;
    uint32_t different = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct stream stream = start_stream(seed, &sy_replan_usual);
        struct sy_plan settled[2] = {0};
        for (uint32_t i = 0; i < 100; i++) {
            step(&stream, i % 2 ? 1e6 : 1e8, i % 2 ? 30 : 0.5);
            if (i < 60) {
                settled[i % 2] = stream.plan;
            } else {
                assert_memory_equal(settled[i % 2].stages, stream.plan.stages,
                                    stream.plan.stage_count * sizeof(*stream.plan.stages));
                assert_true(stream.cause == SY_REPLAN_DRIFT || stream.cause == SY_REPLAN_KEPT);
                assert_true(stream.ratio < 1.05);
            }
        }
        different += stream.cause == SY_REPLAN_DRIFT;
        finish_stream(&stream);
    }
    assert_true(different >= 5);
}

/* More kinds than are remembered. */
static void forgets_the_oldest(void **state) {
    (void)state;
    struct stream stream = start_stream(3, &sy_replan_usual);
    for (uint32_t i = 0; i < 200; i++) {
        step(&stream, 1e6 * pow(1.3, i % 40), 0.5);
        assert_true(stream.ratio < 2);
    }
    finish_stream(&stream);
}

/* A slow ramp: a hundredth more with each item, a hundred times in the end. */
static void follows_a_ramp(void **state) {
    (void)state;
    double sum = 0;
    uint32_t changes = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct stream stream = start_stream(seed, &sy_replan_usual);
        for (uint32_t i = 0; i < 460; i++) {
            step(&stream, 1e7 * pow(1.01, i), 0.5);
            sum += log(stream.ratio) / (5 * 460);
        }
        changes += stream.changes;
        finish_stream(&stream);
    }
    print_message("# a ramp of 460 items: %.1f changes, on average %.2f %% from the best\n",
                  changes / 5.0, 100 * sum);
    assert_true(sum < 0.03);
}

/* A device that becomes three times slower, and fast again. */
static void believes_what_it_sees(void **state) {
    (void)state;
    uint32_t left = 0, items = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct stream stream = start_stream(seed, &sy_replan_usual);
        for (uint32_t i = 0; i < 30; i++) {
            step(&stream, 1e8, 0.5);
        }
        for (uint32_t k = 0; k < KERNELS; k++) {
            stream.oracle.factor[k][1] = 3;
        }
        step(&stream, 1e8, 0.5);
        bool wrong = stream.ratio > 1.1;
        uint32_t needed = 1;
        for (uint32_t i = 1; i < 40; i++) {
            step(&stream, 1e8, 0.5);
            needed = stream.ratio > 1.1 ? i + 1 : needed;
        }
        left += wrong;
        items += wrong ? needed : 0;
        assert_true(stream.ratio < 1.1);
        finish_stream(&stream);
    }
    print_message("# a class becomes three times slower: matters in %u of 30, left after %.1f "
                  "items\n",
                  left, (double)items / sy_most(left, 1));
    assert_true(left > 5 && items <= 12 * left);
}

/* --- the rest -----------------------------------------------------------------------------------
 */
static void keeps_a_fixed_plan(void **state) {
    (void)state;
    struct sy_replan_options options = sy_replan_usual;
    options.fixed = "k0+k1+k2@card | k3+k4+k5@board:2";
    struct stream stream = start_stream(1, &options);
    for (uint32_t i = 0; i < 20; i++) {
        step(&stream, i < 10 ? 1e8 : 1e6, 0.5);
        assert_int_equal(stream.cause, i ? SY_REPLAN_KEPT : SY_REPLAN_FIRST);
    }
    struct sy_buffer text = {0};
    sy_plan_write(sy_replanner_problem(stream.replanner), &stream.plan, &text);
    assert_string_equal(text.text, options.fixed);
    sy_buffer_finish(&text);
    finish_stream(&stream);

    struct world world = start(1, 0.3);
    options.fixed = "k0+k1+k9@card";
    struct sy_replanner *replanner = follow(&world, &options);
    const struct sy_plan *plan;
    enum sy_replan_cause cause;
    struct sy_error error = {0};
    assert_true(sy_replanner_next(replanner, usual_item, &plan, &cause, &error) < 0);
    assert_true(error.message[0]);
    sy_replanner_destroy(replanner);
    finish(&world);
}

/* Bounds that an item cannot meet are an error for this item, not for those after it. */
static void tells_what_cannot_be(void **state) {
    (void)state;
    struct sy_replan_options options = sy_replan_usual;
    struct stream easy = start_stream(1, &options);
    step(&easy, 1e6, 0.5);
    options.request.bounds.latency_ns = 2 * easy.plan.outcome.latency_ns;
    struct stream stream = start_stream(1, &options);
    const struct sy_plan *plan;
    enum sy_replan_cause cause;
    struct sy_error error = {0};
    for (uint32_t i = 0; i < 5; i++) {
        step(&stream, 1e6, 0.5);
        const double large[FEATURES] = {1e11, 0.5};
        assert_int_equal(sy_replanner_next(stream.replanner, large, &plan, &cause, &error),
                         -ERANGE);
        assert_true(error.message[0]);
    }
    finish_stream(&stream);
    finish_stream(&easy);
}

static void refuses_nonsense(void **state) {
    (void)state;
    struct world world = start(1, 0.3);
    struct sy_replanner *replanner = NULL;
    struct sy_error error = {0};
    struct sy_replan_options bad[4] = {sy_replan_usual, sy_replan_usual, sy_replan_usual,
                                       sy_replan_usual};
    bad[0].optimism = NAN;
    bad[1].gain_ratio = 0.9;
    bad[2].drift_ratio = NAN;
    bad[3].probe_max = 0;
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(sy_replanner_create(world.pipeline, &world.system, world.store, &bad[i],
                                             &replanner, &error),
                         -EINVAL);
        assert_true(error.message[0] && !replanner);
    }
    replanner = follow(&world, &sy_replan_usual);
    assert_null(sy_replanner_problem(replanner));
    assert_int_equal(sy_replanner_learn(replanner, usual_item, 0, 0, 1e6, NAN), -EINVAL);
    enum sy_replan_cause cause;
    next(replanner, usual_item, &cause);
    assert_int_equal(cause, SY_REPLAN_FIRST);
    assert_int_equal(sy_replanner_learn(replanner, usual_item, KERNELS, 0, 1e6, NAN), -EINVAL);
    assert_int_equal(sy_replanner_learn(replanner, usual_item, 0, 99, 1e6, NAN), -EINVAL);
    assert_int_equal(sy_replanner_learn(replanner, usual_item, 0, 0, -1, NAN), -EINVAL);
    assert_int_equal(sy_replanner_learn(replanner, usual_item, 0, 0, NAN, NAN), -EINVAL);
    assert_string_equal(sy_replan_cause_name(SY_REPLAN_PROBE), "probe");
    sy_replanner_destroy(replanner);
    sy_replanner_destroy(NULL);
    finish(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_best_plan),
        cmocka_unit_test(follows_a_jump_at_once),
        cmocka_unit_test(believes_the_pace),
        cmocka_unit_test(leaves_jitter_alone),
        cmocka_unit_test(remembers_kinds_that_take_turns),
        cmocka_unit_test(forgets_the_oldest),
        cmocka_unit_test(follows_a_ramp),
        cmocka_unit_test(believes_what_it_sees),
        cmocka_unit_test(keeps_a_fixed_plan),
        cmocka_unit_test(tells_what_cannot_be),
        cmocka_unit_test(refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
