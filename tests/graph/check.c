/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers of the graph tests.
 */
#include "check.h"
#include <math.h>
#include <string.h>

struct sy_graph_list check_read(const char *text, const struct sy_graph_read_options *options) {
    struct sy_error error = {0};
    struct sy_graph_list list = {0};
    char line[1024];
    if (sy_graph_read_text("text", text, strlen(text), options, &list, &error) != 0) {
        fail_msg("%s", sy_error_format(&error, line, sizeof line));
    }
    for (uint32_t i = 0; i < list.count; i++) {
        check_sealed(list.graphs[i]);
    }
    return list;
}

void check_refused(const char *text, uint32_t line, uint32_t column, const char *message,
                   const char *hint) {
    struct sy_error error = {0};
    struct sy_graph_list list = {0};
    int code = sy_graph_read_text("text", text, strlen(text), NULL, &list, &error);
    assert_int_not_equal(code, 0);
    assert_null(list.graphs);
    if (!strstr(error.message, message) || error.line != line || error.column != column ||
        (hint && !strstr(error.hint, hint))) {
        fail_msg("wanted %u:%u '%s' (%s), got %u:%u '%s' (%s)\n%.300s", line, column, message,
                 hint ? hint : "", error.line, error.column, error.message, error.hint, text);
    }
    assert_string_equal(error.file, "text");
}

struct sy_graph *check_generate(const char *spec) {
    struct sy_error error = {0};
    struct sy_graph *graph = NULL;
    if (sy_graph_generate(spec, &graph, &error) != 0) {
        fail_msg("%s: %s", spec, error.message);
    }
    check_sealed(graph);
    return graph;
}

static void same_text(const char *a, const char *b) {
    assert_true((a == NULL) == (b == NULL));
    if (a) {
        assert_string_equal(a, b);
    }
}

static void same_bits(double a, double b) {
    assert_true(isnan(a) ? isnan(b) : a == b);
}

static void same_kernels(const struct sy_kernel *a, const struct sy_kernel *b) {
    same_text(a->name, b->name);
    same_text(a->interference, b->interference);
    assert_int_equal(a->part_max, b->part_max);
    assert_true(a->part_ns == b->part_ns);
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        const struct sy_variant *x = &a->variants[kind], *y = &b->variants[kind];
        assert_int_equal(x->present, y->present);
        same_bits(x->fixed_ns, y->fixed_ns);
        same_bits(x->ns_per_work, y->ns_per_work);
        same_bits(x->log_sigma, y->log_sigma);
        same_bits(x->demand_bytes_per_s, y->demand_bytes_per_s);
        same_bits(x->link_demand_bytes_per_s, y->link_demand_bytes_per_s);
        same_bits(x->watts, y->watts);
        same_bits(x->image_bytes, y->image_bytes);
    }
}

void check_same(const struct sy_graph *a, const struct sy_graph *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->is_explicit, b->is_explicit);
    assert_int_equal(a->kernel_count, b->kernel_count);
    assert_int_equal(a->data_count, b->data_count);
    assert_int_equal(a->task_count, b->task_count);
    assert_int_equal(a->access_count, b->access_count);
    assert_int_equal(a->edge_count, b->edge_count);
    for (uint32_t i = 0; i < a->kernel_count; i++) {
        same_kernels(&a->kernels[i], &b->kernels[i]);
    }
    for (uint32_t i = 0; i < a->data_count; i++) {
        same_text(a->data_names[i], b->data_names[i]);
        same_bits(a->data_bytes[i], b->data_bytes[i]);
    }
    for (uint32_t i = 0; i < a->task_count; i++) {
        same_text(a->tasks[i].name, b->tasks[i].name);
        assert_int_equal(a->tasks[i].kernel, b->tasks[i].kernel);
        same_bits(a->tasks[i].work, b->tasks[i].work);
        assert_int_equal(a->tasks[i + 1].access_start, b->tasks[i + 1].access_start);
        for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
            same_bits(sy_graph_time_ns(a, i, (enum sy_device_kind)kind),
                      sy_graph_time_ns(b, i, (enum sy_device_kind)kind));
        }
        assert_int_equal(a->order[i], b->order[i]);
        assert_int_equal(a->succ_start[i + 1], b->succ_start[i + 1]);
        assert_int_equal(a->pred_start[i + 1], b->pred_start[i + 1]);
    }
    for (uint32_t i = 0; i < a->access_count; i++) {
        assert_int_equal(a->accesses[i].datum, b->accesses[i].datum);
        assert_int_equal(a->accesses[i].mode, b->accesses[i].mode);
        assert_int_equal(a->access_producer[i], b->access_producer[i]);
    }
    for (uint32_t i = 0; i < a->edge_count; i++) {
        assert_int_equal(a->succ[i], b->succ[i]);
        assert_int_equal(a->pred[i], b->pred[i]);
        assert_int_equal(a->pred_given[i], b->pred_given[i]);
    }
}

bool check_has_edge(const struct sy_graph *graph, uint32_t from, uint32_t to) {
    for (uint32_t e = graph->succ_start[from]; e < graph->succ_start[from + 1]; e++) {
        if (graph->succ[e] == to) {
            return true;
        }
    }
    return false;
}

void check_sealed(const struct sy_graph *graph) {
    assert_true(graph->sealed);
    assert_null(graph->builder);
    assert_int_equal(graph->succ_start[graph->task_count], graph->edge_count);
    assert_int_equal(graph->pred_start[graph->task_count], graph->edge_count);
    assert_int_equal(graph->tasks[graph->task_count].access_start, graph->access_count);
    uint32_t *position = test_calloc(graph->task_count + 1, sizeof *position);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        assert_true(graph->order[i] < graph->task_count);
        assert_int_equal(position[graph->order[i]], 0); /* each task once */
        position[graph->order[i]] = i + 1;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->succ_start[t]; e < graph->succ_start[t + 1]; e++) {
            assert_true(position[t] < position[graph->succ[e]]);
            assert_true(e == graph->succ_start[t] || graph->succ[e - 1] < graph->succ[e]);
        }
        for (uint32_t e = graph->pred_start[t]; e < graph->pred_start[t + 1]; e++) {
            assert_true(e == graph->pred_start[t] || graph->pred[e - 1] < graph->pred[e]);
        }
        for (uint32_t a = graph->tasks[t].access_start; a < graph->tasks[t + 1].access_start; a++) {
            uint32_t producer = graph->access_producer[a];
            assert_true(graph->accesses[a].datum < graph->data_count);
            assert_true(producer == SY_NONE || check_has_edge(graph, producer, t));
        }
    }
    test_free(position);
}

sy_kernel_id check_kernel(struct sy_graph *graph, const char *name) {
    struct sy_kernel_desc desc = {.name = name};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    sy_kernel_id kernel;
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    return kernel;
}
