/* SPDX-License-Identifier: Apache-2.0
 *
 * A function in a child process with a time limit.
 */
#include "base/shield.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOAD_LIMIT_S 20.0
#define LOOK_MS      20 /* how often a silent child is looked at; its answer wakes us */

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool has_threads(void) {
    DIR *folder = opendir("/proc/self/task");
    uint32_t count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        count += entry->d_name[0] != '.';
    }
    if (folder) {
        closedir(folder);
    }
    return count > 1;
}

/* --- the child ----------------------------------------------------------------------------------
 */
/* The caller's handlers must not run on its behalf here: a crash is to end the child. */
static void reset_signals(void) {
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Ends with _exit: nothing of the parent's is flushed or run twice. */
_Noreturn static void be_child(pid_t parent, int fd,
                               int (*work)(void *argument, struct sy_buffer *answer),
                               void *argument) {
    struct rlimit none = {0, 0};
    struct sy_buffer answer = {0};
    setpgid(0, 0);
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    int nowhere = open("/dev/null", O_RDWR);
    if (getppid() != parent || nowhere < 0 || dup2(nowhere, 0) < 0 || dup2(nowhere, 1) < 0 ||
        dup2(nowhere, 2) < 0) {
        _exit(1);
    }
    char value = (char)work(argument, &answer);
    bool sent = !answer.failed && sy_write_all(fd, &value, 1) == 0 &&
                sy_write_all(fd, answer.text, answer.length) == 0;
    sy_buffer_finish(&answer);
    _exit(sent ? 0 : 1);
}

/* --- the parent ---------------------------------------------------------------------------------
 */
static bool has_ended(pid_t child) {
    siginfo_t info = {.si_pid = 0};
    int code = waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT);
    return (code == 0 && info.si_pid == child) || (code < 0 && errno == ECHILD);
}

/* All that it says, until it ends. False: not in time. A process that it left behind may hold the
 * pipe open, and is not waited for. */
static bool listen_to(pid_t child, int fd, double limit_s, struct sy_buffer *text) {
    double until_s = now_s() + limit_s;
    for (bool ended = false;;) {
        char block[4096];
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = poll(&wait, 1, ended ? 0 : LOOK_MS);
        ssize_t got = ready > 0 ? read(fd, block, sizeof block) : ready;
        if (got > 0) {
            sy_buffer_append(text, block, (size_t)got);
        } else if (ended || (got < 0 && errno != EINTR)) {
            return true;
        } else if (now_s() >= until_s) {
            return false;
        } else {
            ended = has_ended(child);
        }
    }
}

static void end_child(pid_t child, bool in_time, struct sy_shield_end *end) {
    int status = 0;
    kill(-child, SIGKILL);
    kill(child, SIGKILL); /* it may have left its group, or not yet have one */
    pid_t ended = 0;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    /* A caller that ignores SIGCHLD leaves no status: then the answer speaks for itself. */
    end->late = !in_time;
    end->signal = ended == child && WIFSIGNALED(status) && in_time ? WTERMSIG(status) : 0;
    end->value = ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int sy_shield(int (*work)(void *argument, struct sy_buffer *answer), void *argument, double limit_s,
              struct sy_buffer *ret_answer, struct sy_shield_end *ret_end) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(parent, ends[1], work, argument);
    }
    int code = child < 0 ? -errno : 0;
    close(ends[1]);
    struct sy_buffer text = {0};
    struct sy_shield_end end = {0};
    if (!code) {
        bool in_time = listen_to(child, ends[0], limit_s, &text);
        end_child(child, in_time, &end);
        end.returned = in_time && !end.signal && end.value == 0 && text.length > 0;
        end.value = end.returned ? (unsigned char)text.text[0] : end.value;
        code = text.failed ? -ENOMEM : 0;
    }
    if (!code && end.returned) {
        sy_buffer_append(ret_answer, text.text + 1, text.length - 1);
    }
    close(ends[0]);
    sy_buffer_finish(&text);
    *ret_end = end;
    return code;
}

int sy_shield_load(int (*work)(void *argument, struct sy_buffer *answer), void *argument,
                   char *ret_why, size_t size) {
    struct sy_buffer nothing = {0};
    struct sy_shield_end end;
    const char *text = getenv("SYMPH_START_LIMIT");
    double limit_s = 0;
    if (!text || !sy_parse_double(text, strlen(text), &limit_s) || limit_s <= 0) {
        limit_s = LOAD_LIMIT_S;
    }
    if (has_threads()) { /* one of them may hold the loader's lock, and no child would get it */
        return 0;
    }
    int code = sy_shield(work, argument, limit_s, &nothing, &end);
    sy_buffer_finish(&nothing);
    if (code || end.returned) {
        return 0;
    }
    if (end.late) {
        snprintf(ret_why, size, "does not load within %g s (SYMPH_START_LIMIT gives it longer)",
                 limit_s);
    } else if (end.signal) {
        const char *name = sigabbrev_np(end.signal);
        snprintf(ret_why, size, "crashes when it is loaded (SIG%s)", name ? name : "?");
    } else {
        snprintf(ret_why, size, "ends the program when it is loaded (exit status %d)", end.value);
    }
    return -EFAULT;
}
