/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of what was measured, and what is read of what was kept.
 */
#include "store_place.h"

static struct sy_store *open_asked(const char *folder) {
    struct sy_store *store;
    char warning[512];
    assert_int_equal(
        sy_store_open(folder, MACHINE, SY_STORE_ASKED, &store, warning, sizeof warning, NULL), 0);
    assert_string_equal(warning, "");
    return store;
}

static uint32_t count_of(const struct sy_store *store, const char *kernel) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        count += strcmp(sy_store_at(store, i)->kernel, kernel) == 0;
    }
    return count;
}

/* As a sparse solver leaves it in each run: hardly a block that was there before. */
static void observe_new_blocks(struct sy_store *store, uint32_t count, uint64_t from) {
    for (uint32_t i = 0; i < count; i++) {
        sy_cell_observe(sy_store_cell(store, "block", "cpu", 0, 0, from + i), 100 + i);
        sy_cell_observe(sy_store_cell(store, "block", "gpu", 0, 0, from + i), 100 + i);
    }
}

static void cells_that_hardly_come_again_are_few(void **state) {
    (void)state;
    struct place place = make_place();
    for (uint32_t run = 0; run < 5; run++) {
        struct sy_store *store = open_asked(place.folder);
        observe_new_blocks(store, 3000, run * 10000ull);
        for (uint32_t i = 0; i < 20; i++) {
            sy_cell_observe(sy_store_cell(store, "block", "cpu", 0, 0, 1000000 + i), 7);
        }
        save(store);
        sy_store_close(store);
    }
    struct sy_store *store = open_store(place.folder, false);
    assert_int_equal(count_of(store, "block"), 2 * SY_KEPT_CELLS);
    uint64_t again = 0, newest = 0;
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        const struct sy_cell *cell = sy_store_at(store, i);
        again += cell->features.footprint >= 1000000 ? cell->sample_count : 0;
        newest += cell->features.footprint >= 40000 && cell->features.footprint < 50000;
    }
    assert_int_equal(again, 5 * 20); /* what comes again stays, however little room there is */
    assert_int_equal(newest, 2 * SY_KEPT_CELLS - 20);
    sy_store_close(store);
    remove_place(&place);
}

/* A few sizes are measured often, thousands seldom: the line through all of them stays. */
static void a_spread_over_sizes_is_kept(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_store *store = open_store(place.folder, false);
    for (uint32_t i = 0; i < 4000; i++) {
        double flops = 1e3 * pow(1e6, i / 3999.0);
        for (uint32_t n = 0; n < (flops < 1e4 ? 9 : 3); n++) {
            sy_cell_observe(cell_of(store, "gemm", flops), flops / 100);
        }
    }
    save(store);
    sy_store_close(store);
    store = open_store(place.folder, false);
    assert_int_equal(sy_store_count(store), SY_KEPT_CELLS);
    uint32_t often = 0;
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        often += sy_store_at(store, i)->sample_count == 9;
    }
    assert_true(often >= SY_KEPT_CELLS / 2);
    for (double flops = 1.1e3; flops < 1e9; flops *= 3) {
        struct sy_estimate found = sy_cell_estimate(cell_of(store, "gemm", flops));
        assert_int_equal(found.source, SY_COST_REGRESSED);
        assert_true(fabs(log(found.median_ns / (flops / 100))) < 0.1);
    }
    sy_store_close(store);
    remove_place(&place);
}

/* As files were written before: without limit, and kernels in any order. */
static void write_overfull(const struct place *place, uint32_t blocks) {
    struct sy_buffer text = {0};
    sy_buffer_printf(&text, "# symph-costs-1\nkernel,class,source,width,build,footprint,count,"
                            "samples_ns,watts,case,flops,bytes\n");
    for (uint32_t i = 0; i < blocks; i++) {
        sy_buffer_printf(&text, "block,cpu,measured,1,,%u,1,%u,,,0,0\n", i, 100 + i);
        if (i % 1000 == 0) {
            sy_buffer_printf(&text, "other,cpu,measured,1,,%u,1,5,,,0,0\n", i);
        }
    }
    write_text(place->file, text.text, text.length);
    sy_buffer_finish(&text);
}

static void overfull_files_shrink_when_they_are_saved(void **state) {
    (void)state;
    struct place place = make_place();
    write_overfull(&place, 20000);
    struct sy_store *store = open_asked(place.folder);
    sy_cell_observe(cell_of(store, "mine", 8), 5);
    assert_int_equal(sy_store_count(store), 1);
    save(store);
    sy_store_close(store);
    store = open_store(place.folder, false);
    assert_int_equal(count_of(store, "block"), SY_KEPT_CELLS);
    assert_int_equal(count_of(store, "other"), 20);
    assert_int_equal(count_of(store, "mine"), 1);
    sy_store_close(store);
    remove_place(&place);
}

/* What is asked for is read, and the rest is in the file all the same. */
static void kernels_are_read_when_they_are_asked_for(void **state) {
    (void)state;
    static const char *const names[] = {"gemm", "", "a,b \"c\" #%d\n\t", "\xff\x01 odd ", "%41"};
    struct place place = make_place();
    struct sy_store *store = open_store(place.folder, false);
    for (uint32_t k = 0; k < SY_COUNT(names); k++) {
        for (uint32_t i = 0; i < 3 + k; i++) {
            sy_cell_observe(sy_store_cell(store, names[k], i % 2 ? "gpu" : "cpu", 1, 2, i), 10);
        }
    }
    observe_spmm(store, 5000);
    save(store);
    sy_store_close(store);
    for (uint32_t k = 0; k < SY_COUNT(names); k++) {
        store = open_asked(place.folder);
        assert_int_equal(sy_store_count(store), 0);
        set_build(store, names[k], 0);
        assert_int_equal(sy_store_count(store), 3 + k);
        assert_int_equal(count_of(store, names[k]), 3 + k);
        sy_cell_observe(sy_store_cell(store, names[k], "cpu", 1, 2, 0), 10);
        assert_int_equal(sy_store_count(store), 3 + k);
        save(store);
        sy_store_close(store);
    }
    store = open_store(place.folder, false);
    for (uint32_t k = 0; k < SY_COUNT(names); k++) {
        assert_int_equal(count_of(store, names[k]), 3 + k);
        assert_int_equal(sy_store_cell(store, names[k], "cpu", 1, 2, 0)->sample_count, 2);
    }
    assert_int_equal(ask_spmm(store, "cpu", 2).sample_count, 1);
    sy_store_close(store);
    remove_place(&place);
}

/* A cost that the file has no column for, and one that it has. */
static void new_costs_get_a_column(void **state) {
    (void)state;
    static const char *const wide_names[] = {"flops", "bytes", "rows"};
    static const double wide_costs[] = {800, 900, 7};
    struct sy_cost_sample sample = {.kernel = "wide",
                                    .class_name = "cpu",
                                    .features = {3, wide_names, wide_costs, 1, 0},
                                    .time_ns = 4000,
                                    .watts = NAN};
    struct place place = make_place();
    struct sy_store *store = open_store(place.folder, false);
    observe_spmm(store, 5000);
    save(store);
    sy_store_close(store);
    for (int i = 0; i < 2; i++) {
        store = open_asked(place.folder);
        assert_int_equal(sy_store_observe(store, &sample), 0);
        save(store);
        sy_store_close(store);
        sample.kernel = "wider";
    }
    store = open_store(place.folder, false);
    assert_int_equal(sy_store_count(store), 3);
    assert_int_equal(ask_spmm(store, "cpu", 2).sample_count, 1);
    assert_int_equal(sy_estimate(store, "wide", "cpu", &sample.features).sample_count, 1);
    sy_store_close(store);
    remove_place(&place);
}

/* Only who needs a kernel meets the damage in its lines, and the others stay. */
static void a_damaged_part_is_set_aside_by_who_reads_it(void **state) {
    (void)state;
    struct place place = make_place();
    struct sy_error error = {0};
    struct sy_store *store = open_store(place.folder, false);
    for (uint32_t i = 0; i < 5; i++) {
        sy_cell_observe(cell_of(store, "bad", 8 + i), 123456);
        sy_cell_observe(cell_of(store, "good", 8 + i), 123456);
    }
    save(store);
    sy_store_close(store);
    char *text;
    size_t length;
    assert_int_equal(sy_read_file(place.file, &text, &length, NULL), 0);
    *strstr(strstr(text, "bad,cpu") + 1, ",123456,") = ';';
    write_text(place.file, text, length);
    free(text);
    store = open_asked(place.folder);
    sy_cell_observe(cell_of(store, "good", 8), 5);
    assert_int_equal(sy_store_count(store), 5);
    assert_int_equal(sy_store_save(store, &error), 0);
    assert_string_equal(error.message, "");
    assert_int_not_equal(access(place.bad, F_OK), 0);
    sy_store_close(store);
    store = open_asked(place.folder);
    sy_cell_observe(cell_of(store, "bad", 8), 5);
    assert_int_equal(sy_store_save(store, &error), 0);
    assert_string_equal(error.file, place.file);
    assert_int_equal(error.line, 3);
    assert_int_equal(access(place.bad, F_OK), 0);
    sy_store_close(store);
    store = open_store(place.folder, false);
    assert_int_equal(count_of(store, "good"), 5);
    assert_int_equal(count_of(store, "bad"), 1);
    sy_store_close(store);
    remove_place(&place);
}

/* Kernels come and go with the programs that had them: the file has an end. */
static void what_nobody_runs_any_more_goes_at_last(void **state) {
    (void)state;
    struct place place = make_place();
    char name[SY_KEPT_CELLS + 1];
    memset(name, 'n', SY_KEPT_CELLS);
    struct sy_store *store = open_store(place.folder, false);
    for (uint32_t k = 0; k < 130; k++) {
        snprintf(name + SY_KEPT_CELLS - 8, 9, "%08u", k);
        for (uint32_t i = 0; i < SY_KEPT_CELLS; i++) {
            sy_cell_observe(sy_store_cell(store, name, "cpu", 0, 0, i), 10);
        }
    }
    save(store);
    sy_store_close(store);
    store = open_asked(place.folder);
    sy_cell_observe(sy_store_cell(store, name, "cpu", 0, 0, 0), 10);
    sy_cell_observe(cell_of(store, "mine", 8), 5);
    save(store);
    sy_store_close(store);
    char *text;
    size_t length;
    assert_int_equal(sy_read_file(place.file, &text, &length, NULL), 0);
    assert_true(length < SY_KEPT_BYTES + 1000 && length > SY_KEPT_BYTES * 9 / 10);
    assert_null(strstr(text, "n00000000,"));
    assert_non_null(strstr(text, "n00000128,"));
    assert_non_null(strstr(text, "n00000129,"));
    assert_non_null(strstr(text, "mine,"));
    free(text);
    remove_place(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_that_hardly_come_again_are_few),
        cmocka_unit_test(a_spread_over_sizes_is_kept),
        cmocka_unit_test(overfull_files_shrink_when_they_are_saved),
        cmocka_unit_test(kernels_are_read_when_they_are_asked_for),
        cmocka_unit_test(new_costs_get_a_column),
        cmocka_unit_test(a_damaged_part_is_set_aside_by_who_reads_it),
        cmocka_unit_test(what_nobody_runs_any_more_goes_at_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
