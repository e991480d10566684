/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads FASTQ: see fastq.h. A text holds whole records, so that parsing one needs no other.
 */
#include "genomics/align/fastq.h"
#include "genomics/align/unpack.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, NAME_MAX_BYTES = 254 /* what a BAM can hold */, QUALITY_MAX = 93 };

struct gn_fastq {
    struct gn_unpack *file;
    char *path;
    char *rest; /* what was inflated and not yet handed out */
    size_t rest_length, rest_capacity;
    uint64_t line;
    bool ended;
};

/* Fills error with a place in a FASTQ file. */
__attribute__((format(printf, 4, 5))) static int fail_at(struct sy_error *error, const char *path,
                                                         uint64_t line, const char *format, ...) {
    char message[256];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    int code = guest_fail(
        error, -EBADMSG, "a FASTQ record is four lines: @name, bases, +, qualities", "%s", message);
    snprintf(error->file, sizeof error->file, "%s", path);
    error->line = line > UINT32_MAX ? 0 : (uint32_t)line;
    return code;
}

static int fail_fasta(struct sy_error *error, const char *path) {
    int code = fail_at(error, path, 1, "'>' where a FASTQ file has '@'");
    snprintf(error->hint, sizeof error->hint, "this looks like FASTA: reads must be FASTQ");
    return code;
}

/* --- reading ------------------------------------------------------------------------------------
 */
int gn_fastq_open(const char *path, struct gn_fastq **ret_file, struct sy_error *error) {
    struct gn_fastq *file = calloc(1, sizeof *file);
    if (!file) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    file->line = 1;
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
        guest_fail(error, (int)got, "it was cut off or damaged on its way; fetch it again", "%s",
                   what);
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

/* Steps over lines from *at; stops after `lines` of them, or where text ends. How many it saw. */
static uint64_t skip_lines(const char *text, size_t length, uint64_t lines, size_t *at) {
    uint64_t seen = 0;
    while (seen < lines && *at < length) {
        const char *end = memchr(text + *at, '\n', length - *at);
        if (!end) {
            break;
        }
        *at = (size_t)(end - text) + 1;
        seen++;
    }
    return seen;
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
static bool drop_blank(const struct gn_fastq *file, uint64_t *seen, size_t *at) {
    if (only_blank(file->rest, file->rest_length)) {
        *seen = *at = 0;
    }
    while (*seen % 4 != 0 && *at > 1 && only_blank(file->rest + *at - 1, 1) &&
           file->rest[*at - 2] == '\n') {
        (*at)--;
        (*seen)--;
    }
    return *seen % 4 == 0;
}

int gn_fastq_next(struct gn_fastq *file, uint32_t records, struct gn_text *ret_text,
                  struct sy_error *error) {
    uint64_t want = 4 * (uint64_t)records, seen = 0;
    size_t at = 0;
    for (;;) {
        seen += skip_lines(file->rest, file->rest_length, want - seen, &at);
        if (seen == want || file->ended) {
            break;
        }
        int code = inflate_more(file, error);
        if (code < 0) {
            return code;
        }
    }
    if (file->line == 1 && file->rest_length && file->rest[0] == '>') {
        return fail_fasta(error, file->path);
    }
    if (seen < want && !drop_blank(file, &seen, &at)) {
        return fail_at(error, file->path, file->line + seen, "the file ends within a record");
    }
    char *text = malloc(at + 1);
    if (!text) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    if (at) {
        memcpy(text, file->rest, at);
        memmove(file->rest, file->rest + at, file->rest_length - at);
    }
    file->rest_length -= at;
    text[at] = '\0';
    *ret_text = (struct gn_text){file->path, text, at, file->line, (uint32_t)(seen / 4)};
    file->line += seen;
    return 0;
}

void gn_text_finish(struct gn_text *text) {
    free(text->text);
    text->text = NULL;
}

/* --- parsing ------------------------------------------------------------------------------------
 */
struct line {
    const char *text;
    size_t length; /* without its end */
};

struct record {
    struct line name, bases, qualities;
};

/* Where parsing stands in one text. */
struct cursor {
    const struct gn_text *text;
    size_t at;
    uint64_t line;
};

static struct line take_line(struct cursor *cursor) {
    const char *start = cursor->text->text + cursor->at;
    const char *end = memchr(start, '\n', cursor->text->length - cursor->at);
    size_t length = end ? (size_t)(end - start) : cursor->text->length - cursor->at;
    cursor->at += length + (end != NULL);
    cursor->line++;
    if (length && start[length - 1] == '\r') {
        length--;
    }
    return (struct line){start, length};
}

static int take_record(struct cursor *cursor, struct record *record, struct sy_error *error) {
    const char *path = cursor->text->path;
    uint64_t line = cursor->line;
    struct line name = take_line(cursor), bases = take_line(cursor), plus = take_line(cursor),
                qualities = take_line(cursor);
    if (!name.length || name.text[0] != '@') {
        return fail_at(error, path, line, "expected a name that begins with @");
    }
    if (!plus.length || plus.text[0] != '+') {
        return fail_at(error, path, line + 2, "expected a line that begins with +");
    }
    if (bases.length != qualities.length) {
        return fail_at(error, path, line + 3, "%zu bases, but %zu qualities", bases.length,
                       qualities.length);
    }
    if (bases.length > GN_READ_MAX) {
        fail_at(error, path, line + 1, "a read of %zu bases", bases.length);
        snprintf(error->hint, sizeof error->hint, "this caller is made for short reads, up to %d",
                 GN_READ_MAX);
        return -EBADMSG;
    }
    name.text++;
    name.length--;
    for (size_t i = 0; i < name.length; i++) {
        if (name.text[i] == ' ' || name.text[i] == '\t') {
            name.length = i;
        }
    }
    if (name.length > 2 && name.text[name.length - 2] == '/' &&
        (name.text[name.length - 1] == '1' || name.text[name.length - 1] == '2')) {
        name.length -= 2;
    }
    name.length = name.length > NAME_MAX_BYTES ? NAME_MAX_BYTES : name.length;
    *record = (struct record){name, bases, qualities};
    return 0;
}

/* Sizes of everything, found by a first pass over the texts. */
struct sizes {
    uint64_t bases, names;
    uint32_t longest;
};

static int measure(const struct gn_text *text, struct sizes *sizes, struct sy_error *error) {
    struct cursor cursor = {text, 0, text->line};
    for (uint32_t i = 0; i < text->records; i++) {
        struct record record;
        int code = take_record(&cursor, &record, error);
        if (code < 0) {
            return code;
        }
        sizes->bases += record.bases.length;
        sizes->names += record.name.length + 1;
        sizes->longest =
            record.bases.length > sizes->longest ? (uint32_t)record.bases.length : sizes->longest;
    }
    return 0;
}

uint64_t gn_fastq_room(const struct gn_text *first, const struct gn_text *second) {
    uint64_t count = first->records + (second ? second->records : 0u);
    uint64_t bases = (first->length + (second ? second->length : 0)) / 2;
    uint64_t packed = (bases / 32 + 2 * count) * sizeof(uint64_t);
    return gn_round(sizeof(struct gn_reads)) + count * sizeof(struct gn_read) + packed + bases +
           5 * GN_ALIGN;
}

static int make_batch(uint32_t count, const struct sizes *sizes, void *room, uint64_t room_bytes,
                      struct gn_batch *batch) {
    uint32_t words = (sizes->longest + 31) / 32 + 1; /* one more: windows of 32 may reach over */
    uint64_t table = gn_round(sizeof(struct gn_reads));
    uint64_t packed = table + gn_round((uint64_t)count * sizeof(struct gn_read));
    uint64_t bases = packed + gn_round((uint64_t)count * words * sizeof(uint64_t));
    uint64_t bytes = bases + gn_round(sizes->bases + GN_ALIGN);
    batch->elsewhere = room && bytes <= room_bytes;
    batch->reads = batch->elsewhere ? room : aligned_alloc(GN_ALIGN, bytes);
    batch->notes.qualities = malloc(sizes->bases + 1);
    batch->notes.names = malloc(sizes->names + 1);
    batch->notes.name_offsets = malloc(((size_t)count + 1) * sizeof(uint32_t));
    if (!batch->reads || !batch->notes.qualities || !batch->notes.names ||
        !batch->notes.name_offsets) {
        return -ENOMEM;
    }
    memset(batch->reads, 0, bases);
    *batch->reads = (struct gn_reads){.bytes = bytes,
                                      .read_count = count,
                                      .words = words,
                                      .longest = sizes->longest,
                                      .reads = table,
                                      .packed = packed,
                                      .bases = bases};
    return 0;
}

/* How far the arrays of a batch are filled. */
struct filled {
    uint64_t bases, names;
};

/* Loops without branches, which compilers turn into vectors: most of parsing is here. gn_code() of
 * each letter; returns how many are no base. */
static uint32_t put_codes(const char *letters, uint32_t length, uint8_t *codes) {
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < length; i++) {
        uint8_t letter = (uint8_t)letters[i] & 0xDF;
        uint8_t code = (uint8_t)((letter >> 1 ^ letter >> 2) & 3);
        uint8_t known = (letter == 'A') | (letter == 'C') | (letter == 'G') | (letter == 'T');
        codes[i] = known ? code : 4;
    }
    for (uint32_t i = 0; i < length; i++) {
        unknown += codes[i] >> 2;
    }
    return unknown;
}

/* False: one of them is not in ! to ~. */
static bool put_qualities(const char *letters, uint32_t length, uint8_t *qualities) {
    uint8_t worst = 0;
    for (uint32_t i = 0; i < length; i++) {
        uint8_t quality = (uint8_t)(letters[i] - 33);
        qualities[i] = quality;
        worst = quality > worst ? quality : worst;
    }
    return worst <= QUALITY_MAX;
}

/* Two bits a base, eight bases at a time. */
static uint64_t pack_word(const uint8_t *codes, uint32_t count) {
    uint64_t word = 0;
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t eight;
        memcpy(&eight, codes + i, sizeof eight);
        eight &= 0x0303030303030303u;
        eight = (eight | eight >> 6) & 0x000F000F000F000Fu;
        eight = (eight | eight >> 12) & 0x000000FF000000FFu;
        word |= ((eight | eight >> 24) & 0xFFFF) << (2 * i);
    }
    for (; i < count; i++) {
        word |= (uint64_t)(codes[i] & 3) << (2 * i);
    }
    return word;
}

static int put_read(struct gn_batch *batch, uint32_t number, const struct record *record,
                    struct filled *filled) {
    struct gn_reads *reads = batch->reads;
    struct gn_read *read = (struct gn_read *)gn_in(reads, reads->reads) + number;
    uint64_t *packed = (uint64_t *)gn_in(reads, reads->packed) + (size_t)number * reads->words;
    uint8_t *bases = (uint8_t *)gn_in(reads, reads->bases) + filled->bases;
    uint8_t *qualities = batch->notes.qualities + filled->bases;
    uint32_t length = (uint32_t)record->bases.length;
    uint32_t unknown = put_codes(record->bases.text, length, bases);
    if (!put_qualities(record->qualities.text, length, qualities)) {
        return -EBADMSG;
    }
    for (uint32_t i = 0; i < length; i += 32) {
        packed[i / 32] = pack_word(bases + i, length - i < 32 ? length - i : 32);
    }
    *read = (struct gn_read){(uint32_t)filled->bases, (uint16_t)length, (uint16_t)unknown};
    batch->notes.name_offsets[number] = (uint32_t)filled->names;
    memcpy(batch->notes.names + filled->names, record->name.text, record->name.length);
    batch->notes.names[filled->names + record->name.length] = '\0';
    filled->bases += length;
    filled->names += record->name.length + 1;
    return 0;
}

static int check_names(const struct record *records, const struct cursor *cursors,
                       struct sy_error *error) {
    const struct line *a = &records[0].name, *b = &records[1].name;
    if (a->length == b->length && memcmp(a->text, b->text, a->length) == 0) {
        return 0;
    }
    fail_at(error, cursors[1].text->path, cursors[1].line - 4,
            "read '%.*s' stands beside '%.*s' of %s", (int)(b->length > 60 ? 60 : b->length),
            b->text, (int)(a->length > 60 ? 60 : a->length), a->text, cursors[0].text->path);
    snprintf(error->hint, sizeof error->hint, "%s",
             "both files must have the same reads in the same order");
    return -EBADMSG;
}

static int fill(struct cursor *cursors, uint32_t files, struct gn_batch *batch,
                struct sy_error *error) {
    struct filled filled = {0, 0};
    for (uint32_t i = 0; i < batch->reads->read_count; i += files) {
        struct record records[2];
        int code = 0;
        for (uint32_t f = 0; f < files && code == 0; f++) {
            code = take_record(&cursors[f], &records[f], error);
        }
        if (code == 0 && files == 2) {
            code = check_names(records, cursors, error);
        }
        for (uint32_t f = 0; f < files && code == 0; f++) {
            code = put_read(batch, i + f, &records[f], &filled);
            if (code < 0) {
                fail_at(error, cursors[f].text->path, cursors[f].line - 1,
                        "a quality is not in ! to ~");
            }
        }
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* One file has reads left when the other has ended. */
static int check_counts(const struct gn_text *first, const struct gn_text *second,
                        struct sy_error *error) {
    if (!second || first->records == second->records) {
        return 0;
    }
    const struct gn_text *less = first->records < second->records ? first : second;
    const struct gn_text *more = less == first ? second : first;
    fail_at(error, less->path, less->line + 4 * (uint64_t)less->records,
            "the file ends before %s does", more->path);
    snprintf(error->hint, sizeof error->hint, "%s",
             "both files must have the same reads in the same order");
    return -EBADMSG;
}

int gn_fastq_parse(const struct gn_text *first, const struct gn_text *second, uint64_t serial,
                   void *room, uint64_t room_bytes, struct gn_batch *ret_batch,
                   struct sy_error *error) {
    struct gn_batch batch = {0};
    struct sizes sizes = {0};
    uint32_t files = second ? 2 : 1;
    int code = check_counts(first, second, error);
    code = code ? code : measure(first, &sizes, error);
    if (code == 0 && second) {
        code = measure(second, &sizes, error);
    }
    if (code == 0 && (sizes.bases > UINT32_MAX || sizes.names > UINT32_MAX)) {
        code = guest_fail(error, -E2BIG, "use smaller batches", "a batch of %llu bases",
                          (unsigned long long)sizes.bases);
    }
    if (code < 0) {
        return code;
    }
    code = make_batch(files * first->records, &sizes, room, room_bytes, &batch);
    if (code < 0) {
        guest_fail(error, code, NULL, "no memory for %u reads", files * first->records);
    } else {
        struct cursor cursors[2] = {{first, 0, first->line},
                                    {second, 0, second ? second->line : 0}};
        batch.reads->paired = files == 2;
        batch.reads->serial = serial;
        code = fill(cursors, files, &batch, error);
    }
    if (code < 0) {
        gn_batch_finish(&batch);
        return code;
    }
    *ret_batch = batch;
    return 0;
}

void gn_batch_finish(struct gn_batch *batch) {
    if (!batch->elsewhere) {
        free(batch->reads);
    }
    free(batch->notes.qualities);
    free(batch->notes.names);
    free(batch->notes.name_offsets);
    *batch = (struct gn_batch){0};
}
