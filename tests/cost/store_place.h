/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of its own for a machine's file of times, and what the tests of the store do with it.
 */
#ifndef SY_TEST_STORE_PLACE_H
#define SY_TEST_STORE_PLACE_H

#include "cost/store.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MACHINE "box"

struct place {
    char folder[64], file[128], bad[160];
    char models[128], times[128]; /* as they once were */
};

static inline struct place make_place(void) {
    struct place place = {.folder = "/tmp/symph-test-store-XXXXXX"};
    assert_non_null(mkdtemp(place.folder));
    snprintf(place.file, sizeof place.file, "%s/" MACHINE ".costs.csv", place.folder);
    snprintf(place.models, sizeof place.models, "%s/" MACHINE ".models.csv", place.folder);
    snprintf(place.times, sizeof place.times, "%s/" MACHINE ".times.csv", place.folder);
    snprintf(place.bad, sizeof place.bad, "%s.bad", place.file);
    return place;
}

static inline void remove_place(const struct place *place) {
    char lock[160];
    snprintf(lock, sizeof lock, "%s.lock", place->file);
    unlink(place->file);
    unlink(place->bad);
    unlink(lock);
    assert_int_equal(rmdir(place->folder), 0); /* nothing else was left */
}

static inline struct sy_store *open_store(const char *folder, bool warns) {
    struct sy_store *store;
    struct sy_error error = {0};
    char warning[512];
    assert_int_equal(
        sy_store_open(folder, MACHINE, SY_STORE_WHOLE, &store, warning, sizeof warning, &error), 0);
    if (warns != (warning[0] != '\0')) {
        fail_msg("warning: \"%s\"", warning);
    }
    return store;
}

static inline void save(struct sy_store *store) {
    struct sy_error error = {0};
    if (sy_store_save(store, &error)) {
        fail_msg("%s", error.message);
    }
}

static inline struct sy_cell *cell_of(struct sy_store *store, const char *kernel, double flops) {
    struct sy_cell *cell = sy_store_cell(store, kernel, "cpu", flops / 8, flops, 1);
    assert_non_null(cell);
    return cell;
}

static inline void write_text(const char *path, const char *text, size_t length) {
    assert_int_equal(sy_write_file(path, text, length, NULL), 0);
}

static inline void set_build(struct sy_store *store, const char *kernel, uint64_t build) {
    assert_int_equal(sy_store_set_build(store, kernel, build), 0);
}

static const double spmm_costs[] = {800, 900};
static const char *const spmm_names[] = {"flops", "bytes"};

static inline struct sy_estimate ask_spmm(const struct sy_store *store, const char *class_name,
                                          uint32_t width) {
    const struct sy_features features = {2, spmm_names, spmm_costs, width, 0};
    return sy_estimate(store, "spmm", class_name, &features);
}

static inline void observe_spmm(struct sy_store *store, double time_ns) {
    const struct sy_cost_sample sample = {.kernel = "spmm",
                                          .class_name = "cpu",
                                          .features = {2, spmm_names, spmm_costs, 2, 0},
                                          .time_ns = time_ns,
                                          .watts = NAN};
    assert_int_equal(sy_store_observe(store, &sample), 0);
}

#endif
