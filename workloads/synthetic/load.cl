/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic kernels in OpenCL C; what each does is said in synthetic.h.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void stamp(__global double *data, int keep) {
    data[0] = (keep ? data[0] : 0.0) + 1.0;
}

/* Each work-item makes its own chain of rounds multiplications and additions. */
__kernel void spin(ulong rounds, __global double *sink) {
    double value = 0.0;
    for (ulong at = 0; at < rounds; at++) {
        value = value * 0.5 + 1.0;
    }
    if (value < 0.0) { /* never, but the compiler cannot know */
        sink[0] = value;
    }
}

__kernel void add_one(ulong count, __global double *data, int keep) {
    ulong at = get_global_id(0);
    if (at < count) {
        data[at] = (keep ? data[at] : 0.0) + 1.0;
    }
}

__kernel void read_all(ulong count, __global const double *data, __global double *sink) {
    ulong at = get_global_id(0);
    if (at < count && data[at] == -1.2345678e300) {
        sink[0] = 1.0;
    }
}
