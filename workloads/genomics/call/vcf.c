/* SPDX-License-Identifier: Apache-2.0
 *
 * VCF as text through htslib's blocks, plain and compressed; BCF from the same lines.
 */
#include "genomics/call/vcf.h"
#include "genomics/align/index.h"
#include "genomics/names.h"
#include "output.h"
#include <errno.h>
#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/kstring.h>
#include <htslib/tbx.h>
#include <htslib/vcf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CSI_SHIFT = 14 };

struct gn_vcf {
    struct guest_output output;
    BGZF *text; /* either this, or the four below */
    htsFile *file;
    bcf_hdr_t *header;
    bcf1_t *record;
    kstring_t line;
    bool csi;
    uint64_t counts[GN_FILTER_COUNT];
    uint64_t last; /* position of the last line; 0: none */
};

static const char head[] =
    "##FILTER=<ID=PASS,Description=\"All filters passed\">\n"
    "##FILTER=<ID=LowQual,Description=\"Quality below 20\">\n"
    "##FILTER=<ID=Depth,Description=\"More reads here than is usual around: a copy that the "
    "reference lacks\">\n"
    "##FILTER=<ID=Strand,Description=\"Only reads of one direction have the allele\">\n"
    "##INFO=<ID=DP,Number=1,Type=Integer,Description=\"Mean depth of usable reads around\">\n"
    "##INFO=<ID=FS,Number=1,Type=Integer,Description=\"Phred of Fisher's exact test of strand "
    "bias\">\n"
    "##INFO=<ID=SB,Number=4,Type=Integer,Description=\"Reads by strand: reference forward, "
    "backward, alternative forward, backward\">\n"
    "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"Genotype; diploid everywhere\">\n"
    "##FORMAT=<ID=DP,Number=1,Type=Integer,Description=\"Reads that tell the alleles apart\">\n"
    "##FORMAT=<ID=AD,Number=R,Type=Integer,Description=\"Reads for each allele\">\n"
    "##FORMAT=<ID=GQ,Number=1,Type=Integer,Description=\"Phred of a wrong genotype\">\n"
    "##FORMAT=<ID=PL,Number=G,Type=Integer,Description=\"Phred-scaled likelihoods of "
    "genotypes\">\n";

static int no_write(const struct gn_vcf *vcf, struct sy_error *error) {
    return guest_fail(error, -EIO, "is the disk full?", "cannot write %s", vcf->output.path);
}

/* To be freed. NULL: out of memory. */
static char *make_head(const struct gn_index *index, const char *sample, const char *command) {
    char *text = NULL, *safe = command ? gn_header_text(command) : NULL;
    size_t bytes = 0;
    FILE *memory = command && !safe ? NULL : open_memstream(&text, &bytes);
    if (!memory) {
        free(safe);
        return NULL;
    }
    fprintf(memory, "##fileformat=VCFv4.3\n##source=symph %s\n", sy_version());
    if (safe) {
        fprintf(memory, "##symphCommand=%s\n", safe);
    }
    for (uint32_t i = 0; i < index->contig_count; i++) {
        fprintf(memory, "##contig=<ID=%s,length=%u>\n", gn_contig_name(index, i),
                gn_contigs(index)[i].length);
    }
    fprintf(memory, "%s#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t%s\n", head, sample);
    free(safe);
    if (fclose(memory) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int write_line(struct gn_vcf *vcf, const char *text, size_t bytes) {
    if (vcf->text) {
        return bgzf_write(vcf->text, text, bytes) == (ssize_t)bytes ? 0 : -1;
    }
    vcf->line.l = 0; /* parsing changes the line */
    return kputsn(text, bytes - 1, &vcf->line) < 0 ||
                   vcf_parse(&vcf->line, vcf->header, vcf->record) < 0 ||
                   bcf_write(vcf->file, vcf->header, vcf->record) < 0
               ? -1
               : 0;
}

/* --- opening ------------------------------------------------------------------------------------
 */
static int start_text(struct gn_vcf *vcf, int descriptor, const char *header, bool packed) {
    vcf->text = bgzf_dopen(descriptor, packed ? "w" : "wu");
    if (!vcf->text) {
        close(descriptor);
        return -1;
    }
    return write_line(vcf, header, strlen(header));
}

static int start_bcf(struct gn_vcf *vcf, int descriptor, char *header) {
    hFILE *raw = hdopen(descriptor, "w");
    if (!raw) {
        close(descriptor);
        return -1;
    }
    vcf->file = hts_hopen(raw, vcf->output.temporary, "wb");
    if (!vcf->file) {
        hclose_abruptly(raw);
        return -1;
    }
    vcf->header = bcf_hdr_init("w");
    vcf->record = bcf_init();
    return !vcf->header || !vcf->record || bcf_hdr_parse(vcf->header, header) < 0 ||
                   bcf_hdr_write(vcf->file, vcf->header) < 0 ||
                   bcf_idx_init(vcf->file, vcf->header, CSI_SHIFT, vcf->output.index) < 0
               ? -1
               : 0;
}

int gn_vcf_open(const char *path, const struct gn_index *index, const char *sample,
                const char *command, struct gn_vcf **ret_vcf, struct sy_error *error) {
    bool binary = gn_ends_with(path, ".bcf");
    bool packed = gn_ends_with(path, ".gz") || gn_ends_with(path, ".bgz");
    struct gn_vcf *vcf = calloc(1, sizeof(*vcf));
    char *header = vcf ? make_head(index, sample, command) : NULL;
    int descriptor;
    if (!header) {
        free(vcf);
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    vcf->csi = binary || gn_index_needs_csi(index);
    const char *suffix = !packed && !binary ? NULL : vcf->csi ? ".csi" : ".tbi";
    int rc = guest_output_open(&vcf->output, path, suffix, &descriptor, error);
    if (rc == 0 && (binary ? start_bcf(vcf, descriptor, header)
                           : start_text(vcf, descriptor, header, packed)) < 0) {
        rc = no_write(vcf, error);
    }
    free(header);
    if (rc < 0) {
        gn_vcf_abandon(vcf);
        return rc;
    }
    *ret_vcf = vcf;
    return 0;
}

/* --- writing ------------------------------------------------------------------------------------
 */
int gn_vcf_write(struct gn_vcf *vcf, const struct gn_lines *lines, struct sy_error *error) {
    const char *at = lines->text;
    for (uint32_t i = 0; i < lines->count; i++) {
        /* Bins beside each other may disagree where everything is active: first come, first
         * served. */
        if (lines->positions[i] > vcf->last) {
            if (write_line(vcf, at, lines->lengths[i]) < 0) {
                return no_write(vcf, error);
            }
            vcf->last = lines->positions[i];
            vcf->counts[lines->filters[i]]++;
        }
        at += lines->lengths[i];
    }
    return 0;
}

void gn_vcf_count(const struct gn_vcf *vcf, uint64_t ret_counts[GN_FILTER_COUNT]) {
    memcpy(ret_counts, vcf->counts, sizeof(vcf->counts));
}

/* Whether all could be written. */
static bool close_file(struct gn_vcf *vcf) {
    bool fine = true;
    if (vcf->text) {
        fine = bgzf_close(vcf->text) == 0;
    }
    if (vcf->file) {
        fine = hts_close(vcf->file) == 0;
    }
    vcf->text = NULL;
    vcf->file = NULL;
    return fine;
}

int gn_vcf_close(struct gn_vcf *vcf, struct sy_error *error) {
    bool text = vcf->text != NULL, fine = text || bcf_idx_save(vcf->file) == 0;
    fine = close_file(vcf) && fine;
    if (fine && text && vcf->output.index) {
        fine = tbx_index_build3(vcf->output.temporary, vcf->output.index, vcf->csi ? CSI_SHIFT : 0,
                                0, &tbx_conf_vcf) == 0;
    }
    int rc = fine ? guest_output_keep(&vcf->output, 1, error) : no_write(vcf, error);
    gn_vcf_abandon(vcf);
    return rc;
}

void gn_vcf_abandon(struct gn_vcf *vcf) {
    if (vcf) {
        close_file(vcf);
        if (vcf->header) {
            bcf_hdr_destroy(vcf->header);
        }
        if (vcf->record) {
            bcf_destroy(vcf->record);
        }
        ks_free(&vcf->line);
        guest_output_finish(&vcf->output);
        free(vcf);
    }
}
