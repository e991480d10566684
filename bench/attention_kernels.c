/* SPDX-License-Identifier: Apache-2.0
 *
 * attention: what each kernel does per second, in C on one core with each level of vectors, and on
 * a CUDA device if there is one, whose results are compared with C's. JSON.
 *
 *   attention_kernels [EXAMPLE ...]     some of the pipelines' examples unless told
 *
 * C does the first ROWS and the last rows of a case only; a device does all of them. Exit 1:
 * results differ.
 */
#include "attention/attention.h"
#include "clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef GUEST_CUDA
#include "attention/window_cuda.h"
#endif

enum { ROWS = 1024, LAST = 64, TURNS = 5 };
#define TOLERANCE 1e-4

struct load {
    struct attn_shape shape;
    uint64_t rows; /* that C does first */
    uint64_t counts[ATTN_KERNEL_COUNT];
    float *qkv, *out[ATTN_KERNEL_COUNT];
};

static double flops_of(const struct attn_shape *s, int kernel, double rows) {
    double pairs = rows * fmin(s->slots, s->length);
    return kernel == ATTN_SOFTMAX     ? 16 * pairs * s->heads
           : kernel == ATTN_ATTENTION ? 4 * pairs * (s->model + 4.0 * s->heads)
                                      : 2 * pairs * s->model;
}

static double bytes_of(const struct attn_shape *s, int kernel, double rows) {
    double slots = (double)s->heads * s->slots, model = s->model;
    return 4 * rows *
           (kernel == ATTN_SOFTMAX     ? 2 * slots
            : kernel == ATTN_ATTENTION ? 4 * model
                                       : 2 * model + slots);
}

static float *floats(uint64_t count) {
    float *memory = malloc(count * sizeof(float));
    if (!memory) {
        fprintf(stderr, "attention_kernels: no memory for %llu floats\n",
                (unsigned long long)count);
        exit(1);
    }
    return memory;
}

static void open_load(const struct attn_example *example, struct load *load) {
    const double *v = example->values;
    struct attn_shape s = {.length = (uint32_t)v[ATTN_LENGTH],
                           .window = (uint32_t)v[ATTN_WINDOW],
                           .batch = (uint32_t)v[ATTN_BATCH],
                           .model = (uint32_t)v[ATTN_MODEL],
                           .heads = (uint32_t)v[ATTN_HEADS]};
    s.width = s.model / s.heads;
    s.half = s.window / 2;
    s.slots = s.window + 1;
    s.rows = (uint64_t)s.batch * s.length;
    load->shape = s;
    load->rows = s.rows < ROWS ? s.rows : ROWS;
    load->qkv = floats(s.rows * 3 * s.model);
    for (uint64_t i = 0; i < s.rows * 3 * s.model; i++) {
        load->qkv[i] = (float)(2 * guest_noise(1, i) - 1);
    }
    for (int kernel = 0; kernel < ATTN_KERNEL_COUNT; kernel++) {
        load->counts[kernel] =
            s.rows * (kernel <= ATTN_SOFTMAX ? (uint64_t)s.heads * s.slots : s.model);
        load->out[kernel] = floats(load->counts[kernel]);
    }
}

static void close_load(struct load *load) {
    free(load->qkv);
    for (int kernel = 0; kernel < ATTN_KERNEL_COUNT; kernel++) {
        free(load->out[kernel]);
    }
}

static void run(const struct load *load, int kernel, uint64_t first, uint64_t last,
                enum guest_simd level) {
    const float *from = kernel == ATTN_SOFTMAX ? load->out[ATTN_SCORES]
                        : kernel == ATTN_MIX   ? load->out[ATTN_SOFTMAX]
                                               : load->qkv;
    attn_run((enum attn_kernel)kernel, &load->shape, from, load->qkv, load->out[kernel], first,
             last, level);
}

static double time_level(const struct load *load, int kernel, enum guest_simd level) {
    double best = 1e300, asking = clock_ns();
    for (int turn = 0; turn < TURNS; turn++) {
        double from = now_ns();
        run(load, kernel, 0, load->rows, level);
        best = fmin(best, now_ns() - from - asking);
    }
    return best;
}

static void print_speed(const char *name, double ns, double flops, double bytes) {
    printf(", \"%s\": {\"ms\": %.4g, \"gflops_per_s\": %.4g, \"gbytes_per_s\": %.4g", name,
           ns / 1e6, flops / ns, bytes / ns);
}

#ifdef GUEST_CUDA
struct gpu {
    float *qkv, *out[ATTN_KERNEL_COUNT];
};

static cudaError_t launch(const struct attn_shape *s, const struct gpu *gpu, int kernel) {
    struct attn_cuda_shape shape = {s->length, s->batch, s->model, s->heads,
                                    s->width,  s->half,  s->slots};
    switch (kernel) {
    case ATTN_SCORES:
        return attn_cuda_scores(&shape, gpu->qkv, gpu->out[kernel], 0);
    case ATTN_SOFTMAX:
        return attn_cuda_softmax(&shape, gpu->out[ATTN_SCORES], gpu->out[kernel], 0);
    case ATTN_MIX:
        return attn_cuda_mix(&shape, gpu->out[ATTN_SOFTMAX], gpu->qkv, gpu->out[kernel], 0);
    default:
        return attn_cuda_attention(&shape, gpu->qkv, gpu->out[kernel], 0);
    }
}

/* The largest difference from C in rows [first, last). */
static double differs(const struct load *load, const struct gpu *gpu, int kernel, uint64_t first,
                      uint64_t last) {
    uint64_t line = load->counts[kernel] / load->shape.rows, count = (last - first) * line;
    float *back = floats(count);
    const float *right = load->out[kernel] + first * line;
    double most = cudaMemcpy(back, gpu->out[kernel] + first * line, count * sizeof(float),
                             cudaMemcpyDeviceToHost)
                      ? INFINITY
                      : 0;
    for (uint64_t i = 0; i < count; i++) {
        double off = back[i] == right[i] ? 0 : fabs(back[i] - right[i]);
        most = fmax(most, isnan(off) ? INFINITY : off);
    }
    free(back);
    return most;
}

static bool time_kernel(const struct load *load, const struct gpu *gpu, int kernel) {
    double best = INFINITY, rows = (double)load->shape.rows;
    cudaEvent_t from, to;
    bool fine = cudaEventCreate(&from) == 0 && cudaEventCreate(&to) == 0;
    for (int turn = 0; turn < TURNS && fine; turn++) {
        float ms = 0;
        fine = cudaEventRecord(from, 0) == 0 && launch(&load->shape, gpu, kernel) == 0 &&
               cudaEventRecord(to, 0) == 0 && cudaEventSynchronize(to) == 0 &&
               cudaEventElapsedTime(&ms, from, to) == 0;
        best = fmin(best, 1e6 * ms);
    }
    if (!fine) {
        fprintf(stderr, "%s on the device: %s\n", attn_names[kernel],
                cudaGetErrorString(cudaGetLastError()));
        return false;
    }
    uint64_t all = load->shape.rows;
    double off = fmax(differs(load, gpu, kernel, 0, load->rows),
                      differs(load, gpu, kernel, all - (all < LAST ? all : LAST), all));
    print_speed("cuda", best, flops_of(&load->shape, kernel, rows),
                bytes_of(&load->shape, kernel, rows));
    printf(", \"largest_difference\": %.2g}", off);
    return off <= TOLERANCE;
}

static bool open_gpu(const struct load *load, struct gpu *gpu) {
    uint64_t bytes = load->shape.rows * 3 * load->shape.model * sizeof(float);
    bool fine = cudaMalloc((void **)&gpu->qkv, bytes) == 0 &&
                cudaMemcpy(gpu->qkv, load->qkv, bytes, cudaMemcpyHostToDevice) == 0;
    for (int kernel = 0; kernel < ATTN_KERNEL_COUNT && fine; kernel++) {
        fine = cudaMalloc((void **)&gpu->out[kernel], load->counts[kernel] * sizeof(float)) == 0;
    }
    return fine;
}

static void close_gpu(struct gpu *gpu) {
    cudaFree(gpu->qkv);
    for (int kernel = 0; kernel < ATTN_KERNEL_COUNT; kernel++) {
        cudaFree(gpu->out[kernel]);
    }
}

static bool has_gpu(void) {
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status || count == 0) {
        fprintf(stderr, "no CUDA device: %s\n", status ? cudaGetErrorString(status) : "none");
    }
    return status == 0 && count > 0;
}
#else
struct gpu {
    char none;
};

static bool time_kernel(const struct load *load, const struct gpu *gpu, int kernel) {
    (void)load, (void)gpu, (void)kernel;
    return true;
}

static bool open_gpu(const struct load *load, struct gpu *gpu) {
    (void)load, (void)gpu;
    return true;
}

static void close_gpu(struct gpu *gpu) {
    (void)gpu;
}

static bool has_gpu(void) {
    fprintf(stderr, "built without CUDA: its variants are not run\n");
    return false;
}
#endif

static bool run_case(const struct attn_example *example, bool device) {
    struct load load;
    struct gpu gpu = {0};
    bool fine = true;
    open_load(example, &load);
    const struct attn_shape *s = &load.shape;
    bool there = device && open_gpu(&load, &gpu);
    if (device && !there) {
        fprintf(stderr, "%s: no memory on the device\n", example->name);
    }
    printf("{\"example\": \"%s\", \"length\": %u, \"window\": %u, \"batch\": %u, \"model\": %u, "
           "\"heads\": %u, \"rows_in_c\": %llu, \"kernels\": [",
           example->name, s->length, s->window, s->batch, s->model, s->heads,
           (unsigned long long)load.rows);
    for (int kernel = 0; kernel < ATTN_KERNEL_COUNT; kernel++) {
        printf("%s\n  {\"kernel\": \"%s\"", kernel ? "," : "", attn_names[kernel]);
        for (int level = 0; level <= (int)guest_simd_of_processor(); level++) {
            double ns = time_level(&load, kernel, (enum guest_simd)level);
            print_speed(guest_simd_name((enum guest_simd)level), ns,
                        flops_of(s, kernel, (double)load.rows),
                        bytes_of(s, kernel, (double)load.rows));
            printf("}");
        }
        run(&load, kernel, s->rows - (s->rows < LAST ? s->rows : LAST), s->rows,
            guest_simd_of_processor());
        fine = (!there || time_kernel(&load, &gpu, kernel)) && fine;
        printf(", \"u280_model_ms\": %.4g}", attn_fpga_model_ns((enum attn_kernel)kernel, s) / 1e6);
        fflush(stdout);
    }
    printf("]}");
    if (there) {
        close_gpu(&gpu);
    }
    close_load(&load);
    return fine;
}

static const struct attn_example *find(const char *name) {
    for (uint32_t i = 0; i < attn_example_count; i++) {
        if (strcmp(attn_examples[i].name, name) == 0) {
            return &attn_examples[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    static char *usual[] = {"",        "small",   "short-64",   "short-256",
                            "mid-128", "mid-512", "longformer", "long-1024"};
    char **names = argc > 1 ? argv : usual;
    int count = argc > 1 ? argc : (int)GUEST_COUNT(usual);
    bool device = has_gpu(), same = true;
    for (int i = 1; i < count; i++) {
        if (!find(names[i])) {
            fprintf(stderr, "attention_kernels: %s: the examples are %s\n", names[i],
                    attn_example_names);
            return 2;
        }
    }
    printf("{\"schema\": \"symph-bench-attention-1\", \"cuda_device\": %s, \"cases\": [\n",
           device ? "true" : "false");
    for (int i = 1; i < count; i++) {
        same = run_case(find(names[i]), device) && same;
        printf("%s\n", i + 1 < count ? "," : "");
    }
    printf("], \"all_same\": %s}\n", same ? "true" : "false");
    return same ? 0 : 1;
}
