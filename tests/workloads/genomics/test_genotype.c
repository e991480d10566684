/* SPDX-License-Identifier: Apache-2.0
 *
 * genotype: what was put into a donor comes back as lines of VCF, all stages together.
 */
#include "call_cases.h"
#include <setjmp.h>
#include <stdarg.h>

/* after what it needs */
#include <cmocka.h>

static struct gn_call_options options;

/* "POS REF ALT GT;" of all lines that pass (or, filter given, that it filters). */
static void summary(const struct gn_lines *lines, const char *filter, char *ret_text, size_t size) {
    const char *at = lines->text;
    size_t used = 0;
    ret_text[0] = '\0';
    for (uint32_t i = 0; i < lines->count; i++) {
        char line[8192], *field[10], *rest = line;
        assert_true(lines->lengths[i] < sizeof(line));
        memcpy(line, at, lines->lengths[i]);
        line[lines->lengths[i]] = '\0';
        at += lines->lengths[i];
        assert_true(i == 0 || lines->positions[i] > lines->positions[i - 1]);
        for (uint32_t f = 0; f < 10; f++) {
            field[f] = strsep(&rest, "\t");
            assert_non_null(field[f]);
        }
        assert_null(rest);
        assert_int_equal(atoi(field[1]) - 1 + GN_GAP, lines->positions[i]);
        if (strcmp(field[6], filter ? filter : "PASS") == 0) {
            int n = snprintf(ret_text + used, size - used, "%s %s %s %.3s;", field[1], field[3],
                             field[4], field[9]);
            assert_true(n > 0 && used + (size_t)n < size);
            used += (size_t)n;
        }
    }
}

/* The donor's reference and more of the kind: so much must be covered before depth counts. */
static struct gn_index *long_index(const struct call_donor *donor) {
    static uint8_t codes[5 * CALL_LENGTH];
    for (uint32_t i = 0; i < 5; i++) {
        memcpy(codes + i * CALL_LENGTH, donor->reference, CALL_LENGTH);
    }
    return made_index(codes, sizeof(codes));
}

static void call_donor(const struct call_donor *donor, const struct call_reads *reads,
                       const char *filter, char *ret_text, size_t size) {
    struct gn_index *index = long_index(donor);
    struct gn_bin *bin = call_bin(reads, 0, CALL_LENGTH, 0);
    struct gn_lines lines;
    assert_int_equal(call_lines(index, bin, &options, &lines), 0);
    summary(&lines, filter, ret_text, size);
    gn_lines_free(&lines);
    free(bin);
    free(index);
}

struct example {
    const char *name;
    const char *reference; /* at offset 3000 */
    struct call_variant variants[3];
    const char *lines;
};

/* Offset 3000 is position 3001. */
static const struct example examples[] = {
    {"nothing", "ACGT", {{0}}, ""},
    {"SNP of one haplotype", "GACTG", {{3002, "C", "T", 1, 0}}, "3003 C T 0/1;"},
    {"SNP of both", "GACTG", {{3002, "C", "T", 1, 1}}, "3003 C T 1/1;"},
    {"two alleles", "GACTG", {{3002, "C", "T", 1, 0}, {3002, "C", "G", 0, 1}}, "3003 C G,T 1/2;"},
    {"insertion", "GACTG", {{3003, "", "GGA", 1, 0}}, "3003 C CGGA 0/1;"},
    {"deletion", "GACTTAGCG", {{3003, "TTAG", "", 1, 1}}, "3003 CTTAG C 1/1;"},
    {"moves left", "GCAAAAAAGT", {{3007, "A", "", 1, 0}}, "3002 CA C 0/1;"},
    {"a repeat of units", "GTCACACACACACAGT", {{3010, "CA", "", 0, 1}}, "3002 TCA T 0/1;"},
    {"two lengths of a repeat",
     "GTCACACACACACAGT",
     {{3002, "CA", "", 1, 0}, {3002, "", "CA", 0, 1}},
     "3002 TCA TCACA,T 1/2;"},
    {"SNPs in phase",
     "GACTGGATC",
     {{3002, "C", "T", 1, 0}, {3006, "A", "C", 1, 0}},
     "3003 C T 0/1;3007 A C 0/1;"},
    {"SNPs out of phase",
     "GACTGGATC",
     {{3002, "C", "T", 1, 0}, {3006, "A", "C", 0, 1}},
     "3003 C T 0/1;3007 A C 0/1;"},
    {"SNPs beside each other",
     "GACTGGATC",
     {{3002, "C", "T", 1, 1}, {3003, "T", "A", 1, 0}},
     "3003 C T 1/1;3004 T A 0/1;"},
    {"SNP in what is deleted",
     "GACTTAGCG",
     {{3003, "TTAG", "", 1, 0}, {3005, "A", "C", 0, 1}},
     "3003 CTTAG C 0/1;3006 A C 0/1;"},
};

static void hand_made(void **state) {
    (void)state;
    for (uint32_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        struct call_donor *donor = call_donor_make(100 + i);
        char text[4096];
        call_put(donor, 3000, examples[i].reference);
        while (donor->variant_count < 3 && examples[i].variants[donor->variant_count].from) {
            donor->variants[donor->variant_count] = examples[i].variants[donor->variant_count];
            donor->variant_count++;
        }
        call_grow(donor);
        struct call_reads *reads = call_reads_make(donor, 40, i);
        call_donor(donor, reads, NULL, text, sizeof(text));
        if (strcmp(text, examples[i].lines) != 0) {
            fail_msg("%s: '%s' instead of '%s'", examples[i].name, text, examples[i].lines);
        }
        free(reads);
        free(donor);
    }
}

static void add_text(char *text, size_t size, const char *format, uint32_t position,
                     const char *from, const char *to, const char *genotype) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, format, position, from, to, genotype);
}

/* Random SNPs and indels, far enough from each other, come back as they were put in. */
static void random_donors(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct call_donor *donor = call_donor_make(seed);
        struct made_random random = {.seed = seed + 500};
        char letters[CALL_VARIANT_MAX][2][24], wanted[8192] = "", text[8192];
        memset(letters, 0, sizeof(letters));
        for (uint32_t at = 300; at + 400 < CALL_LENGTH; at += 90 + made_below(&random, 200)) {
            uint32_t which = donor->variant_count++, kind = made_below(&random, 4);
            uint32_t zygosity = made_below(&random, 3), size = 1 + made_below(&random, 20);
            const uint8_t *here = donor->reference + at;
            char *from = letters[which][0], *to = letters[which][1], anchor = "ACGT"[here[-1]];
            struct call_variant *variant = &donor->variants[which];
            *variant = (struct call_variant){at, from, to, zygosity != 1, zygosity != 0};
            for (uint32_t i = 0; i < size; i++) {
                from[i] = "ACGT"[here[i]];
                to[i] = "ACGT"[made_below(&random, 4)];
            }
            const char *genotype = zygosity == 2 ? "1/1" : "0/1";
            char shown[2][32] = {{anchor}, {anchor}};
            if (kind < 2) { /* SNP */
                to[0] = "ACGT"[(here[0] + 1 + made_below(&random, 3)) % 4];
                from[1] = to[1] = '\0';
                add_text(wanted, sizeof(wanted), "%u %s %s %s;", at + 1, from, to, genotype);
            } else if (kind == 2) { /* insertion; one that cannot move left */
                to[size - 1] = "ACGT"[(here[-1] + 1) % 4];
                from[0] = '\0';
                memcpy(shown[1] + 1, to, size);
                add_text(wanted, sizeof(wanted), "%u %s %s %s;", at, shown[0], shown[1], genotype);
            } else { /* deletion; its last base differs from the one before */
                donor->reference[at + size - 1] = (uint8_t)((here[-1] + 1) % 4);
                from[size - 1] = "ACGT"[here[size - 1]];
                to[0] = '\0';
                memcpy(shown[0] + 1, from, size);
                add_text(wanted, sizeof(wanted), "%u %s %s %s;", at, shown[0], shown[1], genotype);
            }
        }
        call_grow(donor);
        struct call_reads *reads = call_reads_make(donor, 60, seed);
        call_donor(donor, reads, NULL, text, sizeof(text));
        if (strcmp(text, wanted) != 0) {
            fail_msg("seed %u: '%s' instead of '%s'", (uint32_t)seed, text, wanted);
        }
        free(reads);
        free(donor);
    }
}

/* Bins that share a border, wherever it lies, call what one bin calls, each line once. */
static void bins_share_borders(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(900);
    call_put(donor, 3000, "GTCACACACACACACACACACAGTGACTGGATC");
    donor->variants[0] = (struct call_variant){3012, "CA", "", 1, 0};
    donor->variants[1] = (struct call_variant){3027, "T", "A", 0, 1};
    donor->variant_count = 2;
    call_grow(donor);
    struct call_reads *reads = call_reads_make(donor, 40, 900);
    struct gn_index *index = made_index(donor->reference, CALL_LENGTH);
    char whole[512], parts[1024];
    call_donor(donor, reads, NULL, whole, sizeof(whole));
    assert_string_equal(whole, "3002 TCA T 0/1;3028 T A 0/1;");
    struct gn_bin *first = call_bin(reads, 0, CALL_LENGTH, 0);
    struct gn_lines all;
    first->start = 0; /* the line's first bin begins with N */
    assert_int_equal(call_lines(index, first, &options, &all), 0);
    summary(&all, NULL, parts, sizeof(parts));
    assert_string_equal(parts, whole);
    gn_lines_free(&all);
    free(first);
    for (uint32_t border = 2990; border < 3040; border++) {
        parts[0] = '\0';
        for (uint32_t half = 0; half < 2; half++) {
            struct gn_bin *bin =
                half ? call_bin(reads, border, CALL_LENGTH, 0) : call_bin(reads, 0, border, 0);
            struct gn_lines lines;
            assert_int_equal(call_lines(index, bin, &options, &lines), 0);
            summary(&lines, NULL, parts + strlen(parts), sizeof(parts) - strlen(parts));
            gn_lines_free(&lines);
            free(bin);
        }
        assert_string_equal(parts, whole);
    }
    free(index);
    free(reads);
    free(donor);
}

/* A base that forward reads get wrong; and a copy that the reference lacks. */
static void filters(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(901);
    char text[1024];
    call_grow(donor);
    struct call_reads *reads = call_reads_make(donor, 40, 901);
    for (uint32_t i = 0; i < reads->count; i++) {
        const struct gn_record *record = &reads->records[i];
        uint32_t at = GN_GAP + 3000 - record->position;
        if (record->position <= GN_GAP + 3000 && at < CALL_READ && !(record->flags & 16) &&
            record->serial % 5 < 2) {
            reads->bases[i][at] = (uint8_t)((donor->reference[3000] + 1) % 4);
        }
    }
    call_donor(donor, reads, NULL, text, sizeof(text));
    assert_string_equal(text, "");
    call_donor(donor, reads, "Strand", text, sizeof(text));
    assert_memory_equal(text, "3001 ", 5);
    /* The second haplotype on top of all reads of the first: twice the depth. */
    struct call_donor *copy = call_donor_make(901);
    copy->variants[0] = (struct call_variant){3000, "", "", 1, 1};
    call_grow(copy);
    for (uint32_t i = 2500; i < 3500; i += 100) {
        copy->bases[0][i] = copy->bases[1][i] = (uint8_t)((copy->reference[i] + 1) % 4);
    }
    struct made_random random = {.seed = 902};
    free(reads);
    reads = call_reads_make(donor, 30, 902);
    for (uint32_t i = 0; i < 500; i++) {
        call_read(copy, reads, 0, 2000 + made_below(&random, 1900), i % 2 != 0, 100000 + 2 * i,
                  &random);
    }
    struct gn_coverage *coverage = gn_coverage_create(5 * CALL_LENGTH + 2 * GN_GAP);
    for (uint32_t i = 0; i < 30; i++) {
        gn_coverage_add(coverage, GN_GAP, 5 * CALL_LENGTH);
    }
    assert_int_equal(gn_coverage_complete(coverage), 0);
    call_donor(donor, reads, "Depth", text, sizeof(text));
    assert_string_equal(text, ""); /* where nothing is known, nothing is too deep */
    options.coverage = coverage;
    call_donor(donor, reads, NULL, text, sizeof(text));
    assert_string_equal(text, "");
    call_donor(donor, reads, "Depth", text, sizeof(text));
    assert_non_null(strstr(text, "3001 "));
    options.coverage = NULL;
    gn_coverage_destroy(coverage);
    free(reads);
    free(copy);
    free(donor);
}

int main(void) {
    gn_call_options_default(&options);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_made),
        cmocka_unit_test(random_donors),
        cmocka_unit_test(bins_share_borders),
        cmocka_unit_test(filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
