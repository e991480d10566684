/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads FASTA into two bits a base; see genome.h.
 *
 * Bases are gathered in a small buffer of codes and packed a word at a time; invariant: length
 * counts all bases, those of the buffer included, and the buffer begins at a multiple of BUFFER.
 */
#include "genomics/align/genome.h"
#include "genomics/align/contigs.h"
#include "genomics/names.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BUFFER = 8192, CHUNK = 1 << 18 };
enum { SKIP = 5, LINE_END = 6, BAD = 7 };        /* beside codes 0 .. 4 */
enum state { LINE_START, SEQUENCE, NAME, REST }; /* REST: of a header line, behind the name */

struct gn_fasta {
    struct gn_genome genome;
    uint64_t word_capacity; /* in words of 32 bases */
    uint32_t contig_capacity, names_capacity;
    uint32_t *lines; /* of each contig's header */
    char *name;      /* of the file */
    enum state state;
    uint32_t line, column;
    uint8_t kinds[256];
    uint8_t codes[BUFFER];
};

static int fail_at(const struct gn_fasta *fasta, struct sy_error *error, const char *hint,
                   const char *message) {
    guest_fail(error, -EINVAL, hint, "%s", message);
    snprintf(error->file, sizeof(error->file), "%s", fasta->name);
    error->line = fasta->line;
    error->column = fasta->column;
    return -EINVAL;
}

static int no_memory(struct sy_error *error) {
    return guest_fail(error, -ENOMEM, NULL, "out of memory for the reference");
}

static void fill_kinds(uint8_t *kinds) {
    memset(kinds, BAD, 256);
    for (const char *c = "RYSWKMBDHVNX"; *c; c++) {
        kinds[(unsigned char)*c] = kinds[tolower((unsigned char)*c)] = 4;
    }
    for (uint8_t i = 0; i < 4; i++) {
        kinds[(unsigned char)"ACGT"[i]] = kinds[(unsigned char)"acgt"[i]] = i;
    }
    kinds['U'] = kinds['u'] = 3;
    kinds[' '] = kinds['\t'] = kinds['\r'] = SKIP;
    kinds['\n'] = LINE_END;
}

int gn_fasta_create(const char *name, struct gn_fasta **ret_fasta, struct sy_error *error) {
    struct gn_fasta *fasta = calloc(1, sizeof(*fasta));
    char *copy = strdup(name);
    if (!fasta || !copy) {
        free(fasta);
        free(copy);
        return no_memory(error);
    }
    fasta->name = copy;
    fasta->line = 1;
    fill_kinds(fasta->kinds);
    *ret_fasta = fasta;
    return 0;
}

void gn_fasta_destroy(struct gn_fasta *fasta) {
    if (fasta) {
        gn_genome_finish(&fasta->genome);
        free(fasta->lines);
        free(fasta->name);
        free(fasta);
    }
}

void gn_genome_finish(struct gn_genome *genome) {
    free(genome->packed);
    free(genome->masked);
    free(genome->contigs);
    free(genome->names);
    memset(genome, 0, sizeof(*genome));
}

static int grow(void *array, uint64_t count, size_t size) {
    void **pointer = array;
    void *more = realloc(*pointer, count * size);
    if (!more) {
        return -ENOMEM;
    }
    *pointer = more;
    return 0;
}

/* --- bases ------------------------------------------------------------------------------------ */

/* Packs the codes [0, count) that end at the genome's length, count at most BUFFER. */
static int pack(struct gn_fasta *fasta, uint32_t count) {
    struct gn_genome *genome = &fasta->genome;
    uint64_t from = genome->length - count, need = genome->length / 64 * 2 + 8;
    if (need > fasta->word_capacity) {
        uint64_t capacity = need + need / 2 + BUFFER;
        if (grow(&genome->packed, capacity, 8) || grow(&genome->masked, capacity / 2 + 1, 8)) {
            return -ENOMEM;
        }
        fasta->word_capacity = capacity;
    }
    memset(fasta->codes + count, 0, (size_t)(BUFFER - count));
    for (uint32_t i = 0; i < count; i += 64) {
        uint64_t words[2] = {0, 0}, mask = 0;
        for (uint32_t k = 0; k < 64; k++) {
            uint64_t code = fasta->codes[i + k];
            words[k / 32] |= (code & 3) << (k % 32 * 2);
            mask |= (code >> 2) << k;
        }
        memcpy(&genome->packed[(from + i) / 32], words, sizeof(words));
        genome->masked[(from + i) / 64] = mask;
    }
    return 0;
}

static inline int add(struct gn_fasta *fasta, uint8_t code) {
    uint32_t at = (uint32_t)(fasta->genome.length++ % BUFFER);
    fasta->codes[at] = code;
    return at + 1 < BUFFER ? 0 : pack(fasta, BUFFER);
}

static int add_gap(struct gn_fasta *fasta) {
    int code = 0;
    for (uint32_t i = 0; i < GN_GAP && code == 0; i++) {
        code = add(fasta, 4);
    }
    return code;
}

/* --- header lines ----------------------------------------------------------------------------- */

static int too_long(const struct gn_fasta *fasta, struct sy_error *error) {
    return fail_at(fasta, error, "leave out contigs that you do not need",
                   "the reference is too long: at most 4,294 million bases");
}

static int begin_contig(struct gn_fasta *fasta, struct sy_error *error) {
    struct gn_genome *genome = &fasta->genome;
    uint32_t count = genome->contig_count;
    if (genome->length >= UINT32_MAX - 3 * GN_GAP) {
        return too_long(fasta, error);
    }
    if (count == fasta->contig_capacity) {
        uint32_t capacity = count ? count * 2 : 64;
        if (grow(&genome->contigs, capacity, sizeof(*genome->contigs)) ||
            grow(&fasta->lines, capacity, sizeof(*fasta->lines))) {
            return no_memory(error);
        }
        fasta->contig_capacity = capacity;
    }
    if (add_gap(fasta)) {
        return no_memory(error);
    }
    genome->contigs[count] =
        (struct gn_contig){.start = genome->length, .name = genome->names_bytes};
    fasta->lines[count] = fasta->line;
    genome->contig_count++;
    return 0;
}

static int add_name(struct gn_fasta *fasta, char c, struct sy_error *error) {
    struct gn_genome *genome = &fasta->genome;
    uint32_t length = genome->names_bytes - genome->contigs[genome->contig_count - 1].name;
    if (length >= GN_CONTIG_NAME_MAX || genome->names_bytes > UINT32_MAX / 2) {
        return fail_at(fasta, error, NULL, "this contig's name is longer than 4,096 characters");
    }
    if (c && !gn_name_allows(c, length == 0)) {
        char byte[GN_BYTE_TEXT], message[64];
        snprintf(message, sizeof(message), "%s in a contig's name", gn_byte_text(c, byte));
        return fail_at(fasta, error, GN_NAME_HINT, message);
    }
    if (!c && length == 0) {
        return fail_at(fasta, error, "write the name directly after '>'", "contig without a name");
    }
    if (genome->names_bytes == fasta->names_capacity) {
        uint32_t capacity = fasta->names_capacity * 2 + 1024;
        if (grow(&genome->names, capacity, 1)) {
            return no_memory(error);
        }
        fasta->names_capacity = capacity;
    }
    genome->names[genome->names_bytes++] = c;
    return 0;
}

/* --- the text --------------------------------------------------------------------------------- */

static int bad_character(const struct gn_fasta *fasta, char c, struct sy_error *error) {
    char message[96], byte[GN_BYTE_TEXT];
    bool first = fasta->genome.contig_count == 0;
    snprintf(message, sizeof(message), "%s %s", gn_byte_text(c, byte),
             first ? "where a FASTA file has '>'" : "is not a base");
    return fail_at(fasta, error,
                   first && c == '@' ? "this looks like FASTQ: the reference must be FASTA"
                   : first           ? "the reference must be FASTA, plain or gzip'd"
                                     : "bases are letters: A, C, G, T, N and the IUPAC codes",
                   message);
}

static int feed_base(struct gn_fasta *fasta, char c, struct sy_error *error) {
    uint8_t kind = fasta->kinds[(unsigned char)c];
    fasta->state = SEQUENCE;
    if (kind == SKIP) {
        return 0;
    }
    if (kind > 4 || fasta->genome.contig_count == 0) {
        return bad_character(fasta, c, error);
    }
    if (fasta->genome.length >= UINT32_MAX - 2 * GN_GAP) {
        return too_long(fasta, error);
    }
    return add(fasta, kind) ? no_memory(error) : 0;
}

static int feed_header(struct gn_fasta *fasta, char c, struct sy_error *error) {
    if (fasta->state == LINE_START) {
        fasta->state = NAME;
        return begin_contig(fasta, error);
    }
    bool ends = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (fasta->state == NAME && ends) {
        fasta->state = REST;
        return add_name(fasta, '\0', error);
    }
    return fasta->state == NAME ? add_name(fasta, c, error) : 0;
}

int gn_fasta_feed(struct gn_fasta *fasta, const char *text, size_t length, struct sy_error *error) {
    int code = 0;
    for (size_t i = 0; i < length && code == 0; i++) {
        char c = text[i];
        fasta->column++;
        if (fasta->state == NAME || fasta->state == REST ||
            (fasta->state == LINE_START && c == '>')) {
            code = feed_header(fasta, c, error);
        } else if (c != '\n') {
            code = feed_base(fasta, c, error);
        }
        if (c == '\n' && code == 0) {
            fasta->state = LINE_START;
            fasta->column = 0;
            fasta->line++;
        }
    }
    return code;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int check_names(struct gn_fasta *fasta, struct sy_error *error) {
    const struct gn_genome *genome = &fasta->genome;
    struct gn_contig_names table;
    if (gn_contig_names_sort(genome->contigs, genome->names, genome->contig_count, &table) < 0) {
        return no_memory(error);
    }
    int code = 0;
    for (uint32_t i = 1; i < table.count && code == 0; i++) {
        uint32_t first = table.order[i - 1], second = table.order[i];
        const char *name = genome->names + genome->contigs[second].name;
        if (strcmp(genome->names + genome->contigs[first].name, name) == 0) {
            char message[200];
            snprintf(message, sizeof(message), "contig %.100s appears twice (first on line %u)",
                     name, fasta->lines[first]);
            fasta->line = fasta->lines[second];
            fasta->column = 1;
            code = fail_at(fasta, error, "give every contig its own name", message);
        }
    }
    gn_contig_names_finish(&table);
    return code;
}

int gn_fasta_end(struct gn_fasta *fasta, struct gn_genome *ret_genome, struct sy_error *error) {
    struct gn_genome *genome = &fasta->genome;
    int code = fasta->state == NAME ? add_name(fasta, '\0', error) : 0;
    if (code) {
        return code;
    }
    uint64_t bases = genome->length - (uint64_t)genome->contig_count * GN_GAP;
    if (genome->contig_count == 0 || bases == 0) {
        fasta->column = 0;
        return fail_at(fasta, error, "is this the file you meant?",
                       genome->contig_count ? "no base in this FASTA file" : "the file is empty");
    }
    code = check_names(fasta, error);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < genome->contig_count; i++) {
        uint64_t end =
            i + 1 < genome->contig_count ? genome->contigs[i + 1].start - GN_GAP : genome->length;
        genome->contigs[i].length = (uint32_t)(end - genome->contigs[i].start);
    }
    uint32_t rest;
    if (add_gap(fasta) || ((rest = (uint32_t)(genome->length % BUFFER)) && pack(fasta, rest))) {
        return no_memory(error);
    }
    /* What pack left behind the end is 0 up to a multiple of 64; two more words are wanted. */
    uint64_t end = (genome->length + 63) / 64;
    memset(genome->packed + end * 2, 0, 4 * sizeof(uint64_t));
    memset(genome->masked + end, 0, 2 * sizeof(uint64_t));
    *ret_genome = *genome;
    memset(genome, 0, sizeof(*genome));
    return 0;
}

static int feed_file(struct gn_fasta *fasta, gzFile file, struct sy_error *error) {
    char *chunk = malloc(CHUNK);
    int code = chunk ? 0 : no_memory(error), count = 0;
    while (code == 0 && (count = gzread(file, chunk, CHUNK)) > 0) {
        code = gn_fasta_feed(fasta, chunk, (size_t)count, error);
    }
    free(chunk);
    int trouble = 0;
    const char *why = gzerror(file, &trouble);
    if (code == 0 && (count < 0 || (trouble != Z_OK && trouble != Z_STREAM_END))) {
        if (trouble == Z_ERRNO && errno == EISDIR) {
            return guest_fail(error, -EISDIR, NULL, "cannot read %s: %s", fasta->name,
                              strerror(EISDIR));
        }
        return guest_fail(error, -EIO, "make or fetch the file again", "%s: %s", fasta->name,
                          trouble == Z_ERRNO       ? strerror(errno)
                          : trouble == Z_BUF_ERROR ? "the compressed file ends too early"
                                                   : why);
    }
    return code;
}

int gn_genome_read(const char *path, struct gn_genome *ret_genome, struct sy_error *error) {
    struct gn_fasta *fasta = NULL;
    gzFile file = gzopen(path, "rb");
    if (!file) {
        int code = errno ? -errno : -ENOMEM;
        return guest_fail(error, code, NULL, "cannot read %s: %s", path, strerror(-code));
    }
    gzbuffer(file, CHUNK);
    int code = gn_fasta_create(path, &fasta, error);
    code = code ? code : feed_file(fasta, file, error);
    code = code ? code : gn_fasta_end(fasta, ret_genome, error);
    gn_fasta_destroy(fasta);
    gzclose(file);
    return code;
}
