/* SPDX-License-Identifier: Apache-2.0
 *
 * A listing in memory: found by name, destroyed.
 */
#include "listing/listing.h"
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

static uint32_t find(const struct sy_map *map, const char *name) {
    uint32_t index;
    return sy_map_get(map, name, strlen(name), &index) ? index : SY_NONE;
}

uint32_t sy_listing_event(const struct sy_listing *listing, const char *name) {
    return find(&listing->event_map, name);
}

uint32_t sy_listing_metric(const struct sy_listing *listing, const char *name) {
    return find(&listing->metric_map, name);
}
