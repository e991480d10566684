/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the processor what it has, once; SYMPH_SIMD can only lower it.
 */
#include "simd.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[GUEST_SIMD_COUNT] = {"plain", "avx2", "avx512"};

const char *guest_simd_name(enum guest_simd level) {
    return names[level];
}

enum guest_simd guest_simd_of_processor(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2")) {
        return GUEST_PLAIN;
    }
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return wide ? GUEST_AVX512 : GUEST_AVX2;
#else
    return GUEST_PLAIN;
#endif
}

enum guest_simd guest_simd(void) {
    static _Atomic int known = -1; /* the same whoever finds it first */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) {
        const char *asked = getenv("SYMPH_SIMD");
        level = (int)guest_simd_of_processor();
        for (int i = 0; asked && i < level; i++) {
            level = strcmp(asked, names[i]) == 0 ? i : level;
        }
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (enum guest_simd)level;
}
