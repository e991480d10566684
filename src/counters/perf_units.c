/* SPDX-License-Identifier: Apache-2.0
 *
 * What perf can count here, as units: each CPU's counters, each package's, or those of one process
 * or control group.
 *
 * In: the PMUs that the kernel shows, the events asked for. Out: units with their counters and
 * slots, gaps with what to do. Events are tried on one CPU of each kind; what opens there is taken
 * to open on the others.
 */
#include "counters/perf.h"
#include <errno.h>
#include <string.h>

#define THREADS_MAX 64u /* of a process: each takes a descriptor per event */
#define DEVICES     "/sys/bus/event_source/devices"
#define GENERIC_MAX 16

/* Events being collected for one kind of unit. */
struct basket {
    struct sy_perf_event *events;
    uint32_t count, capacity;
    uint32_t refused; /* did not open */
};

static bool make_basket(struct sy_sources *sources, uint32_t capacity, struct basket *ret_basket) {
    struct sy_perf_event *events = sy_memory(sources, capacity, sizeof *events);
    *ret_basket = (struct basket){.events = events, .capacity = events ? capacity : 0};
    return events;
}

/* Keeps the event if it opens. */
static int keep(struct sy_sources *sources, const struct sy_perf *perf, struct basket *basket,
                const struct sy_perf_event *event, int cpu) {
    int code = basket->count < basket->capacity
                   ? sy_perf_try(sources, perf, &event->attributes, cpu)
                   : -ENOSPC;
    if (code) {
        basket->refused++;
    } else {
        basket->events[basket->count++] = *event;
    }
    return code;
}

/* --- units -------------------------------------------------------------------------------------
 */
struct where {
    enum sy_scope scope;
    uint32_t index;
    const char *name;      /* "cpu3", "package0" */
    const uint32_t *types; /* one group for each of the */
    const uint32_t *cpus;  /* places; NULL: any CPU */
    uint32_t place_count;
    const uint32_t *threads; /* instead of CPUs; NULL: everybody's */
};

static void add_counters(struct sy_sources *sources, struct sy_perf_unit *unit,
                         const struct where *where, const struct basket *basket) {
    for (uint32_t i = 0; i < basket->count; i++) {
        const struct sy_perf_event *event = &basket->events[i];
        struct sy_counter counter = {.name =
                                         sy_text(sources, "perf.%s.%s", where->name, event->name),
                                     .source = "perf",
                                     .event = event->name,
                                     .kind = SY_COUNTER_RATE,
                                     .unit = event->unit,
                                     .scope = where->scope,
                                     .scope_index = where->index,
                                     .noise_ratio = 0.01,
                                     .pmu = unit->pmu};
        unit->counters[i] =
            (struct sy_perf_counter){sy_add_counter(sources, &counter, NULL), event};
    }
    unit->counter_count = basket->count;
}

/* slots 0: they always count. */
static void add_unit(struct sy_sources *sources, struct sy_perf *perf, const struct where *where,
                     const struct basket *basket, const char *pmu, uint32_t slots) {
    if (basket->count == 0) {
        return;
    }
    struct sy_perf_unit unit = {.pmu = slots ? sy_add_pmu(sources, pmu, slots) : SY_PMU_NONE,
                                .group_count = where->place_count,
                                .last_ns = NAN};
    bool software = basket->events[0].attributes.type == PERF_TYPE_SOFTWARE;
    unit.period_ns = software ? SY_OFTEN_NS : 0;
    unit.groups = sy_memory(sources, where->place_count, sizeof *unit.groups);
    unit.counters = sy_memory(sources, basket->count, sizeof *unit.counters);
    if (!unit.groups || !unit.counters ||
        sy_grow(&perf->units, &perf->unit_capacity, perf->unit_count + 1, sizeof unit)) {
        sources->failed = true;
        return;
    }
    for (uint32_t i = 0; i < where->place_count; i++) {
        unit.groups[i].type = where->types[i];
        unit.groups[i].cpu = where->cpus ? (int)where->cpus[i] : -1;
        unit.groups[i].thread = where->threads ? (pid_t)where->threads[i] : 0;
        unit.groups[i].last_ns = NAN;
    }
    add_counters(sources, &unit, where, basket);
    perf->units[perf->unit_count++] = unit;
    if (slots == 0) {
        sy_perf_unit_fill(sources, perf, &perf->units[perf->unit_count - 1], NULL);
    }
}

/* A unit per CPU of the machine; or one for the group, or for the process. */
static void add_per_cpu(struct sy_sources *sources, struct sy_perf *perf, const uint32_t *cpus,
                        uint32_t cpu_count, uint32_t type, const struct basket *basket,
                        const char *pmu, uint32_t slots) {
    uint32_t type_count = cpu_count > perf->thread_count ? cpu_count : perf->thread_count;
    uint32_t *types = sy_memory(sources, type_count, sizeof *types);
    for (uint32_t i = 0; types && i < type_count; i++) {
        types[i] = type;
    }
    if (!types) {
        return;
    }
    if (perf->target.pid >= 0) { /* the group's events are per CPU, a process's per thread */
        bool group = perf->target.flags & PERF_FLAG_PID_CGROUP;
        struct where where = {.scope = SY_SCOPE_GROUP,
                              .name = group ? "group" : "process",
                              .types = types,
                              .cpus = group ? cpus : NULL,
                              .place_count = group                ? cpu_count
                                             : perf->thread_count ? perf->thread_count
                                                                  : 1,
                              .threads = perf->thread_count ? perf->threads : NULL};
        add_unit(sources, perf, &where, basket, pmu, slots);
        return;
    }
    for (uint32_t i = 0; i < cpu_count; i++) {
        struct where where = {
            SY_SCOPE_CPU, cpus[i], sy_text(sources, "cpu%u", cpus[i]), types, &cpus[i], 1, NULL};
        const char *name = sy_text(sources, "%s%u", pmu, cpus[i]);
        add_unit(sources, perf, &where, basket, name, slots);
    }
}

/* --- software and hardware of the cores ----------------------------------------------------------
 */
static int probe_cpu(const struct sy_perf *perf, const uint32_t *cpus) {
    bool anywhere = perf->target.pid >= 0 && !(perf->target.flags & PERF_FLAG_PID_CGROUP);
    return anywhere ? -1 : (int)cpus[0];
}

static void add_software(struct sy_sources *sources, struct sy_perf *perf) {
    struct basket basket;
    struct sy_perf_event events[8];
    uint32_t count = sy_perf_software(perf, events, SY_COUNT(events));
    if (!make_basket(sources, count, &basket)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)!keep(sources, perf, &basket, &events[i], probe_cpu(perf, perf->cpus));
    }
    add_per_cpu(sources, perf, perf->cpus, perf->cpu_count, PERF_TYPE_SOFTWARE, &basket, "", 0);
}

/* Events of the listing that belong to this device: core events where core, else of its unit. */
static void collect(struct sy_sources *sources, const struct sy_perf *perf,
                    const struct sy_perf_device *device, const char *unit, bool fixed, int cpu,
                    struct basket *basket) {
    for (uint32_t i = 0; i < perf->wanted_count; i++) {
        const struct sy_event *listed = &sources->options.listing->events[perf->wanted[i]];
        struct sy_perf_event event = {.name = listed->name, .scale = 1, .unit = "/s"};
        bool ours = strcmp(listed->unit, unit) == 0 || strcmp(listed->unit, device->name) == 0;
        if (!ours || listed->fixed != fixed) {
            continue;
        }
        if (sy_perf_encode(sources, device, listed->encoding, &event.attributes)) {
            basket->refused++;
            continue;
        }
        event.attributes.exclude_user = strcmp(listed->privilege, "k") == 0;
        event.attributes.exclude_kernel = strcmp(listed->privilege, "u") == 0;
        (void)!keep(sources, perf, basket, &event, cpu);
    }
}

static void say_refused(struct sy_sources *sources, const char *device, uint32_t refused) {
    if (refused) {
        sy_add_gap(sources, "perf",
                   sy_text(sources, "%u of the listing's events on %s", refused, device),
                   "the kernel does not accept them here", "");
    }
}

/* What always counts, and what takes turns in the slots that are left beside it. */
static void add_core_events(struct sy_sources *sources, struct sy_perf *perf,
                            const struct sy_perf_device *device, const struct basket *always,
                            const struct basket *others) {
    struct perf_event_attr beside[SY_PERF_SLOTS_MAX];
    uint32_t beside_count = 0;
    int cpu = probe_cpu(perf, device->cpus);
    for (; beside_count < always->count && beside_count < SY_PERF_SLOTS_MAX; beside_count++) {
        beside[beside_count] = always->events[beside_count].attributes;
    }
    uint32_t type = always->count ? always->events[0].attributes.type : device->type;
    add_per_cpu(sources, perf, device->cpus, device->cpu_count, type, always, "", 0);
    if (others->count == 0) {
        return;
    }
    uint32_t slots = sy_perf_slots(sources, &others->events[0].attributes, beside, beside_count,
                                   &perf->target, cpu);
    if (slots == 0) {
        sy_add_gap(sources, "perf", sy_text(sources, "programmable counters of %s", device->name),
                   "all are taken (by the NMI watchdog, or another profiler)",
                   "sysctl kernel.nmi_watchdog=0");
        return;
    }
    add_per_cpu(sources, perf, device->cpus, device->cpu_count, others->events[0].attributes.type,
                others, device->name, slots);
}

/* The listing's events where there are some, else the kernel's generic ones. */
static void add_core(struct sy_sources *sources, struct sy_perf *perf,
                     const struct sy_perf_device *device) {
    struct basket always, others;
    struct sy_perf_event generic[GENERIC_MAX];
    uint32_t count = sy_perf_hardware(generic, GENERIC_MAX);
    int cpu = probe_cpu(perf, device->cpus);
    if (!make_basket(sources, perf->wanted_count + GENERIC_MAX, &always) ||
        !make_basket(sources, perf->wanted_count + GENERIC_MAX, &others)) {
        return;
    }
    if (sources->options.listing) {
        collect(sources, perf, device, "cpu", true, cpu, &always);
        collect(sources, perf, device, "cpu", false, cpu, &others);
        say_refused(sources, device->name, always.refused + others.refused);
    }
    if (others.count == 0 && always.count == 0) {
        for (uint32_t i = 0; i < count; i++) { /* cycles and instructions always count */
            (void)!keep(sources, perf, i < 2 ? &always : &others, &generic[i], cpu);
        }
    }
    add_core_events(sources, perf, device, &always, &others);
}

/* "cpu", or where cores differ (and on Arm) every device that says which CPUs it has. */
static void add_cores(struct sy_sources *sources, struct sy_perf *perf) {
    struct sy_perf_device device;
    struct sy_perf_event cycles[1];
    sy_perf_hardware(cycles, 1);
    int code = sy_perf_try(sources, perf, &cycles[0].attributes, probe_cpu(perf, perf->cpus));
    if (code) {
        const char *reason, *remedy;
        sy_perf_explain(sources, code, &reason, &remedy);
        sy_add_gap(sources, "perf", "hardware events of the cores", reason, remedy);
        return;
    }
    if (sy_perf_device_open(sources, "cpu", &device) == 0) {
        device.cpus = perf->cpus;
        device.cpu_count = perf->cpu_count;
        add_core(sources, perf, &device);
        return;
    }
    const char *const *names;
    uint32_t count = sy_folder_names(sources, DEVICES, "", &names);
    for (uint32_t i = 0; i < count; i++) {
        char path[SY_PATH_MAX];
        snprintf(path, sizeof path, DEVICES "/%s/cpus", names[i]);
        if (sy_file_exists(sources, path) && sy_perf_device_open(sources, names[i], &device) == 0 &&
            device.cpu_count) {
            add_core(sources, perf, &device);
        }
    }
}

/* --- outside the cores ---------------------------------------------------------------------------
 */
/* uncore_imc, or uncore_imc_0, uncore_imc_1 ... */
static bool is_instance(const char *name, const char *unit) {
    size_t length = strlen(unit);
    if (strncmp(name, unit, length) != 0) {
        return false;
    }
    const char *rest = name + length;
    return *rest == '\0' ||
           (*rest == '_' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

struct places {
    uint32_t *types, *cpus, *packages;
    uint32_t count, package_count;
};

/* Every (instance, CPU of its mask), with its package. */
static void find_places(struct sy_sources *sources, const char *unit,
                        struct sy_perf_device *ret_device, struct places *ret_places) {
    const char *const *names;
    uint32_t count = sy_folder_names(sources, DEVICES, unit, &names), capacity = 0;
    struct sy_perf_device *devices = sy_memory(sources, count, sizeof *devices);
    uint32_t device_count = 0;
    for (uint32_t i = 0; devices && i < count; i++) {
        struct sy_perf_device *device = &devices[device_count];
        if (is_instance(names[i], unit) && sy_perf_device_open(sources, names[i], device) == 0) {
            capacity += device->cpu_count;
            device_count += device->cpu_count > 0;
        }
    }
    struct places places = {.types = sy_memory(sources, capacity, sizeof(uint32_t)),
                            .cpus = sy_memory(sources, capacity, sizeof(uint32_t)),
                            .packages = sy_memory(sources, capacity, sizeof(uint32_t))};
    for (uint32_t i = 0; !sources->failed && i < device_count; i++) {
        for (uint32_t j = 0; j < devices[i].cpu_count; j++) {
            uint32_t package = sy_package_of(sources, devices[i].cpus[j]);
            places.types[places.count] = devices[i].type;
            places.cpus[places.count] = devices[i].cpus[j];
            places.packages[places.count++] = package;
            places.package_count =
                package >= places.package_count ? package + 1 : places.package_count;
        }
    }
    if (device_count) {
        *ret_device = devices[0];
    }
    *ret_places = places;
}

static void add_packages(struct sy_sources *sources, struct sy_perf *perf, const char *unit,
                         const struct places *places, const struct basket *basket, uint32_t slots) {
    for (uint32_t package = 0; package < places->package_count; package++) {
        uint32_t *types = sy_memory(sources, places->count, sizeof *types);
        uint32_t *cpus = sy_memory(sources, places->count, sizeof *cpus);
        struct where where = {
            .scope = SY_SCOPE_PACKAGE, .index = package, .types = types, .cpus = cpus};
        where.name = sy_text(sources, "package%u", package);
        for (uint32_t i = 0; types && cpus && i < places->count; i++) {
            if (places->packages[i] == package) {
                types[where.place_count] = places->types[i];
                cpus[where.place_count++] = places->cpus[i];
            }
        }
        if (where.place_count) {
            add_unit(sources, perf, &where, basket, sy_text(sources, "%s.package%u", unit, package),
                     slots);
        }
    }
}

/* False: there is no such unit. */
static bool add_uncore_unit(struct sy_sources *sources, struct sy_perf *perf, const char *unit) {
    struct sy_perf_device device = {.name = ""};
    struct places places;
    struct basket basket;
    find_places(sources, unit, &device, &places);
    if (places.count == 0 || !make_basket(sources, perf->wanted_count, &basket)) {
        return false;
    }
    collect(sources, perf, &device, unit, false, (int)places.cpus[0], &basket);
    collect(sources, perf, &device, unit, true, (int)places.cpus[0], &basket);
    say_refused(sources, unit, basket.refused);
    if (basket.count == 0) {
        return true;
    }
    uint32_t slots = sy_perf_slots(sources, &basket.events[0].attributes, NULL, 0, &perf->target,
                                   (int)places.cpus[0]);
    if (slots == 0) {
        sy_add_gap(sources, "perf", sy_text(sources, "events of %s", unit),
                   "all of its counters are taken", "");
    } else {
        add_packages(sources, perf, unit, &places, &basket, slots);
    }
    return true;
}

static bool is_core_unit(struct sy_sources *sources, const char *unit) {
    char path[SY_PATH_MAX];
    snprintf(path, sizeof path, DEVICES "/%s/cpus", unit);
    return strcmp(unit, "cpu") == 0 || sy_file_exists(sources, path);
}

/* The units of the wanted events, each once; a core's own are done already. */
static void add_uncore(struct sy_sources *sources, struct sy_perf *perf) {
    const struct sy_listing *listing = sources->options.listing;
    const char *absent = "";
    for (uint32_t i = 0; i < perf->wanted_count; i++) {
        const char *unit = listing->events[perf->wanted[i]].unit;
        bool seen = is_core_unit(sources, unit);
        for (uint32_t j = 0; j < i && !seen; j++) {
            seen = strcmp(listing->events[perf->wanted[j]].unit, unit) == 0;
        }
        if (!seen && !add_uncore_unit(sources, perf, unit)) {
            absent = sy_text(sources, "%s%s%s", absent, *absent ? ", " : "", unit);
        }
    }
    if (*absent) {
        sy_add_gap(sources, "perf", sy_text(sources, "events outside the cores (%s)", absent),
                   "the kernel shows no such units (a virtual machine, or a missing driver)",
                   "on bare metal: modprobe intel_uncore or amd_uncore");
    }
}

/* --- whom we may watch ---------------------------------------------------------------------------
 */
/* Everybody if we may; else ourselves, without the kernel's part. */
static void choose_target(struct sy_sources *sources, struct sy_perf *perf) {
    struct sy_perf_event event[1];
    sy_perf_software(perf, event, 1);
    int code = sy_perf_try(sources, perf, &event[0].attributes, (int)perf->cpus[0]);
    if (code == 0) {
        return;
    }
    const char *reason, *remedy;
    sy_perf_explain(sources, code, &reason, &remedy);
    sy_add_gap(sources, "perf", "events of other processes and of the whole machine", reason,
               remedy);
    perf->target = (struct sy_perf_target){.pid = 0, .user_only = true, .inherit = true};
}

/* Threads that are there have events of their own; what they start later inherits them. */
static void target_process(struct sy_sources *sources, struct sy_perf *perf) {
    uint32_t pid = sources->options.process;
    perf->target.pid = (pid_t)pid;
    perf->target.inherit = true;
    perf->threads = sy_memory(sources, THREADS_MAX, sizeof *perf->threads);
    if (perf->threads) {
        perf->thread_count = sy_process_threads(sources, pid, perf->threads, THREADS_MAX);
    }
}

/* Whose events they are, for a gap. */
static const char *whose(struct sy_sources *sources) {
    const struct sy_sources_options *options = &sources->options;
    return options->process ? sy_text(sources, "events of process %u", options->process)
           : options->group ? sy_text(sources, "events of %s", options->group)
                            : "events";
}

void sy_perf_build(struct sy_sources *sources, struct sy_perf *perf) {
    bool everybody = !sources->options.group && !sources->options.process;
    if (sources->options.process) {
        target_process(sources, perf);
    }
    if (perf->thread_count > THREADS_MAX) {
        sy_add_gap(
            sources, "perf", whose(sources),
            sy_text(sources, "it has %u threads, more than %u", perf->thread_count, THREADS_MAX),
            "--group counts a control group of any size");
        return;
    }
    if (everybody) {
        choose_target(sources, perf);
    }
    struct sy_perf_event event[1];
    sy_perf_software(perf, event, 1);
    int code = sy_perf_try(sources, perf, &event[0].attributes, probe_cpu(perf, perf->cpus));
    if (code) {
        const char *reason, *remedy;
        sy_perf_explain(sources, code, &reason, &remedy);
        if (!everybody || perf->target.pid < 0) {
            sy_add_gap(sources, "perf", whose(sources),
                       code == -ESRCH ? "there is no such process" : reason, remedy);
        }
        return;
    }
    perf->wanted_count = sy_perf_wanted(sources, &perf->wanted);
    add_software(sources, perf);
    add_cores(sources, perf);
    if (everybody && perf->target.pid < 0) {
        add_uncore(sources, perf);
    }
}
