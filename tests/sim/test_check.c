/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedule checker: legal traces of two small worlds, spoiled in one way at a time. Each must
 * be refused, with words that tell what is wrong.
 */
#include "scripted.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { CPU, CPU2, GPU };
enum { A, B, C, D };     /* tasks */
enum { INPUT, X, Y, Z }; /* data */

/* A (cpu) writes x; B (gpu) reads input and x, writes y; C (cpu) reads y; D (cpu) writes x anew.
 * The job arrives at 50. */
static void open_copies(struct fixture *f) {
    struct sy_error error = {0};
    struct sy_graph *graph = sy_graph_create("by hand", false);
    uint32_t cpu = script_kernel(graph, "cpu", 1000, 0, 0, 0);
    uint32_t gpu = script_kernel(graph, "gpu", 0, 2000, 0, 0);
    script_data(graph, 200);
    script_data(graph, 500);
    script_data(graph, 300);
    script_task(graph, cpu, (struct sy_access[]){{X, SY_WRITE}, {0, 0}});
    script_task(graph, gpu,
                (struct sy_access[]){{INPUT, SY_READ}, {X, SY_READ}, {Y, SY_WRITE}, {0, 0}});
    script_task(graph, cpu, (struct sy_access[]){{Y, SY_READ}, {0, 0}});
    script_task(graph, cpu, (struct sy_access[]){{X, SY_READ_WRITE}, {0, 0}});
    assert_int_equal(sy_graph_seal(graph, &error), 0);
    fixture_init(f, "cpu:2 gpu:1@link=1GB/s,latency=100ns dram:1000GB/s");
    fixture_add(f, graph, 50, 0, 1);
    assert_int_equal(sy_workload_create(f->machine, f->jobs, 1, NULL, &f->workload, &error), 0);
    static const uint32_t device[] = {CPU, GPU, CPU, CPU2};
    script = (struct script){.device = device, .ahead = true};
}

/* Two regions: a (first region), b (second), a and then b in the first. */
static void open_images(struct fixture *f) {
    struct sy_graph *graph = sy_graph_create("by hand", false);
    uint32_t a = script_kernel(graph, "a", 0, 0, 1000, 0);
    uint32_t b = script_kernel(graph, "b", 0, 0, 2000, 0);
    script_task(graph, a, NULL);
    script_task(graph, b, NULL);
    script_task(graph, a, NULL);
    script_task(graph, b, NULL);
    script_open(f, "fpga:1@regions=2,port=100MB/s,image=1MB,init=1ms", graph);
    static const uint32_t device[] = {0, 1, 0, 0};
    script.device = device;
}

struct spoiled {
    struct sy_trace trace;
    const struct sy_workload *workload;
};

static struct sy_span *span(struct spoiled *s, enum sy_span_kind kind, uint32_t subject) {
    struct sy_span *found = (struct sy_span *)(uintptr_t)fixture_span(&s->trace, kind, subject);
    assert_non_null(found);
    return found;
}

static void drop(struct spoiled *s, const struct sy_span *span_) {
    uint32_t at = (uint32_t)(span_ - s->trace.spans);
    memmove(s->trace.spans + at, s->trace.spans + at + 1,
            (--s->trace.count - at) * sizeof *s->trace.spans);
}

static void shift(struct sy_span *span_, double by_ns) {
    span_->start_ns += by_ns;
    span_->end_ns += by_ns;
}

/* --- one way each ----------------------------------------------------------------------------- */
static void drop_task(struct spoiled *s) {
    drop(s, span(s, SY_SPAN_TASK, C));
}
static void repeat_task(struct spoiled *s) {
    struct sy_span again = *span(s, SY_SPAN_TASK, C);
    shift(&again, 1e6);
    sy_trace_add(&s->trace, &again);
}
static void overlap(struct spoiled *s) { /* C beside D on D's core, both after their inputs */
    struct sy_span *c = span(s, SY_SPAN_TASK, C), *d = span(s, SY_SPAN_TASK, D);
    c->place = CPU2;
    shift(d, c->start_ns + 10 - d->start_ns);
}
static void overlap_aborted(struct spoiled *s) {
    struct sy_span *c = span(s, SY_SPAN_TASK, C);
    struct sy_span aborted = {c->start_ns + 10, c->end_ns, SY_SPAN_ABORTED, D, c->place,
                              SY_NONE,          0};
    sy_trace_add(&s->trace, &aborted);
}
static void before_predecessor(struct spoiled *s) {
    shift(span(s, SY_SPAN_TASK, C), -2000);
}
static void before_predecessor_without_data(struct spoiled *s) { /* D overwrites what B reads */
    shift(span(s, SY_SPAN_TASK, D), -1500);
}
static void without_copy(struct spoiled *s) {
    drop(s, span(s, SY_SPAN_TRANSFER, INPUT));
}
static void without_copy_back(struct spoiled *s) {
    drop(s, span(s, SY_SPAN_TRANSFER, Y));
}
static void before_copy_ends(struct spoiled *s) {
    struct sy_span *copy = span(s, SY_SPAN_TRANSFER, Y);
    shift(copy, 50);
}
static void old_version(struct spoiled *s) { /* x is copied before A has written it */
    struct sy_span *copy = span(s, SY_SPAN_TRANSFER, X);
    shift(copy, -200);
}
static void copy_from_nowhere(struct spoiled *s) {
    struct sy_span early = *span(s, SY_SPAN_TRANSFER, Y);
    shift(&early, -1500);
    sy_trace_add(&s->trace, &early);
}
static void copy_too_fast(struct spoiled *s) {
    span(s, SY_SPAN_TRANSFER, X)->end_ns -= 20;
}
static void copy_instant(struct spoiled *s) {
    struct sy_span *copy = span(s, SY_SPAN_TRANSFER, INPUT);
    copy->end_ns = copy->start_ns;
}
static void wrong_kind(struct spoiled *s) {
    span(s, SY_SPAN_TASK, C)->place = GPU;
}
static void before_arrival(struct spoiled *s) {
    struct sy_span *a = span(s, SY_SPAN_TASK, A);
    a->start_ns -= 40;
    a->end_ns -= 40;
}
static void no_such_device(struct spoiled *s) {
    span(s, SY_SPAN_TASK, C)->place = 17;
}
static void no_such_datum(struct spoiled *s) {
    span(s, SY_SPAN_TRANSFER, Y)->subject = 99;
}
static void no_such_memory(struct spoiled *s) {
    span(s, SY_SPAN_TRANSFER, Y)->from = 99;
}
static void backwards(struct spoiled *s) {
    struct sy_span *c = span(s, SY_SPAN_TASK, C);
    c->end_ns = c->start_ns - 1;
}
static void no_time(struct spoiled *s) {
    span(s, SY_SPAN_TASK, C)->end_ns = __builtin_nan("");
}
static void incomplete(struct spoiled *s) {
    s->trace.failed = true;
}

static void wrong_image(struct spoiled *s) {
    span(s, SY_SPAN_RECONFIGURE, 0)->subject = 1;
}
static void no_image(struct spoiled *s) {
    drop(s, span(s, SY_SPAN_RECONFIGURE, 1));
}
static void image_too_late(struct spoiled *s) {
    struct sy_span *run = span(s, SY_SPAN_TASK, 0);
    shift(run, -500);
}
static void image_replaced(struct spoiled *s) { /* the last task wants b, but a is loaded again */
    struct sy_span *last = span(s, SY_SPAN_TASK, 3);
    struct sy_span again = *span(s, SY_SPAN_RECONFIGURE, 0);
    shift(&again, last->start_ns - again.start_ns);
    shift(last, again.end_ns - again.start_ns);
    sy_trace_add(&s->trace, &again);
}
static void port_twice(struct spoiled *s) {
    struct sy_span *second = NULL;
    for (uint32_t i = 0; i < s->trace.count; i++) {
        struct sy_span *each = &s->trace.spans[i];
        second = each->kind == SY_SPAN_RECONFIGURE && each->place == 1 ? each : second;
    }
    shift(second, -100);
}
static void runs_while_configured(struct spoiled *s) {
    struct sy_span *run = span(s, SY_SPAN_TASK, 2), *last = span(s, SY_SPAN_TASK, 3);
    shift(run, last->start_ns - 1500 - run->start_ns);
}

struct way {
    const char *name;
    void (*spoil)(struct spoiled *s);
    const char *words;
    int code;
};

static const struct way copies_ways[] = {
    {"a task is missing", drop_task, "never ran", -EINVAL},
    {"a task runs twice", repeat_task, "ran twice", -EINVAL},
    {"two at once on a core", overlap, "two things at once", -EINVAL},
    {"beside an aborted one", overlap_aborted, "two things at once", -EINVAL},
    {"before its predecessor", before_predecessor, "before a predecessor ended", -EINVAL},
    {"overwrites what is read", before_predecessor_without_data, "before a predecessor ended",
     -EINVAL},
    {"no copy of the input", without_copy, "without one of its inputs", -EINVAL},
    {"no copy back", without_copy_back, "without one of its inputs", -EINVAL},
    {"the copy ends later", before_copy_ends, "without one of its inputs", -EINVAL},
    {"a copy of the version before", old_version, "without one of its inputs", -EINVAL},
    {"copied from where it is not", copy_from_nowhere, "did not have it", -EINVAL},
    {"faster than the route", copy_too_fast, "faster than the route", -EINVAL},
    {"in no time", copy_instant, "faster than the route", -EINVAL},
    {"on a device it has no variant for", wrong_kind, "no variant", -EINVAL},
    {"before its job arrives", before_arrival, "before its job arrived", -EINVAL},
    {"no such device", no_such_device, "out of range", -EINVAL},
    {"no such datum", no_such_datum, "out of range", -EINVAL},
    {"no such memory", no_such_memory, "out of range", -EINVAL},
    {"ends before it starts", backwards, "out of range", -EINVAL},
    {"ends at no time", no_time, "out of range", -EINVAL},
    {"the record is incomplete", incomplete, "incomplete", -ENOMEM},
};

static const struct way images_ways[] = {
    {"another image", wrong_image, "another image", -EINVAL},
    {"no image", no_image, "another image", -EINVAL},
    {"runs before the image is in", image_too_late, "two things at once", -EINVAL},
    {"the image was replaced", image_replaced, "another image", -EINVAL},
    {"one port, two images at once", port_twice, "two things at once", -EINVAL},
    {"runs while it is configured", runs_while_configured, "two things at once", -EINVAL},
};

static void check_way(const struct fixture *f, const struct sy_trace *good, const struct way *way) {
    struct spoiled s = {.workload = f->workload};
    struct sy_error error = {0};
    assert_int_equal(sy_trace_reserve(&s.trace, good->count + 4), 0);
    memcpy(s.trace.spans, good->spans, good->count * sizeof *good->spans);
    s.trace.count = good->count;
    assert_int_equal(sy_sim_check(f->workload, &s.trace, &error), 0);
    way->spoil(&s);
    int code = sy_sim_check(f->workload, &s.trace, &error);
    if (code != way->code || !strstr(error.message, way->words)) {
        fail_msg("%s: %d \"%s\"", way->name, code, error.message);
    }
    sy_trace_finish(&s.trace);
}

static void check_ways(struct fixture *f, const struct way *ways, size_t count) {
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    fixture_run(sim, f->workload, "script");
    for (size_t i = 0; i < count; i++) {
        check_way(f, sy_sim_trace(sim), &ways[i]);
    }
    sy_sim_destroy(sim);
    fixture_finish(f);
}

static void spoiled_copies(void **state) {
    (void)state;
    struct fixture f;
    open_copies(&f);
    check_ways(&f, copies_ways, SY_COUNT(copies_ways));
}

static void spoiled_images(void **state) {
    (void)state;
    struct fixture f;
    open_images(&f);
    check_ways(&f, images_ways, SY_COUNT(images_ways));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spoiled_copies),
        cmocka_unit_test(spoiled_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
