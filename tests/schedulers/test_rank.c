/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks from their definition: the longest of all paths, each walked.
 */
#include "fixture.h"
#include "view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct random_shape shape = {.task_min = 1,
                                          .task_max = 12,
                                          .device_min = 1,
                                          .device_max = 6,
                                          .class_max = 3,
                                          .memory_max = 4,
                                          .edge_probability = 0.3,
                                          .transfer_ratio = 1,
                                          .impossible_probability = 0.2};

static double mean_time(const struct sy_workload *w, uint32_t task) {
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t d = 0; d < w->machine->device_count; d++) {
        double time = w->time_ns[task * w->class_count + w->machine->devices[d].class_index];
        if (isfinite(time)) {
            sum += time;
            count++;
        }
    }
    return sum / count;
}

static double mean_copy(const struct sy_workload *w, uint32_t from, uint32_t to) {
    const struct sy_machine *m = w->machine;
    double bytes = 0, sum = 0, pairs = m->device_count * (m->device_count - 1.0);
    for (uint32_t a = w->access_start[to]; a < w->access_start[to + 1]; a++) {
        bytes += w->access_producer[a] == from ? w->data_bytes[w->access[a].datum] : 0;
    }
    for (uint32_t a = 0; a < m->device_count; a++) {
        for (uint32_t b = 0; b < m->device_count; b++) {
            sum += sy_cost_transfer_ns(m, m->devices[a].memory, m->devices[b].memory, bytes);
        }
    }
    return pairs > 0 ? sum / pairs : 0;
}

/* Length of the longest path from a task on, its own time included. */
static double longest_down(const struct sy_workload *w, uint32_t task) {
    double below = 0;
    for (uint32_t e = w->succ_start[task]; e < w->succ_start[task + 1]; e++) {
        below = fmax(below, mean_copy(w, task, w->succ[e]) + longest_down(w, w->succ[e]));
    }
    return mean_time(w, task) + below;
}

/* Length of the longest path up to a task, its own time left out. */
static double longest_up(const struct sy_workload *w, uint32_t task) {
    double above = 0;
    for (uint32_t e = w->pred_start[task]; e < w->pred_start[task + 1]; e++) {
        uint32_t before = w->pred[e];
        above =
            fmax(above, longest_up(w, before) + mean_time(w, before) + mean_copy(w, before, task));
    }
    return above;
}

static void ranks_are_longest_paths(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct instance instance;
        struct view view;
        struct policy policy;
        double up[16], down[16];
        instance_random(&instance, &shape, seed);
        struct sy_graph *graph = fixture_complete(&instance);
        const struct sy_workload *w = instance.workload;
        view_open(&view, w);
        view_policy(&view, &policy);
        sy_rank_upward(&policy, &view.view, 0, up);
        sy_rank_downward(&policy, &view.view, 0, down);
        for (uint32_t t = 0; t < w->task_count; t++) {
            double a = longest_down(w, t), b = longest_up(w, t);
            if (fabs(up[t] - a) > 1e-9 * a + 1e-9 || fabs(down[t] - b) > 1e-9 * b + 1e-9) {
                fail_msg("seed %lu, task %u: up %.12g (%.12g), down %.12g (%.12g)", seed, t, up[t],
                         a, down[t], b);
            }
        }
        view_close(&view);
        sy_graph_destroy(graph);
        instance_finish(&instance);
    }
}

/* Only the tasks of the job at hand are ranked. */
static void one_job_at_a_time(void **state) {
    (void)state;
    struct fixture f;
    struct view view;
    struct policy policy;
    double rank[64];
    fixture_init(&f, "cpu:2 gpu:1");
    fixture_add(&f, fixture_graph("chain:5"), 0, 0, 1);
    fixture_add(&f, fixture_graph("chain:7"), 1, 0, 1);
    fixture_seal(&f);
    view_open(&view, f.workload);
    view_policy(&view, &policy);
    for (uint32_t t = 0; t < 12; t++) {
        rank[t] = -1;
    }
    sy_rank_upward(&policy, &view.view, 1, rank);
    for (uint32_t t = 0; t < 12; t++) {
        assert_true(t < 5 ? rank[t] == -1 : rank[t] > 0 && (t == 11 || rank[t] > rank[t + 1]));
    }
    view_close(&view);
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_longest_paths),
        cmocka_unit_test(one_job_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
