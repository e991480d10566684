/* SPDX-License-Identifier: Apache-2.0
 *
 * A listing in memory: found by name, checked, destroyed.
 *
 * In: names. Out: indices. Invariant: names are found in any case; where two units list the same
 * name, the first one has the plain name and the others are "unit/name/".
 */
#include "listing/listing.h"
#include "listing/read.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sy_listing_destroy(struct sy_listing *listing) {
    if (listing) {
        sy_map_finish(&listing->event_map);
        sy_map_finish(&listing->metric_map);
        sy_arena_destroy(listing->arena);
        free(listing);
    }
}

uint32_t sy_listing_find(const struct sy_map *map, const char *unit, const char *name,
                         size_t length) {
    char key[2 * SY_LISTING_NAME_MAX + 4];
    uint32_t index;
    if (length > SY_LISTING_NAME_MAX || (unit && strlen(unit) > SY_LISTING_NAME_MAX)) {
        return SY_NONE;
    }
    if (unit) {
        size_t n = strlen(unit);
        memcpy(key, unit, n);
        key[n] = '/';
        memcpy(key + n + 1, name, length);
        key[n + 1 + length] = '/';
        if (sy_map_get(map, key, n + length + 2, &index)) {
            return index;
        }
    }
    return sy_map_get(map, name, length, &index) ? index : SY_NONE;
}

int sy_listing_put(struct sy_arena *arena, struct sy_map *map, const char *unit, const char *name,
                   uint32_t index) {
    int code = sy_map_put(map, name, strlen(name), index);
    if (code == -EEXIST) {
        struct sy_buffer key = {0};
        sy_buffer_printf(&key, "%s/%s/", unit, name);
        char *kept = key.failed ? NULL : sy_arena_strndup(arena, key.text, key.length);
        code = kept ? sy_map_put(map, kept, key.length, index) : -ENOMEM;
        sy_buffer_finish(&key);
    }
    return code;
}

/* The unit in "unit/name/", else NULL; *ret_name and *ret_length become the name alone. */
static const char *split(char *text, const char **ret_name, size_t *ret_length) {
    char *slash = strchr(text, '/');
    size_t length = strlen(text);
    if (!slash || slash == text || text[length - 1] != '/' || slash == text + length - 1) {
        *ret_name = text;
        *ret_length = length;
        return NULL;
    }
    *slash = '\0';
    *ret_name = slash + 1;
    *ret_length = (size_t)(text + length - 1 - (slash + 1));
    return text;
}

static uint32_t find_any_case(const struct sy_map *map, const char *name, const char **ret_unit,
                              char *text, size_t size) {
    size_t length = strlen(name);
    if (length >= size) {
        return SY_NONE;
    }
    for (size_t i = 0; i <= length; i++) {
        text[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    }
    uint32_t whole; /* a derived event's name has slashes of its own */
    *ret_unit = NULL;
    if (sy_map_get(map, text, length, &whole)) {
        return whole;
    }
    const char *plain;
    *ret_unit = split(text, &plain, &length);
    return sy_listing_find(map, *ret_unit, plain, length);
}

uint32_t sy_listing_event(const struct sy_listing *listing, const char *name) {
    char text[2 * SY_LISTING_NAME_MAX + 4];
    const char *unit;
    uint32_t index = find_any_case(&listing->event_map, name, &unit, text, sizeof text);
    bool fits = index != SY_NONE && (!unit || strcmp(listing->events[index].unit, unit) == 0);
    return fits ? index : SY_NONE;
}

uint32_t sy_listing_metric(const struct sy_listing *listing, const char *name) {
    char text[2 * SY_LISTING_NAME_MAX + 4];
    const char *unit;
    uint32_t index = find_any_case(&listing->metric_map, name, &unit, text, sizeof text);
    bool fits = index != SY_NONE && (!unit || strcmp(listing->metrics[index].unit, unit) == 0);
    return fits ? index : SY_NONE;
}

/* --- metrics that use themselves -------------------------------------------------------------- */
struct step {
    uint32_t metric, node; /* node: the next one to look at */
};

static int fail_loop(const struct sy_listing *listing, const struct step *steps, uint32_t depth,
                     uint32_t metric, struct sy_error *error) {
    char way[200] = "";
    size_t used = 0;
    uint32_t first = 0;
    while (steps[first].metric != metric) {
        first++;
    }
    for (uint32_t i = first; i < depth && used < sizeof way; i++) {
        used += (size_t)snprintf(way + used, sizeof way - used, "%s -> ",
                                 listing->metrics[steps[i].metric].name);
    }
    return sy_fail(error, -ELOOP, "%.60s: a metric uses itself: %s%.60s", listing->name, way,
                   listing->metrics[metric].name);
}

/* The metric that the step's expression uses next, or SY_NONE; moves on. */
static uint32_t next_used(const struct sy_listing *listing, struct step *step) {
    const struct sy_expr *expr = &listing->metrics[step->metric].expr;
    while (step->node < expr->count) {
        const struct sy_expr_node *node = &expr->nodes[step->node++];
        uint32_t used = node->op == SY_EXPR_NAME ? listing->name_metric[node->a] : SY_NONE;
        if (used != SY_NONE) {
            return used;
        }
    }
    return SY_NONE;
}

static int follow(const struct sy_listing *listing, uint32_t metric, struct step *steps,
                  uint8_t *states, struct sy_error *error) {
    enum { NEW, OPEN, DONE };
    uint32_t depth = 1;
    if (states[metric] != NEW) {
        return 0;
    }
    steps[0] = (struct step){.metric = metric};
    states[metric] = OPEN;
    while (depth) {
        uint32_t used = next_used(listing, &steps[depth - 1]);
        if (used == SY_NONE) {
            states[steps[--depth].metric] = DONE;
        } else if (states[used] == OPEN) {
            return fail_loop(listing, steps, depth, used, error);
        } else if (states[used] == NEW) {
            states[used] = OPEN;
            steps[depth++] = (struct step){.metric = used};
        }
    }
    return 0;
}

int sy_listing_check(const struct sy_listing *listing, struct sy_error *error) {
    struct step *steps = calloc((size_t)listing->metric_count + 1, sizeof *steps);
    uint8_t *states = calloc((size_t)listing->metric_count + 1, sizeof *states);
    int code = steps && states ? 0 : sy_out_of_memory(error);
    for (uint32_t i = 0; i < listing->metric_count && !code; i++) {
        code = follow(listing, i, steps, states, error);
    }
    free(steps);
    free(states);
    return code;
}
