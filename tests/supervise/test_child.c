/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine under supervision: what becomes of it, whatever it does. The clock is the test's: an
 * hour of silence passes in a moment.
 */
#include "supervise/supervise.h"
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HOUR_S 3600.0
#define LOOKS  60000 /* then something is wrong: 10 minutes, if nothing happens */

/* No clock moves while it is watched: only the engine's own doing changes its state. */
static enum sy_child_state watch(struct sy_child *child, enum sy_child_state until, double now_s) {
    enum sy_child_state state = sy_child_step(child, now_s);
    for (int i = 0; i < LOOKS && state != until && state != SY_CHILD_ENDED; i++) {
        struct pollfd polls[SY_CHILD_POLLS];
        int timeout_ms = sy_child_polls(child, polls);
        assert_in_range(timeout_ms, 0, 1000);
        poll(polls, SY_CHILD_POLLS, timeout_ms);
        state = sy_child_step(child, now_s);
    }
    return state;
}

static void watch_phase(struct sy_child *child, enum sy_phase phase, double now_s) {
    for (int i = 0; i < LOOKS && sy_child_progress(child).phase != phase; i++) {
        assert_int_not_equal(sy_child_step(child, now_s), SY_CHILD_ENDED);
        usleep(1000);
    }
    assert_int_equal(sy_child_progress(child).phase, phase);
}

static struct sy_child *start(const char *act) {
    struct sy_request request = sy_request_default;
    struct sy_error error = {0};
    struct sy_child *child = NULL;
    request.spec = act;
    assert_int_equal(sy_child_start(FAKE_ENGINE, &request, 0, &child, &error), 0);
    return child;
}

/* To its end, without any help. */
static struct sy_outcome outcome_of(const char *act) {
    struct sy_child *child = start(act);
    assert_int_equal(watch(child, SY_CHILD_ENDED, 0), SY_CHILD_ENDED);
    struct sy_outcome outcome = sy_child_outcome(child);
    sy_child_destroy(child);
    return outcome;
}

static void expect(struct sy_outcome outcome, enum sy_blame blame, const char *message,
                   const char *hint) {
    assert_int_not_equal(outcome.code, 0);
    assert_int_equal(outcome.blame, blame);
    if (!strstr(outcome.error.message, message) || !strstr(outcome.error.hint, hint)) {
        fail_msg("'%s' ('%s') lacks '%s' ('%s')", outcome.error.message, outcome.error.hint,
                 message, hint);
    }
}

/* --- it ends by itself --------------------------------------------------------------------------
 */
static void all_goes_well(void **state) {
    (void)state;
    struct sy_child *child = start("ok");
    struct sy_buffer text = {0};
    assert_in_range(watch(child, SY_CHILD_RECORDED, 0), SY_CHILD_RECORDED, SY_CHILD_ENDED);
    assert_int_equal(sy_child_outcome(child).code, 0);
    assert_int_equal(sy_child_take_record(child, &text), 0);
    assert_string_equal(text.text, "{\"schema\": \"fake\"}\n");
    sy_buffer_finish(&text);
    assert_int_equal(sy_child_take_record(child, &text), 0);
    assert_int_equal(text.length, 0);
    assert_int_equal(watch(child, SY_CHILD_ENDED, 0), SY_CHILD_ENDED);
    assert_int_equal(sy_child_outcome(child).code, 0);
    assert_string_equal(sy_child_outcome(child).note, "");
    struct sy_child_progress progress = sy_child_progress(child);
    assert_int_equal(progress.done_count, 5);
    assert_int_equal(progress.task_count, 5);
    assert_false(progress.growing);
    struct pollfd polls[SY_CHILD_POLLS];
    assert_int_equal(sy_child_polls(child, polls), -1);
    sy_child_stop(child, 0); /* too late to mean anything */
    assert_int_equal(sy_child_step(child, HOUR_S), SY_CHILD_ENDED);
    assert_int_equal(sy_child_outcome(child).code, 0);
    sy_child_destroy(child);
}

static void it_leaves_a_note(void **state) {
    (void)state;
    struct sy_outcome outcome = outcome_of("note");
    assert_int_equal(outcome.code, 0);
    assert_string_equal(outcome.note, "the disk is full");
}

static void it_fails(void **state) {
    (void)state;
    struct sy_outcome outcome = outcome_of("input");
    expect(outcome, SY_BLAME_INPUT, "no such kernel", "symph kernels lists them");
    assert_string_equal(outcome.error.file, "g.json");
    assert_int_equal(outcome.error.line, 3);
    assert_int_equal(outcome.error.column, 7);
    expect(outcome_of("status"), SY_BLAME_RUN,
           "the engine ended with status 7 before the first task (it said: no such library)", "");
    expect(outcome_of("early"), SY_BLAME_RUN, "the engine ended with status 0 after 5 of 5 tasks",
           "");
    expect(outcome_of("crash"), SY_BLAME_RUN,
           "the engine was killed by signal 6 (SIGABRT) after 2 of 5 tasks", "");
    expect(outcome_of("crash told"), SY_BLAME_RUN, "kernel gemm crashed", "");
    expect(outcome_of("no such act"), SY_BLAME_RUN, "status 98", "");
}

static void texts_without_an_end(void **state) {
    (void)state;
    struct sy_outcome outcome = outcome_of("unended texts");
    expect(outcome, SY_BLAME_RUN, "mmmm", "mmmm");
    assert_int_equal(strlen(outcome.error.message), sizeof outcome.error.message - 1);
    assert_int_equal(strlen(outcome.note), sizeof outcome.note - 1);
}

/* --- it must be ended ---------------------------------------------------------------------------
 */
static void it_is_silent(void **state) {
    (void)state;
    static const struct {
        const char *act;
        enum sy_phase phase;
        const char *message, *hint;
    } cases[] = {
        {"never ready", SY_PHASE_STARTING, "was not ready after 3600 s", "SYMPH_START_LIMIT"},
        {"stuck", SY_PHASE_RUNNING,
         "no sign of life for 3600 s while running tasks; it was stopped after 2 of 5 tasks", ""},
        {"stuck checking", SY_PHASE_CHECKING, "while checking the result", ""},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_child *child = start(cases[i].act);
        watch_phase(child, cases[i].phase, 0);
        assert_in_range(sy_child_step(child, 5), SY_CHILD_STARTING, SY_CHILD_RUNNING);
        assert_int_equal(sy_child_step(child, HOUR_S), SY_CHILD_ENDING);
        assert_int_equal(watch(child, SY_CHILD_ENDED, HOUR_S), SY_CHILD_ENDED);
        expect(sy_child_outcome(child), SY_BLAME_RUN, cases[i].message, cases[i].hint);
        sy_child_destroy(child);
    }
}

/* Where it does not hear, it is killed, but not at once. */
static void it_is_deaf(void **state) {
    (void)state;
    struct sy_child *child = start("deaf");
    watch_phase(child, SY_PHASE_RUNNING, 0);
    sy_child_stop(child, 1);
    sy_child_stop(child, 4); /* a second word changes nothing */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sy_child_step(child, 5.9), SY_CHILD_ENDING);
        usleep(1000);
    }
    assert_int_equal(watch(child, SY_CHILD_ENDED, 6.1), SY_CHILD_ENDED);
    assert_int_equal(sy_child_outcome(child).code, -ECANCELED);
    assert_string_equal(sy_child_outcome(child).error.message, "");
    sy_child_destroy(child);
}

static void it_speaks_another_protocol(void **state) {
    (void)state;
    expect(outcome_of("foreign"), SY_BLAME_RUN, "does not match this symph", "build and install");
}

static void it_writes_too_much(void **state) {
    (void)state;
    expect(outcome_of("flood"), SY_BLAME_RUN, "than the 100 bytes it announced",
           "file descriptor 4");
    expect(outcome_of("huge"), SY_BLAME_RUN, "would have 1099511627776 bytes, and at most 67149824",
           "");
}

/* Whatever its page holds then: there is an end, and texts that end. */
static void it_writes_garbage(void **state) {
    (void)state;
    struct sy_child *child = start("garbage");
    for (int i = 0; i < LOOKS && sy_child_progress(child).phase == SY_PHASE_STARTING; i++) {
        sy_child_step(child, 0);
        usleep(1000);
    }
    assert_int_equal(watch(child, SY_CHILD_ENDED, HOUR_S), SY_CHILD_ENDED);
    struct sy_outcome outcome = sy_child_outcome(child);
    assert_true(strlen(outcome.error.message) < sizeof outcome.error.message);
    assert_true(strlen(outcome.note) < sizeof outcome.note);
    sy_child_destroy(child);
}

/* --- after its last word ------------------------------------------------------------------------
 */
static void it_stays(void **state) {
    (void)state;
    static const char *const acts[] = {"never saves", "never leaves"};
    for (size_t i = 0; i < SY_COUNT(acts); i++) {
        struct sy_child *child = start(acts[i]);
        assert_int_equal(watch(child, SY_CHILD_RECORDED, 0), SY_CHILD_RECORDED);
        assert_int_equal(watch(child, SY_CHILD_ENDED, HOUR_S), SY_CHILD_ENDED);
        assert_int_equal(sy_child_outcome(child).code, 0);
        assert_non_null(strstr(sy_child_outcome(child).note, "did not exit, and was stopped"));
        sy_child_destroy(child);
    }
    struct sy_child *child = start("fails and stays");
    watch_phase(child, SY_PHASE_FAILED, 0);
    assert_int_equal(watch(child, SY_CHILD_ENDED, HOUR_S), SY_CHILD_ENDED);
    expect(sy_child_outcome(child), SY_BLAME_RUN, "the result is wrong", "");
    sy_child_destroy(child);
}

static void it_is_stopped_after_its_record(void **state) {
    (void)state;
    struct sy_child *child = start("never saves");
    assert_int_equal(watch(child, SY_CHILD_RECORDED, 0), SY_CHILD_RECORDED);
    sy_child_stop(child, 0);
    assert_int_equal(watch(child, SY_CHILD_ENDED, 0), SY_CHILD_ENDED);
    assert_int_equal(sy_child_outcome(child).code, -ECANCELED);
    assert_non_null(strstr(sy_child_outcome(child).note, "was interrupted"));
    sy_child_destroy(child);
}

/* --- nothing is left ----------------------------------------------------------------------------
 */
static void its_family_goes_too(void **state) {
    (void)state;
    struct sy_outcome outcome = outcome_of("family");
    const char *said = strstr(outcome.error.message, "it said: ");
    assert_non_null(said);
    pid_t grandchild = (pid_t)atoi(said + strlen("it said: "));
    assert_true(grandchild > 1);
    bool alive = true;
    for (int i = 0; i < LOOKS && alive; i++) { /* whoever adopted it must reap it */
        char path[64], line[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)grandchild);
        FILE *file = fopen(path, "re");
        alive = file && fgets(line, sizeof line, file) && !strstr(line, ") Z");
        if (file) {
            fclose(file);
        }
        usleep(1000);
    }
    assert_false(alive);
}

static uint32_t open_files(void) {
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

/* A supervisor that does not wait for the end, and one that cannot even begin. */
static void it_is_destroyed(void **state) {
    (void)state;
    uint32_t files = open_files();
    struct sy_child *child = start("deaf");
    watch_phase(child, SY_PHASE_RUNNING, 0);
    sy_child_destroy(child);
    sy_child_destroy(start("ok"));
    sy_child_destroy(NULL);
    struct sy_request request = sy_request_default;
    struct sy_error error = {0};
    request.spec = "ok";
    assert_int_equal(sy_child_start("/nowhere/engine", &request, 0, &child, &error), -EIO);
    assert_non_null(strstr(error.message, "cannot start the engine /nowhere/engine: No such file"));
    assert_int_equal(open_files(), files);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* One loop for all of them; none waits for another. */
static void several_at_once(void **state) {
    (void)state;
    static const char *const acts[] = {"ok", "stuck", "crash", "deaf", "status", "ok", "flood"};
    static const int codes[] = {0, -EIO, -EIO, -EIO, -EIO, 0, -EIO};
    struct sy_child *children[SY_COUNT(acts)];
    struct pollfd polls[SY_COUNT(acts) * SY_CHILD_POLLS];
    uint32_t left = SY_COUNT(acts);
    double now_s = 0;
    for (size_t i = 0; i < SY_COUNT(acts); i++) {
        children[i] = start(acts[i]);
    }
    for (int look = 0; look < LOOKS && left > 0; look++) {
        left = 0;
        for (size_t i = 0; i < SY_COUNT(acts); i++) {
            left += sy_child_step(children[i], now_s) != SY_CHILD_ENDED;
            sy_child_polls(children[i], &polls[i * SY_CHILD_POLLS]);
        }
        bool waiting = left == 2; /* for the two that hang */
        poll(polls, SY_COUNT(polls), waiting ? 0 : 10);
        now_s += waiting ? HOUR_S : 0;
    }
    assert_int_equal(left, 0);
    for (size_t i = 0; i < SY_COUNT(acts); i++) {
        assert_int_equal(sy_child_outcome(children[i]).code, codes[i]);
        sy_child_destroy(children[i]);
    }
}

/* Whoever ignores SIGCHLD loses the status, and nothing else; a blocked signal is ours alone. */
static void signals_of_the_caller(void **state) {
    (void)state;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(outcome_of("ok").code, 0);
    signal(SIGCHLD, SIG_DFL);
    struct sy_child *child = start("stuck");
    watch_phase(child, SY_PHASE_RUNNING, 0);
    sy_child_stop(child, 0);
    assert_int_equal(watch(child, SY_CHILD_ENDED, 0), SY_CHILD_ENDED); /* it heard SIGTERM */
    sy_child_destroy(child);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void the_engine_is_found(void **state) {
    (void)state;
    char path[4096];
    struct sy_error error = {0};
    setenv("SYMPH_ENGINE", FAKE_ENGINE, 1);
    assert_int_equal(sy_engine_find(path, sizeof path, &error), 0);
    assert_string_equal(path, FAKE_ENGINE);
    setenv("SYMPH_ENGINE", "/etc/passwd", 1);
    assert_int_equal(sy_engine_find(path, sizeof path, &error), -EINVAL);
    assert_non_null(strstr(error.message, "/etc/passwd"));
    unsetenv("SYMPH_ENGINE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_goes_well),
        cmocka_unit_test(it_leaves_a_note),
        cmocka_unit_test(it_fails),
        cmocka_unit_test(texts_without_an_end),
        cmocka_unit_test(it_is_silent),
        cmocka_unit_test(it_is_deaf),
        cmocka_unit_test(it_speaks_another_protocol),
        cmocka_unit_test(it_writes_too_much),
        cmocka_unit_test(it_writes_garbage),
        cmocka_unit_test(it_stays),
        cmocka_unit_test(it_is_stopped_after_its_record),
        cmocka_unit_test(its_family_goes_too),
        cmocka_unit_test(it_is_destroyed),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(signals_of_the_caller),
        cmocka_unit_test(the_engine_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
