/* SPDX-License-Identifier: Apache-2.0
 *
 * A record as a picture: what the writers of trace/ need to know of it.
 */
#include "engine/engine.h"
#include "graph/graph.h"
#include "topology/topology.h"
#include <math.h>
#include <string.h>

#define SPEC_MAX 48u /* of a graph, in a title */

static const char *device_name(const void *context, uint32_t device) {
    return ((const struct sy_record *)context)->machine->devices[device].name;
}

static const char *memory_name(const void *context, uint32_t memory) {
    return ((const struct sy_record *)context)->machine->memories[memory].name;
}

static const char *task_name(const void *context, uint32_t task, char *buffer, size_t size) {
    const struct sy_graph *graph = ((const struct sy_record *)context)->graph;
    char name[64];
    snprintf(buffer, size, "%s", sy_graph_task_name(graph, (sy_task_id){task}, name));
    return buffer;
}

static const char *task_group(const void *context, uint32_t task) {
    const struct sy_graph *graph = ((const struct sy_record *)context)->graph;
    return graph->kernels[graph->tasks[task].kernel].name;
}

static const char *datum_name(const void *context, uint32_t datum, char *buffer, size_t size) {
    const struct sy_graph *graph = ((const struct sy_record *)context)->graph;
    const char *name = graph->data_names ? graph->data_names[datum] : NULL;
    if (name) {
        snprintf(buffer, size, "%s", name);
    } else {
        snprintf(buffer, size, "datum %u", datum);
    }
    return buffer;
}

static const char *kernel_name(const void *context, uint32_t kernel) {
    return ((const struct sy_record *)context)->graph->kernels[kernel].name;
}

static struct sy_trace_names names_of(const struct sy_record *record, const char *title,
                                      double bound_ns) {
    return (struct sy_trace_names){.context = record,
                                   .title = title,
                                   .subtitle = record->runtime ? record->runtime : "",
                                   .place_count = record->machine->device_count,
                                   .memory_count = record->machine->memory_count,
                                   .place = device_name,
                                   .memory = memory_name,
                                   .task = task_name,
                                   .group = task_group,
                                   .datum = datum_name,
                                   .kernel = kernel_name,
                                   .bound_ns = isnan(bound_ns) ? 0 : bound_ns};
}

/* Names of files and many settings would leave no room for the rest of the title. */
static size_t spec_length(const char *spec) {
    size_t plugin = strcspn(spec, ":");
    size_t name = spec[plugin] ? plugin + 1 + strcspn(spec + plugin + 1, ":") : plugin;
    return strlen(spec) <= SPEC_MAX ? strlen(spec) : name;
}

void sy_record_draw(const struct sy_record *record, sy_trace_writer *writer, double bound_ns,
                    struct sy_buffer *buffer) {
    char title[512];
    snprintf(title, sizeof title, "%.*s on %s, %s", (int)spec_length(record->spec), record->spec,
             record->host, record->policy);
    struct sy_trace_names names = names_of(record, title, bound_ns);
    writer(&record->trace, &names, buffer);
}
