/* SPDX-License-Identifier: Apache-2.0
 *
 * interrupt: Ctrl-C as a question asked between two pieces of work.
 *
 * In: SIGINT, SIGTERM. Out: one flag. Invariant: the first signal lets the work end cleanly, so
 * that no file is half written; the second ends the process. The flag is global: a signal handler
 * has nowhere else to write.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Atomic, not sig_atomic_t: other threads than the one that takes the signal read it. */
static atomic_bool seen;
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler may only touch lock-free atomics");

static void on_signal(int signal_number) {
    static const char text[] =
        "\nsymph: interrupted: finishing what has begun; press Ctrl-C again to stop "
        "now\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    atomic_store(&seen, true);
}

void sy_interrupt_watch(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void on_signal_quietly(int signal_number) {
    (void)signal_number;
    atomic_store(&seen, true);
}

void sy_interrupt_watch_quietly(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal_quietly, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < SY_COUNT(signals); i++) {
        struct sigaction now;
        /* What is ignored stays so: SIGHUP after nohup, SIGINT behind a shell's "&". */
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

bool sy_interrupt_seen(void) {
    return atomic_load(&seen);
}
