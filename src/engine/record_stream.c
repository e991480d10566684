/* SPDX-License-Identifier: Apache-2.0
 *
 * The member "stream" of a run record: what came of the items of a pipeline, and by which plans.
 */
#include "base/json.h"
#include "engine/record.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* Members of an object: texts, whole numbers and numbers that may be null. */
enum kind { TEXT, WHOLE, COUNT, NUMBER, PHASES };
struct member {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define OF_REPORT(name, kind, field)                                                               \
    { name, kind, offsetof(struct sy_stream_report, field) }
#define OF_PHASE(name, kind, field)                                                                \
    { name, kind, offsetof(struct sy_stream_phase, field) }

static const struct member report_members[] = {
    OF_REPORT("pipeline", TEXT, pipeline),
    OF_REPORT("objective", TEXT, objective),
    OF_REPORT("items", WHOLE, item_count),
    OF_REPORT("checked", WHOLE, checked_count),
    OF_REPORT("window", COUNT, window),
    OF_REPORT("rate", NUMBER, rate),
    OF_REPORT("steady_rate", NUMBER, steady_rate),
    OF_REPORT("latency_p50_ns", NUMBER, latency_p50_ns),
    OF_REPORT("latency_p99_ns", NUMBER, latency_p99_ns),
    OF_REPORT("joules_per_item", NUMBER, joules),
    OF_REPORT("result_error", NUMBER, result_error),
    OF_REPORT("result_tolerance", NUMBER, result_tolerance),
    OF_REPORT("worst_item", WHOLE, worst_item),
    OF_REPORT("phases", PHASES, phases),
};

static const struct member phase_members[] = {
    OF_PHASE("first_item", WHOLE, first_item),
    OF_PHASE("items", WHOLE, item_count),
    OF_PHASE("plan", TEXT, plan),
    OF_PHASE("cause", TEXT, cause),
    OF_PHASE("period_ns", NUMBER, period_ns),
    OF_PHASE("rate", NUMBER, rate),
    OF_PHASE("latency_p50_ns", NUMBER, latency_p50_ns),
    OF_PHASE("latency_p99_ns", NUMBER, latency_p99_ns),
    OF_PHASE("joules_per_item", NUMBER, joules),
};

/* --- writing ------------------------------------------------------------------------------------
 */
static void put_members(struct sy_json_writer *writer, const void *object,
                        const struct member *members, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const void *field = (const char *)object + members[i].offset;
        sy_json_key(writer, members[i].name);
        switch (members[i].kind) {
        case TEXT:
            sy_json_put_string(writer, *(const char *const *)field);
            break;
        case WHOLE:
            sy_json_put_u64(writer, *(const uint64_t *)field);
            break;
        case COUNT:
            sy_json_put_u64(writer, *(const uint32_t *)field);
            break;
        case NUMBER:
            sy_json_put_number(writer, *(const double *)field);
            break;
        case PHASES: {
            const struct sy_stream_report *report = object;
            sy_json_open(writer, '[');
            for (uint32_t p = 0; p < report->phase_count; p++) {
                sy_json_open(writer, '{');
                put_members(writer, &report->phases[p], phase_members, SY_COUNT(phase_members));
                sy_json_close(writer, '}');
            }
            sy_json_close(writer, ']');
            break;
        }
        }
    }
}

void sy_record_write_stream(struct sy_json_writer *writer, const struct sy_stream_report *report) {
    sy_json_open(writer, '{');
    put_members(writer, report, report_members, SY_COUNT(report_members));
    sy_json_close(writer, '}');
}

/* --- reading ------------------------------------------------------------------------------------
 */
struct reader {
    struct sy_json *json;
    struct sy_arena *arena;
    struct sy_stream_phase *phases;
    uint32_t count, capacity;
};

static int read_number(struct reader *reader, const struct member *member, void *field) {
    enum sy_json_type type;
    double value = NAN;
    int code = sy_json_peek(reader->json, &type);
    bool none = !code && type == SY_JSON_NULL && member->kind == NUMBER;
    double high = member->kind == COUNT ? UINT32_MAX : member->kind == WHOLE ? WHOLE_MAX : 1e300;
    code = code   ? code
           : none ? sy_json_skip(reader->json)
                  : sy_json_number_in(reader->json, member->name, 0, high, &value);
    if (!code && member->kind != NUMBER && value != floor(value)) {
        code = sy_json_fail(reader->json, "\"%s\" is a whole number", member->name);
    }
    if (code) {
        return code;
    }
    if (member->kind == NUMBER) {
        *(double *)field = value;
    } else if (member->kind == WHOLE) {
        *(uint64_t *)field = (uint64_t)value;
    } else {
        *(uint32_t *)field = (uint32_t)value;
    }
    return 0;
}

static int read_phases(struct reader *reader);

static int read_field(struct reader *reader, const struct member *member, void *field) {
    return member->kind == PHASES ? read_phases(reader)
           : member->kind == TEXT ? sy_json_text(reader->json, reader->arena, field)
                                  : read_number(reader, member, field);
}

/* Every member once. */
static int read_members(struct reader *reader, void *object, const struct member *members,
                        uint32_t count) {
    const char *names[SY_COUNT(report_members)];
    uint32_t seen = 0, i = 0;
    for (uint32_t k = 0; k < count; k++) {
        names[k] = members[k].name;
    }
    int more = sy_json_enter_object(reader->json);
    while (more >= 0 &&
           (more = sy_json_next_of(reader->json, "a stream", names, count, &seen, &i)) > 0) {
        more = read_field(reader, &members[i], (char *)object + members[i].offset);
    }
    for (i = 0; more == 0 && i < count; i++) {
        if (!(seen >> i & 1)) {
            return sy_json_fail(reader->json, "a stream lacks \"%s\"", names[i]);
        }
    }
    return more;
}

static int read_phases(struct reader *reader) {
    int more = sy_json_enter_array(reader->json);
    while (more >= 0 && (more = sy_json_next(reader->json)) > 0) {
        if (sy_grow(&reader->phases, &reader->capacity, reader->count + 1,
                    sizeof *reader->phases)) {
            return sy_out_of_memory(reader->json->error);
        }
        more = read_members(reader, &reader->phases[reader->count++], phase_members,
                            SY_COUNT(phase_members));
    }
    return more;
}

int sy_record_read_stream(struct sy_json *json, struct sy_arena *arena,
                          const struct sy_stream_report **ret_report) {
    struct reader reader = {.json = json, .arena = arena};
    struct sy_stream_report *report = sy_arena_alloc(arena, 1, sizeof *report);
    int code = report ? read_members(&reader, report, report_members, SY_COUNT(report_members))
                      : sy_out_of_memory(reader.json->error);
    struct sy_stream_phase *phases =
        code ? NULL : sy_arena_alloc(arena, reader.count + 1, sizeof *phases);
    if (!code && !phases) {
        code = sy_out_of_memory(reader.json->error);
    }
    if (!code) {
        if (reader.count) {
            memcpy(phases, reader.phases, reader.count * sizeof *phases);
        }
        report->phases = phases;
        report->phase_count = reader.count;
        *ret_report = report;
    }
    free(reader.phases);
    return code;
}
