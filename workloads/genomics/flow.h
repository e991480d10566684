/* SPDX-License-Identifier: Apache-2.0
 *
 * flow: the graph of one sample, built as it runs.
 *
 *   batches   inflate (a chain per file) -> parse -> map -> choose -> extend -> pair -> bins
 *   bins      gather -> sort -> activity -> assemble -> pairhmm -> genotype -> write (in order)
 *
 * A step is one task whose end is reported; what it works on hangs on its batch or part (a bin on
 * its way). Stages that only cores can run get and leave host pointers through their step; the
 * others have blobs as arguments. All of this but the kernels themselves runs on the driver's
 * thread. Invariant: at most so many batches and parts exist at once, whatever the size of the
 * input.
 */
#ifndef GENOMICS_FLOW_H
#define GENOMICS_FLOW_H

#include "genomics/align/fastq.h"
#include "genomics/bed.h"
#include "genomics/bins.h"
#include "genomics/call/assemble.h"
#include "genomics/call/bam.h"
#include "genomics/call/vcf.h"
#include "genomics/settings.h"
#include <symph/session.h>

enum gn_stage {
    GN_INFLATE,
    GN_PARSE,
    GN_MAP,
    GN_CHOOSE,
    GN_EXTEND,
    GN_PAIR,
    GN_GATHER,
    GN_SORT,
    GN_ACTIVITY,
    GN_ASSEMBLE,
    GN_PAIRHMM,
    GN_GENOTYPE,
    GN_WRITE,
    GN_STAGE_COUNT
};
extern const char *const gn_stage_names[GN_STAGE_COUNT];

struct gn_sample;

enum { GN_OPEN_MAX = 256 /* batches that one file may be ahead of the other */ };

struct gn_step {
    enum gn_stage stage;
    uint32_t file; /* inflate: which one */
    int code;      /* what the kernel found wrong with the input; error says what */
    struct sy_error error;
    struct gn_sample *sample;
    void *subject; /* struct gn_flow_batch, or struct gn_part */
};

/* Memory that a device may copy from, and its number as a datum. */
struct gn_blob {
    void *memory;
    uint64_t bytes;
    uint32_t datum;
};

struct gn_flow_batch {
    struct gn_step inflates[2], step;
    struct gn_text texts[2];
    uint32_t waiting; /* inflates that have not ended */
    uint64_t serial;
    struct gn_batch batch;
    struct gn_blob room; /* where the reads are, unless they did not fit */
    struct gn_blob reads, hits, jobs, extensions;
};

struct gn_part { /* a bin on its way */
    struct gn_step step;
    uint32_t number;
    struct gn_bin *gathered; /* the bin's memory, by malloc */
    struct gn_blob bin, order, activity, hmm, sums;
    struct gn_regions *regions;
    struct gn_lines lines;
    struct gn_part *next; /* in the list of those that wait */
};

/* What a sample counted; added to by pair and by write. */
struct gn_counts {
    _Atomic uint64_t reads, mapped, duplicates;
};

struct gn_sample {
    const struct gn_settings *settings;
    const struct gn_sample_settings *files;
    struct sy_session *session;
    const struct gn_index *index;
    uint32_t index_datum, job;
    const struct gn_bed *bed; /* NULL: everywhere */
    struct gn_fastq *inputs[2];
    uint32_t input_count;
    uint64_t serial;                   /* of the next read */
    uint32_t batch_count, batch_limit; /* on their way */
    uint32_t batches;                  /* begun so far */
    uint32_t read_count[2];            /* of them, by each file */
    bool busy[2];                      /* the file is being read */
    bool ended;                        /* a file had fewer reads than a batch: no more are begun */
    bool interleaved;                  /* the one file has both ends of pairs */
    struct gn_flow_batch
        *open[GN_OPEN_MAX]; /* batch i, at i % GN_OPEN_MAX, until all have read it */
    struct gn_bins *bins;
    struct gn_coverage *coverage; /* added to by pair, read by assemble */
    struct gn_call_options options;
    uint32_t next_bin, next_written, part_count, part_limit;
    bool writing, finished;
    struct gn_part *finished_parts;
    struct gn_vcf *vcf;
    struct gn_bam *bam; /* NULL: not asked for */
    struct gn_counts counts;
    uint64_t calls[GN_FILTER_COUNT]; /* lines written so far */
};

/* Opens its files. */
SY_MUST_CHECK int gn_sample_open(struct gn_sample *sample, struct sy_error *error);
/* Starts the first batches. Once all samples are open: a file that is not there must stop
 * everything before anything runs. */
SY_MUST_CHECK int gn_sample_start(struct gn_sample *sample, struct sy_error *error);
/* A step has ended: submits what follows. sample->finished once everything is written. */
SY_MUST_CHECK int gn_sample_ended(struct gn_step *step, struct sy_error *error);
/* Removes what is unfinished. Only where nothing runs any more. */
void gn_sample_finish(struct gn_sample *sample);

/* batches.c, parts.c: the two halves. */
SY_MUST_CHECK int gn_batches_start(struct gn_sample *sample, struct sy_error *error);
SY_MUST_CHECK int gn_batch_ended(struct gn_step *step, struct sy_error *error);
SY_MUST_CHECK int gn_parts_start(struct gn_sample *sample, struct sy_error *error);
SY_MUST_CHECK int gn_part_ended(struct gn_step *step, struct sy_error *error);

/* steps.c: what both halves submit with. */
/* Host memory as a datum. */
SY_MUST_CHECK int gn_blob_share(struct gn_sample *sample, const char *name, void *memory,
                                uint64_t bytes, struct gn_blob *ret_blob, struct sy_error *error);
/* The same with memory of the session's. */
SY_MUST_CHECK int gn_blob_make(struct gn_sample *sample, const char *name, uint64_t bytes,
                               struct gn_blob *ret_blob, struct sy_error *error);
/* Forgets the datum; release: and gives the memory back to the session. */
void gn_blob_drop(struct gn_sample *sample, struct gn_blob *blob, bool release);
/* A task of cores alone, which gets its step. */
SY_MUST_CHECK int gn_submit_step(struct gn_step *step, enum gn_stage stage, double work,
                                 const struct gn_blob *const *reads, uint32_t read_count,
                                 struct sy_error *error);
/* A task of any device, whose end is not reported. uses_index: the first argument. */
SY_MUST_CHECK int gn_submit_kernel(struct gn_sample *sample, enum gn_stage stage, double work,
                                   bool uses_index, const struct gn_blob *const *reads,
                                   uint32_t read_count, const struct gn_blob *written,
                                   struct sy_error *error);
/* After a step has ended: what the kernel found wrong. */
SY_MUST_CHECK int gn_step_close(const struct gn_step *step, struct sy_error *error);

/* Where reads wait that do not fit into memory. */
const char *gn_spill_folder(void);

#endif
