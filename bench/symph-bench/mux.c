/* SPDX-License-Identifier: Apache-2.0
 *
 * mux: more events than counters, imposed on exact series; what is usually done about it; and
 * how far off that is.
 *
 * In: a series, slots, noise, a seed. Out: readings, the guesses of three baselines, scores.
 * Invariants: all methods get the same reading of the same event in the same window; the baselines
 * take turns in a seeded order, as perf rotates its events.
 */
#include "cli/cli.h"
#include "symph-bench/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READ_PURPOSE  0x72656164u /* "read" */
#define ORDER_PURPOSE 0x6f726472u /* "ordr" */
#define DEGREES       4
#define COUNTS_MIN    50 /* per window: below, a relative error means little */
#define FLOOR_SHARE   0.05
#define OUTLIER_RATIO 10

static uint64_t stream_seed(const struct sy_mux *mux) {
    return mux->seed ^ sy_hash(mux->series->name, strlen(mux->series->name));
}

void sy_mux_init(struct sy_mux *mux) {
    uint32_t n = mux->traces->event_count;
    mux->order = sy_need(malloc(n * sizeof *mux->order));
    mux->order_count = 0;
    struct sy_rng rng = sy_rng_make(stream_seed(mux), ORDER_PURPOSE, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (mux->traces->fixed[i] || mux->traces->hidden[i]) {
            continue;
        }
        uint32_t at = sy_rng_below(&rng, mux->order_count + 1);
        mux->order[mux->order_count++] = mux->order[at];
        mux->order[at] = i;
    }
}

void sy_mux_finish(struct sy_mux *mux) {
    free(mux->order);
    mux->order = NULL;
}

double sy_mux_read(const struct sy_mux *mux, uint32_t window, uint32_t event) {
    uint64_t index = (uint64_t)window * mux->traces->event_count + event;
    struct sy_rng rng = sy_rng_make(stream_seed(mux), READ_PURPOSE, index);
    double unit = sy_rng_student(&rng, DEGREES) / sqrt(DEGREES / (DEGREES - 2.0));
    double value = mux->series->rates[index] * fmax(1 + mux->noise * unit, 0);
    if (sy_rng_uniform(&rng) < mux->outliers) {
        value = sy_rng_uniform(&rng) < 0.5 ? value * OUTLIER_RATIO : value / OUTLIER_RATIO;
    }
    return value;
}

uint32_t sy_mux_rotation(const struct sy_mux *mux) {
    return (mux->order_count + mux->slots - 1) / mux->slots;
}

/* --- baselines ----------------------------------------------------------------------------------
 */
/* Whether an event has a slot in this window: slots go round without a pause. */
static bool has_turn(const struct sy_mux *mux, uint32_t window, uint32_t place) {
    uint32_t count = mux->order_count;
    uint32_t first = (uint32_t)((uint64_t)window * mux->slots % count);
    return (place + count - first) % count < mux->slots;
}

static void read_fixed(const struct sy_mux *mux, struct sy_mux_guess *guess) {
    uint32_t n = mux->traces->event_count;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t t = 0; mux->traces->fixed[i] && t < mux->series->windows; t++) {
            guess->rates[(size_t)t * n + i] = sy_mux_read(mux, t, i);
        }
    }
}

/* What perf reports for each rotation: the count, scaled by enabled over running time. */
void sy_guess_time_scaling(const struct sy_mux *mux, struct sy_mux_guess *guess) {
    uint32_t n = mux->traces->event_count, windows = mux->series->windows;
    uint32_t rotation = sy_mux_rotation(mux);
    read_fixed(mux, guess);
    for (uint32_t place = 0; place < mux->order_count; place++) {
        uint32_t i = mux->order[place];
        double last = 0;
        for (uint32_t from = 0; from < windows; from += rotation) {
            uint32_t to = from + rotation < windows ? from + rotation : windows, count = 0;
            double sum = 0;
            for (uint32_t t = from; t < to; t++) {
                bool turn = has_turn(mux, t, place);
                double reading = turn ? sy_mux_read(mux, t, i) : NAN;
                sum += turn ? reading : 0;
                count += turn;
                if (guess->readings) {
                    guess->readings[(size_t)t * n + i] = reading;
                }
            }
            last = count ? sum / count : last;
            for (uint32_t t = from; t < to; t++) {
                guess->rates[(size_t)t * n + i] = last;
            }
        }
    }
}

void sy_guess_hold_last(const struct sy_mux *mux, struct sy_mux_guess *guess) {
    uint32_t n = mux->traces->event_count;
    read_fixed(mux, guess);
    for (uint32_t place = 0; place < mux->order_count; place++) {
        uint32_t i = mux->order[place];
        double last = 0;
        for (uint32_t t = 0; t < mux->series->windows; t++) {
            last = has_turn(mux, t, place) ? sy_mux_read(mux, t, i) : last;
            guess->rates[(size_t)t * n + i] = last;
        }
    }
}

/* Straight lines between readings: it knows the next one before it comes. */
void sy_guess_interpolation(const struct sy_mux *mux, struct sy_mux_guess *guess) {
    uint32_t n = mux->traces->event_count, windows = mux->series->windows;
    read_fixed(mux, guess);
    for (uint32_t place = 0; place < mux->order_count; place++) {
        uint32_t i = mux->order[place], before = SY_NONE;
        double last = 0;
        for (uint32_t t = 0; t < windows; t++) {
            if (!has_turn(mux, t, place)) {
                guess->rates[(size_t)t * n + i] = last; /* until another reading comes */
                continue;
            }
            double value = sy_mux_read(mux, t, i);
            for (uint32_t u = before == SY_NONE ? 0 : before; u <= t; u++) {
                double share = before == SY_NONE ? 1 : (double)(u - before) / (double)(t - before);
                guess->rates[(size_t)u * n + i] = share < 1 ? last + share * (value - last) : value;
            }
            before = t;
            last = value;
        }
    }
}

/* --- scores -------------------------------------------------------------------------------------
 */
static double mean_truth(const struct sy_mux *mux, uint32_t event, uint32_t from) {
    uint32_t n = mux->traces->event_count;
    double sum = 0;
    for (uint32_t t = from; t < mux->series->windows; t++) {
        sum += mux->series->rates[(size_t)t * n + event];
    }
    return sum / (mux->series->windows - from);
}

/* Error of means over blocks of windows; what is left at the end is left out. */
static double event_wape(const struct sy_mux *mux, const struct sy_mux_guess *guess, uint32_t event,
                         uint32_t from, uint32_t block) {
    uint32_t n = mux->traces->event_count;
    double wrong = 0, all = 0;
    for (uint32_t t = from; t + block <= mux->series->windows; t += block) {
        double truth = 0, guessed = 0;
        for (uint32_t u = t; u < t + block; u++) {
            truth += mux->series->rates[(size_t)u * n + event];
            guessed += guess->rates[(size_t)u * n + event];
        }
        wrong += fabs(guessed - truth);
        all += truth;
    }
    return all > 0 ? wrong / all : 0;
}

struct tally {
    double *relative;
    size_t count, inside;
};

static void tally_event(const struct sy_mux *mux, const struct sy_mux_guess *guess, uint32_t event,
                        uint32_t from, double mean, struct tally *tally) {
    uint32_t n = mux->traces->event_count;
    for (uint32_t t = from; t < mux->series->windows; t++) {
        size_t at = (size_t)t * n + event;
        double truth = mux->series->rates[at];
        tally->relative[tally->count++] =
            fabs(guess->rates[at] - truth) / fmax(truth, FLOOR_SHARE * mean);
        tally->inside += guess->low && guess->low[at] <= truth && truth <= guess->high[at];
    }
}

void sy_score_guess(const struct sy_mux *mux, const struct sy_mux_guess *guess,
                    struct sy_score *ret_score) {
    uint32_t n = mux->traces->event_count, from = mux->series->windows / 2, scored = 0;
    struct tally tally = {0};
    tally.relative =
        sy_need(malloc((size_t)(mux->series->windows - from) * n * sizeof *tally.relative));
    struct sy_score score = {.coverage = NAN};
    for (uint32_t i = 0; i < n; i++) {
        double mean = mean_truth(mux, i, from);
        if (mean >= COUNTS_MIN && !mux->traces->hidden[i]) {
            score.wape += event_wape(mux, guess, i, from, 1);
            score.rotation_wape += event_wape(mux, guess, i, from, sy_mux_rotation(mux));
            tally_event(mux, guess, i, from, mean, &tally);
            scored++;
        }
    }
    score.wape /= scored;
    score.rotation_wape /= scored;
    score.median = sy_quantile(tally.relative, tally.count, 0.5);
    if (guess->low) {
        score.coverage = (double)tally.inside / (double)tally.count;
    }
    free(tally.relative);
    *ret_score = score;
}
