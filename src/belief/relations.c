/* SPDX-License-Identifier: Apache-2.0
 *
 * relations: what the listing's encodings and names say about how events add up.
 *
 * In: a listing. Out: candidates: a mask that is the disjoint union of others counts their sum; a
 * mask within another counts no more; X_RD + X_WR is X. Some are wrong on real hardware (docs/
 * belief.md): a candidate is a start, its width is learned and it may be refuted.
 */
#include "belief/build.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIBLINGS_MAX 48     /* masks of one event that are searched for sums */
#define STEPS_MAX    20000u /* of one search; a sum that takes longer is not a natural one */
#define PARTS_MAX    16

void sy_found_finish(struct sy_found_list *list) {
    free(list->items);
    free(list->terms);
    *list = (struct sy_found_list){0};
}

int sy_found_add(struct sy_found_list *list, const struct sy_found *found,
                 const struct sy_term *terms, uint32_t count) {
    int code = sy_grow(&list->terms, &list->term_capacity, list->term_count + count, sizeof *terms);
    code = code ? code : sy_grow(&list->items, &list->capacity, list->count + 1, sizeof *found);
    if (code) {
        return code;
    }
    struct sy_found *item = &list->items[list->count++];
    *item = *found;
    item->first = list->term_count;
    item->count = count;
    memcpy(&list->terms[list->term_count], terms, count * sizeof *terms);
    list->term_count += count;
    return 0;
}

bool sy_event_is_of(const struct sy_event *event, const char *unit) {
    return unit ? strcmp(event->unit, unit) == 0 : !sy_unit_is_core(event->unit);
}

const char *sy_main_unit(const struct sy_listing *listing) {
    const char *best = NULL;
    uint32_t best_count = 0;
    for (uint32_t i = 0; i < listing->listed_count; i++) {
        const char *unit = listing->events[i].unit;
        if (!sy_unit_is_core(unit) || (best && strcmp(unit, best) == 0)) {
            continue;
        }
        uint32_t count = 0;
        for (uint32_t j = i; j < listing->listed_count; j++) {
            count += strcmp(listing->events[j].unit, unit) == 0;
        }
        if (count > best_count) {
            best = unit;
            best_count = count;
        }
    }
    return best;
}

/* --- unit masks ---------------------------------------------------------------------------------
 */
struct sibling {
    const struct sy_event *event;
    uint32_t index;
};

static int by_code(const void *a, const void *b) {
    const struct sy_event *x = ((const struct sibling *)a)->event;
    const struct sy_event *y = ((const struct sibling *)b)->event;
    int order = strcmp(x->unit, y->unit);
    order = order ? order : (x->code > y->code) - (x->code < y->code);
    order = order ? order : (x->modifiers > y->modifiers) - (x->modifiers < y->modifiers);
    order = order ? order : (x->umask > y->umask) - (x->umask < y->umask);
    return order ? order : (x > y) - (x < y);
}

static bool is_sibling(const struct sibling *a, const struct sibling *b) {
    return strcmp(a->event->unit, b->event->unit) == 0 && a->event->code == b->event->code &&
           a->event->modifiers == b->event->modifiers;
}

/* Cycles in which at least n things happened do not add up over masks. */
static bool may_add(const struct sy_event *event) {
    return event->umask != 0 && !event->deprecated && event->privilege[0] == '\0' &&
           !strstr(event->encoding, "cmask=") && !strstr(event->encoding, "edge") &&
           !strstr(event->encoding, "inv=");
}

struct cover {
    const struct sibling *siblings;
    uint32_t order[SIBLINGS_MAX], order_count; /* subsets of the whole, widest first */
    uint32_t parts[PARTS_MAX], part_count;
    uint32_t steps;
};

static bool find_cover(struct cover *cover, uint64_t rest, uint32_t from) {
    if (rest == 0) {
        return cover->part_count >= 2;
    }
    for (uint32_t i = from; i < cover->order_count && cover->part_count < PARTS_MAX; i++) {
        uint64_t mask = cover->siblings[cover->order[i]].event->umask;
        if ((mask & rest) != mask) {
            continue;
        }
        if (++cover->steps > STEPS_MAX) {
            return false;
        }
        cover->parts[cover->part_count++] = cover->order[i];
        if (find_cover(cover, rest & ~mask, i + 1)) {
            return true;
        }
        cover->part_count--;
    }
    return false;
}

static void order_subsets(struct cover *cover, uint32_t whole, uint32_t count) {
    uint64_t mask = cover->siblings[whole].event->umask;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t other = cover->siblings[i].event->umask;
        if (other == mask || (other & mask) != other) {
            continue;
        }
        uint32_t at = cover->order_count++;
        int bits = __builtin_popcountll(other);
        while (at > 0 &&
               __builtin_popcountll(cover->siblings[cover->order[at - 1]].event->umask) < bits) {
            cover->order[at] = cover->order[at - 1];
            at--;
        }
        cover->order[at] = i;
    }
}

static bool is_part(const struct cover *cover, uint32_t sibling) {
    for (uint32_t i = 0; i < cover->part_count; i++) {
        if (cover->parts[i] == sibling) {
            return true;
        }
    }
    return false;
}

/* One sum for the whole where there is one, and "at most" for the subsets outside of it. */
static int relate_whole(const struct sibling *siblings, uint32_t whole, uint32_t count,
                        struct sy_found_list *list) {
    struct cover cover = {.siblings = siblings};
    struct sy_found found = {.out = siblings[whole].index, .metric = SY_NONE};
    struct sy_term terms[PARTS_MAX];
    order_subsets(&cover, whole, count);
    if (!find_cover(&cover, siblings[whole].event->umask, 0)) {
        cover.part_count = 0;
    }
    for (uint32_t i = 0; i < cover.part_count; i++) {
        terms[i] = (struct sy_term){siblings[cover.parts[i]].index, 1};
    }
    found.kind = SY_FACTOR_EQUAL;
    found.origin = SY_FROM_UNIT_MASK;
    int code = cover.part_count ? sy_found_add(list, &found, terms, cover.part_count) : 0;
    found.kind = SY_FACTOR_AT_MOST;
    found.origin = SY_FROM_SUBSET;
    for (uint32_t i = 0; i < cover.order_count && !code; i++) {
        if (!is_part(&cover, cover.order[i])) {
            struct sy_term term = {siblings[cover.order[i]].index, 1};
            code = sy_found_add(list, &found, &term, 1);
        }
    }
    return code;
}

static bool has_role(const char *name) {
    uint32_t count;
    const struct sy_role_row *rows = sy_role_rows(&count);
    for (uint32_t i = 0; i < count; i++) {
        for (const char *word = rows[i].words; *word; word += strspn(word, " ")) {
            size_t length = strcspn(word, " ");
            if (sy_role_matches(word, length, name)) {
                return true;
            }
            word += length;
        }
    }
    return false;
}

/* Names for the same mask count as one: that of a role, else the first. */
static int relate_group(const struct sibling *group, uint32_t count, struct sy_found_list *list) {
    struct sibling kept[SIBLINGS_MAX];
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < count && kept_count < SIBLINGS_MAX; i++) {
        if (kept_count == 0 || kept[kept_count - 1].event->umask != group[i].event->umask) {
            kept[kept_count++] = group[i];
        } else if (!has_role(kept[kept_count - 1].event->name) && has_role(group[i].event->name)) {
            kept[kept_count - 1] = group[i];
        }
    }
    int code = 0;
    for (uint32_t i = 0; i < kept_count && !code; i++) {
        if (__builtin_popcountll(kept[i].event->umask) > 1) {
            code = relate_whole(kept, i, kept_count, list);
        }
    }
    return code;
}

int sy_find_unit_masks(const struct sy_listing *listing, const char *unit,
                       struct sy_found_list *list) {
    struct sibling *all = calloc(listing->listed_count + 1u, sizeof *all);
    if (!all) {
        return -ENOMEM;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < listing->listed_count; i++) {
        const struct sy_event *event = &listing->events[i];
        if (sy_event_is_of(event, unit) && may_add(event)) {
            all[count++] = (struct sibling){event, i};
        }
    }
    qsort(all, count, sizeof *all, by_code);
    int code = 0;
    for (uint32_t first = 0, end; first < count && !code; first = end) {
        end = first + 1;
        while (end < count && is_sibling(&all[first], &all[end])) {
            end++;
        }
        code = relate_group(&all[first], end - first, list);
    }
    free(all);
    return code;
}

/* --- names --------------------------------------------------------------------------------------
 */
struct rule {
    const char *one, *other; /* endings of the parts */
    const char *whole;       /* endings of the whole, each after a blank; " " alone: none */
};
static const struct rule rules[] = {
    {"_rd", "_wr", "  _all"},
    {".rd", ".wr", " .all"},
    {"_read", "_write", "  _all"},
    {"_hit", "_miss", " _ref _access _accesses _lookup _all"},
    {".hit", ".miss", " .references .reference .all .any .accesses .lookups"},
    {".hits", ".misses", " .references .reads .accesses"},
    {".loads", ".stores", " .all .any"},
    {"_loads", "_stores", " _all"},
    {".all_loads", ".all_stores", " .all .any"},
    {".local", ".remote", " .all .any"},
    {"_local", "_remote", "  _all"},
    {"_victim", "_clean", " "},
    {"_inner", "_outer", " "},
    {"_frontend", "_backend", " "},
    {"_mod", "_shr", " "},
};

static bool join(char *buffer, size_t size, const char *name, size_t stem, const char *ending,
                 size_t ending_length) {
    if (stem + ending_length + 1 > size) {
        return false;
    }
    memcpy(buffer, name, stem);
    memcpy(buffer + stem, ending, ending_length);
    buffer[stem + ending_length] = '\0';
    return true;
}

static uint32_t find_event(const struct sy_listing *listing, const char *unit, const char *name) {
    uint32_t index = sy_listing_event(listing, name);
    return index != SY_NONE && index < listing->listed_count &&
                   sy_event_is_of(&listing->events[index], unit) &&
                   !listing->events[index].deprecated
               ? index
               : SY_NONE;
}

static int apply_rule(const struct sy_listing *listing, const char *unit, uint32_t event,
                      const struct rule *rule, struct sy_found_list *list) {
    char buffer[192];
    const char *name = listing->events[event].name;
    size_t length = strlen(name), ending = strlen(rule->one);
    if (length <= ending || strcmp(name + length - ending, rule->one) != 0 ||
        !join(buffer, sizeof buffer, name, length - ending, rule->other, strlen(rule->other))) {
        return 0;
    }
    uint32_t other = find_event(listing, unit, buffer), whole = SY_NONE;
    for (const char *at = rule->whole; *at && other != SY_NONE && whole == SY_NONE;) {
        size_t word = strcspn(++at, " ");
        if (join(buffer, sizeof buffer, name, length - ending, at, word)) {
            whole = find_event(listing, unit, buffer);
        }
        at += word;
    }
    if (other == SY_NONE || whole == SY_NONE) {
        return 0;
    }
    struct sy_found found = {
        .kind = SY_FACTOR_EQUAL, .origin = SY_FROM_NAME, .out = whole, .metric = SY_NONE};
    struct sy_term terms[] = {{event, 1}, {other, 1}};
    return sy_found_add(list, &found, terms, 2);
}

int sy_find_names(const struct sy_listing *listing, const char *unit, struct sy_found_list *list) {
    int code = 0;
    for (uint32_t i = 0; i < listing->listed_count && !code; i++) {
        if (!sy_event_is_of(&listing->events[i], unit) || listing->events[i].deprecated) {
            continue;
        }
        for (uint32_t j = 0; j < SY_COUNT(rules) && !code; j++) {
            code = apply_rule(listing, unit, i, &rules[j], list);
        }
    }
    return code;
}
