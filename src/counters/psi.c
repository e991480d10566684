/* SPDX-License-Identifier: Apache-2.0
 *
 * Pressure stall information: the share of time in which somebody waited for a CPU, for memory or
 * for the disk. Of the machine; cgroup.c reads the same files of a group.
 */
#include "counters/psi.h"
#include <errno.h>
#include <string.h>

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" and, for some, a line "full". */
static bool find_total(const char *text, const char *line, uint64_t *ret_total) {
    const char *at = strstr(text, line);
    at = at ? strstr(at, "total=") : NULL;
    if (!at) {
        return false;
    }
    at += strlen("total=");
    return sy_scan_u64(&at, ret_total);
}

static uint32_t add(struct sy_sources *sources, const char *source, const char *prefix,
                    enum sy_scope scope, const char *what, const char *how) {
    struct sy_counter counter = {.name = sy_text(sources, "%s.%s_%s", prefix, what, how),
                                 .source = source,
                                 .event = sy_text(sources, "%s_%s", what, how),
                                 .kind = SY_COUNTER_SHARE,
                                 .unit = "",
                                 .scope = scope,
                                 .noise_ratio = 0.02,
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, &(struct sy_track){.scale = 1e-6});
}

int sy_pressure_open(struct sy_sources *sources, const char *source, const char *prefix,
                     enum sy_scope scope, const char *what, const char *path,
                     struct sy_pressure *ret_pressure) {
    struct sy_pressure pressure = {.some = SY_NONE, .full = SY_NONE};
    uint64_t total;
    int code = sy_file_open(sources, path, &pressure.file);
    if (code) {
        return code;
    }
    if (!find_total(sources->buffer, "some", &total)) {
        sy_file_close(&pressure.file);
        return -EINVAL;
    }
    bool has_full = find_total(sources->buffer, "full", &total) && strcmp(what, "cpu") != 0;
    pressure.some = add(sources, source, prefix, scope, what, "some");
    pressure.full = has_full ? add(sources, source, prefix, scope, what, "full") : SY_NONE;
    *ret_pressure = pressure;
    return 0;
}

void sy_pressure_read(struct sy_sources *sources, struct sy_pressure *pressure) {
    uint64_t total;
    if (!pressure->file.path) {
        return;
    }
    if (sy_file_read(sources, &pressure->file) <= 0) {
        sy_forget_total(sources, pressure->some);
        sy_forget_total(sources, pressure->full);
        return;
    }
    if (find_total(sources->buffer, "some", &total)) {
        sy_put_total(sources, pressure->some, total);
    }
    if (find_total(sources->buffer, "full", &total)) {
        sy_put_total(sources, pressure->full, total);
    }
}

static const char *const whats[SY_PRESSURE_COUNT] = {"cpu", "memory", "io"};

const char *sy_pressure_name(uint32_t index) {
    return whats[index];
}

/* The three files cost 10 us. */
struct psi {
    struct sy_pressure pressures[SY_PRESSURE_COUNT];
    double ns;
};

static int psi_open(struct sy_sources *sources, void **ret_state) {
    struct psi *state = sy_memory(sources, 1, sizeof *state);
    int worst = 0;
    if (!state) {
        return -ENOMEM;
    }
    state->ns = NAN;
    for (uint32_t i = 0; i < SY_PRESSURE_COUNT; i++) {
        char path[SY_PATH_MAX];
        snprintf(path, sizeof path, "/proc/pressure/%s", whats[i]);
        int code = sy_pressure_open(sources, "psi", "psi", SY_SCOPE_MACHINE, whats[i], path,
                                    &state->pressures[i]);
        worst = code ? code : worst;
    }
    if (worst) {
        bool off = worst == -ENOENT || worst == -EOPNOTSUPP;
        sy_add_gap(sources, "psi", "pressure of cpu, memory and io (/proc/pressure)",
                   off ? "the kernel was built or started without it" : sy_reason(worst),
                   off ? "boot with psi=1 (kernel with CONFIG_PSI)" : "");
    }
    *ret_state = state;
    return 0;
}

static void psi_read(struct sy_sources *sources, void *state) {
    struct psi *psi = state;
    if (!sy_is_due(sources, &psi->ns, SY_OFTEN_NS)) {
        return;
    }
    for (uint32_t i = 0; i < SY_PRESSURE_COUNT; i++) {
        sy_pressure_read(sources, &psi->pressures[i]);
    }
}

static void psi_close(struct sy_sources *sources, void *state) {
    (void)sources;
    struct psi *psi = state;
    for (uint32_t i = 0; i < SY_PRESSURE_COUNT; i++) {
        sy_file_close(&psi->pressures[i].file);
    }
}

const struct sy_provider sy_provider_psi = {
    .name = "psi", .open = psi_open, .read = psi_read, .close = psi_close};
