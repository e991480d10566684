/* SPDX-License-Identifier: Apache-2.0
 *
 * symph: finds the sub-command and hands over to it.
 *
 * In: argv. Out: the sub-command's exit code. Invariant: a word that is no sub-command gets the
 * nearest one as an answer.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct entry entries[] = {
    {"machine", sy_cmd_machine, "show a machine: devices, memories, links"},
    {"graph", sy_cmd_graph, "read, check, convert and generate task graphs"},
    {"bound", sy_cmd_bound, "how fast could any schedule be"},
    {"plan", sy_cmd_plan, "where the kernels of a repeated pipeline should run"},
    {"simulate", sy_cmd_simulate, "run schedulers over graphs in virtual time"},
    {"run", sy_cmd_run, "run a graph of real kernels on this machine"},
    {"explain", sy_cmd_explain, "why a task of a run went where it did"},
    {"starpu", sy_cmd_starpu, "run a StarPU program under one of our policies"},
    {"kernels", sy_cmd_kernels, "list and calibrate kernels, and what is known of their times"},
    {"counters", sy_cmd_counters, "what the machine is doing, from the counters it has"},
    {"train", sy_cmd_train, "make weights for the learned policies in simulated worlds"},
    {"call-variants", sy_cmd_call_variants, "from sequenced reads to variants, on all devices"},
    {"genomics", sy_cmd_genomics, "simulate samples with known variants, and score calls"},
    {"bench", sy_cmd_bench, "regenerate the tables of the documentation"},
};

static const struct entry *find(const char *name) {
    for (size_t i = 0; i < SY_COUNT(entries); i++) {
        if (strcmp(entries[i].name, name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

static int print_help(void) {
    struct sy_buffer buffer = {0};
    sy_buffer_printf(
        &buffer,
        "Examples:\n"
        "  symph simulate --machine \"cpu:12 gpu:4\" --graphs gen:cholesky:20 --policy heft,dmdas\n"
        "  symph graph gen:cholesky:10\n"
        "  symph bound --machine \"cpu:12 gpu:4\" --graphs gen:cholesky:20\n"
        "  symph machine\n"
        "\n"
        "Usage: symph COMMAND [OPTION]...\n"
        "\n"
        "Commands:\n");
    for (size_t i = 0; i < SY_COUNT(entries); i++) {
        sy_buffer_printf(&buffer, "  %-13s %s\n", entries[i].name, entries[i].summary);
    }
    sy_buffer_printf(&buffer, "\n"
                              "  symph help COMMAND   the options of a command\n"
                              "  symph --version\n"
                              "\n"
                              "Data go to standard output, messages to standard error. Exit codes: "
                              "0 ok, 1 ran and failed,\n"
                              "2 wrong usage, 3 invalid input, 130 interrupted.\n");
    return sy_output(&buffer);
}

static int unknown_command(const char *name) {
    const char *names[SY_COUNT(entries)];
    for (size_t i = 0; i < SY_COUNT(entries); i++) {
        names[i] = entries[i].name;
    }
    const char *near = sy_nearest(name, names, SY_COUNT(names));
    if (near) {
        sy_message_fail("unknown command '%s', did you mean 'symph %s'?", name, near);
    } else {
        sy_message_fail("unknown command '%s'; see symph --help", name);
    }
    return SY_EXIT_USAGE;
}

static int help_for(const char *name) {
    const struct entry *entry = find(name);
    if (!entry) {
        return unknown_command(name);
    }
    char word[32], flag[] = "--help";
    snprintf(word, sizeof(word), "%s", name);
    char *argv[] = {word, flag, NULL};
    return entry->run(2, argv);
}

int main(int argc, char **argv) {
    /* hwloc complains on stderr where /sys is not mounted; what it finds there is enough. */
    setenv("HWLOC_HIDE_ERRORS", "2", 0);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files' sizes is then told like a full disk */
    if (argc < 2) {
        sy_message_fail("a command is missing; see symph --help");
        return SY_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        return argc > 2 ? help_for(argv[2]) : print_help();
    }
    if (strcmp(name, "--version") == 0) {
        struct sy_buffer buffer = {0};
        sy_buffer_printf(&buffer, "symph %s\n", sy_version());
        return sy_output(&buffer);
    }
    const struct entry *entry = find(name);
    return entry ? entry->run(argc - 1, argv + 1) : unknown_command(name);
}
