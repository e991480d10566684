/* SPDX-License-Identifier: Apache-2.0
 *
 * Providers over trees of other machines' /proc and /sys, and what happens when files change under
 * them.
 */
#include "../base/check.h"
#include "tree.h"

#include <errno.h>
#include <string.h>

#define S 1e9

static struct tree tree;

static int leave(void **state) {
    (void)state;
    tree_remove(&tree);
    return 0;
}

static void test_resctrl(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    struct sy_sources *sources = tree_open(&tree, "resctrl");
    assert_int_equal(sources->counter_count, 6);
    assert_true(isnan(read_one(sources, 1 * S, "resctrl.package1.mbm_total_bytes")));
    tree_write(&tree, "/sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "1000300000000");
    assert_near(read_one(sources, 3 * S, "resctrl.package1.mbm_total_bytes"), 1.5e8, 1);
    assert_near(read_one(sources, 4 * S, "resctrl.l3_1.llc_occupancy"), 20000001, 0);
    sy_sources_close(sources);
}

/* Two caches make one package; one that does not answer makes no sum. */
static void test_resctrl_sums(void **state) {
    (void)state;
    tree_copy(&tree, "epyc");
    struct sy_sources *sources = tree_open(&tree, "resctrl");
    const char *total = "resctrl.package0.mbm_total_bytes";
    assert_true(isnan(read_one(sources, 1 * S, total)));
    tree_write(&tree, "/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1500");
    tree_write(&tree, "/sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "2700");
    assert_near(read_one(sources, 2 * S, total), 1200, 1e-9);
    tree_write(&tree, "/sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "Unavailable");
    assert_true(isnan(read_one(sources, 3 * S, total)));
    assert_true(isnan(read_one(sources, 4 * S, "resctrl.package0.mbm_local_bytes")));
    tree_write(&tree, "/sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "9000000");
    assert_true(isnan(read_one(sources, 5 * S, total)));
    assert_near(read_one(sources, 6 * S, total), 0, 0);
    sy_sources_close(sources);
}

static void test_resctrl_gaps(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    tree_delete(&tree, "/sys/fs/resctrl/mon_data");
    tree_delete(&tree, "/sys/fs/resctrl/info");
    struct sy_sources *sources = tree_open(&tree, "resctrl,proc");
    const struct sy_gap *gap = gap_of(sources, "resctrl", "memory traffic");
    assert_non_null(gap);
    assert_string_equal(gap->remedy, "mount -t resctrl resctrl /sys/fs/resctrl");
    sy_sources_close(sources);
}

/* The counter of package 1 is about to start again from 0. */
static void test_rapl_wraps(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    struct sy_sources *sources = tree_open(&tree, "rapl");
    assert_int_equal(sources->counter_count, 4);
    const char *name = "rapl.package1.energy-pkg",
               *path = "/sys/class/powercap/intel-rapl:1/energy_uj";
    assert_true(isnan(read_one(sources, 1 * S, name)));
    tree_write(&tree, path, "99671150");
    assert_near(read_one(sources, 2 * S, name), 100, 1e-6);
    assert_near(read_one(sources, 3 * S, "rapl.package0.energy-ram"), 0, 0);
    tree_write(&tree, path, "99000000"); /* backwards by less than the way round: a jump */
    assert_true(isnan(read_one(sources, 4 * S, name)));
    tree_write(&tree, path, "149000000");
    assert_near(read_one(sources, 5 * S, name), 50, 1e-6);
    tree_write(&tree, path, "150000000"); /* after hours it may have gone round several times */
    assert_true(isnan(read_one(sources, 1e5 * S, name)));
    sy_sources_close(sources);
}

static void test_rapl_gap(void **state) {
    (void)state;
    tree_copy(&tree, "vm");
    struct sy_sources *sources = tree_open(&tree, "rapl,proc");
    assert_non_null(gap_of(sources, "rapl", "power"));
    sy_sources_close(sources);
}

static void test_pressure(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    struct sy_sources *sources = tree_open(&tree, "psi");
    assert_int_equal(sources->counter_count, 5); /* of the CPU "full" means nothing */
    assert_true(isnan(read_one(sources, 1 * S, "psi.memory_some")));
    tree_write(&tree, "/proc/pressure/memory",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=4250000\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n");
    assert_near(read_one(sources, 2 * S, "psi.memory_some"), 0.25, 1e-9);
    tree_write(&tree, "/proc/pressure/memory", "some avg10=0.00 total=9250000\n");
    assert_near(read_one(sources, 3 * S, "psi.memory_some"), 1, 0); /* a share is at most 1 */
    sy_sources_close(sources);
    tree_remove(&tree);
    tree_copy(&tree, "arm"); /* one file is there, one is rubbish, one is not */
    sources = tree_open(&tree, "psi");
    assert_int_equal(sources->counter_count, 1);
    assert_non_null(gap_of(sources, "psi", "pressure"));
    sy_sources_close(sources);
}

static void test_busy(void **state) {
    (void)state;
    tree_copy(&tree, "power");
    struct sy_sources *sources = tree_open(&tree, "proc");
    assert_int_equal(counter_named(sources, "proc.cpu2.busy"), SY_NONE);
    assert_true(isnan(read_one(sources, 1 * S, "proc.cpu4.busy")));
    tree_write(&tree, "/proc/stat",
               "cpu  0 0 0 0 0 0 0 0 0 0\n"
               "cpu0 1000 0 500 4100 10 0 2 1 0 0\n"
               "cpu4 1060 0 515 4020 10 0 2 6 0 0\n"
               "ctxt 277\nprocs_running 5\n");
    struct sy_sample sample = read_sample(sources, 3 * S, "proc.cpu4.busy");
    assert_near(sample.value, 0.75, 1e-9);
    assert_true(sample.noise_ratio > 0.005 && sample.noise_ratio < 0.02); /* a tick or so of 75 */
    /* CPU 5 was unplugged; CPU 0's ticks go back to an earlier state */
    tree_write(&tree, "/proc/stat",
               "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 10 0 5 41 1 0 2 1 0 0\n"
               "cpu4 1060 0 515 4120 10 0 2 6 0 0\ncpu999999999999 1 2 3\nctxt 377\n");
    assert_true(isnan(read_one(sources, 4 * S, "proc.cpu0.busy")));
    assert_true(isnan(read_one(sources, 4.1 * S, "proc.cpu5.busy")));
    assert_near(read_one(sources, 5 * S, "proc.memory_used"), 0.25, 1e-9);
    sy_sources_close(sources);
}

static void test_proc_rates(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    struct sy_sources *sources = tree_open(&tree, "proc");
    assert_near(read_one(sources, 1 * S, "proc.load"), 1.5, 0);
    tree_write(&tree, "/proc/diskstats",
               "   8 0 sda 100 0 2200 50 40 0 900 20 0 60 70\n"
               "   8 1 sda1 90 0 99999 45 40 0 800 20 0 60 65\n");
    assert_near(read_one(sources, 2 * S, "proc.disk_read"), 200 * 512, 1e-9);
    tree_write(&tree, "/proc/net/dev",
               "h\nh\n    lo: 5 0 0 0 0 0 0 0 5 0\n"
               "  eth0: 1003000 1 0 0 0 0 0 0 500900 0 0 0 0 0 0 0\n");
    assert_near(read_one(sources, 4 * S, "proc.net_out"), 450, 1e-9); /* read at 2 s, too */
    sy_sources_close(sources);
}

static void test_groups(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    struct sy_sources *sources = tree_open(&tree, "cgroup");
    assert_near(read_one(sources, 1 * S, "cgroup.memory_bytes"), 1073741824, 0);
    tree_write(&tree, "/sys/fs/cgroup/user.slice/job/cpu.stat",
               "usage_usec 8000000\nthrottled_usec 750000\n");
    tree_write(&tree, "/sys/fs/cgroup/user.slice/job/io.stat",
               "8:0 rbytes=5096 wbytes=8192\n8:16 rbytes=1000 wbytes=64\n");
    assert_near(read_one(sources, 3 * S, "cgroup.cpu_used"), 1.5, 1e-9);
    sy_sources_close(sources);
    tree_remove(&tree);
    tree_copy(&tree, "power"); /* version 1, each controller with a group of its own */
    sources = tree_open(&tree, "cgroup");
    assert_near(read_one(sources, 1 * S, "cgroup.memory_bytes"), 2097152, 0);
    tree_write(&tree, "/sys/fs/cgroup/cpu,cpuacct/batch/cpuacct.usage", "9000000000");
    assert_near(read_one(sources, 2 * S, "cgroup.cpu_used"), 2, 1e-9);
    tree_write(&tree, "/sys/fs/cgroup/blkio/batch/blkio.throttle.io_service_bytes",
               "8:0 Read 1512\n8:0 Write 1024\n8:0 Total 2536\nTotal 2536\n");
    assert_near(read_one(sources, 3 * S, "cgroup.disk_read"), 1000, 1e-9);
    sy_sources_close(sources);
    tree_remove(&tree);
    tree_copy(&tree, "arm"); /* both at once */
    sources = tree_open(&tree, "cgroup");
    assert_int_not_equal(counter_named(sources, "cgroup.cpu_used"), SY_NONE);
    assert_near(read_one(sources, 1 * S, "cgroup.memory_bytes"), 12345, 0);
    sy_sources_close(sources);
    tree_remove(&tree);
    tree_copy(&tree, "epyc"); /* a container sees its own group as the root */
    sources = tree_open(&tree, "cgroup");
    assert_near(read_one(sources, 1 * S, "cgroup.memory_bytes"), 4096, 0);
    sy_sources_close(sources);
}

static void test_named_group(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    struct sy_sources_options options = {
        .only = "cgroup,proc", .root = tree.root, .group = "user.slice/job"};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_sources_open(&options, &sources, &error), 0);
    assert_int_not_equal(counter_named(sources, "cgroup.cpu_used"), SY_NONE);
    sy_sources_close(sources);
    options.group = "user.slice/nobody";
    assert_int_equal(sy_sources_open(&options, &sources, &error), 0);
    assert_int_equal(counter_named(sources, "cgroup.cpu_used"), SY_NONE);
    assert_non_null(gap_of(sources, "cgroup", "user.slice/nobody"));
    sy_sources_close(sources);
}

/* A file that goes away gives nothing, and what comes back starts anew. */
static void test_vanishing_file(void **state) {
    (void)state;
    tree_copy(&tree, "xeon");
    struct sy_sources *sources = tree_open(&tree, "cgroup");
    const char *path = "/sys/fs/cgroup/user.slice/job/cpu.stat";
    struct sy_file *file = NULL;
    assert_true(isnan(read_one(sources, 1 * S, "cgroup.cpu_used")));
    tree_delete(&tree, path);
    /* An open descriptor still reads a deleted file; the kernel's own then fail with ENODEV. */
    file = sources->opened[0].state; /* the first part's file is the first thing in it */
    sy_file_close(file);
    assert_true(isnan(read_one(sources, 2 * S, "cgroup.cpu_used")));
    assert_true(isnan(read_one(sources, 2.5 * S, "cgroup.cpu_used")));
    tree_write(&tree, path, "usage_usec 20000000\n");
    assert_true(isnan(read_one(sources, 4 * S, "cgroup.cpu_used"))); /* a new start */
    tree_write(&tree, path, "usage_usec 21000000\n");
    assert_near(read_one(sources, 5 * S, "cgroup.cpu_used"), 1, 1e-9);
    sy_sources_close(sources);
}

static void test_board(void **state) {
    (void)state;
    tree_copy(&tree, "arm");
    struct sy_sources *sources = tree_open(&tree, "fpga");
    assert_near(read_one(sources, 1 * S, "fpga.board0.power"), 3.5, 1e-9);
    assert_near(read_one(sources, 2 * S, "fpga.board0.temperature"), 41.5, 1e-9);
    assert_near(read_one(sources, 3 * S, "fpga.board0.reconfiguring"), 0, 0);
    tree_write(&tree, "/sys/class/fpga_manager/fpga0/state", "write\n");
    assert_near(read_one(sources, 4 * S, "fpga.board0.reconfiguring"), 1, 0);
    sy_sources_close(sources);
}

/* Everything at once on every tree; and a tree with nothing in it. */
static void test_all_trees(void **state) {
    (void)state;
    static const char *const names[] = {"xeon", "epyc", "power", "arm", "vm"};
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        tree_copy(&tree, names[i]);
        struct sy_sources *sources = tree_open(&tree, NULL);
        assert_true(sources->counter_count > 10);
        for (uint32_t j = 0; j < sources->counter_count; j++) { /* names are unique */
            assert_int_equal(counter_named(sources, sources->counters[j].name), j);
        }
        (void)read_one(sources, 1 * S, sources->counters[0].name);
        (void)read_one(sources, 2 * S, sources->counters[0].name);
        (void)read_one(sources, 1 * S, sources->counters[0].name); /* the clock went back */
        sy_sources_close(sources);
        tree_remove(&tree);
    }
    tree_copy(&tree, "vm");
    tree_delete(&tree, "/proc");
    tree_delete(&tree, "/sys");
    struct sy_sources_options options = {.root = tree.root};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_sources_open(&options, &sources, &error), -ENODATA);
    assert_string_equal(error.message, "nothing can be read here");
    options.only = "prok";
    assert_int_equal(sy_sources_open(&options, &sources, &error), -EINVAL);
    assert_non_null(strstr(error.hint, "'proc'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_resctrl, leave),
        cmocka_unit_test_teardown(test_resctrl_sums, leave),
        cmocka_unit_test_teardown(test_resctrl_gaps, leave),
        cmocka_unit_test_teardown(test_rapl_wraps, leave),
        cmocka_unit_test_teardown(test_rapl_gap, leave),
        cmocka_unit_test_teardown(test_pressure, leave),
        cmocka_unit_test_teardown(test_busy, leave),
        cmocka_unit_test_teardown(test_proc_rates, leave),
        cmocka_unit_test_teardown(test_groups, leave),
        cmocka_unit_test_teardown(test_named_group, leave),
        cmocka_unit_test_teardown(test_vanishing_file, leave),
        cmocka_unit_test_teardown(test_board, leave),
        cmocka_unit_test_teardown(test_all_trees, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
