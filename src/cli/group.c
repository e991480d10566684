/* SPDX-License-Identifier: Apache-2.0
 *
 * group: see group.h.
 */
#include "cli/group.h"

#include "cli/cli.h"
#include "cli/complete.h"
#include <stdlib.h>
#include <string.h>

static const struct sy_group_entry *find(const struct sy_commands *group, const char *name) {
    uint32_t count = (uint32_t)group->entry_count;
    uint32_t i = sy_index_of(name, group->entries, count, sizeof *group->entries);
    return i == SY_NONE ? NULL : &group->entries[i];
}

static int print_help(const struct sy_commands *group) {
    struct sy_buffer buffer = {0};
    int width = 0;
    for (size_t i = 0; i < group->entry_count; i++) {
        int length = (int)strlen(group->entries[i].name);
        width = length > width ? length : width;
    }
    sy_buffer_printf(&buffer, "Examples:\n%s\n\nUsage: %s COMMAND [OPTION]...\n\nCommands:\n",
                     group->examples, group->name);
    for (size_t i = 0; i < group->entry_count; i++) {
        sy_buffer_printf(&buffer, "  %-*s  %s\n", width, group->entries[i].name,
                         group->entries[i].summary);
    }
    sy_buffer_printf(&buffer, "\n  %s COMMAND --help   show the options of a command\n%s",
                     group->name, group->more ? group->more : "");
    return sy_output(&buffer);
}

static int unknown(const struct sy_commands *group, const char *name) {
    const char **names = calloc(group->entry_count + 1, sizeof *names);
    for (size_t i = 0; names && i < group->entry_count; i++) {
        names[i] = group->entries[i].name;
    }
    const char *near = names ? sy_nearest(name, names, group->entry_count) : NULL;
    if (near) {
        sy_message_fail("unknown command '%s', did you mean '%s %s'?", name, group->name, near);
    } else {
        sy_message_fail("unknown command '%s'; see %s --help", name, group->name);
    }
    free(names);
    return SY_EXIT_USAGE;
}

/* "help COMMAND [SUB-COMMAND]" is "COMMAND [SUB-COMMAND] --help". */
static int help_for(const struct sy_commands *group, int argc, char **argv) {
    const struct sy_group_entry *entry = find(group, argv[0]);
    if (!entry) {
        return unknown(group, argv[0]);
    }
    static char flag[] = "--help";
    char **words = sy_need(calloc((size_t)argc + 2, sizeof *words));
    memcpy(words, argv, (size_t)argc * sizeof *words);
    words[argc] = flag;
    int r = entry->run(argc + 1, words);
    free(words);
    return r;
}

static int complete(const struct sy_commands *group, const char *word) {
    struct sy_offers offers = {.word = word};
    for (size_t i = 0; i < group->entry_count; i++) {
        sy_offer(&offers, group->entries[i].name, group->entries[i].summary);
    }
    sy_offer(&offers, "help", "show the options of a command");
    if (word[0] == '-') {
        sy_offer(&offers, "--help", "show this list of commands");
    }
    return sy_output(&offers.lines);
}

int sy_group_run(const struct sy_commands *group, int argc, char **argv) {
    bool completes = sy_completes(argc, argv);
    if (argc < 2) {
        return print_help(group);
    }
    const char *name = argv[1];
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (completes && (argc == 3 || (help && argc == 4))) {
        return complete(group, argv[argc - 2]);
    }
    if (help) {
        return argc > 2 ? help_for(group, argc - 2, argv + 2) : print_help(group);
    }
    const struct sy_group_entry *entry = find(group, name);
    return entry ? entry->run(argc - 1, argv + 1) : completes ? SY_EXIT_OK : unknown(group, name);
}
