/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches the machine for policies that want to know how loaded it is.
 *
 * In: the counters that speak of the machine's shared resources, and what StarPU has copied. Out:
 * what belief/senses makes of them, as it does in the simulator, in shared->readings, while there
 * is work. Runs on a thread of its own, and only where the policy asks for readings and something
 * can be read: nobody else pays for it. What cannot be read leaves the resource unseen
 * (at_ns < 0), and the policy goes on without. Not under SimGrid: there is no machine to watch.
 */
#include "belief/watch.h"
#include "engine/starpu/shared.h"
#include "schedulers/schedulers.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define IDLE_NS  200000000L /* while there is nothing to place */
#define WORTH_NS 30e6 /* opening counters interrupts every core: not for less work than this */
#define SOURCES  "perf,resctrl,nvml,fpga"

struct watcher {
    struct helper helper;
    starpu_pthread_cond_t wake;
    bool stop, opened, rests; /* under the lock; it rests while there is no work */
    struct sy_listing *listing;
    struct sy_watch eyes; /* its senses under the lock */
    double offset_ns;     /* of the policies' clock against the counters' */
    double *copied;       /* per bus: bytes so far; NULL: StarPU's account of them is its user's */
};

static double clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* With the lock held. */
static bool has_work(void) {
    for (unsigned c = 0; c < STARPU_NMAX_SCHED_CTXS; c++) {
        if (sy_shared.contexts[c].used && sy_shared.contexts[c].count) {
            return true;
        }
    }
    return false;
}

/* What was copied since the last time is our own traffic on the way; before the first, it went on
 * for nobody knows how long. */
static void count_copies(struct watcher *w) {
    const struct sy_machine *m = sy_shared.machine;
    for (int bus = 0; w->copied && bus < starpu_bus_get_count(); bus++) {
        int from = starpu_bus_get_src(bus), to = starpu_bus_get_dst(bus);
        if (from < 0 || to < 0 || (uint32_t)from >= m->memory_count ||
            (uint32_t)to >= m->memory_count) {
            continue;
        }
        double bytes = sy_bus_bytes(bus) - w->copied[bus];
        w->copied[bus] += bytes;
        const struct sy_route *route =
            &m->routes[(size_t)from * m->memory_count + (size_t)(uint32_t)to];
        for (uint32_t i = 0; w->opened && i < route->resource_count && bytes > 0; i++) {
            sy_senses_moved(w->eyes.senses, route->resources[i], bytes);
        }
    }
}

/* With the lock held. */
static void publish(struct watcher *w, double read_ns) {
    struct shared *s = &sy_shared;
    count_copies(w);
    sy_watch_think(&w->eyes, read_ns - w->offset_ns);
    sy_readings_of(w->eyes.senses, s->machine->resource_count, s->readings);
    for (unsigned c = 0; c < STARPU_NMAX_SCHED_CTXS; c++) {
        struct context *context = &s->contexts[c];
        if (context->used && context->live && context->count) {
            atomic_fetch_add(&context->version, 1);
        }
    }
}

/* With the lock held, which is given back while the machine is asked. */
static void look(struct watcher *w) {
    shared_unlock();
    double now_ns = clock_ns();
    int code = sy_watch_read(&w->eyes, now_ns);
    shared_lock();
    if (code) {
        return; /* what cannot be read now may be later */
    }
    publish(w, now_ns);
    shared_unlock();
    sy_watch_select(&w->eyes);
    shared_lock();
}

/* False: there is nothing to watch. */
static bool open_eyes(struct watcher *w) {
    if (sy_listing_open(NULL, NULL, &w->listing, NULL)) {
        w->listing = NULL; /* then perf counts the kernel's generic events */
    }
    if (!getenv("STARPU_BUS_STATS") && !getenv("STARPU_PROFILING")) {
        w->copied = calloc((size_t)starpu_bus_get_count() + 1, sizeof *w->copied);
    }
    struct sy_sources_options options = {.only = SOURCES, .listing = w->listing};
    if (sy_watch_open(sy_shared.machine, &options, &w->eyes, NULL)) {
        return false;
    }
    sy_watch_select(&w->eyes);
    return true;
}

static void *watch(void *argument) {
    struct watcher *w = argument;
    struct timespec due;
    shared_step_aside(&(bool){false}, true);
    bool sees = open_eyes(w);
    w->offset_ns = clock_ns() - shared_now_ns();
    clock_gettime(CLOCK_REALTIME, &due);
    shared_lock();
    if (sees) {
        count_copies(w);
    }
    w->opened = true;
    while (!w->stop && sees) {
        bool rests = w->rests = !has_work();
        due.tv_nsec += rests ? IDLE_NS : (long)w->eyes.interval_ns;
        due.tv_sec += due.tv_nsec / 1000000000L;
        due.tv_nsec %= 1000000000L;
        shared_wait(&w->wake, &due);
        if (rests) { /* it may have been woken before, and is no longer marked as resting */
            clock_gettime(CLOCK_REALTIME, &due);
        }
        if (!w->stop) {
            look(w);
        }
    }
    shared_unlock();
    sy_watch_close(&w->eyes);
    sy_listing_destroy(w->listing);
    free(w->copied);
    return NULL;
}

int watcher_prepare(void) {
    struct shared *s = &sy_shared;
    uint32_t resources = s->machine->resource_count;
    s->readings = calloc(resources + 1u, sizeof *s->readings);
    if (!s->readings) {
        return -1;
    }
    for (uint32_t r = 0; r < resources; r++) {
        s->readings[r] =
            (struct sy_reading){.at_ns = -1, .sd_bytes_per_s = NAN, .others_bytes_per_s = NAN};
    }
#ifndef STARPU_SIMGRID
    if (sy_live_wants_readings(s->policy_name)) {
        s->watcher = calloc(1, sizeof *s->watcher);
        if (!s->watcher) {
            return -1;
        }
        STARPU_PTHREAD_COND_INIT(&s->watcher->wake, NULL);
    }
#endif
    return 0;
}

void watcher_start(void) {
    struct watcher *w = sy_shared.watcher;
    if (w && !w->stop) {
        shared_help(&w->helper, "symph watcher", watch, w);
    }
}

void watcher_notice(double now_ns) {
    struct watcher *w = sy_shared.watcher;
    if (w && now_ns - sy_shared.start_ns > WORTH_NS) {
        watcher_start();
    }
    if (w && w->rests) {
        w->rests = false;
        STARPU_PTHREAD_COND_SIGNAL(&w->wake);
    }
}

bool watcher_opened(void) {
    const struct watcher *w = sy_shared.watcher;
    return !w || w->opened || w->helper.failed;
}

void watcher_stop(void) {
    struct shared *s = &sy_shared;
    if (s->watcher) {
        shared_lock();
        s->watcher->stop = true;
        STARPU_PTHREAD_COND_SIGNAL(&s->watcher->wake);
        shared_unlock();
        shared_join(&s->watcher->helper);
        STARPU_PTHREAD_COND_DESTROY(&s->watcher->wake);
        free(s->watcher);
    }
    free(s->readings);
    s->watcher = NULL;
    s->readings = NULL;
}
