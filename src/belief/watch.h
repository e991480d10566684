/* SPDX-License-Identifier: Apache-2.0
 *
 * watch: the counters of this machine that speak of shared resources, tied to senses, for policies
 * (the engine's watcher) and for tests that replay a recording.
 *
 * In: a machine, options of the sources, the time. Out: senses that have seen what was read.
 * Reading and thinking are two steps, so that only the second needs the owner's lock. Invariant:
 * nothing is allocated after open.
 */
#ifndef SY_BELIEF_WATCH_H
#define SY_BELIEF_WATCH_H

#include "belief/senses.h"

struct sy_watch {
    struct sy_arena *arena;
    struct sy_sources *sources;
    struct sy_senses *senses;
    const struct sy_counter *counters;
    uint32_t counter_count;
    struct sy_sample *samples; /* of the last read */
    uint32_t sample_count;
    uint32_t *chosen, chosen_count;
    double interval_ns; /* between two reads, as these counters deserve */
};

/* What options->wanted holds is not looked at. The machine and the listing are borrowed. -ENODATA:
 * nothing speaks of the machine's resources. The watch must be closed either way. */
SY_MUST_CHECK int sy_watch_open(const struct sy_machine *machine,
                                const struct sy_sources_options *options, struct sy_watch *watch,
                                struct sy_error *error);
void sy_watch_close(struct sy_watch *watch);
/* -ENODATA at the end of a recording. */
SY_MUST_CHECK int sy_watch_read(struct sy_watch *watch, double now_ns);
/* What was read moves the belief; now_ns is the senses' time. Then sy_watch_select. */
void sy_watch_think(struct sy_watch *watch, double now_ns);
/* The counters that the senses chose count from now on. */
void sy_watch_select(struct sy_watch *watch);

#endif
