/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM: numbers of the model, the plain variant, double precision, and what a blob must be.
 */
#include "genomics/call/hmm.h"
#include "genomics/call/hmm_rows.h"
#include <math.h>

void gn_hmm_fill(struct gn_hmm *blob, float continuation) {
    float close = 1.0f - continuation;
    for (int q = 0; q < 128; q++) {
        blob->error[q] = (float)pow(10.0, -q / 10.0);
    }
    blob->continuation = continuation;
    for (int i = 0; i < 15; i++) {
        blob->reserved[i] = 0;
    }
    for (int q = 0; q < 64; q++) {
        int bound = q < GN_HMM_GAP_MIN ? GN_HMM_GAP_MIN : q;
        float open = blob->error[bound > GN_HMM_GAP_MAX ? GN_HMM_GAP_MAX : bound];
        blob->open[q] = open * close;
        blob->stay[q] = (1.0f - (open + open)) / (open * close);
        blob->back[q] = 1.0f / (open * close);
    }
}

void gn_hmm_rows(const struct gn_hmm *blob, uint32_t read, struct gn_hmm_row *ret_rows) {
    const struct gn_hmm_read *head = gn_hmm_read(blob, read);
    for (uint32_t i = 0; i < head->length; i++) {
        ret_rows[i] = gn_hmm_row(blob, head, i);
    }
}

/* --- one pair -------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) float one_pair(const struct gn_hmm *blob,
                                                            uint32_t haplotype,
                                                            const struct gn_hmm_row *rows,
                                                            uint32_t row_count) {
    const uint8_t *bases = gn_hmm_haplotype_bases(blob, haplotype);
    uint32_t length = gn_hmm_haplotype(blob, haplotype)->length;
    float m[GN_READ_MAX] = {0}, d[GN_READ_MAX] = {0}, x[GN_READ_MAX] = {0};
    float g = blob->continuation, sum = 0;
    for (uint32_t j = 0; row_count > 0 && j < length; j++) {
        float above = GN_HMM_START, insertion = 0; /* X and I of the row that comes */
        x[0] = GN_HMM_START;
        for (uint32_t i = 0; i < row_count; i++) {
            const struct gn_hmm_row *row = &rows[i];
            float in = x[i];
            x[i] = above;
            d[i] = __builtin_fmaf(g, d[i], m[i]);
            m[i] = (row->base == bases[j] || bases[j] > 3 ? row->match : row->mismatch) * in;
            above = __builtin_fmaf(row->next_match, m[i],
                                   __builtin_fmaf(row->deletion, d[i], insertion));
            insertion = i + 1 < row_count ? __builtin_fmaf(g, insertion, m[i]) : insertion + m[i];
        }
        sum += insertion;
    }
    return sum;
}

/* The instruction where there is one; a call of the library takes five times as long. */
#if defined(__x86_64__)
__attribute__((target("fma"))) static float pair_with_fma(const struct gn_hmm *blob,
                                                          uint32_t haplotype,
                                                          const struct gn_hmm_row *rows,
                                                          uint32_t row_count) {
    return one_pair(blob, haplotype, rows, row_count);
}
#endif

float gn_hmm_plain(const struct gn_hmm *blob, uint32_t haplotype, const struct gn_hmm_row *rows,
                   uint32_t row_count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) {
        return pair_with_fma(blob, haplotype, rows, row_count);
    }
#endif
    return one_pair(blob, haplotype, rows, row_count);
}

double gn_hmm_exact(const struct gn_hmm *blob, uint32_t read, uint32_t haplotype) {
    const struct gn_hmm_read *head = gn_hmm_read(blob, read);
    const uint8_t *read_bases = (const uint8_t *)gn_at(blob, blob->read_bases) + head->bases;
    const uint8_t *qualities = (const uint8_t *)gn_at(blob, blob->read_qualities) + head->bases;
    const uint8_t *gaps = (const uint8_t *)gn_at(blob, blob->read_gaps) + head->bases;
    const uint8_t *bases = gn_hmm_haplotype_bases(blob, haplotype);
    uint32_t length = gn_hmm_haplotype(blob, haplotype)->length, row_count = head->length;
    double m[GN_READ_MAX + 1] = {0}, in[GN_READ_MAX + 1] = {0}, d[GN_READ_MAX + 1] = {0};
    double match[GN_READ_MAX], mismatch[GN_READ_MAX], open[GN_READ_MAX];
    double g = (double)blob->continuation, close = 1 - g, sum = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        double error = pow(10, -fmin(qualities[i], 127) / 10);
        double gap = fmin(fmax(gaps[i], GN_HMM_GAP_MIN), GN_HMM_GAP_MAX);
        match[i] = 1 - error;
        mismatch[i] = read_bases[i] > 3 ? match[i] : error / 3;
        open[i] = pow(10, -gap / 10);
    }
    d[0] = 0x1p1000;
    for (uint32_t j = 0; row_count > 0 && j < length; j++) {
        double m_above = m[0], in_above = in[0], d_above = d[0]; /* of the column before */
        for (uint32_t i = 1; i <= row_count; i++) {
            double o = open[i - 1];
            bool agree = read_bases[i - 1] == bases[j] || bases[j] > 3;
            double prior = agree ? match[i - 1] : mismatch[i - 1];
            double new_m = prior * (m_above * (1 - 2 * o) + (in_above + d_above) * close);
            double new_d = m[i] * o + d[i] * g;
            double new_in = m[i - 1] * o + in[i - 1] * g;
            m_above = m[i], in_above = in[i], d_above = d[i];
            m[i] = new_m, in[i] = new_in, d[i] = new_d;
        }
        sum += m[row_count] + in[row_count];
    }
    double result = sum > 0 ? log10(sum) - 1000 * log10(2) - log10(length) : GN_HMM_FLOOR;
    return result > GN_HMM_FLOOR ? result : GN_HMM_FLOOR;
}

double gn_hmm_log10(const struct gn_hmm *blob, uint32_t read, uint32_t haplotype, float sum) {
    if (!(sum >= GN_HMM_SMALL)) {
        return gn_hmm_exact(blob, read, haplotype);
    }
    return log10((double)sum) - GN_HMM_SCALE * log10(2) -
           log10(gn_hmm_haplotype(blob, haplotype)->length);
}
