/* SPDX-License-Identifier: Apache-2.0
 *
 * Gantt chart as one SVG file that needs nothing else: title, legend, a row per device and per
 * memory that received copies, a time axis, the lower bound.
 *
 * Invariants: the same trace gives the same bytes; the file stays below 2 MB however long the
 * trace; colours follow the order in which kernels first appear.
 */
#include "trace/svg.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_PX       1200.0
#define RIGHT_PX       58.0
#define INDIVIDUAL_MAX 6000u /* rectangles with a tooltip, about 160 bytes each */
#define LABEL_MAX      24u   /* characters */
#define LEGEND_MAX     28u
#define STRIP_PX       18.0 /* above the rows: label of the bound */
#define SEPARATOR_PX   8.0  /* between devices and memories */
#define AXIS_PX        38.0

/* --- geometry ----------------------------------------------------------------------------- */

uint32_t sy_chart_row(const struct sy_chart *chart, const struct sy_span *span) {
    return sy_span_on_device(span) ? span->place : chart->memory_row[span->place];
}

uint32_t sy_chart_style(const struct sy_chart *chart, const struct sy_span *span) {
    switch (span->kind) {
    case SY_SPAN_STALL:
        return SY_STYLE_STALL;
    case SY_SPAN_TRANSFER:
        return SY_STYLE_TRANSFER;
    case SY_SPAN_RECONFIGURE:
        return SY_STYLE_RECONFIGURE;
    case SY_SPAN_LOST:
        return SY_STYLE_LOST;
    case SY_SPAN_ABORTED:
        return SY_STYLE_ABORTED;
    default: {
        uint32_t group = sy_groups_find(&chart->groups, sy_name_group(chart->names, span));
        return group < SY_STYLE_OTHER ? group : SY_STYLE_OTHER;
    }
    }
}

double sy_chart_row_height(const struct sy_chart *chart, uint32_t row) {
    return row < chart->device_count ? chart->device_height : chart->memory_height;
}

double sy_chart_row_top(const struct sy_chart *chart, uint32_t row) {
    if (row <= chart->device_count) {
        double separator = row == chart->device_count && row < chart->row_count ? SEPARATOR_PX : 0;
        return chart->top + row * chart->device_height + separator;
    }
    return chart->top + chart->device_count * chart->device_height + SEPARATOR_PX +
           (row - chart->device_count) * chart->memory_height;
}

bool sy_chart_is_dark(uint32_t style) {
    unsigned rgb = (unsigned)strtoul(sy_colour_of(style, false) + 1, NULL, 16);
    return 0.299 * (rgb >> 16) + 0.587 * (rgb >> 8 & 255) + 0.114 * (rgb & 255) < 150;
}

void sy_chart_put_duration(struct sy_buffer *buffer, double duration_ns) {
    struct sy_time_unit unit = sy_time_unit_for(duration_ns);
    sy_buffer_printf(buffer, "%.4g %s", duration_ns / unit.ns, unit.name);
}

static double pitch_for(uint32_t rows) {
    static const struct {
        uint32_t rows;
        double px;
    } steps[] = {{8, 30}, {16, 24}, {32, 18}, {64, 13}, {128, 9}, {256, 5}, {512, 3}};
    for (size_t i = 0; i < SY_COUNT(steps); i++) {
        if (rows <= steps[i].rows) {
            return steps[i].px;
        }
    }
    return fmax(1536.0 / rows, 0.5);
}

/* --- preparation -------------------------------------------------------------------------- */

/* Gives rows to the memories that received copies. */
static bool assign_rows(struct sy_chart *chart) {
    uint32_t memories = chart->names->memory_count;
    chart->memory_row = malloc(((size_t)memories + 1) * sizeof *chart->memory_row);
    chart->row_memory = malloc(((size_t)memories + 1) * sizeof *chart->row_memory);
    if (!chart->memory_row || !chart->row_memory) {
        return false;
    }
    for (uint32_t i = 0; i < memories; i++) {
        chart->memory_row[i] = SY_NONE;
    }
    for (uint32_t i = 0; i < chart->sorted.count; i++) {
        const struct sy_span *span = &chart->sorted.spans[i];
        if (!sy_span_on_device(span)) {
            chart->memory_row[span->place] = 0;
        }
    }
    chart->device_count = chart->row_count = chart->names->place_count;
    for (uint32_t i = 0; i < memories; i++) {
        if (chart->memory_row[i] != SY_NONE) {
            chart->row_memory[chart->row_count - chart->device_count] = i;
            chart->memory_row[i] = chart->row_count++;
        }
    }
    return true;
}

/* Counting sort by row; the order within a row stays by start. */
static bool index_spans(struct sy_chart *chart) {
    chart->row_start = calloc((size_t)chart->row_count + 2, sizeof *chart->row_start);
    chart->span_index = malloc(((size_t)chart->sorted.count + 1) * sizeof *chart->span_index);
    chart->busy_ns = calloc((size_t)chart->device_count + 1, sizeof *chart->busy_ns);
    if (!chart->row_start || !chart->span_index || !chart->busy_ns) {
        return false;
    }
    /* Counted one place ahead, so that filling leaves the starts in place. */
    for (uint32_t i = 0; i < chart->sorted.count; i++) {
        chart->row_start[sy_chart_row(chart, &chart->sorted.spans[i]) + 2]++;
    }
    for (uint32_t row = 2; row <= chart->row_count; row++) {
        chart->row_start[row] += chart->row_start[row - 1];
    }
    for (uint32_t i = 0; i < chart->sorted.count; i++) {
        chart->span_index[chart->row_start[sy_chart_row(chart, &chart->sorted.spans[i]) + 1]++] = i;
    }
    return true;
}

static void measure(struct sy_chart *chart) {
    double end = 0;
    for (uint32_t i = 0; i < chart->sorted.count; i++) {
        const struct sy_span *span = &chart->sorted.spans[i];
        end = fmax(end, span->end_ns);
        chart->used[sy_chart_style(chart, span)] = true;
        if (sy_span_executes(span)) {
            chart->makespan_ns = fmax(chart->makespan_ns, span->end_ns);
            chart->busy_ns[span->place] += span->end_ns - span->start_ns;
        }
    }
    double bound = chart->names->bound_ns;
    chart->horizon_ns = fmax(end, isfinite(bound) ? bound : 0);
    chart->horizon_ns = chart->horizon_ns > 0 ? chart->horizon_ns : 1;
}

static uint32_t wider_than(const struct sy_chart *chart, double px) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < chart->sorted.count; i++) {
        const struct sy_span *span = &chart->sorted.spans[i];
        count += (span->end_ns - span->start_ns) * chart->px_per_ns >= px;
    }
    return count;
}

static const char *row_name(const struct sy_chart *chart, uint32_t row, char *buffer) {
    return row < chart->device_count
               ? sy_name_place(chart->names, row, buffer)
               : sy_name_memory(chart->names, chart->row_memory[row - chart->device_count], buffer);
}

static void lay_out(struct sy_chart *chart) {
    char name[SY_TRACE_NAME_SIZE];
    size_t longest = 5;
    for (uint32_t row = 0; row < chart->row_count; row++) {
        size_t length = sy_text_characters(row_name(chart, row, name));
        length += row < chart->device_count ? 0 : 3;
        longest = length > longest ? length : longest;
    }
    longest = longest < LABEL_MAX ? longest : LABEL_MAX;
    chart->left = SY_PAGE_MARGIN_PX + 7.0 * (double)longest + 8;
    chart->plot_width = WIDTH_PX - chart->left - RIGHT_PX;
    chart->px_per_ns = chart->plot_width / chart->horizon_ns;
    uint32_t memories = chart->row_count - chart->device_count;
    chart->device_height = pitch_for(chart->device_count);
    chart->memory_height = memories <= 16 ? 12 : 6;
    chart->plot_height = chart->row_count
                             ? sy_chart_row_top(chart, chart->row_count - 1) - chart->top +
                                   sy_chart_row_height(chart, chart->row_count - 1)
                             : 60;
    chart->individual_px = 0.8;
    while (wider_than(chart, chart->individual_px) > INDIVIDUAL_MAX) {
        chart->individual_px *= 1.5;
    }
}

/* --- frame -------------------------------------------------------------------------------- */

/* Colours of what is not a kernel: of the ground of hatched spans, and of their lines or of the
 * whole span, in light and dark. In the order of the styles behind SY_STYLE_OTHER. */
static const struct {
    const char *hatch, *ground[2], *line[2];
} others[] = {{"stall", {"#f6f1e6", "#26241f"}, {"#cfc4ac", "#5f5a4b"}},
              {"reconfigure", {"#ffe9a8", "#4a4018"}, {"#222", "#f0d060"}},
              {NULL, {NULL, NULL}, {"#bdbdbd", "#575c65"}}, /* lost */
              {"aborted", {"#f8d7d3", "#45201c"}, {"#c0392b", "#e57368"}},
              {NULL, {NULL, NULL}, {"#607d8b", "#7c98a6"}}}; /* transfer */

static void put_other_rules(struct sy_buffer *buffer, bool dark) {
    for (uint32_t i = 0; i < SY_COUNT(others); i++) {
        uint32_t style = SY_STYLE_STALL + i;
        const char *line = others[i].line[dark];
        sy_buffer_printf(buffer, ".t%u{stroke:%s}", style, line);
        if (others[i].hatch) {
            sy_buffer_printf(buffer, ".s%u{fill:url(#%s)}.u%u{fill:%s}", style, others[i].hatch,
                             style, others[i].ground[dark]);
        } else {
            sy_buffer_printf(buffer, ".s%u{fill:%s;fill-opacity:.75}", style, line);
        }
    }
}

static void put_hatches(struct sy_buffer *buffer) {
    sy_buffer_printf(buffer, "<defs>");
    for (uint32_t i = 0; i < SY_COUNT(others); i++) {
        if (others[i].hatch) {
            sy_buffer_printf(buffer,
                             "<pattern id=\"%s\" width=\"5\" height=\"5\" patternUnits="
                             "\"userSpaceOnUse\" patternTransform=\"rotate(%d)\"><rect "
                             "class=\"u%u\" width=\"5\" height=\"5\"/><path class=\"t%u\" "
                             "d=\"M0 0v5\" stroke-width=\"2\"/></pattern>",
                             others[i].hatch, i == 1 ? -45 : 45, SY_STYLE_STALL + i,
                             SY_STYLE_STALL + i);
        }
    }
    sy_buffer_printf(buffer, "</defs>\n");
}

/* Draws when buffer is set; returns where the legend ends below. */
static double put_legend(const struct sy_chart *chart, struct sy_buffer *buffer, double y) {
    static const char *const fixed[] = {"waits for data", "reconfiguration", "device lost",
                                        "aborted", "copy"};
    char other[64];
    double x = SY_PAGE_MARGIN_PX;
    uint32_t more = chart->groups.count - SY_STYLE_OTHER;
    snprintf(other, sizeof other, "%u other kernel%s", more, more == 1 ? "" : "s");
    for (uint32_t style = 0; style < SY_STYLE_COUNT; style++) {
        if (!chart->used[style]) {
            continue;
        }
        const char *text = style < SY_STYLE_OTHER    ? chart->groups.names[style]
                           : style == SY_STYLE_OTHER ? other
                                                     : fixed[style - SY_STYLE_STALL];
        size_t length = sy_text_characters(text);
        double width = 34 + 6.9 * (double)(length < LEGEND_MAX ? length : LEGEND_MAX);
        if (x > SY_PAGE_MARGIN_PX && x + width > WIDTH_PX - SY_PAGE_MARGIN_PX) {
            x = SY_PAGE_MARGIN_PX;
            y += 18;
        }
        if (buffer) {
            sy_buffer_printf(buffer,
                             "<rect class=\"s%u\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" "
                             "rx=\"2\"/><text x=\"%.1f\" y=\"%.1f\">",
                             style, x, y - 10, x + 17, y);
            sy_put_xml_text(buffer, text, LEGEND_MAX);
            sy_buffer_printf(buffer, "</text>\n");
        }
        x += width;
    }
    return x > SY_PAGE_MARGIN_PX ? y + 12 : y - 12;
}

static double legend_top(const struct sy_chart *chart) {
    return chart->names->subtitle && chart->names->subtitle[0] ? 72 : 54;
}

static void put_head(const struct sy_chart *chart, double height) {
    const char *title = chart->names->title;
    struct sy_buffer rules = {0}, dark_rules = {0};
    sy_buffer_printf(&rules, ".w,.d{font-size:10px;text-anchor:middle;pointer-events:none}"
                             ".w{fill:#fff}.d{fill:#222}.z{fill:#f4f5f7}.k{stroke:#b3261e}"
                             ".o{fill:#b3261e}");
    sy_buffer_printf(&dark_rules, ".z{fill:#1d2026}.k{stroke:#ff8a80}.o{fill:#ff8a80}");
    put_other_rules(&rules, false);
    put_other_rules(&dark_rules, true);
    if (rules.failed || dark_rules.failed) {
        chart->buffer->failed = true;
    } else {
        sy_put_picture_head(chart->buffer, &(struct sy_picture_head){
                                               .width_px = WIDTH_PX,
                                               .height_px = height,
                                               .title = title && title[0] ? title : "Schedule",
                                               .subtitle = chart->names->subtitle,
                                               .rules = rules.text,
                                               .dark_rules = dark_rules.text});
        put_hatches(chart->buffer);
        put_legend(chart, chart->buffer, legend_top(chart));
    }
    sy_buffer_finish(&rules);
    sy_buffer_finish(&dark_rules);
}

static void put_row_labels(const struct sy_chart *chart) {
    char name[SY_TRACE_NAME_SIZE];
    struct sy_buffer *buffer = chart->buffer;
    for (uint32_t row = 0; row < chart->row_count; row++) {
        bool device = row < chart->device_count;
        double pitch = sy_chart_row_height(chart, row), top = sy_chart_row_top(chart, row);
        double font = pitch >= 18 ? 12 : pitch >= 12 ? 10 : 9, middle = top + pitch / 2;
        uint32_t index = device ? row : row - chart->device_count;
        if (index % 2 == 0) {
            sy_buffer_printf(buffer,
                             "<rect class=\"z\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n",
                             chart->left, top, chart->plot_width, pitch);
        }
        if (index % (uint32_t)ceil((font + 1) / pitch) != 0) {
            continue;
        }
        sy_buffer_printf(
            buffer, "<text class=\"e%s\" x=\"%g\" y=\"%g\" style=\"font-size:%gpx\">%s",
            device ? "" : " q", chart->left - 8, middle + font * 0.36, font, device ? "" : "to ");
        sy_put_xml_text(buffer, row_name(chart, row, name), LABEL_MAX);
        sy_buffer_printf(buffer, "</text>\n");
        if (device && chart->makespan_ns > 0) {
            sy_buffer_printf(buffer,
                             "<text class=\"q\" x=\"%g\" y=\"%g\" style=\"font-size:%gpx\">"
                             "%.0f %%</text>\n",
                             chart->left + chart->plot_width + 8, middle + font * 0.36,
                             fmin(font, 10), 100 * chart->busy_ns[row] / chart->makespan_ns);
        }
    }
}

static void put_axis(const struct sy_chart *chart) {
    struct sy_buffer *buffer = chart->buffer;
    struct sy_time_unit unit = sy_time_unit_for(chart->horizon_ns);
    double step = sy_nice_step(chart->horizon_ns / unit.ns, 14);
    double bottom = chart->top + chart->plot_height;
    bool empty = chart->sorted.count == 0 && !(chart->names->bound_ns > 0);
    uint32_t ticks = empty ? 0 : (uint32_t)(chart->horizon_ns / unit.ns / step * (1 + 1e-9));
    for (uint32_t i = 0; i <= ticks; i++) {
        double x = chart->left + i * step * unit.ns * chart->px_per_ns;
        sy_buffer_printf(buffer,
                         "<path class=\"g\" d=\"M%.1f %gV%g\"/><text class=\"m\" "
                         "x=\"%.1f\" y=\"%g\">%.6g</text>\n",
                         x, chart->top, bottom + 5, x, bottom + 18, i * step);
    }
    sy_buffer_printf(buffer,
                     "<path class=\"a\" d=\"M%g %gH%g\"/><text class=\"m q\" x=\"%g\" "
                     "y=\"%g\">time (%s)</text>\n",
                     chart->left, bottom, chart->left + chart->plot_width,
                     chart->left + chart->plot_width / 2, bottom + 33, unit.name);
    if (chart->makespan_ns > 0 && chart->device_count) {
        sy_buffer_printf(buffer,
                         "<text class=\"q\" x=\"%g\" y=\"%g\" style=\"font-size:10px\">busy"
                         "</text>\n",
                         chart->left + chart->plot_width + 8, chart->top - 5);
    }
}

static void put_bound(const struct sy_chart *chart) {
    struct sy_buffer *buffer = chart->buffer;
    double bound = chart->names->bound_ns, x = chart->left + bound * chart->px_per_ns;
    if (!(bound > 0) || !isfinite(bound)) {
        return;
    }
    bool right = x > chart->left + chart->plot_width / 2;
    sy_buffer_printf(buffer,
                     "<path class=\"k\" d=\"M%.1f %gV%g\" stroke-width=\"1.6\" "
                     "stroke-dasharray=\"6 4\"/><text class=\"o%s\" x=\"%.1f\" y=\"%g\">"
                     "lower bound ",
                     x, chart->top - 14, chart->top + chart->plot_height, right ? " e" : "",
                     x + (right ? -6 : 6), chart->top - 5);
    sy_chart_put_duration(buffer, bound);
    if (chart->makespan_ns > 0) {
        double over = 100 * (chart->makespan_ns / bound - 1);
        sy_buffer_printf(buffer, ", this schedule %+.*f %%", fabs(over) < 9.95 ? 1 : 0, over);
    }
    sy_buffer_printf(buffer, "</text>\n");
}

static void put_empty(const struct sy_chart *chart) {
    if (chart->sorted.count == 0) {
        sy_buffer_printf(
            chart->buffer,
            "<text class=\"m q\" x=\"%g\" y=\"%g\" style=\"font-size:13px\">%s</text>\n",
            chart->left + chart->plot_width / 2, chart->top + chart->plot_height / 2 + 4,
            chart->device_count ? "nothing was recorded" : "no devices");
    }
}

static bool prepare(struct sy_chart *chart, const struct sy_trace *trace) {
    chart->sorted = sy_trace_sorted(trace, chart->names);
    sy_groups_init(&chart->groups, &chart->sorted, chart->names);
    if (chart->sorted.failed || chart->groups.failed || !assign_rows(chart) ||
        !index_spans(chart)) {
        return false;
    }
    measure(chart);
    chart->top = put_legend(chart, NULL, legend_top(chart)) + STRIP_PX;
    lay_out(chart);
    return true;
}

static bool draw(const struct sy_chart *chart) {
    put_head(chart, chart->top + chart->plot_height + AXIS_PX + 6);
    put_row_labels(chart);
    put_axis(chart);
    bool ok = sy_chart_put_rows(chart);
    put_bound(chart);
    put_empty(chart);
    sy_buffer_printf(chart->buffer, "</svg>\n");
    return ok;
}

void sy_trace_write_svg(const struct sy_trace *trace, const struct sy_trace_names *names,
                        struct sy_buffer *buffer) {
    struct sy_chart chart = {.names = names, .buffer = buffer};
    if (!prepare(&chart, trace) || !draw(&chart)) {
        buffer->failed = true;
    }
    free(chart.memory_row);
    free(chart.row_memory);
    free(chart.row_start);
    free(chart.span_index);
    free(chart.busy_ns);
    sy_groups_finish(&chart.groups);
    sy_trace_finish(&chart.sorted);
}
