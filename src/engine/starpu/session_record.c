/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session ran, as a graph: so that pictures, tables, bounds and replays need not know of
 * sessions.
 *
 * In: a row per task, in order of submission. Out: the engine's graph and slots. Its edges follow
 * from the accesses in that order, as they did when it ran.
 */
#include "engine/starpu/session.h"
#include <errno.h>

struct sy_engine_times sy_session_times(const struct session *session, uint32_t task) {
    return ((const struct session_row *)blocks_at(&session->rows, task))->times;
}

static const struct session_row *row_at(const struct session *session, uint32_t task) {
    return blocks_at(&session->rows, task);
}

static uint32_t access_end(const struct session *session, uint32_t task) {
    return task + 1 < session->rows.count ? row_at(session, task + 1)->access_start
                                          : session->access_count;
}

/* Only what ran, in the order of first use. */
static int add_kernels(const struct session *session, struct sy_graph *graph, uint32_t *numbers) {
    const struct sy_engine *engine = session->engine;
    for (uint32_t k = 0; k < engine->kernel_count; k++) {
        numbers[k] = SY_NONE;
    }
    for (uint32_t t = 0; t < session->rows.count; t++) {
        uint32_t k = row_at(session, t)->kernel;
        if (numbers[k] == SY_NONE) {
            const struct sy_kernel_desc desc = {.name = engine->kernel_names[k]};
            sy_kernel_id id;
            int code = sy_graph_add_kernel(graph, &desc, &id);
            if (code < 0) {
                return code;
            }
            numbers[k] = id.index;
        }
    }
    return 0;
}

static int add_all(const struct session *session, struct sy_graph *graph, uint32_t *numbers) {
    int code = add_kernels(session, graph, numbers);
    for (uint32_t d = 0; d < session->recorded_count && !code; d++) {
        sy_data_id id;
        code = sy_graph_add_data(graph, NULL, session->data_bytes[d], &id);
    }
    for (uint32_t t = 0; t < session->rows.count && !code; t++) {
        const struct session_row *row = row_at(session, t);
        const struct sy_task_desc desc = {
            .name = row->name,
            .kernel = {numbers[row->kernel]},
            .work = row->work,
            .accesses = session->accesses + row->access_start,
            .access_count = access_end(session, t) - row->access_start,
        };
        sy_task_id id;
        code = sy_graph_add_task(graph, &desc, &id);
    }
    return code;
}

static int make_slots(struct sy_engine *engine) {
    const struct session *session = engine->session;
    engine->slots = sy_arena_alloc(engine->arena, session->rows.count + 1, sizeof *engine->slots);
    for (uint32_t t = 0; engine->slots && t < session->rows.count; t++) {
        const struct session_row *row = row_at(session, t);
        engine->slots[t] = (struct sy_engine_slot){.engine = engine,
                                                   .task = t,
                                                   .kernel = row->kernel,
                                                   .name = row->name,
                                                   .work = row->work,
                                                   .features = row->features,
                                                   .footprint = row->footprint};
    }
    return engine->slots ? 0 : -ENOMEM;
}

int sy_session_make_graph(struct sy_engine *engine, struct sy_error *error) {
    const struct session *session = engine->session;
    uint32_t *numbers = sy_arena_alloc(engine->arena, engine->kernel_count + 1, sizeof *numbers);
    const char *name = engine->pipeline ? engine->pipeline->name : engine->workload->name;
    engine->graph = sy_graph_create(name, false);
    if (!numbers || !engine->graph || make_slots(engine) < 0 ||
        add_all(session, engine->graph, numbers) < 0) {
        return sy_fail(error, -ENOMEM, "no memory for the record of %u tasks", session->rows.count);
    }
    int code = sy_graph_seal(engine->graph, error);
    return code < 0 ? code : sy_engine_number_likes(engine, session->rows.count, error);
}
