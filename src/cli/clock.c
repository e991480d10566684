/* SPDX-License-Identifier: Apache-2.0
 *
 * The clocks of this machine: see clock.h.
 */
#include "cli/clock.h"

#include <time.h>

static double read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double sy_clock_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

void sy_clock_sleep_until(double then_ns) {
    struct timespec then = {.tv_sec = (time_t)(then_ns / 1e9)};
    then.tv_nsec = (long)(then_ns - (double)then.tv_sec * 1e9);
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
}

double sy_cpu_clock_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
