/* SPDX-License-Identifier: Apache-2.0
 *
 * What a record knows of the times of its tasks.
 *
 * In: a record in which every task ran. Out: the time of each on each class of devices, and how
 * much tasks that are alike differed. Never knows: what it is wanted for. Invariant: tasks of one
 * kernel, work and size of data on one class of device are alike; what the model knows nothing of
 * gets the median of its like, and never a guess.
 */
#include "engine/engine.h"
#include "graph/graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LIKE_LEAST 5      /* of fewer the median is too much their own */
#define NORMAL     1.2533 /* standard deviation over mean size, of what is normal */

/* The class of device. */
static uint32_t ran_on(const struct sy_record *record, uint32_t task) {
    return record->machine->devices[record->tasks[task].device].class_index;
}

/* Tasks that are alike, one after another. */
struct likes {
    const struct sy_record *record;
    uint32_t *order, first, end;
    double *bytes;  /* [task] of its data */
    double *values; /* what those from first to end took, sorted */
    double median_ns;
};

/* Tasks that are alike stand together. */
static int by_likeness(const void *a, const void *b, void *context) {
    const struct likes *likes = context;
    const struct sy_record *record = likes->record;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct sy_task *p = &record->graph->tasks[x], *q = &record->graph->tasks[y];
    uint32_t c = ran_on(record, x), d = ran_on(record, y);
    if (p->kernel != q->kernel || c != d) {
        return p->kernel != q->kernel ? SY_ORDER(p->kernel, q->kernel) : SY_ORDER(c, d);
    }
    int order = SY_ORDER(p->work, q->work);
    return order ? order : SY_ORDER(likes->bytes[x], likes->bytes[y]);
}

static int likes_init(struct likes *likes, const struct sy_record *record) {
    const struct sy_graph *graph = record->graph;
    uint32_t count = graph->task_count;
    *likes = (struct likes){.record = record,
                            .order = calloc(count + 1u, sizeof(uint32_t)),
                            .bytes = calloc(count + 1u, sizeof(double)),
                            .values = calloc(count + 1u, sizeof(double))};
    if (!likes->order || !likes->bytes || !likes->values) {
        return -ENOMEM;
    }
    for (uint32_t t = 0; t < count; t++) {
        likes->order[t] = t;
        for (uint32_t a = graph->tasks[t].access_start; a < graph->tasks[t + 1].access_start; a++) {
            likes->bytes[t] += graph->data_bytes[graph->accesses[a].datum];
        }
    }
    qsort_r(likes->order, count, sizeof *likes->order, by_likeness, likes);
    return 0;
}

static void likes_finish(struct likes *likes) {
    free(likes->order);
    free(likes->bytes);
    free(likes->values);
}

static bool likes_next(struct likes *likes) {
    const struct sy_record *record = likes->record;
    uint32_t first = likes->end, end = first;
    while (end < record->graph->task_count &&
           !by_likeness(&likes->order[first], &likes->order[end], likes)) {
        likes->values[end - first] = sy_record_took_ns(&record->tasks[likes->order[end]]);
        end++;
    }
    likes->first = first;
    likes->end = end;
    likes->median_ns = sy_quantile(likes->values, end - first, 0.5);
    return end > first;
}

int sy_record_times(const struct sy_record *record, double *ret_time_ns, uint32_t *ret_unknown) {
    size_t classes = record->machine->class_count, count = record->graph->task_count;
    struct likes likes;
    int code = likes_init(&likes, record);
    uint32_t unknown = 0;
    for (size_t i = 0; i < count * classes; i++) {
        ret_time_ns[i] = record->model_ns[i];
    }
    while (!code && likes_next(&likes)) {
        for (uint32_t i = likes.first; i < likes.end; i++) {
            uint32_t task = likes.order[i];
            double *cell = &ret_time_ns[task * classes + ran_on(record, task)];
            unknown += isfinite(*cell) ? 0 : 1;
            *cell = isfinite(*cell) ? *cell : likes.median_ns;
        }
    }
    likes_finish(&likes);
    *ret_unknown = unknown;
    return code;
}

int sy_record_noise(const struct sy_record *record, double *ret_ratios, uint32_t *ret_count) {
    struct likes likes;
    int code = likes_init(&likes, record);
    uint32_t count = 0;
    while (!code && likes_next(&likes)) {
        uint32_t alike = likes.end - likes.first;
        for (uint32_t i = 0; alike >= LIKE_LEAST && i < alike; i++) {
            if (likes.values[i] > 0 && likes.median_ns > 0) {
                ret_ratios[count++] = likes.values[i] / likes.median_ns;
            }
        }
    }
    likes_finish(&likes);
    *ret_count = count;
    return code;
}

static void set_spreads(const struct sy_record *record, const double *sum, const uint32_t *count,
                        struct sy_graph *graph) {
    for (uint32_t k = 0; k < graph->kernel_count; k++) {
        uint32_t from = sy_index_of(graph->kernels[k].name, record->graph->kernels,
                                    record->graph->kernel_count, sizeof *record->graph->kernels);
        for (uint32_t kind = 0; from != SY_NONE && kind < SY_KIND_COUNT; kind++) {
            uint32_t at = from * SY_KIND_COUNT + kind;
            if (count[at]) {
                graph->kernels[k].variants[kind].log_sigma = NORMAL * sum[at] / count[at];
            }
        }
    }
}

int sy_record_set_spreads(const struct sy_record *record, struct sy_graph *graph) {
    size_t cells = (size_t)record->graph->kernel_count * SY_KIND_COUNT;
    double *sum = calloc(cells + 1, sizeof *sum);
    uint32_t *count = calloc(cells + 1, sizeof *count);
    struct likes likes;
    int code = likes_init(&likes, record);
    code = sum && count ? code : -ENOMEM;
    while (!code && likes_next(&likes)) {
        uint32_t task = likes.order[likes.first], class_index = ran_on(record, task);
        size_t at = (size_t)record->graph->tasks[task].kernel * SY_KIND_COUNT +
                    record->machine->classes[class_index].kind;
        uint32_t alike = likes.end - likes.first;
        for (uint32_t i = 0; alike >= LIKE_LEAST && i < alike; i++) {
            if (likes.values[i] > 0 && likes.median_ns > 0) {
                sum[at] += fabs(log(likes.values[i] / likes.median_ns));
                count[at]++;
            }
        }
    }
    if (!code) {
        set_spreads(record, sum, count, graph);
    }
    likes_finish(&likes);
    free(sum);
    free(count);
    return code;
}
