/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference: draws from the exact posterior by Hamiltonian Monte Carlo. Slow, offline, right.
 *
 * The chains move in coordinates u in which the posterior is nearly round: x = mode + L'^-1 u, with
 * L L' the curvature at the mode. Their step is adapted during warm-up (dual averaging, Hoffman and
 * Gelman 2014, section 3.2), path lengths are random around a quarter turn. Chains begin twice as
 * wide as the posterior, so that R-hat (split, Gelman et al. 2013) can tell if one was caught.
 * Deterministic for a seed: each chain has its own stream.
 */
#include "mcmc.h"

#include "papers/dense.h"
#include "papers/target.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PURPOSE 0x6d636d63u /* "mcmc" */
static const double ACCEPT_AIM = 0.8;
static const uint32_t LEAPS_MAX = 64;

struct sampler {
    struct sy_target target;
    uint32_t all; /* dimensions */
    double *mode, *upper;
    double *u, *momentum, *force; /* of the chain */
    double *next_u, *next_force, *x;
    double energy, step;
    struct sy_rng rng;
    double accepted;
    uint32_t tried;
};

/* --- the posterior of all steps ----------------------------------------------------------------
 */
static void add_block(double *matrix, uint32_t all, uint32_t n, uint32_t row, uint32_t column,
                      double sign, const double *block) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            matrix[((size_t)row * n + i) * all + (size_t)column * n + j] +=
                sign * block[(size_t)i * n + j];
        }
    }
}

/* A random walk from the prior: block tridiagonal. square: scratch. */
static bool stack_prior(struct sy_arena *arena, const struct sy_model *model, const double *theta,
                        const double *mean, const double *covariance, struct sy_target *target) {
    uint32_t n = target->n, all = n * target->steps;
    double *q = sy_arena_alloc(arena, (size_t)n * n + 1, sizeof *q);
    double *p = sy_arena_alloc(arena, (size_t)n * n + 1, sizeof *p);
    double *inverse = sy_arena_alloc(arena, (size_t)n * n + 1, sizeof *inverse);
    double *precision = sy_arena_alloc(arena, (size_t)all * all + 1, sizeof *precision);
    double *means = sy_arena_alloc(arena, all + 1, sizeof *means);
    if (!q || !p || !inverse || !precision || !means) {
        return false;
    }
    sy_drift_covariance(model, theta, q);
    for (uint32_t i = 0; i < n; i++) {
        double sd = model->variables[i].start_sd;
        for (uint32_t j = 0; j < n; j++) {
            size_t at = (size_t)i * n + j;
            p[at] = q[at] + (covariance ? covariance[at] : i == j ? sd * sd : 0);
        }
        for (uint32_t t = 0; t < target->steps; t++) {
            means[(size_t)t * n + i] = mean ? mean[i] : model->variables[i].start_log;
        }
    }
    if (!sy_cholesky(p, n, n, NULL) || !sy_cholesky(q, n, n, NULL)) {
        return false;
    }
    sy_dense_inverse(p, n, inverse);
    add_block(precision, all, n, 0, 0, 1, inverse);
    sy_dense_inverse(q, n, inverse);
    for (uint32_t t = 1; t < target->steps; t++) {
        add_block(precision, all, n, t, t, 1, inverse);
        add_block(precision, all, n, t - 1, t - 1, 1, inverse);
        add_block(precision, all, n, t, t - 1, -1, inverse);
        add_block(precision, all, n, t - 1, t, -1, inverse);
    }
    target->mean = means;
    target->precision = precision;
    return true;
}

static bool stack_readings(struct sy_arena *arena, const struct sy_observation *readings,
                           const uint32_t *counts, struct sy_target *target) {
    uint32_t sum = 0, kept = 0;
    for (uint32_t t = 0; t < target->steps; t++) {
        sum += counts[t];
    }
    struct sy_seen *seen = sy_arena_alloc(arena, sum + 1, sizeof *seen);
    for (uint32_t t = 0; seen && t < target->steps; t++) {
        for (uint32_t i = 0; i < counts[t]; i++, readings++) {
            if (sy_seen_of(target->model, readings, &seen[kept])) {
                seen[kept++].dimension += t * target->n;
            }
        }
    }
    target->seen = seen;
    target->seen_count = kept;
    return seen;
}

/* --- one chain ----------------------------------------------------------------------------------
 */
/* Energy at u, and its gradient in u: L^-1 times that in x. */
static double energy_at(struct sampler *s, const double *u, double *ret_force) {
    memcpy(s->x, u, sizeof *u * s->all);
    sy_solve_backward(s->upper, s->all, s->all, s->x);
    for (uint32_t i = 0; i < s->all; i++) {
        s->x[i] += s->mode[i];
    }
    double energy = sy_target_energy(&s->target, s->x, ret_force);
    sy_solve_forward(s->upper, s->all, s->all, ret_force);
    return energy;
}

static void begin_chain(struct sampler *s, uint64_t seed, uint32_t chain) {
    s->rng = sy_rng_make(seed, PURPOSE, chain);
    double spread = 2;
    do {
        for (uint32_t i = 0; i < s->all; i++) {
            s->u[i] = spread * sy_rng_normal(&s->rng);
        }
        spread *= 0.8;
        s->energy = energy_at(s, s->u, s->force);
    } while (!isfinite(s->energy) && spread > 1e-3);
    s->step = 0.5;
}

/* A path of leaps with this step; returns the probability to accept its end, which is in next_u. */
static double leap(struct sampler *s, uint32_t leaps, double *ret_energy) {
    double kinetic = 0;
    for (uint32_t i = 0; i < s->all; i++) {
        s->momentum[i] = sy_rng_normal(&s->rng);
        kinetic += s->momentum[i] * s->momentum[i] / 2;
        s->next_u[i] = s->u[i];
        s->next_force[i] = s->force[i];
    }
    double energy = s->energy;
    for (uint32_t k = 0; k < leaps && isfinite(energy); k++) {
        for (uint32_t i = 0; i < s->all; i++) {
            s->momentum[i] -= s->step / 2 * s->next_force[i];
            s->next_u[i] += s->step * s->momentum[i];
        }
        energy = energy_at(s, s->next_u, s->next_force);
        for (uint32_t i = 0; i < s->all; i++) {
            s->momentum[i] -= s->step / 2 * s->next_force[i];
        }
    }
    double change = s->energy + kinetic - energy;
    for (uint32_t i = 0; i < s->all; i++) {
        change -= s->momentum[i] * s->momentum[i] / 2;
    }
    *ret_energy = energy;
    return isfinite(change) ? fmin(1, exp(change)) : 0;
}

static double move(struct sampler *s) {
    double length = M_PI / 2 * (0.5 + sy_rng_uniform(&s->rng)), energy;
    uint32_t leaps = (uint32_t)fmin(ceil(length / s->step), LEAPS_MAX);
    double probability = leap(s, leaps, &energy);
    if (sy_rng_uniform(&s->rng) < probability) {
        memcpy(s->u, s->next_u, sizeof *s->u * s->all);
        memcpy(s->force, s->next_force, sizeof *s->force * s->all);
        s->energy = energy;
    }
    return probability;
}

/* Dual averaging of ln step towards the share of acceptances that suits. */
static void warm_up(struct sampler *s, uint32_t count) {
    double aim = log(10 * s->step), gap = 0, smooth = 0;
    for (uint32_t k = 1; k <= count; k++) {
        double rate = 1.0 / (k + 10), fade = pow(k, -0.75);
        gap += rate * (ACCEPT_AIM - move(s) - gap);
        double log_step = fmin(aim - sqrt(k) / 0.05 * gap, 0.4);
        smooth += fade * (log_step - smooth);
        s->step = exp(log_step);
    }
    s->step = count ? exp(smooth) : s->step;
}

static void run_chain(struct sampler *s, uint64_t seed, uint32_t chain, uint32_t warmup,
                      uint32_t count, double *ret_draws) {
    begin_chain(s, seed, chain);
    warm_up(s, warmup);
    for (uint32_t k = 0; k < count; k++) {
        s->accepted += move(s);
        s->tried++;
        double *x = &ret_draws[(size_t)k * s->all];
        memcpy(x, s->u, sizeof *x * s->all);
        sy_solve_backward(s->upper, s->all, s->all, x);
        for (uint32_t i = 0; i < s->all; i++) {
            x[i] += s->mode[i];
        }
    }
}

/* --- what the draws say -------------------------------------------------------------------------
 */
struct halves {
    const double *first; /* of one dimension, in the first chain */
    uint32_t count, length, stride;
};

static double at(const struct halves *h, uint32_t half, uint32_t k) {
    return h->first[((size_t)half * h->length + k) * h->stride];
}

/* Autocovariance of one half at a lag. */
static double covariance(const struct halves *h, uint32_t half, double mean, uint32_t lag) {
    double sum = 0;
    for (uint32_t k = 0; k + lag < h->length; k++) {
        sum += (at(h, half, k) - mean) * (at(h, half, k + lag) - mean);
    }
    return sum / h->length;
}

/* Split R-hat and effective size: the sum of autocorrelations over pairs of lags, as long as the
 * pairs stay positive (Geyer 1992; Gelman et al., Bayesian Data Analysis, 11.5). */
static void diagnose(const struct halves *h, double *ret_mean, double *ret_sd, double *ret_r_hat,
                     double *ret_effective) {
    double means[64], mean = 0, within = 0, between = 0, length = h->length, pairs = 0;
    for (uint32_t c = 0; c < h->count; c++) {
        double sum = 0;
        for (uint32_t k = 0; k < h->length; k++) {
            sum += at(h, c, k);
        }
        means[c] = sum / length;
        mean += means[c] / h->count;
    }
    for (uint32_t c = 0; c < h->count; c++) {
        between += (means[c] - mean) * (means[c] - mean) / (h->count - 1);
        within += covariance(h, c, means[c], 0) * length / (length - 1) / h->count;
    }
    double whole = within * (length - 1) / length + between;
    for (uint32_t lag = 1; lag + 1 < h->length; lag += 2) {
        double both = 0;
        for (uint32_t c = 0; c < h->count; c++) {
            both +=
                (covariance(h, c, means[c], lag) + covariance(h, c, means[c], lag + 1)) / h->count;
        }
        double correlation = 2 - (2 * within - both) / whole;
        if (!(correlation > 0)) {
            break;
        }
        pairs += correlation;
    }
    *ret_mean = mean;
    *ret_sd = sqrt(whole);
    *ret_r_hat = sqrt(whole / within);
    *ret_effective = fmin(h->count * length / (1 + 2 * pairs), h->count * length);
}

static void summarise(struct sy_mcmc *mcmc, uint32_t chains, uint32_t draws) {
    mcmc->worst_r_hat = 0;
    mcmc->least_effective = INFINITY;
    for (uint32_t i = 0; i < mcmc->dimensions; i++) {
        struct halves h = {mcmc->draws + i, 2 * chains, draws / 2, mcmc->dimensions};
        diagnose(&h, &mcmc->mean[i], &mcmc->sd[i], &mcmc->r_hat[i], &mcmc->effective[i]);
        mcmc->worst_r_hat = fmax(mcmc->worst_r_hat, mcmc->r_hat[i]);
        mcmc->least_effective = fmin(mcmc->least_effective, mcmc->effective[i]);
    }
}

/* --- the whole ----------------------------------------------------------------------------------
 */
static bool sampler_alloc(struct sampler *s, struct sy_arena *arena) {
    double **const vectors[] = {&s->mode,   &s->u,          &s->momentum, &s->force,
                                &s->next_u, &s->next_force, &s->x};
    bool have = true;
    for (uint32_t i = 0; i < SY_COUNT(vectors); i++) {
        have = have && (*vectors[i] = sy_arena_alloc(arena, s->all + 1, sizeof(double)));
    }
    s->upper = sy_arena_alloc(arena, (size_t)s->all * s->all + 1, sizeof(double));
    return have && s->upper && !sy_target_prepare(&s->target, arena);
}

static struct sy_mcmc *mcmc_create(uint32_t dimensions, uint32_t draw_count) {
    struct sy_mcmc *mcmc = calloc(1, sizeof *mcmc);
    if (!mcmc || !(mcmc->arena = sy_arena_create())) {
        free(mcmc);
        return NULL;
    }
    mcmc->dimensions = dimensions;
    mcmc->draw_count = draw_count;
    mcmc->draws = sy_arena_alloc(mcmc->arena, (size_t)dimensions * draw_count, sizeof(double));
    double *four = sy_arena_alloc(mcmc->arena, (size_t)4 * dimensions, sizeof(double));
    if (!mcmc->draws || !four) {
        sy_mcmc_destroy(mcmc);
        return NULL;
    }
    mcmc->mean = four;
    mcmc->sd = four + dimensions;
    mcmc->r_hat = four + (size_t)2 * dimensions;
    mcmc->effective = four + (size_t)3 * dimensions;
    return mcmc;
}

void sy_mcmc_destroy(struct sy_mcmc *mcmc) {
    if (mcmc) {
        sy_arena_destroy(mcmc->arena);
        free(mcmc);
    }
}

static int settle(struct sampler *s) {
    memcpy(s->mode, s->target.mean, sizeof *s->mode * s->all);
    int code = sy_target_mode(&s->target, s->mode);
    if (!code) {
        sy_target_curvature(&s->target, s->mode, false, s->upper);
        code = sy_cholesky(s->upper, s->all, s->all, NULL) ? 0 : -EDOM;
    }
    return code;
}

static void defaults(struct sy_mcmc_options *o) {
    o->chains = o->chains ? o->chains : 4;
    o->chains = o->chains < 32 ? o->chains : 32;
    o->warmup = o->warmup ? o->warmup : 500;
    o->draws = o->draws ? (o->draws + 1) / 2 * 2 : 1000;
    o->student_degrees = o->student_degrees > 0 ? o->student_degrees : 4;
}

int sy_mcmc_run(const struct sy_model *model, const double *prior_mean,
                const double *prior_covariance, const struct sy_observation *readings,
                const uint32_t *counts, uint32_t steps, const struct sy_mcmc_options *options,
                struct sy_mcmc **ret_mcmc) {
    struct sy_mcmc_options o = options ? *options : (struct sy_mcmc_options){0};
    defaults(&o);
    if (!steps || !model->variable_count || sy_model_check(model, NULL)) {
        return -EINVAL;
    }
    struct sampler s = {.all = model->variable_count * steps};
    s.target = (struct sy_target){
        .model = model, .n = model->variable_count, .steps = steps, .degrees = o.student_degrees};
    struct sy_mcmc *mcmc = mcmc_create(s.all, o.chains * o.draws);
    struct sy_arena *arena = mcmc ? mcmc->arena : NULL;
    uint32_t parameters = sy_parameter_first(model, SY_PARAMETER_KINDS);
    double *theta = mcmc ? sy_arena_alloc(arena, parameters, sizeof *theta) : NULL;
    if (!theta || !sampler_alloc(&s, arena)) {
        sy_mcmc_destroy(mcmc);
        return -ENOMEM;
    }
    sy_parameters_read(model, theta);
    s.target.theta = theta;
    int code = stack_prior(arena, model, theta, prior_mean, prior_covariance, &s.target) &&
                       stack_readings(arena, readings, counts, &s.target)
                   ? settle(&s)
                   : -EDOM;
    for (uint32_t c = 0; !code && c < o.chains; c++) {
        run_chain(&s, o.seed, c, o.warmup, o.draws, &mcmc->draws[(size_t)c * o.draws * s.all]);
    }
    if (code) {
        sy_mcmc_destroy(mcmc);
        return code;
    }
    summarise(mcmc, o.chains, o.draws);
    mcmc->accepted = s.accepted / s.tried;
    *ret_mcmc = mcmc;
    return 0;
}
