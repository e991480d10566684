/* SPDX-License-Identifier: Apache-2.0
 *
 * The system that symph-bench dype plans for: 1 CPU, 2 GPUs, 3 FPGAs, and models of interconnects.
 *
 * In: which classes the times are of. Out: devices, links, watts. Invariant: what is declared or
 * modelled here is said in the bench's text.
 */
#include "symph-bench/dype.h"
#include <math.h>

#define GPUS           2
#define FPGAS          3
#define SPLIT_EXPONENT 0.95
#define LINK_JOULES    6e-11 /* per byte */

struct link {
    const char *name;
    double bytes_per_s, latency_ns;
};

/* Of the payload that is usual on 16 lanes, one way. */
static const struct link links[SY_DYPE_LINKS] = {
    {"PCIe4", 25e9, 2000},
    {"PCIe5", 50e9, 1500},
    {"CXL3", 100e9, 500},
};

struct declared {
    enum sy_device_kind kind;
    uint32_t count;
    double idle_watts, work_watts, price_per_hour, memory_bytes;
    double flops_per_s, bytes_per_s, launch_ns; /* where estimates begin; samples correct them */
};

static const struct declared declared[SY_DYPE_CLASSES] = {
    [SY_DYPE_CPU] = {SY_CPU, 1, 60, 120, 0.8, INFINITY, 8e11, 1e11, 5e3},
    [SY_DYPE_GPU] = {SY_GPU, GPUS, 75, 350, 3.5, 141e9, 4e13, 3.5e12, 1e4},
    [SY_DYPE_FPGA] = {SY_FPGA, FPGAS, 30, 40, 1.0, 8e9, 4e11, 3e11, 1e4},
};

const char *sy_dype_link_name(uint32_t link) {
    return links[link].name;
}

/* The CPU computes in host memory; all else is one hop apart, GPUs and FPGAs too (peer to peer). */
static struct sy_plan_link between(uint32_t from, uint32_t to, const struct link *link) {
    bool from_host = from == SY_DYPE_CPU || from == SY_DYPE_CLASSES;
    bool to_host = to == SY_DYPE_CPU || to == SY_DYPE_CLASSES;
    return from_host && to_host
               ? (struct sy_plan_link){0, INFINITY, 0}
               : (struct sy_plan_link){link->latency_ns, link->bytes_per_s, LINK_JOULES};
}

static bool runs(const void *user, const char *kernel, uint32_t class_index) {
    return sy_dype_times_runs(user, kernel, (enum sy_dype_class)class_index);
}

static double split_ns(const void *user, uint32_t class_index, uint32_t width, double time_ns,
                       const double *costs) {
    const struct link *link = user;
    double missing = costs[1] * (width - 1) / width;
    (void)class_index;
    return time_ns / pow(width, SPLIT_EXPONENT) + link->latency_ns +
           1e9 * missing / link->bytes_per_s;
}

void sy_dype_system(const struct sy_dype_times *times, uint32_t link,
                    struct sy_system *ret_system) {
    struct sy_system system = {.class_count = SY_DYPE_CLASSES,
                               .runs = runs,
                               .runs_user = times,
                               .split_ns = split_ns,
                               .split_user = &links[link]};
    for (uint32_t c = 0; c < SY_DYPE_CLASSES; c++) {
        const struct declared *from = &declared[c];
        system.classes[c] = (struct sy_system_class){
            .name = times->classes[c],
            .kind = from->kind,
            .device_count = from->count,
            .width_max = from->count,
            .slowdown = 1,
            .idle_watts = from->idle_watts,
            .busy_watts = from->idle_watts + from->work_watts,
            .price_per_hour = from->price_per_hour,
            .memory_bytes = from->memory_bytes,
            .roofline = {times->classes[c], from->flops_per_s, from->bytes_per_s, from->launch_ns,
                         from->work_watts}};
    }
    for (uint32_t from = 0; from <= SY_DYPE_CLASSES; from++) {
        for (uint32_t to = 0; to <= SY_DYPE_CLASSES; to++) {
            system.links[from * (SY_DYPE_CLASSES + 1) + to] = between(from, to, &links[link]);
        }
    }
    *ret_system = system;
}

void sy_dype_describe(const struct sy_dype_times *times, struct sy_buffer *text) {
    sy_buffer_printf(
        text,
        "System: 1 CPU (class %s: all its cores as one device, at the number of cores "
        "that was fastest), %d GPUs (%s), %d FPGAs (%s).\nMeasured: times of %s and %s "
        "on one device, watts where the times have them. Models: %s (cycles of a "
        "declared card; not measured);\na kernel split over m devices: time / m^%g + a "
        "gather of (m - 1)/m of the bytes that it touches, which the planner also "
        "knows; links, peer to peer between GPUs and FPGAs:\n",
        times->classes[SY_DYPE_CPU], GPUS, times->classes[SY_DYPE_GPU], FPGAS,
        times->classes[SY_DYPE_FPGA], times->classes[SY_DYPE_CPU], times->classes[SY_DYPE_GPU],
        times->classes[SY_DYPE_FPGA], SPLIT_EXPONENT);
    for (uint32_t l = 0; l < SY_DYPE_LINKS; l++) {
        sy_buffer_printf(text, "%s%s x16 %g GB/s, %g us", l ? "; " : "  ", links[l].name,
                         links[l].bytes_per_s / 1e9, links[l].latency_ns / 1e3);
    }
    sy_buffer_printf(text, "; %g pJ/byte; transfers do not overlap with computation.\n",
                     LINK_JOULES * 1e12);
    sy_buffer_printf(text, "Declared power in watts, idle + busy, where no sample has it:");
    for (uint32_t c = 0; c < SY_DYPE_CLASSES; c++) {
        sy_buffer_printf(text, "%s %s %g + %g", c ? "," : "", times->classes[c],
                         declared[c].idle_watts, declared[c].work_watts);
    }
    sy_buffer_printf(text, ".\n");
}
