/* SPDX-License-Identifier: Apache-2.0
 *
 * rank: which one of an MPI program's processes this is.
 *
 * In: the variables that launchers set. Out: a number. Never knows: MPI itself, which may not be
 * initialised yet, or not linked.
 */
#ifndef SY_ENGINE_RANK_H
#define SY_ENGINE_RANK_H

#include <stdbool.h>
#include <stdint.h>

/* False: it is no MPI program, or has one process only. */
bool sy_mpi_rank(uint32_t *ret_rank);

#endif
