/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy of a run, where this machine lets us read it.
 *
 * In: RAPL by the powercap files or by perf's `power` counters, NVML for the GPUs that run tasks.
 * Out: joules between start and stop, and what they cover. NVML is found at run time: neither its
 * header nor its library is needed to build. What cannot be read is left out of the name.
 */
#include "engine/starpu/process.h"
#include <dlfcn.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define METER_MAX 32
#define POWER     "/sys/bus/event_source/devices/power/"

enum meter_kind { METER_POWERCAP, METER_PERF, METER_NVML };

struct meter {
    enum meter_kind kind;
    double start_joules;
    double scale;        /* joules per unit */
    double range_joules; /* it starts again from 0 there; INFINITY: never */
    char path[160];      /* powercap */
    int fd;              /* perf */
    void *device;        /* NVML */
};

struct sy_engine_energy {
    struct meter meters[METER_MAX];
    uint32_t count;
    int (*nvml_energy)(void *device, unsigned long long *ret_millijoules);
    char source[96];
};

static double read_number(const char *path) {
    FILE *file = fopen(path, "re");
    double value = NAN;
    if (file) {
        if (fscanf(file, "%lf", &value) != 1) {
            value = NAN;
        }
        fclose(file);
    }
    return value;
}

static double read_meter(const struct sy_engine_energy *energy, const struct meter *meter) {
    uint64_t count = 0;
    unsigned long long millijoules = 0;
    switch (meter->kind) {
    case METER_POWERCAP:
        return read_number(meter->path) * meter->scale;
    case METER_PERF:
        return read(meter->fd, &count, sizeof count) == sizeof count ? (double)count * meter->scale
                                                                     : NAN;
    default:
        return energy->nvml_energy(meter->device, &millijoules) == 0 ? (double)millijoules * 1e-3
                                                                     : NAN;
    }
}

static bool add_meter(struct sy_engine_energy *energy, struct meter meter) {
    if (energy->count == METER_MAX || isnan(read_meter(energy, &meter))) {
        return false;
    }
    energy->meters[energy->count++] = meter;
    return true;
}

/* One folder per package; those with a second colon are parts of it. */
static bool add_powercap(struct sy_engine_energy *energy) {
    glob_t found = {0};
    bool any = false;
    if (glob("/sys/class/powercap/intel-rapl:*/energy_uj", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *name = strchr(found.gl_pathv[i], ':') + 1;
            struct meter meter = {.kind = METER_POWERCAP, .scale = 1e-6};
            if (strchr(name, ':') || strlen(found.gl_pathv[i]) >= sizeof meter.path) {
                continue;
            }
            strcpy(meter.path, found.gl_pathv[i]);
            char range[192];
            snprintf(range, sizeof range, "%.*smax_energy_range_uj",
                     (int)(strrchr(meter.path, '/') + 1 - meter.path), meter.path);
            meter.range_joules = read_number(range) * 1e-6;
            any |= add_meter(energy, meter);
        }
    }
    globfree(&found);
    return any;
}

/* One counter on the first CPU of each package, as the kernel names them. */
static bool add_perf(struct sy_engine_energy *energy, const char *event) {
    char path[160], text[128] = "";
    unsigned config = 0;
    snprintf(path, sizeof path, POWER "events/%s", event);
    FILE *file = fopen(path, "re");
    bool known = file && fscanf(file, "event=%x", &config) == 1;
    if (file) {
        fclose(file);
    }
    snprintf(path, sizeof path, POWER "events/%s.scale", event);
    double scale = read_number(path), type = read_number(POWER "type");
    file = fopen(POWER "cpumask", "re");
    if (file) {
        known = known && fgets(text, sizeof text, file);
        fclose(file);
    }
    if (!known || isnan(scale) || isnan(type)) {
        return false;
    }
    bool any = false;
    for (char *at = text; *at >= '0' && *at <= '9'; at += *at == ',') {
        int cpu = (int)strtol(at, &at, 10);
        struct perf_event_attr attributes = {
            .type = (uint32_t)type, .size = sizeof attributes, .config = config};
        long fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        struct meter meter = {
            .kind = METER_PERF, .scale = scale, .fd = (int)fd, .range_joules = INFINITY};
        any |= fd >= 0 && add_meter(energy, meter);
    }
    return any;
}

/* The GPUs that CUDA shows to StarPU, found by their address on the bus: NVML counts all. */
static bool add_nvml(struct sy_engine_energy *energy, uint32_t gpu_count) {
    void *library = gpu_count ? dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        return false;
    }
    int (*init)(void) = NULL, (*by_bus)(const char *, void **) = NULL;
    int (*bus_of)(char *, int, int) = NULL;
    /* The way POSIX asks for: an object pointer becomes a function pointer. */
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&by_bus = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&energy->nvml_energy = dlsym(library, "nvmlDeviceGetTotalEnergyConsumption");
    *(void **)&bus_of = dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId");
    if (!init || !by_bus || !energy->nvml_energy || !bus_of || init() != 0) {
        return false;
    }
    bool any = false;
    for (uint32_t gpu = 0; gpu < gpu_count; gpu++) {
        char bus[32] = "";
        struct meter meter = {.kind = METER_NVML, .range_joules = INFINITY};
        if (bus_of(bus, sizeof bus, (int)gpu) == 0 && by_bus(bus, &meter.device) == 0) {
            any |= add_meter(energy, meter);
        }
    }
    return any;
}

void sy_engine_energy_start(struct sy_engine *engine) {
    struct sy_engine_energy *energy = engine->energy;
    if (!energy) {
        energy = sy_arena_alloc(engine->arena, 1, sizeof *energy);
        if (!energy) {
            return;
        }
        const char *host = add_powercap(energy)              ? "RAPL packages"
                           : add_perf(energy, "energy-pkg")  ? "RAPL packages (perf)"
                           : add_perf(energy, "energy-psys") ? "RAPL platform (perf)"
                                                             : "";
        bool gpus = add_nvml(energy, starpu_cuda_worker_get_count());
        snprintf(energy->source, sizeof energy->source, "%s%s%s", host, *host && gpus ? " + " : "",
                 gpus ? "NVML" : "");
        engine->energy = energy;
    }
    for (uint32_t i = 0; i < energy->count; i++) {
        energy->meters[i].start_joules = read_meter(energy, &energy->meters[i]);
    }
}

void sy_engine_energy_stop(struct sy_engine *engine) {
    const struct sy_engine_energy *energy = engine->energy;
    engine->energy_joules = NAN;
    if (!energy || energy->count == 0) {
        return;
    }
    double sum = 0;
    for (uint32_t i = 0; i < energy->count; i++) {
        double spent = read_meter(energy, &energy->meters[i]) - energy->meters[i].start_joules;
        sum += spent < 0 ? spent + energy->meters[i].range_joules : spent;
    }
    if (isfinite(sum)) {
        engine->energy_joules = sum;
        engine->energy_source = energy->source;
    }
}
