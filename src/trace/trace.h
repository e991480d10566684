/* SPDX-License-Identifier: Apache-2.0
 *
 * trace: the one event record, and the pictures made from it.
 *
 * In: spans, in any order. Out: Chrome/Perfetto JSON, Paje, an SVG Gantt chart. Never knows: who
 * recorded it; the simulator and the engine write the same record. Invariant: times are ns since
 * the run began, end >= start.
 */
#ifndef SY_TRACE_TRACE_H
#define SY_TRACE_TRACE_H

#include "base/base.h"

enum sy_span_kind {
    SY_SPAN_TASK,        /* subject: task; place: device */
    SY_SPAN_STALL,       /* device waits for the inputs of subject: task */
    SY_SPAN_TRANSFER,    /* subject: datum; place: to memory; from: from memory */
    SY_SPAN_RECONFIGURE, /* subject: kernel; place: device */
    SY_SPAN_LOST,        /* place: device took no work */
    SY_SPAN_ABORTED,     /* subject: task, cut short because its device was lost */
    SY_SPAN_PART, /* subject: task, up to where it was pushed aside; SY_SPAN_TASK: the rest */
    SY_SPAN_KINDS,
};

struct sy_span {
    double start_ns, end_ns;
    uint32_t kind, subject, place, from;
    double bytes; /* transfers */
};

/* A task, or a part of one. */
static inline bool sy_span_executes(const struct sy_span *span) {
    return span->kind == SY_SPAN_TASK || span->kind == SY_SPAN_PART;
}

struct sy_trace {
    struct sy_span *spans;
    uint32_t count, capacity;
    bool failed; /* out of memory: the record is incomplete */
};
void sy_trace_add(struct sy_trace *trace, const struct sy_span *span);
/* Room for so many spans ahead, so that recording does not allocate. */
SY_MUST_CHECK int sy_trace_reserve(struct sy_trace *trace, uint32_t capacity);
/* By start, then place, kind and subject: one order for one content. */
void sy_trace_sort(struct sy_trace *trace);
void sy_trace_finish(struct sy_trace *trace);

/* Names for the writers; the callbacks may use the buffer. */
struct sy_trace_names {
    const void *context;
    const char *title, *subtitle;
    uint32_t place_count, memory_count;
    const char *(*place)(const void *context, uint32_t place); /* device */
    const char *(*memory)(const void *context, uint32_t memory);
    const char *(*task)(const void *context, uint32_t task, char *buffer, size_t size);
    const char *(*group)(const void *context, uint32_t task); /* kernel: decides the colour */
    const char *(*datum)(const void *context, uint32_t datum, char *buffer, size_t size);
    const char *(*kernel)(const void *context, uint32_t kernel);
    double bound_ns; /* drawn as a line in the chart; 0: none */
};
void sy_trace_write_chrome(const struct sy_trace *trace, const struct sy_trace_names *names,
                           struct sy_buffer *buffer);
void sy_trace_write_paje(const struct sy_trace *trace, const struct sy_trace_names *names,
                         struct sy_buffer *buffer);
void sy_trace_write_svg(const struct sy_trace *trace, const struct sy_trace_names *names,
                        struct sy_buffer *buffer);

/* --- lines with bands, panel above panel over one axis ----------------------------------------
 */
struct sy_plot_line {
    const char *name;
    const double *x, *y;
    const double *low, *high; /* band; NULL: none */
    uint32_t count;
};
struct sy_plot_panel {
    const char *label;
    const char *unit; /* behind the numbers of its scale: "%"; NULL: none */
    double scale;     /* numbers are multiplied by it for show; 0: 1 */
    double low, high; /* ends of its scale; NAN: as the values ask, from 0 */
    const struct sy_plot_line *lines;
    uint32_t line_count;
};
struct sy_plot {
    const char *title, *subtitle, *x_label;
    bool x_is_time; /* x is in ns, and gets a unit */
    const struct sy_plot_panel *panels;
    uint32_t panel_count;
};
/* Every point is drawn: keep them to a few thousand. Points that are not finite leave a gap. */
void sy_plot_write_svg(const struct sy_plot *plot, struct sy_buffer *buffer);

/* --- points in two scales: what can be had (up) for what (left) ---------------------------------
 */
struct sy_scatter_point {
    double x, y;       /* above 0 */
    uint32_t group;    /* decides the colour */
    const char *title; /* shown when one points at it */
    const char *label; /* stands beside it; NULL: none */
    bool marked;       /* with a ring around it */
};
struct sy_scatter {
    const char *title, *subtitle, *x_label, *y_label;
    const char *const *groups;
    uint32_t group_count;
    const struct sy_scatter_point *points;
    uint32_t count;
};
void sy_scatter_write_svg(const struct sy_scatter *scatter, struct sy_buffer *buffer);

#endif
