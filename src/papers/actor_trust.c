/* SPDX-License-Identifier: Apache-2.0
 *
 * The belief's free parameters, trained through the network that reads it; see actor.h.
 *
 * In: an actor with an episode on its tape, its world. Out: parameters a step on; the network is as
 * it was. Invariant: the same steps give the same bytes; parameters stay where a belief can be
 * computed. Papers: Symphony (ICML'20) section 5.
 */
#include "papers/actor_state.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PURPOSE   0x74727374u /* random numbers no other room draws */
#define STEPS     5           /* of the world that is generated */
#define DRAWS     4
#define COUNTED   2000 /* samples of the counting estimator */
#define RESOURCES 4    /* looked at by it, in one step */
#define NOISE     0.2  /* of a counter of which one knows nothing */
#define NOISE_MIN 0.01
#define NOISE_MAX 1.5
#define WIDTH_MAX 10.0
#define USE       0.35 /* of a resource, typical */
#define USE_SD    0.6  /* of its logarithm */
#define RATE      0.03 /* of Adam, at the rate's default */
#define RATE_NET  0.002

const char *sy_actor_gradient_name(uint32_t gradient) {
    static const char *const names[SY_GRADIENTS] = {"none", "pathwise", "paper"};
    return gradient < SY_GRADIENTS ? names[gradient] : NULL;
}

struct sy_actor_trust sy_actor_trust_start(void) {
    struct sy_actor_trust trust = {.loss = NAN};
    for (uint32_t i = 0; i < SY_TRUST_WIDTH; i++) {
        trust.ln[i] = logf((float)NOISE);
    }
    return trust;
}

/* One decision again: what it was, the world it is taken in, what is believed of that. */
struct again {
    struct sy_actor_belief belief;
    struct sy_model *truth, *model;
    const struct sy_machine *machine;
    double *rates, *theta, *slope;
    struct sy_observation *readings;
    uint32_t counts[STEPS];
};

static void again_finish(struct again *a) {
    sy_actor_belief_finish(&a->belief);
    sy_model_destroy(a->truth);
    sy_model_destroy(a->model);
    free(a->rates);
    free(a->theta);
    free(a->slope);
    free(a->readings);
}

static void set_model(struct sy_model *model, const struct sy_machine *machine, double noise,
                      const struct sy_actor_trust *trust) {
    for (uint32_t i = 0; i < model->variable_count; i++) {
        struct sy_variable *v = &model->variables[i];
        enum sy_resource_kind kind = machine->resources[v->resource].kind;
        v->counter = i;
        v->start_log = log(USE * v->capacity);
        v->start_sd = USE_SD;
        v->noise_ratio = trust ? exp((double)trust->ln[kind]) : fmax(noise, NOISE_MIN);
    }
    for (uint32_t i = 0; trust && i < model->factor_count; i++) {
        model->factors[i].width *= exp((double)trust->ln[SY_TRUST_WIDTH]);
    }
}

static int make_models(struct again *a, double noise, const struct sy_actor_trust *trust,
                       struct sy_rng *rng, struct sy_error *error) {
    int code = sy_model_of_machine(a->machine, &a->truth, error);
    code = code ? code : sy_model_of_machine(a->machine, &a->model, error);
    if (code) {
        return code;
    }
    set_model(a->truth, a->machine, noise, NULL);
    set_model(a->model, a->machine, noise, trust);
    size_t cells = (size_t)a->truth->variable_count * STEPS + 1;
    uint32_t count = sy_parameter_first(a->model, SY_PARAMETER_KINDS);
    struct sy_generate_options options = {.steps = STEPS};
    a->rates = calloc(cells, sizeof *a->rates);
    a->readings = calloc(cells, sizeof *a->readings);
    a->theta = calloc(count, sizeof *a->theta);
    a->slope = calloc(count, sizeof *a->slope);
    if (!a->rates || !a->readings || !a->theta || !a->slope) {
        return sy_out_of_memory(error);
    }
    code = sy_model_generate(a->truth, &options, rng, a->rates, a->readings, a->counts);
    return code ? sy_fail(error, code, "no world could be drawn from the belief's model") : 0;
}

/* A decision with something to choose; NULL: none of the episode was one. */
static const struct sy_paper_step *choose(const struct sy_policy_tape *tape, struct sy_rng *rng) {
    uint32_t from = tape->step_count ? sy_rng_below(rng, tape->step_count) : 0;
    for (uint32_t i = 0; i < tape->step_count; i++) {
        const struct sy_paper_step *step = &tape->steps[(from + i) % tape->step_count];
        if (step->frame.action_count > 1) {
            return step;
        }
    }
    return NULL;
}

/* --- the two gradients: slopes of trust->ln are added up ---------------------------------------
 */
static int go_pathwise(struct again *a, uint64_t seed, float *slopes, double *ret_loss) {
    const struct sy_model *m = a->model;
    struct sy_gradient_options options = {.draw_count = DRAWS, .seed = seed};
    struct sy_loss loss = {sy_actor_belief_loss, &a->belief};
    double value;
    sy_parameters_read(m, a->theta);
    int code =
        sy_gradient(m, a->theta, a->readings, a->counts, STEPS, &options, &loss, &value, a->slope);
    if (code) {
        return code;
    }
    const double *noise = a->slope + sy_parameter_first(m, SY_PARAMETER_NOISE);
    const double *width = a->slope + sy_parameter_first(m, SY_PARAMETER_WIDTH);
    for (uint32_t i = 0; i < m->variable_count; i++) {
        slopes[a->machine->resources[m->variables[i].resource].kind] += (float)noise[i];
    }
    for (uint32_t i = 0; i < m->factor_count; i++) {
        slopes[SY_TRUST_WIDTH] += (float)width[i];
    }
    *ret_loss = value / STEPS;
    return 0;
}

/* Uses are cut into bins; the reading is that of the first step. */
static void go_counting(struct again *a, struct sy_rng *rng, float *slopes, double *ret_loss) {
    const struct sy_model *m = a->model;
    uint32_t tries = a->counts[0] < RESOURCES ? a->counts[0] : RESOURCES;
    double sum = 0;
    for (uint32_t i = 0; i < tries; i++) {
        const struct sy_observation *reading = &a->readings[sy_rng_below(rng, a->counts[0])];
        const struct sy_variable *v = &m->variables[reading->variable];
        struct sy_actor_counting counting = {.variable = reading->variable,
                                             .prior_mean = USE,
                                             .prior_sd = USE * USE_SD,
                                             .reading = reading->rate / v->capacity,
                                             .noise_sd = v->noise_ratio * USE,
                                             .sample_count = COUNTED,
                                             .seed = sy_rng_u32(rng)};
        double slope;
        sum += sy_actor_belief_counting(&a->belief, &counting, &slope);
        slopes[a->machine->resources[v->resource].kind] += (float)slope;
    }
    *ret_loss = tries ? sum / tries : 0;
}

static void keep_in_range(struct sy_actor_trust *trust) {
    for (uint32_t i = 0; i < SY_TRUST_COUNT; i++) {
        double low = i == SY_TRUST_WIDTH ? 1 / WIDTH_MAX : NOISE_MIN;
        double high = i == SY_TRUST_WIDTH ? WIDTH_MAX : NOISE_MAX;
        trust->ln[i] = (float)fmin(fmax((double)trust->ln[i], log(low)), log(high));
    }
}

static int find_slopes(struct again *a, const struct sy_actor *actor,
                       const struct sy_paper_step *step, enum sy_actor_gradient gradient,
                       struct sy_rng *rng, float *slopes, double *ret_loss) {
    int code =
        sy_actor_belief_init(&a->belief, &actor->net, actor->block, step, a->machine, a->model);
    if (code) {
        return code;
    }
    a->belief.rates = a->rates;
    a->belief.slopes = actor->slopes; /* they go nowhere: one decision is not an episode */
    a->belief.value_weight = 0;       /* nor does the critic predict one */
    if (gradient == SY_GRADIENT_PAPER) {
        go_counting(a, rng, slopes, ret_loss);
        return 0;
    }
    return go_pathwise(a, sy_rng_u32(rng), slopes, ret_loss);
}

int sy_actor_trust_step(struct sy_actor *actor, const struct sy_actor_world *world,
                        enum sy_actor_gradient gradient, double rate, struct sy_actor_trust *trust,
                        struct sy_error *error) {
    struct sy_rng rng = sy_rng_make(actor->options.seed, PURPOSE, trust->steps);
    const struct sy_paper_step *step = choose(&actor->tapes[0], &rng);
    struct again a = {.machine = world->workload->machine};
    float slopes[SY_TRUST_COUNT] = {0};
    double loss = NAN;
    if (gradient == SY_GRADIENT_NONE || !step || !a.machine->resource_count) {
        return 0;
    }
    int code = make_models(&a, world->options.counter_noise, trust, &rng, error);
    if (!code) {
        code = find_slopes(&a, actor, step, gradient, &rng, slopes, &loss);
        if (code && code != -EDOM) { /* a posterior without a maximum teaches nothing */
            sy_fail(error, code, "out of memory");
        }
    }
    again_finish(&a);
    if (!code) {
        struct sy_adam adam = {SY_TRUST_COUNT, trust->steps, trust->first, trust->second};
        sy_adam_step(&adam, trust->ln, slopes, RATE * rate / RATE_NET, 0);
        keep_in_range(trust);
        trust->loss = loss;
    }
    trust->steps++;
    return code == -EDOM ? 0 : code;
}
