/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference: input as FASTA gives a genome whose index is good, or an error; input as the file
 * of an index is refused, or map works with it. The latter is also tried with its checksum made
 * right, or hardly any would get past it.
 */
#include "../tests/workloads/genomics/made.h"
#include "genomics/align/index.h"
#include "genomics/align/index_memory.h"
#include "genomics/align/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition) {
    if (!condition) {
        abort();
    }
}

/* Maps a read from wherever the first contig begins. */
static void use(const struct gn_index *index) {
    uint8_t codes[200];
    uint16_t length = sizeof(codes);
    const struct gn_contig *contigs = gn_contigs(index);
    uint64_t start = index->contig_count ? contigs[index->contig_count - 1].start : 0;
    gn_genome_fetch(index, start, length, codes);
    struct gn_reads *reads = made_reads(codes, &length, 1, false);
    struct gn_hits *hits = malloc(gn_hits_bytes(1));
    demand(hits && gn_map(index, reads, hits, guest_simd()) == 0);
    for (uint32_t i = 0; i < index->contig_count; i++) {
        demand(strlen(gn_contig_name(index, i)) < index->names_bytes);
        demand(contigs[i].length == 0 || gn_contig_of(index, contigs[i].start) == i);
    }
    free(hits);
    free(reads);
}

static void as_fasta(const char *text, size_t size) {
    struct gn_fasta *fasta;
    struct gn_genome genome;
    struct gn_index *index;
    struct sy_error error = {0};
    char why[100];
    demand(gn_fasta_create("fuzz", &fasta, &error) == 0);
    int code = gn_fasta_feed(fasta, text, size / 2, &error);
    code = code ? code : gn_fasta_feed(fasta, text + size / 2, size - size / 2, &error);
    code = code ? code : gn_fasta_end(fasta, &genome, &error);
    gn_fasta_destroy(fasta);
    if (code) {
        demand(error.message[0] && error.line > 0);
        return;
    }
    demand(gn_index_build(&genome, &index, &error) == 0);
    gn_genome_finish(&genome);
    demand(gn_index_check(index, index->bytes, why, sizeof(why)) == 0 && !why[0]);
    use(index);
    gn_index_close(index);
}

static void as_index(const uint8_t *data, size_t size) {
    char why[100];
    void *block = NULL;
    demand(posix_memalign(&block, GN_ALIGN, size ? size : 1) == 0);
    struct gn_index *index = block;
    if (size) {
        memcpy(index, data, size);
    }
    for (int mended = 0; mended < 2; mended++) {
        if (gn_index_check(index, size, why, sizeof(why)) == 0) {
            use(index);
        } else {
            demand(why[0]);
        }
        if (size >= sizeof(*index) && index->bytes == size && size % GN_ALIGN == 0) {
            index->checksum = gn_index_sum(index);
        }
    }
    free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    as_fasta((const char *)data, size);
    as_index(data, size);
    return 0;
}
