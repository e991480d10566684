/* SPDX-License-Identifier: Apache-2.0
 *
 * Points in two scales, as one SVG file that needs nothing else: what can be had for what. Better
 * is further up and further left; the line joins the points that no other beats in both.
 *
 * Invariants: the same values give the same bytes; it reads in light and in dark; a point that is
 * not finite, or not above 0 on a scale of powers, is left out.
 */
#include "trace/writer.h"
#include <math.h>
#include <stdlib.h>

#define WIDTH_PX   960.0
#define HEIGHT_PX  600.0
#define LEFT_PX    84.0
#define RIGHT_PX   28.0
#define TOP_PX     96.0
#define BOTTOM_PX  56.0
#define LABEL_MAX  64u
#define LABEL_ROWS 64u
#define POWERS     6.0 /* a scale that spans more than this factor counts in powers */

struct axis {
    double low, high; /* shown; of the logarithm where it counts in powers */
    bool powers;
};

struct chart {
    const struct sy_scatter *scatter;
    struct sy_buffer *buffer;
    struct axis x, y;
    double label_top[LABEL_ROWS], label_left[LABEL_ROWS], label_right[LABEL_ROWS];
    uint32_t label_count;
};

static bool is_drawn(const struct sy_scatter_point *point) {
    return isfinite(point->x) && isfinite(point->y) && point->x > 0 && point->y > 0;
}

static struct axis axis_of(const struct sy_scatter *scatter, bool vertical) {
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < scatter->count; i++) {
        if (is_drawn(&scatter->points[i])) {
            double value = vertical ? scatter->points[i].y : scatter->points[i].x;
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    if (!(low <= high)) {
        return (struct axis){0, 1, false};
    }
    struct axis axis = {low, high, high > low * POWERS};
    if (axis.powers) {
        axis.low = log10(low);
        axis.high = log10(high);
    }
    double room = fmax((axis.high - axis.low) * 0.08, axis.powers ? 0.02 : fabs(axis.high) * 0.02);
    axis.low = axis.powers ? axis.low - room : fmax(0, axis.low - room);
    axis.high += room;
    return axis;
}

static double share_of(const struct axis *axis, double value) {
    return ((axis->powers ? log10(value) : value) - axis->low) / (axis->high - axis->low);
}

static double x_px(const struct chart *chart, double x) {
    return LEFT_PX + share_of(&chart->x, x) * (WIDTH_PX - LEFT_PX - RIGHT_PX);
}

static double y_px(const struct chart *chart, double y) {
    return HEIGHT_PX - BOTTOM_PX - share_of(&chart->y, y) * (HEIGHT_PX - TOP_PX - BOTTOM_PX);
}

/* --- scales -------------------------------------------------------------------------------------
 */
static void put_tick(const struct chart *chart, double value, bool vertical) {
    if (vertical) {
        double y = y_px(chart, value);
        sy_buffer_printf(chart->buffer, "<path class=\"g\" d=\"M%g %.1fH%g\"/>\n", LEFT_PX, y,
                         WIDTH_PX - RIGHT_PX);
        sy_buffer_printf(chart->buffer, "<text class=\"e q\" x=\"%g\" y=\"%.1f\">%.6g</text>\n",
                         LEFT_PX - 6, y + 4, value);
        return;
    }
    double x = x_px(chart, value);
    sy_buffer_printf(chart->buffer, "<path class=\"g\" d=\"M%.1f %gV%g\"/>\n", x, TOP_PX,
                     HEIGHT_PX - BOTTOM_PX);
    sy_buffer_printf(chart->buffer, "<text class=\"m q\" x=\"%.1f\" y=\"%g\">%.6g</text>\n", x,
                     HEIGHT_PX - BOTTOM_PX + 18, value);
}

static void put_ticks(const struct chart *chart, bool vertical) {
    const struct axis *axis = vertical ? &chart->y : &chart->x;
    if (!axis->powers) {
        double step = sy_nice_step(axis->high - axis->low, vertical ? 8 : 10);
        for (double tick = ceil(axis->low / step - 1e-9) * step; tick <= axis->high + step * 1e-9;
             tick += step) {
            put_tick(chart, fabs(tick) < step * 1e-9 ? 0 : tick, vertical);
        }
        return;
    }
    bool many = axis->high - axis->low > 3;
    for (double power = floor(axis->low); power <= axis->high; power++) {
        static const double digits[] = {1, 2, 5};
        for (size_t i = 0; i < (many ? 1 : SY_COUNT(digits)); i++) {
            double value = digits[i] * pow(10, power);
            if (log10(value) >= axis->low && log10(value) <= axis->high) {
                put_tick(chart, value, vertical);
            }
        }
    }
}

static void put_axes(const struct chart *chart) {
    put_ticks(chart, false);
    put_ticks(chart, true);
    sy_buffer_printf(chart->buffer, "<path class=\"a\" d=\"M%g %gV%gH%g\"/>\n", LEFT_PX, TOP_PX,
                     HEIGHT_PX - BOTTOM_PX, WIDTH_PX - RIGHT_PX);
    sy_buffer_printf(chart->buffer, "<text class=\"m\" x=\"%g\" y=\"%g\">",
                     (LEFT_PX + WIDTH_PX - RIGHT_PX) / 2, HEIGHT_PX - 14);
    sy_put_xml_text(chart->buffer, chart->scatter->x_label, LABEL_MAX);
    double middle = (TOP_PX + HEIGHT_PX - BOTTOM_PX) / 2;
    sy_buffer_printf(chart->buffer,
                     "</text>\n<text class=\"m\" transform=\"translate(22 %g) rotate(-90)\">",
                     middle);
    sy_put_xml_text(chart->buffer, chart->scatter->y_label, LABEL_MAX);
    sy_buffer_printf(chart->buffer, "</text>\n");
}

/* --- points -------------------------------------------------------------------------------------
 */
static int by_x(const void *a, const void *b) {
    const struct sy_scatter_point *p = *(const struct sy_scatter_point *const *)a;
    const struct sy_scatter_point *q = *(const struct sy_scatter_point *const *)b;
    int order = (p->x > q->x) - (p->x < q->x);
    return order ? order : (q->y > p->y) - (q->y < p->y);
}

/* Steps, since nothing is known to lie between two points. */
static void put_edge(const struct chart *chart) {
    const struct sy_scatter *scatter = chart->scatter;
    const struct sy_scatter_point **order = calloc(scatter->count + 1u, sizeof *order);
    uint32_t count = 0;
    for (uint32_t i = 0; order && i < scatter->count; i++) {
        if (is_drawn(&scatter->points[i])) {
            order[count++] = &scatter->points[i];
        }
    }
    if (!order) {
        chart->buffer->failed = true;
        return;
    }
    qsort(order, count, sizeof *order, by_x);
    double best = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        if (order[i]->y > best) {
            double x = x_px(chart, order[i]->x), y = y_px(chart, order[i]->y);
            if (isfinite(best)) {
                sy_buffer_printf(chart->buffer, "H%.1fV%.1f", x, y);
            } else {
                sy_buffer_printf(chart->buffer, "<path class=\"f\" d=\"M%.1f %.1f", x, y);
            }
            best = order[i]->y;
        }
    }
    sy_buffer_printf(chart->buffer, "%s", isfinite(best) ? "\"/>\n" : "");
    free(order);
}

static void put_point(const struct chart *chart, const struct sy_scatter_point *point) {
    double x = x_px(chart, point->x), y = y_px(chart, point->y);
    sy_buffer_printf(chart->buffer,
                     "<circle class=\"p s%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>",
                     sy_colour_index(point->group), x, y, point->marked ? "7" : "5");
    sy_put_xml_text(chart->buffer, point->title ? point->title : "", 400);
    sy_buffer_printf(chart->buffer, "</title></circle>\n");
    if (point->marked) {
        sy_buffer_printf(chart->buffer, "<circle class=\"r\" cx=\"%.1f\" cy=\"%.1f\" r=\"12\"/>\n",
                         x, y);
    }
}

/* --- labels -------------------------------------------------------------------------------------
 */
static bool is_free(const struct chart *chart, double left, double right, double top) {
    if (top < TOP_PX + 4 || top > HEIGHT_PX - BOTTOM_PX - 6 || left < LEFT_PX + 4 ||
        right > WIDTH_PX - 4) {
        return false;
    }
    for (uint32_t i = 0; i < chart->label_count; i++) {
        if (fabs(chart->label_top[i] - top) < 15 && left < chart->label_right[i] &&
            right > chart->label_left[i]) {
            return false;
        }
    }
    /* Other points shall stay visible. */
    for (uint32_t i = 0; i < chart->scatter->count; i++) {
        const struct sy_scatter_point *point = &chart->scatter->points[i];
        if (is_drawn(point)) {
            double x = x_px(chart, point->x), y = y_px(chart, point->y);
            if (x > left - 6 && x < right + 6 && y > top - 16 && y < top + 9) {
                return false;
            }
        }
    }
    return true;
}

/* The nearest place where nothing is, in rows below and above, to the right or left. */
static void put_label(struct chart *chart, const struct sy_scatter_point *point) {
    double x = x_px(chart, point->x), y = y_px(chart, point->y);
    double width = 6.9 * fmin((double)sy_text_characters(point->label), LABEL_MAX);
    if (chart->label_count == LABEL_ROWS) {
        return;
    }
    for (int step = 0; step < 60; step++) {
        double row = (step / 2 % 2 ? -1 : 1) * 16.0 * ((double)(step / 4) + 0.25);
        bool right = step % 2 == 0;
        double left = right ? x + 18 : x - 18 - width, top = y + row;
        if (!is_free(chart, left, left + width, top)) {
            continue;
        }
        sy_buffer_printf(chart->buffer,
                         "<path class=\"a\" d=\"M%.1f %.1fL%.1f %.1f\"/><text class=\"%s%s\" "
                         "x=\"%.1f\" y=\"%.1f\">",
                         x, y, right ? x + 15 : x - 15, top - 4, right ? "" : "e",
                         point->marked ? " b" : "", right ? left : left + width, top);
        sy_put_xml_text(chart->buffer, point->label, LABEL_MAX);
        sy_buffer_printf(chart->buffer, "</text>\n");
        chart->label_top[chart->label_count] = top;
        chart->label_left[chart->label_count] = left;
        chart->label_right[chart->label_count++] = left + width;
        return;
    }
}

static void put_labels(struct chart *chart) {
    for (int marked = 1; marked >= 0; marked--) {
        for (uint32_t i = 0; i < chart->scatter->count; i++) {
            const struct sy_scatter_point *point = &chart->scatter->points[i];
            if (is_drawn(point) && point->label && point->marked == (marked == 1)) {
                put_label(chart, point);
            }
        }
    }
}

/* --- the frame ----------------------------------------------------------------------------------
 */
static void put_legend(const struct chart *chart) {
    double x = LEFT_PX, y = 78;
    for (uint32_t g = 0; g < chart->scatter->group_count; g++) {
        const char *name = chart->scatter->groups[g];
        double width = 28 + 6.9 * fmin((double)sy_text_characters(name), LABEL_MAX);
        if (x + width > WIDTH_PX - RIGHT_PX) {
            break;
        }
        sy_buffer_printf(chart->buffer,
                         "<circle class=\"p s%u\" cx=\"%.1f\" cy=\"%g\" r=\"5\"/><text "
                         "x=\"%.1f\" y=\"%g\">",
                         sy_colour_index(g), x + 5, y - 4, x + 14, y);
        sy_put_xml_text(chart->buffer, name, LABEL_MAX);
        sy_buffer_printf(chart->buffer, "</text>\n");
        x += width;
    }
}

void sy_scatter_write_svg(const struct sy_scatter *scatter, struct sy_buffer *buffer) {
    struct chart chart = {.scatter = scatter,
                          .buffer = buffer,
                          .x = axis_of(scatter, false),
                          .y = axis_of(scatter, true)};
    sy_put_picture_head(
        buffer, &(struct sy_picture_head){.width_px = WIDTH_PX,
                                          .height_px = HEIGHT_PX,
                                          .title = scatter->title,
                                          .subtitle = scatter->subtitle,
                                          .rules = "text{font-size:12px}.f{stroke:#999;fill:none;"
                                                   "stroke-dasharray:4 3}.p{stroke:#fff}"
                                                   ".r{stroke:#222;stroke-width:2;fill:none}",
                                          .dark_rules = ".f{stroke:#787d86}.p{stroke:#16181d}"
                                                        ".r{stroke:#e6e6e6}"});
    put_legend(&chart);
    put_axes(&chart);
    put_edge(&chart);
    for (int marked = 0; marked < 2; marked++) { /* the marked ones on top */
        for (uint32_t i = 0; i < scatter->count; i++) {
            if (is_drawn(&scatter->points[i]) && scatter->points[i].marked == (marked == 1)) {
                put_point(&chart, &scatter->points[i]);
            }
        }
    }
    put_labels(&chart);
    sy_buffer_printf(buffer, "</svg>\n");
}
