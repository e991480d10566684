/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch: one copy of a function per vector width. None of them fuses or reorders operations, so
 * that machines agree to the bit.
 */
#ifndef SY_BASE_DISPATCH_H
#define SY_BASE_DISPATCH_H

#define SY_INLINE static inline __attribute__((always_inline))
/* name(...) runs the widest copy of name_body that the processor has. Not by target_clones: its
 * symbols are seen from outside the library. */
#ifdef __x86_64__
#define SY_AVX2   __attribute__((target("avx2")))
#define SY_AVX512 __attribute__((target("avx2,avx512f,avx512vl,avx512dq")))
#define SY_DISPATCH(type, name, parameters, arguments)                                             \
    SY_AVX512 static type name##_avx512 parameters {                                               \
        return name##_body arguments;                                                              \
    }                                                                                              \
    SY_AVX2 static type name##_avx2 parameters {                                                   \
        return name##_body arguments;                                                              \
    }                                                                                              \
    type name parameters {                                                                         \
        if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {            \
            return name##_avx512 arguments;                                                        \
        }                                                                                          \
        return __builtin_cpu_supports("avx2") ? name##_avx2 arguments : name##_body arguments;     \
    }
#else
#define SY_DISPATCH(type, name, parameters, arguments)                                             \
    type name parameters {                                                                         \
        return name##_body arguments;                                                              \
    }
#endif
/* The same of a function that only its file sees. */
#define SY_DISPATCH_LOCAL(type, name, parameters, arguments)                                       \
    static type name parameters;                                                                   \
    SY_DISPATCH(type, name, parameters, arguments)

#endif
