/* SPDX-License-Identifier: Apache-2.0
 *
 * write: the belief as lines, as JSON and as Prometheus' text.
 *
 * In: a view. Out: text for programs; docs/counters.md documents the members. Invariant: a resource
 * that is not measured has no utilisation here either: it is left out, or has no such member.
 */
#include "cli/counters/show.h"

#include "base/json.h"
#include <math.h>
#include <string.h>

/* --- lines -------------------------------------------------------------------------------------
 */
#define LINE "%10.3f  %-28s  %6s  %6s  %6s  %12s  %s\n"

void sy_counters_write_lines_head(struct sy_buffer *buffer) {
    sy_print(buffer, "%10s  %-28s  %6s  %6s  %6s  %12s  %s\n", "time_s", "resource", "used%",
             "low%", "high%", "rate", "age_s");
}

/* Without its blank, so that columns can be counted. */
static const char *one_word(char *text) {
    char *space = strchr(text, ' ');
    if (space) {
        memmove(space, space + 1, strlen(space));
    }
    return text;
}

static void write_counters(const struct sy_counters_view *view, struct sy_buffer *buffer) {
    for (uint32_t kind = 0; kind < view->kind_count; kind++) {
        const struct sy_counter *counter = &view->counters[view->kinds[kind].first];
        struct sy_units shown = sy_counters_kind_text(view, kind);
        bool share = counter->kind == SY_COUNTER_SHARE && strcmp(shown.text, "-") != 0;
        shown.text[share ? strcspn(shown.text, " ") : strlen(shown.text)] = '\0';
        sy_print(buffer, LINE, view->elapsed_ns / 1e9, view->kinds[kind].name,
                 share ? shown.text : "-", "-", "-", share ? "-" : one_word(shown.text), "-");
    }
}

void sy_counters_write_lines(const struct sy_counters_view *view, struct sy_buffer *buffer) {
    for (uint32_t i = 0; i < view->item_count; i++) {
        const struct sy_utilisation *item = &view->items[i];
        double time_s = view->elapsed_ns / 1e9;
        if (item->measured) {
            const char *unit = item->unit ? item->unit : "";
            struct sy_units rate = sy_draw_rate(item->rate, unit);
            sy_print(buffer, LINE, time_s, item->name, sy_units_number(100 * item->mean, 1).text,
                     sy_units_number(100 * item->low, 1).text,
                     sy_units_number(100 * item->high, 1).text, one_word(rate.text),
                     sy_units_number(item->age_ns / 1e9, 3).text);
        } else if (view->all) {
            sy_print(buffer, LINE, time_s, item->name, "-", "-", "-", "-", "-");
        }
    }
    write_counters(view, buffer);
}

/* --- JSON --------------------------------------------------------------------------------------
 */
static void put_item(struct sy_json_writer *json, const struct sy_utilisation *item) {
    sy_json_print(json, "{name: %s, measured: %d", item->name, item->measured);
    if (item->measured) {
        sy_json_print(json, "mean: %g, low: %g, high: %g, sd: %g, rate: %g, age_s: %g", item->mean,
                      item->low, item->high, item->sd, item->rate, item->age_ns / 1e9);
    }
    sy_json_print(json, "capacity: %g, nominal: %d, unit: %s}", item->capacity, item->nominal,
                  item->unit ? item->unit : "");
}

static void put_sources(struct sy_json_writer *json, const struct sy_counters_session *session) {
    sy_json_open_member(json, "sources", '[');
    for (uint32_t i = 0; i < session->senses.counter_count; i++) {
        const char *source = session->senses.counters[i].source;
        bool first = true;
        uint64_t count = 0;
        for (uint32_t j = 0; j < session->senses.counter_count && first; j++) {
            bool same = strcmp(session->senses.counters[j].source, source) == 0;
            first = !(same && j < i);
            count += same;
        }
        if (first) {
            sy_json_print(json, "{name: %s, counters: %llu}", source, (unsigned long long)count);
        }
    }
    sy_json_close(json, ']');
}

static void put_gaps(struct sy_json_writer *json, const struct sy_counters_view *view) {
    sy_json_open_member(json, "gaps", '[');
    for (uint32_t i = 0; i < view->gap_count; i++) {
        sy_json_print(json, "{source: %s, what: %s, reason: %s, remedy: %s}", view->gaps[i].source,
                      view->gaps[i].what, view->gaps[i].reason,
                      view->gaps[i].remedy ? view->gaps[i].remedy : "");
    }
    sy_json_close(json, ']');
}

static void put_readings(struct sy_json_writer *json, const struct sy_counters_view *view) {
    sy_json_open_member(json, "readings", '[');
    for (uint32_t i = 0; i < view->counter_count; i++) {
        sy_json_print(json, "{name: %s, source: %s, scope: %s, value: %g, unit: %s}",
                      view->counters[i].name, view->counters[i].source,
                      sy_scope_name(view->counters[i].scope), view->last[i],
                      view->counters[i].unit);
    }
    sy_json_close(json, ']');
}

void sy_counters_write_json(const struct sy_counters_view *view,
                            const struct sy_counters_session *session, bool first,
                            struct sy_buffer *buffer) {
    struct sy_json_writer json = {.buffer = *buffer, .compact_from = 1};
    sy_json_print(&json, "{schema: %s, time_s: %g, unix_s: %g", "symph-counters-watch-1",
                  view->elapsed_ns / 1e9, view->unix_s);
    if (first) {
        sy_json_member_string(&json, "machine", session->machine->name);
        sy_json_member_string(&json, "arch", session->listing ? session->listing->name : "");
        put_sources(&json, session);
        sy_json_print(&json, "counters: %u, slots: %u, filters: %u", view->counter_count,
                      view->slot_count, view->filter_count);
        put_gaps(&json, view);
    }
    sy_json_open_member(&json, "resources", '[');
    for (uint32_t i = 0; i < view->item_count; i++) {
        put_item(&json, &view->items[i]);
    }
    sy_json_close(&json, ']');
    put_readings(&json, view);
    sy_json_close(&json, '}');
    *buffer = json.buffer;
}

/* --- Prometheus --------------------------------------------------------------------------------
 */
void sy_prometheus_put_label(struct sy_buffer *buffer, const char *text) {
    size_t left = strlen(text);
    while (left) {
        size_t length = sy_shown_length(text, left);
        if (*text == '\\' || *text == '"') {
            sy_buffer_printf(buffer, "\\%c", *text);
        } else if (*text == '\n') {
            sy_buffer_append(buffer, "\\n", 2);
        } else {
            sy_buffer_append(buffer, length ? text : "?", length ? length : 1);
        }
        text += length ? length : 1;
        left -= length ? length : 1;
    }
}

static void put_value(struct sy_buffer *buffer, double value) {
    if (isfinite(value)) {
        sy_buffer_number(buffer, value);
    } else {
        sy_buffer_printf(buffer, "%s", isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    }
    sy_buffer_append(buffer, "\n", 1);
}

enum gauge { MEAN, LOW, HIGH, RATE, CAPACITY, AGE, MEASURED };

static double gauge_value(const struct sy_utilisation *item, enum gauge gauge) {
    const double values[] = {
        [MEAN] = item->mean,         [LOW] = item->low,           [HIGH] = item->high,
        [RATE] = item->rate,         [CAPACITY] = item->capacity, [AGE] = item->age_ns / 1e9,
        [MEASURED] = item->measured,
    };
    return values[gauge];
}

/* Of what is not measured, only that it is not. */
static bool is_exported(const struct sy_utilisation *item, enum gauge gauge) {
    bool can_miss = gauge == RATE || gauge == CAPACITY;
    return gauge == MEASURED ||
           (item->measured && !(can_miss && !isfinite(gauge_value(item, gauge))));
}

static void put_gauge(const struct sy_counters_view *view, enum gauge gauge, const char *name,
                      const char *help, struct sy_buffer *buffer) {
    bool empty = true;
    for (uint32_t i = 0; i < view->item_count; i++) {
        const struct sy_utilisation *item = &view->items[i];
        if (!is_exported(item, gauge)) {
            continue;
        }
        if (empty) {
            sy_buffer_printf(buffer, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
            empty = false;
        }
        sy_buffer_printf(buffer, "%s{resource=\"", name);
        sy_prometheus_put_label(buffer, item->name);
        if (gauge == RATE || gauge == CAPACITY) {
            sy_buffer_printf(buffer, "\",unit=\"");
            sy_prometheus_put_label(buffer, item->unit ? item->unit : "");
        }
        if (gauge == CAPACITY) {
            sy_buffer_printf(buffer, "\",kind=\"%s", item->nominal ? "nominal" : "limit");
        }
        sy_buffer_printf(buffer, "\"} ");
        put_value(buffer, gauge_value(item, gauge));
    }
}

static void put_labels(struct sy_buffer *buffer, const struct sy_counter *counter) {
    const char *const labels[][2] = {{"counter", counter->name},
                                     {"source", counter->source},
                                     {"scope", sy_scope_name(counter->scope)},
                                     {"unit", counter->unit}};
    for (size_t i = 0; i < SY_COUNT(labels); i++) {
        sy_buffer_printf(buffer, "%s%s=\"", i ? "," : "{", labels[i][0]);
        sy_prometheus_put_label(buffer, labels[i][1]);
        sy_buffer_append(buffer, "\"", 1);
    }
    sy_buffer_append(buffer, "} ", 2);
}

static void put_readings_text(const struct sy_counters_view *view, struct sy_buffer *buffer) {
    bool empty = true;
    for (uint32_t i = 0; i < view->counter_count; i++) {
        if (!isfinite(view->last[i])) {
            continue;
        }
        if (empty) {
            sy_buffer_printf(buffer, "# HELP symph_counter Last reading of each counter, in its "
                                     "unit; a share is from 0 to 1.\n"
                                     "# TYPE symph_counter gauge\n");
            empty = false;
        }
        sy_buffer_printf(buffer, "symph_counter");
        put_labels(buffer, &view->counters[i]);
        put_value(buffer, view->last[i]);
    }
}

void sy_counters_write_prometheus(const struct sy_counters_view *view, struct sy_buffer *buffer) {
    put_gauge(view, MEAN, "symph_utilisation_ratio",
              "Estimated share of the resource in use, mean.", buffer);
    put_gauge(view, LOW, "symph_utilisation_ratio_low", "Lower end of the 95 % interval.", buffer);
    put_gauge(view, HIGH, "symph_utilisation_ratio_high", "Upper end of the 95 % interval.",
              buffer);
    put_gauge(view, RATE, "symph_rate", "Traffic or work of the resource, in its unit.", buffer);
    put_gauge(view, CAPACITY, "symph_capacity",
              "Rate at which the resource is full, in its unit. Kind limit: no rate exceeds it. "
              "Kind nominal: as the machine is described; a measured rate may exceed it.",
              buffer);
    put_gauge(view, AGE, "symph_measurement_age_seconds",
              "Time since the resource was last measured.", buffer);
    put_gauge(view, MEASURED, "symph_measured", "1 if the resource is measured, else 0.", buffer);
    put_readings_text(view, buffer);
    sy_buffer_printf(buffer,
                     "# HELP symph_counters Counters that can be read.\n"
                     "# TYPE symph_counters gauge\nsymph_counters %u\n"
                     "# HELP symph_gaps Counters that exist but cannot be read here.\n"
                     "# TYPE symph_gaps gauge\nsymph_gaps %u\n",
                     view->counter_count, view->gap_count);
}
