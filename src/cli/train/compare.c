/* SPDX-License-Identifier: Apache-2.0
 *
 * compare: weights and heuristics in the same fresh worlds.
 *
 * In: files of weights or names of policies. Out: ratios of costs with intervals, over all worlds
 * and by kind, family and machine; JSON "symph-train-compare-1". Invariant: every ratio is taken
 * within one world, so that no policy was luckier.
 */
#include "base/json.h"
#include "cli/table.h"
#include "cli/threads.h"
#include "cli/train/held_out.h"
#include "cli/train/traces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEURISTICS "lb-cont+wspt,lb+wspt,dmdas,heft,symphony"
#define MOST       24
#define NAME_SIZE  200

struct compare {
    const struct sy_train_args *args;
    struct sy_train_pool pool;
    struct sy_train_traces *traces; /* NULL: none */
    struct sy_catalogue_options worlds;
    struct sy_catalogue *catalogue;
    struct sy_comparison comparison;
    struct sy_contender contenders[MOST];
    struct sy_weights weights[MOST];
    char names[MOST][NAME_SIZE];
    struct sy_arena *arena;
    double *scratch;
    uint32_t *groups;
};

/* A file of weights for --policy, or the name of a policy. */
static int add_contender(struct compare *c, const char *text, size_t length) {
    uint32_t i = c->comparison.contender_count, worlds = c->args->scenarios;
    if (i == MOST || length >= NAME_SIZE) {
        return sy_options_usage(sy_train_command(), "--compare takes at most %d names", MOST - 6);
    }
    snprintf(c->names[i], NAME_SIZE, "%.*s", (int)length, text);
    struct sy_contender *contender = &c->contenders[i];
    struct sy_error error = {0};
    const char *args;
    struct stat status;
    contender->rollout = (struct sy_rollout){.policy = c->names[i], .stop = sy_interrupt_seen};
    if (stat(c->names[i], &status) == 0) {
        const struct sy_scheduler_ops *ops = sy_train_policy(c->args->policy);
        int code = sy_weights_open(c->names[i], &c->weights[i], &error);
        if (code) {
            return sy_message_about("--compare", c->names[i], code, &error);
        }
        const struct sy_weights *w = &c->weights[i];
        if (strcmp(w->kind, ops->net->kind) != 0 || w->shape != ops->net->shape ||
            w->count != ops->net->count) {
            sy_message_fail("--compare %s: not weights of %s, or of another version of it",
                            c->names[i], c->args->policy);
            sy_weights_close(&c->weights[i]);
            return SY_EXIT_INPUT;
        }
        contender->rollout = (struct sy_rollout){c->args->policy, w->kind,  w->shape,
                                                 w->count,        w->block, sy_interrupt_seen};
    } else if (!sy_scheduler_find(c->names[i], &args, &error)) {
        sy_message_about("--compare", c->names[i], -EINVAL, &error);
        return SY_EXIT_USAGE;
    }
    c->comparison.contender_count++;
    contender->score = sy_arena_alloc(c->arena, worlds, sizeof(double));
    contender->cost = sy_arena_alloc(c->arena, (size_t)worlds * SY_MEASURE_COUNT, sizeof(double));
    return contender->score && contender->cost ? SY_EXIT_OK : sy_no_memory();
}

static int add_list(struct compare *c, const char *list) {
    int r = SY_EXIT_OK;
    for (const char *at = list; *at && !r;) {
        size_t length = strcspn(at, ",");
        r = add_contender(c, at, length);
        at += length + (at[length] == ',');
    }
    return r;
}

static int setup(struct compare *c) {
    const struct sy_train_args *args = c->args;
    struct sy_comparison *comparison = &c->comparison;
    struct sy_error error = {0};
    uint32_t n = args->scenarios;
    comparison->references = args->references;
    comparison->scenario_count = n;
    comparison->contenders = c->contenders;
    comparison->families = sy_need(sy_arena_alloc(c->arena, n, sizeof(char *)));
    comparison->machines = sy_need(sy_arena_alloc(c->arena, n, sizeof(char *)));
    comparison->streams = sy_need(sy_arena_alloc(c->arena, n, sizeof(bool)));
    c->scratch = sy_need(sy_arena_alloc(c->arena, n, sizeof(double)));
    c->groups = sy_need(sy_arena_alloc(c->arena, n, sizeof(uint32_t)));
    if (sy_utility_parse(args->utility, &comparison->utility, &error)) {
        sy_message_about("--utility", args->utility, -EINVAL, &error);
        return SY_EXIT_USAGE;
    }
    int r = sy_train_traces_open(args, &c->traces);
    r = r ? r : sy_train_worlds(args, sy_train_traces(c->traces), &c->worlds);
    r = r ? r : add_list(c, args->compare);
    r = r ? r : add_list(c, HEURISTICS);
    if (r) {
        return r;
    }
    int code = sy_catalogue_open(&c->worlds, &c->catalogue, &error);
    return sy_message_code(code, &error);
}

/* --- groups of worlds ---------------------------------------------------------------------------
 */
struct group {
    const char *by, *name; /* NULL: all worlds */
};

static bool is_of(const struct compare *c, const struct group *group, uint32_t world) {
    if (!group->by) {
        return true;
    }
    const char *here = strcmp(group->by, "family") == 0    ? c->comparison.families[world]
                       : strcmp(group->by, "machine") == 0 ? c->comparison.machines[world]
                       : c->comparison.streams[world]      ? "stream"
                                                           : "single";
    return strcmp(here, group->name) == 0;
}

static struct sy_train_figures measure(struct compare *c, const struct group *group,
                                       uint32_t contender) {
    const double *score = c->contenders[contender].score;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->comparison.scenario_count; i++) {
        if (is_of(c, group, i)) {
            c->groups[count] = sy_comparison_family(&c->comparison, i);
            c->scratch[count++] = score[i];
        }
    }
    return sy_train_measure(c->scratch, c->groups, count);
}

/* All worlds, then kinds, families and machines. False past the end. */
static bool group_at(const struct compare *c, uint32_t index, struct group *ret_group) {
    static const struct group fixed[] = {{NULL, NULL}, {"kind", "single"}, {"kind", "stream"}};
    if (index < SY_COUNT(fixed)) {
        *ret_group = fixed[index];
        return true;
    }
    index -= (uint32_t)SY_COUNT(fixed);
    uint32_t families = 0, machines = 0;
    while (sy_catalogue_family(c->catalogue, families)) {
        families++;
    }
    while (sy_catalogue_machine(c->catalogue, machines)) {
        machines++;
    }
    if (index < families) {
        *ret_group = (struct group){"family", sy_catalogue_family(c->catalogue, index)};
    } else if (index == families) {
        *ret_group = (struct group){"family", "mixed"};
    } else if (index - families - 1 < machines) {
        *ret_group =
            (struct group){"machine", sy_catalogue_machine(c->catalogue, index - families - 1)};
    } else {
        return false;
    }
    return true;
}

/* --- output -------------------------------------------------------------------------------------
 */
static int print_text(struct compare *c) {
    const struct sy_comparison *comparison = &c->comparison;
    struct sy_buffer buffer = {0};
    struct sy_table table;
    struct group group = {0};
    sy_print(&buffer,
             "Cost / cost of %s in the same world, %u new worlds, utility %s;\n[95 %% "
             "bootstrap intervals over families of graphs, then worlds]\n\n",
             comparison->references, comparison->scenario_count, c->args->utility);
    sy_table_init(&table, (const char *const[]){"policy", "ratio", "", "better in", "worst"},
                  "lrlrr");
    for (uint32_t i = 0; i < comparison->contender_count; i++) {
        struct sy_train_figures f = measure(c, &group, i);
        sy_table_cell(&table, "%s|%.4f|[%.4f, %.4f]|%.0f %%|%.3f", c->names[i], f.ratio,
                      f.interval.low, f.interval.high, 100 * f.better, f.worst);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), &buffer);
    sy_table_legend("ratio: geometric mean of cost / cost of the reference; [low, high]: 95 % "
                    "interval; better in: share of worlds in which the policy is better than the "
                    "reference; worst: largest ratio in one world.",
                    0, &buffer);
    const char *headers[MOST + 4] = {"worlds", "", "count"};
    char align[MOST + 4] = "llr";
    for (uint32_t i = 0; i < comparison->contender_count; i++) {
        headers[3 + i] = c->names[i];
        align[3 + i] = 'r';
    }
    headers[3 + comparison->contender_count] = NULL;
    sy_print(&buffer, "\n");
    sy_table_init(&table, headers, align);
    for (uint32_t g = 1; group_at(c, g, &group); g++) {
        uint32_t count = measure(c, &group, 0).count;
        if (!count) {
            continue;
        }
        sy_table_cell(&table, "%s|%s|%u", group.by, group.name, count);
        for (uint32_t i = 0; i < comparison->contender_count; i++) {
            sy_table_cell(&table, "%.4f", measure(c, &group, i).ratio);
        }
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), &buffer);
    sy_table_legend("count: number of worlds; below each policy: its ratio in these worlds.", 0,
                    &buffer);
    return sy_output(&buffer);
}

static void put_group(struct compare *c, const struct group *group, uint32_t contender,
                      struct sy_json_writer *w) {
    struct sy_train_figures f = measure(c, group, contender);
    sy_json_print(
        w, "{by: %s, name: %s, count: %u, ratio: %g, low: %g, high: %g, better: %g, worst: %g}",
        group->by ? group->by : "all", group->name ? group->name : "all", f.count, f.ratio,
        f.count ? f.interval.low : NAN, f.count ? f.interval.high : NAN, f.better, f.worst);
}

static int print_json(struct compare *c) {
    struct sy_json_writer w = {.compact_from = 5};
    struct group group;
    sy_json_print(&w, "{schema: %s, scenarios: %u, references: %s, utility: %s, policies: [",
                  "symph-train-compare-1", c->comparison.scenario_count, c->args->references,
                  c->args->utility);
    for (uint32_t i = 0; i < c->comparison.contender_count; i++) {
        sy_json_print(&w, "{policy: %s, groups: [", c->names[i]);
        for (uint32_t g = 0; group_at(c, g, &group); g++) {
            put_group(c, &group, i, &w);
        }
        sy_json_print(&w, "]}");
    }
    sy_json_print(&w, "]}");
    return sy_output(&w.buffer);
}

static int run(struct compare *c) {
    struct sy_error error = {0};
    int r = setup(c);
    if (r) {
        return r;
    }
    sy_interrupt_watch();
    c->pool.thread_count = sy_threads_count(c->args->threads);
    struct sy_parallel parallel = sy_train_parallel(&c->pool);
    sy_message_note(c->args->common.quiet, "comparing %u policies in %u worlds",
                    c->comparison.contender_count, c->comparison.scenario_count);
    int code = sy_compare(&c->comparison, c->catalogue, &parallel, &error);
    if (code && sy_interrupt_seen()) {
        return SY_EXIT_INTERRUPTED;
    }
    if (code) {
        return sy_message_code(code, &error);
    }
    return c->args->common.json ? print_json(c) : print_text(c);
}

int sy_train_compare(const struct sy_train_args *args) {
    struct compare *c = calloc(1, sizeof *c);
    if (!c || !(c->arena = sy_arena_create())) {
        free(c);
        return sy_no_memory();
    }
    c->args = args;
    int r = run(c);
    for (uint32_t i = 0; i < c->comparison.contender_count; i++) {
        sy_weights_close(&c->weights[i]);
    }
    sy_catalogue_close(c->catalogue);
    sy_train_traces_close(c->traces);
    sy_arena_destroy(c->arena);
    free(c);
    return r;
}
