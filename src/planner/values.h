/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers of features share. Private to this room.
 *
 * In: values as they were said, NAN where nothing was. Out: all of them, or what is missing or out
 * of its range. Never knows: where they stand in a file.
 */
#ifndef SY_PLANNER_VALUES_H
#define SY_PLANNER_VALUES_H

#include "planner/pipeline.h"

#define SY_PIPELINE_FEATURE_MAX 64
#define SY_PIPELINE_NAME_MAX    64 /* bytes of any name */

/* Index, or SY_NONE with an error that names the nearest. */
uint32_t sy_values_feature(const struct sy_pipeline *pipeline, const char *name,
                           struct sy_error *error);
SY_MUST_CHECK int sy_values_check(const struct sy_pipeline_feature *feature, double value,
                                  struct sy_error *error);
/* Usual values where values are NAN; one error for all that have none. */
SY_MUST_CHECK int sy_values_complete(const struct sy_pipeline *pipeline, double *values,
                                     struct sy_error *error);
/* Reads {"nodes": 1e5, ...} into values. json stands before the object. */
struct sy_json;
SY_MUST_CHECK int sy_values_read_object(const struct sy_pipeline *pipeline, struct sy_json *json,
                                        double *values);

#endif
