/* SPDX-License-Identifier: Apache-2.0
 *
 * The area bound: all work spread perfectly and fractionally over all devices.
 *
 * In: tasks of a workload. Out: the bound and the prices that prove it. Never knows: precedence,
 * arrivals, transfers. Invariant: whatever prices are tried, the value returned is a true lower
 * bound.
 */
#include "cost/area.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-12 /* relative; far above what the sums can lose */

void sy_cost_area_finish(struct sy_cost_area *area) {
    free(area->devices);
    free(area->time);
    free(area->weight);
    *area = (struct sy_cost_area){0};
}

static uint64_t hash_times(const double *times, uint32_t count) {
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint32_t c = 0; c < count; c++) {
        uint64_t bits;
        memcpy(&bits, &times[c], sizeof(bits));
        hash = (hash ^ bits) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

static uint32_t table_size(uint32_t count) {
    uint32_t size = 16;
    while (size < UINT32_MAX / 4 && size < 2 * (uint64_t)count) {
        size *= 2;
    }
    return size;
}

/* Appends the task's times as a new kind or counts it under an old one. */
static int gather_task(struct sy_cost_area *area, uint32_t *slots, uint32_t mask,
                       uint32_t *capacity, const double *times) {
    uint32_t classes = area->class_count;
    size_t bytes = classes * sizeof(double);
    uint32_t at = (uint32_t)hash_times(times, classes) & mask;
    for (; slots[at] != 0; at = (at + 1) & mask) {
        if (memcmp(&area->time[(size_t)(slots[at] - 1) * classes], times, bytes) == 0) {
            area->weight[slots[at] - 1] += 1;
            return 0;
        }
    }
    uint32_t weight_capacity = *capacity;
    int r = sy_grow(&area->weight, &weight_capacity, area->kind_count + 1, sizeof(double));
    r = r < 0 ? r : sy_grow(&area->time, capacity, area->kind_count + 1, bytes);
    if (r < 0) {
        return r;
    }
    memcpy(&area->time[(size_t)area->kind_count * classes], times, bytes);
    area->weight[area->kind_count++] = 1;
    slots[at] = area->kind_count;
    return 0;
}

static int gather(struct sy_cost_area *area, const struct sy_workload *workload, uint32_t first,
                  uint32_t end) {
    uint32_t size = table_size(end - first), capacity = 0;
    uint32_t *slots = calloc(size, sizeof(*slots));
    int r = slots == NULL ? -ENOMEM : 0;
    for (uint32_t t = first; r == 0 && t < end; t++) {
        if (workload->best_ns[t] > 0) {
            r = gather_task(area, slots, size - 1, &capacity,
                            &workload->time_ns[(size_t)t * area->class_count]);
        }
    }
    free(slots);
    return r;
}

static double total_best_ns(const struct sy_workload *workload, uint32_t first, uint32_t end) {
    double sum = 0;
    for (uint32_t t = first; t < end; t++) {
        sum += workload->best_ns[t];
    }
    return sum;
}

int sy_cost_area_init(struct sy_cost_area *area, const struct sy_workload *workload, uint32_t first,
                      uint32_t end) {
    const struct sy_machine *machine = workload->machine;
    *area = (struct sy_cost_area){.class_count = workload->class_count};
    area->devices = calloc(area->class_count, sizeof(double));
    if (area->devices == NULL || gather(area, workload, first, end) < 0) {
        sy_cost_area_finish(area);
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < area->class_count; c++) {
        area->devices[c] = machine->classes[c].device_count;
    }
    area->unit_ns = total_best_ns(workload, first, end) / machine->device_count;
    for (size_t i = 0; i < (size_t)area->kind_count * area->class_count; i++) {
        area->time[i] /= area->unit_ns;
    }
    return 0;
}

double sy_cost_area_buy(const struct sy_cost_area *area, const double *price, double *loads) {
    double sum = 0, lost = 0; /* Kahan: a million small terms */
    for (uint32_t c = 0; loads != NULL && c < area->class_count; c++) {
        loads[c] = 0;
    }
    for (uint32_t k = 0; k < area->kind_count; k++) {
        const double *time = &area->time[(size_t)k * area->class_count];
        double cheapest = INFINITY;
        uint32_t choice = 0;
        for (uint32_t c = 0; c < area->class_count; c++) {
            double cost = isfinite(time[c]) ? price[c] * time[c] : INFINITY;
            if (cost < cheapest) {
                cheapest = cost;
                choice = c;
            }
        }
        double term = area->weight[k] * cheapest - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
        if (loads != NULL) {
            loads[choice] += area->weight[k] * time[choice];
        }
    }
    return sum;
}

/* Scales prices to sum 1 over devices. False if there is nothing to scale. */
static bool scale_prices(const double *devices, uint32_t count, double *price) {
    double income = 0;
    for (uint32_t c = 0; c < count; c++) {
        price[c] = price[c] > 0 ? price[c] : 0;
        income += price[c] * devices[c];
    }
    if (!(income > 0) || !isfinite(income)) {
        return false;
    }
    for (uint32_t c = 0; c < count; c++) {
        price[c] /= income;
    }
    return true;
}

static double gathered_bound_ns(const struct sy_cost_area *area, double *price, double *trial,
                                double plain_ns) {
    int r = area->class_count == 2 ? sy_cost_area_prices_two(area, trial)
                                   : sy_cost_area_prices_many(area, trial);
    if (r < 0 || !scale_prices(area->devices, area->class_count, trial)) {
        return plain_ns;
    }
    double bound = sy_cost_area_buy(area, trial, NULL) * area->unit_ns * (1 - ROUNDING);
    if (!(bound > plain_ns)) {
        return plain_ns;
    }
    memcpy(price, trial, area->class_count * sizeof(*price));
    return bound;
}

double sy_cost_area_prices(const struct sy_workload *workload, uint32_t first, uint32_t end,
                           double *ret_price) {
    /* Equal prices need no memory: every task on its fastest class. */
    double even = 1.0 / workload->machine->device_count;
    double bound = total_best_ns(workload, first, end) * even * (1 - ROUNDING);
    for (uint32_t c = 0; c < workload->class_count; c++) {
        ret_price[c] = even;
    }
    double *trial = calloc(workload->class_count, sizeof(*trial));
    struct sy_cost_area area = {0};
    if (bound > 0 && workload->class_count > 1 && trial != NULL &&
        sy_cost_area_init(&area, workload, first, end) == 0) {
        bound = gathered_bound_ns(&area, ret_price, trial, bound);
        sy_cost_area_finish(&area);
    }
    free(trial);
    return bound;
}

double sy_cost_area_ns(const struct sy_workload *workload, uint32_t first, uint32_t end) {
    double *price = calloc(workload->class_count, sizeof(*price));
    if (price == NULL) {
        return total_best_ns(workload, first, end) / workload->machine->device_count *
               (1 - ROUNDING);
    }
    double bound = sy_cost_area_prices(workload, first, end, price);
    free(price);
    return bound;
}
