/* SPDX-License-Identifier: Apache-2.0
 *
 * options: one small parser for the arguments of all sub-commands.
 *
 * In: a table that says which options there are and where their values go; argv. Out: a filled
 * struct, or a message and an exit code. Never knows: what an option means. Invariant: the help
 * text is made from the same table, so it cannot miss an option; -o stands for --out.
 */
#ifndef SY_CLI_OPTIONS_H
#define SY_CLI_OPTIONS_H

#include "base/base.h"

enum sy_option_type {
    SY_OPTION_HEADING, /* only a title in the help text */
    SY_OPTION_FLAG,    /* bool */
    SY_OPTION_TEXT,    /* const char *, not empty */
    SY_OPTION_ANY,     /* const char *, may be empty */
    SY_OPTION_FILE,    /* const char *: a file to be written, which must be possible; not "-" */
    SY_OPTION_LIST,    /* struct sy_text_list: takes what follows up to the next option */
    SY_OPTION_REPEAT,  /* struct sy_text_list: one value each time it is given */
    SY_OPTION_U32,     /* uint32_t */
    SY_OPTION_U64,     /* uint64_t */
    SY_OPTION_NUMBER,  /* double */
    SY_OPTION_TIME,    /* double, seconds: 2ms, 0.5s, 10min */
    SY_OPTION_SIZE,    /* double, bytes: 500MB, 16GiB */
    SY_OPTION_KEY,     /* a key of a struct sy_request: the rest is said there */
};

/* Texts borrowed from argv. */
struct sy_text_list {
    const char **items;
    uint32_t count, capacity;
};
SY_MUST_CHECK int sy_text_list_add(struct sy_text_list *list, const char *text);
void sy_text_list_finish(struct sy_text_list *list);

struct sy_option {
    enum sy_option_type type;
    const char *name; /* without dashes */
    const char *metavar;
    size_t target; /* offset of the value, or of the request, in the arguments' struct */
    const char *help;
    double low, high; /* what a number may be; of seconds, of bytes */
    size_t given;     /* offset of a bool set when the option is there; 0: none */
};

#define SY_OPTION_COMMON(type)                                                                     \
    {SY_OPTION_FLAG, "json", NULL, offsetof(type, common.json), "print one JSON object"}, {        \
        SY_OPTION_FLAG, "quiet", NULL, offsetof(type, common.quiet),                               \
            "no progress bar and no notes"                                                         \
    }

struct sy_command {
    const char *name;
    const char *program;  /* that is this command alone; NULL: symph NAME */
    const char *usage;    /* behind its name */
    const char *examples; /* lines */
    const char *about;    /* a paragraph; NULL: none */
    const struct sy_option *options;
    size_t option_count;
    size_t operands;         /* offset of the struct sy_text_list for other arguments */
    uint32_t operand_max;    /* 0: none are taken */
    bool first_operand_ends; /* what follows it is not ours: a command line to be run */
};

/* An option by a key of engine/request.h, with the key's type, place and limits; others as they
 * are.
 */
struct sy_option sy_option_resolve(const struct sy_option *option);
/* The option that an argument such as --seed, --seed=3 or -o names; NULL: none. */
const struct sy_option *sy_options_find(const struct sy_command *command, const char *argument);
/* False: stop now with *ret_exit (help was asked for, or a message was printed). */
SY_MUST_CHECK bool sy_options_parse(const struct sy_command *command, int argc, char **argv,
                                    void *args, int *ret_exit);
/* Parses, runs the command with its arguments, and frees their lists. Returns the exit code. */
int sy_options_run(const struct sy_command *command, int argc, char **argv, void *args,
                   int (*run)(void *args));
/* A message about wrong usage, with the pointer to --help. Returns the exit code. */
__attribute__((format(printf, 2, 3))) int sy_options_usage(const struct sy_command *command,
                                                           const char *format, ...);
/* The help text. */
void sy_options_help(const struct sy_command *command, struct sy_buffer *buffer);

#endif
