/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens every provider, asks them in turn, and turns totals into rates.
 *
 * In: what providers say. Out: samples that are finite and not negative. Invariant: a provider that
 * finds nothing leaves a gap; a total that went backwards, or faster than it can, gives no sample
 * and is the new start.
 */
#include "counters/provider.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct sy_provider *const providers[SY_PROVIDER_COUNT] = {
    &sy_provider_perf, &sy_provider_resctrl, &sy_provider_rapl,   &sy_provider_psi,
    &sy_provider_proc, &sy_provider_process, &sy_provider_cgroup, &sy_provider_nvml,
    &sy_provider_fpga, &sy_provider_tasks,   &sy_provider_pushed};

/* --- probing ------------------------------------------------------------------------------------
 */
void *sy_memory(struct sy_sources *sources, size_t count, size_t size) {
    void *memory = sy_arena_alloc(sources->arena, count ? count : 1, size);
    sources->failed |= !memory;
    return memory;
}

const char *sy_text(struct sy_sources *sources, const char *format, ...) {
    char line[SY_PATH_MAX + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const char *copy = sy_arena_strdup(sources->arena, line);
    sources->failed |= !copy;
    return copy ? copy : "";
}

uint32_t sy_add_counter(struct sy_sources *sources, const struct sy_counter *counter,
                        const struct sy_track *track) {
    uint32_t index = sources->counter_count, need = index + 1;
    if (sy_grow(&sources->counters, &sources->counter_capacity, need, sizeof *counter) ||
        sy_grow(&sources->tracks, &sources->track_capacity, need, sizeof *track) ||
        sy_grow(&sources->chosen, &sources->chosen_capacity, need, sizeof(bool))) {
        sources->failed = true;
        return SY_NONE;
    }
    sources->counters[index] = *counter;
    sources->tracks[index] = track ? *track : (struct sy_track){0};
    sources->tracks[index].last_ns = NAN;
    sources->tracks[index].scale = track && track->scale != 0 ? track->scale : 1;
    sources->chosen[index] = false;
    sources->counter_count++;
    return index;
}

uint32_t sy_add_pmu(struct sy_sources *sources, const char *name, uint32_t slots) {
    uint32_t index = sources->pmu_count, need = index + 1;
    if (sy_grow(&sources->pmus, &sources->pmu_capacity, need, sizeof *sources->pmus) ||
        sy_grow(&sources->taken, &sources->taken_capacity, need, sizeof(uint32_t))) {
        sources->failed = true;
        return SY_PMU_NONE;
    }
    sources->pmus[index] = (struct sy_pmu){name, slots};
    sources->pmu_count++;
    return index;
}

void sy_add_gap(struct sy_sources *sources, const char *source, const char *what,
                const char *reason, const char *remedy) {
    uint32_t need = sources->gap_count + 1;
    if (sy_grow(&sources->gaps, &sources->gap_capacity, need, sizeof *sources->gaps)) {
        sources->failed = true;
        return;
    }
    sources->gaps[sources->gap_count++] = (struct sy_gap){source, what, reason, remedy};
}

const char *sy_reason(int code) {
    static const struct {
        int code;
        const char *text;
    } reasons[] = {{EACCES, "permission denied"},
                   {EPERM, "permission denied"},
                   {ENOENT, "this kernel does not have it"},
                   {ENODEV, "this machine does not have it"},
                   {EOPNOTSUPP, "this machine does not have it"},
                   {ENOSYS, "this kernel does not have it, or a filter (seccomp) hides it"},
                   {EMFILE, "too many open files"},
                   {EINVAL, "the kernel refuses it"}};
    for (size_t i = 0; i < SY_COUNT(reasons); i++) {
        if (reasons[i].code == abs(code)) {
            return reasons[i].text;
        }
    }
    return "it cannot be read";
}

/* --- reading ------------------------------------------------------------------------------------
 */
bool sy_is_due(const struct sy_sources *sources, double *last_ns, double period_ns) {
    /* A reader's timer is never exact: nine tenths of a period are one. */
    if (!isnan(*last_ns) && sources->now_ns >= *last_ns &&
        sources->now_ns - *last_ns < 0.9 * period_ns) {
        return false;
    }
    *last_ns = sources->now_ns;
    return true;
}

void sy_put_rate(struct sy_sources *sources, uint32_t counter, double rate, double start_ns,
                 double running_ratio, double noise_ratio) {
    if (counter >= sources->counter_count || !isfinite(rate) || rate < 0 ||
        !(start_ns <= sources->now_ns) || !(running_ratio > 0) ||
        sources->sample_count == sources->sample_capacity) {
        return;
    }
    if (sources->counters[counter].kind == SY_COUNTER_SHARE && rate > 1) {
        rate = 1;
    }
    sources->samples[sources->sample_count++] =
        (struct sy_sample){.counter = counter,
                           .value = rate,
                           .start_ns = start_ns,
                           .end_ns = sources->now_ns,
                           .running_ratio = fmin(running_ratio, 1),
                           .noise_ratio = isfinite(noise_ratio) ? fmax(noise_ratio, 0) : 0};
}

void sy_put_level(struct sy_sources *sources, uint32_t counter, double value, double noise_ratio) {
    double start_ns = isnan(sources->last_ns) ? sources->now_ns : sources->last_ns;
    sy_put_rate(sources, counter, value, start_ns, 1, noise_ratio);
}

/* A recording's next read: samples of one end. */
static int replay_next(struct sy_sources *sources, struct sy_sample *ret_samples,
                       uint32_t capacity) {
    const struct sy_recording *recording = sources->replay;
    uint32_t first = sources->replay_next, count = 0;
    if (first == recording->sample_count) {
        return -ENODATA;
    }
    double end_ns = recording->samples[first].end_ns;
    uint32_t next = first;
    while (next < recording->sample_count && recording->samples[next].end_ns == end_ns) {
        if (count < capacity) {
            ret_samples[count++] = recording->samples[next];
        }
        next++;
    }
    sources->replay_next = next;
    return (int)count;
}

int sy_sources_read(struct sy_sources *sources, double now_ns, struct sy_sample *ret_samples,
                    uint32_t capacity) {
    if (sources->replay) {
        return replay_next(sources, ret_samples, capacity);
    }
    if (!isfinite(now_ns)) {
        return -EINVAL;
    }
    sources->now_ns = now_ns;
    sources->samples = ret_samples;
    sources->sample_count = 0;
    sources->sample_capacity = capacity;
    for (uint32_t i = 0; i < sources->opened_count; i++) {
        sources->opened[i].provider->read(sources, sources->opened[i].state);
    }
    sources->last_ns = now_ns;
    sources->samples = NULL;
    return (int)sources->sample_count;
}

int sy_sources_select(struct sy_sources *sources, const uint32_t *counters, uint32_t count) {
    for (uint32_t i = 0; i < sources->pmu_count; i++) {
        sources->taken[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (counters[i] >= sources->counter_count) {
            return -EINVAL;
        }
        uint32_t pmu = sources->counters[counters[i]].pmu;
        if (pmu != SY_PMU_NONE && ++sources->taken[pmu] > sources->pmus[pmu].slots) {
            return -ENOSPC;
        }
    }
    if (sources->replay) {
        return 0; /* what was counted was chosen when it was recorded */
    }
    for (uint32_t i = 0; i < sources->counter_count; i++) {
        sources->chosen[i] = false;
    }
    for (uint32_t i = 0; i < count; i++) {
        sources->chosen[counters[i]] = true;
    }
    for (uint32_t i = 0; i < sources->opened_count; i++) {
        if (sources->opened[i].provider->select) {
            sources->opened[i].provider->select(sources, sources->opened[i].state);
        }
    }
    return 0;
}

/* --- life ---------------------------------------------------------------------------------------
 */
static bool is_wanted(const char *only, const char *name) {
    size_t length = strlen(name);
    for (const char *at = only; at && *at; at += strspn(at, ",")) {
        size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, name, length) == 0) {
            return true;
        }
        at += word;
    }
    return !only;
}

/* A source that does not exist is a slip of the person who typed it. */
static int check_only(const char *only, struct sy_error *error) {
    const char *names[SY_PROVIDER_COUNT];
    for (size_t i = 0; i < SY_PROVIDER_COUNT; i++) {
        names[i] = providers[i]->name;
    }
    for (const char *at = only; at && *at; at += strspn(at, ",")) {
        char word[32];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), at);
        bool known = false;
        for (size_t i = 0; i < SY_PROVIDER_COUNT; i++) {
            known |= strcmp(word, names[i]) == 0;
        }
        if (!known) {
            sy_fail(error, -EINVAL, "there is no source '%s'", word);
            return sy_hint_names(error, word, names, SY_PROVIDER_COUNT);
        }
        at += length;
    }
    return 0;
}

static int open_providers(struct sy_sources *sources, struct sy_error *error) {
    int code = check_only(sources->options.only, error);
    for (size_t i = 0; !code && i < SY_PROVIDER_COUNT; i++) {
        if (is_wanted(sources->options.only, providers[i]->name)) {
            struct sy_opened *opened = &sources->opened[sources->opened_count];
            code = providers[i]->open(sources, &opened->state);
            opened->provider = providers[i];
            sources->opened_count += !code;
        }
    }
    if (!code && sources->failed) {
        code = -ENOMEM;
    }
    if (code == -ENOMEM) {
        return sy_fail(error, code, "out of memory");
    }
    if (!code && sources->counter_count == 0) {
        code = sy_fail(error, -ENODATA, "nothing can be read here");
        if (sources->gap_count) {
            const struct sy_gap *gap = &sources->gaps[0];
            sy_hint(error, "%s: %s: %s", gap->source, gap->what, gap->reason);
        }
    }
    return code;
}

static int open_replay(struct sy_sources *sources, struct sy_error *error) {
    char *text;
    size_t length;
    const char *path = sources->options.replay;
    int code = sy_read_file(path, &text, &length, error);
    if (code) {
        return code;
    }
    code = sy_recording_read(path, text, length, &sources->replay, error);
    free(text);
    for (uint32_t i = 0; !code && i < sources->replay->pmu_count; i++) {
        const struct sy_pmu *pmu = &sources->replay->pmus[i];
        sy_add_pmu(sources, pmu->name, pmu->slots);
    }
    for (uint32_t i = 0; !code && i < sources->replay->counter_count; i++) {
        sy_add_counter(sources, &sources->replay->counters[i], NULL);
    }
    return sources->failed ? sy_out_of_memory(error) : code;
}

struct sy_sources *sy_sources_create(const struct sy_sources_options *options,
                                     const struct sy_calls *calls) {
    struct sy_sources *sources = calloc(1, sizeof *sources);
    struct sy_arena *arena = sy_arena_create();
    if (!sources || !arena) {
        sy_arena_destroy(arena);
        free(sources);
        return NULL;
    }
    sources->arena = arena;
    sources->options = *options;
    sources->calls = *calls;
    sources->now_ns = sources->last_ns = NAN;
    return sources;
}

int sy_sources_open_with(const struct sy_sources_options *options, const struct sy_calls *calls,
                         struct sy_sources **ret_sources, struct sy_error *error) {
    struct sy_sources *sources = sy_sources_create(options, calls);
    if (!sources) {
        return sy_out_of_memory(error);
    }
    int code = options->replay ? open_replay(sources, error) : open_providers(sources, error);
    if (code) {
        sy_sources_close(sources);
        return code;
    }
    *ret_sources = sources;
    return 0;
}

int sy_sources_open(const struct sy_sources_options *options, struct sy_sources **ret_sources,
                    struct sy_error *error) {
    const struct sy_sources_options all = {0};
    options = options ? options : &all;
    struct sy_calls calls = sy_calls_real(options->root);
    return sy_sources_open_with(options, &calls, ret_sources, error);
}

void sy_sources_close(struct sy_sources *sources) {
    if (!sources) {
        return;
    }
    for (uint32_t i = sources->opened_count; i-- > 0;) {
        if (sources->opened[i].provider->close && sources->opened[i].state) {
            sources->opened[i].provider->close(sources, sources->opened[i].state);
        }
    }
    sy_recording_destroy(sources->replay);
    free(sources->counters);
    free(sources->tracks);
    free(sources->chosen);
    free(sources->pmus);
    free(sources->taken);
    free(sources->gaps);
    free(sources->buffer);
    sy_arena_destroy(sources->arena);
    free(sources);
}

const struct sy_counter *sy_sources_counters(const struct sy_sources *sources,
                                             uint32_t *ret_count) {
    *ret_count = sources->counter_count;
    return sources->counters;
}

const struct sy_pmu *sy_sources_pmus(const struct sy_sources *sources, uint32_t *ret_count) {
    *ret_count = sources->pmu_count;
    return sources->pmus;
}

const struct sy_gap *sy_sources_gaps(const struct sy_sources *sources, uint32_t *ret_count) {
    *ret_count = sources->gap_count;
    return sources->gaps;
}
