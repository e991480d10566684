/* SPDX-License-Identifier: Apache-2.0
 *
 * threads: several threads on one piece of work.
 *
 * In: how many, and a function that each of them runs. Out: when all have ended, or that some were
 * left behind at Ctrl-C. Never knows: how the work is shared out.
 */
#ifndef SY_CLI_THREADS_H
#define SY_CLI_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* As many as asked for; 0: the cores available. */
uint32_t sy_threads_count(uint32_t asked);
/* This thread works too; where another cannot be started the rest carry the load. */
void sy_threads_run(uint32_t count, void *(*work)(void *data), void *data);
/* The same beside this thread, which waits and answers Ctrl-C: threads that have not ended a moment
 * after it are left behind, and it returns false. What they use must then stay as it is until
 * sy_leave ends the process. */
bool sy_threads_try(uint32_t count, void *(*work)(void *data), void *data);
/* Ends the process, with what was printed, whatever other threads do. */
_Noreturn void sy_leave(int code);

#endif
