/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops with AVX2, 8 floats at once; see lanes.h.
 */
#if defined(__x86_64__)
#include "gnn/activate.h"
#include <immintrin.h>

enum { LANES = 8 };
#define VECTOR                     __m256
#define MASK                       __m256i
#define TARGET                     __attribute__((target("avx2,fma,bmi2")))
#define UNROLL                     _Pragma("GCC unroll 8")
#define ZERO()                     _mm256_setzero_ps()
#define SET(value)                 _mm256_set1_ps(value)
#define ADD(a, b)                  _mm256_add_ps(a, b)
#define FMA(a, b, c)               _mm256_fmadd_ps(a, b, c)
#define LOAD(from)                 _mm256_loadu_ps(from)
#define LOAD_SOME(mask, from)      _mm256_maskload_ps(from, mask)
#define STORE(to, vector)          _mm256_storeu_ps(to, vector)
#define STORE_SOME(to, mask, with) _mm256_maskstore_ps(to, mask, with)
#define MASK_OF(count)             mask_of(count)
#define SUM(vector)                sum(vector)

TARGET static inline __m256i mask_of(uint32_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

TARGET static inline float sum(__m256 vector) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(vector), _mm256_extractf128_ps(vector, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
#include "gnn/lanes.h"

const struct gnn_lanes gnn_lanes_avx2 = {gather, dots, activate};
#endif
