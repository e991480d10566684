/* SPDX-License-Identifier: Apache-2.0
 *
 * clock: what time it is, in nanoseconds. Other rooms are given these functions as parameters.
 */
#ifndef SY_CLI_CLOCK_H
#define SY_CLI_CLOCK_H

/* Monotonic time of this machine; processor time of this thread, whatever others do meanwhile. */
double sy_clock_ns(void);
double sy_cpu_clock_ns(void);
/* Comes back early where a signal is taken. */
void sy_clock_sleep_until(double then_ns);

#endif
