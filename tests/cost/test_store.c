/* SPDX-License-Identifier: Apache-2.0 */
#include "store_place.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEED 17

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Against the definition, on every prefix of a sequence with ties, tiny and huge values. */
static void cell_is_median_and_deviation_of_the_last(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(SEED, 1, 0);
    struct sy_cell cell = {.median_ns = NAN};
    static double seen[500];
    for (uint32_t n = 0; n < SY_COUNT(seen);) {
        double value = 100 * exp(3 * sy_rng_normal(&rng));
        seen[n] = (float)(sy_rng_below(&rng, 3) ? fmax(value, 1) : 100);
        sy_cell_observe(&cell, seen[n++]);
        uint32_t count = n < SY_CELL_SAMPLES ? n : SY_CELL_SAMPLES;
        double sorted[SY_CELL_SAMPLES], deviations[SY_CELL_SAMPLES];
        memcpy(sorted, seen + n - count, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_value);
        double median = sorted[(count - 1) / 2];
        for (uint32_t i = 0; i < count; i++) {
            deviations[i] = fabs(log(sorted[i] / median));
        }
        qsort(deviations, count, sizeof *deviations, by_value);
        assert_true(cell.median_ns == median);
        double sigma = count < SY_CELL_TRUSTED ? 0 : 1.4826 * deviations[count / 2];
        assert_true(fabs(cell.log_sigma - sigma) < 1e-9);
        assert_int_equal(cell.sample_count, n);
    }
}

static void what_is_no_duration_is_not_counted(void **state) {
    (void)state;
    struct sy_cell cell = {.median_ns = NAN};
    const double wrong[] = {NAN, INFINITY, -INFINITY, -1};
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        sy_cell_observe(&cell, wrong[i]);
    }
    assert_int_equal(cell.sample_count, 0);
    assert_true(isnan(cell.median_ns));
    sy_cell_observe(&cell, 0);
    sy_cell_observe(&cell, 1e300);
    assert_int_equal(cell.sample_count, 2);
    assert_true(cell.median_ns > 0 && isfinite(cell.median_ns));
}

/* 1 % of samples 400 times too long, anywhere: medians and spreads stay by the clean ones. */
static void wild_samples_do_not_poison(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(SEED, 2, 0);
    double worst = 0, worst_sigma = 0;
    for (uint32_t cell_index = 0; cell_index < 300; cell_index++) {
        struct sy_cell clean = {.median_ns = NAN}, dirty = {.median_ns = NAN};
        double median = 1000 * exp(5 * sy_rng_uniform(&rng));
        uint32_t count = SY_CELL_TRUSTED + sy_rng_below(&rng, 200);
        for (uint32_t i = 0; i < count; i++) {
            double value = median * exp(0.05 * sy_rng_normal(&rng));
            bool wild = sy_rng_below(&rng, 100) == 0;
            sy_cell_observe(&clean, value);
            sy_cell_observe(&dirty, wild ? 400 * value : value);
        }
        worst = fmax(worst, fabs(log(dirty.median_ns / clean.median_ns)));
        worst_sigma = fmax(worst_sigma, dirty.log_sigma);
    }
    print_message("# worst median off by %.2f %%, worst spread %.3f\n", 100 * worst, worst_sigma);
    assert_true(worst < 0.08);
    assert_true(worst_sigma < 0.4);
}

static void one_wild_of_three_is_ignored_wherever_it_stands(void **state) {
    (void)state;
    for (uint32_t at = 0; at < 3; at++) {
        struct sy_cell cell = {.median_ns = NAN};
        for (uint32_t i = 0; i < 3; i++) {
            sy_cell_observe(&cell, i == at ? 40000 : 100);
        }
        assert_true(cell.median_ns == 100);
    }
}

static void cells_are_told_apart_and_stay(void **state) {
    (void)state;
    struct sy_store *store = open_store("", false);
    assert_null(sy_store_path(store));
    struct sy_cell *first = sy_store_cell(store, "gemm", "cpu", 8, 16, 1);
    sy_cell_observe(first, 5);
    for (uint32_t i = 0; i < 2000; i++) {
        assert_non_null(sy_store_cell(store, "gemm", "cpu", 8, 100 + i, 1));
    }
    assert_ptr_equal(sy_store_cell(store, "gemm", "cpu", 8, 16, 1), first);
    assert_true(first->median_ns == 5);
    assert_ptr_not_equal(sy_store_cell(store, "gemm", "gpu", 8, 16, 1), first);
    assert_ptr_not_equal(sy_store_cell(store, "cpu", "gemm", 8, 16, 1), first);
    assert_ptr_not_equal(sy_store_cell(store, "gemm", "cpu", 8, 16, 2), first);
    assert_ptr_not_equal(sy_store_cell(store, "gemm", "cpu", 9, 16, 1), first);
    assert_ptr_equal(sy_store_cell(store, "gemm", "cpu", -0.0, NAN, 1),
                     sy_store_cell(store, "gemm", "cpu", 0, -3, 1));
    assert_int_equal(sy_store_count(store), 2006);
    save(store); /* keeps nothing, and says so by doing nothing */
    sy_store_close(store);
    sy_store_close(NULL);
}

static void estimates_in_order_of_trust(void **state) {
    (void)state;
    struct sy_store *store = open_store("", false);
    struct sy_cell *asked = cell_of(store, "gemm", 4e6);
    assert_int_equal(sy_cell_estimate(asked).source, SY_COST_UNKNOWN);
    sy_cell_observe(asked, 777);
    struct sy_estimate found = sy_cell_estimate(asked);
    assert_int_equal(found.source, SY_COST_MEASURED);
    assert_true(found.median_ns == 777 && found.log_sigma > 0 && found.sample_count == 1);
    for (double flops = 1e6; flops <= 64e6; flops *= 8) {
        for (int i = 0; i < 5; i++) {
            sy_cell_observe(cell_of(store, "gemm", flops), flops / 1000);
        }
    }
    found = sy_cell_estimate(asked);
    assert_int_equal(found.source, SY_COST_REGRESSED);
    assert_true(fabs(found.median_ns / 4000 - 1) < 0.01);
    assert_int_equal(sy_cell_estimate(cell_of(store, "other", 4e6)).source, SY_COST_UNKNOWN);
    sy_cell_observe(asked, 777);
    sy_cell_observe(asked, 777);
    found = sy_cell_estimate(asked);
    assert_int_equal(found.source, SY_COST_MEASURED);
    assert_true(found.median_ns == 777);
    sy_store_close(store);
}

/* Sizes that nobody states are not one size. */
static void unknown_features_do_not_answer_for_each_other(void **state) {
    (void)state;
    struct sy_store *store = open_store("", false);
    for (int i = 0; i < 5; i++) {
        sy_cell_observe(sy_store_cell(store, "k", "cpu", 0, 0, 1), 100);
        sy_cell_observe(sy_store_cell(store, "k", "cpu", 0, 0, 2), 900);
    }
    const struct sy_cell *third = sy_store_cell(store, "k", "cpu", 0, 0, 3);
    assert_int_equal(sy_cell_estimate(third).source, SY_COST_UNKNOWN);
    sy_store_close(store);
}

static void survives_a_restart_exactly(void **state) {
    (void)state;
    static const char *const names[] = {"gemm", "", "a,b \"c\" #%d\n\t", "\xff\x01 odd ", "%41"};
    struct sy_rng rng = sy_rng_make(SEED, 3, 0);
    struct place place = make_place();
    struct sy_store *store = open_store(place.folder, false);
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        struct sy_cell *cell = sy_store_cell(store, names[i], names[SY_COUNT(names) - 1 - i],
                                             1 / 3.0, 1e17 + 1, UINT64_MAX - i);
        for (uint32_t j = 0; j < 1 + 20 * i; j++) {
            sy_cell_observe(cell, 1e6 * sy_rng_uniform(&rng));
        }
    }
    save(store);
    struct sy_store *again = open_store(place.folder, false);
    assert_int_equal(sy_store_count(again), SY_COUNT(names));
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        const struct sy_cell *old = sy_store_at(store, i), *new = sy_store_at(again, i);
        assert_string_equal(old->kernel, new->kernel);
        assert_string_equal(old->class_name, new->class_name);
        assert_true(old->values[0] == new->values[0] && old->values[1] == new->values[1]);
        assert_true(old->features.footprint == new->features.footprint);
        assert_int_equal(old->sample_count, new->sample_count);
        assert_true(old->median_ns == new->median_ns && old->log_sigma == new->log_sigma);
        assert_memory_equal(old->last_ns, new->last_ns, old->held * sizeof *old->last_ns);
    }
    sy_store_close(store);
    sy_store_close(again);
    remove_place(&place);
}

static void observe(struct sy_store *store, double flops, int count, double duration_ns) {
    for (int i = 0; i < count; i++) {
        sy_cell_observe(cell_of(store, "k", flops), duration_ns);
    }
}

static void assert_estimate(struct sy_store *store, double flops, enum sy_cost_source source,
                            double median_ns) {
    struct sy_estimate found = sy_cell_estimate(cell_of(store, "k", flops));
    assert_int_equal(found.source, source);
    assert_true(source == SY_COST_UNKNOWN || fabs(found.median_ns / median_ns - 1) < 0.01);
}

/* Times of another build are where to start from, and nothing else. */
static void builds_are_told_apart(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *store = open_store(place.folder, false);
    set_build(store, "k", 1);
    observe(store, 8, 40, 1000);
    observe(store, 16, 5, 2000);
    observe(store, 32, 5, 4000);
    save(store);
    sy_store_close(store);
    store = open_store(place.folder, false); /* nobody says which build: all count */
    assert_estimate(store, 8, SY_COST_MEASURED, 1000);
    set_build(store, "k", 1);
    assert_estimate(store, 8, SY_COST_MEASURED, 1000);
    assert_estimate(store, 64, SY_COST_REGRESSED, 8000);
    set_build(store, "k", 2);
    assert_estimate(store, 8, SY_COST_PRIOR, 1000);
    assert_int_equal(sy_cell_count(cell_of(store, "k", 8)), 0);
    assert_estimate(store, 64, SY_COST_UNKNOWN, 0); /* no curve through old times */
    observe(store, 8, 3, 100);
    assert_estimate(store, 8, SY_COST_MEASURED, 100);
    assert_int_equal(cell_of(store, "k", 8)->sample_count, 3);
    assert_estimate(store, 16, SY_COST_PRIOR, 2000);
    observe(store, 32, 3, 400);
    assert_estimate(store, 16, SY_COST_REGRESSED, 200); /* by the new ones, not its old median */
    save(store);
    sy_store_close(store);
    /* What was measured anew replaced the old, and the rest stayed. */
    store = open_store(place.folder, false);
    set_build(store, "k", 2);
    assert_estimate(store, 8, SY_COST_MEASURED, 100);
    assert_int_equal(sy_cell_count(cell_of(store, "k", 16)), 0);
    assert_int_equal(cell_of(store, "k", 16)->sample_count, 5);
    set_build(store, "k", 1);
    assert_estimate(store, 8, SY_COST_PRIOR, 100);
    assert_estimate(store, 16, SY_COST_MEASURED, 2000);
    sy_store_close(store);
    remove_place(&place);
}

/* Two builds that are measured at the same time: the last one saved counts. */
static void builds_that_are_saved_at_once(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *a = open_store(place.folder, false), *b = open_store(place.folder, false);
    set_build(a, "k", 1);
    set_build(b, "k", 2);
    observe(a, 8, 7, 1000);
    observe(b, 8, 4, 100);
    save(a);
    save(b);
    struct sy_store *again = open_store(place.folder, false);
    assert_int_equal(cell_of(again, "k", 8)->build, 2);
    assert_int_equal(cell_of(again, "k", 8)->sample_count, 4);
    observe(a, 8, 1, 1000);
    save(a);
    sy_store_close(again);
    again = open_store(place.folder, false);
    assert_int_equal(cell_of(again, "k", 8)->build, 1);
    assert_int_equal(cell_of(again, "k", 8)->sample_count, 1); /* b's replaced what it had saved */
    assert_estimate(again, 8, SY_COST_MEASURED, 1000);
    sy_store_close(a);
    sy_store_close(b);
    sy_store_close(again);
    remove_place(&place);
}

/* --- files as they once were --------------------------------------------------------------------
 */
static const char old_models[] = "kernel,class,bytes,flops,footprint,count,samples_ns\n"
                                 "k,cpu,1,8,1,3,1000 1000 1000\n";
static const char old_times[] = "# symph-times-1\n"
                                "source,kernel,class,width,time_ns,watts,case,flops,bytes\n"
                                "measured,spmm,cpu,2,5000,21.5,\"gcn 0\",800,900\n"
                                "model,spmm,u280,1,7000,,,800,900\n";
static void assert_old(const struct place *place, uint64_t spmm_count) {
    struct sy_store *store = open_store(place->folder, false);
    assert_estimate(store, 8, SY_COST_MEASURED, 1000);
    struct sy_estimate found = ask_spmm(store, "cpu", 2);
    assert_int_equal(found.source, SY_COST_MEASURED);
    assert_int_equal(found.sample_count, spmm_count);
    assert_true(found.watts == 21.5);
    found = ask_spmm(store, "u280", 1);
    assert_int_equal(found.source, SY_COST_MODEL);
    assert_true(fabs(found.median_ns / 7000 - 1) < 0.01);
    set_build(store, "k", 2);
    assert_estimate(store, 8, SY_COST_PRIOR, 1000); /* nobody knew the build */
    sy_store_close(store);
}

static void older_files_become_one(void **state) {
    (void)state;
    struct place place = make_place();
    assert_int_equal(sy_write_file(place.models, old_models, strlen(old_models), NULL), 0);
    assert_int_equal(sy_write_file(place.times, old_times, strlen(old_times), NULL), 0);
    for (int i = 0; i < 2; i++) { /* who saves nothing changes nothing */
        assert_old(&place, 1);
        assert_int_not_equal(access(place.file, F_OK), 0);
    }
    struct sy_store *one = open_store(place.folder, false), *two = open_store(place.folder, false);
    observe_spmm(one, 5000);
    observe_spmm(two, 5100);
    save(one);
    assert_int_not_equal(access(place.models, F_OK), 0);
    assert_int_not_equal(access(place.times, F_OK), 0);
    save(two); /* which read them when they were there: they do not count twice */
    sy_store_close(one);
    sy_store_close(two);
    assert_old(&place, 3);
    remove_place(&place);
}

static void a_damaged_older_file_is_set_aside(void **state) {
    (void)state;
    struct place place = make_place();
    char bad[160];
    snprintf(bad, sizeof bad, "%s.bad", place.times);
    assert_int_equal(sy_write_file(place.models, old_models, strlen(old_models), NULL), 0);
    assert_int_equal(sy_write_file(place.times, "no table\n", 9, NULL), 0);
    struct sy_store *store = open_store(place.folder, true);
    assert_estimate(store, 8, SY_COST_MEASURED, 1000);
    sy_store_close(store);
    assert_int_equal(unlink(bad), 0);
    unlink(place.models);
    remove_place(&place);
}

/* --- costs in the file --------------------------------------------------------------------------
 */
/* Once a kernel was built anew, what its older builds took goes, and what others saved stays. */
static void costs_are_kept(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *one = open_store(place.folder, false), *two = open_store(place.folder, false);
    set_build(one, "spmm", 1);
    for (int i = 0; i < 40; i++) {
        observe_spmm(one, 5000 + i);
    }
    observe(one, 8, 3, 1000);
    save(one);
    struct sy_store *again = open_store(place.folder, false);
    set_build(again, "spmm", 1);
    assert_int_equal(ask_spmm(again, "cpu", 2).sample_count, 40);
    sy_store_close(again);
    set_build(two, "spmm", 2);
    observe_spmm(two, 100);
    save(two);
    again = open_store(place.folder, false);
    set_build(again, "spmm", 2);
    assert_int_equal(ask_spmm(again, "cpu", 2).sample_count, 1);
    assert_estimate(again, 8, SY_COST_MEASURED, 1000);
    assert_int_equal(sy_store_clear(again, "spmm"), 0);
    assert_int_equal(ask_spmm(again, "cpu", 2).source, SY_COST_UNKNOWN);
    save(again);
    sy_store_close(again);
    again = open_store(place.folder, false);
    assert_int_equal(sy_store_count(again), 1);
    sy_store_close(one);
    sy_store_close(two);
    sy_store_close(again);
    remove_place(&place);
}

/* A table that is named counts whatever its build, and only what is new is saved. */
static void named_tables_are_not_saved(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *store;
    struct sy_error error = {0};
    char warning[64], named[] = "/tmp/symph-test-named-XXXXXX";
    int fd = mkstemp(named);
    assert_true(fd >= 0);
    close(fd);
    static const char text[] = "kernel,class,width,time_ns,build,flops,bytes\n"
                               "spmm,cpu,2,5000,00c0ffee00c0ffee,800,900\n"
                               "other,cpu,2,5000,00c0ffee00c0ffee,800,900\n";
    assert_int_equal(sy_write_file(named, text, strlen(text), NULL), 0);
    assert_int_equal(sy_store_open(place.folder, MACHINE, SY_STORE_NONE, &store, warning,
                                   sizeof warning, &error),
                     0);
    set_build(store, "spmm", 1);
    assert_int_equal(sy_store_read(store, named, &error), 0);
    observe_spmm(store, 5000);
    assert_int_equal(ask_spmm(store, "cpu", 2).sample_count, 2);
    save(store);
    sy_store_close(store);
    store = open_store(place.folder, false);
    assert_int_equal(sy_store_count(store), 1);
    assert_int_equal(ask_spmm(store, "cpu", 2).sample_count, 1);
    sy_store_close(store);
    unlink(named);
    remove_place(&place);
}

/* Whatever comes in, a kernel on a class with its costs has 64 cells at most, in the file too. */
static void the_file_stays_small(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *store = open_store(place.folder, false);
    for (int i = 0; i < 500; i++) {
        const double costs[] = {800 * pow(1.03, i), 900};
        const struct sy_cost_sample sample = {.kernel = "spmm",
                                              .class_name = "cpu",
                                              .features = {2, spmm_names, costs, 1, 0},
                                              .time_ns = 100 + i,
                                              .watts = NAN};
        assert_int_equal(sy_store_observe(store, &sample), 0);
    }
    save(store);
    sy_store_close(store);
    store = open_store(place.folder, false);
    assert_int_equal(sy_store_count(store), 64);
    sy_store_close(store);
    remove_place(&place);
}

/* Two stores save in turn: counts add up, none count twice. */
static void savers_in_turn_add_up(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *a = open_store(place.folder, false), *b = open_store(place.folder, false);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 5; i++) {
            sy_cell_observe(cell_of(a, "k", 8), 100);
            sy_cell_observe(cell_of(b, "k", 8), 200);
        }
        sy_cell_observe(cell_of(b, "only b", 8), 1);
        save(a);
        save(b);
    }
    save(a);                                                /* nothing new: not even looked at */
    assert_int_equal(cell_of(a, "k", 8)->sample_count, 20); /* its own: the file has all */
    struct sy_store *both = open_store(place.folder, false);
    assert_int_equal(cell_of(both, "k", 8)->sample_count, 40);
    assert_int_equal(cell_of(both, "only b", 8)->sample_count, 4);
    uint32_t of_a = 0;
    for (uint32_t i = 0; i < SY_CELL_SAMPLES; i++) {
        of_a += cell_of(both, "k", 8)->last_ns[i] == 100;
    }
    assert_int_equal(of_a, 15); /* the last 31 of 5 a, 5 b, 5 a ... b */
    sy_store_close(a);
    sy_store_close(b);
    sy_store_close(both);
    remove_place(&place);
}

#define CHILDREN 4
#define SAVES    25

static void save_often(const char *folder, int self) {
    struct sy_store *store;
    char warning[256], own[16];
    snprintf(own, sizeof own, "own%d", self);
    bool ok =
        sy_store_open(folder, MACHINE, SY_STORE_WHOLE, &store, warning, sizeof warning, NULL) == 0;
    for (int i = 0; ok && i < SAVES; i++) {
        sy_cell_observe(sy_store_cell(store, "shared", "cpu", 1, 1, 0), 10 + i);
        sy_cell_observe(sy_store_cell(store, own, "cpu", i + 1, 1, 0), 10 + i);
        ok = sy_store_save(store, NULL) == 0 && !warning[0];
    }
    _exit(ok ? 0 : 1);
}

static void processes_that_save_at_once_lose_nothing(void **state) {
    (void)state;
    struct place place = make_place();
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            save_often(place.folder, i);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    struct sy_store *store = open_store(place.folder, false);
    assert_int_equal(sy_store_count(store), 1 + CHILDREN * SAVES);
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        const struct sy_cell *cell = sy_store_at(store, i);
        bool shared = strcmp(cell->kernel, "shared") == 0;
        assert_int_equal(cell->sample_count, shared ? CHILDREN * SAVES : 1);
    }
    sy_store_close(store);
    remove_place(&place);
}

static void forgetting_lasts_and_wins_over_old_knowledge(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *a = open_store(place.folder, false);
    struct sy_cell *kept = cell_of(a, "kept", 8), *gone = cell_of(a, "gone", 8);
    for (int i = 0; i < 5; i++) {
        sy_cell_observe(kept, 1);
        sy_cell_observe(gone, 1);
    }
    save(a);
    struct sy_store *b = open_store(place.folder, false);
    assert_int_equal(sy_store_clear(a, "gone"), 0);
    assert_int_equal(gone->sample_count, 0);
    assert_int_equal(sy_cell_estimate(gone).source, SY_COST_UNKNOWN);
    save(a);
    /* b still knows the old samples: only its new one may return. */
    sy_cell_observe(cell_of(b, "gone", 8), 7);
    save(b);
    struct sy_store *c = open_store(place.folder, false);
    assert_int_equal(cell_of(c, "gone", 8)->sample_count, 1);
    assert_int_equal(cell_of(c, "kept", 8)->sample_count, 5);
    assert_int_equal(sy_store_clear(c, NULL), 0);
    sy_cell_observe(cell_of(c, "fresh", 8), 3);
    save(c);
    sy_store_close(a);
    sy_store_close(b);
    sy_store_close(c);
    c = open_store(place.folder, false);
    assert_int_equal(sy_store_count(c), 1);
    sy_store_close(c);
    remove_place(&place);
}

/* Cut anywhere, or with any byte changed: never a crash; told unless it still is a valid file. */
static void damaged_files_are_set_aside(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(SEED, 4, 0);
    struct place place = make_place();
    struct sy_store *store = open_store(place.folder, false);
    for (int i = 0; i < 40; i++) {
        sy_cell_observe(cell_of(store, "gemm", 8 + i % 3), 123.456 * i + 7);
    }
    save(store);
    sy_store_close(store);
    char *text;
    size_t length;
    assert_int_equal(sy_read_file(place.file, &text, &length, NULL), 0);
    for (size_t cut = 0; cut < length; cut++) {
        write_text(place.file, text, cut);
        /* Between lines it is a shorter table, unless there is no header yet. */
        store = open_store(place.folder, cut <= strcspn(text, "\n") + 1 || text[cut - 1] != '\n');
        sy_store_close(store);
        unlink(place.bad);
    }
    for (int i = 0; i < 500; i++) {
        size_t at = sy_rng_below(&rng, (uint32_t)length);
        char old = text[at], warning[256];
        text[at] = (char)sy_rng_below(&rng, 256);
        write_text(place.file, text, length);
        assert_int_equal(sy_store_open(place.folder, MACHINE, SY_STORE_WHOLE, &store, warning,
                                       sizeof warning, NULL),
                         0);
        assert_int_equal(access(place.bad, F_OK) == 0, warning[0] != '\0');
        sy_store_close(store);
        unlink(place.bad);
        text[at] = old;
    }
    write_text(place.file, "garbage\n", 8);
    store = open_store(place.folder, true);
    sy_cell_observe(cell_of(store, "k", 1), 5);
    write_text(place.file, "more garbage\n", 13);
    save(store);
    sy_store_close(store);
    store = open_store(place.folder, false);
    assert_int_equal(sy_store_count(store), 1);
    sy_store_close(store);
    free(text);
    remove_place(&place);
}

static void wrong_places_are_told(void **state) {
    (void)state;
    struct sy_store *store;
    struct sy_error error = {0};
    char warning[256];
    assert_int_equal(
        sy_store_open("", "a/b", SY_STORE_WHOLE, &store, warning, sizeof warning, &error), -EINVAL);
    assert_non_null(strstr(error.message, "a/b"));
    store = open_store("/dev/null/nowhere", true);
    save(store); /* nothing to save */
    sy_cell_observe(cell_of(store, "k", 1), 5);
    assert_int_equal(sy_store_save(store, &error), -ENOTDIR);
    assert_non_null(strstr(error.file, "/dev/null/nowhere"));
    assert_int_equal(cell_of(store, "k", 1)->sample_count, 1);
    sy_store_close(store);
}

static void folder_comes_from_the_environment(void **state) {
    (void)state;
    setenv("HOME", "/", 1);
    unsetenv("SYMPH_MODELS");
    unsetenv("XDG_CACHE_HOME");
    static const struct {
        const char *name, *value, *path;
    } steps[] = {
        {"NONE", "", "//.cache/symph/models/" MACHINE ".costs.csv"},
        {"XDG_CACHE_HOME", "relative", "//.cache/symph/models/" MACHINE ".costs.csv"},
        {"XDG_CACHE_HOME", "/c", "/c/symph/models/" MACHINE ".costs.csv"},
        {"SYMPH_MODELS", "/m", "/m/" MACHINE ".costs.csv"},
        {"SYMPH_MODELS", "", NULL},
    };
    for (size_t i = 0; i < SY_COUNT(steps); i++) {
        setenv(steps[i].name, steps[i].value, 1);
        struct sy_store *store = open_store(NULL, false);
        if (steps[i].path) {
            assert_string_equal(sy_store_path(store), steps[i].path);
        } else {
            assert_null(sy_store_path(store));
        }
        sy_store_close(store);
    }
}

static void machine_has_a_name_for_a_file(void **state) {
    (void)state;
    char name[128], again[128], cut[12];
    sy_store_machine_name(name, sizeof name);
    sy_store_machine_name(again, sizeof again);
    sy_store_machine_name(cut, sizeof cut);
    assert_string_equal(name, again);
    assert_true(strlen(name) > 9);
    assert_memory_equal(name, cut, 11);
    struct sy_store *store;
    char warning[256];
    assert_int_equal(sy_store_open("", name, SY_STORE_WHOLE, &store, warning, sizeof warning, NULL),
                     0);
    sy_store_close(store);
}

int main(void) {
    print_message("# seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cell_is_median_and_deviation_of_the_last),
        cmocka_unit_test(what_is_no_duration_is_not_counted),
        cmocka_unit_test(wild_samples_do_not_poison),
        cmocka_unit_test(one_wild_of_three_is_ignored_wherever_it_stands),
        cmocka_unit_test(cells_are_told_apart_and_stay),
        cmocka_unit_test(estimates_in_order_of_trust),
        cmocka_unit_test(unknown_features_do_not_answer_for_each_other),
        cmocka_unit_test(survives_a_restart_exactly),
        cmocka_unit_test(builds_are_told_apart),
        cmocka_unit_test(builds_that_are_saved_at_once),
        cmocka_unit_test(older_files_become_one),
        cmocka_unit_test(a_damaged_older_file_is_set_aside),
        cmocka_unit_test(costs_are_kept),
        cmocka_unit_test(named_tables_are_not_saved),
        cmocka_unit_test(the_file_stays_small),
        cmocka_unit_test(savers_in_turn_add_up),
        cmocka_unit_test(processes_that_save_at_once_lose_nothing),
        cmocka_unit_test(forgetting_lasts_and_wins_over_old_knowledge),
        cmocka_unit_test(damaged_files_are_set_aside),
        cmocka_unit_test(wrong_places_are_told),
        cmocka_unit_test(folder_comes_from_the_environment),
        cmocka_unit_test(machine_has_a_name_for_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
