/* SPDX-License-Identifier: Apache-2.0
 *
 * adversarial: looks for the small graph and machine on which the default policy does worst
 * against each of the usual ones.
 *
 * In: how many mutations, a policy, baselines. Out: per baseline the largest makespan of the policy
 * over the baseline's, or for two jobs the largest mean completion time, times known, and the
 * instance if asked for. Some tasks take no time, some a nanosecond, some hours. Mutations change
 * times, edges, sizes, the number of tasks, the machine and when the second job comes; what raises
 * the ratio is kept, and now and then what lowers it a little. Every thousand mutations the search
 * starts anew. Invariant: the same seed finds the same.
 */
#include "symph-bench/bench.h"

#include "base/json.h"
#include "cli/table.h"
#include "graph/graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TASKS_MOST  24
#define RESTART     1000 /* mutations before the search starts anew */
#define SLACK       0.01 /* how much lower a ratio may still be kept, at first */
#define TIME_LEAST  2e4  /* ns: most tasks take 20 us, ... */
#define TIME_MOST   1e9  /* ... to a second; */
#define NOTHING     0.15 /* a share of them takes no time, */
#define EXTREME     0.1  /* and another one ... */
#define SHORTEST    1.0  /* ... a nanosecond ... */
#define LONGEST     1e13 /* ... to hours */
#define BYTES_MOST  1e8
#define RNG_PURPOSE 0x616476u /* "adv" */

static const char *const machines[] = {
    "cpu:2",
    "cpu:4",
    "cpu:1 gpu:1@pcie3x16",
    "cpu:4 gpu:1@pcie3x16",
    "cpu:4 gpu:2@link=1GB/s,latency=10us",
    "cpu:8 gpu:2@pcie4x16",
    "cpu:12 gpu:4@pcie3x16",
};
static const struct baseline {
    const char *policy;
    bool two_jobs; /* the second comes while the first runs; mean completion counts */
} baselines[] = {{"heft", false}, {"peft", false}, {"dmdas", false},     {"heteroprio", false},
                 {"dmda", false}, {"lb", false},   {"dmdas+srpt", true}, {"lb+wspt", true}};

struct instance {
    uint32_t task_count, machine;
    uint32_t second;  /* tasks from here on are a second job; task_count: there is none */
    double arrive_ns; /* of the second job */
    double cpu_ns[TASKS_MOST], gpu_ns[TASKS_MOST]; /* gpu_ns INFINITY: cannot run there */
    double bytes[TASKS_MOST];                      /* of what a task makes */
    uint32_t before[TASKS_MOST];                   /* bit set of tasks it reads from, all earlier */
};

struct hunt {
    const char *policy;
    const struct baseline *baseline;
    struct sy_rng rng;
    struct sy_machine *machines[SY_COUNT(machines)];
    struct instance worst;
    double worst_ratio, policy_ns, baseline_ns;
    uint32_t judged;
};

/* --- instances ---------------------------------------------------------------------------------
 */
static double log_uniform(struct sy_rng *rng, double least, double most) {
    return least * pow(most / least, sy_rng_uniform(rng));
}

static double any_cpu_ns(struct sy_rng *rng) {
    double kind = sy_rng_uniform(rng);
    return kind < NOTHING             ? 0
           : kind < NOTHING + EXTREME ? log_uniform(rng, SHORTEST, LONGEST)
                                      : log_uniform(rng, TIME_LEAST, TIME_MOST);
}

static double any_gpu_ns(struct sy_rng *rng, double cpu_ns) {
    return sy_rng_uniform(rng) < 0.1 ? INFINITY : cpu_ns / log_uniform(rng, 0.3, 31);
}

static void new_task(struct sy_rng *rng, struct instance *it, uint32_t task) {
    it->cpu_ns[task] = any_cpu_ns(rng);
    it->gpu_ns[task] = any_gpu_ns(rng, it->cpu_ns[task]);
    it->bytes[task] = sy_rng_uniform(rng) < 0.5 ? 0 : log_uniform(rng, 1e3, BYTES_MOST);
    it->before[task] = 0;
    for (uint32_t b = 0; b < task; b++) {
        it->before[task] |= (uint32_t)(sy_rng_uniform(rng) < 2.0 / (task + 1)) << b;
    }
}

/* The second job begins where it may: both have tasks. */
static void split(struct sy_rng *rng, struct instance *it, bool two_jobs) {
    it->second = two_jobs ? 1 + sy_rng_below(rng, it->task_count - 1) : it->task_count;
    it->arrive_ns = two_jobs ? log_uniform(rng, TIME_LEAST, TIME_MOST) : 0;
}

static void new_instance(struct sy_rng *rng, struct instance *it, bool two_jobs) {
    it->task_count = 4 + sy_rng_below(rng, TASKS_MOST - 3);
    it->machine = sy_rng_below(rng, SY_COUNT(machines));
    for (uint32_t t = 0; t < it->task_count; t++) {
        new_task(rng, it, t);
    }
    split(rng, it, two_jobs);
}

/* Within the range that it is in. */
static double scaled(struct sy_rng *rng, double ns) {
    bool usual = ns >= TIME_LEAST && ns <= TIME_MOST;
    double least = usual ? TIME_LEAST : SHORTEST, most = usual ? TIME_MOST : LONGEST;
    return ns > 0 ? fmin(most, fmax(least, ns * exp(0.5 * sy_rng_normal(rng)))) : 0;
}

static void drop_task(struct instance *it, uint32_t task) {
    for (uint32_t t = task; t + 1 < it->task_count; t++) {
        it->cpu_ns[t] = it->cpu_ns[t + 1];
        it->gpu_ns[t] = it->gpu_ns[t + 1];
        it->bytes[t] = it->bytes[t + 1];
        uint32_t low = it->before[t + 1] & ((1u << task) - 1), high = it->before[t + 1] >> task;
        it->before[t] = low | (high >> 1) << task;
    }
    it->second -= it->second > task;
    it->second += it->second == 0;
    it->task_count--;
}

static void mutate(struct sy_rng *rng, struct instance *it, bool two_jobs) {
    uint32_t task = sy_rng_below(rng, it->task_count);
    switch (sy_rng_below(rng, two_jobs ? 12 : 10)) {
    case 0:
        it->cpu_ns[task] =
            sy_rng_uniform(rng) < 0.3 ? any_cpu_ns(rng) : scaled(rng, it->cpu_ns[task]);
        break;
    case 1:
        it->cpu_ns[task] = scaled(rng, it->cpu_ns[task]);
        break;
    case 2:
    case 3:
        it->gpu_ns[task] = isfinite(it->gpu_ns[task]) ? scaled(rng, it->gpu_ns[task])
                                                      : any_gpu_ns(rng, it->cpu_ns[task]);
        break;
    case 4:
    case 5:
        it->before[task] ^= task ? 1u << sy_rng_below(rng, task) : 0;
        break;
    case 6:
        it->bytes[task] = sy_rng_uniform(rng) < 0.3 ? 0 : log_uniform(rng, 1e3, BYTES_MOST);
        break;
    case 7:
        it->machine = sy_rng_below(rng, SY_COUNT(machines));
        break;
    case 8:
        if (it->task_count < TASKS_MOST) {
            it->second += !two_jobs;
            new_task(rng, it, it->task_count++);
        }
        break;
    case 9:
        if (it->task_count > 3) {
            drop_task(it, task);
        }
        break;
    case 10:
        it->arrive_ns *= exp(sy_rng_normal(rng));
        break;
    default:
        split(rng, it, two_jobs);
    }
}

static int build_task(struct sy_graph *graph, const struct instance *it, uint32_t task,
                      sy_kernel_id kernel, const sy_data_id *data) {
    struct sy_access accesses[TASKS_MOST + 1];
    uint32_t count = 0;
    double time_ns[SY_KIND_COUNT] = {it->cpu_ns[task], it->gpu_ns[task], INFINITY, INFINITY};
    uint32_t first = task < it->second ? 0 : it->second; /* of its job */
    for (uint32_t b = first; b < task; b++) {
        if (it->before[task] >> b & 1) {
            accesses[count++] = (struct sy_access){data[b].index, SY_READ};
        }
    }
    accesses[count++] = (struct sy_access){data[task].index, SY_WRITE};
    sy_task_id id;
    return sy_graph_add_task(graph,
                             &(struct sy_task_desc){.kernel = kernel,
                                                    .work = 1,
                                                    .time_ns = time_ns,
                                                    .accesses = accesses,
                                                    .access_count = count},
                             &id);
}

/* Tasks first .. end - 1. */
static int build(const struct instance *it, const char *name, uint32_t first, uint32_t end,
                 struct sy_graph **ret_graph) {
    struct sy_kernel_desc desc = {.name = "task"};
    sy_data_id data[TASKS_MOST];
    sy_kernel_id kernel;
    struct sy_graph *graph = sy_graph_create(name, false);
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    int code = graph ? sy_graph_add_kernel(graph, &desc, &kernel) : -ENOMEM;
    for (uint32_t t = first; !code && t < end; t++) {
        code = sy_graph_add_data(graph, NULL, it->bytes[t], &data[t]);
        code = code ? code : build_task(graph, it, t, kernel, data);
    }
    code = code ? code : sy_graph_seal(graph, NULL);
    if (code) {
        sy_graph_destroy(graph);
        return code;
    }
    *ret_graph = graph;
    return 0;
}

/* The default plans no job whose tasks take less on average; it is bound late, as lb does it. */
static bool is_planned(const struct instance *it) {
    double work_ns = 0;
    for (uint32_t t = 0; t < it->task_count; t++) {
        work_ns += fmin(it->cpu_ns[t], it->gpu_ns[t]);
    }
    return work_ns > TIME_LEAST * it->task_count;
}

/* --- judging -----------------------------------------------------------------------------------
 */
static int judge_graphs(struct hunt *hunt, const struct instance *it, const struct sy_job *jobs,
                        double *ret_policy_ns, double *ret_baseline_ns, struct sy_error *error) {
    struct sy_workload *workload = NULL;
    struct sy_sim *sim = NULL;
    struct sy_sim_options options = {.seed = 1};
    struct sy_sim_result result;
    bool two = hunt->baseline->two_jobs;
    int code =
        sy_workload_create(hunt->machines[it->machine], jobs, two ? 2 : 1, NULL, &workload, error);
    code = code ? code : sy_sim_create(workload, &options, &sim, error);
    code = code ? code : sy_sim_run(sim, hunt->policy, &result, error);
    if (!code) {
        *ret_policy_ns = two ? result.jct_mean_ns : result.makespan_ns;
        code = sy_sim_run(sim, hunt->baseline->policy, &result, error);
        *ret_baseline_ns = two ? result.jct_mean_ns : result.makespan_ns;
    }
    sy_sim_destroy(sim);
    sy_workload_destroy(workload);
    return code;
}

static int judge(struct hunt *hunt, const struct instance *it, double *ret_policy_ns,
                 double *ret_baseline_ns, struct sy_error *error) {
    struct sy_graph *graphs[2] = {NULL, NULL};
    int code = build(it, "first", 0, it->second, &graphs[0]);
    if (!code && hunt->baseline->two_jobs) {
        code = build(it, "second", it->second, it->task_count, &graphs[1]);
    }
    struct sy_job jobs[2] = {{.graph = graphs[0], .weight = 1},
                             {.graph = graphs[1], .weight = 1, .arrive_ns = it->arrive_ns}};
    code = code ? code : judge_graphs(hunt, it, jobs, ret_policy_ns, ret_baseline_ns, error);
    sy_graph_destroy(graphs[0]);
    sy_graph_destroy(graphs[1]);
    return code;
}

static int search(struct hunt *hunt, uint32_t mutations, struct sy_error *error) {
    struct instance state, trial;
    double state_ratio = 0;
    bool two = hunt->baseline->two_jobs;
    for (uint32_t i = 0; i < mutations && !sy_interrupt_seen(); i++) {
        bool anew = i % RESTART == 0;
        if (anew) {
            new_instance(&hunt->rng, &trial, two);
        } else {
            trial = state;
            for (uint32_t n = 1 + sy_rng_below(&hunt->rng, 3); n > 0; n--) {
                mutate(&hunt->rng, &trial, two);
            }
        }
        double policy_ns, baseline_ns;
        hunt->judged++;
        if (!two && !anew && !is_planned(&trial)) {
            continue;
        }
        int code = judge(hunt, &trial, &policy_ns, &baseline_ns, error);
        if (code) {
            return code;
        }
        /* What is less than it takes to hand out a task counts for little; it may be nothing. */
        double ratio = (policy_ns + TIME_LEAST) / (baseline_ns + TIME_LEAST);
        double heat = 1 - (double)(i % RESTART) / RESTART;
        double slack = SLACK * heat * -log(1 - sy_rng_uniform(&hunt->rng));
        if (anew || ratio >= state_ratio - slack) {
            state = trial;
            state_ratio = ratio;
        }
        if (ratio > hunt->worst_ratio) {
            hunt->worst = trial;
            hunt->worst_ratio = ratio;
            hunt->policy_ns = policy_ns;
            hunt->baseline_ns = baseline_ns;
        }
    }
    return 0;
}

/* --- the table ---------------------------------------------------------------------------------
 */
static int save_text(const char *folder, const char *name, const char *ending,
                     struct sy_buffer *text) {
    char *path = NULL;
    int r = SY_EXIT_FAILED;
    if (asprintf(&path, "%s/%s%s", folder, name, ending) < 0) {
        sy_message_fail("out of memory");
    } else {
        r = sy_output_file(path, text);
        free(path);
    }
    sy_buffer_finish(text);
    return r;
}

static int save_graph(const struct hunt *hunt, const char *folder, const char *name, uint32_t first,
                      uint32_t end) {
    struct sy_graph *graph = NULL;
    struct sy_buffer text = {0};
    if (build(&hunt->worst, name, first, end, &graph) < 0) {
        return sy_no_memory();
    }
    sy_graph_write_json(graph, &text);
    sy_graph_destroy(graph);
    return save_text(folder, name, ".json", &text);
}

/* A graph, or two and the arrivals that symph simulate --arrivals takes. */
static int save(const struct hunt *hunt, const char *folder) {
    const struct instance *it = &hunt->worst;
    struct sy_buffer text = {0};
    char name[64], other[72];
    snprintf(name, sizeof name, "adversarial-%s", hunt->baseline->policy);
    if (!hunt->baseline->two_jobs) {
        return save_graph(hunt, folder, name, 0, it->task_count);
    }
    snprintf(other, sizeof other, "%s-2", name);
    sy_buffer_printf(&text, "arrive_s,tenant,weight,graph\n0,0,1,%s\n%.17g,0,1,%s\n", name,
                     it->arrive_ns * 1e-9, other);
    int r = save_graph(hunt, folder, name, 0, it->second);
    r = r ? r : save_graph(hunt, folder, other, it->second, it->task_count);
    if (r) {
        sy_buffer_finish(&text);
        return r;
    }
    return save_text(folder, name, ".csv", &text);
}

static void put_row(const struct hunt *hunt, struct sy_table *table, struct sy_json_writer *out) {
    const char *machine = machines[hunt->worst.machine];
    bool two = hunt->baseline->two_jobs;
    sy_table_cell(table, "%s|%d|%u|%.4f|%u|%s", hunt->baseline->policy, two ? 2 : 1, hunt->judged,
                  hunt->worst_ratio, hunt->worst.task_count, machine);
    sy_json_print(out,
                  "{policy: %s, baseline: %s, jobs: %u, mutations: %u, worst_ratio: %g, "
                  "policy_ns: %g, baseline_ns: %g, tasks: %u, machine: %s}",
                  hunt->policy, hunt->baseline->policy, two ? 2 : 1, hunt->judged,
                  hunt->worst_ratio, hunt->policy_ns, hunt->baseline_ns, hunt->worst.task_count,
                  machine);
}

static int hunt_baseline(const struct sy_bench_adversarial *bench, uint32_t index,
                         struct sy_machine **shapes, struct sy_table *table,
                         struct sy_json_writer *out) {
    struct sy_error error = {0};
    struct hunt hunt = {.policy = bench->policy ? bench->policy : sy_scheduler_default(),
                        .baseline = &baselines[index],
                        .rng = sy_rng_make(bench->seed, RNG_PURPOSE, index)};
    for (size_t m = 0; m < SY_COUNT(machines); m++) {
        hunt.machines[m] = shapes[m];
    }
    sy_message_note(bench->quiet, "%s against %s", hunt.policy, hunt.baseline->policy);
    if (search(&hunt, bench->mutations, &error)) {
        sy_message_error(&error);
        return SY_EXIT_FAILED;
    }
    put_row(&hunt, table, out);
    return bench->save ? save(&hunt, bench->save) : SY_EXIT_OK;
}

int sy_bench_adversarial(const struct sy_bench_adversarial *bench, struct sy_json_writer *writer,
                         struct sy_buffer *buffer) {
    struct sy_machine *shapes[SY_COUNT(machines)] = {0};
    struct sy_error error = {0};
    struct sy_table table;
    int r = SY_EXIT_OK;
    sy_table_init(
        &table,
        (const char *const[]){"baseline", "jobs", "mutations", "worst ratio", "tasks", "machine"},
        "lrrrrl");
    for (size_t m = 0; !r && m < SY_COUNT(machines); m++) {
        if (sy_machine_parse(machines[m], &shapes[m], &error)) {
            sy_message_error(&error);
            r = SY_EXIT_FAILED;
        }
    }
    for (uint32_t b = 0; !r && b < SY_COUNT(baselines); b++) {
        r = hunt_baseline(bench, b, shapes, &table, writer);
    }
    for (size_t m = 0; m < SY_COUNT(machines); m++) {
        sy_machine_destroy(shapes[m]);
    }
    if (!r) {
        sy_buffer_printf(
            buffer,
            "Adversarial search, known times: makespan of %s / makespan of the baseline, on the "
            "worst graph found,\nor the ratio of mean completion times if a second job arrives "
            "while the first runs\n(at most %d tasks of 20 us to 1 s, one in seven of no time, "
            "one in ten of 1 ns to 3 h; %zu machines; seed %llu)\n\n",
            bench->policy ? bench->policy : sy_scheduler_default(), TASKS_MOST, SY_COUNT(machines),
            (unsigned long long)bench->seed);
        sy_table_write(&table, 0, false, buffer);
    }
    sy_buffer_finish(&table.text);
    return r;
}
