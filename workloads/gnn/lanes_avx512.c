/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops with AVX-512, 16 floats at once; see lanes.h.
 */
#if defined(__x86_64__)
#include "gnn/activate.h"
#include <immintrin.h>

enum { LANES = 16 };
#define VECTOR                     __m512
#define MASK                       __mmask16
#define TARGET                     __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))
#define UNROLL                     _Pragma("GCC unroll 8")
#define ZERO()                     _mm512_setzero_ps()
#define SET(value)                 _mm512_set1_ps(value)
#define ADD(a, b)                  _mm512_add_ps(a, b)
#define FMA(a, b, c)               _mm512_fmadd_ps(a, b, c)
#define LOAD(from)                 _mm512_loadu_ps(from)
#define LOAD_SOME(mask, from)      _mm512_maskz_loadu_ps(mask, from)
#define STORE(to, vector)          _mm512_storeu_ps(to, vector)
#define STORE_SOME(to, mask, with) _mm512_mask_storeu_ps(to, mask, with)
#define MASK_OF(count)             ((__mmask16)((1u << (count)) - 1))
#define SUM(vector)                _mm512_reduce_add_ps(vector)
#include "gnn/lanes.h"

const struct gnn_lanes gnn_lanes_avx512 = {gather, dots, activate};
#endif
