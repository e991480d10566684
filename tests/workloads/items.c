/* SPDX-License-Identifier: Apache-2.0
 *
 * One item of a pipeline, kernel by kernel; see items.h.
 */
#include "items.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* after what it needs */
#include <cmocka.h>

struct sy_pipeline *read_pipeline(const struct sy_kernel_pipeline *entry) {
    struct sy_pipeline *pipeline = NULL;
    struct sy_error error = {0};
    if (sy_pipeline_read_text(entry->name, entry->text, strlen(entry->text), &pipeline, &error)) {
        fail_msg("%s: %s", entry->name, error.message);
    }
    return pipeline;
}

uint64_t item_bytes(const struct item *item, uint32_t datum) {
    return (uint64_t)item->numbers[item->pipeline->data[datum].bytes];
}

static void fill_datum(struct item *item, uint32_t datum) {
    uint64_t bytes = item_bytes(item, datum);
    enum sy_pipeline_role role = item->pipeline->data[datum].role;
    item->data[datum] = malloc(bytes);
    assert_non_null(item->data[datum]);
    memset(item->data[datum], 0xff, bytes);
    if (role == SY_PIPELINE_INPUT || role == SY_PIPELINE_CONSTANT) {
        assert_int_equal(item->entry->fill(item->state,
                                           role == SY_PIPELINE_INPUT ? item->number : UINT64_MAX,
                                           datum, item->data[datum], bytes),
                         0);
    }
}

void open_item(const struct sy_kernel_table *table, const struct sy_kernel_pipeline *entry,
               const char *arguments, uint64_t number, struct item *ret_item) {
    struct item item = {
        .table = table, .entry = entry, .number = number, .pipeline = read_pipeline(entry)};
    struct sy_error error = {0};
    uint64_t input = 0;
    if (entry->open(arguments, &item.state, &error)) {
        fail_msg("%s:%s: %s", entry->name, arguments, error.message);
    }
    item.values = calloc(item.pipeline->feature_count, sizeof(double));
    item.numbers = calloc(item.pipeline->expression_count, sizeof(double));
    item.data = calloc(item.pipeline->datum_count, sizeof(void *));
    assert_true(item.values && item.numbers && item.data);
    assert_int_equal(entry->next(item.state, number, item.values, &input), 1);
    if (sy_pipeline_measure(item.pipeline, item.values, item.numbers, &error)) {
        fail_msg("%s:%s: %s", entry->name, arguments, error.message);
    }
    for (uint32_t datum = 0; datum < item.pipeline->datum_count; datum++) {
        fill_datum(&item, datum);
    }
    *ret_item = item;
}

void close_item(struct item *item) {
    for (uint32_t datum = 0; datum < item->pipeline->datum_count; datum++) {
        free(item->data[datum]);
    }
    free(item->data);
    free(item->numbers);
    free(item->values);
    item->entry->close(item->state);
    sy_pipeline_destroy(item->pipeline);
}

/* "sgemm", or "gnn:sgemm" of another plug-in. */
static const struct sy_kernel_entry *kernel_of(const struct item *item, const char *name) {
    const char *colon = strchr(name, ':');
    char plugin[64];
    if (!colon) {
        return find_kernel(item->table, name);
    }
    snprintf(plugin, sizeof(plugin), "%.*s", (int)(colon - name), name);
    const struct sy_kernel_table *table = open_plugin(plugin);
    assert_non_null(table);
    return find_kernel(table, colon + 1);
}

static bool run_kernel(struct item *item, const struct sy_pipeline_kernel *kernel, uint32_t parts,
                       const struct device *device) {
    const struct sy_kernel_entry *entry = kernel_of(item, kernel->kernel);
    struct sy_argument arguments[SY_ARGUMENT_MAX];
    double parameters[SY_CALL_PARAMETER_MAX];
    char message[SY_CALL_MESSAGE_MAX] = "";
    assert_int_equal(entry->argument_count, kernel->argument_count);
    for (uint32_t i = 0; i < kernel->argument_count; i++) {
        uint32_t datum = kernel->arguments[i];
        arguments[i] = (struct sy_argument){item->data[datum], item_bytes(item, datum),
                                            kernel->writes[i] ? SY_WRITE : SY_READ};
        assert_int_equal(arguments[i].mode & entry->modes[i], entry->modes[i]);
    }
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        parameters[i] = item->numbers[kernel->parameters[i]];
    }
    bool there = device && entry->functions[device->flavour];
    for (uint32_t part = 0; part < (there ? 1 : parts); part++) {
        struct sy_call call = {.arguments = arguments,
                               .argument_count = kernel->argument_count,
                               .parameters = parameters,
                               .parameter_count = kernel->parameter_count,
                               .part = part,
                               .part_count = there ? 1 : parts,
                               .message = message};
        if (run_call(entry, &call, there ? device : NULL)) {
            fail_msg("%s: %s: %s", item->entry->name, kernel->name, message);
        }
    }
    return there;
}

uint32_t run_item(struct item *item, uint32_t parts, const struct device *device) {
    uint32_t there = 0;
    for (uint32_t at = 0; at < item->pipeline->kernel_count; at++) {
        there += run_kernel(item, &item->pipeline->kernels[at], parts, device);
    }
    return there;
}

double judge_item(struct item *item) {
    double error = NAN, tolerance = NAN;
    struct sy_error problem = {0};
    if (item->entry->check(item->state, item->number, item->data, &error, &tolerance, &problem)) {
        fail_msg("the check itself failed: %s", problem.message);
    }
    assert_true(tolerance > 0 && tolerance <= 1e-3);
    return error / tolerance;
}
