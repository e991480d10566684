/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTQ files: text of so many records from a file, and the batch of reads that it means.
 *
 * In: plain, gzip or bgzip files of four-line records. Out: blobs of genomics.h. Reading a file is
 * a chain, so it does as little as possible (inflate, count lines); parsing needs no order. The
 * first reads tell whether both ends of pairs stand in one file, one after the other, and how
 * qualities are written; that does not depend on the size of batches. Invariants: whatever is in a
 * file, an error names it and the line; and memory is bounded by the number of records asked for.
 */
#ifndef GENOMICS_FASTQ_H
#define GENOMICS_FASTQ_H

#include "genomics/genomics.h"

struct gn_fastq; /* one file that is being read */

enum gn_ends {
    GN_ENDS_LOOK,        /* as the first reads say */
    GN_ENDS_SINGLE,      /* single reads, or one end of pairs */
    GN_ENDS_INTERLEAVED, /* both ends, one after the other */
};

struct gn_fastq_options {
    enum gn_ends ends;
    uint32_t phred; /* 33 or 64: what is added to a quality to write it; 0: 33, unless the first
                     * reads look like 64, which is an error */
};

SY_MUST_CHECK int gn_fastq_open(const char *path, const struct gn_fastq_options *options,
                                struct gn_fastq **ret_file, struct sy_error *error);
void gn_fastq_close(struct gn_fastq *file);
/* Of the file as it lies on the disk, for progress: what was read of it, and its size (0: unknown).
 */
void gn_fastq_progress(const struct gn_fastq *file, uint64_t *ret_done, uint64_t *ret_total);

struct gn_text {
    const char *path; /* the file's; lives as long as it */
    char *text;       /* owned */
    size_t length;
    uint64_t line;    /* number of its first line, from 1 */
    uint32_t records; /* whole ones; 0: the file has ended */
    uint32_t phred;
    bool interleaved; /* reads 2i and 2i + 1 are a pair */
    bool last;        /* there are no more */
};

/* The next records, at most so many; where the file has both ends of pairs, so many pairs. */
SY_MUST_CHECK int gn_fastq_next(struct gn_fastq *file, uint32_t count, struct gn_text *ret_text,
                                struct sy_error *error);
void gn_text_finish(struct gn_text *text);

struct gn_batch {
    struct gn_reads *reads; /* one block of reads->bytes */
    struct gn_notes notes;  /* owned */
    bool elsewhere;         /* reads lie in the room that was given, and are not owned */
};

/* Memory that the reads of these texts fit into, unless a few of them are much longer than the
 * rest. */
uint64_t gn_fastq_room(const struct gn_text *first, const struct gn_text *second);
/* second: NULL for single reads, and where the first is interleaved. serial: number of the first
 * read in the input. room: where to put the reads if they fit, aligned to GN_ALIGN; may be NULL. */
SY_MUST_CHECK int gn_fastq_parse(const struct gn_text *first, const struct gn_text *second,
                                 uint64_t serial, void *room, uint64_t room_bytes,
                                 struct gn_batch *ret_batch, struct sy_error *error);
void gn_batch_finish(struct gn_batch *batch);

#endif
