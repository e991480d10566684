/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel's time looks like far from all samples: a sum of its costs, each at a rate of its
 * own that is not negative, and something that is always there. The rates are those with the least
 * squares of relative errors, so that times of microseconds count like those of seconds and one
 * that is far too long counts little.
 */
#include "cost/estimate.h"
#include <math.h>
#include <string.h>

#define SHAPE_LEAST 2    /* cells per rate before they are looked for: before, too few for all */
#define SWEEPS      60   /* over the rates, each time the best one given the others */
#define RIDGE       1e-3 /* per sample: costs that go together share what they explain */
#define START       1.0  /* samples that the roofline counts for */
#define BOTH        0.7  /* the roofline is the larger of two parts, this is a sum */

double sy_estimate_expect(const struct model *model, const struct sy_roofline *roofline,
                          const double *point) {
    uint32_t n = model->cost_count;
    if (!model->shaped) {
        return sy_estimate_prior(roofline, n, point);
    }
    double ns = model->rates[n];
    for (uint32_t i = 0; i < n; i++) {
        if (model->rates[i] > 0) {
            ns += model->rates[i] * exp(point[i] - point[n]);
        }
    }
    return isfinite(ns) && ns > 0 ? log(ns) : sy_estimate_prior(roofline, n, point);
}

/* What one unit of each rate adds to the time of a cell, relative to that time. */
static void relative(const struct model *model, const struct cell *cell, double *row) {
    uint32_t n = model->cost_count;
    for (uint32_t i = 0; i < n; i++) {
        row[i] = exp(cell->point[i] - cell->point[n] - cell->log_time);
    }
    row[n] = exp(-cell->log_time);
}

/* Rates as the roofline has them, as far from it as the samples are. */
static void begin(const struct model *model, const struct sy_roofline *roofline, double *rates) {
    double off[CELLS];
    for (uint32_t c = 0; c < model->cell_count; c++) {
        const struct cell *cell = &model->cells[c];
        off[c] = cell->log_time - sy_estimate_prior(roofline, model->cost_count, cell->point);
    }
    double factor = BOTH * exp(sy_quantile(off, model->cell_count, 0.5));
    rates[0] = 1e9 * factor / (roofline ? roofline->flops_per_s : SY_ESTIMATE_PEAK);
    rates[1] = 1e9 * factor / (roofline ? roofline->bytes_per_s : SY_ESTIMATE_PEAK);
    rates[model->cost_count] = roofline ? roofline->launch_ns : 0;
}

void sy_estimate_shape(struct model *model, const struct sy_roofline *roofline) {
    uint32_t axes = model->cost_count + 1, count = model->cell_count;
    double products[AXES][AXES] = {0}, sums[AXES] = {0}, scale[AXES] = {0}, x[AXES] = {0};
    double row[AXES], start[AXES] = {0};
    model->shaped = false;
    for (uint32_t c = 0; c < count; c++) {
        relative(model, &model->cells[c], row);
        for (uint32_t i = 0; i < axes; i++) {
            scale[i] += row[i] * row[i] / count;
        }
    }
    for (uint32_t i = 0; i < axes; i++) {
        scale[i] = 1 / sqrt(scale[i]);
        if (!isfinite(scale[i]) || count < SHAPE_LEAST * axes) {
            return;
        }
    }
    for (uint32_t c = 0; c < count; c++) {
        relative(model, &model->cells[c], row);
        for (uint32_t i = 0; i < axes; i++) {
            sums[i] += row[i] * scale[i];
            for (uint32_t k = 0; k < axes; k++) {
                products[i][k] += row[i] * scale[i] * row[k] * scale[k];
            }
        }
    }
    begin(model, roofline, start);
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        for (uint32_t i = 0; i < axes; i++) {
            double left = sums[i] + products[i][i] * x[i] + START * start[i] / scale[i];
            for (uint32_t k = 0; k < axes; k++) {
                left -= products[i][k] * x[k];
            }
            x[i] = sy_most(left, 0) / (products[i][i] + RIDGE * count + START);
        }
    }
    for (uint32_t i = 0; i < axes; i++) {
        model->rates[i] = x[i] * scale[i];
        model->shaped |= x[i] > 0;
    }
}
