/* SPDX-License-Identifier: Apache-2.0
 *
 * json: the answers as one object, "symph-plan-1"; man/symph-plan.1.scd describes it.
 */
#include "cli/plan/plan.h"

#include "base/json.h"
#include <math.h>

static void member_bool(struct sy_json_writer *writer, const char *key, bool value) {
    sy_json_print(writer, "%s: %d", key, value);
}

static void put_outcome(struct sy_json_writer *writer, const struct sy_plan_outcome *outcome) {
    sy_json_print(writer,
                  "throughput_per_s: %g, period_ns: %g, latency_ns: %g, energy_joules: %g, "
                  "power_watts: %g, money: %g",
                  1e9 / outcome->period_ns, outcome->period_ns, outcome->latency_ns,
                  outcome->energy_joules, outcome->power_watts, outcome->money);
}

static void put_text(const struct sy_plan_problem *problem, const struct sy_plan *plan,
                     struct sy_json_writer *writer) {
    struct sy_buffer text = {0};
    sy_plan_write(problem, plan, &text);
    sy_buffer_append(&text, "", 1);
    sy_json_member_string(writer, "text", text.failed ? "" : text.text);
    sy_buffer_finish(&text);
}

static void put_stage_kernels(const struct sy_planning *planning, const struct sy_plan_stage *stage,
                              struct sy_json_writer *writer) {
    const struct sy_plan_problem *problem = &planning->problem;
    sy_json_print(writer, "kernels: [");
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        if (!(stage->kernels >> k & 1)) {
            continue;
        }
        const struct sy_estimate *estimate = sy_planning_estimate(planning, k, stage->shape);
        sy_json_print(
            writer, "{kernel: %s, time_ns: %g, spread_ratio: %g, basis: %s, samples: %llu",
            problem->kernels[k].name, problem->time_ns[k * problem->shape_count + stage->shape],
            sy_planning_spread(estimate), sy_basis_name(sy_basis_of(estimate)),
            (unsigned long long)estimate->sample_count);
        uint32_t class_index = problem->shapes[stage->shape].class_index;
        bool known = sy_planning_has_watts(planning, k, class_index);
        sy_json_print(writer, "watts: %g}", known ? estimate->watts : NAN);
    }
    sy_json_close(writer, ']');
}

/* A plan with its stages. */
static void put_plan(const struct sy_planning *planning, const struct sy_plan *plan,
                     struct sy_json_writer *writer) {
    struct sy_plan_part parts[SY_PLAN_STAGE_MAX];
    sy_plan_parts(&planning->problem, plan, parts);
    put_text(&planning->problem, plan, writer);
    put_outcome(writer, &plan->outcome);
    sy_json_print(writer, "stages: [");
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct sy_plan_stage *stage = &plan->stages[i];
        const struct sy_plan_shape *shape = &planning->problem.shapes[stage->shape];
        sy_json_print(writer,
                      "{class: %s, width: %u, replicas: %u, lane: %u, compute_ns: %g, "
                      "transfer_ns: %g, joules: %g",
                      planning->problem.classes[shape->class_index].name, shape->width,
                      stage->replicas, stage->lane, parts[i].compute_ns, parts[i].transfer_ns,
                      parts[i].joules);
        put_stage_kernels(planning, stage, writer);
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
}

/* --- what was asked -----------------------------------------------------------------------------
 */
static void put_machine(const struct sy_planning *planning, struct sy_json_writer *writer) {
    sy_json_print(writer, "machine: {spec: %s, classes: [", planning->args->machine);
    for (uint32_t k = 0; k < planning->system.class_count; k++) {
        const struct sy_system_class *c = &planning->system.classes[k];
        sy_json_print(writer,
                      "{name: %s, kind: %s, devices: %u, busy: %u, slowdown: %g, others_use: %g, "
                      "price_per_hour: %g, idle_watts: %g, busy_watts: %g}",
                      c->name, sy_device_kind_name(c->kind), c->device_count, c->busy_count,
                      c->slowdown, planning->others[k].known ? planning->others[k].used : NAN,
                      c->price_per_hour, c->idle_watts, c->busy_watts);
    }
    sy_json_print(writer, "]}");
}

static void put_asked(const struct sy_planning *planning, struct sy_json_writer *writer) {
    const struct sy_pipeline *pipeline = planning->pipeline;
    sy_json_member_string(writer, "pipeline", pipeline->name);
    put_machine(planning, writer);
    sy_json_print(writer, "features: {");
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        sy_json_member_number(writer, pipeline->features[i].name, planning->values[i]);
    }
    sy_json_print(writer, "}, objective: %s", sy_plan_objective_name(planning->objective));
    member_bool(writer, "overlap", planning->problem.overlap);
    member_bool(writer, "side_by_side", planning->args->side_by_side);
}

static void put_times(const struct sy_planning *planning, struct sy_json_writer *writer) {
    uint32_t counts[SY_BASIS_COUNT];
    sy_planning_bases(planning, counts);
    sy_json_print(writer,
                  "times: {samples: %u, samples_used: %u, samples_of_models: %u, "
                  "estimates_measured: %u, estimates_of_models: %u, estimates_guessed: %u}",
                  planning->times.sample_count, planning->times.used_count,
                  planning->times.model_count, counts[SY_BASIS_MEASURED], counts[SY_BASIS_MODEL],
                  counts[SY_BASIS_ROOFLINE]);
}

/* --- the answers --------------------------------------------------------------------------------
 */
static void put_constraints(const struct sy_planning *planning, struct sy_json_writer *writer) {
    sy_json_print(writer, "constraints: [");
    for (uint32_t i = 0; i < planning->constraints.count; i++) {
        const struct sy_planning_price *price = &planning->prices[i];
        sy_json_print(writer,
                      "{text: %s, cost_ratio: %g, without:", planning->constraints.items[i].text,
                      price->known ? price->ratio : NAN);
        if (price->known) {
            sy_json_open(writer, '{');
            put_text(&price->problem, &price->plan, writer);
            put_outcome(writer, &price->plan.outcome);
            sy_json_close(writer, '}');
        } else {
            sy_json_put_null(writer);
        }
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
}

static void put_beside(const struct sy_planning *planning, struct sy_json_writer *writer) {
    double value = sy_plan_value(planning->objective, &planning->plan.outcome);
    sy_json_print(writer, "beside: [");
    for (uint32_t i = 0; i < planning->beside_count; i++) {
        const struct sy_planning_beside *beside = &planning->beside[i];
        sy_json_print(writer, "{worse_ratio: %g",
                      sy_plan_value(planning->objective, &beside->plan.outcome) / value);
        member_bool(writer, "within", beside->within);
        put_plan(planning, &beside->plan, writer);
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
}

static void put_front(const struct sy_planning *planning, struct sy_json_writer *writer) {
    sy_json_print(writer, "front: [");
    for (uint32_t i = 0; i < planning->front_count; i++) {
        sy_json_open(writer, '{');
        put_text(&planning->problem, &planning->front[i], writer);
        put_outcome(writer, &planning->front[i].outcome);
        member_bool(writer, "chosen", sy_planning_is_chosen(planning, &planning->front[i]));
        sy_json_close(writer, '}');
    }
    sy_json_close(writer, ']');
}

int sy_planning_print_json(const struct sy_planning *planning) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s", "symph-plan-1");
    put_asked(planning, &writer);
    sy_json_print(&writer, "plan: {");
    put_plan(planning, &planning->plan, &writer);
    sy_json_close(&writer, '}');
    put_times(planning, &writer);
    put_constraints(planning, &writer);
    put_beside(planning, &writer);
    put_front(planning, &writer);
    sy_json_close(&writer, '}');
    return sy_output(&writer.buffer);
}
