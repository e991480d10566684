/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside train: what an actor holds.
 */
#ifndef SY_PAPERS_ACTOR_STATE_H
#define SY_PAPERS_ACTOR_STATE_H

#include "papers/papers.h"

struct sy_actor {
    struct sy_actor_options options;
    struct sy_paper_net net;
    struct sy_policy_tape *tapes; /* per environment */
    struct sy_actor_target **targets;
    double *reward_scale, *horizon_ns; /* per environment */
    float *block, *slopes;
    struct sy_adam adam;
    struct sy_actor_memory memory;
    uint64_t episodes;
};

#endif
