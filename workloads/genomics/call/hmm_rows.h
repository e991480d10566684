/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside PairHMM: what the variants for processors share.
 *
 * A group is as many pairs of read and haplotype as a vector has lanes. Rows behind a read's last
 * hand I on as it is (g 1, P 0): a group's last row has the last rows of all its reads.
 */
#ifndef GENOMICS_CALL_HMM_ROWS_H
#define GENOMICS_CALL_HMM_ROWS_H

#include "genomics/call/hmm.h"
#include <stdbool.h>

enum { GN_HMM_LANES_MAX = 16, GN_HMM_TILE_MAX = 8 };

/* Sum of one pair, without vectors. */
float gn_hmm_plain(const struct gn_hmm *blob, uint32_t haplotype, const struct gn_hmm_row *rows,
                   uint32_t row_count);

/* ret_rows: as many as the read is long. */
void gn_hmm_rows(const struct gn_hmm *blob, uint32_t read, struct gn_hmm_row *ret_rows);

/* Vectors of a row in a group: P of each base (or, where haplotypes are mixed, match, mismatch and
 * base), k, c, and g of the next row. */
enum { GN_HMM_P = 0, GN_HMM_K = 5, GN_HMM_C = 6, GN_HMM_G = 7, GN_HMM_ROW_VECTORS = 8 };

struct gn_hmm_group {
    uint32_t read[GN_HMM_LANES_MAX], haplotype[GN_HMM_LANES_MAX];
    uint32_t count;
    uint32_t row_count; /* a multiple of the variant's tile */
};

/* Scratch of a run, 64-byte aligned. */
struct gn_hmm_room {
    float *rows;    /* GN_HMM_ROW_VECTORS for each row of the longest read */
    float *columns; /* two vectors for each base of the longest haplotype */
    int32_t *bases; /* a vector for each of these */
};

/* What a variant does. out: lanes floats. */
struct gn_hmm_variant {
    uint32_t lanes, tile;
    /* All lanes with the haplotype of lane 0; rows with P of each base. */
    void (*alike)(const struct gn_hmm *blob, const struct gn_hmm_group *group,
                  const struct gn_hmm_room *room, float *out);
    /* Each lane with its own; rows with match, mismatch and base. */
    void (*mixed)(const struct gn_hmm *blob, const struct gn_hmm_group *group,
                  const struct gn_hmm_room *room, float *out);
};

#if defined(__x86_64__)
extern const struct gn_hmm_variant gn_hmm_avx2, gn_hmm_avx512;
#endif

static inline const struct gn_hmm_read *gn_hmm_read(const struct gn_hmm *blob, uint32_t read) {
    return (const struct gn_hmm_read *)gn_at(blob, blob->reads) + read;
}
static inline const struct gn_hmm_haplotype *gn_hmm_haplotype(const struct gn_hmm *blob,
                                                              uint32_t haplotype) {
    return (const struct gn_hmm_haplotype *)gn_at(blob, blob->haplotypes) + haplotype;
}
static inline const uint8_t *gn_hmm_haplotype_bases(const struct gn_hmm *blob, uint32_t haplotype) {
    return (const uint8_t *)gn_at(blob, blob->haplotype_bases) +
           gn_hmm_haplotype(blob, haplotype)->bases;
}

#endif
