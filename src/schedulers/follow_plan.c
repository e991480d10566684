/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows a plan, late: a device takes the next task of its sequence when it is about to be free.
 * While that task is not ready it takes another one that will be done before, also from a device
 * that would finish it later. Inputs of the next tasks of a sequence travel as soon as they exist.
 * A plan that was made without knowing who waits for whom is given up.
 * docs/design/006-default-policy.md.
 */
#include "schedulers/follow_plan.h"
#include <errno.h>
#include <string.h>

#define AHEAD         8   /* tasks of a sequence whose inputs are sent ahead */
#define AHEAD_BUSY    2   /* where copies disturb each other: what is urgent should go first, */
#define AHEAD_MOST    64  /* and more of them where they are short: those that begin within */
#define AHEAD_NS      1e6 /* so long of the first */
#define AHEAD_TRAVELS 4   /* or within this multiple of the time that their inputs travel */
#define TELL_NS       1e5 /* from the end of a task to the word that others are ready */
#define OWN_DEPTH     16  /* tasks of its own sequence that a waiting device looks at */
#define TAKE_FROM     4   /* tasks of each other sequence */
/* A plan is blind if more than one in so many of its tasks waits for something unknown, of those
 * that are looked at; some may just be on their way. */
#define BLIND_SHARE 8
#define BLIND_LOOK  256
#define BLIND_SPARE 2

int sy_follow_init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                   size_t size, struct late_mode mode) {
    int code = sy_late_init(s, view, args, size, mode);
    if (code) {
        return code;
    }
    struct follow *y = s->state;
    struct sy_arena *arena = y->late.base.arena;
    size_t tasks = view->task_capacity + 1u, devices = view->machine->device_count;
    y->ahead = sy_arena_alloc(arena, tasks, sizeof *y->ahead);
    y->left = sy_arena_alloc(arena, tasks, sizeof *y->left);
    y->listed = sy_arena_alloc(arena, tasks, sizeof *y->listed);
    y->fetch = sy_arena_alloc(arena, tasks, sizeof *y->fetch);
    y->ahead_count = sy_arena_alloc(arena, devices, sizeof *y->ahead_count);
    y->ahead_last = sy_arena_alloc(arena, devices, sizeof *y->ahead_last);
    y->behind_ns = sy_arena_alloc(arena, devices, sizeof *y->behind_ns);
    y->free_ns = sy_arena_alloc(arena, devices, sizeof *y->free_ns);
    y->held = sy_arena_alloc(arena, devices, sizeof *y->held);
    bool arrays = y->left && y->ahead && y->listed && y->fetch;
    bool rows = y->ahead_count && y->ahead_last && y->behind_ns && y->free_ns && y->held;
    return arrays && rows ? sy_draft_take(&y->plan, arena, view) : -ENOMEM;
}

/* --- a plan begins and ends --------------------------------------------------------------------
 */
/* The plan of tasks first .. first + count - 1, which is all there is in it. */
static void copy_draft(const struct draft *from, const struct sy_view *view, uint32_t first,
                       uint32_t count, struct draft *ret_to) {
    size_t devices = view->machine->device_count;
    memcpy(ret_to->device + first, from->device + first, count * sizeof *from->device);
    memcpy(ret_to->start_ns + first, from->start_ns + first, count * sizeof *from->start_ns);
    memcpy(ret_to->end_ns + first, from->end_ns + first, count * sizeof *from->end_ns);
    memcpy(ret_to->before + first, from->before + first, count * sizeof *from->before);
    memcpy(ret_to->after + first, from->after + first, count * sizeof *from->after);
    memcpy(ret_to->first, from->first, devices * sizeof *from->first);
    memcpy(ret_to->last, from->last, devices * sizeof *from->last);
    ret_to->makespan_ns = from->makespan_ns;
}

void sy_follow_begin(struct follow *y, const struct sy_view *view, uint32_t job,
                     const struct draft *plan, bool strict) {
    const struct sy_view_job *j = &view->jobs[job];
    copy_draft(plan, view, j->first_task, j->task_count, &y->plan);
    y->following = true;
    y->looked = false;
    y->first = j->first_task;
    y->count = j->task_count;
    y->strict = strict;
    y->uncertain = false;
    y->fetch_count = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        y->left[t] = sy_draft_settled(view, t);
    }
    memset(y->ahead + j->first_task, 0, j->task_count * sizeof *y->ahead);
    memset(y->listed + j->first_task, 0, j->task_count * sizeof *y->listed);
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        y->ahead_count[d] = 0;
        y->ahead_last[d] = SY_NONE;
        y->behind_ns[d] = 0;
    }
}

void sy_follow_resume(struct follow *y, const struct sy_view *view, uint32_t job,
                      const struct follow *from, bool strict) {
    const struct sy_view_job *j = &view->jobs[job];
    sy_follow_begin(y, view, job, &from->plan, strict);
    y->uncertain = from->uncertain;
    memcpy(y->left + j->first_task, from->left + j->first_task, j->task_count * sizeof *y->left);
    memcpy(y->behind_ns, from->behind_ns, view->machine->device_count * sizeof *y->behind_ns);
}

static bool can_start(const struct sy_view *view, uint32_t task, uint32_t device) {
    return sy_draft_takeable(view, task) && isfinite(sy_estimate_time_ns(view, task, device));
}

/* What is ready goes to late binding, and what becomes so. */
void sy_follow_stop(struct sy_scheduler *s, const struct sy_view *view) {
    struct follow *y = s->state;
    if (!y->following) {
        return;
    }
    y->following = false;
    y->fetch_count = 0;
    memset(y->ahead, 0, (view->task_capacity + 1u) * sizeof *y->ahead);
    memset(y->listed, 0, (view->task_capacity + 1u) * sizeof *y->listed);
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        for (uint32_t t = y->plan.first[d]; t != SY_NONE; t = y->plan.after[t]) {
            if (sy_draft_takeable(view, t)) {
                sy_late_task_ready(s, view, t);
            }
        }
    }
}

static void list(struct follow *y, uint32_t task) {
    if (!y->listed[task]) {
        y->listed[task] = true;
        y->fetch[y->fetch_count++] = task;
    }
}

void sy_follow_task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct follow *y = s->state;
    if (!y->following || view->jobs[view->task_job[task]].task_count < 2 || y->left[task]) {
        sy_late_task_ready(s, view, task);
    }
}

void sy_follow_task_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                         uint32_t device, double duration_ns) {
    struct follow *y = s->state;
    sy_late_task_done(s, view, task, device, duration_ns);
    if (y->following && y->left[task]) {
        y->plan.end_ns[task] = view->now_ns;
    }
    for (uint32_t e = view->succ_start[task]; y->following && e < view->succ_start[task + 1]; e++) {
        if (y->ahead[view->succ[e]] && view->task_device[view->succ[e]] == SY_NONE) {
            list(y, view->succ[e]);
        }
    }
}

/* --- inputs that travel ahead ------------------------------------------------------------------
 */
/* Where copies disturb each other, more goes ahead only while nothing urgent is held up by it, and
 * only what would otherwise come late: where copies take long, those of a task that begins soon. */
static bool goes_ahead(struct follow *y, const struct sy_view *view, uint32_t next,
                       uint32_t device) {
    const struct sy_device *self = &view->machine->devices[device];
    if (!view->shared_links || self->kind == SY_CPU || y->fetch_count) {
        return false;
    }
    double unsent_ns = sy_estimate_unsent_ns(view, next, self->memory);
    double until_ns = y->plan.start_ns[next] - y->plan.start_ns[y->plan.first[device]];
    return until_ns < AHEAD_TRAVELS * unsent_ns &&
           !sy_late_way_is_busy(&y->late, view, self->memory, unsent_ns);
}

static void send_ahead(struct follow *y, const struct sy_view *view, uint32_t device) {
    const struct draft *plan = &y->plan;
    uint32_t limit = view->shared_links ? AHEAD_BUSY : AHEAD;
    while (y->ahead_count[device] < AHEAD_MOST) {
        uint32_t last = y->ahead_last[device], first = plan->first[device];
        uint32_t next = last == SY_NONE ? first : plan->after[last];
        if (next == SY_NONE || (y->ahead_count[device] >= limit &&
                                plan->start_ns[next] > plan->start_ns[first] + AHEAD_NS &&
                                !goes_ahead(y, view, next, device))) {
            return;
        }
        y->ahead[next] = true;
        y->ahead_last[device] = next;
        y->ahead_count[device]++;
        list(y, next);
    }
}

static uint32_t fetch(struct follow *y, const struct sy_view *view, struct sy_decision *ret,
                      uint32_t capacity) {
    uint32_t count = 0;
    while (count < capacity && y->fetch_count) {
        uint32_t task = y->fetch[--y->fetch_count], device = y->plan.device[task];
        y->listed[task] = false;
        if (y->ahead[task] &&
            sy_estimate_unsent_ns(view, task, view->machine->devices[device].memory) > 0) {
            sy_late_sent(&y->late, view, task, view->machine->devices[device].memory);
            ret[count++] = (struct sy_decision){.kind = SY_FETCH, .task = task, .device = device};
        }
    }
    return count;
}

static void leave_sequence(struct follow *y, uint32_t task) {
    struct draft *plan = &y->plan;
    uint32_t device = plan->device[task];
    y->left[task] = true;
    if (y->ahead[task]) {
        y->ahead[task] = false;
        y->ahead_count[device]--;
        if (y->ahead_last[device] == task) {
            y->ahead_last[device] = plan->before[task];
        }
    }
    sy_draft_remove(plan, task);
}

/* --- which task next ---------------------------------------------------------------------------
 */
static double travel_ns(const struct sy_view *view, uint32_t task, uint32_t device) {
    return sy_estimate_inputs_ns(view, task, view->machine->devices[device].memory, NULL);
}

static double finish_ns(const struct follow *y, const struct sy_view *view, uint32_t task,
                        uint32_t device) {
    return fmax(y->free_ns[device], view->now_ns + travel_ns(view, task, device)) +
           sy_estimate_exec_ns(&y->late.base, view, task, device);
}

/* When a task that is not done may be: as promised when it was decided, or as planned. */
static double end_ns(const struct follow *y, const struct sy_view *view, uint32_t task) {
    const struct draft *plan = &y->plan;
    uint32_t device = plan->device[task];
    if (view->task_state[task] == SY_TASK_RUNNING) {
        return sy_estimate_end_ns(view, view->task_device[task]);
    }
    if (y->left[task]) {
        return plan->end_ns[task];
    }
    if (view->task_device[task] != SY_NONE) {
        return y->free_ns[view->task_device[task]];
    }
    return fmax(y->free_ns[device] + sy_estimate_time_ns(view, task, device),
                plan->end_ns[task] + y->behind_ns[device]);
}

/* When a task that waits may become ready. INFINITY: it waits for something unknown, unless what it
 * waited for has just ended: a runtime needs some time to tell. */
static double ready_ns(const struct follow *y, const struct sy_view *view, uint32_t task) {
    double ready = -INFINITY, ended_ns = -INFINITY;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        uint32_t before = view->pred[e];
        if (view->task_state[before] != SY_TASK_DONE) {
            ready = fmax(ready, end_ns(y, view, before));
        } else if (y->left[before]) {
            ended_ns = fmax(ended_ns, y->plan.end_ns[before]);
        }
    }
    if (ready == -INFINITY && view->now_ns < ended_ns + TELL_NS) {
        return view->now_ns;
    }
    return ready == -INFINITY ? INFINITY : fmax(ready, view->now_ns);
}

/* A ready task from further back in the device's own sequence that ends by then; or SY_NONE. */
static uint32_t from_own(const struct follow *y, const struct sy_view *view, uint32_t device,
                         double by_ns) {
    const struct draft *plan = &y->plan;
    uint32_t task = plan->first[device];
    for (uint32_t i = 0; i < OWN_DEPTH && task != SY_NONE; i++, task = plan->after[task]) {
        if (can_start(view, task, device) && finish_ns(y, view, task, device) <= by_ns) {
            return task;
        }
    }
    return SY_NONE;
}

/* The earliest in the plan of those that other devices would finish later. */
static uint32_t from_others(const struct follow *y, const struct sy_view *view, uint32_t device,
                            double by_ns) {
    const struct draft *plan = &y->plan;
    uint32_t best = SY_NONE;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        double there_ns = y->free_ns[d];
        uint32_t task = d == device ? SY_NONE : plan->first[d];
        for (uint32_t i = 0; i < TAKE_FROM && task != SY_NONE; i++, task = plan->after[task]) {
            there_ns += sy_estimate_time_ns(view, task, d);
            if (!can_start(view, task, device) ||
                (best != SY_NONE && plan->start_ns[best] <= plan->start_ns[task])) {
                continue;
            }
            double here_ns = finish_ns(y, view, task, device);
            double burden_ns = view->shared_links ? travel_ns(view, task, device) : 0;
            best = here_ns + burden_ns < there_ns && here_ns <= by_ns ? task : best;
        }
    }
    return best;
}

/* Of the tasks that stand first on devices like this one, the earliest in the plan, if its own
 * device will be late for it. */
static uint32_t most_urgent(const struct follow *y, const struct sy_view *view, uint32_t device) {
    const struct draft *plan = &y->plan;
    const struct sy_device *self = &view->machine->devices[device];
    uint32_t best = plan->first[device];
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_device *other = &view->machine->devices[d];
        uint32_t task = plan->first[d];
        if (task == SY_NONE || other->class_index != self->class_index ||
            other->memory != self->memory || plan->start_ns[task] >= plan->start_ns[best] ||
            y->free_ns[d] <= plan->start_ns[task] || !can_start(view, task, device)) {
            continue;
        }
        best = task;
    }
    return best;
}

static uint32_t next_task(struct follow *y, const struct sy_view *view, uint32_t device) {
    uint32_t first = y->plan.first[device];
    while (first != SY_NONE && sy_draft_settled(view, first)) {
        leave_sequence(y, first);
        first = y->plan.first[device];
    }
    if (first != SY_NONE && can_start(view, first, device)) {
        return y->strict ? first : most_urgent(y, view, device);
    }
    if (y->strict) {
        return SY_NONE;
    }
    double by_ns = first == SY_NONE ? INFINITY : ready_ns(y, view, first);
    uint32_t task = from_own(y, view, device, by_ns);
    return task == SY_NONE ? from_others(y, view, device, by_ns) : task;
}

/* --- deciding ----------------------------------------------------------------------------------
 */
static void commit(struct follow *y, const struct sy_view *view, uint32_t task, uint32_t device,
                   struct sy_decision *ret) {
    struct draft *plan = &y->plan;
    double exec_ns = sy_estimate_exec_ns(&y->late.base, view, task, device);
    double until_ns = finish_ns(y, view, task, device);
    leave_sequence(y, task);
    if (plan->device[task] == device) {
        y->behind_ns[device] = until_ns - plan->end_ns[task];
    }
    plan->device[task] = device;
    plan->end_ns[task] = y->free_ns[device] = until_ns;
    y->held[device]++;
    sy_order_charge(&y->late.base, view, task, exec_ns);
    *ret = (struct sy_decision){
        .kind = SY_RUN,
        .task = task,
        .device = device,
        .priority = -plan->start_ns[task],
        .expected_ns = exec_ns,
        .reason = {.guard = SY_GUARD_PLAN, .finish_ns = (float)(until_ns - view->now_ns)}};
}

static bool has_inputs(const struct sy_view *view, uint32_t task) {
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        if ((view->access[a].mode & SY_READ) && view->data_bytes[view->access[a].datum] > 0) {
            return true;
        }
    }
    return false;
}

/* While times are as planned, an accelerator's second task is committed however long the first
 * lasts: it will not have to be elsewhere, and a runtime fetches the inputs of what is committed
 * beside the first. */
static bool has_room(const struct follow *y, const struct sy_view *view, uint32_t device) {
    double lasts_ns = y->free_ns[device] - view->now_ns;
    uint32_t next = y->plan.first[device];
    bool second = next != SY_NONE && ((!y->uncertain && has_inputs(view, next)) ||
                                      sy_late_ends_soon(lasts_ns, travel_ns(view, next, device)));
    return !view->devices[device].lost &&
           sy_late_hungry(view, device, y->held[device], second, lasts_ns);
}

static void look(struct follow *y, const struct sy_view *view) {
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_view_device *v = &view->devices[d];
        y->held[d] = v->queue_length + (v->running != SY_NONE);
        y->free_ns[d] = v->lost ? INFINITY : sy_estimate_end_ns(view, d) + v->queued_ns;
    }
}

static bool waits_for_unknown(const struct sy_view *view, uint32_t task) {
    bool known = false;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1] && !known; e++) {
        known = view->task_state[view->pred[e]] != SY_TASK_DONE;
    }
    return view->task_state[task] == SY_TASK_WAITING && !known;
}

/* A runtime may not know all dependencies. What it takes for many independent tasks may be a chain,
 * which a plan would deal out to all devices in turn, and each task would wait until the next
 * device wakes up. Seen once, when it is known what is ready. */
static bool is_blind(struct follow *y, const struct sy_view *view) {
    if (y->looked) {
        return false;
    }
    y->looked = true;
    uint32_t step = 1 + y->count / BLIND_LOOK, seen = 0, unknown = 0;
    for (uint32_t t = y->first; t < y->first + y->count; t += step, seen++) {
        unknown += waits_for_unknown(view, t);
    }
    return unknown > BLIND_SPARE + seen / BLIND_SHARE;
}

/* Nothing runs and yet something could: the plan does not fit the world any more. */
static bool is_stuck(const struct follow *y, const struct sy_view *view) {
    bool could = false;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (y->held[d]) {
            return false;
        }
        for (uint32_t t = y->plan.first[d]; t != SY_NONE && !could; t = y->plan.after[t]) {
            could = sy_draft_takeable(view, t);
        }
    }
    return could;
}

/* An idle device without a sequence finds nothing where its twin has just found nothing. */
static bool no_better(const struct follow *y, const struct sy_view *view, uint32_t device,
                      uint32_t twin) {
    const struct sy_device *devices = view->machine->devices;
    const uint32_t *first = y->plan.first;
    return twin != SY_NONE && first[device] == SY_NONE && first[twin] == SY_NONE &&
           !y->held[device] && devices[device].class_index == devices[twin].class_index &&
           devices[device].memory == devices[twin].memory;
}

uint32_t sy_follow_decide(struct sy_scheduler *s, const struct sy_view *view,
                          struct sy_decision *ret, uint32_t capacity) {
    struct follow *y = s->state;
    uint32_t count = sy_late_decide(s, view, ret, capacity);
    if (!y->following || count) {
        return count;
    }
    if (is_blind(y, view)) {
        sy_follow_stop(s, view);
        return sy_late_decide(s, view, ret, capacity);
    }
    look(y, view);
    uint32_t in_vain = SY_NONE;
    for (uint32_t d = view->machine->device_count; d-- > 0;) { /* accelerators come last there */
        uint32_t task = SY_NONE;
        while (count < capacity && has_room(y, view, d) && !no_better(y, view, d, in_vain) &&
               (task = next_task(y, view, d)) != SY_NONE) {
            commit(y, view, task, d, &ret[count++]);
        }
        in_vain = task == SY_NONE && !y->held[d] ? d : in_vain;
        send_ahead(y, view, d);
    }
    count += fetch(y, view, ret + count, capacity - count);
    if (!count && is_stuck(y, view)) {
        sy_follow_stop(s, view);
        return sy_late_decide(s, view, ret, capacity);
    }
    return count;
}
