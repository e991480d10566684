/* SPDX-License-Identifier: Apache-2.0
 *
 * What one control group uses: CPU time, how often it was throttled, memory, disk, pressure.
 *
 * In: the group asked for, or the one we are in; versions 1 and 2 of control groups, also mixed.
 * Out: counters of scope group. In a container that shows its own group as the root, that is what
 * is read.
 */
#include "counters/psi.h"
#include <errno.h>
#include <string.h>

enum { CPU, THROTTLED, MEMORY, IO, PART_COUNT };

struct part {
    struct sy_file file;
    uint32_t counter, second; /* second: bytes written, where counter is bytes read */
    const char *key;          /* NULL: the file is one number */
};

struct group {
    struct part parts[PART_COUNT];
    struct sy_pressure pressures[SY_PRESSURE_COUNT];
    double cpu_ns, ns;
};

/* Where each part is found, newest first. */
static const struct place {
    uint32_t part;
    const char *controller; /* of version 1; NULL: version 2 */
    const char *file, *key;
    double scale;
} places[] = {{CPU, NULL, "cpu.stat", "usage_usec", 1e-6},
              {CPU, "cpuacct", "cpuacct.usage", NULL, 1e-9},
              {THROTTLED, NULL, "cpu.stat", "throttled_usec", 1e-6},
              {THROTTLED, "cpu", "cpu.stat", "throttled_time", 1e-9},
              {MEMORY, NULL, "memory.current", NULL, 1},
              {MEMORY, "memory", "memory.usage_in_bytes", NULL, 1},
              {IO, NULL, "io.stat", NULL, 1},
              {IO, "blkio", "blkio.throttle.io_service_bytes", NULL, 1}};

static const struct {
    const char *event;
    enum sy_counter_kind kind;
    const char *unit;
} what[PART_COUNT] = {[CPU] = {"cpu_used", SY_COUNTER_RATE, "cpus"},
                      [THROTTLED] = {"throttled", SY_COUNTER_RATE, "s/s"},
                      [MEMORY] = {"memory_bytes", SY_COUNTER_LEVEL, "B"},
                      [IO] = {"disk_read", SY_COUNTER_RATE, "B/s"}};

/* True if word is among the comma-separated words of list, which ends at a blank or a colon. */
static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; *at && !strchr(" :\n", *at);) {
        size_t here = strcspn(at, ", :\n");
        if (here == length && memcmp(at, word, length) == 0) {
            return true;
        }
        at += here + (at[here] == ',');
    }
    return false;
}

/* Where the hierarchy is mounted: a line "x PATH cgroup2 ..." or "x PATH cgroup rw,memory". */
static bool find_mount(struct sy_sources *sources, const char *controller, char *ret_path) {
    if (sy_file_text(sources, "/proc/self/mounts") <= 0) {
        return false;
    }
    for (const char *line = sources->buffer; line && *line;) {
        const char *path = strchr(line, ' ');
        const char *type = path ? strchr(path + 1, ' ') : NULL;
        const char *how = type ? strchr(type + 1, ' ') : NULL;
        if (how && (size_t)(type - path) < SY_PATH_MAX) {
            bool found = controller
                             ? strncmp(type, " cgroup ", 8) == 0 && has_word(how + 1, controller)
                             : strncmp(type, " cgroup2 ", 9) == 0;
            if (found) {
                snprintf(ret_path, SY_PATH_MAX, "%.*s", (int)(type - path - 1), path + 1);
                return true;
            }
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return false;
}

/* Our group: a line "0::/path" or "4:memory:/path". */
static void find_own(struct sy_sources *sources, const char *controller, char *ret_path) {
    strcpy(ret_path, "/");
    if (sy_file_text(sources, "/proc/self/cgroup") <= 0) {
        return;
    }
    for (const char *line = sources->buffer; line && *line;) {
        const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (path) {
            bool found = controller ? has_word(list + 1, controller) : path == list + 1;
            size_t length = strcspn(path + 1, "\n");
            if (found && length < SY_PATH_MAX) {
                snprintf(ret_path, SY_PATH_MAX, "%.*s", (int)length, path + 1);
                return;
            }
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

/* The folder of the group in that hierarchy, without a slash at its end. False: there is none. */
static bool find_folder(struct sy_sources *sources, const char *controller, char *ret_path) {
    const char *group = sources->options.group;
    char mount[SY_PATH_MAX], own[SY_PATH_MAX];
    if (!find_mount(sources, controller, mount)) {
        return false;
    }
    bool named = group != NULL;
    if (named) {
        size_t length = strlen(mount);
        group += strncmp(group, mount, length) == 0 && group[length] == '/' ? length : 0;
        snprintf(own, sizeof own, "/%s", group + strspn(group, "/"));
    } else {
        find_own(sources, controller, own);
    }
    if (strlen(mount) + strlen(own) >= SY_PATH_MAX) {
        return false;
    }
    strcpy(ret_path, mount);
    strcat(ret_path, strcmp(own, "/") == 0 ? "" : own);
    if (!sy_file_exists(sources, ret_path)) {
        if (named) {
            return false;
        }
        strcpy(ret_path, mount); /* a container sees its own group as the root */
    }
    return true;
}

static uint32_t add(struct sy_sources *sources, const char *event, enum sy_counter_kind kind,
                    const char *unit, double scale) {
    struct sy_counter counter = {.name = sy_text(sources, "cgroup.%s", event),
                                 .source = "cgroup",
                                 .event = event,
                                 .kind = kind,
                                 .unit = unit,
                                 .scope = SY_SCOPE_GROUP,
                                 .noise_ratio = 0.01,
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, &(struct sy_track){.scale = scale});
}

static void open_part(struct sy_sources *sources, struct group *group, const struct place *place) {
    struct part *part = &group->parts[place->part];
    char folder[SY_PATH_MAX], path[SY_PATH_MAX + 64];
    uint64_t value;
    if (part->file.path || !find_folder(sources, place->controller, folder)) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", folder, place->file);
    if (sy_file_open(sources, path, &part->file)) {
        return;
    }
    if (place->key && !sy_scan_key(sources->buffer, place->key, &value)) {
        sy_file_close(&part->file);
        part->file.path = NULL;
        return;
    }
    uint32_t i = place->part;
    part->key = place->key;
    part->counter = add(sources, what[i].event, what[i].kind, what[i].unit, place->scale);
    part->second = i == IO ? add(sources, "disk_write", SY_COUNTER_RATE, "B/s", 1) : SY_NONE;
}

static void open_pressures(struct sy_sources *sources, struct group *group) {
    char folder[SY_PATH_MAX], path[SY_PATH_MAX + 64];
    if (!find_folder(sources, NULL, folder)) {
        return;
    }
    for (uint32_t i = 0; i < SY_PRESSURE_COUNT; i++) {
        snprintf(path, sizeof path, "%s/%s.pressure", folder, sy_pressure_name(i));
        (void)!sy_pressure_open(sources, "cgroup", "cgroup", SY_SCOPE_GROUP, sy_pressure_name(i),
                                path, &group->pressures[i]);
    }
}

static int cgroup_open(struct sy_sources *sources, void **ret_state) {
    struct group *group = sy_memory(sources, 1, sizeof *group);
    if (!group) {
        return -ENOMEM;
    }
    group->cpu_ns = group->ns = NAN;
    *ret_state = group;
    if (sources->options.process) { /* who asks for a process does not ask for a group */
        return 0;
    }
    uint32_t before = sources->counter_count;
    for (size_t i = 0; i < SY_COUNT(places); i++) {
        open_part(sources, group, &places[i]);
    }
    open_pressures(sources, group);
    if (sources->counter_count == before) {
        const char *named = sources->options.group;
        sy_add_gap(sources, "cgroup",
                   named ? sy_text(sources, "control group '%s'", named) : "our control group",
                   "no hierarchy of control groups that shows it is mounted",
                   named ? "name a folder below /sys/fs/cgroup"
                         : "mount -t cgroup2 none /sys/fs/cgroup");
    }
    return 0;
}

/* Version 2: "8:0 rbytes=1 wbytes=2 ..."; version 1: "8:0 Read 1" and "8:0 Write 2". */
static uint64_t sum_bytes(const char *text, const char *new_key, const char *old_key) {
    uint64_t sum = 0, value;
    for (const char *at = text; (at = strstr(at, new_key));) {
        at += strlen(new_key);
        sum += sy_scan_u64(&at, &value) ? value : 0;
    }
    for (const char *at = text; (at = strstr(at, old_key));) {
        at += strlen(old_key);
        sum += sy_scan_u64(&at, &value) ? value : 0;
    }
    return sum;
}

static void read_part(struct sy_sources *sources, struct part *part, uint32_t index) {
    uint64_t value;
    const char *at = sources->buffer;
    if (!part->file.path) {
        return;
    }
    if (sy_file_read(sources, &part->file) < 0) {
        sy_forget_total(sources, part->counter);
        sy_forget_total(sources, part->second);
        return;
    }
    if (index == IO) {
        sy_put_total(sources, part->counter, sum_bytes(at, " rbytes=", " Read "));
        sy_put_total(sources, part->second, sum_bytes(at, " wbytes=", " Write "));
    } else if (part->key ? sy_scan_key(at, part->key, &value) : sy_scan_u64(&at, &value)) {
        if (index == MEMORY) {
            sy_put_level(sources, part->counter, (double)value, 0);
        } else {
            sy_put_total(sources, part->counter, value);
        }
    }
}

static void cgroup_read(struct sy_sources *sources, void *state) {
    struct group *group = state;
    if (sy_is_due(sources, &group->cpu_ns, SY_OFTEN_NS)) {
        read_part(sources, &group->parts[CPU], CPU);
    }
    if (!sy_is_due(sources, &group->ns, SY_SELDOM_NS)) {
        return;
    }
    for (uint32_t i = THROTTLED; i < PART_COUNT; i++) {
        read_part(sources, &group->parts[i], i);
    }
    for (uint32_t i = 0; i < SY_PRESSURE_COUNT; i++) {
        sy_pressure_read(sources, &group->pressures[i]);
    }
}

static void cgroup_close(struct sy_sources *sources, void *state) {
    struct group *group = state;
    (void)sources;
    for (uint32_t i = 0; i < PART_COUNT; i++) {
        sy_file_close(&group->parts[i].file);
    }
    for (uint32_t i = 0; i < SY_PRESSURE_COUNT; i++) {
        sy_file_close(&group->pressures[i].file);
    }
}

const struct sy_provider sy_provider_cgroup = {
    .name = "cgroup", .open = cgroup_open, .read = cgroup_read, .close = cgroup_close};
