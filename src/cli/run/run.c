/* SPDX-License-Identifier: Apache-2.0
 *
 * symph run: a graph of real kernels, or a stream of jobs, on the devices of this machine.
 *
 * In: graphs, policies. Out: a summary or one JSON object "symph-run-result-1"; pictures; the
 * record. Each run is an engine process of its own; policies that are compared take turns, so that
 * whatever else happens on the machine happens to all of them.
 */
#include "cli/run/run.h"

#include <math.h>
#include <string.h>

#define AT(field) offsetof(struct sy_run_args, field)
#define STARPU    "starpu:"

static const struct sy_option options[] = {
    {SY_OPTION_KEY, "policy", "NAME", AT(request),
     "a policy of symph simulate --list-policies, or starpu:NAME for one of the schedulers of "
     "StarPU (default symphony)"},
    {SY_OPTION_TEXT, "compare", "A,B,...", AT(compare),
     "run these policies in turn and compare them with the first one, or with --policy if it is "
     "given"},
    {SY_OPTION_U32, "repeat", "N", AT(repeat), "runs of each policy (default 1)", 1, 10000},
    {SY_OPTION_KEY, "seed", "N", AT(request), "seed of the policy's random numbers (default 1)"},
    {SY_OPTION_FLAG, "check", NULL, AT(check), "fail if the result cannot be checked"},
    {SY_OPTION_FLAG, "no-check", NULL, AT(no_check),
     "do not check the result, nor whether kernels write past their data"},
    {SY_OPTION_KEY, "limit", "T", AT(request),
     "fail the run if a task takes longer than this (default 60s)"},
    {SY_OPTION_HEADING, .help = "Kernels and devices"},
    {SY_OPTION_KEY, "kernels", "PATH", AT(request),
     "kernel plug-ins: files or folders, separated by colons (default: those installed)"},
    {SY_OPTION_KEY, "models", "FOLDER", AT(request),
     "where measured times are kept (default: your cache folder; \"\": nowhere)"},
    {SY_OPTION_KEY, "cpus", "N", AT(request),
     "use at most N cores (default: all that this process may use)"},
    {SY_OPTION_KEY, "opencl", "N", AT(request),
     "use N OpenCL devices, CPUs included (default: GPUs only, and none if CUDA drives them)"},
    {SY_OPTION_KEY, "cuda", "N", AT(request), "use N CUDA devices (default: all)"},
    {SY_OPTION_KEY, "emulate", NULL, AT(request),
     "replace kernels that no plug-in has by busy waiting for the time stated in the graph"},
    {SY_OPTION_HEADING,
     .help = "Job streams (each of these options turns the graphs into a stream)"},
    {SY_OPTION_KEY, "tenants", "K", AT(request),
     "number of tenants; jobs go to them in turn (default 1)", .given = AT(stream)},
    {SY_OPTION_KEY, "load", "X", AT(request),
     "offered load, as a share of what the machine can do (default 0.7)", .given = AT(stream)},
    {SY_OPTION_KEY, "jobs", "N", AT(request), "number of jobs in the stream (default 100)",
     .given = AT(stream)},
    {SY_OPTION_KEY, "arrivals", "FILE", AT(request),
     "replay a recorded stream instead: CSV lines arrive_s,tenant,weight,graph",
     .given = AT(stream)},
    {SY_OPTION_KEY, "preempt", NULL, AT(request),
     "cores put a running task aside for one of a job that comes first, if the policy wants it, "
     "and go on with it afterwards",
     .given = AT(stream)},
    {SY_OPTION_KEY, "split", NULL, AT(request),
     "run tasks in parts, if their kernel can be split, so that tasks of other jobs may have the "
     "device between two parts",
     .given = AT(stream)},
    {SY_OPTION_KEY, "only", "GLOB", AT(request), "use only the graphs whose name matches GLOB",
     .given = AT(stream)},
    {SY_OPTION_KEY, "time-scale", "X", AT(request),
     "what graphs and arrivals state takes X times as long (default 1)", .given = AT(stream)},
    {SY_OPTION_HEADING, .help = "Pipelines (the same kernels for every item of a stream)"},
    {SY_OPTION_TEXT, "pipeline", "SPEC", AT(pipeline),
     "instead of a graph: PLUGIN:PIPELINE:ARGUMENTS (symph kernels lists them); a plan decides "
     "where kernels run, and changes with the data"},
    {SY_OPTION_KEY, "objective", "O", AT(request),
     "what to optimise: throughput, latency, energy, money or balanced (energy * time); default "
     "throughput"},
    {SY_OPTION_REPEAT, "constraint", "C", AT(constraints),
     "a limit that the plan must keep, as in symph plan: 'latency<=2ms', 'gpu<=1'; may be "
     "repeated"},
    {SY_OPTION_KEY, "plan", "TEXT", AT(request),
     "use this plan and no other, as symph plan prints it; \"cpu\" or \"gpu\": the best plan on "
     "these devices alone"},
    {SY_OPTION_KEY, "side-by-side", NULL, AT(request),
     "also try several copies of the pipeline, each on its own devices (throughput only)"},
    {SY_OPTION_KEY, "times", "FILE", AT(request),
     "measured times to start with (default: what was learned here)"},
    {SY_OPTION_FLAG, "calibrate", NULL, AT(calibrate),
     "measure every kernel alone on every device, with the inputs of the items"},
    {SY_OPTION_FILE, "out", "FILE.csv", AT(request.calibrate),
     "with --calibrate: write the times to this file"},
    {SY_OPTION_KEY, "watts", NULL, AT(request),
     "with --calibrate: also measure power, where it can be read"},
    {SY_OPTION_KEY, "window", "N", AT(request),
     "number of items in progress (default: from the plan and the memory)"},
    {SY_OPTION_HEADING, .help = "Output"},
    {SY_OPTION_FILE, "plot", "FILE.svg", AT(plot),
     "draw a Gantt chart of the fastest run (SVG); with several policies, one file for each"},
    {SY_OPTION_FILE, "trace", "FILE.json", AT(trace), "write the same as a Chrome/Perfetto trace"},
    {SY_OPTION_FILE, "paje", "FILE", AT(paje), "write the same as a Paje trace"},
    {SY_OPTION_FILE, "record", "FILE.json", AT(record),
     "write everything about the fastest run, for symph explain and symph simulate --replay"},
    SY_OPTION_COMMON(struct sy_run_args),
};

static const struct sy_command command = {
    .name = "run",
    .usage = "GRAPH...|--pipeline SPEC [OPTION]...",
    .examples =
        "  symph run linalg:cholesky:n=4096,tile=512\n"
        "  symph run linalg:lu:n=4096,tile=512 --policy dmdas --plot lu.svg\n"
        "  symph run linalg:qr:n=4096,tile=512 --compare symphony,starpu:dmdas --repeat 10\n"
        "  symph run graph.json --kernels ./mine.so --record run.json\n"
        "  symph run tpch.dag --emulate --tenants 3 --load 0.8 --jobs 50 --time-scale 0.01 "
        "--split\n"
        "  symph run --pipeline gnn:gcn:items=200 --objective energy --constraint 'latency<=50ms'",
    .about = "GRAPH is PLUGIN:WORKLOAD:ARGUMENTS (symph kernels lists them), a graph file, or "
             "a generator such as gen:cholesky:8, provided that plug-ins have its kernels. "
             "The graph runs in a separate process: a kernel that crashes or hangs fails the "
             "run and nothing else.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(graphs),
    .operand_max = UINT32_MAX,
};

/* StarPU knows which schedulers it has; ours are known here, before anything is started. */
static int check_policy(const char *name, const char *list) {
    const struct sy_scheduler_ops *ops = NULL;
    if (strncmp(name, STARPU, strlen(STARPU)) == 0 && name[strlen(STARPU)]) {
        return SY_EXIT_OK;
    }
    int r = sy_input_policy(name, list, &ops);
    if (r == SY_EXIT_OK && ops->needs_truth) {
        return sy_options_usage(
            &command,
            "policy %s uses information that only the simulator has: use it with symph "
            "simulate",
            name);
    }
    return r;
}

static int add_policy(struct sy_runs *runs, const char *text, size_t length) {
    const struct sy_run_args *args = runs->args;
    char *name = sy_need(sy_arena_strndup(runs->arena, text, length));
    int r = check_policy(name, args->compare);
    for (uint32_t i = 0; r == SY_EXIT_OK && i < runs->policy_count; i++) {
        if (strcmp(runs->policies[i].name, name) == 0) {
            r = sy_options_usage(&command, "policy %s is named twice", name);
        }
    }
    if (r != SY_EXIT_OK) {
        return r;
    }
    struct sy_run_policy *policy = &runs->policies[runs->policy_count++];
    policy->name = name;
    policy->runs = sy_need(sy_arena_alloc(runs->arena, args->repeat, sizeof(*policy->runs)));
    return SY_EXIT_OK;
}

static int add_policies(struct sy_runs *runs) {
    const char *at = runs->args->compare ? runs->args->compare : "";
    size_t most = strlen(at) + 1; /* names, and one for --policy */
    runs->policies = sy_need(sy_arena_alloc(runs->arena, most, sizeof(*runs->policies)));
    const char *first = runs->args->request.policy;
    if (!first && !runs->args->compare) {
        first = sy_scheduler_default();
    }
    int r = first ? add_policy(runs, first, strlen(first)) : SY_EXIT_OK;
    while (r == SY_EXIT_OK && *at) {
        size_t length = strcspn(at, ",");
        if (length > 0) {
            r = add_policy(runs, at, length);
        }
        at += length + (at[length] == ',');
    }
    if (r == SY_EXIT_OK && runs->policy_count == 0) {
        r = sy_options_usage(&command, "--compare names no policy");
    }
    return r;
}

/* Devices that appear or vanish between runs would make their figures mean different things. */
static int check_machine(const struct sy_runs *runs, const struct sy_record *record) {
    for (uint32_t i = 0; i < runs->policy_count; i++) {
        const struct sy_record *other = runs->policies[i].record;
        if (other && (other->machine->device_count != record->machine->device_count ||
                      other->machine->memory_count != record->machine->memory_count ||
                      other->graph->task_count != record->graph->task_count)) {
            sy_message_fail("the machine has changed between two runs: %u devices, then %u",
                            other->machine->device_count, record->machine->device_count);
            return SY_EXIT_FAILED;
        }
    }
    return SY_EXIT_OK;
}

/* The record stays if it is the fastest so far, or wrong and to be looked at; the text goes with
 * it. */
static int keep(struct sy_runs *runs, struct sy_run_policy *policy, struct sy_record *record,
                struct sy_buffer *text) {
    struct sy_run_figures *figures = &policy->runs[policy->run_count];
    int r = check_machine(runs, record);
    sy_run_figures(record, runs->arena, figures);
    bool better = !policy->record || figures->makespan_ns < policy->record->makespan_ns;
    if (r != SY_EXIT_OK || !(better || sy_run_is_wrong(figures))) {
        sy_record_destroy(record);
        sy_buffer_finish(text);
    } else {
        sy_record_destroy(policy->record);
        sy_buffer_finish(&policy->text);
        policy->record = record;
        policy->text = *text;
        policy->fastest = policy->run_count;
    }
    policy->run_count += r == SY_EXIT_OK;
    return r;
}

/* The files that were asked for, of a run whose result is wrong. */
static void leave_wrong(struct sy_runs *runs, const struct sy_run_policy *policy) {
    runs->last = (uint32_t)(policy - runs->policies);
    sy_run_write(runs);
}

static int check_result(struct sy_runs *runs, const struct sy_run_policy *policy) {
    const struct sy_run_figures *figures = &policy->runs[policy->run_count - 1];
    if (sy_run_is_wrong(figures)) {
        leave_wrong(runs, policy);
        sy_message_fail("the result of run %u under %s is wrong: its relative error is %.3g, and "
                        "at most %.3g is allowed",
                        policy->run_count, policy->name, figures->result_error,
                        figures->result_tolerance);
        return SY_EXIT_FAILED;
    }
    if (runs->args->check && isnan(figures->result_tolerance)) {
        sy_message_fail("the result of %s cannot be checked (only workloads of plug-ins can be "
                        "checked; leave out --check)",
                        runs->args->graphs.items[0]);
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
}

static int run_once(struct sy_runs *runs, struct sy_run_policy *policy, bool is_last) {
    const struct sy_run_args *args = runs->args;
    char label[128];
    if (args->repeat > 1) {
        snprintf(label, sizeof(label), "%s, run %u of %u", policy->name, policy->run_count + 1,
                 args->repeat);
    } else {
        snprintf(label, sizeof(label), "%s", policy->name);
    }
    struct sy_request request = args->request;
    request.spec = args->graphs.items[0];
    request.policy = policy->name;
    request.check = !args->no_check;
    if (args->stream) {
        sy_run_ask_stream(args, runs->arena, &request);
    }
    struct sy_buffer text = {0};
    struct sy_record *record = NULL;
    struct sy_child *engine = NULL;
    int r = sy_run_engine(&request, label, args->common.quiet, &text, &record, &engine);
    if (is_last) {
        runs->engine = engine; /* the results come first */
    } else {
        int finished = sy_run_finish(engine, args->common.quiet, runs->told);
        r = r ? r : finished;
    }
    if (!record) {
        return r;
    }
    int kept = keep(runs, policy, record, &text);
    if (kept == SY_EXIT_OK && r == SY_EXIT_OK) {
        return check_result(runs, policy);
    }
    if (kept == SY_EXIT_OK && sy_run_is_wrong(&policy->runs[policy->run_count - 1])) {
        leave_wrong(runs, policy); /* the engine has said so itself */
    }
    return r ? r : kept;
}

/* In turns, each round begun by another policy. */
static int run_all(struct sy_runs *runs) {
    int r = SY_EXIT_OK;
    sy_interrupt_watch();
    for (uint32_t round = 0; round < runs->args->repeat; round++) {
        for (uint32_t i = 0; i < runs->policy_count && r == SY_EXIT_OK; i++) {
            bool is_last = round + 1 == runs->args->repeat && i + 1 == runs->policy_count;
            r = run_once(runs, &runs->policies[(i + round) % runs->policy_count], is_last);
        }
    }
    return r;
}

static int check_args(const struct sy_run_args *args) {
    if (args->check && args->no_check) {
        return sy_options_usage(&command, "--check and --no-check exclude each other");
    }
    int r = sy_run_check_stream(&command, args);
    r = r ? r : sy_run_check_pipeline(&command, args);
    if (r == SY_EXIT_OK && args->graphs.count == 0 && !args->pipeline) {
        return sy_options_usage(&command, "name a graph, such as linalg:cholesky:n=4096,tile=512");
    }
    return r;
}

static int run(void *given) {
    const struct sy_run_args *args = given;
    int r = check_args(args);
    if (r != SY_EXIT_OK || args->pipeline) {
        return r != SY_EXIT_OK ? r : sy_run_pipeline(args);
    }
    struct sy_runs runs = {.args = args, .arena = sy_need(sy_arena_create())};
    r = r ? r : add_policies(&runs);
    r = r ? r : run_all(&runs);
    if (r == SY_EXIT_OK) {
        /* The results are told even where a file cannot be written: they may have taken hours. */
        r = sy_run_write(&runs);
        int told = args->common.json ? sy_run_print_json(&runs) : sy_run_print_table(&runs);
        r = r ? r : told;
    }
    int finished = sy_run_finish(runs.engine, args->common.quiet, runs.told);
    r = r ? r : finished;
    for (uint32_t i = 0; i < runs.policy_count; i++) {
        sy_record_destroy(runs.policies[i].record);
        sy_buffer_finish(&runs.policies[i].text);
    }
    sy_arena_destroy(runs.arena);
    return r;
}

int sy_cmd_run(int argc, char **argv) {
    struct sy_run_args args = {.repeat = 1, .request = sy_request_default};
    return sy_options_run(&command, argc, argv, &args, run);
}
