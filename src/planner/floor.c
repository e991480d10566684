/* SPDX-License-Identifier: Apache-2.0
 *
 * Floors: the least period, joules and latency that the rest of a plan needs, each on its own.
 *
 * From the last cut to the first: a state is (cut, devices left, form of the stage before), its
 * value the best over all next stages. Exact for one quantity alone, so that the least period and
 * the least latency need no other search; for several at once a bound below.
 */
#include "planner/search.h"
#include <errno.h>

static double *rows_of(const struct sy_planner *planner, double *floor, uint32_t cut) {
    return floor + (size_t)cut * planner->space.use_count * planner->space.form_count;
}

/* What the forms before cost in the way to form `to`. */
static void measure_ways(struct sy_planner *planner, uint32_t cut, uint32_t to, uint32_t columns) {
    const struct sy_plan_space *space = &planner->space;
    const struct sy_plan_work *work = &space->work[to];
    double bytes = space->cuts[cut].bytes;
    for (uint32_t f = 0; f < columns; f++) {
        const struct sy_plan_way *way = sy_plan_way_to(space, cut, f, to);
        double transfer_ns = sy_plan_way_ns(way, bytes) + work->out_ns;
        planner->sum_ns[f] = work->compute_ns + transfer_ns;
        planner->stage_ns[f] =
            space->problem->overlap ? sy_most(work->compute_ns, transfer_ns) : planner->sum_ns[f];
        planner->way_joules[f] = work->joules + bytes * way->joules_per_byte;
    }
}

struct step {
    uint32_t from, to, form, devices, columns;
};

/* Over all numbers of devices left that have enough: row = min(row, max(cost, then)). */
static void lower_max(struct sy_planner *planner, const struct step *step, double *floor,
                      const double *cost) {
    const struct sy_plan_space *space = &planner->space;
    const struct sy_plan_form *form = &space->forms[step->form];
    uint32_t forms = space->form_count, shift = step->devices * space->stride[form->class_index];
    bool last = step->to + 1 == space->cut_count;
    const double *then = rows_of(planner, floor, step->to) + step->form;
    double *restrict rows = rows_of(planner, floor, step->from);
    for (uint32_t left = shift; left < space->use_count; left++) {
        if (space->uses[left].counts[form->class_index] < step->devices) {
            continue;
        }
        double rest = last ? 0 : then[(left - shift) * forms];
        double *restrict row = rows + left * forms;
        for (uint32_t f = 0; f < step->columns; f++) {
            row[f] = sy_least(row[f], sy_most(cost[f], rest));
        }
    }
}

/* The same with a sum in the place of the maximum. */
static void lower_sum(struct sy_planner *planner, const struct step *step, double *floor,
                      const double *cost) {
    const struct sy_plan_space *space = &planner->space;
    const struct sy_plan_form *form = &space->forms[step->form];
    uint32_t forms = space->form_count, shift = step->devices * space->stride[form->class_index];
    bool last = step->to + 1 == space->cut_count;
    const double *then = rows_of(planner, floor, step->to) + step->form;
    double *restrict rows = rows_of(planner, floor, step->from);
    for (uint32_t left = shift; left < space->use_count; left++) {
        if (space->uses[left].counts[form->class_index] < step->devices) {
            continue;
        }
        double rest = last ? 0 : then[(left - shift) * forms];
        double *restrict row = rows + left * forms;
        for (uint32_t f = 0; f < step->columns; f++) {
            row[f] = sy_least(row[f], cost[f] + rest);
        }
    }
}

static void lower_by(struct sy_planner *planner, struct step step) {
    const struct sy_plan_form *form = &planner->space.forms[step.form];
    measure_ways(planner, step.from, step.form, step.columns);
    step.devices = form->width;
    if (planner->floor_latency) {
        lower_sum(planner, &step, planner->floor_latency, planner->sum_ns);
    }
    if (planner->floor_joules) {
        lower_sum(planner, &step, planner->floor_joules, planner->way_joules);
    }
    for (uint32_t r = 1; planner->floor_period && r <= form->replicas_max; r++) {
        for (uint32_t f = 0; f < step.columns; f++) {
            planner->scaled_ns[f] = planner->stage_ns[f] / r;
        }
        step.devices = r * form->width;
        lower_max(planner, &step, planner->floor_period, planner->scaled_ns);
    }
}

static void forget(const struct sy_planner *planner, double *floor, uint32_t cut) {
    double *rows = floor ? rows_of(planner, floor, cut) : NULL;
    for (uint32_t i = 0; rows && i < planner->space.use_count * planner->space.form_count; i++) {
        rows[i] = INFINITY;
    }
}

static int lay_out(struct sy_planner *planner) {
    const struct sy_plan_space *space = &planner->space;
    size_t states = (size_t)space->cut_count * space->use_count * space->form_count;
    size_t size = states * (3 * sizeof(double) + sizeof(struct sy_plan_cell)) +
                  4 * space->form_count * sizeof(double);
    size += 8 * 64; /* alignment of eight tables */
    if (sy_plan_block_reserve(&planner->block, size)) {
        return -ENOMEM;
    }
    double **scratch[] = {&planner->stage_ns, &planner->sum_ns, &planner->scaled_ns,
                          &planner->way_joules};
    for (size_t i = 0; i < SY_COUNT(scratch); i++) {
        *scratch[i] = sy_plan_block_take(&planner->block, space->form_count, sizeof(double));
    }
    double **floors[] = {&planner->floor_period, &planner->floor_joules, &planner->floor_latency};
    const bool wanted[] = {planner->need.period, planner->need.joules, planner->need.latency};
    for (size_t i = 0; i < SY_COUNT(floors); i++) {
        *floors[i] = wanted[i] ? sy_plan_block_take(&planner->block, states, sizeof(double)) : NULL;
    }
    planner->cells = sy_plan_block_take(&planner->block, states, sizeof(struct sy_plan_cell));
    return 0;
}

int sy_plan_floors(struct sy_planner *planner) {
    const struct sy_plan_space *space = &planner->space;
    if (lay_out(planner)) {
        return -ENOMEM;
    }
    for (uint32_t from = space->cut_count - 1; from-- > 0;) {
        forget(planner, planner->floor_period, from);
        forget(planner, planner->floor_joules, from);
        forget(planner, planner->floor_latency, from);
        for (uint32_t to = from + 1; to < space->cut_count; to++) {
            if (!sy_plan_nested(space, from, to) || !sy_plan_space_work(space, from, to)) {
                continue;
            }
            for (uint32_t f = 0; f < space->form_count; f++) {
                if (space->work[f].possible) {
                    lower_by(planner, (struct step){from, to, f, 0, from ? space->form_count : 1});
                }
            }
        }
    }
    return 0;
}

/* --- back to plans -----------------------------------------------------------------------------
 */
struct trail {
    const double *floor;
    uint32_t cut, left, before; /* where we are */
    struct sy_plan_stage stage;
    uint32_t next, next_left, form;
};

static bool is_step(struct sy_planner *planner, struct trail *trail, uint32_t to, uint32_t form,
                    uint32_t replicas) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t forms = space->form_count, shift = replicas * space->forms[form].step;
    size_t state = ((size_t)to * space->use_count + trail->left - shift) * forms + form;
    double rest = to + 1 == space->cut_count ? 0 : trail->floor[state];
    double value = trail->floor == planner->floor_period
                       ? sy_most(planner->stage_ns[trail->before] / replicas, rest)
                   : trail->floor == planner->floor_joules
                       ? planner->way_joules[trail->before] + rest
                       : planner->sum_ns[trail->before] + rest;
    size_t here = ((size_t)trail->cut * space->use_count + trail->left) * forms + trail->before;
    if (value != trail->floor[here]) {
        return false;
    }
    trail->stage = (struct sy_plan_stage){.kernels = space->cuts[to].kernels &
                                                     ~space->cuts[trail->cut].kernels,
                                          .shape = space->forms[form].shape,
                                          .replicas = replicas};
    trail->next = to;
    trail->next_left = trail->left - shift;
    trail->form = form;
    return true;
}

static bool find_step(struct sy_planner *planner, struct trail *trail) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t columns = trail->cut ? space->form_count : 1;
    for (uint32_t to = trail->cut + 1; to < space->cut_count; to++) {
        if (!sy_plan_nested(space, trail->cut, to) || !sy_plan_space_work(space, trail->cut, to)) {
            continue;
        }
        for (uint32_t f = 0; f < space->form_count; f++) {
            const struct sy_plan_form *form = &space->forms[f];
            uint32_t most = space->uses[trail->left].counts[form->class_index] / form->width;
            if (!space->work[f].possible || !most) {
                continue;
            }
            measure_ways(planner, trail->cut, f, columns);
            most = trail->floor == planner->floor_period ? most : 1;
            for (uint32_t r = 1; r <= most; r++) {
                if (is_step(planner, trail, to, f, r)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool sy_plan_follow(struct sy_planner *planner, const double *floor, uint32_t left,
                    struct sy_plan *ret_plan) {
    const struct sy_plan_space *space = &planner->space;
    struct trail trail = {.floor = floor, .left = left};
    if (!(floor[(size_t)left * space->form_count] < INFINITY)) {
        return false;
    }
    ret_plan->stage_count = 0;
    ret_plan->lane_count = 1;
    while (trail.cut + 1 < space->cut_count) {
        SY_ASSERT(find_step(planner, &trail)); /* the value was made of one of the steps */
        ret_plan->stages[ret_plan->stage_count++] = trail.stage;
        trail.cut = trail.next;
        trail.left = trail.next_left;
        trail.before = trail.form;
    }
    return true;
}
