/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside symph kernels: what is shown, and the two ways to show it.
 */
#ifndef SY_CLI_KERNELS_LIST_H
#define SY_CLI_KERNELS_LIST_H

#include "cli/cli.h"
#include "cost/cost.h"
#include "kernels/kernels.h"

struct sy_kernel_list {
    const struct sy_kernel_set *set;
    const struct sy_store *store;
    const char *machine;
    struct sy_text_list names;    /* only these plug-ins and kernels; none: all */
    const struct sy_cell **cells; /* that have samples and are named, in order */
    uint32_t cell_count;
};

/* Is this kernel among those asked for, by its own name or by its plug-in's? */
bool sy_kernel_list_wants(const struct sy_kernel_list *list, const struct sy_kernel_table *table,
                          const char *kernel);
/* Both return an exit code. */
int sy_kernel_list_print(const struct sy_kernel_list *list);
int sy_kernel_list_print_json(const struct sy_kernel_list *list);

#endif
