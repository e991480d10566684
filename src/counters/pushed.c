/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters that are told, not read: durations of tasks, and values that a simulator or a board's
 * own code pushes.
 *
 * In: sy_sources_push_duration, sy_sources_push. Out: at the next read, one sample each of what was
 * pushed since the last. Invariant: what was pushed is given once.
 */
#include "counters/provider.h"
#include <errno.h>
#include <string.h>

/* A duration's mean and spread since the last read, by Welford's recurrence; or the last value. */
struct told {
    uint32_t count;
    double mean, square_sum, noise_ratio;
};

struct telling {
    struct told *told; /* as counters, from first on */
    uint32_t first, count;
};

static struct telling *find(const struct sy_sources *sources, const struct sy_provider *provider) {
    for (uint32_t i = 0; i < sources->opened_count; i++) {
        if (sources->opened[i].provider == provider) {
            return sources->opened[i].state;
        }
    }
    return NULL;
}

static int start(struct sy_sources *sources, uint32_t count, struct telling **ret_telling) {
    struct telling *telling = sy_memory(sources, 1, sizeof *telling);
    struct told *told = sy_memory(sources, count, sizeof *told);
    if (!telling || !told) {
        return -ENOMEM;
    }
    *telling = (struct telling){.told = told, .first = sources->counter_count, .count = count};
    *ret_telling = telling;
    return 0;
}

/* --- durations ----------------------------------------------------------------------------------
 */
static int tasks_open(struct sy_sources *sources, void **ret_state) {
    const char *const *kernels = sources->options.kernels;
    uint32_t count = 0;
    while (kernels && kernels[count]) {
        count++;
    }
    struct telling *telling;
    int code = start(sources, count, &telling);
    for (uint32_t i = 0; !code && i < count; i++) {
        const char *kernel = sy_text(sources, "%s", kernels[i]);
        struct sy_counter counter = {.name = sy_text(sources, "tasks.%s", kernel),
                                     .source = "tasks",
                                     .event = kernel,
                                     .kind = SY_COUNTER_LEVEL,
                                     .unit = "s",
                                     .scope = SY_SCOPE_KERNEL,
                                     .scope_index = i,
                                     .noise_ratio = 0.1,
                                     .pmu = SY_PMU_NONE};
        sy_add_counter(sources, &counter, NULL);
    }
    if (!code) {
        *ret_state = telling;
    }
    return code;
}

int sy_sources_push_duration(struct sy_sources *sources, const char *kernel, double seconds) {
    struct telling *telling = find(sources, &sy_provider_tasks);
    if (!(seconds >= 0) || !isfinite(seconds)) {
        return -EINVAL;
    }
    for (uint32_t i = 0; telling && i < telling->count; i++) {
        if (strcmp(sources->counters[telling->first + i].event, kernel) == 0) {
            struct told *told = &telling->told[i];
            double off = seconds - told->mean;
            told->mean += off / ++told->count;
            told->square_sum += off * (seconds - told->mean);
            return 0;
        }
    }
    return -ENOENT;
}

/* The standard deviation of the mean, relative; of one task nothing is known. */
static double noise_of(const struct told *told) {
    if (told->count < 2 || !(told->mean > 0)) {
        return 0;
    }
    double variance = told->square_sum / (told->count - 1);
    return sqrt(variance / told->count) / told->mean;
}

static void tasks_read(struct sy_sources *sources, void *state) {
    struct telling *telling = state;
    for (uint32_t i = 0; i < telling->count; i++) {
        struct told *told = &telling->told[i];
        if (told->count) {
            sy_put_level(sources, telling->first + i, told->mean, noise_of(told));
            *told = (struct told){0};
        }
    }
}

const struct sy_provider sy_provider_tasks = {
    .name = "tasks", .open = tasks_open, .read = tasks_read};

/* --- values -------------------------------------------------------------------------------------
 */
static int pushed_open(struct sy_sources *sources, void **ret_state) {
    uint32_t count = sources->options.pushed_count;
    struct telling *telling;
    int code = start(sources, count, &telling);
    for (uint32_t i = 0; !code && i < count; i++) {
        struct sy_counter counter = sources->options.pushed[i];
        counter.name = sy_text(sources, "%s", counter.name);
        counter.source = sy_text(sources, "%s", counter.source);
        counter.event = sy_text(sources, "%s", counter.event);
        counter.unit = sy_text(sources, "%s", counter.unit);
        counter.pmu = SY_PMU_NONE; /* who pushes has no slots */
        sy_add_counter(sources, &counter, NULL);
    }
    if (!code) {
        *ret_state = telling;
    }
    return code;
}

int sy_sources_push(struct sy_sources *sources, uint32_t counter, double value,
                    double noise_ratio) {
    struct telling *telling = find(sources, &sy_provider_pushed);
    if (!telling || counter < telling->first || counter - telling->first >= telling->count) {
        return -ENOENT;
    }
    if (!(value >= 0) || !isfinite(value) || !(noise_ratio >= 0) || !isfinite(noise_ratio)) {
        return -EINVAL;
    }
    telling->told[counter - telling->first] =
        (struct told){.count = 1, .mean = value, .noise_ratio = noise_ratio};
    return 0;
}

static void pushed_read(struct sy_sources *sources, void *state) {
    struct telling *telling = state;
    for (uint32_t i = 0; i < telling->count; i++) {
        struct told *told = &telling->told[i];
        if (told->count) {
            sy_put_level(sources, telling->first + i, told->mean, told->noise_ratio);
            *told = (struct told){0};
        }
    }
}

const struct sy_provider sy_provider_pushed = {
    .name = "pushed", .open = pushed_open, .read = pushed_read};
