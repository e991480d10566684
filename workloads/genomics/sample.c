/* SPDX-License-Identifier: Apache-2.0
 *
 * One sample from its files to its output: opens, dispatches ended steps, closes. See flow.h.
 */
#include "genomics/flow.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *gn_spill_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] ? folder : "/var/tmp"; /* on a disk, unlike /tmp on many systems */
}

static int open_inputs(struct gn_sample *sample, struct sy_error *error) {
    const char *const paths[2] = {sample->files->reads1, sample->files->reads2};
    struct gn_fastq_options options = {.ends = paths[1]                        ? GN_ENDS_SINGLE
                                               : sample->settings->interleaved ? GN_ENDS_INTERLEAVED
                                                                               : GN_ENDS_LOOK,
                                       .phred = sample->settings->phred};
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < 2 && paths[i]; i++) {
        code = gn_fastq_open(paths[i], &options, &sample->inputs[i], error);
        sample->input_count += code == 0;
    }
    return code;
}

static int open_outputs(struct gn_sample *sample, struct sy_error *error) {
    const struct gn_sample_settings *files = sample->files;
    const char *command = sample->settings->command;
    int code = gn_vcf_open(files->out, sample->index, files->name, command, &sample->vcf, error);
    if (code == 0 && files->bam) {
        code = gn_bam_open(files->bam, sample->settings->ref, sample->index, files->name, command,
                           &sample->bam, error);
    }
    /* Whatever is wrong with a name, the input is not. */
    return code < 0 && code != -ENOMEM && code != -EBADMSG ? -EIO : code;
}

static int make_bins(struct gn_sample *sample, struct sy_error *error) {
    struct gn_bins_options options = {
        .length = sample->index->length,
        .memory_bytes = sample->settings->memory_bytes / sample->settings->count,
        .folder = gn_spill_folder(),
        .names = sample->files->bam != NULL,
        .unmapped = sample->files->bam != NULL,
    };
    int code = gn_bins_create(&options, &sample->bins);
    sample->coverage = code ? NULL : gn_coverage_create(sample->index->length);
    code = code || sample->coverage ? code : -ENOMEM;
    return code < 0 ? guest_fail(error, code, NULL, "out of memory") : 0;
}

int gn_sample_open(struct gn_sample *sample, struct sy_error *error) {
    int code = open_inputs(sample, error);
    code = code ? code : open_outputs(sample, error);
    return code ? code : make_bins(sample, error);
}

int gn_sample_start(struct gn_sample *sample, struct sy_error *error) {
    struct sy_session *session = sample->session;
    const struct gn_sample_settings *files = sample->files;
    int code = session->ops->begin_job(session, files->name, files->tenant, 1, &sample->job);
    if (code < 0) {
        return guest_fail(error, code, NULL, "%s: %s", files->name, strerror(-code));
    }
    return gn_batches_start(sample, error);
}

int gn_sample_ended(struct gn_step *step, struct sy_error *error) {
    struct gn_sample *sample = step->sample;
    int code = gn_step_close(step, error);
    if (code == 0) {
        code = step->stage < GN_GATHER ? gn_batch_ended(step, error) : gn_part_ended(step, error);
    }
    if (code == 0 && sample->finished) {
        sample->session->ops->end_job(sample->session, sample->job);
    }
    return code;
}

void gn_sample_finish(struct gn_sample *sample) {
    gn_fastq_close(sample->inputs[0]);
    gn_fastq_close(sample->inputs[1]);
    gn_bins_destroy(sample->bins);
    gn_coverage_destroy(sample->coverage);
    gn_vcf_abandon(sample->vcf);
    if (sample->bam) {
        gn_bam_abandon(sample->bam);
    }
}
