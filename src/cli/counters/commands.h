/* SPDX-License-Identifier: Apache-2.0
 *
 * commands: the sub-commands of symph counters, one or two files each.
 *
 * In: arguments behind "symph counters". Out: an exit code. Invariant: sy_command.name is "counters
 * WORD", so that help and messages name what the person typed.
 */
#ifndef SY_CLI_COUNTERS_COMMANDS_H
#define SY_CLI_COUNTERS_COMMANDS_H

#include "belief/belief.h"
#include "cli/cli.h"

/* argv[0] is the sub-command's name. */
int sy_counters_listing(int argc, char **argv);
int sy_counters_model(int argc, char **argv);
int sy_counters_sources(int argc, char **argv);
int sy_counters_watch(int argc, char **argv);
int sy_counters_record(int argc, char **argv);
int sy_counters_replay(int argc, char **argv);

/* Counters that differ only in where they count. */
bool sy_counters_same(const struct sy_counter *a, const struct sy_counter *b);
/* What --group and --process say. Prints what is wrong; returns an exit code. */
int sy_counters_watched(const char *group, const char *process, uint32_t *ret_process);

#endif
