/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders between jobs, with every placement: the short one first, the first one first, the heavy
 * one first, and tenants that are served by weight.
 */
#include "fixture.h"
#include "schedulers/policy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct one {
    uint32_t task_count;
    double arrive_ns;
    uint32_t tenant;
    double weight;
};

#define TASK_NS 10e6 /* of a generator's task on a core */

/* Independent tasks of 10 ms on one core. */
static void open_jobs(struct fixture *f, const struct one *jobs, uint32_t count) {
    char spec[64];
    fixture_init(f, "cpu:1");
    for (uint32_t j = 0; j < count; j++) {
        snprintf(spec, sizeof spec, "independent:%u", jobs[j].task_count);
        fixture_add(f, fixture_graph(spec), jobs[j].arrive_ns, jobs[j].tenant, jobs[j].weight);
    }
    fixture_seal(f);
}

/* The papers' networks choose freely: no order binds them. */
static bool follows(const struct sy_scheduler_ops *ops) {
    return strcmp(ops->name, "symphony-paper") != 0 && strcmp(ops->name, "black-box") != 0;
}

struct run {
    double done_ns[FIXTURE_JOBS];
    struct sy_trace trace;
};

static void run(const struct fixture *f, const struct sy_scheduler_ops *ops, const char *order,
                struct run *ret) {
    char policy[64];
    struct sy_sim_options options = {.seed = 1, .record = true};
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    snprintf(policy, sizeof policy, "%s%s%s", ops->name, order,
             strcmp(ops->name, "greedy-true-rollout") ? "" : ":2");
    struct sy_sim_result result = fixture_run(sim, f->workload, policy);
    for (uint32_t j = 0; j < f->workload->job_count; j++) {
        ret->done_ns[j] = f->workload->jobs[j].arrive_ns + result.jobs[j].done_ns;
    }
    const struct sy_trace *trace = sy_sim_trace(sim);
    ret->trace = (struct sy_trace){0};
    assert_int_equal(sy_trace_reserve(&ret->trace, trace->count), 0);
    memcpy(ret->trace.spans, trace->spans, trace->count * sizeof *trace->spans);
    ret->trace.count = trace->count;
    sy_trace_sort(&ret->trace);
    sy_sim_destroy(sim);
}

/* Share of a tenant's tasks among those that started in [from, until). */
static double share(const struct fixture *f, const struct run *run_, uint32_t tenant,
                    double from_ns, double until_ns) {
    double mine = 0, all = 0;
    for (uint32_t i = 0; i < run_->trace.count; i++) {
        const struct sy_span *span = &run_->trace.spans[i];
        if (span->kind == SY_SPAN_TASK && span->start_ns >= from_ns && span->start_ns < until_ns) {
            all++;
            mine += f->workload->jobs[f->workload->task_job[span->subject]].tenant == tenant;
        }
    }
    return mine / all;
}

/* What the order promises, as a number, and the range it must be in. */
struct promise {
    const char *order, *what;
    double (*measure)(const struct fixture *f, const struct run *run);
    double low, high;
};

static void for_all(const struct one *jobs, uint32_t count, const struct promise *promise) {
    struct fixture f;
    const struct sy_scheduler_ops *ops;
    struct sy_buffer broken = {0};
    open_jobs(&f, jobs, count);
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        if (follows(ops)) {
            struct run result;
            run(&f, ops, promise->order, &result);
            double value = promise->measure(&f, &result);
            if (!(value >= promise->low && value <= promise->high)) {
                sy_buffer_printf(&broken, " %s %.2f", ops->name, value);
            }
            sy_trace_finish(&result.trace);
        }
    }
    fixture_finish(&f);
    if (broken.length) {
        print_error("%s: %s is not in %.2f .. %.2f:%s\n", promise->order, promise->what,
                    promise->low, promise->high, broken.text);
    }
    bool kept = !broken.length;
    sy_buffer_finish(&broken);
    assert_true(kept);
}

static double second_done(const struct fixture *f, const struct run *run_) {
    (void)f;
    return run_->done_ns[1] / TASK_NS;
}

static double first_done(const struct fixture *f, const struct run *run_) {
    (void)f;
    return run_->done_ns[0] / TASK_NS;
}

/* A task that runs and one that waits with its data come before the newcomer. */
static void shortest_first(void **state) {
    (void)state;
    const struct one jobs[] = {{30, 0, 0, 1}, {3, 1e6, 1, 1}};
    for_all(jobs, 2, &(struct promise){"+srpt", "the short job's end", second_done, 3, 2 + 3});
}

static void first_first(void **state) {
    (void)state;
    const struct one jobs[] = {{30, 0, 0, 1}, {3, 1e6, 1, 1}};
    for_all(jobs, 2, &(struct promise){"+fifo", "the first job's end", first_done, 29.9, 30.1});
}

/* Equal jobs, one twenty times as heavy, which comes second. */
static void heaviest_first(void **state) {
    (void)state;
    const struct one jobs[] = {{10, 0, 0, 1}, {10, 1e6, 1, 20}};
    for_all(jobs, 2, &(struct promise){"+wspt", "the heavy job's end", second_done, 10, 2 + 10});
}

static double early_share(const struct fixture *f, const struct run *run_) {
    return share(f, run_, 1, 0, 40 * TASK_NS);
}

static void fair_by_weight(void **state) {
    (void)state;
    const struct one jobs[] = {{60, 0, 0, 1}, {60, 0, 1, 3}};
    for_all(jobs, 2, &(struct promise){"+fair", "the heavy share", early_share, 0.69, 0.81});
}

/* Three jobs of one tenant get together what one job of the other gets. */
static void fair_by_tenant(void **state) {
    (void)state;
    const struct one jobs[] = {{30, 0, 0, 1}, {30, 0, 0, 1}, {30, 0, 0, 1}, {30, 0, 1, 1}};
    for_all(jobs, 4, &(struct promise){"+fair", "a tenant's share", early_share, 0.44, 0.56});
}

/* Three times the work, a third of the share. */
static void fair_by_work(void **state) {
    (void)state;
    const struct one jobs[] = {{90, 0, 0, 1}, {30, 0, 1, 1}};
    for_all(jobs, 2, &(struct promise){"+share1", "the short share", early_share, 0.69, 0.81});
}

static double late_share(const struct fixture *f, const struct run *run_) {
    return share(f, run_, 0, 32 * TASK_NS, 52 * TASK_NS);
}

/* A tenant cannot jump ahead by submitting once more. */
static void fair_to_who_was_there(void **state) {
    (void)state;
    const struct one jobs[] = {{40, 0, 0, 1}, {60, 0, 1, 1}, {40, 30 * TASK_NS, 0, 1}};
    for_all(jobs, 3,
            &(struct promise){"+fair", "the share of who came again", late_share, 0.39, 0.61});
}

/* Nor does a tenant who comes late take all until it has what the others had. */
static void fair_to_late_comers(void **state) {
    (void)state;
    const struct one jobs[] = {{80, 0, 1, 1}, {60, 30 * TASK_NS, 0, 1}};
    for_all(jobs, 2,
            &(struct promise){"+fair", "the share of who came late", late_share, 0.39, 0.61});
}

static void keys(void **state) {
    (void)state;
    struct sy_view_job job[2] = {{.work_left_ns = 100, .isolated_ns = 50, .weight = 1},
                                 {.work_left_ns = 200, .isolated_ns = 50, .weight = 1}};
    struct sy_view view = {.jobs = job, .job_count = 2};
    double service[2] = {5, 3};
    struct policy policy = {.service_ns = service};
    policy.order = ORDER_FIFO;
    assert_true(sy_order_job_key(&policy, &view, 0) > sy_order_job_key(&policy, &view, 1));
    policy.order = ORDER_SRPT;
    assert_true(sy_order_job_key(&policy, &view, 0) > sy_order_job_key(&policy, &view, 1));
    policy.order = ORDER_FAIR;
    assert_true(sy_order_job_key(&policy, &view, 0) < sy_order_job_key(&policy, &view, 1));
    policy.order = ORDER_WSPT;
    assert_true(sy_order_job_key(&policy, &view, 0) > sy_order_job_key(&policy, &view, 1));
    job[1].weight = 5;
    assert_true(sy_order_job_key(&policy, &view, 0) < sy_order_job_key(&policy, &view, 1));
    job[1] = (struct sy_view_job){.work_left_ns = 0, .weight = 0}; /* nothing left, no weight */
    assert_true(isfinite(sy_order_job_key(&policy, &view, 1)));
    for (uint32_t i = 0; sy_order_at(i); i++) {
        enum order order;
        assert_true(sy_order_parse(sy_order_at(i), strlen(sy_order_at(i)), &order));
        assert_int_equal(order, i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortest_first),
        cmocka_unit_test(first_first),
        cmocka_unit_test(heaviest_first),
        cmocka_unit_test(fair_by_weight),
        cmocka_unit_test(fair_by_tenant),
        cmocka_unit_test(fair_by_work),
        cmocka_unit_test(fair_to_who_was_there),
        cmocka_unit_test(fair_to_late_comers),
        cmocka_unit_test(keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
