/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact search: labels (period, joules, latency) per state, those that no other beats.
 *
 * From the first cut to the last: the labels of a cut come from all cuts inside it. A label is
 * dropped if one of its state is nowhere worse; if with the floors of what is left it breaks a
 * bound; or if with them it cannot beat a whole plan that was found. All costs of a plan grow with
 * its labels' three numbers for given devices: what is dropped cannot lead to a better plan.
 * Period: never below the floor of the rest, so that labels that differ only below it are one.
 */
#include "planner/search.h"
#include <errno.h>
#include <string.h>

/* Where the labels of one stage go. */
struct target {
    uint32_t cut, use, form, replicas;
    double stage_ns, latency_ns, joules;              /* that the stage adds */
    double period_floor, latency_floor, joules_floor; /* of the rest */
    double idle_watts, price_per_s;
    bool last;
};

/* The least a label's plans can come to. */
struct hope {
    double period_ns, latency_ns, energy_joules, money;
};

static struct hope hope_of(const struct sy_planner *planner, const struct target *target,
                           const struct sy_plan_label *label) {
    double joules = label->joules + target->joules_floor;
    double period_ns =
        sy_plan_paced_ns(label->period_ns, joules, target->idle_watts, planner->bounds.power_watts);
    double period_s = period_ns * 1e-9;
    return (struct hope){period_ns, label->latency_ns + target->latency_floor,
                         joules + period_s * target->idle_watts, period_s * target->price_per_s};
}

static double value_of(const struct sy_planner *planner, const struct hope *hope) {
    switch (planner->objective) {
    case SY_PLAN_LATENCY:
        return hope->latency_ns;
    case SY_PLAN_ENERGY:
        return hope->energy_joules;
    case SY_PLAN_MONEY:
        return hope->money;
    case SY_PLAN_BALANCED:
        return hope->energy_joules * hope->period_ns;
    default:
        return hope->period_ns;
    }
}

static bool within(const struct sy_plan_bounds *bounds, const struct hope *hope) {
    return hope->period_ns <= bounds->period_ns && hope->latency_ns <= bounds->latency_ns &&
           hope->energy_joules <= bounds->energy_joules && hope->money <= bounds->money &&
           hope->period_ns < INFINITY;
}

/* Is there a plan that is nowhere worse? Those found are sorted by period. */
static bool is_beaten(const struct sy_planner *planner, const struct hope *hope) {
    double period_ns = hope->period_ns * (1 + SY_PLAN_SLACK);
    double latency_ns = hope->latency_ns * (1 + SY_PLAN_SLACK);
    double energy_joules = hope->energy_joules * (1 + SY_PLAN_SLACK);
    double money = hope->money * (1 + SY_PLAN_SLACK);
    const struct sy_plan_found *found = planner->found;
    for (uint32_t i = 0; i < planner->found_count && found[i].period_ns <= period_ns; i++) {
        if (found[i].latency_ns <= latency_ns && found[i].energy_joules <= energy_joules &&
            found[i].money <= money) {
            return true;
        }
    }
    return false;
}

static bool is_hopeless(const struct sy_planner *planner, const struct hope *hope) {
    if (!within(&planner->loose, hope)) {
        return true;
    }
    if (planner->mode == SY_PLAN_ALL) {
        return is_beaten(planner, hope);
    }
    return planner->mode == SY_PLAN_BEST && planner->found_count &&
           value_of(planner, hope) * (1 + SY_PLAN_SLACK) >= planner->found[0].value;
}

/* --- whole plans -------------------------------------------------------------------------------
 */
static void keep_in_front(struct sy_planner *planner, const struct sy_plan_found *new) {
    struct sy_plan_found *found = planner->found;
    uint32_t kept = 0, place = 0;
    for (uint32_t i = 0; i < planner->found_count; i++) {
        bool worse = new->period_ns <= found[i].period_ns &&new->latency_ns <=
                     found[i].latency_ns &&new->energy_joules <=
                     found[i].energy_joules &&new->money <= found[i].money;
        if (!worse) {
            found[kept++] = found[i];
            place += found[kept - 1].period_ns <= new->period_ns;
        }
    }
    memmove(found + place + 1, found + place, (kept - place) * sizeof *found);
    found[place] = *new;
    planner->found_count = kept + 1;
}

static int finish_plan(struct sy_planner *planner, const struct target *target,
                       const struct sy_plan_label *label, const struct hope *hope) {
    if (!within(&planner->bounds, hope)) {
        return 0;
    }
    struct sy_plan_found new = {hope->period_ns, hope->latency_ns,        hope->energy_joules,
                                hope->money,     value_of(planner, hope), label->parent,
                                label->form,     label->replicas};
    if (planner->mode == SY_PLAN_EACH_BUDGET) {
        struct sy_plan_found *best = &planner->found[target->use];
        *best = new.period_ns < best->period_ns ? new : *best;
        return 0;
    }
    if (sy_grow(&planner->found, &planner->found_capacity, planner->found_count + 1,
                sizeof *planner->found)) {
        return -ENOMEM;
    }
    if (planner->mode == SY_PLAN_BEST) {
        planner->found[0] = new;
        planner->found_count = 1;
    } else {
        keep_in_front(planner, &new);
    }
    return 0;
}

/* --- labels ------------------------------------------------------------------------------------
 */
/* Keeps the stack free of labels that another of it beats; it is sorted by period. */
static int push(struct sy_plan_stack *stack, const struct sy_plan_label *new) {
    struct sy_plan_label *labels = stack->labels;
    uint32_t place = 0;
    for (; place < stack->count && labels[place].period_ns <= new->period_ns; place++) {
        if (labels[place].joules <= new->joules && labels[place].latency_ns <= new->latency_ns) {
            return 0;
        }
    }
    uint32_t worse = place;
    while (worse < stack->count &&
           !(new->joules <= labels[worse].joules &&new->latency_ns <= labels[worse].latency_ns)) {
        worse++;
    }
    if (worse == stack->count) {
        if (sy_grow(&stack->labels, &stack->capacity, stack->count + 1, sizeof *labels)) {
            return -ENOMEM;
        }
        labels = stack->labels;
        stack->count++;
    } else { /* its place is free; so are those of others that are worse */
        uint32_t kept = worse;
        for (uint32_t i = worse + 1; i < stack->count; i++) {
            if (!(new->joules <= labels[i].joules &&new->latency_ns <= labels[i].latency_ns)) {
                labels[++kept] = labels[i];
            }
        }
        stack->count = kept + 1;
    }
    memmove(labels + place + 1, labels + place, (worse - place) * sizeof *labels);
    labels[place] = *new;
    return 0;
}

static int spread(struct sy_planner *planner, const struct target *target, uint32_t first,
                  uint32_t count) {
    struct sy_plan_stack *stack =
        &planner->stacks[target->use * planner->space.form_count + target->form];
    const struct sy_plan_need need = planner->need;
    for (uint32_t i = first; i < first + count; i++) {
        const struct sy_plan_label *old = &planner->labels[i];
        struct sy_plan_label new = {
            .period_ns = need.period ? sy_most(sy_most(old->period_ns, target->stage_ns),
                                               target->period_floor)
                                     : 0,
            .joules = need.joules ? old->joules + target->joules : 0,
            .latency_ns = need.latency ? old->latency_ns + target->latency_ns : 0,
            .parent = i,
            .cut = (uint16_t)target->cut,
            .form = (uint8_t)target->form,
            .replicas = (uint8_t)target->replicas};
        struct hope hope = hope_of(planner, target, &new);
        if (is_hopeless(planner, &hope)) {
            continue;
        }
        if (target->last ? finish_plan(planner, target, &new, &hope) : push(stack, &new)) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* False: nothing comes of it. */
static bool set_floors(const struct sy_planner *planner, struct target *target) {
    const struct sy_plan_space *space = &planner->space;
    const struct sy_plan_use *use = &space->uses[target->use];
    target->idle_watts = use->idle_watts;
    target->price_per_s = use->price_per_s;
    if (target->last) {
        target->period_floor = target->latency_floor = target->joules_floor = 0;
        return true;
    }
    uint32_t left = space->use_count - 1 - target->use;
    size_t state = ((size_t)target->cut * space->use_count + left) * space->row;
    state += target->form;
    target->period_floor = planner->floor_period ? planner->floor_period[state] : 0;
    target->joules_floor = planner->floor_joules ? planner->floor_joules[state] : 0;
    target->latency_floor = planner->floor_latency ? planner->floor_latency[state] : 0;
    return target->period_floor < INFINITY && target->latency_floor < INFINITY &&
           target->joules_floor < INFINITY;
}

/* Labels of one cell through one form, with all numbers of replicas. */
static int extend_cell(struct sy_planner *planner, uint32_t from, uint32_t before, uint32_t use,
                       struct target target) {
    const struct sy_plan_space *space = &planner->space;
    const struct sy_plan_form *form = &space->forms[target.form];
    const struct sy_plan_work *work = &space->work[target.form];
    const struct sy_plan_way *way = sy_plan_way_to(space, from, before, target.form);
    const struct sy_plan_cell *cell =
        &planner->cells[((size_t)from * space->use_count + use) * space->form_count + before];
    double bytes = space->cuts[from].bytes;
    double transfer_ns = sy_plan_way_ns(way, bytes) + work->out_ns;
    target.latency_ns = work->compute_ns + transfer_ns;
    double stage_ns =
        space->problem->overlap ? sy_most(work->compute_ns, transfer_ns) : target.latency_ns;
    target.joules = work->joules + bytes * way->joules_per_byte;
    uint32_t used = space->uses[use].counts[form->class_index];
    uint32_t devices = space->problem->classes[form->class_index].device_count;
    uint32_t most = planner->need.period ? (devices - used) / form->width : 1;
    for (uint32_t r = 1; r <= most; r++) {
        target.replicas = r;
        target.use = use + r * form->step;
        target.stage_ns = stage_ns / r;
        if (set_floors(planner, &target) && spread(planner, &target, cell->first, cell->count)) {
            return -ENOMEM;
        }
    }
    return 0;
}

static int extend(struct sy_planner *planner, uint32_t from, uint32_t to) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t forms = space->form_count, columns = from ? forms : 1;
    if (!sy_plan_space_work(&planner->space, from, to)) {
        return 0;
    }
    const struct sy_plan_cell *cells = planner->cells + (size_t)from * space->use_count * forms;
    for (uint32_t use = 0; use < space->use_count; use++) {
        for (uint32_t before = 0; before < columns; before++) {
            for (uint32_t f = 0; cells[use * forms + before].count && f < forms; f++) {
                const struct sy_plan_form *form = &space->forms[f];
                uint32_t used = space->uses[use].counts[form->class_index];
                uint32_t devices = space->problem->classes[form->class_index].device_count;
                struct target target = {.cut = to, .form = f, .last = to + 1 == space->cut_count};
                if (space->work[f].possible && used + form->width <= devices &&
                    extend_cell(planner, from, before, use, target)) {
                    return -ENOMEM;
                }
            }
        }
    }
    return 0;
}

/* The labels of a cut are all there: they get their place for good. */
static int settle(struct sy_planner *planner, uint32_t cut) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t cells = space->use_count * space->form_count;
    for (uint32_t i = 0; i < cells; i++) {
        struct sy_plan_stack *stack = &planner->stacks[i];
        uint32_t first = planner->label_count;
        planner->cells[(size_t)cut * cells + i] = (struct sy_plan_cell){first, stack->count};
        if (!stack->count) {
            continue;
        }
        if (stack->count > UINT32_MAX - first ||
            sy_grow(&planner->labels, &planner->label_capacity, first + stack->count,
                    sizeof *planner->labels)) {
            return -ENOMEM;
        }
        memcpy(planner->labels + first, stack->labels, stack->count * sizeof *stack->labels);
        planner->label_count += stack->count;
        stack->count = 0;
    }
    return 0;
}

static int start(struct sy_planner *planner) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t cells = space->use_count * space->form_count, old = planner->stack_capacity;
    if (sy_grow(&planner->stacks, &planner->stack_capacity, cells, sizeof *planner->stacks)) {
        return -ENOMEM;
    }
    memset(planner->stacks + old, 0, (planner->stack_capacity - old) * sizeof *planner->stacks);
    if (sy_grow(&planner->labels, &planner->label_capacity, 1, sizeof *planner->labels) ||
        sy_grow(&planner->found, &planner->found_capacity,
                planner->mode == SY_PLAN_EACH_BUDGET ? space->use_count : 1,
                sizeof *planner->found)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < cells; i++) {
        planner->stacks[i].count = 0;
    }
    memset(planner->cells, 0, cells * sizeof *planner->cells);
    planner->cells[0].count = 1;
    planner->labels[0] = (struct sy_plan_label){.parent = SY_NONE};
    planner->label_count = 1;
    planner->found_count = 0;
    for (uint32_t i = 0; planner->mode == SY_PLAN_EACH_BUDGET && i < space->use_count; i++) {
        planner->found[planner->found_count++] = (struct sy_plan_found){.period_ns = INFINITY};
    }
    return 0;
}

int sy_plan_search(struct sy_planner *planner) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t last = space->cut_count - 1;
    int code = start(planner);
    code = code ? code : extend(planner, 0, last);
    for (uint32_t to = 1; !code && to < last; to++) {
        for (uint32_t from = 0; !code && from < to; from++) {
            code = sy_plan_nested(space, from, to) ? extend(planner, from, to) : 0;
        }
        code = code ? code : settle(planner, to);
        code = code ? code : extend(planner, to, last);
    }
    return code;
}

void sy_plan_unwind(const struct sy_planner *planner, const struct sy_plan_found *found,
                    struct sy_plan *ret_plan) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t count = 1;
    for (uint32_t i = found->parent; planner->labels[i].parent != SY_NONE;
         i = planner->labels[i].parent) {
        count++;
    }
    ret_plan->stage_count = count;
    ret_plan->lane_count = 1;
    uint64_t after = space->order.all;
    uint32_t form = found->form, replicas = found->replicas, at = found->parent;
    while (count-- > 0) {
        const struct sy_plan_label *label = &planner->labels[at];
        uint64_t done = space->cuts[label->cut].kernels;
        ret_plan->stages[count] = (struct sy_plan_stage){
            .kernels = after & ~done, .shape = space->forms[form].shape, .replicas = replicas};
        after = done;
        form = label->form;
        replicas = label->replicas;
        at = label->parent;
    }
}
