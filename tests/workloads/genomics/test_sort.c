/* SPDX-License-Identifier: Apache-2.0
 *
 * sort: against qsort.
 */
#include "bin_cases.h"
#include "genomics/call/sort.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

/* after what it needs */
#include <cmocka.h>

static struct gn_order *sorted(const struct gn_bin *bin, enum guest_simd level) {
    struct gn_order *order = aligned_alloc(GN_ALIGN, gn_order_bytes(bin->record_count));
    assert_non_null(order);
    assert_int_equal(gn_sort(bin, order, level), 0);
    assert_int_equal(order->bytes, gn_order_bytes(bin->record_count));
    assert_int_equal(order->record_count, bin->record_count);
    return order;
}

static const struct gn_record *records_of(const struct gn_bin *bin) {
    return gn_at(bin, bin->records);
}

static int by_place(const void *left, const void *right) {
    const struct gn_record *a = *(const struct gn_record *const *)left;
    const struct gn_record *b = *(const struct gn_record *const *)right;
    if (a->position != b->position) {
        return a->position < b->position ? -1 : 1;
    }
    if (a->serial != b->serial) {
        return a->serial < b->serial ? -1 : 1;
    }
    return a < b ? -1 : 1;
}

static void in_order(void **state) {
    const uint8_t *codes = *state;
    for (uint32_t at = 0; at < GUEST_COUNT(bin_cases); at++) {
        struct gn_bin *bin = bin_make(&bin_cases[at], codes, BIN_REFERENCE, 40 + at);
        const struct gn_record **want = malloc(sizeof(*want) * (bin->record_count + 1));
        assert_non_null(want);
        for (uint32_t i = 0; i < bin->record_count; i++) {
            want[i] = &records_of(bin)[i];
        }
        qsort(want, bin->record_count, sizeof(*want), by_place);
        for (int level = 0; level <= (int)guest_simd(); level++) {
            struct gn_order *order = sorted(bin, (enum guest_simd)level);
            const uint32_t *got = gn_at(order, order->order);
            for (uint32_t i = 0; i < bin->record_count; i++) {
                if (&records_of(bin)[got[i]] != want[i]) {
                    fail_msg("%s, seed %u: record %u is not the %uth", bin_cases[at].name, 40 + at,
                             got[i], i);
                }
            }
            free(order);
        }
        free(want);
        free(bin);
    }
}

/* Whatever the order of the records, the same records in the same order. */
static void order_of_records_does_not_matter(void **state) {
    const uint8_t *codes = *state;
    struct gn_bin *bin = bin_make(&bin_cases[1], codes, BIN_REFERENCE, 5);
    struct gn_bin *turned = bin_make(&bin_cases[1], codes, BIN_REFERENCE, 5);
    uint32_t count = bin->record_count;
    struct gn_record *records = gn_in(turned, turned->records);
    for (uint32_t i = 0; i < count; i++) {
        records[i] = records_of(bin)[count - 1 - i];
    }
    struct gn_order *a = sorted(bin, guest_simd()), *b = sorted(turned, guest_simd());
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = ((const uint32_t *)gn_at(a, a->order))[i];
        uint32_t right = ((const uint32_t *)gn_at(b, b->order))[i];
        assert_int_equal(left, count - 1 - right);
        assert_int_equal(((const uint8_t *)gn_at(a, a->duplicates))[left],
                         ((const uint8_t *)gn_at(b, b->duplicates))[right]);
    }
    free(a);
    free(b);
    free(bin);
    free(turned);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(order_of_records_does_not_matter),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
