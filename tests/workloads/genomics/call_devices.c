/* SPDX-License-Identifier: Apache-2.0
 *
 * pairhmm, sort and activity on devices: first compared bit by bit with plain C on random and nasty
 * input, then timed. Writes JSON; a GPU's own time, copies not included.
 *
 *   call_devices [SEED]     compares and times
 *   call_devices --check    only compares; exit 77: there is no device
 *
 * Exit 1: variants differ.
 */
#include "bin_cases.h"
#include "genomics/call/activity.h"
#include "genomics/call/sort.h"
#include "hmm_cases.h"
#include <math.h>
#include <stdio.h>
#include <time.h>
#ifdef GUEST_CUDA
#include "genomics/call/call_cuda.h"
#endif
#ifdef GUEST_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include "hmm_cl.h"
#include "opencl_device.h"
#endif

enum { TURNS = 7, SEEDS = 3 };

static const struct hmm_case hmm_cases[] = {
    {"like a caller's", 40, {3, 40}, {2, 4}, {30, 150}, {200, 300}, 0, false},
    {"with N", 20, {1, 20}, {1, 5}, {1, 60}, {1, 90}, 0.1, false},
    {"all N", 1, {20, 20}, {3, 3}, {50, 60}, {70, 80}, 1, false},
    {"wild", 20, {5, 33}, {1, 6}, {1, 40}, {1, 50}, 0.05, true},
    {"haplotypes shorter than reads", 3, {9, 20}, {2, 3}, {100, 140}, {5, 40}, 0.01, false},
    {"all lengths", 3, {60, 80}, {2, 2}, {1, 512}, {200, 600}, 0, false},
    {"longest reads", 2, {17, 18}, {2, 2}, {500, 512}, {520, 600}, 0, false},
    {"one read", 5, {1, 1}, {1, 1}, {1, 150}, {1, 150}, 0, false},
    {"one base", 2, {19, 19}, {3, 3}, {1, 1}, {1, 1}, 0.2, false},
    {"empty regions", 50, {0, 2}, {0, 2}, {20, 30}, {30, 40}, 0, false},
    {"nothing in them", 3, {18, 18}, {2, 2}, {0, 2}, {0, 2}, 0, false},
    {"unlikely", 2, {10, 20}, {2, 2}, {140, 150}, {200, 220}, 0, true},
};

/* The sums of a batch on a device, and the best time of some turns. NULL, or what is wrong. */
typedef const char *(*hmm_function)(const struct gn_hmm *blob, int turns, float *sums,
                                    double *ret_ns);

/* --- CUDA ------------------------------------------------------------------------------------- */

#ifdef GUEST_CUDA
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

static void *upload(const void *from, uint64_t bytes) {
    void *to = NULL;
    bool fine = cudaMalloc(&to, bytes + 1) == cudaSuccess &&
                cudaMemset(to, 0xa5, bytes + 1) == cudaSuccess &&
                (!from || cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    return fine ? to : NULL;
}

/* What is timed, with device pointers. */
struct launch {
    const struct gn_hmm *hmm;
    float *sums;
    uint64_t sums_bytes;
    const struct gn_index *index;
    const struct gn_bin *bin;
    struct gn_order *order;
    struct gn_activity *activity;
    uint64_t bin_bytes, order_bytes, activity_bytes;
};

static cudaError_t launch_hmm(const struct launch *launch) {
    return gn_cuda_hmm(launch->hmm, launch->sums, launch->sums_bytes, 0);
}

static cudaError_t launch_sort(const struct launch *launch) {
    return gn_cuda_sort(launch->bin, launch->bin_bytes, launch->order, launch->order_bytes, 0);
}

static cudaError_t launch_activity(const struct launch *launch) {
    return gn_cuda_activity(launch->index, launch->bin, launch->order, launch->activity,
                            launch->activity_bytes, 0);
}

static bool time_launch(cudaError_t (*function)(const struct launch *), const struct launch *launch,
                        int turns, double *ret_ns) {
    cudaEvent_t from, to;
    bool fine = !cudaEventCreate(&from) && !cudaEventCreate(&to);
    *ret_ns = 1e300;
    for (int turn = 0; turn < turns && fine; turn++) {
        float ms = 0;
        fine = !cudaEventRecord(from, 0) && !function(launch) && !cudaEventRecord(to, 0) &&
               !cudaEventSynchronize(to) && !cudaEventElapsedTime(&ms, from, to);
        *ret_ns = (double)ms * 1e6 < *ret_ns ? (double)ms * 1e6 : *ret_ns;
    }
    return fine;
}

static const char *hmm_cuda(const struct gn_hmm *blob, int turns, float *sums, double *ret_ns) {
    uint64_t bytes = blob->sum_count * sizeof(float);
    struct launch launch = {
        .hmm = upload(blob, blob->bytes), .sums = upload(NULL, bytes), .sums_bytes = bytes};
    bool fine = launch.hmm && launch.sums && time_launch(launch_hmm, &launch, turns, ret_ns) &&
                !cudaMemcpy(sums, launch.sums, bytes, cudaMemcpyDeviceToHost);
    cudaFree((void *)(uintptr_t)launch.hmm);
    cudaFree(launch.sums);
    return fine ? NULL : cudaGetErrorString(cudaGetLastError());
}

/* order and activity are filled as they come from the device; ret_ns: of sort, of activity. */
static const char *bin_cuda(const struct gn_index *index, const struct gn_bin *bin, int turns,
                            struct gn_order *order, struct gn_activity *activity,
                            double ret_ns[2]) {
    struct launch launch = {.bin_bytes = bin->bytes,
                            .order_bytes = gn_order_bytes(bin->record_count),
                            .activity_bytes = gn_activity_bytes(bin->end - bin->start)};
    launch.index = upload(index, index->bytes);
    launch.bin = upload(bin, bin->bytes);
    launch.order = upload(NULL, launch.order_bytes);
    launch.activity = upload(NULL, launch.activity_bytes);
    bool fine =
        launch.index && launch.bin && launch.order && launch.activity &&
        time_launch(launch_sort, &launch, turns, &ret_ns[0]) &&
        time_launch(launch_activity, &launch, turns, &ret_ns[1]) &&
        !cudaMemcpy(order, launch.order, launch.order_bytes, cudaMemcpyDeviceToHost) &&
        !cudaMemcpy(activity, launch.activity, launch.activity_bytes, cudaMemcpyDeviceToHost);
    cudaFree((void *)(uintptr_t)launch.index);
    cudaFree((void *)(uintptr_t)launch.bin);
    cudaFree(launch.order);
    cudaFree(launch.activity);
    return fine ? NULL : cudaGetErrorString(cudaGetLastError());
}
#else
static const char *has_cuda(void) {
    return "built without CUDA";
}
static const char *hmm_cuda(const struct gn_hmm *blob, int turns, float *sums, double *ret_ns) {
    (void)blob, (void)turns, (void)sums, (void)ret_ns;
    return "built without CUDA";
}
static const char *bin_cuda(const struct gn_index *index, const struct gn_bin *bin, int turns,
                            struct gn_order *order, struct gn_activity *activity,
                            double ret_ns[2]) {
    (void)index, (void)bin, (void)turns, (void)order, (void)activity, (void)ret_ns;
    return "built without CUDA";
}
#endif

/* --- OpenCL ----------------------------------------------------------------------------------- */

#ifdef GUEST_OPENCL
static struct opencl_device opencl;

static const char *has_opencl(void) {
    return opencl_open(&opencl, hmm_cl, "pairhmm");
}

static double wall_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static const char *hmm_opencl(const struct gn_hmm *blob, int turns, float *sums, double *ret_ns) {
    cl_ulong count = blob->sum_count;
    cl_int status = CL_SUCCESS, other = CL_SUCCESS;
    size_t bytes = count * sizeof(float), items = 256, group = 1;
    cl_mem in = clCreateBuffer(opencl.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, blob->bytes,
                               (void *)(uintptr_t)blob, &status);
    cl_mem out = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, bytes + 1, NULL, &other);
    status = status ? status : other;
    clSetKernelArg(opencl.kernel, 0, sizeof(in), &in);
    clSetKernelArg(opencl.kernel, 1, sizeof(out), &out);
    clSetKernelArg(opencl.kernel, 2, sizeof(count), &count);
    *ret_ns = 1e300;
    for (int turn = 0; turn < turns && !status; turn++) {
        double from = wall_ns();
        status = clEnqueueNDRangeKernel(opencl.queue, opencl.kernel, 1, NULL, &items, &group, 0,
                                        NULL, NULL);
        status = status ? status : clFinish(opencl.queue);
        *ret_ns = fmin(*ret_ns, wall_ns() - from);
    }
    status = status || bytes == 0
                 ? status
                 : clEnqueueReadBuffer(opencl.queue, out, CL_TRUE, 0, bytes, sums, 0, NULL, NULL);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    return status ? "an OpenCL call failed" : NULL;
}
#else
static const char *has_opencl(void) {
    return "built without OpenCL";
}
static const char *hmm_opencl(const struct gn_hmm *blob, int turns, float *sums, double *ret_ns) {
    (void)blob, (void)turns, (void)sums, (void)ret_ns;
    return "built without OpenCL";
}
#endif

/* --- comparison ------------------------------------------------------------------------------- */

/* Sums that count are the same bit by bit; the others are as small on both sides. */
static bool same_sums(const struct hmm_case *what, uint64_t seed, hmm_function run,
                      const char *name) {
    struct gn_hmm *blob = hmm_make(what, seed);
    assert(blob);
    float *want = malloc((blob->sum_count + 1) * sizeof(float));
    float *got = malloc((blob->sum_count + 1) * sizeof(float));
    assert(want && got);
    memset(got, 0xff, blob->sum_count * sizeof(float));
    double ns = 0;
    uint32_t bad = 0;
    int code = gn_hmm_run(blob, want, guest_simd()); /* test_hmm: all levels are the same */
    const char *trouble = run(blob, 1, got, &ns);
    if (code || trouble) {
        fprintf(stderr, "%s, %s, seed %llu: %d, %s\n", name, what->name, (unsigned long long)seed,
                code, trouble ? trouble : "no trouble");
        bad++;
    }
    for (uint32_t at = 0; at < blob->sum_count && !bad; at++) {
        bool small = want[at] < GN_HMM_SMALL && got[at] < GN_HMM_SMALL;
        if (!small && memcmp(&want[at], &got[at], sizeof(float)) != 0 && bad++ < 3) {
            fprintf(stderr, "%s, %s, seed %llu: pair %u is %a instead of %a\n", name, what->name,
                    (unsigned long long)seed, at, (double)got[at], (double)want[at]);
        }
    }
    free(want);
    free(got);
    free(blob);
    return bad == 0;
}

static bool check_hmm(hmm_function run, const char *name, uint64_t seeds) {
    bool fine = true;
    for (uint32_t at = 0; at < GUEST_COUNT(hmm_cases); at++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            fine = same_sums(&hmm_cases[at], seed, run, name) && fine;
        }
    }
    return fine;
}

/* A bin with what C and the device make of it. */
struct bin_pair {
    struct gn_bin *bin;
    struct gn_order *order[2];
    struct gn_activity *activity[2];
    uint64_t order_bytes, activity_bytes;
};

static void open_bin(struct bin_pair *pair, const struct bin_case *what, const uint8_t *codes,
                     uint64_t seed) {
    pair->bin = bin_make(what, codes, BIN_REFERENCE, seed);
    pair->order_bytes = gn_order_bytes(pair->bin->record_count);
    pair->activity_bytes = gn_activity_bytes(pair->bin->end - pair->bin->start);
    for (int side = 0; side < 2; side++) {
        pair->order[side] = calloc(1, pair->order_bytes);
        pair->activity[side] = calloc(1, pair->activity_bytes);
        assert(pair->order[side] && pair->activity[side]);
    }
}

static void close_bin(struct bin_pair *pair) {
    for (int side = 0; side < 2; side++) {
        free(pair->order[side]);
        free(pair->activity[side]);
    }
    free(pair->bin);
}

static bool same_bin(const struct bin_pair *pair) {
    const struct gn_order *a = pair->order[0], *b = pair->order[1];
    const struct gn_activity *c = pair->activity[0], *d = pair->activity[1];
    return memcmp(a, b, sizeof(*a)) == 0 && memcmp(c, d, sizeof(*c)) == 0 &&
           memcmp(gn_at(a, a->order), gn_at(b, a->order), a->record_count * sizeof(uint32_t)) ==
               0 &&
           memcmp(gn_at(a, a->duplicates), gn_at(b, a->duplicates), a->record_count) == 0 &&
           memcmp(gn_at(c, c->depth), gn_at(d, c->depth), c->length * sizeof(uint16_t)) == 0 &&
           memcmp(gn_at(c, c->evidence), gn_at(d, c->evidence), c->length * sizeof(uint32_t)) == 0;
}

/* ret_ns: of sort and of activity, in the first case. */
static bool check_bins(int turns, double ret_ns[2]) {
    uint8_t *codes = bin_reference(9);
    struct gn_index *index = made_index(codes, BIN_REFERENCE);
    bool fine = true;
    for (uint32_t at = 0; at < GUEST_COUNT(bin_cases); at++) {
        struct bin_pair pair;
        double ns[2];
        open_bin(&pair, &bin_cases[at], codes, 900 + at);
        const char *trouble =
            bin_cuda(index, pair.bin, turns, pair.order[1], pair.activity[1], at ? ns : ret_ns);
        bool done =
            !trouble && !gn_sort(pair.bin, pair.order[0], guest_simd()) &&
            !gn_activity_run(index, pair.bin, pair.order[0], pair.activity[0], guest_simd());
        if (!done || !same_bin(&pair)) {
            fprintf(stderr, "cuda, bin %s: %s\n", bin_cases[at].name,
                    trouble ? trouble : "differs from C");
            fine = false;
        }
        close_bin(&pair);
    }
    free(index);
    free(codes);
    return fine;
}

static int only_check(void) {
    const char *cuda = has_cuda(), *cl = has_opencl();
    double ns[2];
    if (cuda && cl) {
        printf("skipped: %s, %s\n", cuda, cl);
        return 77;
    }
    bool fine = cl || check_hmm(hmm_opencl, "opencl", 1);
    fine = (cuda || (check_hmm(hmm_cuda, "cuda", SEEDS) && check_bins(1, ns))) && fine;
    printf("cuda: %s; opencl: %s; %s\n", cuda ? cuda : "compared", cl ? cl : "compared",
           fine ? "all the same as plain C" : "they differ from plain C");
    return fine ? 0 : 1;
}

/* --- times ------------------------------------------------------------------------------------ */

static bool time_hmm(const struct hmm_case *what, hmm_function run, const char *name, int turns,
                     uint64_t seed) {
    struct gn_hmm *blob = hmm_make(what, seed);
    assert(blob);
    float *sums = malloc((blob->sum_count + 1) * sizeof(float));
    double ns = 0;
    assert(sums);
    const char *trouble = run(blob, turns, sums, &ns);
    if (trouble) {
        fprintf(stderr, "%s: %s\n", name, trouble);
    }
    printf(",\n  {\"device\": \"%s\", \"case\": \"%s\", \"pairs\": %u, \"gcells\": %.3f, "
           "\"us\": %.1f, \"gcups\": %.1f}",
           name, what->name, blob->sum_count, (double)blob->cells / 1e9, ns / 1e3,
           (double)blob->cells / ns);
    free(sums);
    free(blob);
    return !trouble;
}

int main(int argc, char **argv) {
    static const struct hmm_case timed[] = {
        {"uniform 148 x 350", 256, {64, 64}, {8, 8}, {148, 148}, {350, 350}, 0, false},
        {"ragged, one task", 128, {10, 56}, {2, 4}, {30, 150}, {200, 300}, 0, false},
        {"ragged, many", 2048, {10, 56}, {2, 4}, {30, 150}, {200, 300}, 0, false},
    };
    if (argc > 1 && strcmp(argv[1], "--check") == 0) {
        return only_check();
    }
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const char *cuda = has_cuda(), *cl = has_opencl();
    bool fine = true;
    printf("{\"schema\": \"symph-bench-genomics-call-devices/1\", \"seed\": %llu, \"rows\": [\n"
           "  {\"cuda\": \"%s\", \"opencl\": \"%s\"}",
           (unsigned long long)seed, cuda ? cuda : "yes", cl ? cl : "yes");
    if (!cl) {
        fine = check_hmm(hmm_opencl, "opencl", 1);
        fine = time_hmm(&timed[1], hmm_opencl, "opencl", 2, seed) && fine;
    }
    if (!cuda) {
        double ns[2] = {0, 0};
        fine = check_hmm(hmm_cuda, "cuda", SEEDS) && fine;
        fine = check_bins(TURNS, ns) && fine;
        printf(",\n  {\"device\": \"cuda\", \"case\": \"bin of 20000 records\", "
               "\"sort_us\": %.1f, \"activity_us\": %.1f}",
               ns[0] / 1e3, ns[1] / 1e3);
        for (uint32_t at = 0; at < GUEST_COUNT(timed); at++) {
            fine = time_hmm(&timed[at], hmm_cuda, "cuda", TURNS, seed) && fine;
        }
    }
    printf("],\n \"all_same\": %s}\n", fine ? "true" : "false");
    return fine ? 0 : 1;
}
