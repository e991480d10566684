/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions: asked for, judged, and carried out when the scheduler's own time is over. In virtual
 * time deciding is free, unless decision_ns is charged for each task placed or taken back, or what
 * the calls of the policy really took. The scheduler is one thread: what it decides waits for all
 * it was busy with before, in order.
 */
#include "world/inside.h"
#include <errno.h>
#include <math.h>

static void refuse(struct sy_world *w, uint32_t task, const char *why) {
    if (!w->failure) {
        w->failure = -EPROTO;
        w->refused_task = task;
        w->refused_why = why;
    }
}

static bool commits(enum sy_decision_kind kind) {
    return kind == SY_RUN || kind == SY_PREEMPT;
}

static const char *illegal_commitment(const struct sy_world *w, const struct sy_decision *d) {
    if (d->kind == SY_PREEMPT && !w->view_devices[d->device].preemptible) {
        return "nothing there can be pushed aside";
    }
    if (d->kind == SY_PREEMPT && w->task_state[d->task] != SY_TASK_READY) {
        return "a task that is not ready pushes nothing aside";
    }
    return isnan(d->priority) || !(d->expected_ns >= 0)
               ? "priority or expected time is not a number"
               : NULL;
}

/* The reason a decision cannot be carried out, or NULL. */
static const char *illegal(const struct sy_world *w, const struct sy_decision *d) {
    if (d->device >= w->machine->device_count) {
        return "no such device";
    }
    uint32_t class_index = w->machine->devices[d->device].class_index;
    if (w->view_devices[d->device].lost) {
        return "the device is lost";
    }
    if (d->kind == SY_RECONFIGURE) {
        if (w->machine->devices[d->device].board == SY_NONE) {
            return "only an FPGA region can be reconfigured";
        }
        if (d->task >= w->view.kernel_count) {
            return "no such kernel";
        }
        return w->devices[d->device].phase == SY_PHASE_IDLE ? NULL : "the region is busy";
    }
    if (d->task >= w->view.task_capacity || w->view.task_job[d->task] >= w->view.job_count) {
        return "no such task has arrived";
    }
    if (d->kind == SY_RECALL) {
        return sy_world_holds(w, d->task, d->device) ? NULL : "it does not wait there";
    }
    if (w->task_device[d->task] != SY_NONE || w->task_state[d->task] > SY_TASK_READY) {
        return "it is committed already";
    }
    if (!isfinite(w->view.time_ns[(size_t)d->task * w->machine->class_count + class_index])) {
        return "its kernel has no variant for that device";
    }
    return commits(d->kind) ? illegal_commitment(w, d) : NULL;
}

static bool is_charged(const struct sy_world *w) {
    return w->charging || w->decision_ns > 0;
}

/* Until the scheduler has come to it. d NULL: it has decided nothing, and is busy all the same. */
static void hold(struct sy_world *w, const struct sy_decision *d) {
    struct sy_world_held *held = &w->held[w->held_count++];
    *held =
        (struct sy_world_held){.at_ns = w->scheduler_free_ns, .task = SY_NONE, .device = SY_NONE};
    if (d) {
        *held = (struct sy_world_held){held->at_ns, d->kind, d->task, d->device};
    }
    if (d && commits(d->kind)) {
        w->task_delayed[d->task] = true;
        w->task_device[d->task] = d->device; /* taken, so that nobody decides it twice */
    }
    if (w->held_count == 1) {
        sy_heap_set(&w->events, w->slot_decision, held->at_ns);
        w->live_events++;
    }
}

/* The device went away while the scheduler was thinking. */
static void take_back(struct sy_world *w, uint32_t task) {
    w->task_device[task] = SY_NONE;
    if (w->task_state[task] == SY_TASK_READY && w->policy->ops->task_ready) {
        w->policy->ops->task_ready(w->policy, &w->view, task);
    }
    w->news = true;
}

static void carry_out(struct sy_world *w, const struct sy_world_held *d) {
    bool lost = w->view_devices[d->device].lost;
    if (commits(d->kind)) {
        w->task_delayed[d->task] = false;
        if (lost) {
            take_back(w, d->task);
        } else if (d->kind == SY_PREEMPT) {
            sy_world_push_aside(w, d->task, d->device);
        } else {
            sy_world_commit(w, d->task, d->device);
        }
    } else if (d->kind == SY_RECALL) {
        sy_world_recall(w, d->task, d->device);
    } else if (d->kind == SY_FETCH && !lost && w->task_state[d->task] <= SY_TASK_READY) {
        sy_world_fetch(w, d->task, w->machine->devices[d->device].memory);
    } else if (d->kind == SY_RECONFIGURE && !lost && w->devices[d->device].phase == SY_PHASE_IDLE) {
        sy_world_configure(w, d->device, d->task);
    }
}

void sy_world_decision_due(struct sy_world *w) {
    const struct sy_world_held *due = &w->held[w->held_next++];
    bool last = w->held_next == w->held_count;
    if (last) {
        w->held_next = w->held_count = 0;
        sy_heap_unset(&w->events, w->slot_decision);
        w->live_events--;
    } else {
        sy_heap_set(&w->events, w->slot_decision, w->held[w->held_next].at_ns);
    }
    if (due->device != SY_NONE) {
        w->news |= last; /* it goes on where it was */
        carry_out(w, due);
    }
}

static void decided(struct sy_world *w, const struct sy_decision *d) {
    const char *why = illegal(w, d);
    w->decision_count++;
    if (why) {
        refuse(w, d->kind == SY_RECONFIGURE ? SY_NONE : d->task, why);
        return;
    }
    if (commits(d->kind)) {
        w->task_priority[d->task] = d->kind == SY_PREEMPT ? INFINITY : d->priority;
        w->task_expected_ns[d->task] = d->expected_ns;
    }
    if (commits(d->kind) || d->kind == SY_RECALL) {
        w->scheduler_free_ns += w->decision_ns;
    }
    if (is_charged(w)) {
        hold(w, d);
    } else if (d->kind == SY_RUN) {
        sy_world_commit(w, d->task, d->device);
    } else {
        carry_out(w, &(struct sy_world_held){world_now(w), d->kind, d->task, d->device});
    }
}

void sy_world_ask(struct sy_world *w) {
    struct sy_decision decisions[SY_WORLD_BATCH];
    uint32_t count;
    if (w->held_count) {
        return; /* it is busy, and is asked when it has done with what it decided */
    }
    if (w->hooks.look) {
        sy_world_settle(w);
        w->hooks.look(w->driver);
    }
    do {
        count = w->policy->ops->decide(w->policy, &w->view, decisions, SY_WORLD_BATCH);
        w->scheduler_free_ns = world_now(w) + (w->charging ? w->uncharged_ns : 0);
        w->uncharged_ns = 0;
        for (uint32_t i = 0; i < count && !w->failure; i++) {
            decided(w, &decisions[i]);
        }
    } while (count && !is_charged(w) && !w->failure);
    if (!count && w->scheduler_free_ns > world_now(w)) {
        hold(w, NULL);
    }
    w->news = false;
}
