/* SPDX-License-Identifier: Apache-2.0
 *
 * inputs: the machines, graphs and policies that people name on the command line.
 *
 * In: "here", a file, a line of text, "gen:SPEC". Out: sealed graphs and checked machines, or one
 * message and an exit code. Invariant: graphs come in the order in which they were named.
 */
#include "cli/cli.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <symph/scheduler.h>

#define GEN        "gen:"
#define GEN_LENGTH 4u

int sy_input_machine(const char *spec, struct sy_machine **ret_machine) {
    struct sy_error error = {0};
    int r = sy_machine_open(spec, ret_machine, &error);
    return sy_message_about("machine", spec, r, &error);
}

bool sy_input_from_hwloc(const char *spec) {
    size_t length = strlen(spec);
    return strcmp(spec, "here") == 0 || (length > 4 && strcmp(spec + length - 4, ".xml") == 0);
}

static bool wanted(const struct sy_graph *graph, const char *only) {
    return !only || fnmatch(only, sy_graph_name(graph), 0) == 0;
}

/* Takes the graphs out of from; those that are not wanted are destroyed. */
static int move_graphs(struct sy_graph_list *from, const char *only, struct sy_graph_list *list) {
    int r = 0;
    for (uint32_t i = 0; i < from->count && r == 0; i++) {
        if (wanted(from->graphs[i], only)) {
            r = sy_graph_list_adopt(list, from->graphs[i]);
            if (r == 0) {
                from->graphs[i] = NULL;
            }
        }
    }
    for (uint32_t i = 0; i < from->count; i++) {
        sy_graph_destroy(from->graphs[i]);
    }
    free(from->graphs);
    return r;
}

static int generate(const char *spec, struct sy_graph_list *ret_list, struct sy_error *error) {
    struct sy_graph *graph = NULL;
    int r = sy_graph_generate(spec + GEN_LENGTH, &graph, error);
    if (r < 0) {
        error->column += error->column ? GEN_LENGTH : 0; /* people see the whole argument */
        return r;
    }
    r = sy_graph_list_adopt(ret_list, graph);
    if (r < 0) {
        sy_graph_destroy(graph);
        return sy_fail(error, r, "out of memory");
    }
    return 0;
}

int sy_input_graph(const char *spec, const struct sy_graph_args *args, struct sy_graph_list *list) {
    struct sy_error error = {0};
    struct sy_graph_list read = {0};
    struct sy_graph_read_options options = {.max_instances = args->max_instances};
    int r = strncmp(spec, GEN, GEN_LENGTH) == 0 ? generate(spec, &read, &error)
                                                : sy_graph_read_file(spec, &options, &read, &error);
    if (r == 0) {
        r = move_graphs(&read, args->only, list);
        if (r < 0) {
            sy_fail(&error, r, "out of memory");
        }
    }
    return sy_message_about("graph", spec, r, &error);
}

int sy_input_graphs(const struct sy_text_list *specs, const struct sy_graph_args *args,
                    struct sy_graph_list *ret_list) {
    struct sy_graph_list list = {0};
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < specs->count && r == SY_EXIT_OK; i++) {
        r = sy_input_graph(specs->items[i], args, &list);
    }
    if (r == SY_EXIT_OK && list.count == 0) {
        if (args->only) {
            sy_message_fail("no graph has a name that matches '%s'", args->only);
        } else {
            sy_message_fail("there is no graph in these files");
        }
        r = SY_EXIT_INPUT;
    }
    if (r != SY_EXIT_OK) {
        sy_graph_list_finish(&list);
        return r;
    }
    *ret_list = list;
    return SY_EXIT_OK;
}

int sy_input_policy(const char *name, const char *list, const struct sy_scheduler_ops **ret_ops) {
    struct sy_error error = {0};
    const char *args = NULL, *weights = list ? strchr(list, '@') : NULL;
    const struct sy_scheduler_ops *ops = sy_scheduler_find(name, &args, &error);
    if (!ops) {
        if (weights && strchr(weights, ',') && !error.hint[0]) {
            sy_hint(&error, "commas separate policies: rename the file if its path has one");
        }
        sy_message_error(&error);
        return SY_EXIT_USAGE;
    }
    *ret_ops = ops;
    return SY_EXIT_OK;
}
