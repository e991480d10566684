/* SPDX-License-Identifier: Apache-2.0
 *
 * Relations between rates, seen from the log domain: linearised as ln(left) = ln(right) with every
 * negative term moved to the other side, so that both sides stay positive; widths learned from how
 * much each one misses, and left out while refuted.
 */
#include "belief/filter.h"
#include <math.h>

static const double WIDTH_MIN = 1e-3;
static const double REFUTED = 9; /* three standard deviations */

void sy_filter_draw_rates(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->n && !f->rates_drawn; i++) {
        f->rate[i] = exp(f->x[i]);
    }
    f->rates_drawn = true;
}

double sy_factor_linearise(const struct sy_filter *f, uint32_t factor, uint32_t *variables,
                           double *gradient, uint32_t *ret_count) {
    const struct sy_model *model = f->model;
    const struct sy_factor *relation = &model->factors[factor];
    const struct sy_term *terms = &model->terms[relation->first_term];
    double constant = relation->constant, left = 1e-300, right = 1e-300;
    uint32_t count = 0;
    for (uint32_t i = 0; i < relation->term_count; i++) {
        uint32_t v = terms[i].variable;
        constant -= terms[i].coefficient * model->variables[v].offset;
        variables[count] = v;
        gradient[count] = terms[i].coefficient * f->rate[v];
        *(gradient[count] > 0 ? &left : &right) += fabs(gradient[count]);
        count++;
    }
    if (relation->out == SY_NONE) {
        constant -= 1;
    } else {
        constant += model->variables[relation->out].offset;
        variables[count] = relation->out;
        gradient[count++] = -f->rate[relation->out];
        right += f->rate[relation->out];
    }
    *(constant > 0 ? &left : &right) += fabs(constant);
    for (uint32_t i = 0; i < count; i++) {
        gradient[i] /= gradient[i] > 0 ? left : right;
    }
    *ret_count = count;
    return log(left / right);
}

void sy_factor_learn(struct sy_factor_now *now, double error, double variance) {
    double square = now->width * now->width;
    double off = fmin(error * error / variance, 25);
    /* A step of the likelihood's gradient, small where others hide the width. What would need to be
     * much wider than the model says is not wide but wrong. */
    square *= 1 + 0.02 * fmin(square / variance, 1) * (fmin(off, 9) - 1);
    now->width = fmin(fmax(sqrt(square), WIDTH_MIN), fmin(now->width_max, 1));
    now->surprise += 0.05 * (off - now->surprise);
    now->rejected = now->surprise > (now->rejected ? REFUTED / 2 : REFUTED);
}

void sy_factor_blame(struct sy_factor_now *now) {
    now->surprise += 0.05 * fmax(2 * REFUTED - now->surprise, 0);
    now->rejected = now->surprise > REFUTED;
}
