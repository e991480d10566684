/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes: a cell with enough samples of its own is never answered by others; one without is answered
 * by the curve through those of its kernel and class, which is fitted again only as samples come.
 */
#include "cost/store.h"
#include <math.h>

#define UNTRUSTED_SIGMA 0.5  /* spread claimed for one or two samples */
#define ALIKE_SIGMA     0.1  /* added for a cell that has the same features */
#define REFIT_RATIO     1.25 /* more samples, by so much, make the curve old */
#define PRIOR_SIGMA     0.5  /* added for times of another build */

const struct sy_estimate sy_estimate_unknown = {
    .median_ns = NAN, .watts = NAN, .source = SY_COST_UNKNOWN};

static bool supports(const struct sy_cell *cell) {
    return sy_cell_count(cell) >= SY_CELL_TRUSTED &&
           (cell->values[SY_FLOPS] > 0 || cell->values[SY_BYTES] > 0);
}

/* The curve through a group's trusted cells; NULL: there are none. Of more than it holds, evenly
 * chosen ones. */
static const struct sy_curve *refresh_curve(struct sy_group *group) {
    uint32_t trusted = 0, passed = 0;
    uint64_t samples = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        if (supports(group->cells[i])) {
            trusted++;
            samples += group->cells[i]->sample_count;
        }
    }
    struct sy_curve *curve = &group->curve;
    if (trusted == 0 || (trusted == group->curve_trusted && samples >= group->curve_samples &&
                         (double)samples < REFIT_RATIO * (double)group->curve_samples)) {
        return trusted ? curve : NULL;
    }
    uint32_t wanted = trusted < SY_CURVE_SIZES ? trusted : SY_CURVE_SIZES;
    if (sy_grow(&curve->sizes, &curve->size_capacity, wanted, sizeof *curve->sizes)) {
        return NULL;
    }
    curve->size_count = 0;
    for (uint32_t i = 0; i < group->count && curve->size_count < wanted; i++) {
        const struct sy_cell *cell = group->cells[i];
        if (supports(cell) && (uint64_t)passed++ * wanted / trusted >= curve->size_count) {
            curve->sizes[curve->size_count++] =
                (struct sy_curve_size){.bytes = cell->values[SY_BYTES],
                                       .flops = cell->values[SY_FLOPS],
                                       .weight = cell->sample_count,
                                       .log_median = log(cell->median_ns),
                                       .log_sigma = cell->log_sigma};
        }
    }
    sy_curve_regress(curve, SY_CURVE_FLOPS, &curve->fits[SY_CURVE_FLOPS]);
    sy_curve_regress(curve, SY_CURVE_BYTES, &curve->fits[SY_CURVE_BYTES]);
    group->curve_trusted = trusted;
    group->curve_samples = samples;
    return curve;
}

struct sy_estimate sy_group_estimate(struct sy_group *group, double bytes, double flops) {
    const struct sy_curve *curve = bytes > 0 || flops > 0 ? refresh_curve(group) : NULL;
    return curve ? sy_curve_estimate(curve, bytes, flops) : sy_estimate_unknown;
}

struct sy_estimate sy_cell_estimate(const struct sy_cell *cell) {
    uint64_t count = sy_cell_count(cell);
    struct sy_estimate own = {.median_ns = cell->median_ns,
                              .log_sigma = cell->log_sigma,
                              .watts = NAN,
                              .sample_count = count,
                              .source = SY_COST_MEASURED};
    if (count >= SY_CELL_TRUSTED) {
        return own;
    }
    struct sy_estimate found =
        sy_group_estimate(cell->group, cell->values[SY_BYTES], cell->values[SY_FLOPS]);
    if (found.source == SY_COST_MEASURED) {
        found.source = SY_COST_REGRESSED;
        found.log_sigma = hypot(found.log_sigma, ALIKE_SIGMA);
    }
    if (found.source != SY_COST_UNKNOWN) {
        return found;
    }
    if (count < cell->sample_count) {
        own.source = SY_COST_PRIOR;
        own.log_sigma = hypot(cell->log_sigma, PRIOR_SIGMA);
    } else {
        own.log_sigma = UNTRUSTED_SIGMA;
    }
    return cell->sample_count ? own : sy_estimate_unknown;
}
