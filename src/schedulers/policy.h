/* SPDX-License-Identifier: Apache-2.0
 *
 * schedulers: what the policies share. Ranks, estimates, pools of ready tasks, job orders.
 *
 * In: struct sy_view. Out: decisions. Never knows: whether time is real, what the world does with
 * a decision. Invariant: after init nothing is allocated.
 */
#ifndef SY_SCHEDULERS_POLICY_H
#define SY_SCHEDULERS_POLICY_H

#include "base/heap.h"
#include "cost/cost.h"
#include "schedulers/schedulers.h"
#include <math.h>
#include <symph/scheduler.h>

/* Order between jobs; within a job the policy's own key decides. */
enum order {
    ORDER_NONE,
    ORDER_FIFO,
    ORDER_SRPT,
    ORDER_WSPT,
    ORDER_FAIR,   /* between tenants, by their jobs' weights */
    ORDER_SHARE0, /* between jobs, evenly */
    ORDER_SHARE1, /* between jobs, shares that fall with their work ... */
    ORDER_SHARE2, /* ... and with its square: weighted fair as Mao et al. 2019 tune it */
};

/* Ready tasks by key, largest first: one heap, or one per job under a job order. */
struct pool {
    enum order order;
    bool *inside;                  /* per task: it is in a heap */
    struct sy_heap_entry *entries; /* job j's heap begins at its first task */
    uint32_t *job_count;           /* entries per job; only [0] without a job order */
    uint32_t *active;              /* jobs with entries, under a job order */
    uint32_t active_count, count;
};

struct policy {
    struct sy_arena *arena;
    enum order order;
    uint64_t argument; /* the number behind ':'; 0: none */
    struct sy_rng rng;
    double *rank;           /* upward rank, mean times */
    double *service_ns;     /* per job: given to its tenant (or it) so far, over its weight */
    double served_ns;       /* largest start tag of a task that has ended */
    double *start_tag_ns;   /* per task: its tenant's service when it was decided */
    double *share;          /* per job: what weighted fairness gives it */
    const double *scale;    /* per task, of a rollout: that of a job's first task also moves the job
                               among others; NULL: 1 */
    struct sy_drift *drift; /* [kernel * class_count + class]; NULL: times as given */
    double mean_ns_per_byte, mean_latency_ns; /* between two different devices, on average */
    const struct sy_weights *weights; /* of a learned policy; NULL: none, it is the heuristic */
    uint32_t without;                 /* parts left out: bits of enum sy_policy_part */
    struct sy_weights named;          /* the file behind '@', while it is open */
};

/* Allocates state of size bytes that begins with struct policy, and does what stands behind the
 * name. */
SY_MUST_CHECK int sy_policy_init(struct sy_scheduler *scheduler, const struct sy_view *view,
                                 const char *args, size_t size);
void sy_policy_finish(struct sy_scheduler *scheduler);
SY_MUST_CHECK int sy_policy_use_drift(struct policy *policy, const struct sy_view *view);
/* A task ended: history learns from its duration, fairness from its turn. A whole callback for
 * those who need no more. */
void sy_policy_task_done(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task,
                         uint32_t device, double duration_ns);
void sy_policy_observe(struct policy *policy, const struct sy_view *view, uint32_t task,
                       uint32_t device, double duration_ns);
/* "+srpt" and the like; false if there is no such order. */
bool sy_order_parse(const char *text, size_t length, enum order *ret_order);
const char *sy_order_at(uint32_t index);
/* Larger goes first. */
double sy_order_job_key(const struct policy *policy, const struct sy_view *view, uint32_t job);
/* What a task's own key adds to its job's key: little, however large the one and short the other.
 */
double sy_order_within_job(const struct sy_view *view, uint32_t job, double key_ns);
/* One number for a device queue: the job's key first, then the task's own. */
double sy_order_priority(const struct policy *policy, const struct sy_view *view, uint32_t task,
                         double key_ns);
/* The same for a task that a plan starts at that time: the earlier the sooner. */
double sy_order_planned(const struct policy *policy, const struct sy_view *view, uint32_t task,
                        double start_ns);
/* Weighted fairness is start-time fair queueing (Goyal et al. 1996): a tenant that comes, or comes
 * back, starts level with what is being served, and neither catches up nor is held back. */
void sy_order_arrived(struct policy *policy, const struct sy_view *view, uint32_t job);
/* Tells it what a tenant was given. */
void sy_order_charge(struct policy *policy, const struct sy_view *view, uint32_t task,
                     double expected_ns);

/* --- ranks, for the tasks of one job ---------------------------------------------------------- */
double sy_rank_mean_time_ns(const struct sy_view *view, uint32_t task);
/* Bytes that flow from producer to consumer. */
double sy_rank_edge_bytes(const struct sy_view *view, uint32_t producer, uint32_t consumer);
double sy_rank_edge_ns(const struct policy *policy, const struct sy_view *view, uint32_t producer,
                       uint32_t consumer);
/* HEFT's upward rank (Topcuoglu et al. 2002, eq. 8): mean times and mean transfers. */
void sy_rank_upward(const struct policy *policy, const struct sy_view *view, uint32_t job,
                    double *ret_rank);
/* CPOP's downward rank (eq. 9). */
void sy_rank_downward(const struct policy *policy, const struct sy_view *view, uint32_t job,
                      double *ret_rank);

/* --- estimates ----------------------------------------------------------------------------------
 */
static inline double sy_estimate_time_ns(const struct sy_view *view, uint32_t task,
                                         uint32_t device) {
    const struct sy_machine *m = view->machine;
    double ns = view->time_ns[(size_t)task * m->class_count + m->devices[device].class_index];
    return view->slowdown
               ? ns * view->slowdown[(size_t)view->task_kernel[task] * m->device_count + device]
               : ns;
}
/* Not yet placed by anybody: a live world may announce a job of which parts run or have ended. */
static inline bool sy_task_open(const struct sy_view *view, uint32_t task) {
    return view->task_device[task] == SY_NONE && view->task_state[task] <= SY_TASK_READY;
}
/* When the device will have done what it holds; INFINITY if it is lost. A task that should have
 * ended counts as ended. */
double sy_estimate_free_ns(const struct sy_view *view, uint32_t device);
/* When the running task will end; now if there is none. The later it is already, the longer it may
 * still take. */
double sy_estimate_end_ns(const struct sy_view *view, uint32_t device);
/* From now until the task's inputs could be in that memory, over links that have so much open per
 * resource (NULL: all of it). */
double sy_estimate_inputs_ns(const struct sy_view *view, uint32_t task, uint32_t memory,
                             const double *open_bytes_per_s);
/* Of the inputs that exist, those that are neither there nor on their way; of one of them. */
double sy_estimate_unsent_ns(const struct sy_view *view, uint32_t task, uint32_t memory);
double sy_estimate_unsent_input_ns(const struct sy_view *view, uint32_t access, uint32_t memory);
/* Execution with the drift correction, and the region's reconfiguration if it needs one. */
double sy_estimate_exec_ns(const struct policy *policy, const struct sy_view *view, uint32_t task,
                           uint32_t device);
struct sy_choice {
    uint32_t device;
    double finish_ns, exec_ns;
};
/* Earliest finish over all devices; device SY_NONE if every one that could is lost. */
struct sy_choice sy_estimate_earliest(const struct policy *policy, const struct sy_view *view,
                                      uint32_t task);

/* --- pool
 * ------------------------------------------------------------------------------------------ */
SY_MUST_CHECK int sy_pool_init(struct pool *pool, const struct policy *policy,
                               const struct sy_view *view);
void sy_pool_push(struct pool *pool, const struct sy_view *view, uint32_t task, double key);
/* The best task, or SY_NONE. */
uint32_t sy_pool_peek(const struct pool *pool, const struct policy *policy,
                      const struct sy_view *view);
uint32_t sy_pool_pop(struct pool *pool, const struct policy *policy, const struct sy_view *view);

/* --- static plans: list scheduling of one job with insertion
 * ----------------------------------------- */
struct draft {
    uint32_t *device; /* per task */
    double *start_ns, *end_ns;
    uint32_t *before, *after; /* per task: neighbours on its device */
    uint32_t *first, *last;   /* per device */
    double *base_ns;          /* per device: free for this plan from here on; INFINITY: lost */
    double *planned_ns;       /* per device: end of what earlier plans put there */
    double makespan_ns;
    uint32_t reach; /* tasks that a search for gaps looks back over; 0: all */
};
SY_MUST_CHECK int sy_draft_take(struct draft *plan, struct sy_arena *arena,
                                const struct sy_view *view);
/* Forgets what was planned; devices are free when their queues are. */
void sy_draft_begin(struct draft *plan, const struct sy_view *view);
/* A task that nobody is asked about: it is committed, runs or has ended. */
static inline bool sy_draft_settled(const struct sy_view *view, uint32_t task) {
    return view->task_device[task] != SY_NONE || view->task_state[task] >= SY_TASK_RUNNING;
}
/* One that waits to be placed now. */
static inline bool sy_draft_takeable(const struct sy_view *view, uint32_t task) {
    return view->task_state[task] == SY_TASK_READY && view->task_device[task] == SY_NONE;
}
/* Where it is and when it ends, for those that are planned behind it; it stands in no sequence. */
void sy_draft_settle(struct draft *plan, const struct sy_view *view, uint32_t task);
/* The predecessors that are to be planned before it. */
uint32_t sy_draft_unplanned(const struct sy_view *view, uint32_t task);
/* Later plans start behind this one. */
void sy_draft_keep(struct draft *plan, const struct sy_view *view);
/* When the inputs of a task can be in a memory, its predecessors being planned. */
double sy_draft_inputs_ns(const struct draft *plan, const struct sy_view *view, uint32_t task,
                          uint32_t memory);
/* Earliest start of a task of that length on the device, in a gap if one fits. *ret_before: the
 * planned task it goes behind, or SY_NONE. */
double sy_draft_slot_ns(const struct draft *plan, uint32_t device, double ready_ns,
                        double length_ns, uint32_t *ret_before);
void sy_draft_place(struct draft *plan, uint32_t task, uint32_t device, double start_ns,
                    double end_ns, uint32_t before);
/* Sorts tasks by their start, and what takes no time before what starts with it; scratch holds as
 * many. */
void sy_draft_sort(uint32_t *tasks, uint32_t count, const double *start_ns, const double *end_ns,
                   uint32_t *scratch);
void sy_draft_remove(struct draft *plan, uint32_t task);
/* --- what stands behind a policy's name: [+ORDER][:NUMBER][@WEIGHTS][~PART]...; see policy_name.c
 */
struct policy_args {
    enum order order;
    uint64_t number;     /* 0: none */
    const char *weights; /* not terminated; NULL: none named */
    size_t weights_length;
    uint32_t without;
};
/* -EINVAL with the reason for what is wrong, or what this policy does not take. */
SY_MUST_CHECK int sy_policy_args(const struct sy_scheduler_ops *ops, const char *args,
                                 struct policy_args *ret_args, struct sy_error *error);
/* They are of the kind and shape that the policy understands. */
bool sy_policy_fits(const struct sy_scheduler_ops *ops, const struct sy_weights *weights);
/* Opens the file that args name. -EINVAL also if it holds weights of another kind or shape. */
SY_MUST_CHECK int sy_policy_weights(const struct sy_scheduler_ops *ops,
                                    const struct policy_args *args, struct sy_weights *ret_weights,
                                    struct sy_error *error);

/* --- policies in shared objects; see policy_plugin.c */
/* Where the path in a policy's name ends, or NULL if it names no shared object. */
const char *sy_policy_path_end(const char *name);
const struct sy_scheduler_ops *sy_policy_from_file(const char *name, const char *end,
                                                   struct sy_error *error);

/* A policy with the callbacks that most have; reads: it wants counters. */
#define SY_POLICY(identifier, policy_name, text, start, arrived, ready, answer, reads)             \
    const struct sy_scheduler_ops identifier = {.name = policy_name,                               \
                                                .summary = text,                                   \
                                                .init = start,                                     \
                                                .finish = sy_policy_finish,                        \
                                                .job_arrived = arrived,                            \
                                                .task_ready = ready,                               \
                                                .task_done = sy_policy_task_done,                  \
                                                .decide = answer,                                  \
                                                .needs_readings = reads}

extern const struct sy_scheduler_ops sy_policy_random, sy_policy_round_robin, sy_policy_sparrow,
    sy_policy_dmda, sy_policy_dmdas, sy_policy_dmda_hist, sy_policy_dmdas_hist, sy_policy_eager,
    sy_policy_priority, sy_policy_heteroprio, sy_policy_tetris, sy_policy_graphene,
    sy_policy_stealing, sy_policy_paragon, sy_policy_heft, sy_policy_peft, sy_policy_cpop,
    sy_policy_lookahead, sy_policy_anneal, sy_policy_late, sy_policy_late_hist,
    sy_policy_late_contention, sy_policy_learned, sy_policy_affinity, sy_policy_gate,
    sy_policy_greedy_true, sy_policy_greedy_true_rollout, sy_policy_symphony;

/* Policies of a room above this one, up to NULL: the papers'. The list ends with them in programs
 * that link that room (sy_more_policies, by name: registry.c refers to it weakly). */
extern const struct sy_scheduler_ops *const sy_more_policies[];

#endif
