/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in motion: which memory holds the present version of a datum, which copies are under way,
 * which accesses wait for them. Invariant: a copy only ever moves the version its readers want,
 * because a later writer depends on them, unless the graph's own dependencies leave that open.
 */
#include "sim/state.h"
#include <math.h>

static uint32_t nearest_source(const struct sy_sim *sim, uint32_t datum, uint32_t to) {
    const struct sy_machine *m = sim->machine;
    uint32_t best = SY_NONE;
    double best_ns = INFINITY;
    for (uint64_t rest = sim->data_valid[datum]; rest; rest &= rest - 1) {
        uint32_t from = (uint32_t)__builtin_ctzll(rest);
        const struct sy_route *route = &m->routes[(size_t)from * m->memory_count + to];
        double ns = route->latency_ns + sim->w->data_bytes[datum] / route->bytes_per_s * 1e9;
        if (ns < best_ns) {
            best_ns = ns;
            best = from;
        }
    }
    SY_ASSERT(best != SY_NONE);
    return best;
}

static void launch(struct sy_sim *sim, uint32_t index) {
    struct copy *copy = &sim->copies[index];
    const struct sy_machine *m = sim->machine;
    copy->from = nearest_source(sim, copy->datum, copy->to);
    copy->start_ns = sim_now(sim);
    double bytes = sim->w->data_bytes[copy->datum];
    sim->bytes_moved += bytes;
    sim->transfer_count++;
    sim->live_events++;
    if (sim->net) {
        sy_sim_flow_start_copy(sim, index);
        return;
    }
    const struct sy_route *route = &m->routes[(size_t)copy->from * m->memory_count + copy->to];
    sy_heap_set(&sim->heap, sim->slot_copy + index,
                sim_now(sim) + route->latency_ns + bytes / route->bytes_per_s * 1e9);
}

/* With contention only so many copies enter a memory at a time; the others queue. */
static void enqueue(struct sy_sim *sim, uint32_t index) {
    struct channel *channel = &sim->channels[sim->copies[index].to];
    if (!sim->net || channel->active < sim->machine->memories[sim->copies[index].to].dma_count) {
        channel->active++;
        launch(sim, index);
        return;
    }
    if (channel->last_queued == SY_NONE) {
        channel->first_queued = index;
    } else {
        sim->copies[channel->last_queued].next_queued = index;
    }
    channel->last_queued = index;
}

static uint32_t find_copy(const struct sy_sim *sim, uint32_t datum, uint32_t to) {
    uint32_t index = sim->data_copies[datum];
    while (sim->copies[index].to != to) {
        index = sim->copies[index].next_of_datum;
    }
    return index;
}

static uint32_t new_copy(struct sy_sim *sim, uint32_t datum, uint32_t to) {
    uint32_t index = sim->copy_free;
    if (index != SY_NONE) {
        sim->copy_free = sim->copies[index].next_queued;
    } else {
        index = sim->copy_unused++;
        SY_ASSERT(index < sim->copy_capacity);
    }
    sim->copies[index] = (struct copy){.datum = datum,
                                       .to = to,
                                       .from = SY_NONE,
                                       .flow = SY_NONE,
                                       .next_of_datum = sim->data_copies[datum],
                                       .next_queued = SY_NONE,
                                       .waiters = SY_NONE};
    sim->data_copies[datum] = index;
    sim->data_inflight[datum] |= UINT64_C(1) << to;
    return index;
}

void sy_sim_request_access(struct sy_sim *sim, uint32_t task, uint32_t access, uint32_t memory) {
    uint32_t datum = sim->w->access[access].datum;
    uint64_t bit = UINT64_C(1) << memory;
    if (sim->data_valid[datum] & bit) {
        if (--sim->task_missing[task] == 0) {
            sy_sim_inputs_ready(sim, task);
        }
        return;
    }
    bool under_way = sim->data_inflight[datum] & bit;
    uint32_t index = under_way ? find_copy(sim, datum, memory) : new_copy(sim, datum, memory);
    sim->access_copy[access] = index;
    sim->access_next[access] = sim->copies[index].waiters;
    sim->copies[index].waiters = access;
    if (!under_way) {
        enqueue(sim, index);
    }
}

static bool is_available(const struct sy_sim *sim, uint32_t access) {
    uint32_t producer = sim->w->access_producer[access];
    return producer == SY_NONE || sim->task_state[producer] == SY_TASK_DONE;
}

void sy_sim_request_inputs(struct sy_sim *sim, uint32_t task, uint32_t memory) {
    const struct sy_workload *w = sim->w;
    uint32_t first = w->access_start[task], end = w->access_start[task + 1], missing = 0;
    for (uint32_t a = first; a < end; a++) {
        missing += (w->access[a].mode & SY_READ) != 0;
    }
    sim->task_missing[task] = missing + 1; /* one more, so that none below is the last */
    for (uint32_t a = first; a < end; a++) {
        if ((w->access[a].mode & SY_READ) && is_available(sim, a)) {
            sy_sim_request_access(sim, task, a, memory);
        }
    }
    sim->task_missing[task]--;
}

/* Copies that nobody waits for yet. They end where the pool of copies does: fetching is a favour.
 */
void sy_sim_fetch(struct sy_sim *sim, uint32_t task, uint32_t memory) {
    const struct sy_workload *w = sim->w;
    uint64_t bit = UINT64_C(1) << memory;
    for (uint32_t a = w->access_start[task]; a < w->access_start[task + 1]; a++) {
        uint32_t datum = w->access[a].datum;
        bool there = (sim->data_valid[datum] | sim->data_inflight[datum]) & bit;
        bool room = sim->fetched_count < sim->fetched_limit;
        if ((w->access[a].mode & SY_READ) && is_available(sim, a) && !there && room) {
            uint32_t index = new_copy(sim, datum, memory);
            sim->copies[index].fetched = true;
            sim->fetched_count++;
            enqueue(sim, index);
        }
    }
}

void sy_sim_detach_inputs(struct sy_sim *sim, uint32_t task) {
    const struct sy_workload *w = sim->w;
    for (uint32_t a = w->access_start[task]; a < w->access_start[task + 1]; a++) {
        if (sim->access_copy[a] == SY_NONE) {
            continue;
        }
        uint32_t *link = &sim->copies[sim->access_copy[a]].waiters;
        while (*link != a) {
            link = &sim->access_next[*link];
        }
        *link = sim->access_next[a];
        sim->access_copy[a] = SY_NONE;
    }
}

static void account(struct sy_sim *sim, uint32_t memory, double bytes) {
    sim->memory_bytes[memory] += bytes;
    if (sim->memory_bytes[memory] > sim->memory_peak_bytes[memory]) {
        sim->memory_peak_bytes[memory] = sim->memory_bytes[memory];
    }
}

static void unlink_copy(struct sy_sim *sim, uint32_t index) {
    uint32_t datum = sim->copies[index].datum;
    uint32_t *link = &sim->data_copies[datum];
    while (*link != index) {
        link = &sim->copies[*link].next_of_datum;
    }
    *link = sim->copies[index].next_of_datum;
    sim->data_inflight[datum] &= ~(UINT64_C(1) << sim->copies[index].to);
}

static void free_copy(struct sy_sim *sim, uint32_t index) {
    sim->fetched_count -= sim->copies[index].fetched;
    sim->copies[index].next_queued = sim->copy_free;
    sim->copy_free = index;
}

static void next_in_channel(struct sy_sim *sim, uint32_t memory) {
    struct channel *channel = &sim->channels[memory];
    channel->active--;
    while (channel->first_queued != SY_NONE) {
        uint32_t index = channel->first_queued;
        channel->first_queued = sim->copies[index].next_queued;
        if (channel->first_queued == SY_NONE) {
            channel->last_queued = SY_NONE;
        }
        if (!sim->copies[index].stale || sim->copies[index].waiters != SY_NONE) {
            channel->active++;
            launch(sim, index);
            return;
        }
        free_copy(sim, index);
    }
}

void sy_sim_copy_done(struct sy_sim *sim, uint32_t index) {
    struct copy copy = sim->copies[index];
    sy_heap_remove(&sim->heap, sim->slot_copy + index);
    sim->live_events--;
    if (sim->net) {
        sy_sim_flow_end_copy(sim, index);
    }
    if (!copy.stale) {
        sim->data_valid[copy.datum] |= UINT64_C(1) << copy.to;
        if (sim->data_uses[copy.datum]) { /* else it is already forgotten */
            account(sim, copy.to, sim->w->data_bytes[copy.datum]);
        }
        unlink_copy(sim, index);
    }
    if (sim->options.record) {
        sy_trace_add(&sim->trace, &(struct sy_span){.start_ns = copy.start_ns,
                                                    .end_ns = sim_now(sim),
                                                    .kind = SY_SPAN_TRANSFER,
                                                    .subject = copy.datum,
                                                    .place = copy.to,
                                                    .from = copy.from,
                                                    .bytes = sim->w->data_bytes[copy.datum]});
    }
    free_copy(sim, index);
    next_in_channel(sim, copy.to);
    sim->news |= copy.waiters == SY_NONE; /* fetched: somebody may wait for it outside */
    for (uint32_t a = copy.waiters, next; a != SY_NONE; a = next) {
        next = sim->access_next[a];
        sim->access_copy[a] = SY_NONE;
        uint32_t task = sim->access_task[a];
        if (--sim->task_missing[task] == 0) {
            sy_sim_inputs_ready(sim, task);
        }
    }
}

static void drop_copies(struct sy_sim *sim, uint32_t datum, uint64_t memories) {
    for (; memories; memories &= memories - 1) {
        sim->memory_bytes[__builtin_ctzll(memories)] -= sim->w->data_bytes[datum];
    }
}

/* Copies of the version that is now overwritten go on to nowhere, but for readers that nothing puts
 * before the writer, as a graph of explicit dependencies may have: what they wait for still comes.
 */
static void outdate_copies(struct sy_sim *sim, uint32_t datum) {
    for (uint32_t i = sim->data_copies[datum]; i != SY_NONE; i = sim->copies[i].next_of_datum) {
        sim->copies[i].stale = true;
    }
    sim->data_copies[datum] = SY_NONE;
    sim->data_inflight[datum] = 0;
}

void sy_sim_write_outputs(struct sy_sim *sim, uint32_t task, uint32_t memory) {
    const struct sy_workload *w = sim->w;
    uint64_t bit = UINT64_C(1) << memory;
    for (uint32_t a = w->access_start[task]; a < w->access_start[task + 1]; a++) {
        uint32_t datum = w->access[a].datum;
        if (w->access[a].mode & SY_WRITE) {
            uint64_t held = sim->data_valid[datum];
            outdate_copies(sim, datum);
            drop_copies(sim, datum, held & ~bit);
            if (!(held & bit)) {
                account(sim, memory, w->data_bytes[datum]);
            }
            sim->data_valid[datum] = bit;
        }
    }
    /* Only now: inputs and outputs were there together. */
    for (uint32_t a = w->access_start[task]; a < w->access_start[task + 1]; a++) {
        uint32_t datum = w->access[a].datum;
        if (--sim->data_uses[datum] == 0) {
            drop_copies(sim, datum, sim->data_valid[datum]);
        }
    }
}
