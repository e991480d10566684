/* SPDX-License-Identifier: Apache-2.0
 *
 * What a solve says of how the program changes.
 *
 * The change w since the last step has prior N(0, q); the solve gives its posterior mean q G'z and
 * covariance q - q G'S^-1 G q, and q moves a little towards their second moment: expectation
 * maximisation, online, from the few readings there are. It is pulled back to the model's q, so
 * that what is never seen to move does not freeze.
 */
#include "belief/filter.h"
#include <math.h>
#include <string.h>

static const double LEARNING = 0.01;
static const double RETURN = 0.002;

void sy_filter_learn(struct sy_filter *f) {
    double part = fmin(LEARNING * f->steps_elapsed, 0.5);
    if (f->options.no_learning || !(part > 0)) {
        return;
    }
    double *change = f->next, root = sqrt(part);
    memset(change, 0, f->stride * sizeof *change);
    for (uint32_t i = 0; i < f->row_count; i++) {
        const struct sy_row *row = &f->rows[i];
        double *out = sy_row_at(f->gq, f->stride, i);
        memset(out, 0, f->stride * sizeof *out);
        for (uint32_t k = row->first; k < row->first + row->count; k++) {
            sy_axpy(out, sy_row_at(f->q, f->stride, f->gradient_variable[k]), f->gradient[k],
                    f->stride);
        }
        sy_axpy(change, out, row->pull, f->stride);
    }
    sy_solve_lower(f->s, f->s_stride, f->row_count, f->gq, f->stride);
    for (uint32_t i = 0; i < f->row_count * f->stride; i++) {
        f->gq[i] *= root;
    }
    sy_downdate(f->q, f->stride, f->gq, f->row_count);
    for (uint32_t i = 0; i < f->n; i++) {
        double *row = sy_row_at(f->q, f->stride, i);
        const double *start = sy_row_at(f->q_start, f->stride, i);
        double scale = part * change[i];
        for (uint32_t j = 0; j < f->n; j++) {
            row[j] = row[j] + scale * change[j];
            row[j] += RETURN * (start[j] - row[j]);
        }
    }
}
