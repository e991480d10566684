/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of one of the trees that a test may change, and finding samples by the counter's name.
 */
#ifndef TESTS_COUNTERS_TREE_H
#define TESTS_COUNTERS_TREE_H

#include "counters/provider.h"

struct tree {
    char root[64];
};

void tree_copy(struct tree *tree, const char *name);
void tree_remove(struct tree *tree);
/* In place, as the kernel's files change; path below the root. */
__attribute__((format(printf, 3, 4))) void tree_write(const struct tree *tree, const char *path,
                                                      const char *format, ...);
void tree_delete(const struct tree *tree, const char *path);

/* Sources over the tree alone. */
struct sy_sources *tree_open(const struct tree *tree, const char *only);
uint32_t counter_named(const struct sy_sources *sources, const char *name); /* SY_NONE */
/* One read at that time; the value of one counter, NAN: no sample. */
double read_one(struct sy_sources *sources, double now_ns, const char *name);
struct sy_sample read_sample(struct sy_sources *sources, double now_ns, const char *name);
const struct sy_gap *gap_of(const struct sy_sources *sources, const char *source, const char *what);

#endif
