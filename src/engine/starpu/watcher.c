/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches the machine for policies that want to know how loaded it is.
 *
 * In: every counter that can be read here. Out: what is believed of each resource's traffic, in
 * shared->readings, some fifty times a second, five while there is no work. Runs on a thread of its
 * own, and only where the policy asks for readings: nobody else pays for it. What cannot be read
 * leaves the resource unseen (at_ns < 0), and the policy goes on without. Not under SimGrid: there
 * is no machine to watch.
 */
#include "belief/monitor.h"
#include "engine/starpu/shared.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define INTERVAL_NS 20000000L
#define IDLE_NS     200000000L /* while there is nothing to place */

struct watcher {
    starpu_pthread_t thread;
    starpu_pthread_cond_t wake;
    bool stop, opened; /* under the lock */
    struct sy_listing *listing;
    struct sy_monitor senses;
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

/* With the lock held. */
static void publish(const struct watcher *w, double now_ns) {
    struct shared *s = &sy_shared;
    uint32_t count = 0;
    const struct sy_utilisation *all = sy_belief_utilisations(w->senses.belief, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = all[i].resource;
        if (r < s->machine->resource_count && all[i].measured) {
            double full = s->machine->resources[r].bytes_per_s;
            s->readings[r] = (struct sy_reading){.bytes_per_s = all[i].mean * full,
                                                 .at_ns = now_ns - all[i].age_ns,
                                                 .sd_bytes_per_s = all[i].sd * full,
                                                 .others_bytes_per_s = NAN};
        }
    }
    for (unsigned c = 0; c < STARPU_NMAX_SCHED_CTXS; c++) {
        struct context *context = &s->contexts[c];
        if (context->used && context->live && context->count) {
            sy_live_believed(context->live);
            atomic_fetch_add(&context->version, 1);
        }
    }
}

static void look(struct watcher *w) {
    int code = sy_monitor_read(&w->senses, clock_ns());
    (void)!(code ? code : sy_monitor_think(&w->senses)); /* what cannot be read now may be later */
}

static void *watch(void *argument) {
    struct watcher *w = argument;
    shared_step_aside(&(bool){false});
    if (sy_listing_open(NULL, NULL, &w->listing, NULL)) {
        w->listing = NULL; /* then perf counts the kernel's generic events */
    }
    bool blind =
        sy_monitor_open(sy_shared.machine, &(struct sy_sources_options){.listing = w->listing},
                        &w->senses, NULL) != 0;
    struct timespec due;
    clock_gettime(CLOCK_REALTIME, &due);
    STARPU_PTHREAD_MUTEX_LOCK(&sy_shared.lock);
    w->opened = true;
    while (!w->stop && !blind) {
        due.tv_nsec += has_work() ? INTERVAL_NS : IDLE_NS;
        due.tv_sec += due.tv_nsec / 1000000000L;
        due.tv_nsec %= 1000000000L;
        starpu_pthread_cond_timedwait(&w->wake, &sy_shared.lock, &due);
        if (w->stop) {
            break;
        }
        STARPU_PTHREAD_MUTEX_UNLOCK(&sy_shared.lock);
        look(w);
        STARPU_PTHREAD_MUTEX_LOCK(&sy_shared.lock);
        publish(w, shared_now_ns());
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&sy_shared.lock);
    sy_monitor_close(&w->senses);
    sy_listing_destroy(w->listing);
    return NULL;
}

int watcher_start(void) {
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
        STARPU_PTHREAD_CREATE(&s->watcher->thread, NULL, watch, s->watcher);
    }
#endif
    return 0;
}

bool watcher_opened(void) {
    return !sy_shared.watcher || sy_shared.watcher->opened;
}

void watcher_stop(void) {
    struct shared *s = &sy_shared;
    if (s->watcher) {
        STARPU_PTHREAD_MUTEX_LOCK(&s->lock);
        s->watcher->stop = true;
        STARPU_PTHREAD_COND_SIGNAL(&s->watcher->wake);
        STARPU_PTHREAD_MUTEX_UNLOCK(&s->lock);
        STARPU_PTHREAD_JOIN(s->watcher->thread, NULL);
        STARPU_PTHREAD_COND_DESTROY(&s->watcher->wake);
        free(s->watcher);
    }
    free(s->readings);
    s->watcher = NULL;
    s->readings = NULL;
}
