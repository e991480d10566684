/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTQ into batches: what is read, in which layout, and what each kind of broken file is called.
 */
#include "genomics/align/fastq.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* A temporary file; compressed where asked for, cut by so many bytes. */
static char *write_file(const char *text, bool compressed, size_t cut) {
    char *path = strdup("/tmp/symph-fastq-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    if (compressed) {
        gzFile out = gzdopen(dup(fd), "wb");
        assert_int_equal(gzwrite(out, text, (unsigned)strlen(text)), (int)strlen(text));
        gzclose(out);
        off_t size = lseek(fd, 0, SEEK_END);
        assert_int_equal(ftruncate(fd, size - (off_t)cut), 0);
    } else {
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    }
    close(fd);
    return path;
}

static int read_all(const char *path, uint32_t records, struct gn_text *text,
                    struct gn_fastq **ret_file, struct sy_error *error) {
    assert_int_equal(gn_fastq_open(path, ret_file, error), 0);
    return gn_fastq_next(*ret_file, records, text, error);
}

static void drop(char *path, struct gn_fastq *file, struct gn_text *text) {
    gn_text_finish(text);
    gn_fastq_close(file);
    unlink(path);
    free(path);
}

#define ONE "@a/1 x\nACGTN\n+\nIIII!\n"
#define TWO "@b\nacg\r\n+b\nABC\n"

static void check_pair(bool compressed, void *room, uint64_t room_bytes) {
    char *paths[2] = {write_file(ONE TWO, compressed, 0),
                      write_file(ONE TWO "\n\n", compressed, 0)};
    struct gn_fastq *files[2];
    struct gn_text texts[2];
    struct sy_error error = {0};
    struct gn_batch batch;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read_all(paths[i], 10, &texts[i], &files[i], &error), 0);
        assert_int_equal(texts[i].records, 2);
    }
    assert_int_equal(gn_fastq_parse(&texts[0], &texts[1], 7, room, room_bytes, &batch, &error), 0);
    const struct gn_reads *reads = batch.reads;
    assert_int_equal(reads->read_count, 4);
    assert_int_equal(reads->serial, 7);
    assert_int_equal(reads->longest, 5);
    assert_true(reads->paired);
    const struct gn_read *read = gn_at(reads, reads->reads);
    const uint8_t *bases = gn_at(reads, reads->bases);
    const uint64_t *packed = gn_at(reads, reads->packed);
    const uint8_t expected[] = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2};
    assert_memory_equal(bases, expected, sizeof expected);
    assert_int_equal(read[0].unknown, 1);
    assert_int_equal(read[2].length, 3);
    assert_int_equal(read[2].bases, 10);
    assert_int_equal(packed[0], 0 | 1 << 2 | 2 << 4 | 3 << 6);
    assert_int_equal(packed[2 * reads->words], 0 | 1 << 2 | 2 << 4);
    assert_int_equal(batch.notes.qualities[0], 'I' - 33);
    assert_int_equal(batch.notes.qualities[4], 0);
    assert_string_equal(batch.notes.names + batch.notes.name_offsets[1], "a");
    assert_string_equal(batch.notes.names + batch.notes.name_offsets[3], "b");
    gn_batch_finish(&batch);
    for (int i = 0; i < 2; i++) {
        drop(paths[i], files[i], &texts[i]);
    }
}

static void test_pairs(void **state) {
    (void)state;
    check_pair(false, NULL, 0);
    check_pair(true, NULL, 0);
    _Alignas(GN_ALIGN) static char room[4096];
    check_pair(true, room, sizeof room);
    check_pair(true, room, 64); /* does not fit: its own memory */
}

/* Texts of one record at a time are the same as one of all. */
static void test_pieces(void **state) {
    (void)state;
    char *path = write_file(ONE TWO ONE, true, 0);
    struct gn_fastq *file;
    struct sy_error error = {0};
    assert_int_equal(gn_fastq_open(path, &file, &error), 0);
    struct gn_text text;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(gn_fastq_next(file, 1, &text, &error), 0);
        assert_int_equal(text.records, 1);
        assert_int_equal(text.line, 4 * i + 1);
        assert_string_equal(text.text, i == 1 ? TWO : ONE);
        gn_text_finish(&text);
    }
    assert_int_equal(gn_fastq_next(file, 1, &text, &error), 0);
    assert_int_equal(text.records, 0);
    drop(path, file, &text);
}

static void test_empty(void **state) {
    (void)state;
    const char *const empty[] = {"", "\n", "\n\n\n\n\n\n"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        char *path = write_file(empty[i], i == 1, 0);
        struct gn_fastq *file;
        struct gn_text text;
        struct sy_error error = {0};
        assert_int_equal(read_all(path, 4, &text, &file, &error), 0);
        assert_int_equal(text.records, 0);
        drop(path, file, &text);
    }
}

/* Each broken text, the line that is blamed, and a word of the message. */
static void test_broken(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line;
        const char *word;
    } cases[] = {
        {"a\nAC\n+\nII\n", 1, "@"},           {ONE "@b\nAC\nII\n+\n", 7, "+"},
        {"@a\nAC\n+\nI\n", 4, "2 bases"},     {ONE "@b\nAC\n", 7, "within a record"},
        {"@a\nAC\n+\nI\x01\n", 4, "quality"}, {">a\nACGT\n>b\nACGT\n", 1, "@"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = write_file(cases[i].text, false, 0);
        struct gn_fastq *file;
        struct gn_text text = {0};
        struct gn_batch batch;
        struct sy_error error = {0};
        int code = read_all(path, 4, &text, &file, &error);
        code = code ? code : gn_fastq_parse(&text, NULL, 0, NULL, 0, &batch, &error);
        assert_true(code < 0);
        assert_string_equal(error.file, path);
        assert_int_equal(error.line, cases[i].line);
        assert_non_null(strstr(error.message, cases[i].word));
        drop(path, file, &text);
    }
}

static void test_long_read(void **state) {
    (void)state;
    char text[4 * GN_READ_MAX], bases[GN_READ_MAX + 2];
    memset(bases, 'A', sizeof bases);
    bases[GN_READ_MAX + 1] = '\0';
    snprintf(text, sizeof text, "@a\n%s\n+\n%s\n", bases, bases);
    struct gn_text whole = {"x.fq", text, strlen(text), 1, 1};
    struct gn_batch batch;
    struct sy_error error = {0};
    assert_true(gn_fastq_parse(&whole, NULL, 0, NULL, 0, &batch, &error) < 0);
    assert_non_null(strstr(error.hint, "short reads"));
}

static void test_mates_differ(void **state) {
    (void)state;
    char a[] = ONE TWO, b[] = ONE "@c\nA\n+\nI\n", c[] = ONE;
    struct gn_text first = {"1.fq", a, strlen(a), 1, 2}, other = {"2.fq", b, strlen(b), 1, 2},
                   shorter = {"2.fq", c, strlen(c), 1, 1};
    struct gn_batch batch;
    struct sy_error error = {0};
    assert_true(gn_fastq_parse(&first, &other, 0, NULL, 0, &batch, &error) < 0);
    assert_string_equal(error.file, "2.fq");
    assert_int_equal(error.line, 5);
    assert_true(gn_fastq_parse(&first, &shorter, 0, NULL, 0, &batch, &error) < 0);
    assert_non_null(strstr(error.message, "ends before 1.fq"));
}

static void test_cut_gzip(void **state) {
    (void)state;
    for (size_t cut = 1; cut < 30; cut += 4) {
        char *path = write_file(ONE TWO ONE TWO, true, cut);
        struct gn_fastq *file;
        struct gn_text text = {0};
        struct sy_error error = {0};
        assert_true(read_all(path, 10, &text, &file, &error) < 0);
        assert_string_equal(error.file, path);
        assert_non_null(strstr(error.message, "too early"));
        drop(path, file, &text);
    }
}

static void test_no_file(void **state) {
    (void)state;
    struct gn_fastq *file;
    struct sy_error error = {0};
    assert_true(gn_fastq_open("/nowhere/r.fq", &file, &error) < 0);
    assert_non_null(strstr(error.message, "/nowhere/r.fq"));
    assert_true(gn_fastq_open("/", &file, &error) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),     cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_empty),     cmocka_unit_test(test_broken),
        cmocka_unit_test(test_long_read), cmocka_unit_test(test_mates_differ),
        cmocka_unit_test(test_cut_gzip),  cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
