/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads FASTQ files: see fastq.h. A text holds whole records, so that parsing one needs no other.
 */
#include "genomics/align/fastq_record.h"
#include "genomics/align/unpack.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 1 << 20,
    LOOK = 1000,    /* records that are looked at before the first is handed out; even */
    OLD_LEAST = 59, /* with 64 added, no quality is written by less (Solexa's -5) */
    OLD_MOST = 106, /* and none by more, in practice 41 or 42; consensus reads have more */
    NEW_USUAL = 74, /* with 33 added, sequencers write 41 by this, and hardly ever more */
};

struct gn_fastq {
    struct gn_unpack *file;
    struct gn_fastq_options options;
    char *path;
    char *rest; /* what was inflated and not yet handed out */
    size_t rest_length, rest_capacity;
    uint64_t line;
    bool looked, interleaved, ended;
};

int gn_fastq_open(const char *path, const struct gn_fastq_options *options,
                  struct gn_fastq **ret_file, struct sy_error *error) {
    struct gn_fastq *file = calloc(1, sizeof *file);
    if (!file) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    file->line = 1;
    file->options = *options;
    file->interleaved = options->ends == GN_ENDS_INTERLEAVED;
    file->path = strdup(path);
    int code = file->path ? gn_unpack_open(path, &file->file) : -ENOMEM;
    if (code < 0) {
        gn_fastq_close(file);
        return guest_fail(error, code, "--reads takes one or two FASTQ files", "cannot read %s: %s",
                          path, strerror(-code));
    }
    *ret_file = file;
    return 0;
}

void gn_fastq_close(struct gn_fastq *file) {
    if (!file) {
        return;
    }
    gn_unpack_close(file->file);
    free(file->path);
    free(file->rest);
    free(file);
}

void gn_fastq_progress(const struct gn_fastq *file, uint64_t *ret_done, uint64_t *ret_total) {
    gn_unpack_progress(file->file, ret_done, ret_total);
}

static int reserve(struct gn_fastq *file, size_t more) {
    size_t need = file->rest_length + more + 1;
    if (need <= file->rest_capacity) {
        return 0;
    }
    size_t capacity = need + need / 2;
    char *grown = realloc(file->rest, capacity);
    if (!grown) {
        return -ENOMEM;
    }
    file->rest = grown;
    file->rest_capacity = capacity;
    return 0;
}

/* Appends what the file gives next to the rest. */
static int inflate_more(struct gn_fastq *file, struct sy_error *error) {
    if (reserve(file, CHUNK) < 0) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    ssize_t got = gn_unpack_read(file->file, file->rest + file->rest_length, CHUNK);
    if (got < 0) {
        const char *what = got == -ENODATA   ? "the compressed file ends too early"
                           : got == -EBADMSG ? "the compressed file is damaged"
                                             : strerror((int)-got);
        guest_fail(error, (int)got, "it was truncated or damaged; download it again", "%s", what);
        snprintf(error->file, sizeof error->file, "%s", file->path);
        return got == -ENODATA ? -EBADMSG : (int)got;
    }
    file->ended = got == 0;
    file->rest_length += (size_t)got;
    if (file->ended && file->rest_length && file->rest[file->rest_length - 1] != '\n') {
        file->rest[file->rest_length++] = '\n'; /* a last line without its end is whole */
    }
    return 0;
}

/* --- whole records ------------------------------------------------------------------------------
 */
/* How far the rest was gone through. */
struct reach {
    size_t at;
    uint64_t lines;
};

/* A line that has more than it may, whether or not its end is there. */
static int fail_long(const struct gn_fastq *file, const struct reach *reach,
                     struct sy_error *error) {
    uint64_t line = file->line + reach->lines;
    switch (reach->lines % 4) {
    case 1:
        return gn_fastq_too_long(error, file->path, line, "more than ", GN_READ_MAX);
    case 3:
        return gn_fastq_fail(error, file->path, line, NULL, "more than %d qualities", GN_READ_MAX);
    default:
        return file->rest[reach->at] == '@' || reach->lines % 4 == 2
                   ? gn_fastq_fail(error, file->path, line, NULL, "a line of more than %d bytes",
                                   GN_FASTQ_LINE_MAX)
                   : gn_fastq_fail(error, file->path, line, NULL,
                                   "expected a name that begins with @");
    }
}

/* Steps over lines; stops after `lines` of them, or where the rest ends. */
static int step_over(const struct gn_fastq *file, uint64_t lines, struct reach *reach,
                     struct sy_error *error) {
    while (reach->lines < lines && reach->at < file->rest_length) {
        const char *start = file->rest + reach->at;
        size_t left = file->rest_length - reach->at;
        size_t most = reach->lines % 2 ? GN_READ_MAX + 1 : GN_FASTQ_LINE_MAX; /* one more: \r */
        const char *end = memchr(start, '\n', left < most + 1 ? left : most + 1);
        if (!end) {
            return left > most ? fail_long(file, reach, error) : 0;
        }
        reach->at += (size_t)(end - start) + 1;
        reach->lines++;
    }
    return 0;
}

/* Reads on until so many lines are there, or the file ends. */
static int want_lines(struct gn_fastq *file, uint64_t lines, struct reach *reach,
                      struct sy_error *error) {
    *reach = (struct reach){0, 0};
    for (;;) {
        if (file->line == 1 && file->rest_length && file->rest[0] == '>') {
            return gn_fastq_fail(error, file->path, 1, "this looks like FASTA: reads must be FASTQ",
                                 "'>' where a FASTQ file has '@'");
        }
        int code = step_over(file, lines, reach, error);
        if (code < 0 || reach->lines == lines || file->ended) {
            return code;
        }
        code = inflate_more(file, error);
        if (code < 0) {
            return code;
        }
    }
}

static bool only_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\n' && text[i] != '\r') {
            return false;
        }
    }
    return true;
}

/* Blank lines at the end of a file mean nothing. False: what is left is no whole number of records.
 */
static bool drop_blank(const struct gn_fastq *file, struct reach *reach) {
    if (only_blank(file->rest, file->rest_length)) {
        *reach = (struct reach){0, 0};
    }
    while (reach->lines % 4 != 0 && reach->at > 1 && only_blank(file->rest + reach->at - 1, 1) &&
           file->rest[reach->at - 2] == '\n') {
        reach->at--;
        reach->lines--;
    }
    return reach->lines % 4 == 0;
}

/* --- the first reads ----------------------------------------------------------------------------
 */
struct seen {
    bool pairs;        /* reads 2i and 2i + 1 have one name, which the pair before has not */
    uint8_t low, high; /* of the bytes that qualities are written by */
    struct gn_fastq_record before; /* the last one */
};

static void look_at(const struct gn_fastq_record *record, uint32_t number, struct seen *seen) {
    bool same = number > 0 && gn_fastq_same_name(record, &seen->before);
    bool ends = number % 2 == 0 ? record->end != 2
                                : record->end != 1 && (record->end == 2) == (seen->before.end == 1);
    seen->pairs &= ends && same == (number % 2 == 1);
    seen->before = *record;
    for (size_t i = 0; i < record->qualities.length; i++) {
        uint8_t byte = (uint8_t)record->qualities.text[i];
        seen->low = byte < seen->low ? byte : seen->low;
        seen->high = byte > seen->high ? byte : seen->high;
    }
}

/* Much as vsearch --fastq_chars guesses; see docs/design/013-variant-calling.md. */
static int check_phred(const struct gn_fastq *file, const struct seen *seen,
                       struct sy_error *error) {
    if (file->options.phred || seen->low < OLD_LEAST || seen->high <= NEW_USUAL ||
        seen->high > OLD_MOST) {
        return 0;
    }
    return gn_fastq_fail(error, file->path, 4, "use --phred 64 if they are, or --phred 33 if not",
                         "qualities from '%c' to '%c' look like Phred+64, as sequencers wrote them "
                         "until 2011",
                         seen->low, seen->high);
}

/* Decides how the file is to be read. */
static int look(struct gn_fastq *file, struct sy_error *error) {
    struct reach reach;
    int code = want_lines(file, 4 * LOOK, &reach, error);
    if (code < 0) {
        return code;
    }
    uint32_t records = drop_blank(file, &reach) ? (uint32_t)(reach.lines / 4) : 0;
    struct gn_text text = {.path = file->path, .text = file->rest, .length = reach.at};
    struct gn_fastq_cursor cursor = {&text, 0, 1};
    struct seen seen = {.pairs = records > 0 && records % 2 == 0, .low = UINT8_MAX};
    for (uint32_t i = 0; i < records && code == 0; i++) {
        struct gn_fastq_record record;
        code = gn_fastq_take(&cursor, &record, error);
        if (code == 0) {
            look_at(&record, i, &seen);
        }
    }
    if (file->options.ends == GN_ENDS_LOOK) {
        file->interleaved = seen.pairs;
    }
    file->looked = true;
    return code ? code : check_phred(file, &seen, error);
}

/* --- the next reads -----------------------------------------------------------------------------
 */
int gn_fastq_next(struct gn_fastq *file, uint32_t count, struct gn_text *ret_text,
                  struct sy_error *error) {
    struct reach reach;
    int code = file->looked ? 0 : look(file, error);
    uint64_t lines = (file->interleaved ? 8 : 4) * (uint64_t)count;
    code = code ? code : want_lines(file, lines, &reach, error);
    if (code < 0) {
        return code;
    }
    bool last = reach.lines < lines;
    if (last && !drop_blank(file, &reach)) {
        return gn_fastq_fail(error, file->path, file->line + reach.lines, NULL,
                             "the file ends within a record");
    }
    char *text = malloc(reach.at + 1);
    if (!text) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    if (reach.at) {
        memcpy(text, file->rest, reach.at);
        memmove(file->rest, file->rest + reach.at, file->rest_length - reach.at);
    }
    file->rest_length -= reach.at;
    text[reach.at] = '\0';
    *ret_text = (struct gn_text){.path = file->path,
                                 .text = text,
                                 .length = reach.at,
                                 .line = file->line,
                                 .records = (uint32_t)(reach.lines / 4),
                                 .phred = file->options.phred ? file->options.phred : 33,
                                 .interleaved = file->interleaved,
                                 .last = last};
    file->line += reach.lines;
    return 0;
}

void gn_text_finish(struct gn_text *text) {
    free(text->text);
    text->text = NULL;
}
