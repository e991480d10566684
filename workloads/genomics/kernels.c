/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages on cores. All take blobs; those that only cores run have a step, too. What is wrong
 * with the user's files is left in the step, for the driver to tell; only what is wrong with us (no
 * memory, a blob that makes no sense) fails the call.
 */
#include "genomics/align/choose.h"
#include "genomics/align/extend.h"
#include "genomics/align/map.h"
#include "genomics/call/activity.h"
#include "genomics/call/hmm.h"
#include "genomics/call/sort.h"
#include "genomics/devices.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct gn_step *step_of(const struct sy_call *call) {
    return call->user;
}

static void *argument(const struct sy_call *call, uint32_t number) {
    return call->arguments[number].pointer;
}

static int outcome(const struct sy_call *call, int code) {
    return code < 0 ? guest_call_fail(call, code, "%s", strerror(-code)) : 0;
}

/* --- reads --------------------------------------------------------------------------------------
 */
static int inflate_text(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_flow_batch *batch = step->subject;
    step->code = gn_fastq_next(step->sample->inputs[step->file], step->sample->settings->batch,
                               &batch->texts[step->file], &step->error);
    return 0;
}

static int parse(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_flow_batch *batch = step->subject;
    const struct gn_text *second = step->sample->input_count == 2 ? &batch->texts[1] : NULL;
    step->code = gn_fastq_parse(&batch->texts[0], second, batch->serial, batch->room.memory,
                                batch->room.bytes, &batch->batch, &step->error);
    return 0;
}

static int map(const struct sy_call *call) {
    return outcome(call,
                   gn_map(argument(call, 0), argument(call, 1), argument(call, 2), guest_simd()));
}

static int choose(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_flow_batch *batch = step->subject;
    struct gn_jobs *jobs = NULL;
    int code = gn_choose(step->sample->index, argument(call, 0), argument(call, 1), &jobs);
    batch->jobs.memory = jobs;
    return outcome(call, code);
}

static int extend(const struct sy_call *call) {
    return outcome(call, gn_extend(argument(call, 0), argument(call, 1), argument(call, 2),
                                   argument(call, 3), guest_simd()));
}

static void count(struct gn_sample *sample, const struct gn_aligned *aligned) {
    uint64_t mapped = 0;
    for (uint32_t i = 0; i < aligned->count; i++) {
        const struct gn_record *record = &aligned->records[i];
        mapped += !(record->flags & GN_FLAG_UNMAPPED);
        if (gn_activity_counts(record, 0)) {
            gn_coverage_add(sample->coverage, record->position, record->span);
        }
    }
    atomic_fetch_add(&sample->counts.reads, aligned->count);
    atomic_fetch_add(&sample->counts.mapped, mapped);
}

static int pair(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_flow_batch *batch = step->subject;
    struct gn_sample *sample = step->sample;
    struct gn_aligned *aligned = NULL;
    const struct gn_extension *extensions = call->argument_count > 3 ? argument(call, 3) : NULL;
    int code = gn_pair(sample->index, argument(call, 0), &batch->batch.notes, argument(call, 2),
                       argument(call, 1), extensions, &aligned);
    if (code == 0) {
        code = gn_bins_add(sample->bins, argument(call, 0), &batch->batch.notes, aligned);
        count(sample, aligned);
    }
    free(aligned);
    if (code < 0 && code != -ENOMEM) { /* the file of what does not fit into memory */
        step->code =
            guest_fail(&step->error, code, "make room there, set TMPDIR, or allow more --memory",
                       "cannot keep reads in %s: %s", gn_spill_folder(), strerror(-code));
        return 0;
    }
    return outcome(call, code);
}

/* --- bins ---------------------------------------------------------------------------------------
 */
static int gather(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_part *part = step->subject;
    uint64_t bytes = gn_bins_bytes(step->sample->bins, part->number);
    part->gathered =
        aligned_alloc(GN_ALIGN, gn_round(bytes)); /* here: pinning it would take longer */
    return outcome(call, part->gathered
                             ? gn_bins_gather(step->sample->bins, part->number, part->gathered)
                             : -ENOMEM);
}

static int sort(const struct sy_call *call) {
    return outcome(call, gn_sort(argument(call, 0), argument(call, 1), guest_simd()));
}

static int activity(const struct sy_call *call) {
    return outcome(call, gn_activity_run(argument(call, 0), argument(call, 1), argument(call, 2),
                                         argument(call, 3), guest_simd()));
}

/* Those that start in the bin proper: each is counted in one bin. */
static uint64_t duplicates_of(const struct gn_bin *bin, const struct gn_order *order) {
    const struct gn_record *records = gn_at(bin, bin->records);
    const uint8_t *marks = gn_at(order, order->duplicates);
    uint64_t count = 0;
    for (uint32_t i = 0; i < bin->record_count; i++) {
        count += marks[i] && records[i].position >= bin->start && records[i].position < bin->end;
    }
    return count;
}

static int assemble(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_part *part = step->subject;
    const struct gn_order *order = argument(call, 1);
    atomic_fetch_add(&step->sample->counts.duplicates, duplicates_of(argument(call, 0), order));
    return outcome(call, gn_assemble(step->sample->index, argument(call, 0), order,
                                     argument(call, 2), &step->sample->options, &part->regions));
}

static int pairhmm(const struct sy_call *call) {
    return outcome(call, gn_hmm_run(argument(call, 0), argument(call, 1), guest_simd()));
}

static int genotype(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_part *part = step->subject;
    const float *sums = call->argument_count > 0 ? argument(call, 0) : part->sums.memory;
    return outcome(call, gn_genotype(step->sample->index, part->regions, sums, &part->lines));
}

/* Leaves out lines that no interval touches. */
static void keep_wanted(const struct gn_bed *bed, struct gn_lines *lines) {
    size_t from = 0, to = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lines->count; i++) {
        uint32_t length = lines->lengths[i], position = lines->positions[i];
        if (gn_bed_touches(bed, position, (uint64_t)position + 1)) {
            memmove(lines->text + to, lines->text + from, length);
            lines->positions[kept] = position;
            lines->filters[kept] = lines->filters[i];
            lines->lengths[kept++] = length;
            to += length;
        }
        from += length;
    }
    lines->count = kept;
    lines->bytes = to;
}

static int write_out(const struct sy_call *call) {
    struct gn_step *step = step_of(call);
    struct gn_part *part = step->subject;
    struct gn_sample *sample = step->sample;
    if (sample->bed) {
        keep_wanted(sample->bed, &part->lines);
    }
    step->code = gn_vcf_write(sample->vcf, &part->lines, &step->error);
    if (step->code == 0 && sample->bam) {
        step->code = gn_bam_write(sample->bam, argument(call, 0), argument(call, 1), &step->error);
    }
    return 0;
}

const struct gn_device_part gn_c = {NULL,
                                    {[GN_INFLATE] = inflate_text,
                                     [GN_PARSE] = parse,
                                     [GN_MAP] = map,
                                     [GN_CHOOSE] = choose,
                                     [GN_EXTEND] = extend,
                                     [GN_PAIR] = pair,
                                     [GN_GATHER] = gather,
                                     [GN_SORT] = sort,
                                     [GN_ACTIVITY] = activity,
                                     [GN_ASSEMBLE] = assemble,
                                     [GN_PAIRHMM] = pairhmm,
                                     [GN_GENOTYPE] = genotype,
                                     [GN_WRITE] = write_out}};
