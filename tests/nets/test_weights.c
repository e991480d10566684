/* SPDX-License-Identifier: Apache-2.0 */
#include "nets/nets.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT  37
#define ORIGIN "command symph train --seed 1\nseeds 1,2,3\nscore 0.93 \xc2\xb1 0.01\n"

struct place {
    char folder[64], file[128];
};

static struct place make_place(void) {
    struct place place = {.folder = "/tmp/symph-test-weights-XXXXXX"};
    assert_non_null(mkdtemp(place.folder));
    snprintf(place.file, sizeof place.file, "%s/my.weights", place.folder);
    return place;
}

static void remove_place(const struct place *place) {
    unlink(place->file);
    assert_int_equal(rmdir(place->folder), 0); /* nothing else was left */
}

static const float *some_floats(void) {
    static float block[COUNT];
    for (int i = 0; i < COUNT; i++) {
        block[i] = (float)(i - 5) * 0.37f;
    }
    block[3] = -0.0f;
    block[4] = 1e-45f;
    block[5] = 3.4e38f;
    return block;
}

static struct sy_weights some_weights(void) {
    return (struct sy_weights){
        .kind = "symphony", .shape = 3, .block = some_floats(), .count = COUNT, .origin = ORIGIN};
}

/* Aligned as parse wants it, and of its exact size, so that a sanitizer sees a step outside. */
static void *aligned(size_t size) {
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, size ? size : 1), 0);
    return memory;
}

/* A whole file in memory that parse takes; *ret_size bytes of it. */
static char *whole(const struct sy_weights *weights, size_t *ret_size) {
    struct place place = make_place();
    struct sy_error error = {0};
    char *text;
    assert_int_equal(sy_weights_write(place.file, weights, &error), 0);
    assert_int_equal(sy_read_file(place.file, &text, ret_size, &error), 0);
    char *copy = aligned(*ret_size);
    memcpy(copy, text, *ret_size);
    free(text);
    remove_place(&place);
    return copy;
}

static void assert_same(const struct sy_weights *got) {
    assert_string_equal(got->kind, "symphony");
    assert_int_equal(got->shape, 3);
    assert_int_equal(got->count, COUNT);
    assert_string_equal(got->origin, ORIGIN);
    assert_int_equal((uintptr_t)got->block % 64, 0);
    assert_memory_equal(got->block, some_floats(), COUNT * sizeof(float));
}

static void round_trip(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_weights weights = some_weights(), got;
    struct sy_error error = {0};
    assert_int_equal(sy_weights_write(place.file, &weights, &error), 0);
    assert_int_equal(sy_weights_open(place.file, &got, &error), 0);
    assert_same(&got);
    assert_int_equal(got.hash, sy_hash((const char *)weights.block, COUNT * sizeof(float)));
    /* What was read can be written again and gives the same bytes. */
    char *first, *second;
    size_t first_size, second_size;
    assert_int_equal(sy_read_file(place.file, &first, &first_size, &error), 0);
    assert_int_equal(sy_weights_write(place.file, &got, &error), 0);
    assert_int_equal(sy_read_file(place.file, &second, &second_size, &error), 0);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    free(first);
    free(second);
    sy_weights_close(&got);
    assert_null(got.block);
    sy_weights_close(&got);
    sy_weights_close(NULL);
    remove_place(&place);
}

/* The header may end at any place before a multiple of 64. */
static void every_header_length(void **state) {
    (void)state;
    for (size_t length = 0; length < 130; length++) {
        char origin[140];
        memset(origin, 'x', sizeof origin);
        memcpy(origin, "k ", 2);
        origin[length + 3] = '\0';
        struct sy_weights weights = some_weights(), got;
        weights.origin = length == 0 ? NULL : origin;
        size_t size;
        struct sy_error error = {0};
        char *bytes = whole(&weights, &size);
        assert_int_equal(sy_weights_parse(bytes, size, &got, &error), 0);
        assert_int_equal((uintptr_t)got.block % 64, 0);
        assert_int_equal(strlen(got.origin), length == 0 ? 0 : length + 4);
        free(bytes);
    }
}

/* Nobody's weights change when the file they came from is gone, cut or written over. */
static void file_vanishes(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_weights weights = some_weights(), got, missing = {.count = 7};
    struct sy_error error = {0};
    assert_int_equal(sy_weights_write(place.file, &weights, &error), 0);
    assert_int_equal(sy_weights_open(place.file, &got, &error), 0);
    assert_int_equal(truncate(place.file, 0), 0);
    assert_same(&got);
    unlink(place.file);
    assert_same(&got);
    assert_int_equal(sy_weights_open(place.file, &missing, &error), -ENOENT);
    assert_string_equal(error.file, place.file);
    assert_int_equal(missing.count, 7); /* written only on success */
    assert_int_equal(sy_weights_open(place.folder, &missing, &error), -EISDIR);
    sy_weights_close(&got);
    remove_place(&place);
}

static void truncated_anywhere(void **state) {
    (void)state;
    struct sy_weights weights = some_weights(), got = {.count = 7};
    size_t size;
    char *bytes = whole(&weights, &size);
    for (size_t cut = 0; cut < size; cut++) {
        void *part = aligned(cut);
        memcpy(part, bytes, cut);
        struct sy_error error = {0};
        assert_int_equal(sy_weights_parse(part, cut, &got, &error), -EINVAL);
        assert_true(error.message[0] && error.hint[0]);
        free(part);
    }
    assert_int_equal(got.count, 7);
    free(bytes);
}

static void longer(void **state) {
    (void)state;
    struct sy_weights weights = some_weights(), got;
    struct sy_error error = {0};
    size_t size;
    char *bytes = whole(&weights, &size), *more = aligned(size + 4);
    memcpy(more, bytes, size);
    memset(more + size, 0, 4);
    assert_int_equal(sy_weights_parse(more, size + 4, &got, &error), -EINVAL);
    free(bytes);
    free(more);
}

/* Whatever bit is turned: refused, or a change of the header's words that stands for itself. The
 * block, the count, the hash and the zeros cannot change unnoticed. */
static void flipped_anywhere(void **state) {
    (void)state;
    struct sy_weights weights = some_weights(), got;
    size_t size;
    char *bytes = whole(&weights, &size);
    size_t shape = (size_t)(strstr(bytes, "shape 3") - bytes) + 6;
    size_t origin = (size_t)(strstr(bytes, "command") - bytes), end = strlen(bytes);
    for (size_t at = 0; at < size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] = (char)(bytes[at] ^ (1 << bit));
            int code = sy_weights_parse(bytes, size, &got, NULL);
            assert_true(code == 0 || code == -EINVAL);
            if (code == 0) {
                assert_true(at == shape || (at >= origin && at < end));
                assert_int_equal(got.count, COUNT);
            }
            bytes[at] = (char)(bytes[at] ^ (1 << bit));
        }
    }
    assert_int_equal(sy_weights_parse(bytes, size, &got, NULL), 0);
    free(bytes);
}

/* A header in front of room for its floats, all 0, whose hash is right if it says HASH. */
static int parse_header(const char *header, size_t floats, struct sy_error *error) {
    size_t length = strlen(header), start = (length / 64 + 1) * 64, size = start + 4 * floats;
    char *bytes = aligned(size);
    memset(bytes, 0, size);
    memcpy(bytes, header, length);
    char *hash = strstr(bytes, "@@@@@@@@@@@@@@@@");
    if (hash) {
        char digits[17];
        snprintf(digits, sizeof digits, "%016llx",
                 (unsigned long long)sy_hash(bytes + start, 4 * floats));
        memcpy(hash, digits, 16);
    }
    struct sy_weights got;
    int code = sy_weights_parse(bytes, size, &got, error);
    free(bytes);
    return code;
}

#define HASH "hash @@@@@@@@@@@@@@@@\n"

static void bad_headers(void **state) {
    (void)state;
    static const struct {
        const char *header, *message;
        uint32_t line;
    } cases[] = {
        {"", "the header ends in the middle", 1},
        {"\n", "not a line \"key value\"", 1},
        {"symph-weights 2\nkind symphony\nshape 1\ncount 2\n" HASH, "version 2 of the format", 1},
        {"symph-weights x\n", "symph-weights must be a number", 1},
        {"weights 1\n", "expected \"symph-weights\"", 1},
        {"symph-weights 1\nkind cats\nshape 1\ncount 2\n" HASH, "weights of kind \"cats\"", 2},
        {"symph-weights 1\nkind symphony\nshape -1\ncount 2\n" HASH, "shape must be a number", 3},
        {"symph-weights 1\nkind symphony\nshape 4294967296\ncount 2\n" HASH, "shape must be", 3},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 0\n" HASH, "count must be a number", 4},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 262145\n" HASH, "count must be", 4},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 18446744073709551616\n" HASH, "count", 4},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 4611686018427387904\n" HASH, "count", 4},
        {"symph-weights 1\nkind symphony\ncount 2\nshape 1\n" HASH, "expected \"shape\"", 3},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\nhash 12\n", "16 hexadecimal", 5},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\nhash 000000000000000G\n", "16 hex", 5},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\nhash 0000000000000000\n", "hash", 0},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 3\n" HASH, "where the header promises", 0},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\n" HASH "\n", "not a line", 6},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\n" HASH "seed\n", "not a line", 6},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\n" HASH "seed \n", "not a line", 6},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\n" HASH "a b\x1b[2J\n", "not a line", 6},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\n" HASH "a \xff\n", "not a line", 6},
        {"symph-weights 1\nkind symphony\nshape 1\ncount 2\n" HASH "a b", "ends in the middle", 6},
        {"symph-weights 1\r\nkind symphony\r\n", "not a line", 1},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_error error = {0};
        assert_int_equal(parse_header(cases[i].header, 2, &error), -EINVAL);
        if (!strstr(error.message, cases[i].message) || error.line != cases[i].line) {
            fail_msg("header %zu: line %u: %s", i, error.line, error.message);
        }
    }
    assert_int_equal(
        parse_header("symph-weights 1\nkind symphony\nshape 1\ncount 2\n" HASH, 2, NULL), 0);
}

static void limits(void **state) {
    (void)state;
    const char *start = "symph-weights 1\nkind black-box\nshape 0\ncount 1\n" HASH "k ";
    struct sy_error error = {0};
    char *header = calloc(1, 40000);
    assert_non_null(header);
    for (int extra = 0; extra < 2; extra++) { /* a line of 1000 bytes, and one more */
        memset(header, 0, 40000);
        strcpy(header, start);
        memset(header + strlen(header), 'v', 998 + (size_t)extra);
        strcat(header, "\n");
        assert_int_equal(parse_header(header, 1, &error), extra ? -EINVAL : 0);
    }
    assert_non_null(strstr(error.message, "longer than"));
    while (strlen(header) < 20000) {
        strcat(header, "another line\n");
    }
    header[strlen(start) + 990] = '\n';
    header[strlen(start) + 991] = 'k';
    header[strlen(start) + 992] = ' ';
    assert_int_equal(parse_header(header, 1, &error), -EINVAL); /* more than the header may have */
    free(header);
    assert_int_equal(parse_header("symph-weights 1\nkind black-box\nshape 0\ncount 262144\n" HASH,
                                  SY_WEIGHTS_MAX, &error),
                     0);
}

/* With a right hash: a number that is none is refused for what it is. */
static void not_finite(void **state) {
    (void)state;
    const float odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < SY_COUNT(odd); i++) {
        struct sy_weights weights = some_weights(), got;
        struct sy_error error = {0};
        size_t size;
        char *bytes = whole(&weights, &size), digits[17];
        char *block = bytes + size - COUNT * sizeof(float);
        memcpy(block + 8, &odd[i], sizeof odd[i]);
        snprintf(digits, sizeof digits, "%016llx",
                 (unsigned long long)sy_hash(block, COUNT * sizeof(float)));
        memcpy(strstr(bytes, "hash ") + 5, digits, 16);
        assert_int_equal(sy_weights_parse(bytes, size, &got, &error), -EINVAL);
        assert_string_equal(error.message, "weight 2 is not a finite number");
        free(bytes);
    }
}

/* What could not be read again is not written, and the old file stays. */
static void bad_writes(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_error error = {0};
    struct sy_weights good = some_weights(), bad[6], got;
    float odd[COUNT] = {NAN};
    assert_int_equal(sy_weights_write(place.file, &good, &error), 0);
    for (size_t i = 0; i < SY_COUNT(bad); i++) {
        bad[i] = good;
    }
    bad[0].count = 0;
    bad[1].count = SY_WEIGHTS_MAX + 1;
    bad[2].block = odd;
    bad[3].kind = "cats";
    bad[4].origin = "no-value\n";
    bad[5].origin = "two lines\n\nand an empty one\n";
    for (size_t i = 0; i < SY_COUNT(bad); i++) {
        assert_int_equal(sy_weights_write(place.file, &bad[i], &error), -EINVAL);
        assert_string_equal(error.file, place.file);
        assert_int_equal(sy_weights_open(place.file, &got, &error), 0);
        assert_same(&got);
        sy_weights_close(&got);
    }
    assert_true(sy_weights_write("/nowhere/at/all.weights", &good, &error) < 0);
    remove_place(&place);
}

static void too_large(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_error error = {0};
    struct sy_weights weights = some_weights(), got;
    assert_int_equal(sy_weights_write(place.file, &weights, &error), 0);
    assert_int_equal(truncate(place.file, 1 << 30), 0); /* a hole, not a gigabyte */
    assert_int_equal(sy_weights_open(place.file, &got, &error), -EINVAL);
    assert_non_null(strstr(error.message, "too large"));
    assert_int_equal(sy_weights_open("/dev/zero", &got, &error), -EINVAL);
    remove_place(&place);
}

/* What comes with the program is what lies in data/weights. */
static void shipped(void **state) {
    (void)state;
    const char *folder = getenv("SYMPH_WEIGHTS"),
               *kinds[] = {"symphony", "symphony-paper", "black-box"};
    assert_null(sy_weights_shipped("cats"));
    for (size_t i = 0; i < SY_COUNT(kinds); i++) {
        const struct sy_weights *weights = sy_weights_shipped(kinds[i]);
        char path[512];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s.weights", folder ? folder : "data/weights", kinds[i]);
        if (stat(path, &info) < 0) {
            print_message("# no %s\n", path);
            assert_null(weights);
            continue;
        }
        struct sy_weights file;
        struct sy_error error = {0};
        assert_int_equal(sy_weights_open(path, &file, &error), 0);
        assert_non_null(weights);
        assert_string_equal(weights->kind, kinds[i]);
        assert_int_equal(weights->shape, file.shape);
        assert_int_equal(weights->count, file.count);
        assert_int_equal(weights->hash, file.hash);
        assert_string_equal(weights->origin, file.origin);
        assert_memory_equal(weights->block, file.block, file.count * sizeof(float));
        assert_int_equal((uintptr_t)weights->block % 64, 0);
        assert_true(info.st_size < 1 << 20);
        sy_weights_close(&file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),    cmocka_unit_test(every_header_length),
        cmocka_unit_test(file_vanishes), cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(longer),        cmocka_unit_test(flipped_anywhere),
        cmocka_unit_test(bad_headers),   cmocka_unit_test(limits),
        cmocka_unit_test(not_finite),    cmocka_unit_test(bad_writes),
        cmocka_unit_test(too_large),     cmocka_unit_test(shipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
