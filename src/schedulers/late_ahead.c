/* SPDX-License-Identifier: Apache-2.0
 *
 * Late binding, inputs that travel ahead: the way to an accelerator must not lie idle while tasks
 * run whose inputs are there, or those behind them wait for theirs. Where a task of the window will
 * surely go to one memory, its inputs are sent before it is committed, enough to keep the way busy
 * until somebody asks again. The task itself can still be overtaken.
 */
#include "schedulers/late_binding.h"

/* So much is on the way: a few times what comes next, and what a runtime needs to ask again. */
#define AHEAD_TIMES 4
#define AHEAD_NS    500e3

/* The device that a task would finish on first, by time alone, if nothing in another memory comes
 * near even when its inputs have to travel; else SY_NONE. */
static uint32_t surely_on(const struct late *l, const struct sy_view *view, uint32_t task,
                          double *ret_unsent_ns) {
    const struct sy_machine *m = view->machine;
    uint32_t best = SY_NONE;
    double first_ns = INFINITY, other_ns = INFINITY;
    for (uint32_t g = 0; g < l->alike_count; g++) {
        uint32_t d = l->alike[g].first_free;
        double finish_ns = l->free_ns[d] + sy_estimate_time_ns(view, task, d);
        if (!isfinite(finish_ns)) {
            continue;
        }
        if (finish_ns < first_ns) {
            bool elsewhere = best != SY_NONE && m->devices[best].memory != m->devices[d].memory;
            other_ns = elsewhere ? first_ns : other_ns;
            first_ns = finish_ns;
            best = d;
        } else if (m->devices[best].memory != m->devices[d].memory) {
            other_ns = fmin(other_ns, finish_ns);
        }
    }
    if (best == SY_NONE || m->devices[best].kind == SY_CPU) {
        return SY_NONE;
    }
    *ret_unsent_ns = sy_estimate_unsent_ns(view, task, m->devices[best].memory);
    return first_ns + *ret_unsent_ns < other_ns ? best : SY_NONE;
}

/* What has arrived, or should have, is no longer on its way. */
static void look_at_way(struct late_way *way, const struct sy_view *view, uint32_t memory) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < way->count; i++) {
        bool there = view->data_valid[way->data[i]] >> memory & 1;
        if (!there && way->due_ns[i] > view->now_ns) {
            way->data[kept] = way->data[i];
            way->due_ns[kept++] = way->due_ns[i];
        }
    }
    way->count = kept;
}

static bool is_on_way(const struct late_way *way, uint32_t datum) {
    for (uint32_t i = 0; i < way->count; i++) {
        if (way->data[i] == datum) {
            return true;
        }
    }
    return false;
}

/* How long what was sent for keeps the way busy. */
static double busy_ns(const struct late_way *way, const struct sy_view *view) {
    return way->count ? way->due_ns[way->count - 1] - view->now_ns : 0;
}

void sy_late_sent(struct late *l, const struct sy_view *view, uint32_t task, uint32_t memory) {
    struct late_way *way = &l->ways[memory];
    look_at_way(way, view, memory);
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum;
        if ((view->access[a].mode & SY_READ) && way->count < LATE_ON_WAY &&
            !is_on_way(way, datum)) {
            double ns = sy_estimate_unsent_input_ns(view, a, memory);
            if (ns > 0) {
                double from_ns = view->now_ns + busy_ns(way, view);
                way->due_ns[way->count] = from_ns + ns;
                way->data[way->count++] = datum;
            }
        }
    }
}

uint32_t sy_late_send_ahead(struct late *l, const struct sy_view *view, struct sy_decision *ret,
                            uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t i = 0; !l->quick && !l->mode.gate && i < l->window_count && count < capacity;
         i++) {
        uint32_t task = l->window[i];
        double unsent_ns = 0;
        uint32_t device = l->fetched[task] ? SY_NONE : surely_on(l, view, task, &unsent_ns);
        l->fetched[task] = true; /* each is looked at once */
        if (device == SY_NONE || !(unsent_ns > 0)) {
            continue;
        }
        uint32_t memory = view->machine->devices[device].memory;
        struct late_way *way = &l->ways[memory];
        look_at_way(way, view, memory);
        if (way->count == LATE_ON_WAY ||
            busy_ns(way, view) > fmax(AHEAD_TIMES * unsent_ns, AHEAD_NS)) {
            l->fetched[task] = false;
            break;
        }
        sy_late_sent(l, view, task, memory);
        ret[count++] = (struct sy_decision){.kind = SY_FETCH, .task = task, .device = device};
    }
    return count;
}
