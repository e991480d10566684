/* SPDX-License-Identifier: Apache-2.0
 *
 * held_out: whether weights that were trained on traces are better than the shipped ones.
 *
 * In: costs in the worlds of the half that training did not have, world by world. Out: ratios with
 * intervals, a verdict, a sentence. Invariant: both weights met the same worlds with the same
 * hidden noise, so that neither was luckier.
 */
#ifndef SY_CLI_TRAIN_HELD_OUT_H
#define SY_CLI_TRAIN_HELD_OUT_H

#include "cli/train/methods.h"

/* Ratios of costs in some worlds. */
struct sy_train_figures {
    uint32_t count;
    double ratio, worst, better; /* geometric mean; largest; share of worlds below 1 */
    struct sy_interval interval; /* 95 %, over groups and then worlds */
};
/* score: logarithms; group: worlds of one number have much in common. */
struct sy_train_figures sy_train_measure(const double *score, const uint32_t *group,
                                         uint32_t count);

enum sy_train_verdict { SY_TRAIN_BETTER, SY_TRAIN_SAME, SY_TRAIN_WORSE };
const char *sy_train_verdict_name(enum sy_train_verdict verdict);

struct sy_held_out {
    struct sy_train_figures fresh, shipped; /* over the heuristic */
    struct sy_train_figures change;         /* fresh over shipped */
    uint32_t graph_count;                   /* different ones that worlds were grouped by */
    bool by_graph;                          /* training had none of these graphs */
    bool unchanged;                         /* the new ones are the shipped ones */
};
enum sy_train_verdict sy_held_out_verdict(const struct sy_held_out *held_out);
/* One sentence. */
void sy_held_out_tell(const struct sy_held_out *held_out, struct sy_buffer *buffer);
/* Compares a block of weights with the shipped ones. Prints what fails and returns an exit code. */
int sy_held_out_measure(const struct sy_train_args *args, const struct sy_training *training,
                        const struct sy_parallel *parallel, struct sy_held_out *ret_held_out);

#endif
