/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the class prices that make the area bound largest.
 *
 * In: kinds of tasks with their times. Out: prices. Never knows: tasks, graphs. Two classes: sort
 * by the ratio of times and stop where the loads cross. More: Dantzig-Wolfe column generation; a
 * column is the vector of class loads when each kind runs where it is cheapest, the master LP
 * mixes columns to a smallest makespan, its duals are the next prices. Invariant: the prices kept
 * are the best seen, so stopping early costs tightness, never truth.
 */
#include "cost/area.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP         1e-11 /* relative distance of master and bound at which to stop */
#define PIVOT_MIN   1e-11
#define ROUND_LIMIT 1000u
#define WORK_LIMIT  4e9 /* kind-class pairs looked at */

struct ratio {
    double value; /* time on class 0 over time on class 1 */
    uint32_t kind;
};

static int compare_ratio(const void *a, const void *b) {
    const struct ratio *x = a, *y = b;
    int order = SY_ORDER(x->value, y->value);
    return order ? order : SY_ORDER(x->kind, y->kind);
}

static double time_ratio(const double *time) {
    if (!isfinite(time[1])) {
        return 0;
    }
    return isfinite(time[0]) ? time[0] / time[1] : INFINITY;
}

/* The first kind, by ratio, with which class 0 has at least the load per device of class 1. */
static uint32_t crossing_kind(const struct sy_cost_area *area, const struct ratio *ratios) {
    double load0 = 0, load1 = 0;
    for (uint32_t i = 0; i < area->kind_count; i++) {
        double time = area->time[2 * (size_t)ratios[i].kind + 1];
        load1 += isfinite(time) ? area->weight[ratios[i].kind] * time : 0;
    }
    for (uint32_t i = 0; i < area->kind_count; i++) {
        uint32_t kind = ratios[i].kind;
        const double *time = &area->time[2 * (size_t)kind];
        load0 += isfinite(time[0]) ? area->weight[kind] * time[0] : INFINITY;
        load1 -= isfinite(time[1]) ? area->weight[kind] * time[1] : 0;
        if (load0 / area->devices[0] >= load1 / area->devices[1]) {
            return kind;
        }
    }
    return ratios[area->kind_count - 1].kind;
}

int sy_cost_area_prices_two(const struct sy_cost_area *area, double *ret_price) {
    struct ratio *ratios = malloc(((size_t)area->kind_count + 1) * sizeof(*ratios));
    if (ratios == NULL) {
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < area->kind_count; k++) {
        ratios[k] = (struct ratio){time_ratio(&area->time[2 * (size_t)k]), k};
    }
    qsort(ratios, area->kind_count, sizeof(*ratios), compare_ratio);
    const double *time = &area->time[2 * (size_t)crossing_kind(area, ratios)];
    /* The crossing kind must cost the same on both. */
    ret_price[0] = isfinite(time[0]) ? (isfinite(time[1]) ? time[1] : 1) : 0;
    ret_price[1] = isfinite(time[1]) ? (isfinite(time[0]) ? time[0] : 1) : 0;
    free(ratios);
    return 0;
}

/* The master: min T, rows c: sum_i lambda_i load_i[c] - T devices[c] + slack_c = 0, last row:
 * sum lambda = 1. The basis is kept as columns and inverted anew each round: it is tiny. */
struct master {
    uint32_t size;   /* classes + 1 */
    double *column;  /* [basis position * size + row] */
    double *inverse; /* [row * size + column] */
    double *work;    /* [size * size] */
    double *value;   /* of the basic variables */
    double *entering, *direction;
    double *price, *best_price;
    uint32_t makespan_at; /* basis position of T, which never leaves */
};

static int master_alloc(struct master *master, uint32_t classes) {
    size_t size = (size_t)classes + 1;
    double *block = calloc(3 * size * size + 5 * size, sizeof(double));
    if (block == NULL) {
        return -ENOMEM;
    }
    *master = (struct master){.size = (uint32_t)size, .column = block};
    master->inverse = block + size * size;
    master->work = master->inverse + size * size;
    master->value = master->work + size * size;
    master->entering = master->value + size;
    master->direction = master->entering + size;
    master->price = master->direction + size;
    master->best_price = master->price + size;
    return 0;
}

/* Feasible start: one assignment, T as its largest load per device, slack elsewhere. */
static void master_start(struct master *master, const struct sy_cost_area *area,
                         const double *loads) {
    uint32_t classes = area->class_count, size = master->size, worst = 0;
    for (uint32_t c = 1; c < classes; c++) {
        if (loads[c] / area->devices[c] > loads[worst] / area->devices[worst]) {
            worst = c;
        }
    }
    master->makespan_at = worst;
    for (uint32_t c = 0; c < classes; c++) {
        double *column = &master->column[(size_t)c * size];
        column[c] = 1;
        for (uint32_t row = 0; c == worst && row < classes; row++) {
            column[row] = -area->devices[row];
        }
    }
    double *last = &master->column[(size_t)classes * size];
    memcpy(last, loads, classes * sizeof(double));
    last[classes] = 1;
}

static void swap_rows(double *matrix, uint32_t size, uint32_t a, uint32_t b) {
    for (uint32_t j = 0; a != b && j < size; j++) {
        double keep = matrix[(size_t)a * size + j];
        matrix[(size_t)a * size + j] = matrix[(size_t)b * size + j];
        matrix[(size_t)b * size + j] = keep;
    }
}

static void eliminate(double *work, double *inverse, uint32_t size, uint32_t pivot) {
    double scale = 1 / work[(size_t)pivot * size + pivot];
    for (uint32_t j = 0; j < size; j++) {
        work[(size_t)pivot * size + j] *= scale;
        inverse[(size_t)pivot * size + j] *= scale;
    }
    for (uint32_t i = 0; i < size; i++) {
        double factor = work[(size_t)i * size + pivot];
        for (uint32_t j = 0; i != pivot && factor != 0 && j < size; j++) {
            work[(size_t)i * size + j] -= factor * work[(size_t)pivot * size + j];
            inverse[(size_t)i * size + j] -= factor * inverse[(size_t)pivot * size + j];
        }
    }
}

/* Gauss-Jordan with row pivoting. False: singular to working precision. */
static bool master_invert(struct master *master) {
    uint32_t size = master->size;
    for (uint32_t i = 0; i < size; i++) {
        for (uint32_t j = 0; j < size; j++) {
            master->work[(size_t)i * size + j] = master->column[(size_t)j * size + i];
            master->inverse[(size_t)i * size + j] = i == j;
        }
    }
    for (uint32_t pivot = 0; pivot < size; pivot++) {
        uint32_t best = pivot;
        for (uint32_t i = pivot + 1; i < size; i++) {
            if (fabs(master->work[(size_t)i * size + pivot]) >
                fabs(master->work[(size_t)best * size + pivot])) {
                best = i;
            }
        }
        if (fabs(master->work[(size_t)best * size + pivot]) < PIVOT_MIN) {
            return false;
        }
        swap_rows(master->work, size, pivot, best);
        swap_rows(master->inverse, size, pivot, best);
        eliminate(master->work, master->inverse, size, pivot);
    }
    return true;
}

/* Basic values (the right-hand side is the last unit vector) and prices (cost is T alone). */
static void master_read(struct master *master) {
    uint32_t size = master->size;
    const double *dual = &master->inverse[(size_t)master->makespan_at * size];
    for (uint32_t i = 0; i < size; i++) {
        master->value[i] = fmax(0, master->inverse[(size_t)i * size + size - 1]);
        master->price[i] = -dual[i];
    }
}

/* The variable to enter: a slack with a negative price, else the cheapest assignment. */
static void choose_entering(struct master *master, uint32_t classes, const double *loads) {
    uint32_t lowest = 0;
    for (uint32_t c = 1; c < classes; c++) {
        lowest = master->price[c] < master->price[lowest] ? c : lowest;
    }
    memset(master->entering, 0, master->size * sizeof(double));
    if (master->price[lowest] < -GAP) {
        master->entering[lowest] = 1;
        return;
    }
    memcpy(master->entering, loads, classes * sizeof(double));
    master->entering[classes] = 1;
}

/* Ratio test; false if nothing can leave. */
static bool replace_column(struct master *master) {
    uint32_t size = master->size, leaving = SY_NONE;
    double least = INFINITY;
    for (uint32_t i = 0; i < size; i++) {
        double sum = 0;
        for (uint32_t j = 0; j < size; j++) {
            sum += master->inverse[(size_t)i * size + j] * master->entering[j];
        }
        master->direction[i] = sum;
        if (i == master->makespan_at || sum < PIVOT_MIN) {
            continue;
        }
        double ratio = master->value[i] / sum;
        if (ratio < least || (ratio == least && sum > master->direction[leaving])) {
            least = ratio;
            leaving = i;
        }
    }
    if (leaving == SY_NONE) {
        return false;
    }
    memcpy(&master->column[(size_t)leaving * size], master->entering, size * sizeof(double));
    return true;
}

static void clip_prices(const struct sy_cost_area *area, const struct master *master,
                        double *price) {
    double income = 0;
    for (uint32_t c = 0; c < area->class_count; c++) {
        price[c] = fmax(0, master->price[c]);
        income += price[c] * area->devices[c];
    }
    for (uint32_t c = 0; c < area->class_count; c++) {
        price[c] /= income > 0 ? income : 1;
    }
}

static void generate_columns(const struct sy_cost_area *area, struct master *master, double *trial,
                             double *loads) {
    double best = 0;
    double effort = (double)area->kind_count * area->class_count;
    for (uint32_t round = 0; round < ROUND_LIMIT && effort * round < WORK_LIMIT; round++) {
        if (!master_invert(master)) {
            return;
        }
        master_read(master);
        clip_prices(area, master, trial);
        double bound = sy_cost_area_buy(area, trial, loads);
        if (bound > best) {
            best = bound;
            memcpy(master->best_price, trial, area->class_count * sizeof(double));
        }
        if (master->value[master->makespan_at] - best <= GAP * best) {
            return;
        }
        choose_entering(master, area->class_count, loads);
        if (!replace_column(master)) {
            return;
        }
    }
}

int sy_cost_area_prices_many(const struct sy_cost_area *area, double *ret_price) {
    struct master master = {0};
    double *scratch = calloc(2 * (size_t)area->class_count, sizeof(double));
    if (scratch == NULL || master_alloc(&master, area->class_count) < 0) {
        free(scratch);
        return -ENOMEM;
    }
    double *trial = scratch, *loads = scratch + area->class_count;
    for (uint32_t c = 0; c < area->class_count; c++) {
        trial[c] = 1;
    }
    sy_cost_area_buy(area, trial, loads);
    master_start(&master, area, loads);
    generate_columns(area, &master, trial, loads);
    memcpy(ret_price, master.best_price, area->class_count * sizeof(double));
    free(master.column);
    free(scratch);
    return 0;
}
