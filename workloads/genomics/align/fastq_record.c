/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of FASTQ: see fastq_record.h.
 */
#include "genomics/align/fastq_record.h"
#include "genomics/names.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 254 /* what a BAM can hold */ };

int gn_fastq_fail(struct sy_error *error, const char *path, uint64_t line, const char *hint,
                  const char *format, ...) {
    char message[sizeof error->message];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    hint = hint ? hint : "a FASTQ record is four lines: @name, bases, +, qualities";
    int code = guest_fail(error, -EBADMSG, hint, "%s", message);
    snprintf(error->file, sizeof error->file, "%s", path);
    error->line = line > UINT32_MAX ? 0 : (uint32_t)line;
    return code;
}

int gn_fastq_too_long(struct sy_error *error, const char *path, uint64_t line, const char *more,
                      size_t bases) {
    char hint[80];
    snprintf(hint, sizeof hint, "only short reads are supported, of up to %d bases", GN_READ_MAX);
    return gn_fastq_fail(error, path, line, hint, "a read of %s%zu bases", more, bases);
}

static struct gn_fastq_line take_line(struct gn_fastq_cursor *cursor) {
    const char *start = cursor->text->text + cursor->at;
    const char *end = memchr(start, '\n', cursor->text->length - cursor->at);
    size_t length = end ? (size_t)(end - start) : cursor->text->length - cursor->at;
    cursor->at += length + (end != NULL);
    cursor->line++;
    if (length && start[length - 1] == '\r') {
        length--;
    }
    return (struct gn_fastq_line){start, length};
}

static uint32_t end_of(char digit) {
    return digit == '1' ? 1 : digit == '2' ? 2 : 0;
}

/* From the line of a name: what is behind @ and before a blank; and which end it says it is, by /1
 * or, behind the blank, by 1: as Illumina's programs write it. */
static int take_name(struct gn_fastq_line whole, const char *path, struct gn_fastq_record *record,
                     struct sy_error *error) {
    struct gn_fastq_line name = {whole.text + 1, 0};
    size_t rest = whole.length - 1;
    while (name.length < rest && name.text[name.length] != ' ' && name.text[name.length] != '\t') {
        char c = name.text[name.length++];
        if (c <= ' ' || c >= 0x7F) {
            char byte[GN_BYTE_TEXT];
            gn_fastq_fail(error, path, record->line, "names are printable ASCII",
                          "%s in the name of a read", gn_byte_text(c, byte));
            error->column = (uint32_t)name.length + 1;
            return -EBADMSG;
        }
    }
    const char *behind = name.text + name.length + 1;
    if (name.length + 2 < rest && behind[1] == ':') {
        record->end = end_of(behind[0]);
    }
    const char *tail = name.text + name.length - 2;
    if (name.length > 2 && tail[0] == '/' && end_of(tail[1])) {
        record->end = end_of(tail[1]);
        name.length -= 2;
    }
    name.length = name.length > NAME_MAX_BYTES ? NAME_MAX_BYTES : name.length;
    record->name = name;
    return 0;
}

int gn_fastq_take(struct gn_fastq_cursor *cursor, struct gn_fastq_record *ret_record,
                  struct sy_error *error) {
    const char *path = cursor->text->path;
    uint64_t line = cursor->line;
    struct gn_fastq_line name = take_line(cursor), bases = take_line(cursor),
                         plus = take_line(cursor), qualities = take_line(cursor);
    if (!name.length || name.text[0] != '@') {
        return gn_fastq_fail(error, path, line, NULL, "expected a name that begins with @");
    }
    if (!plus.length || plus.text[0] != '+') {
        return gn_fastq_fail(error, path, line + 2, NULL, "expected a line that begins with +");
    }
    if (bases.length != qualities.length) {
        return gn_fastq_fail(error, path, line + 3, NULL, "%zu bases, but %zu qualities",
                             bases.length, qualities.length);
    }
    if (bases.length > GN_READ_MAX) {
        return gn_fastq_too_long(error, path, line + 1, "", bases.length);
    }
    struct gn_fastq_record record = {.bases = bases, .qualities = qualities, .line = line};
    int code = take_name(name, path, &record, error);
    if (code == 0) {
        *ret_record = record;
    }
    return code;
}

bool gn_fastq_same_name(const struct gn_fastq_record *a, const struct gn_fastq_record *b) {
    return a->name.length == b->name.length &&
           memcmp(a->name.text, b->name.text, a->name.length) == 0;
}
