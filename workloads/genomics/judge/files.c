/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes simulated samples: see files.h.
 */
#include "genomics/judge/files.h"
#include "genomics/align/genome.h"
#include "genomics/names.h"
#include "output.h"
#include <errno.h>
#include <htslib/bgzf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINE = 60, FAMILIES = 40, FAMILY_LENGTH = 300 };

static const char letters[] = "ACGTN";

/* --- files of text, compressed in blocks where their names end in .gz
 * ------------------------------ */
enum file { READS_1, READS_2, TRUTH, STRATA, FASTA, FILE_COUNT };
static const char *const suffixes[FILE_COUNT] = {"_1.fq.gz", "_2.fq.gz", ".truth.vcf.gz",
                                                 ".strata.bed", ".fa"};

struct outs {
    struct guest_output outputs[FILE_COUNT];
    BGZF *files[FILE_COUNT];
    uint32_t count;     /* opened */
    const char *failed; /* the first that could not be written; NULL: none */
    gn_stop_function stop;
};

static int open_outs(struct outs *outs, const char *prefix, uint32_t count,
                     struct sy_error *error) {
    int code = 0;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        char *path = NULL;
        int descriptor;
        if (asprintf(&path, "%s%s", prefix, suffixes[i]) < 0) {
            return guest_fail(error, -ENOMEM, NULL, "out of memory");
        }
        code = guest_output_open(&outs->outputs[i], path, NULL, &descriptor, error);
        if (code == 0) {
            outs->count++;
            outs->files[i] = bgzf_dopen(descriptor, gn_ends_with(path, ".gz") ? "w" : "wu");
            if (!outs->files[i]) {
                close(descriptor);
                code = guest_fail(error, -ENOMEM, NULL, "out of memory");
            }
        }
        free(path);
    }
    /* Whatever is wrong with a name, the input is not. */
    return code < 0 && code != -ENOMEM ? -EIO : code;
}

/* Whether there is a reason to go on. */
static bool goes_on(const struct outs *outs) {
    return !outs->failed && !(outs->stop && outs->stop());
}

__attribute__((format(printf, 3, 4))) static void put(struct outs *outs, enum file file,
                                                      const char *format, ...) {
    char text[4096 + GN_CONTIG_NAME_MAX];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof text ||
        bgzf_write(outs->files[file], text, (size_t)length) != length) {
        outs->failed = outs->failed ? outs->failed : outs->outputs[file].path;
    }
}

/* Gives all of them their names, or removes them. */
static int close_outs(struct outs *outs, int code, struct sy_error *error) {
    for (uint32_t i = 0; i < outs->count; i++) {
        if (outs->files[i] && bgzf_close(outs->files[i]) < 0) {
            outs->failed = outs->failed ? outs->failed : outs->outputs[i].path;
        }
    }
    if (code == 0 && outs->stop && outs->stop()) {
        code = guest_fail(error, -EINTR, NULL, "interrupted");
    }
    if (code == 0 && outs->failed) {
        code = guest_fail(error, -EIO, "is the disk full?", "cannot write %s", outs->failed);
    }
    code = code ? code : guest_output_keep(outs->outputs, outs->count, error);
    for (uint32_t i = 0; i < outs->count; i++) {
        guest_output_finish(&outs->outputs[i]);
    }
    return code;
}

/* --- reads --------------------------------------------------------------------------------------
 */
static void put_read(struct outs *outs, const struct gn_pair_of_reads *pair, int end) {
    char bases[GN_READ_MAX + 1], qualities[GN_READ_MAX + 1];
    for (uint32_t i = 0; i < pair->length; i++) {
        bases[i] = letters[pair->codes[end][i]];
        qualities[i] = (char)(33 + pair->qualities[end][i]);
    }
    bases[pair->length] = qualities[pair->length] = '\0';
    put(outs, end ? READS_2 : READS_1, "@r%llu:%u:%llu/%d\n%s\n+\n%s\n",
        (unsigned long long)pair->number, pair->haplotype, (unsigned long long)pair->start, end + 1,
        bases, qualities);
}

static int write_reads(const struct gn_donor *donor, const struct gn_simulation *simulation,
                       struct outs *outs, struct gn_simulated *made, struct sy_error *error) {
    struct gn_sequencer *sequencer = calloc(1, sizeof *sequencer);
    struct gn_pair_of_reads pair;
    if (!sequencer) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    gn_sequencer_start(sequencer, donor, &simulation->sequencer);
    while (goes_on(outs) && gn_sequencer_next(sequencer, &pair)) {
        put_read(outs, &pair, 0);
        put_read(outs, &pair, 1);
        made->pairs++;
    }
    free(sequencer);
    return 0;
}

/* --- truth --------------------------------------------------------------------------------------
 */
static void spell(const uint8_t *codes, uint32_t length, char *text) {
    for (uint32_t i = 0; i < length; i++) {
        text[i] = letters[codes[i]];
    }
    text[length] = '\0';
}

static void write_truth(const struct gn_donor *donor, const struct gn_simulation *simulation,
                        struct outs *outs, struct gn_simulated *made) {
    put(outs, TRUTH,
        "##fileformat=VCFv4.3\n##contig=<ID=%s>\n"
        "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"Genotype\">\n"
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tdonor\n",
        simulation->contig);
    for (uint32_t i = 0; i < donor->truth_count && goes_on(outs); i++) {
        const struct gn_truth *truth = &donor->truths[i];
        char reference[256], alternative[256];
        spell(donor->reference + truth->position, truth->reference_length, reference);
        spell(donor->alternatives + truth->alternative, truth->alternative_length, alternative);
        put(outs, TRUTH, "%s\t%llu\t.\t%s\t%s\t.\tPASS\t.\tGT\t%u|%u\n", simulation->contig,
            (unsigned long long)(simulation->start + truth->position + 1), reference, alternative,
            truth->carried[0], truth->carried[1]);
        made->snps += truth->reference_length == truth->alternative_length;
        made->indels += truth->reference_length != truth->alternative_length;
    }
}

static void write_strata(const struct gn_donor *donor, const struct gn_simulation *simulation,
                         struct outs *outs) {
    for (uint32_t i = 0; i < donor->stratum_count && goes_on(outs); i++) {
        const struct gn_stratum *stratum = &donor->strata[i];
        put(outs, STRATA, "%s\t%llu\t%llu\t%s\n", simulation->contig,
            (unsigned long long)(simulation->start + stratum->start),
            (unsigned long long)(simulation->start + stratum->end), stratum->label);
    }
}

static void write_reference(const struct gn_simulation *simulation, struct outs *outs) {
    put(outs, FASTA, ">%s\n", simulation->contig);
    for (uint32_t at = 0; at < simulation->length && goes_on(outs); at += LINE) {
        char line[LINE + 1];
        uint32_t left = simulation->length - at;
        spell(simulation->reference + at, left < LINE ? left : LINE, line);
        put(outs, FASTA, "%s\n", line);
    }
}

static int write_all(const struct gn_simulation *simulation, struct outs *outs,
                     struct gn_simulated *made, struct sy_error *error) {
    struct gn_donor *donor = NULL;
    int code = gn_donor_create(simulation->reference, simulation->length, &simulation->donor,
                               simulation->stop, &donor);
    if (code < 0) {
        return guest_fail(error, code, NULL, code == -EINTR ? "interrupted" : "out of memory");
    }
    if (simulation->made_up) {
        write_reference(simulation, outs);
    }
    write_truth(donor, simulation, outs, made);
    write_strata(donor, simulation, outs);
    code = write_reads(donor, simulation, outs, made, error);
    gn_donor_destroy(donor);
    return code;
}

int gn_simulate(const struct gn_simulation *simulation, const char *prefix,
                struct gn_simulated *ret_made, struct sy_error *error) {
    struct outs *outs = calloc(1, sizeof *outs);
    struct gn_simulated made = {0};
    if (!outs) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    outs->stop = simulation->stop;
    int code = open_outs(outs, prefix, simulation->made_up ? FILE_COUNT : FASTA, error);
    code = code ? code : write_all(simulation, outs, &made, error);
    code = close_outs(outs, code, error);
    free(outs);
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
