/* SPDX-License-Identifier: Apache-2.0
 *
 * Training gives the same bytes with 1, 2 and 16 workers, and when it is cut off and resumed; a run
 * that is stopped in the middle of a generation is as before it; damaged checkpoints are refused.
 */
#include "parallel.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { GENERATIONS = 3, WORKERS = 16 };

static struct sy_training_options options_of(void) {
    const char *args;
    const struct sy_scheduler_ops *ops = sy_scheduler_find("learned", &args, NULL);
    assert_non_null(ops);
    return (struct sy_training_options){
        .policy = "learned",
        .kind = ops->net->kind,
        .shape = ops->net->shape,
        .count = ops->net->count,
        .references = "lb-cont+wspt",
        .utility = {.weight = {0.8, 0.2}},
        .seed = 5,
        .scenarios = 2,
        .validation = 5,
        .every = 2,
        .hinge = 1,
        .hinge_from = 0.01,
        /* Large steps, or nothing would be decided otherwise in worlds that small. */
        .es = {.pairs = 2, .sigma = 0.3, .rate = 3, .keep = 0.9},
        .worlds = {.belief = SY_SIM_FILTERED,
                   .tasks_low = 20,
                   .tasks_high = 40,
                   .single_share = NAN},
    };
}

static struct sy_training_options expert_options(void) {
    struct sy_training_options options = options_of();
    options.decisions = 3;
    options.alternatives = 2;
    return options;
}

/* --- threads ------------------------------------------------------------------------------------
 */
struct pool {
    sy_work *work;
    void *context;
    uint32_t count;
    atomic_uint next, workers;
    atomic_int code;
};

static void *thread(void *data) {
    struct pool *pool = data;
    uint32_t worker = atomic_fetch_add(&pool->workers, 1), item;
    while ((item = atomic_fetch_add(&pool->next, 1)) < pool->count) {
        int code = pool->work(pool->context, worker, item, NULL);
        if (code) {
            atomic_store(&pool->code, code);
        }
    }
    return NULL;
}

static int run_threads(void *data, uint32_t count, sy_work *work, void *context,
                       struct sy_error *error) {
    uint32_t worker_count = *(uint32_t *)data;
    struct pool pool = {.work = work, .context = context, .count = count};
    pthread_t threads[WORKERS];
    (void)error;
    for (uint32_t i = 0; i < worker_count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, thread, &pool), 0);
    }
    for (uint32_t i = 0; i < worker_count; i++) {
        pthread_join(threads[i], NULL);
    }
    return atomic_load(&pool.code);
}

static struct sy_training *open_with(const struct sy_training_options *options,
                                     const struct sy_parallel *parallel) {
    struct sy_training *training = NULL;
    struct sy_error error = {0};
    if (sy_training_open(options, parallel, &training, &error)) {
        fail_msg("%s", error.message);
    }
    return training;
}

static void go(struct sy_training *training, uint32_t until) {
    struct sy_error error = {0};
    while (training->es.generation < until) {
        if (sy_training_step(training, training->es.generation / (double)GENERATIONS, &error)) {
            fail_msg("%s", error.message);
        }
    }
    if (until == GENERATIONS && sy_training_validate(training, &error)) {
        fail_msg("%s", error.message);
    }
}

static void assert_same(const struct sy_training *a, const struct sy_training *b) {
    size_t size = a->options.count * sizeof(float);
    assert_memory_equal(a->es.block, b->es.block, size);
    assert_memory_equal(a->es.average, b->es.average, size);
    assert_memory_equal(a->es.adam.second, b->es.adam.second, size);
    assert_memory_equal(a->best, b->best, size);
    assert_int_equal(a->history_count, b->history_count);
    assert_int_equal(a->best_at, b->best_at);
    for (uint32_t i = 0; i < a->history_count; i++) {
        assert_int_equal(a->history[i].generation, b->history[i].generation);
        assert_true(a->history[i].validation == b->history[i].validation);
    }
}

static void with_any_number(const struct sy_training_options *options) {
    static const uint32_t counts[] = {1, 2, WORKERS};
    struct sy_parallel none = parallel_none();
    struct sy_training *alone = open_with(options, &none);
    go(alone, GENERATIONS);
    assert_true(fabs(alone->history[0].validation) < 0.1); /* weights of 0: the heuristic */
    assert_true(alone->history[1].validation != alone->history[0].validation);
    for (size_t i = 0; i < SY_COUNT(counts); i++) {
        uint32_t count = counts[i];
        struct sy_parallel parallel = {.worker_count = count, .run = run_threads, .pool = &count};
        struct sy_training *training = open_with(options, &parallel);
        go(training, GENERATIONS);
        assert_same(alone, training);
        sy_training_close(training);
    }
    sy_training_close(alone);
}

static void any_number_of_workers(void **state) {
    struct sy_training_options es = options_of(), expert = expert_options();
    (void)state;
    with_any_number(&es);
    with_any_number(&expert);
}

/* --- interruption -------------------------------------------------------------------------------
 */
static uint32_t items_left; /* until the pool below gives up */

static int run_some(void *pool, uint32_t count, sy_work *work, void *context,
                    struct sy_error *error) {
    (void)pool;
    for (uint32_t i = 0; i < count; i++) {
        if (items_left-- == 0) {
            return -ECANCELED;
        }
        int code = work(context, 0, i, error);
        if (code) {
            return code;
        }
    }
    return 0;
}

static void cut_and_resume(const struct sy_training_options *options) {
    char path[] = "/tmp/symph-train-XXXXXX";
    struct sy_parallel none = parallel_none();
    struct sy_parallel some = {.worker_count = 1, .run = run_some};
    struct sy_training *whole = open_with(options, &none);
    struct sy_error error = {0};
    int code = 0, fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    go(whole, GENERATIONS);
    for (uint32_t cut = 8; cut < 38; cut += 15) {
        items_left = options->validation;
        struct sy_training *part = open_with(options, &some);
        items_left = cut;
        for (code = 0; !code && part->es.generation < GENERATIONS;) {
            code = sy_training_step(part, part->es.generation / (double)GENERATIONS, &error);
        }
        assert_int_equal(code, -ECANCELED);
        assert_int_equal(sy_training_save(part, "settings", path, &error), 0);
        sy_training_close(part);
        struct sy_training *rest = open_with(options, &none);
        assert_int_equal(sy_training_load(rest, "settings", path, &error), 0);
        go(rest, GENERATIONS);
        assert_same(whole, rest);
        sy_training_close(rest);
    }
    sy_training_close(whole);
    unlink(path);
}

static void cut_and_resumed(void **state) {
    struct sy_training_options es = options_of(), expert = expert_options();
    (void)state;
    cut_and_resume(&es);
    cut_and_resume(&expert);
}

static void damaged_checkpoints(void **state) {
    char path[] = "/tmp/symph-train-XXXXXX";
    struct sy_training_options options = options_of();
    struct sy_parallel none = parallel_none();
    struct sy_training *training = open_with(&options, &none);
    struct sy_error error = {0};
    char *text;
    size_t length;
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    go(training, 2);
    assert_int_equal(sy_training_save(training, "settings", path, &error), 0);
    assert_true(sy_training_load(training, "others", path, &error) == -EINVAL);
    assert_non_null(strstr(error.hint, "others"));
    assert_int_equal(sy_read_file(path, &text, &length, &error), 0);
    for (size_t cut = 0; cut < length - 3; cut += 97) {
        error = (struct sy_error){0};
        assert_true(sy_training_parse(training, "settings", "x", text, cut, &error) < 0);
        assert_true(error.message[0]);
    }
    struct sy_training *other = open_with(&options, &none);
    assert_int_equal(sy_training_parse(other, "settings", "x", text, length, &error), 0);
    assert_same(training, other); /* and what was refused has changed nothing */
    sy_training_close(other);
    free(text);
    unlink(path);
    sy_training_close(training);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_workers),
        cmocka_unit_test(cut_and_resumed),
        cmocka_unit_test(damaged_checkpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
