/* SPDX-License-Identifier: Apache-2.0
 *
 * table: see table.h.
 */
#include "cli/table.h"

#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_WIDTH 92

void sy_table_init(struct sy_table *table, const char *const *headers, const char *align) {
    *table = (struct sy_table){
        .headers = headers, .align = align, .column_count = (uint32_t)strlen(align)};
}

size_t sy_table_width(const char *text) {
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

void sy_table_cell(struct sy_table *table, const char *format, ...) {
    va_list list;
    va_start(list, format);
    for (const char *at = format; at && !table->failed;) {
        const char *end = strchrnul(at, '|');
        table->failed = sy_grow(&table->starts, &table->start_capacity, table->cell_count + 1,
                                sizeof(*table->starts)) < 0;
        if (!table->failed) {
            table->starts[table->cell_count++] = (uint32_t)table->text.length;
            sy_print_list(&table->text, at, (size_t)(end - at), &list);
            sy_buffer_append(&table->text, "", 1);
        }
        at = *end ? end + 1 : NULL;
    }
    va_end(list);
}

static const char *cell_at(const struct sy_table *table, uint32_t row, uint32_t column) {
    uint32_t index = row * table->column_count + column;
    return index < table->cell_count ? table->text.text + table->starts[index] : "";
}

static size_t column_width(const struct sy_table *table, uint32_t rows, uint32_t column) {
    size_t width = sy_table_width(table->headers[column]);
    for (uint32_t row = 0; row < rows; row++) {
        size_t w = sy_table_width(cell_at(table, row, column));
        width = w > width ? w : width;
    }
    return width;
}

static void put_cell(const char *text, size_t width, char align, bool last,
                     struct sy_buffer *buffer) {
    size_t own = sy_table_width(text);
    int pad = (int)(width > own ? width - own : 0);
    if (align == 'r') {
        sy_buffer_printf(buffer, "%*s%s", pad, "", text);
    } else {
        sy_buffer_printf(buffer, "%s%*s", text, last ? 0 : pad, "");
    }
    if (!last) {
        sy_buffer_append(buffer, "  ", 2);
    }
}

static void put_row(const struct sy_table *table, const size_t *widths, int64_t row,
                    struct sy_buffer *buffer) {
    for (uint32_t column = 0; column < table->column_count; column++) {
        const char *text = row < 0 ? table->headers[column] : cell_at(table, (uint32_t)row, column);
        put_cell(text, widths[column], table->align[column], column + 1 == table->column_count,
                 buffer);
    }
    while (!buffer->failed && buffer->length > 0 && buffer->text[buffer->length - 1] == ' ') {
        buffer->length--;
    }
}

void sy_table_write(struct sy_table *table, uint32_t indent, bool bold, struct sy_buffer *buffer) {
    uint32_t rows = (table->cell_count + table->column_count - 1) / table->column_count;
    size_t *widths = calloc(table->column_count, sizeof(*widths));
    if (!widths || table->failed || table->text.failed) {
        buffer->failed = true;
    } else {
        for (uint32_t column = 0; column < table->column_count; column++) {
            widths[column] = column_width(table, rows, column);
        }
        for (int64_t row = -1; row < (int64_t)rows; row++) {
            sy_buffer_printf(buffer, "%*s%s", (int)indent, "", bold && row < 0 ? "\033[1m" : "");
            put_row(table, widths, row, buffer);
            sy_buffer_printf(buffer, "%s\n", bold && row < 0 ? "\033[0m" : "");
        }
    }
    free(widths);
    free(table->starts);
    sy_buffer_finish(&table->text);
}

void sy_print_wrapped(struct sy_buffer *buffer, const char *text, size_t used, size_t indent) {
    while (*text) {
        size_t word = strcspn(text, " ");
        if (used > indent && used + 1 + word > TEXT_WIDTH) {
            sy_buffer_printf(buffer, "\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            sy_buffer_append(buffer, " ", 1);
            used++;
        }
        sy_buffer_append(buffer, text, word);
        used += word;
        text += word + strspn(text + word, " ");
    }
    sy_buffer_append(buffer, "\n", 1);
}

void sy_table_legend(const char *text, uint32_t indent, struct sy_buffer *buffer) {
    if (isatty(STDOUT_FILENO)) {
        sy_buffer_printf(buffer, "%*s", (int)indent, "");
        sy_print_wrapped(buffer, text, indent, indent);
    }
}
