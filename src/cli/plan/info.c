/* SPDX-License-Identifier: Apache-2.0
 *
 * info: what a pipeline is made of and what must be said of an item, before anything is
 * planned.
 *
 * In: a pipeline. Out: tables, or one JSON object "symph-plan-pipeline-1".
 */
#include "cli/plan/plan.h"

#include "base/json.h"
#include "cli/table.h"
#include <math.h>

static const char *role_name(enum sy_pipeline_role role) {
    static const char *const names[] = {"input", "constant", "between", "output"};
    return names[role];
}

static void put_arguments(const struct sy_pipeline *pipeline,
                          const struct sy_pipeline_kernel *kernel, bool writes,
                          struct sy_table *table) {
    struct sy_buffer text = {0};
    for (uint32_t a = 0; a < kernel->argument_count; a++) {
        if (kernel->writes[a] == writes) {
            sy_print(&text, "%s%s", text.length ? ", " : "",
                     pipeline->data[kernel->arguments[a]].name);
        }
    }
    sy_table_cell(table, "%.*s", text.failed ? 0 : (int)text.length, text.length ? text.text : "");
    sy_buffer_finish(&text);
}

static void put_kernels(const struct sy_pipeline *pipeline, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"kernel", "runs", "reads", "writes", ""}, "lllll");
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        sy_table_cell(&table, "%s|%s", kernel->name, kernel->kernel);
        put_arguments(pipeline, kernel, false, &table);
        put_arguments(pipeline, kernel, true, &table);
        sy_table_cell(&table, "%s", kernel->split ? "can be split" : "");
    }
    sy_print(buffer, "\nKernels:\n");
    sy_table_write(&table, 2, bold, buffer);
}

static void put_features(const struct sy_pipeline *pipeline, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"feature", "from", "to", "usual", "what it is"},
                  "lrrrl");
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        const struct sy_pipeline_feature *feature = &pipeline->features[i];
        sy_table_cell(&table, "%s|%.6g|%.6g", feature->name, feature->low, feature->high);
        if (isnan(feature->usual)) {
            sy_table_cell(&table, "needed");
        } else {
            sy_table_cell(&table, "%.6g", feature->usual);
        }
        sy_table_cell(&table, "%s", feature->about);
    }
    sy_print(buffer, "\nFeatures of an item (--input-features NAME=VALUE,...):\n");
    sy_table_write(&table, 2, bold, buffer);
}

static void put_examples(const struct sy_pipeline *pipeline, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    if (pipeline->example_count == 0) {
        return;
    }
    sy_table_init(&table, (const char *const[]){"example", "what it is", "values"}, "lll");
    for (uint32_t i = 0; i < pipeline->example_count; i++) {
        const struct sy_pipeline_example *example = &pipeline->examples[i];
        struct sy_buffer text = {0};
        for (uint32_t f = 0; f < pipeline->feature_count; f++) {
            sy_print(&text, "%s%s=%.10g", f ? "," : "", pipeline->features[f].name,
                     example->values[f]);
        }
        sy_table_cell(&table, "%s|%s|%.*s", example->name, example->about,
                      text.failed ? 0 : (int)text.length, text.length ? text.text : "");
        sy_buffer_finish(&text);
    }
    sy_print(buffer, "\nExamples (--input-features NAME, or NAME,feature=value):\n");
    sy_table_write(&table, 2, bold, buffer);
}

static void put_names(const char *key, const struct sy_pipeline *pipeline,
                      const struct sy_pipeline_kernel *kernel, bool writes,
                      struct sy_json_writer *writer) {
    sy_json_print(writer, "%s: [", key);
    for (uint32_t a = 0; a < kernel->argument_count; a++) {
        if (kernel->writes[a] == writes) {
            sy_json_put_string(writer, pipeline->data[kernel->arguments[a]].name);
        }
    }
    sy_json_close(writer, ']');
}

static void put_json_parts(const struct sy_pipeline *pipeline, struct sy_json_writer *writer) {
    sy_json_print(writer, "kernels: [");
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        sy_json_print(writer, "{name: %s, kernel: %s", pipeline->kernels[k].name,
                      pipeline->kernels[k].kernel);
        put_names("reads", pipeline, &pipeline->kernels[k], false, writer);
        put_names("writes", pipeline, &pipeline->kernels[k], true, writer);
        sy_json_print(writer, "split: %d}", pipeline->kernels[k].split);
    }
    sy_json_print(writer, "], data: [");
    for (uint32_t i = 0; i < pipeline->datum_count; i++) {
        sy_json_print(writer, "{name: %s, role: %s}", pipeline->data[i].name,
                      role_name(pipeline->data[i].role));
    }
    sy_json_close(writer, ']');
}

static int print_json(const struct sy_pipeline *pipeline) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, pipeline: %s, about: %s", "symph-plan-pipeline-1",
                  pipeline->name, pipeline->about);
    put_json_parts(pipeline, &writer);
    sy_json_print(&writer, "features: [");
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        sy_json_print(&writer, "{name: %s, about: %s, low: %g, high: %g, usual: %g}",
                      pipeline->features[i].name, pipeline->features[i].about,
                      pipeline->features[i].low, pipeline->features[i].high,
                      pipeline->features[i].usual);
    }
    sy_json_print(&writer, "], examples: [");
    for (uint32_t i = 0; i < pipeline->example_count; i++) {
        sy_json_print(&writer, "{name: %s, about: %s, values: {", pipeline->examples[i].name,
                      pipeline->examples[i].about);
        for (uint32_t f = 0; f < pipeline->feature_count; f++) {
            sy_json_member_number(&writer, pipeline->features[f].name,
                                  pipeline->examples[i].values[f]);
        }
        sy_json_print(&writer, "}}");
    }
    sy_json_print(&writer, "]}");
    return sy_output(&writer.buffer);
}

int sy_planning_print_pipeline(const struct sy_planning *planning) {
    const struct sy_pipeline *pipeline = planning->pipeline;
    struct sy_buffer buffer = {0};
    bool bold = sy_message_colour(stdout);
    if (planning->args->common.json) {
        return print_json(pipeline);
    }
    sy_print(&buffer, "%s%s%s\n", pipeline->name, pipeline->about[0] ? ": " : "", pipeline->about);
    put_kernels(pipeline, bold, &buffer);
    put_features(pipeline, bold, &buffer);
    put_examples(pipeline, bold, &buffer);
    sy_print(&buffer, "\nPlan it: symph plan %s --input-features %s\n",
             planning->args->pipelines.items[0],
             pipeline->example_count ? pipeline->examples[0].name : "NAME=VALUE,...");
    return sy_output(&buffer);
}
