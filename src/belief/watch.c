/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources and senses, tied together; see watch.h.
 */
#include "belief/watch.h"
#include "base/base.h"
#include <errno.h>

#define FAST_NS 2e6  /* counters that are programmed can be read so often, and cost little */
#define SLOW_NS 20e6 /* the others change seldom */

static void set_interval(struct sy_watch *w) {
    double bytes_per_s;
    for (uint32_t i = 0; i < w->counter_count; i++) {
        if (sy_senses_scale(w->senses, i, &bytes_per_s) != SY_NONE) {
            bool programmed = w->counters[i].pmu != SY_PMU_NONE;
            w->interval_ns = programmed || w->interval_ns == FAST_NS ? FAST_NS : SLOW_NS;
        }
    }
}

static int make(struct sy_watch *w, const struct sy_machine *machine) {
    uint32_t pmu_count;
    w->counters = sy_sources_counters(w->sources, &w->counter_count);
    const struct sy_pmu *pmus = sy_sources_pmus(w->sources, &pmu_count);
    struct sy_senses_options options = {.machine = machine,
                                        .counters = w->counters,
                                        .counter_count = w->counter_count,
                                        .pmus = pmus,
                                        .pmu_count = pmu_count,
                                        .step_ns = FAST_NS};
    w->samples = sy_arena_alloc(w->arena, w->counter_count + 1u, sizeof *w->samples);
    w->chosen = sy_arena_alloc(w->arena, w->counter_count + 1u, sizeof *w->chosen);
    w->senses = sy_senses_create(w->arena, &options);
    if (!w->samples || !w->chosen || !w->senses) {
        return -ENOMEM;
    }
    set_interval(w);
    sy_senses_reset(w->senses, w->interval_ns > 0 ? w->interval_ns : FAST_NS);
    w->chosen_count = sy_senses_choose(w->senses, w->chosen);
    return w->interval_ns > 0 ? 0 : -ENODATA;
}

int sy_watch_open(const struct sy_machine *machine, const struct sy_sources_options *options,
                  struct sy_watch *w, struct sy_error *error) {
    struct sy_sources_options asked = *options;
    *w = (struct sy_watch){.arena = sy_arena_create()};
    int code = w->arena ? 0 : -ENOMEM;
    if (!code && asked.listing) {
        code = sy_senses_wanted(asked.listing, w->arena, &asked.wanted);
    }
    if (!code) {
        code = sy_sources_open(&asked, &w->sources, error);
        if (code) {
            return code;
        }
        code = make(w, machine);
    }
    return code == -ENODATA ? sy_fail(error, code, "no counter measures the shared resources")
           : code           ? sy_fail(error, code, "out of memory")
                            : 0;
}

void sy_watch_close(struct sy_watch *w) {
    sy_sources_close(w->sources);
    sy_arena_destroy(w->arena);
    *w = (struct sy_watch){0};
}

int sy_watch_read(struct sy_watch *w, double now_ns) {
    int count = sy_sources_read(w->sources, now_ns, w->samples, w->counter_count);
    w->sample_count = count > 0 ? (uint32_t)count : 0;
    return count < 0 ? count : 0;
}

void sy_watch_think(struct sy_watch *w, double now_ns) {
    sy_senses_read(w->senses, now_ns, w->samples, w->sample_count);
    w->chosen_count = sy_senses_choose(w->senses, w->chosen);
}

void sy_watch_select(struct sy_watch *w) {
    /* Where somebody else has taken a counter it gives no sample; the senses notice. */
    (void)!sy_sources_select(w->sources, w->chosen, w->chosen_count);
}
