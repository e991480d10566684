/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads variants by htslib, and plays them into sequences: see variants.h.
 */
#include "genomics/judge/variants.h"
#include "genomics/align/contigs.h"
#include "genomics/judge/records.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HET_MAX = 12 /* phasings of more are not tried */, MARGIN = 60 };

void gn_genome_codes(const struct gn_genome *genome, uint64_t start, uint64_t length,
                     uint8_t *codes) {
    for (uint64_t i = 0; i < length; i++) {
        uint64_t at = start + i;
        bool known = at < genome->length && !(genome->masked[at / 64] >> at % 64 & 1);
        codes[i] = (uint8_t)(known ? genome->packed[at / 32] >> 2 * (at % 32) & 3 : 4);
    }
}

/* --- reading ------------------------------------------------------------------------------------
 */
struct reader {
    const struct gn_genome *genome;
    const struct gn_score_options *options;
    struct gn_contig_names names;
    struct gn_records records;
    int32_t *genotypes;
    int genotype_capacity;
    bool truth;
};

/* Two alleles of the one sample; false: none, unknown, or both are the reference. */
static bool read_genotype(struct reader *reader, int *ret_alleles, bool *ret_phased) {
    int count = bcf_get_genotypes(reader->records.header, reader->records.record,
                                  &reader->genotypes, &reader->genotype_capacity);
    if (count < 1 || reader->genotypes[0] == bcf_int32_vector_end ||
        bcf_gt_is_missing(reader->genotypes[0])) {
        return false;
    }
    bool two = count > 1 && reader->genotypes[1] != bcf_int32_vector_end;
    if (two && bcf_gt_is_missing(reader->genotypes[1])) {
        return false;
    }
    ret_alleles[0] = bcf_gt_allele(reader->genotypes[0]);
    ret_alleles[1] = two ? bcf_gt_allele(reader->genotypes[1]) : ret_alleles[0];
    *ret_phased = two && bcf_gt_is_phased(reader->genotypes[1]);
    return ret_alleles[0] || ret_alleles[1];
}

static bool is_counted(const struct reader *reader) {
    const struct gn_score_options *options = reader->options;
    bcf1_t *record = reader->records.record;
    const char *contig = bcf_seqname(reader->records.header, record);
    if (options->contig && strcmp(options->contig, contig ? contig : "") != 0) {
        return false;
    }
    if (options->end &&
        ((uint64_t)record->pos < options->start || (uint64_t)record->pos >= options->end)) {
        return false;
    }
    if (reader->truth) {
        return true;
    }
    bool passes = bcf_has_filter(reader->records.header, record, (char[]){"PASS"}) == 1;
    bool quality = bcf_float_is_missing(record->qual) || record->qual >= options->quality;
    return quality && (passes || options->all);
}

static bool is_plain(const char *allele) {
    return allele[0] && allele[strspn(allele, "ACGTNacgtn")] == '\0';
}

/* Takes off what all three begin or end with, the last base excepted. */
static void trim(struct gn_variant *variant, const uint8_t *reference) {
    uint32_t *a = &variant->lengths[0], *b = &variant->lengths[1], *r = &variant->length;
    while (*r > 1 && *a > 1 && *b > 1 && reference[*r - 1] == variant->alleles[0][*a - 1] &&
           reference[*r - 1] == variant->alleles[1][*b - 1]) {
        (*r)--;
        (*a)--;
        (*b)--;
    }
    while (*r > 1 && *a > 1 && *b > 1 && reference[0] == variant->alleles[0][0] &&
           reference[0] == variant->alleles[1][0]) {
        (*r)--;
        (*a)--;
        (*b)--;
        variant->alleles[0]++;
        variant->alleles[1]++;
        variant->position++;
        reference++;
    }
}

/* Whether the file was made with this reference. */
static bool is_reference(const struct gn_genome *genome, uint64_t start, const char *letters) {
    for (uint64_t at = start; *letters; at++, letters++) {
        uint8_t code;
        gn_genome_codes(genome, at, 1, &code);
        if (code != gn_code(*letters)) {
            return false;
        }
    }
    return true;
}

static uint8_t *put_codes(uint8_t *to, const char *letters) {
    while (*letters) {
        *to++ = gn_code(*letters++);
    }
    return to;
}

static int add_variant(struct reader *reader, const struct gn_contig *contig, const int *alleles,
                       bool phased, struct gn_variants *variants) {
    bcf1_t *record = reader->records.record;
    if (variants->count == variants->capacity) {
        uint32_t more = variants->capacity * 2 + 1024;
        struct gn_variant *list = realloc(variants->list, more * sizeof *list);
        variants->list = list ? list : variants->list;
        uint8_t **blocks = list ? realloc(variants->blocks, more * sizeof *blocks) : NULL;
        variants->blocks = blocks ? blocks : variants->blocks;
        if (!blocks) {
            return -ENOMEM;
        }
        variants->capacity = more;
    }
    const char *texts[3] = {record->d.allele[0], record->d.allele[alleles[0]],
                            record->d.allele[alleles[1]]};
    uint8_t *block = malloc(strlen(texts[0]) + strlen(texts[1]) + strlen(texts[2]) + 1);
    if (!block) {
        return -ENOMEM;
    }
    uint8_t *first = put_codes(block, texts[0]), *second = put_codes(first, texts[1]);
    uint8_t *end = put_codes(second, texts[2]);
    struct gn_variant variant = {.position = contig->start + (uint64_t)record->pos,
                                 .length = (uint32_t)(first - block),
                                 .alleles = {first, second},
                                 .lengths = {(uint32_t)(second - first), (uint32_t)(end - second)},
                                 .phased = phased,
                                 .truth = reader->truth,
                                 .order = variants->count};
    trim(&variant, block);
    bool same = variant.length == variant.lengths[0] && variant.length == variant.lengths[1];
    variant.kind = same ? GN_SNP : GN_INDEL;
    variants->blocks[variants->count] = block;
    variants->list[variants->count++] = variant;
    return 0;
}

/* The contig of a record that lies inside of it; NULL with an error if there is none. */
static const struct gn_contig *contig_of(const struct reader *reader, struct sy_error *error) {
    const bcf1_t *record = reader->records.record;
    const char *name = bcf_seqname(reader->records.header, record);
    uint32_t number = name ? gn_contig_names_find(&reader->names, name) : SY_NONE;
    const struct gn_contig *contig = number == SY_NONE ? NULL : &reader->genome->contigs[number];
    if (!contig || (uint64_t)record->pos + (uint64_t)record->rlen > contig->length) {
        gn_records_fail(&reader->records, error,
                        contig ? "a variant is outside of its contig"
                               : "a contig is not in the reference");
        return NULL;
    }
    return contig;
}

static int read_record(struct reader *reader, struct gn_variants *variants,
                       struct sy_error *error) {
    bcf1_t *record = reader->records.record;
    int alleles[2];
    bool phased = false;
    if (bcf_unpack(record, BCF_UN_ALL) < 0 || record->errcode) {
        return gn_records_fail(&reader->records, error, "a line cannot be read");
    }
    if (!is_counted(reader) || !read_genotype(reader, alleles, &phased)) {
        return 0;
    }
    const struct gn_contig *contig = contig_of(reader, error);
    if (!contig) {
        return -EBADMSG;
    }
    for (int i = 0; i < 2; i++) {
        if (alleles[i] < 0 || alleles[i] >= record->n_allele) {
            return gn_records_fail(&reader->records, error,
                                   "a genotype names an allele that does not exist");
        }
        if (!is_plain(record->d.allele[alleles[i]]) || !is_plain(record->d.allele[0])) {
            return 0; /* symbolic, or covered by a deletion that has its own line */
        }
    }
    if (!is_reference(reader->genome, contig->start + (uint64_t)record->pos, record->d.allele[0])) {
        return gn_records_fail(&reader->records, error,
                               "a variant's REF is not what the reference has there");
    }
    return add_variant(reader, contig, alleles, phased, variants) < 0
               ? guest_fail(error, -ENOMEM, NULL, "out of memory")
               : 0;
}

int gn_variants_read(const char *path, const struct gn_genome *genome, bool truth,
                     const struct gn_score_options *options, struct gn_variants *ret_variants,
                     struct sy_error *error) {
    struct reader reader = {.genome = genome, .options = options, .truth = truth};
    struct gn_variants variants = {0};
    int got = 0, code = gn_contig_names_sort(genome->contigs, genome->names, genome->contig_count,
                                             &reader.names);
    if (code < 0) {
        return guest_fail(error, code, NULL, "out of memory");
    }
    code = gn_records_open(path, &reader.records, error);
    while (code == 0 && (got = gn_records_next(&reader.records, error)) > 0) {
        code = read_record(&reader, &variants, error);
    }
    code = code ? code : got;
    free(reader.genotypes);
    gn_records_close(&reader.records);
    gn_contig_names_finish(&reader.names);
    if (code < 0) {
        gn_variants_finish(&variants);
        return code;
    }
    *ret_variants = variants;
    return 0;
}

void gn_variants_finish(struct gn_variants *variants) {
    for (uint32_t i = 0; i < variants->count; i++) {
        free(variants->blocks[i]);
    }
    free(variants->blocks);
    free(variants->list);
    *variants = (struct gn_variants){0};
}

/* --- sequences ----------------------------------------------------------------------------------
 */
struct window {
    uint64_t start, end;
    uint8_t *codes; /* of the reference */
    uint64_t room;  /* for a sequence */
};

/* One side of a cluster. */
struct side {
    struct gn_variant *const *variants;
    uint32_t count;
    bool truth;
    uint32_t turns; /* hets whose phase may turn: all but the first, unless phased */
};

static bool is_het(const struct gn_variant *variant) {
    return variant->lengths[0] != variant->lengths[1] ||
           memcmp(variant->alleles[0], variant->alleles[1], variant->lengths[0]) != 0;
}

static uint32_t count_turns(const struct side *side) {
    uint32_t hets = 0;
    bool phased = true;
    for (uint32_t i = 0; i < side->count; i++) {
        if (side->variants[i]->truth == side->truth && is_het(side->variants[i])) {
            hets++;
            phased &= side->variants[i]->phased;
        }
    }
    return phased || !hets ? 0 : hets - 1;
}

/* The sequence of one haplotype under one phasing. UINT64_MAX: two variants overlap. */
static uint64_t play(const struct window *window, const struct side *side, uint32_t phasing,
                     int haplotype, uint8_t *out) {
    uint64_t at = window->start, length = 0;
    uint32_t het = 0;
    for (uint32_t i = 0; i < side->count; i++) {
        const struct gn_variant *variant = side->variants[i];
        if (variant->truth != side->truth) {
            continue;
        }
        int which = haplotype;
        if (is_het(variant)) {
            which ^= side->turns && het > 0 ? (int)(phasing >> (het - 1) & 1) : 0;
            het++;
        }
        const uint8_t *reference = window->codes + (variant->position - window->start);
        if (variant->lengths[which] == variant->length &&
            memcmp(variant->alleles[which], reference, variant->length) == 0) {
            continue;
        }
        if (variant->position < at) {
            return UINT64_MAX;
        }
        memcpy(out + length, window->codes + (at - window->start), variant->position - at);
        length += variant->position - at;
        memcpy(out + length, variant->alleles[which], variant->lengths[which]);
        length += variant->lengths[which];
        at = variant->position + variant->length;
    }
    memcpy(out + length, window->codes + (at - window->start), window->end - at);
    return length + (window->end - at);
}

struct pair {
    uint8_t *sequences[2];
    uint64_t lengths[2];
};

static bool play_pair(const struct window *window, const struct side *side, uint32_t phasing,
                      struct pair *pair) {
    for (int h = 0; h < 2; h++) {
        pair->lengths[h] = play(window, side, phasing, h, pair->sequences[h]);
        if (pair->lengths[h] == UINT64_MAX) {
            return false;
        }
    }
    return true;
}

static bool same(const struct pair *a, int i, const struct pair *b, int j) {
    return a->lengths[i] == b->lengths[j] &&
           memcmp(a->sequences[i], b->sequences[j], a->lengths[i]) == 0;
}

static bool try_all(const struct window *window, const struct side *truth, const struct side *calls,
                    struct pair *a, struct pair *b) {
    for (uint32_t t = 0; t < 1u << truth->turns; t++) {
        if (!play_pair(window, truth, t, a)) {
            continue;
        }
        for (uint32_t c = 0; c < 1u << calls->turns; c++) {
            if (play_pair(window, calls, c, b) && ((same(a, 0, b, 0) && same(a, 1, b, 1)) ||
                                                   (same(a, 0, b, 1) && same(a, 1, b, 0)))) {
                return true;
            }
        }
    }
    return false;
}

static struct window window_of(struct gn_variant *const *variants, uint32_t count) {
    struct window window = {.start = UINT64_MAX};
    uint64_t more = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct gn_variant *variant = variants[i];
        uint64_t end = variant->position + variant->length;
        window.start = variant->position < window.start ? variant->position : window.start;
        window.end = end > window.end ? end : window.end;
        more += variant->lengths[0] + variant->lengths[1];
    }
    window.start = window.start > MARGIN ? window.start - MARGIN : 0;
    window.end += MARGIN;
    window.room = window.end - window.start + more + 1;
    return window;
}

int gn_variants_agree(const struct gn_genome *genome, struct gn_variant *const *variants,
                      uint32_t count, bool *ret_agree) {
    struct side truth = {variants, count, true, 0}, calls = {variants, count, false, 0};
    truth.turns = count_turns(&truth);
    calls.turns = count_turns(&calls);
    *ret_agree = false;
    if (truth.turns + calls.turns > HET_MAX) {
        return 0;
    }
    struct window window = window_of(variants, count);
    uint8_t *memory = malloc(5 * window.room);
    if (!memory) {
        return -ENOMEM;
    }
    window.codes = memory;
    gn_genome_codes(genome, window.start, window.end - window.start, window.codes);
    uint64_t room = window.room;
    struct pair a = {{memory + room, memory + 2 * room}, {0, 0}};
    struct pair b = {{memory + 3 * room, memory + 4 * room}, {0, 0}};
    *ret_agree = try_all(&window, &truth, &calls, &a, &b);
    free(memory);
    return 0;
}
