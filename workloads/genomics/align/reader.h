/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a text file, plain or compressed: tables, intervals, VCF.
 *
 * Invariant: memory is bounded by the longest line that is allowed, and time is linear, whatever is
 * in the file.
 */
#ifndef GENOMICS_READER_H
#define GENOMICS_READER_H

#include "genomics/genomics.h"

struct gn_reader;

struct gn_line {
    char *text;    /* zero-ended, without its end; may be changed, until the next is read */
    size_t length; /* zeros inside are possible */
    uint64_t number;
};

/* most: bytes of a line. hint: for an error, what the file should be. */
SY_MUST_CHECK int gn_reader_open(const char *path, size_t most, const char *hint,
                                 struct gn_reader **ret_reader, struct sy_error *error);
/* Accepts NULL. */
void gn_reader_close(struct gn_reader *reader);
/* 1: a line; 0: there are no more. */
SY_MUST_CHECK int gn_reader_next(struct gn_reader *reader, struct gn_line *ret_line,
                                 struct sy_error *error);
/* Fills error with the place of the last line. Returns code. */
int gn_reader_fail(const struct gn_reader *reader, struct sy_error *error, int code,
                   const char *message);

#endif
