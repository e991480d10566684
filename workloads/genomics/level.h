/* SPDX-License-Identifier: Apache-2.0
 *
 * Which vector instructions a kernel may use: what this processor has, or less where SYMPH_SIMD
 * (plain, avx2, avx512) says so. Every kernel has a plain variant with the same results.
 */
#ifndef GENOMICS_LEVEL_H
#define GENOMICS_LEVEL_H

enum gn_level { GN_PLAIN, GN_AVX2, GN_AVX512, GN_LEVEL_COUNT };

/* Cheap after the first call; any thread. GN_AVX2 implies FMA and BMI2, GN_AVX512 F, BW, VL and DQ.
 */
enum gn_level gn_level(void);
/* What the processor has, whatever SYMPH_SIMD says. */
enum gn_level gn_level_of_processor(void);
/* "plain", "avx2", "avx512". */
const char *gn_level_name(enum gn_level level);

#endif
