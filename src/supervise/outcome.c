/* SPDX-License-Identifier: Apache-2.0
 *
 * outcome: what became of an engine that has ended, in words.
 *
 * In: how it ended, its page, what it printed. Out: an outcome. The page is the engine's to write:
 * it is copied, and nothing in it is believed to end where it should.
 */
#include "supervise/child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static void put_how_far(const struct sy_child *child, struct sy_buffer *text) {
    const struct sy_page *page = child->wires.page;
    if (child->phase < SY_PHASE_RUNNING) {
        sy_buffer_printf(text, " before the first task");
    } else {
        sy_buffer_printf(text, " after %u of %u tasks", atomic_load(&page->done_count),
                         atomic_load(&page->task_count));
    }
}

/* The last line it printed; "" if it said nothing. */
static const char *last_line(struct sy_child *child) {
    char *text = child->said;
    for (size_t i = 0; i < child->said_length; i++) {
        if ((unsigned char)text[i] < ' ' && text[i] != '\n') {
            text[i] = ' ';
        }
    }
    while (child->said_length > 0 && strchr(" \n", text[child->said_length - 1])) {
        text[--child->said_length] = '\0';
    }
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

static void fail(struct sy_child *child, const char *what) {
    child->outcome.code = -EIO;
    child->outcome.blame = SY_BLAME_RUN;
    sy_fail(&child->outcome.error, -EIO, "%s", what);
}

/* Its last line follows where it explains what the page does not. */
static void fail_with_said(struct sy_child *child, const char *what) {
    const char *line = last_line(child);
    struct sy_buffer text = {0};
    sy_buffer_printf(&text, "%s", what);
    put_how_far(child, &text);
    if (*line) {
        sy_buffer_printf(&text, " (it said: %s)", line);
    }
    fail(child, text.failed ? what : text.text);
    sy_buffer_finish(&text);
}

/* A copy that ends, whatever the engine did to the page. */
static void copy_error(struct sy_error *to, const struct sy_error *from) {
    memcpy(to, from, sizeof *to);
    to->message[sizeof to->message - 1] = '\0';
    to->file[sizeof to->file - 1] = '\0';
    to->hint[sizeof to->hint - 1] = '\0';
}

/* The page says what happened. */
static void fail_as_told(struct sy_child *child) {
    struct sy_outcome *outcome = &child->outcome;
    int blame = atomic_load(&child->wires.page->blame);
    fail(child, "the engine failed without a message");
    if (child->wires.page->error.message[0]) {
        copy_error(&outcome->error, &child->wires.page->error);
    }
    if (blame == SY_BLAME_REQUEST || blame == SY_BLAME_INPUT) {
        outcome->blame = (enum sy_blame)blame;
    }
}

static void fail_signal(struct sy_child *child, int number) {
    const struct sy_page *page = child->wires.page;
    if (page->magic == SY_PAGE_MAGIC && page->error.message[0]) {
        fail(child, ""); /* its fault handler knew the kernel and its input */
        copy_error(&child->outcome.error, &page->error);
        return;
    }
    char what[64];
    const char *name = sigabbrev_np(number);
    snprintf(what, sizeof(what), "the engine was killed by signal %d (SIG%s)", number,
             name ? name : "?");
    fail_with_said(child, what);
}

static void fail_flood(struct sy_child *child) {
    const struct sy_page *page = child->wires.page;
    unsigned long long announced = atomic_load(&page->record_bytes);
    unsigned long long limit = sy_child_record_limit(child);
    char what[256];
    if (announced > limit) {
        snprintf(what, sizeof what,
                 "the engine's record would have %llu bytes, and at most %llu are allowed for %u "
                 "tasks",
                 announced, limit, atomic_load(&page->task_count));
        fail(child, what);
        return;
    }
    snprintf(what, sizeof what, "more came as the engine's record than the %llu bytes it announced",
             announced);
    fail(child, what);
    sy_hint(&child->outcome.error, "does a kernel write to file descriptor %d? It is the engine's",
            SY_RECORD_FD);
}

static void fail_silent(struct sy_child *child) {
    static const char *const during[] = {"", "", "running tasks", "checking the result"};
    char what[128];
    if (child->silent_phase <= SY_PHASE_READY) {
        snprintf(what, sizeof what, "the engine was not ready after %.0f s", child->waited_s);
        fail(child, what);
        sy_hint(&child->outcome.error, "SYMPH_START_LIMIT=SECONDS gives it longer");
        return;
    }
    snprintf(what, sizeof(what),
             "the engine is stuck: no sign of life for %.0f s while %s; it was stopped",
             child->waited_s, during[child->silent_phase]);
    fail_with_said(child, what);
}

/* It was told to leave: that it was killed, or ended in some other way, is no news. */
static void conclude_told(struct sy_child *child) {
    switch (child->verdict) {
    case SY_VERDICT_FOREIGN:
        fail(child, "the engine does not match this symph");
        sy_hint(&child->outcome.error, "build and install both again");
        break;
    case SY_VERDICT_FLOOD:
        fail_flood(child);
        break;
    case SY_VERDICT_SILENT:
        fail_silent(child);
        break;
    case SY_VERDICT_LATE:
        if (child->silent_phase == SY_PHASE_FAILED) {
            fail_as_told(child);
        }
        break;
    default:
        child->outcome.code = -ECANCELED;
        child->outcome.blame = SY_BLAME_RUN;
        break;
    }
}

/* It ended by itself. */
static void conclude_free(struct sy_child *child) {
    char what[64];
    bool signalled = WIFSIGNALED(child->status);
    child->phase = atomic_load(&child->wires.page->phase);
    if (child->phase == SY_PHASE_FAILED) {
        fail_as_told(child);
        if (signalled) {
            snprintf(child->outcome.said, sizeof child->outcome.said, "%.255s", last_line(child));
        }
    } else if (signalled) {
        fail_signal(child, WTERMSIG(child->status));
    } else if (WEXITSTATUS(child->status) != 0 || child->phase != SY_PHASE_DONE) {
        snprintf(what, sizeof(what), "the engine ended with status %d", WEXITSTATUS(child->status));
        fail_with_said(child, what);
    }
}

void sy_child_conclude(struct sy_child *child) {
    struct sy_outcome *outcome = &child->outcome;
    if (child->verdict) {
        conclude_told(child);
    } else {
        conclude_free(child);
    }
    if (child->lost) {
        fail(child, "the engine cannot be ended: the system does not let go of it");
    }
    memcpy(outcome->note, child->wires.page->note, sizeof outcome->note - 1);
    bool late = child->verdict == SY_VERDICT_LATE && outcome->code == 0;
    if (!outcome->note[0] && (late || child->stopped_late)) {
        snprintf(outcome->note, sizeof outcome->note,
                 "what was learned may not be kept: the engine %s",
                 late ? "did not exit, and was stopped" : "was interrupted");
    }
}
