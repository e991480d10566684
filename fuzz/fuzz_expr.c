/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the parser of metric expressions with any bytes.
 *
 * What is accepted has its operands before what uses them, and gives the same value twice, whatever
 * the inputs are worth; what is refused says where.
 */
#include "listing/listing.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 0, not a number, negative, small, beyond all whole numbers: by the name alone. */
static double value(void *user, const char *name) {
    static const double values[] = {0, NAN, -3, 0.5, 1e300, INFINITY, 7, -0.0};
    (void)user;
    return values[sy_hash(name, strlen(name)) % SY_COUNT(values)];
}

static bool holds(void *user, const char *name) {
    return value(user, name) > 0;
}

static void check_order(const struct sy_expr *expr, uint32_t name_count) {
    for (uint32_t i = 0; i < expr->count; i++) {
        const struct sy_expr_node *node = &expr->nodes[i];
        switch (node->op) {
        case SY_EXPR_NUMBER:
            break;
        case SY_EXPR_NAME:
        case SY_EXPR_LITERAL:
        case SY_EXPR_SOURCE_COUNT:
        case SY_EXPR_HAS_EVENT:
        case SY_EXPR_IS_CPU:
            SY_ASSERT(node->a < name_count);
            break;
        default:
            SY_ASSERT(node->a < i && node->b < i && node->c < i);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_expr_names names = {0};
    struct sy_expr expr;
    struct sy_error error = {0};
    const struct sy_expr_scope scope = {value, value, value, holds, holds, NULL}, nothing = {0};
    if (!arena) {
        return 0;
    }
    if (sy_expr_parse(arena, &names, (const char *)data, size, &expr, &error) == 0) {
        SY_ASSERT(expr.count > 0 && expr.count <= SY_EXPR_NODES_MAX);
        check_order(&expr, names.count);
        double once = sy_expr_eval(&expr, names.names, &scope);
        double again = sy_expr_eval(&expr, names.names, &scope);
        SY_ASSERT(once == again || (isnan(once) && isnan(again)));
        (void)sy_expr_eval(&expr, names.names, &nothing);
    } else {
        SY_ASSERT(error.message[0] && error.column >= 1 && error.column <= size + 1);
    }
    sy_expr_names_finish(&names);
    sy_arena_destroy(arena);
    return 0;
}
