/* SPDX-License-Identifier: Apache-2.0
 *
 * A node per submitted task, and who waits for whom: StarPU wires dependencies from the order of
 * submission and the handles' access modes, but tells a policy none of it. The same rule is applied
 * here. It only feeds ranks and plans: readiness itself comes from StarPU, so a dependency that is
 * not seen (tags) costs quality, never correctness. Commuting and reducing accesses are taken as
 * ordinary writes.
 */
#include "engine/starpu/recorder.h"
#include "engine/starpu/status.h"
#include <stdlib.h>
#include <string.h>

static struct datum *datum_use(starpu_data_handle_t handle) {
    struct sy_chains *data = &sy_shared.data;
    struct datum *d = sy_chains_find(data, (uintptr_t)handle);
    if (!d && (d = calloc(1, sizeof *d))) {
        d->handle = handle;
        d->bytes = (double)starpu_data_get_size(handle);
        if (sy_chains_add(data, &d->link, (uintptr_t)handle)) {
            free(d);
            return NULL;
        }
    }
    if (d) {
        d->uses++;
    }
    return d;
}

static void datum_unuse(struct datum *datum) {
    if (--datum->uses == 0) {
        sy_chains_remove(&sy_shared.data, &datum->link);
        free(datum->readers);
        free(datum);
    }
}

uint64_t datum_valid(const struct datum *datum) {
    uint64_t valid = 0;
    uint32_t memories = sy_shared.machine->memory_count;
    if (memories == 1) {
        return 1;
    }
    for (uint32_t m = 0; m < memories; m++) {
        int allocated = 0, is_valid = 0, requested = 0;
        starpu_data_query_status(datum->handle, (int)m, &allocated, &is_valid, &requested);
        valid |= (uint64_t)(is_valid != 0) << m;
    }
    return valid;
}

uint32_t datum_index(struct datum *datum, struct sy_live *live) {
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < DATUM_WORLDS; i++) {
        if (datum->world[i] == sy_live_number(live)) {
            return datum->index[i];
        }
        oldest = datum->world[i] < datum->world[oldest] ? i : oldest;
    }
    /* Contexts that share data may push each other's numbers out: then it is numbered again. */
    datum->world[oldest] = sy_live_number(live);
    datum->index[oldest] = sy_live_add_datum(live, datum->bytes, datum_valid(datum));
    return datum->index[oldest];
}

/* --- nodes -------------------------------------------------------------------------------------
 */

struct node *node_of(const struct starpu_task *task) {
    return task->sched_data;
}

/* Nodes come and go with tasks, made by one thread and given back by another: what malloc does
 * least well. Nobody waits for the spare ones. */
#define SPARE_MOST 4096

static struct spare *spare_of(uint32_t buffers) {
    struct spare *spare = buffers <= SPARE_BUFFERS ? &sy_shared.spare[buffers] : NULL;
    bool taken = !spare || atomic_exchange_explicit(&spare->taken, true, memory_order_acquire);
    return taken ? NULL : spare;
}

static void spare_leave(struct spare *spare) {
    atomic_store_explicit(&spare->taken, false, memory_order_release);
}

static struct node *allocate(uint32_t buffers) {
    struct spare *spare = spare_of(buffers);
    struct node *node = NULL;
    if (spare) {
        node = spare->first;
        if (node) {
            spare->first = node->next;
            spare->count--;
        }
        spare_leave(spare);
    }
    node = node ? node : malloc(sizeof *node + buffers * sizeof(struct node_access));
    if (node) {
        memset(node, 0, sizeof *node);
        node->buffers = buffers;
        node->accesses = (struct node_access *)(node + 1);
        node->preds = node->few;
    }
    return node;
}

void node_release(struct node *node) {
    if (--node->references) {
        return;
    }
    if (node->preds != node->few) {
        free(node->preds);
    }
    struct spare *spare = spare_of(node->buffers);
    bool kept = spare && spare->count < SPARE_MOST;
    if (kept) {
        node->next = spare->first;
        spare->first = node;
        spare->count++;
    }
    if (spare) {
        spare_leave(spare);
    }
    if (!kept) {
        free(node);
    }
}

void node_free_spare(void) {
    for (uint32_t i = 0; i <= SPARE_BUFFERS; i++) {
        struct spare *spare = &sy_shared.spare[i];
        while (spare->first) {
            struct node *node = spare->first;
            spare->first = node->next;
            free(node);
        }
        spare->count = 0;
    }
}

static void wait_for(struct node *node, struct node *pred) {
    if (!pred || pred == node) {
        return;
    }
    if (pred->waited_by == node->sequence + 1) {
        return;
    }
    pred->waited_by = node->sequence + 1;
    node->preds[node->pred_count++] = pred;
    pred->references++;
}

static uint32_t mode_of(enum starpu_data_access_mode mode) {
    uint32_t bits = (mode & STARPU_R ? (uint32_t)SY_READ : 0) | (mode & STARPU_W ? SY_WRITE : 0);
    return mode & STARPU_REDUX ? SY_READ_WRITE : bits;
}

/* Accesses with their data; scratch buffers carry nothing from task to task. */
static void find_accesses(struct node *node) {
    const struct starpu_task *task = node->task;
    for (uint32_t i = 0; i < node->buffers; i++) {
        uint32_t mode = mode_of(STARPU_TASK_GET_MODE(task, i));
        struct datum *datum = mode ? datum_use(STARPU_TASK_GET_HANDLE(task, i)) : NULL;
        if (datum) {
            node->accesses[node->access_count++] =
                (struct node_access){.datum = datum, .reader = SY_NONE, .mode = mode};
        }
    }
}

/* Room for all that it may wait for. Without memory it is seen to wait for nobody. */
static bool has_room(struct node *node) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < node->access_count; i++) {
        const struct node_access *a = &node->accesses[i];
        most += 1 + (a->mode & SY_WRITE ? a->datum->reader_count : 0);
    }
    struct node **room = most > NODE_FEW ? malloc(most * sizeof(struct node *)) : node->few;
    node->preds = room ? room : node->few;
    return room;
}

static void note_access(struct node *node, struct node_access *access) {
    struct datum *d = access->datum;
    access->producer = access->mode & SY_READ ? d->writer : NULL;
    wait_for(node, d->writer);
    if (access->mode & SY_WRITE) {
        for (uint32_t i = 0; i < d->reader_count; i++) {
            wait_for(node, d->readers[i].node);
        }
        d->reader_count = 0;
        d->writes++;
        d->writer = node;
    } else if (!sy_grow(&d->readers, &d->reader_capacity, d->reader_count + 1,
                        sizeof(struct reader))) {
        access->reader = d->reader_count;
        access->writes = d->writes;
        d->readers[d->reader_count++] = (struct reader){node, (uint32_t)(access - node->accesses)};
    }
}

struct node *node_create(struct context *context, struct starpu_task *task) {
    const struct sy_starpu_options *options = &sy_shared.options;
    struct node *node = allocate((uint32_t)STARPU_TASK_GET_NBUFFERS(task));
    if (!node) {
        return NULL;
    }
    node->task = task;
    node->context = context;
    node->references = 1;
    node->index = node->next_index = SY_NONE;
    node->implementation = NO_IMPLEMENTATION;
    node->told = (struct sy_starpu_told){.flops = task->flops, .job.weight = 1};
    if (options->describe) {
        options->describe(task, &node->told);
    }
    row_key(node);
    recorder_create(node);
    task->sched_data = node;
    return node;
}

void node_enter(struct node *node, bool announced) {
    struct shared *s = &sy_shared;
    struct context *context = node->context;
    node->entered = true;
    node->sequence = s->submitted++;
    if (!s->options.describe) {
        node->told.number = node->sequence;
    }
    find_accesses(node);
    node->row = row_of(node);
    planner_hears(&context->usual_ns, node);
    bool ordered = announced && node->task->sequential_consistency && has_room(node);
    for (uint32_t i = 0; ordered && i < node->access_count; i++) {
        note_access(node, &node->accesses[i]);
    }
    node->prev = context->last;
    *(context->last ? &context->last->next : &context->first) = node;
    context->last = node;
    context->count++;
    context->unlaid++;
    status_submitted();
    recorder_enter(node, announced && node->task->sequential_consistency);
}

static void forget_access(struct node *node, const struct node_access *access) {
    struct datum *d = access->datum;
    if (d->writer == node) {
        d->writer = NULL;
    }
    if (access->reader != SY_NONE && access->writes == d->writes) {
        struct reader last = d->readers[--d->reader_count];
        d->readers[access->reader] = last;
        last.node->accesses[last.access].reader = access->reader;
    }
    datum_unuse(d);
}

void node_finish(struct node *node) {
    struct context *c = node->context;
    node->state = NODE_DONE;
    for (uint32_t i = 0; i < node->access_count; i++) {
        forget_access(node, &node->accesses[i]);
    }
    *(node->prev ? &node->prev->next : &c->first) = node->next;
    *(node->next ? &node->next->prev : &c->last) = node->prev;
    c->count--;
    c->unlaid -= node->index == SY_NONE && !node->is_short;
    c->singles -= node->single;
    planner_leave_line(c, node);
    for (uint32_t i = 0; i < node->pred_count; i++) {
        node_release(node->preds[i]);
    }
    node->pred_count = 0;
    if (c->planning) { /* the planner has a pointer to it */
        node->next = c->graveyard;
        c->graveyard = node;
    } else {
        node_release(node);
    }
}

void node_reap(struct context *context) {
    while (context->graveyard) {
        struct node *node = context->graveyard;
        context->graveyard = node->next;
        node_release(node);
    }
}
