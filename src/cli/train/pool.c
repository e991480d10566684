/* SPDX-License-Identifier: Apache-2.0
 *
 * pool: independent items for several threads.
 *
 * In: a number of items and what to do with each. Out: the first failure in their order. Invariant:
 * items are handed out in order, so when one fails all before it have been begun and are ended;
 * threads share nothing but the next item's number.
 */
#include "cli/threads.h"
#include "cli/train/methods.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct run {
    sy_work *work;
    void *context;
    uint32_t item_count;
    atomic_uint next, workers;
    atomic_bool stop;
    pthread_mutex_t lock; /* guards the failure */
    uint32_t failed_item;
    int failed_code;
    struct sy_error error;
};

static void note_failure(struct run *run, uint32_t item, int code, const struct sy_error *error) {
    pthread_mutex_lock(&run->lock);
    if (item < run->failed_item) {
        run->failed_item = item;
        run->failed_code = code;
        run->error = *error;
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, true);
}

static void *work(void *data) {
    struct run *run = data;
    uint32_t worker = atomic_fetch_add(&run->workers, 1);
    while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        uint32_t item = atomic_fetch_add(&run->next, 1);
        if (item >= run->item_count) {
            break;
        }
        struct sy_error error = {0};
        int code = sy_interrupt_seen() ? sy_fail(&error, -ECANCELED, "stopped")
                                       : run->work(run->context, worker, item, &error);
        if (code) {
            note_failure(run, item, code, &error);
        }
    }
    return NULL;
}

static int run_all(void *data, uint32_t item_count, sy_work *one, void *context,
                   struct sy_error *error) {
    const struct sy_train_pool *pool = data;
    struct run run = {
        .work = one, .context = context, .item_count = item_count, .failed_item = UINT32_MAX};
    pthread_mutex_init(&run.lock, NULL);
    uint32_t threads = pool->thread_count < item_count ? pool->thread_count : item_count;
    sy_threads_run(threads ? threads : 1, work, &run);
    pthread_mutex_destroy(&run.lock);
    if (run.failed_code && error) {
        *error = run.error;
    }
    return run.failed_code;
}

struct sy_parallel sy_train_parallel(struct sy_train_pool *pool) {
    return (struct sy_parallel){.worker_count = pool->thread_count,
                                .run = run_all,
                                .pool = pool,
                                .stop = sy_interrupt_seen};
}
