/* SPDX-License-Identifier: Apache-2.0
 *
 * Features of an item, and what the expressions of a pipeline give for them.
 *
 * In: "nodes=1e5,edges=2e6", the name of an example, both, or a file. Out: one number per feature,
 * then one per expression. Invariant: what is missing is said at once, all of it.
 */
#include "base/json.h"
#include "listing/listing.h"
#include "planner/values.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- features --------------------------------------------------------------------------------- */
static uint32_t feature_names(const struct sy_pipeline *pipeline, const char **names) {
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        names[i] = pipeline->features[i].name;
    }
    return pipeline->feature_count;
}

/* "a, b and 3 more", as far as there is room. */
static void put_list(char *text, size_t size, const char *const *names, uint32_t count) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        if (length + strlen(names[i]) + 20 > size) {
            snprintf(text + length, size - length, " and %u more", count - i);
            return;
        }
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", names[i]);
    }
}

uint32_t sy_values_feature(const struct sy_pipeline *pipeline, const char *name,
                           struct sy_error *error) {
    const char *names[SY_PIPELINE_FEATURE_MAX];
    uint32_t count = feature_names(pipeline, names);
    uint32_t i = sy_index_of(name, names, count, sizeof *names);
    if (i != SY_NONE) {
        return i;
    }
    const char *near = strlen(name) < 200 ? sy_nearest(name, names, count) : NULL;
    sy_fail(error, -EINVAL, "\"%.64s\" is not a feature of this pipeline", name);
    if (near) {
        sy_hint(error, "did you mean \"%s\"?", near);
    } else {
        char list[200];
        put_list(list, sizeof list, names, count);
        sy_hint(error, "features are %s", count ? list : "none");
    }
    return SY_NONE;
}

int sy_values_check(const struct sy_pipeline_feature *feature, double value,
                    struct sy_error *error) {
    if (value >= feature->low && value <= feature->high) {
        return 0;
    }
    sy_fail(error, -EINVAL, "%.64s must be %g to %g, not %g", feature->name, feature->low,
            feature->high, value);
    if (feature->about[0]) {
        sy_hint(error, "%.40s: %.180s", feature->name, feature->about);
    }
    return -EINVAL;
}

int sy_values_complete(const struct sy_pipeline *pipeline, double *values, struct sy_error *error) {
    const char *missing[SY_PIPELINE_FEATURE_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        if (isnan(values[i])) {
            values[i] = pipeline->features[i].usual;
            missing[count] = pipeline->features[i].name;
            count += isnan(values[i]) ? 1 : 0;
        }
    }
    if (count == 0) {
        return 0;
    }
    char list[200];
    put_list(list, sizeof list, missing, count);
    sy_fail(error, -EINVAL, "no value for %s", list);
    return sy_hint(error, "say %s=NUMBER%s%s", missing[0], count > 1 ? "," : "",
                   count > 1 ? "... for each" : "");
}

int sy_values_read_object(const struct sy_pipeline *pipeline, struct sy_json *json,
                          double *values) {
    const char *name;
    int code = sy_json_enter_object(json);
    while (!code && (code = sy_json_next_member(json, &name)) == 1) {
        struct sy_error why;
        double value;
        uint32_t feature = sy_values_feature(pipeline, name, &why);
        if (feature == SY_NONE) {
            sy_json_fail(json, "%s", why.message);
            return sy_hint(json->error, "%s", why.hint);
        }
        if (!isnan(values[feature])) {
            return sy_json_fail(json, "%s appears twice", pipeline->features[feature].name);
        }
        code = sy_json_number(json, &value);
        if (!code && sy_values_check(&pipeline->features[feature], value, &why)) {
            code = sy_json_fail(json, "%s", why.message);
            sy_hint(json->error, "%s", why.hint);
        }
        if (!code) {
            values[feature] = value;
        }
    }
    return code;
}

/* --- from a line of text ---------------------------------------------------------------------- */
static uint32_t find_example(const struct sy_pipeline *pipeline, const char *text, size_t length) {
    for (uint32_t i = 0; i < pipeline->example_count; i++) {
        const char *name = pipeline->examples[i].name;
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            return i;
        }
    }
    return SY_NONE;
}

static int no_example(const struct sy_pipeline *pipeline, const char *name,
                      struct sy_error *error) {
    const char *names[16];
    uint32_t count = 0;
    for (; count < pipeline->example_count && count < SY_COUNT(names); count++) {
        names[count] = pipeline->examples[count].name;
    }
    const char *near = strlen(name) < 200 ? sy_nearest(name, names, count) : NULL;
    sy_fail(error, -EINVAL,
            "\"%.100s\" is neither an example of this pipeline, nor NAME=NUMBER, nor a file", name);
    if (near) {
        sy_hint(error, "did you mean \"%s\"?", near);
    } else if (count) {
        char list[200];
        put_list(list, sizeof list, names, count);
        sy_hint(error, "examples are %s", list);
    } else if (pipeline->feature_count) {
        sy_hint(error, "say %s=NUMBER,...", pipeline->features[0].name);
    }
    return -EINVAL;
}

static const char *trim(const char *text, size_t *length) {
    while (*length && text[0] == ' ') {
        text++;
        --*length;
    }
    while (*length && text[*length - 1] == ' ') {
        --*length;
    }
    return text;
}

/* One "name=number". */
static int read_item(const struct sy_pipeline *pipeline, const char *item, size_t length,
                     bool *said, double *values, struct sy_error *error) {
    char name[80];
    const char *equals = memchr(item, '=', length);
    size_t name_length = equals ? (size_t)(equals - item) : length;
    snprintf(name, sizeof name, "%.*s", (int)(name_length < 79 ? name_length : 79), item);
    if (!equals) {
        sy_fail(error, -EINVAL, "\"%s\" lacks a value", name);
        return sy_hint(error, "write %s=NUMBER; an example comes first", name);
    }
    size_t left = length - name_length - 1;
    const char *number = trim(equals + 1, &left);
    size_t trimmed = strlen(name);
    const char *start = trim(name, &trimmed);
    memmove(name, start, trimmed);
    name[trimmed] = '\0';
    uint32_t feature = sy_values_feature(pipeline, name, error);
    if (feature == SY_NONE) {
        return -EINVAL;
    }
    double value;
    if (!sy_parse_double(number, left, &value)) {
        return sy_fail(error, -EINVAL, "%s must be a number, not \"%.*s\"", name,
                       (int)(left < 40 ? left : 40), number);
    }
    if (said[feature]) {
        return sy_fail(error, -EINVAL, "%s is given twice", name);
    }
    said[feature] = true;
    values[feature] = value;
    return sy_values_check(&pipeline->features[feature], value, error);
}

static int read_line(const struct sy_pipeline *pipeline, const char *text, double *values,
                     struct sy_error *error) {
    bool said[SY_PIPELINE_FEATURE_MAX] = {0};
    const char *at = text;
    for (bool first = true;; first = false) {
        size_t length = strcspn(at, ","), trimmed = length;
        const char *item = trim(at, &trimmed);
        if (first && !memchr(item, '=', trimmed)) {
            uint32_t example = find_example(pipeline, item, trimmed);
            if (example == SY_NONE) {
                char name[120];
                snprintf(name, sizeof name, "%.*s", (int)(trimmed < 119 ? trimmed : 119), item);
                return no_example(pipeline, name, error);
            }
            memcpy(values, pipeline->examples[example].values,
                   pipeline->feature_count * sizeof *values);
        } else {
            int code = read_item(pipeline, item, trimmed, said, values, error);
            if (code) {
                return code;
            }
        }
        if (at[length] == '\0') {
            return 0;
        }
        at += length + 1;
    }
}

static int read_values_file(const struct sy_pipeline *pipeline, const char *path, double *values,
                            struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    if (code) {
        return code;
    }
    struct sy_json json;
    struct sy_error why = {0};
    sy_json_init(&json, path, text, length, &why);
    code = sy_values_read_object(pipeline, &json, values);
    code = code ? code : sy_json_end(&json);
    sy_json_finish(&json);
    free(text);
    if (code && error) {
        *error = why;
    }
    return code;
}

/* Neither names of examples nor features nor numbers have a slash, or end like this. */
static bool is_file(const struct sy_pipeline *pipeline, const char *text) {
    size_t length = strlen(text);
    if (find_example(pipeline, text, length) != SY_NONE) {
        return false;
    }
    return strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".json") == 0) ||
           (!strchr(text, '=') && access(text, R_OK) == 0);
}

int sy_pipeline_values(const struct sy_pipeline *pipeline, const char *text, double *ret_values,
                       struct sy_error *error) {
    double values[SY_PIPELINE_FEATURE_MAX];
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        values[i] = NAN;
    }
    int code = 0;
    if (text[strspn(text, " ")] == '\0') {
        code = 0; /* what is usual may be enough */
    } else if (is_file(pipeline, text)) {
        code = read_values_file(pipeline, text, values, error);
    } else {
        code = read_line(pipeline, text, values, error);
    }
    code = code ? code : sy_values_complete(pipeline, values, error);
    if (!code) {
        memcpy(ret_values, values, pipeline->feature_count * sizeof *values);
    }
    return code;
}

/* --- from features to numbers ----------------------------------------------------------------- */
struct scope {
    const struct sy_pipeline *pipeline;
    const double *values;
};

/* The names of expressions are those of features, the pointers too. */
static double feature_value(void *user, const char *name) {
    const struct scope *scope = user;
    for (uint32_t i = 0; i < scope->pipeline->feature_count; i++) {
        if (scope->pipeline->features[i].name == name) {
            return scope->values[i];
        }
    }
    return NAN;
}

static int not_a_number(const char *owner, const char *what, double value, struct sy_error *error) {
    sy_fail(error, -EDOM, "\"%.64s\": %.64s is %g for this input", owner, what, value);
    sy_hint(error, "its expression must give a positive, finite number for every allowed input");
    return -EDOM;
}

static int check_kernel(const struct sy_pipeline_kernel *kernel, const double *numbers,
                        struct sy_error *error) {
    for (uint32_t i = 0; i < kernel->cost_count; i++) {
        double value = numbers[kernel->costs[i]];
        if (!(value > 0 && isfinite(value))) {
            return not_a_number(kernel->name, kernel->cost_names[i], value, error);
        }
    }
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        if (!isfinite(numbers[kernel->parameters[i]])) {
            sy_fail(error, -EDOM, "\"%.64s\": parameter %u is %g for this input", kernel->name,
                    i + 1, numbers[kernel->parameters[i]]);
            sy_hint(error, "its expression must give a finite number for every allowed input");
            return -EDOM;
        }
    }
    return 0;
}

/* The caller's array is also where they stand while they are checked. */
int sy_pipeline_measure(const struct sy_pipeline *pipeline, const double *values,
                        double *ret_numbers, struct sy_error *error) {
    struct scope scope = {pipeline, values};
    const struct sy_expr_scope where = {.value = feature_value, .user = &scope};
    for (uint32_t i = 0; i < pipeline->expression_count; i++) {
        ret_numbers[i] = sy_expr_eval(&pipeline->expressions[i], pipeline->names, &where);
    }
    for (uint32_t i = 0; i < pipeline->datum_count; i++) {
        double bytes = ret_numbers[pipeline->data[i].bytes];
        if (!(bytes > 0 && isfinite(bytes))) {
            return not_a_number(pipeline->data[i].name, "bytes", bytes, error);
        }
    }
    int code = 0;
    for (uint32_t i = 0; !code && i < pipeline->kernel_count; i++) {
        code = check_kernel(&pipeline->kernels[i], ret_numbers, error);
    }
    return code;
}

/* --- costs ------------------------------------------------------------------------------------ */
struct sy_features sy_pipeline_features(const struct sy_pipeline_kernel *kernel,
                                        const double *numbers, uint32_t width, double *costs) {
    for (uint32_t i = 0; i < kernel->cost_count; i++) {
        costs[i] = numbers[kernel->costs[i]];
    }
    return (struct sy_features){
        .count = kernel->cost_count, .names = kernel->cost_names, .values = costs, .width = width};
}

uint32_t sy_pipeline_cost_names(const struct sy_pipeline *pipeline, const char **names,
                                uint32_t count) {
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        for (uint32_t c = 0; c < kernel->cost_count && count <= SY_COSTS_NAME_MAX; c++) {
            uint32_t i = 0;
            while (i < count && strcmp(names[i], kernel->cost_names[c]) != 0) {
                i++;
            }
            if (i == count && count++ < SY_COSTS_NAME_MAX) {
                names[i] = kernel->cost_names[c];
            }
        }
    }
    return count;
}
