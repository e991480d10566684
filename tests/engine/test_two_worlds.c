/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy cannot tell which world it decides for: on the same run, told the same readings, it
 * decides the same in the simulator and in a live world.
 *
 * The simulator runs a stream of jobs under a policy. A second instance of that policy, in a live
 * world, is told of every event as a runtime would tell it, and is asked whenever the first one
 * is. Before each answer both views must be alike, and then both answers: tasks, devices, order,
 * priorities and expected times, to the last bit.
 *
 * Three differences between the worlds are by design, and are levelled:
 * - A live world does not know what kernels draw from memories and links: this is hidden from the
 *   simulator's policy, too. They do draw, and slow each other.
 * - It bounds a job's time alone roughly, by work over devices, as it has no time for the
 *   simulator's linear program: the simulator is given the rough bound.
 * - It has no FPGA regions: the machine has none.
 * A live world that is told other readings decides otherwise, so that this test can fail.
 */
#include "../schedulers/fixture.h"
#include "engine/live.h"
#include "sim/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ANSWER_MOST    4096
#define ACCESSES_MOST  64
#define RESOURCES_MOST 64

struct answer {
    struct sy_decision decisions[ANSWER_MOST];
    uint32_t count;
};

struct pair {
    const struct sy_workload *w;
    const struct sy_sim *sim;
    struct sy_scheduler policy; /* of the simulator */
    const char *args;
    struct sy_live *live;
    struct sy_reading readings[RESOURCES_MOST]; /* of the live world */
    double others_ratio; /* what others take, as the live world hears, over what is believed */
    double *no_demand;   /* per kernel and class */
    bool *begun;         /* per task: the live world has heard that it executes */
    bool asked;          /* the live world has answered, the simulator's policy not yet fully */
    struct answer said, live_said;
    bool parted;   /* they differed: the live world is left behind */
    uint32_t runs; /* decided before */
};

/* The device takes its next task and begins it. */
static uint32_t take_next(struct sy_live *live, uint32_t device) {
    uint32_t task = sy_live_hand(live, device);
    if (task != SY_NONE) {
        sy_live_begin(live, task);
    }
    return task;
}

static void expect(bool same, const char *what, uint32_t index) {
    if (!same) {
        fail_msg("%s %u differs between the worlds", what, index);
    }
}

/* --- the live world follows --------------------------------------------------------------------
 */
static void lay_job(struct sy_live *live, const struct sy_workload *w, uint32_t job) {
    sy_live_begin_job(live, w->jobs[job].tenant, w->jobs[job].weight);
    for (uint32_t t = w->job_first_task[job]; t < w->job_first_task[job + 1]; t++) {
        struct sy_live_access accesses[ACCESSES_MOST];
        uint32_t first = w->access_start[t], count = w->access_start[t + 1] - first;
        assert_in_range(count, 0, ACCESSES_MOST);
        for (uint32_t i = 0; i < count; i++) {
            accesses[i] =
                (struct sy_live_access){w->access[first + i].datum, w->access[first + i].mode,
                                        w->access_producer[first + i]};
        }
        struct sy_live_task task = {.kernel = w->task_kernel[t],
                                    .accesses = accesses,
                                    .access_count = count,
                                    .preds = w->pred + w->pred_start[t],
                                    .pred_count = w->pred_start[t + 1] - w->pred_start[t],
                                    .time_ns = w->time_ns + (size_t)t * w->class_count};
        assert_int_equal(sy_live_add_task(live, &task), t);
    }
    sy_live_end_job(live);
}

static struct sy_live *new_live(const struct sy_workload *w, const char *policy, uint64_t seed,
                                const struct sy_reading *readings) {
    struct sy_live *live = NULL;
    struct sy_error error = {0};
    struct sy_live_options options = {.machine = w->machine,
                                      .policy = policy,
                                      .seed = seed,
                                      .task_capacity = w->task_count,
                                      .explain = true,
                                      .readings = readings};
    if (sy_live_create(&options, &live, &error)) {
        fail_msg("%s: %s", policy, error.message);
    }
    for (uint32_t d = 0; d < w->data_count; d++) {
        assert_int_equal(sy_live_add_datum(live, w->data_bytes[d], w->data_home[d]), d);
    }
    for (uint32_t k = 0; k < w->kernel_count; k++) {
        for (uint32_t c = 0; c < w->class_count; c++) {
            sy_live_set_kernel(live, k, c, w->log_sigma[(size_t)k * w->class_count + c]);
        }
    }
    return live;
}

static void begin(struct pair *p, uint32_t task, uint32_t device, double at_ns) {
    double now_ns = sy_live_view(p->live)->now_ns;
    if (!p->begun[task]) {
        p->begun[task] = true;
        sy_live_clock(p->live, at_ns);
        sy_live_started(p->live, task, device);
        sy_live_clock(p->live, now_ns);
    }
}

/* What no callback tells: readings, copies that have arrived, tasks that have been started. */
static void catch_up(struct pair *p, const struct sy_view *view) {
    const struct sy_view *live = sy_live_view(p->live);
    sy_live_clock(p->live, view->now_ns);
    for (uint32_t r = 0; r < view->machine->resource_count; r++) {
        p->readings[r] = view->readings[r];
        p->readings[r].others_bytes_per_s *= p->others_ratio;
    }
    for (uint32_t t = 0; t < p->w->job_first_task[live->job_count]; t++) {
        if (view->task_state[t] >= SY_TASK_READY && live->task_state[t] == SY_TASK_WAITING &&
            live->task_device[t] != SY_NONE) {
            sy_live_ready(p->live, t); /* it was committed before */
        }
    }
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        uint32_t task = view->devices[d].running;
        if (task != SY_NONE && live->devices[d].running == SY_NONE) {
            expect(take_next(p->live, d) == task, "the next task of device", d);
        }
        if (sy_world_executes(&p->sim->world, d)) {
            begin(p, task, d, p->sim->world.devices[d].phase_start_ns);
        }
    }
    for (uint32_t d = 0; d < p->w->data_count; d++) {
        sy_live_set_valid(p->live, d, view->data_valid[d]);
    }
}

static void same_views(const struct pair *p, const struct sy_view *view) {
    const struct sy_view *live = sy_live_view(p->live);
    assert_int_equal(view->job_count, live->job_count);
    for (uint32_t j = 0; j < view->job_count; j++) {
        const struct sy_view_job *a = &view->jobs[j], *b = &live->jobs[j];
        expect(a->first_task == b->first_task && a->task_count == b->task_count &&
                   a->tasks_left == b->tasks_left && a->tenant == b->tenant &&
                   a->weight == b->weight,
               "job", j);
        expect(a->arrive_ns == b->arrive_ns && a->isolated_ns == b->isolated_ns &&
                   a->work_left_ns == b->work_left_ns,
               "the time of job", j);
    }
    for (uint32_t t = 0; t < p->w->job_first_task[view->job_count]; t++) {
        expect(view->task_state[t] == live->task_state[t], "the state of task", t);
        expect(view->task_device[t] == live->task_device[t], "the device of task", t);
    }
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_view_device *a = &view->devices[d], *b = &live->devices[d];
        expect(a->running == b->running && a->queue_length == b->queue_length &&
                   a->queued_ns == b->queued_ns && a->lost == b->lost,
               "device", d);
        expect(a->running == SY_NONE || a->running_end_ns == b->running_end_ns,
               "the end of the task on device", d);
    }
    for (uint32_t d = 0; d < p->w->data_count; d++) {
        expect(view->data_valid[d] == live->data_valid[d], "the place of datum", d);
        expect(view->data_inflight[d] == live->data_inflight[d], "the way of datum", d);
    }
}

static void append(struct answer *answer, const struct sy_decision *decision) {
    assert_true(answer->count < ANSWER_MOST);
    answer->decisions[answer->count++] = *decision;
}

/* An idle device begins at once, as in the simulator. */
static void on_told(void *context, uint32_t task, uint32_t device, bool fetch) {
    struct pair *p = context;
    if (fetch) {
        append(&p->live_said,
               &(struct sy_decision){.kind = SY_FETCH, .task = task, .device = device});
    } else if (sy_live_view(p->live)->devices[device].running == SY_NONE) {
        take_next(p->live, device);
    }
}

static void on_taken_back(void *context, uint32_t task) {
    struct pair *p = context;
    append(&p->live_said, &(struct sy_decision){.kind = SY_RECALL, .task = task});
}

static void on_decided(void *context, const struct sy_decided *d) {
    struct pair *p = context;
    append(&p->live_said, &(struct sy_decision){.kind = SY_RUN,
                                                .task = d->task,
                                                .device = d->device,
                                                .priority = d->priority,
                                                .expected_ns = d->alternatives[0].exec_ns});
}

/* --- the simulator's policy, with a listener in front --------------------------------------------
 */
/* Without what a live world does not tell. */
static struct sy_view seen(const struct pair *p, const struct sy_view *view) {
    struct sy_view seen = *view;
    seen.demand_bytes_per_s = seen.link_demand_bytes_per_s = p->no_demand;
    seen.readings = p->policy.ops->needs_readings ? view->readings : NULL;
    return seen;
}

static int on_init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    struct pair *p = s->state;
    struct sy_view here = seen(p, view);
    (void)args;
    return p->policy.ops->init(&p->policy, &here, p->args);
}

static void on_finish(struct sy_scheduler *s) {
    struct pair *p = s->state;
    p->policy.ops->finish(&p->policy);
}

static void on_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct pair *p = s->state;
    struct sy_view here = seen(p, view);
    if (!p->parted) {
        catch_up(p, view);
        lay_job(p->live, p->w, job);
    }
    if (p->policy.ops->job_arrived) {
        p->policy.ops->job_arrived(&p->policy, &here, job);
    }
}

static void on_left(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct pair *p = s->state; /* the live world has told its policy when the last task ended */
    struct sy_view here = seen(p, view);
    if (p->policy.ops->job_left) {
        p->policy.ops->job_left(&p->policy, &here, job);
    }
}

static void on_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct pair *p = s->state;
    struct sy_view here = seen(p, view);
    /* The live world said so itself of what it took back. */
    bool again = !p->parted && sy_live_view(p->live)->task_state[task] >= SY_TASK_READY;
    if (!p->parted && !again) {
        catch_up(p, view);
        sy_live_ready(p->live, task);
    }
    if (p->policy.ops->task_ready) {
        p->policy.ops->task_ready(&p->policy, &here, task);
    }
}

static void on_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                    uint32_t device, double duration_ns) {
    struct pair *p = s->state;
    struct sy_view here = seen(p, view);
    if (!p->parted) {
        catch_up(p, view);
        begin(p, task, device, view->now_ns - duration_ns);
        sy_live_done(p->live, task, duration_ns);
    }
    if (p->policy.ops->task_done) {
        p->policy.ops->task_done(&p->policy, &here, task, device, duration_ns);
    }
}

static void ask_live(struct pair *p, const struct sy_view *view) {
    struct sy_live_listener listener = {p, on_told, on_taken_back, on_decided};
    catch_up(p, view);
    same_views(p, view);
    sy_live_decide(p->live, &listener);
    if (sy_live_failure(p->live)) {
        fail_msg("%s", sy_live_failure(p->live));
    }
}

static bool same_decision(const struct sy_decision *a, const struct sy_decision *b) {
    bool same = a->kind == b->kind && a->task == b->task;
    if (a->kind == SY_RECALL) { /* a live world says whose it is no more, and not whose it was */
        return same;
    }
    return same && a->device == b->device &&
           (a->kind == SY_FETCH ||
            (a->priority == b->priority && a->expected_ns == b->expected_ns));
}

static void compare(struct pair *p) {
    p->parted = p->said.count != p->live_said.count;
    for (uint32_t i = 0; i < p->said.count && !p->parted; i++) {
        p->parted = !same_decision(&p->said.decisions[i], &p->live_said.decisions[i]);
    }
}

static uint32_t on_decide(struct sy_scheduler *s, const struct sy_view *view,
                          struct sy_decision *ret, uint32_t capacity) {
    struct pair *p = s->state;
    struct sy_view here = seen(p, view);
    if (!p->asked && !p->parted) {
        p->said.count = p->live_said.count = 0;
        p->asked = true;
        ask_live(p, view);
    }
    uint32_t count = p->policy.ops->decide(&p->policy, &here, ret, capacity);
    for (uint32_t i = 0; i < count && !p->parted; i++) {
        append(&p->said, &ret[i]);
        p->runs += ret[i].kind == SY_RUN;
        p->runs -= ret[i].kind == SY_RECALL;
    }
    if (!count && !p->parted) {
        p->asked = false;
        compare(p);
    }
    return count;
}

static const struct sy_scheduler_ops listening = {.name = "listening",
                                                  .needs_readings = true,
                                                  .init = on_init,
                                                  .finish = on_finish,
                                                  .job_arrived = on_arrived,
                                                  .job_left = on_left,
                                                  .task_ready = on_ready,
                                                  .task_done = on_done,
                                                  .decide = on_decide};

/* --- runs --------------------------------------------------------------------------------------
 */
/* What a live world knows roughly, the simulator is to know no better. */
static void level(struct sy_workload *w) {
    struct sy_live *live = new_live(w, "eager", 0, NULL);
    for (uint32_t j = 0; j < w->job_count; j++) {
        lay_job(live, w, j);
        w->job_isolated_ns[j] = sy_live_view(live)->jobs[j].isolated_ns;
    }
    sy_live_destroy(live);
}

static struct pair *run_both(const struct sy_workload *w, const char *policy, uint64_t seed,
                             double others_ratio) {
    struct sy_sim_options options = {.seed = seed,
                                     .noise_sigma = 0.2,
                                     .contention = true,
                                     .hidden_load = 0.5,
                                     .throttle = 0.1,
                                     .counter_noise = 0.3,
                                     .counter_live = 4,
                                     .counter_period_ns = 2e5,
                                     .belief = SY_SIM_FILTERED};
    struct sy_error error = {0};
    struct sy_sim_result result;
    struct pair *p = calloc(1, sizeof *p);
    struct sy_sim *sim = fixture_sim(w, &options);
    assert_non_null(p);
    assert_in_range(w->machine->resource_count, 1, RESOURCES_MOST);
    p->w = w;
    p->sim = sim;
    p->others_ratio = others_ratio;
    p->policy =
        (struct sy_scheduler){.ops = sy_scheduler_find(policy, &p->args, &error), .seed = seed};
    p->begun = calloc(w->task_count, sizeof *p->begun);
    p->no_demand = calloc((size_t)w->kernel_count * w->class_count, sizeof *p->no_demand);
    p->live = new_live(w, policy, seed, p->readings);
    assert_true(p->policy.ops && p->begun && p->no_demand);
    if (sy_sim_run_ops(sim, &listening, p, &result, &error)) {
        fail_msg("%s: %s", policy, error.message);
    }
    sy_live_destroy(p->live);
    sy_sim_destroy(sim);
    free(p->begun);
    free(p->no_demand);
    return p;
}

static const struct stream {
    const char *machine;
    struct {
        const char *graph;
        double arrive_ns;
    } jobs[FIXTURE_JOBS];
} streams[] = {
    {"2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16",
     {{"genomics:6,regions=4", 0}, {"layered:6,depth=12,seed=3", 1e7}, {"cholesky:6", 3e7}}},
    /* One after the other: each has the machine for itself. */
    {"cpu:4@smt=2 gpu:2@pcie3x16",
     {{"cholesky:8", 0}, {"lu:6", 2e9}, {"genomics:8,regions=6", 4e9}}},
    /* So many kinds of places that late binding keeps its figures. */
    {"6x(cpu:2 dram:20GB/s) gpu:4@pcie3x16",
     {{"qr:6", 0},
      {"layered:8,depth=10,seed=5", 2e6},
      {"forkjoin:10,phases=4", 4e6},
      {"cholesky:6", 6e6},
      {"layered:6,depth=12,seed=8", 2e8}}},
};

static const char *const reading[] = {"lb-cont+srpt", "learned", "symphony"};

static void open_stream(struct fixture *f, const struct stream *stream) {
    fixture_init(f, stream->machine);
    for (uint32_t j = 0; j < FIXTURE_JOBS && stream->jobs[j].graph; j++) {
        fixture_add(f, fixture_graph(stream->jobs[j].graph), stream->jobs[j].arrive_ns, j % 3,
                    1 + j % 2);
    }
    fixture_seal(f);
    level(f->workload);
}

/* Those that decide about tasks before they are ready; these queue in the simulator, and their
 * inputs travel, in an order that a runtime does not keep to. And one whose first guesses depend on
 * the room for kernels. */
static bool differs_by_design(const char *policy) {
    static const char *const names[] = {"heft", "cpop", "peft", "lookahead", "anneal", "paragon"};
    bool found = false;
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        found |= !strcmp(policy, names[i]);
    }
    return found;
}

static void agree(const struct sy_workload *w, const char *policy, uint64_t seed) {
    struct pair *p = run_both(w, policy, seed, 1);
    if (p->parted || p->runs != w->task_count) {
        fail_msg("%s, seed %u: the worlds part after %u of %u tasks", policy, (unsigned)seed,
                 p->runs, w->task_count);
    }
    free(p);
}

static void worlds_agree(void **state) {
    (void)state;
    for (uint32_t i = 0; i < SY_COUNT(streams); i++) {
        struct fixture f;
        open_stream(&f, &streams[i]);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            for (uint32_t k = 0; k < SY_COUNT(reading); k++) {
                agree(f.workload, reading[k], seed);
            }
        }
        for (uint32_t k = 0; sy_scheduler_at(k); k++) {
            const struct sy_scheduler_ops *ops = sy_scheduler_at(k);
            if (!ops->needs_truth && !differs_by_design(ops->name)) {
                agree(f.workload, ops->name, 4);
            }
        }
        fixture_finish(&f);
    }
}

static void other_readings_other_decisions(void **state) {
    (void)state;
    struct fixture f;
    open_stream(&f, &streams[0]);
    for (uint32_t k = 0; k < SY_COUNT(reading); k++) {
        struct pair *p = run_both(f.workload, reading[k], 1, 0);
        assert_true(p->parted && p->runs < f.workload->task_count);
        free(p);
    }
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worlds_agree),
        cmocka_unit_test(other_readings_other_decisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
