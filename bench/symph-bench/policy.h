/* SPDX-License-Identifier: Apache-2.0
 *
 * policy: the parts of symph-bench policy, which holds learned policies against heuristics
 * and policies that know what is hidden, goal by goal.
 *
 * In: suites (scenarios of one track) and policies: ours, whose goals are judged, and those they
 * are judged by. Out: tables per suite, and per goal its value, with hit or miss. Invariant: in a
 * suite every policy meets the same worlds, and is compared world by world.
 */
#ifndef SY_SYMPH_BENCH_POLICY_H
#define SY_SYMPH_BENCH_POLICY_H

#include "base/json.h"
#include "symph-bench/bench.h"

enum sy_policy_track {
    SY_TRACK_STATIC,     /* S: one graph, known times */
    SY_TRACK_DYNAMIC,    /* D: the same, durations with noise */
    SY_TRACK_CONTENTION, /* C: hidden load, seen through counters */
    SY_TRACK_TENANTS,    /* M: streams of several tenants */
    SY_TRACK_ABLATION,
    SY_TRACK_ZERO_SHOT,
    SY_TRACK_SPEED,
    SY_TRACK_COUNT,
};

struct sy_bench_policy {
    struct sy_bench_worlds worlds;
    const char *suite;    /* tracks, with commas; "all" */
    const char *policies; /* ours, with commas; NULL: as shipped */
    const char *only;     /* suites whose name matches this glob; NULL: all */
    uint32_t rollouts;    /* of the clairvoyant; 0: it is left out */
    const struct sy_text_list *zero_shot;
};

struct sy_suite {
    enum sy_policy_track track;
    const char *name;
    struct sy_bench_scenario scenario;
};
/* All suites, NULL past the end. */
const struct sy_suite *sy_suite_at(uint32_t index);
/* What zero-shot can leave out, NULL past the end. */
struct sy_left_out {
    const char *kind, *what;
    double at_most; /* goal: without / with */
    struct sy_bench_scenario scenario;
};
const struct sy_left_out *sy_left_out_at(uint32_t index);

/* --- what came of a suite: bench_policy_outcome.c -----------------------------------------------
 */
enum sy_suite_measure { SY_BY_MAKESPAN, SY_BY_SLOWDOWN, SY_BY_COMPLETION };

struct sy_suite_outcome {
    const char *name; /* of the suite */
    double load;      /* 0: no stream */
    bool pairs;       /* pairs of jobs share GPUs */
    bool traffic;     /* tasks are slowed by traffic alone, others' and their own */
    struct sy_arena *arena;
    const char **policies;
    uint32_t policy_count;
    const char **graphs; /* one, "stream", in a stream */
    uint32_t *task_count;
    double *bound_ns, *lp_ns; /* per graph; lp NAN: not known */
    uint32_t graph_count, seed_count;
    struct sy_run *runs; /* [policy * world_count + graph * seed_count + seed]; makespan NAN: left
                            out */
    uint32_t world_count;
    uint32_t job_count;  /* of all worlds together */
    double *slowdown;    /* [policy * job_count + job] */
    double *isolated_ns; /* per job */
    double *share_ns;    /* per job: what it would take alone on its tenant's share */
};
/* Runs the policies in all worlds, the slow ones in the first slow_seeds of each graph. */
int sy_outcome_run(const struct sy_bench_policy *bench, const struct sy_bench_scenario *scenario,
                   const char *name, const struct sy_text_list *policies,
                   const struct sy_text_list *slow, struct sy_suite_outcome *ret_outcome);
void sy_outcome_finish(struct sy_suite_outcome *outcome);
/* Index of a policy, or SY_NONE. */
uint32_t sy_outcome_find(const struct sy_suite_outcome *outcome, const char *policy);
/* Geometric mean over worlds. */
struct sy_spread sy_outcome_mean(const struct sy_suite_outcome *outcome, uint32_t policy,
                                 enum sy_suite_measure measure);
/* Geometric mean of policy / other over the worlds that both met. */
struct sy_spread sy_outcome_ratio(const struct sy_suite_outcome *outcome, uint32_t policy,
                                  uint32_t other, enum sy_suite_measure measure);
/* Makespan / bound of one graph of the suite, and policy / other on it, world by world. */
double sy_outcome_graph(const struct sy_suite_outcome *outcome, uint32_t policy, uint32_t graph);
struct sy_spread sy_outcome_graph_ratio(const struct sy_suite_outcome *outcome, uint32_t policy,
                                        uint32_t other, uint32_t graph);
/* p99 over the jobs of all worlds: of slowdowns, or of completion times. */
double sy_outcome_p99(const struct sy_suite_outcome *outcome, uint32_t policy,
                      enum sy_suite_measure measure);
/* Means of tasks within 0, 10, 20 % and of Jain's index. */
struct sy_run sy_outcome_shares(const struct sy_suite_outcome *outcome, uint32_t policy);
/* The best of a list by geometric mean; SY_NONE: none ran. */
uint32_t sy_outcome_best(const struct sy_suite_outcome *outcome, const struct sy_text_list *names,
                         enum sy_suite_measure measure);
/* Mean of the logarithms of ratios of several suites, each with the same weight; suites are drawn
 * first, graphs and worlds within them. pairs: [count] of policy and other per outcome; those with
 * SY_NONE are left out. */
struct sy_pair {
    uint32_t policy, other;
};
struct sy_spread sy_outcomes_ratio(const struct sy_suite_outcome *outcomes,
                                   const struct sy_pair *pairs, uint32_t count,
                                   enum sy_suite_measure measure);

/* One policy in two outcomes of the same worlds: here / there. */
struct sy_spread sy_outcomes_paired(const struct sy_suite_outcome *here,
                                    const struct sy_suite_outcome *there, uint32_t policy,
                                    enum sy_suite_measure measure);

/* --- policies: bench_policy_names.c -------------------------------------------------------------
 */
/* Appends the names of a list with commas that can run, once each; of the others says why not, in
 * a note and in text. heuristics: a policy that has learned goes without what it learned. */
int sy_policies_add(struct sy_text_list *list, const char *names, bool heuristics, bool quiet,
                    struct sy_arena *arena, struct sy_buffer *text);
bool sy_policies_has(const struct sy_text_list *list, const char *name);
/* Names with commas, from the arena; NULL when out of memory. */
const char *sy_policies_join(const struct sy_text_list *list, struct sy_arena *arena);

/* --- goals: bench_policy_goals.c ----------------------------------------------------------------
 */
struct sy_goal {
    enum sy_policy_track track;
    const char *policy;
    const char *text;
    const char *where; /* the instance or suite that decides; NULL: all */
    struct sy_spread value;
    double goal;
    bool at_least; /* else at most */
    bool strict;   /* at most, and not equal */
    bool surely;   /* at most, with the whole interval */
};
struct sy_goals {
    struct sy_goal items[256];
    uint32_t count;
    struct sy_arena *arena; /* of their texts */
};
void sy_goals_add(struct sy_goals *goals, struct sy_goal goal);
void sy_goals_write(const struct sy_goals *goals, enum sy_policy_track track,
                    struct sy_json_writer *out, struct sy_buffer *text);

/* --- tracks -------------------------------------------------------------------------------------
 */
struct sy_report {
    const struct sy_bench_policy *bench;
    struct sy_arena *arena; /* texts that outlive a track */
    struct sy_json_writer *out;
    struct sy_buffer *text;
    struct sy_goals *goals;
};
const char *sy_track_name(enum sy_policy_track track);
const char *sy_track_page(enum sy_policy_track track);
bool sy_track_wanted(const struct sy_bench_policy *bench, enum sy_policy_track track);
/* False if --suite names a track that does not exist: *ret_word is it. */
bool sy_tracks_known(const char *list, const char **ret_word);
#define SY_SUITES_MAX 40
#define SY_OURS_MAX   8
/* Runs the suites of a track that are wanted and possible. outcomes: room for SY_SUITES_MAX, to be
 * finished by the caller in any case. */
int sy_suites_run(const struct sy_report *report, enum sy_policy_track track,
                  const struct sy_text_list *policies, const struct sy_text_list *slow,
                  struct sy_suite_outcome *outcomes, uint32_t *ret_count);
/* Whether a suite is wanted and has its data; if not for want of data, says so. */
bool sy_suite_runs(const struct sy_report *report, const struct sy_suite *suite);
/* The policies to be judged: those asked for, or the shipped ones. */
int sy_ours(const struct sy_report *report, const char *shipped, struct sy_text_list *ret_ours);
/* One track: appends tables to out and text, and its goals. Returns an exit code. */
int sy_bench_policy_track(const struct sy_report *report, enum sy_policy_track track);
int sy_track_single(const struct sy_report *report, enum sy_policy_track track);
int sy_track_contention(const struct sy_report *report);
int sy_track_tenants(const struct sy_report *report);
int sy_track_ablation(const struct sy_report *report);
int sy_track_zero_shot(const struct sy_report *report);
int sy_track_speed(const struct sy_report *report);

/* "1.234 [1.200, 1.260]" */
struct sy_table;
void sy_report_spread(struct sy_table *table, struct sy_spread value);
void sy_report_member(struct sy_json_writer *out, const char *key, struct sy_spread value);

#endif
