/* SPDX-License-Identifier: Apache-2.0
 *
 * extend on a CUDA or OpenCL device, without the engine, for bench/genomics_extend.c. What is not
 * built, or not there, says so.
 */
#ifndef TEST_GENOMICS_EXTEND_DEVICES_H
#define TEST_GENOMICS_EXTEND_DEVICES_H

#include "extend_cases.h"
#include <time.h>
#ifdef GUEST_CUDA
#include "genomics/align/extend_cuda.h"
#endif
#ifdef GUEST_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include "extend_cl.h"
#include "opencl_device.h"
#endif

/* Extensions of one world by a device; the best time of some turns. 0, or what is wrong. */
typedef const char *(*device_function)(const struct world *world, int turns, double *ret_ns);

/* --- CUDA ------------------------------------------------------------------------------------- */

#ifdef GUEST_CUDA
static void *upload(const void *from, uint64_t bytes) {
    void *to = NULL;
    bool fine = cudaMalloc(&to, bytes + 1) == cudaSuccess &&
                (!from || cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    return fine ? to : NULL;
}

static const char *run_cuda(const struct world *world, int turns, double *ret_ns) {
    uint64_t bytes = world->jobs->job_count * sizeof(struct gn_extension);
    void *index = upload(world->index, world->index->bytes);
    void *reads = upload(world->reads, world->reads->bytes);
    void *jobs = upload(world->jobs, world->jobs->bytes), *out = upload(NULL, bytes);
    cudaEvent_t from, to;
    bool fine = index && reads && jobs && out && !cudaEventCreate(&from) && !cudaEventCreate(&to);
    *ret_ns = 1e300;
    for (int turn = 0; turn < turns && fine; turn++) {
        float ms = 0;
        fine = !cudaEventRecord(from, 0) &&
               !gn_cuda_extend(index, reads, jobs, world->jobs->bytes, out, bytes, 0) &&
               !cudaEventRecord(to, 0) && !cudaEventSynchronize(to) &&
               !cudaEventElapsedTime(&ms, from, to);
        *ret_ns = ms * 1e6 < *ret_ns ? ms * 1e6 : *ret_ns;
    }
    fine = fine && !cudaMemcpy(world->out[1], out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(index);
    cudaFree(reads);
    cudaFree(jobs);
    cudaFree(out);
    return fine ? NULL : cudaGetErrorString(cudaGetLastError());
}

static const char *has_cuda(void) {
    int count = 0;
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        return "no CUDA device";
    }
    if (!cudaDeviceGetDefaultMemPool(&pool, 0)) { /* as whoever uses it again and again would */
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
    }
    return NULL;
}
#else
static const char *run_cuda(const struct world *world, int turns, double *ret_ns) {
    (void)world, (void)turns, (void)ret_ns;
    return "built without CUDA";
}
static const char *has_cuda(void) {
    return "built without CUDA";
}
#endif

/* --- OpenCL ----------------------------------------------------------------------------------- */

#ifdef GUEST_OPENCL
static struct opencl_device opencl;
static cl_mem opencl_scratch;

static const char *has_opencl(void) {
    cl_int status = CL_SUCCESS;
    const char *why = opencl_open(&opencl, extend_cl, "extend");
    if (!why) {
        opencl_scratch =
            clCreateBuffer(opencl.context, CL_MEM_READ_WRITE,
                           (size_t)GN_EXTEND_SLOT_BYTES * GN_EXTEND_SLOTS, NULL, &status);
    }
    return status ? "no memory on the OpenCL device" : why;
}

static const char *run_opencl(const struct world *world, int turns, double *ret_ns) {
    cl_ulong count = world->jobs->job_count, slot = GN_EXTEND_SLOT_BYTES;
    const void *from[4] = {world->index, world->reads, world->jobs, NULL};
    size_t bytes[4] = {world->index->bytes, world->reads->bytes, world->jobs->bytes,
                       count * sizeof(struct gn_extension)};
    cl_mem memory[4];
    cl_int status = CL_SUCCESS;
    for (cl_uint at = 0; at < 4; at++) {
        memory[at] = clCreateBuffer(
            opencl.context, CL_MEM_READ_WRITE | (from[at] ? CL_MEM_COPY_HOST_PTR : 0),
            bytes[at] + (from[at] ? 0 : 1), (void *)(uintptr_t)from[at], &status);
        clSetKernelArg(opencl.kernel, at, sizeof(cl_mem), &memory[at]);
    }
    clSetKernelArg(opencl.kernel, 4, sizeof(count), &count);
    clSetKernelArg(opencl.kernel, 5, sizeof(cl_mem), &opencl_scratch);
    clSetKernelArg(opencl.kernel, 6, sizeof(slot), &slot);
    *ret_ns = 1e300;
    size_t items = GN_EXTEND_SLOTS, group = 1;
    for (int turn = 0; turn < turns && !status; turn++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        status = clEnqueueNDRangeKernel(opencl.queue, opencl.kernel, 1, NULL, &items, &group, 0,
                                        NULL, NULL);
        status = status ? status : clFinish(opencl.queue);
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ns =
            1e9 * (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec);
        *ret_ns = ns < *ret_ns ? ns : *ret_ns;
    }
    status = status ? status
                    : clEnqueueReadBuffer(opencl.queue, memory[3], CL_TRUE, 0, bytes[3],
                                          world->out[1], 0, NULL, NULL);
    for (int at = 0; at < 4; at++) {
        clReleaseMemObject(memory[at]);
    }
    return status ? "an OpenCL call failed" : NULL;
}
#else
static const char *run_opencl(const struct world *world, int turns, double *ret_ns) {
    (void)world, (void)turns, (void)ret_ns;
    return "built without OpenCL";
}
static const char *has_opencl(void) {
    return "built without OpenCL";
}
#endif

#endif
