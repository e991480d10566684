/* SPDX-License-Identifier: Apache-2.0
 *
 * A static plan under construction: what stands on each device, as lists threaded through arrays
 * indexed by task, with insertion into gaps. Times are isolated; copies start when the producer
 * ends and do not disturb each other.
 */
#include "schedulers/policy.h"
#include <errno.h>
#include <string.h>

int sy_draft_take(struct draft *plan, struct sy_arena *arena, const struct sy_view *view) {
    size_t tasks = view->task_capacity + 1u, devices = view->machine->device_count;
    plan->device = sy_arena_alloc(arena, tasks, sizeof *plan->device);
    plan->start_ns = sy_arena_alloc(arena, tasks, sizeof *plan->start_ns);
    plan->end_ns = sy_arena_alloc(arena, tasks, sizeof *plan->end_ns);
    plan->before = sy_arena_alloc(arena, tasks, sizeof *plan->before);
    plan->after = sy_arena_alloc(arena, tasks, sizeof *plan->after);
    plan->planned_ns = sy_arena_alloc(arena, devices, sizeof *plan->planned_ns);
    plan->first = sy_arena_alloc(arena, devices, sizeof *plan->first);
    plan->last = sy_arena_alloc(arena, devices, sizeof *plan->last);
    plan->base_ns = sy_arena_alloc(arena, devices, sizeof *plan->base_ns);
    bool arrays = plan->device && plan->start_ns && plan->end_ns && plan->before && plan->after;
    bool rows = plan->first && plan->last && plan->base_ns && plan->planned_ns;
    return arrays && rows ? 0 : -ENOMEM;
}

/* fmax is a call, and these are the innermost loops of planning. */
static inline double later(double a_ns, double b_ns) {
    return a_ns > b_ns ? a_ns : b_ns;
}

void sy_draft_begin(struct draft *plan, const struct sy_view *view) {
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        plan->first[d] = plan->last[d] = SY_NONE;
        plan->base_ns[d] = fmax(plan->planned_ns[d], sy_estimate_free_ns(view, d));
    }
    plan->makespan_ns = 0;
}

void sy_draft_settle(struct draft *plan, const struct sy_view *view, uint32_t task) {
    uint32_t device = view->task_device[task];
    bool ended = view->task_state[task] == SY_TASK_DONE;
    bool runs = view->task_state[task] == SY_TASK_RUNNING;
    double until_ns = ended || device == SY_NONE ? view->now_ns
                      : runs                     ? sy_estimate_end_ns(view, device)
                                                 : sy_estimate_free_ns(view, device);
    plan->device[task] = device == SY_NONE ? 0 : device;
    plan->start_ns[task] = view->now_ns;
    plan->end_ns[task] = until_ns;
}

uint32_t sy_draft_unplanned(const struct sy_view *view, uint32_t task) {
    uint32_t count = 0;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        count += !sy_draft_settled(view, view->pred[e]);
    }
    return count;
}

static double initial_ns(const struct sy_view *view, uint32_t datum, uint32_t memory) {
    const struct sy_machine *m = view->machine;
    double best = view->data_valid[datum] ? INFINITY : 0;
    for (uint64_t rest = view->data_valid[datum]; rest; rest &= rest - 1) {
        uint32_t from = (uint32_t)__builtin_ctzll(rest);
        best = fmin(best, sy_cost_transfer_ns(m, from, memory, view->data_bytes[datum]));
    }
    return view->now_ns + best;
}

double sy_draft_inputs_ns(const struct draft *plan, const struct sy_view *view, uint32_t task,
                          uint32_t memory) {
    const struct sy_machine *m = view->machine;
    double ready = view->now_ns;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        double end = plan->end_ns[view->pred[e]];
        ready = end > ready ? end : ready;
    }
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        if (!(view->access[a].mode & SY_READ)) {
            continue;
        }
        uint32_t producer = view->access_producer[a], datum = view->access[a].datum;
        double there = producer == SY_NONE
                           ? initial_ns(view, datum, memory)
                           : plan->end_ns[producer] +
                                 sy_cost_transfer_ns(m, m->devices[plan->device[producer]].memory,
                                                     memory, view->data_bytes[datum]);
        ready = there > ready ? there : ready;
    }
    return ready;
}

double sy_draft_slot_ns(const struct draft *plan, uint32_t device, double ready_ns,
                        double length_ns, uint32_t *ret_before) {
    double base = later(plan->base_ns[device], 0);
    uint32_t last = plan->last[device];
    double best = later(ready_ns, last == SY_NONE ? base : plan->end_ns[last]);
    *ret_before = last;
    /* Gaps before ready_ns cannot help: walk back only as far as they might, and never past what
     * has ended by then, where a task of no length would fit before the one it waits for. */
    uint32_t reach = plan->reach ? plan->reach : UINT32_MAX;
    for (uint32_t t = last; t != SY_NONE && plan->end_ns[t] > ready_ns && reach--;
         t = plan->before[t]) {
        uint32_t previous = plan->before[t];
        double open = previous == SY_NONE ? base : plan->end_ns[previous];
        double start = later(ready_ns, open);
        if (start + length_ns <= plan->start_ns[t]) {
            best = start;
            *ret_before = previous;
        }
        if (open <= ready_ns) {
            break;
        }
    }
    return best;
}

void sy_draft_place(struct draft *plan, uint32_t task, uint32_t device, double start_ns,
                    double end_ns, uint32_t before) {
    uint32_t after = before == SY_NONE ? plan->first[device] : plan->after[before];
    plan->device[task] = device;
    plan->start_ns[task] = start_ns;
    plan->end_ns[task] = end_ns;
    plan->before[task] = before;
    plan->after[task] = after;
    *(before == SY_NONE ? &plan->first[device] : &plan->after[before]) = task;
    *(after == SY_NONE ? &plan->last[device] : &plan->before[after]) = task;
    plan->makespan_ns = later(plan->makespan_ns, end_ns);
}

void sy_draft_remove(struct draft *plan, uint32_t task) {
    uint32_t before = plan->before[task], after = plan->after[task];
    uint32_t device = plan->device[task];
    *(before == SY_NONE ? &plan->first[device] : &plan->after[before]) = after;
    *(after == SY_NONE ? &plan->last[device] : &plan->before[after]) = before;
}

void sy_draft_keep(struct draft *plan, const struct sy_view *view) {
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (plan->last[d] != SY_NONE) {
            plan->planned_ns[d] = plan->end_ns[plan->last[d]];
        }
    }
}

static bool before(const double *start_ns, const double *end_ns, uint32_t a, uint32_t b) {
    return start_ns[a] < start_ns[b] || (start_ns[a] == start_ns[b] && end_ns[a] < end_ns[b]);
}

/* Bottom-up merge sort: stable, so that of tasks that take no time and start together the one
 * planned first, which the other may depend on, stays first. */
void sy_draft_sort(uint32_t *tasks, uint32_t count, const double *start_ns, const double *end_ns,
                   uint32_t *scratch) {
    uint32_t *from = tasks, *to = scratch;
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t low = 0; low < count; low += 2 * width) {
            uint32_t middle = low + width < count ? low + width : count;
            uint32_t high = low + 2 * width < count ? low + 2 * width : count;
            uint32_t a = low, b = middle;
            for (uint32_t i = low; i < high; i++) {
                bool left =
                    a < middle && (b >= high || !before(start_ns, end_ns, from[b], from[a]));
                to[i] = left ? from[a++] : from[b++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != tasks) {
        memcpy(tasks, from, count * sizeof *tasks);
    }
}
