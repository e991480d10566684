/* SPDX-License-Identifier: Apache-2.0
 *
 * Map from strings to indices: open addressing, keys borrowed, nothing is ever removed.
 */
#include "base/base.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sy_map_entry {
    const char *key; /* NULL: free */
    uint32_t length, value;
    uint64_t hash;
};

uint64_t sy_hash(const char *text, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    }
    return hash;
}

/* FNV's low bits are weak for keys that differ in their last character. */
static uint32_t slot_of(uint64_t hash, uint32_t capacity) {
    return (uint32_t)((hash ^ hash >> 29) * 0x9e3779b97f4a7c15u >> 32) & (capacity - 1);
}

static struct sy_map_entry *find(const struct sy_map *map, const char *key, size_t length,
                                 uint64_t hash) {
    for (uint32_t slot = slot_of(hash, map->capacity);; slot = (slot + 1) & (map->capacity - 1)) {
        struct sy_map_entry *entry = &map->entries[slot];
        if (!entry->key || (entry->hash == hash && entry->length == length &&
                            memcmp(entry->key, key, length) == 0)) {
            return entry;
        }
    }
}

static int enlarge(struct sy_map *map) {
    struct sy_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64,
                            .count = map->count};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries || larger.capacity < map->capacity) {
        free(larger.entries);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < map->capacity; i++) {
        const struct sy_map_entry *entry = &map->entries[i];
        if (entry->key) {
            *find(&larger, entry->key, entry->length, entry->hash) = *entry;
        }
    }
    free(map->entries);
    *map = larger;
    return 0;
}

int sy_map_put(struct sy_map *map, const char *key, size_t length, uint32_t value) {
    if (length > UINT32_MAX) {
        return -ENOMEM;
    }
    if (map->count >= map->capacity / 2 && enlarge(map) < 0) {
        return -ENOMEM;
    }
    uint64_t hash = sy_hash(key, length);
    struct sy_map_entry *entry = find(map, key, length, hash);
    if (entry->key) {
        return -EEXIST;
    }
    *entry =
        (struct sy_map_entry){.key = key, .length = (uint32_t)length, .value = value, .hash = hash};
    map->count++;
    return 0;
}

bool sy_map_get(const struct sy_map *map, const char *key, size_t length, uint32_t *ret_value) {
    if (!map->capacity) {
        return false;
    }
    const struct sy_map_entry *entry = find(map, key, length, sy_hash(key, length));
    if (!entry->key) {
        return false;
    }
    *ret_value = entry->value;
    return true;
}

void sy_map_finish(struct sy_map *map) {
    free(map->entries);
    *map = (struct sy_map){0};
}
