/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks on files that several processes write: see lock.h.
 */
#include "base/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int sy_lock_file(const char *path, double limit_s, int *ret_fd) {
    char name[PATH_MAX];
    if ((size_t)snprintf(name, sizeof name, "%s.lock", path) >= sizeof name) {
        return -ENAMETOOLONG;
    }
    /* A file of its own, as the one that is locked gets replaced. Not blocking: it may be a pipe
     * that somebody put there. */
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0) {
        return -errno;
    }
    double until_s = now_s() + limit_s;
    struct timespec nap = {0, 1000000};
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int code = errno == EWOULDBLOCK && now_s() >= until_s ? -ETIMEDOUT : -errno;
        if (code != -EWOULDBLOCK && code != -EINTR) {
            close(fd);
            return code;
        }
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec < 50000000 ? 2 * nap.tv_nsec : nap.tv_nsec;
    }
    *ret_fd = fd;
    return 0;
}
