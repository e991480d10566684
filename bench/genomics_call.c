/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller alone, on reads that another aligner has placed: sort, activity, assemble, PairHMM and
 * genotype, one thread, with the seconds of each.
 *
 *   genomics_call REFERENCE.fa SORTED.bam CONTIG:FROM-TO OUT.vcf[.gz]
 *
 * In: what the reference's .symph-index or the FASTA says, and a BAM file with an index. Reads are
 * put into bins as the aligner would. Out: a VCF file; CPU seconds by stage as JSON on stderr.
 */
#include "genomics/align/index.h"
#include "genomics/call/activity.h"
#include "genomics/call/assemble.h"
#include "genomics/call/genotype.h"
#include "genomics/call/hmm.h"
#include "genomics/call/sort.h"
#include "genomics/call/vcf.h"
#include <htslib/sam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct loaded { /* one read of the BAM file */
    bam1_t *bam;
    uint64_t name_hash, serial, pair_key;
    uint32_t quality_sum, position, span;
};

struct all {
    struct loaded *reads;
    size_t count, room;
    uint32_t span_max;
};

enum stage { SORT, ACTIVITY, ASSEMBLE, PAIRHMM, GENOTYPE, WRITE, STAGE_COUNT };
static const char *const stage_names[STAGE_COUNT] = {"sort",    "activity", "assemble",
                                                     "pairhmm", "genotype", "write"};

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const char *what) {
    fprintf(stderr, "genomics_call: %s\n", what);
    exit(1);
}

static void *need(void *memory) {
    if (!memory) {
        die("out of memory");
    }
    return memory;
}

static void check(int rc, const char *what) {
    if (rc < 0) {
        fprintf(stderr, "genomics_call: %s: %s\n", what, strerror(-rc));
        exit(1);
    }
}

/* --- reads --------------------------------------------------------------------------------------
 */
static uint64_t hash_name(const char *name) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *name; name++) {
        hash = (hash ^ (uint8_t)*name) * 0x100000001B3u;
    }
    return hash;
}

/* Where the read's first base would lie: 5' end, clips counted. */
static int64_t five_prime(const bam1_t *bam) {
    const uint32_t *cigar = bam_get_cigar(bam);
    uint32_t last = bam->core.n_cigar - 1;
    if (!bam_is_rev(bam)) {
        return bam->core.pos -
               (bam_cigar_op(cigar[0]) == BAM_CSOFT_CLIP ? bam_cigar_oplen(cigar[0]) : 0);
    }
    return bam_endpos(bam) +
           (bam_cigar_op(cigar[last]) == BAM_CSOFT_CLIP ? bam_cigar_oplen(cigar[last]) : 0);
}

static uint32_t good_qualities(const bam1_t *bam) {
    const uint8_t *qualities = bam_get_qual(bam);
    uint32_t sum = 0;
    for (int32_t i = 0; i < bam->core.l_qseq; i++) {
        sum += qualities[i] >= 15 ? qualities[i] : 0u;
    }
    return sum;
}

static int by_name(const void *a, const void *b) {
    const struct loaded *x = a, *y = b;
    if (x->name_hash != y->name_hash) {
        return x->name_hash < y->name_hash ? -1 : 1;
    }
    int second_x = (x->bam->core.flag & BAM_FREAD2) != 0;
    return second_x - ((y->bam->core.flag & BAM_FREAD2) != 0);
}

static int by_position(const void *a, const void *b) {
    const struct loaded *x = a, *y = b;
    return x->position < y->position ? -1 : x->position > y->position;
}

static void name_pairs(struct all *all) {
    qsort(all->reads, all->count, sizeof(*all->reads), by_name);
    uint64_t pair = 0;
    for (size_t i = 0; i < all->count; i++, pair++) {
        struct loaded *first = &all->reads[i], *second = first + 1;
        first->serial = 2 * pair + ((first->bam->core.flag & BAM_FREAD2) != 0);
        if (i + 1 == all->count || second->name_hash != first->name_hash) {
            continue;
        }
        second->serial = 2 * pair + 1;
        first->serial = 2 * pair;
        uint64_t a = (uint64_t)five_prime(first->bam) << 1 | bam_is_rev(first->bam);
        uint64_t b = (uint64_t)five_prime(second->bam) << 1 | bam_is_rev(second->bam);
        uint64_t low = a < b ? a : b, high = a < b ? b : a;
        first->pair_key = second->pair_key = (low << 32) ^ high ^ (uint64_t)1 << 63;
        first->quality_sum = second->quality_sum =
            good_qualities(first->bam) + good_qualities(second->bam);
        i++;
    }
    qsort(all->reads, all->count, sizeof(*all->reads), by_position);
}

static void load(const char *path, const char *where, const struct gn_index *index,
                 struct all *all) {
    samFile *file = sam_open(path, "r");
    sam_hdr_t *head = file ? sam_hdr_read(file) : NULL;
    hts_idx_t *places = file ? sam_index_load(file, path) : NULL;
    hts_itr_t *found = head && places ? sam_itr_querys(places, head, where) : NULL;
    bam1_t *bam = bam_init1();
    if (!found) {
        die("cannot read the BAM file, its index or the region");
    }
    while (sam_itr_next(file, found, bam) >= 0) {
        uint32_t contig = gn_contig_find(index, sam_hdr_tid2name(head, bam->core.tid));
        if ((bam->core.flag & 0x904) || bam->core.n_cigar == 0 || contig == SY_NONE ||
            bam->core.l_qseq > GN_READ_MAX) {
            continue;
        }
        if (all->count == all->room) {
            all->room = 2 * all->room + 4096;
            all->reads = need(reallocarray(all->reads, all->room, sizeof(*all->reads)));
        }
        struct loaded *read = &all->reads[all->count++];
        *read = (struct loaded){
            .bam = need(bam_dup1(bam)),
            .name_hash = hash_name(bam_get_qname(bam)),
            .position = (uint32_t)((uint64_t)bam->core.pos + gn_contigs(index)[contig].start),
            .span = (uint32_t)(bam_endpos(bam) - bam->core.pos)};
        all->span_max = read->span > all->span_max ? read->span : all->span_max;
    }
    bam_destroy1(bam);
    hts_itr_destroy(found);
    hts_idx_destroy(places);
    sam_hdr_destroy(head);
    sam_close(file);
    name_pairs(all);
}

/* --- bins ---------------------------------------------------------------------------------------
 */
static void fill_read(struct gn_bin *bin, const struct loaded *read, uint32_t at, uint32_t *cigars,
                      uint64_t *bases) {
    static const uint8_t codes[16] = {4, 0, 1, 4, 2, 4, 4, 4, 3, 4, 4, 4, 4, 4, 4, 4};
    struct gn_record *record = (struct gn_record *)gn_in(bin, bin->records) + at;
    const bam1_t *bam = read->bam;
    *record = (struct gn_record){.position = read->position,
                                 .span = read->span,
                                 .serial = read->serial,
                                 .pair_key = read->pair_key,
                                 .quality_sum = read->quality_sum,
                                 .mate_position = UINT32_MAX,
                                 /* duplicates are found again */
                                 .flags = (uint16_t)(bam->core.flag & ~BAM_FDUP),
                                 .length = (uint16_t)bam->core.l_qseq,
                                 .mapping_quality = bam->core.qual,
                                 .cigar_count = (uint8_t)bam->core.n_cigar,
                                 .cigar = *cigars,
                                 .bases = (uint32_t)*bases,
                                 .name = UINT32_MAX};
    memcpy((uint32_t *)gn_in(bin, bin->cigars) + *cigars, bam_get_cigar(bam),
           bam->core.n_cigar * sizeof(uint32_t));
    uint8_t *to = (uint8_t *)gn_in(bin, bin->bases) + *bases;
    for (int32_t i = 0; i < bam->core.l_qseq; i++) {
        to[i] = codes[bam_seqi(bam_get_seq(bam), i)];
    }
    memcpy((uint8_t *)gn_in(bin, bin->qualities) + *bases, bam_get_qual(bam),
           (size_t)bam->core.l_qseq);
    *cigars += bam->core.n_cigar;
    *bases += (uint64_t)bam->core.l_qseq;
}

static struct gn_bin *make_bin(const struct all *all, size_t *low, uint32_t start, uint32_t end) {
    uint64_t cigars = 0, bases = 0;
    uint32_t count = 0;
    while (*low < all->count && all->reads[*low].position + all->span_max <= start - GN_HALO) {
        (*low)++;
    }
    for (size_t i = *low; i < all->count && all->reads[i].position < end + GN_HALO; i++) {
        count++;
        cigars += all->reads[i].bam->core.n_cigar;
        bases += (uint64_t)all->reads[i].bam->core.l_qseq;
    }
    struct gn_bin head = {.record_count = count,
                          .cigar_total = (uint32_t)cigars,
                          .start = start,
                          .end = end,
                          .base_total = bases};
    head.records = gn_round(sizeof(head));
    head.cigars = head.records + gn_round(count * sizeof(struct gn_record));
    head.bases = head.cigars + gn_round(cigars * sizeof(uint32_t));
    head.qualities = head.bases + gn_round(bases);
    head.bytes = head.qualities + gn_round(bases);
    struct gn_bin *bin = need(aligned_alloc(GN_ALIGN, head.bytes));
    *bin = head;
    uint32_t cigar = 0;
    bases = 0;
    for (uint32_t i = 0; i < count; i++) {
        fill_read(bin, &all->reads[*low + i], i, &cigar, &bases);
    }
    return bin;
}

static struct gn_coverage *coverage_of(const struct all *all, const struct gn_index *index) {
    struct gn_coverage *coverage = need(gn_coverage_create(index->length));
    for (size_t i = 0; i < all->count; i++) {
        const struct loaded *read = &all->reads[i];
        if (read->bam->core.qual >= GN_ACTIVITY_MAPPING) {
            gn_coverage_add(coverage, read->position, read->span);
        }
    }
    check(gn_coverage_complete(coverage), "coverage");
    return coverage;
}

/* --- a bin's way through the stages -------------------------------------------------------------
 */
struct totals {
    double seconds[STAGE_COUNT];
    uint64_t regions, reads, haplotypes, cells, small;
};

static void note(struct totals *totals, enum stage stage, double *since) {
    double now = cpu_s();
    totals->seconds[stage] += now - *since;
    *since = now;
}

static void call_bin(const struct gn_index *index, const struct gn_bin *bin,
                     const struct gn_call_options *options, struct gn_vcf *vcf,
                     struct totals *totals) {
    struct gn_order *order = need(aligned_alloc(GN_ALIGN, gn_order_bytes(bin->record_count)));
    struct gn_activity *activity =
        need(aligned_alloc(GN_ALIGN, gn_activity_bytes(bin->end - bin->start)));
    struct gn_regions *regions = NULL;
    struct gn_lines lines = {0};
    struct sy_error error = {0};
    double since = cpu_s();
    check(gn_sort(bin, order, guest_simd()), "sort");
    note(totals, SORT, &since);
    check(gn_activity_run(index, bin, order, activity, guest_simd()), "activity");
    note(totals, ACTIVITY, &since);
    check(gn_assemble(index, bin, order, activity, options, &regions), "assemble");
    note(totals, ASSEMBLE, &since);
    float *sums = need(calloc(regions->hmm->sum_count + 1, sizeof(*sums)));
    check(gn_hmm_run(regions->hmm, sums, guest_simd()), "pairhmm");
    note(totals, PAIRHMM, &since);
    check(gn_genotype(index, regions, sums, &lines), "genotype");
    note(totals, GENOTYPE, &since);
    if (gn_vcf_write(vcf, &lines, &error) < 0) {
        die(error.message);
    }
    note(totals, WRITE, &since);
    for (uint32_t i = 0; i < regions->hmm->sum_count; i++) {
        totals->small += sums[i] < GN_HMM_SMALL;
    }
    totals->regions += regions->region_count;
    totals->reads += regions->hmm->read_count;
    totals->haplotypes += regions->hmm->haplotype_count;
    totals->cells += regions->hmm->cells;
    gn_lines_free(&lines);
    gn_regions_free(regions);
    free(sums);
    free(order);
    free(activity);
}

static void report(const struct totals *totals, const struct gn_depth *depth) {
    double sum = 0;
    fprintf(stderr,
            "{\"schema\":\"symph-genomics-call-1\",\"simd\":\"%s\",\"depth\":%.2f,"
            "\"spread\":%.3f",
            guest_simd_name(guest_simd()), depth->typical, depth->spread);
    for (int i = 0; i < STAGE_COUNT; i++) {
        fprintf(stderr, ",\"%s_cpu_s\":%.3f", stage_names[i], totals->seconds[i]);
        sum += totals->seconds[i];
    }
    fprintf(stderr,
            ",\"all_cpu_s\":%.3f,\"regions\":%lu,\"reads\":%lu,\"haplotypes\":%lu,"
            "\"gigacells\":%.3f,\"small_sums\":%lu,\"gigacells_per_s\":%.2f}\n",
            sum, totals->regions, totals->reads, totals->haplotypes, (double)totals->cells * 1e-9,
            totals->small, (double)totals->cells * 1e-9 / (totals->seconds[PAIRHMM] + 1e-9));
}

int main(int count, char **arguments) {
    struct sy_error error = {0};
    struct gn_index *index = NULL;
    struct gn_vcf *vcf = NULL;
    struct gn_call_options options;
    struct totals totals = {0};
    struct all all = {0};
    char name[256];
    unsigned long low = 0, high = 0;
    if (count != 5 || sscanf(arguments[3], "%255[^:]:%lu-%lu", name, &low, &high) != 3 || low < 1 ||
        high < low) {
        die("usage: genomics_call REFERENCE.fa SORTED.bam CONTIG:FROM-TO OUT.vcf[.gz]");
    }
    if (gn_index_open(arguments[1], NULL, &index, NULL, &error) < 0) {
        die(error.message);
    }
    uint32_t contig = gn_contig_find(index, name);
    if (contig == SY_NONE || high > gn_contigs(index)[contig].length) {
        die("no such region in the reference");
    }
    uint32_t start = (uint32_t)gn_contigs(index)[contig].start;
    uint32_t from = start + (uint32_t)low - 1, to = start + (uint32_t)high;
    load(arguments[2], arguments[3], index, &all);
    gn_call_options_default(&options);
    struct gn_coverage *coverage = coverage_of(&all, index);
    struct gn_depth depth;
    options.coverage = coverage;
    if (gn_coverage_around(coverage, &gn_contigs(index)[contig], from, to, &depth) < 0) {
        die("out of memory");
    }
    if (gn_vcf_open(arguments[4], index, "sample", NULL, &vcf, &error) < 0) {
        die(error.message);
    }
    size_t first = 0;
    for (uint32_t at = from; at < to; at += GN_BIN_BASES) {
        uint32_t end = to - at < GN_BIN_BASES ? to : at + GN_BIN_BASES;
        struct gn_bin *bin = make_bin(&all, &first, at, end);
        call_bin(index, bin, &options, vcf, &totals);
        free(bin);
    }
    if (gn_vcf_close(vcf, &error) < 0) {
        die(error.message);
    }
    report(&totals, &depth);
    for (size_t i = 0; i < all.count; i++) {
        bam_destroy1(all.reads[i].bam);
    }
    free(all.reads);
    gn_coverage_destroy(coverage);
    gn_index_close(index);
    return 0;
}
