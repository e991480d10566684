/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of genomics.so: stages by flavour, and the workload call.
 *
 * CUDA and OpenCL live in parts that are loaded when such a device is prepared.
 */
#include "genomics/devices.h"
#include "genomics/drive.h"

/* Loaded at most once; each holds nothing but an atomic pointer. */
static struct guest_part parts[SY_FLAVOUR_COUNT] = {
    [SY_FLAVOUR_C] = {NULL, NULL, &gn_c},
    [SY_FLAVOUR_CUDA] = {GN_CUDA_FILE, GN_CUDA_SYMBOL, NULL},
    [SY_FLAVOUR_OPENCL] = {GN_OPENCL_FILE, GN_OPENCL_SYMBOL, NULL},
};

static const struct sy_kernel_entry kernels[GN_STAGE_COUNT];

static int run(const struct sy_call *call) {
    const void *part = NULL;
    int code = guest_part_load(parts, call, &part);
    return code ? code : ((const struct gn_device_part *)part)->run[call->entry - kernels](call);
}

static int prepare(const struct sy_call *call) {
    return guest_part_prepare(parts, call);
}

/* The work says it all: cells, reads, bases. The reference, which most stages have as an argument,
 * is the same for all and must not count. */
static void features(const struct sy_call *call, struct sy_cost_features *ret_features) {
    *ret_features = (struct sy_cost_features){call->work, call->work};
}

#define R SY_READ
#define W SY_WRITE

/* Keeps the commas of what is in braces together. */
#define LIST(...)                                                                                  \
    { __VA_ARGS__ }
#define ENTRY(word, summary, count, list, functions, prepares)                                     \
    { word, summary, count, list, functions, features, .prepare = prepares }

static const struct sy_kernel_entry kernels[GN_STAGE_COUNT] = {
    ENTRY("inflate", "the next reads of a FASTQ file; work: reads", 0, LIST(0), LIST(run), NULL),
    ENTRY("parse", "text into a batch of reads; work: bytes", 0, LIST(0), LIST(run), NULL),
    ENTRY("map", "places of reads: seeds, votes, Hamming distance; work: reads", 3, LIST(R, R, W),
          LIST(run, GUEST_IF_CUDA(run)), prepare),
    ENTRY("choose", "which reads need gaps; work: reads", 2, LIST(R, R), LIST(run), NULL),
    ENTRY("extend", "alignments with gaps (Smith-Waterman); work: cells", 4, LIST(R, R, R, W),
          LIST(run, GUEST_IF_CUDA(run), GUEST_IF_OPENCL(run)), prepare),
    ENTRY("pair", "final places of pairs, into bins; work: reads", 0, LIST(0), LIST(run), NULL),
    ENTRY("gather", "a bin's reads together; work: bytes", 0, LIST(0), LIST(run), NULL),
    ENTRY("sort", "order and duplicates of a bin; work: reads", 2, LIST(R, W),
          LIST(run, GUEST_IF_CUDA(run)), prepare),
    ENTRY("activity", "where reads differ from the reference; work: bases", 4, LIST(R, R, R, W),
          LIST(run, GUEST_IF_CUDA(run)), prepare),
    ENTRY("assemble", "haplotypes of active regions; work: bases", 0, LIST(0), LIST(run), NULL),
    ENTRY("pairhmm", "how likely reads are given haplotypes; work: cells", 2, LIST(R, W),
          LIST(run, GUEST_IF_CUDA(run), GUEST_IF_OPENCL(run)), prepare),
    ENTRY("genotype", "variants of a bin; work: pairs", 0, LIST(0), LIST(run), NULL),
    ENTRY("write", "lines and reads into files; work: bytes", 0, LIST(0), LIST(run), NULL),
};

static const struct sy_kernel_workload workloads[] = {
    {.name = "call",
     .summary = "from FASTQ to VCF (symph call-variants)",
     .usage =
         "ref=FASTA,reads1=FASTQ[,reads2=FASTQ],out=VCF[,bam=BAM][,sample=NAME][,regions=BED]"
         "[,samples=TABLE][,index=FOLDER][,memory=BYTES][,batch=PAIRS][,interleaved=1][,phred=64]",
     .calibration = "",
     .drive = gn_drive},
};

static const struct sy_kernel_table table = {
    .name = "genomics",
    .version = SYMPH_VERSION,
    .summary = "variant calling",
    .kernels = kernels,
    .kernel_count = GN_STAGE_COUNT,
    .workloads = workloads,
    .workload_count = GUEST_COUNT(workloads),
};

SY_KERNEL_PLUGIN(table);
