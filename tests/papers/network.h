/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' form of a belief: utilisations as expressions of Student-t roots. It shows what the
 * papers claim of it; no policy runs on it.
 */
#ifndef SY_TESTS_PAPERS_NETWORK_H
#define SY_TESTS_PAPERS_NETWORK_H

#include "belief/belief.h"

/* v = mean + deviation / sqrt(readings) * t with readings - 1 degrees of freedom (section 4). */
struct sy_root {
    const char *name;
    double mean, deviation;
    uint32_t readings; /* at least 4: below, the variance is infinite */
};
/* A threshold or factor in the expressions. spread > 0: it is drawn around its value with that
 * standard deviation and its slope comes from the score function, so that it may stand in
 * comparisons; 0: by the chain rule. */
struct sy_knob {
    const char *name;
    double value, spread;
};
struct sy_network {
    const struct sy_expr *outputs; /* utilisations */
    uint32_t output_count;
    const char *const *names; /* that the expressions speak of: roots or knobs */
    uint32_t name_count;
    const struct sy_root *roots;
    uint32_t root_count;
    const struct sy_knob *knobs;
    uint32_t knob_count;
    double softness; /* > 0: a < b becomes 1 / (1 + exp((a - b) / softness)); 0: it has no slope */
};
/* Value of one draw of the outputs; adds its derivatives to ret_slopes. */
struct sy_network_loss {
    double (*of)(void *user, const double *outputs, double *ret_slopes);
    void *user;
};
struct sy_network_slopes {
    double value;             /* mean of the loss */
    double *mean, *deviation; /* per root */
    double *knob;
};
/* -ENOENT: a name is neither root nor knob; -EINVAL: an expression or root that cannot be used. */
SY_MUST_CHECK int sy_network_gradient(const struct sy_network *network, uint32_t draw_count,
                                      uint64_t seed, const struct sy_network_loss *loss,
                                      struct sy_network_slopes *ret_slopes);

#endif
