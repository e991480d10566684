/* SPDX-License-Identifier: Apache-2.0
 *
 * One child process with a time limit: no shell, no signal handlers, nothing left behind.
 *
 * In: arguments, a limit. Out: its exit and the start of what it said. Never knows: LPs.
 * Invariant: when it returns, the child and its process group are gone and reaped.
 */
#include "bounds/lp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 20 /* how often a silent child is looked after */

extern char **environ;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Input from nowhere, both outputs into the pipe, a process group of its own. */
static int start(const char *const *argv, int output, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0) {
        return -r;
    }
    r = posix_spawnattr_init(&attributes);
    if (r != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return -r;
    }
    r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    r = r ? r : posix_spawn_file_actions_adddup2(&actions, output, 1);
    r = r ? r : posix_spawn_file_actions_adddup2(&actions, output, 2);
    r = r ? r : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    r = r ? r : posix_spawn(ret_pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Keeps what fits into the log. False once the child has closed its end. */
static bool drain(int input, char *log, size_t log_size, size_t *used) {
    char scratch[4096];
    ssize_t got = read(input, scratch, sizeof(scratch));
    if (got <= 0) {
        return got < 0 && (errno == EINTR || errno == EAGAIN);
    }
    size_t room = log_size - 1 - *used, take = (size_t)got < room ? (size_t)got : room;
    memcpy(log + *used, scratch, take);
    *used += take;
    log[*used] = '\0';
    return true;
}

/* True once the child has ended; *ret_code then is 0 or -EIO. */
static bool has_ended(pid_t pid, int *ret_code) {
    int status = 0;
    pid_t found = waitpid(pid, &status, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR)) {
        return false;
    }
    /* A caller that ignores SIGCHLD leaves no status: then the output must speak for itself. */
    bool good = found < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    *ret_code = good ? 0 : -EIO;
    return true;
}

static int look_after(pid_t pid, int input, double time_limit_s, bool (*stop)(void), char *log,
                      size_t log_size) {
    double deadline = now_s() + time_limit_s;
    size_t used = 0;
    bool open = true;
    int code = -ETIME;
    while (!has_ended(pid, &code)) {
        bool stopped = stop && stop();
        if (stopped || now_s() >= deadline) {
            kill(-pid, SIGKILL);
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
            }
            return stopped ? -ECANCELED : -ETIME;
        }
        struct pollfd wait = {.fd = open ? input : -1, .events = POLLIN};
        if (poll(&wait, 1, open ? LOOK_MS : 1) > 0) {
            open = drain(input, log, log_size, &used);
        }
    }
    kill(-pid, SIGKILL); /* whatever it started and left */
    fcntl(input, F_SETFL, O_NONBLOCK);
    errno = 0;
    while (open && errno != EAGAIN && used + 1 < log_size) {
        open = drain(input, log, log_size, &used);
    }
    return code;
}

int sy_lp_process(const char *const *argv, double time_limit_s, bool (*stop)(void), char *log,
                  size_t log_size) {
    int ends[2];
    pid_t pid = 0;
    log[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    int r = start(argv, ends[1], &pid);
    close(ends[1]);
    if (r == 0) {
        r = look_after(pid, ends[0], time_limit_s, stop, log, log_size);
    }
    close(ends[0]);
    return r;
}
