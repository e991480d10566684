/* SPDX-License-Identifier: Apache-2.0
 *
 * Contigs by name: see contigs.h.
 */
#include "genomics/align/contigs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct gn_contig_names *table, uint32_t contig) {
    return table->names + table->contigs[contig].name;
}

static int compare(const void *a, const void *b, void *context) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = strcmp(name_of(context, left), name_of(context, right));
    return order ? order : left < right ? -1 : left > right;
}

int gn_contig_names_sort(const struct gn_contig *contigs, const char *names, uint32_t count,
                         struct gn_contig_names *ret_table) {
    struct gn_contig_names table = {contigs, names, NULL, count};
    table.order = malloc((count + 1u) * sizeof(*table.order));
    if (!table.order) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        table.order[i] = i;
    }
    qsort_r(table.order, count, sizeof(*table.order), compare, &table);
    *ret_table = table;
    return 0;
}

void gn_contig_names_finish(struct gn_contig_names *table) {
    free(table->order);
    *table = (struct gn_contig_names){0};
}

uint32_t gn_contig_names_find(const struct gn_contig_names *table, const char *name) {
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(name_of(table, table->order[middle]), name);
        if (order == 0) {
            return table->order[middle];
        }
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return SY_NONE;
}
