/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference: what FASTA files mean, what is wrong with bad ones, where k-mers are found, and
 * that a stale or damaged index is never used.
 */
#include "genomics/align/index.h"
#include "genomics/align/map_rule.h"
#include "map_cases.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* --- FASTA ------------------------------------------------------------------------------------ */

/* Fed in pieces of so many bytes. */
static int parse(const char *text, size_t length, size_t piece, struct gn_genome *ret_genome,
                 struct sy_error *error) {
    struct gn_fasta *fasta;
    int code = gn_fasta_create("x.fa", &fasta, error);
    assert_int_equal(code, 0);
    for (size_t at = 0; at < length && !code; at += piece) {
        code = gn_fasta_feed(fasta, text + at, length - at < piece ? length - at : piece, error);
    }
    code = code ? code : gn_fasta_end(fasta, ret_genome, error);
    gn_fasta_destroy(fasta);
    return code;
}

static struct gn_index *index_of(const char *text, size_t length, size_t piece) {
    struct sy_error error;
    struct gn_genome genome;
    struct gn_index *index;
    char why[100];
    assert_int_equal(parse(text, length, piece, &genome, &error), 0);
    assert_int_equal(gn_index_build(&genome, &index, &error), 0);
    gn_genome_finish(&genome);
    assert_int_equal(gn_index_check(index, index->bytes, why, sizeof(why)), 0);
    return index;
}

/* By name; SY_NONE: there is none. */
static uint32_t contig_of(const struct gn_index *index, const char *name) {
    for (uint32_t i = 0; i < index->contig_count; i++) {
        if (strcmp(gn_contig_name(index, i), name) == 0) {
            return i;
        }
    }
    return SY_NONE;
}

static void expect_bases(const struct gn_index *index, const char *name, const char *bases) {
    uint8_t codes[100];
    uint32_t contig = contig_of(index, name), length = (uint32_t)strlen(bases);
    assert_int_not_equal(contig, SY_NONE);
    const struct gn_contig *where = &gn_contigs(index)[contig];
    assert_string_equal(gn_contig_name(index, contig), name);
    assert_int_equal(where->length, length);
    gn_genome_fetch(index, where->start - 1, length + 2, codes);
    assert_true(codes[0] == 4 && codes[length + 1] == 4);
    for (uint32_t i = 0; i < length; i++) {
        assert_int_equal("ACGTN"[codes[i + 1]], bases[i]);
        assert_int_equal(gn_contig_of(index, where->start + i), contig);
    }
    assert_int_equal(gn_contig_of(index, where->start - 1), SY_NONE);
    assert_int_equal(gn_contig_of(index, where->start + length), SY_NONE);
}

static void reads_fasta(void **state) {
    (void)state;
    static const char text[] = "\n>one some words\r\nACGTacgt\r\n\r\nnNrY\n>two\t3\nTTu T\n"
                               ">empty\n>last\nGG\nA";
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        struct gn_index *index = index_of(text, sizeof(text) - 1, piece);
        assert_int_equal(index->contig_count, 4);
        expect_bases(index, "one", "ACGTACGTNNNN");
        expect_bases(index, "two", "TTTT");
        expect_bases(index, "empty", "");
        expect_bases(index, "last", "GGA");
        assert_int_equal(contig_of(index, "las"), SY_NONE);
        assert_int_equal(gn_contig_of(index, 0), SY_NONE);
        assert_int_equal(gn_contig_of(index, UINT64_MAX), SY_NONE);
        gn_index_close(index);
    }
}

static void expect_error(const char *text, size_t length, uint32_t line, const char *part) {
    struct sy_error error = {0};
    struct gn_genome genome;
    assert_int_not_equal(parse(text, length, 3, &genome, &error), 0);
    assert_int_equal(error.line, line);
    assert_string_equal(error.file, "x.fa");
    if (!strstr(error.message, part) && !strstr(error.hint, part)) {
        fail_msg("'%s' (%s) does not say '%s'", error.message, error.hint, part);
    }
}

static void names_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line;
        const char *part;
    } cases[] = {
        {"", 1, "empty"},
        {"\n\n", 3, "empty"},
        {">a\n>b\n", 3, "no base"},
        {"ACGT\n", 1, "'>'"},
        {"@r1\nACGT\n+\nIIII\n", 1, "FASTQ"},
        {">a\nACGT\nAC5T\n", 3, "'5' is not a base"},
        {">a\nAC>GT\n", 2, "'>' is not a base"},
        {">a\nAC\x01T\n", 2, "byte 0x01 is not a base"},
        {">a\nAC\xc3\xa4T\n", 2, "byte 0xC3 is not a base"},
        {">\nACGT\n", 1, "without a name"},
        {"> a\nACGT\n", 1, "without a name"},
        {">a\nA\n>", 3, "without a name"},
        {">a\x02z\nA\n", 1, "byte 0x02 in a contig's name"},
        {">chr,=<>\"a\nA\n", 1, "',' in a contig's name"},
        {">a\nA\n>b<\nA\n", 3, "'<' in a contig's name"},
        {">a'b\nA\n", 1, "names have letters, digits"},
        {">=a\nA\n", 1, "'=' in a contig's name"},
        {">*\nA\n", 1, "'*' in a contig's name"},
        {">a\xc3\xa4\nA\n", 1, "byte 0xC3 in a contig's name"},
        {">a x\nAC\n>b\nAC\n>a y\nAC\n", 5, "appears twice (first on line 1)"},
    };
    for (size_t i = 0; i < GUEST_COUNT(cases); i++) {
        expect_error(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].part);
    }
    char *name = malloc(9000);
    memset(name, 'x', 9000);
    name[0] = '>';
    expect_error(name, 9000, 1, "longer than");
    free(name);
    expect_error(">a\nA\0C\n", 8, 2, "byte 0x00");
}

static void takes_ten_thousand_contigs(void **state) {
    (void)state;
    size_t room = 10000 * 64, length = 0;
    char *text = malloc(room);
    for (uint32_t i = 0; i < 10000; i++) {
        length += (size_t)snprintf(text + length, room - length, ">contig%u\n%.*s\n", i,
                                   (int)(i % 31), "ACGTTGCATGCAAACCGTGTGTACCATGCAA");
    }
    struct gn_index *index = index_of(text, length, 1000);
    assert_int_equal(index->contig_count, 10000);
    for (uint32_t i = 0; i < 10000; i += 97) {
        const struct gn_contig *contig = &gn_contigs(index)[i];
        assert_int_equal(contig->length, i % 31);
        assert_int_equal(gn_contig_of(index, contig->start), i % 31 ? i : SY_NONE);
    }
    gn_index_close(index);
    free(text);
}

/* --- k-mers ----------------------------------------------------------------------------------- */

/* How often the place of an even position's k-mer stands in the bucket where map would look. */
static uint32_t times_found(const struct gn_index *index, uint64_t position) {
    struct gn_map_table table = gn_map_table(index);
    uint64_t forward[2] = {0, 0}, reverse[2] = {0, 0};
    uint8_t codes[GN_KMER];
    uint32_t bucket, found = 0;
    gn_genome_fetch(index, position, GN_KMER, codes);
    for (uint32_t i = 0; i < GN_KMER; i++) {
        if (codes[i] > 3) {
            return SY_NONE;
        }
        forward[0] |= (uint64_t)codes[i] << 2 * i;
        reverse[0] |= (uint64_t)(3 - codes[i]) << 2 * (GN_KMER - 1 - i);
    }
    uint32_t tag = gn_seed(&table, forward, reverse, GN_KMER, 0, &bucket);
    uint32_t place = (uint32_t)(position / 2) << (table.tag_bits + 1) | tag;
    for (uint32_t i = table.buckets[bucket]; i < table.buckets[bucket + 1]; i++) {
        found += table.places[i] == place;
        assert_true(i == table.buckets[bucket] || table.places[i - 1] < table.places[i]);
    }
    return found;
}

static void finds_every_kmer(void **state) {
    (void)state;
    static const struct map_genome genomes[] = {{1, 30000, 2, 40, 200, 0.02, 0.001, true},
                                                {200, 60, 1, 1, 30, 0, 0.01, false}};
    for (uint32_t i = 0; i < GUEST_COUNT(genomes); i++) {
        struct made_random random = {i + 1, 0};
        struct sy_error error;
        struct gn_index *index = cases_index(&random, &genomes[i], &error);
        uint64_t expected = 0;
        assert_non_null(index);
        for (uint64_t at = 0; at + GN_KMER <= index->length; at += 2) {
            uint32_t found = times_found(index, at);
            assert_true(found == 1 || found == SY_NONE);
            expected += found == 1;
        }
        assert_int_equal(expected, index->place_count);
        assert_true(expected > 500);
        gn_index_close(index);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

static char folder[] = "/tmp/symph-index-XXXXXX";

static const char *in_folder(const char *name) {
    static char paths[16][100];
    static uint32_t at;
    at = (at + 1) % 16;
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", folder, name);
    return paths[at];
}

static void write_text(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static struct gn_index *reopen(const char *fasta, bool built, struct gn_index_note *ret_note) {
    struct gn_index *index = NULL;
    struct sy_error error = {0};
    assert_int_equal(gn_index_open(fasta, NULL, &index, ret_note, &error), 0);
    assert_int_equal(ret_note->built, built);
    return index;
}

static char *read_whole(const char *path, size_t *ret_length) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    char *text = malloc((size_t)status.st_size);
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(text, 1, (size_t)status.st_size, file), status.st_size);
    fclose(file);
    *ret_length = (size_t)status.st_size;
    return text;
}

static void is_kept_and_used_again(void **state) {
    (void)state;
    const char *fasta = in_folder("a.fa"), *file = in_folder("a.fa.symph-index");
    struct gn_index_note note;
    write_text(fasta, ">a\nACGTAACCGGTTACGATCGATCGGCTATATCGCGAT\n", 40);
    struct gn_index *first = reopen(fasta, true, &note);
    assert_true(note.kept && strcmp(note.file, file) == 0);
    struct gn_index *second = reopen(fasta, false, &note);
    assert_memory_equal(first, second, first->bytes);
    gn_index_close(second);
    gn_index_close(first);
    /* Another text of the same size, an hour later. */
    write_text(fasta, ">b\nACGTAACCGGTTACGATCGATCGGCTATATCGCGAT\n", 40);
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, fasta, times, 0), 0);
    second = reopen(fasta, true, &note);
    assert_non_null(strstr(note.trouble, "changed"));
    assert_string_equal(gn_contig_name(second, 0), "b");
    gn_index_close(second);
    gn_index_close(reopen(fasta, false, &note));
}

/* Other bases in a file of the same size, time and number: nothing but the content tells. */
static void another_content(void **state) {
    (void)state;
    const char *fasta = in_folder("c.fa");
    static const char *const texts[2] = {">a\nACGTAACCGGTTACGATCGATCGGCTATATCGCGAT\n",
                                         ">a\nACGTAACCGGTTACGATCGATCGGCTATATCGCGAA\n"};
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    struct gn_index_note note;
    for (uint32_t i = 0; i < 4; i++) {
        int descriptor = open(fasta, O_WRONLY | O_CREAT, 0666);
        assert_int_equal(pwrite(descriptor, texts[i % 2], 40, 0), 40);
        close(descriptor);
        assert_int_equal(utimensat(AT_FDCWD, fasta, times, 0), 0);
        struct gn_index *index = reopen(fasta, true, &note);
        assert_true(i == 0 || strstr(note.trouble, "changed"));
        expect_bases(index, "a",
                     texts[i % 2][38] == 'T' ? "ACGTAACCGGTTACGATCGATCGGCTATATCGCGAT"
                                             : "ACGTAACCGGTTACGATCGATCGGCTATATCGCGAA");
        gn_index_close(index);
        gn_index_close(reopen(fasta, false, &note));
    }
}

/* One that an earlier version left. */
static void another_version(void **state) {
    (void)state;
    const char *fasta = in_folder("c.fa"), *file = in_folder("c.fa.symph-index");
    struct gn_index_note note;
    size_t length;
    char *good = read_whole(file, &length);
    memcpy(good, "SGNYIDX1", 8);
    write_text(file, good, length);
    gn_index_close(reopen(fasta, true, &note));
    assert_non_null(strstr(note.trouble, "another version"));
    gn_index_close(reopen(fasta, false, &note));
    free(good);
}

static void damage_is_noticed(void **state) {
    (void)state;
    const char *fasta = in_folder("a.fa"), *file = in_folder("a.fa.symph-index");
    struct gn_index_note note;
    gn_index_close(reopen(fasta, false, &note));
    size_t length;
    char *good = read_whole(file, &length), *bad = malloc(length);
    for (size_t at = 0; at < length; at += at < 256 ? 1 : 211) {
        memcpy(bad, good, length);
        bad[at] ^= 0x10;
        write_text(file, bad, length);
        struct gn_index *index = reopen(fasta, true, &note);
        assert_true(note.trouble[0] && note.kept);
        assert_memory_equal(index, good, length);
        gn_index_close(index);
    }
    for (size_t cut = 0; cut < length; cut += cut < 300 ? 50 : length / 20) {
        write_text(file, good, cut);
        struct gn_index *index = reopen(fasta, true, &note);
        assert_true(note.trouble[0] && note.kept);
        gn_index_close(index);
    }
    free(good);
    free(bad);
}

static void other_places(void **state) {
    (void)state;
    const char *fasta = in_folder("b.fa.gz"), *cache = in_folder("cache/of/indexes");
    static const char text[] = ">z\nACGTTTGACCATTAGACCAATTGACAT\n";
    struct gn_index *index;
    struct gn_index_note note;
    struct sy_error error = {0};
    gzFile out = gzopen(fasta, "wb");
    assert_int_equal(gzwrite(out, text, sizeof(text) - 1), (int)sizeof(text) - 1);
    gzclose(out);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gn_index_open(fasta, cache, &index, &note, &error), 0);
        assert_true(note.built == (i == 0) && note.kept);
        assert_int_equal(strncmp(note.file, cache, strlen(cache)), 0);
        expect_bases(index, "z", "ACGTTTGACCATTAGACCAATTGACAT");
        gn_index_close(index);
        assert_int_equal(gn_index_open(fasta, "", &index, &note, &error), 0);
        assert_true(note.built && !note.kept && !note.file[0]);
        gn_index_close(index);
    }
    /* A folder that cannot be made: the index still works. */
    write_text(in_folder("plain"), "x", 1);
    assert_int_equal(gn_index_open(fasta, in_folder("plain/x"), &index, &note, &error), 0);
    assert_true(note.built && !note.kept && note.trouble[0]);
    gn_index_close(index);
    assert_int_equal(gn_index_open(in_folder("none.fa"), NULL, &index, &note, &error), -ENOENT);
    assert_non_null(strstr(error.message, "none.fa"));
    /* gzip that ends too early. */
    size_t length;
    char *whole = read_whole(fasta, &length);
    write_text(in_folder("cut.fa.gz"), whole, length - 12);
    assert_int_equal(gn_index_open(in_folder("cut.fa.gz"), "", &index, &note, &error), -EIO);
    assert_non_null(strstr(error.message, "too early"));
    free(whole);
}

/* Two processes at once: both succeed, and nothing but the index is left. */
static void two_at_once(void **state) {
    (void)state;
    const char *fasta = in_folder("a.fa"), *file = in_folder("a.fa.symph-index");
    struct gn_index_note note;
    for (int turn = 0; turn < 10; turn++) {
        unlink(file);
        pid_t child = fork();
        assert_true(child >= 0);
        struct gn_index *index = NULL;
        struct sy_error error;
        int code = gn_index_open(fasta, NULL, &index, &note, &error);
        gn_index_close(index);
        if (child == 0) {
            _exit(code ? 1 : 0);
        }
        int status = -1;
        assert_true(waitpid(child, &status, 0) == child && status == 0 && code == 0);
        gn_index_close(reopen(fasta, false, &note));
    }
    DIR *list = opendir(folder);
    for (struct dirent *entry; (entry = readdir(list));) {
        assert_null(strstr(entry->d_name, "symph-index."));
    }
    closedir(list);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_fasta),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(takes_ten_thousand_contigs),
        cmocka_unit_test(finds_every_kmer),
        cmocka_unit_test(is_kept_and_used_again),
        cmocka_unit_test(another_content),
        cmocka_unit_test(another_version),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(other_places),
        cmocka_unit_test(two_at_once),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
