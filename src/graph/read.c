/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading graphs from a file or from memory, whatever their format.
 *
 * In: text. Out: a list of sealed graphs. The format is told from the content: a brace or bracket
 * is JSON (a "workflow" member makes it WfFormat), a J line is .dag, "Key: value" is tasks.rec.
 */
#include "base/json.h"
#include "graph/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sy_graph_list_finish(struct sy_graph_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        sy_graph_destroy(list->graphs[i]);
    }
    free(list->graphs);
    *list = (struct sy_graph_list){0};
}

int sy_graph_list_adopt(struct sy_graph_list *list, struct sy_graph *graph) {
    uint32_t count = list->count;
    if ((count & (count - 1)) == 0) { /* full at each power of two */
        uint32_t capacity = count ? count * 2 : 1;
        struct sy_graph **grown = reallocarray(list->graphs, capacity, sizeof *grown);
        if (!grown || !capacity) {
            return -ENOMEM;
        }
        list->graphs = grown;
    }
    list->graphs[list->count++] = graph;
    return 0;
}

enum format { UNKNOWN, EMPTY, NATIVE, WFFORMAT, DAG, STARPU };

/* Whether an object has the members of WfFormat. Malformed JSON is left to the native reader. */
static enum format tell_json(const char *name, const char *text, size_t length) {
    struct sy_error error;
    struct sy_json json;
    const char *member;
    enum format format = UNKNOWN;
    sy_json_init(&json, name, text, length, &error);
    if (sy_json_enter_object(&json) < 0) {
        format = NATIVE;
    }
    while (format == UNKNOWN) {
        if (sy_json_next_member(&json, &member) <= 0 || strcmp(member, "schema") == 0) {
            format = NATIVE;
        } else if (strcmp(member, "workflow") == 0 || strcmp(member, "schemaVersion") == 0) {
            format = WFFORMAT;
        } else if (sy_json_skip(&json) < 0) {
            format = NATIVE;
        }
    }
    sy_json_finish(&json);
    return format;
}

/* A first line that is a word and a colon. */
static bool has_key(const char *at, const char *end) {
    const char *start = at;
    while (at < end && ((*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z'))) {
        at++;
    }
    return at > start && at < end && *at == ':';
}

static enum format tell(const char *name, const char *text, size_t length) {
    struct sy_lines lines;
    sy_lines_init(&lines, name, text, length, NULL);
    while (sy_lines_next(&lines)) {
        if (!sy_lines_word(&lines) || *lines.word == '#') {
            continue;
        }
        if (*lines.word == '{') {
            return tell_json(name, text, length);
        }
        if (*lines.word == '[') {
            return NATIVE;
        }
        if (lines.word_end - lines.word == 1 && strchr("JTE", *lines.word) && *lines.word) {
            return DAG;
        }
        return has_key(lines.word, lines.line_end) ? STARPU : UNKNOWN;
    }
    return EMPTY;
}

/* The first byte that is no text: a NUL, where names would end, or what is not UTF-8, which would
 * make what we write unreadable. NULL: all is well. */
static const char *find_bad_byte(const char *text, size_t length) {
    const char *end = text + length;
    for (const char *at = text; at < end;) {
        if ((signed char)*at > 0) { /* plain ASCII, nearly always */
            at++;
            continue;
        }
        size_t step = *at ? sy_utf8_length(at, (size_t)(end - at)) : 0;
        if (!step) {
            return at;
        }
        at += step;
    }
    return NULL;
}

static int check_text(const char *name, const char *text, size_t length, struct sy_error *error) {
    const char *bad = find_bad_byte(text, length);
    if (!bad) {
        return 0;
    }
    struct sy_lines lines;
    sy_lines_init(&lines, name, text, length, error);
    while (sy_lines_next(&lines) && lines.line_end < bad) {
    }
    lines.word = bad;
    sy_lines_fail(&lines, *bad ? "a byte that is not UTF-8" : "a NUL byte");
    return sy_hint(error, "graphs are text files in UTF-8");
}

/* text is followed by a NUL. */
static int read_terminated(const char *name, const char *text, size_t length,
                           const struct sy_graph_read_options *options,
                           struct sy_graph_list *ret_list, struct sy_error *error) {
    int code = check_text(name, text, length, error);
    if (code) {
        return code;
    }
    switch (tell(name, text, length)) {
    case NATIVE:
        return sy_graph_read_json(name, text, length, ret_list, error);
    case WFFORMAT:
        return sy_graph_read_wfformat(name, text, length, ret_list, error);
    case DAG:
        return sy_graph_read_dag(name, text, length, options, ret_list, error);
    case STARPU:
        return sy_graph_read_starpu(name, text, length, ret_list, error);
    case EMPTY:
        sy_fail_at(error, -EINVAL, name, 1, 1, "the file is empty");
        break;
    case UNKNOWN:
        sy_fail_at(error, -EINVAL, name, 1, 1, "not a graph in a known format");
        break;
    }
    return sy_hint(error,
                   "known are Symphony's JSON, WfFormat JSON, .dag lines and StarPU's tasks.rec");
}

int sy_graph_read_file(const char *path, const struct sy_graph_read_options *options,
                       struct sy_graph_list *ret_list, struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : read_terminated(path, text, length, options, ret_list, error);
    free(text);
    return code;
}

int sy_graph_read_text(const char *name, const char *text, size_t length,
                       const struct sy_graph_read_options *options, struct sy_graph_list *ret_list,
                       struct sy_error *error) {
    char *copy = length < SIZE_MAX ? malloc(length + 1) : NULL;
    if (!copy) {
        return sy_fail_at(error, -ENOMEM, name, 0, 0, "out of memory");
    }
    if (length) {
        memcpy(copy, text, length);
    }
    copy[length] = '\0';
    int code = read_terminated(name, copy, length, options, ret_list, error);
    free(copy);
    return code;
}
