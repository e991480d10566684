/* SPDX-License-Identifier: Apache-2.0
 *
 * The live world, played by a small runtime of its own: every policy hands out each task once,
 * after its predecessors, to a device that can run it; also when the world is exchanged under way,
 * when a device is lost, and when what is ahead is not known. And what happens to a policy that
 * cheats.
 */
#include "../base/check.h"
#include "engine/live.h"
#include "graph/graph.h"
#include "schedulers/schedulers.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct play {
    struct sy_machine *machine;
    struct sy_graph *graph;
    const char *policy;
    struct sy_rng rng;
    struct sy_live *live;
    uint32_t *index;   /* of each task in the present world; SY_NONE: not in it */
    uint32_t *task_of; /* and back */
    uint32_t *missing; /* predecessors that have not ended */
    uint8_t *state;    /* enum sy_task_state */
    bool *committed;
    uint32_t *device;
    double *end_ns;    /* per device: of what it runs; INFINITY: idle */
    uint32_t *running; /* per device */
    double now_ns;
    uint32_t done, told, decided, taken_back;
};

static void on_told(void *context, uint32_t task, uint32_t device, bool fetch) {
    struct play *p = context;
    uint32_t t = p->task_of[task];
    if (!fetch) {
        assert_int_equal(p->state[t], SY_TASK_READY);
        p->committed[t] = true;
        p->device[t] = device;
        p->told++;
    }
}

/* Ready, and nobody's again. */
static void on_taken_back(void *context, uint32_t task) {
    struct play *p = context;
    uint32_t t = p->task_of[task];
    assert_int_equal(p->state[t], SY_TASK_READY);
    assert_true(p->committed[t]);
    assert_int_equal(sy_live_view(p->live)->task_device[task], SY_NONE);
    p->committed[t] = false;
    p->taken_back++;
}

static void on_decided(void *context, const struct sy_decided *d) {
    struct play *p = context;
    p->decided++;
    assert_in_range(d->alternative_count, 1, SY_ALTERNATIVE_MAX);
    assert_int_equal(d->alternatives[0].device, d->device);
    for (uint32_t i = 0; i < d->alternative_count; i++) {
        const struct sy_alternative *a = &d->alternatives[i];
        assert_true(a->queue_ns >= 0 && a->inputs_ns >= 0 && isfinite(a->exec_ns));
        assert_true(a->finish_ns >= a->exec_ns);
        assert_true(i == 0 || a->device != d->device);
    }
}

static void ask(struct play *p) {
    struct sy_live_listener listener = {p, on_told, on_taken_back, on_decided};
    sy_live_clock(p->live, p->now_ns);
    sy_live_decide(p->live, &listener);
    if (sy_live_failure(p->live)) {
        fail_msg("%s", sy_live_failure(p->live));
    }
}

static void times_of(const struct play *p, uint32_t task, double *ret_ns) {
    for (uint32_t c = 0; c < p->machine->class_count; c++) {
        ret_ns[c] = sy_graph_time_ns(p->graph, task, p->machine->classes[c].kind);
    }
}

static struct sy_live *new_world(struct play *p, uint32_t room) {
    struct sy_error error = {0};
    struct sy_live *live = NULL;
    struct sy_live_options options = {.machine = p->machine,
                                      .policy = p->policy,
                                      .seed = 7,
                                      .task_capacity = room,
                                      .explain = true};
    int code = sy_live_create(&options, &live, &error);
    if (code) {
        fail_msg("%s: %s", p->policy, error.message);
    }
    sy_live_clock(live, p->now_ns);
    for (uint32_t d = 0; d < p->graph->data_count; d++) {
        assert_int_equal(sy_live_add_datum(live, p->graph->data_bytes[d], 1), d);
    }
    return live;
}

/* Adds a task to the open job; inside: predecessors of the same job are named. */
static void add(struct play *p, struct sy_live *live, uint32_t task, uint32_t *index, bool inside) {
    const struct sy_graph *g = p->graph;
    struct sy_live_access accesses[64];
    uint32_t preds[64], pred_count = 0, access_count = 0;
    double time_ns[8];
    times_of(p, task, time_ns);
    for (uint32_t a = g->tasks[task].access_start; a < g->tasks[task + 1].access_start; a++) {
        uint32_t producer = g->access_producer[a];
        bool known = inside && producer != SY_NONE && index[producer] != SY_NONE;
        accesses[access_count++] = (struct sy_live_access){
            g->accesses[a].datum, g->accesses[a].mode, known ? index[producer] : SY_NONE};
    }
    for (uint32_t e = g->pred_start[task]; inside && e < g->pred_start[task + 1]; e++) {
        if (index[g->pred[e]] != SY_NONE) {
            preds[pred_count++] = index[g->pred[e]];
        }
    }
    struct sy_live_task desc = {.kernel = g->tasks[task].kernel,
                                .accesses = accesses,
                                .access_count = access_count,
                                .preds = preds,
                                .pred_count = pred_count,
                                .time_ns = time_ns};
    index[task] = sy_live_add_task(live, &desc);
    assert_true(index[task] != SY_NONE);
}

static void rebuild_back(struct play *p) {
    for (uint32_t t = 0; t < p->graph->task_count; t++) {
        if (p->index[t] != SY_NONE) {
            p->task_of[p->index[t]] = t;
        }
    }
}

/* Lays all that has not ended as one job of a new world, as the planner does. */
static void exchange(struct play *p) {
    uint32_t count = p->graph->task_count, *index = calloc(count, sizeof *index);
    struct sy_live *live = new_world(p, 2 * count + 8);
    sy_live_begin_job(live, 0, 1);
    for (uint32_t i = 0; i < count; i++) {
        index[i] = SY_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = p->graph->order[i];
        if (p->state[t] != SY_TASK_DONE) {
            add(p, live, t, index, true);
        }
    }
    sy_live_end_job(live);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = p->graph->order[i];
        uint32_t old = p->index[t];
        if (p->state[t] == SY_TASK_READY || p->state[t] == SY_TASK_RUNNING) {
            bool runs = p->state[t] == SY_TASK_RUNNING, placed = runs || p->committed[t];
            sy_live_restore(live, index[t],
                            runs              ? SY_RESTORE_RUNNING
                            : p->committed[t] ? SY_RESTORE_COMMITTED
                                              : SY_RESTORE_READY,
                            p->device[t], placed ? sy_live_priority(p->live, old) : 0,
                            placed ? sy_live_expected_ns(p->live, old) : 0);
        }
    }
    if (p->live) {
        sy_live_restore_load(live, p->live);
        sy_live_destroy(p->live);
    }
    p->live = live;
    free(p->index);
    p->index = index;
    rebuild_back(p);
}

static void become_ready(struct play *p, uint32_t task) {
    p->state[task] = SY_TASK_READY;
    if (p->index[task] == SY_NONE) {
        if (sy_live_room(p->live) == 0) {
            exchange(p); /* lays this one too, and restores it as ready */
            return;
        }
        sy_live_begin_job(p->live, 0, 1);
        add(p, p->live, task, p->index, false);
        sy_live_end_job(p->live);
        p->task_of[p->index[task]] = task;
    }
    sy_live_ready(p->live, p->index[task]);
}

/* The device takes its next task and begins it. */
static uint32_t take_next(struct sy_live *live, uint32_t device) {
    uint32_t task = sy_live_hand(live, device);
    if (task != SY_NONE) {
        sy_live_begin(live, task);
    }
    return task;
}

static void start_what_can(struct play *p) {
    for (uint32_t d = 0; d < p->machine->device_count; d++) {
        if (isfinite(p->end_ns[d])) {
            continue;
        }
        uint32_t index = take_next(p->live, d);
        if (index == SY_NONE) {
            continue;
        }
        uint32_t t = p->task_of[index];
        assert_int_equal(p->state[t], SY_TASK_READY);
        assert_int_equal(p->missing[t], 0);
        double ns = sy_graph_time_ns(p->graph, t, p->machine->devices[d].kind);
        assert_true(isfinite(ns));
        p->state[t] = SY_TASK_RUNNING;
        p->device[t] = d;
        p->running[d] = t;
        p->end_ns[d] = p->now_ns + ns * exp(.3 * sy_rng_normal(&p->rng));
        sy_live_started(p->live, index, d);
    }
}

/* The next end of a task, and what it makes ready. */
static bool advance(struct play *p) {
    uint32_t first = SY_NONE;
    for (uint32_t d = 0; d < p->machine->device_count; d++) {
        if (isfinite(p->end_ns[d]) && (first == SY_NONE || p->end_ns[d] < p->end_ns[first])) {
            first = d;
        }
    }
    if (first == SY_NONE) {
        return false;
    }
    uint32_t t = p->running[first];
    p->now_ns = p->end_ns[first];
    p->end_ns[first] = INFINITY;
    p->state[t] = SY_TASK_DONE;
    p->done++;
    sy_live_clock(p->live, p->now_ns);
    sy_live_done(p->live, p->index[t], 1 + p->now_ns / 10);
    p->index[t] = SY_NONE;
    for (uint32_t e = p->graph->succ_start[t]; e < p->graph->succ_start[t + 1]; e++) {
        if (--p->missing[p->graph->succ[e]] == 0) {
            become_ready(p, p->graph->succ[e]);
        }
    }
    return true;
}

static void setup(struct play *p, const char *machine, const char *graph, const char *policy,
                  uint64_t seed) {
    struct sy_error error = {0};
    *p = (struct play){.policy = policy, .rng = sy_rng_make(seed, 1, 0)};
    assert_int_equal(sy_machine_parse(machine, &p->machine, &error), 0);
    assert_int_equal(sy_graph_generate(graph, &p->graph, &error), 0);
    uint32_t tasks = p->graph->task_count, devices = p->machine->device_count;
    p->index = calloc(tasks, sizeof *p->index);
    p->task_of = calloc(2 * tasks + 16, sizeof *p->task_of);
    p->missing = calloc(tasks, sizeof *p->missing);
    p->state = calloc(tasks, 1);
    p->committed = calloc(tasks, sizeof *p->committed);
    p->device = calloc(tasks, sizeof *p->device);
    p->end_ns = calloc(devices, sizeof *p->end_ns);
    p->running = calloc(devices, sizeof *p->running);
    for (uint32_t t = 0; t < tasks; t++) {
        p->index[t] = SY_NONE;
        p->missing[t] = p->graph->pred_start[t + 1] - p->graph->pred_start[t];
    }
    for (uint32_t d = 0; d < devices; d++) {
        p->end_ns[d] = INFINITY;
    }
}

static void teardown(struct play *p) {
    sy_live_destroy(p->live);
    sy_graph_destroy(p->graph);
    sy_machine_destroy(p->machine);
    free(p->index);
    free(p->task_of);
    free(p->missing);
    free(p->state);
    free(p->committed);
    free(p->device);
    free(p->end_ns);
    free(p->running);
}

/* ahead: the whole graph is laid first; every: the world is exchanged after so many ends; 0: not.
 */
static void play(const char *machine, const char *graph, const char *policy, bool ahead,
                 uint32_t every, uint64_t seed) {
    struct play p;
    setup(&p, machine, graph, policy, seed);
    if (ahead) {
        exchange(&p);
    } else {
        p.live = new_world(&p, p.graph->task_count < 8 ? p.graph->task_count : 8);
    }
    for (uint32_t t = 0; t < p.graph->task_count; t++) {
        if (p.missing[t] == 0) {
            become_ready(&p, t);
        }
    }
    do {
        ask(&p);
        start_what_can(&p);
        ask(&p);
        start_what_can(&p);
        if (every && p.done % every == every - 1) {
            exchange(&p);
            ask(&p);
            start_what_can(&p);
        }
    } while (advance(&p));
    if (p.done != p.graph->task_count) {
        fail_msg("%s on %s, %s, ahead %d, every %u, seed %llu: %u of %u tasks ended", policy,
                 machine, graph, ahead, every, (unsigned long long)seed, p.done,
                 p.graph->task_count);
    }
    assert_true(p.decided >= p.graph->task_count);
    teardown(&p);
}

static void every_policy_finishes(void **state) {
    (void)state;
    static const char *const graphs[] = {"cholesky:5", "layered:width=6,depth=8,seed=3", "lu:4"};
    static const char *const machines[] = {"cpu:3 gpu:2@pcie3x16", "cpu:2", "cpu:1 gpu:1@pcie3x16"};
    uint32_t played = 0;
    for (uint32_t i = 0; sy_scheduler_at(i); i++) {
        const struct sy_scheduler_ops *ops = sy_scheduler_at(i);
        if (ops->needs_truth) {
            continue;
        }
        for (uint32_t g = 0; g < SY_COUNT(graphs); g++) {
            for (uint32_t m = 0; m < SY_COUNT(machines); m++) {
                play(machines[m], graphs[g], ops->name, true, 0, g);
                play(machines[m], graphs[g], ops->name, false, 0, g);
                play(machines[m], graphs[g], ops->name, true, 7, m);
                played++;
            }
        }
    }
    assert_true(played > 100);
}

static void the_clairvoyant_are_refused(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_weights weights;
    char *name;
    assert_int_not_equal(sy_live_open_policy("greedy-true", &name, &weights, &error), 0);
    assert_non_null(strstr(error.message, "simulator"));
    error = (struct sy_error){0};
    assert_int_not_equal(sy_live_open_policy("heftt", &name, &weights, &error), 0);
    assert_int_equal(sy_live_open_policy("heft", &name, &weights, &error), 0);
    assert_string_equal(name, "heft");
    free(name);
}

/* What is committed to a device that is lost goes elsewhere. */
static void lost_devices(void **state) {
    (void)state;
    static const char *const policies[] = {"eager", "dmda", "dmdas", "lb", "default", "heft"};
    for (uint32_t i = 0; i < SY_COUNT(policies); i++) {
        struct play p;
        setup(&p, "cpu:2 gpu:1@pcie3x16", "cholesky:4", policies[i], i);
        exchange(&p);
        for (uint32_t t = 0; t < p.graph->task_count; t++) {
            if (p.missing[t] == 0) {
                become_ready(&p, t);
            }
        }
        do {
            if (p.done == 4 && !isfinite(p.end_ns[2])) {
                sy_live_lost(p.live, 2, true);
            }
            ask(&p);
            start_what_can(&p);
            assert_true(!sy_live_view(p.live)->devices[2].lost || !isfinite(p.end_ns[2]));
        } while (advance(&p));
        assert_int_equal(p.done, p.graph->task_count);
        teardown(&p);
    }
}

static void higher_priority_first(void **state) {
    (void)state;
    struct play p;
    setup(&p, "cpu:1", "cholesky:2", "eager", 1);
    p.live = new_world(&p, 8);
    double ns[1] = {100};
    sy_live_begin_job(p.live, 0, 1);
    for (uint32_t t = 0; t < 3; t++) {
        sy_live_add_task(p.live, &(struct sy_live_task){.time_ns = ns});
    }
    sy_live_end_job(p.live);
    sy_live_restore(p.live, 0, SY_RESTORE_COMMITTED, 0, 1, 100);
    sy_live_restore(p.live, 1, SY_RESTORE_COMMITTED, 0, 5, 100);
    sy_live_restore(p.live, 2, SY_RESTORE_COMMITTED, 0, 5, 100);
    assert_int_equal(sy_live_view(p.live)->devices[0].queue_length, 3);
    assert_int_equal(take_next(p.live, 0), 1);
    assert_int_equal(take_next(p.live, 0), 2);
    assert_int_equal(take_next(p.live, 0), 0);
    assert_int_equal(take_next(p.live, 0), SY_NONE);
    assert_int_equal(sy_live_view(p.live)->devices[0].queue_length, 0);
    teardown(&p);
}

/* Jobs that are laid are seen by the policy once they are announced, each with its tenant. */
static void jobs_of_tenants(void **state) {
    (void)state;
    struct play p;
    setup(&p, "cpu:1", "cholesky:2", "eager", 1);
    p.live = new_world(&p, 16);
    double ns[1] = {100};
    const struct sy_view *view = sy_live_view(p.live);
    for (uint32_t j = 0; j < 3; j++) {
        uint32_t pred = 2 * j;
        sy_live_begin_job(p.live, 7 - j, 1 + j);
        assert_int_equal(sy_live_add_task(p.live, &(struct sy_live_task){.time_ns = ns}), pred);
        sy_live_add_task(p.live,
                         &(struct sy_live_task){.time_ns = ns, .preds = &pred, .pred_count = 1});
        sy_live_lay_job(p.live);
        assert_int_equal(view->job_count, 0);
    }
    sy_live_announce(p.live);
    assert_int_equal(view->job_count, 3);
    for (uint32_t j = 0; j < 3; j++) {
        assert_int_equal(view->jobs[j].tenant, 7 - j);
        assert_true(view->jobs[j].weight == 1 + j);
        assert_int_equal(view->jobs[j].task_count, 2);
        assert_int_equal(view->jobs[j].tasks_left, 2);
        assert_true(view->jobs[j].isolated_ns == 200);
        assert_int_equal(view->task_job[2 * j], j);
        assert_int_equal(view->succ[view->succ_start[2 * j]], 2 * j + 1);
    }
    sy_live_begin_job(p.live, 7, 1); /* and one that comes later */
    sy_live_add_task(p.live, &(struct sy_live_task){.time_ns = ns});
    sy_live_end_job(p.live);
    assert_int_equal(view->job_count, 4);
    assert_int_equal(view->task_job[6], 3);
    teardown(&p);
}

static void readings_for_those_who_want_them(void **state) {
    (void)state;
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_machine_parse("cpu:2 gpu:1", &machine, &error), 0);
    struct sy_reading readings[16] = {{.bytes_per_s = 1e9, .sd_bytes_per_s = 1e8}};
    const char *const policies[] = {"lb-cont", "dmda"};
    for (int i = 0; i < 2; i++) {
        struct sy_live *live = NULL;
        struct sy_live_options options = {
            .machine = machine, .policy = policies[i], .task_capacity = 4, .readings = readings};
        assert_int_equal(sy_live_create(&options, &live, &error), 0);
        assert_ptr_equal(sy_live_view(live)->readings, i == 0 ? readings : NULL);
        assert_true(sy_live_view(live)->posterior);
        assert_int_equal(sy_live_wants_readings(policies[i]), i == 0);
        sy_live_destroy(live);
    }
    assert_false(sy_live_wants_readings("no such policy"));
    sy_machine_destroy(machine);
}

/* Worlds made after the file has gone run on the weights that were read. */
static void weights_are_read_once(void **state) {
    (void)state;
    struct sy_error error = {0};
    const char *args = NULL;
    const struct sy_scheduler_ops *ops = sy_scheduler_find("learned", &args, &error);
    char path[] = "/tmp/symph-live-XXXXXX", asked[64], *name = NULL;
    int fd = mkstemp(path);
    assert_true(ops && fd >= 0);
    close(fd);
    float *block = calloc(ops->net->count, sizeof *block);
    struct sy_weights weights = {
        .kind = ops->net->kind, .shape = ops->net->shape, .block = block, .count = ops->net->count};
    assert_int_equal(sy_weights_write(path, &weights, &error), 0);
    snprintf(asked, sizeof asked, "learned+fifo@%s~guard", path);
    struct sy_weights read = {0};
    assert_int_equal(sy_live_open_policy(asked, &name, &read, &error), 0);
    assert_string_equal(name, "learned+fifo~guard");
    assert_non_null(read.memory);
    unlink(path);
    assert_int_equal(sy_live_open_policy(asked, &name, &weights, &error), -EINVAL);
    assert_string_equal(error.file, path);

    struct sy_machine *machine = NULL;
    struct sy_live *live = NULL;
    struct sy_policy_setup setup = {.weights = &read};
    assert_int_equal(sy_machine_parse("cpu:2 gpu:1", &machine, &error), 0);
    struct sy_live_options options = {
        .machine = machine, .policy = name, .task_capacity = 4, .setup = &setup};
    assert_int_equal(sy_live_create(&options, &live, &error), 0);
    sy_live_destroy(live);
    sy_weights_close(&read);
    free(name);
    assert_int_equal(sy_live_open_policy("lb+wspt", &name, &read, &error), 0);
    assert_string_equal(name, "lb+wspt");
    assert_null(read.memory);
    free(name);
    free(block);
    sy_machine_destroy(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_finishes), cmocka_unit_test(the_clairvoyant_are_refused),
        cmocka_unit_test(lost_devices),          cmocka_unit_test(higher_priority_first),
        cmocka_unit_test(jobs_of_tenants),       cmocka_unit_test(readings_for_those_who_want_them),
        cmocka_unit_test(weights_are_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
