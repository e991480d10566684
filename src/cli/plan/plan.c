/* SPDX-License-Identifier: Apache-2.0
 *
 * symph plan: where the kernels of a repeated pipeline should run, for what one wants.
 *
 * In: a pipeline, what an item is like, a machine, an objective, constraints. Out: the best plan,
 * the front of all that might be wanted instead, and what each constraint costs.
 */
#include "cli/plan/plan.h"

#include <string.h>

#define AT(field) offsetof(struct sy_planning_args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "input-features", "F", AT(features),
     "what one item is like: the name of an example, values such as nodes=1e5,edges=2e6, both, or "
     "a JSON file"},
    {SY_OPTION_TEXT, "objective", "O", AT(objective),
     "what to optimise: throughput, latency, energy, money or balanced (energy * time); default "
     "throughput"},
    {SY_OPTION_REPEAT, "constraint", "C", AT(constraints),
     "a limit that the plan must keep: 'latency<=2ms', 'throughput>=500/s', 'energy<=3J', "
     "'power<=300W', 'money<=0.01', 'memory.gpu<=40GB', 'gpu<=1'; may be repeated"},
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(machine),
     "\"here\", a file, or a line of text such as \"cpu:8 gpu:2\" (default here)", 0, 0,
     AT(machine_given)},
    {SY_OPTION_REPEAT, "times", "FILE", AT(times),
     "measured times of kernels, as symph run --pipeline --calibrate writes them (default with "
     "--machine here: what was learned here); may be repeated"},
    {SY_OPTION_REPEAT, "class", "CLASS=NAME", AT(classes),
     "the name that the measured times use for a class of devices, such as gpu=h200; may be "
     "repeated"},
    {SY_OPTION_REPEAT, "busy", "CLASS=N", AT(busy),
     "number of devices that others use; \"auto\" asks the counters of this machine; may be "
     "repeated"},
    {SY_OPTION_REPEAT, "price", "CLASS=X", AT(prices),
     "price of a device per hour, such as gpu=2.5/h; may be repeated"},
    {SY_OPTION_FLAG, "overlap", NULL, AT(overlap),
     "transfers overlap with computation (the default)"},
    {SY_OPTION_FLAG, "no-overlap", NULL, AT(no_overlap),
     "a device waits while data is moved to it"},
    {SY_OPTION_FLAG, "side-by-side", NULL, AT(side_by_side),
     "also try several copies of the pipeline, each on its own devices (throughput only)"},
    {SY_OPTION_REPEAT, "plan", "TEXT", AT(beside),
     "also evaluate this plan: 'gemm1+spmm1@gpu | gemm2@cpu:4x2'; may be repeated"},
    {SY_OPTION_FLAG, "front", NULL, AT(front),
     "print every plan of the Pareto front, not only the ten most different ones"},
    {SY_OPTION_FILE, "plot", "FILE", AT(plot), "draw the Pareto front (SVG)"},
    {SY_OPTION_ANY, "kernels", "PATH", AT(kernels),
     "kernel plug-ins: files or folders, separated by colons (default: those installed)"},
    {SY_OPTION_ANY, "models", "FOLDER", AT(models),
     "where measured times are kept (default: your cache folder; \"\": nowhere)"},
    SY_OPTION_COMMON(struct sy_planning_args),
};

static const struct sy_command command = {
    .name = "plan",
    .usage = "PIPELINE [--input-features F] [OPTION]...",
    .examples =
        "  symph plan gnn:gcn\n"
        "  symph plan gnn:gcn --input-features arxiv\n"
        "  symph plan gnn:gcn --input-features arxiv --objective energy --constraint "
        "'latency<=50ms'\n"
        "  symph plan mine.json --input-features rows=1e6 --machine \"cpu:8 gpu:2\" --plot "
        "front.svg\n"
        "  symph plan gnn:gin --input-features arxiv,width=256 --times times.csv --busy gpu=1",
    .about = "PIPELINE is PLUGIN:NAME (symph kernels lists them) or a file in the format "
             "symph-pipeline-1. Without features it prints the kernels of the pipeline, the "
             "features of an item, and examples. With the features of an item it decides "
             "which kernel runs on which devices, so that the objective is best and every "
             "constraint holds.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(pipelines),
    .operand_max = 1,
};

static int find_objective(const char *name, enum sy_plan_objective *ret_objective) {
    const char *names[SY_PLAN_OBJECTIVE_COUNT];
    for (uint32_t i = 0; i < SY_PLAN_OBJECTIVE_COUNT; i++) {
        names[i] = sy_plan_objective_name((enum sy_plan_objective)i);
        if (strcmp(names[i], name) == 0) {
            *ret_objective = (enum sy_plan_objective)i;
            return SY_EXIT_OK;
        }
    }
    const char *near = sy_nearest(name, names, SY_COUNT(names));
    return sy_options_usage(&command,
                            "--objective is throughput, latency, energy, money or balanced, not "
                            "'%s'%s%s%s",
                            name, near ? " (did you mean " : "", near ? near : "",
                            near ? "?)" : "");
}

static int check_side_by_side(const struct sy_planning *planning) {
    bool fits = planning->objective == SY_PLAN_THROUGHPUT;
    for (uint32_t i = 0; i < planning->constraints.count; i++) {
        enum sy_constraint_kind kind = planning->constraints.items[i].kind;
        fits = fits && kind != SY_CONSTRAINT_ENERGY && kind != SY_CONSTRAINT_POWER &&
               kind != SY_CONSTRAINT_MONEY;
    }
    return fits
               ? SY_EXIT_OK
               : sy_options_usage(&command, "--side-by-side is for --objective throughput, without "
                                            "constraints on energy, power or money");
}

static int check(struct sy_planning *planning) {
    const struct sy_planning_args *args = planning->args;
    struct sy_error error = {0};
    if (args->pipelines.count == 0) {
        return sy_options_usage(&command, "name a pipeline: a file, or PLUGIN:NAME as symph "
                                          "kernels lists them");
    }
    int r = find_objective(args->objective ? args->objective : "throughput", &planning->objective);
    if (r != SY_EXIT_OK) {
        return r;
    }
    if (sy_constraints_parse(&args->constraints, &planning->constraints, &error) < 0) {
        char text[1024];
        return sy_options_usage(&command, "%s", sy_error_format(&error, text, sizeof text));
    }
    if (args->overlap && args->no_overlap) {
        return sy_options_usage(&command, "--overlap and --no-overlap exclude each other");
    }
    return args->side_by_side ? check_side_by_side(planning) : SY_EXIT_OK;
}

/* A plan was wanted, not a list: something only a plan has was asked for. */
static bool wants_plan(const struct sy_planning_args *args) {
    return args->objective || args->plot || args->front || args->overlap || args->no_overlap ||
           args->side_by_side || args->constraints.count || args->times.count || args->busy.count ||
           args->prices.count || args->classes.count || args->beside.count || args->machine_given;
}

static int read_values(struct sy_planning *planning) {
    struct sy_error error = {0};
    const struct sy_pipeline *pipeline = planning->pipeline;
    const char *text = planning->args->features;
    planning->values =
        sy_need(sy_arena_alloc(planning->arena, pipeline->feature_count + 1u, sizeof(double)));
    int code = sy_pipeline_values(pipeline, text, planning->values, &error);
    if (code) {
        sy_message_about("--input-features", text, code, &error);
        sy_message_note(planning->args->common.quiet,
                        "symph plan %s lists the features and examples",
                        planning->args->pipelines.items[0]);
    }
    return sy_message_exit(code);
}

static int show(const struct sy_planning *planning) {
    int r = planning->args->plot ? sy_planning_write_plot(planning) : SY_EXIT_OK;
    if (r != SY_EXIT_OK) {
        return r;
    }
    return planning->args->common.json ? sy_planning_print_json(planning)
                                       : sy_planning_print_table(planning);
}

static int plan(struct sy_planning *planning) {
    int r = check(planning);
    r = r == SY_EXIT_OK ? sy_planning_open_pipeline(planning) : r;
    if (r != SY_EXIT_OK) {
        return r;
    }
    if (!planning->args->features && wants_plan(planning->args)) {
        return sy_options_usage(
            &command,
            "describe an item with --input-features %s (symph plan %s lists features and "
            "examples)",
            planning->pipeline->example_count ? planning->pipeline->examples[0].name
                                              : "NAME=VALUE,...",
            planning->args->pipelines.items[0]);
    }
    if (!planning->args->features) {
        return sy_planning_print_pipeline(planning);
    }
    r = read_values(planning);
    r = r == SY_EXIT_OK ? sy_planning_open_system(planning) : r;
    r = r == SY_EXIT_OK ? sy_planning_read_times(planning) : r;
    r = r == SY_EXIT_OK ? sy_planning_solve(planning) : r;
    return r == SY_EXIT_OK ? show(planning) : r;
}

static int run(void *given) {
    const struct sy_planning_args *args = given;
    struct sy_planning planning = {
        .args = args, .command = &command, .arena = sy_need(sy_arena_create())};
    int r = plan(&planning);
    sy_planner_destroy(planning.planner);
    sy_store_close(planning.store);
    sy_machine_destroy(planning.machine);
    sy_pipeline_destroy(planning.pipeline);
    sy_kernel_set_close(planning.set);
    sy_arena_destroy(planning.arena);
    return r;
}

int sy_cmd_plan(int argc, char **argv) {
    struct sy_planning_args args = {.machine = "here"};
    return sy_options_run(&command, argc, argv, &args, run);
}
