/* SPDX-License-Identifier: Apache-2.0
 *
 * Which stretches are active, and which events each of them owns.
 *
 * Stretches are found over the bin and its halo, in the same way from the bin beside it, and
 * borders between owned stretches lie midway: so each event has one owner, whichever bins share it.
 */
#include "genomics/call/regions.h"
#include "genomics/call/activity.h"
#include "genomics/call/spans.h"
#include <errno.h>
#include <stdlib.h>

enum {
    JOIN = 30,  /* active positions nearer than this are one stretch */
    REACH = 60, /* an event lies at most so far from what is active */
    READS_MIN = 2,
    DEPTH_AROUND = 150,
};
#define SHARE_MIN 0.12 /* of the depth */

void gn_call_options_default(struct gn_call_options *ret_options) {
    *ret_options = (struct gn_call_options){.mapping_quality = GN_ACTIVITY_MAPPING,
                                            .read_cap = 400,
                                            .haplotype_cap = 24,
                                            .quality = 10,
                                            .typical_depth = 0};
}

void gn_regions_free(struct gn_regions *regions) {
    if (regions) {
        free(regions->hmm);
        free(regions->regions);
        free(regions->events);
        free(regions->event_bases);
        free(regions->carried);
        free(regions->supports);
        free(regions);
    }
}

/* --- depth --------------------------------------------------------------------------------------
 */
/* Insertion sort would do for a few bins; a heap sort does for any number. By depth, ascending. */
static void sift(uint64_t *bases, uint64_t *lengths, uint32_t at, uint32_t count) {
    for (;;) {
        uint32_t top = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            /* Depths compared without division; both products are exact in 128 bits. */
            unsigned __int128 x = (unsigned __int128)bases[child] * lengths[top];
            unsigned __int128 y = (unsigned __int128)bases[top] * lengths[child];
            top = x > y ? child : top;
        }
        if (top == at) {
            return;
        }
        uint64_t b = bases[at], l = lengths[at];
        bases[at] = bases[top];
        lengths[at] = lengths[top];
        bases[top] = b;
        lengths[top] = l;
        at = top;
    }
}

double gn_typical_depth(uint64_t *base_counts, uint64_t *lengths, uint32_t count) {
    uint64_t total = 0, below = 0;
    for (uint32_t i = count / 2; i > 0; i--) {
        sift(base_counts, lengths, i - 1, count);
    }
    for (uint32_t left = count; left > 1; left--) {
        uint64_t b = base_counts[0], l = lengths[0];
        base_counts[0] = base_counts[left - 1];
        lengths[0] = lengths[left - 1];
        base_counts[left - 1] = b;
        lengths[left - 1] = l;
        sift(base_counts, lengths, 0, left - 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        total += lengths[i] ? base_counts[i] : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        below += lengths[i] ? base_counts[i] : 0;
        if (lengths[i] && total > 0 && below >= total - total / 2) {
            return (double)base_counts[i] / (double)lengths[i];
        }
    }
    return 0;
}

/* --- active stretches ---------------------------------------------------------------------------
 */
static bool active(const uint16_t *depth, const uint32_t *evidence, uint32_t at) {
    return evidence[at] >= READS_MIN * GN_ACTIVITY_FULL &&
           evidence[at] >= SHARE_MIN * GN_ACTIVITY_FULL * depth[at];
}

static float mean_depth(const uint16_t *depth, uint32_t length, uint32_t from, uint32_t to) {
    uint64_t sum = 0;
    from = from > DEPTH_AROUND ? from - DEPTH_AROUND : 0;
    to = length - to > DEPTH_AROUND ? to + DEPTH_AROUND : length;
    for (uint32_t i = from; i < to; i++) {
        sum += depth[i];
    }
    return (float)((double)sum / (to - from));
}

static int add(struct gn_spans *spans, struct gn_region region) {
    if (spans->count == spans->room) {
        uint32_t room = spans->room ? 2 * spans->room : 256;
        struct gn_region *regions = realloc(spans->regions, room * sizeof(*regions));
        if (!regions) {
            return -ENOMEM;
        }
        spans->regions = regions;
        spans->room = room;
    }
    spans->regions[spans->count++] = region;
    return 0;
}

static void divide(struct gn_spans *spans) {
    for (uint32_t i = 0; i < spans->count; i++) {
        struct gn_region *region = &spans->regions[i];
        region->owned_start = region->start - REACH;
        region->owned_end = region->end + REACH;
        if (i > 0) {
            struct gn_region *before = region - 1;
            uint32_t border = before->end + (region->start - before->end) / 2;
            region->owned_start = border > region->owned_start ? border : region->owned_start;
            before->owned_end = border < before->owned_end ? border : before->owned_end;
        }
    }
}

int gn_spans_find(const struct gn_bin *bin, const struct gn_activity *activity,
                  struct gn_spans *spans) {
    const uint16_t *depth = gn_at(activity, activity->depth);
    const uint32_t *evidence = gn_at(activity, activity->evidence);
    uint32_t length = activity->length, origin = bin->start - GN_HALO;
    for (uint32_t at = 0; at < length;) {
        if (!active(depth, evidence, at)) {
            at++;
            continue;
        }
        uint32_t start = at, end = at + 1;
        for (uint32_t i = end; i < length && i < end + JOIN && i < start + GN_REGION_MAX; i++) {
            end = active(depth, evidence, i) ? i + 1 : end;
        }
        struct gn_region region = {.start = origin + start,
                                   .end = origin + end,
                                   .depth = mean_depth(depth, length, start, end)};
        int rc = add(spans, region);
        if (rc < 0) {
            return rc;
        }
        at = end;
    }
    divide(spans);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        if (spans->regions[i].start >= bin->start && spans->regions[i].start < bin->end) {
            spans->regions[kept++] = spans->regions[i];
        }
    }
    spans->count = kept;
    return 0;
}
