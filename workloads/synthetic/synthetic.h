/* SPDX-License-Identifier: Apache-2.0
 *
 * synthetic: kernels that press on one thing each, to make contention on purpose.
 *
 * spin computes (work: flops), stream passes over its data (work: passes), transfer moves bytes
 * over the link of its device (work: bytes), emulate takes time and does nothing (work: ns). Any
 * number of arguments of any size; what is whole in doubles is worked on. Each leaves a trace that
 * can be checked: stream adds 1 per pass to all elements of what it may write, the others add 1 to
 * the first element. Where an argument is only written, its old value counts as 0.
 */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "../guest.h"

enum synthetic_kernel {
    SYNTHETIC_SPIN,
    SYNTHETIC_STREAM,
    SYNTHETIC_TRANSFER,
    SYNTHETIC_EMULATE,
    SYNTHETIC_KERNEL_COUNT
};

/* What one flavour offers. */
struct synthetic_part {
    int (*prepare)(const struct sy_call *call);
    sy_kernel_function run[SYNTHETIC_KERNEL_COUNT];
};

extern const struct synthetic_part synthetic_c;
extern const char *const synthetic_names[SYNTHETIC_KERNEL_COUNT];
#define SYNTHETIC_CUDA_FILE     "synthetic/synthetic_cuda.so"
#define SYNTHETIC_CUDA_SYMBOL   "synthetic_cuda"
#define SYNTHETIC_OPENCL_FILE   "synthetic/synthetic_opencl.so"
#define SYNTHETIC_OPENCL_SYMBOL "synthetic_opencl"

#define SYNTHETIC_STAGING_BYTES (16u << 20) /* of transfer: what goes over the link at a time */

/* Passes of stream: work as a whole number, at least one. */
static inline uint32_t synthetic_passes(const struct sy_call *call) {
    return call->work >= 1 ? (uint32_t)(call->work < 1e9 ? call->work : 1e9) : 1;
}

/* Of the work of a call that may be one of several parts. */
static inline double synthetic_share(const struct sy_call *call) {
    return call->work > 0 ? call->work / (call->part_count > 1 ? call->part_count : 1) : 0;
}

/* Waits until the monotonic clock says so: asleep as long as that is precise, then awake. */
void synthetic_wait_until(uint64_t until_ns, bool may_sleep);
uint64_t synthetic_now_ns(void);
uint64_t synthetic_own_ns(void); /* CPU time of the calling thread */

/* The workload contend. */
int synthetic_build(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                    struct sy_error *error);
int synthetic_fill(void *state, uint32_t datum, void *pointer, uint64_t bytes);
int synthetic_check(void *state, void *const *data, double *ret_error, double *ret_tolerance,
                    struct sy_error *error);
/* The workload stream. */
int synthetic_drive(const char *arguments, struct sy_session *session, struct sy_error *error);

#endif
