/* SPDX-License-Identifier: Apache-2.0
 *
 * options_help: the text of --help, examples first.
 *
 * In: a command's table. Out: text no wider than 92 columns. Invariant: every option of the table
 * appears.
 */
#include "cli/options.h"
#include "cli/table.h"

#include <string.h>

#define HELP_COLUMN 27

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
    sy_print_wrapped(buffer, help, HELP_COLUMN, HELP_COLUMN);
}

void sy_options_help(const struct sy_command *command, struct sy_buffer *buffer) {
    sy_buffer_printf(buffer, "Examples:\n%s\n\nUsage: %s%s %s\n", command->examples,
                     command->program ? command->program : "symph ",
                     command->program ? "" : command->name, command->usage);
    if (command->about) {
        sy_buffer_printf(buffer, "\n");
        sy_print_wrapped(buffer, command->about, 0, 0);
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
