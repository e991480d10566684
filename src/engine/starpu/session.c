/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: a plug-in's drive function submits tasks to StarPU as it goes.
 *
 * In: symph/session.h. Out: tasks under whatever policy the run has. What a task's time depends on
 * is rounded, as sizes hardly ever repeat: the cost models see few sizes with many samples each.
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
static int add_kernel(struct session *session, const struct sy_kernel_entry *entry,
                      const char *asked) {
    struct sy_engine *engine = session->engine;
    uint32_t number = engine->kernel_count;
    const char *key = sy_arena_strdup(engine->arena, asked);
    if (number >= engine->kernel_capacity) {
        return session_fail(session, -ENOSPC, "kernel %s: too many kernels of other plug-ins",
                            asked);
    }
    if (!key || sy_map_put(&session->kernels, key, strlen(key), number) < 0) {
        return session_fail(session, -ENOMEM, "no memory for kernel %s", asked);
    }
    engine->entries[number] = entry;
    engine->kernel_names[number] = key;
    engine->kernel_count++;
    return 0;
}

/* A kernel of the session's own plug-in, or of another one, which is prepared now. */
static int find_kernel(struct session *session, const char *name, uint32_t *ret_kernel) {
    struct sy_engine *engine = session->engine;
    if (sy_map_get(&session->kernels, name, strlen(name), ret_kernel)) {
        return 0;
    }
    struct sy_error error = {0};
    const struct sy_kernel_entry *entry = sy_kernel_set_find(engine->kernels, name, &error);
    if (!entry) {
        session_fail(session, -ENOENT, "%s", error.message);
        sy_hint(&session->error, "%s", error.hint);
        return -ENOENT;
    }
    uint32_t number = engine->kernel_count;
    int code = add_kernel(session, entry, name);
    if (!code && sy_engine_add_codelets_from(engine, number, &error) < 0) {
        code = session_fail(session, -EIO, "%s", error.message);
    }
    if (!code) {
        *ret_kernel = number;
    }
    return code;
}

static int check_task(struct session *session, const struct sy_session_task *task,
                      uint32_t kernel) {
    const struct sy_kernel_entry *entry = session->engine->entries[kernel];
    uint32_t count = task->access_count;
    if (count > SY_ARGUMENT_MAX || (entry->argument_count && count != entry->argument_count)) {
        return session_fail(session, -EINVAL, "a task accesses %u data, but kernel %s takes %s%u",
                            count, entry->name, entry->argument_count ? "" : "at most ",
                            entry->argument_count ? entry->argument_count : SY_ARGUMENT_MAX);
    }
    if (task->job >= session->job_count || session->jobs[task->job].ended) {
        return session_fail(session, -EINVAL, "a task of kernel %s belongs to job %u, which %s",
                            entry->name, task->job,
                            task->job < session->job_count ? "has ended" : "there is none");
    }
    for (uint32_t a = 0; a < count; a++) {
        uint32_t mode = task->accesses[a].mode & SY_READ_WRITE;
        if (!session_find_datum(session, task->accesses[a].datum)) {
            return session_fail(session, -EINVAL, "access %u of kernel %s is to no datum", a + 1,
                                entry->name);
        }
        if (!mode || (entry->modes[a] & ~mode)) {
            return session_fail(session, -EINVAL,
                                "access %u of kernel %s has mode %u, %u is needed", a + 1,
                                entry->name, task->accesses[a].mode, entry->modes[a]);
        }
        for (uint32_t b = 0; b < a; b++) {
            if (task->accesses[a].datum == task->accesses[b].datum) {
                return session_fail(session, -EINVAL, "a task of kernel %s accesses a datum twice",
                                    entry->name);
            }
        }
    }
    return sy_engine_check_devices(session->engine, kernel, &session->error);
}

/* --- costs --------------------------------------------------------------------------------------
 */
/* The middle of one of four bins per power of two. */
static double round_size(double size) {
    int exponent;
    if (!(size > 0) || !isfinite(size)) {
        return 0;
    }
    double share = frexp(size, &exponent); /* in [1/2, 1) */
    return ldexp((floor(share * 8) + .5) / 8, exponent);
}

static void set_costs(struct session *session, struct sy_engine_slot *slot) {
    struct sy_argument arguments[SY_ARGUMENT_MAX];
    for (uint32_t a = 0; a < slot->access_count; a++) {
        const struct session_datum *datum = session_find_datum(session, slot->accesses[a].datum);
        arguments[a] = (struct sy_argument){.bytes = datum->bytes,
                                            .mode = slot->accesses[a].mode & SY_READ_WRITE};
    }
    struct sy_call call = {
        .arguments = arguments, .argument_count = slot->access_count, .work = slot->work};
    struct sy_cost_features exact =
        sy_kernel_features(session->engine->entries[slot->kernel], &call);
    slot->features.flops = round_size(exact.flops);
    slot->features.bytes = round_size(exact.bytes);
    slot->footprint =
        1u | starpu_hash_crc32c_be_n(&slot->features, sizeof slot->features, 0x53455353u);
}

/* --- ends: on StarPU's threads ------------------------------------------------------------------
 */
static void settle(struct session_task *task) {
    struct session *session = task->session;
    if (atomic_fetch_sub(&task->pending, 1) != 1) {
        return;
    }
    STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
    atomic_fetch_sub(&session->unfinished, 1);
    task->next = NULL;
    if (task->tag) {
        *(session->last ? &session->last->next : &session->first) = task;
        session->last = task;
        STARPU_PTHREAD_COND_SIGNAL(&session->some);
    } else {
        task->next = session->free_tasks;
        session->free_tasks = task;
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
}

static void on_end(void *argument) {
    struct session_task *task = argument;
    struct sy_engine *engine = task->session->engine;
    task->row->times = sy_engine_read_times(engine, task->slot.starpu);
    task->slot.starpu = NULL; /* StarPU destroys it now */
    sy_flight_end(engine, &engine->workers[starpu_worker_get_id()]);
    atomic_fetch_add_explicit(&engine->page->done_count, 1, memory_order_relaxed);
    settle(task);
}

/* The host's copy stays good until somebody else writes. */
static void on_fetched(void *argument) {
    struct session_fetch *fetch = argument;
    starpu_data_release_on_node(fetch->handle, STARPU_MAIN_RAM);
    settle(fetch->task);
}

/* --- submission ---------------------------------------------------------------------------------
 */
static struct session_task *take_task(struct session *session) {
    STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
    struct session_task *task = session->free_tasks;
    if (task) {
        session->free_tasks = task->next;
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
    return task ? task : blocks_add(&session->tasks);
}

static struct session_row *add_row(struct session *session, const struct sy_engine_slot *slot) {
    uint32_t start = session->access_count, end = start + slot->access_count;
    if (sy_grow(&session->accesses, &session->access_capacity, end, sizeof(struct sy_access))) {
        return NULL;
    }
    struct session_row *row = blocks_add(&session->rows);
    if (!row) {
        return NULL;
    }
    for (uint32_t a = 0; a < slot->access_count; a++) {
        const struct session_datum *datum = session_find_datum(session, slot->accesses[a].datum);
        session->accesses[start + a] =
            (struct sy_access){datum->recorded, slot->accesses[a].mode & SY_READ_WRITE};
    }
    session->access_count = end;
    *row = (struct session_row){.name = slot->name,
                                .work = slot->work,
                                .features = slot->features,
                                .times = {.device = SY_NONE},
                                .kernel = slot->kernel,
                                .footprint = slot->footprint,
                                .access_start = start};
    return row;
}

static int set_buffers(struct session *session, const struct sy_engine_slot *slot,
                       struct starpu_task *task) {
    static const enum starpu_data_access_mode modes[] = {STARPU_R, STARPU_R, STARPU_W, STARPU_RW};
    starpu_data_handle_t *handles = task->handles;
    enum starpu_data_access_mode *task_modes = task->modes;
    task->nbuffers = (int)slot->access_count;
    if (slot->access_count > STARPU_NMAXBUFS) {
        /* StarPU frees them with the task. */
        handles = task->dyn_handles = malloc(slot->access_count * sizeof *handles);
        task_modes = task->dyn_modes = malloc(slot->access_count * sizeof *task_modes);
        if (!handles || !task_modes) {
            return -ENOMEM;
        }
    }
    for (uint32_t a = 0; a < slot->access_count; a++) {
        handles[a] = session_find_datum(session, slot->accesses[a].datum)->handle;
        task_modes[a] = modes[slot->accesses[a].mode & SY_READ_WRITE];
    }
    return 0;
}

/* Asked for at once, so that StarPU puts it between this task and the next writer. */
static int fetch_back(struct session_task *task) {
    int failed = 0;
    for (uint32_t i = 0; i < task->fetch_count; i++) {
        struct session_fetch *fetch = &task->fetches[i];
        int code = starpu_data_acquire_on_node_cb(fetch->handle, STARPU_MAIN_RAM, STARPU_R,
                                                  on_fetched, fetch);
        if (code) {
            failed = code;
            settle(task);
        }
    }
    return failed ? session_fail(task->session, -EIO, "StarPU cannot fetch data back") : 0;
}

static void fill_task(struct session *session, struct session_task *task,
                      const struct sy_session_task *desc, uint32_t kernel) {
    const struct session_job *job = &session->jobs[desc->job];
    task->session = session;
    task->tag = desc->tag;
    task->fetch_count = 0;
    task->slot = (struct sy_engine_slot){
        .engine = session->engine,
        .task = session->rows.count,
        .kernel = kernel,
        .name = desc->name ? sy_arena_strdup(session->engine->arena, desc->name) : NULL,
        .accesses = task->accesses,
        .access_count = desc->access_count,
        .work = desc->work,
        .job = {desc->job, job->tenant, job->weight},
    };
    for (uint32_t a = 0; a < desc->access_count; a++) {
        task->accesses[a] = desc->accesses[a];
        if (session->several && (desc->accesses[a].mode & SY_FETCH_BACK)) {
            task->fetches[task->fetch_count++] = (struct session_fetch){
                task, session_find_datum(session, desc->accesses[a].datum)->handle};
        }
    }
    set_costs(session, &task->slot);
    atomic_store(&task->pending, 1 + task->fetch_count);
}

static int hand_over(struct session *session, struct session_task *task, int32_t priority) {
    struct starpu_task *starpu = starpu_task_create();
    if (!starpu || set_buffers(session, &task->slot, starpu) < 0) {
        return session_fail(session, -ENOMEM, "no memory for a task");
    }
    starpu->cl = &session->engine->codelets[task->slot.kernel];
    starpu->cl_arg = &task->slot;
    starpu->cl_arg_size = 0;
    starpu->name = starpu->cl->name;
    starpu->destroy = 1;
    starpu->detach = 1;
    starpu->callback_func = on_end;
    starpu->callback_arg = task;
    starpu->flops = task->slot.features.flops;
    starpu->priority = priority < session->priority_min   ? session->priority_min
                       : priority > session->priority_max ? session->priority_max
                                                          : priority;
    task->slot.starpu = starpu;
    atomic_fetch_add(&session->unfinished, 1);
    session->reported += task->tag != NULL;
    atomic_fetch_add_explicit(&session->engine->page->task_count, 1, memory_order_relaxed);
    int code = starpu_task_submit(starpu);
    if (code) {
        atomic_fetch_sub(&session->unfinished, 1);
        session->reported -= task->tag != NULL;
        return session_fail(session, code, "StarPU takes no task of kernel %s: %s",
                            session->engine->kernel_names[task->slot.kernel], strerror(-code));
    }
    return fetch_back(task);
}

static int submit(struct sy_session *base, const struct sy_session_task *desc) {
    struct session *session = session_of(base);
    uint32_t kernel;
    int code = find_kernel(session, desc->kernel, &kernel);
    if (!code) {
        code = check_task(session, desc, kernel);
    }
    if (code) {
        return code;
    }
    struct session_task *task = take_task(session);
    if (!task) {
        return session_fail(session, -ENOMEM, "no memory for a task");
    }
    fill_task(session, task, desc, kernel);
    task->row = add_row(session, &task->slot);
    if (!task->row) {
        return session_fail(session, -ENOMEM, "no memory for task %u", session->rows.count);
    }
    return hand_over(session, task, desc->priority);
}

static int wait_for_task(struct sy_session *base, void **ret_tag) {
    struct session *session = session_of(base);
    if (session->reported == 0) {
        *ret_tag = NULL;
        return 0;
    }
    STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
    while (!session->first) {
        STARPU_PTHREAD_COND_WAIT(&session->some, &session->lock);
    }
    struct session_task *task = session->first;
    session->first = task->next;
    if (!session->first) {
        session->last = NULL;
    }
    *ret_tag = task->tag;
    task->next = session->free_tasks;
    session->free_tasks = task;
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
    session->reported--;
    return 0;
}

uint32_t sy_session_unfinished(const struct session *session) {
    return atomic_load(&session->unfinished);
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

uint32_t sy_session_notes(const struct session *session, const struct sy_note **ret_notes) {
    *ret_notes = session->notes;
    return session->note_count;
}

static uint32_t device_count(struct sy_session *base, const char *kernel, uint32_t flavour) {
    struct session *session = session_of(base);
    const struct sy_engine *engine = session->engine;
    uint32_t number, count = 0;
    if (flavour >= SY_FLAVOUR_COUNT || find_kernel(session, kernel, &number) < 0) {
        return 0;
    }
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        count += engine->workers[w].flavour == (enum sy_flavour)flavour &&
                 engine->entries[number]->functions[flavour];
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
    .submit = submit,
    .wait = wait_for_task,
    .progress = progress,
    .note = note,
    .device_count = device_count,
};

static const struct sy_kernel_table *table_of(const struct sy_engine *engine) {
    for (uint32_t i = 0; i < sy_kernel_set_count(engine->kernels); i++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(engine->kernels, i);
        if (engine->workload >= table->workloads &&
            engine->workload < table->workloads + table->workload_count) {
            return table;
        }
    }
    return NULL;
}

int sy_session_create(struct sy_engine *engine, const char *arguments, struct sy_error *error) {
    const struct sy_kernel_table *table = table_of(engine);
    struct session *session = calloc(1, sizeof *session);
    if (!table || !session || sy_engine_make_kernels(engine, table->kernel_count + MORE_KERNELS)) {
        free(session);
        return sy_fail(error, -ENOMEM, "no memory for a session");
    }
    session->base.ops = &ops;
    session->engine = engine;
    session->arguments = arguments;
    session->free_datum = SY_NONE;
    session->data.item_bytes = sizeof(struct session_datum);
    session->tasks.item_bytes = sizeof(struct session_task);
    session->rows.item_bytes = sizeof(struct session_row);
    STARPU_PTHREAD_MUTEX_INIT(&session->lock, NULL);
    STARPU_PTHREAD_COND_INIT(&session->some, NULL);
    for (uint32_t k = 0; k < table->kernel_count; k++) {
        if (add_kernel(session, &table->kernels[k], table->kernels[k].name) < 0) {
            return sy_fail(error, -ENOMEM, "no memory for a session");
        }
    }
    engine->widest = SY_ARGUMENT_MAX;
    engine->session = session;
    return 0;
}

/* Once there are workers. */
static void look_at_machine(struct session *session) {
    const struct sy_engine *engine = session->engine;
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        session->pinned |= engine->workers[w].flavour == SY_FLAVOUR_CUDA;
    }
    session->several = starpu_memory_nodes_get_count() > 1;
    session->priority_min = starpu_sched_get_min_priority();
    session->priority_max = starpu_sched_get_max_priority();
}

int sy_session_drive(struct sy_engine *engine, struct sy_error *error) {
    struct session *session = engine->session;
    look_at_machine(session);
    engine->start_us = starpu_timing_now();
    sy_engine_doing(" while it drove ", engine->options.spec);
    int code = engine->workload->drive(session->arguments, &session->base, error);
    sy_engine_leave();
    if (code < 0 && !error->message[0]) {
        *error = session->error;
    }
    if (code < 0 && !error->message[0]) {
        sy_fail(error, code, "%s: %s", engine->options.spec, strerror(-code));
    }
    if (code < 0) {
        return code;
    }
    starpu_task_wait_for_all();
    session_drop_all(session);
    return 0;
}
