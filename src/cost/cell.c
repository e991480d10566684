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
    uint32_t count = cell->held;
    cell->median_ns = count ? (double)cell->sorted_ns[(count - 1) / 2] : NAN;
    cell->log_sigma =
        count >= SY_CELL_TRUSTED ? NORMAL_PER_MAD * deviation_of(cell->sorted_ns, count) : 0;
}

static void insert(struct sy_cell *cell, float value) {
    float *sorted = cell->sorted_ns, *slot = &cell->last_ns[cell->sample_count % SY_CELL_SAMPLES];
    if (cell->held == SY_CELL_SAMPLES) {
        uint32_t old = place_of(sorted, cell->held, *slot);
        cell->held--;
        memmove(sorted + old, sorted + old + 1, (cell->held - old) * sizeof *sorted);
    }
    uint32_t at = place_of(sorted, cell->held, value);
    memmove(sorted + at + 1, sorted + at, (cell->held - at) * sizeof *sorted);
    sorted[at] = *slot = value;
    cell->held++;
    cell->sample_count++;
}

void sy_cell_reset(struct sy_cell *cell) {
    if (cell->in_line) {
        sy_group_recount(cell->group);
    }
    cell->sample_count = cell->saved_count = 0;
    cell->held = 0;
    cell->given = NULL;
    cell->watts = NAN;
    summarise(cell);
}

/* Many lines of one cell may say more than a line can. */
static uint64_t least(uint64_t count) {
    return count < SY_SAMPLE_COUNT_MAX ? count : SY_SAMPLE_COUNT_MAX;
}

static float bounded(double duration_ns) {
    return (float)fmin(fmax(duration_ns, SY_TIME_MIN_NS), SY_TIME_MAX_NS);
}

/* Room for the first one of another build. */
static void make_way(struct sy_cell *cell, uint64_t build) {
    if (cell->build != build) {
        sy_cell_reset(cell);
        cell->build = build;
    }
}

void sy_cell_observe(struct sy_cell *cell, double duration_ns) {
    if (!(duration_ns >= 0) || !isfinite(duration_ns)) {
        return;
    }
    make_way(cell, cell->wanted ? cell->wanted : cell->build);
    cell->stamp = cell->group ? ++cell->group->clock : 0;
    insert(cell, bounded(duration_ns));
    summarise(cell);
    if (cell->group) {
        sy_group_hears(cell);
    }
}

void sy_cell_add(struct sy_cell *cell, const struct sy_cost_sample *sample, uint64_t build,
                 double ratio) {
    make_way(cell, build);
    if (sample->times_ns && sample->count > sample->time_count) {
        /* Not remembered, but counted; the others fill the ring. */
        cell->sample_count = least(cell->sample_count + sample->count - sample->time_count);
        cell->held = 0;
    }
    for (uint32_t i = 0; sample->times_ns && i < sample->time_count; i++) {
        insert(cell, bounded((double)sample->times_ns[i] * ratio));
    }
    if (!sample->times_ns) {
        insert(cell, bounded(sample->time_ns * ratio));
    }
    summarise(cell);
    sy_group_recount(cell->group);
}

uint32_t sy_cell_last(const struct sy_cell *cell, uint64_t count, float *ret_times_ns) {
    uint32_t given = count < cell->held ? (uint32_t)count : cell->held;
    for (uint32_t i = 0; i < given; i++) {
        ret_times_ns[i] = cell->last_ns[(cell->sample_count - given + i) % SY_CELL_SAMPLES];
    }
    return given;
}

struct sy_cost_sample sy_cell_sample(const struct sy_cell *cell, uint64_t count,
                                     float *ret_times_ns) {
    return (struct sy_cost_sample){.kernel = cell->kernel,
                                   .class_name = cell->class_name,
                                   .features = cell->features,
                                   .modelled = cell->modelled,
                                   .time_ns = cell->median_ns,
                                   .watts = cell->watts,
                                   .build = cell->build,
                                   .count = least(count),
                                   .time_count = sy_cell_last(cell, count, ret_times_ns),
                                   .times_ns = ret_times_ns};
}
