/* SPDX-License-Identifier: Apache-2.0
 *
 * dmda and dmdas, as StarPU has them: earliest finish with transfers; dmdas orders each queue by
 * upward rank. Both also with times corrected by history.
 */
#include "schedulers/place_when_ready.h"

static struct sy_choice earliest(struct when_ready *w, const struct sy_view *view, uint32_t task) {
    return sy_estimate_earliest(&w->base, view, task);
}

static int init_dmda(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_ready_init(s, view, args, earliest, false, false);
}

static int init_dmdas(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_ready_init(s, view, args, earliest, true, false);
}

static int init_dmda_hist(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_ready_init(s, view, args, earliest, false, true);
}

static int init_dmdas_hist(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_ready_init(s, view, args, earliest, true, true);
}

WHEN_READY(sy_policy_dmda, "dmda", "earliest finish with transfers when ready (MCT; StarPU dmda)",
           init_dmda);
WHEN_READY(sy_policy_dmdas, "dmdas", "dmda with queues ordered by upward rank (StarPU dmdas)",
           init_dmdas);
WHEN_READY(sy_policy_dmda_hist, "dmda-hist", "dmda with times corrected by history",
           init_dmda_hist);
WHEN_READY(sy_policy_dmdas_hist, "dmdas-hist", "dmdas with times corrected by history",
           init_dmdas_hist);
