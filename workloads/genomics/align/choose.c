/* SPDX-License-Identifier: Apache-2.0
 *
 * Which alignments with gaps are worth their time. Estimates are those of map_rule.h, in the units
 * of extend's scores without what ends are worth.
 */
#include "genomics/align/choose.h"
#include "genomics/align/place.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACE_MAX = 4,     /* jobs of one read at its own places */
    RESCUE_MAX = 4,    /* and at those that its mate's places let expect */
    PLACE_BELOW = 40,  /* places that seem so much worse than the best are left alone */
    RESCUE_BELOW = 10, /* the same for those of the mate */
    MATE_BONUS = 40,   /* for a place that fits a good one of the mate */
    MATE_BELOW = 20,   /* good: not so much worse than the mate's best */
    MERGE_BASES = 200, /* places so near are one job: a long gap may join them */
};

/* A read and its places. */
struct side {
    uint32_t read, length, count;
    const struct gn_hit *hits;
    int32_t estimates[GN_HIT_MAX], best;
    bool settled;
};

struct list {
    const struct gn_index *index;
    struct gn_job *jobs;
    uint32_t count;
    uint32_t first; /* job of the read at hand */
};

static void look(const struct gn_index *index, const struct gn_reads *reads,
                 const struct gn_hits *hits, uint32_t read, struct side *ret_side) {
    *ret_side = (struct side){.read = read, .length = gn_read_at(reads, read)->length};
    ret_side->hits = gn_hits_of(hits, read, &ret_side->count);
    for (uint32_t at = 0; at < ret_side->count; at++) {
        const struct gn_hit *hit = &ret_side->hits[at];
        int32_t estimate =
            gn_hit_estimate(ret_side->length, hit->mismatches, hit->votes, index->kmer);
        ret_side->estimates[at] = estimate;
        ret_side->best = at == 0 || estimate > ret_side->best ? estimate : ret_side->best;
    }
    ret_side->settled =
        ret_side->count > 0 && gn_settled(index, ret_side->length, &ret_side->hits[0]);
}

/* [from, to) is cut to what there is of the reference. */
static void add(struct list *list, uint32_t read, bool reverse, int64_t from, int64_t to) {
    int64_t end = (int64_t)list->index->length;
    from = from < 0 ? 0 : from;
    to = to > end ? end : to;
    for (uint32_t at = list->first; at < list->count; at++) {
        struct gn_job *job = &list->jobs[at];
        int64_t low = job->window < from ? (int64_t)job->window : from;
        int64_t high = (int64_t)job->window + job->window_length;
        int64_t near = (int64_t)job->window - from;
        high = high > to ? high : to;
        bool within = from >= job->window && to <= (int64_t)job->window + job->window_length;
        if (job->reverse == reverse && (within || (near <= MERGE_BASES && near >= -MERGE_BASES)) &&
            high - low <= GN_WINDOW_MAX) {
            job->window = (uint32_t)low;
            job->window_length = (uint16_t)(high - low);
            return;
        }
    }
    if (to > from && to - from <= GN_WINDOW_MAX) {
        list->jobs[list->count++] = (struct gn_job){.read = read,
                                                    .window = (uint32_t)from,
                                                    .window_length = (uint16_t)(to - from),
                                                    .reverse = reverse};
    }
}

/* Gaps of more bases than that cost more than the mismatches that they could spare. */
static int64_t margin(const struct gn_hit *hit) {
    int64_t bases = 5 * (int64_t)hit->mismatches - 6;
    return bases < GN_MARGIN_MIN ? GN_MARGIN_MIN : bases > GN_MARGIN_MAX ? GN_MARGIN_MAX : bases;
}

/* Whether a place of mine fits a good one of the mate. */
static bool has_mate(const struct side *mine, uint32_t hit, const struct side *mate,
                     int32_t least) {
    int64_t here = gn_five_prime(&mine->hits[hit], mine->length);
    for (uint32_t at = 0; at < mate->count; at++) {
        if (mate->estimates[at] >= least &&
            gn_fits(here, mine->hits[hit].reverse, gn_five_prime(&mate->hits[at], mate->length),
                    mate->hits[at].reverse)) {
            return true;
        }
    }
    return false;
}

/* Jobs at a read's own places, the most promising first. */
static void add_places(struct list *list, const struct side *mine, const struct side *mate) {
    int32_t worth[GN_HIT_MAX], best = INT32_MIN;
    for (uint32_t at = 0; at < mine->count; at++) {
        bool fits = mate && has_mate(mine, at, mate, mate->best - MATE_BELOW);
        worth[at] = mine->estimates[at] + (fits ? MATE_BONUS : 0);
        best = worth[at] > best ? worth[at] : best;
    }
    for (uint32_t turn = 0; turn < PLACE_MAX; turn++) {
        uint32_t chosen = mine->count;
        for (uint32_t at = 0; at < mine->count; at++) {
            chosen = worth[at] >= best - PLACE_BELOW &&
                             (chosen == mine->count || worth[at] > worth[chosen])
                         ? at
                         : chosen;
        }
        if (chosen == mine->count) {
            return;
        }
        int64_t position = mine->hits[chosen].position, beside = margin(&mine->hits[chosen]);
        worth[chosen] = INT32_MIN;
        if (gn_settled(list->index, mine->length, &mine->hits[chosen])) {
            continue;
        }
        add(list, mine->read, mine->hits[chosen].reverse, position - beside,
            position + mine->length + beside);
    }
}

/* Jobs where a read must lie if its mate's places are right, unless it has a place there. */
static void add_rescues(struct list *list, const struct side *mine, const struct side *mate) {
    uint32_t rescued = 0;
    int32_t good = (int32_t)mine->length / 3, least = mine->best - PLACE_BELOW - MATE_BONUS;
    good = good > least ? good : least; /* else add_places would leave it alone */
    for (uint32_t at = 0; at < mate->count && rescued < RESCUE_MAX; at++) {
        const struct gn_hit *hit = &mate->hits[at];
        int64_t five = gn_five_prime(hit, mate->length), length = mine->length;
        if (mate->estimates[at] < mate->best - RESCUE_BELOW ||
            mate->estimates[at] < (int32_t)mate->length / 2) {
            break; /* they are in this order */
        }
        if (has_mate(mate, at, mine, good)) {
            continue;
        }
        if (hit->reverse) {
            add(list, mine->read, false, five - GN_INSERT_MAX, five - GN_INSERT_MIN + length);
        } else {
            add(list, mine->read, true, five + GN_INSERT_MIN - length, five + GN_INSERT_MAX);
        }
        rescued++;
    }
}

static void add_jobs(struct list *list, const struct side *mine, const struct side *mate) {
    list->first = list->count;
    if (mine->length == 0) {
        return;
    }
    if (!mine->settled ||
        (mate && mate->count > 0 && !has_mate(mine, 0, mate, mate->best - MATE_BELOW))) {
        add_places(list, mine, mate);
    }
    if (mate) {
        add_rescues(list, mine, mate);
    }
}

static int seal(const struct gn_reads *reads, const struct list *list, struct gn_jobs **ret_jobs) {
    uint64_t table = gn_round(sizeof(struct gn_jobs));
    uint64_t bytes = table + gn_round(list->count * sizeof(struct gn_job));
    struct gn_jobs *jobs = aligned_alloc(GN_ALIGN, bytes);
    if (!jobs) {
        return -ENOMEM;
    }
    memset(jobs, 0, bytes);
    *jobs = (struct gn_jobs){.bytes = bytes, .job_count = list->count, .jobs = table};
    memcpy(gn_in(jobs, table), list->jobs, list->count * sizeof(struct gn_job));
    for (uint32_t at = 0; at < list->count; at++) {
        uint32_t width = list->jobs[at].window_length;
        jobs->longest = width > jobs->longest ? width : jobs->longest;
        jobs->cells += (uint64_t)gn_read_at(reads, list->jobs[at].read)->length * width;
    }
    *ret_jobs = jobs;
    return 0;
}

int gn_choose(const struct gn_index *index, const struct gn_reads *reads,
              const struct gn_hits *hits, struct gn_jobs **ret_jobs) {
    size_t most = (size_t)reads->read_count * (PLACE_MAX + RESCUE_MAX) + 1;
    struct list list = {.index = index, .jobs = malloc(most * sizeof(struct gn_job))};
    if (!list.jobs) {
        return -ENOMEM;
    }
    for (uint32_t read = 0; read < reads->read_count; read += reads->paired ? 2 : 1) {
        struct side sides[2];
        bool mates = reads->paired && read + 1 < reads->read_count;
        look(index, reads, hits, read, &sides[0]);
        if (mates) {
            look(index, reads, hits, read + 1, &sides[1]);
        }
        add_jobs(&list, &sides[0], mates ? &sides[1] : NULL);
        if (mates) {
            add_jobs(&list, &sides[1], &sides[0]);
        }
    }
    int code = seal(reads, &list, ret_jobs);
    free(list.jobs);
    return code;
}
