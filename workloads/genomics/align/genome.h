/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference as it comes out of a FASTA file: contigs one behind the other, two bits a base.
 *
 * In: FASTA, plain, gzip or bgzf. Out: the global line of genomics.h, with GN_GAP bases of N before
 * each contig and after the last. Never knows: the index of k-mers (index.h).
 */
#ifndef GENOMICS_GENOME_H
#define GENOMICS_GENOME_H

#include "genomics/genomics.h"
#include <stdbool.h>

enum { GN_CONTIG_NAME_MAX = 4096 };

struct gn_genome {
    uint64_t *packed, *masked; /* as in struct gn_index; the last two words are 0 */
    uint64_t length;           /* gaps included */
    struct gn_contig *contigs;
    uint32_t contig_count;
    char *names; /* zero-ended */
    uint32_t names_bytes;
};

/* Reads a file piece by piece; what is wrong is said with line and column. */
struct gn_fasta;
SY_MUST_CHECK int gn_fasta_create(const char *name, struct gn_fasta **ret_fasta,
                                  struct sy_error *error);
SY_MUST_CHECK int gn_fasta_feed(struct gn_fasta *fasta, const char *text, size_t length,
                                struct sy_error *error);
/* What was fed is the whole file. Hands the genome over; fasta must still be destroyed. */
SY_MUST_CHECK int gn_fasta_end(struct gn_fasta *fasta, struct gn_genome *ret_genome,
                               struct sy_error *error);
void gn_fasta_destroy(struct gn_fasta *fasta);

SY_MUST_CHECK int gn_genome_read(const char *path, struct gn_genome *ret_genome,
                                 struct sy_error *error);
void gn_genome_finish(struct gn_genome *genome);

#endif
