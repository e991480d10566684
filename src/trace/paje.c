/* SPDX-License-Identifier: Apache-2.0
 *
 * Paje trace, as ViTE and pj_dump read it.
 *
 * Devices are containers whose state is the kernel they run; memories count the copies that arrive
 * and are joined by links. Paje wants every event in order of time: each span is split into its
 * begin and its end, and at equal times ends come first.
 */
#include "trace/writer.h"
#include <stdlib.h>
#include <string.h>

struct event {
    uint64_t at_ns;
    uint32_t span;
    bool end;
};

/* The event numbers below are those of this header. */
static const char header[] =
    "%EventDef PajeDefineContainerType 0\n%  Alias string\n%  Type string\n%  Name string\n"
    "%EndEventDef\n"
    "%EventDef PajeDefineStateType 1\n%  Alias string\n%  Type string\n%  Name string\n"
    "%EndEventDef\n"
    "%EventDef PajeDefineVariableType 2\n%  Alias string\n%  Type string\n%  Name string\n"
    "%  Color color\n%EndEventDef\n"
    "%EventDef PajeDefineLinkType 3\n%  Alias string\n%  Type string\n"
    "%  StartContainerType string\n%  EndContainerType string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDefineEntityValue 4\n%  Alias string\n%  Type string\n%  Name string\n"
    "%  Color color\n%EndEventDef\n"
    "%EventDef PajeCreateContainer 5\n%  Time date\n%  Alias string\n%  Type string\n"
    "%  Container string\n%  Name string\n%EndEventDef\n"
    "%EventDef PajeDestroyContainer 6\n%  Time date\n%  Type string\n%  Name string\n"
    "%EndEventDef\n"
    "%EventDef PajeSetState 7\n%  Time date\n%  Type string\n%  Container string\n"
    "%  Value string\n%  Task string\n%EndEventDef\n"
    "%EventDef PajeSetVariable 8\n%  Time date\n%  Type string\n%  Container string\n"
    "%  Value double\n%EndEventDef\n"
    "%EventDef PajeAddVariable 9\n%  Time date\n%  Type string\n%  Container string\n"
    "%  Value double\n%EndEventDef\n"
    "%EventDef PajeSubVariable 10\n%  Time date\n%  Type string\n%  Container string\n"
    "%  Value double\n%EndEventDef\n"
    "%EventDef PajeStartLink 11\n%  Time date\n%  Type string\n%  Container string\n"
    "%  StartContainer string\n%  Value string\n%  Key string\n%EndEventDef\n"
    "%EventDef PajeEndLink 12\n%  Time date\n%  Type string\n%  Container string\n"
    "%  EndContainer string\n%  Value string\n%  Key string\n%EndEventDef\n";

static const char types[] = "0 CT_run 0 \"run\"\n"
                            "0 CT_device CT_run \"device\"\n"
                            "0 CT_memory CT_run \"memory\"\n"
                            "1 ST_state CT_device \"state\"\n"
                            "2 VT_copies CT_memory \"copies\" \"0.4 0.4 0.4\"\n"
                            "3 LT_copy CT_run CT_memory CT_memory \"copy\"\n"
                            "4 S_idle ST_state \"idle\" \"1.0 1.0 1.0\"\n"
                            "4 S_stall ST_state \"stall\" \"0.9 0.87 0.8\"\n"
                            "4 S_reconfigure ST_state \"reconfigure\" \"0.0 0.0 0.0\"\n"
                            "4 S_lost ST_state \"lost\" \"0.6 0.6 0.6\"\n"
                            "4 S_aborted ST_state \"aborted\" \"0.8 0.0 0.0\"\n";

static void put(struct sy_buffer *buffer, const char *text) {
    sy_buffer_append(buffer, text, strlen(text));
}

static void put_time(struct sy_buffer *buffer, uint64_t ns) {
    sy_buffer_printf(buffer, "%llu.%09llu", (unsigned long long)(ns / 1000000000u),
                     (unsigned long long)(ns % 1000000000u));
}

static void put_kernels(struct sy_buffer *buffer, const struct sy_groups *groups) {
    for (uint32_t i = 0; i < groups->count; i++) {
        unsigned rgb = (unsigned)strtoul(sy_colour_of(i, false) + 1, NULL, 16);
        sy_buffer_printf(buffer, "4 K%u ST_state ", i);
        sy_put_paje_text(buffer, groups->names[i]);
        sy_buffer_printf(buffer, " \"%.3f %.3f %.3f\"\n", (rgb >> 16) / 255.0,
                         (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0);
    }
}

static void put_containers(struct sy_buffer *buffer, const struct sy_trace_names *names) {
    char name[SY_TRACE_NAME_SIZE];
    put(buffer, "5 0.000000000 run CT_run 0 ");
    sy_put_paje_text(buffer, names->title ? names->title : "run");
    put(buffer, "\n");
    for (uint32_t i = 0; i < names->place_count; i++) {
        sy_buffer_printf(buffer, "5 0.000000000 D%u CT_device run ", i);
        sy_put_paje_text(buffer, sy_name_place(names, i, name));
        sy_buffer_printf(buffer, "\n7 0.000000000 ST_state D%u S_idle \"\"\n", i);
    }
    for (uint32_t i = 0; i < names->memory_count; i++) {
        sy_buffer_printf(buffer, "5 0.000000000 M%u CT_memory run ", i);
        sy_put_paje_text(buffer, sy_name_memory(names, i, name));
        sy_buffer_printf(buffer, "\n8 0.000000000 VT_copies M%u 0\n", i);
    }
}

static void put_state(struct sy_buffer *buffer, const struct sy_span *span,
                      const struct sy_groups *groups, const struct sy_trace_names *names) {
    static const char *const states[] = {"", "S_stall", "", "S_reconfigure", "S_lost", "S_aborted"};
    char name[SY_TRACE_NAME_SIZE];
    if (sy_span_executes(span)) {
        sy_buffer_printf(buffer, "K%u ", sy_groups_find(groups, sy_name_group(names, span)));
    } else {
        sy_buffer_printf(buffer, "%s ", states[span->kind]);
    }
    sy_put_paje_text(buffer, sy_name_subject(names, span, name));
    put(buffer, "\n");
}

static void put_device_event(struct sy_buffer *buffer, const struct event *event,
                             const struct sy_span *span, const struct sy_groups *groups,
                             const struct sy_trace_names *names) {
    put(buffer, "7 ");
    put_time(buffer, event->at_ns);
    sy_buffer_printf(buffer, " ST_state D%u ", span->place);
    if (event->end) {
        put(buffer, "S_idle \"\"\n");
    } else {
        put_state(buffer, span, groups, names);
    }
}

static void put_copy_event(struct sy_buffer *buffer, const struct event *event,
                           const struct sy_span *span, const struct sy_trace_names *names) {
    char name[SY_TRACE_NAME_SIZE];
    sy_buffer_printf(buffer, "%u ", event->end ? 10 : 9);
    put_time(buffer, event->at_ns);
    sy_buffer_printf(buffer, " VT_copies M%u 1\n", span->place);
    if (span->from >= names->memory_count) {
        return;
    }
    sy_buffer_printf(buffer, "%u ", event->end ? 12 : 11);
    put_time(buffer, event->at_ns);
    sy_buffer_printf(buffer, " LT_copy run M%u ", event->end ? span->place : span->from);
    sy_put_paje_text(buffer, sy_name_subject(names, span, name));
    sy_buffer_printf(buffer, " L%u\n", event->span);
}

static int by_time(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    if (x->at_ns != y->at_ns) {
        return x->at_ns < y->at_ns ? -1 : 1;
    }
    if (x->end != y->end) {
        return x->end ? -1 : 1;
    }
    return x->span < y->span ? -1 : x->span > y->span;
}

/* NULL and *ret_count 0 where there is nothing. Spans of no length would end before they begin. */
static struct event *make_events(const struct sy_trace *sorted, size_t *ret_count) {
    struct event *events = malloc((2 * (size_t)sorted->count + 1) * sizeof *events);
    size_t count = 0;
    for (uint32_t i = 0; events && i < sorted->count; i++) {
        uint64_t start = sy_round_ns(sorted->spans[i].start_ns);
        uint64_t end = sy_round_ns(sorted->spans[i].end_ns);
        if (end > start) {
            events[count++] = (struct event){start, i, false};
            events[count++] = (struct event){end, i, true};
        }
    }
    if (events) {
        qsort(events, count, sizeof *events, by_time);
    }
    *ret_count = count;
    return events;
}

static void put_end(struct sy_buffer *buffer, const struct sy_trace_names *names, uint64_t end_ns) {
    for (uint32_t i = 0; i < names->place_count + names->memory_count; i++) {
        bool device = i < names->place_count;
        put(buffer, "6 ");
        put_time(buffer, end_ns);
        sy_buffer_printf(buffer, device ? " CT_device D%u\n" : " CT_memory M%u\n",
                         device ? i : i - names->place_count);
    }
    put(buffer, "6 ");
    put_time(buffer, end_ns);
    put(buffer, " CT_run run\n");
}

void sy_trace_write_paje(const struct sy_trace *trace, const struct sy_trace_names *names,
                         struct sy_buffer *buffer) {
    struct sy_trace sorted = sy_trace_sorted(trace, names);
    struct sy_groups groups;
    sy_groups_init(&groups, &sorted, names);
    size_t count = 0;
    struct event *events = make_events(&sorted, &count);
    if (sorted.failed || groups.failed || !events) {
        buffer->failed = true;
    } else {
        put(buffer, header);
        put(buffer, types);
        put_kernels(buffer, &groups);
        put_containers(buffer, names);
        for (size_t i = 0; i < count; i++) {
            const struct sy_span *span = &sorted.spans[events[i].span];
            if (sy_span_on_device(span)) {
                put_device_event(buffer, &events[i], span, &groups, names);
            } else {
                put_copy_event(buffer, &events[i], span, names);
            }
        }
        put_end(buffer, names, count ? events[count - 1].at_ns : 0);
    }
    free(events);
    sy_groups_finish(&groups);
    sy_trace_finish(&sorted);
}
