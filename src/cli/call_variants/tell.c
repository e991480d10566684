/* SPDX-License-Identifier: Apache-2.0
 *
 * tell: what a run of call-variants did: notes, time, energy, each stage and each device.
 *
 * In: a record. Out: text, or one JSON object "symph-call-variants-1".
 */
#include "base/json.h"
#include "cli/call_variants/call_variants.h"
#include "cli/table.h"
#include "cli/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One stage on one kind of device. */
struct stage {
    double busy_ns;
    uint32_t tasks;
};

/* [kernel * kind] */
static struct stage *sum_stages(const struct sy_record *record) {
    const struct sy_graph *graph = record->graph;
    struct stage *stages = calloc((size_t)graph->kernel_count * SY_KIND_COUNT + 1, sizeof(*stages));
    for (uint32_t i = 0; stages && i < record->trace.count; i++) {
        const struct sy_span *span = &record->trace.spans[i];
        if (span->kind == SY_SPAN_TASK) {
            uint32_t kernel = graph->tasks[span->subject].kernel;
            uint32_t kind = record->machine->devices[span->place].kind;
            struct stage *stage = &stages[kernel * SY_KIND_COUNT + kind];
            stage->busy_ns += span->end_ns - span->start_ns;
            stage->tasks++;
        }
    }
    return stages;
}

static double busy_of_all(const struct sy_record *record, const struct stage *stages) {
    double busy_ns = 0;
    for (uint32_t i = 0; i < record->graph->kernel_count * SY_KIND_COUNT; i++) {
        busy_ns += stages[i].busy_ns;
    }
    return busy_ns;
}

/* --- text ---------------------------------------------------------------------------------------
 */
static void put_head(const struct sy_record *record, const struct sy_run_figures *figures,
                     struct sy_buffer *buffer) {
    for (uint32_t i = 0; i < record->note_count; i++) {
        if (strcmp(record->notes[i].key, "warning") != 0) { /* that goes to stderr */
            sy_print(buffer, "%-12s %s\n", record->notes[i].key, record->notes[i].value);
        }
    }
    sy_print(buffer, "policy       %s, %s\n", record->policy,
             record->runtime ? record->runtime : "");
    sy_print(buffer, "time         %s for %u tasks\n", sy_units_time(figures->makespan_ns).text,
             record->graph->task_count);
    if (!isnan(figures->decision_p50_ns)) {
        sy_print(buffer, "decisions    %u; time per task: median %s\n", figures->decision_count,
                 sy_units_time(figures->decision_p50_ns).text);
    }
    if (!isnan(figures->energy_joules)) {
        sy_print(buffer, "energy       %.4g J (%s)\n", figures->energy_joules,
                 record->energy_source ? record->energy_source : "source unknown");
    } else {
        sy_print(buffer, "energy       cannot be read on this machine\n");
    }
}

static void put_stages(const struct sy_record *record, const struct stage *stages,
                       struct sy_buffer *buffer) {
    double all_ns = busy_of_all(record, stages);
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"stage", "on", "tasks", "busy", "share"}, "llrrr");
    for (uint32_t k = 0; k < record->graph->kernel_count; k++) {
        for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
            const struct stage *stage = &stages[k * SY_KIND_COUNT + kind];
            if (stage->tasks) {
                sy_table_cell(&table, "%s|%s|%u|%s|%.1f %%", record->graph->kernels[k].name,
                              sy_device_kind_name((enum sy_device_kind)kind), stage->tasks,
                              sy_units_time(stage->busy_ns).text,
                              all_ns > 0 ? 100 * stage->busy_ns / all_ns : 0);
            }
        }
    }
    sy_print(buffer, "\n");
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("on: kind of device; busy: time spent on the stage, over all devices; share: "
                    "of the time spent on all stages.",
                    0, buffer);
}

static void put_devices(const struct sy_record *record, const struct sy_run_figures *figures,
                        struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"device", "kind", "tasks", "busy"}, "llrr");
    for (uint32_t d = 0; d < record->machine->device_count; d++) {
        double share =
            figures->makespan_ns > 0 ? figures->device_busy_ns[d] / figures->makespan_ns : 0;
        sy_table_cell(&table, "%s|%s|%u|%.1f %%", record->machine->devices[d].name,
                      sy_device_kind_name(record->machine->devices[d].kind),
                      figures->device_tasks[d], 100 * share);
    }
    sy_print(buffer, "\n");
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("busy: share of the run time in which the device worked.", 0, buffer);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */
static void write_stages(const struct sy_record *record, const struct stage *stages,
                         struct sy_json_writer *writer) {
    sy_json_open_member(writer, "stages", '[');
    for (uint32_t k = 0; k < record->graph->kernel_count; k++) {
        for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
            const struct stage *stage = &stages[k * SY_KIND_COUNT + kind];
            if (stage->tasks) {
                sy_json_print(writer, "{stage: %s, kind: %s, tasks: %u, busy_ns: %g}",
                              record->graph->kernels[k].name,
                              sy_device_kind_name((enum sy_device_kind)kind), stage->tasks,
                              stage->busy_ns);
            }
        }
    }
    sy_json_close(writer, ']');
}

static void write_json(const struct sy_record *record, const struct sy_run_figures *figures,
                       const struct stage *stages, struct sy_buffer *ret_text) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(
        &writer,
        "{schema: %s, policy: %s, makespan_ns: %g, task_count: %u, energy_joules: %g, notes: [",
        "symph-call-variants-1", record->policy, figures->makespan_ns, record->graph->task_count,
        figures->energy_joules);
    for (uint32_t i = 0; i < record->note_count; i++) {
        sy_json_print(&writer, "{key: %s, value: %s}", record->notes[i].key,
                      record->notes[i].value);
    }
    sy_json_close(&writer, ']');
    write_stages(record, stages, &writer);
    sy_json_open_member(&writer, "devices", '[');
    for (uint32_t d = 0; d < record->machine->device_count; d++) {
        sy_json_print(&writer, "{device: %s, tasks: %u, busy_ns: %g}",
                      record->machine->devices[d].name, figures->device_tasks[d],
                      figures->device_busy_ns[d]);
    }
    sy_json_print(&writer, "]}");
    sy_print(&writer.buffer, "\n");
    *ret_text = writer.buffer;
}

int sy_call_tell(const struct sy_call_args *args, const struct sy_record *record,
                 const struct sy_run_figures *figures) {
    struct sy_buffer buffer = {0};
    struct stage *stages = sum_stages(record);
    if (stages && args->common.json) {
        write_json(record, figures, stages, &buffer);
    } else if (stages) {
        put_head(record, figures, &buffer);
        put_stages(record, stages, &buffer);
        put_devices(record, figures, &buffer);
    }
    buffer.failed |= !stages;
    free(stages);
    return sy_output(&buffer);
}
