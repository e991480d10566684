/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins of aligned reads, drawn from a seed: for tests and benches of sort and activity.
 */
#ifndef GENOMICS_BIN_CASES_H
#define GENOMICS_BIN_CASES_H

#include "made.h"

enum { BIN_CIGAR_MAX = 6 };

struct bin_case {
    const char *name;
    uint32_t records;
    uint32_t start, end; /* of the bin */
    uint32_t spread;     /* positions are drawn from so many; 0: from all of the bin and its halo */
    uint32_t keys;       /* different pair keys; 0: none */
    bool wild;           /* any flags, mapping qualities and lengths */
};

/* Operations for length bases (at least 1), into cigar. */
static inline uint32_t bin_draw_cigar(struct made_random *random, uint32_t length,
                                      uint32_t *cigar) {
    uint32_t count = 0, left = length;
    if (left > 2 && made_below(random, 8) == 0) {
        uint32_t clip = 1 + made_below(random, left / 2);
        cigar[count++] = clip << 4 | GN_CLIP;
        left -= clip;
    }
    uint32_t tail = left > 2 && made_below(random, 8) == 0 ? 1 + made_below(random, left / 2) : 0;
    left -= tail;
    if (left > 4 && made_below(random, 6) == 0) {
        uint32_t first = 1 + made_below(random, left - 3);
        bool insert = made_below(random, 2) == 0;
        uint32_t gap =
            insert ? 1 + made_below(random, left - first - 1) : 1 + made_below(random, 40);
        cigar[count++] = first << 4 | GN_MATCH;
        cigar[count++] = gap << 4 | (insert ? GN_INSERT : GN_DELETE);
        left -= first + (insert ? gap : 0);
    }
    cigar[count++] = left << 4 | GN_MATCH;
    if (tail > 0) {
        cigar[count++] = tail << 4 | GN_CLIP;
    }
    return count;
}

/* Bases of the reference with some errors, along the record's cigar. */
static inline void bin_draw_bases(struct made_random *random, const uint8_t *codes,
                                  uint32_t code_count, const struct gn_record *record,
                                  const uint32_t *cigar, uint8_t *bases, uint8_t *qualities) {
    uint64_t position = record->position;
    uint32_t base = 0;
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        for (uint32_t n = cigar[i] >> 4; n > 0; n--) {
            uint32_t operation = cigar[i] & 15;
            if (operation != GN_DELETE) {
                uint64_t at = position - GN_GAP;
                bool copied =
                    operation == GN_MATCH && at < code_count && made_below(random, 50) > 0;
                bases[base] = copied ? codes[at] : (uint8_t)made_below(random, 5);
                qualities[base++] = (uint8_t)made_below(random, 42);
            }
            position += operation == GN_MATCH || operation == GN_DELETE;
        }
    }
}

static inline struct gn_record bin_draw_record(struct made_random *random,
                                               const struct bin_case *what, uint32_t number) {
    static const uint16_t flags[] = {0x4, 0x100, 0x200, 0x400, 0x800};
    uint32_t from = what->spread == 0 && what->start > 1200 ? what->start - 1200 : what->start;
    uint32_t spread = what->spread ? what->spread : what->end - from + 1200;
    struct gn_record record = {.position = from + made_below(random, spread), .serial = number};
    record.serial = (uint64_t)made_below(random, 1u << 20) << 20 | number;
    record.flags = (uint16_t)(number & 1 ? 0x80 : 0x40);
    record.length = (uint16_t)(what->wild ? 1 + made_below(random, GN_READ_MAX) : 150);
    record.mapping_quality = made_below(random, 10) == 0 ? 19 : 60;
    record.quality_sum = made_below(random, 4) * 1000;
    if (what->keys > 0 && made_below(random, 10) > 0) {
        record.pair_key = (1 + made_below(random, what->keys)) * 0x100000001u;
    }
    if (what->wild) {
        record.mapping_quality = (uint8_t)made_below(random, 61);
        record.quality_sum = made_below(random, 1u << 19);
        record.flags |= made_below(random, 4) == 0 ? flags[made_below(random, 5)] : 0;
    }
    return record;
}

/* codes: of the one contig of made_index. Free with free. */
static inline struct gn_bin *bin_make(const struct bin_case *what, const uint8_t *codes,
                                      uint32_t code_count, uint64_t seed) {
    struct made_random random = {seed, 0};
    uint64_t records = gn_round(sizeof(struct gn_bin));
    uint64_t cigars = records + gn_round(what->records * sizeof(struct gn_record));
    uint64_t bases = cigars + gn_round(what->records * BIN_CIGAR_MAX * sizeof(uint32_t));
    uint64_t qualities = bases + gn_round((uint64_t)what->records * GN_READ_MAX);
    uint64_t bytes = qualities + gn_round((uint64_t)what->records * GN_READ_MAX);
    struct gn_bin *bin = (struct gn_bin *)aligned_alloc(GN_ALIGN, bytes);
    assert(bin);
    memset(bin, 0, bytes);
    *bin = (struct gn_bin){.bytes = bytes,
                           .record_count = what->records,
                           .start = what->start,
                           .end = what->end,
                           .records = records,
                           .cigars = cigars,
                           .bases = bases,
                           .qualities = qualities};
    for (uint32_t at = 0; at < what->records; at++) {
        struct gn_record record = bin_draw_record(&random, what, at);
        uint32_t *cigar = (uint32_t *)gn_in(bin, cigars) + bin->cigar_total;
        record.cigar = bin->cigar_total;
        record.bases = (uint32_t)bin->base_total;
        record.cigar_count = (uint8_t)bin_draw_cigar(&random, record.length, cigar);
        for (uint32_t i = 0; i < record.cigar_count; i++) {
            uint32_t operation = cigar[i] & 15;
            record.span += operation == GN_MATCH || operation == GN_DELETE ? cigar[i] >> 4 : 0;
        }
        bin_draw_bases(&random, codes, code_count, &record, cigar,
                       (uint8_t *)gn_in(bin, bases) + record.bases,
                       (uint8_t *)gn_in(bin, qualities) + record.bases);
        bin->cigar_total += record.cigar_count;
        bin->base_total += record.length;
        ((struct gn_record *)gn_in(bin, records))[at] = record;
    }
    return bin;
}

/* A reference for all of them: random, with a stretch of N. */
enum { BIN_REFERENCE = 400000 };
static inline uint8_t *bin_reference(uint64_t seed) {
    struct made_random random = {seed, 0};
    uint8_t *codes = (uint8_t *)malloc(BIN_REFERENCE);
    assert(codes);
    for (uint32_t at = 0; at < BIN_REFERENCE; at++) {
        codes[at] = at % 5000 < 20 ? 4 : (uint8_t)made_below(&random, 4);
    }
    return codes;
}

static const struct bin_case bin_cases[] = {
    {"like a sample's", 20000, 98304, 196608, 0, 9000, false},
    {"wild", 3000, 98304, 196608, 0, 200, true},
    {"the first", 500, 0, 98304, 0, 100, true},
    {"the last", 500, 393216, 405000, 0, 100, true},
    {"all at one position", 700, 98304, 196608, 1, 40, false},
    {"deep", 80000, 98304, 98500, 10, 0, false},
    {"one record", 1, 98304, 196608, 0, 0, false},
    {"none", 0, 98304, 196608, 0, 0, false},
    {"no bases", 100, 98304, 98304, 0, 10, true},
    {"one pair", 64, 98304, 196608, 100, 1, true},
    {"far away", 300, 98304, 196608, 400000, 50, true},
};

#endif
