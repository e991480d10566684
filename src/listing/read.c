/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads compact files: docs/listing-format.md says how they look.
 *
 * In: the text of a stranger. Out: a listing whose names are resolved. Invariant: an error names
 * file, line and column; nothing of the text is kept.
 */
#include "listing/read.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 4

struct field {
    const char *text;
    size_t length;
};

struct reader {
    const char *file, *at, *end; /* at: behind the current line */
    struct field line;
    uint32_t number; /* of the line, from 1 */
    struct sy_error *error;
    struct sy_listing *listing;
    struct sy_event *events;
    uint32_t event_count, event_capacity;
    struct sy_metric *metrics;
    uint32_t metric_count, metric_capacity;
    struct sy_unit *units;
    uint32_t unit_count, unit_capacity;
    const char **names, **unit_of; /* of all sections of metrics, one after another */
    uint32_t name_count, name_capacity, unit_of_capacity;
    struct sy_expr_names section_names;
    /* what lines take over from the one before, or from their section */
    bool in_events, in_metrics, per_package, has_code;
    const char *unit, *group;
    uint32_t counter_mask;
    uint64_t code;
    char name[SY_LISTING_NAME_MAX + 1];
    size_t name_length;
    struct sy_buffer encoding; /* of the event in hand */
};

static int fail(const struct reader *r, const char *where, const char *what) {
    uint32_t column = (uint32_t)(where - r->line.text) + 1;
    return sy_fail_at(r->error, -EINVAL, r->file, r->number, column, "%s", what);
}

static bool next_line(struct reader *r) {
    if (r->at >= r->end) {
        return false;
    }
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char *stop = newline ? newline : r->end;
    r->line = (struct field){r->at, (size_t)(stop - r->at)};
    r->at = newline ? newline + 1 : r->end;
    r->number++;
    return true;
}

/* A control character would end up in names, and from there on somebody's terminal. */
static int check_line(const struct reader *r) {
    for (size_t i = 0; i < r->line.length; i++) {
        unsigned char c = (unsigned char)r->line.text[i];
        if ((c < 0x20 && c != '\t') || c >= 0x7f) {
            return fail(r, r->line.text + i, "a character that is not plain ASCII");
        }
    }
    return 0;
}

static char *keep(const struct reader *r, struct field field) {
    return sy_arena_strndup(r->listing->arena, field.text, field.length);
}

static bool starts(struct field field, const char *word) {
    size_t length = strlen(word);
    return field.length >= length && memcmp(field.text, word, length) == 0;
}

static struct field after(struct field field, size_t length) {
    return (struct field){field.text + length, field.length - length};
}

/* Cuts field at the first separator; what is before it is returned. */
static struct field cut(struct field *field, char separator) {
    const char *found = memchr(field->text, separator, field->length);
    size_t length = found ? (size_t)(found - field->text) : field->length;
    struct field first = {field->text, length};
    *field = after(*field, found ? length + 1 : length);
    return first;
}

/* --- header ----------------------------------------------------------------------------------- */
static int read_header_line(struct reader *r) {
    struct sy_listing *listing = r->listing;
    const struct {
        const char *word;
        const char **target;
    } words[] = {
        {"name ", &listing->name}, {"source ", &listing->source}, {"licence ", &listing->licence}};
    for (size_t i = 0; i < SY_COUNT(words); i++) {
        if (starts(r->line, words[i].word)) {
            *words[i].target = keep(r, after(r->line, strlen(words[i].word)));
            return *words[i].target ? 0 : sy_out_of_memory(r->error);
        }
    }
    return fail(r, r->line.text, "expected name, source, licence or a section");
}

/* --- sections --------------------------------------------------------------------------------- */
/* "0-3,6" as a mask. */
static int read_counters(const struct reader *r, struct field list, uint32_t *ret_mask) {
    uint32_t mask = 0;
    while (list.length) {
        struct field range = cut(&list, ','), first = cut(&range, '-');
        uint64_t low, high;
        bool single = range.text == first.text + first.length;
        if (!sy_parse_u64(first.text, first.length, &low) || low > 31) {
            return fail(r, first.text, "expected counters such as 0-3,6");
        }
        high = low;
        if (!single &&
            (!sy_parse_u64(range.text, range.length, &high) || high > 31 || high < low)) {
            return fail(r, range.text, "expected counters such as 0-3,6");
        }
        for (uint64_t i = low; i <= high; i++) {
            mask |= 1u << i;
        }
    }
    *ret_mask = mask;
    return 0;
}

static int read_count(const struct reader *r, struct field text, uint32_t *ret_count) {
    uint64_t value;
    if (!sy_parse_u64(text.text, text.length, &value) || value > 1000) {
        return fail(r, text.text, "expected a number up to 1000");
    }
    *ret_count = (uint32_t)value;
    return 0;
}

static int read_unit(struct reader *r, struct field rest) {
    struct sy_unit unit = {.name = r->unit};
    int code = 0;
    r->per_package = false;
    r->counter_mask = 0;
    while (rest.length && !code) {
        struct field word = cut(&rest, ' ');
        if (starts(word, "on=")) {
            code = read_counters(r, after(word, 3), &r->counter_mask);
        } else if (starts(word, "counters=")) {
            code = read_count(r, after(word, 9), &unit.counters);
        } else if (starts(word, "fixed=")) {
            code = read_count(r, after(word, 6), &unit.fixed_counters);
        } else if (starts(word, "package") && word.length == 7) {
            r->per_package = true;
        } else {
            code = fail(r, word.text, "expected on=, counters=, fixed= or package");
        }
    }
    if (!code && sy_append(&r->units, &r->unit_capacity, &r->unit_count, &unit, sizeof unit)) {
        code = sy_out_of_memory(r->error);
    }
    return code;
}

/* The names of a section of metrics are its own: on hybrid parts they mean that unit's events. */
static int flush_names(struct reader *r) {
    struct sy_expr_names *section = &r->section_names;
    uint32_t total = r->name_count + section->count;
    if (sy_grow(&r->names, &r->name_capacity, total, sizeof *r->names) ||
        sy_grow(&r->unit_of, &r->unit_of_capacity, total, sizeof *r->unit_of)) {
        return sy_out_of_memory(r->error);
    }
    for (uint32_t i = 0; i < section->count; i++) {
        r->names[r->name_count] = section->names[i];
        r->unit_of[r->name_count++] = r->unit;
    }
    sy_expr_names_finish(section);
    return 0;
}

static int read_section(struct reader *r) {
    struct field rest = r->line;
    if (rest.text[rest.length - 1] != ']') {
        return fail(r, rest.text + rest.length, "expected ']'");
    }
    rest.length--;
    int code = r->in_metrics ? flush_names(r) : 0;
    if (code) {
        return code;
    }
    struct field kind = cut(&rest, ' '), unit = cut(&rest, ' ');
    r->in_events = kind.length == 7 && starts(kind, "[events");
    r->in_metrics = kind.length == 8 && starts(kind, "[metrics");
    r->name_length = 0;
    r->group = "";
    r->code = 0;
    r->has_code = true;
    if ((!r->in_events && !r->in_metrics) || !unit.length) {
        return fail(r, kind.text, "expected [events UNIT] or [metrics UNIT]");
    }
    r->unit = keep(r, unit);
    if (!r->unit) {
        return sy_out_of_memory(r->error);
    }
    if (r->in_metrics && rest.length) {
        return fail(r, rest.text, "expected ']'");
    }
    return r->in_events ? read_unit(r, rest) : 0;
}

/* --- events and metrics ----------------------------------------------------------------------- */
/* The first character says how much of the previous name stays. */
static int read_name(struct reader *r, struct field field) {
    const char *digit = field.length
                            ? memchr(SY_LISTING_SHARED, field.text[0], sizeof SY_LISTING_SHARED - 1)
                            : NULL;
    if (!digit) {
        return fail(r, field.text, "expected a name, and before it how much of the last one stays");
    }
    size_t shared = (size_t)(digit - SY_LISTING_SHARED), rest = field.length - 1;
    if (shared > r->name_length) {
        return fail(r, field.text, "more of the last name is to stay than it has");
    }
    if (shared + rest > SY_LISTING_NAME_MAX || shared + rest == 0) {
        return fail(r, field.text, "expected a name of 1 to 255 characters");
    }
    memcpy(r->name + shared, field.text + 1, rest);
    r->name_length = shared + rest;
    r->name[r->name_length] = '\0';
    return 0;
}

static bool read_hex(struct field field, uint64_t *ret_value) {
    uint64_t value = 0;
    if (!field.length || field.length > 16) {
        return false;
    }
    for (size_t i = 0; i < field.length; i++) {
        char c = field.text[i];
        bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
        if (!digit && !letter) {
            return false;
        }
        value = value << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
    *ret_value = value;
    return true;
}

static void put(struct sy_buffer *buffer, const char *text) {
    sy_buffer_append(buffer, text, strlen(text));
}

static int read_term(const struct reader *r, struct field term, struct sy_buffer *buffer) {
    if (memchr(term.text, '=', term.length)) {
        sy_buffer_append(buffer, term.text, term.length);
        return 0;
    }
    for (uint32_t i = 0; i < sy_short_term_count && term.length; i++) {
        uint64_t value;
        if (sy_short_terms[i].letter == term.text[0] && read_hex(after(term, 1), &value)) {
            put(buffer, sy_short_terms[i].term);
            put(buffer, "=");
            sy_put_value(buffer, value);
            return 0;
        }
    }
    return fail(r, term.text, "expected a term such as c2 or key=value");
}

/* [code][.umask][,term]...; without a code it is the one of the line before, "-" is none. */
static int read_encoding(struct reader *r, struct field field, struct sy_buffer *buffer) {
    struct field terms = field, head = cut(&terms, ','), umask = head, code = cut(&umask, '.');
    uint64_t value = 0;
    bool has_umask = code.length < head.length;
    if (code.length == 1 && code.text[0] == '-') {
        r->has_code = false;
    } else if (code.length) {
        r->has_code = true;
        if (!read_hex(code, &r->code)) {
            return fail(r, code.text, "expected the event's code in hexadecimal");
        }
    }
    if (has_umask && !read_hex(umask, &value)) {
        return fail(r, umask.text, "expected the unit mask in hexadecimal");
    }
    if (r->has_code) {
        put(buffer, "event=");
        sy_put_value(buffer, r->code);
    }
    if (has_umask) {
        put(buffer, buffer->length ? ",umask=" : "umask=");
        sy_put_value(buffer, value);
    }
    int result = 0;
    for (bool more = head.length < field.length; more && !result; more = terms.length) {
        struct field term = cut(&terms, ',');
        put(buffer, buffer->length ? "," : "");
        result = read_term(r, term, buffer);
    }
    return result;
}

static int read_extras(const struct reader *r, struct field field, struct sy_event *event) {
    int code = 0;
    while (field.length && !code) {
        bool scale = field.text[0] == 'x'; /* may have blanks, and comes last */
        struct field word = scale ? field : cut(&field, ' ');
        field.length = scale ? 0 : field.length;
        switch (word.length ? word.text[0] : '\0') {
        case 'D':
            event->deprecated = true;
            break;
        case 'F':
            event->fixed = true;
            break;
        case 'P':
            event->per_package = !r->per_package;
            break;
        case '@':
            code = read_counters(r, after(word, 1), &event->counter_mask);
            break;
        case 'x': {
            const char *text = keep(r, after(word, 1));
            if (!text) {
                return sy_out_of_memory(r->error);
            }
            event->scale = sy_parse_scale(text, &event->scale_unit);
            break;
        }
        default:
            code = fail(r, word.text, "expected D, F, P, @counters or xscale");
        }
    }
    return code;
}

static int fail_twice(const struct reader *r, const char *what) {
    char message[SY_LISTING_NAME_MAX + 64];
    snprintf(message, sizeof message, "%s %s is listed twice", what, r->name);
    return fail(r, r->line.text, message);
}

static int add_event(struct reader *r, struct sy_event *event) {
    event->name = keep(r, (struct field){r->name, r->name_length});
    if (!event->name ||
        sy_grow(&r->events, &r->event_capacity, r->event_count + 1, sizeof *r->events)) {
        return sy_out_of_memory(r->error);
    }
    struct sy_map *map = &r->listing->event_map;
    uint32_t old = sy_listing_find(map, event->unit, r->name, r->name_length);
    if (old != SY_NONE && strcmp(r->events[old].unit, event->unit) == 0) {
        return fail_twice(r, "event");
    }
    if (sy_listing_put(r->listing->arena, map, event->unit, event->name, r->event_count)) {
        return sy_out_of_memory(r->error);
    }
    sy_event_digest(event);
    r->events[r->event_count++] = *event;
    return 0;
}

static int read_event(struct reader *r) {
    struct field rest = r->line, name = cut(&rest, '\t'), encoding = cut(&rest, '\t');
    struct sy_event event = {.unit = r->unit,
                             .scale = 1,
                             .scale_unit = "",
                             .privilege = "",
                             .per_package = r->per_package,
                             .counter_mask = r->counter_mask};
    struct sy_buffer *buffer = &r->encoding;
    buffer->length = 0;
    int code = read_name(r, name);
    for (size_t i = 0; i < r->name_length && !code; i++) {
        if (r->name[i] >= 'A' && r->name[i] <= 'Z') {
            code = fail(r, name.text, "expected an event's name in lower case");
        }
    }
    code = code ? code : read_encoding(r, encoding, buffer);
    code = code ? code : read_extras(r, rest, &event);
    if (!code) {
        event.counter_mask = event.fixed ? 0 : event.counter_mask;
        struct field whole = {buffer->text ? buffer->text : "", buffer->length};
        event.encoding = buffer->failed ? NULL : keep(r, whole);
        code = event.encoding ? add_event(r, &event) : sy_out_of_memory(r->error);
    }
    return code;
}

/* "100%", "100percent of cycles", "1%": a share. */
static void judge_bounds(struct sy_metric *metric) {
    bool percent = metric->scale_unit[0] == '%' || strncmp(metric->scale_unit, "percent", 7) == 0;
    metric->full = metric->scale == 100 ? 1 : 100;
    metric->bounded = percent && (metric->scale == 100 || metric->scale == 1);
}

static int add_metric(struct reader *r, struct sy_metric *metric) {
    struct sy_arena *arena = r->listing->arena;
    char *key = sy_arena_strndup(arena, r->name, r->name_length);
    metric->name = keep(r, (struct field){r->name, r->name_length});
    if (!key || !metric->name ||
        sy_grow(&r->metrics, &r->metric_capacity, r->metric_count + 1, sizeof *r->metrics)) {
        return sy_out_of_memory(r->error);
    }
    for (char *c = key; *c; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    struct sy_map *map = &r->listing->metric_map;
    uint32_t old = sy_listing_find(map, metric->unit, key, r->name_length);
    if (old != SY_NONE && strcmp(r->metrics[old].unit, metric->unit) == 0) {
        return fail_twice(r, "metric");
    }
    if (sy_listing_put(arena, map, metric->unit, key, r->metric_count)) {
        return sy_out_of_memory(r->error);
    }
    r->metrics[r->metric_count++] = *metric;
    return 0;
}

static int read_metric(struct reader *r) {
    struct field rest = r->line, name = cut(&rest, '\t'), scale = cut(&rest, '\t');
    struct field group = cut(&rest, '\t');
    struct sy_metric metric = {.unit = r->unit};
    int code = read_name(r, name);
    if (code) {
        return code;
    }
    const char *scale_text = keep(r, scale);
    if (group.length != 1 || group.text[0] != '~') {
        r->group = keep(r, group);
    }
    metric.group = r->group;
    metric.expr_text = keep(r, rest);
    if (!scale_text || !metric.group || !metric.expr_text) {
        return sy_out_of_memory(r->error);
    }
    metric.scale = sy_parse_scale(scale_text, &metric.scale_unit);
    judge_bounds(&metric);
    struct sy_place place = {r->file, r->number, (uint32_t)(rest.text - r->line.text) + 1};
    code = sy_expr_parse_at(r->listing->arena, &r->section_names, rest.text, rest.length, place,
                            &metric.expr, r->error);
    if (!code && r->name_count) { /* names of earlier sections stand before this one's */
        struct sy_expr_node *nodes = (struct sy_expr_node *)metric.expr.nodes;
        for (uint32_t i = 0; i < metric.expr.count; i++) {
            bool leaf = nodes[i].op == SY_EXPR_NAME || nodes[i].op == SY_EXPR_LITERAL ||
                        nodes[i].op >= SY_EXPR_SOURCE_COUNT;
            nodes[i].a += leaf ? r->name_count : 0;
        }
    }
    return code ? code : add_metric(r, &metric);
}

/* --- the whole -------------------------------------------------------------------------------- */
static int read_lines(struct reader *r) {
    if (!next_line(r) || r->line.length != strlen(SY_LISTING_MAGIC) ||
        !starts(r->line, SY_LISTING_MAGIC)) {
        int code = sy_fail_at(r->error, -EINVAL, r->file, 1, 1,
                              "this is not a compact listing of version 1");
        sy_hint(r->error, "its first line would be '%s'", SY_LISTING_MAGIC);
        return code;
    }
    int code = 0;
    while (!code && next_line(r)) {
        code = check_line(r);
        if (code || !r->line.length) {
            continue;
        }
        if (r->line.text[0] == '[') {
            code = read_section(r);
        } else if (r->in_events) {
            code = read_event(r);
        } else if (r->in_metrics) {
            code = read_metric(r);
        } else {
            code = read_header_line(r);
        }
    }
    return code || !r->in_metrics ? code : flush_names(r);
}

static const void *keep_array(struct sy_arena *arena, const void *array, uint32_t count,
                              size_t size) {
    void *copy = sy_arena_alloc(arena, (size_t)count + 1, size);
    if (copy && count) {
        memcpy(copy, array, count * size);
    }
    return copy;
}

static int keep_all(struct reader *r) {
    struct sy_listing *listing = r->listing;
    struct sy_arena *arena = listing->arena;
    listing->name = listing->name ? listing->name : "";
    listing->source = listing->source ? listing->source : "";
    listing->licence = listing->licence ? listing->licence : "";
    listing->event_count = listing->listed_count = r->event_count;
    listing->metric_count = r->metric_count;
    listing->name_count = r->name_count;
    listing->unit_count = r->unit_count;
    listing->events = keep_array(arena, r->events, r->event_count, sizeof *r->events);
    listing->metrics = keep_array(arena, r->metrics, r->metric_count, sizeof *r->metrics);
    listing->names = keep_array(arena, r->names, r->name_count, sizeof *r->names);
    listing->units = keep_array(arena, r->units, r->unit_count, sizeof *r->units);
    if (!listing->events || !listing->metrics || !listing->names || !listing->units) {
        return sy_out_of_memory(r->error);
    }
    return sy_listing_resolve(listing, r->unit_of, r->error);
}

int sy_listing_read(const char *file, const char *text, size_t length,
                    struct sy_listing **ret_listing, struct sy_error *error) {
    struct reader r = {.file = file, .at = text, .end = text + length, .error = error};
    r.listing = calloc(1, sizeof *r.listing);
    if (!r.listing || !(r.listing->arena = sy_arena_create())) {
        free(r.listing);
        return sy_out_of_memory(error);
    }
    int code = read_lines(&r);
    code = code ? code : keep_all(&r);
    free(r.events);
    free(r.metrics);
    free(r.units);
    free(r.names);
    free(r.unit_of);
    sy_expr_names_finish(&r.section_names);
    sy_buffer_finish(&r.encoding);
    if (code) {
        sy_listing_destroy(r.listing);
        return code;
    }
    *ret_listing = r.listing;
    return 0;
}
