/* SPDX-License-Identifier: Apache-2.0
 *
 * RAPL: energy of packages, memory and the platform, by the powercap files or perf's power PMU.
 *
 * In: /sys/class/powercap/intel-rapl:* (AMD's too), or event_source/devices/power. Out: watts.
 * Energy counters wrap around; how far is in the files.
 */
#include "counters/rapl.h"
#include "counters/perf.h"
#include <errno.h>
#include <string.h>

#define POWERCAP  "/sys/class/powercap"
#define WATTS_MAX 5e3

static const struct {
    const char *name, *event; /* powercap's and perf's word for the same */
} domains[] = {{"package", "energy-pkg"},
               {"psys", "energy-psys"},
               {"dram", "energy-ram"},
               {"core", "energy-cores"},
               {"uncore", "energy-gpu"}};

static const char *event_of(const char *name) {
    for (size_t i = 0; i < SY_COUNT(domains); i++) {
        if (strncmp(name, domains[i].name, strlen(domains[i].name)) == 0) {
            return domains[i].event;
        }
    }
    return NULL;
}

/* "package-1", or that of the folder around it: intel-rapl:1:0 is a part of intel-rapl:1. */
static uint32_t package_of(struct sy_sources *sources, const char *folder) {
    char path[SY_PATH_MAX];
    const char *second = strchr(folder, ':');
    second = second ? strchr(second + 1, ':') : NULL;
    snprintf(path, sizeof path, POWERCAP "/%.*s/name",
             (int)(second ? second - folder : (ptrdiff_t)strlen(folder)), folder);
    uint64_t package = 0;
    if (sy_file_text(sources, path) > 0 && strncmp(sources->buffer, "package-", 8) == 0) {
        const char *at = sources->buffer + 8;
        (void)sy_scan_u64(&at, &package);
    }
    return package < SY_CPU_MAX ? (uint32_t)package : 0;
}

static int open_powercap(struct sy_sources *sources, struct sy_rapl *rapl, const char *folder) {
    char path[SY_PATH_MAX];
    snprintf(path, sizeof path, POWERCAP "/%s/name", folder);
    const char *event = sy_file_text(sources, path) > 0 ? event_of(sources->buffer) : NULL;
    if (!event || rapl->count == SY_RAPL_MAX) {
        return -ENOENT;
    }
    struct sy_rapl_meter meter = {.event = event, .scale = 1e-6, .fd = -1};
    meter.package = package_of(sources, folder);
    snprintf(path, sizeof path, POWERCAP "/%s/max_energy_range_uj", folder);
    double range = sy_file_number(sources, path);
    meter.range = isnan(range) ? 0 : range;
    snprintf(path, sizeof path, POWERCAP "/%s/energy_uj", folder);
    int code = sy_file_open(sources, path, &meter.file);
    if (!code) {
        rapl->meters[rapl->count++] = meter;
    }
    return code;
}

/* One event on the first CPU of each package, as the kernel's mask says. */
static int open_perf(struct sy_sources *sources, struct sy_rapl *rapl,
                     const struct sy_perf_device *device, const char *event) {
    const struct sy_perf_target target = {.pid = -1};
    struct perf_event_attr attributes;
    const char *unit;
    double scale;
    int code = sy_perf_alias(sources, device, event, &attributes, &scale, &unit);
    for (uint32_t i = 0; !code && i < device->cpu_count && rapl->count < SY_RAPL_MAX; i++) {
        int fd = sy_perf_open_event(sources, &attributes, &target, (int)device->cpus[i], -1);
        if (fd < 0) {
            return fd;
        }
        sources->calls.perf_control(sources->calls.user, fd, PERF_EVENT_IOC_ENABLE, 0);
        rapl->meters[rapl->count++] =
            (struct sy_rapl_meter){.event = event,
                                   .package = sy_package_of(sources, device->cpus[i]),
                                   .scale = scale,
                                   .fd = fd};
        rapl->by_perf = true;
    }
    return code;
}

static void say_gap(struct sy_sources *sources, int file_code, int perf_code) {
    const char *what = "power of the processor (RAPL)";
    const char *reason, *remedy;
    if (file_code == -EACCES) {
        sy_add_gap(sources, "rapl", what, "permission denied (its files belong to root)",
                   "chmod a+r " POWERCAP "/intel-rapl:*/energy_uj, or run as root");
    } else if (perf_code == -EACCES || perf_code == -EPERM) {
        sy_perf_explain(sources, perf_code, &reason, &remedy);
        sy_add_gap(sources, "rapl", what, reason, remedy);
    } else {
        sy_add_gap(sources, "rapl", what,
                   "neither " POWERCAP " nor perf's power PMU has it (a virtual machine?)", "");
    }
}

void sy_rapl_open(struct sy_sources *sources, struct sy_rapl *rapl) {
    const char *const *names;
    uint32_t count = sy_folder_names(sources, POWERCAP, "intel-rapl:", &names);
    int file_code = -ENOENT, perf_code = -ENOENT;
    for (uint32_t i = 0; i < count; i++) {
        int code = open_powercap(sources, rapl, names[i]);
        file_code = code ? (code == -EACCES ? code : file_code) : 0;
    }
    struct sy_perf_device device;
    if (rapl->count == 0 && sources->calls.perf_open &&
        sy_perf_device_open(sources, "power", &device) == 0) {
        for (size_t i = 0; i < SY_COUNT(domains); i++) {
            int code = open_perf(sources, rapl, &device, domains[i].event);
            perf_code = code == -ENOENT ? perf_code : code;
        }
    }
    if (rapl->count == 0) {
        say_gap(sources, file_code, perf_code);
    }
}

void sy_rapl_close(struct sy_sources *sources, struct sy_rapl *rapl) {
    for (uint32_t i = 0; i < rapl->count; i++) {
        sy_file_close(&rapl->meters[i].file);
        if (rapl->meters[i].fd >= 0) {
            sources->calls.perf_close(sources->calls.user, rapl->meters[i].fd);
        }
    }
    rapl->count = 0;
}

bool sy_rapl_read(struct sy_sources *sources, struct sy_rapl_meter *meter, uint64_t *ret_total) {
    if (meter->fd < 0) {
        if (sy_file_read(sources, &meter->file) <= 0) {
            return false;
        }
        const char *at = sources->buffer;
        return sy_scan_u64(&at, ret_total);
    }
    uint64_t data[4]; /* how many, enabled, running, the value */
    ssize_t got = sources->calls.perf_read(sources->calls.user, meter->fd, data, sizeof data);
    if (got != sizeof data) {
        return false;
    }
    *ret_total = data[3];
    return true;
}

/* --- the provider -------------------------------------------------------------------------------
 */
struct rapl_state {
    struct sy_rapl rapl;
    uint32_t counters[SY_RAPL_MAX];
};

static int rapl_open(struct sy_sources *sources, void **ret_state) {
    struct rapl_state *state = sy_memory(sources, 1, sizeof *state);
    if (!state) {
        return -ENOMEM;
    }
    sy_rapl_open(sources, &state->rapl);
    for (uint32_t i = 0; i < state->rapl.count; i++) {
        const struct sy_rapl_meter *meter = &state->rapl.meters[i];
        bool platform = strcmp(meter->event, "energy-psys") == 0;
        const char *where = platform ? "platform" : sy_text(sources, "package%u", meter->package);
        struct sy_counter counter = {.name = sy_text(sources, "rapl.%s.%s", where, meter->event),
                                     .source = "rapl",
                                     .event = meter->event,
                                     .kind = SY_COUNTER_RATE,
                                     .unit = "W",
                                     .scope = platform ? SY_SCOPE_MACHINE : SY_SCOPE_PACKAGE,
                                     .scope_index = meter->package,
                                     .noise_ratio = 0.02,
                                     .pmu = SY_PMU_NONE};
        struct sy_track track = {
            .scale = meter->scale, .range = meter->range, .rate_max = WATTS_MAX, .hold_ns = 5e6};
        state->counters[i] = sy_add_counter(sources, &counter, &track);
    }
    *ret_state = state;
    return 0;
}

static void rapl_read(struct sy_sources *sources, void *opaque) {
    struct rapl_state *state = opaque;
    uint64_t total;
    for (uint32_t i = 0; i < state->rapl.count; i++) {
        if (sy_rapl_read(sources, &state->rapl.meters[i], &total)) {
            sy_put_total(sources, state->counters[i], total);
        } else {
            sy_forget_total(sources, state->counters[i]);
        }
    }
}

static void rapl_close(struct sy_sources *sources, void *opaque) {
    struct rapl_state *state = opaque;
    sy_rapl_close(sources, &state->rapl);
}

const struct sy_provider sy_provider_rapl = {
    .name = "rapl", .open = rapl_open, .read = rapl_read, .close = rapl_close};
