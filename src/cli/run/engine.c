/* SPDX-License-Identifier: Apache-2.0
 *
 * engine: one engine on behalf of somebody at a terminal: a bar while it runs, Ctrl-C, messages.
 *
 * In: a request. Out: its record, an exit code. supervise/ looks after the process.
 */
#include "cli/clock.h"
#include "cli/progress.h"
#include "cli/run/run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define GROWING_STEPS 1000 /* of the bar, where tasks are not known in advance */

static double now_s(void) {
    return sy_clock_ns() * 1e-9;
}

/* --- the bar ------------------------------------------------------------------------------------
 */
struct bar {
    struct sy_progress progress;
    const char *label; /* NULL: no bar */
    uint32_t phase, steps, done;
};

/* The bar is there while tasks run: before and after that no end is in sight. */
static void change_phase(struct bar *bar, const struct sy_child_progress *now) {
    bool before = bar->phase == SY_PHASE_READY || bar->phase == SY_PHASE_RUNNING;
    bool runs = now->phase == SY_PHASE_READY || now->phase == SY_PHASE_RUNNING;
    bar->phase = now->phase;
    if (runs != before) {
        bar->steps = now->growing ? GROWING_STEPS : now->task_count;
        bar->done = 0;
        sy_progress_finish(&bar->progress);
        sy_progress_init(&bar->progress, bar->label, runs ? bar->steps : 0, !runs || !bar->label);
    }
}

static uint32_t steps_done(const struct sy_child_progress *now) {
    if (!now->growing) {
        return now->done_count;
    }
    return now->total > 0 && now->done > 0
               ? (uint32_t)(fmin(now->done / now->total, 1) * GROWING_STEPS)
               : 0;
}

static void redraw(struct bar *bar, const struct sy_child *child) {
    struct sy_child_progress now = sy_child_progress(child);
    change_phase(bar, &now);
    uint32_t done = steps_done(&now);
    bool forward = done > bar->done && done <= bar->steps;
    sy_progress_add(&bar->progress, forward ? done - bar->done : 0);
    bar->done = done;
}

/* --- the engine ---------------------------------------------------------------------------------
 */
/* Until it is in that state, or has ended. */
static void look_after(struct sy_child *child, enum sy_child_state until, const char *label) {
    struct bar bar = {.label = label};
    sy_progress_init(&bar.progress, "", 0, true);
    enum sy_child_state state;
    while ((state = sy_child_step(child, now_s())) != until && state != SY_CHILD_ENDED) {
        struct pollfd polls[SY_CHILD_POLLS];
        redraw(&bar, child);
        if (sy_interrupt_seen()) {
            sy_child_stop(child, now_s());
        }
        int timeout_ms = sy_child_polls(child, polls);
        (void)!poll(polls, SY_CHILD_POLLS, timeout_ms);
    }
    sy_progress_finish(&bar.progress);
}

/* Says what went wrong. */
static int tell(const struct sy_outcome *outcome) {
    if (outcome->code == 0) {
        return SY_EXIT_OK;
    }
    if (outcome->code == -ECANCELED) {
        return SY_EXIT_INTERRUPTED;
    }
    sy_message_error(&outcome->error);
    if (outcome->said[0]) {
        sy_message_note(false, "the engine said: %s", outcome->said);
    }
    return outcome->blame == SY_BLAME_REQUEST ? SY_EXIT_USAGE
           : outcome->blame == SY_BLAME_INPUT ? SY_EXIT_INPUT
                                              : SY_EXIT_FAILED;
}

/* A positive number of seconds from the environment; 0: none. */
static double start_limit_s(void) {
    const char *text = getenv("SYMPH_START_LIMIT");
    double value = 0;
    return text && sy_parse_double(text, strlen(text), &value) && value > 0 ? value : 0;
}

static int start(const struct sy_request *asked, struct sy_child **ret_child) {
    struct sy_request request = *asked;
    struct sy_error error = {0};
    char path[4096];
    request.start_limit_s = start_limit_s();
    signal(SIGCHLD, SIG_DFL); /* whoever ignored it for us would take the engine's status */
    int code = sy_engine_find(path, sizeof path, &error);
    code = code ? code : sy_child_start(path, &request, now_s(), ret_child, &error);
    return sy_message_code(code, &error);
}

/* Also of a run that failed: its record may be whole all the same. */
static int read_record(struct sy_child *child, int r, struct sy_buffer *ret_text,
                       struct sy_record **ret_record) {
    struct sy_error error = {0};
    struct sy_buffer text = {0};
    int code = sy_child_take_record(child, &text);
    code = code ? sy_fail(&error, code, "out of memory")
                : sy_record_read_text("the engine's record", text.text ? text.text : "",
                                      text.length, ret_record, &error);
    if (code == 0) {
        *ret_text = text;
        return r;
    }
    sy_buffer_finish(&text);
    if (r == SY_EXIT_OK) {
        sy_message_error(&error);
    }
    return r ? r : SY_EXIT_FAILED;
}

int sy_run_engine(const struct sy_request *request, const char *label, bool quiet,
                  struct sy_buffer *ret_text, struct sy_record **ret_record,
                  struct sy_child **ret_child) {
    struct sy_child *child = NULL;
    int r = start(request, &child);
    if (r != SY_EXIT_OK) {
        return r;
    }
    look_after(child, SY_CHILD_RECORDED, quiet ? NULL : label);
    struct sy_outcome outcome = sy_child_outcome(child);
    r = tell(&outcome);
    r = ret_record ? read_record(child, r, ret_text, ret_record) : r;
    if (r != SY_EXIT_OK) {
        sy_child_destroy(child);
        return r;
    }
    *ret_child = child;
    return SY_EXIT_OK;
}

int sy_run_finish(struct sy_child *child, bool quiet, char *told) {
    if (!child) {
        return SY_EXIT_OK;
    }
    look_after(child, SY_CHILD_ENDED, NULL);
    struct sy_outcome outcome = sy_child_outcome(child);
    int r = tell(&outcome);
    if (outcome.note[0] && !(told && strcmp(told, outcome.note) == 0)) {
        sy_message_note(quiet, "%s", outcome.note);
    }
    if (told && outcome.note[0]) {
        memcpy(told, outcome.note, SY_NOTE_SIZE);
    }
    sy_child_destroy(child);
    return r;
}
