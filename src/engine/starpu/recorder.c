/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes of tasks while a program runs: see recorder.h.
 */
#include "engine/starpu/recorder.h"
#include "engine/rank.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUCCESSORS 256 /* of a task, that the program declared itself */
#define EDGES_EACH 16u /* of these are kept, on average */

struct note_datum {
    struct sy_chained link; /* by handle */
    uint32_t index;
};

/* --- what is wanted -----------------------------------------------------------------------------
 */

/* The file for this rank and this start of StarPU; pipes and devices are what they are. */
static int name_file(const char *variable, uint32_t start, char **ret_path) {
    const char *value = getenv(variable);
    struct stat info;
    struct sy_buffer path = {0};
    char part[48] = "";
    uint32_t rank = 0, length = 0;
    if (!value || !value[0]) {
        return 0;
    }
    bool plain = stat(value, &info) < 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
    if (plain && sy_mpi_rank(&rank)) {
        length = (uint32_t)snprintf(part, sizeof part, "rank%u", rank);
    }
    if (plain && start > 1) {
        snprintf(part + length, sizeof part - length, "%sstart%u", length ? "." : "", start);
    }
    sy_buffer_path(&path, value, part[0] ? part : NULL);
    if (path.failed) {
        sy_buffer_finish(&path);
        return -ENOMEM;
    }
    *ret_path = path.text;
    return 0;
}

/* A program may go to another folder before it ends. */
static int make_absolute(char **path) {
    char folder[PATH_MAX];
    if (!*path || **path == '/') {
        return 0;
    }
    struct sy_buffer whole = {0};
    if (!realpath(".", folder)) {
        return -errno;
    }
    sy_buffer_printf(&whole, "%s/%s", folder, *path);
    if (whole.failed) {
        sy_buffer_finish(&whole);
        return -ENOMEM;
    }
    free(*path);
    *path = whole.text;
    return 0;
}

/* Better said now than after hours. */
static int check_file(char **path, struct sy_error *error) {
    struct sy_writer *writer = NULL;
    int code = make_absolute(path);
    if (!code && *path) {
        code = sy_writer_open(*path, &writer);
        sy_writer_close(writer);
    }
    return code ? sy_fail_at(error, code, *path, 0, 0, "cannot write: %s", strerror(-code)) : 0;
}

static int read_limit(uint32_t *limit, struct sy_error *error) {
    const char *text = getenv("SYMPH_MAX_TASKS");
    uint64_t value = RECORDER_TASKS;
    if (text && text[0] &&
        (!sy_parse_u64(text, strlen(text), &value) || value < 1 || value > RECORDER_TASKS_MAX)) {
        return sy_fail(error, -EINVAL, "SYMPH_MAX_TASKS is '%s', and must be from 1 to %u", text,
                       RECORDER_TASKS_MAX);
    }
    *limit = (uint32_t)value;
    return 0;
}

static int read_wishes(struct recorder *r, uint32_t start, struct sy_error *error) {
    char **const files[] = {&r->record, &r->plot, &r->trace, &r->paje};
    static const char *const variables[] = {"SYMPH_RECORD", "SYMPH_PLOT", "SYMPH_TRACE",
                                            "SYMPH_PAJE"};
    int code = read_limit(&r->limit, error);
    for (size_t i = 0; i < SY_COUNT(files) && !code; i++) {
        code = name_file(variables[i], start, files[i]);
        code = code ? sy_fail(error, code, "out of memory") : check_file(files[i], error);
    }
    return code;
}

int recorder_open(uint32_t start, struct recorder **ret_recorder, struct sy_error *error) {
    struct recorder *r = calloc(1, sizeof *r);
    if (!r) {
        return sy_out_of_memory(error);
    }
    STARPU_PTHREAD_MUTEX_INIT(&r->lock, NULL);
    int code = read_wishes(r, start, error);
    bool wanted = r->record || r->plot || r->trace || r->paje;
    if (code || !wanted) {
        recorder_close(r);
        *ret_recorder = NULL;
        return code;
    }
    r->pid = getpid();
    r->arena = sy_arena_create();
    r->blocks = calloc(r->limit / RECORDER_BLOCK + 1u, sizeof *r->blocks);
    if (!r->arena || !r->blocks) {
        recorder_close(r);
        return sy_out_of_memory(error);
    }
    *ret_recorder = r;
    return 0;
}

void recorder_close(struct recorder *recorder) {
    if (!recorder) {
        return;
    }
    for (uint32_t i = 0; recorder->blocks && i <= recorder->limit / RECORDER_BLOCK; i++) {
        free(recorder->blocks[i]);
    }
    free(recorder->blocks);
    free(recorder->accesses);
    free(recorder->edges);
    free(recorder->data_bytes);
    free(recorder->record);
    free(recorder->plot);
    free(recorder->trace);
    free(recorder->paje);
    sy_chains_finish(&recorder->data);
    sy_arena_destroy(recorder->arena);
    STARPU_PTHREAD_MUTEX_DESTROY(&recorder->lock);
    free(recorder);
}

/* --- while tasks run ----------------------------------------------------------------------------
 */

/* A handle's address may be used again: for data of another size it is another datum. SY_NONE: no
 * memory. */
static uint32_t find_datum(struct recorder *r, const struct datum *datum) {
    struct note_datum *found = sy_chains_find(&r->data, (uintptr_t)datum->handle);
    if (found && r->data_bytes[found->index] == datum->bytes) {
        return found->index;
    }
    struct note_datum *fresh = sy_arena_alloc(r->arena, 1, sizeof *fresh);
    if (!fresh || sy_append(&r->data_bytes, &r->data_capacity, &r->data_count, &datum->bytes,
                            sizeof datum->bytes)) {
        return SY_NONE;
    }
    fresh->index = r->data_count - 1;
    return sy_chains_add(&r->data, &fresh->link, (uintptr_t)datum->handle) ? SY_NONE : fresh->index;
}

static enum note_order order_of(enum starpu_data_access_mode mode, bool ordered) {
    if (!ordered) {
        return NOTE_UNORDERED;
    }
    if (mode & STARPU_REDUX) {
        return NOTE_REDUCES;
    }
    if (!(mode & STARPU_W)) {
        return NOTE_READS;
    }
    return mode & STARPU_COMMUTE ? NOTE_COMMUTES : NOTE_WRITES;
}

static enum starpu_data_access_mode mode_on(const struct starpu_task *task,
                                            starpu_data_handle_t handle) {
    unsigned modes = 0, buffers = (unsigned)STARPU_TASK_GET_NBUFFERS(task);
    for (unsigned i = 0; i < buffers; i++) {
        if (STARPU_TASK_GET_HANDLE(task, i) == handle) {
            modes |= (unsigned)STARPU_TASK_GET_MODE(task, i);
        }
    }
    return (enum starpu_data_access_mode)modes;
}

/* A datum that is named twice is one access. */
static int add_accesses(struct recorder *r, const struct node *node, bool ordered) {
    uint32_t first = r->access_count;
    for (uint32_t a = 0; a < node->access_count; a++) {
        const struct node_access *access = &node->accesses[a];
        uint32_t datum = find_datum(r, access->datum), i = first;
        while (i < r->access_count && r->accesses[i].datum != datum) {
            i++;
        }
        if (i < r->access_count) {
            r->accesses[i].mode |= (uint16_t)access->mode;
            continue;
        }
        struct note_access fresh = {
            .datum = datum,
            .mode = (uint16_t)access->mode,
            .order = (uint16_t)order_of(mode_on(node->task, access->datum->handle), ordered)};
        if (datum == SY_NONE ||
            sy_append(&r->accesses, &r->access_capacity, &r->access_count, &fresh, sizeof fresh)) {
            r->access_count = first;
            return -ENOMEM;
        }
    }
    return 0;
}

/* The next one, of which nothing is known; NULL: beyond the limit, or no memory. */
static struct note *next_note(struct recorder *r) {
    struct note **block = &r->blocks[r->count / RECORDER_BLOCK];
    if (r->count >= r->limit || (!*block && !(*block = calloc(RECORDER_BLOCK, sizeof **block)))) {
        return NULL;
    }
    struct note *note = recorder_note(r, r->count);
    *note = (struct note){
        .ready_ns = NAN, .asked_ns = NAN, .start_ns = NAN, .end_ns = NAN, .worker = SY_NONE};
    return note;
}

static const char *own_name(struct recorder *r, const struct node *node) {
    const char *name = node->task->name, *kernel = node->row->name;
    return name && (!kernel || strcmp(name, kernel) != 0) ? sy_arena_strdup(r->arena, name) : NULL;
}

void recorder_note_task(struct node *node) {
    struct recorder *r = sy_shared.recorder;
    STARPU_PTHREAD_MUTEX_LOCK(&r->lock);
    struct note *note = next_note(r);
    if (note) {
        note->submitted_ns = shared_now_ns();
        note->index = r->count++;
        node->note = note;
    } else {
        r->left_out++;
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&r->lock);
}

void recorder_enter(struct node *node, bool ordered) {
    struct recorder *r = sy_shared.recorder;
    struct note *note = node->note;
    if (!note) {
        return;
    }
    STARPU_PTHREAD_MUTEX_LOCK(&r->lock);
    uint32_t first = r->access_count;
    if (node->row && node->row->name && !add_accesses(r, node, ordered)) {
        note->work = node->task->flops;
        note->row = node->row;
        note->name = own_name(r, node);
        note->number = node->told.number;
        note->access_start = first;
        note->access_count = r->access_count - first;
    } else {
        r->left_out++;
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&r->lock);
}

/* A task of ours that is noted too; those of contexts with another policy have data of its own. */
static const struct node *noted(const struct starpu_task *task) {
    bool known =
        task->sched_ctx < STARPU_NMAX_SCHED_CTXS && sy_shared.contexts[task->sched_ctx].used;
    const struct node *node = known ? node_of(task) : NULL;
    return node && node->note ? node : NULL;
}

static bool writes(const struct starpu_task *task, unsigned buffer) {
    return STARPU_TASK_GET_MODE(task, buffer) & (STARPU_W | STARPU_REDUX);
}

/* Then the order follows from the data, and recorder_graph.c knows it. */
static bool share_data(const struct starpu_task *a, const struct starpu_task *b) {
    unsigned buffers_a = (unsigned)STARPU_TASK_GET_NBUFFERS(a);
    unsigned buffers_b = (unsigned)STARPU_TASK_GET_NBUFFERS(b);
    for (unsigned i = 0; i < buffers_a && a->sequential_consistency; i++) {
        for (unsigned k = 0; k < buffers_b && b->sequential_consistency; k++) {
            if (STARPU_TASK_GET_HANDLE(a, i) == STARPU_TASK_GET_HANDLE(b, k) &&
                (writes(a, i) || writes(b, k))) {
                return true;
            }
        }
    }
    return false;
}

void recorder_successors(const struct node *node) {
    struct recorder *r = sy_shared.recorder;
    struct starpu_task *next[SUCCESSORS];
    int count = r ? starpu_task_get_task_succs(node->task, SUCCESSORS, next) : 0;
    for (int i = 0; i < count && i < SUCCESSORS; i++) {
        const struct node *other = noted(next[i]);
        if (!other || share_data(node->task, next[i])) {
            continue;
        }
        struct note_edge edge = {node->note->index, other->note->index};
        STARPU_PTHREAD_MUTEX_LOCK(&r->lock);
        if (r->edge_count < EDGES_EACH * r->limit) {
            (void)!sy_append(&r->edges, &r->edge_capacity, &r->edge_count, &edge, sizeof edge);
        }
        STARPU_PTHREAD_MUTEX_UNLOCK(&r->lock);
    }
}
