/* SPDX-License-Identifier: Apache-2.0
 *
 * Late binding's state, shared by its variants and by the one that improves it with rollouts.
 */
#ifndef SY_SCHEDULERS_LATE_BINDING_H
#define SY_SCHEDULERS_LATE_BINDING_H

#include "schedulers/late_scores.h"
#include "schedulers/learned.h"
#include "schedulers/policy.h"
#include "schedulers/sharing.h"

#define LATE_WINDOW  128 /* ready tasks looked at in one round */
#define LATE_PRECISE 24  /* of them, with their data; the others only to see who will be busy */

/* The window is sorted anew when a job's key has shifted by so much (of its logarithm), and every
 * so many decisions. */
#define LATE_SHIFT 0.02
#define LATE_KEEP  16

#define LATE_KERNELS 64 /* of which it is remembered what sharing does to them */

#define LATE_DEPTH 32 /* tasks a device may hold while their inputs travel */
/* What a device holds should last so long, since to hand out a task takes a runtime microseconds,
 * and to launch it on an accelerator tens of them. */
#define LATE_CORE_NS        20e3
#define LATE_ACCELERATOR_NS 200e3
/* An accelerator holds a second task while what it holds ends within a hundred times what it should
 * last anyway: without one, it would idle for 1 % of the time. And while that ends within so many
 * times what inputs need to travel, since they shall travel meanwhile, beside the copies of others,
 * and nobody asks again before something ends. No longer: a second task keeps out those whose turn
 * comes sooner when the first one ends. */
#define LATE_SECOND_NS (100 * LATE_ACCELERATOR_NS)
#define LATE_TRAVELS   8
/* Second tasks of an accelerator that are remembered, to be taken back. */
#define LATE_QUEUED 4

/* Where copies disturb each other, those of a task hold up the ones behind them: that much of the
 * time that its inputs travel counts against a device. With one accelerator nobody waits but
 * itself. */
#define LATE_BURDEN 2.0

/* The network may prefer a device by so many of the task's least times, and never one that the
 * heuristic thinks so much worse than its own choice. */
#define LATE_BOUND 4.0
/* It learned in worlds where durations were seldom off by a factor of two. Where they are off by
 * more than e, on average over some dozen tasks, what it knows is of another world. */
#define LATE_DOUBT 1.0
#define LATE_TRUST 0.7
#define LATE_TASKS 32
/* Nor does it pay where jobs differ in length by more than in most of those worlds: the spread of
 * the logarithms of their times alone, over about so many jobs. */
#define LATE_WIDE 1.2
#define LATE_JOBS 16

struct late_mode {
    bool locality, history, contention, gate;
    bool learned; /* corrected by a network, where there are weights; short jobs first */
};

/* Devices that a task cannot tell apart but for when they are free: only the first to be free can
 * be chosen, so only it is looked at. */
struct alike {
    uint32_t class_index, memory, image, beside;
    uint32_t first_free;
};

struct late_choice {
    uint32_t device;
    double score_ns, finish_ns, exec_ns;
    double travel_ns; /* of its inputs, alone on their way: how early to commit is not a matter of
                         how full the way is, or a loaded link would end late binding */
    double wait_ns;   /* until the device is free */
    double slowdown, slowdown_sd, harm_ns;
    double base_ns; /* the score without the network's correction */
    enum sy_guard guard;
};

/* What sharing would do to a kernel on a group of devices; holds for one look. */
struct slowing {
    uint64_t round;
    uint32_t kernel;
    struct sy_slowing is;
};

/* Inputs that were sent for and have not arrived, in that order; those beyond are not counted. */
#define LATE_ON_WAY 32
struct late_way {
    uint32_t data[LATE_ON_WAY], count;
    double due_ns[LATE_ON_WAY];
};

/* Tasks that were committed to a device and had not begun when last looked at. */
struct late_queued {
    uint32_t task[LATE_QUEUED], count;
    double exec_ns[LATE_QUEUED];
};

/* Tasks that share heavy data; late_together.c. */
struct late_together {
    uint32_t *parent;   /* per task: that stands for its group, */
    uint32_t *next;     /* the next of its group, in a ring, */
    uint32_t *last;     /* and if it stands for a group, the last of that */
    uint64_t *memories; /* per task: bit set of those that it may run beside */
};

struct late {
    struct policy base;
    struct late_mode mode;
    struct pool ready;
    uint32_t window[LATE_WINDOW], window_count;
    double *key;     /* per task, of those in the window */
    double *job_key; /* per job, of the round that job_round says */
    uint64_t *job_round, round;
    uint32_t rounds_kept; /* decisions since the window was sorted */
    double *free_ns;      /* per device, in the schedule in mind */
    double *until_ns;     /* per device: when what it holds, and what was just decided, ends */
    uint32_t *held;       /* per device: tasks running, queued or decided */
    bool *room;           /* per device */
    uint32_t hungry;      /* devices with room that hold less than they need to go on */
    uint32_t *waiting;    /* per class: tasks in pool and window that it could run */
    struct alike *alike;
    uint32_t alike_count;
    uint32_t *alike_of;      /* per device */
    const double *scale;     /* per task, of its rank; NULL: 1 */
    const double *behind_ns; /* [task * class_count + class]: must still follow it; NULL: 0 */
    struct late_together *together; /* NULL: each task goes where it likes */
    uint32_t jobs;                  /* that have arrived and not left */
    bool mixed;                     /* the window's keys were given under another number of jobs */
    double longest_travel_ns;       /* of the inputs of the tasks looked at last time */
    double usual_travel_ns;         /* the longest of the round before */
    double least;                   /* no task takes less than this share of its given time */
    /* Per task: behind a gate the memory that its inputs were sent to, + 1; else whether it was
     * looked at for inputs to be sent ahead. */
    uint32_t *fetched;
    double *mind_ns;      /* per task of the window: when it ends in the schedule in mind, */
    uint64_t *mind_round; /* as of that round of decisions */
    uint64_t decide_round;
    bool unseen; /* tasks became ready since it was last asked who could be pushed aside */
    bool busy;   /* something runs: a gate may close */
    struct late_queued *queued; /* per device */
    uint8_t *recalls;           /* per task: how often it was taken back */
    struct sharing sharing;
    struct slowing *slowing; /* [kernel % LATE_KERNELS * device_count + group] */
    uint64_t looks;          /* at what is shared */
    struct late_choice *candidates;
    struct late_way *ways; /* per memory */
    struct learned *net;   /* NULL: the heuristic alone */
    struct quick *quick;   /* NULL: every pair is scored anew */
    double surprise;       /* how far durations were from what was expected, of late: |ln|, mean */
    bool doubtful;         /* too far: the network is not asked until that has passed */
    double length_mean, length_square; /* of jobs of late, of the logarithm of their time alone */
    uint32_t lengths;                  /* how many, at most LATE_JOBS */
};

/* Allocates state of size bytes that begins with struct late. */
SY_MUST_CHECK int sy_late_init(struct sy_scheduler *scheduler, const struct sy_view *view,
                               const char *args, size_t size, struct late_mode mode);
void sy_late_job_arrived(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t job);
void sy_late_job_left(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t job);
void sy_late_task_ready(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task);
void sy_late_task_done(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task,
                       uint32_t device, double duration_ns);
uint32_t sy_late_decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                        struct sy_decision *ret_decisions, uint32_t capacity);

/* Durations, or the mix of jobs, are of another world than that of the network. */
bool sy_late_doubts(const struct late *late);
/* The network may not move the task to another memory than the heuristic's: what it writes could
 * travel for longer than the guard lets the network cost. */
bool sy_late_stays(const struct late *late, const struct sy_view *view, uint32_t task);

static inline double sy_late_burden(const struct sy_view *view) {
    return view->shared_links && view->machine->memory_count > 2 ? LATE_BURDEN : 0;
}

/* How much the time counts that others lose: all of it where they are tasks of the same job. */
static inline double sy_late_harm(const struct late *late) {
    return late->jobs < 2 ? 1 : 0.5;
}

/* What a device holds lasts so short a time that an accelerator takes a second task; travel_ns: of
 * the inputs that would travel longest. */
static inline bool sy_late_ends_soon(double lasts_ns, double travel_ns) {
    return lasts_ns < LATE_SECOND_NS || lasts_ns < LATE_TRAVELS * travel_ns;
}

/* It holds less than it needs to go on: nothing; on an accelerator, where a launch costs time too,
 * one task, if second says that it may have another; or tasks that last for so short a time that
 * handing out the next one would leave it idle. wait_ns: until it is free in the schedule in mind.
 */
bool sy_late_hungry(const struct sy_view *view, uint32_t device, uint32_t held, bool second,
                    double wait_ns);

SY_MUST_CHECK int sy_late_recall_init(struct late *late, const struct sy_view *view);
/* A task was committed, as chosen. */
void sy_late_note_queued(struct late *late, const struct sy_view *view, uint32_t task,
                         const struct late_choice *choice);
/* Something waits behind another task while a device is idle. */
bool sy_late_may_recall(struct late *late, const struct sy_view *view);
/* Takes back what would end sooner on an idle device that nobody else wanted. */
uint32_t sy_late_recall(struct late *late, const struct sy_view *view, struct sy_decision *ret,
                        uint32_t capacity);

SY_MUST_CHECK int sy_late_together_init(struct late_together *together, struct sy_arena *arena,
                                        const struct sy_view *view);
/* Whether data can be on either of two sides: beside cores, and beside accelerators. Not on FPGAs,
 * whose images take longer to load than short tasks take. */
bool sy_late_has_sides(const struct sy_machine *machine);
/* Groups a job's tasks by heavy data, and says where each group may run; false: nothing is heavy.
 For its own use: way_ns, per task, and
 * cost_ns, [task * class_count + class]. */
bool sy_late_keep_together(struct late_together *together, const struct sy_view *view, uint32_t job,
                           double *way_ns, double *cost_ns);
/* A task was committed beside that memory: its group goes there, too. */
void sy_late_together_begun(struct late_together *together, uint32_t task, uint32_t memory);
/* What must still follow a task on each class if all behind it goes to its best place, as in PEFT's
 * table, or where its group may; together: or NULL; [task * class_count + class]. It keeps tasks
 * from going where what they write would have to come back for longer than they gain. */
void sy_late_look_behind(const struct sy_view *view, uint32_t job,
                         const struct late_together *together, double *ret_behind_ns);
/* The job's tasks, one on each core, want more of their memory than it has. */
bool sy_late_crowds(const struct sy_view *view, uint32_t job);

/* Inputs of tasks in the window that shall travel before their task is committed. */
uint32_t sy_late_send_ahead(struct late *late, const struct sy_view *view,
                            struct sy_decision *ret_decisions, uint32_t capacity);

/* Somebody runs on a core whose job comes after one that waits; look() must have been asked. */
bool sy_late_may_push(struct late *late, const struct sy_view *view);
/* Tasks of the window that push aside what runs on a core. */
uint32_t sy_late_push(struct late *late, const struct sy_view *view,
                      struct sy_decision *ret_decisions, uint32_t capacity);
/* The schedule in mind keeps the device busy until then. */
void sy_late_book(struct late *late, const struct sy_view *view, uint32_t device, double until_ns);
/* Where its turn takes the task in that schedule. */
struct late_choice sy_late_best(struct late *late, const struct sy_view *view, uint32_t task);
/* How long inputs travel over links as full as they are, or with the links to themselves. */
double sy_late_inputs_ns(const struct late *late, const struct sy_view *view, uint32_t task,
                         uint32_t memory, bool shared);
/* Out of the window, onto its device. */
void sy_late_commit(struct late *late, const struct sy_view *view, uint32_t task,
                    const struct late_choice *choice, struct sy_decision *ret);

/* Whether what travels to a memory suffices to keep the way busy, if what comes next takes that
 * long. */
bool sy_late_way_is_busy(struct late *late, const struct sy_view *view, uint32_t memory,
                         double next_ns);
/* A task's inputs were sent for, by that or since it was committed. */
void sy_late_sent(struct late *late, const struct sy_view *view, uint32_t task, uint32_t memory);

/* A policy of them; truthful: it is told the hidden state. */
#define LATE(identifier, policy_name, text, start, reads, truthful)                                \
    const struct sy_scheduler_ops identifier = {.name = policy_name,                               \
                                                .summary = text,                                   \
                                                .needs_truth = truthful,                           \
                                                .needs_readings = reads,                           \
                                                .init = start,                                     \
                                                .finish = sy_policy_finish,                        \
                                                .job_arrived = sy_late_job_arrived,                \
                                                .job_left = sy_late_job_left,                      \
                                                .task_ready = sy_late_task_ready,                  \
                                                .task_done = sy_late_task_done,                    \
                                                .decide = sy_late_decide}

#endif
