/* SPDX-License-Identifier: Apache-2.0
 *
 * map: reads per second of each variant on one core, and of the CUDA variant, whose hits are first
 * compared bit by bit with those of plain C, on nasty inputs and on all that is timed. JSON.
 *
 *   genomics_map [FASTA | MEGABASES [READS [SEED]]]    70 Mb made up, 200,000 reads unless told
 *
 * A made-up reference has two families of repeats over a third of it; reads of 150 bases have 0.5 %
 * errors. Exit 1: variants differ.
 */
#include "../tests/workloads/genomics/map_cases.h"
#include "clock.h"
#include "genomics/align/map.h"
#ifdef GUEST_CUDA
#include "genomics/align/map_cuda.h"
#endif

enum { BATCH = 20000, TURNS = 5 };

/* Reads are timed in batches as in the pipeline, and the GPU with all at once too. */
struct load {
    struct gn_index *index;
    struct gn_reads **batches;
    uint32_t batch_count, batch_reads;
};

static struct gn_hits *new_hits(const struct gn_reads *reads) {
    struct gn_hits *hits = aligned_alloc(GN_ALIGN, gn_hits_bytes(reads->read_count));
    assert(hits);
    memset(hits, 0xa5, gn_hits_bytes(reads->read_count));
    return hits;
}

static double time_level(const struct load *load, enum guest_simd level, bool *same) {
    double best = 1e300, asking = clock_ns();
    struct gn_hits *hits = new_hits(load->batches[0]), *plain = new_hits(load->batches[0]);
    for (uint32_t i = 0; i < load->batch_count; i++) {
        const struct gn_reads *reads = load->batches[i];
        double from = now_ns();
        int code = gn_map(load->index, reads, hits, level);
        double took = (now_ns() - from - asking) / reads->read_count;
        best = took < best ? took : best;
        code = code ? code : gn_map(load->index, reads, plain, GUEST_PLAIN);
        *same = *same && code == 0 && memcmp(hits, plain, hits->bytes) == 0;
    }
    free(hits);
    free(plain);
    return best;
}

#ifdef GUEST_CUDA
/* NULL: no such memory. */
static void *upload(const void *from, uint64_t bytes) {
    void *to = NULL;
    if (cudaMalloc(&to, bytes) || (from && cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice))) {
        return NULL;
    }
    return to;
}

/* Whether the GPU's hits are those of plain C; the best time through ret_ns. */
static bool same_on_gpu(const struct gn_index *index, const void *gpu_index,
                        const struct gn_reads *reads, double *ret_ns) {
    uint64_t bytes = gn_hits_bytes(reads->read_count);
    struct gn_hits *plain = new_hits(reads), *back = new_hits(reads);
    void *gpu_reads = upload(reads, reads->bytes), *gpu_hits = upload(back, bytes);
    cudaEvent_t from, to;
    bool fine = gpu_reads && gpu_hits && cudaEventCreate(&from) == 0 && cudaEventCreate(&to) == 0;
    for (uint32_t turn = 0; turn < TURNS && fine; turn++) {
        float ms = 0;
        fine = cudaEventRecord(from, 0) == 0 &&
               gn_cuda_map(gpu_index, gpu_reads, gpu_hits, bytes, 0) == 0 &&
               cudaEventRecord(to, 0) == 0 && cudaEventSynchronize(to) == 0 &&
               cudaEventElapsedTime(&ms, from, to) == 0;
        *ret_ns = turn == 0 || ms * 1e6 < *ret_ns ? ms * 1e6 : *ret_ns;
    }
    fine = fine && gn_map(index, reads, plain, GUEST_PLAIN) == 0 &&
           cudaMemcpy(back, gpu_hits, bytes, cudaMemcpyDeviceToHost) == 0 &&
           memcmp(plain, back, bytes) == 0;
    cudaFree(gpu_reads);
    cudaFree(gpu_hits);
    free(plain);
    free(back);
    return fine;
}

static bool check_nasty(uint64_t seed) {
    bool fine = true;
    for (uint32_t i = 0; i < GUEST_COUNT(cases_genomes); i++) {
        struct made_random random = {seed + i, 0};
        struct sy_error error;
        struct gn_index *index = cases_index(&random, &cases_genomes[i], &error);
        void *gpu_index = upload(index, index->bytes);
        for (uint32_t k = 0; k < GUEST_COUNT(cases_ways) && gpu_index; k++) {
            double ns;
            struct gn_reads *reads = cases_reads(&random, index, &cases_ways[k], NULL);
            if (!same_on_gpu(index, gpu_index, reads, &ns)) {
                fprintf(stderr, "seed %llu, genome %u, reads %u: cuda differs from plain\n",
                        (unsigned long long)random.seed, i, k);
                fine = false;
            }
            free(reads);
        }
        fine = fine && gpu_index;
        cudaFree(gpu_index);
        gn_index_close(index);
    }
    return fine;
}

static bool time_gpu(const struct load *load, const struct gn_reads *all, uint64_t seed) {
    int count = 0;
    if (cudaGetDeviceCount(&count) || count == 0) {
        printf(", \"cuda\": null");
        fprintf(stderr, "no CUDA device: its variant is not run\n");
        return true;
    }
    double ns = 0, best = 1e300;
    bool same = check_nasty(seed);
    void *gpu_index = upload(load->index, load->index->bytes);
    for (uint32_t i = 0; i < load->batch_count && gpu_index; i++) {
        same &= same_on_gpu(load->index, gpu_index, load->batches[i], &ns);
        best = ns < best ? ns : best;
    }
    printf(", \"cuda\": {\"reads_per_s\": %.4g", 1e9 * load->batch_reads / best);
    same &= gpu_index && same_on_gpu(load->index, gpu_index, all, &ns);
    printf(", \"reads_per_s_all_at_once\": %.4g, \"same\": %s}", 1e9 * all->read_count / ns,
           same ? "true" : "false");
    cudaFree(gpu_index);
    return same;
}
#else
static bool time_gpu(const struct load *load, const struct gn_reads *all, uint64_t seed) {
    (void)load, (void)all, (void)seed;
    printf(", \"cuda\": null");
    fprintf(stderr, "built without CUDA: its variant is not run\n");
    return true;
}
#endif

static struct gn_index *get_index(const char *what, struct made_random *random,
                                  struct sy_error *error) {
    char *end;
    double megabases = strtod(what, &end);
    struct gn_index *index = NULL;
    if (*end == '\0' && megabases > 0 && megabases < 1000) {
        uint32_t length = (uint32_t)(megabases * 1e6);
        struct map_genome how = {1, length, 8, length / 1000, 300, 0.12, 0, true};
        return cases_index(random, &how, error);
    }
    return gn_index_open(what, "", &index, NULL, error) ? NULL : index;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "70";
    uint32_t reads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 200000;
    struct made_random random = {argc > 3 ? strtoull(argv[3], NULL, 10) : 1, 0};
    struct sy_error error = {0};
    struct load load = {.batch_reads = reads < BATCH ? reads : BATCH};
    if (reads == 0 || !(load.index = get_index(what, &random, &error))) {
        char text[800];
        fprintf(stderr, "genomics_map: %s\n",
                reads ? sy_error_format(&error, text, sizeof(text)) : "READS must be more than 0");
        return 1;
    }
    load.batch_count = reads / load.batch_reads;
    load.batches = calloc(load.batch_count, sizeof(struct gn_reads *));
    assert(load.batches);
    struct map_reads how = {load.batch_reads, 150, 150, 0.005, 0.0002, 0};
    for (uint32_t i = 0; i < load.batch_count; i++) {
        load.batches[i] = cases_reads(&random, load.index, &how, NULL);
    }
    how.count = reads;
    struct gn_reads *all = cases_reads(&random, load.index, &how, NULL);
    printf("{\"schema\": \"symph-bench-genomics-map-1\", \"seed\": %llu, \"bases\": %llu, "
           "\"index_bytes\": %llu, \"batch\": %u",
           (unsigned long long)random.seed, (unsigned long long)load.index->length,
           (unsigned long long)load.index->bytes, load.batch_reads);
    bool same = true;
    for (int level = GUEST_PLAIN; level <= (int)guest_simd_of_processor(); level++) {
        double ns = time_level(&load, (enum guest_simd)level, &same);
        printf(", \"%s\": {\"us_per_read\": %.2f, \"reads_per_s\": %.4g}",
               guest_simd_name((enum guest_simd)level), ns / 1e3, 1e9 / ns);
    }
    same = time_gpu(&load, all, random.seed) && same;
    printf(", \"all_same\": %s}\n", same ? "true" : "false");
    for (uint32_t i = 0; i < load.batch_count; i++) {
        free(load.batches[i]);
    }
    free(load.batches);
    free(all);
    gn_index_close(load.index);
    return same ? 0 : 1;
}
