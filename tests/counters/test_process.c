/* SPDX-License-Identifier: Apache-2.0
 *
 * A process and its descendants, in a made-up /proc: who belongs to it, and what happens when they
 * come and go.
 */
#include "../base/check.h"
#include "tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define S 1e9

static struct tree tree;

/* times: user, system, children's user and system, in ticks. */
static void live(uint32_t pid, uint32_t parent, const uint32_t times[4], uint32_t born) {
    char path[128], full[256];
    snprintf(path, sizeof path, "/proc/%u", pid);
    snprintf(full, sizeof full, "%s%s", tree.root, path);
    assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    tree_write(&tree, path,
               "%u (a) R 1 (b)) S %u 77 77 0 -1 4194560 1 2 3 4 %u %u %u %u 20 0 3 0 %u 1000 10 "
               "18446744073709551615 1\n",
               pid, parent, times[0], times[1], times[2], times[3], born);
    snprintf(path, sizeof path, "/proc/%u/io", pid);
    tree_write(&tree, path, "rchar: 1\nwchar: 2\nread_bytes: %u\nwrite_bytes: 4096\n", times[0]);
}

static void die(uint32_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%u", pid);
    tree_delete(&tree, path);
}

static struct sy_sources *watch(uint32_t pid, const char *only) {
    const struct sy_sources_options options = {.only = only, .root = tree.root, .process = pid};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    if (sy_sources_open(&options, &sources, &error)) {
        fail_msg("%s", error.message);
    }
    return sources;
}

static int enter(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    return 0;
}

static int leave(void **state) {
    (void)state;
    tree_remove(&tree);
    return 0;
}

#define TICKS(...) ((const uint32_t[4]){__VA_ARGS__})

static void descendants_count_and_others_do_not(void **state) {
    (void)state;
    double second = (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);
    uint32_t s = (uint32_t)second;
    live(77, 1, TICKS(5 * s, 1, 2, 3), 100);
    live(80, 77, TICKS(1 * s, 0, 0, 0), 200);
    live(90, 80, TICKS(0, 0, 0, 0), 300);
    live(100, 1, TICKS(0, 0, 0, 0), 100);
    struct sy_sources *sources = watch(77, "process");
    assert_near(read_one(sources, 1 * S, "process.processes"), 3, 0);
    live(77, 1, TICKS(5 * s + s / 2, 1, 2, 3), 100);
    live(90, 80, TICKS(0, s, 0, 0), 300);
    live(100, 1, TICKS(4 * s, 0, 0, 0), 100);
    assert_near(read_one(sources, 3 * S, "process.cpu_used"), 0.75, 1e-9);
    assert_near(read_one(sources, 4 * S, "process.memory_bytes"), 3 * 10 * page, 0);
    assert_near(read_one(sources, 5 * S, "process.threads"), 9, 0);
    live(95, 90, TICKS(0, 0, 0, 0), 400); /* a child more */
    assert_near(read_one(sources, 6 * S, "process.processes"), 4, 0);
    live(90, 80, TICKS(1000, s, 0, 0), 300);
    assert_near(read_one(sources, 7 * S, "process.disk_read"), 1000, 1e-9);
    sy_sources_close(sources);
}

/* What a child used is its parent's once it was waited for: no jump, whatever we saw of it. */
static void a_child_that_ends_makes_no_jump(void **state) {
    (void)state;
    uint32_t s = (uint32_t)sysconf(_SC_CLK_TCK);
    live(77, 1, TICKS(0, 0, 0, 0), 100);
    live(80, 77, TICKS(500 * s, 0, 0, 0), 200);
    struct sy_sources *sources = watch(77, "process");
    assert_true(isnan(read_one(sources, 1 * S, "process.cpu_used")));
    die(80);
    live(77, 1, TICKS(0, 0, 501 * s, 0), 100);
    assert_near(read_one(sources, 2 * S, "process.cpu_used"), 1, 1e-9);
    live(81, 77, TICKS(0, 0, 0, 0), 200);
    assert_near(read_one(sources, 3 * S, "process.cpu_used"), 0, 0);
    live(77, 1, TICKS(0, 0, 1, 0), 100); /* nobody waited: it is as if it never was */
    assert_true(isnan(read_one(sources, 4 * S, "process.cpu_used")));
    live(77, 1, TICKS(0, 0, 501 * s, 0), 100); /* and now somebody did */
    assert_true(isnan(read_one(sources, 5 * S, "process.cpu_used")));
    assert_near(read_one(sources, 6 * S, "process.cpu_used"), 0, 0);
    sy_sources_close(sources);
}

static void another_with_the_same_number_is_not_it(void **state) {
    (void)state;
    live(77, 1, TICKS(0, 0, 0, 0), 100);
    struct sy_sources *sources = watch(77, "process");
    assert_near(read_one(sources, 1 * S, "process.threads"), 3, 0);
    die(77);
    assert_true(isnan(read_one(sources, 2 * S, "process.threads")));
    live(77, 1, TICKS(0, 0, 0, 0), 101);
    assert_true(isnan(read_one(sources, 3 * S, "process.threads")));
    sy_sources_close(sources);
}

static void what_is_missing_is_said(void **state) {
    (void)state;
    live(77, 1, TICKS(0, 0, 0, 0), 100);
    tree_delete(&tree, "/proc/77/io");
    struct sy_sources *sources = watch(77, "process");
    assert_non_null(gap_of(sources, "process", "what process 77 reads"));
    assert_int_equal(counter_named(sources, "process.disk_read"), SY_NONE);
    sy_sources_close(sources);
    sources = watch(4711, "process,proc");
    assert_non_null(gap_of(sources, "process", "process 4711"));
    assert_int_equal(counter_named(sources, "process.cpu_used"), SY_NONE);
    sy_sources_close(sources);
    /* Who asks for a process does not get a group that many others are in, too. */
    sources = watch(77, "process,cgroup");
    assert_int_equal(counter_named(sources, "cgroup.cpu_used"), SY_NONE);
    sy_sources_close(sources);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(descendants_count_and_others_do_not, enter, leave),
        cmocka_unit_test_setup_teardown(a_child_that_ends_makes_no_jump, enter, leave),
        cmocka_unit_test_setup_teardown(another_with_the_same_number_is_not_it, enter, leave),
        cmocka_unit_test_setup_teardown(what_is_missing_is_said, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
