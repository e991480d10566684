/* SPDX-License-Identifier: Apache-2.0
 *
 * BED files: see bed.h.
 */
#include "genomics/bed.h"
#include "genomics/align/contigs.h"
#include "genomics/align/reader.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 1 << 16, COUNT_MOST = 1 << 30 };

/* What a line is read with. */
struct source {
    struct gn_reader *reader;
    const struct gn_index *index;
    struct gn_contig_names names;
};

static bool is_comment(const char *line, size_t length) {
    static const char *const words[] = {"#", "track", "browser"};
    for (size_t i = 0; i < GUEST_COUNT(words); i++) {
        size_t size = strlen(words[i]);
        if (length >= size && memcmp(line, words[i], size) == 0) {
            return true;
        }
    }
    return length == 0;
}

/* One field of digits that ends at a blank or at the line's end. False: it is none. */
static bool take_number(const char **at, const char *end, uint64_t *ret_number) {
    uint64_t number = 0;
    const char *start = *at;
    while (*at < end && **at >= '0' && **at <= '9' && number < UINT32_MAX) {
        number = number * 10 + (uint64_t)(**at - '0');
        (*at)++;
    }
    bool whole = *at > start && (*at == end || **at == '\t' || **at == ' ');
    *at += *at < end;
    *ret_number = number;
    return whole;
}

static int parse_line(const struct source *source, struct gn_line *line,
                      struct gn_interval *ret_interval, struct sy_error *error) {
    char *at = line->text, *end = line->text + line->length;
    at += strcspn(at, "\t ");
    const char *rest = at + (at < end);
    uint64_t from, to;
    if (!take_number(&rest, end, &from) || !take_number(&rest, end, &to)) {
        return gn_reader_fail(source->reader, error, -EBADMSG, "this is not a line of BED");
    }
    *at = '\0';
    uint32_t which = gn_contig_names_find(&source->names, line->text);
    if (which == SY_NONE) {
        gn_reader_fail(source->reader, error, -EBADMSG, "the reference has no such contig");
        snprintf(error->hint, sizeof error->hint, "'%.80s' is not in it; its first one is '%.80s'",
                 line->text, source->index->contig_count ? gn_contig_name(source->index, 0) : "");
        return -EBADMSG;
    }
    const struct gn_contig *found = &gn_contigs(source->index)[which];
    if (from > to || to > found->length) {
        return gn_reader_fail(source->reader, error, -EBADMSG,
                              "the interval is not inside its contig");
    }
    *ret_interval = (struct gn_interval){found->start + from, found->start + to};
    return 0;
}

static int compare(const void *left, const void *right) {
    const struct gn_interval *a = left, *b = right;
    return a->start != b->start ? (a->start < b->start ? -1 : 1)
                                : (a->end > b->end) - (a->end < b->end);
}

static void merge(struct gn_bed *bed) {
    uint32_t kept = 0;
    if (bed->count) {
        qsort(bed->intervals, bed->count, sizeof *bed->intervals, compare);
    }
    for (uint32_t i = 0; i < bed->count; i++) {
        struct gn_interval *last = kept ? &bed->intervals[kept - 1] : NULL;
        if (last && bed->intervals[i].start <= last->end) {
            last->end = bed->intervals[i].end > last->end ? bed->intervals[i].end : last->end;
        } else {
            bed->intervals[kept++] = bed->intervals[i];
        }
    }
    bed->count = kept;
}

static int add(struct gn_bed *bed, uint32_t *room, struct gn_interval interval) {
    if (bed->count == *room) {
        uint32_t more = *room ? 2 * *room : 1024;
        struct gn_interval *grown = reallocarray(bed->intervals, more, sizeof *grown);
        if (!grown || bed->count >= COUNT_MOST) {
            bed->intervals = grown ? grown : bed->intervals;
            return -ENOMEM;
        }
        bed->intervals = grown;
        *room = more;
    }
    bed->intervals[bed->count++] = interval;
    return 0;
}

static int read_lines(const struct source *source, struct gn_bed *bed, struct sy_error *error) {
    struct gn_line line;
    uint32_t room = 0;
    int got, code = 0;
    while (code == 0 && (got = gn_reader_next(source->reader, &line, error)) != 0) {
        struct gn_interval interval = {0, 0};
        if (got < 0) {
            return got;
        }
        if (!is_comment(line.text, line.length)) {
            code = parse_line(source, &line, &interval, error);
            if (code == 0 && add(bed, &room, interval) < 0) {
                code = guest_fail(error, -ENOMEM, NULL, "out of memory");
            }
        }
    }
    return code;
}

int gn_bed_read(const char *path, const struct gn_index *index, struct gn_bed *ret_bed,
                struct sy_error *error) {
    struct source source = {.index = index};
    struct gn_bed bed = {0};
    int code = gn_contig_names_sort(gn_contigs(index), gn_at(index, index->names),
                                    index->contig_count, &source.names);
    if (code < 0) {
        return guest_fail(error, code, NULL, "out of memory");
    }
    code = gn_reader_open(path, LINE_MOST, "a line of BED is: contig, start (from 0), end",
                          &source.reader, error);
    code = code ? code : read_lines(&source, &bed, error);
    gn_reader_close(source.reader);
    gn_contig_names_finish(&source.names);
    if (code < 0) {
        gn_bed_finish(&bed);
        return code;
    }
    merge(&bed);
    *ret_bed = bed;
    return 0;
}

void gn_bed_finish(struct gn_bed *bed) {
    free(bed->intervals);
    *bed = (struct gn_bed){0};
}

bool gn_bed_touches(const struct gn_bed *bed, uint64_t start, uint64_t end) {
    uint32_t low = 0, high = bed->count;
    while (low < high) { /* the first that ends behind start */
        uint32_t middle = low + (high - low) / 2;
        if (bed->intervals[middle].end <= start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < bed->count && bed->intervals[low].start < end;
}
