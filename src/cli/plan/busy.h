/* SPDX-License-Identifier: Apache-2.0
 *
 * busy: what others use of this machine.
 *
 * In: a machine. Out: per class of it, how many devices are taken and how much the rest is slowed.
 * Never knows: plans. Invariant: what cannot be read says why, and is not guessed.
 */
#ifndef SY_CLI_PLAN_BUSY_H
#define SY_CLI_PLAN_BUSY_H

#include <stdbool.h>
#include <stdint.h>
#include <symph/machine.h>

struct sy_planning_others {
    bool asked, known;
    double used; /* devices' worth */
    uint32_t busy_count;
    double slowdown;
    char why[160]; /* where it is not known */
};

/* Looks for half a second; one per class of the machine. */
void sy_planning_look(const struct sy_machine *machine, struct sy_planning_others *ret_others);
/* From the use of each device of a class, in [0,1]; NAN: not known. Cores are interchangeable: what
 * is used of all of them adds up, and one is always left. Other devices are taken one by one. */
void sy_planning_count(enum sy_device_kind kind, const double *used, uint32_t count,
                       struct sy_planning_others *ret_others);

#endif
