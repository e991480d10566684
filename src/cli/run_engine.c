/* SPDX-License-Identifier: Apache-2.0
 *
 * run_engine: one engine process from its start to its end, whatever becomes of it.
 *
 * In: a child just started. Out: its record, or one message that says what happened to it. The
 * engine judges its tasks itself (time limit, faults); here is judged whether the engine lives: it
 * must become ready, end a task now and then, and leave when it is done. Invariant: on return the
 * child and its process group are gone and reaped.
 */
#include "cli/progress.h"
#include "cli/run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS       10    /* how often a silent engine is looked at */
#define START_LIMIT_S 600.0 /* a first start may measure every link of the machine */
#define TERM_S        2.0   /* between asking it to end and ending it */
#define LEAVE_S       20.0  /* from its last word to its end */
#define SAID_SIZE     2048
#define SESSION_STEPS 1000 /* of the progress bar, where tasks are not known in advance */

struct engine {
    const struct sy_engine_start *start;
    struct sy_engine_child child;
    struct sy_buffer record;
    char said[SAID_SIZE]; /* the end of what it printed */
    size_t said_length;
    struct sy_progress progress;
    uint32_t done_count, task_count; /* steps of the bar */
    uint32_t ended_count;            /* tasks */
    uint32_t beat;                   /* of a session that computes without tasks */
    uint32_t phase;
    double since_s; /* of the last thing that happened: a phase, a task's end */
    double start_limit_s, stuck_limit_s;
    bool ended;
    int status; /* of waitpid, once ended */
};

static double now_s(void) {
    return sy_clock_ns() * 1e-9;
}

/* --- what it says -------------------------------------------------------------------------------
 */
/* Keeps the last SAID_SIZE - 1 bytes. */
static void keep_said(struct engine *engine, const char *text, size_t length) {
    size_t room = SAID_SIZE - 1;
    if (length > room) {
        text += length - room;
        length = room;
    }
    if (engine->said_length + length > room) {
        size_t drop = engine->said_length + length - room;
        memmove(engine->said, engine->said + drop, engine->said_length - drop);
        engine->said_length -= drop;
    }
    memcpy(engine->said + engine->said_length, text, length);
    engine->said_length += length;
    engine->said[engine->said_length] = '\0';
}

/* False once there is no more to come, or nothing now. */
static bool drain(struct engine *engine, int *fd) {
    char scratch[65536];
    ssize_t got = read(*fd, scratch, sizeof(scratch));
    if (got <= 0) {
        if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            close(*fd);
            *fd = -1;
        }
        return false;
    }
    if (fd == &engine->child.record) {
        sy_buffer_append(&engine->record, scratch, (size_t)got);
    } else {
        keep_said(engine, scratch, (size_t)got);
    }
    return true;
}

/* Waits a little for something to happen, and takes what there is. */
static void listen_to(struct engine *engine, int timeout_ms) {
    int *ends[] = {&engine->child.record, &engine->child.said};
    struct pollfd waits[] = {{.fd = *ends[0], .events = POLLIN},
                             {.fd = *ends[1], .events = POLLIN}};
    if (poll(waits, SY_COUNT(waits), timeout_ms) <= 0) {
        return;
    }
    for (size_t i = 0; i < SY_COUNT(waits); i++) {
        if (waits[i].revents) {
            drain(engine, ends[i]);
        }
    }
}

/* What is left in the pipes of an engine that is gone. Nobody can still write, or only a process
 * that left its group: that one is not waited for. */
static void listen_rest(struct engine *engine) {
    int *ends[] = {&engine->child.record, &engine->child.said};
    for (size_t i = 0; i < SY_COUNT(ends); i++) {
        struct pollfd wait = {.fd = *ends[i], .events = POLLIN};
        while (*ends[i] >= 0 && poll(&wait, 1, 0) > 0 && drain(engine, ends[i])) {
        }
    }
}

/* --- its end ------------------------------------------------------------------------------------
 */
/* Seen first and reaped after its group is ended: until then nobody else can have its number. */
static bool has_ended(struct engine *engine) {
    siginfo_t info = {.si_pid = 0};
    pid_t pid = engine->child.pid;
    if (!engine->ended && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, &engine->status, 0) < 0 && errno == EINTR) {
        }
        engine->ended = true;
        listen_rest(engine);
    }
    return engine->ended;
}

/* Asked first, so that it can finish a file it is just writing. */
static void stop(struct engine *engine) {
    double until_s = now_s() + TERM_S;
    kill(-engine->child.pid, SIGTERM);
    while (!has_ended(engine) && now_s() < until_s) {
        listen_to(engine, LOOK_MS);
    }
    if (!engine->ended) {
        kill(-engine->child.pid, SIGKILL);
        while (!has_ended(engine)) {
            listen_to(engine, LOOK_MS);
        }
    }
}

/* --- what became of it --------------------------------------------------------------------------
 */
static const char *how_far(const struct engine *engine, char *buffer, size_t size) {
    uint32_t done = atomic_load(&engine->child.page->done_count);
    uint32_t all = atomic_load(&engine->child.page->task_count);
    if (engine->phase < SY_PHASE_RUNNING) {
        snprintf(buffer, size, "before the first task");
    } else {
        snprintf(buffer, size, "after %u of %u tasks", done, all);
    }
    return buffer;
}

/* The last line it printed, to be put in brackets; "" if it said nothing. */
static const char *last_line(struct engine *engine) {
    char *text = engine->said;
    for (size_t i = 0; i < engine->said_length; i++) {
        if ((unsigned char)text[i] < ' ' && text[i] != '\n') {
            text[i] = ' ';
        }
    }
    while (engine->said_length > 0 && strchr(" \n", text[engine->said_length - 1])) {
        text[--engine->said_length] = '\0';
    }
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

/* Its last line follows where it explains what the page does not. */
static int fail_with_said(struct engine *engine, const char *what) {
    const char *line = last_line(engine);
    char far[64];
    sy_message_fail("%s %s%s%s%s", what, how_far(engine, far, sizeof(far)),
                    *line ? " (it said: " : "", line, *line ? ")" : "");
    return SY_EXIT_FAILED;
}

/* A copy that ends, whatever the engine did to the page. */
static void copy_text(char *to, const char *from, size_t size) {
    memcpy(to, from, size - 1);
    to[size - 1] = '\0';
}

/* "file:line:column: message (hint)" as every other error. */
static void print_page(const struct sy_page *page) {
    char message[sizeof(page->message)], file[sizeof(page->file)], hint[sizeof(page->hint)];
    char place[48] = "";
    copy_text(message, page->message, sizeof(message));
    copy_text(file, page->file, sizeof(file));
    copy_text(hint, page->hint, sizeof(hint));
    if (page->line > 0 && page->column > 0) {
        snprintf(place, sizeof(place), ":%u:%u", page->line, page->column);
    } else if (page->line > 0) {
        snprintf(place, sizeof(place), ":%u", page->line);
    }
    sy_message_fail("%s%s%s%s%s%s%s", file, place, file[0] ? ": " : "", message,
                    hint[0] ? " (" : "", hint, hint[0] ? ")" : "");
}

static int judge_failed(const struct sy_page *page) {
    if (page->message[0]) {
        print_page(page);
    } else {
        sy_message_fail("the engine failed and does not say why");
    }
    int code = atomic_load(&page->exit_code);
    return code == SY_EXIT_USAGE || code == SY_EXIT_INPUT ? code : SY_EXIT_FAILED;
}

static int judge_signal(struct engine *engine, int number) {
    const struct sy_page *page = engine->child.page;
    if (page->magic == SY_PAGE_MAGIC && page->message[0]) {
        print_page(page); /* its fault handler knew the kernel and its input */
        return SY_EXIT_FAILED;
    }
    char what[64];
    const char *name = sigabbrev_np(number);
    snprintf(what, sizeof(what), "the engine was killed by signal %d (SIG%s)", number,
             name ? name : "?");
    return fail_with_said(engine, what);
}

/* After it has ended by itself. */
static int judge(struct engine *engine) {
    char what[64];
    engine->phase = atomic_load(&engine->child.page->phase);
    if (engine->phase == SY_PHASE_FAILED) {
        int code = judge_failed(engine->child.page);
        if (WIFSIGNALED(engine->status) && *last_line(engine)) {
            sy_message_note(false, "the engine said: %s", last_line(engine));
        }
        return code;
    }
    if (WIFSIGNALED(engine->status)) {
        return judge_signal(engine, WTERMSIG(engine->status));
    }
    if (WEXITSTATUS(engine->status) != 0 || engine->phase != SY_PHASE_DONE) {
        snprintf(what, sizeof(what), "the engine ended with status %d",
                 WEXITSTATUS(engine->status));
        return fail_with_said(engine, what);
    }
    return SY_EXIT_OK;
}

/* --- while it lives -----------------------------------------------------------------------------
 */
static int begin(struct engine *engine) {
    if (engine->child.page->magic != SY_PAGE_MAGIC) {
        stop(engine);
        sy_message_fail("the engine does not fit this symph (build and install both again)");
        return SY_EXIT_FAILED;
    }
    bool session = atomic_load(&engine->child.page->session);
    engine->task_count = session ? SESSION_STEPS : atomic_load(&engine->child.page->task_count);
    sy_progress_finish(&engine->progress);
    sy_progress_init(&engine->progress, engine->start->label, engine->task_count,
                     engine->start->quiet);
    /* If it is gone, its status will say so. */
    (void)!send(engine->child.control, "g", 1, MSG_NOSIGNAL);
    return SY_EXIT_OK;
}

/* How far it is, of engine->task_count. */
static uint32_t steps_done(const struct engine *engine, uint32_t ended_count) {
    const struct sy_page *page = engine->child.page;
    if (!atomic_load(&page->session)) {
        return ended_count;
    }
    double done = atomic_load(&page->done), total = atomic_load(&page->total);
    return total > 0 && done > 0 ? (uint32_t)(fmin(done / total, 1) * SESSION_STEPS) : 0;
}

/* Takes note of what happened since the last look. */
static int follow(struct engine *engine) {
    const struct sy_page *page = engine->child.page;
    uint32_t phase = atomic_load(&page->phase), beat = atomic_load(&page->beat);
    uint32_t ended = atomic_load(&page->done_count), done = steps_done(engine, ended);
    if (phase != engine->phase || ended != engine->ended_count || beat != engine->beat) {
        engine->since_s = now_s();
    }
    engine->ended_count = ended;
    engine->beat = beat;
    int r = phase == SY_PHASE_READY && engine->phase != phase ? begin(engine) : SY_EXIT_OK;
    if (phase == SY_PHASE_CHECKING && engine->phase != phase) { /* no end is in sight: no bar */
        sy_progress_finish(&engine->progress);
        sy_progress_init(&engine->progress, engine->start->label, 0, true);
    }
    engine->phase = phase;
    bool forward = done > engine->done_count && done <= engine->task_count;
    sy_progress_add(&engine->progress, forward ? done - engine->done_count : 0);
    engine->done_count = done;
    return r;
}

/* An engine that is past its time is ended. True: the result is there all the same, or *ret_code
 * says why not. */
static bool overdue(struct engine *engine, int *ret_code) {
    double waited_s = now_s() - engine->since_s;
    switch (engine->phase) {
    case SY_PHASE_STARTING:
    case SY_PHASE_READY:
        if (waited_s > engine->start_limit_s) {
            stop(engine);
            sy_message_fail(
                "the engine was not ready after %.0f s (SYMPH_START_LIMIT=SECONDS gives it "
                "longer)",
                waited_s);
            *ret_code = SY_EXIT_FAILED;
            return true;
        }
        return false;
    case SY_PHASE_RUNNING:
        if (waited_s > engine->stuck_limit_s) {
            char what[96];
            snprintf(what, sizeof(what),
                     "the engine is stuck: no task has ended for %.0f s, it was ended", waited_s);
            stop(engine);
            *ret_code = fail_with_said(engine, what);
            return true;
        }
        return false;
    case SY_PHASE_DONE:
    case SY_PHASE_FAILED:
        if (waited_s > LEAVE_S) {
            stop(engine); /* it had said all it had to say */
            *ret_code =
                engine->phase == SY_PHASE_DONE ? SY_EXIT_OK : judge_failed(engine->child.page);
            return true;
        }
        return false;
    default:
        return false;
    }
}

static int look_after(struct engine *engine) {
    int r = SY_EXIT_OK;
    while (!has_ended(engine)) {
        listen_to(engine, LOOK_MS);
        r = follow(engine);
        if (r != SY_EXIT_OK || overdue(engine, &r)) {
            return r;
        }
        if (sy_interrupt_seen()) {
            stop(engine);
            return SY_EXIT_INTERRUPTED;
        }
    }
    return judge(engine);
}

/* A positive number of seconds from the environment, else the default. */
static double seconds_from(const char *variable, double otherwise) {
    const char *text = getenv(variable);
    double value = 0;
    return text && sy_parse_double(text, strlen(text), &value) && value > 0 ? value : otherwise;
}

/* Also of a run that failed: where the result is wrong there is a record to look at. A record that
 * is not whole is refused by whoever reads it; here only memory can be short. */
static int hand_over(struct engine *engine, struct sy_buffer *ret_record) {
    if (engine->record.failed) {
        sy_message_fail("out of memory");
        return SY_EXIT_FAILED;
    }
    if (ret_record) {
        sy_buffer_append(ret_record, engine->record.text ? engine->record.text : "",
                         engine->record.length);
    }
    return SY_EXIT_OK;
}

int sy_engine_supervise(const struct sy_engine_start *start, struct sy_buffer *ret_record) {
    double limit_s = start->limit_s > 0 ? start->limit_s : SY_RUN_LIMIT_S;
    struct engine engine = {.start = start,
                            .since_s = now_s(),
                            .phase = SY_PHASE_STARTING,
                            .start_limit_s = seconds_from("SYMPH_START_LIMIT", START_LIMIT_S),
                            /* The engine's own watchdog comes first. */
                            .stuck_limit_s = 5 + 1.5 * limit_s};
    int r = sy_engine_spawn(start, &engine.child);
    if (r != SY_EXIT_OK) {
        return r;
    }
    sy_progress_init(&engine.progress, start->label, 0, true);
    r = look_after(&engine);
    sy_progress_finish(&engine.progress);
    int handed = hand_over(&engine, ret_record);
    r = r ? r : handed;
    sy_engine_release(&engine.child);
    sy_buffer_finish(&engine.record);
    return r;
}
