/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs and shared objects, and the loader's cache, as bytes that anybody may have written. An
 * input that holds the cache's mark is taken as one, too.
 */
#include "base/elf_file.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_string(const struct sy_elf *elf, const char *text) {
    SY_ASSERT(!text || (text >= elf->strings && text < elf->strings + elf->string_bytes &&
                        strlen(text) <= elf->string_bytes));
}

static void check(const struct sy_elf *elf) {
    for (uint32_t i = 0; i < elf->needed_count; i++) {
        SY_ASSERT(elf->needed[i] && sy_elf_names(elf, elf->needed[i]));
        check_string(elf, elf->needed[i]);
    }
    check_string(elf, elf->soname);
    check_string(elf, elf->rpath);
    check_string(elf, elf->runpath);
    SY_ASSERT(elf->build_id_length <= SY_ELF_ID_MAX);
    SY_ASSERT(!elf->interpreter || strlen(elf->interpreter) < 4096);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sy_elf elf = {0};
    if (sy_elf_read_text((const char *)data, size, &elf) == 0) {
        check(&elf);
        sy_elf_finish(&elf);
    }
    char *text = malloc(size + 1);
    if (text) {
        uint32_t at = 0;
        memcpy(text, data, size);
        text[size] = '\0';
        for (const char *path; (path = sy_elf_cache_find(text, size, "libc.so.6", &at));) {
            SY_ASSERT(strlen(path) <= size);
        }
        free(text);
    }
    return 0;
}
