/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waits for whom in the record of somebody else's program: by the order of submission and the
 * modes of access, whether or not a task had ended when the next was submitted. No StarPU runs
 * here.
 */
#include "../base/check.h"
#include "engine/starpu/recorder.h"
#include "graph/graph.h"
#include <string.h>

/* What shared.c would define: see engine/starpu/shared.h. */
struct shared sy_shared;
double shared_now_ns(void) {
    return 0;
}

#define TASKS 16u

static struct note_access accesses[TASKS];
static struct note notes[RECORDER_BLOCK];
static struct note *blocks[] = {notes};
static struct row row = {.name = "kernel"};
static double bytes[] = {8};
static struct sy_graph *graph;
static struct note_edge declared[] = {{1, 2}, {2, 3}};
static uint32_t declared_count;

/* One access of one datum per letter: read, write, commute, reduce, or as the program likes. */
static void submit(const char *orders) {
    uint32_t order[TASKS], count = (uint32_t)strlen(orders);
    struct sy_error error = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint16_t how = (uint16_t)(strchr("urwcx", orders[i]) - "urwcx");
        accesses[i] = (struct note_access){0, how == NOTE_READS ? SY_READ : SY_READ_WRITE, how};
        notes[i] = (struct note){.row = &row, .number = i, .access_start = i, .access_count = 1};
        order[i] = i;
    }
    struct recorder recorder = {.edges = declared,
                                .edge_count = declared_count,
                                .blocks = blocks,
                                .count = count,
                                .accesses = accesses,
                                .access_count = count,
                                .data_bytes = bytes,
                                .data_count = 1};
    assert_int_equal(recorder_graph(&recorder, order, count, "test", &graph, &error), 0);
    assert_int_equal(graph->task_count, count);
}

/* "0,1": the predecessors of a task. */
static void expect(uint32_t task, const char *wanted) {
    char found[256] = "";
    for (uint32_t e = graph->pred_start[task]; e < graph->pred_start[task + 1]; e++) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%s%u", length ? "," : "", graph->pred[e]);
    }
    assert_string_equal(found, wanted);
}

static void readers_wait_for_the_writer(void **state) {
    (void)state;
    submit("wrrwr");
    expect(1, "0");
    expect(2, "0");
    expect(3, "0,1,2");
    expect(4, "3");
    assert_string_equal(graph->tasks[4].name, "kernel #4");
    /* What it reads is what the last writer left. */
    assert_int_equal(graph->access_producer[graph->tasks[4].access_start], 3);
    sy_graph_destroy(graph);
}

static void groups_do_not_wait_for_each_other(void **state) {
    (void)state;
    static const char *const cases[] = {"wcccr", "wxxxr"};
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        submit(cases[i]);
        expect(1, "0");
        expect(2, "0");
        expect(3, "0");
        expect(4, "1,2,3");
        sy_graph_destroy(graph);
    }
    submit("rccrc");
    expect(1, "0");
    expect(2, "0");
    expect(3, "1,2");
    expect(4, "1,2,3");
    sy_graph_destroy(graph);
    submit("wrcc");
    expect(2, "0,1");
    expect(3, "0,1");
    assert_int_equal(graph->access_producer[graph->tasks[3].access_start], 0);
    sy_graph_destroy(graph);
    submit("cxw");
    expect(1, "0");
    expect(2, "1");
    sy_graph_destroy(graph);
}

static void what_the_program_orders_is_not_ordered_here(void **state) {
    (void)state;
    submit("wuuw");
    expect(1, "");
    expect(2, "");
    expect(3, "0");
    sy_graph_destroy(graph);
}

static void what_it_declares_is(void **state) {
    (void)state;
    declared_count = 2;
    submit("wuuw");
    declared_count = 0;
    expect(1, "");
    expect(2, "1");
    expect(3, "0,2");
    sy_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_wait_for_the_writer),
        cmocka_unit_test(groups_do_not_wait_for_each_other),
        cmocka_unit_test(what_the_program_orders_is_not_ordered_here),
        cmocka_unit_test(what_it_declares_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
