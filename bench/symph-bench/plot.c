/* SPDX-License-Identifier: Apache-2.0
 *
 * plot: the pictures of the bench counters.
 *
 * In: tables that were computed, or one program to be run once more. Out: SVG files beside the path
 * that was asked for: errors.svg -> errors.example.svg. Invariant: the event of the example is the
 * one whose error by time-scaling is the median, not the one that looks best.
 */
#include "symph-bench/bench.h"
#include "symph-bench/counters.h"

#include "cli/cli.h"
#include "trace/trace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE_WINDOWS 160

int sy_bench_plot(const char *path, const char *which, const struct sy_plot *plot) {
    struct sy_buffer name = {0}, svg = {0};
    sy_output_path(path, which, &name);
    sy_plot_write_svg(plot, &svg);
    int r = SY_EXIT_FAILED;
    if (name.failed || svg.failed) {
        sy_message_fail("out of memory");
    } else {
        r = sy_output_file(name.text, &svg);
    }
    sy_buffer_finish(&name);
    sy_buffer_finish(&svg);
    return r;
}

/* --- an example ---------------------------------------------------------------------------------
 */
struct example {
    struct sy_mux mux;
    struct sy_mux_guess scaling, unseen, seen;
    double *memory;
};

static int run_filter(struct example *example, uint32_t series, enum sy_mux_method method,
                      struct sy_mux_guess *guess, struct sy_error *error) {
    struct sy_mux_config config = {
        .method = method, .noise = example->mux.noise, .relations = UINT32_MAX};
    struct sy_model *model = NULL;
    int code = sy_mux_model(example->mux.traces, series, &config, 1, &model, error);
    code = code ? code : sy_guess_filter(&example->mux, &config, model, guess);
    sy_model_destroy(model);
    return code;
}

static int run_example(struct example *example, uint32_t series, struct sy_error *error) {
    size_t cells = (size_t)example->mux.series->windows * example->mux.traces->event_count;
    double *at = example->memory = sy_need(calloc(cells, 10 * sizeof *example->memory));
    sy_mux_init(&example->mux);
    example->scaling = (struct sy_mux_guess){.rates = at, .readings = at + cells};
    at += 2 * cells;
    example->unseen = (struct sy_mux_guess){at, at + cells, at + 2 * cells, at + 3 * cells};
    at += 4 * cells;
    example->seen = (struct sy_mux_guess){at, at + cells, at + 2 * cells, at + 3 * cells};
    sy_guess_time_scaling(&example->mux, &example->scaling);
    int code = run_filter(example, series, SY_MUX_UNSEEN, &example->unseen, error);
    return code ? code : run_filter(example, series, SY_MUX_SEEN, &example->seen, error);
}

static double error_of(const struct example *example, uint32_t event) {
    uint32_t n = example->mux.traces->event_count, windows = example->mux.series->windows;
    double wrong = 0, all = 1;
    for (uint32_t t = windows / 2; t < windows; t++) {
        double truth = example->mux.series->rates[(size_t)t * n + event];
        wrong += fabs(example->scaling.rates[(size_t)t * n + event] - truth);
        all += truth;
    }
    return wrong / all;
}

/* The event with the median error among those that take slots. */
static uint32_t median_event(const struct example *example) {
    const struct sy_mux *mux = &example->mux;
    for (uint32_t k = 0; k < mux->order_count; k++) {
        uint32_t below = 0, same = 0;
        for (uint32_t l = 0; l < mux->order_count; l++) {
            double difference = error_of(example, mux->order[l]) - error_of(example, mux->order[k]);
            below += difference < 0;
            same += difference == 0;
        }
        if (below <= mux->order_count / 2 && mux->order_count / 2 < below + same) {
            return mux->order[k];
        }
    }
    return mux->order[0];
}

/* One column of a table by windows. */
static void column(const double *values, uint32_t n, uint32_t event, uint32_t from, uint32_t count,
                   double *ret_column) {
    for (uint32_t t = 0; t < count; t++) {
        ret_column[t] = values[(size_t)(from + t) * n + event];
    }
}

enum { GUESS, TRUTH, READINGS, LOW, HIGH, COLUMNS };
#define PANELS 3

static int draw_example(const struct example *example, const char *path, uint32_t event) {
    static double x[EXAMPLE_WINDOWS], c[PANELS][COLUMNS][EXAMPLE_WINDOWS];
    static double dots_x[2 * EXAMPLE_WINDOWS], dots[PANELS][2 * EXAMPLE_WINDOWS];
    static const char *const labels[PANELS] = {"time-scaling", "ours, unseen", "ours, seen"};
    const struct sy_mux_guess *const guesses[PANELS] = {&example->scaling, &example->unseen,
                                                        &example->seen};
    struct sy_plot_line lines[PANELS][3];
    struct sy_plot_panel panels[PANELS];
    uint32_t n = example->mux.traces->event_count, windows = example->mux.series->windows;
    uint32_t from = windows / 2, count = windows - from;
    count = count < EXAMPLE_WINDOWS ? count : EXAMPLE_WINDOWS;
    for (uint32_t t = 0; t < count; t++) {
        x[t] = dots_x[2 * t] = dots_x[2 * t + 1] = from + t;
    }
    for (uint32_t p = 0; p < PANELS; p++) {
        const double *const tables[COLUMNS] = {guesses[p]->rates, example->mux.series->rates,
                                               guesses[p]->readings, guesses[p]->low,
                                               guesses[p]->high};
        for (uint32_t k = 0; k < COLUMNS && tables[k]; k++) {
            column(tables[k], n, event, from, count, c[p][k]);
        }
        for (uint32_t t = 0; t < count; t++) {
            dots[p][2 * t] = c[p][READINGS][t];
            dots[p][2 * t + 1] = NAN; /* so that no line joins them */
        }
        bool band = guesses[p]->low != NULL;
        lines[p][0] = (struct sy_plot_line){
            "guess, 95 % band",       x,    c[p][GUESS], band ? c[p][LOW] : NULL,
            band ? c[p][HIGH] : NULL, count};
        lines[p][1] = (struct sy_plot_line){"truth", x, c[p][TRUTH], NULL, NULL, count};
        lines[p][2] = (struct sy_plot_line){"readings", dots_x, dots[p], NULL, NULL, 2 * count};
        panels[p] = (struct sy_plot_panel){
            .label = labels[p], .low = NAN, .high = NAN, .lines = lines[p], .line_count = 3};
    }
    char title[160], subtitle[160];
    snprintf(title, sizeof title, "%s of %s, %u events on %u counters",
             example->mux.traces->events[event], example->mux.series->name,
             example->mux.order_count, example->mux.slots);
    snprintf(subtitle, sizeof subtitle,
             "counts per window, seed %llu; the event with the median error of time-scaling",
             (unsigned long long)example->mux.seed);
    struct sy_plot plot = {.title = title,
                           .subtitle = subtitle,
                           .x_label = "window",
                           .panels = panels,
                           .panel_count = PANELS};
    return sy_bench_plot(path, "example", &plot);
}

int sy_bench_plot_example(const char *path, const struct sy_traces *traces, uint32_t series,
                          uint32_t slots, double noise) {
    struct sy_error error = {0};
    struct example example = {.mux = {.traces = traces,
                                      .series = &traces->series[series],
                                      .slots = slots,
                                      .noise = noise,
                                      .seed = 1}};
    int code = run_example(&example, series, &error);
    int r = SY_EXIT_OK;
    if (code) {
        sy_message_error(&error);
        r = sy_message_exit(code);
    } else {
        r = draw_example(&example, path, median_event(&example));
    }
    sy_mux_finish(&example.mux);
    free(example.memory);
    return r;
}
