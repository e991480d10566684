/* SPDX-License-Identifier: Apache-2.0
 *
 * show: what watch, record and replay share: the session that reads and infers, and the
 * ways to show what it believes.
 *
 * In: sources, belief. Out: text in buffers. Never knows: the options of a command, beyond struct
 * sy_counters_args. Invariants: what shows a belief shows its band and its age; what is not
 * measured is never shown as a number; the same samples give the same bytes.
 */
#ifndef SY_CLI_COUNTERS_SHOW_H
#define SY_CLI_COUNTERS_SHOW_H

#include "belief/monitor.h"
#include "cli/counters/commands.h"
#include "cli/screen.h"
#include "cli/units.h"

#define SY_SPARK_COUNT 60

/* --- the session: sources, belief and the clock between them -----------------------------------
 */
struct sy_counters_args {
    struct sy_common_args common;
    const char *only, *arch, *machine, *group, *process;
    const char *replay; /* a recording instead of this machine */
};

struct sy_counters_session {
    struct sy_machine *machine;
    struct sy_listing *listing; /* NULL: none for this processor */
    const char *arch;           /* the listing's name, or that there is none */
    struct sy_arena *arena;
    struct sy_monitor senses;
    const struct sy_gap *gaps;
    uint32_t gap_count;
    double *last;        /* per counter: its last value; NAN: none yet */
    const char *watched; /* "process" or "group", where one was asked for; else NULL */
    uint32_t process;    /* 0: none */
};

/* Prints what is wrong; returns an exit code. The session must be closed either way. */
int sy_counters_open(const struct sy_counters_args *args, struct sy_counters_session *session);
void sy_counters_close(struct sy_counters_session *session);
/* Reads, updates, chooses what to count next. 0, -ENODATA at the end of a recording, or another
 * negative errno. */
SY_MUST_CHECK int sy_counters_step(struct sy_counters_session *session, double now_ns);
/* The process that is watched has ended. */
bool sy_counters_over(const struct sy_counters_session *session);
/* "psi 3, proc 8": sources with how many counters each has, with a NUL. */
void sy_counters_source_text(const struct sy_counters_session *session, struct sy_buffer *buffer);
/* Lines of a recording that say on which machine it was made; replay finds them again. */
void sy_counters_write_machine(const struct sy_counters_session *session, struct sy_buffer *buffer);

/* When the step of this number is due; steps that were slept through are left out. */
double sy_counters_due_ns(double start_ns, double step_ns, uint64_t *step);

/* --- pieces of a drawing; widths are in characters ---------------------------------------------
 */
struct sy_draw_style {
    bool unicode, colour;
};
/* Whether the environment's locale speaks UTF-8, and colour is wanted on stdout. */
struct sy_draw_style sy_draw_style_here(void);
/* Solid up to low, lighter from low to high, a mark at the mean. All in [0,1]. */
void sy_draw_bar(struct sy_buffer *buffer, uint32_t width, double mean, double low, double high,
                 struct sy_draw_style style);
/* The last width of count values in [0,1], right-aligned; NAN: a blank. */
void sy_draw_spark(struct sy_buffer *buffer, const float *values, uint32_t count, uint32_t width,
                   struct sy_draw_style style);
/* "12.5 GB/s", "3.20 M/s", "55.0 W", "-" without a unit. */
struct sy_units sy_draw_rate(double rate, const char *unit);
/* The same for a reading of a counter, which may be a share or have no unit. */
struct sy_units sy_draw_reading(double value, const struct sy_counter *counter);
/* "now", "4 s", "3 min", "never". */
struct sy_units sy_draw_age(double age_ns);

/* --- everything there is to show ----------------------------------------------------------------
 */
struct sy_counters_view {
    const struct sy_machine *machine;
    const struct sy_utilisation *items;
    uint32_t item_count;
    const float *history; /* [item * SY_SPARK_COUNT + i], oldest first; NULL: none */
    uint32_t history_count;
    const struct sy_gap *gaps;
    uint32_t gap_count;
    const char *sources, *arch;
    const char *title; /* "live", or the recording */
    uint32_t counter_count, slot_count, filter_count;
    double elapsed_ns; /* since the first reading */
    double unix_s;     /* NAN in a replay */
    const struct sy_counter *counters;
    const double *last;                   /* per counter: its last reading; NAN: none yet */
    const struct sy_counters_kind *kinds; /* of counters; first those of what is watched */
    uint32_t kind_count, watched_count;   /* of kinds */
    const uint32_t *kind_of;              /* per counter */
    bool all;                             /* a line for each, also those that are not measured */
};
/* Counters that differ only in where they count, as "perf.cpu*.page-faults". */
struct sy_counters_kind {
    char name[64];
    uint32_t first; /* of these counters */
};
/* In the arena. watched: those of the group or process come first. False: out of memory. */
bool sy_counters_sort(const struct sy_counter *counters, uint32_t count, bool watched,
                      struct sy_arena *arena, struct sy_counters_view *view);
/* What the counters of a kind say together, "93 %" or "1.20 k/s": shares are averaged, all else
 * adds up; "-": nothing yet. */
struct sy_units sy_counters_kind_text(const struct sy_counters_view *view, uint32_t kind);
/* The screen: at most rows lines of at most columns characters, each ended by a newline. */
void sy_counters_draw(const struct sy_counters_view *view, uint32_t columns, uint32_t rows,
                      struct sy_draw_style style, struct sy_buffer *buffer);
/* A line for each that is measured; the head names the columns. */
void sy_counters_write_lines_head(struct sy_buffer *buffer);
void sy_counters_write_lines(const struct sy_counters_view *view, struct sy_buffer *buffer);
/* One line of JSON, "symph-counters-watch-1"; the first of a stream has more members. */
void sy_counters_write_json(const struct sy_counters_view *view,
                            const struct sy_counters_session *session, bool first,
                            struct sy_buffer *buffer);
/* Prometheus' text exposition format. */
void sy_counters_write_prometheus(const struct sy_counters_view *view, struct sy_buffer *buffer);
/* A label's value, escaped. */
void sy_prometheus_put_label(struct sy_buffer *buffer, const char *text);

/* --- utilisation over time, for the picture -----------------------------------------------------
 */
struct sy_counters_plot;
/* NULL: out of memory. Keeps a few hundred points however long it goes on. */
struct sy_counters_plot *sy_counters_plot_create(uint32_t item_count);
void sy_counters_plot_destroy(struct sy_counters_plot *plot);
void sy_counters_plot_add(struct sy_counters_plot *plot, const struct sy_counters_view *view);
void sy_counters_plot_write(const struct sy_counters_plot *plot,
                            const struct sy_counters_view *view, struct sy_buffer *buffer);

/* --- showing a running session: screen, lines, JSON or Prometheus, and the plot at the end -------
 */
enum sy_show_form { SY_SHOW_SCREEN, SY_SHOW_LINES, SY_SHOW_JSON, SY_SHOW_PROMETHEUS };
struct sy_show_options {
    enum sy_show_form form;
    double interval_ns; /* between two outputs */
    const char *plot;   /* file; NULL: none */
    const char *output; /* replaced at each output; NULL: stdout */
    const char *listen; /* each output is served there instead; NULL: not */
    const char *title;
    bool all, once; /* once: only the last is shown */
    bool quiet;     /* no notes */
};
/* The form for these options, where stdout is what it is. */
enum sy_show_form sy_show_form_for(bool json, bool prometheus, const char *output);
struct sy_show;
/* Prints what is wrong; returns an exit code. The session is borrowed. */
int sy_show_create(const struct sy_counters_session *session, const struct sy_show_options *options,
                   struct sy_show **ret_show);
/* After each step. False: stop (the reader has gone, q was typed, or writing failed). */
bool sy_show_step(struct sy_show *show);
/* Waits for the next step; keys and the window's size are looked at. False: stop. */
bool sy_show_wait(struct sy_show *show, double then_ns);
/* Shows what is left to show, writes the plot, restores the terminal. Returns an exit code. */
int sy_show_finish(struct sy_show *show);
/* Restores the terminal without showing anything more; NULL is fine. */
void sy_show_destroy(struct sy_show *show);

/* --- serving over HTTP --------------------------------------------------------------------------
 */
/* What a request over HTTP asks for. */
enum sy_http {
    SY_HTTP_BAD,
    SY_HTTP_METHOD, /* neither GET nor HEAD */
    SY_HTTP_OTHER,
    SY_HTTP_ROOT,
    SY_HTTP_PAGE,
};
enum sy_http sy_http_parse(const char *text, size_t length, bool *ret_head);

struct sy_serve;
/* At [HOST:]PORT. Prints what is wrong; returns an exit code. */
int sy_serve_open(const char *address, struct sy_serve **ret_serve);
const char *sy_serve_address(const struct sy_serve *serve); /* "127.0.0.1:9877" */
/* Answers requests with the page until then (CLOCK_MONOTONIC), or until a signal is taken. */
void sy_serve_wait(struct sy_serve *serve, const struct sy_buffer *page, double then_ns);
void sy_serve_close(struct sy_serve *serve); /* NULL is fine */

#endif
