/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory and data of a session.
 *
 * In: sizes, pointers. Out: StarPU handles under the numbers that data have in the record. Memory
 * is kept per size, eight sizes to each power of two: to page-lock it takes longer than most tasks.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256u /* what CUDA and vector units like */
#define STEP_BITS 3u   /* sizes per power of two, as a power of two */

/* The smallest size that holds so many bytes, and its number. */
static uint32_t size_class(uint64_t bytes, uint64_t *ret_size) {
    uint64_t need = bytes < ALIGNMENT ? ALIGNMENT : bytes;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(need) - STEP_BITS;
    uint64_t steps = (need >> shift) + ((need & ((UINT64_C(1) << shift) - 1)) != 0);
    *ret_size = steps << shift;
    return (shift << STEP_BITS) + (uint32_t)(steps - (UINT64_C(1) << STEP_BITS));
}

static void *fresh_memory(const struct session *session, uint64_t bytes) {
    void *pointer = NULL;
    if (session->pinned) {
        return starpu_malloc(&pointer, bytes) == 0 ? pointer : NULL;
    }
    return posix_memalign(&pointer, ALIGNMENT, bytes) == 0 ? pointer : NULL;
}

static void *take_memory(struct session *session, uint64_t bytes) {
    uint64_t size;
    uint32_t number = size_class(bytes, &size);
    void *pointer = session->free_memory[number];
    if (!pointer) {
        return fresh_memory(session, size);
    }
    memcpy(&session->free_memory[number], pointer, sizeof(void *));
    return pointer;
}

static void give_memory(struct session *session, void *pointer, uint64_t bytes) {
    uint64_t size;
    uint32_t number = size_class(bytes, &size);
    memcpy(pointer, &session->free_memory[number], sizeof(void *));
    session->free_memory[number] = pointer;
}

/* --- guards -------------------------------------------------------------------------------------
 * Bytes of a known pattern before and behind data in host memory, so that a kernel which writes
 * past its data is found out: after each call of a C function, and once more at the end, when
 * nobody can be named. Copies in a device's memory are StarPU's and have none. */
#define GUARD_BYTES 256u

static void make_pattern(unsigned char *pattern) {
    for (uint32_t i = 0; i < GUARD_BYTES; i++) {
        pattern[i] = (unsigned char)(0xd6 ^ (i * 29));
    }
}

static void set_guards(void *pointer, uint64_t bytes) {
    unsigned char pattern[GUARD_BYTES];
    make_pattern(pattern);
    memcpy((char *)pointer - GUARD_BYTES, pattern, sizeof pattern);
    memcpy((char *)pointer + bytes, pattern, sizeof pattern);
}

/* False: so many bytes before it, or behind its end, up to the farthest, were overwritten. */
static bool guards_hold(const void *pointer, uint64_t bytes, uint32_t *ret_before,
                        uint32_t *ret_behind) {
    unsigned char pattern[GUARD_BYTES];
    const unsigned char *before = (const unsigned char *)pointer - GUARD_BYTES;
    const unsigned char *behind = (const unsigned char *)pointer + bytes;
    make_pattern(pattern);
    if (memcmp(before, pattern, sizeof pattern) == 0 &&
        memcmp(behind, pattern, sizeof pattern) == 0) {
        return true;
    }
    *ret_before = *ret_behind = 0;
    for (uint32_t i = 0; i < GUARD_BYTES; i++) {
        if (before[i] != pattern[i] && *ret_before == 0) {
            *ret_before = GUARD_BYTES - i;
        }
        *ret_behind = behind[i] != pattern[i] ? i + 1 : *ret_behind;
    }
    return false;
}

struct allocation {
    void *pointer; /* what the driver sees; guards before and behind */
    uint64_t bytes;
};

static int compare_allocations(const void *left, const void *right) {
    const struct allocation *a = left, *b = right;
    return ((uintptr_t)a->pointer > (uintptr_t)b->pointer) -
           ((uintptr_t)a->pointer < (uintptr_t)b->pointer);
}

static struct allocation *find_allocation(const struct session *session, const void *pointer) {
    const struct allocation wanted = {.pointer = (void *)(uintptr_t)pointer};
    struct allocation *const *found = tfind(&wanted, &session->allocations, compare_allocations);
    return found ? *found : NULL;
}

/* Memory between room for two guards. -ENOMEM. */
static int guard(struct session *session, void *pointer, uint64_t bytes) {
    struct allocation *allocation = malloc(sizeof *allocation);
    if (allocation) {
        *allocation = (struct allocation){pointer, bytes};
    }
    if (!allocation || !tsearch(allocation, &session->allocations, compare_allocations)) {
        free(allocation);
        return -ENOMEM;
    }
    set_guards(pointer, bytes);
    return 0;
}

static void *allocate_guarded(struct session *session, uint64_t bytes) {
    char *memory = take_memory(session, bytes + 2 * GUARD_BYTES);
    if (memory && guard(session, memory + GUARD_BYTES, bytes) < 0) {
        give_memory(session, memory, bytes + 2 * GUARD_BYTES);
        return NULL;
    }
    return memory ? memory + GUARD_BYTES : NULL;
}

static void release_guarded(struct session *session, void *pointer) {
    struct allocation *allocation = find_allocation(session, pointer);
    uint32_t before, behind;
    if (!allocation) {
        return; /* not ours, or given back before: to keep it would be worse */
    }
    if (!guards_hold(pointer, allocation->bytes, &before, &behind)) {
        struct sy_error error = {0};
        sy_fail(&error, -EFAULT,
                "%u bytes %s memory of %llu bytes, which %s allocated, were "
                "overwritten",
                behind ? behind : before, behind ? "after the end of" : "before the start of",
                (unsigned long long)allocation->bytes, session->engine->request.spec);
        sy_engine_fail(session->engine, SY_BLAME_RUN, &error);
    }
    tdelete(allocation, &session->allocations, compare_allocations);
    give_memory(session, (char *)pointer - GUARD_BYTES, allocation->bytes + 2 * GUARD_BYTES);
    free(allocation);
}

/* --- memory -------------------------------------------------------------------------------------
 */
void *session_allocate(struct sy_session *base, uint64_t bytes) {
    struct session *session = session_of(base);
    if (bytes > UINT64_C(1) << 60) {
        return NULL;
    }
    return session->engine->request.check ? allocate_guarded(session, bytes)
                                          : take_memory(session, bytes);
}

void session_release(struct sy_session *base, void *pointer, uint64_t bytes) {
    struct session *session = session_of(base);
    if (pointer && session->engine->request.check) {
        release_guarded(session, pointer);
    } else if (pointer) {
        give_memory(session, pointer, bytes);
    }
}

/* Pinning takes long per call. */
int session_allocate_all(struct session *session, const uint64_t *bytes, uint32_t count,
                         void **ret_pointers) {
    uint64_t guards = session->engine->request.check ? GUARD_BYTES : 0, total = ALIGNMENT;
    for (uint32_t i = 0; i < count; i++) {
        total += (bytes[i] + 2 * guards + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    char *at = fresh_memory(session, total);
    if (!at) {
        return -ENOMEM;
    }
    at += (ALIGNMENT - (uintptr_t)at % ALIGNMENT) % ALIGNMENT;
    for (uint32_t i = 0; i < count; i++) {
        ret_pointers[i] = at + guards;
        if (guards && guard(session, at + guards, bytes[i]) < 0) {
            return -ENOMEM;
        }
        at += (bytes[i] + 2 * guards + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return 0;
}

/* --- data ---------------------------------------------------------------------------------------
 */

/* NULL when out of memory. */
static struct session_datum *record_datum(struct session *session, uint64_t bytes) {
    struct session_datum *datum = blocks_add(&session->data);
    sy_data_id id;
    bool recorded =
        datum && (session->driver->known ||
                  sy_graph_add_data(session->engine->graph, NULL, (double)bytes, &id) == 0);
    return recorded ? datum : NULL;
}

int session_add_data(struct sy_session *base, const char *name, void *pointer, uint64_t bytes,
                     uint32_t *ret_datum) {
    struct session *session = session_of(base);
    if (bytes == 0) {
        return session_fail(session, -EINVAL, "datum %s has no bytes", name ? name : "");
    }
    struct session_datum *datum = record_datum(session, bytes);
    const char *copy = name ? sy_arena_strdup(session->engine->arena, name) : NULL;
    if (!datum || (name && !copy)) {
        return session_fail(session, -ENOMEM, "no memory for %u data", session->data.count);
    }
    const struct allocation *allocation = pointer ? find_allocation(session, pointer) : NULL;
    *datum = (struct session_datum){
        .bytes = bytes,
        .name = copy,
        .guarded = allocation && allocation->bytes == bytes ? pointer : NULL,
        .homeless = !pointer,
    };
    starpu_variable_data_register(&datum->handle, pointer ? STARPU_MAIN_RAM : -1,
                                  (uintptr_t)pointer, bytes);
    *ret_datum = session->data.count - 1;
    return 0;
}

int session_record_pieces(struct session *session, uint32_t count, uint32_t *ret_first) {
    *ret_first = session->data.count;
    for (uint32_t i = 0; i < count; i++) {
        if (!record_datum(session, 0)) {
            return session_fail(session, -ENOMEM, "no memory for %u parts", count);
        }
    }
    return 0;
}

void session_drop_data(struct sy_session *base, uint32_t number) {
    struct session *session = session_of(base);
    struct session_datum *datum = session_find_datum(session, number);
    if (datum) {
        starpu_data_unregister_no_coherency(datum->handle);
        datum->handle = NULL;
    }
}

void session_check_call(struct sy_engine *engine, const struct sy_engine_worker *worker,
                        const struct sy_engine_slot *slot) {
    for (uint32_t a = 0; engine->request.check && a < slot->access_count; a++) {
        uint32_t before, behind, number = slot->accesses[a].datum;
        const struct session_datum *datum = blocks_at(&engine->session->data, number);
        /* What StarPU keeps elsewhere has no guards. */
        if (datum->guarded && datum->guarded == worker->arguments[a].pointer &&
            !guards_hold(datum->guarded, datum->bytes, &before, &behind)) {
            sy_engine_fail_guard(engine, worker, slot, number, before, behind);
        }
    }
}

/* What the driver has released is none of ours any more. */
void session_check_guards(struct session *session) {
    for (uint32_t d = 0; d < session->data.count; d++) {
        const struct session_datum *datum = blocks_at(&session->data, d);
        uint32_t before, behind;
        if (datum->handle && datum->guarded && find_allocation(session, datum->guarded) &&
            !guards_hold(datum->guarded, datum->bytes, &before, &behind)) {
            sy_engine_fail_guard(session->engine, NULL, NULL, d, before, behind);
        }
    }
}

void session_drop_all(struct session *session) {
    for (uint32_t d = 0; d < session->data.count; d++) {
        session_drop_data(&session->base, d);
    }
}
