/* SPDX-License-Identifier: Apache-2.0
 *
 * Why there is no plan, and what to relax.
 *
 * A kernel that runs nowhere, or fits no memory; else bounds: for each one the best that the others
 * allow, found by asking the search again. Numbers are rounded up: what is advised works.
 */
#include "planner/search.h"
#include <errno.h>
#include <string.h>

enum { LATENCY, PERIOD, ENERGY, MONEY, POWER, BOUND_COUNT };

/* People speak of throughput; the search of its inverse. */
static const char *const names[BOUND_COUNT] = {"latency", "throughput", "energy", "money", "power"};
static const char *const signs[BOUND_COUNT] = {"<=", ">=", "<=", "<=", "<="};
static const char *const ends[BOUND_COUNT] = {"least", "most", "least", "least", "least"};

static double *bound_of(struct sy_plan_bounds *bounds, uint32_t which) {
    double *const values[BOUND_COUNT] = {&bounds->latency_ns, &bounds->period_ns,
                                         &bounds->energy_joules, &bounds->money,
                                         &bounds->power_watts};
    return values[which];
}

static bool is_set(const struct sy_plan_bounds *bounds, uint32_t which) {
    struct sy_plan_bounds copy = *bounds;
    return *bound_of(&copy, which) < INFINITY;
}

/* --- numbers for people ------------------------------------------------------------------------
 */
#define VALUE_SIZE 32

/* To four digits, never below value. */
static double round_up(double value) {
    if (!(value > 0) || value == INFINITY) {
        return value;
    }
    double unit = pow(10, floor(log10(value)) - 3);
    double rounded = ceil(value / unit * (1 - 1e-9)) * unit;
    while (rounded < value) {
        rounded += unit;
    }
    return rounded;
}

/* Of a period the rate, to six digits and never above it. */
static double rate_of(double period_ns) {
    double rate = 1e9 / period_ns;
    double unit = pow(10, floor(log10(rate)) - 5);
    return isfinite(unit) && unit > 0 ? floor(rate / unit * (1 + 1e-9)) * unit : rate;
}

static const char *show(uint32_t which, double value, char *text) {
    if (which == PERIOD) {
        snprintf(text, VALUE_SIZE, "%.6g/s", rate_of(value));
    } else if (which == LATENCY) {
        static const struct {
            double ns;
            const char *name;
        } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
        uint32_t i = 0;
        while (i + 1 < SY_COUNT(units) && value < units[i].ns) {
            i++;
        }
        snprintf(text, VALUE_SIZE, "%.6g%s", value / units[i].ns, units[i].name);
    } else {
        snprintf(text, VALUE_SIZE, "%.6g%s", value,
                 which == ENERGY  ? "J"
                 : which == POWER ? "W"
                                  : "");
    }
    return text;
}

/* --- the best that can be had ------------------------------------------------------------------
 */
static int is_feasible(struct sy_planner *planner, const struct sy_plan_bounds *bounds,
                       bool *ret_feasible) {
    struct sy_plan plan;
    int code = sy_plan_best(planner, SY_PLAN_THROUGHPUT, bounds, &plan);
    if (code == 0 || code == -ERANGE) {
        *ret_feasible = code == 0;
        return 0;
    }
    return code;
}

/* A cap on power slows plans down; how low it may be is found by halving. */
static int least_power(struct sy_planner *planner, const struct sy_plan_bounds *others,
                       double *ret_value) {
    struct sy_plan plan;
    int code = sy_plan_best(planner, SY_PLAN_THROUGHPUT, others, &plan);
    if (code) {
        *ret_value = INFINITY;
        return code == -ERANGE ? 0 : code;
    }
    double low = 0, high = plan.outcome.power_watts * (1 + 1e-9);
    for (uint32_t i = 0; i < 60 && high - low > 2e-5 * high; i++) {
        struct sy_plan_bounds bounds = *others;
        bool feasible = false;
        bounds.power_watts = low + (high - low) / 2;
        code = is_feasible(planner, &bounds, &feasible);
        if (code) {
            return code;
        }
        *(feasible ? &high : &low) = bounds.power_watts;
    }
    *ret_value = high;
    return 0;
}

/* Best value of one bound within the others; INFINITY: the others cannot be met. */
static int least(struct sy_planner *planner, const struct sy_plan_bounds *bounds, uint32_t which,
                 double *ret_value) {
    static const enum sy_plan_objective objectives[BOUND_COUNT] = {
        SY_PLAN_LATENCY, SY_PLAN_THROUGHPUT, SY_PLAN_ENERGY, SY_PLAN_MONEY, SY_PLAN_THROUGHPUT};
    struct sy_plan_bounds others = *bounds;
    struct sy_plan plan;
    *bound_of(&others, which) = INFINITY;
    if (which == POWER) {
        return least_power(planner, &others, ret_value);
    }
    int code = sy_plan_best(planner, objectives[which], &others, &plan);
    if (code == 0 || code == -ERANGE) {
        *ret_value = code ? INFINITY : sy_plan_value(objectives[which], &plan.outcome);
        return 0;
    }
    return code;
}

/* --- devices -----------------------------------------------------------------------------------
 */
static int explain_kernel(const struct sy_plan_problem *problem, uint32_t k,
                          struct sy_error *error) {
    const struct sy_plan_kernel *kernel = &problem->kernels[k];
    double moving = 0, least_bytes = INFINITY;
    bool runs = false;
    for (uint32_t i = 0; i < problem->datum_count; i++) {
        const struct sy_plan_datum *datum = &problem->data[i];
        moving += datum->producer == k || (datum->readers >> k & 1) ? datum->bytes : 0;
    }
    for (uint32_t s = 0; s < problem->shape_count; s++) {
        const struct sy_plan_shape *shape = &problem->shapes[s];
        const struct sy_plan_class *class = &problem->classes[shape->class_index];
        if (!(problem->time_ns[k * problem->shape_count + s] < INFINITY) ||
            class->device_count < shape->width) {
            continue;
        }
        double bytes = kernel->resident_bytes + 2 * moving / shape->width;
        if (bytes <= class->memory_bytes) {
            return 0;
        }
        runs = true;
        least_bytes = sy_least(least_bytes, bytes);
    }
    if (runs) {
        sy_fail(error, -ENODEV,
                "kernel %s does not fit in any memory: it needs at least %.0f bytes", kernel->name,
                least_bytes);
        sy_hint(error, "use smaller inputs, or devices with more memory");
    } else {
        sy_fail(error, -ENODEV, "kernel %s cannot run: no free device can run it", kernel->name);
        sy_hint(error, "add a variant for one of the classes, or free a device");
    }
    return -ENODEV;
}

static int explain_devices(struct sy_planner *planner, struct sy_error *error) {
    const struct sy_plan_problem *problem = planner->space.problem;
    bool feasible = false;
    int code = is_feasible(planner, &sy_plan_unbounded, &feasible);
    for (uint32_t k = 0; !code && !feasible && k < problem->kernel_count; k++) {
        code = explain_kernel(problem, k, error);
    }
    if (!code && !feasible) {
        sy_fail(error, -ENODEV,
                "no plan: each kernel can run, but there are not enough devices for stages in "
                "their order");
        sy_hint(error, "free devices of the classes that only some kernels run on");
        return -ENODEV;
    }
    return code == -ENOMEM ? sy_fail(error, code, "out of memory") : code;
}

/* --- bounds ------------------------------------------------------------------------------------
 */
struct advice {
    struct sy_plan_bounds bounds;
    double alone[BOUND_COUNT];    /* best without any other bound */
    double within[BOUND_COUNT];   /* best within all others */
    double together[BOUND_COUNT]; /* relaxing all of these works; 0: leave it */
};

static int ask_all(struct sy_planner *planner, struct advice *advice) {
    struct sy_plan_bounds kept = sy_plan_unbounded;
    int code = 0;
    for (uint32_t i = 0; !code && i < BOUND_COUNT; i++) {
        double bound = *bound_of(&advice->bounds, i);
        bool feasible = false;
        if (!is_set(&advice->bounds, i)) {
            continue;
        }
        code = least(planner, &sy_plan_unbounded, i, &advice->alone[i]);
        code = code ? code : least(planner, &advice->bounds, i, &advice->within[i]);
        *bound_of(&kept, i) = bound;
        code = code ? code : is_feasible(planner, &kept, &feasible);
        if (!code && !feasible) {
            code = least(planner, &kept, i, &advice->together[i]);
            advice->together[i] = round_up(advice->together[i]);
            *bound_of(&kept, i) = advice->together[i];
        }
    }
    return code;
}

static void put(char *text, size_t size, const char *before, const char *more) {
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? before : "", more);
}

/* "power<=100W, energy<=2J": all that are set but one. */
static void list_others(struct advice *advice, uint32_t but, char *text, size_t size) {
    for (uint32_t i = 0; i < BOUND_COUNT; i++) {
        char value[VALUE_SIZE], one[2 * VALUE_SIZE];
        if (i != but && is_set(&advice->bounds, i)) {
            show(i, *bound_of(&advice->bounds, i), value);
            snprintf(one, sizeof one, "%s%s%s", names[i], signs[i], value);
            put(text, size, ", ", one);
        }
    }
}

static void list_relaxed(const double *values, const char *between, char *text, size_t size) {
    for (uint32_t i = 0; i < BOUND_COUNT; i++) {
        char value[VALUE_SIZE], one[2 * VALUE_SIZE];
        if (values[i] > 0 && values[i] < INFINITY) {
            snprintf(one, sizeof one, "%s to %s", names[i], show(i, round_up(values[i]), value));
            put(text, size, between, one);
        }
    }
}

static int tell(struct advice *advice, struct sy_error *error) {
    char value[VALUE_SIZE], best[VALUE_SIZE], others[160] = "", relaxed[200] = "";
    uint32_t alone = BOUND_COUNT, within = BOUND_COUNT;
    for (uint32_t i = BOUND_COUNT; i-- > 0;) {
        bool set = is_set(&advice->bounds, i);
        double bound = *bound_of(&advice->bounds, i);
        alone = set && advice->alone[i] > bound ? i : alone;
        within = set && advice->within[i] < INFINITY ? i : within;
    }
    list_relaxed(advice->together, " and ", relaxed, sizeof relaxed);
    if (alone < BOUND_COUNT) {
        show(alone, *bound_of(&advice->bounds, alone), value);
        show(alone, round_up(advice->alone[alone]), best);
        sy_fail(error, -ERANGE, "%s%s%s cannot be met: the %s is %s", names[alone], signs[alone],
                value, ends[alone], best);
    } else if (within < BOUND_COUNT) {
        show(within, *bound_of(&advice->bounds, within), value);
        show(within, round_up(advice->within[within]), best);
        list_others(advice, within, others, sizeof others);
        relaxed[0] = '\0';
        list_relaxed(advice->within, ", or ", relaxed, sizeof relaxed);
        sy_fail(error, -ERANGE, "%s%s%s cannot be met within %s: the %s is %s", names[within],
                signs[within], value, others, ends[within], best);
    } else {
        list_others(advice, BOUND_COUNT, others, sizeof others);
        sy_fail(error, -ERANGE, "%s cannot be met together", others);
    }
    sy_hint(error, "relax %s", relaxed);
    return -ERANGE;
}

int sy_plan_explain(struct sy_planner *planner, const struct sy_plan_bounds *bounds,
                    struct sy_error *error) {
    struct advice advice = {.bounds = *bounds};
    int code = explain_devices(planner, error);
    if (code) {
        return code;
    }
    code = ask_all(planner, &advice);
    return code ? sy_fail(error, code, "out of memory") : tell(&advice, error);
}

int sy_plan_explain_lanes(const struct sy_plan_bounds *bounds, double least_ns,
                          struct sy_error *error) {
    char bound[VALUE_SIZE], best[VALUE_SIZE];
    bool late = bounds->latency_ns < INFINITY;
    show(PERIOD, bounds->period_ns, bound);
    show(PERIOD, round_up(least_ns), best);
    sy_fail(error, -ERANGE, "throughput>=%s cannot be met side by side%s: the most is %s", bound,
            late ? " within the bound on latency" : "", best);
    sy_hint(error, "relax throughput to %s%s", best, late ? ", or latency" : "");
    return -ERANGE;
}
