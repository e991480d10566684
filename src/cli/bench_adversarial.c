/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_adversarial: looks for the small graph and machine on which the default policy does worst
 * against each of the usual ones.
 *
 * In: how many mutations, a policy, baselines. Out: per baseline the largest makespan of the policy
 * over the baseline's, times known, and the instance if asked for. Mutations change times, edges,
 * sizes, the number of tasks and the machine; what raises the ratio is kept, and now and then what
 * lowers it a little. Every thousand mutations the search starts anew. Invariant: the same seed
 * finds the same.
 */
#include "cli/bench.h"

#include "base/json.h"
#include "cli/table.h"
#include "graph/graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TASKS_MOST  24
#define RESTART     1000 /* mutations before the search starts anew */
#define SLACK       0.01 /* how much lower a ratio may still be kept, at first */
#define TIME_LEAST  2e4  /* ns: a task takes from 20 us, as the default plans none shorter, ... */
#define TIME_MOST   1e9  /* ... to a second */
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
static const char *const baselines[] = {"heft", "peft", "dmdas", "heteroprio", "dmda", "lb"};

struct instance {
    uint32_t task_count, machine;
    double cpu_ns[TASKS_MOST], gpu_ns[TASKS_MOST]; /* gpu_ns INFINITY: cannot run there */
    double bytes[TASKS_MOST];                      /* of what a task makes */
    uint32_t before[TASKS_MOST];                   /* bit set of tasks it reads from, all earlier */
};

struct hunt {
    const char *policy, *baseline;
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

static double any_gpu_ns(struct sy_rng *rng, double cpu_ns) {
    return sy_rng_uniform(rng) < 0.1 ? INFINITY : cpu_ns / log_uniform(rng, 0.3, 31);
}

static void new_task(struct sy_rng *rng, struct instance *it, uint32_t task) {
    it->cpu_ns[task] = log_uniform(rng, TIME_LEAST, TIME_MOST);
    it->gpu_ns[task] = any_gpu_ns(rng, it->cpu_ns[task]);
    it->bytes[task] = sy_rng_uniform(rng) < 0.5 ? 0 : log_uniform(rng, 1e3, BYTES_MOST);
    it->before[task] = 0;
    for (uint32_t b = 0; b < task; b++) {
        it->before[task] |= (uint32_t)(sy_rng_uniform(rng) < 2.0 / (task + 1)) << b;
    }
}

static void new_instance(struct sy_rng *rng, struct instance *it) {
    it->task_count = 4 + sy_rng_below(rng, TASKS_MOST - 3);
    it->machine = sy_rng_below(rng, SY_COUNT(machines));
    for (uint32_t t = 0; t < it->task_count; t++) {
        new_task(rng, it, t);
    }
}

static double scaled(struct sy_rng *rng, double ns) {
    return fmin(TIME_MOST, fmax(TIME_LEAST, ns * exp(0.5 * sy_rng_normal(rng))));
}

static void drop_task(struct instance *it, uint32_t task) {
    for (uint32_t t = task; t + 1 < it->task_count; t++) {
        it->cpu_ns[t] = it->cpu_ns[t + 1];
        it->gpu_ns[t] = it->gpu_ns[t + 1];
        it->bytes[t] = it->bytes[t + 1];
        uint32_t low = it->before[t + 1] & ((1u << task) - 1), high = it->before[t + 1] >> task;
        it->before[t] = low | (high >> 1) << task;
    }
    it->task_count--;
}

static void mutate(struct sy_rng *rng, struct instance *it) {
    uint32_t task = sy_rng_below(rng, it->task_count);
    switch (sy_rng_below(rng, 10)) {
    case 0:
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
            new_task(rng, it, it->task_count++);
        }
        break;
    default:
        if (it->task_count > 3) {
            drop_task(it, task);
        }
    }
}

static int build_task(struct sy_graph *graph, const struct instance *it, uint32_t task,
                      sy_kernel_id kernel, const sy_data_id *data) {
    struct sy_access accesses[TASKS_MOST + 1];
    uint32_t count = 0;
    double time_ns[SY_KIND_COUNT] = {it->cpu_ns[task], it->gpu_ns[task], INFINITY, INFINITY};
    for (uint32_t b = 0; b < task; b++) {
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

static int build(const struct instance *it, const char *name, struct sy_graph **ret_graph) {
    struct sy_kernel_desc desc = {.name = "task"};
    sy_data_id data[TASKS_MOST];
    sy_kernel_id kernel;
    struct sy_graph *graph = sy_graph_create(name, false);
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    int code = graph ? sy_graph_add_kernel(graph, &desc, &kernel) : -ENOMEM;
    for (uint32_t t = 0; !code && t < it->task_count; t++) {
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

/* --- judging -----------------------------------------------------------------------------------
 */
static int judge(struct hunt *hunt, const struct instance *it, double *ret_policy_ns,
                 double *ret_baseline_ns, struct sy_error *error) {
    struct sy_graph *graph = NULL;
    struct sy_workload *workload = NULL;
    struct sy_sim *sim = NULL;
    struct sy_sim_options options = {.seed = 1};
    struct sy_sim_result result;
    int code = build(it, "adversarial", &graph);
    struct sy_job job = {.graph = graph, .weight = 1};
    code = code ? code
                : sy_workload_create(hunt->machines[it->machine], &job, 1, NULL, &workload, error);
    code = code ? code : sy_sim_create(workload, &options, &sim, error);
    code = code ? code : sy_sim_run(sim, hunt->policy, &result, error);
    if (!code) {
        *ret_policy_ns = result.makespan_ns;
        code = sy_sim_run(sim, hunt->baseline, &result, error);
        *ret_baseline_ns = result.makespan_ns;
    }
    sy_sim_destroy(sim);
    sy_workload_destroy(workload);
    sy_graph_destroy(graph);
    return code;
}

static int search(struct hunt *hunt, uint32_t mutations, struct sy_error *error) {
    struct instance state, trial;
    double state_ratio = 0;
    for (uint32_t i = 0; i < mutations && !sy_interrupt_seen(); i++) {
        bool anew = i % RESTART == 0;
        if (anew) {
            new_instance(&hunt->rng, &trial);
        } else {
            trial = state;
            for (uint32_t n = 1 + sy_rng_below(&hunt->rng, 3); n > 0; n--) {
                mutate(&hunt->rng, &trial);
            }
        }
        double policy_ns, baseline_ns;
        int code = judge(hunt, &trial, &policy_ns, &baseline_ns, error);
        if (code) {
            return code;
        }
        hunt->judged++;
        double ratio = policy_ns / baseline_ns, heat = 1 - (double)(i % RESTART) / RESTART;
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
static int save(const struct hunt *hunt, const char *folder) {
    struct sy_graph *graph = NULL;
    struct sy_buffer text = {0};
    char name[64], *path = NULL;
    snprintf(name, sizeof name, "adversarial-%s", hunt->baseline);
    if (build(&hunt->worst, name, &graph) < 0 || asprintf(&path, "%s/%s.json", folder, name) < 0) {
        sy_graph_destroy(graph);
        sy_message_fail("out of memory");
        return SY_EXIT_FAILED;
    }
    sy_graph_write_json(graph, &text);
    int r = sy_output_file(path, &text);
    sy_buffer_finish(&text);
    sy_graph_destroy(graph);
    free(path);
    return r;
}

static void put_row(const struct hunt *hunt, struct sy_table *table, struct sy_json_writer *out) {
    const char *machine = machines[hunt->worst.machine];
    sy_table_cell(table, "%s", hunt->baseline);
    sy_table_cell(table, "%u", hunt->judged);
    sy_table_cell(table, "%.4f", hunt->worst_ratio);
    sy_table_cell(table, "%u", hunt->worst.task_count);
    sy_table_cell(table, "%s", machine);
    sy_json_open(out, '{');
    sy_json_member_string(out, "policy", hunt->policy);
    sy_json_member_string(out, "baseline", hunt->baseline);
    sy_json_member_u64(out, "mutations", hunt->judged);
    sy_json_member_number(out, "worst_ratio", hunt->worst_ratio);
    sy_json_member_number(out, "policy_ns", hunt->policy_ns);
    sy_json_member_number(out, "baseline_ns", hunt->baseline_ns);
    sy_json_member_u64(out, "tasks", hunt->worst.task_count);
    sy_json_member_string(out, "machine", machine);
    sy_json_close(out, '}');
}

static int hunt_baseline(const struct sy_bench_adversarial *bench, uint32_t index,
                         struct sy_machine **shapes, struct sy_table *table,
                         struct sy_json_writer *out) {
    struct sy_error error = {0};
    struct hunt hunt = {.policy = bench->policy ? bench->policy : sy_scheduler_default(),
                        .baseline = baselines[index],
                        .rng = sy_rng_make(bench->seed, RNG_PURPOSE, index)};
    for (size_t m = 0; m < SY_COUNT(machines); m++) {
        hunt.machines[m] = shapes[m];
    }
    sy_message_note(bench->quiet, "%s against %s", hunt.policy, hunt.baseline);
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
    sy_table_init(&table,
                  (const char *const[]){"baseline", "mutations", "worst ratio", "tasks", "machine"},
                  "lrrrl");
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
        sy_buffer_printf(buffer,
                         "Adversarial search, known times: makespan of %s / the baseline's on the "
                         "worst graph found\n(at most %d tasks of 20 us to 1 s, %zu machines; seed "
                         "%llu)\n\n",
                         bench->policy ? bench->policy : sy_scheduler_default(), TASKS_MOST,
                         SY_COUNT(machines), (unsigned long long)bench->seed);
        sy_table_write(&table, 0, false, buffer);
    }
    sy_buffer_finish(&table.text);
    return r;
}
