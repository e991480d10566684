/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-bench policy: tracks C (hidden contention) and M (tenants).
 *
 * In: suites of streams, policies. Out: tables per suite, goals. Invariant: "the best heuristic" is
 * the best of a list on that very suite, chosen afterwards; what there is to tune in weighted fair
 * sharing was tuned on seeds that are not judged.
 */
#include "symph-bench/policy.h"

#include "cli/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The honest baselines: late binding with job orders, with and without a model of contention. */
#define HEURISTICS                                                                                 \
    "dmdas+srpt,paragon+srpt,lb+fair,lb+srpt,lb+wspt,lb-hist+wspt,lb-cont+srpt,lb-cont+wspt,"      \
    "symphony+srpt,symphony+wspt"
#define SYSTEMS "sparrow,paragon,graphene,dmdas"
#define PLAIN   "lb-cont+wspt" /* what learning must not fall behind anywhere */
#define GREEDY  "greedy-true+wspt,greedy-true+srpt"
#define GATE    "greedy-true-gate+wspt"
/* Weighted fair sharing between tenants, and between jobs with shares that fall with their work. */
#define TENANTS      "eager+fair,dmdas+fair,lb+fair,lb-cont+fair,symphony+fair"
#define FAIR         TENANTS ",lb+share0,lb+share1,lb+share2,lb-cont+share0,lb-cont+share1,lb-cont+share2"
#define TUNING_SEED  1001
#define TUNING_SEEDS 5u

struct streams {
    const struct sy_report *report;
    enum sy_policy_track track;
    struct sy_text_list ours, heuristics, greedy, slow, fair, tenants, all;
    struct sy_suite_outcome outcomes[SY_SUITES_MAX];
    uint32_t count;
    /* M: what tuning chose per suite, of all that is fair and of what is fair to tenants. */
    uint32_t tuned[SY_SUITES_MAX], tuned_tenants[SY_SUITES_MAX];
};

static void finish(struct streams *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        sy_outcome_finish(&s->outcomes[i]);
    }
    sy_text_list_finish(&s->ours);
    sy_text_list_finish(&s->heuristics);
    sy_text_list_finish(&s->greedy);
    sy_text_list_finish(&s->slow);
    sy_text_list_finish(&s->fair);
    sy_text_list_finish(&s->tenants);
    sy_text_list_finish(&s->all);
}

static int add(struct streams *s, struct sy_text_list *list, const char *names, bool heuristics) {
    const struct sy_report *report = s->report;
    return sy_policies_add(list, names, heuristics, report->bench->worlds.quiet, report->arena,
                           report->text);
}

static int add_list(struct streams *s, const struct sy_text_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        int r = add(s, &s->all, list->items[i], false);
        if (r) {
            return r;
        }
    }
    return SY_EXIT_OK;
}

/* --- tables -------------------------------------------------------------------------------------
 */
static void open_table(const struct streams *s, const struct sy_suite_outcome *o) {
    struct sy_json_writer *out = s->report->out;
    sy_json_print(out, "{bench: %s, track: %s, title: %s, seeds: %u, rows: [", "policy",
                  sy_track_name(s->track), o->name, o->seed_count);
}

static void close_table(const struct streams *s, const struct sy_suite_outcome *o,
                        const char *words, struct sy_table *table) {
    sy_json_print(s->report->out, "]}");
    sy_buffer_printf(s->report->text, "%s: %u seed%s; %s\n\n", o->name, o->seed_count,
                     o->seed_count == 1 ? "" : "s from 1", words);
    sy_table_write(table, 0, false, s->report->text);
    sy_buffer_printf(s->report->text, "\n");
}

static void contention_table(const struct streams *s, const struct sy_suite_outcome *o) {
    static const char *const headers[] = {"policy",     "mean",        "/ best heuristic", "p99",
                                          "within 0 %", "within 10 %", "within 20 %",      "Jain"};
    struct sy_table table;
    struct sy_json_writer *out = s->report->out;
    uint32_t best = sy_outcome_best(o, &s->heuristics, SY_BY_SLOWDOWN);
    sy_table_init(&table, headers, "lrrrrrrr");
    open_table(s, o);
    for (uint32_t p = 0; p < o->policy_count; p++) {
        struct sy_spread mean = sy_outcome_mean(o, p, SY_BY_SLOWDOWN);
        struct sy_spread ratio = sy_outcome_ratio(o, p, best, SY_BY_SLOWDOWN);
        struct sy_run shares = sy_outcome_shares(o, p);
        double p99 = sy_outcome_p99(o, p, SY_BY_SLOWDOWN);
        sy_table_cell(&table, "%s%s", o->policies[p], p == best ? " (best heuristic)" : "");
        sy_report_spread(&table, mean);
        sy_report_spread(&table, ratio);
        sy_table_cell(&table, "%.2f|%.3f|%.3f|%.3f|%.3f", p99, shares.within_0, shares.within_10,
                      shares.within_20, shares.fairness);
        sy_json_print(out, "{policy: %s", o->policies[p]);
        sy_report_member(out, "slowdown_mean", mean);
        sy_report_member(out, "over_best_heuristic", ratio);
        sy_json_print(out,
                      "slowdown_p99: %g, within_0: %g, within_10: %g, within_20: %g, fairness: %g}",
                      p99, shares.within_0, shares.within_10, shares.within_20, shares.fairness);
    }
    close_table(s, o, "job completion / time alone; greedy-true knows the hidden state", &table);
}

/* Without its interval. */
static void put_value(struct sy_table *table, struct sy_spread value) {
    sy_report_spread(table, (struct sy_spread){value.value, NAN, NAN});
}

/* Suites side by side: ours over the best heuristic, and what others are over it. */
static void overview_table(const struct streams *s) {
    static const char *const fixed[] = {"suite",       "best heuristic", "mean",    "dmdas",
                                        "dmdas+srpt",  "paragon+srpt",   "lb+fair", PLAIN,
                                        "greedy-true", "rollouts"};
    enum { FIRST = 3, OTHERS = 5, FIXED = SY_COUNT(fixed) };
    const char *headers[SY_OURS_MAX + FIXED + 1];
    char align[SY_OURS_MAX + FIXED + 1] = "llrrrrrrrr";
    uint32_t ours = s->ours.count < SY_OURS_MAX ? s->ours.count : SY_OURS_MAX;
    struct sy_table table;
    memcpy(headers, fixed, sizeof fixed);
    for (uint32_t k = 0; k <= ours; k++) {
        headers[FIXED + k] = k < ours ? s->ours.items[k] : NULL;
        align[FIXED + k] = k < ours ? 'r' : 0;
    }
    sy_table_init(&table, headers, align);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        uint32_t best = sy_outcome_best(o, &s->heuristics, SY_BY_SLOWDOWN);
        uint32_t greedy = sy_outcome_best(o, &s->greedy, SY_BY_SLOWDOWN);
        uint32_t rollouts = sy_outcome_best(o, &s->slow, SY_BY_SLOWDOWN);
        sy_table_cell(&table, "%s", o->name);
        sy_table_cell(&table, "%s", best == SY_NONE ? "-" : o->policies[best]);
        put_value(&table, sy_outcome_mean(o, best, SY_BY_SLOWDOWN));
        for (uint32_t k = FIRST; k < FIRST + OTHERS; k++) {
            uint32_t other = sy_outcome_find(o, fixed[k]);
            put_value(&table, sy_outcome_ratio(o, other, best, SY_BY_SLOWDOWN));
        }
        put_value(&table, sy_outcome_ratio(o, greedy, best, SY_BY_SLOWDOWN));
        put_value(&table, sy_outcome_ratio(o, rollouts, best, SY_BY_SLOWDOWN));
        for (uint32_t k = 0; k < ours; k++) {
            uint32_t p = sy_outcome_find(o, s->ours.items[k]);
            sy_report_spread(&table, sy_outcome_ratio(o, p, best, SY_BY_SLOWDOWN));
        }
    }
    sy_buffer_printf(
        s->report->text,
        "All suites: mean job slowdown of the best heuristic, and ratios of the others "
        "to it, world by world\n\n");
    sy_table_write(&table, 0, false, s->report->text);
    sy_buffer_printf(s->report->text, "\n");
}

/* --- goals of C ---------------------------------------------------------------------------------
 */
enum against { DMDAS, DMDAS_SRPT, HEURISTIC, GREEDY_TRUE, ROLLOUTS };

static uint32_t opponent(const struct streams *s, const struct sy_suite_outcome *o,
                         enum against which) {
    return which == DMDAS         ? sy_outcome_find(o, "dmdas")
           : which == DMDAS_SRPT  ? sy_outcome_find(o, "dmdas+srpt")
           : which == HEURISTIC   ? sy_outcome_best(o, &s->heuristics, SY_BY_SLOWDOWN)
           : which == GREEDY_TRUE ? sy_outcome_best(o, &s->greedy, SY_BY_SLOWDOWN)
                                  : sy_outcome_best(o, &s->slow, SY_BY_SLOWDOWN);
}

static void ratio_goals(const struct streams *s, const char *policy) {
    static const struct {
        const char *text;
        enum against against;
        double goal;
        bool strict;
    } rows[] = {
        {"mean job slowdown / dmdas", DMDAS, 0.60, false},
        {"mean job slowdown / dmdas+srpt", DMDAS_SRPT, 0.65, false},
        {"mean job slowdown / best heuristic", HEURISTIC, 0.92, false},
        {"mean job slowdown / greedy-true", GREEDY_TRUE, 1, true},
        {"mean job slowdown / clairvoyant rollouts", ROLLOUTS, 1.08, false},
    };
    struct sy_pair pairs[SY_SUITES_MAX];
    for (size_t row = 0; row < SY_COUNT(rows); row++) {
        for (uint32_t i = 0; i < s->count; i++) {
            const struct sy_suite_outcome *o = &s->outcomes[i];
            pairs[i] =
                (struct sy_pair){sy_outcome_find(o, policy), opponent(s, o, rows[row].against)};
        }
        sy_goals_add(s->report->goals,
                     (struct sy_goal){
                         .track = s->track,
                         .policy = policy,
                         .text = rows[row].text,
                         .goal = rows[row].goal,
                         .strict = rows[row].strict,
                         .value = sy_outcomes_ratio(s->outcomes, pairs, s->count, SY_BY_SLOWDOWN)});
    }
}

/* plain: with the whole interval, over the heuristic that learning corrects. */
static void worst_goal(const struct streams *s, const char *policy, bool plain) {
    struct sy_goal goal = {.track = s->track,
                           .policy = policy,
                           .text = plain ? "worst suite / " PLAIN ", with its interval"
                                         : "worst suite / best heuristic",
                           .goal = 1.01,
                           .surely = plain,
                           .value = {NAN, NAN, NAN}};
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        uint32_t other = plain ? sy_outcome_find(o, PLAIN) : opponent(s, o, HEURISTIC);
        struct sy_spread here =
            sy_outcome_ratio(o, sy_outcome_find(o, policy), other, SY_BY_SLOWDOWN);
        if (plain ? !(here.high <= goal.value.high) : !(here.value <= goal.value.value)) {
            goal.value = here;
            goal.where = o->name;
        }
    }
    sy_goals_add(s->report->goals, goal);
}

/* Where knowing who disturbs whom pays. */
static void pairs_goal(const struct streams *s, const char *policy) {
    struct sy_pair pairs[SY_SUITES_MAX];
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        pairs[i] = o->pairs
                       ? (struct sy_pair){sy_outcome_find(o, policy), opponent(s, o, HEURISTIC)}
                       : (struct sy_pair){SY_NONE, SY_NONE};
    }
    sy_goals_add(
        s->report->goals,
        (struct sy_goal){.track = s->track,
                         .policy = policy,
                         .text = "GPUs shared in pairs / best heuristic",
                         .goal = 0.95,
                         .value = sy_outcomes_ratio(s->outcomes, pairs, s->count, SY_BY_SLOWDOWN)});
}

static void within_goals(const struct streams *s, const char *policy) {
    static const char *const texts[] = {"tasks within 0 % of alone, load 0.7",
                                        "tasks within 10 % of alone, load 0.7",
                                        "tasks within 20 % of alone, load 0.7"};
    static const double goals[] = {0.70, 0.90, 0.99};
    double sums[3] = {0};
    uint32_t suites = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        if (o->load == 0.7 && o->traffic) {
            struct sy_run shares = sy_outcome_shares(o, sy_outcome_find(o, policy));
            sums[0] += shares.within_0;
            sums[1] += shares.within_10;
            sums[2] += shares.within_20;
            suites++;
        }
    }
    for (uint32_t k = 0; k < SY_COUNT(texts); k++) {
        sy_goals_add(s->report->goals,
                     (struct sy_goal){.track = s->track,
                                      .policy = policy,
                                      .text = texts[k],
                                      .goal = goals[k],
                                      .at_least = true,
                                      .where = "mean of suites with traffic",
                                      .value = {suites ? sums[k] / suites : NAN, NAN, NAN}});
    }
}

static void tail_goal(const struct streams *s, const char *policy, const char *other,
                      const char *text, double at_most) {
    double sum = 0;
    uint32_t suites = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        double ratio = sy_outcome_p99(o, sy_outcome_find(o, policy), SY_BY_SLOWDOWN) /
                       sy_outcome_p99(o, sy_outcome_find(o, other), SY_BY_SLOWDOWN);
        if (isfinite(ratio)) {
            sum += log(ratio);
            suites++;
        }
    }
    sy_goals_add(s->report->goals,
                 (struct sy_goal){.track = s->track,
                                  .policy = policy,
                                  .text = text,
                                  .goal = at_most,
                                  .where = "geometric mean of suites",
                                  .value = {suites ? exp(sum / suites) : NAN, NAN, NAN}});
}

int sy_track_contention(const struct sy_report *report) {
    struct streams s = {.report = report, .track = SY_TRACK_CONTENTION};
    char rollouts[64];
    snprintf(rollouts, sizeof rollouts, "greedy-true-rollout+wspt:%u", report->bench->rollouts);
    int r = sy_ours(report, "learned,symphony", &s.ours);
    r = r ? r : add(&s, &s.heuristics, HEURISTICS, true);
    r = r ? r : add(&s, &s.greedy, GREEDY, false);
    r = r || !report->bench->rollouts ? r : add(&s, &s.slow, rollouts, false);
    r = r ? r : add_list(&s, &s.ours);
    r = r ? r : add_list(&s, &s.heuristics);
    r = r ? r : add(&s, &s.all, SYSTEMS "," GATE, false);
    r = r ? r : add_list(&s, &s.greedy);
    r = r ? r : sy_suites_run(report, s.track, &s.all, &s.slow, s.outcomes, &s.count);
    if (!r && s.count) {
        for (uint32_t k = 0; k < s.ours.count; k++) {
            const char *policy = s.ours.items[k];
            ratio_goals(&s, policy);
            worst_goal(&s, policy, false);
            worst_goal(&s, policy, true);
            pairs_goal(&s, policy);
            within_goals(&s, policy);
            tail_goal(&s, policy, "paragon", "p99 job slowdown / Paragon-like", 0.65);
            tail_goal(&s, policy, "dmdas", "p99 job slowdown / dmdas", 0.30);
        }
        sy_goals_write(report->goals, s.track, report->out, report->text);
        overview_table(&s);
        for (uint32_t i = 0; i < s.count; i++) {
            contention_table(&s, &s.outcomes[i]);
        }
    }
    finish(&s);
    return r;
}

/* --- M ------------------------------------------------------------------------------------------
 */
/* Finish-time fairness (Mahajan et al. 2020): completion over what the tenant's share of the
 * machine, for it alone, would have given. */
struct finish_time {
    double mean, p99, kept; /* kept: share of jobs with at most 1 */
};

static struct finish_time finish_time(const struct sy_suite_outcome *o, uint32_t policy) {
    struct finish_time result = {NAN, NAN, NAN};
    double *values = calloc(o->job_count + 1u, sizeof *values);
    uint32_t count = 0, kept = 0;
    for (uint32_t j = 0; values && j < o->job_count; j++) {
        double slowdown = o->slowdown[(size_t)policy * o->job_count + j];
        if (isfinite(slowdown) && o->share_ns[j] > 0) {
            values[count] = slowdown * o->isolated_ns[j] / o->share_ns[j];
            kept += values[count++] <= 1;
        }
    }
    if (count) {
        result = (struct finish_time){sy_mean(values, count), sy_quantile(values, count, 0.99),
                                      (double)kept / count};
    }
    free(values);
    return result;
}

static void tenants_table(const struct streams *s, const struct sy_suite_outcome *o,
                          uint32_t tuned) {
    static const char *const headers[] = {"policy",    "mean ms",  "/ tuned fair", "p99 ms",
                                          "/ its p99", "Jain",     "slowdown",     "finish time",
                                          "p99",       "at most 1"};
    struct sy_table table;
    struct sy_json_writer *out = s->report->out;
    sy_table_init(&table, headers, "lrrrrrrrrr");
    open_table(s, o);
    double fair_p99 = sy_outcome_p99(o, tuned, SY_BY_COMPLETION);
    for (uint32_t p = 0; p < o->policy_count; p++) {
        struct sy_spread mean = sy_outcome_mean(o, p, SY_BY_COMPLETION);
        struct sy_spread ratio = sy_outcome_ratio(o, p, tuned, SY_BY_COMPLETION);
        struct sy_spread slowdown = sy_outcome_mean(o, p, SY_BY_SLOWDOWN);
        struct sy_run shares = sy_outcome_shares(o, p);
        struct finish_time ft = finish_time(o, p);
        double p99 = sy_outcome_p99(o, p, SY_BY_COMPLETION);
        sy_table_cell(&table, "%s%s", o->policies[p], p == tuned ? " (tuned fair)" : "");
        sy_table_cell(&table, "%.2f", mean.value * 1e-6);
        sy_report_spread(&table, ratio);
        sy_table_cell(&table, "%.2f|%.3f|%.3f|%.3f|%.2f|%.2f|%.3f", p99 * 1e-6, p99 / fair_p99,
                      shares.fairness, slowdown.value, ft.mean, ft.p99, ft.kept);
        sy_json_print(out, "{policy: %s", o->policies[p]);
        sy_report_member(out, "completion_mean_ns", mean);
        sy_report_member(out, "over_tuned_fair", ratio);
        sy_json_print(out, "completion_p99_ns: %g, p99_over_tuned_fair: %g, fairness: %g", p99,
                      p99 / fair_p99, shares.fairness);
        sy_report_member(out, "slowdown_mean", slowdown);
        sy_json_print(out, "finish_time_mean: %g, finish_time_p99: %g, finish_time_kept: %g}",
                      ft.mean, ft.p99, ft.kept);
    }
    close_table(s, o, "job completion; finish time: completion / alone on the tenant's share",
                &table);
}

static uint32_t chosen(const struct sy_suite_outcome *tuning, const struct sy_text_list *list,
                       const struct sy_suite_outcome *judged) {
    uint32_t best = sy_outcome_best(tuning, list, SY_BY_COMPLETION);
    return best == SY_NONE ? SY_NONE : sy_outcome_find(judged, tuning->policies[best]);
}

/* The fair policy of least mean completion on seeds that are not judged. */
static int tune(struct streams *s) {
    struct sy_bench_policy bench = *s->report->bench;
    const struct sy_suite *suite;
    uint32_t at = 0;
    int r = SY_EXIT_OK;
    bench.worlds.seed = TUNING_SEED;
    bench.worlds.seeds = bench.worlds.seeds < TUNING_SEEDS ? bench.worlds.seeds : TUNING_SEEDS;
    for (uint32_t i = 0; !r && at < s->count && (suite = sy_suite_at(i)); i++) {
        struct sy_suite_outcome tuning;
        if (suite->track != SY_TRACK_TENANTS || strcmp(suite->name, s->outcomes[at].name) != 0) {
            continue;
        }
        r = sy_outcome_run(&bench, &suite->scenario, "tuning weighted fair", &s->fair, NULL,
                           &tuning);
        if (!r) {
            s->tuned[at] = chosen(&tuning, &s->fair, &s->outcomes[at]);
            s->tuned_tenants[at] = chosen(&tuning, &s->tenants, &s->outcomes[at]);
            sy_outcome_finish(&tuning);
            at++;
        }
    }
    return r;
}

/* Mean and tail over what tuning chose. */
static void fair_goals(const struct streams *s, const char *policy, const uint32_t *tuned,
                       const char *mean_text, const char *tail_text) {
    struct sy_pair pairs[SY_SUITES_MAX];
    double tail = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        uint32_t p = sy_outcome_find(o, policy);
        pairs[i] = (struct sy_pair){p, tuned[i]};
        tail += log(sy_outcome_p99(o, p, SY_BY_COMPLETION) /
                    sy_outcome_p99(o, tuned[i], SY_BY_COMPLETION)) /
                s->count;
    }
    struct sy_goal goal = {.track = s->track, .policy = policy, .text = mean_text, .goal = 0.75};
    goal.value = sy_outcomes_ratio(s->outcomes, pairs, s->count, SY_BY_COMPLETION);
    sy_goals_add(s->report->goals, goal);
    goal.text = tail_text;
    goal.goal = 1;
    goal.value = (struct sy_spread){exp(tail), NAN, NAN};
    sy_goals_add(s->report->goals, goal);
}

static void tenants_goals(const struct streams *s, const char *policy) {
    struct sy_goal goal = {.track = s->track,
                           .policy = policy,
                           .text = "Jain index of tenants' slowdowns, least suite",
                           .goal = 0.95,
                           .at_least = true,
                           .value = {INFINITY, NAN, NAN}};
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sy_suite_outcome *o = &s->outcomes[i];
        double here = sy_outcome_shares(o, sy_outcome_find(o, policy)).fairness;
        if (here < goal.value.value) {
            goal.value.value = here;
            goal.where = o->name;
        }
    }
    fair_goals(s, policy, s->tuned, "mean job completion / tuned weighted fair",
               "p99 job completion / tuned weighted fair");
    fair_goals(s, policy, s->tuned_tenants, "mean job completion / fair between tenants alone",
               "p99 job completion / fair between tenants alone");
    sy_goals_add(s->report->goals, goal);
}

int sy_track_tenants(const struct sy_report *report) {
    struct streams s = {.report = report, .track = SY_TRACK_TENANTS};
    int r = sy_ours(report, "learned,symphony", &s.ours);
    r = r ? r : add(&s, &s.fair, FAIR, true);
    r = r ? r : add(&s, &s.tenants, TENANTS, true);
    r = r ? r : add_list(&s, &s.ours);
    r = r ? r : add_list(&s, &s.fair);
    r = r ? r : add(&s, &s.all, HEURISTICS, true);
    r = r ? r : add(&s, &s.all, "dmdas," GREEDY, false);
    r = r ? r : sy_suites_run(report, s.track, &s.all, NULL, s.outcomes, &s.count);
    r = r ? r : tune(&s);
    if (!r && s.count) {
        for (uint32_t k = 0; k < s.ours.count; k++) {
            tenants_goals(&s, s.ours.items[k]);
        }
        sy_goals_write(report->goals, s.track, report->out, report->text);
        sy_buffer_printf(report->text,
                         "tuned fair: of " FAIR
                         ",\nthe one with the smallest mean completion on seeds from %d, for each "
                         "suite\n\n",
                         TUNING_SEED);
        for (uint32_t i = 0; i < s.count; i++) {
            tenants_table(&s, &s.outcomes[i], s.tuned[i]);
        }
    }
    finish(&s);
    return r;
}
