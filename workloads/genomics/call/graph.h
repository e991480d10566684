/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to call: haplotypes of one region from a local de Bruijn graph.
 *
 * In: the reference's window and the reads over it. Out: the likeliest paths from the window's
 * first k bases to its last, the reference first. Where k-mers repeat, a longer k is tried.
 */
#ifndef GENOMICS_CALL_GRAPH_H
#define GENOMICS_CALL_GRAPH_H

#include "genomics/call/regions.h"
#include <stdbool.h>

enum {
    GN_PAD = 120,          /* reference on either side of what is active */
    GN_INSERTED_MAX = 250, /* a haplotype is at most so much longer than its window */
    GN_PATH_MAX = GN_REGION_MAX + 2 * GN_PAD + GN_INSERTED_MAX, /* bases of a haplotype */
};

struct gn_strand {            /* bases of one read, in the reference's direction */
    const uint8_t *bases;     /* codes */
    const uint8_t *qualities; /* NULL: the reference */
    uint32_t length;
};

struct gn_haplotypes {
    uint32_t count;
    uint32_t lengths[GN_HAPLOTYPE_MAX];
    uint8_t bases[GN_HAPLOTYPE_MAX][GN_PATH_MAX];
};

struct gn_graph; /* scratch of one caller, for any number of regions */

SY_MUST_CHECK int gn_graph_create(struct gn_graph **ret_graph);
void gn_graph_free(struct gn_graph *graph);

/* Fills haplotypes: at least the reference, at index 0. False: k-mers repeat whatever their length,
 * and only the reference is there. */
bool gn_graph_paths(struct gn_graph *graph, struct gn_strand reference,
                    const struct gn_strand *reads, uint32_t read_count, uint32_t cap,
                    struct gn_haplotypes *haplotypes);

/* Adds the haplotype unless it is there or there is no room. */
void gn_haplotypes_add(struct gn_haplotypes *haplotypes, const uint8_t *bases, uint32_t length,
                       uint32_t cap);

#endif
