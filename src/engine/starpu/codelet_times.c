/* SPDX-License-Identifier: Apache-2.0
 *
 * How long does this codelet take on data of this footprint, on each class of device: the middle of
 * what was measured (cost store), else what the program's own models say, or what another build of
 * it took, else what other sizes suggest, else what other kernels suggest of that class: an unknown
 * class is tried, but by no more tasks at a time than its estimate needs to be believed.
 */
#include "base/elf_file.h"
#include "engine/starpu/status.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_NS     1e5 /* where no class is known */
#define SHORT_NS       5e3 /* a decision takes about as long, with all that belongs to it */
#define SHORT_ALONE_NS 5e4 /* ten times that */
#define LENGTHS        64u /* tasks that a kernel's mean is of, about, */
#define LENGTHS_LEAST  8u  /* and from which on it says something */
#define HOPED_RATIO    .1  /* of a core's time, on an accelerator of which nothing is known */
#define ENOUGH_RATIO   20. /* how slow a class under trial looks to further tasks */
#define RATIO_MAX      255 /* rows that say how long a class takes of what another does */
#define REFRESH_CHANGE .1  /* waiting tasks are told when an estimate moved by more, and */
#define REFRESH_NS     400 /* not again before so long, times their number: a few % of the time */

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static uintptr_t function_of(const struct starpu_task *task) {
    const struct starpu_codelet *cl = task->cl;
    return cl->cpu_funcs[0]    ? (uintptr_t)cl->cpu_funcs[0]
           : cl->cuda_funcs[0] ? (uintptr_t)cl->cuda_funcs[0]
                               : (uintptr_t)cl->opencl_funcs[0];
}

/* Of what has its functions. */
static uint64_t build_of(const struct starpu_task *task) {
    return sy_elf_loaded_identity((const void *)function_of(task));
}

/* Codelets without a name are told apart by where their code is, in which build. */
#define NAME_BYTES 64
#define UNNAMED    "unnamed."
static const char *name_of(struct starpu_task *task, char *room) {
    const struct starpu_codelet *cl = task->cl;
    const char *name = cl->model && cl->model->symbol ? cl->model->symbol : cl->name;
    name = name ? name : starpu_task_get_name(task);
    if (name) {
        return name;
    }
    Dl_info info = {0};
    uintptr_t function = function_of(task);
    uintptr_t base =
        dladdr((const void *)function, &info) && info.dli_fbase ? (uintptr_t)info.dli_fbase : 0;
    snprintf(room, NAME_BYTES, UNNAMED "%" PRIx64 ".%" PRIxPTR, build_of(task), function - base);
    return room;
}

/* Under which name times are kept. Programs often call their codelets alike: the program, or the
 * library, that has the function belongs to the name. The engine's kernels have names of their own.
 */
#define STORED_BYTES 256
static const char *stored_name(const struct starpu_task *task, const char *name, char *room) {
    Dl_info info = {0};
    if (sy_shared.options.describe || strncmp(name, UNNAMED, strlen(UNNAMED)) == 0 ||
        !dladdr((const void *)function_of(task), &info) || !info.dli_fname) {
        return name;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(room, STORED_BYTES, "%.100s:%.150s", slash ? slash + 1 : info.dli_fname, name);
    return room;
}

static uint64_t footprint_of(struct starpu_task *task, unsigned context) {
    struct starpu_perfmodel *model = task->cl->model;
    if (model && (model->footprint || model->size_base)) {
        struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(0, context);
        return starpu_task_footprint(model, task, arch, 0);
    }
    return starpu_task_data_footprint(task);
}

/* Codelets may live on a stack that is used again, so their functions belong to the key. */
static uint64_t key_of(const struct starpu_task *task, uint64_t footprint) {
    const struct starpu_codelet *cl = task->cl;
    uint64_t key = mix(UINT64_C(0xcbf29ce484222325), footprint);
    key = mix(key, (uintptr_t)cl);
    key = mix(key, (uintptr_t)cl->cpu_funcs[0] ^ ((uint64_t)cl->where << 32));
    key = mix(key, (uintptr_t)cl->opencl_funcs[0]);
    return mix(key, (uintptr_t)cl->cuda_funcs[0] ^ (uint64_t)task->where);
}

static uint32_t kernel_number(const char *name) {
    struct shared *s = &sy_shared;
    uint32_t number = 0;
    if (sy_map_get(&s->kernels, name, strlen(name), &number)) {
        return number;
    }
    const char *copy = sy_arena_strdup(s->names, name);
    if (copy && sy_map_put(&s->kernels, copy, strlen(copy), s->kernel_count) == 0) {
        return s->kernel_count++;
    }
    return SY_LIVE_KERNELS - 1;
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

/* How long class c takes of what class k takes: the median over rows that know both; else an
 * accelerator is hoped to be somewhat faster than a core. */
static double class_ratio(uint32_t c, uint32_t k) {
    const struct shared *s = &sy_shared;
    double ratios[RATIO_MAX];
    uint32_t count = 0;
    for (uint32_t b = 0; b < s->rows.width; b++) {
        for (const struct sy_chained *link = s->rows.buckets[b]; link && count < RATIO_MAX;
             link = link->next) {
            const struct row *r = (const struct row *)link;
            if (r->cells[c] && r->cells[k] && trusted(r, c) && trusted(r, k)) {
                ratios[count++] = known_ns(r, c) / known_ns(r, k);
            }
        }
    }
    bool hope = s->machine->classes[c].kind != SY_CPU && s->machine->classes[k].kind == SY_CPU;
    return count ? sy_quantile(ratios, count, 0.5) : hope ? HOPED_RATIO : 1;
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

static struct kernel_length *length_of(const struct row *row) {
    uint32_t kernel = row->kernel < SY_LIVE_KERNELS ? row->kernel : SY_LIVE_KERNELS - 1;
    return &sy_shared.lengths[kernel];
}

static void note_length(const struct row *row, double duration_ns) {
    struct kernel_length *length = length_of(row);
    length->count += length->count < LENGTHS;
    length->mean_ns += (duration_ns - length->mean_ns) / length->count;
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
    double most_ns = able == 1 ? SHORT_ALONE_NS : SHORT_NS, time_ns = row->time_ns[best];
    if (!sure && able == 1 && length_of(row)->count >= LENGTHS_LEAST) {
        time_ns = length_of(row)->mean_ns;
        sure = true;
    }
    row->short_class = sure && time_ns < most_ns ? best : SY_NONE;
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
        note_length(row, duration_ns);
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

static bool fill_class(struct row *row, struct starpu_task *task, const char *name,
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
        row->cells[c] = sy_store_cell(sy_shared.store, name, m->classes[c].name, told->bytes,
                                      told->flops, footprint);
        if (row->cells[c]) {
            take_prior(row, c);
        }
        return row->cells[c] != NULL;
    }
    return true;
}

static struct row *make_row(struct starpu_task *task, unsigned context,
                            const struct sy_starpu_told *told, uint64_t footprint) {
    uint32_t classes = sy_shared.machine->class_count;
    size_t each = sizeof(void *) + 2 * sizeof(double) + sizeof(uint32_t) + 1 +
                  STARPU_MAXIMPLEMENTATIONS * sizeof(struct implementation);
    struct row *row = classes <= 64 ? calloc(1, sizeof *row + classes * each) : NULL;
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
    char room[NAME_BYTES], stored_room[STORED_BYTES];
    const char *name = name_of(task, room), *stored = stored_name(task, name, stored_room);
    row->kernel = kernel_number(name);
    row->name = sy_arena_strdup(sy_shared.names, name);
    status_name_kernel(row->kernel, name);
    row->rounded = told->footprint != 0;
    uint64_t build = sy_shared.options.describe ? told->build : build_of(task);
    bool known = !sy_store_set_build(sy_shared.store, stored, build);
    for (uint32_t c = 0; c < classes; c++) {
        if (!known || !fill_class(row, task, stored, context, c, told, footprint)) {
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
    node->row_key = key_of(node->task, node->footprint);
}

struct row *row_of(struct node *node) {
    struct sy_chains *rows = &sy_shared.rows;
    struct row *row = sy_chains_find(rows, node->row_key);
    if (!row) {
        row = make_row(node->task, node->context->id, &node->told, node->footprint);
        if (row && sy_chains_add(rows, &row->link, node->row_key)) {
            free(row);
            return NULL;
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
