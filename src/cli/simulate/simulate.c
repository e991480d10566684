/* SPDX-License-Identifier: Apache-2.0
 *
 * symph simulate: schedulers over graphs in virtual time.
 *
 * In: a machine, graphs, policies, what disturbs them. Out: a table with intervals or one JSON
 * object "symph-simulate-1"; pictures. Invariant: without --timing two runs give the same bytes.
 */
#include "cli/simulate/simulate.h"

#include "base/json.h"
#include "cli/table.h"
#include "cli/threads.h"
#include "schedulers/schedulers.h"
#include <stdlib.h>
#include <string.h>

#define AT(field)        offsetof(struct sy_simulate_args, field)
#define SEED_MAX         9007199254740992.0 /* what a JSON number carries exactly */
#define DEFAULT_POLICIES "eager,dmda,dmdas,heft,symphony"

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(machine),
     "\"here\", a file, or a line such as \"2x(cpu:12 dram:80GB/s) gpu:4@pcie3x16\" (default "
     "here)"},
    {SY_OPTION_LIST, "graphs", "FILE...", AT(graph_specs),
     "graph files, or generators such as gen:cholesky:20 (see symph graph --list-generators)"},
    {SY_OPTION_TEXT, "only", "GLOB", AT(graphs.only),
     "use only the graphs whose name matches GLOB"},
    {SY_OPTION_U32, "max-instances", "N", AT(graphs.max_instances),
     "fold a stage with more than N instances into N tasks (default 32)", 1, 1e6},
    {SY_OPTION_TEXT, "policy", "A,B,...", AT(policy),
     "policies to compare; \"all\": every one that could run for real and needs no training first "
     "(default " DEFAULT_POLICIES ")"},
    {SY_OPTION_FLAG, "list-policies", NULL, AT(list_policies), "list the policies"},
    {SY_OPTION_U32, "seeds", "N", AT(seeds),
     "runs of each graph, each with another seed (default 5)", 1, 1e6},
    {SY_OPTION_U64, "seed", "N", AT(seed), "the first seed (default 1)", 0, SEED_MAX},
    {SY_OPTION_HEADING, .help = "Durations"},
    {SY_OPTION_U64, "accelerate", "SEED", AT(accelerate),
     "give tasks that only have a CPU time a random speed-up on each kind of accelerator, 0.3 to "
     "31 times, fixed by SEED",
     0, SEED_MAX, AT(accelerate_given)},
    {SY_OPTION_TEXT, "times", "FILE", AT(times),
     "measured times of kernels (X.kernels.csv, X.costs.csv)"},
    {SY_OPTION_NUMBER, "noise", "SIGMA", AT(noise), "log-normal noise of the durations", 0, 3},
    {SY_OPTION_TEXT, "noise-file", "FILE", AT(noise_file), "draw the noise from measured timings"},
    {SY_OPTION_TEXT, "spikes", "P:FACTOR", AT(spikes),
     "with probability P a task takes FACTOR times longer"},
    {SY_OPTION_NUMBER, "model-error", "SIGMA", AT(model_error),
     "log-normal error of the predicted times, for each kernel and class of devices", 0, 3},
    {SY_OPTION_TEXT, "decision-time", "T", AT(decision_time),
     "every decision about a task takes this much simulated time, such as 5us; \"measured\": what "
     "planning and deciding take on this machine (not reproducible)"},
    {SY_OPTION_HEADING, .help = "Shared resources"},
    {SY_OPTION_FLAG, "contention", NULL, AT(contention), "tasks and transfers share bandwidth"},
    {SY_OPTION_TEXT, "smt-table", "FILE", AT(smt_table),
     "slowdown of kernels on two hyper-threads of one core; implies --contention", 0, 0,
     AT(contention)},
    {SY_OPTION_TEXT, "gpu-table", "FILE", AT(gpu_table),
     "slowdown of kernels that share a GPU; implies --contention", 0, 0, AT(contention)},
    {SY_OPTION_NUMBER, "hidden-load", "X", AT(hidden_load),
     "mean share of each resource that other, unseen programs use; implies --contention", 0, 0.9,
     AT(contention)},
    {SY_OPTION_NUMBER, "hidden-weight", "W", AT(hidden_weight),
     "where these programs and ours want more than there is, theirs get as much as W flows of "
     "ours: "
     "far below 1 they give way (default 4)",
     0, 1e3},
    {SY_OPTION_NUMBER, "throttle", "X", AT(throttle),
     "mean share of its speed that each device loses, to heat or to programs that are not seen", 0,
     0.9},
    {SY_OPTION_TEXT, "stragglers", "SHARE:FACTOR", AT(stragglers),
     "for SHARE of the time, in long spells, a device takes FACTOR times longer for its tasks"},
    {SY_OPTION_TEXT, "straggler-time", "T", AT(straggler_time),
     "mean length of these spells, such as 10s (default: the longest job alone)"},
    {SY_OPTION_TEXT, "hidden-period", "T", AT(hidden_period),
     "mean time between changes of the hidden load and of speeds, such as 20ms (default: 1/20 of "
     "the longest job)"},
    {SY_OPTION_TEXT, "belief", "KIND", AT(belief),
     "what policies know about the load of shared resources: filtered (an estimate from counters "
     "and durations, as on a real machine), none (from durations alone), raw (the last reading of "
     "each counter) or true (default filtered)"},
    {SY_OPTION_NUMBER, "counter-noise", "X", AT(counter_noise),
     "relative error of each counter reading", 0, 10},
    {SY_OPTION_U32, "counters", "N", AT(counters),
     "number of counters that can be read at the same time; the others take turns (default: all)",
     1, 1e6},
    {SY_OPTION_TEXT, "counter-events", "KIND", AT(counter_events),
     "what counters count: listing (reads, writes and cache misses of a socket's memory, as "
     "processors do) or traffic (of each resource) (default listing)"},
    {SY_OPTION_NUMBER, "counter-outliers", "X", AT(counter_outliers),
     "share of counter readings that are ten times too large or too small", 0, 1},
    {SY_OPTION_FLAG, "judge", NULL, AT(judge),
     "also print how accurate the information given to policies was, and the slowdowns predicted "
     "from it; implies --contention",
     0, 0, AT(contention)},
    {SY_OPTION_TEXT, "counter-period", "T", AT(counter_period),
     "time between two counter readings, such as 1ms (default 2ms)"},
    {SY_OPTION_REPEAT, "fail", "DEVICE@T[-T2]", AT(fails),
     "the device fails at T and returns at T2; a time is 2ms, 0.5s, or 30% of the lower bound; may "
     "be repeated"},
    {SY_OPTION_FLAG, "preempt", NULL, AT(preempt),
     "cores put a running task aside for one of a job that comes first, if a policy wants it, and "
     "go on with it afterwards"},
    {SY_OPTION_FLAG, "split", NULL, AT(split),
     "run tasks in parts, if the graph says that their kernel can be split, so that tasks of other "
     "jobs may have the device between two parts"},
    {SY_OPTION_TEXT, "parts", "N[:COST%]", AT(parts),
     "assume that tasks of all kernels can be split into N parts, which take COST % longer "
     "together; implies --split",
     0, 0, AT(split)},
    {SY_OPTION_HEADING,
     .help = "Job streams (each of these options turns the graphs into a stream)"},
    {SY_OPTION_U32, "tenants", "K", AT(tenants),
     "number of tenants; jobs go to them in turn (default 1)", 1, 1e4, AT(stream)},
    {SY_OPTION_NUMBER, "load", "X", AT(load),
     "offered load, as a share of what the machine can do (default 0.7)", 1e-6, 1e3, AT(stream)},
    {SY_OPTION_U32, "jobs", "N", AT(jobs), "number of jobs in the stream (default 100)", 1, 1e6,
     AT(stream)},
    {SY_OPTION_TEXT, "arrivals", "FILE", AT(arrivals),
     "replay a recorded stream instead: CSV lines arrive_s,tenant,weight,graph", 0, 0, AT(stream)},
    {SY_OPTION_HEADING, .help = "Real runs"},
    {SY_OPTION_LIST, "replay", "RUN...", AT(replays),
     "instead of graphs: records of symph run (or \"last\"); simulates the same placement on the "
     "same machine and compares the times"},
    {SY_OPTION_HEADING, .help = "Output"},
    {SY_OPTION_FLAG, "per-graph", NULL, AT(per_graph), "also print a table with one row per graph"},
    {SY_OPTION_FILE, "plot", "FILE.svg", AT(plot),
     "draw a Gantt chart of the first graph and seed (SVG); with several policies, one file for "
     "each"},
    {SY_OPTION_FILE, "trace", "FILE.json", AT(trace), "write the same as a Chrome/Perfetto trace"},
    {SY_OPTION_FILE, "paje", "FILE", AT(paje), "write the same as a Paje trace"},
    {SY_OPTION_FLAG, "check", NULL, AT(check), "verify every schedule with an independent checker"},
    {SY_OPTION_FLAG, "timing", NULL, AT(timing),
     "also measure how long decisions take (results then vary between runs)"},
    {SY_OPTION_U32, "threads", "N", AT(threads),
     "number of simulations at the same time (default: the available cores)", 1, 4096},
    SY_OPTION_COMMON(struct sy_simulate_args),
};

static const struct sy_command command = {
    .name = "simulate",
    .usage = "--machine MACHINE --graphs FILE... --policy A,B [OPTION]...",
    .examples =
        "  symph simulate --machine \"cpu:12 gpu:4\" --graphs gen:cholesky:20 --policy all\n"
        "  symph simulate --machine here --graphs *.json --policy heft,dmdas --noise 0.3 "
        "--seeds 20\n"
        "  symph simulate --machine \"cpu:8 gpu:1\" --graphs gen:lu:8 --policy dmdas --plot "
        "lu.svg\n"
        "  symph simulate --machine \"cpu:8 gpu:2\" --graphs gen:fft:5 gen:lu:6 --tenants 3 "
        "--load 0.8\n"
        "  symph simulate --replay last",
    .about = "Simulates every graph alone, or a stream of jobs drawn from the graphs, under "
             "each policy and seed. Compares the makespans with a lower bound that no "
             "schedule can beat.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(graph_specs),
    .operand_max = UINT32_MAX,
};

const struct sy_command *sy_simulate_command(void) {
    return &command;
}

static void put_weights_json(const struct sy_scheduler_ops *ops, struct sy_json_writer *writer) {
    const char *part = NULL;
    sy_json_key(writer, "weights");
    if (ops->net) {
        sy_json_print(writer, "{kind: %s, shape: %u, count: %u}", ops->net->kind, ops->net->shape,
                      ops->net->count);
    } else {
        sy_json_put_null(writer);
    }
    sy_json_open_member(writer, "parts", '[');
    for (uint32_t i = 0; (part = sy_policy_part_at(i)); i++) {
        if (ops->net && ops->net->parts >> i & 1) {
            sy_json_put_string(writer, part);
        }
    }
    sy_json_close(writer, ']');
}

/* "  learned@FILE, weights of kind symphony; ~belief ~guard" */
static void put_learned(const struct sy_scheduler_ops *ops, struct sy_buffer *out) {
    const char *part = NULL;
    if (!ops->net) {
        return;
    }
    sy_print(out, "  %s@FILE, kind %s:", ops->name, ops->net->kind);
    for (uint32_t i = 0; (part = sy_policy_part_at(i)); i++) {
        if (ops->net->parts >> i & 1) {
            sy_print(out, " ~%s", part);
        }
    }
    sy_print(out, "\n");
}

static int list_policies_json(void) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, policies: [", "symph-policies-1");
    const struct sy_scheduler_ops *ops = NULL;
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        sy_json_print(&writer, "{name: %s, summary: %s, needs_truth: %d", ops->name, ops->summary,
                      ops->needs_truth);
        put_weights_json(ops, &writer);
        sy_json_close(&writer, '}');
    }
    sy_json_print(&writer, "]}");
    return sy_output(&writer.buffer);
}

static int list_policies(bool json) {
    if (json) {
        return list_policies_json();
    }
    struct sy_buffer buffer = {0};
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"policy", "what it does"}, "ll");
    const struct sy_scheduler_ops *ops = NULL;
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        sy_table_cell(&table, "%s|%s%s", ops->name, ops->summary,
                      ops->needs_truth ? " (knows what is hidden)" : "");
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), &buffer);
    sy_print(&buffer,
             "\nA name can be followed by an order of the jobs: lb+wspt, dmdas+srpt, "
             "heft+fifo, eager+fair.\nA number sets the effort of anneal:N and "
             "greedy-true-rollout:N; ./mine.so is your own policy.\nNAME@FILE uses the weights "
             "in FILE instead of the shipped ones, NAME~PART leaves out a part.\nThe order "
             "is NAME+ORDER:NUMBER@FILE~PART~PART. Policies with weights or parts:\n");
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        put_learned(ops, &buffer);
    }
    return sy_output(&buffer);
}

static int report(struct sy_simulate *simulate) {
    uint32_t best = 0;
    struct sy_summary *summary = sy_simulate_summary(simulate, &best);
    int r = simulate->args->common.json ? sy_simulate_print_json(simulate, summary, best)
                                        : sy_simulate_print_table(simulate, summary);
    free(summary);
    return r;
}

/* After Ctrl-C: what is done so far. Pictures are not written. */
static int interrupted(struct sy_simulate *simulate) {
    struct sy_simulate done;
    struct sy_case *cases = NULL;
    if (sy_simulate_done(simulate, &done, &cases)) {
        (void)report(&done);
        free(cases);
    } else {
        sy_message_fail("no run has ended yet");
    }
    if (simulate->left) {
        sy_leave(SY_EXIT_INTERRUPTED);
    }
    sy_simulate_finish(simulate);
    return SY_EXIT_INTERRUPTED;
}

static int run(void *given) {
    const struct sy_simulate_args *args = given;
    if (args->list_policies) {
        return list_policies(args->common.json);
    }
    if (args->replays.count) {
        return args->graph_specs.count
                   ? sy_options_usage(&command, "--replay takes records of runs, not graphs: a "
                                                "record has its own graph and "
                                                "machine")
                   : sy_simulate_replay(args);
    }
    struct sy_simulate simulate;
    int r = sy_simulate_setup(&simulate, args);
    simulate.may_leave = true;
    r = r ? r : sy_simulate_cases(&simulate);
    r = r ? r : sy_simulate_run(&simulate);
    if (r == SY_EXIT_INTERRUPTED) {
        return interrupted(&simulate);
    }
    r = r ? r : sy_simulate_write(&simulate);
    r = r ? r : report(&simulate);
    sy_simulate_finish(&simulate);
    return r;
}

int sy_cmd_simulate(int argc, char **argv) {
    struct sy_simulate_args args = {.machine = "here",
                                    .policy = DEFAULT_POLICIES,
                                    .seeds = 5,
                                    .hidden_weight = 4,
                                    .seed = 1,
                                    .tenants = 1,
                                    .load = 0.7,
                                    .jobs = 100};
    return sy_options_run(&command, argc, argv, &args, run);
}
