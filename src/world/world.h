/* SPDX-License-Identifier: Apache-2.0
 *
 * world: what happens on a machine when decisions are carried out: queues of committed tasks,
 * copies on their way, tasks that become ready, FPGA regions and their one configuration port.
 *
 * A driver owns a world and says where it starts, how long tasks take, and how much of it is
 * modelled: the simulator with hidden durations, fair flows and a trace; a rehearsal inside a
 * policy with guesses. In: a view whose costs and graphs are taken as they are, a policy, options.
 * Out: calls to the policy, a view of its own, and when each task ran. Never knows: whether times
 * are true or guessed; counters; the real clock. Invariants: a device does one thing at a time;
 * events at the same moment have one order; nothing is allocated after init.
 */
#ifndef SY_WORLD_WORLD_H
#define SY_WORLD_WORLD_H

#include "base/heap.h"
#include "cost/cost.h"
#include "trace/trace.h"
#include <symph/scheduler.h>

enum sy_world_phase {
    SY_PHASE_IDLE,
    SY_PHASE_STALLED,   /* holds a task whose inputs are on their way */
    SY_PHASE_PORT_WAIT, /* wants the board's configuration port */
    SY_PHASE_CONFIGURING,
    SY_PHASE_EXECUTING,
};

struct sy_world_device {
    enum sy_world_phase phase;
    uint32_t queue;          /* its first task, or SY_NONE */
    uint32_t port_next;      /* next device waiting for the same port */
    uint32_t pending_kernel; /* a reconfiguration without a task; SY_NONE otherwise */
    uint32_t losses;         /* reasons why it is lost now */
    uint32_t pusher;         /* committed to push aside what runs; SY_NONE */
    uint32_t aside;          /* task that was pushed aside; SY_NONE */
    double aside_work_ns, aside_ran_ns, aside_rest_ns; /* what it has left, and so far; expected,
                                                          less than 0: late */
    double phase_start_ns, stall_ns, lost_at_ns;
    double ran_ns; /* of what executes, before it was pushed aside */
    double speed;  /* 1: tasks take the time they are said to */
};

struct sy_world_board {
    bool busy;
    uint32_t first_waiting, last_waiting; /* devices */
};

struct sy_world_copy {
    uint32_t datum, from, to;
    uint32_t flow; /* SY_NONE: not flowing */
    uint32_t next_of_datum;
    uint32_t next_queued; /* waiting for a channel of the same memory; also the free list */
    uint32_t waiters;     /* first access that waits for it */
    bool stale;           /* overwritten meanwhile: of no use when it arrives */
    bool fetched;         /* ahead of any commitment */
    double start_ns;
};

struct sy_world_access {
    uint32_t copy; /* that it waits for, or SY_NONE */
    uint32_t next; /* waiter of the same copy */
    uint32_t task;
};

struct sy_world_channel {
    uint32_t active, first_queued, last_queued; /* copies into one memory */
};

/* Progress of what a device executes, or of a copy: of a task in nanoseconds alone, of a copy in
 * bytes * 1e9, so that rest / rate is nanoseconds for both. */
struct sy_world_flow {
    double rest, rate, since_ns;
    uint32_t slot;                /* when it ends; SY_NONE: never */
    const struct sy_route *route; /* of a copy; NULL: none flows */
};

/* A decision that waits for the scheduler's own time. */
struct sy_world_held {
    double at_ns;
    enum sy_decision_kind kind;
    uint32_t task, device;
};

/* What the driver wants to know or has a say in; any may be NULL. */
struct sy_world_hooks {
    void (*event)(void *driver, uint32_t slot); /* one of its own slots came up; counted from 0 */
    void (*span)(void *driver, const struct sy_span *span);
    /* Before the policy is told. The device is idle already, and view->devices still names it. */
    void (*task_ended)(void *driver, uint32_t task, uint32_t device, double duration_ns);
    void (*job_ended)(void *driver, uint32_t job);
    /* With flows: speed of what a device executes beside its siblings; and that this may have
     * changed for the siblings of a device (see sy_world_retune). */
    double (*beside)(void *driver, uint32_t device);
    void (*occupied)(void *driver, uint32_t device);
    void (*flows_change)(void *driver); /* they have been constant up to now */
    void (*flows_solved)(void *driver);
    void (*look)(void *driver); /* the policy is about to be asked */
};

struct sy_world_options {
    bool shared; /* tasks and copies are flows that share each resource fairly; or as if alone */
    /* No index of the view will reach these; accesses are counted within a job if it is alone. */
    uint32_t task_capacity, data_capacity, access_capacity, job_capacity;
    uint32_t copy_capacity; /* at least the accesses and fetches that can wait at a time */
    uint32_t fetched_limit; /* copies under way that nobody waits for; further ones are not made */
    uint32_t slot_count;    /* events of the driver */
    uint32_t flow_count;    /* flows of the driver; they do not end by themselves */
    bool accounts;          /* sum up the bytes that each memory holds */
    bool preempts;          /* cores may be told to put one task aside for another */
};

#define SY_WORLD_BATCH 64 /* decisions taken at once */

struct sy_world {
    struct sy_view view; /* what the policy sees */
    const struct sy_machine *machine;
    struct sy_scheduler *policy;
    struct sy_world_hooks hooks;
    void *driver;
    bool shared, preempts;
    /* True over given time per task and per [kernel * class_count + class]; NULL: 1. */
    const double *task_factor, *kernel_factor;

    int failure; /* negative errno: -EPROTO with the refused decision's task and the reason */
    uint32_t refused_task;
    const char *refused_why;
    bool news;          /* something happened that a policy may want to answer */
    uint32_t jobs_left; /* that have not ended */
    uint32_t
        live_events; /* without those that go on for ever: none left and work left = deadlock */
    /* By time. Slots: one per device, one for the next delayed decision, the driver's, the copies'.
     */
    struct sy_heap events;
    uint32_t slot_decision, slot_driver, slot_copy;

    struct sy_view_device *view_devices;
    struct sy_world_device *devices;
    struct sy_world_board *boards;
    struct sy_view_job *jobs;
    uint8_t *task_state;
    bool *task_delayed; /* decided, but the scheduler's own time is not over */
    uint32_t *task_device, *task_pending, *task_missing;
    double *task_priority, *task_expected_ns;
    double *begin_ns, *end_ns; /* per task: busy with it, its configuration included */
    struct sy_queues queues;   /* of committed tasks, one per device */

    struct sy_world_held held[SY_WORLD_BATCH];
    uint32_t held_next, held_count;
    double scheduler_free_ns; /* when it is done with what it was called for */
    double decision_ns;       /* charged for each task placed */
    bool charging;            /* and what the policy's calls took: */
    double uncharged_ns;      /* since the last decision */

    uint64_t *data_valid, *data_inflight;
    uint32_t *data_copies; /* first copy in flight */
    uint32_t
        *data_uses; /* accesses still to come; 0: its memory is free again. NULL: no accounts */
    uint32_t access_first; /* index of the first access that has a place here */
    struct sy_world_access *accesses;
    struct sy_world_copy *copies;
    uint32_t copy_capacity, copy_unused, copy_free;
    uint32_t fetched_count, fetched_limit;
    struct sy_world_channel *channels;
    double *memory_bytes, *memory_peak_bytes; /* NULL: no accounts */

    /* flows: devices, then the driver's, then active copies */
    struct sy_flow_net *net; /* NULL: they are not solved */
    struct sy_world_flow *flows;
    uint32_t flow_driver, flow_copy, flow_count;
    uint32_t *flow_free, flow_free_count;
    bool unsettled; /* rates are to be found again */

    uint64_t event_count, decision_count, transfer_count, reconfigure_count;
    double bytes_moved;
};

/* Takes all memory; hooks and driver are the caller's to set. */
SY_MUST_CHECK int sy_world_init(struct sy_world *world, struct sy_arena *arena,
                                const struct sy_machine *machine,
                                const struct sy_world_options *options);
void sy_world_finish(struct sy_world *world);
/* The view's costs, graphs and time are those of this world from now on; its state is its own. */
void sy_world_see(struct sy_world *world, const struct sy_view *view);
/* Nothing runs, waits or flows. What tasks, data and jobs there are the driver has to say. */
void sy_world_clear(struct sy_world *world);
/* The next moment something happens, all that happens then, and what the policy answers. False:
 * nothing will happen any more. */
bool sy_world_step(struct sy_world *world);

/* A job arrives. What its tasks are committed to already (task_device, with priority and expected
 * time) stays so. */
void sy_world_arrive(struct sy_world *world, uint32_t job);
/* A task that is running when this world begins. */
void sy_world_resume(struct sy_world *world, uint32_t device, double work_left_ns);
void sy_world_ask(struct sy_world *world);
void sy_world_lose(struct sy_world *world, uint32_t device);
void sy_world_return(struct sy_world *world, uint32_t device);
void sy_world_end_loss(struct sy_world *world, uint32_t device); /* records it, if it is lost */
/* What the hook beside says of a device may have changed. */
void sy_world_retune(struct sy_world *world, uint32_t device);
/* A flow of the driver, counted from 0, that uses one resource; rate 0 bytes/s: none. */
void sy_world_load(struct sy_world *world, uint32_t flow, uint32_t resource, double bytes_per_s,
                   double weight);
double sy_world_load_rate(const struct sy_world *world, uint32_t flow);
double sy_world_use(const struct sy_world *world, uint32_t resource); /* bytes/s, of all flows */

/* Of a task on a device at speed 1 and undisturbed. */
double sy_world_work_ns(const struct sy_world *world, uint32_t task, uint32_t device);

static inline bool sy_world_executes(const struct sy_world *world, uint32_t device) {
    return world->devices[device].phase == SY_PHASE_EXECUTING;
}
/* Slots of the driver, counted from 0. */
static inline void sy_world_set_event(struct sy_world *world, uint32_t slot, double at_ns) {
    sy_heap_set(&world->events, world->slot_driver + slot, at_ns);
}
static inline void sy_world_remove_event(struct sy_world *world, uint32_t slot) {
    sy_heap_unset(&world->events, world->slot_driver + slot);
}

#endif
