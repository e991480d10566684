/* SPDX-License-Identifier: Apache-2.0
 *
 * Worlds drawn from a model: true rates that walk, jump and keep to the relations, and what a few
 * noisy counters would have read of them. Training bootstraps on these.
 *
 * A step is drawn by perturbing and then maximising: a free step of the walk, a miss for each
 * relation from its width, and the point nearest to both. That is a draw from the exact density
 * where relations are straight lines in the logarithms, and close to one where they bend little
 * within a step.
 */
#include "papers/dense.h"
#include "papers/target.h"
#include <errno.h>
#include <math.h>
#include <string.h>

struct generator {
    const struct sy_model *model;
    const struct sy_generate_options *options;
    struct sy_rng *rng;
    uint32_t n;
    struct sy_target target;
    double *theta, *shift, *x, *from;
    double *walk, *walk_precision;   /* L of the drift's covariance, and its inverse */
    double *start, *start_precision; /* the same for a new phase */
    uint32_t *turn;                  /* per pmu: the variable read last */
};

static bool allocate(struct generator *g, struct sy_arena *arena) {
    size_t n = g->n, square = n * n + 1;
    double **const squares[] = {&g->walk, &g->walk_precision, &g->start, &g->start_precision};
    double **const vectors[] = {&g->x, &g->from};
    bool have = true;
    for (uint32_t i = 0; i < SY_COUNT(squares); i++) {
        have = have && (*squares[i] = sy_arena_alloc(arena, square, sizeof(double)));
    }
    for (uint32_t i = 0; i < SY_COUNT(vectors); i++) {
        have = have && (*vectors[i] = sy_arena_alloc(arena, n + 1, sizeof(double)));
    }
    uint32_t parameters = sy_parameter_first(g->model, SY_PARAMETER_KINDS);
    g->theta = sy_arena_alloc(arena, parameters + 1, sizeof(double));
    g->shift = sy_arena_alloc(arena, g->model->factor_count + 1, sizeof(double));
    g->turn = sy_arena_alloc(arena, g->options->pmu_count + 1, sizeof *g->turn);
    return have && g->theta && g->shift && g->turn;
}

static int prepare(struct generator *g, struct sy_arena *arena) {
    uint32_t n = g->n;
    if (!allocate(g, arena)) {
        return -ENOMEM;
    }
    sy_parameters_read(g->model, g->theta);
    sy_drift_covariance(g->model, g->theta, g->walk);
    if (!sy_cholesky(g->walk, n, n, NULL)) {
        return -EDOM;
    }
    sy_dense_inverse(g->walk, n, g->walk_precision);
    for (uint32_t i = 0; i < n; i++) {
        g->start[(size_t)i * n + i] = g->model->variables[i].start_sd;
    }
    sy_dense_inverse(g->start, n, g->start_precision);
    g->target = (struct sy_target){.model = g->model,
                                   .theta = g->theta,
                                   .n = n,
                                   .steps = 1,
                                   .degrees = INFINITY,
                                   .mean = g->from,
                                   .shift = g->shift};
    return sy_target_prepare(&g->target, arena);
}

/* The next x, from where it is or, in a new phase, from the start values. */
static int move(struct generator *g, bool anew) {
    uint32_t n = g->n;
    const double *upper = anew ? g->start : g->walk;
    for (uint32_t i = 0; i < n; i++) {
        g->from[i] = anew ? g->model->variables[i].start_log : g->x[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        sy_axpy(&g->from[i], &upper[(size_t)i * n + i], sy_rng_normal(g->rng), n - i);
    }
    for (uint32_t i = 0; i < g->model->factor_count; i++) {
        g->shift[i] = g->model->factors[i].width * sy_rng_normal(g->rng);
    }
    g->target.precision = anew ? g->start_precision : g->walk_precision;
    memcpy(g->x, g->from, sizeof *g->x * n);
    return sy_target_mode(&g->target, g->x);
}

static double error_of(struct generator *g) {
    double degrees = g->options->student_degrees > 0 ? g->options->student_degrees : 4;
    return isfinite(degrees) ? sy_rng_student(g->rng, (uint32_t)fmax(1, round(degrees)))
                             : sy_rng_normal(g->rng);
}

static struct sy_observation read_one(struct generator *g, uint32_t variable, double rate) {
    const struct sy_variable *v = &g->model->variables[variable];
    double whole = rate + v->offset;
    double sd = whole > 0 ? v->noise_ratio * rate / whole : 0;
    double seen = whole * exp(fmin(sd * error_of(g), 30)) - v->offset;
    return (struct sy_observation){.variable = variable, .rate = fmax(seen, 0)};
}

/* The next variable of this pmu in the order of turns; SY_NONE: it has none. */
static uint32_t next_in_turn(struct generator *g, uint32_t pmu) {
    for (uint32_t k = 0; k < g->n; k++) {
        uint32_t i = g->turn[pmu]++ % g->n;
        if (g->model->variables[i].counter != SY_NONE && g->model->variables[i].pmu == pmu) {
            return i;
        }
    }
    return SY_NONE;
}

static uint32_t read_all(struct generator *g, const double *rates,
                         struct sy_observation *ret_readings) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct sy_variable *v = &g->model->variables[i];
        if (v->counter != SY_NONE && (!g->options->slots || v->pmu == SY_PMU_NONE)) {
            ret_readings[count++] = read_one(g, i, rates[i]);
        }
    }
    for (uint32_t pmu = 0; g->options->slots && pmu < g->options->pmu_count; pmu++) {
        uint32_t first = SY_NONE;
        for (uint32_t k = 0; k < g->options->slots[pmu]; k++) {
            uint32_t i = next_in_turn(g, pmu);
            if (i == SY_NONE || i == first) { /* all of them were read */
                g->turn[pmu] = i == first ? i : g->turn[pmu];
                break;
            }
            first = k ? first : i;
            ret_readings[count++] = read_one(g, i, rates[i]);
        }
    }
    return count;
}

static int generate(struct generator *g, double *ret_rates, struct sy_observation *ret_readings,
                    uint32_t *ret_counts) {
    for (uint32_t t = 0; t < g->options->steps; t++) {
        bool anew = sy_rng_uniform(g->rng) < g->options->jump_ratio || !t;
        int code = move(g, anew);
        if (code) {
            return code;
        }
        double *rates = &ret_rates[(size_t)t * g->n];
        for (uint32_t i = 0; i < g->n; i++) {
            rates[i] = fmax(exp(g->x[i]) - g->model->variables[i].offset, 0);
        }
        ret_counts[t] = read_all(g, rates, ret_readings);
        ret_readings += ret_counts[t];
    }
    return 0;
}

int sy_model_generate(const struct sy_model *model, const struct sy_generate_options *options,
                      struct sy_rng *rng, double *ret_rates, struct sy_observation *ret_readings,
                      uint32_t *ret_counts) {
    struct sy_arena *arena = sy_arena_create();
    struct generator g = {
        .model = model, .options = options, .rng = rng, .n = model->variable_count};
    int code = arena ? prepare(&g, arena) : -ENOMEM;
    if (!code) {
        code = generate(&g, ret_rates, ret_readings, ret_counts);
    }
    sy_arena_destroy(arena);
    return code;
}
