/* SPDX-License-Identifier: Apache-2.0
 *
 * assumed: watts, prices and PCIe rates where a machine's description says nothing. The other
 * numbers that are assumed are in topology.h; docs/machine-format.md lists all of them.
 */
#include "topology/topology.h"

double sy_pcie_bytes_per_s(uint32_t generation, uint32_t lanes) {
    /* Line rate per lane after encoding. */
    static const double lane_bytes_per_s[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
    return generation < SY_COUNT(lane_bytes_per_s)
               ? lane_bytes_per_s[generation] * lanes * SY_PCIE_EFFICIENCY
               : 0;
}

double sy_default_busy_watts(enum sy_device_kind kind) {
    static const double watts[SY_KIND_COUNT] = {
        [SY_CPU] = 8, [SY_GPU] = 250, [SY_FPGA] = 75, [SY_ASIC] = 100};
    return watts[kind];
}

double sy_default_idle_watts(enum sy_device_kind kind) {
    static const double watts[SY_KIND_COUNT] = {
        [SY_CPU] = 2, [SY_GPU] = 40, [SY_FPGA] = 20, [SY_ASIC] = 20};
    return watts[kind];
}

double sy_default_price_per_hour(enum sy_device_kind kind) {
    static const double prices[SY_KIND_COUNT] = {
        [SY_CPU] = 0.05, [SY_GPU] = 2.5, [SY_FPGA] = 1.65, [SY_ASIC] = 1.2};
    return prices[kind];
}
