/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory and data of a session.
 *
 * In: sizes, pointers. Out: StarPU handles under small numbers that are given again. Memory is kept
 * per size, eight sizes to each power of two: to page-lock it takes longer than most tasks.
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

static void *take_memory(struct session *session, uint64_t bytes) {
    uint64_t size;
    uint32_t number = size_class(bytes, &size);
    void *pointer = session->free_memory[number];
    if (pointer) {
        memcpy(&session->free_memory[number], pointer, sizeof(void *));
        return pointer;
    }
    if (session->pinned) {
        return starpu_malloc(&pointer, size) == 0 ? pointer : NULL;
    }
    return posix_memalign(&pointer, ALIGNMENT, size) == 0 ? pointer : NULL;
}

static void give_memory(struct session *session, void *pointer, uint64_t bytes) {
    uint64_t size;
    uint32_t number = size_class(bytes, &size);
    memcpy(pointer, &session->free_memory[number], sizeof(void *));
    session->free_memory[number] = pointer;
}

/* --- guards -------------------------------------------------------------------------------------
 */
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

static void *allocate_guarded(struct session *session, uint64_t bytes) {
    struct allocation *allocation = malloc(sizeof *allocation);
    char *memory = allocation ? take_memory(session, bytes + 2 * SY_GUARD_BYTES) : NULL;
    if (!memory) {
        free(allocation);
        return NULL;
    }
    *allocation = (struct allocation){memory + SY_GUARD_BYTES, bytes};
    if (!tsearch(allocation, &session->allocations, compare_allocations)) {
        give_memory(session, memory, bytes + 2 * SY_GUARD_BYTES);
        free(allocation);
        return NULL;
    }
    sy_guard_set(allocation->pointer, bytes);
    return allocation->pointer;
}

static void release_guarded(struct session *session, void *pointer) {
    struct allocation *allocation = find_allocation(session, pointer);
    uint32_t before, behind;
    if (!allocation) {
        return; /* not ours, or given back before: to keep it would be worse */
    }
    if (!sy_guard_holds(pointer, allocation->bytes, &before, &behind)) {
        struct sy_error error = {0};
        sy_fail(&error, -EFAULT,
                "%u bytes %s memory of %llu bytes, which %s allocated, were "
                "overwritten",
                behind ? behind : before, behind ? "after the end of" : "before the start of",
                (unsigned long long)allocation->bytes, session->engine->request.spec);
        sy_engine_fail(session->engine, SY_BLAME_RUN, &error);
    }
    tdelete(allocation, &session->allocations, compare_allocations);
    give_memory(session, (char *)pointer - SY_GUARD_BYTES, allocation->bytes + 2 * SY_GUARD_BYTES);
    free(allocation);
}

const void *sy_session_guarded(const struct session *session, uint32_t datum, uint64_t *ret_bytes) {
    const struct session_datum *found = blocks_at(&session->data, datum);
    *ret_bytes = found->bytes;
    return found->guarded;
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

/* --- data ---------------------------------------------------------------------------------------
 */

struct session_datum *session_find_datum(const struct session *session, uint32_t datum) {
    struct session_datum *found =
        datum < session->data.count ? blocks_at(&session->data, datum) : NULL;
    return found && found->handle ? found : NULL;
}

int session_add_data(struct sy_session *base, const char *name, void *pointer, uint64_t bytes,
                     uint32_t *ret_datum) {
    struct session *session = session_of(base);
    if (bytes == 0) {
        return session_fail(session, -EINVAL, "datum %s has no bytes", name ? name : "");
    }
    uint32_t number = session->free_datum;
    struct session_datum *datum = NULL;
    if (number != SY_NONE) {
        datum = blocks_at(&session->data, number);
        session->free_datum = datum->next_free;
    } else {
        number = session->data.count;
        datum = blocks_add(&session->data);
    }
    if (!datum || sy_grow(&session->data_bytes, &session->recorded_capacity,
                          session->recorded_count + 1, sizeof(double))) {
        return session_fail(session, -ENOMEM, "no memory for %u data", session->data.count);
    }
    datum->used = false;
    datum->homeless = !pointer;
    const struct allocation *allocation = pointer ? find_allocation(session, pointer) : NULL;
    datum->guarded = allocation && allocation->bytes == bytes ? pointer : NULL;
    datum->piece_count = 0;
    snprintf(datum->name, sizeof datum->name, "%s", name ? name : "");
    datum->bytes = bytes;
    datum->recorded = session->recorded_count;
    session->data_bytes[session->recorded_count++] = (double)bytes;
    starpu_variable_data_register(&datum->handle, pointer ? STARPU_MAIN_RAM : -1,
                                  (uintptr_t)pointer, bytes);
    *ret_datum = number;
    return 0;
}

int session_record_pieces(struct session *session, uint32_t count, uint32_t *ret_first) {
    if (sy_grow(&session->data_bytes, &session->recorded_capacity, session->recorded_count + count,
                sizeof(double))) {
        return session_fail(session, -ENOMEM, "no memory for %u parts", count);
    }
    *ret_first = session->recorded_count;
    for (uint32_t i = 0; i < count; i++) {
        session->data_bytes[session->recorded_count++] = 0;
    }
    return 0;
}

void session_drop_data(struct sy_session *base, uint32_t number) {
    struct session *session = session_of(base);
    struct session_datum *datum = session_find_datum(session, number);
    if (datum) {
        starpu_data_unregister_no_coherency(datum->handle);
        datum->handle = NULL;
        datum->next_free = session->free_datum;
        session->free_datum = number;
    }
}

void session_drop_all(struct session *session) {
    for (uint32_t d = 0; d < session->data.count; d++) {
        session_drop_data(&session->base, d);
    }
}

/* Called by fault handlers, too. */
void sy_session_datum(const struct session *session, uint32_t datum, const char **ret_name,
                      uint64_t *ret_bytes) {
    const struct session_datum *found =
        datum < session->data.count ? blocks_at(&session->data, datum) : NULL;
    *ret_name = found && found->name[0] ? found->name : NULL;
    *ret_bytes = found ? found->bytes : 0;
}
