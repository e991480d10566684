/* SPDX-License-Identifier: Apache-2.0
 *
 * Text of FASTQ into batches of reads: see fastq.h.
 */
#include "genomics/align/fastq_record.h"
#include "genomics/names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of everything, found by a first pass over the texts. */
struct sizes {
    uint64_t bases, names;
    uint32_t longest;
};

static int measure(const struct gn_text *text, struct sizes *sizes, struct sy_error *error) {
    struct gn_fastq_cursor cursor = {text, 0, text->line};
    for (uint32_t i = 0; i < text->records; i++) {
        struct gn_fastq_record record;
        int code = gn_fastq_take(&cursor, &record, error);
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

/* False: one of them is not in `low` to ~. */
static bool put_qualities(const char *letters, uint32_t length, uint32_t low, uint8_t *qualities) {
    uint8_t worst = 0;
    for (uint32_t i = 0; i < length; i++) {
        uint8_t quality = (uint8_t)((uint8_t)letters[i] - low);
        qualities[i] = quality;
        worst = quality > worst ? quality : worst;
    }
    return worst <= '~' - low;
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

static int fail_byte(struct sy_error *error, const char *path, uint64_t line, uint32_t at, char c,
                     const char *hint, const char *what) {
    char byte[GN_BYTE_TEXT];
    gn_fastq_fail(error, path, line, hint, "%s %s", gn_byte_text(c, byte), what);
    error->column = at + 1;
    return -EBADMSG;
}

/* Where something is no A, C, G or T: it must be a letter for several bases, or a dot. */
static int check_bases(const struct gn_fastq_record *record, const char *path,
                       struct sy_error *error) {
    static const char known[] = "ACGTNRYSWKMBDHVXUacgtnryswkmbdhvxu.";
    for (uint32_t i = 0; i < record->bases.length; i++) {
        char c = record->bases.text[i];
        if (!memchr(known, c, sizeof known - 1)) {
            return fail_byte(error, path, record->line + 1, i, c,
                             "bases are letters: A, C, G, T, N and the IUPAC codes",
                             "is not a base");
        }
    }
    return 0;
}

static int fail_quality(const struct gn_fastq_record *record, const struct gn_text *text,
                        struct sy_error *error) {
    char hint[100];
    uint32_t at = 0;
    while (record->qualities.text[at] >= (char)text->phred && record->qualities.text[at] <= '~') {
        at++;
    }
    snprintf(hint, sizeof hint, "with Phred+%u they are the characters %c to ~", text->phred,
             (char)text->phred);
    return fail_byte(error, text->path, record->line + 3, at, record->qualities.text[at], hint,
                     "is not a quality");
}

static int put_read(struct gn_batch *batch, uint32_t number, const struct gn_fastq_record *record,
                    const struct gn_text *text, struct filled *filled, struct sy_error *error) {
    struct gn_reads *reads = batch->reads;
    struct gn_read *read = (struct gn_read *)gn_in(reads, reads->reads) + number;
    uint64_t *packed = (uint64_t *)gn_in(reads, reads->packed) + (size_t)number * reads->words;
    uint8_t *bases = (uint8_t *)gn_in(reads, reads->bases) + filled->bases;
    uint8_t *qualities = batch->notes.qualities + filled->bases;
    uint32_t length = (uint32_t)record->bases.length;
    uint32_t unknown = put_codes(record->bases.text, length, bases);
    if (!put_qualities(record->qualities.text, length, text->phred, qualities)) {
        return fail_quality(record, text, error);
    }
    if (unknown > 0 && check_bases(record, text->path, error) < 0) {
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

static int check_names(const struct gn_fastq_record *records, const struct gn_text *first,
                       const struct gn_text *second, struct sy_error *error) {
    const struct gn_fastq_line *a = &records[0].name, *b = &records[1].name;
    if (gn_fastq_same_name(&records[0], &records[1])) {
        return 0;
    }
    int shown[2] = {(int)(a->length > 60 ? 60 : a->length), (int)(b->length > 60 ? 60 : b->length)};
    return first == second
               ? gn_fastq_fail(error, first->path, records[1].line,
                               "the reads of this file are pairs: both ends must follow each other",
                               "read '%.*s' follows '%.*s'", shown[1], b->text, shown[0], a->text)
               : gn_fastq_fail(error, second->path, records[1].line,
                               "both files must have the same reads in the same order",
                               "read '%.*s' is at the place of '%.*s' of %s", shown[1], b->text,
                               shown[0], a->text, first->path);
}

/* texts: of both ends; the same twice where one file has them both. */
static int fill(const struct gn_text *const *texts, uint32_t ends, struct gn_batch *batch,
                struct sy_error *error) {
    struct gn_fastq_cursor cursors[2] = {{texts[0], 0, texts[0]->line},
                                         {texts[1], 0, texts[1]->line}};
    struct filled filled = {0, 0};
    for (uint32_t i = 0; i < batch->reads->read_count; i += ends) {
        struct gn_fastq_record records[2];
        int code = 0;
        for (uint32_t e = 0; e < ends && code == 0; e++) {
            code = gn_fastq_take(&cursors[texts[e] == texts[0] ? 0 : e], &records[e], error);
        }
        if (code == 0 && ends == 2) {
            code = check_names(records, texts[0], texts[1], error);
        }
        for (uint32_t e = 0; e < ends && code == 0; e++) {
            code = put_read(batch, i + e, &records[e], texts[e], &filled, error);
        }
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* One file has reads left when the other has ended; or a pair lacks its second end. */
static int check_counts(const struct gn_text *first, const struct gn_text *second,
                        struct sy_error *error) {
    if (!second) {
        return first->interleaved && first->records % 2
                   ? gn_fastq_fail(
                         error, first->path, first->line + 4 * (uint64_t)first->records,
                         "the reads of this file are pairs: both ends must follow each other",
                         "the file ends within a pair")
                   : 0;
    }
    const struct gn_text *less = first->records < second->records ? first : second;
    const struct gn_text *more = less == first ? second : first;
    return first->records == second->records
               ? 0
               : gn_fastq_fail(error, less->path, less->line + 4 * (uint64_t)less->records,
                               "both files must have the same reads in the same order",
                               "the file ends before %s does", more->path);
}

int gn_fastq_parse(const struct gn_text *first, const struct gn_text *second, uint64_t serial,
                   void *room, uint64_t room_bytes, struct gn_batch *ret_batch,
                   struct sy_error *error) {
    struct gn_batch batch = {0};
    struct sizes sizes = {0};
    uint32_t ends = second || first->interleaved ? 2 : 1;
    uint32_t count = first->records + (second ? second->records : 0);
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
    code = make_batch(count, &sizes, room, room_bytes, &batch);
    if (code < 0) {
        guest_fail(error, code, NULL, "no memory for %u reads", count);
    } else {
        const struct gn_text *texts[2] = {first, second ? second : first};
        batch.reads->paired = ends == 2;
        batch.reads->serial = serial;
        code = fill(texts, ends, &batch, error);
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
