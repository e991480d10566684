/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences of aligned reads are counted; the most frequent ones are combined, those that more
 * reads have first, until there are enough haplotypes. Tables are of fixed size: what finds no room
 * is left out.
 */
#include "genomics/call/pileup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEN_MAX = 1024, /* different changes of one region */
    USED_MAX = 10,
    INSERTED_MAX = 120,
    QUALITY_MIN = 15,
    READS_MIN = 3,
    SHARE_MIN = 8, /* one of so many of the region's reads */
};

struct seen {
    uint32_t at, length, base_count, count;
    uint8_t bases[INSERTED_MAX + 2];
};

struct gn_pileup {
    struct seen seen[SEEN_MAX];
    uint32_t seen_count;
    struct gn_change change;
    uint8_t path[GN_PATH_MAX + USED_MAX * INSERTED_MAX];
};

int gn_pileup_create(struct gn_pileup **ret_pileup) {
    struct gn_pileup *pileup = malloc(sizeof(*pileup));
    if (!pileup) {
        return -ENOMEM;
    }
    *ret_pileup = pileup;
    return 0;
}

void gn_pileup_free(struct gn_pileup *pileup) {
    free(pileup);
}

static void tally(struct gn_pileup *pileup) {
    const struct gn_change *change = &pileup->change;
    uint32_t i = 0;
    for (; i < pileup->seen_count; i++) {
        struct seen *seen = &pileup->seen[i];
        if (seen->at == change->at && seen->length == change->length &&
            seen->base_count == change->base_count &&
            memcmp(seen->bases, change->bases, change->base_count) == 0) {
            seen->count++;
            return;
        }
    }
    if (i < SEEN_MAX && change->base_count <= INSERTED_MAX + 1) {
        struct seen *seen = &pileup->seen[pileup->seen_count++];
        *seen = (struct seen){change->at, change->length, change->base_count, 1, {0}};
        memcpy(seen->bases, change->bases, change->base_count);
    }
}

/* A read on its way over the window; both may be outside of what is looked at. */
struct walk {
    int64_t at;   /* offset in the window */
    int64_t base; /* in the pick */
    int64_t last; /* bases of the pick */
    int64_t size; /* of the window */
};

static void see_matches(struct gn_pileup *pileup, const struct gn_pick *pick,
                        const uint8_t *reference, const struct walk *walk, int64_t length) {
    int64_t from = walk->at < 0 ? -walk->at : 0, to = walk->size - walk->at;
    from = from < -walk->base ? -walk->base : from;
    to = to < walk->last - walk->base ? to : walk->last - walk->base;
    to = to < length ? to : length;
    for (int64_t x = from; x < to; x++) {
        uint8_t base = pick->bases[walk->base + x];
        if (base < 4 && base != reference[walk->at + x] &&
            pick->qualities[walk->base + x] >= QUALITY_MIN) {
            pileup->change.at = (uint32_t)(walk->at + x);
            pileup->change.length = pileup->change.base_count = 1;
            pileup->change.bases[0] = base;
            tally(pileup);
        }
    }
}

static void see_gap(struct gn_pileup *pileup, const uint8_t *reference, const struct walk *walk,
                    int64_t deleted, const uint8_t *bases, int64_t inserted) {
    struct gn_change *change = &pileup->change;
    if (walk->at <= 0 || walk->base <= 0 || walk->base + inserted >= walk->last ||
        walk->at + deleted >= walk->size || inserted > INSERTED_MAX) {
        return;
    }
    change->at = (uint32_t)walk->at - 1;
    change->length = (uint32_t)deleted + 1;
    change->base_count = (uint32_t)inserted + 1;
    change->bases[0] = reference[walk->at - 1];
    memcpy(change->bases + 1, bases, (size_t)inserted);
    gn_change_normalise(change, reference, 0);
    tally(pileup);
}

/* Differences of one read inside the window. */
static void look(struct gn_pileup *pileup, const struct gn_picks *picks, const struct gn_pick *pick,
                 const struct gn_region *region, const uint8_t *reference) {
    const struct gn_record *record = pick->record;
    const uint32_t *cigar = (const uint32_t *)gn_at(picks->bin, picks->bin->cigars) + record->cigar;
    struct walk walk = {.at = (int64_t)record->position - region->window,
                        .base = -(int64_t)pick->first,
                        .last = pick->last - pick->first,
                        .size = region->window_length};
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        int64_t length = cigar[i] >> 4;
        uint32_t operation = cigar[i] & 15;
        if (operation == GN_MATCH) {
            see_matches(pileup, pick, reference, &walk, length);
        } else if (operation == GN_INSERT) {
            see_gap(pileup, reference, &walk, 0, pick->bases + walk.base, length);
        } else if (operation == GN_DELETE) {
            see_gap(pileup, reference, &walk, length, pick->bases, 0);
        }
        walk.at += operation == GN_MATCH || operation == GN_DELETE ? length : 0;
        walk.base += operation == GN_DELETE ? 0 : length;
    }
}

static int compare(const void *a, const void *b) {
    const struct seen *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    if (x->length != y->length) {
        return x->length < y->length ? -1 : 1;
    }
    if (x->base_count != y->base_count) {
        return x->base_count < y->base_count ? -1 : 1;
    }
    return memcmp(x->bases, y->bases, x->base_count);
}

/* Whether a change fits beside those of a set. */
static bool fits(const struct gn_pileup *pileup, uint32_t set, uint32_t which) {
    const struct seen *fresh = &pileup->seen[which];
    for (uint32_t i = 0; i < USED_MAX; i++) {
        const struct seen *old = &pileup->seen[i];
        if (set >> i & 1 && fresh->at < old->at + old->length &&
            old->at < fresh->at + fresh->length) {
            return false;
        }
    }
    return true;
}

static uint32_t spell(struct gn_pileup *pileup, const uint8_t *reference, uint32_t length,
                      uint32_t set) {
    uint32_t at = 0, count = 0;
    while (at < length) {
        const struct seen *here = NULL;
        for (uint32_t i = 0; i < USED_MAX; i++) {
            here = set >> i & 1 && pileup->seen[i].at == at ? &pileup->seen[i] : here;
        }
        if (here) {
            memcpy(pileup->path + count, here->bases, here->base_count);
            count += here->base_count;
            at += here->length;
        } else {
            pileup->path[count++] = reference[at++];
        }
    }
    return count;
}

void gn_pileup_paths(struct gn_pileup *pileup, const struct gn_picks *picks,
                     const struct gn_region *region, uint32_t cap,
                     struct gn_haplotypes *haplotypes) {
    const uint8_t *reference = haplotypes->bases[0];
    uint32_t sets[GN_HAPLOTYPE_MAX] = {0}, set_count = 1, used = 0;
    pileup->seen_count = 0;
    for (uint32_t i = 0; i < picks->count; i++) {
        look(pileup, picks, &picks->picks[i], region, reference);
    }
    qsort(pileup->seen, pileup->seen_count, sizeof(pileup->seen[0]), compare);
    while (used < USED_MAX && used < pileup->seen_count && pileup->seen[used].count >= READS_MIN &&
           pileup->seen[used].count * SHARE_MIN >= picks->count) {
        used++;
    }
    for (uint32_t i = 0; i < used; i++) {
        for (uint32_t s = 0, old = set_count; s < old && set_count < cap; s++) {
            if (fits(pileup, sets[s], i)) {
                sets[set_count++] = sets[s] | 1u << i;
            }
        }
    }
    for (uint32_t s = 1; s < set_count; s++) {
        uint32_t length = spell(pileup, reference, region->window_length, sets[s]);
        gn_haplotypes_add(haplotypes, pileup->path, length, cap);
    }
}
