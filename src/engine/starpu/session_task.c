/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks of a session, from their submission to the report of their end.
 *
 * In: symph/session.h. Out: StarPU's tasks, under whatever policy the run has or on the worker that
 * was asked for. What a task's time depends on is rounded, as sizes hardly ever repeat: the cost
 * models see few sizes with many samples each.
 *
 * A call in parts is several tasks of StarPU's. To it the parts only read what they write, so that
 * they run at once: cores share one memory, and the kernel keeps to its rows. What comes before and
 * after is ordered by two tasks that run nowhere and write the same data in that memory:
 *
 *   others -> opening (W or RW at home) -> parts (R, concurrent) -> closing (RW at home) -> others
 *
 * The closing makes every copy that somebody may have taken meanwhile invalid. A datum that nobody
 * has used needs no opening. Invariant: a task is reported after its last part.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 96

/* --- is it right? -------------------------------------------------------------------------------
 */
static int check_accesses(struct session *session, const struct sy_session_task *task,
                          const struct sy_kernel_entry *entry) {
    for (uint32_t a = 0; a < task->access_count; a++) {
        uint32_t mode = task->accesses[a].mode & SY_READ_WRITE;
        if (!session_find_datum(session, task->accesses[a].datum)) {
            return session_fail(session, -EINVAL, "access %u of kernel %s names no datum", a + 1,
                                entry->name);
        }
        if (!mode || (entry->modes[a] & ~mode)) {
            return session_fail(session, -EINVAL,
                                "access %u of kernel %s has mode %u, %u is needed", a + 1,
                                entry->name, task->accesses[a].mode, entry->modes[a]);
        }
        const struct session_datum *datum = session_find_datum(session, task->accesses[a].datum);
        if (datum->homeless &&
            ((task->accesses[a].mode & SY_FETCH_BACK) || ((mode & SY_READ) && !datum->used))) {
            return session_fail(
                session, -EINVAL, "access %u of kernel %s: datum %s has no memory to be %s", a + 1,
                entry->name, datum->name,
                task->accesses[a].mode & SY_FETCH_BACK ? "fetched back to" : "read from");
        }
        for (uint32_t b = 0; b < a; b++) {
            if (task->accesses[a].datum == task->accesses[b].datum) {
                return session_fail(session, -EINVAL, "a task of kernel %s accesses a datum twice",
                                    entry->name);
            }
        }
    }
    return 0;
}

/* SY_NONE: there is no such device. */
static uint32_t worker_at(const struct sy_engine *engine, const struct sy_session_place *place) {
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        if (engine->workers[w].flavour == (enum sy_flavour)place->flavour &&
            engine->workers[w].number == place->number) {
            return w;
        }
    }
    return SY_NONE;
}

static int check_places(struct session *session, const struct sy_session_task *task,
                        const struct sy_kernel_entry *entry) {
    const struct sy_engine *engine = session->engine;
    for (uint32_t p = 0; p < task->place_count; p++) {
        const struct sy_session_place *place = &task->places[p];
        const char *flavour = place->flavour < SY_FLAVOUR_COUNT
                                  ? sy_flavour_name((enum sy_flavour)place->flavour)
                                  : "unknown";
        if (worker_at(engine, place) == SY_NONE || !entry->functions[place->flavour]) {
            return session_fail(session, -ENODEV, "kernel %s cannot run on %s device %u: %s",
                                entry->name, flavour, place->number,
                                worker_at(engine, place) == SY_NONE ? "there is none"
                                                                    : "it has no such variant");
        }
        if (task->place_count > 1 && place->flavour != SY_FLAVOUR_C) {
            return session_fail(session, -EINVAL,
                                "a task of kernel %s is split between devices that are not cores",
                                entry->name);
        }
        for (uint32_t q = 0; q < p; q++) {
            if (task->places[q].number == place->number) {
                return session_fail(session, -EINVAL, "two parts of kernel %s share core %u",
                                    entry->name, place->number);
            }
        }
    }
    return 0;
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
    if (task->parameter_count > SY_CALL_PARAMETER_MAX) {
        return session_fail(session, -EINVAL, "a task of kernel %s has %u parameters, %d fit",
                            entry->name, task->parameter_count, SY_CALL_PARAMETER_MAX);
    }
    if (task->job >= session->job_count || session->jobs[task->job].ended) {
        return session_fail(session, -EINVAL, "a task of kernel %s belongs to job %u, which %s",
                            entry->name, task->job,
                            task->job < session->job_count ? "has ended" : "there is none");
    }
    int code = check_accesses(session, task, entry);
    code = code ? code : check_places(session, task, entry);
    return code ? code : sy_engine_check_devices(session->engine, kernel, &session->error);
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
    struct sy_call call = {.arguments = arguments,
                           .argument_count = slot->access_count,
                           .work = slot->work,
                           .parameters = slot->parameters,
                           .parameter_count = slot->parameter_count,
                           .part_count = 1};
    struct sy_cost_features exact =
        sy_kernel_features(session->engine->entries[slot->kernel], &call);
    slot->features.flops = round_size(exact.flops / slot->part_count);
    slot->features.bytes = round_size(exact.bytes / slot->part_count);
    slot->footprint =
        1u | starpu_hash_crc32c_be_n(&slot->features, sizeof slot->features, 0x53455353u);
}

/* --- ends: on StarPU's threads ------------------------------------------------------------------
 */
static void let_go(struct session *session, struct session_task *task) {
    task->next = session->free_tasks;
    session->free_tasks = task;
}

/* With the lock held. */
static void settle(struct session_task *whole) {
    struct session *session = whole->session;
    if (atomic_fetch_sub(&whole->pending, 1) != 1) {
        return;
    }
    atomic_fetch_sub(&session->unfinished, 1);
    whole->next = NULL;
    if (whole->tag) {
        *(session->last ? &session->last->next : &session->first) = whole;
        session->last = whole;
        STARPU_PTHREAD_COND_SIGNAL(&session->some);
    } else {
        let_go(session, whole);
    }
}

/* An asynchronous device is told of a task while it still runs another: it starts after that. */
static void add_times(struct session_task *part, struct sy_engine_worker *worker) {
    struct sy_session_ended *ended = &part->whole->ended;
    const struct sy_engine_times *times = &part->row->times;
    double start_ns = fmax(times->start_ns, worker->last_end_ns);
    start_ns = fmin(start_ns, times->end_ns);
    ended->start_ns = fmin(ended->start_ns, start_ns);
    ended->end_ns = fmax(ended->end_ns, times->end_ns);
    ended->duration_ns = fmax(ended->duration_ns, times->end_ns - start_ns);
    worker->last_end_ns = times->end_ns;
    if (part == part->whole) {
        ended->place = (struct sy_session_place){(uint32_t)worker->flavour, worker->number};
    }
}

static void on_end(void *argument) {
    struct session_task *part = argument, *whole = part->whole;
    struct session *session = part->session;
    struct sy_engine *engine = session->engine;
    struct sy_engine_worker *worker = &engine->workers[starpu_worker_get_id()];
    part->row->times = sy_engine_read_times(engine, part->slot.starpu);
    part->slot.starpu = NULL; /* StarPU destroys it now */
    sy_flight_end(engine, worker);
    atomic_fetch_add_explicit(&engine->page->done_count, 1, memory_order_relaxed);
    STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
    add_times(part, worker);
    if (part != whole) {
        let_go(session, part);
    }
    settle(whole);
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
}

/* The host's copy stays good until somebody else writes. */
static void on_fetched(void *argument) {
    struct session_fetch *fetch = argument;
    struct session *session = fetch->task->session;
    starpu_data_release_on_node(fetch->handle, STARPU_MAIN_RAM);
    STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
    settle(fetch->task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
}

/* --- what is recorded ---------------------------------------------------------------------------
 */
static int add_access(struct session *session, uint32_t recorded, uint32_t mode) {
    uint32_t count = session->access_count;
    if (sy_grow(&session->accesses, &session->access_capacity, count + 1,
                sizeof(struct sy_access))) {
        return -ENOMEM;
    }
    session->accesses[session->access_count++] = (struct sy_access){recorded, mode};
    return 0;
}

/* The parts of one call write pieces of their own, so that the record does not order them; who
 * accesses the datum later also reads its pieces. */
static int record_access(struct session *session, const struct sy_engine_slot *slot,
                         const struct sy_access *access) {
    const struct session_datum *datum = session_find_datum(session, access->datum);
    uint32_t mode = access->mode & SY_READ_WRITE;
    if (slot->part > 0 && (mode & SY_WRITE)) {
        return add_access(session, datum->piece_start + slot->part - 1, SY_WRITE);
    }
    int code = add_access(session, datum->recorded, mode);
    for (uint32_t i = 0; i < datum->piece_count && !code; i++) {
        code = add_access(session, datum->piece_start + i, SY_READ);
    }
    return code;
}

static struct session_row *add_row(struct session *session, const struct sy_engine_slot *slot) {
    uint32_t start = session->access_count;
    struct session_row *row = blocks_add(&session->rows);
    for (uint32_t a = 0; row && a < slot->access_count; a++) {
        if (record_access(session, slot, &slot->accesses[a]) < 0) {
            return NULL;
        }
    }
    if (row) {
        *row = (struct session_row){.name = slot->name,
                                    .work = slot->work,
                                    .features = slot->features,
                                    .times = {.device = SY_NONE},
                                    .kernel = slot->kernel,
                                    .footprint = slot->footprint,
                                    .access_start = start};
    }
    return row;
}

/* After the first row of a task: who comes later meets what it has written. */
static int note_written(struct session *session, const struct sy_engine_slot *slot) {
    uint32_t pieces = slot->part_count - 1;
    int code = 0;
    for (uint32_t a = 0; a < slot->access_count && !code; a++) {
        struct session_datum *datum = session_find_datum(session, slot->accesses[a].datum);
        datum->used = true;
        if (slot->accesses[a].mode & SY_WRITE) {
            datum->piece_count = pieces;
            code = pieces ? session_record_pieces(session, pieces, &datum->piece_start) : 0;
        }
    }
    return code;
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

static const enum starpu_data_access_mode starpu_modes[] = {STARPU_R, STARPU_R, STARPU_W,
                                                            STARPU_RW};

/* Room for so many buffers. -ENOMEM. */
static int make_room(struct starpu_task *task, uint32_t count) {
    task->nbuffers = (int)count;
    if (count > STARPU_NMAXBUFS) {
        /* StarPU frees them with the task. */
        task->dyn_handles = malloc(count * sizeof *task->dyn_handles);
        task->dyn_modes = malloc(count * sizeof *task->dyn_modes);
        return task->dyn_handles && task->dyn_modes ? 0 : -ENOMEM;
    }
    return 0;
}

static int set_buffers(struct session *session, const struct sy_engine_slot *slot,
                       struct starpu_task *task) {
    if (make_room(task, slot->access_count) < 0) {
        return -ENOMEM;
    }
    for (uint32_t a = 0; a < slot->access_count; a++) {
        uint32_t mode = slot->part_count > 1 ? SY_READ : slot->accesses[a].mode & SY_READ_WRITE;
        STARPU_TASK_SET_HANDLE(task, session_find_datum(session, slot->accesses[a].datum)->handle,
                               a);
        STARPU_TASK_SET_MODE(task, starpu_modes[mode], a);
    }
    return 0;
}

/* What stands before or behind the parts: all that they write is at home, and nowhere else. */
static int submit_border(struct session *session, const struct sy_engine_slot *slot, bool opening) {
    uint32_t chosen[SY_ARGUMENT_MAX], count = 0;
    for (uint32_t a = 0; a < slot->access_count; a++) {
        const struct session_datum *datum = session_find_datum(session, slot->accesses[a].datum);
        bool needed = datum->used || datum->homeless || !opening;
        if ((slot->accesses[a].mode & SY_WRITE) && needed) {
            chosen[count++] = a;
        }
    }
    if (count == 0) {
        return 0;
    }
    struct starpu_task *task = starpu_task_create();
    if (!task || make_room(task, count) < 0) {
        return session_fail(session, -ENOMEM, "no memory for a task");
    }
    task->cl = &session->border;
    task->name = session->border.name;
    task->destroy = 1;
    task->detach = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_access *access = &slot->accesses[chosen[i]];
        uint32_t mode = opening ? access->mode & SY_READ_WRITE : SY_READ_WRITE;
        STARPU_TASK_SET_HANDLE(task, session_find_datum(session, access->datum)->handle, i);
        STARPU_TASK_SET_MODE(task, starpu_modes[mode], i);
    }
    int code = starpu_task_submit(task);
    return code ? session_fail(session, code, "StarPU refuses a task: %s", strerror(-code)) : 0;
}

/* Asked for at once, so that StarPU puts it between this task and the next writer. */
static int fetch_back(struct session_task *task) {
    struct session *session = task->session;
    uint32_t count = task->fetch_count; /* behind the last one the task may be another */
    int failed = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct session_fetch *fetch = &task->fetches[i];
        int code = starpu_data_acquire_on_node_cb(fetch->handle, STARPU_MAIN_RAM, STARPU_R,
                                                  on_fetched, fetch);
        if (code) {
            failed = code;
            STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
            settle(task);
            STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
        }
    }
    return failed ? session_fail(session, -EIO, "StarPU cannot fetch data back") : 0;
}

static void fill_task(struct session *session, struct session_task *task,
                      const struct sy_session_task *desc, uint32_t kernel) {
    const struct session_job *job = &session->jobs[desc->job];
    uint32_t parts = desc->place_count > 1 ? desc->place_count : 1;
    task->session = session;
    task->whole = task;
    task->tag = desc->tag;
    task->fetch_count = 0;
    task->ended = (struct sy_session_ended){.start_ns = INFINITY};
    task->slot = (struct sy_engine_slot){
        .engine = session->engine,
        .task = session->rows.count,
        .kernel = kernel,
        .name = desc->name ? sy_arena_strdup(session->engine->arena, desc->name) : NULL,
        .accesses = task->accesses,
        .access_count = desc->access_count,
        .work = desc->work,
        .parameters = task->parameters,
        .parameter_count = desc->parameter_count,
        .user = desc->user,
        .part_count = parts,
        .job = {desc->job, job->tenant, job->weight},
    };
    for (uint32_t i = 0; i < desc->parameter_count; i++) {
        task->parameters[i] = desc->parameters[i];
    }
    for (uint32_t a = 0; a < desc->access_count; a++) {
        task->accesses[a] = desc->accesses[a];
        if (session->several && (desc->accesses[a].mode & SY_FETCH_BACK)) {
            task->fetches[task->fetch_count++] = (struct session_fetch){
                task, session_find_datum(session, desc->accesses[a].datum)->handle};
        }
    }
    set_costs(session, &task->slot);
    atomic_store(&task->pending, parts + task->fetch_count);
}

/* NULL when out of memory. */
static struct session_task *make_part(struct session_task *whole, uint32_t number) {
    struct session *session = whole->session;
    struct session_task *part = take_task(session);
    if (!part) {
        return NULL;
    }
    part->session = session;
    part->whole = whole;
    part->tag = NULL;
    part->fetch_count = 0;
    part->slot = whole->slot;
    part->slot.task = session->rows.count;
    part->slot.part = number;
    part->slot.starpu = NULL;
    if (whole->slot.name) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "%s (%u of %u)", whole->slot.name, number + 1,
                 whole->slot.part_count);
        part->slot.name = sy_arena_strdup(session->engine->arena, name);
    }
    part->row = add_row(session, &part->slot);
    return part->row ? part : NULL;
}

/* worker: SY_NONE: the policy decides. */
static int hand_over(struct session *session, struct session_task *task, int32_t priority,
                     uint32_t worker) {
    struct starpu_task *starpu = starpu_task_create();
    if (starpu) {
        starpu->cl =
            &session->engine->codelets[task->slot.kernel]; /* the modes' place hangs on it */
    }
    if (!starpu || set_buffers(session, &task->slot, starpu) < 0) {
        return session_fail(session, -ENOMEM, "no memory for a task");
    }
    starpu->cl_arg = &task->slot;
    starpu->cl_arg_size = 0;
    starpu->name = starpu->cl->name;
    starpu->destroy = 1;
    starpu->detach = 1;
    starpu->callback_func = on_end;
    starpu->callback_arg = task;
    starpu->flops = task->slot.features.flops;
    if (worker != SY_NONE) {
        starpu->execute_on_a_specific_worker = 1;
        starpu->workerid = worker;
        starpu->priority = priority; /* a worker's own list knows no bounds */
    } else {
        starpu->priority = priority < session->priority_min   ? session->priority_min
                           : priority > session->priority_max ? session->priority_max
                                                              : priority;
    }
    task->slot.starpu = starpu;
    atomic_fetch_add_explicit(&session->engine->page->task_count, 1, memory_order_relaxed);
    int code = starpu_task_submit(starpu);
    return code ? session_fail(session, code, "StarPU refuses a task of kernel %s: %s",
                               session->engine->kernel_names[task->slot.kernel], strerror(-code))
                : 0;
}

static int submit_parts(struct session *session, struct session_task *whole,
                        const struct sy_session_task *desc) {
    const struct sy_engine_slot slot = whole->slot; /* its end may come before the last is made */
    struct session_task *parts[SY_ARGUMENT_MAX * 16] = {whole};
    if (desc->place_count > SY_COUNT(parts)) {
        return session_fail(session, -E2BIG, "a call cannot be split into %u parts",
                            desc->place_count);
    }
    int code = submit_border(session, &slot, true);
    code = code ? code : note_written(session, &slot);
    for (uint32_t p = 1; p < desc->place_count && !code; p++) {
        parts[p] = make_part(whole, p);
        code = parts[p] ? 0 : session_fail(session, -ENOMEM, "no memory for a part");
    }
    for (uint32_t p = 0; p < desc->place_count && !code; p++) {
        code = hand_over(session, parts[p], desc->priority,
                         worker_at(session->engine, &desc->places[p]));
    }
    return code ? code : submit_border(session, &slot, false);
}

int session_submit(struct sy_session *base, const struct sy_session_task *desc) {
    struct session *session = session_of(base);
    uint32_t kernel;
    int code = session_find_kernel(session, desc->kernel, &kernel);
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
    atomic_fetch_add(&session->unfinished, 1);
    session->reported += task->tag != NULL;
    if (desc->place_count > 1) {
        code = submit_parts(session, task, desc);
    } else {
        uint32_t worker =
            desc->place_count ? worker_at(session->engine, &desc->places[0]) : SY_NONE;
        code = note_written(session, &task->slot);
        code = code ? code : hand_over(session, task, desc->priority, worker);
    }
    if (code) {
        atomic_fetch_sub(&session->unfinished, 1);
        session->reported -= task->tag != NULL;
        return code;
    }
    return fetch_back(task);
}

int session_wait(struct sy_session *base, void **ret_tag) {
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
    session->ended = task->ended;
    let_go(session, task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
    session->reported--;
    return 0;
}

void session_ended(struct sy_session *base, struct sy_session_ended *ret_ended) {
    *ret_ended = session_of(base)->ended;
}

void session_init_tasks(struct session *session) {
    static int home[SY_ARGUMENT_MAX]; /* STARPU_MAIN_RAM for each */
    starpu_codelet_init(&session->border);
    session->border.name = "symph_parts";
    session->border.where = STARPU_NOWHERE;
    session->border.nbuffers = STARPU_VARIABLE_NBUFFERS;
    session->border.specific_nodes = 1;
    session->border.dyn_nodes = home;
}
