/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy is worth on one graph of the adversarial search: its makespan over that of the best
 * of six heuristics in the same world.
 *
 * Where planning is charged the virtual clock runs by constants, never by a real clock: the same
 * graph has the same ratio on every machine.
 */
#include "symph-bench/adversarial.h"

#include "schedulers/schedulers.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define DECISION_NS 500.0 /* to place a task, under any policy; docs/design/006 */
#define DRAFT_NS    1.2e3 /* to plan one, as heft and peft do when a job arrives */
#define SEED        1

static const char *const usual_alone[ADVERSARIAL_USUAL] = {"heft",       "peft", "dmdas",
                                                           "heteroprio", "dmda", "lb"};
static const char *const usual_stream[ADVERSARIAL_USUAL] = {
    "heft+wspt", "peft+wspt", "dmdas+srpt", "heteroprio+wspt", "dmda+wspt", "lb+wspt"};

/* --- a policy whose plans cost time, or that another one follows
 * ------------------------------------------------------------
 */
/* The clock of the simulation in this thread: what policies have paid so far. */
static _Thread_local double paid_ns;

static double paid_clock_ns(void) {
    return paid_ns;
}

/* Runs a policy, and from the moment a device is lost another one, if there is one. */
struct shell {
    struct sy_scheduler first, second, *acting;
    const char *first_args, *second_args;
    bool drafts;
    bool due; /* the other one, before the next decision */
};

static void pay(const struct shell *shell, double drafted_tasks) {
    double planned_ns = sy_scheduler_planning_ns(&shell->first);
    paid_ns = planned_ns > paid_ns ? planned_ns : paid_ns;
    paid_ns += shell->drafts ? DRAFT_NS * drafted_tasks : 0;
}

static int init_one(struct sy_scheduler *one, const struct sy_scheduler *s,
                    const struct sy_view *view, const char *args) {
    one->seed = s->seed;
    one->setup = s->setup;
    return one->ops->init(one, view, args);
}

static int shell_init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    struct shell *shell = s->state;
    (void)args;
    paid_ns = 0;
    shell->acting = &shell->first;
    int code = init_one(&shell->first, s, view, shell->first_args);
    return code || !shell->second.ops ? code
                                      : init_one(&shell->second, s, view, shell->second_args);
}

static void shell_finish(struct sy_scheduler *s) {
    struct shell *shell = s->state;
    struct sy_scheduler *both[] = {&shell->first, &shell->second};
    for (size_t i = 0; i < SY_COUNT(both); i++) {
        if (both[i]->state && both[i]->ops->finish) {
            both[i]->ops->finish(both[i]);
        }
    }
}

static void shell_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct shell *shell = s->state;
    if (shell->acting->ops->job_arrived) {
        shell->acting->ops->job_arrived(shell->acting, view, job);
    }
    pay(shell, view->jobs[job].task_count);
}

#define FORWARD(member)                                                                            \
    static void shell_##member(struct sy_scheduler *s, const struct sy_view *view,                 \
                               uint32_t index) {                                                   \
        struct shell *shell = s->state;                                                            \
        if (shell->acting->ops->member && !shell->due) {                                           \
            shell->acting->ops->member(shell->acting, view, index);                                \
        }                                                                                          \
        pay(shell, 0);                                                                             \
    }
FORWARD(job_left)
FORWARD(task_ready)
FORWARD(device_returned)

static void shell_device_lost(struct sy_scheduler *s, const struct sy_view *view, uint32_t device) {
    struct shell *shell = s->state;
    shell->due = shell->second.ops && shell->acting != &shell->second;
    if (!shell->due && shell->acting->ops->device_lost) {
        shell->acting->ops->device_lost(shell->acting, view, device);
    }
}

static void shell_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                       uint32_t device, double duration_ns) {
    struct shell *shell = s->state;
    if (shell->acting->ops->task_done) {
        shell->acting->ops->task_done(shell->acting, view, task, device, duration_ns);
    }
    pay(shell, 0);
}

/* It is told of the jobs that are left, and of what is ready of them. */
static void change_over(struct shell *shell, const struct sy_view *view) {
    struct sy_scheduler *to = shell->acting = &shell->second;
    shell->due = false;
    for (uint32_t j = 0; j < view->job_count; j++) {
        const struct sy_view_job *job = &view->jobs[j];
        if (job->tasks_left && to->ops->job_arrived) {
            to->ops->job_arrived(to, view, j);
        }
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            bool open = view->task_state[t] == SY_TASK_READY && view->task_device[t] == SY_NONE;
            if (open && to->ops->task_ready) {
                to->ops->task_ready(to, view, t);
            }
        }
    }
}

static uint32_t shell_decide(struct sy_scheduler *s, const struct sy_view *view,
                             struct sy_decision *ret_decisions, uint32_t capacity) {
    struct shell *shell = s->state;
    if (shell->due) {
        change_over(shell, view);
    }
    uint32_t count = shell->acting->ops->decide(shell->acting, view, ret_decisions, capacity);
    pay(shell, 0);
    return count;
}

static int run_in_shell(struct sy_sim *sim, const char *policy, const char *then,
                        struct sy_sim_result *ret_result, struct sy_error *error) {
    struct shell shell = {.first_args = ""};
    shell.first.ops = sy_scheduler_find(policy, &shell.first_args, error);
    shell.second.ops = then ? sy_scheduler_find(then, &shell.second_args, error) : NULL;
    if (!shell.first.ops || (then && !shell.second.ops)) {
        return -EINVAL;
    }
    const struct sy_scheduler_ops ops = {.name = shell.first.ops->name,
                                         .needs_readings = shell.first.ops->needs_readings,
                                         .net = shell.first.ops->net,
                                         .init = shell_init,
                                         .finish = shell_finish,
                                         .job_arrived = shell_arrived,
                                         .job_left = shell_job_left,
                                         .task_ready = shell_task_ready,
                                         .task_done = shell_done,
                                         .device_lost = shell_device_lost,
                                         .device_returned = shell_device_returned,
                                         .decide = shell_decide};
    shell.drafts = strncmp(policy, "heft", 4) == 0 || strncmp(policy, "peft", 4) == 0;
    return sy_sim_run_ops(sim, &ops, &shell, ret_result, error);
}

/* --- judging -----------------------------------------------------------------------------------
 */
static int run(struct sy_sim *sim, const struct adversarial_kind *kind, const char *policy,
               const char *then, double *ret_ns, struct sy_error *error) {
    struct sy_sim_result result;
    int code = kind->charged || then ? run_in_shell(sim, policy, then, &result, error)
                                     : sy_sim_run(sim, policy, &result, error);
    if (!code) {
        *ret_ns = (kind->two_jobs ? result.jct_mean_ns : result.makespan_ns) + kind->slack_ns;
    }
    return code;
}

static struct sy_sim_options options_of(const struct adversarial_kind *kind, uint64_t seed,
                                        const struct sy_device_event *lost) {
    return (struct sy_sim_options){.seed = seed,
                                   .contention = kind->contention || kind->hidden_load > 0,
                                   .hidden_load = kind->hidden_load,
                                   .decision_ns = kind->charged ? DECISION_NS : 0,
                                   .charge = kind->charged,
                                   .clock_ns = kind->charged ? paid_clock_ns : NULL,
                                   .device_events = lost,
                                   .device_event_count = lost != NULL};
}

/* Sums of logarithms: [0] the policy, then the usual ones; what fails is infinite. */
static int judge_world(const struct adversarial_kind *kind, const char *policy,
                       const struct sy_workload *workload, const struct sy_sim_options *options,
                       double *log_sum, struct sy_error *error) {
    const char *const *usual = kind->two_jobs ? usual_stream : usual_alone;
    struct sy_sim *sim = NULL;
    int code = sy_sim_create(workload, options, &sim, error);
    for (uint32_t i = 0; !code && i <= ADVERSARIAL_USUAL; i++) {
        double ns = INFINITY;
        const char *name = i ? usual[i - 1] : policy;
        int ended =
            run(sim, kind, kind->then ? policy : name, kind->then && i ? name : NULL, &ns, error);
        code = ended == -ENOMEM || ended == -EINVAL ? ended : 0;
        log_sum[i] += log(ns);
    }
    sy_sim_destroy(sim);
    return code;
}

int sy_adversarial_judge_jobs(const struct adversarial_kind *kind, const char *policy,
                              const struct sy_workload *workload,
                              const struct sy_device_event *lost,
                              struct adversarial_verdict *ret_verdict, struct sy_error *error) {
    double log_sum[ADVERSARIAL_USUAL + 1] = {0};
    uint32_t seeds = kind->seeds ? kind->seeds : 1, best = 1;
    int code = 0;
    for (uint32_t seed = 0; !code && seed < seeds; seed++) {
        struct sy_sim_options options = options_of(kind, SEED + seed, lost);
        code = judge_world(kind, policy, workload, &options, log_sum, error);
    }
    if (code) {
        return code;
    }
    for (uint32_t i = 2; i <= ADVERSARIAL_USUAL; i++) {
        best = log_sum[i] < log_sum[best] ? i : best;
    }
    *ret_verdict = (struct adversarial_verdict){
        .ratio = exp((log_sum[0] - log_sum[best]) / seeds),
        .policy_ns = exp(log_sum[0] / seeds) - kind->slack_ns,
        .best_ns = exp(log_sum[best] / seeds) - kind->slack_ns,
        .best = (kind->two_jobs ? usual_stream : usual_alone)[best - 1]};
    return 0;
}

struct sy_device_event sy_adversarial_loss(const struct adversarial_instance *it,
                                           const struct sy_workload *workload) {
    uint32_t devices = workload->machine->device_count; /* cores come first */
    return (struct sy_device_event){.at_ns = it->lost_share * workload->job_isolated_ns[0],
                                    .device = 1 + (uint32_t)(it->lost * (devices - 1)),
                                    .lost = true};
}

int sy_adversarial_judge(const struct adversarial_kind *kind, const char *policy,
                         const struct sy_machine *machine, const struct adversarial_instance *it,
                         struct adversarial_verdict *ret_verdict, struct sy_error *error) {
    struct sy_graph *graphs[2] = {NULL, NULL};
    struct sy_workload *workload = NULL;
    uint32_t count = 1 + kind->two_jobs;
    int code = sy_adversarial_build(it, "first", 0, it->second, &graphs[0]);
    if (!code && kind->two_jobs) {
        code = sy_adversarial_build(it, "second", it->second, it->task_count, &graphs[1]);
    }
    struct sy_job jobs[2] = {{.graph = graphs[0], .weight = 1},
                             {.graph = graphs[1], .weight = 1, .arrive_ns = it->arrive_ns}};
    code = code ? code : sy_workload_create(machine, jobs, count, NULL, &workload, error);
    if (!code) {
        struct sy_device_event lost = sy_adversarial_loss(it, workload);
        code = sy_adversarial_judge_jobs(kind, policy, workload, kind->loses ? &lost : NULL,
                                         ret_verdict, error);
    }
    sy_workload_destroy(workload);
    sy_graph_destroy(graphs[0]);
    sy_graph_destroy(graphs[1]);
    return code;
}
