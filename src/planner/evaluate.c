/* SPDX-License-Identifier: Apache-2.0
 *
 * What a plan costs, from the definition in planner.h alone.
 *
 * In: a problem, a plan. Out: its costs. Shares no code with the search: it
 * is its judge. Sums run in the order of kernels, stages and classes, as the search takes them.
 */
#include "planner/search.h"
#include <errno.h>
#include <string.h>

/* One lane, as if it were alone. */
struct lane {
    double period_ns, latency_ns, joules;
};

static double bytes_at(const struct sy_plan_problem *problem, uint64_t done) {
    double bytes = 0;
    for (uint32_t i = 0; i < problem->datum_count; i++) {
        const struct sy_plan_datum *datum = &problem->data[i];
        bool there = datum->producer == SY_NONE || (done >> datum->producer & 1);
        if (there && (datum->output || (datum->readers & ~done))) {
            bytes += datum->bytes;
        }
    }
    return bytes;
}

/* NULL: the host. */
static double move(const struct sy_plan_problem *problem, const struct sy_plan_shape *from,
                   const struct sy_plan_shape *to, double bytes, double *joules) {
    uint32_t host = problem->class_count;
    uint32_t row = from ? from->class_index : host, column = to ? to->class_index : host;
    const struct sy_plan_link *link = &problem->links[row * (host + 1) + column];
    uint32_t lanes = from && to ? (from->width < to->width ? from->width : to->width)
                                : (from ? from->width : to->width);
    *joules += bytes * link->joules_per_byte;
    return link->latency_ns + bytes / (link->bytes_per_s * lanes) * 1e9;
}

static struct sy_plan_part cost_stage(const struct sy_plan_problem *problem,
                                      const struct sy_plan_stage *stage, uint64_t done,
                                      const struct sy_plan_shape *before, bool last) {
    const struct sy_plan_shape *shape = &problem->shapes[stage->shape];
    struct sy_plan_part part = {0};
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        if (stage->kernels >> k & 1) {
            part.compute_ns += problem->time_ns[k * problem->shape_count + stage->shape];
            part.joules += problem->joules[k * problem->shape_count + stage->shape];
        }
    }
    double out_ns = 0;
    if (last) {
        out_ns = move(problem, shape, NULL, bytes_at(problem, done | stage->kernels), &part.joules);
    }
    double in_ns = move(problem, before, shape, bytes_at(problem, done), &part.joules);
    part.transfer_ns = in_ns + out_ns;
    return part;
}

void sy_plan_parts(const struct sy_plan_problem *problem, const struct sy_plan *plan,
                   struct sy_plan_part *ret_parts) {
    const struct sy_plan_stage *stages = plan->stages;
    uint64_t done = 0;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        bool first = i == 0 || stages[i].lane != stages[i - 1].lane;
        bool last = i + 1 == plan->stage_count || stages[i].lane != stages[i + 1].lane;
        const struct sy_plan_shape *before = first ? NULL : &problem->shapes[stages[i - 1].shape];
        done = first ? 0 : done;
        ret_parts[i] = cost_stage(problem, &stages[i], done, before, last);
        done |= stages[i].kernels;
    }
}

static struct lane cost_lane(const struct sy_plan_problem *problem,
                             const struct sy_plan_stage *stages, uint32_t count) {
    struct lane lane = {0};
    uint64_t done = 0;
    const struct sy_plan_shape *before = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct sy_plan_part part = cost_stage(problem, &stages[i], done, before, i + 1 == count);
        double sum_ns = part.compute_ns + part.transfer_ns;
        double stage_ns = problem->overlap ? sy_most(part.compute_ns, part.transfer_ns) : sum_ns;
        lane.period_ns = sy_most(lane.period_ns, stage_ns / stages[i].replicas);
        lane.latency_ns += sum_ns;
        lane.joules += part.joules;
        done |= stages[i].kernels;
        before = &problem->shapes[stages[i].shape];
    }
    return lane;
}

static void count_devices(const struct sy_plan_problem *problem, const struct sy_plan *plan,
                          uint32_t *counts) {
    memset(counts, 0, SY_PLAN_CLASS_MAX * sizeof *counts);
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct sy_plan_shape *shape = &problem->shapes[plan->stages[i].shape];
        counts[shape->class_index] += shape->width * plan->stages[i].replicas;
    }
}

/* Lanes together: rates add up; an item meets one lane. */
static struct lane join_lanes(const struct sy_plan_problem *problem, struct sy_plan *plan) {
    struct lane all = {0};
    double rate = 0;
    for (uint32_t i = 0, lane = 0; lane < plan->lane_count; lane++) {
        uint32_t first = i;
        while (i < plan->stage_count && plan->stages[i].lane == lane) {
            i++;
        }
        struct lane one = cost_lane(problem, plan->stages + first, i - first);
        plan->lane_rate[lane] = one.period_ns > 0 ? 1e9 / one.period_ns : INFINITY;
        if (plan->lane_count == 1) {
            return one;
        }
        rate += plan->lane_rate[lane];
        all.latency_ns = sy_most(all.latency_ns, one.latency_ns);
        all.joules += one.period_ns > 0 ? one.joules * plan->lane_rate[lane] : 0;
    }
    all.period_ns = 1e9 / rate;
    all.joules = rate < INFINITY ? all.joules / rate : 0;
    return all;
}

void sy_plan_cost(const struct sy_plan_problem *problem, const struct sy_plan_bounds *bounds,
                  struct sy_plan *plan) {
    uint32_t counts[SY_PLAN_CLASS_MAX];
    double idle_watts = 0, price_per_s = 0;
    struct lane lane = join_lanes(problem, plan);
    struct sy_plan_outcome *out = &plan->outcome;
    count_devices(problem, plan, counts);
    for (uint32_t i = 0; i < problem->class_count; i++) {
        idle_watts += counts[i] * problem->classes[i].idle_watts;
        price_per_s += counts[i] * problem->classes[i].price_per_s;
    }
    double period_ns = lane.period_ns, cap = bounds->power_watts;
    if (cap < INFINITY && idle_watts > cap) {
        period_ns = INFINITY;
    } else if (cap < INFINITY && lane.joules > 0) {
        period_ns = sy_most(period_ns, lane.joules / (cap - idle_watts) * 1e9);
    }
    *out = (struct sy_plan_outcome){INFINITY, lane.latency_ns, INFINITY, INFINITY, INFINITY};
    if (period_ns < INFINITY) {
        double period_s = period_ns * 1e-9;
        out->period_ns = period_ns;
        out->energy_joules = lane.joules + period_s * idle_watts;
        out->money = period_s * price_per_s;
        out->power_watts = period_s > 0 ? out->energy_joules / period_s : idle_watts;
    }
}

bool sy_plan_fits(const struct sy_plan_problem *problem, uint64_t kernels,
                  const struct sy_plan_shape *shape) {
    double resident = 0, moving = 0;
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        resident += kernels >> k & 1 ? problem->kernels[k].resident_bytes : 0;
    }
    for (uint32_t i = 0; i < problem->datum_count; i++) {
        const struct sy_plan_datum *datum = &problem->data[i];
        bool written = datum->producer != SY_NONE && (kernels >> datum->producer & 1);
        moving += written || (datum->readers & kernels) ? datum->bytes : 0;
    }
    return resident + 2 * moving / shape->width <=
           problem->classes[shape->class_index].memory_bytes;
}

/* Reason, or NULL. */
static const char *wrong_with(const struct sy_plan_problem *problem,
                              const struct sy_plan_order *order, const struct sy_plan_stage *stage,
                              uint64_t done) {
    if (stage->shape >= problem->shape_count) {
        return "its shape does not exist";
    }
    if (!stage->kernels || stage->kernels & ~order->all) {
        return "it has no kernels, or some that do not exist";
    }
    if (stage->kernels & done) {
        return "one of its kernels has already run";
    }
    if (stage->replicas == 0 || stage->replicas > SY_PLAN_DEVICE_MAX) {
        return "its number of replicas is out of range";
    }
    for (uint64_t left = stage->kernels; left; left &= left - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(left);
        if (order->before[k] & ~(done | stage->kernels)) {
            return "one of its kernels needs the result of a later stage";
        }
        if (!(problem->time_ns[k * problem->shape_count + stage->shape] < INFINITY)) {
            return "one of its kernels cannot run there";
        }
    }
    return sy_plan_fits(problem, stage->kernels, &problem->shapes[stage->shape])
               ? NULL
               : "it does not fit the memory of a device";
}

static int check_devices(const struct sy_plan_problem *problem, const struct sy_plan *plan,
                         struct sy_error *error) {
    uint32_t counts[SY_PLAN_CLASS_MAX];
    count_devices(problem, plan, counts);
    for (uint32_t i = 0; i < problem->class_count; i++) {
        const struct sy_plan_class *class = &problem->classes[i];
        if (counts[i] > class->device_count) {
            sy_fail(error, -EINVAL, "not a plan: it uses %u devices of class %s; there are %u",
                    counts[i], class->name, class->device_count);
            return sy_hint(error, "fewer replicas or a smaller width");
        }
    }
    return 0;
}

static int check_lane(const struct sy_plan_problem *problem, const struct sy_plan_order *order,
                      const struct sy_plan *plan, uint32_t lane, uint32_t *stage,
                      struct sy_error *error) {
    uint64_t done = 0;
    for (; *stage < plan->stage_count && plan->stages[*stage].lane == lane; (*stage)++) {
        const char *reason = wrong_with(problem, order, &plan->stages[*stage], done);
        if (reason) {
            return sy_fail(error, -EINVAL, "not a plan: stage %u: %s", *stage + 1, reason);
        }
        done |= plan->stages[*stage].kernels;
    }
    if (done != order->all) {
        uint32_t missing = (uint32_t)__builtin_ctzll(order->all & ~done);
        return sy_fail(error, -EINVAL, "not a plan: kernel %s is in no stage%s",
                       problem->kernels[missing].name, plan->lane_count > 1 ? " of a lane" : "");
    }
    return 0;
}

int sy_plan_evaluate(const struct sy_plan_problem *problem, const struct sy_plan_bounds *bounds,
                     const struct sy_plan *plan, struct sy_plan_outcome *ret_outcome,
                     struct sy_error *error) {
    struct sy_plan_order order;
    int code = sy_plan_check(problem, &order, error);
    code = code ? code : sy_plan_check_request(&(struct sy_plan_request){.bounds = *bounds}, error);
    if (!code && (plan->stage_count > SY_PLAN_STAGE_MAX || plan->lane_count == 0 ||
                  plan->lane_count > SY_PLAN_LANE_MAX)) {
        code = sy_fail(error, -EINVAL, "not a plan: %u stages in %u lanes", plan->stage_count,
                       plan->lane_count);
    }
    uint32_t stage = 0;
    for (uint32_t lane = 0; !code && lane < plan->lane_count; lane++) {
        code = check_lane(problem, &order, plan, lane, &stage, error);
    }
    if (!code && stage != plan->stage_count) {
        code = sy_fail(error, -EINVAL, "not a plan: stage %u belongs to no lane", stage + 1);
    }
    code = code ? code : check_devices(problem, plan, error);
    if (!code) {
        struct sy_plan copy = *plan;
        sy_plan_cost(problem, bounds, &copy);
        *ret_outcome = copy.outcome;
    }
    return code;
}
