/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_event_open: generic and listed events of CPUs, of packages, of a process or a control group.
 *
 * In: which counters are chosen. Out: their rates. Invariant: what counts together is read
 * together; the kernel is never left to take turns by itself, unless events do not fit as they were
 * said to, and then the sample's running ratio tells.
 */
#include "counters/perf.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_filled_so(const struct sy_perf_unit *unit, const uint32_t *members, uint32_t count) {
    return count == unit->member_count &&
           memcmp(members, unit->members, count * sizeof *members) == 0;
}

void sy_perf_unit_fill(struct sy_sources *sources, struct sy_perf *perf, struct sy_perf_unit *unit,
                       const bool *chosen) {
    uint32_t members[SY_PERF_SLOTS_MAX], count = 0;
    for (uint32_t i = 0; i < unit->counter_count && count < SY_PERF_SLOTS_MAX; i++) {
        if (!chosen || chosen[unit->counters[i].counter]) {
            members[count++] = i;
        }
    }
    if (is_filled_so(unit, members, count)) {
        return;
    }
    unit->member_count = 0;
    for (uint32_t i = 0; i < unit->group_count; i++) {
        sy_perf_group_close(sources, &unit->groups[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_perf_event *event = unit->counters[members[i]].event;
        bool whole = true;
        for (uint32_t j = 0; j < unit->group_count && whole; j++) {
            whole = sy_perf_group_add(sources, &unit->groups[j], &event->attributes,
                                      &perf->target) == 0;
        }
        if (whole) {
            unit->members[unit->member_count++] = members[i];
        } else { /* it opened at some places only: what is there of it is dropped again */
            for (uint32_t j = 0; j < unit->group_count; j++) {
                struct sy_perf_group *group = &unit->groups[j];
                if (group->count > unit->member_count) {
                    sources->calls.perf_close(sources->calls.user, group->fds[--group->count]);
                }
            }
        }
    }
    for (uint32_t i = 0; i < unit->group_count; i++) {
        sy_perf_group_start(sources, &unit->groups[i]);
    }
}

static void perf_select(struct sy_sources *sources, void *state) {
    struct sy_perf *perf = state;
    for (uint32_t i = 0; i < perf->unit_count; i++) {
        if (perf->units[i].pmu != SY_PMU_NONE) {
            sy_perf_unit_fill(sources, perf, &perf->units[i], sources->chosen);
        }
    }
}

/* Rates of the places add up; a counter that is missing at one of them is missing. */
static void read_unit(struct sy_sources *sources, struct sy_perf *perf, struct sy_perf_unit *unit) {
    struct sy_perf_gain sums[SY_PERF_SLOTS_MAX], gains[SY_PERF_SLOTS_MAX];
    uint32_t places = 0;
    for (uint32_t i = 0; i < unit->group_count; i++) {
        if (unit->groups[i].gone) {
            continue;
        }
        places++;
        sy_perf_group_read(sources, &unit->groups[i], &perf->target, gains);
        for (uint32_t j = 0; j < unit->member_count; j++) {
            if (places == 1) {
                sums[j] = gains[j];
            } else {
                sums[j].rate += gains[j].rate;
                sums[j].window_ns = fmax(sums[j].window_ns, gains[j].window_ns);
                sums[j].running_ratio = fmin(sums[j].running_ratio, gains[j].running_ratio);
            }
        }
    }
    for (uint32_t j = 0; j < unit->member_count && places; j++) {
        const struct sy_perf_counter *counter = &unit->counters[unit->members[j]];
        sy_put_rate(sources, counter->counter, sums[j].rate * counter->event->scale,
                    sources->now_ns - sums[j].window_ns, sums[j].running_ratio, 0);
    }
}

static void perf_read(struct sy_sources *sources, void *state) {
    struct sy_perf *perf = state;
    for (uint32_t i = 0; i < perf->unit_count; i++) {
        if (sy_is_due(sources, &perf->units[i].last_ns, perf->units[i].period_ns)) {
            read_unit(sources, perf, &perf->units[i]);
        }
    }
}

static void perf_close(struct sy_sources *sources, void *state) {
    struct sy_perf *perf = state;
    for (uint32_t i = 0; i < perf->unit_count; i++) {
        for (uint32_t j = 0; j < perf->units[i].group_count; j++) {
            sy_perf_group_close(sources, &perf->units[i].groups[j]);
        }
    }
    if (perf->group_fd >= 0) {
        close(perf->group_fd);
    }
    free(perf->units);
}

/* The folder of a control group, by its whole path or below /sys/fs/cgroup. */
static int open_group(const struct sy_sources *sources, const char *group) {
    static const char *const bases[] = {"", "/sys/fs/cgroup/perf_event/", "/sys/fs/cgroup/",
                                        "/sys/fs/cgroup/unified/"};
    const char *root = sources->options.root ? sources->options.root : "";
    for (size_t i = 0; i < SY_COUNT(bases); i++) {
        char path[SY_PATH_MAX];
        if (i == 0 && group[0] != '/') {
            continue;
        }
        snprintf(path, sizeof path, "%s%s%s", root, bases[i], group);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            return fd;
        }
    }
    return -ENOENT;
}

static int perf_open(struct sy_sources *sources, void **ret_state) {
    const char *group = sources->options.group;
    struct sy_perf *perf = sy_memory(sources, 1, sizeof *perf);
    if (!perf) {
        return -ENOMEM;
    }
    perf->group_fd = -1;
    perf->target.pid = -1;
    *ret_state = perf;
    if (!sources->calls.perf_open) {
        return 0;
    }
    perf->cpu_count = sy_online_cpus(sources, &perf->cpus);
    if (perf->cpu_count == 0) {
        sy_add_gap(sources, "perf", "events", "the kernel does not list the CPUs",
                   "mount -t sysfs sysfs /sys");
        return 0;
    }
    if (group) {
        perf->group_fd = open_group(sources, group);
        if (perf->group_fd < 0) {
            sy_add_gap(sources, "perf", sy_text(sources, "events of control group '%s'", group),
                       "there is no such folder", "name a folder below /sys/fs/cgroup");
            return 0;
        }
        perf->target.pid = perf->group_fd;
        perf->target.flags = PERF_FLAG_PID_CGROUP;
    }
    sy_perf_build(sources, perf);
    return 0;
}

const struct sy_provider sy_provider_perf = {.name = "perf",
                                             .open = perf_open,
                                             .select = perf_select,
                                             .read = perf_read,
                                             .close = perf_close};
