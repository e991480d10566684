/* SPDX-License-Identifier: Apache-2.0
 *
 * adversarial: looks for the graphs on which the default policy does worst against the best of six
 * heuristics, on each class of machines and for each kind of oddity.
 *
 * In: how many mutations, a policy. Out: per class and kind the largest ratio of makespans (for two
 * jobs of mean completion times) found, and the mean over graphs that were drawn and not searched
 * for; the instances if asked for. Mutations change times, edges, sizes, kernels, the number of
 * tasks, the machine, what is lost, and when a second job comes; what raises the ratio is kept, and
 * now and then what lowers it a little. Every few hundred mutations the search starts anew from
 * the worst of some that are drawn. Large graphs are only drawn. Invariant: the same seed finds
 * the same.
 */
#include "symph-bench/adversarial.h"

#include "base/json.h"
#include "cli/table.h"
#include "graph/graph.h"
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

#define RESTART     400       /* mutations before the search starts anew, */
#define DRAWN       80        /* so many of which are graphs that are drawn */
#define SLACK       0.01      /* how much lower a ratio may still be kept, at first */
#define LARGE       4         /* large graphs on each class */
#define RNG_PURPOSE 0x616476u /* "adv" */

static const struct adversarial_class classes[] = {
    {"cores", {"cpu:2", "cpu:4"}},
    {"one GPU", {"cpu:1 gpu:1@pcie3x16", "cpu:4 gpu:1@pcie3x16"}},
    {"GPUs",
     {"cpu:4 gpu:2@link=1GB/s,latency=10us", "cpu:8 gpu:2@pcie4x16", "cpu:12 gpu:4@pcie3x16"}},
    {"FPGA", {"cpu:4 fpga:1@regions=2"}},
    {"GPU, FPGA", {"cpu:4 gpu:1@pcie3x16 fpga:1@regions=2"}},
};

#define US 1e3
#define S  1e9
static const struct adversarial_kind kinds[] = {
    {.name = "20 us to 1 s",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .bytes_least = 1e3,
     .bytes_most = 1e8,
     .slack_ns = US,
     .goal = 1.05},
    {.name = "no time, hours",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .nothing = 0.15,
     .extreme = 0.1,
     .bytes_least = 1e3,
     .bytes_most = 1e8,
     .slack_ns = 20 * US,
     .goal = 1.05},
    {.name = "huge data",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .bytes_least = 1e7,
     .bytes_most = 1e11,
     .slack_ns = US,
     .goal = 1.05},
    {.name = "contention",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .bytes_least = 1e4,
     .bytes_most = 1e9,
     .slack_ns = US,
     .goal = 1.05,
     .contention = true},
    {.name = "hidden load",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .bytes_least = 1e4,
     .bytes_most = 1e9,
     .slack_ns = US,
     .hidden_load = 0.4,
     .seeds = 6},
    {.name = "device lost",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .bytes_least = 1e3,
     .bytes_most = 1e8,
     .slack_ns = US,
     .goal = 1.10,
     .loses = true},
    {.name = "device lost, then",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .bytes_least = 1e3,
     .bytes_most = 1e8,
     .slack_ns = US,
     .goal = 1.10,
     .loses = true,
     .then = true},
    {.name = "1 to 20 us",
     .time_least_ns = 1 * US,
     .time_most_ns = 20 * US,
     .bytes_least = 1e3,
     .bytes_most = 1e7,
     .slack_ns = US,
     .goal = 1.2,
     .charged = true},
    {.name = "two jobs",
     .time_least_ns = 20 * US,
     .time_most_ns = 1 * S,
     .nothing = 0.15,
     .extreme = 0.1,
     .bytes_least = 1e3,
     .bytes_most = 1e8,
     .slack_ns = 20 * US,
     .two_jobs = true},
};
static const struct adversarial_kind large = {
    .name = "large, contention", .slack_ns = US, .goal = 1.05, .contention = true};

struct hunt {
    const struct sy_bench_adversarial *bench;
    const char *policy;
    const struct adversarial_class *class;
    const struct adversarial_kind *kind;
    struct sy_machine *machines[ADVERSARIAL_MACHINES];
    struct sy_rng rng;
    struct adversarial_instance worst;
    struct adversarial_verdict verdict; /* of the worst */
    uint32_t judged, drawn;
    double drawn_log_sum;
};

/* --- searching ---------------------------------------------------------------------------------
 */
static int judge(struct hunt *hunt, const struct adversarial_instance *trial, double *ret_ratio,
                 struct sy_error *error) {
    struct adversarial_verdict verdict;
    int code = sy_adversarial_judge(hunt->kind, hunt->policy, hunt->machines[trial->machine], trial,
                                    &verdict, error);
    if (code) {
        return code;
    }
    hunt->judged++;
    if (verdict.ratio > hunt->verdict.ratio) {
        hunt->worst = *trial;
        hunt->verdict = verdict;
    }
    *ret_ratio = verdict.ratio;
    return 0;
}

static int search(struct hunt *hunt, uint32_t mutations, struct sy_error *error) {
    struct adversarial_instance state, trial;
    double state_ratio = 0, ratio;
    int code = 0;
    for (uint32_t i = 0; !code && i < mutations && !sy_interrupt_seen(); i++) {
        uint32_t step = i % RESTART;
        state_ratio = step ? state_ratio : 0;
        if (step < DRAWN) {
            sy_adversarial_draw(&hunt->rng, hunt->kind, hunt->class, &trial);
        } else {
            trial = state;
            for (uint32_t n = 1 + sy_rng_below(&hunt->rng, 3); n > 0; n--) {
                sy_adversarial_mutate(&hunt->rng, hunt->kind, hunt->class, &trial);
            }
        }
        code = judge(hunt, &trial, &ratio, error);
        if (code) {
            return code;
        }
        double slack = SLACK * (1 - (double)step / RESTART) * -log(1 - sy_rng_uniform(&hunt->rng));
        if (step < DRAWN) {
            hunt->drawn++;
            hunt->drawn_log_sum += log(ratio);
            slack = 0;
        }
        if (ratio >= state_ratio - slack) {
            state = trial;
            state_ratio = ratio;
        }
    }
    return 0;
}

/* --- large graphs ------------------------------------------------------------------------------
 */
static void large_spec(struct sy_rng *rng, uint32_t index, char *text, size_t size) {
    uint32_t seed = 1 + sy_rng_below(rng, 1000000);
    switch (index % LARGE) {
    case 0:
        snprintf(text, size, "layered:width=%u,depth=%u,seed=%u", 50 + sy_rng_below(rng, 51),
                 50 + sy_rng_below(rng, 51), seed);
        break;
    case 1:
        snprintf(text, size, "stencil:%u", 40 + sy_rng_below(rng, 41));
        break;
    case 2:
        snprintf(text, size, "cholesky:%u", 20 + sy_rng_below(rng, 19));
        break;
    default:
        snprintf(text, size, "genomics:%u", 200 + sy_rng_below(rng, 801));
    }
}

static int judge_large(struct hunt *hunt, const char *spec, uint64_t accelerate_seed,
                       struct sy_error *error) {
    struct sy_graph *graph = NULL;
    struct sy_workload *workload = NULL;
    struct sy_workload_options options = {.accelerate = true, .accelerate_seed = accelerate_seed};
    struct adversarial_verdict verdict;
    uint32_t m = 0;
    while (m + 1 < ADVERSARIAL_MACHINES && hunt->machines[m + 1]) {
        m++;
    }
    int code = sy_graph_generate(spec, &graph, error);
    struct sy_job job = {.graph = graph, .weight = 1};
    code = code ? code : sy_workload_create(hunt->machines[m], &job, 1, &options, &workload, error);
    code =
        code ? code
             : sy_adversarial_judge_jobs(hunt->kind, hunt->policy, workload, NULL, &verdict, error);
    if (!code) {
        hunt->judged++;
        hunt->drawn++;
        hunt->drawn_log_sum += log(verdict.ratio);
        sy_message_note(hunt->bench->quiet, "%s: %.3f of %s", spec, verdict.ratio, verdict.best);
        if (verdict.ratio > hunt->verdict.ratio) {
            hunt->verdict = verdict;
            hunt->worst.machine = m;
            hunt->worst.task_count = sy_graph_task_count(graph);
        }
    }
    sy_workload_destroy(workload);
    sy_graph_destroy(graph);
    return code;
}

static int draw_large(struct hunt *hunt, struct sy_error *error) {
    int code = 0;
    for (uint32_t i = 0; !code && i < LARGE && !sy_interrupt_seen(); i++) {
        char spec[96];
        large_spec(&hunt->rng, i, spec, sizeof spec);
        code = judge_large(hunt, spec, 1 + sy_rng_below(&hunt->rng, 1000), error);
    }
    return code;
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

static int save_graph(const struct hunt *hunt, const char *name, uint32_t first, uint32_t end) {
    struct sy_graph *graph = NULL;
    struct sy_buffer text = {0};
    if (sy_adversarial_build(&hunt->worst, name, first, end, &graph) < 0) {
        return sy_no_memory();
    }
    sy_graph_write_json(graph, &text);
    sy_graph_destroy(graph);
    return save_text(hunt->bench->save, name, ".json", &text);
}

/* A graph, or two and the arrivals that symph simulate --arrivals takes. */
static int save(const struct hunt *hunt) {
    const struct adversarial_instance *it = &hunt->worst;
    struct sy_buffer text = {0};
    char name[64], other[72];
    if (!hunt->bench->save || hunt->kind == &large || !(hunt->verdict.ratio > 0)) {
        return SY_EXIT_OK;
    }
    snprintf(name, sizeof name, "adversarial-%u-%u", (uint32_t)(hunt->class - classes),
             (uint32_t)(hunt->kind - kinds));
    if (!hunt->kind->two_jobs) {
        return save_graph(hunt, name, 0, it->task_count);
    }
    snprintf(other, sizeof other, "%s-2", name);
    sy_buffer_printf(&text, "arrive_s,tenant,weight,graph\n0,0,1,%s\n%.17g,0,1,%s\n", name,
                     it->arrive_ns * 1e-9, other);
    int r = save_graph(hunt, name, 0, it->second);
    r = r ? r : save_graph(hunt, other, it->second, it->task_count);
    if (r) {
        sy_buffer_finish(&text);
        return r;
    }
    return save_text(hunt->bench->save, name, ".csv", &text);
}

/* When and what, as symph simulate --fail takes it. */
static void put_loss(const struct hunt *hunt, struct sy_json_writer *out) {
    const struct sy_machine *machine = hunt->machines[hunt->worst.machine];
    struct sy_workload stand_in = {.machine = machine, .job_isolated_ns = &(double){1}};
    struct sy_device_event lost = sy_adversarial_loss(&hunt->worst, &stand_in);
    sy_json_print(out, "lost: {device: %s, share: %g}", machine->devices[lost.device].name,
                  lost.at_ns);
}

static void put_row(const struct hunt *hunt, struct sy_table *table, struct sy_json_writer *out) {
    const struct adversarial_kind *kind = hunt->kind;
    const char *machine = hunt->class->machines[hunt->worst.machine];
    double mean = exp(hunt->drawn_log_sum / hunt->drawn);
    char goal[16] = "";
    if (kind->goal > 0) {
        snprintf(goal, sizeof goal, "%.2f", kind->goal);
    }
    sy_table_cell(table, "%s|%s|%u|%.3f|%.3f|%s|%s|%u|%s", hunt->class->name, kind->name,
                  hunt->judged, mean, hunt->verdict.ratio, goal, hunt->verdict.best,
                  hunt->worst.task_count, machine);
    sy_json_print(out,
                  "{policy: %s, class: %s, kind: %s, graphs: %u, drawn_mean_ratio: %g, "
                  "worst_ratio: %g, goal: %g, best: %s, policy_ns: %g, best_ns: %g, tasks: %u, "
                  "machine: %s",
                  hunt->policy, hunt->class->name, kind->name, hunt->judged, mean,
                  hunt->verdict.ratio, kind->goal, hunt->verdict.best, hunt->verdict.policy_ns,
                  hunt->verdict.best_ns, hunt->worst.task_count, machine);
    if (kind->loses) {
        put_loss(hunt, out);
    }
    sy_json_close(out, '}');
}

static int hunt_kind(struct hunt *hunt, struct sy_table *table, struct sy_json_writer *out) {
    struct sy_error error = {0};
    hunt->verdict = (struct adversarial_verdict){0};
    hunt->judged = hunt->drawn = 0;
    hunt->drawn_log_sum = 0;
    sy_message_note(hunt->bench->quiet, "%s: %s", hunt->class->name, hunt->kind->name);
    if (hunt->kind == &large ? draw_large(hunt, &error)
                             : search(hunt, hunt->bench->mutations, &error)) {
        sy_message_error(&error);
        return SY_EXIT_FAILED;
    }
    if (!hunt->judged) {
        return SY_EXIT_OK;
    }
    put_row(hunt, table, out);
    return save(hunt);
}

static int hunt_class(const struct sy_bench_adversarial *bench, uint32_t index,
                      struct sy_table *table, struct sy_json_writer *out) {
    struct hunt hunt = {.bench = bench,
                        .policy = bench->policy ? bench->policy : sy_scheduler_default(),
                        .class = &classes[index]};
    struct sy_error error = {0};
    int r = SY_EXIT_OK;
    for (uint32_t m = 0; m < ADVERSARIAL_MACHINES && hunt.class->machines[m] && !r; m++) {
        if (sy_machine_parse(hunt.class->machines[m], &hunt.machines[m], &error)) {
            sy_message_error(&error);
            r = SY_EXIT_FAILED;
        }
    }
    for (uint32_t k = 0; !r && k <= SY_COUNT(kinds); k++) {
        hunt.kind = k < SY_COUNT(kinds) ? &kinds[k] : &large;
        hunt.rng = sy_rng_make(bench->seed, RNG_PURPOSE, index * 64u + k);
        if (!bench->only || fnmatch(bench->only, hunt.kind->name, 0) == 0) {
            r = hunt_kind(&hunt, table, out);
        }
    }
    for (uint32_t m = 0; m < ADVERSARIAL_MACHINES; m++) {
        sy_machine_destroy(hunt.machines[m]);
    }
    return r;
}

int sy_bench_adversarial(const struct sy_bench_adversarial *bench, struct sy_json_writer *writer,
                         struct sy_buffer *buffer) {
    const char *policy = bench->policy ? bench->policy : sy_scheduler_default();
    struct sy_table table;
    int r = SY_EXIT_OK;
    sy_table_init(&table,
                  (const char *const[]){"machines", "kind", "graphs", "drawn: mean", "worst",
                                        "goal", "over", "tasks", "machine"},
                  "llrrrrlrl");
    for (uint32_t c = 0; !r && c < SY_COUNT(classes); c++) {
        r = hunt_class(bench, c, &table, writer);
    }
    if (!r) {
        sy_buffer_printf(
            buffer,
            "Adversarial search: makespan of %s / least makespan of heft, peft, dmdas, heteroprio, "
            "dmda and lb\nin the same world; mean over graphs that were drawn, and the worst that "
            "a search found (at most %d tasks; seed %llu).\nTwo jobs: mean completion times, by "
            "+wspt (dmdas by +srpt). Device lost: for good, after 0.3 to 0.7 of the bound; "
            "then:\nheuristics begin where %s stands.\n"
            "1 to 20 us: a decision costs 0.5 us, planning what the default and heft count for "
            "it. Large: 2,000 to 10,000 tasks.\n\n",
            policy, ADVERSARIAL_TASKS, (unsigned long long)bench->seed, policy);
        sy_table_write(&table, 0, false, buffer);
    }
    sy_buffer_finish(&table.text);
    return r;
}
