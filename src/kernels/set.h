/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside kernels: the set, and what fills it.
 */
#ifndef SY_KERNELS_SET_H
#define SY_KERNELS_SET_H

#include "kernels/kernels.h"

struct sy_kernel_plugin_file {
    const struct sy_kernel_table *table;
    const char *path;
    uint64_t build; /* of the file and its parts; 0: not known */
};

struct sy_kernel_set {
    struct sy_arena *arena; /* paths and messages */
    struct sy_kernel_plugin_file *plugins;
    uint32_t count, capacity;
    const char **skipped;
    uint32_t skipped_count, skipped_capacity;
    uint32_t met_count; /* files that are, or may have been meant as, plug-ins */
};

/* 0 or -EINVAL and what the table contradicts; path is for the error. */
SY_MUST_CHECK int sy_kernel_table_check(const struct sy_kernel_table *table, const char *path,
                                        struct sy_error *error);
/* Every element of a colon-separated list; what is not there is an error. */
SY_MUST_CHECK int sy_kernel_set_add_list(struct sy_kernel_set *set, const char *paths,
                                         struct sy_error *error);
/* All *.so of a folder, in order of name. */
SY_MUST_CHECK int sy_kernel_set_add_folder(struct sy_kernel_set *set, const char *path,
                                           struct sy_error *error);

#endif
