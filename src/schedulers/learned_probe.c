/* SPDX-License-Identifier: Apache-2.0
 *
 * The learned policy with its alternatives laid open: where it could have decided otherwise, by how
 * much it preferred what it did and how that depends on each weight; and a run in which one such
 * decision is another.
 *
 * In: a probe (scheduler->state at init). Out: crossroads drawn at random, or the forced choice.
 * Never writes what the policy reads, but where it is forced. Invariant: up to the forced decision
 * a run is the same as the one that was recorded. Offline: no run of a user comes here.
 */
#include "schedulers/late_binding.h"
#include "schedulers/schedulers.h"
#include <errno.h>
#include <string.h>

#define MARGIN_MAX 2.0   /* what the policy thinks so much worse is not worth a rollout */
#define RAISED     100.0 /* above all keys */

_Static_assert(LEARNED_COUNT == 3 * LEARNED_FEATURES, "weights are plain, loaded and alone");

struct prober {
    struct late late; /* first: late binding's callbacks take it for theirs */
    struct sy_probe *probe;
    struct learned shadow; /* to ask for features with weights that are all 0 but one */
    float *unit;           /* the weights it is asked with */
    float *task_x;         /* [task * LEARNED_TASK], of those that became ready */
    uint64_t asked;
};

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    struct sy_probe *probe = s->state;
    struct late_mode mode = {.locality = true, .contention = true, .learned = true};
    s->state = NULL; /* it is the caller's: a failure must not end it */
    int code = sy_late_init(s, view, args, sizeof(struct prober), mode);
    if (code) {
        return code;
    }
    struct prober *p = s->state;
    struct sy_arena *arena = p->late.base.arena;
    p->probe = probe;
    p->late.quick = NULL; /* the short way leaves no list of candidates */
    p->unit = sy_arena_alloc(arena, LEARNED_COUNT, sizeof *p->unit);
    p->task_x =
        sy_arena_alloc(arena, (size_t)view->task_capacity * LEARNED_TASK + 1, sizeof *p->task_x);
    if (!p->unit || !p->task_x || !p->late.net) {
        return p->late.net ? -ENOMEM : -EINVAL;
    }
    code = sy_learned_init(&p->shadow, &p->late.base, view);
    p->shadow.block = p->unit;
    probe->count = 0;
    probe->seen = 0;
    return code;
}

static bool is_recording(const struct prober *p) {
    return p->probe->capacity > 0;
}

/* What belongs to a task alone is fixed here, so it is asked for here. */
static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct prober *p = s->state;
    struct learned *shadow = &p->shadow;
    sy_late_task_ready(s, view, task);
    if (!is_recording(p)) {
        return;
    }
    shadow->job_rank = p->late.net->job_rank;
    shadow->job_size = p->late.net->job_size;
    /* The middle third adds what is scaled by load: no constant stands there. */
    for (uint32_t i = 0; i < LEARNED_TASK; i++) {
        p->unit[LEARNED_FEATURES + i] = 1;
        sy_learned_task_ready(shadow, &p->late.base, view, task);
        p->task_x[(size_t)task * LEARNED_TASK + i] = shadow->task_loaded[task];
        p->unit[LEARNED_FEATURES + i] = 0;
    }
}

/* --- features, by asking with one weight at a time ----------------------------------------------
 */
/* Adds sign times the features from first on, as slopes of all their weights. */
static void add_slopes(const struct prober *p, uint32_t first, const float *x, uint32_t count,
                       float sign, float *slopes) {
    const struct learned *net = p->late.net;
    for (uint32_t i = 0; i < count; i++) {
        float *at = slopes + first + i;
        at[0] += sign * x[i];
        at[LEARNED_FEATURES] += sign * (float)net->load * x[i];
        at[2 * LEARNED_FEATURES] += sign * (float)net->alone * x[i];
    }
}

static void pair_slopes(const struct prober *p, const struct sy_view *view, uint32_t task,
                        uint32_t device, const struct learned_terms *terms, float sign,
                        float *slopes) {
    struct learned asked = *p->late.net;
    float x[LEARNED_PAIR];
    memset(asked.weights, 0, sizeof asked.weights);
    for (uint32_t i = 0; i < LEARNED_PAIR; i++) {
        float *weight = &asked.weights[LEARNED_TASK + LEARNED_JOB + i];
        *weight = 1;
        x[i] = (float)sy_learned_score(&asked, &p->late.base, view, task, device, terms);
        *weight = 0;
    }
    add_slopes(p, LEARNED_TASK + LEARNED_JOB, x, LEARNED_PAIR, sign, slopes);
}

static void order_slopes(struct prober *p, const struct sy_view *view, uint32_t task, float sign,
                         float *slopes) {
    struct learned asked = *p->late.net;
    float x[LEARNED_JOB];
    uint32_t job = view->task_job[task];
    memset(asked.weights, 0, sizeof asked.weights);
    asked.job_term = p->shadow.job_term;
    asked.job_short = p->shadow.job_short;
    asked.job_round = p->shadow.job_round;
    for (uint32_t i = 0; i < LEARNED_JOB; i++) {
        asked.weights[LEARNED_TASK + i] = 1;
        asked.job_round[job] = ~asked.round;
        sy_learned_priority(&asked, &p->late.base, view, task);
        x[i] = asked.job_term[job];
        asked.weights[LEARNED_TASK + i] = 0;
    }
    add_slopes(p, LEARNED_TASK, x, LEARNED_JOB, sign, slopes);
    add_slopes(p, 0, p->task_x + (size_t)task * LEARNED_TASK, LEARNED_TASK, sign, slopes);
}

/* --- what else could have been done -------------------------------------------------------------
 */
struct device_choice {
    struct learned_terms terms;
    uint32_t device;
    double score; /* in units of the task's least time */
};

/* The list may still hold what was thought of an earlier task. */
static bool is_of(const struct prober *p, const struct sy_view *view, uint32_t task,
                  const struct late_choice *it) {
    double alone = sy_estimate_time_ns(view, task, it->device);
    double ns = sy_estimate_exec_ns(&p->late.base, view, task, it->device);
    uint32_t memory = view->machine->devices[it->device].memory;
    return isfinite(alone) && fabs(ns + (it->slowdown - 1) * alone - it->exec_ns) <= 1e-6 * ns &&
           sy_estimate_inputs_ns(view, task, memory, NULL) == it->travel_ns;
}

/* All devices that were looked at for the task just decided on; the chosen one comes first. */
static uint32_t list_devices(struct prober *p, const struct sy_view *view, uint32_t task,
                             uint32_t chosen, struct device_choice *ret, uint32_t capacity) {
    const struct late *l = &p->late;
    double least_ns = fmax(view->best_ns[task], 1);
    uint32_t count = 1;
    ret[0].device = SY_NONE;
    for (uint32_t i = 0; i < view->machine->device_count; i++) {
        const struct late_choice *it = &l->candidates[i];
        bool known = it->device == SY_NONE || it->device == ret[0].device;
        for (uint32_t k = 1; k < count && !known; k++) {
            known = ret[k].device == it->device;
        }
        if (known || !is_of(p, view, task, it) || (it->device != chosen && count == capacity)) {
            continue;
        }
        bool own = it->device == chosen;
        struct device_choice *at = own ? ret : &ret[count++];
        at->device = it->device;
        at->terms = (struct learned_terms){.exec_ns = it->exec_ns,
                                           .alone_ns = sy_estimate_time_ns(view, task, it->device),
                                           .travel_ns = it->travel_ns,
                                           .wait_ns = it->wait_ns,
                                           .slowdown = it->slowdown,
                                           .harm_ns = it->harm_ns,
                                           .held = l->held[it->device] - own};
        double more = sy_learned_score(l->net, &l->base, view, task, it->device, &at->terms);
        at->score = it->base_ns / least_ns + fmax(-LATE_BOUND, fmin(more, LATE_BOUND));
    }
    return ret[0].device == SY_NONE ? 0 : count;
}

static void add_devices(struct prober *p, const struct sy_view *view, uint32_t task,
                        uint32_t chosen, uint32_t most, struct sy_crossroads *road) {
    struct device_choice list[32];
    uint32_t count = list_devices(p, view, task, chosen, list, SY_COUNT(list));
    while (road->other_count < most) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++) {
            double margin = list[i].score - list[0].score;
            bool near = margin >= 0 && margin < MARGIN_MAX;
            best = near && (!best || list[i].score < list[best].score) ? i : best;
        }
        if (!best) {
            return;
        }
        struct sy_other *other = &road->others[road->other_count++];
        *other = (struct sy_other){.task = task,
                                   .device = list[best].device,
                                   .margin = list[best].score - list[0].score,
                                   .slopes = other->slopes};
        memset(other->slopes, 0, LEARNED_COUNT * sizeof *other->slopes);
        pair_slopes(p, view, task, list[best].device, &list[best].terms, 1, other->slopes);
        pair_slopes(p, view, task, list[0].device, &list[0].terms, -1, other->slopes);
        list[best].score = INFINITY;
    }
}

/* The next task of another kind that could have had the device. */
static void add_task(struct prober *p, const struct sy_view *view, uint32_t task, uint32_t chosen,
                     struct sy_crossroads *road) {
    const struct late *l = &p->late;
    for (uint32_t i = 0; i < l->window_count; i++) {
        uint32_t next = l->window[i];
        double margin = l->key[task] - l->key[next];
        bool alike = view->task_kernel[next] == view->task_kernel[task] &&
                     view->task_job[next] == view->task_job[task];
        if (alike || !(margin >= 0) || !isfinite(sy_estimate_time_ns(view, next, chosen))) {
            continue;
        }
        if (margin < MARGIN_MAX) {
            struct sy_other *other = &road->others[road->other_count++];
            *other = (struct sy_other){
                .task = next, .device = SY_NONE, .margin = margin, .slopes = other->slopes};
            memset(other->slopes, 0, LEARNED_COUNT * sizeof *other->slopes);
            order_slopes(p, view, task, 1, other->slopes);
            order_slopes(p, view, next, -1, other->slopes);
        }
        return;
    }
}

/* Every crossroads has the same chance to be among those kept (Vitter's reservoir). */
static void record(struct prober *p, const struct sy_view *view,
                   const struct sy_decision *decision) {
    struct sy_probe *probe = p->probe;
    struct sy_crossroads *spare = &probe->roads[probe->capacity];
    spare->asked = p->asked;
    spare->other_count = 0;
    if (p->late.doubtful || probe->other_capacity < 2) {
        return;
    }
    add_devices(p, view, decision->task, decision->device, probe->other_capacity - 1, spare);
    add_task(p, view, decision->task, decision->device, spare);
    if (!spare->other_count) {
        return;
    }
    uint64_t place = probe->seen++;
    if (place >= probe->capacity) {
        place = (uint64_t)(sy_rng_uniform(&probe->rng) * (double)probe->seen);
    } else {
        probe->count++;
    }
    if (place < probe->capacity) { /* slopes have places of their own: they are exchanged too */
        struct sy_crossroads swap = probe->roads[place];
        probe->roads[place] = *spare;
        *spare = swap;
    }
}

/* --- one decision is another --------------------------------------------------------------------
 */
/* The task goes to the front of the window, or will when it is drawn into it. */
static void raise_task(struct late *l, uint32_t task, double by) {
    for (uint32_t i = 0; i < l->window_count; i++) {
        if (l->window[i] == task) {
            l->key[task] += by;
            memmove(l->window + 1, l->window, i * sizeof *l->window);
            l->window[0] = task;
        }
    }
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct prober *p = s->state;
    struct late *l = &p->late;
    const struct sy_other *forced = &p->probe->forced;
    bool here = p->probe->forced_at == p->asked, first = here && forced->device == SY_NONE;
    float sum = first ? l->net->task_sum[forced->task] : 0;
    for (uint32_t d = 0; is_recording(p) && d < view->machine->device_count; d++) {
        l->candidates[d].device = SY_NONE;
    }
    if (first) {
        l->net->task_sum[forced->task] += (float)RAISED;
        raise_task(l, forced->task, RAISED);
    }
    uint32_t count = sy_late_decide(s, view, ret, capacity ? 1 : 0);
    bool commits = count && (ret->kind == SY_RUN || ret->kind == SY_PREEMPT);
    if (first) {
        l->net->task_sum[forced->task] = sum;
        l->mixed = true;
    } else if (here && commits && ret->task == forced->task) {
        ret->device = forced->device;
        ret->expected_ns = sy_estimate_exec_ns(&l->base, view, ret->task, ret->device);
    }
    if (commits && is_recording(p)) {
        record(p, view, ret);
    }
    p->asked++;
    return count;
}

const struct sy_scheduler_ops sy_policy_probed = {
    .name = "learned",
    .summary = "learned, with its alternatives laid open",
    .needs_readings = true,
    .net = &(const struct sy_policy_net){LEARNED_KIND, LEARNED_SHAPE, LEARNED_COUNT,
                                         SY_PART_BELIEF | SY_PART_GUARD},
    .init = init,
    .finish = sy_policy_finish,
    .job_arrived = sy_late_job_arrived,
    .job_left = sy_late_job_left,
    .task_ready = task_ready,
    .task_done = sy_late_task_done,
    .decide = decide,
};
