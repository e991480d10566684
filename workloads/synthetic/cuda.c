/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic kernels on CUDA devices.
 *
 * In: data in device memory, a stream of the calling thread's current device. Out: enqueued work;
 * nothing is waited for. Pinned staging and its counterpart on the device belong to a lane, one per
 * device and stream, made when the device is prepared. A stream serves one thread at a time.
 */
#include "load.h"
#include "synthetic.h"
#include <errno.h>
#include <stdlib.h>

struct lane {
    void *staging; /* pinned, on the host */
    void *moved;   /* the same on the device */
    double *sink;  /* on the device */
};

static struct guest_lanes lanes;

static int failed(const struct sy_call *call, const char *what, cudaError_t status) {
    return status == cudaSuccess
               ? 0
               : guest_call_fail(call, status == cudaErrorMemoryAllocation ? -ENOMEM : -EIO,
                                 "%s: %s", what, cudaGetErrorString(status));
}

static int make_lane(const struct sy_call *call, void **ret_lane) {
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        return guest_call_fail(call, -ENOMEM, "out of memory");
    }
    int code = failed(call, "cudaHostAlloc",
                      cudaHostAlloc(&lane->staging, SYNTHETIC_STAGING_BYTES, cudaHostAllocDefault));
    code =
        code ? code : failed(call, "cudaMalloc", cudaMalloc(&lane->moved, SYNTHETIC_STAGING_BYTES));
    code =
        code ? code : failed(call, "cudaMalloc", cudaMalloc((void **)&lane->sink, sizeof(double)));
    if (code) {
        cudaFreeHost(lane->staging);
        cudaFree(lane->moved);
        free(lane);
        return code;
    }
    *ret_lane = lane;
    return 0;
}

static int open_lane(const struct sy_call *call, struct lane **ret_lane) {
    return guest_lane_open(&lanes, call, make_lane, (void **)ret_lane);
}

static int prepare(const struct sy_call *call) {
    struct lane *lane = NULL;
    return open_lane(call, &lane);
}

static int stamp(const struct sy_call *call) {
    int code = 0;
    for (uint32_t at = 0; !code && call->part == 0 && at < call->argument_count; at++) {
        const struct sy_argument *argument = &call->arguments[at];
        if ((argument->mode & SY_WRITE) && argument->bytes >= sizeof(double)) {
            code = failed(call, "stamp",
                          synthetic_cuda_stamp(argument->pointer, (argument->mode & SY_READ) != 0,
                                               call->queue));
        }
    }
    return code;
}

static int spin(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    code = code ? code
                : failed(call, "spin",
                         synthetic_cuda_spin(synthetic_share(call), lane->sink, call->queue));
    return code ? code : stamp(call);
}

static int stream(const struct sy_call *call) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    uint32_t passes = synthetic_passes(call);
    for (uint32_t pass = 0; pass < passes; pass++) {
        for (uint32_t at = 0; !code && at < call->argument_count; at++) {
            const struct sy_argument *argument = &call->arguments[at];
            uint64_t count = argument->bytes / sizeof(double);
            int keep = pass > 0 || (argument->mode & SY_READ) != 0;
            if (count == 0) {
                continue;
            }
            code = failed(
                call, "stream",
                argument->mode & SY_WRITE
                    ? synthetic_cuda_add_one(count, argument->pointer, keep, call->queue)
                    : synthetic_cuda_read_all(count, argument->pointer, lane->sink, call->queue));
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
        code = failed(call, "a copy",
                      cudaMemcpyAsync(back ? lane->staging : lane->moved,
                                      back ? lane->moved : lane->staging, bytes,
                                      back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                                      call->queue));
        back = !back;
    }
    return code ? code : stamp(call);
}

static int emulate(const struct sy_call *call) {
    uint64_t ns = (uint64_t)synthetic_share(call);
    int code = failed(call, "emulate", synthetic_cuda_wait(ns, call->queue));
    return code ? code : stamp(call);
}

SY_API extern const struct synthetic_part synthetic_cuda;
const struct synthetic_part synthetic_cuda = {prepare, {spin, stream, transfer, emulate}};
