/* SPDX-License-Identifier: Apache-2.0
 *
 * The first half of a flow: from files to bins, a batch of reads at a time. See flow.h.
 *
 * The next batch is read when the one before it has been; files are read in step, so that mates
 * meet.
 */
#include "genomics/align/extend.h"
#include "genomics/align/map.h"
#include "genomics/flow.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void free_batch(struct gn_flow_batch *batch) {
    struct gn_sample *sample = batch->step.sample;
    struct sy_session *session = sample->session;
    gn_blob_drop(sample, &batch->extensions, true);
    gn_blob_drop(sample, &batch->jobs, false); /* its memory was pair's to free */
    gn_blob_drop(sample, &batch->hits, true);
    gn_blob_drop(sample, &batch->reads, false);
    if (batch->room.memory) {
        session->ops->release(session, batch->room.memory, batch->room.bytes);
    }
    gn_batch_finish(&batch->batch);
    gn_text_finish(&batch->texts[0]);
    gn_text_finish(&batch->texts[1]);
    free(batch);
    sample->batch_count--;
}

/* --- stage by stage -----------------------------------------------------------------------------
 */
static int begin_batch(struct gn_sample *sample, struct sy_error *error) {
    struct gn_flow_batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    batch->step.sample = sample;
    batch->step.subject = batch;
    batch->waiting = sample->input_count;
    for (uint32_t i = 0; i < sample->input_count; i++) {
        batch->inflates[i].sample = sample;
        batch->inflates[i].subject = batch;
        batch->inflates[i].file = i;
    }
    sample->open[sample->batches++ % GN_OPEN_MAX] = batch;
    sample->batch_count++;
    return 0;
}

/* Lets every file that is idle read its next batch. */
int gn_batches_start(struct gn_sample *sample, struct sy_error *error) {
    int code = 0;
    for (uint32_t file = 0; file < sample->input_count && code == 0; file++) {
        uint32_t number = sample->read_count[file];
        bool may_begin = !sample->ended && sample->batch_count < sample->batch_limit;
        if (sample->busy[file] || (number == sample->batches && !may_begin)) {
            continue;
        }
        if (number == sample->batches) {
            code = begin_batch(sample, error);
        }
        if (code == 0) {
            struct gn_flow_batch *batch = sample->open[number % GN_OPEN_MAX];
            sample->busy[file] = true;
            code = gn_submit_step(&batch->inflates[file], GN_INFLATE, sample->settings->batch, NULL,
                                  0, error);
        }
    }
    return code;
}

/* A sample without a read is a mistake: a wrong file, or one that was never filled. */
static int fail_empty(const struct gn_sample *sample, struct sy_error *error) {
    int code = guest_fail(error, -EBADMSG, "is this the file you meant?", "there is no read in it");
    snprintf(error->file, sizeof error->file, "%s", sample->files->reads1);
    return code;
}

/* Both files have given their text. */
static int parse(struct gn_flow_batch *batch, struct sy_error *error) {
    struct gn_sample *sample = batch->step.sample;
    struct sy_session *session = sample->session;
    const struct gn_text *second = sample->input_count == 2 ? &batch->texts[1] : NULL;
    uint32_t records = batch->texts[0].records;
    if (records == 0 && (!second || second->records == 0)) {
        free_batch(batch);
        return sample->serial ? 0 : fail_empty(sample, error);
    }
    batch->serial = sample->serial;
    sample->serial += (uint64_t)records * sample->input_count;
    batch->room.bytes = gn_fastq_room(&batch->texts[0], second);
    batch->room.memory = session->ops->allocate(session, batch->room.bytes);
    return gn_submit_step(&batch->step, GN_PARSE,
                          (double)(batch->texts[0].length + (second ? second->length : 0)), NULL, 0,
                          error);
}

static int map(struct gn_flow_batch *batch, struct sy_error *error) {
    struct gn_sample *sample = batch->step.sample;
    struct gn_reads *reads = batch->batch.reads;
    const struct gn_blob *inputs[] = {&batch->reads, &batch->hits};
    gn_text_finish(&batch->texts[0]);
    gn_text_finish(&batch->texts[1]);
    int code = gn_blob_share(sample, "reads", reads, reads->bytes, &batch->reads, error);
    if (code == 0) {
        code = gn_blob_make(sample, "hits", gn_hits_bytes(reads->read_count), &batch->hits, error);
    }
    if (code == 0) {
        code = gn_submit_kernel(sample, GN_MAP, reads->read_count, true, inputs, 1, &batch->hits,
                                error);
    }
    return code ? code
                : gn_submit_step(&batch->step, GN_CHOOSE, reads->read_count, inputs, 2, error);
}

static int extend(struct gn_flow_batch *batch, struct sy_error *error) {
    struct gn_sample *sample = batch->step.sample;
    struct gn_jobs *jobs = batch->jobs.memory; /* left there by choose */
    const struct gn_blob *inputs[] = {&batch->reads, &batch->jobs, &batch->hits,
                                      &batch->extensions};
    double reads = batch->batch.reads->read_count;
    int code = gn_blob_share(sample, "jobs", jobs, jobs->bytes, &batch->jobs, error);
    if (code == 0) {
        uint64_t bytes = ((uint64_t)jobs->job_count + 1) * sizeof(struct gn_extension);
        code = gn_blob_make(sample, "extensions", bytes, &batch->extensions, error);
    }
    if (code == 0 && jobs->job_count) {
        code = gn_submit_kernel(sample, GN_EXTEND, (double)jobs->cells, true, inputs, 2,
                                &batch->extensions, error);
    }
    return code ? code
                : gn_submit_step(&batch->step, GN_PAIR, reads, inputs, jobs->job_count ? 4 : 3,
                                 error);
}

/* Reads on; or, when everything is in the bins, goes on to them. */
static int go_on(struct gn_sample *sample, struct sy_error *error) {
    int code = gn_batches_start(sample, error);
    if (code == 0 && sample->ended && !sample->batch_count) {
        code = gn_parts_start(sample, error);
    }
    return code;
}

/* The batch is in the bins. */
static int finish(struct gn_flow_batch *batch, struct sy_error *error) {
    struct gn_sample *sample = batch->step.sample;
    void *jobs = batch->jobs.memory;
    free_batch(batch);
    free(jobs);
    return go_on(sample, error);
}

static int inflated(struct gn_step *step, struct sy_error *error) {
    struct gn_flow_batch *batch = step->subject;
    struct gn_sample *sample = step->sample;
    sample->busy[step->file] = false;
    sample->read_count[step->file]++;
    sample->ended |= batch->texts[step->file].last;
    sample->interleaved |= batch->texts[step->file].interleaved;
    int code = --batch->waiting ? 0 : parse(batch, error);
    return code ? code : go_on(sample, error);
}

int gn_batch_ended(struct gn_step *step, struct sy_error *error) {
    struct gn_flow_batch *batch = step->subject;
    switch (step->stage) {
    case GN_INFLATE:
        return inflated(step, error);
    case GN_PARSE:
        return map(batch, error);
    case GN_CHOOSE:
        return extend(batch, error);
    default:
        return finish(batch, error);
    }
}
