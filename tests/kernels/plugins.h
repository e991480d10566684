/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of kernels share: where the small plug-ins are, and opening them.
 */
#ifndef TESTS_KERNELS_PLUGINS_H
#define TESTS_KERNELS_PLUGINS_H

#include "kernels/kernels.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PLUGIN_PATH_MAX 4096

/* Path of the plug-in test_kernels_NAME.so, in text. */
static inline const char *plugin_path(const char *name, char *text) {
    const char *folder = getenv("SYMPH_TEST_PLUGINS");
    snprintf(text, PLUGIN_PATH_MAX, "%s/test_kernels_%s.so", folder ? folder : ".", name);
    return text;
}

static inline struct sy_kernel_set *open_set(const char *paths) {
    struct sy_kernel_set *set;
    struct sy_error error = {0};
    if (sy_kernel_set_open(paths, &set, &error)) {
        fail_msg("%s: %s", error.file, error.message);
    }
    return set;
}

static inline struct sy_kernel_set *open_plugins(const char *first, const char *second) {
    char one[PLUGIN_PATH_MAX], two[PLUGIN_PATH_MAX], both[2 * PLUGIN_PATH_MAX];
    plugin_path(first, one);
    snprintf(both, sizeof both, "%s%s%s", one, second ? ":" : "",
             second ? plugin_path(second, two) : "");
    return open_set(both);
}

#endif
