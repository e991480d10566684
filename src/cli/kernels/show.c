/* SPDX-License-Identifier: Apache-2.0
 *
 * The listing of symph kernels, as tables and as JSON.
 */
#include "base/json.h"
#include "cli/kernels/list.h"
#include "cli/table.h"
#include "cli/units.h"

#include <math.h>
#include <string.h>

static const char *text_of(const char *text) {
    return text ? text : "";
}

static void put_variants(const struct sy_kernel_entry *kernel, struct sy_table *table) {
    char text[64] = "";
    for (uint32_t i = 0, used = 0; i < SY_FLAVOUR_COUNT; i++) {
        if (kernel->functions[i]) {
            used += (uint32_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                                       sy_flavour_name((enum sy_flavour)i));
        }
    }
    sy_table_cell(table, "%s", text);
}

static void put_arguments(const struct sy_kernel_entry *kernel, struct sy_table *table) {
    static const char *const modes[] = {"any", "r", "w", "rw"};
    char text[4 * SY_ARGUMENT_MAX + 8] = "any number";
    for (uint32_t i = 0, used = 0; i < kernel->argument_count; i++) {
        used += (uint32_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                                   modes[kernel->modes[i]]);
    }
    sy_table_cell(table, "%s", text);
}

static void put_kernels(const struct sy_kernel_list *list, const struct sy_kernel_table *table,
                        bool bold, struct sy_buffer *buffer) {
    struct sy_table rows;
    sy_table_init(&rows, (const char *const[]){"kernel", "variants", "arguments", ""}, "llll");
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        const struct sy_kernel_entry *kernel = &table->kernels[i];
        if (sy_kernel_list_wants(list, table, kernel->name)) {
            sy_table_cell(&rows, "%s", kernel->name);
            put_variants(kernel, &rows);
            put_arguments(kernel, &rows);
            sy_table_cell(&rows, "%s", text_of(kernel->summary));
        }
    }
    sy_table_write(&rows, 2, bold, buffer);
    sy_table_legend("variants: programming languages; arguments: r read, w written, rw both.", 2,
                    buffer);
}

static void put_workloads(const struct sy_kernel_table *table, bool bold,
                          struct sy_buffer *buffer) {
    struct sy_table rows;
    sy_table_init(&rows, (const char *const[]){"workload", ""}, "ll");
    for (uint32_t i = 0; i < table->workload_count; i++) {
        const struct sy_kernel_workload *workload = &table->workloads[i];
        const char *usage = text_of(workload->usage);
        sy_table_cell(&rows, "%s:%s%s%s", table->name, workload->name, usage[0] ? ":" : "", usage);
        sy_table_cell(&rows, "%s", text_of(workload->summary));
    }
    sy_print(buffer, "\n");
    sy_table_write(&rows, 2, bold, buffer);
}

static void put_pipelines(const struct sy_kernel_table *table, bool bold,
                          struct sy_buffer *buffer) {
    struct sy_table rows;
    sy_table_init(&rows, (const char *const[]){"pipeline", ""}, "ll");
    for (uint32_t i = 0; i < table->pipeline_count; i++) {
        const struct sy_kernel_pipeline *pipeline = &table->pipelines[i];
        const char *usage = text_of(pipeline->usage);
        sy_table_cell(&rows, "%s:%s%s%s", table->name, pipeline->name, usage[0] ? ":" : "", usage);
        sy_table_cell(&rows, "%s", text_of(pipeline->summary));
    }
    sy_print(buffer, "\n");
    sy_table_write(&rows, 2, bold, buffer);
}

static uint32_t wanted_kernels(const struct sy_kernel_list *list,
                               const struct sy_kernel_table *table) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        count += sy_kernel_list_wants(list, table, table->kernels[i].name);
    }
    return count;
}

static bool wants_workloads(const struct sy_kernel_list *list,
                            const struct sy_kernel_table *table) {
    return table->workload_count > 0 && sy_kernel_list_wants(list, table, table->name);
}

static bool wants_pipelines(const struct sy_kernel_list *list,
                            const struct sy_kernel_table *table) {
    return table->pipeline_count > 0 && sy_kernel_list_wants(list, table, table->name);
}

static void put_plugin(const struct sy_kernel_list *list, uint32_t index, bool bold,
                       struct sy_buffer *buffer) {
    const struct sy_kernel_table *table = sy_kernel_set_table(list->set, index);
    bool kernels = wanted_kernels(list, table) > 0, workloads = wants_workloads(list, table);
    bool pipelines = wants_pipelines(list, table);
    if (!kernels && !workloads && !pipelines) {
        return;
    }
    const char *version = text_of(table->version), *summary = text_of(table->summary);
    sy_print(buffer, "%s%s%s%s%s\n  %s\n\n", table->name, version[0] ? " " : "", version,
             summary[0] ? ": " : "", summary, sy_kernel_set_path(list->set, index));
    if (kernels) {
        put_kernels(list, table, bold, buffer);
    }
    if (workloads) {
        put_workloads(table, bold, buffer);
    }
    if (pipelines) {
        put_pipelines(table, bold, buffer);
    }
    sy_print(buffer, "\n");
}

static bool is_measured(const struct sy_kernel_list *list, const char *kernel) {
    for (uint32_t i = 0; i < list->cell_count; i++) {
        if (strcmp(list->cells[i]->kernel, kernel) == 0) {
            return true;
        }
    }
    return false;
}

static void put_unmeasured(const struct sy_kernel_list *list, struct sy_buffer *buffer) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < sy_kernel_set_count(list->set); i++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(list->set, i);
        for (uint32_t j = 0; j < table->kernel_count; j++) {
            const char *name = table->kernels[j].name;
            if (sy_kernel_list_wants(list, table, name) && !is_measured(list, name)) {
                sy_print(buffer, count++ ? ", %s" : "\nNot measured yet: %s", name);
            }
        }
    }
    if (count > 0) {
        sy_print(buffer, " (symph kernels --calibrate measures them)\n");
    }
}

static void put_cells(const struct sy_kernel_list *list, bool bold, struct sy_buffer *buffer) {
    struct sy_table rows;
    sy_table_init(
        &rows,
        (const char *const[]){"kernel", "class", "data", "flops", "samples", "median", "spread"},
        "llrrrrr");
    for (uint32_t i = 0; i < list->cell_count; i++) {
        const struct sy_cell *cell = list->cells[i];
        sy_table_cell(&rows, "%s", cell->kernel);
        if (cell->features.width > 1) {
            sy_table_cell(&rows, "%s:%u", cell->class_name, cell->features.width);
        } else {
            sy_table_cell(&rows, "%s", cell->class_name);
        }
        double bytes = cell->values[SY_BYTES], flops = cell->values[SY_FLOPS];
        sy_table_cell(&rows, "%s|%s|%llu|%s", bytes > 0 ? sy_units_bytes(bytes).text : "-",
                      flops > 0 ? sy_units_text("%.4g", flops).text : "-",
                      (unsigned long long)cell->sample_count, sy_units_time(cell->median_ns).text);
        if (sy_cell_count(cell) < cell->sample_count) {
            sy_table_cell(&rows, "older build");
        } else if (cell->modelled) {
            sy_table_cell(&rows, "model");
        } else if (cell->sample_count < SY_CELL_TRUSTED) {
            sy_table_cell(&rows, "too few");
        } else {
            sy_table_cell(&rows, "%.1f %%", 100 * expm1(cell->log_sigma));
        }
    }
    sy_table_write(&rows, 2, bold, buffer);
    sy_table_legend("class: with the number of devices that shared the work; data: size of all "
                    "arguments; flops: work of one run; median, spread: of the last 31 samples; "
                    "two thirds of them are within the spread of the median.",
                    2, buffer);
}

static void put_measured(const struct sy_kernel_list *list, bool bold, struct sy_buffer *buffer) {
    const char *path = sy_store_path(list->store);
    sy_print(buffer, "Measured on %s (%s):\n", list->machine, path ? path : "not kept");
    if (list->cell_count > 0) {
        put_cells(list, bold, buffer);
    } else {
        sy_print(buffer, "  nothing yet\n");
    }
    put_unmeasured(list, buffer);
}

int sy_kernel_list_print(const struct sy_kernel_list *list) {
    bool bold = sy_message_colour(stdout);
    struct sy_buffer buffer = {0};
    if (sy_kernel_set_count(list->set) == 0) {
        sy_print(&buffer,
                 "No kernel plug-in was found; set --kernels or SYMPH_KERNELS to where they "
                 "are.\n\n");
    }
    for (uint32_t i = 0; i < sy_kernel_set_count(list->set); i++) {
        put_plugin(list, i, bold, &buffer);
    }
    put_measured(list, bold, &buffer);
    return sy_output(&buffer);
}

static void write_kernel(const struct sy_kernel_entry *kernel, struct sy_json_writer *writer) {
    static const char *const modes[] = {"any", "read", "write", "read-write"};
    sy_json_print(writer, "{name: %s, summary: %s, variants: [", kernel->name,
                  text_of(kernel->summary));
    for (uint32_t i = 0; i < SY_FLAVOUR_COUNT; i++) {
        if (kernel->functions[i]) {
            sy_json_put_string(writer, sy_flavour_name((enum sy_flavour)i));
        }
    }
    sy_json_print(writer, "], arguments:");
    if (kernel->argument_count == 0) {
        sy_json_put_null(writer);
    } else {
        sy_json_open(writer, '[');
        for (uint32_t i = 0; i < kernel->argument_count; i++) {
            sy_json_put_string(writer, modes[kernel->modes[i]]);
        }
        sy_json_close(writer, ']');
    }
    sy_json_print(writer, "part_max: %u, part_ns: %g}", kernel->part_max, kernel->part_ns);
}

static void write_workload(const struct sy_kernel_workload *workload,
                           struct sy_json_writer *writer) {
    sy_json_print(writer, "{name: %s, summary: %s, usage: %s, calibration: %s}", workload->name,
                  text_of(workload->summary), text_of(workload->usage),
                  text_of(workload->calibration));
}

static void write_pipeline(const struct sy_kernel_pipeline *pipeline,
                           struct sy_json_writer *writer) {
    sy_json_print(writer, "{name: %s, summary: %s, usage: %s}", pipeline->name,
                  text_of(pipeline->summary), text_of(pipeline->usage));
}

static void write_plugin(const struct sy_kernel_list *list, uint32_t index,
                         struct sy_json_writer *writer) {
    const struct sy_kernel_table *table = sy_kernel_set_table(list->set, index);
    if (wanted_kernels(list, table) == 0 && !wants_workloads(list, table) &&
        !wants_pipelines(list, table)) {
        return;
    }
    sy_json_print(writer, "{name: %s, version: %s, summary: %s, path: %s, kernels: [", table->name,
                  text_of(table->version), text_of(table->summary),
                  sy_kernel_set_path(list->set, index));
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        if (sy_kernel_list_wants(list, table, table->kernels[i].name)) {
            write_kernel(&table->kernels[i], writer);
        }
    }
    sy_json_print(writer, "], workloads: [");
    for (uint32_t i = 0; i < table->workload_count && wants_workloads(list, table); i++) {
        write_workload(&table->workloads[i], writer);
    }
    sy_json_print(writer, "], pipelines: [");
    for (uint32_t i = 0; i < table->pipeline_count && wants_pipelines(list, table); i++) {
        write_pipeline(&table->pipelines[i], writer);
    }
    sy_json_print(writer, "]}");
}

static void write_cell(const struct sy_cell *cell, struct sy_json_writer *writer) {
    sy_json_print(
        writer,
        "{kernel: %s, class: %s, width: %u, bytes: %g, flops: %g, footprint: %llu, costs: {",
        cell->kernel, cell->class_name, cell->features.width, cell->values[SY_BYTES],
        cell->values[SY_FLOPS], (unsigned long long)cell->features.footprint);
    for (uint32_t i = SY_SIZES; i < cell->features.count; i++) {
        sy_json_member_number(writer, cell->features.names[i], cell->values[i]);
    }
    sy_json_print(writer,
                  "}, samples: %llu, median_ns: %g, log_sigma: %g, source: %s, current: %d}",
                  (unsigned long long)cell->sample_count, cell->median_ns, cell->log_sigma,
                  cell->modelled ? "model" : "measured", sy_cell_count(cell) == cell->sample_count);
}

int sy_kernel_list_print_json(const struct sy_kernel_list *list) {
    struct sy_json_writer writer = {.compact_from = 5};
    sy_json_print(&writer, "{schema: %s, version: %s, plugins: [", "symph-kernels-1", sy_version());
    for (uint32_t i = 0; i < sy_kernel_set_count(list->set); i++) {
        write_plugin(list, i, &writer);
    }
    sy_json_print(&writer, "], machine: %s, models:", list->machine);
    if (sy_store_path(list->store)) {
        sy_json_put_string(&writer, sy_store_path(list->store));
    } else {
        sy_json_put_null(&writer);
    }
    writer.compact_from = 3;
    sy_json_print(&writer, "measured: [");
    for (uint32_t i = 0; i < list->cell_count; i++) {
        write_cell(list->cells[i], &writer);
    }
    sy_json_print(&writer, "]}");
    return sy_output(&writer.buffer);
}
