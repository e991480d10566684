/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of what the hooks share: configured before StarPU starts, filled when the first task comes,
 * saved and freed when the last context closes.
 */
#include "engine/starpu/status.h"
#include "engine/starpu/turns.h"
#include "engine/starpu/urgent.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPIN_COUNT  256
#define OPEN_MOST   1000 /* times OPEN_S: what counters may take to open */
#define OPEN_S      1e-3f
#define ASIDE_LEAST 4 /* cores that must be left to go to: with fewer, nobody has one to itself */

/* The one mutable global of this program: see shared.h. */
struct shared sy_shared;

/* It is held for a microsecond or two: to sleep at once would cost a thread its turn among workers
 * that poll, a hundred times longer. */
static bool spin(void) {
#if defined(STARPU_NON_BLOCKING_DRIVERS) && (defined(__x86_64__) || defined(__i386__))
    for (int i = 0; i < SPIN_COUNT; i++) {
        if (STARPU_PTHREAD_MUTEX_TRYLOCK(&sy_shared.lock) == 0) {
            return true;
        }
        for (int k = 0; k < 8; k++) {
            __builtin_ia32_pause();
        }
    }
#endif
    return false;
}

void shared_lock(void) {
    if (!spin()) {
        starpu_worker_relax_on();
        STARPU_PTHREAD_MUTEX_LOCK(&sy_shared.lock);
        starpu_worker_relax_off();
    }
    atomic_store_explicit(&sy_shared.busy, true, memory_order_relaxed);
}

bool shared_try_lock(void) {
    if (!WORKERS_POLL) {
        shared_lock();
        return true;
    }
    if (atomic_load(&sy_shared.busy) || STARPU_PTHREAD_MUTEX_TRYLOCK(&sy_shared.lock)) {
        return false;
    }
    atomic_store_explicit(&sy_shared.busy, true, memory_order_relaxed);
    return true;
}

void shared_unlock(void) {
    atomic_store(&sy_shared.busy, false);
    STARPU_PTHREAD_MUTEX_UNLOCK(&sy_shared.lock);
}

void shared_wait(starpu_pthread_cond_t *condition, const struct timespec *until) {
    atomic_store(&sy_shared.busy, false);
    if (until) {
        starpu_pthread_cond_timedwait(condition, &sy_shared.lock, until);
    } else {
        STARPU_PTHREAD_COND_WAIT(condition, &sy_shared.lock);
    }
    atomic_store_explicit(&sy_shared.busy, true, memory_order_relaxed);
}

double shared_now_ns(void) {
    return starpu_timing_now() * 1e3;
}

void shared_fail(const char *text) {
    if (!sy_shared.failure[0]) {
        snprintf(sy_shared.failure, sizeof sy_shared.failure, "%s", text);
    }
}

/* --- helpers ------------------------------------------------------------------------------------
 */

/* Whoever needs the helper may be a worker, whose threads would begin on its own core. */
static void remember_home(struct shared *s) {
#ifndef STARPU_SIMGRID
    free(s->home);
    s->home = malloc(sizeof *s->home);
    if (s->home && sched_getaffinity(0, sizeof *s->home, s->home)) {
        free(s->home);
        s->home = NULL;
    }
#else
    (void)s;
#endif
}

static int create(starpu_pthread_t *thread, void *(*run)(void *), void *argument) {
#ifndef STARPU_SIMGRID
    pthread_attr_t attributes;
    if (sy_shared.home && pthread_attr_init(&attributes) == 0) {
        int code = pthread_attr_setaffinity_np(&attributes, sizeof *sy_shared.home, sy_shared.home);
        code = code ? code : starpu_pthread_create(thread, &attributes, run, argument);
        pthread_attr_destroy(&attributes);
        if (!code) {
            return 0; /* else these cores are not ours any more */
        }
    }
#endif
    return starpu_pthread_create(thread, NULL, run, argument);
}

bool shared_help(struct helper *helper, const char *name, void *(*run)(void *), void *argument) {
    if (!helper->runs && !helper->failed) {
        helper->failed = create(&helper->thread, run, argument) != 0;
        helper->runs = !helper->failed;
#ifndef STARPU_SIMGRID
        if (helper->runs) { /* or it would be called as the worker is */
            pthread_setname_np(helper->thread, name);
        }
#else
        (void)name;
#endif
    }
    return helper->runs;
}

void shared_join(struct helper *helper) {
    if (helper->runs) {
        STARPU_PTHREAD_JOIN(helper->thread, NULL);
        helper->runs = false;
    }
}

const char *sy_starpu_failure(void) {
    return sy_shared.failure[0] ? sy_shared.failure : NULL;
}

/* --- configuration -----------------------------------------------------------------------------
 */

int sy_starpu_configure(const struct sy_starpu_options *options, struct sy_error *error) {
    static const struct sy_request nothing;
    struct shared *s = &sy_shared;
    const struct sy_request *request = options->request ? options->request : &nothing;
    const char *asked = request->policy ? request->policy : getenv("SYMPH_POLICY");
    const char *policy =
        asked && asked[0] && strcmp(asked, "default") != 0 ? asked : sy_scheduler_default();
    struct sy_weights weights;
    char *name = NULL;
    int code = sy_live_open_policy(policy, &name, &weights, error);
    if (code) {
        return code;
    }
    s->options = *options;
    s->options.request = request;
    sy_weights_close(&s->weights);
    s->weights = weights;
    s->setup.weights = weights.memory ? &s->weights : NULL;
    shared_set_policy(strdup(policy), name);
    return s->policy ? 0 : sy_fail(error, -ENOMEM, "out of memory");
}

void shared_set_policy(char *policy, char *name) {
    free(sy_shared.policy);
    free(sy_shared.policy_name);
    sy_shared.policy = policy;
    sy_shared.policy_name = name;
}

static int open_store(struct shared *s, struct sy_error *error) {
#ifdef STARPU_SIMGRID
    const char *folder = ""; /* a modelled machine's times are its model's */
#else
    const char *folder = s->options.request->models;
#endif
    return sy_store_open(folder, NULL, SY_STORE_ASKED, &s->store, s->warning, sizeof s->warning,
                         error);
}

static int open_parts(void) {
    return links_open() || urgent_open() || turns_open() || watcher_prepare();
}

int shared_start(void) {
    struct shared *s = &sy_shared;
    struct sy_error error = {0};
    if (s->machine) {
        return 0;
    }
    s->names = sy_arena_create();
    s->decision_ns = calloc(DECISION_SAMPLES, sizeof *s->decision_ns);
    s->last_end_ns = calloc(STARPU_NMAXWORKERS, sizeof *s->last_end_ns);
    int code = s->names && s->decision_ns && s->last_end_ns ? open_store(s, &error) : -ENOMEM;
    if (!code) {
        code = sy_starpu_machine(s->options.urgent_count, &s->machine, &error);
    }
    uint32_t classes = s->machine ? s->machine->class_count : 0;
    s->comparison.ratios =
        code ? NULL : calloc((size_t)classes * classes, sizeof *s->comparison.ratios);
    if (!code && (!s->comparison.ratios || open_parts())) {
        code = -ENOMEM;
    }
    if (code) {
        shared_fail(error.message[0] ? error.message : "out of memory");
        return code;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s->cores_poll = WORKERS_POLL && (long)s->machine->device_count <= cores;
    s->shorts = strcmp(s->policy_name, sy_scheduler_default()) == 0 && !s->options.ordered;
    s->start_ns = shared_now_ns();
    status_open();
    atomic_store_explicit(&s->up, true, memory_order_release);
    return 0;
}

#ifndef STARPU_SIMGRID
/* Takes the cores that workers are bound to out of a mask: all of them, or only those that drive
 * accelerators. */
static void without_workers(cpu_set_t *mask, bool all) {
    const struct sy_machine *m = sy_shared.machine;
    for (uint32_t w = 0; w < m->device_count; w++) {
        bool counts = all || m->devices[w].kind != SY_CPU;
        int bound = counts ? starpu_worker_get_bindid((int)w) : -1;
        int core = bound < 0 ? -1 : starpu_get_pu_os_index((unsigned)bound);
        if (core >= 0 && core < CPU_SETSIZE) {
            CPU_CLR((size_t)core, mask);
        }
    }
}
#endif

/* A worker that is interrupted while it asks for inputs holds up whoever needs the same locks of
 * StarPU for a whole turn: helpers go where no worker is, if there is such a core. */
void shared_step_aside(bool *done, bool helper) {
#ifndef STARPU_SIMGRID
    cpu_set_t mask, spare;
    if (*done || sched_getaffinity(0, sizeof mask, &mask)) {
        return;
    }
    spare = mask;
    without_workers(&spare, true);
    without_workers(&mask, false);
    *done = true;
    if (CPU_COUNT(&mask) < ASIDE_LEAST) {
        return;
    }
    mask = helper && CPU_COUNT(&spare) > 0 ? spare : mask;
    (void)!sched_setaffinity(0, sizeof mask, &mask);
#else
    (void)helper;
#endif
    *done = true;
}

int sy_starpu_save(struct sy_error *error) {
    struct shared *s = &sy_shared;
    shared_lock();
    combine_drain_all();
    int code = s->store && s->learned ? sy_store_save(s->store, error) : 0;
    s->learned = false; /* what could not be kept now cannot be in a moment either */
    shared_unlock();
    return code;
}

const char *sy_starpu_warning(void) {
    return sy_shared.warning[0] ? sy_shared.warning : NULL;
}

static void shared_finish(struct shared *s) {
    sy_store_close(s->store);
    watcher_stop();
    status_close();
    links_close();
    urgent_close();
    turns_close();
    sy_machine_destroy(s->machine);
    row_free_all();
    sy_chains_finish(&s->known);
    sy_map_finish(&s->kernels);
    sy_arena_destroy(s->names);
    sy_chains_finish(&s->data);
    node_free_spare();
    free(s->last_end_ns);
    free(s->decision_ns);
    free(s->decisions);
    free(s->home);
    s->home = NULL;
    s->store = NULL;
    s->machine = NULL;
    s->names = NULL;
    free(s->comparison.ratios);
    memset(&s->comparison, 0, sizeof s->comparison);
    s->last_end_ns = NULL;
    s->decision_ns = NULL;
    s->decisions = NULL;
    s->kernel_count = s->submitted = 0;
    s->decision_count = s->decision_capacity = 0;
    s->decision_samples = s->task_total = s->short_total = 0;
    s->learned = false;
    atomic_store(&s->up, false);
    STARPU_PTHREAD_MUTEX_DESTROY(&s->lock);
    s->started = false;
}

/* --- contexts ----------------------------------------------------------------------------------
 */

void sy_starpu_context_open(unsigned id) {
    struct shared *s = &sy_shared;
    struct sy_error error = {0};
    if (!s->started) {
        STARPU_PTHREAD_MUTEX_INIT(&s->lock, NULL);
        remember_home(s);
        s->started = true;
    }
    if (!s->policy && sy_starpu_configure(&(struct sy_starpu_options){0}, &error)) {
        shared_fail(error.message);
    }
    struct context *context = &s->contexts[id];
    memset(context, 0, sizeof *context);
    context->id = id;
    context->workers = calloc(STARPU_NMAXWORKERS, sizeof *context->workers);
    context->away = calloc(STARPU_NMAXWORKERS, sizeof *context->away);
    context->boxes = aligned_alloc(SY_CACHE_LINE, STARPU_NMAXWORKERS * sizeof *context->boxes);
    context->shorts = calloc(STARPU_NMAXWORKERS, sizeof *context->shorts);
    context->running = calloc(STARPU_NMAXWORKERS, sizeof(struct node *));
    context->version = 1;
    context->asked_ns = INT64_MAX / 2; /* nothing to ask about yet */
    context->used = context->workers && context->away && context->boxes && context->shorts &&
                    context->running && s->policy;
    if (context->used) {
        memset(context->boxes, 0, STARPU_NMAXWORKERS * sizeof *context->boxes);
        planner_open(context);
    }
    STARPU_ASSERT(context->used);
}

static void free_nodes(struct context *context) {
    while (context->first) {
        node_finish(context->first); /* whose end nobody told */
    }
}

void sy_starpu_context_close(unsigned id) {
    struct shared *s = &sy_shared;
    struct context *context = &s->contexts[id];
    planner_stop(context);
    shared_lock(); /* the watcher tells the policies of all contexts in use */
    if (s->machine) {
        combine_drain(context);
    }
    context->used = false;
    shared_unlock();
    free_nodes(context);
    sy_live_destroy(context->live);
    planner_forget(context);
    free(context->slots);
    free(context->workers);
    free(context->away);
    free(context->running);
    free(context->boxes);
    free(context->shorts);
    free(context->fetches);
    memset(context, 0, sizeof *context);
    bool last = true;
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        last &= !s->contexts[i].used;
    }
    if (last) {
        sy_starpu_closing();
        shared_finish(s);
    }
}

/* --- for the program ---------------------------------------------------------------------------
 */

void sy_starpu_prepare(void) {
    struct shared *s = &sy_shared;
    shared_lock();
    int code = shared_start();
    for (unsigned c = 0; !code && c < STARPU_NMAX_SCHED_CTXS; c++) {
        code = s->contexts[c].used ? planner_prepare(&s->contexts[c]) : 0;
    }
    if (!code) {
        watcher_start();
    }
    for (int i = 0; !code && i < OPEN_MOST && !watcher_opened(); i++) {
        shared_unlock();
        starpu_sleep(OPEN_S);
        shared_lock();
    }
    if (!code) {
        shared_step_aside(&(bool){false}, false);
        sy_starpu_let_sleep(true);
    }
    shared_unlock();
}

bool shared_records(void) {
    const struct sy_starpu_options *options = &sy_shared.options;
    return options->record &&
           (!options->decision_max || sy_shared.decision_count < options->decision_max);
}

int sy_starpu_take_decisions(struct sy_decided **ret_decisions, uint32_t *ret_count) {
    struct shared *s = &sy_shared;
    shared_lock();
    combine_drain_all();
    *ret_decisions = s->decisions;
    *ret_count = s->decision_count;
    s->decisions = NULL;
    s->decision_count = s->decision_capacity = 0;
    shared_unlock();
    return 0;
}

/* Of the code that runs: bounds rest on it. */
static bool speaks(const struct sy_estimate *estimate) {
    return estimate->source != SY_COST_UNKNOWN && estimate->source != SY_COST_PRIOR;
}

double sy_starpu_estimate_ns(const char *kernel, double bytes, double flops, uint32_t footprint,
                             uint32_t worker) {
    struct shared *s = &sy_shared;
    double ns = NAN;
    shared_lock();
    if (shared_start() == 0 && worker < s->machine->device_count) {
        uint32_t class_index = s->machine->devices[worker].class_index;
        const struct sy_cell *cell = sy_store_cell(
            s->store, kernel, s->machine->classes[class_index].name, bytes, flops, footprint);
        struct sy_estimate e = cell ? sy_cell_estimate(cell) : (struct sy_estimate){0};
        ns = cell && speaks(&e) ? e.median_ns : NAN;
    }
    shared_unlock();
    return ns;
}

void sy_starpu_decision_cost(double *ret_p50_ns, double *ret_p99_ns) {
    struct shared *s = &sy_shared;
    *ret_p50_ns = *ret_p99_ns = NAN;
    shared_lock();
    uint64_t count =
        s->decision_samples < DECISION_SAMPLES ? s->decision_samples : DECISION_SAMPLES;
    double *copy = count ? calloc(count, sizeof *copy) : NULL;
    for (uint64_t i = 0; copy && i < count; i++) {
        copy[i] = (double)s->decision_ns[i];
    }
    shared_unlock();
    if (copy) {
        *ret_p50_ns = sy_quantile(copy, count, .5);
        *ret_p99_ns = sy_quantile(copy, count, .99);
    }
    free(copy);
}
