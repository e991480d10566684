/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel for three kinds of devices, step by step: square roots by Newton's method, in C,
 * OpenCL and CUDA. The file is C for a C compiler, and CUDA for NVIDIA's, which adds the third
 * variant:
 *
 *   cc -shared -fPIC $(pkg-config --cflags symph) -o devices.so kernel_devices.c -lOpenCL -lm
 *   nvcc -x cu -std=c++20 -shared -Xcompiler -fPIC $(pkg-config --cflags symph) \
 *       -o devices.so kernel_devices.c -lOpenCL
 *   symph run devices:roots --kernels ./devices.so
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <symph/kernel.h>

enum { BLOCKS = 64, LENGTH = 100000, DEVICES_MAX = 16 };

/* What is computed, the same text in all three languages; with many more rounds than it takes. */
#define NEWTON(x)                                                                                  \
    float square = x;                                                                              \
    for (int round = 0; round < 40; round++) {                                                     \
        x = 0.5f * (x + square / x);                                                               \
    }

/* 1. In C, on one core. Arguments come in the order of the task's accesses, already where the
 * device computes: here pointers to host memory. */
static int roots_c(const struct sy_call *call) {
    float *x = (float *)call->arguments[0].pointer;
    for (uint64_t i = 0; i < call->arguments[0].bytes / sizeof *x; i++) {
        NEWTON(x[i])
    }
    return 0;
}

/* 2. In OpenCL: a text that prepare() compiles once for each device, before its first task. */
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...)    TEXT_OF(__VA_ARGS__)
static const char *text = TEXT(kernel void roots(global float *x){NEWTON(x[get_global_id(0)])});
static cl_program programs[DEVICES_MAX];

/* A negative errno fails the job; call->message is what the user reads. */
static int failed(const struct sy_call *call, const char *what, int status) {
    snprintf(call->message, SY_CALL_MESSAGE_MAX, "%s failed with error %d", what, status);
    return -EIO;
}

static int prepare(const struct sy_call *call) {
    cl_int status = CL_SUCCESS;
    cl_device_id device = (cl_device_id)call->opencl_device;
    if (call->flavour != SY_FLAVOUR_OPENCL || call->device >= DEVICES_MAX) {
        return call->flavour == SY_FLAVOUR_OPENCL ? -ENOSPC : 0;
    }
    programs[call->device] =
        clCreateProgramWithSource((cl_context)call->context, 1, &text, NULL, &status);
    status = status ? status : clBuildProgram(programs[call->device], 1, &device, "", NULL, NULL);
    return status ? failed(call, "clBuildProgram", status) : 0;
}

/* Arguments are cl_mem. Work goes into call->queue, and nobody waits for it here. Any thread may
 * call, and threads must not share a cl_kernel: each call makes its own, which is cheap. */
static int roots_opencl(const struct sy_call *call) {
    size_t count = call->arguments[0].bytes / sizeof(float);
    cl_command_queue queue = (cl_command_queue)call->queue;
    cl_kernel kernel = clCreateKernel(programs[call->device], "roots", NULL);
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &call->arguments[0].pointer);
    int status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    clReleaseKernel(kernel); /* it lives on until the queue is done with it */
    return status ? failed(call, "clEnqueueNDRangeKernel", status) : 0;
}

/* 3. In CUDA: arguments are pointers to the device's memory, the queue is a stream. */
#ifdef __CUDACC__
static __global__ void roots_gpu(float *x, uint64_t count) {
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        NEWTON(x[i])
    }
}

static int roots_cuda(const struct sy_call *call) {
    uint64_t count = call->arguments[0].bytes / sizeof(float);
    roots_gpu<<<(unsigned)((count + 255) / 256), 256, 0, (cudaStream_t)call->queue>>>(
        (float *)call->arguments[0].pointer, count);
    int status = cudaGetLastError();
    return status ? failed(call, "starting the kernel", status) : 0;
}
#else
#define roots_cuda NULL /* no such variant: tasks do not go to CUDA devices */
#endif

/* 4. All variants under the name by which graphs know the kernel, in the order of sy_flavour. */
static const struct sy_kernel_entry kernel = {.name = "devices_roots",
                                              .summary = "square roots, by Newton's method",
                                              .argument_count = 1,
                                              .modes = {SY_READ_WRITE},
                                              .functions = {roots_c, roots_cuda, roots_opencl},
                                              .prepare = prepare};

/* 5. A workload: a graph of such tasks, how its data begin, and whether the result is right. */
static int build(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                 struct sy_error *error) {
    struct sy_kernel_desc desc = {.name = "devices_roots"};
    struct sy_task_desc task = {.work = 1.2e7, .access_count = 1};
    struct sy_graph *graph = sy_graph_create("roots", false);
    int code = graph ? sy_graph_add_kernel(graph, &desc, &task.kernel) : -ENOMEM;
    for (uint32_t i = 0; i < BLOCKS && !code; i++) {
        struct sy_access access = {i, SY_READ_WRITE};
        sy_data_id block;
        sy_task_id id;
        task.accesses = &access;
        code = sy_graph_add_data(graph, "block", LENGTH * sizeof(float), &block);
        code = code ? code : sy_graph_add_task(graph, &task, &id);
    }
    code = code ? code : sy_graph_seal(graph, error);
    if (code) {
        sy_graph_destroy(graph);
        return code;
    }
    *ret_graph = graph;
    (void)arguments, (void)ret_state;
    return 0;
}

static int fill(void *state, uint32_t datum, void *pointer, uint64_t bytes) {
    for (uint32_t i = 0; i < bytes / sizeof(float); i++) {
        ((float *)pointer)[i] = (float)(datum * LENGTH + i + 1);
    }
    (void)state;
    return 0;
}

static int check(void *state, void *const *data, double *ret_error, double *ret_tolerance,
                 struct sy_error *error) {
    (void)state, (void)error;
    *ret_error = *ret_tolerance = 0; /* how many are wrong, and may be */
    for (uint32_t i = 0; i < BLOCKS * LENGTH; i++) {
        *ret_error += !(fabs(((float *)data[i / LENGTH])[i % LENGTH] / sqrt(i + 1.0) - 1) < 1e-6);
    }
    return 0;
}

static const struct sy_kernel_workload workload = {
    .name = "roots", .summary = "many square roots", .build = build, .fill = fill, .check = check};
static const struct sy_kernel_table table = {
    "devices", "1", "one kernel for all devices", &kernel, 1, &workload, 1, NULL, 0};
SY_KERNEL_PLUGIN(table);
