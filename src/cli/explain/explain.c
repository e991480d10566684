/* SPDX-License-Identifier: Apache-2.0
 *
 * symph explain: why a task went where it did, and why not elsewhere.
 *
 * In: the record of a run, perhaps a task. Out: sentences and a table, or one JSON object
 * "symph-explain-1". Invariant: a task that does not exist gets the nearest name as an answer.
 */
#include "cli/explain/explain.h"
#include "cli/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct args {
    struct sy_common_args common;
    struct sy_text_list operands;
};

static const struct sy_option options[] = {
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "explain",
    .usage = "[RUN [TASK]]",
    .examples = "  symph explain last\n"
                "  symph explain last 17\n"
                "  symph explain run.json \"gemm 3 2 1\" --json",
    .about = "RUN is a record written by symph run --record or symph starpu --record, or \"last\" "
             "(the default): symph run keeps a record of its latest run, and symph starpu of the "
             "latest program that it recorded. TASK is the name of a task, or its number "
             "from 0. Without TASK it prints the worst predictions, the chain of tasks that "
             "determined the makespan, and why devices were idle.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = offsetof(struct args, operands),
    .operand_max = 2,
};

int sy_input_record(const char *spec, char *ret_path, size_t path_size,
                    struct sy_record **ret_record) {
    struct sy_error error = {0};
    bool is_last = strcmp(spec, "last") == 0;
    if (is_last && sy_last_path(ret_path, path_size, &error) < 0) {
        char why[1024];
        sy_message_fail("there is no last run: %s", sy_error_format(&error, why, sizeof(why)));
        return SY_EXIT_INPUT;
    }
    if (!is_last) {
        snprintf(ret_path, path_size, "%s", spec);
    }
    int r = sy_record_read_file(is_last ? ret_path : spec, ret_record, &error);
    if (r == -ENOENT && is_last) {
        sy_message_fail("there is no last run: %s does not exist (symph run makes it, and symph "
                        "starpu --record)",
                        ret_path);
    } else if (r < 0) {
        sy_message_about("run", spec, r, &error);
    }
    return sy_message_exit(r);
}

static int unknown_task(const struct sy_graph *graph, const char *name) {
    const char **names = calloc(graph->task_count + 1u, sizeof *names);
    uint32_t count = 0;
    for (uint32_t t = 0; names && t < graph->task_count; t++) {
        if (graph->tasks[t].name) {
            names[count++] = graph->tasks[t].name;
        }
    }
    const char *near = names ? sy_nearest(name, names, count) : NULL;
    if (near) {
        sy_message_fail("the run has no task '%s', did you mean '%s'?", name, near);
    } else {
        sy_message_fail("the run has no task '%s': it has %u tasks, numbered from 0", name,
                        graph->task_count);
    }
    free(names);
    return SY_EXIT_USAGE;
}

static uint32_t find_task(const struct sy_graph *graph, const char *text) {
    static const char prefix[] = "task "; /* as those without a name are shown */
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->tasks[t].name && strcmp(graph->tasks[t].name, text) == 0) {
            return t;
        }
    }
    uint64_t number = 0;
    text += strncmp(text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    bool is_number = sy_parse_u64(text, strlen(text), &number);
    return is_number && number < graph->task_count ? (uint32_t)number : SY_NONE;
}

static int explain_run(struct sy_explain *explain, bool json) {
    struct sy_explain_overview overview = sy_explain_overview(explain);
    return json ? sy_explain_run_json(explain, &overview) : sy_explain_run_text(explain, &overview);
}

static int answer(const struct sy_record *record, const char *path, const struct args *args) {
    const char *name = args->operands.count > 1 ? args->operands.items[1] : NULL;
    uint32_t task = name ? find_task(record->graph, name) : SY_NONE;
    if (name && task == SY_NONE) {
        return unknown_task(record->graph, name);
    }
    struct sy_explain explain;
    int r;
    sy_explain_init(&explain, record);
    explain.path = path;
    if (!name) {
        r = explain_run(&explain, args->common.json);
    } else {
        r = args->common.json ? sy_explain_task_json(&explain, task)
                              : sy_explain_task_text(&explain, task);
    }
    sy_explain_finish(&explain);
    return r;
}

static int run(void *given) {
    const struct args *args = given;
    const char *spec = args->operands.count ? args->operands.items[0] : "last";
    struct sy_record *record = NULL;
    char path[4096];
    int r = sy_input_record(spec, path, sizeof path, &record);
    r = r ? r : answer(record, path, args);
    sy_record_destroy(record);
    return r;
}

int sy_cmd_explain(int argc, char **argv) {
    struct args args = {0};
    return sy_options_run(&command, argc, argv, &args, run);
}
