/* SPDX-License-Identifier: Apache-2.0
 *
 * Chrome's trace event format, as Perfetto and chrome://tracing read it.
 *
 * One process holds the devices, a second the copies into each memory. Slices are named after the
 * kernel, so that viewers colour and aggregate by it; the task stands in the arguments. Slices on
 * one track must not overlap, so that parallel copies into a memory get tracks of their own.
 */
#include "trace/writer.h"
#include <stdlib.h>

#define DEVICES   1u
#define TRANSFERS 2u
#define LANES     64u /* copies side by side; more share the last track */

struct lanes {
    uint64_t *end_ns; /* [memory * LANES + lane] */
    uint32_t *used;   /* per memory */
};

static void put(struct sy_buffer *buffer, const char *text) {
    sy_buffer_printf(buffer, "%s", text);
}

static void begin_event(struct sy_buffer *buffer, bool *first) {
    put(buffer, *first ? "\n" : ",\n");
    *first = false;
}

static void metadata(struct sy_buffer *buffer, bool *first, const char *what, uint32_t process,
                     uint32_t thread, const char *name) {
    begin_event(buffer, first);
    sy_buffer_printf(
        buffer, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what,
        process, thread);
    sy_put_json_text(buffer, name);
    put(buffer, "}}");
}

static void sort_index(struct sy_buffer *buffer, bool *first, const char *what, uint32_t process,
                       uint32_t thread, uint32_t index) {
    begin_event(buffer, first);
    sy_buffer_printf(buffer,
                     "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%u,\"tid\":%u,\"args\":"
                     "{\"sort_index\":%u}}",
                     what, process, thread, index);
}

static void put_devices(struct sy_buffer *buffer, bool *first, const struct sy_trace_names *names) {
    char name[SY_TRACE_NAME_SIZE];
    metadata(buffer, first, "process_name", DEVICES, 0, "devices");
    sort_index(buffer, first, "process", DEVICES, 0, 0);
    for (uint32_t i = 0; i < names->place_count; i++) {
        metadata(buffer, first, "thread_name", DEVICES, i + 1, sy_name_place(names, i, name));
        sort_index(buffer, first, "thread", DEVICES, i + 1, i);
    }
}

static uint32_t lane_thread(uint32_t memory, uint32_t lane) {
    return memory * LANES + lane + 1;
}

static void put_lanes(struct sy_buffer *buffer, bool *first, const struct sy_trace_names *names,
                      const struct lanes *lanes) {
    char name[SY_TRACE_NAME_SIZE], title[SY_TRACE_NAME_SIZE + 32];
    metadata(buffer, first, "process_name", TRANSFERS, 0, "transfers");
    sort_index(buffer, first, "process", TRANSFERS, 0, 1);
    for (uint32_t memory = 0; memory < names->memory_count; memory++) {
        const char *to = sy_name_memory(names, memory, name);
        for (uint32_t lane = 0; lane < lanes->used[memory]; lane++) {
            snprintf(title, sizeof title, "to %s, copy %u", to, lane + 1);
            metadata(buffer, first, "thread_name", TRANSFERS, lane_thread(memory, lane), title);
            sort_index(buffer, first, "thread", TRANSFERS, lane_thread(memory, lane),
                       lane_thread(memory, lane));
        }
    }
}

/* First fit; spans come by start. */
static uint32_t take_lane(struct lanes *lanes, uint32_t memory, uint64_t start, uint64_t end) {
    uint64_t *ends = lanes->end_ns + (size_t)memory * LANES;
    uint32_t lane = 0;
    while (lane + 1 < LANES && ends[lane] > start) {
        lane++;
    }
    ends[lane] = end;
    if (lane >= lanes->used[memory]) {
        lanes->used[memory] = lane + 1;
    }
    return lane;
}

static void put_arguments(struct sy_buffer *buffer, const struct sy_span *span,
                          const struct sy_trace_names *names) {
    char name[SY_TRACE_NAME_SIZE], from[SY_TRACE_NAME_SIZE];
    const char *subject = sy_name_subject(names, span, name);
    switch (span->kind) {
    case SY_SPAN_TRANSFER:
        sy_buffer_printf(buffer, ",\"args\":{\"bytes\":%.0f,\"from\":", span->bytes);
        sy_put_json_text(buffer, sy_name_memory(names, span->from, from));
        put(buffer, "}}");
        return;
    case SY_SPAN_LOST:
        put(buffer, "}");
        return;
    case SY_SPAN_RECONFIGURE:
        put(buffer, ",\"args\":{\"kernel\":");
        break;
    default:
        put(buffer, ",\"args\":{\"task\":");
        break;
    }
    sy_put_json_text(buffer, subject);
    put(buffer, "}}");
}

static void put_span(struct sy_buffer *buffer, const struct sy_span *span,
                     const struct sy_trace_names *names, struct lanes *lanes) {
    static const char *const categories[] = {"task", "stall",   "transfer", "reconfigure",
                                             "lost", "aborted", "part"};
    char name[SY_TRACE_NAME_SIZE];
    bool device = sy_span_on_device(span);
    uint64_t start = sy_round_ns(span->start_ns), end = sy_round_ns(span->end_ns);
    uint32_t thread = device ? span->place + 1
                             : lane_thread(span->place, take_lane(lanes, span->place, start, end));
    put(buffer, "{\"ph\":\"X\",\"name\":");
    sy_put_json_text(buffer,
                     device ? sy_name_group(names, span) : sy_name_subject(names, span, name));
    sy_buffer_printf(buffer,
                     ",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":", categories[span->kind],
                     device ? DEVICES : TRANSFERS, thread);
    sy_put_us(buffer, start);
    put(buffer, ",\"dur\":");
    sy_put_us(buffer, end - start);
    put_arguments(buffer, span, names);
}

static void put_other_data(struct sy_buffer *buffer, const struct sy_trace_names *names) {
    put(buffer, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"title\":");
    sy_put_json_text(buffer, names->title ? names->title : "");
    put(buffer, ",\"subtitle\":");
    sy_put_json_text(buffer, names->subtitle ? names->subtitle : "");
    put(buffer, "}}\n");
}

void sy_trace_write_chrome(const struct sy_trace *trace, const struct sy_trace_names *names,
                           struct sy_buffer *buffer) {
    struct sy_trace sorted = sy_trace_sorted(trace, names);
    uint32_t memories = names->memory_count ? names->memory_count : 1;
    struct lanes lanes = {calloc((size_t)memories * LANES, sizeof *lanes.end_ns),
                          calloc(memories, sizeof *lanes.used)};
    bool first = true;
    if (sorted.failed || !lanes.end_ns || !lanes.used) {
        buffer->failed = true;
    } else {
        put(buffer, "{\"traceEvents\":[");
        put_devices(buffer, &first, names);
        for (uint32_t i = 0; i < sorted.count; i++) {
            begin_event(buffer, &first);
            put_span(buffer, &sorted.spans[i], names, &lanes);
        }
        put_lanes(buffer, &first, names, &lanes);
        put_other_data(buffer, names);
    }
    free(lanes.end_ns);
    free(lanes.used);
    sy_trace_finish(&sorted);
}
