/* SPDX-License-Identifier: Apache-2.0
 *
 * text_options: what stands behind '@', "pcie4x16,streams=2,memory=80GB".
 *
 * Invariant: an option is given once, belongs to the kind of device it stands at, and its value is
 * checked where it stands.
 */
#include "topology/text.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

enum type { RATIO, SIZE, BANDWIDTH, TIME, COUNT, WATTS, NAME };

#define KIND(kind)   (1u << (kind))
#define ACCELERATORS (KIND(SY_GPU) | KIND(SY_FPGA) | KIND(SY_ASIC))

#define FIELD(name) offsetof(struct sy_text_part, name)

static const struct option {
    const char *name;
    enum type type;
    unsigned kinds;
    size_t field;
} options[] = {
    {"link", BANDWIDTH, ACCELERATORS, FIELD(link_bytes_per_s)},
    {"latency", TIME, ACCELERATORS, FIELD(latency_ns)},
    {"speed", RATIO, KIND(SY_CPU) | ACCELERATORS, FIELD(speed_ratio)},
    {"memory", SIZE, ACCELERATORS, FIELD(memory_bytes)},
    {"dram", BANDWIDTH, ACCELERATORS, FIELD(memory_bytes_per_s)},
    {"watts", WATTS, KIND(SY_CPU) | ACCELERATORS, FIELD(busy_watts)},
    {"bus", NAME, ACCELERATORS, FIELD(bus)},
    {"smt", COUNT, KIND(SY_CPU), FIELD(split)},
    {"streams", COUNT, KIND(SY_GPU) | KIND(SY_ASIC), FIELD(split)},
    {"regions", COUNT, KIND(SY_FPGA), FIELD(split)},
    {"port", BANDWIDTH, KIND(SY_FPGA), FIELD(port_bytes_per_s)},
    {"image", SIZE, KIND(SY_FPGA), FIELD(image_bytes)},
    {"init", TIME, KIND(SY_FPGA), FIELD(init_ns)},
};

static int shown(size_t length) {
    return length < 40 ? (int)length : 40;
}

static int fail_value(struct sy_text *text, const char *at, size_t length, const char *option,
                      const char *example) {
    sy_text_fail(text, at, "\"%.*s\" is not a value for %s", shown(length), at, option);
    return sy_hint(text->error, "%s", example);
}

static int parse_watts(struct sy_text *text, struct sy_text_part *part, const char *at,
                       size_t length) {
    const char *slash = memchr(at, '/', length);
    size_t busy_length = slash ? (size_t)(slash - at) : length;
    double busy, idle = 0;
    if (!sy_parse_double(at, busy_length, &busy) || !(busy >= 0 && busy <= SY_WATTS_MAX) ||
        (slash && (!sy_parse_double(slash + 1, length - busy_length - 1, &idle) || !(idle >= 0))) ||
        idle > busy) {
        return fail_value(text, at, length, "watts", "busy and idle watts, such as 250/40");
    }
    part->busy_watts = busy;
    part->idle_watts = idle;
    return 0;
}

static int parse_bus(struct sy_text *text, struct sy_text_part *part, const char *at,
                     size_t length) {
    if (length == 0 || length > 32 || memchr(at, '/', length)) {
        return fail_value(text, at, length, "bus", "a name of up to 32 letters and digits");
    }
    part->bus = at;
    part->bus_length = length;
    return 0;
}

static int parse_number(struct sy_text *text, const struct option *option, double *field,
                        const char *at, size_t length) {
    switch (option->type) {
    case RATIO:
        return sy_parse_double(at, length, field) && *field >= 1e-6 && *field <= 1e6
                   ? 0
                   : fail_value(text, at, length, option->name,
                                "how many times as fast as the reference, such as 1.5");
    case SIZE:
        return sy_text_size(at, length, field)
                   ? 0
                   : fail_value(text, at, length, option->name, "a size such as 16GB or 80GiB");
    case TIME:
        return sy_text_time(at, length, field)
                   ? 0
                   : fail_value(text, at, length, option->name, "a time such as 10us");
    default:
        return sy_text_bandwidth(text, at, length, field);
    }
}

static int parse_value(struct sy_text *text, struct sy_text_part *part, const struct option *option,
                       const char *at, size_t length) {
    void *field = (char *)part + option->field;
    switch (option->type) {
    case WATTS:
        return parse_watts(text, part, at, length);
    case NAME:
        return parse_bus(text, part, at, length);
    case COUNT:
        return sy_text_count(text, at, length, option->name, SY_TEXT_SPLIT_MAX, field);
    default:
        return parse_number(text, option, field, at, length);
    }
}

/* "pcie4x16" is a link by its usual name. */
static int parse_pcie(struct sy_text *text, struct sy_text_part *part, const char *at,
                      size_t length) {
    bool form = length >= 7 && isdigit((unsigned char)at[4]) && at[5] == 'x';
    uint64_t lanes = 0;
    form = form && sy_parse_u64(at + 6, length - 6, &lanes) && lanes >= 1 && lanes <= 32 &&
           (lanes & (lanes - 1)) == 0;
    double bytes_per_s = form ? sy_pcie_bytes_per_s((uint32_t)(at[4] - '0'), (uint32_t)lanes) : 0;
    if (!(bytes_per_s > 0)) {
        sy_text_fail(text, at, "\"%.*s\" is not a PCIe link", shown(length), at);
        return sy_hint(text->error,
                       "pcie, generation 1 to 6, x, lanes 1, 2, 4, 8, 16 or 32: pcie4x16");
    }
    part->link_bytes_per_s = bytes_per_s;
    return 0;
}

static int fail_name(struct sy_text *text, const struct sy_text_part *part, const char *at,
                     size_t length) {
    const char *known[SY_COUNT(options) + 1];
    size_t known_count = 0;
    char word[33];
    snprintf(word, sizeof word, "%.*s", length < 32 ? (int)length : 32, at);
    for (size_t i = 0; i < SY_COUNT(options); i++) {
        if (options[i].kinds & KIND(part->kind)) {
            known[known_count++] = options[i].name;
        }
    }
    if (part->kind != SY_CPU) {
        known[known_count++] = "pcie3x16";
    }
    sy_text_fail(text, at, "%s has no option \"%s\"", sy_device_kind_name(part->kind), word);
    const char *near = sy_nearest(word, known, known_count);
    if (near) {
        return sy_hint(text->error, "did you mean \"%s\"?", near);
    }
    char list[160] = "";
    for (size_t i = 0; i < known_count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known[i]);
    }
    return sy_hint(text->error, "known are %s", list);
}

static size_t find_option(const struct sy_text_part *part, const char *at, size_t length) {
    size_t i = 0;
    while (i < SY_COUNT(options) &&
           (!(options[i].kinds & KIND(part->kind)) || strlen(options[i].name) != length ||
            memcmp(options[i].name, at, length) != 0)) {
        i++;
    }
    return i;
}

static int parse_option(struct sy_text *text, struct sy_text_part *part, unsigned *seen) {
    const char *at = text->at;
    size_t length = sy_text_word(text, at);
    bool pcie = part->kind != SY_CPU && length >= 4 && memcmp(at, "pcie", 4) == 0;
    size_t i = pcie ? 0 : find_option(part, at, length); /* PCIe is another word for link= */
    if (i == SY_COUNT(options)) {
        return fail_name(text, part, at, length);
    }
    if (*seen & 1u << i) {
        return sy_text_fail(text, at, i == 0 ? "the link appears twice" : "%s appears twice",
                            options[i].name);
    }
    *seen |= 1u << i;
    text->at += length;
    if (pcie) {
        return parse_pcie(text, part, at, length);
    }
    if (text->at == text->end || *text->at != '=') {
        return sy_text_fail(text, text->at, "expected '=' behind \"%s\"", options[i].name);
    }
    const char *value = ++text->at;
    length = sy_text_word(text, value);
    text->at += length;
    return parse_value(text, part, &options[i], value, length);
}

static void set_defaults(struct sy_text_part *part) {
    part->speed_ratio = 1;
    part->memory_bytes = INFINITY;
    part->link_bytes_per_s = sy_pcie_bytes_per_s(3, 16);
    part->latency_ns = SY_DEFAULT_PCIE_LATENCY_NS;
    part->busy_watts = sy_default_busy_watts(part->kind);
    part->idle_watts = sy_default_idle_watts(part->kind);
    part->port_bytes_per_s = SY_DEFAULT_PORT_BYTES_PER_S;
    part->image_bytes = SY_DEFAULT_IMAGE_BYTES;
    part->init_ns = SY_DEFAULT_PORT_INIT_NS;
    part->split = 1;
}

int sy_text_options(struct sy_text *text, struct sy_text_part *part) {
    set_defaults(part);
    unsigned seen = 0;
    char lead = '@';
    while (text->at < text->end && *text->at == lead) {
        text->at++;
        int code = parse_option(text, part, &seen);
        if (code) {
            return code;
        }
        lead = ',';
    }
    return 0;
}
