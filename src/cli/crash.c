/* SPDX-License-Identifier: Apache-2.0
 *
 * crash: a policy may be other people's code, and runs in this process: whose crash it was is told.
 *
 * In: the policy that a thread runs. Out: one line and an exit code in place of a signal.
 * Invariant: where somebody watches already (a sanitizer), they go on.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES 32768

static _Thread_local const char *running;     /* the policy; NULL: none */
static _Thread_local char stack[STACK_BYTES]; /* the usual one may be what is used up */

static atomic_bool told;

static void put(const char *text) {
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void on_crash(int number) {
    char name[1024];
    const char *abbreviation = sigabbrev_np(number);
    if (!running) { /* our own: the usual end, once the handler returns */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    while (atomic_exchange(&told, true)) { /* threads often crash together */
        pause();
    }
    put("symph: policy ");
    put(sy_show(running, name, sizeof(name)));
    put(" crashed (SIG");
    put(abbreviation ? abbreviation : "?");
    put(")\n");
    _exit(SY_EXIT_FAILED);
}

void sy_crash_watch(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    for (size_t i = 0; i < SY_COUNT(signals); i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

void sy_crash_is_of(const char *policy) {
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE)) {
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
    }
    running = policy;
}
