/* SPDX-License-Identifier: Apache-2.0
 *
 * sparrow: the less loaded of two devices drawn at random, as Sparrow probes (Ousterhout et al.,
 * SOSP'13).
 */
#include "schedulers/place_when_ready.h"

static struct sy_choice two_probes(struct when_ready *w, const struct sy_view *view,
                                   uint32_t task) {
    struct sy_choice a = sy_random_choose(w, view, task), b = sy_random_choose(w, view, task);
    if (a.device == SY_NONE) {
        return a;
    }
    return sy_estimate_free_ns(view, b.device) < sy_estimate_free_ns(view, a.device) ? b : a;
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_ready_init(s, view, args, two_probes, false, false);
}

WHEN_READY(sy_policy_sparrow, "sparrow", "the less loaded of two random devices (Sparrow-like)",
           init);
