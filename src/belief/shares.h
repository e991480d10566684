/* SPDX-License-Identifier: Apache-2.0
 *
 * shares: max-min fair shares of resources, of our draws beside what others want; private to
 * belief.
 */
#ifndef SY_BELIEF_SHARES_H
#define SY_BELIEF_SHARES_H

#include "base/base.h"
#include "belief/senses.h"

struct sy_share_draw {
    uint32_t count;
    uint32_t resources[SY_DRAW_MAX];
    double bytes_per_s[SY_DRAW_MAX];
};

/* How strongly others hold on to a resource: their share is that of several draws like what
 * they want; this is the number. Far below 1 they give way to us, far above we get what they leave.
 * Each candidate is weighed by how well it predicted durations. */
#define SY_STRENGTHS 5
struct sy_strength {
    double error[SY_STRENGTHS], count;
    double value; /* the candidates' mean */
};

struct sy_shares {
    const struct sy_machine *machine;
    uint32_t draw_capacity, draw_count;
    struct sy_share_draw *draws;
    uint32_t *users, *user_count;  /* [resource * draw_capacity]: draws on it */
    double *wants;                 /* of them, ascending */
    double *level;                 /* per resource; INFINITY: it is not full */
    double *typical;               /* per resource: a draw of ours, on average */
    struct sy_strength *strengths; /* per resource */
};

/* In the arena; NULL when out of memory. Draws beyond the capacity are left out. */
struct sy_shares *sy_shares_create(struct sy_arena *arena, const struct sy_machine *machine,
                                   uint32_t draw_capacity);
void sy_shares_clear(struct sy_shares *shares); /* no draws */
void sy_shares_reset(struct sy_shares *shares); /* and nothing learned of what draws are like */
void sy_shares_add(struct sy_shares *shares, struct sy_draw draw);
void sy_shares_solve(struct sy_shares *shares, const double *others_bytes_per_s);
/* What our draws take of a resource. */
double sy_shares_taken(const struct sy_shares *shares, uint32_t resource);
/* What a draw without limit gets of a resource if others want so much of it. newcomer: it is not
 * among ours yet. */
double sy_shares_level(const struct sy_shares *shares, uint32_t resource, double others,
                       bool newcomer);
/* The same for each candidate of how strongly they hold on to it. */
void sy_shares_levels(const struct sy_shares *shares, uint32_t resource, double others,
                      bool newcomer, double ret_level[SY_STRENGTHS]);
/* A task's duration over its time alone, as a logarithm, and what each candidate said it would be.
 */
void sy_shares_learn(struct sy_shares *shares, uint32_t resource, double log_ratio,
                     const double expected[SY_STRENGTHS]);

#endif
