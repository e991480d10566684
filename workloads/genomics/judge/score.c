/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters, their verdicts, and the counts: see score.h.
 */
#include "genomics/judge/score.h"
#include "genomics/align/contigs.h"
#include "genomics/align/reader.h"
#include "genomics/judge/variants.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRATUM_REACH = 20, LINE_MOST = 8192 };

#define OTHER "other"

/* How near variants of one cluster lie, from the widest try to the last. */
static const uint64_t reaches[] = {30, 10, 3};

double gn_precision(const struct gn_counts_of *counts) {
    uint64_t all = counts->confirmed + counts->wrong;
    return all ? (double)counts->confirmed / (double)all : 0;
}

double gn_recall(const struct gn_counts_of *counts) {
    uint64_t all = counts->found + counts->missed;
    return all ? (double)counts->found / (double)all : 0;
}

double gn_f1(const struct gn_counts_of *counts) {
    double p = gn_precision(counts), r = gn_recall(counts);
    return p + r > 0 ? 2 * p * r / (p + r) : 0;
}

/* --- strata -------------------------------------------------------------------------------------
 */
struct stratum {
    uint64_t start, end;
    uint64_t reached;      /* the largest end up to here */
    uint32_t label, order; /* in the file */
};

struct strata {
    struct stratum *list; /* by start */
    uint32_t count, capacity;
};

static uint32_t find_label(struct gn_score *score, const char *name) {
    for (uint32_t i = 1; i < score->stratum_count; i++) {
        if (strcmp(score->labels[i], name) == 0) {
            return i;
        }
    }
    if (score->stratum_count + 1 >= GN_STRATUM_MAX && strcmp(name, OTHER) != 0) {
        return SY_NONE; /* the last one is for what is in none of them */
    }
    snprintf(score->labels[score->stratum_count], sizeof score->labels[0], "%s", name);
    return score->stratum_count++;
}

static int add_stratum(const struct gn_genome *genome, const struct gn_contig_names *names,
                       const char *line, struct strata *strata, struct gn_score *score) {
    char contig[256], label[32];
    unsigned long long start, end;
    if (sscanf(line, "%255s %llu %llu %31s", contig, &start, &end, label) != 4 || start > end) {
        return -EBADMSG;
    }
    uint32_t which = gn_contig_names_find(names, contig);
    uint32_t number = which == SY_NONE ? SY_NONE : find_label(score, label);
    if (number == SY_NONE) {
        return which == SY_NONE ? -EBADMSG : -E2BIG;
    }
    if (strata->count == strata->capacity) {
        uint32_t more = strata->capacity * 2 + 256;
        struct stratum *grown = realloc(strata->list, more * sizeof *grown);
        if (!grown) {
            return -ENOMEM;
        }
        strata->list = grown;
        strata->capacity = more;
    }
    uint64_t base = genome->contigs[which].start;
    strata->list[strata->count] = (struct stratum){
        .start = base + start, .end = base + end, .label = number, .order = strata->count};
    strata->count++;
    return 0;
}

static int by_start(const void *left, const void *right) {
    const struct stratum *a = left, *b = right;
    return a->start != b->start ? (a->start < b->start ? -1 : 1)
                                : (a->order > b->order) - (a->order < b->order);
}

static void sort_strata(struct strata *strata) {
    uint64_t reached = 0;
    if (strata->count) {
        qsort(strata->list, strata->count, sizeof *strata->list, by_start);
    }
    for (uint32_t i = 0; i < strata->count; i++) {
        reached = strata->list[i].end > reached ? strata->list[i].end : reached;
        strata->list[i].reached = reached;
    }
}

static int read_strata(const struct gn_genome *genome, const char *path, struct strata *strata,
                       struct gn_score *score, struct sy_error *error) {
    struct gn_reader *reader = NULL;
    struct gn_contig_names names;
    struct gn_line line;
    int got = 0;
    int code = gn_contig_names_sort(genome->contigs, genome->names, genome->contig_count, &names);
    if (code < 0) {
        return guest_fail(error, code, NULL, "out of memory");
    }
    code = gn_reader_open(path, LINE_MOST, "a line is: contig of the reference, start, end, label",
                          &reader, error);
    while (code == 0 && (got = gn_reader_next(reader, &line, error)) > 0) {
        if (line.length == 0 || line.text[0] == '#') {
            continue;
        }
        code = add_stratum(genome, &names, line.text, strata, score);
        if (code < 0) {
            gn_reader_fail(reader, error, code,
                           code == -E2BIG    ? "too many different labels"
                           : code == -ENOMEM ? "out of memory"
                                             : "this is not a stratum");
        }
    }
    gn_reader_close(reader);
    gn_contig_names_finish(&names);
    sort_strata(strata);
    return code ? code : got;
}

/* The first of the file that the variant lies in, or near to. */
static uint32_t label_of(const struct strata *strata, uint32_t other,
                         const struct gn_variant *variant) {
    uint64_t from = variant->position, to = from + STRATUM_REACH;
    uint32_t low = 0, high = strata->count, order = SY_NONE, label = other;
    while (low < high) { /* the first that begins behind */
        uint32_t middle = low + (high - low) / 2;
        *(strata->list[middle].start <= to ? &low : &high) =
            strata->list[middle].start <= to ? middle + 1 : middle;
    }
    for (; low > 0 && strata->list[low - 1].reached + STRATUM_REACH > from; low--) {
        const struct stratum *stratum = &strata->list[low - 1];
        if (stratum->end + STRATUM_REACH > from && stratum->order < order) {
            order = stratum->order;
            label = stratum->label;
        }
    }
    return label;
}

/* --- verdicts -----------------------------------------------------------------------------------
 */
static int compare(const void *left, const void *right) {
    const struct gn_variant *a = *(struct gn_variant *const *)left,
                            *b = *(struct gn_variant *const *)right;
    if (a->position != b->position) {
        return a->position < b->position ? -1 : 1;
    }
    if (a->truth != b->truth) {
        return a->truth ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* A cluster of [from, *ret_to) whose neighbours lie at most so far from each other. */
static uint32_t cluster_end(struct gn_variant *const *all, uint32_t from, uint32_t count,
                            uint64_t reach) {
    uint64_t end = 0;
    uint32_t i = from;
    for (; i < count && (i == from || all[i]->position <= end + reach); i++) {
        uint64_t last = all[i]->position + all[i]->length;
        end = last > end ? last : end;
    }
    return i;
}

static bool has_both(struct gn_variant *const *cluster, uint32_t count) {
    bool truth = false, call = false;
    for (uint32_t i = 0; i < count; i++) {
        truth |= cluster[i]->truth;
        call |= !cluster[i]->truth;
    }
    return truth && call;
}

static bool equal_allele(const struct gn_variant *a, int i, const struct gn_variant *b, int j) {
    return a->lengths[i] == b->lengths[j] &&
           memcmp(a->alleles[i], b->alleles[j], a->lengths[i]) == 0;
}

static bool is_same(const struct gn_variant *a, const struct gn_variant *b) {
    return a->position == b->position && a->length == b->length &&
           ((equal_allele(a, 0, b, 0) && equal_allele(a, 1, b, 1)) ||
            (equal_allele(a, 0, b, 1) && equal_allele(a, 1, b, 0)));
}

/* Each variant by itself. The truth stands before the calls of the same position. */
static void match_singles(struct gn_variant *const *cluster, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count && cluster[i]->truth && !cluster[i]->right &&
                                 cluster[j]->position == cluster[i]->position;
             j++) {
            if (!cluster[j]->truth && !cluster[j]->right && is_same(cluster[i], cluster[j])) {
                cluster[i]->right = cluster[j]->right = true;
            }
        }
    }
}

static int judge(const struct gn_genome *genome, struct gn_variant *const *all, uint32_t from,
                 uint32_t to, size_t try) {
    if (!has_both(all + from, to - from)) {
        return 0;
    }
    bool agree = false;
    int code = gn_variants_agree(genome, all + from, to - from, &agree);
    for (uint32_t i = from; agree && i < to; i++) {
        all[i]->right = true;
    }
    if (code < 0 || agree) {
        return code;
    }
    if (try + 1 == GUEST_COUNT(reaches)) {
        match_singles(all + from, to - from);
        return 0;
    }
    for (uint32_t i = from, next; i < to && code == 0; i = next) {
        next = cluster_end(all, i, to, reaches[try + 1]);
        code = judge(genome, all, i, next, try + 1);
    }
    return code;
}

static void count_one(struct gn_counts_of *counts, const struct gn_variant *variant) {
    if (variant->truth) {
        counts->found += variant->right;
        counts->missed += !variant->right;
    } else {
        counts->confirmed += variant->right;
        counts->wrong += !variant->right;
    }
}

static int judge_all(const struct gn_genome *genome, struct gn_variants *truth,
                     struct gn_variants *calls, const struct strata *strata, uint32_t other,
                     struct gn_score *score) {
    uint32_t count = truth->count + calls->count;
    struct gn_variant **all = malloc((count + 1u) * sizeof *all);
    if (!all) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        all[i] = i < truth->count ? &truth->list[i] : &calls->list[i - truth->count];
    }
    qsort(all, count, sizeof *all, compare);
    int code = 0;
    for (uint32_t i = 0, next; i < count && code == 0; i = next) {
        next = cluster_end(all, i, count, reaches[0]);
        code = judge(genome, all, i, next, 0);
    }
    for (uint32_t i = 0; i < count && code == 0; i++) {
        count_one(&score->counts[0][all[i]->kind], all[i]);
        count_one(&score->counts[label_of(strata, other, all[i])][all[i]->kind], all[i]);
    }
    free(all);
    return code;
}

int gn_score_files(const struct gn_genome *genome, const char *truth, const char *calls,
                   const char *strata, const struct gn_score_options *options,
                   struct gn_score *ret_score, struct sy_error *error) {
    struct gn_score score = {.stratum_count = 1, .labels = {"all"}};
    struct gn_variants sides[2] = {{0}, {0}};
    struct strata list = {0};
    int code = strata ? read_strata(genome, strata, &list, &score, error) : 0;
    uint32_t other = find_label(&score, OTHER);
    code = code ? code : gn_variants_read(truth, genome, true, options, &sides[0], error);
    code = code ? code : gn_variants_read(calls, genome, false, options, &sides[1], error);
    if (code == 0) {
        code = judge_all(genome, &sides[0], &sides[1], &list, other, &score);
        if (code < 0) {
            guest_fail(error, code, NULL, "out of memory");
        }
    }
    gn_variants_finish(&sides[0]);
    gn_variants_finish(&sides[1]);
    free(list.list);
    if (code == 0) {
        *ret_score = score;
    }
    return code;
}
