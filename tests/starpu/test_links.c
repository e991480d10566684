/* SPDX-License-Identifier: Apache-2.0
 *
 * Links are as fast as they prove to be: waits for inputs correct the routes that policies see, one
 * wild wait does not, and a policy then places a task elsewhere. No StarPU runs here: the inside of
 * the plug-in is given a machine and a world of its own.
 */
#include "../base/check.h"
#include "engine/starpu/shared.h"
#include <math.h>
#include <string.h>

#define BYTES 32e6
#define CORE  0
#define GPU   1

/* What shared.c would define: see engine/starpu/shared.h. */
struct shared sy_shared;

static struct context context;
static struct node node;

static void open_world(const char *policy) {
    struct sy_error error = {0};
    assert_int_equal(sy_machine_parse("cpu:1 gpu:1@pcie3x16", &sy_shared.machine, &error), 0);
    assert_int_equal(links_open(), 0);
    struct sy_live_options options = {
        .machine = sy_shared.machine, .policy = policy, .task_capacity = 8};
    assert_int_equal(sy_live_create(&options, &context.live, &error), 0);
    uint32_t datum = sy_live_add_datum(context.live, BYTES, 1);
    /* Here the GPU ends it after 1 ms and the way there, the core after 10 ms. */
    double time_ns[2];
    time_ns[sy_shared.machine->devices[CORE].class_index] = 10e6;
    time_ns[sy_shared.machine->devices[GPU].class_index] = 1e6;
    struct sy_live_access access = {datum, SY_READ, SY_NONE};
    sy_live_begin_job(context.live, 0, 1);
    node.index = sy_live_add_task(
        context.live,
        &(struct sy_live_task){.accesses = &access, .access_count = 1, .time_ns = time_ns});
    sy_live_end_job(context.live);
    node.context = &context;
}

static void close_world(void) {
    sy_live_destroy(context.live);
    links_close();
    sy_machine_destroy(sy_shared.machine);
}

static double route_bytes_per_s(void) {
    const struct sy_machine *m = sy_shared.machine;
    return m->routes[m->devices[CORE].memory * m->memory_count + m->devices[GPU].memory]
        .bytes_per_s;
}

/* Its inputs took factor times as long as promised, on a device that was idle or busy till then. */
static void wait_for_inputs(double factor, bool busy) {
    links_ask(&node, GPU, 1e9);
    assert_true(node.promised_ns > 0);
    links_arrived(&node, 1e9 + factor * node.promised_ns, busy ? INFINITY : 0);
}

static uint32_t placed;

static void on_told(void *argument, uint32_t task, uint32_t device, bool fetch) {
    (void)argument, (void)task;
    placed = fetch ? placed : device;
}

static uint32_t place(void) {
    struct sy_live_listener listener = {.told = on_told};
    placed = SY_NONE;
    sy_live_ready(context.live, node.index);
    sy_live_decide(context.live, &listener);
    return placed;
}

static void waits_correct_the_route(void **state) {
    (void)state;
    open_world("dmda");
    double measured = route_bytes_per_s();
    for (int i = 0; i < 60; i++) {
        wait_for_inputs(8, false);
    }
    assert_true(route_bytes_per_s() < measured / 6 && route_bytes_per_s() > measured / 10);
    for (int i = 0; i < 200; i++) {
        wait_for_inputs(1, false);
    }
    assert_true(fabs(route_bytes_per_s() / measured - 1) < .2);
    close_world();
}

static void one_wild_wait_hardly_counts(void **state) {
    (void)state;
    open_world("dmda");
    double measured = route_bytes_per_s();
    for (int i = 0; i < 30; i++) {
        wait_for_inputs(1, false);
    }
    wait_for_inputs(400, false);
    assert_true(route_bytes_per_s() > measured / 1.2);
    close_world();
}

static void a_busy_device_tells_nothing(void **state) {
    (void)state;
    open_world("dmda");
    double measured = route_bytes_per_s();
    for (int i = 0; i < 60; i++) {
        wait_for_inputs(8, true);
    }
    assert_true(route_bytes_per_s() == measured);
    close_world();
}

/* 32 MB take some 2.5 ms over a free link of 13 GB/s, and eight times that beside a load. */
static void a_loaded_link_changes_placement(void **state) {
    (void)state;
    static const char *const policies[] = {"dmda", "lb", "default"};
    for (uint32_t i = 0; i < SY_COUNT(policies); i++) {
        open_world(policies[i]);
        assert_int_equal(place(), GPU);
        close_world();
        open_world(policies[i]);
        for (int k = 0; k < 60; k++) {
            wait_for_inputs(8, false);
        }
        assert_int_equal(place(), CORE);
        close_world();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_correct_the_route),
        cmocka_unit_test(one_wild_wait_hardly_counts),
        cmocka_unit_test(a_busy_device_tells_nothing),
        cmocka_unit_test(a_loaded_link_changes_placement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
