/* SPDX-License-Identifier: Apache-2.0
 *
 * shield: other people's code in a child process, so that whatever it does, the caller goes on.
 *
 * In: a function. Out: what it answers, or how it ended: a crash, an exit, too late. Never knows:
 * what the function does. Invariant: when it returns, the child and its process group are gone.
 */
#ifndef SY_BASE_SHIELD_H
#define SY_BASE_SHIELD_H

#include "base/base.h"

struct sy_shield_end {
    bool returned; /* it did, with the value 0 to 255 */
    bool late;     /* it was ended */
    int value;     /* of the function; else of a process that exited */
    int signal;    /* 0: none */
};

/* Calls work in a child without input, whose output goes nowhere; what it puts into its buffer
 * is appended to ret_answer if it returns. 0 or a negative errno. */
SY_MUST_CHECK int sy_shield(int (*work)(void *argument, struct sy_buffer *answer), void *argument,
                            double limit_s, struct sy_buffer *ret_answer,
                            struct sy_shield_end *ret_end);

/* For shared objects: loads one in a child (work: dlopen, and look at what it has). 0, also where
 * no child can be had, and in a process with threads; -EFAULT: ret_why says how it failed, e.g.
 * "crashes when it is loaded (SIGSEGV)". It may take SYMPH_START_LIMIT seconds of the environment,
 * else 20. */
SY_MUST_CHECK int sy_shield_load(int (*work)(void *argument, struct sy_buffer *answer),
                                 void *argument, char *ret_why, size_t size);

#endif
