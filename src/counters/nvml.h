/* SPDX-License-Identifier: Apache-2.0
 *
 * What we use of NVIDIA's management library, in our own words: it is found at run time, and
 * neither its header nor its library is needed to build. Private to counters/.
 *
 * Layouts are those of NVML 11 to 13 on 64-bit Linux; the sizes are checked below.
 */
#ifndef SY_COUNTERS_NVML_H
#define SY_COUNTERS_NVML_H

#include "counters/provider.h"

enum {
    SY_NVML_OK = 0,
    SY_NVML_INVALID_ARGUMENT = 2,
    SY_NVML_NOT_SUPPORTED = 3,
    SY_NVML_NO_PERMISSION = 4,
    SY_NVML_DRIVER_NOT_LOADED = 9,
    SY_NVML_GPU_IS_LOST = 15,
    SY_NVML_VERSION_MISMATCH = 18,
};

struct sy_nvml_use { /* percent of the last sample period */
    unsigned gpu, memory;
};
struct sy_nvml_memory {
    unsigned long long total, free, used;
};
struct sy_nvml_field {
    unsigned id, scope;
    long long timestamp_us, latency_us;
    unsigned type; /* SY_NVML_U32 ... */
    int status;
    union {
        double real;
        int i32;
        unsigned u32;
        unsigned long ulong;
        unsigned long long u64;
        long long i64;
        unsigned short u16;
    } value;
};
enum {
    SY_NVML_REAL,
    SY_NVML_U32,
    SY_NVML_ULONG,
    SY_NVML_U64,
    SY_NVML_I64,
    SY_NVML_I32,
    SY_NVML_U16
};
enum { /* fields */
       SY_NVML_FIELD_ENERGY_MJ = 83,
       SY_NVML_FIELD_POWER_MW = 186,
       SY_NVML_FIELD_PCIE_TX = 197,
       SY_NVML_FIELD_PCIE_RX = 198,
};
enum { SY_NVML_SENSOR_GPU = 0, SY_NVML_CLOCK_SM = 1, SY_NVML_CLOCK_MEMORY = 2 };

struct sy_nvml_gpm_support {
    unsigned version, is_supported;
};
struct sy_nvml_gpm_metric {
    unsigned id;
    int status;
    double value;
    char *names[3]; /* short, long, unit */
};
#define SY_NVML_GPM_MAX 512 /* the library's own array has had 98, 210 and 333 */
struct sy_nvml_gpm_metrics {
    unsigned version, count;
    void *before, *after;
    struct sy_nvml_gpm_metric metrics[SY_NVML_GPM_MAX];
};
#define SY_NVML_GPM_VERSION 1

_Static_assert(sizeof(struct sy_nvml_use) == 8, "nvmlUtilization_t");
_Static_assert(sizeof(struct sy_nvml_memory) == 24, "nvmlMemory_t");
_Static_assert(sizeof(struct sy_nvml_field) == 40, "nvmlFieldValue_t");
_Static_assert(offsetof(struct sy_nvml_field, value) == 32, "nvmlFieldValue_t");
_Static_assert(sizeof(struct sy_nvml_gpm_support) == 8, "nvmlGpmSupport_t");
_Static_assert(sizeof(struct sy_nvml_gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(offsetof(struct sy_nvml_gpm_metrics, metrics) == 24, "nvmlGpmMetricsGet_t");

/* The library's functions; NULL: this version does not have it. The first five always are. */
struct sy_nvml {
    void *library;
    bool started;
    int (*init)(void);
    int (*shutdown)(void);
    int (*device_count)(unsigned *ret_count);
    int (*device_at)(unsigned index, void **ret_device);
    int (*device_by_bus)(const char *bus, void **ret_device);
    int (*use)(void *device, struct sy_nvml_use *ret_use);
    int (*memory)(void *device, struct sy_nvml_memory *ret_memory);
    int (*power_mw)(void *device, unsigned *ret_milliwatts);
    int (*energy_mj)(void *device, unsigned long long *ret_millijoules);
    int (*temperature)(void *device, int sensor, unsigned *ret_degrees);
    int (*clock_mhz)(void *device, int clock, unsigned *ret_megahertz);
    int (*pcie_kb)(void *device, int direction, unsigned *ret_kilobytes_per_s); /* takes 20 ms */
    int (*fields)(void *device, int count, struct sy_nvml_field *fields);
    int (*gpm_support)(void *device, struct sy_nvml_gpm_support *support);
    int (*gpm_alloc)(void **ret_sample);
    int (*gpm_free)(void *sample);
    int (*gpm_sample)(void *device, void *sample);
    int (*gpm_metrics)(struct sy_nvml_gpm_metrics *metrics);
};

/* 0 or -errno; then *ret_reason and *ret_remedy, texts that live as long as the program, say why.
 */
int sy_nvml_open(const char *path, struct sy_nvml *ret_nvml, const char **ret_reason,
                 const char **ret_remedy);
void sy_nvml_close(struct sy_nvml *nvml);
/* A field's value as a number; NAN: it has none. */
double sy_nvml_number(const struct sy_nvml_field *field);

/* --- nvml_gpm.c: metrics of the profiling unit, Hopper and later --------------------------------
 */
#define SY_GPM_COUNT 11
struct sy_gpm {
    struct sy_nvml_gpm_metrics *buffer;
    void *samples[2];
    uint32_t next; /* of samples: the one to be filled */
    bool has_first;
    uint32_t counters[SY_GPM_COUNT]; /* SY_NONE: not on this GPU */
    double ns, start_ns;
};
/* Adds counters, or a gap. pcie: PCIe traffic is not known otherwise. */
bool sy_gpm_open(struct sy_sources *sources, const struct sy_nvml *nvml, void *device, uint32_t gpu,
                 bool pcie, struct sy_gpm *ret_gpm);
/* 0, or what the library said. */
int sy_gpm_read(struct sy_sources *sources, const struct sy_nvml *nvml, void *device,
                struct sy_gpm *gpm);
void sy_gpm_close(const struct sy_nvml *nvml, struct sy_gpm *gpm);
uint32_t sy_nvml_add(struct sy_sources *sources, uint32_t gpu, const char *event,
                     enum sy_counter_kind kind, const char *unit, double noise_ratio,
                     const struct sy_track *track);

#endif
