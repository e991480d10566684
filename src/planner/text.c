/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans as one line of text, and back.
 *
 * In: "gemm1+spmm1@gpu | gemm2@cpu:4x2", lanes joined by "||". Out: a plan that was checked, with
 * what it costs. Invariant: what was written reads back the same. Names are taken as they are in
 * the problem, the longest that matches, so that they may hold any sign that does not end a name.
 */
#include "planner/search.h"
#include <errno.h>
#include <string.h>

void sy_plan_write(const struct sy_plan_problem *problem, const struct sy_plan *plan,
                   struct sy_buffer *buffer) {
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct sy_plan_stage *stage = &plan->stages[i];
        const struct sy_plan_shape *shape = &problem->shapes[stage->shape];
        const char *between = "";
        if (i) {
            sy_buffer_printf(buffer, stage->lane == stage[-1].lane ? " | " : " || ");
        }
        for (uint64_t left = stage->kernels; left; left &= left - 1) {
            sy_buffer_printf(buffer, "%s%s", between, problem->kernels[__builtin_ctzll(left)].name);
            between = "+";
        }
        sy_buffer_printf(buffer, "@%s", problem->classes[shape->class_index].name);
        if (shape->width > 1 || stage->replicas > 1) {
            sy_buffer_printf(buffer, ":%u", shape->width);
        }
        if (stage->replicas > 1) {
            sy_buffer_printf(buffer, "x%u", stage->replicas);
        }
    }
}

struct reader {
    const struct sy_plan_problem *problem;
    const char *text, *at;
    struct sy_error *error;
};

static uint32_t column_of(const struct reader *reader) {
    return (uint32_t)(reader->at - reader->text) + 1;
}

static void skip_spaces(struct reader *reader) {
    reader->at += strspn(reader->at, " \t\n");
}

static bool ends_name(char c, const char *ends) {
    return c == '\0' || strchr(ends, c);
}

/* The longest name that the text goes on with; SY_NONE: none. */
static uint32_t match(const struct reader *reader, const char *(*name_of)(const void *, uint32_t),
                      uint32_t count, const char *ends) {
    uint32_t best = SY_NONE;
    size_t longest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = name_of(reader->problem, i);
        size_t length = strlen(name);
        if (length > longest && strncmp(reader->at, name, length) == 0 &&
            ends_name(reader->at[length], ends)) {
            best = i;
            longest = length;
        }
    }
    return best;
}

static const char *kernel_name(const void *problem, uint32_t i) {
    return ((const struct sy_plan_problem *)problem)->kernels[i].name;
}

static const char *class_name(const void *problem, uint32_t i) {
    return ((const struct sy_plan_problem *)problem)->classes[i].name;
}

static int unknown(struct reader *reader, const char *what,
                   const char *(*name_of)(const void *, uint32_t), uint32_t count,
                   const char *ends) {
    const char *names[SY_PLAN_KERNEL_MAX];
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(reader->at, ends), reader->at);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = name_of(reader->problem, i);
    }
    if (!word[0]) {
        return sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader),
                          "the name of a %s is missing", what);
    }
    sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader), "unknown %s '%s'", what, word);
    return sy_hint_names(reader->error, word, names, count);
}

#define KERNEL_ENDS "+@| \t\n"
#define CLASS_ENDS  ":| \t\n"

static int read_kernels(struct reader *reader, uint64_t *ret_kernels) {
    *ret_kernels = 0;
    for (;;) {
        skip_spaces(reader);
        uint32_t k = match(reader, kernel_name, reader->problem->kernel_count, KERNEL_ENDS);
        if (k == SY_NONE) {
            return unknown(reader, "kernel", kernel_name, reader->problem->kernel_count,
                           KERNEL_ENDS);
        }
        const char *name = reader->problem->kernels[k].name;
        if (*ret_kernels >> k & 1) {
            return sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader),
                              "kernel '%s' appears twice", name);
        }
        *ret_kernels |= 1ull << k;
        reader->at += strlen(name);
        skip_spaces(reader);
        if (*reader->at == '@') {
            reader->at++;
            return 0;
        }
        if (*reader->at != '+') {
            sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader),
                       "'+' and another kernel, or '@' and a class, must follow '%s'", name);
            return sy_hint(reader->error, "a stage reads \"gemm1+spmm1@gpu\"");
        }
        reader->at++;
    }
}

static int read_count(struct reader *reader, const char *what, uint32_t *ret_count) {
    size_t length = strspn(reader->at, "0123456789");
    uint64_t value = 0;
    if (!length || !sy_parse_u64(reader->at, length, &value) || value == 0 ||
        value > SY_PLAN_DEVICE_MAX) {
        return sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader),
                          "%s must be a number from 1 to %u", what, SY_PLAN_DEVICE_MAX);
    }
    reader->at += length;
    *ret_count = (uint32_t)value;
    return 0;
}

static int find_shape(struct reader *reader, uint32_t class_index, uint32_t width,
                      uint32_t *ret_shape) {
    char widths[128] = "";
    for (uint32_t i = 0; i < reader->problem->shape_count; i++) {
        const struct sy_plan_shape *shape = &reader->problem->shapes[i];
        size_t length = strlen(widths);
        if (shape->class_index == class_index) {
            if (shape->width == width) {
                *ret_shape = i;
                return 0;
            }
            snprintf(widths + length, sizeof widths - length, "%s%u", length ? ", " : "",
                     shape->width);
        }
    }
    sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader),
               "class '%s' has no width of %u devices", reader->problem->classes[class_index].name,
               width);
    return sy_hint(reader->error, "its widths: %s", widths[0] ? widths : "none");
}

static int read_stage(struct reader *reader, struct sy_plan_stage *ret_stage) {
    struct sy_plan_stage stage = {.replicas = 1};
    uint32_t width = 1;
    int code = read_kernels(reader, &stage.kernels);
    if (code) {
        return code;
    }
    skip_spaces(reader);
    uint32_t class_index = match(reader, class_name, reader->problem->class_count, CLASS_ENDS);
    if (class_index == SY_NONE) {
        return unknown(reader, "class", class_name, reader->problem->class_count, CLASS_ENDS);
    }
    reader->at += strlen(reader->problem->classes[class_index].name);
    if (*reader->at == ':') {
        reader->at++;
        code = read_count(reader, "a width", &width);
        if (!code && *reader->at == 'x') {
            reader->at++;
            code = read_count(reader, "a number of replicas", &stage.replicas);
        }
    }
    code = code ? code : find_shape(reader, class_index, width, &stage.shape);
    if (!code) {
        *ret_stage = stage;
    }
    return code;
}

static int read_stages(struct reader *reader, struct sy_plan *plan) {
    for (;;) {
        if (plan->stage_count == SY_PLAN_STAGE_MAX || plan->lane_count > SY_PLAN_LANE_MAX) {
            return sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader),
                              "more than %u stages or %u lanes", SY_PLAN_STAGE_MAX,
                              SY_PLAN_LANE_MAX);
        }
        struct sy_plan_stage *stage = &plan->stages[plan->stage_count++];
        int code = read_stage(reader, stage);
        if (code) {
            return code;
        }
        stage->lane = plan->lane_count - 1;
        skip_spaces(reader);
        if (*reader->at == '\0') {
            return 0;
        }
        if (*reader->at != '|') {
            sy_fail_at(reader->error, -EINVAL, NULL, 0, column_of(reader),
                       "'|' and another stage, or nothing, must follow a stage");
            return sy_hint(reader->error, "stages read \"gemm1@gpu | gemm2@cpu:4x2\"");
        }
        reader->at++;
        if (*reader->at == '|') {
            reader->at++;
            plan->lane_count++;
        }
    }
}

int sy_plan_parse(const struct sy_plan_problem *problem, const char *text, struct sy_plan *ret_plan,
                  struct sy_error *error) {
    struct reader reader = {.problem = problem, .text = text, .at = text, .error = error};
    struct sy_plan_order order;
    struct sy_plan plan = {.lane_count = 1};
    int code = sy_plan_check(problem, &order, error);
    code = code ? code : read_stages(&reader, &plan);
    code = code ? code : sy_plan_evaluate(problem, &sy_plan_unbounded, &plan, &plan.outcome, error);
    if (!code) {
        sy_plan_cost(problem, &sy_plan_unbounded, &plan);
        *ret_plan = plan;
    }
    return code;
}
