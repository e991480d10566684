/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside train: what the methods that train the learned policy share.
 */
#ifndef SY_TRAIN_STEPS_H
#define SY_TRAIN_STEPS_H

#include "train/train.h"

/* training.c: a world with its references. It is set also where its references failed. */
SY_MUST_CHECK int sy_training_world(struct sy_training *training, uint32_t worker,
                                    enum sy_split split, uint32_t index,
                                    struct sy_scenario **ret_world, struct sy_error *error);
/* What a world says of a run: more where it is worse than the heuristic. */
double sy_training_judged(const struct sy_training_options *options, double ratio);

/* es.c: Adam's rate now; the average follows the weights, and the generation ends. */
double sy_es_rate(const struct sy_es *es, double progress);
void sy_es_settle(struct sy_es *es);

/* expert.c: expert iteration in training->now, and the worlds of the generation after. */
SY_MUST_CHECK int sy_expert_create(const struct sy_training_options *options,
                                   struct sy_expert **ret_expert);
void sy_expert_destroy(struct sy_expert *expert);
SY_MUST_CHECK int sy_expert_step(struct sy_training *training, double progress,
                                 struct sy_error *error);

#endif
