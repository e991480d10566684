/* SPDX-License-Identifier: Apache-2.0
 *
 * Ready tasks by key, as binary heaps over arrays that are as long as the workload. Under a job
 * order each job has its own heap, inside the stretch of the array that its task indices span, and
 * the best job is looked up when somebody asks: its key may have changed meanwhile.
 */
#include "schedulers/policy.h"
#include <errno.h>

int sy_pool_init(struct pool *pool, const struct policy *policy, const struct sy_view *view) {
    struct sy_arena *arena = policy->arena;
    pool->order = policy->order;
    pool->key = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *pool->key);
    pool->inside = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *pool->inside);
    pool->heap = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *pool->heap);
    pool->job_count = sy_arena_alloc(arena, view->job_capacity + 1u, sizeof *pool->job_count);
    pool->active = sy_arena_alloc(arena, view->job_capacity + 1u, sizeof *pool->active);
    return pool->key && pool->inside && pool->heap && pool->job_count && pool->active ? 0 : -ENOMEM;
}

static bool above(const struct pool *pool, uint32_t a, uint32_t b) {
    return pool->key[a] > pool->key[b] || (pool->key[a] == pool->key[b] && a < b);
}

static uint32_t *heap_of(const struct pool *pool, const struct sy_view *view, uint32_t job) {
    return pool->order == ORDER_NONE ? pool->heap : pool->heap + view->jobs[job].first_task;
}

void sy_pool_push(struct pool *pool, const struct sy_view *view, uint32_t task, double key) {
    if (pool->inside[task]) {
        return;
    }
    pool->inside[task] = true;
    uint32_t job = pool->order == ORDER_NONE ? 0 : view->task_job[task];
    uint32_t *heap = heap_of(pool, view, job), at = pool->job_count[job]++;
    pool->key[task] = key;
    pool->count++;
    if (at == 0) {
        pool->active[pool->active_count++] = job;
    }
    while (at && above(pool, task, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = task;
}

static uint32_t best_job(const struct pool *pool, const struct policy *policy,
                         const struct sy_view *view) {
    uint32_t best = 0;
    double best_key = -INFINITY;
    for (uint32_t i = 0; pool->active_count > 1 && i < pool->active_count; i++) {
        double key = sy_order_job_key(policy, view, pool->active[i]);
        if (key > best_key || (key == best_key && pool->active[i] < pool->active[best])) {
            best_key = key;
            best = i;
        }
    }
    return best;
}

uint32_t sy_pool_peek(const struct pool *pool, const struct policy *policy,
                      const struct sy_view *view) {
    if (!pool->count) {
        return SY_NONE;
    }
    return heap_of(pool, view, pool->active[best_job(pool, policy, view)])[0];
}

uint32_t sy_pool_pop(struct pool *pool, const struct policy *policy, const struct sy_view *view) {
    if (!pool->count) {
        return SY_NONE;
    }
    uint32_t which = best_job(pool, policy, view), job = pool->active[which];
    uint32_t *heap = heap_of(pool, view, job), count = --pool->job_count[job];
    uint32_t task = heap[0], last = heap[count], at = 0;
    pool->count--;
    pool->inside[task] = false;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && above(pool, heap[child + 1], heap[child])) {
            child++;
        }
        if (!above(pool, heap[child], last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    if (!count) {
        pool->active[which] = pool->active[--pool->active_count];
    }
    return task;
}
