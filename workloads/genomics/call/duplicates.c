/* SPDX-License-Identifier: Apache-2.0
 *
 * Duplicates on a processor: a table of hashes that holds the best of each key. See duplicates.h.
 */
#include "genomics/call/duplicates.h"
#include <string.h>

/* The best of those with one key. */
struct best {
    uint64_t key; /* 0: free */
    uint64_t merit;
};

static const struct gn_record *records_of(const struct gn_bin *bin) {
    return gn_at(bin, bin->records);
}

/* Of each half of the table. */
static uint32_t capacity_for(uint32_t record_count) {
    uint32_t capacity = 2;
    while (capacity / 2 < record_count) {
        capacity *= 2;
    }
    return capacity;
}

/* Tables of 2 capacity: firsts of their pairs, then seconds. */
static struct best *find(struct best *table, uint32_t capacity, const struct gn_record *record) {
    struct best *half = table + (record->flags & 0x80 ? capacity : 0);
    uint32_t at = gn_duplicates_slot(record->pair_key, capacity);
    while (half[at].key != 0 && half[at].key != record->pair_key) {
        at = (at + 1) & (capacity - 1);
    }
    return &half[at];
}

static uint32_t mark(const struct gn_bin *bin, struct best *table, uint32_t capacity,
                     uint8_t *duplicates) {
    const struct gn_record *records = records_of(bin);
    uint32_t count = 0;
    for (uint32_t at = 0; at < bin->record_count; at++) {
        if (records[at].pair_key != 0) {
            struct best *best = find(table, capacity, &records[at]);
            uint64_t merit = gn_duplicates_merit(&records[at]);
            best->merit = best->key == 0 || merit > best->merit ? merit : best->merit;
            best->key = records[at].pair_key;
        }
    }
    for (uint32_t at = 0; at < bin->record_count; at++) {
        duplicates[at] = records[at].pair_key != 0 && find(table, capacity, &records[at])->merit !=
                                                          gn_duplicates_merit(&records[at]);
        count += duplicates[at];
    }
    return count;
}

size_t gn_duplicates_room(uint32_t record_count) {
    return sizeof(struct best) * 2 * (size_t)capacity_for(record_count);
}

uint32_t gn_duplicates_mark(const struct gn_bin *bin, void *room, uint8_t *duplicates) {
    memset(room, 0, gn_duplicates_room(bin->record_count));
    return mark(bin, room, capacity_for(bin->record_count), duplicates);
}
