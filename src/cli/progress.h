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

#endif
