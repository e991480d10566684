/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: the papers' counting estimator converges once corrected, and not as printed; the pathwise
 * gradient needs fewer samples and costs about as much as a few evaluations.
 *
 * Usage: gradients [SEED]. Prints tables: root mean square error of each estimator, relative to the
 * exact gradient, and processor time per estimate, against the number of samples; then what the
 * gradient through the filter's posterior costs. docs/bench/gradients.md keeps a run.
 */
#include "../tests/papers/nets.h"
#include "papers/training.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PRINTED, DISTINCT, CORRECTED, SCORE, PATHWISE, ESTIMATORS };
static const char *const titles[] = {"printed", "distinct only", "corrected", "score function",
                                     "pathwise"};

struct cell {
    double mean, error, time_us; /* error: root mean square, relative */
};

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

/* --- a continuous chain, cut into bins: A = noise, B = A + theta + noise, X = B + noise --------
 */
#define BINS 32

static double middle(double half_width, uint32_t bin) {
    return half_width * (-1 + (2 * bin + 1.0) / BINS);
}

static struct net_case binned(void) {
    static double a[BINS], b[BINS * BINS], slope[BINS * BINS], x[2 * BINS];
    double edges[2][BINS - 1], unused[BINS]; /* of A over [-4,4], of B over [-6,6] */
    for (uint32_t i = 0; i + 1 < BINS; i++) {
        edges[0][i] = 4 * (-1 + 2 * (i + 1.0) / BINS);
        edges[1][i] = 1.5 * edges[0][i];
    }
    sy_discrete_normal_row(0, 1, edges[0], BINS, a, unused);
    for (uint32_t i = 0; i < BINS; i++) {
        size_t row = (size_t)i * BINS;
        sy_discrete_normal_row(middle(4, i), 1, edges[1], BINS, &b[row], &slope[row]);
        sy_discrete_normal_row(middle(6, i), 1, (double[]){1}, 2, &x[(size_t)2 * i], unused);
    }
    struct net_case made = {.name = "binned",
                            .what = "A -> B -> X in 32 bins, d Pr(X > 1) / d theta"};
    sy_discrete_add(&made.net, BINS, NULL, 0, a);
    sy_discrete_add(&made.net, BINS, (uint32_t[]){0}, 1, b);
    sy_discrete_add(&made.net, 2, (uint32_t[]){1}, 1, x);
    made.query = (struct sy_discrete_query){2, 1, sy_discrete_any()};
    made.parameter = (struct sy_discrete_parameter){1, slope};
    return made;
}

/* The same without bins: Pr(X > 1 | b) = Phi(b - 1) has a density as its slope, and b moves with
 * theta. */
static double pathwise(uint32_t samples, struct sy_rng *rng) {
    double sum = 0;
    for (uint32_t i = 0; i < samples; i++) {
        double z = sy_rng_normal(rng) + sy_rng_normal(rng) - 1;
        sum += exp(-z * z / 2) / sqrt(2 * M_PI);
    }
    return sum / samples;
}

static double binned_exact(void) {
    return exp(-1.0 / 6) / sqrt(6 * M_PI); /* density of N(0, 3) at 1 */
}

/* --- tables -------------------------------------------------------------------------------------
 */
static double estimate(const struct net_case *c, uint32_t estimator, uint32_t samples,
                       struct sy_rng *rng, double *weights) {
    static const enum sy_counting_form forms[] = {SY_COUNTING_PRINTED, SY_COUNTING_DISTINCT,
                                                  SY_COUNTING_CORRECTED};
    if (estimator == PATHWISE) {
        return pathwise(samples, rng);
    }
    sy_discrete_sample(&c->net, rng, samples, weights);
    return estimator == SCORE ? sy_score_gradient(&c->net, weights, &c->query, &c->parameter)
                              : sy_counting_gradient(&c->net, weights, samples, &c->query,
                                                     &c->parameter, forms[estimator]);
}

static struct cell measure(const struct net_case *c, uint32_t estimator, uint32_t samples,
                           double exact, uint64_t seed) {
    static double weights[4096];
    struct sy_rng rng = sy_rng_make(seed, estimator, samples);
    uint32_t rounds = samples > 10000 ? 30 : 200;
    struct cell cell = {0};
    double start = now_us();
    for (uint32_t i = 0; i < rounds; i++) {
        double found = estimate(c, estimator, samples, &rng, weights);
        cell.mean += found / rounds;
        cell.error += (found - exact) * (found - exact) / rounds;
    }
    cell.time_us = (now_us() - start) / rounds;
    cell.error = sqrt(cell.error) / fabs(exact);
    return cell;
}

static void print_case(const struct net_case *c, double exact, uint32_t estimators, uint64_t seed) {
    printf("%s: %s; exact %.4f\n", c->name, c->what, exact);
    printf("  %-15s %8s %12s %12s %10s\n", "estimator", "samples", "mean", "error", "us");
    for (uint32_t e = 0; e < estimators; e++) {
        for (uint32_t samples = 100; samples <= 100000; samples *= 10) {
            struct cell cell = measure(c, e, samples, exact, seed);
            printf("  %-15s %8u %12.4g %11.3g%% %10.1f\n", titles[e], samples, cell.mean,
                   100 * cell.error, cell.time_us);
        }
    }
    printf("\n");
}

/* --- the gradient through the posterior ---------------------------------------------------------
 */
static double mean_square(void *user, struct sy_draws *draws) {
    (void)user;
    double sum = 0, share = 1.0 / draws->count;
    for (size_t i = 0; i < (size_t)draws->count * draws->n; i++) {
        sum += share * draws->utilisations[i] * draws->utilisations[i];
        draws->utilisation_slopes[i] += 2 * share * draws->utilisations[i];
    }
    return sum;
}

/* n variables, a relation out = a + b for every third. */
static struct sy_model *make_model(uint32_t n, struct sy_rng *rng) {
    struct sy_model *model = sy_model_create("bench");
    for (uint32_t i = 0; model && i < n; i++) {
        struct sy_variable v = {.name = "v",
                                .counter = i,
                                .start_log = 4 + sy_rng_uniform(rng),
                                .start_sd = 0.5,
                                .drift_sd = 0.1,
                                .noise_ratio = 0.1,
                                .offset = 1,
                                .capacity = 300,
                                .resource = SY_NONE};
        sy_model_add_variable(model, &v);
    }
    for (uint32_t i = 0; model && i + 2 < n; i += 3) {
        struct sy_factor f = {.kind = SY_FACTOR_EQUAL, .why = "bench", .out = i, .width = 0.05};
        struct sy_term terms[] = {{i + 1, 0.5}, {i + 2, 0.5}};
        sy_model_add_factor(model, &f, terms, 2);
    }
    return model;
}

static void print_posterior(uint32_t n, uint32_t steps, uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 77, n);
    struct sy_model *model = make_model(n, &rng);
    uint32_t parameters = sy_parameter_first(model, SY_PARAMETER_KINDS);
    double *rates = calloc((size_t)n * steps, sizeof *rates);
    struct sy_observation *readings = calloc((size_t)n * steps, sizeof *readings);
    uint32_t *counts = calloc(steps, sizeof *counts);
    double *theta = calloc(parameters, sizeof *theta);
    double *gradient = calloc(parameters, sizeof *gradient);
    struct sy_generate_options options = {
        .steps = steps, .slots = (uint32_t[]){8}, .pmu_count = 1, .jump_ratio = 0.05};
    struct sy_loss loss = {mean_square, NULL};
    double value, times[2] = {INFINITY, INFINITY};
    if (rates && readings && counts && theta && gradient &&
        !sy_model_generate(model, &options, &rng, rates, readings, counts)) {
        sy_parameters_read(model, theta);
        for (uint32_t k = 0; k < 10; k++) {
            double start = now_us();
            int code = sy_gradient(model, theta, readings, counts, steps, NULL, &loss, &value,
                                   k % 2 ? gradient : NULL);
            times[k % 2] = code ? NAN : fmin(times[k % 2], now_us() - start);
        }
    }
    printf("  %9u %6u %11u %10.2f %12.2f %8.1f\n", n, steps, parameters, times[0] / 1e3,
           times[1] / 1e3, times[1] / times[0]);
    free(rates);
    free(readings);
    free(counts);
    free(theta);
    free(gradient);
    sy_model_destroy(model);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    struct net_case cases[NET_CASES];
    uint32_t count = net_cases(cases);
    printf("seed %llu; error: root mean square over 200 runs (30 at 100000 samples), relative to "
           "the exact gradient; us: processor time of one estimate, samples included\n\n",
           (unsigned long long)seed);
    for (uint32_t i = 0; i < count; i++) {
        double exact =
            sy_discrete_exact_gradient(&cases[i].net, &cases[i].query, &cases[i].parameter);
        print_case(&cases[i], exact, PATHWISE, seed);
    }
    struct net_case cut = binned();
    print_case(&cut, binned_exact(), ESTIMATORS, seed);
    printf("gradient through the posterior, 32 draws a step; best of 5, ms of processor time\n");
    printf("  %9s %6s %11s %10s %12s %8s\n", "variables", "steps", "parameters", "value",
           "and gradient", "ratio");
    const uint32_t sizes[] = {20, 60, 100};
    for (uint32_t i = 0; i < SY_COUNT(sizes); i++) {
        print_posterior(sizes[i], 1, seed);
        print_posterior(sizes[i], 20, seed);
    }
    return 0;
}
