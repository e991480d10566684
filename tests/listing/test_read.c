/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "symph-listing 1\nname x86/test\nsource a test\nlicence GPL-2.0-only\n"

static int read_text(const char *text, struct sy_listing **ret_listing, struct sy_error *error) {
    return sy_listing_read("test.listing", text, strlen(text), ret_listing, error);
}

static struct sy_listing *need(const char *text) {
    struct sy_error error = {0};
    struct sy_listing *listing = NULL;
    char message[700];
    if (read_text(text, &listing, &error)) {
        fail_msg("%s", sy_error_format(&error, message, sizeof message));
    }
    return listing;
}

static const char example[] =
    HEAD "[events cpu counters=4 fixed=3 on=0-3]\n"
         "0inst_retired.any\tc0\tF\n"
         "dpart\t.2,c1,e1\tD @0,2\n"
         "0cycles.other\t-,config=0x1f,foo=2\n"
         "0offcore\tb7.1,o3fffc00001\t@\n"
         "\n"
         "[events uncore_imc on=0-1 package]\n"
         "0cas.rd\t4.3\tx64Bytes\n"
         "4wr\t.c\tP\n"
         "[events cpu_atom]\n"
         "0inst_retired.any\tc1\n"
         "[metrics cpu]\n"
         "0IPC\t1per_cycle\tA;B\tINST_RETIRED.ANY/cycles.other\n"
         "0Share\t100%\t~\tIPC/4\n"
         "5d\t1percent of all\t\tcpu@inst_retired.any\\,cmask\\=2@+inst_retired.any:k+imc@cas.rd@+"
         "uncore_imc_3@CAS.RD\\,umask\\=9@+cas.rd@thresh\\=1@+duration_time+msr@tsc@\n"
         "[metrics cpu_atom]\n"
         "0ipc\t\t\tinst_retired.any+cpu@event\\=0x11\\,inv\\=1@\n"
         "1c\t\t\tipc\n";

static void events_are_as_written(void **state) {
    (void)state;
    struct sy_listing *listing = need(example);
    assert_string_equal(listing->name, "x86/test");
    assert_string_equal(listing->licence, "GPL-2.0-only");
    assert_int_equal(listing->listed_count, 7);
    const struct sy_event *e = listing->events;
    assert_string_equal(e[0].encoding, "event=0xc0");
    assert_true(e[0].fixed && e[0].counter_mask == 0 && e[0].modifiers == 0);
    assert_string_equal(e[1].name, "inst_retired.part");
    assert_string_equal(e[1].encoding, "event=0xc0,umask=2,cmask=1,edge=1");
    assert_true(e[1].deprecated && e[1].counter_mask == 5 && e[1].modifiers != 0);
    assert_true(e[1].code == 0xc0 && e[1].umask == 2);
    assert_string_equal(e[2].encoding, "config=0x1f,foo=2");
    assert_true(e[2].code == 0x1f && e[2].modifiers != 0);
    assert_string_equal(e[3].encoding, "event=0xb7,umask=1,offcore_rsp=0x3fffc00001");
    assert_int_equal(e[3].counter_mask, 0);
    assert_string_equal(e[4].unit, "uncore_imc");
    assert_true(e[4].per_package && e[4].scale == 64 && e[4].counter_mask == 3);
    assert_string_equal(e[4].scale_unit, "Bytes");
    assert_string_equal(e[5].name, "cas.wr");
    assert_true(!e[5].per_package && e[5].code == 4 && e[5].umask == 12);
    assert_int_equal(listing->unit_count, 3);
    assert_int_equal(listing->units[0].counters, 4);
    assert_int_equal(listing->units[0].fixed_counters, 3);
    sy_listing_destroy(listing);
}

static void names_are_found(void **state) {
    (void)state;
    struct sy_listing *listing = need(example);
    assert_int_equal(sy_listing_event(listing, "INST_RETIRED.ANY"), 0);
    assert_int_equal(sy_listing_event(listing, "cpu/inst_retired.any/"), 0);
    assert_int_equal(sy_listing_event(listing, "cpu_atom/inst_retired.any/"), 6);
    assert_int_equal(sy_listing_event(listing, "uncore_imc/inst_retired.any/"), SY_NONE);
    assert_int_equal(sy_listing_event(listing, "nothing"), SY_NONE);
    assert_int_equal(sy_listing_metric(listing, "ipc"), 0);
    assert_int_equal(sy_listing_metric(listing, "cpu_atom/IPC/"), 3);
    for (uint32_t i = 0; i < listing->name_count; i++) {
        if (listing->name_event[i] != SY_NONE) {
            assert_int_equal(sy_listing_event(listing, listing->names[i]), listing->name_event[i]);
        }
    }
    sy_listing_destroy(listing);
}

/* Events that a metric makes of listed ones. */
static void derived_events_are_made(void **state) {
    (void)state;
    struct sy_listing *listing = need(example);
    static const struct {
        const char *name, *unit, *encoding, *privilege;
    } wanted[] = {
        {"cpu/inst_retired.any,cmask=2/", "cpu", "event=0xc0,cmask=2", ""},
        {"inst_retired.any:k", "cpu", "event=0xc0", "k"},
        {"uncore_imc_3/cas.rd,umask=9/", "uncore_imc", "event=4,umask=9", ""},
        {"cas.rd/thresh=1/", "uncore_imc", "event=4,umask=3,thresh=1", ""},
        {"cpu/event=0x11,inv=1/", "cpu", "event=0x11,inv=1", ""},
    };
    assert_int_equal(listing->event_count, listing->listed_count + SY_COUNT(wanted));
    for (size_t i = 0; i < SY_COUNT(wanted); i++) {
        uint32_t index = sy_listing_event(listing, wanted[i].name);
        assert_int_not_equal(index, SY_NONE);
        assert_true(index >= listing->listed_count);
        assert_string_equal(listing->events[index].unit, wanted[i].unit);
        assert_string_equal(listing->events[index].encoding, wanted[i].encoding);
        assert_string_equal(listing->events[index].privilege, wanted[i].privilege);
    }
    uint32_t events[8];
    uint32_t metric = sy_listing_metric(listing, "shared");
    assert_int_equal(metric_events(listing, metric, events, 8), 5);
    assert_int_equal(metric_events(listing, metric, events, 2), 5);
    /* The atom's metric means the atom's event. */
    assert_int_equal(metric_events(listing, 3, events, 8), 2);
    assert_int_equal(events[0], 6);
    sy_listing_destroy(listing);
}

static double two(void *user, const char *name) {
    (void)user;
    return strcmp(name, "inst_retired.any") == 0 ? 6 : 2;
}

static void metrics_use_metrics(void **state) {
    (void)state;
    struct sy_listing *listing = need(example);
    const struct sy_expr_scope scope = {.value = two};
    assert_true(metric_value(listing, 0, &scope) == 3);
    assert_true(metric_value(listing, 1, &scope) == 0.75);
    assert_true(listing->metrics[1].bounded && listing->metrics[1].full == 1);
    assert_true(listing->metrics[2].bounded && listing->metrics[2].full == 100);
    assert_false(listing->metrics[0].bounded);
    assert_string_equal(listing->metrics[1].group, "A;B");
    assert_string_equal(listing->metrics[2].group, "");
    assert_true(metric_value(listing, 4, &scope) == metric_value(listing, 3, &scope));
    assert_int_equal(sy_listing_check(listing, NULL), 0);
    sy_listing_destroy(listing);
}

static void recursion_is_nan_and_named(void **state) {
    (void)state;
    struct sy_listing *listing = need(HEAD "[metrics cpu]\n"
                                           "0self\t\t\tmin(self,1)\n"
                                           "0a\t\t\tb+1\n0b\t\t\tc+1\n0c\t\t\tmax(A,7)\n"
                                           "0user\t\t\td_ratio(a,0)\n0fine\t\t\t2\n");
    const struct sy_expr_scope scope = {.value = two};
    const char *const bad[] = {"self", "a", "b", "c", "user"};
    for (size_t i = 0; i < SY_COUNT(bad); i++) {
        assert_true(isnan(metric_value(listing, sy_listing_metric(listing, bad[i]), &scope)));
    }
    assert_true(metric_value(listing, sy_listing_metric(listing, "fine"), &scope) == 2);
    struct sy_error error = {0};
    assert_int_equal(sy_listing_check(listing, &error), -ELOOP);
    assert_non_null(strstr(error.message, "self -> self"));
    sy_listing_destroy(listing);

    listing = need(HEAD "[metrics cpu]\n0a\t\t\tb+1\n0b\t\t\tc+1\n0c\t\t\tA\n");
    assert_int_equal(sy_listing_check(listing, &error), -ELOOP);
    assert_non_null(strstr(error.message, "a -> b -> c -> a"));
    sy_listing_destroy(listing);
}

/* A chain longer than the stack would bear, and a lattice that would take 2^60 steps unremembered.
 */
static void long_chains_end(void **state) {
    (void)state;
    struct sy_buffer text = {0};
    sy_buffer_printf(&text, "%s[metrics cpu]\n", HEAD);
    for (int i = 0; i < 100000; i++) {
        sy_buffer_printf(&text, "0m%d\t\t\tm%d+1\n", i, i + 1);
    }
    struct sy_listing *listing = need(text.text);
    const struct sy_expr_scope scope = {.value = two};
    assert_true(isnan(metric_value(listing, 0, &scope)));
    assert_true(metric_value(listing, 99900, &scope) == 102);
    assert_int_equal(sy_listing_check(listing, NULL), 0);
    sy_listing_destroy(listing);
    sy_buffer_finish(&text);

    text = (struct sy_buffer){0};
    sy_buffer_printf(&text, "%s[metrics cpu]\n", HEAD);
    for (int i = 0; i < 60; i++) {
        sy_buffer_printf(&text, "0m%d\t\t\tm%d+m%d\n", i, i + 1, i + 1);
    }
    listing = need(text.text);
    assert_true(metric_value(listing, 0, &scope) == ldexp(2, 60));
    sy_listing_destroy(listing);
    sy_buffer_finish(&text);
}

static void mistakes_are_pointed_at(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *says;
    } mistakes[] = {
        {"", 1, 1, "not a compact listing"},
        {"symph-listing 2\n", 1, 1, "not a compact listing"},
        {HEAD "what\n", 5, 1, "expected name"},
        {HEAD "[events cpu\n", 5, 12, "']'"},
        {HEAD "[events]\n", 5, 1, "UNIT"},
        {HEAD "[things cpu]\n", 5, 1, "[events UNIT]"},
        {HEAD "[events cpu size=4]\n", 5, 13, "counters="},
        {HEAD "[events cpu on=3-1]\n", 5, 18, "0-3,6"},
        {HEAD "[events cpu on=99]\n", 5, 16, "0-3,6"},
        {HEAD "[events cpu counters=99999]\n", 5, 22, "1000"},
        {HEAD "[events cpu]\n?a\t1\n", 6, 1, "stays"},
        {HEAD "[events cpu]\n3a\t1\n", 6, 1, "than it has"},
        {HEAD "[events cpu]\n0\t1\n", 6, 1, "1 to 255"},
        {HEAD "[events cpu]\n0A\t1\n", 6, 1, "lower case"},
        {HEAD "[events cpu]\n0a\txyz\n", 6, 4, "code in hexadecimal"},
        {HEAD "[events cpu]\n0a\t1.xyz\n", 6, 6, "unit mask"},
        {HEAD "[events cpu]\n0a\t1.11112222333344445\n", 6, 6, "unit mask"},
        {HEAD "[events cpu]\n0a\t1,z3\n", 6, 6, "a term"},
        {HEAD "[events cpu]\n0a\t1\tQ\n", 6, 6, "expected D"},
        {HEAD "[events cpu]\n0a\t1\n0a\t2\n", 7, 1, "event a is listed twice"},
        {HEAD "[metrics cpu]\n0a\t\t\t1+\n", 6, 8, "ends here"},
        {HEAD "[metrics cpu]\n0a\t\t\n", 6, 5, "ends here"},
        {HEAD "[metrics cpu]\n0a\t\t\t1\n0A\t\t\t2\n", 7, 1, "metric A is listed twice"},
        {HEAD "[metrics cpu on=1]\n", 5, 14, "']'"},
        {HEAD "[events cpu]\n0a\x01\t1\n", 6, 3, "ASCII"},
    };
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        struct sy_error error = {0};
        struct sy_listing *listing;
        int code = read_text(mistakes[i].text, &listing, &error);
        if (code != -EINVAL || error.line != mistakes[i].line ||
            error.column != mistakes[i].column || !strstr(error.message, mistakes[i].says)) {
            fail_msg("case %zu: %d at %u:%u: %s", i, code, error.line, error.column, error.message);
        }
        assert_string_equal(error.file, "test.listing");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_as_written),      cmocka_unit_test(names_are_found),
        cmocka_unit_test(derived_events_are_made),    cmocka_unit_test(metrics_use_metrics),
        cmocka_unit_test(recursion_is_nan_and_named), cmocka_unit_test(long_chains_end),
        cmocka_unit_test(mistakes_are_pointed_at),
    };
    return cmocka_run_group_tests_name("listing_read", tests, NULL, NULL);
}
