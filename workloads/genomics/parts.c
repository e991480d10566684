/* SPDX-License-Identifier: Apache-2.0
 *
 * The second half of a flow: from bins to the lines of the output, in order. See flow.h.
 */
#include "genomics/call/activity.h"
#include "genomics/call/sort.h"
#include "genomics/flow.h"
#include <errno.h>
#include <stdlib.h>

/* The reads without a place, if they are kept, stand in last bins that are only written. */
static bool is_last(const struct gn_sample *sample, uint32_t number) {
    return gn_bin_start(number) >= sample->index->length;
}

/* Nobody looks at what is outside of the regions asked for, unless a BAM is written. A bin may own
 * what begins a little outside of it. */
static bool is_wanted(const struct gn_sample *sample, uint32_t number) {
    uint64_t start = gn_bin_start(number) - GN_HALO, end = gn_bin_start(number + 1) + GN_HALO;
    if (is_last(sample, number)) {
        return gn_bins_records(sample->bins, number) > 0;
    }
    bool inside = !sample->bed || gn_bed_touches(sample->bed, start, end);
    return sample->bam || (inside && gn_bins_records(sample->bins, number));
}

/* What is needed until haplotypes are assembled; longer only for a BAM. */
static void drop_reads(struct gn_part *part) {
    struct gn_sample *sample = part->step.sample;
    gn_blob_drop(sample, &part->activity, true);
    gn_blob_drop(sample, &part->order, true);
    gn_blob_drop(sample, &part->bin, false);
    free(part->gathered);
    part->gathered = NULL;
}

static void free_part(struct gn_part *part) {
    struct gn_sample *sample = part->step.sample;
    gn_blob_drop(sample, &part->sums, true);
    gn_blob_drop(sample, &part->hmm, false); /* the regions' */
    drop_reads(part);
    gn_regions_free(part->regions);
    gn_lines_free(&part->lines);
    free(part);
}

/* --- stage by stage -----------------------------------------------------------------------------
 */
static int start_part(struct gn_sample *sample, uint32_t number, struct sy_error *error) {
    struct gn_part *part = calloc(1, sizeof *part);
    if (!part) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    part->step.sample = sample;
    part->step.subject = part;
    part->number = number;
    uint64_t bytes = gn_bins_bytes(sample->bins, number);
    sample->part_count++;
    return gn_submit_step(&part->step, GN_GATHER, (double)bytes, NULL, 0, error);
}

static int refill(struct gn_sample *sample, struct sy_error *error) {
    uint32_t count = gn_bins_count(sample->bins);
    int code = 0;
    while (code == 0 && sample->next_bin < count && sample->part_count < sample->part_limit) {
        uint32_t number = sample->next_bin++;
        if (is_wanted(sample, number)) {
            code = start_part(sample, number, error);
        }
    }
    return code;
}

static int sort(struct gn_part *part, struct sy_error *error) {
    struct gn_sample *sample = part->step.sample;
    struct gn_bin *bin = part->gathered;
    const struct gn_blob *inputs[] = {&part->bin};
    double records = bin->record_count;
    int code = gn_blob_share(sample, "bin", bin, bin->bytes, &part->bin, error);
    code = code ? code
                : gn_blob_make(sample, "order", gn_order_bytes(bin->record_count), &part->order,
                               error);
    return code ? code
                : gn_submit_kernel(sample, GN_SORT, records, false, inputs, 1, &part->order, error);
}

static int look(struct gn_part *part, struct sy_error *error) {
    struct gn_sample *sample = part->step.sample;
    const struct gn_bin *bin = part->bin.memory;
    const struct gn_blob *inputs[] = {&part->bin, &part->order, &part->activity};
    double bases = (double)bin->base_total;
    int code = gn_blob_make(sample, "activity", gn_activity_bytes(bin->end - bin->start),
                            &part->activity, error);
    code = code ? code
                : gn_submit_kernel(sample, GN_ACTIVITY, bases, true, inputs, 2, &part->activity,
                                   error);
    return code ? code : gn_submit_step(&part->step, GN_ASSEMBLE, bases, inputs, 3, error);
}

static int weigh(struct gn_part *part, struct sy_error *error) {
    struct gn_sample *sample = part->step.sample;
    struct gn_hmm *hmm = part->regions->hmm;
    const struct gn_blob *inputs[] = {&part->hmm}, *sums[] = {&part->sums};
    uint64_t bytes = ((uint64_t)hmm->sum_count + 1) * sizeof(float);
    if (!sample->bam) {
        drop_reads(part);
    }
    int code = gn_blob_share(sample, "regions", hmm, hmm->bytes, &part->hmm, error);
    code = code ? code : gn_blob_make(sample, "sums", bytes, &part->sums, error);
    if (code == 0 && hmm->sum_count) {
        code = gn_submit_kernel(sample, GN_PAIRHMM, (double)hmm->cells, false, inputs, 1,
                                &part->sums, error);
    }
    return code ? code
                : gn_submit_step(&part->step, GN_GENOTYPE, hmm->sum_count, sums,
                                 hmm->sum_count ? 1 : 0, error);
}

/* --- writing in order ---------------------------------------------------------------------------
 */
static int conclude(struct gn_sample *sample, struct sy_error *error) {
    struct gn_vcf *vcf = sample->vcf;
    struct gn_bam *bam = sample->bam;
    sample->vcf = NULL;
    sample->bam = NULL;
    sample->finished = true;
    if (bam) {
        int code = gn_bam_close(bam, error);
        if (code < 0) {
            gn_vcf_abandon(vcf);
            return code;
        }
    }
    return gn_vcf_close(vcf, error);
}

/* Starts to write the next part, if it is there and nothing is being written. */
static int write_next(struct gn_sample *sample, struct sy_error *error) {
    uint32_t count = gn_bins_count(sample->bins);
    while (sample->next_written < sample->next_bin && !is_wanted(sample, sample->next_written)) {
        sample->next_written++;
    }
    if (sample->writing) {
        return 0;
    }
    if (sample->next_written == count) {
        return conclude(sample, error);
    }
    for (struct gn_part **at = &sample->finished_parts; *at; at = &(*at)->next) {
        struct gn_part *part = *at;
        if (part->number == sample->next_written) {
            const struct gn_blob *inputs[] = {&part->bin, &part->order};
            uint32_t inputs_count = sample->bam ? 2 : 0;
            *at = part->next;
            sample->writing = true;
            return gn_submit_step(&part->step, GN_WRITE, (double)part->lines.bytes, inputs,
                                  inputs_count, error);
        }
    }
    return 0;
}

static int wait_for_turn(struct gn_part *part, struct sy_error *error) {
    struct gn_sample *sample = part->step.sample;
    part->next = sample->finished_parts;
    sample->finished_parts = part;
    return write_next(sample, error);
}

static int written(struct gn_part *part, struct sy_error *error) {
    struct gn_sample *sample = part->step.sample;
    sample->writing = false;
    sample->next_written = part->number + 1;
    sample->part_count--;
    free_part(part);
    int code = refill(sample, error);
    return code ? code : write_next(sample, error);
}

/* --- the half -----------------------------------------------------------------------------------
 */
/* All reads are in: from here on, coverage does not change. */
int gn_parts_start(struct gn_sample *sample, struct sy_error *error) {
    gn_call_options_default(&sample->options);
    sample->options.coverage = sample->coverage;
    int code = gn_coverage_complete(sample->coverage);
    code = code ? guest_fail(error, code, NULL, "out of memory") : refill(sample, error);
    return code ? code : write_next(sample, error);
}

int gn_part_ended(struct gn_step *step, struct sy_error *error) {
    struct gn_part *part = step->subject;
    int code = 0;
    switch (step->stage) {
    case GN_GATHER:
        code = sort(part, error);
        return code                                  ? code
               : is_last(step->sample, part->number) ? wait_for_turn(part, error)
                                                     : look(part, error);
    case GN_ASSEMBLE:
        return weigh(part, error);
    case GN_GENOTYPE:
        return wait_for_turn(part, error);
    default:
        return written(part, error);
    }
}
