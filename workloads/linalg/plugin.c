/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of linalg.so: kernels by flavour, and the workloads made of them.
 *
 * In: calls and arguments of workloads. Out: calls of the flavour's part, with the tiles checked.
 * CUDA and OpenCL live in parts that are loaded when such a device is prepared.
 */
#include "linalg.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loaded at most once; each holds nothing but an atomic pointer. */
static struct guest_part parts[SY_FLAVOUR_COUNT] = {
    [SY_FLAVOUR_C] = {NULL, NULL, &linalg_c},
    [SY_FLAVOUR_CUDA] = {LINALG_CUDA_FILE, LINALG_CUDA_SYMBOL, NULL},
    [SY_FLAVOUR_OPENCL] = {LINALG_OPENCL_FILE, LINALG_OPENCL_SYMBOL, NULL},
};

const char *const linalg_names[LINALG_KERNEL_COUNT] = {
    "potrf",      "trsm",    "syrk",  "gemm",  "getrf", "trsm_lower",
    "trsm_upper", "gemm_nn", "geqrt", "ormqr", "tsqrt", "tsmqr"};

double linalg_flops(enum linalg_kernel kernel, double n) {
    double square = n * n, cube = square * n;
    switch (kernel) {
    case LINALG_POTRF:
        return cube / 3 + square / 2 + n / 6;
    case LINALG_TRSM:
    case LINALG_TRSM_LOWER:
    case LINALG_TRSM_UPPER:
    case LINALG_SYRK:
        return cube + square;
    case LINALG_GETRF:
        return 2 * cube / 3 - square / 2 + 5 * n / 6;
    case LINALG_GEQRT:
        return 4 * cube / 3 + 2 * square + 14 * n / 3;
    case LINALG_GEMM:
    case LINALG_GEMM_NN:
    case LINALG_ORMQR:
    case LINALG_TSQRT:
        return 2 * cube;
    case LINALG_TSMQR:
        return 4 * cube;
    case LINALG_KERNEL_COUNT:
        break;
    }
    return 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* All arguments are square tiles of doubles, and of one size. */
static int tile_side(const struct sy_call *call, const char *name, int *ret_side) {
    uint64_t bytes = call->argument_count ? call->arguments[0].bytes : 0;
    double side = floor(sqrt((double)bytes / 8) + 0.5);
    for (uint32_t at = 0; at < call->argument_count; at++) {
        uint64_t other = call->arguments[at].bytes;
        if (other != bytes || other == 0 || 8 * side * side != (double)other) {
            return guest_call_fail(call, -EINVAL,
                                   "%s: argument %u has %llu bytes; it must be a square tile of "
                                   "doubles, as large as the others",
                                   name, at, (unsigned long long)other);
        }
    }
    if (side < 1 || side > 32768) {
        return guest_call_fail(call, -EINVAL, "%s: tiles must have a side of 1 to 32768", name);
    }
    *ret_side = (int)side;
    return 0;
}

static const struct sy_kernel_entry kernels[LINALG_KERNEL_COUNT];

static enum linalg_kernel kernel_of(const struct sy_call *call) {
    return (enum linalg_kernel)(call->entry - kernels);
}

static int run(const struct sy_call *call) {
    const void *part = NULL;
    enum linalg_kernel kernel = kernel_of(call);
    int side = 0;
    int code = tile_side(call, linalg_names[kernel], &side);
    code = code ? code : guest_part_load(parts, call, &part);
    return code ? code : ((const struct linalg_part *)part)->run[kernel](call, side);
}

static int prepare(const struct sy_call *call) {
    const void *part = NULL;
    int side = 0;
    if (call->flavour == SY_FLAVOUR_C) {
        return 0;
    }
    int code = guest_part_load(parts, call, &part);
    /* The first tile sizes the workspaces, where the engine says which it is. */
    if (code || (call->argument_count && tile_side(call, "prepare", &side))) {
        return code ? code : -EINVAL;
    }
    return ((const struct linalg_part *)part)->prepare(call, side);
}

static void features(const struct sy_call *call, struct sy_cost_features *ret_features) {
    double bytes = 0;
    for (uint32_t at = 0; at < call->argument_count; at++) {
        bytes += (double)call->arguments[at].bytes;
    }
    double side = call->argument_count ? sqrt((double)call->arguments[0].bytes / 8) : 0;
    *ret_features = (struct sy_cost_features){linalg_flops(kernel_of(call), side), bytes};
}

#define PARTS   32   /* of a product: columns of its result */
#define PART_NS 10e3 /* a launch, and a block of columns that is not full */

#define ENTRY_OF(parts, word, summary, opencl, count, ...)                                         \
    {                                                                                              \
#word, summary, count,                                                                     \
            {__VA_ARGS__ }, {run, GUEST_IF_CUDA(run), opencl }, features,                          \
                             .prepare = prepare, .part_max = parts, .part_ns = PART_NS             \
    }
#define ENTRY(...) ENTRY_OF(0, __VA_ARGS__)
#define R          SY_READ
#define W          SY_WRITE
#define RW         SY_READ_WRITE

static const struct sy_kernel_entry kernels[LINALG_KERNEL_COUNT] = {
    ENTRY(potrf, "Cholesky factor of a tile", NULL, 1, RW),
    ENTRY(trsm, "B = B L^-T", GUEST_IF_OPENCL(run), 2, R, RW),
    ENTRY(syrk, "C = C - A A^T, lower triangle", GUEST_IF_OPENCL(run), 2, R, RW),
    ENTRY_OF(PARTS, gemm, "C = C - A B^T", GUEST_IF_OPENCL(run), 3, R, R, RW),
    ENTRY(getrf, "LU factors of a tile, no pivoting", NULL, 1, RW),
    ENTRY(trsm_lower, "B = L^-1 B, unit diagonal", GUEST_IF_OPENCL(run), 2, R, RW),
    ENTRY(trsm_upper, "B = B U^-1", GUEST_IF_OPENCL(run), 2, R, RW),
    ENTRY_OF(PARTS, gemm_nn, "C = C - A B", GUEST_IF_OPENCL(run), 3, R, R, RW),
    ENTRY(geqrt, "QR factors of a tile, reflectors apart", NULL, 2, RW, W),
    ENTRY(ormqr, "C = Q^T C, Q of geqrt", GUEST_IF_OPENCL(run), 2, R, RW),
    ENTRY(tsqrt, "QR factors of a triangle on a tile", NULL, 2, RW, RW),
    ENTRY(tsmqr, "two tiles times Q^T, Q of tsqrt", GUEST_IF_OPENCL(run), 3, R, RW, RW),
};

#define TILES_MAX 256u /* per side: 17 million tasks in a product */

/* --- workloads -------------------------------------------------------------------------------- */

static int build(enum linalg_kind kind, const char *name, const char *arguments,
                 struct sy_graph **ret_graph, void **ret_state, struct sy_error *error) {
    struct guest_option options[] = {
        {"n", 4096, 1, 1000000, true, NULL, false, ""},
        {"tile", 512, 1, 32768, true, NULL, false, ""},
        {"seed", 1, 0, 0x1p53, true, NULL, false, ""},
        {"check", 0, 0, 0, false, "auto lapack vectors", false, "auto"}};
    int code = guest_parse(name, arguments, options, GUEST_COUNT(options), error);
    if (code) {
        return code;
    }
    uint32_t n = (uint32_t)options[0].value, tile = (uint32_t)options[1].value;
    uint32_t fewer = n / tile * tile, tiles = n / tile;
    char hint[80];
    if (fewer != n) {
        if (fewer) {
            snprintf(hint, sizeof(hint), "nearest: n=%u or n=%u", fewer, fewer + tile);
        } else {
            snprintf(hint, sizeof(hint), "nearest: n=%u, or tile=%u", tile, n);
        }
        return guest_fail(error, -EINVAL, hint, "%s: n=%u is not a multiple of tile=%u", name, n,
                          tile);
    }
    if (tiles > TILES_MAX) {
        snprintf(hint, sizeof(hint), "use tile=%u or more", (n + TILES_MAX - 1) / TILES_MAX);
        return guest_fail(error, -EINVAL, hint, "%s: %u x %u tiles are too many", name, tiles,
                          tiles);
    }
    struct linalg_problem *problem = malloc(sizeof(*problem));
    if (!problem) {
        return guest_fail(error, -ENOMEM, NULL, "%s: out of memory", name);
    }
    *problem = (struct linalg_problem){kind, n, tile, tiles, (uint64_t)options[2].value, false};
    problem->by_vectors = strcmp(options[3].word, "vectors") == 0 ||
                          (strcmp(options[3].word, "auto") == 0 && n > LINALG_LAPACK_MAX);
    code = linalg_build(problem, ret_graph, error);
    if (code) {
        free(problem);
        return code;
    }
    *ret_state = problem;
    return 0;
}

#define WORKLOAD(word, kind)                                                                       \
    static int build_##word(const char *arguments, struct sy_graph **ret_graph, void **ret_state,  \
                            struct sy_error *error) {                                              \
        return build(kind, #word, arguments, ret_graph, ret_state, error);                         \
    }

WORKLOAD(cholesky, LINALG_CHOLESKY)
WORKLOAD(lu, LINALG_LU)
WORKLOAD(qr, LINALG_QR)
WORKLOAD(gemm, LINALG_PRODUCT)

#define USAGE "n=4096,tile=512[,seed=1][,check=auto|lapack|vectors]"

static const struct sy_kernel_workload workloads[] = {
    {"cholesky", "Cholesky factorization of a symmetric positive definite matrix", USAGE,
     "n=640,tile=128 n=1280,tile=256 n=2560,tile=512 n=4096,tile=1024", build_cholesky, linalg_fill,
     linalg_check, free, NULL},
    {"lu", "LU factorization without pivoting of a diagonally dominant matrix", USAGE,
     "n=512,tile=128 n=1024,tile=256 n=2048,tile=512 n=3072,tile=1024", build_lu, linalg_fill,
     linalg_check, free, NULL},
    {"qr", "QR factorization, flat tree of tiles", USAGE,
     "n=512,tile=128 n=1024,tile=256 n=1536,tile=512 n=2048,tile=1024", build_qr, linalg_fill,
     linalg_check, free, NULL},
    {"gemm", "Matrix product C = C - A B", USAGE,
     "n=384,tile=128 n=768,tile=256 n=1536,tile=512 n=2048,tile=1024", build_gemm, linalg_fill,
     linalg_check, free, NULL},
};

static const struct sy_kernel_table table = {
    .name = "linalg",
    .version = SYMPH_VERSION,
    .summary = "tiled Cholesky, LU, QR and matrix product in double precision",
    .kernels = kernels,
    .kernel_count = LINALG_KERNEL_COUNT,
    .workloads = workloads,
    .workload_count = GUEST_COUNT(workloads),
};

SY_KERNEL_PLUGIN(table);
