/* SPDX-License-Identifier: Apache-2.0
 *
 * Variants to be scored: input as a VCF file, against itself, and as strata. Whatever it holds, a
 * score that adds up, or an error.
 */
#include "genomics/judge/score.h"
#include "memory_file.h"
#include <htslib/hts_log.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition) {
    if (!condition) {
        abort();
    }
}

static void make_genome(struct gn_genome *ret_genome) {
    static const char text[] =
        ">r\nACGTACGTACGTTTTTACGTACGGCCATACGTAGCATACGATCAGCATCGACTAGCAT\n>q\nACGT\n";
    struct gn_fasta *fasta;
    struct sy_error error;
    demand(gn_fasta_create("fuzz", &fasta, &error) == 0 &&
           gn_fasta_feed(fasta, text, sizeof text - 1, &error) == 0 &&
           gn_fasta_end(fasta, ret_genome, &error) == 0);
    gn_fasta_destroy(fasta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct gn_score_options options = {.all = true};
    struct gn_score score;
    struct gn_genome genome;
    struct sy_error error = {0};
    char path[64];
    hts_set_log_level(HTS_LOG_OFF);
    make_genome(&genome);
    int descriptor = memory_file(data, size, path, sizeof path);
    if (gn_score_files(&genome, path, path, NULL, &options, &score, &error) == 0) {
        const struct gn_counts_of *all = score.counts[0], *other = score.counts[1];
        demand(score.stratum_count == 2 && memcmp(all, other, sizeof score.counts[0]) == 0);
        for (int kind = 0; kind < GN_KIND_COUNT; kind++) {
            demand(all[kind].found + all[kind].missed == all[kind].confirmed + all[kind].wrong);
        }
    } else {
        demand(error.message[0]);
    }
    error.message[0] = '\0';
    if (gn_score_files(&genome, path, path, path, &options, &score, &error) < 0) {
        demand(error.message[0]);
    }
    close(descriptor);
    gn_genome_finish(&genome);
    return 0;
}
