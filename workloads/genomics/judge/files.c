/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes simulated samples: see files.h.
 */
#include "genomics/judge/files.h"
#include <errno.h>
#include <htslib/bgzf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096, LINE = 60, FAMILIES = 40, FAMILY_LENGTH = 300 };

static const char letters[] = "ACGTN";

/* --- text into a file, compressed in blocks where its name ends in .gz
 * ----------------------------
 */
struct out {
    char path[PATH_SIZE];
    FILE *plain;
    BGZF *packed;
    bool failed;
};

static int open_out(struct out *out, const char *prefix, const char *suffix,
                    struct sy_error *error) {
    int length = snprintf(out->path, sizeof out->path, "%s%s", prefix, suffix);
    size_t end = length > 3 ? (size_t)length - 3 : 0;
    out->failed = false;
    out->plain = NULL;
    out->packed = NULL;
    if (length < 0 || (size_t)length >= sizeof out->path) {
        return guest_fail(error, -ENAMETOOLONG, NULL, "%s: the name is too long", prefix);
    }
    if (strcmp(out->path + end, ".gz") == 0) {
        out->packed = bgzf_open(out->path, "w");
    } else {
        out->plain = fopen(out->path, "we");
    }
    if (!out->packed && !out->plain) {
        int code = errno ? -errno : -EIO;
        return guest_fail(error, code, NULL, "cannot write %s: %s", out->path, strerror(-code));
    }
    return 0;
}

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof text) {
        out->failed = true;
    } else if (out->packed) {
        out->failed |= bgzf_write(out->packed, text, (size_t)length) != length;
    } else {
        out->failed |= fwrite(text, 1, (size_t)length, out->plain) != (size_t)length;
    }
}

static int close_out(struct out *out, int code, struct sy_error *error) {
    if (out->packed) {
        out->failed |= bgzf_close(out->packed) < 0;
    }
    if (out->plain) {
        out->failed |= fclose(out->plain) != 0;
    }
    if (code == 0 && out->failed) {
        code = guest_fail(error, -EIO, NULL, "cannot write %s: is the disk full?", out->path);
    }
    return code;
}

/* --- reads --------------------------------------------------------------------------------------
 */
static void put_read(struct out *out, const struct gn_pair_of_reads *pair, int end) {
    char bases[GN_READ_MAX + 1], qualities[GN_READ_MAX + 1];
    for (uint32_t i = 0; i < pair->length; i++) {
        bases[i] = letters[pair->codes[end][i]];
        qualities[i] = (char)(33 + pair->qualities[end][i]);
    }
    bases[pair->length] = qualities[pair->length] = '\0';
    put(out, "@r%llu:%u:%llu/%d\n%s\n+\n%s\n", (unsigned long long)pair->number, pair->haplotype,
        (unsigned long long)pair->start, end + 1, bases, qualities);
}

static int write_reads(const struct gn_donor *donor, const struct gn_simulation *simulation,
                       const char *prefix, struct gn_simulated *made, struct sy_error *error) {
    static const char *const suffixes[2] = {"_1.fq.gz", "_2.fq.gz"};
    struct out *outs = calloc(2, sizeof *outs);
    struct gn_sequencer *sequencer = calloc(1, sizeof *sequencer);
    struct gn_pair_of_reads pair;
    int code = outs && sequencer ? 0 : guest_fail(error, -ENOMEM, NULL, "out of memory");
    for (int end = 0; end < 2 && code == 0; end++) {
        code = open_out(&outs[end], prefix, suffixes[end], error);
    }
    if (code == 0) {
        gn_sequencer_start(sequencer, donor, &simulation->sequencer);
        while (gn_sequencer_next(sequencer, &pair)) {
            put_read(&outs[0], &pair, 0);
            put_read(&outs[1], &pair, 1);
            made->pairs++;
        }
    }
    for (int end = 0; outs && end < 2; end++) {
        code = close_out(&outs[end], code, error);
    }
    free(outs);
    free(sequencer);
    return code;
}

/* --- truth --------------------------------------------------------------------------------------
 */
static void spell(const uint8_t *codes, uint32_t length, char *text) {
    for (uint32_t i = 0; i < length; i++) {
        text[i] = letters[codes[i]];
    }
    text[length] = '\0';
}

static int write_truth(const struct gn_donor *donor, const struct gn_simulation *simulation,
                       const char *prefix, struct gn_simulated *made, struct sy_error *error) {
    struct out out;
    int code = open_out(&out, prefix, ".truth.vcf.gz", error);
    if (code < 0) {
        return code;
    }
    put(&out,
        "##fileformat=VCFv4.3\n##contig=<ID=%s>\n"
        "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"Genotype\">\n"
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tdonor\n",
        simulation->contig);
    for (uint32_t i = 0; i < donor->truth_count; i++) {
        const struct gn_truth *truth = &donor->truths[i];
        char reference[256], alternative[256];
        spell(donor->reference + truth->position, truth->reference_length, reference);
        spell(donor->alternatives + truth->alternative, truth->alternative_length, alternative);
        put(&out, "%s\t%llu\t.\t%s\t%s\t.\tPASS\t.\tGT\t%u|%u\n", simulation->contig,
            (unsigned long long)(simulation->start + truth->position + 1), reference, alternative,
            truth->carried[0], truth->carried[1]);
        made->snps += truth->reference_length == truth->alternative_length;
        made->indels += truth->reference_length != truth->alternative_length;
    }
    return close_out(&out, 0, error);
}

static int write_strata(const struct gn_donor *donor, const struct gn_simulation *simulation,
                        const char *prefix, struct sy_error *error) {
    struct out out;
    int code = open_out(&out, prefix, ".strata.bed", error);
    for (uint32_t i = 0; code == 0 && i < donor->stratum_count; i++) {
        const struct gn_stratum *stratum = &donor->strata[i];
        put(&out, "%s\t%llu\t%llu\t%s\n", simulation->contig,
            (unsigned long long)(simulation->start + stratum->start),
            (unsigned long long)(simulation->start + stratum->end), stratum->label);
    }
    return code ? code : close_out(&out, 0, error);
}

int gn_simulate(const struct gn_simulation *simulation, const char *prefix,
                struct gn_simulated *ret_made, struct sy_error *error) {
    struct gn_donor *donor = NULL;
    struct gn_simulated made = {0};
    int code =
        gn_donor_create(simulation->reference, simulation->length, &simulation->donor, &donor);
    if (code < 0) {
        return guest_fail(error, code, NULL, "out of memory");
    }
    code = write_truth(donor, simulation, prefix, &made, error);
    code = code ? code : write_strata(donor, simulation, prefix, error);
    code = code ? code : write_reads(donor, simulation, prefix, &made, error);
    gn_donor_destroy(donor);
    if (code == 0) {
        *ret_made = made;
    }
    return code;
}

/* --- a reference --------------------------------------------------------------------------------
 */
/* A copy of a repeat of some family, with changes: what makes mapping hard. */
static uint32_t put_repeat(struct gn_random *random, const uint8_t *families, uint8_t *to,
                           uint32_t room) {
    const uint8_t *family = families + (gn_random_next(random) % FAMILIES) * FAMILY_LENGTH;
    uint32_t length = FAMILY_LENGTH < room ? FAMILY_LENGTH : room;
    for (uint32_t i = 0; i < length; i++) {
        bool changed = gn_random_unit(random) < 0.12;
        to[i] = changed ? gn_random_next(random) & 3 : family[i];
    }
    return length;
}

static uint32_t put_tandem(struct gn_random *random, uint8_t *to, uint32_t room) {
    uint32_t unit = 1 + (uint32_t)(gn_random_next(random) % 4);
    uint32_t length = unit * (6 + (uint32_t)(gn_random_next(random) % 12));
    length = length < room ? length : room;
    for (uint32_t i = 0; i < length; i++) {
        to[i] = i < unit ? gn_random_next(random) & 3 : to[i - unit];
    }
    return length;
}

uint8_t *gn_random_reference(uint32_t length, uint64_t seed) {
    uint8_t *codes = malloc(length + 1u), families[FAMILIES * FAMILY_LENGTH];
    struct gn_random random = {seed * 0xD1B54A32D192ED03u + 3};
    for (size_t i = 0; i < sizeof families; i++) {
        families[i] = gn_random_next(&random) & 3;
    }
    for (uint32_t at = 0; codes && at < length;) {
        double draw = gn_random_unit(&random);
        if (draw < 1.0 / 1500) {
            at += put_repeat(&random, families, codes + at, length - at);
        } else if (draw < 1.0 / 1500 + 1.0 / 2000) {
            at += put_tandem(&random, codes + at, length - at);
        } else { /* somewhat more A and T, as in people */
            uint64_t bits = gn_random_next(&random);
            codes[at++] = bits % 100 < 59 ? (bits >> 32 & 1) * 3 : 1 + (bits >> 32 & 1);
        }
    }
    return codes;
}

int gn_reference_write(const char *path, const char *contig, const uint8_t *codes, uint32_t length,
                       struct sy_error *error) {
    struct out out;
    int code = open_out(&out, path, "", error);
    if (code < 0) {
        return code;
    }
    put(&out, ">%s\n", contig);
    for (uint32_t at = 0; at < length; at += LINE) {
        char line[LINE + 1];
        spell(codes + at, length - at < LINE ? length - at : LINE, line);
        put(&out, "%s\n", line);
    }
    return close_out(&out, 0, error);
}
