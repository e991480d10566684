/* SPDX-License-Identifier: Apache-2.0
 *
 * VCF and BAM files: what is in them, that other programs accept them, and that nothing is left
 * behind when something goes wrong.
 */
#include "call_cases.h"
#include "genomics/call/bam.h"
#include "genomics/call/vcf.h"
#include <dirent.h>
#include <errno.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>
#include <htslib/vcf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* after what it needs */
#include <cmocka.h>

static char folder[64];
static struct gn_index *reference;
static struct gn_bin *bin;
static struct gn_order *order;
static struct gn_lines lines;

static char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static uint32_t file_count(void) {
    DIR *open = opendir(folder);
    uint32_t count = 0;
    for (struct dirent *entry; open && (entry = readdir(open));) {
        count += entry->d_name[0] != '.';
    }
    closedir(open);
    return count;
}

static int setup(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(31);
    struct gn_call_options options;
    snprintf(folder, sizeof(folder), "/tmp/symph-test-vcf-XXXXXX");
    assert_non_null(mkdtemp(folder));
    call_put(donor, 3000, "GTCACACACACACAGTGACTTAGCG");
    donor->variants[0] = (struct call_variant){2000, "", "ACG", 1, 1};
    donor->variants[1] = (struct call_variant){3002, "CA", "", 1, 0};
    donor->variants[2] = (struct call_variant){3002, "", "CA", 0, 1};
    donor->variants[3] = (struct call_variant){3019, "TTAG", "", 1, 0};
    donor->variant_count = 4;
    call_grow(donor);
    struct call_reads *reads = call_reads_make(donor, 40, 31);
    reference = made_index(donor->reference, CALL_LENGTH);
    bin = call_bin(reads, 0, CALL_LENGTH, 9);
    order = call_sort(bin);
    gn_call_options_default(&options);
    assert_int_equal(call_lines(reference, bin, &options, &lines), 0);
    assert_int_equal(lines.count, 3);
    FILE *fasta = fopen(path_of("made.fa"), "w");
    fprintf(fasta, ">made\n");
    for (uint32_t i = 0; i < CALL_LENGTH; i++) {
        fputc("ACGT"[donor->reference[i]], fasta);
    }
    fputc('\n', fasta);
    fclose(fasta);
    free(reads);
    free(donor);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(path_of("made.fa"));
    unlink(path_of("made.fa.fai"));
    assert_int_equal(file_count(), 0);
    assert_int_equal(rmdir(folder), 0);
    gn_lines_free(&lines);
    free(order);
    free(bin);
    free(reference);
    return 0;
}

static void write_vcf(const char *name) {
    struct gn_vcf *vcf = NULL;
    struct sy_error error = {0};
    uint64_t counts[GN_FILTER_COUNT];
    assert_int_equal(gn_vcf_open(path_of(name), reference, "donor", "symph test", &vcf, &error), 0);
    assert_int_not_equal(access(path_of(name), F_OK), 0); /* not before it is complete */
    assert_int_equal(gn_vcf_write(vcf, &lines, &error), 0);
    assert_int_equal(gn_vcf_write(vcf, &lines, &error), 0); /* the same again: too late */
    gn_vcf_count(vcf, counts);
    assert_int_equal(counts[GN_PASS], 3);
    assert_int_equal(counts[GN_LOW_QUALITY] + counts[GN_DEPTH] + counts[GN_STRAND], 0);
    assert_int_equal(gn_vcf_close(vcf, &error), 0);
    assert_int_equal(access(path_of(name), F_OK), 0);
}

static void plain(void **state) {
    (void)state;
    char text[16384];
    write_vcf("a.vcf");
    FILE *file = fopen(path_of("a.vcf"), "r");
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);
    text[bytes] = '\0';
    fclose(file);
    assert_memory_equal(text, "##fileformat=VCFv4.3\n", 21);
    assert_non_null(strstr(text, "##contig=<ID=made,length=6000>\n"));
    assert_non_null(strstr(text, "##symphCommand=symph test\n"));
    assert_non_null(strstr(text, "\tFORMAT\tdonor\n"));
    const char *body = strstr(text, "\nmade\t");
    assert_non_null(body);
    assert_int_equal(strlen(body + 1), lines.bytes);
    assert_memory_equal(body + 1, lines.text, lines.bytes);
    unlink(path_of("a.vcf"));
}

/* bcftools reads it, and agrees that indels are left-aligned and the reference is right. */
static void accepted(void **state) {
    (void)state;
    char command[512];
    if (system("command -v bcftools > /dev/null 2>&1") != 0) {
        printf("skipped: bcftools is not installed\n");
        skip();
    }
    write_vcf("a.vcf.gz");
    assert_int_equal(access(path_of("a.vcf.gz.tbi"), F_OK), 0);
    snprintf(command, sizeof(command),
             "cd %s && test $(bcftools view -H a.vcf.gz made:2500-6000 | wc -l) = 2 && "
             "bcftools norm -f made.fa -c e a.vcf.gz 2> log | grep -v '^##bcftools' > b.vcf && "
             "grep -q '3/0/0/0' log && bcftools view a.vcf.gz | grep -v '^##bcftools' | "
             "cmp - b.vcf",
             folder);
    int rc = system(command);
    for (uint32_t i = 0; i < 4; i++) {
        static const char *const names[] = {"a.vcf.gz", "a.vcf.gz.tbi", "b.vcf", "log"};
        unlink(path_of(names[i]));
    }
    assert_int_equal(rc, 0);
}

static void abandoned(void **state) {
    (void)state;
    struct gn_vcf *vcf = NULL;
    struct gn_bam *bam = NULL;
    struct sy_error error = {0};
    uint32_t before = file_count();
    assert_int_equal(gn_vcf_open(path_of("a.vcf.gz"), reference, "d", NULL, &vcf, &error), 0);
    assert_int_equal(gn_vcf_write(vcf, &lines, &error), 0);
    gn_vcf_abandon(vcf);
    assert_int_equal(gn_bam_open(path_of("a.bam"), NULL, reference, "d", NULL, &bam, &error), 0);
    assert_int_equal(gn_bam_write(bam, bin, order, &error), 0);
    gn_bam_abandon(bam);
    assert_int_equal(file_count(), before);
    gn_vcf_abandon(NULL);
    gn_bam_abandon(NULL);
}

static void no_such_folder(void **state) {
    (void)state;
    struct gn_vcf *vcf = NULL;
    struct gn_bam *bam = NULL;
    struct sy_error error = {0};
    assert_int_equal(gn_vcf_open(path_of("none/a.vcf"), reference, "d", NULL, &vcf, &error),
                     -ENOENT);
    assert_non_null(strstr(error.message, "none/a.vcf"));
    assert_true(error.hint[0] != '\0');
    assert_int_equal(gn_bam_open(path_of("none/a.bam"), NULL, reference, "d", NULL, &bam, &error),
                     -ENOENT);
    assert_null(vcf);
    assert_null(bam);
}

static void write_bam(const char *path, const char *fasta) {
    struct gn_bam *bam = NULL;
    struct sy_error error = {0};
    assert_int_equal(
        gn_bam_open(path, fasta, reference, "donor", "symph test\n@CO\tx", &bam, &error), 0);
    assert_int_equal(gn_bam_write(bam, bin, order, &error), 0);
    assert_int_equal(gn_bam_close(bam, &error), 0);
}

/* All reads, as they were written. fasta: what CRAM is read with; NULL for BAM. */
static void check_reads(const char *path, const char *fasta) {
    samFile *file = sam_open(path, "r");
    assert_int_equal(file->format.format, fasta ? cram : bam);
    assert_true(!fasta || hts_set_opt(file, CRAM_OPT_REFERENCE, fasta) == 0);
    sam_hdr_t *head = sam_hdr_read(file);
    hts_idx_t *index = sam_index_load(file, path);
    bam1_t *record = bam_init1();
    const struct gn_record *records = gn_at(bin, bin->records);
    const uint32_t *sorted = gn_at(order, order->order);
    const uint8_t *bases = gn_at(bin, bin->bases);
    uint32_t count = 0;
    assert_non_null(index);
    while (sam_read1(file, head, record) >= 0) {
        const struct gn_record *wanted = &records[sorted[count++]];
        assert_int_equal(record->core.pos, wanted->position - GN_GAP);
        assert_int_equal(bam_endpos(record) - record->core.pos, wanted->span);
        assert_int_equal(record->core.flag, wanted->flags);
        assert_int_equal(record->core.l_qseq, wanted->length);
        for (uint32_t i = 0; i < wanted->length; i++) {
            int code = seq_nt16_int[bam_seqi(bam_get_seq(record), i)];
            assert_int_equal(code, bases[wanted->bases + i]);
        }
    }
    assert_int_equal(count, bin->record_count);
    bam_destroy1(record);
    hts_idx_destroy(index);
    assert_non_null(strstr(sam_hdr_str(head), "CL:symph test%0A@CO%09x\n"));
    sam_hdr_destroy(head);
    sam_close(file);
}

static void bam_comes_back(void **state) {
    (void)state;
    write_bam(path_of("a.bam"), NULL);
    check_reads(path_of("a.bam"), NULL);
    unlink(path_of("a.bam"));
    unlink(path_of("a.bam.bai"));
}

static void cram_comes_back(void **state) {
    (void)state;
    char fasta[256], path[256];
    snprintf(fasta, sizeof(fasta), "%s", path_of("made.fa"));
    snprintf(path, sizeof(path), "%s", path_of("a.cram"));
    FILE *stale = fopen(path_of("made.fa.fai"), "w");
    fprintf(stale, "made\t6000\t7\t60\t61\n");
    fclose(stale);
    write_bam(path, fasta);
    check_reads(path, fasta);
    unlink(path);
    unlink(path_of("a.cram.crai"));
    unlink(path_of("made.fa.fai"));
}

/* References that htslib cannot use: compressed, or with lines of different lengths. */
static void cram_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"\x1f\x8b\x08", ">made\nACGT\nACGTACGT\nACG\n"};
    char fasta[256];
    uint32_t before = file_count();
    snprintf(fasta, sizeof(fasta), "%s", path_of("odd.fa"));
    hts_set_log_level(HTS_LOG_OFF);
    for (uint32_t i = 0; i < 2; i++) {
        struct gn_bam *bam = NULL;
        struct sy_error error = {0};
        FILE *file = fopen(fasta, "w");
        fputs(texts[i], file);
        fclose(file);
        assert_int_equal(gn_bam_open(path_of("a.cram"), fasta, reference, "d", NULL, &bam, &error),
                         -EBADMSG);
        assert_non_null(strstr(error.message, "for CRAM"));
    }
    unlink(fasta);
    assert_int_equal(file_count(), before);
}

/* The same lines as VCF has, and an index. */
static void bcf_comes_back(void **state) {
    (void)state;
    kstring_t text = KS_INITIALIZE, all = KS_INITIALIZE;
    write_vcf("a.bcf");
    htsFile *file = hts_open(path_of("a.bcf"), "r");
    assert_int_equal(file->format.format, bcf);
    bcf_hdr_t *head = bcf_hdr_read(file);
    hts_idx_t *index = bcf_index_load(path_of("a.bcf"));
    bcf1_t *record = bcf_init();
    assert_non_null(index);
    while (bcf_read(file, head, record) == 0) {
        text.l = 0;
        assert_int_equal(vcf_format(head, record, &text), 0);
        kputsn(text.s, text.l, &all);
    }
    assert_int_equal(all.l, lines.bytes);
    assert_memory_equal(all.s, lines.text, lines.bytes);
    bcf_destroy(record);
    hts_idx_destroy(index);
    bcf_hdr_destroy(head);
    hts_close(file);
    ks_free(&text);
    ks_free(&all);
    unlink(path_of("a.bcf"));
    unlink(path_of("a.bcf.csi"));
}

/* What a command line may hold, and a line of a header may not. */
static void commands(void **state) {
    (void)state;
    struct gn_vcf *vcf = NULL;
    struct sy_error error = {0};
    char text[4096];
    assert_int_equal(gn_vcf_open(path_of("a.vcf"), reference, "d",
                                 "symph \tx\n#CHROM\x7f\xc3\xbc\xff\xc2\x9b", &vcf, &error),
                     0);
    assert_int_equal(gn_vcf_close(vcf, &error), 0);
    FILE *file = fopen(path_of("a.vcf"), "r");
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);
    text[bytes] = '\0';
    fclose(file);
    assert_non_null(
        strstr(text, "\n##symphCommand=symph %09x%0A#CHROM%7F\xc3\xbc%FF%C2%9B\n##contig="));
    unlink(path_of("a.vcf"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),           cmocka_unit_test(accepted),
        cmocka_unit_test(abandoned),       cmocka_unit_test(no_such_folder),
        cmocka_unit_test(bam_comes_back),  cmocka_unit_test(cram_comes_back),
        cmocka_unit_test(cram_is_refused), cmocka_unit_test(bcf_comes_back),
        cmocka_unit_test(commands),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
