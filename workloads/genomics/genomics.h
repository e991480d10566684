/* SPDX-License-Identifier: Apache-2.0
 *
 * genomics: variant calling as a data-flow graph. What its parts hand to each other.
 *
 * Everything that a device may work on is a blob: one block of memory that begins with a header and
 * holds arrays at byte offsets from its start, 64-byte aligned, so that it can be copied to any
 * device as it is. Bases are codes: A 0, C 1, G 2, T 3, anything else 4 (N). Positions are global:
 * contigs stand one after the other in one line, with GN_GAP bases of N before each and after the
 * last. Integers are exact on every device; PairHMM's sums are bit-identical by construction
 * (call/hmm.h).
 *
 *   fastq -> [reads] -> map -> [hits] -> choose -> [jobs] -> extend -> [extensions] -> pair -> bins
 *   bins -> [bin] -> sort -> [order] -> activity -> [activity] -> assemble -> [hmm] -> pairhmm
 *        -> [sums] -> genotype -> lines of VCF
 */
#ifndef GENOMICS_H
#define GENOMICS_H

#ifndef __cplusplus /* the CUDA parts read the layouts only */
#include "guest.h"
#endif
#include <stddef.h>
#include <stdint.h>

/* A function for C and for CUDA code. In C always inlined, so that each variant's own instructions
 * are used. */
#ifdef __CUDACC__
#define GN_BOTH static inline __host__ __device__
#else
#define GN_BOTH __attribute__((always_inline)) static inline
#endif

enum {
    GN_READ_MAX = 512,    /* bases of one read; longer ones are refused */
    GN_GAP = 1024,        /* N before each contig */
    GN_HIT_MAX = 16,      /* places of one read that are kept */
    GN_CIGAR_MAX = 14,    /* operations of one alignment */
    GN_BIN_BASES = 98304, /* reference covered by one bin */
    GN_HALO = 1024,       /* and so many more at either side */
    GN_COARSE = 1024,     /* bases for which one bit says whether an N is among them */
    GN_ALIGN = 64,
};

GN_BOTH uint64_t gn_round(uint64_t bytes) {
    return (bytes + GN_ALIGN - 1) / GN_ALIGN * GN_ALIGN;
}

/* The code of a letter, of either case. */
static inline uint8_t gn_code(char letter) {
    switch (letter & 0xDF) {
    case 'A':
        return 0;
    case 'C':
        return 1;
    case 'G':
        return 2;
    case 'T':
        return 3;
    default:
        return 4;
    }
}

/* --- the reference
 * -------------------------------------------------------------------------------- One blob:
 * header, packed bases, and the index of k-mers. Built once, kept in a file, mapped. */
#define GN_INDEX_MAGIC 0x32584449594e4753u /* "SGNYIDX2" */

struct gn_index {
    uint64_t magic;
    uint64_t bytes;   /* of the whole blob */
    uint64_t length;  /* global bases, gaps included */
    uint64_t packed;  /* offset: uint64_t[length / 32 + 2], 2 bits a base, N as 0; base i in bits
                       * 2 * (i % 32) of word i / 32 */
    uint64_t masked;  /* offset: uint64_t[length / 64 + 2], bit set: base is N */
    uint64_t buckets; /* offset: uint32_t[(1 << bucket_bits) + 1], first entry of each bucket */
    uint64_t places;  /* offset: uint32_t[place_count], ascending in a bucket; align/map_rule.h */
    uint64_t place_count;
    uint32_t kmer, bucket_bits;
    uint32_t contig_count, tag_bits;
    uint64_t contigs; /* offset: struct gn_contig[contig_count] */
    uint64_t names;   /* offset: zero-ended names */
    uint64_t names_bytes;
    uint64_t source_hash; /* of all bytes of the FASTA file it was made from */
    uint64_t checksum;    /* of all behind the header */
    uint64_t coarse;      /* offset: uint64_t[length / GN_COARSE / 64 + 2], bit set: an N is among
                           * these GN_COARSE bases */
};

struct gn_contig {
    uint64_t start; /* global position of its first base */
    uint32_t length;
    uint32_t name; /* offset in names */
};

GN_BOTH const void *gn_at(const void *blob, uint64_t offset) {
    return (const char *)blob + offset;
}
GN_BOTH void *gn_in(void *blob, uint64_t offset) {
    return (char *)blob + offset;
}

/* --- a batch of reads
 * ------------------------------------------------------------------------------ Mates are reads 2i
 * and 2i + 1 where paired. Qualities and names stay on the host: struct gn_notes. */
struct gn_read {
    uint32_t bases;   /* offset in the bases' array of the first code */
    uint16_t length;  /* 0 .. GN_READ_MAX */
    uint16_t unknown; /* how many are N */
};

struct gn_reads {
    uint64_t bytes;
    uint32_t read_count;
    uint32_t paired;
    uint32_t words; /* uint64_t of each packed read */
    uint32_t longest;
    uint64_t reads;  /* offset: struct gn_read[read_count] */
    uint64_t packed; /* offset: uint64_t[read_count * words], forward, N as 0, as in the index */
    uint64_t bases;  /* offset: uint8_t codes */
    uint64_t serial; /* number of read 0 in the input */
};

struct gn_notes {           /* never on a device */
    uint8_t *qualities;     /* Phred, at the same offsets as the codes */
    char *names;            /* zero-ended, without @ and /1 */
    uint32_t *name_offsets; /* per read */
};

/* --- places of reads
 * ------------------------------------------------------------------------------- */
struct gn_hit {
    uint32_t position; /* global position of the read's first base, in the reference's direction */
    uint16_t mismatches; /* Hamming distance without gaps; N in the read counts */
    uint8_t votes;       /* seeds that agree, saturated */
    uint8_t reverse;     /* 1: the read's reverse complement lies there */
};

struct gn_hits {
    uint64_t bytes;
    uint32_t read_count, reserved;
    uint64_t counts; /* offset: uint8_t[read_count] */
    uint64_t hits;   /* offset: struct gn_hit[read_count * GN_HIT_MAX], best first */
};

/* --- alignments with gaps
 * ---------------------------------------------------------------------------- */
enum gn_operation { GN_MATCH = 0, GN_INSERT = 1, GN_DELETE = 2, GN_CLIP = 4 }; /* as in BAM */

struct gn_job {
    uint32_t read;
    uint32_t window;        /* global position of the window's first base */
    uint16_t window_length; /* at most GN_WINDOW_MAX */
    uint8_t reverse;
    uint8_t reserved;
};
enum { GN_WINDOW_MAX = 2048 };

struct gn_jobs {
    uint64_t bytes;
    uint32_t job_count;
    uint32_t longest; /* bases of the longest window */
    uint64_t cells;   /* sum of length x window_length */
    uint64_t jobs;    /* offset: struct gn_job[job_count] */
};

/* Best local alignment (match 1, mismatch -4, a gap of n costs 6 + n; N matches nothing) of the
 * read to the window, but reaching either end of the read is worth 5 at each end. */
struct gn_extension {
    int16_t score;                /* including what ends are worth; 0: none */
    uint16_t edits;               /* mismatches + inserted + deleted bases */
    uint32_t position;            /* global, of the first aligned base */
    uint32_t span;                /* reference bases */
    uint32_t cigar_count;         /* 0: none, or more than GN_CIGAR_MAX operations */
    uint32_t cigar[GN_CIGAR_MAX]; /* length << 4 | operation; clips included */
};

/* --- a bin: all reads that overlap a stretch of the reference and its halo
 * ------------------------- */
struct gn_record {
    uint32_t position; /* global, of the first aligned base */
    uint32_t span;     /* reference bases */
    uint64_t serial;   /* of the read in the input; orders what is otherwise equal */
    uint64_t
        pair_key; /* equal for duplicates: both 5' ends and strands; 0: no duplicate possible */
    uint32_t quality_sum;   /* of both mates' qualities >= 15: the best of duplicates stays */
    uint32_t mate_position; /* global; UINT32_MAX: none */
    int32_t template_length;
    uint16_t flags;  /* as in BAM */
    uint16_t length; /* bases, clipped ones included */
    uint16_t edits;
    uint8_t mapping_quality;
    uint8_t cigar_count;
    uint32_t cigar; /* index in cigars */
    uint32_t bases; /* offset in bases and in qualities */
    uint32_t name;  /* offset in names; UINT32_MAX: names are not kept */
};

struct gn_bin {
    uint64_t bytes;
    uint32_t record_count, cigar_total;
    uint32_t start, end; /* global: the bin proper, [start, end) */
    uint64_t records;    /* offset: struct gn_record[record_count], in any order */
    uint64_t cigars;     /* offset: uint32_t */
    uint64_t bases;      /* offset: uint8_t codes, in the reference's direction */
    uint64_t qualities;  /* offset: uint8_t */
    uint64_t names;      /* offset: zero-ended; 0: none */
    uint64_t base_total;
};

/* What sort leaves. */
struct gn_order {
    uint64_t bytes;
    uint32_t record_count, duplicate_count;
    uint64_t order;      /* offset: uint32_t[record_count], by position, then serial */
    uint64_t duplicates; /* offset: uint8_t[record_count], by record, 1: a duplicate */
};

/* What activity leaves: for each position of [start - GN_HALO, end + GN_HALO) of the bin. */
struct gn_activity {
    uint64_t bytes;
    uint32_t length, reserved;
    uint64_t depth;    /* offset: uint16_t, usable reads, saturated */
    uint64_t evidence; /* offset: uint32_t, sum of qualities that speak against the reference */
};

/* --- PairHMM
 * ----------------------------------------------------------------------------------------- */
struct gn_hmm_region {
    uint32_t read, read_count;           /* first in reads */
    uint32_t haplotype, haplotype_count; /* first in haplotypes */
    uint32_t sum; /* first of read_count * haplotype_count: [read][haplotype] */
    uint32_t reserved;
};
struct gn_hmm_read {
    uint32_t bases; /* offset in read_bases, read_qualities and read_gaps */
    uint32_t length;
};
struct gn_hmm_haplotype {
    uint32_t bases; /* offset in haplotype_bases */
    uint32_t length;
};

struct gn_hmm {
    uint64_t bytes;
    uint32_t region_count, read_count, haplotype_count, sum_count;
    uint64_t cells;
    uint64_t regions, reads, haplotypes;            /* offsets of the tables */
    uint64_t read_bases, read_qualities, read_gaps; /* offsets: uint8_t codes, Phred, Phred */
    uint64_t haplotype_bases;                       /* offset: uint8_t codes */
    /* So that every device has the same numbers: gn_hmm_fill in call/hmm.h sets all of these. */
    float error[128];   /* 10^(-q / 10) */
    float continuation; /* of a gap */
    float reserved[15];
    float open[64], stay[64], back[64]; /* by quality of a gap */
};
/* sums: float[sum_count], as call/hmm.h says; gn_hmm_log10 makes likelihoods of them. */

#endif
