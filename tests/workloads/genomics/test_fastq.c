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

static const struct gn_fastq_options single = {GN_ENDS_SINGLE, 33}, looks = {GN_ENDS_LOOK, 0};

static int read_all(const char *path, uint32_t records, struct gn_text *text,
                    struct gn_fastq **ret_file, struct sy_error *error) {
    assert_int_equal(gn_fastq_open(path, &single, ret_file, error), 0);
    return gn_fastq_next(*ret_file, records, text, error);
}

static void drop(char *path, struct gn_fastq *file, struct gn_text *text) {
    gn_text_finish(text);
    gn_fastq_close(file);
    unlink(path);
    free(path);
}

static struct gn_text text_of(const char *path, char *text, uint32_t records) {
    return (struct gn_text){.path = path,
                            .text = text,
                            .length = strlen(text),
                            .line = 1,
                            .records = records,
                            .phred = 33};
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
    assert_int_equal(gn_fastq_open(path, &single, &file, &error), 0);
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
        {"a\nAC\n+\nII\n", 1, "@"},
        {ONE "@b\nAC\nII\n+\n", 7, "+"},
        {"@a\nAC\n+\nI\n", 4, "2 bases"},
        {ONE "@b\nAC\n", 7, "within a record"},
        {"@a\nAC\n+\nI\x01\n", 4, "byte 0x01 is not a quality"},
        {">a\nACGT\n>b\nACGT\n", 1, "@"},
        {ONE "@b\nAC\x1b\n+\nIII\n", 6, "byte 0x1B is not a base"},
        {"@a\nA*C\n+\nIII\n", 2, "'*' is not a base"},
        {"@a\nA C\n+\nIII\n", 2, "byte 0x20 is not a base"},
        {"@a\nAC\n+\nI \n", 4, "byte 0x20 is not a quality"},
        {"@a\033]0;x\nAC\n+\nII\n", 1, "byte 0x1B in the name"},
        {ONE "@b\xc3\xa4\nAC\n+\nII\n", 5, "byte 0xC3 in the name"},
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
    struct gn_text whole = text_of("x.fq", text, 1);
    struct gn_batch batch;
    struct sy_error error = {0};
    assert_true(gn_fastq_parse(&whole, NULL, 0, NULL, 0, &batch, &error) < 0);
    assert_non_null(strstr(error.hint, "short reads"));
}

/* A zero among bases, which no string can show. */
static void test_zero(void **state) {
    (void)state;
    char text[] = "@a\nAC\0T\n+\nIIII\n";
    struct gn_text whole = text_of("x.fq", text, 1);
    struct gn_batch batch;
    struct sy_error error = {0};
    whole.length = sizeof text - 1;
    assert_true(gn_fastq_parse(&whole, NULL, 0, NULL, 0, &batch, &error) < 0);
    assert_non_null(strstr(error.message, "byte 0x00 is not a base"));
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 3);
}

/* IUPAC codes and dots are bases that are not known. */
static void test_unknown(void **state) {
    (void)state;
    char text[] = "@a\nRYnN.uxACGT\n+\nIIIIIIIIIII\n";
    struct gn_text whole = text_of("x.fq", text, 1);
    struct gn_batch batch;
    struct sy_error error = {0};
    assert_int_equal(gn_fastq_parse(&whole, NULL, 0, NULL, 0, &batch, &error), 0);
    assert_int_equal(((const struct gn_read *)gn_at(batch.reads, batch.reads->reads))->unknown, 7);
    gn_batch_finish(&batch);
}

/* Lines that are too long are noticed before they are all read: this one has no end. */
static void test_long_lines(void **state) {
    (void)state;
    static const struct {
        const char *before;
        uint32_t line;
        const char *word;
    } cases[] = {{"@a\n", 2, "more than 512 bases"},
                 {"@a\nAC\n+\n", 4, "more than 512 qualities"},
                 {"@", 1, "more than 8192 bytes"},
                 {"@a\nAC\n+", 3, "more than 8192 bytes"},
                 {"", 1, "begins with @"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[32];
        int ends[2];
        struct gn_fastq *file;
        struct gn_text text;
        struct sy_error error = {0};
        assert_int_equal(pipe(ends), 0);
        size_t size = strlen(cases[i].before) + 20000;
        char *bytes = malloc(size);
        memset(bytes, 'A', size);
        memcpy(bytes, cases[i].before, strlen(cases[i].before));
        assert_int_equal(write(ends[1], bytes, size), (ssize_t)size);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        assert_true(read_all(path, 10, &text, &file, &error) < 0); /* and does not wait for more */
        assert_int_equal(error.line, cases[i].line);
        assert_non_null(strstr(error.message, cases[i].word));
        gn_fastq_close(file);
        free(bytes);
        close(ends[0]);
        close(ends[1]);
    }
}

/* How a file is read that says nothing but its reads: "interleaved", "single" or what is wrong. */
static const char *look_at(const char *content, const struct gn_fastq_options *options) {
    static char answer[1100];
    char *path = write_file(content, false, 0);
    struct gn_fastq *file;
    struct gn_text text = {0};
    struct gn_batch batch;
    struct sy_error error = {0};
    assert_int_equal(gn_fastq_open(path, options, &file, &error), 0);
    int code = gn_fastq_next(file, 100, &text, &error);
    code = code ? code : gn_fastq_parse(&text, NULL, 0, NULL, 0, &batch, &error);
    if (code < 0) {
        snprintf(answer, sizeof answer, "%u: %s", error.line, error.message);
    } else {
        assert_true(batch.reads->paired == text.interleaved);
        snprintf(answer, sizeof answer, "%s %u", text.interleaved ? "interleaved" : "single",
                 batch.notes.qualities[0]);
        gn_batch_finish(&batch);
    }
    drop(path, file, &text);
    return answer;
}

#define READ(name) "@" name "\nACGT\n+\nIIII\n"

static void test_interleaved(void **state) {
    (void)state;
    static const struct gn_fastq_options forced = {GN_ENDS_INTERLEAVED, 0};
    assert_string_equal(look_at(READ("a/1") READ("a/2") READ("b/1") READ("b/2"), &looks),
                        "interleaved 40");
    assert_string_equal(look_at(READ("a") READ("a") READ("b") READ("b") "\n\n", &looks),
                        "interleaved 40");
    assert_string_equal(look_at(READ("a 1:N:0:A") READ("a 2:N:0:A"), &looks), "interleaved 40");
    /* Two reads of the first end, odd ones, all of one name, ends in the wrong order. */
    assert_string_equal(look_at(READ("a/1") READ("a/1"), &looks), "single 40");
    assert_string_equal(look_at(READ("a 1:N:0:A") READ("b 1:N:0:A"), &looks), "single 40");
    assert_string_equal(look_at(READ("a") READ("a") READ("b"), &looks), "single 40");
    assert_string_equal(look_at(READ("x") READ("x") READ("x") READ("x"), &looks), "single 40");
    assert_string_equal(look_at(READ("a/2") READ("a/1"), &looks), "single 40");
    assert_string_equal(look_at(READ("a/1") READ("a/2"), &single), "single 40");
    assert_string_equal(look_at(READ("a/1") READ("b/2"), &forced), "5: read 'b' follows 'a'");
    assert_string_equal(look_at(READ("a") READ("a") READ("b"), &forced),
                        "13: the file ends within a pair");
}

/* What is decided, and what comes, does not depend on how many are asked for at a time. */
static void test_interleaved_pieces(void **state) {
    (void)state;
    char *path = write_file(READ("a/1") READ("a/2") READ("b/1") READ("b/2") READ("c/1") READ("c/2"),
                            true, 0);
    struct gn_fastq *file;
    struct gn_text text;
    struct sy_error error = {0};
    assert_int_equal(gn_fastq_open(path, &looks, &file, &error), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(gn_fastq_next(file, 1, &text, &error), 0);
        assert_int_equal(text.records, 2);
        assert_int_equal(text.line, 8 * i + 1);
        assert_true(text.interleaved && !text.last);
        gn_text_finish(&text);
    }
    assert_int_equal(gn_fastq_next(file, 1, &text, &error), 0);
    assert_true(text.records == 0 && text.last);
    drop(path, file, &text);
}

static void test_phred(void **state) {
    (void)state;
    static const struct gn_fastq_options old = {GN_ENDS_SINGLE, 64}, usual = {GN_ENDS_SINGLE, 33};
    const char *text = "@a\nACGT\n+\nhgfB\n";
    assert_non_null(strstr(look_at(text, &looks), "look like Phred+64"));
    assert_string_equal(look_at(text, &old), "single 40");
    assert_string_equal(look_at(text, &usual), "single 71");
    assert_non_null(strstr(look_at("@a\nAC\n+\nh;\n", &old), "';' is not a quality"));
    /* Low ones, none above what is usual, or some that no old sequencer wrote. */
    assert_string_equal(look_at("@a\nACGT\n+\nhgf#\n", &looks), "single 71");
    assert_string_equal(look_at("@a\nACGT\n+\nJIIH\n", &looks), "single 41");
    assert_string_equal(look_at("@a\nACGT\n+\n~~~~\n", &looks), "single 93");
}

static void test_mates_differ(void **state) {
    (void)state;
    char a[] = ONE TWO, b[] = ONE "@c\nA\n+\nI\n", c[] = ONE;
    struct gn_text first = text_of("1.fq", a, 2), other = text_of("2.fq", b, 2),
                   shorter = text_of("2.fq", c, 1);
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
    assert_true(gn_fastq_open("/nowhere/r.fq", &single, &file, &error) < 0);
    assert_non_null(strstr(error.message, "/nowhere/r.fq"));
    assert_true(gn_fastq_open("/", &single, &file, &error) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_long_read),
        cmocka_unit_test(test_mates_differ),
        cmocka_unit_test(test_cut_gzip),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_interleaved_pieces),
        cmocka_unit_test(test_phred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
