/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM: cells per second of each variant on one core, beside libgkl's in the same run, on pairs
 * of one size and on ragged batches as a caller makes them. Writes JSON.
 *
 *   genomics_hmm [SECONDS [SEED]]    SECONDS for each row, 0.5 unless told
 */
#include "../tests/workloads/genomics/gkl.h"
#include "../tests/workloads/genomics/hmm_cases.h"
#include "clock.h"
#include <immintrin.h>
#include <stdio.h>

static const struct hmm_case cases[] = {
    {"uniform", 8, {64, 64}, {8, 8}, {148, 148}, {350, 350}, 0, false},
    {"ragged", 128, {10, 56}, {2, 4}, {30, 150}, {200, 300}, 0, false},
    {"small", 512, {3, 20}, {2, 2}, {30, 150}, {200, 300}, 0, false},
};

struct row {
    const char *name;
    enum guest_simd level;
    gkl_function gkl;
};

static int run_row(const struct gn_hmm *blob, const struct row *row, const struct gkl_batch *batch,
                   double budget_ns, float *sums, double *ret_rate) {
    double best = 1e300, spent = 0, asking = clock_ns();
    int code = 0;
    for (int turn = 0; !code && (turn < 3 || spent < budget_ns); turn++) {
        double from = now_ns();
        if (row->gkl) {
            uint32_t control = _mm_getcsr();
            _mm_setcsr(control | 0x8040);
            gkl_run(blob, batch, row->gkl, sums);
            _mm_setcsr(control);
        } else {
            code = gn_hmm_run(blob, sums, row->level);
        }
        double took = now_ns() - from - asking;
        best = took < best ? took : best;
        spent += took;
    }
    *ret_rate = (double)blob->cells / best;
    return code;
}

static int run_case(const struct hmm_case *what, const struct gkl *gkl, double budget_ns,
                    uint64_t seed) {
    struct gn_hmm *blob = hmm_make(what, seed);
    struct gkl_batch batch = {0};
    const struct row rows[] = {{"plain", GUEST_PLAIN, NULL},
                               {"avx2", GUEST_AVX2, NULL},
                               {"avx512", GUEST_AVX512, NULL},
                               {"gkl avx", GUEST_PLAIN, gkl->avx},
                               {"gkl avx512", GUEST_PLAIN, gkl->avx512}};
    float *sums = blob ? malloc(sizeof(float) * blob->sum_count) : NULL;
    enum guest_simd have = guest_simd_of_processor();
    if (!sums || gkl_load(blob, &batch)) {
        return 1;
    }
    printf("  {\"case\": \"%s\", \"pairs\": %u, \"cells\": %llu", what->name, blob->sum_count,
           (unsigned long long)blob->cells);
    for (uint32_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        bool is_gkl = at >= 3;
        double rate = 0;
        if ((is_gkl && !rows[at].gkl) || (is_gkl && at == 4 && have < GUEST_AVX512) ||
            rows[at].level > have) {
            continue;
        }
        if (run_row(blob, &rows[at], &batch, budget_ns, sums, &rate)) {
            return 1;
        }
        printf(", \"%s_gcups\": %.3f", rows[at].name, rate);
        fflush(stdout);
    }
    printf("}");
    gkl_free(&batch);
    free(sums);
    free(blob);
    return 0;
}

int main(int argc, char **argv) {
    double budget_ns = 1e9 * (argc > 1 ? strtod(argv[1], NULL) : 0.5);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct gkl gkl = {0};
    const char *why = gkl_open(&gkl);
    if (why) {
        fprintf(stderr, "genomics_hmm: without libgkl: %s\n", why);
    }
    printf("{\"schema\": \"symph-bench-genomics-hmm/1\", \"seed\": %llu, \"level\": \"%s\", "
           "\"rows\": [\n",
           (unsigned long long)seed, guest_simd_name(guest_simd_of_processor()));
    for (uint32_t at = 0; at < GUEST_COUNT(cases); at++) {
        if (run_case(&cases[at], &gkl, budget_ns, seed + at)) {
            return 1;
        }
        printf("%s\n", at + 1 < GUEST_COUNT(cases) ? "," : "");
    }
    printf("]}\n");
    return 0;
}
