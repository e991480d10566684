/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of a description: those of metrics (listing.h), over the features of an item.
 *
 * In: a JSON string or number. Out: an expression whose names are all features. Invariant: an error
 * names the character of the file, as far as no escapes stand before it.
 */
#include "planner/pipeline_read.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

#define GRAMMAR "numbers, features, + - * / % < >, min(a,b), max(a,b) and a if b else c are known"

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Where a name stands in the expression: its offset, or 0 if it is spelled with escapes. */
static uint32_t find_name(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        if ((at == text || !is_word(at[-1])) && !is_word(at[length])) {
            return (uint32_t)(at - text);
        }
    }
    return 0;
}

/* Names are interned and features unique: name_feature has room for all that pass. */
static int resolve(struct sy_pipeline_reader *r, struct sy_json_place start, const char *text,
                   uint32_t index) {
    struct sy_error why;
    const char *name = r->names.names[index];
    uint32_t feature = sy_values_feature(r->pipeline, name, &why);
    if (feature != SY_NONE) {
        r->names.names[index] = r->features[feature].name; /* the same pointer: found faster */
        r->name_feature[index] = feature;
        return 0;
    }
    start.column += find_name(text, name);
    sy_pipeline_fail(r, start, "%s", why.message);
    return sy_hint(r->error, "%s", why.hint);
}

/* What metrics know and pipelines do not. */
static int check_nodes(struct sy_pipeline_reader *r, struct sy_json_place start,
                       const struct sy_expr *expr) {
    for (uint32_t i = 0; i < expr->count; i++) {
        enum sy_expr_op op = expr->nodes[i].op;
        if (op == SY_EXPR_LITERAL || op == SY_EXPR_SOURCE_COUNT || op == SY_EXPR_HAS_EVENT ||
            op == SY_EXPR_IS_CPU) {
            sy_pipeline_fail(r, start, "\"%.64s\" has no meaning here: no counters are read",
                             r->names.names[expr->nodes[i].a]);
            return sy_hint(r->error, "%s", GRAMMAR);
        }
    }
    return 0;
}

static int parse(struct sy_pipeline_reader *r, struct sy_json_place start, bool exact,
                 const char *text, size_t length, struct sy_expr *ret_expr) {
    uint32_t known = r->names.count;
    int code = sy_expr_parse(r->arena, &r->names, text, length, ret_expr, r->error);
    if (code == -EINVAL) {
        r->error->line = start.line;
        r->error->column = exact ? start.column + r->error->column - 1 : start.column;
        snprintf(r->error->file, sizeof r->error->file, "%s", r->file);
        sy_hint(r->error, "%s", GRAMMAR);
    }
    code = code ? code : check_nodes(r, start, ret_expr);
    for (uint32_t i = known; !code && i < r->names.count; i++) {
        code = resolve(r, start, exact ? text : "", i);
    }
    return code;
}

static int read_number(struct sy_pipeline_reader *r, struct sy_expr *ret_expr) {
    struct sy_expr_node *node = sy_arena_alloc(r->arena, 1, sizeof *node);
    if (!node) {
        return sy_out_of_memory(r->error);
    }
    node->op = SY_EXPR_NUMBER;
    *ret_expr = (struct sy_expr){.nodes = node, .count = 1};
    return sy_json_number(&r->json, &node->number);
}

int sy_pipeline_read_expression(struct sy_pipeline_reader *r, uint32_t *ret_index) {
    struct sy_pipeline *pipeline = r->pipeline;
    enum sy_json_type type;
    int code = sy_json_peek(&r->json, &type);
    if (code) {
        return code;
    }
    if (pipeline->expression_count == SY_PIPELINE_EXPRESSION_MAX) {
        return sy_json_fail(&r->json, "too many expressions");
    }
    struct sy_expr *expr = &r->expressions[pipeline->expression_count];
    if (type == SY_JSON_NUMBER) {
        code = read_number(r, expr);
    } else {
        const char *start = r->json.at, *text;
        size_t length;
        code = sy_json_string(&r->json, &text, &length);
        struct sy_json_place mark = {r->json.value_line, r->json.value_column + 1};
        bool exact = !code && (size_t)(r->json.at - start) == length + 2; /* no escapes */
        code = code ? code : parse(r, mark, exact, text, length, expr);
    }
    if (!code) {
        *ret_index = pipeline->expression_count++;
    }
    return code;
}
