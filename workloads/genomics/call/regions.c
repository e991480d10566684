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
                                            .quality = 10};
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
