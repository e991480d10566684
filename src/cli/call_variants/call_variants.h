/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of symph call-variants share.
 */
#ifndef SY_CLI_CALL_VARIANTS_CALL_VARIANTS_H
#define SY_CLI_CALL_VARIANTS_CALL_VARIANTS_H

#include "cli/run/run.h"

struct sy_call_args {
    struct sy_common_args common;
    const char *ref, *out, *bam, *sample, *samples, *regions, *index;
    struct sy_text_list reads;
    double memory_bytes; /* 0: the default */
    uint32_t batch;      /* 0: the default */
    uint32_t phred;      /* 33 or 64; 0: not given */
    bool interleaved;
    struct sy_run_args run; /* policy, devices, pictures */
};

/* The summary, or JSON. Returns an exit code. */
int sy_call_tell(const struct sy_call_args *args, const struct sy_record *record,
                 const struct sy_run_figures *figures);

#endif
