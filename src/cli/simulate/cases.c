/* SPDX-License-Identifier: Apache-2.0
 *
 * cases: which workloads are run, with which seeds.
 *
 * In: graphs and a machine. Out: cases in a fixed order, each with its lower bound. Invariant: a
 * stream's arrivals depend on its seed alone, so that every policy meets the same jobs.
 */
#include "bounds/bounds.h"
#include "cli/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>

static int create_workload(struct sy_simulate *simulate, const struct sy_job *jobs, uint32_t count,
                           struct sy_workload **ret_workload) {
    const struct sy_simulate_args *args = simulate->args;
    struct sy_workload_options options = {.accelerate = args->accelerate_given,
                                          .accelerate_seed = args->accelerate,
                                          .store = simulate->store};
    struct sy_error error = {0};
    int r = sy_workload_create(simulate->machine, jobs, count, &options, ret_workload, &error);
    return sy_message_code(r, &error);
}

static double bound_ns(const struct sy_workload *workload) {
    double bound = sy_bound_area_ns(workload);
    if (workload->job_count == 1) {
        return fmax(bound, sy_bound_critical_path_ns(workload));
    }
    for (uint32_t j = 0; j < workload->job_count; j++) {
        bound = fmax(bound, workload->jobs[j].arrive_ns + workload->job_isolated_ns[j]);
    }
    return bound;
}

/* --- tasks in parts -----------------------------------------------------------------------------
 * Jobs arrive, and are judged, as if they were whole: what parts cost is no excuse. */
static int cut_graphs(struct sy_simulate *simulate) {
    uint32_t count = simulate->graphs.count;
    int r = SY_EXIT_OK;
    simulate->isolated_ns = sy_need(sy_arena_alloc(simulate->arena, count + 1u, sizeof(double)));
    for (uint32_t g = 0; g < count && r == SY_EXIT_OK; g++) {
        struct sy_job job = {.graph = simulate->graphs.graphs[g], .weight = 1};
        struct sy_workload *workload = NULL;
        struct sy_graph *cut = NULL;
        struct sy_error error = {0};
        r = create_workload(simulate, &job, 1, &workload);
        if (r != SY_EXIT_OK) {
            return r;
        }
        simulate->isolated_ns[g] = workload->job_isolated_ns[0];
        sy_workload_destroy(workload);
        int code = sy_graph_cut(job.graph, &simulate->cut, &cut);
        code = code ? sy_fail(&error, code, "graph %s is too large to be split",
                              sy_graph_name(job.graph))
                    : sy_graph_list_adopt(&simulate->cuts, cut);
        r = sy_message_code(code, &error);
    }
    return r;
}

static uint32_t find_graph(const struct sy_graph_list *list, const struct sy_graph *graph) {
    uint32_t g = 0;
    while (list->graphs[g] != graph) {
        g++;
    }
    return g;
}

/* What is run, and the bound that it is compared with. */
static int lay_jobs(struct sy_simulate *simulate, const struct sy_job *jobs, uint32_t count,
                    struct sy_workload **ret_workload, double *ret_bound_ns) {
    struct sy_workload *whole = NULL;
    int r = create_workload(simulate, jobs, count, &whole);
    if (r != SY_EXIT_OK) {
        return r;
    }
    *ret_bound_ns = bound_ns(whole);
    *ret_workload = whole;
    if (simulate->cuts.count == 0) {
        return SY_EXIT_OK;
    }
    sy_workload_destroy(whole);
    struct sy_job *cut = sy_need(calloc(count + 1u, sizeof *cut));
    for (uint32_t j = 0; j < count; j++) {
        cut[j] = jobs[j];
        cut[j].graph = simulate->cuts.graphs[find_graph(&simulate->graphs, jobs[j].graph)];
    }
    r = create_workload(simulate, cut, count, ret_workload);
    free(cut);
    for (uint32_t j = 0; r == SY_EXIT_OK && j < count; j++) {
        uint32_t graph = find_graph(&simulate->cuts, (*ret_workload)->jobs[j].graph);
        (*ret_workload)->job_isolated_ns[j] = simulate->isolated_ns[graph];
    }
    return r;
}

static int add_case(struct sy_simulate *simulate, const char *graph, uint64_t seed,
                    const struct sy_workload *workload, double bound) {
    size_t policies = simulate->policies.count;
    struct sy_case *item = &simulate->cases[simulate->case_count];
    *item = (struct sy_case){
        .graph = graph,
        .seed = seed,
        .workload = workload,
        .bound_ns = bound,
        .runs = sy_arena_alloc(simulate->arena, policies, sizeof(struct sy_run)),
        .slowdowns =
            sy_arena_alloc(simulate->arena, policies * workload->job_count, sizeof(double)),
    };
    if (!item->runs || !item->slowdowns) {
        return sy_no_memory();
    }
    simulate->case_count++;
    return SY_EXIT_OK;
}

/* Each graph alone. */
static int single_cases(struct sy_simulate *simulate) {
    const struct sy_simulate_args *args = simulate->args;
    int r = SY_EXIT_OK;
    for (uint32_t g = 0; g < simulate->graphs.count && r == SY_EXIT_OK; g++) {
        const struct sy_graph *graph = simulate->graphs.graphs[g];
        struct sy_job job = {.graph = graph, .weight = 1};
        struct sy_workload *workload = NULL;
        double bound = 0;
        r = lay_jobs(simulate, &job, 1, &workload, &bound);
        if (r != SY_EXIT_OK) {
            return r;
        }
        simulate->workloads[simulate->workload_count++] = workload;
        for (uint32_t s = 0; s < args->seeds && r == SY_EXIT_OK; s++) {
            r = add_case(simulate, sy_graph_name(graph), args->seed + s, workload, bound);
        }
    }
    return r;
}

/* Mean over the graphs of the time in which the whole machine could do one. */
static int mean_area(struct sy_simulate *simulate, double *ret_ns) {
    double sum = 0;
    for (uint32_t g = 0; g < simulate->graphs.count; g++) {
        struct sy_job job = {.graph = simulate->graphs.graphs[g], .weight = 1};
        struct sy_workload *workload = NULL;
        int r = create_workload(simulate, &job, 1, &workload);
        if (r != SY_EXIT_OK) {
            return r;
        }
        sum += sy_bound_area_ns(workload);
        sy_workload_destroy(workload);
    }
    *ret_ns = sum / simulate->graphs.count;
    return SY_EXIT_OK;
}

/* Poisson arrivals such that the work offered per second is the load times what the machine can
 * do: the mean gap is the mean area bound of a job divided by the load. */
static int stream_cases(struct sy_simulate *simulate) {
    const struct sy_simulate_args *args = simulate->args;
    double area_ns = 0;
    int r = mean_area(simulate, &area_ns);
    if (r != SY_EXIT_OK) {
        return r;
    }
    struct sy_job *jobs = sy_need(calloc(args->jobs, sizeof(*jobs)));
    for (uint32_t s = 0; s < args->seeds && r == SY_EXIT_OK; s++) {
        struct sy_workload *workload = NULL;
        sy_jobs_draw(args->seed + s, &simulate->graphs, args->tenants, area_ns / args->load, jobs,
                     args->jobs);
        double bound = 0;
        r = lay_jobs(simulate, jobs, args->jobs, &workload, &bound);
        if (r == SY_EXIT_OK) {
            simulate->workloads[simulate->workload_count++] = workload;
            r = add_case(simulate, "stream", args->seed + s, workload, bound);
        }
    }
    free(jobs);
    return r;
}

/* The same jobs under every seed: only what is hidden differs. */
static int recorded_cases(struct sy_simulate *simulate) {
    struct sy_workload *workload = NULL;
    double bound = 0;
    int r = lay_jobs(simulate, simulate->jobs, simulate->job_count, &workload, &bound);
    if (r != SY_EXIT_OK) {
        return r;
    }
    simulate->workloads[simulate->workload_count++] = workload;
    for (uint32_t s = 0; s < simulate->args->seeds && r == SY_EXIT_OK; s++) {
        r = add_case(simulate, "stream", simulate->args->seed + s, workload, bound);
    }
    return r;
}

int sy_simulate_cases(struct sy_simulate *simulate) {
    const struct sy_simulate_args *args = simulate->args;
    size_t workloads = args->stream ? args->seeds : simulate->graphs.count;
    size_t cases = args->stream ? args->seeds : (size_t)simulate->graphs.count * args->seeds;
    simulate->workloads =
        sy_need(sy_arena_alloc(simulate->arena, workloads, sizeof(struct sy_workload *)));
    simulate->cases = sy_need(sy_arena_alloc(simulate->arena, cases, sizeof(struct sy_case)));
    simulate->pictures =
        sy_need(sy_arena_alloc(simulate->arena, (size_t)simulate->policies.count * SY_PICTURE_COUNT,
                               sizeof(struct sy_buffer)));
    if (args->split) {
        int r = cut_graphs(simulate);
        if (r != SY_EXIT_OK) {
            return r;
        }
    }
    if (simulate->jobs) {
        return recorded_cases(simulate);
    }
    return args->stream ? stream_cases(simulate) : single_cases(simulate);
}
