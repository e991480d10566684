/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy since a moment, as far as this machine lets us read it.
 *
 * In: RAPL's meters and NVML's, by the same code as the providers. Out: joules, and what they
 * cover. What cannot be read is left out of the name.
 */
#include "counters/nvml.h"
#include "counters/rapl.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GPU_MAX 16

struct sy_energy {
    struct sy_sources *sources; /* without providers: files and perf only */
    struct sy_rapl rapl;
    const char *event; /* the one that is counted: packages, or else the platform */
    uint64_t start[SY_RAPL_MAX];
    bool valid[SY_RAPL_MAX];
    struct sy_nvml nvml;
    void *gpus[GPU_MAX];
    unsigned long long gpu_start_mj[GPU_MAX];
    bool gpu_valid[GPU_MAX];
    uint32_t gpu_count;
    char source[96];
};

static bool is_counted(const struct sy_energy *energy, uint32_t meter) {
    return energy->event && strcmp(energy->rapl.meters[meter].event, energy->event) == 0;
}

/* Packages; where only the platform is metered, that. */
static void choose_event(struct sy_energy *energy) {
    static const char *const events[] = {"energy-pkg", "energy-psys"};
    for (size_t i = 0; i < SY_COUNT(events) && !energy->event; i++) {
        for (uint32_t j = 0; j < energy->rapl.count; j++) {
            if (strcmp(energy->rapl.meters[j].event, events[i]) == 0) {
                energy->event = events[i];
            }
        }
    }
}

static void open_gpus(struct sy_energy *energy, const char *const *gpus, uint32_t gpu_count) {
    const char *library = energy->sources->calls.nvml, *reason, *remedy;
    if (!gpu_count || !library || sy_nvml_open(library, &energy->nvml, &reason, &remedy)) {
        return;
    }
    for (uint32_t i = 0; i < gpu_count && energy->gpu_count < GPU_MAX; i++) {
        unsigned long long millijoules;
        void **device = &energy->gpus[energy->gpu_count];
        if (energy->nvml.energy_mj && energy->nvml.device_by_bus(gpus[i], device) == SY_NVML_OK &&
            energy->nvml.energy_mj(*device, &millijoules) == SY_NVML_OK) {
            energy->gpu_count++;
        }
    }
}

static void name_source(struct sy_energy *energy) {
    bool platform = energy->event && strcmp(energy->event, "energy-psys") == 0;
    const char *host = !energy->event ? "" : platform ? "RAPL platform" : "RAPL packages";
    bool perf = energy->event && energy->rapl.by_perf;
    snprintf(energy->source, sizeof energy->source, "%s%s%s%s", host, perf ? " (perf)" : "",
             energy->event && energy->gpu_count ? " + " : "", energy->gpu_count ? "NVML" : "");
}

int sy_energy_open(const char *const *gpus, uint32_t gpu_count, struct sy_energy **ret_energy) {
    const struct sy_sources_options options = {0};
    const struct sy_calls calls = sy_calls_real(NULL);
    struct sy_energy *energy = calloc(1, sizeof *energy);
    struct sy_sources *sources = energy ? sy_sources_create(&options, &calls) : NULL;
    if (!sources) {
        free(energy);
        return -ENOMEM;
    }
    energy->sources = sources;
    sy_rapl_open(sources, &energy->rapl);
    choose_event(energy);
    open_gpus(energy, gpus, gpu_count);
    if (!energy->event && !energy->gpu_count) {
        sy_energy_close(energy);
        return -ENODATA;
    }
    name_source(energy);
    sy_energy_restart(energy);
    *ret_energy = energy;
    return 0;
}

void sy_energy_close(struct sy_energy *energy) {
    if (energy) {
        sy_rapl_close(energy->sources, &energy->rapl);
        sy_nvml_close(&energy->nvml);
        sy_sources_close(energy->sources);
        free(energy);
    }
}

void sy_energy_restart(struct sy_energy *energy) {
    for (uint32_t i = 0; i < energy->rapl.count; i++) {
        energy->valid[i] =
            sy_rapl_read(energy->sources, &energy->rapl.meters[i], &energy->start[i]);
    }
    for (uint32_t i = 0; i < energy->gpu_count; i++) {
        energy->gpu_valid[i] =
            energy->nvml.energy_mj(energy->gpus[i], &energy->gpu_start_mj[i]) == SY_NVML_OK;
    }
}

static double meter_joules(struct sy_energy *energy, uint32_t index) {
    struct sy_rapl_meter *meter = &energy->rapl.meters[index];
    uint64_t now, start = energy->start[index];
    if (!energy->valid[index] || !sy_rapl_read(energy->sources, meter, &now)) {
        return NAN;
    }
    double spent = now >= start
                       ? (double)(now - start)
                       : (double)now - (double)start + (meter->range > 0 ? meter->range : NAN);
    return spent * meter->scale;
}

double sy_energy_joules(struct sy_energy *energy) {
    double sum = 0;
    for (uint32_t i = 0; i < energy->rapl.count; i++) {
        sum += is_counted(energy, i) ? meter_joules(energy, i) : 0;
    }
    for (uint32_t i = 0; i < energy->gpu_count; i++) {
        unsigned long long now;
        bool read = energy->gpu_valid[i] &&
                    energy->nvml.energy_mj(energy->gpus[i], &now) == SY_NVML_OK &&
                    now >= energy->gpu_start_mj[i];
        sum += read ? (double)(now - energy->gpu_start_mj[i]) * 1e-3 : NAN;
    }
    return sum;
}

const char *sy_energy_source(const struct sy_energy *energy) {
    return energy->source;
}
