/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to call: how a haplotype differs from the reference, by an exact alignment of the two.
 */
#ifndef GENOMICS_CALL_EVENTS_H
#define GENOMICS_CALL_EVENTS_H

#include "genomics/call/graph.h"

enum { GN_EVENT_MAX = 256 /* events of one region, of all haplotypes */ };

struct gn_events {
    uint32_t count, base_count;
    struct gn_event events[GN_EVENT_MAX]; /* bases: offset in bases */
    uint8_t bases[GN_EVENT_MAX * 128];
    uint8_t carried[GN_HAPLOTYPE_MAX][GN_EVENT_MAX];
};

/* The reference's [at, at + length) becomes bases; at: offset in the window. */
struct gn_change {
    uint32_t at, length;
    uint32_t base_count;
    uint8_t bases[GN_PATH_MAX + 2];
};

/* Moves a change as far left as it goes, but not before floor, and makes it as short as can be. */
void gn_change_normalise(struct gn_change *change, const uint8_t *reference, uint32_t floor);

struct gn_aligner; /* scratch */

SY_MUST_CHECK int gn_aligner_create(struct gn_aligner **ret_aligner);
void gn_aligner_free(struct gn_aligner *aligner);

/* Events of all haplotypes, by position, lengths and bases. window: global position of the
 * reference's first base. A haplotype whose events do not fit is taken out. */
void gn_events_find(struct gn_aligner *aligner, uint32_t window, struct gn_haplotypes *haplotypes,
                    struct gn_events *events);

#endif
