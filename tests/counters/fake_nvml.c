/* SPDX-License-Identifier: Apache-2.0
 *
 * A FAKE of NVIDIA's management library, for tests only: it knows no GPU. It answers as the test
 * tells it to, and keeps a record of what it was asked and in which order.
 *
 * Compiled with FAKE_OLD it is an old version, which lacks the fields and the profiling metrics.
 */
#include "fake_nvml.h"

#include <string.h>

/* Layouts as the library's users see them, written down a second time on purpose. */
typedef struct {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec;
    unsigned valueType;
    int nvmlReturn;
    union {
        double d;
        unsigned ui;
        unsigned long long ull;
    } value;
} field_value;

typedef struct {
    unsigned metricId;
    int nvmlReturn;
    double value;
    char *shortName, *longName, *unit;
} gpm_metric;

typedef struct {
    unsigned version, numMetrics;
    void *sample1, *sample2;
    gpm_metric metrics[98];
} gpm_metrics;

#define EXPORT __attribute__((visibility("default")))

static struct fake_nvml fake;

EXPORT struct fake_nvml *fake_nvml_control(void);
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned *use);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *power);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy);
EXPORT int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *value);

struct fake_nvml *fake_nvml_control(void) {
    return &fake;
}

static int of(const void *device) {
    fake.calls++;
    return fake.started <= 0 ? 1 : fake.status[(const char *)device - (const char *)&fake];
}

int nvmlInit_v2(void) {
    fake.started += fake.init_status == 0;
    return fake.init_status;
}

int nvmlShutdown(void) {
    fake.started--;
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = fake.gpu_count;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (char *)&fake + index;
    return index < fake.gpu_count ? 0 : 2;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    *device = &fake;
    return strcmp(bus, "0000:3b:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *use) {
    use[0] = fake.gpu_percent;
    use[1] = fake.memory_percent;
    return of(device);
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    memory[0] = 80ULL << 30;
    memory[1] = 60ULL << 30;
    memory[2] = 20ULL << 30;
    return of(device);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *power) {
    *power = fake.power_mw;
    return of(device);
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy) {
    *energy = fake.energy_mj;
    return of(device);
}

int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *value) {
    fake.slow_calls++;
    *value = fake.slow_kb + (unsigned)counter;
    return of(device);
}

#ifndef FAKE_OLD
static int samples[8]; /* running number of when each was filled; 0: never */

EXPORT int nvmlDeviceGetFieldValues(void *device, int count, field_value *values);
EXPORT int nvmlGpmQueryDeviceSupport(void *device, unsigned *support);
EXPORT int nvmlGpmSampleAlloc(void **sample);
EXPORT int nvmlGpmSampleFree(void *sample);
EXPORT int nvmlGpmSampleGet(void *device, void *sample);
EXPORT int nvmlGpmMetricsGet(gpm_metrics *metrics);

static void answer(field_value *field) {
    bool wide = !fake.narrow_pcie;
    field->nvmlReturn = 0;
    field->valueType = 3;
    switch (field->fieldId) {
    case 83:
        field->value.ull = fake.energy_mj;
        break;
    case 186:
        field->valueType = 1;
        field->value.ui = fake.power_mw;
        break;
    case 197:
    case 198:
        field->nvmlReturn = fake.no_pcie_fields ? 3 : 0;
        field->valueType = wide ? 3 : 1;
        field->value.ull = field->fieldId == 197 ? fake.tx_bytes : fake.rx_bytes;
        break;
    default:
        field->nvmlReturn = 3;
    }
}

int nvmlDeviceGetFieldValues(void *device, int count, field_value *values) {
    int status = of(device);
    for (int i = 0; i < count && !status; i++) {
        answer(&values[i]);
    }
    return status;
}

int nvmlGpmQueryDeviceSupport(void *device, unsigned *support) {
    support[1] = fake.gpm_supported;
    return support[0] == 1 ? of(device) : 25;
}

int nvmlGpmSampleAlloc(void **sample) {
    *sample = &samples[fake.gpm_allocated++];
    return 0;
}

int nvmlGpmSampleFree(void *sample) {
    memset(sample, 0, sizeof samples[0]);
    fake.gpm_allocated--;
    return 0;
}

int nvmlGpmSampleGet(void *device, void *sample) {
    int status = of(device);
    status = status ? status : fake.gpm_status;
    if (!status) {
        *(int *)sample = ++fake.gpm_samples;
    }
    return status;
}

static void measure(gpm_metric *metric) {
    metric->nvmlReturn = 0;
    switch (metric->metricId) {
    case 2:
        metric->value = fake.sm_percent;
        break;
    case 10:
        metric->value = fake.dram_percent;
        break;
    case 21:
        metric->value = fake.pcie_rx_mib;
        break;
    case 60:
    case 61: /* no NVLink */
        metric->nvmlReturn = 3;
        break;
    default:
        metric->value = 0;
    }
}

int nvmlGpmMetricsGet(gpm_metrics *metrics) {
    int before = *(int *)metrics->sample1, after = *(int *)metrics->sample2;
    fake.wrong_order |= before == 0 || after <= before;
    for (unsigned i = 0; i < metrics->numMetrics; i++) {
        measure(&metrics->metrics[i]);
    }
    return metrics->version == 1 ? 0 : 25;
}
#endif
