/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes plans as text: what is accepted is a plan, costs a finite time, and is written so that it
 * reads back the same; what is not has a message.
 */
#include "planner/planner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sy_plan_problem *problem, const char *text) {
    struct sy_plan plan, again;
    struct sy_error error = {0};
    struct sy_plan_outcome outcome;
    struct sy_buffer buffer = {0};
    if (sy_plan_parse(problem, text, &plan, &error)) {
        SY_ASSERT(error.message[0]);
        return;
    }
    SY_ASSERT(plan.outcome.period_ns > 0 && isfinite(plan.outcome.energy_joules));
    SY_ASSERT(sy_plan_evaluate(problem, &sy_plan_unbounded, &plan, &outcome, &error) == 0);
    SY_ASSERT(memcmp(&outcome, &plan.outcome, sizeof outcome) == 0);
    sy_plan_write(problem, &plan, &buffer);
    if (!buffer.failed) {
        SY_ASSERT(sy_plan_parse(problem, buffer.text, &again, &error) == 0);
        SY_ASSERT(memcmp(&again, &plan, sizeof plan) == 0);
    }
    sy_buffer_finish(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct sy_plan_kernel kernels[] = {{"a", 1e6}, {"a b", 1e6}, {"gemm", 1e6}};
    static const struct sy_plan_datum items[] = {
        {"in", 1e6, SY_NONE, 1, false}, {"x", 1e6, 0, 6, false}, {"y", 1e6, 2, 0, true}};
    static const struct sy_plan_class classes[] = {{"cpu", 8, 10, 1e-5, INFINITY},
                                                   {"cpu:x", 2, 50, 1e-4, 1e7}};
    static const struct sy_plan_shape shapes[] = {{0, 1}, {0, 2}, {0, 4}, {1, 1}};
    static const double time_ns[] = {4e6, 2e6,      1e6, 1e6, 4e6, 2e6,
                                     1e6, INFINITY, 4e6, 2e6, 1e6, 1e6};
    static const struct sy_plan_link links[] = {
        {0, INFINITY, 0},   {1e4, 1e10, 1e-10}, {0, INFINITY, 0},
        {1e4, 1e10, 1e-10}, {1e4, 1e10, 0},     {1e4, 1e10, 0},
        {0, INFINITY, 0},   {1e4, 1e10, 1e-10}, {0, INFINITY, 0}};
    const struct sy_plan_problem problem = {kernels, 3, items,   3,       classes, 2,
                                            shapes,  4, time_ns, time_ns, links,   size % 2};
    char *text = malloc(size + 1);
    if (text) {
        memcpy(text, data, size);
        text[size] = '\0';
        check(&problem, text);
        free(text);
    }
    return 0;
}
