/* SPDX-License-Identifier: Apache-2.0
 *
 * live: the world of symph/scheduler.h in real time.
 *
 * In: what a runtime reports (jobs, tasks ready, started, ended, devices that come and go), with
 * the time. Out: for each device the next task; every decision with its alternatives. Never knows:
 * which runtime, and never asks the clock. Not locked: its owner is. Invariant: a task that a
 * policy commits is handed out once, by the device it was committed to, and only when it is ready.
 *
 * Indices only grow: a world has room for so many tasks, and when it is full, or when more is known
 * of what lies ahead, its owner makes another one and moves over (sy_live_restore).
 */
#ifndef SY_ENGINE_LIVE_H
#define SY_ENGINE_LIVE_H

#include "engine/engine.h"
#include "nets/nets.h"

#define SY_LIVE_KERNELS 256 /* kernels beyond are all counted as the last one */

struct sy_live_access {
    uint32_t datum;
    uint32_t mode;
    uint32_t producer; /* task of the same job that wrote what is read; SY_NONE: nobody in it */
};

struct sy_live_task {
    uint32_t kernel;
    const struct sy_live_access *accesses;
    uint32_t access_count;
    const uint32_t *preds; /* tasks of the same job */
    uint32_t pred_count;
    const double *time_ns; /* per class */
};

struct sy_live_options {
    const struct sy_machine *machine; /* must outlive the world */
    const char *policy;
    uint64_t seed;
    uint32_t task_capacity;
    uint64_t number; /* the owner's name for this world */
    bool explain;    /* work out the alternatives of every decision */
    bool preempts;   /* a core puts aside what it runs, for a task that is handed to it so */
    const struct sy_reading *readings;   /* per resource, kept up to date by the owner; for policies
                                            that want them. NULL: there are none */
    const struct sy_policy_setup *setup; /* of learned policies; NULL: as their names say */
};

struct sy_live;

/* Refuses policies that do not exist or need the hidden state. */
SY_MUST_CHECK int sy_live_create(const struct sy_live_options *options, struct sy_live **ret_live,
                                 struct sy_error *error);
void sy_live_destroy(struct sy_live *live);
/* The same for a policy alone, and opens the weights that its name asks for, so that worlds made
 * later need no file: *ret_name is the name without them, to be freed. Without any, the weights'
 * memory is NULL. */
SY_MUST_CHECK int sy_live_open_policy(const char *policy, char **ret_name,
                                      struct sy_weights *ret_weights, struct sy_error *error);

/* Whether it would look at readings. */
bool sy_live_wants_readings(const char *policy);

const struct sy_view *sy_live_view(const struct sy_live *live);
uint64_t sy_live_number(const struct sy_live *live);
void sy_live_clock(struct sy_live *live, double now_ns);
uint32_t sy_live_room(const struct sy_live *live); /* tasks that still fit */
/* What went wrong: an illegal decision, or no memory. NULL: nothing. */
const char *sy_live_failure(const struct sy_live *live);

/* --- data, kernels, jobs ------------------------------------------------------------------------
 * All add functions return an index, or SY_NONE when out of memory. */
uint32_t sy_live_add_datum(struct sy_live *live, double bytes, uint64_t valid);
void sy_live_set_valid(struct sy_live *live, uint32_t datum, uint64_t valid);
void sy_live_set_kernel(struct sy_live *live, uint32_t kernel, uint32_t class_index,
                        double log_sigma);
/* One job at a time: begin, its tasks in an order that respects precedence, lay or end. */
void sy_live_begin_job(struct sy_live *live, uint32_t tenant, double weight);
/* Of the job that was begun last, if somebody knows: when it came, how long it takes alone. 0: not
 * told; then it comes now, and takes what its tasks here would. */
void sy_live_tell_job(struct sy_live *live, double arrive_ns, double isolated_ns);
uint32_t sy_live_add_task(struct sy_live *live, const struct sy_live_task *task);
void sy_live_lay_job(struct sy_live *live);
/* Tells the policy of all jobs that were laid since; it now works out ranks or plans: this may take
 * its time. */
void sy_live_announce(struct sy_live *live);
/* Both. */
void sy_live_end_job(struct sy_live *live);
void sy_live_set_times(struct sy_live *live, uint32_t task, const double *time_ns);

/* --- events ------------------------------------------------------------------------------------
 */
void sy_live_ready(struct sy_live *live, uint32_t task);
/* It began on that device, whether the policy or somebody else put it there. */
void sy_live_started(struct sy_live *live, uint32_t task, uint32_t device);
void sy_live_done(struct sy_live *live, uint32_t task, double duration_ns);
/* It will run without the policy, which has not committed it and does not know that it is ready: to
 * the world it is over. */
void sy_live_withdraw(struct sy_live *live, uint32_t task);
/* What was committed to a lost device is ready again. */
void sy_live_lost(struct sy_live *live, uint32_t device, bool lost);

/* Into a new world, from the one before: a task that is already ended, committed or running. No
 * callback but that of readiness is made. */
enum sy_restore {
    SY_RESTORE_READY,
    SY_RESTORE_COMMITTED,
    SY_RESTORE_HANDED,
    SY_RESTORE_RUNNING,
    SY_RESTORE_DONE,
    SY_RESTORE_PUSHING, /* handed, to push aside what runs; */
    SY_RESTORE_PUSHED   /* it has, and runs */
};
void sy_live_restore(struct sy_live *live, uint32_t task, enum sy_restore state, uint32_t device,
                     double priority, double expected_ns);
/* The devices' load, likewise. */
void sy_live_restore_load(struct sy_live *live, const struct sy_live *old);

/* --- decisions ---------------------------------------------------------------------------------
 */
/* Asks the policy until it has nothing more to say. told is called for each task that is now
 * committed and ready, and for each fetch (fetch true); taken_back for one that is ready and
 * nobody's again; decided, if not NULL, for every decision when options.explain. */
struct sy_live_listener {
    void *context;
    void (*told)(void *context, uint32_t task, uint32_t device, bool fetch);
    void (*taken_back)(void *context, uint32_t task);
    void (*decided)(void *context, const struct sy_decided *decided);
    /* Instead of told: it is handed to its device, which puts aside what runs once the task begins,
     * and goes on with that when it has ended. NULL where worlds do not preempt. */
    void (*pushed)(void *context, uint32_t task, uint32_t device);
};
void sy_live_decide(struct sy_live *live, const struct sy_live_listener *listener);
/* The first task of the device's queue that is ready, without removing it; SY_NONE: none. */
uint32_t sy_live_first(const struct sy_live *live, uint32_t device);
/* Commits a waiting task to another device than the policy said, which cannot run it. */
void sy_live_move(struct sy_live *live, uint32_t task, uint32_t device);
/* Hands that task to its device, which has not begun it: it counts as queued, and only
 * sy_live_recall takes it back. SY_NONE: none is ready. */
uint32_t sy_live_hand(struct sy_live *live, uint32_t device);
/* The device turns to a task that was handed to it; it is ready again, and nobody's. */
void sy_live_begin(struct sy_live *live, uint32_t task);
void sy_live_recall(struct sy_live *live, uint32_t task);
double sy_live_expected_ns(const struct sy_live *live, uint32_t task);
double sy_live_priority(const struct sy_live *live, uint32_t task);

#endif
