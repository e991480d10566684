/* SPDX-License-Identifier: Apache-2.0
 *
 * Contigs by name, for who looks up many.
 */
#ifndef GENOMICS_CONTIGS_H
#define GENOMICS_CONTIGS_H

#include "genomics/genomics.h"

struct gn_contig_names {
    const struct gn_contig *contigs; /* borrowed */
    const char *names;               /* borrowed; where the contigs' names lie */
    uint32_t *order;                 /* by name, then as they stand */
    uint32_t count;
};

/* -ENOMEM. */
SY_MUST_CHECK int gn_contig_names_sort(const struct gn_contig *contigs, const char *names,
                                       uint32_t count, struct gn_contig_names *ret_table);
void gn_contig_names_finish(struct gn_contig_names *table);
/* SY_NONE: there is none. */
uint32_t gn_contig_names_find(const struct gn_contig_names *table, const char *name);

#endif
