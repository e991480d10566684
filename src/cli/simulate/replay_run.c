/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded run again, as a policy and what drives it: see replay_run.h.
 */
#include "cli/simulate/replay_run.h"
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* --- the order ---------------------------------------------------------------------------------
 */

struct sorting {
    const double *key;     /* start, not before that of any predecessor */
    const uint32_t *place; /* in a topological order */
};

static int by_key(const void *a, const void *b, void *context) {
    const struct sorting *sorting = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = SY_ORDER(sorting->key[x], sorting->key[y]);
    return order ? order : SY_ORDER(sorting->place[x], sorting->place[y]);
}

/* Starts as recorded, pushed behind those of the predecessors: sorted by them, and then by the
 * topological order, no device can wait for what comes later on another. */
static void make_keys(const struct sy_record *record, double *key, uint32_t *place) {
    const struct sy_graph *graph = record->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t task = graph->order[i];
        place[task] = i;
        key[task] = record->tasks[task].start_ns;
        for (uint32_t e = graph->pred_start[task]; e < graph->pred_start[task + 1]; e++) {
            key[task] = fmax(key[task], key[graph->pred[e]]);
        }
    }
}

static void deal_out(struct sy_replay_plan *plan, uint32_t *sorted) {
    const struct sy_record *record = plan->record;
    uint32_t tasks = record->graph->task_count, devices = record->machine->device_count;
    for (uint32_t t = 0; t < tasks; t++) {
        plan->device_start[record->tasks[t].device + 1]++;
    }
    for (uint32_t d = 0; d < devices; d++) {
        plan->device_start[d + 1] += plan->device_start[d];
        plan->next[d] = plan->device_start[d];
    }
    for (uint32_t i = 0; i < tasks; i++) {
        plan->order[plan->next[record->tasks[sorted[i]].device]++] = sorted[i];
    }
}

/* Of those that ran before it on its device, the last that had started when it was decided. */
static void find_during(struct sy_replay_plan *plan, double *decided_ns) {
    const struct sy_record *record = plan->record;
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        decided_ns[t] = NAN;
        plan->during[t] = SY_NONE;
    }
    for (uint32_t i = 0; i < record->decision_count; i++) {
        const struct sy_decided *decided = &record->decisions[i];
        if (decided->device == record->tasks[decided->task].device) {
            decided_ns[decided->task] = decided->at_ns;
        }
    }
    for (uint32_t d = 0; d < record->machine->device_count; d++) {
        uint32_t first = plan->device_start[d], end = plan->device_start[d + 1];
        for (uint32_t i = first; i < end; i++) {
            uint32_t task = plan->order[i], at = i;
            while (at > first && record->tasks[plan->order[at - 1]].start_ns > decided_ns[task]) {
                at--;
            }
            bool is_known = !isnan(decided_ns[task]) && at > first;
            plan->during[task] = is_known ? plan->order[at - 1] : SY_NONE;
        }
    }
}

void sy_replay_plan_init(struct sy_replay_plan *plan, const struct sy_record *record) {
    size_t tasks = record->graph->task_count + 1u, devices = record->machine->device_count + 1u;
    *plan = (struct sy_replay_plan){.record = record, .arena = sy_need(sy_arena_create())};
    plan->device_start = sy_need(sy_arena_alloc(plan->arena, devices, sizeof(uint32_t)));
    plan->next = sy_need(sy_arena_alloc(plan->arena, devices, sizeof(uint32_t)));
    plan->order = sy_need(sy_arena_alloc(plan->arena, tasks, sizeof(uint32_t)));
    plan->during = sy_need(sy_arena_alloc(plan->arena, tasks, sizeof(uint32_t)));
    double *key = sy_need(sy_arena_alloc(plan->arena, tasks, sizeof *key));
    uint32_t *place = sy_need(sy_arena_alloc(plan->arena, tasks, sizeof *place));
    uint32_t *sorted = sy_need(sy_arena_alloc(plan->arena, tasks, sizeof *sorted));
    make_keys(record, key, place);
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        sorted[t] = t;
    }
    struct sorting sorting = {key, place};
    qsort_r(sorted, record->graph->task_count, sizeof *sorted, by_key, &sorting);
    deal_out(plan, sorted);
    find_during(plan, key);
}

void sy_replay_plan_finish(struct sy_replay_plan *plan) {
    sy_arena_destroy(plan->arena);
}

/* --- the policy --------------------------------------------------------------------------------
 */

static int init(struct sy_scheduler *scheduler, const struct sy_view *view, const char *args) {
    struct sy_replay_plan *plan = scheduler->state;
    (void)args;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        plan->next[d] = plan->device_start[d];
    }
    return 0;
}

static bool may_commit(const struct sy_replay_plan *plan, const struct sy_view *view,
                       uint32_t task) {
    uint32_t during = plan->during[task];
    return view->task_state[task] == SY_TASK_READY &&
           (during == SY_NONE || view->task_state[during] >= SY_TASK_RUNNING);
}

static uint32_t decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                       struct sy_decision *ret_decisions, uint32_t capacity) {
    struct sy_replay_plan *plan = scheduler->state;
    const struct sy_machine *machine = view->machine;
    uint32_t count = 0;
    for (uint32_t d = 0; view->job_count && d < machine->device_count; d++) {
        while (count < capacity && plan->next[d] < plan->device_start[d + 1] &&
               may_commit(plan, view, plan->order[plan->next[d]])) {
            uint32_t task = plan->order[plan->next[d]++];
            size_t cell = (size_t)task * machine->class_count + machine->devices[d].class_index;
            ret_decisions[count++] = (struct sy_decision){
                .kind = SY_RUN, .task = task, .device = d, .expected_ns = view->time_ns[cell]};
        }
    }
    return count;
}

const struct sy_scheduler_ops sy_replay_ops = {
    .name = "replay", .summary = "what was recorded, again", .init = init, .decide = decide};

/* --- a replay ----------------------------------------------------------------------------------
 */

static double duration_ns(const struct sy_record *record, uint32_t task) {
    return sy_record_took_ns(&record->tasks[task]);
}

/* The class of device. */
static uint32_t ran_on(const struct sy_record *record, uint32_t task) {
    return record->machine->devices[record->tasks[task].device].class_index;
}

static int check(const struct sy_record *record, struct sy_error *error) {
    uint32_t missing = 0;
    if (record->job_count) {
        sy_fail(error, -EINVAL, "it was a stream of %u jobs, which is not replayed",
                record->job_count);
        return sy_hint(error, "symph simulate has the options of the run, and draws the same jobs");
    }
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        missing += record->tasks[t].device == SY_NONE;
    }
    return missing ? sy_fail(error, -EINVAL,
                             "%u of %u tasks never ran: only a complete run can be replayed",
                             missing, record->graph->task_count)
                   : 0;
}

/* The measured time where each task ran. */
static void measured_times(const struct sy_record *record, double *time_ns) {
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        time_ns[(size_t)t * record->machine->class_count + ran_on(record, t)] =
            duration_ns(record, t);
    }
}

static int run_once(const struct sy_record *record, const struct sy_sim_options *options,
                    const double *time_ns, struct sy_replay_plan *plan, double *ret_makespan_ns,
                    struct sy_error *error) {
    struct sy_job job = {.graph = record->graph, .weight = 1, .time_ns = time_ns};
    struct sy_workload *workload = NULL;
    struct sy_sim *sim = NULL;
    struct sy_sim_result result = {0};
    int r = sy_workload_create(record->machine, &job, 1, NULL, &workload, error);
    r = r < 0 ? r : sy_sim_create(workload, options, &sim, error);
    r = r < 0 ? r : sy_sim_run_ops(sim, &sy_replay_ops, plan, &result, error);
    if (r == 0) {
        *ret_makespan_ns = result.makespan_ns;
    }
    sy_sim_destroy(sim);
    sy_workload_destroy(workload);
    return r;
}

int sy_replay(const struct sy_record *record, const struct sy_sim_options *options,
              struct sy_replayed *ret_replayed, struct sy_error *error) {
    struct sy_replayed answer = {.real_ns = record->makespan_ns};
    struct sy_replay_plan plan = {0};
    size_t cells = (size_t)record->graph->task_count * record->machine->class_count;
    int r = check(record, error);
    if (r < 0) {
        return r;
    }
    double *time_ns = sy_need(calloc(cells + 1, sizeof *time_ns));
    sy_replay_plan_init(&plan, record);
    r = sy_record_times(record, time_ns, &answer.unknown_count) ? sy_out_of_memory(error) : 0;
    r = r < 0 ? r : run_once(record, options, time_ns, &plan, &answer.simulated_ns, error);
    if (r == 0) {
        measured_times(record, time_ns);
        r = run_once(record, options, time_ns, &plan, &answer.measured_ns, error);
    }
    sy_replay_plan_finish(&plan);
    free(time_ns);
    if (r == 0) {
        *ret_replayed = answer;
    }
    return r;
}
