/* SPDX-License-Identifier: Apache-2.0
 *
 * PEFT (Arabnejad and Barbosa 2014): a table of what must still follow a task if all went well.
 */
#include "schedulers/plan_on_arrival.h"
#include <errno.h>

struct place {
    uint32_t class_index, memory; /* devices of the same two look the same to the table */
};

struct peft {
    struct arrival_plan base;
    double *table; /* [task * place_count + place] */
    struct place *places;
    uint32_t *place_of; /* per device */
    uint32_t place_count;
};

/* Optimistic cost table (eq. 4): what must still follow if all went to its best place. */
static double optimistic(const struct peft *p, const struct sy_view *view, uint32_t task,
                         uint32_t next, uint32_t place) {
    double edge = sy_rank_edge_ns(&p->base.base, view, task, next), best = INFINITY;
    for (uint32_t q = 0; q < p->place_count; q++) {
        double time =
            view->time_ns[(size_t)next * view->machine->class_count + p->places[q].class_index];
        double move = p->places[q].memory == p->places[place].memory ? 0 : edge;
        best = fmin(best, p->table[(size_t)next * p->place_count + q] + time + move);
    }
    return best;
}

static void rank_optimistic(struct arrival_plan *f, const struct sy_view *view, uint32_t job) {
    struct peft *p = (struct peft *)f;
    const struct sy_view_job *j = &view->jobs[job];
    const struct sy_machine *m = view->machine;
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        double *row = p->table + (size_t)task * p->place_count, sum = 0;
        for (uint32_t at = 0; at < p->place_count; at++) {
            row[at] = 0;
            for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
                row[at] = fmax(row[at], optimistic(p, view, task, view->succ[e], at));
            }
        }
        for (uint32_t d = 0; d < m->device_count; d++) {
            sum += row[p->place_of[d]];
        }
        p->base.key[task] = sum / m->device_count;
    }
}

static double optimistic_finish(struct arrival_plan *f, const struct sy_view *view, uint32_t task,
                                uint32_t device, double start_ns, double end_ns, uint32_t before) {
    (void)view, (void)start_ns, (void)before;
    const struct peft *p = (const struct peft *)f;
    return end_ns + p->table[(size_t)task * p->place_count + p->place_of[device]];
}

static int list_places(struct peft *p, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    p->places = sy_arena_alloc(p->base.base.arena, m->device_count, sizeof *p->places);
    p->place_of = sy_arena_alloc(p->base.base.arena, m->device_count, sizeof *p->place_of);
    if (!p->places || !p->place_of) {
        return -ENOMEM;
    }
    for (uint32_t d = 0; d < m->device_count; d++) {
        struct place place = {m->devices[d].class_index, m->devices[d].memory};
        uint32_t at = 0;
        while (at < p->place_count && (p->places[at].class_index != place.class_index ||
                                       p->places[at].memory != place.memory)) {
            at++;
        }
        p->places[at] = place;
        p->place_of[d] = at;
        p->place_count = at == p->place_count ? at + 1 : p->place_count;
    }
    p->table = sy_arena_alloc(p->base.base.arena, (size_t)view->task_capacity * p->place_count + 1,
                              sizeof *p->table);
    return p->table ? 0 : -ENOMEM;
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_arrival_init(s, view, args, sizeof(struct peft));
    struct peft *p = s->state;
    if (!code) {
        p->base.rank = rank_optimistic;
        p->base.score = optimistic_finish;
        code = list_places(p, view);
    }
    return code;
}

PLAN_ON_ARRIVAL(sy_policy_peft, "peft", "plans each job by an optimistic cost table (PEFT)", init);
