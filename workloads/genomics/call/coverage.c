/* SPDX-License-Identifier: Apache-2.0
 *
 * Aligned bases in blocks of the reference: see coverage.h.
 *
 * Typical is the median of the blocks around that are covered. A block is covered if it has at
 * least a quarter of the depth of the block in which the middle one of all the sample's aligned
 * bases lies: reads that stray between the targets of a panel or an exome are few and lie nearly
 * everywhere, and would otherwise be most of the blocks.
 */
#include "genomics/call/coverage.h"
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    BLOCK = 256,                 /* bases; less than GN_GAP, so a block has one contig */
    REACH = 4 * GN_BIN_BASES,    /* bases looked at on either side */
    COVERED_MIN = 20000 / BLOCK, /* fewer blocks say nothing */
    COVERED_PART = 4,            /* of the depth of the block of the middle base */
    DEPTH_MAX = 1 << 16,         /* deeper ones are not told apart when the middle is looked for */
};
#define QUARTILE    0.674 /* standard deviations from the median to the third quartile */
#define CHANCE      0.5   /* variance of a block's depth by its mean, if only chance is at work */
#define SPREAD_MOST 0.5   /* where depth varies more, none is typical */
#define DEPTH_LEAST 4.0   /* nor is one that strays may have, where targets are few and small */

struct gn_coverage {
    uint64_t count;
    uint32_t least;            /* bases of a block that is covered */
    _Atomic uint32_t blocks[]; /* aligned bases */
};

struct gn_coverage *gn_coverage_create(uint64_t length) {
    uint64_t count = length / BLOCK + 1;
    struct gn_coverage *coverage = calloc(1, sizeof(*coverage) + count * sizeof(uint32_t));
    if (coverage) {
        coverage->count = count;
        coverage->least = 1;
    }
    return coverage;
}

void gn_coverage_destroy(struct gn_coverage *coverage) {
    free(coverage);
}

void gn_coverage_add(struct gn_coverage *coverage, uint64_t position, uint32_t span) {
    uint64_t end = position + span;
    for (uint64_t at = position, next; at < end && at / BLOCK < coverage->count; at = next) {
        next = (at / BLOCK + 1) * BLOCK;
        next = next < end ? next : end;
        atomic_fetch_add_explicit(&coverage->blocks[at / BLOCK], (uint32_t)(next - at),
                                  memory_order_relaxed);
    }
}

static uint32_t bases_of(const struct gn_coverage *coverage, uint64_t block) {
    return atomic_load_explicit(&coverage->blocks[block], memory_order_relaxed);
}

int gn_coverage_complete(struct gn_coverage *coverage) {
    uint64_t *sums = calloc(DEPTH_MAX, sizeof(*sums)), total = 0, below = 0;
    if (!sums) {
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < coverage->count; i++) {
        uint32_t bases = bases_of(coverage, i), depth = bases / BLOCK;
        sums[depth < DEPTH_MAX ? depth : DEPTH_MAX - 1] += bases;
        total += bases;
    }
    uint32_t middle = 0;
    while (middle + 1 < DEPTH_MAX && below + sums[middle] < total - total / 2) {
        below += sums[middle++];
    }
    uint32_t least = middle * BLOCK / COVERED_PART;
    coverage->least = least > 0 ? least : 1;
    free(sums);
    return 0;
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Of covered blocks. Sorts them. */
static struct gn_depth depth_of(uint32_t *blocks, uint64_t count) {
    struct gn_depth depth = {0, 0};
    if (count >= COVERED_MIN) {
        qsort(blocks, count, sizeof(*blocks), compare);
        double median = blocks[count / 2], above = blocks[3 * count / 4];
        double spread = (above / median - 1) / QUARTILE;
        double beyond = spread * spread - CHANCE * BLOCK / median;
        depth.spread = beyond > 0 ? sqrt(beyond) : 0;
        bool known = depth.spread <= SPREAD_MOST && median >= DEPTH_LEAST * BLOCK;
        depth.typical = known ? median / BLOCK : 0;
    }
    return depth;
}

int gn_coverage_around(const struct gn_coverage *coverage, const struct gn_contig *contig,
                       uint64_t start, uint64_t end, struct gn_depth *ret_depth) {
    uint64_t contig_end = contig->start + contig->length, count = 0;
    uint64_t low = start > contig->start + REACH ? start - REACH : contig->start;
    uint64_t high = end + REACH < contig_end ? end + REACH : contig_end;
    low = (low + BLOCK - 1) / BLOCK; /* whole blocks */
    high /= BLOCK;
    *ret_depth = (struct gn_depth){0, 0};
    if (high < low + COVERED_MIN) {
        return 0;
    }
    uint32_t *blocks = malloc((high - low) * sizeof(*blocks));
    if (!blocks) {
        return -ENOMEM;
    }
    for (uint64_t i = low; i < high; i++) {
        uint32_t bases = bases_of(coverage, i);
        if (bases >= coverage->least) {
            blocks[count++] = bases;
        }
    }
    *ret_depth = depth_of(blocks, count);
    free(blocks);
    return 0;
}
