/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic kernels on OpenCL devices.
 *
 * In: cl_mem data and an in-order queue. Out: enqueued work; only emulate waits, since OpenCL C has
 * no clock: it lets the queue run dry and then sleeps, so that the host's cores stay free.
 * A lane per queue holds kernel objects and staging memory; a queue serves one thread at a time.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "load_cl.h"
#include "synthetic.h"
#include <CL/cl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64, SPINNERS = 1 << 14 };
enum { STAMP, SPIN, ADD_ONE, READ_ALL, KERNEL_COUNT };

/* Lives as long as the process: queues do. */
struct lane {
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem sink, moved; /* a double; SYNTHETIC_STAGING_BYTES on the device */
    char *staging;      /* the same on the host */
    bool warm;
};

static struct guest_lanes lanes;

static int failed(const struct sy_call *call, const char *what, cl_int status) {
    return status == CL_SUCCESS
               ? 0
               : guest_call_fail(call, status == CL_MEM_OBJECT_ALLOCATION_FAILURE ? -ENOMEM : -EIO,
                                 "%s failed with OpenCL's error %d", what, status);
}

/* --- lanes ------------------------------------------------------------------------------------ */

static int fill_lane(const struct sy_call *call, struct lane *lane) {
    static const char *const names[KERNEL_COUNT] = {"stamp", "spin", "add_one", "read_all"};
    const char *text = load_cl;
    cl_device_id device = call->opencl_device;
    cl_int status = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(call->context, 1, &text, NULL, &status);
    if (status == CL_SUCCESS) {
        status = clBuildProgram(program, 1, &device, "", NULL, NULL);
    }
    for (int at = 0; status == CL_SUCCESS && at < KERNEL_COUNT; at++) {
        lane->kernels[at] = clCreateKernel(program, names[at], &status);
    }
    if (status != CL_SUCCESS) {
        return failed(call, "compiling the kernels", status);
    }
    lane->sink = clCreateBuffer(call->context, CL_MEM_READ_WRITE, sizeof(double), NULL, &status);
    if (status == CL_SUCCESS) {
        lane->moved = clCreateBuffer(call->context, CL_MEM_READ_WRITE, SYNTHETIC_STAGING_BYTES,
                                     NULL, &status);
    }
    lane->staging = calloc(1, SYNTHETIC_STAGING_BYTES);
    if (status != CL_SUCCESS || !lane->staging) {
        return failed(call, "allocating staging memory",
                      status ? status : CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
    /* Retained, so that no later queue can have the same address. */
    clRetainCommandQueue(call->queue);
    return 0;
}

static int make_lane(const struct sy_call *call, void **ret_lane) {
    struct lane *lane = calloc(1, sizeof *lane);
    int code = lane ? fill_lane(call, lane) : guest_call_fail(call, -ENOMEM, "out of memory");
    if (code) {
        free(lane);
        return code;
    }
    *ret_lane = lane;
    return 0;
}

static int open_lane(const struct sy_call *call, struct lane **ret_lane) {
    return guest_lane_open(&lanes, call, make_lane, (void **)ret_lane);
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int launch(const struct sy_call *call, cl_kernel kernel, cl_ulong items) {
    size_t group = items >= GROUP ? GROUP : 1;
    size_t all = (size_t)((items + group - 1) / group * group);
    return failed(
        call, "clEnqueueNDRangeKernel",
        clEnqueueNDRangeKernel(call->queue, kernel, 1, NULL, &all, &group, 0, NULL, NULL));
}

static int stamp(const struct sy_call *call, struct lane *lane) {
    int code = 0;
    for (uint32_t at = 0; !code && call->part == 0 && at < call->argument_count; at++) {
        const struct sy_argument *argument = &call->arguments[at];
        cl_mem memory = argument->pointer;
        cl_int keep = (argument->mode & SY_READ) != 0;
        if ((argument->mode & SY_WRITE) && argument->bytes >= sizeof(double)) {
            clSetKernelArg(lane->kernels[STAMP], 0, sizeof(memory), &memory);
            clSetKernelArg(lane->kernels[STAMP], 1, sizeof(keep), &keep);
            code = launch(call, lane->kernels[STAMP], 1);
        }
    }
    return code;
}

static int spin(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    if (code) {
        return code;
    }
    cl_ulong rounds = (cl_ulong)(synthetic_share(call) / (2.0 * SPINNERS)) + 1;
    clSetKernelArg(lane->kernels[SPIN], 0, sizeof(rounds), &rounds);
    clSetKernelArg(lane->kernels[SPIN], 1, sizeof(lane->sink), &lane->sink);
    code = launch(call, lane->kernels[SPIN], SPINNERS);
    return code ? code : stamp(call, lane);
}

static int pass_over(const struct sy_call *call, struct lane *lane,
                     const struct sy_argument *argument, bool keep) {
    bool writes = (argument->mode & SY_WRITE) != 0;
    cl_kernel kernel = lane->kernels[writes ? ADD_ONE : READ_ALL];
    cl_mem memory = argument->pointer;
    cl_ulong count = argument->bytes / sizeof(double);
    cl_int flag = keep;
    if (count == 0) {
        return 0;
    }
    clSetKernelArg(kernel, 0, sizeof(count), &count);
    clSetKernelArg(kernel, 1, sizeof(memory), &memory);
    if (writes) {
        clSetKernelArg(kernel, 2, sizeof(flag), &flag);
    } else {
        clSetKernelArg(kernel, 2, sizeof(lane->sink), &lane->sink);
    }
    return launch(call, kernel, count);
}

static int stream(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    uint32_t passes = synthetic_passes(call);
    for (uint32_t pass = 0; pass < passes; pass++) {
        for (uint32_t at = 0; !code && at < call->argument_count; at++) {
            const struct sy_argument *argument = &call->arguments[at];
            code = pass_over(call, lane, argument, pass > 0 || (argument->mode & SY_READ));
        }
    }
    return code;
}

/* To the device and back in turn. */
static int transfer(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    bool back = false;
    for (double left = call->work; !code && left > 0; left -= SYNTHETIC_STAGING_BYTES) {
        size_t bytes =
            left < SYNTHETIC_STAGING_BYTES ? (size_t)left + 1 : (size_t)SYNTHETIC_STAGING_BYTES;
        cl_int status = back ? clEnqueueReadBuffer(call->queue, lane->moved, CL_FALSE, 0, bytes,
                                                   lane->staging, 0, NULL, NULL)
                             : clEnqueueWriteBuffer(call->queue, lane->moved, CL_FALSE, 0, bytes,
                                                    lane->staging, 0, NULL, NULL);
        code = failed(call, "a copy", status);
        back = !back;
    }
    return code ? code : stamp(call, lane);
}

static int emulate(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    code = code ? code : failed(call, "clFinish", clFinish(call->queue));
    if (code) {
        return code;
    }
    uint64_t begun_ns = synthetic_now_ns();
    code = stamp(call, lane);
    clFlush(call->queue);
    synthetic_wait_until(begun_ns + (uint64_t)synthetic_share(call), true);
    return code;
}

/* Each kernel once: some compile at the first launch, which takes seconds. */
static int warm_up(const struct sy_call *call, struct lane *lane) {
    struct sy_argument arguments[] = {
        {lane->moved, SYNTHETIC_STAGING_BYTES, SY_READ_WRITE},
        {lane->moved, SYNTHETIC_STAGING_BYTES, SY_READ},
    };
    struct sy_call mine = *call;
    mine.arguments = arguments;
    mine.argument_count = GUEST_COUNT(arguments);
    mine.work = 1;
    int code = spin(&mine);
    code = code ? code : stream(&mine);
    code = code ? code : failed(call, "clFinish", clFinish(call->queue));
    lane->warm = !code;
    return code;
}

static int prepare(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    return code || lane->warm ? code : warm_up(call, lane);
}

SY_API extern const struct synthetic_part synthetic_opencl;
const struct synthetic_part synthetic_opencl = {prepare, {spin, stream, transfer, emulate}};
