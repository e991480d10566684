/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy "script"; see scripted.h.
 */
#include "scripted.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct script script;
static bool first_done;

const struct sy_scheduler_ops *__real_sy_scheduler_find(const char *name, const char **ret_args,
                                                        struct sy_error *error);
const struct sy_scheduler_ops *__wrap_sy_scheduler_find(const char *name, const char **ret_args,
                                                        struct sy_error *error);

static int init(struct sy_scheduler *scheduler, const struct sy_view *view, const char *args) {
    (void)scheduler, (void)view, (void)args;
    first_done = false;
    return 0;
}

static uint32_t place(const struct sy_view *view, uint32_t task) {
    uint32_t device = script.device[task];
    if (view->devices[device].lost) {
        device = script.fallback ? script.fallback[task] : SY_NONE;
    }
    return device != SY_NONE && view->devices[device].lost ? SY_NONE : device;
}

static struct sy_decision commitment(const struct sy_view *view, uint32_t task, uint32_t device) {
    const struct sy_machine *m = view->machine;
    bool preempt = script.preempt && view->devices[device].preemptible;
    return (struct sy_decision){
        .kind = preempt ? SY_PREEMPT : SY_RUN,
        .task = task,
        .device = device,
        .priority = script.priority ? script.priority[task] : 0,
        .expected_ns =
            view->time_ns[(size_t)task * m->class_count + m->devices[device].class_index]};
}

static uint32_t decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                       struct sy_decision *ret, uint32_t capacity) {
    (void)scheduler;
    if (script.look) {
        script.look(view);
    }
    if (!first_done && script.first_count) {
        first_done = true;
        memcpy(ret, script.first, script.first_count * sizeof *ret);
        return script.first_count;
    }
    uint32_t count = script.more ? script.more(view, ret) : 0;
    for (uint32_t t = 0; t < view->task_capacity && count < capacity && !script.idle; t++) {
        bool open = view->task_job[t] < view->job_count && view->task_device[t] == SY_NONE &&
                    (view->task_state[t] == SY_TASK_READY ||
                     (script.ahead && view->task_state[t] == SY_TASK_WAITING));
        uint32_t device = open ? place(view, t) : SY_NONE;
        if (device != SY_NONE) {
            ret[count++] = commitment(view, t, device);
        }
    }
    return count;
}

static void job_arrived(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t job) {
    (void)scheduler, (void)view, (void)job;
    if (script.plan) {
        script.plan();
    }
}

static const struct sy_scheduler_ops ops = {.name = "script",
                                            .summary = "",
                                            .needs_readings = true,
                                            .init = init,
                                            .job_arrived = job_arrived,
                                            .decide = decide};

const struct sy_scheduler_ops *__wrap_sy_scheduler_find(const char *name, const char **ret_args,
                                                        struct sy_error *error) {
    if (strcmp(name, "script") == 0) {
        *ret_args = "";
        return &ops;
    }
    return __real_sy_scheduler_find(name, ret_args, error);
}

uint32_t script_kernel(struct sy_graph *graph, const char *name, double cpu_ns, double gpu_ns,
                       double fpga_ns, double cpu_demand_bytes_per_s) {
    const double ns[] = {cpu_ns, gpu_ns, fpga_ns};
    struct sy_kernel_desc desc = {.name = name};
    sy_kernel_id id;
    for (uint32_t kind = SY_CPU; kind <= SY_FPGA; kind++) {
        desc.variants[kind] = (struct sy_variant){.present = ns[kind] > 0, .fixed_ns = ns[kind]};
    }
    desc.variants[SY_CPU].demand_bytes_per_s = cpu_demand_bytes_per_s;
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &id), 0);
    return id.index;
}

uint32_t script_data(struct sy_graph *graph, double bytes) {
    sy_data_id id;
    assert_int_equal(sy_graph_add_data(graph, NULL, bytes, &id), 0);
    return id.index;
}

uint32_t script_task(struct sy_graph *graph, uint32_t kernel, const struct sy_access *accesses) {
    struct sy_task_desc desc = {.kernel = {kernel}, .accesses = accesses};
    sy_task_id id;
    while (accesses && accesses[desc.access_count].mode) {
        desc.access_count++;
    }
    assert_int_equal(sy_graph_add_task(graph, &desc, &id), 0);
    return id.index;
}

void script_open(struct fixture *f, const char *machine, struct sy_graph *adopted) {
    struct sy_error error = {0};
    script = (struct script){0};
    assert_int_equal(sy_graph_seal(adopted, &error), 0);
    fixture_init(f, machine);
    fixture_add(f, adopted, 0, 0, 1);
    fixture_seal(f);
}

static void assert_span(const struct sy_span *span, uint32_t place_index, double start_ns,
                        double end_ns) {
    assert_non_null(span);
    assert_int_equal(span->place, place_index);
    if (fabs(span->start_ns - start_ns) > 1e-6 || fabs(span->end_ns - end_ns) > 1e-6) {
        fail_msg("subject %u: %.9g .. %.9g, by hand %.9g .. %.9g", span->subject, span->start_ns,
                 span->end_ns, start_ns, end_ns);
    }
}

void assert_ran(const struct sy_sim *sim, uint32_t task, uint32_t device, double start_ns,
                double end_ns) {
    assert_span(fixture_span(sy_sim_trace(sim), SY_SPAN_TASK, task), device, start_ns, end_ns);
}

void assert_copied(const struct sy_sim *sim, uint32_t datum, uint32_t to, double start_ns,
                   double end_ns) {
    const struct sy_trace *trace = sy_sim_trace(sim);
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct sy_span *span = &trace->spans[i];
        if (span->kind == SY_SPAN_TRANSFER && span->subject == datum && span->place == to) {
            assert_span(span, to, start_ns, end_ns);
            return;
        }
    }
    fail_msg("datum %u was not copied to memory %u", datum, to);
}

uint32_t count_spans(const struct sy_sim *sim, enum sy_span_kind kind) {
    const struct sy_trace *trace = sy_sim_trace(sim);
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        count += trace->spans[i].kind == kind;
    }
    return count;
}
