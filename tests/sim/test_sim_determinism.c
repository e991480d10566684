/* SPDX-License-Identifier: Apache-2.0
 *
 * The same seed gives the same bytes, whoever else runs and whatever ran before; another seed gives
 * another world; and the world is the same for every policy.
 */
#include "../schedulers/fixture.h"
#include "sim/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sy_device_event events[] = {
    {4e7, 4, true}, {6e7, 5, true}, {9e7, 4, false}, {1e8, 5, false}};

static struct sy_sim_options rough(uint64_t seed) {
    return (struct sy_sim_options){.seed = seed,
                                   .noise_sigma = 0.3,
                                   .spike_probability = 0.05,
                                   .spike_factor = 5,
                                   .model_error_sigma = 0.3,
                                   .contention = true,
                                   .hidden_load = 0.3,
                                   .counter_noise = 0.2,
                                   .counter_live = 2,
                                   .device_events = events,
                                   .device_event_count = SY_COUNT(events),
                                   .record = true};
}

static void open_stream(struct fixture *f) {
    fixture_init(f, "cpu:4 gpu:2 fpga:1@regions=2");
    fixture_add(f, fixture_graph("genomics:4,regions=3"), 0, 0, 1);
    fixture_add(f, fixture_graph("cholesky:5"), 1e7, 1, 2);
    fixture_add(f, fixture_graph("layered:6,depth=5,ccr=1"), 3e7, 2, 1);
    fixture_seal(f);
}

static const char *name_of(uint32_t index, char *buffer, size_t size) {
    static const char *const orders[] = {"", "+fifo", "+srpt", "+wspt", "+fair"};
    const struct sy_scheduler_ops *ops = sy_scheduler_at(index);
    bool searches =
        ops && (!strcmp(ops->name, "anneal") || !strcmp(ops->name, "greedy-true-rollout"));
    if (!ops) {
        return NULL;
    }
    snprintf(buffer, size, "%s%s%s", ops->name, orders[index % 5], searches ? ":5" : "");
    return buffer;
}

struct record {
    struct sy_span *spans;
    uint32_t count;
};

static struct record keep(const struct sy_sim *sim) {
    const struct sy_trace *trace = sy_sim_trace(sim);
    struct record record = {malloc((trace->count + 1) * sizeof(struct sy_span)), trace->count};
    assert_non_null(record.spans);
    memcpy(record.spans, trace->spans, trace->count * sizeof *trace->spans);
    return record;
}

static bool same(const struct record *record, const struct sy_sim *sim) {
    const struct sy_trace *trace = sy_sim_trace(sim);
    return trace->count == record->count &&
           memcmp(trace->spans, record->spans, record->count * sizeof *record->spans) == 0;
}

static void same_seed_same_bytes(void **state) {
    (void)state;
    struct fixture f;
    char name[64];
    open_stream(&f);
    struct sy_sim_options options = rough(11);
    struct sy_sim *reused = fixture_sim(f.workload, &options);
    struct sy_sim *other = fixture_sim(f.workload, &options);
    for (uint32_t i = 0; name_of(i, name, sizeof name); i++) {
        struct sy_sim *fresh = fixture_sim(f.workload, &options);
        fixture_run(fresh, f.workload, name);
        struct record record = keep(fresh);
        fixture_run(other, f.workload, "random"); /* something else in between */
        fixture_run(reused, f.workload, name);
        if (!same(&record, reused)) {
            fail_msg("%s: a simulator used before gives another trace", name);
        }
        fixture_run(reused, f.workload, name);
        if (!same(&record, reused)) {
            fail_msg("%s: the second run gives another trace", name);
        }
        free(record.spans);
        sy_sim_destroy(fresh);
    }
    sy_sim_destroy(reused);
    sy_sim_destroy(other);
    fixture_finish(&f);
}

static void another_seed_another_world(void **state) {
    (void)state;
    struct fixture f;
    char name[64];
    open_stream(&f);
    struct sy_sim_options one = rough(1), two = rough(2);
    struct sy_sim *first = fixture_sim(f.workload, &one), *second = fixture_sim(f.workload, &two);
    for (uint32_t i = 0; name_of(i, name, sizeof name); i++) {
        fixture_run(first, f.workload, name);
        struct record record = keep(first);
        fixture_run(second, f.workload, name);
        if (same(&record, second)) {
            fail_msg("%s: two seeds give one trace", name);
        }
        free(record.spans);
    }
    sy_sim_destroy(first);
    sy_sim_destroy(second);
    fixture_finish(&f);
}

/* Without contention a task takes what the seed says: its isolated time on that class, times its
 * own factor, times the model's error for kernel and class. */
static void noise_knows_no_policy(void **state) {
    (void)state;
    struct fixture f;
    char name[64];
    open_stream(&f);
    struct sy_sim_options options = rough(5);
    options.contention = false;
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    double *factor = calloc(f.workload->task_count, sizeof *factor);
    assert_non_null(factor);
    memcpy(factor, sim->task_factor, f.workload->task_count * sizeof *factor);
    for (uint32_t i = 0; name_of(i, name, sizeof name); i++) {
        fixture_run(sim, f.workload, name);
        for (uint32_t t = 0; t < f.workload->task_count; t++) {
            const struct sy_span *span = fixture_span(sy_sim_trace(sim), SY_SPAN_TASK, t);
            uint32_t class_index = f.machine->devices[span->place].class_index;
            size_t kernel = f.workload->task_kernel[t];
            double ns = f.workload->time_ns[t * f.workload->class_count + class_index] * factor[t] *
                        sim->kernel_factor[kernel * f.workload->class_count + class_index];
            assert_near(span->end_ns - span->start_ns, ns, 1e-6 * ns);
        }
    }
    free(factor);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Log-normal with median 1 and the sigma asked for; spikes as often as asked for. */
static void noise_has_its_shape(void **state) {
    (void)state;
    enum { TASKS = 20000 };
    struct fixture f;
    fixture_one(&f, "cpu:4", "independent:20000");
    struct sy_sim_options options = {.seed = 3, .noise_sigma = 0.3};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    double mean = 0, square = 0, spikes = 0;
    for (uint32_t t = 0; t < TASKS; t++) {
        mean += log(sim->task_factor[t]) / TASKS;
        square += log(sim->task_factor[t]) * log(sim->task_factor[t]) / TASKS;
    }
    assert_near(mean, 0, 0.01); /* 0.3 / sqrt(20000) = 0.002 */
    assert_near(sqrt(square - mean * mean), 0.3, 0.01);
    sy_sim_destroy(sim);
    options = (struct sy_sim_options){.seed = 3, .spike_probability = 0.1, .spike_factor = 7};
    sim = fixture_sim(f.workload, &options);
    for (uint32_t t = 0; t < TASKS; t++) {
        assert_true(sim->task_factor[t] == 1 || sim->task_factor[t] == 7);
        spikes += sim->task_factor[t] == 7;
    }
    assert_near(spikes / TASKS, 0.1, 0.01);
    sy_sim_destroy(sim);
    double ratio[] = {0.5, 1, 2};
    const struct sy_noise_table table = {ratio, 3};
    options = (struct sy_sim_options){.seed = 3, .noise_table = &table};
    sim = fixture_sim(f.workload, &options);
    double below = 0;
    for (uint32_t t = 0; t < TASKS; t++) {
        assert_true(sim->task_factor[t] >= 0.5 && sim->task_factor[t] <= 2);
        below += sim->task_factor[t] < 1;
    }
    assert_near(below / TASKS, 0.5, 0.02);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Two simulators of one workload, a run of one inside a pause of the other: a policy that rolls
 * out runs an inner simulator, and must leave the outer world as it was. */
static void rollouts_leave_no_trace(void **state) {
    (void)state;
    struct fixture f;
    open_stream(&f);
    struct sy_sim_options options = rough(8);
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "greedy-true");
    struct record record = keep(sim);
    fixture_run(sim, f.workload, "greedy-true-rollout:4");
    fixture_run(sim, f.workload, "greedy-true");
    assert_true(same(&record, sim));
    free(record.spans);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_bytes),    cmocka_unit_test(another_seed_another_world),
        cmocka_unit_test(noise_knows_no_policy),   cmocka_unit_test(noise_has_its_shape),
        cmocka_unit_test(rollouts_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
