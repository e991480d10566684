/* SPDX-License-Identifier: Apache-2.0
 *
 * The perf provider against a kernel that is made up here: what it opens, how it takes turns, and
 * what it says when it is refused.
 */
#include "../base/check.h"
#include "counters/perf.h"
#include "tree.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/stat.h>

#define S       1e9
#define FD_BASE 1000
#define FD_MAX  256

/* A kernel with so many counters per CPU and device, and a clock that the test moves. */
struct kernel {
    struct event {
        bool open, enabled;
        int leader, cpu;
        pid_t pid;
        struct perf_event_attr attributes;
        uint64_t value, enabled_ns, running_ns;
    } events[FD_MAX];
    uint32_t slots;      /* in one group */
    int refuse;          /* everything, with this */
    int refuse_all_cpus; /* only what is not for one process */
    pid_t ended;         /* there is no such thread any more */
    bool no_hardware;
    uint32_t interrupts; /* so many reads say EINTR first */
    uint32_t opened, read_count, control_count;
    uint64_t tick_ns; /* what a read adds to the clocks of running groups */
};

static bool is_fixed(const struct perf_event_attr *attributes) {
    return attributes->type == PERF_TYPE_SOFTWARE ||
           (attributes->type == PERF_TYPE_HARDWARE && attributes->config <= 1);
}

static uint32_t group_size(const struct kernel *kernel, int leader) {
    uint32_t count = 0;
    for (int i = 0; i < FD_MAX; i++) {
        const struct event *event = &kernel->events[i];
        bool member = i == leader - FD_BASE || event->leader == leader;
        count += event->open && member && !is_fixed(&event->attributes);
    }
    return count;
}

static int fake_open(void *user, struct perf_event_attr *attributes, pid_t pid, int cpu, int group,
                     unsigned long flags) {
    struct kernel *kernel = user;
    (void)flags;
    bool core = attributes->type != PERF_TYPE_SOFTWARE;
    if (kernel->refuse || (kernel->refuse_all_cpus && pid < 0)) {
        return kernel->refuse ? kernel->refuse : kernel->refuse_all_cpus;
    }
    if (kernel->no_hardware && core) {
        return -ENOENT;
    }
    if (kernel->ended && pid == kernel->ended) {
        return -ESRCH;
    }
    if (group >= 0 && !is_fixed(attributes) && group_size(kernel, group) >= kernel->slots) {
        return -EINVAL;
    }
    for (int i = 0; i < FD_MAX; i++) {
        if (!kernel->events[i].open) {
            kernel->events[i] = (struct event){.open = true,
                                               .enabled = !attributes->disabled,
                                               .leader = group,
                                               .cpu = cpu,
                                               .pid = pid,
                                               .attributes = *attributes};
            kernel->opened++;
            return FD_BASE + i;
        }
    }
    return -EMFILE;
}

static int fake_control(void *user, int fd, unsigned long request, unsigned long argument) {
    struct kernel *kernel = user;
    (void)argument;
    assert_true(kernel->events[fd - FD_BASE].open);
    kernel->events[fd - FD_BASE].enabled = request == PERF_EVENT_IOC_ENABLE;
    kernel->control_count++;
    return 0;
}

static ssize_t fake_read(void *user, int fd, void *buffer, size_t size) {
    struct kernel *kernel = user;
    struct event *leader = &kernel->events[fd - FD_BASE];
    uint64_t *data = buffer, count = 0;
    assert_true(leader->open);
    kernel->read_count++;
    if (kernel->interrupts) {
        kernel->interrupts--;
        return -EINTR;
    }
    if (leader->enabled) {
        leader->enabled_ns += kernel->tick_ns;
        leader->running_ns += kernel->tick_ns;
    }
    if (!(leader->attributes.read_format & PERF_FORMAT_GROUP)) {
        uint64_t one[] = {leader->value, leader->enabled_ns, leader->running_ns};
        memcpy(buffer, one, sizeof one);
        return sizeof one;
    }
    data[1] = leader->enabled_ns;
    data[2] = leader->running_ns;
    for (int i = 0; i < FD_MAX; i++) {
        const struct event *event = &kernel->events[i];
        if (event->open && (event == leader || event->leader == fd)) {
            assert_true((4 + count) * sizeof *data <= size);
            data[3 + count++] = event->value;
        }
    }
    data[0] = count;
    return (ssize_t)((3 + count) * sizeof *data);
}

static void fake_close(void *user, int fd) {
    struct kernel *kernel = user;
    assert_true(kernel->events[fd - FD_BASE].open);
    kernel->events[fd - FD_BASE].open = false;
}

static struct tree tree;
static struct kernel kernel;

static int enter(void **state) {
    (void)state;
    kernel = (struct kernel){.slots = 4, .tick_ns = 1000};
    return 0;
}

static int leave(void **state) {
    (void)state;
    tree_remove(&tree);
    return 0;
}

static struct sy_sources *open_tree(struct sy_sources_options options) {
    const struct sy_calls calls = {.perf_open = fake_open,
                                   .perf_read = fake_read,
                                   .perf_control = fake_control,
                                   .perf_close = fake_close,
                                   .user = &kernel};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    options.root = tree.root;
    options.only = options.only ? options.only : "perf,proc";
    if (sy_sources_open_with(&options, &calls, &sources, &error)) {
        fail_msg("%s", error.message);
    }
    kernel.tick_ns = 0;
    return sources;
}

static struct sy_sources *open_with(const char *name, struct sy_sources_options options) {
    tree_copy(&tree, name);
    return open_tree(options);
}

/* The event of that counter which is open now, on that CPU. */
static struct event *opened(uint32_t type, uint64_t config, int cpu) {
    for (int i = 0; i < FD_MAX; i++) {
        struct event *event = &kernel.events[i];
        if (event->open && event->attributes.type == type && event->attributes.config == config &&
            event->cpu == cpu) {
            return event;
        }
    }
    return NULL;
}

static uint32_t open_count(void) {
    uint32_t count = 0;
    for (int i = 0; i < FD_MAX; i++) {
        count += kernel.events[i].open;
    }
    return count;
}

/* Both clocks of every group, by so much; running by a share of it. */
static void pass(double seconds, double share) {
    for (int i = 0; i < FD_MAX; i++) {
        if (kernel.events[i].open && kernel.events[i].enabled) {
            kernel.events[i].enabled_ns += (uint64_t)(seconds * 1e9);
            kernel.events[i].running_ns += (uint64_t)(seconds * share * 1e9);
        }
    }
}

static void test_bits(void **state) {
    (void)state;
    static const struct {
        const char *format;
        uint64_t value;
        int code;
        uint64_t configs[3];
    } cases[] = {{"config:0-7", 0x3c, 0, {0x3c}},
                 {"config:8-15\n", 0xff, 0, {0xff00}},
                 {"config:8-15", 0x100, -EINVAL, {0}},
                 {"config:0-7,32-35", 0xfab, 0, {0xf000000ab}},
                 {"config:8-15,32-57", 0x3ffffffff, 0, {0x3ffffff0000ff00}},
                 {"config1:9-19", 0x7ff, 0, {0, 0xffe00}},
                 {"config2:0-63", UINT64_MAX, 0, {0, 0, UINT64_MAX}},
                 {"config:18", 1, 0, {1 << 18}},
                 {"config:18", 2, -EINVAL, {0}},
                 {"config3:0-7", 1, -EINVAL, {0}},
                 {"config:60-64", 1, -EINVAL, {0}},
                 {"config:9-8", 1, -EINVAL, {0}},
                 {"config:", 1, -EINVAL, {0}},
                 {"config", 1, -EINVAL, {0}},
                 {"", 1, -EINVAL, {0}}};
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        uint64_t configs[3] = {0};
        assert_int_equal(sy_perf_place_bits(cases[i].format, cases[i].value, configs, 3),
                         cases[i].code);
        if (!cases[i].code) {
            assert_memory_equal(configs, cases[i].configs, sizeof configs);
        }
    }
}

static void test_encode(void **state) {
    (void)state;
    struct sy_sources *sources = open_with("xeon", (struct sy_sources_options){0});
    struct sy_perf_device device;
    struct perf_event_attr attributes;
    assert_int_equal(sy_perf_device_open(sources, "cpu", &device), 0);
    assert_int_equal(
        sy_perf_encode(sources, &device, "event=0x3c,umask=0x1,cmask=2,inv,edge=1", &attributes),
        0);
    assert_int_equal(attributes.type, 4);
    assert_int_equal(attributes.config, 0x3c | 0x100 | 2u << 24 | 1 << 23 | 1 << 18);
    assert_int_equal(sy_perf_encode(sources, &device,
                                    "event=0xb7,umask=1,period=100003,offcore_rsp=0x3fbfc00001",
                                    &attributes),
                     0);
    assert_int_equal(attributes.config1, 0x3fbfc00001);
    assert_int_equal(sy_perf_encode(sources, &device, "event=0x3c,frobnicate=1", &attributes),
                     -EINVAL);
    assert_int_equal(sy_perf_encode(sources, &device, "event=0x1ff", &attributes), -EINVAL);
    assert_int_equal(sy_perf_encode(sources, &device, "event=zz", &attributes), -EINVAL);
    assert_int_equal(sy_perf_encode(sources, &device, "../type=1", &attributes), -EINVAL);
    assert_int_equal(sy_perf_device_open(sources, "uncore_cha_0", &device), 0);
    assert_int_equal(device.cpu_count, 2);
    assert_int_equal(sy_perf_encode(sources, &device, "event=0x35,umask=0xc817fe01", &attributes),
                     0);
    assert_int_equal(attributes.config, 0x35 | 0x0100 | 0xc817feULL << 32);
    double scale;
    const char *unit;
    assert_int_equal(sy_perf_device_open(sources, "uncore_imc_1", &device), 0);
    assert_int_equal(sy_perf_alias(sources, &device, "cas_count_read", &attributes, &scale, &unit),
                     0);
    assert_int_equal(attributes.config, 0x304);
    assert_near(scale, 6.103515625e-5, 0);
    assert_string_equal(unit, "MiB");
    sy_sources_close(sources);
}

/* Cycles and instructions always count; the others take turns in the slots that were found. */
static void test_turns(void **state) {
    (void)state;
    kernel.slots = 3;
    struct sy_sources *sources = open_with("xeon", (struct sy_sources_options){0});
    assert_int_equal(sources->pmu_count, 4); /* CPUs */
    assert_int_equal(sources->pmus[0].slots, 3);
    uint32_t always = counter_named(sources, "perf.cpu2.instructions");
    uint32_t misses = counter_named(sources, "perf.cpu2.cache-misses");
    assert_int_equal(sources->counters[always].pmu, SY_PMU_NONE);
    assert_int_not_equal(sources->counters[misses].pmu, SY_PMU_NONE);
    assert_null(opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 2));
    assert_int_equal(sy_sources_select(sources, &misses, 1), 0);
    struct event *event = opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 2);
    assert_non_null(event);
    event->value = 500;
    pass(0.1, 1);
    assert_near(read_one(sources, 1 * S, "perf.cpu2.cache-misses"), 5000, 1e-6);
    event->value += 100;
    opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 2)->value += 4000;
    pass(0.1, 0.25); /* the kernel took turns after all */
    struct sy_sample sample = read_sample(sources, 1.1 * S, "perf.cpu2.cache-misses");
    assert_near(sample.value, 4000, 1e-6);
    assert_near(sample.running_ratio, 0.25, 1e-6);
    assert_near(sample.start_ns, 1 * S, 10);
    uint32_t opens = kernel.opened;
    assert_int_equal(sy_sources_select(sources, &misses, 1), 0);
    assert_int_equal(kernel.opened, opens); /* nothing changed, nothing was opened */
    assert_int_equal(sy_sources_select(sources, NULL, 0), 0);
    assert_null(opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 2));
    assert_true(isnan(read_one(sources, 1.2 * S, "perf.cpu2.cache-misses")));
    sy_sources_close(sources);
    assert_int_equal(open_count(), 0);
}

static void test_strange_counters(void **state) {
    (void)state;
    struct sy_sources *sources = open_with("xeon", (struct sy_sources_options){0});
    const char *name = "perf.cpu1.cycles";
    struct event *event = opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1);
    event->value = 1000;
    pass(0.5, 1);
    assert_near(read_one(sources, 1 * S, name), 2000, 0.1);
    pass(0.5, 0); /* it did not run: a CPU that was unplugged, or counters taken by others */
    assert_true(isnan(read_one(sources, 2 * S, name)));
    event->value = 10; /* backwards */
    pass(0.5, 1);
    assert_true(isnan(read_one(sources, 3 * S, name)));
    event->value = 20;
    pass(0.5, 1);
    kernel.interrupts = 3;
    assert_near(read_one(sources, 4 * S, name), 20, 0.1);
    assert_true(isnan(read_one(sources, 5 * S, name))); /* its clock stands */
    sy_sources_close(sources);
}

/* An event that does not fit with the others leads a group of its own, and is still read. */
static void test_too_many(void **state) {
    (void)state;
    struct sy_sources *sources = open_with("xeon", (struct sy_sources_options){0});
    uint32_t chosen[] = {counter_named(sources, "perf.cpu0.cache-misses"),
                         counter_named(sources, "perf.cpu0.cache-references"),
                         counter_named(sources, "perf.cpu0.branch-misses")};
    kernel.slots = 2; /* since then somebody else took some */
    assert_int_equal(sy_sources_select(sources, chosen, 3), 0);
    struct event *last = opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0);
    assert_int_equal(last->leader, -1);
    last->value = 7;
    opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 0)->value = 5;
    pass(1, 0.5);
    assert_near(read_one(sources, 1 * S, "perf.cpu0.branch-misses"), 14, 1e-3);
    pass(1, 0.5);
    assert_near(read_one(sources, 2 * S, "perf.cpu0.cache-references"), 0, 0);
    sy_sources_close(sources);
    assert_int_equal(open_count(), 0);
}

/* Listed events, by hand: the listing itself is another room's matter. */
static struct sy_event listed[] = {
    {.name = "inst_retired.any", .unit = "cpu", .encoding = "event=0xc0", .fixed = true},
    {.name = "l2_rqsts.miss", .unit = "cpu", .encoding = "event=0x24,umask=0x3f"},
    {.name = "strange.event", .unit = "cpu", .encoding = "event=0x24,nosuchterm=1"},
    {.name = "unc_m_cas_count.rd", .unit = "uncore_imc", .encoding = "event=0x4,umask=0x3"},
    {.name = "unc_upi_clock", .unit = "uncore_upi", .encoding = "event=0x1"}};

static struct sy_listing make_listing(void) {
    struct sy_listing listing = {.name = "test/xeon",
                                 .events = listed,
                                 .event_count = SY_COUNT(listed),
                                 .listed_count = SY_COUNT(listed)};
    for (uint32_t i = 0; i < SY_COUNT(listed); i++) {
        listed[i].privilege = "";
        listed[i].scale_unit = "";
        assert_int_equal(sy_map_put(&listing.event_map, listed[i].name, strlen(listed[i].name), i),
                         0);
    }
    return listing;
}

/* Of each package: the sum over its instances, each with a type of its own. */
static void test_listed(void **state) {
    (void)state;
    struct sy_listing listing = make_listing();
    const char *const wanted[] = {"inst_retired.any",   "l2_rqsts.miss", "strange.event",
                                  "unc_m_cas_count.rd", "unc_upi_clock", NULL};
    struct sy_sources *sources =
        open_with("xeon", (struct sy_sources_options){.listing = &listing,
                                                      .wanted = wanted,
                                                      .events = "l2_rqsts.miss,no.such.event"});
    assert_int_equal(counter_named(sources, "perf.cpu0.cycles"), SY_NONE);
    assert_int_equal(sources->counters[counter_named(sources, "perf.cpu3.inst_retired.any")].pmu,
                     SY_PMU_NONE);
    assert_int_not_equal(counter_named(sources, "perf.cpu3.l2_rqsts.miss"), SY_NONE);
    assert_non_null(gap_of(sources, "perf", "1 of the listing's events on cpu"));
    assert_non_null(gap_of(sources, "perf", "uncore_upi"));
    assert_non_null(gap_of(sources, "perf", "no.such.event"));
    uint32_t reads = counter_named(sources, "perf.package1.unc_m_cas_count.rd");
    assert_int_equal(sources->counters[reads].scope, SY_SCOPE_PACKAGE);
    assert_int_equal(sy_sources_select(sources, &reads, 1), 0);
    assert_null(opened(20, 0x304, 0)); /* of the other package */
    opened(20, 0x304, 2)->value = 1000;
    opened(21, 0x304, 2)->value = 3000;
    pass(1, 1);
    assert_near(read_one(sources, 1 * S, "perf.package1.unc_m_cas_count.rd"), 4000, 0.1);
    opened(20, 0x304, 2)->value = 2000;
    opened(21, 0x304, 2)->value = 10; /* one instance went backwards: there is no sum */
    pass(1, 1);
    assert_true(isnan(read_one(sources, 2 * S, "perf.package1.unc_m_cas_count.rd")));
    sy_sources_close(sources);
    sy_map_finish(&listing.event_map);
}

static void test_arm_cores(void **state) {
    (void)state;
    kernel.slots = 6;
    struct sy_sources *sources = open_with("arm", (struct sy_sources_options){0});
    assert_int_not_equal(counter_named(sources, "perf.cpu3.cycles"), SY_NONE);
    assert_int_equal(sources->pmu_count, 4);
    assert_int_equal(sources->pmus[0].slots, 6);
    sy_sources_close(sources);
}

static void test_permissions(void **state) {
    (void)state;
    kernel.refuse_all_cpus = -EACCES;
    struct sy_sources *sources = open_with("vm", (struct sy_sources_options){0});
    const struct sy_gap *gap = gap_of(sources, "perf", "whole machine");
    assert_non_null(gap);
    assert_string_equal(gap->reason, "permission denied (kernel.perf_event_paranoid is 2)");
    assert_string_equal(gap->remedy, "sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON");
    uint32_t clock = counter_named(sources, "perf.process.task-clock"); /* but ourselves we may */
    assert_int_equal(sources->counters[clock].scope, SY_SCOPE_GROUP);
    struct event *event = opened(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, -1);
    assert_true(event->attributes.exclude_kernel && event->attributes.inherit);
    assert_int_equal(event->pid, 0);
    assert_true(isnan(read_one(sources, 1 * S, "perf.process.task-clock")));
    event->value += (uint64_t)3e9; /* three seconds of CPU time in two of the clock */
    pass(6, 1);
    assert_near(read_one(sources, 3 * S, "perf.process.task-clock"), 1.5, 1e-6);
    sy_sources_close(sources);
    assert_int_equal(open_count(), 0);
}

static void test_refusals(void **state) {
    (void)state;
    kernel.refuse = -EPERM;
    struct sy_sources *sources = open_with("epyc", (struct sy_sources_options){0});
    const struct sy_gap *gap = gap_of(sources, "perf", "machine");
    assert_non_null(strstr(gap->reason, "kernel.perf_event_paranoid is 4"));
    assert_non_null(strstr(gap->remedy, "seccomp"));
    sy_sources_close(sources);
    tree_remove(&tree);
    sources = open_with("xeon", (struct sy_sources_options){0}); /* paranoid is 0: who else? */
    gap = gap_of(sources, "perf", "machine");
    assert_non_null(strstr(gap->reason, "security module or a container"));
    sy_sources_close(sources);
    tree_remove(&tree);
    kernel.refuse = -ENOSYS;
    sources = open_with("xeon", (struct sy_sources_options){0});
    assert_non_null(strstr(gap_of(sources, "perf", "machine")->reason, "seccomp"));
    sy_sources_close(sources);
    tree_remove(&tree);
    kernel.refuse = 0;
    kernel.no_hardware = true;
    sources = open_with("xeon", (struct sy_sources_options){0});
    assert_non_null(strstr(gap_of(sources, "perf", "hardware events")->reason, "virtual machine"));
    assert_int_not_equal(counter_named(sources, "perf.cpu0.context-switches"), SY_NONE);
    sy_sources_close(sources);
}

static void test_group_and_process(void **state) {
    (void)state;
    struct sy_sources *sources =
        open_with("xeon", (struct sy_sources_options){.group = "user.slice/job"});
    assert_int_not_equal(counter_named(sources, "perf.group.cycles"), SY_NONE);
    for (int cpu = 0; cpu < 4; cpu++) { /* a group's events are opened on each CPU and summed */
        opened(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, cpu)->value = 100;
    }
    pass(1, 1);
    assert_near(read_one(sources, 1 * S, "perf.group.cycles"), 400, 0.1);
    sy_sources_close(sources);
    tree_remove(&tree);
    sources = open_with("xeon", (struct sy_sources_options){.process = 77});
    assert_int_equal(opened(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, -1)->pid, 77);
    sy_sources_close(sources);
    tree_remove(&tree);
    sources = open_with("xeon", (struct sy_sources_options){.group = "nobody"});
    assert_non_null(gap_of(sources, "perf", "nobody"));
    sy_sources_close(sources);
}

/* The event of one thread. */
static struct event *of_thread(pid_t thread, uint64_t config) {
    for (int i = 0; i < FD_MAX; i++) {
        struct event *event = &kernel.events[i];
        if (event->open && event->pid == thread && event->attributes.config == config &&
            event->attributes.type == PERF_TYPE_SOFTWARE) {
            return event;
        }
    }
    fail_msg("no such event of thread %d", (int)thread);
    return NULL;
}

static void add_process(uint32_t pid, uint32_t parent, uint32_t thread) {
    char path[128];
    snprintf(path, sizeof path, "%s/proc/%u", tree.root, pid);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/proc/%u/task", tree.root, pid);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/proc/%u/task/%u", tree.root, pid, thread);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    tree_write(&tree, path, "%u (x) S %u 1 1 0 0 0 0 0 0 0 1 1 1 1 0 0 2 0 5 0 1\n", pid, parent);
}

/* Threads and children that are there already are counted, not only those that come. */
static void test_threads_of_a_process(void **state) {
    (void)state;
    const uint64_t faults = PERF_COUNT_SW_PAGE_FAULTS;
    tree_copy(&tree, "xeon");
    add_process(77, 1, 77);
    add_process(77, 1, 78);
    add_process(90, 77, 90);
    add_process(100, 1, 100);
    kernel.ended = 78; /* between being listed and being opened */
    struct sy_sources *sources =
        open_tree((struct sy_sources_options){.process = 77, .only = "perf"});
    pass(1, 1);
    assert_true(isnan(read_one(sources, 1 * S, "perf.process.page-faults")));
    of_thread(77, faults)->value = 100;
    of_thread(90, faults)->value = 20;
    pass(1, 1);
    assert_near(read_one(sources, 2 * S, "perf.process.page-faults"), 120, 0.1);
    of_thread(90, faults)->value = 30; /* the other sleeps: its clock stands still */
    of_thread(90, faults)->enabled_ns += (uint64_t)S;
    of_thread(90, faults)->running_ns += (uint64_t)S;
    assert_near(read_one(sources, 3 * S, "perf.process.page-faults"), 10, 0.1);
    sy_sources_close(sources);
}

/* Energy by perf where there are no files. */
static void test_power(void **state) {
    (void)state;
    struct sy_sources *sources = open_with("epyc", (struct sy_sources_options){.only = "rapl"});
    struct event *event = opened(13, 2, 0);
    assert_non_null(event);
    assert_true(isnan(read_one(sources, 1 * S, "rapl.package0.energy-pkg")));
    event->value += 4294967296ULL * 90; /* the scale is 2^-32 J */
    assert_near(read_one(sources, 2 * S, "rapl.package0.energy-pkg"), 90, 1e-6);
    sy_sources_close(sources);
    assert_int_equal(open_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test_setup_teardown(test_encode, enter, leave),
        cmocka_unit_test_setup_teardown(test_turns, enter, leave),
        cmocka_unit_test_setup_teardown(test_strange_counters, enter, leave),
        cmocka_unit_test_setup_teardown(test_too_many, enter, leave),
        cmocka_unit_test_setup_teardown(test_listed, enter, leave),
        cmocka_unit_test_setup_teardown(test_arm_cores, enter, leave),
        cmocka_unit_test_setup_teardown(test_permissions, enter, leave),
        cmocka_unit_test_setup_teardown(test_refusals, enter, leave),
        cmocka_unit_test_setup_teardown(test_group_and_process, enter, leave),
        cmocka_unit_test_setup_teardown(test_threads_of_a_process, enter, leave),
        cmocka_unit_test_setup_teardown(test_power, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
