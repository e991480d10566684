/* SPDX-License-Identifier: Apache-2.0
 *
 * symph: finds the sub-command and hands over to it.
 *
 * In: argv. Out: the sub-command's exit code. Invariant: symph alone prints the list of commands.
 */
#include "cli/cli.h"
#include "cli/complete.h"
#include "cli/group.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct version_args {
    struct sy_common_args common;
};

static const struct sy_option version_options[] = {
    SY_OPTION_COMMON(struct version_args),
};

static const struct sy_command version = {
    .name = "version",
    .usage = "[--json]",
    .examples = "  symph version",
    .options = version_options,
    .option_count = SY_COUNT(version_options),
};

static int print_version(int argc, char **argv) {
    struct version_args args = {0};
    int r = SY_EXIT_OK;
    if (!sy_options_parse(&version, argc, argv, &args, &r)) {
        return r;
    }
    struct sy_buffer buffer = {0};
    sy_buffer_printf(&buffer,
                     args.common.json ? "{\"schema\": \"symph-version-1\", \"version\": \"%s\"}\n"
                                      : "symph %s\n",
                     sy_version());
    return sy_output(&buffer);
}

static const struct sy_group_entry entries[] = {
    {"machine", sy_cmd_machine, "show a machine: its devices, memories and links"},
    {"graph", sy_cmd_graph, "read, check, convert and generate task graphs"},
    {"bound", sy_cmd_bound, "show how fast any schedule could be"},
    {"plan", sy_cmd_plan, "choose devices for the kernels of a repeated pipeline"},
    {"simulate", sy_cmd_simulate, "compare schedulers on graphs in simulated time"},
    {"run", sy_cmd_run, "run a graph of real kernels on this machine"},
    {"explain", sy_cmd_explain, "explain why a task of a run went where it did"},
    {"starpu", sy_cmd_starpu, "run a StarPU program under one of these policies"},
    {"top", sy_cmd_top, "show what runs now under these policies"},
    {"serve", sy_cmd_serve, "share the devices of this machine between programs"},
    {"tenants", sy_cmd_tenants, "show who shares the devices, and what each has used"},
    {"kernels", sy_cmd_kernels, "list kernels, and measure their times on this machine"},
    {"counters", sy_cmd_counters, "show how busy the machine is, from its hardware counters"},
    {"train", sy_cmd_train, "train weights for the learned policies in simulated worlds"},
    {"call-variants", sy_cmd_call_variants, "call variants from sequencing reads, on all devices"},
    {"genomics", sy_cmd_genomics, "simulate samples with known variants, and score calls"},
    {"version", print_version, "print the version"},
};

static const struct sy_commands group = {
    .name = "symph",
    .examples =
        "  symph simulate --machine \"cpu:12 gpu:4\" --graphs gen:cholesky:20 --policy heft,dmdas\n"
        "  symph graph gen:cholesky:10\n"
        "  symph bound --machine \"cpu:12 gpu:4\" --graphs gen:cholesky:20\n"
        "  symph machine",
    .entries = entries,
    .entry_count = SY_COUNT(entries),
    .more = "\nData go to standard output, messages to standard error. Exit codes: 0 ok, 1 ran and "
            "failed,\n2 wrong usage, 3 invalid input, 4 no broker answers, 130 interrupted.\n",
};

static int run(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "bench") == 0) {
        sy_message_fail("the benches are a program that is not installed: symph-bench, in the "
                        "build folder");
        return SY_EXIT_USAGE;
    }
    bool version_asked = argc > 1 && strcmp(argv[1], "--version") == 0;
    return version_asked ? print_version(argc - 1, argv + 1) : sy_group_run(&group, argc, argv);
}

int main(int argc, char **argv) {
    /* hwloc complains on stderr where /sys is not mounted; what it finds there is enough. */
    setenv("HWLOC_HIDE_ERRORS", "2", 0);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files' sizes is then told like a full disk */
    /* What the scripts in completions/ call; not for people, so that no help mentions it. */
    if (argc > 1 && strcmp(argv[1], "complete") == 0) {
        return sy_complete(argc - 1, argv + 1, run);
    }
    return run(argc, argv);
}
