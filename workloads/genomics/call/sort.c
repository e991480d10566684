/* SPDX-License-Identifier: Apache-2.0
 *
 * sort on a processor: a radix sort that skips digits in which all keys agree. Which records are
 * duplicates is found in duplicates.c.
 */
#include "genomics/call/sort.h"
#include "genomics/call/duplicates.h"
#include <errno.h>
#include <stdlib.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct key {
    uint64_t value;
    uint32_t record;
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

int gn_sort(const struct gn_bin *bin, struct gn_order *order, enum guest_simd level) {
    (void)level; /* nothing here for vectors */
    uint32_t count = bin->record_count;
    size_t keys = gn_round(sizeof(struct key) * (uint64_t)count);
    size_t table = gn_duplicates_room(count);
    char *room = malloc(table > 2 * keys ? table : 2 * keys);
    if (!room) {
        return -ENOMEM;
    }
    struct gn_order head = gn_order_head(count);
    sort_records(bin, (struct key *)(void *)room, (struct key *)(void *)(room + keys),
                 gn_in(order, head.order));
    head.duplicate_count = gn_duplicates_mark(bin, room, gn_in(order, head.duplicates));
    *order = head;
    free(room);
    return 0;
}
