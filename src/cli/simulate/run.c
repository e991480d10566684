/* SPDX-License-Identifier: Apache-2.0
 *
 * run: all cases under all policies, spread over threads.
 *
 * In: cases. Out: their results, in place. Invariant: a result depends on its case and policy
 * alone; of several failures the first in the order of cases is reported.
 */
#include "cli/clock.h"
#include "cli/progress.h"
#include "cli/simulate/simulate.h"
#include "cli/threads.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct pool {
    struct sy_simulate *simulate;
    struct sy_progress progress;
    atomic_uint next;
    atomic_bool stop;
    pthread_mutex_t lock; /* guards the failure */
    uint32_t failed_case;
    int failed_code;
    struct sy_error error;
};

static int compare_events(const void *a, const void *b) {
    const struct sy_device_event *x = a, *y = b;
    int order = SY_ORDER(x->at_ns, y->at_ns);
    order = order ? order : SY_ORDER(x->device, y->device);
    /* lost again in the moment it is back: it stays away */
    return order ? order : SY_ORDER(y->lost, x->lost);
}

/* Loss and return of devices for a case. */
static struct sy_device_event *make_events(const struct sy_simulate *simulate, double bound_ns,
                                           uint32_t *ret_count) {
    uint32_t fails = simulate->args->fails.count, count = 0;
    struct sy_device_event *events = sy_need(calloc(2u * fails + 1, sizeof(*events)));
    for (uint32_t i = 0; i < fails; i++) {
        const struct sy_fail *fail = &simulate->fails[i];
        double lost_ns = fail->lost_at * (fail->lost_relative ? bound_ns : 1);
        double back_ns = fail->back_at * (fail->back_relative ? bound_ns : 1);
        events[count++] = (struct sy_device_event){lost_ns, fail->device, true};
        if (isfinite(back_ns)) {
            events[count++] = (struct sy_device_event){fmax(back_ns, lost_ns), fail->device, false};
        }
    }
    if (events) {
        qsort(events, count, sizeof(*events), compare_events);
        *ret_count = count;
    }
    return events;
}

static struct sy_sim_options make_options(const struct sy_simulate *simulate, uint32_t index) {
    const struct sy_simulate_args *args = simulate->args;
    return (struct sy_sim_options){
        .seed = simulate->cases[index].seed,
        .noise_sigma = args->noise,
        .noise_table = simulate->noise.count ? &simulate->noise : NULL,
        .spike_probability = simulate->spike_probability,
        .spike_factor = simulate->spike_factor,
        .model_error_sigma = args->model_error,
        .contention = args->contention,
        .preempt = args->preempt,
        .smt = simulate->smt,
        .gpu = simulate->gpu,
        .hidden_load = args->hidden_load,
        .hidden_weight = args->hidden_weight,
        .counter_noise = args->counter_noise,
        .throttle = args->throttle,
        .straggler_share = simulate->straggler_share,
        .straggler_factor = simulate->straggler_factor,
        .straggler_ns = simulate->straggler_ns,
        .counter_outliers = args->counter_outliers,
        .counter_live = args->counters,
        .counter_events = simulate->counter_events,
        .hidden_period_ns = simulate->hidden_period_ns,
        .counter_period_ns = simulate->counter_period_ns,
        .belief = simulate->belief,
        .judge = args->judge,
        .decision_ns = simulate->decision_ns,
        .charge = simulate->charge,
        .record = args->check || (index == 0 && (args->plot || args->trace || args->paje)),
        .stop = sy_interrupt_seen,
        .clock_ns = simulate->timed ? sy_cpu_clock_ns : NULL,
    };
}

static void keep(struct sy_case *item, uint32_t policy, const struct sy_sim_result *result) {
    item->runs[policy] = (struct sy_run){
        .makespan_ns = result->makespan_ns,
        .jct_mean_ns = result->jct_mean_ns,
        .jct_p99_ns = result->jct_p99_ns,
        .slowdown_mean = result->slowdown_mean,
        .slowdown_p99 = result->slowdown_p99,
        .slowdown_long = result->slowdown_long,
        .within_0 = result->within_0,
        .within_10 = result->within_10,
        .within_20 = result->within_20,
        .bytes_moved = result->bytes_moved,
        .energy_joules = result->energy_joules,
        .fairness = result->fairness,
        .decision_p50_ns = result->decision_p50_ns,
        .decision_p99_ns = result->decision_p99_ns,
        .policy_ns = result->policy_ns,
        .event_count = result->event_count,
        .accuracy = result->accuracy,
    };
    uint32_t jobs = item->workload->job_count;
    for (uint32_t j = 0; j < jobs; j++) {
        item->slowdowns[(size_t)policy * jobs + j] = result->jobs[j].slowdown;
    }
}

static int run_policy(struct pool *pool, uint32_t index, uint32_t policy, struct sy_sim *sim,
                      struct sy_error *error) {
    struct sy_simulate *simulate = pool->simulate;
    struct sy_case *item = &simulate->cases[index];
    struct sy_sim_result result = {0};
    sy_crash_is_of(simulate->policies.items[policy]);
    int r = sy_sim_run(sim, simulate->policies.items[policy], &result, error);
    sy_crash_is_of(NULL);
    if (r < 0) {
        return r;
    }
    keep(item, policy, &result);
    if (index == 0) {
        sy_simulate_draw(simulate, policy, sim);
    }
    if (simulate->args->check) {
        struct sy_error violation = {0};
        if (sy_sim_check(item->workload, sy_sim_trace(sim), &violation) < 0) {
            return sy_fail(error, -EPROTO, "%s on %s, seed %llu: %s",
                           simulate->policies.items[policy], item->graph,
                           (unsigned long long)item->seed, violation.message);
        }
    }
    atomic_store_explicit(&item->done, policy + 1, memory_order_release);
    sy_progress_add(&pool->progress, 1);
    return 0;
}

static int run_case(struct pool *pool, uint32_t index, struct sy_error *error) {
    struct sy_simulate *simulate = pool->simulate;
    struct sy_case *item = &simulate->cases[index];
    struct sy_sim_options options = make_options(simulate, index);
    struct sy_device_event *events =
        make_events(simulate, item->bound_ns, &options.device_event_count);
    options.device_events = events;
    struct sy_sim *sim = NULL;
    int r = sy_sim_create(item->workload, &options, &sim, error);
    for (uint32_t p = 0; r == 0 && p < simulate->policies.count; p++) {
        r = sy_interrupt_seen() ? -EINTR : run_policy(pool, index, p, sim, error);
    }
    sy_sim_destroy(sim);
    free(events);
    return r;
}

static void note_failure(struct pool *pool, uint32_t index, int code,
                         const struct sy_error *error) {
    pthread_mutex_lock(&pool->lock);
    if (index < pool->failed_case) {
        pool->failed_case = index;
        pool->failed_code = code;
        pool->error = *error;
    }
    pthread_mutex_unlock(&pool->lock);
    atomic_store(&pool->stop, true);
}

/* Cases are handed out in order, so when one fails all before it have been begun and are ended. */
static void *work(void *context) {
    struct pool *pool = context;
    while (!atomic_load(&pool->stop)) {
        uint32_t index = atomic_fetch_add(&pool->next, 1);
        if (index >= pool->simulate->case_count) {
            break;
        }
        struct sy_error error = {0};
        int r = run_case(pool, index, &error);
        if (r < 0) {
            note_failure(pool, index, r, &error);
        }
    }
    return NULL;
}

static uint32_t thread_count(const struct sy_simulate *simulate) {
    uint32_t count = sy_threads_count(simulate->args->threads);
    return count < simulate->case_count ? count : simulate->case_count;
}

static int exit_code(const struct pool *pool) {
    if (sy_interrupt_seen()) {
        return SY_EXIT_INTERRUPTED;
    }
    if (pool->failed_code == 0) {
        return SY_EXIT_OK;
    }
    sy_message_error(&pool->error);
    /* The names were checked before: what a policy still refuses is its argument. */
    return pool->failed_code == -EINVAL ? SY_EXIT_USAGE : SY_EXIT_FAILED;
}

int sy_simulate_run(struct sy_simulate *simulate) {
    struct pool *pool = sy_need(calloc(1, sizeof *pool));
    *pool = (struct pool){.simulate = simulate, .failed_case = UINT32_MAX};
    pthread_mutex_init(&pool->lock, NULL);
    sy_interrupt_watch();
    sy_crash_watch();
    sy_progress_init(&pool->progress, "simulating",
                     (uint64_t)simulate->case_count * simulate->policies.count,
                     simulate->args->common.quiet);
    if (!simulate->may_leave) {
        sy_threads_run(thread_count(simulate), work, pool);
    } else if (!sy_threads_try(thread_count(simulate), work, pool)) {
        sy_progress_hide(&pool->progress);
        simulate->left = true; /* and the pool stays */
        return SY_EXIT_INTERRUPTED;
    }
    sy_progress_finish(&pool->progress);
    pthread_mutex_destroy(&pool->lock);
    int r = exit_code(pool);
    free(pool);
    return r;
}

bool sy_simulate_done(const struct sy_simulate *simulate, struct sy_simulate *ret_done,
                      struct sy_case **ret_cases) {
    uint32_t *done = calloc(simulate->case_count + 1u, sizeof *done), policies = 0, count = 0;
    struct sy_case *cases = calloc(simulate->case_count + 1u, sizeof *cases);
    for (uint32_t i = 0; done && i < simulate->case_count; i++) {
        done[i] = atomic_load_explicit(&simulate->cases[i].done, memory_order_acquire);
        policies = done[i] > policies ? done[i] : policies;
    }
    for (uint32_t i = 0; done && cases && policies && i < simulate->case_count; i++) {
        const struct sy_case *item = &simulate->cases[i];
        if (done[i] == policies) { /* it may be on its way to the next policy */
            cases[count++] = (struct sy_case){.graph = item->graph,
                                              .seed = item->seed,
                                              .workload = item->workload,
                                              .bound_ns = item->bound_ns,
                                              .runs = item->runs,
                                              .slowdowns = item->slowdowns};
        }
    }
    free(done);
    if (!count) {
        free(cases);
        return false;
    }
    *ret_done = *simulate;
    ret_done->asked = (uint64_t)simulate->case_count * simulate->policies.count;
    ret_done->cases = *ret_cases = cases;
    ret_done->case_count = count;
    ret_done->policies.count = policies;
    return true;
}
