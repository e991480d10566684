/* SPDX-License-Identifier: Apache-2.0
 *
 * counters: how wrong counters are when there are more events than counters, and how much of
 * that the belief takes away.
 *
 * In: exact time series of real programs (a folder that tools/callgrind_traces.py made), or a
 * synthetic one. Out: errors of what perf does, of two plain baselines and of ours, on the same
 * readings. Invariants: a filter sees only what its slots read; what is learned comes from the
 * development programs, never from the half that is scored; held-out programs are never learned
 * from.
 */
#ifndef SY_SYMPH_BENCH_COUNTERS_H
#define SY_SYMPH_BENCH_COUNTERS_H

#include "base/json.h"
#include "belief/belief.h"

/* --- traces: exact counts, window by window ----------------------------------------------------
 */
struct sy_series {
    const char *name, *file;
    bool held_out;
    uint32_t windows;
    double *rates; /* [window * event_count + event], counts per window of mean length */
};

struct sy_relation { /* rate of out = sum of coefficient * rate */
    uint32_t out, first_term, term_count;
};

#define SY_TRACES_SERIES_MAX 256

struct sy_traces {
    struct sy_arena *arena;
    const char *source; /* where the counts come from, in words */
    const char *length; /* column that holds a window's length; NULL: all are equal */
    const char **events;
    bool *fixed;  /* has a counter of its own and needs no slot */
    bool *hidden; /* nothing counts it; neither read nor scored */
    uint32_t event_count;
    struct sy_relation *relations;
    uint32_t relation_count;
    struct sy_term *terms;
    uint32_t term_count;
    struct sy_series *series;
    uint32_t series_count;
};
/* FOLDER/traces.json and the tables it names. */
SY_MUST_CHECK int sy_traces_read(const char *folder, struct sy_traces **ret_traces,
                                 struct sy_error *error);
void sy_traces_destroy(struct sy_traces *traces);
/* The two parsers behind it: the list without its series' rates; then one table. */
SY_MUST_CHECK int sy_traces_parse(const char *file, const char *text, size_t length,
                                  struct sy_traces **ret_traces, struct sy_error *error);
SY_MUST_CHECK int sy_traces_parse_series(struct sy_traces *traces, uint32_t series,
                                         const char *file, const char *text, size_t length,
                                         struct sy_error *error);

/* --- multiplexing: what the counters would have shown -------------------------------------------
 */
struct sy_mux {
    const struct sy_traces *traces;
    const struct sy_series *series;
    uint32_t slots;  /* programmable counters */
    double noise;    /* relative standard deviation of a reading, Student-t with 4 degrees */
    double outliers; /* share of readings that are 10 times too large or too small */
    uint64_t seed;
    uint32_t *order; /* of the events that need slots, for turns */
    uint32_t order_count;
};
void sy_mux_init(struct sy_mux *mux);
void sy_mux_finish(struct sy_mux *mux);
/* The same for every method: a reading depends on seed, program, window and event only. */
double sy_mux_read(const struct sy_mux *mux, uint32_t window, uint32_t event);
/* Windows until each event had its turn. */
uint32_t sy_mux_rotation(const struct sy_mux *mux);

/* What a method said of each window; low and high are NULL where it gives no band. readings: what
 * it was told, NAN where nothing; NULL: not wanted. */
struct sy_mux_guess {
    double *rates, *low, *high, *readings;
};
void sy_guess_time_scaling(const struct sy_mux *mux, struct sy_mux_guess *guess);
void sy_guess_interpolation(const struct sy_mux *mux, struct sy_mux_guess *guess);
void sy_guess_hold_last(const struct sy_mux *mux, struct sy_mux_guess *guess);

struct sy_score {
    double wape;          /* |guess - truth| over truth, per event, averaged over events */
    double median;        /* of relative errors of single windows */
    double rotation_wape; /* of means over a rotation */
    double coverage;      /* share of windows inside the 95 % band; NAN: no band */
};
/* Of the second half, over events that count at least 50 a window there. */
void sy_score_guess(const struct sy_mux *mux, const struct sy_mux_guess *guess,
                    struct sy_score *ret_score);

/* --- ours ---------------------------------------------------------------------------------------
 */
enum sy_mux_method {
    SY_MUX_TIME_SCALING,
    SY_MUX_INTERPOLATION,
    SY_MUX_HOLD_LAST,
    SY_MUX_UNSEEN, /* learned from the other development programs */
    SY_MUX_SEEN,   /* learned from this program's first half */
};

struct sy_mux_config {
    const char *section, *name;
    enum sy_mux_method method;
    double noise, outliers;
    bool no_covariance, no_choice, no_learning, gaussian;
    uint32_t relations; /* how many are known; UINT32_MAX: all */
};
/* The model that a configuration knows of a program. seed chooses which relations are left. */
SY_MUST_CHECK int sy_mux_model(const struct sy_traces *traces, uint32_t series,
                               const struct sy_mux_config *config, uint64_t seed,
                               struct sy_model **ret_model, struct sy_error *error);
SY_MUST_CHECK int sy_guess_filter(const struct sy_mux *mux, const struct sy_mux_config *config,
                                  const struct sy_model *model, struct sy_mux_guess *guess);

/* --- the bench ----------------------------------------------------------------------------------
 */
struct sy_bench_counters_args {
    const char *traces, *counters, *split, *plot;
    double noise, outliers;
    uint32_t seeds, threads;
    bool ablations, papers, quiet;
};
/* Appends tables as text and as JSON objects. Returns an exit code. */
int sy_bench_counters(const struct sy_bench_counters_args *args, struct sy_json_writer *writer,
                      struct sy_buffer *buffer);
int sy_bench_counters_papers(const struct sy_bench_counters_args *args,
                             struct sy_json_writer *writer, struct sy_buffer *buffer);

/* --- pictures -----------------------------------------------------------------------------------
 */
/* One program's median event: truth, time-scaling, ours with bands. Returns an exit code. */
int sy_bench_plot_example(const char *path, const struct sy_traces *traces, uint32_t series,
                          uint32_t slots, double noise);

#endif
