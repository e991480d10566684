/* SPDX-License-Identifier: Apache-2.0
 *
 * open: which of the readers is meant.
 *
 * In: what a person wrote for --machine, or a path. Out: a machine. Files are told apart by what is
 * in them, so that a wrong suffix does no harm; only the recorded CSV pairs go by name.
 */
#include "topology/topology.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far beyond any machine of 4,096 devices; keeps a wrong path from eating the memory. */
#define FILE_MAX ((size_t)64 << 20)
#define DRAM     " dram:"

static bool ends_with(const char *text, const char *suffix) {
    size_t length = strlen(text), suffix_length = strlen(suffix);
    return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

/* "dir/mirage.bus.csv" -> "mirage"; plain characters, since it goes into JSON and traces. */
static char *stem_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strchr(name[0] ? name + 1 : name, '.');
    char *stem = strndup(name, dot ? (size_t)(dot - name) : strlen(name));
    for (char *c = stem; c && *c; c++) {
        *c = *c > ' ' && *c < 0x7f ? *c : '_';
    }
    return stem;
}

static char first_of(const char *text) {
    return text[strspn(text, " \t\r\n")];
}

static void add_file(struct sy_error *error, const char *path) {
    if (error && !error->file[0]) {
        snprintf(error->file, sizeof error->file, "%s", path);
    }
}

static int read_text(const char *path, const char *text, size_t length, bool csv,
                     double dram_bytes_per_s, struct sy_machine **ret_machine,
                     struct sy_error *error) {
    char *name = stem_of(path);
    if (!name) {
        return sy_out_of_memory(error);
    }
    int code;
    char first = first_of(text);
    if (length > FILE_MAX) {
        code = sy_fail_at(error, -E2BIG, path, 0, 0, "too large to describe a machine");
    } else if (csv) {
        code =
            sy_machine_read_bus_csv(path, name, text, length, dram_bytes_per_s, ret_machine, error);
    } else if (first == '{') {
        code = sy_machine_read_json(path, text, length, ret_machine, error);
    } else if (first == '<') {
        code = sy_machine_read_xml(path, name, text, length, ret_machine, error);
    } else if (ends_with(path, ".json") || ends_with(path, ".xml")) {
        code = sy_fail_at(error, -EINVAL, path, 1, 1, "not a machine: neither JSON nor XML");
    } else {
        code = sy_machine_read_line(path, name, text, length, ret_machine, error);
    }
    if (code) {
        add_file(error, path);
    }
    free(name);
    return code;
}

static int read_path(const char *path, bool csv, double dram_bytes_per_s,
                     struct sy_machine **ret_machine, struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : read_text(path, text, length, csv, dram_bytes_per_s, ret_machine, error);
    free(text);
    return code;
}

/* dram_bytes_per_s: of a recorded machine; 0: as its file says. */
static int read_file(const char *path, double dram_bytes_per_s, struct sy_machine **ret_machine,
                     struct sy_error *error) {
    struct sy_buffer bus = {0}, kernels = {0};
    int code;
    if (!sy_machine_csv_pair(path, &bus, &kernels)) {
        code = read_path(path, ends_with(path, ".csv"), dram_bytes_per_s, ret_machine, error);
    } else if (bus.failed || kernels.failed) {
        code = sy_out_of_memory(error);
    } else if (access(bus.text, R_OK) != 0) {
        code = sy_fail_at(error, -errno, bus.text, 0, 0, "cannot read: %s", strerror(errno));
        sy_hint(error,
                "the bus file of a recorded machine must be in the same folder as its kernels");
    } else {
        code = read_path(bus.text, true, dram_bytes_per_s, ret_machine, error);
    }
    sy_buffer_finish(&bus);
    sy_buffer_finish(&kernels);
    return code;
}

int sy_machine_read_file(const char *path, struct sy_machine **ret_machine,
                         struct sy_error *error) {
    return read_file(path, 0, ret_machine, error);
}

/* "X.bus.csv dram:60GB/s": where the path of a recorded machine ends; NULL: it is none. */
static const char *find_dram(const char *spec) {
    const char *found = NULL;
    for (const char *at = spec; (at = strstr(at, DRAM)); at++) {
        bool recorded = at - spec > 4 && memcmp(at - 4, ".csv", 4) == 0;
        found = recorded ? at : found;
    }
    return found;
}

static int read_with_dram(const char *spec, const char *dram, struct sy_machine **ret_machine,
                          struct sy_error *error) {
    const char *rate = dram + strlen(DRAM);
    double bytes_per_s;
    if (!sy_parse_bandwidth(rate, strlen(rate), &bytes_per_s) || !(bytes_per_s > 0)) {
        sy_fail(error, -EINVAL, "behind dram: there is no bandwidth, but '%.40s'", rate);
        return sy_hint(error, "for example X.bus.csv dram:60GB/s");
    }
    char *path = strndup(spec, (size_t)(dram - spec));
    int code = path ? read_file(path, bytes_per_s, ret_machine, error) : sy_out_of_memory(error);
    free(path);
    return code;
}

static bool looks_like_path(const char *spec) {
    static const char *const suffixes[] = {".json", ".xml", ".csv"};
    for (size_t i = 0; i < SY_COUNT(suffixes); i++) {
        if (ends_with(spec, suffixes[i])) {
            return true;
        }
    }
    /* "40GB/s" has a slash too, but no path has a colon or a parenthesis in front of it. */
    const char *slash = strchr(spec, '/');
    return slash && strcspn(spec, ":(") > (size_t)(slash - spec);
}

int sy_machine_open(const char *spec, struct sy_machine **ret_machine, struct sy_error *error) {
    if (strcmp(spec, "here") == 0) {
        return sy_machine_detect(ret_machine, error);
    }
    if (spec[0] && access(spec, F_OK) == 0) {
        return sy_machine_read_file(spec, ret_machine, error);
    }
    const char *dram = find_dram(spec);
    if (dram) {
        return read_with_dram(spec, dram, ret_machine, error);
    }
    if (looks_like_path(spec)) {
        sy_fail_at(error, -ENOENT, spec, 0, 0, "no such file");
        sy_hint(error, "a machine is \"here\", a file, or a line such as \"cpu:8 gpu:1\"");
        return -ENOENT;
    }
    int code = sy_machine_parse(spec, ret_machine, error);
    if (code == -EINVAL && error->column == 1 && spec[0] && !strpbrk(spec, ": ")) {
        sy_fail(error, code, "neither a file nor the description of a machine");
        sy_hint(error, "a machine is \"here\", a file, or a line such as \"cpu:8 gpu:1\"");
    }
    return code;
}
