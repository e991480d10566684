/* SPDX-License-Identifier: Apache-2.0
 *
 * Counter-based random numbers: Philox 4x32-10 (Salmon et al., SC'11) from Random123. A stream is
 * named by (seed, purpose, index), so that every simulated task can have its own without state.
 */
#include "base/eight.h"
#include <math.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

struct sy_rng sy_rng_make(uint64_t seed, uint32_t purpose, uint64_t index) {
    struct sy_rng rng = {.used = 4};
    rng.key[0] = (uint32_t)seed;
    rng.key[1] = (uint32_t)(seed >> 32);
    rng.counter[1] = purpose;
    rng.counter[2] = (uint32_t)index;
    rng.counter[3] = (uint32_t)(index >> 32);
    return rng;
}

uint32_t sy_rng_u32(struct sy_rng *rng) {
    if (rng->used == 4) {
        philox4x32_ctr_t counter = {
            {rng->counter[0], rng->counter[1], rng->counter[2], rng->counter[3]}};
        philox4x32_key_t key = {{rng->key[0], rng->key[1]}};
        philox4x32_ctr_t out = philox4x32(counter, key);
        for (int i = 0; i < 4; i++) {
            rng->out[i] = out.v[i];
        }
        rng->counter[0]++;
        rng->used = 0;
    }
    return rng->out[rng->used++];
}

double sy_rng_uniform(struct sy_rng *rng) {
    uint64_t high = sy_rng_u32(rng), low = sy_rng_u32(rng);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

uint32_t sy_rng_below(struct sy_rng *rng, uint32_t bound) {
    SY_ASSERT(bound > 0);
    /* No number is likelier than another by more than bound / 2^32: not worth a loop. */
    return (uint32_t)((uint64_t)sy_rng_u32(rng) * bound >> 32);
}

double sy_rng_normal(struct sy_rng *rng) {
    double radius = sqrt(-2 * log(1 - sy_rng_uniform(rng)));
    return radius * cos(6.283185307179586 * sy_rng_uniform(rng));
}

double sy_rng_exponential(struct sy_rng *rng) {
    return -log(1 - sy_rng_uniform(rng));
}

/* Bailey's polar method. */
double sy_rng_student(struct sy_rng *rng, uint32_t degrees) {
    SY_ASSERT(degrees > 0);
    double u = 1 - sy_rng_uniform(rng), angle = 6.283185307179586 * sy_rng_uniform(rng);
    double stretched = degrees == 4 ? 1 / sqrt(u) : pow(u, -2.0 / degrees);
    return sqrt(degrees * (stretched - 1)) * cos(angle);
}

/* The same, where u and the angle have 24 and 32 bits. */
SY_INLINE void students_body(const uint32_t *words, float *ret) {
    sy_eight_int first = *(const sy_eight_int *)words, second = *(const sy_eight_int *)(words + 8);
    sy_eight u = (__builtin_convertvector(first >> 8 & 0xffffff, sy_eight) + 1) * 0x1p-24f;
    sy_eight turn = __builtin_convertvector(second, sy_eight) * 0x1p-32f; /* -1/2 .. 1/2 */
    turn = 0.25f - (sy_eight)((sy_eight_int)turn & 0x7fffffff);
    /* cos(a) = sin(pi/2 - |a|), by its series: here to 6e-8 */
    sy_eight x = turn * 6.2831853f, square = x * x;
    sy_eight sine = square * -2.50521084e-8f + 2.75573192e-6f;
    sine = sine * square - 1.98412698e-4f;
    sine = sine * square + 8.33333333e-3f;
    sine = sine * square - 1.66666667e-1f;
    sine = x + x * square * sine;
    sy_eight_sqrt(&u);
    sy_eight radius = 4 * (1 / u - 1);
    sy_eight_sqrt(&radius);
    *(sy_eight *)ret = radius * sine;
}
SY_DISPATCH_LOCAL(void, students, (const uint32_t *words, float *ret), (words, ret))

void sy_rng_students(struct sy_rng *rng, float *ret_eight) {
    uint32_t words[16];
    for (uint32_t i = 0; i < SY_COUNT(words); i++) {
        words[i] = sy_rng_u32(rng);
    }
    students(words, ret_eight);
}
