/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions: asked for, judged, and carried out when the scheduler's own time is over. In virtual
 * time deciding is free, unless options.decision_ns charges each task placed, or options.charge
 * what the calls of the policy really took. The scheduler is one thread: what it decides waits for
 * all it was busy with before, in order.
 */
#include "sim/state.h"
#include <errno.h>
#include <math.h>

static void refuse(struct sy_sim *sim, uint32_t task, const char *why) {
    char name[96];
    if (!sim->failure) {
        sim->failure = sy_fail(
            sim->error, -EPROTO, "policy %s decided the impossible for %s: %s", sim->policy,
            task < sim->w->task_count ? sy_workload_task_name(sim->w, task, name, sizeof name)
                                      : "no task",
            why);
    }
}

/* The reason a decision cannot be carried out, or NULL. */
static const char *illegal(const struct sy_sim *sim, const struct sy_decision *d) {
    if (d->device >= sim->machine->device_count) {
        return "no such device";
    }
    uint32_t class_index = sim->machine->devices[d->device].class_index;
    if (sim->view_devices[d->device].lost) {
        return "the device is lost";
    }
    if (d->kind == SY_RECONFIGURE) {
        if (sim->machine->devices[d->device].board == SY_NONE) {
            return "only an FPGA region can be reconfigured";
        }
        if (d->task >= sim->w->kernel_count) {
            return "no such kernel";
        }
        return sim->devices[d->device].phase == IDLE ? NULL : "the region is busy";
    }
    if (d->task >= sim->w->task_count || sim->w->task_job[d->task] >= sim->next_job) {
        return "no such task has arrived";
    }
    if (sim->task_device[d->task] != SY_NONE || sim->task_state[d->task] > SY_TASK_READY) {
        return "it is committed already";
    }
    if (!isfinite(sim->w->time_ns[(size_t)d->task * sim->w->class_count + class_index])) {
        return "its kernel has no variant for that device";
    }
    if (d->kind == SY_FETCH) {
        return NULL;
    }
    return isnan(d->priority) || !(d->expected_ns >= 0)
               ? "priority or expected time is not a number"
               : NULL;
}

static bool is_charged(const struct sy_sim *sim) {
    return sim->charging || sim->options.decision_ns > 0;
}

/* Until the scheduler has come to it. d NULL: it has decided nothing, and is busy all the same. */
static void hold(struct sy_sim *sim, const struct sy_decision *d) {
    struct held *held = &sim->held[sim->held_count++];
    *held = (struct held){.at_ns = sim->scheduler_free_ns, .task = SY_NONE, .device = SY_NONE};
    if (d) {
        *held = (struct held){held->at_ns, d->kind, d->task, d->device};
    }
    if (d && d->kind == SY_RUN) {
        sim->task_delayed[d->task] = true;
        sim->task_device[d->task] = d->device; /* taken, so that nobody decides it twice */
    }
    if (sim->held_count == 1) {
        sy_heap_set(&sim->heap, sim->slot_decision, held->at_ns);
        sim->live_events++;
    }
}

/* The device went away while the scheduler was thinking. */
static void take_back(struct sy_sim *sim, uint32_t task) {
    sim->task_device[task] = SY_NONE;
    if (sim->task_state[task] == SY_TASK_READY && sim->scheduler.ops->task_ready) {
        sim->scheduler.ops->task_ready(&sim->scheduler, &sim->view, task);
    }
    sim->news = true;
}

static void carry_out(struct sy_sim *sim, const struct held *d) {
    bool lost = sim->view_devices[d->device].lost;
    if (d->kind == SY_RUN) {
        sim->task_delayed[d->task] = false;
        if (lost) {
            take_back(sim, d->task);
        } else {
            sy_sim_commit(sim, d->task, d->device, sim->task_priority[d->task],
                          sim->task_expected_ns[d->task]);
        }
    } else if (d->kind == SY_FETCH && !lost && sim->task_state[d->task] <= SY_TASK_READY) {
        sy_sim_fetch(sim, d->task, sim->machine->devices[d->device].memory);
    } else if (d->kind == SY_RECONFIGURE && !lost && sim->devices[d->device].phase == IDLE) {
        sy_sim_configure(sim, d->device, d->task);
    }
}

void sy_sim_decisions_due(struct sy_sim *sim) {
    const struct held *due = &sim->held[sim->held_next++];
    bool last = sim->held_next == sim->held_count;
    if (last) {
        sim->held_next = sim->held_count = 0;
        sy_heap_remove(&sim->heap, sim->slot_decision);
        sim->live_events--;
    } else {
        sy_heap_set(&sim->heap, sim->slot_decision, sim->held[sim->held_next].at_ns);
    }
    if (due->device != SY_NONE) {
        sim->news |= last; /* it goes on where it was */
        carry_out(sim, due);
    }
}

static void decided(struct sy_sim *sim, const struct sy_decision *d) {
    const char *why = illegal(sim, d);
    sim->decision_count++;
    if (why) {
        refuse(sim, d->kind == SY_RECONFIGURE ? SY_NONE : d->task, why);
        return;
    }
    if (d->kind == SY_RUN) {
        sim->task_priority[d->task] = d->priority;
        sim->task_expected_ns[d->task] = d->expected_ns;
        sim->scheduler_free_ns += sim->options.decision_ns;
    }
    if (is_charged(sim)) {
        hold(sim, d);
    } else {
        carry_out(sim, &(struct held){sim_now(sim), d->kind, d->task, d->device});
    }
}

void sy_sim_ask(struct sy_sim *sim) {
    struct sy_decision decisions[SY_SIM_BATCH];
    uint32_t count;
    if (sim->held_count) {
        return; /* it is busy, and is asked when it has done with what it decided */
    }
    if (sim->net) {
        sy_sim_flow_update(sim);
        if (sim->view.readings) {
            sy_sim_sense(sim);
        }
    }
    do {
        count = sim->scheduler.ops->decide(&sim->scheduler, &sim->view, decisions, SY_SIM_BATCH);
        sim->scheduler_free_ns = sim_now(sim) + (sim->charging ? sim->uncharged_ns : 0);
        sim->uncharged_ns = 0;
        for (uint32_t i = 0; i < count && !sim->failure; i++) {
            decided(sim, &decisions[i]);
        }
    } while (count && !is_charged(sim) && !sim->failure);
    if (!count && sim->scheduler_free_ns > sim_now(sim)) {
        hold(sim, NULL);
    }
    sim->news = false;
}
