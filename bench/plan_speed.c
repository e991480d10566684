/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: for 8 kernels on 1 CPU, 2 GPUs and 3 FPGAs with every width and number of replicas, the
 * whole front takes less than 1 ms in 99 of 100 cases and the plan of greatest throughput less than
 * 50 us; for 24 kernels less than 100 ms.
 *
 * Usage: plan_speed [INSTANCES]. Prints JSON: microseconds of processor time per call, median and
 * 99th percentile over random pipelines, of each the least of three calls ("best") and every call
 * ("all": on a machine with other work, what it does is in there); labels kept, plans on the front.
 * Times are drawn, seed 1: "modelled", dense, sparse and light kernels, spread by a quarter;
 * "wild", any class may be the best for any kernel, which makes longer fronts.
 */
#include "base/json.h"
#include "clock.h"
#include "planner/search.h"
#include <math.h>
#include <stdlib.h>

#define KERNELS 24
#define SHAPES  16
#define CLASSES 3
#define REPEATS 3
#define FRONT   SY_PLAN_OBJECTIVE_COUNT /* asks for all plans of the front */

struct pipeline {
    struct sy_plan_problem problem;
    struct sy_plan_kernel kernels[KERNELS];
    struct sy_plan_datum data[KERNELS + 1];
    struct sy_plan_class classes[CLASSES];
    struct sy_plan_shape shapes[SHAPES];
    double time_ns[KERNELS * SHAPES], joules[KERNELS * SHAPES];
    struct sy_plan_link links[(CLASSES + 1) * (CLASSES + 1)];
};

struct setting {
    const char *name;
    uint32_t kernels, devices[CLASSES];
    bool powers; /* widths are powers of two; else all */
    uint32_t instances;
    bool small; /* every objective and bound, not only the front and throughput */
    bool wild;  /* any class may be the best for any kernel: longer fronts */
};

static double spread(struct sy_rng *rng, double low, double high) {
    return low * pow(high / low, sy_rng_uniform(rng));
}

static void make_system(struct pipeline *pipeline, const struct setting *setting) {
    static const struct sy_plan_class usual[CLASSES] = {{"cpu", 0, 60, 0.5 / 3600, INFINITY},
                                                        {"gpu", 0, 80, 2.0 / 3600, INFINITY},
                                                        {"fpga", 0, 25, 1.0 / 3600, INFINITY}};
    pipeline->problem.shape_count = 0;
    for (uint32_t i = 0; i < CLASSES; i++) {
        pipeline->classes[i] = usual[i];
        pipeline->classes[i].device_count = setting->devices[i];
        for (uint32_t w = 1; w <= setting->devices[i]; w = setting->powers ? 2 * w : w + 1) {
            pipeline->shapes[pipeline->problem.shape_count++] = (struct sy_plan_shape){i, w};
        }
    }
    for (uint32_t i = 0; i < (CLASSES + 1) * (CLASSES + 1); i++) {
        uint32_t from = i / (CLASSES + 1), to = i % (CLASSES + 1);
        bool host = (from == 0 || from == CLASSES) && (to == 0 || to == CLASSES);
        pipeline->links[i] = host ? (struct sy_plan_link){0, INFINITY, 0}
                                  : (struct sy_plan_link){1e4, 2.5e10, 1e-10};
    }
}

/* Dense, sparse and light kernels in turn. */
static void make_kernels(struct pipeline *pipeline, struct sy_rng *rng, bool wild) {
    static const double flops_per_s[3][CLASSES] = {
        {1e12, 1.2e13, 5e11}, {6e10, 5e11, 2e11}, {1e11, 1e12, 2e11}};
    double speed = 1;
    static const double busy_watts[CLASSES] = {150, 220, 35};
    double rows = spread(rng, 1e4, 1e6), columns = spread(rng, 32, 512);
    double degree = spread(rng, 3, 300);
    pipeline->data[0] = (struct sy_plan_datum){"in", 4 * rows * columns, SY_NONE, 1, false};
    for (uint32_t k = 0; k < pipeline->problem.kernel_count; k++) {
        const double flops[3] = {2 * rows * columns * 128, 2 * rows * degree * columns,
                                 8 * rows * columns};
        bool last = k + 1 == pipeline->problem.kernel_count;
        pipeline->kernels[k] = (struct sy_plan_kernel){"k", 4 * columns * columns};
        pipeline->data[k + 1] =
            (struct sy_plan_datum){"between", 4 * rows * columns * (0.5 + sy_rng_uniform(rng)), k,
                                   last ? 0 : 1ull << (k + 1), last};
        for (uint32_t s = 0; s < pipeline->problem.shape_count; s++) {
            const struct sy_plan_shape *shape = &pipeline->shapes[s];
            uint32_t at = k * pipeline->problem.shape_count + s;
            speed = wild && shape->width == 1 ? spread(rng, 0.2, 5) : speed;
            uint32_t like = wild ? 0 : shape->class_index;
            double ns = 1e9 * flops[k % 3] / flops_per_s[k % 3][like] * speed;
            ns *= 0.75 + 0.5 * sy_rng_uniform(rng);
            pipeline->time_ns[at] = 1e4 + ns / pow(shape->width, 0.95);
            pipeline->joules[at] = pipeline->time_ns[at] * 1e-9 * busy_watts[shape->class_index];
            pipeline->joules[at] *= shape->width;
        }
    }
}

static void make(struct pipeline *pipeline, const struct setting *setting, uint32_t index) {
    struct sy_rng rng = sy_rng_make(1, setting->kernels, index);
    pipeline->problem = (struct sy_plan_problem){.kernels = pipeline->kernels,
                                                 .kernel_count = setting->kernels,
                                                 .data = pipeline->data,
                                                 .datum_count = setting->kernels + 1,
                                                 .classes = pipeline->classes,
                                                 .class_count = CLASSES,
                                                 .shapes = pipeline->shapes,
                                                 .time_ns = pipeline->time_ns,
                                                 .joules = pipeline->joules,
                                                 .links = pipeline->links,
                                                 .overlap = index % 2};
    make_system(pipeline, setting);
    make_kernels(pipeline, &rng, setting->wild);
}

struct measured {
    double *best_ns, *all_ns, *labels, *plans;
    uint32_t count;
};

static int call(struct sy_planner *planner, const struct pipeline *pipeline, uint32_t question,
                const struct sy_plan_bounds *bounds, uint32_t *ret_plans) {
    struct sy_plan plan;
    const struct sy_plan *front;
    if (question == FRONT) {
        return sy_plan_front(planner, &pipeline->problem, bounds, &front, ret_plans, NULL);
    }
    struct sy_plan_request request = {.objective = (enum sy_plan_objective)question,
                                      .bounds = *bounds};
    *ret_plans = 1;
    return sy_plan_solve(planner, &pipeline->problem, &request, &plan, NULL);
}

/* With a bound: latency and period may be half as much again as the least. */
static int set_bounds(struct sy_planner *planner, const struct pipeline *pipeline, bool bounded,
                      struct sy_plan_bounds *bounds) {
    struct sy_plan_request request = {.objective = SY_PLAN_THROUGHPUT, .bounds = sy_plan_unbounded};
    struct sy_plan plan;
    *bounds = sy_plan_unbounded;
    int code = bounded ? sy_plan_solve(planner, &pipeline->problem, &request, &plan, NULL) : 0;
    if (bounded && !code) {
        bounds->period_ns = 1.5 * plan.outcome.period_ns;
        bounds->latency_ns = plan.outcome.latency_ns;
    }
    return code;
}

static int measure(struct sy_planner *planner, const struct setting *setting, uint32_t question,
                   bool bounded, struct measured *measured) {
    static struct pipeline pipeline;
    double clock_cost_ns = clock_ns();
    measured->count = 0;
    for (uint32_t i = 0; i < setting->instances; i++) {
        struct sy_plan_bounds bounds;
        double best_ns = INFINITY;
        uint32_t plans = 0;
        make(&pipeline, setting, i);
        if (set_bounds(planner, &pipeline, bounded, &bounds)) {
            return -1;
        }
        for (uint32_t r = 0; r < REPEATS; r++) {
            double start = now_ns();
            if (call(planner, &pipeline, question, &bounds, &plans)) {
                return -1;
            }
            double took = fmax(now_ns() - start - clock_cost_ns, 0);
            best_ns = fmin(best_ns, took);
            measured->all_ns[i * REPEATS + r] = took;
        }
        measured->best_ns[i] = best_ns;
        measured->labels[i] = planner->label_count;
        measured->plans[i] = plans;
        measured->count++;
    }
    return 0;
}

static void put(struct sy_json_writer *out, const struct setting *setting, uint32_t question,
                bool bounded, struct measured *measured) {
    uint32_t n = measured->count;
    sy_json_print(
        out,
        "{system: %s, kernels: %u, times: %s, question: %s, bounds: %s, instances: %u, "
        "best_p50_us: %g",
        setting->name, setting->kernels, setting->wild ? "wild" : "modelled",
        question == FRONT ? "front" : sy_plan_objective_name((enum sy_plan_objective)question),
        bounded ? "period and latency" : "none", n, sy_quantile(measured->best_ns, n, 0.5) / 1e3);
    sy_json_print(out,
                  "best_p99_us: %g, all_p50_us: %g, all_p99_us: %g, labels_p50: %g, "
                  "labels_max: %g, plans_p50: %g}",
                  sy_quantile(measured->best_ns, n, 0.99) / 1e3,
                  sy_quantile(measured->all_ns, n * REPEATS, 0.5) / 1e3,
                  sy_quantile(measured->all_ns, n * REPEATS, 0.99) / 1e3,
                  sy_quantile(measured->labels, n, 0.5), sy_quantile(measured->labels, n, 1),
                  sy_quantile(measured->plans, n, 0.5));
}

static int measure_setting(struct sy_json_writer *out, struct sy_planner *planner,
                           const struct setting *setting, struct measured *measured) {
    int code = 0;
    for (uint32_t question = 0; !code && question <= FRONT; question++) {
        for (uint32_t bounded = 0; !code && bounded < 2; bounded++) {
            bool wanted = question == FRONT || (question == SY_PLAN_THROUGHPUT && !bounded);
            if (!setting->small && !wanted) {
                continue;
            }
            code = measure(planner, setting, question, bounded, measured);
            if (!code) {
                put(out, setting, question, bounded, measured);
            }
        }
    }
    return code;
}

int main(int argc, char **argv) {
    uint32_t instances = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 300;
    uint32_t few = instances / 10 + 1;
    const struct setting settings[] = {
        {"1 cpu + 2 gpu + 3 fpga", 8, {1, 2, 3}, false, instances, true, false},
        {"1 cpu + 2 gpu + 3 fpga", 8, {1, 2, 3}, false, instances, true, true},
        {"1 cpu + 2 gpu + 3 fpga", 16, {1, 2, 3}, false, few, true, true},
        {"1 cpu + 2 gpu + 3 fpga", 24, {1, 2, 3}, false, few, true, true},
        {"1 cpu + 4 gpu + 4 fpga", 24, {1, 4, 4}, false, 3, false, true},
        {"16 cores (1, 2, 4, 8, 16) + 1 gpu", 8, {16, 1, 0}, true, few, false, false},
        {"16 cores (1, 2, 4, 8, 16) + 1 gpu", 8, {16, 1, 0}, true, few, false, true}};
    struct measured measured = {.best_ns = calloc(instances + 10, sizeof(double)),
                                .all_ns = calloc((instances + 10) * REPEATS, sizeof(double)),
                                .labels = calloc(instances + 10, sizeof(double)),
                                .plans = calloc(instances + 10, sizeof(double))};
    struct sy_planner *planner = sy_planner_create();
    struct sy_json_writer out = {.compact_from = 3};
    int code = !planner || !measured.best_ns || !measured.all_ns || !measured.labels ||
               !measured.plans || instances < 1;
    sy_json_print(&out, "{schema: %s, repeats: %u, measured: [", "symph-bench-plan-1", REPEATS);
    for (size_t i = 0; !code && i < SY_COUNT(settings); i++) {
        code = measure_setting(&out, planner, &settings[i], &measured);
    }
    sy_json_print(&out, "]}");
    if (!code) {
        printf("%s", out.buffer.text);
    }
    sy_buffer_finish(&out.buffer);
    sy_planner_destroy(planner);
    free(measured.best_ns);
    free(measured.all_ns);
    free(measured.labels);
    free(measured.plans);
    return code ? 1 : 0;
}
