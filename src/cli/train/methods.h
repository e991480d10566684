/* SPDX-License-Identifier: Apache-2.0
 *
 * methods: the parts of symph train.
 *
 * In: the command's arguments. Out: weights, checkpoints, curves; or a table that compares weights.
 * Invariant: with a number of generations as budget, what is written does not depend on the number
 * of threads, on interruptions or on the time of day.
 */
#ifndef SY_CLI_TRAIN_METHODS_H
#define SY_CLI_TRAIN_METHODS_H

#include "cli/cli.h"
#include "train/train.h"

struct sy_train_args {
    struct sy_common_args common;
    const char *policy, *method;
    uint64_t seed;
    double minutes;
    uint32_t generations;
    const char *out, *resume, *init, *plot;
    struct sy_text_list traces;
    const char *machine, *arrivals;
    uint64_t accelerate;
    bool accelerate_given;
    const char *data, *families, *without_family, *without_machine, *belief, *utility, *references;
    struct sy_text_list prices;
    struct sy_prices priced; /* what prices say */
    double singles, tasks;
    uint32_t pairs, worlds, validation, every, patience;
    uint32_t decisions, alternatives;
    double sigma, rate, hinge;
    uint32_t threads;
    const char *compare;
    uint32_t scenarios;
    const char *imitate, *gradient;
    bool minutes_given, generations_given, rate_given, sigma_given, validation_given;
};

/* A way to train. To add one: a line in the table of train.c. */
struct sy_train_method {
    const char *name;
    const char *policies; /* with commas: what it can train; the first is its own default */
    int (*run)(const struct sy_train_args *args);
    double rate; /* of Adam, unless --rate says otherwise */
    const char *summary;
};

const struct sy_command *sy_train_command(void);
/* What worlds the arguments ask for. Prints what is wrong and returns an exit code. */
int sy_train_worlds(const struct sy_train_args *args, const struct sy_traced *traces,
                    struct sy_catalogue_options *ret_options);
/* The arguments that decide what is trained, as a command line that would do it again. */
void sy_train_settings(const struct sy_train_args *args, const struct sy_traced *traces,
                       struct sy_buffer *buffer);
/* The learned policy of a name; NULL with a message if it is none. */
const struct sy_scheduler_ops *sy_train_policy(const char *name);

/* train_es.c: --method es and expert. */
int sy_train_es(const struct sy_train_args *args);
/* train_actor.c: --method a2c. */
int sy_train_actor(const struct sy_train_args *args);
/* train_compare.c: --compare. */
int sy_train_compare(const struct sy_train_args *args);

/* train_pool.c: work for threads. The pool must outlive what it returns. */
struct sy_train_pool {
    uint32_t thread_count;
};
struct sy_parallel sy_train_parallel(struct sy_train_pool *pool);

#endif
