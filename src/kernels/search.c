/* SPDX-License-Identifier: Apache-2.0
 *
 * Where plug-ins are: where somebody says, else where they are installed and in a build tree.
 */
#include "kernels/set.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEVELS_UP 4 /* BUILD/src/engine/starpu/symph-engine looks into BUILD/workloads */

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int add_near_program(struct sy_kernel_set *set, struct sy_error *error) {
    char path[PATH_MAX], workloads[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) {
        return 0;
    }
    path[length] = '\0';
    for (int level = 0; level < LEVELS_UP; level++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            return 0;
        }
        *slash = '\0';
        snprintf(workloads, sizeof workloads, "%s/workloads", path);
        if (is_folder(workloads)) {
            return sy_kernel_set_add_folder(set, workloads, error);
        }
    }
    return 0;
}

static int fill(struct sy_kernel_set *set, const char *paths, struct sy_error *error) {
    if (paths && paths[0]) {
        return sy_kernel_set_add_list(set, paths, error);
    }
    const char *named = getenv("SYMPH_KERNELS");
    int code = named ? sy_kernel_set_add_list(set, named, error) : 0;
    if (!code && is_folder(SYMPH_KERNEL_FOLDER)) {
        code = sy_kernel_set_add_folder(set, SYMPH_KERNEL_FOLDER, error);
    }
    return code ? code : add_near_program(set, error);
}

int sy_kernel_set_open(const char *paths, struct sy_kernel_set **ret_set, struct sy_error *error) {
    struct sy_kernel_set *set = calloc(1, sizeof *set);
    if (!set) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    set->arena = sy_arena_create();
    int code = set->arena ? fill(set, paths, error) : sy_fail(error, -ENOMEM, "out of memory");
    if (code) {
        sy_kernel_set_close(set);
        return code;
    }
    *ret_set = set;
    return 0;
}
