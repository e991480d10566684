/* SPDX-License-Identifier: Apache-2.0
 *
 * resctrl: memory traffic of each package and occupancy of each last-level cache, as the processor
 * itself attributes them (Intel CMT and MBM, AMD's QoS).
 *
 * In: mon_data of /sys/fs/resctrl. Out: bytes per second, bytes. "Unavailable" and "Error" in a
 * file mean no sample this time.
 */
#include "counters/provider.h"
#include <errno.h>
#include <string.h>

#define FOLDER    "/sys/fs/resctrl"
#define CACHE_MAX 256
#define BYTES_MAX 1e13 /* per s; faster is a jump */

enum { TOTAL, LOCAL, OCCUPANCY, KIND_COUNT };
static const char *const files[KIND_COUNT] = {"mbm_total_bytes", "mbm_local_bytes",
                                              "llc_occupancy"};

struct cache {
    struct sy_file file[KIND_COUNT];
    uint32_t counter[KIND_COUNT]; /* TOTAL and LOCAL: the package's, shared with its other caches */
};

struct resctrl {
    struct cache *caches;
    uint32_t count;
    double ns;
};

/* The package of a cache: that of a CPU whose third level has its number. */
static uint32_t package_of_cache(struct sy_sources *sources, uint32_t id) {
    const uint32_t *cpus;
    uint32_t count = sy_online_cpus(sources, &cpus);
    for (uint32_t i = 0; i < count; i++) {
        char path[SY_PATH_MAX];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index3/id", cpus[i]);
        if (sy_file_number(sources, path) == id) {
            return sy_package_of(sources, cpus[i]);
        }
    }
    return id;
}

static uint32_t add(struct sy_sources *sources, uint32_t kind, const char *where,
                    uint32_t package) {
    bool level = kind == OCCUPANCY;
    struct sy_counter counter = {.name = sy_text(sources, "resctrl.%s.%s", where, files[kind]),
                                 .source = "resctrl",
                                 .event = files[kind],
                                 .kind = level ? SY_COUNTER_LEVEL : SY_COUNTER_RATE,
                                 .unit = level ? "B" : "B/s",
                                 .scope = SY_SCOPE_PACKAGE,
                                 .scope_index = package,
                                 .noise_ratio = 0.05,
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, &(struct sy_track){.rate_max = BYTES_MAX});
}

/* Traffic is summed over the caches of a package: an EPYC has many. */
static uint32_t traffic_of(struct sy_sources *sources, uint32_t kind, uint32_t package) {
    for (uint32_t i = 0; i < sources->counter_count; i++) {
        const struct sy_counter *counter = &sources->counters[i];
        if (counter->event == files[kind] && counter->scope_index == package) {
            return i;
        }
    }
    return add(sources, kind, sy_text(sources, "package%u", package), package);
}

static void open_cache(struct sy_sources *sources, struct resctrl *state, const char *name) {
    struct cache *cache = &state->caches[state->count];
    const char *at = name + strlen("mon_L3_");
    uint64_t id;
    bool any = false;
    if (!sy_scan_u64(&at, &id) || id > UINT16_MAX) {
        return;
    }
    uint32_t package = package_of_cache(sources, (uint32_t)id);
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        char path[SY_PATH_MAX];
        snprintf(path, sizeof path, FOLDER "/mon_data/%s/%s", name, files[kind]);
        cache->counter[kind] = SY_NONE;
        if (sy_file_open(sources, path, &cache->file[kind]) == 0) {
            any = true;
            cache->counter[kind] =
                kind == OCCUPANCY
                    ? add(sources, kind, sy_text(sources, "l3_%u", (uint32_t)id), package)
                    : traffic_of(sources, kind, package);
        }
    }
    state->count += any;
}

static void say_gap(struct sy_sources *sources) {
    const char *what = "memory traffic and cache occupancy (resctrl)";
    bool known =
        sy_file_text(sources, "/proc/filesystems") > 0 && strstr(sources->buffer, "\tresctrl\n");
    bool able = sy_file_text(sources, "/proc/cpuinfo") > 0 && strstr(sources->buffer, " cqm");
    if (!known) {
        sy_add_gap(sources, "resctrl", what,
                   "the kernel was built without it, or the processor does not have it",
                   able ? "a kernel with CONFIG_X86_CPU_RESCTRL" : "");
    } else {
        sy_add_gap(sources, "resctrl", what,
                   sy_file_exists(sources, FOLDER "/info") ? "the processor cannot monitor"
                                                           : "it is not mounted",
                   sy_file_exists(sources, FOLDER "/info")
                       ? ""
                       : "mount -t resctrl resctrl /sys/fs/resctrl");
    }
}

static int resctrl_open(struct sy_sources *sources, void **ret_state) {
    struct resctrl *state = sy_memory(sources, 1, sizeof *state);
    const char *const *names;
    uint32_t count = sy_folder_names(sources, FOLDER "/mon_data", "mon_L3_", &names);
    count = count < CACHE_MAX ? count : CACHE_MAX;
    if (!state) {
        return -ENOMEM;
    }
    state->ns = NAN;
    state->caches = sy_memory(sources, count, sizeof *state->caches);
    for (uint32_t i = 0; state->caches && i < count; i++) {
        open_cache(sources, state, names[i]);
    }
    if (state->count == 0) {
        say_gap(sources);
    }
    *ret_state = state;
    return 0;
}

/* One cache that says "Unavailable" spoils the sum of its package: then it starts anew. */
static void put_sums(struct sy_sources *sources, const struct resctrl *state, uint32_t kind,
                     const uint64_t *values, const bool *valid) {
    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t counter = state->caches[i].counter[kind];
        uint64_t sum = 0;
        bool first = true, whole = true;
        for (uint32_t j = 0; j < state->count && counter != SY_NONE; j++) {
            if (state->caches[j].counter[kind] == counter) {
                first = first && j >= i;
                whole = whole && valid[j];
                sum += values[j];
            }
        }
        if (counter != SY_NONE && first && whole) {
            sy_put_total(sources, counter, sum);
        } else if (counter != SY_NONE && first) {
            sy_forget_total(sources, counter);
        }
    }
}

static void resctrl_read(struct sy_sources *sources, void *opaque) {
    struct resctrl *state = opaque;
    if (state->count == 0 || !sy_is_due(sources, &state->ns, SY_SELDOM_NS / 2)) {
        return;
    }
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        uint64_t values[CACHE_MAX];
        bool valid[CACHE_MAX];
        for (uint32_t i = 0; i < state->count; i++) {
            struct cache *cache = &state->caches[i];
            const char *at = sources->buffer;
            valid[i] = cache->counter[kind] != SY_NONE &&
                       sy_file_read(sources, &cache->file[kind]) > 0 &&
                       sy_scan_u64(&at, &values[i]);
            values[i] = valid[i] ? values[i] : 0;
            if (kind == OCCUPANCY && valid[i]) {
                sy_put_level(sources, cache->counter[kind], (double)values[i], 0);
            }
        }
        if (kind != OCCUPANCY) {
            put_sums(sources, state, kind, values, valid);
        }
    }
}

static void resctrl_close(struct sy_sources *sources, void *opaque) {
    struct resctrl *state = opaque;
    (void)sources;
    for (uint32_t i = 0; i < state->count; i++) {
        for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
            sy_file_close(&state->caches[i].file[kind]);
        }
    }
}

const struct sy_provider sy_provider_resctrl = {
    .name = "resctrl", .open = resctrl_open, .read = resctrl_read, .close = resctrl_close};
