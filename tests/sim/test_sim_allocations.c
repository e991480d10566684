/* SPDX-License-Identifier: Apache-2.0
 *
 * A counting allocator: from the first decision to the last nothing is taken or given back, by the
 * simulator or any policy but the annealer; a second run of a simulator takes what the policy's
 * start takes and no more. Linked with --wrap=malloc and its kin.
 */
#include "../schedulers/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
void __wrap_free(void *old);

static uint64_t calls;             /* of the allocator, so far */
static uint64_t at_first, at_last; /* calls before the first and at the last look at the clock */
static bool started;

void *__wrap_malloc(size_t size) {
    calls++;
    return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    calls++;
    return __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) {
    calls++;
    return __real_realloc(old, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    calls++;
    return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
    calls++;
    return __real_posix_memalign(memory, alignment, size);
}
void __wrap_free(void *old) {
    calls += old != NULL;
    __real_free(old);
}

/* The simulator looks before and after every decision. */
static double clock_ns(void) {
    if (!started) {
        at_first = calls;
        started = true;
    }
    at_last = calls;
    return 0;
}

static bool searches(const char *name) {
    return strcmp(name, "anneal") == 0 || strcmp(name, "greedy-true-rollout") == 0;
}

/* Jobs that arrive later are planned inside the loop: that must not allocate either. */
static void open_stream(struct fixture *f, uint32_t size) {
    char spec[64];
    fixture_init(f, "2x(cpu:2@smt=2 gpu:1) fpga:1@regions=2");
    for (uint32_t j = 0; j < 4; j++) {
        snprintf(spec, sizeof spec, "layered:%u,depth=6,ccr=1,seed=%u", size, j + 1);
        fixture_add(f, fixture_graph(spec), j * 2e7, j % 2, 1);
    }
    fixture_seal(f);
}

static struct sy_device_event events[] = {{3e7, 2, true}, {5e7, 2, false}};

static struct sy_sim_options options_of(bool rough) {
    struct sy_sim_options options = {.seed = 1, .record = true, .clock_ns = clock_ns};
    if (rough) {
        options.contention = true;
        options.noise_sigma = 0.3;
        options.hidden_load = 0.3;
        options.counter_noise = 0.1;
        options.device_events = events;
        options.device_event_count = SY_COUNT(events);
    }
    return options;
}

static uint64_t count_run(struct sy_sim *sim, const char *name) {
    struct sy_error error = {0};
    struct sy_sim_result result;
    uint64_t before = calls;
    started = false;
    int code = sy_sim_run(sim, name, &result, &error);
    if (code) {
        fail_msg("%s: %s", name, error.message);
    }
    return calls - before;
}

static void check_loop(bool rough, enum sy_sim_belief belief) {
    struct fixture f;
    char name[64];
    open_stream(&f, 8);
    struct sy_sim_options options = options_of(rough);
    options.belief = belief;
    options.judge = belief == SY_SIM_FILTERED;
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    for (uint32_t i = 0; sy_scheduler_at(i); i++) {
        static const char *const orders[] = {"", "+srpt", "+fair"};
        for (uint32_t k = 0; k < SY_COUNT(orders); k++) {
            if (strcmp(sy_scheduler_at(i)->name, "anneal") == 0) {
                continue; /* it says that it allocates */
            }
            snprintf(name, sizeof name, "%s%s%s", sy_scheduler_at(i)->name, orders[k],
                     searches(sy_scheduler_at(i)->name) ? ":2" : "");
            uint64_t all = count_run(sim, name);
            assert_true(started);
            assert_true(all > 0); /* the counter counts: the policy's state is taken at its start */
            if (at_last != at_first) {
                fail_msg("%s: %lu allocator calls between first and last decision", name,
                         at_last - at_first);
            }
        }
    }
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void nothing_in_the_loop(void **state) {
    (void)state;
    check_loop(false, SY_SIM_RAW);
}

static void nothing_in_the_loop_when_rough(void **state) {
    (void)state;
    check_loop(true, SY_SIM_RAW);
}

static void nothing_in_the_loop_of_a_believer(void **state) {
    (void)state;
    check_loop(true, SY_SIM_FILTERED);
}

/* What a run takes in all depends on the policy, not on how much there is to do. */
static void no_more_for_more_work(void **state) {
    (void)state;
    struct fixture small, large;
    open_stream(&small, 4);
    open_stream(&large, 40);
    struct sy_sim_options options = options_of(true);
    struct sy_sim *few = fixture_sim(small.workload, &options);
    struct sy_sim *many = fixture_sim(large.workload, &options);
    for (uint32_t i = 0; sy_scheduler_at(i); i++) {
        const char *name = sy_scheduler_at(i)->name;
        if (searches(name)) {
            continue;
        }
        uint64_t little = count_run(few, name), much = count_run(many, name);
        /* An arena takes blocks: more bytes may be a few blocks more, but never one per task. The
         * default holds several policies, each with an arena. */
        if (much > little + 120) {
            fail_msg("%s: %lu allocator calls for %u tasks, %lu for %u", name, little,
                     small.workload->task_count, much, large.workload->task_count);
        }
    }
    sy_sim_destroy(few);
    sy_sim_destroy(many);
    fixture_finish(&small);
    fixture_finish(&large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_the_loop),
        cmocka_unit_test(nothing_in_the_loop_when_rough),
        cmocka_unit_test(nothing_in_the_loop_of_a_believer),
        cmocka_unit_test(no_more_for_more_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
