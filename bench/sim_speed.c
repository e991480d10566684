/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast is the simulator? Task events (ends of tasks, copies, reconfigurations, arrivals) per
 * second of one core, without and with contention, on machines of 11 and 64 devices; and what HEFT
 * and dmdas cost per task and device. Prints one JSON object; compare inside one run.
 */
#include "base/json.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <time.h>

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void die(const struct sy_error *error) {
    char text[512];
    fprintf(stderr, "sim_speed: %s\n", sy_error_format(error, text, sizeof text));
    exit(1);
}

static void measure(struct sy_json_writer *out, const char *machine_text, const char *spec,
                    const char *policy, bool contention, double hidden_load) {
    struct sy_error error = {0};
    struct sy_machine *machine;
    struct sy_graph *graph;
    struct sy_workload *workload;
    struct sy_sim *sim;
    struct sy_sim_result result;
    if (sy_machine_parse(machine_text, &machine, &error) ||
        sy_graph_generate(spec, &graph, &error)) {
        die(&error);
    }
    struct sy_job job = {.graph = graph, .weight = 1};
    struct sy_sim_options options = {.seed = 1,
                                     .noise_sigma = 0.2,
                                     .contention = contention,
                                     .hidden_load = hidden_load};
    if (sy_workload_create(machine, &job, 1, NULL, &workload, &error) ||
        sy_sim_create(workload, &options, &sim, &error)) {
        die(&error);
    }
    double best_ns = 1e300;
    for (int i = 0; i < 5; i++) {
        double before = now_ns();
        if (sy_sim_run(sim, policy, &result, &error)) {
            die(&error);
        }
        double took = now_ns() - before;
        best_ns = took < best_ns ? took : best_ns;
    }
    sy_json_open(out, '{');
    sy_json_member_u64(out, "devices", machine->device_count);
    sy_json_member_string(out, "graph", spec);
    sy_json_member_string(out, "policy", policy);
    sy_json_key(out, "contention");
    sy_json_put_bool(out, contention);
    sy_json_member_u64(out, "tasks", result.task_count);
    sy_json_member_u64(out, "events", result.event_count);
    sy_json_member_number(out, "events_per_s", (double)result.event_count / best_ns * 1e9);
    sy_json_member_number(out, "tasks_per_s", (double)result.task_count / best_ns * 1e9);
    sy_json_member_number(out, "us_per_task_and_device",
                          best_ns / 1e3 / (double)result.task_count / machine->device_count);
    sy_json_close(out, '}');
    sy_sim_destroy(sim);
    sy_workload_destroy(workload);
    sy_graph_destroy(graph);
    sy_machine_destroy(machine);
}

int main(void) {
    static const char *const eleven = "2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16 fpga:1@regions=1";
    static const char *const sixty_four = "4x(cpu:14 dram:80GB/s) gpu:8@pcie4x16";
    static const char *const eight = "cpu:6 gpu:2";
    static const char *const graphs[] = {"cholesky:40", "layered:width=64,depth=200,seed=1"};
    struct sy_json_writer out = {.compact_from = 2};
    sy_json_open(&out, '{');
    sy_json_member_string(&out, "schema", "symph-bench-1");
    sy_json_member_string(&out, "bench", "sim_speed");
    sy_json_key(&out, "runs");
    sy_json_open(&out, '[');
    for (int g = 0; g < 2; g++) {
        static const char *const policies[] = {"eager", "dmdas", "lb"};
        for (int p = 0; p < 3; p++) {
            measure(&out, eleven, graphs[g], policies[p], false, 0);
            measure(&out, eleven, graphs[g], policies[p], true, 0);
            measure(&out, eleven, graphs[g], policies[p], true, 0.3);
            measure(&out, sixty_four, graphs[g], policies[p], false, 0);
            measure(&out, sixty_four, graphs[g], policies[p], true, 0);
        }
        measure(&out, eight, graphs[g], "heft", false, 0);
        measure(&out, eight, graphs[g], "dmdas", false, 0);
    }
    sy_json_close(&out, ']');
    sy_json_close(&out, '}');
    fputs(out.buffer.text, stdout);
    sy_buffer_finish(&out.buffer);
    return 0;
}
