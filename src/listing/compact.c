/* SPDX-License-Identifier: Apache-2.0
 *
 * From records to the text of a compact file: docs/listing-format.md says how it looks.
 *
 * In: the compiler's records. Out: text that sy_listing_read understands. Invariant: the same
 * records give the same bytes, in whatever order the files came.
 */
#include "listing/compile.h"
#include <stdlib.h>
#include <string.h>

#define MASKS_MAX 64 /* different sets of counters in one unit; the rest is written out */

/* The cores' unit first, then by name. */
static int by_unit(const char *a, const char *b) {
    int core_a = strcmp(a, SY_LISTING_CORE) == 0, core_b = strcmp(b, SY_LISTING_CORE) == 0;
    return core_a != core_b ? core_b - core_a : strcmp(a, b);
}

static int by_event(const void *a, const void *b) {
    const struct sy_raw_event *x = a, *y = b;
    int order = by_unit(x->unit, y->unit);
    return order ? order : strcmp(x->name, y->name);
}

static int by_metric(const void *a, const void *b) {
    const struct sy_raw_metric *x = a, *y = b;
    int order = by_unit(x->unit, y->unit);
    return order ? order : strcmp(x->name, y->name);
}

/* The part of the name that the last one does not have, behind the length of what it has. */
static void put_name(struct sy_buffer *text, const char *last, const char *name) {
    size_t shared = 0;
    while (last[shared] && last[shared] == name[shared] && shared < sizeof SY_LISTING_SHARED - 2) {
        shared++;
    }
    sy_buffer_append(text, &SY_LISTING_SHARED[shared], 1);
    sy_buffer_append(text, name + shared, strlen(name + shared));
}

static void put_counters(struct sy_buffer *text, uint32_t mask) {
    const char *comma = "";
    for (uint32_t first = 0; first < 32; first++) {
        if (mask >> first & 1) {
            uint32_t last = first;
            while (last < 31 && mask >> (last + 1) & 1) {
                last++;
            }
            sy_buffer_printf(text, "%s%u", comma, first);
            if (last > first) {
                sy_buffer_printf(text, "-%u", last);
            }
            comma = ",";
            first = last;
        }
    }
}

static void put_terms(struct sy_buffer *text, const char *terms) {
    while (*terms) {
        size_t length = strcspn(terms, ","), key = strcspn(terms, "=");
        uint64_t value;
        bool number = key < length && sy_parse_value(terms + key + 1, length - key - 1, &value);
        char letter = '\0';
        for (uint32_t i = 0; i < sy_short_term_count && number; i++) {
            if (strlen(sy_short_terms[i].term) == key &&
                memcmp(sy_short_terms[i].term, terms, key) == 0) {
                letter = sy_short_terms[i].letter;
            }
        }
        if (letter) {
            sy_buffer_printf(text, ",%c%llx", letter, (unsigned long long)value);
        } else {
            sy_buffer_printf(text, ",%.*s", (int)length, terms);
        }
        terms += length + (terms[length] != '\0');
    }
}

/* --- events ----------------------------------------------------------------------------------- */
struct section {
    const char *unit;
    uint32_t counter_mask; /* of most of its events */
    bool per_package;
    const struct sy_raw_event *last;
};

/* A blank before each word but the first, which follows a tab. */
static void put_word(struct sy_buffer *text, const char **gap, const char *word) {
    sy_buffer_printf(text, "%s%s", *gap, word);
    *gap = " ";
}

static void put_extras(struct sy_buffer *text, const struct section *s,
                       const struct sy_raw_event *event) {
    const char *gap = "\t";
    if (event->deprecated) {
        put_word(text, &gap, "D");
    }
    if (event->fixed) {
        put_word(text, &gap, "F");
    }
    if (event->per_package != s->per_package) {
        put_word(text, &gap, "P");
    }
    if (event->counter_mask != s->counter_mask && !event->fixed) {
        put_word(text, &gap, "@");
        put_counters(text, event->counter_mask);
    }
    if (event->scale && event->scale[0]) {
        put_word(text, &gap, "x");
        sy_buffer_append(text, event->scale, strlen(event->scale));
    }
}

static void put_event(struct sy_buffer *text, struct section *s, const struct sy_raw_event *event) {
    put_name(text, s->last ? s->last->name : "", event->name);
    sy_buffer_printf(text, "\t");
    bool same = s->last ? event->has_code == s->last->has_code && event->code == s->last->code
                        : event->has_code && event->code == 0;
    if (!same && event->has_code) {
        sy_buffer_printf(text, "%llx", (unsigned long long)event->code);
    } else if (!same) {
        sy_buffer_printf(text, "-");
    }
    if (event->umask) {
        sy_buffer_printf(text, ".%llx", (unsigned long long)event->umask);
    }
    put_terms(text, event->terms);
    put_extras(text, s, event);
    sy_buffer_printf(text, "\n");
    s->last = event;
}

static struct section survey(const struct sy_raw_event *events, uint32_t count) {
    uint32_t masks[MASKS_MAX], votes[MASKS_MAX] = {0}, kinds = 0, packages = 0;
    struct section s = {.unit = events[0].unit};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = 0;
        while (kind < kinds && masks[kind] != events[i].counter_mask) {
            kind++;
        }
        if (kind < MASKS_MAX && !events[i].fixed) {
            masks[kind] = events[i].counter_mask;
            kinds += kind == kinds;
            votes[kind]++;
        }
        packages += events[i].per_package;
    }
    for (uint32_t kind = 0, best = 0; kind < kinds; kind++) {
        if (votes[kind] > best) {
            best = votes[kind];
            s.counter_mask = masks[kind];
        }
    }
    s.per_package = packages > count / 2;
    return s;
}

static void put_section(const struct sy_compilation *c, struct sy_buffer *text,
                        const struct section *s) {
    sy_buffer_printf(text, "[events %s", s->unit);
    for (uint32_t i = 0; i < c->unit_count; i++) {
        const struct sy_unit *unit = &c->units[i];
        if (strcmp(unit->name, s->unit) == 0) {
            if (unit->counters) {
                sy_buffer_printf(text, " counters=%u", unit->counters);
            }
            if (unit->fixed_counters) {
                sy_buffer_printf(text, " fixed=%u", unit->fixed_counters);
            }
            break;
        }
    }
    if (s->counter_mask) {
        sy_buffer_printf(text, " on=");
        put_counters(text, s->counter_mask);
    }
    sy_buffer_printf(text, "%s]\n", s->per_package ? " package" : "");
}

static void put_events(const struct sy_compilation *c, struct sy_buffer *text) {
    for (uint32_t first = 0, end; first < c->event_count; first = end) {
        for (end = first;
             end < c->event_count && strcmp(c->events[end].unit, c->events[first].unit) == 0;) {
            end++;
        }
        struct section s = survey(c->events + first, end - first);
        put_section(c, text, &s);
        for (uint32_t i = first; i < end; i++) {
            put_event(text, &s, &c->events[i]);
        }
    }
}

/* --- metrics ---------------------------------------------------------------------------------- */
static void put_metrics(const struct sy_compilation *c, struct sy_buffer *text) {
    const struct sy_raw_metric *last = NULL;
    for (uint32_t i = 0; i < c->metric_count; i++) {
        const struct sy_raw_metric *metric = &c->metrics[i];
        if (!last || strcmp(last->unit, metric->unit) != 0) {
            sy_buffer_printf(text, "[metrics %s]\n", metric->unit);
            last = NULL;
        }
        const char *group = metric->group ? metric->group : "";
        const char *last_group = last && last->group ? last->group : "";
        put_name(text, last ? last->name : "", metric->name);
        sy_buffer_printf(text, "\t%s\t%s\t%s\n", metric->scale ? metric->scale : "",
                         group[0] && strcmp(group, last_group) == 0 ? "~" : group, metric->expr);
        last = metric;
    }
}

int sy_compilation_write(struct sy_compilation *c, const char *name, const char *source,
                         struct sy_buffer *ret_text) {
    struct sy_buffer text = {0};
    if (c->event_count) {
        qsort(c->events, c->event_count, sizeof *c->events, by_event);
    }
    if (c->metric_count) {
        qsort(c->metrics, c->metric_count, sizeof *c->metrics, by_metric);
    }
    sy_buffer_printf(&text, "%s\nname %s\nsource %s\nlicence GPL-2.0-only\n", SY_LISTING_MAGIC,
                     name, source);
    put_events(c, &text);
    put_metrics(c, &text);
    if (text.failed) {
        sy_buffer_finish(&text);
        return sy_out_of_memory(c->error);
    }
    *ret_text = text;
    return 0;
}
