/* SPDX-License-Identifier: Apache-2.0
 *
 * table: aligned columns of text for people.
 *
 * In: cells, row by row. Out: lines, two spaces between columns, no boxes. Never knows: what a cell
 * means. Invariants: width is counted in characters, not bytes; a cell is shown (base/show.c),
 * since it may hold names from files.
 */
#ifndef SY_CLI_TABLE_H
#define SY_CLI_TABLE_H

#include "base/base.h"

struct sy_table {
    const char *const *headers;
    const char *align; /* one 'l' or 'r' per column */
    uint32_t column_count, cell_count, start_capacity;
    struct sy_buffer text; /* cells, each ended by a NUL */
    uint32_t *starts;
    bool failed;
};

/* headers and align stay with the caller; align has one letter per column. */
void sy_table_init(struct sy_table *table, const char *const *headers, const char *align);
/* One cell or several, as sy_print would; '|' ends a cell: "%s|%u|%.1f %%". */
__attribute__((format(printf, 2, 3))) void sy_table_cell(struct sy_table *table, const char *format,
                                                         ...);
/* Appends the lines, each after indent spaces; bold headers on request. Frees the table. */
void sy_table_write(struct sy_table *table, uint32_t indent, bool bold, struct sy_buffer *buffer);
/* Below a table that was written: what its columns mean, "column: meaning; column: meaning". On a
 * terminal only: elsewhere the output is read by programs, or by people who have the manual. */
void sy_table_legend(const char *text, uint32_t indent, struct sy_buffer *buffer);
/* A paragraph, broken between words, whose first line begins at column used. */
void sy_print_wrapped(struct sy_buffer *buffer, const char *text, size_t used, size_t indent);
/* Characters in UTF-8 text. */
size_t sy_table_width(const char *text);

#endif
