/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the Gantt chart.
 *
 * Wide spans become rectangles with a tooltip. Narrow ones would drown the file and the reader: a
 * row is cut into columns, and each column takes the colour that fills most of it, paler where the
 * row was partly idle. So the size of the file depends on the picture, not on the trace.
 */
#include "trace/svg.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS           4
#define TOOLTIP_MAX      60 /* characters of a name */
#define LABEL_FONT_PX    10.0
#define CHARACTER_PX     6.6
#define ROWS_FULL_DETAIL 64u

static const char *const opacities[LEVELS] = {".2", ".4", ".7", "1"};

/* Columns of one row. */
struct columns {
    double width_px;
    uint32_t count;
    double *share;  /* [column * SY_STYLE_COUNT + style], 1: full */
    uint16_t *code; /* per column: 0 empty, else 1 + style * LEVELS + level */
};

static bool columns_init(struct columns *columns, const struct sy_chart *chart) {
    uint32_t coarse = (chart->row_count + ROWS_FULL_DETAIL - 1) / ROWS_FULL_DETAIL;
    columns->width_px = coarse > 1 ? coarse : 1;
    columns->count = (uint32_t)ceil(chart->plot_width / columns->width_px) + 1;
    columns->share = malloc((size_t)columns->count * SY_STYLE_COUNT * sizeof *columns->share);
    columns->code = malloc(columns->count * sizeof *columns->code);
    return columns->share && columns->code;
}

static void columns_finish(struct columns *columns) {
    free(columns->share);
    free(columns->code);
}

static void add_share(struct columns *columns, uint32_t style, double from_px, double to_px) {
    double from = from_px / columns->width_px, to = to_px / columns->width_px;
    for (uint32_t i = (uint32_t)from; i < columns->count && i < to; i++) {
        double low = fmax(from, i), high = fmin(to, i + 1.0);
        columns->share[(size_t)i * SY_STYLE_COUNT + style] += high - low;
    }
}

static uint16_t code_of(const double *share) {
    uint32_t best = 0;
    double sum = 0;
    for (uint32_t style = 0; style < SY_STYLE_COUNT; style++) {
        sum += share[style];
        best = share[style] > share[best] ? style : best;
    }
    if (sum < 0.005) {
        return 0;
    }
    uint32_t level = sum > 0.75 ? 3 : sum > 0.4 ? 2 : sum > 0.1 ? 1 : 0;
    return (uint16_t)(1 + best * LEVELS + level);
}

static void put_path(struct sy_buffer *buffer, const struct columns *columns, uint16_t code) {
    uint32_t style = (uint32_t)(code - 1) / LEVELS, level = (uint32_t)(code - 1) % LEVELS;
    sy_buffer_printf(buffer, "<path class=\"t%u\" opacity=\"%s\" d=\"", style, opacities[level]);
    for (uint32_t i = 0; i < columns->count; i++) {
        uint32_t start = i;
        while (i < columns->count && columns->code[i] == code) {
            i++;
        }
        if (i > start) {
            sy_buffer_printf(buffer, "M%g 0h%g", start * columns->width_px,
                             (i - start) * columns->width_px);
        }
    }
    sy_buffer_printf(buffer, "\"/>");
}

static void put_columns(const struct sy_chart *chart, struct columns *columns, double height) {
    bool present[1 + SY_STYLE_COUNT * LEVELS] = {false};
    for (uint32_t i = 0; i < columns->count; i++) {
        columns->code[i] = code_of(columns->share + (size_t)i * SY_STYLE_COUNT);
        present[columns->code[i]] = true;
    }
    sy_buffer_printf(chart->buffer, "<g transform=\"translate(0 %g)\" stroke-width=\"%g\">",
                     height / 2, height);
    for (uint16_t code = 1; code <= SY_STYLE_COUNT * LEVELS; code++) {
        if (present[code]) {
            put_path(chart->buffer, columns, code);
        }
    }
    sy_buffer_printf(chart->buffer, "</g>\n");
}

static void put_tooltip(const struct sy_chart *chart, const struct sy_span *span) {
    char name[SY_TRACE_NAME_SIZE], memory[SY_TRACE_NAME_SIZE];
    struct sy_buffer *buffer = chart->buffer;
    sy_buffer_printf(buffer, "<title>");
    sy_put_xml_text(buffer, sy_name_subject(chart->names, span, name), TOOLTIP_MAX);
    sy_buffer_printf(buffer, " \xc2\xb7 %s", span->kind == SY_SPAN_ABORTED ? "aborted " : "");
    sy_put_xml_text(buffer, sy_name_group(chart->names, span), TOOLTIP_MAX);
    if (span->kind == SY_SPAN_TRANSFER) {
        sy_buffer_printf(buffer, " of %.4g MB from ", span->bytes / 1e6);
        sy_put_xml_text(buffer, sy_name_memory(chart->names, span->from, memory), TOOLTIP_MAX);
    }
    sy_buffer_printf(buffer, "\n");
    sy_chart_put_duration(buffer, span->end_ns - span->start_ns);
    sy_buffer_printf(buffer, " from ");
    sy_chart_put_duration(buffer, span->start_ns);
    sy_buffer_printf(buffer, "</title>");
}

/* The kernel's name where it fits; tooltips name the task. */
static void put_label(const struct sy_chart *chart, const struct sy_span *span, uint32_t style,
                      double x, double width, double height) {
    const char *text = sy_name_group(chart->names, span);
    double characters = (width - 8) / CHARACTER_PX;
    if (height < LABEL_FONT_PX + 2 || style >= SY_STYLE_STALL ||
        (double)sy_text_characters(text) > characters) {
        return;
    }
    sy_buffer_printf(chart->buffer, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">",
                     sy_chart_is_dark(style) ? "w" : "d", x + width / 2, height / 2 + 3.5);
    sy_put_xml_text(chart->buffer, text, SY_TRACE_NAME_SIZE);
    sy_buffer_printf(chart->buffer, "</text>");
}

static void put_span(const struct sy_chart *chart, const struct sy_span *span, double height) {
    uint32_t style = sy_chart_style(chart, span);
    double x = span->start_ns * chart->px_per_ns;
    double width = (span->end_ns - span->start_ns) * chart->px_per_ns;
    /* A hair's gap keeps neighbours of one kernel apart. */
    sy_buffer_printf(chart->buffer, "<rect class=\"s%u\" x=\"%.2f\" width=\"%.2f\" height=\"%g\">",
                     style, x, width > 2 ? width - 0.6 : width, height);
    put_tooltip(chart, span);
    sy_buffer_printf(chart->buffer, "</rect>\n");
    put_label(chart, span, style, x, width, height);
}

static bool is_wide(const struct sy_chart *chart, const struct sy_span *span) {
    return (span->end_ns - span->start_ns) * chart->px_per_ns >= chart->individual_px;
}

static void put_row(const struct sy_chart *chart, struct columns *columns, uint32_t row) {
    double pitch = sy_chart_row_height(chart, row), gap = pitch >= 9 ? 1 : pitch >= 4 ? 0.5 : 0;
    double height = pitch - 2 * gap;
    bool narrow = false;
    memset(columns->share, 0, (size_t)columns->count * SY_STYLE_COUNT * sizeof *columns->share);
    for (uint32_t i = chart->row_start[row]; i < chart->row_start[row + 1]; i++) {
        const struct sy_span *span = &chart->sorted.spans[chart->span_index[i]];
        if (!is_wide(chart, span)) {
            narrow = true;
            add_share(columns, sy_chart_style(chart, span), span->start_ns * chart->px_per_ns,
                      span->end_ns * chart->px_per_ns);
        }
    }
    sy_buffer_printf(chart->buffer, "<g transform=\"translate(%g %g)\">\n", chart->left,
                     sy_chart_row_top(chart, row) + gap);
    if (narrow) {
        put_columns(chart, columns, height);
    }
    for (uint32_t i = chart->row_start[row]; i < chart->row_start[row + 1]; i++) {
        const struct sy_span *span = &chart->sorted.spans[chart->span_index[i]];
        if (is_wide(chart, span)) {
            put_span(chart, span, height);
        }
    }
    sy_buffer_printf(chart->buffer, "</g>\n");
}

bool sy_chart_put_rows(const struct sy_chart *chart) {
    struct columns columns;
    bool ok = columns_init(&columns, chart);
    for (uint32_t row = 0; ok && row < chart->row_count; row++) {
        put_row(chart, &columns, row);
    }
    columns_finish(&columns);
    return ok;
}
