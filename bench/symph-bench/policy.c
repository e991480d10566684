/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-bench policy: tracks S and D (single graphs) and what all tracks share.
 *
 * In: suites, policies. Out: tables, goals. Invariant: regret on an instance is against the best of
 * five heuristics on that instance, chosen afterwards.
 */
#include "symph-bench/policy.h"

#include "cli/table.h"
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#define FIVE  "heft,peft,dmdas,heteroprio,dmda"
#define OTHER "lb,lb-hist,symphony"

static const struct {
    const char *name, *page;
} tracks[SY_TRACK_COUNT] = {
    {"S", "policy-static"},    {"D", "policy-dynamic"},         {"C", "policy-contention"},
    {"M", "policy-tenants"},   {"ablation", "policy-ablation"}, {"zero-shot", "policy-zero-shot"},
    {"speed", "policy-speed"},
};

const char *sy_track_name(enum sy_policy_track track) {
    return tracks[track].name;
}

const char *sy_track_page(enum sy_policy_track track) {
    return tracks[track].page;
}

static bool names_track(const char *at, size_t length, const char *name) {
    return strlen(name) == length && strncmp(at, name, length) == 0;
}

bool sy_track_wanted(const struct sy_bench_policy *bench, enum sy_policy_track track) {
    for (const char *at = bench->suite; *at;) {
        size_t length = strcspn(at, ",");
        if (names_track(at, length, tracks[track].name) || names_track(at, length, "all")) {
            return true;
        }
        at += length + (at[length] == ',');
    }
    return false;
}

bool sy_tracks_known(const char *list, const char **ret_word) {
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        bool known = names_track(at, length, "all");
        for (uint32_t t = 0; !known && t < SY_TRACK_COUNT; t++) {
            known = names_track(at, length, tracks[t].name);
        }
        if (!known) {
            *ret_word = at;
            return false;
        }
        at += length + (at[length] == ',');
    }
    return *list != 0;
}

bool sy_suite_runs(const struct sy_report *report, const struct sy_suite *suite) {
    const struct sy_bench_policy *bench = report->bench;
    if (bench->only && fnmatch(bench->only, suite->name, 0) != 0) {
        return false;
    }
    const char *lacks = sy_scenario_lacks(&suite->scenario, bench->worlds.data);
    if (lacks) {
        sy_message_note(bench->worlds.quiet, "left out: %s: needs %s", suite->name, lacks);
        sy_buffer_printf(report->text, "(left out: %s: needs %s)\n", suite->name, lacks);
        return false;
    }
    return true;
}

int sy_suites_run(const struct sy_report *report, enum sy_policy_track track,
                  const struct sy_text_list *policies, const struct sy_text_list *slow,
                  struct sy_suite_outcome *outcomes, uint32_t *ret_count) {
    const struct sy_suite *suite;
    uint32_t count = 0;
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; !r && (suite = sy_suite_at(i)); i++) {
        if (suite->track == track && count < SY_SUITES_MAX && sy_suite_runs(report, suite)) {
            r = sy_outcome_run(report->bench, &suite->scenario, suite->name, policies, slow,
                               &outcomes[count]);
            count += !r;
        }
    }
    *ret_count = count;
    return r;
}

int sy_ours(const struct sy_report *report, const char *shipped, struct sy_text_list *ret_ours) {
    const struct sy_bench_policy *bench = report->bench;
    const char *names = bench->policies ? bench->policies : shipped;
    int r =
        sy_policies_add(ret_ours, names, false, bench->worlds.quiet, report->arena, report->text);
    if (!r && !ret_ours->count) {
        sy_message_fail("none of the policies to evaluate can run");
        if (bench->worlds.quiet) { /* but why not is no mere note now */
            r = sy_policies_add(ret_ours, names, false, false, report->arena, report->text);
        }
        return r ? r : SY_EXIT_INPUT;
    }
    return r;
}

/* --- S and D ------------------------------------------------------------------------------------
 */
struct single {
    const struct sy_report *report;
    enum sy_policy_track track;
    struct sy_text_list ours, five, all;
    struct sy_suite_outcome outcomes[SY_SUITES_MAX];
    uint32_t count;
};

/* The best of the five on one graph. */
static double best_of_five(const struct single *s, const struct sy_suite_outcome *o, uint32_t graph,
                           const char **ret_name) {
    double least = INFINITY;
    for (uint32_t i = 0; i < s->five.count; i++) {
        double here = sy_outcome_graph(o, sy_outcome_find(o, s->five.items[i]), graph);
        if (here < least) {
            least = here;
            *ret_name = s->five.items[i];
        }
    }
    return least;
}

static void suite_table(const struct single *s, const struct sy_suite_outcome *o) {
    static const char *const headers[] = {"policy", "/ bound", "/ LP bound", "/ heft", "/ dmdas"};
    struct sy_table table;
    struct sy_json_writer *out = s->report->out;
    sy_table_init(&table, headers, "lrrrr");
    sy_json_print(out, "{bench: %s, track: %s, title: %s, seeds: %u, rows: [", "policy",
                  sy_track_name(s->track), o->name, o->seed_count);
    uint32_t heft = sy_outcome_find(o, "heft"), dmdas = sy_outcome_find(o, "dmdas");
    double lp = 0;
    for (uint32_t g = 0; g < o->graph_count; g++) {
        lp += log(o->lp_ns[g] / o->bound_ns[g]) / o->graph_count;
    }
    for (uint32_t p = 0; p < o->policy_count; p++) {
        struct sy_spread over = sy_outcome_mean(o, p, SY_BY_MAKESPAN);
        struct sy_spread over_heft = sy_outcome_ratio(o, p, heft, SY_BY_MAKESPAN);
        struct sy_spread over_dmdas = sy_outcome_ratio(o, p, dmdas, SY_BY_MAKESPAN);
        sy_table_cell(&table, "%s", o->policies[p]);
        sy_report_spread(&table, over);
        sy_report_spread(&table, (struct sy_spread){over.value / exp(lp), NAN, NAN});
        sy_report_spread(&table, over_heft);
        sy_report_spread(&table, over_dmdas);
        sy_json_print(out, "{policy: %s", o->policies[p]);
        sy_report_member(out, "over_bound", over);
        sy_json_member_number(out, "over_lp", over.value / exp(lp));
        sy_report_member(out, "over_heft", over_heft);
        sy_report_member(out, "over_dmdas", over_dmdas);
        sy_json_close(out, '}');
    }
    sy_json_print(out, "]}");
    sy_buffer_printf(s->report->text, "%s: %u graphs, %u seed%s; geometric means of makespans\n\n",
                     o->name, o->graph_count, o->seed_count, o->seed_count == 1 ? "" : "s from 1");
    sy_table_write(&table, 0, false, s->report->text);
    sy_buffer_printf(s->report->text, "\n");
}

static void instance_table(const struct single *s) {
    static const char *const fixed[] = {"graph", "tasks", "best of five", "/ bound"};
    const char *headers[SY_OURS_MAX + 5];
    char align[SY_OURS_MAX + 5] = "lrlr";
    struct sy_json_writer *out = s->report->out;
    struct sy_table table;
    memcpy(headers, fixed, sizeof fixed);
    uint32_t ours = s->ours.count < SY_OURS_MAX ? s->ours.count : SY_OURS_MAX;
    for (uint32_t i = 0; i <= ours; i++) {
        headers[4 + i] = i < ours ? s->ours.items[i] : NULL;
        align[4 + i] = i < ours ? 'r' : 0;
    }
    sy_table_init(&table, headers, align);
    sy_json_print(out, "{bench: %s, track: %s, title: %s, rows: [", "policy",
                  sy_track_name(s->track), "instances");
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        for (uint32_t g = 0; g < o->graph_count; g++) {
            const char *name = "-";
            double best = best_of_five(s, o, g, &name);
            sy_table_cell(&table, "%s|%u|%s|%.3f", o->graphs[g], o->task_count[g], name, best);
            sy_json_print(out,
                          "{suite: %s, graph: %s, tasks: %u, best_of_five: %s, best_over_bound: %g",
                          o->name, o->graphs[g], o->task_count[g], name, best);
            for (uint32_t k = 0; k < ours; k++) {
                double mine = sy_outcome_graph(o, sy_outcome_find(o, s->ours.items[k]), g);
                sy_table_cell(&table, "%.3f", mine / best);
                sy_json_member_number(out, s->ours.items[k], mine / best);
            }
            sy_json_close(out, '}');
        }
    }
    sy_json_print(out, "]}");
    sy_buffer_printf(s->report->text,
                     "Every instance: the best of " FIVE " on it, and ours over that\n\n");
    sy_table_write(&table, 0, false, s->report->text);
}

static void regret_goal(const struct single *s, const char *policy) {
    struct sy_goal goal = {.track = s->track,
                           .policy = policy,
                           .text = "worst instance / best of five",
                           .value = {-INFINITY, NAN, NAN},
                           .goal = 1.01};
    uint32_t over = 0, surely = 0, graphs = 0;
    const char *graph = "", *name = "";
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        for (uint32_t g = 0; g < o->graph_count; g++, graphs++) {
            const char *best = "";
            best_of_five(s, o, g, &best);
            struct sy_spread regret =
                sy_outcome_graph_ratio(o, sy_outcome_find(o, policy), sy_outcome_find(o, best), g);
            over += regret.value > goal.goal;
            surely += regret.low > goal.goal;
            if (regret.value > goal.value.value) {
                goal.value = regret;
                graph = o->graphs[g];
                name = best;
            }
        }
    }
    struct sy_buffer where = {0};
    sy_buffer_printf(&where,
                     "%s (%s); above 1.01 on %u of %u instances, with the whole interval on %u",
                     graph, name, over, graphs, surely);
    goal.where = where.text ? sy_arena_strndup(s->report->arena, where.text, where.length) : NULL;
    sy_buffer_finish(&where);
    sy_goals_add(s->report->goals, goal);
}

static void single_goals(const struct single *s) {
    for (uint32_t k = 0; k < s->ours.count; k++) {
        const struct sy_suite_outcome *o = &s->outcomes[0]; /* workflows, where there are data */
        uint32_t p = sy_outcome_find(o, s->ours.items[k]);
        struct sy_goal goal = {.track = s->track, .policy = s->ours.items[k], .where = o->name};
        goal.text = "makespan / heft";
        goal.goal = 0.98;
        goal.value = sy_outcome_ratio(o, p, sy_outcome_find(o, "heft"), SY_BY_MAKESPAN);
        sy_goals_add(s->report->goals, goal);
        goal.text = "makespan / dmdas";
        goal.goal = 0.95;
        goal.value = sy_outcome_ratio(o, p, sy_outcome_find(o, "dmdas"), SY_BY_MAKESPAN);
        sy_goals_add(s->report->goals, goal);
        if (s->track == SY_TRACK_DYNAMIC) {
            goal.text = "makespan / bound, sigma 0.3";
            goal.goal = 1.22;
            goal.value = sy_outcome_mean(o, p, SY_BY_MAKESPAN);
            sy_goals_add(s->report->goals, goal);
        }
        regret_goal(s, s->ours.items[k]);
    }
}

int sy_track_single(const struct sy_report *report, enum sy_policy_track track) {
    const struct sy_bench_policy *bench = report->bench;
    struct single s = {.report = report, .track = track};
    bool quiet = bench->worlds.quiet;
    const char *slow =
        track == SY_TRACK_DYNAMIC ? "greedy-true,greedy-true-rollout:16" : "anneal:2000";
    int r = sy_ours(report, "symphony,learned", &s.ours);
    r = r ? r : sy_policies_add(&s.five, FIVE, true, quiet, report->arena, report->text);
    const char *ours = r ? NULL : sy_policies_join(&s.ours, report->arena);
    r = r ? r : sy_policies_add(&s.all, ours ? ours : "", false, true, report->arena, report->text);
    r = r ? r : sy_policies_add(&s.all, FIVE "," OTHER, true, true, report->arena, report->text);
    if (!r && bench->rollouts) {
        r = sy_policies_add(&s.all, slow, false, true, report->arena, report->text);
    }
    r = r ? r : sy_suites_run(report, track, &s.all, NULL, s.outcomes, &s.count);
    if (!r && s.count) {
        single_goals(&s);
        sy_goals_write(report->goals, track, report->out, report->text);
        for (uint32_t i = 0; i < s.count; i++) {
            suite_table(&s, &s.outcomes[i]);
        }
        instance_table(&s);
    }
    for (uint32_t i = 0; i < s.count; i++) {
        sy_outcome_finish(&s.outcomes[i]);
    }
    sy_text_list_finish(&s.ours);
    sy_text_list_finish(&s.five);
    sy_text_list_finish(&s.all);
    return r;
}

int sy_bench_policy_track(const struct sy_report *report, enum sy_policy_track track) {
    static const char *const titles[SY_TRACK_COUNT] = {
        "S: one graph, known times",
        "D: one graph, durations with noise 0.3",
        "C: hidden contention, seen through synthetic counters",
        "M: streams of four tenants",
        "Ablations",
        "Zero-shot: what was left out of training",
        "Time of decisions on this machine"};
    sy_buffer_printf(report->text, "%s\n\n", titles[track]);
    if (track != SY_TRACK_SPEED && strcmp(report->bench->worlds.decision_time, SY_MEASURED) == 0) {
        sy_buffer_printf(
            report->text,
            "The time that policies take to plan and decide on this machine is charged, so "
            "results vary slightly between runs.\n\n");
    }
    switch (track) {
    case SY_TRACK_CONTENTION:
        return sy_track_contention(report);
    case SY_TRACK_TENANTS:
        return sy_track_tenants(report);
    case SY_TRACK_ABLATION:
        return sy_track_ablation(report);
    case SY_TRACK_ZERO_SHOT:
        return sy_track_zero_shot(report);
    case SY_TRACK_SPEED:
        return sy_track_speed(report);
    default:
        return sy_track_single(report, track);
    }
}
