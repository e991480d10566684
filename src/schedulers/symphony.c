/* SPDX-License-Identifier: Apache-2.0
 *
 * The default. A job that has the machine for itself is planned in several ways when it arrives
 * (portfolio.c) and the best plan is followed, late: a device takes the next task of its sequence
 * when it is about to be free. While that task is not ready it takes another one that will be done
 * before, also from a device that would finish it later. Inputs of the next tasks of a sequence
 * travel as soon as they exist. When jobs share the machine, or a device is lost, plans are worth
 * little and late binding (late.c) takes over. Jobs of a single task never end a plan: they are
 * bound late beside it. docs/design/006-default-policy.md.
 */
#include "schedulers/late.h"
#include "schedulers/portfolio.h"
#include <errno.h>
#include <string.h>

#define AHEAD      8   /* tasks of a sequence whose inputs are sent ahead */
#define AHEAD_BUSY 2   /* where copies disturb each other: what is urgent should go first, */
#define AHEAD_MOST 64  /* and more of them where they are short: those that begin within */
#define AHEAD_NS   1e6 /* so long of the first */
#define PLAN_NS                                                                                    \
    2e4 /* what planning costs per task, or somewhat more: shorter ones are not planned */
#define OWN_DEPTH 16  /* tasks of its own sequence that a waiting device looks at */
#define TAKE_FROM 4   /* tasks of each other sequence */
#define OVERDUE   0.3 /* of its time that a task still needs, at least, when it should have ended */

struct symphony {
    struct late late; /* first: its functions are handed this state */
    struct portfolio plans;
    bool following;
    uint32_t job_count;    /* present jobs of more than one task */
    bool *left;            /* per task: it has left its sequence */
    bool *ahead;           /* per task: its inputs are sent ahead */
    uint32_t *ahead_count; /* per device: such tasks in its sequence */
    uint32_t *ahead_last;  /* per device: the last of them */
    bool *listed;          /* per task: in fetch */
    uint32_t *fetch;       /* tasks an input of which may have to travel */
    uint32_t fetch_count;
    double *behind_ns; /* per device: start of its last task against the plan */
    double *free_ns;   /* per device: end of what it holds; of this round */
    uint32_t *held;    /* per device: tasks running, queued or decided */
};

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code =
        sy_late_init(s, view, args, sizeof(struct symphony), (struct late_mode){.locality = true});
    if (code) {
        return code;
    }
    struct symphony *y = s->state;
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
    return arrays && rows ? sy_portfolio_init(&y->plans, &y->late.base, view) : -ENOMEM;
}

/* --- a plan begins and ends --------------------------------------------------------------------
 */
static void follow(struct symphony *y, const struct sy_view *view, uint32_t job) {
    sy_portfolio_plan(&y->plans, view, job);
    y->following = isfinite(y->plans.best.makespan_ns);
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        y->ahead_count[d] = 0;
        y->ahead_last[d] = SY_NONE;
        y->behind_ns[d] = 0;
    }
}

static bool takeable(const struct sy_view *view, uint32_t task) {
    return view->task_state[task] == SY_TASK_READY && view->task_device[task] == SY_NONE;
}

static bool can_start(const struct sy_view *view, uint32_t task, uint32_t device) {
    return takeable(view, task) && isfinite(sy_estimate_time_ns(view, task, device));
}

/* What is ready goes to late binding, and what becomes so. */
static void stop_following(struct sy_scheduler *s, const struct sy_view *view) {
    struct symphony *y = s->state;
    if (!y->following) {
        return;
    }
    y->following = false;
    y->fetch_count = 0;
    memset(y->ahead, 0, (view->task_capacity + 1u) * sizeof *y->ahead);
    memset(y->listed, 0, (view->task_capacity + 1u) * sizeof *y->listed);
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        for (uint32_t t = y->plans.best.first[d]; t != SY_NONE; t = y->plans.best.after[t]) {
            if (takeable(view, t)) {
                sy_late_task_ready(s, view, t);
            }
        }
    }
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct symphony *y = s->state;
    sy_late_job_arrived(s, view, job);
    if (view->jobs[job].task_count < 2) {
        return;
    }
    stop_following(s, view);
    const struct sy_view_job *j = &view->jobs[job];
    if (y->job_count++ == 0 && j->work_left_ns > j->task_count * PLAN_NS) {
        follow(y, view, job);
    }
}

static void job_left(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct symphony *y = s->state;
    sy_late_job_left(s, view, job);
    y->job_count -= view->jobs[job].task_count > 1;
}

static void device_changed(struct sy_scheduler *s, const struct sy_view *view, uint32_t device) {
    (void)device;
    stop_following(s, view);
}

static void list(struct symphony *y, uint32_t task) {
    if (!y->listed[task]) {
        y->listed[task] = true;
        y->fetch[y->fetch_count++] = task;
    }
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct symphony *y = s->state;
    if (!y->following || view->jobs[view->task_job[task]].task_count < 2) {
        sy_late_task_ready(s, view, task);
    }
}

static void task_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                      uint32_t device, double duration_ns) {
    struct symphony *y = s->state;
    sy_late_task_done(s, view, task, device, duration_ns);
    for (uint32_t e = view->succ_start[task]; y->following && e < view->succ_start[task + 1]; e++) {
        if (y->ahead[view->succ[e]] && view->task_device[view->succ[e]] == SY_NONE) {
            list(y, view->succ[e]);
        }
    }
}

/* --- inputs that travel ahead ------------------------------------------------------------------
 */
static bool must_travel(const struct sy_view *view, uint32_t task, uint32_t memory) {
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum, producer = view->access_producer[a];
        uint64_t there = view->data_valid[datum] | view->data_inflight[datum];
        bool exists = producer == SY_NONE || view->task_state[producer] == SY_TASK_DONE;
        if ((view->access[a].mode & SY_READ) && exists && view->data_valid[datum] &&
            !(there >> memory & 1)) {
            return true;
        }
    }
    return false;
}

static void send_ahead(struct symphony *y, const struct sy_view *view, uint32_t device) {
    const struct draft *plan = &y->plans.best;
    uint32_t limit = view->shared_links ? AHEAD_BUSY : AHEAD;
    while (y->ahead_count[device] < AHEAD_MOST) {
        uint32_t last = y->ahead_last[device], first = plan->first[device];
        uint32_t next = last == SY_NONE ? first : plan->after[last];
        if (next == SY_NONE || (y->ahead_count[device] >= limit &&
                                plan->start_ns[next] > plan->start_ns[first] + AHEAD_NS)) {
            return;
        }
        y->ahead[next] = true;
        y->ahead_last[device] = next;
        y->ahead_count[device]++;
        list(y, next);
    }
}

static uint32_t fetch(struct symphony *y, const struct sy_view *view, struct sy_decision *ret,
                      uint32_t capacity) {
    uint32_t count = 0;
    while (count < capacity && y->fetch_count) {
        uint32_t task = y->fetch[--y->fetch_count], device = y->plans.best.device[task];
        y->listed[task] = false;
        if (y->ahead[task] && must_travel(view, task, view->machine->devices[device].memory)) {
            ret[count++] = (struct sy_decision){.kind = SY_FETCH, .task = task, .device = device};
        }
    }
    return count;
}

/* The world may have run it without asking. */
static bool gone(const struct sy_view *view, uint32_t task) {
    return view->task_device[task] != SY_NONE || view->task_state[task] >= SY_TASK_RUNNING;
}

static void leave_sequence(struct symphony *y, uint32_t task) {
    struct draft *plan = &y->plans.best;
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

static double finish_ns(const struct symphony *y, const struct sy_view *view, uint32_t task,
                        uint32_t device) {
    return fmax(y->free_ns[device], view->now_ns + travel_ns(view, task, device)) +
           sy_estimate_exec_ns(&y->late.base, view, task, device);
}

/* The later a task already is, the longer it may still take. */
static double running_end_ns(const struct sy_view *view, uint32_t device) {
    const struct sy_view_device *v = &view->devices[device];
    double late_ns = view->now_ns - v->running_end_ns;
    if (v->running == SY_NONE || late_ns <= 0) {
        return v->running == SY_NONE ? view->now_ns : v->running_end_ns;
    }
    double own_ns = sy_estimate_time_ns(view, v->running, device);
    return view->now_ns + fmax(0.5 * late_ns, OVERDUE * own_ns);
}

/* When a task that is not done may be: as promised when it was decided, or as planned. */
static double end_ns(const struct symphony *y, const struct sy_view *view, uint32_t task) {
    const struct draft *plan = &y->plans.best;
    uint32_t device = plan->device[task];
    if (view->task_state[task] == SY_TASK_RUNNING) {
        return running_end_ns(view, view->task_device[task]);
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

/* When a task that waits may become ready. INFINITY: it waits for something unknown. */
static double ready_ns(const struct symphony *y, const struct sy_view *view, uint32_t task) {
    double ready = -INFINITY;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        uint32_t before = view->pred[e];
        if (view->task_state[before] != SY_TASK_DONE) {
            ready = fmax(ready, end_ns(y, view, before));
        }
    }
    return ready == -INFINITY ? INFINITY : fmax(ready, view->now_ns);
}

/* A ready task from further back in the device's own sequence that ends by then; or SY_NONE. */
static uint32_t from_own(const struct symphony *y, const struct sy_view *view, uint32_t device,
                         double by_ns) {
    const struct draft *plan = &y->plans.best;
    uint32_t task = plan->first[device];
    for (uint32_t i = 0; i < OWN_DEPTH && task != SY_NONE; i++, task = plan->after[task]) {
        if (can_start(view, task, device) && finish_ns(y, view, task, device) <= by_ns) {
            return task;
        }
    }
    return SY_NONE;
}

/* The earliest in the plan of those that other devices would finish later. */
static uint32_t from_others(const struct symphony *y, const struct sy_view *view, uint32_t device,
                            double by_ns) {
    const struct draft *plan = &y->plans.best;
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
static uint32_t most_urgent(const struct symphony *y, const struct sy_view *view, uint32_t device) {
    const struct draft *plan = &y->plans.best;
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

static uint32_t next_task(struct symphony *y, const struct sy_view *view, uint32_t device) {
    uint32_t first = y->plans.best.first[device];
    while (first != SY_NONE && gone(view, first)) {
        leave_sequence(y, first);
        first = y->plans.best.first[device];
    }
    if (first != SY_NONE && can_start(view, first, device)) {
        return most_urgent(y, view, device);
    }
    double by_ns = first == SY_NONE ? INFINITY : ready_ns(y, view, first);
    uint32_t task = from_own(y, view, device, by_ns);
    return task == SY_NONE ? from_others(y, view, device, by_ns) : task;
}

/* --- deciding ----------------------------------------------------------------------------------
 */
static void commit(struct symphony *y, const struct sy_view *view, uint32_t task, uint32_t device,
                   struct sy_decision *ret) {
    struct draft *plan = &y->plans.best;
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
    *ret = (struct sy_decision){.kind = SY_RUN,
                                .task = task,
                                .device = device,
                                .priority = -plan->start_ns[task],
                                .expected_ns = exec_ns};
}

static bool has_room(const struct symphony *y, const struct sy_view *view, uint32_t device) {
    double wait_ns = y->free_ns[device] - view->now_ns;
    return !view->devices[device].lost && sy_late_hungry(view, device, y->held[device], wait_ns);
}

static void look(struct symphony *y, const struct sy_view *view) {
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_view_device *v = &view->devices[d];
        y->held[d] = v->queue_length + (v->running != SY_NONE);
        y->free_ns[d] = v->lost ? INFINITY : running_end_ns(view, d) + v->queued_ns;
    }
}

/* Nothing runs and yet something could: the plan does not fit the world any more. */
static bool is_stuck(const struct symphony *y, const struct sy_view *view) {
    bool could = false;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (y->held[d]) {
            return false;
        }
        for (uint32_t t = y->plans.best.first[d]; t != SY_NONE && !could;
             t = y->plans.best.after[t]) {
            could = takeable(view, t);
        }
    }
    return could;
}

/* An idle device without a sequence finds nothing where its twin has just found nothing. */
static bool no_better(const struct symphony *y, const struct sy_view *view, uint32_t device,
                      uint32_t twin) {
    const struct sy_device *devices = view->machine->devices;
    const uint32_t *first = y->plans.best.first;
    return twin != SY_NONE && first[device] == SY_NONE && first[twin] == SY_NONE &&
           !y->held[device] && devices[device].class_index == devices[twin].class_index &&
           devices[device].memory == devices[twin].memory;
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct symphony *y = s->state;
    uint32_t count = sy_late_decide(s, view, ret, capacity);
    if (!y->following || count) {
        return count;
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
        stop_following(s, view);
        return sy_late_decide(s, view, ret, capacity);
    }
    return count;
}

const struct sy_scheduler_ops sy_policy_symphony = {
    .name = "symphony",
    .summary = "the default: follows the best of several plans, late; late binding between jobs",
    .init = init,
    .finish = sy_policy_finish,
    .job_arrived = job_arrived,
    .job_left = job_left,
    .task_ready = task_ready,
    .task_done = task_done,
    .device_lost = device_changed,
    .device_returned = device_changed,
    .decide = decide};
