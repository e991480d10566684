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

#define MARGIN_MAX 2.0 /* what the policy thinks so much worse is not worth a rollout */

_Static_assert(LEARNED_COUNT == 2 * LEARNED_FEATURES, "weights are plain, and times the load");

struct prober {
    struct late late; /* first: late binding's callbacks take it for theirs */
    struct sy_probe *probe;
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
    p->probe = probe;
    p->late.quick = NULL; /* the short way leaves no list of candidates */
    probe->count = 0;
    probe->seen = 0;
    return p->late.net ? 0 : -EINVAL;
}

static bool is_recording(const struct prober *p) {
    return p->probe->capacity > 0;
}

struct device_choice {
    uint32_t device, held;
    double score; /* in units of the task's least time */
};

/* --- features, by asking with one weight at a time ----------------------------------------------
 */
/* Adds sign times the features, as slopes of all their weights. */
static void add_slopes(const struct prober *p, const struct sy_view *view, uint32_t task,
                       const struct device_choice *choice, float sign, float *slopes) {
    struct learned asked = *p->late.net;
    memset(asked.weights, 0, sizeof asked.weights);
    for (uint32_t i = 0; i < LEARNED_FEATURES; i++) {
        asked.weights[i] = sign;
        float x = (float)sy_learned_score(&asked, view, task, choice->device, choice->held);
        asked.weights[i] = 0;
        slopes[i] += x;
        slopes[LEARNED_FEATURES + i] += (float)asked.load * x;
    }
}

/* --- what else could have been done -------------------------------------------------------------
 */
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
        at->held = l->held[it->device] - own;
        double more = sy_learned_score(l->net, view, task, it->device, at->held);
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
        add_slopes(p, view, task, &list[best], 1, other->slopes);
        add_slopes(p, view, task, &list[0], -1, other->slopes);
        list[best].score = INFINITY;
    }
}

/* Every crossroads has the same chance to be among those kept (Vitter's reservoir). */
static void record(struct prober *p, const struct sy_view *view,
                   const struct sy_decision *decision) {
    struct sy_probe *probe = p->probe;
    struct sy_crossroads *spare = &probe->roads[probe->capacity];
    spare->asked = p->asked;
    spare->other_count = 0;
    if (p->late.jobs < 2 || sy_late_doubts(&p->late)) {
        return;
    }
    add_devices(p, view, decision->task, decision->device, probe->other_capacity, spare);
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

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct prober *p = s->state;
    struct late *l = &p->late;
    const struct sy_other *forced = &p->probe->forced;
    bool here = p->probe->forced_at == p->asked;
    for (uint32_t d = 0; is_recording(p) && d < view->machine->device_count; d++) {
        l->candidates[d].device = SY_NONE;
    }
    uint32_t count = sy_late_decide(s, view, ret, capacity ? 1 : 0);
    bool commits = count && (ret->kind == SY_RUN || ret->kind == SY_PREEMPT);
    if (here && commits && ret->task == forced->task) {
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
    .net = &(const struct sy_policy_net){LEARNED_KIND, LEARNED_SHAPE, LEARNED_COUNT, SY_PART_GUARD},
    .init = init,
    .finish = sy_policy_finish,
    .job_arrived = sy_late_job_arrived,
    .job_left = sy_late_job_left,
    .task_ready = sy_late_task_ready,
    .task_done = sy_late_task_done,
    .decide = decide,
};
