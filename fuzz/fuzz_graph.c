/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz harness of the graph readers and of the generators' little language.
 *
 * The first bytes decide: "gen:" begins a line for a generator, anything else is a file. What is
 * read must be written and read back.
 */
#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Generators are told apart by their line alone: larger graphs would only cost time. */
static void generate(const char *text, size_t size) {
    char *spec = malloc(size + 1);
    if (!spec) {
        return;
    }
    memcpy(spec, text, size);
    spec[size] = '\0';
    /* Leading zeros make no number larger. */
    uint32_t digits = 0, longest = 0;
    for (size_t i = 0; i < size; i++) {
        bool is_digit = spec[i] >= '0' && spec[i] <= '9';
        digits = !is_digit ? 0 : spec[i] == '0' && digits == 0 ? 0 : digits + 1;
        longest = digits > longest ? digits : longest;
    }
    struct sy_error error = {0};
    struct sy_graph *graph;
    bool is_small = longest <= 2 || longest > 8; /* in between it may be large and allowed */
    if (is_small && !strpbrk(spec, "eE") && sy_graph_generate(spec, &graph, &error) == 0) {
        sy_graph_destroy(graph);
    }
    free(spec);
}

static void write_back(const struct sy_graph *graph) {
    struct sy_buffer json = {0}, dot = {0};
    sy_graph_write_json(graph, &json);
    if (graph->edge_count < 10000) {
        sy_graph_write_dot(graph, &dot);
    }
    struct sy_error error = {0};
    struct sy_graph_list list = {0};
    if (!json.failed &&
        sy_graph_read_text("again", json.text, json.length, NULL, &list, &error) == 0) {
        SY_ASSERT(list.count == 1);
        SY_ASSERT(list.graphs[0]->task_count == graph->task_count);
        SY_ASSERT(list.graphs[0]->edge_count == graph->edge_count);
        sy_graph_list_finish(&list);
    }
    sy_buffer_finish(&json);
    sy_buffer_finish(&dot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    if (size > 4 && memcmp(text, "gen:", 4) == 0) {
        generate(text + 4, size - 4);
        return 0;
    }
    struct sy_error error = {0};
    struct sy_graph_list list = {0};
    struct sy_graph_read_options options = {.max_instances = 8};
    if (sy_graph_read_text("fuzz", text, size, &options, &list, &error) == 0) {
        for (uint32_t i = 0; i < list.count; i++) {
            write_back(list.graphs[i]);
        }
        sy_graph_list_finish(&list);
    } else {
        SY_ASSERT(error.message[0]);
    }
    return 0;
}
