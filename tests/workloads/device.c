/* SPDX-License-Identifier: Apache-2.0
 *
 * Accelerators without an engine: data are copied there for each call, and back.
 */
#include "harness.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#ifdef GUEST_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static bool open_opencl(struct device *ret_device) {
    cl_platform_id platforms[8];
    cl_device_id found = NULL;
    cl_uint count = 0;
    clGetPlatformIDs(8, platforms, &count);
    for (cl_uint at = 0; !found && at < count && at < 8; at++) {
        cl_device_fp_config doubles = 0;
        if (clGetDeviceIDs(platforms[at], CL_DEVICE_TYPE_ALL, 1, &found, NULL) != CL_SUCCESS ||
            clGetDeviceInfo(found, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(doubles), &doubles, NULL) !=
                CL_SUCCESS ||
            doubles == 0) {
            found = NULL;
        }
    }
    if (!found) {
        printf("no OpenCL device with double precision\n");
        return false;
    }
    cl_context context = clCreateContext(NULL, 1, &found, NULL, NULL, NULL);
    cl_command_queue queue = context ? clCreateCommandQueue(context, found, 0, NULL) : NULL;
    if (!queue) {
        printf("the OpenCL device cannot be opened\n");
        return false;
    }
    *ret_device = (struct device){SY_FLAVOUR_OPENCL, found, context, queue};
    return true;
}

static void close_opencl(struct device *device) {
    clFinish(device->queue);
    clReleaseCommandQueue(device->queue);
    clReleaseContext(device->context);
}

static void *bring_opencl(const struct device *device, const struct sy_argument *argument) {
    return clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                          argument->bytes, argument->pointer, NULL);
}

static bool fetch_opencl(const struct device *device, void *from, void *to, uint64_t bytes) {
    return clEnqueueReadBuffer(device->queue, from, CL_TRUE, 0, bytes, to, 0, NULL, NULL) ==
           CL_SUCCESS;
}

static void drop_opencl(const struct device *device, void *memory) {
    clFinish(device->queue);
    clReleaseMemObject(memory);
}
#endif

#ifdef GUEST_CUDA
#include <cuda_runtime.h>

static bool open_cuda(struct device *ret_device) {
    int count = 0;
    cudaStream_t stream = NULL;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0) {
        status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    }
    if (!stream) {
        printf("no CUDA device: %s\n", cudaGetErrorString(status));
        return false;
    }
    *ret_device = (struct device){SY_FLAVOUR_CUDA, NULL, NULL, stream};
    return true;
}

static void close_cuda(struct device *device) {
    cudaStreamSynchronize(device->queue);
    cudaStreamDestroy(device->queue);
}

static void *bring_cuda(const struct device *device, const struct sy_argument *argument) {
    void *memory = NULL;
    (void)device;
    if (cudaMalloc(&memory, argument->bytes) != cudaSuccess) {
        return NULL;
    }
    /* From pageable memory the call returns before the copy is there, and the stream does not wait.
     */
    cudaMemcpy(memory, argument->pointer, argument->bytes, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
    return memory;
}

static bool fetch_cuda(const struct device *device, void *from, void *to, uint64_t bytes) {
    return cudaStreamSynchronize(device->queue) == cudaSuccess &&
           cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
}

static void drop_cuda(const struct device *device, void *memory) {
    cudaStreamSynchronize(device->queue);
    cudaFree(memory);
}
#endif

/* What was built in, by flavour; all NULL: not. */
static const struct {
    const char *name;
    bool (*open)(struct device *ret_device);
    void (*close)(struct device *device);
    void *(*bring)(const struct device *device, const struct sy_argument *argument);
    bool (*fetch)(const struct device *device, void *from, void *to, uint64_t bytes);
    void (*drop)(const struct device *device, void *memory);
} flavours[SY_FLAVOUR_COUNT] = {
#ifdef GUEST_CUDA
    [SY_FLAVOUR_CUDA] = {"cuda", open_cuda, close_cuda, bring_cuda, fetch_cuda, drop_cuda},
#endif
#ifdef GUEST_OPENCL
    [SY_FLAVOUR_OPENCL] = {"opencl", open_opencl, close_opencl, bring_opencl, fetch_opencl,
                           drop_opencl},
#endif
};

bool open_device(const char *flavour, struct device *ret_device) {
    for (uint32_t at = 0; at < SY_FLAVOUR_COUNT; at++) {
        if (flavours[at].name && strcmp(flavours[at].name, flavour) == 0) {
            return flavours[at].open(ret_device);
        }
    }
    printf("built without %s\n", flavour);
    return false;
}

void close_device(struct device *device) {
    flavours[device->flavour].close(device);
}

static int run_there(const struct sy_kernel_entry *entry, struct sy_call *call,
                     const struct device *device) {
    enum sy_flavour flavour = device->flavour;
    struct sy_argument arguments[SY_ARGUMENT_MAX];
    struct sy_call there = *call;
    there.flavour = flavour;
    there.arguments = arguments;
    there.queue = device->queue;
    there.context = device->context;
    there.opencl_device = device->opencl_device;
    for (uint32_t at = 0; at < call->argument_count; at++) {
        arguments[at] = call->arguments[at];
        arguments[at].pointer = flavours[flavour].bring(device, &call->arguments[at]);
        assert_non_null(arguments[at].pointer);
    }
    int code = entry->prepare ? entry->prepare(&there) : 0;
    code = code ? code : entry->functions[flavour](&there);
    for (uint32_t at = 0; at < call->argument_count; at++) {
        if (!code && (arguments[at].mode & SY_WRITE)) {
            assert_true(flavours[flavour].fetch(device, arguments[at].pointer,
                                                call->arguments[at].pointer, arguments[at].bytes));
        }
    }
    for (uint32_t at = 0; at < call->argument_count; at++) {
        flavours[flavour].drop(device, arguments[at].pointer);
    }
    return code;
}

int run_call(const struct sy_kernel_entry *entry, struct sy_call *call,
             const struct device *device) {
    call->entry = entry;
    return device ? run_there(entry, call, device) : entry->functions[SY_FLAVOUR_C](call);
}
