/* SPDX-License-Identifier: Apache-2.0
 *
 * All plans of a problem, one by one, from the definition in planner.h alone: the judge of the
 * search.
 */
#include "symph-bench/plan_judges.h"

#include "planner/search.h"

struct enumeration {
    const struct sy_plan_problem *problem;
    const struct sy_plan_bounds *bounds;
    struct sy_plan_order order;
    sy_plan_visit visit;
    void *user;
    uint64_t count;
    bool stopped;
    uint32_t left[SY_PLAN_CLASS_MAX];
    struct sy_plan plan;
};

static void grow(struct enumeration *all, uint64_t done, uint64_t stage, uint32_t position);

static bool runs(const struct enumeration *all, uint64_t kernels, uint32_t shape) {
    for (; kernels; kernels &= kernels - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(kernels);
        if (!(all->problem->time_ns[k * all->problem->shape_count + shape] < INFINITY)) {
            return false;
        }
    }
    return true;
}

static void place(struct enumeration *all, uint64_t done, uint64_t kernels) {
    for (uint32_t s = 0; s < all->problem->shape_count && !all->stopped; s++) {
        const struct sy_plan_shape *shape = &all->problem->shapes[s];
        uint32_t *left = &all->left[shape->class_index];
        if (*left < shape->width || !runs(all, kernels, s) ||
            !sy_plan_fits(all->problem, kernels, shape)) {
            continue;
        }
        uint32_t most = *left / shape->width;
        for (uint32_t replicas = 1; replicas <= most && !all->stopped; replicas++) {
            all->plan.stages[all->plan.stage_count++] =
                (struct sy_plan_stage){.kernels = kernels, .shape = s, .replicas = replicas};
            *left -= replicas * shape->width;
            grow(all, done | kernels, 0, 0);
            *left += replicas * shape->width;
            all->plan.stage_count--;
        }
    }
}

/* Each kernel is in the next stage or not, in an order in which they can run; a kernel that is not
 * keeps out those that need it. */
static void grow(struct enumeration *all, uint64_t done, uint64_t stage, uint32_t position) {
    if (done == all->order.all) {
        sy_plan_cost(all->problem, all->bounds, &all->plan);
        all->count++;
        all->stopped = !all->visit(all->user, &all->plan);
        return;
    }
    if (position == all->problem->kernel_count) {
        if (stage) {
            place(all, done, stage);
        }
        return;
    }
    uint32_t k = all->order.order[position];
    if (!(done >> k & 1) && !(all->order.before[k] & ~(done | stage)) && !all->stopped) {
        grow(all, done, stage | 1ull << k, position + 1);
    }
    if (!all->stopped) {
        grow(all, done, stage, position + 1);
    }
}

uint64_t sy_plan_enumerate(const struct sy_plan_problem *problem,
                           const struct sy_plan_bounds *bounds, sy_plan_visit visit, void *user) {
    struct enumeration all = {.problem = problem, .bounds = bounds, .visit = visit, .user = user};
    if (sy_plan_check(problem, &all.order, NULL)) {
        return 0;
    }
    for (uint32_t i = 0; i < problem->class_count; i++) {
        all.left[i] = problem->classes[i].device_count;
    }
    all.plan.lane_count = 1;
    grow(&all, 0, 0, 0);
    return all.count;
}
