/* SPDX-License-Identifier: Apache-2.0
 *
 * A description while it is read. Private to this room.
 *
 * In: elements with their places in the text. Out: the checked graph of kernels. Invariant: every
 * complaint has a place.
 */
#ifndef SY_PLANNER_PIPELINE_READ_H
#define SY_PLANNER_PIPELINE_READ_H

#include "base/json.h"
#include "listing/listing.h"
#include "planner/values.h"

#define SY_PIPELINE_DATUM_MAX   256
#define SY_PIPELINE_EXAMPLE_MAX 256
#define SY_PIPELINE_EXPRESSION_MAX                                                                 \
    (SY_PIPELINE_DATUM_MAX +                                                                       \
     SY_PLAN_KERNEL_MAX * (SY_PIPELINE_PARAMETER_MAX + SY_PIPELINE_COST_MAX))

/* What is known of a datum besides what stands in its line. */
struct sy_datum_use {
    struct sy_json_place defined, read;
    uint32_t writer, reader; /* kernels; SY_NONE: none; the first of the readers */
};

struct sy_pipeline_reader {
    struct sy_json json;
    const char *file, *text;
    size_t length;
    struct sy_error *error;
    struct sy_arena *arena;
    struct sy_pipeline *pipeline;
    struct sy_pipeline_feature *features;
    struct sy_pipeline_datum *data;
    struct sy_pipeline_kernel *kernels;
    struct sy_pipeline_example *examples;
    struct sy_expr *expressions;
    struct sy_expr_names names;
    uint32_t *name_feature;
    struct sy_datum_use uses[SY_PIPELINE_DATUM_MAX];
    struct sy_json_place kernel_marks[SY_PLAN_KERNEL_MAX];
};

__attribute__((format(printf, 3, 4))) int sy_pipeline_fail(struct sy_pipeline_reader *reader,
                                                           struct sy_json_place mark,
                                                           const char *format, ...);
/* A number, or a string that is an expression over features; gives its index. */
SY_MUST_CHECK int sy_pipeline_read_expression(struct sy_pipeline_reader *reader,
                                              uint32_t *ret_index);
/* Every datum has who writes it and who reads it; kernels in an order in which they can run. */
SY_MUST_CHECK int sy_pipeline_connect(struct sy_pipeline_reader *reader);

#endif
