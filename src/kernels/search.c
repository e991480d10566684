/* SPDX-License-Identifier: Apache-2.0
 *
 * Where plug-ins are: where somebody says, and where they come with the program.
 */
#include "kernels/set.h"

#include "base/shipped.h"
#include <limits.h>
#include <stdlib.h>

static int fill(struct sy_kernel_set *set, const char *paths, struct sy_error *error) {
    if (paths && paths[0]) {
        return sy_kernel_set_add_list(set, paths, error);
    }
    const char *named = getenv("SYMPH_KERNELS");
    int code = named ? sy_kernel_set_add_list(set, named, error) : 0;
    char path[PATH_MAX];
    if (!code && sy_shipped_find(SY_SHIPPED_PLUGINS, "kernels", "workloads", path, sizeof path)) {
        code = sy_kernel_set_add_folder(set, path, error);
    }
    return code;
}

int sy_kernel_set_open(const char *paths, struct sy_kernel_set **ret_set, struct sy_error *error) {
    struct sy_kernel_set *set = calloc(1, sizeof *set);
    if (!set) {
        return sy_out_of_memory(error);
    }
    set->arena = sy_arena_create();
    int code = set->arena ? fill(set, paths, error) : sy_out_of_memory(error);
    if (code) {
        sy_kernel_set_close(set);
        return code;
    }
    *ret_set = set;
    return 0;
}
