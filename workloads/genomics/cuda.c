/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages on CUDA devices. Blobs are in device memory already; each call only enqueues. Scratch
 * comes from the device's pool, which keeps what it has: asking the driver anew would stall every
 * stream.
 */
#include "genomics/align/extend_cuda.h"
#include "genomics/align/map_cuda.h"
#include "genomics/call/call_cuda.h"
#include "genomics/devices.h"
#include <errno.h>

static int failed(const struct sy_call *call, const char *what, cudaError_t status) {
    return status == cudaSuccess
               ? 0
               : guest_call_fail(call, status == cudaErrorMemoryAllocation ? -ENOMEM : -EIO,
                                 "%s: %s", what, cudaGetErrorString(status));
}

static void *argument(const struct sy_call *call, uint32_t number) {
    return call->arguments[number].pointer;
}

static uint64_t bytes_of(const struct sy_call *call, uint32_t number) {
    return call->arguments[number].bytes;
}

static int prepare(const struct sy_call *call) {
    int device = 0;
    cudaMemPool_t pool = NULL;
    uint64_t all = UINT64_MAX;
    int code = failed(call, "cudaGetDevice", cudaGetDevice(&device));
    code = code ? code
                : failed(call, "cudaDeviceGetDefaultMemPool",
                         cudaDeviceGetDefaultMemPool(&pool, device));
    return code ? code
                : failed(call, "cudaMemPoolSetAttribute",
                         cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

static int map(const struct sy_call *call) {
    return failed(call, "map",
                  gn_cuda_map(argument(call, 0), argument(call, 1), argument(call, 2),
                              bytes_of(call, 2), call->queue));
}

static int extend(const struct sy_call *call) {
    return failed(call, "extend",
                  gn_cuda_extend(argument(call, 0), argument(call, 1), argument(call, 2),
                                 bytes_of(call, 2), argument(call, 3), bytes_of(call, 3),
                                 call->queue));
}

static int sort(const struct sy_call *call) {
    return failed(call, "sort",
                  gn_cuda_sort(argument(call, 0), bytes_of(call, 0), argument(call, 1),
                               bytes_of(call, 1), call->queue));
}

static int activity(const struct sy_call *call) {
    return failed(call, "activity",
                  gn_cuda_activity(argument(call, 0), argument(call, 1), argument(call, 2),
                                   argument(call, 3), bytes_of(call, 3), call->queue));
}

static int pairhmm(const struct sy_call *call) {
    return failed(
        call, "pairhmm",
        gn_cuda_hmm(argument(call, 0), argument(call, 1), bytes_of(call, 1), call->queue));
}

SY_API extern const struct gn_device_part gn_cuda;
const struct gn_device_part gn_cuda = {prepare,
                                       {[GN_MAP] = map,
                                        [GN_EXTEND] = extend,
                                        [GN_SORT] = sort,
                                        [GN_ACTIVITY] = activity,
                                        [GN_PAIRHMM] = pairhmm}};
