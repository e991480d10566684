/* SPDX-License-Identifier: Apache-2.0
 *
 * VCF through htslib's blocks: one writer for plain and compressed files.
 */
#include "genomics/call/vcf.h"
#include "genomics/align/index.h"
#include "genomics/call/output.h"
#include <errno.h>
#include <htslib/bgzf.h>
#include <htslib/tbx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gn_vcf {
    struct gn_output output;
    BGZF *file;
    bool csi;
    uint64_t line_count, passed_count;
    uint64_t last; /* position of the last line; 0: none */
};

static const char head[] =
    "##FILTER=<ID=PASS,Description=\"All filters passed\">\n"
    "##FILTER=<ID=LowQual,Description=\"Quality below 20\">\n"
    "##FILTER=<ID=Depth,Description=\"Far more reads here than is typical of the sample: a copy "
    "that the reference lacks\">\n"
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

static int write_text(struct gn_vcf *vcf, const char *text, size_t bytes, struct sy_error *error) {
    if (bytes > 0 && bgzf_write(vcf->file, text, bytes) != (ssize_t)bytes) {
        return guest_fail(error, -EIO, "is the disk full?", "cannot write %s", vcf->output.path);
    }
    return 0;
}

static int write_head(struct gn_vcf *vcf, const struct gn_index *index, const char *sample,
                      const char *command, struct sy_error *error) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    fprintf(memory, "##fileformat=VCFv4.3\n##source=symph %s\n", sy_version());
    if (command) {
        fprintf(memory, "##symphCommand=%s\n", command);
    }
    for (uint32_t i = 0; i < index->contig_count; i++) {
        fprintf(memory, "##contig=<ID=%s,length=%u>\n", gn_contig_name(index, i),
                gn_contigs(index)[i].length);
    }
    fprintf(memory, "%s#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t%s\n", head, sample);
    int rc = fclose(memory) == 0 ? write_text(vcf, text, bytes, error)
                                 : guest_fail(error, -ENOMEM, NULL, "out of memory");
    free(text);
    return rc;
}

int gn_vcf_open(const char *path, const struct gn_index *index, const char *sample,
                const char *command, struct gn_vcf **ret_vcf, struct sy_error *error) {
    size_t length = strlen(path);
    bool packed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    struct gn_vcf *vcf = calloc(1, sizeof(*vcf));
    int descriptor;
    if (!vcf) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    vcf->csi = gn_output_needs_csi(index);
    const char *suffix = !packed ? NULL : vcf->csi ? ".csi" : ".tbi";
    int rc = gn_output_open(&vcf->output, path, suffix, &descriptor, error);
    if (rc < 0) {
        free(vcf);
        return rc;
    }
    vcf->file = bgzf_dopen(descriptor, packed ? "w" : "wu");
    if (!vcf->file) {
        close(descriptor);
        rc = guest_fail(error, -ENOMEM, NULL, "cannot write %s: out of memory", path);
    } else {
        rc = write_head(vcf, index, sample, command, error);
    }
    if (rc < 0) {
        gn_vcf_abandon(vcf);
        return rc;
    }
    *ret_vcf = vcf;
    return 0;
}

int gn_vcf_write(struct gn_vcf *vcf, const struct gn_lines *lines, struct sy_error *error) {
    const char *at = lines->text;
    for (uint32_t i = 0; i < lines->count; i++) {
        /* Bins beside each other may disagree where everything is active: first come, first
         * served. */
        if (lines->positions[i] > vcf->last) {
            int rc = write_text(vcf, at, lines->lengths[i], error);
            if (rc < 0) {
                return rc;
            }
            vcf->last = lines->positions[i];
            vcf->line_count++;
            vcf->passed_count += memmem(at, lines->lengths[i], "\tPASS\t", 6) != NULL;
        }
        at += lines->lengths[i];
    }
    return 0;
}

void gn_vcf_count(const struct gn_vcf *vcf, uint64_t *ret_lines, uint64_t *ret_passed) {
    *ret_lines = vcf->line_count;
    *ret_passed = vcf->passed_count;
}

int gn_vcf_close(struct gn_vcf *vcf, struct sy_error *error) {
    int rc = bgzf_close(vcf->file) < 0
                 ? guest_fail(error, -EIO, "is the disk full?", "cannot write %s", vcf->output.path)
                 : 0;
    vcf->file = NULL;
    if (rc == 0 && vcf->output.index &&
        tbx_index_build3(vcf->output.temporary, vcf->output.index, vcf->csi ? 14 : 0, 0,
                         &tbx_conf_vcf) != 0) {
        rc = guest_fail(error, -EIO, "is the disk full?", "cannot write the index of %s",
                        vcf->output.path);
    }
    if (rc == 0) {
        rc = gn_output_keep(&vcf->output, error);
    }
    gn_vcf_abandon(vcf);
    return rc;
}

void gn_vcf_abandon(struct gn_vcf *vcf) {
    if (vcf) {
        if (vcf->file) {
            bgzf_close(vcf->file);
        }
        gn_output_finish(&vcf->output);
        free(vcf);
    }
}
