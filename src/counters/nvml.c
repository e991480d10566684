/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's GPUs: how busy, memory, power, energy, PCIe traffic, temperature, clocks; GPM where it
 * is.
 *
 * In: libnvidia-ml, found at run time. Out: counters of scope gpu. Invariant: a GPU that falls off
 * the bus stops giving samples and is asked again every few seconds; the others go on. PCIe traffic
 * comes from byte counters where the library has them, else from GPM, else from a call that takes
 * 20 ms and is made at most four times a second.
 */
#include "counters/nvml.h"
#include <errno.h>

#define GPU_MAX         64
#define FIELD_PERIOD_NS 0.05e9
#define USE_PERIOD_NS   0.1e9
#define PCIE_PERIOD_NS  0.5e9 /* per direction */
#define LOST_PERIOD_NS  5e9
#define PCIE_MAX        1.3e11 /* bytes per s */
#define WATTS_MAX       1e4
#define HOLD_NS         0.3e9 /* energy is refreshed every 20 to 100 ms */

enum { FIELD_ENERGY, FIELD_POWER, FIELD_TX, FIELD_RX, FIELD_COUNT };
static const unsigned field_ids[FIELD_COUNT] = {SY_NVML_FIELD_ENERGY_MJ, SY_NVML_FIELD_POWER_MW,
                                                SY_NVML_FIELD_PCIE_TX, SY_NVML_FIELD_PCIE_RX};

struct gpu {
    void *device;
    uint32_t index;
    uint32_t use, memory_use, memory, temperature, clock_sm, clock_memory;
    uint32_t fields[FIELD_COUNT]; /* counters; SY_NONE */
    bool energy_call, power_call; /* not a field in this version */
    uint32_t slow_pcie[2];        /* by the slow call */
    double fields_ns, use_ns, pcie_ns, lost_ns;
    uint32_t next_direction;
    bool lost;
    struct sy_gpm gpm;
};

struct nvml_state {
    struct sy_nvml nvml;
    struct gpu *gpus;
    uint32_t count;
};

uint32_t sy_nvml_add(struct sy_sources *sources, uint32_t gpu, const char *event,
                     enum sy_counter_kind kind, const char *unit, double noise_ratio,
                     const struct sy_track *track) {
    struct sy_counter counter = {.name = sy_text(sources, "nvml.gpu%u.%s", gpu, event),
                                 .source = "nvml",
                                 .event = event,
                                 .kind = kind,
                                 .unit = unit,
                                 .scope = SY_SCOPE_GPU,
                                 .scope_index = gpu,
                                 .noise_ratio = noise_ratio,
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, track);
}

/* --- probing ------------------------------------------------------------------------------------
 */
static bool ask_fields(const struct sy_nvml *nvml, const struct gpu *gpu,
                       struct sy_nvml_field *fields) {
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        fields[i] = (struct sy_nvml_field){.id = field_ids[i], .status = SY_NVML_NOT_SUPPORTED};
    }
    return nvml->fields && nvml->fields(gpu->device, FIELD_COUNT, fields) == SY_NVML_OK;
}

/* A byte counter of 32 bits would go round between two reads: only a wide one is of use. */
static bool is_wide(const struct sy_nvml_field *field) {
    return field->status == SY_NVML_OK &&
           (field->type == SY_NVML_U64 || field->type == SY_NVML_ULONG);
}

static void probe_fields(struct sy_sources *sources, const struct sy_nvml *nvml, struct gpu *gpu) {
    const struct sy_track energy = {.scale = 1e-3, .hold_ns = HOLD_NS, .rate_max = WATTS_MAX};
    const struct sy_track bytes = {.rate_max = PCIE_MAX};
    struct sy_nvml_field fields[FIELD_COUNT];
    bool any = ask_fields(nvml, gpu, fields);
    unsigned long long millijoules;
    unsigned milliwatts;
    gpu->energy_call = !(any && fields[FIELD_ENERGY].status == SY_NVML_OK);
    gpu->power_call = !(any && fields[FIELD_POWER].status == SY_NVML_OK);
    if (!gpu->energy_call ||
        (nvml->energy_mj && nvml->energy_mj(gpu->device, &millijoules) == SY_NVML_OK)) {
        gpu->fields[FIELD_ENERGY] =
            sy_nvml_add(sources, gpu->index, "energy", SY_COUNTER_RATE, "W", 0.02, &energy);
    }
    if (!gpu->power_call ||
        (nvml->power_mw && nvml->power_mw(gpu->device, &milliwatts) == SY_NVML_OK)) {
        gpu->fields[FIELD_POWER] =
            sy_nvml_add(sources, gpu->index, "power", SY_COUNTER_LEVEL, "W", 0.05, NULL);
    }
    if (any && is_wide(&fields[FIELD_TX]) && is_wide(&fields[FIELD_RX])) {
        gpu->fields[FIELD_TX] =
            sy_nvml_add(sources, gpu->index, "pcie_tx", SY_COUNTER_RATE, "B/s", 0.02, &bytes);
        gpu->fields[FIELD_RX] =
            sy_nvml_add(sources, gpu->index, "pcie_rx", SY_COUNTER_RATE, "B/s", 0.02, &bytes);
    }
}

static void probe_slow_pcie(struct sy_sources *sources, const struct sy_nvml *nvml,
                            struct gpu *gpu) {
    static const char *const events[2] = {"pcie_tx", "pcie_rx"};
    unsigned kilobytes;
    int status = nvml->pcie_kb ? nvml->pcie_kb(gpu->device, 0, &kilobytes) : SY_NVML_NOT_SUPPORTED;
    for (int i = 0; i < 2 && status == SY_NVML_OK; i++) {
        gpu->slow_pcie[i] =
            sy_nvml_add(sources, gpu->index, events[i], SY_COUNTER_RATE, "B/s", 0.1, NULL);
    }
    if (status != SY_NVML_OK) {
        sy_add_gap(sources, "nvml", sy_text(sources, "PCIe traffic of gpu%u", gpu->index),
                   status == SY_NVML_NO_PERMISSION ? "permission denied"
                                                   : "this GPU does not report it",
                   "");
    }
}

/* has_gpm: the share of memory bandwidth is known, the share of time need not be read. */
static void probe_levels(struct sy_sources *sources, const struct sy_nvml *nvml, struct gpu *gpu,
                         bool has_gpm) {
    struct sy_nvml_use use;
    struct sy_nvml_memory memory;
    unsigned value;
    uint32_t index = gpu->index;
    int status = nvml->use ? nvml->use(gpu->device, &use) : SY_NVML_NOT_SUPPORTED;
    if (status == SY_NVML_OK) {
        gpu->use = sy_nvml_add(sources, index, "gpu_util", SY_COUNTER_SHARE, "", 0.05, NULL);
        gpu->memory_use =
            has_gpm ? SY_NONE
                    : sy_nvml_add(sources, index, "mem_util", SY_COUNTER_SHARE, "", 0.1, NULL);
    } else {
        sy_add_gap(sources, "nvml", sy_text(sources, "how busy gpu%u is", index),
                   status == SY_NVML_NO_PERMISSION
                       ? "permission denied"
                       : "it does not report it (a part of a GPU, in MIG mode, never does)",
                   "");
    }
    if (nvml->memory && nvml->memory(gpu->device, &memory) == SY_NVML_OK) {
        gpu->memory = sy_nvml_add(sources, index, "memory_used", SY_COUNTER_SHARE, "", 0.01, NULL);
    }
    if (nvml->temperature &&
        nvml->temperature(gpu->device, SY_NVML_SENSOR_GPU, &value) == SY_NVML_OK) {
        gpu->temperature =
            sy_nvml_add(sources, index, "temperature", SY_COUNTER_LEVEL, "C", 0.02, NULL);
    }
    if (nvml->clock_mhz && nvml->clock_mhz(gpu->device, SY_NVML_CLOCK_SM, &value) == SY_NVML_OK) {
        gpu->clock_sm = sy_nvml_add(sources, index, "clock_sm", SY_COUNTER_LEVEL, "Hz", 0.01, NULL);
        gpu->clock_memory =
            sy_nvml_add(sources, index, "clock_memory", SY_COUNTER_LEVEL, "Hz", 0.01, NULL);
    }
}

static void probe_gpu(struct sy_sources *sources, const struct sy_nvml *nvml, struct gpu *gpu) {
    gpu->use = gpu->memory_use = gpu->memory = gpu->temperature = SY_NONE;
    gpu->clock_sm = gpu->clock_memory = gpu->slow_pcie[0] = gpu->slow_pcie[1] = SY_NONE;
    gpu->fields_ns = gpu->use_ns = gpu->pcie_ns = gpu->lost_ns = NAN;
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        gpu->fields[i] = SY_NONE;
    }
    probe_fields(sources, nvml, gpu);
    bool pcie = gpu->fields[FIELD_TX] == SY_NONE;
    bool has_gpm = sy_gpm_open(sources, nvml, gpu->device, gpu->index, pcie, &gpu->gpm);
    probe_levels(sources, nvml, gpu, has_gpm);
    if (pcie && !has_gpm) {
        probe_slow_pcie(sources, nvml, gpu);
    }
}

static int nvml_open(struct sy_sources *sources, void **ret_state) {
    struct nvml_state *state = sy_memory(sources, 1, sizeof *state);
    const char *reason, *remedy;
    unsigned count = 0;
    if (!state) {
        return -ENOMEM;
    }
    *ret_state = state;
    if (!sources->calls.nvml) {
        return 0;
    }
    if (sy_nvml_open(sources->calls.nvml, &state->nvml, &reason, &remedy)) {
        sy_add_gap(sources, "nvml", "NVIDIA's GPUs", reason, remedy);
        return 0;
    }
    if (state->nvml.device_count(&count) || count == 0) {
        sy_add_gap(sources, "nvml", "NVIDIA's GPUs", "there is a driver, but no GPU", "");
        return 0;
    }
    count = count < GPU_MAX ? count : GPU_MAX;
    state->gpus = sy_memory(sources, count, sizeof *state->gpus);
    for (uint32_t i = 0; state->gpus && i < count; i++) {
        struct gpu *gpu = &state->gpus[state->count];
        gpu->index = i;
        int status = state->nvml.device_at(i, &gpu->device);
        if (status == SY_NVML_OK) {
            probe_gpu(sources, &state->nvml, gpu);
            state->count++;
        } else {
            sy_add_gap(sources, "nvml", sy_text(sources, "gpu%u", i),
                       status == SY_NVML_NO_PERMISSION ? "permission denied"
                                                       : "the library does not answer",
                       "");
        }
    }
    return 0;
}

/* --- reading ------------------------------------------------------------------------------------
 */
static void put_total(struct sy_sources *sources, uint32_t counter,
                      const struct sy_nvml_field *field) {
    if (field->status == SY_NVML_OK) {
        sy_put_total(sources, counter,
                     is_wide(field) ? field->value.u64 : (uint64_t)sy_nvml_number(field));
    }
}

/* Returns what the library said of the device. */
static int read_fields(struct sy_sources *sources, const struct sy_nvml *nvml, struct gpu *gpu) {
    struct sy_nvml_field fields[FIELD_COUNT];
    unsigned long long millijoules;
    unsigned milliwatts;
    int status = SY_NVML_OK;
    if (ask_fields(nvml, gpu, fields)) {
        put_total(sources, gpu->fields[FIELD_TX], &fields[FIELD_TX]);
        put_total(sources, gpu->fields[FIELD_RX], &fields[FIELD_RX]);
        if (!gpu->energy_call) {
            put_total(sources, gpu->fields[FIELD_ENERGY], &fields[FIELD_ENERGY]);
        }
        if (!gpu->power_call) {
            sy_put_level(sources, gpu->fields[FIELD_POWER],
                         sy_nvml_number(&fields[FIELD_POWER]) * 1e-3, 0);
        }
    }
    if (gpu->energy_call && gpu->fields[FIELD_ENERGY] != SY_NONE) {
        status = nvml->energy_mj(gpu->device, &millijoules);
        if (status == SY_NVML_OK) {
            sy_put_total(sources, gpu->fields[FIELD_ENERGY], millijoules);
        }
    }
    if (gpu->power_call && gpu->fields[FIELD_POWER] != SY_NONE && !status) {
        status = nvml->power_mw(gpu->device, &milliwatts);
        if (status == SY_NVML_OK) {
            sy_put_level(sources, gpu->fields[FIELD_POWER], milliwatts * 1e-3, 0);
        }
    }
    return status;
}

static int read_levels(struct sy_sources *sources, const struct sy_nvml *nvml, struct gpu *gpu) {
    struct sy_nvml_use use;
    struct sy_nvml_memory memory;
    unsigned value;
    int status = SY_NVML_OK;
    if (gpu->use != SY_NONE && (status = nvml->use(gpu->device, &use)) == SY_NVML_OK) {
        sy_put_level(sources, gpu->use, use.gpu * 0.01, 0);
        sy_put_level(sources, gpu->memory_use, use.memory * 0.01, 0);
    }
    if (!status && gpu->memory != SY_NONE &&
        (status = nvml->memory(gpu->device, &memory)) == SY_NVML_OK && memory.total) {
        sy_put_level(sources, gpu->memory, (double)memory.used / (double)memory.total, 0);
    }
    if (!status && gpu->temperature != SY_NONE &&
        nvml->temperature(gpu->device, SY_NVML_SENSOR_GPU, &value) == SY_NVML_OK) {
        sy_put_level(sources, gpu->temperature, value, 0);
    }
    const uint32_t clocks[] = {gpu->clock_sm, gpu->clock_memory};
    for (int i = 0; !status && i < 2 && clocks[i] != SY_NONE; i++) {
        if (nvml->clock_mhz(gpu->device, SY_NVML_CLOCK_SM + i, &value) == SY_NVML_OK) {
            sy_put_level(sources, clocks[i], value * 1e6, 0);
        }
    }
    return status;
}

/* One direction at a time: the call takes 20 ms, over which it counts. */
static void read_slow_pcie(struct sy_sources *sources, const struct sy_nvml *nvml,
                           struct gpu *gpu) {
    unsigned kilobytes;
    uint32_t direction = gpu->next_direction;
    if (gpu->slow_pcie[0] == SY_NONE || !sy_is_due(sources, &gpu->pcie_ns, PCIE_PERIOD_NS / 2)) {
        return;
    }
    gpu->next_direction ^= 1;
    if (nvml->pcie_kb(gpu->device, (int)direction, &kilobytes) == SY_NVML_OK) {
        sy_put_rate(sources, gpu->slow_pcie[direction], kilobytes * 1000.0, sources->now_ns - 20e6,
                    1, 0);
    }
}

static void forget(struct sy_sources *sources, struct gpu *gpu) {
    gpu->lost = true;
    gpu->lost_ns = sources->now_ns;
    gpu->gpm.has_first = false;
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        sy_forget_total(sources, gpu->fields[i]);
    }
}

static void read_gpu(struct sy_sources *sources, const struct sy_nvml *nvml, struct gpu *gpu) {
    if (gpu->lost && !sy_is_due(sources, &gpu->lost_ns, LOST_PERIOD_NS)) {
        return;
    }
    gpu->lost = false;
    int status = SY_NVML_OK;
    if (sy_is_due(sources, &gpu->use_ns, USE_PERIOD_NS)) {
        status = read_levels(sources, nvml, gpu); /* first: it notices that a GPU is lost */
    }
    if (!status && sy_is_due(sources, &gpu->fields_ns, FIELD_PERIOD_NS)) {
        status = read_fields(sources, nvml, gpu);
    }
    if (!status) {
        status = sy_gpm_read(sources, nvml, gpu->device, &gpu->gpm);
    }
    if (!status) {
        read_slow_pcie(sources, nvml, gpu);
    }
    if (status == SY_NVML_GPU_IS_LOST) {
        forget(sources, gpu);
    }
}

static void nvml_read(struct sy_sources *sources, void *opaque) {
    struct nvml_state *state = opaque;
    for (uint32_t i = 0; i < state->count; i++) {
        read_gpu(sources, &state->nvml, &state->gpus[i]);
    }
}

static void nvml_close(struct sy_sources *sources, void *opaque) {
    struct nvml_state *state = opaque;
    (void)sources;
    for (uint32_t i = 0; i < state->count; i++) {
        sy_gpm_close(&state->nvml, &state->gpus[i].gpm);
    }
    sy_nvml_close(&state->nvml);
}

const struct sy_provider sy_provider_nvml = {
    .name = "nvml", .open = nvml_open, .read = nvml_read, .close = nvml_close};
