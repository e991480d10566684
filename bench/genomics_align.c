/* SPDX-License-Identifier: Apache-2.0
 *
 * Aligns reads on one core, without the engine: FASTA and FASTQ in, SAM out on stdout; what each
 * stage cost, in processor time, on stderr. For comparing places with other aligners'
 * and for measuring the stages.
 *
 *   genomics_align REFERENCE.fa READS_1.fq [READS_2.fq] [--limit PAIRS] [--quiet]
 */
#include "genomics/align/choose.h"
#include "genomics/align/extend.h"
#include "genomics/align/fastq.h"
#include "genomics/align/index.h"
#include "genomics/align/map.h"
#include "genomics/align/pair.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 10000 };
enum { PARSE, MAP, CHOOSE, EXTEND, PAIR, STAGES };

struct totals {
    double seconds[STAGES];
    uint64_t reads, jobs, cells;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static _Noreturn void stop(const char *what, const struct sy_error *error) {
    fprintf(stderr, "genomics_align: %s: %s\n", what, error ? error->message : "no memory");
    exit(1);
}

static void header(const struct gn_index *index) {
    printf("@HD\tVN:1.6\tSO:unsorted\n");
    for (uint32_t at = 0; at < index->contig_count; at++) {
        printf("@SQ\tSN:%s\tLN:%u\n", gn_contig_name(index, at), gn_contigs(index)[at].length);
    }
    printf("@RG\tID:sample\tSM:sample\n");
}

/* Name and 1-based position in it; "*\t0": none. */
static void print_place(const struct gn_index *index, uint32_t position) {
    uint32_t contig = position == UINT32_MAX ? SY_NONE : gn_contig_of(index, position);
    if (contig == SY_NONE) {
        printf("*\t0");
    } else {
        printf("%s\t%" PRIu64, gn_contig_name(index, contig),
               position - gn_contigs(index)[contig].start + 1);
    }
}

static void print_record(const struct gn_index *index, const struct gn_batch *batch,
                         const struct gn_aligned *aligned, uint32_t read) {
    const struct gn_record *record = &aligned->records[read];
    const uint8_t *codes =
        (const uint8_t *)gn_at(batch->reads, batch->reads->bases) + record->bases;
    const uint8_t *qualities = batch->notes.qualities + record->bases;
    bool reverse = (record->flags & GN_FLAG_REVERSE) != 0;
    char bases[GN_READ_MAX + 1], marks[GN_READ_MAX + 1];
    for (uint32_t at = 0; at < record->length; at++) {
        uint32_t from = reverse ? record->length - 1u - at : at;
        uint32_t code = reverse && codes[from] < 4 ? 3u - codes[from] : codes[from];
        bases[at] = "ACGTN"[code];
        marks[at] = (char)(qualities[from] + 33);
    }
    bases[record->length] = marks[record->length] = 0;
    printf("%s\t%u\t", batch->notes.names + batch->notes.name_offsets[read], record->flags);
    print_place(index, record->position);
    printf("\t%u\t", record->mapping_quality);
    for (uint32_t at = 0; at < record->cigar_count; at++) {
        uint32_t one = aligned->cigars[record->cigar + at];
        printf("%u%c", one >> 4, "MIDNS"[one & 15]);
    }
    printf(record->cigar_count ? "\t" : "*\t");
    print_place(index, record->mate_position);
    printf("\t%d\t%s\t%s\tNM:i:%u\tRG:Z:sample\n", record->template_length, bases, marks,
           record->edits);
}

/* One batch through all stages. */
static void align(const struct gn_index *index, const struct gn_batch *batch, bool quiet,
                  struct totals *totals) {
    const struct gn_reads *reads = batch->reads;
    struct gn_hits *hits = aligned_alloc(GN_ALIGN, gn_hits_bytes(reads->read_count));
    struct gn_jobs *jobs = NULL;
    struct gn_aligned *aligned = NULL;
    double at[5];
    at[0] = now();
    int code = hits ? gn_map(index, reads, hits, guest_simd()) : -1;
    at[1] = now();
    code = code ? code : gn_choose(index, reads, hits, &jobs);
    at[2] = now();
    struct gn_extension *extensions =
        code ? NULL : malloc((jobs->job_count + 1) * sizeof(*extensions));
    code = extensions ? gn_extend(index, reads, jobs, extensions, guest_simd()) : -1;
    at[3] = now();
    code = code ? code : gn_pair(index, reads, &batch->notes, hits, jobs, extensions, &aligned);
    at[4] = now();
    if (code) {
        stop("align", NULL);
    }
    for (int stage = MAP; stage < STAGES; stage++) {
        totals->seconds[stage] += at[stage] - at[stage - 1];
    }
    totals->reads += reads->read_count;
    totals->jobs += jobs->job_count;
    totals->cells += jobs->cells;
    for (uint32_t read = 0; !quiet && read < reads->read_count; read++) {
        print_record(index, batch, aligned, read);
    }
    free(hits);
    free(jobs);
    free(extensions);
    free(aligned);
}

/* The next batch of both files; false: there is none. */
static bool next(struct gn_fastq *const *files, uint64_t serial, uint64_t limit,
                 struct totals *totals, struct gn_batch *ret_batch) {
    struct sy_error error = {0};
    struct gn_text texts[2] = {{0}, {0}};
    double begun = now();
    uint32_t most = limit < BATCH ? (uint32_t)limit : BATCH;
    for (int at = 0; at < 2 && files[at]; at++) {
        if (gn_fastq_next(files[at], most, &texts[at], &error)) {
            stop("reading", &error);
        }
    }
    bool more = texts[0].records > 0;
    if (more && gn_fastq_parse(&texts[0], files[1] ? &texts[1] : NULL, serial, NULL, 0, ret_batch,
                               &error)) {
        stop("parsing", &error);
    }
    gn_text_finish(&texts[0]);
    gn_text_finish(&texts[1]);
    totals->seconds[PARSE] += now() - begun;
    return more;
}

static void report(const struct totals *totals, double index_seconds) {
    static const char *const names[STAGES] = {"parse", "map", "choose", "extend", "pair"};
    double reads = (double)(totals->reads ? totals->reads : 1), sum = 0;
    fprintf(stderr, "index %.2f s; %" PRIu64 " reads, %s\n", index_seconds, totals->reads,
            guest_simd_name(guest_simd()));
    for (int stage = 0; stage < STAGES; stage++) {
        sum += stage >= CHOOSE ? totals->seconds[stage] : 0;
        fprintf(stderr, "%-7s %8.3f s %8.3f us/read\n", names[stage], totals->seconds[stage],
                totals->seconds[stage] / reads * 1e6);
    }
    fprintf(stderr,
            "choose + extend + pair %.3f us/read; %.4f jobs/read, %.0f cells/job, %.1f GCUPS\n",
            sum / reads * 1e6, (double)totals->jobs / reads,
            totals->jobs ? (double)totals->cells / (double)totals->jobs : 0.0,
            (double)totals->cells / (totals->seconds[EXTEND] + 1e-9) * 1e-9);
}

struct asked {
    const char *paths[3];
    uint64_t limit;
    bool quiet;
};

static bool parse(int count, char **words, struct asked *asked) {
    *asked = (struct asked){.limit = UINT64_MAX};
    for (int at = 1, path = 0; at < count; at++) {
        if (strcmp(words[at], "--limit") == 0 && at + 1 < count) {
            asked->limit = strtoull(words[++at], NULL, 10);
        } else if (strcmp(words[at], "--quiet") == 0) {
            asked->quiet = true;
        } else if (path < 3) {
            asked->paths[path++] = words[at];
        }
    }
    return asked->paths[1] != NULL;
}

static void align_files(const struct gn_index *index, const struct asked *asked,
                        struct totals *totals) {
    struct sy_error error = {0};
    struct gn_fastq *files[2] = {NULL, NULL};
    struct gn_batch batch;
    uint64_t serial = 0, left = asked->limit;
    for (int at = 0; at < 2 && asked->paths[at + 1]; at++) {
        static const struct gn_fastq_options options = {GN_ENDS_SINGLE, 0};
        if (gn_fastq_open(asked->paths[at + 1], &options, &files[at], &error)) {
            stop(asked->paths[at + 1], &error);
        }
    }
    while (left > 0 && next(files, serial, left, totals, &batch)) {
        uint32_t reads = batch.reads->read_count, records = files[1] ? reads / 2 : reads;
        align(index, &batch, asked->quiet, totals);
        serial += reads;
        left -= records < left ? records : left;
        gn_batch_finish(&batch);
    }
    gn_fastq_close(files[0]);
    gn_fastq_close(files[1]);
}

int main(int count, char **words) {
    struct asked asked;
    struct sy_error error = {0};
    struct gn_index *index = NULL;
    struct totals totals = {0};
    if (!parse(count, words, &asked)) {
        fprintf(stderr, "usage: genomics_align REFERENCE.fa READS_1.fq [READS_2.fq] "
                        "[--limit PAIRS] [--quiet]\n");
        return 2;
    }
    double begun = now();
    if (gn_index_open(asked.paths[0], NULL, &index, NULL, &error)) {
        stop(asked.paths[0], &error);
    }
    double index_seconds = now() - begun;
    if (!asked.quiet) {
        header(index);
    }
    align_files(index, &asked, &totals);
    report(&totals, index_seconds);
    gn_index_close(index);
    return 0;
}
