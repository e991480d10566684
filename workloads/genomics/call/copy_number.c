/* SPDX-License-Identifier: Apache-2.0
 *
 * Copy number: where the sample has a copy of something that the reference has once. Reads of both
 * lie there, so the depth is higher, and where the copies differ a heterozygous variant seems to
 * be.
 *
 * Depth in blocks, and the likeliest sequence of two states (Viterbi): as is typical, or 2 or 3
 * times that. Blocks beside each other share reads, so each counts for a part only.
 */
#include "genomics/align/index.h"
#include "genomics/call/rules.h"
#include "genomics/call/spans.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 128, NEAR = 300 };
#define SPREAD 0.2  /* of the depth, beyond what chance gives; or more, where it is more */
#define COUNTS 0.35 /* of a block */
#define CHANGE 7.0  /* log: from one state to the other */
#define LIMIT  6.0  /* log: no block says more */

static double fits(double depth, double expected, double spread) {
    double variance = expected + spread * spread * expected * expected;
    return -0.5 * (depth - expected) * (depth - expected) / variance - 0.5 * log(variance);
}

/* log of how much more a block looks copied than typical. */
static double weigh(const uint16_t *depth, uint32_t count, const struct gn_depth *usual) {
    static const double ratios[] = {2, 3};
    double sum = 0, best = -1e300, typical = usual->typical;
    double spread = usual->spread > SPREAD ? usual->spread : SPREAD;
    for (uint32_t i = 0; i < count; i++) {
        sum += depth[i];
    }
    sum /= count;
    for (uint32_t i = 0; i < 2; i++) {
        double here = fits(sum, typical * ratios[i], spread);
        best = here > best ? here : best;
    }
    best = COUNTS * (best - fits(sum, typical, spread));
    return best > LIMIT ? LIMIT : best < -LIMIT ? -LIMIT : best;
}

/* states: per block, 1 if copied. from: per block and state, where the best way comes from. */
static void find_states(const uint16_t *depth, uint32_t length, const struct gn_depth *usual,
                        uint8_t *states, uint8_t *from) {
    uint32_t blocks = (length + BLOCK - 1) / BLOCK;
    double best[2] = {0, -CHANGE};
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t at = i * BLOCK, count = length - at < BLOCK ? length - at : BLOCK;
        double copied = weigh(depth + at, count, usual);
        double stay[2] = {best[0], best[1]};
        from[2 * i] = stay[1] - CHANGE > stay[0];
        from[2 * i + 1] = stay[1] >= stay[0] - CHANGE;
        best[0] = from[2 * i] ? stay[1] - CHANGE : stay[0];
        best[1] = (from[2 * i + 1] ? stay[1] : stay[0] - CHANGE) + copied;
    }
    uint8_t state = best[1] > best[0];
    for (uint32_t i = blocks; i > 0; i--) {
        states[i - 1] = state;
        state = from[2 * (i - 1) + state];
    }
}

/* start, end: the region's, from where the states begin. */
static uint32_t copies_of(const uint8_t *states, uint32_t length, uint32_t start, uint32_t end) {
    uint32_t low = (start > NEAR ? start - NEAR : 0) / BLOCK, copies = GN_COPIES_NONE;
    uint32_t high = (end + NEAR < length ? end + NEAR : length - 1) / BLOCK;
    for (uint32_t block = low; block <= high; block++) {
        bool here = block >= start / BLOCK && block <= (end - 1) / BLOCK;
        if (states[block] && copies != GN_COPIES_HERE) {
            copies = here ? GN_COPIES_HERE : GN_COPIES_NEAR;
        }
    }
    return copies;
}

/* Of the bases that usable reads have, the share that is left without duplicates. */
static double share_of_first(const struct gn_bin *bin, const struct gn_order *order) {
    const struct gn_record *records = gn_at(bin, bin->records);
    const uint8_t *duplicates = gn_at(order, order->duplicates);
    uint64_t all = 0, first = 0;
    for (uint32_t i = 0; i < bin->record_count; i++) {
        all += gn_activity_counts(&records[i], 0) ? records[i].span : 0;
        first += gn_activity_counts(&records[i], duplicates[i]) ? records[i].span : 0;
    }
    return all > 0 ? (double)first / (double)all : 1;
}

/* Regions that start in this contig. scratch: 3 bytes for each block of the bin. */
static void mark_contig(const struct gn_bin *bin, const struct gn_activity *activity,
                        const struct gn_contig *contig, const struct gn_depth *usual,
                        struct gn_spans *spans, uint8_t *scratch) {
    const uint16_t *depth = gn_at(activity, activity->depth);
    uint64_t origin = bin->start - (uint64_t)GN_HALO, last = origin + activity->length;
    uint64_t from = contig->start > origin ? contig->start : origin;
    uint64_t to = contig->start + contig->length < last ? contig->start + contig->length : last;
    uint32_t length = (uint32_t)(to - from);
    find_states(depth + (from - origin), length, usual, scratch,
                scratch + (length + BLOCK - 1) / BLOCK);
    for (uint32_t i = 0; i < spans->count; i++) {
        struct gn_region *region = &spans->regions[i];
        if (region->start >= from && region->end <= to) {
            region->usual = *usual;
            region->copies = copies_of(scratch, length, (uint32_t)(region->start - from),
                                       (uint32_t)(region->end - from));
        }
    }
}

int gn_spans_mark_copies(const struct gn_index *index, const struct gn_bin *bin,
                         const struct gn_order *order, const struct gn_activity *activity,
                         const struct gn_coverage *coverage, struct gn_spans *spans) {
    const struct gn_contig *contigs = gn_contigs(index);
    if (!coverage || spans->count == 0) {
        return 0;
    }
    double share = share_of_first(bin, order);
    uint8_t *scratch = malloc(3 * (size_t)(activity->length / BLOCK + 1));
    int rc = scratch ? 0 : -ENOMEM;
    for (uint32_t i = gn_contig_behind(index, bin->start);
         rc == 0 && i < index->contig_count && contigs[i].start < bin->end; i++) {
        struct gn_depth usual;
        rc = gn_coverage_around(coverage, &contigs[i], bin->start, bin->end, &usual);
        usual.typical *= share;
        if (rc == 0 && usual.typical > 0) {
            mark_contig(bin, activity, &contigs[i], &usual, spans, scratch);
        }
    }
    free(scratch);
    return rc;
}
