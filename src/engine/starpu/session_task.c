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
static int check_accesses(struct session *session, const struct sy_session_task *task) {
    for (uint32_t a = 0; a < task->access_count; a++) {
        uint32_t mode = task->accesses[a].mode & SY_READ_WRITE;
        bool back = task->accesses[a].mode & SY_FETCH_BACK;
        const struct session_datum *datum = session_find_datum(session, task->accesses[a].datum);
        if (!datum || !mode) {
            return session_fail(session, -EINVAL, "access %u of kernel %s names no %s", a + 1,
                                task->kernel, datum ? "mode" : "datum");
        }
        if (datum->homeless && (back || ((mode & SY_READ) && !datum->used))) {
            return session_fail(session, -EINVAL,
                                "access %u of kernel %s: datum %s has no memory to be %s", a + 1,
                                task->kernel, datum->name ? datum->name : "",
                                back ? "fetched back to" : "read from");
        }
        for (uint32_t b = 0; b < a; b++) {
            if (task->accesses[a].datum == task->accesses[b].datum) {
                return session_fail(session, -EINVAL, "a task of kernel %s accesses a datum twice",
                                    task->kernel);
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
                      const struct sy_engine_kernel *kernel) {
    const struct sy_kernel_entry *entry = kernel->entry;
    if (task->parameter_count > SY_CALL_PARAMETER_MAX) {
        return session_fail(session, -EINVAL, "a task of kernel %s has %u parameters, %d fit",
                            entry->name, task->parameter_count, SY_CALL_PARAMETER_MAX);
    }
    if (task->job >= session->job_count || session->jobs[task->job].ended) {
        return session_fail(session, -EINVAL, "a task of kernel %s belongs to job %u, which %s",
                            entry->name, task->job,
                            task->job < session->job_count ? "has ended" : "there is none");
    }
    int code = sy_kernel_check(entry, task->name ? task->name : "a task", task->accesses,
                               task->access_count, &session->error);
    code = code ? code : check_accesses(session, task);
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

struct sy_cost_features session_features(const struct session *session,
                                         const struct sy_engine_slot *slot,
                                         struct sy_argument *room) {
    for (uint32_t a = 0; a < slot->access_count; a++) {
        const struct session_datum *datum = session_find_datum(session, slot->accesses[a].datum);
        room[a] = (struct sy_argument){.bytes = datum->bytes,
                                       .mode = slot->accesses[a].mode & SY_READ_WRITE};
    }
    struct sy_call call = {.arguments = room,
                           .argument_count = slot->access_count,
                           .work = slot->row->work,
                           .parameters = slot->parameters,
                           .parameter_count = slot->parameter_count,
                           .part_count = 1};
    return sy_kernel_features(slot->row->kernel->entry, &call);
}

/* Others are told apart by the sizes of their data, which parts have in common with the whole. */
static void tell_apart(struct sy_engine_row *row) {
    row->footprint =
        1u | starpu_hash_crc32c_be_n(&row->features, sizeof row->features, 0x53455353u);
}

void session_share_costs(const struct sy_engine_slot *slot) {
    struct sy_engine_row *row = slot->row;
    row->features.flops /= slot->part_count;
    row->features.bytes /= slot->part_count;
    tell_apart(row);
}

static void set_costs(const struct session *session, const struct sy_engine_slot *slot) {
    struct sy_argument room[SY_ARGUMENT_MAX];
    struct sy_engine_row *row = slot->row;
    struct sy_cost_features exact = session_features(session, slot, room);
    row->features.flops = round_size(exact.flops / slot->part_count);
    row->features.bytes = round_size(exact.bytes / slot->part_count);
    tell_apart(row);
}

/* --- ends: on StarPU's threads ------------------------------------------------------------------
 */
static void let_go(struct session *session, struct session_task *task) {
    task->next = session->free_tasks;
    session->free_tasks = task;
}

/* With the lock held. */
static void settle(struct session_task *whole) {
    struct session *session = whole->slot.engine->session;
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
    const struct sy_record_task *ran = &part->slot.row->ran;
    double start_ns = fmax(ran->start_ns, worker->last_end_ns);
    start_ns = fmin(start_ns, ran->end_ns);
    ended->start_ns = fmin(ended->start_ns, start_ns);
    ended->end_ns = fmax(ended->end_ns, ran->end_ns);
    ended->duration_ns = fmax(ended->duration_ns, ran->end_ns - start_ns);
    worker->last_end_ns = ran->end_ns;
    if (part == part->whole) {
        ended->place = (struct sy_session_place){(uint32_t)worker->flavour, worker->number};
    }
}

static double since_start(const struct sy_engine *engine, const struct timespec *at) {
    if (at->tv_sec == 0 && at->tv_nsec == 0) {
        return NAN;
    }
    return (double)at->tv_sec * 1e9 + (double)at->tv_nsec - engine->start_us * 1e3;
}

static uint32_t device_of(const struct sy_engine *engine, uint32_t worker) {
    return worker < engine->worker_count ? worker : worker - engine->urgent_count;
}

/* StarPU's own times. */
static void read_times(const struct sy_engine *engine, struct sy_engine_row *row) {
    const struct starpu_profiling_task_info *info = row->starpu->profiling_info;
    double predicted_ns = engine->ours ? 0 : row->starpu->predicted * 1e3;
    uint32_t workers = engine->worker_count + engine->urgent_count;
    if (!info || info->workerid < 0 || (uint32_t)info->workerid >= workers) {
        row->ran = SESSION_NEVER_RAN;
        return;
    }
    row->asked_ns = since_start(engine, &info->acquire_data_start_time);
    row->ran = (struct sy_record_task){
        .device = device_of(engine, (uint32_t)info->workerid),
        /* StarPU's clock starts at its own beginning: rounding may put the first task before it. */
        .submitted_ns = fmax(0, since_start(engine, &info->submit_time)),
        .ready_ns = since_start(engine, &info->push_start_time),
        .start_ns = since_start(engine, &info->start_time),
        .end_ns = since_start(engine, &info->end_time),
        .predicted_ns = predicted_ns > 0 ? predicted_ns : NAN,
    };
}

static struct sy_engine_worker *note_end(const struct sy_engine_slot *slot) {
    struct sy_engine *engine = slot->engine;
    struct sy_engine_worker *worker = &engine->workers[starpu_worker_get_id()];
    read_times(engine, slot->row);
    sy_flight_end(engine, worker);
    atomic_fetch_add_explicit(&engine->page->done_count, 1, memory_order_relaxed);
    return worker;
}

static void on_end(void *argument) {
    struct session_task *part = argument, *whole = part->whole;
    struct session *session = part->slot.engine->session;
    struct sy_engine_worker *worker = note_end(&part->slot);
    part->slot.row->starpu = NULL; /* StarPU destroys it now */
    STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
    add_times(part, worker);
    if (part != whole) {
        let_go(session, part);
    }
    settle(whole);
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
}

/* Of a task that the driver knows by its row: nobody is told. */
static void on_known_end(void *argument) {
    const struct sy_engine_slot *slot = argument;
    note_end(slot);
    atomic_fetch_sub(&slot->engine->session->unfinished, 1);
}

/* The host's copy stays good until somebody else writes. */
static void on_fetched(void *argument) {
    struct session_fetch *fetch = argument;
    struct session *session = fetch->task->slot.engine->session;
    starpu_data_release_on_node(fetch->handle, STARPU_MAIN_RAM);
    STARPU_PTHREAD_MUTEX_LOCK(&session->lock);
    settle(fetch->task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&session->lock);
}

/* --- what is recorded ---------------------------------------------------------------------------
 */
static int add_access(struct session *session, uint32_t datum, uint32_t mode) {
    uint32_t count = session->access_count;
    if (sy_grow(&session->accesses, &session->access_capacity, count + 1,
                sizeof(struct sy_access))) {
        return -ENOMEM;
    }
    session->accesses[session->access_count++] = (struct sy_access){datum, mode};
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
    int code = add_access(session, access->datum, mode);
    for (uint32_t i = 0; i < datum->piece_count && !code; i++) {
        code = add_access(session, datum->piece_start + i, SY_READ);
    }
    return code;
}

static int record_kernel(struct sy_engine *engine, struct sy_engine_kernel *kernel) {
    const struct sy_kernel_desc desc = {.name = kernel->name};
    sy_kernel_id id;
    int code = sy_graph_add_kernel(engine->graph, &desc, &id);
    kernel->recorded = code ? SY_NONE : id.index;
    return code;
}

/* Its row, and what it is in the record's graph. The name is copied. */
static int add_row(struct session *session, struct sy_engine_slot *slot,
                   const struct sy_engine_row *like) {
    struct sy_graph *graph = session->engine->graph;
    session->access_count = 0;
    for (uint32_t a = 0; a < slot->access_count; a++) {
        if (record_access(session, slot, &slot->accesses[a]) < 0) {
            return -ENOMEM;
        }
    }
    const struct sy_task_desc desc = {
        .name = like->name,
        .kernel = {like->kernel->recorded},
        .work = like->work,
        .accesses = session->accesses,
        .access_count = session->access_count,
    };
    sy_task_id id;
    struct sy_engine_row *row = blocks_add(&session->rows);
    int code = row ? sy_graph_add_task(graph, &desc, &id) : -ENOMEM;
    if (!code) {
        *row = *like;
        row->name = graph->tasks[id.index].name;
        row->ran = SESSION_NEVER_RAN;
        slot->task = id.index;
        slot->row = row;
    }
    return code;
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

struct buffers {
    starpu_data_handle_t *handles;
    enum starpu_data_access_mode *modes;
};

/* Room for so many; StarPU frees what a task does not hold itself. NULL when out of memory. */
static struct buffers make_room(struct starpu_task *task, uint32_t count) {
    task->nbuffers = (int)count;
    if (count <= STARPU_NMAXBUFS) {
        return (struct buffers){task->handles, task->modes};
    }
    task->dyn_handles = malloc(count * sizeof *task->dyn_handles);
    task->dyn_modes = malloc(count * sizeof *task->dyn_modes);
    return (struct buffers){task->dyn_handles, task->dyn_modes};
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
    struct buffers buffers = task ? make_room(task, count) : (struct buffers){0};
    if (!buffers.handles || !buffers.modes) {
        return session_fail(session, -ENOMEM, "no memory for a task");
    }
    task->cl = &session->border;
    task->name = session->border.name;
    task->destroy = 1;
    task->detach = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_access *access = &slot->accesses[chosen[i]];
        uint32_t mode = opening ? access->mode & SY_READ_WRITE : SY_READ_WRITE;
        buffers.handles[i] = session_find_datum(session, access->datum)->handle;
        buffers.modes[i] = starpu_modes[mode];
    }
    int code = starpu_task_submit(task);
    return code ? session_fail(session, code, "StarPU refuses a task: %s", strerror(-code)) : 0;
}

/* Asked for at once, so that StarPU puts it between this task and the next writer. */
static int fetch_back(struct session *session, struct session_task *task) {
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
                      const struct sy_session_task *desc) {
    const struct session_job *job = &session->jobs[desc->job];
    uint32_t parts = desc->place_count > 1 ? desc->place_count : 1;
    task->whole = task;
    task->tag = desc->tag;
    task->fetch_count = 0;
    task->ended = (struct sy_session_ended){.start_ns = INFINITY};
    task->slot = (struct sy_engine_slot){
        .engine = session->engine,
        .accesses = task->accesses,
        .access_count = desc->access_count,
        .parameters = task->parameters,
        .parameter_count = desc->parameter_count,
        .part_count = parts,
        .priority = desc->priority,
        .user = desc->user,
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
    atomic_store(&task->pending, parts + task->fetch_count);
}

/* NULL when out of memory. */
static struct session_task *make_part(struct session *session, struct session_task *whole,
                                      uint32_t number) {
    struct session_task *part = take_task(session);
    if (!part) {
        return NULL;
    }
    part->whole = whole;
    part->tag = NULL;
    part->fetch_count = 0;
    part->slot = whole->slot;
    part->slot.part = number;
    struct sy_engine_row row = *whole->slot.row;
    char name[NAME_BYTES];
    if (row.name) {
        snprintf(name, sizeof name, "%s (%u of %u)", row.name, number + 1, part->slot.part_count);
        row.name = name;
    }
    return add_row(session, &part->slot, &row) < 0 ? NULL : part;
}

/* Between what the policy looks at; a worker's own list knows no bounds. */
static int clamp_priority(const struct session *session, int priority) {
    return priority < session->priority_min   ? session->priority_min
           : priority > session->priority_max ? session->priority_max
                                              : priority;
}

int session_make_task(struct session *session, struct sy_engine_slot *slot, uint32_t worker) {
    bool known = session->driver->known;
    struct starpu_task *task = known ? slot->row->starpu : starpu_task_create();
    if (!task) {
        return -ENOMEM;
    }
    if (known) {
        starpu_task_init(task);
    }
    task->cl = &slot->row->kernel->codelet;
    task->cl_arg = slot;
    task->cl_arg_size = 0;
    task->name = task->cl->name;
    task->destroy = !known;
    task->detach = 1;
    task->callback_func = known ? on_known_end : on_end;
    task->callback_arg = slot; /* a session's task begins with it */
    task->flops = slot->row->features.flops;
    task->priority = clamp_priority(session, slot->priority);
    if (worker != SY_NONE) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = worker;
        task->priority = slot->priority;
    }
    slot->row->starpu = task;
    struct buffers buffers = make_room(task, slot->access_count);
    for (uint32_t a = 0; buffers.handles && buffers.modes && a < slot->access_count; a++) {
        /* To StarPU, parts that run at the same time only read. */
        uint32_t mode =
            slot->part_count > 1 && !known ? SY_READ : slot->accesses[a].mode & SY_READ_WRITE;
        buffers.handles[a] = session_find_datum(session, slot->accesses[a].datum)->handle;
        buffers.modes[a] = starpu_modes[mode];
    }
    return buffers.handles && buffers.modes ? 0 : -ENOMEM;
}

int session_hand_over(struct session *session, const struct sy_engine_slot *slot) {
    char name[32];
    int code = starpu_task_submit(slot->row->starpu);
    return code ? session_fail(
                      session, code, "StarPU refuses %s of kernel %s: %s",
                      sy_graph_task_name(session->engine->graph, (sy_task_id){slot->task}, name),
                      slot->row->kernel->name, strerror(-code))
                : 0;
}

static int submit_one(struct session *session, struct session_task *task,
                      const struct sy_session_place *place) {
    uint32_t worker = place ? worker_at(session->engine, place) : SY_NONE;
    if (session_make_task(session, &task->slot, worker) < 0) {
        return session_fail(session, -ENOMEM, "no memory for a task");
    }
    atomic_fetch_add_explicit(&session->engine->page->task_count, 1, memory_order_relaxed);
    return session_hand_over(session, &task->slot);
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
        parts[p] = make_part(session, whole, p);
        code = parts[p] ? 0 : session_fail(session, -ENOMEM, "no memory for a part");
    }
    for (uint32_t p = 0; p < desc->place_count && !code; p++) {
        code = submit_one(session, parts[p], &desc->places[p]);
    }
    return code ? code : submit_border(session, &slot, false);
}

int session_submit(struct sy_session *base, const struct sy_session_task *desc) {
    struct session *session = session_of(base);
    struct sy_engine_kernel *kernel;
    int code = session_find_kernel(session, desc->kernel, &kernel);
    code = code ? code : check_task(session, desc, kernel);
    if (code) {
        return code;
    }
    struct session_task *task = take_task(session);
    code = task && kernel->recorded == SY_NONE ? record_kernel(session->engine, kernel) : 0;
    if (task && !code) {
        const struct sy_engine_row row = {.name = desc->name, .kernel = kernel, .work = desc->work};
        fill_task(session, task, desc);
        code = add_row(session, &task->slot, &row);
    }
    if (!task || code) {
        return session_fail(session, code ? code : -ENOMEM,
                            "a task of kernel %s cannot be recorded: %s", desc->kernel,
                            strerror(task ? -code : ENOMEM));
    }
    set_costs(session, &task->slot);
    atomic_fetch_add(&session->unfinished, 1);
    session->reported += task->tag != NULL;
    if (desc->place_count > 1) {
        code = submit_parts(session, task, desc);
    } else {
        code = note_written(session, &task->slot);
        code = code ? code : submit_one(session, task, desc->place_count ? desc->places : NULL);
    }
    if (code) {
        atomic_fetch_sub(&session->unfinished, 1);
        session->reported -= task->tag != NULL;
        return code;
    }
    return fetch_back(session, task);
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
