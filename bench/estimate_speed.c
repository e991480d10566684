/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: with 64 samples of each kernel on each class, all estimates of a problem of 8 kernels and
 * 12 shapes take less than 1 ms; an item of a stream whose plan is kept takes next to nothing.
 *
 * Usage: estimate_speed [ROUNDS]. Prints JSON: microseconds of processor time, median and 99th
 * percentile. "sample": one more measurement, at new features or at known ones. "fit": what the
 * first guess after a new sample takes more. "guess": one. "problem": all 96. "replan": an item of
 * a new kind of input, with the plan of greatest throughput; "kept": an item of a known kind;
 * "learn": the time of one of its kernels. The clock's own cost is taken off.
 */
#include "base/json.h"
#include "clock.h"
#include "planner/pipeline.h"
#include <math.h>
#include <stdlib.h>

#define KERNELS 8
#define CLASSES 3
#define SEED    1
#define SAMPLES 64 /* of a kernel on a class */
#define AGAIN   10 /* quick things are timed so often at once */
#define RECENT  5  /* times that the estimator keeps of one point */

enum what { NEW, AGAIN_THERE, FIT, GUESS, PROBLEM, REPLAN, KEPT, LEARN, WHATS };
static const char *const names[WHATS] = {"sample_new", "sample_known", "fit",  "guess",
                                         "problem",    "replan",       "kept", "learn"};

struct setting {
    struct sy_pipeline *pipeline;
    struct sy_system system;
    struct sy_store *store;
    struct sy_rng rng;
    double *times[WHATS];
    uint32_t rounds;
    double clock_ns;
};

static const struct sy_system_class classes[CLASSES] = {
    {"cpu", SY_CPU, 16, 0, 16, 1, 5, 10, 1, INFINITY, {"cpu", 5e10, 1e10, 1e3, 5}},
    {"gpu", SY_GPU, 8, 0, 8, 1, 80, 400, 2, INFINITY, {"gpu", 2e13, 2e12, 1e4, 300}},
    {"fpga", SY_FPGA, 4, 0, 4, 1, 25, 60, 1, INFINITY, {"fpga", 1e12, 4e11, 1e4, 40}}};

static int make_pipeline(struct sy_pipeline **ret_pipeline) {
    struct sy_buffer text = {0};
    struct sy_error error = {0};
    sy_buffer_printf(&text,
                     "{\"schema\": \"symph-pipeline-1\", \"name\": \"chain\", \"about\": \"timed\","
                     "\"features\": [{\"name\": \"rows\", \"low\": 1, \"high\": 1e12}, {\"name\": "
                     "\"columns\", \"low\": 1, \"high\": 1e6}], \"data\": [{\"name\": \"d0\", "
                     "\"role\": \"input\", \"bytes\": \"4*rows*columns\"}");
    for (uint32_t i = 1; i <= KERNELS; i++) {
        sy_buffer_printf(&text, ", {\"name\": \"d%u\", \"role\": \"%s\", \"bytes\": \"4*rows\"}", i,
                         i < KERNELS ? "between" : "output");
    }
    sy_buffer_printf(&text, "], \"kernels\": [");
    for (uint32_t i = 0; i < KERNELS; i++) {
        sy_buffer_printf(&text,
                         "%s{\"name\": \"k%u\", \"kernel\": \"t%u\", \"reads\": [\"d%u\"], "
                         "\"writes\": [\"d%u\"], \"split\": true, \"cost\": {\"flops\": "
                         "\"%u*rows*columns\", \"bytes\": \"4*rows*(columns+1)\", \"columns\": "
                         "\"columns\", \"rows\": \"rows\"}}",
                         i ? ", " : "", i, i, i, i + 1, 2u << i);
    }
    sy_buffer_printf(&text, "]}");
    int code = sy_pipeline_read_text("chain", text.text, text.length, ret_pipeline, &error);
    if (code) {
        fprintf(stderr, "estimate_speed: %s\n", error.message);
    }
    sy_buffer_finish(&text);
    return code;
}

static void draw_values(struct setting *s, double *values) {
    values[0] = 1e4 * pow(1e3, sy_rng_uniform(&s->rng));
    values[1] = 16 * pow(64, sy_rng_uniform(&s->rng));
}

/* A kernel on a class, as long as the roofline says, a third of it reached, with noise. */
static int observe(struct setting *s, const double *values, uint32_t k, uint32_t c,
                   uint32_t width) {
    const struct sy_pipeline_kernel *kernel = &s->pipeline->kernels[k];
    double numbers[256], costs[SY_PIPELINE_COST_MAX];
    int code = sy_pipeline_measure(s->pipeline, values, numbers, NULL);
    const struct sy_features features = sy_pipeline_features(kernel, numbers, width, costs);
    const struct sy_roofline *roofline = &classes[c].roofline;
    double busy_s = 3 * sy_most(costs[0] / roofline->flops_per_s, costs[1] / roofline->bytes_per_s);
    struct sy_cost_sample sample = {.kernel = kernel->kernel,
                                    .class_name = classes[c].name,
                                    .features = features,
                                    .time_ns = (1e9 * busy_s / width + roofline->launch_ns) *
                                               exp(0.05 * sy_rng_normal(&s->rng)),
                                    .watts = NAN};
    return code ? code : sy_store_observe(s->store, &sample);
}

static int start(struct setting *s) {
    s->rng = sy_rng_make(SEED, 1, 0);
    s->system.class_count = CLASSES;
    for (uint32_t c = 0; c < CLASSES; c++) {
        s->system.classes[c] = classes[c];
    }
    for (uint32_t i = 0; i < (CLASSES + 1) * (CLASSES + 1); i++) {
        s->system.links[i] = (struct sy_plan_link){1e4, 25e9, 1e-11};
    }
    s->store = sy_store_create();
    int code = s->store ? make_pipeline(&s->pipeline) : -1;
    for (uint32_t i = 0; !code && i < KERNELS * CLASSES * 2 * SAMPLES; i++) {
        double values[2];
        draw_values(s, values);
        code =
            observe(s, values, i % KERNELS, i / KERNELS % CLASSES, 1u << sy_rng_below(&s->rng, 3));
    }
    for (uint32_t c = 0; !code && c < CLASSES; c++) {
        code = sy_store_set_roofline(s->store, &classes[c].roofline);
    }
    return code;
}

static void note(struct setting *s, enum what what, uint32_t round, double from_ns, double times) {
    s->times[what][round] = (now_ns() - from_ns - s->clock_ns) / times / 1e3;
}

static int time_estimator(struct setting *s, uint32_t round) {
    double values[2], costs[4] = {2e9, 4e8, 100, 1e6};
    const struct sy_features features = {4, s->pipeline->kernels[0].cost_names, costs, 1, 0};
    struct sy_estimate guess;
    draw_values(s, values);
    double from = now_ns();
    int code = observe(s, values, 0, 1, 1);
    note(s, NEW, round, from, 1);
    from = now_ns();
    guess = sy_estimate(s->store, "t0", "gpu", &features);
    note(s, FIT, round, from, 1);
    from = now_ns();
    for (uint32_t i = 0; !code && i < AGAIN; i++) {
        guess = sy_estimate(s->store, "t0", "gpu", &features);
        code = guess.source == SY_COST_UNKNOWN;
    }
    note(s, GUESS, round, from, AGAIN);
    s->times[FIT][round] = sy_most(s->times[FIT][round] - s->times[GUESS][round], 0);
    from = now_ns();
    for (uint32_t i = 0; !code && i < AGAIN; i++) {
        code = observe(s, values, 0, 1, 1);
    }
    note(s, AGAIN_THERE, round, from, AGAIN);
    return code;
}

static int time_problem(struct setting *s, uint32_t round) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_plan_problem problem;
    double values[2];
    int code = arena ? 0 : -1;
    for (uint32_t i = 0; !code && i < 2; i++) { /* the first makes what fits are due */
        draw_values(s, values);
        double from = now_ns();
        code = sy_pipeline_problem(s->pipeline, values, &s->system, s->store, 0, arena, &problem,
                                   NULL, NULL);
        note(s, PROBLEM, round, from, 1);
    }
    sy_arena_destroy(arena);
    return code;
}

static int time_item(struct setting *s, struct sy_replanner *replanner, uint32_t round) {
    double values[2];
    const struct sy_plan *plan = NULL;
    enum sy_replan_cause cause;
    draw_values(s, values);
    double from = now_ns();
    int code = sy_replanner_next(replanner, values, &plan, &cause, NULL);
    note(s, REPLAN, round, from, 1);
    from = now_ns();
    for (uint32_t i = 0; !code && i < AGAIN; i++) {
        code = sy_replanner_next(replanner, values, &plan, &cause, NULL);
    }
    note(s, KEPT, round, from, AGAIN);
    uint32_t shape = code ? 0 : plan->stages[0].shape;
    double time_ns = code ? 1 : plan->outcome.latency_ns / KERNELS;
    /* The first of these teaches; the others say the same again, as in a stream. */
    for (uint32_t i = 0; !code && i < RECENT; i++) {
        code = sy_replanner_learn(replanner, values, 0, shape, time_ns, NAN);
    }
    from = now_ns();
    for (uint32_t i = 0; !code && i < AGAIN; i++) {
        code = sy_replanner_learn(replanner, values, 0, shape, time_ns, NAN);
    }
    note(s, LEARN, round, from, AGAIN);
    return code;
}

static void print(struct setting *s) {
    struct sy_json_writer out = {.compact_from = 2};
    sy_json_print(&out, "{schema: %s, seed: %u, rounds: %u", "symph-bench-estimate-1", SEED,
                  s->rounds);
    for (uint32_t i = 0; i < WHATS; i++) {
        sy_json_print(&out, "%s: {median_us: %g, p99_us: %g}", names[i],
                      sy_quantile(s->times[i], s->rounds, 0.5),
                      sy_quantile(s->times[i], s->rounds, 0.99));
    }
    sy_json_close(&out, '}');
    printf("%s", out.buffer.text);
    sy_buffer_finish(&out.buffer);
}

int main(int argc, char **argv) {
    struct setting s = {.rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000};
    struct sy_replanner *replanner = NULL;
    if (s.rounds < 10) {
        fprintf(stderr, "estimate_speed: at least 10 rounds\n");
        return 2;
    }
    s.clock_ns = clock_ns();
    int code = start(&s);
    for (uint32_t i = 0; !code && i < WHATS; i++) {
        s.times[i] = calloc(s.rounds, sizeof(double));
        code = s.times[i] ? 0 : -1;
    }
    code = code ? code
                : sy_replanner_create(s.pipeline, &s.system, s.store, &sy_replan_usual, &replanner,
                                      NULL);
    for (uint32_t i = 0; !code && i < s.rounds; i++) {
        code = time_problem(&s, i);
        code = code ? code : time_item(&s, replanner, i);
        code = code ? code : time_estimator(&s, i);
    }
    if (code) {
        fprintf(stderr, "estimate_speed: failed with %d\n", code);
    } else {
        print(&s);
    }
    for (uint32_t i = 0; i < WHATS; i++) {
        free(s.times[i]);
    }
    sy_replanner_destroy(replanner);
    sy_store_close(s.store);
    sy_pipeline_destroy(s.pipeline);
    return code ? 1 : 0;
}
