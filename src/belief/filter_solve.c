/* SPDX-License-Identifier: Apache-2.0
 *
 * One solve: the mean that readings and relations ask for, and its covariance.
 *
 * The mean is the robust maximum a posteriori: Gauss-Newton, because relations bend in the log
 * domain, with Student-t weights. Each reading has two explanations, a change of the program or a
 * gross error; it is compared with what all other rows say of it, and left out if the error is the
 * likelier one. What is left of the doubt widens the posterior, so that a second reading like the
 * first is believed.
 */
#include "belief/filter.h"
#include <math.h>
#include <string.h>

static const uint32_t ITERATIONS = 3;
static const double ENOUGH = 0.2;     /* a smaller move of the mean needs no further one */
static const double SURE_MAX = 0.005; /* what is always left of a doubt */
static const double TWICE_WRONG = 0.05;
static const double WEIGHT_CHANGE = 2;
static const double WIDEN_FROM = 0.1; /* of a variance: less is not worth the work */
static const double VARIANCE_MIN = 1e-7;
static const double AWAY_MAX = 2; /* in ln: correlations are not believed further */
static const double WIDEN_MIN = 1e-2;
static const double REACH = 1; /* of a relation's straight line, in ln */
static const double ERROR_MIN = 0.01,
                    ERROR_MAX = 0.1; /* share of readings that are grossly wrong */
static const double ERROR_CAUTION = 4;
static const double COUNT_KEEP = 0.998;   /* of what was counted, for every reading */
static const uint32_t CALM_STEPS = 64;    /* between two looks at who changes least */
static const double ERROR_SD = 2;         /* of a gross error, in ln */
static const double JUMP_DEGREES = 4;     /* a program's changes are that heavy-tailed */
static const double JUMP_SQUARE_MAX = 16; /* what one reading can say of a change of all */

/* fmin and fmax without the function call that NAN costs. */
static inline double larger(double a, double b) {
    return a > b ? a : b;
}

static inline double smaller(double a, double b) {
    return a < b ? a : b;
}

static uint32_t relation_rows(const struct sy_filter *f) {
    uint32_t count = 0;
    while (count < f->row_count && f->rows[count].relation) {
        count++;
    }
    return count;
}

/* What a row misses if x moves linearly from the prior; linearises it. */
static double residual(struct sy_filter *f, struct sy_row *row) {
    if (!row->relation) {
        return row->target - f->prior[row->source];
    }
    double out = -sy_factor_linearise(f, row->source, &f->gradient_variable[row->first],
                                      &f->gradient[row->first], &row->count);
    for (uint32_t k = row->first; k < row->first + row->count; k++) {
        uint32_t v = f->gradient_variable[k];
        out += f->gradient[k] * (f->x[v] - f->prior[v]);
    }
    return out;
}

/* Four rows of s from i on, gp * gradient' as far as it is needed: from column i on. Those past the
 * last row are scratch, as are the rows of gp that they come from. */
static void products(struct sy_filter *f, uint32_t first, uint32_t i) {
    const double *gp = sy_row_at(f->gp, f->stride, first + i);
    double *s = sy_row_at(f->s, f->s_stride, i);
    uint32_t m = f->row_count - first, stride = f->stride, s_stride = f->s_stride;
    for (uint32_t j = i; j < m; j++) {
        const struct sy_row *other = &f->rows[first + j];
        double sum[4] = {0};
        for (uint32_t k = other->first; k < other->first + other->count; k++) {
            const double *at = gp + f->gradient_variable[k];
            for (uint32_t r = 0; r < 4; r++) {
                sum[r] += at[(size_t)r * stride] * f->gradient[k];
            }
        }
        for (uint32_t r = 0; r < 4; r++) {
            s[(size_t)r * s_stride + j] = sum[r];
        }
    }
}

/* gp = gradient * p and s = gp * gradient' + noise for the rows from first on, s factored. */
static void factorise(struct sy_filter *f, uint32_t first) {
    uint32_t m = f->row_count - first;
    f->s_stride = (m + 7) / 8 * 8;
    memset(f->s, 0, (size_t)m * f->s_stride * sizeof *f->s);
    for (uint32_t i = first; i < f->row_count; i++) {
        struct sy_row *row = &f->rows[i];
        row->residual = residual(f, row);
        if (!row->relation && first == 0 && f->readings_drawn) {
            continue; /* as in the solve of the readings alone */
        }
        sy_combine(sy_row_at(f->gp, f->stride, i), f->p, f->stride,
                   &f->gradient_variable[row->first], &f->gradient[row->first], row->count);
    }
    for (uint32_t i = 0; i < m; i += 4) {
        products(f, first, i);
    }
    for (uint32_t i = 0; i < m; i++) {
        double *own = sy_row_at(f->s, f->s_stride, i) + i;
        double noise = f->rows[first + i].noise / f->rows[first + i].weight;
        *own = larger(*own, 0) + noise;
        f->floors[i] = noise / 2;
    }
    f->readings_drawn = true;
    sy_cholesky(f->s, f->s_stride, m, f->floors);
}

/* The mean that the rows from first on ask for; no variable moves by more than reach at once.
 * Returns the largest move. */
static double move(struct sy_filter *f, uint32_t first, double reach) {
    double pulls[SY_ROWS_MAX], *next = f->next, largest = 0;
    uint32_t m = f->row_count - first;
    factorise(f, first);
    for (uint32_t i = 0; i < m; i++) {
        pulls[i] = f->rows[first + i].residual;
    }
    sy_solve_forward(f->s, f->s_stride, m, pulls);
    sy_solve_backward(f->s, f->s_stride, m, pulls);
    for (uint32_t i = 0; i < m; i++) {
        f->rows[first + i].pull = pulls[i];
    }
    sy_sum_rows(next, sy_row_at(f->gp, f->stride, first), f->stride, m, pulls);
    for (uint32_t i = 0; i < f->n; i++) {
        double by = smaller(larger(f->prior[i] + next[i] - f->x[i], -reach), reach);
        largest = larger(largest, fabs(by));
        f->x[i] = smaller(larger(f->x[i] + by, f->low[i] - REACH), f->high[i] + REACH);
    }
    f->rates_drawn = false;
    return largest;
}

/* Variance of what row i of m would miss had it not been there: 1 / (S^-1)ii. */
static double left_out(const struct sy_filter *f, uint32_t i, uint32_t m) {
    double z[SY_ROWS_MAX];
    uint32_t rest = m - i;
    memset(z, 0, rest * sizeof *z);
    z[0] = 1;
    sy_solve_forward(f->s + (size_t)i * f->s_stride + i, f->s_stride, rest, z);
    return 1 / sy_dot(z, z, rest);
}

/* The same of each of the last count rows of m. */
static void last_left_out(const struct sy_filter *f, uint32_t m, uint32_t count, double *ret) {
    double inverse[SY_READINGS_MAX * SY_READINGS_MAX];
    uint32_t stride = sy_padded(count), at = m - count;
    memset(inverse, 0, (size_t)count * stride * sizeof *inverse);
    memset(ret, 0, count * sizeof *ret);
    for (uint32_t i = 0; i < count; i++) {
        sy_row_at(inverse, stride, i)[i] = 1;
    }
    sy_solve_lower(sy_row_at(f->s, f->s_stride, at) + at, f->s_stride, count, inverse, stride);
    for (uint32_t k = 0; k < count; k++) {
        const double *row = sy_row_at(inverse, stride, k);
        for (uint32_t i = 0; i < count; i++) {
            ret[i] += row[i] * row[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        ret[i] = 1 / ret[i];
    }
}

static double student_weight(const struct sy_filter *f, const struct sy_row *row) {
    double left = row->noise / row->weight * row->pull, degrees = f->options.student_degrees;
    return (degrees + 1) / (degrees + left * left / row->noise);
}

/* ln odds that a miss with this variance is a change, Student-t(4), and not a gross error, which
 * has the heavier tail: Student-t(2). Even odds are taken for granted. */
static double log_odds_of_change(double miss, double variance) {
    double wide = variance + ERROR_SD * ERROR_SD, square = miss * miss;
    double change = log(0.375 / sqrt(variance)) - 2.5 * log1p(square / variance / 4);
    double error = log(0.35355 / sqrt(wide)) - 1.5 * log1p(square / wide / 2);
    return change - error;
}

/* Whether the reading before was refused too, and said the same: errors are not alike. */
static bool alike(const struct sy_filter *f, const struct sy_row *row) {
    double apart = fabs(row->target - f->refused[row->source]); /* NAN: there was none */
    return apart < fabs(row->miss) / 4 + 3 * sqrt(row->noise);
}

/* How far the readings are from what all other rows say. They share one guess of how far the
 * program has jumped (a multivariate Student-t): if the others moved, this one may have too. */
static void judge(struct sy_filter *f, uint32_t first, uint32_t relations) {
    double known[SY_READINGS_MAX], square[SY_READINGS_MAX], others[SY_READINGS_MAX];
    double sum = JUMP_DEGREES, count = JUMP_DEGREES;
    last_left_out(f, f->row_count - first, f->row_count - relations, others);
    for (uint32_t i = relations; i < f->row_count; i++) {
        struct sy_row *row = &f->rows[i];
        double other = others[i - relations], *z = &square[i - relations];
        row->miss = row->pull * other;
        known[i - relations] = larger(other - row->noise / row->weight, 0);
        *z = row->miss * row->miss / (known[i - relations] + row->noise);
        *z = (1 - row->wrong) * smaller(*z, JUMP_SQUARE_MAX);
        sum += *z;
        count += 1 - row->wrong;
    }
    for (uint32_t i = relations; i < f->row_count; i++) {
        struct sy_row *row = &f->rows[i];
        double jump = (sum - square[i - relations]) / (count - (1 - row->wrong));
        double variance = larger(jump, 1) * known[i - relations] + row->noise;
        double odds = log_odds_of_change(row->miss, variance);
        row->odd = odds < -log(1 / ERROR_MAX - 1);
        row->wrong = 1 / (1 + exp(odds + log(1 / f->error_share - 1)));
        row->strange = row->wrong > 0.5;
        if (row->strange && alike(f, row)) {
            row->wrong = TWICE_WRONG;
        }
    }
}

/* New weights for the rows from first on, whose factor is in s. False: none would change much, so
 * they stay as they are. */
static bool weigh(struct sy_filter *f, uint32_t first, uint32_t relations) {
    double weights[SY_ROWS_MAX];
    bool change = false;
    if (!isfinite(f->options.student_degrees)) {
        return false;
    }
    judge(f, first, relations);
    for (uint32_t i = first; i < f->row_count; i++) {
        const struct sy_row *row = &f->rows[i];
        weights[i] = row->wrong > 0.5 ? row->noise / (row->noise + ERROR_SD * ERROR_SD)
                     : row->strange   ? 1
                                      : student_weight(f, row);
        double ratio = weights[i] / row->weight;
        change = change || ratio > WEIGHT_CHANGE || ratio * WEIGHT_CHANGE < 1;
    }
    for (uint32_t i = first; change && i < f->row_count; i++) {
        f->rows[i].weight = weights[i];
    }
    return change;
}

/* Where a reading is refused, the relations that speak against it may be what is wrong. */
static void blame(struct sy_filter *f, uint32_t relations) {
    for (uint32_t i = relations; i < f->row_count; i++) {
        for (uint32_t r = 0; r < relations && f->rows[i].strange; r++) {
            const struct sy_row *row = &f->rows[r];
            bool member = false;
            for (uint32_t k = row->first; k < row->first + row->count; k++) {
                member = member || f->gradient_variable[k] == f->rows[i].source;
            }
            if (member) {
                sy_factor_blame(&f->factors[row->source]);
            }
        }
    }
}

/* A few relations a step have their width and their truth examined, each in its turn. */
static void examine(struct sy_filter *f, uint32_t relations) {
    for (uint32_t k = 0; k < 2 && k < relations; k++) {
        uint32_t i = f->examined++ % relations;
        const struct sy_row *row = &f->rows[i];
        double others = left_out(f, i, f->row_count), own = row->noise / row->weight;
        double variance = larger(others - own, 0) + row->noise;
        sy_factor_learn(&f->factors[row->source], row->pull * others, variance);
    }
}

/* How many readings are gross errors: errors strike all variables alike, changes do not, so those
 * count that change least. Believing an error costs more than missing a change: the share that is
 * acted upon is larger than the one seen. */
static void count_errors(struct sy_filter *f, uint32_t relations) {
    if (f->steps % CALM_STEPS == 0) {
        for (uint32_t i = 0; i < f->n; i++) {
            f->column[i] = sy_row_at(f->q, f->stride, i)[i];
        }
        f->calm = sy_quantile(f->column, f->n, 0.5);
    }
    for (uint32_t i = relations; i < f->row_count; i++) {
        uint32_t v = f->rows[i].source;
        if (sy_row_at(f->q, f->stride, v)[v] <= f->calm) {
            f->odd_count = COUNT_KEEP * f->odd_count + f->rows[i].odd;
            f->read_count = COUNT_KEEP * f->read_count + 1;
        }
    }
    double share = ERROR_CAUTION * f->odd_count / f->read_count;
    f->error_share = smaller(larger(share, ERROR_MIN), ERROR_MAX);
}

/* The posterior is a mixture of "it was wrong" and "it was right"; this adds the distance between
 * the two, of which only one was followed, to the covariance. */
static void widen_by_doubt(struct sy_filter *f, uint32_t relations) {
    uint32_t count = 0;
    for (uint32_t i = relations; i < f->row_count; i++) {
        const struct sy_row *row = &f->rows[i];
        double both = larger(row->wrong * (1 - row->wrong), row->wrong > 0.5 ? SURE_MAX : 0);
        const double *column = sy_row_at(f->p, f->stride, row->source);
        double own = column[row->source];
        f->doubt[row->source] = row->wrong;
        f->refused[row->source] = row->strange ? row->target : NAN;
        if (both * row->miss * row->miss < larger(WIDEN_FROM * own, WIDEN_MIN)) {
            continue;
        }
        double *away = sy_row_at(f->gp, f->stride, count++);
        double whole = row->wrong > 0.5 ? own + row->noise : larger(row->noise / row->weight, own);
        double scale = sqrt(both) * row->miss / whole;
        for (uint32_t k = 0; k < f->stride; k++) {
            away[k] = k < f->n ? smaller(larger(scale * column[k], -AWAY_MAX), AWAY_MAX) : 0;
        }
    }
    memset(f->next, 0, f->stride * sizeof *f->next);
    for (uint32_t i = 0; i < count; i++) {
        sy_nudge(f->p, f->stride, f->n, sy_row_at(f->gp, f->stride, i), f->next, 1, 1);
    }
}

/* The range that a mean may take grows with every reading that is believed. */
static void widen_range(struct sy_filter *f, uint32_t relations) {
    for (uint32_t i = relations; i < f->row_count; i++) {
        const struct sy_row *row = &f->rows[i];
        if (row->wrong <= 0.5) {
            f->low[row->source] = smaller(f->low[row->source], row->target);
            f->high[row->source] = larger(f->high[row->source], row->target);
        }
    }
}

/* Solves until neither the mean nor the weights would change much. */
static void find_mean(struct sy_filter *f, uint32_t relations) {
    f->readings_drawn = false;
    memcpy(f->prior, f->x, f->n * sizeof *f->x);
    bool more = relations < f->row_count;
    for (uint32_t k = 0; k < 2 && more; k++) {
        /* Readings alone first: relations are drawn where these put them. */
        move(f, relations, INFINITY);
        more = weigh(f, relations, relations);
        widen_range(f, relations);
    }
    more = relations > 0 || more;
    for (uint32_t k = 0; k < ITERATIONS && more; k++) {
        sy_filter_draw_rates(f);
        double moved = move(f, 0, relations ? REACH : INFINITY);
        more = (k + 1 < ITERATIONS && weigh(f, 0, relations)) || (relations && moved > ENOUGH);
    }
}

/* Rounding may leave a variance that is not one; its variable then starts anew, alone. */
static void mend(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        double *row = sy_row_at(f->p, f->stride, i);
        if (row[i] > VARIANCE_MIN) {
            continue;
        }
        for (uint32_t j = 0; j < f->n; j++) {
            row[j] = sy_row_at(f->p, f->stride, j)[i] = 0;
        }
        row[i] = VARIANCE_MIN;
    }
}

void sy_filter_solve(struct sy_filter *f) {
    if (!f->row_count) {
        return;
    }
    uint32_t relations = relation_rows(f);
    find_mean(f, relations);
    examine(f, relations);
    blame(f, relations);
    sy_filter_learn(f);
    sy_solve_lower(f->s, f->s_stride, f->row_count, f->gp, f->stride);
    sy_downdate(f->p, f->stride, f->gp, f->row_count, f->narrow);
    mend(f);
    widen_by_doubt(f, relations);
    count_errors(f, relations);
    f->row_count = 0;
}
