/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of what counters speak of.
 */
#include "counters/counters.h"

const char *sy_scope_name(enum sy_scope scope) {
    static const char *const names[] = {
        [SY_SCOPE_MACHINE] = "machine", [SY_SCOPE_PACKAGE] = "package", [SY_SCOPE_CORE] = "core",
        [SY_SCOPE_CPU] = "cpu",         [SY_SCOPE_GPU] = "gpu",         [SY_SCOPE_BOARD] = "board",
        [SY_SCOPE_GROUP] = "group",     [SY_SCOPE_KERNEL] = "kernel",
    };
    return (size_t)scope < SY_COUNT(names) ? names[scope] : "?";
}
