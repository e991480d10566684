/* SPDX-License-Identifier: Apache-2.0
 *
 * What a test tells the fake of NVIDIA's library to pretend.
 */
#ifndef TESTS_COUNTERS_FAKE_NVML_H
#define TESTS_COUNTERS_FAKE_NVML_H

#include <stdbool.h>

struct fake_nvml {
    int init_status;
    unsigned gpu_count;
    int status[2];  /* of every call about that GPU */
    int gpm_status; /* of a sample of the profiling unit */
    bool gpm_supported;
    bool narrow_pcie; /* byte counters have 32 bits */
    bool no_pcie_fields;
    unsigned long long energy_mj, tx_bytes, rx_bytes;
    unsigned power_mw, gpu_percent, memory_percent;
    double sm_percent, dram_percent, pcie_rx_mib;
    unsigned slow_kb;
    /* what was called */
    int started, calls, slow_calls, gpm_samples, gpm_allocated;
    bool wrong_order; /* metrics were asked of samples in the wrong order, or never taken */
};
struct fake_nvml *fake_nvml_control(void);

#endif
