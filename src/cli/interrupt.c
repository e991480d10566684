/* SPDX-License-Identifier: Apache-2.0
 *
 * interrupt: Ctrl-C as a question asked between two pieces of work.
 *
 * In: SIGINT, SIGTERM. Out: one flag. Invariant: the first signal lets the work end cleanly, so
 * that no file is half written; the second ends the process. The flag is the one global of this
 * program: a signal handler has nowhere else to write.
 */
#include "cli/cli.h"

#include <signal.h>

static volatile sig_atomic_t seen;

static void on_signal(int signal_number) {
    (void)signal_number;
    seen = 1;
}

void sy_interrupt_watch(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool sy_interrupt_seen(void) {
    return seen != 0;
}
