/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM, sixteen pairs at once. Where haplotypes are mixed, a row's base is a word whose bit
 * 31 - b says that base b agrees, and the haplotype's is that bit.
 */
#if defined(__x86_64__)
#include "genomics/call/hmm_rows.h"
#include <immintrin.h>

enum { LANES = 16, TILE = 8 };
#define VECTOR          __m512
#define INTEGERS        __m512i
#define TARGET          __attribute__((target("avx512f,fma")))
#define UNROLL          _Pragma("GCC unroll 8")
#define ZERO()          _mm512_setzero_ps()
#define SET(value)      _mm512_set1_ps(value)
#define FMA(a, b, c)    _mm512_fmadd_ps(a, b, c)
#define MUL(a, b)       _mm512_mul_ps(a, b)
#define ADD(a, b)       _mm512_add_ps(a, b)
#define STORE(to, from) _mm512_storeu_ps(to, from)
#define CODE(base)      ((int32_t)(0x80000000u >> (base)))
#define CHOOSE(row, base)                                                                          \
    _mm512_mask_blend_ps(_mm512_test_epi32_mask(_mm512_castps_si512((row)[2]), base), (row)[1],    \
                         (row)[0])
#include "genomics/call/hmm_lanes.h"

const struct gn_hmm_variant gn_hmm_avx512 = {LANES, TILE, alike, mixed};
#endif
