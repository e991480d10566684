/* SPDX-License-Identifier: Apache-2.0
 *
 * Events at one position are one line: an allele is what a haplotype has there. Genotype and
 * quality come from the posteriors of pairs of haplotypes, summed over what else these have; PL
 * from the best pair of each genotype. What is printed is rounded.
 */
#include "genomics/call/genotype.h"
#include "genomics/align/index.h"
#include "genomics/call/diplotypes.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALLELE_MAX = 8, /* of one site, the reference's included; the rest counts as another one */
    SEQUENCE_MAX = 1100,
    LINE_MAX = 3 * SEQUENCE_MAX + 4096 /* a contig's name */ + 512,
    QUALITY_TOP = 3000,
    QUALITY_LOW = 20,
    PL_TOP = 9999,
};
#define LEAST        (-1e300)
#define DECIDED      0.3    /* log10: a read speaks for an allele */
#define DEPTH_FAR    10.0   /* so many times the spread above what is typical: nothing is trusted */
#define DEPTH_SPREAD 0.25   /* of the depth, beyond what chance gives; or more, where it is more */
#define COPY_FAR     (-6.5) /* log: how much likelier copies differ than there is a variant */
#define COPY_NEAR    2.0
#define COPY_HERE    2.0
#define COPIED_NOT   5.0
#define CLEAN_ERROR  0.003 /* of reads of the other strand */
#define STRAND_TOP   2.6   /* log: an error rather than a variant */

struct site { /* events [event, event + event_count) of a region, at one position */
    const struct gn_regions *regions;
    const struct gn_region *region;
    const struct gn_hmm_region *blob;
    const struct gn_diplotypes *diplotypes;
    uint32_t event, event_count, position;
    uint32_t allele_count;
    uint8_t allele_of[GN_HAPLOTYPE_MAX];
    uint8_t owner[ALLELE_MAX]; /* a haplotype with the allele */
    uint8_t called[3];         /* alleles that are written, the reference first */
    uint32_t called_count;     /* 2 or 3 */
    uint8_t genotype[2];       /* indices in called */
    double quality;            /* Phred: there is no event here */
    uint32_t support[3][2];    /* reads by called allele and strand */
    uint32_t likelihoods[6];   /* PL */
    double strand;             /* Phred */
};

struct text {
    struct gn_lines lines;
    size_t room;
    uint32_t line_room;
};

const char *const gn_filter_names[GN_FILTER_COUNT] = {"PASS", "LowQual", "Depth", "Strand"};

void gn_lines_free(struct gn_lines *lines) {
    free(lines->text);
    free(lines->positions);
    free(lines->lengths);
    free(lines->filters);
    *lines = (struct gn_lines){0};
}

/* --- alleles and genotypes ----------------------------------------------------------------------
 */
static const uint8_t *carried(const struct site *site, uint32_t haplotype) {
    const struct gn_region *region = site->region;
    return site->regions->carried + region->carried + (size_t)haplotype * region->event_count +
           (site->event - region->event);
}

static void find_alleles(struct site *site) {
    static const uint8_t nothing[GN_HAPLOTYPE_MAX * 8] = {0};
    site->allele_count = 1;
    site->owner[0] = 0;
    for (uint32_t h = 0; h < site->diplotypes->haplotype_count; h++) {
        const uint8_t *has = carried(site, h);
        uint32_t allele = 0;
        if (memcmp(has, nothing, site->event_count) != 0) {
            for (allele = 1; allele < site->allele_count; allele++) {
                if (memcmp(has, carried(site, site->owner[allele]), site->event_count) == 0) {
                    break;
                }
            }
        }
        if (allele == site->allele_count) {
            if (allele == ALLELE_MAX) {
                allele--;
            } else {
                site->owner[site->allele_count++] = (uint8_t)h;
            }
        }
        site->allele_of[h] = (uint8_t)allele;
    }
}

static void set_called(struct site *site, uint32_t x, uint32_t y) {
    site->called[0] = 0;
    site->called_count = 1;
    if (x > 0 && x != y &&
        memcmp(carried(site, site->owner[x]), carried(site, site->owner[y]), site->event_count) <
            0) {
        uint32_t keep = x; /* alleles in the order of their events */
        x = y;
        y = keep;
    }
    if (x > 0) {
        site->called[site->called_count++] = (uint8_t)x;
    }
    if (y != x) {
        site->called[site->called_count++] = (uint8_t)y;
    }
}

/* Sums posteriors by genotype; sets what is called. False: nothing is. */
static bool call(struct site *site) {
    const struct gn_diplotypes *all = site->diplotypes;
    double sums[ALLELE_MAX][ALLELE_MAX] = {{0}}, best = 0;
    uint32_t x = 0, y = 0;
    for (uint32_t i = 0; i < all->pair_count; i++) {
        uint32_t a = site->allele_of[all->first[i]], b = site->allele_of[all->second[i]];
        sums[a < b ? a : b][a < b ? b : a] += pow(10, all->posterior[i]);
    }
    double none = sums[0][0] > 1e-300 ? -10 * log10(sums[0][0]) : QUALITY_TOP;
    site->quality = none < QUALITY_TOP ? none : QUALITY_TOP;
    if (site->quality < site->regions->options.quality) {
        return false;
    }
    for (uint32_t a = 0; a < site->allele_count; a++) {
        for (uint32_t b = a; b < site->allele_count; b++) {
            if (b > 0 && sums[a][b] > best) {
                best = sums[a][b];
                x = a;
                y = b;
            }
        }
    }
    set_called(site, x, y);
    site->genotype[0] = x > 0 ? 1 : 0;
    site->genotype[1] = (uint8_t)(site->called_count - 1);
    return best > 0;
}

static void find_likelihoods(struct site *site) {
    const struct gn_diplotypes *all = site->diplotypes;
    double best[6] = {LEAST, LEAST, LEAST, LEAST, LEAST, LEAST}, top = LEAST;
    for (uint32_t i = 0; i < all->pair_count; i++) {
        uint32_t index[2] = {3, 3};
        for (uint32_t c = 0; c < site->called_count; c++) {
            index[0] = site->allele_of[all->first[i]] == site->called[c] ? c : index[0];
            index[1] = site->allele_of[all->second[i]] == site->called[c] ? c : index[1];
        }
        if (index[0] > 2 || index[1] > 2) {
            continue;
        }
        uint32_t low = index[0] < index[1] ? index[0] : index[1];
        uint32_t high = index[0] + index[1] - low, at = high * (high + 1) / 2 + low;
        best[at] = all->likelihood[i] > best[at] ? all->likelihood[i] : best[at];
        top = best[at] > top ? best[at] : top;
    }
    for (uint32_t i = 0; i < 6; i++) {
        double phred = 10 * (top - best[i]);
        site->likelihoods[i] = phred < PL_TOP ? (uint32_t)lrint(phred) : PL_TOP;
    }
}

/* --- reads --------------------------------------------------------------------------------------
 */
/* What the read says about each called allele: from the called haplotypes where they have it, else
 * from any that has. */
static void allele_weights(const struct site *site, uint32_t read, double weights[3]) {
    const struct gn_diplotypes *all = site->diplotypes;
    const double *row = all->reads + (size_t)read * all->haplotype_count;
    uint32_t pair[2] = {all->first[all->best], all->second[all->best]};
    for (uint32_t c = 0; c < site->called_count; c++) {
        weights[c] = LEAST;
        for (uint32_t i = 0; i < 2; i++) {
            if (site->allele_of[pair[i]] == site->called[c] && row[pair[i]] > weights[c]) {
                weights[c] = row[pair[i]];
            }
        }
        for (uint32_t h = 0; weights[c] <= LEAST && h < all->haplotype_count; h++) {
            weights[c] = site->allele_of[h] == site->called[c] ? row[h] : weights[c];
        }
    }
}

static void count_reads(struct site *site) {
    memset(site->support, 0, sizeof(site->support));
    for (uint32_t i = 0; i < site->diplotypes->read_count; i++) {
        const struct gn_support *support = &site->regions->supports[site->blob->read + i];
        double weights[3], second = LEAST;
        uint32_t best = 0;
        if (support->start > site->position || support->end <= site->position) {
            continue;
        }
        allele_weights(site, i, weights);
        for (uint32_t c = 1; c < site->called_count; c++) {
            best = weights[c] > weights[best] ? c : best;
        }
        for (uint32_t c = 0; c < site->called_count; c++) {
            second = c != best && weights[c] > second ? weights[c] : second;
        }
        if (weights[best] > second + DECIDED) {
            site->support[best][support->reverse]++;
        }
    }
}

static double log_factorial(uint32_t n) {
    return lgamma(n + 1.0);
}

/* Fisher's exact test of strand against allele (called[0] or another), Phred. */
static double strand_bias(const struct site *site) {
    uint32_t a = site->support[0][0], b = site->support[0][1], c = 0, d = 0;
    for (uint32_t i = 1; i < site->called_count; i++) {
        c += site->support[i][0];
        d += site->support[i][1];
    }
    uint32_t all = a + b + c + d, row = a + b, column = a + c;
    double fixed = log_factorial(row) + log_factorial(all - row) + log_factorial(column) +
                   log_factorial(all - column) - log_factorial(all);
    double seen = fixed - log_factorial(a) - log_factorial(b) - log_factorial(c) - log_factorial(d);
    double sum = 0;
    for (uint32_t i = 0; i <= row && i <= column; i++) {
        if (all + i < row + column) {
            continue;
        }
        double here = fixed - log_factorial(i) - log_factorial(row - i) -
                      log_factorial(column - i) - log_factorial(all + i - row - column);
        sum += here <= seen + 1e-9 ? exp(here) : 0;
    }
    return sum < 1 ? -10 * log10(sum > 1e-300 ? sum : 1e-300) : 0;
}

/* --- lines --------------------------------------------------------------------------------------
 */
/* An allele's bases over the reference's, and how many: what its haplotype's events make of it. */
static uint32_t spell(const struct site *site, uint32_t allele, const uint8_t *reference,
                      uint32_t length, char *bases) {
    const uint8_t *has = carried(site, site->owner[allele]);
    uint8_t codes[SEQUENCE_MAX];
    uint32_t count = 0, used = 0;
    for (uint32_t i = 0; allele > 0 && i < site->event_count; i++) {
        const struct gn_event *event = &site->regions->events[site->event + i];
        const uint8_t *alternative = site->regions->event_bases + event->bases;
        if (!has[i]) {
            continue;
        }
        if (count == 0) {
            memcpy(codes, alternative, event->alternative_length);
            count = event->alternative_length;
            used = event->reference_length;
        } else if (used == 1 && count == 1) { /* behind a changed base */
            memcpy(codes + 1, alternative + 1, event->alternative_length - 1u);
            count = event->alternative_length;
            used = event->reference_length;
        }
    }
    if (length > used) {
        memcpy(codes + count, reference + used, length - used);
        count += length - used;
    }
    for (uint32_t i = 0; i < count; i++) {
        bases[i] = "ACGTN"[codes[i] < 4 ? codes[i] : 4];
    }
    bases[count] = '\0';
    return count;
}

/* log of how well a count fits what is expected; depth varies more than by chance. */
static double fits(double count, double expected, double spread) {
    double variance = expected + 0.5 + spread * spread * expected * expected;
    return -0.5 * (count - expected) * (count - expected) / variance - 0.5 * log(variance);
}

/* A heterozygous site where a copy that the reference lacks differs from it, rather than a variant:
 * then as many reads as are typical have the reference's allele, instead of half. */
static bool is_copy(const struct site *site, double typical, double spread) {
    static const double before[] = {COPY_FAR, COPY_NEAR, COPY_HERE};
    double reads = site->support[0][0] + site->support[0][1], others = 0, copy = -1e300;
    for (uint32_t i = 1; i < site->called_count; i++) {
        others += site->support[i][0] + site->support[i][1];
    }
    for (double share = 0.125; share < 1.01; share += 0.125) {
        double here = fits(reads, typical, spread) + fits(others, typical * share, spread);
        copy = here > copy ? here : copy;
    }
    double variant = fits(reads, typical / 2, spread) + fits(others, typical / 2, spread);
    if (site->region->copies == GN_COPIES_HERE) {
        double copied = fits(reads, typical * 1.5, spread) + fits(others, typical / 2, spread);
        variant = copied > variant - COPIED_NOT ? copied : variant - COPIED_NOT;
    }
    return copy + before[site->region->copies] > variant;
}

static double log_choose(uint32_t n, uint32_t k, double p) {
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * log(p) +
           (n - k) * log(1 - p);
}

/* log of how much more the site looks like an error of the reads of one strand than like a
 * heterozygous variant. */
static double one_strand(const struct site *site) {
    uint32_t all[2], others[2];
    double error = 0;
    for (uint32_t strand = 0; strand < 2; strand++) {
        others[strand] = site->support[1][strand] + site->support[2][strand];
        all[strand] = others[strand] + site->support[0][strand];
    }
    for (uint32_t strand = 0; strand < 2; strand++) {
        uint32_t clean = 1 - strand;
        for (double share = 0.15; share < 0.5; share += 0.1) {
            error += 0.125 * exp(log_choose(all[strand], others[strand], share) +
                                 log_choose(all[clean], others[clean], CLEAN_ERROR));
        }
    }
    return log(error + 1e-300) - log_choose(all[0], others[0], 0.5) -
           log_choose(all[1], others[1], 0.5);
}

/* Far more reads than there should be, or the alleles of a copy. */
static bool is_too_deep(const struct site *site) {
    const struct gn_region *region = site->region;
    double typical = region->usual.typical;
    double spread = region->usual.spread > DEPTH_SPREAD ? region->usual.spread : DEPTH_SPREAD;
    return typical > 0 &&
           (region->depth > (1 + DEPTH_FAR * spread) * typical ||
            (site->genotype[0] == 0 && is_copy(site, typical * region->kept, spread)));
}

static enum gn_filter filter_of(const struct site *site) {
    bool single = true, mixed = site->genotype[0] == 0;
    for (uint32_t i = 0; i < site->event_count; i++) {
        const struct gn_event *event = &site->regions->events[site->event + i];
        single &= event->reference_length == event->alternative_length;
    }
    if (site->quality < QUALITY_LOW) {
        return GN_LOW_QUALITY;
    }
    if (is_too_deep(site)) {
        return GN_DEPTH;
    }
    if (mixed && single && one_strand(site) > STRAND_TOP) {
        return GN_STRAND;
    }
    return GN_PASS;
}

static int more_lines(struct text *text) {
    struct gn_lines *lines = &text->lines;
    uint32_t room = 2 * text->line_room + 64;
    uint32_t *positions = realloc(lines->positions, room * sizeof(*positions));
    lines->positions = positions ? positions : lines->positions;
    uint32_t *lengths = realloc(lines->lengths, room * sizeof(*lengths));
    lines->lengths = lengths ? lengths : lines->lengths;
    uint8_t *filters = realloc(lines->filters, room);
    lines->filters = filters ? filters : lines->filters;
    if (!positions || !lengths || !filters) {
        return -ENOMEM;
    }
    text->line_room = room;
    return 0;
}

static int append(struct text *text, uint32_t position, enum gn_filter filter, const char *line,
                  uint32_t length) {
    struct gn_lines *lines = &text->lines;
    if (lines->bytes + length + 1 > text->room) {
        size_t room = 2 * (lines->bytes + length) + 4096;
        char *bytes = realloc(lines->text, room);
        if (!bytes) {
            return -ENOMEM;
        }
        lines->text = bytes;
        text->room = room;
    }
    if (lines->count == text->line_room && more_lines(text) < 0) {
        return -ENOMEM;
    }
    memcpy(lines->text + lines->bytes, line, length + 1);
    lines->bytes += length;
    lines->positions[lines->count] = position;
    lines->filters[lines->count] = (uint8_t)filter;
    lines->lengths[lines->count++] = length;
    return 0;
}

static uint32_t genotype_quality(const struct site *site) {
    uint32_t mine = site->genotype[1] * (site->genotype[1] + 1u) / 2 + site->genotype[0];
    uint32_t count = site->called_count * (site->called_count + 1) / 2, least = PL_TOP;
    for (uint32_t i = 0; i < count; i++) {
        least = i != mine && site->likelihoods[i] < least ? site->likelihoods[i] : least;
    }
    least -= least < site->likelihoods[mine] ? least : site->likelihoods[mine];
    return least < 99 ? least : 99;
}

static int write_site(const struct gn_index *index, const struct site *site, struct text *text) {
    char line[LINE_MAX], sequences[3][SEQUENCE_MAX];
    uint8_t reference[SEQUENCE_MAX];
    uint32_t span = 1, contig = gn_contig_of(index, site->position);
    for (uint32_t i = 0; i < site->event_count; i++) {
        for (uint32_t c = 1; c < site->called_count; c++) {
            uint32_t length = site->regions->events[site->event + i].reference_length;
            bool has = carried(site, site->owner[site->called[c]])[i];
            span = has && length > span ? length : span;
        }
    }
    if (contig == SY_NONE) {
        return 0;
    }
    gn_genome_fetch(index, site->position, span, reference);
    for (uint32_t c = 0; c < site->called_count; c++) {
        spell(site, site->called[c], reference, span, sequences[c]);
    }
    const uint32_t(*n)[2] = site->support;
    const uint32_t *pl = site->likelihoods;
    bool two = site->called_count == 3;
    enum gn_filter filter = filter_of(site);
    uint32_t depth = n[0][0] + n[0][1] + n[1][0] + n[1][1] + (two ? n[2][0] + n[2][1] : 0);
    int length =
        snprintf(line, sizeof(line),
                 "%s\t%u\t.\t%s\t%s%s%s\t%.0f\t%s\tDP=%u;FS=%.0f;SB=%u,%u,%u,%u\tGT:DP:AD:GQ:PL\t%"
                 "u/%u:%u:%u,%u",
                 gn_contig_name(index, contig),
                 (uint32_t)(site->position - gn_contigs(index)[contig].start + 1), sequences[0],
                 sequences[1], two ? "," : "", two ? sequences[2] : "", site->quality,
                 gn_filter_names[filter], (uint32_t)lrint(site->region->depth), site->strand,
                 n[0][0], n[0][1], n[1][0] + (two ? n[2][0] : 0), n[1][1] + (two ? n[2][1] : 0),
                 site->genotype[0], site->genotype[1], depth, n[0][0] + n[0][1], n[1][0] + n[1][1]);
    if (two) {
        length += snprintf(line + length, sizeof(line) - (size_t)length,
                           ",%u:%u:%u,%u,%u,%u,%u,%u\n", n[2][0] + n[2][1], genotype_quality(site),
                           pl[0], pl[1], pl[2], pl[3], pl[4], pl[5]);
    } else {
        length += snprintf(line + length, sizeof(line) - (size_t)length, ":%u:%u,%u,%u\n",
                           genotype_quality(site), pl[0], pl[1], pl[2]);
    }
    return append(text, site->position, filter, line, (uint32_t)length);
}

static int do_region(const struct gn_index *index, const struct gn_regions *regions, uint32_t at,
                     const struct gn_diplotypes *diplotypes, struct text *text) {
    const struct gn_region *region = &regions->regions[at];
    struct site site = {.regions = regions, .region = region, .diplotypes = diplotypes};
    site.blob = (const struct gn_hmm_region *)gn_at(regions->hmm, regions->hmm->regions) + at;
    uint32_t end = region->event + region->event_count;
    for (uint32_t i = region->event; i < end; i += site.event_count) {
        site.event = i;
        site.position = regions->events[i].position;
        site.event_count = 1;
        while (i + site.event_count < end &&
               regions->events[i + site.event_count].position == site.position) {
            site.event_count++;
        }
        if (site.position < region->owned_start || site.position >= region->owned_end) {
            continue;
        }
        find_alleles(&site);
        if (!call(&site)) {
            continue;
        }
        find_likelihoods(&site);
        count_reads(&site);
        site.strand = strand_bias(&site);
        int rc = write_site(index, &site, text);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

int gn_genotype(const struct gn_index *index, const struct gn_regions *regions, const float *sums,
                struct gn_lines *ret_lines) {
    struct gn_diplotypes *diplotypes = calloc(1, sizeof(*diplotypes));
    struct text text = {0};
    int rc = diplotypes ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < regions->region_count; i++) {
        rc = gn_diplotypes_find(regions, i, sums, diplotypes);
        if (rc == 0) {
            rc = do_region(index, regions, i, diplotypes, &text);
        }
    }
    if (diplotypes) {
        gn_diplotypes_finish(diplotypes);
        free(diplotypes);
    }
    if (rc < 0) {
        gn_lines_free(&text.lines);
        return rc;
    }
    *ret_lines = text.lines;
    return 0;
}
