/* SPDX-License-Identifier: Apache-2.0
 *
 * The first OpenCL device with one kernel on it, for tests and benches that call it directly.
 */
#ifndef TESTS_OPENCL_DEVICE_H
#define TESTS_OPENCL_DEVICE_H

#include <CL/cl.h>

struct opencl_device {
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
};

/* NULL, or why there is none. What is made stays until the program ends. */
static inline const char *opencl_open(struct opencl_device *ret_device, const char *text,
                                      const char *kernel) {
    cl_platform_id platform;
    cl_device_id device;
    cl_uint count = 0;
    cl_int status = CL_SUCCESS;
    if (clGetPlatformIDs(1, &platform, &count) || count == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) || count == 0) {
        return "no OpenCL device";
    }
    ret_device->context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status) {
        return "no OpenCL context";
    }
    ret_device->queue = clCreateCommandQueue(ret_device->context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(ret_device->context, 1, &text, NULL, &status);
    if (status || clBuildProgram(program, 1, &device, "", NULL, NULL)) {
        return "the OpenCL kernel does not compile";
    }
    ret_device->kernel = clCreateKernel(program, kernel, &status);
    return status ? "the OpenCL program has no such kernel" : NULL;
}

#endif
