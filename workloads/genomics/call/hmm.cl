/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM in OpenCL C: a work-item a pair, plainly; see hmm.h. The same operations in the same
 * order as hmm.c. Sums of pairs that gn_hmm_run would refuse are 0.
 */
#pragma OPENCL FP_CONTRACT OFF

enum { READ_MAX = 512 };
#define START 0x1p112f

/* The structures of genomics.h. */
typedef struct {
    uint read, read_count, haplotype, haplotype_count, sum, reserved;
} region_t;
typedef struct {
    uint bases, length;
} sequence_t;
typedef struct {
    ulong bytes;
    uint region_count, read_count, haplotype_count, sum_count;
    ulong cells, regions, reads, haplotypes;
    ulong read_bases, read_qualities, read_gaps, haplotype_bases;
    float error[128], continuation, reserved[15], open[64], stay[64], back[64];
} hmm_t;

/* One row of one read, as gn_hmm_row has it. */
typedef struct {
    float match, mismatch, next_match, deletion;
    uint base;
} row_t;

row_t row_of(__global const uchar *blob, sequence_t read, uint i) {
    __global const hmm_t *head = (__global const hmm_t *)blob;
    __global const uchar *gaps = blob + head->read_gaps + read.bases + i;
    uint base = blob[head->read_bases + read.bases + i];
    uint quality = blob[head->read_qualities + read.bases + i];
    float error = head->error[min(quality, 127u)], open = 1.0f - head->continuation;
    row_t row = {0, 0, 0, 0, min(base, 4u)};
    if (i + 1 < read.length) {
        uint gap = min((uint)gaps[0], 63u), next = min((uint)gaps[1], 63u);
        open = head->open[next];
        row.next_match = head->stay[next];
        row.deletion = head->open[gap] * head->back[next];
    }
    row.match = (1.0f - error) * open;
    row.mismatch = base > 3 ? row.match : error * (1.0f / 3.0f) * open;
    return row;
}

float sum_of(__global const uchar *blob, sequence_t read, sequence_t haplotype) {
    __global const hmm_t *head = (__global const hmm_t *)blob;
    __global const uchar *bases = blob + head->haplotype_bases + haplotype.bases;
    row_t rows[READ_MAX];
    float m[READ_MAX], d[READ_MAX], x[READ_MAX];
    float g = head->continuation, sum = 0;
    for (uint i = 0; i < read.length; i++) {
        rows[i] = row_of(blob, read, i);
        m[i] = d[i] = x[i] = 0;
    }
    x[0] = START;
    for (uint j = 0; j < haplotype.length; j++) {
        float above = START, insertion = 0;
        uint base = bases[j];
        for (uint i = 0; i < read.length; i++) {
            float in = x[i];
            x[i] = above;
            d[i] = fma(g, d[i], m[i]);
            m[i] = (rows[i].base == base || base > 3 ? rows[i].match : rows[i].mismatch) * in;
            above = fma(rows[i].next_match, m[i], fma(rows[i].deletion, d[i], insertion));
            insertion = i + 1 < read.length ? fma(g, insertion, m[i]) : insertion + m[i];
        }
        sum += insertion;
    }
    return sum;
}

/* The last region that begins at or before this sum. */
uint region_of(__global const region_t *regions, uint count, uint at) {
    uint low = 0, high = count;
    while (high - low > 1) {
        uint middle = low + (high - low) / 2;
        if (regions[middle].sum <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

__kernel void pairhmm(__global const uchar *blob, __global float *sums, ulong sum_count) {
    __global const hmm_t *head = (__global const hmm_t *)blob;
    __global const region_t *regions = (__global const region_t *)(blob + head->regions);
    for (ulong at = get_global_id(0); at < head->sum_count && at < sum_count;
         at += get_global_size(0)) {
        region_t region = regions[region_of(regions, head->region_count, (uint)at)];
        uint in = (uint)at - region.sum;
        sequence_t read = ((__global const sequence_t *)(blob + head->reads))
            [region.read + in / region.haplotype_count];
        sequence_t haplotype = ((__global const sequence_t *)(blob + head->haplotypes))
            [region.haplotype + in % region.haplotype_count];
        bool fine = read.length > 0 && read.length <= READ_MAX;
        sums[at] = fine ? sum_of(blob, read, haplotype) : 0;
    }
}
