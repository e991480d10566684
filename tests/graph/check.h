/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of graph/ share: reading text that must or must not be a graph, and equality.
 */
#ifndef SY_TESTS_GRAPH_CHECK_H
#define SY_TESTS_GRAPH_CHECK_H

/* cmocka wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"

/* Reads text of any format; fails the test, printing the error, if it is refused. */
struct sy_graph_list check_read(const char *text, const struct sy_graph_read_options *options);
/* The text must be refused there, with these words in message and hint (NULL: any). */
void check_refused(const char *text, uint32_t line, uint32_t column, const char *message,
                   const char *hint);
struct sy_graph *check_generate(const char *spec);
/* Everything that is part of a graph must be the same, bit for bit. */
void check_same(const struct sy_graph *a, const struct sy_graph *b);
/* What must hold of every sealed graph. */
void check_sealed(const struct sy_graph *graph);
bool check_has_edge(const struct sy_graph *graph, uint32_t from, uint32_t to);
/* A kernel with a CPU variant of 1 ns per unit of work. */
sy_kernel_id check_kernel(struct sy_graph *graph, const char *name);

#endif
