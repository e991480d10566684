/* SPDX-License-Identifier: Apache-2.0
 *
 * Advantage actor-critic for the papers' policies, synchronous: episodes are recorded under one set
 * of weights, cut into segments of n_s decisions, and learned from n_e segments at a time.
 *
 * Equations 1a and 1b with the correction V(s_{t+i}); beyond them an entropy bonus, a weight of the
 * value loss, clipped slopes, and optionally PPO's clipped ratio, since later segments of an
 * iteration are learned from with weights that earlier ones have moved.
 */
#include "papers/actor_state.h"
#include "schedulers/schedulers.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX  6000    /* of one episode on the tape; the rest is not learned from */
#define FLOATS_MAX 6000000 /* likewise */
#define PURPOSE    0x61637472

struct sy_actor_options sy_actor_defaults(const char *policy) {
    return (struct sy_actor_options){.policy = policy,
                                     .unroll = 20,
                                     .environments = 2,
                                     .rate = 0.005,
                                     .gamma = 1,
                                     .horizon = 0.3,
                                     .entropy = 0.003,
                                     .value_weight = 0.5,
                                     .clip_norm = 0.5,
                                     .epochs = 1,
                                     .normalise = true,
                                     .reward_sum = 10};
}

void sy_actor_destroy(struct sy_actor *actor) {
    for (uint32_t e = 0; actor && e < actor->options.environments; e++) {
        if (actor->tapes) {
            sy_tape_finish(&actor->tapes[e]);
        }
        if (actor->targets) {
            free(actor->targets[e]);
        }
    }
    if (actor) {
        free(actor->tapes);
        free(actor->targets);
        free(actor->reward_scale);
        free(actor->horizon_ns);
        free(actor->block);
        free(actor->slopes);
        free(actor->adam.first);
        free(actor->adam.second);
        sy_actor_memory_finish(&actor->memory);
        free(actor);
    }
}

int sy_actor_create(const struct sy_actor_options *options, const float *start,
                    struct sy_actor **ret_actor) {
    struct sy_actor *a = calloc(1, sizeof *a);
    if (!a) {
        return -ENOMEM;
    }
    a->options = *options;
    a->tapes = calloc(options->environments, sizeof *a->tapes);
    a->targets = calloc(options->environments, sizeof *a->targets);
    a->reward_scale = calloc(options->environments, sizeof *a->reward_scale);
    a->horizon_ns = calloc(options->environments, sizeof *a->horizon_ns);
    a->block = calloc(SY_PAPER_COUNT, sizeof *a->block);
    a->slopes = calloc(SY_PAPER_COUNT, sizeof *a->slopes);
    a->adam = (struct sy_adam){.count = SY_PAPER_COUNT,
                               .first = calloc(SY_PAPER_COUNT, sizeof(float)),
                               .second = calloc(SY_PAPER_COUNT, sizeof(float))};
    bool taken = a->tapes && a->targets && a->reward_scale && a->horizon_ns && a->block &&
                 a->slopes && a->adam.first && a->adam.second;
    for (uint32_t e = 0; taken && e < options->environments; e++) {
        a->targets[e] = calloc(STEPS_MAX, sizeof *a->targets[e]);
        taken = a->targets[e] && !sy_tape_init(&a->tapes[e], STEPS_MAX, FLOATS_MAX);
    }
    if (!taken) {
        sy_actor_destroy(a);
        return -ENOMEM;
    }
    sy_paper_net_make(&a->net, strcmp(options->policy, "black-box") == 0, options->without);
    if (start) {
        memcpy(a->block, start, SY_PAPER_COUNT * sizeof *start);
    } else {
        sy_paper_net_start(&a->net, options->seed, a->block);
    }
    *ret_actor = a;
    return 0;
}

const float *sy_actor_block(const struct sy_actor *actor) {
    return actor->block;
}

struct sy_weights sy_actor_weights(const struct sy_actor *actor) {
    return (struct sy_weights){.kind = actor->options.policy,
                               .shape = SY_PAPER_SHAPE,
                               .block = actor->block,
                               .count = SY_PAPER_COUNT};
}

/* --- episodes ------------------------------------------------------------------------------------
 */
static int play(const struct sy_actor *a, const struct sy_actor_world *world,
                struct sy_policy_tape *tape, double *ret_slowdown, struct sy_error *error) {
    struct sy_weights weights = sy_actor_weights(a);
    struct sy_policy_setup setup = {
        .weights = &weights, .without = a->options.without, .tape = tape};
    struct sy_sim_options options = world->options;
    struct sy_sim *sim = NULL;
    struct sy_sim_result result;
    options.setup = &setup;
    int code = sy_sim_create(world->workload, &options, &sim, error);
    code = code ? code : sy_sim_run(sim, a->options.policy, &result, error);
    if (!code) {
        *ret_slowdown = result.slowdown_mean;
    }
    sy_sim_destroy(sim);
    return code;
}

int sy_actor_judge(const struct sy_actor *actor, const struct sy_actor_world *worlds,
                   uint32_t world_count, double *ret_ratio, struct sy_error *error) {
    for (uint32_t i = 0; i < world_count; i++) {
        double slowdown;
        int code = play(actor, &worlds[i], NULL, &slowdown, error);
        if (code) {
            return code;
        }
        ret_ratio[i] = slowdown / worlds[i].reference;
    }
    return 0;
}

/* --- what to learn -------------------------------------------------------------------------------
 */
static double reward(const struct sy_policy_tape *tape, uint32_t i) {
    double after = i + 1 < tape->step_count ? tape->steps[i + 1].cost : tape->cost;
    return tape->steps[i].cost - after;
}

void sy_actor_targets(const struct sy_actor_options *options, const struct sy_policy_tape *tape,
                      double reward_scale, double horizon_ns, bool taught,
                      struct sy_actor_target *ret_targets) {
    uint32_t count = tape->step_count;
    double back = 0;
    for (uint32_t i = count; i-- > 0;) {
        bool ends = i + 1 == count, cut = (i + 1) % options->unroll == 0;
        if (ends) {
            back = 0;
        } else if (cut && !taught) {
            back = (double)tape->steps[i + 1].value; /* V* of the papers: no slope */
        }
        double passed_ns = ends ? 0 : tape->steps[i + 1].now_ns - tape->steps[i].now_ns;
        back =
            reward_scale * reward(tape, i) + options->gamma * exp(-passed_ns / horizon_ns) * back;
        ret_targets[i].value = (float)back;
        ret_targets[i].advantage = taught ? 1 : (float)(back - (double)tape->steps[i].value);
    }
}

/* --- the loss ------------------------------------------------------------------------------------
 */
void sy_actor_memory_finish(struct sy_actor_memory *memory) {
    free(memory->floats);
    free(memory->passes);
    *memory = (struct sy_actor_memory){0};
}

static void most_of(const struct sy_paper_step *steps, uint32_t count,
                    struct sy_paper_frame *ret_most) {
    *ret_most = steps[0].frame;
    for (uint32_t i = 1; i < count; i++) {
        const struct sy_paper_frame *f = &steps[i].frame;
        ret_most->task_count =
            f->task_count > ret_most->task_count ? f->task_count : ret_most->task_count;
        ret_most->link_count =
            f->link_count > ret_most->link_count ? f->link_count : ret_most->link_count;
        ret_most->action_count =
            f->action_count > ret_most->action_count ? f->action_count : ret_most->action_count;
    }
}

/* Room for so many passes, one scratch and the slopes of the scores, which is at the end. */
static int reserve(struct sy_actor_memory *memory, const struct sy_paper_net *net,
                   const struct sy_paper_frame *most, uint32_t count, float **ret_scratch) {
    size_t each = sy_paper_pass_floats(net, most);
    size_t need = each * count + sy_paper_scratch(net, most) + most->action_count;
    if (need > memory->capacity) {
        free(memory->floats);
        memory->floats = calloc(need, sizeof *memory->floats);
        memory->capacity = memory->floats ? need : 0;
    }
    if (count > memory->pass_capacity) {
        free(memory->passes);
        memory->passes = calloc(count, sizeof *memory->passes);
        memory->pass_capacity = memory->passes ? count : 0;
    }
    if (!memory->floats || !memory->passes) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        sy_paper_pass_lay(net, most, memory->floats + each * i, &memory->passes[i]);
    }
    *ret_scratch = memory->floats + each * count;
    return 0;
}

/* What a step adds to the loss, and (to go uphill) the weight of the slope of ln p. */
static double surrogate(const struct sy_actor_options *options, double advantage, double log_ratio,
                        double log_probability, double *ret_weight) {
    if (!(options->ratio_clip > 0)) {
        *ret_weight = advantage;
        return -advantage * log_probability;
    }
    double ratio = exp(fmin(fmax(log_ratio, -20), 20)), low = 1 - options->ratio_clip;
    double cut = fmin(fmax(ratio, low), 1 + options->ratio_clip);
    bool inside = ratio * advantage <= cut * advantage;
    *ret_weight = inside ? ratio * advantage : 0;
    return -fmin(ratio * advantage, cut * advantage);
}

int sy_actor_loss(const struct sy_actor_options *options, const struct sy_paper_net *net,
                  const float *block, const struct sy_paper_step *steps,
                  const struct sy_actor_target *targets, uint32_t count, double scale,
                  struct sy_actor_memory *memory, float *ret_slopes,
                  struct sy_actor_loss *ret_loss) {
    float state[2 * SY_PAPER_HIDDEN], *scratch, d_state[2 * SY_PAPER_HIDDEN] = {0};
    struct sy_paper_frame most;
    struct sy_actor_loss sum = {0};
    most_of(steps, count, &most);
    if (reserve(memory, net, &most, count, &scratch)) {
        return -ENOMEM;
    }
    float *d_scores = scratch + sy_paper_scratch(net, &most);
    memcpy(state, steps[0].state, sizeof state);
    for (uint32_t i = 0; i < count; i++) {
        sy_paper_forward(net, block, &steps[i].frame, state, &memory->passes[i]);
    }
    for (uint32_t i = count; i-- > 0;) {
        const struct sy_paper_step *step = &steps[i];
        const struct sy_paper_pass *pass = &memory->passes[i];
        double weight, miss = (double)pass->value - (double)targets[i].value;
        double log_probability = (double)sy_softmax_log(pass->probability, step->chosen);
        double entropy = (double)sy_softmax_entropy(pass->probability, step->frame.action_count);
        sum.entropy += entropy;
        sum.loss += scale * (surrogate(options, (double)targets[i].advantage,
                                       log_probability - (double)step->log_probability,
                                       log_probability, &weight) -
                             options->entropy * entropy + options->value_weight * miss * miss);
        if (ret_slopes) {
            sy_softmax_backward(pass->probability, step->frame.action_count, step->chosen,
                                (float)(-scale * weight), (float)(-scale * options->entropy),
                                d_scores);
            sy_paper_backward(net, block, &step->frame, pass, d_scores,
                              (float)(2 * scale * options->value_weight * miss), d_state, scratch,
                              ret_slopes, NULL);
        }
    }
    *ret_loss = sum;
    return 0;
}

/* --- learning ------------------------------------------------------------------------------------
 */
static void normalise(struct sy_actor *a, double *ret_square) {
    double sum = 0, square = 0;
    uint64_t count = 0;
    for (uint32_t e = 0; e < a->options.environments; e++) {
        for (uint32_t i = 0; i < a->tapes[e].step_count; i++, count++) {
            double x = (double)a->targets[e][i].advantage;
            sum += x;
            square += x * x;
        }
    }
    double mean = sum / (double)count, spread = sqrt(fmax(square / (double)count - mean * mean, 0));
    *ret_square = square / (double)count;
    for (uint32_t e = 0; a->options.normalise && e < a->options.environments; e++) {
        for (uint32_t i = 0; i < a->tapes[e].step_count; i++) {
            a->targets[e][i].advantage =
                (float)(((double)a->targets[e][i].advantage - mean) / (spread + 1e-6));
        }
    }
}

/* Segment number at of each environment that has one, then a step of the optimiser. */
static int learn_segment(struct sy_actor *a, uint32_t at, const struct sy_actor_options *options,
                         double rate, struct sy_actor_report *report, bool *ret_any) {
    double scale = 1.0 / ((double)options->unroll * options->environments);
    *ret_any = false;
    memset(a->slopes, 0, SY_PAPER_COUNT * sizeof *a->slopes);
    for (uint32_t e = 0; e < options->environments; e++) {
        uint32_t first = at * options->unroll, end = first + options->unroll;
        uint32_t count = a->tapes[e].step_count;
        end = end < count ? end : count;
        if (first >= end) {
            continue;
        }
        struct sy_actor_loss loss;
        int code =
            sy_actor_loss(options, &a->net, a->block, a->tapes[e].steps + first,
                          a->targets[e] + first, end - first, scale, &a->memory, a->slopes, &loss);
        if (code) {
            return code;
        }
        report->entropy += loss.entropy;
        *ret_any = true;
    }
    if (*ret_any) {
        report->norm = sy_adam_step(&a->adam, a->block, a->slopes, rate, options->clip_norm);
    }
    return 0;
}

static int learn(struct sy_actor *a, bool taught, double rate, struct sy_actor_report *report) {
    struct sy_actor_options options = a->options;
    double square = 0;
    if (taught) { /* cross-entropy: nothing to compare with, nothing to explore */
        options.ratio_clip = 0;
        options.entropy = 0;
    }
    for (uint32_t e = 0; e < options.environments; e++) {
        sy_actor_targets(&options, &a->tapes[e], a->reward_scale[e], a->horizon_ns[e], taught,
                         a->targets[e]);
        for (uint32_t i = 0; i < a->tapes[e].step_count; i++) {
            double miss = (double)a->targets[e][i].value - (double)a->tapes[e].steps[i].value;
            report->value_loss += miss * miss;
        }
        report->samples += a->tapes[e].step_count;
    }
    if (!report->samples) {
        return 0;
    }
    if (!taught) {
        normalise(a, &square);
    }
    report->value_loss /= (double)report->samples;
    uint32_t epochs = options.epochs ? options.epochs : 1;
    for (uint32_t epoch = 0; epoch < epochs; epoch++) {
        bool any = true;
        for (uint32_t at = 0; any; at++) {
            int code = learn_segment(a, at, &options, rate, report, &any);
            if (code) {
                return code;
            }
        }
    }
    report->entropy /= (double)report->samples * epochs;
    return 0;
}

static double horizon_ns(const struct sy_actor_options *options, const struct sy_workload *w) {
    double mean_ns = sy_mean(w->job_isolated_ns, w->job_count);
    return options->horizon > 0 && mean_ns > 0 ? options->horizon * mean_ns : INFINITY;
}

int sy_actor_step(struct sy_actor *a, const struct sy_actor_world *worlds, uint32_t world_count,
                  const char *teacher, double rate, struct sy_actor_report *ret_report,
                  struct sy_error *error) {
    struct sy_actor_report report = {0};
    for (uint32_t e = 0; e < a->options.environments; e++) {
        struct sy_policy_tape *tape = &a->tapes[e];
        double slowdown;
        sy_tape_clear(tape);
        tape->teacher = teacher;
        tape->sample = true;
        tape->rng = sy_rng_make(a->options.seed, PURPOSE, a->episodes++);
        const struct sy_actor_world *world = &worlds[e % world_count];
        double reference = world->reference > 0 ? world->reference : 1;
        a->reward_scale[e] = a->options.reward_sum / (reference * world->workload->job_count);
        a->horizon_ns[e] = horizon_ns(&a->options, world->workload);
        int code = play(a, world, tape, &slowdown, error);
        if (code) {
            return code;
        }
        report.slowdown += slowdown / a->options.environments;
        report.unrecorded += tape->unrecorded_count + tape->decision_count - tape->step_count;
    }
    int code = learn(a, teacher != NULL, rate, &report);
    if (code) {
        return sy_fail(error, code, "out of memory");
    }
    *ret_report = report;
    return 0;
}
