/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds and checks the index of a reference; see index.h. Its file is index_file.c.
 *
 * Two passes over the k-mers: count those of each bucket, then write each place. Both are random
 * accesses to tables larger than any cache, so a few k-mers wait in a ring for their lines to come.
 */
#include "genomics/align/index.h"
#include "genomics/align/index_memory.h"
#include "genomics/align/map_rule.h"
#include "genomics/names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { RING = 32, HUGE_PAGE = 1 << 21, BUCKET_BITS_MIN = 8, BUCKET_BITS_MAX = 30, TAG_MAX = 8 };
enum { CSI_BASES = 1 << 29 };

/* --- memory ----------------------------------------------------------------------------------- */

static uint64_t mapped_bytes(uint64_t bytes) {
    return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* Begins at a huge page; the system then backs all of it by such. */
struct gn_index *gn_index_allocate(uint64_t bytes) {
    uint64_t wanted = mapped_bytes(bytes), more = wanted + HUGE_PAGE;
    char *block = mmap(NULL, more, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) {
        return NULL;
    }
    uint64_t before = (uint64_t)(-(uintptr_t)block % HUGE_PAGE);
    if (before > 0) {
        munmap(block, before);
    }
    munmap(block + before + wanted, more - before - wanted);
    if (bytes >= HUGE_PAGE) {
        madvise(block + before, wanted, MADV_HUGEPAGE);
    }
    return (struct gn_index *)(void *)(block + before);
}

void gn_index_free(struct gn_index *index, uint64_t bytes) {
    munmap(index, mapped_bytes(bytes));
}

void gn_index_close(struct gn_index *index) {
    if (index) {
        gn_index_free(index, index->bytes);
    }
}

/* --- layout ----------------------------------------------------------------------------------- */

static uint32_t bits_of(uint64_t value) {
    uint32_t bits = 0;
    for (; value; value >>= 1) {
        bits++;
    }
    return bits;
}

/* Where everything lies is a function of five numbers; the header repeats it. */
static void lay_out(struct gn_index *header) {
    uint64_t at = gn_round(sizeof(*header));
    header->packed = at;
    at += gn_round((header->length / 32 + 2) * 8);
    header->masked = at;
    at += gn_round((header->length / 64 + 2) * 8);
    header->coarse = at;
    at += gn_round((header->length / GN_COARSE / 64 + 2) * 8);
    header->contigs = at;
    at += gn_round(header->contig_count * sizeof(struct gn_contig));
    header->names = at;
    at += gn_round(header->names_bytes);
    header->buckets = at;
    at += gn_round((((uint64_t)1 << header->bucket_bits) + 1) * 4);
    header->places = at;
    at += gn_round(header->place_count * 4);
    header->bytes = at;
}

uint64_t gn_index_sum(const struct gn_index *index) {
    struct gn_index header = *index; /* its own sum is no part of it */
    header.checksum = 0;
    uint64_t behind = gn_round(sizeof(header));
    return XXH3_64bits_withSeed(gn_at(index, behind), index->bytes - behind,
                                XXH3_64bits(&header, sizeof(header)));
}

/* --- k-mers ----------------------------------------------------------------------------------- */

struct walk {
    const uint64_t *packed, *masked;
    uint64_t length, position;
    uint32_t kmer;
};

/* The next even position with a k-mer free of N, its hash and whether the reverse is the lesser;
 * false: no more. */
static inline bool next_kmer(struct walk *walk, uint64_t *ret_position, uint64_t *ret_hash,
                             uint32_t *ret_reverse) {
    uint64_t window = ((uint64_t)1 << walk->kmer) - 1, bases = ((uint64_t)1 << 2 * walk->kmer) - 1;
    for (uint64_t at = walk->position; at + walk->kmer <= walk->length; at += 2) {
        uint64_t shift = at % 64, mask = walk->masked[at / 64] >> shift;
        mask |= shift ? walk->masked[at / 64 + 1] << (64 - shift) : 0;
        mask &= window;
        if (mask) { /* on behind the last N of the window */
            at += (63 - (uint64_t)__builtin_clzll(mask)) / 2 * 2;
            continue;
        }
        uint64_t forward = gn_bases_at(walk->packed, at) & bases;
        uint64_t reverse = gn_turn(~forward) >> (64 - 2 * walk->kmer);
        *ret_hash = gn_kmer_hash(forward < reverse ? forward : reverse);
        *ret_reverse = reverse < forward;
        *ret_position = at;
        walk->position = at + 2;
        return true;
    }
    walk->position = walk->length;
    return false;
}

static struct walk walk_over(const struct gn_genome *genome) {
    return (struct walk){genome->packed, genome->masked, genome->length, 0, GN_KMER};
}

/* counts[bucket + 1] of every bucket; returns how many there are in all. */
static uint64_t count_kmers(const struct gn_genome *genome, uint32_t shift, uint32_t *counts) {
    struct walk walk = walk_over(genome);
    uint64_t ring[RING], hash, position, total = 0;
    uint32_t reverse;
    while (next_kmer(&walk, &position, &hash, &reverse)) {
        uint64_t bucket = hash >> shift;
        if (total >= RING) {
            counts[ring[total % RING] + 1]++;
        }
        ring[total++ % RING] = bucket;
        __builtin_prefetch(&counts[bucket + 1], 1);
    }
    for (uint64_t i = total > RING ? total - RING : 0; i < total; i++) {
        counts[ring[i % RING] + 1]++;
    }
    return total;
}

struct waiting {
    uint64_t bucket;
    uint32_t word, slot;
};

/* ends[bucket + 1] is where the bucket's next place goes. A k-mer waits twice: for its bucket's
 * line, then for its place's. */
static void write_places(const struct gn_genome *genome, const struct gn_index *header,
                         uint32_t *ends, uint32_t *places) {
    struct walk walk = walk_over(genome);
    struct waiting ring[2 * RING];
    uint64_t hash, position, count = 0, tag_mask = ((uint64_t)1 << header->tag_bits) - 1;
    uint32_t shift = 64 - header->bucket_bits, reverse;
    bool more = true;
    for (uint64_t i = 0; more || i < count + 2 * RING; i++) {
        if (i >= 2 * RING && i - 2 * RING < count) {
            const struct waiting *second = &ring[i % (2 * RING)];
            places[second->slot] = second->word;
        }
        if (i >= RING && i - RING < count) {
            struct waiting *first = &ring[(i - RING) % (2 * RING)];
            first->slot = ends[first->bucket + 1]++;
            __builtin_prefetch(&places[first->slot], 1);
        }
        more = more && next_kmer(&walk, &position, &hash, &reverse);
        if (more) {
            uint64_t tag = hash >> (shift - header->tag_bits) & tag_mask;
            uint64_t word = (position / 2 << 1 | reverse) << header->tag_bits | tag;
            ring[i % (2 * RING)] = (struct waiting){hash >> shift, (uint32_t)word, 0};
            __builtin_prefetch(&ends[(hash >> shift) + 1], 1);
            count = i + 1;
        }
    }
}

static void mark_coarse(const uint64_t *masked, uint64_t length, uint64_t *coarse) {
    for (uint64_t i = 0; i <= length / 64; i++) {
        if (masked[i]) {
            uint64_t block = i * 64 / GN_COARSE;
            coarse[block / 64] |= (uint64_t)1 << block % 64;
        }
    }
}

static void copy_genome(const struct gn_genome *genome, struct gn_index *index) {
    memcpy(gn_in(index, index->packed), genome->packed, (genome->length / 32 + 2) * 8);
    memcpy(gn_in(index, index->masked), genome->masked, (genome->length / 64 + 2) * 8);
    memcpy(gn_in(index, index->contigs), genome->contigs,
           genome->contig_count * sizeof(struct gn_contig));
    memcpy(gn_in(index, index->names), genome->names, genome->names_bytes);
    mark_coarse(genome->masked, genome->length, gn_in(index, index->coarse));
}

int gn_index_build(const struct gn_genome *genome, struct gn_index **ret_index,
                   struct sy_error *error) {
    uint32_t bits = bits_of(genome->length / 2) - 1;
    uint32_t spare = 31 - bits_of(genome->length / 2);
    struct gn_index header = {
        .magic = GN_INDEX_MAGIC,
        .length = genome->length,
        .kmer = GN_KMER,
        .bucket_bits = bits < BUCKET_BITS_MIN   ? BUCKET_BITS_MIN
                       : bits > BUCKET_BITS_MAX ? BUCKET_BITS_MAX
                                                : bits,
        .tag_bits = spare < TAG_MAX ? spare : TAG_MAX,
        .contig_count = genome->contig_count,
        .names_bytes = genome->names_bytes,
        .place_count = genome->length / 2 + 1, /* at most; untouched memory costs nothing */
    };
    lay_out(&header);
    uint64_t reserved = header.bytes;
    struct gn_index *index = gn_index_allocate(reserved);
    if (!index) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory: the index needs %llu MB",
                          (unsigned long long)(reserved >> 20));
    }
    uint32_t *buckets = gn_in(index, header.buckets);
    header.place_count = count_kmers(genome, 64 - header.bucket_bits, buckets);
    lay_out(&header);
    /* counts[b + 1] becomes where b begins: b's places then end where b + 1 begins. */
    uint32_t total = 0;
    for (uint64_t i = 1; i <= (uint64_t)1 << header.bucket_bits; i++) {
        uint32_t count = buckets[i];
        buckets[i] = total;
        total += count;
    }
    *index = header;
    copy_genome(genome, index);
    write_places(genome, &header, buckets, gn_in(index, header.places));
    if (mapped_bytes(reserved) > mapped_bytes(header.bytes)) {
        munmap(gn_in(index, mapped_bytes(header.bytes)),
               mapped_bytes(reserved) - mapped_bytes(header.bytes));
    }
    index->checksum = gn_index_sum(index);
    *ret_index = index;
    return 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

static const char *check_header(const struct gn_index *index, uint64_t bytes) {
    struct gn_index expected = *index;
    if (index->magic != GN_INDEX_MAGIC) {
        return "it is not an index, or one of another version";
    }
    if (index->kmer != GN_KMER || index->bytes != bytes) {
        return index->bytes > bytes ? "it is cut short" : "its sizes are wrong";
    }
    if (index->length < 2 * GN_GAP || index->length > UINT32_MAX ||
        index->contig_count > index->length / GN_GAP || index->names_bytes > bytes ||
        index->bucket_bits < BUCKET_BITS_MIN || index->bucket_bits > BUCKET_BITS_MAX ||
        index->tag_bits > TAG_MAX || bits_of(index->length / 2) + 1 + index->tag_bits > 32 ||
        index->place_count > index->length / 2) {
        return "its sizes are wrong";
    }
    lay_out(&expected);
    return memcmp(&expected, index, sizeof(expected)) == 0 ? NULL : "its sizes are wrong";
}

static bool is_name(const char *name) {
    size_t length = 0;
    while (length <= GN_CONTIG_NAME_MAX && gn_name_allows(name[length], length == 0)) {
        length++;
    }
    return length > 0 && length <= GN_CONTIG_NAME_MAX && name[length] == '\0';
}

static const char *check_contigs(const struct gn_index *index) {
    const struct gn_contig *contigs = gn_contigs(index);
    const char *names = gn_at(index, index->names);
    uint64_t end = 0;
    for (uint32_t i = 0; i < index->contig_count; i++) {
        if (contigs[i].start != end + GN_GAP || contigs[i].name >= index->names_bytes) {
            return "its contigs are wrong";
        }
        end = contigs[i].start + contigs[i].length;
    }
    if (end + GN_GAP != index->length || index->names_bytes == 0 ||
        names[index->names_bytes - 1] != '\0') {
        return "its contigs are wrong";
    }
    for (uint32_t i = 0; i < index->contig_count; i++) {
        if (!is_name(names + contigs[i].name)) {
            return "its contigs are wrong";
        }
    }
    return NULL;
}

static const char *check_places(const struct gn_index *index) {
    const uint32_t *buckets = gn_at(index, index->buckets), *places = gn_at(index, index->places);
    uint64_t bucket_count = (uint64_t)1 << index->bucket_bits;
    bool fine = buckets[0] == 0 && buckets[bucket_count] == index->place_count;
    for (uint64_t i = 0; i < bucket_count; i++) {
        fine &= buckets[i] <= buckets[i + 1];
    }
    uint32_t lowest = UINT32_MAX, highest = 0;
    for (uint64_t i = 0; i < index->place_count; i++) {
        lowest = places[i] < lowest ? places[i] : lowest;
        highest = places[i] > highest ? places[i] : highest;
    }
    if (index->place_count > 0) {
        uint64_t first = ((uint64_t)lowest >> (index->tag_bits + 1)) * 2;
        uint64_t last = ((uint64_t)highest >> (index->tag_bits + 1)) * 2;
        fine &= first >= GN_GAP && last + index->kmer + GN_GAP <= index->length;
    }
    return fine ? NULL : "its places are wrong";
}

int gn_index_check(const void *blob, uint64_t bytes, char *ret_why, size_t why_size) {
    const struct gn_index *index = blob;
    const char *why = bytes < sizeof(*index) ? "it is cut short" : check_header(index, bytes);
    if (!why && gn_index_sum(index) != index->checksum) {
        why = "its checksum is wrong";
    }
    why = why ? why : check_contigs(index);
    why = why ? why : check_places(index);
    snprintf(ret_why, why_size, "%s", why ? why : "");
    return why ? -EBADMSG : 0;
}

/* --- looking up ------------------------------------------------------------------------------- */

void gn_genome_fetch(const struct gn_index *index, uint64_t position, uint32_t length,
                     uint8_t *ret_codes) {
    const uint64_t *packed = gn_at(index, index->packed), *masked = gn_at(index, index->masked);
    for (uint32_t i = 0; i < length; i++) {
        uint64_t at = position + i;
        uint64_t bases = at < index->length ? packed[at / 32] >> (at % 32 * 2) & 3 : 0;
        uint64_t mask = at < index->length ? masked[at / 64] >> (at % 64) & 1 : 1;
        ret_codes[i] = (uint8_t)(mask ? 4 : bases);
    }
}

uint32_t gn_contig_behind(const struct gn_index *index, uint64_t position) {
    const struct gn_contig *contigs = gn_contigs(index);
    uint32_t low = 0, high = index->contig_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (contigs[middle].start + contigs[middle].length <= position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t gn_contig_of(const struct gn_index *index, uint64_t position) {
    uint32_t contig = gn_contig_behind(index, position);
    bool inside = contig < index->contig_count && gn_contigs(index)[contig].start <= position;
    return inside ? contig : SY_NONE;
}

bool gn_index_needs_csi(const struct gn_index *index) {
    bool needs = false;
    for (uint32_t i = 0; i < index->contig_count; i++) {
        needs |= gn_contigs(index)[i].length >= CSI_BASES;
    }
    return needs;
}
