/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waited for whom, in a program that has ended: StarPU's rule (order of submission, modes of
 * access) on the notes of its tasks. node.c applies the same rule while the program runs, but
 * forgets what has ended; here it is all there. Tasks that commute or reduce do not wait for each
 * other, but for what was before the first of them. Dependencies between tasks that a program has
 * declared itself are added; those between tags are not seen.
 */
#include "engine/starpu/recorder.h"
#include "graph/graph.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_EDGES 64u /* of a task to a group of tasks that commute: enough to tell the order */

/* Tasks, newest first: indices into a pool. */
struct chain {
    uint32_t first, count;
};

struct turn {
    uint32_t order; /* of the writers: enum note_order */
    struct chain writers, readers;
    struct chain before[2]; /* of a group: what its first member waited for */
};

struct builder {
    const struct recorder *recorder;
    struct sy_graph *graph;
    struct turn *turns; /* per datum */
    struct link {
        uint32_t task, next;
    } * pool;
    uint32_t pool_count, pool_capacity;
    struct sy_map kernels;
};

static int push(struct builder *b, struct chain *chain, uint32_t task) {
    struct link link = {task, chain->count ? chain->first : SY_NONE};
    int code = sy_append(&b->pool, &b->pool_capacity, &b->pool_count, &link, sizeof link);
    if (!code) {
        chain->first = b->pool_count - 1;
        chain->count++;
    }
    return code;
}

static int wait_for(struct builder *b, const struct chain *chain, uint32_t task, uint32_t most) {
    int code = 0;
    for (uint32_t i = 0, at = chain->first; i < chain->count && i < most && !code; i++) {
        if (b->pool[at].task != task) {
            code = sy_graph_add_edge(b->graph, (sy_task_id){b->pool[at].task}, (sy_task_id){task});
        }
        at = b->pool[at].next;
    }
    return code;
}

static int read_after(struct builder *b, struct turn *turn, uint32_t task) {
    int code = wait_for(b, &turn->writers, task, GROUP_EDGES);
    return code ? code : push(b, &turn->readers, task);
}

/* Its writers' and readers' turn is over. */
static int write_after(struct builder *b, struct turn *turn, uint32_t task, uint32_t order) {
    bool joins = order != NOTE_WRITES && order == turn->order && turn->readers.count == 0 &&
                 turn->writers.count > 0;
    if (joins) {
        int code = wait_for(b, &turn->before[0], task, GROUP_EDGES);
        code = code ? code : wait_for(b, &turn->before[1], task, GROUP_EDGES);
        return code ? code : push(b, &turn->writers, task);
    }
    int code = wait_for(b, &turn->writers, task, GROUP_EDGES);
    code = code ? code : wait_for(b, &turn->readers, task, UINT32_MAX);
    turn->before[0] = turn->writers;
    turn->before[1] = turn->readers;
    turn->order = order;
    turn->writers = turn->readers = (struct chain){0};
    return code ? code : push(b, &turn->writers, task);
}

static int add_edges(struct builder *b, const struct note *note, uint32_t task) {
    int code = 0;
    for (uint32_t a = 0; a < note->access_count && !code; a++) {
        const struct note_access *access = &b->recorder->accesses[note->access_start + a];
        struct turn *turn = &b->turns[access->datum];
        if (access->order == NOTE_READS) {
            code = read_after(b, turn, task);
        } else if (access->order != NOTE_UNORDERED) {
            code = write_after(b, turn, task, access->order);
        }
    }
    return code;
}

static int find_kernel(struct builder *b, const char *name, sy_kernel_id *ret_kernel) {
    uint32_t index = 0;
    if (sy_map_get(&b->kernels, name, strlen(name), &index)) {
        *ret_kernel = (sy_kernel_id){index};
        return 0;
    }
    const struct sy_kernel_desc desc = {.name = name};
    int code = sy_graph_add_kernel(b->graph, &desc, ret_kernel);
    return code ? code : sy_map_put(&b->kernels, name, strlen(name), ret_kernel->index);
}

/* Tasks that the program has not named are called by their kernel and their number, by which people
 * can ask for them. */
static int add_task(struct builder *b, const struct note *note, uint32_t number) {
    struct sy_access small[STARPU_NMAXBUFS], *accesses = small;
    char name[128];
    if (note->access_count > SY_COUNT(small)) {
        accesses = calloc(note->access_count, sizeof *accesses);
    }
    if (!accesses) {
        return -ENOMEM;
    }
    for (uint32_t a = 0; a < note->access_count; a++) {
        const struct note_access *from = &b->recorder->accesses[note->access_start + a];
        accesses[a] = (struct sy_access){from->datum, from->mode};
    }
    snprintf(name, sizeof name, "%.100s #%u", note->name ? note->name : note->row->name, number);
    struct sy_task_desc desc = {.name = name,
                                .work = note->work > 0 ? note->work : 0,
                                .accesses = accesses,
                                .access_count = note->access_count};
    sy_task_id id;
    int code = find_kernel(b, note->row->name, &desc.kernel);
    code = code ? code : sy_graph_add_task(b->graph, &desc, &id);
    code = code ? code : add_edges(b, note, id.index);
    if (accesses != small) {
        free(accesses);
    }
    return code;
}

static int fill(struct builder *b, const uint32_t *order, uint32_t count) {
    const struct recorder *r = b->recorder;
    int code = 0;
    for (uint32_t d = 0; d < r->data_count && !code; d++) {
        sy_data_id id;
        code = sy_graph_add_data(b->graph, NULL, r->data_bytes[d], &id);
    }
    for (uint32_t t = 0; t < count && !code; t++) {
        code = add_task(b, recorder_note(r, order[t]), t);
    }
    return code;
}

static int add_declared(struct builder *b, const uint32_t *order, uint32_t count) {
    const struct recorder *r = b->recorder;
    uint32_t *task_of = r->edge_count ? calloc(r->count + 1u, sizeof *task_of) : NULL;
    int code = r->edge_count && !task_of ? -ENOMEM : 0;
    for (uint32_t t = 0; task_of && t < count; t++) {
        task_of[order[t]] = t + 1; /* 0: it is left out */
    }
    for (uint32_t e = 0; e < r->edge_count && !code; e++) {
        uint32_t from = task_of[r->edges[e].from], to = task_of[r->edges[e].to];
        if (from && to) {
            code = sy_graph_add_edge(b->graph, (sy_task_id){from - 1}, (sy_task_id){to - 1});
        }
    }
    free(task_of);
    return code;
}

int recorder_graph(const struct recorder *recorder, const uint32_t *order, uint32_t count,
                   const char *name, struct sy_graph **ret_graph, struct sy_error *error) {
    struct builder b = {.recorder = recorder, .graph = sy_graph_create(name, true)};
    b.turns = calloc(recorder->data_count + 1u, sizeof *b.turns);
    int code = b.graph && b.turns ? fill(&b, order, count) : -ENOMEM;
    code = code ? code : add_declared(&b, order, count);
    code = code ? sy_fail(error, code, "the graph of the tasks cannot be made: %s", strerror(-code))
                : sy_graph_seal(b.graph, error);
    if (code) {
        sy_graph_destroy(b.graph);
    } else {
        *ret_graph = b.graph;
    }
    sy_map_finish(&b.kernels);
    free(b.turns);
    free(b.pool);
    return code;
}
