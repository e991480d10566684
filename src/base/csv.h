/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV lines and fields with positions, straight from memory.
 *
 * In: text. Out: fields without quotes and blanks, each with line and column, so that a reader can
 * point at the very field it dislikes. Blank lines, "#" comments, CR LF and a byte order mark are
 * passed over. A quoted field may hold commas, not quotes or line ends: the tables here need no
 * more. Never knows: what the columns mean.
 */
#ifndef SY_BASE_CSV_H
#define SY_BASE_CSV_H

#include "base/base.h"

struct sy_csv {
    const char *file, *end;
    const char *line_start, *line_end; /* the line being read; its end excludes CR and LF */
    const char *next_line, *at;
    const char *field; /* the field last read */
    size_t field_length;
    uint32_t line, column; /* of the field last read, 1-based; column in bytes */
    bool more;             /* another field follows in this line */
    struct sy_error *error;
};

/* text need not be terminated. error may be NULL. */
void sy_csv_init(struct sy_csv *csv, const char *file, const char *text, size_t length,
                 struct sy_error *error);
/* Moves to the next line that has content. False: there is none. */
bool sy_csv_next_line(struct sy_csv *csv);
/* Reading functions return 0 or -EINVAL with the error filled; what names the field in it. */
SY_MUST_CHECK int sy_csv_field(struct sy_csv *csv, const char *what);
/* The field must not be empty; it is copied into the arena. */
SY_MUST_CHECK int sy_csv_name(struct sy_csv *csv, const char *what, struct sy_arena *arena,
                              const char **ret_name);
SY_MUST_CHECK int sy_csv_number(struct sy_csv *csv, const char *what, double low, double high,
                                double *ret_value);
SY_MUST_CHECK int sy_csv_u64(struct sy_csv *csv, const char *what, uint64_t *ret_value);
/* An identity, as %016llx writes it; 0: empty. */
SY_MUST_CHECK int sy_csv_identity(struct sy_csv *csv, const char *what, uint64_t *ret_identity);
/* The line must have no further field. */
SY_MUST_CHECK int sy_csv_end_line(struct sy_csv *csv);
bool sy_csv_is(const struct sy_csv *csv, const char *text);
/* Reads a header line that must hold exactly these names. */
SY_MUST_CHECK int sy_csv_header(struct sy_csv *csv, const char *const *names, uint32_t count);
/* An error at the field last read. Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int sy_csv_fail(struct sy_csv *csv, const char *format, ...);

#endif
