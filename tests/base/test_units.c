/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <string.h>

typedef bool parser(const char *text, size_t length, double *ret_value);

static double parsed(parser *parse, const char *text) {
    double value = -1;
    return parse(text, strlen(text), &value) ? value : -1;
}

static void refuses(parser *parse, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (parsed(parse, texts[i]) != -1) {
            fail_msg("'%s' was taken", texts[i]);
        }
    }
}

static void times(void **state) {
    (void)state;
    static const char *const wrong[] = {"",     "2",  "ms", "-1s", "1x",  "s",    "1 s", "nan",
                                        "infs", "1m", "2S", "1e9", "0.5", "1mss", "h",   "1ss"};
    assert_near(parsed(sy_parse_time, "10ns"), 10, 0);
    assert_near(parsed(sy_parse_time, "2us"), 2000, 0);
    assert_near(parsed(sy_parse_time, "1.5ms"), 1.5e6, 1e-6);
    assert_near(parsed(sy_parse_time, "0.5s"), 5e8, 0);
    assert_near(parsed(sy_parse_time, "3min"), 1.8e11, 0);
    assert_near(parsed(sy_parse_time, "1h"), 3.6e12, 0);
    assert_near(parsed(sy_parse_time, "1e-3s"), 1e6, 0);
    assert_near(parsed(sy_parse_time, "0"), 0, 0);
    assert_near(parsed(sy_parse_time, "0ms"), 0, 0);
    refuses(sy_parse_time, wrong, SY_COUNT(wrong));
}

static void sizes(void **state) {
    (void)state;
    static const char *const wrong[] = {"16",  "GB",   "1.GB", "1..2GB", "1gb",
                                        "-1B", "1 GB", "1GBB", "8e9",    "1GB/s"};
    assert_near(parsed(sy_parse_size, "16GB"), 16e9, 0);
    assert_near(parsed(sy_parse_size, "1.5KiB"), 1536, 0);
    assert_near(parsed(sy_parse_size, "1e3B"), 1000, 0);
    assert_near(parsed(sy_parse_size, "0"), 0, 0);
    refuses(sy_parse_size, wrong, SY_COUNT(wrong));
}

static void rates(void **state) {
    (void)state;
    static const char *const bandwidths[] = {"/s", "40", "40GB", "40/s", "-1GB/s", "40GB/h"};
    static const char *const prices[] = {"2.5", "/h", "2.5h", "-1/h", "2.5/y", "free"};
    assert_near(parsed(sy_parse_bandwidth, "2.5TB/s"), 2.5e12, 0);
    assert_near(parsed(sy_parse_bandwidth, "1MiB/s"), 1048576, 0);
    refuses(sy_parse_bandwidth, bandwidths, SY_COUNT(bandwidths));
    assert_near(parsed(sy_parse_price, "2.5/h"), 2.5, 0);
    assert_near(parsed(sy_parse_price, "1/min"), 60, 0);
    assert_near(parsed(sy_parse_price, "0"), 0, 0);
    refuses(sy_parse_price, prices, SY_COUNT(prices));
}

static void only_successes_are_written(void **state) {
    (void)state;
    static const struct sy_unit_name none[] = {{NULL, 0}};
    double value = 7;
    assert_false(sy_parse_time("5", 1, &value));
    assert_near(value, 7, 0);
    assert_false(sy_parse_quantity("5", 1, none, &value));
    assert_near(value, 7, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),
        cmocka_unit_test(sizes),
        cmocka_unit_test(rates),
        cmocka_unit_test(only_successes_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
