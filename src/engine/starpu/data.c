/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a run: one pinned block of host memory, cut into a piece per datum.
 *
 * In: sizes from the graph. Out: StarPU handles whose home is the block. Pinned, so that copies to
 * a GPU run beside kernels; one block, because pinning is slow per call. Invariant: a datum that
 * some task reads before any writes it has been filled; data of a run that is checked have guards.
 */
#include "engine/starpu/process.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 256u /* of each datum: what CUDA and vector units like */

static uint64_t size_of(const struct sy_graph *graph, uint32_t datum) {
    double bytes = ceil(graph->data_bytes[datum]);
    return bytes < 1 ? 1 : (uint64_t)bytes;
}

uint64_t sy_engine_datum_bytes(const struct sy_engine *engine, uint32_t datum) {
    return size_of(engine->graph, datum);
}

/* Room in the block, with its guards where there are some. */
static uint64_t room_of(const struct sy_engine *engine, uint32_t datum) {
    uint64_t guards = engine->request.check ? 2 * SY_GUARD_BYTES : 0;
    return (size_of(engine->graph, datum) + guards + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int check_memory(const struct sy_engine *engine, double need, struct sy_error *error) {
    double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (need < have * 0.9) {
        return 0;
    }
    sy_fail(error, -ENOMEM, "the data of %s need %.1f GB, this machine has %.1f GB",
            engine->request.spec, need / 1e9, have / 1e9);
    sy_hint(error, "make the problem smaller");
    return -ENOMEM;
}

int sy_engine_add_data(struct sy_engine *engine, struct sy_error *error) {
    const struct sy_graph *graph = engine->graph;
    double need = 0;
    for (uint32_t d = 0; d < graph->data_count; d++) {
        need += (double)room_of(engine, d);
    }
    int code = check_memory(engine, need, error);
    if (code < 0) {
        return code;
    }
    engine->pointers = sy_arena_alloc(engine->arena, graph->data_count + 1, sizeof(void *));
    engine->handles = sy_arena_alloc(engine->arena, graph->data_count + 1, sizeof *engine->handles);
    size_t total = ALIGNMENT;
    for (uint32_t d = 0; d < graph->data_count; d++) {
        total += room_of(engine, d);
    }
    if (!engine->pointers || !engine->handles || starpu_malloc(&engine->block, total) != 0) {
        return sy_fail(error, -ENOMEM, "no memory for %.1f MB of data", (double)total / 1e6);
    }
    char *at = engine->block;
    at += (ALIGNMENT - (uintptr_t)at % ALIGNMENT) % ALIGNMENT;
    for (uint32_t d = 0; d < graph->data_count; d++) {
        engine->pointers[d] = at;
        if (engine->request.check) {
            engine->pointers[d] = at + SY_GUARD_BYTES;
            sy_guard_set(engine->pointers[d], size_of(graph, d));
        }
        starpu_variable_data_register(&engine->handles[d], STARPU_MAIN_RAM,
                                      (uintptr_t)engine->pointers[d], size_of(graph, d));
        if (graph->is_explicit) {
            starpu_data_set_sequential_consistency_flag(engine->handles[d], 0);
        }
        at += room_of(engine, d);
    }
    return 0;
}

/* Small whole numbers, the same for the same datum everywhere: harmless as integers and as floats.
 */
static void fill_pattern(uint32_t datum, char *pointer, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) {
        pointer[i] = (char)(((i / 8) * 7 + datum) % 31 * (i % 8 == 0));
    }
}

int sy_engine_fill_data(struct sy_engine *engine, struct sy_error *error) {
    const struct sy_graph *graph = engine->graph;
    bool *read_first = sy_arena_alloc(engine->arena, graph->data_count + 1, sizeof *read_first);
    if (!read_first) {
        return sy_fail(error, -ENOMEM, "no memory for %u data", graph->data_count);
    }
    for (uint32_t a = 0; a < graph->access_count; a++) {
        if ((graph->accesses[a].mode & SY_READ) && graph->access_producer[a] == SY_NONE) {
            read_first[graph->accesses[a].datum] = true;
        }
    }
    for (uint32_t d = 0; d < graph->data_count; d++) {
        uint64_t bytes = size_of(graph, d);
        if (!read_first[d]) {
            continue;
        }
        int code = starpu_data_acquire(engine->handles[d], STARPU_W);
        if (!code && !engine->workload) {
            fill_pattern(d, engine->pointers[d], bytes);
        } else if (!code && engine->workload->fill) {
            sy_engine_doing(" while it filled the data of ", engine->request.spec);
            code = engine->workload->fill(engine->state, d, engine->pointers[d], bytes);
            sy_engine_leave();
        }
        if (code) {
            const char *name = graph->data_names[d];
            return sy_fail(error, code, "%s: datum %s cannot be filled: %s", engine->request.spec,
                           name ? name : "", strerror(code < 0 ? -code : code));
        }
        starpu_data_release(engine->handles[d]);
    }
    return 0;
}

int sy_engine_fetch_data(struct sy_engine *engine, struct sy_error *error) {
    for (uint32_t d = 0; d < engine->graph->data_count; d++) {
        if (starpu_data_acquire(engine->handles[d], STARPU_R) != 0) {
            return sy_fail(error, -EIO, "datum %u cannot be brought back to host memory", d);
        }
        starpu_data_release(engine->handles[d]);
    }
    return 0;
}
