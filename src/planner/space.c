/* SPDX-License-Identifier: Apache-2.0
 *
 * The space that is searched: down-sets of the kernels, shapes there are devices for, numbers of
 * devices in use, ways between shapes.
 *
 * In: a problem. Out: flat tables. Invariant: cuts are sorted by size, so that what comes before in
 * a plan comes before in the table; a use's index is the sum of its parts, so that devices left are
 * the last index less those used.
 */
#include "planner/search.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- memory, kept between calls ----------------------------------------------------------------
 */
int sy_plan_block_reserve(struct sy_plan_block *block, size_t size) {
    block->taken = 0;
    if (size <= block->size) {
        return 0;
    }
    char *memory = malloc(size);
    if (!memory) {
        return -ENOMEM;
    }
    free(block->memory);
    block->memory = memory;
    block->size = size;
    return 0;
}

void *sy_plan_block_take(struct sy_plan_block *block, size_t count, size_t size) {
    char *start = block->memory + block->taken;
    block->taken += (count * size + 63) / 64 * 64;
    SY_ASSERT(block->taken <= block->size);
    return start;
}

/* --- down-sets ---------------------------------------------------------------------------------
 */
static int too_many_cuts(struct sy_error *error) {
    sy_fail(error, -E2BIG, "the graph has more than %u down-sets: too wide for an exact plan",
            SY_PLAN_CUT_MAX);
    sy_hint(error, "join kernels that run side by side, or plan parts of the graph on their own");
    return -E2BIG;
}

/* Each kernel is in or out, in an order in which they can run: every leaf is another down-set. An
 * explicit stack: the kernels that are in and may still be taken out. */
static int find_cuts(struct sy_plan_space *space, struct sy_error *error) {
    const struct sy_plan_order *order = &space->order;
    uint32_t n = space->problem->kernel_count;
    uint64_t set = 0;
    uint32_t position = 0;
    space->cut_count = 0;
    for (;;) {
        for (; position < n; position++) {
            uint32_t k = order->order[position];
            set |= order->before[k] & ~set ? 0 : 1ull << k;
        }
        if (space->cut_count == SY_PLAN_CUT_MAX) {
            return too_many_cuts(error);
        }
        if (sy_grow(&space->cuts, &space->cut_capacity, space->cut_count + 1,
                    sizeof *space->cuts)) {
            return -ENOMEM;
        }
        space->cuts[space->cut_count++].kernels = set;
        while (position && !(set >> order->order[position - 1] & 1)) {
            position--;
        }
        if (!position) {
            return 0;
        }
        set &= ~(1ull << order->order[position - 1]); /* out, and on with the one behind it */
    }
}

/* By size; qsort would allocate. */
static int sort_cuts(struct sy_plan_space *space) {
    uint32_t first[SY_PLAN_KERNEL_MAX + 2] = {0};
    if (sy_grow(&space->found, &space->found_capacity, space->cut_count, sizeof *space->found)) {
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < space->cut_count; c++) {
        space->found[c] = space->cuts[c];
        first[__builtin_popcountll(space->cuts[c].kernels) + 1]++;
    }
    for (uint32_t size = 1; size < SY_COUNT(first); size++) {
        first[size] += first[size - 1];
    }
    for (uint32_t c = 0; c < space->cut_count; c++) {
        space->cuts[first[__builtin_popcountll(space->found[c].kernels)]++] = space->found[c];
    }
    return 0;
}

static void measure_cuts(struct sy_plan_space *space) {
    const struct sy_plan_problem *problem = space->problem;
    for (uint32_t c = 0; c < space->cut_count; c++) {
        uint64_t done = space->cuts[c].kernels;
        double bytes = 0;
        for (uint32_t i = 0; i < problem->datum_count; i++) {
            const struct sy_plan_datum *datum = &problem->data[i];
            bool there = datum->producer == SY_NONE || (done >> datum->producer & 1);
            bool wanted = datum->output || (datum->readers & ~done);
            bytes += there && wanted ? datum->bytes : 0;
        }
        space->cuts[c].bytes = bytes;
    }
}

/* --- shapes, uses, ways ------------------------------------------------------------------------
 */
static int count_states(struct sy_plan_space *space, struct sy_error *error) {
    const struct sy_plan_problem *problem = space->problem;
    uint64_t uses = 1;
    space->form_count = 0;
    space->memory_limited = false;
    for (uint32_t i = 0; i < problem->class_count; i++) {
        space->stride[i] = (uint32_t)uses;
        uses *= problem->classes[i].device_count + 1;
        space->memory_limited |= problem->classes[i].memory_bytes < INFINITY;
    }
    for (uint32_t s = 0; s < problem->shape_count; s++) {
        const struct sy_plan_shape *shape = &problem->shapes[s];
        uint32_t devices = problem->classes[shape->class_index].device_count;
        if (shape->width <= devices) {
            space->forms[space->form_count++] =
                (struct sy_plan_form){s, shape->class_index, shape->width, devices / shape->width,
                                      shape->width * space->stride[shape->class_index]};
        }
    }
    if (space->form_count == 0) {
        return sy_fail(error, -ENODEV, "there are no devices for kernel %s",
                       problem->kernels[0].name);
    }
    uint64_t states = uses * space->cut_count * space->form_count;
    if (states > SY_PLAN_STATE_MAX) {
        sy_fail(error, -E2BIG, "%llu states (down-sets, devices used, shapes); at most %u",
                (unsigned long long)states, SY_PLAN_STATE_MAX);
        sy_hint(error, "use fewer devices or fewer widths");
        return -E2BIG;
    }
    space->row = (space->form_count + 1) & ~1u;
    space->use_count = (uint32_t)uses;
    return 0;
}

static void fill_uses(struct sy_plan_space *space) {
    const struct sy_plan_problem *problem = space->problem;
    uint32_t counts[SY_PLAN_CLASS_MAX] = {0};
    for (uint32_t u = 0; u < space->use_count; u++) {
        struct sy_plan_use use = {{0}, 0, 0};
        for (uint32_t i = 0; i < problem->class_count; i++) {
            use.counts[i] = (uint8_t)counts[i];
            use.idle_watts += counts[i] * problem->classes[i].idle_watts;
            use.price_per_s += counts[i] * problem->classes[i].price_per_s;
        }
        space->uses[u] = use;
        for (uint32_t i = 0; i < problem->class_count; i++) {
            if (counts[i]++ < problem->classes[i].device_count) {
                break;
            }
            counts[i] = 0;
        }
    }
}

static struct sy_plan_way make_way(const struct sy_plan_link *link, uint32_t lanes) {
    return (struct sy_plan_way){link->latency_ns, link->bytes_per_s * lanes, link->joules_per_byte};
}

static void fill_ways(struct sy_plan_space *space) {
    const struct sy_plan_problem *problem = space->problem;
    uint32_t host = problem->class_count;
    for (uint32_t t = 0; t < space->form_count; t++) {
        const struct sy_plan_form *to = &space->forms[t];
        struct sy_plan_way *row = space->ways + t * (space->form_count + 1);
        for (uint32_t f = 0; f < space->form_count; f++) {
            const struct sy_plan_form *from = &space->forms[f];
            uint32_t lanes = from->width < to->width ? from->width : to->width;
            uint32_t link = from->class_index * (host + 1) + to->class_index;
            row[f] = make_way(&problem->links[link], lanes);
        }
        row[space->form_count] =
            make_way(&problem->links[host * (host + 1) + to->class_index], to->width);
        space->out[t] = make_way(&problem->links[to->class_index * (host + 1) + host], to->width);
    }
}

static void copy_times(struct sy_plan_space *space) {
    const struct sy_plan_problem *problem = space->problem;
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        for (uint32_t f = 0; f < space->form_count; f++) {
            uint32_t at = k * problem->shape_count + space->forms[f].shape;
            space->costs[k * space->form_count + f] = (struct sy_plan_work){
                .compute_ns = problem->time_ns[at], .joules = problem->joules[at]};
        }
    }
}

static int lay_out(struct sy_plan_space *space) {
    size_t forms = space->form_count, kernels = space->problem->kernel_count;
    size_t size = kernels * forms * sizeof(struct sy_plan_work) +
                  forms * (forms + 2) * sizeof(struct sy_plan_way) +
                  space->use_count * sizeof(struct sy_plan_use) +
                  forms * sizeof(struct sy_plan_work);
    size += 5 * 64; /* alignment of five tables */
    if (sy_plan_block_reserve(&space->block, size)) {
        return -ENOMEM;
    }
    space->costs = sy_plan_block_take(&space->block, kernels * forms, sizeof(struct sy_plan_work));
    space->ways =
        sy_plan_block_take(&space->block, forms * (forms + 1), sizeof(struct sy_plan_way));
    space->out = sy_plan_block_take(&space->block, forms, sizeof(struct sy_plan_way));
    space->uses = sy_plan_block_take(&space->block, space->use_count, sizeof(struct sy_plan_use));
    space->work = sy_plan_block_take(&space->block, forms, sizeof(struct sy_plan_work));
    return 0;
}

int sy_plan_space_prepare(struct sy_plan_space *space, const struct sy_plan_problem *problem,
                          struct sy_error *error) {
    space->problem = problem;
    space->work_from = SY_NONE;
    int code = sy_plan_check(problem, &space->order, error);
    code = code ? code : find_cuts(space, error);
    code = code ? code : sort_cuts(space);
    code = code ? code : count_states(space, error);
    code = code ? code : lay_out(space);
    if (code) {
        return code == -ENOMEM ? sy_fail(error, code, "out of memory") : code;
    }
    measure_cuts(space);
    fill_uses(space);
    fill_ways(space);
    copy_times(space);
    return 0;
}

void sy_plan_space_finish(struct sy_plan_space *space) {
    free(space->cuts);
    free(space->found);
    free(space->block.memory);
}

/* --- stages ------------------------------------------------------------------------------------
 */
static void drop_what_does_not_fit(const struct sy_plan_space *space, uint64_t kernels) {
    const struct sy_plan_problem *problem = space->problem;
    double resident = 0, moving = 0;
    for (uint64_t left = kernels; left; left &= left - 1) {
        resident += problem->kernels[__builtin_ctzll(left)].resident_bytes;
    }
    for (uint32_t i = 0; i < problem->datum_count; i++) {
        const struct sy_plan_datum *datum = &problem->data[i];
        bool made = datum->producer != SY_NONE && (kernels >> datum->producer & 1);
        moving += made || (datum->readers & kernels) ? datum->bytes : 0;
    }
    for (uint32_t f = 0; f < space->form_count; f++) {
        const struct sy_plan_form *form = &space->forms[f];
        space->work[f].possible &=
            resident + 2 * moving / form->width <= problem->classes[form->class_index].memory_bytes;
    }
}

/* Sums go on where the last call left them if the stage only grew by later kernels: along a chain
 * every stage costs one addition. */
bool sy_plan_space_work(struct sy_plan_space *space, uint32_t from, uint32_t to) {
    uint64_t kernels = space->cuts[to].kernels & ~space->cuts[from].kernels;
    uint64_t added = kernels & ~space->work_kernels;
    uint32_t forms = space->form_count;
    struct sy_plan_work *restrict work = space->work;
    bool any = false, last = to + 1 == space->cut_count;
    if (from != space->work_from || (space->work_kernels & ~kernels) ||
        (added & -added) <= space->work_kernels) {
        memset(work, 0, forms * sizeof *work);
        added = kernels;
    }
    for (uint64_t left = added; left; left &= left - 1) {
        const struct sy_plan_work *restrict more =
            space->costs + (uint32_t)__builtin_ctzll(left) * forms;
        for (uint32_t f = 0; f < forms; f++) {
            work[f].compute_ns += more[f].compute_ns;
            work[f].joules += more[f].joules;
        }
    }
    space->work_from = last ? SY_NONE : from; /* what the way out adds is no kernel's */
    space->work_kernels = kernels;
    for (uint32_t f = 0; f < forms; f++) {
        work[f].possible = work[f].compute_ns < INFINITY;
        any |= work[f].possible;
        if (last) {
            double bytes = space->cuts[to].bytes;
            work[f].out_ns = sy_plan_way_ns(&space->out[f], bytes);
            work[f].joules += bytes * space->out[f].joules_per_byte;
        }
    }
    if (any && space->memory_limited) {
        drop_what_does_not_fit(space, kernels);
    }
    return any;
}
