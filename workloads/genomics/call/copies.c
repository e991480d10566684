/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the sample has a copy of something that the reference has once: reads of both lie there, so
 * the depth is higher, and where the copies differ a heterozygous variant seems to be.
 *
 * Depth in blocks, and the likeliest sequence of two states (Viterbi): as is typical, or 1.5, 2 or
 * 3 times that. Blocks beside each other share reads, so each counts for a part only.
 */
#include "genomics/call/spans.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 128, NEAR = 300 };
#define SPREAD 0.15 /* of the depth, beyond what chance gives */
#define COUNTS 0.35 /* of a block */
#define CHANGE 7.0  /* log: from one state to the other */
#define LIMIT  6.0  /* log: no block says more */

static double fits(double depth, double expected) {
    double variance = expected + SPREAD * SPREAD * expected * expected;
    return -0.5 * (depth - expected) * (depth - expected) / variance - 0.5 * log(variance);
}

/* log of how much more a block looks copied than typical. */
static double weigh(const uint16_t *depth, uint32_t count, double typical) {
    static const double ratios[] = {1.5, 2, 3};
    double sum = 0, best = -1e300;
    for (uint32_t i = 0; i < count; i++) {
        sum += depth[i];
    }
    sum /= count;
    for (uint32_t i = 0; i < 3; i++) {
        double here = fits(sum, typical * ratios[i]);
        best = here > best ? here : best;
    }
    if (sum > 3 * typical) {
        return LIMIT;
    }
    best = COUNTS * (best - fits(sum, typical));
    return best > LIMIT ? LIMIT : best < -LIMIT ? -LIMIT : best;
}

/* states: per block, 1 if copied. from: per block and state, where the best way comes from. */
static void find_states(const uint16_t *depth, uint32_t length, double typical, uint8_t *states,
                        uint8_t *from) {
    uint32_t blocks = (length + BLOCK - 1) / BLOCK;
    double best[2] = {0, -CHANGE};
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t at = i * BLOCK, count = length - at < BLOCK ? length - at : BLOCK;
        double copied = weigh(depth + at, count, typical);
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

int gn_spans_mark_copies(const struct gn_bin *bin, const struct gn_activity *activity,
                         double typical_depth, struct gn_spans *spans) {
    const uint16_t *depth = gn_at(activity, activity->depth);
    uint32_t length = activity->length, blocks = (length + BLOCK - 1) / BLOCK;
    uint32_t origin = bin->start - GN_HALO;
    if (!(typical_depth > 0) || spans->count == 0) {
        return 0;
    }
    uint8_t *states = malloc(3 * (size_t)blocks);
    if (!states) {
        return -ENOMEM;
    }
    find_states(depth, length, typical_depth, states, states + blocks);
    for (uint32_t i = 0; i < spans->count; i++) {
        struct gn_region *region = &spans->regions[i];
        uint32_t start = region->start - origin, end = region->end - origin;
        uint32_t low = (start > NEAR ? start - NEAR : 0) / BLOCK;
        uint32_t high = (end + NEAR < length ? end + NEAR : length - 1) / BLOCK;
        for (uint32_t block = low; block <= high; block++) {
            bool here = block >= start / BLOCK && block <= (end - 1) / BLOCK;
            if (states[block] && region->copies != GN_COPIES_HERE) {
                region->copies = here ? GN_COPIES_HERE : GN_COPIES_NEAR;
            }
        }
    }
    free(states);
    return 0;
}
