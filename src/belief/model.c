/* SPDX-License-Identifier: Apache-2.0
 *
 * The factor graph as data: made, filled, checked, destroyed.
 */
#include "belief/belief.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct grown {
    struct sy_model model;
    uint32_t variable_capacity, factor_capacity, term_capacity;
};

struct sy_model *sy_model_create(const char *name) {
    struct grown *grown = calloc(1, sizeof *grown);
    struct sy_model *model = grown ? &grown->model : NULL;
    if (model && (!(model->arena = sy_arena_create()) ||
                  !(model->name = sy_arena_strdup(model->arena, name)))) {
        sy_model_destroy(model);
        return NULL;
    }
    return model;
}

void sy_model_destroy(struct sy_model *model) {
    if (model) {
        sy_arena_destroy(model->arena);
        free(model->variables);
        free(model->factors);
        free(model->terms);
        free(model);
    }
}

uint32_t sy_model_add_variable(struct sy_model *model, const struct sy_variable *variable) {
    struct grown *grown = (struct grown *)model;
    struct sy_variable copy = *variable;
    copy.name = sy_arena_strdup(model->arena, variable->name);
    copy.role = sy_arena_strdup(model->arena, variable->role ? variable->role : "");
    if (!copy.name || !copy.role ||
        sy_grow(&model->variables, &grown->variable_capacity, model->variable_count + 1,
                sizeof copy)) {
        return SY_NONE;
    }
    model->variables[model->variable_count] = copy;
    return model->variable_count++;
}

uint32_t sy_model_add_factor(struct sy_model *model, const struct sy_factor *factor,
                             const struct sy_term *terms, uint32_t term_count) {
    struct grown *grown = (struct grown *)model;
    struct sy_factor copy = *factor;
    copy.why = sy_arena_strdup(model->arena, factor->why ? factor->why : "");
    copy.first_term = model->term_count;
    copy.term_count = term_count;
    if (!copy.why ||
        sy_grow(&model->terms, &grown->term_capacity, model->term_count + term_count,
                sizeof *terms) ||
        sy_grow(&model->factors, &grown->factor_capacity, model->factor_count + 1, sizeof copy)) {
        return SY_NONE;
    }
    memcpy(&model->terms[model->term_count], terms, term_count * sizeof *terms);
    model->term_count += term_count;
    model->factors[model->factor_count] = copy;
    return model->factor_count++;
}

static int check_variable(const struct sy_variable *v, struct sy_error *error) {
    bool good = isfinite(v->start_log) && v->start_sd > 0 && isfinite(v->start_sd) &&
                v->settles >= 0 && v->settles <= 1 && v->drift_sd >= 0 && isfinite(v->drift_sd) &&
                v->noise_ratio >= 0 && isfinite(v->noise_ratio) && v->offset >= 0 &&
                isfinite(v->offset) && v->capacity > 0;
    return good ? 0 : sy_fail(error, -EINVAL, "variable %s: a number is out of range", v->name);
}

static int check_factor(const struct sy_model *model, const struct sy_factor *f,
                        struct sy_error *error) {
    bool good = f->width > 0 && isfinite(f->width) && isfinite(f->constant) &&
                (f->out == SY_NONE || f->out < model->variable_count) &&
                f->first_term <= model->term_count &&
                f->term_count <= model->term_count - f->first_term;
    for (uint32_t i = 0; good && i < f->term_count; i++) {
        const struct sy_term *term = &model->terms[f->first_term + i];
        good = term->variable < model->variable_count && isfinite(term->coefficient);
    }
    return good ? 0 : sy_fail(error, -EINVAL, "relation \"%s\" is not well formed", f->why);
}

int sy_model_check(const struct sy_model *model, struct sy_error *error) {
    int code = 0;
    for (uint32_t i = 0; !code && i < model->variable_count; i++) {
        code = check_variable(&model->variables[i], error);
    }
    for (uint32_t i = 0; !code && i < model->factor_count; i++) {
        code = check_factor(model, &model->factors[i], error);
    }
    return code;
}
