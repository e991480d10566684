/* SPDX-License-Identifier: Apache-2.0
 *
 * Global alignment with affine gaps (a match 200, a mismatch -150, a gap of n costs 249 + 11 n).
 * What two haplotypes share with the reference at both ends is not aligned, but for a few bases;
 * with at most two mismatches and the same length no gap can do better.
 */
#include "genomics/call/events.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MATCH = 200,
    MISMATCH = -150,
    GAP_OPEN = -260,
    GAP_EXTEND = -11,
    LEAST = -100000000,
    FLANK = 8,
    UNIT_MAX = 4, /* bases of a tandem repeat's unit */
    SIDE = GN_PATH_MAX + 1,
    DIAGONAL = 0,
    DELETED = 1,
    INSERTED = 2,
    DELETED_ON = 4, /* a gap that goes on */
    INSERTED_ON = 8,
};

struct gn_aligner {
    int32_t score[SIDE], deleted[SIDE];
    uint8_t trace[SIDE * SIDE];
    uint8_t operations[2 * SIDE]; /* of one alignment, backwards */
    uint32_t operation_count;
};

int gn_aligner_create(struct gn_aligner **ret_aligner) {
    struct gn_aligner *aligner = malloc(sizeof(*aligner));
    if (!aligner) {
        return -ENOMEM;
    }
    *ret_aligner = aligner;
    return 0;
}

void gn_aligner_free(struct gn_aligner *aligner) {
    free(aligner);
}

static void fill(struct gn_aligner *aligner, const uint8_t *x, uint32_t n, const uint8_t *y,
                 uint32_t m) {
    int32_t *score = aligner->score, *deleted = aligner->deleted;
    uint8_t *trace = aligner->trace;
    score[0] = 0;
    for (uint32_t j = 1; j <= m; j++) {
        score[j] = GAP_OPEN + GAP_EXTEND * (int32_t)(j - 1);
        deleted[j] = LEAST;
        trace[j] = INSERTED | (j > 1 ? INSERTED_ON : 0);
    }
    for (uint32_t i = 1; i <= n; i++) {
        uint8_t *row = trace + (size_t)i * (m + 1);
        int32_t diagonal = score[0], inserted = LEAST;
        score[0] = GAP_OPEN + GAP_EXTEND * (int32_t)(i - 1);
        row[0] = DELETED | (i > 1 ? DELETED_ON : 0);
        for (uint32_t j = 1; j <= m; j++) {
            uint8_t how = DIAGONAL, on = 0;
            int32_t longer = deleted[j] + GAP_EXTEND, fresh = score[j] + GAP_OPEN;
            deleted[j] = longer >= fresh ? longer : fresh;
            on |= longer >= fresh ? DELETED_ON : 0;
            longer = inserted + GAP_EXTEND;
            fresh = score[j - 1] + GAP_OPEN;
            inserted = longer >= fresh ? longer : fresh;
            on |= longer >= fresh ? INSERTED_ON : 0;
            int32_t best = diagonal + (x[i - 1] == y[j - 1] ? MATCH : MISMATCH);
            diagonal = score[j];
            if (deleted[j] > best) {
                best = deleted[j];
                how = DELETED;
            }
            if (inserted > best) {
                best = inserted;
                how = INSERTED;
            }
            score[j] = best;
            row[j] = how | on;
        }
    }
}

static void trace_back(struct gn_aligner *aligner, uint32_t n, uint32_t m) {
    uint32_t i = n, j = m, count = 0;
    uint8_t how = DIAGONAL;
    while (i > 0 || j > 0) {
        uint8_t here = aligner->trace[(size_t)i * (m + 1) + j];
        if (how == DIAGONAL) {
            how = here & 3;
        }
        aligner->operations[count++] = how;
        if (how == DIAGONAL) {
            i--;
            j--;
        } else if (how == DELETED) {
            how = here & DELETED_ON ? DELETED : DIAGONAL;
            i--;
        } else {
            how = here & INSERTED_ON ? INSERTED : DIAGONAL;
            j--;
        }
    }
    aligner->operation_count = count;
}

void gn_change_normalise(struct gn_change *change, const uint8_t *reference, uint32_t floor) {
    while (change->length + change->base_count > 2 && change->length > 0 &&
           change->base_count > 0 &&
           reference[change->at + change->length - 1] == change->bases[change->base_count - 1]) {
        if (change->length == 1 || change->base_count == 1) {
            if (change->at <= floor) {
                break;
            }
            change->at--;
            memmove(change->bases + 1, change->bases, change->base_count);
            change->bases[0] = reference[change->at];
            change->length++;
            change->base_count++;
        }
        change->length--;
        change->base_count--;
    }
    while (change->length > 1 && change->base_count > 1 &&
           reference[change->at] == change->bases[0]) {
        change->at++;
        change->length--;
        change->base_count--;
        memmove(change->bases, change->bases + 1, change->base_count);
    }
}

static int compare(const struct gn_events *events, const struct gn_event *a,
                   const struct gn_event *b) {
    if (a->position != b->position) {
        return a->position < b->position ? -1 : 1;
    }
    if (a->reference_length != b->reference_length) {
        return a->reference_length < b->reference_length ? -1 : 1;
    }
    if (a->alternative_length != b->alternative_length) {
        return a->alternative_length < b->alternative_length ? -1 : 1;
    }
    return memcmp(events->bases + a->bases, events->bases + b->bases, a->alternative_length);
}

/* False: no room for it. */
static bool keep(struct gn_events *events, uint32_t window, const struct gn_change *change,
                 uint32_t haplotype) {
    if (events->count == GN_EVENT_MAX ||
        events->base_count + change->base_count > sizeof(events->bases)) {
        return false;
    }
    struct gn_event event = {.position = window + change->at,
                             .reference_length = (uint16_t)change->length,
                             .alternative_length = (uint16_t)change->base_count,
                             .bases = events->base_count};
    memcpy(events->bases + event.bases, change->bases, change->base_count);
    uint32_t at = 0;
    while (at < events->count && compare(events, &events->events[at], &event) != 0) {
        at++;
    }
    if (at == events->count) {
        events->events[events->count++] = event;
        events->base_count += change->base_count;
    }
    events->carried[haplotype][at] = 1;
    return true;
}

/* x, y: what is aligned of reference and haplotype; both begin at offset in them. */
static bool collect(struct gn_aligner *aligner, const uint8_t *reference, const uint8_t *path,
                    uint32_t offset, uint32_t window, uint32_t haplotype,
                    struct gn_events *events) {
    uint32_t i = offset, j = offset, floor = 0;
    struct gn_change change;
    for (uint32_t at = aligner->operation_count; at > 0;) {
        bool gap = aligner->operations[at - 1] != DIAGONAL;
        change.at = i;
        change.length = change.base_count = 0;
        if (!gap) {
            at--;
            change.length = change.base_count = 1;
            change.bases[0] = path[j++];
            if (reference[i++] == change.bases[0]) {
                continue;
            }
        } else {
            if (i > 0) { /* the base before; a window never begins with a gap */
                change.at--;
                change.length++;
                change.bases[change.base_count++] = reference[change.at];
            }
            while (at > 0 && aligner->operations[at - 1] != DIAGONAL) {
                if (aligner->operations[--at] == DELETED) {
                    change.length++;
                    i++;
                } else {
                    change.bases[change.base_count++] = path[j++];
                }
            }
            gn_change_normalise(&change, reference, floor);
        }
        if (!keep(events, window, &change, haplotype)) {
            return false;
        }
        bool single = change.length == 1 && change.base_count == 1;
        floor = change.at + (single ? 0 : change.length);
    }
    return true;
}

static bool events_of(struct gn_aligner *aligner, uint32_t window,
                      const struct gn_haplotypes *haplotypes, uint32_t which,
                      struct gn_events *events) {
    const uint8_t *x = haplotypes->bases[0], *y = haplotypes->bases[which];
    uint32_t n = haplotypes->lengths[0], m = haplotypes->lengths[which];
    uint32_t head = 0, tail = 0, shorter = n < m ? n : m, different = 0;
    while (head < shorter && x[head] == y[head]) {
        head++;
    }
    while (tail < shorter - head && x[n - 1 - tail] == y[m - 1 - tail]) {
        tail++;
    }
    head = head > FLANK ? head - FLANK : 0;
    tail = tail > FLANK ? tail - FLANK : 0;
    n -= head + tail;
    m -= head + tail;
    for (uint32_t i = 0; n == m && i < n; i++) {
        different += x[head + i] != y[head + i];
    }
    if (n == m && different <= 2) {
        memset(aligner->operations, DIAGONAL, n);
        aligner->operation_count = n;
    } else {
        fill(aligner, x + head, n, y + head, m);
        trace_back(aligner, n, m);
    }
    return collect(aligner, x, y, head, window, which, events);
}

static void sort(struct gn_events *events, uint32_t haplotype_count) {
    for (uint32_t i = 1; i < events->count; i++) {
        for (uint32_t at = i;
             at > 0 && compare(events, &events->events[at], &events->events[at - 1]) < 0; at--) {
            struct gn_event event = events->events[at];
            events->events[at] = events->events[at - 1];
            events->events[at - 1] = event;
            for (uint32_t h = 0; h < haplotype_count; h++) {
                uint8_t has = events->carried[h][at];
                events->carried[h][at] = events->carried[h][at - 1];
                events->carried[h][at - 1] = has;
            }
        }
    }
}

/* The tandem repeat behind an indel's first base, if the indel is of whole units. */
static void find_repeat(struct gn_event *event, const uint8_t *reference, uint32_t length,
                        uint32_t window) {
    uint32_t from = event->position - window + 1;
    int32_t change = (int32_t)event->alternative_length - event->reference_length;
    event->unit = event->copies = 0;
    if (change == 0 || (event->reference_length > 1 && event->alternative_length > 1)) {
        return;
    }
    for (uint32_t unit = 1; unit <= UNIT_MAX && event->unit == 0; unit++) {
        uint32_t to = from + unit;
        while (to < length && reference[to] == reference[to - unit]) {
            to++;
        }
        uint32_t copies = (to - from) / unit;
        if (change % (int32_t)unit == 0 && copies >= 3) {
            event->unit = (uint16_t)unit;
            event->copies = (uint16_t)copies;
        }
    }
}

void gn_events_find(struct gn_aligner *aligner, uint32_t window, struct gn_haplotypes *haplotypes,
                    struct gn_events *events) {
    uint32_t kept = 1;
    events->count = events->base_count = 0;
    memset(events->carried[0], 0, sizeof(events->carried[0]));
    for (uint32_t h = 1; h < haplotypes->count; h++) {
        if (h != kept) {
            haplotypes->lengths[kept] = haplotypes->lengths[h];
            memcpy(haplotypes->bases[kept], haplotypes->bases[h], haplotypes->lengths[h]);
        }
        memset(events->carried[kept], 0, sizeof(events->carried[kept]));
        kept += events_of(aligner, window, haplotypes, kept, events);
    }
    haplotypes->count = kept;
    sort(events, kept);
    for (uint32_t i = 0; i < events->count; i++) {
        find_repeat(&events->events[i], haplotypes->bases[0], haplotypes->lengths[0], window);
    }
}
