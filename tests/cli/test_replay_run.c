/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay: what the simulator itself did, recorded and replayed, takes the same time again.
 */
#include "../base/check.h"
#include "cli/simulate/replay_run.h"
#include <errno.h>
#include <string.h>

/* The record of a simulation. */
static struct sy_record *record_of(const struct sy_workload *workload, struct sy_sim *sim,
                                   struct sy_graph *adopted, struct sy_machine *adopted_machine) {
    struct sy_record *record = sy_record_create();
    assert_non_null(record);
    size_t cells = (size_t)adopted->task_count * adopted_machine->class_count;
    record->graph = adopted;
    record->machine = adopted_machine;
    record->model_ns = sy_arena_alloc(record->arena, cells + 1, sizeof(double));
    record->tasks = sy_arena_alloc(record->arena, adopted->task_count + 1u, sizeof *record->tasks);
    assert_true(record->model_ns && record->tasks);
    memcpy(record->model_ns, workload->time_ns, cells * sizeof(double));
    const struct sy_trace *trace = sy_sim_trace(sim);
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct sy_span *span = &trace->spans[i];
        if (span->kind == SY_SPAN_TASK) {
            record->tasks[span->subject] = (struct sy_record_task){
                .device = span->place, .start_ns = span->start_ns, .end_ns = span->end_ns};
            record->makespan_ns = fmax(record->makespan_ns, span->end_ns);
        }
    }
    return record;
}

static struct sy_record *simulate(const char *graph_line, const char *machine_line,
                                  const char *policy, double noise) {
    struct sy_graph *graph = NULL;
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_graph_generate(graph_line, &graph, &error), 0);
    assert_int_equal(sy_machine_parse(machine_line, &machine, &error), 0);
    struct sy_job job = {.graph = graph, .weight = 1};
    struct sy_workload *workload = NULL;
    struct sy_sim *sim = NULL;
    struct sy_sim_options options = {.record = true, .noise_sigma = noise, .seed = 7};
    struct sy_sim_result result = {0};
    assert_int_equal(sy_workload_create(machine, &job, 1, NULL, &workload, &error), 0);
    assert_int_equal(sy_sim_create(workload, &options, &sim, &error), 0);
    if (sy_sim_run(sim, policy, &result, &error) < 0) {
        fail_msg("%s: %s", policy, error.message);
    }
    struct sy_record *record = record_of(workload, sim, graph, machine);
    sy_sim_destroy(sim);
    sy_workload_destroy(workload);
    return record;
}

/* One memory: nothing travels, and a policy that holds nothing back is met exactly. */
static void takes_the_same_time(void **state) {
    (void)state;
    static const char *const graphs[] = {"cholesky:6", "lu:5", "layered:6,depth=8", "fft:4"};
    static const char *const policies[] = {"dmda", "eager", "dmdas", "heft"};
    const struct sy_sim_options plain = {0};
    for (uint32_t i = 0; i < 16; i++) {
        struct sy_record *record = simulate(graphs[i % 4], "cpu:3", policies[i / 4], 0.3);
        struct sy_replayed replayed;
        struct sy_error error = {0};
        assert_int_equal(sy_replay(record, &plain, &replayed, &error), 0);
        assert_true(replayed.real_ns > 0);
        assert_near(replayed.measured_ns, replayed.real_ns, 1e-6 * replayed.real_ns);
        assert_true(replayed.simulated_ns != replayed.measured_ns); /* the noise is not in it */
        assert_int_equal(replayed.unknown_count, 0);
        sy_record_destroy(record);
    }
}

/* Copies are asked for when a task is ready, as dmda does. */
static void is_near_with_copies(void **state) {
    (void)state;
    struct sy_record *record = simulate("cholesky:8", "cpu:4 gpu:2", "dmda", 0.1);
    const struct sy_sim_options plain = {0};
    struct sy_replayed replayed;
    struct sy_error error = {0};
    assert_int_equal(sy_replay(record, &plain, &replayed, &error), 0);
    print_message("# real %.0f, replayed %.0f\n", replayed.real_ns, replayed.measured_ns);
    assert_near(replayed.measured_ns, replayed.real_ns, 0.05 * replayed.real_ns);
    sy_record_destroy(record);
}

/* Any assignment and any times: an answer, never a block. */
static void never_blocks(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(1);
    const struct sy_sim_options plain = {0};
    for (uint32_t round = 0; round < 50; round++) {
        struct sy_record *record = simulate("cholesky:4", "cpu:3", "eager", 0);
        struct sy_decided *decisions =
            sy_arena_alloc(record->arena, record->graph->task_count, sizeof *decisions);
        assert_non_null(decisions);
        for (uint32_t t = 0; t < record->graph->task_count; t++) {
            struct sy_record_task *task = &record->tasks[t];
            task->device = sy_rng_below(&rng, 3);
            task->start_ns = sy_rng_below(&rng, 20);
            task->end_ns = task->start_ns + sy_rng_below(&rng, 3);
            record->model_ns[t] = sy_rng_below(&rng, 3) ? record->model_ns[t] : NAN;
            decisions[t] = (struct sy_decided){
                .task = t, .device = task->device, .at_ns = sy_rng_below(&rng, 30)};
        }
        record->decisions = decisions;
        record->decision_count = record->graph->task_count;
        struct sy_replayed replayed;
        struct sy_error error = {0};
        if (sy_replay(record, &plain, &replayed, &error) < 0) {
            fail_msg("%s", error.message);
        }
        assert_true(isfinite(replayed.simulated_ns) && isfinite(replayed.measured_ns));
        sy_record_destroy(record);
    }
}

static void keeps_the_order_of_each_device(void **state) {
    (void)state;
    struct sy_record *record = simulate("lu:4", "cpu:2 gpu:1", "dmdas", 0.5);
    struct sy_replay_plan plan;
    sy_replay_plan_init(&plan, record);
    for (uint32_t d = 0; d < record->machine->device_count; d++) {
        for (uint32_t i = plan.device_start[d]; i < plan.device_start[d + 1]; i++) {
            assert_int_equal(record->tasks[plan.order[i]].device, d);
            assert_true(i == plan.device_start[d] || record->tasks[plan.order[i - 1]].start_ns <=
                                                         record->tasks[plan.order[i]].start_ns);
        }
    }
    assert_int_equal(plan.device_start[record->machine->device_count], record->graph->task_count);
    sy_replay_plan_finish(&plan);
    record->tasks[3].device = SY_NONE;
    struct sy_replayed replayed;
    struct sy_error error = {0};
    const struct sy_sim_options plain = {0};
    assert_int_equal(sy_replay(record, &plain, &replayed, &error), -EINVAL);
    assert_non_null(strstr(error.message, "never ran"));
    sy_record_destroy(record);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_same_time),
        cmocka_unit_test(is_near_with_copies),
        cmocka_unit_test(never_blocks),
        cmocka_unit_test(keeps_the_order_of_each_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
