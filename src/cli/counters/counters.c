/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters: the list of its sub-commands, each in a file of its own.
 */
#include "cli/counters/commands.h"

#include "cli/group.h"

static const struct sy_group_entry entries[] = {
    {"watch", sy_counters_watch, "show how busy each resource is, and how certain that is"},
    {"sources", sy_counters_sources,
     "show what can be read here, what cannot, and what would help"},
    {"record", sy_counters_record, "write the readings of the counters to a file"},
    {"replay", sy_counters_replay, "show what watch would have shown of a recording"},
    {"listing", sy_counters_listing, "list the events that processors can count"},
    {"model", sy_counters_model, "show how the counters of a processor are related"},
};

static const struct sy_commands group = {
    .name = "symph counters",
    .examples = "  symph counters watch\n"
                "  symph counters watch --once --json\n"
                "  symph counters sources\n"
                "  symph counters record -o night.counters --duration 10min\n"
                "  symph counters replay night.counters --plot night.svg",
    .entries = entries,
    .entry_count = SY_COUNT(entries),
};

int sy_cmd_counters(int argc, char **argv) {
    return sy_group_run(&group, argc, argv);
}
