/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of .dag lines: "J name tasks edges", "T index type seconds instances mem_bytes",
 * "E from to bytes"; many graphs per file.
 *
 * In: text. Out: sealed graphs. Never knows: machines. Invariant: memory grows with the text that
 * was seen, never with a number in it. Blank lines and lines that start with # are skipped.
 */
#include "graph/dag.h"
#include <stdlib.h>
#include <string.h>

#define T_LINE_MIN  12 /* bytes of the shortest T line */
#define E_LINE_MIN  8
#define TRUSTED     4096 /* tasks for which memory is taken on a J line's word */
#define SECONDS_MAX 1e15
#define WORD_MAX    200 /* characters of a name or type */

struct reader {
    struct sy_lines lines;
    uint32_t max_instances;
    bool open; /* a J line was read */
    struct sy_dag dag;
    struct sy_graph_list *list;
};

static int end_of_line(struct reader *reader) {
    return sy_lines_word(&reader->lines) ? sy_lines_fail(&reader->lines, "one word too many") : 0;
}

static int take_name(struct reader *reader, const char *what, const char **ret_text,
                     uint32_t *ret_length) {
    if (!sy_lines_word(&reader->lines)) {
        return sy_lines_fail(&reader->lines, "the line ends before the %s", what);
    }
    size_t length = (size_t)(reader->lines.word_end - reader->lines.word);
    if (length > WORD_MAX) {
        return sy_lines_fail(&reader->lines, "the %s is longer than %d characters", what, WORD_MAX);
    }
    *ret_text = reader->lines.word;
    *ret_length = (uint32_t)length;
    return 0;
}

/* Large counts of a J line must fit into what is left of the text; small ones cost nothing, and the
 * lines that follow make better errors. */
static int check_counts(struct reader *reader, uint64_t tasks, uint64_t edges) {
    uint64_t left = (uint64_t)(reader->lines.end - reader->lines.at) + 1;
    if (tasks <= TRUSTED || tasks * T_LINE_MIN + edges * E_LINE_MIN <= left) {
        return 0;
    }
    sy_lines_fail(
        &reader->lines, "%llu tasks and %llu edges are announced, but only %llu bytes follow",
        (unsigned long long)tasks, (unsigned long long)edges, (unsigned long long)left - 1);
    return sy_hint(reader->lines.error, "the file may be truncated, or the counts are wrong");
}

static int begin_graph(struct reader *reader) {
    struct sy_dag *dag = &reader->dag;
    uint64_t tasks = 0, edges = 0;
    int code = take_name(reader, "graph's name", &dag->name, &dag->name_length);
    dag->line = reader->lines.line;
    dag->column = (uint32_t)(reader->lines.word - reader->lines.line_start) + 1;
    code = code ? code : sy_lines_u64(&reader->lines, "number of tasks", SY_GRAPH_TASK_MAX, &tasks);
    code = code ? code : sy_lines_u64(&reader->lines, "number of edges", SY_GRAPH_EDGE_MAX, &edges);
    code = code ? code : check_counts(reader, tasks, edges);
    code = code ? code : end_of_line(reader);
    if (code) {
        return code;
    }
    if (sy_grow(&dag->stages, &dag->stage_capacity, (uint32_t)tasks, sizeof *dag->stages) < 0) {
        return sy_out_of_memory(reader->lines.error);
    }
    if (tasks) {
        memset(dag->stages, 0, (size_t)tasks * sizeof *dag->stages);
    }
    dag->stage_count = (uint32_t)tasks;
    dag->edges_declared = (uint32_t)edges;
    dag->edge_count = dag->stages_seen = 0;
    reader->open = true;
    return 0;
}

static int fail_count(struct reader *reader, const char *what, uint32_t declared, uint32_t seen) {
    const struct sy_dag *dag = &reader->dag;
    sy_lines_fail(&reader->lines, "graph '%.*s' ends with %u of %u %s", (int)dag->name_length,
                  dag->name, seen, declared, what);
    return sy_hint(reader->lines.error, "the counts are on line %u; the file may be truncated",
                   dag->line);
}

static int end_graph(struct reader *reader) {
    struct sy_dag *dag = &reader->dag;
    if (!reader->open) {
        return 0;
    }
    reader->open = false;
    if (dag->stages_seen < dag->stage_count) {
        return fail_count(reader, "tasks", dag->stage_count, dag->stages_seen);
    }
    if (dag->edge_count < dag->edges_declared) {
        return fail_count(reader, "edges", dag->edges_declared, dag->edge_count);
    }
    struct sy_graph *graph;
    int code = sy_dag_expand(dag, reader->lines.file, &graph, reader->lines.error);
    if (code) {
        return code;
    }
    code = sy_graph_list_adopt(reader->list, graph);
    if (code) {
        sy_graph_destroy(graph);
        return sy_fail(reader->lines.error, code, "out of memory");
    }
    return 0;
}

static int take_index(struct reader *reader, const char *what, uint32_t *ret_index) {
    uint64_t index = 0;
    int code = sy_lines_u64(&reader->lines, what, UINT64_MAX, &index);
    if (!code && index >= reader->dag.stage_count) {
        code = sy_lines_fail(&reader->lines, "the %s is %llu, but the graph has %u tasks", what,
                             (unsigned long long)index, reader->dag.stage_count);
        sy_hint(reader->lines.error, "indices start at 0");
    }
    *ret_index = (uint32_t)index;
    return code;
}

static int task_line(struct reader *reader) {
    struct sy_lines *lines = &reader->lines;
    struct sy_dag_stage stage = {.line = lines->line};
    uint32_t index = 0;
    uint64_t instances = 0;
    double mem_bytes;
    int code = take_index(reader, "task's index", &index);
    if (!code && reader->dag.stages[index].line) {
        code = sy_lines_fail(lines, "task %u was described before", index);
        sy_hint(lines->error, "first on line %u", reader->dag.stages[index].line);
    }
    code = code ? code : take_name(reader, "type", &stage.type, &stage.type_length);
    code = code ? code : sy_lines_double(lines, "time in seconds", &stage.seconds);
    code = code ? code : sy_lines_u64(lines, "number of instances", UINT32_MAX, &instances);
    if (!code && !instances) {
        code = sy_lines_fail(lines, "a task has at least one instance");
    }
    if (!code && stage.seconds * (double)instances > SECONDS_MAX) {
        code = sy_lines_fail(lines, "task %u takes longer than %g seconds", index, SECONDS_MAX);
    }
    code = code ? code : sy_lines_double(lines, "memory in bytes", &mem_bytes);
    code = code ? code : end_of_line(reader);
    if (code) {
        return code;
    }
    stage.task_count =
        instances < reader->max_instances ? (uint32_t)instances : reader->max_instances;
    stage.seconds *= (double)instances / stage.task_count;
    reader->dag.stages[index] = stage;
    reader->dag.stages_seen++;
    return 0;
}

static int edge_line(struct reader *reader) {
    struct sy_lines *lines = &reader->lines;
    struct sy_dag *dag = &reader->dag;
    struct sy_dag_edge edge = {.line = lines->line, .sync = SY_NONE};
    if (dag->edge_count == dag->edges_declared) {
        sy_lines_fail(lines, "more than the %u edges announced", dag->edges_declared);
        return sy_hint(lines->error, "the counts are on line %u", dag->line);
    }
    int code = take_index(reader, "edge's first task", &edge.from);
    code = code ? code : take_index(reader, "edge's second task", &edge.to);
    if (!code && edge.from == edge.to) {
        code = sy_lines_fail(lines, "cycle: task %u -> task %u", edge.from, edge.to);
        sy_hint(lines->error, "a task cannot depend on itself");
    }
    code = code ? code : sy_lines_double(lines, "size in bytes", &edge.bytes);
    code = code ? code : end_of_line(reader);
    if (!code &&
        sy_grow(&dag->edges, &dag->edge_capacity, dag->edge_count + 1, sizeof *dag->edges) < 0) {
        code = sy_out_of_memory(lines->error);
    }
    if (!code) {
        dag->edges[dag->edge_count++] = edge;
    }
    return code;
}

static int read_line(struct reader *reader) {
    struct sy_lines *lines = &reader->lines;
    if (!sy_lines_word(lines) || *lines->word == '#') {
        return 0;
    }
    char letter = lines->word_end - lines->word == 1 ? *lines->word : '\0';
    if (letter == 'J') {
        int code = end_graph(reader);
        return code ? code : begin_graph(reader);
    }
    if (letter != 'T' && letter != 'E') {
        sy_lines_fail(lines, "a line of unknown kind");
        return sy_hint(lines->error,
                       "lines are 'J name tasks edges', 'T index type seconds instances "
                       "mem_bytes' and 'E from to bytes'");
    }
    if (!reader->open) {
        sy_lines_fail(lines, "a %c line before the first J line", letter);
        return sy_hint(lines->error, "a graph begins with 'J name tasks edges'");
    }
    return letter == 'T' ? task_line(reader) : edge_line(reader);
}

int sy_graph_read_dag(const char *name, const char *text, size_t length,
                      const struct sy_graph_read_options *options, struct sy_graph_list *ret_list,
                      struct sy_error *error) {
    struct sy_graph_list list = {0};
    struct reader reader = {.max_instances = 32, .list = &list};
    if (options && options->max_instances) {
        reader.max_instances = options->max_instances;
    }
    sy_lines_init(&reader.lines, name, text, length, error);
    int code = 0;
    while (!code && sy_lines_next(&reader.lines)) {
        code = read_line(&reader);
    }
    code = code ? code : end_graph(&reader);
    free(reader.dag.stages);
    free(reader.dag.edges);
    if (code) {
        sy_graph_list_finish(&list);
        return code;
    }
    *ret_list = list;
    return 0;
}
