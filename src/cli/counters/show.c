/* SPDX-License-Identifier: Apache-2.0
 *
 * show: shows a running session, as it was asked for.
 *
 * In: a session after each of its steps. Out: a screen, lines, JSON or Prometheus' text; a plot at
 * the end. Invariants: only the screen depends on the real clock, so that a replay gives the same
 * bytes; a reader that has gone ends the show without complaint.
 */
#include "cli/counters/show.h"

#include "cli/clock.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUCKET_NS 1e9 /* of the sparkline, unless outputs are further apart */
#define FRAME_NS  1e8 /* the screen is redrawn at most so often */

/* What is being added up for the next column of a sparkline. */
struct bucket {
    double sum;
    uint32_t count;
};

struct sy_show {
    const struct sy_counters_session *session;
    struct sy_show_options options;
    struct sy_counters_view view;
    struct sy_buffer sources;
    struct sy_counters_plot *plot;
    struct sy_screen *screen;
    struct sy_serve *serve;
    struct sy_buffer page; /* that is served */
    struct sy_draw_style style;
    float *history;
    struct bucket *buckets; /* per item */
    double first_ns, next_ns, bucket_end_ns;
    double looked_ns; /* at the terminal, by the real clock */
    bool started, shown;
    bool stale; /* stepped since it was last put out */
    bool due;   /* the screen waits for its next frame */
    int code;   /* of writing, negative errno */
};

enum sy_show_form sy_show_form_for(bool json, bool prometheus, const char *output) {
    if (json || prometheus) {
        return json ? SY_SHOW_JSON : SY_SHOW_PROMETHEUS;
    }
    return isatty(STDOUT_FILENO) && !output ? SY_SHOW_SCREEN : SY_SHOW_LINES;
}

static void refresh(struct sy_show *show) {
    struct sy_counters_view *view = &show->view;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    view->items = sy_belief_utilisations(show->session->senses.belief, &view->item_count);
    view->elapsed_ns = show->session->senses.now_ns - show->first_ns;
    view->unix_s =
        show->session->senses.replay ? NAN : (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool describe(struct sy_show *show) {
    const struct sy_counters_session *session = show->session;
    sy_counters_source_text(session, &show->sources);
    show->view =
        (struct sy_counters_view){.machine = session->machine,
                                  .gaps = session->gaps,
                                  .gap_count = session->gap_count,
                                  .history = show->history,
                                  .sources = show->sources.failed ? "" : show->sources.text,
                                  .arch = session->arch,
                                  .title = show->options.title,
                                  .counter_count = session->senses.counter_count,
                                  .counters = session->senses.counters,
                                  .last = session->last,
                                  .filter_count = sy_belief_filter_count(session->senses.belief),
                                  .all = show->options.all};
    for (uint32_t i = 0; i < session->senses.pmu_count; i++) {
        show->view.slot_count += session->senses.pmus[i].slots;
    }
    return sy_counters_sort(session->senses.counters, session->senses.counter_count,
                            session->watched != NULL, session->arena, &show->view);
}

int sy_show_create(const struct sy_counters_session *session, const struct sy_show_options *options,
                   struct sy_show **ret_show) {
    struct sy_show *show = sy_need(calloc(1, sizeof *show));
    uint32_t count = 0;
    sy_belief_utilisations(session->senses.belief, &count);
    show->session = session;
    show->options = *options;
    show->style = sy_draw_style_here();
    show->history = malloc((count + 1u) * SY_SPARK_COUNT * sizeof *show->history);
    show->buckets = calloc(count + 1u, sizeof *show->buckets);
    show->plot = options->plot ? sy_counters_plot_create(count) : NULL;
    if (!show->history || !show->buckets || (options->plot && !show->plot) || !describe(show)) {
        sy_show_destroy(show);
        return sy_no_memory();
    }
    int r = options->listen ? sy_serve_open(options->listen, &show->serve) : SY_EXIT_OK;
    if (r != SY_EXIT_OK) {
        sy_show_destroy(show);
        return r;
    }
    if (show->serve) {
        sy_message_note(options->quiet, "serving http://%s/metrics", sy_serve_address(show->serve));
    }
    show->screen = options->form == SY_SHOW_SCREEN && !options->once ? sy_screen_open() : NULL;
    *ret_show = show;
    return SY_EXIT_OK;
}

void sy_show_destroy(struct sy_show *show) {
    if (show) {
        sy_screen_close(show->screen);
        sy_serve_close(show->serve);
        sy_buffer_finish(&show->page);
        sy_counters_plot_destroy(show->plot);
        sy_buffer_finish(&show->sources);
        free(show->history);
        free(show->buckets);
        free(show);
    }
}

/* --- the last minute ---------------------------------------------------------------------------
 */
static void end_bucket(struct sy_show *show) {
    uint32_t at = show->view.history_count;
    if (at == SY_SPARK_COUNT) {
        at--;
        for (uint32_t i = 0; i < show->view.item_count; i++) {
            float *values = show->history + (size_t)i * SY_SPARK_COUNT;
            memmove(values, values + 1, at * sizeof *values);
        }
    }
    for (uint32_t i = 0; i < show->view.item_count; i++) {
        struct bucket *bucket = &show->buckets[i];
        double mean = bucket->count ? bucket->sum / bucket->count : NAN;
        show->history[(size_t)i * SY_SPARK_COUNT + at] = (float)mean;
        *bucket = (struct bucket){0};
    }
    show->view.history_count = at + 1;
}

static void remember(struct sy_show *show) {
    for (uint32_t i = 0; i < show->view.item_count; i++) {
        const struct sy_utilisation *item = &show->view.items[i];
        show->buckets[i].sum += item->measured ? item->mean : 0;
        show->buckets[i].count += item->measured;
    }
    double length_ns = fmax(BUCKET_NS, show->options.interval_ns);
    double late = floor((show->session->senses.now_ns - show->bucket_end_ns) / length_ns);
    if (late >= 0) {
        end_bucket(show);
        show->bucket_end_ns += (late + 1) * length_ns;
    }
}

/* --- output ------------------------------------------------------------------------------------
 */
static void write_form(struct sy_show *show, struct sy_buffer *buffer) {
    bool first = !show->shown || show->options.output;
    switch (show->options.form) {
    case SY_SHOW_SCREEN:
        sy_counters_draw(&show->view, sy_screen_width(), UINT32_MAX, show->style, buffer);
        break;
    case SY_SHOW_LINES:
        if (first) {
            sy_counters_write_lines_head(buffer);
        }
        sy_counters_write_lines(&show->view, buffer);
        break;
    case SY_SHOW_JSON:
        sy_counters_write_json(&show->view, show->session, first, buffer);
        break;
    case SY_SHOW_PROMETHEUS:
        sy_counters_write_prometheus(&show->view, buffer);
        break;
    }
}

/* One output of the stream. */
static void put(struct sy_show *show) {
    struct sy_buffer buffer = {0};
    struct sy_error error = {0};
    write_form(show, &buffer);
    if (buffer.failed) {
        show->code = -ENOMEM;
        sy_message_fail("out of memory");
    } else if (show->serve) {
        struct sy_buffer old = show->page;
        show->page = buffer;
        buffer = old;
    } else {
        const char *path = show->options.output ? show->options.output : "-";
        show->code = sy_write_file(path, buffer.text, buffer.length, &error);
        if (show->code && show->code != -EPIPE) {
            sy_message_error(&error);
        }
    }
    sy_buffer_finish(&buffer);
    show->shown = true;
    show->stale = false;
}

static void draw(struct sy_show *show) {
    uint32_t columns, rows;
    bool resized = sy_screen_size(show->screen, &columns, &rows);
    if (!resized && !show->due) {
        return;
    }
    struct sy_buffer lines = {0};
    sy_counters_draw(&show->view, columns, rows, show->style, &lines);
    show->code = sy_screen_show(&lines);
    sy_buffer_finish(&lines);
    show->due = false;
}

/* Ten times a second at most: draws what is new, looks at keys and the window's size. */
static bool idle(struct sy_show *show) {
    double now_ns = show->screen ? sy_clock_ns() : 0;
    if (!show->screen || now_ns - show->looked_ns < FRAME_NS) {
        return show->code == 0;
    }
    show->looked_ns = now_ns;
    if (show->started) {
        draw(show);
    }
    return show->code == 0 && !sy_screen_quit(show->screen);
}

bool sy_show_step(struct sy_show *show) {
    double now_ns = show->session->senses.now_ns;
    if (!show->started) {
        show->started = true;
        show->first_ns = now_ns;
        show->next_ns = now_ns + show->options.interval_ns;
        show->bucket_end_ns = now_ns + fmax(BUCKET_NS, show->options.interval_ns);
    }
    refresh(show);
    remember(show);
    show->stale = true;
    if (now_ns >= show->next_ns) {
        show->due = true;
        if (!show->screen && !show->options.once) {
            put(show);
        }
        if (show->plot) {
            sy_counters_plot_add(show->plot, &show->view);
        }
        double late = floor((now_ns - show->next_ns) / show->options.interval_ns);
        show->next_ns += (late + 1) * show->options.interval_ns;
    }
    return idle(show);
}

bool sy_show_wait(struct sy_show *show, double then_ns) {
    bool more = !sy_interrupt_seen();
    for (double now_ns = sy_clock_ns(); more && now_ns < then_ns; now_ns = sy_clock_ns()) {
        if (show->serve) {
            sy_serve_wait(show->serve, &show->page, then_ns);
        } else {
            sy_clock_sleep_until(show->screen ? fmin(then_ns, now_ns + FRAME_NS) : then_ns);
        }
        more = !sy_interrupt_seen() && idle(show);
    }
    return more;
}

static int write_plot(const struct sy_show *show) {
    struct sy_buffer buffer = {0};
    sy_counters_plot_write(show->plot, &show->view, &buffer);
    int r = sy_output_file(show->options.plot, &buffer);
    sy_buffer_finish(&buffer);
    return r;
}

int sy_show_finish(struct sy_show *show) {
    bool screen = show->screen;
    sy_screen_close(show->screen);
    show->screen = NULL;
    bool to_come = show->stale && (show->options.once || screen || !show->shown);
    if (show->code == 0 && to_come) {
        put(show); /* what the screen showed last stays behind */
    }
    int r = show->code && show->code != -EPIPE ? SY_EXIT_FAILED : SY_EXIT_OK;
    if (show->plot && show->started) {
        int plotted = write_plot(show);
        r = r == SY_EXIT_OK ? plotted : r;
    }
    sy_show_destroy(show);
    return r;
}
