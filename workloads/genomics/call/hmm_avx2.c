/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM, eight pairs at once. Where haplotypes are mixed, a row's base is a word whose bit 31 - b
 * says that base b agrees; shifted left by the haplotype's base, its sign decides.
 */
#if defined(__x86_64__)
#include "genomics/call/hmm_rows.h"
#include <immintrin.h>

enum { LANES = 8, TILE = 4 };
#define VECTOR          __m256
#define INTEGERS        __m256i
#define TARGET          __attribute__((target("avx2,fma")))
#define UNROLL          _Pragma("GCC unroll 8")
#define ZERO()          _mm256_setzero_ps()
#define SET(value)      _mm256_set1_ps(value)
#define FMA(a, b, c)    _mm256_fmadd_ps(a, b, c)
#define MUL(a, b)       _mm256_mul_ps(a, b)
#define ADD(a, b)       _mm256_add_ps(a, b)
#define STORE(to, from) _mm256_storeu_ps(to, from)
#define CODE(base)      (base)
#define CHOOSE(row, base)                                                                          \
    _mm256_blendv_ps((row)[1], (row)[0],                                                           \
                     _mm256_castsi256_ps(_mm256_sllv_epi32(_mm256_castps_si256((row)[2]), base)))
#include "genomics/call/hmm_lanes.h"

const struct gn_hmm_variant gn_hmm_avx2 = {LANES, TILE, alike, mixed};
#endif
