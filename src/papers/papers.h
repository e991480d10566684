/* SPDX-License-Identifier: Apache-2.0
 *
 * actor: trains the papers' policies by an actor-critic method, and their belief along with them.
 *
 * In: worlds, and how to learn. Out: weights, what was learned from how many decisions. Never
 * knows: threads, files. Invariant: the same options and worlds give the same bytes.
 * Papers: Symphony (ICML'20) section 2, equations 1a and 1b; docs/design/011-papers-policies.md.
 */
#ifndef SY_PAPERS_PAPERS_H
#define SY_PAPERS_PAPERS_H

#include "papers/net.h"
#include "papers/training.h"
#include "sim/sim.h"

struct sy_actor_world {
    const struct sy_workload *workload;
    struct sy_sim_options options; /* its setup is set here */
    double reference;              /* mean job slowdown of the heuristic to compare with */
};

struct sy_actor_options {
    const char *policy; /* "symphony-paper" or "black-box" */
    uint32_t without;   /* parts left out */
    uint64_t seed;
    uint32_t unroll;       /* n_s: decisions in a segment, over which the LSTM is unrolled */
    uint32_t environments; /* n_e: segments in a step of the optimiser */
    double rate, entropy, value_weight, clip_norm;
    double gamma; /* of each decision */
    double
        horizon; /* and over time: exp(-time / (horizon * a job's mean isolated time)); 0: none */
    double ratio_clip; /* > 0: the surrogate of PPO (Schulman et al. 2017), clipped there */
    uint32_t epochs;   /* passes over what was recorded */
    bool normalise;    /* advantages of an iteration, to a standard deviation of 1 */
    double reward_sum; /* rewards are scaled so that the reference's episode sums to minus this */
};
/* The papers' numbers, and ours where they give none. */
struct sy_actor_options sy_actor_defaults(const char *policy);

struct sy_actor_report {
    uint64_t samples;    /* decisions learned from, in this iteration */
    double slowdown;     /* mean over its jobs */
    double value_loss;   /* mean square of the advantages */
    double entropy;      /* mean */
    double norm;         /* of the last slopes */
    uint64_t unrecorded; /* the teacher's decisions that no action stands for, or behind the end of
                            the tape */
};

struct sy_actor;
/* start: SY_PAPER_COUNT floats; NULL: random ones from the seed. */
SY_MUST_CHECK int sy_actor_create(const struct sy_actor_options *options, const float *start,
                                  struct sy_actor **ret_actor);
void sy_actor_destroy(struct sy_actor *actor);
/* One iteration: an episode in each of n_e worlds (worlds[i % world_count]), then the updates.
 * teacher: a heuristic that decides and is imitated; NULL: the network learns from what it does. */
SY_MUST_CHECK int sy_actor_step(struct sy_actor *actor, const struct sy_actor_world *worlds,
                                uint32_t world_count, const char *teacher, double rate,
                                struct sy_actor_report *ret_report, struct sy_error *error);
/* Mean job slowdown over that of the reference, decided without chance; one ratio per world. */
SY_MUST_CHECK int sy_actor_judge(const struct sy_actor *actor, const struct sy_actor_world *worlds,
                                 uint32_t world_count, double *ret_ratio, struct sy_error *error);
const float *sy_actor_block(const struct sy_actor *actor);
/* Weights to write or to run; the block is the actor's. */
struct sy_weights sy_actor_weights(const struct sy_actor *actor);

/* --- pieces, for tests and for the belief --------------------------------------------------------
 */
struct sy_actor_target {
    float advantage;
    float value; /* what the critic should have said */
};
/* n-step returns within segments of unroll, bootstrapped with the value recorded behind them; or,
 * taught, returns to the end of the episode and advantages of 1. */
void sy_actor_targets(const struct sy_actor_options *options, const struct sy_policy_tape *tape,
                      double reward_scale, double horizon_ns, bool taught,
                      struct sy_actor_target *ret_targets);
/* Loss of consecutive steps with these targets, each counted scale times; adds to ret_slopes (NULL:
 * the value only). memory grows as needed. -ENOMEM. */
struct sy_actor_memory {
    float *floats;
    size_t capacity;
    struct sy_paper_pass *passes;
    uint32_t pass_capacity;
};
void sy_actor_memory_finish(struct sy_actor_memory *memory);
struct sy_actor_loss {
    double loss, entropy;
};
SY_MUST_CHECK int sy_actor_loss(const struct sy_actor_options *options,
                                const struct sy_paper_net *net, const float *block,
                                const struct sy_paper_step *steps,
                                const struct sy_actor_target *targets, uint32_t count, double scale,
                                struct sy_actor_memory *memory, float *ret_slopes,
                                struct sy_actor_loss *ret_loss);

/* --- through the belief: actor_belief.c ----------------------------------------------------------
 * Bootstrap: a world that the belief's own model finds plausible, true rates with readings. At each
 * step the posterior's draws become the uses of resources in a frame, the network chooses among its
 * actions, and what they cost in truth is the loss (equation 1a with the advantage known, 1b). Its
 * slopes with respect to the uses go on into the belief's parameters. */
struct sy_actor_belief {
    const struct sy_paper_net *net;
    const float *block;
    const struct sy_paper_step *step; /* whose frame is filled with draws */
    const struct sy_machine *machine; /* of the frame */
    const struct sy_model *model;     /* its variables name resources of the machine */
    const double *rates;              /* the truth: [step * variables + variable] */
    double value_weight;              /* of equation 1b */
    float *slopes;                    /* of the network, added to; NULL: not wanted */
    struct sy_paper_pass pass;
    float *memory, *vertices, *d_vertices, *d_scores, *scratch;
    double *cost; /* per action, in truth */
};
SY_MUST_CHECK int sy_actor_belief_init(struct sy_actor_belief *belief,
                                       const struct sy_paper_net *net, const float *block,
                                       const struct sy_paper_step *step,
                                       const struct sy_machine *machine,
                                       const struct sy_model *model);
void sy_actor_belief_finish(struct sy_actor_belief *belief);
/* For struct sy_loss: user is a struct sy_actor_belief. Pathwise. */
double sy_actor_belief_loss(void *user, struct sy_draws *draws);

/* The papers' own estimator (equations 2 to 5, corrected) of one step: use of a variable's resource
 * cut into bins, its reading too; the slope is that of ln noise_sd. sample_count 0: exact. */
struct sy_actor_counting {
    uint32_t variable;
    double prior_mean, prior_sd; /* of the use */
    double reading, noise_sd;    /* of the use */
    uint32_t sample_count;
    uint64_t seed;
};
double sy_actor_belief_counting(struct sy_actor_belief *belief,
                                const struct sy_actor_counting *counting, double *ret_slope);

/* --- end to end: actor_trust.c -------------------------------------------------------------------
 * The belief's free parameters that hold on every machine: how noisy the counters of each kind of
 * resource are taken to be, and how wide its relations. Trained beside the network: decisions of
 * the last episode are taken again on draws from the posterior of a world that the belief's own
 * model generates, with counters as noisy as that world's, and the loss of actor_belief.c moves the
 * parameters. The network stays: docs/training.md. */
enum sy_actor_gradient {
    SY_GRADIENT_NONE,
    SY_GRADIENT_PATHWISE, /* noises and widths, through the posterior's draws */
    SY_GRADIENT_PAPER,    /* noises alone, by the papers' counting estimator, corrected */
    SY_GRADIENTS,
};
const char *sy_actor_gradient_name(uint32_t gradient); /* NULL past the end */

enum { SY_TRUST_WIDTH = SY_RES_INTERCONNECT + 1, SY_TRUST_COUNT };
struct sy_actor_trust {
    float ln[SY_TRUST_COUNT]; /* noise_ratio by kind of resource, then factor of widths */
    float first[SY_TRUST_COUNT], second[SY_TRUST_COUNT]; /* Adam's */
    uint32_t steps;
    double loss; /* of the last step, before it */
};
struct sy_actor_trust sy_actor_trust_start(void);
/* After sy_actor_step in this world. Without a decision to take again it does nothing. */
SY_MUST_CHECK int sy_actor_trust_step(struct sy_actor *actor, const struct sy_actor_world *world,
                                      enum sy_actor_gradient gradient, double rate,
                                      struct sy_actor_trust *trust, struct sy_error *error);

#endif
