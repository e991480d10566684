/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that count together at one place.
 *
 * In: events, one after another. Out: what each gained since the last read, per second in which it
 * ran. Invariant: an event that the kernel does not schedule with the others leads a group of its
 * own and says by its running ratio how much it missed; one that did not run says nothing.
 */
#include "counters/perf.h"
#include <errno.h>
#include <string.h>

int sy_perf_group_add(struct sy_sources *sources, struct sy_perf_group *group,
                      const struct perf_event_attr *attributes,
                      const struct sy_perf_target *target) {
    struct perf_event_attr attr = *attributes;
    struct sy_perf_target whom = *target;
    uint32_t index = group->count;
    if (index == SY_PERF_SLOTS_MAX) {
        return -ENOSPC;
    }
    attr.type = group->type;
    whom.pid = group->thread ? group->thread : whom.pid;
    bool alone = index == 0 || target->inherit;
    int fd = sy_perf_open_event(sources, &attr, &whom, group->cpu, alone ? -1 : group->fds[0]);
    if (fd == -EINVAL && !alone) { /* it does not fit with those that are there */
        alone = true;
        fd = sy_perf_open_event(sources, &attr, &whom, group->cpu, -1);
    }
    if (fd == -ESRCH && group->thread && index == 0) {
        group->gone = true;
    }
    if (group->gone) {
        return 0;
    }
    if (fd < 0) {
        return fd;
    }
    group->fds[index] = fd;
    group->leads[index] = alone;
    group->last[index] = (struct sy_perf_state){0};
    group->count++;
    return 0;
}

void sy_perf_group_start(struct sy_sources *sources, struct sy_perf_group *group) {
    const struct sy_calls *calls = &sources->calls;
    group->last_ns = NAN;
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->leads[i]) {
            calls->perf_control(calls->user, group->fds[i], PERF_EVENT_IOC_ENABLE, 0);
        }
    }
}

void sy_perf_group_close(struct sy_sources *sources, struct sy_perf_group *group) {
    for (uint32_t i = group->count; i-- > 0;) {
        sources->calls.perf_close(sources->calls.user, group->fds[i]);
    }
    group->count = 0;
}

static struct sy_perf_gain gain_of(struct sy_perf_state *last, struct sy_perf_state now) {
    struct sy_perf_gain gain = {.rate = NAN};
    bool forward = now.value >= last->value && now.enabled_ns > last->enabled_ns &&
                   now.running_ns > last->running_ns;
    if (forward) {
        double running_ns = (double)(now.running_ns - last->running_ns);
        gain.window_ns = (double)(now.enabled_ns - last->enabled_ns);
        gain.running_ratio = fmin(running_ns / gain.window_ns, 1);
        gain.rate = (double)(now.value - last->value) / running_ns * 1e9;
    }
    *last = now;
    return gain;
}

static bool read_event(struct sy_sources *sources, int fd, uint64_t *data, size_t size) {
    for (;;) {
        ssize_t got = sources->calls.perf_read(sources->calls.user, fd, data, size);
        if (got != -EINTR) {
            return got >= (ssize_t)(3 * sizeof *data);
        }
    }
}

/* The leader at index, and those that count with it. */
static void read_together(struct sy_sources *sources, struct sy_perf_group *group, uint32_t index,
                          struct sy_perf_gain *ret_gains) {
    uint64_t data[3 + SY_PERF_SLOTS_MAX] = {0};
    if (!read_event(sources, group->fds[index], data, sizeof data)) {
        return;
    }
    uint64_t next = 0, count = data[0];
    for (uint32_t i = index; i < group->count && next < count && next < SY_PERF_SLOTS_MAX; i++) {
        if (i == index || (index == 0 && !group->leads[i])) {
            struct sy_perf_state now = {data[3 + next++], data[1], data[2]};
            ret_gains[i] = gain_of(&group->last[i], now);
        }
    }
}

/* Of several threads: their times add up, so that the clock says how long it was. */
static void read_inherited(struct sy_sources *sources, struct sy_perf_group *group, uint32_t index,
                           struct sy_perf_gain *ret_gains) {
    uint64_t data[3];
    if (!read_event(sources, group->fds[index], data, sizeof data)) {
        return;
    }
    struct sy_perf_state last = group->last[index], now = {data[0], data[1], data[2]};
    struct sy_perf_gain gain = gain_of(&group->last[index], now);
    gain.window_ns = sources->now_ns - group->last_ns;
    if (now.enabled_ns == last.enabled_ns && now.value == last.value) { /* it slept all the time */
        gain = (struct sy_perf_gain){.window_ns = gain.window_ns, .running_ratio = 1};
    }
    double counts = (double)(now.value - last.value) / gain.running_ratio;
    gain.rate = isnan(gain.rate) || !(gain.window_ns > 0) ? NAN : counts / gain.window_ns * 1e9;
    ret_gains[index] = gain;
}

void sy_perf_group_read(struct sy_sources *sources, struct sy_perf_group *group,
                        const struct sy_perf_target *target, struct sy_perf_gain *ret_gains) {
    for (uint32_t i = 0; i < group->count; i++) {
        ret_gains[i] = (struct sy_perf_gain){.rate = NAN};
    }
    for (uint32_t i = 0; i < group->count; i++) {
        if (target->inherit) {
            read_inherited(sources, group, i, ret_gains);
        } else if (group->leads[i]) {
            read_together(sources, group, i, ret_gains);
        }
    }
    group->last_ns = sources->now_ns;
}
