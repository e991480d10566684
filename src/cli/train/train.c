/* SPDX-License-Identifier: Apache-2.0
 *
 * symph train: weights for the learned policies, made in simulated worlds.
 *
 * In: what worlds, which policy and method, a budget. Out: a file of weights, a checkpoint to go on
 * from, a curve; one JSON object "symph-train-1". With --compare: a comparison of weights.
 */
#include "cli/train/methods.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define AT(field) offsetof(struct sy_train_args, field)
#define SIGMA     0.2
#define SEED_MAX  65535 /* worlds of different seeds are different up to here */

static const struct sy_train_method methods[] = {
    {"es", "learned", sy_train_es, 0.08,
     "evolution strategies: points around the weights, compared in "
     "the same worlds"},
    {"expert", "learned", sy_train_es, 0.08,
     "expert iteration: other choices at some decisions, tried by rollouts, and fitted"},
    {"a2c", "symphony-paper,black-box", sy_train_actor, 0.002,
     "advantage actor-critic with PPO's clipped ratio, for the papers' policies"},
};

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "policy", "NAME", AT(policy), "the policy to train (default learned)"},
    {SY_OPTION_TEXT, "method", "NAME", AT(method),
     "es: evolution strategies; expert: expert iteration with rollouts; a2c: actor-critic, for "
     "symphony-paper and black-box (default: the method of the policy)"},
    {SY_OPTION_U64, "seed", "N", AT(seed), "seed of the worlds and of the search (default 1)", 0,
     SEED_MAX},
    {SY_OPTION_NUMBER, "minutes", "M", AT(minutes),
     "stop after M minutes; how far it gets depends on the machine", 0.01, 1e6, AT(minutes_given)},
    {SY_OPTION_U32, "generations", "G", AT(generations),
     "stop after G generations: the same seed then gives the same bytes", 1, 800000,
     AT(generations_given)},
    {SY_OPTION_FILE, "out", "FILE", AT(out),
     "write the best weights so far to FILE, and a checkpoint to FILE.checkpoint (default "
     "POLICY.weights)"},
    {SY_OPTION_TEXT, "resume", "FILE", AT(resume),
     "continue from a checkpoint, with the same settings"},
    {SY_OPTION_TEXT, "init", "FILE", AT(init),
     "start from these weights (default: all 0, which is the heuristic; with --traces the shipped "
     "ones)"},
    {SY_OPTION_HEADING, .help = "Own traces"},
    {SY_OPTION_LIST, "traces", "FILE...", AT(traces),
     "train on these instead: records of runs (\"last\", or of --record), or files of graphs; half "
     "of "
     "the graphs are held out, and the result is compared with the shipped weights on them"},
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(machine),
     "with --traces: the machine (default: the one of the records)"},
    {SY_OPTION_TEXT, "arrivals", "FILE", AT(arrivals),
     "with --traces: when graphs of files arrived, CSV lines arrive_s,tenant,weight,graph"},
    {SY_OPTION_U64, "accelerate", "SEED", AT(accelerate),
     "with --traces: give tasks that only have a CPU time a random speed-up on each kind of "
     "accelerator, 0.3 to 31",
     0, SEED_MAX, AT(accelerate_given)},
    {SY_OPTION_HEADING, .help = "Worlds"},
    {SY_OPTION_TEXT, "data", "FOLDER", AT(data),
     "also use recorded graphs and machines: FOLDER/graphs/*.dag, FOLDER/machines/*.bus.csv"},
    {SY_OPTION_TEXT, "families", "A,B,...", AT(families),
     "use only these families of graphs (default: all)"},
    {SY_OPTION_TEXT, "without-family", "A,B,...", AT(without_family), "leave out these families"},
    {SY_OPTION_TEXT, "without-machine", "A,B,...", AT(without_machine), "leave out these machines"},
    {SY_OPTION_NUMBER, "singles", "X", AT(singles),
     "share of worlds with a single job (default 0.35)", 0, 1},
    {SY_OPTION_NUMBER, "tasks", "N", AT(tasks),
     "number of tasks in a world, over all jobs: N/3 to 3N (default 600)", 10, 1e6},
    {SY_OPTION_TEXT, "belief", "KIND", AT(belief),
     "what policies know about the load of shared resources: filtered, raw, none or true (default "
     "filtered)"},
    {SY_OPTION_TEXT, "utility", "U", AT(utility),
     "what to minimise: slowdown, p99, makespan, completion, energy, unfairness, money, or a "
     "weighted sum (default slowdown=1,p99=0.2)"},
    {SY_OPTION_REPEAT, "price", "CLASS=X", AT(prices),
     "for --utility money: price of a working device per hour, such as gpu=2.5/h; may be repeated "
     "(see symph-train(1) for the defaults)"},
    {SY_OPTION_TEXT, "references", "A,B,...", AT(references),
     "heuristics that score 1; of several, the best one in each world (default lb-cont+wspt)"},
    {SY_OPTION_HEADING, .help = "Evolution strategies"},
    {SY_OPTION_U32, "pairs", "N", AT(pairs),
     "antithetic pairs of points in a generation (default 20)", 1, 10000},
    {SY_OPTION_U32, "worlds", "N", AT(worlds),
     "worlds in a generation, new ones each time (default 20)", 1, 10000},
    {SY_OPTION_NUMBER, "sigma", "X", AT(sigma),
     "standard deviation of the points around the current weights (default 0.2; with --traces 0.1)",
     1e-6, 100, AT(sigma_given)},
    {SY_OPTION_NUMBER, "rate", "X", AT(rate),
     "learning rate of Adam, decreasing over time (default 0.08; with --traces 0.04; a2c: 0.002)",
     1e-9, 100, AT(rate_given)},
    {SY_OPTION_NUMBER, "hinge", "X", AT(hinge),
     "extra weight of worlds in which the policy is worse than the heuristic (default 1)", 0, 1e6},
    {SY_OPTION_U32, "validation", "N", AT(validation),
     "number of worlds that decide which weights are kept (default 200)", 2, 100000,
     AT(validation_given)},
    {SY_OPTION_U32, "every", "N", AT(every), "generations between two validations (default 10)", 1,
     100000},
    {SY_OPTION_U32, "patience", "N", AT(patience),
     "stop after N validations without an improvement; 0: never (default 0)", 0, 100000},
    {SY_OPTION_U32, "decisions", "N", AT(decisions),
     "expert: number of decisions in a world at which alternatives are tried (default 13)", 1,
     10000},
    {SY_OPTION_U32, "alternatives", "N", AT(alternatives),
     "expert: alternatives to try at a decision, at most (default 3)", 1, SY_OTHERS_MAX},
    {SY_OPTION_TEXT, "imitate", "POLICY", AT(imitate),
     "a2c: imitate this heuristic for a fifth of the budget (default: none)"},
    {SY_OPTION_TEXT, "gradient", "KIND", AT(gradient),
     "a2c: also train the parameters of the belief: pathwise, paper or none (default none)"},
    {SY_OPTION_HEADING, .help = "Comparison"},
    {SY_OPTION_TEXT, "compare", "A,B,...", AT(compare),
     "do not train: compare weights files, or policies, with heuristics in new worlds"},
    {SY_OPTION_U32, "scenarios", "N", AT(scenarios),
     "with --compare or --traces: number of worlds to compare in (default 400)", 2, 16000000},
    {SY_OPTION_HEADING, .help = "Output"},
    {SY_OPTION_FILE, "plot", "FILE.svg", AT(plot), "draw the scores over the generations (SVG)"},
    {SY_OPTION_U32, "threads", "N", AT(threads),
     "number of simulations at the same time (default: the available cores)", 1, 4096},
    SY_OPTION_COMMON(struct sy_train_args),
};

static const struct sy_command command = {
    .name = "train",
    .usage = "[--policy NAME] [--minutes M | --generations G] [--out FILE] [OPTION]...",
    .examples = "  symph train --minutes 30 --out my.weights --plot my.svg\n"
                "  symph train --generations 300 --seed 2 --out second.weights\n"
                "  symph train --resume my.weights.checkpoint --minutes 30 --out my.weights\n"
                "  symph train --traces monday.json tuesday.json --minutes 30 --out mine.weights\n"
                "  symph train --without-family lu --minutes 30 --out no-lu.weights\n"
                "  symph train --compare my.weights,no-lu.weights --families lu --scenarios 1000\n"
                "  symph simulate --machine \"cpu:8 gpu:2\" --graphs gen:lu:8 --policy "
                "learned@my.weights,dmdas",
    .about = "Trains a learned policy in random simulated worlds: machines, graphs, streams "
             "of jobs, noise and hidden load. A score is ln(cost / cost of the heuristic in "
             "the same world): below 0 is better. The weights to keep are chosen in worlds "
             "that training does not use; --compare uses yet other worlds.",
    .options = options,
    .option_count = SY_COUNT(options),
};

const struct sy_command *sy_train_command(void) {
    return &command;
}

const struct sy_scheduler_ops *sy_train_policy(const char *name) {
    const char *args;
    struct sy_error error = {0};
    const struct sy_scheduler_ops *ops = sy_scheduler_find(name, &args, &error);
    if (!ops) {
        sy_message_about("--policy", name, -EINVAL, &error);
    } else if (!ops->net) {
        sy_message_fail("--policy %s has no weights to train", name);
        ops = NULL;
    }
    return ops;
}

int sy_train_worlds(const struct sy_train_args *args, const struct sy_traced *traces,
                    struct sy_catalogue_options *ret_options) {
    static const char *const beliefs[] = {"raw", "none", "filtered", "true"};
    _Static_assert(SY_SIM_RAW == 0 && SY_SIM_NONE == 1 && SY_SIM_FILTERED == 2 && SY_SIM_TRUE == 3,
                   "the names are in this order");
    uint32_t belief = 0;
    while (belief < SY_COUNT(beliefs) && strcmp(beliefs[belief], args->belief) != 0) {
        belief++;
    }
    if (belief == SY_COUNT(beliefs)) {
        return sy_options_usage(&command, "--belief is filtered, raw, none or true, not '%s'",
                                args->belief);
    }
    *ret_options = (struct sy_catalogue_options){.traces = traces,
                                                 .data = args->data,
                                                 .families = args->families,
                                                 .without_family = args->without_family,
                                                 .without_machine = args->without_machine,
                                                 .belief = (enum sy_sim_belief)belief,
                                                 .tasks_low = args->tasks / 3,
                                                 .tasks_high = args->tasks * 3,
                                                 .single_share = args->singles,
                                                 .prices = &args->priced};
    return SY_EXIT_OK;
}

static void put_word(struct sy_buffer *buffer, const char *option, const char *value) {
    if (value) {
        sy_buffer_printf(buffer, " --%s %s", option, value);
    }
}

static void put_number(struct sy_buffer *buffer, const char *option, double value) {
    sy_buffer_printf(buffer, " --%s ", option);
    sy_buffer_number(buffer, value);
}

void sy_train_settings(const struct sy_train_args *args, const struct sy_traced *traces,
                       struct sy_buffer *buffer) {
    sy_buffer_printf(buffer, "symph train --policy %s --method %s --seed %llu", args->policy,
                     args->method, (unsigned long long)args->seed);
    put_word(buffer, "init", args->init ? "FILE" : NULL);
    if (traces) { /* other graphs would not be the held-out half's */
        sy_buffer_printf(buffer, " --traces FILE...(%016llx)",
                         (unsigned long long)traces->fingerprint);
        put_word(buffer, "machine", args->machine);
        put_word(buffer, "arrivals", args->arrivals ? "FILE" : NULL);
    }
    if (args->accelerate_given) {
        put_number(buffer, "accelerate", (double)args->accelerate);
    }
    put_word(buffer, "data", args->data ? "FOLDER" : NULL);
    put_word(buffer, "families", args->families);
    put_word(buffer, "without-family", args->without_family);
    put_word(buffer, "without-machine", args->without_machine);
    put_number(buffer, "singles", args->singles);
    put_number(buffer, "tasks", args->tasks);
    put_word(buffer, "belief", args->belief);
    put_word(buffer, "utility", args->utility);
    for (uint32_t i = 0; i < args->prices.count; i++) {
        put_word(buffer, "price", args->prices.items[i]);
    }
    put_word(buffer, "references", args->references);
    put_word(buffer, "imitate", args->imitate);
    put_word(buffer, "gradient", args->gradient);
    if (strcmp(args->method, "expert") == 0) {
        put_number(buffer, "decisions", args->decisions);
        put_number(buffer, "alternatives", args->alternatives);
    }
    put_number(buffer, "pairs", args->pairs);
    put_number(buffer, "worlds", args->worlds);
    put_number(buffer, "sigma", args->sigma);
    put_number(buffer, "rate", args->rate);
    put_number(buffer, "hinge", args->hinge);
    put_number(buffer, "validation", args->validation);
    put_number(buffer, "every", args->every);
}

static bool is_in(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; *at;) {
        size_t here = strcspn(at, ",");
        if (here == length && memcmp(at, name, length) == 0) {
            return true;
        }
        at += here + (at[here] == ',');
    }
    return false;
}

/* Weights that are good to begin with need smaller steps. */
static void set_steps(struct sy_train_args *args, const struct sy_train_method *method) {
    double gentle = args->traces.count ? 0.5 : 1;
    args->rate = args->rate_given ? args->rate : method->rate * gentle;
    args->sigma = args->sigma_given ? args->sigma : SIGMA * gentle;
}

/* Options that belong to other methods. */
static int check_method(const struct sy_train_args *args, const struct sy_train_method *method) {
    if ((args->gradient || args->imitate) && method->run != sy_train_actor) {
        return sy_options_usage(&command, "--%s is for --method a2c, not for %s",
                                args->gradient ? "gradient" : "imitate", method->name);
    }
    if (args->traces.count && method->run == sy_train_actor) {
        return sy_options_usage(&command, "--traces is for --method es and expert, not for %s",
                                method->name);
    }
    return SY_EXIT_OK;
}

static int train(struct sy_train_args *args) {
    const struct sy_train_method *found = NULL;
    bool known = args->method == NULL;
    for (size_t i = 0; i < SY_COUNT(methods) && !found; i++) {
        bool named = !args->method || strcmp(args->method, methods[i].name) == 0;
        known = known || named;
        found = named && is_in(methods[i].policies, args->policy) ? &methods[i] : NULL;
    }
    if (!found) {
        return known ? sy_options_usage(&command, "--policy %s is not trained by --method %s",
                                        args->policy, args->method ? args->method : "es")
                     : sy_options_usage(&command, "--method is es, expert or a2c, not '%s'",
                                        args->method);
    }
    int r = check_method(args, found);
    if (r) {
        return r;
    }
    args->method = found->name;
    set_steps(args, found);
    return found->run(args);
}

/* What is said of traces belongs to them, and to no other worlds. */
static int check_traces(const struct sy_train_args *args) {
    const bool other =
        args->data || args->families || args->without_family || args->without_machine;
    const bool own = args->machine || args->arrivals || args->accelerate_given;
    if (args->traces.count && other) {
        return sy_options_usage(&command,
                                "--traces are all the graphs and the machine that worlds have: "
                                "without --data, --families, --without-family, --without-machine");
    }
    if (!args->traces.count && own) {
        return sy_options_usage(
            &command, "--machine, --arrivals and --accelerate are about --traces FILE...");
    }
    return SY_EXIT_OK;
}

static int run(void *given) {
    struct sy_train_args *args = given;
    int r = check_traces(args);
    if (r) {
        return r;
    }
    if (!sy_train_policy(args->policy)) {
        return SY_EXIT_USAGE;
    }
    args->priced = sy_prices_default();
    struct sy_error error = {0};
    for (uint32_t i = 0; i < args->prices.count; i++) {
        if (sy_prices_parse(args->prices.items[i], &args->priced, &error) < 0) {
            sy_message_about("--price", args->prices.items[i], -EINVAL, &error);
            return SY_EXIT_USAGE;
        }
    }
    if (args->compare) {
        return sy_train_compare(args);
    }
    if (!args->minutes_given && !args->generations_given) {
        return sy_options_usage(&command,
                                "say how long to train %s: --minutes M, or --generations G (200 "
                                "take about 90 minutes on two cores); the weights go to %s%s",
                                args->policy, args->out ? args->out : args->policy,
                                args->out ? "" : ".weights");
    }
    return train(args);
}

int sy_cmd_train(int argc, char **argv) {
    struct sy_train_args args = {.policy = "learned",
                                 .seed = 1,
                                 .belief = "filtered",
                                 .utility = "slowdown=1,p99=0.2",
                                 .references = "lb-cont+wspt",
                                 .singles = 0.35,
                                 .tasks = 600,
                                 .pairs = 20,
                                 .worlds = 20,
                                 .validation = 200,
                                 .every = 10,
                                 .hinge = 1,
                                 .decisions = 13,
                                 .alternatives = 3,
                                 .scenarios = 400};
    return sy_options_run(&command, argc, argv, &args, run);
}
