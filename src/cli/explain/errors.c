/* SPDX-License-Identifier: Apache-2.0
 *
 * errors: which predictions of execution times were wrong, and by how much.
 */
#include "cli/explain/explain.h"

#include <math.h>
#include <stdlib.h>

static double off_ns(const struct sy_explain *explain, uint32_t task) {
    return fabs(sy_explain_duration_ns(explain, task) - explain->record->tasks[task].predicted_ns);
}

/* Keeps the worst, by insertion. */
static void note_worst(const struct sy_explain *explain, uint32_t task,
                       struct sy_explain_errors *errors) {
    uint32_t at = errors->worst_count;
    while (at > 0 && off_ns(explain, errors->worst[at - 1]) < off_ns(explain, task)) {
        at--;
    }
    if (at == SY_EXPLAIN_WORST) {
        return;
    }
    errors->worst_count += errors->worst_count < SY_EXPLAIN_WORST;
    for (uint32_t i = errors->worst_count - 1; i > at; i--) {
        errors->worst[i] = errors->worst[i - 1];
    }
    errors->worst[at] = task;
}

struct sy_explain_errors sy_explain_errors(struct sy_explain *explain) {
    const struct sy_record *record = explain->record;
    struct sy_explain_errors errors = {0};
    double *ratios = sy_need(calloc(record->graph->task_count + 1u, sizeof *ratios));
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        double predicted = record->tasks[t].predicted_ns;
        if (record->tasks[t].device != SY_NONE && isfinite(predicted) && predicted > 0) {
            ratios[errors.count++] = off_ns(explain, t) / predicted;
            note_worst(explain, t, &errors);
        }
    }
    errors.median_ratio = sy_quantile(ratios, errors.count, 0.5);
    errors.p90_ratio = sy_quantile(ratios, errors.count, 0.9);
    free(ratios);
    return errors;
}
