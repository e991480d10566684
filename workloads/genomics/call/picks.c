/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of a region: chosen, thinned, cut to the window, mates reconciled.
 */
#include "genomics/call/picks.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    REACH = 10,       /* a read counts that comes so near to the active bases */
    PICK_MIN = 20,    /* bases */
    AGREED_MAX = 45,  /* quality of a base that both mates show */
    UNIT_MAX = 4,     /* bases of a tandem repeat's unit */
    FLAGS_OUT = 0xF04 /* unmapped, secondary, failed, duplicate, supplementary */
};

int gn_picks_init(struct gn_picks *picks, const struct gn_bin *bin, const struct gn_order *order,
                  const struct gn_call_options *options) {
    const struct gn_record *records = gn_at(bin, bin->records);
    *picks = (struct gn_picks){.bin = bin,
                               .order = order,
                               .room = options->read_cap,
                               .mapping_quality = options->mapping_quality};
    for (uint32_t i = 0; i < bin->record_count; i++) {
        picks->span_max = records[i].span > picks->span_max ? records[i].span : picks->span_max;
    }
    picks->picks = malloc((picks->room + 1) * sizeof(*picks->picks));
    picks->qualities = malloc((size_t)(picks->room + 1) * GN_READ_MAX);
    if (!picks->picks || !picks->qualities) {
        gn_picks_finish(picks);
        return -ENOMEM;
    }
    return 0;
}

void gn_picks_finish(struct gn_picks *picks) {
    free(picks->picks);
    free(picks->qualities);
    free(picks->keys);
    free(picks->candidates);
}

/* --- which reads --------------------------------------------------------------------------------
 */
static uint64_t hash(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static int compare_keys(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    if (x[0] != y[0]) {
        return x[0] < y[0] ? -1 : 1;
    }
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

static int compare_indices(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int more_candidates(struct gn_picks *picks) {
    uint32_t room = picks->candidate_room ? 2 * picks->candidate_room : 1024;
    uint32_t *candidates = realloc(picks->candidates, room * sizeof(*candidates));
    if (!candidates) {
        return -ENOMEM;
    }
    picks->candidates = candidates;
    uint64_t *keys = realloc(picks->keys, 2 * (size_t)room * sizeof(*keys));
    if (!keys) {
        return -ENOMEM;
    }
    picks->keys = keys;
    picks->candidate_room = room;
    return 0;
}

static bool usable(const struct gn_record *record, uint32_t mapping_quality) {
    return !(record->flags & FLAGS_OUT) && record->mapping_quality >= mapping_quality &&
           record->cigar_count > 0 && record->length >= PICK_MIN && record->length <= GN_READ_MAX;
}

/* Indices in order of the reads over the region, thinned. */
static int find_candidates(struct gn_picks *picks, const struct gn_region *region,
                           uint32_t *ret_count) {
    const struct gn_record *records = gn_at(picks->bin, picks->bin->records);
    const uint32_t *order = gn_at(picks->order, picks->order->order);
    const uint8_t *duplicates = gn_at(picks->order, picks->order->duplicates);
    uint32_t total = picks->bin->record_count, count = 0;
    uint64_t from = region->start - REACH, to = (uint64_t)region->end + REACH;
    while (picks->low < total &&
           (uint64_t)records[order[picks->low]].position + picks->span_max <= from) {
        picks->low++;
    }
    for (uint32_t i = picks->low; i < total; i++) {
        const struct gn_record *record = &records[order[i]];
        if (record->position >= to) {
            break;
        }
        if ((uint64_t)record->position + record->span <= from || duplicates[order[i]] ||
            !usable(record, picks->mapping_quality)) {
            continue;
        }
        if (count == picks->candidate_room) {
            int rc = more_candidates(picks);
            if (rc < 0) {
                return rc;
            }
        }
        picks->candidates[count] = i;
        picks->keys[2 * count] = hash(record->serial >> 1);
        picks->keys[2 * count + 1] = i;
        count++;
    }
    if (count > picks->room) {
        qsort(picks->keys, count, 2 * sizeof(*picks->keys), compare_keys);
        count = picks->room;
        for (uint32_t i = 0; i < count; i++) {
            picks->candidates[i] = (uint32_t)picks->keys[2 * i + 1];
        }
        qsort(picks->candidates, count, sizeof(*picks->candidates), compare_indices);
    }
    *ret_count = count;
    return 0;
}

/* --- cut to the window --------------------------------------------------------------------------
 */
/* The bases of a read that lie over [from, to), or, where it ends inside, its clipped ends as far
 * as they would reach. False: too few. */
static bool cut(const struct gn_picks *picks, uint32_t from, uint32_t to, struct gn_pick *pick) {
    const struct gn_record *record = pick->record;
    const uint32_t *cigar = (const uint32_t *)gn_at(picks->bin, picks->bin->cigars) + record->cigar;
    uint32_t at = record->position, base = 0, first = UINT32_MAX, last = 0, head = 0, tail = 0;
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        uint32_t length = cigar[i] >> 4, operation = cigar[i] & 15;
        if (operation == GN_MATCH) {
            uint32_t low = at < from ? from - at : 0, high = at >= to ? 0 : to - at;
            high = high < length ? high : length;
            if (low < high) {
                pick->start = first == UINT32_MAX ? at + low : pick->start;
                first = first == UINT32_MAX ? base + low : first;
                last = base + high;
                pick->end = at + high;
            }
            at += length;
            base += length;
        } else if (operation == GN_DELETE) {
            at += length;
        } else {
            head = i == 0 ? length : head;
            tail = operation == GN_CLIP && i > 0 ? length : 0;
            base += length;
        }
    }
    if (first == UINT32_MAX || base != record->length) {
        return false;
    }
    if (record->position >= from && first == head) {
        uint32_t room = record->position - from;
        first -= head < room ? head : room;
    }
    if (at <= to && last == base - tail) {
        uint32_t room = to - at;
        last += tail < room ? tail : room;
    }
    pick->first = first;
    pick->last = last;
    return last - first >= PICK_MIN;
}

/* --- mates --------------------------------------------------------------------------------------
 */
/* Which base of the pick lies over a position: places[position - from], UINT16_MAX: none. */
static void lay_out(const struct gn_picks *picks, const struct gn_pick *pick, uint32_t from,
                    uint32_t to, uint16_t *places) {
    const struct gn_record *record = pick->record;
    const uint32_t *cigar = (const uint32_t *)gn_at(picks->bin, picks->bin->cigars) + record->cigar;
    uint32_t at = record->position, base = 0;
    memset(places, 0xff, (to - from) * sizeof(*places));
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        uint32_t length = cigar[i] >> 4, operation = cigar[i] & 15;
        for (uint32_t x = 0; operation == GN_MATCH && x < length; x++) {
            if (at + x >= from && at + x < to && base + x >= pick->first && base + x < pick->last) {
                places[at + x - from] = (uint16_t)(base + x);
            }
        }
        at += operation == GN_MATCH || operation == GN_DELETE ? length : 0;
        base += operation == GN_DELETE ? 0 : length;
    }
}

/* The first base (or, backwards, the one behind the last) that lies over no position of the mate.
 */
static void give_up(struct gn_pick *pick, const uint16_t *places, uint32_t count, bool left) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = places[left ? count - 1 - i : i];
        if (place == UINT16_MAX) {
            continue;
        }
        if (left) {
            uint32_t drop = place + 1 - pick->first;
            pick->bases += drop;
            pick->qualities += drop;
            pick->first += drop;
        } else {
            pick->last = place;
        }
        return;
    }
}

static bool covers(const struct gn_pick *pick, const struct gn_region *region) {
    return pick->start + REACH / 2 <= region->start && pick->end >= region->end + REACH / 2;
}

/* One of two mates keeps what both cover: the one that covers all that is active. */
static void reconcile(const struct gn_picks *picks, const struct gn_region *region,
                      struct gn_pick *a, struct gn_pick *b) {
    enum { SPAN_MAX = GN_REGION_MAX + 2 * GN_PAD };
    uint16_t in_left[SPAN_MAX], in_right[SPAN_MAX];
    struct gn_pick *left = a->start <= b->start ? a : b, *right = left == a ? b : a;
    uint32_t from = right->start, to = left->end < right->end ? left->end : right->end;
    if (from >= to || to - from > SPAN_MAX) {
        return;
    }
    bool keep_left = left->end >= right->end || covers(left, region) || !covers(right, region);
    struct gn_pick *kept = keep_left ? left : right;
    lay_out(picks, left, from, to, in_left);
    lay_out(picks, right, from, to, in_right);
    for (uint32_t i = 0; i < to - from; i++) {
        if (in_left[i] == UINT16_MAX || in_right[i] == UINT16_MAX) {
            continue;
        }
        uint32_t l = in_left[i] - left->first, r = in_right[i] - right->first;
        int mine = keep_left ? left->qualities[l] : right->qualities[r];
        int other = keep_left ? right->qualities[r] : left->qualities[l];
        bool same = left->bases[l] == right->bases[r];
        int quality = same ? (mine + other > AGREED_MAX ? AGREED_MAX : mine + other)
                           : (mine - other > 2 ? mine - other : 2);
        kept->qualities[keep_left ? l : r] = (uint8_t)(quality > mine || !same ? quality : mine);
    }
    if (keep_left) {
        give_up(right, in_right, to - from, true);
        right->start = to;
    } else {
        give_up(left, in_left, to - from, false);
        left->end = from;
    }
}

static void find_mates(struct gn_picks *picks, const struct gn_region *region) {
    uint64_t *keys = picks->keys;
    if (picks->count < 2) {
        return;
    }
    for (uint32_t i = 0; i < picks->count; i++) {
        keys[2 * i] = picks->picks[i].record->serial;
        keys[2 * i + 1] = i;
    }
    qsort(keys, picks->count, 2 * sizeof(*keys), compare_keys);
    for (uint32_t i = 0; i + 1 < picks->count; i++) {
        if ((keys[2 * i] ^ 1) == keys[2 * i + 2] && !(keys[2 * i] & 1)) {
            uint32_t a = (uint32_t)keys[2 * i + 1], b = (uint32_t)keys[2 * i + 3];
            if (!(picks->picks[a].record->flags & 1)) {
                continue;
            }
            picks->picks[a].mate = b;
            picks->picks[b].mate = a;
            reconcile(picks, region, &picks->picks[a], &picks->picks[b]);
        }
    }
}

/* Takes out what became too short. */
static void close_up(struct gn_picks *picks) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < picks->count; i++) {
        struct gn_pick *pick = &picks->picks[i];
        bool stays = pick->last >= pick->first + PICK_MIN;
        if (pick->mate != UINT32_MAX) {
            /* The mate's place: already moved if it is before, else as it was. */
            picks->picks[pick->mate].mate = stays ? kept : UINT32_MAX;
        }
        if (stays) {
            picks->picks[kept++] = *pick;
        }
    }
    picks->count = kept;
}

int gn_picks_take(struct gn_picks *picks, const struct gn_region *region) {
    const struct gn_record *records = gn_at(picks->bin, picks->bin->records);
    const uint32_t *order = gn_at(picks->order, picks->order->order);
    const uint8_t *bases = gn_at(picks->bin, picks->bin->bases);
    const uint8_t *qualities = gn_at(picks->bin, picks->bin->qualities);
    uint32_t count, to = region->window + region->window_length;
    uint8_t *copy = picks->qualities;
    int rc = find_candidates(picks, region, &count);
    if (rc < 0) {
        return rc;
    }
    picks->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct gn_pick *pick = &picks->picks[picks->count];
        const struct gn_record *record = &records[order[picks->candidates[i]]];
        *pick = (struct gn_pick){.record = record, .mate = UINT32_MAX};
        if (!cut(picks, region->window, to, pick)) {
            continue;
        }
        pick->bases = bases + record->bases + pick->first;
        pick->qualities = copy;
        memcpy(copy, qualities + record->bases + pick->first, pick->last - pick->first);
        copy += pick->last - pick->first;
        picks->count++;
    }
    find_mates(picks, region);
    close_up(picks);
    return 0;
}

/* --- qualities ----------------------------------------------------------------------------------
 */
uint8_t gn_base_quality(uint8_t quality, uint8_t mapping_quality) {
    uint8_t q = quality < mapping_quality ? quality : mapping_quality;
    q = q > 60 ? 60 : q;
    return q < 18 ? 6 : q;
}

static uint8_t gap_quality(uint32_t copies) {
    double q = 41 - exp((double)(copies < 40 ? copies : 40) * 0.1973);
    return (uint8_t)(q < 10 ? 10 : q);
}

void gn_gap_qualities(const uint8_t *bases, uint32_t length, uint8_t *ret_gaps) {
    uint8_t copies[GN_READ_MAX], table[GN_READ_MAX + 1];
    memset(copies, 1, sizeof(copies));
    for (uint32_t unit = 1; unit <= UNIT_MAX; unit++) {
        for (uint32_t from = 0; from + unit < length;) {
            uint32_t to = from;
            while (to + unit < length && bases[to + unit] == bases[to]) {
                to++;
            }
            uint32_t count = (to - from + unit) / unit;
            count = count > 255 ? 255 : count;
            for (uint32_t i = from; count > (unit == 1 ? 1 : 2) && i < to + unit; i++) {
                copies[i] = count > copies[i] ? (uint8_t)count : copies[i];
            }
            from = to + 1;
        }
    }
    memset(table, 0, sizeof(table));
    for (uint32_t i = 0; i < length; i++) {
        if (table[copies[i]] == 0) {
            table[copies[i]] = gap_quality(copies[i]);
        }
        ret_gaps[i] = table[copies[i]];
    }
}
