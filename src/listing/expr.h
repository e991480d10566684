/* SPDX-License-Identifier: Apache-2.0
 *
 * What the listing's files share about expressions. Private to this room.
 *
 * In: text and where it stands in a file. Out: nodes. Invariant: an error names file, line and
 * column of the very character.
 */
#ifndef SY_LISTING_EXPR_H
#define SY_LISTING_EXPR_H

#include "listing/listing.h"

#define SY_EXPR_DEPTH_MAX   256
#define SY_METRIC_DEPTH_MAX 256 /* metrics that use metrics that use metrics */

/* Where a text stands; file may be NULL: the column alone counts. */
struct sy_place {
    const char *file;
    uint32_t line, column;
};

/* As sy_expr_parse, with errors that speak of place. */
SY_MUST_CHECK int sy_expr_parse_at(struct sy_arena *arena, struct sy_expr_names *names,
                                   const char *text, size_t length, struct sy_place place,
                                   struct sy_expr *ret_expr, struct sy_error *error);

/* Gives a NAME its value; overrides scope->value where not NULL. */
typedef double (*sy_expr_lookup)(void *user, uint32_t name);

/* values has room for expr->count numbers. */
double sy_expr_eval_in(const struct sy_expr *expr, const char *const *names,
                       const struct sy_expr_scope *scope, sy_expr_lookup lookup, void *user,
                       double *values);

#endif
