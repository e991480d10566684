/* SPDX-License-Identifier: Apache-2.0
 *
 * Stretches of a bin that may differ from the reference: what assemble hands to PairHMM and to
 * genotype.
 *
 * In: a bin, its order and its activity. Out: struct gn_regions, which owns the blob that PairHMM
 * works on and, on the host alone, what its haplotypes and reads are. A region belongs to the bin
 * in which it starts, and an event to one region: bins beside each other choose the same regions
 * where they overlap, so nothing is called twice and lines of bins in order are in order.
 */
#ifndef GENOMICS_CALL_REGIONS_H
#define GENOMICS_CALL_REGIONS_H

#include "genomics/call/coverage.h"

struct gn_call_options {
    uint32_t mapping_quality; /* reads below are not looked at */
    uint32_t read_cap;        /* reads of one region; more are thinned by a hash of their serial */
    uint32_t haplotype_cap;   /* at most GN_HAPLOTYPE_MAX */
    uint32_t quality;         /* lines below are not written */
    const struct gn_coverage *coverage; /* of all reads; NULL: unknown, no depth filter */
};
enum { GN_HAPLOTYPE_MAX = 32, GN_REGION_MAX = 300 /* active bases of one region */ };

void gn_call_options_default(struct gn_call_options *ret_options);

/* A difference from the reference, left-aligned and as short as can be: an indel has one base
 * before it. */
struct gn_event {
    uint32_t position; /* global, of the first reference base */
    uint16_t reference_length, alternative_length;
    uint32_t bases; /* offset in event_bases of the alternative's codes */
    uint16_t unit;  /* bases of the tandem repeat's unit that it adds or takes away; 0: no repeat */
    uint16_t copies; /* of the unit, in the reference */
};

/* Whether reads of a copy that the reference lacks lie here, by the depth of what is around. */
enum gn_copies { GN_COPIES_NONE, GN_COPIES_NEAR, GN_COPIES_HERE };

struct gn_region {
    uint32_t start, end;             /* active, [start, end) */
    uint32_t owned_start, owned_end; /* events at these positions are its */
    uint32_t window, window_length;  /* reference bases that the haplotypes stand for */
    uint32_t event, event_count;     /* first in events; by position, lengths, bases */
    uint32_t carried; /* first of haplotype_count * event_count in carried: [haplotype][event] */
    float depth;      /* mean of usable reads around */
    struct gn_depth usual; /* of usable reads, further around */
    float kept;            /* of these, the share that was not thinned out or in a mate, too */
    uint32_t copies;       /* enum gn_copies */
};

struct gn_support { /* one for each read of the blob */
    uint64_t serial;
    uint32_t mate; /* index of the mate among the blob's reads; UINT32_MAX: not in this region */
    uint8_t reverse, mapping_quality;
    uint16_t reserved;
    uint32_t start, end; /* reference bases that it covers, global */
};

struct gn_regions {
    struct gn_hmm *hmm; /* hmm->bytes; region_count may be 0 */
    struct gn_call_options options;
    uint32_t region_count, event_count;
    struct gn_region *regions; /* as many as hmm has */
    struct gn_event *events;
    uint8_t *event_bases;
    uint8_t *carried; /* 1: the haplotype has the event. Haplotype 0 is the reference. */
    struct gn_support *supports;
};

/* Accepts NULL. */
void gn_regions_free(struct gn_regions *regions);

#endif
