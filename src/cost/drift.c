/* SPDX-License-Identifier: Apache-2.0
 *
 * Online location of log(measured / predicted), for policies that correct a cost model as they go.
 *
 * In: ratios, one at a time. Out: the present correction. Invariant: one observation moves it by
 * at most CLIP * scale / (1 + weight). Surprises make it forget, so that a lasting change is
 * followed within some twenty observations although a lone spike hardly counts.
 */
#include "cost/cost.h"
#include <math.h>

#define CLIP          2.0  /* deviations count up to so many scales */
#define SURPRISE      2.5  /* further out than that, old observations lose weight ... */
#define FORGET        0.5  /* ... by this factor */
#define WEIGHT_MAX    24.0 /* a window of about twice as many observations */
#define SCALE_GAIN    0.25
#define SCALE_FLOOR   0.03
#define SCALE_INITIAL 0.3

void sy_drift_init(struct sy_drift *drift) {
    /* The model's own word weighs as much as one observation. */
    *drift = (struct sy_drift){.log_ratio = 0, .scale = SCALE_INITIAL, .weight = 1};
}

void sy_drift_observe(struct sy_drift *drift, double ratio) {
    if (!(ratio > 0) || !isfinite(ratio)) {
        return;
    }
    double deviation = log(ratio) - drift->log_ratio, size = fabs(deviation);
    double step = fmin(size, CLIP * drift->scale);
    if (size > SURPRISE * drift->scale) {
        drift->weight = fmax(1, drift->weight * FORGET);
    }
    drift->log_ratio += copysign(step, deviation) / (1 + drift->weight);
    drift->weight = fmin(drift->weight + 1, WEIGHT_MAX);
    double bounded = fmin(size, 3 * drift->scale);
    drift->scale = fmax(drift->scale + SCALE_GAIN * (bounded - drift->scale), SCALE_FLOOR);
}

double sy_drift_ratio(const struct sy_drift *drift) {
    return exp(drift->log_ratio);
}
