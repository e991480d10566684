/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between a scheduler and the world it decides for.
 *
 * The world (the simulator, or the engine) calls; a scheduler never calls back. It sees struct
 * sy_view alone, may keep state of its own, and answers decide() with decisions. The world masks
 * nothing silently: an illegal decision stops the run with an error that names the policy.
 * After init the callbacks must not allocate. Times are nanoseconds, real or virtual: a scheduler
 * cannot tell which.
 */
#ifndef SYMPH_SCHEDULER_H
#define SYMPH_SCHEDULER_H

#include <symph/graph.h>
#include <symph/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sy_task_state {
    SY_TASK_WAITING, /* predecessors are running or waiting */
    SY_TASK_READY,   /* may start as soon as its inputs are there */
    SY_TASK_RUNNING,
    SY_TASK_DONE,
};

/* What the world knows of a device right now. */
struct sy_view_device {
    uint32_t queue_length; /* committed, not yet started */
    uint32_t running;      /* task, or SY_NONE */
    uint32_t image;      /* kernel whose image an FPGA region holds; SY_NONE: empty or no region */
    uint32_t last_image; /* the image it will hold once its queue is done */
    bool lost;           /* takes no work now */
    bool preemptible;    /* SY_PREEMPT may push aside what runs now */
    uint32_t suspended;  /* tasks that were pushed aside, and go on when what runs has ended */
    double running_end_ns; /* expected end of the running task, from its expected_ns */
    double queued_ns;      /* sum of expected_ns over the queue, and of what suspended ones need */
};

struct sy_view_job {
    uint32_t first_task;
    uint32_t task_count;
    uint32_t tenant;
    double weight;
    double arrive_ns;
    double isolated_ns; /* lower bound of its makespan alone on this machine */
    uint32_t tasks_left;
    double work_left_ns; /* sum over unfinished tasks of the time on their fastest class */
};

/* Traffic of a shared resource, as far as the world can tell. Raw (view->posterior false): the last
 * reading of its counter, multiplexed, noisy, old. Otherwise: what is believed to flow now. */
struct sy_reading {
    double bytes_per_s;        /* 0 until first seen */
    double at_ns;              /* end of the window it was taken over; negative: never seen */
    double sd_bytes_per_s;     /* standard deviation of the rate; NAN: not known */
    double others_bytes_per_s; /* of the rate, what this world's tasks and copies are not the cause
                                  of; NAN: not told apart */
};

/* The hidden state. NULL for every policy but those with needs_truth. */
struct sy_truth {
    const double *others_bytes_per_s; /* per resource: what flows now and is not of this world */
    const double *task_factor;        /* true time / estimated time, isolated, per task */
    const double *kernel_factor;      /* [kernel * class_count + class] error of the cost model */
    /* Speed (0..1] a task would have on a device beside what its siblings execute now, and the
     * extra share of time those siblings would need because of it. */
    double (*speed)(void *world, uint32_t device, uint32_t task);
    double (*disturbance)(void *world, uint32_t device, uint32_t task);
    const double *device_free_ns; /* when the running task will end at its present speed */
    void *world;
};

struct sy_view {
    double now_ns;
    const struct sy_machine *machine;
    const struct sy_view_device *devices;

    /* Tasks of all jobs that have arrived have consecutive indices within their job. */
    uint32_t job_count;     /* arrived so far; a job keeps its index when it leaves */
    uint32_t task_capacity; /* no task index will reach it */
    uint32_t job_capacity;
    uint32_t kernel_count;
    const struct sy_view_job *jobs;
    const uint32_t *task_job;
    const uint32_t *task_kernel;
    const uint8_t *task_state;   /* enum sy_task_state */
    const uint32_t *task_device; /* where it is committed; SY_NONE: nowhere */
    /* Successors of t are succ[succ_start[t]] .. succ[succ_start[t + 1] - 1]; likewise below. */
    const uint32_t *succ_start;
    const uint32_t *succ;
    const uint32_t *pred_start;
    const uint32_t *pred;
    const uint32_t *access_start;
    const struct sy_access *access;
    const uint32_t *access_producer; /* the task that wrote what it reads; SY_NONE: nobody */
    const uint32_t *order;           /* topological within each job, from its first_task on */

    /* Cost estimates, isolated. */
    const double *time_ns;            /* [task * class_count + class]; INFINITY: no variant */
    const double *best_ns;            /* per task, on its fastest class */
    const double *log_sigma;          /* [kernel * class_count + class] spread of the logarithm */
    const double *demand_bytes_per_s; /* [kernel * class_count + class], own memory */
    const double *link_demand_bytes_per_s; /* [kernel * class_count + class], link to the host */
    const double *image_ns; /* [kernel * board_count + board] to configure a region for a kernel */
    /* [kernel * device_count + device] how much longer a task takes there because of others, for
     * whoever plans ahead; NULL: not known. Policies set it in copies of a view, worlds do not. */
    const double *slowdown;

    /* Data. */
    const double *data_bytes;
    const uint64_t *data_valid;    /* bit m: memory m holds the present version */
    const uint64_t *data_inflight; /* bit m: on its way to memory m */

    bool shared_links;                 /* copies that cross the same resource slow each other */
    const struct sy_reading *readings; /* per resource; NULL: this world has no counters */
    bool posterior; /* readings are a belief about the rates now: there is nothing to smooth */
    const struct sy_truth *truth;
};

enum sy_decision_kind { SY_RUN, SY_RECONFIGURE, SY_FETCH, SY_PREEMPT, SY_RECALL };

/* What made a policy decide so, for the record alone. A policy that has nothing to say leaves all
 * 0.
 */
enum sy_guard {
    SY_GUARD_NONE,     /* the heuristic alone decided */
    SY_GUARD_TRUSTED,  /* the network's correction counted */
    SY_GUARD_BOUNDED,  /* it was cut to what the guard allows */
    SY_GUARD_FALLBACK, /* it was set aside: the heuristic decided */
    SY_GUARD_PLAN,     /* a plan for the whole job was followed */
};
struct sy_reason {
    enum sy_guard guard;
    float finish_ns;     /* from now, as the heuristic predicts it */
    float correction_ns; /* what the network adds to the heuristic's score */
    float slowdown;      /* expected from contention, 1: none; 0: not looked at */
    float slowdown_sd;
    float utilisation; /* believed, of the busiest resource the task would use; 0..1 */
};

/* SY_RUN: run task on device, queued behind what has a higher or equal priority there. A task may
 * be committed before it is ready: it starts once it is, in its turn, and its inputs are fetched as
 * they appear. SY_RECONFIGURE: put the image of a kernel into an FPGA region that is idle.
 * SY_FETCH: bring what exists of the task's inputs into the device's memory and commit nothing.
 * SY_PREEMPT: like SY_RUN, for a task that is ready, on a device that is preemptible, and before
 * all that waits there: once the task's inputs are there, what runs is pushed aside, and goes on by
 * itself afterwards.
 * SY_RECALL: take back a task that is committed to the device and has not begun: it is nobody's
 * again, and if it is ready, task_ready says so once more. Copies under way arrive all the same. A
 * world whose device has turned to it meanwhile leaves it there. */
struct sy_decision {
    enum sy_decision_kind kind;
    uint32_t task; /* SY_RECONFIGURE: the kernel */
    uint32_t device;
    double priority;    /* larger runs first; equal: in order of commitment */
    double expected_ns; /* predicted execution, for the device's queue estimate */
    struct sy_reason reason;
};

struct sy_scheduler;
struct sy_policy_setup; /* private to the policies that come with symph, as is this: */
struct sy_policy_net;

/* All callbacks but init and decide may be NULL. In a live world a job may be announced of which
 * some tasks already run or have ended: job_arrived sees all of them waiting, decide their state.
 */
struct sy_scheduler_ops {
    const char *name;
    const char *summary;
    bool needs_truth;    /* view->truth is set: a yardstick, no scheduler */
    bool needs_readings; /* wants counters: view->readings is set where the world has any */
    bool takes_number;   /* NAME:N sets its effort: a search, not meant to be made in time */
    const struct sy_policy_net *net; /* of a learned policy that comes with symph; else NULL */
    /* Allocates state; args is what stood behind the name ("" if nothing). 0 or negative errno. */
    int (*init)(struct sy_scheduler *scheduler, const struct sy_view *view, const char *args);
    void (*finish)(struct sy_scheduler *scheduler);
    void (*job_arrived)(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t job);
    void (*job_left)(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t job);
    /* Also called for a task that was recalled, or comes back from a lost device. */
    void (*task_ready)(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task);
    void (*task_done)(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task,
                      uint32_t device, double duration_ns);
    void (*device_lost)(struct sy_scheduler *scheduler, const struct sy_view *view,
                        uint32_t device);
    void (*device_returned)(struct sy_scheduler *scheduler, const struct sy_view *view,
                            uint32_t device);
    /* Fills at most capacity decisions and returns how many. They are carried out, then it is asked
     * again, until it answers 0: wait. */
    uint32_t (*decide)(struct sy_scheduler *scheduler, const struct sy_view *view,
                       struct sy_decision *ret_decisions, uint32_t capacity);
};

struct sy_scheduler {
    const struct sy_scheduler_ops *ops;
    void *state;
    uint64_t seed;                       /* the only source of randomness a policy may use */
    const struct sy_policy_setup *setup; /* NULL: as its name says, or as shipped */
};

/* A policy in a shared object of its own: `symph simulate --policy ./mine.so,dmdas`. The object
 * needs nothing but this header and says SY_SCHEDULER_PLUGIN(my_ops); once. */
#define SY_SCHEDULER_ABI 5
#define SY_SCHEDULER_PLUGIN(ops)                                                                   \
    SY_API extern const struct sy_scheduler_ops *const sy_scheduler_plugin;                        \
    SY_API extern const uint32_t sy_scheduler_plugin_abi;                                          \
    const struct sy_scheduler_ops *const sy_scheduler_plugin = &(ops);                             \
    const uint32_t sy_scheduler_plugin_abi = SY_SCHEDULER_ABI

/* Finds a policy by name: "dmdas", "lb-hist+srpt", "anneal:2000", "learned@my.weights~guard",
 * "./mine.so". On success *ret_args points behind the name, to what is known to be right: orders,
 * parts, and weights that could be read. NULL if there is none; error then suggests the nearest. */
SY_API const struct sy_scheduler_ops *sy_scheduler_find(const char *name, const char **ret_args,
                                                        struct sy_error *error);
/* The policy to take when nobody names one; "default" finds it too. */
SY_API const char *sy_scheduler_default(void);
/* All registered policies, in a fixed order; NULL past the end. */
SY_API const struct sy_scheduler_ops *sy_scheduler_at(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
