/* SPDX-License-Identifier: Apache-2.0
 *
 * What each task of the run that has ended would take on each class of device.
 *
 * In: the cost model of the policy: ours, or StarPU's history. Out: a matrix for the record. Where
 * StarPU's history is still too short to say, the median of this run stands in.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <math.h>

/* What makes tasks alike lies side by side. */
#define LIKE_BYTES (sizeof(struct sy_engine_kernel *) + sizeof(struct sy_cost_features))
_Static_assert(offsetof(struct sy_engine_row, work) ==
                   offsetof(struct sy_engine_row, kernel) + LIKE_BYTES,
               "kernel and features");

/* Tasks of one kernel and one size are alike for the clock. */
int session_number_likes(struct session *session, uint32_t *ret_count) {
    struct sy_map seen = {0};
    uint32_t count = 0;
    int code = 0;
    for (uint32_t t = 0; t < session->rows.count && !code; t++) {
        struct sy_engine_row *row = session_row(session, t);
        if (!sy_map_get(&seen, (const char *)&row->kernel, LIKE_BYTES, &row->like)) {
            row->like = count++;
            code = sy_map_put(&seen, (const char *)&row->kernel, LIKE_BYTES, row->like);
        }
    }
    sy_map_finish(&seen);
    *ret_count = count;
    return code;
}

/* Tasks like this one, on one class. */
static struct sy_cell *cell_of(const struct sy_engine *engine, struct sy_store *ran, uint32_t task,
                               uint32_t class_index) {
    const struct sy_engine_row *row = session_row(engine->session, task);
    return sy_store_cell(ran, row->kernel->name, engine->machine->classes[class_index].name,
                         row->features.bytes, row->features.flops, 0);
}

/* Times of this run; NULL when out of memory. */
static struct sy_store *measure(const struct sy_engine *engine, const struct sy_record *record) {
    struct sy_store *ran = sy_store_create();
    for (uint32_t t = 0; ran && t < engine->graph->task_count; t++) {
        const struct sy_record_task *task = &record->tasks[t];
        if (task->device == SY_NONE) {
            continue;
        }
        struct sy_cell *cell =
            cell_of(engine, ran, t, engine->machine->devices[task->device].class_index);
        if (cell) {
            sy_cell_observe(cell, sy_record_took_ns(task));
        }
    }
    return ran;
}

static double estimate_ns(const struct sy_engine *engine, struct sy_store *ran, uint32_t task,
                          uint32_t class_index) {
    uint32_t worker = engine->machine->classes[class_index].first_device;
    const struct sy_engine_row *row = session_row(engine->session, task);
    if (worker >= engine->worker_count) {
        return NAN;
    }
    if (!row->kernel->entry->functions[engine->workers[worker].flavour]) {
        return INFINITY;
    }
    if (engine->ours) {
        uint32_t footprint = row->starpu ? starpu_task_data_footprint(row->starpu) : row->footprint;
        return sy_starpu_estimate_ns(row->kernel->codelet.name, row->features.bytes,
                                     row->features.flops, footprint, worker);
    }
    struct starpu_perfmodel_arch *arch =
        starpu_worker_get_perf_archtype((int)worker, STARPU_NMAX_SCHED_CTXS);
    double us = row->starpu ? starpu_task_expected_length(row->starpu, arch, 0) : NAN;
    const struct sy_cell *cell = us > 0 ? NULL : cell_of(engine, ran, task, class_index);
    return us > 0 ? us * 1e3 : cell ? cell->median_ns : NAN;
}

int sy_engine_add_model(struct sy_engine *engine, struct sy_record *record) {
    size_t classes = engine->machine->class_count, count = engine->graph->task_count;
    struct sy_store *ran = measure(engine, record);
    record->model_ns = sy_arena_alloc(record->arena, count * classes + 1, sizeof(double));
    if (!ran || !record->model_ns) {
        sy_store_close(ran);
        return -ENOMEM;
    }
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t c = 0; c < classes; c++) {
            record->model_ns[t * classes + c] = estimate_ns(engine, ran, t, c);
        }
    }
    sy_store_close(ran);
    return sy_record_set_times(record);
}
