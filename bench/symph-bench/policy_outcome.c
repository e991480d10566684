/* SPDX-License-Identifier: Apache-2.0
 *
 * What came of a suite of symph-bench policy, and its statistics.
 *
 * In: a scenario and policies. Out: every run, in one order of worlds. Invariant: ratios are
 * paired: a world that one of the two did not meet does not count.
 */
#include "bounds/bounds.h"
#include "symph-bench/policy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_SEEDS 5u /* worlds per graph for what replays each many times */
#define LP_LIMIT_S 20
#define SEED       1

static bool is_stream(const struct sy_scene *scene) {
    return scene->args.stream;
}

/* --- filling it ---------------------------------------------------------------------------------
 */
static bool take(struct sy_suite_outcome *o, const struct sy_scene *scene, uint32_t policies) {
    const struct sy_simulate *simulate = &scene->simulate;
    o->seed_count = scene->args.seeds;
    o->graph_count = is_stream(scene) ? 1 : simulate->graphs.count;
    o->world_count = simulate->case_count;
    for (uint32_t i = 0; i < o->world_count; i++) {
        o->job_count += simulate->cases[i].workload->job_count;
    }
    size_t graphs = o->graph_count, worlds = o->world_count, jobs = o->job_count;
    o->policies = sy_arena_alloc(o->arena, policies, sizeof *o->policies);
    o->graphs = sy_arena_alloc(o->arena, graphs, sizeof *o->graphs);
    o->task_count = sy_arena_alloc(o->arena, graphs, sizeof *o->task_count);
    o->bound_ns = sy_arena_alloc(o->arena, graphs, sizeof *o->bound_ns);
    o->lp_ns = sy_arena_alloc(o->arena, graphs, sizeof *o->lp_ns);
    o->runs = sy_arena_alloc(o->arena, policies * worlds, sizeof *o->runs);
    o->slowdown = sy_arena_alloc(o->arena, policies * jobs, sizeof *o->slowdown);
    o->isolated_ns = sy_arena_alloc(o->arena, jobs, sizeof *o->isolated_ns);
    o->share_ns = sy_arena_alloc(o->arena, jobs, sizeof *o->share_ns);
    return o->policies && o->graphs && o->task_count && o->bound_ns && o->lp_ns && o->runs &&
           o->slowdown && o->isolated_ns && o->share_ns;
}

/* The time a job would take alone on 1/tenants of the machine, at least. */
static int fill_shares(struct sy_suite_outcome *o, const struct sy_scene *scene) {
    const struct sy_simulate *simulate = &scene->simulate;
    struct sy_workload_options options = {.accelerate = scene->args.accelerate_given,
                                          .accelerate_seed = scene->args.accelerate,
                                          .store = simulate->store};
    double tenants = scene->args.tenants ? scene->args.tenants : 1;
    for (uint32_t g = 0; g < simulate->graphs.count; g++) {
        struct sy_job alone = {.graph = simulate->graphs.graphs[g], .weight = 1};
        struct sy_workload *workload = NULL;
        if (sy_workload_create(simulate->machine, &alone, 1, &options, &workload, NULL) < 0) {
            return sy_no_memory();
        }
        double area_ns = sy_bound_area_ns(workload);
        sy_workload_destroy(workload);
        uint32_t at = 0;
        for (uint32_t i = 0; i < o->world_count; i++) {
            const struct sy_workload *w = simulate->cases[i].workload;
            for (uint32_t j = 0; j < w->job_count; j++, at++) {
                if (w->jobs[j].graph == alone.graph) {
                    o->isolated_ns[at] = w->job_isolated_ns[j];
                    o->share_ns[at] = fmax(w->job_isolated_ns[j], tenants * area_ns);
                }
            }
        }
    }
    return SY_EXIT_OK;
}

static int fill_worlds(struct sy_suite_outcome *o, const struct sy_scene *scene) {
    for (uint32_t g = 0; g < o->graph_count; g++) {
        const struct sy_case *item = &scene->simulate.cases[g * o->seed_count];
        o->graphs[g] = sy_need(sy_arena_strndup(o->arena, item->graph, strlen(item->graph)));
        o->task_count[g] = item->workload->task_count;
        o->bound_ns[g] = item->bound_ns;
        o->lp_ns[g] = NAN;
        struct sy_error error = {0};
        double lp_ns;
        if (!is_stream(scene) && !scene->args.contention &&
            sy_bound_mixed_ns(item->workload, LP_LIMIT_S, sy_interrupt_seen, &lp_ns, &error) == 0) {
            o->lp_ns[g] = fmax(lp_ns, item->bound_ns);
        }
    }
    return fill_shares(o, scene);
}

/* The runs of a scene, whose worlds are the first seeds of each graph, as policies from first on.
 */
static void fill_runs(struct sy_suite_outcome *o, const struct sy_scene *scene, uint32_t first) {
    const struct sy_simulate *simulate = &scene->simulate;
    uint32_t seeds = scene->args.seeds;
    for (uint32_t p = 0; p < simulate->policies.count; p++) {
        const char *name = simulate->policies.items[p];
        uint32_t to = first + p, at = 0;
        o->policies[to] = sy_need(sy_arena_strndup(o->arena, name, strlen(name)));
        for (uint32_t world = 0; world < o->world_count; world++) {
            uint32_t graph = world / o->seed_count, seed = world % o->seed_count;
            const struct sy_case *item =
                &simulate->cases[graph * seeds + (seed < seeds ? seed : 0)];
            uint32_t jobs = item->workload->job_count;
            struct sy_run *run = &o->runs[(size_t)to * o->world_count + world];
            *run = item->runs[p];
            for (uint32_t j = 0; j < jobs; j++) {
                o->slowdown[(size_t)to * o->job_count + at++] =
                    seed < seeds ? item->slowdowns[(size_t)p * jobs + j] : NAN;
            }
            run->makespan_ns = seed < seeds ? run->makespan_ns : NAN;
        }
    }
    o->policy_count = first + simulate->policies.count;
}

static int run_scene(const struct sy_bench_policy *bench, const struct sy_bench_scenario *scenario,
                     const struct sy_text_list *policies, bool slow, uint32_t total,
                     struct sy_suite_outcome *o) {
    struct sy_scene scene = {0};
    struct sy_bench_scenario from = *scenario;
    uint32_t seeds = from.seeds ? from.seeds : bench->worlds.seeds;
    const char *names = sy_policies_join(policies, o->arena);
    from.seeds = slow && seeds > SLOW_SEEDS ? SLOW_SEEDS : seeds;
    int r = names ? sy_scene_run(&scene, &bench->worlds, &from, names) : sy_no_memory();
    if (!r && !slow) {
        r = take(o, &scene, total) ? fill_worlds(o, &scene) : sy_no_memory();
    }
    if (!r) {
        fill_runs(o, &scene, o->policy_count);
    }
    sy_scene_finish(&scene);
    return r;
}

int sy_outcome_run(const struct sy_bench_policy *bench, const struct sy_bench_scenario *scenario,
                   const char *name, const struct sy_text_list *policies,
                   const struct sy_text_list *slow, struct sy_suite_outcome *ret_outcome) {
    bool slow_devices = scenario->throttle > 0 || scenario->stragglers;
    struct sy_suite_outcome o = {.name = name,
                                 .load = scenario->load,
                                 .pairs = scenario->gpu_table,
                                 .traffic = scenario->hidden_load > 0 && !slow_devices &&
                                            !(scenario->within > 0), /* recorded: has none */
                                 .arena = sy_arena_create()};
    uint32_t total = policies->count + (slow ? slow->count : 0);
    sy_message_note(bench->worlds.quiet, "%s", name);
    int r = o.arena ? run_scene(bench, scenario, policies, false, total, &o) : sy_no_memory();
    if (!r && slow && slow->count) {
        r = run_scene(bench, scenario, slow, true, total, &o);
    }
    if (r) {
        sy_arena_destroy(o.arena);
        return r;
    }
    *ret_outcome = o;
    return SY_EXIT_OK;
}

void sy_outcome_finish(struct sy_suite_outcome *outcome) {
    sy_arena_destroy(outcome->arena);
    *outcome = (struct sy_suite_outcome){0};
}

/* --- statistics ---------------------------------------------------------------------------------
 */
uint32_t sy_outcome_find(const struct sy_suite_outcome *o, const char *policy) {
    return sy_index_of(policy, o->policies, o->policy_count, sizeof *o->policies);
}

static double value(const struct sy_suite_outcome *o, uint32_t policy, uint32_t world,
                    enum sy_suite_measure measure) {
    const struct sy_run *run = &o->runs[(size_t)policy * o->world_count + world];
    if (isnan(run->makespan_ns)) {
        return NAN;
    }
    return measure == SY_BY_SLOWDOWN   ? run->slowdown_mean
           : measure == SY_BY_MAKESPAN ? run->makespan_ns / o->bound_ns[world / o->seed_count]
                                       : run->jct_mean_ns;
}

/* Ratios of worlds, and what these have in common. */
struct sample {
    double *values, *weights;
    uint32_t *suites, *graphs;
    uint32_t count, capacity;
};

static bool sample_init(struct sample *s, uint32_t capacity) {
    *s = (struct sample){.values = calloc(capacity + 1u, sizeof *s->values),
                         .weights = calloc(capacity + 1u, sizeof *s->weights),
                         .suites = calloc(capacity + 1u, sizeof *s->suites),
                         .graphs = calloc(capacity + 1u, sizeof *s->graphs),
                         .capacity = capacity};
    return s->values && s->weights && s->suites && s->graphs;
}

static void sample_finish(struct sample *s) {
    free(s->values);
    free(s->weights);
    free(s->suites);
    free(s->graphs);
}

/* A world of an outcome: those of one graph belong together, a stream has jobs of its own. */
static void sample_add(struct sample *s, const struct sy_suite_outcome *o, uint32_t world,
                       uint32_t suite, double ratio) {
    if (isfinite(ratio) && s->count < s->capacity) {
        s->values[s->count] = ratio;
        s->suites[s->count] = suite;
        s->graphs[s->count++] = o->load > 0 ? world : world / o->seed_count;
    }
}

/* Of policy, over other unless that is SY_NONE, in count worlds from first on. */
static void sample_add_worlds(struct sample *s, const struct sy_suite_outcome *o,
                              struct sy_pair pair, enum sy_suite_measure measure, uint32_t first,
                              uint32_t count, uint32_t suite) {
    for (uint32_t world = first; world < first + count; world++) {
        double a = value(o, pair.policy, world, measure);
        double b = pair.other == SY_NONE ? 1 : value(o, pair.other, world, measure);
        sample_add(s, o, world, suite, b > 0 ? a / b : NAN);
    }
}

static struct sy_spread sample_spread(const struct sample *s) {
    return s->count
               ? sy_bench_geomean(s->values, s->count, (struct sy_clusters){.inner = s->graphs})
               : (struct sy_spread){NAN, NAN, NAN};
}

static struct sy_spread spread(const struct sy_suite_outcome *o, uint32_t policy, uint32_t other,
                               enum sy_suite_measure measure, uint32_t first, uint32_t worlds) {
    struct sample s;
    if (sample_init(&s, worlds) && policy != SY_NONE) {
        sample_add_worlds(&s, o, (struct sy_pair){policy, other}, measure, first, worlds, 0);
    }
    struct sy_spread result = sample_spread(&s);
    sample_finish(&s);
    return result;
}

struct sy_spread sy_outcomes_paired(const struct sy_suite_outcome *here,
                                    const struct sy_suite_outcome *there, uint32_t policy,
                                    enum sy_suite_measure measure) {
    struct sample s;
    bool ok = sample_init(&s, here->world_count);
    for (uint32_t world = 0; ok && world < here->world_count; world++) {
        sample_add(&s, here, world, 0,
                   value(here, policy, world, measure) / value(there, policy, world, measure));
    }
    struct sy_spread result = sample_spread(&s);
    sample_finish(&s);
    return result;
}

struct sy_spread sy_outcome_mean(const struct sy_suite_outcome *o, uint32_t policy,
                                 enum sy_suite_measure measure) {
    return spread(o, policy, SY_NONE, measure, 0, o->world_count);
}

struct sy_spread sy_outcome_ratio(const struct sy_suite_outcome *o, uint32_t policy, uint32_t other,
                                  enum sy_suite_measure measure) {
    return other == SY_NONE ? (struct sy_spread){NAN, NAN, NAN}
                            : spread(o, policy, other, measure, 0, o->world_count);
}

struct sy_spread sy_outcome_graph_ratio(const struct sy_suite_outcome *o, uint32_t policy,
                                        uint32_t other, uint32_t graph) {
    return spread(o, policy, other, SY_BY_MAKESPAN, graph * o->seed_count, o->seed_count);
}

double sy_outcome_graph(const struct sy_suite_outcome *o, uint32_t policy, uint32_t graph) {
    double sum = 0;
    for (uint32_t s = 0; s < o->seed_count; s++) {
        sum += log(value(o, policy, graph * o->seed_count + s, SY_BY_MAKESPAN));
    }
    return exp(sum / o->seed_count);
}

double sy_outcome_p99(const struct sy_suite_outcome *o, uint32_t policy,
                      enum sy_suite_measure measure) {
    double *values = calloc(o->job_count + 1u, sizeof *values), result = NAN;
    uint32_t count = 0;
    for (uint32_t j = 0; values && policy != SY_NONE && j < o->job_count; j++) {
        double slowdown = o->slowdown[(size_t)policy * o->job_count + j];
        if (isfinite(slowdown)) {
            values[count++] = measure == SY_BY_COMPLETION ? slowdown * o->isolated_ns[j] : slowdown;
        }
    }
    result = count ? sy_quantile(values, count, 0.99) : NAN;
    free(values);
    return result;
}

struct sy_run sy_outcome_shares(const struct sy_suite_outcome *o, uint32_t policy) {
    struct sy_run sum = {0};
    uint32_t count = 0;
    for (uint32_t world = 0; world < o->world_count; world++) {
        const struct sy_run *run = &o->runs[(size_t)policy * o->world_count + world];
        if (isfinite(run->makespan_ns)) {
            count++;
            sum.within_0 += run->within_0;
            sum.within_10 += run->within_10;
            sum.within_20 += run->within_20;
            sum.fairness += run->fairness;
        }
    }
    double n = count ? (double)count : NAN;
    return (struct sy_run){.within_0 = sum.within_0 / n,
                           .within_10 = sum.within_10 / n,
                           .within_20 = sum.within_20 / n,
                           .fairness = sum.fairness / n};
}

uint32_t sy_outcome_best(const struct sy_suite_outcome *o, const struct sy_text_list *names,
                         enum sy_suite_measure measure) {
    uint32_t best = SY_NONE;
    double least = INFINITY;
    for (uint32_t i = 0; i < names->count; i++) {
        uint32_t p = sy_outcome_find(o, names->items[i]);
        double mean = p == SY_NONE ? NAN : sy_outcome_mean(o, p, measure).value;
        if (mean < least) {
            least = mean;
            best = p;
        }
    }
    return best;
}

/* Every suite counts the same, however many worlds it has. */
static void mean_log(const void *context, const uint32_t *picks, size_t count, double *ret_mean) {
    const struct sample *s = context;
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++) {
        sum += s->weights[picks[i]] * log(s->values[picks[i]]);
        weights += s->weights[picks[i]];
    }
    *ret_mean = sum / weights;
}

struct sy_spread sy_outcomes_ratio(const struct sy_suite_outcome *outcomes,
                                   const struct sy_pair *pairs, uint32_t count,
                                   enum sy_suite_measure measure) {
    struct sy_spread result = {NAN, NAN, NAN};
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        capacity += outcomes[i].world_count;
    }
    struct sample s;
    bool ok = sample_init(&s, capacity);
    uint32_t *all = calloc(capacity + 1u, sizeof *all);
    for (uint32_t i = 0; ok && i < count; i++) {
        uint32_t before = s.count;
        if (pairs[i].policy != SY_NONE && pairs[i].other != SY_NONE) {
            sample_add_worlds(&s, &outcomes[i], pairs[i], measure, 0, outcomes[i].world_count, i);
        }
        for (uint32_t k = before; k < s.count; k++) {
            s.weights[k] = 1.0 / (s.count - before);
        }
    }
    for (uint32_t k = 0; all && k < s.count; k++) {
        all[k] = k;
    }
    if (all && s.count) {
        struct sy_clusters groups = {.outer = s.suites, .inner = s.graphs};
        struct sy_interval logs;
        double middle;
        sy_bootstrap(s.count, groups, SEED, mean_log, &s, 1, &logs);
        mean_log(&s, all, s.count, &middle);
        result = (struct sy_spread){exp(middle), exp(logs.low), exp(logs.high)};
    }
    sample_finish(&s);
    free(all);
    return result;
}
