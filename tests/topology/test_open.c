/* SPDX-License-Identifier: Apache-2.0
 *
 * Which reader is meant: "here", a file of any kind, or a line of text.
 */
#include "helpers.h"
#include <errno.h>
#include <unistd.h>

/* Writes text into a file of the given suffix and opens it as a machine. */
static int open_text(const char *suffix, const char *text, size_t length,
                     struct sy_machine **ret_machine, struct sy_error *error) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/symph-open-XXXXXX%s", suffix);
    int fd = mkstemps(path, (int)strlen(suffix));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), (ssize_t)length);
    close(fd);
    int code = sy_machine_open(path, ret_machine, error);
    unlink(path);
    return code;
}

static int open_string(const char *suffix, const char *text, struct sy_machine **ret_machine,
                       struct sy_error *error) {
    return open_text(suffix, text, strlen(text), ret_machine, error);
}

static void content_decides(void **state) {
    (void)state;
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(open_string(".txt", "cpu:3\ngpu:1\n", &machine, &error), 0);
    assert_int_equal(machine->device_count, 4);
    sy_machine_destroy(machine);
    struct sy_machine *source = parse("cpu:5");
    struct sy_buffer json = {0};
    sy_machine_write_json(source, &json);
    sy_machine_destroy(source);
    assert_int_equal(open_string(".data", json.text, &machine, &error), 0);
    assert_int_equal(machine->device_count, 5);
    assert_string_equal(machine->name, "cpu:5");
    sy_machine_destroy(machine);
    sy_buffer_finish(&json);
}

static void files_are_named_in_errors(void **state) {
    (void)state;
    static const struct {
        const char *suffix, *text;
        uint32_t line, column;
    } cases[] = {
        {".txt", "cpu:3\nxpu:1\n", 2, 1},
        {".json", "{\"schema\"", 1, 10},
        {".json", "cpu:3", 1, 1},
        {".xml", "<topology>", 1, 11},
        {".xml", "", 1, 1},
        {".csv", "junk", 1, 1},
        {".bus.csv", "# 1 CPU, 1 GPU\n", 1, 1},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        assert_int_equal(open_string(cases[i].suffix, cases[i].text, &machine, &error), -EINVAL);
        assert_null(machine);
        assert_non_null(strstr(error.file, "/tmp/symph-open-"));
        if (error.line != cases[i].line || error.column != cases[i].column) {
            fail_msg("%s: %u:%u %s", cases[i].text, error.line, error.column, error.message);
        }
    }
}

static void bytes_of_all_values(void **state) {
    (void)state;
    static const char *const suffixes[] = {".txt", ".json", ".xml", ".csv", ".bus.csv"};
    char bytes[256];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
    }
    for (size_t i = 0; i < SY_COUNT(suffixes); i++) {
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        assert_int_equal(open_text(suffixes[i], bytes, sizeof bytes, &machine, &error), -EINVAL);
        assert_null(machine);
    }
}

static void missing_files_are_said(void **state) {
    (void)state;
    static const char *const paths[] = {"no/such/machine", "nothing.json", "./x.xml", "y.csv",
                                        "z.bus.csv"};
    for (size_t i = 0; i < SY_COUNT(paths); i++) {
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        assert_int_equal(sy_machine_open(paths[i], &machine, &error), -ENOENT);
        assert_string_equal(error.file, paths[i]);
        assert_string_equal(error.message, "no such file");
    }
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    /* kernels without a bus beside them */
    assert_int_equal(open_string(".kernels.csv", "kernel\n", &machine, &error), -ENOENT);
    assert_non_null(strstr(error.file, ".bus.csv"));
    assert_int_equal(sy_machine_open("/tmp", &machine, &error), -EISDIR);
    assert_int_equal(sy_machine_open("", &machine, &error), -EINVAL);
    assert_null(machine);
}

static void a_slash_is_no_path(void **state) {
    (void)state;
    struct sy_machine *machine = open_machine("cpu:4 dram:40GB/s");
    assert_int_equal(machine->device_count, 4);
    sy_machine_destroy(machine);
    sy_machine_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_decides),     cmocka_unit_test(files_are_named_in_errors),
        cmocka_unit_test(bytes_of_all_values), cmocka_unit_test(missing_files_are_said),
        cmocka_unit_test(a_slash_is_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
