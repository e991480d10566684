/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to FASTQ: one record of a text, for looking at a file and for parsing it.
 */
#ifndef GENOMICS_FASTQ_RECORD_H
#define GENOMICS_FASTQ_RECORD_H

#include "genomics/align/fastq.h"

enum { GN_FASTQ_LINE_MAX = 8192 }; /* bytes of a line of names */

struct gn_fastq_line {
    const char *text;
    size_t length; /* without its end */
};

struct gn_fastq_record {
    struct gn_fastq_line name; /* up to a blank, without @ and /1 */
    struct gn_fastq_line bases, qualities;
    uint64_t line; /* of its name */
    uint32_t end;  /* which end of a pair it says it is, 1 or 2; 0: it does not */
};

/* Where reading stands in one text. */
struct gn_fastq_cursor {
    const struct gn_text *text;
    size_t at;
    uint64_t line;
};

/* The next record; there must be one. */
SY_MUST_CHECK int gn_fastq_take(struct gn_fastq_cursor *cursor, struct gn_fastq_record *ret_record,
                                struct sy_error *error);
bool gn_fastq_same_name(const struct gn_fastq_record *a, const struct gn_fastq_record *b);

/* Fills error with a place in a FASTQ file. hint NULL: what a record is. Returns -EBADMSG. */
__attribute__((format(printf, 5, 6))) int gn_fastq_fail(struct sy_error *error, const char *path,
                                                        uint64_t line, const char *hint,
                                                        const char *format, ...);
/* A read of so many bases, or of more. */
int gn_fastq_too_long(struct sy_error *error, const char *path, uint64_t line, const char *more,
                      size_t bases);

#endif
