/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a live world, for live.c (what is known) and live_decide.c (what is decided).
 */
#ifndef SY_ENGINE_LIVE_WORLD_H
#define SY_ENGINE_LIVE_WORLD_H

#include "base/heap.h"
#include "engine/live.h"

/* Stands in committed_at for a task that its device has and has not begun. */
#define LIVE_HANDED UINT32_MAX

/* Committed and ready tasks of one device: by priority, then order of commitment. */
struct live_queue {
    struct sy_heap heap;
    uint32_t capacity;
};

struct sy_live {
    struct sy_arena *arena; /* what does not grow */
    struct sy_scheduler scheduler;
    struct sy_view view;
    uint64_t number;
    bool explain, open_job, preempts;
    char failure[200];

    uint32_t task_count, edge_count, pred_count, access_count, data_count;
    uint32_t laid_count;  /* jobs, also those that the policy has not been told of */
    uint32_t ready_count; /* ready and nowhere committed */
    uint32_t sequence;
    /* Per task; view points to them. */
    uint32_t *task_job, *task_kernel, *task_device, *order;
    uint8_t *task_state;
    uint32_t *succ_start, *pred_start, *access_start;
    double *time_ns, *best_ns;
    double *priority, *expected_ns;
    uint32_t *committed_at, *cursor;
    struct sy_view_job *jobs;
    /* These grow. */
    uint32_t *succ, *pred, *access_producer;
    struct sy_access *access;
    uint32_t succ_capacity, pred_capacity, access_capacity, producer_capacity;
    double *data_bytes;
    uint64_t *data_valid, *data_inflight;
    uint32_t bytes_capacity, valid_capacity, inflight_capacity;
    /* Per device. */
    struct sy_view_device *devices;
    struct live_queue *queues;
    uint32_t *running_count;
    struct live_aside {
        uint32_t pusher; /* handed to push aside what runs, and has not begun; SY_NONE */
        uint32_t task;   /* that was pushed aside; SY_NONE */
        double rest_ns;  /* of it, expected */
        bool pushed;     /* what runs was handed over so: nothing pushes that aside */
    } * asides;
    /* Per kernel and class. */
    double *log_sigma;
    /* Ready since the policy was last asked, and committed before that. */
    uint32_t *fresh;
    uint32_t fresh_count, fresh_capacity;
};

void live_fail(struct sy_live *live, const char *what);
/* Books a task on a device; it enters the queue when it is ready. */
void live_commit(struct sy_live *live, uint32_t task, uint32_t device, double priority,
                 double expected_ns);
/* The other way round, for a task that is not running. */
void live_uncommit(struct sy_live *live, uint32_t task);
void live_enqueue(struct sy_live *live, uint32_t task);
void live_dequeue(struct sy_live *live, uint32_t task);
/* Whether SY_PREEMPT would be right now. */
void live_see_preemptible(struct sy_live *live, uint32_t device);
void live_inputs_coming(struct sy_live *live, uint32_t task);

#endif
