/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events there are to count: the kernel's generic ones, and those of the listing that were
 * asked for.
 */
#include "counters/perf.h"
#include <string.h>

struct generic {
    const char *name;
    uint64_t config;
};

static const struct generic software[] = {{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
                                          {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
                                          {"page-faults", PERF_COUNT_SW_PAGE_FAULTS}};

static const struct generic hardware[] = {
    {"cycles", PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_COUNT_HW_CACHE_MISSES},
    {"branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_COUNT_HW_BRANCH_MISSES},
    {"stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND}};

static struct sy_perf_event make(const struct generic *generic, uint32_t type) {
    return (struct sy_perf_event){.name = generic->name,
                                  .attributes = {.type = type,
                                                 .size = sizeof(struct perf_event_attr),
                                                 .config = generic->config},
                                  .scale = 1,
                                  .unit = "/s"};
}

uint32_t sy_perf_software(const struct sy_perf *perf, struct sy_perf_event *ret_events,
                          uint32_t capacity) {
    uint32_t count = 0;
    for (size_t i = 0; i < SY_COUNT(software) && count < capacity; i++) {
        ret_events[count++] = make(&software[i], PERF_TYPE_SOFTWARE);
    }
    if (perf->target.pid >= 0 && count < capacity) { /* of everybody it is the time itself */
        static const struct generic clock = {"task-clock", PERF_COUNT_SW_TASK_CLOCK};
        ret_events[count] = make(&clock, PERF_TYPE_SOFTWARE);
        ret_events[count].scale = 1e-9;
        ret_events[count++].unit = "cpus";
    }
    return count;
}

uint32_t sy_perf_hardware(struct sy_perf_event *ret_events, uint32_t capacity) {
    uint32_t count = 0;
    for (size_t i = 0; i < SY_COUNT(hardware) && count < capacity; i++) {
        ret_events[count++] = make(&hardware[i], PERF_TYPE_HARDWARE);
    }
    return count;
}

int sy_perf_try(struct sy_sources *sources, const struct sy_perf *perf,
                const struct perf_event_attr *attributes, int cpu) {
    int fd = sy_perf_open_event(sources, attributes, &perf->target, cpu, -1);
    if (fd >= 0) {
        sources->calls.perf_close(sources->calls.user, fd);
    }
    return fd < 0 ? fd : 0;
}

static void want(struct sy_sources *sources, const char *name, uint32_t *events, uint32_t *count) {
    uint32_t event = sy_listing_event(sources->options.listing, name);
    for (uint32_t i = 0; i < *count; i++) {
        if (events[i] == event) {
            return;
        }
    }
    if (event == SY_NONE) {
        sy_add_gap(
            sources, "perf", sy_text(sources, "event '%s'", name),
            sy_text(sources, "the listing %s does not have it", sources->options.listing->name),
            "symph counters listing shows what it has");
        return;
    }
    events[(*count)++] = event;
}

uint32_t sy_perf_wanted(struct sy_sources *sources, const uint32_t **ret_events) {
    const struct sy_sources_options *options = &sources->options;
    uint32_t most = 0, count = 0;
    while (options->wanted && options->wanted[most]) {
        most++;
    }
    uint32_t roles = most;
    for (const char *at = options->events; at && *at; at++) {
        most += *at == ',' || at == options->events;
    }
    uint32_t *events = options->listing ? sy_memory(sources, most, sizeof *events) : NULL;
    for (uint32_t i = 0; events && i < roles; i++) {
        want(sources, options->wanted[i], events, &count);
    }
    for (const char *at = options->events; events && at && *at;) {
        size_t length = strcspn(at, ",");
        char name[256];
        if (length > 0 && length < sizeof name) {
            memcpy(name, at, length);
            name[length] = '\0';
            want(sources, name, events, &count);
        }
        at += length + (at[length] == ',');
    }
    *ret_events = events;
    return count;
}
