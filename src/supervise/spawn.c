/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn: finds symph-engine and starts it with everything it needs.
 *
 * In: a request. Out: a process in a group of its own, the page shared with it, and the ends of
 * three pipes: the one it waits on, its record, what it says. The record travels through a pipe, so
 * there is no temporary file that anybody would have to remove. Invariant: on failure nothing is
 * left open.
 */
#include "base/program.h"
#include "supervise/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAFE_FD 10 /* ours are moved here, away from the engine's numbers */

extern char **environ;

int sy_engine_find(char *path, size_t size, struct sy_error *error) {
    const char *asked = getenv("SYMPH_ENGINE");
    if (asked && asked[0]) {
        snprintf(path, size, "%s", asked);
        if (sy_program_is(path)) {
            return 0;
        }
        sy_fail(error, -EINVAL, "SYMPH_ENGINE is '%s', which is not a program", asked);
        return sy_hint(error, "set it to a symph-engine, or unset it");
    }
    if (sy_program_find("symph-engine", "src/engine/starpu", path, size)) {
        return 0;
    }
    sy_fail(error, -EIO,
            "%s is missing: StarPU was not found when symph was built, or not all of symph was "
            "copied",
            path);
    sy_hint(error, "install libstarpu-dev and build again, or set SYMPH_ENGINE to the engine");
    return -EIO;
}

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
static int make_page(struct ends *theirs, struct sy_wires *ours) {
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

/* Ours does not block; theirs does, as programs expect. */
static int make_pipe(int *ret_read, int *ret_write) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    *ret_read = ends[0];
    *ret_write = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* Its standard input is a socket: a byte sent to an engine that is gone must not kill us. */
static int make_ends(struct ends *theirs, struct sy_wires *ours) {
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
    r = r ? r : posix_spawn_file_actions_adddup2(actions, theirs->page, SY_PAGE_FD);
    return r ? r : posix_spawn_file_actions_adddup2(actions, theirs->record, SY_RECORD_FD);
}

/* A group of its own: Ctrl-C is ours to answer, and whatever it starts ends with it. What we ignore
 * or block for ourselves is not the engine's. */
static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t usual, none;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGCHLD);
    sigaddset(&usual, SIGPIPE);
    int r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                     POSIX_SPAWN_SETSIGMASK);
    r = r ? r : posix_spawnattr_setsigdefault(attributes, &usual);
    return r ? r : posix_spawnattr_setsigmask(attributes, &none);
}

static int spawn(char **arguments, const struct ends *theirs, pid_t *ret_pid) {
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
    r = r ? r : set_attributes(&attributes);
    r = r ? r : posix_spawn(ret_pid, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int spawn_with(const char *program, const struct sy_request *asked, struct sy_arena *arena,
                      struct sy_wires *wires) {
    struct ends theirs = {-1, -1, -1, -1};
    struct sy_request request = *asked;
    char record[32];
    snprintf(record, sizeof record, "/dev/fd/%d", SY_RECORD_FD);
    request.record = record;
    request.page_fd = SY_PAGE_FD;
    request.parent = (uint32_t)getpid();
    char **arguments = arena ? sy_request_write(&request, program, arena) : NULL;
    int r = arguments ? make_ends(&theirs, wires) : -ENOMEM;
    r = r ? r : spawn(arguments, &theirs, &wires->pid);
    close_end(&theirs.page);
    close_end(&theirs.control);
    close_end(&theirs.record);
    close_end(&theirs.said);
    return r;
}

int sy_wires_spawn(const char *program, const struct sy_request *request,
                   struct sy_wires *ret_wires, struct sy_error *error) {
    struct sy_wires wires = {.pid = -1, .control = -1, .record = -1, .said = -1};
    struct sy_arena *arena = sy_arena_create();
    int r = spawn_with(program, request, arena, &wires);
    sy_arena_destroy(arena);
    if (r < 0) {
        sy_wires_release(&wires);
        return sy_fail(error, -EIO, "cannot start the engine %s: %s", program, strerror(-r));
    }
    *ret_wires = wires;
    return 0;
}

void sy_wires_release(struct sy_wires *wires) {
    close_end(&wires->control);
    close_end(&wires->record);
    close_end(&wires->said);
    if (wires->page) {
        munmap((void *)wires->page, sizeof(*wires->page));
        wires->page = NULL;
    }
}
