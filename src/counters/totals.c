/* SPDX-License-Identifier: Apache-2.0
 *
 * Totals become rates: what a counter has counted since it was read last, also where it has wrapped
 * around or was reset meanwhile.
 *
 * In: a total, when it was read, how far it counts and how fast it can. Out: a sample of its rate,
 * or none where that cannot be said.
 */
#include "counters/provider.h"
#include <math.h>

void sy_forget_total(struct sy_sources *sources, uint32_t counter) {
    if (counter < sources->counter_count) {
        sources->tracks[counter].last_ns = NAN;
    }
}

/* Counts since the last total; NAN: it cannot be said. */
static double progress(const struct sy_track *track, uint64_t total, double elapsed_ns) {
    double most = track->rate_max * elapsed_ns * 1e-9 / track->scale;
    bool limited = track->rate_max > 0;
    if (track->range > 0 && limited && most >= track->range) {
        return NAN; /* it may have gone round more than once */
    }
    double counts = total >= track->last ? (double)(total - track->last)
                    : track->range > 0   ? (double)total - (double)track->last + track->range
                                         : NAN;
    return counts < 0 || (limited && counts > most) ? NAN : counts;
}

void sy_put_total(struct sy_sources *sources, uint32_t counter, uint64_t total) {
    if (counter >= sources->counter_count) {
        return;
    }
    struct sy_track *track = &sources->tracks[counter];
    double start_ns = track->last_ns, elapsed_ns = sources->now_ns - start_ns;
    if (elapsed_ns > 0 && elapsed_ns < track->hold_ns && total == track->last) {
        return; /* its window goes on */
    }
    double counts = elapsed_ns > 0 ? progress(track, total, elapsed_ns) : NAN;
    track->last = total;
    track->last_ns = sources->now_ns;
    if (!isnan(counts)) {
        sy_put_rate(sources, counter, counts * track->scale / (elapsed_ns * 1e-9), start_ns, 1, 0);
    }
}
