/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what kernels took, of the present and the older formats, from hostile text: what is
 * taken keeps its promises, answers questions, and is the same once written and read again.
 */
#include "cost/store.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_sample(void *user, const struct sy_cost_sample *sample) {
    const struct sy_features *features = &sample->features;
    (void)user;
    SY_ASSERT(sample->kernel && sample->class_name && sample->input && features->width >= 1);
    SY_ASSERT(sample->time_ns > 0 && isfinite(sample->time_ns));
    SY_ASSERT(isnan(sample->watts) || (sample->watts >= 0 && isfinite(sample->watts)));
    SY_ASSERT(sample->time_count >= 1 && sample->count >= sample->time_count);
    SY_ASSERT(features->count >= SY_SIZES && features->count <= SY_FEATURE_MAX);
    for (uint32_t i = 0; features->names && i < features->count; i++) {
        SY_ASSERT(features->values[i] > 0 && isfinite(features->values[i]));
        SY_ASSERT(i == 0 || sy_feature_compare(features->names[i - 1], features->names[i]) < 0);
    }
    return 0;
}

static void check_cell(const struct sy_store *store, const struct sy_cell *cell) {
    if (cell->sample_count == 0) {
        return; /* replaced by another build */
    }
    SY_ASSERT(cell->sample_count == cell->saved_count && (cell->held > 0 || cell->given));
    SY_ASSERT(cell->median_ns > 0 && isfinite(cell->median_ns));
    SY_ASSERT(cell->log_sigma >= 0 && isfinite(cell->log_sigma));
    struct sy_estimate found =
        cell->features.names ? sy_estimate(store, cell->kernel, cell->class_name, &cell->features)
                             : sy_cell_estimate(cell);
    SY_ASSERT(found.median_ns > 0 && found.log_sigma >= 0 && isfinite(found.log_sigma));
}

/* What is as we write it says the same in parts as whole. */
static void check_parts(const char *text, size_t size, const struct sy_buffer *whole) {
    struct sy_store *store = sy_store_create();
    struct sy_parts *parts = NULL;
    struct sy_buffer written = {0};
    char *copy = malloc(size + 1);
    SY_ASSERT(store && copy);
    memcpy(copy, text, size);
    if (sy_parts_open(store, "fuzz", copy, size, &parts)) {
        SY_ASSERT(!whole);
        free(copy);
    } else {
        SY_ASSERT(sy_parts_read_all(store, parts, 0) == 0);
        SY_ASSERT(!whole || !sy_parts_damage(parts));
        sy_store_write_text(store, &written);
        SY_ASSERT(!whole || (written.length == whole->length &&
                             memcmp(written.text, whole->text, whole->length) == 0));
    }
    sy_parts_close(parts);
    sy_buffer_finish(&written);
    sy_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    struct sy_store *store = sy_store_create(), *again = sy_store_create();
    struct sy_error error = {0};
    SY_ASSERT(store && again);
    int code = sy_costs_read_text("fuzz", text, size, check_sample, NULL, &error);
    SY_ASSERT(code == 0 || error.message[0]);
    int stored = sy_store_read_text(store, "fuzz", text, size, false, &error);
    SY_ASSERT(stored == code || sy_is_recorded(text, size));
    struct sy_buffer first = {0}, second = {0};
    sy_store_write_text(store, &first);
    SY_ASSERT(sy_store_read_text(again, "again", first.text, first.length, false, &error) == 0);
    sy_store_write_text(again, &second);
    SY_ASSERT(first.length == second.length && memcmp(first.text, second.text, first.length) == 0);
    check_parts(text, size, NULL);
    check_parts(first.text, first.length, &first);
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        check_cell(store, sy_store_at(store, i));
    }
    sy_buffer_finish(&first);
    sy_buffer_finish(&second);
    sy_store_close(store);
    sy_store_close(again);
    return 0;
}
