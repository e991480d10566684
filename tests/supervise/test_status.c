/* SPDX-License-Identifier: Apache-2.0
 *
 * What symph top reads: this process holds a page, sound or not, and finds itself.
 */
#include "../base/check.h"
#include "supervise/supervise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sy_status page;
static struct sy_arena *arena;
static struct sy_status_seen seen;

static int hold(const char *name, size_t size) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &page, size, 0), (ssize_t)size);
    return fd;
}

/* Whether this process is seen, at 10 s. */
static bool find(pid_t pid) {
    struct sy_status_seen *programs = NULL;
    uint32_t count = 0;
    bool found = false;
    sy_arena_destroy(arena);
    arena = sy_arena_create();
    assert_int_equal(sy_status_list(arena, 10e9, &programs, &count), 0);
    for (uint32_t i = 0; i < count; i++) {
        if (programs[i].pid == pid) {
            seen = programs[i];
            found = true;
        }
    }
    free(programs);
    return found;
}

static void fill(void) {
    memset(&page, 0, sizeof page);
    page.magic = SY_STATUS_MAGIC;
    page.pid = (uint32_t)getpid();
    page.worker_count = 2;
    page.start_ns = 1e9;
    page.offset_ns = 4e9;
    strcpy(page.program, "prog -n 3");
    strcpy(page.policy, "lb");
    strcpy(page.names[0], "cpu0");
    strcpy(page.names[1], "cuda0");
    strcpy(page.kernels[7], "gemm");
    page.submitted = 20;
    page.workers[SY_STATUS_WORKERS].pushed = 9;
    page.workers[0].pushed = 2;
    page.workers[0].begun = page.workers[0].ended = 4;
    page.workers[0].busy_ns = 2e9;
    page.workers[1].begun = 5;
    page.workers[1].ended = 3;
    page.workers[1].busy_ns = 1e9;
    page.workers[1].since_ns = 5.5e9;
    page.workers[1].kernel = 7;
}

static void a_page_is_found(void **state) {
    (void)state;
    fill();
    int fd = hold(SY_STATUS_NAME, sizeof page);
    assert_true(find(getpid()));
    assert_string_equal(seen.program, "prog -n 3");
    assert_string_equal(seen.policy, "lb");
    assert_string_equal(seen.phase, "running");
    assert_false(seen.engine);
    assert_int_equal(seen.task_count, 20);
    assert_int_equal(seen.done_count, 7);
    assert_int_equal(seen.running_count, 2);
    assert_int_equal(seen.ready_count, 2);
    assert_true(fabs(seen.age_ns - 5e9) < 1);
    assert_int_equal(seen.worker_count, 2);
    assert_string_equal(seen.workers[0].kernel, "");
    assert_true(isnan(seen.workers[0].since_ns));
    assert_string_equal(seen.workers[1].kernel, "gemm");
    assert_true(fabs(seen.workers[1].since_ns - .5e9) < 1);
    assert_true(fabs(seen.workers[1].busy_ns - 1.5e9) < 1);
    close(fd);
    assert_false(find(getpid()));
}

static void nothing_in_it_is_believed(void **state) {
    (void)state;
    memset(&page, 0xff, sizeof page); /* NAN, and no text ends */
    page.magic = SY_STATUS_MAGIC;
    page.pid = (uint32_t)getpid();
    page.workers[0].ended = 0;
    int fd = hold(SY_STATUS_NAME, sizeof page);
    assert_true(find(getpid()));
    assert_int_equal(seen.worker_count, SY_STATUS_WORKERS);
    assert_int_equal(strlen(seen.program), sizeof seen.program - 1);
    assert_string_equal(seen.workers[0].kernel, "?");
    assert_true(isfinite(seen.age_ns) && isfinite(seen.workers[0].busy_ns));
    close(fd);
    fill();
    fd = hold(SY_STATUS_NAME, sizeof page - 1); /* of another version */
    assert_false(find(getpid()));
    close(fd);
    page.magic++;
    fd = hold(SY_STATUS_NAME, sizeof page);
    assert_false(find(getpid()));
    close(fd);
}

static void a_fork_is_not_its_parent(void **state) {
    (void)state;
    fill();
    int fd = hold(SY_STATUS_NAME, sizeof page), wires[2];
    assert_int_equal(pipe(wires), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(wires[1]);
        _exit(read(wires[0], &byte, 1) != 0);
    }
    assert_true(find(getpid()));
    assert_false(find(child));
    close(wires[0]);
    close(wires[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
}

static void an_engine_says_its_phase(void **state) {
    (void)state;
    struct sy_page engine = {
        .magic = SY_PAGE_MAGIC, .phase = SY_PHASE_CHECKING, .task_count = 5, .done_count = 4};
    memset(&page, 0, sizeof page);
    memcpy(&page, &engine, sizeof engine);
    int fd = hold("symph-page", sizeof engine);
    assert_true(find(getpid()));
    assert_true(seen.engine);
    assert_string_equal(seen.phase, "checking");
    assert_int_equal(seen.task_count, 5);
    assert_int_equal(seen.done_count, 4);
    assert_int_equal(seen.worker_count, 0);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_found),
        cmocka_unit_test(nothing_in_it_is_believed),
        cmocka_unit_test(a_fork_is_not_its_parent),
        cmocka_unit_test(an_engine_says_its_phase),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sy_arena_destroy(arena);
    return failed;
}
