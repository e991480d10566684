/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn: finds symph-engine and starts it with everything it needs.
 *
 * In: what to run. Out: a process in a group of its own, the page shared with it, and the ends of
 * three pipes: the one it waits on, its record, what it says. The record travels through a pipe, so
 * there is no temporary file that anybody would have to remove. Invariant: on failure nothing is
 * left open.
 */
#include "base/program.h"
#include "cli/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE_FD      3  /* in the engine */
#define SAFE_FD      10 /* ours are moved here, away from those numbers */
#define ARGUMENT_MAX 40
#define PATH_SIZE    4096

extern char **environ;

/* --- who --------------------------------------------------------------------------------------
 */
static int find_engine(char *path, size_t size) {
    const char *asked = getenv("SYMPH_ENGINE");
    if (asked && asked[0]) {
        snprintf(path, size, "%s", asked);
        if (!sy_program_is(path)) {
            sy_message_fail(
                "SYMPH_ENGINE is '%s', which is not a program (set it to a symph-engine, or "
                "unset it)",
                asked);
            return SY_EXIT_INPUT;
        }
        return SY_EXIT_OK;
    }
    if (sy_program_find("symph-engine", "src/engine/starpu", path, size)) {
        return SY_EXIT_OK;
    }
    sy_message_fail("%s is missing: StarPU was not found when symph was built, or not all of symph "
                    "was copied (install libstarpu-dev and build again, or set SYMPH_ENGINE to the "
                    "engine)",
                    path);
    return SY_EXIT_FAILED;
}

/* --- with what --------------------------------------------------------------------------------
 */
struct arguments {
    char *items[ARGUMENT_MAX];
    uint32_t count;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *arguments,
                                                      const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = NULL;
    SY_ASSERT(arguments->count + 1 < ARGUMENT_MAX);
    if (vasprintf(&text, format, list) < 0) {
        arguments->failed = true;
    } else {
        arguments->items[arguments->count++] = text;
    }
    va_end(list);
}

static void add_count(struct arguments *arguments, const char *key, uint32_t count) {
    if (count != SY_NONE) {
        add(arguments, "%s=%u", key, count);
    }
}

static void add_text(struct arguments *arguments, const char *key, const char *text) {
    if (text) {
        add(arguments, "%s=%s", key, text);
    }
}

static void add_bound(struct arguments *arguments, const char *key, double value) {
    if (isfinite(value)) {
        add(arguments, "%s=%.17g", key, value);
    }
}

static void add_pipeline(struct arguments *arguments, const struct sy_engine_pipeline *pipeline) {
    add(arguments, "pipeline=1");
    add_text(arguments, "objective", pipeline->objective);
    add_text(arguments, "plan", pipeline->plan);
    add_text(arguments, "times", pipeline->times);
    add_text(arguments, "calibrate", pipeline->calibrate);
    add_text(arguments, "limits", pipeline->limits);
    add_bound(arguments, "latency_ns", pipeline->bounds.latency_ns);
    add_bound(arguments, "period_ns", pipeline->bounds.period_ns);
    add_bound(arguments, "energy", pipeline->bounds.energy_joules);
    add_bound(arguments, "money", pipeline->bounds.money);
    add_bound(arguments, "power", pipeline->bounds.power_watts);
    add(arguments, "window=%u", pipeline->window);
    add(arguments, "check_all=%d", pipeline->check_all);
    add(arguments, "watts=%d", pipeline->watts);
    add(arguments, "side_by_side=%d", pipeline->side_by_side);
}

static void add_all(struct arguments *arguments, const char *path,
                    const struct sy_engine_start *start) {
    add(arguments, "%s", path);
    add(arguments, "spec=%s", start->spec);
    if (start->policy) {
        add(arguments, "policy=%s", start->policy);
    }
    add(arguments, "record=/dev/fd/%d", SY_RECORD_FD);
    add(arguments, "page=%d", PAGE_FD);
    add(arguments, "parent=%d", (int)getpid());
    add(arguments, "seed=%llu", (unsigned long long)start->seed);
    add(arguments, "check=%d", start->check);
    add(arguments, "limit=%.9g", start->limit_s);
    add(arguments, "start_limit=%.9g", start->start_limit_s);
    if (start->kernels) {
        add(arguments, "kernels=%s", start->kernels);
    }
    if (start->models) {
        add(arguments, "models=%s", start->models);
    }
    add_count(arguments, "cpus", start->cpus);
    add_count(arguments, "opencl", start->opencl);
    add_count(arguments, "cuda", start->cuda);
    if (start->samples > 0) {
        add(arguments, "samples=%u", start->samples);
    }
    if (start->emulate) {
        add(arguments, "emulate=1");
    }
    if (start->pipeline) {
        add_pipeline(arguments, start->pipeline);
    }
}

static void finish_arguments(struct arguments *arguments) {
    for (uint32_t i = 0; i < arguments->count; i++) {
        free(arguments->items[i]);
    }
}

/* --- how ----------------------------------------------------------------------------------------
 */
struct ends {
    int page, control, record, said; /* the engine's */
};

static void close_end(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* To a number that the engine's own do not collide with. 0 or a negative errno. */
static int move_away(int *fd) {
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, SAFE_FD);
    if (moved < 0) {
        return -errno;
    }
    close(*fd);
    *fd = moved;
    return 0;
}

/* Sealed in size, so that whatever the engine does to it, reading it is safe. */
static int make_page(struct ends *theirs, struct sy_engine_child *ours) {
    theirs->page = memfd_create("symph-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (theirs->page < 0 || ftruncate(theirs->page, sizeof(struct sy_page)) < 0 ||
        fcntl(theirs->page, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return -errno;
    }
    void *page = mmap(NULL, sizeof(struct sy_page), PROT_READ, MAP_SHARED, theirs->page, 0);
    if (page == MAP_FAILED) {
        return -errno;
    }
    ours->page = page;
    return 0;
}

static int make_pipe(int *ret_read, int *ret_write) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    *ret_read = ends[0];
    *ret_write = ends[1];
    return 0;
}

/* Its standard input is a socket: a byte sent to an engine that is gone must not kill us. */
static int make_ends(struct ends *theirs, struct sy_engine_child *ours) {
    int pair[2];
    int r = make_page(theirs, ours);
    if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        r = -errno;
    } else if (r == 0) {
        ours->control = pair[0];
        theirs->control = pair[1];
    }
    r = r ? r : make_pipe(&ours->record, &theirs->record);
    r = r ? r : make_pipe(&ours->said, &theirs->said);
    r = r ? r : move_away(&theirs->page);
    r = r ? r : move_away(&theirs->control);
    r = r ? r : move_away(&theirs->record);
    return r ? r : move_away(&theirs->said);
}

static int set_actions(posix_spawn_file_actions_t *actions, const struct ends *theirs) {
    int r = posix_spawn_file_actions_adddup2(actions, theirs->control, STDIN_FILENO);
    r = r ? r : posix_spawn_file_actions_adddup2(actions, theirs->said, STDOUT_FILENO);
    r = r ? r : posix_spawn_file_actions_adddup2(actions, theirs->said, STDERR_FILENO);
    r = r ? r : posix_spawn_file_actions_adddup2(actions, theirs->page, PAGE_FD);
    return r ? r : posix_spawn_file_actions_adddup2(actions, theirs->record, SY_RECORD_FD);
}

/* A group of its own: Ctrl-C is ours to answer, and whatever it starts ends with it. */
static int spawn(const struct arguments *arguments, const struct ends *theirs, pid_t *ret_pid) {
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
    r = set_actions(&actions, theirs);
    r = r ? r : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    r = r ? r
          : posix_spawn(ret_pid, arguments->items[0], &actions, &attributes, arguments->items,
                        environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int start_at(const char *path, const struct sy_engine_start *start,
                    struct sy_engine_child *child) {
    struct ends theirs = {-1, -1, -1, -1};
    struct arguments arguments = {.count = 0};
    add_all(&arguments, path, start);
    int r = arguments.failed ? -ENOMEM : make_ends(&theirs, child);
    r = r ? r : spawn(&arguments, &theirs, &child->pid);
    finish_arguments(&arguments);
    close_end(&theirs.page);
    close_end(&theirs.control);
    close_end(&theirs.record);
    close_end(&theirs.said);
    if (r < 0) {
        sy_message_fail("cannot start the engine %s: %s", path, strerror(-r));
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
}

int sy_engine_spawn(const struct sy_engine_start *start, struct sy_engine_child *ret_child) {
    struct sy_engine_child child = {.pid = -1, .control = -1, .record = -1, .said = -1};
    char path[PATH_SIZE];
    int r = find_engine(path, sizeof(path));
    if (r != SY_EXIT_OK) {
        return r;
    }
    signal(SIGCHLD, SIG_DFL); /* whoever ignored it for us would take the engine's status */
    r = start_at(path, start, &child);
    if (r != SY_EXIT_OK) {
        sy_engine_release(&child);
        return r;
    }
    *ret_child = child;
    return SY_EXIT_OK;
}

void sy_engine_release(struct sy_engine_child *child) {
    close_end(&child->control);
    close_end(&child->record);
    close_end(&child->said);
    if (child->page) {
        munmap((void *)child->page, sizeof(*child->page));
        child->page = NULL;
    }
}
