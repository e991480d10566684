/* SPDX-License-Identifier: Apache-2.0 */
#include "listing/compile.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Compiles and reads back; standard may be NULL. */
static int compile(const char *standard, const char *json, struct sy_listing **ret_listing,
                   struct sy_error *error) {
    struct sy_compilation c;
    struct sy_buffer text = {0};
    int code = sy_compilation_init(&c, error);
    if (!code && standard) {
        code = sy_compilation_add(&c, "arch.json", standard, strlen(standard), true);
    }
    code = code ? code : sy_compilation_add(&c, "x.json", json, strlen(json), false);
    code = code ? code : sy_compilation_write(&c, "x86/x", "a test", &text);
    code = code ? code : sy_listing_read("x", text.text, text.length, ret_listing, error);
    sy_buffer_finish(&text);
    sy_compilation_finish(&c);
    return code;
}

static struct sy_listing *need(const char *standard, const char *json) {
    struct sy_error error = {0};
    struct sy_listing *listing = NULL;
    char message[700];
    if (compile(standard, json, &listing, &error)) {
        fail_msg("%s", sy_error_format(&error, message, sizeof message));
    }
    return listing;
}

static const struct sy_event *event(const struct sy_listing *listing, const char *name) {
    uint32_t index = sy_listing_event(listing, name);
    assert_int_not_equal(index, SY_NONE);
    return &listing->events[index];
}

/* One event of each rule; the encodings are those that jevents.py (Linux 6.12) gives. */
static void encodings_follow_jevents(void **state) {
    (void)state;
    static const struct {
        const char *json, *encoding, *unit;
    } rules[] = {
        {"\"EventCode\": \"0x24\", \"UMask\": \"0x0f\"", "event=0x24,umask=0xf", "cpu"},
        {"\"EventCode\": \"0xB7, 0xBB\", \"UMask\": \"0x1\", \"MSRIndex\": \"0x1a6,0x1a7\", "
         "\"MSRValue\": \"0x3F803C0001\"",
         "event=0xb7,umask=1,offcore_rsp=0x3f803c0001", "cpu"},
        {"\"EventCode\": \"0xcd\", \"UMask\": \"0x1\", \"MSRIndex\": \"0x3F6\", \"MSRValue\": "
         "\"0x80\"",
         "event=0xcd,umask=1,ldlat=0x80", "cpu"},
        {"\"EventCode\": \"0xc6\", \"MSRIndex\": \"0x3F7\", \"MSRValue\": \"0x11\"",
         "event=0xc6,frontend=0x11", "cpu"},
        {"\"EventCode\": \"5\", \"CounterMask\": \"16\", \"Invert\": \"1\", \"EdgeDetect\": \"0\", "
         "\"AnyThread\": \"1\"",
         "event=5,any=1,cmask=0x10,inv=1", "cpu"},
        {"\"EventCode\": \"0x83\", \"FCMask\": \"0x07\", \"PortMask\": \"0x01\", \"UMask\": "
         "\"0x80\", \"Unit\": \"IIO\"",
         "event=0x83,umask=0x80,ch_mask=1,fc_mask=7", "uncore_iio"},
        {"\"EventCode\": \"0x2\", \"ExtSel\": \"1\", \"Unit\": \"QPI LL\"", "event=0x102",
         "uncore_qpi"},
        {"\"Filter\": \"config1=0x4003300000000\", \"UMask\": \"0xC80FFE01C1\", \"EventCode\": "
         "\"0x35\", \"Unit\": \"CHA\"",
         "event=0x35,umask=0xc80ffe01c1,config1=0x4003300000000", "uncore_cha"},
        {"\"ConfigCode\": \"0x8000000000000000\"", "config=0x8000000000000000", "cpu"},
        {"\"EventidCode\": \"0x3\", \"NodeType\": \"0x5\", \"Unit\": \"arm_cmn\"",
         "eventid=3,type=5", "arm_cmn"},
        {"\"Unit\": \"DFPMC\", \"EventCode\": \"0x1f\"", "event=0x1f", "amd_df"},
        {"\"Unit\": \"L3PMC\", \"EventCode\": \"0x04\", \"EnAllCores\": \"0x1\"",
         "event=4,enallcores=1", "amd_l3"},
        {"\"Unit\": \"UMCPMC\", \"RdWrMask\": \"0x2\"", "event=0,rdwrmask=2", "amd_umc"},
        {"\"Unit\": \"iMC\", \"EventCode\": \"0\"", "event=0", "uncore_imc"},
        {"\"Unit\": \"cpu_atom\", \"EventCode\": \"0xc0\"", "event=0xc0", "cpu_atom"},
        {"\"Unit\": \"CBO\", \"EventCode\": \"0x0\"", "event=0", "uncore_cbox"},
        {"\"Unit\": \"CPU-M-CF\", \"EventCode\": \"64\"", "event=0x40", "cpum_cf"},
        {"\"Unit\": \"hisi_sccl,l3c\", \"ConfigCode\": \"0x00\"", "config=0", "hisi_sccl,l3c"},
        {"\"MSRIndex\": \"0x3F6\", \"EventCode\": \"0xb\", \"UMask\": \"0x10\"",
         "event=0xb,umask=0x10", "cpu"},
    };
    for (size_t i = 0; i < SY_COUNT(rules); i++) {
        struct sy_buffer json = {0};
        sy_buffer_printf(&json, "[{\"EventName\": \"SOME.Event\", %s}]", rules[i].json);
        struct sy_listing *listing = need(NULL, json.text);
        assert_int_equal(listing->listed_count, 1);
        assert_string_equal(listing->events[0].name, "some.event");
        assert_string_equal(listing->events[0].encoding, rules[i].encoding);
        assert_string_equal(listing->events[0].unit, rules[i].unit);
        sy_listing_destroy(listing);
        sy_buffer_finish(&json);
    }
}

static void well_known_events_are_perfs(void **state) {
    (void)state;
    struct sy_listing *listing =
        need(NULL, "[{\"EventName\": \"INST_RETIRED.ANY\", \"Counter\": \"Fixed counter 0\", "
                   "\"EventCode\": \"0x00\", \"UMask\": \"0x1\"},"
                   "{\"EventName\": \"CPU_CLK_UNHALTED.THREAD_ANY\", \"UMask\": \"0x2\"},"
                   "{\"EventName\": \"CPU_CLK_UNHALTED.REF\", \"UMask\": \"0x7\"}]");
    assert_string_equal(event(listing, "inst_retired.any")->encoding, "event=0xc0");
    assert_true(event(listing, "inst_retired.any")->fixed);
    assert_string_equal(event(listing, "cpu_clk_unhalted.thread_any")->encoding,
                        "event=0x3c,any=1");
    assert_string_equal(event(listing, "cpu_clk_unhalted.ref")->encoding, "event=0,umask=3");
    sy_listing_destroy(listing);
}

static void standard_events_are_filled_in(void **state) {
    (void)state;
    struct sy_listing *listing =
        need("[{\"EventName\": \"L1D_CACHE\", \"EventCode\": \"0x04\", \"ScaleUnit\": \"64Bytes\"},"
             "{\"MetricName\": \"share\", \"MetricExpr\": \"a / b\", \"MetricGroup\": \"G\", "
             "\"ScaleUnit\": \"1percent of slots\"}]",
             "[{\"ArchStdEvent\": \"l1d_cache\", \"PublicDescription\": \"x\"},"
             "{\"ArchStdEvent\": \"L1D_CACHE\", \"EventName\": \"OTHER\", \"EventCode\": \"9\"},"
             "{\"ArchStdEvent\": \"share\", \"MetricExpr\": \"c\"}]");
    assert_string_equal(event(listing, "l1d_cache")->encoding, "event=4");
    assert_string_equal(event(listing, "l1d_cache")->scale_unit, "Bytes");
    assert_string_equal(event(listing, "other")->encoding, "event=4");
    assert_int_equal(listing->metric_count, 1);
    assert_string_equal(listing->metrics[0].expr_text, "c");
    assert_string_equal(listing->metrics[0].group, "G");
    assert_true(listing->metrics[0].bounded && listing->metrics[0].full == 100);
    sy_listing_destroy(listing);
}

static void counters_and_flags_survive(void **state) {
    (void)state;
    struct sy_listing *listing =
        need(NULL, "[{\"Unit\": \"core\", \"CountersNumFixed\": \"3\", \"CountersNumGeneric\": 4},"
                   "{\"EventName\": \"a\", \"Counter\": \"0,1,2,3\"},"
                   "{\"EventName\": \"b\", \"Counter\": \"0,1,2,3\", \"Deprecated\": \"1\"},"
                   "{\"EventName\": \"c\", \"Counter\": \"1, 3\"}, {\"EventName\": \"d\"},"
                   "{\"EventName\": \"e\", \"Unit\": \"iMC\", \"PerPkg\": \"1\", \"ScaleUnit\": "
                   "\"7.11E-06Bytes\", \"Counter\": \"37\"}]");
    assert_int_equal(event(listing, "a")->counter_mask, 15);
    assert_true(event(listing, "b")->deprecated && event(listing, "b")->counter_mask == 15);
    assert_int_equal(event(listing, "c")->counter_mask, 10);
    assert_int_equal(event(listing, "d")->counter_mask, 0);
    assert_true(event(listing, "e")->per_package && !event(listing, "a")->per_package);
    assert_true(event(listing, "e")->scale == 7.11e-6);
    assert_int_equal(listing->units[0].counters, 4);
    assert_int_equal(listing->units[0].fixed_counters, 3);
    sy_listing_destroy(listing);
}

static void blanks_go_but_not_those_that_matter(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"a + b", "a+b"},
        {"a  if b > 0 else c", "a if b>0 else c"},
        {"#num_cpus - 1", "#num_cpus -1"},
        {"1e - 3", "1e -3"},
        {"( a ) if ( b ) else ( c )", "(a)if(b)else(c)"},
        {"a - -b", "a--b"},
        {"min( a , b )", "min(a,b)"},
        {"a\\-b - c", "a\\-b-c"},
    };
    for (size_t i = 0; i < SY_COUNT(pairs); i++) {
        struct sy_buffer json = {0};
        sy_buffer_printf(&json, "[{\"MetricName\": \"m\", \"MetricExpr\": \"");
        for (const char *c = pairs[i][0]; *c; c++) {
            sy_buffer_printf(&json, *c == '\\' ? "\\%c" : "%c", *c);
        }
        sy_buffer_printf(&json, "\"}]");
        struct sy_listing *listing = need(NULL, json.text);
        assert_string_equal(listing->metrics[0].expr_text, pairs[i][1]);
        sy_listing_destroy(listing);
        sy_buffer_finish(&json);
    }
}

static void the_first_of_two_metrics_stays(void **state) {
    (void)state;
    struct sy_listing *listing =
        need(NULL, "[{\"MetricName\": \"M\", \"MetricExpr\": \"b\"},"
                   "{\"MetricName\": \"m\", \"MetricExpr\": \"a\"},"
                   "{\"MetricName\": \"M\", \"MetricExpr\": \"c\", \"Unit\": \"cpu_atom\"}]");
    assert_int_equal(listing->metric_count, 2);
    assert_string_equal(listing->metrics[0].expr_text, "a");
    sy_listing_destroy(listing);
}

static void mistakes_are_pointed_at(void **state) {
    (void)state;
    static const struct {
        const char *json;
        uint32_t line, column;
        const char *says;
    } mistakes[] = {
        {"", 1, 1, "ends here"},
        {"{}", 1, 1, "array"},
        {"[3]", 1, 2, "object"},
        {"[{\"EventName\": 3}]", 1, 16, "EventName must be a string"},
        {"[{\"EventName\": null}]", 1, 16, "EventName must be a string"},
        {"[{\"EventName\":\n [\"a\"]}]", 2, 2, "EventName must be a string"},
        {"[{\"EventName\": \"\"}]", 1, 16, "1 to 255"},
        {"[{\"EventName\": \"a b\"}]", 1, 16, "without spaces"},
        {"[{\"EventName\": \"a\\tb\"}]", 1, 16, "0x09"},
        {"[{\"EventName\": \"\\u00e9\"}]", 1, 16, "ASCII"},
        {"[{\"EventName\": \"a\", \"EventName\": \"b\"}]", 1, 21, "given twice"},
        {"[{\"EventName\": \"a\"},\n{\"EventName\": \"A\"}]", 2, 15, "listed twice"},
        {"[{\"EventName\": \"a\", \"EventCode\": \"xyz\"}]", 1, 34, "EventCode 'xyz': expected a"},
        {"[{\"EventName\": \"a\", \"EventCode\": \"-1\"}]", 1, 34, "expected a number"},
        {"[{\"EventName\": \"a\", \"UMask\": \"0x11112222333344445\"}]", 1, 30, "below 2^64"},
        {"[{\"EventName\": \"a\", \"UMask\": \"99999999999999999999\"}]", 1, 30, "below 2^64"},
        {"[{\"EventName\": \"a\", \"CounterMask\": 1e300}]", 1, 36, "CounterMask"},
        {"[{\"EventName\": \"a\", \"MSRIndex\": \"0x99\", \"MSRValue\": \"1\"}]", 1, 33, "0x3f6"},
        {"[{\"EventName\": \"a\", \"Filter\": \"nonsense\"}]", 1, 31, "key=value"},
        {"[{\"EventName\": \"a\", \"Unit\": \"a]b\"}]", 1, 29, "Unit"},
        {"[{\"ArchStdEvent\": \"NOPE\"}]", 1, 19, "no such event"},
        {"[{\"MetricName\": \"m\"}]", 1, 17, "no MetricExpr"},
        {"[{\"MetricName\": \"m\", \"MetricExpr\": \"a +\"}]", 1, 36, "character 3 of 'a+'"},
        {"[{\"MetricName\": \"m\", \"MetricExpr\": \"f(a)\"}]", 1, 36, "no function 'f'"},
        {"[{\"EventName\": \"a\"}] x", 1, 22, ""},
        {"[{\"EventName\": \"a\",}]", 1, 20, ""},
        {"[{\"Unit\": \"core\", \"CountersNumGeneric\": \"5000\"}]", 1, 41, "more counters"},
    };
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        struct sy_error error = {0};
        struct sy_listing *listing;
        int code = compile(NULL, mistakes[i].json, &listing, &error);
        if (code != -EINVAL || error.line != mistakes[i].line ||
            error.column != mistakes[i].column || !error.message[0] ||
            !strstr(error.message, mistakes[i].says)) {
            fail_msg("%s: %d at %u:%u: %s", mistakes[i].json, code, error.line, error.column,
                     error.message);
        }
        assert_string_equal(error.file, "x.json");
    }
}

static void hostile_sizes_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *head, *part, *tail;
        size_t count;
    } hostile[] = {
        {"", "[", "", 1000000},
        {"[{\"Other\": ", "[", "", 1000000},
        {"[", "{\"a\":", "", 1000000},
        {"[{\"MetricName\": \"m\", \"MetricExpr\": \"", "(", "1\"}]", 1000000},
        {"[{\"MetricName\": \"m\", \"MetricExpr\": \"", "(", "1\"}]", 10000},
        {"[{\"EventName\": \"", "a", "\"}]", 1000000},
        {"[{\"EventName\": \"a\", \"EventCode\": \"0x", "1", "\"}]", 1000},
    };
    for (size_t i = 0; i < SY_COUNT(hostile); i++) {
        size_t part = strlen(hostile[i].part);
        char *text =
            malloc(strlen(hostile[i].head) + part * hostile[i].count + strlen(hostile[i].tail) + 1);
        char *at = stpcpy(text, hostile[i].head);
        for (size_t j = 0; j < hostile[i].count; j++) {
            at = stpcpy(at, hostile[i].part);
        }
        strcpy(at, hostile[i].tail);
        struct sy_error error = {0};
        struct sy_listing *listing;
        assert_int_equal(compile(NULL, text, &listing, &error), -EINVAL);
        assert_true(error.line == 1 && error.column > 0 && error.message[0]);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_follow_jevents),
        cmocka_unit_test(well_known_events_are_perfs),
        cmocka_unit_test(standard_events_are_filled_in),
        cmocka_unit_test(counters_and_flags_survive),
        cmocka_unit_test(blanks_go_but_not_those_that_matter),
        cmocka_unit_test(the_first_of_two_metrics_stays),
        cmocka_unit_test(mistakes_are_pointed_at),
        cmocka_unit_test(hostile_sizes_are_refused),
    };
    return cmocka_run_group_tests_name("listing_compile", tests, NULL, NULL);
}
