/* SPDX-License-Identifier: Apache-2.0
 *
 * The option parser: every form it takes, and every mistake it answers with exit code 2.
 */
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

struct args {
    struct sy_common_args common;
    const char *text;
    struct sy_text_list graphs, fails, operands;
    uint32_t seeds;
    uint64_t seed;
    double noise;
    bool seed_given;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "machine", "M", AT(text), "a machine"},
    {SY_OPTION_LIST, "graphs", "FILE...", AT(graphs), "graphs"},
    {SY_OPTION_REPEAT, "fail", "D@T", AT(fails), "failures"},
    {SY_OPTION_HEADING, .help = "Numbers"},
    {SY_OPTION_U32, "seeds", "N", AT(seeds), "seeds", 1, 100},
    {SY_OPTION_U64, "seed", "N", AT(seed), "base", 0, 1e15, AT(seed_given)},
    {SY_OPTION_NUMBER, "noise", "SIGMA", AT(noise), "noise", 0, 3},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "test",
    .usage = "[OPTION]...",
    .examples = "  symph test --seeds 3",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(operands),
    .operand_max = 2,
};

/* Returns -1 when parsing says "go on", else the exit code. */
static int parse(struct args *args, const char *line) {
    static char copy[256];
    char *argv[32] = {"test"};
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    *args = (struct args){0};
    int code = -2;
    return sy_options_parse(&command, argc, argv, args, &code) ? -1 : code;
}

static void finish(struct args *args) {
    sy_text_list_finish(&args->graphs);
    sy_text_list_finish(&args->fails);
    sy_text_list_finish(&args->operands);
}

static void takes_both_forms(void **state) {
    (void)state;
    struct args args;
    assert_int_equal(parse(&args, "--machine cpu:2 --seeds=7 --noise 0.25 --json"), -1);
    assert_string_equal(args.text, "cpu:2");
    assert_int_equal(args.seeds, 7);
    assert_true(args.noise == 0.25);
    assert_true(args.common.json);
    assert_false(args.common.quiet);
    assert_false(args.seed_given);
    assert_int_equal(parse(&args, "--machine=a=b --seed 0"), -1);
    assert_string_equal(args.text, "a=b");
    assert_true(args.seed_given);
    finish(&args);
}

static void lists_end_at_the_next_option(void **state) {
    (void)state;
    struct args args;
    assert_int_equal(parse(&args, "--graphs a b c --seeds 2 d --graphs=e"), -1);
    assert_int_equal(args.graphs.count, 4);
    assert_string_equal(args.graphs.items[2], "c");
    assert_string_equal(args.graphs.items[3], "e");
    assert_int_equal(args.operands.count, 1);
    assert_string_equal(args.operands.items[0], "d");
    finish(&args);
}

static void repeats_take_one_value_each(void **state) {
    (void)state;
    struct args args;
    assert_int_equal(parse(&args, "--fail x@1 y --fail z@2"), -1);
    assert_int_equal(args.fails.count, 2);
    assert_string_equal(args.fails.items[1], "z@2");
    assert_int_equal(args.operands.count, 1);
    finish(&args);
}

static void two_dashes_end_the_options(void **state) {
    (void)state;
    struct args args;
    assert_int_equal(parse(&args, "-- --json -"), -1);
    assert_false(args.common.json);
    assert_int_equal(args.operands.count, 2);
    assert_string_equal(args.operands.items[0], "--json");
    finish(&args);
}

static void mistakes_are_usage_errors(void **state) {
    (void)state;
    static const char *const lines[] = {
        "--sedes 3",       "--seeds",          "--seeds 0",          "--seeds 101",
        "--seeds 1.5",     "--seeds -1",       "--noise -1",         "--noise nan",
        "--noise x",       "--noise 0.1x",     "--json=yes",         "-x",
        "a b c",           "--machine --json", "--seeds 4294967297", "--seed 99999999999999999999",
        "--graphs --json",
    };
    for (size_t i = 0; i < SY_COUNT(lines); i++) {
        struct args args;
        int code = parse(&args, lines[i]);
        if (code != SY_EXIT_USAGE) {
            fail_msg("'%s' gave %d", lines[i], code);
        }
        finish(&args);
    }
}

static void help_names_every_option(void **state) {
    (void)state;
    struct sy_buffer buffer = {0};
    sy_options_help(&command, &buffer);
    sy_buffer_append(&buffer, "", 1);
    assert_false(buffer.failed);
    assert_ptr_equal(strstr(buffer.text, "Examples:"), buffer.text);
    for (size_t i = 0; i < SY_COUNT(options); i++) {
        char word[64];
        snprintf(word, sizeof(word), "  --%s", options[i].name ? options[i].name : "help");
        assert_non_null(strstr(buffer.text, word));
    }
    assert_non_null(strstr(buffer.text, "\nNumbers:\n"));
    sy_buffer_finish(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_both_forms),
        cmocka_unit_test(lists_end_at_the_next_option),
        cmocka_unit_test(repeats_take_one_value_each),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(mistakes_are_usage_errors),
        cmocka_unit_test(help_names_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
