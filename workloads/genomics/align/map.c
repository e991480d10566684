/* SPDX-License-Identifier: Apache-2.0
 *
 * map on a processor; see map.h and map_rule.h.
 *
 * Nearly all of the time would go into waiting for memory, so a few reads go through each stage
 * together, and each stage asks for the lines that the next will need: seeds -> buckets -> places
 * -> reference. The same code is compiled for each level; results are equal whatever the compiler
 * makes of it, since all is integer.
 */
#include "genomics/align/map.h"
#include "genomics/align/map_rule.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALWAYS __attribute__((always_inline)) static inline

enum { GROUP = 8, WORDS = GN_READ_MAX / 32, SMALL_SORT = 40 };

struct candidate {
    uint32_t start;
    uint32_t votes;
};

/* One read on its way. */
struct passage {
    uint64_t strands[2][WORDS + 2]; /* packed, forward and reverse complement */
    uint64_t unknown[2][WORDS];     /* bit 2i: base i is N; only where has_unknown */
    uint32_t length, seed_count;
    uint32_t has_unknown, total; /* places of all seeds */
    uint32_t first[GN_SEED_MAX]; /* the bucket, then its first place */
    uint32_t count[GN_SEED_MAX];
    uint32_t tag[GN_SEED_MAX]; /* and above it 1: the reverse is the lesser */
    uint16_t offset[GN_SEED_MAX];
    uint32_t candidate_count[2];
    struct candidate candidates[2][GN_MAP_PLACES];
};

struct best {
    uint32_t keys[GN_HIT_MAX];
    struct gn_hit hits[GN_HIT_MAX];
    uint32_t count;
};

/* --- the read --------------------------------------------------------------------------------- */

static void note_unknown(struct passage *passage, const uint8_t *codes) {
    memset(passage->unknown, 0, sizeof(passage->unknown));
    for (uint32_t i = 0; i < passage->length; i++) {
        uint64_t bad = codes[i] > 3;
        uint32_t other = passage->length - 1 - i;
        passage->unknown[0][i / 32] |= bad << (i % 32 * 2);
        passage->unknown[1][other / 32] |= bad << (other % 32 * 2);
    }
}

ALWAYS void load_read(struct passage *passage, const struct gn_reads *reads, uint32_t number) {
    const struct gn_read *read = (const struct gn_read *)gn_at(reads, reads->reads) + number;
    const uint64_t *packed =
        (const uint64_t *)gn_at(reads, reads->packed) + (uint64_t)number * reads->words;
    uint32_t words = (read->length + 31u) / 32, before = words * 32 - read->length;
    uint64_t turned[WORDS + 2];
    passage->length = read->length;
    passage->has_unknown = read->unknown > 0;
    for (uint32_t i = 0; i < words; i++) {
        passage->strands[0][i] = packed[i];
        turned[words - 1 - i] = gn_turn(~packed[i]);
    }
    turned[words] = 0;
    passage->strands[0][words] = 0;
    for (uint32_t i = 0; i < words; i++) {
        passage->strands[1][i] = gn_bases_at(turned, before + i * 32);
    }
    passage->strands[1][words] = 0;
    if (passage->has_unknown) {
        note_unknown(passage, (const uint8_t *)gn_at(reads, reads->bases) + read->bases);
    }
}

/* Whether an N is among the k-mer's bases. */
static bool seed_unknown(const struct passage *passage, uint32_t offset, uint32_t kmer) {
    for (uint32_t i = offset; i < offset + kmer; i++) {
        if (passage->unknown[0][i / 32] >> (i % 32 * 2) & 1) {
            return true;
        }
    }
    return false;
}

/* --- seeds, buckets, places ------------------------------------------------------------------- */

ALWAYS void find_seeds(struct passage *passage, const struct gn_map_table *table) {
    uint32_t wanted = gn_seed_count(passage->length, table->kmer), count = 0;
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t offset = gn_seed_offset(i), bucket;
        if (passage->has_unknown && seed_unknown(passage, offset, table->kmer)) {
            continue;
        }
        passage->tag[count] = gn_seed(table, passage->strands[0], passage->strands[1],
                                      passage->length, offset, &bucket);
        __builtin_prefetch(&table->buckets[bucket]);
        passage->first[count] = bucket;
        passage->offset[count++] = (uint16_t)offset;
    }
    passage->seed_count = count;
}

ALWAYS void find_buckets(struct passage *passage, const struct gn_map_table *table) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < passage->seed_count; i++) {
        const uint32_t *bucket = &table->buckets[passage->first[i]];
        passage->first[i] = bucket[0];
        passage->count[i] = bucket[1] - bucket[0];
        total += passage->count[i];
        __builtin_prefetch(&table->places[passage->first[i]]);
    }
    passage->total = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
}

/* Too many places: counts of all but the rarest seeds become 0. */
static void choose_rarest(struct passage *passage) {
    uint16_t order[GN_SEED_MAX];
    uint32_t taken = 0, sorted = 0;
    for (uint32_t i = 0; i < passage->seed_count; i++) {
        uint32_t at = sorted;
        if (passage->count[i] == 0) {
            continue;
        }
        for (; at > 0 && passage->count[order[at - 1]] > passage->count[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = (uint16_t)i;
        sorted++;
    }
    for (uint32_t i = 0; i < sorted; i++) {
        uint32_t *count = &passage->count[order[i]];
        if (i == 0 && *count > GN_MAP_PLACES) {
            *count = GN_MAP_PLACES;
        }
        *count = taken + *count <= GN_MAP_PLACES ? *count : 0;
        taken += *count;
    }
}

/* Starts on both strands that the places vote for; returns through ret_counts how many. */
ALWAYS void gather(const struct passage *passage, const struct gn_map_table *table,
                   uint32_t starts[2][GN_MAP_PLACES + 1], uint32_t ret_counts[2]) {
    uint32_t tag_mask = (1u << table->tag_bits) - 1, counts[2] = {0, 0};
    for (uint32_t i = 0; i < passage->seed_count; i++) {
        const uint32_t *places = &table->places[passage->first[i]];
        uint32_t offsets[2] = {passage->offset[i],
                               passage->length - table->kmer - passage->offset[i]};
        for (uint32_t k = 0; k < passage->count[i]; k++) {
            uint32_t mixed = places[k] ^ passage->tag[i];
            uint32_t position = (places[k] >> table->tag_bits >> 1) * 2;
            uint32_t reverse = mixed >> table->tag_bits & 1;
            starts[reverse][counts[reverse]] = position - offsets[reverse];
            counts[reverse] += (mixed & tag_mask) == 0;
        }
    }
    ret_counts[0] = counts[0];
    ret_counts[1] = counts[1];
}

/* --- votes ------------------------------------------------------------------------------------ */

/* Least significant byte first; a byte that all share is passed over. */
static void sort_many(uint32_t *values, uint32_t count) {
    uint32_t other[GN_MAP_PLACES + 1], histogram[4][256];
    uint32_t *from = values, *to = other;
    memset(histogram, 0, sizeof(histogram));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t byte = 0; byte < 4; byte++) {
            histogram[byte][values[i] >> (8 * byte) & 255]++;
        }
    }
    for (uint32_t byte = 0; byte < 4; byte++) {
        uint32_t *bins = histogram[byte], sum = 0;
        if (bins[values[0] >> (8 * byte) & 255] == count) {
            continue;
        }
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t here = bins[i];
            bins[i] = sum;
            sum += here;
        }
        for (uint32_t i = 0; i < count; i++) {
            to[bins[from[i] >> (8 * byte) & 255]++] = from[i];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values) {
        memcpy(values, from, count * sizeof(*values));
    }
}

ALWAYS void sort(uint32_t *values, uint32_t count) {
    if (count > SMALL_SORT) {
        sort_many(values, count);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t value = values[i], at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
}

ALWAYS void vote(struct passage *passage, const struct gn_map_table *table) {
    uint32_t starts[2][GN_MAP_PLACES + 1], counts[2];
    if (passage->total > GN_MAP_PLACES) {
        choose_rarest(passage);
    }
    gather(passage, table, starts, counts);
    for (uint32_t strand = 0; strand < 2; strand++) {
        struct candidate *candidates = passage->candidates[strand];
        uint32_t count = 0;
        sort(starts[strand], counts[strand]);
        for (uint32_t i = 0, end; i < counts[strand]; i = end) {
            uint32_t start = starts[strand][i];
            for (end = i + 1; end < counts[strand] && starts[strand][end] == start; end++) {
            }
            const uint64_t *line = &table->packed[start / 32];
            __builtin_prefetch(line);
            __builtin_prefetch(line + passage->length / 32);
            candidates[count++] = (struct candidate){start, end - i};
        }
        passage->candidate_count[strand] = count;
    }
}

/* --- verification ----------------------------------------------------------------------------- */

static void keep(struct best *best, uint32_t key, const struct gn_hit *hit) {
    uint32_t at = best->count;
    while (at > 0 &&
           (best->keys[at - 1] < key ||
            (best->keys[at - 1] == key && gn_hit_place(&best->hits[at - 1]) > gn_hit_place(hit)))) {
        at--;
    }
    if (at == GN_HIT_MAX) {
        return;
    }
    uint32_t last = best->count < GN_HIT_MAX ? best->count++ : GN_HIT_MAX - 1;
    for (uint32_t i = last; i > at; i--) {
        best->keys[i] = best->keys[i - 1];
        best->hits[i] = best->hits[i - 1];
    }
    best->keys[at] = key;
    best->hits[at] = *hit;
}

ALWAYS void verify(const struct passage *passage, const struct gn_map_table *table,
                   struct best *best) {
    best->count = 0;
    for (uint32_t strand = 0; strand < 2; strand++) {
        const struct candidate *candidates = passage->candidates[strand];
        const uint64_t *unknown = passage->has_unknown ? passage->unknown[strand] : NULL;
        uint32_t count = passage->candidate_count[strand];
        for (uint32_t i = 0, end; i < count; i = end) {
            uint32_t least = UINT32_MAX, most = 0, votes = 0, start = 0;
            for (end = i; end < count && candidates[end].start - candidates[i].start <= GN_MAP_NEAR;
                 end++) {
                uint32_t mismatches = gn_distance(table, passage->strands[strand], unknown,
                                                  passage->length, candidates[end].start);
                votes += candidates[end].votes;
                if (mismatches < least || (mismatches == least && candidates[end].votes > most)) {
                    least = mismatches;
                    most = candidates[end].votes;
                    start = candidates[end].start;
                }
            }
            votes = votes > UINT8_MAX ? UINT8_MAX : votes;
            if (gn_hit_fair(passage->length, least, votes)) {
                struct gn_hit hit = {start, (uint16_t)least, (uint8_t)votes, (uint8_t)strand};
                keep(best, gn_hit_key(passage->length, least, votes, table->kmer), &hit);
            }
        }
    }
}

/* --- all -------------------------------------------------------------------------------------- */

ALWAYS void map_all(const struct gn_map_table *table, const struct gn_reads *reads,
                    struct gn_hits *hits, struct passage *passages) {
    uint8_t *counts = gn_in(hits, hits->counts);
    struct gn_hit *out = gn_in(hits, hits->hits);
    for (uint32_t base = 0; base < reads->read_count; base += GROUP) {
        uint32_t left = reads->read_count - base, group = left < GROUP ? left : GROUP;
        for (uint32_t i = 0; i < group; i++) {
            load_read(&passages[i], reads, base + i);
            find_seeds(&passages[i], table);
        }
        for (uint32_t i = 0; i < group; i++) {
            find_buckets(&passages[i], table);
        }
        for (uint32_t i = 0; i < group; i++) {
            vote(&passages[i], table);
        }
        for (uint32_t i = 0; i < group; i++) {
            struct best best;
            verify(&passages[i], table, &best);
            struct gn_hit *to = out + (uint64_t)(base + i) * GN_HIT_MAX;
            counts[base + i] = (uint8_t)best.count;
            memcpy(to, best.hits, best.count * sizeof(*to));
            memset(to + best.count, 0, (GN_HIT_MAX - best.count) * sizeof(*to));
        }
    }
}

static void map_plain(const struct gn_map_table *table, const struct gn_reads *reads,
                      struct gn_hits *hits, struct passage *passages) {
    map_all(table, reads, hits, passages);
}

#if defined(__x86_64__)
__attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt"))) static void
map_avx2(const struct gn_map_table *table, const struct gn_reads *reads, struct gn_hits *hits,
         struct passage *passages) {
    map_all(table, reads, hits, passages);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,popcnt,lzcnt"))) static void
map_avx512(const struct gn_map_table *table, const struct gn_reads *reads, struct gn_hits *hits,
           struct passage *passages) {
    map_all(table, reads, hits, passages);
}
#endif

int gn_map(const struct gn_index *index, const struct gn_reads *reads, struct gn_hits *hits,
           enum guest_simd level) {
    struct gn_map_table table = gn_map_table(index);
    struct passage *passages = malloc(GROUP * sizeof(*passages));
    if (!passages) {
        return -ENOMEM;
    }
    memset(hits, 0, gn_round(sizeof(*hits)) + gn_round(reads->read_count));
    hits->bytes = gn_hits_bytes(reads->read_count);
    hits->read_count = reads->read_count;
    hits->counts = gn_round(sizeof(*hits));
    hits->hits = hits->counts + gn_round(reads->read_count);
#if defined(__x86_64__)
    if (level == GUEST_AVX512) {
        map_avx512(&table, reads, hits, passages);
    } else if (level == GUEST_AVX2) {
        map_avx2(&table, reads, hits, passages);
    } else
#endif
    {
        map_plain(&table, reads, hits, passages);
    }
    (void)level;
    free(passages);
    return 0;
}
