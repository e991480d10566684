/* SPDX-License-Identifier: Apache-2.0
 *
 * Guards: bytes of a known pattern before and behind data in host memory, so that a kernel which
 * writes past its data is found out.
 *
 * In: memory that the engine allocated with room for guards. Out: how many bytes were overwritten.
 * Looked at after each call of a C function, and once more at the end, when nobody can be named.
 * Copies in a device's memory are StarPU's and have none.
 */
#include "engine/starpu/session.h"
#include <string.h>

static void make_pattern(unsigned char *pattern) {
    for (uint32_t i = 0; i < SY_GUARD_BYTES; i++) {
        pattern[i] = (unsigned char)(0xd6 ^ (i * 29));
    }
}

void sy_guard_set(void *pointer, uint64_t bytes) {
    unsigned char pattern[SY_GUARD_BYTES];
    make_pattern(pattern);
    memcpy((char *)pointer - SY_GUARD_BYTES, pattern, sizeof pattern);
    memcpy((char *)pointer + bytes, pattern, sizeof pattern);
}

bool sy_guard_holds(const void *pointer, uint64_t bytes, uint32_t *ret_before,
                    uint32_t *ret_behind) {
    unsigned char pattern[SY_GUARD_BYTES];
    const unsigned char *before = (const unsigned char *)pointer - SY_GUARD_BYTES;
    const unsigned char *behind = (const unsigned char *)pointer + bytes;
    make_pattern(pattern);
    if (memcmp(before, pattern, sizeof pattern) == 0 &&
        memcmp(behind, pattern, sizeof pattern) == 0) {
        return true;
    }
    *ret_before = *ret_behind = 0;
    for (uint32_t i = 0; i < SY_GUARD_BYTES; i++) {
        if (before[i] != pattern[i] && *ret_before == 0) {
            *ret_before = SY_GUARD_BYTES - i;
        }
        *ret_behind = behind[i] != pattern[i] ? i + 1 : *ret_behind;
    }
    return false;
}

void sy_engine_check_call(struct sy_engine *engine, const struct sy_engine_worker *worker,
                          const struct sy_engine_slot *slot) {
    for (uint32_t a = 0; engine->request.check && a < slot->access_count; a++) {
        uint32_t before, behind, number = slot->accesses[a].datum;
        const struct session_datum *datum = blocks_at(&engine->session->data, number);
        /* What StarPU keeps elsewhere has no guards. */
        if (datum->guarded && datum->guarded == worker->arguments[a].pointer &&
            !sy_guard_holds(datum->guarded, datum->bytes, &before, &behind)) {
            sy_engine_fail_guard(engine, worker, slot, number, before, behind);
        }
    }
}
