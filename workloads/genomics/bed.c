/* SPDX-License-Identifier: Apache-2.0
 *
 * BED files: see bed.h.
 */
#include "genomics/bed.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 512 };

static int fail_at(struct sy_error *error, const char *name, uint32_t line, const char *message) {
    int code =
        guest_fail(error, -EBADMSG, "a line of BED is: contig, start (from 0), end", "%s", message);
    snprintf(error->file, sizeof error->file, "%s", name);
    error->line = line;
    return code;
}

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

static int parse_line(const char *name, uint32_t number, const char *line, size_t length,
                      const struct gn_index *index, struct gn_interval *ret_interval,
                      struct sy_error *error) {
    char contig[NAME_SIZE];
    const char *at = line, *end = line + length;
    while (at < end && *at != '\t' && *at != ' ') {
        at++;
    }
    size_t size = (size_t)(at - line);
    uint64_t from, to;
    at += at < end;
    if (size >= sizeof contig || !take_number(&at, end, &from) || !take_number(&at, end, &to)) {
        return fail_at(error, name, number, "this is not a line of BED");
    }
    memcpy(contig, line, size);
    contig[size] = '\0';
    uint32_t which = gn_contig_find(index, contig);
    if (which == SY_NONE) {
        fail_at(error, name, number, "the reference has no such contig");
        snprintf(error->hint, sizeof error->hint, "'%.80s' is not in it; its first one is '%.80s'",
                 contig, index->contig_count ? gn_contig_name(index, 0) : "");
        return -EBADMSG;
    }
    const struct gn_contig *found = &gn_contigs(index)[which];
    if (from > to || to > found->length) {
        return fail_at(error, name, number, "the interval is not inside its contig");
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
    qsort(bed->intervals, bed->count, sizeof *bed->intervals, compare);
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

int gn_bed_parse(const char *name, const char *text, size_t length, const struct gn_index *index,
                 struct gn_bed *ret_bed, struct sy_error *error) {
    struct gn_bed bed = {0};
    size_t lines = 1;
    for (size_t i = 0; i < length; i++) {
        lines += text[i] == '\n';
    }
    bed.intervals = calloc(lines, sizeof *bed.intervals);
    int code = bed.intervals ? 0 : guest_fail(error, -ENOMEM, NULL, "out of memory");
    uint32_t number = 0;
    for (size_t at = 0; code == 0 && at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t size = end ? (size_t)(end - text) - at : length - at, next = at + size + 1;
        number++;
        if (size && text[at + size - 1] == '\r') {
            size--;
        }
        if (!is_comment(text + at, size)) {
            code =
                parse_line(name, number, text + at, size, index, &bed.intervals[bed.count], error);
            bed.count += code == 0;
        }
        at = next;
    }
    if (code < 0) {
        free(bed.intervals);
        return code;
    }
    merge(&bed);
    *ret_bed = bed;
    return 0;
}

int gn_bed_read(const char *path, const struct gn_index *index, struct gn_bed *ret_bed,
                struct sy_error *error) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t length = 0;
    ssize_t got = file ? getdelim(&text, &length, EOF, file) : -1;
    int code = file ? ferror(file) ? -EIO : 0 : -errno;
    if (file) {
        fclose(file);
    }
    if (code < 0) {
        guest_fail(error, code, "--regions takes a BED file", "cannot read %s: %s", path,
                   strerror(-code));
    } else {
        code = gn_bed_parse(path, text, got > 0 ? (size_t)got : 0, index, ret_bed, error);
    }
    free(text);
    return code;
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
