/* SPDX-License-Identifier: Apache-2.0 */
#include "listing/listing.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct world {
    const char *has, *cpu; /* the only event that exists; the only pattern that fits */
};

static double value(void *user, const char *name) {
    (void)user;
    if (strcmp(name, "FOO") == 0) {
        return 1;
    }
    if (strcmp(name, "BAR") == 0) {
        return 2;
    }
    return strcmp(name, "INF") == 0 ? INFINITY : NAN;
}

static double literal(void *user, const char *name) {
    (void)user;
    return strcmp(name, "smt_on") == 0 ? 1 : strcmp(name, "num_cpus") == 0 ? 8 : NAN;
}

static double source_count(void *user, const char *name) {
    (void)user;
    return (double)strlen(name);
}

static bool has_event(void *user, const char *name) {
    const struct world *world = user;
    return world->has && strcmp(world->has, name) == 0;
}

static bool is_cpu(void *user, const char *name) {
    const struct world *world = user;
    return world->cpu && strcmp(world->cpu, name) == 0;
}

static struct world world = {.has = "cycles", .cpu = "GenuineIntel-6-55"};
static const struct sy_expr_scope scope = {value, literal, source_count, has_event, is_cpu, &world};

static int parse(const char *text, size_t length, struct sy_error *error, double *ret_value) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_expr_names names = {0};
    struct sy_expr expr;
    int code = sy_expr_parse(arena, &names, text, length, &expr, error);
    if (!code) {
        *ret_value = sy_expr_eval(&expr, names.names, &scope);
    }
    sy_expr_names_finish(&names);
    sy_arena_destroy(arena);
    return code;
}

static double eval(const char *text) {
    struct sy_error error = {0};
    double result = 0;
    int code = parse(text, strlen(text), &error, &result);
    if (code) {
        fail_msg("%s: %s", text, error.message);
    }
    return result;
}

/* What tools/perf/tests/expr.c (Linux 6.12) expects, as facts: FOO is 1 and BAR 2. */
static void perf_agrees(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } facts[] = {
        {"1+1", 2},
        {"FOO+BAR", 3},
        {"(BAR/2)%2", 1},
        {"1 - -4", 5},
        {"(FOO-1)*2 + (BAR/2)%2 - -4", 5},
        {"1-1 | 1", 1},
        {"1-1 & 1", 0},
        {"min(1,2) + 1", 2},
        {"max(1,2) + 1", 3},
        {"1+1 if 3*4 else 0", 2},
        {"100 if 1 else 200 if 1 else 300", 100},
        {"100 if 0 else 200 if 1 else 300", 200},
        {"100 if 1 else 200 if 0 else 300", 100},
        {"100 if 0 else 200 if 0 else 300", 300},
        {"1.1 + 2.1", 3.2},
        {".1 + 2.", 2.1},
        {"d_ratio(1, 2)", 0.5},
        {"d_ratio(2.5, 0)", 0},
        {"1.1 < 2.2", 1},
        {"2.2 > 1.1", 1},
        {"1.1 < 1.1", 0},
        {"2.2 > 2.2", 0},
        {"2.2 < 1.1", 0},
        {"1.1 > 2.2", 0},
        {"1.1e10 < 1.1e100", 1},
        {"1.1e2 > 1.1e-2", 1},
        {"strcmp_cpuid_str(0x0)", 0},
        {"strcmp_cpuid_str(GenuineIntel\\-6\\-55)", 1},
        {"has_event(cycles)", 1},
        {"has_event(cycle)", 0},
    };
    for (size_t i = 0; i < SY_COUNT(facts); i++) {
        double got = eval(facts[i].text);
        if (!(got == facts[i].value)) {
            fail_msg("%s is %g, not %g", facts[i].text, got, facts[i].value);
        }
    }
    assert_true(isnan(eval("FOO/0")));
    print_message("# %zu of perf's test expressions agree\n", SY_COUNT(facts) + 1);
}

/* Read off expr.y: what it does with values that are not known. */
static void what_is_not_known_flows_as_in_perf(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } facts[] = {
        {"1 if NaN else 2", 1},
        {"NaN | 1", 1},
        {"1 | NaN", 1},
        {"0 | 7", 1},
        {"NaN & 0", 0},
        {"0 & NaN", 0},
        {"INF & 1", INFINITY},
        {"0 | INF", INFINITY},
        {"2 ^ 0", 1},
        {"2 ^ 3", 0},
        {"min(NaN,3)", 3},
        {"max(NaN,3)", 3},
        {"d_ratio(NaN, 0)", 0},
        {"-2 * 3", -6},
        {"2 - 1 - 1", 0},
        {"8 / 4 / 2", 1},
        {"2 + 3 * 4", 14},
        {"1 < 2 + 3", 1},
        {"3 > 2 > 1", 0},
        {"1 | 1 & 0", 1},
        {"0 & 1 | 1", 1},
        {"1 ^ 1 | 1", 1},
        {"- -3", 3},
        {"-3 % 2", -1},
        {"7.9 % 2.9", 1},
        {"2 * -3", -6},
        {"(1 if 0 else 5) + 1", 6},
        {"1e3", 1000},
        {"source_count(abc)", 3},
        {"#num_cpus", 8},
        {"FOO if #SMT_on else BAR", 1},
        {"1 - 1 if 1 else 9", 0},
        {"1 & 0 if 1 else 9", 0},
    };
    for (size_t i = 0; i < SY_COUNT(facts); i++) {
        double got = eval(facts[i].text);
        if (!(got == facts[i].value)) {
            fail_msg("%s is %g, not %g", facts[i].text, got, facts[i].value);
        }
    }
    static const char *const unknown[] = {
        "NaN + 1",
        "NaN < 1",
        "1 > NaN",
        "NaN | NaN",
        "NaN ^ 1",
        "INF ^ 1",
        "UNKNOWN * 0",
        "1 % 0", /* spoils the whole expression, as perf gives up */
        "5 if 1 else 1 % 0",
        "#unheard_of",
        "5 if 1 else #unheard_of",
        "7 % 0.5",
        "NaN % 2",
        "1e300 % 7",
        "0 / 0",
        "NaN | 0",
        "NaN & 1"};
    for (size_t i = 0; i < SY_COUNT(unknown); i++) {
        if (!isnan(eval(unknown[i]))) {
            fail_msg("%s is %g, not NAN", unknown[i], eval(unknown[i]));
        }
    }
}

static void names_lose_their_escapes(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    struct sy_expr_names names = {0};
    struct sy_expr expr;
    struct sy_error error;
    const char *text =
        "cpu@UOPS.ANY\\,cmask\\=0x1@ + dash\\-event + cycles:k - cpu@UOPS.ANY\\,cmask\\=0x1@"
        " + hv@PM\\,chip\\=?@ + 0x1f + 3DNOW + #num_cpus-1";
    assert_int_equal(sy_expr_parse(arena, &names, text, strlen(text), &expr, &error), 0);
    const char *const wanted[] = {"cpu/UOPS.ANY,cmask=0x1/",
                                  "dash-event",
                                  "cycles:k",
                                  "hv/PM,chip=?/",
                                  "0x1f",
                                  "3DNOW",
                                  "num_cpus-1"};
    assert_int_equal(names.count, SY_COUNT(wanted));
    for (size_t i = 0; i < SY_COUNT(wanted); i++) {
        assert_string_equal(names.names[i], wanted[i]);
    }
    assert_int_equal(expr.nodes[expr.count - 2].op, SY_EXPR_LITERAL);
    for (uint32_t i = 0; i < expr.count; i++) { /* operands before what uses them */
        if (expr.nodes[i].op == SY_EXPR_ADD || expr.nodes[i].op == SY_EXPR_SUBTRACT) {
            assert_true(expr.nodes[i].a < i && expr.nodes[i].b < i);
        }
    }
    sy_expr_names_finish(&names);
    sy_arena_destroy(arena);
}

static void a_mistake_is_pointed_at(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t column;
        const char *says;
    } mistakes[] = {
        {"BAR/", 5, "ends here"},
        {"", 1, "ends here"},
        {"1 +* 2", 4, "not '*'"},
        {"(1 + 2", 7, "expected ')'"},
        {"1 2", 3, "expected an operator"},
        {"1 if 2", 7, "expected 'else'"},
        {"min(1)", 6, "expected ','"},
        {"min(1,2,3)", 8, "expected ')'"},
        {"has_event(1)", 11, "the name of an event"},
        {"sqrt(2)", 1, "there is no function 'sqrt'"},
        {"A $ B", 3, "'$' has no meaning"},
        {"A \\+ B", 3, "'\\' has no meaning"},
        {"A # B", 3, "'#' has no meaning"},
        {"min(1 if 2 else 3, 4)", 7, "expected ','"}, /* perf wants parentheses, too */
        {"1e999", 1, "too large"},
        {"else", 1, "expected a number"},
        {"\x01", 1, "0x01"},
        {"1 \xc3\xa9", 3, "0xc3"},
    };
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        struct sy_error error = {0};
        double unused;
        int code = parse(mistakes[i].text, strlen(mistakes[i].text), &error, &unused);
        if (code != -EINVAL || error.column != mistakes[i].column ||
            !strstr(error.message, mistakes[i].says)) {
            fail_msg("%s: %d, column %u: %s", mistakes[i].text, code, error.column, error.message);
        }
    }
    struct sy_error error = {0};
    double unused;
    assert_int_equal(parse("1\0+2", 4, &error, &unused), -EINVAL);
    assert_int_equal(error.column, 2);
}

static char *repeat(const char *head, const char *part, size_t count, const char *tail) {
    size_t length = strlen(part);
    char *text = malloc(strlen(head) + count * length + strlen(tail) + 1);
    char *at = stpcpy(text, head);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, part);
    }
    strcpy(at, tail);
    return text;
}

static void depth_and_length_are_bounded(void **state) {
    (void)state;
    static const struct {
        const char *head, *part, *tail;
    } deep[] = {{"", "(", "1"},      {"", "-", "1"},         {"", "1 if 1 else ", "1"},
                {"", "min(1,", "1"}, {"", "1 if (", "1"},    {"", "max(", "1"},
                {"1", "+1", ""},     {"", "has_event(", ""}, {"", "1|", "1"}};
    for (size_t i = 0; i < SY_COUNT(deep); i++) {
        char *text = repeat(deep[i].head, deep[i].part, 1000000, deep[i].tail);
        struct sy_error error = {0};
        double unused;
        assert_int_equal(parse(text, strlen(text), &error, &unused), -EINVAL);
        assert_true(error.message[0] && error.column);
        free(text);
    }
    char *text = repeat("", "(", 250, "1");
    char *closed = repeat(text, ")", 250, "");
    assert_true(eval(closed) == 1);
    free(text);
    free(closed);
    text = repeat("1", "+1", 30000, "");
    assert_true(eval(text) == 30001);
    free(text);
}

static void without_a_scope_nothing_is_known(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    struct sy_expr_names names = {0};
    const struct sy_expr_scope nothing = {0};
    struct sy_error error;
    static const struct {
        const char *text;
        bool known;
        double value;
    } cases[] = {
        {"A", false, 0},           {"#num_cpus", false, 0},          {"source_count(A)", false, 0},
        {"has_event(A)", true, 0}, {"strcmp_cpuid_str(A)", true, 0}, {"1+1", true, 2}};
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_expr expr;
        assert_int_equal(
            sy_expr_parse(arena, &names, cases[i].text, strlen(cases[i].text), &expr, &error), 0);
        double got = sy_expr_eval(&expr, names.names, &nothing);
        assert_true(cases[i].known ? got == cases[i].value : isnan(got));
    }
    sy_expr_names_finish(&names);
    sy_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perf_agrees),
        cmocka_unit_test(what_is_not_known_flows_as_in_perf),
        cmocka_unit_test(names_lose_their_escapes),
        cmocka_unit_test(a_mistake_is_pointed_at),
        cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(without_a_scope_nothing_is_known),
    };
    return cmocka_run_group_tests_name("listing_expr", tests, NULL, NULL);
}
