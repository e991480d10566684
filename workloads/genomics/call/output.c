/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary names, and renaming at the end.
 */
#include "genomics/call/output.h"
#include "genomics/align/index.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 100, CONTIG_MAX = 1 << 29 };

bool gn_output_needs_csi(const struct gn_index *index) {
    for (uint32_t i = 0; i < index->contig_count; i++) {
        if (gn_contigs(index)[i].length >= CONTIG_MAX) {
            return true;
        }
    }
    return false;
}

int gn_output_open(struct gn_output *output, const char *path, const char *suffix,
                   int *ret_descriptor, struct sy_error *error) {
    int descriptor = -1;
    *output = (struct gn_output){.path = strdup(path)};
    for (uint32_t i = 0; output->path && descriptor < 0 && i < TRIES; i++) {
        free(output->temporary);
        if (asprintf(&output->temporary, "%s.%ld-%u.partial", path, (long)getpid(), i) < 0) {
            output->temporary = NULL;
            break;
        }
        descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST) {
            int code = -errno;
            free(output->temporary); /* nothing to remove */
            output->temporary = NULL;
            gn_output_finish(output);
            return guest_fail(error, code, "give a path in a folder that exists and can be written",
                              "cannot write %s: %s", path, strerror(-code));
        }
    }
    bool ok = descriptor >= 0;
    if (ok && suffix) {
        ok = asprintf(&output->index, "%s%s", output->temporary, suffix) >= 0;
        output->index = ok ? output->index : NULL;
        ok = ok && asprintf(&output->final_index, "%s%s", path, suffix) >= 0;
        output->final_index = ok ? output->final_index : NULL;
    }
    if (!ok) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        gn_output_finish(output);
        return guest_fail(error, -ENOMEM, NULL, "cannot write %s: out of memory", path);
    }
    *ret_descriptor = descriptor;
    return 0;
}

int gn_output_keep(struct gn_output *output, struct sy_error *error) {
    /* The index first: a file never has an index that is older than it. */
    if ((output->index && rename(output->index, output->final_index) < 0) ||
        rename(output->temporary, output->path) < 0) {
        int code = -errno;
        return guest_fail(error, code, NULL, "cannot write %s: %s", output->path, strerror(-code));
    }
    free(output->temporary);
    free(output->index);
    output->temporary = output->index = NULL;
    return 0;
}

void gn_output_finish(struct gn_output *output) {
    if (output->index) {
        unlink(output->index);
    }
    if (output->temporary) {
        unlink(output->temporary);
    }
    free(output->path);
    free(output->temporary);
    free(output->index);
    free(output->final_index);
    *output = (struct gn_output){0};
}
