/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of WfCommons' WfFormat, versions 1.4 (tasks in one list) to 1.6 (specification and
 * execution apart; https://github.com/wfcommons/WfFormat).
 *
 * In: text. Out: one sealed graph with CPU times. Never knows: machines. Members that do not bear
 * on the graph are skipped: the format is someone else's and grows.
 */
#include "graph/wfformat.h"
#include "base/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1e15

struct reader {
    struct sy_json json;
    struct sy_wf wf;
    bool has_version, has_workflow;
};

static int read_string(struct reader *reader, const char **ret_text) {
    const char *text;
    size_t length;
    int code = sy_json_string(&reader->json, &text, &length);
    if (code) {
        return code;
    }
    *ret_text = sy_arena_strndup(reader->wf.arena, text, length);
    return *ret_text ? 0 : sy_out_of_memory(reader->json.error);
}

/* Goes over the members of an object. on_member reads or skips the value. */
static int read_object(struct reader *reader,
                       int (*on_member)(struct reader *reader, const char *name, void *context),
                       void *context) {
    const char *name;
    int more = sy_json_enter_object(&reader->json);
    while (more >= 0 && (more = sy_json_next_member(&reader->json, &name)) > 0) {
        more = on_member(reader, name, context);
    }
    return more;
}

static int read_array(struct reader *reader, int (*on_element)(struct reader *reader)) {
    int more = sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        more = on_element(reader);
    }
    return more;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static int push_ref(struct reader *reader, struct sy_wf_ref ref) {
    struct sy_wf *wf = &reader->wf;
    return sy_append(&wf->refs, &wf->ref_capacity, &wf->ref_count, &ref, sizeof *wf->refs)
               ? sy_out_of_memory(reader->json.error)
               : 0;
}

static int read_refs(struct reader *reader, enum sy_wf_ref_kind kind) {
    int more = sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        struct sy_wf_ref ref = {.kind = kind, .bytes = -1};
        more = read_string(reader, &ref.text);
        ref.line = reader->json.value_line;
        ref.column = reader->json.value_column;
        more = more ? more : push_ref(reader, ref);
    }
    return more;
}

/* A file in a 1.4 task. */
struct file_text {
    const char *link, *name, *path;
    double bytes;
};

static int file_member(struct reader *reader, const char *name, void *context) {
    struct file_text *text = context;
    if (strcmp(name, "link") == 0) {
        return read_string(reader, &text->link);
    }
    if (strcmp(name, "id") == 0 || strcmp(name, "name") == 0) {
        return read_string(reader, &text->name);
    }
    if (strcmp(name, "path") == 0) {
        return read_string(reader, &text->path);
    }
    if (strcmp(name, "sizeInBytes") == 0 || strcmp(name, "size") == 0) {
        return sy_json_number_in(&reader->json, "the size of a file", 0, SY_GRAPH_NUMBER_MAX,
                                 &text->bytes);
    }
    return sy_json_skip(&reader->json);
}

static int read_task_file(struct reader *reader) {
    struct file_text text = {.bytes = 0};
    enum sy_json_type type;
    int code = sy_json_peek(&reader->json, &type);
    struct sy_wf_ref ref = {.line = reader->json.value_line, .column = reader->json.value_column};
    code = code ? code : read_object(reader, file_member, &text);
    if (code) {
        return code;
    }
    if (!text.name || !text.link) {
        return sy_fail_at(reader->json.error, -EINVAL, reader->json.file, ref.line, ref.column,
                          "this file has no \"%s\"", text.name ? "link" : "name");
    }
    ref.text = text.name;
    if (text.path) {
        size_t size = strlen(text.path) + strlen(text.name) + 1;
        char *whole = sy_arena_alloc(reader->wf.arena, size, 1);
        if (!whole) {
            return sy_out_of_memory(reader->json.error);
        }
        snprintf(whole, size, "%s%s", text.path, text.name);
        ref.text = whole;
    }
    ref.bytes = text.bytes;
    ref.kind = strcmp(text.link, "input") == 0 ? SY_WF_INPUT : SY_WF_OUTPUT;
    return push_ref(reader, ref);
}

static int command_member(struct reader *reader, const char *name, void *context) {
    struct sy_wf_task *task = context;
    return strcmp(name, "program") == 0 ? read_string(reader, &task->program)
                                        : sy_json_skip(&reader->json);
}

/* "command" is an object, or in old files a string. */
static int read_command(struct reader *reader, struct sy_wf_task *task) {
    enum sy_json_type type;
    int code = sy_json_peek(&reader->json, &type);
    if (code) {
        return code;
    }
    if (type == SY_JSON_OBJECT) {
        return read_object(reader, command_member, task);
    }
    return type == SY_JSON_STRING ? read_string(reader, &task->program)
                                  : sy_json_skip(&reader->json);
}

static int text_member(struct reader *reader, const char *name, struct sy_wf_task *task,
                       bool *ret_is_known) {
    *ret_is_known = true;
    if (strcmp(name, "name") == 0) {
        return read_string(reader, &task->name);
    }
    if (strcmp(name, "id") == 0) {
        return read_string(reader, &task->id);
    }
    if (strcmp(name, "category") == 0) {
        return read_string(reader, &task->category);
    }
    if (strcmp(name, "command") == 0) {
        return read_command(reader, task);
    }
    if (strcmp(name, "runtimeInSeconds") == 0) {
        return sy_json_number_in(&reader->json, "the run time", 0, SECONDS_MAX, &task->seconds);
    }
    *ret_is_known = false;
    return 0;
}

static int task_member(struct reader *reader, const char *name, void *context) {
    static const char *const lists[] = {"parents", "children", "inputFiles", "outputFiles"};
    bool is_known;
    int code = text_member(reader, name, context, &is_known);
    if (is_known) {
        return code;
    }
    for (uint32_t i = 0; i < SY_COUNT(lists); i++) {
        if (strcmp(name, lists[i]) == 0) {
            return read_refs(reader, (enum sy_wf_ref_kind)i);
        }
    }
    return strcmp(name, "files") == 0 ? read_array(reader, read_task_file)
                                      : sy_json_skip(&reader->json);
}

static int read_task_into(struct reader *reader, struct sy_wf_task **tasks, uint32_t *count,
                          uint32_t *capacity) {
    struct sy_wf_task task = {.seconds = -1, .ref_start = reader->wf.ref_count};
    enum sy_json_type type;
    int code = sy_json_peek(&reader->json, &type);
    task.line = reader->json.value_line;
    task.column = reader->json.value_column;
    code = code ? code : read_object(reader, task_member, &task);
    if (code) {
        return code;
    }
    task.ref_end = reader->wf.ref_count;
    task.id = task.id ? task.id : task.name;
    if (!task.id) {
        return sy_fail_at(reader->json.error, -EINVAL, reader->json.file, task.line, task.column,
                          "this task has neither \"id\" nor \"name\"");
    }
    if (sy_grow(tasks, capacity, *count + 1, sizeof task) < 0) {
        return sy_out_of_memory(reader->json.error);
    }
    (*tasks)[(*count)++] = task;
    return 0;
}

static int read_task(struct reader *reader) {
    struct sy_wf *wf = &reader->wf;
    return read_task_into(reader, &wf->tasks, &wf->task_count, &wf->task_capacity);
}

static int read_run(struct reader *reader) {
    struct sy_wf *wf = &reader->wf;
    return read_task_into(reader, &wf->runs, &wf->run_count, &wf->run_capacity);
}

/* --- the workflow ----------------------------------------------------------------------------- */

static int read_file(struct reader *reader) {
    struct file_text text = {.bytes = 0};
    struct sy_wf *wf = &reader->wf;
    int code = read_object(reader, file_member, &text);
    if (code) {
        return code;
    }
    if (!text.name) {
        return sy_json_fail(&reader->json, "a file before here has no \"id\"");
    }
    return sy_append(&wf->files, &wf->file_capacity, &wf->file_count,
                     &(struct sy_wf_file){text.name, text.bytes}, sizeof *wf->files)
               ? sy_out_of_memory(reader->json.error)
               : 0;
}

static int specification_member(struct reader *reader, const char *name, void *context) {
    (void)context;
    if (strcmp(name, "tasks") == 0) {
        return read_array(reader, read_task);
    }
    return strcmp(name, "files") == 0 ? read_array(reader, read_file) : sy_json_skip(&reader->json);
}

static int execution_member(struct reader *reader, const char *name, void *context) {
    (void)context;
    return strcmp(name, "tasks") == 0 ? read_array(reader, read_run) : sy_json_skip(&reader->json);
}

static int workflow_member(struct reader *reader, const char *name, void *context) {
    (void)context;
    if (strcmp(name, "specification") == 0) {
        reader->wf.is_split = true;
        return read_object(reader, specification_member, NULL);
    }
    if (strcmp(name, "execution") == 0) {
        return read_object(reader, execution_member, NULL);
    }
    return strcmp(name, "tasks") == 0 ? read_array(reader, read_task) : sy_json_skip(&reader->json);
}

static int read_version(struct reader *reader) {
    static const char *const known[] = {"1.4", "1.5", "1.6"};
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < SY_COUNT(known); i++) {
        reader->has_version = reader->has_version || strcmp(text, known[i]) == 0;
    }
    if (!reader->has_version) {
        code = sy_json_fail(&reader->json, "WfFormat version \"%.20s\" is not known", text);
        sy_hint(reader->json.error,
                "1.4, 1.5 and 1.6 are supported; the tools of WfFormat convert others");
    }
    return code;
}

static int top_member(struct reader *reader, const char *name, void *context) {
    (void)context;
    if (strcmp(name, "name") == 0) {
        return read_string(reader, &reader->wf.name);
    }
    if (strcmp(name, "schemaVersion") == 0) {
        return read_version(reader);
    }
    if (strcmp(name, "workflow") == 0) {
        reader->has_workflow = true;
        return read_object(reader, workflow_member, NULL);
    }
    return sy_json_skip(&reader->json);
}

static int read_all(struct reader *reader) {
    int code = read_object(reader, top_member, NULL);
    code = code ? code : sy_json_end(&reader->json);
    if (code) {
        return code;
    }
    const char *missing = !reader->has_version     ? "schemaVersion"
                          : !reader->has_workflow  ? "workflow"
                          : !reader->wf.task_count ? "tasks"
                                                   : NULL;
    if (missing) {
        return sy_fail_at(reader->json.error, -EINVAL, reader->json.file, 1, 1,
                          "this WfFormat file has no \"%s\"", missing);
    }
    return 0;
}

int sy_graph_read_wfformat(const char *name, const char *text, size_t length,
                           struct sy_graph_list *ret_list, struct sy_error *error) {
    struct sy_error unseen;
    struct reader reader = {0};
    struct sy_graph *graph = NULL;
    struct sy_graph_list list = {0};
    sy_json_init(&reader.json, name, text, length, error ? error : &unseen);
    reader.wf.file = name;
    reader.wf.error = reader.json.error;
    reader.wf.arena = sy_arena_create();
    int code = reader.wf.arena ? read_all(&reader) : sy_out_of_memory(reader.json.error);
    code = code ? code : sy_wf_build(&reader.wf, &graph);
    if (!code && sy_graph_list_adopt(&list, graph) < 0) {
        sy_graph_destroy(graph);
        code = sy_out_of_memory(reader.json.error);
    }
    if (!code) {
        *ret_list = list;
    }
    sy_json_finish(&reader.json);
    if (reader.wf.arena) {
        sy_arena_destroy(reader.wf.arena);
    }
    free(reader.wf.tasks);
    free(reader.wf.runs);
    free(reader.wf.refs);
    free(reader.wf.files);
    return code;
}
