/* SPDX-License-Identifier: Apache-2.0
 *
 * extend, plainly: the whole matrix of one job after the other, as extend.h defines it. Also checks
 * the jobs and picks the variant.
 */
#include "genomics/align/extend.h"
#include "genomics/align/extend_rule.h"
#include "genomics/align/extend_simd.h"
#include "genomics/align/index.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of the greatest job; one block. */
struct matrix {
    uint8_t *back;             /* GN_BACK_ bits, row by row */
    int16_t *h, *e;            /* H of the row above and E of this one, by column from 0 */
    uint8_t read[GN_READ_MAX]; /* in the reference's direction */
    uint8_t window[GN_WINDOW_MAX];
};

void gn_extend_read(const struct gn_extend_input *input, const struct gn_job *job, uint8_t *codes) {
    const struct gn_read *read =
        (const struct gn_read *)gn_at(input->reads, input->reads->reads) + job->read;
    const uint8_t *bases = (const uint8_t *)gn_at(input->reads, input->reads->bases) + read->bases;
    for (uint32_t at = 0; at < read->length; at++) {
        uint8_t other = bases[read->length - 1 - at];
        codes[at] = !job->reverse ? bases[at] : other < 4 ? (uint8_t)(3 - other) : 4;
    }
}

static uint32_t length_of(const struct gn_extend_input *input, const struct gn_job *job) {
    return ((const struct gn_read *)gn_at(input->reads, input->reads->reads))[job->read].length;
}

/* Where the best alignment ends. */
struct end {
    int32_t score;
    uint32_t row, column; /* from 1 */
};

static bool same(uint8_t a, uint8_t b) {
    return a == b && a < 4;
}

static int16_t larger(int a, int b) {
    return (int16_t)(a > b ? a : b);
}

/* Fills one row of the matrix (0-based row, columns) and looks for a better end in it. */
static void fill_row(struct matrix *matrix, uint32_t row, uint32_t length, uint32_t width,
                     struct end *end) {
    uint8_t *back = matrix->back + (size_t)row * width;
    int16_t *h = matrix->h, *f = matrix->e;
    int diagonal = row == 0 ? GN_SCORE_END : h[0];
    int e = 0;
    for (uint32_t column = 1; column <= width; column++) {
        bool equal = same(matrix->read[row], matrix->window[column - 1]);
        int d = diagonal + (equal ? GN_SCORE_MATCH : -GN_SCORE_MISMATCH);
        diagonal = row == 0 ? GN_SCORE_END : h[column];
        int best = larger(larger(d, 0), larger(e, f[column]));
        int open = best - GN_SCORE_OPEN;
        back[column - 1] =
            (uint8_t)((best == d ? GN_BACK_MATCH : 0) | (best == e ? GN_BACK_DELETE : 0) |
                      (e - GN_SCORE_EXTEND > open ? GN_BACK_KEEP_DELETE : 0) |
                      (f[column] - GN_SCORE_EXTEND > open ? GN_BACK_KEEP_INSERT : 0));
        e = larger(0, larger(open, e - GN_SCORE_EXTEND));
        f[column] = larger(0, larger(open, f[column] - GN_SCORE_EXTEND));
        h[column] = (int16_t)best;
        int value = best + (row + 1 == length && best > 0 ? GN_SCORE_END : 0);
        if (value > end->score || (value == end->score && value > 0 && column <= end->column)) {
            *end = (struct end){value, row + 1, column};
        }
    }
}

static struct end fill(struct matrix *matrix, uint32_t length, uint32_t width) {
    struct end end = {0, 0, 0};
    memset(matrix->h, 0, (width + 1) * sizeof(*matrix->h));
    memset(matrix->e, 0, (width + 1) * sizeof(*matrix->e));
    for (uint32_t row = 0; row < length; row++) {
        fill_row(matrix, row, length, width, &end);
    }
    return end;
}

static void trace(const struct matrix *matrix, const struct gn_job *job, uint32_t length,
                  struct end end, struct gn_extension *out) {
    struct gn_walk walk;
    gn_walk_begin(&walk, end.row, end.column, length, end.score);
    while (gn_walk_goes_on(&walk)) {
        uint32_t i = walk.row - 1, j = walk.column - 1;
        gn_walk_step(&walk, matrix->back[(size_t)i * job->window_length + j],
                     same(matrix->read[i], matrix->window[j]), out);
    }
    gn_walk_finish(&walk, job->window, end.column, end.score, out);
}

static int plain(const struct gn_extend_input *input, struct gn_extension *out, int16_t *scores) {
    uint64_t cells = 0;
    for (uint32_t at = 0; at < input->job_count; at++) {
        uint64_t these =
            (uint64_t)length_of(input, &input->jobs[at]) * input->jobs[at].window_length;
        cells = these > cells ? these : cells;
    }
    struct matrix *matrix = malloc(sizeof(*matrix));
    int16_t *rows = calloc(2 * (GN_WINDOW_MAX + 1), sizeof(int16_t));
    uint8_t *back = malloc(cells + 1);
    if (!matrix || !rows || !back) {
        free(matrix);
        free(rows);
        free(back);
        return -ENOMEM;
    }
    matrix->h = rows;
    matrix->e = rows + GN_WINDOW_MAX + 1;
    matrix->back = back;
    for (uint32_t at = 0; at < input->job_count; at++) {
        const struct gn_job *job = &input->jobs[at];
        uint32_t length = length_of(input, job);
        gn_extend_read(input, job, matrix->read);
        gn_genome_fetch(input->index, job->window, job->window_length, matrix->window);
        struct end end = fill(matrix, length, job->window_length);
        if (scores) {
            scores[at] = (int16_t)end.score;
        } else if (end.score >= GN_SCORE_MIN) {
            trace(matrix, job, length, end, &out[at]);
        }
    }
    free(matrix);
    free(rows);
    free(back);
    return 0;
}

static int extend(const struct gn_index *index, const struct gn_reads *reads,
                  const struct gn_jobs *jobs, struct gn_extension *out, int16_t *scores,
                  enum guest_simd level) {
    struct gn_extend_input input = {index, reads, gn_at(jobs, jobs->jobs), jobs->job_count};
    for (uint32_t at = 0; at < input.job_count; at++) {
        const struct gn_job *job = &input.jobs[at];
        if (job->read >= reads->read_count || job->window_length > GN_WINDOW_MAX ||
            (uint64_t)job->window + job->window_length > index->length) {
            return -EINVAL;
        }
    }
    if (out) {
        memset(out, 0, input.job_count * sizeof(*out));
    }
    return level == GUEST_PLAIN ? plain(&input, out, scores)
                                : gn_extend_simd(&input, out, scores, level);
}

int gn_extend(const struct gn_index *index, const struct gn_reads *reads,
              const struct gn_jobs *jobs, struct gn_extension *out, enum guest_simd level) {
    return extend(index, reads, jobs, out, NULL, level);
}

int gn_extend_scores(const struct gn_index *index, const struct gn_reads *reads,
                     const struct gn_jobs *jobs, int16_t *out, enum guest_simd level) {
    return extend(index, reads, jobs, NULL, out, level);
}
