/* SPDX-License-Identifier: Apache-2.0
 *
 * child: looks after one engine process, a step at a time.
 *
 * The engine judges its tasks and its own steps itself (time limits, faults); here is judged
 * whether the engine lives: it must become ready, show a sign of life now and then, hand over the
 * record that it announced and nothing else, and leave when it is done. Invariant: a child that is
 * told to end gets a moment to finish a file it is just writing, and is killed then.
 */
#include "supervise/child.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS       10   /* how often a silent engine is looked at */
#define TERM_S        5.0  /* between asking it to end and ending it; its keeper is faster */
#define KILL_S        10.0 /* between ending it and giving up: the system does not let go of it */
#define LEAVE_S       20.0 /* from its last word to its end */
#define START_GRACE_S 5.0  /* the engine's own watchdog comes first, and knows more */
#define REST_READS    64   /* more than a pipe holds */
#define RECORD_BYTES  (UINT64_C(64) << 20) /* a record has at most this, */
#define TASK_BYTES    (UINT64_C(8) << 10)  /* and this for each task */

/* --- what it says -------------------------------------------------------------------------------
 */
/* Keeps the last SY_SAID_SIZE - 1 bytes. */
static void keep_said(struct sy_child *child, const char *text, size_t length) {
    size_t room = SY_SAID_SIZE - 1;
    if (length > room) {
        text += length - room;
        length = room;
    }
    if (child->said_length + length > room) {
        size_t drop = child->said_length + length - room;
        memmove(child->said, child->said + drop, child->said_length - drop);
        child->said_length -= drop;
    }
    memcpy(child->said + child->said_length, text, length);
    child->said_length += length;
    child->said[child->said_length] = '\0';
}

uint64_t sy_child_record_limit(const struct sy_child *child) {
    return RECORD_BYTES + TASK_BYTES * atomic_load(&child->wires.page->task_count);
}

/* What is more than it announced is not kept: memory stays within what the tasks account for.
 * False: it is more. */
static bool take_record(struct sy_child *child, const char *text, size_t length) {
    uint64_t announced = atomic_load(&child->wires.page->record_bytes);
    if (announced > sy_child_record_limit(child) || child->record.length + length > announced) {
        return false;
    }
    sy_buffer_append(&child->record, text, length);
    return true;
}

/* False once there is no more to come, or nothing now. */
static bool drain(struct sy_child *child, int *fd) {
    char scratch[65536];
    ssize_t got = *fd >= 0 ? read(*fd, scratch, sizeof(scratch)) : -1;
    if (got <= 0) {
        if (*fd >= 0 && (got == 0 || (errno != EINTR && errno != EAGAIN))) {
            close(*fd);
            *fd = -1;
        }
        return false;
    }
    if (fd == &child->wires.said) {
        keep_said(child, scratch, (size_t)got);
    } else if (!take_record(child, scratch, (size_t)got) && !child->verdict) {
        child->verdict = SY_VERDICT_FLOOD;
    }
    return true;
}

/* --- its end ------------------------------------------------------------------------------------
 */
static void tell_to_end(struct sy_child *child, enum sy_verdict verdict, double now_s) {
    child->verdict = verdict;
    child->told_s = now_s;
    kill(-child->wires.pid, SIGTERM);
}

/* Seen first and reaped after its group is ended: until then nobody else can have its number. What
 * is left in its pipes is taken; only a process that left its group could still write, and that one
 * is not waited for. */
static bool has_ended(struct sy_child *child) {
    siginfo_t info = {.si_pid = 0};
    pid_t pid = child->wires.pid;
    int r = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (r == 0 && info.si_pid == pid) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, &child->status, 0) < 0 && errno == EINTR) {
        }
    } else if (!(r < 0 && errno == ECHILD)) { /* somebody else has reaped it */
        return false;
    }
    child->ended = true;
    for (uint32_t i = 0; i < REST_READS && drain(child, &child->wires.record); i++) {
    }
    for (uint32_t i = 0; i < REST_READS && drain(child, &child->wires.said); i++) {
    }
    return true;
}

/* It was told to end, and has not. */
static void insist(struct sy_child *child, double now_s) {
    if (isnan(child->killed_s) && now_s - child->told_s > TERM_S) {
        kill(-child->wires.pid, SIGKILL);
        child->killed_s = now_s;
    } else if (now_s - child->killed_s > KILL_S) {
        child->ended = child->lost = true;
    }
}

/* --- while it lives -----------------------------------------------------------------------------
 */
static bool has_record(const struct sy_child *child) {
    uint64_t announced = atomic_load(&child->wires.page->record_bytes);
    return child->phase >= SY_PHASE_SAVING && child->phase != SY_PHASE_FAILED &&
           child->record.length == announced;
}

/* Takes note of what happened since the last look. */
static void follow(struct sy_child *child, double now_s) {
    const struct sy_page *page = child->wires.page;
    uint32_t phase = atomic_load(&page->phase), beat = atomic_load(&page->beat);
    uint32_t ended = atomic_load(&page->done_count);
    if (phase != child->phase || ended != child->ended_count || beat != child->beat) {
        child->since_s = now_s;
    }
    if (phase == SY_PHASE_READY && child->phase != phase) {
        if (page->magic != SY_PAGE_MAGIC) {
            tell_to_end(child, SY_VERDICT_FOREIGN, now_s);
        } else {
            /* If it is gone, its status will say so. */
            (void)!send(child->wires.control, "g", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
    child->ended_count = ended;
    child->beat = beat;
    child->phase = phase;
}

/* How long it may stay in its phase without a sign of life. */
static double limit_s(const struct sy_child *child) {
    return child->phase >= SY_PHASE_DONE    ? LEAVE_S
           : child->phase <= SY_PHASE_READY ? child->start_limit_s
                                            : child->silence_limit_s;
}

static void judge(struct sy_child *child, double now_s) {
    if (child->verdict == SY_VERDICT_FLOOD) {
        tell_to_end(child, SY_VERDICT_FLOOD, now_s);
    } else if (now_s - child->since_s > limit_s(child)) {
        child->waited_s = now_s - child->since_s;
        child->silent_phase = child->phase;
        /* After its record, or its failure, it had said all it had to say. */
        tell_to_end(child, child->phase < SY_PHASE_SAVING ? SY_VERDICT_SILENT : SY_VERDICT_LATE,
                    now_s);
    }
}

static enum sy_child_state state_of(const struct sy_child *child) {
    return child->ended                     ? SY_CHILD_ENDED
           : child->verdict                 ? SY_CHILD_ENDING
           : has_record(child)              ? SY_CHILD_RECORDED
           : child->phase <= SY_PHASE_READY ? SY_CHILD_STARTING
                                            : SY_CHILD_RUNNING;
}

enum sy_child_state sy_child_step(struct sy_child *child, double now_s) {
    if (child->ended) {
        return SY_CHILD_ENDED;
    }
    drain(child, &child->wires.record);
    drain(child, &child->wires.said);
    if (!has_ended(child)) {
        if (isnan(child->told_s)) {
            follow(child, now_s);
        }
        if (isnan(child->told_s)) {
            judge(child, now_s);
        } else {
            insist(child, now_s);
        }
    }
    if (child->ended) {
        sy_child_conclude(child);
    }
    return state_of(child);
}

int sy_child_polls(const struct sy_child *child, struct pollfd *ret_polls) {
    const int fds[SY_CHILD_POLLS] = {child->wires.record, child->wires.said};
    for (uint32_t i = 0; i < SY_CHILD_POLLS; i++) {
        ret_polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    return child->ended ? -1 : LOOK_MS;
}

void sy_child_stop(struct sy_child *child, double now_s) {
    if (!child->ended && isnan(child->told_s)) {
        child->stopped_late = has_record(child);
        tell_to_end(child, SY_VERDICT_STOPPED, now_s);
    }
}

/* --- life ---------------------------------------------------------------------------------------
 */
int sy_child_start(const char *program, const struct sy_request *request, double now_s,
                   struct sy_child **ret_child, struct sy_error *error) {
    struct sy_child *child = calloc(1, sizeof(*child));
    if (!child) {
        return sy_out_of_memory(error);
    }
    *child = (struct sy_child){
        .since_s = now_s,
        .phase = SY_PHASE_STARTING,
        .start_limit_s = START_GRACE_S + sy_request_start_limit_s(request),
        .silence_limit_s = sy_limit_silence_s(request->limit_s),
        .told_s = NAN,
        .killed_s = NAN,
    };
    int code = sy_wires_spawn(program, request, &child->wires, error);
    if (code) {
        free(child);
        return code;
    }
    *ret_child = child;
    return 0;
}

void sy_child_destroy(struct sy_child *child) {
    if (!child) {
        return;
    }
    if (!child->ended) {
        kill(-child->wires.pid, SIGKILL);
    }
    for (double waited_s = 0; !child->ended && !has_ended(child) && waited_s < KILL_S;
         waited_s += 1e-3) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    sy_wires_release(&child->wires);
    sy_buffer_finish(&child->record);
    free(child);
}

/* --- what is known of it ------------------------------------------------------------------------
 */
struct sy_child_progress sy_child_progress(const struct sy_child *child) {
    const struct sy_page *page = child->wires.page;
    return (struct sy_child_progress){
        .phase = (enum sy_phase)child->phase,
        .growing = atomic_load(&page->growing) != 0,
        .done_count = atomic_load(&page->done_count),
        .task_count = atomic_load(&page->task_count),
        .done = atomic_load(&page->done),
        .total = atomic_load(&page->total),
    };
}

int sy_child_take_record(struct sy_child *child, struct sy_buffer *ret_text) {
    if (child->record.failed) {
        return -ENOMEM;
    }
    *ret_text = child->record;
    child->record = (struct sy_buffer){0};
    return 0;
}

struct sy_outcome sy_child_outcome(const struct sy_child *child) {
    struct sy_outcome outcome = child->outcome;
    if (!outcome.note[0]) {
        snprintf(outcome.note, sizeof outcome.note, "%.*s", (int)sizeof outcome.note - 1,
                 child->wires.page->note);
    }
    return outcome;
}
