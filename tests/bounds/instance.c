/* SPDX-License-Identifier: Apache-2.0
 *
 * The judge of plans: knows the definition of a schedule, not how any was made.
 */
#include "instance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_inputs_there(const struct sy_workload *workload, const struct sy_schedule *plan,
                                uint32_t task) {
    const struct sy_machine *machine = workload->machine;
    uint32_t to = machine->devices[plan->device[task]].memory;
    double slack = 1e-9 * plan->makespan_ns;
    for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
        assert_true(plan->start_ns[task] >= plan->end_ns[workload->pred[e]] - slack);
    }
    for (uint32_t a = workload->access_start[task]; a < workload->access_start[task + 1]; a++) {
        uint32_t datum = workload->access[a].datum, producer = workload->access_producer[a];
        if (workload->access[a].mode == SY_WRITE) {
            continue;
        }
        uint32_t home = (uint32_t)__builtin_ctzll(workload->data_home[datum] | 1ull << 63);
        uint32_t from =
            producer == SY_NONE ? home : machine->devices[plan->device[producer]].memory;
        const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
        double sent = producer == SY_NONE ? workload->jobs[0].arrive_ns : plan->end_ns[producer];
        double copy =
            from == to ? 0
                       : route->latency_ns + workload->data_bytes[datum] / route->bytes_per_s * 1e9;
        assert_true(plan->start_ns[task] >= sent + copy - slack);
    }
}

void assert_plan_legal(const struct sy_workload *workload, const struct sy_schedule *plan) {
    double last = 0, slack = 1e-9 * plan->makespan_ns;
    for (uint32_t t = 0; t < workload->task_count; t++) {
        assert_true(plan->device[t] < workload->machine->device_count);
        uint32_t class_index = workload->machine->devices[plan->device[t]].class_index;
        double time = workload->time_ns[t * workload->class_count + class_index];
        assert_true(fabs(plan->end_ns[t] - plan->start_ns[t] - time) <= slack);
        assert_true(plan->start_ns[t] >= workload->jobs[workload->task_job[t]].arrive_ns);
        assert_inputs_there(workload, plan, t);
        last = fmax(last, plan->end_ns[t]);
        for (uint32_t u = 0; u < t; u++) {
            assert_true(plan->device[u] != plan->device[t] ||
                        plan->end_ns[u] <= plan->start_ns[t] + slack ||
                        plan->end_ns[t] <= plan->start_ns[u] + slack);
        }
    }
    assert_true(fabs(last - plan->makespan_ns) <= slack);
}
