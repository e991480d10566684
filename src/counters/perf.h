/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the perf provider. Private to counters/.
 *
 * perf_format.c reads the kernel's description of a PMU and encodes events by it; perf_probe.c
 * finds out what we may count and how many at a time; perf.c has the events and the rotation.
 */
#ifndef SY_COUNTERS_PERF_H
#define SY_COUNTERS_PERF_H

#include "counters/provider.h"
#include <linux/perf_event.h>

#define SY_PERF_SLOTS_MAX 32

/* --- perf_format.c -----------------------------------------------------------------------------
 */
/* A folder of /sys/bus/event_source/devices. */
struct sy_perf_device {
    const char *name;
    uint32_t type;
    const uint32_t *cpus; /* of cpumask or cpus: where to open; NULL: anywhere */
    uint32_t cpu_count;
};
/* 0 or -ENOENT. */
int sy_perf_device_open(struct sy_sources *sources, const char *name,
                        struct sy_perf_device *ret_device);
/* "event=0x3c,umask=0x1,cmask=2" by the device's own bit layout. -EINVAL: a term it does not have,
 * or one that does not fit. Sets type, config, config1, config2 only. */
int sy_perf_encode(struct sy_sources *sources, const struct sy_perf_device *device,
                   const char *terms, struct perf_event_attr *ret_attributes);
/* "config:0-7,32-35" takes the low bits of value, in order. config_count words; -EINVAL. */
int sy_perf_place_bits(const char *format, uint64_t value, uint64_t *configs,
                       uint32_t config_count);
/* An event that the kernel itself names, with its scale and unit ("": none). */
int sy_perf_alias(struct sy_sources *sources, const struct sy_perf_device *device,
                  const char *event, struct perf_event_attr *ret_attributes, double *ret_scale,
                  const char **ret_unit);

/* --- perf_probe.c ------------------------------------------------------------------------------
 */
/* Whose events are counted. */
struct sy_perf_target {
    pid_t pid; /* -1: everybody's; with PERF_FLAG_PID_CGROUP a descriptor of the group's folder */
    unsigned long flags;
    bool user_only; /* the kernel's part may not be counted */
    bool inherit;   /* threads begun later count too; such events cannot be read as a group */
};

/* A descriptor or -errno. leader -1: it leads, and is off until it is enabled. */
int sy_perf_open_event(struct sy_sources *sources, const struct perf_event_attr *attributes,
                       const struct sy_perf_target *target, int cpu, int leader);
/* How many copies of event count at a time beside those in beside; 0: not even one. */
uint32_t sy_perf_slots(struct sy_sources *sources, const struct perf_event_attr *event,
                       const struct perf_event_attr *beside, uint32_t beside_count,
                       const struct sy_perf_target *target, int cpu);
/* What hinders us and what would help, for a gap. */
void sy_perf_explain(struct sy_sources *sources, int code, const char **ret_reason,
                     const char **ret_remedy);

/* --- perf_group.c ------------------------------------------------------------------------------
 */
struct sy_perf_state {
    uint64_t value, enabled_ns, running_ns;
};

/* Events at one place, counted together: the same window, one read. */
struct sy_perf_group {
    uint32_t type; /* of the device: instances of one PMU have different ones */
    int cpu;       /* -1: wherever the process runs */
    pid_t thread;  /* of the process that is watched; 0: whom the target says */
    bool gone;     /* the thread had ended before its events were opened */
    uint32_t count;
    int fds[SY_PERF_SLOTS_MAX];
    bool leads[SY_PERF_SLOTS_MAX]; /* did not fit with the others, and takes turns with them */
    struct sy_perf_state last[SY_PERF_SLOTS_MAX];
    double last_ns; /* NAN: not read yet */
};

struct sy_perf_gain {
    double rate;      /* per s while it ran; NAN: it did not run, or it went backwards */
    double window_ns; /* while it was enabled */
    double running_ratio;
};

/* 0 or -errno: this event cannot be counted here. */
int sy_perf_group_add(struct sy_sources *sources, struct sy_perf_group *group,
                      const struct perf_event_attr *attributes,
                      const struct sy_perf_target *target);
void sy_perf_group_start(struct sy_sources *sources, struct sy_perf_group *group);
void sy_perf_group_close(struct sy_sources *sources, struct sy_perf_group *group);
/* One gain per event, in the order they were added. */
void sy_perf_group_read(struct sy_sources *sources, struct sy_perf_group *group,
                        const struct sy_perf_target *target, struct sy_perf_gain *ret_gains);

/* --- perf_units.c ------------------------------------------------------------------------------
 */
struct sy_perf_event {
    const char *name;
    struct perf_event_attr attributes;
    double scale;     /* of one count, in unit; 1 for events of the listing */
    const char *unit; /* per second */
};

struct sy_perf_counter {
    uint32_t counter;
    const struct sy_perf_event *event;
};

/* Counters that share slots: of one CPU, of one package's instances of a PMU, of a process. */
struct sy_perf_unit {
    uint32_t pmu;                 /* SY_PMU_NONE: they always count */
    struct sy_perf_group *groups; /* where: each has the same events, rates are summed */
    uint32_t group_count;
    struct sy_perf_counter *counters;
    uint32_t counter_count;
    uint32_t members[SY_PERF_SLOTS_MAX]; /* of counters: what the groups hold now, in order */
    uint32_t member_count;
    double period_ns; /* the kernel's own events need not be read each time */
    double last_ns;
};

struct sy_perf {
    struct sy_perf_target target;
    struct sy_perf_unit *units; /* malloc'ed */
    uint32_t unit_count, unit_capacity;
    const uint32_t *cpus; /* online */
    uint32_t cpu_count;
    const uint32_t *wanted; /* events of the listing */
    uint32_t wanted_count;
    int group_fd;                    /* of the control group; -1 */
    uint32_t *threads, thread_count; /* of the process; 0: none is watched, or only it is seen */
};
/* Finds out whom we may watch, and adds units, counters, pmus and gaps. */
void sy_perf_build(struct sy_sources *sources, struct sy_perf *perf);
/* The members of a unit become those counters that chosen says; NULL: all of them. */
void sy_perf_unit_fill(struct sy_sources *sources, struct sy_perf *perf, struct sy_perf_unit *unit,
                       const bool *chosen);

/* --- perf_events.c -----------------------------------------------------------------------------
 */
/* Whether one event opens there; closes it again. 0 or -errno. */
int sy_perf_try(struct sy_sources *sources, const struct sy_perf *perf,
                const struct perf_event_attr *attributes, int cpu);
/* Generic events of the kernel; fills at most capacity. */
uint32_t sy_perf_software(const struct sy_perf *perf, struct sy_perf_event *ret_events,
                          uint32_t capacity);
uint32_t sy_perf_hardware(struct sy_perf_event *ret_events, uint32_t capacity);
/* Events of the listing that were asked for: with their index in it; count. */
uint32_t sy_perf_wanted(struct sy_sources *sources, const uint32_t **ret_events);

#endif
