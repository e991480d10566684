/* SPDX-License-Identifier: Apache-2.0
 *
 * progress: see progress.h.
 */
#include "cli/progress.h"

#include "cli/clock.h"
#include "cli/units.h"
#include <stdio.h>
#include <unistd.h>

#define BAR_WIDTH     30
#define REDRAW_NS     1e8
#define FIRST_DRAW_NS 3e8 /* a short command shows nothing */

void sy_progress_init(struct sy_progress *progress, const char *what, uint64_t total, bool quiet) {
    *progress = (struct sy_progress){
        .what = what, .total = total, .started_ns = sy_clock_ns(), .shown = false};
    pthread_mutex_init(&progress->lock, NULL);
    progress->drawn_ns =
        quiet || !isatty(STDERR_FILENO) ? -1 : progress->started_ns + FIRST_DRAW_NS - REDRAW_NS;
}

static void draw(struct sy_progress *progress, double now_ns) {
    double share = progress->total ? (double)progress->done / (double)progress->total : 1;
    int filled = (int)(share * BAR_WIDTH);
    double left_ns = (now_ns - progress->started_ns) * (double)(progress->total - progress->done) /
                     (double)progress->done;
    fprintf(stderr, "\r\033[K%s [%.*s%*s] %3.0f %%  %s left", progress->what, filled,
            "##############################", BAR_WIDTH - filled, "", share * 100,
            progress->done > 0 ? sy_units_time(left_ns).text : "");
    fflush(stderr);
    progress->shown = true;
}

void sy_progress_add(struct sy_progress *progress, uint64_t done) {
    pthread_mutex_lock(&progress->lock);
    progress->done += done;
    if (progress->drawn_ns >= 0) {
        double now_ns = sy_clock_ns();
        if (now_ns - progress->drawn_ns >= REDRAW_NS) {
            draw(progress, now_ns);
            progress->drawn_ns = now_ns;
        }
    }
    pthread_mutex_unlock(&progress->lock);
}

void sy_progress_hide(struct sy_progress *progress) {
    pthread_mutex_lock(&progress->lock);
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->drawn_ns = -1;
    pthread_mutex_unlock(&progress->lock);
}

void sy_progress_finish(struct sy_progress *progress) {
    sy_progress_hide(progress);
    pthread_mutex_destroy(&progress->lock);
}
