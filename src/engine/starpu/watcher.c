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
#include "belief/belief.h"
#include "engine/starpu/shared.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define INTERVAL_NS 20000000L
#define IDLE_NS     200000000L /* while there is nothing to place */

struct watcher {
    starpu_pthread_t thread;
    starpu_pthread_cond_t wake;
    bool stop; /* under the lock */
    struct sy_listing *listing;
    struct sy_sources *sources;
    struct sy_belief *belief;
    struct sy_arena *arena;
    uint32_t counter_count;
    struct sy_sample *samples; /* as many */
    uint32_t *chosen;
};

static double clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void close_senses(struct watcher *w) {
    sy_belief_destroy(w->belief);
    sy_sources_close(w->sources);
    sy_listing_destroy(w->listing);
    sy_arena_destroy(w->arena);
}

static int open_senses(struct watcher *w) {
    struct sy_sources_options options = {0};
    uint32_t pmu_count = 0;
    if (sy_listing_open(NULL, NULL, &w->listing, NULL)) {
        w->listing = NULL; /* then perf counts the kernel's generic events */
    }
    w->arena = sy_arena_create();
    options.listing = w->listing;
    if (!w->arena || (w->listing && sy_belief_wanted(w->listing, w->arena, &options.wanted)) ||
        sy_sources_open(&options, &w->sources, NULL)) {
        return -1;
    }
    const struct sy_counter *counters = sy_sources_counters(w->sources, &w->counter_count);
    const struct sy_pmu *pmus = sy_sources_pmus(w->sources, &pmu_count);
    w->samples = sy_arena_alloc(w->arena, w->counter_count + 1u, sizeof *w->samples);
    w->chosen = sy_arena_alloc(w->arena, w->counter_count + 1u, sizeof *w->chosen);
    return w->samples && w->chosen
               ? sy_belief_create(sy_shared.machine, w->listing, counters, w->counter_count, pmus,
                                  pmu_count, &w->belief, NULL)
               : -1;
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
    const struct sy_utilisation *all = sy_belief_utilisations(w->belief, &count);
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
    double now_ns = clock_ns();
    int count = sy_sources_read(w->sources, now_ns, w->samples, w->counter_count);
    if (count < 0) {
        return;
    }
    sy_belief_update(w->belief, now_ns, w->samples, (uint32_t)count);
    uint32_t chosen = sy_belief_choose(w->belief, w->chosen, w->counter_count);
    /* Where somebody else has taken a counter, what counts now goes on counting. */
    (void)!sy_sources_select(w->sources, w->chosen, chosen);
}

static void *watch(void *argument) {
    struct watcher *w = argument;
    bool blind = open_senses(w) != 0;
    struct timespec due;
    clock_gettime(CLOCK_REALTIME, &due);
    STARPU_PTHREAD_MUTEX_LOCK(&sy_shared.lock);
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
    close_senses(w);
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
