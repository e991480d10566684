/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' gradient from the policy's loss through the network into the belief's parameters, on
 * worlds drawn from the belief's own generative model.
 *
 * In: a frame, a model, true rates with readings. Out: the loss and its slopes. Pathwise
 * through the posterior's draws (papers/training.h), or by the papers' counting estimator with our
 * corrections. Offline: a run of the policy does not come here.
 * Papers: Symphony (ICML'20) section 5, equations 2 to 5.
 */
#include "papers/discrete.h"
#include "papers/papers.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FULLEST      0.95 /* a resource as full as this is as bad as it gets */
#define BINS         24
#define EPSILON      1e-4 /* of ln noise_sd, for the slopes of a table */
#define EXEC         4    /* place of the execution time in an action's label */
#define VALUE_WEIGHT 0.5  /* of equation 1b */

int sy_actor_belief_init(struct sy_actor_belief *b, const struct sy_paper_net *net,
                         const float *block, const struct sy_paper_step *step,
                         const struct sy_machine *machine, const struct sy_model *model) {
    const struct sy_paper_frame *f = &step->frame;
    size_t labels = (size_t)sy_paper_vertices(f) * SY_PAPER_VERTEX;
    *b = (struct sy_actor_belief){.net = net,
                                  .block = block,
                                  .step = step,
                                  .machine = machine,
                                  .model = model,
                                  .value_weight = VALUE_WEIGHT};
    b->memory = calloc(sy_paper_pass_floats(net, f) + 16, sizeof *b->memory);
    b->vertices = calloc(labels, sizeof *b->vertices);
    b->d_vertices = calloc(labels, sizeof *b->d_vertices);
    b->d_scores = calloc(f->action_count + 1u, sizeof *b->d_scores);
    b->scratch = calloc(sy_paper_scratch(net, f) + 16, sizeof *b->scratch);
    b->cost = calloc(f->action_count + 1u, sizeof *b->cost);
    if (!b->memory || !b->vertices || !b->d_vertices || !b->d_scores || !b->scratch || !b->cost) {
        sy_actor_belief_finish(b);
        return -ENOMEM;
    }
    memcpy(b->vertices, f->vertices, labels * sizeof *b->vertices);
    sy_paper_pass_lay(net, f, b->memory, &b->pass);
    return 0;
}

void sy_actor_belief_finish(struct sy_actor_belief *b) {
    free(b->memory);
    free(b->vertices);
    free(b->d_vertices);
    free(b->d_scores);
    free(b->scratch);
    free(b->cost);
    *b = (struct sy_actor_belief){0};
}

/* The place of a variable's use in the labels; SY_NONE: no resource of the machine. */
static uint32_t place_of(const struct sy_actor_belief *b, uint32_t variable) {
    uint32_t resource = b->model->variables[variable].resource;
    const struct sy_paper_frame *f = &b->step->frame;
    return resource >= f->resource_count
               ? SY_NONE
               : (f->device_count + f->memory_count + resource) * SY_PAPER_VERTEX + SY_PAPER_USE;
}

static double true_use(const struct sy_actor_belief *b, uint32_t step, uint32_t resource) {
    uint32_t n = b->model->variable_count;
    for (uint32_t i = 0; i < n; i++) {
        const struct sy_variable *v = &b->model->variables[i];
        if (v->resource == resource && isfinite(v->capacity)) {
            return fmin(b->rates[(size_t)step * n + i] / v->capacity, 1);
        }
    }
    return 0;
}

/* An action's time stretched by what is truly left of its device's memory; to wait costs 1. */
static void find_costs(struct sy_actor_belief *b, uint32_t step) {
    const struct sy_paper_frame *f = &b->step->frame;
    for (uint32_t a = 0; a < f->action_count; a++) {
        uint32_t device = f->actions[a].device;
        uint32_t r = device == SY_NONE
                         ? SY_NONE
                         : b->machine->memories[b->machine->devices[device].memory].resource;
        double exec = (double)f->candidates[(size_t)a * SY_PAPER_CANDIDATE + EXEC];
        double left = r == SY_NONE ? 1 : 1 - FULLEST * true_use(b, step, r);
        b->cost[a] = device == SY_NONE ? 1 : (0.2 + exec) / left;
    }
}

/* The loss with the labels as they are; slopes of the labels go to d_vertices, weighted. */
static double loss_here(struct sy_actor_belief *b, double weight) {
    float state[2 * SY_PAPER_HIDDEN], d_state[2 * SY_PAPER_HIDDEN] = {0};
    struct sy_paper_frame frame = b->step->frame;
    double expected = 0, mean = 0;
    frame.vertices = b->vertices;
    memcpy(state, b->step->state, sizeof state);
    sy_paper_forward(b->net, b->block, &frame, state, &b->pass);
    for (uint32_t a = 0; a < frame.action_count; a++) {
        expected += (double)b->pass.probability[a] * b->cost[a];
        mean += b->cost[a] / frame.action_count;
    }
    for (uint32_t a = 0; a < frame.action_count; a++) {
        b->d_scores[a] = (float)(weight * (double)b->pass.probability[a] * (b->cost[a] - expected));
    }
    double miss = (double)b->pass.value + mean;
    float *slopes = b->slopes;
    if (!slopes) { /* nobody wants them, but the pass needs a place */
        slopes = calloc(SY_PAPER_COUNT, sizeof *slopes);
    }
    if (slopes) {
        sy_paper_backward(b->net, b->block, &frame, &b->pass, b->d_scores,
                          (float)(weight * b->value_weight * 2 * miss), d_state, b->scratch, slopes,
                          b->d_vertices);
    }
    if (slopes != b->slopes) {
        free(slopes);
    }
    return expected + b->value_weight * miss * miss;
}

double sy_actor_belief_loss(void *user, struct sy_draws *draws) {
    struct sy_actor_belief *b = user;
    double sum = 0, weight = 1.0 / draws->count;
    find_costs(b, draws->step);
    for (uint32_t s = 0; s < draws->count; s++) {
        const double *uses = draws->utilisations + (size_t)s * draws->n;
        for (uint32_t i = 0; i < draws->n; i++) {
            uint32_t at = place_of(b, i);
            if (at != SY_NONE) {
                b->vertices[at] = (float)uses[i];
            }
        }
        sum += weight * loss_here(b, weight);
        for (uint32_t i = 0; draws->utilisation_slopes && i < draws->n; i++) {
            uint32_t at = place_of(b, i);
            if (at != SY_NONE) {
                draws->utilisation_slopes[(size_t)s * draws->n + i] += (double)b->d_vertices[at];
            }
        }
    }
    return sum;
}

/* --- the papers' estimator -----------------------------------------------------------------------
 */
static double middle(uint32_t bin) {
    return (bin + 0.5) / BINS;
}

/* Table of reading given use, for a noise. */
static void reading_table(double noise_sd, const double *edges, double *ret_table) {
    double unused[BINS];
    for (uint32_t a = 0; a < BINS; a++) {
        sy_discrete_normal_row(middle(a), noise_sd, edges, BINS, ret_table + (size_t)a * BINS,
                               unused);
    }
}

double sy_actor_belief_counting(struct sy_actor_belief *b, const struct sy_actor_counting *c,
                                double *ret_slope) {
    static const uint32_t parent[] = {0};
    double edges[BINS - 1], prior[BINS], unused[BINS], table[BINS * BINS];
    double above[BINS * BINS], slope[BINS * BINS], weights[BINS * BINS];
    struct sy_discrete net = {0};
    for (uint32_t i = 0; i + 1 < BINS; i++) {
        edges[i] = (i + 1.0) / BINS;
    }
    sy_discrete_normal_row(c->prior_mean, c->prior_sd, edges, BINS, prior, unused);
    reading_table(c->noise_sd * exp(EPSILON), edges, above);
    reading_table(c->noise_sd * exp(-EPSILON), edges, slope);
    reading_table(c->noise_sd, edges, table);
    for (uint32_t i = 0; i < BINS * BINS; i++) {
        slope[i] = (above[i] - slope[i]) / (2 * EPSILON);
    }
    sy_discrete_add(&net, BINS, NULL, 0, prior);
    sy_discrete_add(&net, BINS, parent, 1, table);
    struct sy_discrete_parameter noise = {1, slope};
    struct sy_discrete_event seen = sy_discrete_any();
    double at = fmin(fmax(c->reading, 0), 1 - 1e-9) * BINS, value = 0, sum = 0;
    seen.value[1] = (uint32_t)at;
    struct sy_rng rng = sy_rng_make(c->seed, 0x636f756e, 0);
    if (c->sample_count) {
        sy_discrete_sample(&net, &rng, c->sample_count, weights);
    } else {
        sy_discrete_exact(&net, weights);
    }
    double evidence = sy_discrete_weight(&net, weights, &seen);
    uint32_t place = place_of(b, c->variable);
    find_costs(b, 0);
    for (uint32_t a = 0; a < BINS && place != SY_NONE && evidence > 0; a++) {
        struct sy_discrete_event both = seen;
        struct sy_discrete_query query = {0, a, seen};
        both.value[0] = a;
        b->vertices[place] = (float)middle(a);
        double loss = loss_here(b, 1);
        value += sy_discrete_weight(&net, weights, &both) / evidence * loss;
        sum += loss * (c->sample_count ? sy_counting_gradient(&net, weights, c->sample_count,
                                                              &query, &noise, SY_COUNTING_CORRECTED)
                                       : sy_discrete_exact_gradient(&net, &query, &noise));
    }
    *ret_slope = sum;
    return value;
}
