/* SPDX-License-Identifier: Apache-2.0
 *
 * PMUs as the kernel describes them, and the encoding of events by that description.
 *
 * In: /sys/bus/event_source/devices/<pmu>/{type,cpumask,format,events}. Out: the fields of
 * perf_event_attr. Invariant: a term that the device does not know, or a value that does not fit
 * its bits, is refused: a wrong event counts something else.
 */
#include "counters/perf.h"
#include <errno.h>
#include <string.h>

#define DEVICES      "/sys/bus/event_source/devices"
#define CONFIG_COUNT 3
#define TERM_MAX     64

static uint32_t read_cpus(struct sy_sources *sources, const char *device, const char *file,
                          const uint32_t **ret_cpus) {
    bool marked[SY_CPU_MAX] = {false};
    char path[SY_PATH_MAX];
    snprintf(path, sizeof path, DEVICES "/%s/%s", device, file);
    if (sy_file_text(sources, path) <= 0) {
        return 0;
    }
    uint32_t count = sy_scan_cpus(sources->buffer, marked), next = 0;
    uint32_t *cpus = sy_memory(sources, count, sizeof *cpus);
    for (uint32_t i = 0; cpus && i < SY_CPU_MAX; i++) {
        if (marked[i]) {
            cpus[next++] = i;
        }
    }
    *ret_cpus = cpus;
    return next;
}

int sy_perf_device_open(struct sy_sources *sources, const char *name,
                        struct sy_perf_device *ret_device) {
    char path[SY_PATH_MAX];
    snprintf(path, sizeof path, DEVICES "/%s/type", name);
    double type = sy_file_number(sources, path);
    if (!(type >= 0 && type < UINT32_MAX)) {
        return -ENOENT;
    }
    struct sy_perf_device device = {.name = sy_text(sources, "%s", name), .type = (uint32_t)type};
    device.cpu_count = read_cpus(sources, name, "cpumask", &device.cpus);
    if (device.cpu_count == 0) {
        device.cpu_count = read_cpus(sources, name, "cpus", &device.cpus);
    }
    *ret_device = device;
    return 0;
}

/* "8-15" or "18". */
static bool scan_range(const char **at, uint64_t *ret_first, uint64_t *ret_last) {
    if (!sy_scan_u64(at, ret_first)) {
        return false;
    }
    *ret_last = *ret_first;
    if (**at == '-') {
        (*at)++;
        if (!sy_scan_u64(at, ret_last)) {
            return false;
        }
    }
    return *ret_last <= 63 && *ret_first <= *ret_last;
}

int sy_perf_place_bits(const char *format, uint64_t value, uint64_t *configs,
                       uint32_t config_count) {
    uint64_t word = 0, first, last;
    if (strncmp(format, "config", 6) != 0) {
        return -EINVAL;
    }
    const char *at = format + 6;
    if (*at != ':' && (!sy_scan_u64(&at, &word) || word >= config_count || *at != ':')) {
        return -EINVAL;
    }
    do {
        at++; /* the colon, or a comma */
        if (!scan_range(&at, &first, &last)) {
            return -EINVAL;
        }
        uint64_t width = last - first + 1, mask = width == 64 ? ~0ULL : (1ULL << width) - 1;
        configs[word] = (configs[word] & ~(mask << first)) | ((value & mask) << first);
        value = width == 64 ? 0 : value >> width;
    } while (*at == ',');
    return value ? -EINVAL : 0;
}

/* Decimal, or hexadecimal with 0x. */
static bool scan_value(const char *text, size_t length, uint64_t *ret_value) {
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        uint64_t value = 0;
        for (size_t i = 2; i < length; i++) {
            char c = text[i] | 0x20;
            int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
            if (digit < 0 || value >> 60) {
                return false;
            }
            value = value << 4 | (uint64_t)digit;
        }
        *ret_value = value;
        return true;
    }
    return sy_parse_u64(text, length, ret_value);
}

/* Terms that perf itself explains; -ENOENT: not one of them. */
static int place_known(const char *term, uint64_t value, uint64_t *configs) {
    static const char *const words[CONFIG_COUNT] = {"config", "config1", "config2"};
    static const char *const unimportant[] = {"period", "freq", "name", "percore", "metric-id"};
    uint32_t i = sy_index_of(term, words, CONFIG_COUNT, sizeof *words);
    if (i != SY_NONE) {
        configs[i] = value;
        return 0;
    }
    bool known = sy_index_of(term, unimportant, SY_COUNT(unimportant), sizeof *words) != SY_NONE;
    return known ? 0 : -ENOENT;
}

static int place_term(struct sy_sources *sources, const struct sy_perf_device *device,
                      const char *term, uint64_t value, uint64_t *configs) {
    char path[SY_PATH_MAX];
    int code = place_known(term, value, configs);
    if (code != -ENOENT) {
        return code;
    }
    snprintf(path, sizeof path, DEVICES "/%s/format/%s", device->name, term);
    if (strchr(term, '/') || sy_file_text(sources, path) <= 0) {
        return -EINVAL;
    }
    return sy_perf_place_bits(sources->buffer, value, configs, CONFIG_COUNT);
}

int sy_perf_encode(struct sy_sources *sources, const struct sy_perf_device *device,
                   const char *terms, struct perf_event_attr *ret_attributes) {
    uint64_t configs[CONFIG_COUNT] = {0};
    for (const char *at = terms; *at;) {
        size_t length = strcspn(at, ",\n"), key = strcspn(at, ",=\n");
        char term[TERM_MAX];
        uint64_t value = 1;
        if (length && (key >= sizeof term ||
                       (key < length && !scan_value(at + key + 1, length - key - 1, &value)))) {
            return -EINVAL;
        }
        if (length) {
            memcpy(term, at, key);
            term[key] = '\0';
            int code = place_term(sources, device, term, value, configs);
            if (code) {
                return code;
            }
        }
        at += length + (at[length] != '\0');
    }
    *ret_attributes = (struct perf_event_attr){.type = device->type,
                                               .size = sizeof *ret_attributes,
                                               .config = configs[0],
                                               .config1 = configs[1],
                                               .config2 = configs[2]};
    return 0;
}

int sy_perf_alias(struct sy_sources *sources, const struct sy_perf_device *device,
                  const char *event, struct perf_event_attr *ret_attributes, double *ret_scale,
                  const char **ret_unit) {
    char path[SY_PATH_MAX];
    snprintf(path, sizeof path, DEVICES "/%s/events/%s", device->name, event);
    if (sy_file_text(sources, path) <= 0) {
        return -ENOENT;
    }
    const char *terms = sy_text(sources, "%s", sources->buffer);
    int code = sy_perf_encode(sources, device, terms, ret_attributes);
    if (code) {
        return code;
    }
    snprintf(path, sizeof path, DEVICES "/%s/events/%s.scale", device->name, event);
    double scale = sy_file_number(sources, path);
    *ret_scale = isnan(scale) ? 1 : scale;
    snprintf(path, sizeof path, DEVICES "/%s/events/%s.unit", device->name, event);
    bool has_unit = sy_file_text(sources, path) > 0;
    *ret_unit = has_unit
                    ? sy_text(sources, "%.*s", (int)strcspn(sources->buffer, "\n"), sources->buffer)
                    : "";
    return 0;
}
