/* SPDX-License-Identifier: Apache-2.0
 *
 * Last words: how faults.c and watchdog.c write the reason into the page. No locale, allocation or
 * lock: a signal handler may call all of it.
 */
#ifndef SY_ENGINE_STARPU_FAULTS_H
#define SY_ENGINE_STARPU_FAULTS_H

#include "engine/starpu/session.h"

struct text {
    char *at, *end; /* one byte is kept for the NUL */
};

/* The text of the page's error. Does not return if another thread is already telling. */
struct text tell_begin(struct sy_page *page);
/* The text is complete: publishes it and ends the process. */
_Noreturn void tell_end(struct sy_page *page, enum sy_blame blame, const char *hint);

void tell(struct text *text, const char *words);
void tell_seconds(struct text *text, double seconds);
/* "kernel gemm", the verb, "CPU 3" */
void tell_kernel(struct text *text, const struct sy_engine_slot *slot,
                 const struct sy_engine_worker *worker, const char *verb);
/* "task potrf(3): A(3,3) 2097152 bytes read and written" */
void tell_input(struct text *text, const struct sy_engine *engine,
                const struct sy_engine_slot *slot);
/* What the thread that leads through the run does, if it said so. */
void tell_doing(struct text *text);

#endif
