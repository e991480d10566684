/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTQ files: text of so many records from a file, and the batch of reads that it means.
 *
 * In: plain, gzip or bgzip files of four-line records. Out: blobs of genomics.h. Reading a file is
 * a chain, so it does as little as possible (inflate, count lines); parsing needs no order.
 * Invariant: whatever is in a file, an error names it and the line.
 */
#ifndef GENOMICS_FASTQ_H
#define GENOMICS_FASTQ_H

#include "genomics/genomics.h"

struct gn_fastq; /* one file that is being read */

SY_MUST_CHECK int gn_fastq_open(const char *path, struct gn_fastq **ret_file,
                                struct sy_error *error);
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
};

/* The next records, at most so many. */
SY_MUST_CHECK int gn_fastq_next(struct gn_fastq *file, uint32_t records, struct gn_text *ret_text,
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
/* second: NULL for single reads. serial: number of the first read in the input. room: where to put
 * the reads if they fit, aligned to GN_ALIGN; may be NULL. */
SY_MUST_CHECK int gn_fastq_parse(const struct gn_text *first, const struct gn_text *second,
                                 uint64_t serial, void *room, uint64_t room_bytes,
                                 struct gn_batch *ret_batch, struct sy_error *error);
void gn_batch_finish(struct gn_batch *batch);

#endif
