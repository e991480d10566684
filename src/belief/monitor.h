/* SPDX-License-Identifier: Apache-2.0
 *
 * monitor: what can be read here and what is believed of all of it, tied together, for people who
 * look (symph counters, symph plan).
 *
 * In: a machine, options of the sources, the time. Out: samples, a belief that has seen them, and
 * counters chosen for the next look. Invariant: nothing is allocated after open.
 */
#ifndef SY_BELIEF_MONITOR_H
#define SY_BELIEF_MONITOR_H

#include "belief/belief.h"

struct sy_monitor {
    struct sy_arena *arena;
    struct sy_sources *sources;
    struct sy_belief *belief;
    const struct sy_counter *counters;
    const struct sy_pmu *pmus;
    uint32_t counter_count, pmu_count;
    struct sy_sample *samples; /* of the last look */
    uint32_t sample_count;
    uint32_t *chosen;
    bool replay;
    double now_ns; /* of the last look; the recording's clock in a replay */
};

/* What options->wanted holds is not looked at: the belief says what it wants of the listing. The
 * machine and the listing are borrowed. The monitor must be closed either way. */
SY_MUST_CHECK int sy_monitor_open(const struct sy_machine *machine,
                                  const struct sy_sources_options *options,
                                  struct sy_monitor *monitor, struct sy_error *error);
void sy_monitor_close(struct sy_monitor *monitor);
/* A look is both, one after the other. -ENODATA at the end of a recording. */
SY_MUST_CHECK int sy_monitor_read(struct sy_monitor *monitor, double now_ns);
SY_MUST_CHECK int sy_monitor_think(struct sy_monitor *monitor);

#endif
