/* SPDX-License-Identifier: Apache-2.0
 *
 * One scenario of a bench: arguments of symph simulate, made from data, and what came of them.
 *
 * In: a scenario, the worlds to run it in, policies. Out: every case's runs and their summary.
 * Invariant: worlds depend on scenario and seeds alone, so that scenes with other policies meet the
 * same ones.
 */
#include "bounds/bounds.h"
#include "symph-bench/bench.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *data_path(struct sy_scene *scene, const char *folder, const char *relative) {
    char *path = NULL;
    if (!relative || asprintf(&path, "%s/%s", folder, relative) < 0) {
        return NULL;
    }
    scene->paths[scene->path_count++] = path;
    return path;
}

void sy_scene_finish(struct sy_scene *scene) {
    free(scene->summary);
    free(scene->against_lp);
    sy_simulate_finish(&scene->simulate);
    sy_text_list_finish(&scene->args.graph_specs);
    for (uint32_t i = 0; i < scene->path_count; i++) {
        free(scene->paths[i]);
    }
    for (uint32_t i = 0; i < scene->file_count; i++) {
        close(scene->files[i]);
    }
}

/* "data:..." is a path in the data folder; anything else is taken as it stands. */
static const char *resolve(struct sy_scene *scene, const char *folder, const char *text) {
    return strncmp(text, "data:", 5) == 0 ? data_path(scene, folder, text + 5) : text;
}

static const char *memory_path(struct sy_scene *scene, int fd) {
    char *path = NULL;
    scene->files[scene->file_count++] = fd;
    if (asprintf(&path, "/proc/self/fd/%d", fd) < 0) {
        return NULL;
    }
    scene->paths[scene->path_count++] = path;
    return path;
}

/* What is read for a graph of a scenario; NULL: it cannot be made. */
static const char *resolve_graph(struct sy_scene *scene, const struct sy_bench_worlds *worlds,
                                 const struct sy_bench_scenario *from, const char *text) {
    bool pairs = strncmp(text, "pairs:", 6) == 0;
    const char *path =
        pairs ? data_path(scene, worlds->data, text + 6) : resolve(scene, worlds->data, text);
    int fd = !path                                         ? -1
             : pairs                                       ? sy_jobs_of_pairs(path)
             : from->within > 0 && path != text /* data */ ? sy_jobs_choose(path, from->within)
                                                           : -1;
    return fd >= 0 ? memory_path(scene, fd) : pairs ? NULL : path;
}

static int scene_args(struct sy_scene *scene, const struct sy_bench_worlds *worlds,
                      const struct sy_bench_scenario *from, const char *policies) {
    scene->args =
        (struct sy_simulate_args){.common = {.quiet = worlds->quiet},
                                  .policy = policies,
                                  .seeds = from->seeds ? from->seeds : worlds->seeds,
                                  .seed = worlds->seed,
                                  .accelerate = from->accelerate_seed ? from->accelerate_seed : 1,
                                  .accelerate_given = from->accelerate,
                                  .graphs = {.max_instances = from->max_instances},
                                  .noise = from->noise,
                                  .hidden_load = from->hidden_load,
                                  .hidden_period = from->hidden_period,
                                  .throttle = from->throttle,
                                  .stragglers = from->stragglers,
                                  .counter_noise = from->counter_noise,
                                  .counters = from->counters,
                                  .belief = from->belief,
                                  .contention = from->contention,
                                  .preempt = from->preempt,
                                  .decision_time = worlds->decision_time,
                                  .timing = from->timing,
                                  .stream = from->tenants > 0,
                                  .tenants = from->tenants,
                                  .jobs = from->jobs,
                                  .load = from->load,
                                  .threads = from->timing ? 1 : worlds->threads};
    scene->args.machine = resolve(scene, worlds->data, from->machine);
    scene->args.times = data_path(scene, worlds->data, from->costs);
    scene->args.smt_table = data_path(scene, worlds->data, from->smt_table);
    scene->args.gpu_table = data_path(scene, worlds->data, from->gpu_table);
    for (uint32_t i = 0; i < SY_BENCH_GRAPHS && from->graphs[i]; i++) {
        const char *spec = resolve_graph(scene, worlds, from, from->graphs[i]);
        if (!spec) {
            return SY_EXIT_INPUT;
        }
        if (sy_text_list_add(&scene->args.graph_specs, spec) < 0) {
            return sy_no_memory();
        }
    }
    return SY_EXIT_OK;
}

/* What follows "data:" or "pairs:"; NULL: a generator. */
static const char *in_data(const char *graph) {
    return strncmp(graph, "data:", 5) == 0    ? graph + 5
           : strncmp(graph, "pairs:", 6) == 0 ? graph + 6
                                              : NULL;
}

const char *sy_scenario_lacks(const struct sy_bench_scenario *scenario, const char *data) {
    const char *files[SY_BENCH_GRAPHS + 4] = {scenario->costs, scenario->smt_table,
                                              scenario->gpu_table, in_data(scenario->machine)};
    const char *lacks = NULL;
    for (uint32_t i = 0; i < SY_BENCH_GRAPHS && scenario->graphs[i]; i++) {
        files[i + 4] = in_data(scenario->graphs[i]);
    }
    for (uint32_t i = 0; i < SY_COUNT(files) && !lacks; i++) {
        char path[PATH_MAX];
        if (files[i] && data) {
            snprintf(path, sizeof path, "%s/%s", data, files[i]);
        }
        lacks = !files[i] ? NULL : !data ? "--data" : access(path, R_OK) < 0 ? files[i] : NULL;
    }
    return lacks;
}

void sy_scene_measure_lp(struct sy_scene *scene) {
    struct sy_simulate *simulate = &scene->simulate;
    for (uint32_t i = 0; i < simulate->case_count; i++) {
        struct sy_error error = {0};
        double bound_ns;
        int code = sy_bound_mixed_ns(simulate->cases[i].workload, 60, sy_interrupt_seen, &bound_ns,
                                     &error);
        if (code < 0) {
            sy_message_note(scene->args.common.quiet, "no LP bound: %s", error.message);
            return;
        }
        simulate->cases[i].bound_ns = fmax(simulate->cases[i].bound_ns, bound_ns);
    }
    uint32_t best;
    scene->against_lp = sy_simulate_summary(simulate, &best);
}

int sy_scene_run(struct sy_scene *scene, const struct sy_bench_worlds *worlds,
                 const struct sy_bench_scenario *from, const char *policies) {
    uint32_t best;
    int r = scene_args(scene, worlds, from, policies);
    r = r ? r : sy_simulate_setup(&scene->simulate, &scene->args);
    r = r ? r : sy_simulate_cases(&scene->simulate);
    r = r ? r : sy_simulate_run(&scene->simulate);
    scene->summary = r ? NULL : sy_simulate_summary(&scene->simulate, &best);
    return r;
}

struct sy_spread sy_bench_geomean(const double *values, uint32_t count, struct sy_clusters groups) {
    struct sy_interval interval = sy_bootstrap_geomean(values, count, groups, 1);
    return (struct sy_spread){sy_geomean(values, count), interval.low, interval.high};
}
