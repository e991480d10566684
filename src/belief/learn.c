/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning a model's numbers from complete series: how ln rates change together from step to step,
 * where they start, how fast they settle there, and how exactly each relation holds.
 */
#include "belief/filter.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CHANGE_MAX = 2; /* larger changes count as this much: phases begin and end */

static double log_rate(const struct sy_model *model, const double *rates, uint32_t i) {
    return log(fmax(rates[i], 0) + model->variables[i].offset + 1e-30);
}

static void learn_starts(struct sy_model *model, const double *rates, uint64_t count) {
    uint32_t n = model->variable_count;
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0, square = 0;
        for (uint64_t t = 0; t < count; t++) {
            double x = log_rate(model, rates + t * n, i);
            sum += x;
            square += x * x;
        }
        double mean = sum / (double)count;
        model->variables[i].start_log = mean;
        model->variables[i].start_sd =
            fmax(sqrt(fmax(square / (double)count - mean * mean, 0)), 0.1) * 2;
    }
}

/* How much of the distance from the usual rate is gone a step later, by least squares. Programs
 * have rates of their own that they settle at: only what each of the series does is a habit. */
static void learn_settling(struct sy_model *model, const double *rates, const uint32_t *lengths,
                           uint32_t series_count) {
    uint32_t n = model->variable_count;
    for (uint32_t i = 0; i < n; i++) {
        struct sy_variable *v = &model->variables[i];
        uint64_t at = 0;
        v->settles = 1;
        for (uint32_t s = 0; s < series_count; at += lengths[s], s++) {
            double product = 0, square = 1e-30;
            for (uint64_t t = at + 1; t < at + lengths[s]; t++) {
                double before = log_rate(model, rates + (t - 1) * n, i) - v->start_log;
                product += before * (log_rate(model, rates + t * n, i) - v->start_log);
                square += before * before;
            }
            v->settles = fmax(fmin(v->settles, 1 - product / square), 0);
        }
    }
}

static void learn_covariance(struct sy_model *model, const double *rates, const uint32_t *lengths,
                             uint32_t series_count, double share, double *covariance) {
    uint32_t n = model->variable_count;
    uint64_t at = 0, count = 0;
    double change[1024];
    for (uint32_t s = 0; s < series_count; at += lengths[s], s++) {
        for (uint64_t t = at + 1; t < at + lengths[s]; t++, count++) {
            for (uint32_t i = 0; i < n; i++) {
                double d =
                    log_rate(model, rates + t * n, i) - log_rate(model, rates + (t - 1) * n, i);
                change[i] = fmin(fmax(d, -CHANGE_MAX), CHANGE_MAX);
            }
            for (uint32_t i = 0; i < n; i++) {
                sy_axpy(covariance + (size_t)i * n, change, change[i], n);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            covariance[(size_t)i * n + j] *= (i == j ? 1 : share) / (double)count;
        }
        model->variables[i].drift_sd = sqrt(covariance[(size_t)i * n + i]);
    }
}

/* Root mean square of ln left - ln right over the series. */
static int learn_widths(struct sy_model *model, const double *rates, uint64_t count) {
    uint32_t n = model->variable_count, used;
    struct sy_filter f = {.model = model};
    uint32_t *variables = calloc(model->term_count + 1, sizeof *variables);
    double *gradient = calloc(model->term_count + 1, sizeof *gradient);
    f.rate = calloc(n + 1, sizeof *f.rate);
    if (variables && gradient && f.rate) {
        for (uint32_t i = 0; i < model->factor_count; i++) {
            double square = 0;
            for (uint64_t t = 0; t < count; t++) {
                for (uint32_t k = 0; k < n; k++) {
                    f.rate[k] = fmax(rates[t * n + k], 0) + model->variables[k].offset + 1e-30;
                }
                double miss = sy_factor_linearise(&f, i, variables, gradient, &used);
                miss = model->factors[i].kind == SY_FACTOR_AT_MOST ? fmax(miss, 0) : miss;
                square += fmin(miss * miss, 1);
            }
            model->factors[i].width = fmin(fmax(sqrt(square / (double)count), 0.002), 1);
        }
    }
    int code = variables && gradient && f.rate ? 0 : -ENOMEM;
    free(variables);
    free(gradient);
    free(f.rate);
    return code;
}

int sy_model_learn(struct sy_model *model, const double *rates, const uint32_t *lengths,
                   uint32_t series_count, double share) {
    uint32_t n = model->variable_count;
    uint64_t count = 0;
    bool steps = false;
    for (uint32_t s = 0; s < series_count; s++) {
        count += lengths[s];
        steps = steps || lengths[s] > 1;
    }
    if (!steps || n > 1024 || !(share >= 0 && share <= 1)) {
        return -EINVAL;
    }
    for (uint64_t k = 0; k < count * n; k++) {
        if (!isfinite(rates[k])) {
            return -EINVAL;
        }
    }
    double *covariance = sy_arena_alloc(model->arena, (size_t)n * n, sizeof *covariance);
    int code = covariance ? learn_widths(model, rates, count) : -ENOMEM;
    if (!code) {
        learn_covariance(model, rates, lengths, series_count, share, covariance);
        learn_starts(model, rates, count);
        learn_settling(model, rates, lengths, series_count);
        model->covariance = covariance;
    }
    return code;
}
