/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of synthetic.so: kernels by flavour, and the workloads contend and stream.
 *
 * CUDA and OpenCL live in parts that are loaded when such a device is prepared.
 */
#include "synthetic.h"
#include <stdlib.h>

/* Loaded at most once; each holds nothing but an atomic pointer. */
static struct guest_part parts[SY_FLAVOUR_COUNT] = {
    [SY_FLAVOUR_C] = {NULL, NULL, &synthetic_c},
    [SY_FLAVOUR_CUDA] = {SYNTHETIC_CUDA_FILE, SYNTHETIC_CUDA_SYMBOL, NULL},
    [SY_FLAVOUR_OPENCL] = {SYNTHETIC_OPENCL_FILE, SYNTHETIC_OPENCL_SYMBOL, NULL},
};

const char *const synthetic_names[SYNTHETIC_KERNEL_COUNT] = {"spin", "stream", "transfer",
                                                             "emulate"};

static const struct sy_kernel_entry kernels[SYNTHETIC_KERNEL_COUNT];

static int run(const struct sy_call *call) {
    const void *part = NULL;
    int code = guest_part_load(parts, call, &part);
    return code ? code : ((const struct synthetic_part *)part)->run[call->entry - kernels](call);
}

static int prepare(const struct sy_call *call) {
    return guest_part_prepare(parts, call);
}

static double argument_bytes(const struct sy_call *call) {
    double bytes = 0;
    for (uint32_t at = 0; at < call->argument_count; at++) {
        bytes += (double)call->arguments[at].bytes;
    }
    return bytes;
}

static void stream_features(const struct sy_call *call, struct sy_cost_features *ret_features) {
    double bytes = argument_bytes(call) * synthetic_passes(call);
    *ret_features = (struct sy_cost_features){bytes / sizeof(double), bytes};
}

static void transfer_features(const struct sy_call *call, struct sy_cost_features *ret_features) {
    *ret_features = (struct sy_cost_features){0, call->work};
}

enum { PARTS = 64 }; /* what only takes time can be split as one likes */

#define ENTRY(word, summary, features, parts)                                                      \
    {                                                                                              \
#word, summary, 0,                                                                         \
            {0 }, {run, GUEST_IF_CUDA(run), GUEST_IF_OPENCL(run) }, features, .prepare = prepare,  \
                                                                              .part_max = parts    \
    }

static const struct sy_kernel_entry kernels[SYNTHETIC_KERNEL_COUNT] = {
    ENTRY(spin, "computes in registers; work: flops", NULL, PARTS),
    ENTRY(stream, "passes over its data in memory; work: passes", stream_features, 0),
    ENTRY(transfer, "moves bytes between host and device; work: bytes", transfer_features, 0),
    ENTRY(emulate, "emulation: takes so long and computes nothing; work: ns", NULL, PARTS),
};

static const struct sy_kernel_workload workloads[] = {
    {"contend", "tasks that press on cores, memory or the link to the device",
     "tasks=64,kind=spin+stream+transfer+emulate,shape=independent|chains|forkjoin[,width=8]"
     "[,bytes=1048576][,flops=1e8][,passes=8][,link=64e6][,ns=1e6]",
     "tasks=16,kind=spin tasks=16,kind=stream tasks=16,kind=transfer", synthetic_build,
     synthetic_fill, synthetic_check, free, NULL},
    {"stream", "items that flow through three stages whose sizes depend on the data",
     "items=200,jobs=3[,window=32][,bytes=65536][,flops=1e5][,seed=1]", "", NULL, NULL, NULL, NULL,
     synthetic_drive},
};

static const struct sy_kernel_table table = {
    .name = "synthetic",
    .version = SYMPH_VERSION,
    .summary = "tunable load on cores, memory and links",
    .kernels = kernels,
    .kernel_count = SYNTHETIC_KERNEL_COUNT,
    .workloads = workloads,
    .workload_count = GUEST_COUNT(workloads),
};

SY_KERNEL_PLUGIN(table);
