/* SPDX-License-Identifier: Apache-2.0
 *
 * Random problems; see instance.h.
 */
#include "instance.h"
#include <math.h>
#include <string.h>

static double spread(struct sy_rng *rng, double low, double high) {
    return low * pow(high / low, sy_rng_uniform(rng));
}

static void add_datum(struct instance *instance, struct sy_rng *rng, uint32_t producer,
                      uint64_t readers, bool output) {
    uint32_t i = instance->problem.datum_count++;
    instance->data[i] = (struct sy_plan_datum){.name = "d",
                                               .bytes = spread(rng, 1e5, 1e7),
                                               .producer = producer,
                                               .readers = readers,
                                               .output = output};
}

/* Who reads what kernel k makes. */
static uint64_t readers_of(struct sy_rng *rng, enum instance_form form, uint32_t k, uint32_t n) {
    if (form == INSTANCE_CHAIN) {
        return k + 1 < n ? 1ull << (k + 1) : 0;
    }
    if (form == INSTANCE_SERIES_PARALLEL) { /* groups of three: one, then two side by side */
        uint64_t both = k % 3 == 0 ? 3ull << (k + 1) : 1ull << (k / 3 * 3 + 3);
        return both & ((1ull << n) - 1);
    }
    uint64_t readers = 0;
    for (uint32_t to = k + 1; to < n; to++) {
        readers |= sy_rng_uniform(rng) < 0.4 ? 1ull << to : 0;
    }
    return readers;
}

static void make_data(struct instance *instance, struct sy_rng *rng, enum instance_form form) {
    uint32_t n = instance->problem.kernel_count;
    add_datum(instance, rng, SY_NONE, 1, false);
    if (sy_rng_below(rng, 2)) { /* an input that a later one reads too */
        add_datum(instance, rng, SY_NONE, 1ull << sy_rng_below(rng, n), false);
    }
    for (uint32_t k = 0; k < n; k++) {
        uint64_t readers = readers_of(rng, form, k, n);
        add_datum(instance, rng, k, readers, !readers || sy_rng_below(rng, 8) == 0);
    }
}

static void make_classes(struct instance *instance, struct sy_rng *rng,
                         const uint32_t *device_counts) {
    static const char *const names[SY_PLAN_CLASS_MAX] = {"cpu", "gpu", "fpga", "npu"};
    for (uint32_t i = 0; i < instance->problem.class_count; i++) {
        instance->classes[i] = (struct sy_plan_class){.name = names[i],
                                                      .device_count = device_counts[i],
                                                      .idle_watts = spread(rng, 5, 100),
                                                      .price_per_s = spread(rng, 1e-5, 1e-3),
                                                      .memory_bytes = INFINITY};
        for (uint32_t width = 1; width <= device_counts[i]; width++) {
            instance->shapes[instance->problem.shape_count++] = (struct sy_plan_shape){i, width};
        }
    }
    uint32_t side = instance->problem.class_count + 1;
    for (uint32_t i = 0; i < side * side; i++) {
        instance->links[i] = (struct sy_plan_link){spread(rng, 1e2, 1e5), spread(rng, 1e9, 1e11),
                                                   spread(rng, 1e-11, 1e-9)};
    }
    if (sy_rng_below(rng, 2)) { /* the first class works in the host's memory */
        instance->links[0] = (struct sy_plan_link){0, INFINITY, 0};
        instance->links[side - 1] = instance->links[(side - 1) * side] = instance->links[0];
    }
}

void instance_make(struct instance *instance, struct sy_rng *rng, enum instance_form form,
                   uint32_t kernel_count, const uint32_t *device_counts, uint32_t class_count) {
    memset(instance, 0, sizeof *instance);
    struct sy_plan_problem *problem = &instance->problem;
    problem->kernel_count = kernel_count;
    problem->class_count = class_count;
    make_classes(instance, rng, device_counts);
    make_data(instance, rng, form);
    for (uint32_t k = 0; k < kernel_count; k++) {
        snprintf(instance->names[k], sizeof instance->names[k], "k%u", k);
        instance->kernels[k] = (struct sy_plan_kernel){instance->names[k], spread(rng, 1e5, 1e7)};
        double base_ns = spread(rng, 1e5, 1e7), speed = 1, watts = 1;
        for (uint32_t s = 0; s < problem->shape_count; s++) {
            uint32_t at = k * problem->shape_count + s, width = instance->shapes[s].width;
            if (width == 1) {
                speed = spread(rng, 0.2, 5);
                watts = spread(rng, 10, 300);
            }
            double scaling = pow(width, 0.5 + 0.5 * sy_rng_uniform(rng));
            instance->time_ns[at] = base_ns * speed / scaling;
            instance->joules[at] = instance->time_ns[at] * 1e-9 * watts * width;
        }
    }
    problem->kernels = instance->kernels;
    problem->data = instance->data;
    problem->classes = instance->classes;
    problem->shapes = instance->shapes;
    problem->time_ns = instance->time_ns;
    problem->joules = instance->joules;
    problem->links = instance->links;
    problem->overlap = sy_rng_below(rng, 2);
}

void instance_restrict(struct instance *instance, struct sy_rng *rng) {
    struct sy_plan_problem *problem = &instance->problem;
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        for (uint32_t i = 0; i < problem->class_count; i++) {
            bool cannot = sy_rng_below(rng, 6) == 0;
            for (uint32_t s = 0; cannot && s < problem->shape_count; s++) {
                if (instance->shapes[s].class_index == i) {
                    instance->time_ns[k * problem->shape_count + s] = INFINITY;
                    instance->joules[k * problem->shape_count + s] = NAN;
                }
            }
        }
    }
    for (uint32_t i = 0; i < problem->class_count; i++) {
        if (sy_rng_below(rng, 2)) {
            instance->classes[i].memory_bytes = spread(rng, 5e6, 1e8);
        }
    }
}
