/* SPDX-License-Identifier: Apache-2.0
 *
 * The index of a reference: one blob (struct gn_index) with bases, contigs and places of k-mers.
 *
 * Built once and kept in a file; a file that is damaged, cut short, of another version or of a
 * FASTA that has changed since is noticed and built again. The blob lies in memory of its own, in
 * huge pages where the system has them: seeding is all cache misses.
 */
#ifndef GENOMICS_INDEX_H
#define GENOMICS_INDEX_H

#include "genomics/align/genome.h"

/* What gn_index_open did, for a message. */
struct gn_index_note {
    bool built;        /* now; else it was read from file */
    bool kept;         /* the file is there for the next time */
    char file[512];    /* "": nowhere */
    char trouble[160]; /* why an existing file was not used, or why none was written; "": none */
};

/* folder: where the index is kept; NULL: beside the FASTA as NAME.symph-index, or, where that
 * cannot be written, in the user's cache folder; "": it is not kept. note may be NULL. */
SY_MUST_CHECK int gn_index_open(const char *fasta, const char *folder, struct gn_index **ret_index,
                                struct gn_index_note *note, struct sy_error *error);
SY_MUST_CHECK int gn_index_build(const struct gn_genome *genome, struct gn_index **ret_index,
                                 struct sy_error *error);
/* Accepts NULL. */
void gn_index_close(struct gn_index *index);
/* Of a whole blob of so many bytes: 0, or -EBADMSG and what is wrong with it. After this, nothing
 * that it says leads outside of it. */
SY_MUST_CHECK int gn_index_check(const void *blob, uint64_t bytes, char *ret_why, size_t why_size);

/* Codes of [position, position + length); what lies outside of the line is N. */
void gn_genome_fetch(const struct gn_index *index, uint64_t position, uint32_t length,
                     uint8_t *ret_codes);

static inline const struct gn_contig *gn_contigs(const struct gn_index *index) {
    return (const struct gn_contig *)gn_at(index, index->contigs);
}
static inline const char *gn_contig_name(const struct gn_index *index, uint32_t contig) {
    return (const char *)gn_at(index, index->names + gn_contigs(index)[contig].name);
}
/* The first contig that ends behind this base; contig_count: none. */
uint32_t gn_contig_behind(const struct gn_index *index, uint64_t position);
/* The contig that holds this base; SY_NONE: it lies in a gap. */
uint32_t gn_contig_of(const struct gn_index *index, uint64_t position);
/* Whether a contig is too long for .tbi and .bai: then .csi is needed. */
bool gn_index_needs_csi(const struct gn_index *index);

#endif
