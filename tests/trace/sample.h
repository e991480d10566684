/* SPDX-License-Identifier: Apache-2.0
 *
 * A made-up run for the tests of the writers.
 */
#ifndef SY_TESTS_TRACE_SAMPLE_H
#define SY_TESTS_TRACE_SAMPLE_H

#include "trace/trace.h"

/* Names: devices "cpu0" and "gpu<0>", memories "host" and "gpu\"0\"", tasks "t<n>", kernels a & b
 * by turns. */
struct sy_trace_names sample_names(void);
/* Two devices; a task on each, a stall, two copies that overlap, a reconfiguration, a loss. */
void sample_fill(struct sy_trace *trace);
/* Many tasks back to back on so many devices. */
void sample_fill_many(struct sy_trace *trace, uint32_t devices, uint32_t tasks);
uint32_t count_of(const char *text, const char *part);
/* Every colour of a picture is in its style sheet, which has two sets of them. */
bool has_both_schemes(const char *svg);

#endif
