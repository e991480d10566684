/* SPDX-License-Identifier: Apache-2.0
 *
 * The baseline: DyPe's table dp[i][f][g], as far as it is known (docs/PAPERS.md). One label per
 * (kernels done, devices used), the best by the objective; on which devices the last stage ran is
 * no part of the state, and so the way to the next stage may turn out to be a bad one.
 */
#include "symph-bench/plan_judges.h"

#include "planner/search.h"
#include <errno.h>

struct table {
    struct sy_planner *planner;
    const struct sy_plan_request *request;
    double *values; /* [cut * use_count + use]; INFINITY: no label yet */
};

static double value_at(const struct table *table, const struct sy_plan_label *label, uint32_t use) {
    const struct sy_plan_use *devices = &table->planner->space.uses[use];
    struct sy_plan_outcome out = {.latency_ns = label->latency_ns};
    out.period_ns = sy_plan_paced_ns(label->period_ns, label->joules, devices->idle_watts,
                                     table->request->bounds.power_watts);
    out.energy_joules = label->joules + out.period_ns * 1e-9 * devices->idle_watts;
    out.money = out.period_ns * 1e-9 * devices->price_per_s;
    return sy_plan_within(&table->request->bounds, &out)
               ? sy_plan_value(table->request->objective, &out)
               : INFINITY;
}

static void try_stage(struct table *table, uint32_t from, uint32_t to, uint32_t use, uint32_t f) {
    struct sy_planner *planner = table->planner;
    const struct sy_plan_space *space = &planner->space;
    const struct sy_plan_form *form = &space->forms[f];
    const struct sy_plan_work *work = &space->work[f];
    uint32_t here = from * space->use_count + use;
    const struct sy_plan_label old = planner->labels[here];
    const struct sy_plan_way *way = sy_plan_way_to(space, from, old.form, f);
    double bytes = space->cuts[from].bytes;
    double transfer_ns = sy_plan_way_ns(way, bytes) + work->out_ns;
    double sum_ns = work->compute_ns + transfer_ns;
    double stage_ns = space->problem->overlap ? sy_most(work->compute_ns, transfer_ns) : sum_ns;
    uint32_t used = space->uses[use].counts[form->class_index];
    uint32_t devices = space->problem->classes[form->class_index].device_count;
    for (uint32_t r = 1; used + r * form->width <= devices; r++) {
        struct sy_plan_label new = {.period_ns = sy_most(old.period_ns, stage_ns / r),
                                    .latency_ns = old.latency_ns + sum_ns,
                                    .parent = here,
                                    .cut = (uint16_t)to,
                                    .form = (uint8_t)f,
                                    .replicas = (uint8_t)r};
        new.joules = old.joules + (work->joules + bytes * way->joules_per_byte);
        uint32_t then = use + r * form->step, there = to * space->use_count + then;
        double value = value_at(table, &new, then);
        if (value < table->values[there]) {
            table->values[there] = value;
            planner->labels[there] = new;
        }
    }
}

static void fill(struct table *table) {
    const struct sy_plan_space *space = &table->planner->space;
    for (uint32_t from = 0; from + 1 < space->cut_count; from++) {
        for (uint32_t to = from + 1; to < space->cut_count; to++) {
            if (!sy_plan_nested(space, from, to) ||
                !sy_plan_space_work(&table->planner->space, from, to)) {
                continue;
            }
            for (uint32_t use = 0; use < space->use_count; use++) {
                bool there = table->values[from * space->use_count + use] < INFINITY;
                for (uint32_t f = 0; there && f < space->form_count; f++) {
                    if (space->work[f].possible) {
                        try_stage(table, from, to, use, f);
                    }
                }
            }
        }
    }
}

static int take_best(const struct table *table, struct sy_plan *ret_plan) {
    const struct sy_planner *planner = table->planner;
    const struct sy_plan_space *space = &planner->space;
    uint32_t first = (space->cut_count - 1) * space->use_count, best = first;
    for (uint32_t i = first; i < first + space->use_count; i++) {
        best = table->values[i] < table->values[best] ? i : best;
    }
    if (!(table->values[best] < INFINITY)) {
        return -ERANGE;
    }
    const struct sy_plan_label *label = &planner->labels[best];
    struct sy_plan_found found = {
        .parent = label->parent, .form = label->form, .replicas = label->replicas};
    sy_plan_unwind(planner, &found, ret_plan);
    sy_plan_cost(space->problem, &table->request->bounds, ret_plan);
    return 0;
}

int sy_plan_greedy(struct sy_planner *planner, const struct sy_plan_problem *problem,
                   const struct sy_plan_request *request, struct sy_plan *ret_plan,
                   struct sy_error *error) {
    struct table table = {.planner = planner, .request = request};
    struct sy_plan plan = {0};
    int code = sy_plan_check_request(request, error);
    code = code ? code : sy_plan_space_prepare(&planner->space, problem, error);
    if (code) {
        return code;
    }
    uint32_t cells = planner->space.cut_count * planner->space.use_count;
    if (sy_grow(&planner->labels, &planner->label_capacity, cells, sizeof *planner->labels) ||
        sy_plan_block_reserve(&planner->block, cells * sizeof(double) + 64)) {
        return sy_out_of_memory(error);
    }
    table.values = sy_plan_block_take(&planner->block, cells, sizeof(double));
    for (uint32_t i = 0; i < cells; i++) {
        table.values[i] = INFINITY;
    }
    planner->labels[0] = (struct sy_plan_label){.parent = SY_NONE};
    table.values[0] = 0;
    fill(&table);
    code = take_best(&table, &plan);
    if (code) {
        code = sy_plan_best(planner, request->objective, &request->bounds, &plan);
        return code ? sy_plan_explain(planner, &request->bounds, error)
                    : sy_fail(error, -ERANGE,
                              "the table with one label per cell holds no plan "
                              "within the bounds, though there is one");
    }
    *ret_plan = plan;
    return 0;
}
