/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a run: it comes back the same, and each way it can be wrong is told at its place.
 */
#include "../base/check.h"
#include "graph/graph.h"
#include "sample.h"
#include "topology/topology.h"
#include <errno.h>
#include <string.h>

static struct sy_buffer written(const struct sy_record *record) {
    struct sy_buffer buffer = {0};
    sy_record_write(record, &buffer);
    assert_false(buffer.failed);
    return buffer;
}

static void assert_same(double found, double expected) {
    if (!(found == expected || (isnan(found) && isnan(expected)))) {
        fail_msg("%.17g, not %.17g", found, expected);
    }
}

static void compare_tasks(const struct sy_record *a, const struct sy_record *b) {
    for (uint32_t t = 0; t < a->graph->task_count; t++) {
        const struct sy_record_task *x = &a->tasks[t], *y = &b->tasks[t];
        assert_int_equal(x->device, y->device);
        assert_same(x->submitted_ns, y->submitted_ns);
        assert_same(x->ready_ns, y->ready_ns);
        assert_same(x->start_ns, y->start_ns);
        assert_same(x->end_ns, y->end_ns);
        assert_same(x->predicted_ns, y->predicted_ns);
        for (uint32_t c = 0; c < a->machine->class_count; c++) {
            size_t cell = (size_t)t * a->machine->class_count + c;
            assert_same(a->model_ns[cell], b->model_ns[cell]);
        }
    }
}

static void compare_decisions(const struct sy_record *a, const struct sy_record *b) {
    assert_int_equal(a->decision_count, b->decision_count);
    for (uint32_t i = 0; i < a->decision_count; i++) {
        const struct sy_decided *x = &a->decisions[i], *y = &b->decisions[i];
        assert_same(x->at_ns, y->at_ns);
        assert_same(x->priority, y->priority);
        assert_int_equal(x->task, y->task);
        assert_int_equal(x->device, y->device);
        assert_int_equal(x->ready_count, y->ready_count);
        assert_int_equal(x->alternative_count, y->alternative_count);
        assert_int_equal(x->reason.guard, y->reason.guard);
        assert_same(x->reason.finish_ns, y->reason.finish_ns);
        assert_same(x->reason.correction_ns, y->reason.correction_ns);
        assert_same(x->reason.slowdown, y->reason.slowdown);
        assert_same(x->reason.slowdown_sd, y->reason.slowdown_sd);
        assert_same(x->reason.utilisation, y->reason.utilisation);
        for (uint32_t k = 0; k < x->alternative_count; k++) {
            const struct sy_alternative *p = &x->alternatives[k], *q = &y->alternatives[k];
            assert_int_equal(p->device, q->device);
            assert_same(p->queue_ns, q->queue_ns);
            assert_same(p->inputs_ns, q->inputs_ns);
            assert_same(p->exec_ns, q->exec_ns);
            assert_same(p->finish_ns, q->finish_ns);
            assert_same(p->log_sigma, q->log_sigma);
        }
    }
}

static void compare_rest(const struct sy_record *a, const struct sy_record *b) {
    assert_string_equal(a->spec, b->spec);
    assert_string_equal(a->policy, b->policy);
    assert_string_equal(a->runtime, b->runtime);
    assert_string_equal(a->host, b->host);
    assert_string_equal(a->date, b->date);
    assert_same(a->makespan_ns, b->makespan_ns);
    assert_same(a->energy_joules, b->energy_joules);
    assert_true(!a->energy_source == !b->energy_source);
    assert_same(a->result_error, b->result_error);
    assert_same(a->result_tolerance, b->result_tolerance);
    assert_same(a->decision_p50_ns, b->decision_p50_ns);
    assert_same(a->decision_p99_ns, b->decision_p99_ns);
    uint32_t memories = a->machine->memory_count;
    for (uint32_t i = 0; i < memories * memories; i++) {
        assert_same(a->moved_bytes[i], b->moved_bytes[i]);
    }
    assert_int_equal(a->trace.count, b->trace.count);
    for (uint32_t i = 0; i < a->trace.count; i++) {
        const struct sy_span *x = &a->trace.spans[i], *y = &b->trace.spans[i];
        assert_true(x->kind == y->kind && x->subject == y->subject && x->place == y->place &&
                    x->from == y->from && x->start_ns == y->start_ns && x->end_ns == y->end_ns &&
                    x->bytes == y->bytes);
    }
}

static void test_comes_back(void **state) {
    (void)state;
    static const char *const graphs[] = {"cholesky:4", "lu:3", "layered:4,depth=3", "fft:2"};
    static const char *const machines[] = {"cpu:1", "cpu:2 gpu:1", "2x(cpu:2) gpu:2@streams=2",
                                           "cpu:3 gpu:1 fpga:1@regions=2"};
    struct sy_rng rng = seeded_rng(1);
    for (uint32_t round = 0; round < 60; round++) {
        struct sy_record *record =
            sample_record(graphs[sy_rng_below(&rng, 4)], machines[sy_rng_below(&rng, 4)], &rng);
        struct sy_record *back = NULL;
        struct sy_error error = {0};
        struct sy_buffer text = written(record);
        if (sy_record_read_text("run", text.text, text.length, &back, &error) < 0) {
            fail_msg("%u:%u: %s", error.line, error.column, error.message);
        }
        compare_tasks(record, back);
        compare_decisions(record, back);
        compare_rest(record, back);
        struct sy_buffer again = written(back);
        assert_string_equal(text.text, again.text);
        sy_buffer_finish(&text);
        sy_buffer_finish(&again);
        sy_record_destroy(record);
        sy_record_destroy(back);
    }
}

/* Times of a real clock are rounded to whole ns, once. */
static void test_rounds_once(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(2);
    struct sy_record *record = sample_record("cholesky:2", "cpu:1", &rng), *back = NULL;
    struct sy_error error = {0};
    record->tasks[0].submitted_ns = 0.4;
    record->tasks[1].submitted_ns = 1234.56;
    record->tasks[2].submitted_ns = -3.2;
    struct sy_buffer text = written(record);
    assert_int_equal(sy_record_read_text("run", text.text, text.length, &back, &error), 0);
    assert_true(back->tasks[0].submitted_ns == 0);
    assert_true(back->tasks[1].submitted_ns == 1235);
    assert_true(back->tasks[2].submitted_ns == -3);
    sy_buffer_finish(&text);
    sy_record_destroy(record);
    sy_record_destroy(back);
}

static void test_large(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(3);
    struct sy_record *record = sample_record("cholesky:40", "cpu:16 gpu:1", &rng), *back = NULL;
    struct sy_error error = {0};
    assert_true(record->graph->task_count > 10000);
    struct sy_buffer text = written(record);
    print_message("# %u tasks, %u decisions: %zu bytes\n", record->graph->task_count,
                  record->decision_count, text.length);
    assert_int_equal(sy_record_read_text("run", text.text, text.length, &back, &error), 0);
    compare_tasks(record, back);
    compare_decisions(record, back);
    sy_buffer_finish(&text);
    sy_record_destroy(record);
    sy_record_destroy(back);
}

/* --- wrong records ---------------------------------------------------------------------------- */
#define MACHINE                                                                                    \
    "\"machine\": {\"schema\": \"symph-machine-1\", \"name\": \"m\",\n"                            \
    " \"memories\": [{\"name\": \"ram\", \"host\": true}],\n"                                      \
    " \"devices\": [{\"name\": \"c0\", \"kind\": \"cpu\", \"memory\": \"ram\"}]},\n"
#define GRAPH                                                                                      \
    "\"graph\": {\"schema\": \"symph-graph-1\", \"kernels\": [{\"name\": \"k\",\n"                 \
    " \"variants\": {\"cpu\": {\"fixed_ns\": 1}}}], \"data\": [{\"bytes\": 8}],\n"                 \
    " \"tasks\": [{\"kernel\": \"k\", \"writes\": [0]}, {\"kernel\": \"k\", \"reads\": [0]}]},\n"
#define HEAD "{\"schema\": \"symph-run-1\",\n\"makespan_ns\": 5,\n" MACHINE GRAPH
#define ROWS "\"model_ns\": [[1], [null]],\n\"tasks\": [[0,0,0,1,2,1],\n[null,0,0,null,null,1]]"

static void refuse(const char *text, uint32_t line, uint32_t column, const char *part) {
    struct sy_record *record = NULL;
    struct sy_error error = {0};
    int code = sy_record_read_text("f.json", text, strlen(text), &record, &error);
    if (code != -EINVAL || record || error.line != line || error.column != column ||
        !strstr(error.message, part) || strcmp(error.file, "f.json") != 0) {
        fail_msg("%d: %s:%u:%u: %s, not %u:%u: ... %s", code, error.file, error.line, error.column,
                 error.message, line, column, part);
    }
}

static void test_least(void **state) {
    (void)state;
    struct sy_record *record = NULL;
    struct sy_error error = {0};
    const char *text = HEAD ROWS "}";
    assert_int_equal(sy_record_read_text("f", text, strlen(text), &record, &error), 0);
    assert_string_equal(record->policy, "");
    assert_null(record->energy_source);
    assert_true(isnan(record->energy_joules) && isnan(record->result_error));
    assert_int_equal(record->decision_count, 0);
    assert_int_equal(record->tasks[1].device, SY_NONE);
    sy_record_destroy(record);
    text = "{\"schema\": \"symph-run-1\", \"makespan_ns\": 0, " MACHINE
           "\"graph\": {\"schema\": \"symph-graph-1\", \"tasks\": []}, \"model_ns\": [], "
           "\"tasks\": []}";
    assert_int_equal(sy_record_read_text("f", text, strlen(text), &record, NULL), 0);
    struct sy_buffer again = written(record);
    sy_buffer_finish(&again);
    sy_record_destroy(record);
}

static void test_refuses_shape(void **state) {
    (void)state;
    refuse("", 1, 1, "expected a value");
    refuse("[]", 1, 1, "expected an object");
    refuse("{\"spec\": \"x\"}", 1, 1, "lacks \"schema\"");
    refuse("{\"schema\": \"symph-graph-1\"}", 1, 12, "is not the record of a run");
    refuse("{\"schema\": \"symph-run-1\", \"polcy\": 1}", 1, 27, "no member \"polcy\"");
    refuse("{\"schema\": \"symph-run-1\",\n\"tasks\": []}", 2, 1, "before \"machine\"");
    refuse(HEAD ROWS ",\n\"makespan_ns\": 5}", 12, 1, "appears twice");
    refuse(HEAD "\"model_ns\": [[1], [1]]}", 1, 1, "lacks \"tasks\"");
    refuse("{\"schema\": \"symph-run-1\"}", 1, 1, "lacks \"makespan_ns\"");
    refuse(HEAD ROWS "} 1", 11, 26, "end of the text");
}

/* What is wrong inside the machine or the graph is told where it stands in the whole. */
static void test_refuses_parts(void **state) {
    (void)state;
    refuse("{\"schema\": \"symph-run-1\",\n \"machine\": {\"schema\": \"m\"}}", 2, 24,
           "is not a machine");
    refuse("{\"schema\": \"symph-run-1\",\n \"machine\": {\"schema\": \"symph-machine-1\",\n"
           "  \"nam\": 1}}",
           3, 3, "no member");
    refuse("{\"schema\": \"symph-run-1\",\n \"graph\": {\"schema\": \"symph-graph-1\"}}", 2, 11,
           "lacks \"tasks\"");
    refuse("{\"schema\": \"symph-run-1\", \"graph\": []}", 1, 36, "an object");
    refuse("{\"schema\": \"symph-run-1\", \"graph\": {\"a\"}}", 1, 40, "expected ':'");
}

static void test_refuses_rows(void **state) {
    (void)state;
    refuse(HEAD "\"model_ns\": [[1]]}", 9, 13, "1 rows, but the graph has 2 tasks");
    refuse(HEAD "\"model_ns\": [[1], [1],\n[1]]}", 10, 1, "more rows");
    refuse(HEAD "\"model_ns\": [[1, 2]]}", 9, 15, "too long");
    refuse(HEAD "\"model_ns\": [[]]}", 9, 14, "too short");
    refuse(HEAD "\"model_ns\": [[-1]]}", 9, 15, "cannot be negative");
    refuse(HEAD "\"model_ns\": [[\"never\"]]}", 9, 15, "expected a number, null or \"inf\"");
    refuse(HEAD "\"tasks\": [[1,0,0,1,2,1]]}", 9, 12, "there is no device 1");
    refuse(HEAD "\"tasks\": [[0.5,0,0,1,2,1]]}", 9, 12, "there is no device 0.5");
    refuse(HEAD "\"tasks\": [[0,0,0,2,1,1]]}", 9, 11, "ends before it starts");
    refuse(HEAD "\"tasks\": [[0,0,0,null,1,1]]}", 9, 11, "or none of them");
    refuse(HEAD "\"tasks\": [[null,0,0,1,1,1]]}", 9, 11, "or none of them");
    refuse(HEAD "\"tasks\": [[0,0,0,1]]}", 9, 18, "\"end_ns\" is missing");
    refuse(HEAD "\"decisions\": [[0,2,0,1,1,[]]]}", 9, 18, "there is no task 2");
    refuse(HEAD "\"decisions\": [[0,1,0,1,1]]}", 9, 24, "\"alternatives\" is missing");
    refuse(HEAD "\"decisions\": [[0,1,0,1,1,[[1,0,0,0,0,0]]]]}", 9, 28, "no device 1");
    refuse(HEAD "\"moved_bytes\": [[0,1,5]]}", 9, 20, "there is no memory 1");
    refuse(HEAD "\"moved_bytes\": [[0,0,-5]]}", 9, 22, "bytes is -5");
    refuse(HEAD "\"trace\": [[\"tsk\",0,0,0,1]]}", 9, 12, "not a kind of span");
    refuse(HEAD "\"trace\": [[\"task\",0,0,5,1]]}", 9, 11, "ends before");
    refuse(HEAD "\"trace\": [[\"transfer\",0,0,0,1]]}", 9, 29, "too short");
    refuse(HEAD "\"trace\": [[\"stall\",2,0,0,1]]}", 9, 20, "there is no task 2");
}

/* A file that is cut short or has wrong bytes is refused with a message, or is another record. */
static void test_survives_damage(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(4);
    struct sy_record *record = sample_record("cholesky:2", "cpu:2 gpu:1", &rng);
    struct sy_buffer text = written(record);
    for (uint32_t round = 0; round < 3000; round++) {
        size_t length = round % 2 ? text.length : sy_rng_below(&rng, (uint32_t)text.length);
        char *copy = malloc(length + 1);
        assert_non_null(copy);
        memcpy(copy, text.text, length);
        for (uint32_t i = 0; round % 2 && i < 1 + sy_rng_below(&rng, 3); i++) {
            static const char bytes[] = "0129-.,:[]{}\"enu\n\\";
            copy[sy_rng_below(&rng, (uint32_t)length)] = bytes[sy_rng_below(&rng, sizeof bytes)];
        }
        struct sy_record *back = NULL;
        struct sy_error error = {0};
        if (sy_record_read_text("f", copy, length, &back, &error) < 0) {
            assert_true(error.message[0] && !back && error.line > 0);
        } else {
            sy_record_destroy(back);
        }
        free(copy);
    }
    sy_buffer_finish(&text);
    sy_record_destroy(record);
}

/* Four thousand classes times many tasks, in a file that cannot hold their times. */
static void test_refuses_bombs(void **state) {
    (void)state;
    struct sy_buffer text = {0};
    sy_buffer_printf(&text, "{\"schema\": \"symph-run-1\",\n\"machine\": {\"schema\": "
                            "\"symph-machine-1\", \"memories\": [{\"name\": \"r\", \"host\": "
                            "true}], \"devices\": [");
    for (uint32_t i = 0; i < 4096; i++) {
        sy_buffer_printf(&text,
                         "%s{\"name\":\"%u\",\"kind\":\"cpu\",\"memory\":\"r\","
                         "\"speed_ratio\":%u}",
                         i ? "," : "", i, i + 1);
    }
    sy_buffer_printf(&text, "]},\n\"graph\": {\"schema\": \"symph-graph-1\", \"kernels\": "
                            "[{\"name\":\"k\"}], \"tasks\": [");
    for (uint32_t i = 0; i < 1000; i++) {
        sy_buffer_printf(&text, "%s{\"kernel\":0}", i ? "," : "");
    }
    sy_buffer_printf(&text, "]}}");
    refuse(text.text, 3, 10, "too short for 1000 tasks on 4096 classes");
    sy_buffer_finish(&text);
}

static void test_file(void **state) {
    (void)state;
    struct sy_record *record = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_record_read_file("/nonexistent/run.json", &record, &error), -ENOENT);
    assert_true(error.message[0]);
}

/* --- its trace ---------------------------------------------------------------------------------
 */
static struct sy_record *traced(const char *machine, const double (*times)[2], uint32_t count) {
    struct sy_error error = {0};
    struct sy_record *record = sy_record_create();
    assert_non_null(record);
    assert_int_equal(sy_graph_generate("independent:4", &record->graph, &error), 0);
    assert_int_equal(sy_machine_parse(machine, &record->machine, &error), 0);
    assert_int_equal(record->graph->task_count, count);
    record->tasks = sy_arena_alloc(record->arena, count, sizeof *record->tasks);
    for (uint32_t t = 0; t < count; t++) {
        record->tasks[t] = (struct sy_record_task){.start_ns = times[t][0], .end_ns = times[t][1]};
    }
    assert_int_equal(sy_record_add_trace(record, NULL), 0);
    return record;
}

static void check_spans(const struct sy_record *record, const struct sy_span *spans,
                        uint32_t count) {
    assert_int_equal(record->trace.count, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_span *span = &record->trace.spans[i];
        assert_int_equal(span->kind, spans[i].kind);
        assert_int_equal(span->subject, spans[i].subject);
        assert_true(span->start_ns == spans[i].start_ns && span->end_ns == spans[i].end_ns);
    }
}

/* What begins and ends on a core while it has another made that stand aside, each time for as long;
 * a moment between two of those is no part. */
static void test_parts(void **state) {
    (void)state;
    static const double times[][2] = {{0, 10e6}, {2e6, 3e6}, {3.1e6, 4e6}, {7e6, 8e6}};
    static const struct sy_span spans[] = {
        {.kind = SY_SPAN_PART, .subject = 0, .start_ns = 0, .end_ns = 2e6},
        {.kind = SY_SPAN_TASK, .subject = 1, .start_ns = 2e6, .end_ns = 3e6},
        {.kind = SY_SPAN_TASK, .subject = 2, .start_ns = 3.1e6, .end_ns = 4e6},
        {.kind = SY_SPAN_PART, .subject = 0, .start_ns = 4e6, .end_ns = 7e6},
        {.kind = SY_SPAN_TASK, .subject = 3, .start_ns = 7e6, .end_ns = 8e6},
        {.kind = SY_SPAN_TASK, .subject = 0, .start_ns = 8e6, .end_ns = 10e6},
    };
    struct sy_record *record = traced("cpu:1", times, SY_COUNT(times));
    check_spans(record, spans, SY_COUNT(spans));
    assert_true(fabs(record->tasks[0].aside_ns - 3e6) < 1);
    assert_true(fabs(sy_record_took_ns(&record->tasks[0]) - 7e6) < 1);
    assert_true(record->tasks[1].aside_ns == 0);
    sy_record_destroy(record);
}

/* An accelerator that is told of a task early runs it afterwards. */
static void test_no_parts_elsewhere(void **state) {
    (void)state;
    static const double times[][2] = {{0, 10}, {2, 20}, {12, 25}, {25, 26}};
    static const struct sy_span spans[] = {
        {.kind = SY_SPAN_TASK, .subject = 0, .start_ns = 0, .end_ns = 10},
        {.kind = SY_SPAN_TASK, .subject = 1, .start_ns = 10, .end_ns = 20},
        {.kind = SY_SPAN_TASK, .subject = 2, .start_ns = 20, .end_ns = 25},
        {.kind = SY_SPAN_TASK, .subject = 3, .start_ns = 25, .end_ns = 26},
    };
    static const char *const machines[] = {"gpu:1@pcie3x16", "cpu:1"};
    for (uint32_t m = 0; m < SY_COUNT(machines); m++) {
        struct sy_record *record = traced(machines[m], times, SY_COUNT(times));
        check_spans(record, spans, SY_COUNT(spans));
        assert_true(record->tasks[1].start_ns == 10 && record->tasks[1].aside_ns == 0);
        sy_record_destroy(record);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back),    cmocka_unit_test(test_rounds_once),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_least),
        cmocka_unit_test(test_refuses_shape), cmocka_unit_test(test_refuses_parts),
        cmocka_unit_test(test_refuses_rows),  cmocka_unit_test(test_survives_damage),
        cmocka_unit_test(test_refuses_bombs), cmocka_unit_test(test_file),
        cmocka_unit_test(test_parts),         cmocka_unit_test(test_no_parts_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
