/* SPDX-License-Identifier: Apache-2.0
 *
 * draw: the files that a run leaves: charts and traces, the record asked for, the last record.
 *
 * In: the record of each policy's fastest run. Out: files. Invariant: each file is whole or not
 * there.
 */
#include "cli/run/run.h"

#include <math.h>
#include <string.h>

#define SPEC_MAX 48u /* of a graph, in a title */

typedef void (*trace_writer)(const struct sy_trace *trace, const struct sy_trace_names *names,
                             struct sy_buffer *buffer);

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

/* Under a name that says the policy, where there are several. */
static int write_file(const struct sy_runs *runs, const struct sy_run_policy *policy,
                      const char *path, const struct sy_buffer *text) {
    struct sy_buffer name = {0};
    sy_output_path(path, runs->policy_count > 1 ? policy->name : NULL, &name);
    if (name.failed) {
        sy_message_fail("out of memory");
        sy_buffer_finish(&name);
        return SY_EXIT_FAILED;
    }
    int r = sy_output_file(name.text, text);
    if (r == SY_EXIT_OK) {
        sy_message_note(runs->args->common.quiet, "wrote %s (%s)", name.text, policy->name);
    }
    sy_buffer_finish(&name);
    return r;
}

/* Names of files and many settings would leave no room for the rest of the title. */
static size_t spec_length(const char *spec) {
    size_t plugin = strcspn(spec, ":");
    size_t name = spec[plugin] ? plugin + 1 + strcspn(spec + plugin + 1, ":") : plugin;
    return strlen(spec) <= SPEC_MAX ? strlen(spec) : name;
}

static int draw(const struct sy_runs *runs, const struct sy_run_policy *policy, const char *path,
                trace_writer writer) {
    if (!path) {
        return SY_EXIT_OK;
    }
    const struct sy_record *record = policy->record;
    char title[512];
    snprintf(title, sizeof(title), "%.*s on %s, %s", (int)spec_length(record->spec), record->spec,
             record->host, policy->name);
    struct sy_trace_names names = names_of(record, title, policy->runs[policy->fastest].bound_ns);
    struct sy_buffer picture = {0};
    writer(&record->trace, &names, &picture);
    int r = write_file(runs, policy, path, &picture);
    sy_buffer_finish(&picture);
    return r;
}

/* A convenience: that it cannot be kept is no failure of the run. One message is enough where
 * nothing at all can be kept. */
static void keep_last(const struct sy_runs *runs, const struct sy_buffer *text) {
    struct sy_error error = {0};
    bool noted = runs->engine && sy_child_outcome(runs->engine).note[0];
    if (sy_last_keep(text, &error) < 0 && !runs->told[0] && !noted) {
        char reason[2048];
        sy_message_note(runs->args->common.quiet, "the record of the last run is not kept: %s",
                        sy_error_format(&error, reason, sizeof(reason)));
    }
}

int sy_run_write(const struct sy_runs *runs) {
    const struct sy_run_args *args = runs->args;
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < runs->policy_count && r == SY_EXIT_OK; i++) {
        const struct sy_run_policy *policy = &runs->policies[i];
        if (!policy->record) {
            continue; /* a wrong result came before its turn */
        }
        r = draw(runs, policy, args->plot, sy_trace_write_svg);
        r = r ? r : draw(runs, policy, args->trace, sy_trace_write_chrome);
        r = r ? r : draw(runs, policy, args->paje, sy_trace_write_paje);
        if (r == SY_EXIT_OK && args->record) {
            r = write_file(runs, policy, args->record, &policy->text);
        }
    }
    keep_last(runs, &runs->policies[runs->last].text);
    return r;
}
