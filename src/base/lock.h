/* SPDX-License-Identifier: Apache-2.0
 *
 * lock: locks on files that several processes write.
 *
 * In: the path of the file, how long to wait. Out: a descriptor that holds the lock until it is
 * closed. Never knows: what the file is for. Invariants: nobody waits longer than they said; a
 * process that ends gives its locks back.
 */
#ifndef SY_BASE_LOCK_H
#define SY_BASE_LOCK_H

#include "base/base.h"

/* Locks PATH.lock for this process alone, waiting at most limit_s: another engine holds it for
 * milliseconds. Closing *ret_fd gives it back. -ETIMEDOUT: somebody holds it all the time. */
SY_MUST_CHECK int sy_lock_file(const char *path, double limit_s, int *ret_fd);
/* How long that is unless something says otherwise. */
#define SY_LOCK_LIMIT_S 5.0

#endif
