/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins: every read is in exactly the bins whose halo it touches, with its bases, qualities, cigar
 * and name; in memory and through the file. Intervals and settings, which the driver reads.
 */
#include "genomics/bed.h"
#include "genomics/bins.h"
#include "genomics/settings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Half of the serials are in the first bin of reads without a place, half in the second. */
enum { READS = 3000, LENGTH = 30, BINS = 4, FIRST_SERIAL = 32768 - READS / 2, BATCH = 100 };
#define SEED 20261115u

static uint64_t draw(uint64_t index) {
    return (uint64_t)(guest_noise(SEED, index) * 9007199254740992.0);
}

/* A batch of random reads, and where they are said to lie. */
struct made {
    struct gn_reads *reads;
    struct gn_notes notes;
    struct gn_aligned aligned;
};

static void make(struct made *made) {
    uint64_t table = gn_round(sizeof(struct gn_reads));
    uint64_t bases = table + gn_round(READS * sizeof(struct gn_read));
    made->reads = calloc(1, bases + READS * LENGTH);
    *made->reads = (struct gn_reads){.read_count = READS, .reads = table, .bases = bases};
    made->notes.qualities = malloc(READS * LENGTH);
    made->notes.names = malloc(READS * 8);
    made->notes.name_offsets = malloc(READS * sizeof(uint32_t));
    made->aligned.count = READS;
    made->aligned.records = calloc(READS, sizeof(struct gn_record));
    made->aligned.cigars = calloc(READS * 2, sizeof(uint32_t));
    struct gn_read *reads = gn_in(made->reads, table);
    uint8_t *codes = gn_in(made->reads, bases);
    for (uint32_t i = 0; i < READS; i++) {
        uint64_t r = draw(i);
        struct gn_record *record = &made->aligned.records[i];
        bool unmapped = r % 50 == 0;
        uint32_t clip = (uint32_t)(r >> 8) % 12;
        reads[i] = (struct gn_read){i * LENGTH, LENGTH, 0};
        snprintf(made->notes.names + (size_t)i * 8, 8, "r%u", i);
        made->notes.name_offsets[i] = i * 8;
        for (uint32_t b = 0; b < LENGTH; b++) {
            uint64_t d = draw((uint64_t)i * LENGTH + b + READS);
            codes[i * LENGTH + b] = (uint8_t)(d % 5);
            made->notes.qualities[i * LENGTH + b] = (uint8_t)((d >> 8) % 45);
        }
        *record = (struct gn_record){
            .position =
                unmapped ? SY_NONE : (uint32_t)(r >> 16) % (GN_GAP + BINS * GN_BIN_BASES - LENGTH),
            .span = LENGTH - clip,
            .serial = FIRST_SERIAL + i,
            .flags = (uint16_t)((unmapped ? GN_FLAG_UNMAPPED : 0) | (r & 1 ? GN_FLAG_REVERSE : 0)),
            .length = LENGTH,
            .cigar = 2 * i,
            .cigar_count = unmapped ? 0
                           : clip   ? 2
                                    : 1};
        made->aligned.cigars[2 * i] = clip ? clip << 4 | GN_CLIP : LENGTH << 4;
        made->aligned.cigars[2 * i + 1] = (LENGTH - clip) << 4;
    }
}

static void drop(struct made *made) {
    free(made->reads);
    free(made->notes.qualities);
    free(made->notes.names);
    free(made->notes.name_offsets);
    free(made->aligned.records);
    free(made->aligned.cigars);
}

static bool belongs(const struct made *made, uint32_t read, uint32_t bin) {
    const struct gn_record *record = &made->aligned.records[read];
    if (record->flags & GN_FLAG_UNMAPPED) {
        return bin == BINS + (read >= READS / 2);
    }
    const uint32_t *cigar = &made->aligned.cigars[record->cigar];
    int64_t clip = (cigar[0] & 15) == GN_CLIP ? cigar[0] >> 4 : 0;
    int64_t low = (int64_t)gn_bin_start(bin) - GN_HALO, high = low + GN_BIN_BASES + 2 * GN_HALO;
    return bin < BINS && (int64_t)record->position - clip < high &&
           (int64_t)record->position + record->span > low;
}

static void check_record(const struct made *made, const struct gn_bin *bin,
                         const struct gn_record *record) {
    uint32_t read = (uint32_t)record->serial - FIRST_SERIAL;
    const struct gn_record *from = &made->aligned.records[read];
    const uint8_t *codes = (const uint8_t *)gn_at(made->reads, made->reads->bases) + read * LENGTH;
    const uint8_t *bases = (const uint8_t *)gn_at(bin, bin->bases) + record->bases;
    const uint8_t *qualities = (const uint8_t *)gn_at(bin, bin->qualities) + record->bases;
    char name[8];
    snprintf(name, sizeof name, "r%u", read);
    assert_int_equal(record->position, from->position);
    assert_string_equal((const char *)gn_at(bin, bin->names) + record->name, name);
    assert_memory_equal((const uint32_t *)gn_at(bin, bin->cigars) + record->cigar,
                        &made->aligned.cigars[from->cigar], from->cigar_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < LENGTH; i++) {
        bool reverse = record->flags & GN_FLAG_REVERSE;
        uint32_t at = reverse ? LENGTH - 1u - i : i;
        uint8_t code = codes[at];
        assert_int_equal(bases[i], code > 3 ? 4 : reverse ? 3 - code : code);
        assert_int_equal(qualities[i], code > 3 ? 0 : made->notes.qualities[read * LENGTH + at]);
    }
}

static void add_batch(struct gn_bins *bins, const struct made *made, uint32_t first) {
    uint64_t table = gn_round(sizeof(struct gn_reads));
    uint64_t bases = table + gn_round(BATCH * sizeof(struct gn_read));
    struct gn_reads *reads = calloc(1, bases + BATCH * LENGTH);
    *reads = (struct gn_reads){.read_count = BATCH, .reads = table, .bases = bases};
    for (uint32_t i = 0; i < BATCH; i++) {
        ((struct gn_read *)gn_in(reads, table))[i] = (struct gn_read){i * LENGTH, LENGTH, 0};
    }
    const uint8_t *codes = (const uint8_t *)gn_at(made->reads, made->reads->bases);
    memcpy(gn_in(reads, bases), codes + first * LENGTH, BATCH * LENGTH);
    struct gn_notes notes = made->notes;
    notes.qualities += first * LENGTH;
    notes.name_offsets += first;
    struct gn_aligned aligned = made->aligned;
    aligned.count = BATCH;
    aligned.records += first;
    assert_int_equal(gn_bins_add(bins, reads, &notes, &aligned), 0);
    free(reads);
}

static void check_bins(uint64_t memory_bytes) {
    struct made made = {0};
    struct gn_bins *bins;
    make(&made);
    struct gn_bins_options options = {.length = GN_GAP + BINS * GN_BIN_BASES,
                                      .memory_bytes = memory_bytes,
                                      .folder = "/tmp",
                                      .names = true,
                                      .unmapped = true};
    assert_int_equal(gn_bins_create(&options, &bins), 0);
    for (uint32_t first = 0; first < READS; first += BATCH) {
        add_batch(bins, &made, first);
    }
    assert_int_equal(gn_bins_count(bins), BINS + 2);
    assert_int_equal(gn_bins_spilled(bins) > 0, memory_bytes > 0);
    for (uint32_t b = 0; b < BINS + 2; b++) {
        uint64_t bytes = gn_bins_bytes(bins, b);
        struct gn_bin *bin = aligned_alloc(GN_ALIGN, bytes);
        assert_int_equal(gn_bins_gather(bins, b, bin), 0);
        assert_int_equal(bin->bytes, bytes);
        bool seen[READS] = {false};
        for (uint32_t i = 0; i < bin->record_count; i++) {
            const struct gn_record *record = (const struct gn_record *)gn_at(bin, bin->records) + i;
            assert_false(seen[record->serial - FIRST_SERIAL]);
            seen[record->serial - FIRST_SERIAL] = true;
            check_record(&made, bin, record);
        }
        for (uint32_t r = 0; r < READS; r++) {
            if (belongs(&made, r, b)) { /* one more base than needed does no harm */
                assert_true(seen[r]);
            }
        }
        free(bin);
    }
    gn_bins_destroy(bins);
    drop(&made);
}

static void test_memory(void **state) {
    (void)state;
    check_bins(0);
}

static void test_file(void **state) {
    (void)state;
    check_bins(1);
    check_bins(100000);
}

/* --- intervals ----------------------------------------------------------------------------------
 */
static struct gn_index *make_index(void) {
    static const char names[] = "one\0two";
    uint64_t contigs = gn_round(sizeof(struct gn_index)),
             text = contigs + gn_round(2 * sizeof(struct gn_contig));
    struct gn_index *index = calloc(1, text + sizeof names);
    *index = (struct gn_index){.contig_count = 2,
                               .contigs = contigs,
                               .names = text,
                               .names_bytes = sizeof names,
                               .length = 5000};
    struct gn_contig *list = gn_in(index, contigs);
    list[0] = (struct gn_contig){1024, 500, 0};
    list[1] = (struct gn_contig){2548, 300, 4};
    memcpy(gn_in(index, text), names, sizeof names);
    return index;
}

static char bed_path[] = "/tmp/symph-bed-XXXXXX";

static int read_bed(const char *text, size_t length, const struct gn_index *index,
                    struct gn_bed *ret_bed, struct sy_error *error) {
    FILE *file = fopen(bed_path, "w");
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return gn_bed_read(bed_path, index, ret_bed, error);
}

static void test_bed(void **state) {
    (void)state;
    struct gn_index *index = make_index();
    struct gn_bed bed;
    struct sy_error error = {0};
    close(mkstemp(bed_path));
    const char *text = "# note\ntwo\t10\t20\tx\r\none 0 5\n\none\t5\t9\ntrack a\none\t100\t101";
    assert_int_equal(read_bed(text, strlen(text), index, &bed, &error), 0);
    assert_int_equal(bed.count, 3);
    assert_true(gn_bed_touches(&bed, 1032, 1033));
    assert_false(gn_bed_touches(&bed, 1033, 1124));
    assert_true(gn_bed_touches(&bed, 1033, 1125));
    assert_true(gn_bed_touches(&bed, 2558, 2559));
    assert_false(gn_bed_touches(&bed, 2568, 5000));
    gn_bed_finish(&bed);
    const char *const broken[] = {"three\t0\t1\n", "one\t0\n", "one\t5\t4\n", "one\t0\t501\n",
                                  "one\ta\tb\n"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        assert_true(read_bed(broken[i], strlen(broken[i]), index, &bed, &error) < 0);
        assert_string_equal(error.file, bed_path);
        assert_int_equal(error.line, 1);
    }
    /* Bytes that once ended the file early, and lines that once took all memory. */
    assert_true(read_bed("one\t1\t2\n\xff\none\t3\t4\n", 18, index, &bed, &error) < 0);
    assert_int_equal(error.line, 2);
    assert_true(gn_bed_read("/dev/zero", index, &bed, &error) < 0);
    assert_non_null(strstr(error.message, "a line of more than"));
    unlink(bed_path);
    free(index);
}

/* --- settings -----------------------------------------------------------------------------------
 */
static void test_settings(void **state) {
    (void)state;
    struct gn_settings settings;
    struct sy_error error = {0};
    assert_int_equal(
        gn_settings_parse("ref=a%2Cb.fa,reads1=c=d.fq,out=100%.vcf,batch=77", &settings, &error),
        0);
    assert_string_equal(settings.ref, "a,b.fa");
    assert_string_equal(settings.list[0].reads1, "c=d.fq");
    assert_string_equal(settings.list[0].out, "100%.vcf");
    assert_null(settings.list[0].reads2);
    assert_int_equal(settings.batch, 77);
    gn_settings_finish(&settings);
    /* Names that VCF can hold. */
    const char *const names[] = {"a b", "M%C3%BCller", "chr,=<>%22x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[100];
        snprintf(text, sizeof text, "ref=a,reads1=b,out=c,sample=%s", names[i]);
        if (i == 2) { /* a comma is encoded */
            snprintf(text, sizeof text, "ref=a,reads1=b,out=c,sample=chr%%2C=<>%%22x");
        }
        assert_int_equal(gn_settings_parse(text, &settings, &error), 0);
        gn_settings_finish(&settings);
    }
    const char *const broken[] = {"",
                                  "ref=a",
                                  "ref=a,reads1=b",
                                  "ref=a,reads1=b,out=c,batch=0",
                                  "ref=a,reads1=b,out=c,color=red",
                                  "ref=a,samples=/nowhere/x.tsv",
                                  "ref=a,samples=/dev/zero",
                                  "ref=a,reads1=b,out=c,phred=40",
                                  "ref=a,reads1=b,out=c,interleaved=2",
                                  "ref=a,reads1=b,out=-",
                                  "ref=a,reads1=b,out=c.bam",
                                  "ref=a,reads1=b,out=c,bam=d.sam",
                                  "ref=a,reads1=b,out=c,sample=",
                                  "ref=a,reads1=b,out=c,sample=x%09y",
                                  "ref=a,reads1=b,out=c,sample=x%0A%23y",
                                  "ref=a,reads1=b,out=c,sample=x%1B[31m",
                                  "ref=a,reads1=b,out=c,sample=x%C2%9B",
                                  "ref=a,reads1=b,out=c,sample=x%FF",
                                  "ref=a,reads1=b,out=c,bam=d.bam,sample=M%C3%BCller",
                                  "ref"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        error.message[0] = '\0';
        assert_true(gn_settings_parse(broken[i], &settings, &error) < 0);
        assert_true(error.message[0] != '\0');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_bed),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
