/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_event_open itself, how many events count at a time, and why it says no.
 *
 * The number of slots is found out, not looked up: a watchdog may hold a counter, a hypervisor may
 * give fewer. Events are added to a group until the kernel refuses, and then until the group runs.
 */
#include "counters/perf.h"
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#define POLL_MAX      20000
#define RUNS_AFTER_NS 1000000 /* a group that did not run for this long does not fit */

int sy_perf_open_event(struct sy_sources *sources, const struct perf_event_attr *attributes,
                       const struct sy_perf_target *target, int cpu, int leader) {
    struct perf_event_attr attr = *attributes;
    attr.size = sizeof attr;
    attr.disabled = leader < 0;
    attr.inherit = target->inherit;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (!target->inherit) {
        attr.read_format |= PERF_FORMAT_GROUP;
    }
    attr.exclude_kernel |= target->user_only;
    attr.exclude_hv |= target->user_only;
    return sources->calls.perf_open(sources->calls.user, &attr, target->pid, cpu, leader,
                                    target->flags | PERF_FLAG_FD_CLOEXEC);
}

/* Whether the group that fd leads gets onto the counters. */
static bool runs(struct sy_sources *sources, int fd, const struct sy_perf_target *target) {
    const struct sy_calls *calls = &sources->calls;
    uint64_t data[3 + 2 * SY_PERF_SLOTS_MAX];
    const uint64_t *enabled = &data[1], *running = &data[2]; /* in both formats */
    calls->perf_control(calls->user, fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    for (uint32_t i = 0; i < POLL_MAX; i++) {
        ssize_t got = calls->perf_read(calls->user, fd, data, sizeof data);
        if (got < (ssize_t)(3 * sizeof data[0]) || *running > 0) {
            return got >= (ssize_t)(3 * sizeof data[0]);
        }
        if (*enabled > RUNS_AFTER_NS) {
            return false;
        }
    }
    return target->pid >= 0; /* a process may have slept all the time: nothing speaks against it */
}

/* Opens up to want copies beside the others; whether they run together, and how many opened. */
static bool fits(struct sy_sources *sources, const struct perf_event_attr *event,
                 const struct perf_event_attr *beside, uint32_t beside_count,
                 const struct sy_perf_target *target, int cpu, uint32_t want,
                 uint32_t *ret_opened) {
    int fds[2 * SY_PERF_SLOTS_MAX];
    uint32_t count = 0;
    while (count < beside_count + want) {
        const struct perf_event_attr *next = count < beside_count ? &beside[count] : event;
        int fd =
            sy_perf_open_event(sources, next, target, cpu, count && !target->inherit ? fds[0] : -1);
        if (fd < 0) {
            break;
        }
        fds[count++] = fd;
    }
    bool running = count > 0 && runs(sources, fds[0], target);
    for (uint32_t i = count; i-- > 0;) {
        sources->calls.perf_close(sources->calls.user, fds[i]);
    }
    *ret_opened = count > beside_count ? count - beside_count : 0;
    return running;
}

uint32_t sy_perf_slots(struct sy_sources *sources, const struct perf_event_attr *event,
                       const struct perf_event_attr *beside, uint32_t beside_count,
                       const struct sy_perf_target *target, int cpu) {
    uint32_t want = SY_PERF_SLOTS_MAX, opened = 0;
    beside_count = beside_count < SY_PERF_SLOTS_MAX ? beside_count : SY_PERF_SLOTS_MAX;
    if (target->inherit) { /* no groups to try: what processors have at least */
        want = 4;
    }
    while (want > 0) {
        if (fits(sources, event, beside, beside_count, target, cpu, want, &opened)) {
            return opened;
        }
        want = opened < want ? opened : want - 1;
    }
    return 0;
}

static void explain_denial(struct sy_sources *sources, const char **ret_reason,
                           const char **ret_remedy) {
    double paranoid = sy_file_number(sources, "/proc/sys/kernel/perf_event_paranoid");
    uint64_t filter = 0;
    if (sy_file_text(sources, "/proc/self/status") > 0) {
        (void)sy_scan_key(sources->buffer, "Seccomp", &filter);
    }
    if (!isnan(paranoid) && paranoid > 0) {
        *ret_reason =
            sy_text(sources, "permission denied (kernel.perf_event_paranoid is %g)", paranoid);
        *ret_remedy = filter ? "sysctl kernel.perf_event_paranoid=0 or CAP_PERFMON, and a seccomp "
                               "profile that allows perf_event_open"
                             : "sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON";
        return;
    }
    *ret_reason = filter ? "permission denied: a filter (seccomp) forbids perf_event_open"
                         : "permission denied by a security module or a container";
    *ret_remedy = "a seccomp profile that allows perf_event_open, and CAP_PERFMON (docker: "
                  "--security-opt seccomp=FILE --cap-add PERFMON)";
}

void sy_perf_explain(struct sy_sources *sources, int code, const char **ret_reason,
                     const char **ret_remedy) {
    *ret_reason = sy_reason(code);
    *ret_remedy = "";
    switch (-code) {
    case EACCES:
    case EPERM:
        explain_denial(sources, ret_reason, ret_remedy);
        break;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
        *ret_reason = "the processor's counters cannot be seen from here (a virtual machine?)";
        *ret_remedy = "a virtual PMU for this guest (KVM: -cpu host,pmu=on)";
        break;
    case ENOSYS:
        *ret_remedy = "a kernel with CONFIG_PERF_EVENTS, or a profile that allows perf_event_open";
        break;
    case EMFILE:
        *ret_remedy = "ulimit -n 65536";
        break;
    default:
        break;
    }
}
