/* SPDX-License-Identifier: Apache-2.0
 *
 * Late binding: ready tasks wait in one pool; whenever something changes, the best of them are
 * list-scheduled in mind by earliest finish, and only those that fall on a device which is idle, or
 * about to be before their inputs could arrive, are committed. Orders between jobs combine with it.
 * Variants: times as given, corrected by history, corrected for contention from noisy
 * counters; the two first steps of the 2017 poster's ablation (affinity only, + locality); and the
 * one that is told true times and true contention. PAPERS.md section 1.10; docs/design/005.
 */
#include "schedulers/late_binding.h"
#include <errno.h>
#include <string.h>

static bool by_falling(const struct late *l, uint32_t a, uint32_t b) {
    if (l->key[a] != l->key[b]) {
        return l->key[a] > l->key[b];
    }
    return a < b;
}

static int init_net(struct late *l, const struct sy_view *view) {
    const struct sy_weights *weights = l->base.weights;
    if (!l->mode.learned || !weights || (l->base.without & SY_PART_NET)) {
        return 0;
    }
    if (weights->shape != LEARNED_SHAPE || weights->count != LEARNED_COUNT) {
        return -EINVAL;
    }
    l->net = sy_arena_alloc(l->base.arena, 1, sizeof *l->net);
    return l->net ? sy_learned_init(l->net, &l->base, view) : -ENOMEM;
}

static int init_models(struct late *l, const struct sy_view *view) {
    size_t pairs = (size_t)LATE_KERNELS * view->machine->device_count;
    int code = l->mode.contention ? sy_sharing_init(&l->sharing, l->base.arena, view) : 0;
    if (l->mode.contention) {
        l->slowing = sy_arena_alloc(l->base.arena, pairs + 1, sizeof *l->slowing);
        code = l->slowing ? code : -ENOMEM;
    }
    code = !code && l->mode.history ? sy_policy_use_drift(&l->base, view) : code;
    return code ? code : init_net(l, view);
}

static bool take_arrays(struct late *l, const struct sy_view *view) {
    struct sy_arena *arena = l->base.arena;
    size_t tasks = view->task_capacity + 1u, jobs = view->job_capacity + 1u;
    size_t devices = view->machine->device_count;
    l->key = sy_arena_alloc(arena, tasks, sizeof *l->key);
    l->job_key = sy_arena_alloc(arena, jobs, sizeof *l->job_key);
    l->job_round = sy_arena_alloc(arena, jobs, sizeof *l->job_round);
    l->free_ns = sy_arena_alloc(arena, devices, sizeof *l->free_ns);
    l->until_ns = sy_arena_alloc(arena, devices, sizeof *l->until_ns);
    l->room = sy_arena_alloc(arena, devices, sizeof *l->room);
    l->held = sy_arena_alloc(arena, devices, sizeof *l->held);
    l->alike = sy_arena_alloc(arena, devices, sizeof *l->alike);
    l->alike_of = sy_arena_alloc(arena, devices, sizeof *l->alike_of);
    l->waiting = sy_arena_alloc(arena, view->machine->class_count, sizeof *l->waiting);
    l->candidates = sy_arena_alloc(arena, devices, sizeof *l->candidates);
    l->fetched = sy_arena_alloc(arena, tasks, sizeof *l->fetched);
    l->ways = sy_arena_alloc(arena, view->machine->memory_count, sizeof *l->ways);
    l->mind_ns = sy_arena_alloc(arena, tasks, sizeof *l->mind_ns);
    l->mind_round = sy_arena_alloc(arena, tasks, sizeof *l->mind_round);
    bool of_devices = l->free_ns && l->until_ns && l->room && l->held && l->alike && l->alike_of &&
                      l->waiting && l->candidates;
    return of_devices && l->key && l->job_key && l->job_round && l->fetched && l->ways &&
           l->mind_ns && l->mind_round;
}

int sy_late_init(struct sy_scheduler *s, const struct sy_view *view, const char *args, size_t size,
                 struct late_mode mode) {
    int code = sy_policy_init(s, view, args, size);
    if (code) {
        return code;
    }
    struct late *l = s->state;
    l->mode = mode;
    if (mode.learned && *args != '+') {
        l->base.order = ORDER_WSPT;
    }
    l->least = mode.history || view->truth ? 0 : 1;
    l->scale = l->base.scale;
    code = take_arrays(l, view) ? sy_pool_init(&l->ready, &l->base, view) : -ENOMEM;
    code = code ? code : sy_late_recall_init(l, view);
    code = code ? code : init_models(l, view);
    return code ? code : sy_quick_init(l, view, &l->quick);
}

static void note_length(struct late *l, const struct sy_view_job *job) {
    double length = log(fmax(job->isolated_ns, 1));
    if (job->task_count < 2) { /* an engine makes such of what it could not lay yet */
        return;
    }
    l->lengths += l->lengths < LATE_JOBS;
    l->length_mean += (length - l->length_mean) / l->lengths;
    l->length_square += (length * length - l->length_square) / l->lengths;
}

bool sy_late_doubts(const struct late *l) {
    double variance = l->length_square - l->length_mean * l->length_mean;
    return l->doubtful || variance > LATE_WIDE * LATE_WIDE;
}

void sy_late_job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct late *l = s->state;
    const struct sy_view_job *j = &view->jobs[job];
    l->jobs++;
    l->mixed = true;
    note_length(l, j);
    sy_order_arrived(&l->base, view, job);
    sy_rank_upward(&l->base, view, job, l->base.rank);
    for (uint32_t t = j->first_task; l->scale && t < j->first_task + j->task_count; t++) {
        l->base.rank[t] *= l->scale[t];
    }
    /* A rehearsal may have been here before. */
    memset(l->fetched + j->first_task, 0, j->task_count * sizeof *l->fetched);
    memset(l->recalls + j->first_task, 0, j->task_count * sizeof *l->recalls);
    memset(l->ways, 0, view->machine->memory_count * sizeof *l->ways);
}

static void count_waiting(struct late *l, const struct sy_view *view, uint32_t task,
                          uint32_t change) {
    uint32_t classes = view->machine->class_count;
    for (uint32_t c = 0; c < classes; c++) {
        l->waiting[c] += isfinite(view->time_ns[(size_t)task * classes + c]) ? change : 0;
    }
}

void sy_late_task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct late *l = s->state;
    count_waiting(l, view, task, 1);
    if (l->net) {
        sy_learned_task_ready(l->net, &l->base, view, task);
    }
    sy_pool_push(&l->ready, view, task, l->base.rank[task]);
    l->unseen = true;
}

void sy_late_job_left(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct late *l = s->state;
    (void)view, (void)job;
    l->jobs--;
    l->mixed = true;
}

void sy_late_task_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                       uint32_t device, double duration_ns) {
    struct late *l = s->state;
    sy_policy_task_done(s, view, task, device, duration_ns);
    uint32_t job = view->task_job[task];
    if (l->job_round[job] == l->round && l->base.order != ORDER_NONE) {
        double shift = sy_order_job_key(&l->base, view, job) - l->job_key[job];
        l->mixed = l->mixed || fabs(shift) > LATE_SHIFT || l->base.order == ORDER_FAIR;
    }
    double alone = sy_estimate_time_ns(view, task, device);
    if (l->net && alone > 0 && duration_ns > 0) {
        l->surprise += (fabs(log(duration_ns / alone)) - l->surprise) / LATE_TASKS;
        l->doubtful = l->surprise > (l->doubtful ? LATE_TRUST : LATE_DOUBT);
    }
    if (l->mode.contention && !view->truth && alone > 0) {
        sy_sharing_observe(&l->sharing, view, task, device, duration_ns / alone);
    }
}

static double free_ns(const struct sy_view *view, uint32_t device) {
    const struct sy_view_device *d = &view->devices[device];
    if (view->truth && !d->lost && isfinite(view->truth->device_free_ns[device])) {
        return fmax(view->now_ns, view->truth->device_free_ns[device]) + d->queued_ns;
    }
    return d->lost ? INFINITY : sy_estimate_end_ns(view, device) + d->queued_ns;
}

static void sort_device(struct late *l, const struct sy_view *view, uint32_t device) {
    const struct sy_device *self = &view->machine->devices[device];
    const struct sy_view_device *v = &view->devices[device];
    struct alike key = {.class_index = self->class_index,
                        .memory = self->memory,
                        .image = self->board == SY_NONE ? SY_NONE : v->last_image,
                        .beside = l->mode.contention ? l->sharing.beside_now[device] : SY_NONE,
                        .first_free = device};
    uint32_t g = 0;
    for (; g < l->alike_count; g++) {
        const struct alike *a = &l->alike[g];
        if (a->class_index == key.class_index && a->memory == key.memory && a->image == key.image &&
            a->beside == key.beside) {
            break;
        }
    }
    l->alike_of[device] = g;
    if (g == l->alike_count) {
        l->alike[l->alike_count++] = key;
    } else if (l->free_ns[device] < l->free_ns[l->alike[g].first_free]) {
        l->alike[g].first_free = device;
    }
}

bool sy_late_hungry(const struct sy_view *view, uint32_t device, uint32_t held, bool second,
                    double wait_ns) {
    bool core = view->machine->devices[device].kind == SY_CPU;
    return held == 0 || (held == 1 && !core && second) ||
           (held < LATE_DEPTH && wait_ns < (core ? LATE_CORE_NS : LATE_ACCELERATOR_NS));
}

static bool may_have_second(const struct late *l, const struct sy_view *view, uint32_t device) {
    return sy_late_ends_soon(l->until_ns[device] - view->now_ns,
                             fmax(l->usual_travel_ns, l->longest_travel_ns));
}

/* A hungry device takes a task. Further tasks are committed only when what the device holds would
 * end before their inputs are there (with a factor to spare): early enough to prefetch, late enough
 * to have chosen. */
static bool soon_enough(const struct late *l, const struct sy_view *view, uint32_t device,
                        double wait_ns, double travel_ns) {
    uint32_t held = l->held[device];
    if (l->mode.gate || held == 0) {
        return held == 0;
    }
    return sy_late_hungry(view, device, held, may_have_second(l, view, device), wait_ns) ||
           (held < LATE_DEPTH && wait_ns < 2 * travel_ns);
}

/* The schedule in mind has booked it already: how long that lasts is not the question. */
static bool is_hungry(const struct late *l, const struct sy_view *view, uint32_t device) {
    bool second = may_have_second(l, view, device);
    return l->room[device] && sy_late_hungry(view, device, l->held[device], second, INFINITY);
}

/* Groups of devices do not change there. */
static void look_quickly(struct late *l, const struct sy_view *view) {
    if (sy_quick_due(l->quick)) {
        sy_sharing_update(&l->sharing, view);
        sy_quick_looked(l, view);
    }
}

/* Which devices may take another task; returns how many. */
static uint32_t look(struct late *l, const struct sy_view *view) {
    uint32_t open = 0;
    l->hungry = 0;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_view_device *v = &view->devices[d];
        bool useful = !v->lost && l->waiting[view->machine->devices[d].class_index];
        l->held[d] = v->queue_length + (v->running != SY_NONE);
        l->free_ns[d] = l->until_ns[d] = free_ns(view, d);
        double wait_ns = l->free_ns[d] - view->now_ns;
        l->room[d] = useful && soon_enough(l, view, d, wait_ns, l->longest_travel_ns);
        open += l->room[d];
        l->hungry += is_hungry(l, view, d);
    }
    return open;
}

/* What sharing does there, and which devices are alike. */
static void look_closely(struct late *l, const struct sy_view *view) {
    if (l->quick) {
        look_quickly(l, view);
        return;
    }
    if (l->mode.contention) {
        sy_sharing_update(&l->sharing, view);
        l->looks++;
    }
    l->alike_count = 0;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        sort_device(l, view, d);
    }
}

/* The schedule in mind keeps the device busy until then. */
void sy_late_book(struct late *l, const struct sy_view *view, uint32_t device, double until_ns) {
    uint32_t g = l->alike_of[device], best = device;
    l->free_ns[device] = until_ns;
    if (l->quick) {
        sy_quick_booked(l, view, device);
        return;
    }
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (l->alike_of[d] == g && l->free_ns[d] < l->free_ns[best]) {
            best = d;
        }
    }
    l->alike[g].first_free = best;
}

/* Puts a task where its key belongs among the window's first count. */
static void insert(struct late *l, uint32_t count, uint32_t task) {
    uint32_t at = count;
    for (; at && by_falling(l, task, l->window[at - 1]); at--) {
        l->window[at] = l->window[at - 1];
    }
    l->window[at] = task;
}

/* Ranks alone decide within one job. Between jobs the unit is the logarithm of a job's key, and the
 * rank a small part of it. Keys of jobs shift: they hold for one round. */
static double key_of(struct late *l, const struct sy_view *view, uint32_t task) {
    double rank = l->base.rank[task];
    if (l->base.order == ORDER_NONE || l->jobs < 2) {
        return rank;
    }
    uint32_t job = view->task_job[task];
    if (l->job_round[job] != l->round) {
        l->job_round[job] = l->round;
        l->job_key[job] = sy_order_job_key(&l->base, view, job);
    }
    return l->job_key[job] + sy_order_within_job(view, job, rank);
}

/* A newcomer in the pool may outrank what waits in the window: swap it against the worst. */
static void prefer_newcomers(struct late *l, const struct sy_view *view) {
    uint32_t last = LATE_WINDOW - 1;
    for (uint32_t swaps = 0; swaps < LATE_WINDOW; swaps++) {
        uint32_t best = sy_pool_peek(&l->ready, &l->base, view), worst = l->window[last];
        double key = best == SY_NONE ? 0 : key_of(l, view, best);
        if (best == SY_NONE || key <= l->key[worst]) {
            return;
        }
        sy_pool_pop(&l->ready, &l->base, view);
        if (l->quick) {
            sy_quick_forget(l->quick, worst);
        }
        sy_pool_push(&l->ready, view, worst, l->base.rank[worst]);
        l->key[best] = key;
        insert(l, last, best);
    }
}

/* The window holds the tasks that come first, the pool the rest. Where keys have shifted since it
 * was sorted it is sorted anew. */
static void draw_window(struct late *l, const struct sy_view *view) {
    bool keyed = l->base.order != ORDER_NONE;
    bool shift = keyed && (l->mixed || ++l->rounds_kept >= LATE_KEEP);
    if (shift) {
        l->round++;
        l->rounds_kept = 0;
    }
    l->mixed = false;
    for (uint32_t i = 0; shift && i < l->window_count; i++) {
        uint32_t task = l->window[i];
        l->key[task] = key_of(l, view, task);
        insert(l, i, task);
    }
    while (l->window_count < LATE_WINDOW && l->ready.count) {
        uint32_t task = sy_pool_pop(&l->ready, &l->base, view);
        if (view->task_device[task] == SY_NONE) {
            l->key[task] = key_of(l, view, task);
            insert(l, l->window_count++, task);
        }
    }
    if (l->ready.count) {
        prefer_newcomers(l, view);
    }
}

double sy_late_inputs_ns(const struct late *l, const struct sy_view *view, uint32_t task,
                         uint32_t memory, bool shared) {
    return l->mode.locality ? sy_estimate_inputs_ns(view, task, memory,
                                                    shared ? l->sharing.open_bytes_per_s : NULL)
                            : 0;
}

/* What sharing does to a kernel there is much the same for all its tasks: asked once until
 * something is committed. */
static struct sy_slowing slowing(struct late *l, const struct sy_view *view, uint32_t task,
                                 uint32_t group) {
    uint32_t kernel = view->task_kernel[task];
    size_t row = (size_t)(kernel % LATE_KERNELS) * view->machine->device_count;
    struct slowing *s = &l->slowing[row + group];
    if (s->round != l->looks || s->kernel != kernel) {
        s->round = l->looks;
        s->kernel = kernel;
        s->is = sy_sharing_slowdown(&l->sharing, view, task, l->alike[group].first_free);
    }
    return s->is;
}

static double exec_ns(struct late *l, const struct sy_view *view, uint32_t task, uint32_t group,
                      struct sy_slowing *ret_slowing) {
    uint32_t device = l->alike[group].first_free;
    double ns = sy_estimate_exec_ns(&l->base, view, task, device);
    double alone = sy_estimate_time_ns(view, task, device);
    if (view->truth) {
        const struct sy_machine *m = view->machine;
        size_t at =
            (size_t)view->task_kernel[task] * m->class_count + m->devices[device].class_index;
        double factor = view->truth->task_factor[task] * view->truth->kernel_factor[at];
        ns += alone * (factor - 1);
        alone *= factor;
    }
    *ret_slowing = (struct sy_slowing){.ratio = 1};
    if (l->mode.contention && view->shared_links) {
        *ret_slowing = slowing(l, view, task, group);
        ns += (ret_slowing->ratio - 1) * alone;
    }
    ret_slowing->harm *= alone;
    return ns;
}

/* A gate keeps a task waiting rather than start it where it would be slowed, or slow others. */
static bool gated(const struct late *l, double slowdown, double harm_ns, double ns) {
    return l->mode.gate && l->busy && (slowdown > 1.05 || harm_ns > 0.05 * ns);
}

/* What the heuristic thinks of a device, there_ns being when the inputs are. */
static struct late_choice weigh(struct late *l, const struct sy_view *view, uint32_t task,
                                uint32_t group, double there_ns, double travel_ns) {
    uint32_t device = l->alike[group].first_free;
    struct sy_slowing sharing;
    double ns = exec_ns(l, view, task, group, &sharing), harm_ns = sharing.harm;
    double free = l->free_ns[device], start_ns = free > there_ns ? free : there_ns;
    double score_ns = start_ns + ns + sy_late_harm(l) * harm_ns + sy_late_burden(view) * travel_ns;
    if (l->behind_ns) {
        score_ns += l->behind_ns[(size_t)task * view->machine->class_count +
                                 view->machine->devices[device].class_index];
    }
    if (l->scale) { /* a rollout's distaste for this kernel on this class stands behind the tasks */
        size_t at = (size_t)view->task_kernel[task] * view->machine->class_count +
                    view->machine->devices[device].class_index;
        score_ns += log(l->scale[view->task_capacity + 1 + at]) * view->best_ns[task];
    }
    return (struct late_choice){.device = device,
                                .score_ns = score_ns,
                                .finish_ns = start_ns + ns,
                                .exec_ns = ns,
                                .travel_ns = travel_ns,
                                .wait_ns = free - view->now_ns,
                                .slowdown = sharing.ratio,
                                .slowdown_sd = sharing.sd,
                                .harm_ns = harm_ns,
                                .base_ns = score_ns};
}

bool sy_late_stays(const struct late *l, const struct sy_view *view, uint32_t task) {
    bool guarded = !(l->base.without & SY_PART_GUARD);
    return guarded && (double)l->net->out_ns[task] > LATE_BOUND * view->best_ns[task];
}

/* What the network thinks of those that the heuristic does not think much worse than its own. */
static struct late_choice correct(const struct late *l, const struct sy_view *view, uint32_t task,
                                  uint32_t count, struct late_choice safe) {
    double least_ns = view->best_ns[task], limit_ns = safe.base_ns + LATE_BOUND * least_ns;
    struct late_choice best = {.device = SY_NONE, .score_ns = INFINITY};
    bool free = (l->base.without & SY_PART_GUARD) != 0, stays = sy_late_stays(l, view, task);
    uint32_t memory = view->machine->devices[safe.device].memory;
    if (!free && sy_late_doubts(l)) {
        safe.guard = SY_GUARD_FALLBACK;
        return safe;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct late_choice it = l->candidates[i];
        if ((it.base_ns > limit_ns && !free) ||
            (stays && view->machine->devices[it.device].memory != memory)) {
            continue;
        }
        double more = sy_learned_score(l->net, view, task, it.device, l->held[it.device]);
        double kept = free ? more : sy_most(-LATE_BOUND, sy_least(more, LATE_BOUND));
        it.score_ns += kept * least_ns;
        it.guard = kept == more ? SY_GUARD_TRUSTED : SY_GUARD_BOUNDED;
        best = it.score_ns < best.score_ns ? it : best;
    }
    return best.device == SY_NONE ? safe : best;
}

/* Where a task far down would go, by time alone: only to see who will be busy. */
static struct late_choice glance(const struct late *l, const struct sy_view *view, uint32_t task) {
    struct late_choice best = {.device = SY_NONE, .finish_ns = INFINITY};
    for (uint32_t g = l->alike_count; g-- > 0;) {
        uint32_t d = l->alike[g].first_free;
        double finish_ns = l->free_ns[d] + sy_estimate_time_ns(view, task, d);
        if (finish_ns < best.finish_ns) {
            best.device = d;
            best.finish_ns = finish_ns;
        }
    }
    return best;
}

static bool may_go(const struct late *l, const struct sy_view *view, uint32_t task,
                   uint32_t device) {
    uint32_t memory = view->machine->devices[device].memory;
    return isfinite(l->free_ns[device]) &&
           (!l->together || (l->together->memories[task] >> memory & 1));
}

/* Accelerators come last in a machine and are mostly best: looked at first, they let the others be
 * passed over before their data are. */
static struct late_choice choose(struct late *l, const struct sy_view *view, uint32_t task,
                                 bool gate) {
    const struct sy_machine *m = view->machine;
    struct late_choice best = {.device = SY_NONE, .score_ns = INFINITY, .base_ns = INFINITY};
    double slack_ns = l->net ? LATE_BOUND * view->best_ns[task] : 0;
    slack_ns = l->base.without & SY_PART_GUARD ? INFINITY : slack_ns;
    uint32_t memory = SY_NONE, count = 0;
    double there_ns = 0, travel_ns = 0;
    for (uint32_t g = l->alike_count; g-- > 0;) {
        uint32_t d = l->alike[g].first_free;
        if (!may_go(l, view, task, d) ||
            l->free_ns[d] + sy_estimate_time_ns(view, task, d) * l->least >=
                best.score_ns + slack_ns) {
            continue;
        }
        if (m->devices[d].memory != memory) {
            memory = m->devices[d].memory;
            travel_ns = sy_late_inputs_ns(l, view, task, memory, false);
            bool shared = travel_ns > 0 && l->mode.contention && view->shared_links;
            there_ns = view->now_ns +
                       (shared ? sy_late_inputs_ns(l, view, task, memory, true) : travel_ns);
        }
        struct late_choice it = weigh(l, view, task, g, there_ns, travel_ns);
        if (gate && gated(l, it.slowdown, it.harm_ns, it.exec_ns)) {
            continue;
        }
        l->candidates[count++] = it;
        best = it.score_ns < best.score_ns ? it : best;
    }
    return l->net && best.device != SY_NONE ? correct(l, view, task, count, best) : best;
}

struct late_choice sy_late_best(struct late *l, const struct sy_view *view, uint32_t task) {
    return l->quick ? sy_quick_choose(l, view, task, false) : choose(l, view, task, false);
}

static bool any_running(const struct sy_view *view) {
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (view->devices[d].running != SY_NONE) {
            return true;
        }
    }
    return false;
}

static double use_of(const struct sy_view *view, uint32_t resource) {
    if (resource == SY_NONE || view->readings[resource].at_ns < 0) {
        return 0;
    }
    double share =
        view->readings[resource].bytes_per_s / view->machine->resources[resource].bytes_per_s;
    return fmin(share, 1);
}

/* For the record: of the fullest of what a task would use there, as believed. */
static float use_there(const struct late *l, const struct sy_view *view, uint32_t device) {
    const struct sy_machine *m = view->machine;
    const struct sy_device *self = &m->devices[device];
    if (!l->net || !view->readings) {
        return 0;
    }
    const struct sy_route *route =
        &m->routes[(size_t)self->host_memory * m->memory_count + self->memory];
    double use = use_of(view, m->memories[self->memory].resource);
    for (uint32_t k = 0; k < route->resource_count; k++) {
        use = fmax(use, use_of(view, route->resources[k]));
    }
    return (float)use;
}

void sy_late_commit(struct late *l, const struct sy_view *view, uint32_t task,
                    const struct late_choice *choice, struct sy_decision *ret) {
    if (choice->travel_ns > 0) {
        sy_late_sent(l, view, task, view->machine->devices[choice->device].memory);
    }
    if (l->together) {
        sy_late_together_begun(l->together, task, view->machine->devices[choice->device].memory);
    }
    sy_late_note_queued(l, view, task, choice);
    l->busy = true;
    count_waiting(l, view, task, UINT32_MAX); /* minus one */
    sy_order_charge(&l->base, view, task, choice->exec_ns);
    if (l->quick) {
        l->quick->starts++;
        sy_quick_forget(l->quick, task);
    } else if (l->mode.contention) {
        sy_sharing_add(&l->sharing, view, task, choice->device);
        l->looks++;
    }
    /* Keys of jobs grow while they are worked on: between two rounds they cannot be compared, and a
     * device's queue is in order already. */
    *ret = (struct sy_decision){
        .kind = SY_RUN,
        .task = task,
        .device = choice->device,
        .priority = l->base.order != ORDER_NONE ? 0 : l->key[task],
        .expected_ns = choice->exec_ns,
        .reason = {.guard = choice->guard,
                   .finish_ns = (float)(choice->finish_ns - view->now_ns),
                   .correction_ns = (float)(choice->score_ns - choice->base_ns),
                   .slowdown = (float)choice->slowdown,
                   .slowdown_sd = (float)choice->slowdown_sd,
                   .utilisation = use_there(l, view, choice->device)}};
}

/* Behind a gate a task's data travel while it waits, and it starts only when they are there. */
static bool wait_at_gate(struct late *l, const struct sy_view *view, uint32_t task,
                         struct late_choice *choice, struct sy_decision *ret) {
    struct late_choice open = choose(l, view, task, true);
    struct late_choice wish = open.device == SY_NONE ? choose(l, view, task, false) : open;
    *choice = open;
    if (wish.device == SY_NONE || !(wish.travel_ns > 0)) {
        return false;
    }
    choice->device = SY_NONE;
    uint32_t memory = view->machine->devices[wish.device].memory;
    if (l->fetched[task] == memory + 1) {
        return false;
    }
    l->fetched[task] = memory + 1;
    *ret = (struct sy_decision){.kind = SY_FETCH, .task = task, .device = wish.device};
    return true;
}

static bool may_commit(const struct late *l, const struct sy_view *view,
                       const struct late_choice *choice) {
    return choice->device != SY_NONE && l->room[choice->device] &&
           soon_enough(l, view, choice->device, choice->wait_ns, choice->travel_ns);
}

/* Fetches, commits or keeps one task of the window. Returns the decisions made, 0 or 1. */
static uint32_t consider(struct late *l, const struct sy_view *view, uint32_t task, bool precise,
                         uint32_t *open, uint32_t *kept, struct sy_decision *ret) {
    struct late_choice choice;
    if (l->mode.gate && wait_at_gate(l, view, task, &choice, ret)) {
        l->window[(*kept)++] = task;
        return 1;
    }
    if (!l->mode.gate) {
        choice = precise ? sy_late_best(l, view, task) : glance(l, view, task);
        if (!precise && choice.device != SY_NONE && is_hungry(l, view, choice.device)) {
            choice = sy_late_best(l, view, task);
        } else if (!precise) { /* what is held for its inputs' sake can wait for its turn */
            choice.wait_ns = INFINITY;
        }
    }
    if (l->quick && may_commit(l, view, &choice)) { /* never on figures that are old */
        choice = sy_quick_choose(l, view, task, true);
    }
    l->mind_ns[task] = choice.device == SY_NONE ? INFINITY : choice.finish_ns;
    l->mind_round[task] = l->decide_round;
    if (choice.device != SY_NONE) {
        l->longest_travel_ns = fmax(l->longest_travel_ns, choice.travel_ns);
        sy_late_book(l, view, choice.device, choice.finish_ns);
    }
    if (!may_commit(l, view, &choice)) {
        l->window[(*kept)++] = task;
        return 0;
    }
    l->hungry -= is_hungry(l, view, choice.device);
    l->held[choice.device]++;
    l->until_ns[choice.device] = choice.finish_ns;
    l->hungry += is_hungry(l, view, choice.device);
    double wait_ns = l->free_ns[choice.device] - view->now_ns;
    if (!soon_enough(l, view, choice.device, wait_ns, l->usual_travel_ns)) {
        l->room[choice.device] = false;
        --*open;
    }
    sy_late_commit(l, view, task, &choice, ret);
    return 1;
}

/* The world asks again when what was decided is under way: what lies deep can wait for that. */
static bool enough(const struct late *l, uint32_t i) {
    const struct quick *q = l->quick;
    return q && (i >= LATE_PRECISE || q->made >= QUICK_MADE || q->starts >= QUICK_STARTS);
}

static void begin_round(struct late *l, const struct sy_view *view) {
    if (l->net) {
        sy_learned_look(l->net, view, l->window_count + l->ready.count, l->jobs);
    }
    if (l->quick) {
        sy_quick_round(l, view);
    }
    draw_window(l, view);
    l->busy = l->mode.gate && any_running(view);
    l->usual_travel_ns = l->longest_travel_ns;
    l->longest_travel_ns = 0;
}

/* Goes through the window; pushes: also if no device has room. */
static uint32_t bind_window(struct late *l, const struct sy_view *view, uint32_t open, bool pushes,
                            struct sy_decision *ret, uint32_t capacity) {
    uint32_t count = 0, kept = 0, i = 0;
    for (; i < l->window_count && (open || pushes) && count < capacity; i++) {
        if ((i >= LATE_PRECISE && !l->hungry) || (count && enough(l, i))) {
            break;
        }
        count += consider(l, view, l->window[i], i < LATE_PRECISE, &open, &kept, &ret[count]);
    }
    while (i < l->window_count) {
        l->window[kept++] = l->window[i++];
    }
    l->window_count = kept;
    return count;
}

uint32_t sy_late_decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                        uint32_t capacity) {
    struct late *l = s->state;
    bool wait = l->window_count + l->ready.count > 0;
    bool recalls = sy_late_may_recall(l, view);
    if (!wait && !recalls) {
        return 0;
    }
    uint32_t open = look(l, view);
    bool pushes = wait && sy_late_may_push(l, view);
    if (!open && !pushes && !recalls) {
        return 0;
    }
    look_closely(l, view);
    begin_round(l, view);
    l->decide_round++;
    uint32_t count = bind_window(l, view, open, pushes, ret, capacity);
    if (recalls && !count) {
        count = sy_late_recall(l, view, ret, capacity);
    }
    if (pushes && !count) {
        count = sy_late_push(l, view, ret, capacity);
    }
    count += sy_late_send_ahead(l, view, ret + count, capacity - count);
    if (l->quick && !count) {
        sy_quick_renew(l, view);
    }
    return count;
}

static int init_late(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_late_init(s, view, args, sizeof(struct late), (struct late_mode){.locality = true});
}

static int init_hist(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_late_init(s, view, args, sizeof(struct late),
                        (struct late_mode){.locality = true, .history = true});
}

static int init_contention(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_late_init(s, view, args, sizeof(struct late),
                        (struct late_mode){.locality = true, .contention = true});
}

static int init_affinity(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_late_init(s, view, args, sizeof(struct late), (struct late_mode){0});
}

LATE(sy_policy_late, "lb", "late binding: list scheduling, committed when a device has room",
     init_late, false, false);
LATE(sy_policy_late_hist, "lb-hist", "late binding with times corrected by history", init_hist,
     false, false);
LATE(sy_policy_late_contention, "lb-cont",
     "late binding with times corrected for contention seen in the counters", init_contention, true,
     false);
LATE(sy_policy_affinity, "affinity", "late binding by execution time and queue alone",
     init_affinity, false, false);
