/* SPDX-License-Identifier: Apache-2.0
 *
 * The watchdog: ends a run whose task or step takes longer than its limit (--limit), or in which
 * nothing moves any more.
 *
 * In: what each worker has in flight, the phase of the run, the clock. Out: the end of the process,
 * with the reason in the page. Runs on a thread of its own, which takes no signal.
 */
#include "engine/starpu/faults.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define STALL_S 8.0 /* and a task's limit: nothing begins, runs or ends any more */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sy_flight_begin(struct sy_engine *engine, struct sy_engine_worker *worker,
                     const struct sy_engine_slot *slot) {
    struct sy_flight *flight = &worker->flight;
    uint32_t end = atomic_load_explicit(&flight->end, memory_order_relaxed);
    uint64_t now = now_ns();
    atomic_store_explicit(&flight->tasks[end % SY_FLIGHT_MAX], slot, memory_order_relaxed);
    if (end == atomic_load_explicit(&flight->first, memory_order_relaxed)) {
        atomic_store_explicit(&flight->since_ns, now, memory_order_relaxed);
    }
    atomic_store_explicit(&flight->end, end + 1, memory_order_release);
    atomic_store_explicit(&engine->progress_ns, now, memory_order_relaxed);
}

void sy_flight_end(struct sy_engine *engine, struct sy_engine_worker *worker) {
    struct sy_flight *flight = &worker->flight;
    uint64_t now = now_ns();
    uint64_t since = atomic_exchange_explicit(&flight->since_ns, now, memory_order_relaxed);
    if (worker - engine->workers >= engine->worker_count) { /* the other one's task stood aside */
        struct sy_flight *other = &(worker - engine->urgent_count)->flight;
        atomic_fetch_add_explicit(&other->since_ns, now - since, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&flight->first, 1, memory_order_release);
    atomic_store_explicit(&engine->progress_ns, now, memory_order_relaxed);
}

/* The urgent worker of its core has a task. */
static bool stands_aside(const struct sy_engine *engine, uint32_t w) {
    uint32_t count = engine->worker_count;
    const struct sy_engine_worker *urgent = &engine->workers[w + engine->urgent_count];
    return w < count && w + engine->urgent_count >= count &&
           atomic_load(&urgent->flight.first) != atomic_load(&urgent->flight.end);
}

static void fail_overdue(struct sy_engine *engine, const struct sy_engine_worker *worker,
                         const struct sy_engine_slot *slot, double seconds) {
    struct text text = tell_begin(engine->page);
    tell_kernel(&text, slot, worker, " does not finish on ");
    tell(&text, ": it has run for ");
    tell_seconds(&text, seconds);
    tell(&text, ", the limit is ");
    tell_seconds(&text, engine->request.limit_s);
    tell_input(&text, engine, slot);
    tell_end(engine->page, SY_BLAME_RUN, "--limit sets a longer limit");
}

/* True: some worker is at work. */
static bool look_at_workers(struct sy_engine *engine) {
    bool busy = false;
    for (uint32_t w = 0; w < engine->worker_count + engine->urgent_count; w++) {
        struct sy_engine_worker *worker = &engine->workers[w];
        struct sy_flight *flight = &worker->flight;
        uint32_t first = atomic_load(&flight->first);
        const struct sy_engine_slot *slot = atomic_load(&flight->tasks[first % SY_FLIGHT_MAX]);
        if (first == atomic_load(&flight->end)) {
            continue;
        }
        busy = true;
        if (stands_aside(engine, w)) {
            continue;
        }
        /* Now that it does not stand aside, since_ns leaves all its pauses out. */
        uint64_t since = atomic_load(&flight->since_ns), now = now_ns();
        double seconds = now > since ? (double)(now - since) * 1e-9 : 0;
        /* Read again: it may have ended meanwhile, and another one begun. */
        if (seconds > engine->request.limit_s && first == atomic_load(&flight->first)) {
            fail_overdue(engine, worker, slot, seconds);
        }
    }
    return busy;
}

/* What the watchdog remembers from look to look. */
struct watch {
    struct sy_engine *engine;
    uint32_t phase, calls;
    bool running;
    uint64_t since_ns; /* of the phase, or of the driver's last call */
};

/* What follows the record may take long, but it cannot undo the run. */
_Noreturn static void give_up_leaving(struct sy_engine *engine, enum sy_phase phase) {
    char words[256];
    struct text text = {words, words + sizeof words - 1};
    tell(&text, phase == SY_PHASE_SAVING ? "what was learned is not saved: the engine hung"
                                         : "the engine did not exit by itself: it hung");
    tell_doing(&text);
    sy_engine_note(engine, "%s", words);
    sy_engine_phase(engine, SY_PHASE_DONE);
    _exit(0);
}

static void fail_step(struct sy_engine *engine, double seconds, double limit_s) {
    struct text text = tell_begin(engine->page);
    tell(&text, "the engine hangs");
    tell_doing(&text);
    tell(&text, ": it has taken ");
    tell_seconds(&text, seconds);
    tell(&text, ", the limit is ");
    tell_seconds(&text, limit_s);
    tell_end(engine->page, SY_BLAME_RUN,
             atomic_load(&engine->page->phase) == SY_PHASE_STARTING
                 ? "SYMPH_START_LIMIT=SECONDS sets a longer limit"
                 : "--limit sets the limit of a task, and ten times that for such a step");
}

/* Everything but tasks. */
static void look_at_step(struct watch *watch) {
    struct sy_engine *engine = watch->engine;
    const struct sy_request *request = &engine->request;
    double seconds = (double)(now_ns() - watch->since_ns) * 1e-9, limit_s = 0;
    switch (watch->phase) {
    case SY_PHASE_STARTING:
        limit_s = sy_request_start_limit_s(request);
        break;
    case SY_PHASE_RUNNING:
    case SY_PHASE_CHECKING:
        limit_s = sy_limit_step_s(request->limit_s);
        break;
    case SY_PHASE_SAVING:
    case SY_PHASE_DONE:
        if (seconds > sy_limit_leave_s(request->limit_s)) {
            give_up_leaving(engine, (enum sy_phase)watch->phase);
        }
        break;
    default: /* waits for a word */
        break;
    }
    if (limit_s > 0 && seconds > limit_s) {
        fail_step(engine, seconds, limit_s);
    }
    atomic_fetch_add(&engine->page->beat, 1);
}

static void look_at_tasks(struct sy_engine *engine) {
    struct sy_error error = {0};
    const char *failure = engine->ours ? sy_starpu_failure() : NULL;
    if (failure) {
        sy_fail(&error, -EPROTO, "policy %s: %s", engine->request.policy, failure);
        sy_engine_fail(engine, SY_BLAME_RUN, &error);
    }
    bool busy = look_at_workers(engine);
    uint64_t idle_ns = now_ns() - atomic_load(&engine->progress_ns);
    double stall_s = STALL_S + engine->request.limit_s;
    if (!busy && (double)idle_ns > stall_s * 1e9 && idle_ns < UINT64_MAX / 2) {
        sy_fail(&error, -EDEADLK,
                "no task has run for %.1f s, and %u of %u are done: policy %s gives no work",
                stall_s, atomic_load(&engine->page->done_count),
                atomic_load(&engine->page->task_count), engine->request.policy);
        sy_engine_fail(engine, SY_BLAME_RUN, &error);
    }
}

static void look(struct watch *watch) {
    struct sy_engine *engine = watch->engine;
    uint32_t phase = atomic_load(&engine->page->phase), calls = 0;
    bool running = false;
    if (phase == SY_PHASE_RUNNING) {
        /* Whoever submits is at work itself while nothing else is. */
        calls = atomic_load(&engine->session->calls);
        running = atomic_load(&engine->session->unfinished) > 0;
        if (!running) {
            atomic_store(&engine->progress_ns, now_ns());
        }
    }
    if (phase != watch->phase || running != watch->running || calls != watch->calls) {
        watch->phase = phase;
        watch->running = running;
        watch->calls = calls;
        watch->since_ns = now_ns();
    }
    if (running) {
        look_at_tasks(engine);
    } else {
        look_at_step(watch);
    }
}

static void *watch_over(void *argument) {
    struct watch watch = {.engine = argument, .since_ns = now_ns()};
    double tick_s = watch.engine->request.limit_s / 8;
    tick_s = tick_s > 0.25 ? 0.25 : tick_s < 0.01 ? 0.01 : tick_s;
    struct timespec tick = {0, (long)(tick_s * 1e9)};
    for (;;) {
        nanosleep(&tick, NULL);
        look(&watch);
    }
    return NULL;
}

int sy_engine_start_watchdog(struct sy_engine *engine) {
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&thread, NULL, watch_over, engine);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!code) {
        pthread_detach(thread);
    }
    return -code;
}
