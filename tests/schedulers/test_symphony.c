/* SPDX-License-Identifier: Apache-2.0
 *
 * What the default adds to its plans: a rehearsal predicts what the simulator does; with known
 * times no usual policy is better; a plan is said to be followed, and given up when times spread;
 * in some streams none is followed;
 * the same seed decides the same; nothing is allocated after init; equal devices that others load
 * unevenly are not planned for, nor are dependencies that are not known, nor cores for a GPU's
 * tasks that they would take half of the job for.
 */
#include "fixture.h"

#include "schedulers/rehearsal.h"
#include "view.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- counting allocator: linked with --wrap ----------------------------------------------------
 */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned long allocations;

void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) {
    allocations++;
    return __real_realloc(old, size);
}

static const char *const machines[] = {"cpu:4", "cpu:12 gpu:4@pcie3x16",
                                       "cpu:2 gpu:2@link=1GB/s,latency=10us"};
static const char *const graphs[] = {"cholesky:6",
                                     "lu:5",
                                     "qr:5",
                                     "fft:3",
                                     "gauss:8",
                                     "layered:width=6,depth=6,seed=4",
                                     "forkjoin:6",
                                     "genomics:6",
                                     "intree:4",
                                     "outtree:4",
                                     "stages:6,width=5,bytes=1e7,spread=3",
                                     "stages:9,width=3,bytes=1e6,seed=7,work=5",
                                     "stages:9,width=3,work=0.2,seed=3"};
static const struct sy_scheduler_ops *const usual[] = {&sy_policy_heft,       &sy_policy_peft,
                                                       &sy_policy_dmdas,      &sy_policy_dmda,
                                                       &sy_policy_heteroprio, &sy_policy_late};

static void each_graph(const char *machine,
                       void (*check)(const struct fixture *f, const char *what)) {
    for (size_t g = 0; g < SY_COUNT(graphs); g++) {
        struct fixture f;
        char what[128];
        snprintf(what, sizeof what, "%s on \"%s\"", graphs[g], machine);
        fixture_one(&f, machine, graphs[g]);
        check(&f, what);
        fixture_finish(&f);
    }
}

static void each_instance(void (*check)(const struct fixture *f, const char *what)) {
    for (size_t m = 0; m < SY_COUNT(machines); m++) {
        each_graph(machines[m], check);
    }
}

static double makespan_ns(const struct sy_workload *workload, const char *policy, double noise,
                          uint64_t seed) {
    struct sy_sim_options options = {.seed = seed, .record = true, .noise_sigma = noise};
    struct sy_sim *sim = fixture_sim(workload, &options);
    struct sy_sim_result result = fixture_run(sim, workload, policy);
    sy_sim_destroy(sim);
    return result.makespan_ns;
}

/* --- a rehearsal predicts ----------------------------------------------------------------------
 */
struct probe {
    struct policy base;
    struct rehearsal stage;
    struct sy_scheduler actors[SY_COUNT(usual)];
};

static double predicted_ns[SY_COUNT(usual)];
static uint64_t configured, copied; /* in all simulations that were predicted */

static int probe_init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_policy_init(s, view, args, sizeof(struct probe));
    struct probe *probe = s->state;
    code = code ? code : sy_rehearsal_init(&probe->stage, probe->base.arena, view);
    for (size_t i = 0; !code && i < SY_COUNT(usual); i++) {
        probe->actors[i] = (struct sy_scheduler){.ops = usual[i]};
        code = usual[i]->init(&probe->actors[i], view, "");
    }
    return code;
}

static void probe_finish(struct sy_scheduler *s) {
    struct probe *probe = s->state;
    for (size_t i = 0; i < SY_COUNT(usual); i++) {
        usual[i]->finish(&probe->actors[i]);
    }
    sy_rehearsal_finish(&probe->stage);
    sy_policy_finish(s);
}

static void probe_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct probe *probe = s->state;
    assert_true(sy_rehearsal_fits(&probe->stage, view, job));
    for (size_t i = 0; i < SY_COUNT(usual); i++) {
        predicted_ns[i] = sy_rehearsal_run(&probe->stage, view, job, &probe->actors[i]);
    }
}

static uint32_t probe_decide(struct sy_scheduler *s, const struct sy_view *view,
                             struct sy_decision *ret, uint32_t capacity) {
    (void)s, (void)capacity;
    const struct sy_view_job *last = &view->jobs[view->job_count - 1]; /* of those that are there */
    for (uint32_t t = 0; t < last->first_task + last->task_count; t++) {
        for (uint32_t d = 0; sy_task_open(view, t) && d < view->machine->device_count; d++) {
            if (isfinite(sy_estimate_time_ns(view, t, d))) {
                *ret = (struct sy_decision){.kind = SY_RUN, .task = t, .device = d};
                return 1;
            }
        }
    }
    return 0;
}

static const struct sy_scheduler_ops probe_ops = {.name = "probe",
                                                  .init = probe_init,
                                                  .finish = probe_finish,
                                                  .job_arrived = probe_arrived,
                                                  .decide = probe_decide};

/* To the nanosecond: the same world, driven with the same times. */
static void check_predicted(const struct fixture *f, const char *what, bool contention) {
    struct sy_sim_options options = {.seed = 1, .contention = contention};
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    struct sy_sim_result result;
    assert_int_equal(sy_sim_run_ops(sim, &probe_ops, NULL, &result, NULL), 0);
    for (size_t i = 0; i < SY_COUNT(usual); i++) {
        assert_int_equal(sy_sim_run(sim, usual[i]->name, &result, NULL), 0);
        if (!(fabs(predicted_ns[i] - result.makespan_ns) <= 1)) {
            fail_msg("%s, %s%s: predicted %.12g ns, took %.12g", what, usual[i]->name,
                     contention ? ", shared" : "", predicted_ns[i], result.makespan_ns);
        }
        configured += result.reconfigure_count;
        copied += result.transfer_count;
    }
    sy_sim_destroy(sim);
}

static void check_alone(const struct fixture *f, const char *what) {
    check_predicted(f, what, false);
}

static void check_shared(const struct fixture *f, const char *what) {
    check_predicted(f, what, true);
}

static void rehearsals_predict(void **state) {
    (void)state;
    each_instance(check_alone);
    each_instance(check_shared);
    assert_true(copied > 1000);
}

/* Regions of one board wait for its one port. */
static void rehearsals_know_the_port(void **state) {
    static const char *const boards[] = {"cpu:2 fpga:1@regions=3", "cpu:1 gpu:1 fpga:2@regions=4",
                                         "2x(cpu:2 dram:10GB/s) fpga:1@regions=2"};
    (void)state;
    configured = 0;
    for (size_t m = 0; m < SY_COUNT(boards); m++) {
        each_graph(boards[m], check_alone);
        each_graph(boards[m], check_shared);
    }
    assert_true(configured > 1000);
}

/* A job of one task that runs does not keep the next one from being rehearsed. */
static void rehearsals_go_beside_a_single_task(void **state) {
    (void)state;
    struct fixture f;
    struct sy_sim_options options = {.seed = 1};
    struct sy_sim_result result;
    fixture_init(&f, "cpu:4 gpu:2@pcie3x16");
    fixture_add(&f, fixture_graph("independent:1,work=1000ms"), 0, 0, 1);
    fixture_add(&f, fixture_graph("cholesky:6"), 1e6, 0, 1);
    fixture_seal(&f);
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    assert_int_equal(sy_sim_run_ops(sim, &probe_ops, NULL, &result, NULL), 0); /* asserts it fits */
    for (size_t i = 0; i < SY_COUNT(usual); i++) {
        assert_true(isfinite(predicted_ns[i]) && predicted_ns[i] > 1e6);
    }
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static uint32_t regrets; /* instances that were looked at */

/* --- regret -------------------------------------------------------------------------------------
 */
/* A plan for tasks of some ten microseconds takes longer than it saves: they are bound late. */
static bool is_planned_for(const struct sy_workload *w) {
    double sum_ns = 0;
    for (uint32_t t = 0; t < w->task_count; t++) {
        sum_ns += w->best_ns[t];
    }
    return sum_ns > 5e4 * w->task_count;
}

static void check_regret(const struct fixture *f, const char *what) {
    if (!is_planned_for(f->workload)) {
        return;
    }
    regrets++;
    double ours = makespan_ns(f->workload, "symphony", 0, 1);
    for (size_t i = 0; i < SY_COUNT(usual); i++) {
        double theirs = makespan_ns(f->workload, usual[i]->name, 0, 1);
        if (ours > 1.01 * theirs) {
            fail_msg("%s: %.9g ns, %s %.9g", what, ours, usual[i]->name, theirs);
        }
    }
}

static void no_usual_policy_is_better(void **state) {
    (void)state;
    regrets = 0;
    each_instance(check_regret);
    assert_true(regrets > 20);
}

static void check_same(const struct fixture *f, const char *what) {
    double first = makespan_ns(f->workload, "symphony", 0.3, 7);
    if (first != makespan_ns(f->workload, "symphony", 0.3, 7)) {
        fail_msg("%s: two runs, two makespans", what);
    }
}

static void same_seed_same_decisions(void **state) {
    (void)state;
    each_instance(check_same);
}

/* --- what it says, and what it takes ------------------------------------------------------------
 */
static unsigned long guards[SY_GUARD_PLAN + 1], allocated;

static uint32_t watched_decide(struct sy_scheduler *s, const struct sy_view *view,
                               struct sy_decision *ret, uint32_t capacity) {
    unsigned long before = allocations;
    uint32_t count = sy_policy_symphony.decide(s, view, ret, capacity);
    allocated += allocations - before;
    for (uint32_t i = 0; i < count; i++) {
        guards[ret[i].reason.guard] += ret[i].kind == SY_RUN;
    }
    return count;
}

static void watched_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    unsigned long before = allocations;
    sy_policy_symphony.job_arrived(s, view, job);
    allocated += allocations - before;
}

static void watch_jobs(struct fixture *f, double noise, uint64_t seed) {
    struct sy_scheduler_ops ops = sy_policy_symphony;
    struct sy_sim_options options = {.seed = seed, .noise_sigma = noise};
    struct sy_sim_result result;
    ops.decide = watched_decide;
    ops.job_arrived = watched_arrived;
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    memset(guards, 0, sizeof guards);
    allocated = 0;
    assert_int_equal(sy_sim_run_ops(sim, &ops, NULL, &result, NULL), 0);
    sy_sim_destroy(sim);
    fixture_finish(f);
}

static void watch(const char *spec, double noise, uint64_t seed) {
    struct fixture f;
    fixture_one(&f, "cpu:12 gpu:4@pcie3x16", spec);
    watch_jobs(&f, noise, seed);
}

static void plans_are_named(void **state) {
    (void)state;
    watch("cholesky:8", 0, 1);
    assert_int_equal(guards[SY_GUARD_PLAN], 120);
    assert_int_equal(guards[SY_GUARD_FALLBACK], 0);
    assert_int_equal(allocated, 0);
}

static void spread_makes_it_fall_back(void **state) {
    (void)state;
    unsigned long fell = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        watch("layered:width=40,depth=6,work=2000ms,seed=2", 0.6, seed);
        assert_int_equal(allocated, 0);
        fell += guards[SY_GUARD_FALLBACK] > 0;
    }
    print_message("# fell back in %lu of 5 worlds\n", fell);
    assert_true(fell >= 1);
}

/* Of a job that comes long after two others, which met or did not; then comes the last. */
static unsigned long planned_in_stream(const char *long_one, double second_ns, const char *last) {
    struct fixture f;
    fixture_init(&f, "cpu:4 gpu:1@pcie3x16");
    fixture_add(&f, fixture_graph(long_one), 0, 0, 1);
    fixture_add(&f, fixture_graph("cholesky:4"), second_ns, 0, 1);
    fixture_add(&f, fixture_graph("cholesky:5"), 100e9, 0, 1);
    fixture_add(&f, fixture_graph(last), 200e9, 0, 1);
    fixture_seal(&f);
    watch_jobs(&f, 0, 1);
    return guards[SY_GUARD_PLAN];
}

static void plans_do_not_pay_in_every_stream(void **state) {
    (void)state;
    const char *large = "independent:20000"; /* too many for rehearsals */
    assert_true(planned_in_stream("cholesky:4", 1, "cholesky:4") >= 35);
    assert_int_equal(planned_in_stream("cholesky:4", 50e9, large), 0);
    assert_true(planned_in_stream("chain:3000", 50e9, "cholesky:4") >= 55);
    assert_true(planned_in_stream("chain:3000", 1, "cholesky:4") < 35);
    watch("independent:20001", 0, 1);
    assert_true(guards[SY_GUARD_PLAN] > 20000);
}

/* --- the load of others -------------------------------------------------------------------------
 */

/* Whether the first decision about a job follows a plan, where others fill the memory of the first
 * node by that much, and of the tasks that wait for nothing at most so many are ready. */
static bool is_planned(const char *graph, double others_bytes_per_s, uint32_t ready_most) {
    struct fixture f;
    struct view v;
    struct sy_reading readings[16];
    struct sy_scheduler scheduler = {.ops = &sy_policy_symphony, .seed = 1};
    struct sy_decision decisions[64];
    fixture_one(&f, "4x(cpu:2 dram:8GB/s)", graph);
    view_open(&v, f.workload);
    for (uint32_t r = 0; r < SY_COUNT(readings); r++) {
        readings[r] = (struct sy_reading){.at_ns = 1};
    }
    uint32_t memory = f.machine->memories[f.machine->devices[0].memory].resource;
    readings[memory].bytes_per_s = readings[memory].others_bytes_per_s = others_bytes_per_s;
    v.view.readings = readings;
    v.view.posterior = true;
    v.view.now_ns = 1;
    v.jobs[0].work_left_ns = 1e12;
    assert_int_equal(scheduler.ops->init(&scheduler, &v.view, ""), 0);
    scheduler.ops->job_arrived(&scheduler, &v.view, 0);
    for (uint32_t t = 0; t < f.workload->task_count; t++) {
        if (v.view.pred_start[t] == v.view.pred_start[t + 1] && ready_most > 0) {
            ready_most--;
            v.task_state[t] = SY_TASK_READY;
            scheduler.ops->task_ready(&scheduler, &v.view, t);
        }
    }
    uint32_t count = scheduler.ops->decide(&scheduler, &v.view, decisions, SY_COUNT(decisions));
    assert_true(count > 0);
    bool planned = decisions[0].reason.guard == SY_GUARD_PLAN;
    scheduler.ops->finish(&scheduler);
    view_close(&v);
    fixture_finish(&f);
    return planned;
}

/* On equal devices a plan could choose by others' load alone, and that changes. */
static void load_on_equal_devices_is_not_planned(void **state) {
    (void)state;
    assert_true(is_planned("stencil:6", 0, UINT32_MAX));
    assert_false(is_planned("stencil:6", 7e9, UINT32_MAX));
}

/* Tasks that cores run, out of 60 that take a GPU 1 ms each and a core 40: with four cores all are
 * done 4 ms sooner, if none of those is late. */
static uint32_t count_on_cores(double log_sigma) {
    struct fixture f;
    struct sy_trace trace;
    struct sy_kernel_desc kernel = {.name = "k"};
    sy_kernel_id id;
    sy_task_id task;
    uint32_t count = 0;
    kernel.variants[SY_CPU] =
        (struct sy_variant){.present = true, .fixed_ns = 40e6, .log_sigma = log_sigma};
    kernel.variants[SY_GPU] =
        (struct sy_variant){.present = true, .fixed_ns = 1e6, .log_sigma = log_sigma};
    struct sy_graph *graph = sy_graph_create("lopsided", true);
    assert_non_null(graph);
    assert_int_equal(sy_graph_add_kernel(graph, &kernel, &id), 0);
    for (uint32_t i = 0; i < 60; i++) {
        struct sy_task_desc desc = {.kernel = id};
        assert_int_equal(sy_graph_add_task(graph, &desc, &task), 0);
    }
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    fixture_init(&f, "cpu:4 gpu:1");
    fixture_add(&f, graph, 0, 0, 1);
    fixture_seal(&f);
    fixture_simulate(f.workload, "symphony", &trace);
    for (uint32_t t = 0; t < 60; t++) {
        const struct sy_span *span = fixture_span(&trace, SY_SPAN_TASK, t);
        const struct sy_device *device = &f.machine->devices[span->place];
        count += device->kind == SY_CPU;
    }
    sy_trace_finish(&trace);
    fixture_finish(&f);
    return count;
}

static void cores_do_not_hold_up_a_gpu(void **state) {
    (void)state;
    assert_int_equal(count_on_cores(0), 4);
    assert_int_equal(count_on_cores(0.1), 0);
}

/* What waits though nothing is known that it waits for: a chain, perhaps, that a plan would deal
 * out to all devices. One or two may just be on their way. */
static void unknown_dependencies_are_not_planned(void **state) {
    (void)state;
    static const char wide[] = "layered:width=40,depth=2,seed=1";
    assert_true(is_planned(wide, 0, UINT32_MAX));
    assert_true(is_planned(wide, 0, 38));
    assert_false(is_planned(wide, 0, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rehearsals_predict),
        cmocka_unit_test(rehearsals_know_the_port),
        cmocka_unit_test(rehearsals_go_beside_a_single_task),
        cmocka_unit_test(no_usual_policy_is_better),
        cmocka_unit_test(same_seed_same_decisions),
        cmocka_unit_test(plans_are_named),
        cmocka_unit_test(spread_makes_it_fall_back),
        cmocka_unit_test(plans_do_not_pay_in_every_stream),
        cmocka_unit_test(load_on_equal_devices_is_not_planned),
        cmocka_unit_test(cores_do_not_hold_up_a_gpu),
        cmocka_unit_test(unknown_dependencies_are_not_planned),
    };
    return cmocka_run_group_tests_name("schedulers_symphony", tests, NULL, NULL);
}
