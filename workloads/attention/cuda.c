/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA part of attention: calls with device memory in, launches on the call's stream out.
 */
#include "attention/attention.h"
#include "attention/window_cuda.h"
#include <errno.h>

static int prepare(const struct sy_call *call) {
    (void)call;
    return 0; /* nothing but kernels, which the driver has loaded with the part */
}

static int run(enum attn_kernel kernel, const struct attn_shape *shape,
               const struct sy_call *call) {
    struct attn_cuda_shape sizes = {shape->length, shape->batch, shape->model, shape->heads,
                                    shape->width,  shape->half,  shape->slots};
    void *in = call->arguments[0].pointer, *next = call->arguments[1].pointer;
    cudaError_t status = cudaErrorInvalidValue;
    switch (kernel) {
    case ATTN_SCORES:
        status = attn_cuda_scores(&sizes, in, next, call->queue);
        break;
    case ATTN_SOFTMAX:
        status = attn_cuda_softmax(&sizes, in, next, call->queue);
        break;
    case ATTN_MIX:
        status = attn_cuda_mix(&sizes, in, next, call->arguments[2].pointer, call->queue);
        break;
    case ATTN_ATTENTION:
        status = attn_cuda_attention(&sizes, in, next, call->queue);
        break;
    default:
        return -EINVAL;
    }
    return status == cudaSuccess
               ? 0
               : guest_call_fail(call, status == cudaErrorMemoryAllocation ? -ENOMEM : -EIO,
                                 "%s: %s", attn_names[kernel], cudaGetErrorString(status));
}

SY_API extern const struct attn_device_part attn_cuda;
const struct attn_device_part attn_cuda = {prepare, run};
