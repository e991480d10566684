/* SPDX-License-Identifier: Apache-2.0
 *
 * GPM: what the processors, the tensor units, the memory and the links of a GPU really did, from
 * two samples of the profiling unit. Hopper and later.
 *
 * The library refreshes its samples every 100 ms; asking more often gives nothing.
 */
#include "counters/nvml.h"

#define PERIOD_NS 0.12e9
#define MIB       1048576.0

static const struct {
    unsigned id;
    const char *event;
    bool share; /* the library says percent; else MiB per s */
} metrics[SY_GPM_COUNT] = {
    {2, "sm_util", true},     {3, "sm_occupancy", true}, {5, "tensor_util", true},
    {10, "dram_util", true},  {11, "fp64_util", true},   {12, "fp32_util", true},
    {13, "fp16_util", true},  {20, "pcie_tx", false},    {21, "pcie_rx", false},
    {60, "nvlink_rx", false}, {61, "nvlink_tx", false}};

static bool is_pcie(uint32_t index) {
    return metrics[index].id == 20 || metrics[index].id == 21;
}

static int compute(const struct sy_nvml *nvml, struct sy_gpm *gpm) {
    gpm->buffer->version = SY_NVML_GPM_VERSION;
    gpm->buffer->count = SY_GPM_COUNT;
    gpm->buffer->before = gpm->samples[gpm->next];
    gpm->buffer->after = gpm->samples[gpm->next ^ 1];
    for (uint32_t i = 0; i < SY_GPM_COUNT; i++) {
        gpm->buffer->metrics[i] = (struct sy_nvml_gpm_metric){.id = metrics[i].id};
    }
    return nvml->gpm_metrics(gpm->buffer);
}

static bool is_absent(int status) {
    return status == SY_NVML_NOT_SUPPORTED || status == SY_NVML_INVALID_ARGUMENT;
}

static void add_counters(struct sy_sources *sources, uint32_t gpu, bool pcie, struct sy_gpm *gpm) {
    for (uint32_t i = 0; i < SY_GPM_COUNT; i++) {
        bool here = !is_absent(gpm->buffer->metrics[i].status) && (pcie || !is_pcie(i));
        gpm->counters[i] = here ? sy_nvml_add(sources, gpu, metrics[i].event,
                                              metrics[i].share ? SY_COUNTER_SHARE : SY_COUNTER_RATE,
                                              metrics[i].share ? "" : "B/s", 0.02, NULL)
                                : SY_NONE;
    }
}

static int start(const struct sy_nvml *nvml, void *device, struct sy_gpm *gpm) {
    struct sy_nvml_gpm_support support = {.version = SY_NVML_GPM_VERSION};
    int status = nvml->gpm_support(device, &support);
    if (status || !support.is_supported) {
        return status ? status : SY_NVML_NOT_SUPPORTED;
    }
    for (uint32_t i = 0; i < 2 && !status; i++) {
        status = nvml->gpm_alloc(&gpm->samples[i]);
        status = status ? status : nvml->gpm_sample(device, gpm->samples[i]);
    }
    return status ? status : compute(nvml, gpm);
}

static void say_gap(struct sy_sources *sources, uint32_t gpu, int status) {
    const char *what = sy_text(sources, "profiling metrics (GPM) of gpu%u", gpu);
    if (status == SY_NVML_NO_PERMISSION) {
        sy_add_gap(sources, "nvml", what, "permission denied",
                   "run as root, or load nvidia with NVreg_RestrictProfilingToAdminUsers=0");
    } else if (status == SY_NVML_NOT_SUPPORTED) {
        sy_add_gap(sources, "nvml", what, "this GPU does not have them (Hopper and later do)", "");
    } else {
        sy_add_gap(sources, "nvml", what, sy_text(sources, "the library says error %d", status),
                   "");
    }
}

bool sy_gpm_open(struct sy_sources *sources, const struct sy_nvml *nvml, void *device, uint32_t gpu,
                 bool pcie, struct sy_gpm *ret_gpm) {
    struct sy_gpm gpm = {.ns = NAN, .start_ns = NAN};
    bool known = nvml->gpm_support && nvml->gpm_alloc && nvml->gpm_free && nvml->gpm_sample &&
                 nvml->gpm_metrics;
    if (!known) {
        sy_add_gap(sources, "nvml", sy_text(sources, "profiling metrics (GPM) of gpu%u", gpu),
                   "NVIDIA's library does not have the functions", "a driver of 2022 or later");
        return false;
    }
    gpm.buffer = sy_memory(sources, 1, sizeof *gpm.buffer);
    int status = gpm.buffer ? start(nvml, device, &gpm) : SY_NVML_NOT_SUPPORTED;
    if (status) {
        sy_gpm_close(nvml, &gpm);
        say_gap(sources, gpu, status);
        return false;
    }
    add_counters(sources, gpu, pcie, &gpm);
    *ret_gpm = gpm;
    return true;
}

int sy_gpm_read(struct sy_sources *sources, const struct sy_nvml *nvml, void *device,
                struct sy_gpm *gpm) {
    if (!gpm->buffer || !sy_is_due(sources, &gpm->ns, PERIOD_NS)) {
        return SY_NVML_OK;
    }
    double start_ns = gpm->start_ns;
    int status = nvml->gpm_sample(device, gpm->samples[gpm->next]);
    if (status) {
        gpm->has_first = false;
        return status;
    }
    gpm->start_ns = sources->now_ns;
    gpm->next ^= 1; /* the older one, to be filled next */
    if (!gpm->has_first) {
        gpm->has_first = true;
        return SY_NVML_OK;
    }
    status = compute(nvml, gpm);
    for (uint32_t i = 0; !status && i < SY_GPM_COUNT; i++) {
        const struct sy_nvml_gpm_metric *metric = &gpm->buffer->metrics[i];
        if (metric->status == SY_NVML_OK) {
            double scale = metrics[i].share ? 0.01 : MIB;
            sy_put_rate(sources, gpm->counters[i], metric->value * scale, start_ns, 1, 0);
        }
    }
    return status;
}

void sy_gpm_close(const struct sy_nvml *nvml, struct sy_gpm *gpm) {
    for (uint32_t i = 0; i < 2; i++) {
        if (gpm->samples[i]) {
            nvml->gpm_free(gpm->samples[i]);
            gpm->samples[i] = NULL;
        }
    }
    gpm->buffer = NULL;
}
