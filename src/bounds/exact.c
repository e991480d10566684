/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimum of a small graph by branch and bound.
 *
 * In: workload, node limit. Out: an optimal plan, or the best found. Never knows: policies.
 *
 * A node is a set of placed tasks; a branch appends one ready task to one device. Two rules cut
 * what is equivalent. (1) Tasks are appended in order of (start, end, topological rank): sorting an
 * optimal schedule so and shifting it left only makes it earlier. (2) Of the devices of one class
 * and memory only the one free first is tried: nothing later starts before this task does, so
 * exchanging all that follows on two such devices changes no time. Invariant: every bound used
 * holds for all completions of the node.
 */
#include "bounds/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX      256u  /* tasks; recursion is that deep */
#define FIRST_TRIALS   500u  /* of annealing, for the first incumbent */
#define FEW_TASKS      10u   /* so few are searched faster than annealed */
#define EQUAL          1e-12 /* relative: improvements below it are rounding */
#define INCUMBENT_SEED 1u

struct key {
    double start_ns, end_ns;
    uint32_t rank;
};

struct branch {
    double bound_ns;
    struct key key;
    uint32_t task, device;
};

struct search {
    struct sy_bound_model model;
    double *tail_ns;      /* [task * group_count + group]: from start there to the end, at least */
    uint32_t *rank;       /* position in topological order */
    double *price;        /* per class, see sy_cost_area_prices */
    double *cost;         /* per task at those prices */
    double cost_left;     /* of the unplaced */
    double *free_ns;      /* per device */
    uint32_t *first_free; /* per group, of the node at hand */
    uint32_t *waiting, *ready;
    uint32_t ready_count, placed_count;
    struct sy_schedule work, *best;
    struct branch *branches; /* a stack, shared by all depths */
    uint32_t branch_count, branch_capacity;
    uint64_t nodes, node_limit;
    int status;
};

/* Least time from the start of task on group to the end: each way down on its own, transfers in. */
static double tail_on_group(const struct search *search, uint32_t task, uint32_t group) {
    const struct sy_bound_model *model = &search->model;
    const struct sy_workload *workload = model->workload;
    double below = 0;
    for (uint32_t e = workload->succ_start[task]; e < workload->succ_start[task + 1]; e++) {
        uint32_t next = workload->succ[e], in = workload->pred_start[next];
        while (workload->pred[in] != task) {
            in++;
        }
        double least = INFINITY;
        for (uint32_t g = 0; g < model->group_count; g++) {
            double hop = sy_bound_hop_ns(model, model->group_memory[group], model->group_memory[g],
                                         model->edge_bytes[in]);
            least = fmin(least, hop + search->tail_ns[(size_t)next * model->group_count + g]);
        }
        below = fmax(below, least);
    }
    return below + sy_bound_time_ns(model, task, model->group_class[group]);
}

static void fill_tables(struct search *search) {
    const struct sy_bound_model *model = &search->model;
    const struct sy_workload *workload = model->workload;
    for (uint32_t i = model->task_count; i-- > 0;) {
        uint32_t task = workload->order[i];
        search->rank[task] = i;
        for (uint32_t g = 0; g < model->group_count; g++) {
            search->tail_ns[(size_t)task * model->group_count + g] = tail_on_group(search, task, g);
        }
    }
    sy_cost_area_prices(workload, 0, workload->task_count, search->price);
    for (uint32_t t = 0; t < model->task_count; t++) {
        search->cost[t] = INFINITY;
        for (uint32_t c = 0; c < model->class_count; c++) {
            double time = sy_bound_time_ns(model, t, c);
            search->cost[t] =
                isfinite(time) ? fmin(search->cost[t], search->price[c] * time) : search->cost[t];
        }
        search->cost_left += search->cost[t];
        search->waiting[t] = workload->pred_start[t + 1] - workload->pred_start[t];
        if (search->waiting[t] == 0) {
            search->ready[search->ready_count++] = t;
        }
    }
}

static int search_alloc(struct search *search) {
    const struct sy_bound_model *model = &search->model;
    struct sy_arena *arena = model->arena;
    size_t tasks = model->task_count;
    search->tail_ns = sy_arena_alloc(arena, tasks * model->group_count + 1, sizeof(double));
    search->rank = sy_arena_alloc(arena, tasks + 1, sizeof(uint32_t));
    search->price = sy_arena_alloc(arena, model->class_count, sizeof(double));
    search->cost = sy_arena_alloc(arena, tasks + 1, sizeof(double));
    search->free_ns = sy_arena_alloc(arena, model->device_count, sizeof(double));
    search->first_free = sy_arena_alloc(arena, model->group_count, sizeof(uint32_t));
    search->waiting = sy_arena_alloc(arena, tasks + 1, sizeof(uint32_t));
    search->ready = sy_arena_alloc(arena, tasks + 1, sizeof(uint32_t));
    if (search->tail_ns == NULL || search->rank == NULL || search->price == NULL ||
        search->cost == NULL || search->free_ns == NULL || search->first_free == NULL ||
        search->waiting == NULL || search->ready == NULL) {
        return -ENOMEM;
    }
    return sy_schedule_init(&search->work, model->task_count);
}

static bool hopeless(const struct search *search, double bound_ns) {
    return bound_ns >= search->best->makespan_ns * (1 - EQUAL);
}

/* All devices' income from now on must pay for what is left. */
static double area_left_ns(const struct search *search, double now_ns) {
    const struct sy_bound_model *model = &search->model;
    double bound = search->cost_left;
    for (uint32_t d = 0; d < model->device_count; d++) {
        bound += search->price[model->machine->devices[d].class_index] *
                 fmax(now_ns, search->free_ns[d]);
    }
    return bound;
}

static void find_first_free(struct search *search) {
    const struct sy_bound_model *model = &search->model;
    for (uint32_t g = 0; g < model->group_count; g++) {
        search->first_free[g] = SY_NONE;
    }
    for (uint32_t d = 0; d < model->device_count; d++) {
        uint32_t *first = &search->first_free[model->device_group[d]];
        if (*first == SY_NONE || search->free_ns[d] < search->free_ns[*first]) {
            *first = d;
        }
    }
}

static bool comes_after(const struct key *key, const struct key *last) {
    if (key->start_ns != last->start_ns) {
        return key->start_ns > last->start_ns;
    }
    if (key->end_ns != last->end_ns) {
        return key->end_ns > last->end_ns;
    }
    return key->rank > last->rank;
}

/* Adds the branches of one ready task; returns the least bound of its ways to go on, which holds
 * for the node since the task must run somewhere, not before last. */
static double add_branches(struct search *search, uint32_t task, const struct key *last) {
    const struct sy_bound_model *model = &search->model;
    double least = INFINITY;
    for (uint32_t g = 0; g < model->group_count; g++) {
        double time = sy_bound_time_ns(model, task, model->group_class[g]);
        double arrival = sy_bound_inputs_ns(model, search->work.end_ns, search->work.device, task,
                                            model->group_memory[g]);
        uint32_t device = search->first_free[g];
        double start = fmax(arrival, search->free_ns[device]);
        double bound =
            fmax(start, last->start_ns) + search->tail_ns[(size_t)task * model->group_count + g];
        least = fmin(least, bound);
        struct key key = {start, start + time, search->rank[task]};
        if (comes_after(&key, last) && isfinite(bound) && !hopeless(search, bound)) {
            search->branches[search->branch_count++] = (struct branch){bound, key, task, device};
        }
    }
    return least;
}

static int compare_branches(const void *a, const void *b) {
    const struct branch *x = a, *y = b;
    int order = SY_ORDER(x->bound_ns, y->bound_ns);
    order = order ? order : SY_ORDER(x->key.start_ns, y->key.start_ns);
    order = order ? order : SY_ORDER(x->task, y->task);
    return order ? order : SY_ORDER(x->device, y->device);
}

/* Branches of a node on top of the stack, most promising first. False: the node is hopeless. */
static bool expand(struct search *search, const struct key *last, double bound_ns) {
    uint32_t first = search->branch_count;
    uint32_t most = first + search->ready_count * search->model.group_count;
    int r = sy_grow(&search->branches, &search->branch_capacity, most, sizeof(struct branch));
    if (r < 0) {
        search->status = r;
        return false;
    }
    find_first_free(search);
    bound_ns = fmax(bound_ns, area_left_ns(search, last->start_ns));
    for (uint32_t i = 0; i < search->ready_count && !hopeless(search, bound_ns); i++) {
        bound_ns = fmax(bound_ns, add_branches(search, search->ready[i], last));
    }
    if (hopeless(search, bound_ns)) {
        search->branch_count = first;
        return false;
    }
    qsort(&search->branches[first], search->branch_count - first, sizeof(struct branch),
          compare_branches);
    return true;
}

/* What placing a task changes and taking it back must restore. */
struct undo {
    uint32_t ready_at, ready_count;
    double free_ns, cost_left; /* kept, not recomputed: sums would drift over many nodes */
};

static struct undo place(struct search *search, const struct branch *branch) {
    const struct sy_workload *workload = search->model.workload;
    uint32_t task = branch->task;
    struct undo undo = {0, search->ready_count, search->free_ns[branch->device], search->cost_left};
    while (search->ready[undo.ready_at] != task) {
        undo.ready_at++;
    }
    search->ready[undo.ready_at] = search->ready[--search->ready_count];
    for (uint32_t e = workload->succ_start[task]; e < workload->succ_start[task + 1]; e++) {
        if (--search->waiting[workload->succ[e]] == 0) {
            search->ready[search->ready_count++] = workload->succ[e];
        }
    }
    search->free_ns[branch->device] = branch->key.end_ns;
    search->work.device[task] = branch->device;
    search->work.start_ns[task] = branch->key.start_ns;
    search->work.end_ns[task] = branch->key.end_ns;
    search->cost_left -= search->cost[task];
    search->placed_count++;
    return undo;
}

static void take_back(struct search *search, const struct branch *branch, const struct undo *undo) {
    const struct sy_workload *workload = search->model.workload;
    uint32_t task = branch->task;
    for (uint32_t e = workload->succ_start[task]; e < workload->succ_start[task + 1]; e++) {
        search->waiting[workload->succ[e]]++;
    }
    search->ready_count = undo->ready_count;
    search->ready[undo->ready_count - 1] = search->ready[undo->ready_at];
    search->ready[undo->ready_at] = task;
    search->free_ns[branch->device] = undo->free_ns;
    search->cost_left = undo->cost_left;
    search->placed_count--;
}

static void visit(struct search *search, const struct key *last, double makespan_ns,
                  double bound_ns) {
    if (search->placed_count == search->model.task_count) {
        search->work.makespan_ns = makespan_ns;
        sy_schedule_copy(&search->work, search->best);
        return;
    }
    if (search->nodes >= search->node_limit) {
        search->status = -E2BIG;
        return;
    }
    search->nodes++;
    uint32_t first = search->branch_count;
    if (!expand(search, last, bound_ns)) {
        return;
    }
    uint32_t end = search->branch_count;
    for (uint32_t i = first; i < end && search->status == 0; i++) {
        struct branch branch = search->branches[i];
        double bound = fmax(bound_ns, branch.bound_ns);
        if (hopeless(search, bound)) {
            break;
        }
        struct undo undo = place(search, &branch);
        visit(search, &branch.key, fmax(makespan_ns, branch.key.end_ns), bound);
        take_back(search, &branch, &undo);
    }
    search->branch_count = first;
}

/* Starts from a short annealing; a plan that meets the lower bound needs no search. */
static int solve(struct search *search, const struct sy_workload *workload) {
    bool worth = workload->task_count > FEW_TASKS && workload->task_count <= DEPTH_MAX;
    uint64_t trials = worth ? FIRST_TRIALS : 0;
    int r = sy_bound_anneal(workload, INCUMBENT_SEED, trials, NULL, search->best);
    if (r < 0) {
        return r;
    }
    double lower = fmax(sy_bound_critical_path_ns(workload), sy_bound_area_ns(workload));
    if (hopeless(search, lower)) {
        return 0;
    }
    if (workload->task_count > DEPTH_MAX) {
        return -E2BIG;
    }
    r = sy_bound_model_init(&search->model, workload);
    if (r == 0) {
        r = search_alloc(search);
    }
    if (r < 0) {
        return r;
    }
    fill_tables(search);
    const struct key before = {-1, -1, 0};
    visit(search, &before, 0, lower);
    return search->status;
}

int sy_bound_exact(const struct sy_workload *workload, uint64_t node_limit,
                   struct sy_schedule *ret_plan, uint64_t *ret_nodes) {
    SY_ASSERT(ret_plan->task_count == workload->task_count);
    struct sy_schedule best;
    int r = sy_schedule_init(&best, workload->task_count);
    if (r < 0) {
        return r;
    }
    struct search search = {.best = &best, .node_limit = node_limit};
    r = solve(&search, workload);
    if (r == 0 || r == -E2BIG) {
        sy_schedule_copy(&best, ret_plan);
        *ret_nodes = search.nodes;
    }
    free(search.branches);
    sy_schedule_finish(&search.work);
    sy_schedule_finish(&best);
    sy_bound_model_finish(&search.model);
    return r;
}
