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
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static double *rows_of(const struct sy_planner *planner, double *floor, uint32_t cut) {
    return floor + (size_t)cut * planner->space.use_count * planner->space.row;
}

/* From all forms to all others at a cut. */
static void measure_cut(struct sy_planner *planner, uint32_t cut, uint32_t columns) {
    const struct sy_plan_space *space = &planner->space;
    double bytes = space->cuts[cut].bytes;
    for (uint32_t to = 0; to < space->form_count; to++) {
        for (uint32_t f = 0; f < columns; f++) {
            const struct sy_plan_way *way = sy_plan_way_to(space, cut, f, to);
            planner->ways_ns[to * space->row + f] = sy_plan_way_ns(way, bytes);
        }
    }
}

/* What a stage costs behind each form, at the cut that was measured. */
static void measure_ways(struct sy_planner *planner, uint32_t cut, uint32_t to, uint32_t columns) {
    const struct sy_plan_space *space = &planner->space;
    const struct sy_plan_work *work = &space->work[to];
    const double *ways_ns = planner->ways_ns + to * space->row;
    double bytes = space->cuts[cut].bytes;
    for (uint32_t f = 0; f < columns; f++) {
        const struct sy_plan_way *way = sy_plan_way_to(space, cut, f, to);
        double transfer_ns = ways_ns[f] + work->out_ns;
        planner->sum_ns[f] = work->compute_ns + transfer_ns;
        planner->stage_ns[f] =
            space->problem->overlap ? sy_most(work->compute_ns, transfer_ns) : planner->sum_ns[f];
        planner->way_joules[f] = work->joules + bytes * way->joules_per_byte;
    }
}

/* Of a stage behind form `before`, for the ways that were measured. */
static double thrift_of(const struct sy_planner *planner, uint32_t form, uint32_t before,
                        uint32_t replicas) {
    const struct sy_plan_space *space = &planner->space;
    double idle_watts = space->uses[replicas * space->forms[form].step].idle_watts;
    return planner->stage_ns[before] / replicas <= planner->pace_ns
               ? planner->way_joules[before] + planner->pace_ns * 1e-9 * idle_watts
               : INFINITY;
}

struct step {
    uint32_t from, to, form, devices, columns;
};

/* All numbers of devices left that have enough of the step's class. They lie in blocks: the counts
 * of later classes are fixed in each, that of this class is at least `devices`. */
struct walk {
    double *rows;
    const double *then; /* the floor behind the step, of its form */
    uint32_t block, skip, count, row;
};

static struct walk walk_of(const struct sy_planner *planner, const struct step *step,
                           double *floor) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t class_index = space->forms[step->form].class_index;
    uint32_t devices = space->problem->classes[class_index].device_count;
    uint32_t stride = space->stride[class_index];
    return (struct walk){.rows = rows_of(planner, floor, step->from),
                         .then = rows_of(planner, floor, step->to) + step->form,
                         .block = (devices + 1) * stride,
                         .skip = step->devices * stride,
                         .count = space->use_count,
                         .row = space->row};
}

/* A compiler may not make the processor's minimum of pairs of sy_least, for the sake of NAN. */
static inline __attribute__((always_inline)) void lower_pair(double *row, const double *cost,
                                                             double rest, bool sum) {
#ifdef __SSE2__
    __m128d then = _mm_set1_pd(rest), costs = _mm_loadu_pd(cost);
    then = sum ? _mm_add_pd(costs, then) : _mm_max_pd(costs, then);
    _mm_storeu_pd(row, _mm_min_pd(_mm_loadu_pd(row), then));
#else
    for (uint32_t f = 0; f < 2; f++) {
        row[f] = sy_least(row[f], sum ? cost[f] + rest : sy_most(cost[f], rest));
    }
#endif
}

/* row = min(row, max(cost, then)), or with a sum in the place of the maximum. Written out for rows
 * of few pairs: it is the innermost loop of all that the planner does. */
static inline __attribute__((always_inline)) void
lower_pairs(const struct walk *walk, const double *restrict cost, uint32_t pairs, bool sum) {
    size_t row = walk->row, skip = walk->skip * row, block = walk->block * row;
    const double *end = walk->rows + walk->count * row;
    const double *then = walk->then;
    for (double *start = walk->rows; start < end; start += block, then += block) {
        const double *rest = then;
        for (double *at = start + skip; at < start + block; at += row, rest += row) {
            for (uint32_t p = 0; p < pairs; p++) {
                lower_pair(at + 2 * p, cost + 2 * p, *rest, sum);
            }
        }
    }
}

static inline __attribute__((always_inline)) void lower(const struct walk *walk, const double *cost,
                                                        uint32_t columns, bool sum) {
    switch ((columns + 1) / 2) {
    case 1:
        lower_pairs(walk, cost, 1, sum);
        break;
    case 2:
        lower_pairs(walk, cost, 2, sum);
        break;
    case 3:
        lower_pairs(walk, cost, 3, sum);
        break;
    case 4:
        lower_pairs(walk, cost, 4, sum);
        break;
    default:
        lower_pairs(walk, cost, (columns + 1) / 2, sum);
    }
}

static void lower_max(const struct walk *walk, const double *cost, uint32_t columns) {
    lower(walk, cost, columns, false);
}

static void lower_sum(const struct walk *walk, const double *cost, uint32_t columns) {
    lower(walk, cost, columns, true);
}

/* Joules with those of idle devices, where no stage may be slower than the pace. */
static void lower_thrift(struct sy_planner *planner, struct step step) {
    const struct sy_plan_form *form = &planner->space.forms[step.form];
    double compute_ns = planner->space.work[step.form].compute_ns;
    if (compute_ns / form->replicas_max > planner->pace_ns) {
        return;
    }
    measure_ways(planner, step.from, step.form, step.columns);
    for (uint32_t r = 1; r <= form->replicas_max; r++) {
        if (compute_ns / r > planner->pace_ns) {
            continue;
        }
        for (uint32_t f = 0; f < step.columns; f++) {
            planner->scaled_ns[f] = thrift_of(planner, step.form, f, r);
        }
        step.devices = r * form->width;
        struct walk walk = walk_of(planner, &step, planner->floor_thrift);
        lower_sum(&walk, planner->scaled_ns, step.columns);
    }
}

static void lower_by(struct sy_planner *planner, struct step step) {
    const struct sy_plan_form *form = &planner->space.forms[step.form];
    double compute_ns = planner->space.work[step.form].compute_ns;
    if (compute_ns / form->replicas_max > planner->ceiling_ns) {
        return;
    }
    measure_ways(planner, step.from, step.form, step.columns);
    step.devices = form->width;
    if (planner->floor_latency) {
        struct walk walk = walk_of(planner, &step, planner->floor_latency);
        lower_sum(&walk, planner->sum_ns, step.columns);
    }
    if (planner->floor_joules) {
        struct walk walk = walk_of(planner, &step, planner->floor_joules);
        lower_sum(&walk, planner->way_joules, step.columns);
    }
    for (uint32_t r = 1; planner->floor_period && r <= form->replicas_max; r++) {
        if (compute_ns / r > planner->ceiling_ns) {
            continue;
        }
        for (uint32_t f = 0; f < step.columns; f++) {
            planner->scaled_ns[f] = planner->stage_ns[f] / r;
        }
        step.devices = r * form->width;
        struct walk walk = walk_of(planner, &step, planner->floor_period);
        lower_max(&walk, planner->scaled_ns, step.columns);
    }
}

static void set_rows(const struct sy_planner *planner, double *floor, uint32_t cut, double value) {
    double *rows = floor ? rows_of(planner, floor, cut) : NULL;
    for (uint32_t i = 0; rows && i < planner->space.use_count * planner->space.row; i++) {
        rows[i] = value;
    }
}

/* Nothing is needed behind the last cut; before the others nothing is known yet. */
static void begin_rows(const struct sy_planner *planner, uint32_t cut) {
    double value = cut + 1 == planner->space.cut_count ? 0 : INFINITY;
    if (planner->pace_ns < INFINITY) {
        set_rows(planner, planner->floor_thrift, cut, value);
        return;
    }
    set_rows(planner, planner->floor_period, cut, value);
    set_rows(planner, planner->floor_joules, cut, value);
    set_rows(planner, planner->floor_latency, cut, value);
}

static int lay_out(struct sy_planner *planner) {
    const struct sy_plan_space *space = &planner->space;
    size_t states = (size_t)space->cut_count * space->use_count * space->row;
    size_t size = states * (3 * sizeof(double) + sizeof(struct sy_plan_cell)) +
                  (4 + space->form_count) * space->row * sizeof(double);
    size += 9 * 64; /* alignment of nine tables */
    if (sy_plan_block_reserve(&planner->block, size)) {
        return -ENOMEM;
    }
    double **scratch[] = {&planner->stage_ns, &planner->sum_ns, &planner->scaled_ns,
                          &planner->way_joules};
    for (size_t i = 0; i < SY_COUNT(scratch); i++) {
        *scratch[i] = sy_plan_block_take(&planner->block, space->row, sizeof(double));
        for (uint32_t f = 0; f < space->row; f++) {
            (*scratch[i])[f] = INFINITY; /* the last may be no form: it pads a pair */
        }
    }
    planner->ways_ns =
        sy_plan_block_take(&planner->block, (size_t)space->form_count * space->row, sizeof(double));
    double **floors[] = {&planner->floor_period, &planner->floor_joules, &planner->floor_latency,
                         &planner->floor_thrift};
    bool simple = sy_plan_is_simple(planner) && planner->objective == SY_PLAN_THROUGHPUT;
    const bool wanted[] = {planner->need.period, planner->need.joules, planner->need.latency,
                           simple}; /* three at most */
    for (size_t i = 0; i < SY_COUNT(floors); i++) {
        *floors[i] = wanted[i] ? sy_plan_block_take(&planner->block, states, sizeof(double)) : NULL;
    }
    planner->cells = sy_plan_block_take(&planner->block, states, sizeof(struct sy_plan_cell));
    return 0;
}

/* The best plan of one stage: where only the least period is asked for, no stage may be slower. */
static double find_ceiling(struct sy_planner *planner) {
    const struct sy_plan_space *space = &planner->space;
    uint32_t last = space->cut_count - 1;
    double ceiling_ns = INFINITY;
    measure_cut(planner, 0, 1);
    bool any = sy_plan_space_work(&planner->space, 0, last);
    for (uint32_t f = 0; any && f < space->form_count; f++) {
        if (space->work[f].possible) {
            measure_ways(planner, 0, f, 1);
            ceiling_ns = sy_least(ceiling_ns, planner->stage_ns[0] / space->forms[f].replicas_max);
        }
    }
    return ceiling_ns;
}

static void fill_floors(struct sy_planner *planner) {
    const struct sy_plan_space *space = &planner->space;
    bool thrift = planner->pace_ns < INFINITY;
    begin_rows(planner, space->cut_count - 1);
    for (uint32_t from = space->cut_count - 1; from-- > 0;) {
        uint32_t columns = from ? space->form_count : 1;
        begin_rows(planner, from);
        measure_cut(planner, from, columns);
        for (uint32_t to = from + 1; to < space->cut_count; to++) {
            if (!sy_plan_nested(space, from, to) ||
                !sy_plan_space_work(&planner->space, from, to)) {
                continue;
            }
            for (uint32_t f = 0; f < space->form_count; f++) {
                struct step step = {from, to, f, 0, columns};
                if (space->work[f].possible) {
                    (thrift ? lower_thrift : lower_by)(planner, step);
                }
            }
        }
    }
}

int sy_plan_floors(struct sy_planner *planner) {
    if (lay_out(planner)) {
        return -ENOMEM;
    }
    planner->ceiling_ns = planner->floor_thrift ? find_ceiling(planner) : INFINITY;
    planner->pace_ns = INFINITY;
    fill_floors(planner);
    return 0;
}

void sy_plan_floor_thrift(struct sy_planner *planner, double pace_ns) {
    planner->pace_ns = pace_ns;
    fill_floors(planner);
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
    uint32_t shift = replicas * space->forms[form].step;
    double rest =
        trail->floor[((size_t)to * space->use_count + trail->left - shift) * space->row + form];
    double value = trail->floor == planner->floor_period
                       ? sy_most(planner->stage_ns[trail->before] / replicas, rest)
                   : trail->floor == planner->floor_thrift
                       ? thrift_of(planner, form, trail->before, replicas) + rest
                       : planner->sum_ns[trail->before] + rest;
    size_t here =
        ((size_t)trail->cut * space->use_count + trail->left) * space->row + trail->before;
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
    measure_cut(planner, trail->cut, columns);
    for (uint32_t to = trail->cut + 1; to < space->cut_count; to++) {
        if (!sy_plan_nested(space, trail->cut, to) ||
            !sy_plan_space_work(&planner->space, trail->cut, to)) {
            continue;
        }
        for (uint32_t f = 0; f < space->form_count; f++) {
            const struct sy_plan_form *form = &space->forms[f];
            uint32_t most = space->uses[trail->left].counts[form->class_index] / form->width;
            if (!space->work[f].possible || !most) {
                continue;
            }
            measure_ways(planner, trail->cut, f, columns);
            most = trail->floor == planner->floor_latency ? 1 : most;
            for (uint32_t r = 1; r <= most; r++) {
                if (is_step(planner, trail, to, f, r)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool sy_plan_follow(struct sy_planner *planner, const double *floor, struct sy_plan *ret_plan) {
    const struct sy_plan_space *space = &planner->space;
    struct trail trail = {.floor = floor, .left = space->use_count - 1};
    if (!(floor[(size_t)trail.left * space->row] < INFINITY)) {
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
