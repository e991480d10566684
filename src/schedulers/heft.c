/* SPDX-License-Identifier: Apache-2.0
 *
 * HEFT (Topcuoglu et al. 2002): by upward rank, each task where it ends first.
 */
#include "schedulers/plan_on_arrival.h"

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_arrival_init(s, view, args, sizeof(struct arrival_plan));
}

PLAN_ON_ARRIVAL(sy_policy_heft, "heft",
                "plans each job by upward rank and earliest finish, with insertion", init);
