/* SPDX-License-Identifier: Apache-2.0
 *
 * What cores, and the CUDA and OpenCL parts of genomics, offer: a function per stage that they
 * have.
 */
#ifndef GENOMICS_DEVICES_H
#define GENOMICS_DEVICES_H

#include "genomics/flow.h"

#define GN_CUDA_FILE     "genomics/genomics_cuda.so"
#define GN_CUDA_SYMBOL   "gn_cuda"
#define GN_OPENCL_FILE   "genomics/genomics_opencl.so"
#define GN_OPENCL_SYMBOL "gn_opencl"

struct gn_device_part {
    int (*prepare)(const struct sy_call *call);
    sy_kernel_function run[GN_STAGE_COUNT]; /* NULL: not on this kind of device */
};
extern const struct gn_device_part gn_c;

#endif
