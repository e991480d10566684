/* SPDX-License-Identifier: Apache-2.0
 *
 * The tile kernels on OpenCL devices: products, solves, and the updates of QR; the factorizations
 * of single tiles stay with the other flavours.
 *
 * In: cl_mem tiles and an in-order queue. Out: enqueued work, nothing is waited for. Programs are
 * compiled once per device; kernel objects and scratch belong to a lane, one per queue, since
 * setting arguments is not safe between threads. A queue serves one thread at a time.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "linalg.h"
#include "tiles_cl.h"
#include <CL/cl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, SOLVE = 32, GROUP = 64, PANEL = 64 };
enum { KERNEL_GEMM, KERNEL_SOLVE, KERNEL_SUBTRACT, KERNEL_COUNT };

/* What one queue needs. Lives as long as the process: queues do. */
struct lane {
    cl_context context;
    cl_device_id device;
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem gram, w; /* of apply */
    int scratch_side;
    bool warm;
};

static struct guest_lanes lanes;

/* A matrix inside a tile. */
struct view {
    cl_mem tile;
    int at, row, column;
};

static struct view view(const struct sy_call *call, uint32_t argument, int side) {
    return (struct view){call->arguments[argument].pointer, 0, 1, side};
}

static struct view part(struct view whole, int row, int column) {
    whole.at += row * whole.row + column * whole.column;
    return whole;
}

static struct view turned(struct view whole) {
    return (struct view){whole.tile, whole.at, whole.column, whole.row};
}

/* --- lanes ------------------------------------------------------------------------------------ */

static int build_failed(const struct sy_call *call, cl_program program, cl_device_id device,
                        cl_int status) {
    char log[SY_CALL_MESSAGE_MAX - 64] = "";
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
    return guest_call_fail(call, -EIO, "the device's compiler refused the kernels (%d): %s", status,
                           log);
}

static int compile(const struct sy_call *call, struct lane *lane) {
    static const char *const names[KERNEL_COUNT] = {"gemm", "solve", "subtract"};
    const char *text = tiles_cl;
    cl_int status = CL_SUCCESS;
    cl_device_fp_config doubles = 0;
    clGetDeviceInfo(lane->device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(doubles), &doubles, NULL);
    if (doubles == 0) {
        return guest_call_fail(call, -ENOTSUP, "the device has no double precision");
    }
    for (uint32_t at = 0; at < atomic_load(&lanes.count); at++) {
        const struct lane *other = lanes.lanes[at];
        if (other->context == lane->context && other->device == lane->device) {
            lane->program = other->program;
        }
    }
    if (!lane->program) {
        lane->program = clCreateProgramWithSource(lane->context, 1, &text, NULL, &status);
        if (status != CL_SUCCESS) {
            return guest_call_fail(call, -EIO, "clCreateProgramWithSource failed (%d)", status);
        }
        status = clBuildProgram(lane->program, 1, &lane->device, "-cl-mad-enable", NULL, NULL);
        if (status != CL_SUCCESS) {
            return build_failed(call, lane->program, lane->device, status);
        }
    }
    for (int at = 0; at < KERNEL_COUNT; at++) {
        lane->kernels[at] = clCreateKernel(lane->program, names[at], &status);
        if (status != CL_SUCCESS) {
            return guest_call_fail(call, -EIO, "clCreateKernel(%s) failed (%d)", names[at], status);
        }
    }
    return 0;
}

static int make_lane(const struct sy_call *call, void **ret_lane) {
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        return guest_call_fail(call, -ENOMEM, "out of memory");
    }
    lane->context = call->context;
    lane->device = call->opencl_device;
    int code = compile(call, lane);
    if (code) {
        free(lane);
        return code;
    }
    /* Retained, so that no later queue can have the same address. */
    clRetainCommandQueue(call->queue);
    *ret_lane = lane;
    return 0;
}

static int open_lane(const struct sy_call *call, struct lane **ret_lane) {
    return guest_lane_open(&lanes, call, make_lane, (void **)ret_lane);
}

static int grow_scratch(const struct sy_call *call, struct lane *lane, int side) {
    if (lane->scratch_side >= side) {
        return 0;
    }
    cl_int first = CL_SUCCESS, second = CL_SUCCESS;
    cl_mem gram = clCreateBuffer(lane->context, CL_MEM_READ_WRITE, sizeof(double) * PANEL * PANEL,
                                 NULL, &first);
    cl_mem w = clCreateBuffer(lane->context, CL_MEM_READ_WRITE,
                              sizeof(double) * PANEL * (size_t)side, NULL, &second);
    if (first != CL_SUCCESS || second != CL_SUCCESS) {
        return guest_call_fail(call, -ENOMEM, "no device memory for scratch (%d)",
                               first ? first : second);
    }
    if (lane->gram) { /* commands that still use them keep them */
        clReleaseMemObject(lane->gram);
        clReleaseMemObject(lane->w);
    }
    lane->gram = gram;
    lane->w = w;
    lane->scratch_side = side;
    return 0;
}

/* --- enqueueing ------------------------------------------------------------------------------- */

/* Sets arguments one after the other; the first error sticks. */
struct setter {
    cl_kernel kernel;
    cl_uint index;
    cl_int status;
};

static void set(struct setter *setter, size_t size, const void *value) {
    cl_int status = clSetKernelArg(setter->kernel, setter->index++, size, value);
    setter->status = setter->status ? setter->status : status;
}

static void set_int(struct setter *setter, int value) {
    cl_int number = value;
    set(setter, sizeof(number), &number);
}

static void set_view(struct setter *setter, struct view matrix) {
    set(setter, sizeof(cl_mem), &matrix.tile);
    set_int(setter, matrix.at);
    set_int(setter, matrix.row);
    set_int(setter, matrix.column);
}

static int enqueue(const struct sy_call *call, struct setter *setter, cl_uint dimensions,
                   const size_t *items, const size_t *group) {
    cl_int status = setter->status;
    if (status == CL_SUCCESS) {
        status = clEnqueueNDRangeKernel(call->queue, setter->kernel, dimensions, NULL, items, group,
                                        0, NULL, NULL);
    }
    return status == CL_SUCCESS
               ? 0
               : guest_call_fail(call, -EIO, "OpenCL refused a kernel (%d)", status);
}

static size_t round_up(int value, int to) {
    return (size_t)((value + to - 1) / to * to);
}

/* C = beta C + alpha A B; m x n, over k. */
static int gemm_views(const struct sy_call *call, struct lane *lane, const int size[3],
                      double alpha, struct view a, struct view b, double beta, struct view c,
                      bool lower) {
    struct setter setter = {lane->kernels[KERNEL_GEMM], 0, CL_SUCCESS};
    if (size[0] <= 0 || size[1] <= 0 || size[2] <= 0) {
        return 0;
    }
    for (int at = 0; at < 3; at++) {
        set_int(&setter, size[at]);
    }
    set(&setter, sizeof(alpha), &alpha);
    set(&setter, sizeof(beta), &beta);
    set_view(&setter, a);
    set_view(&setter, b);
    set_view(&setter, c);
    set_int(&setter, lower);
    size_t items[2] = {round_up(size[0], BLOCK) / 8, round_up(size[1], BLOCK) / 8};
    return enqueue(call, &setter, 2, items, (const size_t[]){8, 8});
}

/* X T = B, X in place of B; T upper of side n with diagonal scale * T(j,j) + shift, B m x n. Blocks
 * of columns: solve one, then take its share out of all that follow. */
static int solve_views(const struct sy_call *call, struct lane *lane, int m, int n, struct view t,
                       double scale, double shift, struct view b) {
    int code = 0;
    for (int k = 0; !code && k < n; k += SOLVE) {
        struct setter setter = {lane->kernels[KERNEL_SOLVE], 0, CL_SUCCESS};
        int wide = n - k < SOLVE ? n - k : SOLVE, rest = n - k - wide;
        set_int(&setter, m);
        set_int(&setter, wide);
        set_view(&setter, part(t, k, k));
        set(&setter, sizeof(scale), &scale);
        set(&setter, sizeof(shift), &shift);
        set_view(&setter, part(b, 0, k));
        size_t items = round_up(m, GROUP), group = GROUP;
        code = enqueue(call, &setter, 1, &items, &group);
        code = code ? code
                    : gemm_views(call, lane, (const int[]){m, rest, wide}, -1, part(b, 0, k),
                                 part(t, k, k + wide), 1, part(b, 0, k + wide), false);
    }
    return code;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int trsm(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    return code ? code
                : solve_views(call, lane, n, n, turned(view(call, 0, n)), 1, 0, view(call, 1, n));
}

/* L X = B is X' L' = B'. */
static int trsm_lower(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    return code ? code
                : solve_views(call, lane, n, n, turned(view(call, 0, n)), 0, 1,
                              turned(view(call, 1, n)));
}

static int trsm_upper(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    return code ? code : solve_views(call, lane, n, n, view(call, 0, n), 1, 0, view(call, 1, n));
}

static int product(const struct sy_call *call, int n, struct view b, uint32_t target, bool lower) {
    struct lane *lane = NULL;
    int first = linalg_first_column(call, call->part, n);
    int wide = linalg_first_column(call, call->part + 1, n) - first;
    int code = open_lane(call, &lane);
    return code ? code
                : gemm_views(call, lane, (const int[]){n, wide, n}, -1, view(call, 0, n),
                             part(b, 0, first), 1, part(view(call, target, n), 0, first), lower);
}

static int syrk(const struct sy_call *call, int n) {
    return product(call, n, turned(view(call, 0, n)), 1, true);
}

static int gemm(const struct sy_call *call, int n) {
    return product(call, n, turned(view(call, 1, n)), 2, false);
}

static int gemm_nn(const struct sy_call *call, int n) {
    return product(call, n, view(call, 1, n), 2, false);
}

/* W = C1 + V' C2, or V' C2 without C1 (tile NULL), for wide reflectors and n columns. */
static int project(const struct sy_call *call, struct lane *lane, int m, int n, int wide,
                   struct view v, struct view c1, struct view c2, struct view w) {
    if (c1.tile) {
        size_t row = (size_t)(c1.at % n) * sizeof(double), pitch = (size_t)n * sizeof(double);
        cl_int status = clEnqueueCopyBufferRect(
            call->queue, c1.tile, w.tile, (const size_t[]){row, 0, 0}, (const size_t[]){0, 0, 0},
            (const size_t[]){(size_t)wide * sizeof(double), (size_t)n, 1}, pitch, 0,
            (size_t)w.column * sizeof(double), 0, 0, NULL, NULL);
        if (status != CL_SUCCESS) {
            return guest_call_fail(call, -EIO, "OpenCL refused a copy (%d)", status);
        }
    }
    return gemm_views(call, lane, (const int[]){wide, n, m}, 1, turned(v), c2, c1.tile ? 1 : 0, w,
                      false);
}

/* A = A - B, both m x n with neighbours down the columns. */
static int subtract(const struct sy_call *call, struct lane *lane, int m, int n, struct view a,
                    struct view b) {
    struct setter setter = {lane->kernels[KERNEL_SUBTRACT], 0, CL_SUCCESS};
    set_int(&setter, m);
    set(&setter, sizeof(cl_mem), &a.tile);
    set_int(&setter, a.at);
    set_int(&setter, a.column);
    set(&setter, sizeof(cl_mem), &b.tile);
    set_int(&setter, b.column);
    return enqueue(call, &setter, 2, (const size_t[]){round_up(m, GROUP), (size_t)n},
                   (const size_t[]){GROUP, 1});
}

/* Q' applied to [C1; C2]; see apply in kernels.c. */
static int apply(const struct sy_call *call, struct lane *lane, int m, int n, int wide,
                 struct view v, struct view c1, struct view c2) {
    struct view gram = {lane->gram, 0, 1, PANEL}, w = {lane->w, 0, 1, PANEL};
    int code =
        gemm_views(call, lane, (const int[]){wide, wide, m}, 1, turned(v), v, 0, gram, false);
    code = code ? code : project(call, lane, m, n, wide, v, c1, c2, w);
    code = code ? code : solve_views(call, lane, n, wide, gram, 0.5, c1.tile ? 0.5 : 0, turned(w));
    code = code || !c1.tile ? code : subtract(call, lane, wide, n, c1, w);
    return code ? code : gemm_views(call, lane, (const int[]){m, n, wide}, -1, v, w, 1, c2, false);
}

static int ormqr(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    struct view v = view(call, 0, n), c = view(call, 1, n), none = {NULL, 0, 1, n};
    int code = open_lane(call, &lane);
    code = code ? code : grow_scratch(call, lane, n);
    for (int k = 0; !code && k < n; k += PANEL) {
        code = apply(call, lane, n - k, n, n - k < PANEL ? n - k : PANEL, part(v, k, k), none,
                     part(c, k, 0));
    }
    return code;
}

static int tsmqr(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    struct view v = view(call, 0, n), c1 = view(call, 1, n), c2 = view(call, 2, n);
    int code = open_lane(call, &lane);
    code = code ? code : grow_scratch(call, lane, n);
    for (int k = 0; !code && k < n; k += PANEL) {
        code = apply(call, lane, n, n, n - k < PANEL ? n - k : PANEL, part(v, 0, k), part(c1, k, 0),
                     c2);
    }
    return code;
}

/* Each kernel once, on next to nothing: some compile at the first launch, which takes seconds. */
static int warm_up(const struct sy_call *call, struct lane *lane) {
    struct view gram = {lane->gram, 0, 1, PANEL}, w = {lane->w, 0, 1, PANEL};
    int code = gemm_views(call, lane, (const int[]){1, 1, 1}, 1, w, w, 0, gram, false);
    code = code ? code : solve_views(call, lane, 1, 1, gram, 0, 1, w);
    code = code ? code : subtract(call, lane, 1, 1, gram, w);
    if (!code && clFinish(call->queue) != CL_SUCCESS) {
        code = guest_call_fail(call, -EIO, "the device cannot run the kernels");
    }
    lane->warm = !code;
    return code;
}

static int prepare(const struct sy_call *call, int side) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    code = code ? code : grow_scratch(call, lane, side > PANEL ? side : PANEL);
    return code || lane->warm ? code : warm_up(call, lane);
}

SY_API extern const struct linalg_part linalg_opencl;
const struct linalg_part linalg_opencl = {
    prepare,
    {NULL, trsm, syrk, gemm, NULL, trsm_lower, trsm_upper, gemm_nn, NULL, ormqr, NULL, tsmqr}};
