/* SPDX-License-Identifier: Apache-2.0
 *
 * complete: what a shell offers when Tab is pressed.
 *
 * In: a command's table of options, and the words typed so far. Out: lines "WORD<tab>DESCRIPTION"
 * on stdout; a line "<tab>files" or "<tab>folders" asks the shell to add those. The scripts in
 * completions/ only pass words and lines on. Invariant: options come from the same table that is
 * parsed, so that no shell can offer others.
 */
#ifndef SY_CLI_COMPLETE_H
#define SY_CLI_COMPLETE_H

#include "cli/options.h"

struct sy_offers {
    struct sy_buffer lines;
    const char *word; /* what was typed of the word, "" if nothing */
    size_t kept;      /* bytes of it that every offer begins with, such as "heft," */
};
/* One word that could stand there; left out where it does not begin as word does. */
void sy_offer(struct sy_offers *offers, const char *word, const char *description);

/* symph complete WORD...: the last word is the one to complete. Hands over to run, with a mark
 * behind the words. */
int sy_complete(int argc, char **argv, int (*run)(int argc, char **argv));
/* Whether the last of argv is that mark. */
bool sy_completes(int argc, char **argv);
/* Instead of parsing: prints what fits. Returns an exit code. */
int sy_options_complete(const struct sy_command *command, int argc, char **argv);

#endif
