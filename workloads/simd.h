/* SPDX-License-Identifier: Apache-2.0
 *
 * Which vector instructions a kernel may use: what this processor has, or less where SYMPH_SIMD
 * (plain, avx2, avx512) says so. Every kernel has a plain variant with the same results, floats up
 * to rounding.
 */
#ifndef GUEST_SIMD_H
#define GUEST_SIMD_H

enum guest_simd { GUEST_PLAIN, GUEST_AVX2, GUEST_AVX512, GUEST_SIMD_COUNT };

/* Cheap after the first call; any thread. GUEST_AVX2 implies FMA and BMI2, GUEST_AVX512 F, BW, VL
 * and DQ. */
enum guest_simd guest_simd(void);
/* What the processor has, whatever SYMPH_SIMD says. */
enum guest_simd guest_simd_of_processor(void);
/* "plain", "avx2", "avx512". */
const char *guest_simd_name(enum guest_simd level);

#endif
