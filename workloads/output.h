/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way in which plug-ins and their tools write files: a file gets its name when it is
 * complete and on the disk.
 *
 * Until then it is called PATH.PID-N.partial, and whoever writes it holds a lock on it. A lock ends
 * with its process, so the next one that writes the same path removes what a killed one left, and
 * nothing that somebody still writes.
 */
#ifndef GUEST_OUTPUT_H
#define GUEST_OUTPUT_H

#include "guest.h"

struct guest_output {
    char *path;      /* what it shall be called */
    char *temporary; /* what it is called until then, in the same folder */
    char *index;     /* temporary name of the index that goes with it; NULL: none */
    char *final_index;
    int descriptor; /* of the temporary file: holds the lock, and is synced; -1: not open */
};

/* suffix: of the index; NULL: none. Creates the temporary file, and removes those of processes that
 * died while they wrote the same path. What is written goes to *ret_descriptor, which is the
 * caller's to close, or to output->temporary by name. -EEXIST is never returned. */
SY_MUST_CHECK int guest_output_open(struct guest_output *output, const char *path,
                                    const char *suffix, int *ret_descriptor,
                                    struct sy_error *error);
/* All of these are written: first they go to the disk, then they get their names, then the folders
 * go to the disk. On an error those without a name are still to be finished. */
SY_MUST_CHECK int guest_output_keep(struct guest_output *outputs, uint32_t count,
                                    struct sy_error *error);
/* Removes what still has its temporary name, and frees. Accepts an output that is all zero, and one
 * that is finished. */
void guest_output_finish(struct guest_output *output);

#endif
