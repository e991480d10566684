/* SPDX-License-Identifier: Apache-2.0
 *
 * What the names in expressions stand for.
 *
 * In: "INST_RETIRED.ANY", "cpu/uops_issued.any,cmask=1/", "cha/unc_cha_tor_inserts.ia/",
 * "cycles:k". Out: per name a metric, an event of the listing, or an event made of one. What is in
 * no listing (duration_time, perf's own "cycles") stays a bare name. Invariant: listed events keep
 * their indices; a made one carries the name that the metric uses, in lower case.
 */
#include "listing/read.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TERMS_MAX 24

struct resolver {
    struct sy_listing *listing;
    struct sy_event *events; /* grown, then kept */
    uint32_t count, capacity;
    uint32_t *name_metric, *name_event;
    const char **names;
};

struct term {
    const char *text;
    size_t key, length;
};

/* The parts of a name; text is cut up. */
struct parts {
    char text[2 * SY_LISTING_NAME_MAX];
    const char *pmu; /* NULL: not said */
    const char *event;
    const char *privilege;
    struct term terms[TERMS_MAX];
    uint32_t term_count;
};

static void add_term(struct parts *parts, const char *text, size_t length) {
    const char *equal = memchr(text, '=', length);
    struct term term = {text, equal ? (size_t)(equal - text) : length, length};
    for (uint32_t i = 0; i < parts->term_count; i++) {
        const struct term *old = &parts->terms[i];
        if (old->key == term.key && memcmp(old->text, text, term.key) == 0) {
            parts->terms[i] = term; /* said again: the last word counts */
            return;
        }
    }
    if (parts->term_count < TERMS_MAX) {
        parts->terms[parts->term_count++] = term;
    }
}

static void split_terms(struct parts *parts, char *at) {
    while (*at) {
        size_t length = strcspn(at, ",");
        bool last = !at[length];
        if (memchr(at, '=', length) || parts->event) {
            add_term(parts, at, length);
        } else {
            parts->event = at;
        }
        at[length] = '\0';
        at += length + !last;
    }
}

/* False: the name is too long to be an event's. */
static bool split_name(const char *name, struct parts *parts) {
    size_t length = strlen(name);
    if (length >= sizeof parts->text) {
        return false;
    }
    for (size_t i = 0; i <= length; i++) {
        char c = name[i];
        parts->text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    parts->privilege = "";
    char *slash = strchr(parts->text, '/'), *last = strrchr(parts->text, '/');
    if (slash && last != slash) {
        parts->pmu = parts->text;
        parts->privilege = last + 1 + strspn(last + 1, ":");
        *slash = *last = '\0';
        split_terms(parts, slash + 1);
        return true;
    }
    char *colon = strchr(parts->text, ':');
    if (colon) {
        *colon = '\0';
        parts->privilege = colon + 1;
    }
    parts->event = parts->text;
    return true;
}

/* perf lets "uncore_" be left out, and takes "uncore_cha_0" for one of "uncore_cha". */
static bool is_pmu(const char *unit, const char *pmu) {
    size_t length = strlen(unit);
    if (strncmp(unit, "uncore_", 7) == 0 && strncmp(pmu, "uncore_", 7) != 0) {
        unit += 7;
        length -= 7;
    }
    return strncmp(unit, pmu, length) == 0 &&
           (pmu[length] == '\0' || (pmu[length] == '_' && strspn(pmu + length + 1, "0123456789") ==
                                                              strlen(pmu + length + 1)));
}

static const char *unit_of_pmu(const struct sy_listing *listing, const char *pmu) {
    for (uint32_t i = 0; i < listing->unit_count; i++) {
        if (is_pmu(listing->units[i].name, pmu)) {
            return listing->units[i].name;
        }
    }
    return NULL;
}

static uint32_t find_event(const struct resolver *r, const char *unit, const char *pmu,
                           const char *name) {
    const struct sy_listing *listing = r->listing;
    const char *wanted = pmu ? unit_of_pmu(listing, pmu) : NULL;
    uint32_t index =
        sy_listing_find(&listing->event_map, wanted ? wanted : unit, name, strlen(name));
    if (index == SY_NONE || index >= listing->listed_count) {
        return SY_NONE;
    }
    return wanted && strcmp(listing->events[index].unit, wanted) != 0 ? SY_NONE : index;
}

/* The listed event's terms, with those of the name on top. */
static char *merge(const struct resolver *r, const struct sy_event *base, struct parts *parts) {
    struct parts *all = calloc(1, sizeof *all);
    if (!all) {
        return NULL;
    }
    for (const char *at = base ? base->encoding : ""; *at;) {
        size_t length = strcspn(at, ",");
        add_term(all, at, length);
        at += length + (at[length] != '\0');
    }
    for (uint32_t i = 0; i < parts->term_count; i++) {
        add_term(all, parts->terms[i].text, parts->terms[i].length);
    }
    struct sy_buffer buffer = {0};
    for (uint32_t i = 0; i < all->term_count; i++) {
        sy_buffer_printf(&buffer, "%s%.*s", i ? "," : "", (int)all->terms[i].length,
                         all->terms[i].text);
    }
    char *encoding =
        buffer.failed
            ? NULL
            : sy_arena_strndup(r->listing->arena, buffer.text ? buffer.text : "", buffer.length);
    sy_buffer_finish(&buffer);
    free(all);
    return encoding;
}

static bool has_code(const struct parts *parts) {
    for (uint32_t i = 0; i < parts->term_count; i++) {
        const struct term *term = &parts->terms[i];
        if ((term->key == 5 && memcmp(term->text, "event", 5) == 0) ||
            (term->key == 6 && memcmp(term->text, "config", 6) == 0)) {
            return true;
        }
    }
    return false;
}

static char *lower(struct sy_arena *arena, const char *text) {
    char *copy = sy_arena_strdup(arena, text);
    for (char *c = copy; c && *c; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    return copy;
}

/* What a made event has of the listed one, or of its PMU alone. */
static struct sy_event start_event(const struct resolver *r, const struct sy_event *base,
                                   const struct parts *parts) {
    struct sy_event event = {.scale = 1, .scale_unit = ""};
    if (base) {
        event = *base;
        event.fixed = event.fixed && !parts->term_count;
        return event;
    }
    const char *unit = unit_of_pmu(r->listing, parts->pmu);
    event.unit = unit ? unit : sy_arena_strdup(r->listing->arena, parts->pmu);
    event.per_package = unit && strncmp(unit, "uncore_", 7) == 0;
    return event;
}

/* Makes the event that a name describes; base NULL: from its terms alone. */
static int make_event(struct resolver *r, const struct sy_event *base, struct parts *parts,
                      const char *name, uint32_t *ret_event) {
    struct sy_arena *arena = r->listing->arena;
    struct sy_event event = start_event(r, base, parts);
    event.name = lower(arena, name);
    event.encoding = merge(r, base, parts);
    event.privilege = sy_arena_strdup(arena, parts->privilege);
    if (!event.name || !event.unit || !event.encoding || !event.privilege ||
        sy_grow(&r->events, &r->capacity, r->count + 1, sizeof event)) {
        return -ENOMEM;
    }
    sy_event_digest(&event);
    struct sy_map *map = &r->listing->event_map;
    uint32_t same = sy_listing_find(map, event.unit, event.name, strlen(event.name));
    if (same != SY_NONE && strcmp(r->events[same].unit, event.unit) == 0) {
        *ret_event = same; /* another section's metrics use it too */
        return 0;
    }
    int code = sy_listing_put(arena, map, event.unit, event.name, r->count);
    if (!code) {
        *ret_event = r->count;
        r->events[r->count++] = event;
    }
    return code;
}

/* The name under which the event is found again, whatever else is called so. */
static const char *found_as(const struct resolver *r, uint32_t event) {
    const struct sy_event *found = &r->events[event];
    uint32_t first;
    if (sy_map_get(&r->listing->event_map, found->name, strlen(found->name), &first) &&
        first == event) {
        return found->name;
    }
    struct sy_buffer buffer = {0};
    sy_buffer_printf(&buffer, "%s/%s/", found->unit, found->name);
    const char *name = buffer.failed ? NULL : sy_arena_strdup(r->listing->arena, buffer.text);
    sy_buffer_finish(&buffer);
    return name;
}

/* The listed event that a name begins with, or SY_NONE. */
static uint32_t find_base(const struct resolver *r, const char *unit, const struct parts *parts) {
    if (parts->event) {
        return find_event(r, unit, parts->pmu, parts->event);
    }
    /* event/term=1/ instead of pmu/event,term=1/ */
    return parts->pmu ? find_event(r, unit, NULL, parts->pmu) : SY_NONE;
}

static int resolve_event(struct resolver *r, const char *unit, uint32_t name) {
    struct parts parts = {0};
    if (!split_name(r->names[name], &parts)) {
        return 0;
    }
    uint32_t event = find_base(r, unit, &parts);
    int code = 0;
    if (event != SY_NONE && (parts.term_count || parts.privilege[0])) {
        const struct sy_event base = r->events[event]; /* the array may move */
        code = make_event(r, &base, &parts, r->names[name], &event);
    } else if (event == SY_NONE && !parts.event && parts.pmu && has_code(&parts)) {
        code = make_event(r, NULL, &parts, r->names[name], &event);
    }
    if (!code && event != SY_NONE) {
        r->name_event[name] = event;
        r->names[name] = found_as(r, event);
        code = r->names[name] ? 0 : -ENOMEM;
    }
    return code;
}

static uint32_t find_metric(const struct sy_listing *listing, const char *unit, const char *name) {
    char text[SY_LISTING_NAME_MAX + 1];
    size_t length = strlen(name);
    if (length > SY_LISTING_NAME_MAX) {
        return SY_NONE;
    }
    for (size_t i = 0; i <= length; i++) {
        text[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    }
    return sy_listing_find(&listing->metric_map, unit, text, length);
}

static int resolve_all(struct resolver *r, const char *const *unit_of) {
    const struct sy_listing *listing = r->listing;
    r->capacity = r->count = listing->listed_count;
    r->events = calloc((size_t)r->count + 1, sizeof *r->events);
    if (!r->events || !r->name_metric || !r->name_event) {
        return -ENOMEM;
    }
    memcpy(r->events, listing->events, r->count * sizeof *r->events);
    int code = 0;
    for (uint32_t i = 0; i < listing->name_count && !code; i++) {
        r->name_event[i] = SY_NONE;
        r->name_metric[i] = find_metric(listing, unit_of[i], r->names[i]);
        code = r->name_metric[i] == SY_NONE ? resolve_event(r, unit_of[i], i) : 0;
    }
    return code;
}

int sy_listing_resolve(struct sy_listing *listing, const char *const *unit_of,
                       struct sy_error *error) {
    struct resolver r = {.listing = listing};
    size_t count = (size_t)listing->name_count + 1;
    r.name_metric = sy_arena_alloc(listing->arena, count, sizeof *r.name_metric);
    r.name_event = sy_arena_alloc(listing->arena, count, sizeof *r.name_event);
    r.names = (const char **)listing->names; /* allocated by the reader, not yet given away */
    int code = resolve_all(&r, unit_of);
    struct sy_event *events = NULL;
    if (!code) {
        events = sy_arena_alloc(listing->arena, (size_t)r.count + 1, sizeof *events);
        code = events ? 0 : -ENOMEM;
    }
    if (!code) {
        memcpy(events, r.events, r.count * sizeof *events);
        listing->events = events;
        listing->event_count = r.count;
        listing->name_metric = r.name_metric;
        listing->name_event = r.name_event;
    }
    free(r.events);
    return code ? sy_fail(error, code, "out of memory") : 0;
}
