/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tasks of a short job stay together: those that share a datum so large that to send it
 * anywhere takes a good part of the time that the whole job takes at home. Late binding looks at
 * one task at a time; of two such data that a third task reads, one would end up on either side.
 *
 * In: a view, a job that has arrived. Out: per task the memories that it may run beside. Home is
 * where the cores are and data begin. It takes some 50 ns a task. Nothing is allocated after init.
 */
#include "schedulers/late_binding.h"
#include <errno.h>

/* A datum is heavy if it travels for more than this share of the time that the job takes at home.
 */
#define HEAVY 0.12
#define STEP  4.0 /* data whose sizes are within that are looked at in their tasks' turn */

/* What runs beside a memory. */
struct side {
    uint32_t devices;
    uint64_t classes; /* bit set */
    uint32_t board;   /* of its regions; SY_NONE: it has none */
    double load_ns;   /* of groups that were sent there */
};

int sy_late_together_init(struct late_together *g, struct sy_arena *arena,
                          const struct sy_view *view) {
    size_t tasks = view->task_capacity + 1u;
    g->parent = sy_arena_alloc(arena, tasks, sizeof *g->parent);
    g->next = sy_arena_alloc(arena, tasks, sizeof *g->next);
    g->last = sy_arena_alloc(arena, tasks, sizeof *g->last);
    g->memories = sy_arena_alloc(arena, tasks, sizeof *g->memories);
    return g->parent && g->next && g->last && g->memories ? 0 : -ENOMEM;
}

bool sy_late_has_sides(const struct sy_machine *machine) {
    bool found = false;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        found |= machine->devices[d].kind != SY_CPU && machine->devices[d].board == SY_NONE;
    }
    return found;
}

/* --- what is heavy -----------------------------------------------------------------------------
 */
static uint32_t home_cores(const struct sy_machine *m) {
    uint32_t cores = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        cores += m->devices[d].memory == m->devices[0].memory &&
                 m->devices[d].class_index == m->devices[0].class_index;
    }
    return cores;
}

/* All of it ends by then on the cores, however they take turns. */
static double home_ns(const struct sy_view *view, const struct sy_view_job *j, double *longest_ns) {
    uint32_t classes = view->machine->class_count, core = view->machine->devices[0].class_index;
    double sum_ns = 0, most_ns = 0;
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        double behind_ns = 0, own_ns = view->time_ns[(size_t)task * classes + core];
        for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
            behind_ns = fmax(behind_ns, longest_ns[view->succ[e]]);
        }
        longest_ns[task] = behind_ns + own_ns;
        most_ns = fmax(most_ns, longest_ns[task]);
        sum_ns += own_ns;
    }
    return most_ns + sum_ns / home_cores(view->machine);
}

/* Between the home and what is nearest to it. */
static double cut_ns(const struct sy_machine *m, double bytes) {
    uint32_t home = m->devices[0].memory;
    double least_ns = INFINITY;
    for (uint32_t d = 0; d < m->device_count; d++) {
        uint32_t memory = m->devices[d].memory;
        const struct sy_route *route = &m->routes[(size_t)home * m->memory_count + memory];
        double ns = route->latency_ns + bytes / route->bytes_per_s * 1e9; /* of nothing, too */
        least_ns = memory == home ? least_ns : fmin(least_ns, ns);
    }
    return least_ns;
}

/* --- groups ------------------------------------------------------------------------------------
 */
/* Of what a task reads and nobody makes. */
static double travel_ns(const struct sy_view *view, uint32_t task, uint32_t memory) {
    double sum_ns = 0;
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum;
        uint64_t valid = view->access_producer[a] == SY_NONE ? view->data_valid[datum] : 0;
        if ((view->access[a].mode & SY_READ) && valid && !(valid >> memory & 1)) {
            sum_ns += sy_cost_transfer_ns(view->machine, (uint32_t)__builtin_ctzll(valid), memory,
                                          view->data_bytes[datum]);
        }
    }
    return sum_ns;
}

static uint32_t root_of(struct late_together *g, uint32_t task) {
    while (g->parent[task] != task) {
        task = g->parent[task] = g->parent[g->parent[task]];
    }
    return task;
}

static double least_of(const double *a_ns, const double *b_ns, uint32_t classes) {
    double least_ns = INFINITY;
    for (uint32_t c = 0; c < classes; c++) {
        least_ns = fmin(least_ns, a_ns[c] + (b_ns ? b_ns[c] : 0));
    }
    return least_ns;
}

/* Two groups become one if that costs less than what is between them costs on its way. */
static void unite(struct late_together *g, const struct sy_view *view, uint32_t a, uint32_t b,
                  double between_ns, double *cost_ns) {
    uint32_t classes = view->machine->class_count, to = root_of(g, a), from = root_of(g, b);
    double *to_ns = &cost_ns[(size_t)to * classes], *from_ns = &cost_ns[(size_t)from * classes];
    double apart_ns = least_of(to_ns, NULL, classes) + least_of(from_ns, NULL, classes);
    if (to == from || least_of(to_ns, from_ns, classes) > apart_ns + between_ns) {
        return;
    }
    g->parent[from] = to;
    for (uint32_t c = 0; c < classes; c++) {
        to_ns[c] += from_ns[c];
    }
}

/* All that reads what another task makes, of so many bytes. Returns the most bytes below least. */
static double unite_by(struct late_together *g, const struct sy_view *view,
                       const struct sy_view_job *j, double least, double most, double *cost_ns) {
    double next = -1;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        for (uint32_t a = view->access_start[t]; a < view->access_start[t + 1]; a++) {
            uint32_t producer = view->access_producer[a];
            double bytes = view->data_bytes[view->access[a].datum];
            if (!(view->access[a].mode & SY_READ) || producer == SY_NONE || bytes > most) {
                continue;
            }
            if (bytes >= least) {
                unite(g, view, producer, t, cut_ns(view->machine, bytes), cost_ns);
            } else {
                next = fmax(next, bytes);
            }
        }
    }
    return next;
}

/* The heaviest first, roughly. cost_ns: [task * class_count + class], of those that stand for a
 * group. */
static void unite_all(struct late_together *g, const struct sy_view *view,
                      const struct sy_view_job *j, double heavy_ns, double *cost_ns) {
    const struct sy_machine *m = view->machine;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        g->parent[t] = t;
        g->memories[t] = UINT64_MAX;
        for (uint32_t c = 0; c < m->class_count; c++) {
            const struct sy_device *first = &m->devices[m->classes[c].first_device];
            size_t at = (size_t)t * m->class_count + c;
            cost_ns[at] = view->time_ns[at] + travel_ns(view, t, first->memory);
            if (first->board != SY_NONE) {
                cost_ns[at] +=
                    view->image_ns[(size_t)view->task_kernel[t] * m->board_count + first->board];
            }
        }
    }
    double most = unite_by(g, view, j, INFINITY, INFINITY, cost_ns);
    while (most >= 0 && cut_ns(m, most) > heavy_ns) {
        most = unite_by(g, view, j, most / STEP, most, cost_ns);
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        g->parent[t] = root_of(g, t);
    }
}

/* Each group as a ring: from a task to the next in order, and from the last to the first. */
static void close_rings(struct late_together *g, const struct sy_view *view,
                        const struct sy_view_job *j) {
    for (uint32_t i = j->first_task; i < j->first_task + j->task_count; i++) {
        g->last[view->order[i]] = SY_NONE;
    }
    for (uint32_t i = j->first_task; i < j->first_task + j->task_count; i++) {
        uint32_t task = view->order[i], *last = &g->last[g->parent[task]];
        g->next[task] = *last == SY_NONE ? task : g->next[*last];
        if (*last != SY_NONE) {
            g->next[*last] = task;
        }
        *last = task;
    }
}

/* --- where each goes ---------------------------------------------------------------------------
 */
static void look_at_sides(const struct sy_machine *m, struct side *sides) {
    for (uint32_t d = 0; d < m->device_count; d++) {
        struct side *side = &sides[m->devices[d].memory];
        side->devices++;
        side->classes |= UINT64_C(1) << m->devices[d].class_index;
        side->board = m->devices[d].board;
    }
}

static double least_ns(const struct sy_view *view, uint32_t task, uint64_t classes) {
    const double *time_ns = &view->time_ns[(size_t)task * view->machine->class_count];
    double least = INFINITY;
    for (; classes; classes &= classes - 1) {
        least = fmin(least, time_ns[__builtin_ctzll(classes)]);
    }
    return least;
}

/* Sooner it cannot end, alone beside that memory. way_ns: per task, for its own use. */
static double group_ns(const struct late_together *g, const struct sy_view *view, uint32_t last,
                       uint32_t memory, const struct side *side, double *way_ns) {
    double sum_ns = 0, longest_ns = 0, there_ns = 0, image_ns = 0;
    uint32_t task = last;
    do {
        task = g->next[task];
        double own_ns = least_ns(view, task, side->classes), before_ns = 0;
        for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
            bool with_it = g->parent[view->pred[e]] == g->parent[task];
            before_ns = fmax(before_ns, with_it ? way_ns[view->pred[e]] : 0);
        }
        way_ns[task] = before_ns + own_ns;
        longest_ns = fmax(longest_ns, way_ns[task]);
        sum_ns += own_ns;
        there_ns += travel_ns(view, task, memory);
        if (side->board != SY_NONE) {
            size_t at = (size_t)view->task_kernel[task] * view->machine->board_count + side->board;
            image_ns = fmax(image_ns, view->image_ns[at]);
        }
    } while (task != last);
    return fmax(sum_ns / side->devices, longest_ns) + there_ns + image_ns;
}

static void allow(struct late_together *g, uint32_t first, uint64_t memories) {
    uint32_t task = first;
    do {
        g->memories[task] = memories;
        task = g->next[task];
    } while (task != first);
}

/* Beside the memory where it ends first, or one of those alike: which, its first task decides. */
static void send(struct late_together *g, const struct sy_view *view, uint32_t last,
                 struct side *sides, double *way_ns) {
    uint32_t best = SY_NONE, count = view->machine->memory_count;
    uint64_t alike = 0;
    double best_ns = INFINITY;
    for (uint32_t memory = 0; memory < count; memory++) {
        if (sides[memory].devices) {
            double ns = group_ns(g, view, last, memory, &sides[memory], way_ns);
            ns += sides[memory].load_ns;
            best = ns < best_ns ? memory : best;
            best_ns = fmin(best_ns, ns);
        }
    }
    if (best == SY_NONE) {
        return; /* nowhere runs all of it */
    }
    sides[best].load_ns = best_ns;
    for (uint32_t memory = 0; memory < count; memory++) {
        bool is_alike = sides[memory].classes == sides[best].classes;
        alike |= (uint64_t)is_alike << memory;
    }
    allow(g, last, alike);
}

void sy_late_together_begun(struct late_together *g, uint32_t task, uint32_t memory) {
    uint64_t memories = g->memories[task];
    if (memories != UINT64_MAX && (memories & (memories - 1))) {
        allow(g, task, UINT64_C(1) << memory);
    }
}

bool sy_late_keep_together(struct late_together *g, const struct sy_view *view, uint32_t job,
                           double *way_ns, double *cost_ns) {
    const struct sy_view_job *j = &view->jobs[job];
    struct side sides[SY_MEMORY_MAX] = {0};
    double heavy_ns = HEAVY * home_ns(view, j, way_ns);
    bool any = false;
    if (!isfinite(heavy_ns) || view->machine->class_count > 64) {
        return false;
    }
    unite_all(g, view, j, heavy_ns, cost_ns);
    look_at_sides(view->machine, sides);
    close_rings(g, view, j);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (g->parent[t] == t && g->next[t] != t) {
            send(g, view, g->last[t], sides, way_ns);
            any = true;
        }
    }
    return any;
}
