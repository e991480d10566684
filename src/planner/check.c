/* SPDX-License-Identifier: Apache-2.0
 *
 * Is this a problem? Every number in its range, every index in its table, no cycle. What comes
 * after relies on it.
 */
#include "planner/search.h"
#include <errno.h>

static bool is_amount(double value) {
    return value >= 0 && value < INFINITY;
}

static const char *name_of(const char *name) {
    return name ? name : "without a name";
}

static int check_classes(const struct sy_plan_problem *problem, struct sy_error *error) {
    if (problem->class_count == 0 || problem->class_count > SY_PLAN_CLASS_MAX) {
        return sy_fail(error, -EINVAL, "%u classes of devices; 1 to %u can be planned for",
                       problem->class_count, SY_PLAN_CLASS_MAX);
    }
    for (uint32_t i = 0; i < problem->class_count; i++) {
        const struct sy_plan_class *class = &problem->classes[i];
        if (!class->name || class->device_count > SY_PLAN_DEVICE_MAX) {
            return sy_fail(error, -EINVAL, "class %s: %u devices; at most %u can be planned for",
                           name_of(class->name), class->device_count, SY_PLAN_DEVICE_MAX);
        }
        if (!is_amount(class->idle_watts) || !is_amount(class->price_per_s) ||
            !(class->memory_bytes >= 0)) {
            return sy_fail(error, -EINVAL,
                           "class %s: idle watts %g, price %g and memory %g must not be negative",
                           class->name, class->idle_watts, class->price_per_s, class->memory_bytes);
        }
    }
    return 0;
}

static int check_shapes(const struct sy_plan_problem *problem, struct sy_error *error) {
    uint64_t seen[SY_PLAN_CLASS_MAX] = {0};
    if (problem->shape_count == 0) {
        return sy_fail(error, -EINVAL, "there are no shapes: nothing can run");
    }
    for (uint32_t i = 0; i < problem->shape_count; i++) {
        const struct sy_plan_shape *shape = &problem->shapes[i];
        if (shape->class_index >= problem->class_count || shape->width == 0 ||
            shape->width > SY_PLAN_DEVICE_MAX) {
            return sy_fail(error, -EINVAL, "shape %u: class %u of %u, width %u (1 to %u)", i,
                           shape->class_index, problem->class_count, shape->width,
                           SY_PLAN_DEVICE_MAX);
        }
        uint64_t bit = 1ull << (shape->width - 1);
        if (seen[shape->class_index] & bit) {
            return sy_fail(error, -EINVAL, "shape %u: width %u of class %s appears twice", i,
                           shape->width, problem->classes[shape->class_index].name);
        }
        seen[shape->class_index] |= bit;
    }
    return 0;
}

static int check_links(const struct sy_plan_problem *problem, struct sy_error *error) {
    uint32_t side = problem->class_count + 1;
    for (uint32_t i = 0; i + 1 < side * side; i++) { /* the last is from the host to itself */
        const struct sy_plan_link *link = &problem->links[i];
        if (!(link->latency_ns >= 0) || !(link->bytes_per_s > 0) ||
            !is_amount(link->joules_per_byte)) {
            return sy_fail(error, -EINVAL,
                           "link from %s to %s: latency %g ns, %g bytes/s, %g J per byte",
                           i / side < side - 1 ? problem->classes[i / side].name : "the host",
                           i % side < side - 1 ? problem->classes[i % side].name : "the host",
                           link->latency_ns, link->bytes_per_s, link->joules_per_byte);
        }
    }
    return 0;
}

static int check_kernels(const struct sy_plan_problem *problem, struct sy_error *error) {
    if (problem->kernel_count == 0 || problem->kernel_count > SY_PLAN_KERNEL_MAX) {
        return sy_fail(error, -EINVAL, "%u kernels; 1 to %u can be planned", problem->kernel_count,
                       SY_PLAN_KERNEL_MAX);
    }
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        const struct sy_plan_kernel *kernel = &problem->kernels[k];
        if (!kernel->name || !is_amount(kernel->resident_bytes)) {
            return sy_fail(error, -EINVAL, "kernel %s: %g resident bytes", name_of(kernel->name),
                           kernel->resident_bytes);
        }
        for (uint32_t s = 0; s < problem->shape_count; s++) {
            double time_ns = problem->time_ns[k * problem->shape_count + s];
            double joules = problem->joules[k * problem->shape_count + s];
            if (!(time_ns >= 0) || (time_ns < INFINITY && !is_amount(joules))) {
                return sy_fail(error, -EINVAL, "kernel %s, shape %u: %g ns, %g J", kernel->name, s,
                               time_ns, joules);
            }
        }
    }
    return 0;
}

static int check_data(const struct sy_plan_problem *problem, struct sy_plan_order *order,
                      struct sy_error *error) {
    uint32_t n = problem->kernel_count;
    order->all = n == 64 ? UINT64_MAX : (1ull << n) - 1;
    for (uint32_t k = 0; k < n; k++) {
        order->before[k] = 0;
    }
    for (uint32_t i = 0; i < problem->datum_count; i++) {
        const struct sy_plan_datum *datum = &problem->data[i];
        bool made = datum->producer != SY_NONE;
        if (!datum->name || !is_amount(datum->bytes) || (made && datum->producer >= n) ||
            datum->readers & ~order->all) {
            return sy_fail(error, -EINVAL, "datum %s: %g bytes, or a kernel that does not exist",
                           name_of(datum->name), datum->bytes);
        }
        for (uint64_t left = made ? datum->readers : 0; left; left &= left - 1) {
            order->before[__builtin_ctzll(left)] |= 1ull << datum->producer;
        }
    }
    return 0;
}

static int find_order(const struct sy_plan_problem *problem, struct sy_plan_order *order,
                      struct sy_error *error) {
    uint64_t done = 0;
    for (uint32_t i = 0; i < problem->kernel_count; i++) {
        uint32_t k = 0;
        while (k < problem->kernel_count && (done >> k & 1 || (order->before[k] & ~done) != 0)) {
            k++;
        }
        if (k == problem->kernel_count) {
            uint32_t stuck = (uint32_t)__builtin_ctzll(order->all & ~done);
            return sy_fail(error, -EINVAL, "kernel %s depends on its own results: a cycle",
                           problem->kernels[stuck].name);
        }
        order->order[i] = k;
        done |= 1ull << k;
    }
    return 0;
}

int sy_plan_check(const struct sy_plan_problem *problem, struct sy_plan_order *ret_order,
                  struct sy_error *error) {
    int code = check_classes(problem, error);
    code = code ? code : check_shapes(problem, error);
    code = code ? code : check_links(problem, error);
    code = code ? code : check_kernels(problem, error);
    code = code ? code : check_data(problem, ret_order, error);
    return code ? code : find_order(problem, ret_order, error);
}

int sy_plan_check_request(const struct sy_plan_request *request, struct sy_error *error) {
    const struct sy_plan_bounds *bounds = &request->bounds;
    const double values[] = {bounds->latency_ns, bounds->period_ns, bounds->energy_joules,
                             bounds->money, bounds->power_watts};
    for (size_t i = 0; i < SY_COUNT(values); i++) {
        if (!(values[i] >= 0)) {
            return sy_fail(error, -EINVAL, "a bound is %g; it must not be negative", values[i]);
        }
    }
    if ((uint32_t)request->objective >= SY_PLAN_OBJECTIVE_COUNT) {
        return sy_fail(error, -EINVAL, "objective %d does not exist", (int)request->objective);
    }
    if (request->side_by_side &&
        (request->objective != SY_PLAN_THROUGHPUT || bounds->energy_joules < INFINITY ||
         bounds->money < INFINITY || bounds->power_watts < INFINITY)) {
        sy_fail(error, -EINVAL,
                "side by side is only for throughput, without bounds on energy, "
                "money or power");
        return sy_hint(error, "leave out side by side, or those bounds");
    }
    return 0;
}
