/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter's life, and what it tells. filter_step.c moves it on.
 */
#include "belief/filter.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PURPOSE_SIGNS = 0x7369676e };
/* The widest a ln rate may become: a factor of e^6 either way says "unknown". */
static const double VARIANCE_MAX = 36;
static const double RANGE_START = 2; /* standard deviations of the start */
static const double WIDTH_GROWTH = 5;

static bool allocate(struct sy_filter *f) {
    const struct sy_model *model = f->model;
    uint32_t rows = SY_READINGS_MAX + model->factor_count;
    f->rows_max = sy_padded(rows < SY_ROWS_MAX ? rows : SY_ROWS_MAX);
    size_t n = f->stride, m = f->rows_max, terms = model->term_count + model->factor_count + m;
    struct {
        double **to;
        size_t count;
    } wanted[] = {
        {&f->p, n * n},  {&f->q, n * n},      {&f->ahead, n * n},    {&f->x, n},
        {&f->prior, n},  {&f->next, n},       {&f->rate, n},         {&f->ceiling, n},
        {&f->age_ns, n}, {&f->doubt, n},      {&f->refused, n},      {&f->low, n},
        {&f->high, n},   {&f->column_two, n}, {&f->column, n},       {&f->gp, (m + 3) * n},
        {&f->s, m * m},  {&f->floors, m},     {&f->gradient, terms}, {&f->way, n},
        {&f->keeps, n}};
    for (size_t i = 0; i < SY_COUNT(wanted); i++) {
        if (!(*wanted[i].to = sy_arena_alloc(f->arena, wanted[i].count, sizeof(double)))) {
            return false;
        }
    }
    f->factors = sy_arena_alloc(f->arena, model->factor_count + 1, sizeof *f->factors);
    f->gradient_variable = sy_arena_alloc(f->arena, terms, sizeof *f->gradient_variable);
    f->narrow = sy_arena_alloc(f->arena, m * n, sizeof *f->narrow);
    f->ahead_narrow = sy_arena_alloc(f->arena, n * n, sizeof *f->ahead_narrow);
    f->product = sy_arena_alloc(f->arena, 3 * n, sizeof *f->product);
    f->gain = f->product + n;
    f->left = f->gain + n;
    return f->factors && f->narrow && f->ahead_narrow && f->product && f->gradient_variable;
}

/* Process covariance of one step, as the model has it. */
static void fill_q(struct sy_filter *f) {
    const struct sy_model *model = f->model;
    for (uint32_t i = 0; i < f->n; i++) {
        double *row = f->q + (size_t)i * f->stride;
        double drift = model->variables[i].drift_sd;
        memset(row, 0, f->stride * sizeof *row);
        row[i] = drift * drift;
        if (model->covariance) {
            memcpy(row, model->covariance + (size_t)i * f->n, f->n * sizeof *row);
        }
        row[i] = fmax(row[i], 1e-10);
    }
}

static void defaults(struct sy_filter_options *options) {
    options->student_degrees = options->student_degrees > 0 ? options->student_degrees : 4;
    options->active_share = options->active_share > 0 ? options->active_share : 0.75;
}

int sy_filter_create(const struct sy_model *model, const struct sy_filter_options *options,
                     struct sy_filter **ret_filter) {
    if (sy_model_check(model, NULL)) {
        return -EINVAL;
    }
    struct sy_filter *f = calloc(1, sizeof *f);
    if (!f || !(f->arena = sy_arena_create())) {
        free(f);
        return -ENOMEM;
    }
    f->model = model;
    f->options = options ? *options : (struct sy_filter_options){0};
    defaults(&f->options);
    f->n = model->variable_count;
    f->stride = sy_padded(f->n);
    if (!allocate(f) || sy_choose_prepare(f)) {
        sy_filter_destroy(f);
        return -ENOMEM;
    }
    sy_filter_reset(f);
    *ret_filter = f;
    return 0;
}

void sy_filter_destroy(struct sy_filter *filter) {
    if (filter) {
        sy_arena_destroy(filter->arena);
        free(filter);
    }
}

size_t sy_filter_bytes(const struct sy_filter *filter) {
    return sizeof *filter + sy_arena_bytes(filter->arena);
}

void sy_filter_reset(struct sy_filter *f) {
    memset(f->p, 0, sizeof *f->p * f->stride * f->stride);
    fill_q(f);
    f->signs = sy_rng_make(f->options.seed, PURPOSE_SIGNS, 0);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct sy_variable *v = &f->model->variables[i];
        double variance = fmin(v->start_sd * v->start_sd, VARIANCE_MAX);
        f->x[i] = v->start_log;
        f->p[(size_t)i * f->stride + i] = variance;
        f->ceiling[i] = fmax(4 * variance, fmin(VARIANCE_MAX, 4));
        f->age_ns[i] = INFINITY;
        f->doubt[i] = 0;
        f->refused[i] = NAN;
        f->low[i] = v->start_log - RANGE_START * v->start_sd;
        f->high[i] = v->start_log + RANGE_START * v->start_sd;
    }
    for (uint32_t i = 0; i < f->model->factor_count; i++) {
        f->factors[i] = (struct sy_factor_now){
            .width = f->model->factors[i].width,
            .width_max = WIDTH_GROWTH * f->model->factors[i].width,
            .surprise = 1,
        };
    }
    f->rates_drawn = false;
    f->ahead_steps = -1;
    f->trust = f->told = f->heard = 0;
    f->ignored = f->steps = 0;
    f->odd_count = 1;
    f->read_count = 100;
    f->error_share = 0.04;
    f->examined = 0;
}

static struct sy_posterior of_log(double mean, double variance, double offset) {
    double sd = sqrt(variance);
    struct sy_posterior out = {
        .mean = exp(mean + fmin(variance, 4) / 2) - offset,
        .median = exp(mean) - offset,
        .low = exp(mean - 1.96 * sd) - offset,
        .high = exp(mean + 1.96 * sd) - offset,
        .log_mean = mean,
        .log_sd = sd,
    };
    out.mean = fmax(out.mean, 0);
    out.median = fmax(out.median, 0);
    out.low = fmax(out.low, 0);
    out.high = fmax(out.high, 0);
    return out;
}

struct sy_posterior sy_filter_estimate(const struct sy_filter *f, uint32_t variable) {
    SY_ASSERT(variable < f->n);
    struct sy_posterior out = of_log(f->x[variable], f->p[(size_t)variable * f->stride + variable],
                                     f->model->variables[variable].offset);
    out.age_ns = f->age_ns[variable];
    return out;
}

struct sy_posterior sy_filter_sum(const struct sy_filter *f, const struct sy_term *terms,
                                  uint32_t count) {
    double mean = 0, median = 0, variance = 0, age_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = terms[i].variable;
        SY_ASSERT(v < f->n);
        struct sy_posterior one = sy_filter_estimate(f, v);
        mean += terms[i].coefficient * one.mean;
        median += terms[i].coefficient * one.median;
        age_ns = fmax(age_ns, one.age_ns);
        for (uint32_t j = 0; j < count; j++) {
            uint32_t w = terms[j].variable;
            variance += terms[i].coefficient * terms[j].coefficient *
                        f->p[(size_t)v * f->stride + w] * exp(f->x[v] + f->x[w]);
        }
    }
    double sd = sqrt(fmax(variance, 0));
    struct sy_posterior out = {.mean = mean, .median = median, .age_ns = age_ns};
    if (median > 0) {
        /* As a lognormal of the same spread: a sum of rates is not negative. */
        double log_sd = sqrt(log1p(sd * sd / (median * median)));
        out.log_mean = log(median);
        out.log_sd = log_sd;
        out.low = median * exp(-1.96 * log_sd);
        out.high = median * exp(1.96 * log_sd);
    } else {
        out.log_mean = -INFINITY;
        out.log_sd = INFINITY;
        out.low = median - 1.96 * sd;
        out.high = median + 1.96 * sd;
    }
    return out;
}

void sy_filter_sample(const struct sy_filter *f, struct sy_rng *rng, double *ret_rates) {
    /* x + U'z needs the whole triangle; pivots one row at a time in the scratch of the choice. */
    double *u = f->ahead;
    ((struct sy_filter *)f)->ahead_steps = -1;
    memcpy(u, f->p, sizeof *u * f->stride * f->stride);
    for (uint32_t i = 0; i < f->n; i++) {
        f->column[i] = 1e-12;
        ret_rates[i] = f->x[i];
    }
    sy_cholesky(u, f->stride, f->n, f->column);
    for (uint32_t i = 0; i < f->n; i++) {
        double z = sy_rng_normal(rng);
        for (uint32_t j = i; j < f->n; j++) {
            ret_rates[j] += z * u[(size_t)i * f->stride + j];
        }
    }
    for (uint32_t i = 0; i < f->n; i++) {
        ret_rates[i] = fmax(exp(ret_rates[i]) - f->model->variables[i].offset, 0);
    }
}

struct sy_factor_state sy_filter_factor(const struct sy_filter *f, uint32_t factor) {
    SY_ASSERT(factor < f->model->factor_count);
    const struct sy_factor_now *now = &f->factors[factor];
    return (struct sy_factor_state){now->width, now->rejected, sqrt(now->surprise)};
}

uint64_t sy_filter_ignored(const struct sy_filter *f) {
    return f->ignored;
}
