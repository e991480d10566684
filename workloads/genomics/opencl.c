/* SPDX-License-Identifier: Apache-2.0
 *
 * extend and pairhmm on OpenCL devices. A lane per queue holds kernel objects and scratch; a queue
 * serves one thread at a time. Each call only enqueues.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "extend_cl.h"
#include "genomics/align/extend.h"
#include "genomics/devices.h"
#include "hmm_cl.h"
#include <CL/cl.h>
#include <errno.h>
#include <stdlib.h>

enum { GROUP = 16, EXTENDERS = 64 /* work-items, each with scratch of a megabyte */, PAIRS = 4096 };
enum { EXTEND, PAIRHMM, KERNEL_COUNT };

struct lane {
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem scratch;
};

static struct guest_lanes lanes;

static int failed(const struct sy_call *call, const char *what, cl_int status) {
    return status == CL_SUCCESS
               ? 0
               : guest_call_fail(call, status == CL_MEM_OBJECT_ALLOCATION_FAILURE ? -ENOMEM : -EIO,
                                 "%s failed with OpenCL's error %d", what, status);
}

static cl_int compile(const struct sy_call *call, const char *text, const char *name,
                      cl_kernel *ret_kernel) {
    cl_int status = CL_SUCCESS;
    cl_device_id device = call->opencl_device;
    cl_program program = clCreateProgramWithSource(call->context, 1, &text, NULL, &status);
    if (status == CL_SUCCESS) {
        status = clBuildProgram(program, 1, &device, "", NULL, NULL);
    }
    if (status == CL_SUCCESS) {
        *ret_kernel = clCreateKernel(program, name, &status);
    }
    return status;
}

static int make_lane(const struct sy_call *call, void **ret_lane) {
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        return -ENOMEM;
    }
    cl_int status = compile(call, extend_cl, "extend", &lane->kernels[EXTEND]);
    if (status == CL_SUCCESS) {
        status = compile(call, hmm_cl, "pairhmm", &lane->kernels[PAIRHMM]);
    }
    if (status == CL_SUCCESS) {
        lane->scratch = clCreateBuffer(call->context, CL_MEM_READ_WRITE,
                                       (size_t)EXTENDERS * GN_EXTEND_SLOT_BYTES, NULL, &status);
    }
    if (status != CL_SUCCESS) {
        free(lane);
        return failed(call, "preparing the kernels", status);
    }
    clRetainCommandQueue(call->queue); /* so that no later queue can have the same address */
    *ret_lane = lane;
    return 0;
}

static int open_lane(const struct sy_call *call, struct lane **ret_lane) {
    void *lane = NULL;
    int code = guest_lane_open(&lanes, call, make_lane, &lane);
    if (code == 0) {
        *ret_lane = lane;
    }
    return code;
}

static int prepare(const struct sy_call *call) {
    struct lane *lane = NULL;
    return open_lane(call, &lane);
}

/* All data of the call, then whatever else the kernel takes. */
static cl_int set_data(const struct sy_call *call, cl_kernel kernel) {
    cl_int status = CL_SUCCESS;
    for (uint32_t i = 0; i < call->argument_count && status == CL_SUCCESS; i++) {
        cl_mem memory = call->arguments[i].pointer;
        status = clSetKernelArg(kernel, i, sizeof memory, &memory);
    }
    return status;
}

static cl_int launch(const struct sy_call *call, cl_kernel kernel, size_t items) {
    size_t group = GROUP;
    return clEnqueueNDRangeKernel(call->queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
}

static int extend(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    if (code) {
        return code;
    }
    cl_kernel kernel = lane->kernels[EXTEND];
    cl_ulong count = call->arguments[3].bytes / sizeof(struct gn_extension);
    cl_ulong slot = GN_EXTEND_SLOT_BYTES;
    cl_int status = set_data(call, kernel);
    status = status ? status : clSetKernelArg(kernel, 4, sizeof count, &count);
    status = status ? status : clSetKernelArg(kernel, 5, sizeof lane->scratch, &lane->scratch);
    status = status ? status : clSetKernelArg(kernel, 6, sizeof slot, &slot);
    return failed(call, "extend", status ? status : launch(call, kernel, EXTENDERS));
}

static int pairhmm(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    if (code) {
        return code;
    }
    cl_kernel kernel = lane->kernels[PAIRHMM];
    cl_ulong count = call->arguments[1].bytes / sizeof(float);
    cl_int status = set_data(call, kernel);
    status = status ? status : clSetKernelArg(kernel, 2, sizeof count, &count);
    return failed(call, "pairhmm", status ? status : launch(call, kernel, PAIRS));
}

SY_API extern const struct gn_device_part gn_opencl;
const struct gn_device_part gn_opencl = {prepare, {[GN_EXTEND] = extend, [GN_PAIRHMM] = pairhmm}};
