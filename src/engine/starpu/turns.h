/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns (turns.c): where a broker shares the devices between programs, a worker begins a task only
 * while its device is leased to this program. Without a broker all of them are.
 */
#ifndef SY_ENGINE_STARPU_TURNS_H
#define SY_ENGINE_STARPU_TURNS_H

#include "engine/starpu/shared.h"

/* Joins the broker, if there is one; once there is a machine. -1: no memory. */
int turns_open(void);
void turns_close(void);
/* Whether turns have to be taken at all. */
static inline bool turns_are_taken(void) {
    return sy_shared.turns != NULL;
}
/* Without the lock, by the worker, whose last task has ended: may it take another? away: it has
 * been told before that it may not; work: there is some. */
bool turns_begin(struct context *context, uint32_t worker, bool away, bool work);
/* The same, after it has looked: it begins that task (NULL: there was none). False: it lets others
 * have the device. */
bool turns_go_on(struct context *context, uint32_t worker, const struct node *node);
/* Without the lock, by a worker that may not: a core's sleeps a while, and all notice a broker that
 * is gone. */
void turns_sleep(uint32_t worker);
/* With the lock held: there is work, and these devices may be away. */
void turns_ask(const struct context *context);

#endif
