/* SPDX-License-Identifier: Apache-2.0
 *
 * A donor with known variants, reads of it placed where they come from, and the way through all
 * stages of calling: for tests of assemble, genotype, VCF and BAM.
 */
#ifndef GENOMICS_CALL_CASES_H
#define GENOMICS_CALL_CASES_H

#include "genomics/align/index.h"
#include "genomics/call/activity.h"
#include "genomics/call/assemble.h"
#include "genomics/call/genotype.h"
#include "genomics/call/hmm.h"
#include "genomics/call/sort.h"
#include "made.h"
#include <stdio.h>

enum {
    CALL_LENGTH = 6000,
    CALL_READ = 120,
    CALL_VARIANT_MAX = 64,
    CALL_READ_MAX = 12000,
    CALL_OPERATIONS = 64
};

struct call_variant {
    uint32_t at;           /* offset in the reference of the first changed base */
    const char *from, *to; /* letters; anchors are not needed */
    uint8_t first, second; /* 1: that haplotype has it */
};

struct call_donor {
    uint8_t reference[CALL_LENGTH];
    struct call_variant variants[CALL_VARIANT_MAX];
    uint32_t variant_count;
    uint8_t bases[2][2 * CALL_LENGTH];
    int32_t places[2][2 * CALL_LENGTH]; /* reference offset; -1: inserted */
    uint32_t lengths[2];
};

struct call_reads {
    struct gn_record records[CALL_READ_MAX];
    uint32_t cigars[CALL_READ_MAX][CALL_OPERATIONS];
    uint8_t bases[CALL_READ_MAX][CALL_READ], qualities[CALL_READ_MAX][CALL_READ];
    uint32_t count;
};

static inline uint8_t call_code(char letter) {
    return letter == 'A' ? 0 : letter == 'C' ? 1 : letter == 'G' ? 2 : letter == 'T' ? 3 : 4;
}

static inline struct call_donor *call_donor_make(uint64_t seed) {
    struct call_donor *donor = (struct call_donor *)calloc(1, sizeof(*donor));
    struct made_random random = {.seed = seed};
    assert(donor);
    for (uint32_t i = 0; i < CALL_LENGTH; i++) {
        donor->reference[i] = (uint8_t)made_below(&random, 4);
    }
    return donor;
}

static inline void call_put(struct call_donor *donor, uint32_t at, const char *letters) {
    for (; *letters; letters++) {
        donor->reference[at++] = call_code(*letters);
    }
}

/* Variants in ascending order. Where a variant takes letters away, they must be there. */
static inline void call_grow(struct call_donor *donor) {
    for (uint32_t h = 0; h < 2; h++) {
        uint32_t at = 0, length = 0;
        for (uint32_t i = 0; i <= donor->variant_count; i++) {
            const struct call_variant *variant = &donor->variants[i];
            bool last = i == donor->variant_count;
            if (!last && !(h == 0 ? variant->first : variant->second)) {
                continue;
            }
            for (uint32_t to = last ? (uint32_t)CALL_LENGTH : variant->at; at < to; at++) {
                donor->bases[h][length] = donor->reference[at];
                donor->places[h][length++] = (int32_t)at;
            }
            uint32_t from = last ? 0 : (uint32_t)strlen(variant->from);
            for (uint32_t x = 0; !last && variant->to[x]; x++) {
                donor->bases[h][length] = call_code(variant->to[x]);
                donor->places[h][length++] = x < from ? (int32_t)(at + x) : -1;
            }
            at += from;
        }
        donor->lengths[h] = length;
    }
}

static inline uint32_t call_cigar(const int32_t *places, uint32_t length, uint32_t *cigar) {
    uint32_t count = 0;
    int32_t last = -1;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t operation = places[i] < 0 ? (uint32_t)GN_INSERT : (uint32_t)GN_MATCH;
        if (places[i] >= 0 && last >= 0 && places[i] > last + 1) {
            cigar[count++] = (uint32_t)(places[i] - last - 1) << 4 | GN_DELETE;
        }
        last = places[i] >= 0 ? places[i] : last;
        if (count > 0 && (cigar[count - 1] & 15) == operation) {
            cigar[count - 1] += 16;
        } else {
            cigar[count++] = 16 | operation;
        }
    }
    return count;
}

/* One read of a haplotype; clipped where it would begin or end with an insertion. */
static inline void call_read(const struct call_donor *donor, struct call_reads *reads, uint32_t h,
                             uint32_t from, bool reverse, uint64_t serial,
                             struct made_random *random) {
    uint32_t at = reads->count++;
    assert(at < CALL_READ_MAX);
    const int32_t *places = donor->places[h] + from;
    struct gn_record *record = &reads->records[at];
    uint32_t head = 0, tail = 0, *cigar = reads->cigars[at], count = 0;
    while (places[head] < 0) {
        head++;
    }
    while (places[CALL_READ - 1 - tail] < 0) {
        tail++;
    }
    if (head > 0) {
        cigar[count++] = head << 4 | GN_CLIP;
    }
    count += call_cigar(places + head, CALL_READ - head - tail, cigar + count);
    if (tail > 0) {
        cigar[count++] = tail << 4 | GN_CLIP;
    }
    uint32_t start = (uint32_t)places[head], end = (uint32_t)places[CALL_READ - 1 - tail] + 1;
    *record =
        (struct gn_record){.position = GN_GAP + start,
                           .span = end - start,
                           .serial = serial,
                           .mate_position = UINT32_MAX,
                           .flags = (uint16_t)(1 | (reverse ? 16 : 0) | (serial & 1 ? 0x80 : 0x40)),
                           .length = CALL_READ,
                           .mapping_quality = 60,
                           .cigar_count = (uint8_t)count,
                           .name = UINT32_MAX};
    for (uint32_t i = 0; i < CALL_READ; i++) {
        reads->bases[at][i] = donor->bases[h][from + i];
        reads->qualities[at][i] = 35;
        if (made_below(random, 2000) == 0) {
            reads->bases[at][i] = (uint8_t)made_below(random, 4);
        }
    }
}

/* Pairs with fragments of 200 to 400 bases, so that some mates overlap. */
static inline struct call_reads *call_reads_make(const struct call_donor *donor, double depth,
                                                 uint64_t seed) {
    struct call_reads *reads = (struct call_reads *)calloc(1, sizeof(*reads));
    struct made_random random = {.seed = seed + 1000};
    uint32_t pairs = (uint32_t)(depth * CALL_LENGTH / (2 * CALL_READ));
    assert(reads);
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t h = made_below(&random, 2), size = 200 + made_below(&random, 200);
        uint32_t from = made_below(&random, donor->lengths[h] - size);
        uint32_t swap = made_below(&random, 2);
        call_read(donor, reads, h, from, false, 2 * (uint64_t)i + swap, &random);
        call_read(donor, reads, h, from + size - CALL_READ, true, 2 * (uint64_t)i + 1 - swap,
                  &random);
    }
    return reads;
}

/* The bin [start, end), offsets in the reference. shuffle: 0, or a seed of another order. */
static inline struct gn_bin *call_bin(const struct call_reads *reads, uint32_t start, uint32_t end,
                                      uint64_t shuffle) {
    uint32_t *order = (uint32_t *)calloc(reads->count + 1, sizeof(*order)), count = 0, cigars = 0;
    struct made_random random = {.seed = shuffle};
    struct gn_bin head = {.start = GN_GAP + start, .end = GN_GAP + end};
    assert(order);
    for (uint32_t i = 0; i < reads->count; i++) {
        const struct gn_record *record = &reads->records[i];
        if (record->position < head.end + GN_HALO &&
            record->position + record->span + GN_HALO > head.start) {
            order[count++] = i;
            cigars += record->cigar_count;
        }
    }
    for (uint32_t i = count; shuffle && i > 1; i--) {
        uint32_t other = made_below(&random, i), keep = order[i - 1];
        order[i - 1] = order[other];
        order[other] = keep;
    }
    head.record_count = count;
    head.cigar_total = cigars;
    head.base_total = (uint64_t)count * CALL_READ;
    head.records = gn_round(sizeof(head));
    head.cigars = head.records + gn_round(count * sizeof(struct gn_record));
    head.bases = head.cigars + gn_round(cigars * sizeof(uint32_t));
    head.qualities = head.bases + gn_round(head.base_total);
    head.bytes = head.qualities + gn_round(head.base_total + 1);
    struct gn_bin *bin = (struct gn_bin *)aligned_alloc(GN_ALIGN, head.bytes);
    assert(bin);
    memset(bin, 0, head.bytes);
    *bin = head;
    for (uint32_t i = 0, cigar = 0; i < count; i++) {
        struct gn_record record = reads->records[order[i]];
        record.cigar = cigar;
        record.bases = i * CALL_READ;
        memcpy((uint32_t *)gn_in(bin, bin->cigars) + cigar, reads->cigars[order[i]],
               record.cigar_count * sizeof(uint32_t));
        memcpy((uint8_t *)gn_in(bin, bin->bases) + record.bases, reads->bases[order[i]], CALL_READ);
        memcpy((uint8_t *)gn_in(bin, bin->qualities) + record.bases, reads->qualities[order[i]],
               CALL_READ);
        ((struct gn_record *)gn_in(bin, bin->records))[i] = record;
        cigar += record.cigar_count;
    }
    free(order);
    return bin;
}

static inline struct gn_order *call_sort(const struct gn_bin *bin) {
    struct gn_order *order =
        (struct gn_order *)aligned_alloc(GN_ALIGN, gn_order_bytes(bin->record_count));
    assert(order);
    int rc = gn_sort(bin, order, guest_simd());
    assert(rc == 0);
    (void)rc;
    return order;
}

static inline int call_assemble(const struct gn_index *index, const struct gn_bin *bin,
                                const struct gn_call_options *options,
                                struct gn_regions **ret_regions) {
    struct gn_order *order = call_sort(bin);
    struct gn_activity *activity =
        (struct gn_activity *)aligned_alloc(GN_ALIGN, gn_activity_bytes(bin->end - bin->start));
    assert(activity);
    int rc = gn_activity_run(index, bin, order, activity, guest_simd());
    if (rc == 0) {
        rc = gn_assemble(index, bin, order, activity, options, ret_regions);
    }
    free(order);
    free(activity);
    return rc;
}

/* All stages. */
static inline int call_lines(const struct gn_index *index, const struct gn_bin *bin,
                             const struct gn_call_options *options, struct gn_lines *ret_lines) {
    struct gn_regions *regions = NULL;
    int rc = call_assemble(index, bin, options, &regions);
    if (rc < 0) {
        return rc;
    }
    float *sums = (float *)calloc(regions->hmm->sum_count + 1u, sizeof(*sums));
    assert(sums);
    rc = gn_hmm_run(regions->hmm, sums, guest_simd());
    if (rc == 0) {
        rc = gn_genotype(index, regions, sums, ret_lines);
    }
    free(sums);
    gn_regions_free(regions);
    return rc;
}

#endif
