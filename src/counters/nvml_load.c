/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds NVIDIA's library and its functions; a function that this version lacks stays NULL.
 */
#include "base/shield.h"
#include "counters/nvml.h"
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define REQUIRED 5

struct symbol {
    const char *name;
    size_t offset;
};
#define AT(field) offsetof(struct sy_nvml, field)

static const struct symbol symbols[] = {
    {"nvmlInit_v2", AT(init)},
    {"nvmlShutdown", AT(shutdown)},
    {"nvmlDeviceGetCount_v2", AT(device_count)},
    {"nvmlDeviceGetHandleByIndex_v2", AT(device_at)},
    {"nvmlDeviceGetHandleByPciBusId_v2", AT(device_by_bus)},
    {"nvmlDeviceGetUtilizationRates", AT(use)},
    {"nvmlDeviceGetMemoryInfo", AT(memory)},
    {"nvmlDeviceGetPowerUsage", AT(power_mw)},
    {"nvmlDeviceGetTotalEnergyConsumption", AT(energy_mj)},
    {"nvmlDeviceGetTemperature", AT(temperature)},
    {"nvmlDeviceGetClockInfo", AT(clock_mhz)},
    {"nvmlDeviceGetPcieThroughput", AT(pcie_kb)},
    {"nvmlDeviceGetFieldValues", AT(fields)},
    {"nvmlGpmQueryDeviceSupport", AT(gpm_support)},
    {"nvmlGpmSampleAlloc", AT(gpm_alloc)},
    {"nvmlGpmSampleFree", AT(gpm_free)},
    {"nvmlGpmSampleGet", AT(gpm_sample)},
    {"nvmlGpmMetricsGet", AT(gpm_metrics)},
};

static int fail_start(int status, const char **ret_reason, const char **ret_remedy) {
    *ret_reason = "the NVIDIA library cannot be initialised";
    *ret_remedy = "nvidia-smi shows the reason";
    switch (status) {
    case SY_NVML_DRIVER_NOT_LOADED:
        *ret_reason = "the NVIDIA driver is not loaded";
        *ret_remedy = "modprobe nvidia";
        return -ENODEV;
    case SY_NVML_NO_PERMISSION:
        *ret_reason = "permission denied (/dev/nvidiactl)";
        *ret_remedy = "membership in the group that owns /dev/nvidia*";
        return -EACCES;
    case SY_NVML_VERSION_MISMATCH:
        *ret_reason = "the NVIDIA library and kernel module have different versions";
        *ret_remedy = "reboot, or load the module again";
        return -EPROTO;
    default:
        return -EIO;
    }
}

static int try_library(void *path, struct sy_buffer *answer) {
    (void)answer;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL;
}

int sy_nvml_open(const char *path, struct sy_nvml *ret_nvml, const char **ret_reason,
                 const char **ret_remedy) {
    char why[128];
    if (strchr(path, '/') && /* somebody's own, not the driver's */
        sy_shield_load(try_library, (void *)(uintptr_t)path, why, sizeof why) < 0) {
        *ret_reason = "the library that SYMPH_NVML names crashes, exits or hangs when it is loaded";
        *ret_remedy = "another library, or none";
        return -EFAULT;
    }
    struct sy_nvml nvml = {.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!nvml.library) {
        *ret_reason = "the NVIDIA driver is not installed (no libnvidia-ml.so.1)";
        *ret_remedy = "the NVIDIA driver; in a container: --gpus all";
        return -ENOENT;
    }
    for (size_t i = 0; i < SY_COUNT(symbols); i++) {
        void *function = dlsym(nvml.library, symbols[i].name);
        /* The way POSIX asks for: an object pointer becomes a function pointer. */
        memcpy((char *)&nvml + symbols[i].offset, &function, sizeof function);
        if (!function && i < REQUIRED) {
            dlclose(nvml.library);
            *ret_reason = "the NVIDIA library is too old";
            *ret_remedy = "a driver of 2018 or later";
            return -ENOSYS;
        }
    }
    int status = nvml.init();
    if (status != SY_NVML_OK) {
        dlclose(nvml.library);
        return fail_start(status, ret_reason, ret_remedy);
    }
    nvml.started = true;
    *ret_nvml = nvml;
    return 0;
}

void sy_nvml_close(struct sy_nvml *nvml) {
    if (nvml->started) {
        nvml->shutdown();
        dlclose(nvml->library);
        nvml->started = false;
    }
}

double sy_nvml_number(const struct sy_nvml_field *field) {
    if (field->status != SY_NVML_OK) {
        return NAN;
    }
    switch (field->type) {
    case SY_NVML_REAL:
        return field->value.real;
    case SY_NVML_U32:
        return field->value.u32;
    case SY_NVML_ULONG:
        return (double)field->value.ulong;
    case SY_NVML_U64:
        return (double)field->value.u64;
    case SY_NVML_I64:
        return (double)field->value.i64;
    case SY_NVML_I32:
        return field->value.i32;
    case SY_NVML_U16:
        return field->value.u16;
    default:
        return NAN;
    }
}
