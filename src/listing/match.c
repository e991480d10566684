/* SPDX-License-Identifier: Apache-2.0
 *
 * Which listing is this processor's: as perf's mapfile.csv and strcmp_cpuid_str match it.
 *
 * In: a processor's identity, or this one's. Out: the name of a listing. Invariant: a pattern must
 * cover the whole identity; x86's stepping may be left out of it.
 */
#include "listing/walk.h"
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define MIDR_VARIANT  0x00f00000u
#define MIDR_REVISION 0x0000000fu
#define ROW_MAX       512

/* --- who is it? ------------------------------------------------------------------------------- */
#if defined(__x86_64__) || defined(__i386__)
static int identify(struct sy_buffer *cpuid, struct sy_error *error) {
    unsigned a, b, c, d;
    char vendor[13] = "";
    if (!__get_cpuid(0, &a, &b, &c, &d)) {
        return sy_fail(error, -ENOENT, "this processor does not identify itself");
    }
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    if (!__get_cpuid(1, &a, &b, &c, &d)) {
        return sy_fail(error, -ENOENT, "this processor does not identify itself");
    }
    unsigned family = a >> 8 & 15, model = a >> 4 & 15;
    family += family == 15 ? a >> 20 & 255 : 0;
    model += family >= 6 ? (a >> 16 & 15) << 4 : 0;
    sy_buffer_printf(cpuid, "%s-%u-%X-%X", vendor, family, model, a & 15);
    return 0;
}
#else
/* The value behind "key : " in /proc/cpuinfo, up to the end of the line. */
static const char *find_value(const char *text, const char *key, size_t *ret_length) {
    const char *found = strstr(text, key);
    const char *colon = found ? strchr(found, ':') : NULL;
    if (!colon) {
        return NULL;
    }
    colon += 1 + strspn(colon + 1, " \t");
    *ret_length = strcspn(colon, "\n");
    return colon;
}

/* POWER: "revision : 2.2 (pvr 004e 1202)"; RISC-V: mvendorid, marchid, mimpid. */
static int identify_by_cpuinfo(const char *text, struct sy_buffer *cpuid) {
    const char *pvr = strstr(text, "(pvr ");
    unsigned high, low;
    if (pvr && sscanf(pvr, "(pvr %x %x)", &high, &low) == 2) {
        sy_buffer_printf(cpuid, "0x%04x%04x", high & 0xffff, low & 0xffff);
        return 0;
    }
    static const char *const keys[] = {"mvendorid", "marchid", "mimpid"};
    for (size_t i = 0; i < SY_COUNT(keys); i++) {
        size_t length;
        const char *value = find_value(text, keys[i], &length);
        if (!value) {
            return -ENOENT;
        }
        sy_buffer_printf(cpuid, "%s%.*s", i ? "-" : "", (int)length, value);
    }
    return 0;
}

static int identify(struct sy_buffer *cpuid, struct sy_error *error) {
    char *text;
    size_t length;
    if (sy_read_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", &text, &length,
                     error) == 0) {
        sy_buffer_append(cpuid, text, strcspn(text, "\n"));
        free(text);
        return 0;
    }
    int code = sy_read_file("/proc/cpuinfo", &text, &length, error);
    if (!code) {
        code = identify_by_cpuinfo(text, cpuid);
        free(text);
    }
    return code ? sy_fail(error, -ENOENT, "this processor does not identify itself") : 0;
}
#endif

/* --- does it match? --------------------------------------------------------------------------- */
static bool has_stepping(const char *cpuid) {
    uint32_t dashes = 0;
    for (; *cpuid; cpuid++) {
        dashes += *cpuid == '-';
    }
    return dashes == 3;
}

static bool matches_pattern(const char *pattern, const char *cpuid, bool x86) {
    regex_t regex;
    regmatch_t found;
    bool stepping_wanted = x86 && has_stepping(pattern);
    bool stepping_given = x86 && has_stepping(cpuid);
    if ((stepping_wanted && !stepping_given) || regcomp(&regex, pattern, REG_EXTENDED)) {
        return false;
    }
    bool match = regexec(&regex, cpuid, 1, &found, 0) == 0;
    regfree(&regex);
    size_t wanted = strlen(cpuid);
    if (stepping_given && !stepping_wanted) {
        wanted = (size_t)(strrchr(cpuid, '-') - cpuid);
    }
    return match && (size_t)(found.rm_eo - found.rm_so) == wanted;
}

/* Arm: the same part, and not an older revision than the row's. */
static bool matches_midr(const char *row, const char *cpuid) {
    uint64_t listed, own;
    if (strlen(cpuid) != 18 || !sy_parse_value(row, strlen(row), &listed) ||
        !sy_parse_value(cpuid, 18, &own)) {
        return false;
    }
    const uint64_t version = MIDR_VARIANT | MIDR_REVISION;
    return (listed & ~version) == (own & ~version) && (own & version) >= (listed & version);
}

static bool matches(const char *name, const char *pattern, const char *cpuid) {
    if (strncmp(name, "arm64/", 6) == 0) {
        return matches_midr(pattern, cpuid);
    }
    return matches_pattern(pattern, cpuid, strncmp(name, "x86/", 4) == 0);
}

/* The first row of a map (pattern, tab, name) that fits. */
static bool search_map(const char *text, const char *cpuid, struct sy_buffer *ret_name) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *tab = memchr(text, '\t', length);
        char pattern[ROW_MAX], name[ROW_MAX];
        if (tab && length < ROW_MAX) {
            snprintf(pattern, sizeof pattern, "%.*s", (int)(tab - text), text);
            snprintf(name, sizeof name, "%.*s", (int)(text + length - tab - 1), tab + 1);
            if (matches(name, pattern, cpuid)) {
                sy_buffer_printf(ret_name, "%s", name);
                return true;
            }
        }
        text += length + (text[length] != '\0');
    }
    return false;
}

static int search_maps(const char *folder, const char *cpuid, struct sy_arena *arena,
                       struct sy_buffer *ret_name, struct sy_error *error) {
    struct sy_name_list maps = {0};
    int code = sy_listing_folder(folder, arena, &folder, error);
    code = code ? code : sy_folder_files(folder, "/" SY_LISTING_MAP, 1, arena, &maps, error);
    bool found = false;
    for (uint32_t i = 0; i < maps.count && !code && !found; i++) {
        char *text = NULL;
        size_t length;
        const char *path = sy_join(arena, folder, maps.names[i]);
        code = path ? sy_read_file(path, &text, &length, error) : sy_out_of_memory(error);
        found = !code && search_map(text, cpuid, ret_name);
        free(text);
    }
    sy_name_list_finish(&maps);
    if (!code && !found) {
        code = sy_fail(error, -ENOENT, "no listing is known for the processor %.100s", cpuid);
        sy_hint(error, "'symph counters listing' lists them");
    }
    return code;
}

int sy_listing_match(const char *folder, const char *cpuid, struct sy_buffer *ret_name,
                     struct sy_error *error) {
    struct sy_buffer own = {0}, name = {0};
    struct sy_arena *arena = sy_arena_create();
    int code = arena ? 0 : sy_out_of_memory(error);
    if (!code && !cpuid) {
        code = identify(&own, error);
        cpuid = own.text;
    }
    if (!code && own.failed) {
        code = sy_out_of_memory(error);
    }
    code = code ? code : search_maps(folder, cpuid, arena, &name, error);
    if (!code && name.failed) {
        code = sy_out_of_memory(error);
    }
    if (code) {
        sy_buffer_finish(&name);
    } else {
        *ret_name = name;
    }
    sy_buffer_finish(&own);
    sy_arena_destroy(arena);
    return code;
}
