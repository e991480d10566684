/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines with bands over a common axis, as one SVG file that needs nothing else: one panel above the
 * other, each with its own scale.
 *
 * Invariants: the same values give the same bytes; a point that is not finite leaves a gap; a band
 * never hides the line in it.
 */
#include "trace/writer.h"
#include <math.h>

#define WIDTH_PX  1200.0
#define RIGHT_PX  24.0
#define AXIS_PX   40.0
#define LABEL_MAX 24u
#define LEGEND_PX 20.0

struct frame {
    const struct sy_plot *plot;
    struct sy_buffer *buffer;
    double left, top, width, panel_px, gap_px;
    double x_low, x_high;
};

/* The scale of one panel. */
struct scale {
    double low, high, top, height;
};

static double pitch_for(const struct sy_plot *plot) {
    static const struct {
        uint32_t panels;
        double px;
    } steps[] = {{1, 420}, {2, 240}, {4, 150}, {8, 90}, {24, 60}, {64, 40}};
    for (size_t i = 0; i < SY_COUNT(steps); i++) {
        if (plot->panel_count <= steps[i].panels) {
            return steps[i].px;
        }
    }
    return 22;
}

static void widen(double value, double *low, double *high) {
    if (isfinite(value)) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

static void measure_x(struct frame *frame) {
    frame->x_low = INFINITY;
    frame->x_high = -INFINITY;
    for (uint32_t i = 0; i < frame->plot->panel_count; i++) {
        const struct sy_plot_panel *panel = &frame->plot->panels[i];
        for (uint32_t j = 0; j < panel->line_count; j++) {
            for (uint32_t k = 0; k < panel->lines[j].count; k++) {
                widen(panel->lines[j].x[k], &frame->x_low, &frame->x_high);
            }
        }
    }
    if (!(frame->x_low < frame->x_high)) {
        frame->x_low = isfinite(frame->x_low) ? frame->x_low : 0;
        frame->x_high = frame->x_low + 1;
    }
}

static struct scale scale_of(const struct frame *frame, uint32_t index) {
    const struct sy_plot_panel *panel = &frame->plot->panels[index];
    double low = INFINITY, high = -INFINITY;
    for (uint32_t j = 0; j < panel->line_count; j++) {
        const struct sy_plot_line *line = &panel->lines[j];
        for (uint32_t k = 0; k < line->count; k++) {
            widen(line->y[k], &low, &high);
            widen(line->low ? line->low[k] : NAN, &low, &high);
            widen(line->high ? line->high[k] : NAN, &low, &high);
        }
    }
    low = isfinite(panel->low) ? panel->low : isfinite(low) ? fmin(low, 0) : 0;
    high = isfinite(panel->high) ? panel->high : isfinite(high) ? high : low + 1;
    high = high > low ? high : low + 1;
    return (struct scale){low, high, frame->top + index * frame->panel_px,
                          frame->panel_px - frame->gap_px};
}

static double x_px(const struct frame *frame, double x) {
    return frame->left + (x - frame->x_low) / (frame->x_high - frame->x_low) * frame->width;
}

static double y_px(const struct scale *scale, double y) {
    double share = (y - scale->low) / (scale->high - scale->low);
    return scale->top + scale->height * (1 - fmin(fmax(share, 0), 1));
}

static bool is_drawn(const struct sy_plot_line *line, uint32_t k) {
    return isfinite(line->x[k]) && isfinite(line->y[k]);
}

static bool has_band(const struct sy_plot_line *line, uint32_t k) {
    return is_drawn(line, k) && isfinite(line->low[k]) && isfinite(line->high[k]);
}

static void put_band(const struct frame *frame, const struct scale *scale,
                     const struct sy_plot_line *line, uint32_t group) {
    for (uint32_t start = 0; line->low && line->high && start < line->count;) {
        uint32_t end = start;
        while (end < line->count && has_band(line, end)) {
            end++;
        }
        if (end - start > 1) {
            sy_buffer_printf(frame->buffer, "<path class=\"f s%u\" d=\"M", sy_colour_index(group));
            for (uint32_t k = start; k < end; k++) {
                sy_buffer_printf(frame->buffer, "%.1f %.1f ", x_px(frame, line->x[k]),
                                 y_px(scale, line->high[k]));
            }
            for (uint32_t k = end; k-- > start;) {
                sy_buffer_printf(frame->buffer, "%.1f %.1f ", x_px(frame, line->x[k]),
                                 y_px(scale, line->low[k]));
            }
            sy_buffer_printf(frame->buffer, "z\"/>\n");
        }
        start = end + 1;
    }
}

static void put_line(const struct frame *frame, const struct scale *scale,
                     const struct sy_plot_line *line, uint32_t group) {
    sy_buffer_printf(frame->buffer, "<path class=\"l t%u\" d=\"", sy_colour_index(group));
    for (uint32_t k = 0; k < line->count; k++) {
        if (is_drawn(line, k)) {
            bool first = k == 0 || !is_drawn(line, k - 1);
            sy_buffer_printf(frame->buffer, "%s%.1f %.1f", first ? "M" : "L",
                             x_px(frame, line->x[k]), y_px(scale, line->y[k]));
            /* A point without neighbours is a dot: the ends of lines are round. */
            bool alone = first && (k + 1 == line->count || !is_drawn(line, k + 1));
            sy_buffer_printf(frame->buffer, "%s", alone ? "h0" : "");
        }
    }
    sy_buffer_printf(frame->buffer, "\"/>\n");
}

static void put_scale(const struct frame *frame, const struct sy_plot_panel *panel,
                      const struct scale *scale) {
    double factor = panel->scale != 0 ? panel->scale : 1;
    double step = sy_nice_step((scale->high - scale->low) * factor, scale->height > 110 ? 5 : 2);
    double right = frame->left + frame->width;
    bool wanted = scale->height >= 30;
    for (double tick = ceil(scale->low * factor / step - 1e-9) * step;
         wanted && tick <= scale->high * factor + step * 1e-9; tick += step) {
        double y = y_px(scale, tick / factor);
        sy_buffer_printf(frame->buffer,
                         "<path class=\"g\" d=\"M%g %.1fH%g\"/><text class=\"e q\" x=\"%g\" "
                         "y=\"%.1f\">%.6g",
                         frame->left, y, right, frame->left - 5, y + 4,
                         fabs(tick) < step * 1e-9 ? 0 : tick);
        sy_put_xml_text(frame->buffer, panel->unit ? panel->unit : "", LABEL_MAX);
        sy_buffer_printf(frame->buffer, "</text>\n");
    }
    sy_buffer_printf(frame->buffer,
                     "<path class=\"a\" d=\"M%g %gV%gH%g\"/>\n<text x=\"%g\" "
                     "y=\"%g\">",
                     frame->left, scale->top, scale->top + scale->height, right, SY_PAGE_MARGIN_PX,
                     scale->top + fmin(14, scale->height / 2 + 4));
    sy_put_xml_text(frame->buffer, panel->label ? panel->label : "", LABEL_MAX);
    sy_buffer_printf(frame->buffer, "</text>\n");
}

static void put_panel(const struct frame *frame, uint32_t index) {
    const struct sy_plot_panel *panel = &frame->plot->panels[index];
    struct scale scale = scale_of(frame, index);
    put_scale(frame, panel, &scale);
    for (uint32_t j = 0; j < panel->line_count; j++) {
        put_band(frame, &scale, &panel->lines[j], j);
    }
    for (uint32_t j = 0; j < panel->line_count; j++) {
        put_line(frame, &scale, &panel->lines[j], j);
    }
}

static void put_x_axis(const struct frame *frame) {
    struct sy_time_unit unit = {"", 1};
    if (frame->plot->x_is_time) {
        unit = sy_time_unit_for(frame->x_high - frame->x_low);
    }
    double step = sy_nice_step((frame->x_high - frame->x_low) / unit.ns, 12);
    double bottom = frame->top + frame->plot->panel_count * frame->panel_px - frame->gap_px;
    for (double tick = ceil(frame->x_low / unit.ns / step - 1e-9) * step;
         tick <= frame->x_high / unit.ns + step * 1e-9; tick += step) {
        double x = x_px(frame, tick * unit.ns);
        sy_buffer_printf(frame->buffer,
                         "<path class=\"a\" d=\"M%.1f %gv5\"/><text class=\"m\" x=\"%.1f\" "
                         "y=\"%g\">%.6g</text>\n",
                         x, bottom, x, bottom + 18, fabs(tick) < step * 1e-9 ? 0 : tick);
    }
    sy_buffer_printf(frame->buffer, "<text class=\"m q\" x=\"%g\" y=\"%g\">",
                     frame->left + frame->width / 2, bottom + 34);
    sy_put_xml_text(frame->buffer, frame->plot->x_label ? frame->plot->x_label : "", 60);
    sy_buffer_printf(frame->buffer, "%s%s%s</text>\n", unit.name[0] ? " (" : "", unit.name,
                     unit.name[0] ? ")" : "");
}

/* Names of lines, where a panel has several: those of the first. */
static void put_legend(const struct frame *frame, double y) {
    const struct sy_plot_panel *panel = frame->plot->panels;
    double x = frame->left;
    for (uint32_t j = 0; j < panel->line_count; j++) {
        const char *name = panel->lines[j].name ? panel->lines[j].name : "";
        sy_buffer_printf(frame->buffer,
                         "<rect class=\"s%u\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"4\"/>"
                         "<text x=\"%.1f\" y=\"%.1f\">",
                         sy_colour_index(j), x, y - 6, x + 19, y);
        sy_put_xml_text(frame->buffer, name, LABEL_MAX);
        sy_buffer_printf(frame->buffer, "</text>\n");
        x += 40 + 6.9 * fmin((double)sy_text_characters(name), LABEL_MAX);
    }
}

void sy_plot_write_svg(const struct sy_plot *plot, struct sy_buffer *buffer) {
    struct frame frame = {.plot = plot, .buffer = buffer, .top = 66, .panel_px = pitch_for(plot)};
    size_t longest = 0;
    for (uint32_t i = 0; i < plot->panel_count; i++) {
        size_t length = plot->panels[i].label ? sy_text_characters(plot->panels[i].label) : 0;
        longest = length > longest ? length : longest;
    }
    bool legend = plot->panel_count > 0 && plot->panels[0].line_count > 1;
    frame.top += legend ? LEGEND_PX : 0;
    frame.gap_px = frame.panel_px >= 60 ? 14 : 4;
    frame.left = SY_PAGE_MARGIN_PX + 7.0 * fmin((double)longest, LABEL_MAX) + 48;
    frame.width = WIDTH_PX - frame.left - RIGHT_PX;
    measure_x(&frame);
    sy_put_picture_head(buffer,
                        &(struct sy_picture_head){
                            .width_px = WIDTH_PX,
                            .height_px = frame.top + plot->panel_count * frame.panel_px + AXIS_PX,
                            .title = plot->title,
                            .subtitle = plot->subtitle,
                            .rules = ".l{fill:none;stroke-width:1.6;stroke-linejoin:round;"
                                     "stroke-linecap:round}.f{fill-opacity:.25}",
                            .dark_rules = ".f{fill-opacity:.35}"});
    if (legend) {
        put_legend(&frame, frame.top - 12);
    }
    for (uint32_t i = 0; i < plot->panel_count; i++) {
        put_panel(&frame, i);
    }
    put_x_axis(&frame);
    sy_buffer_printf(buffer, "</svg>\n");
}
