/* SPDX-License-Identifier: Apache-2.0
 *
 * progress: see progress.h.
 */
#include "cli/progress.h"

#include "cli/cli.h"
#include "cli/units.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH     30
#define REDRAW_NS     1e8
#define FIRST_DRAW_NS 3e8 /* a short command shows nothing */
#define LOOK_NS       2e7 /* between two looks for Ctrl-C */
#define PATIENCE_NS   1e8 /* after it, for threads to end by themselves */

static double read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double sy_clock_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

double sy_cpu_clock_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

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

uint32_t sy_threads_count(uint32_t asked) {
    cpu_set_t set;
    if (asked) {
        return asked;
    }
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

void sy_threads_run(uint32_t count, void *(*work)(void *data), void *data) {
    pthread_t *threads = calloc(count, sizeof *threads);
    uint32_t started = 0;
    while (threads && started + 1 < count &&
           pthread_create(&threads[started], NULL, work, data) == 0) {
        started++;
    }
    work(data);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    free(threads);
}

struct crew {
    pthread_mutex_t lock; /* guards running */
    pthread_cond_t ended;
    uint32_t running;
    void *(*work)(void *data);
    void *data;
};

static void *crew_work(void *context) {
    struct crew *crew = context;
    crew->work(crew->data);
    pthread_mutex_lock(&crew->lock);
    crew->running--;
    pthread_cond_signal(&crew->ended);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static struct crew *crew_create(void *(*work)(void *data), void *data) {
    struct crew *crew = calloc(1, sizeof *crew);
    pthread_condattr_t clock;
    if (!crew || pthread_condattr_init(&clock)) {
        free(crew);
        return NULL;
    }
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->ended, &clock);
    pthread_condattr_destroy(&clock);
    crew->work = work;
    crew->data = data;
    return crew;
}

/* Until all have ended, or Ctrl-C was seen some time ago; how many still run. */
static uint32_t crew_wait(struct crew *crew) {
    double give_up_ns = INFINITY;
    pthread_mutex_lock(&crew->lock);
    while (crew->running && sy_clock_ns() < give_up_ns) {
        double next_ns = sy_clock_ns() + LOOK_NS;
        struct timespec next = {.tv_sec = (time_t)(next_ns / 1e9)};
        next.tv_nsec = (long)(next_ns - (double)next.tv_sec * 1e9);
        pthread_cond_timedwait(&crew->ended, &crew->lock, &next);
        if (isinf(give_up_ns) && sy_interrupt_seen()) {
            give_up_ns = sy_clock_ns() + PATIENCE_NS;
        }
    }
    uint32_t running = crew->running;
    pthread_mutex_unlock(&crew->lock);
    return running;
}

bool sy_threads_try(uint32_t count, void *(*work)(void *data), void *data) {
    pthread_t *threads = calloc(count, sizeof *threads);
    struct crew *crew = threads ? crew_create(work, data) : NULL;
    uint32_t started = 0;
    if (crew) {
        crew->running = count;
        while (started < count && pthread_create(&threads[started], NULL, crew_work, crew) == 0) {
            started++;
        }
        pthread_mutex_lock(&crew->lock);
        crew->running -= count - started;
        pthread_mutex_unlock(&crew->lock);
    }
    bool ended = true;
    if (!started) {
        work(data);
    } else {
        ended = crew_wait(crew) == 0;
    }
    for (uint32_t i = 0; ended && i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    if (ended && crew) {
        pthread_cond_destroy(&crew->ended);
        pthread_mutex_destroy(&crew->lock);
        free(crew);
    }
    free(threads);
    return ended;
}

void sy_leave(int code) {
    fflush(stdout);
    _exit(code);
}
