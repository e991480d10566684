/* SPDX-License-Identifier: Apache-2.0
 *
 * plot: utilisation over time with its band, a panel for each resource.
 *
 * In: views, one after another. Out: an SVG file. Invariant: memory does not grow with time; when
 * full, neighbours become one, and the band of both is kept.
 */
#include "cli/counters/show.h"

#include "trace/trace.h"
#include <math.h>
#include <stdlib.h>

#define POINTS_MAX   1024u
#define POINTS_MIN   128u
#define POINTS_TOTAL 120000u /* of all resources: the file stays below about 4 MB */

struct point {
    double mean, low, high;
};

struct sy_counters_plot {
    uint32_t item_count, capacity, count;
    uint32_t merge, merged; /* views per point; views in the last one */
    double *x;
    struct point *points; /* [item * capacity + i] */
};

struct sy_counters_plot *sy_counters_plot_create(uint32_t item_count) {
    struct sy_counters_plot *plot = calloc(1, sizeof *plot);
    if (!plot) {
        return NULL;
    }
    uint32_t room = POINTS_TOTAL / (item_count ? item_count : 1);
    room = room < POINTS_MIN ? POINTS_MIN : room > POINTS_MAX ? POINTS_MAX : room;
    plot->item_count = item_count;
    plot->capacity = room - room % 2; /* halves are whole */
    plot->merge = 1;
    plot->x = calloc(plot->capacity, sizeof *plot->x);
    plot->points = calloc((size_t)plot->capacity * (item_count + 1u), sizeof *plot->points);
    if (!plot->x || !plot->points) {
        sy_counters_plot_destroy(plot);
        return NULL;
    }
    return plot;
}

void sy_counters_plot_destroy(struct sy_counters_plot *plot) {
    if (plot) {
        free(plot->x);
        free(plot->points);
        free(plot);
    }
}

/* b counts weight times as much as a; what is missing in one is taken from the other. */
static struct point join(struct point a, struct point b, double weight) {
    if (!isfinite(a.mean) || !isfinite(b.mean)) {
        return isfinite(a.mean) ? a : b;
    }
    return (struct point){(a.mean + weight * b.mean) / (1 + weight), fmin(a.low, b.low),
                          fmax(a.high, b.high)};
}

static void halve(struct sy_counters_plot *plot) {
    uint32_t half = plot->count / 2;
    for (uint32_t k = 0; k < half; k++) {
        plot->x[k] = plot->x[2 * k + 1];
    }
    for (uint32_t i = 0; i < plot->item_count; i++) {
        struct point *points = plot->points + (size_t)i * plot->capacity;
        for (uint32_t k = 0; k < half; k++) {
            points[k] = join(points[2 * k], points[2 * k + 1], 1);
        }
    }
    plot->count = half;
    plot->merge *= 2;
}

static struct point point_of(const struct sy_utilisation *item) {
    return item->measured ? (struct point){item->mean, item->low, item->high}
                          : (struct point){NAN, NAN, NAN};
}

void sy_counters_plot_add(struct sy_counters_plot *plot, const struct sy_counters_view *view) {
    bool begins = plot->merged == 0;
    if (begins && plot->count == plot->capacity) {
        halve(plot);
    }
    uint32_t at = begins ? plot->count++ : plot->count - 1;
    plot->x[at] = view->elapsed_ns;
    for (uint32_t i = 0; i < plot->item_count && i < view->item_count; i++) {
        struct point *point = &plot->points[(size_t)i * plot->capacity + at];
        struct point now = point_of(&view->items[i]);
        *point = begins ? now : join(*point, now, 1.0 / plot->merged);
    }
    plot->merged = (plot->merged + 1) % plot->merge;
}

static bool ever_measured(const struct point *points, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        if (isfinite(points[k].mean)) {
            return true;
        }
    }
    return false;
}

/* What the picture is made of. */
struct picture {
    struct sy_plot_panel *panels;
    struct sy_plot_line *lines;
    double *values; /* three rows of points for each panel */
    uint32_t count;
};

static void add_panel(struct picture *picture, const struct sy_counters_plot *plot, uint32_t item,
                      const char *name) {
    const struct point *points = plot->points + (size_t)item * plot->capacity;
    if (!ever_measured(points, plot->count)) {
        return;
    }
    double *mean = picture->values + (size_t)3 * plot->count * picture->count;
    double *low = mean + plot->count, *high = low + plot->count;
    for (uint32_t k = 0; k < plot->count; k++) {
        mean[k] = points[k].mean;
        low[k] = points[k].low;
        high[k] = points[k].high;
    }
    struct sy_plot_line *line = &picture->lines[picture->count];
    *line = (struct sy_plot_line){name, plot->x, mean, low, high, plot->count};
    picture->panels[picture->count++] = (struct sy_plot_panel){name, "%", 100, 0, 1, line, 1};
}

static void write_picture(const struct picture *picture, const struct sy_counters_view *view,
                          struct sy_buffer *buffer) {
    struct sy_buffer subtitle = {0};
    sy_buffer_printf(&subtitle, "%s, %s; line: mean, shaded: 95 %% interval%s",
                     view->machine ? view->machine->name : "machine", view->title,
                     picture->count ? "" : "; nothing was measured");
    sy_buffer_append(&subtitle, "", 1);
    const struct sy_plot plot = {.title = "Utilisation",
                                 .subtitle = subtitle.failed ? "" : subtitle.text,
                                 .x_label = "time",
                                 .x_is_time = true,
                                 .panels = picture->panels,
                                 .panel_count = picture->count};
    sy_plot_write_svg(&plot, buffer);
    sy_buffer_finish(&subtitle);
}

void sy_counters_plot_write(const struct sy_counters_plot *plot,
                            const struct sy_counters_view *view, struct sy_buffer *buffer) {
    size_t panels = plot->item_count + 1u, points = (size_t)plot->count + 1u;
    struct picture picture = {.panels = calloc(panels, sizeof *picture.panels),
                              .lines = calloc(panels, sizeof *picture.lines),
                              .values = calloc(3 * panels * points, sizeof *picture.values)};
    if (!picture.panels || !picture.lines || !picture.values) {
        buffer->failed = true;
    } else {
        for (uint32_t i = 0; i < plot->item_count && i < view->item_count; i++) {
            add_panel(&picture, plot, i, view->items[i].name);
        }
        write_picture(&picture, view, buffer);
    }
    free(picture.panels);
    free(picture.lines);
    free(picture.values);
}
