/* SPDX-License-Identifier: Apache-2.0
 *
 * show: the answers as tables.
 *
 * In: a struct sy_planning with its answers. Out: text on stdout. Invariant: beside every estimate
 * stands what it rests on.
 */
#include "cli/plan/plan.h"

#include "cli/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRONT_ROWS 10u

static void put_outcome(struct sy_table *table, const struct sy_plan_outcome *outcome) {
    sy_table_cell(table, "%s", sy_planning_rate(outcome->period_ns).text);
    sy_table_cell(table, "%s", sy_units_time(outcome->latency_ns).text);
    sy_table_cell(table, "%s", sy_planning_joules(outcome->energy_joules).text);
    if (isfinite(outcome->period_ns)) {
        sy_table_cell(table, "%.4g W|%.3g", outcome->power_watts, outcome->money);
    } else {
        sy_table_cell(table, "-|-");
    }
}

static void put_plan_text(const struct sy_planning *planning, const struct sy_plan *plan,
                          struct sy_buffer *buffer) {
    sy_plan_write(&planning->problem, plan, buffer);
}

/* As a cell; plans of many kernels are long. */
static void put_plan_cell(const struct sy_planning *planning, const struct sy_plan *plan,
                          struct sy_table *table) {
    struct sy_buffer text = {0};
    put_plan_text(planning, plan, &text);
    sy_table_cell(table, "%.*s", text.failed ? 0 : (int)text.length, text.failed ? "" : text.text);
    sy_buffer_finish(&text);
}

/* --- the head -----------------------------------------------------------------------------------
 */
static void put_head(const struct sy_planning *planning, struct sy_buffer *buffer) {
    const struct sy_pipeline *pipeline = planning->pipeline;
    sy_print(buffer, "%s%s%s\n", pipeline->name, pipeline->about[0] ? ": " : "", pipeline->about);
    sy_print(buffer, "machine  ");
    for (uint32_t c = 0; c < planning->system.class_count; c++) {
        const struct sy_system_class *k = &planning->system.classes[c];
        sy_print(buffer, "%s%u x %s", c ? ", " : "", k->device_count, k->name);
        if (k->busy_count) {
            sy_print(buffer, " (others hold %u)", k->busy_count);
        }
        if (k->slowdown > 1.005) {
            sy_print(buffer, " (slowed %.2fx by others)", k->slowdown);
        }
    }
    sy_print(buffer, "\nitem     ");
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        sy_print(buffer, "%s%s=%.10g", i ? "," : "", pipeline->features[i].name,
                 planning->values[i]);
    }
    sy_print(buffer, "\nasked    %s", sy_plan_objective_name(planning->objective));
    for (uint32_t i = 0; i < planning->constraints.count; i++) {
        sy_print(buffer, "%s%s", i ? ", " : " with ", planning->constraints.items[i].text);
    }
    sy_print(buffer, "%s\n", planning->problem.overlap ? "" : "; transfers do not overlap");
}

/* --- the plan -----------------------------------------------------------------------------------
 */
static double stage_ns(const struct sy_planning *planning, const struct sy_plan_part *part) {
    return planning->problem.overlap ? fmax(part->compute_ns, part->transfer_ns)
                                     : part->compute_ns + part->transfer_ns;
}

static double busiest_ns(const struct sy_planning *planning, const struct sy_plan_part *parts,
                         uint32_t lane) {
    double most = 0;
    for (uint32_t i = 0; i < planning->plan.stage_count; i++) {
        if (planning->plan.stages[i].lane == lane) {
            most = fmax(most, stage_ns(planning, &parts[i]) / planning->plan.stages[i].replicas);
        }
    }
    return most;
}

static void put_stage(const struct sy_planning *planning, const struct sy_plan_part *parts,
                      uint32_t i, struct sy_table *table) {
    const struct sy_plan_stage *stage = &planning->plan.stages[i];
    const struct sy_plan_shape *shape = &planning->problem.shapes[stage->shape];
    const char *name = planning->problem.classes[shape->class_index].name;
    double turn_ns = stage_ns(planning, &parts[i]) / stage->replicas;
    double most_ns = busiest_ns(planning, parts, stage->lane);
    /* A lane that goes faster than another has a period of its own. */
    double period_ns = planning->plan.lane_count > 1 ? most_ns : planning->plan.outcome.period_ns;
    struct sy_buffer kernels = {0};
    uint32_t number = 1; /* in its lane */
    for (uint32_t k = i; k > 0 && planning->plan.stages[k - 1].lane == stage->lane; k--) {
        number++;
    }
    sy_planning_kernels(planning, stage->kernels, &kernels);
    sy_buffer_append(&kernels, "", 1);
    if (planning->plan.lane_count > 1) {
        sy_table_cell(table, "%u.%u", stage->lane + 1, number);
    } else {
        sy_table_cell(table, "%u", i + 1);
    }
    sy_table_cell(table, "%s", kernels.failed ? "" : kernels.text);
    if (shape->width > 1 && stage->replicas > 1) {
        sy_table_cell(table, "%u groups of %u %s", stage->replicas, shape->width, name);
    } else {
        sy_table_cell(table, "%u %s%s", stage->replicas * shape->width, name,
                      shape->width > 1      ? " together"
                      : stage->replicas > 1 ? " in turn"
                                            : "");
    }
    sy_table_cell(table, "%s|%s|%s|%.0f %%|%s", sy_units_time(parts[i].compute_ns).text,
                  sy_units_time(parts[i].transfer_ns).text, sy_units_time(turn_ns).text,
                  period_ns > 0 ? 100 * turn_ns / period_ns : 0,
                  turn_ns >= period_ns * (1 - 1e-9) ? "bottleneck" : "");
    sy_buffer_finish(&kernels);
}

static void put_assumed_prices(const struct sy_planning *planning, struct sy_buffer *buffer) {
    const char *before = "  assumed prices of a device per hour:";
    bool any = false;
    for (uint32_t c = 0; c < planning->system.class_count; c++) {
        if (!(planning->priced & 1u << c)) {
            sy_print(buffer, "%s %s %.3g", any ? "," : before, planning->system.classes[c].name,
                     planning->system.classes[c].price_per_hour);
            any = true;
        }
    }
    sy_print(buffer, any ? "; --price CLASS=X changes them\n" : "");
}

static void put_plan(const struct sy_planning *planning, bool bold, struct sy_buffer *buffer) {
    struct sy_plan_part parts[SY_PLAN_STAGE_MAX];
    struct sy_table table;
    sy_plan_parts(&planning->problem, &planning->plan, parts);
    sy_print(buffer, "\nPlan: ");
    put_plan_text(planning, &planning->plan, buffer);
    sy_print(buffer, "\n");
    sy_table_init(&table,
                  (const char *const[]){"stage", "kernels", "devices", "compute", "transfer",
                                        "per item", "of the period", ""},
                  "lllrrrrl");
    for (uint32_t i = 0; i < planning->plan.stage_count; i++) {
        put_stage(planning, parts, i, &table);
    }
    sy_table_write(&table, 2, bold, buffer);
    sy_table_legend(
        "compute, transfer: time for one item on one device or group of devices; per item: divided "
        "by the devices that take turns; of the period: share of the time between two items.",
        2, buffer);
    double least_ns = busiest_ns(planning, parts, 0);
    if (planning->plan.lane_count == 1 &&
        planning->plan.outcome.period_ns > least_ns * (1 + 1e-9)) {
        sy_print(buffer, "  (one item every %s instead of every %s, to keep the power limit)\n",
                 sy_units_time(planning->plan.outcome.period_ns).text,
                 sy_units_time(least_ns).text);
    }
    sy_print(buffer, "\n");
    sy_table_init(
        &table,
        (const char *const[]){"throughput", "latency", "energy/item", "power", "money/item"},
        "rrrrr");
    put_outcome(&table, &planning->plan.outcome);
    sy_table_write(&table, 2, bold, buffer);
    put_assumed_prices(planning, buffer);
}

/* --- what it rests on ---------------------------------------------------------------------------
 */
static void put_basis(const struct sy_estimate *estimate, bool watts, struct sy_table *table) {
    switch (sy_basis_of(estimate)) {
    case SY_BASIS_MEASURED:
        sy_table_cell(table, "measured, %llu sample%s", (unsigned long long)estimate->sample_count,
                      estimate->sample_count == 1 ? "" : "s");
        break;
    case SY_BASIS_MODEL:
        sy_table_cell(table, "a model, %llu point%s; not measured",
                      (unsigned long long)estimate->sample_count,
                      estimate->sample_count == 1 ? "" : "s");
        break;
    default:
        sy_table_cell(table, "a guess from peak performance");
        break;
    }
    sy_table_cell(table, "%s",
                  !watts                                    ? "assumed"
                  : sy_basis_of(estimate) == SY_BASIS_MODEL ? "model"
                                                            : "measured");
}

static void put_estimates(const struct sy_planning *planning, bool bold, struct sy_buffer *buffer) {
    const struct sy_plan_problem *problem = &planning->problem;
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"kernel", "on", "time", "+-", "from", "watts"},
                  "llrrll");
    for (uint32_t i = 0; i < planning->plan.stage_count; i++) {
        const struct sy_plan_stage *stage = &planning->plan.stages[i];
        const struct sy_plan_shape *shape = &problem->shapes[stage->shape];
        const char *name = problem->classes[shape->class_index].name;
        for (uint32_t k = 0; k < problem->kernel_count; k++) {
            if (!(stage->kernels >> k & 1)) {
                continue;
            }
            const struct sy_estimate *estimate = sy_planning_estimate(planning, k, stage->shape);
            sy_table_cell(&table, "%s", problem->kernels[k].name);
            if (shape->width > 1) {
                sy_table_cell(&table, "%s:%u", name, shape->width);
            } else {
                sy_table_cell(&table, "%s", name);
            }
            sy_table_cell(
                &table, "%s",
                sy_units_time(problem->time_ns[k * problem->shape_count + stage->shape]).text);
            sy_table_cell(&table, "%.0f %%", 100 * sy_planning_spread(estimate));
            put_basis(estimate, sy_planning_has_watts(planning, k, shape->class_index), &table);
        }
    }
    sy_print(buffer, "\nWhere the times of the plan come from:\n");
    sy_table_write(&table, 2, bold, buffer);
    sy_table_legend(
        "+-: one standard deviation; from: what the time is based on; watts: power above idle.", 2,
        buffer);
    sy_print(buffer, "  all ");
    sy_planning_caveat(planning, buffer);
    sy_print(buffer, "\n");
}

/* --- constraints --------------------------------------------------------------------------------
 */
static void put_without(enum sy_plan_objective objective, const struct sy_plan_outcome *without,
                        struct sy_table *table) {
    struct sy_units rate = sy_planning_rate(without->period_ns);
    switch (objective) {
    case SY_PLAN_LATENCY:
        sy_table_cell(table, "%s without it", sy_units_time(without->latency_ns).text);
        break;
    case SY_PLAN_ENERGY:
        sy_table_cell(table, "%s without it", sy_planning_joules(without->energy_joules).text);
        break;
    case SY_PLAN_MONEY:
        sy_table_cell(table, "%.3g without it", without->money);
        break;
    case SY_PLAN_BALANCED:
        sy_table_cell(table, "%s, %s without it", sy_planning_joules(without->energy_joules).text,
                      rate.text);
        break;
    default:
        sy_table_cell(table, "%s without it", rate.text);
        break;
    }
}

static void put_price(const struct sy_planning *planning, uint32_t i, struct sy_table *table) {
    const struct sy_planning_price *price = &planning->prices[i];
    static const char *const what[SY_PLAN_OBJECTIVE_COUNT] = {"throughput", "latency", "energy",
                                                              "money", "energy * time"};
    sy_table_cell(table, "%s", planning->constraints.items[i].text);
    if (!price->known) {
        sy_table_cell(table, "unknown: there is no plan without it|%s", "");
    } else if (price->ratio <= 1 + 1e-9) {
        sy_table_cell(table, "costs nothing|%s", "");
    } else {
        if (price->ratio < 1.05) {
            sy_table_cell(table, "costs %.2g %% %s", 100 * (price->ratio - 1),
                          what[planning->objective]);
        } else {
            sy_table_cell(table, "costs %.3gx %s", price->ratio, what[planning->objective]);
        }
        put_without(planning->objective, &price->plan.outcome, table);
    }
}

static void put_prices(const struct sy_planning *planning, bool bold, struct sy_buffer *buffer) {
    if (planning->constraints.count == 0) {
        return;
    }
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"constraint", "what it costs", ""}, "lll");
    for (uint32_t i = 0; i < planning->constraints.count; i++) {
        put_price(planning, i, &table);
    }
    sy_print(buffer, "\nWhat each constraint costs:\n");
    sy_table_write(&table, 2, bold, buffer);
}

/* --- plans of the user's own --------------------------------------------------------------------
 */
static void put_beside(const struct sy_planning *planning, bool bold, struct sy_buffer *buffer) {
    if (planning->beside_count == 0) {
        return;
    }
    struct sy_table table;
    double value = sy_plan_value(planning->objective, &planning->plan.outcome);
    sy_table_init(&table,
                  (const char *const[]){"throughput", "latency", "energy/item", "power",
                                        "money/item", "is worse by", "", "plan"},
                  "rrrrrrll");
    for (uint32_t i = 0; i < planning->beside_count; i++) {
        const struct sy_planning_beside *beside = &planning->beside[i];
        put_outcome(&table, &beside->plan.outcome);
        double ratio = sy_plan_value(planning->objective, &beside->plan.outcome) / value;
        sy_table_cell(&table, isfinite(ratio) ? "%.3gx" : "-", ratio);
        sy_table_cell(&table, "%s", beside->within ? "" : "breaks a constraint");
        put_plan_cell(planning, &beside->plan, &table);
    }
    sy_print(buffer, "\nYour plans, compared in %s:\n",
             sy_plan_objective_name(planning->objective));
    sy_table_write(&table, 2, bold, buffer);
}

/* --- the front ----------------------------------------------------------------------------------
 */
static const char *const best_names[] = {"most throughput", "least latency", "least energy",
                                         "least money"};

uint32_t sy_planning_best(const struct sy_planning *planning, uint32_t which) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < planning->front_count; i++) {
        if (sy_planning_figure(&planning->front[i], which) <
            sy_planning_figure(&planning->front[best], which)) {
            best = i;
        }
    }
    return best;
}

const char *sy_planning_best_name(uint32_t which) {
    return best_names[which];
}

bool sy_planning_is_chosen(const struct sy_planning *planning, const struct sy_plan *plan) {
    bool same = plan->stage_count == planning->plan.stage_count && planning->plan.lane_count == 1;
    for (uint32_t k = 0; k < SY_PLANNING_FIGURES && same; k++) {
        same = fabs(sy_planning_figure(plan, k) - sy_planning_figure(&planning->plan, k)) <=
               1e-9 * fabs(sy_planning_figure(&planning->plan, k));
    }
    return same;
}

/* The ends, the chosen one, and others at even steps. */
static void choose_rows(const struct sy_planning *planning, bool *shown) {
    uint32_t count = planning->front_count, rows = 0;
    bool all = planning->args->front || count <= FRONT_ROWS;
    for (uint32_t i = 0; i < count; i++) {
        shown[i] = all || sy_planning_is_chosen(planning, &planning->front[i]);
    }
    for (uint32_t k = 0; k < SY_PLANNING_FIGURES && count; k++) {
        shown[sy_planning_best(planning, k)] = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        rows += shown[i];
    }
    for (uint32_t i = 0; i < FRONT_ROWS && rows < FRONT_ROWS && !all; i++) {
        uint32_t at = (uint32_t)((uint64_t)i * (count - 1) / (FRONT_ROWS - 1));
        rows += !shown[at];
        shown[at] = true;
    }
}

static void put_front_row(const struct sy_planning *planning, uint32_t i, struct sy_table *table) {
    char best[96] = "";
    for (uint32_t k = 0; k < SY_PLANNING_FIGURES; k++) {
        if (sy_planning_best(planning, k) == i) {
            size_t used = strlen(best);
            snprintf(best + used, sizeof best - used, "%s%s", used ? ", " : "", best_names[k]);
        }
    }
    sy_table_cell(table, "%s", sy_planning_is_chosen(planning, &planning->front[i]) ? "*" : "");
    put_outcome(table, &planning->front[i].outcome);
    put_plan_cell(planning, &planning->front[i], table);
    sy_table_cell(table, "%s", best);
}

static void put_front(const struct sy_planning *planning, bool bold, struct sy_buffer *buffer) {
    if (planning->front_count == 0) {
        sy_print(buffer,
                 "\nPareto front: no single pipeline keeps the constraints; only several side "
                 "by side do.\n");
        return;
    }
    bool *shown = calloc(planning->front_count + 1u, sizeof *shown);
    struct sy_table table;
    uint32_t rows = 0;
    if (!shown) {
        buffer->failed = true;
        return;
    }
    choose_rows(planning, shown);
    sy_table_init(&table,
                  (const char *const[]){"", "throughput", "latency", "energy/item", "power",
                                        "money/item", "plan", ""},
                  "lrrrrrll");
    for (uint32_t i = 0; i < planning->front_count; i++) {
        if (shown[i]) {
            put_front_row(planning, i, &table);
            rows++;
        }
    }
    sy_print(buffer,
             "\nPareto front: %u plan%s that no other plan beats in throughput, latency, "
             "energy and money",
             planning->front_count, planning->front_count == 1 ? "" : "s");
    if (rows < planning->front_count) {
        sy_print(buffer, "; %u shown, --front shows all", rows);
    }
    sy_print(buffer, "%s:\n",
             planning->plan.lane_count > 1
                 ? " (each a single pipeline: one alone, not side by side)"
                 : "");
    sy_table_write(&table, 2, bold, buffer);
    free(shown);
}

int sy_planning_print_table(const struct sy_planning *planning) {
    struct sy_buffer buffer = {0};
    bool bold = sy_message_colour(stdout);
    put_head(planning, &buffer);
    put_plan(planning, bold, &buffer);
    put_estimates(planning, bold, &buffer);
    put_prices(planning, bold, &buffer);
    put_beside(planning, bold, &buffer);
    put_front(planning, bold, &buffer);
    return sy_output(&buffer);
}
