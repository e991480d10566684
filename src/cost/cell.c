/* SPDX-License-Identifier: Apache-2.0
 *
 * A cell of the store: the middle of the last samples, and how far they lie from it.
 *
 * In: durations, one at a time. Out: median and spread. Invariants: sorted_ns holds what last_ns
 * holds, in order; nothing is allocated and no sample is looked at twice but by memmove, as this
 * happens after every task.
 */
#include "cost/store.h"
#include <math.h>
#include <string.h>

#define NORMAL_PER_MAD 1.4826

uint32_t sy_cell_held(const struct sy_cell *cell) {
    return cell->sample_count < SY_CELL_SAMPLES ? (uint32_t)cell->sample_count : SY_CELL_SAMPLES;
}

/* First place whose value is not below. Counted over all places, not searched: no branch depends on
 * the data, and the compiler may use vectors. */
static uint32_t place_of(const float *sorted, uint32_t count, float value) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < SY_CELL_SAMPLES; i++) {
        at += (i < count) & (sorted[i] < value);
    }
    return at;
}

/* Median of |log(x / median)|. The half of the samples that is nearest to the median is one run of
 * them; a binary search finds where it begins, and a single logarithm is taken. */
static double deviation_of(const float *sorted, uint32_t count) {
    uint32_t middle = (count - 1) / 2, half = count / 2;
    uint32_t low = middle > half ? middle - half : 0, high = middle;
    double median = (double)sorted[middle], square = median * median;
    while (low < high) {
        uint32_t at = (low + high) / 2;
        if ((double)sorted[at] * (double)sorted[at + half + 1] < square) {
            low = at + 1;
        } else {
            high = at;
        }
    }
    return log(fmax(median / (double)sorted[low], (double)sorted[low + half] / median));
}

static void summarise(struct sy_cell *cell) {
    uint32_t count = sy_cell_held(cell);
    cell->median_ns = count ? (double)cell->sorted_ns[(count - 1) / 2] : NAN;
    cell->log_sigma =
        count >= SY_CELL_TRUSTED ? NORMAL_PER_MAD * deviation_of(cell->sorted_ns, count) : 0;
}

static void insert(struct sy_cell *cell, float value) {
    uint32_t count = sy_cell_held(cell);
    float *sorted = cell->sorted_ns, *slot = &cell->last_ns[cell->sample_count % SY_CELL_SAMPLES];
    if (count == SY_CELL_SAMPLES) {
        uint32_t old = place_of(sorted, count, *slot);
        count--;
        memmove(sorted + old, sorted + old + 1, (count - old) * sizeof *sorted);
    }
    uint32_t at = place_of(sorted, count, value);
    memmove(sorted + at + 1, sorted + at, (count - at) * sizeof *sorted);
    sorted[at] = *slot = value;
    cell->sample_count++;
}

void sy_cell_observe(struct sy_cell *cell, double duration_ns) {
    if (!(duration_ns >= 0) || !isfinite(duration_ns)) {
        return;
    }
    if (cell->wanted && cell->build != cell->wanted) {
        sy_cell_reset(cell);
        cell->build = cell->wanted;
    }
    insert(cell, (float)fmin(fmax(duration_ns, SY_SAMPLE_MIN_NS), SY_SAMPLE_MAX_NS));
    summarise(cell);
}

void sy_cell_reset(struct sy_cell *cell) {
    cell->sample_count = cell->saved_count = 0;
    summarise(cell);
}

void sy_cell_merge(struct sy_cell *cell, const float *samples, uint32_t count, uint64_t total) {
    float fresh[SY_CELL_SAMPLES];
    uint64_t unsaved = cell->sample_count - cell->saved_count;
    uint32_t kept = unsaved < SY_CELL_SAMPLES ? (uint32_t)unsaved : SY_CELL_SAMPLES;
    for (uint32_t i = 0; i < kept; i++) {
        fresh[i] = cell->last_ns[(cell->sample_count - kept + i) % SY_CELL_SAMPLES];
    }
    cell->sample_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        insert(cell, samples[i]);
    }
    for (uint32_t i = 0; i < kept; i++) {
        insert(cell, fresh[i]);
    }
    /* The ring knows only how many samples it has taken: turn it to where the total says. */
    uint32_t held = sy_cell_held(cell);
    float ordered[SY_CELL_SAMPLES];
    for (uint32_t i = 0; i < held; i++) {
        ordered[i] = cell->last_ns[(cell->sample_count - held + i) % SY_CELL_SAMPLES];
    }
    cell->saved_count = total;
    cell->sample_count = total + unsaved;
    for (uint32_t i = 0; i < held; i++) {
        cell->last_ns[(cell->sample_count - held + i) % SY_CELL_SAMPLES] = ordered[i];
    }
    summarise(cell);
}
