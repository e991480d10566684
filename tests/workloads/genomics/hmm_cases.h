/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches for PairHMM, drawn from a seed: for tests and benches.
 */
#ifndef GENOMICS_HMM_CASES_H
#define GENOMICS_HMM_CASES_H

#include "genomics/call/hmm.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct hmm_range {
    uint32_t low, high; /* both included */
};

struct hmm_case {
    const char *name;
    uint32_t regions;
    struct hmm_range reads, haplotypes, read_length, haplotype_length;
    double unknown; /* how many bases are N, in reads and haplotypes */
    bool wild;      /* reads have nothing to do with haplotypes; qualities are any */
};

struct hmm_random {
    uint64_t seed, index;
};

static inline double hmm_uniform(struct hmm_random *random) {
    return guest_noise(random->seed, random->index++);
}

static inline uint32_t hmm_draw(struct hmm_random *random, struct hmm_range range) {
    return range.low + (uint32_t)(hmm_uniform(random) * (range.high - range.low + 1.0));
}

static inline uint8_t hmm_base(struct hmm_random *random, double unknown) {
    uint8_t base = (uint8_t)(4 * hmm_uniform(random));
    return hmm_uniform(random) < unknown ? 4 : base;
}

/* A header with room for the most that the case may draw; NULL: no memory. */
static inline struct gn_hmm *hmm_room(const struct hmm_case *what) {
    uint64_t reads = (uint64_t)what->regions * what->reads.high;
    uint64_t haplotypes = (uint64_t)what->regions * what->haplotypes.high;
    uint64_t bases = gn_round(reads * what->read_length.high);
    struct gn_hmm head = {.region_count = what->regions, .regions = gn_round(sizeof(head))};
    head.reads = head.regions + gn_round(what->regions * sizeof(struct gn_hmm_region));
    head.haplotypes = head.reads + gn_round(reads * sizeof(struct gn_hmm_read));
    head.read_bases = head.haplotypes + gn_round(haplotypes * sizeof(struct gn_hmm_haplotype));
    head.read_qualities = head.read_bases + bases;
    head.read_gaps = head.read_qualities + bases;
    head.haplotype_bases = head.read_gaps + bases;
    head.bytes = head.haplotype_bases + gn_round(haplotypes * what->haplotype_length.high);
    struct gn_hmm *blob = aligned_alloc(GN_ALIGN, gn_round(head.bytes));
    if (blob) {
        memset(blob, 0, head.bytes);
        *blob = head;
        gn_hmm_fill(blob, 0.1f);
    }
    return blob;
}

/* The first haplotype of a region is random; the others are it with bases changed and left out. */
static inline void hmm_draw_haplotypes(struct hmm_random *random, const struct hmm_case *what,
                                       struct gn_hmm *blob, const struct gn_hmm_region *region,
                                       uint32_t *used) {
    struct gn_hmm_haplotype *all = gn_in(blob, blob->haplotypes);
    uint8_t *bases = gn_in(blob, blob->haplotype_bases);
    for (uint32_t at = 0; at < region->haplotype_count; at++) {
        const struct gn_hmm_haplotype *first = &all[region->haplotype];
        uint32_t length = at == 0 ? hmm_draw(random, what->haplotype_length) : first->length;
        uint32_t from = *used;
        for (uint32_t j = 0; j < length; j++) {
            bool copied = at > 0 && hmm_uniform(random) > 0.01;
            uint8_t base = copied ? bases[first->bases + j] : hmm_base(random, what->unknown);
            bool left_out = at > 0 && length - j + *used - from > what->haplotype_length.low &&
                            hmm_uniform(random) < 0.005;
            bases[*used] = base;
            *used += left_out ? 0 : 1;
        }
        all[blob->haplotype_count++] = (struct gn_hmm_haplotype){from, *used - from};
    }
}

static inline void hmm_draw_read(struct hmm_random *random, const struct hmm_case *what,
                                 struct gn_hmm *blob, const struct gn_hmm_region *region,
                                 uint32_t *used) {
    struct gn_hmm_read *all = gn_in(blob, blob->reads);
    uint8_t *bases = gn_in(blob, blob->read_bases), *gaps = gn_in(blob, blob->read_gaps);
    uint8_t *qualities = gn_in(blob, blob->read_qualities);
    uint32_t length = hmm_draw(random, what->read_length), from = 0, known = 0;
    const uint8_t *haplotype = NULL;
    if (region->haplotype_count > 0 && !what->wild) {
        uint32_t which = hmm_draw(random, (struct hmm_range){0, region->haplotype_count - 1});
        const struct gn_hmm_haplotype *mine =
            (const struct gn_hmm_haplotype *)gn_at(blob, blob->haplotypes) + region->haplotype +
            which;
        known = mine->length;
        from = known > length ? hmm_draw(random, (struct hmm_range){0, known - length}) : 0;
        haplotype = (const uint8_t *)gn_at(blob, blob->haplotype_bases) + mine->bases;
    }
    for (uint32_t i = 0; i < length; i++) {
        uint8_t quality = hmm_uniform(random) < 0.1 ? 15 : 35, gap = 45;
        if (what->wild) {
            quality = (uint8_t)(128 * hmm_uniform(random));
            gap = (uint8_t)(128 * hmm_uniform(random));
        }
        bool wrong = hmm_uniform(random) < (double)blob->error[quality];
        uint8_t base = hmm_base(random, what->unknown);
        bases[*used + i] = haplotype && from + i < known && !wrong ? haplotype[from + i] : base;
        qualities[*used + i] = quality;
        gaps[*used + i] = gap;
    }
    all[blob->read_count++] = (struct gn_hmm_read){*used, length};
    *used += length;
}

/* Free with free. NULL: no memory. */
static inline struct gn_hmm *hmm_make(const struct hmm_case *what, uint64_t seed) {
    struct hmm_random random = {seed, 0};
    struct gn_hmm *blob = hmm_room(what);
    uint32_t haplotype_bases = 0, read_bases = 0;
    for (uint32_t at = 0; blob && at < what->regions; at++) {
        struct gn_hmm_region *region = (struct gn_hmm_region *)gn_in(blob, blob->regions) + at;
        *region = (struct gn_hmm_region){.read = blob->read_count,
                                         .read_count = hmm_draw(&random, what->reads),
                                         .haplotype = blob->haplotype_count,
                                         .haplotype_count = hmm_draw(&random, what->haplotypes),
                                         .sum = blob->sum_count};
        hmm_draw_haplotypes(&random, what, blob, region, &haplotype_bases);
        uint64_t columns = 0, rows = 0;
        for (uint32_t i = 0; i < region->haplotype_count; i++) {
            columns += ((const struct gn_hmm_haplotype *)gn_at(
                blob, blob->haplotypes))[region->haplotype + i]
                           .length;
        }
        for (uint32_t i = 0; i < region->read_count; i++) {
            uint32_t before = read_bases;
            hmm_draw_read(&random, what, blob, region, &read_bases);
            rows += read_bases - before;
        }
        blob->sum_count += region->read_count * region->haplotype_count;
        blob->cells += rows * columns;
    }
    return blob;
}

#endif
