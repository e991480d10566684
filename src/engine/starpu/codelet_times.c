/* SPDX-License-Identifier: Apache-2.0
 *
 * How long does this codelet take on data of this footprint, on each class of device: the middle of
 * what was measured (cost store), else what the program's own models say, or what another build of
 * it took, else what other sizes suggest, else what other kernels suggest of that class: an unknown
 * class is tried, but by no more tasks at a time than its estimate needs to be believed.
 */
#include "engine/starpu/status.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_NS     1e5 /* where no class is known */
#define SHORT_NS       5e3 /* a decision takes about as long, with all that belongs to it */
#define HOPED_RATIO    .1  /* of a core's time, on an accelerator of which nothing is known */
#define ENOUGH_RATIO   20. /* how slow a class under trial looks to further tasks */
#define REFRESH_CHANGE .1  /* waiting tasks are told when an estimate moved by more, and */
#define REFRESH_NS     400 /* not again before so long, times their number: a few % of the time */

static uint64_t footprint_of(struct starpu_task *task, unsigned context) {
    struct starpu_perfmodel *model = task->cl->model;
    if (model && (model->footprint || model->size_base)) {
        struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(0, context);
        return starpu_task_footprint(model, task, arch, 0);
    }
    return starpu_task_data_footprint(task);
}

/* --- estimates ---------------------------------------------------------------------------------
 */

static bool trusted(const struct row *row, uint32_t c) {
    return sy_cell_count(row->cells[c]) >= SY_CELL_TRUSTED || row->prior_ns[c] > 0;
}

static double known_ns(const struct row *row, uint32_t c) {
    struct sy_estimate e = sy_cell_estimate(row->cells[c]);
    if (sy_cell_count(row->cells[c]) >= SY_CELL_TRUSTED) {
        return e.median_ns;
    }
    if (row->prior_ns[c] > 0) {
        return row->prior_ns[c];
    }
    return e.source == SY_COST_REGRESSED ? e.median_ns : NAN;
}

/* A row that knows more than one class says how they compare. Of more rows than there is room for
 * the newest do. */
static void note_knowing(struct row *row) {
    struct comparison *all = &sy_shared.comparison;
    uint32_t known = 0;
    for (uint32_t c = 0; !row->compares && c < sy_shared.machine->class_count; c++) {
        known += row->cells[c] && trusted(row, c);
    }
    if (known > 1) {
        row->compares = true;
        all->rows[all->count++ % COMPARED_ROWS] = row;
    }
}

static double median_ratio(const struct comparison *all, uint32_t c, uint32_t k) {
    double ratios[COMPARED_ROWS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count && i < COMPARED_ROWS; i++) {
        const struct row *r = all->rows[i];
        if (r->cells[c] && r->cells[k] && trusted(r, c) && trusted(r, k)) {
            ratios[count++] = known_ns(r, c) / known_ns(r, k);
        }
    }
    return count ? sy_quantile(ratios, count, 0.5) : NAN;
}

/* How long class c takes of what class k takes: the median over rows that know both; else an
 * accelerator is hoped to be somewhat faster than a core. Worked out again when there is another
 * row, or after as many tasks as rows were looked at: a few rows' work per task. */
static double class_ratio(uint32_t c, uint32_t k) {
    const struct shared *s = &sy_shared;
    const struct comparison *all = &s->comparison;
    bool hope = s->machine->classes[c].kind != SY_CPU && s->machine->classes[k].kind == SY_CPU;
    if (!all->count) {
        return hope ? HOPED_RATIO : 1;
    }
    struct class_ratio *ratio = &all->ratios[c * s->machine->class_count + k];
    if (ratio->count != all->count || all->ended - ratio->ended >= COMPARED_ROWS) {
        *ratio = (struct class_ratio){median_ratio(all, c, k), all->count, all->ended};
    }
    return isfinite(ratio->value) ? ratio->value : hope ? HOPED_RATIO : 1;
}

/* The least that a class which is not known could take, judged by those that are. */
static double guess_ns(const struct row *row, const double *ns, uint32_t c) {
    double guess = INFINITY;
    for (uint32_t k = 0; k < sy_shared.machine->class_count; k++) {
        if (k != c && row->cells[k] && isfinite(ns[k]) && trusted(row, k)) {
            guess = fmin(guess, ns[k] * class_ratio(c, k));
        }
    }
    return isfinite(guess) ? guess : UNKNOWN_NS;
}

static void estimate(struct row *row, double *ret_ns) {
    uint32_t classes = sy_shared.machine->class_count;
    for (uint32_t c = 0; c < classes; c++) {
        ret_ns[c] = row->cells[c] ? known_ns(row, c) : INFINITY;
    }
    for (uint32_t c = 0; c < classes; c++) {
        if (row->cells[c] && !trusted(row, c) && !(row->rounded && isfinite(ret_ns[c]))) {
            bool enough = row->exploring[c] + sy_cell_count(row->cells[c]) >= SY_CELL_TRUSTED;
            double guess = guess_ns(row, ret_ns, c);
            double slow = isnan(ret_ns[c]) ? ENOUGH_RATIO * guess : ret_ns[c];
            ret_ns[c] = enough ? slow : isnan(ret_ns[c]) ? guess : fmin(guess, ret_ns[c]);
        }
    }
}

/* The fastest class, where it is known to be so fast that a decision takes as long; where there is
 * no other class to choose, a tenth of the time is too much, and what other sizes take will do. */
static void look_how_short(struct row *row) {
    uint32_t best = 0, able = 0;
    bool sure = true;
    for (uint32_t c = 0; c < sy_shared.machine->class_count; c++) {
        best = row->time_ns[c] < row->time_ns[best] ? c : best;
        able += row->cells[c] != NULL;
        sure &= !row->cells[c] || trusted(row, c);
    }
    double most_ns = able == 1 ? SHORT_ALONE_NS : SHORT_NS;
    row->short_ns = row->time_ns[best];
    if (!sure && able == 1) {
        row->short_ns = kernel_short_ns(row->known, row->size);
        sure = true;
    }
    row->short_class = sure && row->short_ns < most_ns ? best : SY_NONE;
}

uint32_t row_short_class(struct row *row) {
    if (row->short_class == SY_NONE) {
        look_how_short(row); /* others of its kernel may have ended since */
    }
    return row->short_class;
}

/* Works the estimates out again, and tells the tasks that wait for a decision. */
static void refresh(struct row *row) {
    double fresh[64], now_ns = row->next_refresh_ns > 0 ? shared_now_ns() : 0;
    if (now_ns < row->next_refresh_ns) {
        return;
    }
    uint32_t classes = sy_shared.machine->class_count;
    bool moved = false;
    estimate(row, fresh);
    look_how_short(row);
    for (uint32_t c = 0; c < classes; c++) {
        double change = isfinite(fresh[c]) ? fabs(fresh[c] - row->time_ns[c]) : 0;
        moved |= change > REFRESH_CHANGE * row->time_ns[c];
    }
    if (!moved) {
        return;
    }
    memcpy(row->time_ns, fresh, classes * sizeof *fresh);
    look_how_short(row);
    if (row->waiting_count) {
        row->next_refresh_ns = shared_now_ns() + (double)row->waiting_count * REFRESH_NS;
    }
    for (struct node *node = row->waiting; node; node = node->row_next) {
        if (node->index != SY_NONE) {
            sy_live_set_times(node->context->live, node->index, row->time_ns);
        }
    }
}

void row_wait(struct row *row, struct node *node, bool waits) {
    if (!row || node->listed == waits) {
        return;
    }
    node->listed = waits;
    row->waiting_count += waits ? 1 : UINT32_MAX;
    if (waits) {
        node->row_prev = NULL;
        node->row_next = row->waiting;
        row->waiting = node;
        if (node->row_next) {
            node->row_next->row_prev = node;
        }
        return;
    }
    *(node->row_prev ? &node->row_prev->row_next : &row->waiting) = node->row_next;
    if (node->row_next) {
        node->row_next->row_prev = node->row_prev;
    }
}

double row_model_ns(const struct row *row, uint32_t class_index) {
    if (!row->cells[class_index]) {
        return INFINITY;
    }
    struct sy_estimate e = sy_cell_estimate(row->cells[class_index]);
    return e.source == SY_COST_UNKNOWN || e.source == SY_COST_PRIOR ? NAN : e.median_ns;
}

void row_begin(struct row *row, struct node *node, uint32_t class_index) {
    if (row && row->cells[class_index] && !trusted(row, class_index)) {
        node->exploring = true;
        row->exploring[class_index]++;
        refresh(row);
    }
}

void row_end(struct row *row, struct node *node, uint32_t class_index, double duration_ns) {
    if (!row || !row->cells[class_index]) {
        return;
    }
    row->exploring[class_index] -= node->exploring;
    node->exploring = false;
    implementation_ended(node, class_index, duration_ns);
    if (duration_ns > 0) {
        struct sy_cell *cell = row->cells[class_index];
        sy_cell_observe(cell, duration_ns);
        kernel_took(row->known, row->size, duration_ns);
        sy_shared.comparison.ended++;
        note_knowing(row);
        sy_shared.learned = true;
        if (node->context->live) {
            sy_live_set_kernel(node->context->live,
                               row->kernel < SY_LIVE_KERNELS ? row->kernel : SY_LIVE_KERNELS - 1,
                               class_index, cell->log_sigma);
        }
    }
    refresh(row);
}

/* --- making a row ------------------------------------------------------------------------------
 */

/* What the program's own model promises, of the best implementation. */
static void ask_program(struct row *row, struct starpu_task *task, unsigned context, uint32_t c,
                        unsigned worker, unsigned mask) {
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype((int)worker, context);
    row->prior_ns[c] = NAN;
    /* Others may be allowed for other tasks of this codelet. */
    bool several = task->cl->can_execute || (mask & (mask - 1));
    row->only[c] = several ? NO_IMPLEMENTATION : (uint8_t)__builtin_ctz(mask);
    for (unsigned i = 0; task->cl->model && i < STARPU_MAXIMPLEMENTATIONS; i++) {
        double us = mask >> i & 1 ? starpu_task_expected_length(task, arch, i) : NAN;
        if (us > 0) {
            implementation_told(&row->implementations[c * STARPU_MAXIMPLEMENTATIONS + i], us * 1e3);
            row->prior_ns[c] = fmin(us * 1e3, row->prior_ns[c]);
        }
    }
}

/* What was measured with another build, where the program's own model says nothing. */
static void take_prior(struct row *row, uint32_t c) {
    const struct sy_cell *cell = row->cells[c];
    if (isnan(row->prior_ns[c]) && sy_cell_count(cell) < cell->sample_count) {
        row->prior_ns[c] = cell->median_ns;
    }
}

static bool fill_class(struct row *row, struct starpu_task *task, struct kernel *kernel,
                       unsigned context, uint32_t c, const struct sy_starpu_told *told,
                       uint64_t footprint) {
    const struct sy_machine *m = sy_shared.machine;
    for (uint32_t w = m->classes[c].first_device; w < m->device_count; w++) {
        unsigned mask = 0;
        if (m->devices[w].class_index != c ||
            !starpu_worker_can_execute_task_impl(w, task, &mask) || !mask) {
            continue;
        }
        ask_program(row, task, context, c, w, mask);
        struct sy_group *group = kernel_group(kernel, c);
        row->cells[c] =
            group ? sy_group_cell(sy_shared.store, group, told->bytes, told->flops, footprint)
                  : NULL;
        if (row->cells[c]) {
            take_prior(row, c);
        }
        return row->cells[c] != NULL;
    }
    return true;
}

static double bytes_of(const struct node *node) {
    double sum = 0;
    for (uint32_t i = 0; i < node->access_count; i++) {
        sum += node->accesses[i].datum->bytes;
    }
    return sum;
}

static struct row *make_row(const struct node *node) {
    struct starpu_task *task = node->task;
    const struct sy_starpu_told *told = &node->told;
    uint32_t classes = sy_shared.machine->class_count;
    size_t each = sizeof(void *) + 2 * sizeof(double) + sizeof(uint32_t) + 1 +
                  STARPU_MAXIMPLEMENTATIONS * sizeof(struct implementation);
    struct kernel *kernel = classes <= 64 ? kernel_of(task, told->build) : NULL;
    struct row *row = kernel ? calloc(1, sizeof *row + classes * each) : NULL;
    if (!row) {
        return NULL;
    }
    row->cells = (struct sy_cell **)(row + 1);
    row->prior_ns = (double *)(row->cells + classes);
    row->time_ns = row->prior_ns + classes;
    row->implementations = (struct implementation *)(row->time_ns + classes);
    row->exploring =
        (uint32_t *)(row->implementations + (size_t)classes * STARPU_MAXIMPLEMENTATIONS);
    row->only = (uint8_t *)(row->exploring + classes);
    row->known = kernel;
    row->kernel = kernel->number;
    row->size = kernel_size(told->flops, told->bytes > 0 ? told->bytes : bytes_of(node));
    row->name = kernel->name;
    row->rounded = told->footprint != 0;
    for (uint32_t c = 0; c < classes; c++) {
        if (!fill_class(row, task, kernel, node->context->id, c, told, node->footprint)) {
            free(row);
            return NULL;
        }
    }
    estimate(row, row->time_ns);
    look_how_short(row);
    return row;
}

void row_key(struct node *node) {
    const struct sy_starpu_told *told = &node->told;
    node->footprint =
        told->footprint ? told->footprint : footprint_of(node->task, node->context->id);
    node->row_key = kernel_key(node->task, node->footprint);
}

struct row *row_of(struct node *node) {
    struct sy_chains *rows = &sy_shared.rows;
    struct row *row = sy_chains_find(rows, node->row_key);
    if (!row) {
        row = make_row(node);
        if (row && sy_chains_add(rows, &row->link, node->row_key)) {
            free(row);
            return NULL;
        }
        if (row) {
            note_knowing(row);
        }
    }
    return row;
}

void row_free_all(void) {
    struct sy_chains *rows = &sy_shared.rows;
    for (uint32_t b = 0; b < rows->width; b++) {
        for (struct sy_chained *link = rows->buckets[b], *next; link; link = next) {
            next = link->next;
            free((struct row *)link);
        }
    }
    sy_chains_finish(rows);
}
