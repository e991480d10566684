/* SPDX-License-Identifier: Apache-2.0
 *
 * Map from strings to indices: open addressing, keys borrowed, nothing is ever removed. Map from
 * numbers to structures: chains of links, which may be removed.
 *
 * Keys come from files, which may be hostile: where a key lies depends on random bits that the
 * kernel gives to each process, so that nobody can make names that collide. Nothing that a caller
 * sees depends on them: a map has no order.
 */
#include "base/base.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

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

/* --- SipHash-1-3 (Aumasson and Bernstein 2012; one and three rounds as in Python and Rust) ------
 */
static inline uint64_t rotate(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static inline void round_once(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t sy_siphash(const uint64_t key[2], const char *text, size_t length) {
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
    for (size_t at = 0;; at += 8) {
        size_t left = length - at;
        uint64_t word = left < 8 ? (uint64_t)length << 56 : 0;
        for (size_t i = 0; i < (left < 8 ? left : 8); i++) {
            word |= (uint64_t)(unsigned char)text[at + i] << 8 * i;
        }
        v[3] ^= word;
        round_once(v);
        v[0] ^= word;
        if (left < 8) {
            break;
        }
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) {
        round_once(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t hash_of(const struct sy_map *map, const char *text, size_t length) {
    uint64_t key[2] = {0};
    if (map->random) {
        memcpy(key, map->random, sizeof key);
    }
    return sy_siphash(key, text, length);
}

static struct sy_map_entry *find(const struct sy_map *map, const char *key, size_t length,
                                 uint64_t hash) {
    for (uint64_t slot = hash;; slot++) {
        struct sy_map_entry *entry = &map->entries[slot & (map->capacity - 1)];
        if (!entry->key || (entry->hash == hash && entry->length == length &&
                            memcmp(entry->key, key, length) == 0)) {
            return entry;
        }
    }
}

static int enlarge(struct sy_map *map) {
    struct sy_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64,
                            .count = map->count,
                            .random = map->random};
    if (!larger.random) { /* looked for once: it is among some twenty values */
        larger.random = (const void *)getauxval(AT_RANDOM); /* 16 bytes, constant */
    }
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
    uint64_t hash = hash_of(map, key, length);
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
    const struct sy_map_entry *entry = find(map, key, length, hash_of(map, key, length));
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

/* --- links --------------------------------------------------------------------------------------
 */
/* Keys are addresses and hashes of this process: nobody chooses them. */
static struct sy_chained **bucket(const struct sy_chains *links, uint64_t key) {
    return &links->buckets[(key * 0x9e3779b97f4a7c15u >> 32) & (links->width - 1)];
}

static void add(struct sy_chains *links, struct sy_chained *link) {
    struct sy_chained **at = bucket(links, link->key);
    link->next = *at;
    *at = link;
    links->count++;
}

static int widen(struct sy_chains *links) {
    struct sy_chains wide = {.width = links->width ? 2 * links->width : 256};
    wide.buckets = calloc(wide.width, sizeof(struct sy_chained *));
    if (!wide.buckets) {
        return links->width ? 0 : -ENOMEM; /* longer chains will do */
    }
    for (uint32_t b = 0; b < links->width; b++) {
        for (struct sy_chained *link = links->buckets[b], *next; link; link = next) {
            next = link->next;
            add(&wide, link);
        }
    }
    free(links->buckets);
    *links = wide;
    return 0;
}

int sy_chains_add(struct sy_chains *links, struct sy_chained *link, uint64_t key) {
    if (links->count >= links->width && widen(links) < 0) {
        return -ENOMEM;
    }
    link->key = key;
    add(links, link);
    return 0;
}

void *sy_chains_find(const struct sy_chains *links, uint64_t key) {
    struct sy_chained *link = links->width ? *bucket(links, key) : NULL;
    while (link && link->key != key) {
        link = link->next;
    }
    return link;
}

void sy_chains_remove(struct sy_chains *links, struct sy_chained *link) {
    struct sy_chained **at = bucket(links, link->key);
    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
    links->count--;
}

void sy_chains_finish(struct sy_chains *links) {
    free(links->buckets);
    *links = (struct sy_chains){0};
}
