/* SPDX-License-Identifier: Apache-2.0
 *
 * The planning policies on the examples of the papers they come from, run by the simulator and
 * judged; and HEFT against a plain implementation on random instances.
 */
#include "fixture.h"
#include "schedulers/policy.h"
#include "view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Arabnejad and Barbosa, TPDS 25(3), 2014, figure 1. */
static void peft_paper(struct instance *instance) {
    static const double time[10][3] = {{22, 21, 36}, {22, 18, 18}, {32, 27, 43}, {7, 10, 4},
                                       {29, 27, 35}, {26, 17, 24}, {14, 25, 30}, {29, 23, 36},
                                       {15, 21, 8},  {13, 16, 33}};
    static const uint32_t edge[][3] = {{1, 2, 17}, {1, 3, 31}, {1, 4, 29}, {1, 5, 13},  {1, 6, 7},
                                       {2, 8, 3},  {2, 9, 30}, {3, 7, 16}, {4, 8, 11},  {4, 9, 7},
                                       {5, 9, 57}, {6, 8, 5},  {7, 10, 9}, {8, 10, 42}, {9, 10, 7}};
    static const struct instance_device devices[] = {{0, 0}, {1, 1}, {2, 2}};
    instance_init(instance, devices, 3, 1, 0, 10);
    for (uint32_t t = 0; t < 10; t++) {
        for (uint32_t c = 0; c < 3; c++) {
            instance_time(instance, t, c, time[t][c]);
        }
    }
    for (size_t e = 0; e < SY_COUNT(edge); e++) {
        instance_edge(instance, edge[e][0] - 1, edge[e][1] - 1, edge[e][2]);
    }
    instance_seal(instance);
}

static void assert_makespan(const struct sy_workload *workload, const char *policy,
                            double expected) {
    struct sy_sim_result result = fixture_simulate(workload, policy, NULL);
    if (fabs(result.makespan_ns - expected) > 1e-6) {
        fail_msg("%s: makespan %.9g, published %.9g", policy, result.makespan_ns, expected);
    }
}

static void assert_ranks(struct instance *instance, const double *published, double tolerance) {
    struct view view;
    struct policy policy;
    double rank[10];
    view_open(&view, instance->workload);
    view_policy(&view, &policy);
    sy_rank_upward(&policy, &view.view, 0, rank);
    for (uint32_t t = 0; t < 10; t++) {
        assert_near(rank[t], published[t], tolerance);
    }
    view_close(&view);
}

static void heft_paper(void **state) {
    (void)state;
    static const double rank[] = {108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667};
    struct instance instance;
    instance_heft_paper(&instance);
    struct sy_graph *graph = fixture_complete(&instance);
    assert_ranks(&instance, rank, 0.0005);
    assert_makespan(instance.workload, "heft", 80);
    assert_makespan(instance.workload, "cpop", 86);
    sy_graph_destroy(graph);
    instance_finish(&instance);
}

/* Table 2's rank_u; figure 2: PEFT 122, Lookahead 127, HEFT 133. */
static void peft_paper_example(void **state) {
    (void)state;
    static const double rank[] = {169, 114.3, 102.7, 110, 129.7, 119.3, 52.7, 92, 42.3, 20.7};
    struct instance instance;
    peft_paper(&instance);
    struct sy_graph *graph = fixture_complete(&instance);
    assert_ranks(&instance, rank, 0.05);
    assert_makespan(instance.workload, "heft", 133);
    assert_makespan(instance.workload, "peft", 122);
    assert_makespan(instance.workload, "lookahead", 127);
    sy_graph_destroy(graph);
    instance_finish(&instance);
}

/* Table 3: where PEFT puts each task, and when it ends. */
static void peft_paper_schedule(void **state) {
    (void)state;
    static const uint32_t device[] = {0, 0, 0, 0, 2, 1, 0, 1, 2, 1};
    static const double end[] = {22, 51, 83, 29, 70, 46, 97, 77, 89, 122};
    struct instance instance;
    struct sy_trace trace;
    peft_paper(&instance);
    struct sy_graph *graph = fixture_complete(&instance);
    fixture_simulate(instance.workload, "peft", &trace);
    for (uint32_t t = 0; t < 10; t++) {
        const struct sy_span *span = fixture_span(&trace, SY_SPAN_TASK, t);
        assert_int_equal(span->place, device[t]);
        assert_near(span->end_ns, end[t], 1e-6);
    }
    sy_trace_finish(&trace);
    sy_graph_destroy(graph);
    instance_finish(&instance);
}

/* --- HEFT from its definition: all gaps of all devices, ranks by recursion ---------------------
 */
struct plain {
    const struct sy_workload *w;
    double rank[64], start[64], end[64];
    uint32_t device[64];
    bool placed[64];
};

static double mean_time(const struct sy_workload *w, uint32_t task) {
    double sum = 0, count = 0;
    for (uint32_t d = 0; d < w->machine->device_count; d++) {
        double time = w->time_ns[task * w->class_count + w->machine->devices[d].class_index];
        sum += isfinite(time) ? time : 0;
        count += isfinite(time);
    }
    return sum / count;
}

/* Mean over ordered pairs of different devices; all routes of an instance are alike. */
static double mean_copy(const struct sy_workload *w, double bytes) {
    const struct sy_machine *m = w->machine;
    double sum = 0, count = 0;
    for (uint32_t a = 0; a < m->device_count; a++) {
        for (uint32_t b = 0; b < m->device_count; b++) {
            sum += a == b
                       ? 0
                       : sy_cost_transfer_ns(m, m->devices[a].memory, m->devices[b].memory, bytes);
            count += a != b;
        }
    }
    return count > 0 ? sum / count : 0;
}

static double edge_bytes(const struct sy_workload *w, uint32_t from, uint32_t to) {
    double bytes = 0;
    for (uint32_t a = w->access_start[to]; a < w->access_start[to + 1]; a++) {
        bool flows = w->access_producer[a] == from && w->access[a].mode == SY_READ;
        bytes += flows ? w->data_bytes[w->access[a].datum] : 0;
    }
    return bytes;
}

static double plain_rank(const struct sy_workload *w, uint32_t task) {
    double below = 0;
    for (uint32_t e = w->succ_start[task]; e < w->succ_start[task + 1]; e++) {
        uint32_t next = w->succ[e];
        below = fmax(below, plain_rank(w, next) + mean_copy(w, edge_bytes(w, task, next)));
    }
    return mean_time(w, task) + below;
}

static double plain_ready(const struct plain *p, uint32_t task, uint32_t memory) {
    const struct sy_workload *w = p->w;
    const struct sy_machine *m = w->machine;
    double ready = 0;
    for (uint32_t e = w->pred_start[task]; e < w->pred_start[task + 1]; e++) {
        ready = fmax(ready, p->end[w->pred[e]]);
    }
    for (uint32_t a = w->access_start[task]; a < w->access_start[task + 1]; a++) {
        uint32_t datum = w->access[a].datum, producer = w->access_producer[a];
        if (w->access[a].mode != SY_READ) {
            continue;
        }
        uint32_t from = producer != SY_NONE ? m->devices[p->device[producer]].memory
                                            : (uint32_t)__builtin_ctzll(w->data_home[datum]);
        double begin = producer == SY_NONE ? 0 : p->end[producer];
        ready = fmax(ready, begin + sy_cost_transfer_ns(m, from, memory, w->data_bytes[datum]));
    }
    return ready;
}

/* A start is either when the inputs are there or when some task on the device ends. */
static double plain_start(const struct plain *p, uint32_t device, double ready, double length) {
    double best = INFINITY;
    for (uint32_t c = 0; c <= p->w->task_count; c++) {
        bool there = c == p->w->task_count || (p->placed[c] && p->device[c] == device);
        double start = c == p->w->task_count ? ready : p->end[c];
        bool fits = there && start >= ready;
        for (uint32_t t = 0; fits && t < p->w->task_count; t++) {
            bool apart = start + length <= p->start[t] || start >= p->end[t];
            fits = !p->placed[t] || p->device[t] != device || apart;
        }
        best = fits ? fmin(best, start) : best;
    }
    return best;
}

static uint32_t next_plain(const struct plain *p) {
    const struct sy_workload *w = p->w;
    uint32_t best = SY_NONE;
    for (uint32_t t = 0; t < w->task_count; t++) {
        bool ready = !p->placed[t];
        for (uint32_t e = w->pred_start[t]; e < w->pred_start[t + 1]; e++) {
            ready &= p->placed[w->pred[e]];
        }
        best = ready && (best == SY_NONE || p->rank[t] > p->rank[best]) ? t : best;
    }
    return best;
}

static double plain_heft(const struct sy_workload *w) {
    struct plain p = {.w = w};
    double makespan = 0;
    for (uint32_t t = 0; t < w->task_count; t++) {
        p.rank[t] = plain_rank(w, t);
    }
    for (uint32_t t; (t = next_plain(&p)) != SY_NONE; p.placed[t] = true) {
        p.end[t] = INFINITY;
        for (uint32_t d = 0; d < w->machine->device_count; d++) {
            const struct sy_device *device = &w->machine->devices[d];
            double length = w->time_ns[t * w->class_count + device->class_index];
            if (!isfinite(length)) {
                continue;
            }
            double start = plain_start(&p, d, plain_ready(&p, t, device->memory), length);
            if (start + length < p.end[t]) {
                p.device[t] = d;
                p.start[t] = start;
                p.end[t] = start + length;
            }
        }
        makespan = fmax(makespan, p.end[t]);
    }
    return makespan;
}

/* Ranks that are equal but for rounding could be sorted either way. */
static void untie(struct sy_workload *w, uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0x756e7469u, 0);
    w->jobs[0].arrive_ns = 0;
    for (uint32_t t = 0; t < w->task_count; t++) {
        w->best_ns[t] = INFINITY;
        for (uint32_t c = 0; c < w->class_count; c++) {
            double *time = &w->time_ns[t * w->class_count + c];
            *time += 1 + sy_rng_uniform(&rng);
            w->best_ns[t] = fmin(w->best_ns[t], *time);
        }
    }
}

static void heft_as_defined(void **state) {
    (void)state;
    const struct random_shape shape = {.task_min = 2,
                                       .task_max = 14,
                                       .device_min = 1,
                                       .device_max = 5,
                                       .class_max = 3,
                                       .memory_max = 3,
                                       .edge_probability = 0.25,
                                       .transfer_ratio = 0.6,
                                       .impossible_probability = 0.1};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct instance instance;
        instance_random(&instance, &shape, seed);
        untie(instance.workload, seed);
        struct sy_graph *graph = fixture_complete(&instance);
        double expected = plain_heft(instance.workload);
        double found = fixture_simulate(instance.workload, "heft", NULL).makespan_ns;
        if (fabs(found - expected) > 1e-9 * expected) {
            fail_msg("seed %lu: heft %.12g, by its definition %.12g", seed, found, expected);
        }
        sy_graph_destroy(graph);
        instance_finish(&instance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heft_paper),
        cmocka_unit_test(peft_paper_example),
        cmocka_unit_test(peft_paper_schedule),
        cmocka_unit_test(heft_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
