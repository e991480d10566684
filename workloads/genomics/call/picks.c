/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of a region: chosen, thinned, cut to the window, mates reconciled.
 */
#include "genomics/call/picks.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often copying DNA slips in a tandem repeat: times this for each copy more, up to a limit. */
#define SLIP_SINGLE      2.5e-5 /* a repeat of one base */
#define SLIP_SINGLE_MORE 1.6
#define SLIP_UNIT        1e-4 /* of longer units */
#define SLIP_UNIT_MORE   1.2
#define SLIP_MAX         0.2

enum {
    REACH = 10,       /* a read counts that comes so near to the active bases */
    PICK_MIN = 20,    /* bases */
    AGREED_MAX = 45,  /* quality of a base that both mates show */
    GAP_TOP = 42,     /* Phred of a gap's start elsewhere */
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

/* How many of [start, end) lie in the region's window. */
static uint64_t over_window(const struct gn_region *region, uint64_t start, uint64_t end) {
    uint64_t to = (uint64_t)region->window + region->window_length;
    start = start > region->window ? start : region->window;
    end = end < to ? end : to;
    return end > start ? end - start : 0;
}

/* Indices in order of the reads over the region, thinned. bases: of them all, in the window. */
static int find_candidates(struct gn_picks *picks, const struct gn_region *region,
                           uint32_t *ret_count, uint64_t *ret_bases) {
    const struct gn_record *records = gn_at(picks->bin, picks->bin->records);
    const uint32_t *order = gn_at(picks->order, picks->order->order);
    const uint8_t *duplicates = gn_at(picks->order, picks->order->duplicates);
    uint32_t total = picks->bin->record_count, count = 0;
    uint64_t bases = 0;
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
        bases += over_window(region, record->position, (uint64_t)record->position + record->span);
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
    *ret_bases = bases;
    return 0;
}

/* --- cut to the window --------------------------------------------------------------------------
 */
/* One stretch of bases over as many positions: what of it lies in [from, to). */
static void add_match(struct gn_pick *pick, uint32_t from, uint32_t to, uint32_t at, uint32_t base,
                      uint32_t length) {
    uint32_t low = at < from ? from - at : 0, high = at >= to ? 0 : to - at;
    high = high < length ? high : length;
    if (low >= high) {
        return;
    }
    if (pick->last == 0) {
        pick->start = at + low;
        pick->first = base + low;
    }
    pick->last = base + high;
    pick->end = at + high;
}

/* Clipped ends, as far as they would reach. end: behind the read's last aligned position. */
static void reach_out(struct gn_pick *pick, uint32_t from, uint32_t to, uint32_t end, uint32_t head,
                      uint32_t aligned_end, uint32_t tail) {
    uint32_t position = pick->record->position;
    if (position >= from && pick->first == head) {
        pick->first -= head < position - from ? head : position - from;
    }
    if (end <= to && pick->last == aligned_end) {
        pick->last += tail < to - end ? tail : to - end;
    }
}

/* The bases of a read that lie over [from, to), or, where it ends inside, its clipped ends as far
 * as they would reach. False: too few. */
static bool cut(const struct gn_picks *picks, uint32_t from, uint32_t to, struct gn_pick *pick) {
    const struct gn_record *record = pick->record;
    const uint32_t *cigar = (const uint32_t *)gn_at(picks->bin, picks->bin->cigars) + record->cigar;
    uint32_t at = record->position, base = 0, head = 0, tail = 0;
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        uint32_t length = cigar[i] >> 4, operation = cigar[i] & 15;
        if (operation == GN_MATCH) {
            add_match(pick, from, to, at, base, length);
        } else if (operation == GN_CLIP) {
            *(i == 0 ? &head : &tail) = length;
        }
        at += operation == GN_MATCH || operation == GN_DELETE ? length : 0;
        base += operation == GN_DELETE ? 0 : length;
    }
    if (pick->last == 0 || base != record->length) {
        return false;
    }
    reach_out(pick, from, to, at, head, base - tail, tail);
    return pick->last - pick->first >= PICK_MIN;
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

/* Quality of a base that the mate shows too, or shows another one instead. */
static uint8_t agree(uint8_t mine, uint8_t other, bool same) {
    if (!same) {
        return mine > other + 2 ? (uint8_t)(mine - other) : 2;
    }
    uint32_t sum = (uint32_t)mine + other, most = mine > AGREED_MAX ? mine : AGREED_MAX;
    return (uint8_t)(sum < most ? sum : most);
}

/* One of two mates keeps what both cover: the one that covers all that is active. */
static void reconcile(const struct gn_picks *picks, const struct gn_region *region,
                      struct gn_pick *a, struct gn_pick *b) {
    enum { SPAN_MAX = GN_REGION_MAX + 2 * GN_PAD };
    uint16_t in_kept[SPAN_MAX], in_other[SPAN_MAX];
    struct gn_pick *left = a->start <= b->start ? a : b, *right = left == a ? b : a;
    uint32_t from = right->start, to = left->end < right->end ? left->end : right->end;
    if (from >= to || to - from > SPAN_MAX) {
        return;
    }
    bool keep_left = left->end >= right->end || covers(left, region) || !covers(right, region);
    struct gn_pick *kept = keep_left ? left : right, *other = keep_left ? right : left;
    lay_out(picks, kept, from, to, in_kept);
    lay_out(picks, other, from, to, in_other);
    for (uint32_t i = 0; i < to - from; i++) {
        if (in_kept[i] != UINT16_MAX && in_other[i] != UINT16_MAX) {
            uint32_t x = in_kept[i] - kept->first, y = in_other[i] - other->first;
            bool same = kept->bases[x] == other->bases[y];
            kept->qualities[x] = agree(kept->qualities[x], other->qualities[y], same);
        }
    }
    give_up(other, in_other, to - from, keep_left);
    if (keep_left) {
        right->start = to;
    } else {
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
    uint64_t all, kept = 0;
    int rc = find_candidates(picks, region, &count, &all);
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
    for (uint32_t i = 0; i < picks->count; i++) {
        kept += picks->picks[i].end - picks->picks[i].start;
    }
    picks->kept = all > 0 ? (float)((double)kept / (double)all) : 0;
    return 0;
}

/* --- qualities ----------------------------------------------------------------------------------
 */
uint8_t gn_base_quality(uint8_t quality, uint8_t mapping_quality) {
    uint8_t q = quality < mapping_quality ? quality : mapping_quality;
    q = q > 60 ? 60 : q;
    return q < 18 ? 6 : q;
}

/* Copying slips more often the more copies there are; PairHMM adds up what may happen at each base
 * of the repeat. */
static uint8_t gap_quality(uint32_t unit, uint32_t copies) {
    double slips = unit == 1 ? SLIP_SINGLE * pow(SLIP_SINGLE_MORE, copies)
                             : SLIP_UNIT * pow(SLIP_UNIT_MORE, copies);
    double phred = -10 * log10((slips < SLIP_MAX ? slips : SLIP_MAX) / (unit * copies));
    return (uint8_t)(phred > GAP_TOP ? GAP_TOP : phred);
}

void gn_gap_table_fill(struct gn_gap_table *ret_table) {
    memset(ret_table, GAP_TOP, sizeof(*ret_table));
    for (uint32_t unit = 1; unit <= GN_UNIT_MAX; unit++) {
        for (uint32_t copies = unit == 1 ? 4 : 3; copies <= GN_COPIES_MAX; copies++) {
            ret_table->qualities[unit][copies] = gap_quality(unit, copies);
        }
    }
}

void gn_gap_qualities(const struct gn_gap_table *table, const uint8_t *bases, uint32_t length,
                      uint8_t *ret_gaps) {
    memset(ret_gaps, GAP_TOP, length);
    for (uint32_t unit = 1; unit <= GN_UNIT_MAX; unit++) {
        for (uint32_t from = 0; from + unit < length;) {
            uint32_t to = from;
            while (to + unit < length && bases[to + unit] == bases[to]) {
                to++;
            }
            uint32_t copies = (to - from + unit) / unit;
            uint8_t quality =
                table->qualities[unit][copies < GN_COPIES_MAX ? copies : GN_COPIES_MAX];
            for (uint32_t i = from; quality < GAP_TOP && i < to + unit; i++) {
                ret_gaps[i] = quality < ret_gaps[i] ? quality : ret_gaps[i];
            }
            from = to + 1;
        }
    }
}
