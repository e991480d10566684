/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for the writers: never NULL, whatever the callbacks answer or lack.
 */
#include "trace/writer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool sy_span_on_device(const struct sy_span *span) {
    return span->kind != SY_SPAN_TRANSFER;
}

static bool is_drawable(const struct sy_span *span, const struct sy_trace_names *names) {
    uint32_t places = sy_span_on_device(span) ? names->place_count : names->memory_count;
    return span->place < places && span->kind < SY_SPAN_KINDS && span->start_ns >= 0 &&
           isfinite(span->end_ns) && span->end_ns >= span->start_ns && span->end_ns < 9e18;
}

struct sy_trace sy_trace_sorted(const struct sy_trace *trace, const struct sy_trace_names *names) {
    struct sy_trace sorted = {0};
    if (trace->count == 0 || sy_trace_reserve(&sorted, trace->count) < 0) {
        sorted.failed = trace->count > 0;
        return sorted;
    }
    for (uint32_t i = 0; i < trace->count; i++) {
        if (is_drawable(&trace->spans[i], names)) {
            sorted.spans[sorted.count++] = trace->spans[i];
        }
    }
    sy_trace_sort(&sorted);
    return sorted;
}

static const char *or_number(const char *name, const char *what, uint32_t number, char *buffer) {
    if (name) {
        return name;
    }
    snprintf(buffer, SY_TRACE_NAME_SIZE, "%s %u", what, number);
    return buffer;
}

const char *sy_name_place(const struct sy_trace_names *names, uint32_t place, char *buffer) {
    const char *name = names->place ? names->place(names->context, place) : NULL;
    return or_number(name, "device", place, buffer);
}

const char *sy_name_memory(const struct sy_trace_names *names, uint32_t memory, char *buffer) {
    const char *name = names->memory && memory < names->memory_count
                           ? names->memory(names->context, memory)
                           : NULL;
    return or_number(name, "memory", memory, buffer);
}

const char *sy_name_subject(const struct sy_trace_names *names, const struct sy_span *span,
                            char *buffer) {
    const char *name = NULL;
    switch (span->kind) {
    case SY_SPAN_TRANSFER:
        if (names->datum) {
            name = names->datum(names->context, span->subject, buffer, SY_TRACE_NAME_SIZE);
        }
        return or_number(name, "datum", span->subject, buffer);
    case SY_SPAN_RECONFIGURE:
        name = names->kernel ? names->kernel(names->context, span->subject) : NULL;
        return or_number(name, "kernel", span->subject, buffer);
    case SY_SPAN_LOST:
        return "device lost";
    default:
        if (names->task) {
            name = names->task(names->context, span->subject, buffer, SY_TRACE_NAME_SIZE);
        }
        return or_number(name, "task", span->subject, buffer);
    }
}

const char *sy_name_group(const struct sy_trace_names *names, const struct sy_span *span) {
    const char *name = NULL;
    switch (span->kind) {
    case SY_SPAN_STALL:
        return "stall";
    case SY_SPAN_TRANSFER:
        return "transfer";
    case SY_SPAN_RECONFIGURE:
        return "reconfigure";
    case SY_SPAN_LOST:
        return "lost";
    default:
        name = names->group ? names->group(names->context, span->subject) : NULL;
        return name ? name : "task";
    }
}

static bool has_kernel(const struct sy_span *span) {
    return sy_span_executes(span) || span->kind == SY_SPAN_ABORTED;
}

void sy_groups_init(struct sy_groups *groups, const struct sy_trace *sorted,
                    const struct sy_trace_names *names) {
    *groups = (struct sy_groups){0};
    for (uint32_t i = 0; i < sorted->count && !groups->failed; i++) {
        uint32_t index;
        if (!has_kernel(&sorted->spans[i])) {
            continue;
        }
        const char *name = sy_name_group(names, &sorted->spans[i]);
        if (sy_map_get(&groups->map, name, strlen(name), &index)) {
            continue;
        }
        if (sy_grow(&groups->names, &groups->capacity, groups->count + 1, sizeof name) < 0 ||
            sy_map_put(&groups->map, name, strlen(name), groups->count) < 0) {
            groups->failed = true;
            break;
        }
        groups->names[groups->count++] = name;
    }
}

uint32_t sy_groups_find(const struct sy_groups *groups, const char *name) {
    uint32_t index;
    return sy_map_get(&groups->map, name, strlen(name), &index) ? index : groups->count;
}

void sy_groups_finish(struct sy_groups *groups) {
    sy_map_finish(&groups->map);
    free(groups->names);
    *groups = (struct sy_groups){0};
}

const char *sy_colour_of(uint32_t group, bool dark) {
    /* Paul Tol's bright scheme, then his muted one: told apart by colour-blind readers. */
    static const char *const colours[SY_TRACE_COLOURS + 1] = {
        "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866",
        "#332288", "#44bb99", "#999933", "#882255", "#77aadd", "#8d7b68"};
    /* The darker ones, lighter. */
    static const char *const on_dark[SY_TRACE_COLOURS + 1] = {
        [0] = "#5b92cc", [2] = "#2e9e44", [5] = "#c4559a", [7] = "#7766cc", [10] = "#b04c80"};
    group = sy_colour_index(group);
    return dark && on_dark[group] ? on_dark[group] : colours[group];
}
