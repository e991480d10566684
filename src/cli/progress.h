/* SPDX-License-Identifier: Apache-2.0
 *
 * progress: one line on stderr that shows how far a long command is.
 *
 * In: how much is done, from any thread. Out: a bar, redrawn at most ten times a second, on a
 * terminal only. Invariant: when it is finished the line is empty again.
 */
#ifndef SY_CLI_PROGRESS_H
#define SY_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sy_progress {
    pthread_mutex_t lock; /* guards all below */
    const char *what;
    uint64_t done, total;
    double started_ns, drawn_ns;
    bool shown;
};

void sy_progress_init(struct sy_progress *progress, const char *what, uint64_t total, bool quiet);
void sy_progress_add(struct sy_progress *progress, uint64_t done);
void sy_progress_finish(struct sy_progress *progress);
/* Empties the line for good, though other threads may still add. */
void sy_progress_hide(struct sy_progress *progress);

/* --- several threads on one piece of work ------------------------------------------------------
 */
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

/* Monotonic time of this machine; processor time of this thread, whatever others do meanwhile. */
double sy_clock_ns(void);
double sy_cpu_clock_ns(void);

#endif
