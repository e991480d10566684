/* SPDX-License-Identifier: Apache-2.0
 *
 * extend: billions of matrix cells per second (GCUPS) of each variant, beside parasail's in the
 * same run. The CUDA and OpenCL variants are first compared bit by bit with plain C on random and
 * nasty jobs. Writes JSON; CPU time on the host, the device's own time on a GPU.
 *
 *   genomics_extend [JOBS [SEED]]    20,000 jobs of 150 x 250 unless told
 *   genomics_extend --check          only compares; exit 77: there is no device
 *
 * Exit 1: variants differ.
 */
#include "../tests/workloads/genomics/extend_devices.h"
#include "clock.h"
#include <dlfcn.h>
#include <stdio.h>
enum { TURNS = 5, LENGTH = 150, WIDTH = 250 };

/* --- comparison ------------------------------------------------------------------------------- */

static bool same(const struct world *world, device_function run, const char *what) {
    double ns = 0;
    uint32_t count = world->jobs->job_count, bad = 0;
    memset(world->out[1], 0xa5, count * sizeof(struct gn_extension));
    if (gn_extend(world->index, world->reads, world->jobs, world->out[0], GUEST_PLAIN)) {
        return false;
    }
    const char *trouble = run(world, 1, &ns);
    if (trouble) {
        fprintf(stderr, "%s: %s\n", what, trouble);
        return false;
    }
    for (uint32_t at = 0; at < count; at++) {
        const struct gn_extension *a = &world->out[0][at], *b = &world->out[1][at];
        if (memcmp(a, b, sizeof(*a)) != 0 && bad++ < 3) {
            fprintf(stderr, "%s: job %u has score %d at %u instead of %d at %u\n", what, at,
                    b->score, b->position, a->score, a->position);
        }
    }
    return bad == 0;
}

static bool check(device_function run, const char *name) {
    static const uint32_t shapes[][2] = {{150, 250}, {36, 60},   {240, 700}, {300, 500},
                                         {512, 900}, {120, 200}, {151, 2048}};
    static struct world world;
    bool fine = true;
    for (uint32_t at = 0; at <= GUEST_COUNT(shapes); at++) {
        char what[80];
        snprintf(what, sizeof(what), "%s, shape %u", name, at);
        if (at < GUEST_COUNT(shapes)) {
            make_world(&world, 100 + at, shapes[at][0], shapes[at][1]);
        } else {
            make_nasty(&world);
        }
        fine = same(&world, run, what) && fine;
        close_world(&world);
    }
    return fine;
}

/* --- parasail --------------------------------------------------------------------------------- */

struct parasail {
    void *(*matrix)(const char *alphabet, int match, int mismatch);
    void *(*profile)(const char *read, int length, const void *matrix);
    void *(*align)(const void *profile, const char *window, int width, int open, int gap);
    void *(*trace)(const void *profile, const char *window, int width, int open, int gap);
    int (*score)(const void *result);
    void (*free_result)(void *result);
    void (*free_profile)(void *profile);
};

static bool load_parasail(struct parasail *ret_parasail) {
    static const char *const names[] = {"parasail_matrix_create",
                                        "parasail_profile_create_avx_256_16",
                                        "parasail_sw_striped_profile_avx2_256_16",
                                        "parasail_sw_trace_striped_profile_avx2_256_16",
                                        "parasail_result_get_score",
                                        "parasail_result_free",
                                        "parasail_profile_free"};
    void *library = dlopen("libparasail.so.8", RTLD_NOW);
    library = library ? library : dlopen("libparasail.so", RTLD_NOW);
    bool fine = library != NULL;
    for (size_t at = 0; at < GUEST_COUNT(names) && fine; at++) {
        void *symbol = dlsym(library, names[at]);
        memcpy((char *)ret_parasail + at * sizeof(symbol), &symbol, sizeof(symbol));
        fine = symbol != NULL;
    }
    return fine;
}

/* parasail knows no reward for ends: its score is at most 10 less than ours. */
static bool time_parasail(const struct parasail *parasail, const struct world *world,
                          const int16_t *scores, bool traced, double *ret_ns) {
    void *matrix = parasail->matrix("ACGTN", 1, -4);
    const struct gn_job *jobs = gn_at(world->jobs, world->jobs->jobs);
    const struct gn_read *reads = gn_at(world->reads, world->reads->reads);
    const uint8_t *bases = gn_at(world->reads, world->reads->bases);
    uint32_t count = world->jobs->job_count < 4000 ? world->jobs->job_count : 4000;
    bool fine = true;
    double from = now_ns();
    for (uint32_t at = 0; at < count; at++) {
        char read[GN_READ_MAX], window[GN_WINDOW_MAX];
        uint32_t length = reads[jobs[at].read].length;
        for (uint32_t i = 0; i < length; i++) {
            read[i] = "ACGTN"[bases[reads[jobs[at].read].bases + i]];
        }
        for (uint32_t i = 0; i < jobs[at].window_length; i++) {
            window[i] = "ACGTN"[world->reference[jobs[at].window - GN_GAP + i]];
        }
        void *profile = parasail->profile(read, (int)length, matrix);
        void *result = (traced ? parasail->trace : parasail->align)(profile, window,
                                                                    jobs[at].window_length, 7, 1);
        int theirs = parasail->score(result);
        fine = fine && theirs <= scores[at] && scores[at] <= theirs + 10;
        parasail->free_result(result);
        parasail->free_profile(profile);
    }
    *ret_ns = (now_ns() - from) / count * world->jobs->job_count;
    return fine;
}

/* --- times ------------------------------------------------------------------------------------ */

/* Forward reads of one size, as in a micro-benchmark, with some errors and gaps. */
static void make_uniform(struct world *world, uint64_t seed, uint32_t count) {
    struct made_random random = {seed, 0};
    uint8_t *codes = malloc((size_t)count * LENGTH);
    uint16_t *lengths = malloc(count * sizeof(*lengths));
    struct gn_job *jobs = calloc(count, sizeof(*jobs));
    assert(codes && lengths && jobs);
    for (uint32_t at = 0; at < REFERENCE; at++) {
        world->reference[at] = (uint8_t)made_below(&random, 4);
    }
    for (uint32_t at = 0; at < count; at++) {
        uint32_t place = 100 + made_below(&random, REFERENCE - 1000);
        made_copy(&random, world->reference, place, LENGTH, 0.01, 0.006, false,
                  codes + (size_t)at * LENGTH);
        lengths[at] = LENGTH;
        jobs[at] = (struct gn_job){.read = at,
                                   .window = GN_GAP + place - 20 - made_below(&random, 60),
                                   .window_length = WIDTH};
    }
    open_world(world, codes, lengths, jobs, count);
    free(codes);
    free(lengths);
    free(jobs);
}

static bool time_levels(const struct world *world, int16_t *scores) {
    double cells = (double)world->jobs->cells, asking = clock_ns();
    bool fine = true;
    for (int level = GUEST_PLAIN; level <= (int)guest_simd_of_processor(); level++) {
        double best[2] = {1e300, 1e300};
        for (int turn = 0; turn < (level == GUEST_PLAIN ? 1 : TURNS) && fine; turn++) {
            double from = now_ns();
            fine = gn_extend_scores(world->index, world->reads, world->jobs, scores,
                                    (enum guest_simd)level) == 0;
            double between = now_ns();
            fine = fine &&
                   gn_extend(world->index, world->reads, world->jobs,
                             world->out[level == GUEST_PLAIN ? 0 : 1], (enum guest_simd)level) == 0;
            double to = now_ns();
            best[0] = between - from - asking < best[0] ? between - from - asking : best[0];
            best[1] = to - between - asking < best[1] ? to - between - asking : best[1];
        }
        fine = fine && (level == GUEST_PLAIN ||
                        memcmp(world->out[0], world->out[1],
                               world->jobs->job_count * sizeof(struct gn_extension)) == 0);
        printf(", \"%s\": {\"score_gcups\": %.2f, \"cigar_gcups\": %.2f}",
               guest_simd_name((enum guest_simd)level), cells / best[0], cells / best[1]);
    }
    return fine;
}

static bool time_device(const struct world *world, const char *name, device_function run,
                        const char *absent) {
    double ns = 0;
    if (absent) {
        printf(", \"%s\": null", name);
        fprintf(stderr, "%s: %s: that variant is not run\n", name, absent);
        return true;
    }
    bool fine = check(run, name);
    const char *trouble = run(world, TURNS, &ns);
    fine = fine && !trouble &&
           memcmp(world->out[0], world->out[1],
                  world->jobs->job_count * sizeof(struct gn_extension)) == 0;
    printf(", \"%s\": {\"cigar_gcups\": %.2f, \"us\": %.1f, \"same\": %s}", name,
           (double)world->jobs->cells / ns, ns / 1e3, fine ? "true" : "false");
    return fine;
}

static int only_check(void) {
    const char *cuda = has_cuda(), *cl = has_opencl();
    if (cuda && cl) {
        printf("skipped: %s, %s\n", cuda, cl);
        return 77;
    }
    bool fine = (cuda || check(run_cuda, "cuda")) && (cl || check(run_opencl, "opencl"));
    printf("cuda: %s; opencl: %s; %s\n", cuda ? cuda : "compared", cl ? cl : "compared",
           fine ? "all the same as plain C" : "they differ from plain C");
    return fine ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--check") == 0) {
        return only_check();
    }
    uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    static struct world world;
    struct parasail parasail;
    int16_t *scores = calloc(count + 1u, sizeof(*scores));
    assert(scores);
    make_uniform(&world, seed, count);
    printf("{\"schema\": \"symph-bench-genomics-extend-1\", \"seed\": %llu, \"jobs\": %u, "
           "\"length\": %d, \"window\": %d",
           (unsigned long long)seed, count, LENGTH, WIDTH);
    bool fine = time_levels(&world, scores);
    if (load_parasail(&parasail)) {
        double ns[2] = {0, 0};
        bool agrees = time_parasail(&parasail, &world, scores, false, &ns[0]);
        agrees = time_parasail(&parasail, &world, scores, true, &ns[1]) && agrees;
        printf(", \"parasail\": {\"score_gcups\": %.2f, \"cigar_gcups\": %.2f, \"agrees\": %s}",
               (double)world.jobs->cells / ns[0], (double)world.jobs->cells / ns[1],
               agrees ? "true" : "false");
        fine = fine && agrees;
    } else {
        printf(", \"parasail\": null");
        fprintf(stderr, "libparasail.so is not installed: it is not compared\n");
    }
    fine = time_device(&world, "opencl", run_opencl, has_opencl()) && fine;
    fine = time_device(&world, "cuda", run_cuda, has_cuda()) && fine;
    printf(", \"all_same\": %s}\n", fine ? "true" : "false");
    close_world(&world);
    free(scores);
    return fine ? 0 : 1;
}
