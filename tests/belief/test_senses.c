/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples to what is believed of the resources: loads that jump are followed through counters
 * of traffic and through events that make it up, wild readings cost little, our own traffic is not
 * blamed on others, durations teach where no counter does, and a recording that goes through the
 * sources gives the same belief, to the last bit, as the same samples handed over.
 */
#include "base/base.h"
#include "belief/watch.h"
#include "belief/witness.h"

#include <errno.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GB      1e9
#define STEP_NS 2e6
#define DRAM    (40 * GB)

static const struct sy_counter traffic[] = {
    {"a", "test", "dram0", SY_COUNTER_RATE, "B/s", SY_SCOPE_MACHINE, 0, 0.4, 0},
    {"b", "test", "dram1", SY_COUNTER_RATE, "B/s", SY_SCOPE_MACHINE, 0, 0.4, 0},
};
static const struct sy_counter events[] = {
    {"r0", "test", "unc_m_cas_count.rd", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 0, 0.4, 0},
    {"w0", "test", "unc_m_cas_count.wr", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 0, 0.4, 0},
    {"m0", "test", "longest_lat_cache.miss", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 0, 0.4, 0},
    {"r1", "test", "unc_m_cas_count.rd", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 1, 0.4, 0},
    {"w1", "test", "unc_m_cas_count.wr", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 1, 0.4, 0},
    {"m1", "test", "longest_lat_cache.miss", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 1, 0.4, 0},
};

struct rig {
    struct sy_machine *machine;
    struct sy_arena *arena;
    struct sy_pmu pmu;
    struct sy_senses *senses;
    uint32_t chosen[16], chosen_count;
    double now_ns;
};

static void rig_open(struct rig *r, const struct sy_counter *counters, uint32_t count,
                     uint32_t slots) {
    struct sy_error error = {0};
    *r = (struct rig){.arena = sy_arena_create(), .pmu = {"test", slots}};
    assert_int_equal(sy_machine_parse("2x(cpu:4 dram:40GB/s)", &r->machine, &error), 0);
    r->senses = sy_senses_create(r->arena, &(struct sy_senses_options){.machine = r->machine,
                                                                       .counters = counters,
                                                                       .counter_count = count,
                                                                       .pmus = &r->pmu,
                                                                       .pmu_count = 1,
                                                                       .kernel_count = 2,
                                                                       .draw_capacity = 8,
                                                                       .step_ns = STEP_NS});
    assert_non_null(r->senses);
    r->chosen_count = sy_senses_choose(r->senses, r->chosen);
    assert_true(r->chosen_count == (slots < count ? slots : count));
}

static void rig_close(struct rig *r) {
    sy_arena_destroy(r->arena);
    sy_machine_destroy(r->machine);
}

/* One window in which each memory moved so much, seen through the chosen counters. part: of the
 * traffic that a counter counts, in its unit. */
static void window(struct rig *r, const double *rate, double (*part)(uint32_t counter),
                   struct sy_rng *rng, double outliers) {
    struct sy_sample samples[16];
    r->now_ns += STEP_NS;
    for (uint32_t i = 0; i < r->chosen_count; i++) {
        uint32_t c = r->chosen[i], memory = part ? c / 3 : c;
        double value = rate[memory] * (part ? part(c) : 1);
        value *= rng ? fmax(0, 1 + 0.4 * sy_rng_student(rng, 4)) : 1;
        if (rng && sy_rng_uniform(rng) < outliers) {
            value *= sy_rng_uniform(rng) < 0.5 ? 10 : 0.1;
        }
        samples[i] = (struct sy_sample){c, value, r->now_ns - STEP_NS, r->now_ns, 1, 0};
    }
    sy_senses_read(r->senses, r->now_ns, samples, r->chosen_count);
    r->chosen_count = sy_senses_choose(r->senses, r->chosen);
}

static double part_of_event(uint32_t counter) {
    static const double parts[] = {0.72, 0.28, 0.65}; /* not what one expects */
    return parts[counter % 3] / 64;
}

/* Mean error of a load that comes and goes, in shares of the capacity; and how often inside. */
static double follow(const struct sy_counter *counters, uint32_t count, uint32_t slots,
                     double (*part)(uint32_t), double outliers, double *ret_covered) {
    enum { WINDOWS = 8000, WARM = 1000 };
    double error = 0, covered = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 1, 0), noise = sy_rng_make(seed, 2, 0);
        double rate[2] = {0, 0};
        uint32_t left[2] = {30, 60};
        struct rig r;
        rig_open(&r, counters, count, slots);
        for (uint32_t t = 0; t < WINDOWS; t++) {
            for (uint32_t m = 0; m < 2; m++) {
                if (left[m]-- == 0) {
                    left[m] = (uint32_t)(200 * sy_rng_exponential(&rng)) + 1;
                    rate[m] = rate[m] > 0 ? 0 : DRAM * (0.3 + 0.6 * sy_rng_uniform(&rng));
                }
            }
            window(&r, rate, part, &noise, outliers);
            for (uint32_t m = 0; m < 2 && t >= WARM; m++) {
                struct sy_sensed sensed = sy_senses_resource(r.senses, m);
                double low, high;
                sy_senses_band(r.senses, m, &low, &high);
                assert_true(low <= sensed.median && sensed.median <= high);
                error += fabs(sensed.median - rate[m]) / DRAM;
                covered += rate[m] >= low - 0.025 * DRAM && rate[m] <= high + 0.025 * DRAM;
            }
        }
        rig_close(&r);
    }
    *ret_covered = covered / (3 * 2 * (WINDOWS - WARM));
    return error / (3 * 2 * (WINDOWS - WARM));
}

static void traffic_is_followed(void **state) {
    (void)state;
    double covered, error = follow(traffic, 2, 1, NULL, 0, &covered);
    if (error > 0.035 || covered < 0.93) {
        fail_msg("error %.4f, covered %.3f", error, covered);
    }
    double wild_covered, wild = follow(traffic, 2, 1, NULL, 0.03, &wild_covered);
    if (wild > 1.1 * error + 0.001 || wild_covered < 0.93) {
        fail_msg("with wild readings %.4f for %.4f, covered %.3f", wild, error, wild_covered);
    }
}

/* The ratios of the events are learned; what is known of them beforehand is wrong. */
static void events_are_followed(void **state) {
    (void)state;
    double covered, error = follow(events, 6, 3, part_of_event, 0, &covered);
    if (error > 0.035 || covered < 0.9) {
        fail_msg("error %.4f, covered %.3f", error, covered);
    }
}

static struct sy_draw on(const uint32_t *resource, const double *bytes_per_s) {
    return (struct sy_draw){1, resource, bytes_per_s};
}

static void own_traffic_is_not_others(void **state) {
    (void)state;
    const uint32_t first = 0;
    const double demand = 30 * GB;
    struct rig r;
    rig_open(&r, traffic, 2, 2);
    sy_senses_begin(r.senses, 0);
    sy_senses_draws(r.senses, on(&first, &demand));
    sy_senses_ready(r.senses);
    for (uint32_t t = 0; t < 300; t++) {
        sy_senses_moved(r.senses, 1, 20 * GB * STEP_NS * 1e-9); /* copies cross the second */
        window(&r, (double[]){30 * GB, 20 * GB}, NULL, NULL, 0);
    }
    assert_true(sy_senses_resource(r.senses, 0).others < 0.05 * DRAM);
    assert_true(sy_senses_resource(r.senses, 1).others < 0.05 * DRAM);
    assert_true(fabs(sy_senses_resource(r.senses, 0).total - 30 * GB) < 0.05 * DRAM);
    /* Others come, the memory is full, and we get less than we want: they do not vanish. */
    double before_ns = r.now_ns;
    for (uint32_t t = 0; t < 300; t++) {
        sy_senses_begin(r.senses, r.now_ns);
        sy_senses_draws(r.senses, on(&first, &demand));
        sy_senses_ready(r.senses);
        window(&r, (double[]){40 * GB, 20 * GB}, NULL, NULL, 0);
    }
    assert_true(sy_senses_resource(r.senses, 0).others > 0.3 * DRAM);
    assert_true(sy_senses_resource(r.senses, 1).others > 0.4 * DRAM);
    assert_true(sy_senses_resource(r.senses, 1).changed_ns >= before_ns);
    rig_close(&r);
}

/* No counters at all: tasks that lean on the memory take longer, so somebody else uses it. */
static void durations_teach(void **state) {
    (void)state;
    const uint32_t first = 0;
    const double demand = 30 * GB;
    struct rig r;
    rig_open(&r, NULL, 0, 1);
    assert_true(sy_senses_resource(r.senses, 0).seen_ns < 0);
    for (uint32_t i = 0; i < 200; i++) {
        double ratio = i < 100 ? 1 : 1.8;
        sy_senses_begin(r.senses, r.now_ns);
        sy_senses_draws(r.senses, on(&first, &demand));
        sy_senses_ready(r.senses);
        r.now_ns += 1e7 * ratio;
        sy_senses_begin(r.senses, r.now_ns);
        sy_senses_draws(r.senses, on(&first, &demand));
        sy_senses_ready(r.senses);
        sy_senses_ended(r.senses, 0, 0, on(&first, &demand), 1e7, 1e7 * ratio, 0.05);
        double others = sy_senses_resource(r.senses, 0).others;
        if (i == 99) {
            assert_true(others < 0.2 * DRAM);
            sy_senses_ended(r.senses, 0, 0, on(&first, &demand), 1e7, 1e9, 0.05); /* a wild one */
            assert_true(sy_senses_resource(r.senses, 0).others < 0.5 * DRAM);
        }
        if (i == 110) {
            assert_true(others > 0.4 * DRAM);
        }
    }
    sy_senses_ended(r.senses, 0, 0, on(&first, &demand), 1e7, NAN, 0.05);
    sy_senses_ended(r.senses, 0, 0, on(&first, &demand), 0, 1, 0.05);
    sy_senses_ended(r.senses, 0, 0, (struct sy_draw){0, NULL, NULL}, 1, 1, 0.05);
    assert_true(sy_senses_resource(r.senses, 1).seen_ns < 0); /* nobody spoke of it */
    rig_close(&r);
}

static void odd_samples_do_no_harm(void **state) {
    (void)state;
    const double odd[] = {NAN, INFINITY, -1, 0, 1e300, 0.5};
    struct rig r;
    rig_open(&r, events, 6, 6);
    for (uint32_t i = 0; i < 600; i++) {
        struct sy_sample samples[3] = {{.counter = i % 9, .value = odd[i % 6], .running_ratio = 1},
                                       {.counter = 1, .value = odd[i / 7 % 6], .running_ratio = 0},
                                       {.counter = UINT32_MAX, .value = 1, .running_ratio = 1}};
        r.now_ns += i % 11 ? STEP_NS : i % 3 ? -STEP_NS : 1e15;
        sy_senses_read(r.senses, r.now_ns, samples, 3);
        (void)sy_senses_choose(r.senses, r.chosen);
        for (uint32_t k = 0; k < r.machine->resource_count; k++) {
            struct sy_sensed s = sy_senses_resource(r.senses, k);
            double most = r.machine->resources[k].bytes_per_s * 1.001;
            assert_true(s.others >= 0 && s.others <= most && s.others_sd >= 0);
            assert_true(s.total >= 0 && s.total <= most && isfinite(s.others_sd));
        }
    }
    rig_close(&r);
}

static void levels_stay_a_distribution(void **state) {
    (void)state;
    struct sy_levels levels;
    struct sy_outlook outlook = {0};
    double now_ns = 0;
    float share[SY_LEVELS_ROW], impossible[SY_LEVELS_ROW] = {0}, odd[SY_LEVELS_ROW];
    sy_levels_init(&levels, 1, &outlook, 3);
    for (uint32_t i = 0; i < 60; i++) {
        now_ns += i % 7 ? 1 : 1e9;
        for (uint32_t k = 0; k < SY_LEVELS_ROW; k++) {
            odd[k] = i % 2 ? 1e-30f : i % 3 ? 1e30f : (float)(k == i % SY_LEVELS);
        }
        sy_levels_weigh(&levels, now_ns, i % 5 ? odd : impossible);
        sy_levels_at(&levels, now_ns, share);
        float sum = 0;
        for (uint32_t k = 0; k < SY_LEVELS_ROW; k++) {
            assert_true(share[k] >= 0);
            sum += share[k];
        }
        assert_true(fabsf(sum - 1) < 0.01f);
    }
}

/* What is predicted without the grid, what the grid says then, and what it says once nothing in
 * particular was seen then, are the same; but for how much is forgotten with each look. */
static void levels_fade_as_predicted(void **state) {
    (void)state;
    struct sy_levels levels[8];
    struct sy_outlook outlook;
    struct sy_rng rng = sy_rng_make(5, 1, 0);
    float row[SY_LEVELS_ROW], after[SY_LEVELS_ROW], mean[8], sd[8];
    double now_ns = 0;
    for (uint32_t i = 0; i < 8; i++) {
        sy_levels_init(&levels[i], STEP_NS, &outlook, i);
    }
    for (uint32_t t = 0; t < 2000; t++) {
        uint32_t lane = sy_rng_below(&rng, 8);
        float at = (float)sy_rng_uniform(&rng);
        for (uint32_t k = 0; k < SY_LEVELS_ROW; k++) {
            row[k] = 0.01f + expf(-50 * (sy_level(k) - at) * (sy_level(k) - at));
        }
        sy_levels_weigh(&levels[lane], now_ns, row);
        now_ns += STEP_NS * sy_rng_exponential(&rng) * (t % 9 ? 1 : 1000);
        sy_levels_predict(&outlook, 1, now_ns, mean, sd);
        for (uint32_t i = 0; i < 8; i++) {
            double first = 0, second = 0;
            sy_levels_at(&levels[i], now_ns, row);
            for (uint32_t k = 0; k < SY_LEVELS; k++) {
                first += (double)(row[k] * sy_level(k));
                second += (double)(row[k] * sy_level(k) * sy_level(k));
            }
            assert_true(fabs(first - (double)mean[i]) < 1e-5);
            assert_true(fabs(second - first * first - (double)(sd[i] * sd[i])) < 1e-5);
        }
        for (uint32_t k = 0; k < SY_LEVELS_ROW; k++) {
            after[k] = 1;
        }
        sy_levels_weigh(&levels[7], now_ns, after);
        sy_levels_at(&levels[7], now_ns, after);
        for (uint32_t k = 0; k < SY_LEVELS_ROW; k++) {
            assert_true(fabsf(after[k] - row[k]) < 2e-3f);
        }
    }
}

/* Each counter gets its turn, and what competes for a slot never exceeds them. */
static void every_counter_is_read(void **state) {
    (void)state;
    struct rig r;
    uint32_t read[6] = {0};
    rig_open(&r, events, 6, 2);
    for (uint32_t t = 0; t < 300; t++) {
        assert_int_equal(r.chosen_count, 2);
        for (uint32_t i = 0; i < 2; i++) {
            read[r.chosen[i]]++;
        }
        window(&r, (double[]){10 * GB, 0}, part_of_event, NULL, 0);
    }
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(read[i] >= 30);
    }
    rig_close(&r);
}

/* Channels of one socket add up: half of them is not a reading. */
static void channels_add_up(void **state) {
    (void)state;
    const struct sy_counter channels[] = {
        {"c0", "perf", "unc_m_cas_count.all", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 0, 0.02, 0},
        {"c1", "perf", "unc_m_cas_count.all", SY_COUNTER_RATE, "/s", SY_SCOPE_PACKAGE, 0, 0.02, 1},
        {"x", "perf", "inst_retired.any", SY_COUNTER_RATE, "/s", SY_SCOPE_CPU, 0, 0.02, 0}};
    const struct sy_pmu pmus[] = {{"imc0", 4}, {"imc1", 4}};
    struct sy_arena *arena = sy_arena_create();
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    double scale;
    assert_int_equal(sy_machine_parse("cpu:4 dram:40GB/s", &machine, &error), 0);
    struct sy_senses *s = sy_senses_create(arena, &(struct sy_senses_options){.machine = machine,
                                                                              .counters = channels,
                                                                              .counter_count = 3,
                                                                              .pmus = pmus,
                                                                              .pmu_count = 2,
                                                                              .step_ns = STEP_NS});
    assert_true(sy_senses_scale(s, 0, &scale) == 0 && fabs(scale - 64) < 1e-9);
    assert_true(sy_senses_scale(s, 2, &scale) == SY_NONE);
    for (uint32_t t = 1; t < 100; t++) {
        struct sy_sample samples[2] = {{.counter = 0, .value = 10 * GB / 64, .running_ratio = 1},
                                       {.counter = 1, .value = 10 * GB / 64, .running_ratio = 1}};
        sy_senses_read(s, t * STEP_NS, samples, t % 2 ? 2 : 1);
    }
    assert_true(fabs(sy_senses_resource(s, 0).others - 20 * GB) < 0.06 * DRAM);
    sy_arena_destroy(arena);
    sy_machine_destroy(machine);
}

/* The engine's way, through sources, and the simulator's: the same belief. */
static void a_recording_gives_the_same(void **state) {
    (void)state;
    enum { WINDOWS = 200 };
    struct rig r;
    struct sy_rng rng = sy_rng_make(9, 1, 0);
    struct sy_buffer text = {0};
    struct sy_sensed *direct = calloc(WINDOWS * 2, sizeof *direct);
    char path[] = "/tmp/symph-test-XXXXXX";
    int fd = mkstemp(path);
    rig_open(&r, events, 6, 6);
    sy_recording_write_head(&text, events, 6, &r.pmu, 1);
    for (uint32_t t = 0; t < WINDOWS; t++) {
        double rate = t / 50 % 2 ? 25 * GB : 5 * GB;
        struct sy_sample samples[6];
        for (uint32_t c = 0; c < 6; c++) {
            double value = fmax(0, rate * part_of_event(c) * (1 + 0.3 * sy_rng_normal(&rng)));
            samples[c] = (struct sy_sample){c, floor(value), t * STEP_NS, (t + 1) * STEP_NS, 1, 0};
        }
        sy_recording_write(&text, samples, 6);
        sy_senses_read(r.senses, (t + 1) * STEP_NS, samples, 6);
        (void)sy_senses_choose(r.senses, r.chosen);
        for (uint32_t m = 0; m < 2; m++) {
            direct[2 * t + m] = sy_senses_resource(r.senses, m);
        }
    }
    assert_true(fd >= 0 && write(fd, text.text, text.length) == (ssize_t)text.length);
    close(fd);
    struct sy_watch watch;
    struct sy_error error = {0};
    if (sy_watch_open(r.machine, &(struct sy_sources_options){.replay = path}, &watch, &error)) {
        fail_msg("%s", error.message);
    }
    for (uint32_t t = 0; t < WINDOWS; t++) {
        assert_int_equal(sy_watch_read(&watch, 0), 0);
        sy_watch_think(&watch, (t + 1) * STEP_NS);
        for (uint32_t m = 0; m < 2; m++) {
            struct sy_sensed replayed = sy_senses_resource(watch.senses, m);
            assert_memory_equal(&replayed, &direct[2 * t + m], sizeof replayed);
        }
    }
    assert_int_equal(sy_watch_read(&watch, 0), -ENODATA);
    sy_watch_close(&watch);
    unlink(path);
    sy_buffer_finish(&text);
    free(direct);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_is_followed),       cmocka_unit_test(events_are_followed),
        cmocka_unit_test(own_traffic_is_not_others), cmocka_unit_test(durations_teach),
        cmocka_unit_test(odd_samples_do_no_harm),    cmocka_unit_test(levels_stay_a_distribution),
        cmocka_unit_test(every_counter_is_read),     cmocka_unit_test(channels_add_up),
        cmocka_unit_test(levels_fade_as_predicted),  cmocka_unit_test(a_recording_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
