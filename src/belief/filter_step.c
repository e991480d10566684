/* SPDX-License-Identifier: Apache-2.0
 *
 * One step of the filter: time goes on, readings and relations become rows, rows are solved for.
 */
#include "belief/filter.h"
#include <math.h>
#include <string.h>

static const double NOISE_MIN = 0.003;  /* a reading is never exact: windows do not quite match */
static const double LIMIT_WIDTH = 0.05; /* by which a rate may seem to exceed its capacity */
static const double STEPS_MAX = 1e6;    /* a longer pause says no more than this one */

/* Variable i's spread shrinks to its ceiling, its correlations stay. */
static void cap(struct sy_filter *f, uint32_t i) {
    double scale = sqrt(f->ceiling[i] / sy_row_at(f->p, f->stride, i)[i]);
    for (uint32_t j = 0; j < f->n; j++) {
        sy_row_at(f->p, f->stride, i)[j] *= scale;
        sy_row_at(f->p, f->stride, j)[i] *= scale;
    }
}

void sy_filter_look_ahead(struct sy_filter *f, double steps) {
    for (uint32_t i = 0; i < f->n; i++) {
        const struct sy_variable *v = &f->model->variables[i];
        double settled =
            steps == 1 || v->settles == 0 ? v->settles : 1 - pow(1 - v->settles, steps);
        f->way[i] = settled * (v->start_log - f->x[i]);
        f->keeps[i] = 1 - f->trust * settled;
    }
    const struct sy_ahead to = {f->ahead, f->ahead_narrow, f->gain};
    sy_look_ahead(&to, f->p, f->q, f->keeps, steps, f->stride, f->n);
    for (uint32_t i = 0; i < f->n; i++) {
        f->left[i] = (float)sy_row_at(f->ahead, f->stride, i)[i];
    }
    f->ahead_steps = steps;
}

static void pass_time(struct sy_filter *f, double elapsed_ns) {
    double steps = f->model->step_ns > 0 ? elapsed_ns / f->model->step_ns : 1;
    f->steps_elapsed = steps > 0 ? fmin(steps, STEPS_MAX) : 0;
    if (f->ahead_steps != f->steps_elapsed) { /* else the choice has looked just as far */
        sy_filter_look_ahead(f, f->steps_elapsed);
    }
    double *now = f->ahead;
    f->ahead = f->p;
    f->p = now;
    f->ahead_steps = -1;
    f->rates_drawn = false;
    for (uint32_t i = 0; i < f->n; i++) {
        f->x[i] += f->trust * f->way[i];
        f->age_ns[i] += elapsed_ns > 0 ? elapsed_ns : 0;
        if (sy_row_at(f->p, f->stride, i)[i] > f->ceiling[i]) {
            cap(f, i);
        }
    }
}

static struct sy_row *add_row(struct sy_filter *f, uint32_t source, double noise) {
    struct sy_row *row = &f->rows[f->row_count];
    uint32_t first = f->row_count ? row[-1].first + row[-1].count : 0;
    *row = (struct sy_row){.source = source, .first = first, .noise = noise * noise, .weight = 1};
    f->row_count++;
    return row;
}

static void add_reading(struct sy_filter *f, uint32_t variable, double target, double noise) {
    struct sy_row *row = add_row(f, variable, noise);
    row->count = 1;
    row->target = target;
    f->gradient_variable[row->first] = variable;
    f->gradient[row->first] = 1;
}

static struct sy_row *add_relation(struct sy_filter *f, uint32_t factor) {
    struct sy_row *row = add_row(f, factor, f->factors[factor].width);
    row->relation = true;
    /* One that was off of late must not talk readings down. */
    row->weight = fmin(1, 1 / f->factors[factor].surprise);
    row->count = f->model->factors[factor].term_count + (f->model->factors[factor].out != SY_NONE);
    return row;
}

/* ln(left) - ln(right) of a row's relation now. */
static double relation_miss(struct sy_filter *f, struct sy_row *row) {
    sy_filter_draw_rates(f);
    return sy_factor_linearise(f, row->source, &f->gradient_variable[row->first],
                               &f->gradient[row->first], &row->count);
}

static bool usable(const struct sy_filter *f, const struct sy_observation *o) {
    return o->variable < f->n && isfinite(o->rate) && o->rate >= 0 && o->noise_ratio >= 0 &&
           isfinite(o->noise_ratio);
}

static void take_reading(struct sy_filter *f, const struct sy_observation *o) {
    const struct sy_variable *v = &f->model->variables[o->variable];
    double noise = o->noise_ratio > 0 ? o->noise_ratio : v->noise_ratio;
    double whole = fmax(o->rate + v->offset, 1e-20);
    add_reading(f, o->variable, log(whole), (noise * o->rate / whole) + NOISE_MIN);
    f->age_ns[o->variable] = 0;
}

static bool holds(const struct sy_filter *f, uint32_t factor, enum sy_factor_kind kind) {
    return f->model->factors[factor].kind == kind && !f->factors[factor].rejected &&
           !f->options.no_relations;
}

static void take_equations(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->model->factor_count; i++) {
        if (holds(f, i, SY_FACTOR_EQUAL)) {
            if (f->row_count == f->rows_max - SY_READINGS_MAX) {
                sy_filter_solve(f);
            }
            add_relation(f, i);
        }
    }
}

static void take_readings(struct sy_filter *f, const struct sy_observation *observations,
                          uint32_t count) {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!usable(f, &observations[i])) {
            f->ignored++;
            continue;
        }
        if (taken++ == SY_READINGS_MAX) {
            sy_filter_solve(f);
            taken = 1;
        }
        take_reading(f, &observations[i]);
    }
}

/* One-sided relations and capacities: only where the mean violates them. */
static void take_limits(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        const struct sy_variable *v = &f->model->variables[i];
        double most = isinf(v->capacity) ? INFINITY : log(v->capacity + v->offset);
        if (f->x[i] > most && f->row_count < SY_READINGS_MAX) {
            add_reading(f, i, most, LIMIT_WIDTH);
        }
    }
    sy_filter_solve(f);
    for (uint32_t i = 0; i < f->model->factor_count; i++) {
        if (holds(f, i, SY_FACTOR_AT_MOST) && f->row_count < f->rows_max &&
            relation_miss(f, add_relation(f, i)) <= 0) {
            f->row_count--;
        }
    }
    sy_filter_solve(f);
}

/* Relations that are left out go on being compared with what the rest says. */
static void review(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->model->factor_count; i++) {
        if (!f->factors[i].rejected) {
            continue;
        }
        struct sy_row *row = add_relation(f, i);
        double miss = relation_miss(f, row), variance = 0;
        for (uint32_t a = 0; a < row->count; a++) {
            const double *p = sy_row_at(f->p, f->stride, f->gradient_variable[a]);
            for (uint32_t b = 0; b < row->count; b++) {
                variance += f->gradient[a] * f->gradient[b] * p[f->gradient_variable[b]];
            }
        }
        f->row_count = 0;
        bool one_sided = f->model->factors[i].kind == SY_FACTOR_AT_MOST;
        sy_factor_learn(&f->factors[i], one_sided ? fmax(miss, 0) : miss,
                        fmax(variance, 0) + f->factors[i].width * f->factors[i].width);
    }
}

void sy_filter_step(struct sy_filter *f, double elapsed_ns,
                    const struct sy_observation *observations, uint32_t count) {
    pass_time(f, elapsed_ns);
    f->row_count = 0;
    take_equations(f);
    take_readings(f, observations, count);
    sy_filter_solve(f);
    f->steps_elapsed = 0; /* limits say nothing of how the program changes */
    take_limits(f);
    review(f);
    f->steps++;
}
