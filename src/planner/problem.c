/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline, an item and a system become a problem to be solved.
 *
 * In: description, features, devices, what was learned of times. Out: times and joules per kernel
 * and shape, data with their producers, links. Invariant: a shape in which a kernel cannot run has
 * an infinite time; constants do not move, they are resident.
 */
#include "planner/values.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define SHAPE_MAX (SY_PLAN_CLASS_MAX * 8) /* widths 1, 2, 4 ... 64, and all there are */

struct maker {
    const struct sy_pipeline *pipeline;
    const struct sy_system *system;
    const struct sy_store *store;
    struct sy_arena *arena;
    struct sy_error *error;
    double optimism;
    double *numbers; /* per expression */
    struct sy_plan_problem problem;
};

static void *take(struct maker *m, size_t count, size_t size) {
    void *memory = sy_arena_alloc(m->arena, count ? count : 1, size);
    if (!memory) {
        sy_out_of_memory(m->error);
    }
    return memory;
}

static int check_system(const struct maker *m) {
    const struct sy_system *system = m->system;
    if (system->class_count == 0 || system->class_count > SY_PLAN_CLASS_MAX) {
        return sy_fail(m->error, -EINVAL, "a system has 1 to %d classes of devices, not %u",
                       SY_PLAN_CLASS_MAX, system->class_count);
    }
    for (uint32_t i = 0; i < system->class_count; i++) {
        const struct sy_system_class *class = &system->classes[i];
        if (class->device_count > SY_PLAN_DEVICE_MAX || class->busy_count > class->device_count ||
            class->width_max == 0 || !(class->slowdown > 0 && isfinite(class->slowdown))) {
            return sy_fail(m->error, -EINVAL,
                           "class \"%s\": %u of %u devices busy, width up to %u, slowdown %g",
                           class->name, class->busy_count, class->device_count, class->width_max,
                           class->slowdown);
        }
    }
    return 0;
}

static int make_classes(struct maker *m) {
    const struct sy_system *system = m->system;
    uint32_t count = system->class_count, side = count + 1;
    struct sy_plan_class *classes = take(m, count, sizeof *classes);
    struct sy_plan_link *links = take(m, (size_t)side * side, sizeof *links);
    struct sy_plan_shape *shapes = take(m, SHAPE_MAX, sizeof *shapes);
    if (!classes || !links || !shapes) {
        return -ENOMEM;
    }
    uint32_t shape_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_system_class *class = &system->classes[i];
        uint32_t free_count = class->device_count - class->busy_count;
        uint32_t width_max = class->width_max < free_count ? class->width_max : free_count;
        classes[i] = (struct sy_plan_class){.name = class->name,
                                            .device_count = free_count,
                                            .idle_watts = class->idle_watts,
                                            .price_per_s = class->price_per_hour / 3600,
                                            .memory_bytes = class->memory_bytes};
        for (uint32_t width = 1; width < width_max; width *= 2) {
            shapes[shape_count++] = (struct sy_plan_shape){i, width};
        }
        if (width_max) {
            shapes[shape_count++] = (struct sy_plan_shape){i, width_max};
        }
    }
    memcpy(links, system->links, (size_t)side * side * sizeof *links);
    m->problem.classes = classes;
    m->problem.class_count = count;
    m->problem.shapes = shapes;
    m->problem.shape_count = shape_count;
    m->problem.links = links;
    m->problem.overlap = system->overlap;
    return 0;
}

/* Which datum of the problem each of the pipeline's is; constants are none. */
static int make_data(struct maker *m) {
    const struct sy_pipeline *pipeline = m->pipeline;
    uint32_t index[SY_PLAN_KERNEL_MAX * SY_PIPELINE_ARGUMENT_MAX], count = 0;
    struct sy_plan_datum *data = take(m, pipeline->datum_count, sizeof *data);
    struct sy_plan_kernel *kernels = take(m, pipeline->kernel_count, sizeof *kernels);
    if (!data || !kernels) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < pipeline->datum_count; i++) {
        const struct sy_pipeline_datum *datum = &pipeline->data[i];
        index[i] = count;
        if (datum->role != SY_PIPELINE_CONSTANT) {
            data[count++] = (struct sy_plan_datum){.name = datum->name,
                                                   .bytes = m->numbers[datum->bytes],
                                                   .producer = SY_NONE,
                                                   .output = datum->role == SY_PIPELINE_OUTPUT};
        }
    }
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        kernels[k].name = kernel->name;
        for (uint32_t i = 0; i < kernel->argument_count; i++) {
            uint32_t datum = kernel->arguments[i];
            if (pipeline->data[datum].role == SY_PIPELINE_CONSTANT) {
                kernels[k].resident_bytes += m->numbers[pipeline->data[datum].bytes];
            } else if (kernel->writes[i]) {
                data[index[datum]].producer = k;
            } else {
                data[index[datum]].readers |= UINT64_C(1) << k;
            }
        }
    }
    m->problem.data = data;
    m->problem.datum_count = count;
    m->problem.kernels = kernels;
    m->problem.kernel_count = pipeline->kernel_count;
    return 0;
}

/* median_ns is infinite where it cannot run. */
static struct sy_estimate guess(const struct maker *m, const struct sy_pipeline_kernel *kernel,
                                const struct sy_plan_shape *shape) {
    const struct sy_system *system = m->system;
    const struct sy_estimate never = {.median_ns = INFINITY, .watts = NAN};
    bool runs =
        !system->runs || system->runs(system->runs_user, kernel->kernel, shape->class_index);
    if (!runs || (shape->width > 1 && !kernel->split)) {
        return never;
    }
    double costs[SY_PIPELINE_COST_MAX];
    bool known = system->split_ns && shape->width > 1;
    const struct sy_features features =
        sy_pipeline_features(kernel, m->numbers, known ? 1 : shape->width, costs);
    struct sy_estimate found =
        sy_estimate(m->store, kernel->kernel, system->classes[shape->class_index].name, &features);
    if (found.source == SY_COST_UNKNOWN) {
        return never;
    }
    if (known) {
        found.median_ns = system->split_ns(system->split_user, shape->class_index, shape->width,
                                           found.median_ns, costs);
        found.watts *= shape->width;
    }
    return found;
}

static int make_times(struct maker *m, const struct sy_estimate **ret_estimates) {
    uint32_t shape_count = m->problem.shape_count;
    size_t count = (size_t)m->problem.kernel_count * shape_count;
    double *time_ns = take(m, count, sizeof *time_ns), *joules = take(m, count, sizeof *joules);
    struct sy_estimate *estimates = take(m, count, sizeof *estimates);
    if (!time_ns || !joules || !estimates) {
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < m->problem.kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &m->pipeline->kernels[k];
        for (uint32_t s = 0; s < shape_count; s++) {
            const struct sy_plan_shape *shape = &m->problem.shapes[s];
            const struct sy_system_class *class = &m->system->classes[shape->class_index];
            size_t at = (size_t)k * shape_count + s;
            estimates[at] = guess(m, kernel, shape);
            double watts = isnan(estimates[at].watts) ? class->roofline.busy_watts * shape->width
                                                      : estimates[at].watts;
            time_ns[at] = estimates[at].median_ns * class->slowdown *
                          exp(-m->optimism * estimates[at].log_sigma);
            watts *= exp(-m->optimism * estimates[at].watts_sigma);
            joules[at] = isfinite(time_ns[at]) ? watts * time_ns[at] * 1e-9 : 0;
        }
    }
    m->problem.time_ns = time_ns;
    m->problem.joules = joules;
    if (ret_estimates) {
        *ret_estimates = estimates;
    }
    return 0;
}

int sy_pipeline_problem(const struct sy_pipeline *pipeline, const double *values,
                        const struct sy_system *system, const struct sy_store *store,
                        double optimism, struct sy_arena *arena,
                        struct sy_plan_problem *ret_problem,
                        const struct sy_estimate **ret_estimates, struct sy_error *error) {
    struct maker m = {.pipeline = pipeline,
                      .system = system,
                      .store = store,
                      .arena = arena,
                      .error = error,
                      .optimism = optimism};
    int code = check_system(&m);
    if (!code) {
        m.numbers = take(&m, pipeline->expression_count, sizeof *m.numbers);
        code = m.numbers ? sy_pipeline_measure(pipeline, values, m.numbers, error) : -ENOMEM;
    }
    code = code ? code : make_classes(&m);
    code = code ? code : make_data(&m);
    code = code ? code : make_times(&m, ret_estimates);
    if (!code) {
        *ret_problem = m.problem;
    }
    return code;
}
