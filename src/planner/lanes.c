/* SPDX-License-Identifier: Apache-2.0
 *
 * Pipelines side by side: which devices each gets, so that their rates together are greatest.
 *
 * The search gives the least period for each number of devices used; which of them to join is a
 * knapsack over numbers of devices, at most SY_PLAN_LANE_MAX times. Exact, unless the lanes had
 * more than SY_PLAN_STAGE_MAX stages together: then the best with fewer lanes.
 */
#include "planner/search.h"
#include <errno.h>
#include <string.h>

struct knapsack {
    const struct sy_planner *planner;
    double *rate;   /* [use]: of one pipeline with exactly these devices */
    double *best;   /* [lanes * use_count + use]: of at most these */
    uint32_t *take; /* the same: devices of the last lane */
    uint32_t use_count;
};

/* Are all counts of a within b? Their difference is then the use at index b - a. */
static bool is_part(const struct sy_plan_space *space, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < space->problem->class_count; i++) {
        if (space->uses[a].counts[i] > space->uses[b].counts[i]) {
            return false;
        }
    }
    return true;
}

static void fill(struct knapsack *sack) {
    const struct sy_plan_space *space = &sack->planner->space;
    memset(sack->best, 0, sack->use_count * sizeof *sack->best);
    for (uint32_t lanes = 1; lanes <= SY_PLAN_LANE_MAX; lanes++) {
        const double *fewer = sack->best + (size_t)(lanes - 1) * sack->use_count;
        double *best = sack->best + (size_t)lanes * sack->use_count;
        uint32_t *take = sack->take + (size_t)lanes * sack->use_count;
        for (uint32_t use = 0; use < sack->use_count; use++) {
            best[use] = fewer[use];
            take[use] = 0;
            for (uint32_t part = 1; part <= use; part++) {
                if (sack->rate[part] > 0 && is_part(space, part, use) &&
                    sack->rate[part] + fewer[use - part] > best[use]) {
                    best[use] = sack->rate[part] + fewer[use - part];
                    take[use] = part;
                }
            }
        }
    }
}

/* False: more stages than a plan has room for. */
static bool unpack(const struct knapsack *sack, uint32_t lanes, struct sy_plan *plan) {
    uint32_t use = sack->use_count - 1;
    plan->stage_count = plan->lane_count = 0;
    for (; lanes > 0; lanes--) {
        uint32_t part = sack->take[(size_t)lanes * sack->use_count + use];
        struct sy_plan lane;
        if (!part) {
            continue;
        }
        sy_plan_unwind(sack->planner, &sack->planner->found[part], &lane);
        if (plan->stage_count + lane.stage_count > SY_PLAN_STAGE_MAX) {
            return false;
        }
        for (uint32_t i = 0; i < lane.stage_count; i++) {
            lane.stages[i].lane = plan->lane_count;
            plan->stages[plan->stage_count++] = lane.stages[i];
        }
        plan->lane_count++;
        use -= part;
    }
    return true;
}

static int pack(struct sy_planner *planner, struct sy_plan *plan) {
    size_t uses = planner->space.use_count, tables = SY_PLAN_LANE_MAX + 1;
    size_t size = uses * sizeof(double) + tables * uses * (sizeof(double) + sizeof(uint32_t));
    /* Floors and cells are not needed any more, labels and plans found are. */
    if (sy_plan_block_reserve(&planner->block, size + 3 * 64)) {
        return -ENOMEM;
    }
    struct knapsack sack = {.planner = planner, .use_count = planner->space.use_count};
    sack.rate = sy_plan_block_take(&planner->block, uses, sizeof(double));
    sack.best = sy_plan_block_take(&planner->block, tables * uses, sizeof(double));
    sack.take = sy_plan_block_take(&planner->block, tables * uses, sizeof(uint32_t));
    for (uint32_t use = 0; use < sack.use_count; use++) {
        double period_ns = planner->found[use].period_ns;
        sack.rate[use] = use && period_ns < INFINITY ? 1e9 / period_ns : 0;
    }
    fill(&sack);
    uint32_t lanes = SY_PLAN_LANE_MAX;
    while (lanes && !unpack(&sack, lanes, plan)) {
        lanes--;
    }
    return plan->lane_count ? 0 : -ERANGE;
}

int sy_plan_lanes(struct sy_planner *planner, const struct sy_plan_request *request,
                  struct sy_plan *ret_plan, struct sy_error *error) {
    struct sy_plan_bounds single = sy_plan_unbounded;
    single.latency_ns = request->bounds.latency_ns;
    sy_plan_ask(planner, SY_PLAN_EACH_BUDGET, SY_PLAN_THROUGHPUT, &single);
    int code = sy_plan_floors(planner);
    code = code ? code : sy_plan_search(planner);
    code = code ? code : pack(planner, ret_plan);
    if (code) {
        return code == -ERANGE ? sy_plan_explain(planner, &single, error)
                               : sy_fail(error, code, "out of memory");
    }
    sy_plan_cost(planner->space.problem, &sy_plan_unbounded, ret_plan);
    return sy_plan_within(&request->bounds, &ret_plan->outcome)
               ? 0
               : sy_plan_explain_lanes(&request->bounds, ret_plan->outcome.period_ns, error);
}
