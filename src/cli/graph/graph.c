/* SPDX-License-Identifier: Apache-2.0
 *
 * symph graph: read, check, convert and generate task graphs.
 *
 * In: files and generator lines. Out: statistics, a converted file, or a verdict on each file.
 * Invariant: --json prints one object "symph-graph-stats-1".
 */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/graph/stats.h"
#include "cli/table.h"
#include "cli/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
    struct sy_common_args common;
    struct sy_text_list specs;
    struct sy_graph_args graphs;
    const char *dot, *out;
    bool check, list_generators;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "dot", "FILE", AT(dot), "write the graph in DOT ('-': standard output)"},
    {SY_OPTION_TEXT, "out", "FILE", AT(out),
     "write the graph in the native JSON format ('-': standard output)"},
    {SY_OPTION_FLAG, "check", NULL, AT(check),
     "only check the files: print one line for each, exit with 3 if one is invalid"},
    {SY_OPTION_FLAG, "list-generators", NULL, AT(list_generators),
     "list the generators and their arguments"},
    {SY_OPTION_TEXT, "only", "GLOB", AT(graphs.only),
     "use only the graphs whose name matches GLOB, such as 'tpch_q1*'"},
    {SY_OPTION_U32, "max-instances", "N", AT(graphs.max_instances),
     "fold a stage with more than N instances into N tasks (default 32)", 1, 1e6},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "graph",
    .usage = "FILE|gen:SPEC... [OPTION]...",
    .examples = "  symph graph gen:cholesky:20\n"
                "  symph graph workflow.json --dot - | dot -Tsvg > workflow.svg\n"
                "  symph graph gen:fft:6 --out fft.json\n"
                "  symph graph --check *.json *.dag",
    .about = "Reads native JSON, WfCommons WfFormat, .dag files and StarPU's tasks.rec; the "
             "format is recognised by the content. Without an option it prints the size and "
             "shape of each graph.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(specs),
    .operand_max = UINT32_MAX,
};

static int list_generators(bool json) {
    struct sy_json_writer writer = {0};
    struct sy_buffer *buffer = &writer.buffer;
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"generator", "arguments"}, "ll");
    if (json) {
        sy_json_print(&writer, "{schema: %s, generators: {", "symph-generators-1");
    }
    const char *help = NULL, *name = NULL;
    for (uint32_t i = 0; (name = sy_graph_generator_at(i, &help)); i++) {
        if (json) {
            sy_json_member_string(&writer, name, help);
        } else {
            sy_table_cell(&table, "gen:%s|%s", name, help);
        }
    }
    if (json) {
        sy_json_print(&writer, "}}");
        sy_buffer_finish(&table.text);
    } else {
        sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    }
    return sy_output(buffer);
}

static void put_times(const struct sy_kernel_stats *kernel, struct sy_json_writer *writer) {
    sy_json_open_member(writer, "mean_ns", '{');
    for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
        if (isfinite(kernel->mean_ns[kind])) {
            sy_json_member_number(writer, sy_device_kind_name((enum sy_device_kind)kind),
                                  kernel->mean_ns[kind]);
        }
    }
    sy_json_close(writer, '}');
}

static void put_json(const struct sy_graph *graph, const struct sy_graph_stats *stats,
                     struct sy_json_writer *writer) {
    sy_json_print(writer,
                  "{name: %s, tasks: %u, edges: %u, data: %u, data_bytes: %g, depth: %u, "
                  "width: %u, work_ns: %g, critical_path_ns: %g, parallelism_ratio: %g, kernels: [",
                  sy_graph_name(graph), graph->task_count, graph->edge_count, graph->data_count,
                  stats->data_bytes, stats->depth_count, stats->width_count, stats->work_ns,
                  stats->critical_path_ns, stats->parallelism_ratio);
    for (uint32_t k = 0; k < graph->kernel_count; k++) {
        sy_json_print(writer, "{name: %s, tasks: %u", graph->kernels[k].name,
                      stats->kernels[k].task_count);
        put_times(&stats->kernels[k], writer);
        sy_json_close(writer, '}');
    }
    sy_json_print(writer, "]}");
}

static int print_json(const struct sy_graph_list *list, struct sy_graph_stats *stats) {
    struct sy_json_writer writer = {.compact_from = 4};
    sy_json_print(&writer, "{schema: %s, graphs: [", "symph-graph-stats-1");
    for (uint32_t i = 0; i < list->count; i++) {
        put_json(list->graphs[i], &stats[i], &writer);
    }
    sy_json_print(&writer, "]}");
    return sy_output(&writer.buffer);
}

static void put_kernels(const struct sy_graph *graph, const struct sy_graph_stats *stats,
                        struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"kernel", "tasks", "cpu", "gpu", "fpga", "asic"},
                  "lrrrrr");
    for (uint32_t k = 0; k < graph->kernel_count; k++) {
        sy_table_cell(&table, "%s|%u", graph->kernels[k].name, stats->kernels[k].task_count);
        for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
            sy_table_cell(&table, "%s", sy_units_time(stats->kernels[k].mean_ns[kind]).text);
        }
    }
    sy_print(buffer, "\nMean time of a task, alone on a device of each kind:\n");
    sy_table_write(&table, 2, sy_message_colour(stdout), buffer);
}

static void put_row(const struct sy_graph *graph, const struct sy_graph_stats *stats,
                    struct sy_table *table) {
    sy_table_cell(table, "%s|%u|%u|%u|%s|%u|%u|%s|%s|%s", sy_graph_name(graph), graph->task_count,
                  graph->edge_count, graph->data_count, sy_units_bytes(stats->data_bytes).text,
                  stats->depth_count, stats->width_count, sy_units_time(stats->work_ns).text,
                  sy_units_time(stats->critical_path_ns).text,
                  sy_units_number(stats->parallelism_ratio, 1).text);
}

static int print_table(const struct sy_graph_list *list, struct sy_graph_stats *stats) {
    struct sy_buffer buffer = {0};
    struct sy_table table;
    sy_table_init(&table,
                  (const char *const[]){"graph", "tasks", "edges", "data", "bytes", "depth",
                                        "width", "work", "critical path", "parallelism"},
                  "lrrrrrrrrr");
    for (uint32_t i = 0; i < list->count; i++) {
        put_row(list->graphs[i], &stats[i], &table);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), &buffer);
    sy_table_legend("data, bytes: blocks of data and their size; depth: tasks on the longest "
                    "chain; width: most tasks on one level; work: sum of all task times; critical "
                    "path: longest chain of task times; parallelism: work / critical path. Times "
                    "are those on the fastest kind of device, without transfers.",
                    0, &buffer);
    if (list->count == 1) {
        put_kernels(list->graphs[0], &stats[0], &buffer);
    }
    return sy_output(&buffer);
}

static int print_stats(const struct sy_graph_list *list, bool json) {
    struct sy_graph_stats *stats = sy_need(calloc(list->count, sizeof(*stats)));
    for (uint32_t i = 0; i < list->count; i++) {
        sy_graph_stats_init(list->graphs[i], &stats[i]);
    }
    int code = json ? print_json(list, stats) : print_table(list, stats);
    for (uint32_t i = 0; i < list->count; i++) {
        sy_graph_stats_finish(&stats[i]);
    }
    free(stats);
    return code;
}

static int export_graph(const struct sy_graph *graph, const char *path, bool quiet,
                        void (*write)(const struct sy_graph *graph, struct sy_buffer *buffer)) {
    if (!path) {
        return SY_EXIT_OK;
    }
    struct sy_buffer buffer = {0};
    write(graph, &buffer);
    int r = sy_output_file(path, &buffer);
    if (r == SY_EXIT_OK && strcmp(path, "-") != 0) {
        sy_message_note(quiet, "wrote %s", path);
    }
    sy_buffer_finish(&buffer);
    return r;
}

static int check(const struct args *args) {
    int worst = SY_EXIT_OK;
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, files: [", "symph-graph-check-1");
    struct sy_buffer lines = {0};
    for (uint32_t i = 0; i < args->specs.count; i++) {
        struct sy_graph_list list = {0};
        int r = sy_input_graph(args->specs.items[i], &args->graphs, &list);
        uint64_t tasks = 0;
        for (uint32_t g = 0; g < list.count; g++) {
            tasks += list.graphs[g]->task_count;
        }
        sy_json_print(&writer, "{file: %s, valid: %d, graphs: %u, tasks: %llu}",
                      args->specs.items[i], r == SY_EXIT_OK, list.count, (unsigned long long)tasks);
        if (r == SY_EXIT_OK) {
            sy_print(&lines, "%s: ok, %u graph%s, %llu tasks\n", args->specs.items[i], list.count,
                     list.count == 1 ? "" : "s", (unsigned long long)tasks);
        }
        worst = r > worst ? r : worst;
        sy_graph_list_finish(&list);
    }
    sy_json_print(&writer, "]}");
    int r = sy_output(args->common.json ? &writer.buffer : &lines);
    sy_buffer_finish(args->common.json ? &lines : &writer.buffer);
    return r > worst ? r : worst;
}

static bool is_stdout(const char *path) {
    return path && strcmp(path, "-") == 0;
}

static int run(void *given) {
    const struct args *args = given;
    if (args->list_generators) {
        return list_generators(args->common.json);
    }
    if (args->specs.count == 0) {
        return sy_options_usage(&command, "name a graph file or a generator (gen:cholesky:20)");
    }
    if (args->check) {
        return check(args);
    }
    if (args->common.json && (is_stdout(args->dot) || is_stdout(args->out))) {
        return sy_options_usage(&command, "--json and '-' both use standard output: name a file");
    }
    struct sy_graph_list list = {0};
    int r = sy_input_graphs(&args->specs, &args->graphs, &list);
    if (r != SY_EXIT_OK) {
        return r;
    }
    if (!args->dot && !args->out) {
        r = print_stats(&list, args->common.json);
    } else if (list.count != 1) {
        r = sy_options_usage(
            &command,
            "%u graphs were read, but only one can be written: select it with --only NAME",
            list.count);
    } else {
        r = export_graph(list.graphs[0], args->dot, args->common.quiet, sy_graph_write_dot);
        if (r == SY_EXIT_OK) {
            r = export_graph(list.graphs[0], args->out, args->common.quiet, sy_graph_write_json);
        }
        if (r == SY_EXIT_OK && args->common.json) {
            r = print_stats(&list, true);
        }
    }
    sy_graph_list_finish(&list);
    return r;
}

int sy_cmd_graph(int argc, char **argv) {
    struct args args = {0};
    return sy_options_run(&command, argc, argv, &args, run);
}
