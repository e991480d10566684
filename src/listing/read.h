/* SPDX-License-Identifier: Apache-2.0
 *
 * What reading and writing compact files share. Private to this room.
 *
 * In: the format of docs/listing-format.md. Out: its constants, and the short names of terms.
 * Invariant: reader and writer know the same table.
 */
#ifndef SY_LISTING_READ_H
#define SY_LISTING_READ_H

#include "listing/expr.h"

#define SY_LISTING_MAGIC    "symph-listing 1"
#define SY_LISTING_SUFFIX   ".listing"
#define SY_LISTING_MAP      "mapfile"
#define SY_LISTING_NAME_MAX 255
/* How many leading characters a name shares with the one before it, as one character. */
#define SY_LISTING_SHARED "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SY_LISTING_CORE   "cpu" /* the unit of what is counted in a core */

/* Terms that are common enough for one letter: "c2" is "cmask=2". */
struct sy_short_term {
    char letter;
    const char *term;
};
extern const struct sy_short_term sy_short_terms[];
extern const uint32_t sy_short_term_count;

/* perf's way with numbers: 0 to 9 as they are, from there on 0x... */
void sy_put_value(struct sy_buffer *buffer, uint64_t value);
/* "0x1f" or "31"; the whole of text. */
bool sy_parse_value(const char *text, size_t length, uint64_t *ret_value);
/* "64Bytes" is 64 and "Bytes"; without a number 1 and the text. */
double sy_parse_scale(const char *text, const char **ret_unit);

/* Gives every name that expressions use the event or the metric it stands for, and makes the events
 * that metrics derive from listed ones. unit_of: per name, the unit of the metrics that use it. */
SY_MUST_CHECK int sy_listing_resolve(struct sy_listing *listing, const char *const *unit_of,
                                     struct sy_error *error);
/* Index of unit's event (metric) of this name, in lower case; SY_NONE. unit NULL: the first. */
uint32_t sy_listing_find(const struct sy_map *map, const char *unit, const char *name,
                         size_t length);
/* Puts it under its name, or under "unit/name/" where the name is taken. 0, -EEXIST or -ENOMEM. */
SY_MUST_CHECK int sy_listing_put(struct sy_arena *arena, struct sy_map *map, const char *unit,
                                 const char *name, uint32_t index);
/* Fills code, umask and modifiers from encoding and privilege. */
void sy_event_digest(struct sy_event *event);

#endif
