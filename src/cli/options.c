/* SPDX-License-Identifier: Apache-2.0
 *
 * options: parsing; the help text is in options_help.c.
 *
 * In: argv and the table. Out: the filled struct. Invariant: nothing is guessed; a wrong argument
 * gives one line that names it and the nearest right one.
 */
#include "cli/options.h"

#include "cli/cli.h"
#include "cli/complete.h"
#include "cli/units.h"
#include "engine/request.h"
#include <stdlib.h>
#include <string.h>

struct parser {
    const struct sy_command *command;
    int argc, at;
    char **argv;
    char *args;
};

int sy_text_list_add(struct sy_text_list *list, const char *text) {
    return sy_append(&list->items, &list->capacity, &list->count, &text, sizeof(*list->items));
}

void sy_text_list_finish(struct sy_text_list *list) {
    free(list->items);
    *list = (struct sy_text_list){0};
}

int sy_options_usage(const struct sy_command *command, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    sy_message_fail("%s; see %s%s --help", text, command->program ? command->program : "symph ",
                    command->program ? "" : command->name);
    return SY_EXIT_USAGE;
}

static const struct sy_option *find(const struct sy_command *command, const char *name,
                                    size_t length) {
    for (size_t i = 0; i < command->option_count; i++) {
        const struct sy_option *option = &command->options[i];
        if (option->type != SY_OPTION_HEADING && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

/* Options that had another name before 0.2; of several rows the command's own is meant. Old names
 * still work, so that scripts do, and say what the option is called now. */
static const struct {
    const char *old, *now;
} renamed[] = {
    {"gantt", "plot"},   {"curve", "plot"},      {"draw", "tree"},      {"write", "out"},
    {"output", "out"},   {"save", "worst"},      {"costs", "times"},    {"time-limit", "limit"},
    {"prices", "price"}, {"policies", "policy"}, {"validate", "check"}, {"validate", "compare"},
};

/* NULL: the command never had an option of this name. */
static const struct sy_option *find_renamed(const struct sy_command *command, const char *old,
                                            size_t length) {
    const struct sy_option *option = NULL;
    for (size_t i = 0; i < SY_COUNT(renamed) && !option; i++) {
        if (strlen(renamed[i].old) == length && memcmp(renamed[i].old, old, length) == 0) {
            option = find(command, renamed[i].now, strlen(renamed[i].now));
        }
    }
    if (option) {
        sy_message_note(false, "--%.*s is now called --%s", (int)length, old, option->name);
    }
    return option;
}

static int unknown_option(const struct sy_command *command, const char *name, size_t length) {
    const char *names[128];
    size_t count = 0;
    for (size_t i = 0; i < command->option_count && count < SY_COUNT(names); i++) {
        if (command->options[i].type != SY_OPTION_HEADING) {
            names[count++] = command->options[i].name;
        }
    }
    char word[64];
    snprintf(word, sizeof(word), "%.*s", (int)(length < 63 ? length : 63), name);
    const char *near = sy_nearest(word, names, count);
    if (near) {
        return sy_options_usage(command, "unknown option --%s (did you mean --%s?)", word, near);
    }
    return sy_options_usage(command, "unknown option --%s", word);
}

static int set_integer(const struct parser *parser, const struct sy_option *option,
                       const char *text) {
    uint64_t value = 0;
    if (!sy_parse_u64(text, strlen(text), &value)) {
        return sy_options_usage(parser->command, "--%s takes a whole number, not '%s'",
                                option->name, text);
    }
    if ((double)value < option->low || (double)value > option->high) {
        return sy_options_usage(parser->command, "--%s must be %.10g to %.10g, not %s",
                                option->name, option->low, option->high, text);
    }
    if (option->type == SY_OPTION_U32) {
        *(uint32_t *)(void *)(parser->args + option->target) = (uint32_t)value;
    } else {
        *(uint64_t *)(void *)(parser->args + option->target) = value;
    }
    return SY_EXIT_OK;
}

static int set_number(const struct parser *parser, const struct sy_option *option,
                      const char *text) {
    double value = 0;
    if (!sy_parse_double(text, strlen(text), &value)) {
        return sy_options_usage(parser->command, "--%s takes a number, not '%s'", option->name,
                                text);
    }
    if (value < option->low || value > option->high) {
        return sy_options_usage(parser->command, "--%s must be %.10g to %.10g, not %s",
                                option->name, option->low, option->high, text);
    }
    *(double *)(void *)(parser->args + option->target) = value;
    return SY_EXIT_OK;
}

/* A time or a size; without a unit nobody can tell what was meant. */
static int set_quantity(const struct parser *parser, const struct sy_option *option,
                        const char *text) {
    bool time = option->type == SY_OPTION_TIME;
    double value = 0, scale = time ? 1e9 : 1;
    if (time ? !sy_parse_time(text, strlen(text), &value)
             : !sy_parse_size(text, strlen(text), &value)) {
        return sy_options_usage(
            parser->command, "--%s takes a %s, not '%s'", option->name,
            time ? "time such as 500ms, 60s or 10min" : "size such as 500MB or 16GiB", text);
    }
    struct sy_units (*put)(double) = time ? sy_units_time : sy_units_bytes;
    if (value < option->low * scale || value > option->high * scale) {
        return sy_options_usage(parser->command, "--%s must be %s to %s, not %s", option->name,
                                put(option->low * scale).text, put(option->high * scale).text,
                                text);
    }
    *(double *)(void *)(parser->args + option->target) = value / scale;
    return SY_EXIT_OK;
}

static int add_to_list(struct sy_text_list *list, const char *text) {
    if (sy_text_list_add(list, text) < 0) {
        return sy_no_memory();
    }
    return SY_EXIT_OK;
}

const struct sy_option *sy_options_find(const struct sy_command *command, const char *argument) {
    if (strcmp(argument, "-o") == 0) {
        return find(command, "out", 3);
    }
    return strncmp(argument, "--", 2) == 0 ? find(command, argument + 2, strcspn(argument + 2, "="))
                                           : NULL;
}

static bool is_short_out(const struct sy_command *command, const char *text) {
    return strcmp(text, "-o") == 0 && find(command, "out", 3);
}

/* A value may be negative or "-", but not look like the next option. */
static bool is_value(const struct parser *parser, int at) {
    return at < parser->argc && strncmp(parser->argv[at], "--", 2) != 0 &&
           !is_short_out(parser->command, parser->argv[at]);
}

static int set_list(struct parser *parser, const struct sy_option *option, const char *text) {
    struct sy_text_list *list = (void *)(parser->args + option->target);
    int r = add_to_list(list, text);
    while (r == SY_EXIT_OK && is_value(parser, parser->at)) {
        r = add_to_list(list, parser->argv[parser->at++]);
    }
    return r;
}

static int set_file(const struct parser *parser, const struct sy_option *option, const char *text) {
    if (strcmp(text, "-") == 0) {
        return sy_options_usage(parser->command,
                                "--%s needs a file of its own, not '-': standard output is for "
                                "the results",
                                option->name);
    }
    *(const char **)(void *)(parser->args + option->target) = text;
    return sy_output_check(text);
}

static int set_value(struct parser *parser, const struct sy_option *option, const char *text) {
    if (!text[0] && option->type != SY_OPTION_ANY) {
        return sy_options_usage(parser->command, "--%s needs a value, not ''", option->name);
    }
    switch (option->type) {
    case SY_OPTION_U32:
    case SY_OPTION_U64:
        return set_integer(parser, option, text);
    case SY_OPTION_NUMBER:
        return set_number(parser, option, text);
    case SY_OPTION_FILE:
        return set_file(parser, option, text);
    case SY_OPTION_TIME:
    case SY_OPTION_SIZE:
        return set_quantity(parser, option, text);
    case SY_OPTION_TEXT:
    case SY_OPTION_ANY:
        *(const char **)(void *)(parser->args + option->target) = text;
        return SY_EXIT_OK;
    case SY_OPTION_LIST:
        return set_list(parser, option, text);
    case SY_OPTION_REPEAT:
        return add_to_list((void *)(parser->args + option->target), text);
    case SY_OPTION_FLAG:
    case SY_OPTION_KEY:
    case SY_OPTION_HEADING:
        break;
    }
    return SY_EXIT_OK;
}

struct sy_option sy_option_resolve(const struct sy_option *option) {
    static const enum sy_option_type types[] = {
        [SY_KEY_TEXT] = SY_OPTION_TEXT,     [SY_KEY_ANY] = SY_OPTION_ANY,
        [SY_KEY_FLAG] = SY_OPTION_FLAG,     [SY_KEY_COUNT] = SY_OPTION_U32,
        [SY_KEY_NUMBER] = SY_OPTION_U64,    [SY_KEY_SECONDS] = SY_OPTION_TIME,
        [SY_KEY_AMOUNT] = SY_OPTION_NUMBER,
    };
    struct sy_option resolved = *option;
    if (option->type == SY_OPTION_KEY) {
        const struct sy_key *key = sy_request_key(option->name, strlen(option->name));
        SY_ASSERT(key && !key->wired);
        resolved.type = types[key->type];
        resolved.target += key->offset;
        resolved.low = key->low;
        resolved.high = key->high;
    }
    return resolved;
}

static int parse_option(struct parser *parser, const char *name) {
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct sy_option *found = find(parser->command, name, length);
    found = found ? found : find_renamed(parser->command, name, length);
    if (!found) {
        return unknown_option(parser->command, name, length);
    }
    struct sy_option resolved = sy_option_resolve(found), *option = &resolved;
    if (option->given) {
        *(bool *)(parser->args + option->given) = true;
    }
    if (option->type == SY_OPTION_FLAG) {
        if (equals) {
            return sy_options_usage(parser->command, "--%s takes no value", option->name);
        }
        *(bool *)(parser->args + option->target) = true;
        return SY_EXIT_OK;
    }
    if (equals) {
        return set_value(parser, option, equals + 1);
    }
    if (!is_value(parser, parser->at)) {
        return sy_options_usage(parser->command, "--%s needs a value: --%s %s", option->name,
                                option->name, option->metavar);
    }
    return set_value(parser, option, parser->argv[parser->at++]);
}

static int parse_operand(struct parser *parser, const char *text) {
    const struct sy_command *command = parser->command;
    if (command->operand_max == 0) {
        return sy_options_usage(command, "unexpected argument '%s'", text);
    }
    struct sy_text_list *list = (void *)(parser->args + command->operands);
    if (list->count == command->operand_max) {
        return sy_options_usage(command, "one argument too many: '%s'", text);
    }
    return add_to_list(list, text);
}

static int print_help(const struct sy_command *command) {
    struct sy_buffer buffer = {0};
    sy_options_help(command, &buffer);
    return sy_output(&buffer);
}

bool sy_options_parse(const struct sy_command *command, int argc, char **argv, void *args,
                      int *ret_exit) {
    struct parser parser = {command, argc, 1, argv, args};
    bool only_operands = false;
    int r = SY_EXIT_OK;
    if (sy_completes(argc, argv)) {
        *ret_exit = sy_options_complete(command, argc, argv);
        return false;
    }
    while (r == SY_EXIT_OK && parser.at < argc) {
        const char *text = argv[parser.at++];
        if (only_operands || text[0] != '-' || text[1] == 0) {
            r = parse_operand(&parser, text);
            only_operands = only_operands || command->first_operand_ends;
        } else if (strcmp(text, "--") == 0) {
            only_operands = true;
        } else if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
            *ret_exit = print_help(command);
            return false;
        } else if (text[1] == '-') {
            r = parse_option(&parser, text + 2);
        } else if (is_short_out(command, text)) {
            r = parse_option(&parser, "out");
        } else {
            r = sy_options_usage(command, "unknown option %s", text);
        }
    }
    if (r != SY_EXIT_OK) {
        *ret_exit = r;
    }
    return r == SY_EXIT_OK;
}

int sy_options_run(const struct sy_command *command, int argc, char **argv, void *args,
                   int (*run)(void *args)) {
    int r = SY_EXIT_OK;
    if (sy_options_parse(command, argc, argv, args, &r)) {
        r = run(args);
    }
    for (size_t i = 0; i < command->option_count; i++) {
        const struct sy_option *option = &command->options[i];
        if (option->type == SY_OPTION_LIST || option->type == SY_OPTION_REPEAT) {
            sy_text_list_finish((void *)((char *)args + option->target));
        }
    }
    if (command->operand_max) {
        sy_text_list_finish((void *)((char *)args + command->operands));
    }
    return r;
}
