/* SPDX-License-Identifier: Apache-2.0
 *
 * options_help: the text of --help, examples first.
 *
 * In: a command's table. Out: text no wider than 92 columns. Invariant: every option of the table
 * appears.
 */
#include "cli/options.h"

#include <string.h>

#define HELP_COLUMN 27
#define HELP_WIDTH  92

/* Breaks between words; the first line starts at column used. */
static void put_wrapped(struct sy_buffer *buffer, const char *text, size_t used, size_t indent) {
    while (*text) {
        size_t word = strcspn(text, " ");
        if (used > indent && used + 1 + word > HELP_WIDTH) {
            sy_buffer_printf(buffer, "\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            sy_buffer_append(buffer, " ", 1);
            used++;
        }
        sy_buffer_append(buffer, text, word);
        used += word;
        text += word + strspn(text + word, " ");
    }
    sy_buffer_append(buffer, "\n", 1);
}

static void put_option(struct sy_buffer *buffer, const char *name, const char *metavar,
                       const char *help) {
    char left[80];
    int length = snprintf(left, sizeof(left), "  %s--%s%s%s", strcmp(name, "out") ? "" : "-o, ",
                          name, metavar ? " " : "", metavar ? metavar : "");
    if (length >= HELP_COLUMN - 1) {
        sy_buffer_printf(buffer, "%s\n%*s", left, HELP_COLUMN, "");
    } else {
        sy_buffer_printf(buffer, "%-*s", HELP_COLUMN, left);
    }
    put_wrapped(buffer, help, HELP_COLUMN, HELP_COLUMN);
}

void sy_options_help(const struct sy_command *command, struct sy_buffer *buffer) {
    sy_buffer_printf(buffer, "Examples:\n%s\n\nUsage: symph %s %s\n", command->examples,
                     command->name, command->usage);
    if (command->about) {
        sy_buffer_printf(buffer, "\n");
        put_wrapped(buffer, command->about, 0, 0);
    }
    sy_buffer_printf(buffer, "\nOptions:\n");
    for (size_t i = 0; i < command->option_count; i++) {
        const struct sy_option *option = &command->options[i];
        if (option->type == SY_OPTION_HEADING) {
            sy_buffer_printf(buffer, "\n%s:\n", option->help);
        } else {
            put_option(buffer, option->name, option->metavar, option->help);
        }
    }
    put_option(buffer, "help", NULL, "print this text");
}
