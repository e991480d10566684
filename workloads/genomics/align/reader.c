/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a file: see reader.h.
 */
#include "genomics/align/reader.h"
#include "genomics/align/unpack.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

struct gn_reader {
    struct gn_unpack *file;
    char *path;
    const char *hint;
    size_t most;
    size_t at, searched, end; /* in buffer: the next line, what has no line end, what was read */
    uint64_t number;          /* of the last line */
    bool ended;
    char buffer[]; /* most + CHUNK + 1 */
};

int gn_reader_open(const char *path, size_t most, const char *hint, struct gn_reader **ret_reader,
                   struct sy_error *error) {
    struct gn_reader *reader = malloc(sizeof(*reader) + most + CHUNK + 1);
    char *copy = strdup(path);
    if (!reader || !copy) {
        free(reader);
        free(copy);
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    *reader = (struct gn_reader){.path = copy, .hint = hint, .most = most};
    int code = gn_unpack_open(path, &reader->file);
    if (code < 0) {
        gn_reader_close(reader);
        return guest_fail(error, code, hint, "cannot read %s: %s", path, strerror(-code));
    }
    *ret_reader = reader;
    return 0;
}

void gn_reader_close(struct gn_reader *reader) {
    if (reader) {
        gn_unpack_close(reader->file);
        free(reader->path);
        free(reader);
    }
}

int gn_reader_fail(const struct gn_reader *reader, struct sy_error *error, int code,
                   const char *message) {
    guest_fail(error, code, reader->hint, "%s", message);
    snprintf(error->file, sizeof error->file, "%s", reader->path);
    error->line = reader->number > UINT32_MAX ? 0 : (uint32_t)reader->number;
    return code;
}

static int read_more(struct gn_reader *reader, struct sy_error *error) {
    memmove(reader->buffer, reader->buffer + reader->at, reader->end - reader->at);
    reader->end -= reader->at;
    reader->searched -= reader->at;
    reader->at = 0;
    ssize_t got = gn_unpack_read(reader->file, reader->buffer + reader->end, CHUNK);
    if (got < 0) {
        reader->number++;
        return gn_reader_fail(reader, error, got == -ENODATA ? -EBADMSG : (int)got,
                              got == -ENODATA   ? "the compressed file ends too early"
                              : got == -EBADMSG ? "the compressed file is damaged"
                                                : strerror((int)-got));
    }
    reader->ended = got == 0;
    reader->end += (size_t)got;
    return 0;
}

int gn_reader_next(struct gn_reader *reader, struct gn_line *ret_line, struct sy_error *error) {
    char *end = NULL;
    while (
        !(end = memchr(reader->buffer + reader->searched, '\n', reader->end - reader->searched))) {
        reader->searched = reader->end;
        if (reader->ended || reader->end - reader->at > reader->most) {
            break;
        }
        int code = read_more(reader, error);
        if (code < 0) {
            return code;
        }
    }
    if (!end && reader->at == reader->end) {
        return 0;
    }
    struct gn_line line = {.text = reader->buffer + reader->at, .number = ++reader->number};
    line.length = (size_t)((end ? end : reader->buffer + reader->end) - line.text);
    if (line.length > reader->most) {
        char message[64];
        snprintf(message, sizeof message, "a line of more than %zu bytes", reader->most);
        return gn_reader_fail(reader, error, -EBADMSG, message);
    }
    reader->at += line.length + (end != NULL);
    reader->searched = reader->at;
    if (line.length && line.text[line.length - 1] == '\r') {
        line.length--;
    }
    line.text[line.length] = '\0';
    *ret_line = line;
    return 1;
}
