/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM of libgkl (Debian: libgkl-jni), called without Java: a peer for tests and benches.
 */
#ifndef GENOMICS_GKL_H
#define GENOMICS_GKL_H

#include "genomics/call/hmm.h"
#include <dlfcn.h>
#include <stdlib.h>

#define GKL_LIBRARY "/usr/lib/jni/libgkl_pairhmm.so"

struct gkl_pair { /* its struct testcase */
    int read_length, haplotype_length;
    const char *qualities, *insertions, *deletions, *continuations;
    const char *haplotype, *read;
};

/* Likelihood times 2^120; below 1e-28 it wants to be called again in double precision. */
typedef float (*gkl_function)(struct gkl_pair *pair);

struct gkl {
    gkl_function avx, avx512; /* NULL: it has none */
};

static inline char gkl_letter(uint8_t code) {
    return "ACGTN"[code < 4 ? code : 4];
}

/* NULL and a reason, if it is not there. */
static inline const char *gkl_open(struct gkl *ret_gkl) {
    void *library = dlopen(GKL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return "no " GKL_LIBRARY " (Debian package libgkl-jni)";
    }
    unsigned char *table = dlsym(library, "_ZN11ConvertChar15conversionTableE");
    if (!table) {
        return GKL_LIBRARY " is not of a version that is known";
    }
    table['A'] = 0, table['C'] = 1, table['T'] = 2, table['G'] = 3, table['N'] = 4;
    void *avx = dlsym(library, "_Z22compute_full_prob_avxsIfET_P8testcase");
    void *avx512 = dlsym(library, "_Z25compute_full_prob_avx512sIfET_P8testcase");
    ret_gkl->avx = (gkl_function)avx;
    ret_gkl->avx512 = (gkl_function)avx512;
    return avx ? NULL : GKL_LIBRARY " has no such function";
}

/* Letters and qualities of a blob as it wants them. */
struct gkl_batch {
    char *reads, *haplotypes, *continuations;
};

static inline int gkl_load(const struct gn_hmm *blob, struct gkl_batch *ret_batch) {
    uint64_t read_bytes = blob->read_qualities - blob->read_bases;
    uint64_t haplotype_bytes = blob->bytes - blob->haplotype_bases;
    struct gkl_batch batch = {malloc(read_bytes + 1), malloc(haplotype_bytes + 1),
                              malloc(GN_READ_MAX)};
    if (!batch.reads || !batch.haplotypes || !batch.continuations) {
        return -1;
    }
    const uint8_t *reads = gn_at(blob, blob->read_bases);
    const uint8_t *haplotypes = gn_at(blob, blob->haplotype_bases);
    for (uint64_t at = 0; at < read_bytes; at++) {
        batch.reads[at] = gkl_letter(reads[at]);
    }
    for (uint64_t at = 0; at < haplotype_bytes; at++) {
        batch.haplotypes[at] = gkl_letter(haplotypes[at]);
    }
    for (uint32_t at = 0; at < GN_READ_MAX; at++) {
        batch.continuations[at] = 10;
    }
    *ret_batch = batch;
    return 0;
}

static inline void gkl_free(struct gkl_batch *batch) {
    free(batch->reads);
    free(batch->haplotypes);
    free(batch->continuations);
}

static inline void gkl_run(const struct gn_hmm *blob, const struct gkl_batch *batch,
                           gkl_function function, float *sums) {
    const struct gn_hmm_region *regions = gn_at(blob, blob->regions);
    const struct gn_hmm_read *reads = gn_at(blob, blob->reads);
    const struct gn_hmm_haplotype *haplotypes = gn_at(blob, blob->haplotypes);
    const char *qualities = gn_at(blob, blob->read_qualities);
    const char *gaps = gn_at(blob, blob->read_gaps);
    for (uint32_t at = 0; at < blob->region_count; at++) {
        const struct gn_hmm_region *region = &regions[at];
        for (uint32_t pair = 0; pair < region->read_count * region->haplotype_count; pair++) {
            const struct gn_hmm_read *read = &reads[region->read + pair / region->haplotype_count];
            const struct gn_hmm_haplotype *haplotype =
                &haplotypes[region->haplotype + pair % region->haplotype_count];
            struct gkl_pair call = {(int)read->length,
                                    (int)haplotype->length,
                                    qualities + read->bases,
                                    gaps + read->bases,
                                    gaps + read->bases,
                                    batch->continuations,
                                    batch->haplotypes + haplotype->bases,
                                    batch->reads + read->bases};
            sums[region->sum + pair] = function(&call);
        }
    }
}

#endif
