/* SPDX-License-Identifier: Apache-2.0
 *
 * speed: what the simulator and two classic policies cost on this machine.
 *
 * In: nothing. Out: events per second of one core (ends of tasks, copies and reconfigurations,
 * arrivals, hidden load), without and with flow contention, on 11 and 64 devices; microseconds of
 * HEFT and dmdas per task and device, the simulation included. Best of five; compare inside one
 * run.
 */
#include "symph-bench/bench.h"

#include "base/json.h"
#include "cli/clock.h"
#include "cli/table.h"

#define REPEATS 5

struct speed {
    const char *machine, *graph, *policy;
    bool contention;
    double hidden_load;
};

struct measured {
    uint32_t devices;
    uint64_t tasks, events;
    double best_ns;
};

static int time_runs(const struct sy_workload *workload, const struct speed *what,
                     struct measured *ret, struct sy_error *error) {
    struct sy_sim_options options = {.seed = 1,
                                     .noise_sigma = 0.2,
                                     .contention = what->contention,
                                     .hidden_load = what->hidden_load};
    struct sy_sim *sim;
    struct sy_sim_result result;
    int code = sy_sim_create(workload, &options, &sim, error);
    if (code) {
        return code;
    }
    ret->best_ns = 1e300;
    for (int i = 0; !code && i < REPEATS; i++) {
        double before = sy_cpu_clock_ns();
        code = sy_sim_run(sim, what->policy, &result, error);
        double took = sy_cpu_clock_ns() - before;
        ret->best_ns = took < ret->best_ns ? took : ret->best_ns;
    }
    if (!code) {
        ret->tasks = result.task_count;
        ret->events = result.event_count;
    }
    sy_sim_destroy(sim);
    return code;
}

static int measure(const struct speed *what, struct measured *ret, struct sy_error *error) {
    struct sy_machine *machine = NULL;
    struct sy_graph *graph = NULL;
    struct sy_workload *workload = NULL;
    int code = sy_machine_parse(what->machine, &machine, error);
    code = code ? code : sy_graph_generate(what->graph, &graph, error);
    struct sy_job job = {.graph = graph, .weight = 1};
    code = code ? code : sy_workload_create(machine, &job, 1, NULL, &workload, error);
    code = code ? code : time_runs(workload, what, ret, error);
    if (!code) {
        ret->devices = machine->device_count;
    }
    sy_workload_destroy(workload);
    sy_graph_destroy(graph);
    sy_machine_destroy(machine);
    return code;
}

static void put_json(struct sy_json_writer *out, const struct speed *what,
                     const struct measured *m) {
    sy_json_print(
        out,
        "{devices: %u, graph: %s, policy: %s, contention: %d, hidden_load: %g, tasks: %llu, "
        "events: %llu, events_per_s: %g, tasks_per_s: %g, us_per_task_and_device: %g}",
        m->devices, what->graph, what->policy, what->contention, what->hidden_load,
        (unsigned long long)m->tasks, (unsigned long long)m->events,
        (double)m->events / m->best_ns * 1e9, (double)m->tasks / m->best_ns * 1e9,
        m->best_ns / 1e3 / (double)m->tasks / m->devices);
}

#define ELEVEN     "2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16 fpga:1@regions=1"
#define SIXTY_FOUR "4x(cpu:14 dram:80GB/s) gpu:8@pcie4x16"
#define EIGHT      "cpu:6 gpu:2"
#define TILES      "cholesky:40"
#define LAYERS     "layered:width=64,depth=200,seed=1"

static const struct speed speeds[] = {
    {ELEVEN, TILES, "eager", false, 0},     {ELEVEN, TILES, "eager", true, 0},
    {ELEVEN, TILES, "eager", true, 0.3},    {ELEVEN, TILES, "dmdas", false, 0},
    {ELEVEN, TILES, "dmdas", true, 0},      {ELEVEN, TILES, "lb", false, 0},
    {ELEVEN, TILES, "lb", true, 0},         {ELEVEN, LAYERS, "eager", false, 0},
    {ELEVEN, LAYERS, "eager", true, 0},     {ELEVEN, LAYERS, "dmdas", false, 0},
    {ELEVEN, LAYERS, "dmdas", true, 0},     {SIXTY_FOUR, TILES, "eager", false, 0},
    {SIXTY_FOUR, TILES, "eager", true, 0},  {SIXTY_FOUR, TILES, "dmdas", false, 0},
    {SIXTY_FOUR, TILES, "dmdas", true, 0},  {SIXTY_FOUR, LAYERS, "dmdas", false, 0},
    {SIXTY_FOUR, LAYERS, "dmdas", true, 0}, {EIGHT, TILES, "heft", false, 0},
    {EIGHT, TILES, "dmdas", false, 0},      {EIGHT, LAYERS, "heft", false, 0},
    {EIGHT, LAYERS, "dmdas", false, 0},
};

int sy_bench_speed(struct sy_json_writer *writer, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table,
                  (const char *const[]){"devices", "graph", "policy", "contention", "tasks",
                                        "events", "M events/s", "M tasks/s", "us/task/device"},
                  "rlllrrrrr");
    for (size_t i = 0; i < SY_COUNT(speeds); i++) {
        const struct speed *what = &speeds[i];
        struct measured m = {0};
        struct sy_error error = {0};
        if (measure(what, &m, &error)) {
            sy_message_error(&error);
            sy_buffer_finish(&table.text);
            return SY_EXIT_FAILED;
        }
        put_json(writer, what, &m);
        sy_table_cell(&table, "%u|%s|%s|%s|%llu|%llu|%.2f|%.2f|%.3f", m.devices, what->graph,
                      what->policy,
                      !what->contention       ? "no"
                      : what->hidden_load > 0 ? "flows, hidden load"
                                              : "flows",
                      (unsigned long long)m.tasks, (unsigned long long)m.events,
                      (double)m.events / m.best_ns * 1e3, (double)m.tasks / m.best_ns * 1e3,
                      m.best_ns / 1e3 / (double)m.tasks / m.devices);
    }
    sy_buffer_printf(buffer, "One core of this machine, CPU time, best of %d runs\n\n", REPEATS);
    sy_table_write(&table, 0, false, buffer);
    return SY_EXIT_OK;
}
