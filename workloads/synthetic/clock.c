/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of emulated kernels; see synthetic.h.
 */
#include "synthetic.h"
#include <time.h>

enum { AWAKE_NS = 200000 }; /* a sleep may end so much late */

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t synthetic_now_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t synthetic_own_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void synthetic_wait_until(uint64_t until_ns, bool may_sleep) {
    if (may_sleep && synthetic_now_ns() + AWAKE_NS < until_ns) {
        uint64_t wake_ns = until_ns - AWAKE_NS;
        struct timespec wake = {.tv_sec = (time_t)(wake_ns / 1000000000u),
                                .tv_nsec = (long)(wake_ns % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
    while (synthetic_now_ns() < until_ns) {
    }
}
