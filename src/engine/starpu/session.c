/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: a driver submits tasks to StarPU as it goes.
 *
 * In: symph/session.h. Out: kernels, jobs, notes; the call of the driver.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MORE_KERNELS 64u /* of other plug-ins */

void *blocks_add(struct blocks *blocks) {
    uint32_t block = blocks->count / BLOCK_ITEMS;
    if (block >= BLOCK_COUNT) {
        return NULL;
    }
    if (!blocks->items[block]) {
        blocks->items[block] = calloc(BLOCK_ITEMS, blocks->item_bytes);
    }
    if (!blocks->items[block]) {
        return NULL;
    }
    return blocks_at(blocks, blocks->count++);
}

int session_fail(struct session *session, int code, const char *format, ...) {
    char text[sizeof session->error.message];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return sy_fail(&session->error, code, "%s", text);
}

/* --- kernels ------------------------------------------------------------------------------------
 */
int session_add_kernel(struct session *session, const struct sy_kernel_entry *entry,
                       const char *name) {
    struct sy_engine *engine = session->engine;
    uint32_t number = engine->kernel_count;
    const char *key = sy_arena_strdup(engine->arena, name);
    if (number >= engine->kernel_capacity) {
        return session_fail(session, -ENOSPC, "kernel %s: too many kernels of other plug-ins",
                            name);
    }
    if (!key || sy_map_put(&session->kernels, key, strlen(key), number) < 0) {
        return session_fail(session, -ENOMEM, "no memory for kernel %s", name);
    }
    engine->kernels[number] =
        (struct sy_engine_kernel){.entry = entry,
                                  .name = key,
                                  .build = sy_kernel_set_build(engine->plugins, entry),
                                  .recorded = SY_NONE};
    engine->kernel_count++;
    return 0;
}

int session_find_kernel(struct session *session, const char *name,
                        struct sy_engine_kernel **ret_kernel) {
    struct sy_engine *engine = session->engine;
    uint32_t number = engine->kernel_count;
    if (!sy_map_get(&session->kernels, name, strlen(name), &number)) {
        struct sy_error error = {0};
        const struct sy_kernel_entry *entry = sy_kernel_set_find(engine->plugins, name, &error);
        if (!entry) {
            session_fail(session, -ENOENT, "%s", error.message);
            sy_hint(&session->error, "%s", error.hint);
            return -ENOENT;
        }
        int code = session_add_kernel(session, entry, name);
        if (!code && sy_engine_add_codelets(engine, number, &error) < 0) {
            code = session_fail(session, -EIO, "%s", error.message);
        }
        if (code) {
            return code;
        }
    }
    *ret_kernel = &engine->kernels[number];
    return 0;
}

/* --- jobs, and what is said to the user ---------------------------------------------------------
 */
static int begin_job(struct sy_session *base, const char *name, const char *tenant, double weight,
                     uint32_t *ret_job) {
    struct session *session = session_of(base);
    const char *key = tenant ? tenant : "";
    uint32_t number = session->tenant_count;
    if (!(weight > 0) || !isfinite(weight)) {
        return session_fail(session, -EINVAL, "job %s has weight %g; it must be positive",
                            name ? name : "", weight);
    }
    if (!sy_map_get(&session->tenants, key, strlen(key), &number)) {
        key = sy_arena_strdup(session->engine->arena, key);
        if (!key || sy_map_put(&session->tenants, key, strlen(key), number) < 0) {
            return session_fail(session, -ENOMEM, "no memory for a tenant");
        }
        session->tenant_count++;
    }
    if (sy_grow(&session->jobs, &session->job_capacity, session->job_count + 1,
                sizeof(struct session_job))) {
        return session_fail(session, -ENOMEM, "no memory for a job");
    }
    session->jobs[session->job_count] = (struct session_job){.tenant = number, .weight = weight};
    *ret_job = session->job_count++;
    return 0;
}

static void end_job(struct sy_session *base, uint32_t job) {
    struct session *session = session_of(base);
    if (job < session->job_count) {
        session->jobs[job].ended = true;
    }
}

static void progress(struct sy_session *base, double done, double total, const char *unit) {
    struct sy_page *page = session_of(base)->engine->page;
    if (unit && strncmp(unit, page->unit, sizeof page->unit - 1) != 0) {
        snprintf(page->unit, sizeof page->unit, "%s", unit);
    }
    atomic_store_explicit(&page->total, total, memory_order_relaxed);
    atomic_store_explicit(&page->done, done, memory_order_release);
}

static void note(struct sy_session *base, const char *key, const char *value) {
    struct session *session = session_of(base);
    struct sy_arena *arena = session->engine->arena;
    struct sy_note note = {sy_arena_strdup(arena, key ? key : ""),
                           sy_arena_strdup(arena, value ? value : "")};
    if (note.key && note.value &&
        !sy_grow(&session->notes, &session->note_capacity, session->note_count + 1, sizeof note)) {
        session->notes[session->note_count++] = note;
    }
}

static double now_ns(struct sy_session *base) {
    return (starpu_timing_now() - session_of(base)->engine->start_us) * 1e3;
}

static uint32_t device_count(struct sy_session *base, const char *kernel, uint32_t flavour) {
    struct session *session = session_of(base);
    const struct sy_engine *engine = session->engine;
    struct sy_engine_kernel *found;
    uint32_t count = 0;
    if (flavour >= SY_FLAVOUR_COUNT || session_find_kernel(session, kernel, &found) < 0) {
        return 0;
    }
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        count += engine->workers[w].flavour == (enum sy_flavour)flavour &&
                 found->entry->functions[flavour];
    }
    return count;
}

/* --- life ---------------------------------------------------------------------------------------
 */
static const struct sy_session_ops ops = {
    .allocate = session_allocate,
    .release = session_release,
    .add_data = session_add_data,
    .drop_data = session_drop_data,
    .begin_job = begin_job,
    .end_job = end_job,
    .submit = session_submit,
    .wait = session_wait,
    .ended = session_ended,
    .now_ns = now_ns,
    .progress = progress,
    .note = note,
    .device_count = device_count,
};

static const struct sy_kernel_table *table_of(const struct sy_engine *engine) {
    for (uint32_t i = 0; i < sy_kernel_set_count(engine->plugins); i++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(engine->plugins, i);
        if (engine->pipeline ? engine->pipeline >= table->pipelines &&
                                   engine->pipeline < table->pipelines + table->pipeline_count
                             : engine->workload >= table->workloads &&
                                   engine->workload < table->workloads + table->workload_count) {
            return table;
        }
    }
    return NULL;
}

int session_create(struct sy_engine *engine, const struct session_driver *driver,
                   uint32_t kernel_capacity, struct sy_error *error) {
    struct session *session = calloc(1, sizeof *session);
    engine->kernels = sy_arena_alloc(engine->arena, kernel_capacity + 1, sizeof *engine->kernels);
    if (!session || !engine->kernels) {
        free(session);
        return sy_fail(error, -ENOMEM, "no memory for a session");
    }
    engine->kernel_capacity = kernel_capacity;
    engine->session = session;
    session->base.ops = &ops;
    session->engine = engine;
    session->driver = driver;
    session->data.item_bytes = sizeof(struct session_datum);
    session->tasks.item_bytes = sizeof(struct session_task);
    session->rows.item_bytes = sizeof(struct sy_engine_row);
    session_init_tasks(session);
    STARPU_PTHREAD_MUTEX_INIT(&session->lock, NULL);
    STARPU_PTHREAD_COND_INIT(&session->some, NULL);
    return 0;
}

int session_open(struct sy_engine *engine, const struct session_driver *driver,
                 const char *arguments, struct sy_error *error) {
    const struct sy_kernel_table *table = table_of(engine);
    int code = session_create(engine, driver, table->kernel_count + MORE_KERNELS, error);
    if (code) {
        return code;
    }
    for (uint32_t k = 0; k < table->kernel_count && !code; k++) {
        code = session_add_kernel(engine->session, &table->kernels[k], table->kernels[k].name);
    }
    engine->graph =
        sy_graph_create(engine->pipeline ? engine->pipeline->name : engine->workload->name, false);
    engine->session->arguments = arguments;
    engine->widest = SY_ARGUMENT_MAX;
    return code || !engine->graph ? sy_fail(error, -ENOMEM, "no memory for a session") : 0;
}

int session_prepare(struct session *session, struct sy_error *error) {
    const struct sy_engine *engine = session->engine;
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        session->pinned |= engine->workers[w].flavour == SY_FLAVOUR_CUDA;
    }
    session->several = starpu_memory_nodes_get_count() > 1;
    session->priority_min = starpu_sched_get_min_priority();
    session->priority_max = starpu_sched_get_max_priority();
    return session->driver->prepare ? session->driver->prepare(session, error) : 0;
}

int session_drive(struct session *session, struct sy_error *error) {
    struct sy_engine *engine = session->engine;
    sy_engine_doing(" while it drove ", engine->request.spec);
    engine->start_us = starpu_timing_now();
    int code = session->driver->drive(session, error);
    sy_engine_leave();
    if (code < 0 && !error->message[0]) {
        *error = session->error;
    }
    if (code < 0 && !error->message[0]) {
        sy_fail(error, code, "%s: %s", engine->request.spec, strerror(-code));
    }
    if (code < 0) {
        return code;
    }
    starpu_task_wait_for_all();
    return 0;
}

static int drive_plugin(struct session *session, struct sy_error *error) {
    return session->engine->workload->drive(session->arguments, &session->base, error);
}

const struct session_driver session_plugin = {.drive = drive_plugin};
