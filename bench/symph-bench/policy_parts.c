/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-bench policy: ablations and zero-shot.
 *
 * In: a policy of ours without one of its parts, or told less or more of the machine; pairs of
 * policies trained with and without what is left out. Out: ratios, world by world, and goals.
 */
#include "symph-bench/policy.h"

#include "cli/table.h"
#include "schedulers/schedulers.h"
#include <string.h>

#define PLAIN "lb-cont+wspt" /* what a correction corrects */

static void open_table(const struct sy_report *report, enum sy_policy_track track,
                       const char *title) {
    struct sy_json_writer *out = report->out;
    sy_json_print(out, "{bench: %s, track: %s, title: %s, rows: [", "policy", sy_track_name(track),
                  title);
}

static void close_table(const struct sy_report *report) {
    sy_json_print(report->out, "]}");
}

static enum sy_suite_measure measure_of(const struct sy_suite_outcome *o) {
    return o->load > 0 ? SY_BY_SLOWDOWN : SY_BY_MAKESPAN;
}

/* --- ablations ----------------------------------------------------------------------------------
 */
static const char *without(const struct sy_report *report, const char *policy, const char *part) {
    struct sy_buffer name = {0};
    sy_buffer_printf(&name, "%s~%s", policy, part);
    const char *copy = name.text ? sy_arena_strndup(report->arena, name.text, name.length) : "";
    sy_buffer_finish(&name);
    return copy ? copy : "";
}

/* Ours, and ours without each of the parts that they have. */
static int with_parts(const struct sy_report *report, const struct sy_text_list *ours,
                      struct sy_text_list *ret_all) {
    int r = SY_EXIT_OK;
    for (uint32_t k = 0; !r && k < ours->count; k++) {
        const char *args = NULL, *part;
        r = sy_policies_add(ret_all, ours->items[k], false, true, report->arena, report->text);
        for (uint32_t i = 0; !r && (part = sy_policy_part_at(i)); i++) {
            const char *name = without(report, ours->items[k], part);
            if (sy_scheduler_find(name, &args, NULL)) {
                r = sy_policies_add(ret_all, name, false, true, report->arena, report->text);
            }
        }
    }
    return r;
}

static void ablation_row(const struct sy_report *report, const char *suite, const char *policy,
                         struct sy_spread mean, struct sy_spread ratio, struct sy_table *table) {
    sy_table_cell(table, "%s", policy);
    sy_report_spread(table, mean);
    sy_report_spread(table, ratio);
    sy_json_print(report->out, "{suite: %s, policy: %s", suite, policy);
    sy_report_member(report->out, "mean", mean);
    sy_report_member(report->out, "over_whole", ratio);
    sy_json_close(report->out, '}');
}

/* The whole policy of which this is a part: the name up to its last '~'. */
static uint32_t whole(const struct sy_suite_outcome *o, uint32_t policy) {
    const char *name = o->policies[policy], *tilde = strchr(name, '~');
    for (uint32_t p = 0; tilde && p < o->policy_count; p++) {
        if (strlen(o->policies[p]) == (size_t)(tilde - name) &&
            memcmp(o->policies[p], name, (size_t)(tilde - name)) == 0) {
            return p;
        }
    }
    return policy;
}

static void ablation_table(const struct sy_report *report, const struct sy_suite_outcome *o,
                           const char *words) {
    static const char *const headers[] = {"policy", "mean", "/ whole"};
    struct sy_table table;
    sy_table_init(&table, headers, "lrr");
    open_table(report, SY_TRACK_ABLATION, o->name);
    for (uint32_t p = 0; p < o->policy_count; p++) {
        ablation_row(report, o->name, o->policies[p], sy_outcome_mean(o, p, measure_of(o)),
                     sy_outcome_ratio(o, p, whole(o, p), measure_of(o)), &table);
    }
    close_table(report);
    sy_buffer_printf(report->text,
                     "%s: %u seeds from 1; %s, divided by that of the whole policy\n\n", o->name,
                     o->seed_count, words);
    sy_table_write(&table, 0, false, report->text);
    sy_buffer_printf(report->text, "\n");
}

/* The same policies told of nothing, raw readings, the belief, the truth. */
static int belief_table(const struct sy_report *report, const struct sy_suite *suite,
                        const struct sy_text_list *ours) {
    static const char *const kinds[] = {"filtered", "none", "raw", "true"};
    static const char *const headers[] = {"policy, told", "mean", "/ filtered"};
    struct sy_suite_outcome outcomes[SY_COUNT(kinds)];
    uint32_t count = 0;
    int r = SY_EXIT_OK;
    for (; !r && count < SY_COUNT(kinds); count += !r) {
        struct sy_bench_scenario scenario = suite->scenario;
        scenario.belief = kinds[count];
        r = sy_outcome_run(report->bench, &scenario, suite->name, ours, NULL, &outcomes[count]);
    }
    struct sy_table table;
    sy_table_init(&table, headers, "lrr");
    open_table(report, SY_TRACK_ABLATION, "information");
    for (uint32_t i = 0; !r && i < ours->count * count; i++) {
        uint32_t p = i / count, kind = i % count;
        struct sy_suite_outcome *o = &outcomes[kind], *filtered = &outcomes[0];
        struct sy_buffer name = {0};
        sy_buffer_printf(&name, "%s, %s", o->policies[p], kinds[kind]);
        ablation_row(report, suite->name, name.text ? name.text : "",
                     sy_outcome_mean(o, p, SY_BY_SLOWDOWN),
                     sy_outcomes_paired(o, filtered, p, SY_BY_SLOWDOWN), &table);
        sy_buffer_finish(&name);
    }
    close_table(report);
    sy_buffer_printf(report->text, "%s: information about shared resources\n\n", suite->name);
    sy_table_write(&table, 0, false, report->text);
    sy_buffer_printf(report->text, "\n");
    for (uint32_t i = 0; i < count; i++) {
        sy_outcome_finish(&outcomes[i]);
    }
    return r;
}

int sy_track_ablation(const struct sy_report *report) {
    struct sy_text_list ours = {0}, all = {0};
    struct sy_suite_outcome outcomes[SY_SUITES_MAX];
    uint32_t count = 0;
    int r = sy_ours(report, "learned,symphony," PLAIN, &ours);
    r = r ? r : with_parts(report, &ours, &all);
    r = r ? r : sy_suites_run(report, SY_TRACK_ABLATION, &all, NULL, outcomes, &count);
    for (uint32_t i = 0; i < count; i++) {
        ablation_table(report, &outcomes[i],
                       outcomes[i].load > 0 ? "mean job slowdown" : "makespan / bound");
        sy_outcome_finish(&outcomes[i]);
    }
    const struct sy_suite *suite;
    for (uint32_t i = 0; !r && (suite = sy_suite_at(i)); i++) {
        if (suite->track == SY_TRACK_ABLATION && suite->scenario.hidden_load > 0 &&
            sy_suite_runs(report, suite)) {
            r = belief_table(report, suite, &ours);
        }
    }
    sy_text_list_finish(&ours);
    sy_text_list_finish(&all);
    return r;
}

/* --- zero-shot ----------------------------------------------------------------------------------
 */
struct pair {
    const struct sy_left_out *left_out;
    const char *with, *without; /* NULL: ours against what it corrects */
};

static int parse_pair(const struct sy_report *report, const char *text, struct pair *ret_pair) {
    const char *equals = strchr(text, '='), *comma = equals ? strchr(equals, ',') : NULL;
    const struct sy_left_out *kind = NULL;
    for (uint32_t i = 0; equals && comma && (kind = sy_left_out_at(i)); i++) {
        if (strlen(kind->kind) == (size_t)(equals - text) &&
            memcmp(kind->kind, text, strlen(kind->kind)) == 0) {
            break;
        }
    }
    if (!kind) {
        sy_message_fail("--zero-shot takes KIND=WITH,WITHOUT, two policies such as "
                        "learned@all.weights; KIND is machine, size, family or factorisations, not "
                        "'%s'",
                        text);
        return SY_EXIT_USAGE;
    }
    *ret_pair = (struct pair){
        kind, sy_arena_strndup(report->arena, equals + 1, (size_t)(comma - equals - 1)), comma + 1};
    return SY_EXIT_OK;
}

static int run_pair(const struct sy_report *report, const struct pair *pair,
                    struct sy_table *table) {
    const struct sy_left_out *kind = pair->left_out;
    struct sy_text_list policies = {0};
    struct sy_suite_outcome o;
    bool quiet = report->bench->worlds.quiet;
    const char *lacks = sy_scenario_lacks(&kind->scenario, report->bench->worlds.data);
    if (lacks) {
        sy_buffer_printf(report->text, "(left out: %s: needs %s)\n", kind->what, lacks);
        return SY_EXIT_OK;
    }
    int r = sy_policies_add(&policies, pair->without, false, quiet, report->arena, report->text);
    r = r ? r : sy_policies_add(&policies, pair->with, false, quiet, report->arena, report->text);
    r = r ? r : sy_policies_add(&policies, PLAIN, false, quiet, report->arena, report->text);
    if (!r && sy_policies_has(&policies, pair->with) && sy_policies_has(&policies, pair->without)) {
        r = sy_outcome_run(report->bench, &kind->scenario, kind->what, &policies, NULL, &o);
        if (!r) {
            uint32_t with = sy_outcome_find(&o, pair->with), p = sy_outcome_find(&o, pair->without);
            uint32_t plain = sy_outcome_find(&o, PLAIN);
            struct sy_spread ratio = sy_outcome_ratio(&o, p, with, SY_BY_SLOWDOWN);
            struct sy_spread over = sy_outcome_ratio(&o, p, plain, SY_BY_SLOWDOWN);
            sy_table_cell(table, "%s|%s|%s", kind->what, pair->without, pair->with);
            sy_report_spread(table, ratio);
            sy_report_spread(table, over);
            sy_json_print(report->out, "{left_out: %s, without: %s, with: %s", kind->what,
                          pair->without, pair->with);
            sy_report_member(report->out, "without_over_with", ratio);
            sy_report_member(report->out, "without_over_heuristic", over);
            sy_json_close(report->out, '}');
            if (strcmp(pair->with, PLAIN) != 0) {
                sy_goals_add(report->goals, (struct sy_goal){.track = SY_TRACK_ZERO_SHOT,
                                                             .policy = pair->without,
                                                             .text = "trained without / with",
                                                             .where = kind->what,
                                                             .value = ratio,
                                                             .goal = kind->at_most});
            }
            sy_outcome_finish(&o);
        }
    }
    sy_text_list_finish(&policies);
    return r;
}

int sy_track_zero_shot(const struct sy_report *report) {
    static const char *const headers[] = {"left out", "without", "with", "without / with",
                                          ("without / " PLAIN)};
    const struct sy_text_list *asked = report->bench->zero_shot;
    struct sy_text_list ours = {0};
    struct sy_table table;
    const struct sy_left_out *kind;
    int r = sy_ours(report, "learned," PLAIN, &ours);
    sy_table_init(&table, headers, "lllrr");
    open_table(report, SY_TRACK_ZERO_SHOT, "without and with");
    for (uint32_t i = 0; !r && i < asked->count; i++) {
        struct pair pair;
        r = parse_pair(report, asked->items[i], &pair);
        r = r ? r : run_pair(report, &pair, &table);
    }
    for (uint32_t i = 0; !r && !asked->count && (kind = sy_left_out_at(i)); i++) {
        struct pair pair = {kind, PLAIN, ours.items[0]};
        r = run_pair(report, &pair, &table);
    }
    close_table(report);
    sy_goals_write(report->goals, SY_TRACK_ZERO_SHOT, report->out, report->text);
    if (!asked->count) {
        sy_buffer_printf(
            report->text,
            "No pair of weights was given (--zero-shot): ours compared with the heuristic "
            "that it corrects, on what may be unusual\n\n");
    }
    sy_table_write(&table, 0, false, report->text);
    sy_text_list_finish(&ours);
    return r;
}
