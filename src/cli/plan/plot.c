/* SPDX-License-Identifier: Apache-2.0
 *
 * plot: the front as a picture: throughput against energy per item, coloured by the classes
 * of devices that a plan uses.
 *
 * In: a struct sy_planning with its answers. Out: an SVG file. Invariant: the chosen plan is marked
 * and what the times rest on is written on it.
 */
#include "cli/plan/plan.h"

#include "trace/trace.h"
#include <math.h>
#include <string.h>

#define GROUP_MAX 16u

struct picture {
    const struct sy_planning *planning;
    struct sy_scatter_point *points;
    uint32_t count;
    const char *groups[GROUP_MAX];
    uint32_t group_count;
    double x_scale;
    bool failed;
};

/* The buffer's text, kept as long as the planning. */
static const char *keep(struct picture *picture, struct sy_buffer *buffer) {
    const char *text =
        buffer->failed ? NULL
                       : sy_arena_strndup(picture->planning->arena, buffer->text, buffer->length);
    picture->failed = picture->failed || !text;
    sy_buffer_finish(buffer);
    return text ? text : "";
}

static uint32_t group_of(struct picture *picture, const struct sy_plan *plan) {
    struct sy_buffer mix = {0};
    sy_planning_mix(picture->planning, plan, &mix);
    const char *name = keep(picture, &mix);
    uint32_t g = sy_index_of(name, picture->groups, picture->group_count, sizeof(char *));
    if (g != SY_NONE || picture->group_count == GROUP_MAX) {
        return g != SY_NONE ? g : GROUP_MAX - 1;
    }
    picture->groups[picture->group_count] = name;
    return picture->group_count++;
}

static const char *title_of(struct picture *picture, const struct sy_plan *plan) {
    struct sy_buffer text = {0};
    sy_buffer_printf(
        &text,
        "%s, latency %s, %s per item, %.4g W: ", sy_planning_rate(plan->outcome.period_ns).text,
        sy_units_time(plan->outcome.latency_ns).text,
        sy_planning_joules(plan->outcome.energy_joules).text, plan->outcome.power_watts);
    sy_plan_write(&picture->planning->problem, plan, &text);
    return keep(picture, &text);
}

static void add_point(struct picture *picture, const struct sy_plan *plan, const char *label,
                      bool marked) {
    picture->points[picture->count++] =
        (struct sy_scatter_point){.x = plan->outcome.energy_joules / picture->x_scale,
                                  .y = 1e9 / plan->outcome.period_ns,
                                  .group = group_of(picture, plan),
                                  .title = title_of(picture, plan),
                                  .label = label,
                                  .marked = marked};
}

/* What a plan of the front is best in, with the figure that the axes do not show. */
static const char *label_of(struct picture *picture, uint32_t index) {
    const struct sy_planning *planning = picture->planning;
    const struct sy_plan *plan = &planning->front[index];
    struct sy_buffer text = {0};
    bool money = planning->args->prices.count > 0;
    for (uint32_t k = 0; k < SY_PLANNING_FIGURES; k++) {
        /* Prices that nobody gave are assumed, and not worth a label. */
        if (sy_planning_best(planning, k) == index && (k != 3 || money)) {
            sy_buffer_printf(&text, "%s%s", text.length ? ", " : "", sy_planning_best_name(k));
        }
    }
    if (sy_planning_is_chosen(planning, plan)) {
        struct sy_buffer chosen = {0};
        sy_buffer_printf(&chosen, "chosen: ");
        sy_plan_write(&planning->problem, plan, &chosen);
        sy_buffer_finish(&text);
        return keep(picture, &chosen);
    }
    if (text.length == 0) {
        sy_buffer_finish(&text);
        return NULL;
    }
    sy_buffer_printf(&text, " (latency %s)", sy_units_time(plan->outcome.latency_ns).text);
    return keep(picture, &text);
}

static void choose_scale(struct picture *picture, const char **ret_unit) {
    double most = picture->planning->plan.outcome.energy_joules;
    for (uint32_t i = 0; i < picture->planning->front_count; i++) {
        most = fmax(most, picture->planning->front[i].outcome.energy_joules);
    }
    picture->x_scale = most >= 1 ? 1 : most >= 1e-3 ? 1e-3 : 1e-6;
    *ret_unit = most >= 1 ? "J" : most >= 1e-3 ? "mJ" : "uJ";
}

static void add_points(struct picture *picture) {
    const struct sy_planning *planning = picture->planning;
    bool chosen = false;
    for (uint32_t i = 0; i < planning->front_count; i++) {
        bool marked = !chosen && sy_planning_is_chosen(planning, &planning->front[i]);
        add_point(picture, &planning->front[i], label_of(picture, i), marked);
        chosen = chosen || marked;
    }
    if (!chosen) { /* side by side */
        add_point(picture, &planning->plan, "chosen", true);
    }
    for (uint32_t i = 0; i < planning->beside_count; i++) {
        struct sy_buffer text = {0};
        sy_buffer_printf(&text, "yours: %s", planning->beside[i].text);
        add_point(picture, &planning->beside[i].plan, keep(picture, &text), false);
    }
}

int sy_planning_write_plot(const struct sy_planning *planning) {
    struct picture picture = {.planning = planning};
    struct sy_buffer title = {0}, subtitle = {0}, x_label = {0}, svg = {0};
    const char *unit = NULL;
    picture.points =
        sy_need(sy_arena_alloc(planning->arena, planning->front_count + planning->beside_count + 1u,
                               sizeof *picture.points));
    choose_scale(&picture, &unit);
    add_points(&picture);
    sy_buffer_printf(&title, "%s: %u Pareto-optimal plans", planning->pipeline->name,
                     planning->front_count);
    sy_buffer_printf(&subtitle, "best for %s", sy_plan_objective_name(planning->objective));
    for (uint32_t i = 0; i < planning->constraints.count; i++) {
        sy_buffer_printf(&subtitle, "%s%s", i ? ", " : " with ",
                         planning->constraints.items[i].text);
    }
    sy_buffer_printf(&subtitle, "; ");
    sy_planning_caveat(planning, &subtitle);
    sy_buffer_printf(&x_label, "energy per item (%s), lower is better", unit);
    const struct sy_scatter scatter = {.title = keep(&picture, &title),
                                       .subtitle = keep(&picture, &subtitle),
                                       .x_label = keep(&picture, &x_label),
                                       .y_label = "items per second, higher is better",
                                       .groups = picture.groups,
                                       .group_count = picture.group_count,
                                       .points = picture.points,
                                       .count = picture.count};
    sy_scatter_write_svg(&scatter, &svg);
    svg.failed = svg.failed || picture.failed;
    int r = sy_output_file(planning->args->plot, &svg);
    sy_buffer_finish(&svg);
    return r;
}
