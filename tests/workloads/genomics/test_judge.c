/* SPDX-License-Identifier: Apache-2.0
 *
 * The judge: samples are the same for the same seed and hold what their truth says; the scorer
 * takes variants for the same if they make the same sequences, and says what is wrong with bad
 * files.
 */
#include "genomics/judge/files.h"
#include "genomics/judge/score.h"
#include <dirent.h>
#include <errno.h>
#include <htslib/vcf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { LENGTH = 30000, GENOME = 2000, TEXT_MAX = 1 << 20 };

static char folder[64];

static const char *path_of(const char *name) {
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/symph-test-judge-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Files whose names begin so. */
static uint32_t count_files(const char *prefix) {
    DIR *list = opendir(folder);
    uint32_t count = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    closedir(list);
    return count;
}

/* --- samples ------------------------------------------------------------------------------------
 */
static struct gn_donor *make_donor(const uint8_t *reference, uint64_t seed) {
    struct gn_donor_options options;
    struct gn_donor *donor = NULL;
    gn_donor_options_default(&options);
    options.seed = seed;
    options.snp_rate = 5e-3; /* enough of everything in a short stretch */
    options.indel_rate = 2e-3;
    options.systematic_rate = 1e-3;
    options.paralogs_per_megabase = 70;
    assert_int_equal(gn_donor_create(reference, LENGTH, &options, NULL, &donor), 0);
    return donor;
}

static bool same_donor(const struct gn_donor *a, const struct gn_donor *b) {
    bool same = a->truth_count == b->truth_count && a->stratum_count == b->stratum_count;
    for (int h = 0; h < 2; h++) {
        const struct gn_haplotype *one = &a->haplotypes[h], *other = &b->haplotypes[h];
        same = same && one->length == other->length &&
               memcmp(one->bases, other->bases, one->length) == 0 &&
               memcmp(one->systematic, other->systematic, one->length) == 0;
    }
    return same;
}

/* The truth's variants put into the reference make the haplotype. */
static void replay(const struct gn_donor *donor, int h) {
    const struct gn_haplotype *haplotype = &donor->haplotypes[h];
    uint8_t *made = malloc(2 * LENGTH);
    uint64_t length = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i <= donor->truth_count; i++) {
        const struct gn_truth *truth = &donor->truths[i];
        bool last = i == donor->truth_count;
        uint32_t until = last ? LENGTH : truth->position;
        assert_true(until >= at && until <= LENGTH);
        memcpy(made + length, donor->reference + at, until - at);
        length += until - at;
        at = until;
        if (!last && truth->carried[h]) {
            memcpy(made + length, donor->alternatives + truth->alternative,
                   truth->alternative_length);
            length += truth->alternative_length;
            at += truth->reference_length;
        }
    }
    assert_int_equal(length, haplotype->main_length);
    assert_memory_equal(made, haplotype->bases, length);
    free(made);
}

static void donors(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        uint8_t *reference = gn_random_reference(LENGTH, seed);
        memset(reference + 1000, 4, 300); /* N, as between contigs */
        struct gn_donor *a = make_donor(reference, seed), *b = make_donor(reference, seed);
        struct gn_donor *other = make_donor(reference, seed + 100);
        assert_true(same_donor(a, b));
        assert_false(same_donor(a, other));
        uint32_t snps = 0, insertions = 0, deletions = 0, both = 0, paralogs = 0;
        for (uint32_t i = 0; i < a->truth_count; i++) {
            const struct gn_truth *truth = &a->truths[i];
            snps += truth->reference_length == truth->alternative_length;
            insertions += truth->reference_length < truth->alternative_length;
            deletions += truth->reference_length > truth->alternative_length;
            both += truth->carried[0] && truth->carried[1];
            assert_true(truth->carried[0] || truth->carried[1]);
        }
        for (uint32_t i = 0; i < a->stratum_count; i++) {
            paralogs += strcmp(a->strata[i].label, "paralog") == 0;
            assert_true(a->strata[i].start < a->strata[i].end && a->strata[i].end <= LENGTH);
        }
        assert_true(snps && insertions && deletions && both && both < a->truth_count);
        assert_int_equal(paralogs, 2);
        assert_true(a->stratum_count > 2);
        replay(a, 0);
        replay(a, 1);
        gn_donor_destroy(a);
        gn_donor_destroy(b);
        gn_donor_destroy(other);
        free(reference);
    }
    gn_donor_destroy(NULL);
}

/* Reads lie where they say: one end of the fragment, or the other from behind. */
static void reads(void **state) {
    (void)state;
    uint8_t *reference = gn_random_reference(LENGTH, 3);
    struct gn_donor *donor = make_donor(reference, 3);
    struct gn_sequencer *sequencer = calloc(1, sizeof *sequencer);
    struct gn_sequencer_options options;
    struct gn_pair_of_reads pair;
    gn_sequencer_options_default(&options);
    options.coverage = 10;
    gn_sequencer_start(sequencer, donor, &options);
    uint64_t count = 0, near = 0;
    while (gn_sequencer_next(sequencer, &pair)) {
        const uint8_t *from = donor->haplotypes[pair.haplotype].bases + pair.start;
        uint32_t differ[2] = {0, 0};
        for (uint32_t i = 0; i < pair.length; i++) {
            assert_true(pair.codes[0][i] < 4 && pair.codes[1][i] < 4);
            assert_true(pair.qualities[0][i] >= 2 && pair.qualities[0][i] <= 41);
            differ[0] += pair.codes[0][i] != from[i];
            differ[1] += pair.codes[1][i] != from[i];
        }
        near += differ[0] < 15 || differ[1] < 15;
        assert_int_equal(pair.number, count++);
    }
    assert_int_equal(count, donor->haplotypes[0].main_length * 10 / 300);
    assert_true(near * 10 > count * 9); /* the rest: slips in repeats */
    free(sequencer);
    gn_donor_destroy(donor);
    free(reference);
}

static size_t read_text(const char *name, char *text) {
    gzFile file = gzopen(path_of(name), "r");
    assert_non_null(file);
    int got = gzread(file, text, TEXT_MAX - 1);
    assert_true(got >= 0 && got < TEXT_MAX - 1);
    assert_int_equal(gzclose(file), Z_OK);
    text[got] = '\0';
    return (size_t)got;
}

static bool same_file(const char *suffix) {
    char *one = malloc(TEXT_MAX), *other = malloc(TEXT_MAX), name[64];
    snprintf(name, sizeof name, "a%s", suffix);
    size_t length = read_text(name, one);
    name[0] = 'b';
    bool same = read_text(name, other) == length && memcmp(one, other, length) == 0;
    free(one);
    free(other);
    return same;
}

static void files(void **state) {
    (void)state;
    static const char *const suffixes[] = {"_1.fq.gz", "_2.fq.gz", ".truth.vcf.gz", ".strata.bed"};
    uint8_t *reference = gn_random_reference(LENGTH, 4);
    struct gn_simulation simulation = {
        .contig = "c", .start = 1000, .reference = reference, .length = LENGTH};
    struct gn_simulated made, again;
    struct sy_error error = {0};
    gn_donor_options_default(&simulation.donor);
    gn_sequencer_options_default(&simulation.sequencer);
    simulation.sequencer.coverage = 5;
    assert_int_equal(gn_simulate(&simulation, path_of("a"), &made, &error), 0);
    assert_int_equal(gn_simulate(&simulation, path_of("b"), &again, &error), 0);
    assert_memory_equal(&made, &again, sizeof made);
    assert_true(made.pairs && made.snps);
    for (size_t i = 0; i < 4; i++) {
        assert_true(same_file(suffixes[i]));
    }
    simulation.donor.seed = simulation.sequencer.seed = 2;
    assert_int_equal(gn_simulate(&simulation, path_of("b"), &again, &error), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_false(same_file(suffixes[i]));
    }
    assert_int_equal(gn_simulate(&simulation, "/nowhere/at-all/x", &again, &error), -EIO);
    assert_non_null(strstr(error.message, "/nowhere/at-all/x"));
    free(reference);
}

/* One that is ended, and one that cannot be written, leave nothing. */
static bool at_once(void) {
    return true;
}

static uint32_t asked;
static bool after_a_while(void) {
    return ++asked > 31000;
}

static void nothing_half_written(void **state) {
    (void)state;
    uint8_t *reference = gn_random_reference(LENGTH, 4);
    static const gn_stop_function stops[] = {at_once, after_a_while};
    struct gn_simulation simulation = {
        .contig = "c", .reference = reference, .length = LENGTH, .made_up = true};
    struct gn_simulated made;
    struct sy_error error = {0};
    gn_donor_options_default(&simulation.donor);
    gn_sequencer_options_default(&simulation.sequencer);
    for (uint32_t i = 0; i < 2; i++) {
        simulation.stop = stops[i];
        assert_int_equal(gn_simulate(&simulation, path_of("none"), &made, &error), -EINTR);
        assert_int_equal(count_files("none"), 0);
    }
    simulation.stop = NULL;
    fflush(stdout);
    pid_t child = fork(); /* its limit ends with it, and so does what htslib forgets to free */
    if (child == 0) {
        struct rlimit limit;
        getrlimit(RLIMIT_FSIZE, &limit);
        limit.rlim_cur = 20000;
        signal(SIGXFSZ, SIG_IGN);
        int code = setrlimit(RLIMIT_FSIZE, &limit);
        code = code ? code : gn_simulate(&simulation, path_of("none"), &made, &error);
        _exit(code == -EIO && strstr(error.message, "cannot write") ? 0 : 1);
    }
    int status = -1;
    assert_true(waitpid(child, &status, 0) == child && status == 0);
    assert_int_equal(count_files("none"), 0);
    assert_int_equal(gn_simulate(&simulation, path_of("none"), &made, &error), 0);
    assert_int_equal(count_files("none"), 5);
    free(reference);
}

/* --- scores -------------------------------------------------------------------------------------
 */
/* The contig r: 1-based, from 501 GTCACACACACACAGTG, from 601 ACGTTT, else made up. */
static struct gn_genome genome;
static char bases[GENOME + 1];

static void put_file(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int setup_genome(void **state) {
    struct sy_error error = {0};
    uint8_t *codes = gn_random_reference(GENOME, 9);
    if (setup(state) < 0) {
        return -1;
    }
    for (int i = 0; i < GENOME; i++) {
        bases[i] = "ACGT"[codes[i]];
    }
    memcpy(bases + 500, "GTCACACACACACAGTG", 17);
    memcpy(bases + 600, "ACGTTT", 6);
    FILE *file = fopen(path_of("r.fa"), "w");
    fprintf(file, ">r\n%s\n", bases);
    fclose(file);
    free(codes);
    return gn_genome_read(path_of("r.fa"), &genome, &error);
}

static int teardown_genome(void **state) {
    gn_genome_finish(&genome);
    return teardown(state);
}

static const char header[] = "##fileformat=VCFv4.2\n##contig=<ID=r>\n##contig=<ID=q>\n"
                             "##FILTER=<ID=low,Description=\"low\">\n"
                             "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"Genotype\">\n"
                             "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\n";

/* X: the reference's base at the variant's position; ?: another one. */
static void spell(char *allele, int position) {
    char base = bases[position - 1];
    for (char *at = allele; *at; at++) {
        *at = *at == 'X' ? base : *at == '?' ? (base == 'A' ? 'C' : 'A') : *at;
    }
}

/* Lines are "POS REF ALT GT[ QUAL[ FILTER]]", separated by ";". */
static void put_vcf(const char *name, const char *lines) {
    char text[4096], copy[1024], *save = NULL;
    size_t length = (size_t)snprintf(text, sizeof text, "%s", header);
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok_r(copy, ";", &save); line; line = strtok_r(NULL, ";", &save)) {
        char ref[128], alt[128], genotype[16], quality[16] = "50", filter[16] = "PASS";
        int position;
        assert_true(sscanf(line, "%d %127s %127s %15s %15s %15s", &position, ref, alt, genotype,
                           quality, filter) >= 4);
        spell(ref, position);
        spell(alt, position);
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "r\t%d\t.\t%s\t%s\t%s\t%s\t.\tGT\t%s\n", position, ref, alt,
                                   quality, filter, genotype);
    }
    put_file(name, text);
}

static struct gn_score score_with(const char *truth, const char *calls, const char *strata,
                                  const struct gn_score_options *options) {
    struct gn_score score;
    struct sy_error error = {0};
    put_vcf("truth.vcf", truth);
    put_vcf("calls.vcf", calls);
    if (strata) {
        put_file("strata.bed", strata);
    }
    int code = gn_score_files(&genome, path_of("truth.vcf"), path_of("calls.vcf"),
                              strata ? path_of("strata.bed") : NULL, options, &score, &error);
    if (code < 0) {
        fail_msg("%s", error.message);
    }
    return score;
}

static void expect_counts(const struct gn_counts_of *counts, uint64_t found, uint64_t missed,
                          uint64_t confirmed, uint64_t wrong) {
    assert_int_equal(counts->found, found);
    assert_int_equal(counts->missed, missed);
    assert_int_equal(counts->confirmed, confirmed);
    assert_int_equal(counts->wrong, wrong);
}

/* Of both kinds together. */
static void expect(const char *truth, const char *calls, uint64_t found, uint64_t missed,
                   uint64_t confirmed, uint64_t wrong) {
    struct gn_score_options options = {0};
    struct gn_score score = score_with(truth, calls, NULL, &options);
    struct gn_counts_of *all = score.counts[0];
    struct gn_counts_of sum = {all[0].found + all[1].found, all[0].missed + all[1].missed,
                               all[0].confirmed + all[1].confirmed, all[0].wrong + all[1].wrong};
    expect_counts(&sum, found, missed, confirmed, wrong);
}

static void same_sequences(void **state) {
    (void)state;
    expect("601 A G 0|1", "601 A G 0/1", 1, 0, 1, 0);
    expect("601 A G 1|0", "601 A G 0/1", 1, 0, 1, 0);
    expect("601 A G 1|1", "601 A G 1", 1, 0, 1, 0); /* haploid: both */
    /* a repeat that lost a unit, at its left and at its right end, and with more around it */
    expect("502 TCA T 0|1", "510 ACA A 0/1", 1, 0, 1, 0);
    expect("502 TCA T 1|1", "513 CAG G 1/1", 1, 0, 1, 0);
    expect("502 T TCA 0|1", "514 A ACA 0/1", 1, 0, 1, 0);
    expect("502 TCA T 0|1", "501 GTCAC GTC 0/1", 1, 0, 1, 0);
    /* two neighbours at once, or one by one */
    expect("601 AC GT 0|1", "601 A G 0/1;602 C T 0/1", 1, 0, 2, 0);
    expect("601 A G 1|1;602 C T 1|1", "601 AC GT 1/1", 2, 0, 1, 0);
    /* a variant and the same with anchors on both sides */
    expect("602 C T 0|1", "600 XACGT XATGT 0/1", 1, 0, 1, 0);
    /* both alleles differ from the reference */
    expect("601 A G 0|1;601 A C 1|0", "601 A G,C 1/2", 2, 0, 1, 0);
    expect("601 A G,C 2|1", "601 A C 0/1;601 A G 0/1", 1, 0, 2, 0);
    expect("502 TCA T 1|0;502 T TCA 0|1", "502 TCA T,TCACA 1/2", 2, 0, 1, 0);
}

static void not_the_same(void **state) {
    (void)state;
    expect("601 A G 0|1", "601 A G 1/1", 0, 1, 0, 1);
    expect("601 A G 1|1", "601 A G 0/1", 0, 1, 0, 1);
    expect("601 A G 0|1", "601 A C 0/1", 0, 1, 0, 1);
    expect("601 A G 0|1", "602 C T 0/1", 0, 1, 0, 1);
    expect("502 TCA T 0|1", "502 TCACA T 0/1", 0, 1, 0, 1);
    expect("601 A G 0|1", "", 0, 1, 0, 0);
    expect("", "601 A G 0/1", 0, 0, 0, 1);
    expect("601 A G 0|1", "601 A G 0/0", 0, 1, 0, 0);
    expect("601 A G 0|1", "601 A G ./.", 0, 1, 0, 0);
    expect("601 A G 0|1", "601 A <DEL> 0/1;602 C * 0/1", 0, 1, 0, 0);
    /* one of a cluster is wrong: the others are still right */
    expect("601 A G 0|1;625 X ? 0|1", "601 A G 0/1;625 X ? 1/1", 1, 1, 1, 1);
    expect("601 A G 0|1", "601 A G 0/1;601 A G 0/1", 1, 0, 1, 1); /* twice the same */
}

static void phases(void **state) {
    (void)state;
    /* unphased calls: any phasing will do */
    expect("601 A G 0|1;602 C T 1|0", "601 A G 0/1;602 C T 0/1", 2, 0, 2, 0);
    expect("601 A G 0|1;602 C T 0|1", "601 A G 0/1;602 C T 0/1", 2, 0, 2, 0);
    /* as one allele they are on one haplotype: not what is there */
    expect("601 A G 0|1;602 C T 1|0", "601 AC GT 0/1", 0, 2, 0, 1);
    expect("601 A G 0|1;602 C T 0|1;603 G A 1|0", "601 ACG GTG,ACA 1/2", 3, 0, 1, 0);
    /* phased calls say what they mean; alone each of them is right all the same */
    expect("601 A G 0|1;602 C T 0|1", "601 A G 0|1;602 C T 0|1", 2, 0, 2, 0);
}

static void choice(void **state) {
    (void)state;
    struct gn_score_options none = {0}, all = {.all = true}, sure = {.quality = 40},
                            there = {.contig = "r", .start = 601, .end = 650};
    const char *truth = "502 TCA T 0|1;601 A G 0|1;602 C T 0|1";
    const char *calls = "502 TCA T 0/1 30;601 A G 0/1 50 low;602 C T 0/1 .";
    struct gn_score score = score_with(truth, calls, NULL, &none);
    assert_int_equal(score.stratum_count, 2);
    assert_string_equal(score.labels[0], "all");
    assert_string_equal(score.labels[1], "other");
    expect_counts(&score.counts[0][GN_SNP], 1, 1, 1, 0);
    expect_counts(&score.counts[0][GN_INDEL], 1, 0, 1, 0);
    assert_memory_equal(score.counts[0], score.counts[1], sizeof score.counts[0]);
    assert_true(gn_precision(&score.counts[0][GN_SNP]) == 1);
    assert_true(gn_recall(&score.counts[0][GN_SNP]) == 0.5);
    assert_float_equal(gn_f1(&score.counts[0][GN_SNP]), 2.0 / 3, 1e-12);
    assert_true(gn_f1(&(struct gn_counts_of){0}) == 0);
    score = score_with(truth, calls, NULL, &all);
    expect_counts(&score.counts[0][GN_SNP], 2, 0, 2, 0);
    score = score_with(truth, calls, NULL, &sure);
    expect_counts(&score.counts[0][GN_INDEL], 0, 1, 0, 0);
    score = score_with(truth, calls, NULL, &there);
    expect_counts(&score.counts[0][GN_SNP], 1, 0, 1, 0);
    expect_counts(&score.counts[0][GN_INDEL], 0, 0, 0, 0);
}

static void strata(void **state) {
    (void)state;
    struct gn_score_options options = {0};
    const char *truth = "502 TCA T 0|1;601 A G 0|1;1001 X ? 0|1";
    const char *calls = "502 TCA T 0/1;601 A G 1/1;1001 X ? 0/1;1301 X ? 0/1";
    struct gn_score score = score_with(
        truth, calls, "# places\nr\t490\t520\tb\nr\t600\t601\ta\nr 1290 1310 b\n", &options);
    assert_int_equal(score.stratum_count, 4);
    assert_string_equal(score.labels[1], "b");
    assert_string_equal(score.labels[2], "a");
    assert_string_equal(score.labels[3], "other");
    expect_counts(&score.counts[0][GN_SNP], 1, 1, 1, 2);
    expect_counts(&score.counts[1][GN_INDEL], 1, 0, 1, 0);
    expect_counts(&score.counts[1][GN_SNP], 0, 0, 0, 1);
    expect_counts(&score.counts[2][GN_SNP], 0, 1, 0, 1);
    expect_counts(&score.counts[3][GN_SNP], 1, 0, 1, 0);
    /* a label that is ours, and as many as there may be */
    score = score_with(truth, calls, "r\t490\t520\tother\nr\t600\t601\ta\n", &options);
    assert_int_equal(score.stratum_count, 3);
    expect_counts(&score.counts[1][GN_INDEL], 1, 0, 1, 0);
    expect_counts(&score.counts[1][GN_SNP], 1, 0, 1, 1);
    expect_counts(&score.counts[2][GN_SNP], 0, 1, 0, 1);
    score = score_with(truth, calls, "r 1 2 a\nr 1 2 b\nr 1 2 c\nr 1 2 d\nr 1 2 e\nr 600 601 f\n",
                       &options);
    assert_int_equal(score.stratum_count, GN_STRATUM_MAX);
    assert_string_equal(score.labels[GN_STRATUM_MAX - 1], "other");
    expect_counts(&score.counts[6][GN_SNP], 0, 1, 0, 1);
    expect_counts(&score.counts[7][GN_SNP], 1, 0, 1, 1);
}

/* --- what is wrong ------------------------------------------------------------------------------
 */
static void expect_error(const char *truth, const char *calls, const char *bed, const char *file,
                         uint32_t line, const char *message) {
    struct gn_score_options options = {0};
    struct gn_score score;
    struct sy_error error = {0};
    put_file("truth.vcf", truth);
    put_file("calls.vcf", calls);
    put_file("strata.bed", bed);
    int code = gn_score_files(&genome, path_of("truth.vcf"), path_of("calls.vcf"),
                              path_of("strata.bed"), &options, &score, &error);
    assert_true(code < 0);
    if (!strstr(error.message, message)) {
        fail_msg("'%s' instead of '%s'", error.message, message);
    }
    assert_string_equal(error.file, path_of(file));
    assert_int_equal(error.line, line);
}

static char *with(const char *line) {
    static char text[2048];
    snprintf(text, sizeof text, "%s%s", header, line);
    return text;
}

static void errors(void **state) {
    (void)state;
    const char *good = "r\t1\t2\ta\n";
    struct gn_score_options options = {0};
    struct gn_score score;
    struct sy_error error = {0};
    expect_error("nothing of the kind\n", header, good, "truth.vcf", 0, "not a VCF");
    expect_error(header, "", good, "calls.vcf", 0, "not a VCF");
    expect_error(header, "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n",
                 good, "calls.vcf", 2, "one sample");
    expect_error(header, with("q\t5\t.\tA\tC\t50\tPASS\t.\tGT\t0/1\n"), good, "calls.vcf", 7,
                 "not in the reference");
    expect_error(header, with("r\t1999\t.\tACGTA\tC\t50\tPASS\t.\tGT\t0/1\n"), good, "calls.vcf", 7,
                 "outside of its contig");
    expect_error(header, with("r\t601\t.\tA\tC\t50\tPASS\t.\tGT\t0/2\n"), good, "calls.vcf", 7,
                 "an allele that does not exist");
    expect_error(header, with("r\t601\t.\tG\tC\t50\tPASS\t.\tGT\t0/1\n"), good, "calls.vcf", 7,
                 "REF is not what the reference has");
    expect_error("##fileformat=VCFv4.2\n##more\n", header, good, "truth.vcf", 2, "header");
    expect_error(header, header, "r\t1\t2\n", "strata.bed", 1, "not a stratum");
    expect_error(header, header, "r\t1\t2\ta\nr\t-\t2\ta\n", "strata.bed", 2, "not a stratum");
    expect_error(header, header, "r\t5\t2\ta\n", "strata.bed", 1, "not a stratum");
    expect_error(header, header, "q\t1\t2\ta\n", "strata.bed", 1, "not a stratum");
    expect_error(header, header, "r 1 2 a\nr 1 2 b\nr 1 2 c\nr 1 2 d\nr 1 2 e\nr 1 2 f\nr 1 2 g\n",
                 "strata.bed", 7, "too many");
    put_file("truth.vcf", header);
    assert_int_equal(gn_score_files(&genome, path_of("truth.vcf"), path_of("absent.vcf"), NULL,
                                    &options, &score, &error),
                     -ENOENT);
    assert_non_null(strstr(error.message, "absent.vcf"));
    assert_int_equal(gn_score_files(&genome, path_of("truth.vcf"), path_of("truth.vcf"),
                                    path_of("absent.bed"), &options, &score, &error),
                     -ENOENT);
}

/* A line that would take all memory, in a file that is small. */
static void long_lines(void **state) {
    (void)state;
    struct gn_score_options options = {0};
    struct gn_score score;
    struct sy_error error = {0};
    gzFile file = gzopen(path_of("calls.vcf"), "wb1");
    char *zeros = calloc(1, 1 << 20);
    gzputs(file, header);
    gzputs(file, "r\t601\t.\tA\tC\t50\tPASS\t");
    for (int i = 0; i < 40; i++) {
        assert_int_equal(gzwrite(file, zeros, 1 << 20), 1 << 20);
    }
    gzclose(file);
    free(zeros);
    put_file("truth.vcf", header);
    assert_true(gn_score_files(&genome, path_of("truth.vcf"), path_of("calls.vcf"), NULL, &options,
                               &score, &error) < 0);
    assert_non_null(strstr(error.message, "a line of more than"));
    assert_int_equal(error.line, 7);
    assert_true(gn_score_files(&genome, path_of("truth.vcf"), path_of("truth.vcf"), "/dev/zero",
                               &options, &score, &error) < 0);
    assert_non_null(strstr(error.message, "a line of more than"));
}

/* BCF has the same variants as the VCF it was made from. */
static void binary(void **state) {
    (void)state;
    struct gn_score_options options = {0};
    struct gn_score score;
    struct sy_error error = {0};
    put_vcf("truth.vcf", "502 TCA T 0|1;601 A G 0|1");
    htsFile *from = hts_open(path_of("truth.vcf"), "r"), *to = hts_open(path_of("calls.vcf"), "wb");
    bcf_hdr_t *head = bcf_hdr_read(from);
    bcf1_t *record = bcf_init();
    assert_int_equal(bcf_hdr_write(to, head), 0);
    while (bcf_read(from, head, record) == 0) {
        assert_int_equal(bcf_write(to, head, record), 0);
    }
    bcf_destroy(record);
    bcf_hdr_destroy(head);
    hts_close(from);
    hts_close(to);
    assert_int_equal(gn_score_files(&genome, path_of("truth.vcf"), path_of("calls.vcf"), NULL,
                                    &options, &score, &error),
                     0);
    expect_counts(&score.counts[0][GN_SNP], 1, 0, 1, 0);
    expect_counts(&score.counts[0][GN_INDEL], 1, 0, 1, 0);
}

int main(void) {
    hts_set_log_level(HTS_LOG_OFF);
    const struct CMUnitTest samples[] = {cmocka_unit_test(donors), cmocka_unit_test(reads),
                                         cmocka_unit_test(files),
                                         cmocka_unit_test(nothing_half_written)};
    const struct CMUnitTest scores[] = {
        cmocka_unit_test(same_sequences), cmocka_unit_test(not_the_same), cmocka_unit_test(phases),
        cmocka_unit_test(choice),         cmocka_unit_test(strata),       cmocka_unit_test(errors),
        cmocka_unit_test(long_lines),     cmocka_unit_test(binary)};
    int failed = cmocka_run_group_tests(samples, setup, teardown);
    return failed + cmocka_run_group_tests(scores, setup_genome, teardown_genome);
}
