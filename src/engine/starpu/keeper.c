/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper: a small process between symph and the engine, so that nothing outlives a run.
 *
 * In: the engine's end, symph's end, SIGTERM. Out: the engine's own exit status; every process that
 * the engine or a kernel started is gone, also one that made itself a daemon, and so is the
 * engine's scratch folder. Orphans below the keeper become its children (PR_SET_CHILD_SUBREAPER),
 * so it ends its children until it has none. Invariant: whoever is killed, symph or engine, even
 * by SIGKILL, the keeper notices and ends the rest; if the keeper itself is killed, the engine ends
 * with it.
 */
#include "engine/starpu/process.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_S   2.0  /* from SIGTERM to SIGKILL, as symph tells its user */
#define GIVE_UP_S 10.0 /* processes that not even SIGKILL ends (a broken disk) */
#define LOOK_NS   2000000
#define LOOK_S    3600.0 /* signals wake it earlier */

struct keeper {
    pid_t parent, engine;
    int status; /* of the engine */
    bool engine_gone;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Parent of a process; 0: it is gone. */
static pid_t parent_of(const char *pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), parent = 0;
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    /* The name stands in brackets and may hold anything, brackets too. */
    const char *behind = strrchr(text, ')');
    return behind && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static void kill_children(void) {
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == getpid()) {
            kill(atoi(entry->d_name), SIGKILL);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/* Takes the status of whatever has ended. False: there are no children left. */
static bool reap(struct keeper *keeper) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == keeper->engine) {
            keeper->status = status;
            keeper->engine_gone = true;
        }
    }
    return pid == 0;
}

/* Each that dies hands its own children to us. */
static void end_all(struct keeper *keeper) {
    double until_s = now_s() + GIVE_UP_S;
    struct timespec moment = {0, LOOK_NS};
    while (reap(keeper) && now_s() < until_s) {
        kill_children();
        nanosleep(&moment, NULL);
    }
}

/* Until the engine has ended, or it must. */
static void wait_for_end(struct keeper *keeper, const sigset_t *wanted) {
    double until_s = INFINITY;
    while (reap(keeper) && !keeper->engine_gone && getppid() == keeper->parent) {
        double left_s = fmin(until_s - now_s(), LOOK_S);
        if (left_s <= 0) {
            return;
        }
        struct timespec left = {(time_t)left_s, (long)((left_s - floor(left_s)) * 1e9)};
        int number = sigtimedwait(wanted, NULL, &left);
        if (number == SIGTERM && isinf(until_s)) {
            kill(keeper->engine, SIGTERM); /* it may finish what it writes */
            until_s = now_s() + GRACE_S;
        }
    }
}

/* As the engine ended, so that symph can judge it. */
_Noreturn static void end_like(int status) {
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        struct rlimit none = {0, 0};
        sigset_t one;
        setrlimit(RLIMIT_CORE, &none);
        signal(number, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, number);
        raise(number);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : SY_BLAME_RUN);
}

_Noreturn static void keep(struct keeper *keeper, const sigset_t *wanted, const char *scratch) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < SY_COUNT(faults); i++) {
        signal(faults[i], SIG_DFL);
    }
    prctl(PR_SET_NAME, "symph-keeper");
    close_range(0, ~0u, 0); /* the ends of pipes are the engine's */
    wait_for_end(keeper, wanted);
    end_all(keeper);
    if (scratch[0]) {
        sy_remove_folder(scratch);
    }
    end_like(keeper->engine_gone ? keeper->status : SY_BLAME_RUN << 8);
}

int sy_engine_keep(pid_t parent, const char *scratch) {
    struct keeper keeper = {.parent = parent > 0 ? parent : getppid()};
    sigset_t wanted, before;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT); /* of a terminal: symph answers it */
    sigaddset(&wanted, SIGHUP);
    sigaddset(&wanted, SIGCHLD);
    sigprocmask(SIG_BLOCK, &wanted, &before);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* wakes the keeper; it looks who its parent is */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t self = getpid();
    keeper.engine = fork();
    if (keeper.engine > 0) {
        keep(&keeper, &wanted, scratch);
    }
    if (keeper.engine < 0) {
        return -errno;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) {
        _exit(SY_BLAME_RUN);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 0;
}
