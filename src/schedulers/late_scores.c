/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of waiting tasks, kept; see late_scores.h. Groups are devices of one class and one
 * memory; a region of an FPGA is one of its own. Figures are floats, relative to now, in arrays
 * over groups: to choose among those of a task takes some dozen nanoseconds.
 */
#include "schedulers/late_binding.h"
#include <errno.h>
#include <string.h>

#define VECTOR 4u

/* Only where devices do not slow each other by what runs beside them: that changes who is alike
 * with every task that starts. */
static bool apart(const struct sy_machine *m) {
    for (uint32_t d = 1; d < m->device_count; d++) {
        if (m->devices[d].group == m->devices[d - 1].group) {
            return false;
        }
    }
    return true;
}

static uint32_t group_devices(struct late *l, const struct sy_machine *m) {
    l->alike_count = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        const struct sy_device *self = &m->devices[d];
        uint32_t g = self->board == SY_NONE ? 0 : l->alike_count;
        for (; g < l->alike_count; g++) {
            const struct sy_device *other = &m->devices[l->alike[g].first_free];
            if (other->class_index == self->class_index && other->memory == self->memory &&
                other->board == SY_NONE) {
                break;
            }
        }
        if (g == l->alike_count) {
            l->alike[l->alike_count++] = (struct alike){.class_index = self->class_index,
                                                        .memory = self->memory,
                                                        .image = SY_NONE,
                                                        .beside = SY_NONE,
                                                        .first_free = d};
        }
        l->alike_of[d] = g;
    }
    return l->alike_count;
}

static void list_members(const struct late *l, struct quick *q, const struct sy_machine *m) {
    uint32_t count = 0;
    for (uint32_t g = 0; g < q->group_count; g++) {
        q->member_start[g] = count;
        for (uint32_t d = 0; d < m->device_count; d++) {
            if (l->alike_of[d] == g) {
                q->members[count++] = d;
            }
        }
    }
    q->member_start[q->group_count] = count;
}

static bool take_figures(struct quick *q, struct sy_arena *arena) {
    size_t figures = (size_t)QUICK_TASKS * q->stride;
    q->there_ns = sy_arena_alloc(arena, figures, sizeof *q->there_ns);
    q->travel_ns = sy_arena_alloc(arena, figures, sizeof *q->travel_ns);
    q->alone_ns = sy_arena_alloc(arena, figures, sizeof *q->alone_ns);
    q->more_ns = sy_arena_alloc(arena, figures, sizeof *q->more_ns);
    q->slower = sy_arena_alloc(arena, figures, sizeof *q->slower);
    return q->there_ns && q->travel_ns && q->alone_ns && q->more_ns && q->slower;
}

static bool take_groups(struct quick *q, struct sy_arena *arena) {
    q->device = sy_arena_alloc(arena, q->stride, sizeof *q->device);
    q->base_ns = sy_arena_alloc(arena, q->stride, sizeof *q->base_ns);
    q->sum_ns = sy_arena_alloc(arena, q->stride, sizeof *q->sum_ns);
    q->opinion = sy_arena_alloc(arena, q->stride, sizeof *q->opinion);
    q->wait_ns = sy_arena_alloc(arena, q->stride, sizeof *q->wait_ns);
    return q->device && q->base_ns && q->sum_ns && q->opinion && q->wait_ns;
}

static bool take_rest(struct quick *q, struct sy_arena *arena, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    size_t routes = (size_t)m->memory_count * SY_MEMORY_MAX;
    q->members = sy_arena_alloc(arena, m->device_count, sizeof *q->members);
    q->member_start = sy_arena_alloc(arena, q->group_count + 1u, sizeof *q->member_start);
    q->slot_of = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *q->slot_of);
    q->latency_ns = sy_arena_alloc(arena, routes, sizeof *q->latency_ns);
    q->alone_ns_per_byte = sy_arena_alloc(arena, routes, sizeof *q->alone_ns_per_byte);
    q->shared_ns_per_byte = sy_arena_alloc(arena, routes, sizeof *q->shared_ns_per_byte);
    q->kernels = sy_arena_alloc(arena, LATE_KERNELS, sizeof *q->kernels);
    q->slowing = sy_arena_alloc(arena, (size_t)LATE_KERNELS * q->stride, sizeof *q->slowing);
    q->harm = sy_arena_alloc(arena, (size_t)LATE_KERNELS * q->stride, sizeof *q->harm);
    return q->members && q->member_start && q->slot_of && q->latency_ns && q->alone_ns_per_byte &&
           q->shared_ns_per_byte && q->kernels && q->slowing && q->harm;
}

static void fill_routes(struct quick *q, const struct sy_machine *m) {
    for (uint32_t from = 0; from < m->memory_count; from++) {
        for (uint32_t to = 0; to < m->memory_count; to++) {
            const struct sy_route *route = &m->routes[(size_t)from * m->memory_count + to];
            size_t at = (size_t)from * SY_MEMORY_MAX + to;
            q->latency_ns[at] = (float)route->latency_ns;
            q->alone_ns_per_byte[at] = (float)(1e9 / route->bytes_per_s);
            q->shared_ns_per_byte[at] = q->alone_ns_per_byte[at];
        }
    }
}

static bool usual(const struct late *l, const struct sy_view *view) {
    return l->net && l->mode.locality && l->mode.contention && !l->mode.gate && !l->scale &&
           !view->truth && !(l->base.without & SY_PART_GUARD);
}

int sy_quick_init(struct late *l, const struct sy_view *view, struct quick **ret_quick) {
    struct sy_arena *arena = l->base.arena;
    const struct sy_machine *m = view->machine;
    if (!usual(l, view) || !apart(m) || group_devices(l, m) <= QUICK_GROUPS) {
        return 0;
    }
    struct quick *q = sy_arena_alloc(arena, 1, sizeof *q);
    if (!q) {
        return -ENOMEM;
    }
    q->group_count = l->alike_count;
    q->stride = (q->group_count + VECTOR - 1) / VECTOR * VECTOR;
    if (!take_figures(q, arena) || !take_groups(q, arena) || !take_rest(q, arena, view)) {
        return -ENOMEM;
    }
    list_members(l, q, m);
    fill_routes(q, m);
    for (uint32_t g = q->group_count; g < q->stride; g++) {
        q->wait_ns[g] = INFINITY; /* nobody's: it is never the best */
    }
    for (uint32_t i = 0; i < QUICK_TASKS; i++) {
        q->free[q->free_count++] = i;
    }
    q->calls = QUICK_LOOK;
    *ret_quick = q;
    return 0;
}

/* --- a round -----------------------------------------------------------------------------------
 */
bool sy_quick_due(struct quick *q) {
    return ++q->calls >= QUICK_LOOK || q->starts >= QUICK_STARTS;
}

void sy_quick_looked(struct late *l, const struct sy_view *view) {
    struct quick *q = l->quick;
    const struct sy_machine *m = view->machine;
    q->calls = q->starts = 0;
    q->look++;
    for (uint32_t from = 0; view->shared_links && from < m->memory_count; from++) {
        for (uint32_t to = 0; to < m->memory_count; to++) {
            const struct sy_route *route = &m->routes[(size_t)from * m->memory_count + to];
            double least = route->bytes_per_s;
            for (uint32_t k = 0; k < route->resource_count; k++) {
                least = sy_least(least, l->sharing.open_bytes_per_s[route->resources[k]]);
            }
            q->shared_ns_per_byte[(size_t)from * SY_MEMORY_MAX + to] = (float)(1e9 / least);
        }
    }
}

static bool sooner(const struct late *l, uint32_t a, uint32_t b) {
    return l->free_ns[a] < l->free_ns[b] || (l->free_ns[a] == l->free_ns[b] && a < b);
}

/* Its members by when they are free; they are nearly so from the round before. */
static void sort_members(struct late *l, uint32_t g) {
    struct quick *q = l->quick;
    uint32_t *members = q->members + q->member_start[g];
    uint32_t count = q->member_start[g + 1] - q->member_start[g];
    for (uint32_t i = 1; i < count; i++) {
        uint32_t device = members[i], at = i;
        for (; at && sooner(l, device, members[at - 1]); at--) {
            members[at] = members[at - 1];
        }
        members[at] = device;
    }
}

static void tell_first(struct late *l, const struct sy_view *view, uint32_t g) {
    struct quick *q = l->quick;
    uint32_t first = q->members[q->member_start[g]];
    l->alike[g].first_free = first;
    q->wait_ns[g] = (float)(l->free_ns[first] - view->now_ns);
    q->device[g] = sy_learned_device(l->net, view->machine->devices[first].kind, l->held[first]);
}

void sy_quick_round(struct late *l, const struct sy_view *view) {
    struct quick *q = l->quick;
    q->call++;
    q->made = 0;
    for (uint32_t g = 0; g < q->group_count; g++) {
        sort_members(l, g);
        tell_first(l, view, g);
    }
}

void sy_quick_booked(struct late *l, const struct sy_view *view, uint32_t device) {
    struct quick *q = l->quick;
    uint32_t g = l->alike_of[device], at = q->member_start[g], end = q->member_start[g + 1];
    while (q->members[at] != device) { /* mostly the first */
        at++;
    }
    for (; at + 1 < end && sooner(l, q->members[at + 1], device); at++) {
        q->members[at] = q->members[at + 1];
    }
    for (; at > q->member_start[g] && sooner(l, device, q->members[at - 1]); at--) {
        q->members[at] = q->members[at - 1];
    }
    q->members[at] = device;
    tell_first(l, view, g);
}

/* --- figures of a task -------------------------------------------------------------------------
 */
struct travel {
    float alone_ns[SY_MEMORY_MAX], shared_ns[SY_MEMORY_MAX];
};

static void carry(const struct quick *q, uint32_t memories, uint64_t valid, float bytes,
                  struct travel *ret) {
    bool first = true;
    for (uint64_t rest = valid; rest; rest &= rest - 1, first = false) {
        size_t row = (size_t)__builtin_ctzll(rest) * SY_MEMORY_MAX;
        for (uint32_t m = 0; m < memories; m++) {
            float alone = q->latency_ns[row + m] + bytes * q->alone_ns_per_byte[row + m];
            float shared = q->latency_ns[row + m] + bytes * q->shared_ns_per_byte[row + m];
            ret->alone_ns[m] = first || alone < ret->alone_ns[m] ? alone : ret->alone_ns[m];
            ret->shared_ns[m] = first || shared < ret->shared_ns[m] ? shared : ret->shared_ns[m];
        }
    }
}

/* To all memories at once; what is on its way has half of it behind, on average. */
static void travel_of(const struct quick *q, const struct sy_view *view, uint32_t task,
                      struct travel *ret) {
    uint32_t memories = view->machine->memory_count;
    struct travel one;
    memset(ret->alone_ns, 0, memories * sizeof(float));
    memset(ret->shared_ns, 0, memories * sizeof(float));
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum;
        uint64_t valid = view->data_valid[datum];
        if (!(view->access[a].mode & SY_READ) || !valid) {
            continue;
        }
        carry(q, memories, valid, (float)view->data_bytes[datum], &one);
        for (uint64_t rest = valid; rest; rest &= rest - 1) {
            one.alone_ns[__builtin_ctzll(rest)] = one.shared_ns[__builtin_ctzll(rest)] = 0;
        }
        for (uint64_t rest = view->data_inflight[datum]; rest; rest &= rest - 1) {
            one.alone_ns[__builtin_ctzll(rest)] /= 2;
            one.shared_ns[__builtin_ctzll(rest)] /= 2;
        }
        for (uint32_t m = 0; m < memories && view->shared_links; m++) {
            ret->alone_ns[m] += one.alone_ns[m];
            ret->shared_ns[m] += one.shared_ns[m];
        }
        for (uint32_t m = 0; m < memories && !view->shared_links; m++) {
            ret->alone_ns[m] = fmaxf(ret->alone_ns[m], one.alone_ns[m]);
            ret->shared_ns[m] = ret->alone_ns[m];
        }
    }
}

/* What sharing does to a kernel is much the same for all its tasks. Returns where it stands. */
static size_t slowing_of(struct late *l, const struct sy_view *view, uint32_t task) {
    struct quick *q = l->quick;
    uint32_t kernel = view->task_kernel[task];
    size_t row = (size_t)(kernel % LATE_KERNELS) * q->stride;
    struct quick_kernel *known = &q->kernels[kernel % LATE_KERNELS];
    if ((known->look == q->look && known->kernel == kernel) || !view->shared_links) {
        return row;
    }
    *known = (struct quick_kernel){q->look, kernel};
    for (uint32_t g = 0; g < q->group_count; g++) {
        uint32_t device = l->alike[g].first_free;
        bool runs = isfinite(sy_estimate_time_ns(view, task, device));
        struct sy_slowing is = {.ratio = 1};
        is = runs ? sy_sharing_slowdown(&l->sharing, view, task, device) : is;
        q->slowing[row + g] = (float)(is.ratio - 1);
        q->harm[row + g] = (float)is.harm;
    }
    return row;
}

static uint32_t slot_for(struct quick *q, const struct sy_view *view, uint32_t task) {
    if (!q->slot_of[task]) {
        uint32_t slot = q->free[--q->free_count];
        q->slot_of[task] = slot + 1;
        q->tasks[slot] =
            (struct quick_task){.task = task, .least_ns = (float)sy_most(view->best_ns[task], 1)};
    }
    return q->slot_of[task] - 1;
}

static void score_all(struct late *l, const struct sy_view *view, uint32_t slot) {
    struct quick *q = l->quick;
    struct quick_task *t = &q->tasks[slot];
    uint32_t task = t->task;
    size_t row = (size_t)slot * q->stride;
    struct travel travel;
    t->made = q->call;
    travel_of(q, view, task, &travel);
    for (uint32_t g = 0; g < q->group_count; g++) {
        uint32_t device = l->alike[g].first_free, memory = l->alike[g].memory;
        double alone_ns = sy_estimate_time_ns(view, task, device);
        q->travel_ns[row + g] = travel.alone_ns[memory];
        q->there_ns[row + g] = travel.shared_ns[memory];
        if (!isfinite(alone_ns)) {
            q->more_ns[row + g] = INFINITY;
            q->alone_ns[row + g] = q->slower[row + g] = 0;
            continue;
        }
        double exec_ns = sy_estimate_exec_ns(&l->base, view, task, device);
        q->alone_ns[row + g] = (float)alone_ns;
        q->more_ns[row + g] = (float)(exec_ns - alone_ns);
        q->slower[row + g] = sy_learned_slower(view, task, alone_ns);
    }
}

/* --- choosing ----------------------------------------------------------------------------------
 */
static float least_of(float a, float b) {
    return a < b ? a : b;
}

typedef float lanes __attribute__((vector_size(VECTOR * sizeof(float))));
typedef int32_t mask __attribute__((vector_size(VECTOR * sizeof(float))));

static lanes choose_of(mask which, lanes yes, lanes no) {
    return (lanes)((which & (mask)yes) | (~which & (mask)no));
}

static lanes fill(float x) {
    return (lanes){x, x, x, x};
}

static float least_lane(lanes x) {
    return least_of(least_of(x[0], x[1]), least_of(x[2], x[3]));
}

/* What the heuristic thinks of each group; returns its best. */
static float weigh(struct quick *q, size_t row, size_t kernel, float burden, float harmful) {
    const lanes *wait = (const lanes *)q->wait_ns, *there = (const lanes *)(q->there_ns + row);
    const lanes *alone = (const lanes *)(q->alone_ns + row);
    const lanes *more = (const lanes *)(q->more_ns + row);
    const lanes *travel = (const lanes *)(q->travel_ns + row);
    const lanes *slowing = (const lanes *)(q->slowing + kernel);
    const lanes *harm = (const lanes *)(q->harm + kernel);
    lanes *base = (lanes *)q->base_ns, least = fill(INFINITY);
    for (uint32_t i = 0; i < q->stride / VECTOR; i++) {
        lanes sum = choose_of(wait[i] > there[i], wait[i], there[i]) + more[i] +
                    alone[i] * (1 + slowing[i] + harmful * harm[i]) + burden * travel[i];
        base[i] = sum;
        least = choose_of(sum < least, sum, least);
    }
    return least_lane(least);
}

/* The last of those that are no more than that: there is one. */
static uint32_t last_within(const float *x, uint32_t count, float most) {
    while (--count && !(x[count] <= most)) {
    }
    return count;
}

/* What the network thinks of some groups, as far as the guard lets it. */
static lanes opinion(const struct late *l, size_t row, uint32_t i) {
    const struct quick *q = l->quick;
    const lanes most = fill((float)LATE_BOUND);
    const lanes *slower = (const lanes *)(q->slower + row), *device = (const lanes *)q->device;
    lanes more = device[i] + l->net->weights[LEARNED_SLOWER] * slower[i];
    more = choose_of(more > most, most, more);
    return choose_of(more < -most, -most, more);
}

/* The best by both. */
static uint32_t pick(const struct late *l, const struct quick_task *t, size_t row, float least_ns,
                     float *ret_opinion) {
    const struct quick *q = l->quick;
    const lanes *base = (const lanes *)q->base_ns, none = fill(INFINITY);
    const lanes limit = fill(least_ns + (float)LATE_BOUND * t->least_ns);
    lanes *sums = (lanes *)q->sum_ns, *opinions = (lanes *)q->opinion, best = none;
    for (uint32_t i = 0; i < q->stride / VECTOR; i++) {
        opinions[i] = opinion(l, row, i);
        sums[i] = choose_of(base[i] > limit, none, base[i] + opinions[i] * t->least_ns);
        best = choose_of(sums[i] < best, sums[i], best);
    }
    uint32_t g = last_within(q->sum_ns, q->group_count, least_lane(best));
    *ret_opinion = q->opinion[g];
    return g;
}

/* Nobody looks at groups in other memories than the heuristic's. */
static void stay(struct late *l, float least_ns) {
    struct quick *q = l->quick;
    uint32_t memory = l->alike[last_within(q->base_ns, q->group_count, least_ns)].memory;
    for (uint32_t g = 0; g < q->group_count; g++) {
        q->base_ns[g] = l->alike[g].memory == memory ? q->base_ns[g] : INFINITY;
    }
}

struct late_choice sy_quick_choose(struct late *l, const struct sy_view *view, uint32_t task,
                                   bool anew) {
    struct quick *q = l->quick;
    uint32_t slot = slot_for(q, view, task);
    const struct quick_task *t = &q->tasks[slot];
    size_t row = (size_t)slot * q->stride;
    if (!t->made || (anew && t->made != q->call)) {
        score_all(l, view, slot);
        q->made++;
    }
    size_t kernel = slowing_of(l, view, task);
    float least_ns = weigh(q, row, kernel, (float)sy_late_burden(view), (float)sy_late_harm(l));
    float more = 0;
    if (!(least_ns < INFINITY)) {
        return (struct late_choice){.device = SY_NONE, .score_ns = INFINITY};
    }
    if (sy_late_stays(l, view, task)) {
        stay(l, least_ns);
    }
    bool doubts = sy_late_doubts(l);
    uint32_t g = doubts ? last_within(q->base_ns, q->group_count, least_ns)
                        : pick(l, t, row, least_ns, &more);
    uint32_t device = l->alike[g].first_free;
    float start_ns = fmaxf(q->wait_ns[g], q->there_ns[row + g]);
    float exec_ns = q->alone_ns[row + g] * (1 + q->slowing[kernel + g]) + q->more_ns[row + g];
    struct late_choice choice = {.device = device,
                                 .finish_ns = view->now_ns + start_ns + exec_ns,
                                 .exec_ns = exec_ns,
                                 .travel_ns = q->travel_ns[row + g],
                                 .wait_ns = l->free_ns[device] - view->now_ns,
                                 .base_ns = view->now_ns + q->base_ns[g],
                                 .guard = doubts                            ? SY_GUARD_FALLBACK
                                          : fabsf(more) < (float)LATE_BOUND ? SY_GUARD_TRUSTED
                                                                            : SY_GUARD_BOUNDED};
    if (anew && view->shared_links) { /* it may be committed: for the record */
        struct sy_slowing is = sy_sharing_slowdown(&l->sharing, view, task, device);
        choice.slowdown = is.ratio;
        choice.slowdown_sd = is.sd;
        choice.harm_ns = is.harm * sy_estimate_time_ns(view, task, device);
    }
    choice.score_ns = choice.base_ns + more * t->least_ns;
    return choice;
}

void sy_quick_forget(struct quick *q, uint32_t task) {
    if (q->slot_of[task]) {
        q->free[q->free_count++] = q->slot_of[task] - 1;
        q->slot_of[task] = 0;
    }
}

void sy_quick_renew(struct late *l, const struct sy_view *view) {
    struct quick *q = l->quick;
    uint32_t count = l->window_count < LATE_PRECISE ? l->window_count : LATE_PRECISE;
    for (uint32_t i = 0; i < QUICK_RENEW && i < count; i++) {
        uint32_t task = l->window[q->next++ % count];
        if (q->slot_of[task]) {
            score_all(l, view, q->slot_of[task] - 1);
        }
    }
}
