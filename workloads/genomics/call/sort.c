/* SPDX-License-Identifier: Apache-2.0
 *
 * sort on a processor: a radix sort that skips digits in which all keys agree, and a table of
 * hashes for duplicates.
 */
#include "genomics/call/sort.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct key {
    uint64_t value;
    uint32_t record;
};

/* The best of those with one key. */
struct best {
    uint64_t key; /* 0: free */
    uint64_t merit;
};

uint64_t gn_order_bytes(uint32_t record_count) {
    return gn_order_head(record_count).bytes;
}

static const struct gn_record *records_of(const struct gn_bin *bin) {
    return gn_at(bin, bin->records);
}

/* Stable, by value; what is sorted ends up in *keys. Bits that are the same in all keys are told by
 * differing. */
static void sort_keys(struct key **keys, struct key **other, uint32_t count, uint64_t differing) {
    for (uint32_t shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differing >> shift & (DIGITS - 1)) == 0) {
            continue;
        }
        uint32_t first[DIGITS + 1] = {0};
        for (uint32_t at = 0; at < count; at++) {
            first[((*keys)[at].value >> shift & (DIGITS - 1)) + 1]++;
        }
        for (uint32_t digit = 0; digit < DIGITS; digit++) {
            first[digit + 1] += first[digit];
        }
        for (uint32_t at = 0; at < count; at++) {
            (*other)[first[(*keys)[at].value >> shift & (DIGITS - 1)]++] = (*keys)[at];
        }
        struct key *swap = *keys;
        *keys = *other;
        *other = swap;
    }
}

static void sort_records(const struct gn_bin *bin, struct key *keys, struct key *other,
                         uint32_t *order) {
    const struct gn_record *records = records_of(bin);
    uint32_t count = bin->record_count;
    uint64_t serials = 0, positions = 0;
    for (uint32_t at = 0; at < count; at++) {
        keys[at] = (struct key){records[at].serial, at};
        serials |= records[at].serial ^ records[0].serial;
        positions |= records[at].position ^ records[0].position;
    }
    sort_keys(&keys, &other, count, serials);
    for (uint32_t at = 0; at < count; at++) {
        keys[at].value = records[keys[at].record].position;
    }
    sort_keys(&keys, &other, count, positions);
    for (uint32_t at = 0; at < count; at++) {
        order[at] = keys[at].record;
    }
}

/* --- duplicates ------------------------------------------------------------------------------ */

/* Tables of 2 capacity: firsts of their pairs, then seconds. */
static struct best *find(struct best *table, uint32_t capacity, const struct gn_record *record) {
    struct best *half = table + (record->flags & 0x80 ? capacity : 0);
    uint32_t at = gn_sort_slot(record->pair_key, capacity);
    while (half[at].key != 0 && half[at].key != record->pair_key) {
        at = (at + 1) & (capacity - 1);
    }
    return &half[at];
}

static uint32_t mark_duplicates(const struct gn_bin *bin, struct best *table, uint32_t capacity,
                                uint8_t *duplicates) {
    const struct gn_record *records = records_of(bin);
    uint32_t count = 0;
    for (uint32_t at = 0; at < bin->record_count; at++) {
        if (records[at].pair_key != 0) {
            struct best *best = find(table, capacity, &records[at]);
            uint64_t merit = gn_sort_merit(&records[at]);
            best->merit = best->key == 0 || merit > best->merit ? merit : best->merit;
            best->key = records[at].pair_key;
        }
    }
    for (uint32_t at = 0; at < bin->record_count; at++) {
        duplicates[at] = records[at].pair_key != 0 &&
                         find(table, capacity, &records[at])->merit != gn_sort_merit(&records[at]);
        count += duplicates[at];
    }
    return count;
}

int gn_sort(const struct gn_bin *bin, struct gn_order *order, enum guest_simd level) {
    (void)level; /* nothing here for vectors */
    uint32_t count = bin->record_count, capacity = 2;
    while (capacity / 2 < count) {
        capacity *= 2;
    }
    size_t keys = gn_round(sizeof(struct key) * (uint64_t)count);
    size_t table = sizeof(struct best) * 2 * (size_t)capacity;
    char *room = malloc(table > 2 * keys ? table : 2 * keys);
    if (!room) {
        return -ENOMEM;
    }
    struct gn_order head = gn_order_head(count);
    sort_records(bin, (struct key *)(void *)room, (struct key *)(void *)(room + keys),
                 gn_in(order, head.order));
    memset(room, 0, table);
    head.duplicate_count =
        mark_duplicates(bin, (struct best *)(void *)room, capacity, gn_in(order, head.duplicates));
    *order = head;
    free(room);
    return 0;
}
