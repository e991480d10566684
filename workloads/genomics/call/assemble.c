/* SPDX-License-Identifier: Apache-2.0
 *
 * Region by region: window, reads, haplotypes, events; then one blob of all for PairHMM.
 *
 * Piles grow while regions are worked on; the blob is laid out once their sizes are known.
 */
#include "genomics/call/assemble.h"
#include "genomics/align/index.h"
#include "genomics/call/activity.h"
#include "genomics/call/events.h"
#include "genomics/call/hmm.h"
#include "genomics/call/picks.h"
#include "genomics/call/pileup.h"
#include "genomics/call/spans.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { READS_MIN = 3, WINDOW_MIN = 60 };
#define CONTINUATION 0.1f

struct pile { /* items of one size */
    void *items;
    size_t count, room;
};

struct work {
    const struct gn_index *index;
    const struct gn_call_options *options;
    struct gn_graph *graph;
    struct gn_aligner *aligner;
    struct gn_pileup *pileup;
    struct gn_haplotypes *haplotypes;
    struct gn_events *events;
    struct gn_strand *strands;
    struct gn_picks picks;
    struct gn_gap_table gap_table;
    uint64_t sum_count, cells;
    /* what becomes struct gn_regions and its blob */
    struct pile regions, all_events, event_bases, carried, supports;
    struct pile hmm_regions, hmm_reads, hmm_haplotypes, bases, qualities, gaps, haplotype_bases;
};

static void *grow(struct pile *pile, size_t count, size_t size) {
    if (pile->count + count > pile->room) {
        size_t room = 2 * (pile->count + count) + 64;
        void *items = reallocarray(pile->items, room, size);
        if (!items) {
            return NULL;
        }
        pile->items = items;
        pile->room = room;
    }
    void *fresh = (char *)pile->items + pile->count * size;
    pile->count += count;
    return fresh;
}

/* Copies items to the pile's end. False: no memory. */
static bool put(struct pile *pile, const void *items, size_t count, size_t size) {
    void *fresh = grow(pile, count, size);
    if (fresh && count > 0) {
        memcpy(fresh, items, count * size);
    }
    return fresh != NULL;
}

/* --- one region ---------------------------------------------------------------------------------
 */
/* The reference around what is active, as far as it is known. False: not enough of it. */
static bool find_window(const struct work *work, struct gn_region *region, uint8_t *reference) {
    uint32_t from = region->start - GN_PAD, length = region->end - region->start + 2 * GN_PAD;
    uint32_t inner = GN_PAD, low, high;
    gn_genome_fetch(work->index, from, length, reference);
    for (low = inner; low > 0 && reference[low - 1] < 4; low--) {
    }
    for (high = inner; high < length && reference[high] < 4; high++) {
    }
    if (high < length - GN_PAD || high - low < WINDOW_MIN) {
        return false;
    }
    memmove(reference, reference + low, high - low);
    region->window = from + low;
    region->window_length = high - low;
    return true;
}

static bool find_haplotypes(struct work *work, const struct gn_region *region,
                            const uint8_t *reference) {
    const struct gn_picks *picks = &work->picks;
    for (uint32_t i = 0; i < picks->count; i++) {
        const struct gn_pick *pick = &picks->picks[i];
        work->strands[i] =
            (struct gn_strand){pick->bases, pick->qualities, pick->last - pick->first};
    }
    struct gn_strand whole = {reference, NULL, region->window_length};
    uint32_t cap = work->options->haplotype_cap;
    if (!gn_graph_paths(work->graph, whole, work->strands, picks->count, cap, work->haplotypes) ||
        work->haplotypes->count < 2) {
        gn_pileup_paths(work->pileup, picks, region, cap, work->haplotypes);
    }
    if (work->haplotypes->count < 2) {
        return false;
    }
    gn_events_find(work->aligner, region->window, work->haplotypes, work->events);
    return work->haplotypes->count > 1 && work->events->count > 0;
}

static bool put_reads(struct work *work) {
    const struct gn_picks *picks = &work->picks;
    uint32_t first = (uint32_t)work->hmm_reads.count;
    for (uint32_t i = 0; i < picks->count; i++) {
        const struct gn_pick *pick = &picks->picks[i];
        uint32_t length = pick->last - pick->first;
        struct gn_hmm_read read = {(uint32_t)work->bases.count, length};
        struct gn_support support = {.serial = pick->record->serial,
                                     .mate =
                                         pick->mate == UINT32_MAX ? UINT32_MAX : first + pick->mate,
                                     .reverse = (pick->record->flags & 16) != 0,
                                     .mapping_quality = pick->record->mapping_quality,
                                     .start = pick->start,
                                     .end = pick->end};
        bool ok = put(&work->hmm_reads, &read, 1, sizeof(read)) &&
                  put(&work->supports, &support, 1, sizeof(support)) &&
                  put(&work->bases, pick->bases, length, 1);
        uint8_t *qualities = ok ? grow(&work->qualities, length, 1) : NULL;
        uint8_t *gaps = ok ? grow(&work->gaps, length, 1) : NULL;
        if (!qualities || !gaps) {
            return false;
        }
        for (uint32_t x = 0; x < length; x++) {
            qualities[x] = gn_base_quality(pick->qualities[x], pick->record->mapping_quality);
        }
        gn_gap_qualities(&work->gap_table, pick->bases, length, gaps);
    }
    return true;
}

static bool put_haplotypes(struct work *work, struct gn_region *region) {
    const struct gn_haplotypes *haplotypes = work->haplotypes;
    const struct gn_events *events = work->events;
    uint32_t shift = (uint32_t)work->event_bases.count;
    region->event = (uint32_t)work->all_events.count;
    region->event_count = events->count;
    region->carried = (uint32_t)work->carried.count;
    for (uint32_t i = 0; i < events->count; i++) {
        struct gn_event event = events->events[i];
        event.bases += shift;
        if (!put(&work->all_events, &event, 1, sizeof(event))) {
            return false;
        }
    }
    for (uint32_t h = 0; h < haplotypes->count; h++) {
        struct gn_hmm_haplotype haplotype = {(uint32_t)work->haplotype_bases.count,
                                             haplotypes->lengths[h]};
        if (!put(&work->hmm_haplotypes, &haplotype, 1, sizeof(haplotype)) ||
            !put(&work->haplotype_bases, haplotypes->bases[h], haplotypes->lengths[h], 1) ||
            !put(&work->carried, events->carried[h], events->count, 1)) {
            return false;
        }
    }
    return put(&work->event_bases, events->bases, events->base_count, 1);
}

static int put_region(struct work *work, struct gn_region *region) {
    uint64_t read_bases = 0, path_bases = 0;
    uint32_t reads = work->picks.count, haplotypes = work->haplotypes->count;
    struct gn_hmm_region fresh = {.read = (uint32_t)work->hmm_reads.count,
                                  .read_count = reads,
                                  .haplotype = (uint32_t)work->hmm_haplotypes.count,
                                  .haplotype_count = haplotypes,
                                  .sum = (uint32_t)work->sum_count};
    for (uint32_t i = 0; i < reads; i++) {
        read_bases += work->picks.picks[i].last - work->picks.picks[i].first;
    }
    for (uint32_t i = 0; i < haplotypes; i++) {
        path_bases += work->haplotypes->lengths[i];
    }
    work->sum_count += (uint64_t)reads * haplotypes;
    work->cells += read_bases * path_bases;
    if (work->sum_count > UINT32_MAX) {
        return -EOVERFLOW;
    }
    if (!put(&work->hmm_regions, &fresh, 1, sizeof(fresh)) || !put_reads(work) ||
        !put_haplotypes(work, region) || !put(&work->regions, region, 1, sizeof(*region))) {
        return -ENOMEM;
    }
    return 0;
}

static int do_region(struct work *work, struct gn_region *region) {
    uint8_t reference[GN_REGION_MAX + 2 * GN_PAD];
    if (!find_window(work, region, reference)) {
        return 0;
    }
    int rc = gn_picks_take(&work->picks, region);
    region->kept = work->picks.kept;
    if (rc < 0 || work->picks.count < READS_MIN || !find_haplotypes(work, region, reference)) {
        return rc;
    }
    return put_region(work, region);
}

/* --- all of them --------------------------------------------------------------------------------
 */
static uint64_t place(uint64_t *at, const struct pile *pile, size_t size) {
    uint64_t offset = *at;
    *at += gn_round(pile->count * size);
    return offset;
}

static void fill(struct gn_hmm *hmm, uint64_t offset, const struct pile *pile, size_t size) {
    if (pile->count > 0) {
        memcpy(gn_in(hmm, offset), pile->items, pile->count * size);
    }
}

static int make_blob(struct work *work, struct gn_hmm **ret_hmm) {
    struct gn_hmm head = {.region_count = (uint32_t)work->hmm_regions.count,
                          .read_count = (uint32_t)work->hmm_reads.count,
                          .haplotype_count = (uint32_t)work->hmm_haplotypes.count,
                          .sum_count = (uint32_t)work->sum_count,
                          .cells = work->cells};
    uint64_t at = gn_round(sizeof(head));
    head.regions = place(&at, &work->hmm_regions, sizeof(struct gn_hmm_region));
    head.reads = place(&at, &work->hmm_reads, sizeof(struct gn_hmm_read));
    head.haplotypes = place(&at, &work->hmm_haplotypes, sizeof(struct gn_hmm_haplotype));
    head.read_bases = place(&at, &work->bases, 1);
    head.read_qualities = place(&at, &work->qualities, 1);
    head.read_gaps = place(&at, &work->gaps, 1);
    head.haplotype_bases = place(&at, &work->haplotype_bases, 1);
    head.bytes = at;
    if (work->bases.count > UINT32_MAX || work->haplotype_bases.count > UINT32_MAX) {
        return -EOVERFLOW;
    }
    gn_hmm_fill(&head, CONTINUATION);
    struct gn_hmm *hmm = aligned_alloc(GN_ALIGN, at);
    if (!hmm) {
        return -ENOMEM;
    }
    memset(hmm, 0, at); /* what lies between the tables is part of the bytes */
    *hmm = head;
    fill(hmm, head.regions, &work->hmm_regions, sizeof(struct gn_hmm_region));
    fill(hmm, head.reads, &work->hmm_reads, sizeof(struct gn_hmm_read));
    fill(hmm, head.haplotypes, &work->hmm_haplotypes, sizeof(struct gn_hmm_haplotype));
    fill(hmm, head.read_bases, &work->bases, 1);
    fill(hmm, head.read_qualities, &work->qualities, 1);
    fill(hmm, head.read_gaps, &work->gaps, 1);
    fill(hmm, head.haplotype_bases, &work->haplotype_bases, 1);
    *ret_hmm = hmm;
    return 0;
}

static void *take(struct pile *pile) {
    void *items = pile->items;
    pile->items = NULL;
    return items;
}

static int make_regions(struct work *work, struct gn_regions **ret_regions) {
    struct gn_regions *regions = calloc(1, sizeof(*regions));
    if (!regions) {
        return -ENOMEM;
    }
    int rc = make_blob(work, &regions->hmm);
    if (rc < 0) {
        free(regions);
        return rc;
    }
    regions->options = *work->options;
    regions->region_count = (uint32_t)work->regions.count;
    regions->event_count = (uint32_t)work->all_events.count;
    regions->regions = take(&work->regions);
    regions->events = take(&work->all_events);
    regions->event_bases = take(&work->event_bases);
    regions->carried = take(&work->carried);
    regions->supports = take(&work->supports);
    *ret_regions = regions;
    return 0;
}

static int work_init(struct work *work, const struct gn_bin *bin, const struct gn_order *order) {
    gn_gap_table_fill(&work->gap_table);
    int rc = gn_picks_init(&work->picks, bin, order, work->options);
    if (rc == 0) {
        rc = gn_graph_create(&work->graph);
    }
    if (rc == 0) {
        rc = gn_aligner_create(&work->aligner);
    }
    if (rc == 0) {
        rc = gn_pileup_create(&work->pileup);
    }
    if (rc == 0) {
        work->haplotypes = malloc(sizeof(*work->haplotypes));
        work->events = malloc(sizeof(*work->events));
        work->strands = calloc(work->options->read_cap + 1, sizeof(*work->strands));
        rc = work->haplotypes && work->events && work->strands ? 0 : -ENOMEM;
    }
    return rc;
}

static void work_finish(struct work *work) {
    struct pile *piles[] = {&work->regions,   &work->all_events, &work->event_bases,
                            &work->carried,   &work->supports,   &work->hmm_regions,
                            &work->hmm_reads, &work->bases,      &work->hmm_haplotypes,
                            &work->qualities, &work->gaps,       &work->haplotype_bases};
    for (size_t i = 0; i < sizeof(piles) / sizeof(piles[0]); i++) {
        free(piles[i]->items);
    }
    gn_graph_free(work->graph);
    gn_aligner_free(work->aligner);
    gn_pileup_free(work->pileup);
    free(work->haplotypes);
    free(work->events);
    free(work->strands);
    gn_picks_finish(&work->picks);
}

int gn_assemble(const struct gn_index *index, const struct gn_bin *bin,
                const struct gn_order *order, const struct gn_activity *activity,
                const struct gn_call_options *options, struct gn_regions **ret_regions) {
    struct work work = {.index = index, .options = options};
    struct gn_spans spans = {0};
    if (order->record_count != bin->record_count || activity->length != gn_activity_length(bin) ||
        options->haplotype_cap < 2 || options->haplotype_cap > GN_HAPLOTYPE_MAX) {
        return -EINVAL;
    }
    int rc = work_init(&work, bin, order);
    if (rc == 0) {
        rc = gn_spans_find(bin, activity, &spans);
    }
    if (rc == 0) {
        rc = gn_spans_mark_copies(index, bin, order, activity, options->coverage, &spans);
    }
    for (uint32_t i = 0; rc == 0 && i < spans.count; i++) {
        rc = do_region(&work, &spans.regions[i]);
    }
    if (rc == 0) {
        rc = make_regions(&work, ret_regions);
    }
    free(spans.regions);
    work_finish(&work);
    return rc;
}
