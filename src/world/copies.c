/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in motion: which memory holds the present version of a datum, which copies are under way,
 * which accesses wait for them. Invariant: a copy only ever moves the version its readers want,
 * because a later writer depends on them, unless the graph's own dependencies leave that open.
 */
#include "world/inside.h"
#include <math.h>

static inline struct sy_world_access *waiting(const struct sy_world *w, uint32_t access) {
    return &w->accesses[access - w->access_first];
}

static uint32_t nearest_source(const struct sy_world *w, uint32_t datum, uint32_t to) {
    const struct sy_machine *m = w->machine;
    uint64_t valid = w->data_valid[datum];
    uint32_t best = SY_NONE;
    double best_ns = INFINITY;
    if (valid && !(valid & (valid - 1))) {
        return (uint32_t)__builtin_ctzll(valid);
    }
    for (uint64_t rest = valid; rest; rest &= rest - 1) {
        uint32_t from = (uint32_t)__builtin_ctzll(rest);
        const struct sy_route *route = &m->routes[(size_t)from * m->memory_count + to];
        double ns = route->latency_ns + w->view.data_bytes[datum] / route->bytes_per_s * 1e9;
        if (best == SY_NONE || ns < best_ns) {
            best_ns = ns;
            best = from;
        }
    }
    SY_ASSERT(best != SY_NONE);
    return best;
}

static void launch(struct sy_world *w, uint32_t index) {
    struct sy_world_copy *copy = &w->copies[index];
    copy->from = nearest_source(w, copy->datum, copy->to);
    copy->start_ns = world_now(w);
    w->bytes_moved += w->view.data_bytes[copy->datum];
    w->transfer_count++;
    w->live_events++;
    sy_world_start_copy(w, index);
}

/* As flows only so many copies enter a memory at a time; the others queue. */
static void enqueue(struct sy_world *w, uint32_t index) {
    struct sy_world_channel *channel = &w->channels[w->copies[index].to];
    if (!w->shared || channel->active < w->machine->memories[w->copies[index].to].dma_count) {
        channel->active++;
        launch(w, index);
        return;
    }
    if (channel->last_queued == SY_NONE) {
        channel->first_queued = index;
    } else {
        w->copies[channel->last_queued].next_queued = index;
    }
    channel->last_queued = index;
}

static uint32_t find_copy(const struct sy_world *w, uint32_t datum, uint32_t to) {
    uint32_t index = w->data_copies[datum];
    while (w->copies[index].to != to) {
        index = w->copies[index].next_of_datum;
    }
    return index;
}

static uint32_t new_copy(struct sy_world *w, uint32_t datum, uint32_t to) {
    uint32_t index = w->copy_free;
    if (index != SY_NONE) {
        w->copy_free = w->copies[index].next_queued;
    } else {
        index = w->copy_unused++;
        SY_ASSERT(index < w->copy_capacity);
        w->events.key[w->slot_copy + index] = INFINITY;
    }
    w->copies[index] = (struct sy_world_copy){.datum = datum,
                                              .to = to,
                                              .from = SY_NONE,
                                              .flow = SY_NONE,
                                              .next_of_datum = w->data_copies[datum],
                                              .next_queued = SY_NONE,
                                              .waiters = SY_NONE};
    w->data_copies[datum] = index;
    w->data_inflight[datum] |= UINT64_C(1) << to;
    return index;
}

/* Whether the access has to wait for a copy, which sets out if it must. */
static bool waits(struct sy_world *w, uint32_t task, uint32_t access, uint32_t memory) {
    uint32_t datum = w->view.access[access].datum;
    uint64_t bit = UINT64_C(1) << memory;
    if ((w->data_valid[datum] & bit) || !w->data_valid[datum]) {
        return false; /* nowhere: it is made where it is used */
    }
    bool under_way = w->data_inflight[datum] & bit;
    uint32_t index = under_way ? find_copy(w, datum, memory) : new_copy(w, datum, memory);
    *waiting(w, access) = (struct sy_world_access){index, w->copies[index].waiters, task};
    w->copies[index].waiters = access;
    if (!under_way) {
        enqueue(w, index);
    }
    return true;
}

void sy_world_request_access(struct sy_world *w, uint32_t task, uint32_t access, uint32_t memory) {
    if (!waits(w, task, access, memory) && --w->task_missing[task] == 0) {
        sy_world_inputs_ready(w, task);
    }
}

static bool is_available(const struct sy_world *w, uint32_t access) {
    uint32_t producer = w->view.access_producer[access];
    return producer == SY_NONE || w->task_state[producer] == SY_TASK_DONE;
}

void sy_world_request_inputs(struct sy_world *w, uint32_t task, uint32_t memory) {
    const struct sy_view *v = &w->view;
    uint32_t missing = 0;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        waiting(w, a)->copy = SY_NONE;
        if (v->access[a].mode & SY_READ) {
            missing += !is_available(w, a) || waits(w, task, a, memory);
        }
    }
    w->task_missing[task] = missing;
}

/* Copies that nobody waits for yet. They end where the pool of copies does: fetching is a favour.
 */
void sy_world_fetch(struct sy_world *w, uint32_t task, uint32_t memory) {
    const struct sy_view *v = &w->view;
    uint64_t bit = UINT64_C(1) << memory;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        uint32_t datum = v->access[a].datum;
        bool there = (w->data_valid[datum] | w->data_inflight[datum]) & bit;
        bool room = w->fetched_count < w->fetched_limit;
        if ((v->access[a].mode & SY_READ) && is_available(w, a) && w->data_valid[datum] && !there &&
            room) {
            uint32_t index = new_copy(w, datum, memory);
            w->copies[index].fetched = true;
            w->fetched_count++;
            enqueue(w, index);
        }
    }
}

void sy_world_detach_inputs(struct sy_world *w, uint32_t task) {
    const struct sy_view *v = &w->view;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        if (waiting(w, a)->copy == SY_NONE) {
            continue;
        }
        uint32_t *link = &w->copies[waiting(w, a)->copy].waiters;
        while (*link != a) {
            link = &waiting(w, *link)->next;
        }
        *link = waiting(w, a)->next;
        waiting(w, a)->copy = SY_NONE;
    }
}

/* Its copies go on as if they had been fetched, if there is room for so many of these. */
bool sy_world_release_inputs(struct sy_world *w, uint32_t task) {
    const struct sy_view *v = &w->view;
    uint32_t under_way = 0;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        under_way += waiting(w, a)->copy != SY_NONE;
    }
    if (w->fetched_count + under_way > w->fetched_limit) {
        return false;
    }
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        uint32_t index = waiting(w, a)->copy;
        if (index != SY_NONE && !w->copies[index].fetched) {
            w->copies[index].fetched = true;
            w->fetched_count++;
        }
    }
    sy_world_detach_inputs(w, task);
    return true;
}

static void account(struct sy_world *w, uint32_t memory, double bytes) {
    w->memory_bytes[memory] += bytes;
    if (w->memory_bytes[memory] > w->memory_peak_bytes[memory]) {
        w->memory_peak_bytes[memory] = w->memory_bytes[memory];
    }
}

static void unlink_copy(struct sy_world *w, uint32_t index) {
    uint32_t datum = w->copies[index].datum;
    uint32_t *link = &w->data_copies[datum];
    while (*link != index) {
        link = &w->copies[*link].next_of_datum;
    }
    *link = w->copies[index].next_of_datum;
    w->data_inflight[datum] &= ~(UINT64_C(1) << w->copies[index].to);
}

static void free_copy(struct sy_world *w, uint32_t index) {
    w->fetched_count -= w->copies[index].fetched;
    w->copies[index].next_queued = w->copy_free;
    w->copy_free = index;
}

static void next_in_channel(struct sy_world *w, uint32_t memory) {
    struct sy_world_channel *channel = &w->channels[memory];
    channel->active--;
    while (channel->first_queued != SY_NONE) {
        uint32_t index = channel->first_queued;
        channel->first_queued = w->copies[index].next_queued;
        if (channel->first_queued == SY_NONE) {
            channel->last_queued = SY_NONE;
        }
        if (!w->copies[index].stale || w->copies[index].waiters != SY_NONE) {
            channel->active++;
            launch(w, index);
            return;
        }
        free_copy(w, index);
    }
}

void sy_world_copy_done(struct sy_world *w, uint32_t index) {
    struct sy_world_copy copy = w->copies[index];
    sy_heap_unset(&w->events, w->slot_copy + index);
    w->live_events--;
    sy_world_end_copy(w, index);
    if (!copy.stale) {
        w->data_valid[copy.datum] |= UINT64_C(1) << copy.to;
        if (w->data_uses && w->data_uses[copy.datum]) { /* else it is already forgotten */
            account(w, copy.to, w->view.data_bytes[copy.datum]);
        }
        unlink_copy(w, index);
    }
    if (w->hooks.span) {
        w->hooks.span(w->driver, &(struct sy_span){.start_ns = copy.start_ns,
                                                   .end_ns = world_now(w),
                                                   .kind = SY_SPAN_TRANSFER,
                                                   .subject = copy.datum,
                                                   .place = copy.to,
                                                   .from = copy.from,
                                                   .bytes = w->view.data_bytes[copy.datum]});
    }
    free_copy(w, index);
    next_in_channel(w, copy.to);
    w->news |= copy.waiters == SY_NONE; /* fetched: somebody may wait for it outside */
    for (uint32_t a = copy.waiters, next; a != SY_NONE; a = next) {
        struct sy_world_access *access = waiting(w, a);
        uint32_t task = access->task;
        next = access->next;
        access->copy = SY_NONE;
        if (--w->task_missing[task] == 0) {
            sy_world_inputs_ready(w, task);
        }
    }
}

static void drop_copies(struct sy_world *w, uint32_t datum, uint64_t memories) {
    for (; memories; memories &= memories - 1) {
        w->memory_bytes[__builtin_ctzll(memories)] -= w->view.data_bytes[datum];
    }
}

/* Copies of the version that is now overwritten go on to nowhere, but for readers that nothing puts
 * before the writer, as a graph of explicit dependencies may have: what they wait for still comes.
 */
static void outdate_copies(struct sy_world *w, uint32_t datum) {
    for (uint32_t i = w->data_copies[datum]; i != SY_NONE; i = w->copies[i].next_of_datum) {
        w->copies[i].stale = true;
    }
    w->data_copies[datum] = SY_NONE;
    w->data_inflight[datum] = 0;
}

/* Of the memories' accounts: what is written is there, and what nobody will use again is not. */
static void account_outputs(struct sy_world *w, uint32_t datum, uint32_t memory) {
    uint64_t bit = UINT64_C(1) << memory, held = w->data_valid[datum];
    drop_copies(w, datum, held & ~bit);
    if (!(held & bit)) {
        account(w, memory, w->view.data_bytes[datum]);
    }
}

static void account_uses(struct sy_world *w, uint32_t task) {
    const struct sy_view *v = &w->view;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        uint32_t datum = v->access[a].datum;
        if (--w->data_uses[datum] == 0) {
            drop_copies(w, datum, w->data_valid[datum]);
        }
    }
}

void sy_world_write_outputs(struct sy_world *w, uint32_t task, uint32_t memory) {
    const struct sy_view *v = &w->view;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        uint32_t datum = v->access[a].datum;
        if (v->access[a].mode & SY_WRITE) {
            if (w->data_inflight[datum]) {
                outdate_copies(w, datum);
            }
            if (w->data_uses) {
                account_outputs(w, datum, memory);
            }
            w->data_valid[datum] = UINT64_C(1) << memory;
        }
    }
    if (w->data_uses) { /* only now: inputs and outputs were there together */
        account_uses(w, task);
    }
}
