/* SPDX-License-Identifier: Apache-2.0
 *
 * Recordings: exact both ways, and one clear error for what is wrong.
 */
#include "../base/check.h"
#include "counters/counters.h"

#include <errno.h>
#include <string.h>

static const char head[] = "symph-counters-1\n"
                           "pmu cpu0 4\n"
                           "counter perf.cpu0.cycles perf cycles rate /s cpu 0 0.01 cpu0\n"
                           "counter tasks.my%20kernel tasks my%20kernel level s kernel 0 0.1 -\n"
                           "counter a - %2d share - machine 0 0 -\n";

static struct sy_recording *parse(const char *text) {
    struct sy_recording *recording = NULL;
    struct sy_error error = {0};
    if (sy_recording_read("test", text, strlen(text), &recording, &error)) {
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    }
    return recording;
}

static void test_words(void **state) {
    (void)state;
    struct sy_recording *recording = parse(head);
    assert_int_equal(recording->counter_count, 3);
    assert_string_equal(recording->counters[1].name, "tasks.my kernel");
    assert_string_equal(recording->counters[2].source, "");
    assert_string_equal(recording->counters[2].event, "-");
    assert_int_equal(recording->counters[0].pmu, 0);
    assert_int_equal(recording->counters[1].pmu, SY_PMU_NONE);
    assert_int_equal(recording->counters[1].scope, SY_SCOPE_KERNEL);
    assert_int_equal(recording->pmus[0].slots, 4);
    sy_recording_destroy(recording);
}

static void test_head_is_exact(void **state) {
    (void)state;
    struct sy_recording *recording = parse(head);
    struct sy_buffer buffer = {0};
    sy_recording_write_head(&buffer, recording->counters, recording->counter_count, recording->pmus,
                            recording->pmu_count);
    assert_string_equal(buffer.text, head);
    sy_buffer_finish(&buffer);
    sy_recording_destroy(recording);
}

/* Any numbers: what is written is read back bit by bit. */
static void test_samples_are_exact(void **state) {
    (void)state;
    enum { READS = 200, COUNTERS = 3 };
    struct sy_rng rng = seeded_rng(41);
    struct sy_sample samples[READS][COUNTERS] = {0};
    struct sy_buffer buffer = {0};
    sy_buffer_append(&buffer, head, strlen(head));
    double end_ns = -1e9;
    for (uint32_t i = 0; i < READS; i++) {
        double start_ns = end_ns;
        end_ns += 1e7 * (0.5 + sy_rng_uniform(&rng));
        for (uint32_t j = 0; j < COUNTERS; j++) {
            samples[i][j] = (struct sy_sample){
                .counter = (j + i) % COUNTERS,
                .value = exp(20 * sy_rng_normal(&rng)),
                .start_ns =
                    sy_rng_below(&rng, 4) ? start_ns : start_ns - 1e7 * sy_rng_uniform(&rng),
                .end_ns = end_ns,
                .running_ratio = sy_rng_below(&rng, 2) ? 1 : 1 - 0.999 * sy_rng_uniform(&rng),
                .noise_ratio = sy_rng_below(&rng, 2) ? 0 : sy_rng_uniform(&rng)};
        }
        sy_recording_write(&buffer, samples[i], COUNTERS);
    }
    struct sy_recording *recording = parse(buffer.text);
    assert_int_equal(recording->sample_count, READS * COUNTERS);
    for (uint32_t i = 0; i < READS * COUNTERS; i++) {
        const struct sy_sample *a = &samples[0][0] + i, *b = &recording->samples[i];
        assert_int_equal(a->counter, b->counter);
        assert_true(a->value == b->value && a->start_ns == b->start_ns && a->end_ns == b->end_ns);
        assert_true(a->running_ratio == b->running_ratio && a->noise_ratio == b->noise_ratio);
    }
    sy_recording_destroy(recording);
    sy_buffer_finish(&buffer);
}

/* Ends that differ within one call are put in order, a line each. */
static void test_ends_are_sorted(void **state) {
    (void)state;
    const struct sy_sample samples[] = {
        {.counter = 0, .value = 1, .start_ns = 0, .end_ns = 20, .running_ratio = 1},
        {.counter = 1, .value = 2, .start_ns = 0, .end_ns = 10, .running_ratio = 1},
        {.counter = 2, .value = 0.5, .start_ns = 5, .end_ns = 20, .running_ratio = 1}};
    struct sy_buffer buffer = {0};
    sy_recording_write(&buffer, samples, 3);
    assert_string_equal(buffer.text, "read 10 0 1=2\nread 20 0 0=1 2=0.5,s=5\n");
    sy_buffer_finish(&buffer);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *more;
        uint32_t line, column;
        const char *says;
    } wrong[] = {
        {"pmu cpu1 4\n", 6, 1, "before counters"},
        {"counter a - - rate - cpu 0 0 -\n", 6, 9, "already is a counter 'a'"},
        {"counter b - - speed - cpu 0 0 -\n", 6, 15, "'speed' is no kind"},
        {"counter b - - rate - cpus 0 0 -\n", 6, 22, "'cpus' is no scope"},
        {"counter b - - rate - cpu 0 0 cpu7\n", 6, 30, "no pmu 'cpu7'"},
        {"counter b%0a - - rate - cpu 0 0 -\n", 6, 10, "two digits"},
        {"counter b - - rate - cpu 0 0 - x\n", 6, 32, "too many"},
        {"read 1 0 3=1\n", 6, 10, "no counter 3"},
        {"read 1 0 0=1 0=2\n", 6, 14, "twice"},
        {"read 1 0 0=-1\n", 6, 12, "the value"},
        {"read 1 0 0=nan\n", 6, 12, "the value"},
        {"read 1 0 0=1e999\n", 6, 12, "the value"},
        {"read 1 0 0=1,r=0\n", 6, 16, "running ratio"},
        {"read 1 0 0=1,q=0\n", 6, 14, "expected r="},
        {"read 1 2 0=1\n", 6, 8, "start of the window"},
        {"read 1 0\n", 6, 9, "a sample is missing"},
        {"read 5 0 0=1\nread 5 0 0=1\n", 7, 6, "after the previous one"},
        {"read 5 0 0=1\ncounter z - - rate - cpu 0 0 -\n", 7, 1, "before reads"},
        {"frob\n", 6, 1, "expected pmu"},
    };
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        char text[1024];
        struct sy_recording *recording = NULL;
        struct sy_error error = {0};
        snprintf(text, sizeof text, "%s%s", head, wrong[i].more);
        assert_int_equal(sy_recording_read("f", text, strlen(text), &recording, &error), -EINVAL);
        if (error.line != wrong[i].line || error.column != wrong[i].column ||
            !strstr(error.message, wrong[i].says)) {
            fail_msg("%s%u:%u: %s", wrong[i].more, error.line, error.column, error.message);
        }
        assert_null(recording);
    }
    struct sy_recording *recording = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_recording_read("f", "", 0, &recording, &error), -EINVAL);
    assert_int_equal(sy_recording_read("f", "symph-counters-1\n", 17, &recording, &error), -EINVAL);
}

/* A recording as the only source: its clock is the clock. */
static void test_replay(void **state) {
    (void)state;
    char path[] = "/tmp/symph-recording-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fprintf(file, "%sread 10 0 0=5 1=6\nread 30 10 2=0.5\n", head);
    fclose(file);
    const struct sy_sources_options options = {.replay = path};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_sources_open(&options, &sources, &error), 0);
    struct sy_sample samples[3];
    uint32_t count, all[] = {0, 0, 0, 0, 0};
    assert_non_null(sy_sources_counters(sources, &count));
    assert_int_equal(count, 3);
    assert_int_equal(sy_sources_select(sources, all, 4), 0);
    assert_int_equal(sy_sources_select(sources, all, 5), -ENOSPC);
    all[0] = 3;
    assert_int_equal(sy_sources_select(sources, all, 1), -EINVAL);
    assert_int_equal(sy_sources_read(sources, 12345, samples, 3), 2);
    assert_true(samples[1].value == 6 && samples[1].end_ns == 10);
    assert_int_equal(sy_sources_read(sources, 0, samples, 3), 1);
    assert_int_equal(sy_sources_read(sources, 0, samples, 3), -ENODATA);
    sy_sources_close(sources);
    remove(path);
    assert_int_equal(sy_sources_open(&options, &sources, &error), -ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_head_is_exact),
        cmocka_unit_test(test_samples_are_exact),
        cmocka_unit_test(test_ends_are_sorted),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
