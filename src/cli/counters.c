/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters: finds the sub-command and hands over to it.
 *
 * In: argv. Out: the sub-command's exit code. Invariant: a word that is no sub-command gets the
 * nearest one as an answer.
 */
#include "cli/counters.h"

#include <string.h>

struct entry {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct entry entries[] = {
    {"watch", sy_counters_watch, "how busy each resource is, with what is not known about it"},
    {"sources", sy_counters_sources, "what can be read here, what cannot, and what would help"},
    {"record", sy_counters_record, "write what the counters say into a file"},
    {"replay", sy_counters_replay, "what watch would have shown of a recording"},
    {"listing", sy_counters_listing, "what the makers of processors say can be counted"},
    {"model", sy_counters_model, "how the counters of a processor hang together"},
};

static int print_help(void) {
    struct sy_buffer buffer = {0};
    sy_buffer_printf(&buffer, "Examples:\n"
                              "  symph counters watch\n"
                              "  symph counters watch --once --json\n"
                              "  symph counters sources\n"
                              "  symph counters record -o night.counters --duration 600\n"
                              "  symph counters replay night.counters --plot night.svg\n"
                              "\n"
                              "Usage: symph counters COMMAND [OPTION]...\n"
                              "\n"
                              "Sub-commands:\n");
    for (size_t i = 0; i < SY_COUNT(entries); i++) {
        sy_buffer_printf(&buffer, "  %-10s %s\n", entries[i].name, entries[i].summary);
    }
    sy_buffer_printf(&buffer, "\n  symph counters COMMAND --help   the options of one of them\n");
    return sy_output(&buffer);
}

static int unknown(const char *name) {
    const char *names[SY_COUNT(entries)];
    for (size_t i = 0; i < SY_COUNT(entries); i++) {
        names[i] = entries[i].name;
    }
    const char *near = sy_nearest(name, names, SY_COUNT(names));
    if (near) {
        sy_message_fail("unknown sub-command '%s', did you mean 'symph counters %s'?", name, near);
    } else {
        sy_message_fail("unknown sub-command '%s'; see symph counters --help", name);
    }
    return SY_EXIT_USAGE;
}

int sy_cmd_counters(int argc, char **argv) {
    if (argc < 2) {
        sy_message_fail("a sub-command is missing: watch, sources, record, replay, listing or "
                        "model; see symph counters --help");
        return SY_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        return print_help();
    }
    for (size_t i = 0; i < SY_COUNT(entries); i++) {
        if (strcmp(entries[i].name, name) == 0) {
            return entries[i].run(argc - 1, argv + 1);
        }
    }
    return unknown(name);
}
