/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to call: a file that gets its name when it is complete.
 */
#ifndef GENOMICS_CALL_OUTPUT_H
#define GENOMICS_CALL_OUTPUT_H

#include "genomics/genomics.h"
#include <stdbool.h>

struct gn_output {
    char *path;      /* what it shall be called */
    char *temporary; /* what it is called until then, in the same folder */
    char *index;     /* temporary name of the index beside it; NULL: none */
    char *final_index;
    int lock; /* on the temporary file, so that others see that somebody writes it; -1: none */
};

/* suffix: of the index; NULL: none. Creates the temporary file, and removes those of processes that
 * died while they wrote the same path. -EEXIST is never returned. */
SY_MUST_CHECK int gn_output_open(struct gn_output *output, const char *path, const char *suffix,
                                 int *ret_descriptor, struct sy_error *error);
/* Gives files their names. */
SY_MUST_CHECK int gn_output_keep(struct gn_output *output, struct sy_error *error);
/* Removes what still has its temporary name, and frees. */
void gn_output_finish(struct gn_output *output);

/* Whether a contig is too long for .tbi and .bai: then .csi is needed. */
bool gn_output_needs_csi(const struct gn_index *index);

#endif
