/* SPDX-License-Identifier: Apache-2.0 */
#include "base/elf_file.h"
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_program_is_read(void **state) {
    (void)state;
    struct sy_elf elf = {0};
    bool found = false;
    assert_int_equal(sy_elf_read_file("/proc/self/exe", &elf), 0);
    assert_int_equal(elf.interpreter[0], '/');
    assert_int_equal(access(elf.interpreter, X_OK), 0);
    for (uint32_t i = 0; i < elf.needed_count; i++) {
        found |= strncmp(elf.needed[i], "libcmocka.so", 12) == 0;
    }
    assert_true(found);
    assert_true(sy_elf_names(&elf, "_cmocka_run_group_tests"));
    assert_false(sy_elf_names(&elf, "sy_kernel_plugin"));
    sy_elf_finish(&elf);
    assert_null(elf.strings);
}

static void what_is_no_program_is_refused(void **state) {
    (void)state;
    struct sy_elf elf;
    char *text;
    size_t length;
    assert_int_equal(sy_elf_read_file("/no/such/file", &elf), -ENOENT);
    assert_int_equal(sy_elf_read_file("/", &elf), -ENOEXEC);
    assert_int_equal(sy_elf_read_file("/dev/zero", &elf), -ENOEXEC);
    assert_int_equal(sy_elf_read_text("", 0, &elf), -ENOEXEC);
    assert_int_equal(sy_read_file("/proc/self/exe", &text, &length, NULL), 0);
    assert_int_equal(sy_elf_read_text(text, length, &elf), 0);
    sy_elf_finish(&elf);
    assert_int_equal(sy_elf_read_text(text, 100, &elf), -ENOEXEC);
    text[18] ^= 0x55; /* another machine */
    assert_int_equal(sy_elf_read_text(text, length, &elf), -ENOEXEC);
    free(text);
}

static uint64_t identity_of(const char *path) {
    uint64_t identity = 0;
    assert_int_equal(sy_elf_identity(path, &identity), 0);
    assert_true(identity != 0);
    return identity;
}

static void identity_follows_the_contents(void **state) {
    (void)state;
    char path[] = "/tmp/symph-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    uint64_t empty = identity_of(path);
    assert_int_equal(write(fd, "one", 3), 3);
    uint64_t one = identity_of(path);
    assert_int_equal(pwrite(fd, "two", 3, 0), 3);
    uint64_t two = identity_of(path);
    assert_int_equal(pwrite(fd, "one", 3, 0), 3);
    assert_true(empty != one && one != two);
    assert_true(identity_of(path) == one); /* whatever the time of its change */
    /* Blocks that change places are another file. */
    assert_int_equal(ftruncate(fd, 3 * 65536), 0);
    assert_int_equal(pwrite(fd, "one", 3, 65536), 3);
    uint64_t first = identity_of(path);
    assert_int_equal(pwrite(fd, "two", 3, 65536), 3);
    assert_int_equal(pwrite(fd, "one", 3, 2 * 65536), 3);
    assert_true(identity_of(path) != first);
    close(fd);
    unlink(path);
    assert_int_equal(sy_elf_identity(path, &first), -ENOENT);
    assert_true(identity_of("/proc/self/exe") == identity_of("/proc/self/exe"));
}

static void what_is_loaded_has_an_identity(void **state) {
    (void)state;
    struct sy_elf elf = {0};
    assert_int_equal(sy_elf_read_file("/proc/self/exe", &elf), 0);
    uint64_t identity = sy_elf_loaded_identity((const void *)(uintptr_t)a_program_is_read);
    assert_true(identity == (elf.build_id_length ? identity_of("/proc/self/exe") : 0));
    int here = 0;
    assert_true(sy_elf_loaded_identity(&here) == 0);
    assert_true(sy_elf_loaded_identity(NULL) == 0);
    sy_elf_finish(&elf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_read),
        cmocka_unit_test(what_is_no_program_is_refused),
        cmocka_unit_test(identity_follows_the_contents),
        cmocka_unit_test(what_is_loaded_has_an_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
