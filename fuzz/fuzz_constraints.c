/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes constraints of a plan with any bytes.
 *
 * What is accepted gives bounds that are positive numbers and limits that classes can have; what is
 * refused says why.
 */
#include "cli/plan/constraints.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bounds(const struct sy_constraint_list *list) {
    for (uint32_t skip = 0; skip <= list->count; skip++) {
        const struct sy_plan_bounds bounds = sy_constraints_bounds(list, skip);
        const double values[] = {bounds.latency_ns, bounds.period_ns, bounds.energy_joules,
                                 bounds.money, bounds.power_watts};
        for (size_t i = 0; i < SY_COUNT(values); i++) {
            SY_ASSERT(values[i] > 0); /* not NAN */
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[512];
    size_t length = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    const char *items[] = {text};
    const struct sy_text_list texts = {.items = items, .count = 1, .capacity = 1};
    struct sy_constraint_list list;
    struct sy_error error = {0};
    struct sy_system system = {
        .class_count = 2,
        .classes = {{.name = "cpu", .kind = SY_CPU, .device_count = 8, .memory_bytes = INFINITY},
                    {.name = "h200",
                     .kind = SY_GPU,
                     .device_count = 4,
                     .busy_count = 1,
                     .memory_bytes = 141e9}}};
    if (sy_constraints_parse(&texts, &list, &error)) {
        SY_ASSERT(error.message[0]);
        return 0;
    }
    SY_ASSERT(list.count > 0 && list.count <= SY_CONSTRAINT_MAX);
    check_bounds(&list);
    if (sy_constraints_limit(&list, SY_NONE, &system, &error)) {
        SY_ASSERT(error.message[0]);
        return 0;
    }
    for (uint32_t i = 0; i < system.class_count; i++) {
        SY_ASSERT(system.classes[i].busy_count <= system.classes[i].device_count);
        SY_ASSERT(system.classes[i].device_count <= 8 && system.classes[i].memory_bytes > 0);
    }
    return 0;
}
