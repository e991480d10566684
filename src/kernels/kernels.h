/* SPDX-License-Identifier: Apache-2.0
 *
 * kernels: finds kernel plug-ins, checks them, and answers who has which kernel.
 *
 * In: shared objects (include/symph/kernel.h). Out: a set of tables, searched by name. Never knows:
 * devices, time, who will call. Invariant: a plug-in of another ABI, or whose table contradicts
 * itself, is refused with an error that names the file; a kernel name is answered by one plug-in.
 */
#ifndef SY_KERNELS_KERNELS_H
#define SY_KERNELS_KERNELS_H

#include "base/base.h"
#include <symph/kernel.h>

struct sy_kernel_set;

/* Loads every plug-in of a colon-separated list of files and folders (of *.so), and no others. A
 * file that is named must load, a folder must hold one; shared objects in it that are no plug-ins,
 * or that cannot be loaded here, are passed over. NULL or "": those of SYMPH_KERNELS, if it is set,
 * then those that come with this program (installed, or in workloads/ of its build tree). Of
 * two plug-ins with the same name the first counts. Plug-ins stay loaded until the process ends:
 * their libraries' threads may outlive the set. */
SY_MUST_CHECK int sy_kernel_set_open(const char *paths, struct sy_kernel_set **ret_set,
                                     struct sy_error *error);
void sy_kernel_set_close(struct sy_kernel_set *set);

uint32_t sy_kernel_set_count(const struct sy_kernel_set *set);
const struct sy_kernel_table *sy_kernel_set_table(const struct sy_kernel_set *set, uint32_t index);
const char *sy_kernel_set_path(const struct sy_kernel_set *set, uint32_t index);
/* A number for the build of the plug-in that has an entry: another one if the file, or one of the
 * parts that lie in the folder of its name, was built from other code. 0: not known. */
uint64_t sy_kernel_set_build(const struct sy_kernel_set *set, const struct sy_kernel_entry *entry);
/* "file: why" of what was passed over and might have been meant; NULL past the end. */
const char *sy_kernel_set_skipped(const struct sy_kernel_set *set, uint32_t index);

/* By name (of several plug-ins that have it the first loaded answers), or "plugin:name". NULL and
 * an error with the nearest name if there is none. */
const struct sy_kernel_entry *sy_kernel_set_find(const struct sy_kernel_set *set, const char *name,
                                                 struct sy_error *error);
/* "linalg:cholesky:n=4096" -> the workload, and *ret_arguments behind its name. NULL without an
 * error if no plug-in has that name before the first colon. */
const struct sy_kernel_workload *sy_kernel_set_workload(const struct sy_kernel_set *set,
                                                        const char *spec,
                                                        const char **ret_arguments,
                                                        struct sy_error *error);
/* The same for a pipeline: "gnn:gcn:items=200". */
const struct sy_kernel_pipeline *sy_kernel_set_pipeline(const struct sy_kernel_set *set,
                                                        const char *spec,
                                                        const char **ret_arguments,
                                                        struct sy_error *error);
/* The accesses of a task, by name, are as the kernel needs them. */
SY_MUST_CHECK int sy_kernel_check(const struct sy_kernel_entry *entry, const char *name,
                                  const struct sy_access *accesses, uint32_t count,
                                  struct sy_error *error);
/* Fills ret_entries, one per kernel of the graph, with what plug-ins have whose arguments fit its
 * tasks. all: every kernel must have one, or the error names the task and the kernel; else it is
 * NULL. */
SY_MUST_CHECK int sy_kernel_set_bind(const struct sy_kernel_set *set, const struct sy_graph *graph,
                                     bool all, const struct sy_kernel_entry **ret_entries,
                                     struct sy_error *error);
/* Features of one call: the entry's own, or work and the sum of bytes. */
struct sy_cost_features sy_kernel_features(const struct sy_kernel_entry *entry,
                                           const struct sy_call *call);
/* "c", "cuda", "opencl". */
const char *sy_flavour_name(enum sy_flavour flavour);

#endif
