/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost model: a curve per (kernel, device class), found by the kernel's name or an alias.
 */
#include "cost/curve.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
    const char *name;
    struct sy_curve *curves;
    uint32_t curve_count, curve_capacity;
};

struct sy_cost_model {
    struct sy_arena *arena; /* names */
    struct sy_map names, aliases;
    struct kernel *kernels;
    uint32_t kernel_count, kernel_capacity;
};

struct sy_cost_model *sy_cost_model_create(void) {
    struct sy_cost_model *model = calloc(1, sizeof *model);
    if (!model) {
        return NULL;
    }
    model->arena = sy_arena_create();
    if (!model->arena) {
        free(model);
        return NULL;
    }
    return model;
}

void sy_cost_model_destroy(struct sy_cost_model *model) {
    if (!model) {
        return;
    }
    for (uint32_t i = 0; i < model->kernel_count; i++) {
        for (uint32_t j = 0; j < model->kernels[i].curve_count; j++) {
            free(model->kernels[i].curves[j].sizes);
        }
        free(model->kernels[i].curves);
    }
    free(model->kernels);
    sy_map_finish(&model->names);
    sy_map_finish(&model->aliases);
    sy_arena_destroy(model->arena);
    free(model);
}

/* The kernel's index, made if there is none. */
static int touch_kernel(struct sy_cost_model *model, const char *name, uint32_t *ret_index) {
    if (sy_map_get(&model->names, name, strlen(name), ret_index)) {
        return 0;
    }
    int code = sy_grow(&model->kernels, &model->kernel_capacity, model->kernel_count + 1,
                       sizeof *model->kernels);
    const char *copy = sy_arena_strdup(model->arena, name);
    if (code || !copy) {
        return -ENOMEM;
    }
    code = sy_map_put(&model->names, copy, strlen(copy), model->kernel_count);
    if (code) {
        return code;
    }
    model->kernels[model->kernel_count] = (struct kernel){.name = copy};
    *ret_index = model->kernel_count++;
    return 0;
}

static struct sy_curve *find_curve(const struct kernel *kernel, const char *class_name) {
    for (uint32_t i = 0; i < kernel->curve_count; i++) {
        if (strcmp(kernel->curves[i].class_name, class_name) == 0) {
            return &kernel->curves[i];
        }
    }
    return NULL;
}

static struct sy_curve *touch_curve(struct sy_cost_model *model, const char *name,
                                    const char *class_name) {
    uint32_t index;
    if (touch_kernel(model, name, &index)) {
        return NULL;
    }
    struct kernel *kernel = &model->kernels[index];
    struct sy_curve *curve = find_curve(kernel, class_name);
    if (curve) {
        return curve;
    }
    const char *copy = sy_arena_strdup(model->arena, class_name);
    if (!copy || sy_grow(&kernel->curves, &kernel->curve_capacity, kernel->curve_count + 1,
                         sizeof *kernel->curves)) {
        return NULL;
    }
    curve = &kernel->curves[kernel->curve_count++];
    *curve = (struct sy_curve){.class_name = copy};
    return curve;
}

static bool is_feature(double value) {
    return value >= 0 && isfinite(value);
}

static bool is_time(double value) {
    return value > 0 && isfinite(value);
}

int sy_cost_observe(struct sy_cost_model *model, const char *kernel, const char *class_name,
                    double bytes, double flops, double duration_ns) {
    if (!is_feature(bytes) || !is_feature(flops) || !is_time(duration_ns)) {
        return -EINVAL;
    }
    struct sy_curve *curve = touch_curve(model, kernel, class_name);
    struct sy_curve_size *size = curve ? sy_curve_touch(curve, bytes, flops) : NULL;
    if (!size) {
        return -ENOMEM;
    }
    size->samples_ns[size->sample_count++ % SY_CURVE_SAMPLES] = duration_ns;
    size->weight++;
    return sy_curve_refresh(curve, size);
}

int sy_cost_add_summary(struct sy_cost_model *model, const char *kernel, const char *class_name,
                        double bytes, double flops, double mean_ns, double stddev_ns,
                        uint64_t sample_count) {
    if (!is_feature(bytes) || !is_feature(flops) || !is_time(mean_ns) || !is_feature(stddev_ns)) {
        return -EINVAL;
    }
    struct sy_curve *curve = touch_curve(model, kernel, class_name);
    struct sy_curve_size *size = curve ? sy_curve_touch(curve, bytes, flops) : NULL;
    if (!size) {
        return -ENOMEM;
    }
    /* Mean and deviation of a log-normal, turned into its median and sigma. */
    double variation = stddev_ns / mean_ns, log_sigma = sqrt(log1p(variation * variation));
    size->summaries[size->summary_count++ % SY_CURVE_SUMMARIES] = (struct sy_curve_summary){
        .median_ns = mean_ns * exp(-0.5 * log_sigma * log_sigma), .log_sigma = log_sigma};
    size->weight += sample_count ? sample_count : 1;
    return sy_curve_refresh(curve, size);
}

int sy_cost_add_alias(struct sy_cost_model *model, const char *alias, const char *kernel) {
    uint32_t index;
    int code = touch_kernel(model, kernel, &index);
    if (code || sy_map_get(&model->aliases, alias, strlen(alias), &index)) {
        return code;
    }
    const char *copy = sy_arena_strdup(model->arena, alias);
    return copy ? sy_map_put(&model->aliases, copy, strlen(copy), index) : -ENOMEM;
}

static struct sy_estimate estimate_in(const struct sy_cost_model *model, const struct sy_map *map,
                                      const char *kernel, const char *class_name, double bytes,
                                      double flops) {
    uint32_t index;
    const struct sy_curve *curve = sy_map_get(map, kernel, strlen(kernel), &index)
                                       ? find_curve(&model->kernels[index], class_name)
                                       : NULL;
    return curve ? sy_curve_estimate(curve, bytes, flops)
                 : (struct sy_estimate){.source = SY_COST_UNKNOWN};
}

struct sy_estimate sy_cost_estimate(const struct sy_cost_model *model, const char *kernel,
                                    const char *class_name, double bytes, double flops) {
    struct sy_estimate own = estimate_in(model, &model->names, kernel, class_name, bytes, flops);
    if (own.source != SY_COST_UNKNOWN) {
        return own;
    }
    return estimate_in(model, &model->aliases, kernel, class_name, bytes, flops);
}
