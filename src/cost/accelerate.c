/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up accelerators: a speed-up per (seed, kernel name, kind), the same on every machine.
 *
 * Invariant: the numbers are part of published results; the purpose constant, the hash and the
 * range must never change.
 */
#include "cost/cost.h"
#include <math.h>
#include <string.h>

#define PURPOSE_ACCELERATE 0x61636365u
#define SPEEDUP_MIN        0.3
#define SPEEDUP_MAX        31.0

double sy_cost_accelerate(uint64_t seed, const char *kernel, enum sy_device_kind kind) {
    if (kind == SY_CPU) {
        return 1;
    }
    /* An odd multiplier spreads the kinds over all bits: a name's kinds are unrelated streams. */
    uint64_t index = sy_hash(kernel, strlen(kernel)) + (uint64_t)kind * 0x9E3779B97F4A7C15u;
    struct sy_rng rng = sy_rng_make(seed, PURPOSE_ACCELERATE, index);
    return SPEEDUP_MIN * pow(SPEEDUP_MAX / SPEEDUP_MIN, sy_rng_uniform(&rng));
}
