/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time of this thread, for programs of bench/ that time short things: what others do on a
 * shared machine does not count, and what asking for the time costs can be taken off.
 */
#ifndef SY_BENCH_CLOCK_H
#define SY_BENCH_CLOCK_H

#include "base/base.h"
#include <stdint.h>
#include <time.h>

#define CLOCKINGS 1001

static inline double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* What asking for the time costs. */
static inline double clock_ns(void) {
    static double times[CLOCKINGS];
    for (uint32_t i = 0; i < CLOCKINGS; i++) {
        double start = now_ns();
        times[i] = now_ns() - start;
    }
    return sy_quantile(times, CLOCKINGS, 0.5);
}

#endif
