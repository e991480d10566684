/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the reader of weights files: what it takes is finite, lies inside the file and has the
 * hash it says. Each input is also tried with its hash made right, or hardly any would get past it.
 */
#include "nets/nets.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *bytes, size_t size) {
    struct sy_weights weights = {.count = 42};
    struct sy_error error = {0};
    if (sy_weights_parse(bytes, size, &weights, &error)) {
        SY_ASSERT(error.message[0] && weights.count == 42);
        return;
    }
    const char *block = (const char *)weights.block;
    SY_ASSERT(weights.count > 0 && weights.count <= SY_WEIGHTS_MAX);
    SY_ASSERT(block + weights.count * sizeof(float) == bytes + size);
    SY_ASSERT((uintptr_t)block % 64 == 0 && weights.origin > bytes);
    SY_ASSERT(weights.origin + strlen(weights.origin) < block);
    SY_ASSERT(sy_hash(block, weights.count * sizeof(float)) == weights.hash);
    for (uint32_t i = 0; i < weights.count; i++) {
        SY_ASSERT(isfinite(weights.block[i]));
    }
}

static void mend(char *bytes, size_t size) {
    const char *end = memchr(bytes, '\0', size);
    char *line = end ? strstr(bytes, "hash ") : NULL;
    size_t start = end ? ((size_t)(end - bytes) / 64 + 1) * 64 : size;
    if (line && line + 5 + 16 <= end && start < size) {
        char digits[17];
        snprintf(digits, sizeof digits, "%016llx",
                 (unsigned long long)sy_hash(bytes + start, size - start));
        memcpy(line + 5, digits, 16);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *copy = NULL;
    if (posix_memalign(&copy, 64, size > 0 ? size : 1)) {
        return 0;
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    check(copy, size);
    if (size > 0) {
        mend(copy, size);
        check(copy, size);
    }
    free(copy);
    return 0;
}
