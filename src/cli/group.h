/* SPDX-License-Identifier: Apache-2.0
 *
 * group: a command that has sub-commands: symph itself, symph counters, symph genomics.
 *
 * In: a table of sub-commands; argv. Out: the exit code of the one that was named. Invariant: the
 * name alone prints the help and succeeds; an unknown word gets the nearest name as an answer.
 */
#ifndef SY_CLI_GROUP_H
#define SY_CLI_GROUP_H

#include <stddef.h>

struct sy_group_entry {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is name; returns an exit code */
    const char *summary;
};

struct sy_commands {
    const char *name;     /* "symph", "symph counters" */
    const char *examples; /* lines */
    const struct sy_group_entry *entries;
    size_t entry_count;
    const char *more; /* lines below the list of sub-commands; NULL: none */
};

/* argv[0] is the group's own name. Takes NAME, --help, and "help [NAME]...". */
int sy_group_run(const struct sy_commands *group, int argc, char **argv);

#endif
