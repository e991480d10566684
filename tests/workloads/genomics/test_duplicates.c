/* SPDX-License-Identifier: Apache-2.0
 *
 * duplicates: every pair of records compared.
 */
#include "bin_cases.h"
#include "genomics/call/sort.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

/* after what it needs */
#include <cmocka.h>

static struct gn_order *sorted(const struct gn_bin *bin) {
    struct gn_order *order = aligned_alloc(GN_ALIGN, gn_order_bytes(bin->record_count));
    assert_non_null(order);
    assert_int_equal(gn_sort(bin, order, guest_simd()), 0);
    return order;
}

static const struct gn_record *records_of(const struct gn_bin *bin) {
    return gn_at(bin, bin->records);
}

/* A duplicate: some other record of the same key and half is better. */
static bool is_duplicate(const struct gn_bin *bin, const struct gn_record *mine) {
    for (uint32_t i = 0; mine->pair_key != 0 && i < bin->record_count; i++) {
        const struct gn_record *other = &records_of(bin)[i];
        bool rival = other->pair_key == mine->pair_key && !((other->flags ^ mine->flags) & 0x80);
        uint32_t theirs = other->quality_sum < 131071 ? other->quality_sum : 131071;
        uint32_t ours = mine->quality_sum < 131071 ? mine->quality_sum : 131071;
        if (rival && (theirs > ours || (theirs == ours && other->serial / 2 < mine->serial / 2))) {
            return true;
        }
    }
    return false;
}

static void duplicates_are_marked(void **state) {
    const uint8_t *codes = *state;
    uint32_t found = 0;
    for (uint32_t at = 1; at < GUEST_COUNT(bin_cases); at++) {
        struct gn_bin *bin = bin_make(&bin_cases[at], codes, BIN_REFERENCE, 80 + at);
        struct gn_order *order = sorted(bin);
        const uint8_t *got = gn_at(order, order->duplicates);
        uint32_t count = 0;
        for (uint32_t i = 0; i < bin->record_count; i++) {
            if (got[i] != is_duplicate(bin, &records_of(bin)[i])) {
                fail_msg("%s, seed %u: record %u", bin_cases[at].name, 80 + at, i);
            }
            count += got[i];
        }
        assert_int_equal(order->duplicate_count, count);
        found += count;
        free(order);
        free(bin);
    }
    assert_true(found > 1000);
}

static int set_up(void **state) {
    *state = bin_reference(3);
    return 0;
}

static int tear_down(void **state) {
    free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(duplicates_are_marked)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
