/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the bench counters: its traces, its readings, its baselines and its scores. What the
 * filter makes of them is the bench's business.
 */
#include "symph-bench/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HEAD                                                                                       \
    "{\"schema\":\"symph-traces-1\",\"length\":\"blocks\",\"events\":[\"a\",\"b\",\"c\",\"d\"],"
#define PROGRAM "{\"name\":\"p\",\"split\":\"development\",\"file\":\"p.csv\"}"
#define WHOLE                                                                                      \
    HEAD "\"fixed\":[\"a\"],\"relations\":[{\"out\":\"d\",\"terms\":{\"b\":1,\"c\":-2}}],"         \
         "\"programs\":[" PROGRAM "]}"

static struct sy_traces *parse(const char *text) {
    struct sy_traces *traces = NULL;
    struct sy_error error = {0};
    int code = sy_traces_parse("t.json", text, strlen(text), &traces, &error);
    assert_int_equal(code, 0);
    return traces;
}

/* Rows of a table: a is 1000, b grows by 100 a window, c is 500, d is what the relation says. */
static void fill(struct sy_traces *traces, uint32_t windows) {
    struct sy_buffer text = {0};
    struct sy_error error = {0};
    sy_buffer_printf(&text, "blocks,a,b,c,d\n");
    for (uint32_t t = 0; t < windows; t++) {
        uint32_t blocks = t % 2 ? 100 : 300, b = 2000 + 100 * t;
        sy_buffer_printf(&text, "%u,%g,%g,%g,%g\n", blocks, 1000 * blocks / 200.0,
                         b * blocks / 200.0, 500 * blocks / 200.0, (b - 1000) * blocks / 200.0);
    }
    int code = sy_traces_parse_series(traces, 0, "p.csv", text.text, text.length, &error);
    assert_int_equal(code, 0);
    sy_buffer_finish(&text);
}

static void test_traces(void **state) {
    (void)state;
    struct sy_traces *traces = parse(WHOLE);
    assert_int_equal(traces->event_count, 4);
    assert_true(traces->fixed[0] && !traces->fixed[1]);
    assert_int_equal(traces->relations[0].out, 3);
    assert_int_equal(traces->relations[0].term_count, 2);
    assert_true(traces->terms[1].coefficient == -2);
    assert_false(traces->series[0].held_out);
    fill(traces, 40);
    /* Windows of different length: rates, not counts. */
    for (uint32_t t = 0; t < 40; t++) {
        assert_true(fabs(traces->series[0].rates[t * 4] - 1000) < 1e-9);
        assert_true(fabs(traces->series[0].rates[t * 4 + 1] - (2000 + 100 * t)) < 1e-9);
    }
    sy_traces_destroy(traces);
}

static void test_bad_traces(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "end"},
        {"[]", "object"},
        {"{\"schema\":\"symph-traces-2\"}", "symph-traces-2"},
        {"{\"events\":[\"a\"],\"programs\":[" PROGRAM "]}", "schema"},
        {HEAD "\"programs\":[]}", "programs"},
        {HEAD "\"programs\":[{\"name\":\"p\"}]}", "file"},
        {HEAD "\"programs\":[{\"name\":\"p\",\"split\":\"x\",\"file\":\"f\"}]}", "held-out"},
        {HEAD "\"fixed\":[\"z\"],\"programs\":[" PROGRAM "]}", "'z'"},
        {HEAD "\"relations\":[{\"out\":\"d\"}],\"programs\":[" PROGRAM "]}", "terms"},
        {HEAD "\"relations\":[{\"out\":\"d\",\"terms\":{\"z\":1}}]}", "'z'"},
        {HEAD "\"relations\":[{\"out\":\"d\",\"terms\":{\"a\":1e99}}]}", "coefficient"},
        {HEAD "\"events\":[\"e\"]}", "twice"},
        {HEAD "\"fixed\":[\"a\",\"b\",\"c\",\"d\"],\"programs\":[" PROGRAM "]}", "fixed"},
    };
    for (size_t i = 0; i < SY_COUNT(bad); i++) {
        struct sy_traces *traces = NULL;
        struct sy_error error = {0};
        int code = sy_traces_parse("t.json", bad[i].text, strlen(bad[i].text), &traces, &error);
        assert_int_not_equal(code, 0);
        assert_null(traces);
        if (!strstr(error.message, bad[i].says)) {
            fail_msg("%s: '%s' is not in '%s'", bad[i].text, bad[i].says, error.message);
        }
    }
}

static void test_bad_tables(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "empty"},
        {"blocks,a,b,c\n", "d"},
        {"blocks,a,b,x,d\n", "'x'"},
        {"blocks,a,b,c,d\n1,2,3,4\n", "d"},
        {"blocks,a,b,c,d\n1,2,3,4,-5\n", "d"},
        {"blocks,a,b,c,d\n0,2,3,4,5\n", "blocks"},
        {"blocks,a,b,c,d\n1,2,3,4,nan\n", "d"},
        {"blocks,a,b,c,d\n1,2,3,4,5,6\n", ""},
        {"blocks,a,b,c,d\n1,2,3,4,5\n", "windows"},
    };
    for (size_t i = 0; i < SY_COUNT(bad); i++) {
        struct sy_traces *traces = parse(WHOLE);
        struct sy_error error = {0};
        int code =
            sy_traces_parse_series(traces, 0, "p.csv", bad[i].text, strlen(bad[i].text), &error);
        assert_int_not_equal(code, 0);
        if (!strstr(error.message, bad[i].says)) {
            fail_msg("%s: '%s' is not in '%s'", bad[i].text, bad[i].says, error.message);
        }
        sy_traces_destroy(traces);
    }
}

struct world {
    struct sy_traces *traces;
    struct sy_mux mux;
    struct sy_mux_guess guess;
};

static struct world world(double noise, double outliers) {
    struct world w = {.traces = parse(WHOLE)};
    fill(w.traces, 40);
    w.mux = (struct sy_mux){.traces = w.traces,
                            .series = w.traces->series,
                            .slots = 1,
                            .noise = noise,
                            .outliers = outliers,
                            .seed = 7};
    sy_mux_init(&w.mux);
    w.guess.rates = calloc(40 * 4, sizeof *w.guess.rates);
    return w;
}

static void finish(struct world *w) {
    free(w->guess.rates);
    sy_mux_finish(&w->mux);
    sy_traces_destroy(w->traces);
}

static void test_readings(void **state) {
    (void)state;
    struct world w = world(0.1, 0.1);
    assert_int_equal(w.mux.order_count, 3);
    assert_int_equal(sy_mux_rotation(&w.mux), 3);
    uint32_t gross = 0, different = 0;
    for (uint32_t t = 0; t < 40; t++) {
        for (uint32_t i = 0; i < 4; i++) {
            double truth = w.traces->series[0].rates[t * 4 + i];
            double read = sy_mux_read(&w.mux, t, i);
            assert_true(read == sy_mux_read(&w.mux, t, i)); /* whoever asks, and when */
            gross += read > 5 * truth || read < truth / 5;
            different += read != truth;
        }
    }
    assert_true(gross > 2 && gross < 50); /* 16 of 160 expected */
    assert_int_equal(different, 160);
    finish(&w);
}

static void test_baselines(void **state) {
    (void)state;
    struct world w = world(0, 0);
    /* b, on one of three windows: within a rotation time-scaling says what it read there. */
    sy_guess_time_scaling(&w.mux, &w.guess);
    double worst = 0;
    for (uint32_t t = 0; t < 39; t++) {
        assert_true(fabs(w.guess.rates[t * 4] - 1000) < 1e-9);
        worst = fmax(worst, fabs(w.guess.rates[t * 4 + 1] - (2000 + 100 * t)));
        assert_true(w.guess.rates[t * 4 + 1] == w.guess.rates[t / 3 * 12 + 1]);
    }
    assert_true(fabs(worst - 100) < 1e-6 || fabs(worst - 200) < 1e-6);
    /* Straight lines are found exactly once two readings are there. */
    sy_guess_interpolation(&w.mux, &w.guess);
    for (uint32_t t = 3; t < 36; t++) {
        assert_true(fabs(w.guess.rates[t * 4 + 1] - (2000 + 100 * t)) < 1e-6);
    }
    /* Hold-last knows nothing of what is to come. */
    sy_guess_hold_last(&w.mux, &w.guess);
    for (uint32_t t = 3; t < 40; t++) {
        double late = 2000 + 100 * t - w.guess.rates[t * 4 + 1];
        assert_true(late > -1e-6 && late < 200 + 1e-6);
    }
    finish(&w);
}

static void test_scores(void **state) {
    (void)state;
    struct world w = world(0, 0);
    struct sy_score score;
    size_t cells = 40 * 4;
    memcpy(w.guess.rates, w.traces->series[0].rates, cells * sizeof *w.guess.rates);
    sy_score_guess(&w.mux, &w.guess, &score);
    assert_true(score.wape == 0 && score.median == 0 && score.rotation_wape == 0);
    assert_true(isnan(score.coverage));
    /* 10 % too much on every other window: 5 % in the mean, 10 % at worst. */
    double *band = calloc(2 * cells, sizeof *band);
    w.guess.low = band;
    w.guess.high = band + cells;
    for (uint32_t t = 0; t < 40; t++) {
        for (uint32_t i = 0; i < 4; i++) {
            double truth = w.traces->series[0].rates[t * 4 + i];
            w.guess.rates[t * 4 + i] = truth * (t % 2 ? 1.1 : 1);
            w.guess.low[t * 4 + i] = truth * 0.9;
            w.guess.high[t * 4 + i] = truth * (t % 4 ? 1.1 : 0.95);
        }
    }
    sy_score_guess(&w.mux, &w.guess, &score);
    assert_true(fabs(score.wape - 0.05) < 0.002);
    assert_true(fabs(score.median - 0.05) < 1e-6);
    assert_true(fabs(score.coverage - 0.75) < 1e-9);
    free(band);
    finish(&w);
}

/* A filter that starts where the truth is, and may read nearly everything, is nearly right. */
static void test_filter(void **state) {
    (void)state;
    struct world w = world(0.01, 0);
    struct sy_mux_config config = {.method = SY_MUX_SEEN, .noise = 0.01, .relations = UINT32_MAX};
    struct sy_model *model = NULL;
    struct sy_error error = {0};
    struct sy_score score;
    double *band = calloc(2 * 40 * 4, sizeof *band);
    w.guess.low = band;
    w.guess.high = band + 40 * 4;
    w.mux.slots = 3;
    int code = sy_mux_model(w.traces, 0, &config, 1, &model, &error);
    assert_int_equal(code, 0);
    assert_int_equal(model->variable_count, 4);
    assert_int_equal(model->factor_count, 1);
    code = sy_guess_filter(&w.mux, &config, model, &w.guess);
    assert_int_equal(code, 0);
    sy_score_guess(&w.mux, &w.guess, &score);
    assert_true(score.wape < 0.05);
    sy_model_destroy(model);
    config.relations = 0;
    code = sy_mux_model(w.traces, 0, &config, 1, &model, &error);
    assert_int_equal(code, 0);
    assert_int_equal(model->factor_count, 0);
    sy_model_destroy(model);
    free(band);
    finish(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traces),     cmocka_unit_test(test_bad_traces),
        cmocka_unit_test(test_bad_tables), cmocka_unit_test(test_readings),
        cmocka_unit_test(test_baselines),  cmocka_unit_test(test_scores),
        cmocka_unit_test(test_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
