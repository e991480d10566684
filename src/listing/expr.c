/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of metrics: from text to nodes.
 *
 * In: text in the grammar of tools/perf/util/expr.l and expr.y, Linux 6.12. Out: nodes in the order
 * of a stack machine. Stricter than perf in one thing: a character that perf would silently drop is
 * an error. Invariant: depth and number of nodes are bounded, whatever the text.
 */
#include "listing/expr.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX 1000 /* characters */

enum token {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_LITERAL,
    TOKEN_IF,
    TOKEN_ELSE,
    TOKEN_FUNCTION, /* its operator is in op */
    TOKEN_SIGN,     /* the character is in sign */
};

struct parser {
    struct sy_arena *arena;
    struct sy_expr_names *names;
    const char *text, *end, *at;
    struct sy_place place;
    struct sy_error *error;
    struct sy_expr_node *nodes;
    uint32_t count, capacity, depth;
    /* the token that comes next */
    enum token token;
    const char *start;
    size_t length;
    char sign;
    enum sy_expr_op op;
    double number;
};

static const struct function {
    const char *name;
    enum sy_expr_op op;
} functions[] = {
    {"min", SY_EXPR_MIN},
    {"max", SY_EXPR_MAX},
    {"d_ratio", SY_EXPR_RATIO},
    {"source_count", SY_EXPR_SOURCE_COUNT},
    {"has_event", SY_EXPR_HAS_EVENT},
    {"strcmp_cpuid_str", SY_EXPR_IS_CPU},
};

/* Left-associative all; unary minus binds tighter than any of them. */
static const struct binary {
    char sign;
    uint8_t level;
    enum sy_expr_op op;
} binaries[] = {
    {'|', 1, SY_EXPR_OR},       {'^', 2, SY_EXPR_XOR},      {'&', 3, SY_EXPR_AND},
    {'<', 4, SY_EXPR_LESS},     {'>', 4, SY_EXPR_GREATER},  {'+', 5, SY_EXPR_ADD},
    {'-', 5, SY_EXPR_SUBTRACT}, {'*', 6, SY_EXPR_MULTIPLY}, {'/', 6, SY_EXPR_DIVIDE},
    {'%', 6, SY_EXPR_MODULO},
};

static int fail_at(struct parser *p, const char *where, const char *what) {
    uint32_t column = p->place.column + (uint32_t)(where - p->text);
    return sy_fail_at(p->error, -EINVAL, p->place.file, p->place.line, column, "%s", what);
}

/* What was wanted, and what stands there instead. */
static int fail_token(struct parser *p, const char *wanted) {
    char message[200];
    if (p->token == TOKEN_END) {
        snprintf(message, sizeof message, "%s, but the expression ends here", wanted);
    } else {
        snprintf(message, sizeof message, "%s, not '%.*s'", wanted,
                 (int)(p->length < 60 ? p->length : 60), p->start);
    }
    return fail_at(p, p->start, message);
}

/* --- tokens: the longest match wins, as in expr.l --------------------------------------------- */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t digits(const char *at, const char *end) {
    const char *start = at;
    while (at < end && is_digit(*at)) {
        at++;
    }
    return (size_t)(at - start);
}

/* ([0-9]+\.?[0-9]*|[0-9]*\.?[0-9]+)(e-?[0-9]+)? */
static size_t number_length(const char *start, const char *end) {
    const char *at = start + digits(start, end);
    size_t whole = (size_t)(at - start), fraction = 0;
    if (at < end && *at == '.') {
        fraction = digits(at + 1, end);
        at += whole || fraction ? 1 + fraction : 0;
    }
    if (!whole && !fraction) {
        return 0;
    }
    if (at < end && *at == 'e') {
        bool minus = at + 1 < end && at[1] == '-';
        size_t exponent = digits(at + 1 + minus, end);
        at += exponent ? 1 + minus + exponent : 0;
    }
    return (size_t)(at - start);
}

static bool is_one_of(char c, const char *set) {
    return c && strchr(set, c);
}

/* [0-9a-zA-Z_.:@?] and \- \, \= */
static size_t name_length(const char *start, const char *end) {
    const char *at = start;
    while (at < end) {
        if (is_digit(*at) || is_letter(*at) || is_one_of(*at, ".:@?")) {
            at++;
        } else if (*at == '\\' && at + 1 < end && is_one_of(at[1], "-,=")) {
            at += 2;
        } else {
            break;
        }
    }
    return (size_t)(at - start);
}

static size_t literal_length(const char *start, const char *end) {
    const char *at = start + 1;
    while (at < end && (is_digit(*at) || is_letter(*at) || *at == '.' || *at == '-')) {
        at++;
    }
    return (size_t)(at - start);
}

/* "2." and ".1" are numbers here, and nowhere else in this project. */
static int take_number(struct parser *p) {
    char text[NUMBER_MAX + 8];
    size_t n = 0;
    if (p->length > NUMBER_MAX) {
        return fail_at(p, p->start, "a number of more than 1000 characters");
    }
    for (size_t i = 0; i < p->length; i++) {
        char c = p->start[i];
        bool next = i + 1 < p->length && is_digit(p->start[i + 1]);
        if (c == '.' && i == 0) {
            text[n++] = '0';
        }
        if (c != '.' || next) {
            text[n++] = c;
        }
    }
    if (!sy_parse_double(text, n, &p->number)) {
        return fail_at(p, p->start, "a number that is too large");
    }
    p->token = TOKEN_NUMBER;
    return 0;
}

static bool is_word(const struct parser *p, const char *word) {
    return p->length == strlen(word) && memcmp(p->start, word, p->length) == 0;
}

static void take_word(struct parser *p) {
    p->token = TOKEN_NAME;
    if (is_word(p, "if")) {
        p->token = TOKEN_IF;
    } else if (is_word(p, "else")) {
        p->token = TOKEN_ELSE;
    } else if (is_word(p, "NaN")) {
        p->token = TOKEN_NUMBER;
        p->number = __builtin_nan("");
    }
    for (size_t i = 0; i < SY_COUNT(functions); i++) {
        if (is_word(p, functions[i].name)) {
            p->token = TOKEN_FUNCTION;
            p->op = functions[i].op;
        }
    }
}

static int take_sign(struct parser *p) {
    char c = *p->at;
    if (!is_one_of(c, "|^&<>-+*/%(),")) {
        char message[64];
        if (c > 0x20 && c < 0x7f) {
            snprintf(message, sizeof message, "'%c' has no meaning in an expression", c);
        } else {
            snprintf(message, sizeof message, "byte 0x%02x has no meaning in an expression",
                     (unsigned)(unsigned char)c);
        }
        return fail_at(p, p->at, message);
    }
    p->token = TOKEN_SIGN;
    p->sign = c;
    p->length = 1;
    return 0;
}

static int advance(struct parser *p) {
    while (p->at < p->end &&
           (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) {
        p->at++;
    }
    p->start = p->at;
    p->length = 0;
    if (p->at == p->end) {
        p->token = TOKEN_END;
        return 0;
    }
    size_t number = number_length(p->at, p->end), name = name_length(p->at, p->end);
    size_t literal = *p->at == '#' ? literal_length(p->at, p->end) : 0;
    int code = 0;
    if (literal > 1) {
        p->length = literal;
        p->token = TOKEN_LITERAL;
    } else if (number && number >= name) {
        p->length = number;
        code = take_number(p);
    } else if (name) {
        p->length = name;
        take_word(p);
    } else {
        code = take_sign(p);
    }
    p->at += p->length;
    return code;
}

/* --- nodes ------------------------------------------------------------------------------------ */
static int add(struct parser *p, struct sy_expr_node node, uint32_t *ret_node) {
    if (p->count == SY_EXPR_NODES_MAX) {
        return fail_at(p, p->start, "the expression is too long: more than 65536 operands");
    }
    if (sy_grow(&p->nodes, &p->capacity, p->count + 1, sizeof *p->nodes)) {
        return sy_out_of_memory(p->error);
    }
    p->nodes[p->count] = node;
    *ret_node = p->count++;
    return 0;
}

/* pmu@event\,term\=1@ is pmu/event,term=1/: escapes go, @ becomes a slash. */
static int intern(struct parser *p, bool plain, uint32_t *ret_name) {
    struct sy_expr_names *names = p->names;
    char *name = sy_arena_alloc(p->arena, p->length + 1, 1);
    if (!name) {
        return sy_out_of_memory(p->error);
    }
    size_t n = 0;
    for (size_t i = 0; i < p->length; i++) {
        char c = p->start[i];
        if (c != '\\' || plain) {
            name[n++] = c == '@' && !plain ? '/' : c;
        }
    }
    if (sy_map_get(&names->map, name, n, ret_name)) {
        return 0;
    }
    if (sy_grow(&names->names, &names->capacity, names->count + 1, sizeof *names->names) ||
        sy_map_put(&names->map, name, n, names->count)) {
        return sy_out_of_memory(p->error);
    }
    names->names[names->count] = name;
    *ret_name = names->count++;
    return 0;
}

static int fail_function(struct parser *p, const char *start, size_t length) {
    char message[120];
    snprintf(message, sizeof message, "there is no function '%.*s'",
             (int)(length < 60 ? length : 60), start);
    int code = fail_at(p, start, message);
    sy_hint(p->error, "min, max, d_ratio, source_count, has_event and strcmp_cpuid_str are known");
    return code;
}

static int add_name(struct parser *p, enum sy_expr_op op, uint32_t *ret_node) {
    struct sy_expr_node node = {.op = op};
    const char *start = p->start;
    size_t length = p->length;
    int code = intern(p, false, &node.a);
    code = code ? code : add(p, node, ret_node);
    code = code ? code : advance(p);
    if (!code && p->token == TOKEN_SIGN && p->sign == '(') {
        code = fail_function(p, start, length);
    }
    return code;
}

/* perf does not mind the case of these two; nobody behind this line should have to. */
static int add_literal(struct parser *p, uint32_t *ret_node) {
    static const char *const any_case[] = {"smt_on", "system_tsc_freq"};
    struct sy_expr_node node = {.op = SY_EXPR_LITERAL};
    const char *end = p->start + p->length;
    p->start++;
    p->length--;
    for (size_t i = 0; i < SY_COUNT(any_case); i++) {
        if (strlen(any_case[i]) == p->length &&
            strncasecmp(any_case[i], p->start, p->length) == 0) {
            p->start = any_case[i];
        }
    }
    int code = intern(p, true, &node.a);
    p->start = end;
    code = code ? code : add(p, node, ret_node);
    return code ? code : advance(p);
}

/* --- grammar ---------------------------------------------------------------------------------- */
static int parse_if(struct parser *p, uint32_t *ret_node);
static int parse_binary(struct parser *p, uint8_t level, uint32_t *ret_node);

static int deeper(struct parser *p) {
    return ++p->depth > SY_EXPR_DEPTH_MAX ? fail_at(p, p->start, "nested deeper than 256 levels")
                                          : 0;
}

static int expect(struct parser *p, char sign) {
    if (p->token != TOKEN_SIGN || p->sign != sign) {
        const char wanted[] = {'e', 'x', 'p', 'e', 'c', 't', 'e', 'd', ' ', '\'', sign, '\'', '\0'};
        return fail_token(p, wanted);
    }
    return advance(p);
}

static int parse_arguments(struct parser *p, enum sy_expr_op op, uint32_t *ret_node) {
    struct sy_expr_node node = {.op = op};
    int code = parse_binary(p, 1, &node.a);
    code = code ? code : expect(p, ',');
    code = code ? code : parse_binary(p, 1, &node.b);
    return code ? code : add(p, node, ret_node);
}

static int parse_function(struct parser *p, uint32_t *ret_node) {
    enum sy_expr_op op = p->op;
    int code = deeper(p);
    code = code ? code : advance(p);
    code = code ? code : expect(p, '(');
    if (code) {
        return code;
    }
    if (op == SY_EXPR_MIN || op == SY_EXPR_MAX || op == SY_EXPR_RATIO) {
        code = parse_arguments(p, op, ret_node);
    } else if (p->token == TOKEN_NAME) {
        code = add_name(p, op, ret_node);
    } else {
        code = fail_token(p, "expected the name of an event");
    }
    p->depth--;
    return code ? code : expect(p, ')');
}

static int parse_nested(struct parser *p, uint32_t *ret_node) {
    bool minus = p->sign == '-';
    int code = deeper(p);
    code = code ? code : advance(p);
    if (!code && minus) {
        struct sy_expr_node node = {.op = SY_EXPR_NEGATE};
        code = parse_binary(p, 7, &node.a);
        code = code ? code : add(p, node, ret_node);
    } else if (!code) {
        code = parse_if(p, ret_node);
        code = code ? code : expect(p, ')');
    }
    p->depth--;
    return code;
}

static int parse_operand(struct parser *p, uint32_t *ret_node) {
    switch (p->token) {
    case TOKEN_NUMBER: {
        int code =
            add(p, (struct sy_expr_node){.op = SY_EXPR_NUMBER, .number = p->number}, ret_node);
        return code ? code : advance(p);
    }
    case TOKEN_NAME:
        return add_name(p, SY_EXPR_NAME, ret_node);
    case TOKEN_LITERAL:
        return add_literal(p, ret_node);
    case TOKEN_FUNCTION:
        return parse_function(p, ret_node);
    case TOKEN_SIGN:
        if (p->sign == '(' || p->sign == '-') {
            return parse_nested(p, ret_node);
        }
        break;
    case TOKEN_IF:
    case TOKEN_ELSE:
    case TOKEN_END:
        break;
    }
    return fail_token(p, "expected a number, a name or '('");
}

static const struct binary *find_binary(const struct parser *p, uint8_t level) {
    for (size_t i = 0; i < SY_COUNT(binaries) && p->token == TOKEN_SIGN; i++) {
        if (binaries[i].sign == p->sign && binaries[i].level >= level) {
            return &binaries[i];
        }
    }
    return NULL;
}

/* Everything that binds at least as tightly as level. */
static int parse_binary(struct parser *p, uint8_t level, uint32_t *ret_node) {
    uint32_t left;
    int code = parse_operand(p, &left);
    const struct binary *binary;
    while (!code && (binary = find_binary(p, level))) {
        struct sy_expr_node node = {.op = binary->op, .a = left};
        code = advance(p);
        code = code ? code : parse_binary(p, (uint8_t)(binary->level + 1), &node.b);
        code = code ? code : add(p, node, &left);
    }
    if (!code) {
        *ret_node = left;
    }
    return code;
}

/* a if b else (another of these) */
static int parse_if(struct parser *p, uint32_t *ret_node) {
    struct sy_expr_node node = {.op = SY_EXPR_IF};
    int code = parse_binary(p, 1, &node.a);
    if (code || p->token != TOKEN_IF) {
        *ret_node = code ? *ret_node : node.a;
        return code;
    }
    code = deeper(p);
    code = code ? code : advance(p);
    code = code ? code : parse_binary(p, 1, &node.b);
    if (!code && p->token != TOKEN_ELSE) {
        code = fail_token(p, "expected 'else'");
    }
    code = code ? code : advance(p);
    code = code ? code : parse_if(p, &node.c);
    code = code ? code : add(p, node, ret_node);
    p->depth--;
    return code;
}

static int finish(struct parser *p, struct sy_expr *ret_expr) {
    if (p->token != TOKEN_END) {
        return fail_token(p, "expected an operator or the end");
    }
    struct sy_expr_node *nodes = sy_arena_alloc(p->arena, p->count, sizeof *nodes);
    if (!nodes) {
        return sy_out_of_memory(p->error);
    }
    memcpy(nodes, p->nodes, p->count * sizeof *nodes);
    *ret_expr = (struct sy_expr){.nodes = nodes, .count = p->count};
    return 0;
}

int sy_expr_parse_at(struct sy_arena *arena, struct sy_expr_names *names, const char *text,
                     size_t length, struct sy_place place, struct sy_expr *ret_expr,
                     struct sy_error *error) {
    struct parser p = {.arena = arena,
                       .names = names,
                       .text = text,
                       .end = text + length,
                       .at = text,
                       .place = place,
                       .error = error};
    uint32_t root;
    int code = advance(&p);
    code = code ? code : parse_if(&p, &root);
    code = code ? code : finish(&p, ret_expr);
    free(p.nodes);
    return code;
}

int sy_expr_parse(struct sy_arena *arena, struct sy_expr_names *names, const char *text,
                  size_t length, struct sy_expr *ret_expr, struct sy_error *error) {
    return sy_expr_parse_at(arena, names, text, length, (struct sy_place){.column = 1}, ret_expr,
                            error);
}

void sy_expr_names_finish(struct sy_expr_names *names) {
    free(names->names);
    sy_map_finish(&names->map);
    *names = (struct sy_expr_names){0};
}
