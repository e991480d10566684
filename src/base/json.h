/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON, both ways, without a tree in between.
 *
 * The reader pulls values one at a time and knows line and column of each, so that an importer can
 * point at the very value it dislikes and a graph of a million tasks needs no tree in memory.
 * Strict RFC 8259, UTF-8 checked, nesting limited, no NUL in strings. The writer produces the same
 * bytes for the same calls everywhere. docs/design/002-json.md says why not a library.
 */
#ifndef SY_BASE_JSON_H
#define SY_BASE_JSON_H

#include "base/base.h"

enum sy_json_type {
    SY_JSON_NULL,
    SY_JSON_BOOL,
    SY_JSON_NUMBER,
    SY_JSON_STRING,
    SY_JSON_ARRAY,
    SY_JSON_OBJECT
};

#define SY_JSON_DEPTH_MAX 64

struct sy_json {
    const char *file, *end, *at;
    const char *line_start;
    uint32_t line;
    uint32_t depth;
    bool first; /* no element of the innermost container was read yet */
    struct sy_error *error;
    struct sy_buffer string;           /* the last string read, unescaped */
    uint32_t value_line, value_column; /* where the value last looked at begins, for errors */
};

/* error receives whatever goes wrong; may not be NULL. */
void sy_json_init(struct sy_json *json, const char *file, const char *text, size_t length,
                  struct sy_error *error);
void sy_json_finish(struct sy_json *json);

/* All reading functions return 0 or -EINVAL (-ENOMEM), with the error filled. */
/* Type of the next value, which is not consumed. */
SY_MUST_CHECK int sy_json_peek(struct sy_json *json, enum sy_json_type *ret_type);
SY_MUST_CHECK int sy_json_number(struct sy_json *json, double *ret_value);
/* A finite number in [low, high]; the error names what. */
SY_MUST_CHECK int sy_json_number_in(struct sy_json *json, const char *what, double low, double high,
                                    double *ret_value);
SY_MUST_CHECK int sy_json_bool(struct sy_json *json, bool *ret_value);
/* The string stays valid until the next string or member name is read. */
SY_MUST_CHECK int sy_json_string(struct sy_json *json, const char **ret_text, size_t *ret_length);
SY_MUST_CHECK int sy_json_enter_array(struct sy_json *json);
SY_MUST_CHECK int sy_json_enter_object(struct sy_json *json);
/* 1: another element follows; 0: the array was closed. */
SY_MUST_CHECK int sy_json_next(struct sy_json *json);
/* 1: *ret_name is the next member's name and its value follows; 0: the object was closed. */
SY_MUST_CHECK int sy_json_next_member(struct sy_json *json, const char **ret_name);
SY_MUST_CHECK int sy_json_skip(struct sy_json *json);
/* Skips the next value and gives its text, for a reader of its own; errors still speak of where it
 * begins. If that reader fails, sy_json_relocate says where its complaint stands in this text. */
SY_MUST_CHECK int sy_json_cut(struct sy_json *json, const char **ret_text, size_t *ret_length);
void sy_json_relocate(struct sy_json *json);
/* Nothing but white space may be left. */
SY_MUST_CHECK int sy_json_end(struct sy_json *json);
/* An error at the value last peeked, read or entered. Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int sy_json_fail(struct sy_json *json, const char *format,
                                                       ...);

/* Where the value last looked at begins; and back there: the next error speaks of it. */
struct sy_json_place {
    uint32_t line, column;
};
struct sy_json_place sy_json_here(const struct sy_json *json);
void sy_json_go(struct sy_json *json, struct sy_json_place place);

/* --- objects whose members are known: json_object.c ------------------------------------------ */
/* The next member of an object that the error calls what ("a kernel"), as an index into names. 1; 0
 * at the end; or an error: one that is not among names, with the nearest of them, or that comes
 * twice. *seen has a bit per name (at most 32), and is 0 before the first. */
SY_MUST_CHECK int sy_json_next_of(struct sy_json *json, const char *what, const char *const *names,
                                  uint32_t count, uint32_t *seen, uint32_t *ret_index);
/* A member and what reads its value. The reader that it is given begins with its struct sy_json. */
struct sy_json_member {
    const char *name;
    int (*read)(void *reader, const struct sy_json_member *member); /* NULL: it is skipped */
    void *out;
    double low, high;  /* of a number */
    const void *extra; /* whatever read needs */
    bool required;
};
/* Reads an object whose members are among these, each at most once; an error, and what follows,
 * speaks of the object as a whole. */
SY_MUST_CHECK int sy_json_members(void *reader, const char *what,
                                  const struct sy_json_member *members, uint32_t count);
int sy_json_read_number(void *reader, const struct sy_json_member *member); /* double */
int sy_json_read_count(void *reader, const struct sy_json_member *member);  /* uint32_t, whole */
int sy_json_read_bool(void *reader, const struct sy_json_member *member);
/* The value is the name of this schema; what: "a graph". */
SY_MUST_CHECK int sy_json_schema(struct sy_json *json, const char *schema, const char *what);
/* A whole number below limit: the index of a task, say. */
SY_MUST_CHECK int sy_json_index(struct sy_json *json, const char *what, uint32_t limit,
                                uint32_t *ret_index);
/* One of these words, by its index; the error says that it is not what ("a role"). */
SY_MUST_CHECK int sy_json_word(struct sy_json *json, const char *what, const char *const *words,
                               uint32_t count, uint32_t *ret_index);
/* A copy in the arena. */
SY_MUST_CHECK int sy_json_text(struct sy_json *json, struct sy_arena *arena, const char **ret_text);

/* --- writer: appends to a buffer; indents two spaces, one member a line ---------------------- */
struct sy_json_writer {
    struct sy_buffer buffer;
    uint32_t depth;
    bool first;
    bool after_key;
    uint32_t compact_from; /* containers at this depth and below stay on one line; 0: none */
};
void sy_json_open(struct sy_json_writer *writer, char bracket); /* '{' or '[' */
void sy_json_close(struct sy_json_writer *writer, char bracket);
void sy_json_key(struct sy_json_writer *writer, const char *key);
/* What is not UTF-8 becomes U+FFFD, so that what is written can always be read. NULL is null. */
void sy_json_put_string(struct sy_json_writer *writer, const char *text);
/* The fewest digits that read back the same; null where not finite. */
void sy_json_put_number(struct sy_json_writer *writer, double value);
void sy_json_put_u64(struct sy_json_writer *writer, uint64_t value);
void sy_json_put_bool(struct sy_json_writer *writer, bool value);
void sy_json_put_null(struct sy_json_writer *writer);
/* A value that another writer made; its lines are indented as they stand here. */
void sy_json_put_json(struct sy_json_writer *writer, const char *text, size_t length);
/* key and value, or the beginning of it, in one call */
void sy_json_open_member(struct sy_json_writer *writer, const char *key, char bracket);
void sy_json_member_string(struct sy_json_writer *writer, const char *key, const char *text);
void sy_json_member_number(struct sy_json_writer *writer, const char *key, double value);
void sy_json_member_u64(struct sy_json_writer *writer, const char *key, uint64_t value);
/* Several of these in one call: the format is what is written, without quotes, and what printf
 * would take stands for values: "{name: %s, tasks: %u, ns: %g, valid: %d, kernels: [". %s is a
 * string, or a key if a colon follows; %u, %zu and %llu are counts, %g is a number and %d a bool.
 * It may begin and end anywhere: the next call goes on. Compilers object to a NULL for %s that they
 * can see: that is for sy_json_put_string. */
__attribute__((format(printf, 2, 3))) void sy_json_print(struct sy_json_writer *writer,
                                                         const char *format, ...);

#endif
