/* SPDX-License-Identifier: Apache-2.0
 *
 * From pmu-events JSON to records: the rules of tools/perf/pmu-events/jevents.py, Linux 6.12.
 *
 * In: the text of JSON files, each an array of objects. Out: events and metrics. What only serves
 * sampling (SampleAfterValue, PEBS) and all prose is left out. Invariant: an error names file, line
 * and column of the value it is about.
 */
#include "listing/compile.h"
#include "base/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 16384 /* characters; the longest expression has 4,300 */

enum key {
    KEY_EVENT_NAME,
    KEY_EVENT_CODE,
    KEY_EXT_SEL,
    KEY_CONFIG_CODE,
    KEY_EVENTID_CODE,
    KEY_UNIT,
    KEY_MSR_INDEX,
    KEY_MSR_VALUE,
    KEY_FILTER,
    KEY_UMASK,
    KEY_SCALE_UNIT,
    KEY_PER_PKG,
    KEY_DEPRECATED,
    KEY_COUNTER,
    KEY_METRIC_NAME,
    KEY_METRIC_GROUP,
    KEY_METRIC_EXPR,
    KEY_ARCH_STD,
    KEY_NUM_GENERIC,
    KEY_NUM_FIXED,
    KEY_TERMS, /* from here on: numbers that become a term of their own */
    KEY_COUNT = KEY_TERMS + 12,
};

static const char *const key_names[KEY_COUNT] = {"EventName",
                                                 "EventCode",
                                                 "ExtSel",
                                                 "ConfigCode",
                                                 "EventidCode",
                                                 "Unit",
                                                 "MSRIndex",
                                                 "MSRValue",
                                                 "Filter",
                                                 "UMask",
                                                 "ScaleUnit",
                                                 "PerPkg",
                                                 "Deprecated",
                                                 "Counter",
                                                 "MetricName",
                                                 "MetricGroup",
                                                 "MetricExpr",
                                                 "ArchStdEvent",
                                                 "CountersNumGeneric",
                                                 "CountersNumFixed",
                                                 "AnyThread",
                                                 "PortMask",
                                                 "CounterMask",
                                                 "EdgeDetect",
                                                 "FCMask",
                                                 "Invert",
                                                 "NodeType",
                                                 "RdWrMask",
                                                 "EnAllCores",
                                                 "EnAllSlices",
                                                 "SliceId",
                                                 "ThreadMask"};
static const char *const term_names[KEY_COUNT - KEY_TERMS] = {
    "any",  "ch_mask",  "cmask",      "edge",        "fc_mask", "inv",
    "type", "rdwrmask", "enallcores", "enallslices", "sliceid", "threadmask"};

/* What an event takes from the architecture's when it does not say it itself. */
static const enum key inherited[] = {KEY_EVENT_NAME,   KEY_SCALE_UNIT, KEY_PER_PKG,
                                     KEY_DEPRECATED,   KEY_COUNTER,    KEY_METRIC_NAME,
                                     KEY_METRIC_GROUP, KEY_METRIC_EXPR};

struct sy_json_record {
    const char *file;
    uint32_t line, column; /* of the object */
    struct {
        const char *text; /* NULL: not there */
        uint32_t line, column;
    } values[KEY_COUNT];
};

/* --- errors ----------------------------------------------------------------------------------- */
static int fail_value(struct sy_compilation *c, const struct sy_json_record *record, enum key key,
                      const char *wanted) {
    const char *text = record->values[key].text;
    return sy_fail_at(c->error, -EINVAL, record->file, record->values[key].line,
                      record->values[key].column, "%s '%.100s': %s", key_names[key],
                      text ? text : "", wanted);
}

/* --- JSON to record --------------------------------------------------------------------------- */
static enum key find_key(const char *name) {
    uint32_t key = 0;
    while (key < KEY_COUNT && strcmp(key_names[key], name) != 0) {
        key++;
    }
    return (enum key)key;
}

/* Control characters would break the lines of the compact file. */
static int check_text(struct sy_json *json, const char *key, const char *text, size_t length) {
    if (length > VALUE_MAX) {
        return sy_json_fail(json, "%s has %zu characters, more than any listing needs", key,
                            length);
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c >= 0x7f) {
            return sy_json_fail(json, "%s contains byte 0x%02x, but only ASCII is allowed", key, c);
        }
    }
    return 0;
}

static int read_value(struct sy_compilation *c, struct sy_json *json, struct sy_json_record *record,
                      enum key key) {
    enum sy_json_type type;
    int code = sy_json_peek(json, &type);
    if (code) {
        return code;
    }
    record->values[key].line = json->value_line;
    record->values[key].column = json->value_column;
    const char *text;
    size_t length;
    char number_text[32];
    if (type == SY_JSON_NUMBER && key >= KEY_NUM_GENERIC) {
        double number;
        code = sy_json_number_in(json, key_names[key], 0, 4294967295.0, &number);
        length = code ? 0 : (size_t)snprintf(number_text, sizeof number_text, "%.0f", number);
        text = number_text;
    } else if (type == SY_JSON_STRING) {
        code = sy_json_string(json, &text, &length);
        code = code ? code : check_text(json, key_names[key], text, length);
    } else {
        code = sy_json_fail(json, "%s must be a string", key_names[key]);
    }
    if (code) {
        return code;
    }
    char *kept = sy_arena_strndup(c->arena, text, length);
    record->values[key].text = kept;
    return kept ? 0 : sy_out_of_memory(c->error);
}

static int read_record(struct sy_compilation *c, struct sy_json *json,
                       struct sy_json_record **ret_record) {
    struct sy_json_record *record = sy_arena_alloc(c->arena, 1, sizeof *record);
    if (!record) {
        return sy_out_of_memory(c->error);
    }
    int code = sy_json_enter_object(json);
    record->file = json->file;
    record->line = json->value_line;
    record->column = json->value_column;
    const char *name;
    int more = 0;
    while (!code && (more = sy_json_next_member(json, &name)) == 1) {
        enum key key = find_key(name);
        if (key == KEY_COUNT) {
            code = sy_json_skip(json);
        } else if (record->values[key].text) {
            code = sy_json_fail(json, "%s is given twice", key_names[key]);
        } else {
            code = read_value(c, json, record, key);
        }
    }
    code = code ? code : more;
    if (!code) {
        *ret_record = record;
    }
    return code;
}

/* --- record to event -------------------------------------------------------------------------- */
static const char *trim(const char *text, size_t *length) {
    while (*length && *text == ' ') {
        text++;
        (*length)--;
    }
    while (*length && text[*length - 1] == ' ') {
        (*length)--;
    }
    return text;
}

/* The number, or the first of several separated by commas. */
static int read_number(struct sy_compilation *c, const struct sy_json_record *record, enum key key,
                       uint64_t *ret_value) {
    const char *text = record->values[key].text;
    size_t length = strcspn(text, ",");
    text = trim(text, &length);
    return sy_parse_value(text, length, ret_value)
               ? 0
               : fail_value(c, record, key, "expected a number such as 31 or 0x1f, below 2^64");
}

static const char *msr_term(uint64_t msr) {
    switch (msr) {
    case 0x3f6:
        return "ldlat";
    case 0x1a6:
    case 0x1a7:
        return "offcore_rsp";
    case 0x3f7:
        return "frontend";
    default:
        return NULL;
    }
}

static void put_term(struct sy_buffer *terms, const char *key, uint64_t value) {
    sy_buffer_printf(terms, "%s%s=", terms->length ? "," : "", key);
    sy_put_value(terms, value);
}

static int encode_msr(struct sy_compilation *c, const struct sy_json_record *record,
                      struct sy_buffer *terms) {
    uint64_t msr, value;
    if (!record->values[KEY_MSR_INDEX].text || !record->values[KEY_MSR_INDEX].text[0]) {
        return 0;
    }
    int code = read_number(c, record, KEY_MSR_INDEX, &msr);
    if (code) {
        return code;
    }
    if (!msr_term(msr)) {
        return fail_value(c, record, KEY_MSR_INDEX, "0x1a6, 0x1a7, 0x3f6 and 0x3f7 are known");
    }
    if (!record->values[KEY_MSR_VALUE].text) {
        return 0; /* as Nehalem's latencies: the register's content is the user's affair */
    }
    code = read_number(c, record, KEY_MSR_VALUE, &value);
    if (!code) {
        put_term(terms, msr_term(msr), value);
    }
    return code;
}

/* key=value,key=value */
static bool is_terms(const char *text) {
    while (*text) {
        size_t length = strcspn(text, ",");
        if (!memchr(text, '=', length) || (text[length] && !text[length + 1])) {
            return false;
        }
        text += length + (text[length] != '\0');
    }
    return true;
}

static int encode_terms(struct sy_compilation *c, const struct sy_json_record *record,
                        struct sy_buffer *terms) {
    for (uint32_t key = KEY_TERMS; key < KEY_COUNT; key++) {
        uint64_t value;
        if (record->values[key].text) {
            int code = read_number(c, record, (enum key)key, &value);
            if (code) {
                return code;
            }
            if (value) {
                put_term(terms, term_names[key - KEY_TERMS], value);
            }
        }
    }
    const char *filter = record->values[KEY_FILTER].text;
    if (filter && filter[0]) {
        if (strchr(filter, ' ') || !is_terms(filter)) {
            return fail_value(c, record, KEY_FILTER, "expected key=value");
        }
        sy_buffer_printf(terms, "%s%s", terms->length ? "," : "", filter);
    }
    return encode_msr(c, record, terms);
}

/* event=, or in its place config= or eventid=. */
static int encode_code(struct sy_compilation *c, const struct sy_json_record *record,
                       struct sy_raw_event *event, struct sy_buffer *terms) {
    uint64_t value = 0, extension = 0;
    int code = 0;
    if (record->values[KEY_CONFIG_CODE].text || record->values[KEY_EVENTID_CODE].text) {
        bool config = record->values[KEY_CONFIG_CODE].text;
        code = read_number(c, record, config ? KEY_CONFIG_CODE : KEY_EVENTID_CODE, &value);
        if (!code) {
            put_term(terms, config ? "config" : "eventid", value);
        }
        return code;
    }
    if (record->values[KEY_EVENT_CODE].text) {
        code = read_number(c, record, KEY_EVENT_CODE, &value);
    }
    if (!code && record->values[KEY_EXT_SEL].text) {
        code = read_number(c, record, KEY_EXT_SEL, &extension);
    }
    event->has_code = true;
    event->code = value | extension << 8;
    return code;
}

static int encode(struct sy_compilation *c, const struct sy_json_record *record,
                  struct sy_raw_event *event) {
    struct sy_buffer terms = {0};
    int code = encode_code(c, record, event, &terms);
    if (!code && record->values[KEY_UMASK].text) {
        code = read_number(c, record, KEY_UMASK, &event->umask);
    }
    code = code ? code : encode_terms(c, record, &terms);
    if (!code) {
        event->terms = sy_arena_strndup(c->arena, terms.text ? terms.text : "", terms.length);
        code = terms.failed || !event->terms ? sy_out_of_memory(c->error) : 0;
    }
    sy_buffer_finish(&terms);
    return code;
}

/* Names that perf encodes in its own way, whatever the file says. */
static void encode_well_known(struct sy_raw_event *event) {
    static const struct {
        const char *name, *terms;
        uint64_t code, umask;
    } known[] = {
        {"inst_retired.any", "", 0xc0, 0},      {"inst_retired.any_p", "", 0xc0, 0},
        {"cpu_clk_unhalted.ref", "", 0, 3},     {"cpu_clk_unhalted.thread", "", 0x3c, 0},
        {"cpu_clk_unhalted.core", "", 0x3c, 0}, {"cpu_clk_unhalted.thread_any", "any=1", 0x3c, 0}};
    for (size_t i = 0; i < SY_COUNT(known); i++) {
        if (strcmp(event->name, known[i].name) == 0) {
            event->has_code = true;
            event->code = known[i].code;
            event->umask = known[i].umask;
            event->terms = known[i].terms;
        }
    }
}

static const char *unit_name(struct sy_compilation *c, const char *unit) {
    static const char *const known[][2] = {
        {"CBO", "uncore_cbox"},       {"QPI LL", "uncore_qpi"}, {"SBO", "uncore_sbox"},
        {"iMPH-U", "uncore_arb"},     {"CPU-M-CF", "cpum_cf"},  {"CPU-M-SF", "cpum_sf"},
        {"PAI-CRYPTO", "pai_crypto"}, {"PAI-EXT", "pai_ext"},   {"UPI LL", "uncore_upi"},
        {"L3PMC", "amd_l3"},          {"DFPMC", "amd_df"},      {"UMCPMC", "amd_umc"},
        {"core", SY_LISTING_CORE}, /* only where counters are numbered */
    };
    static const char *const as_they_are[] = {
        "hisi_sicl,cpa", "hisi_sccl,ddrc", "hisi_sccl,hha", "hisi_sccl,l3c", "imx8_ddr",
        "imx9_ddr",      "cpu_core",       "cpu_atom",      "ali_drw",       "arm_cmn"};
    if (!unit || !unit[0]) {
        return SY_LISTING_CORE;
    }
    for (size_t i = 0; i < SY_COUNT(known); i++) {
        if (strcmp(known[i][0], unit) == 0) {
            return known[i][1];
        }
    }
    for (size_t i = 0; i < SY_COUNT(as_they_are); i++) {
        if (strcmp(as_they_are[i], unit) == 0) {
            return unit;
        }
    }
    char *name = sy_arena_alloc(c->arena, strlen(unit) + 8, 1);
    if (name) {
        memcpy(name, "uncore_", 7);
        for (size_t i = 0; unit[i]; i++) {
            name[7 + i] = unit[i] >= 'A' && unit[i] <= 'Z' ? (char)(unit[i] - 'A' + 'a') : unit[i];
        }
    }
    return name;
}

/* "0,1,2,3", "Fixed counter 1", "FIXED". Numbers beyond 31 are no programmable counters. */
static void read_counters(const char *text, struct sy_raw_event *event) {
    if ((text[0] | 0x20) == 'f') {
        event->fixed = true;
        return;
    }
    while (*text) {
        size_t length = strcspn(text, ","), digits = length;
        const char *digit = trim(text, &digits);
        uint64_t counter;
        if (sy_parse_u64(digit, digits, &counter) && counter < 32) {
            event->counter_mask |= 1u << counter;
        }
        text += length + (text[length] != '\0');
    }
}

static char *lower(struct sy_compilation *c, const char *text) {
    char *copy = sy_arena_strdup(c->arena, text);
    for (char *at = copy; at && *at; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
    return copy;
}

/* Puts unit/name. -EEXIST: *ret_index is the one that has the name already. */
static int see(struct sy_compilation *c, struct sy_map *seen, const char *unit, const char *name,
               uint32_t index, uint32_t *ret_index) {
    struct sy_buffer path = {0};
    sy_buffer_printf(&path, "%s/%s", unit, name);
    char *kept = path.failed ? NULL : sy_arena_strndup(c->arena, path.text, path.length);
    int code = kept ? sy_map_put(seen, kept, path.length, index) : -ENOMEM;
    if (code == -EEXIST) {
        (void)sy_map_get(seen, kept, path.length, ret_index);
    }
    sy_buffer_finish(&path);
    return code == -ENOMEM ? sy_out_of_memory(c->error) : code;
}

static int check_name(struct sy_compilation *c, const struct sy_json_record *record, enum key key) {
    size_t length = strlen(record->values[key].text);
    return length == 0 || length > SY_LISTING_NAME_MAX
               ? fail_value(c, record, key, "expected a name of 1 to 255 characters")
               : 0;
}

static bool is_set(const char *text) {
    return text && text[0] && strcmp(text, "0") != 0;
}

static int add_event(struct sy_compilation *c, const struct sy_json_record *record,
                     const struct sy_json_record *encoding, const char *unit) {
    struct sy_raw_event event = {.unit = unit,
                                 .scale = record->values[KEY_SCALE_UNIT].text,
                                 .per_package = is_set(record->values[KEY_PER_PKG].text),
                                 .deprecated = is_set(record->values[KEY_DEPRECATED].text)};
    int code = check_name(c, record, KEY_EVENT_NAME);
    if (!code && strchr(record->values[KEY_EVENT_NAME].text, ' ')) {
        code = fail_value(c, record, KEY_EVENT_NAME, "expected a name without spaces");
    }
    code = code ? code : encode(c, encoding, &event);
    if (code) {
        return code;
    }
    event.name = lower(c, record->values[KEY_EVENT_NAME].text);
    if (!event.name || sy_grow(&c->events, &c->event_capacity, c->event_count + 1, sizeof event)) {
        return sy_out_of_memory(c->error);
    }
    encode_well_known(&event);
    if (record->values[KEY_COUNTER].text) {
        read_counters(record->values[KEY_COUNTER].text, &event);
    }
    uint32_t other;
    code = see(c, &c->events_seen, unit, event.name, c->event_count, &other);
    if (!code) {
        c->events[c->event_count++] = event;
    }
    return code == -EEXIST ? fail_value(c, record, KEY_EVENT_NAME, "listed twice in this unit")
                           : code;
}

/* --- record to metric ------------------------------------------------------------------------- */
static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("_.:@?\\#", c));
}

/* Drops spaces, but not those that part words, nor the one between "#num_cpus" (or 1e) and a minus
 * sign. */
static char *squeeze(struct sy_compilation *c, const char *text) {
    char *out = sy_arena_strdup(c->arena, text);
    size_t n = 0;
    bool literal = false, space = false;
    for (const char *at = text; out && *at; at++) {
        if (*at == ' ') {
            space = true;
            continue;
        }
        bool words = n && is_word(out[n - 1]) && is_word(*at);
        bool minus = n && *at == '-' && (literal || out[n - 1] == 'e');
        if (space && (words || minus)) {
            out[n++] = ' ';
            literal = false;
        }
        literal = *at == '#' || (literal && is_word(*at));
        space = false;
        out[n++] = *at;
    }
    if (out) {
        out[n] = '\0';
    }
    return out;
}

static int check_expr(struct sy_compilation *c, const struct sy_json_record *record,
                      const char *expr) {
    struct sy_expr_names names = {0};
    struct sy_expr parsed;
    struct sy_error error = {0};
    int code = sy_expr_parse(c->arena, &names, expr, strlen(expr), &parsed, &error);
    sy_expr_names_finish(&names);
    if (code == -EINVAL) {
        const char *name = record->values[KEY_METRIC_NAME].text;
        sy_fail_at(c->error, code, record->file, record->values[KEY_METRIC_EXPR].line,
                   record->values[KEY_METRIC_EXPR].column,
                   "MetricExpr of %.60s, character %u of '%.60s': %.120s", name, error.column, expr,
                   error.message);
        sy_hint(c->error, "%s", error.hint);
    }
    return code;
}

static int add_metric(struct sy_compilation *c, const struct sy_json_record *record,
                      const char *unit) {
    struct sy_raw_metric metric = {.unit = unit,
                                   .name = record->values[KEY_METRIC_NAME].text,
                                   .group = record->values[KEY_METRIC_GROUP].text,
                                   .scale = record->values[KEY_SCALE_UNIT].text};
    int code = check_name(c, record, KEY_METRIC_NAME);
    if (code) {
        return code;
    }
    if (!record->values[KEY_METRIC_EXPR].text) {
        return fail_value(c, record, KEY_METRIC_NAME, "it has no MetricExpr");
    }
    if (metric.group && strcmp(metric.group, "~") == 0) {
        return fail_value(c, record, KEY_METRIC_GROUP, "there is no such group");
    }
    metric.expr = squeeze(c, record->values[KEY_METRIC_EXPR].text);
    if (!metric.expr ||
        sy_grow(&c->metrics, &c->metric_capacity, c->metric_count + 1, sizeof metric)) {
        return sy_out_of_memory(c->error);
    }
    code = check_expr(c, record, metric.expr);
    char *name = code ? NULL : lower(c, metric.name);
    code = code || name ? code : sy_out_of_memory(c->error);
    uint32_t other;
    code = code ? code : see(c, &c->metrics_seen, unit, name, c->metric_count, &other);
    if (!code) {
        c->metrics[c->metric_count++] = metric;
    } else if (code == -EEXIST) { /* three listings do so; perf takes the first in this order */
        struct sy_raw_metric *old = &c->metrics[other];
        *old = strcmp(metric.expr, old->expr) < 0 ? metric : *old;
        code = 0;
    }
    return code;
}

/* --- one object ------------------------------------------------------------------------------- */
static int add_unit(struct sy_compilation *c, const struct sy_json_record *record,
                    const char *unit) {
    uint64_t counters = 0, fixed = 0;
    int code = record->values[KEY_NUM_GENERIC].text
                   ? read_number(c, record, KEY_NUM_GENERIC, &counters)
                   : 0;
    if (!code && record->values[KEY_NUM_FIXED].text) {
        code = read_number(c, record, KEY_NUM_FIXED, &fixed);
    }
    if (!code && (counters > 1000 || fixed > 1000)) {
        code = fail_value(c, record, KEY_NUM_GENERIC, "more counters than any unit has");
    }
    if (code) {
        return code;
    }
    return sy_append(&c->units, &c->unit_capacity, &c->unit_count,
                     &(struct sy_unit){.name = unit,
                                       .counters = (uint32_t)counters,
                                       .fixed_counters = (uint32_t)fixed},
                     sizeof *c->units)
               ? sy_out_of_memory(c->error)
               : 0;
}

/* *ret_encoding: the record that says how the event is encoded, this one or the standard one. */
static int inherit(struct sy_compilation *c, struct sy_json_record *record,
                   const struct sy_json_record **ret_encoding) {
    const char *standard = record->values[KEY_ARCH_STD].text;
    *ret_encoding = record;
    if (!standard) {
        return 0;
    }
    char *name = lower(c, standard);
    uint32_t index;
    if (!name) {
        return sy_out_of_memory(c->error);
    }
    if (!sy_map_get(&c->standard_names, name, strlen(name), &index)) {
        return fail_value(c, record, KEY_ARCH_STD,
                          "the architecture's shared files list no such event");
    }
    const struct sy_json_record *found = c->standard[index];
    for (size_t i = 0; i < SY_COUNT(inherited); i++) {
        if (!record->values[inherited[i]].text) {
            record->values[inherited[i]] = found->values[inherited[i]];
        }
    }
    *ret_encoding = found;
    return 0;
}

static int add_record(struct sy_compilation *c, struct sy_json_record *record) {
    const struct sy_json_record *encoding;
    int code = inherit(c, record, &encoding);
    if (code) {
        return code;
    }
    const char *unit = unit_name(c, record->values[KEY_UNIT].text);
    if (!unit) {
        return sy_out_of_memory(c->error);
    }
    if (strpbrk(unit, " ]") || strlen(unit) > SY_LISTING_NAME_MAX) {
        return fail_value(c, record, KEY_UNIT, "expected a name without spaces");
    }
    if (record->values[KEY_NUM_GENERIC].text || record->values[KEY_NUM_FIXED].text) {
        code = add_unit(c, record, unit);
    }
    if (!code && record->values[KEY_EVENT_NAME].text) {
        code = add_event(c, record, encoding, unit);
    }
    if (!code && record->values[KEY_METRIC_NAME].text) {
        code = add_metric(c, record, unit);
    }
    return code;
}

static int add_standard(struct sy_compilation *c, struct sy_json_record *record) {
    const enum key keys[] = {KEY_EVENT_NAME, KEY_METRIC_NAME};
    if (sy_grow(&c->standard, &c->standard_capacity, c->standard_count + 1, sizeof record)) {
        return sy_out_of_memory(c->error);
    }
    for (size_t i = 0; i < SY_COUNT(keys); i++) {
        const char *text = record->values[keys[i]].text;
        char *name = text ? lower(c, text) : NULL;
        int code = name ? sy_map_put(&c->standard_names, name, strlen(name), c->standard_count) : 0;
        if ((text && !name) || code == -ENOMEM) {
            return sy_out_of_memory(c->error);
        }
    }
    c->standard[c->standard_count++] = record;
    return 0;
}

int sy_compilation_add(struct sy_compilation *c, const char *file, const char *text, size_t length,
                       bool standard) {
    struct sy_json json;
    char *kept = sy_arena_strdup(c->arena, file);
    if (!kept) {
        return sy_out_of_memory(c->error);
    }
    sy_json_init(&json, kept, text, length, c->error);
    int code = sy_json_enter_array(&json), more = 0;
    while (!code && (more = sy_json_next(&json)) == 1) {
        struct sy_json_record *record = NULL;
        code = read_record(c, &json, &record);
        if (!code) {
            code = standard ? add_standard(c, record) : add_record(c, record);
        }
    }
    code = code ? code : more;
    code = code ? code : sy_json_end(&json);
    sy_json_finish(&json);
    return code;
}

int sy_compilation_init(struct sy_compilation *c, struct sy_error *error) {
    *c = (struct sy_compilation){.arena = sy_arena_create(), .error = error};
    return c->arena ? 0 : sy_out_of_memory(c->error);
}

void sy_compilation_finish(struct sy_compilation *c) {
    sy_map_finish(&c->events_seen);
    sy_map_finish(&c->metrics_seen);
    sy_map_finish(&c->standard_names);
    free(c->events);
    free(c->metrics);
    free(c->units);
    free(c->standard);
    sy_arena_destroy(c->arena);
    *c = (struct sy_compilation){0};
}
