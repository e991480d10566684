/* SPDX-License-Identifier: Apache-2.0
 *
 * BAM and CRAM through htslib; the index is made on the way.
 */
#include "genomics/call/bam.h"
#include "genomics/align/index.h"
#include "genomics/names.h"
#include "output.h"
#include <errno.h>
#include <htslib/faidx.h>
#include <htslib/hfile.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gn_bam {
    struct guest_output output;
    const struct gn_index *index;
    samFile *file;
    sam_hdr_t *head;
    bam1_t *record;
};

static int no_write(const struct gn_bam *bam, struct sy_error *error) {
    return guest_fail(error, -EIO, "is the disk full?", "cannot write %s", bam->output.path);
}

/* --- opening ------------------------------------------------------------------------------------
 */
static int make_head(struct gn_bam *bam, const char *sample, const char *command) {
    const struct gn_index *index = bam->index;
    char length[16], *safe = command ? gn_header_text(command) : NULL;
    bam->head = sam_hdr_init();
    int rc = bam->head && (safe || !command)
                 ? sam_hdr_add_line(bam->head, "HD", "VN", "1.6", "SO", "coordinate", NULL)
                 : -1;
    for (uint32_t i = 0; rc == 0 && i < index->contig_count; i++) {
        snprintf(length, sizeof(length), "%u", gn_contigs(index)[i].length);
        rc = sam_hdr_add_line(bam->head, "SQ", "SN", gn_contig_name(index, i), "LN", length, NULL);
    }
    if (rc == 0) {
        rc = sam_hdr_add_line(bam->head, "RG", "ID", "1", "SM", sample, NULL);
    }
    if (rc == 0) {
        rc = sam_hdr_add_line(bam->head, "PG", "ID", "symph", "PN", "symph", "VN", sy_version(),
                              safe ? "CL" : NULL, safe, NULL);
    }
    free(safe);
    return rc == 0 ? 0 : -1;
}

static bool is_packed(const char *path) {
    unsigned char head[2] = {0, 0};
    FILE *file = fopen(path, "re");
    bool packed = file && fread(head, 1, 2, file) == 2 && head[0] == 0x1f && head[1] == 0x8b;
    if (file) {
        fclose(file);
    }
    return packed;
}

/* The whole of a small file, to be freed; NULL: it cannot be read. */
static char *read_small(const char *path, size_t *ret_length) {
    FILE *file = fopen(path, "re");
    kstring_t text = KS_INITIALIZE;
    char chunk[4096];
    size_t got = 0;
    bool fine = file != NULL;
    while (fine && (got = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        fine = kputsn(chunk, got, &text) >= 0;
    }
    if (file) {
        fine = fine && !ferror(file);
        fclose(file);
    }
    if (!fine) {
        ks_free(&text);
    }
    *ret_length = text.l;
    return ks_release(&text);
}

/* Where lines begin in the FASTA file, as samtools faidx writes it. NULL: htslib cannot tell. */
static char *index_lines(const struct gn_bam *bam, const char *fasta, size_t *ret_length) {
    char *temporary = NULL, *text = NULL;
    if (asprintf(&temporary, "%s.fai", bam->output.temporary) > 0) {
        if (fai_build3(fasta, temporary, NULL) == 0) {
            text = read_small(temporary, ret_length);
        }
        unlink(temporary);
        free(temporary);
    }
    return text;
}

/* Writes REFERENCE.fai, unless it stands there with the same content. */
static int keep_lines(const char *fasta, const char *text, size_t length, struct sy_error *error) {
    struct guest_output output;
    char *path = NULL;
    size_t old_length = 0;
    int descriptor;
    if (asprintf(&path, "%s.fai", fasta) < 0) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    char *old = read_small(path, &old_length);
    bool same = old && old_length == length && memcmp(old, text, length) == 0;
    int rc = same ? 0 : guest_output_open(&output, path, NULL, &descriptor, error);
    if (rc == 0 && !same) {
        bool written = write(descriptor, text, length) == (ssize_t)length;
        written = close(descriptor) == 0 && written;
        rc = written ? guest_output_keep(&output, 1, error)
                     : guest_fail(error, -EIO, "is the disk full?", "cannot write %s", path);
        guest_output_finish(&output);
    }
    free(old);
    free(path);
    return rc;
}

/* CRAM stores how reads differ from the reference, which htslib reads by REFERENCE.fai. */
static int set_reference(struct gn_bam *bam, const char *fasta, struct sy_error *error) {
    size_t length = 0;
    if (is_packed(fasta)) {
        return guest_fail(error, -EBADMSG, "unpack it, or write BAM: --bam OUT.bam",
                          "for CRAM the reference must not be compressed, and %s is", fasta);
    }
    char *text = index_lines(bam, fasta, &length);
    int rc = text ? keep_lines(fasta, text, length, error) : -EBADMSG;
    free(text);
    if (rc == -EBADMSG || (rc == 0 && hts_set_opt(bam->file, CRAM_OPT_REFERENCE, fasta) < 0)) {
        return guest_fail(error, -EBADMSG,
                          "samtools faidx must be able to read it: are all lines of a contig of "
                          "one length? Else write BAM: --bam OUT.bam",
                          "for CRAM htslib must read %s, and cannot", fasta);
    }
    return rc;
}

static int open_file(struct gn_bam *bam, int descriptor, const char *mode) {
    hFILE *raw = hdopen(descriptor, "w");
    if (!raw) {
        close(descriptor);
        return -1;
    }
    bam->file = hts_hopen(raw, bam->output.temporary, mode);
    if (!bam->file) {
        hclose_abruptly(raw);
        return -1;
    }
    bam->record = bam_init1();
    return bam->record ? 0 : -1;
}

static int start(struct gn_bam *bam, const char *sample, const char *command) {
    return make_head(bam, sample, command) < 0 || sam_hdr_write(bam->file, bam->head) < 0 ||
                   sam_idx_init(bam->file, bam->head, gn_index_needs_csi(bam->index) ? 14 : 0,
                                bam->output.index) < 0
               ? -1
               : 0;
}

int gn_bam_open(const char *path, const char *fasta, const struct gn_index *index,
                const char *sample, const char *command, struct gn_bam **ret_bam,
                struct sy_error *error) {
    struct gn_bam *bam = calloc(1, sizeof(*bam));
    bool cram = gn_ends_with(path, ".cram");
    int descriptor;
    if (!bam) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    bam->index = index;
    const char *suffix = cram ? ".crai" : gn_index_needs_csi(index) ? ".csi" : ".bai";
    int rc = guest_output_open(&bam->output, path, suffix, &descriptor, error);
    if (rc == 0 && open_file(bam, descriptor, cram ? "wc" : "wb") < 0) {
        rc = no_write(bam, error);
    }
    if (rc == 0 && cram) {
        rc = set_reference(bam, fasta, error);
    }
    if (rc == 0 && start(bam, sample, command) < 0) {
        rc = no_write(bam, error);
    }
    if (rc < 0) {
        gn_bam_abandon(bam);
        return rc;
    }
    *ret_bam = bam;
    return 0;
}

/* --- writing ------------------------------------------------------------------------------------
 */
/* A place as BAM counts it: the contig's number and the position in it; -1 and -1: none. */
struct place {
    int32_t contig;
    hts_pos_t position;
};

static struct place place_of(const struct gn_index *index, uint32_t position) {
    uint32_t contig = position == UINT32_MAX ? SY_NONE : gn_contig_of(index, position);
    return contig == SY_NONE
               ? (struct place){-1, -1}
               : (struct place){(int32_t)contig,
                                (hts_pos_t)(position - gn_contigs(index)[contig].start)};
}

static int set_record(struct gn_bam *bam, const struct gn_bin *bin, const struct gn_record *record,
                      bool duplicate) {
    const uint8_t *codes = (const uint8_t *)gn_at(bin, bin->bases) + record->bases;
    const char *qualities = (const char *)gn_at(bin, bin->qualities) + record->bases;
    const uint32_t *cigar = (const uint32_t *)gn_at(bin, bin->cigars) + record->cigar;
    struct place place = place_of(bam->index, record->position);
    struct place mate = place_of(bam->index, record->mate_position);
    char bases[GN_READ_MAX], made[32];
    const char *name = made;
    if ((record->position != UINT32_MAX && place.contig < 0) || record->length > GN_READ_MAX) {
        return 0;
    }
    if (bin->names && record->name != UINT32_MAX) {
        name = (const char *)gn_at(bin, bin->names) + record->name;
    } else {
        snprintf(made, sizeof(made), "r%" PRIu64, record->serial >> (record->flags & 1));
    }
    for (uint32_t i = 0; i < record->length; i++) {
        bases[i] = "ACGTN"[codes[i] < 4 ? codes[i] : 4];
    }
    int32_t edits = record->edits;
    uint16_t flags = (uint16_t)(record->flags | (duplicate ? BAM_FDUP : 0));
    if (bam_set1(bam->record, strlen(name), name, flags, place.contig, place.position,
                 record->mapping_quality, record->cigar_count, cigar, mate.contig, mate.position,
                 record->template_length, record->length, bases, qualities, 16) < 0 ||
        bam_aux_append(bam->record, "NM", 'i', 4, (uint8_t *)&edits) < 0 ||
        bam_aux_append(bam->record, "RG", 'Z', 2, (const uint8_t *)"1") < 0) {
        return -1;
    }
    return sam_write1(bam->file, bam->head, bam->record) < 0 ? -1 : 0;
}

int gn_bam_write(struct gn_bam *bam, const struct gn_bin *bin, const struct gn_order *order,
                 struct sy_error *error) {
    const struct gn_record *records = gn_at(bin, bin->records);
    const uint32_t *sorted = gn_at(order, order->order);
    const uint8_t *duplicates = gn_at(order, order->duplicates);
    for (uint32_t i = 0; i < order->record_count; i++) {
        const struct gn_record *record = &records[sorted[i]];
        bool mine = bin->end == 0 || /* the reads without a place */
                    (record->position >= bin->start && record->position < bin->end);
        if (mine && set_record(bam, bin, record, duplicates[sorted[i]] != 0) < 0) {
            return no_write(bam, error);
        }
    }
    return 0;
}

int gn_bam_close(struct gn_bam *bam, struct sy_error *error) {
    int rc = sam_idx_save(bam->file) < 0 ? no_write(bam, error) : 0;
    if (hts_close(bam->file) < 0 && rc == 0) {
        rc = no_write(bam, error);
    }
    bam->file = NULL;
    if (rc == 0) {
        rc = guest_output_keep(&bam->output, 1, error);
    }
    gn_bam_abandon(bam);
    return rc;
}

void gn_bam_abandon(struct gn_bam *bam) {
    if (bam) {
        if (bam->file) {
            hts_close(bam->file);
        }
        sam_hdr_destroy(bam->head);
        bam_destroy1(bam->record);
        guest_output_finish(&bam->output);
        free(bam);
    }
}
