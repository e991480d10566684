/* SPDX-License-Identifier: Apache-2.0
 * The listings that are shipped: all of them read, and keep their promises. SYMPH_LISTINGS is their
 * folder. */
#include "listing/listing.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct sy_listing *need(const char *name) {
    struct sy_error error = {0};
    struct sy_listing *listing = NULL;
    char message[700];
    if (sy_listing_open(name, NULL, &listing, &error)) {
        fail_msg("%s", sy_error_format(&error, message, sizeof message));
    }
    return listing;
}

static void check_listing(const struct sy_listing *listing) {
    struct sy_error error = {0};
    if (sy_listing_check(listing, &error)) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(listing->licence, "GPL-2.0-only");
    assert_non_null(strstr(listing->source, "Linux 6.12"));
    for (uint32_t i = 0; i < listing->name_count; i++) {
        uint32_t event = listing->name_event[i];
        assert_true(event == SY_NONE || event < listing->event_count);
        if (event != SY_NONE && sy_listing_event(listing, listing->names[i]) != event) {
            fail_msg("%s: %s is found elsewhere", listing->name, listing->names[i]);
        }
    }
    for (uint32_t i = 0; i < listing->event_count; i++) {
        assert_true(listing->events[i].encoding[0] && listing->events[i].unit[0]);
        assert_true(listing->events[i].scale > 0);
    }
}

static void every_expression_parses(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    const char *const *names;
    uint32_t listings = 0, metrics = 0, events = 0, bounded = 0, derived = 0;
    assert_int_equal(sy_listing_names(NULL, arena, &names, NULL), 0);
    for (; names[listings]; listings++) {
        struct sy_listing *listing = need(names[listings]);
        assert_string_equal(listing->name, names[listings]);
        assert_true(!listings || strcmp(names[listings - 1], names[listings]) < 0);
        check_listing(listing);
        metrics += listing->metric_count;
        events += listing->listed_count;
        derived += listing->event_count - listing->listed_count;
        for (uint32_t i = 0; i < listing->metric_count; i++) {
            bounded += listing->metrics[i].bounded;
        }
        sy_listing_destroy(listing);
    }
    print_message("# %u listings: %u metric expressions parse (%u shares), %u events, %u derived\n",
                  listings, metrics, bounded, events, derived);
    assert_int_equal(listings, 90);
    assert_int_equal(metrics, 6074);
    assert_int_equal(events, 48888);
    sy_arena_destroy(arena);
}

/* Facts from the vendors' files, as perf 6.12 encodes them. */
static void some_events_are_known(void **state) {
    (void)state;
    static const struct {
        const char *listing, *event, *unit, *encoding;
    } facts[] = {
        {"skylakex", "inst_retired.any", "cpu", "event=0xc0"},
        {"skylakex", "unc_m_cas_count.rd", "uncore_imc", "event=4,umask=3"},
        {"skylakex", "l1d_pend_miss.pending_cycles", "cpu", "event=0x48,umask=1,cmask=1"},
        {"sapphirerapids", "unc_cha_tor_inserts.ia_miss_drd", "uncore_cha",
         "event=0x35,umask=0xc817fe01"},
        {"amdzen4", "l3_lookup_state.all_coherent_accesses_to_l3", "amd_l3", "event=4,umask=0xff"},
        {"amdzen4", "umc_cas_cmd.rd", "amd_umc", "event=0xa,rdwrmask=1"},
        {"neoverse-n1", "l1d_cache", "cpu", "event=4"},
        {"power9", "pm_run_cyc", "cpu", "event=0x200f4"},
        {"alderlake", "cpu_atom/inst_retired.any/", "cpu_atom", "event=0xc0"},
        {"alderlake", "cpu_core/inst_retired.any/", "cpu_core", "event=0xc0"},
    };
    for (size_t i = 0; i < SY_COUNT(facts); i++) {
        struct sy_listing *listing = need(facts[i].listing);
        uint32_t index = sy_listing_event(listing, facts[i].event);
        if (index == SY_NONE) {
            fail_msg("%s lacks %s", facts[i].listing, facts[i].event);
        }
        assert_string_equal(listing->events[index].unit, facts[i].unit);
        assert_string_equal(listing->events[index].encoding, facts[i].encoding);
        sy_listing_destroy(listing);
    }
}

static void processors_find_their_listing(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"GenuineIntel-6-55-4", "x86/skylakex"},
        {"GenuineIntel-6-55-7", "x86/cascadelakex"},
        {"GenuineIntel-6-8F-8", "x86/sapphirerapids"},
        {"GenuineIntel-6-8F", "x86/sapphirerapids"},
        {"GenuineIntel-6-6A-6", "x86/icelakex"},
        {"GenuineIntel-6-97-2", "x86/alderlake"},
        {"AuthenticAMD-25-11-1", "x86/amdzen4"},
        {"AuthenticAMD-25-1-1", "x86/amdzen3"},
        {"AuthenticAMD-23-31-0", "x86/amdzen2"},
        {"AuthenticAMD-23-1-2", "x86/amdzen1"},
        {"AuthenticAMD-26-2-1", "x86/amdzen5"},
        {"0x00000000410fd0c0", "arm64/arm/neoverse-n1"},
        {"0x00000000413fd0c1", "arm64/arm/neoverse-n1"},
        {"0x00000000410fd490", "arm64/arm/neoverse-n2-v2"},
        {"0x004e1203", "powerpc/power9"},
        {"0x00800200", "powerpc/power10"},
        {"0x004b0201", "powerpc/power8"},
        {"0x489-0x8000000000000007-0x20181004", "riscv/sifive/u74"},
        {"IBM,3931,704,A01,3.7,002f", "s390/cf_z16"},
    };
    for (size_t i = 0; i < SY_COUNT(pairs); i++) {
        struct sy_buffer name = {0};
        struct sy_error error = {0};
        if (sy_listing_match(NULL, pairs[i][0], &name, &error)) {
            fail_msg("%s: %s", pairs[i][0], error.message);
        }
        assert_string_equal(name.text, pairs[i][1]);
        struct sy_listing *listing = need(name.text);
        sy_listing_destroy(listing);
        sy_buffer_finish(&name);
    }
    static const char *const strangers[] = {"",
                                            "GenuineIntel-6-55", /* the stepping decides */
                                            "GenuineIntel-6-8F-8-1",
                                            "GenuineIntel-6-FFF-1",
                                            "xGenuineIntel-6-8F-8",
                                            "0x0000000099999999",
                                            "0x12345678",
                                            "((((",
                                            "HygonGenuine-24-1-1"};
    for (size_t i = 0; i < SY_COUNT(strangers); i++) {
        struct sy_buffer name = {0};
        struct sy_error error = {0};
        assert_int_equal(sy_listing_match(NULL, strangers[i], &name, &error), -ENOENT);
        assert_true(error.message[0] && !name.text);
    }
}

static void this_processor_is_asked(void **state) {
    (void)state;
    struct sy_buffer name = {0};
    struct sy_error error = {0};
    int code = sy_listing_match(NULL, NULL, &name, &error);
    if (code) {
        print_message("# SKIP: %s\n", error.message);
        assert_int_equal(code, -ENOENT);
        skip();
    }
    print_message("# this processor's listing is %s\n", name.text);
    struct sy_listing *named = need(name.text), *own = NULL;
    assert_int_equal(sy_listing_open(NULL, NULL, &own, &error), 0);
    assert_string_equal(own->name, named->name);
    sy_listing_destroy(named);
    sy_listing_destroy(own);
    sy_buffer_finish(&name);
}

static void a_wrong_name_is_answered(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_listing *listing;
    assert_int_equal(sy_listing_open("skylake_x", NULL, &listing, &error), -ENOENT);
    assert_non_null(strstr(error.hint, "skylakex"));
    assert_int_equal(sy_listing_open("sys", NULL, &listing, &error), -EINVAL);
    assert_non_null(strstr(error.hint, "arm64/"));
    assert_int_equal(sy_listing_open("../x86/skylakex", NULL, &listing, &error), -ENOENT);
    assert_int_equal(sy_listing_open("skylakex", "/nonexistent/folder", &listing, &error), -ENOENT);
    assert_non_null(strstr(error.message, "/nonexistent/folder"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_expression_parses),       cmocka_unit_test(some_events_are_known),
        cmocka_unit_test(processors_find_their_listing), cmocka_unit_test(this_processor_is_asked),
        cmocka_unit_test(a_wrong_name_is_answered),
    };
    return cmocka_run_group_tests_name("listing_shipped", tests, NULL, NULL);
}
