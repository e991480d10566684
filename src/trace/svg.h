/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside trace: the geometry of the Gantt chart, shared by its frame and its rows.
 */
#ifndef SY_TRACE_SVG_H
#define SY_TRACE_SVG_H

#include "trace/writer.h"

/* What a span looks like: kernels first, then what is not work. */
enum {
    SY_STYLE_OTHER = SY_TRACE_COLOURS, /* kernels beyond the palette */
    SY_STYLE_STALL,
    SY_STYLE_RECONFIGURE,
    SY_STYLE_LOST,
    SY_STYLE_ABORTED,
    SY_STYLE_TRANSFER,
    SY_STYLE_COUNT,
};

/* Rows: devices, then the memories that received copies. */
struct sy_chart {
    const struct sy_trace_names *names;
    struct sy_buffer *buffer;
    struct sy_trace sorted;
    struct sy_groups groups;
    uint32_t device_count, row_count;
    uint32_t *memory_row; /* SY_NONE: no row */
    uint32_t *row_memory; /* of row - device_count */
    uint32_t *row_start;  /* row_count + 1: where its spans begin in span_index */
    uint32_t *span_index; /* by row, then start */
    double *busy_ns;      /* per device: running tasks */
    bool used[SY_STYLE_COUNT];
    double horizon_ns, makespan_ns, px_per_ns;
    double left, top, plot_width, plot_height; /* px */
    double device_height, memory_height;       /* px, a row's pitch */
    double individual_px;                      /* narrower spans are drawn as shares of a column */
};

uint32_t sy_chart_row(const struct sy_chart *chart, const struct sy_span *span);
uint32_t sy_chart_style(const struct sy_chart *chart, const struct sy_span *span);
double sy_chart_row_top(const struct sy_chart *chart, uint32_t row);
double sy_chart_row_height(const struct sy_chart *chart, uint32_t row);
/* Whether white text can be read on the colour of a kernel. */
bool sy_chart_is_dark(uint32_t style);
/* "12.3 ms" */
void sy_chart_put_duration(struct sy_buffer *buffer, double duration_ns);

/* svg_rows.c: what happened on each row. False: out of memory. */
SY_MUST_CHECK bool sy_chart_put_rows(const struct sy_chart *chart);

#endif
