/* SPDX-License-Identifier: Apache-2.0
 *
 * What a solve says of how the program changes.
 *
 * The change since the last step has prior N(0, q); the solve gives its posterior, mean q G'z and
 * covariance q - q G'S^-1 G q, and q moves a little towards their second moment: expectation
 * maximisation, online, from the few readings there are. The matrix q G'S^-1 G q is not formed: for
 * random signs e, the vector q G'U^-1 e has it as its second moment. q is pulled back to the
 * model's, so that what is never seen to move does not freeze.
 *
 * The model also says how fast rates settle back to their usual. Not every program does what those
 * it was learned from did, so a reading must bear it out: the misses of a prediction that stands
 * still are regressed on the way that the model would have gone.
 */
#include "belief/filter.h"
#include <math.h>
#include <string.h>

static const double LEARNING = 0.01;
static const double CHANGE_MAX = 3; /* in ln */
static const double RETURN = 0.004;
static const double TRUST_KEEP = 0.998; /* of what was heard, for every reading */
static const double DISTRUST = 3;       /* so much must be heard until half of it is believed */

/* out = q * gradient' * z; returns z' * gradient * out. */
static double spread(struct sy_filter *f, const double *z, double *out) {
    double *sum = f->next, square = 0;
    memset(sum, 0, f->stride * sizeof *sum);
    for (uint32_t i = 0; i < f->row_count; i++) {
        const struct sy_row *row = &f->rows[i];
        for (uint32_t k = row->first; k < row->first + row->count; k++) {
            sum[f->gradient_variable[k]] += z[i] * f->gradient[k];
        }
    }
    sy_sum_rows(out, f->q, f->stride, f->n, sum);
    for (uint32_t i = 0; i < f->n; i++) {
        square += sum[i] * out[i];
    }
    return square;
}

/* A change that is larger than programs make says that the solve was poor, not that q is large. */
static void bound(struct sy_filter *f, double *change) {
    double largest = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        largest = fmax(largest, fabs(change[i]));
    }
    for (uint32_t i = 0; i < f->n && largest > CHANGE_MAX; i++) {
        change[i] *= CHANGE_MAX / largest;
    }
}

/* What the nudge took off towards nothing is given back towards the model's. */
static void give_back(struct sy_filter *f) {
    const struct sy_model *model = f->model;
    for (uint32_t i = 0; i < f->n; i++) {
        double *row = sy_row_at(f->q, f->stride, i), drift = model->variables[i].drift_sd;
        if (model->covariance) {
            sy_axpy(row, model->covariance + (size_t)i * f->n, RETURN, f->n);
        } else {
            row[i] += RETURN * drift * drift;
        }
        row[i] = fmax(row[i], 1e-10);
    }
}

static void learn_trust(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->row_count; i++) {
        const struct sy_row *row = &f->rows[i];
        if (row->relation) {
            continue;
        }
        double variance = sy_row_at(f->p, f->stride, row->source)[row->source];
        double way = f->way[row->source], part = (1 - row->wrong) * way;
        double miss = row->target - f->prior[row->source] + f->trust * way;
        part /= variance + row->noise / row->weight;
        f->told = TRUST_KEEP * f->told + part * miss;
        f->heard = TRUST_KEEP * f->heard + part * way;
    }
    f->trust = fmin(fmax(f->told / (f->heard + DISTRUST), 0), 1);
}

void sy_filter_learn(struct sy_filter *f) {
    double part = fmin(LEARNING * f->steps_elapsed, 0.5);
    double z[SY_ROWS_MAX], *change = f->column, *usual = f->column_two;
    if (f->options.no_learning || !(part > 0)) {
        return;
    }
    learn_trust(f);
    for (uint32_t i = 0; i < f->row_count; i++) {
        z[i] = f->rows[i].pull;
    }
    spread(f, z, change);
    bound(f, change);
    for (uint32_t i = 0; i < f->row_count; i++) {
        z[i] = sy_rng_u32(&f->signs) & 1 ? 1 : -1;
    }
    sy_solve_backward(f->s, f->s_stride, f->row_count, z);
    /* q stays positive as long as no probe takes more out of it than there is. */
    double taken = part * spread(f, z, usual);
    part *= fmin(1, 0.5 / fmax(taken, 1e-30));
    sy_nudge(f->q, f->stride, f->n, change, usual, 1 - RETURN, part);
    give_back(f);
}
