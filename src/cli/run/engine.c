/* SPDX-License-Identifier: Apache-2.0
 *
 * engine: one engine process from its start to its end, whatever becomes of it.
 *
 * In: a child just started. Out: its record, or one message that says what happened to it. The
 * engine judges its tasks and its own steps itself (time limits, faults); here is judged whether
 * the engine lives: it must become ready, show a sign of life now and then, hand over the record
 * that it announced and nothing else, and leave when it is done. Invariant: after sy_engine_finish
 * the child and all that it started are gone and reaped.
 */
#include "cli/progress.h"
#include "cli/run/run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS       10   /* how often a silent engine is looked at */
#define TERM_S        5.0  /* between asking it to end and ending it; its keeper is faster */
#define LEAVE_S       20.0 /* from its last word to its end */
#define START_GRACE_S 5.0  /* the engine's own watchdog comes first, and knows more */
#define SAID_SIZE     2048
#define RECORD_BYTES  (UINT64_C(64) << 20) /* a record has at most this, */
#define TASK_BYTES    (UINT64_C(8) << 10)  /* and this for each task */
#define SESSION_STEPS 1000 /* of the progress bar, where tasks are not known in advance */

struct sy_engine_run {
    struct sy_engine_start start; /* its texts are the caller's, until the record is there */
    struct sy_engine_child child;
    struct sy_buffer record;
    char said[SAID_SIZE]; /* the end of what it printed */
    size_t said_length;
    struct sy_progress progress;
    uint32_t done_count, task_count; /* steps of the bar */
    uint32_t ended_count;            /* tasks */
    uint32_t beat;                   /* of a session that computes without tasks */
    uint32_t phase;
    double since_s; /* of the last thing that happened: a phase, a task's end, a beat */
    double start_limit_s, silence_limit_s;
    bool flooded; /* more came as its record than it may have */
    bool late;    /* it was ended after its record */
    bool ended;
    int status; /* of waitpid, once ended */
};

static double now_s(void) {
    return sy_clock_ns() * 1e-9;
}

/* --- what it says -------------------------------------------------------------------------------
 */
/* Keeps the last SAID_SIZE - 1 bytes. */
static void keep_said(struct sy_engine_run *engine, const char *text, size_t length) {
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

static uint64_t record_limit(const struct sy_engine_run *engine) {
    return RECORD_BYTES + TASK_BYTES * atomic_load(&engine->child.page->task_count);
}

/* What is more than it announced is not kept: memory stays within what the tasks account for. */
static void take_record(struct sy_engine_run *engine, const char *text, size_t length) {
    uint64_t announced = atomic_load(&engine->child.page->record_bytes);
    if (announced > record_limit(engine) || engine->record.length + length > announced) {
        engine->flooded = true;
    } else {
        sy_buffer_append(&engine->record, text, length);
    }
}

/* False once there is no more to come, or nothing now. */
static bool drain(struct sy_engine_run *engine, int *fd) {
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
        take_record(engine, scratch, (size_t)got);
    } else {
        keep_said(engine, scratch, (size_t)got);
    }
    return true;
}

/* Waits a little for something to happen, and takes what there is. */
static void listen_to(struct sy_engine_run *engine, int timeout_ms) {
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
static void listen_rest(struct sy_engine_run *engine) {
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
static bool has_ended(struct sy_engine_run *engine) {
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
static void stop(struct sy_engine_run *engine) {
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
static const char *how_far(const struct sy_engine_run *engine, char *buffer, size_t size) {
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
static const char *last_line(struct sy_engine_run *engine) {
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
static int fail_with_said(struct sy_engine_run *engine, const char *what) {
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
        sy_message_fail("the engine failed without a message");
    }
    int code = atomic_load(&page->exit_code);
    return code == SY_EXIT_USAGE || code == SY_EXIT_INPUT ? code : SY_EXIT_FAILED;
}

static int judge_signal(struct sy_engine_run *engine, int number) {
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
static int judge(struct sy_engine_run *engine) {
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
static int begin(struct sy_engine_run *engine) {
    if (engine->child.page->magic != SY_PAGE_MAGIC) {
        stop(engine);
        sy_message_fail("the engine does not match this symph (build and install both again)");
        return SY_EXIT_FAILED;
    }
    bool session = atomic_load(&engine->child.page->session);
    engine->task_count = session ? SESSION_STEPS : atomic_load(&engine->child.page->task_count);
    sy_progress_finish(&engine->progress);
    sy_progress_init(&engine->progress, engine->start.label, engine->task_count,
                     engine->start.quiet);
    /* If it is gone, its status will say so. */
    (void)!send(engine->child.control, "g", 1, MSG_NOSIGNAL);
    return SY_EXIT_OK;
}

/* How far it is, of engine->task_count. */
static uint32_t steps_done(const struct sy_engine_run *engine, uint32_t ended_count) {
    const struct sy_page *page = engine->child.page;
    if (!atomic_load(&page->session)) {
        return ended_count;
    }
    double done = atomic_load(&page->done), total = atomic_load(&page->total);
    return total > 0 && done > 0 ? (uint32_t)(fmin(done / total, 1) * SESSION_STEPS) : 0;
}

/* Takes note of what happened since the last look. */
static int follow(struct sy_engine_run *engine) {
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
        sy_progress_init(&engine->progress, engine->start.label, 0, true);
    }
    engine->phase = phase;
    bool forward = done > engine->done_count && done <= engine->task_count;
    sy_progress_add(&engine->progress, forward ? done - engine->done_count : 0);
    engine->done_count = done;
    return r;
}

/* --- what it must keep to -----------------------------------------------------------------------
 */
static bool has_record(const struct sy_engine_run *engine) {
    uint64_t announced = atomic_load(&engine->child.page->record_bytes);
    return engine->phase >= SY_PHASE_SAVING && engine->phase != SY_PHASE_FAILED &&
           engine->record.length == announced;
}

static int fail_flooded(struct sy_engine_run *engine) {
    uint64_t announced = atomic_load(&engine->child.page->record_bytes);
    stop(engine);
    if (announced > record_limit(engine)) {
        sy_message_fail("the engine's record would have %llu bytes, and at most %llu are allowed "
                        "for %u tasks",
                        (unsigned long long)announced, (unsigned long long)record_limit(engine),
                        atomic_load(&engine->child.page->task_count));
    } else {
        sy_message_fail("more came as the engine's record than the %llu bytes it announced (does "
                        "a kernel write to file descriptor %d? It is the engine's)",
                        (unsigned long long)announced, SY_RECORD_FD);
    }
    return SY_EXIT_FAILED;
}

static int fail_silent(struct sy_engine_run *engine, double waited_s) {
    static const char *const during[] = {"", "", "running tasks", "checking the result"};
    char what[128];
    uint32_t phase = engine->phase;
    stop(engine);
    if (phase <= SY_PHASE_READY) {
        sy_message_fail("the engine was not ready after %.0f s (SYMPH_START_LIMIT=SECONDS gives "
                        "it longer)",
                        waited_s);
        return SY_EXIT_FAILED;
    }
    snprintf(what, sizeof(what),
             "the engine is stuck: no sign of life for %.0f s while %s; it was stopped", waited_s,
             during[phase]);
    return fail_with_said(engine, what);
}

/* An engine that is past its time is ended. True: *ret_code says what follows. After its record, or
 * its failure, it had said all it had to say. */
static bool overdue(struct sy_engine_run *engine, int *ret_code) {
    double waited_s = now_s() - engine->since_s;
    if (engine->flooded) {
        *ret_code = fail_flooded(engine);
        return true;
    }
    if (engine->phase >= SY_PHASE_DONE
            ? waited_s <= LEAVE_S
            : waited_s <= (engine->phase <= SY_PHASE_READY ? engine->start_limit_s
                                                           : engine->silence_limit_s)) {
        return false;
    }
    if (engine->phase < SY_PHASE_SAVING) {
        *ret_code = fail_silent(engine, waited_s);
    } else if (engine->phase == SY_PHASE_FAILED) {
        stop(engine);
        *ret_code = judge_failed(engine->child.page);
    } else {
        stop(engine);
        engine->late = true;
        *ret_code = SY_EXIT_OK;
    }
    return true;
}

/* Until it has ended, or until its record is there. */
static int look_after(struct sy_engine_run *engine, bool to_record) {
    int r = SY_EXIT_OK;
    while (!has_ended(engine)) {
        listen_to(engine, LOOK_MS);
        r = follow(engine);
        if (r != SY_EXIT_OK || overdue(engine, &r)) {
            return r;
        }
        if (to_record && has_record(engine)) {
            return SY_EXIT_OK;
        }
        if (sy_interrupt_seen()) {
            stop(engine);
            return SY_EXIT_INTERRUPTED;
        }
    }
    return engine->flooded ? fail_flooded(engine) : judge(engine);
}

/* A positive number of seconds from the environment, else the default. */
static double seconds_from(const char *variable, double otherwise) {
    const char *text = getenv(variable);
    double value = 0;
    return text && sy_parse_double(text, strlen(text), &value) && value > 0 ? value : otherwise;
}

/* Also of a run that failed: where the result is wrong there is a record to look at. A record that
 * is not whole is refused by whoever reads it; here only memory can be short. */
static int hand_over(struct sy_engine_run *engine, struct sy_buffer *ret_record) {
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

static void release(struct sy_engine_run *engine) {
    sy_engine_release(&engine->child);
    sy_buffer_finish(&engine->record);
    free(engine);
}

int sy_engine_run_to_record(const struct sy_engine_start *asked, struct sy_buffer *ret_record,
                            struct sy_engine_run **ret_run) {
    struct sy_engine_run *engine = calloc(1, sizeof(*engine));
    if (!engine) {
        sy_message_fail("out of memory");
        return SY_EXIT_FAILED;
    }
    struct sy_engine_start start = *asked;
    start.limit_s = start.limit_s > 0 ? start.limit_s : SY_RUN_LIMIT_S;
    start.start_limit_s = seconds_from("SYMPH_START_LIMIT", sy_limit_start_s(start.limit_s));
    *engine = (struct sy_engine_run){.start = start,
                                     .since_s = now_s(),
                                     .phase = SY_PHASE_STARTING,
                                     .start_limit_s = START_GRACE_S + start.start_limit_s,
                                     .silence_limit_s = sy_limit_silence_s(start.limit_s)};
    int r = sy_engine_spawn(&start, &engine->child);
    if (r != SY_EXIT_OK) {
        free(engine);
        return r;
    }
    sy_progress_init(&engine->progress, start.label, 0, true);
    r = look_after(engine, true);
    sy_progress_finish(&engine->progress);
    int handed = hand_over(engine, ret_record);
    r = r ? r : handed;
    if (r != SY_EXIT_OK) {
        if (!engine->ended) {
            stop(engine);
        }
        release(engine);
        return r;
    }
    *ret_run = engine;
    return SY_EXIT_OK;
}

bool sy_engine_noted(const struct sy_engine_run *engine) {
    return engine && engine->child.page->note[0];
}

int sy_engine_finish(struct sy_engine_run *engine, char *told) {
    if (!engine) {
        return SY_EXIT_OK;
    }
    char note[SY_NOTE_SIZE];
    engine->start.label = "";
    sy_progress_init(&engine->progress, "", 0, true);
    int r = engine->ended ? SY_EXIT_OK : look_after(engine, false);
    copy_text(note, engine->child.page->note, sizeof(note));
    if (!note[0] && (engine->late || r == SY_EXIT_INTERRUPTED)) {
        snprintf(note, sizeof(note), "what was learned may not be kept: the engine %s",
                 engine->late ? "did not exit, and was stopped" : "was interrupted");
    }
    if (note[0] && !(told && strcmp(told, note) == 0)) {
        sy_message_note(engine->start.quiet, "%s", note);
    }
    if (told && note[0]) {
        memcpy(told, note, sizeof(note));
    }
    release(engine);
    return r;
}

int sy_engine_supervise(const struct sy_engine_start *start, struct sy_buffer *ret_record) {
    struct sy_engine_run *engine = NULL;
    int r = sy_engine_run_to_record(start, ret_record, &engine);
    int finished = sy_engine_finish(engine, NULL);
    return r ? r : finished;
}
