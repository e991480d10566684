/* SPDX-License-Identifier: Apache-2.0
 *
 * Ready tasks by key, as heaps in one array that is as long as the workload. Under a job
 * order each job has its own heap, inside the stretch of the array that its task indices span, and
 * the best job is looked up when somebody asks: its key may have changed meanwhile.
 */
#include "schedulers/policy.h"
#include <errno.h>

int sy_pool_init(struct pool *pool, const struct policy *policy, const struct sy_view *view) {
    struct sy_arena *arena = policy->arena;
    pool->order = policy->order;
    pool->inside = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *pool->inside);
    pool->entries = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *pool->entries);
    pool->job_count = sy_arena_alloc(arena, view->job_capacity + 1u, sizeof *pool->job_count);
    pool->active = sy_arena_alloc(arena, view->job_capacity + 1u, sizeof *pool->active);
    return pool->inside && pool->entries && pool->job_count && pool->active ? 0 : -ENOMEM;
}

static struct sy_heap heap_of(const struct pool *pool, const struct sy_view *view, uint32_t job) {
    uint32_t first = pool->order == ORDER_NONE ? 0 : view->jobs[job].first_task;
    return (struct sy_heap){.entries = pool->entries + first, .count = pool->job_count[job]};
}

void sy_pool_push(struct pool *pool, const struct sy_view *view, uint32_t task, double key) {
    if (pool->inside[task]) {
        return;
    }
    pool->inside[task] = true;
    uint32_t job = pool->order == ORDER_NONE ? 0 : view->task_job[task];
    struct sy_heap heap = heap_of(pool, view, job);
    pool->count++;
    if (heap.count == 0) {
        pool->active[pool->active_count++] = job;
    }
    sy_heap_push(&heap, (struct sy_heap_entry){-key, task, task});
    pool->job_count[job] = heap.count;
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
    return heap_of(pool, view, pool->active[best_job(pool, policy, view)]).entries[0].item;
}

uint32_t sy_pool_pop(struct pool *pool, const struct policy *policy, const struct sy_view *view) {
    if (!pool->count) {
        return SY_NONE;
    }
    uint32_t which = best_job(pool, policy, view), job = pool->active[which];
    struct sy_heap heap = heap_of(pool, view, job);
    uint32_t task = sy_heap_take(&heap, 0).item;
    pool->count--;
    pool->inside[task] = false;
    pool->job_count[job] = heap.count;
    if (!heap.count) {
        pool->active[which] = pool->active[--pool->active_count];
    }
    return task;
}
