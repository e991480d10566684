/* SPDX-License-Identifier: Apache-2.0
 *
 * Which one of an MPI program's processes this is: see rank.h.
 */
#include "engine/rank.h"
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

static bool number(const char *variable, uint64_t *ret_value) {
    const char *text = variable ? getenv(variable) : NULL;
    return text && sy_parse_u64(text, strlen(text), ret_value) && *ret_value <= UINT32_MAX;
}

/* Slurm sets its rank in scripts, too, where nothing was launched: the number of a step's processes
 * must be there as well. */
bool sy_mpi_rank(uint32_t *ret_rank) {
    static const struct {
        const char *rank, *size;
        bool needs_size;
    } launchers[] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
        {"PMI_RANK", "PMI_SIZE", false},
        {"PMIX_RANK", NULL, false},
        {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true},
    };
    for (size_t i = 0; i < SY_COUNT(launchers); i++) {
        uint64_t rank = 0, size = 0;
        if (number(launchers[i].rank, &rank)) {
            bool sized = number(launchers[i].size, &size);
            *ret_rank = (uint32_t)rank;
            return sized ? size > 1 : !launchers[i].needs_size;
        }
    }
    return false;
}
