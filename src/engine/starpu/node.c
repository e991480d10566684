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

void node_release(struct node *node) {
    if (--node->references == 0) {
        free(node);
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
static uint32_t find_accesses(const struct starpu_task *task, struct node_access *accesses) {
    uint32_t count = 0, buffers = (uint32_t)STARPU_TASK_GET_NBUFFERS(task);
    for (uint32_t i = 0; i < buffers; i++) {
        uint32_t mode = mode_of(STARPU_TASK_GET_MODE(task, i));
        struct datum *datum = mode ? datum_use(STARPU_TASK_GET_HANDLE(task, i)) : NULL;
        if (datum) {
            accesses[count++] = (struct node_access){.datum = datum, .mode = mode};
        }
    }
    return count;
}

static uint32_t most_preds(const struct node_access *accesses, uint32_t count) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most += 1 + (accesses[i].mode & SY_WRITE ? accesses[i].datum->reader_count : 0);
    }
    return most;
}

static void note_access(struct node *node, struct node_access *access, bool ordered) {
    struct datum *d = access->datum;
    if (!ordered) {
        return;
    }
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

static struct node *allocate(const struct starpu_task *task) {
    struct node_access small[STARPU_NMAXBUFS], *accesses = small;
    size_t buffers = (size_t)STARPU_TASK_GET_NBUFFERS(task);
    if (buffers > STARPU_NMAXBUFS && !(accesses = calloc(buffers, sizeof *accesses))) {
        return NULL;
    }
    uint32_t count = find_accesses(task, accesses), preds = most_preds(accesses, count);
    struct node *node = malloc(sizeof *node + count * sizeof *accesses + preds * sizeof(void *));
    if (node) {
        memset(node, 0, sizeof *node);
        node->accesses = (struct node_access *)(node + 1);
        node->preds = (struct node **)(node->accesses + count);
        node->access_count = count;
        memcpy(node->accesses, accesses, count * sizeof *accesses);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            datum_unuse(accesses[i].datum);
        }
    }
    if (accesses != small) {
        free(accesses);
    }
    return node;
}

struct node *node_create(struct context *context, struct starpu_task *task, bool announced) {
    struct shared *s = &sy_shared;
    struct node *node = allocate(task);
    if (!node) {
        return NULL;
    }
    node->task = task;
    node->context = context;
    node->references = 1;
    node->index = node->next_index = SY_NONE;
    node->implementation = NO_IMPLEMENTATION;
    struct sy_starpu_told told = {.number = s->submitted, .flops = task->flops, .job.weight = 1};
    if (s->options.describe) {
        s->options.describe(task, &told);
    }
    node->number = told.number;
    node->sequence = s->submitted++;
    node->job = told.job;
    node->row = row_of(task, context->id, &told);
    for (uint32_t i = 0; i < node->access_count; i++) {
        node->accesses[i].reader = SY_NONE;
        note_access(node, &node->accesses[i], announced && task->sequential_consistency);
    }
    node->prev = context->last;
    *(context->last ? &context->last->next : &context->first) = node;
    context->last = node;
    context->count++;
    context->unlaid++;
    task->sched_data = node;
    status_submitted();
    recorder_submit(node, announced && task->sequential_consistency);
    return node;
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
    if (node->task) {
        node->task->sched_data = NULL;
    }
    node->task = NULL;
    node->state = NODE_DONE;
    for (uint32_t i = 0; i < node->access_count; i++) {
        forget_access(node, &node->accesses[i]);
    }
    *(node->prev ? &node->prev->next : &c->first) = node->next;
    *(node->next ? &node->next->prev : &c->last) = node->prev;
    c->count--;
    c->unlaid -= node->index == SY_NONE;
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
