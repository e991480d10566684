/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads for the tests of policies and simulator; see fixture.h.
 */
#include "fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_ok(int code, const struct sy_error *error) {
    char text[900];
    if (code) {
        fail_msg("%d: %s", code, sy_error_format(error, text, sizeof text));
    }
}

struct sy_machine *fixture_machine(const char *text) {
    struct sy_error error = {0};
    struct sy_machine *machine = NULL;
    assert_ok(sy_machine_parse(text, &machine, &error), &error);
    return machine;
}

struct sy_graph *fixture_graph(const char *spec) {
    struct sy_error error = {0};
    struct sy_graph *graph = NULL;
    assert_ok(sy_graph_generate(spec, &graph, &error), &error);
    return graph;
}

void fixture_init(struct fixture *f, const char *machine) {
    *f = (struct fixture){.machine = fixture_machine(machine)};
}

void fixture_add(struct fixture *f, struct sy_graph *adopted, double arrive_ns, uint32_t tenant,
                 double weight) {
    assert_true(f->job_count < FIXTURE_JOBS);
    f->jobs[f->job_count++] = (struct sy_job){adopted, arrive_ns, tenant, weight};
}

void fixture_seal(struct fixture *f) {
    struct sy_error error = {0};
    struct sy_workload_options options = {.accelerate = true, .accelerate_seed = 7};
    assert_ok(sy_workload_create(f->machine, f->jobs, f->job_count, &options, &f->workload, &error),
              &error);
}

void fixture_one(struct fixture *f, const char *machine, const char *spec) {
    fixture_init(f, machine);
    fixture_add(f, fixture_graph(spec), 0, 0, 1);
    fixture_seal(f);
}

void fixture_finish(struct fixture *f) {
    sy_workload_destroy(f->workload);
    for (uint32_t j = 0; j < f->job_count; j++) {
        sy_graph_destroy((struct sy_graph *)(uintptr_t)f->jobs[j].graph);
    }
    sy_machine_destroy(f->machine);
    *f = (struct fixture){0};
}

struct sy_sim *fixture_sim(const struct sy_workload *workload,
                           const struct sy_sim_options *options) {
    struct sy_error error = {0};
    struct sy_sim *sim = NULL;
    assert_ok(sy_sim_create(workload, options, &sim, &error), &error);
    return sim;
}

struct sy_sim_result fixture_run(struct sy_sim *sim, const struct sy_workload *workload,
                                 const char *policy) {
    struct sy_error error = {0};
    struct sy_sim_result result = {0};
    char text[900];
    int code = sy_sim_run(sim, policy, &result, &error);
    if (!code && sy_sim_trace(sim)->count) {
        code = sy_sim_check(workload, sy_sim_trace(sim), &error);
    }
    if (code) {
        fail_msg("%s: %d: %s", policy, code, sy_error_format(&error, text, sizeof text));
    }
    return result;
}

struct sy_sim_result fixture_simulate(const struct sy_workload *workload, const char *policy,
                                      struct sy_trace *ret_trace) {
    struct sy_sim_options options = {.seed = 1, .record = true};
    struct sy_sim *sim = fixture_sim(workload, &options);
    struct sy_sim_result result = fixture_run(sim, workload, policy);
    if (ret_trace) {
        const struct sy_trace *trace = sy_sim_trace(sim);
        *ret_trace = (struct sy_trace){0};
        assert_int_equal(sy_trace_reserve(ret_trace, trace->count), 0);
        memcpy(ret_trace->spans, trace->spans, trace->count * sizeof *trace->spans);
        ret_trace->count = trace->count;
    }
    sy_sim_destroy(sim);
    result.device_busy_ns = result.memory_peak_bytes = NULL;
    result.jobs = NULL;
    return result;
}

const struct sy_span *fixture_span(const struct sy_trace *trace, enum sy_span_kind kind,
                                   uint32_t subject) {
    for (uint32_t i = 0; i < trace->count; i++) {
        if (trace->spans[i].kind == kind && trace->spans[i].subject == subject) {
            return &trace->spans[i];
        }
    }
    return NULL;
}

/* Names of tasks in errors come from a graph. */
static struct sy_graph *stand_in(uint32_t task_count) {
    struct sy_error error = {0};
    struct sy_graph *graph = sy_graph_create("by hand", true);
    sy_kernel_id kernel;
    struct sy_kernel_desc desc = {.name = "any"};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    assert_non_null(graph);
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    for (uint32_t t = 0; t < task_count; t++) {
        sy_task_id task;
        struct sy_task_desc one = {.kernel = kernel, .work = 1};
        assert_int_equal(sy_graph_add_task(graph, &one, &task), 0);
    }
    assert_ok(sy_graph_seal(graph, &error), &error);
    return graph;
}

struct sy_graph *fixture_complete(struct instance *instance) {
    struct sy_workload *w = instance->workload;
    struct sy_arena *arena = instance->arena;
    size_t pairs = w->class_count + 1u;
    struct sy_graph *graph = stand_in(w->task_count);
    struct sy_device *devices = (struct sy_device *)(uintptr_t)instance->machine->devices;
    struct sy_device_class *classes =
        (struct sy_device_class *)(uintptr_t)instance->machine->classes;
    for (uint32_t d = 0; d < instance->machine->device_count; d++) {
        devices[d].host_memory = devices[d].memory;
        devices[d].group = d;
    }
    for (uint32_t c = 0; c < w->class_count; c++) {
        classes[c].name = "any";
        classes[c].speed_ratio = 1;
    }
    instance->machine->group_count = instance->machine->device_count;
    w->kernel_count = 1;
    w->kernel_names = sy_arena_alloc(arena, 1, sizeof *w->kernel_names);
    w->kernel_interference = sy_arena_alloc(arena, 1, sizeof *w->kernel_interference);
    w->kernel_names[0] = w->kernel_interference[0] = "any";
    w->task_kernel = sy_arena_alloc(arena, w->task_count + 1u, sizeof *w->task_kernel);
    w->log_sigma = sy_arena_alloc(arena, pairs, sizeof *w->log_sigma);
    w->demand_bytes_per_s = sy_arena_alloc(arena, pairs, sizeof *w->demand_bytes_per_s);
    w->link_demand_bytes_per_s = sy_arena_alloc(arena, pairs, sizeof *w->link_demand_bytes_per_s);
    w->watts = sy_arena_alloc(arena, pairs, sizeof *w->watts);
    w->image_ns = sy_arena_alloc(arena, 1, sizeof *w->image_ns);
    w->job_isolated_ns = sy_arena_alloc(arena, 1, sizeof *w->job_isolated_ns);
    w->jobs[0].graph = graph;
    w->jobs[0].weight = 1;
    w->job_isolated_ns[0] = sy_cost_isolated_ns(w, 0);
    return graph;
}
