/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates of each read out of hits and extensions; the best pair of them; how sure that is.
 *
 * Scores are extend's, with what ends are worth. A hit that no job covered and that has more
 * mismatches than one is a candidate too, and counts against others with its estimate.
 */
#include "genomics/align/pair.h"
#include "genomics/align/extend.h"
#include "genomics/align/place.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CANDIDATE_MAX = GN_HIT_MAX + 8,
    NEAR = 8,           /* starts or ends so near are the same place */
    SCORE_USABLE = 35,  /* less is no place */
    SCORE_CHANCE = 25,  /* what a place that was not seen may have */
    MAPQ_PER_POINT = 4, /* a mismatch more is 20 */
    RIVAL_POINTS = 5,   /* rivals so near to the best rival count as many as it */
};

struct candidate {
    int64_t five_prime; /* of the whole read, clips included */
    uint32_t position, span;
    int32_t score, estimate; /* what it has, and what it may have: not less */
    uint32_t clip_before, clip_after;
    const struct gn_extension *extension; /* NULL: without gaps and clips */
    uint16_t edits;
    bool reverse;
};

/* A read and where it may lie; the best first. */
struct side {
    uint32_t read, length, count;
    struct candidate candidates[CANDIDATE_MAX];
    uint32_t chosen; /* count: unmapped */
    uint8_t quality;
};

struct work {
    const struct gn_index *index;
    const struct gn_reads *reads;
    const struct gn_notes *notes;
    const struct gn_hits *hits;
    const struct gn_job *jobs;
    const struct gn_extension *extensions;
    uint32_t job, job_count; /* the next job */
    struct gn_aligned *aligned;
};

/* --- candidates ------------------------------------------------------------------------------- */

/* A total order, so that nothing depends on where a candidate came from. */
static bool better(const struct candidate *a, const struct candidate *b) {
    if (a->score != b->score) {
        return a->score > b->score;
    }
    if (a->position != b->position) {
        return a->position < b->position;
    }
    return a->reverse != b->reverse ? b->reverse : a->edits < b->edits;
}

static bool near(int64_t a, int64_t b) {
    return a - b < NEAR && b - a < NEAR;
}

/* Whether they are one place: they begin or end at the same base, or nearly. */
static bool same_place(const struct candidate *a, const struct candidate *b) {
    int64_t first = (int64_t)a->position - a->clip_before;
    int64_t second = (int64_t)b->position - b->clip_before;
    int64_t first_end = (int64_t)a->position + a->span + a->clip_after;
    int64_t second_end = (int64_t)b->position + b->span + b->clip_after;
    return a->reverse == b->reverse && (near(first, second) || near(first_end, second_end));
}

/* Keeps the list in order and each place once. */
static void add(struct side *side, const struct candidate *candidate) {
    struct candidate mine = *candidate;
    uint32_t kept = 0;
    for (uint32_t at = 0; at < side->count; at++) {
        struct candidate *other = &side->candidates[at];
        if (!same_place(other, &mine)) {
            side->candidates[kept++] = *other;
        } else if (better(other, &mine)) {
            mine = *other;
        }
    }
    side->count = kept < CANDIDATE_MAX ? kept : CANDIDATE_MAX - 1;
    uint32_t at = side->count++;
    for (; at > 0 && better(&mine, &side->candidates[at - 1]); at--) {
        side->candidates[at] = side->candidates[at - 1];
    }
    side->candidates[at] = mine;
}

static void set_five_prime(struct candidate *candidate) {
    candidate->five_prime =
        candidate->reverse
            ? (int64_t)candidate->position + candidate->span + candidate->clip_after - 1
            : (int64_t)candidate->position - candidate->clip_before;
}

/* A mismatch at an end may lie on the N beside a contig: it is clipped. Two cannot: they would not
 * pay. false: there is no alignment, or not in one contig. */
static bool from_extension(const struct gn_index *index, const struct gn_job *job,
                           const struct gn_extension *extension, struct candidate *ret_candidate) {
    if (extension->cigar_count == 0) {
        return false;
    }
    struct candidate mine = {.position = extension->position,
                             .span = extension->span,
                             .score = extension->score,
                             .estimate = extension->score,
                             .extension = extension,
                             .edits = extension->edits,
                             .reverse = job->reverse};
    uint32_t first = extension->cigar[0], last = extension->cigar[extension->cigar_count - 1];
    mine.clip_before = (first & 15) == GN_CLIP ? first >> 4 : 0;
    mine.clip_after = extension->cigar_count > 1 && (last & 15) == GN_CLIP ? last >> 4 : 0;
    if (gn_contig_of(index, mine.position) == SY_NONE) {
        mine.position++;
        mine.span--;
        mine.clip_before++;
        mine.edits--;
    }
    if (mine.span > 1 && !gn_inside(index, mine.position, mine.span)) {
        mine.span--;
        mine.clip_after++;
        mine.edits--;
    }
    set_five_prime(&mine);
    *ret_candidate = mine;
    return mine.span > 0 && gn_inside(index, mine.position, mine.span);
}

static bool covered(const struct gn_job *jobs, uint32_t count, const struct gn_hit *hit,
                    uint32_t length) {
    for (uint32_t at = 0; at < count; at++) {
        if (jobs[at].reverse == hit->reverse && jobs[at].window <= hit->position &&
            hit->position + (uint64_t)length <=
                (uint64_t)jobs[at].window + jobs[at].window_length) {
            return true;
        }
    }
    return false;
}

/* All candidates of the next read. */
static void collect(struct work *work, uint32_t read, struct side *side) {
    side->read = read;
    side->length = gn_read_at(work->reads, read)->length;
    side->count = 0;
    side->quality = 0;
    const struct gn_job *jobs = work->jobs + work->job;
    uint32_t job_count = 0, hit_count = 0;
    for (; work->job < work->job_count && work->jobs[work->job].read == read; work->job++) {
        struct candidate mine;
        if (from_extension(work->index, &work->jobs[work->job], &work->extensions[work->job],
                           &mine)) {
            add(side, &mine);
        }
        job_count++;
    }
    const struct gn_hit *hits = gn_hits_of(work->hits, read, &hit_count);
    for (uint32_t at = 0; at < hit_count; at++) {
        const struct gn_hit *hit = &hits[at];
        if ((hit->mismatches > 1 && covered(jobs, job_count, hit, side->length)) ||
            !gn_inside(work->index, hit->position, side->length)) {
            continue;
        }
        int32_t ends = 2 * GN_SCORE_END;
        struct candidate mine = {.position = hit->position,
                                 .span = side->length,
                                 .score = (int32_t)side->length - 5 * hit->mismatches + ends,
                                 .estimate = gn_hit_estimate(side->length, hit->mismatches,
                                                             hit->votes, work->index->kmer) +
                                             ends,
                                 .edits = hit->mismatches,
                                 .reverse = hit->reverse};
        set_five_prime(&mine);
        if (mine.estimate >= SCORE_USABLE) {
            add(side, &mine);
        }
    }
}

/* --- the choice ------------------------------------------------------------------------------- */

static bool fit(const struct candidate *a, const struct candidate *b) {
    return gn_fits(a->five_prime, a->reverse, b->five_prime, b->reverse);
}

/* Each side's best usable candidate, or none. */
static uint32_t best_alone(const struct side *side) {
    return side->count > 0 && side->candidates[0].score >= SCORE_USABLE ? 0 : side->count;
}

/* Sets both sides' choice; true: they fit. Candidates are in order, so the first of equal pairs has
 * the lowest places. */
static bool choose(struct side *a, struct side *b) {
    int32_t best = 0;
    a->chosen = best_alone(a);
    b->chosen = best_alone(b);
    int32_t alone = (a->chosen < a->count ? a->candidates[a->chosen].score : 0) +
                    (b->chosen < b->count ? b->candidates[b->chosen].score : 0);
    bool found = false;
    for (uint32_t x = 0; x < a->count; x++) {
        for (uint32_t y = 0; y < b->count; y++) {
            int32_t score = a->candidates[x].score + b->candidates[y].score;
            bool usable =
                a->candidates[x].score >= SCORE_USABLE && b->candidates[y].score >= SCORE_USABLE;
            if (usable && score + GN_UNPAIRED >= alone && score > best &&
                fit(&a->candidates[x], &b->candidates[y])) {
                best = score;
                a->chosen = x;
                b->chosen = y;
                found = true;
            }
        }
    }
    return found;
}

/* What this candidate has together with the best of the mate's that go with it. */
static int32_t together(const struct candidate *mine, int32_t own, const struct side *mate) {
    int32_t best = 0;
    for (uint32_t at = 0; mate && at < mate->count; at++) {
        const struct candidate *other = &mate->candidates[at];
        int32_t score = other->score + (fit(mine, other) ? GN_UNPAIRED : 0);
        best = score > best ? score : best;
    }
    return own + best;
}

/* 4.343 times the logarithm of how many rivals there are, rounded. */
static int32_t crowd(uint32_t rivals) {
    static const uint8_t known[CANDIDATE_MAX + 1] = {
        0, 0, 3, 5, 6, 7, 8, 8, 9, 10, 10, 10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 13, 13, 14, 14};
    return known[rivals];
}

static uint8_t quality(const struct side *side, const struct side *mate) {
    if (side->chosen == side->count) {
        return 0;
    }
    const struct candidate *mine = &side->candidates[side->chosen];
    int32_t rivals[CANDIDATE_MAX], have = together(mine, mine->score, mate);
    int32_t best_rival = have - mine->score + SCORE_CHANCE;
    uint32_t crowded = 0;
    for (uint32_t at = 0; at < side->count; at++) {
        rivals[at] = at == side->chosen
                         ? 0
                         : together(&side->candidates[at], side->candidates[at].estimate, mate);
        best_rival = rivals[at] > best_rival ? rivals[at] : best_rival;
    }
    for (uint32_t at = 0; at < side->count; at++) {
        crowded += at != side->chosen && rivals[at] >= best_rival - RIVAL_POINTS;
    }
    int32_t lead = have - best_rival;
    int32_t value = lead > 0 ? MAPQ_PER_POINT * lead - crowd(crowded) : 0;
    value = value > GN_MAPQ_MAX ? GN_MAPQ_MAX : value;
    if (2 * mine->score < (int32_t)side->length) { /* most of the read lies nowhere */
        value = value * 2 * mine->score / (int32_t)side->length;
    }
    return (uint8_t)(value > 0 ? value : 0);
}

/* --- records ---------------------------------------------------------------------------------- */

static void put(struct gn_aligned *aligned, struct gn_record *record, uint32_t run,
                uint32_t operation) {
    uint32_t *cigars = aligned->cigars + record->cigar;
    uint32_t count = record->cigar_count;
    if (run > 0 && count > 0 && (cigars[count - 1] & 15) == operation) {
        cigars[count - 1] += run << 4;
    } else if (run > 0) {
        cigars[count] = run << 4 | operation;
        record->cigar_count++;
        aligned->cigar_total++;
    }
}

static void put_cigar(struct gn_aligned *aligned, struct gn_record *record,
                      const struct candidate *candidate, uint32_t length) {
    record->cigar = aligned->cigar_total;
    const struct gn_extension *extension = candidate->extension;
    if (!extension) {
        put(aligned, record, length, GN_MATCH);
        return;
    }
    uint32_t first = extension->cigar[0], last = extension->cigar[extension->cigar_count - 1];
    uint32_t cut_first = candidate->clip_before - ((first & 15) == GN_CLIP ? first >> 4 : 0);
    uint32_t cut_last = candidate->clip_after -
                        (extension->cigar_count > 1 && (last & 15) == GN_CLIP ? last >> 4 : 0);
    put(aligned, record, candidate->clip_before, GN_CLIP);
    for (uint32_t at = 0; at < extension->cigar_count; at++) {
        uint32_t run = extension->cigar[at] >> 4, operation = extension->cigar[at] & 15;
        if (operation == GN_CLIP) {
            continue;
        }
        if (cut_first > 0) {
            run -= cut_first;
            cut_first = 0;
        }
        bool ends = at + 1 == extension->cigar_count || (extension->cigar[at + 1] & 15) == GN_CLIP;
        put(aligned, record, ends ? run - cut_last : run, operation);
    }
    put(aligned, record, candidate->clip_after, GN_CLIP);
}

static const struct candidate *place_of(const struct side *side) {
    return side && side->chosen < side->count ? &side->candidates[side->chosen] : NULL;
}

static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

/* Of the 5' ends and strands there are, whichever mate has which. */
static uint64_t key_of(const struct candidate *a, const struct candidate *b) {
    uint64_t ends[2] = {0, 0};
    for (int at = 0; at < 2; at++) {
        const struct candidate *one = at ? b : a;
        ends[at] = one ? (uint64_t)(one->five_prime + GN_GAP) * 2 + one->reverse + 1 : 0;
    }
    if (ends[0] == 0 && ends[1] == 0) {
        return 0;
    }
    uint64_t low = ends[0] < ends[1] ? ends[0] : ends[1];
    uint64_t key = mix(mix(low + 0x9e3779b97f4a7c15u) + (ends[0] ^ ends[1] ^ low));
    return key ? key : 1;
}

static uint32_t sum_qualities(const struct work *work, const struct side *side) {
    uint32_t sum = 0;
    if (work->notes && side) {
        const uint8_t *qualities =
            work->notes->qualities + gn_read_at(work->reads, side->read)->bases;
        for (uint32_t at = 0; at < side->length; at++) {
            sum += qualities[at] >= GN_QUALITY_COUNTED ? qualities[at] : 0;
        }
    }
    return sum;
}

/* From the leftmost to the rightmost aligned base, of mates in one contig. */
static int32_t template_length(const struct gn_index *index, const struct candidate *mine,
                               const struct candidate *other, bool first) {
    if (gn_contig_of(index, mine->position) != gn_contig_of(index, other->position)) {
        return 0;
    }
    int64_t end = (int64_t)mine->position + mine->span,
            end2 = (int64_t)other->position + other->span;
    int64_t low = mine->position < other->position ? mine->position : other->position;
    int64_t length = (end > end2 ? end : end2) - low;
    bool left = mine->position != other->position ? mine->position < other->position : first;
    return (int32_t)(left ? length : -length);
}

static uint16_t flags_of(const struct candidate *mine, const struct candidate *other, bool paired,
                         bool first, bool proper) {
    uint32_t flags = mine ? 0 : GN_FLAG_UNMAPPED;
    flags |= mine && mine->reverse ? GN_FLAG_REVERSE : 0;
    if (paired) {
        flags |= GN_FLAG_PAIRED | (first ? GN_FLAG_FIRST : GN_FLAG_SECOND);
        flags |= proper ? GN_FLAG_PROPER : 0;
        flags |= other ? 0 : GN_FLAG_MATE_UNMAPPED;
        flags |= other && other->reverse ? GN_FLAG_MATE_REVERSE : 0;
    }
    return (uint16_t)flags;
}

static void emit(const struct work *work, const struct side *side, const struct side *mate,
                 bool proper, uint64_t key, uint32_t quality_sum) {
    struct gn_aligned *aligned = work->aligned;
    const struct candidate *mine = place_of(side), *other = place_of(mate);
    bool first = side->read % 2 == 0;
    struct gn_record record = {
        .position = mine    ? mine->position
                    : other ? other->position
                            : UINT32_MAX,
        .span = mine ? mine->span : 0,
        .serial = work->reads->serial + side->read,
        .pair_key = mine ? key : 0, /* what has no place is nobody's duplicate */
        .quality_sum = quality_sum,
        .mate_position = other          ? other->position
                         : mine && mate ? mine->position
                                        : UINT32_MAX,
        .template_length = mine && other ? template_length(work->index, mine, other, first) : 0,
        .flags = flags_of(mine, other, mate != NULL, first, proper),
        .length = (uint16_t)side->length,
        .edits = mine ? mine->edits : 0,
        .mapping_quality = side->quality,
        .cigar = aligned->cigar_total,
        .bases = gn_read_at(work->reads, side->read)->bases,
        .name = side->read};
    if (mine) {
        put_cigar(aligned, &record, mine, side->length);
    }
    aligned->records[side->read] = record;
}

static void place_pair(struct work *work, uint32_t read, bool mates, struct side *sides) {
    struct side *first = &sides[0], *second = mates ? &sides[1] : NULL;
    bool proper = false;
    collect(work, read, first);
    if (second) {
        collect(work, read + 1, second);
        proper = choose(first, second);
        second->quality = quality(second, first);
    } else {
        first->chosen = best_alone(first);
    }
    first->quality = quality(first, second);
    uint64_t key = key_of(place_of(first), place_of(second));
    uint32_t sum = sum_qualities(work, first) + sum_qualities(work, second);
    emit(work, first, second, proper, key, sum);
    if (second) {
        emit(work, second, first, proper, key, sum);
    }
}

int gn_pair(const struct gn_index *index, const struct gn_reads *reads,
            const struct gn_notes *notes, const struct gn_hits *hits, const struct gn_jobs *jobs,
            const struct gn_extension *extensions, struct gn_aligned **ret_aligned) {
    uint64_t head = gn_round(sizeof(struct gn_aligned));
    uint64_t records = gn_round(reads->read_count * sizeof(struct gn_record));
    uint64_t bytes =
        head + records + (uint64_t)reads->read_count * (GN_CIGAR_MAX + 2) * sizeof(uint32_t);
    struct gn_aligned *aligned = malloc(bytes);
    struct side *sides = malloc(2 * sizeof(*sides));
    if (!aligned || !sides) {
        free(aligned);
        free(sides);
        return -ENOMEM;
    }
    *aligned = (struct gn_aligned){.bytes = bytes,
                                   .count = reads->read_count,
                                   .records = gn_in(aligned, head),
                                   .cigars = gn_in(aligned, head + records)};
    struct work work = {.index = index,
                        .reads = reads,
                        .notes = notes,
                        .hits = hits,
                        .jobs = gn_at(jobs, jobs->jobs),
                        .extensions = extensions,
                        .job_count = jobs->job_count,
                        .aligned = aligned};
    for (uint32_t read = 0; read < reads->read_count; read += reads->paired ? 2 : 1) {
        place_pair(&work, read, reads->paired && read + 1 < reads->read_count, sides);
    }
    free(sides);
    *ret_aligned = aligned;
    return 0;
}
