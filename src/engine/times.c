/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of kernels in memory, and their file.
 */
#include "engine/times.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMES_END ".times.csv"

struct entry {
    struct sy_cost_sample sample; /* its texts and costs are ours */
    const char *input;
};

struct sy_times {
    struct sy_arena *arena;
    struct entry *entries; /* the oldest first */
    uint32_t count, capacity;
    struct sy_map index; /* by what may be there once */
};

struct sy_times *sy_times_create(void) {
    struct sy_times *times = calloc(1, sizeof *times);
    if (times && !(times->arena = sy_arena_create())) {
        free(times);
        return NULL;
    }
    return times;
}

void sy_times_destroy(struct sy_times *times) {
    if (times) {
        sy_map_finish(&times->index);
        free(times->entries);
        sy_arena_destroy(times->arena);
        free(times);
    }
}

uint32_t sy_times_count(const struct sy_times *times) {
    return times->count;
}

/* What tells one line from another. */
static void put_key(const struct sy_cost_sample *sample, const char *input,
                    struct sy_buffer *buffer) {
    sy_buffer_printf(buffer, "%s|%s|%s|%u|%s", sample->source, sample->kernel, sample->class_name,
                     sample->width, input ? input : "");
    for (uint32_t i = 0; i < sample->cost_count; i++) {
        sy_buffer_printf(buffer, "|%s=", sample->cost_names[i]);
        sy_buffer_number(buffer, sample->costs[i]);
    }
}

static int copy(struct sy_times *times, const struct sy_cost_sample *sample, const char *input,
                struct entry *ret_entry) {
    struct sy_arena *arena = times->arena;
    const char **names = sy_arena_alloc(arena, sample->cost_count + 1, sizeof *names);
    double *costs = sy_arena_alloc(arena, sample->cost_count + 1, sizeof *costs);
    struct entry entry = {.sample = *sample, .input = sy_arena_strdup(arena, input ? input : "")};
    entry.sample.kernel = sy_arena_strdup(arena, sample->kernel);
    entry.sample.class_name = sy_arena_strdup(arena, sample->class_name);
    entry.sample.source = sy_arena_strdup(arena, sample->source);
    if (!names || !costs || !entry.input || !entry.sample.kernel || !entry.sample.class_name ||
        !entry.sample.source) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < sample->cost_count; i++) {
        names[i] = sy_arena_strdup(arena, sample->cost_names[i]);
        costs[i] = sample->costs[i];
        if (!names[i]) {
            return -ENOMEM;
        }
    }
    entry.sample.cost_names = names;
    entry.sample.costs = costs;
    *ret_entry = entry;
    return 0;
}

/* Numbers only: a line that is there is said better. */
static void renew(struct entry *entry, const struct sy_cost_sample *sample) {
    entry->sample.time_ns = sample->time_ns;
    entry->sample.watts = isnan(sample->watts) ? entry->sample.watts : sample->watts;
    entry->sample.build = sample->build;
}

int sy_times_add(void *argument, const struct sy_cost_sample *sample, const char *input) {
    struct sy_times *times = argument;
    struct sy_buffer key = {0};
    uint32_t found = times->count;
    put_key(sample, input, &key);
    int code = key.failed || !key.text ? -ENOMEM : 0;
    if (!code && sy_map_get(&times->index, key.text, key.length, &found)) {
        renew(&times->entries[found], sample);
        sy_buffer_finish(&key);
        return 0;
    }
    char *kept = code ? NULL : sy_arena_strndup(times->arena, key.text, key.length);
    if (!kept ||
        sy_grow(&times->entries, &times->capacity, times->count + 1, sizeof *times->entries)) {
        code = -ENOMEM;
    }
    code = code ? code : copy(times, sample, input, &times->entries[times->count]);
    code = code ? code : sy_map_put(&times->index, kept, key.length, times->count);
    times->count += code == 0;
    sy_buffer_finish(&key);
    return code;
}

static uint32_t find_names(const struct sy_times *times, const char **names) {
    uint32_t count = 2;
    names[0] = "flops";
    names[1] = "bytes";
    for (uint32_t e = 0; e < times->count; e++) {
        const struct sy_cost_sample *sample = &times->entries[e].sample;
        for (uint32_t i = 0; i < sample->cost_count && count < SY_SAMPLES_NAME_MAX; i++) {
            bool known = false;
            for (uint32_t n = 0; n < count; n++) {
                known |= strcmp(names[n], sample->cost_names[i]) == 0;
            }
            if (!known) {
                names[count++] = sample->cost_names[i];
            }
        }
    }
    return count;
}

static void write_from(const struct sy_times *times, uint32_t first, struct sy_buffer *buffer) {
    const char *names[SY_SAMPLES_NAME_MAX];
    uint32_t count = find_names(times, names);
    sy_samples_write(buffer, names, count, NULL, NULL);
    for (uint32_t e = first; e < times->count; e++) {
        sy_samples_write(buffer, names, count, &times->entries[e].sample, times->entries[e].input);
    }
}

void sy_times_write(const struct sy_times *times, struct sy_buffer *buffer) {
    write_from(times, 0, buffer);
}

int sy_times_teach(const struct sy_times *times, struct sy_estimator *estimator) {
    int code = 0;
    for (uint32_t e = 0; e < times->count && !code; e++) {
        code = sy_estimator_observe(estimator, &times->entries[e].sample);
    }
    return code;
}

/* --- the file of this machine -------------------------------------------------------------------
 */
int sy_times_path(const char *models, char *buffer, size_t size, struct sy_error *error) {
    char machine[64];
    sy_store_machine_name(machine, sizeof machine);
    return sy_store_place(models, machine, TIMES_END, buffer, size, error);
}

struct merging {
    struct sy_times *all;
    const struct sy_times *fresh;
};

/* What an older build of a kernel took is of no use once there is a newer one's. */
static int add_old(void *argument, const struct sy_cost_sample *sample, const char *input) {
    const struct merging *merging = argument;
    for (uint32_t e = 0; e < merging->fresh->count; e++) {
        const struct sy_cost_sample *fresh = &merging->fresh->entries[e].sample;
        if (strcmp(fresh->kernel, sample->kernel) == 0) {
            return fresh->build == sample->build ? sy_times_add(merging->all, sample, input) : 0;
        }
    }
    return sy_times_add(merging->all, sample, input);
}

/* What is there already; a file that cannot be understood is set aside. */
static int read_old(const struct merging *merging, const char *path, struct sy_error *error) {
    char bad[4096];
    int code = sy_samples_read_file(path, add_old, (void *)(uintptr_t)merging, error);
    if (code != -EINVAL) {
        return code == -ENOENT ? 0 : code;
    }
    snprintf(bad, sizeof bad, "%s.bad", path);
    return rename(path, bad) < 0 ? -errno : 0;
}

static int merge(const struct sy_times *times, const char *path, struct sy_error *error) {
    struct sy_times *all = sy_times_create();
    struct sy_buffer text = {0};
    int code = all ? read_old(&(struct merging){all, times}, path, error) : -ENOMEM;
    for (uint32_t e = 0; e < times->count && !code; e++) {
        code = sy_times_add(all, &times->entries[e].sample, times->entries[e].input);
    }
    if (!code) {
        write_from(all, all->count > SY_TIMES_MAX ? all->count - SY_TIMES_MAX : 0, &text);
        code = text.failed ? -ENOMEM : sy_write_file(path, text.text, text.length, error);
    }
    sy_buffer_finish(&text);
    sy_times_destroy(all);
    return code;
}

int sy_times_merge(const struct sy_times *times, const char *path, struct sy_error *error) {
    int fd = -1;
    struct sy_error why = {0};
    if (times->count == 0) {
        return 0;
    }
    int code = sy_store_lock(path, &fd, &why);
    code = code ? code : merge(times, path, &why);
    if (fd >= 0) {
        close(fd);
    }
    if (code) {
        return sy_fail_at(error, code, path, 0, 0, "what was learned cannot be saved: %s",
                          why.message[0] ? why.message : strerror(-code));
    }
    return 0;
}
