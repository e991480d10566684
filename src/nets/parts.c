/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the parts that a learned policy can be run without.
 */
#include "nets/nets.h"
#include <string.h>

static const char *const names[] = {"belief", "topology", "graph", "lstm",
                                    "guard",  "backbone", "plans", "net"};

const char *sy_policy_part_at(uint32_t index) {
    return index < SY_COUNT(names) ? names[index] : NULL;
}

uint32_t sy_policy_part(const char *name, size_t length) {
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
            return 1u << i;
        }
    }
    return 0;
}
