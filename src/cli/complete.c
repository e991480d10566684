/* SPDX-License-Identifier: Apache-2.0
 *
 * complete: see complete.h.
 *
 * An option means the same in every command, so its name says what its value can be.
 */
#include "cli/complete.h"

#include "cli/cli.h"
#include "kernels/kernels.h"
#include <stdlib.h>
#include <string.h>
#include <symph/scheduler.h>

/* --- the protocol -------------------------------------------------------------------------------
 */
static char mark[] = "complete"; /* known by its address: no argument of a person's is mistaken */

bool sy_completes(int argc, char **argv) {
    return argc > 1 && argv[argc - 1] == mark;
}

int sy_complete(int argc, char **argv, int (*run)(int argc, char **argv)) {
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (!words) {
        return SY_EXIT_FAILED;
    }
    memcpy(words, argv, (size_t)argc * sizeof *words);
    words[argc] = mark;
    int r = argc > 1 ? run(argc + 1, words) : SY_EXIT_OK;
    free(words);
    return r;
}

void sy_offer(struct sy_offers *offers, const char *word, const char *description) {
    const char *typed = offers->word + offers->kept;
    if (strncmp(word, typed, strlen(typed)) == 0) {
        sy_buffer_printf(&offers->lines, "%.*s%s\t%s\n", (int)offers->kept, offers->word, word,
                         description);
    }
}

static void offer_words(struct sy_offers *offers, const char *words) {
    while (*words) {
        char word[64];
        size_t length = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        sy_offer(offers, word, "");
        words += length + (words[length] == ' ');
    }
}

static void offer_files(struct sy_offers *offers) {
    sy_buffer_printf(&offers->lines, "\tfiles\n");
}

/* Behind the last of these separators another word of a list begins. */
static void keep_before(struct sy_offers *offers, const char *separators) {
    for (size_t i = offers->kept; offers->word[i]; i++) {
        offers->kept = strchr(separators, offers->word[i]) ? i + 1 : offers->kept;
    }
}

/* --- values -------------------------------------------------------------------------------------
 */
static void offer_policies(struct sy_offers *offers) {
    const struct sy_scheduler_ops *ops = NULL;
    keep_before(offers, ",");
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        sy_offer(offers, ops->name, ops->summary);
    }
}

static void offer_policies_or_all(struct sy_offers *offers) {
    sy_offer(offers, "all", "every policy that can run for real");
    offer_policies(offers);
}

static void offer_policies_or_files(struct sy_offers *offers) {
    offer_policies(offers);
    offer_files(offers);
}

static void offer_generators(struct sy_offers *offers) {
    const char *help = NULL, *name = NULL;
    for (uint32_t i = 0; (name = sy_graph_generator_at(i, &help)); i++) {
        char word[64];
        snprintf(word, sizeof word, "gen:%s:", name);
        sy_offer(offers, word, help);
    }
}

static void offer_graphs(struct sy_offers *offers) {
    offer_generators(offers);
    offer_files(offers);
}

static void offer_machines(struct sy_offers *offers) {
    sy_offer(offers, "here", "this machine");
    offer_files(offers);
}

static void offer_records(struct sy_offers *offers) {
    sy_offer(offers, "last", "the latest run");
    offer_files(offers);
}

/* "linalg:cholesky:n=4096,ti": arguments that the usage names, "n=SIZE,tile=SIZE[,seed=N]". */
static void offer_arguments(struct sy_offers *offers, const char *usage) {
    size_t kept = offers->kept;
    keep_before(offers, ":,");
    while (*usage) {
        size_t length = strspn(usage, "abcdefghijklmnopqrstuvwxyz0123456789_-");
        if (length && usage[length] == '=') {
            char word[64];
            snprintf(word, sizeof word, "%.*s=", (int)length, usage);
            sy_offer(offers, word, "");
        }
        usage += length ? length : 1;
    }
    offers->kept = kept;
}

static void offer_spec(struct sy_offers *offers, const char *plugin, const char *name,
                       const char *usage, const char *summary) {
    char word[256];
    snprintf(word, sizeof word, "%s:%s:", plugin, name);
    if (strncmp(offers->word + offers->kept, word, strlen(word)) == 0) {
        offer_arguments(offers, usage ? usage : "");
    } else {
        sy_offer(offers, word, summary ? summary : "");
    }
}

/* Of the plug-ins that are found without --kernels; with none there is nothing to offer. */
static void offer_of_plugins(struct sy_offers *offers,
                             void (*offer)(struct sy_offers *offers,
                                           const struct sy_kernel_table *table)) {
    struct sy_kernel_set *set = NULL;
    struct sy_error error = {0};
    if (sy_kernel_set_open(NULL, &set, &error) == 0) {
        for (uint32_t i = 0; i < sy_kernel_set_count(set); i++) {
            offer(offers, sy_kernel_set_table(set, i));
        }
        sy_kernel_set_close(set);
    }
}

static void offer_workloads_of(struct sy_offers *offers, const struct sy_kernel_table *table) {
    for (uint32_t i = 0; i < table->workload_count; i++) {
        const struct sy_kernel_workload *workload = &table->workloads[i];
        offer_spec(offers, table->name, workload->name, workload->usage, workload->summary);
    }
}

static void offer_pipelines_of(struct sy_offers *offers, const struct sy_kernel_table *table) {
    for (uint32_t i = 0; i < table->pipeline_count; i++) {
        const struct sy_kernel_pipeline *pipeline = &table->pipelines[i];
        offer_spec(offers, table->name, pipeline->name, pipeline->usage, pipeline->summary);
    }
}

static void offer_kernels_of(struct sy_offers *offers, const struct sy_kernel_table *table) {
    sy_offer(offers, table->name, table->summary ? table->summary : "");
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        sy_offer(offers, table->kernels[i].name, "");
    }
}

static void offer_workloads(struct sy_offers *offers) {
    offer_of_plugins(offers, offer_workloads_of);
    offer_graphs(offers);
}

static void offer_pipelines(struct sy_offers *offers) {
    offer_of_plugins(offers, offer_pipelines_of);
}

/* symph plan names a pipeline without arguments. */
static void offer_plain_pipelines_of(struct sy_offers *offers,
                                     const struct sy_kernel_table *table) {
    for (uint32_t i = 0; i < table->pipeline_count; i++) {
        char word[256];
        snprintf(word, sizeof word, "%s:%s", table->name, table->pipelines[i].name);
        sy_offer(offers, word, table->pipelines[i].summary ? table->pipelines[i].summary : "");
    }
}

static void offer_plain_pipelines(struct sy_offers *offers) {
    offer_of_plugins(offers, offer_plain_pipelines_of);
    offer_files(offers);
}

static void offer_kernels(struct sy_offers *offers) {
    offer_of_plugins(offers, offer_kernels_of);
}

struct value {
    const char *name; /* of the option, or of the command whose operands these are */
    void (*offer)(struct sy_offers *offers);
    const char *words; /* instead: all that can be said */
};

static const struct value of_options[] = {
    {"policy", offer_policies, NULL},
    {"compare", offer_policies_or_files, NULL},
    {"references", offer_policies, NULL},
    {"imitate", offer_policies, NULL},
    {"machine", offer_machines, NULL},
    {"graphs", offer_graphs, NULL},
    {"replay", offer_records, NULL},
    {"pipeline", offer_pipelines, NULL},
    {"objective", NULL, "throughput latency energy money balanced"},
    {"belief", NULL, "none raw filtered true"},
    {"method", NULL, "es expert a2c"},
    {"gradient", NULL, "pathwise paper none"},
    {"scope", NULL, "core package gpu"},
};

static const struct value of_operands[] = {
    {"graph", offer_graphs, NULL},         {"bound", offer_graphs, NULL},
    {"simulate", offer_graphs, NULL},      {"run", offer_workloads, NULL},
    {"plan", offer_plain_pipelines, NULL}, {"machine", offer_machines, NULL},
    {"explain", offer_records, NULL},      {"kernels", offer_kernels, NULL},
};

static const struct value *find_value(const struct value *values, size_t count, const char *name) {
    uint32_t i = sy_index_of(name, values, (uint32_t)count, sizeof *values);
    return i == SY_NONE ? NULL : &values[i];
}

static void offer_value(struct sy_offers *offers, const struct sy_command *command,
                        const struct sy_option *option) {
    const struct value *value = find_value(of_options, SY_COUNT(of_options), option->name);
    enum sy_option_type type = sy_option_resolve(option).type;
    bool all = strcmp(command->name, "simulate") == 0 && strcmp(option->name, "policy") == 0;
    if (all) {
        offer_policies_or_all(offers);
    } else if (value && value->words) {
        offer_words(offers, value->words);
    } else if (value) {
        value->offer(offers);
    } else if (strstr(option->metavar, "FOLDER")) {
        sy_buffer_printf(&offers->lines, "\tfolders\n");
    } else if (type != SY_OPTION_U32 && type != SY_OPTION_U64 && type != SY_OPTION_NUMBER &&
               type != SY_OPTION_TIME && type != SY_OPTION_SIZE) {
        offer_files(offers);
    }
}

/* --- where the word stands ----------------------------------------------------------------------
 */
static bool takes_value(const struct sy_option *option) {
    return sy_option_resolve(option).type != SY_OPTION_FLAG;
}

/* The option whose value comes behind these words; NULL: none. */
static const struct sy_option *expected(const struct sy_command *command, int argc, char **argv,
                                        bool *ret_only_operands) {
    const struct sy_option *option = NULL;
    bool only_operands = false;
    for (int i = 1; i < argc && !only_operands; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            option = NULL;
        } else if (word[0] == '-' && word[1]) {
            option = sy_options_find(command, word);
            option = option && takes_value(option) && !strchr(word, '=') ? option : NULL;
        } else if (!option) {
            only_operands = command->first_operand_ends;
        } else if (option->type != SY_OPTION_LIST) {
            option = NULL;
        }
    }
    *ret_only_operands = only_operands;
    return option;
}

static void offer_options(struct sy_offers *offers, const struct sy_command *command) {
    for (size_t i = 0; i < command->option_count; i++) {
        const struct sy_option *option = &command->options[i];
        if (option->type != SY_OPTION_HEADING) {
            char word[64];
            snprintf(word, sizeof word, "--%s", option->name);
            sy_offer(offers, word, option->help);
        }
    }
    sy_offer(offers, "--help", "show the options");
}

static void offer_operands(struct sy_offers *offers, const struct sy_command *command) {
    const struct value *value = find_value(of_operands, SY_COUNT(of_operands), command->name);
    if (value) {
        value->offer(offers);
    } else if (command->operand_max) {
        offer_files(offers);
    }
}

int sy_options_complete(const struct sy_command *command, int argc, char **argv) {
    struct sy_offers offers = {.word = argv[argc - 2]};
    bool only_operands = false;
    const struct sy_option *option = expected(command, argc - 2, argv, &only_operands);
    const char *equals = strncmp(offers.word, "--", 2) == 0 ? strchr(offers.word, '=') : NULL;
    if (only_operands) {
        offer_operands(&offers, command);
    } else if (equals) {
        option = sy_options_find(command, offers.word);
        offers.kept = (size_t)(equals - offers.word) + 1;
        if (option && takes_value(option)) {
            offer_value(&offers, command, option);
        }
    } else if (offers.word[0] == '-' || (!option && !command->operand_max)) {
        offer_options(&offers, command);
    } else if (option) {
        offer_value(&offers, command, option);
    } else {
        offer_operands(&offers, command);
    }
    return sy_output(&offers.lines);
}
