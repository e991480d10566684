/* SPDX-License-Identifier: Apache-2.0
 *
 * Bayes over pairs of haplotypes. A fragment comes from either of the two with the same chance:
 * likelihood = product over fragments of (P(fragment | first) + P(fragment | second)) / 2. Expected
 * beforehand: each event once, whether one or both haplotypes have it.
 */
#include "genomics/call/diplotypes.h"
#include "genomics/call/hmm.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORST        (-4.5) /* log10: no read speaks more than this against a haplotype */
#define PRIOR_SNP    (-3.0)
#define PRIOR_INDEL  (-3.7)
#define PRIOR_BOTH   (-0.3) /* more, if both haplotypes have it */
#define PRIOR_SINGLE 0.25   /* more, for each copy in a repeat of one base */
#define PRIOR_UNIT   0.2    /* of longer units */
#define PRIOR_MORE   2.1    /* at most */

void gn_diplotypes_finish(struct gn_diplotypes *diplotypes) {
    free(diplotypes->reads);
    free(diplotypes->shares);
}

static int make_room(struct gn_diplotypes *diplotypes, uint32_t reads) {
    if (reads <= diplotypes->room) {
        return 0;
    }
    size_t bytes = (size_t)reads * 2 * GN_HAPLOTYPE_MAX * sizeof(double);
    gn_diplotypes_finish(diplotypes);
    diplotypes->room = 0;
    diplotypes->reads = malloc(bytes);
    diplotypes->shares = malloc(bytes);
    if (!diplotypes->reads || !diplotypes->shares) {
        return -ENOMEM;
    }
    diplotypes->room = 2 * reads;
    return 0;
}

static void weigh_reads(const struct gn_regions *regions, uint32_t region, const float *sums,
                        struct gn_diplotypes *diplotypes) {
    const struct gn_hmm *hmm = regions->hmm;
    const struct gn_hmm_region *here =
        (const struct gn_hmm_region *)gn_at(hmm, hmm->regions) + region;
    uint32_t count = here->haplotype_count;
    for (uint32_t i = 0; i < here->read_count; i++) {
        double *row = diplotypes->reads + (size_t)i * count, best = GN_HMM_FLOOR;
        for (uint32_t h = 0; h < count; h++) {
            float sum = sums[here->sum + (size_t)i * count + h];
            row[h] = gn_hmm_log10(hmm, here->read + i, here->haplotype + h, sum);
            best = row[h] > best ? row[h] : best;
        }
        for (uint32_t h = 0; h < count; h++) {
            row[h] = row[h] < best + WORST ? best + WORST : row[h];
        }
    }
}

/* Fragments: reads, with their mates where these are here too. Returns how many. */
static uint32_t join_mates(const struct gn_regions *regions, const struct gn_hmm_region *here,
                           struct gn_diplotypes *diplotypes) {
    uint32_t count = here->haplotype_count, fragments = 0;
    for (uint32_t i = 0; i < here->read_count; i++) {
        uint32_t mate = regions->supports[here->read + i].mate;
        if (mate != UINT32_MAX && mate < here->read + i) {
            continue;
        }
        const double *row = diplotypes->reads + (size_t)i * count, *other = NULL;
        double *share = diplotypes->shares + (size_t)fragments * count, best = -1e300;
        if (mate != UINT32_MAX) {
            other = diplotypes->reads + (size_t)(mate - here->read) * count;
        }
        for (uint32_t h = 0; h < count; h++) {
            share[h] = row[h] + (other ? other[h] : 0);
            best = share[h] > best ? share[h] : best;
        }
        for (uint32_t h = 0; h < count; h++) {
            share[h] = exp((share[h] - best) * 2.302585092994046);
        }
        fragments++;
    }
    return fragments;
}

/* log10 of how often such an event is met. Repeats change more often the longer they are. */
static double prior(const struct gn_event *event) {
    if (event->reference_length == event->alternative_length) {
        return PRIOR_SNP;
    }
    double more = event->unit == 1 ? PRIOR_SINGLE * (event->copies - 5.0)
                                   : PRIOR_UNIT * (event->copies - 2.0);
    if (event->unit == 0 || more < 0) {
        return PRIOR_INDEL;
    }
    return PRIOR_INDEL + (more < PRIOR_MORE ? more : PRIOR_MORE);
}

static double expected(const struct gn_regions *regions, const struct gn_region *region,
                       uint32_t first, uint32_t second) {
    const uint8_t *a = regions->carried + region->carried + (size_t)first * region->event_count;
    const uint8_t *b = regions->carried + region->carried + (size_t)second * region->event_count;
    double sum = 0;
    for (uint32_t i = 0; i < region->event_count; i++) {
        const struct gn_event *event = &regions->events[region->event + i];
        if (a[i] || b[i]) {
            sum += prior(event) + (a[i] && b[i] ? PRIOR_BOTH : 0);
        }
    }
    return sum;
}

static double pair_likelihood(const double *shares, uint32_t fragments, uint32_t count,
                              uint32_t first, uint32_t second) {
    double sum = 0, product = 1;
    for (uint32_t i = 0; i < fragments; i++) {
        product *= 0.5 * (shares[(size_t)i * count + first] + shares[(size_t)i * count + second]);
        if (product < 1e-200) { /* a factor is at least 1e-9 */
            sum += log10(product);
            product = 1;
        }
    }
    return sum + log10(product);
}

int gn_diplotypes_find(const struct gn_regions *regions, uint32_t region, const float *sums,
                       struct gn_diplotypes *diplotypes) {
    const struct gn_hmm *hmm = regions->hmm;
    const struct gn_hmm_region *here =
        (const struct gn_hmm_region *)gn_at(hmm, hmm->regions) + region;
    uint32_t count = here->haplotype_count, pair = 0;
    int rc = make_room(diplotypes, here->read_count);
    if (rc < 0) {
        return rc;
    }
    diplotypes->haplotype_count = count;
    diplotypes->read_count = here->read_count;
    weigh_reads(regions, region, sums, diplotypes);
    uint32_t fragments = join_mates(regions, here, diplotypes);
    double best = -1e300, total = 0;
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = a; b < count; b++, pair++) {
            double likelihood = pair_likelihood(diplotypes->shares, fragments, count, a, b);
            double posterior = likelihood + expected(regions, &regions->regions[region], a, b);
            diplotypes->first[pair] = (uint8_t)a;
            diplotypes->second[pair] = (uint8_t)b;
            diplotypes->likelihood[pair] = likelihood;
            diplotypes->posterior[pair] = posterior;
            if (posterior > best) {
                best = posterior;
                diplotypes->best = pair;
            }
        }
    }
    for (uint32_t i = 0; i < pair; i++) {
        total += pow(10, diplotypes->posterior[i] - best);
    }
    for (uint32_t i = 0; i < pair; i++) {
        diplotypes->posterior[i] -= best + log10(total);
    }
    diplotypes->pair_count = pair;
    return 0;
}
