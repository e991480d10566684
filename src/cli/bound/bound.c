/* SPDX-License-Identifier: Apache-2.0
 *
 * symph bound: how fast could any schedule be, and how near has a search come.
 *
 * In: a machine and graphs. Out: lower bounds, the optimum where it can be had, the best plan
 * found. Invariant: critical path, area <= mixed LP <= exact <= best found.
 */
#include "base/json.h"
#include "bounds/bounds.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/threads.h"
#include "cli/units.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

struct args {
    struct sy_common_args common;
    const char *machine;
    struct sy_text_list specs;
    struct sy_graph_args graphs;
    const char *times;
    uint64_t accelerate, seed, anneal, nodes;
    double limit_s;
    bool accelerate_given, lp, exact;
};

struct bounds {
    uint32_t task_count;
    double critical_path_ns, area_ns;
    double mixed_ns; /* NAN: not asked for, or not to be had */
    double exact_ns; /* NAN: not asked for, or not proven */
    double found_ns;
    uint64_t exact_nodes;
};

#define AT(field) offsetof(struct args, field)
#define EXACT_MAX 64 /* tasks; above, branch and bound is not even tried */

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(machine),
     "\"here\", a file, or a line of text such as \"cpu:8 gpu:2\" (default here)"},
    {SY_OPTION_LIST, "graphs", "FILE...", AT(specs),
     "graph files, or generators such as gen:cholesky:20"},
    {SY_OPTION_TEXT, "only", "GLOB", AT(graphs.only),
     "use only the graphs whose name matches GLOB"},
    {SY_OPTION_U32, "max-instances", "N", AT(graphs.max_instances),
     "fold a stage with more than N instances into N tasks (default 32)", 1, 1e6},
    {SY_OPTION_U64, "accelerate", "SEED", AT(accelerate),
     "give tasks that only have a CPU time a random speed-up on each kind of accelerator, 0.3 to "
     "31 times, fixed by SEED",
     0, 9007199254740992.0, AT(accelerate_given)},
    {SY_OPTION_TEXT, "times", "FILE", AT(times),
     "measured times of kernels (X.kernels.csv, X.costs.csv)"},
    {SY_OPTION_FLAG, "lp", NULL, AT(lp),
     "also solve the mixed LP bound with an installed solver (clp, cbc or glpsol)"},
    {SY_OPTION_TIME, "limit", "T", AT(limit_s),
     "time limit of the solver for each graph (default 60s)", 0.01, 1e6},
    {SY_OPTION_FLAG, "exact", NULL, AT(exact),
     "also prove the optimum by branch and bound, for graphs of at most 64 tasks"},
    {SY_OPTION_U64, "nodes", "N", AT(nodes),
     "stop branch and bound after N nodes (default 2000000)", 1, 1e15},
    {SY_OPTION_U64, "anneal", "N", AT(anneal),
     "search N steps for a plan better than that of HEFT (default 0)", 0, 1e12},
    {SY_OPTION_U64, "seed", "N", AT(seed), "seed of the search (default 1)", 0, 9007199254740992.0},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "bound",
    .usage = "--machine MACHINE --graphs FILE... [OPTION]...",
    .examples = "  symph bound --machine \"cpu:12 gpu:4\" --graphs gen:cholesky:20\n"
                "  symph bound --machine \"cpu:12 gpu:4\" --graphs gen:cholesky:10 --lp --anneal "
                "2000\n"
                "  symph bound --machine \"cpu:2 gpu:1\" --graphs small.json --exact",
    .about = "Prints lower bounds that no schedule can beat, the best plan found, and the "
             "ratio of the two: how much better a schedule could still be.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(specs),
    .operand_max = UINT32_MAX,
};

static int solve_mixed(const struct args *args, const struct sy_workload *workload, bool *told,
                       struct bounds *bounds) {
    struct sy_error error = {0};
    int r =
        sy_bound_mixed_ns(workload, args->limit_s, sy_interrupt_seen, &bounds->mixed_ns, &error);
    if (r == -ECANCELED) {
        return SY_EXIT_INTERRUPTED;
    }
    if (r == -ENOENT || r == -ETIME) {
        bounds->mixed_ns = NAN;
        if (!*told) {
            char text[1024];
            sy_message_note(args->common.quiet, "the mixed bound is left out: %s",
                            sy_error_format(&error, text, sizeof(text)));
        }
        *told = true;
        return SY_EXIT_OK;
    }
    if (r < 0) {
        sy_message_error(&error);
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
}

static int solve_exact(const struct args *args, const struct sy_workload *workload,
                       struct bounds *bounds) {
    struct sy_schedule plan = {0};
    if (workload->task_count > EXACT_MAX) {
        sy_message_note(args->common.quiet, "%s: --exact left out, %u tasks are more than %d",
                        sy_graph_name(workload->jobs[0].graph), workload->task_count, EXACT_MAX);
        return 0;
    }
    int r = sy_schedule_init(&plan, workload->task_count);
    if (r < 0) {
        return r;
    }
    r = sy_bound_exact(workload, args->nodes, &plan, &bounds->exact_nodes);
    if (r == 0) {
        bounds->exact_ns = plan.makespan_ns;
    }
    if (r == 0 || r == -E2BIG) {
        bounds->found_ns = fmin(bounds->found_ns, plan.makespan_ns);
        r = 0;
    }
    sy_schedule_finish(&plan);
    return r;
}

static int search_plan(const struct args *args, const struct sy_workload *workload,
                       struct bounds *bounds) {
    struct sy_schedule plan = {0};
    int r = sy_schedule_init(&plan, workload->task_count);
    if (r == 0) {
        r = sy_bound_anneal(workload, args->seed, args->anneal, NULL, &plan);
        bounds->found_ns = r == 0 ? plan.makespan_ns : INFINITY;
    }
    sy_schedule_finish(&plan);
    return r;
}

static int bound_workload(const struct args *args, const struct sy_workload *workload, bool *told,
                          struct bounds *ret_bounds) {
    struct bounds bounds = {.task_count = workload->task_count,
                            .critical_path_ns = sy_bound_critical_path_ns(workload),
                            .area_ns = sy_bound_area_ns(workload),
                            .mixed_ns = NAN,
                            .exact_ns = NAN};
    int r = search_plan(args, workload, &bounds);
    if (r == 0 && args->exact) {
        r = solve_exact(args, workload, &bounds);
    }
    if (r < 0) {
        sy_message_fail(r == -ENOMEM ? "out of memory" : "the search for a plan failed");
        return SY_EXIT_FAILED;
    }
    int code = args->lp ? solve_mixed(args, workload, told, &bounds) : SY_EXIT_OK;
    *ret_bounds = bounds;
    return code;
}

static int bound_graph(const struct args *args, const struct sy_machine *machine,
                       const struct sy_store *store, const struct sy_graph *graph, bool *told,
                       struct bounds *ret_bounds) {
    struct sy_workload_options workload_options = {
        .accelerate = args->accelerate_given, .accelerate_seed = args->accelerate, .store = store};
    struct sy_job job = {.graph = graph, .weight = 1};
    struct sy_workload *workload = NULL;
    struct sy_error error = {0};
    int r = sy_workload_create(machine, &job, 1, &workload_options, &workload, &error);
    if (r < 0) {
        return sy_message_code(r, &error);
    }
    int code = bound_workload(args, workload, told, ret_bounds);
    sy_workload_destroy(workload);
    return code;
}

static double lower_ns(const struct bounds *bounds) {
    double lower = fmax(bounds->critical_path_ns, bounds->area_ns);
    return fmax(fmax(lower, bounds->mixed_ns), bounds->exact_ns); /* fmax ignores NAN */
}

static double ratio(const struct bounds *bounds) {
    return sy_cost_slowdown(bounds->found_ns, lower_ns(bounds));
}

static int print_json(const struct args *args, const struct sy_machine *machine,
                      const struct sy_graph_list *list, uint32_t count,
                      const struct bounds *bounds) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, machine: {spec: %s, name: %s}, interrupted: %d, graphs: [",
                  "symph-bound-1", args->machine, machine->name, count < list->count);
    for (uint32_t i = 0; i < count; i++) {
        sy_json_print(
            &writer,
            "{graph: %s, tasks: %u, critical_path_ns: %g, area_ns: %g, mixed_lp_ns: %g, "
            "exact_ns: %g, exact_nodes: %llu, lower_bound_ns: %g, best_found_ns: %g, ratio: %g}",
            sy_graph_name(list->graphs[i]), bounds[i].task_count, bounds[i].critical_path_ns,
            bounds[i].area_ns, bounds[i].mixed_ns, bounds[i].exact_ns,
            (unsigned long long)bounds[i].exact_nodes, lower_ns(&bounds[i]), bounds[i].found_ns,
            ratio(&bounds[i]));
    }
    sy_json_print(&writer, "]}");
    return sy_output(&writer.buffer);
}

static int print_table(const struct sy_graph_list *list, uint32_t count,
                       const struct bounds *bounds) {
    struct sy_buffer buffer = {0};
    struct sy_table table;
    sy_table_init(&table,
                  (const char *const[]){"graph", "tasks", "critical path", "area", "mixed LP",
                                        "exact", "best found", "found/bound"},
                  "lrrrrrrr");
    for (uint32_t i = 0; i < count; i++) {
        sy_table_cell(&table, "%s|%u|%s|%s|%s|%s|%s|%.3f", sy_graph_name(list->graphs[i]),
                      bounds[i].task_count, sy_units_time(bounds[i].critical_path_ns).text,
                      sy_units_time(bounds[i].area_ns).text, sy_units_time(bounds[i].mixed_ns).text,
                      sy_units_time(bounds[i].exact_ns).text,
                      sy_units_time(bounds[i].found_ns).text, ratio(&bounds[i]));
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), &buffer);
    sy_table_legend(
        "critical path: longest chain of tasks, each on its fastest device; area: all work spread "
        "perfectly over all devices; mixed LP, exact: tighter bounds, with --lp and --exact; best "
        "found: shortest plan known; found/bound: best found divided by the largest lower bound.",
        0, &buffer);
    if (count < list->count) {
        sy_print(&buffer, "\nInterrupted: %u of %u graphs.\n", count, list->count);
    }
    return sy_output(&buffer);
}

/* The work of one thread, so that Ctrl-C finds the other waiting. */
struct work {
    const struct args *args;
    const struct sy_machine *machine;
    const struct sy_store *store;
    const struct sy_graph_list *list;
    struct bounds *bounds;
    struct sy_progress progress;
    atomic_uint done; /* graphs */
    int r;
};

static void *bound_graphs(void *context) {
    struct work *work = context;
    bool told = false;
    for (uint32_t i = 0; i < work->list->count && work->r == SY_EXIT_OK; i++) {
        work->r = bound_graph(work->args, work->machine, work->store, work->list->graphs[i], &told,
                              &work->bounds[i]);
        if (work->r == SY_EXIT_OK) {
            atomic_store_explicit(&work->done, i + 1, memory_order_release);
            work->r = sy_interrupt_seen() ? SY_EXIT_INTERRUPTED : SY_EXIT_OK;
        }
        sy_progress_add(&work->progress, 1);
    }
    return NULL;
}

static int print(const struct work *work) {
    uint32_t done = atomic_load_explicit(&work->done, memory_order_acquire);
    if (!done) {
        sy_message_fail("no graph is done yet");
        return SY_EXIT_INTERRUPTED;
    }
    return work->args->common.json
               ? print_json(work->args, work->machine, work->list, done, work->bounds)
               : print_table(work->list, done, work->bounds);
}

static int bound_all(const struct args *args, const struct sy_machine *machine,
                     const struct sy_store *store, const struct sy_graph_list *list) {
    struct work work = {.args = args,
                        .machine = machine,
                        .store = store,
                        .list = list,
                        .bounds = sy_need(calloc(list->count, sizeof(struct bounds)))};
    sy_interrupt_watch();
    sy_progress_init(&work.progress, "bounding", list->count, args->common.quiet);
    if (!sy_threads_try(1, bound_graphs, &work)) {
        sy_progress_hide(&work.progress);
        (void)print(&work);
        sy_leave(SY_EXIT_INTERRUPTED);
    }
    sy_progress_finish(&work.progress);
    int r = work.r;
    if (r == SY_EXIT_OK || r == SY_EXIT_INTERRUPTED) {
        int printed = print(&work);
        r = r ? r : printed;
    }
    free(work.bounds);
    return r;
}

static int read_costs(const char *path, struct sy_store **ret_store) {
    if (!path) {
        return SY_EXIT_OK;
    }
    struct sy_error error = {0};
    *ret_store = sy_need(sy_store_create());
    int r = sy_store_read(*ret_store, path, &error);
    return sy_message_code(r, &error);
}

static int run(void *given) {
    const struct args *args = given;
    if (args->specs.count == 0) {
        return sy_options_usage(&command,
                                "name a graph: --graphs FILE or --graphs gen:cholesky:20");
    }
    struct sy_machine *machine = NULL;
    struct sy_graph_list list = {0};
    struct sy_store *store = NULL;
    int r = sy_input_machine(args->machine, &machine);
    r = r ? r : read_costs(args->times, &store);
    r = r ? r : sy_input_graphs(&args->specs, &args->graphs, &list);
    r = r ? r : bound_all(args, machine, store, &list);
    sy_graph_list_finish(&list);
    sy_store_close(store);
    sy_machine_destroy(machine);
    return r;
}

int sy_cmd_bound(int argc, char **argv) {
    struct args args = {.machine = "here", .seed = 1, .nodes = 2000000, .limit_s = 60};
    return sy_options_run(&command, argc, argv, &args, run);
}
